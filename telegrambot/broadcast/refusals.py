"""Why a broadcast is not begun or not gone on with."""

from enum import StrEnum


class Refusal(StrEnum):
    """What stands against it."""

    NAME = "name"
    """The name cannot be one of files."""
    DIRECTORY = "directory"
    """The directory is not absolute."""
    RECIPIENT = "recipient"
    """Something among the recipients is no chat's number or name."""
    NOBODY = "nobody"
    """There are no recipients, and a name that was begun with none could never get any."""
    ALREADY_RUNNING = "already-running"
    """Another process, or another run in this one, is sending it."""
    AUDIENCE_UNREADABLE = "audience-unreadable"
    """The recipients were written down and cannot be read: who they were is not guessed."""
    JOURNAL_LOST = "journal-lost"
    """Recipients and journal belong together, and one of them is gone."""
    JOURNAL_UNREADABLE = "journal-unreadable"
    """A line in the middle of the journal says nothing, or speaks of nobody: it may have been a delivery."""
    CONTENT_CHANGED = "content-changed"
    """The message is another one than the earlier run of this name sent."""


class BroadcastRefused(Exception):
    """Nothing was sent; the text says what to do and names no recipient."""

    def __init__(self, refusal: Refusal, why: str) -> None:
        super().__init__(why)
        self.refusal = refusal
