"""Hypothesis strategies of what may differ and go wrong: behaviours, faults, and plans of faults.

Part of :mod:`petstore_mock.strategies`, from where they are imported.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from petstore_mock import faults as fault_kinds
from petstore_mock.contract.behaviour import Behaviour, check_gap
from petstore_mock.contract.gaps import GAPS, VARIED
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.core.fault_plan import FaultPlan
from petstore_mock.errors import PetStoreMockError
from petstore_mock.strategies.from_schema import require_strategy, when_drawn

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.fault_rule import CommitPoint
    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["PlannedFault", "behaviours", "fault_plans", "faults", "varied_gaps"]


@when_drawn
def behaviours(*, vary: Collection[str] | None = None) -> SearchStrategy[Behaviour]:
    """Draw behaviours that differ from the default in some gaps; they shrink to the default.

    Args:
        vary: the gaps that may differ. Without it, every one but the events (``rate_limit``, ``key_rotation``,
            ``visibility``) and those that refuse valid animals (``name_rule``, ``category_rule``).

    Raises:
        PetStoreMockError: there is no such gap; suggests the nearest.
    """
    chosen = varied_gaps(vary, VARIED)
    if not chosen:
        return st.just(Behaviour())
    return _behaviours(tuple(chosen))


def varied_gaps(vary: Collection[str] | None, every: Collection[str]) -> list[str]:
    """Return the gaps that ``vary`` names, each once; without it, those of ``every``.

    Raises:
        PetStoreMockError: it is no collection of names of gaps.
    """
    if isinstance(vary, str):
        raise PetStoreMockError(f"expected the names of gaps; got vary={vary!r} (str): pass [{vary!r}]")
    if vary is not None and not isinstance(vary, Collection):
        raise PetStoreMockError(f"expected the names of gaps; got vary={vary!r} ({type(vary).__name__})")
    chosen = list(every if vary is None else dict.fromkeys(vary))
    for name in chosen:
        check_gap(name, GAPS[name].default if name in GAPS else None)
    return chosen


@cache
def _behaviours(chosen: tuple[str, ...]) -> SearchStrategy[Behaviour]:
    # One draw for both, since a machine draws a behaviour for each of its examples; and mapped, since unique lists of
    # sampled_from, or of few integers, draw from what is left, where taking one out changes what the others are.
    others = [(name, other) for name in chosen for other in list(GAPS[name].alternatives)[1:]]
    change = st.integers(0, len(others) - 1).map(others.__getitem__)
    changes = st.lists(change, unique_by=itemgetter(0), max_size=len(chosen))
    return changes.map(lambda drawn: Behaviour(**dict(drawn)))  # type: ignore[arg-type]  # from the register


@when_drawn
def faults(*, allow_wire: bool = True, allow_waits: bool = True) -> SearchStrategy[Fault]:
    """Draw faults, for ``petstore.inject()``.

    Args:
        allow_wire: also those of the connection, which need a socket.
        allow_waits: also those that take real time: a delay, a hang, a dribble, a positive ``Retry-After``.
    """
    html = "<html><body>Bad gateway</body></html>"
    drawn: list[SearchStrategy[Fault]] = [
        st.sampled_from([500, 502, 503, 504]).map(fault_kinds.server_error),
        st.just(fault_kinds.unauthorized()),
        st.just(fault_kinds.rate_limited(0)),
        st.just(fault_kinds.respond(403)),
        st.sampled_from([html, ""]).map(lambda body: fault_kinds.respond(502, body=body)),
        st.just(fault_kinds.malformed_json()),
        st.just(fault_kinds.wrong_content_type()),
    ]
    if allow_wire:
        drawn += [
            st.just(fault_kinds.reset()),
            st.just(fault_kinds.empty_reply()),
            st.sampled_from([0.5, 0.0, 0.9]).map(fault_kinds.truncate),
            st.just(fault_kinds.malformed_chunk()),
        ]
    if allow_waits:
        drawn += [
            st.just(fault_kinds.rate_limited(1)),
            st.sampled_from([0.01, 0.1]).map(fault_kinds.delay),
            st.sampled_from([0.01, 0.1]).map(lambda late: fault_kinds.server_error(503, delay=late)),
        ]
        if allow_wire:
            drawn += [st.just(fault_kinds.dribble(10_000)), st.just(fault_kinds.hang())]
    return st.one_of(drawn)


_QUICK_FAULTS: Final = faults(allow_waits=False)


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault and when it meets a request: the arguments of ``petstore.inject()``.

    Attributes:
        fault: the fault.
        on: the operation that it meets.
        times: how often it fires.
        after: how many matching requests pass first.
        at: before or after the commit.
    """

    fault: Fault
    _: KW_ONLY
    on: OperationName | None = None
    times: int = 1
    after: int = 0
    at: CommitPoint = "before_commit"

    def inject(self, petstore: PetStoreMock) -> FaultHandle:
        """Plan it in the current world of ``petstore``; a test does not answer for it if no request meets it."""
        handle = petstore.inject(self.fault, on=self.on, times=self.times, after=self.after, at=self.at)
        handle.required = False
        return handle


@when_drawn
def fault_plans(
    *, faults: SearchStrategy[Fault] | None = None, max_size: int = 5
) -> SearchStrategy[tuple[PlannedFault, ...]]:
    """Draw plans of faults, each to be planned by ``fault.inject(petstore)``; they shrink to none.

    What is drawn may come to nothing: a fault of a plan that never fires fails no test, other than one that a test
    planned itself.

    Args:
        faults: draws the faults; the default is :func:`faults` without those that take real time.
        max_size: the longest plan.
    """
    kinds = _QUICK_FAULTS if faults is None else require_strategy(faults, "faults")
    return st.lists(_planned(kinds), max_size=max_size).map(tuple)


@st.composite
def _planned(draw: DrawFn, kinds: SearchStrategy[Fault]) -> PlannedFault:
    fault = draw(kinds)
    on: OperationName = draw(st.sampled_from(tuple(OPERATIONS)))
    at: CommitPoint = draw(st.sampled_from(["before_commit", "after_commit"])) if on == "createPet" else "before_commit"
    times = draw(st.integers(1, 3))
    after = draw(st.integers(0, 3))
    try:
        FaultPlan().add(fault, on=on, times=times, after=after, at=at)
    except PetStoreMockError:  # such as 404 on listPets, which the interface does not declare (§7)
        fault = fault_kinds.server_error()
    return PlannedFault(fault, on=on, times=times, after=after, at=at)
