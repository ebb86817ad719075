"""Where a payload comes from: the host and the repository that it names by itself, and the thread in it."""

from __future__ import annotations

from domain.model import Label, Snapshot, Thread
from githubapi import objects
from githubapi.events import Site
from githubapi.fields import Fields


def header_agrees(enterprise_host: str | None, host: str) -> bool:
    """Whether `X-GitHub-Enterprise-Host` (None: not sent, as by github.com) names the configured host.

    It is not signed, so agreeing proves nothing; the payload's own address decides, and the header may only object.
    """
    if enterprise_host is None:
        return True
    return enterprise_host.strip().lower() in (host.lower(), host.lower().partition(":")[0])


def site(payload: Fields, host: str, number: int, snapshot: Snapshot) -> Site:
    """The thread with this number in the payload's repository. Raises `Malformed` where that lies on another host."""
    repository = payload.part("repository")
    if objects.host_of(repository.text("html_url")) != host.lower():
        raise repository.refuse("html_url", "lies on another host")
    return Site(
        thread=Thread(host=host, repository_id=repository.id("id"), number=number),
        label=Label(host=host, repository=objects.full_name(repository), number=number),
        snapshot=snapshot,
    )
