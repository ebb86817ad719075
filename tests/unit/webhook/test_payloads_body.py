"""A body is one JSON object in UTF-8, bare or in a form; everything else is refused and nothing else is raised."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from githubapi.fields import Malformed
from webhook.payloads.body import UnsupportedMedia, load

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
DOCUMENT = {"action": "created", "comment": {"body": "the-loop start\r\n+ & = % é 😀"}}


@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=utf-8", " Application/JSON "])
def test_json_is_read(content_type: str) -> None:
    assert load(json.dumps(DOCUMENT, ensure_ascii=False).encode(), content_type) == DOCUMENT


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_the_payload_of_a_form_is_read_as_json(ensure_ascii: bool) -> None:
    raw = urlencode({"payload": json.dumps(DOCUMENT, ensure_ascii=ensure_ascii)}).encode()
    assert load(raw, FORM) == DOCUMENT


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/xml", "multipart/form-data", "json"])
def test_another_content_type_is_refused(content_type: str | None) -> None:
    with pytest.raises(UnsupportedMedia):
        load(b"{}", content_type)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"{} {}", id="two objects"),
        pytest.param(b"[1,2]", id="a list"),
        pytest.param(b'"text"', id="a text"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"a":"\xff"}', id="bad UTF-8"),
        pytest.param(b'{"a":"\xed\xa0\x80"}', id="half a surrogate pair in UTF-8"),
        pytest.param(b'{"a":"\x00"}', id="a raw NUL in a text"),
        pytest.param(b'{"a":1}\x00', id="a raw NUL behind it"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
        pytest.param('{"a":1}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b'{"a":NaN}', id="NaN"),
        pytest.param(b'{"a":-Infinity}', id="Infinity"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", id="a number of 5000 digits"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="objects nested too deep"),
        pytest.param(b'{"a":' + b"[" * 2_000_000, id="lists nested too deep and never closed"),
    ],
)
def test_what_is_no_json_object_is_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed):
        load(raw, JSON)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"other={}", id="no payload"),
        pytest.param(b"payload={}&payload={}", id="two payloads"),
        pytest.param(b"payload=", id="an empty payload"),
        pytest.param(b"payload=[1]", id="a list"),
        pytest.param(b"payload=%ff", id="bad UTF-8 behind the escape"),
        pytest.param(b"payload={}" + b"&a=1" * 1000, id="a thousand fields"),
        pytest.param(b"payload=\xff", id="bad UTF-8"),
        pytest.param(b'payload={"a":"%00"}', id="a raw NUL behind the escape"),
    ],
)
def test_a_form_without_exactly_one_readable_payload_is_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed):
        load(raw, FORM)


def test_an_escaped_nul_and_half_a_surrogate_pair_are_left_to_the_field_readers() -> None:
    assert load(rb'{"a":"\u0000\ud83d"}', JSON) == {"a": "\0\ud83d"}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(document=st.dictionaries(st.text(), JSON_VALUES))
def test_every_json_object_is_read_as_it_was_written(document: dict[str, object]) -> None:
    assert load(json.dumps(document).encode(), JSON) == document


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a":1,"a":2}', id="a key twice"),
        pytest.param('{"a":-0}', id="a negative zero"),
        pytest.param('{"a":12345678901234567890123}', id="a large number"),
        pytest.param('{"a":1e400}', id="a number beyond what a float holds"),
        pytest.param('{"a":0.1234567890123456789}', id="many digits"),
        pytest.param(" \t\r\n{}\n", id="space around it"),
        pytest.param(r'{"\u0061\/":"\ud83d\ude00"}', id="escapes"),
        pytest.param('{"a":' + "[" * 500 + "]" * 500 + "}", id="five hundred lists in each other"),
    ],
)
def test_unusual_json_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert load(text.encode(), JSON) == json.loads(text)


@given(raw=st.binary(max_size=200), content_type=st.sampled_from([JSON, FORM]))
def test_no_bytes_raise_anything_but_malformed(raw: bytes, content_type: str) -> None:
    try:
        assert isinstance(load(raw, content_type), dict)
    except Malformed:
        assert True
