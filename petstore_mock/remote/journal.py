"""The journal of a world elsewhere: what is new is fetched before a question, and the door judges assertions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real import monotonic
from petstore_mock.core.refusals import ConflictError
from petstore_mock.core.verification import ExpectedViolation
from petstore_mock.journal.journal import EvictedError, Journal
from petstore_mock.journal.record import from_data
from petstore_mock.verbs.requests import assert_requests, expect_requests, list_requests, wait_for_requests

if TYPE_CHECKING:
    from petstore_mock.journal.criteria import Criteria
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.verbs import Verb

Send = Callable[..., Any]  # of a verb, its arguments and the seconds that it may take

_PAGE: Final = 1000  # requests that the door shows at once
_LONGEST_WAIT: Final = 20.0  # seconds of one request; the door allows 25


class RemoteJournal(Journal):
    """A journal that asks the door for what is new before it answers a question.

    An exchange that is in flight is updated when it ends.
    """

    def __init__(self, send: Send, keys: Callable[[], tuple[str, ...]]) -> None:
        self._send = send
        self._pulling = RLock()
        self._is_pulling = True  # while the base sets up
        self.their_clears = 0  # how often the numbers began anew, as the door counts
        self.is_over = False
        super().__init__(keys=keys)
        self._is_pulling = False

    @property
    def kept(self) -> list[Exchange]:
        """The exchanges that are still kept, oldest first."""
        self.pull()
        return super().kept

    @property
    def total(self) -> int:  # the base has an attribute
        """The number of the newest request."""
        self.pull()
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        self._total = total

    def pull(self) -> None:
        """Fetch what is new, unless the world is over."""
        with self._pulling:
            if not self._is_pulling and not self.is_over:
                self._is_pulling = True
                try:
                    while self._fetch():
                        pass
                finally:
                    self._is_pulling = False

    def _fetch(self) -> bool:
        """Fetch a page, and say whether there may be more."""
        flying = (one.number for one in self._exchanges if one.in_flight or one.outcome == "hang")
        after = min(flying, default=self.total + 1) - 1
        page = self._send(list_requests, {"after": after, "limit": _PAGE})
        if page["clears"] != self.their_clears:
            self.clear()
            self.their_clears = page["clears"]
            return True
        known = {one.number: one for one in self._exchanges}
        for data in page["requests"]:
            exchange, former = from_data(data), known.get(data["number"])
            if former is None:
                if exchange.number > self.total + 1:  # those between are gone
                    self._exchanges.clear()
                    self.total = exchange.number - 1
                self.add(exchange)
            else:
                vars(former).update(vars(exchange))
        return len(page["requests"]) == _PAGE

    def check(self, operation: str | None, times: int | None, where: Mapping[str, Any]) -> tuple[bool, str]:
        """Let the door judge: it has what this side can't see, such as whole keys."""
        try:
            told = self._send(assert_requests, {"operation": operation, "times": times, "where": dict(where)})
        except ConflictError as error:
            raise EvictedError(str(error)) from None
        return told["passed"], told["message"]

    def _judge(self, asked: Criteria, times: int | None) -> tuple[bool, str, list[Exchange]]:
        passed, message = self.check(asked.operation, times, asked.asked)
        found = [one for one in self.kept if asked.matches(one)] if passed else []
        return passed, message, found

    def _wait(self, asked: Criteria, times: int, timeout: float) -> None:
        deadline = monotonic() + timeout
        while not self.is_over:
            left = max(0.0, min(deadline - monotonic(), _LONGEST_WAIT))
            question = {"operation": asked.operation, "times": times, "where": asked.asked, "timeout": left}
            if self._send(wait_for_requests, question, left)["met"] or monotonic() >= deadline:
                return


class RemoteExpectation(ExpectedViolation):
    """A block of expected violations, of which the stub learns too."""

    def __init__(
        self, journal: RemoteJournal, pattern: str | None, send: Callable[[Verb, Mapping[str, Any]], Any]
    ) -> None:
        super().__init__(RLock(), journal, pattern)
        self._their_journal = journal
        self._send = send

    def _mark(self) -> tuple[list[Exchange], list[Exchange]]:
        found, matching = super()._mark()
        if matching:
            numbers = {"numbers": [one.number for one in matching], "clears": self._their_journal.their_clears}
            self._send(expect_requests, numbers)
        return found, matching
