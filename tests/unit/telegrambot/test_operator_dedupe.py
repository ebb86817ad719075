"""Like notices get one message in a while, and all together get so many; what is held is counted and told."""

from __future__ import annotations

import pytest

from telegrambot.operator_dedupe import FINGERPRINTS_MAX, Dedupe, Deduping, Held, Ticket, Unsaid, fingerprint


def sent(dedupe: Dedupe, text: str, now: float) -> Unsaid:
    """Admit a notice and have it sent; what its message told beside its text."""
    ticket = dedupe.admit(fingerprint(text), now)
    assert isinstance(ticket, Ticket), ticket
    told = dedupe.unsaid(ticket)
    dedupe.sent(ticket, told, now)
    return told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("waited 17 s", "waited 4 s", id="numbers"),
        pytest.param("key ghijklmnopqrstuvwxyz lost", "key QRSTUVWXYZ0123456789Q lost", id="long identifiers"),
        pytest.param(
            "job 0b8f9f3e-5d0a-4c67-9d7e-0c1f6f3f2a11 died",
            "job abcdefab-cdef-abcd-efab-cdefABCDEFAB died",
            id="UUIDs",
        ),
        pytest.param("y " * 200 + "a", "y " * 200 + "b", id="what stands far behind"),
    ],
)
def test_notices_are_alike_that_differ_only_in(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("failed", "a", None), ("failed", "b", None), id="topics"),
        pytest.param(("failed", None, "o/r#17"), ("failed", None, "o/r#18"), id="the things they are about"),
        pytest.param(("failed", None, None), ("ended", None, None), id="words"),
    ],
)
def test_notices_are_not_alike_that_differ_in(
    one: tuple[str, str | None, str | None], other: tuple[str, str | None, str | None]
) -> None:
    assert fingerprint(*one) != fingerprint(*other)


def test_the_same_error_a_hundred_times_in_a_window_is_one_message_and_the_next_one_tells_of_the_rest() -> None:
    dedupe = Dedupe(Deduping(window_s=600.0))
    first = sent(dedupe, "failed 0", 0.0)
    held = [dedupe.admit(fingerprint(f"failed {number}"), number * 6.0) for number in range(1, 100)]
    after = sent(dedupe, "failed 100", 600.0)
    assert (first, set(held), after) == (Unsaid(), {Held.REPEATED}, Unsaid(held=99))
    assert after.text == "\n(more like this held back: 99)"


def test_what_was_told_once_is_not_told_again() -> None:
    dedupe = Dedupe(Deduping(window_s=10.0))
    sent(dedupe, "a", 0.0)
    dedupe.admit(fingerprint("a"), 1.0)
    assert [sent(dedupe, "a", at) for at in (10.0, 20.0)] == [Unsaid(held=1), Unsaid()]


def test_a_like_notice_is_held_for_one_that_still_waits_however_long_it_does() -> None:
    dedupe = Dedupe(Deduping(window_s=10.0))
    dedupe.admit(fingerprint("a"), 0.0)
    assert dedupe.admit(fingerprint("a"), 1_000.0) is Held.REPEATED


def test_a_notice_that_was_never_sent_holds_no_other_back() -> None:
    dedupe = Dedupe(Deduping(sends_max=1))
    ticket = dedupe.admit(fingerprint("a"), 0.0)
    assert isinstance(ticket, Ticket)
    dedupe.admit(fingerprint("a"), 1.0)
    dedupe.dropped(ticket)
    assert sent(dedupe, "a", 2.0) == Unsaid(held=1)


def test_a_notice_dropped_in_a_later_window_gives_that_window_no_place_back() -> None:
    dedupe = Dedupe(Deduping(window_s=10.0, sends_max=1))
    ticket = dedupe.admit(fingerprint("a"), 0.0)
    assert isinstance(ticket, Ticket)
    sent(dedupe, "b", 10.0)
    dedupe.dropped(ticket)
    assert dedupe.admit(fingerprint("c"), 11.0) is Held.OVER_BUDGET


def test_what_a_window_has_no_room_for_is_told_with_the_first_message_of_the_next() -> None:
    dedupe = Dedupe(Deduping(window_s=600.0, sends_max=2))
    told = [sent(dedupe, word, 0.0) for word in ("a", "b")]
    held = [dedupe.admit(fingerprint(word), 1.0) for word in ("c", "d", "e")]
    told += [sent(dedupe, word, 600.0) for word in ("f", "g")]
    assert held == [Held.OVER_BUDGET] * 3
    assert told == [Unsaid(), Unsaid(), Unsaid(left_out=3), Unsaid()]
    assert told[2].text == "\n(other notices left out: 3)"


def test_a_count_that_grows_while_its_message_is_sent_stays_for_the_next() -> None:
    dedupe = Dedupe(Deduping(window_s=10.0))
    ticket = dedupe.admit(fingerprint("a"), 0.0)
    assert isinstance(ticket, Ticket)
    told = dedupe.unsaid(ticket)
    dedupe.admit(fingerprint("a"), 1.0)
    dedupe.sent(ticket, told, 2.0)
    assert sent(dedupe, "a", 12.0) == Unsaid(held=1)


def test_by_default_a_window_is_ten_minutes_and_has_twenty_messages() -> None:
    assert Deduping() == Deduping(window_s=600.0, sends_max=20)


def test_of_too_many_different_notices_the_oldest_is_forgotten() -> None:
    dedupe = Dedupe(Deduping(sends_max=10_000))
    for number in range(FINGERPRINTS_MAX + 1):
        dedupe.admit(f"key {number}", 0.0)
    assert dedupe.admit("key 1", 1.0) is Held.REPEATED
    assert isinstance(dedupe.admit("key 0", 1.0), Ticket)
