"""Writing, editing and deleting comments on a thread."""

from dataclasses import replace
from datetime import timedelta

from service.demo.github.acts.issues import touch
from service.demo.github.acts.rights import require_author_or_write, require_open_thread
from service.demo.github.records import Account, Comment, Issue, Repository
from service.demo.github.shapes.comments import comment_shape
from service.demo.github.shapes.issues import issue_shape
from service.demo.github.state import Happening, State
from service.demo.github.wire import JsonObject, checked_body


def add_comment(state: State, actor: Account, repository: Repository, issue: Issue, body: str) -> Comment:
    """Write a comment; the thread counts as updated."""
    require_open_thread(state, actor, repository, issue)
    now = state.now()
    comment = Comment(
        id=state.new_id("comment"),
        repository_id=repository.id,
        number=issue.number,
        author_id=actor.id,
        body=checked_body(body),
        created_at=now,
        updated_at=now,
        visible_from=now + timedelta(seconds=state.late_by_s()),
    )
    state.tables.comments[comment.id] = comment
    touch(state, issue)
    tell_comment(state, actor, repository, comment, "created")
    return comment


def edit_comment(state: State, actor: Account, repository: Repository, comment: Comment, body: str) -> Comment:
    """Change a comment's text; GitHub tells hooks who edited it, and REST nobody."""
    require_author_or_write(state, actor, repository, comment.author_id)
    before = comment.body
    comment = replace(comment, body=checked_body(body), updated_at=state.now())
    state.tables.comments[comment.id] = comment
    touch(state, state.issue(repository, comment.number))
    tell_comment(state, actor, repository, comment, "edited", {"changes": {"body": {"from": before}}})
    return comment


def delete_comment(state: State, actor: Account, repository: Repository, comment: Comment) -> None:
    """Delete a comment; its address answers 404 from then on."""
    require_author_or_write(state, actor, repository, comment.author_id)
    del state.tables.comments[comment.id]
    touch(state, state.issue(repository, comment.number))
    tell_comment(state, actor, repository, comment, "deleted")


def tell_comment(
    state: State,
    actor: Account,
    repository: Repository,
    comment: Comment,
    action: str,
    parts: JsonObject | None = None,
) -> None:
    """Tell the hooks of a comment together with its thread as it stands now."""
    own: JsonObject = {
        "issue": issue_shape(state, repository, state.issue(repository, comment.number)),
        "comment": comment_shape(state, repository, comment),
    }
    state.tell(
        Happening(
            event="issue_comment",
            action=action,
            repository_id=repository.id,
            sender_id=actor.id,
            parts={**own, **(parts or {})},
        )
    )
