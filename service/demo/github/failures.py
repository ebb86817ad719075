"""The one exception of the stand-in GitHub: a request that GitHub would refuse."""


class Failure(Exception):
    """A refusal with GitHub's status and message, and the headers that go with it."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.headers = headers or {}
