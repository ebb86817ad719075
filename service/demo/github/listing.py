"""How listings are narrowed, sorted and cut into pages, as GitHub's are."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar
from urllib.parse import urlencode

from service.demo.github.failures import Failure
from service.demo.github.routing import Call
from service.demo.github.wire import Answer, JsonObject, read_time

PER_PAGE_DEFAULT = 30
PER_PAGE_MAX = 100

Record = TypeVar("Record")


class Dated(Protocol):
    """What can be sorted and narrowed by time."""

    @property
    def id(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...


DatedRecord = TypeVar("DatedRecord", bound=Dated)


def whole_number(call: Call, name: str, default: int) -> int:
    """A number from the query; what is no number counts as missing, as on GitHub."""
    text = call.request.query.get(name, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else default


def since(call: Call, records: Sequence[DatedRecord]) -> list[DatedRecord]:
    """Those updated at or after the query's `since`."""
    text = call.request.query.get("since")
    if not text:
        return list(records)
    moment = read_time(text)
    return [record for record in records if record.updated_at >= moment]


def in_order(call: Call, records: Sequence[DatedRecord], default_sort: str | None = None) -> list[DatedRecord]:
    """Sorted by the query's `sort` and `direction` (`desc` unless it says `asc`); by ascending id without a sort."""
    sort = call.request.query.get("sort", default_sort)
    if sort is None:
        return sorted(records, key=lambda record: record.id)
    if sort not in ("created", "updated", "comments"):
        raise Failure(422, "Validation Failed: sort")
    newest_first = call.request.query.get("direction", "desc") != "asc"
    if sort == "updated":
        return sorted(records, key=lambda record: (record.updated_at, record.id), reverse=newest_first)
    return sorted(records, key=lambda record: (record.created_at, record.id), reverse=newest_first)


def paged(call: Call, records: Sequence[Record], shape: Callable[[Record], JsonObject]) -> Answer:
    """One page of a listing, with `Link` to the others where there are any."""
    per_page = min(PER_PAGE_MAX, max(1, whole_number(call, "per_page", PER_PAGE_DEFAULT)))
    page = max(1, whole_number(call, "page", 1))
    last = max(1, -(-len(records) // per_page))
    shown = records[(page - 1) * per_page : page * per_page]
    link = link_header(call, page, last)
    return Answer(status=200, content=[shape(record) for record in shown], headers={"Link": link} if link else {})


def link_header(call: Call, page: int, last: int) -> str:
    """The addresses of the neighbouring pages, which go by the repository's id as GitHub's do."""
    targets: dict[str, int] = {}
    if page > 1:
        targets["prev"] = min(page - 1, last)
    if page < last:
        targets["next"] = page + 1
        targets["last"] = last
    if page > 1:
        targets["first"] = 1
    address = page_address(call)
    kept = {name: value for name, value in call.request.query.items() if name != "page"}
    return ", ".join(
        f'<{address}?{urlencode({**kept, "page": number})}>; rel="{relation}"' for relation, number in targets.items()
    )


def page_address(call: Call) -> str:
    rest = "/".join(call.request.path.split("/")[4:])
    return f"{call.state.base_url}/repositories/{call.repository().id}/{rest}"
