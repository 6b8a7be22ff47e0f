"""The fault plan of a world. It chooses the fault that meets a request: the first planned fault that fires wins."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import Stays, one_of, refuse, require, shown
from petstore_mock.common.suggesting import helpful
from petstore_mock.common.values import counted, is_integer, is_number, without, without_none
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.interface.table import OPERATIONS, in_words, require_operation
from petstore_mock.journal.criteria import Criteria

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Mapping
    from random import Random

    from petstore_mock.common.real import RLock
    from petstore_mock.common.values import Json
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.journal.exchange import Exchange

CommitPoint = Literal["before_commit", "after_commit"]
Point = CommitPoint | Literal["handshake"]  # a handshake fault meets a connection

_SHOWN: Final = ("id", "on", "after", "probability", "off_contract", "hits", "spent")
_KEPT: Final = 1_000  # faults, including spent ones
_COMMITTING: Final = [operation.name for operation in OPERATIONS.values() if operation.commits]
_DECLARED: Final = frozenset[int]().union(*(operation.statuses for operation in OPERATIONS.values()))
# The operations whose success has no body. A fault that damages the body of a response can't meet them.
_WITHOUT_BODY: Final = frozenset(operation.name for operation in OPERATIONS.values() if operation.response is None)


def _declaring(fault: Fault) -> list[str]:
    """Return the operations that may respond with the statuses of ``fault`` (§7)."""
    # Statuses that the interface declares nowhere (403, 429, 5xx) come from infrastructure: they are always allowed.
    statuses = {part.status for part in fault.parts if part.row.responds} & _DECLARED
    return [operation.name for operation in OPERATIONS.values() if statuses <= operation.statuses]


def operations_of(fault: Fault) -> list[str]:
    """Return the operations that can meet each part of ``fault``."""
    names = _declaring(fault)
    if any(part.damages_body for part in fault.parts):
        return [name for name in names if name not in _WITHOUT_BODY]
    return names


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
@helpful()
class FaultHandle(Stays):
    """A planned fault. You can read how often it fired, and cancel it.

    As a context manager it cancels the fault at the end of the block. If a fault with ``times=``, a sequence or a TLS
    fault fired too rarely, the block raises ``VerificationError``. If another exception leaves the block, the next
    verification reports the fault.
    """

    fault: Fault  #: the fault
    on: str | None = None  #: the operation whose requests it meets; None for any
    times: int | None = None  #: how often it fires; None for every time
    after: int = 0  #: how many matching requests pass first
    when: Callable[[ApiRequest], object] | None = None  #: a function that returns whether the fault may meet a request
    where: Mapping[str, Any] | None = None  #: the criteria that a request must meet, if any
    at: Point = "before_commit"  #: before or after the commit, or in the handshake
    probability: float = 1.0  #: the chance that a matching request meets it
    off_contract: bool = False  #: whether its status may be undeclared for the operation
    id: int = 0  #: its number in its world, from 1
    hits: int = 0  #: how often it fired
    sent_as: object = None  # the JSON form in which a test sent the fault
    required: bool = True  # whether it must fire; a fault that Hypothesis draws need not
    over: bool = False  # whether it is cancelled or spent, or its block has ended
    plan: FaultPlan | None = None
    _criteria: Criteria | None = None
    _passes: Counter[str] = field(default_factory=Counter[str])  # how many requests did not meet it, by reason
    _last_miss: str = ""

    def __post_init__(self) -> None:
        self._check_values()
        is_read_only = self.on is not None and not require_operation(self.on).commits
        if is_read_only and self.at == "after_commit":
            refuse(f"expected a fault on {in_words(_COMMITTING)} for after_commit; got {self.on}, which is read-only")
        if self.fault.parts[0].row.meets_handshakes:
            self._check_handshake()
            self.at = "handshake"
        elif not self.off_contract:
            self._check_declared()
        if self.fault.kind == "sequence":
            require(self.times is None, "no times with a sequence, which uses each fault once", times=self.times)
            self.times = len(self.fault.parts)
        if self.where is not None:
            self._criteria = Criteria(self.where, self.on, before_response=True)

    def _check_values(self) -> None:
        when: object = self.when
        if self.times is not None:
            is_count = is_integer(self.times) and self.times >= 1
            require(is_count, "a whole number of at least 1, or none", times=self.times)
        require(is_integer(self.after) and self.after >= 0, "a whole number of at least 0", after=self.after)
        is_share = is_number(self.probability) and 0 < self.probability <= 1
        require(is_share, "a probability above 0 and at most 1", probability=self.probability)
        one_of(self.at, get_args(CommitPoint), "commit point")
        if when is not None:
            is_plain = callable(when) and not iscoroutinefunction(when)
            require(is_plain, "a non-async function of an ApiRequest", when=when)
        if self.where is not None:
            require(is_object(self.where), "a mapping of criteria, such as {'name': 'Rex'}", where=self.where)

    def _check_handshake(self) -> None:
        """Refuse what a fault of a handshake can't have."""
        values = {"on": self.on, "when": self.when, "where": self.where}
        if self.at != "before_commit":
            values["at"] = self.at
        words = f"no 'on', 'when', 'where' or 'at' with {self.fault}, which meets a connection before any request"
        wrong = without_none(values)
        require(not wrong, words, **wrong)

    def _check_declared(self) -> None:
        """Refuse a status that the interface declares only for other operations (§7)."""
        met = {self.on}
        if self.on is None:
            met = {*_COMMITTING} if self.at == "after_commit" else {*OPERATIONS}
        for part in self.fault.parts:
            if part.damages_body and self.on in _WITHOUT_BODY:
                advice = "use a fault that loses the response, such as reset"
                refuse(f"expected a fault that {self.on} can meet: its success has no body; got {part}: {advice}")
            declared = _declaring(part)
            if not met <= {*declared}:
                whose = self.on or "every operation"
                got = f"got {whose}: set 'on' to one of these, or set 'off_contract'"
                refuse(f"expected a fault on {in_words(declared)} for status {part.status} (§7); {got}")

    def __repr__(self) -> str:
        return f"<{self} hits={self.hits}>"

    def __str__(self) -> str:
        parts = [str(self.fault)]
        if self.on is not None:
            parts.append(f"on={self.on!r}")
        if self._own_times is not None:
            parts.append(f"times={self._own_times}")
        if self.after:
            parts.append(f"after={self.after}")
        if self.when is not None:
            parts.append("when=...")
        if self._criteria is not None:
            parts.append(f"where={self._criteria.shown()}")
        if self.at == "after_commit":
            parts.append(f"at={self.at!r}")
        if self.probability < 1:
            parts.append(f"probability={self.probability}")
        return f"inject({', '.join(parts)})"

    @property
    def _own_times(self) -> int | None:
        """How often it fires, if the test said so. A sequence uses each of its faults once."""
        if self.fault.kind == "sequence":
            return None
        return self.times

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        is_unfired = self.is_unfired
        self.cancel(required=kind is not None)
        if is_unfired and kind is None:
            __tracebackhide__ = True
            raise VerificationError(f"{self.shortfall()} within its block: {self.why_not()}")

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as ``times`` allows."""
        return self.times is not None and self.hits >= self.times

    @property
    def is_unfired(self) -> bool:
        """Whether it has fired less often than it must."""
        is_kept = self.plan is not None and self in self.plan.every
        if not is_kept or not self.required:
            return False
        due = self.times or int(self.at == "handshake")
        if self.probability < 1:
            # A fault by chance may fire once only.
            due = min(due, 1)
        return self.hits < due

    def shortfall(self) -> str:
        if not self.hits:
            return f"{self} never fired"
        return f"{self} fired {self.hits} of {self.times} times"

    def cancel(self, *, required: bool = False) -> None:
        """Cancel the fault. It need not fire any more, unless ``required``."""
        if self.plan is not None:
            with self.plan.lock:
                self.over = True
                stays = required and self.is_unfired  # as a problem
                if not stays:
                    self.plan.every = without(self.plan.every, self)

    def why_not(self) -> str:
        """Return the reasons why it has not fired as often as planned, as text."""
        what = "request"
        met = "matched"
        if self.at == "handshake":
            what = "connection"
            met = "met"
        reasons = [f"{counted(number, what)} {words}" for words, number in self._passes.items()]
        if self._last_miss:
            reasons.append(self._last_miss)
        if reasons:
            return "; ".join(reasons)
        further = "further " if self.hits else ""
        return f"no {further}{what} {met} it"

    def to_data(self) -> Json:
        """Return the fault and its state as a JSON value, without the function of ``when=``."""
        data = {name: getattr(self, name) for name in _SHOWN}
        data |= {"fault": self.sent_as, "times": self._own_times, "at": self.at, "where": None, "why_not": None}
        if self.at == "handshake":
            data["at"] = "before_commit"
        if self._criteria is not None:
            data["where"] = self._criteria.shown()
        if self.is_unfired:
            data["why_not"] = self.why_not()
        return data

    def meets(self, exchange: Exchange | None, random: Callable[[], Random]) -> Fault | None:
        """Return the fault if it meets a connection, or a request with no response yet. The caller holds the lock."""
        misses = self._misses(exchange)
        # Its `when` may have cancelled it, or have sent a request that used it up.
        if self.over:
            return None
        parts = self.fault.parts
        part = parts[self.hits % len(parts)]
        reason = self._reason_to_pass(part, exchange, misses)
        if reason:
            self.pass_by(reason)
            return None
        if self.probability < 1 and random().random() >= self.probability:
            return None
        self.hits += 1
        return part

    def _misses(self, exchange: Exchange | None) -> list[str]:
        """Return why a request does not match; empty for a connection."""
        if exchange is None:
            return []
        differences = [] if self._criteria is None else self._criteria.differences(exchange)
        if self.when is None or differences or self.when(exchange.request):
            return differences
        return ["its when= returned a false value"]

    def _reason_to_pass(self, part: Fault, exchange: Exchange | None, misses: list[str]) -> str:
        """Return why a request or a connection does not meet ``part``; empty if it may."""
        has_no_body = exchange is not None and exchange.operation in _WITHOUT_BODY
        if has_no_body and part.damages_body:
            return "had a response without a body"
        if misses:
            self._last_miss = f"the last because {'; '.join(misses)}"
            return "did not match"
        passed = f"passed because of after={self.after}"
        if self._passes[passed] < self.after:
            return passed
        return ""

    def pass_by(self, why: str) -> None:
        self._passes[why] += 1


class FaultPlan:
    """The faults of one world, in the order in which they were planned."""

    def __init__(self, lock: RLock, errors: deque[BaseException]) -> None:
        self.lock = lock  # a test may cancel a fault while the listener's thread chooses one
        self._errors = errors  # collects the exceptions of ``when=`` functions
        self.clear()

    def clear(self) -> None:
        self._planned = 0
        self.every: list[FaultHandle] = []  # in force, spent, or kept as unfired; the list is replaced, never changed

    @property
    def in_force(self) -> list[FaultHandle]:
        return [*filterfalse(attrgetter("over"), self.every)]

    def find(self, number: int) -> FaultHandle:
        for handle in self.every:
            if handle.id == number:
                return handle
        raise NotFoundError(f"expected the id of a planned fault; got {shown(number)}")

    def add(self, handle: FaultHandle) -> FaultHandle:
        with self.lock:
            self._planned += 1
            handle.plan = self
            handle.id = self._planned
            others = self.every if len(self.every) < _KEPT else self.in_force
            self.every = [*others, handle]
            return handle

    def pass_by(self, operation: str | None) -> None:
        """Count a refused request, which no fault could meet."""
        for handle in self.in_force:
            if handle.at != "handshake" and handle.on in {None, operation}:
                handle.pass_by("ended with a refusal")

    def choose(self, point: Point, exchange: Exchange | None, random: Callable[[], Random]) -> Fault | None:
        """Return the fault that meets a valid request at a commit point, or a connection in its handshake."""
        operation = None if exchange is None else exchange.operation
        chosen: Fault | None = None
        for handle in self.in_force:
            if handle.at != point or handle.on not in {None, operation}:
                continue
            if chosen is not None:
                handle.pass_by("met a fault that was planned earlier")
                continue
            chosen = self._met(handle, exchange, random)
            handle.over = handle.over or handle.spent
        return chosen

    def _met(self, handle: FaultHandle, exchange: Exchange | None, random: Callable[[], Random]) -> Fault | None:
        try:
            return handle.meets(exchange, random)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # pytest.fail() and sys.exit() would end the listener
            problem = PetStoreMockError(f"the when= of {handle} raised {type(error).__name__}: {error}")
            problem.__cause__ = error
            self._errors.append(problem)
            return None
