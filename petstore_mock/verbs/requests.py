"""Verbs about the requests of a world: show them, wait for them, assert them, and follow them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Final, NotRequired, TypedDict

from petstore_mock.common.refusing import refuse
from petstore_mock.core.host import WorldEvent
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds
from petstore_mock.core.world import World
from petstore_mock.journal.criteria import Criteria as Asked
from petstore_mock.journal.exchange import Exchange
from petstore_mock.journal.har import har_document
from petstore_mock.journal.journal import Journal
from petstore_mock.journal.outcomes import Coverage
from petstore_mock.journal.record import ExchangeData, to_data
from petstore_mock.journal.table import exchange_table, page
from petstore_mock.journal.text import journal_text
from petstore_mock.journal.waiting import wait_blocking
from petstore_mock.verbs.verb import (
    ArchiveData,
    Count,
    CoverageData,
    Criteria,
    Keywords,
    Nothing,
    OperationName,
    Positive,
    WorldName,
    verb,
)

HEARTBEAT: Final = 10.0  # seconds; a stream without it would not notice that its client has gone
_LONGEST_WAIT: Final = 25  # seconds; clients and proxies give a request little more
_LONGEST_QUEUE: Final = 10_000  # events that a client has not read yet

Limit = Annotated[int, Keywords(minimum=1, maximum=1000)]


class ListRequests(TypedDict, total=False):
    operation: OperationName
    status: Annotated[int, Keywords(minimum=100, maximum=599)]
    violations: bool
    after: Count
    limit: Limit
    last: Limit


class RequestsData(TypedDict):
    requests: list[ExchangeData]
    total: Count
    evicted: Count
    clears: Count  # how often the numbers began anew


class WaitForRequests(TypedDict, total=False):
    operation: OperationName | None
    times: Positive
    count: Positive  # the same
    where: Criteria | None
    timeout: Annotated[float, Keywords(minimum=0, maximum=_LONGEST_WAIT)]


class WaitedData(TypedDict):
    met: bool
    requests: list[ExchangeData]


class AssertRequests(TypedDict, total=False):
    operation: OperationName | None
    times: Count | None
    count: Count | None  # the same
    where: Criteria | None


class AssertedData(TypedDict):
    passed: bool
    message: str


class ExpectRequests(TypedDict):
    numbers: list[Positive]
    clears: NotRequired[Count]  # as the list of requests had it: after a reset, numbers mean other requests


class ShowPage(TypedDict, total=False):
    last: Limit


class FollowEvents(TypedDict, total=False):
    name: WorldName


@verb("GET", "requests", locks=False)
def list_requests(world: World, arguments: ListRequests) -> RequestsData:
    """Show the journal, oldest first."""
    journal = world.journal
    clears, total, kept = journal.clears, journal.total, journal.kept
    found = [one for one in kept if _is_wanted(one, arguments)]
    last = arguments.get("last")
    found = found[: arguments.get("limit", 1000)] if last is None else found[-last:]
    evicted = (kept[0].number if kept else total + 1) - 1
    return {"requests": [to_data(one) for one in found], "total": total, "evicted": evicted, "clears": clears}


def _is_wanted(exchange: Exchange, wanted: ListRequests) -> bool:
    return (
        exchange.number > wanted.get("after", 0)
        and wanted.get("operation", exchange.operation) == exchange.operation
        and wanted.get("status", exchange.status) == exchange.status
        and wanted.get("violations", exchange.is_violation) == exchange.is_violation
    )


@verb("DELETE", "requests", 204)
def clear_requests(world: World, _: Nothing) -> None:
    """Forget the journal. The test still answers for its violations."""
    world.clear_requests()


@verb("POST", "requests/wait", locks=False)
def wait_for_requests(world: World, arguments: WaitForRequests) -> WaitedData:
    """Wait until there are at least so many requests."""
    journal = world.journal
    where: Mapping[str, Any] = arguments.get("where") or {}
    asked = Asked(where, arguments.get("operation"))
    wanted = arguments.get("times", arguments.get("count", 1))
    clears = journal.clears

    def is_met() -> bool:
        if not where:
            return (journal.total if asked.operation is None else journal.counts[asked.operation]) >= wanted
        return sum(map(asked.matches, journal.kept)) >= wanted

    with _ending(world) as is_over:
        timeout = arguments.get("timeout", 1.0)
        wait_blocking(_Announcer(world), lambda: journal.clears != clears or is_over() or is_met(), timeout)
    met = journal.clears == clears and is_met()
    return {"met": met, "requests": [to_data(one) for one in journal.kept if asked.matches(one)]}


class _Announcer:
    """Calls a listener for each request of a world, and for each event of the world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def listen(self, listener: Callable[[Any], object]) -> None:
        def changed(world: object, _: WorldEvent) -> None:
            if world is self._world:
                listener(None)

        self._changed = changed
        self._world.journal.listen(listener)
        self._world.host.watch(changed)

    def unlisten(self, listener: Callable[[Any], object]) -> None:
        self._world.host.unwatch(self._changed)
        self._world.journal.unlisten(listener)


@contextmanager
def _ending(world: World) -> Generator[Callable[[], bool]]:
    """Return a function that tells whether the world has ended within the block."""
    ended: list[WorldEvent] = []

    def changed(other: object, event: WorldEvent) -> None:
        if other is world and event == "ended":
            ended.append(event)

    world.host.watch(changed)
    try:
        yield lambda: bool(ended)
    finally:
        world.host.unwatch(changed)


@verb("POST", "requests/assert", locks=False)
def assert_requests(world: World, arguments: AssertRequests) -> AssertedData:
    """Check that requests came: exactly so many, or at least one."""
    times = arguments.get("times", arguments.get("count"))
    where: Mapping[str, Any] = arguments.get("where") or {}
    passed, message = world.journal.check(arguments.get("operation"), times, where)
    return {"passed": passed, "message": message}


@verb("POST", "requests/expect", 204)
def expect_requests(world: World, arguments: ExpectRequests) -> None:
    """Expect these violations: they are no problems."""
    journal: Journal = world.journal
    if arguments.get("clears", journal.clears) != journal.clears:
        return
    numbers = set(arguments["numbers"])
    found = [one for one in journal.kept if one.number in numbers]
    unknown = sorted(numbers - {one.number for one in found})
    if unknown:
        refuse(f"expected numbers of requests in the journal, which has {journal.total}; got {unknown[0]}")
    for exchange in found:
        exchange.expected = True


@verb("GET", "requests.har", locks=False)
def show_archive(world: World, _: Nothing) -> ArchiveData:
    """Show the journal as HAR 1.2."""
    return har_document(world.journal.kept)


@verb("GET", "requests.html", locks=False, media_type="text/html; charset=utf-8")
def show_table(world: World, arguments: ShowPage) -> str:
    """Show the newest requests as a page."""
    kept = world.journal.kept[-arguments.get("last", 50) :]
    return page(f"Requests of {world.name or DEFAULT_WORLD}", [exchange_table(kept, details=True)])


@verb("GET", "requests.txt", locks=False, media_type="text/plain; charset=utf-8")
def show_text(world: World, _: Nothing) -> str:
    """Show the journal as pytest prints it."""
    return journal_text(world.journal.kept)


@verb("GET", "coverage", locks=False)
def show_coverage(world: World, _: Nothing) -> CoverageData:
    """Count the outcomes that the kept requests have shown."""
    coverage = Coverage()
    for exchange in world.journal.kept:
        coverage.add(exchange)
    return coverage.to_data()


@verb("POST", "connections/close", 204, of="worlds", locks=False)
def close_connections(worlds: Worlds, arguments: FollowEvents) -> None:
    """Close the idle connections; of a world by address, those that it used last."""
    name = arguments.get("name")
    worlds.host.close_connections(None if name is None else _used_last_by(worlds, worlds.find(name)))


def _used_last_by(worlds: Worlds, world: World) -> frozenset[int]:
    latest: dict[int, tuple[float, World]] = {}
    for one in worlds:
        for exchange in one.journal.kept:
            started, number = exchange.request.started, exchange.connection
            if number and started > latest.get(number, (-1.0, one))[0]:
                latest[number] = started, one
    return frozenset(number for number, (_, one) in latest.items() if one is world)


# Events


Event = tuple[str, dict[str, Any]]  # "request" or "world", and its data


@verb("GET", "events", of="worlds", locks=False, media_type="text/event-stream")
def follow_events(worlds: Worlds, arguments: FollowEvents) -> Iterator[Event | None]:
    """Follow requests, and worlds that are made, reset, cleared or ended; at the root those of all worlds.

    Yields None as a heartbeat.
    """
    name = arguments.get("name")
    return _Events(worlds, None if name is None else worlds.find(name)).read()


class _Events:
    """The events that one client has not read yet, in the order in which they happened."""

    def __init__(self, worlds: Worlds, only: World | None) -> None:
        self._worlds = worlds
        self._only = only
        self._queue: SimpleQueue[Event] = SimpleQueue()
        self._left_out = 0
        self._followed: dict[World, Callable[[Exchange], object]] = {}
        worlds.host.watch(self._changed)
        for world in worlds if only is None else (only,):
            self._follow(world)

    def _follow(self, world: World) -> None:
        def came(exchange: Exchange) -> None:
            self._put("request", world, dict(to_data(exchange)))

        if world not in self._followed:
            self._followed[world] = came
            world.journal.listen(came)

    def _changed(self, world: World, event: WorldEvent) -> None:
        if self._only is not None and world is not self._only:
            return
        if event == "made":
            self._follow(world)
        self._put("world", world, {"event": event})

    def _put(self, kind: str, world: World, data: dict[str, Any]) -> None:
        if self._queue.qsize() >= _LONGEST_QUEUE:
            self._left_out += 1
        else:
            named = self._only is None or kind == "world"
            self._queue.put((kind, {"world": world.name or DEFAULT_WORLD, **data} if named else data))

    def read(self) -> Iterator[Event | None]:
        try:
            while True:
                try:
                    kind, data = self._queue.get(timeout=HEARTBEAT)
                except Empty:
                    yield None
                    continue
                yield kind, data
                if self._left_out:
                    left_out, self._left_out = self._left_out, 0
                    yield "left_out", {"events": left_out}
                if self._only is not None and kind == "world" and data["event"] == "ended":
                    return
        finally:
            self._worlds.host.unwatch(self._changed)
            for world, came in self._followed.items():
                world.journal.unlisten(came)
