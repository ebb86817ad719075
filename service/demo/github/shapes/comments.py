"""Comments, inline comments, reviews and reactions as GitHub's JSON."""

from service.demo.github.records import Comment, Reaction, Repository, Review, ReviewComment
from service.demo.github.shapes.accounts import author_shape, node_id
from service.demo.github.shapes.issues import association, reactions_shape, thread_html_url
from service.demo.github.shapes.repositories import repository_url
from service.demo.github.state import State
from service.demo.github.wire import JsonObject, time_text


def comment_shape(state: State, repository: Repository, comment: Comment) -> JsonObject:
    """A comment on a thread; `updated_at` equals `created_at` until it is edited."""
    issue = state.issue(repository, comment.number)
    address = repository_url(state, repository)
    url = f"{address}/issues/comments/{comment.id}"
    return {
        "url": url,
        "html_url": f"{thread_html_url(state, repository, issue)}#issuecomment-{comment.id}",
        "issue_url": f"{address}/issues/{comment.number}",
        "id": comment.id,
        "node_id": node_id("IssueComment", comment.id),
        "user": author_shape(state, comment.author_id),
        "created_at": time_text(comment.created_at),
        "updated_at": time_text(comment.updated_at),
        "author_association": association(state, repository, comment.author_id),
        "body": comment.body,
        "reactions": reactions_shape(url),
        "performed_via_github_app": None,
    }


def review_shape(state: State, repository: Repository, review: Review) -> JsonObject:
    """A review as REST shows it: state in capitals, an empty body as an empty text."""
    pull_url = f"{repository_url(state, repository)}/pulls/{review.number}"
    issue = state.issue(repository, review.number)
    html_url = f"{thread_html_url(state, repository, issue)}#pullrequestreview-{review.id}"
    return {
        "id": review.id,
        "node_id": node_id("PullRequestReview", review.id),
        "user": author_shape(state, review.author_id),
        "body": review.body,
        "state": review.state,
        "html_url": html_url,
        "pull_request_url": pull_url,
        "author_association": association(state, repository, review.author_id),
        "_links": {"html": {"href": html_url}, "pull_request": {"href": pull_url}},
        "submitted_at": time_text(review.submitted_at),
        "commit_id": review.commit_id,
    }


def told_review_shape(state: State, repository: Repository, review: Review) -> JsonObject:
    """A review as hooks are told of it: state in small letters, an empty body as null."""
    shape = review_shape(state, repository, review)
    return {
        **shape,
        "state": review.state.lower(),
        "body": review.body or None,
        "updated_at": time_text(review.updated_at),
    }


def review_comment_shape(state: State, repository: Repository, comment: ReviewComment) -> JsonObject:
    """An inline comment at a line of a file."""
    address = repository_url(state, repository)
    url = f"{address}/pulls/comments/{comment.id}"
    pull_url = f"{address}/pulls/{comment.number}"
    html_url = f"{thread_html_url(state, repository, state.issue(repository, comment.number))}#discussion_r{comment.id}"
    shape: JsonObject = {
        "url": url,
        "pull_request_review_id": comment.review_id,
        "id": comment.id,
        "node_id": node_id("PullRequestReviewComment", comment.id),
        "diff_hunk": f"@@ -{comment.line} +{comment.line} @@",
        "path": comment.path,
        "position": comment.line,
        "original_position": comment.line,
        "commit_id": comment.commit_id,
        "original_commit_id": comment.commit_id,
        "user": author_shape(state, comment.author_id),
        "body": comment.body,
        "created_at": time_text(comment.created_at),
        "updated_at": time_text(comment.updated_at),
        "html_url": html_url,
        "pull_request_url": pull_url,
        "author_association": association(state, repository, comment.author_id),
        "_links": {"self": {"href": url}, "html": {"href": html_url}, "pull_request": {"href": pull_url}},
        "reactions": reactions_shape(url),
        "start_line": None,
        "original_start_line": None,
        "start_side": None,
        "line": comment.line,
        "original_line": comment.line,
        "side": "RIGHT",
        "subject_type": "line",
    }
    if comment.in_reply_to_id is not None:
        shape["in_reply_to_id"] = comment.in_reply_to_id
    return shape


def reaction_shape(state: State, reaction: Reaction) -> JsonObject:
    """One account's reaction."""
    return {
        "id": reaction.id,
        "node_id": node_id("Reaction", reaction.id),
        "user": author_shape(state, reaction.author_id),
        "content": reaction.content,
        "created_at": time_text(reaction.created_at),
    }
