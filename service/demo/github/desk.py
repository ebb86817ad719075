"""Answers one request: who asks, which fault it meets, what it may, what it does, and how the answer is dressed."""

import hashlib
import json
import threading
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import format_datetime

from service.demo.github.failures import Failure
from service.demo.github.faults import AFTER_COMMIT, Fault, FaultBook, Trouble
from service.demo.github.rates import Rate, Rates
from service.demo.github.records import Account
from service.demo.github.routes import accounts, comments, hooks, issues, pulls, reactions, repositories, reviews
from service.demo.github.routing import Call, find_route
from service.demo.github.state import State
from service.demo.github.webhooks import Courier
from service.demo.github.wire import Answer, Request

ROUTES = (
    *accounts.ROUTES,
    *repositories.ROUTES,
    *comments.ROUTES,
    *issues.ROUTES,
    *reactions.ROUTES,
    *pulls.ROUTES,
    *reviews.ROUTES,
    *hooks.ROUTES,
)
REQUESTS_KEPT = 100_000
DOCUMENTATION_URL = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One line of the request log; `status` 0 means that no answer was given, `login` "" that nobody was known."""

    method: str
    path: str
    query: Mapping[str, str]
    token_id: str
    login: str
    status: int
    trouble: Trouble | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back over the connection."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is to be reset."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing is said for so many seconds, then the connection is closed."""

    seconds: float


Outcome = Reply | Reset | Silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A request with who asks; its path is in the `/repos/owner/name/…` form."""

    request: Request
    actor: Account | None
    token_id: str


def token_of(request: Request) -> str:
    """The token of an `Authorization: token …` or `Bearer …` header, or ""."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() in ("token", "bearer") else ""


def token_id(token: str) -> str:
    """A token's name in the log: it can be compared and tells nothing."""
    return hashlib.sha256(token.encode()).hexdigest()[:12] if token else ""


class Desk:
    """Serves GitHub's REST routes from the state."""

    def __init__(self, state: State, courier: Courier, faults: FaultBook, stopping: threading.Event) -> None:
        self._state = state
        self._courier = courier
        self._faults = faults
        self._stopping = stopping
        self.rates = Rates()
        self.served: deque[Served] = deque(maxlen=REQUESTS_KEPT)

    def serve(self, request: Request) -> Outcome:
        """Answer a request, and note it in the log before the answer leaves."""
        asking = self._asking(request)
        page = asking.request.query.get("page", "1")
        fault = self._faults.take(
            request.method, asking.request.path, int(page) if page.isdecimal() and len(page) < 10 else 1
        )
        outcome = self._outcome(asking, fault)
        self.served.append(
            Served(
                method=request.method,
                path=asking.request.path,
                query=asking.request.query,
                token_id=asking.token_id,
                login=asking.actor.login if asking.actor is not None else "",
                status=outcome.status if isinstance(outcome, Reply) else 0,
                trouble=fault.trouble if fault is not None else None,
            )
        )
        return outcome

    def _asking(self, request: Request) -> Asking:
        token = token_of(request)
        with self._state.lock:
            actor = self._state.account_by_id(self._state.tables.tokens.get(token))
            path = self._path_by_name(request.path)
        return Asking(request=replace(request, path=path), actor=actor, token_id=token_id(token))

    def _path_by_name(self, path: str) -> str:
        """`/repositories/<id>/…` as `/repos/<owner>/<name>/…`, the repository itself excepted."""
        parts = path.split("/", 3)
        if len(parts) < 4 or parts[1] != "repositories" or not (parts[2].isdecimal() and parts[2].isascii()):
            return path
        repository = self._state.tables.repositories.get(int(parts[2]))
        return f"/repos/{self._state.full_name(repository)}/{parts[3]}" if repository is not None else path

    def _outcome(self, asking: Asking, fault: Fault | None) -> Outcome:
        trouble = fault.trouble if fault is not None else None
        if trouble is Trouble.RESET:
            return Reset()
        if fault is not None and trouble is Trouble.SLOW:
            self._stopping.wait(fault.seconds)
        with self._state.lock:
            reply = self._reply(asking, fault)
        if trouble is Trouble.COMMIT_THEN_RESET:
            return Reset()
        if fault is not None and trouble is Trouble.COMMIT_THEN_HANG:
            return Silence(fault.seconds)
        return reply

    def _reply(self, asking: Asking, fault: Fault | None) -> Reply:
        now = self._state.now()
        try:
            answer = self._answer(asking, fault, now)
        except Failure as failure:
            content = {
                "message": failure.message,
                "documentation_url": DOCUMENTATION_URL,
                "status": str(failure.status),
            }
            answer = Answer(status=failure.status, content=content, headers=failure.headers)
        return self._dressed(asking, answer, now)

    def _answer(self, asking: Asking, fault: Fault | None, now: datetime) -> Answer:
        refusal = fault.refusal(int(now.timestamp())) if fault is not None else None
        if refusal is not None and fault is not None and fault.trouble not in AFTER_COMMIT:
            raise refusal
        if asking.actor is None:
            raise Failure(401, "Bad credentials" if asking.token_id else "Requires authentication")
        rate = self.rates.current(asking.token_id, int(now.timestamp()))
        if rate.remaining == 0 and asking.request.path != accounts.RATE_LIMIT:
            raise Failure(403, f"API rate limit exceeded for user ID {asking.actor.id}.")
        answer = self._moved(asking.request) or self._routed(asking, asking.actor, rate)
        if refusal is not None:
            raise refusal
        return answer

    def _moved(self, request: Request) -> Answer | None:
        """A redirect from a repository's former name to its id, or None where the name is not a former one."""
        parts = request.path.split("/", 4)
        if len(parts) < 4 or parts[1] != "repos":
            return None
        former = f"{parts[2]}/{parts[3]}".lower()
        repository_id = self._state.tables.former_names.get(former)
        names = {self._state.full_name(repository).lower() for repository in self._state.tables.repositories.values()}
        if repository_id is None or former in names:
            return None
        rest = f"/{parts[4]}" if len(parts) > 4 else ""
        url = f"{self._state.base_url}/repositories/{repository_id}{rest}"
        status = 301 if request.method == "GET" else 307
        return Answer(
            status=status,
            content={"message": "Moved Permanently", "url": url, "documentation_url": DOCUMENTATION_URL},
            headers={"Location": url},
        )

    def _routed(self, asking: Asking, actor: Account, rate: Rate) -> Answer:
        handler, parameters = find_route(ROUTES, asking.request.method, asking.request.path)
        call = Call(
            state=self._state,
            courier=self._courier,
            actor=actor,
            rate=rate,
            request=asking.request,
            parameters=parameters,
        )
        return handler(call)

    def _dressed(self, asking: Asking, answer: Answer, now: datetime) -> Reply:
        """The answer with GitHub's headers; what the asker already has becomes a 304, which costs nothing."""
        body = b"" if answer.content is None else to_bytes(answer.content)
        headers = {
            "Date": format_datetime(now, usegmt=True),
            "Content-Type": "application/json; charset=utf-8",
            "X-GitHub-Request-Id": uuid.uuid4().hex[:20].upper(),
            "X-GitHub-Media-Type": "github.v3; format=json",
        }
        now_epoch_s = int(now.timestamp())
        rate = self.rates.current(asking.token_id, now_epoch_s)
        status = answer.status
        if asking.request.method == "GET" and status == 200:
            headers["ETag"] = etag(asking.token_id, body, answer.headers.get("Link", ""))
            headers["Cache-Control"] = "private, max-age=60, s-maxage=60"
            if matches(asking.request.headers.get("if-none-match", ""), headers["ETag"]):
                status, body = 304, b""
        if status != 304 and asking.actor is not None and asking.request.path != accounts.RATE_LIMIT:
            rate = self.rates.spend(asking.token_id, now_epoch_s)
        return Reply(status=status, headers={**headers, **rate.headers(), **answer.headers}, body=body)


def to_bytes(content: object) -> bytes:
    """JSON as it goes over the wire; what is no valid Unicode is replaced."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def etag(asker: str, body: bytes, link: str) -> str:
    """The name of an answer's bytes: the same while they are, and another for each token, as on GitHub."""
    return f'W/"{hashlib.sha256(b"|".join((asker.encode(), link.encode(), body))).hexdigest()}"'


def matches(if_none_match: str, tag: str) -> bool:
    """Whether the asker already has this answer."""
    wanted = tag.removeprefix("W/")
    return any(candidate.strip().removeprefix("W/") == wanted for candidate in if_none_match.split(","))
