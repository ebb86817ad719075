"""What no line may show: by key, by shape and by exact value."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventlog.masking import MASK, PATTERNS, Masker, is_secret_key, secrets_of_environment

BOT_SECRET = "AAE" + "x" * 32
GITHUB_TOKEN = "ghp_" + "a1" * 18


@pytest.mark.parametrize(
    "key",
    [
        *("token", "sessionToken", "X-Api-Key", "api_key", "apikey", "PASSWORD", "db.password", "private-key"),
        *("session", "sessionId", "session_key", "Authorization", "setCookie", "HTTPAuthHeader", "my_credentials"),
        "initData",
    ],
)
def test_a_key_of_which_a_word_is_telling_is_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize("key", ["authorId", "sessionCount", "tokenizer", "event_key", "secretary", "keys", "id", ""])
def test_a_key_that_only_resembles_a_telling_word_is_not_secret(key: str) -> None:
    assert not is_secret_key(key)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param(f"/bot123456:{BOT_SECRET}/send", f"/bot123456:{MASK}/send", id="bot token, its number stays"),
        pytest.param(f"x {GITHUB_TOKEN} y", f"x ghp_{MASK} y", id="token of a person"),
        pytest.param("github_pat_" + "B2_" * 12, f"github_pat_{MASK}", id="fine-grained token"),
        pytest.param("ghs_" + "c" * 36, f"ghs_{MASK}", id="token of an installation"),
        pytest.param("sk-ant-api03-" + "d" * 40, f"sk-{MASK}", id="key of a model's provider"),
        pytest.param("eyJ" + "a" * 20 + "." + "b" * 20 + "." + "c" * 20, MASK, id="web token"),
        pytest.param("https://u:p%40ss@h/x", f"https://u:{MASK}@h/x", id="password in an address"),
        pytest.param("https://u:p@ss@h/x", f"https://u:{MASK}@h/x", id="password with an at sign"),
        pytest.param("http://h:80/a@b", "http://h:80/a@b", id="port and a path with an at sign"),
        pytest.param("https://h/?a=1&access_token=zz&b=2", f"https://h/?a=1&access_token={MASK}&b=2", id="query"),
        pytest.param("?Sig=abc", f"?Sig={MASK}", id="query without case"),
        pytest.param("Bearer abcdefgh1234", f"Bearer {MASK}", id="bearer"),
        pytest.param("AUTHORIZATION: Basic QWxhZGRpbg==", f"AUTHORIZATION: Basic {MASK}", id="authorization header"),
        pytest.param("a -----BEGIN RSA PRIVATE KEY-----\nxx\n-----END RSA PRIVATE KEY----- b", f"a {MASK} b", id="key"),
        pytest.param("-----BEGIN PRIVATE KEY-----\nxx", MASK, id="key without its end"),
    ],
)
def test_a_text_shaped_like_a_secret_is_masked(text: str, masked: str) -> None:
    assert Masker(()).mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("comment:1234567:" + "0a" * 32, id="digest after an id"),
        pytest.param("status:1234567:" + "0a" * 20, id="commit after an id"),
        pytest.param(
            "12:34:56 https://github.com/octo/repo/issues/15#issuecomment-1234567890", id="address of a comment"
        ),
        pytest.param("72d3162e-cc78-11e3-81ab-4c9367dc0958", id="delivery id"),
        pytest.param("the token of the bearer is unauthorized", id="prose"),
    ],
)
def test_what_a_line_is_about_is_no_secret(text: str) -> None:
    assert Masker(()).mask(text) == text


def test_a_secret_that_holds_another_leaves_no_remainder() -> None:
    assert Masker(["12345678", "12345678-and-more"]).mask("a 12345678-and-more b") == f"a {MASK} b"


def test_a_secret_is_masked_in_the_forms_that_addresses_and_json_give_it() -> None:
    masker = Masker(['p&ss wörd"9'])
    assert masker.mask("p%26ss%20w%C3%B6rd%229") == MASK
    assert masker.mask("p%26ss+w%C3%B6rd%229") == MASK
    assert masker.mask('p&ss wörd\\"9') == MASK
    assert masker.mask('p&ss w\\u00f6rd\\"9') == MASK


def test_a_value_too_short_to_be_told_from_a_word_is_not_masked() -> None:
    assert Masker(["", "short"]).mask("a short text") == "a short text"


def test_the_secrets_of_an_environment_are_known_by_name_and_inside_addresses() -> None:
    environment = {
        "GITHUB_TOKEN": "token-value",
        "SIGNING_KEY_ID": "signing-key",
        "SHORT_SECRET": "short",
        "DATABASE_URL": "postgres://app:pass%20word@db/x?sig=signature1&page=pagepage",
        "HOME": "/home/somebody",
        "BROKEN": "http://[half",
    }
    assert secrets_of_environment(environment) == {
        *("token-value", "signing-key"),
        *("pass%20word", "pass word", "signature1"),
    }


@given(
    secret=st.text(st.characters(codec="utf-8", exclude_categories=["Zs", "Cc"]), min_size=8, max_size=40),
    before=st.text(max_size=30),
    after=st.text(max_size=30),
)
def test_a_known_secret_never_survives_masking(secret: str, before: str, after: str) -> None:
    masker = Masker([secret])
    masked = masker.mask(before + secret + after)
    assert secret not in masked or secret in MASK
    assert masker.suspects(json.dumps(before + secret + after, ensure_ascii=False))


@given(st.sampled_from(PATTERNS), st.data())
def test_whatever_has_the_shape_of_a_secret_also_has_the_hint_of_it(pattern, data) -> None:
    text = data.draw(st.from_regex(pattern.shape))
    assert pattern.hint.search(text.lower())
    assert pattern.hint.search(json.dumps(text, ensure_ascii=False).lower())


ALL_HINTS = " 1:" + "a" * 30 + " ghp_ sk- eyJ ://x@ ?a=b authorization bearer -----BEGIN "


def test_every_shape_is_looked_for_in_the_texts_whose_cost_is_measured() -> None:
    assert all(pattern.hint.search(ALL_HINTS.lower()) for pattern in PATTERNS)


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1:",
        "eyJ",
        "eyJ-.",
        "://",
        "://a:",
        "&token=",
        "&a",
        "a=",
        "bearer ",
        "-----BEGIN ",
        "ghp_",
        "sk-",
        "authorization",
    ],
)
def test_a_long_text_costs_no_more_than_linear_time(piece: str) -> None:
    masker = Masker(())

    def cost_s(characters: int) -> float:
        text = piece * (characters // len(piece)) + ALL_HINTS
        begin = time.process_time()
        masker.mask(text)
        return time.process_time() - begin

    cost_s(10_000)
    # Quadratic would be 64 times, linear is 8; and a cost that is not measurable is no cost.
    assert cost_s(400_000) < 30 * max(cost_s(50_000), 0.002)
