"""What no line may show: values under telling keys, texts that look like secrets, and the secrets that we know."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

MASK = "[redacted]"
SECRET_CHARACTERS_MIN = 8
"""A shorter value is not masked wherever it stands: it would hide ordinary words."""

SECRET_WORDS = frozenset(
    {
        *("password", "passwords", "passwd", "pwd", "secret", "secrets", "token", "tokens", "apikey", "auth"),
        *("authorization", "bearer", "cookie", "cookies", "credential", "credentials"),
    }
)
SECRET_PAIRS = frozenset(
    {("api", "key"), ("private", "key"), ("init", "data"), ("session", "id"), ("session", "key")},
)
QUERY_NAMES = frozenset(
    {"key", "api_key", "token", "access_token", "secret", "password", "passwd", "sig", "signature"},
)
ENVIRONMENT_NAME = re.compile(r"(?:TOKEN|SECRET|KEY|PASSWORD|PASSWD|CREDENTIALS?)(?:_ID)?\Z", re.IGNORECASE)

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(maxsize=1024)
def is_secret_key(key: str) -> bool:
    """Whether a key says that its value is a secret: `sessionToken` and `X-Api-Key` do, `sessionCount` does not."""
    words = [word.lower() for word in WORD.findall(key)]
    if words == ["session"] or not SECRET_WORDS.isdisjoint(words):
        return True
    return any(pair in SECRET_PAIRS for pair in pairwise(words))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A shape of secret: where it may be (cheap, may say yes too often), what it is, and what is left of it.

    The hint is looked for in the text in small letters, and begins with a character that can be no other: that is what a
    search is quick at.
    """

    hint: re.Pattern[str]
    shape: re.Pattern[str]
    left: str


# Every shape starts at a place that few texts have, or looks behind, so that a long text costs linear time.
PATTERNS: tuple[Pattern, ...] = (
    # A bot's number is public and tells which bot it was. A commit or a digest in hex is no token.
    Pattern(
        re.compile(r":[a-z0-9_-]{30}"),
        re.compile(
            r"(?<![0-9])([0-9]{5,}):(?!(?:[0-9a-f]{40}|[0-9a-f]{64})(?![A-Za-z0-9_-]))[A-Za-z0-9_-]{30,}",
            re.ASCII,
        ),
        rf"\1:{MASK}",
    ),
    Pattern(
        re.compile(r"gh[oprsu]_|github_pat_"),
        re.compile(r"(gh[oprsu]_|github_pat_)[A-Za-z0-9_]{16,}", re.ASCII),
        rf"\1{MASK}",
    ),
    Pattern(re.compile(r"sk-"), re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}", re.ASCII), f"sk-{MASK}"),
    Pattern(
        re.compile(r"eyj"),
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?", re.ASCII),
        MASK,
    ),
    # The user of an address is not masked. Its password ends at the last @ before the path.
    Pattern(re.compile(r"://[^/]*@"), re.compile(r"(://[^\s/@:]*):[^\s/]+@"), rf"\1:{MASK}@"),
    Pattern(
        re.compile(r"=[^\s&#;\"'<>]"),
        re.compile(
            r"([?&;](?:key|api_key|token|access_token|secret|password|passwd|sig|signature)=)[^\s&#;\"'<>]+",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    Pattern(
        re.compile(r"author"),
        re.compile(
            r"(\bauthorization[\"']?\s{0,8}[:=]\s{0,8}[\"']?(?:[a-z]{1,20}\s{1,8})?)[A-Za-z0-9._~+/=-]{8,}",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    Pattern(
        re.compile(r"bearer"),
        re.compile(r"(\bbearer\s{1,8})[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    Pattern(
        re.compile(r"-----begin "),
        re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)", re.DOTALL),
        MASK,
    ),
)


class Masker:
    """Masks texts by shape and by exact value; the values are given once, shorter than 8 characters are not used."""

    __slots__ = ("_encoded", "_values")

    def __init__(self, secrets: Iterable[str]) -> None:
        long_enough = {secret.strip() for secret in secrets if len(secret.strip()) >= SECRET_CHARACTERS_MIN}
        forms = {form for secret in long_enough for form in forms_of(secret)}
        # Longest first, so that a secret which contains another leaves no remainder.
        self._values = sorted(forms, key=lambda form: (-len(form), form))
        self._encoded = sorted({json.dumps(form, ensure_ascii=False)[1:-1] for form in forms})

    def suspects(self, encoded: str) -> bool:
        """Whether a JSON text may hold a secret; wrong only in saying yes too often."""
        if any(secret in encoded for secret in self._encoded):
            return True
        small = encoded.lower()
        return any(pattern.hint.search(small) for pattern in PATTERNS)

    def mask(self, text: str) -> str:
        """The text without the secrets in it; masking twice is harmless."""
        for secret in self._values:
            if secret in text:
                text = text.replace(secret, MASK)
        small = text.lower()
        for pattern in PATTERNS:
            if pattern.hint.search(small):
                text = pattern.shape.sub(pattern.left, text)
        return text


def forms_of(secret: str) -> set[str]:
    """A secret as it stands, and as an address or a JSON text carries it."""
    in_address = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    return {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]} | in_address


def secrets_of_environment(environment: Mapping[str, str]) -> frozenset[str]:
    """The values worth hiding among environment variables: by their name, and inside any that is an address."""
    found: set[str] = set()
    for name, value in environment.items():
        if ENVIRONMENT_NAME.search(name):
            found.add(value)
        if "://" in value:
            found |= secrets_of_url(value)
    return frozenset(secret for secret in found if len(secret) >= SECRET_CHARACTERS_MIN)


def secrets_of_url(url: str) -> set[str]:
    """The password and the secret query values of an address, as written and decoded; none where it cannot be read."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return set()
    found = {password, unquote(password)} if password else set()
    return found | {value for name, value in parse_qsl(parts.query) if name.lower() in QUERY_NAMES and value}
