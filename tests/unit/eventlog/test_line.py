"""One line: its form, its bounds, and that nothing which is put into it gets in the way."""

import json
from collections import UserDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventlog.bounds import ENTRY_BYTES_MIN, Bounds
from eventlog.events.dispatch import DispatchAccepted, DispatchFailed, DispatchSettled
from eventlog.events.routing import RoutingDropped
from eventlog.events.service import ServiceAdmissionOpened
from eventlog.events.turn import TurnFrozen
from eventlog.line import LineFormat
from eventlog.masking import MASK, Masker

AT_MS = 1_764_540_000_123
GITHUB_TOKEN = "ghp_" + "a1" * 18


class Reason(StrEnum):
    NOT_FOR_US = "not-for-us"


@dataclass(frozen=True)
class Point:
    x: int
    api_key: str


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("looked at")


class Revealing:
    def get_secret_value(self) -> str:
        return "hunter22"


@pytest.fixture
def lines() -> LineFormat:
    return LineFormat("serve")


def parsed(line: bytes) -> dict:
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    return json.loads(line.decode(), parse_constant=pytest.fail)


def extra(lines: LineFormat, value: object):
    return parsed(lines.record(30, AT_MS, "", {"value": value}))["value"]


def failure(error: BaseException) -> DispatchFailed:
    return DispatchFailed(attempt=1, will_retry=True, error=error)


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def test_a_line_says_level_time_and_message_then_what_happened_then_who_wrote_it(
    lines: LineFormat, monkeypatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 42)
    event = RoutingDropped(reason=Reason.NOT_FOR_US, road="webhook", delivery_id="d-1")
    assert lines.event(event, AT_MS).decode() == (
        '{"level":30,"time":1764540000123,"msg":"The Router passed a delivery over, so that it is no event and has no'
        ' row; the reason is of the closed list.","event":"routing.dropped","delivery_id":"d-1","reason":"not-for-us",'
        '"road":"webhook","pid":42,"source":"serve"}\n'
    )


def test_an_event_without_any_field_is_a_line(lines: LineFormat) -> None:
    assert parsed(lines.event(ServiceAdmissionOpened(), AT_MS))["event"] == "service.admission_opened"


def test_the_quick_way_and_the_thorough_way_write_the_same_line() -> None:
    event = TurnFrozen(event_keys=("a", "b"), prompt_bytes=3, turn_id="t", session_id="s")
    suspicious = LineFormat("serve", ["turn.frozen", "nothing like it"])
    assert suspicious.event(event, AT_MS) == LineFormat("serve").event(event, AT_MS)


def test_the_fields_of_an_event_are_shown_whatever_they_are_called(lines: LineFormat) -> None:
    event = DispatchSettled(outcome="withdrawn", session_id="s-1", actor=GITHUB_TOKEN)
    line = parsed(lines.event(event, AT_MS))
    assert (line["session_id"], line["actor"]) == ("s-1", f"ghp_{MASK}")


def test_a_field_of_an_event_is_bounded_and_utf_8_like_any_other_value(lines: LineFormat) -> None:
    half = parsed(lines.event(DispatchAccepted(road="poll", kind="half \ud800"), AT_MS))
    long = parsed(lines.event(DispatchAccepted(road="poll", kind="a" * 4_001), AT_MS))
    assert (half["kind"], long["kind"]) == ("half ?", "a" * 4_000 + "…[truncated]")


@pytest.mark.parametrize(
    ("bounds", "keys"),
    [
        pytest.param(Bounds(string_characters_max=10), ["k" * 10 + "…[truncated]", "k"], id="texts"),
        pytest.param(Bounds(collection_items_max=1), ["k" * 20, "[truncated 1 items]"], id="items"),
    ],
)
def test_narrow_bounds_hold_for_small_events_too(bounds: Bounds, keys: list[str]) -> None:
    event = TurnFrozen(event_keys=("k" * 20, "k"), prompt_bytes=1)
    assert parsed(LineFormat("serve", bounds=bounds).event(event, AT_MS))["event_keys"] == keys


def test_a_record_cannot_overwrite_what_every_line_has(lines: LineFormat) -> None:
    mine = {"level": 1, "time": 2, "msg": "3", "event": "4", "pid": 5, "source": "6", "mine": 7}
    line = parsed(lines.record(50, AT_MS, "said", mine))
    assert (line["level"], line["time"], line["msg"], line["source"], line["mine"]) == (50, AT_MS, "said", "serve", 7)
    assert "event" not in line


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        pytest.param(float("nan"), "nan", id="not a number"),
        pytest.param(float("-inf"), "-inf", id="infinity"),
        pytest.param(2**63, "[integer of 64 bits]", id="large integer"),
        pytest.param(10**5000, "[integer of 16610 bits]", id="integer that has no text"),
        pytest.param(True, True, id="truth"),
        pytest.param(b"abc", {"_type": "binary", "size": 3}, id="bytes"),
        pytest.param(datetime(2025, 11, 30, tzinfo=UTC), "2025-11-30T00:00:00+00:00", id="time"),
        pytest.param(timedelta(seconds=1.5), 1.5, id="duration"),
        pytest.param(Decimal("1.10"), "1.10", id="decimal"),
        pytest.param(UUID(int=1), "00000000-0000-0000-0000-000000000001", id="uuid"),
        pytest.param(PurePosixPath("/a"), "/a", id="path"),
        pytest.param(Reason.NOT_FOR_US, "not-for-us", id="word of ours"),
        pytest.param({"b", "a"}, ["a", "b"], id="set, always in one order"),
        pytest.param(Point(x=1, api_key="k"), {"x": 1, "api_key": MASK}, id="dataclass"),
        pytest.param(UserDict({1: 2, "sessionToken": 3}), {"1": 2, "sessionToken": MASK}, id="any mapping"),
        pytest.param({"__proto__": 1, "sessionCount": 2}, {"sessionCount": 2}, id="unsafe key"),
        pytest.param(Revealing(), MASK, id="a value that says it is secret"),
        pytest.param([Hostile(), 1], ["[unreadable]", 1], id="an object that raises when it is looked at"),
        pytest.param({Hostile(): 1}, "[unreadable]", id="a key that raises"),
        pytest.param("half \ud800", "half ?", id="half a surrogate pair"),
        pytest.param(int, "<class 'int'>", id="class"),
    ],
)
def test_any_value_has_a_plain_form(lines: LineFormat, value: object, plain: object) -> None:
    assert extra(lines, value) == plain


def test_an_error_shows_its_name_message_place_own_fields_and_the_errors_that_led_to_it(lines: LineFormat) -> None:
    error = ValueError("outer")
    error.retry_after_s = 7
    line = parsed(lines.event(failure(raised(error, raised(KeyError("inner")))), AT_MS))["error"]
    assert (line["_type"], line["name"], line["message"], line["retry_after_s"]) == ("error", "ValueError", "outer", 7)
    assert "in raised" in line["stack"]
    assert (line["cause"]["name"], line["cause"]["message"]) == ("KeyError", "'inner'")


def test_an_error_is_shown_under_any_key_at_any_depth(lines: LineFormat) -> None:
    assert extra(lines, {"nested": [ValueError("deep")]})["nested"][0]["message"] == "deep"


def test_the_error_during_whose_handling_another_came_is_its_cause_unless_suppressed(lines: LineFormat) -> None:
    shown, suppressed = ValueError("shown"), ValueError("suppressed")
    shown.__context__ = suppressed.__context__ = KeyError("first")
    suppressed.__suppress_context__ = True
    assert extra(lines, shown)["cause"]["name"] == "KeyError"
    assert "cause" not in extra(lines, suppressed)


def test_a_group_of_errors_shows_each(lines: LineFormat) -> None:
    group = ExceptionGroup("two", [ValueError("a"), KeyError("b")])
    assert [error["name"] for error in extra(lines, group)["errors"]] == ["ValueError", "KeyError"]


def test_a_long_chain_of_errors_ends_in_a_marker(lines: LineFormat) -> None:
    error: BaseException | None = None
    for number in range(10):
        error = raised(ValueError(number), error)
    line = parsed(lines.event(failure(error), AT_MS))
    depth, shown = 0, line["error"]
    while isinstance(shown, dict):
        depth, shown = depth + 1, shown["cause"]
    assert (depth, shown) == (6, "[max depth]")


def test_an_error_that_is_its_own_cause_is_shown_once(lines: LineFormat) -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert extra(lines, one)["cause"]["cause"] == "[circular]"


def test_a_structure_that_holds_itself_is_shown_once_and_one_that_shares_its_parts_twice(lines: LineFormat) -> None:
    shared: list[object] = [1]
    assert extra(lines, [shared, shared]) == [[1], [1]]
    shared.append(shared)
    assert extra(lines, shared) == [1, "[circular]"]


def test_a_small_structure_that_unfolds_to_millions_is_cut_by_the_budget_of_values() -> None:
    unfolding: list[object] = []
    for _ in range(5):
        unfolding = [unfolding] * 100
    line = LineFormat("serve").record(30, AT_MS, "", {"value": unfolding})
    assert len(line) <= Bounds().entry_bytes_max + 1
    small = LineFormat("serve", bounds=Bounds(nodes_max=4))
    assert parsed(small.record(30, AT_MS, "", {"value": [1, 2, 3]}))["value"] == [1, 2, "[node budget]"]


def test_a_collection_says_how_many_items_it_left_out(lines: LineFormat) -> None:
    assert extra(lines, list(range(103)))[99:] == [99, "[truncated 3 items]"]
    assert extra(lines, {str(number): number for number in range(103)})["[truncated]"] == 3


def test_a_text_is_masked_before_it_is_cut(lines: LineFormat) -> None:
    assert extra(lines, "x" * 3_980 + GITHUB_TOKEN) == "x" * 3_980 + f"ghp_{MASK}"
    assert extra(lines, "x" * 3_990 + GITHUB_TOKEN) == "x" * 3_990 + f"ghp_{MASK}"[:10] + "…[truncated]"


def test_a_text_too_long_to_be_read_is_named_by_its_length(lines: LineFormat) -> None:
    assert extra(lines, "x" * (5 << 20)) == "[text of 5242880 characters]"


def test_a_line_over_its_bound_keeps_what_it_is_about_and_shows_the_beginning_of_the_rest(lines: LineFormat) -> None:
    error = ValueError(["ä" * 4_000] * 40)
    error.parts = ["ä" * 4_000] * 40
    event = DispatchFailed(attempt=1, will_retry=True, work_item="github:octo/repo#15", event_key="k", error=error)
    encoded = lines.event(event, AT_MS)
    line = parsed(encoded)
    assert len(encoded) <= Bounds().entry_bytes_max + 1
    assert (line["event"], line["work_item"], line["event_key"]) == ("dispatch.failed", "github:octo/repo#15", "k")
    assert line["msg"] == DispatchFailed.sentence
    assert line["_truncated"] is True
    assert line["_originalBytes"] > Bounds().entry_bytes_max
    assert line["preview"].startswith('{"attempt":1,"will_retry":true,"error":{"_type":"error"')


def test_a_bound_without_room_for_what_a_line_is_about_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2048"):
        Bounds(entry_bytes_max=ENTRY_BYTES_MIN - 1)


def test_a_megabyte_of_text_is_a_line_within_the_bound_that_says_so(lines: LineFormat) -> None:
    encoded = lines.record(40, AT_MS, "m" * 1_000_000, {"text": "x" * 1_000_000})
    assert len(encoded) <= 65_537
    line = parsed(encoded)
    assert (line["level"], line["time"]) == (40, AT_MS)
    assert line["msg"].endswith("…[truncated]")


SECRET = "hunter2-correct-horse"
texts = st.text(st.characters(), max_size=40) | st.sampled_from([SECRET, f"x{SECRET}y", GITHUB_TOKEN, f"?k={SECRET}"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.binary(max_size=9)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(texts, inner, max_size=5)
        | st.tuples(inner, inner)
        | inner.map(lambda value: ValueError(value))
    ),
    max_leaves=30,
)
small_lines = LineFormat("serve", [SECRET], Bounds(entry_bytes_max=ENTRY_BYTES_MIN, string_characters_max=300))


@given(extras=st.dictionaries(texts, values, max_size=6), msg=texts)
def test_whatever_is_said_is_one_line_of_json_within_the_bound_and_without_secrets(extras, msg) -> None:
    encoded = small_lines.record(30, AT_MS, msg, extras)
    parsed(encoded)
    assert len(encoded) <= ENTRY_BYTES_MIN + 1
    assert SECRET not in encoded.decode()
    assert GITHUB_TOKEN not in encoded.decode()


@given(actor=texts, key=texts, work_item=texts, value=texts | st.builds(ValueError, values))
def test_whatever_an_event_holds_is_one_line_of_json_within_the_bound_and_without_secrets(
    actor, key, work_item, value
) -> None:
    event = DispatchFailed(
        attempt=1, will_retry=True, error=value, event_key=key, work_item=work_item, delivery_id=actor
    )
    encoded = small_lines.event(event, AT_MS)
    assert parsed(encoded)["event"] == "dispatch.failed"
    assert len(encoded) <= ENTRY_BYTES_MIN + 1
    assert SECRET not in encoded.decode()
    assert GITHUB_TOKEN not in encoded.decode()


@given(st.text(max_size=1_100), st.integers(), st.lists(st.text(max_size=20), max_size=60))
def test_the_values_of_an_event_are_read_back_as_they_were_given(actor: str, number: int, keys: list[str]) -> None:
    lines = LineFormat("serve")
    accepted = parsed(lines.event(DispatchAccepted(road="poll", kind="comment", actor=actor), AT_MS))
    frozen = parsed(lines.event(TurnFrozen(event_keys=tuple(keys), prompt_bytes=number), AT_MS))
    assert accepted["actor"] == masked(actor)
    assert frozen["event_keys"] == [masked(key) for key in keys]
    assert frozen["prompt_bytes"] == (number if abs(number) < 2**63 else f"[integer of {number.bit_length()} bits]")


def masked(text: str) -> str:
    return Masker(()).mask(text).encode("utf-8", "replace").decode()
