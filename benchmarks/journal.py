"""What one line of the event log costs: `python -m benchmarks.journal` prints microseconds for each kind of line."""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from eventlog.events.dispatch import DispatchFailed
from eventlog.events.webhook import WebhookReceived
from eventlog.journal import Journal
from eventlog.query import Query
from eventlog.reader import LogReader

ROUNDS = 20_000
SECRETS = [f"a-secret-of-the-service-{number}" for number in range(8)]
DELIVERY_ID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
SMALL = WebhookReceived(
    github_event="issue_comment",
    action="created",
    body_bytes=15_000,
    delivery_id=DELIVERY_ID,
    event_key="github.com/issue_comment/1234567890",
    work_item="github:octo/repo#15",
)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        journal = Journal(path, time.time, "benchmark", SECRETS)
        encoded = {"level": 30, "msg": SMALL.sentence, "delivery_id": DELIVERY_ID, "work_item": SMALL.work_item}
        print(f"json.dumps of a small dictionary  {cost_us(lambda: json.dumps(encoded)):7.1f} µs")
        print(f"a small event, written            {cost_us(lambda: journal.emit(SMALL)):7.1f} µs")
        failed = DispatchFailed(attempt=1, will_retry=True, error=an_error())
        print(f"an event with an error, written   {cost_us(lambda: journal.emit(failed)):7.1f} µs")
        reader = LogReader(path)
        begin = time.perf_counter()
        entries = sum(1 for _ in reader.entries(Query(event_key="no such key")))
        print(f"an entry, read and filtered       {(time.perf_counter() - begin) / entries_in(path) * 1e6:7.1f} µs")
        assert entries == 0
        print(f"the last 50 entries               {cost_us(lambda: reader.last(Query(), 50), 100):7.1f} µs")


def cost_us(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The mean cost of one call."""
    begin = time.perf_counter()
    for _ in range(rounds):
        work()
    return (time.perf_counter() - begin) / rounds * 1e6


def entries_in(path: Path) -> int:
    """How many lines a file has."""
    return path.read_bytes().count(b"\n")


def an_error() -> BaseException:
    """An error with a place and a cause."""
    try:
        try:
            raise TimeoutError("no answer within 10 s")
        except TimeoutError as cause:
            raise ConnectionError("the session host did not answer") from cause
    except ConnectionError as error:
        return error


if __name__ == "__main__":
    main()
