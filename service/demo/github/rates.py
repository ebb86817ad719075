"""The request budget of each token, as GitHub counts it: so many an hour, a 304 is free."""

from dataclasses import dataclass, replace

HOURLY_LIMIT = 5_000
WINDOW_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One token's window."""

    used: int
    resets_epoch_s: int
    limit: int = HOURLY_LIMIT

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)

    def headers(self) -> dict[str, str]:
        """The headers by which every answer tells of the budget."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.resets_epoch_s),
            "X-RateLimit-Used": str(self.used),
            "X-RateLimit-Resource": "core",
        }


class Rates:
    """The windows of all tokens. The caller holds the state's lock."""

    def __init__(self) -> None:
        self._rates: dict[str, Rate] = {}

    def current(self, token_id: str, now_epoch_s: int) -> Rate:
        """A token's window, a new one where the last has ended."""
        rate = self._rates.get(token_id)
        if rate is None or rate.resets_epoch_s <= now_epoch_s:
            rate = Rate(used=0, resets_epoch_s=now_epoch_s + WINDOW_S)
            self._rates[token_id] = rate
        return rate

    def spend(self, token_id: str, now_epoch_s: int) -> Rate:
        """Count one request."""
        rate = self.current(token_id, now_epoch_s)
        self._rates[token_id] = replace(rate, used=rate.used + 1)
        return self._rates[token_id]

    def set_remaining(self, token_id: str, now_epoch_s: int, remaining: int) -> None:
        """Leave a token only so many requests in its window."""
        rate = self.current(token_id, now_epoch_s)
        self._rates[token_id] = replace(rate, used=rate.limit - remaining)
