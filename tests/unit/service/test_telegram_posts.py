"""Which facts the operator is told of in Telegram, and in which words."""

from __future__ import annotations

import pytest

from eventlog.event import LogEvent
from eventlog.events.dispatch import DispatchGaveUp, DispatchQueued
from eventlog.events.poll import PollSourceError
from eventlog.events.reply import ReplyAbandoned, ReplyDead, ReplyRecorded
from eventlog.events.service import ServiceResourceEnded
from eventlog.events.session import SessionFailed, SessionStarted
from service.telegram.posts import Post, PostKind, PostLevel, Told, post_of

ITEM, PAGE = "github:octo/repo#15", "https://github.com/octo/repo/issues/15"
KEY = "github:comment-7"

TOLD = [
    (
        SessionStarted(work_item=ITEM, harness="claude"),
        Post(PostKind.SESSION_STARTED, f"An agent (claude) began to work on {PAGE}", ITEM),
    ),
    (
        ReplyRecorded(work_item=ITEM, reply_id="r", kind="question", channel="thread"),
        Post(PostKind.WAITING, f"The agent asks something, and waits for an answer on {PAGE}", ITEM),
    ),
    (
        SessionFailed(work_item=ITEM, will_retry=True, error="text from outside"),
        Post(PostKind.FAILED, f"The agent failed, and is tried again: {PAGE}", ITEM),
    ),
    (
        DispatchGaveUp(work_item=ITEM, event_key=KEY, attempts=4),
        Post(PostKind.GAVE_UP, f"Gave up after 4 attempts: {PAGE}\nthe-loop explain {KEY}", KEY),
    ),
    (
        ReplyAbandoned(work_item=ITEM, reply_id="r", reason="gone"),
        Post(PostKind.REPLY_ABANDONED, f"An answer did not reach its thread: {PAGE}", ITEM),
    ),
    (
        ReplyDead(work_item=ITEM, reply_id="r", reason="gone"),
        Post(PostKind.REPLY_ABANDONED, f"An answer did not reach its thread: {PAGE}", ITEM),
    ),
    (
        PollSourceError(repository="octo/repo", source_name="comments"),
        Post(
            PostKind.COVERAGE_STOPPED,
            "https://github.com/octo/repo cannot be read (comments): what is written there goes unheard for now",
            "octo/repo comments",
        ),
    ),
    (
        PollSourceError(repository="", source_name="in-play"),
        Post(
            PostKind.COVERAGE_STOPPED,
            "Polling cannot tell what became of its comments (in-play): see the-loop status",
            "in-play",
        ),
    ),
    (
        ServiceResourceEnded(resource="poller"),
        Post(PostKind.COVERAGE_STOPPED, "Nothing arrives any more by polling: see the-loop status", "poller"),
    ),
]


@pytest.mark.parametrize(("event", "post"), TOLD, ids=lambda value: getattr(value, "name", None))
def test_what_needs_a_person_is_told_with_its_page(event: LogEvent, post: Post) -> None:
    assert post_of(event, "github.com") == post


@pytest.mark.parametrize(
    "event",
    [
        DispatchQueued(work_item=ITEM),
        ReplyRecorded(work_item=ITEM, reply_id="r", kind="answer", channel="thread"),
        ServiceResourceEnded(resource="telegram-polling"),
    ],
    ids=lambda event: event.name,
)
def test_the_ordinary_course_of_things_is_not_told(event: LogEvent) -> None:
    assert post_of(event, "github.com") is None


def test_an_item_on_a_host_of_its_own_is_named_by_that_host() -> None:
    post = post_of(SessionStarted(work_item="github:git.example.com/octo/repo#15", harness="claude"), "git.example.com")
    assert post is not None
    assert post.text.endswith("https://git.example.com/octo/repo/issues/15")


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        pytest.param(Told(), {PostKind.SESSION_STARTED, PostKind.WAITING, PostKind.FAILED}, id="all"),
        pytest.param(Told(PostLevel.WARNING), {PostKind.WAITING, PostKind.FAILED}, id="no ordinary things"),
        pytest.param(Told(PostLevel.ERROR), {PostKind.FAILED}, id="errors"),
        pytest.param(
            Told(PostLevel.ERROR, {PostKind.SESSION_STARTED: PostLevel.ERROR, PostKind.FAILED: PostLevel.INFO}),
            {PostKind.SESSION_STARTED},
            id="by kind",
        ),
    ],
)
def test_the_settings_say_how_much_a_notice_must_matter(told: Told, wanted: set[PostKind]) -> None:
    kinds = (PostKind.SESSION_STARTED, PostKind.WAITING, PostKind.FAILED)
    assert {kind for kind in kinds if told.wants(kind)} == wanted
