"""The fault plan: which fault, if any, meets a request.

The order is the one in which the faults were injected; the first rule that fires wins. A rule that matches and is still
in its ``after`` phase, or whose ``probability`` says no, lets the request pass on to the next rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from petstore_mock.common.bounded import Firsts
from petstore_mock.common.wording import counted
from petstore_mock.core.fault_rule import CommitPoint, FaultRule
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.faults import coerce, to_data
from petstore_mock.faults.kinds import FaultSequence
from petstore_mock.journal.criteria import Criteria

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from random import Random

    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.request import ApiRequest

__all__ = ["FaultHandle", "FaultPlan"]

_Point = Literal["before_commit", "after_commit", "handshake"]  # the last is of connections

_KEPT_SPENT: Final = 1_000  # faults that have done their work and are still listed; as many as the stub keeps requests
_KEPT_ERRORS: Final = 100  # of a `when` that raises at each of a million requests


@dataclass(slots=True, eq=False, repr=False)
class FaultHandle:
    """A planned fault: says how often it fired and takes it away again.

    As a context manager it takes the fault away at the end of the block; a fault planned with ``times=`` that has not
    fired by then, and that nobody cancelled, raises ``VerificationError``; where a reset came between, or another
    exception leaves the block, the next verification does.

    Attributes:
        id: its number in its world, from 1.
        fault: the fault.
        on: the operation that it meets; None for any.
        times: how often it fires; None for every time.
        after: how many matching requests pass first.
        when: the predicate that a request has to satisfy, if any.
        where: the criteria that a request has to meet, if any.
        at: before or after the commit, or in the handshake.
        probability: the chance of each matching request to meet it.
        off_contract: whether it may leave the interface.
        hits: how often it fired.
        passed: how many requests it let pass under ``after``.
        preempted: how many requests for its operation met a fault that was injected earlier.
        differing: how many requests for its operation were not what ``where`` asks for.
        since: how many requests had come when it was planned.
        required: whether it must fire, if it was planned for so many times or for connections; one that nobody chose
            need not.
    """

    _plan: FaultPlan
    id: int
    fault: Fault
    on: str | None
    times: int | None
    after: int
    when: Callable[[ApiRequest], object] | None
    where: Criteria | None
    at: Literal["before_commit", "after_commit", "handshake"]
    probability: float
    off_contract: bool
    since: int = 0
    hits: int = 0
    passed: int = 0
    preempted: int = 0
    differing: int = 0
    required: bool = True
    _difference: str = ""

    def __repr__(self) -> str:
        return f"<{self} hits={self.hits}>"

    def __str__(self) -> str:
        options = [
            f"on={self.on!r}" if self.on else "",
            f"times={self.times}" if self.times is not None and not isinstance(self.fault, FaultSequence) else "",
            f"after={self.after}" if self.after else "",
            "when=..." if self.when else "",
            f"where={self.where.shown()}" if self.where is not None else "",
            f"at={self.at!r}" if self.at == "after_commit" else "",
            f"probability={self.probability}" if self.probability < 1 else "",
        ]
        return f"inject({', '.join([str(self.fault), *filter(None, options)])})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        never_fired = self.never_fired
        self.cancel()
        if never_fired and kind is None:
            __tracebackhide__ = True
            raise VerificationError(f"{self} never fired within its block: {self.why_not()}")
        if never_fired:
            self._plan.left_unfired(self)

    def concerns(self, operation: str | None) -> bool:
        """Say whether it is for this operation."""
        return self.on is None or self.on == operation

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as it may."""
        return self.times is not None and self.hits >= self.times

    @property
    def never_fired(self) -> bool:
        """Whether it is still in force and has not fired once, though it should.

        One that meets requests should if it was planned for so many times; one that meets connections always.
        """
        planned = self.times is not None or self.at == "handshake"
        return self.required and planned and self.hits == 0 and self in self._plan

    def why_not(self, refused: int = 0) -> str:
        """Return why it has not fired, in words.

        Args:
            refused: how many requests for its operation were refused before any fault could meet them.
        """
        what = "connection" if self.at == "handshake" else "request"
        reasons = [
            f"{counted(self.preempted, what)} met a fault that was injected earlier" if self.preempted else "",
            f"{counted(self.passed, what)} passed under after={self.after}" if self.passed else "",
            f"{counted(self.differing, 'request')} differed from where=, the last in that {self._difference}"
            if self.differing
            else "",
            f"{counted(refused, 'request')} got no further than a refusal, which the journal explains"
            if refused
            else "",
        ]
        return "; ".join(filter(None, reasons)) or f"no {what} {'met' if what == 'connection' else 'matched'} it"

    def cancel(self) -> None:
        """Take the fault away; harmless when it is gone already."""
        self._plan.discard(self)

    def to_data(self) -> dict[str, Any]:
        """Return it as a JSON value: what was planned, and what has come of it; ``when`` is no data."""
        return {
            "id": self.id,
            "fault": to_data(self.fault),
            "on": self.on,
            "times": None if isinstance(self.fault, FaultSequence) else self.times,
            "after": self.after,
            "at": self.at,
            "probability": self.probability,
            "off_contract": self.off_contract,
            "where": None if self.where is None else _as_json(self.where.shown()),
            "hits": self.hits,
            "spent": self.spent,
        }

    def wants(self, entry: Entry) -> bool:
        """Say whether a request, which has no answer yet, is what ``where`` and ``when`` ask for."""
        if self.where is not None and (differences := self.where.differences(entry)):
            self.differing += 1
            self._difference = "; ".join(differences)
            return False
        return self.when is None or bool(self.when(entry.request))

    def fires(self, random: Random) -> Fault | None:
        """Return the fault if it meets a request that it concerns and wants, counting the hit."""
        if self.passed < self.after:
            self.passed += 1
            return None
        if self.probability < 1 and random.random() >= self.probability:
            return None
        fault = self.fault.parts[self.hits] if isinstance(self.fault, FaultSequence) else self.fault
        self.hits += 1
        return fault


def _as_json(value: object) -> Any:  # noqa: ANN401  # a JSON value
    """Return a criterion as JSON can say it: bytes and members of enumerations as their text."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(one) for one in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


class FaultPlan:
    """The faults of one world, in the order in which they were injected.

    Args:
        lock: the world's, which is held when a fault is added or chosen; to take one away it is taken here.
        schemas: say which arguments the operations have, for ``where``; those that ship unless given.
    """

    __slots__ = ("_live", "_lock", "_planned", "_schemas", "_spent", "_unfired", "errors", "idle")

    def __init__(self, lock: AbstractContextManager[object] | None = None, schemas: Schemas | None = None) -> None:
        self._lock = nullcontext() if lock is None else lock
        self._schemas = schemas
        self._live: dict[_Point, list[FaultHandle]] = {point: [] for point in get_args(_Point)}
        self._spent: deque[FaultHandle] = deque(maxlen=_KEPT_SPENT)
        # Those whose blocks ended with an exception, which may be one that was expected.
        self._unfired: list[FaultHandle] = []
        self._planned = 0  # so far: the last id
        self.idle = True  # no fault for requests is in force; kept, since every request asks
        # What a `when` raised: the test author's, for the verification.
        self.errors: Firsts[PetStoreMockError] = Firsts(_KEPT_ERRORS)

    def __iter__(self) -> Iterator[FaultHandle]:
        """Give the faults that are in force."""
        return chain(*self._live.values())

    def every(self) -> list[FaultHandle]:
        """Return the faults that are in force or spent, in the order of their ids; not those that were cancelled."""
        with self._lock:
            return sorted((*self, *self._spent), key=lambda handle: handle.id)

    def clear(self) -> None:
        """Forget every fault; ids begin anew."""
        self._live = {point: [] for point in get_args(_Point)}
        self._spent.clear()
        self._unfired.clear()
        self._planned = 0
        self.idle = True
        self.errors.clear()

    def left_unfired(self, handle: FaultHandle) -> None:
        """Remember a fault that is out of force though it should have fired, until somebody cancels it."""
        with self._lock:
            self._unfired.append(handle)

    def cancel(self) -> None:
        """Take every fault away, those that are spent too; none need fire any more."""
        with self._lock:
            self._unfired.clear()
            for handle in self.every():
                self.discard(handle)

    def discard(self, handle: FaultHandle) -> None:
        """Take ``handle`` out of force, and out of the list."""
        with self._lock:  # a test takes it away while the listener's thread uses another up
            self._end(handle)
            for others in (self._spent, self._unfired):
                if handle in others:
                    others.remove(handle)

    def _end(self, handle: FaultHandle) -> None:
        live = self._live[handle.at]
        if handle in live:
            self._live[handle.at] = [other for other in live if other is not handle]
            self.idle = not any(self._live[point] for point in get_args(CommitPoint))

    def never_fired(self) -> list[FaultHandle]:
        """Return the faults planned for so many times that have not fired once."""
        return [*self._unfired, *(handle for handle in self if handle.never_fired)]

    def choose(self, point: _Point, entry: Entry | None, random: Random) -> Fault | None:
        """Return the fault that meets a valid request at a commit point, or a connection in its handshake, or None.

        Args:
            point: before or after the commit, or the handshake.
            entry: the request's, which has no answer yet; None for a connection.
            random: decides under ``probability``.
        """
        live = self._live[point]
        if not live:
            return None
        operation = None if entry is None else entry.operation
        for index, handle in enumerate(live):
            if not handle.concerns(operation) or (entry is not None and not self._wants(handle, entry)):
                continue
            # A `when` may have sent a request of its own, which used the fault up, or have taken faults away.
            if handle not in self._live[point]:
                continue
            fault = handle.fires(random)
            if fault is not None:
                for later in live[index + 1 :]:
                    later.preempted += later.concerns(operation)
                if handle.spent:
                    self._end(handle)
                    self._spent.append(handle)
                return fault
        return None

    def _wants(self, handle: FaultHandle, entry: Entry) -> bool:
        """Ask whether a request is what a fault is meant for; a ``when`` that raises is told, and says no."""
        try:
            return handle.wants(entry)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # pytest.fail() and sys.exit() would end the listener
            problem = PetStoreMockError(f"the when= of {handle} raised {type(error).__name__}: {error}")
            problem.__cause__ = error
            self.errors.note(problem)
            return False

    def add(self, fault: int | Fault, **rule: Any) -> FaultHandle:  # noqa: ANN401  # those of FaultRule
        """Plan a fault; see :meth:`petstore_mock.PetStoreMock.inject`.

        Raises:
            PetStoreMockError: an argument can't be right, or the interface does not declare the status there.
        """
        checked = FaultRule(fault=coerce(fault), **rule)
        asked = checked.where
        where = None if asked is None else Criteria(checked.on, asked, self._schemas, unanswered=True)
        self._planned += 1
        handle = FaultHandle(
            self,
            self._planned,
            checked.fault,
            on=checked.on,
            times=len(checked.fault.parts) if isinstance(checked.fault, FaultSequence) else checked.times,
            after=checked.after,
            when=checked.when,
            where=where,
            at="handshake" if checked.fault.meets_handshakes else checked.at,
            probability=checked.probability,
            off_contract=checked.off_contract,
        )
        self._live[handle.at] = [*self._live[handle.at], handle]
        self.idle = self.idle and handle.at == "handshake"
        return handle
