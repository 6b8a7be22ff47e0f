"""Behaviours, faults, and plans of faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from petstore_mock import faults as kinds
from petstore_mock.common.refusing import one_of, require
from petstore_mock.core.fault_plan import FaultHandle, operations_of
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS, VARIED
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from hypothesis.strategies import DrawFn, SearchStrategy

    from petstore_mock.faults import Fault
    from petstore_mock.mock.face import Handle, PetStore


def behaviours(*, vary: Collection[str] | None = None) -> SearchStrategy[Behaviour]:
    """Draw behaviours that differ from the default in some gaps; they shrink to the default.

    Args:
        vary: the gaps that may differ. Without it, all but the events (``rate_limit``, ``key_rotation``,
            ``visibility``) and those that refuse valid animals (``name_rule``, ``category_rule``).

    Raises:
        PetStoreMockError: there is no such gap; suggests the nearest.
    """
    return st.deferred(lambda: _behaviours(vary))  # a mistake must not fail the import of a test module


def _behaviours(vary: Collection[str] | None) -> SearchStrategy[Behaviour]:
    require(not isinstance(vary, str), "a list of names of gaps", vary=vary)
    chosen = dict.fromkeys(one_of(name, GAPS, "gap") for name in (VARIED if vary is None else vary))
    others = [(name, other) for name in chosen for other in [*GAPS[name].alternatives][1:]]
    if not others:
        return st.just(Behaviour())
    # Mapped, since a unique list of sampled_from draws from the rest, where each draw changes what the others mean.
    change = st.integers(0, len(others) - 1).map(others.__getitem__)
    changes = st.lists(change, unique_by=lambda pair: pair[0], max_size=len(chosen))
    return changes.map(lambda drawn: Behaviour().replace(**dict[str, Any](drawn)))


def faults(*, allow_wire: bool = True, allow_waits: bool = True) -> SearchStrategy[Fault]:
    """Draw faults, for ``petstore.inject()``.

    Args:
        allow_wire: whether to draw those of the connection too, which need a socket.
        allow_waits: whether to draw those that take real time too: a delay, a hang, a positive ``Retry-After``.
    """
    drawn = [
        *map(kinds.server_error, (500, 502, 503, 504)),
        *(kinds.unauthorized(), kinds.rate_limited(0), kinds.respond(403), kinds.respond(502, body="")),
        *(kinds.respond(502, body="<html>Bad gateway</html>"), kinds.malformed_json(), kinds.wrong_content_type()),
        *(kinds.reset(), kinds.empty_reply(), *map(kinds.truncate, (0.5, 0.0, 0.9)), kinds.malformed_chunk()),
        *(kinds.rate_limited(1), *map(kinds.delay, (0.01, 0.1)), kinds.server_error(503, delay=0.1)),
        *(kinds.dribble(10_000), kinds.hang()),
    ]
    waits = [] if allow_waits else [fault for fault in drawn if fault.takes_time or fault.tells_to_wait]
    wire = [] if allow_wire else [fault for fault in drawn if fault.row.needs_socket]
    return st.sampled_from([fault for fault in drawn if fault not in waits and fault not in wire])


@dataclass(frozen=True, slots=True, kw_only=True)
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
    on: Any = None
    times: int = 1
    after: int = 0
    at: Any = "before_commit"

    def inject(self, petstore: PetStore) -> Handle:
        """Plan it in the current world of ``petstore``. At home it need not fire; elsewhere, cancel it in time."""
        handle = petstore.inject(self.fault, on=self.on, times=self.times, after=self.after, at=self.at)
        if isinstance(handle, FaultHandle):
            handle.required = False
        return handle


def fault_plans() -> SearchStrategy[tuple[PlannedFault, ...]]:
    """Draw plans of up to five faults that take no real time, each to be planned by ``fault.inject(petstore)``."""
    return st.lists(_planned(), max_size=5).map(tuple)


@st.composite
def _planned(draw: DrawFn) -> PlannedFault:
    fault = draw(faults(allow_waits=False))
    row = OPERATIONS[draw(st.sampled_from(operations_of(fault)))]
    at = draw(st.sampled_from(["before_commit", "after_commit"] if row.commits else ["before_commit"]))
    times, after = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    return PlannedFault(fault=fault, on=row.name, times=times, after=after, at=at)
