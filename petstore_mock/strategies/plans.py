"""Strategies for behaviours, faults, and plans of faults."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock import faults as kinds
from petstore_mock.checks.scenario import PlannedFault
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.suggesting import guided
from petstore_mock.core.fault_plan import operations_of
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS, VARIED
from petstore_mock.interface.schemas import schema
from petstore_mock.interface.table import ANIMAL, FIELDS, LABEL, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.faults import Fault
    from petstore_mock.interface.table import Operation

_AS_JSON: Final = {"Content-Type": "application/json"}


def _broken_successes() -> Iterator[Any]:
    """Yield bodies of successes that break the interface, each in one way that services really break it."""
    required = schema(ANIMAL)["required"]
    optional = {name: field.samples[-1] for name, field in FIELDS.items() if name not in required}
    animal = {name: 1 if FIELDS[name].is_assigned else FIELDS[name].samples[0] for name in required}
    yield {"title" if name == LABEL else name: value for name, value in animal.items()}
    yield {**animal, LABEL: None, **optional}
    # The list lacks the last required field.
    yield [dict([*animal.items()][:-1])]
    # A client that looks at the first animal only does not notice the second one.
    yield [animal, {"id": 2}]
    yield []
    yield {}
    yield {"pets": [animal]}


# Errors that the interface allows for an operation, and those of gateways, proxies and frameworks. RFC 9110 §15
# requires that a client treats a status that it does not know like the first of its class.
_STATUSES: Final = (408, 409, 410, 418, 422, 425, 451, 499, 501, 504, 507, 511, 520, 530, 598)
_ERROR_BODIES: Final[tuple[Any, ...]] = (None, True, 5, "Internal error", [], {}, {"errors": [{"detail": "none"}]})
_HINTS: Final = ("", "0.5", "nan", "1e0", "-0", "0, 0", "Thu, 32 Foo 2026 25:61:61 GMT")
_CHALLENGES: Final = {"WWW-Authenticate": ['Basic realm="a, b"', 'Bearer realm="pets", error="invalid_token"']}
ERRORS: Final = (
    *(kinds.bad_request(), kinds.not_found()),
    *(kinds.respond(status) for status in _STATUSES),
    *(kinds.respond(500, json=document) for document in _ERROR_BODIES),
    *(kinds.respond(status, json=["refused"]) for status in (400, 404)),
    kinds.respond(401, headers=_CHALLENGES),
    kinds.respond(401, json=None),
    kinds.respond(500, body=b"\xef\xbb\xbf{}", headers=_AS_JSON),
    kinds.respond(500, body="Fehler", headers={"Content-Type": "text/html; charset=x-unknown"}),
    kinds.respond(500, body="", headers={"Content-Encoding": "gzip"}),
    *(kinds.respond(503, headers={"Retry-After": hint}) for hint in _HINTS),
)
QUICK_FAULTS: Final = (
    *(kinds.server_error(500), kinds.reset(), kinds.respond(502, body="<html><body>Bad gateway</body></html>")),
    *(kinds.empty_reply(), kinds.server_error(503), kinds.respond(502, body=""), kinds.unauthorized()),
    *(kinds.respond(403), kinds.rate_limited(0), kinds.truncate(0.5), kinds.truncate(0.0), kinds.malformed_json()),
    *(kinds.malformed_chunk(), kinds.wrong_content_type(), kinds.rate_limited(None)),
    kinds.rate_limited("2020-01-01"),  # in the past: the wait is over
    kinds.respond(429, headers={"Retry-After": "-1"}),
    kinds.respond(503, headers={"Retry-After": "soon"}),
    *(kinds.respond(502, json={"error": "Bad gateway"}), kinds.respond(502, json=["Bad gateway"])),
    kinds.respond(502, body="<p>Passerelle défectueuse</p>".encode("latin-1")),
    kinds.respond(401, headers={"WWW-Authenticate": "Bearer"}),  # the realm is optional (RFC 6750 §3)
    # Successes from a proxy, a login page or a queue, and from a service that breaks the interface.
    *(kinds.respond(200, body=""), kinds.respond(204), kinds.respond(202, json={"queued": True})),
    kinds.respond(200, body="<html><body>Please log in</body></html>"),
    kinds.respond(200, body="null", headers=_AS_JSON),
    kinds.respond(200, json={"message": "Down for maintenance"}),
    *(kinds.respond(200, json=document) for document in _broken_successes()),
    kinds.respond(201, json={"id": 1}),
    *(kinds.respond(201, body=""), kinds.respond(201, json=[]), kinds.respond(203), kinds.respond(206, json=[])),
)
SLOW_FAULTS: Final = (
    *(kinds.hang(), kinds.delay(0.05), kinds.dribble(10_000), kinds.rate_limited(1)),
    kinds.respond(503, headers={"Retry-After": "1"}),
    kinds.sequence(503, kinds.hang()),
)
_TIMES_AND_AFTER: Final = ((1, 0), (1, 1), (2, 0), (12, 0))


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
    chosen = dict.fromkeys(one_of(name, GAPS, "gap") for name in (VARIED if vary is None else vary))
    others = [(name, other) for name in chosen for other in [*GAPS[name].alternatives][1:]]
    if not others:
        return st.just(Behaviour())
    # A unique list of sampled_from() draws from the remaining items: removing one would change all later items, and
    # shrinking would fail. So the strategy draws an index.
    change = st.integers(0, len(others) - 1).map(others.__getitem__)
    changes = st.lists(change, unique_by=lambda pair: pair[0], max_size=len(chosen))
    return changes.map(lambda drawn: Behaviour().replace(**dict[str, Any](drawn)))


@guided
def faults(*, allow_wire: bool = True, allow_waits: bool = True) -> SearchStrategy[Fault]:
    """Draw faults that every operation may meet, for ``petstore.inject()``.

    Args:
        allow_wire: whether to draw faults of the connection, which need a socket.
        allow_waits: whether to draw faults that take real time: a delay, a hang, a positive ``Retry-After``.
    """
    drawn = [one for one in (*QUICK_FAULTS, *SLOW_FAULTS) if len(operations_of(one)) == len(OPERATIONS)]
    wire = [] if allow_wire else [one for one in drawn if one.row.needs_socket]
    return st.sampled_from([one for one in drawn if one not in wire and (allow_waits or is_quick(one))])


def is_quick(fault: Fault) -> bool:
    """Whether a fault takes no real time, even for a client that honours ``Retry-After``."""
    return not (fault.takes_time or fault.tells_to_wait)


def planned(faults: Iterable[Fault], rows: Iterable[Operation]) -> list[PlannedFault]:
    """Return the plans of faults for operations, one for each commit point.

    A fault whose status belongs to other operations (§7) is left out.
    """
    found: list[PlannedFault] = []
    for fault, row in product(faults, rows):
        # Before the commit, a readable response would show an animal that the service does not keep.
        only_after = any(part.row.readable and not part.row.is_whole for part in fault.parts)
        points = ["after_commit"] if only_after else ["before_commit", "after_commit"]
        if row.name in operations_of(fault):
            one = PlannedFault(fault=fault, on=row.name, times=None if fault.kind == "sequence" else 1)
            found += [replace(one, at=point) for point in (points if row.commits else ["before_commit"])]
    return found


def planned_faults(faults: Iterable[Fault], rows: Iterable[Operation]) -> SearchStrategy[PlannedFault]:
    drawn = product(planned(faults, rows), _TIMES_AND_AFTER)
    return st.sampled_from([replace(one, times=one.times and times, after=after) for one, (times, after) in drawn])


def fault_plans() -> SearchStrategy[tuple[PlannedFault, ...]]:
    """Draw plans of up to five faults that take no real time. Call ``fault.inject(petstore)`` for each."""
    quick = filter(is_quick, QUICK_FAULTS)
    return st.lists(planned_faults(quick, OPERATIONS.values()), max_size=5).map(tuple)
