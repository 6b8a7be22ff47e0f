"""Verbs for the requests of a world: list, wait and assert."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, TypedDict

from petstore_mock.common.refusing import refuse, shown
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds
from petstore_mock.core.world import World
from petstore_mock.journal.criteria import Criteria as Asked
from petstore_mock.journal.curl import curl_line
from petstore_mock.journal.exchange import Exchange
from petstore_mock.journal.har import har_parts
from petstore_mock.journal.record import ExchangeData, to_data
from petstore_mock.journal.table import page_parts, table_parts
from petstore_mock.journal.text import journal_text
from petstore_mock.verbs.verb import Count, Criteria, Keywords, Left, OperationName, Positive, WorldName, verb

_LONGEST_WAIT: Final = 25  # seconds; just below the usual timeouts of clients and proxies
_LONGEST_LIST: Final = 8 * 1024 * 1024  # bytes of memory of the requests in one response

Limit = Annotated[int, Keywords(minimum=1, maximum=1000)]
Status = Annotated[int, Keywords(minimum=100, maximum=599)]


class RequestsData(TypedDict):
    requests: list[ExchangeData]
    more: bool  # whether further requests match, which the response leaves out
    total: Count
    evicted: Count
    clears: Count  # how often the journal was cleared; each time, numbers restart at 1


class WaitedData(TypedDict):
    met: bool
    requests: list[ExchangeData]
    more: bool


class AssertedData(TypedDict):
    passed: bool
    message: str


@verb("GET", "requests", locks=False)
def list_requests(
    world: World,
    *,
    operation: OperationName | None = None,
    status: Status | None = None,
    violations: bool | None = None,
    after: Count = 0,
    limit: Limit = 1000,
    last: Limit | None = None,
) -> RequestsData:
    """List the requests in the journal, oldest first."""
    journal = world.journal
    clears = journal.clears
    total = journal.total
    evicted = journal.evicted
    kept = journal.kept
    matching: list[Exchange] = []
    for exchange in kept:
        is_of_operation = operation in {None, exchange.operation}
        has_status = status in {None, exchange.status}
        is_wanted_kind = violations in {None, exchange.is_violation}
        if exchange.number > after and all((is_of_operation, has_status, is_wanted_kind)):
            matching.append(exchange)
    if last is None:
        shown = _first(matching[:limit])
    else:
        newest_first = matching[-last:][::-1]
        shown = _first(newest_first)[::-1]
    return {
        "requests": [*map(to_data, shown)],
        "more": len(shown) < len(matching),
        "total": total,
        "evicted": evicted,
        "clears": clears,
    }


def _first(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return the first exchanges, at least one, that one response can hold."""
    size = 0
    for index, exchange in enumerate(exchanges):
        size += exchange.weight
        if size > _LONGEST_LIST and index:
            return exchanges[:index]
    return exchanges


@verb("DELETE", "requests", 204)
def clear_requests(world: World) -> None:
    """Clear the journal. The verification still reports the violations."""
    world.verification.keep_violations()
    world.journal.clear()  # numbers restart
    world.host.announce(world, "cleared")


@verb("POST", "requests/wait", locks=False)
def wait_for_requests(
    world: World,
    *,
    operation: OperationName | None = None,
    times: Positive | None = None,  # ``count`` is an alias
    count: Positive | None = None,
    where: Criteria | None = None,
    timeout: Annotated[float, Keywords(minimum=0, maximum=_LONGEST_WAIT)] = 1.0,
    left: Left | None = None,
) -> WaitedData:
    """Wait until the journal has at least the given number of matching requests."""
    journal = world.journal
    asked = Asked(where or {}, operation)
    wanted = times or count or 1
    state = journal.clears, world.generation

    def has_ended() -> bool:
        return (journal.clears, world.generation) != state  # the journal was cleared, the world reset or ended

    def is_over() -> bool:
        if left is not None and left.is_set():
            return True
        return has_ended()

    journal.wait_until(asked, wanted, timeout, is_over)
    met = journal.count_of(asked) >= wanted and not has_ended()
    is_undecided = bool(asked.asked) and journal.evicted > 0
    if is_undecided and not met and not is_over():
        raise journal.lost()
    matching = [*filter(asked.matches, journal.kept)]
    shown = _first(matching)
    return {"met": met, "requests": [*map(to_data, shown)], "more": len(shown) < len(matching)}


@verb("POST", "requests/assert", locks=False)
def assert_requests(
    world: World,
    operation: OperationName | None = None,
    times: Count | None = None,  # ``count`` is an alias
    count: Count | None = None,
    where: Criteria | None = None,
) -> AssertedData:
    """Assert that the journal has exactly the given number of matching requests; without a number, at least one."""
    wanted = count if times is None else times
    passed, message, _ = world.journal.judge(Asked(where or {}, operation), wanted)
    return {"passed": passed, "message": message}


@verb("POST", "requests/expect", 204)
def expect_requests(world: World, numbers: list[Positive], clears: Count | None = None) -> None:
    """Mark violations as expected, so that the verification does not report them."""
    journal = world.journal
    if clears not in {None, journal.clears}:  # after a clear, other requests have these numbers
        return
    exchanges = {exchange.number: exchange for exchange in journal.kept}
    for number in sorted(numbers):
        if number not in exchanges:
            refuse(f"expected numbers of requests that the journal keeps; got {number}; the newest is {journal.total}")
    journal.expect([exchanges[number] for number in numbers])


@verb("GET", "requests.har", locks=False)
def show_archive(world: World) -> Annotated[Iterator[str], Keywords("Archive")]:
    """Return the journal as a HAR 1.2 archive."""
    return har_parts(world.journal.kept)


@verb("GET", "requests.html", locks=False, media_type="text/html; charset=utf-8")
def show_table(world: World, last: Limit = 50) -> Iterator[str]:
    """Return the newest requests as an HTML page."""
    table = table_parts(world.journal.kept[-last:])
    return page_parts(f"Requests of {world.name or DEFAULT_WORLD}", [table])


@verb("GET", "requests.txt", locks=False, media_type="text/plain; charset=utf-8")
def show_text(world: World) -> str:
    """Return the journal as text, as pytest prints it."""
    return journal_text(world.journal.kept, world.journal.notes)


@verb("GET", "requests/{number}/curl", locks=False, media_type="text/plain; charset=utf-8")
def show_curl(world: World, number: int) -> str:
    """Return the curl command that sends a request again."""
    for exchange in world.journal.kept:
        if exchange.number == number:
            return curl_line(exchange)
    raise NotFoundError(f"expected the number of a request in the journal; got {shown(number)}")


@verb("POST", "connections/close", 204)
def close_connections(worlds: Worlds, name: WorldName | None = None) -> None:
    """Close the idle connections whose latest request was to this world; at the root, all idle connections."""
    numbers = None
    if name is not None:
        own = worlds.find(name)
        newest: dict[int, tuple[float, World]] = {}  # the request and its world, by connection
        for world in worlds:
            for exchange in world.journal.kept:
                started = exchange.request.started
                if started >= newest.get(exchange.connection, (0.0, own))[0]:
                    newest[exchange.connection] = started, world
        numbers = {number for number, (_, world) in newest.items() if world is own and number}
    worlds.host.close_connections(numbers)
