"""The fault plan of a world: which fault, if any, meets a request.

Rules are asked in the order in which they were planned, and the first that fires wins. A rule that matches a request
passes it on while ``after`` or ``probability`` says so.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from inspect import iscoroutinefunction
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.common.values import counted, is_integer, is_number
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.interface.table import OPERATIONS, in_words, require_operation
from petstore_mock.journal.criteria import Criteria

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from petstore_mock.common.real import RLock
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.journal.exchange import Exchange

CommitPoint = Literal["before_commit", "after_commit"]
Point = Literal["before_commit", "after_commit", "handshake"]  # faults of handshakes meet connections

_SHOWN: Final = ("id", "on", "after", "probability", "off_contract", "hits", "spent")
_COMMIT_POINTS: Final = ("before_commit", "after_commit")
_KEPT_SPENT: Final = 1_000  # as many as a stub keeps requests
_KEPT_ERRORS: Final = 100  # a `when` may raise at each of a million requests
_COMMITTING: Final = [operation.name for operation in OPERATIONS.values() if operation.commits]
_DECLARED: Final = frozenset(status for operation in OPERATIONS.values() for status in operation.statuses)


def operations_of(fault: Fault) -> list[str]:
    """Return the operations that may meet ``fault`` without leaving the interface (§7).

    A status that the interface declares nowhere (403, 429, 5xx) comes from the infrastructure: it is always allowed.
    """
    statuses = {part.status for part in fault.parts if part.row.responds} & _DECLARED
    return [operation.name for operation in OPERATIONS.values() if statuses <= operation.statuses]


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class FaultHandle:
    """A planned fault. It says how often it fired, and takes the fault away.

    As a context manager it takes the fault away at the end of the block. If the fault was planned with ``times=`` and
    has not fired by then, the block raises ``VerificationError``; if another exception leaves the block, the next
    verification reports it.

    Attributes:
        fault: the fault.
        on: the operation that it meets; None for any.
        times: how often it fires; None for every time.
        after: how many matching requests pass first.
        when: the function of the request that must be true, if any.
        where: the criteria that a request must meet, if any.
        at: before or after the commit, or in the handshake.
        probability: the chance that a matching request meets it.
        off_contract: whether it may leave the interface.
        id: its number in its world, from 1.
        hits: how often it fired.
        since: the number of the last request before it was planned.
    """

    fault: Fault
    on: str | None = None
    times: int | None = None
    after: int = 0
    when: Callable[[ApiRequest], object] | None = None
    where: Mapping[str, Any] | None = None
    at: Point = "before_commit"
    probability: float = 1.0
    off_contract: bool = False
    id: int = 0
    hits: int = 0
    since: int = 0
    sent_as: Any = None  # the JSON form in which the door got the fault
    required: bool = True  # whether it must fire; a drawn one need not
    plan: FaultPlan | None = None
    _criteria: Criteria | None = None
    _passed: int = 0  # requests under `after`
    _preempted: int = 0  # requests that met a fault that was planned earlier
    _missed: int = 0  # requests that `where` or `when` did not want
    _last_miss: str = ""

    def __post_init__(self) -> None:
        self._check_counts()
        self._check_criteria()
        one_of(self.at, _COMMIT_POINTS, "commit point")
        if self.on is not None and not require_operation(self.on).commits and self.at == "after_commit":
            refuse(f"expected {in_words(_COMMITTING)} with at='after_commit'; {self.on} commits nothing")
        if self.fault.parts[0].row.meets_handshakes:
            self._check_handshake()
            self.at = "handshake"
        elif not self.off_contract:
            self._check_declared()
        if self.fault.kind == "sequence":
            self.times = len(self.fault.parts)
        if self.where is not None:
            self._criteria = Criteria(self.where, self.on, before_response=True)

    def _check_counts(self) -> None:
        times, after, probability = self.times, self.after, self.probability
        whole = times is None or (is_integer(times) and times >= 1)
        require(whole, "times as a whole number of at least 1, or none", times=times)
        if self.fault.kind == "sequence" and times is not None:
            refuse("expected no times with a sequence: it is used once, a fault for each request")
        require(is_integer(after) and after >= 0, "after as a whole number of at least 0", after=after)
        share = is_number(probability) and 0 < probability <= 1
        require(share, "a probability above 0 and at most 1", probability=probability)

    def _check_criteria(self) -> None:
        require(self.when is None or callable(self.when), "when as a function of an ApiRequest", when=self.when)
        if iscoroutinefunction(self.when):  # nothing awaits its result, which would always be true
            refuse(f"expected when as a plain function, without async; got when={shown(self.when)}")
        where = self.where
        names = where is None or (is_object(where) and all(isinstance(name, str) for name in where))
        require(names, "where as a mapping of criteria, such as {'name': 'Rex'}", where=where)

    def _check_handshake(self) -> None:
        given = [name for name in ("on", "when", "where") if getattr(self, name) is not None]
        given += ["at"] if self.at != "before_commit" else []
        if given:
            refuse(
                f"expected no {in_words(given)} with {self.fault}: it meets connections, before any request is known; "
                "times, after and probability count connections"
            )

    def _check_declared(self) -> None:
        """Refuse a status that the interface declares for another operation only (§7)."""
        asked = [self.on] if self.on is not None else _COMMITTING if self.at == "after_commit" else [*OPERATIONS]
        for part in self.fault.parts:
            declared = operations_of(part)
            if not set(asked) <= set(declared):
                refuse(
                    f"the interface declares {part.status} for {in_words(declared)} only (§7), not for "
                    f"{self.on or 'every operation'}: inject it on {declared[0]}, or off_contract if you mean it"
                )

    def __repr__(self) -> str:
        return f"<{self} hits={self.hits}>"

    def __str__(self) -> str:
        parts = [
            str(self.fault),
            f"on={self.on!r}" if self.on else "",
            f"times={self.times}" if self.times is not None and self.fault.kind != "sequence" else "",
            f"after={self.after}" if self.after else "",
            "when=..." if self.when else "",
            f"where={self._criteria.shown()}" if self._criteria is not None else "",
            f"at={self.at!r}" if self.at == "after_commit" else "",
            f"probability={self.probability}" if self.probability < 1 else "",
        ]
        return f"inject({', '.join(filter(None, parts))})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        never_fired = bool(self.unfired)
        self.cancel(required=never_fired and kind is not None)
        if never_fired and kind is None:
            __tracebackhide__ = True
            raise VerificationError(f"{self} never fired within its block: {self.why_not()}")

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as it may."""
        return self.times is not None and self.hits >= self.times

    @property
    def unfired(self) -> str:
        """The words for it if it has never fired; empty if it has, or if it need not fire."""
        need_not = not self.required or self.hits > 0 or (self.times is None and self.at != "handshake")
        return "" if need_not or self.plan is None or self not in self.plan else "never fired"

    def cancel(self, *, required: bool = False) -> None:
        """Take the fault away. It need not fire any more, unless ``required``."""
        if self.plan is not None:
            self.plan.discard(self, required=required)

    def concerns(self, operation: str | None) -> bool:
        """Return whether it is meant for this operation."""
        return self.on is None or self.on == operation

    def why_not(self, refused: int = 0) -> str:
        """Return why it has not fired, in words; ``refused`` requests were refused before a fault could meet them."""
        what = "connection" if self.at == "handshake" else "request"
        reasons = [
            f"{counted(self._preempted, what)} met a fault that was planned earlier" if self._preempted else "",
            f"{counted(self._passed, what)} passed under after={self.after}" if self._passed else "",
            f"{counted(self._missed, what)} did not match, the last because {self._last_miss}" if self._missed else "",
            f"{counted(refused, what)} got no further than a refusal, which the journal explains" if refused else "",
        ]
        return "; ".join(filter(None, reasons)) or f"no {what} {'met' if what == 'connection' else 'matched'} it"

    def to_data(self) -> dict[str, Any]:
        """Return the plan and its state as a JSON value; a function of ``when=`` is left out."""
        return {
            **{name: getattr(self, name) for name in _SHOWN},
            "fault": self.fault.to_data() if self.sent_as is None else self.sent_as,
            "times": None if self.fault.kind == "sequence" else self.times,
            "at": "before_commit" if self.at == "handshake" else self.at,
            "where": None if self._criteria is None else self._criteria.shown(),
        }

    # Choosing; the world's lock is held

    def wants(self, exchange: Exchange) -> bool:
        """Return whether a request, which has no response yet, is what ``where`` and ``when`` ask for."""
        miss = "" if self._criteria is None else "; ".join(self._criteria.differences(exchange))
        if not miss and self.when is not None and not self.when(exchange.request):
            miss = "its when= returned no"
        if miss:
            self._missed += 1
            self._last_miss = miss
        return not miss

    def fire(self, random: Callable[[], Random]) -> Fault | None:
        """Return the fault if it meets a request that it concerns and wants, and count the hit."""
        if self._passed < self.after:
            self._passed += 1
            return None
        if self.probability < 1 and random().random() >= self.probability:
            return None
        self.hits += 1
        return self.fault.parts[self.hits - 1] if self.fault.kind == "sequence" else self.fault

    def preempt(self) -> None:
        self._preempted += 1


class FaultPlan:
    """The faults of one world, in the order in which they were planned.

    Attributes:
        idle: whether no fault for requests is in force; every request asks.
        unfired: faults that left force unfired, when an exception left their block, with what to say of them.
        errors: what the ``when=`` functions of the test raised.
    """

    def __init__(self, lock: RLock) -> None:
        self._lock = lock  # a test cancels a fault while the listener's thread uses another
        self.clear()

    def __contains__(self, handle: FaultHandle) -> bool:
        return handle in self._live[handle.at]

    def clear(self) -> None:
        """Forget every fault. Numbers begin anew."""
        self._live: dict[Point, list[FaultHandle]] = {"before_commit": [], "after_commit": [], "handshake": []}
        self._spent: deque[FaultHandle] = deque(maxlen=_KEPT_SPENT)
        self._planned = 0
        self.idle = True
        self.unfired: list[tuple[FaultHandle, str]] = []
        self.errors: list[PetStoreMockError] = []

    @property
    def in_force(self) -> list[FaultHandle]:
        return list(chain(*self._live.values()))

    def every(self) -> list[FaultHandle]:
        """Return the faults that are in force or spent, by number; cancelled faults are gone."""
        with self._lock:
            return sorted((*self.in_force, *self._spent), key=lambda handle: handle.id)

    def get(self, number: object) -> FaultHandle | None:
        return next((handle for handle in self.every() if handle.id == number), None)

    def add(self, handle: FaultHandle, since: int) -> FaultHandle:
        with self._lock:
            self._planned += 1
            handle.plan, handle.id, handle.since = self, self._planned, since
            self._set_live(handle.at, [*self._live[handle.at], handle])
            return handle

    def discard(self, handle: FaultHandle, *, required: bool = False) -> None:
        """Take a fault away; one that is ``required`` stays a problem if it has not fired."""
        with self._lock:
            words = handle.unfired if required else ""
            self._end(handle)
            self._spent = deque((one for one in self._spent if one is not handle), _KEPT_SPENT)
            self.unfired = [one for one in self.unfired if one[0] is not handle]
            if words:
                self.unfired.append((handle, words))

    def cancel_all(self) -> None:
        """Take every fault away, spent ones too. None need fire any more."""
        with self._lock:
            for handle in (*self.every(), *(handle for handle, _ in self.unfired)):
                self.discard(handle)

    def not_fired(self) -> list[tuple[FaultHandle, str]]:
        """Return the faults that should have fired and never did, each with the words for it."""
        return [*self.unfired, *((handle, words) for handle in self.in_force if (words := handle.unfired))]

    def choose(self, point: Point, exchange: Exchange | None, random: Callable[[], Random]) -> Fault | None:
        """Return the fault that meets a valid request at a commit point, or a connection in its handshake."""
        live = self._live[point]
        operation = None if exchange is None else exchange.operation
        for index, handle in enumerate(live):
            if not handle.concerns(operation) or (exchange is not None and not self._wants(handle, exchange)):
                continue
            if handle not in self._live[point]:  # its `when` sent a request that used the fault up, or cancelled it
                continue
            fault = handle.fire(random)
            if fault is not None:
                for later in live[index + 1 :]:
                    if later.concerns(operation):
                        later.preempt()
                if handle.spent:
                    self._end(handle)
                    self._spent.append(handle)
                return fault
        return None

    def _wants(self, handle: FaultHandle, exchange: Exchange) -> bool:
        try:
            return handle.wants(exchange)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # pytest.fail() and sys.exit() would end the listener
            problem = PetStoreMockError(f"the when= of {handle} raised {type(error).__name__}: {error}")
            problem.__cause__ = error
            if len(self.errors) < _KEPT_ERRORS:
                self.errors.append(problem)
            return False

    def _end(self, handle: FaultHandle) -> None:
        self._set_live(handle.at, [one for one in self._live[handle.at] if one is not handle])

    def _set_live(self, point: Point, handles: list[FaultHandle]) -> None:
        """Replace the faults of a point; a list that :meth:`choose` walks never changes."""
        self._live[point] = handles
        self.idle = not (self._live["before_commit"] or self._live["after_commit"])
