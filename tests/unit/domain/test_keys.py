"""One fact has one key, whichever road it came by, and two facts have two."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import keys
from domain.model import Change, Fact, Thread

TEXTS = [Fact.COMMENT, Fact.REVIEW, Fact.INLINE]
DIGEST = keys.body_digest("a body")
THREAD = Thread(host="github.com", repository_id=100, number=15)


@pytest.mark.parametrize(
    ("key", "written"),
    [
        pytest.param(keys.text_key("github.com", Fact.COMMENT, 7), "github.com/issue_comment/7", id="comment"),
        pytest.param(keys.text_key("github.com", Fact.INLINE, 7), "github.com/review_comment/7", id="inline"),
        pytest.param(keys.text_key("ghe.example", Fact.REVIEW, 7), "ghe.example/review/7", id="review-elsewhere"),
        pytest.param(
            keys.edit_key("github.com", Fact.COMMENT, 7, 5_999, DIGEST),
            f"github.com/issue_comment/7/edited/5/{DIGEST[:32]}",
            id="edit",
        ),
        pytest.param(
            keys.deletion_key("github.com", Fact.COMMENT, 7), "github.com/issue_comment/7/deleted", id="deletion"
        ),
        pytest.param(keys.closure_key(THREAD, 5_000), "github.com/closed/100/15/5", id="closing"),
        pytest.param(keys.operator_key("github.com", "c-1"), "github.com/operator/c-1", id="operator"),
    ],
)
def test_a_key_begins_with_the_host_and_names_the_fact(key: str, written: str) -> None:
    assert key == written


def test_milliseconds_that_one_road_tells_and_another_does_not_make_no_second_fact() -> None:
    assert keys.edit_key("h", Fact.COMMENT, 7, 5_000, DIGEST) == keys.edit_key("h", Fact.COMMENT, 7, 5_999, DIGEST)
    assert keys.closure_key(THREAD, 5_000) == keys.closure_key(THREAD, 5_999)


@pytest.mark.parametrize("fact", TEXTS, ids=str)
def test_each_change_of_a_text_has_the_key_of_its_own_function(fact: Fact) -> None:
    of_change = [keys.key_of_change("h", fact, change, 7, 5_000, DIGEST) for change in Change]
    assert of_change == [
        keys.text_key("h", fact, 7),
        keys.edit_key("h", fact, 7, 5_000, DIGEST),
        keys.deletion_key("h", fact, 7),
    ]


facts = st.tuples(
    st.sampled_from(["github.com", "ghe.example"]),
    st.sampled_from(TEXTS),
    st.sampled_from(Change),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from("ab"),
)


@given(facts, facts)
def test_two_keys_are_equal_exactly_when_host_kind_id_change_and_version_are(one, other) -> None:
    assert (_key(*one) == _key(*other)) == (_identity(*one) == _identity(*other))


def _key(host: str, fact: Fact, change: Change, number: int, version_s: int, body: str) -> str:
    return keys.key_of_change(host, fact, change, number, version_s * 1000, keys.body_digest(body))


def _identity(*fact: object) -> tuple[object, ...]:
    return fact if fact[2] is Change.EDITED else fact[:4]


@given(st.text())
def test_a_digest_is_the_sha256_of_the_text(body: str) -> None:
    assert keys.body_digest(body) == hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()


def test_half_a_surrogate_pair_has_a_digest_all_the_same() -> None:
    assert keys.body_digest("\ud800") == keys.body_digest("?")
