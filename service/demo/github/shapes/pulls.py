"""Pull requests as GitHub's JSON."""

from service.demo.github.failures import Failure
from service.demo.github.records import Issue, Pull, Repository
from service.demo.github.shapes.accounts import account_shape, author_shape, node_id
from service.demo.github.shapes.issues import association, label_shape, thread_html_url
from service.demo.github.shapes.repositories import repository_shape, repository_url
from service.demo.github.state import State
from service.demo.github.wire import JsonObject, optional_time_text, time_text


def pull_of(issue: Issue) -> Pull:
    """The pull request behind a number; 404 for a plain issue."""
    if issue.pull is None:
        raise Failure(404, "Not Found")
    return issue.pull


def head_repository_shape(state: State, repository: Repository, pull: Pull) -> JsonObject:
    """The repository that a head comes from; a fork has another owner, another id, and says that it is a fork."""
    shape = repository_shape(state, repository)
    if not pull.fork:
        return shape
    owner = state.tables.accounts[pull.head_owner_id]
    full_name = f"{owner.login}/{repository.name}"
    return {
        **shape,
        "id": repository.id + owner.id,
        "full_name": full_name,
        "owner": account_shape(state, owner),
        "fork": True,
        "url": f"{state.base_url}/repos/{full_name}",
        "html_url": f"{state.base_url}/{full_name}",
    }


def end_shape(state: State, owner_id: int, ref: str, sha: str, repository: JsonObject) -> JsonObject:
    """One end (`head` or `base`) of a pull request."""
    owner = state.tables.accounts[owner_id]
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": account_shape(state, owner),
        "repo": repository,
    }


def links_shape(url: str, html_url: str, repository_address: str, sha: str) -> JsonObject:
    """The `_links` of a pull request."""
    issue_url = url.replace("/pulls/", "/issues/")
    links = {
        "self": url,
        "html": html_url,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{repository_address}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{repository_address}/statuses/{sha}",
    }
    return {name: {"href": href} for name, href in links.items()}


def listed_pull_shape(state: State, repository: Repository, issue: Issue) -> JsonObject:
    """A pull request as listings show it."""
    pull = pull_of(issue)
    address = repository_url(state, repository)
    url = f"{address}/pulls/{issue.number}"
    html_url = thread_html_url(state, repository, issue)
    base_repository = repository_shape(state, repository)
    return {
        "url": url,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "html_url": html_url,
        "diff_url": f"{html_url}.diff",
        "patch_url": f"{html_url}.patch",
        "issue_url": f"{address}/issues/{issue.number}",
        "number": issue.number,
        "state": issue.state,
        "locked": issue.locked,
        "title": issue.title,
        "user": author_shape(state, issue.author_id),
        "body": issue.body,
        "created_at": time_text(issue.created_at),
        "updated_at": time_text(issue.updated_at),
        "closed_at": optional_time_text(issue.closed_at),
        "merged_at": optional_time_text(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": [label_shape(state, repository, name) for name in issue.labels],
        "milestone": None,
        "draft": pull.draft,
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{address}/pulls/comments{{/number}}",
        "comments_url": f"{address}/issues/{issue.number}/comments",
        "statuses_url": f"{address}/statuses/{pull.head_sha}",
        "head": end_shape(
            state, pull.head_owner_id, pull.head_ref, pull.head_sha, head_repository_shape(state, repository, pull)
        ),
        "base": end_shape(state, repository.owner_id, pull.base_ref, pull.base_sha, base_repository),
        "_links": links_shape(url, html_url, address, pull.head_sha),
        "author_association": association(state, repository, issue.author_id),
        "auto_merge": None,
        "active_lock_reason": None,
    }


def pull_shape(state: State, repository: Repository, issue: Issue) -> JsonObject:
    """A pull request by itself: what listings show, whether it is merged, and its counts."""
    pull = pull_of(issue)
    merged = pull.merged_at is not None
    inline = sum(
        comment.repository_id == repository.id and comment.number == issue.number
        for comment in state.tables.review_comments.values()
    )
    return {
        **listed_pull_shape(state, repository, issue),
        "merged": merged,
        "mergeable": None if issue.state == "closed" else True,
        "rebaseable": None if issue.state == "closed" else True,
        "mergeable_state": "unknown" if issue.state == "closed" else "clean",
        "merged_by": author_shape(state, issue.closed_by_id) if merged else None,
        "comments": 0,
        "review_comments": inline,
        "maintainer_can_modify": False,
        "commits": 1,
        "additions": 1,
        "deletions": 0,
        "changed_files": 1,
    }
