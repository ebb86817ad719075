"""The door under `/_door/`: what the stand-in's Python interface can do, for another process."""

import inspect
from collections.abc import Callable

import httpx
from pydantic import ValidationError, validate_call
from pydantic_core import to_jsonable_python

from service.demo.github.desk import Reply, to_bytes
from service.demo.github.failures import Failure
from service.demo.github.wire import Request, read_object

DOOR_PREFIX = "/_door/"
DOOR_TIMEOUT_S = 30.0
NOT_FOR_OTHERS = frozenset({"start", "stop"})


class Door:
    """Serves `POST /_door/<method>` with a JSON object of arguments; answers `{"result": …}` or `{"message": …}`.

    Every public method of the owner has a door but for its start and its end. No token is asked for: it is a stand-in.
    """

    def __init__(self, owner: object) -> None:
        self._verbs: dict[str, Callable[..., object]] = {
            name: validate_call(method)
            for name, method in inspect.getmembers(owner, inspect.ismethod)
            if not name.startswith("_") and name not in NOT_FOR_OTHERS
        }

    def serve(self, request: Request) -> Reply:
        """Carry one act out."""
        verb = self._verbs.get(request.path.removeprefix(DOOR_PREFIX))
        if verb is None:
            return door_reply(404, {"message": f"one of {', '.join(sorted(self._verbs))}"})
        try:
            result = verb(**read_object(request.body))
        except Failure as failure:
            return door_reply(failure.status, {"message": failure.message})
        except ValidationError as problem:
            return door_reply(422, {"message": str(problem)})
        return door_reply(200, {"result": to_jsonable_python(result)})


def door_reply(status: int, content: object) -> Reply:
    return Reply(status=status, headers={"Content-Type": "application/json"}, body=to_bytes(content))


class RemoteStandIn:
    """Another process's stand-in, through its door."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._client = httpx.Client(base_url=base_url, timeout=DOOR_TIMEOUT_S, trust_env=False)

    def act(self, verb: str, **arguments: object) -> object:
        """Call a method of `StandIn` by name; what it returns comes as plain JSON. Raises `Failure` as it would."""
        answer = self._client.post(f"{DOOR_PREFIX}{verb}", json=to_jsonable_python(arguments))
        content = answer.json()
        if not answer.is_success:
            raise Failure(answer.status_code, str(content["message"]))
        return content["result"]

    def close(self) -> None:
        self._client.close()
