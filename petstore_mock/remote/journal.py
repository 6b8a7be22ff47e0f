"""The journal of a remote world. The door checks its assertions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real import Lock, Thread, monotonic, sleep
from petstore_mock.journal.journal import Journal
from petstore_mock.journal.record import from_data
from petstore_mock.journal.waiting import signal_of_this_task
from petstore_mock.remote.door import printable_lines
from petstore_mock.verbs.requests import assert_requests, expect_requests, list_requests, wait_for_requests

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from petstore_mock.common.values import JsonObject
    from petstore_mock.journal.criteria import Criteria
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.remote.door import Do

_PAGE: Final = 1000  # requests in one response of the door
_LONGEST_WAIT: Final = 20.0  # seconds that one request waits; the door allows 25
_SLICE: Final = 0.5  # seconds that one request waits for a task, which may be cancelled meanwhile
_PAUSE: Final = 0.02  # seconds between two looks for several tasks


class RemoteJournal(Journal):
    """A journal that fetches new requests from the door before each query, until its world ends."""

    def __init__(
        self,
        do: Do,
        keys: Callable[[], tuple[str, ...]],
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        super().__init__(keys=keys)
        self._do = do
        # Refuses values that the door can't have sent.
        self._reading = reading
        self._pulling = Lock()
        self._their_clears = 0  # how often the door's journal was cleared
        self.is_over = False
        self._waiting = Lock()
        self._waits: list[_Wait] = []  # of tasks
        self._is_asking = False  # whether a thread asks the door about them

    @property
    def kept(self) -> list[Exchange]:
        """The exchanges that are still kept, oldest first."""
        with self._pulling:
            after: int | None = self.total
            for exchange in reversed(self._exchanges):
                if exchange.in_flight or exchange.outcome == "hang":
                    after = exchange.number - 1
            while after is not None and not self.is_over:
                after = self._fetch(after)
        return super().kept

    def __len__(self) -> int:
        kept = self.kept
        return kept[-1].number if kept else 0

    def _fetch(self, after: int) -> int | None:
        """Fetch the requests after a number that are new or were in flight. Return where the next page begins."""
        page = self._do(list_requests, {"after": after, "limit": _PAGE})
        if page["clears"] != self._their_clears:
            self.clear()
            self._their_clears = page["clears"]
            return 0
        known = {exchange.number: exchange for exchange in self._exchanges}
        with self._reading():
            exchanges = [from_data(data) for data in page["requests"]]
        for exchange in exchanges:
            if exchange.number in known:
                vars(known[exchange.number]).update(vars(exchange))
                continue
            if exchange.number > self.total + 1:  # the door dropped the requests in between
                while self._exchanges:
                    self._drop_oldest()
                self.total = exchange.number - 1
            self.add(exchange)
        return exchanges[-1].number if page["more"] else None

    def expect(self, exchanges: list[Exchange]) -> None:
        super().expect(exchanges)
        numbers = [exchange.number for exchange in exchanges]
        self._do(expect_requests, {"numbers": numbers, "clears": self._their_clears})

    def judge(self, asked: Criteria, times: int | None) -> tuple[bool, str, list[Exchange]]:
        """Let the door check the criteria: only the door sees unmasked keys."""
        result = self._do(assert_requests, {**_question(asked), "times": times})
        return result["passed"], printable_lines(result["message"]), self._matching(asked) if result["passed"] else []

    def _wait(self, asked: Criteria, times: int, timeout: float) -> None:
        deadline = monotonic() + timeout
        is_met = False
        while not self.is_over and not is_met:
            left = deadline - monotonic()
            question = {**_question(asked), "times": times, "timeout": max(0.0, min(left, _LONGEST_WAIT))}
            is_met = self._do(wait_for_requests, question)["met"] or left <= 0

    async def _waited_async(self, asked: Criteria, times: int, timeout: float) -> list[Exchange]:
        """Let a thread ask the door, because a request blocks, and its response may come late."""
        __tracebackhide__ = True
        signal = signal_of_this_task()
        wait = _Wait(asked, times, timeout, monotonic() + timeout, signal.set)
        with self._waiting:
            self._waits.append(wait)
            if not self._is_asking:
                self._is_asking = True
                Thread(target=self._ask, name="petstore-mock-waits", daemon=True).start()
        try:
            while not wait.is_over:
                await signal.wait()
        finally:
            wait.is_over = True
        if wait.error is not None:
            raise wait.error
        return wait.found

    def _ask(self) -> None:
        """Ask the door about each wait in turn, until none is left."""
        while True:
            with self._waiting:
                self._waits = [wait for wait in self._waits if not wait.is_over]
                waits = [*self._waits]
                self._is_asking = bool(waits)
            if not waits:
                return
            # The door waits for a single one. Several must not wait for each other.
            patience = _SLICE if len(waits) == 1 else 0.0
            for wait in waits:
                if not wait.is_over:
                    self._look(wait, patience)
            if len(waits) > 1:
                sleep(_PAUSE)

    def _look(self, wait: _Wait, patience: float) -> None:
        left = wait.deadline - monotonic()
        question = {**_question(wait.asked), "times": wait.times, "timeout": max(0.0, min(left, patience))}
        try:
            is_met = self.is_over or self._do(wait_for_requests, question)["met"]
            if not is_met and left > 0:
                return
            wait.found = self._waited(wait.asked, wait.times, wait.timeout)
        except Exception as error:  # the task that waits raises it
            wait.error = error
        wait.is_over = True
        wait.wake()


@dataclass(eq=False)
class _Wait:
    """A wait of a task. It is over when it has a result, or when the task was cancelled."""

    asked: Criteria
    times: int
    timeout: float
    deadline: float
    wake: Callable[[], object]
    is_over: bool = False
    found: list[Exchange] = field(default_factory=list[Any])
    error: Exception | None = None


def _question(asked: Criteria) -> JsonObject:
    """Return criteria in the JSON form of the door."""
    asked.require_json()
    where = dict(asked.asked)
    body = where.get("body")
    if isinstance(body, bytes):
        where["body"] = body.decode("utf-8", "backslashreplace")
    return {"operation": asked.operation, "where": where}
