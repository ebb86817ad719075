"""A delivery counts only with a signature that one of our secrets made over its raw bytes."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from webhook.signature import SignatureFault, Unverified, Verified, verify

RAW = '{"comment":{"body":"😀 \\u00e9"}}'.encode()
SECRET = b"it's a secret to everybody"


def _signed(raw: bytes, secret: bytes = SECRET) -> str:
    return "sha256=" + hmac.new(secret, raw, hashlib.sha256).hexdigest()


def test_githubs_own_example_is_verified() -> None:
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert verify(b"Hello, World!", header, [b"It's a Secret to Everybody"]) == Verified()


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(_signed(RAW), id="as GitHub writes it"),
        pytest.param("sha256=" + _signed(RAW).removeprefix("sha256=").upper(), id="in capitals"),
        pytest.param(_signed(RAW).encode(), id="as bytes"),
    ],
)
def test_hex_is_compared_without_case(header: str | bytes) -> None:
    assert verify(RAW, header, [SECRET]) == Verified()


@pytest.mark.parametrize("secrets", [[b"old", SECRET], [SECRET, b"new"]])
def test_several_secrets_hold_while_one_replaces_another(secrets: list[bytes]) -> None:
    assert verify(RAW, _signed(RAW), secrets) == Verified()


@pytest.mark.parametrize(
    ("header", "sha1_header", "reason"),
    [
        pytest.param(None, None, SignatureFault.MISSING, id="none"),
        pytest.param("", None, SignatureFault.MISSING, id="empty"),
        pytest.param(None, "sha1=" + "0" * 40, SignatureFault.SHA1_ONLY, id="the old header alone"),
        pytest.param("sha1=" + "0" * 40, None, SignatureFault.SHA1_ONLY, id="sha1 in the new header"),
        pytest.param("sha256=" + "0" * 63, None, SignatureFault.MALFORMED, id="too short"),
        pytest.param("sha256=" + "0" * 65, None, SignatureFault.MALFORMED, id="too long"),
        pytest.param("sha256=" + "g" * 64, None, SignatureFault.MALFORMED, id="no hex"),
        pytest.param(_signed(RAW) + "\n", None, SignatureFault.MALFORMED, id="a line end behind it"),
        pytest.param(_signed(RAW).removeprefix("sha256="), None, SignatureFault.MALFORMED, id="no kind"),
        pytest.param("sha256=é", None, SignatureFault.MALFORMED, id="not ASCII"),
        pytest.param("sha256=\ud800" + "0" * 63, None, SignatureFault.MALFORMED, id="half a surrogate pair"),
        pytest.param(b"sha256=\xff", None, SignatureFault.MALFORMED, id="bytes of no encoding"),
        pytest.param("sha256=" + "٠" * 64, None, SignatureFault.MALFORMED, id="other digits"),
        pytest.param(_signed(RAW, b"other"), None, SignatureFault.WRONG, id="another secret"),
        pytest.param(_signed(RAW + b" "), None, SignatureFault.WRONG, id="other bytes"),
    ],
)
def test_anything_else_is_refused_with_its_reason(
    header: str | bytes | None, sha1_header: str | None, reason: SignatureFault
) -> None:
    assert verify(RAW, header, [SECRET], sha1_header) == Unverified(reason)


def test_an_empty_secret_verifies_nothing() -> None:
    assert verify(RAW, _signed(RAW, b""), [b""]) == Unverified(SignatureFault.WRONG)
    assert verify(RAW, _signed(RAW), []) == Unverified(SignatureFault.WRONG)
