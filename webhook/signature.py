"""Whether a delivery was signed with one of our secrets, judged over the bytes as they came."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_SHA256 = re.compile(rb"sha256=([0-9a-fA-F]{64})")


class SignatureFault(StrEnum):
    """Why a delivery does not count as GitHub's."""

    MISSING = "signature-missing"
    """It carries no signature."""
    MALFORMED = "signature-malformed"
    """What it carries is no sha256 signature in hex."""
    SHA1_ONLY = "signature-sha1-only"
    """It carries only the old kind of signature, which proves too little."""
    WRONG = "signature-wrong"
    """None of our secrets made this signature over these bytes."""


@dataclass(frozen=True, slots=True)
class Verified:
    """One of our secrets signed exactly these bytes."""


@dataclass(frozen=True, slots=True)
class Unverified:
    """Nothing of it may be looked at."""

    reason: SignatureFault


def verify(
    raw: bytes, header: str | bytes | None, secrets: Sequence[bytes], sha1_header: str | bytes | None = None
) -> Verified | Unverified:
    """Judge a body by its `X-Hub-Signature-256`; several secrets may hold while one takes another's place.

    Never raises, whatever the headers hold, and takes the same time for every wrong signature. An empty secret signs
    nothing. `sha1_header` is `X-Hub-Signature`, which only tells what is wrong where the other is missing.
    """
    given = _bytes(header)
    if not given:
        return Unverified(SignatureFault.SHA1_ONLY if sha1_header else SignatureFault.MISSING)
    match = _SHA256.fullmatch(given)
    if match is None:
        return Unverified(SignatureFault.SHA1_ONLY if given.startswith(b"sha1=") else SignatureFault.MALFORMED)
    signature = match[1].lower()
    signed = [hmac.compare_digest(_sign(raw, secret), signature) for secret in secrets if secret]
    return Verified() if any(signed) else Unverified(SignatureFault.WRONG)


def _sign(raw: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, raw, hashlib.sha256).hex().encode("ascii")


def _bytes(header: str | bytes | None) -> bytes | None:
    return header.encode("utf-8", "replace") if isinstance(header, str) else header
