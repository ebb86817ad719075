"""Issues and their labels as GitHub's JSON."""

import zlib

from service.demo.github.records import Issue, Repository
from service.demo.github.shapes.accounts import author_shape, node_id
from service.demo.github.shapes.repositories import repository_html_url, repository_url
from service.demo.github.state import State
from service.demo.github.wire import JsonObject, optional_time_text, time_text

ASSOCIATIONS = {
    "admin": "COLLABORATOR",
    "maintain": "COLLABORATOR",
    "write": "COLLABORATOR",
    "triage": "COLLABORATOR",
}


def association(state: State, repository: Repository, author_id: int | None) -> str:
    """What an author is to a repository, as GitHub's `author_association`."""
    account = state.account_by_id(author_id)
    if account is None:
        return "NONE"
    if account.id == repository.owner_id:
        return "OWNER"
    return ASSOCIATIONS.get(state.permission(repository, account), "NONE")


def label_shape(state: State, repository: Repository, name: str) -> JsonObject:
    """A label; its id is made of its name, so that it is the same everywhere."""
    label_id = zlib.crc32(f"{repository.id}/{name}".encode())
    return {
        "id": label_id,
        "node_id": node_id("Label", label_id),
        "url": f"{repository_url(state, repository)}/labels/{name}",
        "name": name,
        "color": "d73a4a",
        "default": False,
        "description": None,
    }


def thread_html_url(state: State, repository: Repository, issue: Issue) -> str:
    """The address that people use for an issue's or pull request's thread."""
    kind = "pull" if issue.pull is not None else "issues"
    return f"{repository_html_url(state, repository)}/{kind}/{issue.number}"


def issue_shape(state: State, repository: Repository, issue: Issue) -> JsonObject:
    """An issue; for a pull request, the issue that stands behind it, with the `pull_request` key."""
    repository_address = repository_url(state, repository)
    url = f"{repository_address}/issues/{issue.number}"
    comments = sum(
        comment.repository_id == repository.id and comment.number == issue.number
        for comment in state.tables.comments.values()
    )
    shape: JsonObject = {
        "url": url,
        "repository_url": repository_address,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": thread_html_url(state, repository, issue),
        "id": issue.id,
        "node_id": node_id("Issue", issue.id),
        "number": issue.number,
        "title": issue.title,
        "user": author_shape(state, issue.author_id),
        "labels": [label_shape(state, repository, name) for name in issue.labels],
        "state": issue.state,
        "state_reason": issue.state_reason,
        "locked": issue.locked,
        "active_lock_reason": None,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": comments,
        "created_at": time_text(issue.created_at),
        "updated_at": time_text(issue.updated_at),
        "closed_at": optional_time_text(issue.closed_at),
        "closed_by": author_shape(state, issue.closed_by_id),
        "author_association": association(state, repository, issue.author_id),
        "body": issue.body,
        "reactions": reactions_shape(url),
        "performed_via_github_app": None,
    }
    if issue.pull is not None:
        shape["draft"] = issue.pull.draft
        shape["pull_request"] = pull_link_shape(state, repository, issue)
    return shape


def pull_link_shape(state: State, repository: Repository, issue: Issue) -> JsonObject:
    """The key by which an issue says that it is a pull request."""
    html_url = thread_html_url(state, repository, issue)
    return {
        "url": f"{repository_url(state, repository)}/pulls/{issue.number}",
        "html_url": html_url,
        "diff_url": f"{html_url}.diff",
        "patch_url": f"{html_url}.patch",
        "merged_at": optional_time_text(issue.pull.merged_at if issue.pull is not None else None),
    }


def reactions_shape(subject_url: str) -> JsonObject:
    """The summary of reactions, which the stand-in leaves at zero."""
    names = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {"url": f"{subject_url}/reactions", "total_count": 0, **dict.fromkeys(names, 0)}
