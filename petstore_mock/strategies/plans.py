"""Strategies for behaviours, faults, and plans of faults."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, product
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from petstore_mock.checks.scenario import PlannedFault
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.suggesting import guided
from petstore_mock.core.fault_plan import operations_of
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS, VARIED
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.strategies.sent import QUICK, SLOW, UNUSUAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.core.fault_plan import CommitPoint
    from petstore_mock.faults import Fault
    from petstore_mock.interface.table import Operation

QUICK_FAULTS: Final = tuple(chain.from_iterable(QUICK.values()))
SLOW_FAULTS: Final = tuple(chain.from_iterable(SLOW.values()))
_TIMES_AND_AFTER: Final = ((1, 0), (1, 1), (2, 0), (12, 0))


def others_of(gap: str) -> list[str]:
    """Return the alternatives of a gap without its default."""
    return list(GAPS[gap].alternatives)[1:]


@guided
def behaviours(*, vary: Collection[str] | None = None) -> SearchStrategy[Behaviour]:
    """Draw behaviours that differ from the default in some gaps. They shrink to the default.

    Args:
        vary: the gaps that may differ. The default is all gaps except the events (``rate_limit``, ``key_rotation``,
            ``visibility``) and the rules that reject valid animals (``name_rule``, ``category_rule``).

    Raises:
        PetStoreMockError: there is no such gap. The message suggests the nearest name.
    """
    return st.deferred(lambda: _behaviours(vary))  # a wrong argument must not fail the import of a test module


def _behaviours(vary: Collection[str] | None) -> SearchStrategy[Behaviour]:
    require(not isinstance(vary, str), "a list of names of gaps", vary=vary)
    chosen = VARIED if vary is None else vary
    others: list[tuple[str, str]] = []
    for name in dict.fromkeys(chosen):
        others += product([name], others_of(one_of(name, GAPS, "gap")))
    if not others:
        return st.just(Behaviour())
    # A unique list of sampled_from() draws from the remaining items: removing one would change all later items, and
    # shrinking would fail. So the strategy draws an index.
    change = st.integers(0, len(others) - 1).map(others.__getitem__)
    changes = st.lists(change, unique_by=itemgetter(0), max_size=len(chosen))
    return changes.map(dict[str, str]).map(Behaviour().replace)


@guided
def faults(*, allow_wire: bool = True, allow_waits: bool = True) -> SearchStrategy[Fault]:
    """Draw faults that every operation may meet, for ``petstore.inject()``.

    Args:
        allow_wire: whether to draw faults of the connection, which need a socket.
        allow_waits: whether to draw faults that take real time: a delay, a hang, a positive ``Retry-After``.
    """
    every = (*QUICK_FAULTS, *SLOW_FAULTS, *UNUSUAL)
    drawn = [fault for fault in every if len(operations_of(fault)) == len(OPERATIONS)]
    if not allow_wire:
        drawn = [fault for fault in drawn if not any(part.row.needs_socket for part in fault.parts)]
    if not allow_waits:
        drawn = [*filter(is_quick, drawn)]
    return st.sampled_from(drawn)


def is_quick(fault: Fault) -> bool:
    """Whether a fault takes no real time, even for a client that honours ``Retry-After``."""
    return not fault.takes_time and not fault.tells_to_wait


def planned(faults: Iterable[Fault], rows: Iterable[Operation]) -> list[PlannedFault]:
    """Return the plans of faults for operations, one for each commit point that matters.

    A fault whose status belongs to other operations (§7) is left out.
    """
    plans: list[PlannedFault] = []
    for fault, row in product(faults, rows):
        times = None if fault.kind == "sequence" else 1
        if row.name in operations_of(fault):
            plans += [PlannedFault(fault=fault, on=row.name, times=times, at=at) for at in _points(fault, row)]
    return plans


def _points(fault: Fault, row: Operation) -> list[CommitPoint]:
    # A whole response is the same at both points.
    damaging = [part.row for part in fault.parts if not part.row.is_whole]
    if not row.commits or not damaging:
        return ["before_commit"]
    # Before the commit, a readable response would show an animal that the service does not keep.
    if any(kind.readable for kind in damaging):
        return ["after_commit"]
    return ["before_commit", "after_commit"]


def planned_faults(faults: Iterable[Fault], rows: Iterable[Operation]) -> SearchStrategy[PlannedFault]:
    plans = product(planned(faults, rows), _TIMES_AND_AFTER)
    return st.sampled_from([replace(plan, times=plan.times and times, after=after) for plan, (times, after) in plans])


def fault_plans() -> SearchStrategy[tuple[PlannedFault, ...]]:
    """Draw plans of up to five faults that take no real time. Call ``fault.inject(petstore)`` for each."""
    return st.lists(planned_faults(filter(is_quick, QUICK_FAULTS), OPERATIONS.values()), max_size=5).map(tuple)
