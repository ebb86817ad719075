"""What GitHub's objects say of accounts, repositories, issues and pull requests; REST and webhooks share the shapes."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from domain.model import Account, ItemKind, Snapshot
from domain.ports import ItemFacts, Repository
from githubapi.fields import Fields, sayable

_FULL_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_STATES = {"open": True, "closed": False}


def is_full_name(name: str) -> bool:
    """Whether a text can be the name of a repository, owner/repo."""
    return _FULL_NAME.fullmatch(name) is not None and not {".", ".."} & set(name.split("/"))


def host_of(url: str) -> str:
    """The host of an address as our work items name it: in lower case, with its port where it says one."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def account(fields: Fields) -> Account:
    """An account object."""
    return Account(login=fields.text("login"), id=fields.id("id"), is_bot=fields.optional_text("type") == "Bot")


def named_account(owner: Fields, name: str) -> Account | None:
    """The account in a field; None where GitHub names nobody, as for a deleted author."""
    fields = owner.optional_part(name)
    return None if fields is None else account(fields)


def full_name(fields: Fields) -> str:
    """The owner/repo of a repository object."""
    name = fields.text("full_name")
    if not is_full_name(name):
        raise fields.refuse("full_name", "is no owner/repo")
    return name


def repository(fields: Fields, host: str) -> Repository:
    """A repository as REST shows it."""
    return Repository(
        host=host,
        id=fields.id("id"),
        name=full_name(fields),
        default_branch=fields.text("default_branch"),
        clone_url=fields.text("clone_url"),
    )


def kind_of_issue(fields: Fields) -> ItemKind:
    """Whether an issue object stands for an issue or for a pull request."""
    return ItemKind.ISSUE if fields.optional_part("pull_request") is None else ItemKind.PULL


def issue_snapshot(fields: Fields) -> Snapshot:
    """What an issue object says; of a pull request it does not say the head."""
    return Snapshot(
        kind=kind_of_issue(fields),
        title=fields.text("title"),
        is_open=_is_open(fields),
        labels=_labels(fields),
        updated_at_ms=fields.time_ms("updated_at"),
    )


def pull_snapshot(fields: Fields) -> Snapshot:
    """What a pull request object says. A head whose repository is gone counts as a fork's: it is not ours."""
    head = fields.part("head")
    head_repository = head.optional_part("repo")
    base_repository = fields.part("base").part("repo")
    return Snapshot(
        kind=ItemKind.PULL,
        title=fields.text("title"),
        is_open=_is_open(fields),
        labels=_labels(fields),
        updated_at_ms=fields.time_ms("updated_at"),
        head_branch=head.text("ref"),
        from_fork=head_repository is None or head_repository.id("id") != base_repository.id("id"),
    )


def issue_facts(fields: Fields) -> ItemFacts:
    """An issue as it stands."""
    return ItemFacts(
        snapshot=issue_snapshot(fields),
        url=fields.text("html_url"),
        body=fields.optional_text("body") or "",
        author=named_account(fields, "user"),
        closed_at_ms=fields.optional_time_ms("closed_at"),
    )


def pull_facts(fields: Fields) -> ItemFacts:
    """A pull request as it stands."""
    return ItemFacts(
        snapshot=pull_snapshot(fields),
        url=fields.text("html_url"),
        body=fields.optional_text("body") or "",
        author=named_account(fields, "user"),
        head_sha=fields.part("head").text("sha"),
        closed_at_ms=fields.optional_time_ms("closed_at"),
    )


def _is_open(fields: Fields) -> bool:
    state = _STATES.get(fields.text("state"))
    if state is None:
        raise fields.refuse("state", "is neither open nor closed")
    return state


def _labels(fields: Fields) -> tuple[str, ...]:
    return tuple(_label(entry, fields) for entry in fields.items("labels"))


def _label(entry: object, fields: Fields) -> str:
    """REST may name a label by an object or by its bare name."""
    if isinstance(entry, str):
        return sayable(entry)
    if isinstance(entry, dict):
        return Fields(entry, f"{fields.path}.labels").text("name")
    raise fields.refuse("labels", "holds no label")
