"""Reviewing pull requests, with or without inline comments."""

from dataclasses import dataclass, replace
from datetime import timedelta

from service.demo.github.acts.issues import touch
from service.demo.github.acts.rights import require_author_or_write, require_open_thread
from service.demo.github.failures import Failure
from service.demo.github.records import Account, Issue, Repository, Review, ReviewComment
from service.demo.github.shapes.comments import review_comment_shape, told_review_shape
from service.demo.github.shapes.pulls import listed_pull_shape, pull_of
from service.demo.github.state import Happening, State
from service.demo.github.wire import JsonObject, checked_body

STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """One inline comment to be written: where and what."""

    path: str
    line: int
    body: str
    in_reply_to_id: int | None = None


def submit_review(
    state: State,
    actor: Account,
    repository: Repository,
    issue: Issue,
    event: str,
    body: str,
    inline: tuple[Inline, ...] = (),
) -> Review:
    """Submit a review (`APPROVE`, `REQUEST_CHANGES`, `COMMENT`); its inline comments are told of after it."""
    pull = pull_of(issue)
    require_open_thread(state, actor, repository, issue)
    if event not in STATES:
        raise Failure(422, "Validation Failed: event is no review event")
    if actor.id == issue.author_id and event != "COMMENT":
        raise Failure(422, "Validation Failed: Can not approve or request changes on your own pull request")
    if not body.strip() and not inline and event != "APPROVE":
        raise Failure(422, "Validation Failed: body cannot be blank")
    now = state.now()
    review = Review(
        id=state.new_id("review"),
        repository_id=repository.id,
        number=issue.number,
        author_id=actor.id,
        body=body,
        state=STATES[event],
        commit_id=pull.head_sha,
        submitted_at=now,
        updated_at=now,
    )
    state.tables.reviews[review.id] = review
    issue = touch(state, issue)
    comments = [store_inline(state, actor, repository, issue, review, place) for place in inline]
    tell_review(state, actor, repository, issue, review)
    for comment in comments:
        tell_inline(state, actor, repository, comment, "created")
    return review


def tell_review(state: State, actor: Account, repository: Repository, issue: Issue, review: Review) -> None:
    parts: JsonObject = {
        "review": told_review_shape(state, repository, review),
        "pull_request": listed_pull_shape(state, repository, issue),
    }
    tell_pull_part(state, actor, repository, "pull_request_review", "submitted", parts)


def store_inline(
    state: State, actor: Account, repository: Repository, issue: Issue, review: Review, place: Inline
) -> ReviewComment:
    """Keep one inline comment of a review."""
    now = state.now()
    comment = ReviewComment(
        id=state.new_id("review_comment"),
        repository_id=repository.id,
        number=issue.number,
        review_id=review.id,
        author_id=actor.id,
        path=place.path,
        line=place.line,
        commit_id=review.commit_id,
        body=checked_body(place.body),
        created_at=now,
        updated_at=now,
        visible_from=now + timedelta(seconds=state.late_by_s()),
        in_reply_to_id=place.in_reply_to_id,
    )
    state.tables.review_comments[comment.id] = comment
    return comment


def add_inline_comment(
    state: State, actor: Account, repository: Repository, issue: Issue, place: Inline
) -> ReviewComment:
    """Write a single inline comment; GitHub makes a review with an empty body around it."""
    review = submit_review(state, actor, repository, issue, "COMMENT", "", (place,))
    return next(comment for comment in state.tables.review_comments.values() if comment.review_id == review.id)


def edit_inline_comment(
    state: State, actor: Account, repository: Repository, comment: ReviewComment, body: str
) -> ReviewComment:
    """Change an inline comment's text."""
    require_author_or_write(state, actor, repository, comment.author_id)
    before = comment.body
    comment = replace(comment, body=checked_body(body), updated_at=state.now())
    state.tables.review_comments[comment.id] = comment
    tell_inline(state, actor, repository, comment, "edited", {"changes": {"body": {"from": before}}})
    return comment


def delete_inline_comment(state: State, actor: Account, repository: Repository, comment: ReviewComment) -> None:
    """Delete an inline comment; its review stays."""
    require_author_or_write(state, actor, repository, comment.author_id)
    del state.tables.review_comments[comment.id]
    tell_inline(state, actor, repository, comment, "deleted")


def tell_inline(
    state: State,
    actor: Account,
    repository: Repository,
    comment: ReviewComment,
    action: str,
    parts: JsonObject | None = None,
) -> None:
    own: JsonObject = {
        "comment": review_comment_shape(state, repository, comment),
        "pull_request": listed_pull_shape(state, repository, state.issue(repository, comment.number)),
    }
    tell_pull_part(state, actor, repository, "pull_request_review_comment", action, {**own, **(parts or {})})


def tell_pull_part(
    state: State, actor: Account, repository: Repository, event: str, action: str, parts: JsonObject
) -> None:
    state.tell(Happening(event=event, action=action, repository_id=repository.id, sender_id=actor.id, parts=parts))
