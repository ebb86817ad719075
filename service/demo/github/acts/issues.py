"""Opening, closing, editing, labelling and locking issues and pull requests."""

from dataclasses import dataclass, replace

from service.demo.github.acts.rights import require_author_or_triage, require_triage, require_write
from service.demo.github.failures import Failure
from service.demo.github.records import Account, Issue, Repository
from service.demo.github.shapes.issues import issue_shape, label_shape
from service.demo.github.shapes.pulls import pull_shape
from service.demo.github.state import Happening, State
from service.demo.github.wire import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueEdit:
    """What an edit changes; None leaves a thing as it is."""

    title: str | None = None
    body: str | None = None
    state: str | None = None
    state_reason: str | None = None
    labels: tuple[str, ...] | None = None


def new_number(state: State, repository: Repository, issue_id: int) -> int:
    """The next number of a repository, which issues and pull requests share."""
    prefix = f"{repository.id}#"
    number = 1 + sum(key.startswith(prefix) for key in state.tables.issue_numbers)
    state.tables.issue_numbers[f"{prefix}{number}"] = issue_id
    return number


def open_issue(
    state: State, actor: Account, repository: Repository, title: str, body: str | None, labels: tuple[str, ...] = ()
) -> Issue:
    """Open an issue; labels of someone who may not label are left out, as GitHub does."""
    if not title.strip():
        raise Failure(422, "Validation Failed: title is missing")
    issue_id = state.new_id("issue")
    now = state.now()
    issue = Issue(
        id=issue_id,
        repository_id=repository.id,
        number=new_number(state, repository, issue_id),
        title=title,
        body=body,
        author_id=actor.id,
        created_at=now,
        updated_at=now,
    )
    state.tables.issues[issue.id] = issue
    tell_thread(state, actor, repository, issue, "opened")
    return add_labels(state, actor, repository, issue, labels) if labels else issue


def touch(state: State, issue: Issue) -> Issue:
    """Store an issue as updated now."""
    touched = replace(issue, updated_at=state.now())
    state.tables.issues[issue.id] = touched
    return touched


def tell_thread(
    state: State,
    actor: Account,
    repository: Repository,
    issue: Issue,
    action: str,
    parts: JsonObject | None = None,
) -> None:
    """Tell the hooks of an issue's own event, which for a pull request is `pull_request`."""
    extra = parts or {}
    if issue.pull is not None:
        own: JsonObject = {"number": issue.number, "pull_request": pull_shape(state, repository, issue)}
        event = "pull_request"
    else:
        own = {"issue": issue_shape(state, repository, issue)}
        event = "issues"
    state.tell(
        Happening(event=event, action=action, repository_id=repository.id, sender_id=actor.id, parts={**own, **extra})
    )


def edit_issue(state: State, actor: Account, repository: Repository, issue: Issue, edit: IssueEdit) -> Issue:
    """Change what the edit names; a change of state is a closing or reopening."""
    require_author_or_triage(state, actor, repository, issue.author_id)
    if edit.title is not None or edit.body is not None:
        issue = edit_text(state, actor, repository, issue, edit)
    if edit.labels is not None:
        issue = set_labels(state, actor, repository, issue, edit.labels)
    if edit.state == "closed" and issue.state == "open":
        return close(state, actor, repository, issue, edit.state_reason or "completed")
    if edit.state == "open" and issue.state == "closed":
        return reopen(state, actor, repository, issue)
    return issue


def edit_text(state: State, actor: Account, repository: Repository, issue: Issue, edit: IssueEdit) -> Issue:
    """Change title and body, and tell what they were."""
    title = edit.title if edit.title is not None else issue.title
    body = edit.body if edit.body is not None else issue.body
    changes = {
        name: {"from": before}
        for name, before, after in (("title", issue.title, title), ("body", issue.body, body))
        if before != after
    }
    edited = touch(state, replace(issue, title=title, body=body))
    tell_thread(state, actor, repository, edited, "edited", {"changes": changes})
    return edited


def close(state: State, actor: Account, repository: Repository, issue: Issue, reason: str = "completed") -> Issue:
    """Close an issue or a pull request; a closed one stays as it is."""
    require_author_or_triage(state, actor, repository, issue.author_id)
    if issue.state == "closed":
        return issue
    state_reason = None if issue.pull is not None else reason
    closed = touch(
        state,
        replace(issue, state="closed", state_reason=state_reason, closed_at=state.now(), closed_by_id=actor.id),
    )
    tell_thread(state, actor, repository, closed, "closed")
    return closed


def reopen(state: State, actor: Account, repository: Repository, issue: Issue) -> Issue:
    """Open a closed issue or pull request again; a merged one cannot be (422)."""
    require_author_or_triage(state, actor, repository, issue.author_id)
    if issue.pull is not None and issue.pull.merged_at is not None:
        raise Failure(422, "Validation Failed: state cannot be changed. The pull request has been merged.")
    if issue.state == "open":
        return issue
    reason = None if issue.pull is not None else "reopened"
    opened = touch(state, replace(issue, state="open", state_reason=reason, closed_at=None, closed_by_id=None))
    tell_thread(state, actor, repository, opened, "reopened")
    return opened


def add_labels(state: State, actor: Account, repository: Repository, issue: Issue, names: tuple[str, ...]) -> Issue:
    """Add the labels that an issue does not have, and tell of each."""
    require_triage(state, actor, repository)
    for name in names:
        if name.lower() not in {label.lower() for label in issue.labels}:
            issue = touch(state, replace(issue, labels=(*issue.labels, name)))
            tell_label(state, actor, repository, issue, "labeled", name)
    return issue


def remove_label(state: State, actor: Account, repository: Repository, issue: Issue, name: str) -> Issue:
    """Take a label off; 404 when the issue does not have it."""
    require_triage(state, actor, repository)
    kept = tuple(label for label in issue.labels if label.lower() != name.lower())
    if kept == issue.labels:
        raise Failure(404, "Label does not exist")
    issue = touch(state, replace(issue, labels=kept))
    tell_label(state, actor, repository, issue, "unlabeled", name)
    return issue


def set_labels(state: State, actor: Account, repository: Repository, issue: Issue, names: tuple[str, ...]) -> Issue:
    """Make the labels be exactly these."""
    require_triage(state, actor, repository)
    wanted = {name.lower() for name in names}
    for name in issue.labels:
        if name.lower() not in wanted:
            issue = remove_label(state, actor, repository, issue, name)
    return add_labels(state, actor, repository, issue, names)


def tell_label(state: State, actor: Account, repository: Repository, issue: Issue, action: str, name: str) -> None:
    tell_thread(state, actor, repository, issue, action, {"label": label_shape(state, repository, name)})


def set_locked(state: State, actor: Account, repository: Repository, issue: Issue, *, locked: bool) -> Issue:
    """Lock or unlock a thread."""
    require_write(state, actor, repository)
    changed = touch(state, replace(issue, locked=locked))
    tell_thread(state, actor, repository, changed, "locked" if locked else "unlocked")
    return changed


def delete_issue(state: State, actor: Account, repository: Repository, issue: Issue) -> None:
    """Delete an issue with its comments; its number answers 410 from then on."""
    tell_thread(state, actor, repository, issue, "deleted")
    state.tables.issues[issue.id] = replace(issue, deleted=True)
    tables = state.tables
    tables.comments = {
        comment.id: comment
        for comment in tables.comments.values()
        if (comment.repository_id, comment.number) != (repository.id, issue.number)
    }
