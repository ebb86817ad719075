"""Repositories as GitHub's JSON."""

from pathlib import Path

from service.demo.github.records import Account, Permission, Repository
from service.demo.github.shapes.accounts import account_shape, node_id
from service.demo.github.state import State
from service.demo.github.wire import JsonObject, time_text

REPOSITORY_LINKS = {
    "forks_url": "forks",
    "keys_url": "keys{/key_id}",
    "collaborators_url": "collaborators{/collaborator}",
    "teams_url": "teams",
    "hooks_url": "hooks",
    "issue_events_url": "issues/events{/number}",
    "events_url": "events",
    "assignees_url": "assignees{/user}",
    "branches_url": "branches{/branch}",
    "tags_url": "tags",
    "blobs_url": "git/blobs{/sha}",
    "git_tags_url": "git/tags{/sha}",
    "git_refs_url": "git/refs{/sha}",
    "trees_url": "git/trees{/sha}",
    "statuses_url": "statuses/{sha}",
    "languages_url": "languages",
    "stargazers_url": "stargazers",
    "contributors_url": "contributors",
    "subscribers_url": "subscribers",
    "subscription_url": "subscription",
    "commits_url": "commits{/sha}",
    "git_commits_url": "git/commits{/sha}",
    "comments_url": "comments{/number}",
    "issue_comment_url": "issues/comments{/number}",
    "contents_url": "contents/{+path}",
    "compare_url": "compare/{base}...{head}",
    "merges_url": "merges",
    "archive_url": "{archive_format}{/ref}",
    "downloads_url": "downloads",
    "issues_url": "issues{/number}",
    "pulls_url": "pulls{/number}",
    "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}",
    "labels_url": "labels{/name}",
    "releases_url": "releases{/id}",
    "deployments_url": "deployments",
}


def repository_url(state: State, repository: Repository) -> str:
    """The REST address of a repository."""
    return f"{state.base_url}/repos/{state.full_name(repository)}"


def repository_html_url(state: State, repository: Repository) -> str:
    """The address that people use for a repository."""
    return f"{state.base_url}/{state.full_name(repository)}"


def repository_shape(state: State, repository: Repository) -> JsonObject:
    """A repository; `clone_url` is the file address of its real bare git repository."""
    url = repository_url(state, repository)
    file_url = Path(repository.folder).as_uri()
    open_issues = sum(issue.state == "open" for issue in state.issues(repository))
    return {
        "id": repository.id,
        "node_id": node_id("Repository", repository.id),
        "name": repository.name,
        "full_name": state.full_name(repository),
        "private": repository.private,
        "owner": account_shape(state, state.tables.accounts[repository.owner_id]),
        "html_url": repository_html_url(state, repository),
        "description": None,
        "fork": False,
        "url": url,
        **{name: f"{url}/{rest}" for name, rest in REPOSITORY_LINKS.items()},
        "created_at": time_text(repository.created_at),
        "updated_at": time_text(repository.created_at),
        "pushed_at": time_text(repository.created_at),
        "git_url": file_url,
        "ssh_url": file_url,
        "clone_url": file_url,
        "svn_url": file_url,
        "homepage": None,
        "size": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": None,
        "has_issues": True,
        "has_projects": True,
        "has_downloads": True,
        "has_wiki": True,
        "has_pages": False,
        "has_discussions": False,
        "forks_count": 0,
        "mirror_url": None,
        "archived": False,
        "disabled": False,
        "open_issues_count": open_issues,
        "license": None,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "visibility": "private" if repository.private else "public",
        "forks": 0,
        "open_issues": open_issues,
        "watchers": 0,
        "default_branch": repository.default_branch,
    }


def permissions_shape(permission: Permission) -> dict[str, bool]:
    """What a permission includes, as GitHub's five flags."""
    order = [Permission.READ, Permission.TRIAGE, Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN]
    held = order[: order.index(permission) + 1] if permission in order else []
    names = ("pull", "triage", "push", "maintain", "admin")
    return {name: level in held for name, level in zip(names, order, strict=True)}


def collaborator_shape(state: State, account: Account, permission: Permission) -> JsonObject:
    """The permission of an account: the legacy word of four (`permission`) and the role's own name."""
    legacy = {Permission.MAINTAIN: Permission.WRITE, Permission.TRIAGE: Permission.READ}
    flags = permissions_shape(permission)
    return {
        "permission": str(legacy.get(permission, permission)),
        "role_name": str(permission),
        "user": {**account_shape(state, account), "permissions": flags, "role_name": str(permission)},
    }
