"""Fields are read strictly by type; the rest of the outside world's shape is not looked at."""

from __future__ import annotations

import pytest

from domain.model import ID_MAX
from githubapi.fields import Fields, Malformed


@pytest.mark.parametrize(
    ("value", "what"),
    [
        pytest.param(True, "is no whole number", id="true"),
        pytest.param("15", "is no whole number", id="text"),
        pytest.param(15.0, "is no whole number", id="float"),
        pytest.param([15], "is no whole number", id="list"),
        pytest.param(0, "is out of range", id="zero"),
        pytest.param(-1, "is out of range", id="negative"),
        pytest.param(ID_MAX + 1, "is out of range", id="above 2^53"),
        pytest.param(10**4000, "is out of range", id="enormous"),
        pytest.param(None, "is missing", id="null"),
    ],
)
def test_an_id_is_a_whole_number_from_1_to_2_to_the_53rd(value: object, what: str) -> None:
    with pytest.raises(Malformed) as caught:
        Fields({"id": value}, "comment").id("id")
    assert (caught.value.field, caught.value.what) == ("comment.id", what)


@pytest.mark.parametrize("value", [1, 2**32, ID_MAX])
def test_an_id_is_kept_exactly(value: int) -> None:
    assert Fields({"id": value}).id("id") == value


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="the epoch"),
        pytest.param("2019-05-15T15:20:21Z", 1_557_933_621_000, id="whole seconds"),
        pytest.param("2019-05-15T15:20:21.345Z", 1_557_933_621_345, id="milliseconds"),
        pytest.param("2019-05-15T17:20:21+02:00", 1_557_933_621_000, id="another zone"),
        pytest.param("2019-05-15t15:20:21z", 1_557_933_621_000, id="small letters"),
    ],
)
def test_a_time_is_read_in_milliseconds_since_1970(value: str, milliseconds: int) -> None:
    assert Fields({"at": value}).time_ms("at") == milliseconds


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2019-05-15", id="a day"),
        pytest.param("2019-05-15T15:20:21", id="no zone"),
        pytest.param("2019-13-15T15:20:21Z", id="month 13"),
        pytest.param("0001-01-01T00:00:00+23:59", id="before time"),
        pytest.param("1969-12-31T23:59:59Z", id="before 1970"),
        pytest.param("２０１９-05-15T15:20:21Z", id="other digits"),
        pytest.param(1_557_933_621, id="a number"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_no_rfc_3339_time_is_malformed(value: object) -> None:
    with pytest.raises(Malformed):
        Fields({"at": value}).time_ms("at")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("a\0b", "a\ufffdb", id="NUL"),
        pytest.param("a\ud83db", "a\ufffdb", id="first half of a pair"),
        pytest.param("\ude00", "\ufffd", id="second half of a pair"),
        pytest.param("😀 é\u200b", "😀 é\u200b", id="whole characters stay"),
    ],
)
def test_a_nul_and_half_a_surrogate_pair_are_replaced(written: str, read: str) -> None:
    assert Fields({"body": written}).text("body") == read


@pytest.mark.parametrize(
    "value", [pytest.param(7, id="number"), pytest.param({}, id="object"), pytest.param(["a"], id="list")]
)
def test_another_type_than_text_is_malformed_also_where_the_text_may_be_missing(value: object) -> None:
    with pytest.raises(Malformed):
        Fields({"body": value}).optional_text("body")


def test_missing_and_null_are_the_same_for_what_may_be_missing() -> None:
    fields = Fields({"body": None, "user": None, "line": None, "at": None})
    assert [fields.optional_text("body"), fields.optional_text("title")] == [None, None]
    assert [fields.optional_part("user"), fields.optional_part("sender")] == [None, None]
    assert [fields.optional_id("line"), fields.optional_time_ms("at")] == [None, None]


def test_a_malformed_field_tells_nothing_of_what_stood_there() -> None:
    with pytest.raises(Malformed) as caught:
        Fields({"id": "the-secret"}).id("id")
    assert "the-secret" not in str(caught.value) + repr(caught.value)
