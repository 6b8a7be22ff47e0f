"""The fault plan: which fault, if any, meets a request.

The order is the one in which the faults were injected; the first rule that fires wins. A rule that matches and is still
in its ``after`` phase, or whose ``probability`` says no, lets the request pass on to the next rule.
"""

from __future__ import annotations

from contextlib import nullcontext
from inspect import iscoroutinefunction, signature
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from petstore_mock.contract.interface import OPERATIONS, require_operation
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.faults import Fault, coerce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from random import Random
    from types import TracebackType

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.messages.request import ApiRequest

__all__ = ["FaultHandle", "FaultPlan", "Moment", "operations_of"]

Moment = Literal["before_commit", "after_commit"]

_DECLARED: Final = frozenset(status for operation in OPERATIONS.values() for status in operation.statuses)


class FaultHandle:
    """A planned fault: says how often it fired and takes it away again.

    As a context manager it takes the fault away at the end of the block; a fault planned with ``times=`` that has not
    fired by then, and that neither ``cancel()`` nor a reset took away, raises ``VerificationError``.

    Attributes:
        hits: how often it fired.
        passed: how many requests it let pass under ``after``.
        outrun: how many requests for its operation met a fault that was injected earlier.
        since: how many requests had come when it was planned.
        required: whether it must fire, if it was planned for so many times; one that nobody chose need not.
    """

    __slots__ = (
        "_after",
        "_plan",
        "at",
        "fault",
        "hits",
        "on",
        "outrun",
        "passed",
        "probability",
        "required",
        "since",
        "times",
        "when",
    )

    def __init__(  # the columns of a rule
        self,
        plan: FaultPlan,
        fault: Fault,
        *,
        on: str | None,
        times: int | None,
        after: int,
        when: Callable[[ApiRequest], object] | None,
        at: Moment,
        probability: float,
    ) -> None:
        self._plan = plan
        self._after = after
        self.fault = fault
        self.on = on
        self.times = len(fault.parts) if fault.parts else times
        self.when = when
        self.at = at
        self.probability = probability
        self.hits = 0
        self.passed = 0
        self.outrun = 0
        self.since = 0
        self.required = True

    def __repr__(self) -> str:
        return f"<{self} hits={self.hits}>"

    def __str__(self) -> str:
        options = [
            f"on={self.on!r}" if self.on else "",
            f"times={self.times}" if self.times is not None and not self.fault.parts else "",
            f"after={self._after}" if self._after else "",
            "when=..." if self.when else "",
            f"at={self.at!r}" if self.at != "before_commit" else "",
            f"probability={self.probability}" if self.probability < 1 else "",
        ]
        return f"inject({', '.join([str(self.fault), *filter(None, options)])})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        never_fired = self.never_fired
        self.cancel()
        if never_fired and kind is None:
            __tracebackhide__ = True
            raise VerificationError(f"{self} never fired within its block: {self.why_not()}")

    def concerns(self, operation: str | None) -> bool:
        """Say whether it is for this operation."""
        return self.on is None or self.on == operation

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as it may."""
        return self.times is not None and self.hits >= self.times

    @property
    def never_fired(self) -> bool:
        """Whether it was planned for so many times, is still in force, and has not fired once, though it should."""
        return self.required and self.times is not None and self.hits == 0 and self in self._plan

    def why_not(self, refused: int = 0) -> str:
        """Return why it has not fired, in words.

        Args:
            refused: how many requests for its operation were refused before any fault could meet them.
        """
        reasons = [
            f"{_requests(self.outrun)} met a fault that was injected earlier" if self.outrun else "",
            f"{_requests(self.passed)} passed under after={self._after}" if self.passed else "",
            f"{_requests(refused)} got no further than a refusal, which the journal explains" if refused else "",
        ]
        return "; ".join(filter(None, reasons)) or "no request matched it"

    def cancel(self) -> None:
        """Take the fault away; harmless when it is gone already."""
        self._plan.discard(self)

    def fires(self, request: ApiRequest, random: Random) -> Fault | None:
        """Return the fault if it meets ``request``, counting the hit; the caller has checked operation and moment."""
        if self.when is not None and not self.when(request):
            return None
        if self.passed < self._after:
            self.passed += 1
            return None
        if self.probability < 1 and random.random() >= self.probability:
            return None
        fault = self.fault.parts[self.hits] if self.fault.parts else self.fault
        self.hits += 1
        return fault


class FaultPlan:
    """The faults of one world, in the order in which they were injected.

    Args:
        lock: the world's, which is held when a fault is added or chosen; to take one away it is taken here.
    """

    __slots__ = ("_live", "_lock", "errors", "idle")

    def __init__(self, lock: AbstractContextManager[object] | None = None) -> None:
        self._lock = nullcontext() if lock is None else lock
        self._live: dict[Moment, list[FaultHandle]] = {"before_commit": [], "after_commit": []}
        self.idle = True  # no fault is in force; kept, since every request asks
        self.errors: list[PetStoreMockError] = []  # what a `when` raised: the test author's, for the verification

    def __iter__(self) -> Iterator[FaultHandle]:
        """Give the faults that are in force; those that are spent or cancelled are forgotten."""
        return chain(*self._live.values())

    def clear(self) -> None:
        """Forget every fault."""
        self.__init__(self._lock)  # type: ignore[misc]  # a fresh plan in the same place

    def discard(self, handle: FaultHandle) -> None:
        """Take ``handle`` out of force."""
        with self._lock:  # a test takes it away while the listener's thread uses another up
            live = self._live[handle.at]
            if handle in live:
                self._live[handle.at] = [other for other in live if other is not handle]
                self.idle = not any(self._live.values())

    def never_fired(self) -> list[FaultHandle]:
        """Return the faults planned for so many times that have not fired once."""
        return [handle for handle in self if handle.never_fired]

    def choose(self, moment: Moment, request: ApiRequest, random: Random) -> Fault | None:
        """Return the fault that meets a valid request at ``moment``, or None."""
        live = self._live[moment]
        if not live:
            return None
        for index, handle in enumerate(live):
            if not handle.concerns(request.operation):
                continue
            try:
                fault = handle.fires(request, random)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  # pytest.fail() and sys.exit() would end the listener
                problem = PetStoreMockError(f"the when= of {handle} raised {type(error).__name__}: {error}")
                problem.__cause__ = error
                self.errors.append(problem)
                continue
            if fault is not None:
                for later in live[index + 1 :]:
                    later.outrun += later.concerns(request.operation)
                if handle.spent:
                    self.discard(handle)
                return fault
        return None

    def add(  # the keywords of PetStoreMock.inject
        self,
        fault: int | Fault,
        *,
        on: str | None = None,
        times: int | None = None,
        after: int = 0,
        when: Callable[[ApiRequest], object] | None = None,
        at: Moment = "before_commit",
        probability: float = 1.0,
        off_contract: bool = False,
    ) -> FaultHandle:
        """Plan a fault; see :meth:`petstore_mock.PetStoreMock.inject`.

        Raises:
            PetStoreMockError: an argument can't be right, or the interface does not declare the status there.
        """
        chosen = coerce(fault)
        _check(chosen, times=times, after=after, when=when, at=at, probability=probability)
        if on is not None:
            require_operation(on)
        if at == "after_commit" and on in {"listPets", "getPet"}:
            raise PetStoreMockError(f"expected on='createPet' with at='after_commit'; {on} commits nothing")
        if not off_contract:
            for part in chosen.parts or (chosen,):
                _check_declared(part, "createPet" if at == "after_commit" else on)  # nothing else commits
        handle = FaultHandle(self, chosen, on=on, times=times, after=after, when=when, at=at, probability=probability)
        self._live[at] = [*self._live[at], handle]
        self.idle = False
        return handle


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"


def _is_count(value: Any, least: int) -> bool:  # noqa: ANN401  # judges whatever a test author passes
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check_predicate(when: Any) -> None:  # noqa: ANN401  # judges whatever a test passes
    if not callable(when):
        raise PetStoreMockError(f"expected when to be a function of an ApiRequest; got when={when!r}")
    if iscoroutinefunction(when):  # what it returns is never awaited, and true whatever it would say
        raise PetStoreMockError(f"expected when to be a plain function, without async; got when={when!r}")
    try:
        taken = signature(when)
    except (TypeError, ValueError):  # of some that are written in C nobody knows
        return
    try:
        taken.bind(None)
    except TypeError:
        raise PetStoreMockError(
            f"expected when to take one argument, an ApiRequest; got when={when!r}{taken}"
        ) from None


def _check(fault: Fault, *, times: Any, after: Any, when: Any, at: Any, probability: Any) -> None:  # noqa: ANN401
    if times is not None and not _is_count(times, 1):
        raise PetStoreMockError(f"expected times to be a whole number of at least 1, or None; got times={times!r}")
    if fault.parts and times is not None:
        raise PetStoreMockError("expected no times= with a sequence: it is used once, a fault for each request")
    if not _is_count(after, 0):
        raise PetStoreMockError(f"expected after to be a whole number of at least 0; got after={after!r}")
    if when is not None:
        _check_predicate(when)
    if at not in get_args(Moment):
        raise PetStoreMockError(f"expected at to be 'before_commit' or 'after_commit'; got at={at!r}")
    if isinstance(probability, bool) or not isinstance(probability, (int, float)) or not 0 < probability <= 1:
        raise PetStoreMockError(f"expected probability above 0 and at most 1; got probability={probability!r}")


def operations_of(fault: Fault) -> list[OperationName]:
    """Return the operations that a fault may meet without leaving the interface (§7).

    A status that is declared for some operations is for these alone; one that is declared nowhere (403, 429, 5xx) is
    the infrastructure's, and always possible.
    """
    statuses = {part.status for part in fault.parts or (fault,)} & _DECLARED
    return [operation.name for operation in OPERATIONS.values() if statuses <= set(operation.statuses)]


def _check_declared(fault: Fault, on: str | None) -> None:
    """Refuse a status that the interface declares for another operation only (§7)."""
    declared = operations_of(fault)
    asked = [on] if on is not None else list(OPERATIONS)
    if not set(asked) <= set(declared):
        raise PetStoreMockError(
            f"the interface declares {fault.status} for {', '.join(declared)} only (§7), not for "
            f"{on or 'every operation'}: pass on={declared[0]!r}, or off_contract=True if you mean it"
        )
