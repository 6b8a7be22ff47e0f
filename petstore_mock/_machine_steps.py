"""What may happen in an example, as a table; and how it is drawn."""

from __future__ import annotations

from itertools import cycle, islice, product
from random import Random
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock import faults as fault_kinds
from petstore_mock import strategies
from petstore_mock.contract import PET_STATUSES, OperationName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import SearchStrategy

    from petstore_mock._machine_shrink import Step
    from petstore_mock.faults import Fault

__all__ = ["BATCH", "OPERATION_NAMES", "Plan", "batches"]

OPERATION_NAMES: Final[tuple[OperationName, ...]] = ("listPets", "createPet", "getPet")
# When a fault meets a request: the operation, how often, after how many that pass, and whether after the commit.
Plan = tuple[OperationName, int, int, bool]

_STATUSES: Final = (None, *PET_STATUSES)
_LIMITS: Final = (None, 1, 2, 3, 20, 21, 50, 99, 100)
_EDGE_IDS: Final = (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
_UNKNOWN_IDS: Final = (None, None, None, *_EDGE_IDS)  # None for one that has vanished, or for a small one
_ANIMALS: Final = (
    {"name": "Rex", "categoryId": 1},
    *({"name": "Tom", "categoryId": 2, "status": status} for status in PET_STATUSES),
    {"name": "", "categoryId": 0},
    {"name": "\u00e9\U0001f415", "categoryId": -1, "status": "available"},
    {"name": '\u2028\r\n\0"\\', "categoryId": 2**63 - 1, "status": "sold"},
    {"name": "\u05e9\u05dc\u05d5\u05dd", "categoryId": 2**53 + 1},
)
_LONG_NAMES: Final = (("x", 1_000), ("x", 70_000), ("\u00e9", 70_000), ("\U0001f415", 70_000), ("ab", 150_000))
_RARELY: Final = range(20)  # the lowest three are the event, the others a plain call
_REDIRECTIONS: Final = (307, 302, 301, 303, 308)

_QUICK_FAULTS: Final = (
    fault_kinds.server_error(500),
    fault_kinds.reset(),
    fault_kinds.respond(502, body="<html><body>Bad gateway</body></html>"),
    fault_kinds.empty_reply(),
    fault_kinds.server_error(503),
    fault_kinds.respond(502, body=b""),
    fault_kinds.unauthorized(),
    fault_kinds.respond(403),
    fault_kinds.rate_limited(0),
    fault_kinds.truncate(0.5),
    fault_kinds.truncate(0.0),
    fault_kinds.malformed_json(),
    fault_kinds.malformed_chunk(),
    fault_kinds.wrong_content_type(),
)
_SLOW_FAULTS: Final = (
    fault_kinds.delay(0.02),
    fault_kinds.dribble(1_000_000),
    fault_kinds.rate_limited(1),
    fault_kinds.hang(),
    fault_kinds.hang(),  # nothing else shows a timeout that is missing
)
_PLANS: Final[tuple[Plan, ...]] = tuple(
    (operation, times, after, lost)
    for times, after in ((1, 0), (12, 0), (1, 1), (2, 0), (12, 0))
    for operation in OPERATION_NAMES
    for lost in ((False, True) if operation == "createPet" else (False,))
)

# How many steps Hypothesis counts as one.
BATCH: Final = 5

# The kinds of steps, the simple ones first: names of methods of the machine, and every tuple of their arguments.
_KINDS: Final[tuple[tuple[str, Iterable[tuple[Any, ...]]], ...]] = (
    ("list_some", product(product(_LIMITS, _STATUSES))),
    ("get_known", product(range(8))),
    ("create", product(("Rex", "", " "), (1, 0, -1, 2**53 + 1), _STATUSES)),
    ("get_unknown", product(_UNKNOWN_IDS)),
    ("repeat", ((),)),
    ("spoil_and_repeat", ((),)),
    ("seed", product(_ANIMALS, _UNKNOWN_IDS)),
    ("update", product(product(range(4), PET_STATUSES, (False, True)))),
    ("remove", product(product(range(4), (False, True)))),
    ("seed_many", ((3,), (3,), (25,), (101,))),
    ("seed_long", product(_LONG_NAMES)),
    ("close_connections", product(OPERATION_NAMES)),
    ("revoke_key", product(_RARELY)),
    ("travel", product(_RARELY)),
    ("switch", product(OPERATION_NAMES)),
    ("redirect", product(product(_REDIRECTIONS, OPERATION_NAMES))),
)
_INJECTIONS: Final = tuple(product((*_QUICK_FAULTS, *_SLOW_FAULTS, *_QUICK_FAULTS), _PLANS))
_WEIGHT: Final = len(_INJECTIONS) // 3  # of each other kind
_TABLE: Final[tuple[Step, ...]] = tuple(
    (name, *arguments) for name, every in _KINDS for arguments in islice(cycle(every), _WEIGHT)
)


def batches(faults: SearchStrategy[Fault] | None) -> SearchStrategy[tuple[Step, ...]]:
    """Draw a few steps at once; most are one draw from one table, since a draw costs as much as a request.

    Args:
        faults: draws the faults; without it the machine's own are drawn.
    """
    creations: SearchStrategy[Step] = st.tuples(
        st.just("create"), strategies.names(), strategies.category_ids(), st.sampled_from(_STATUSES)
    )
    table: list[Step | SearchStrategy[Step]] = [*_TABLE, *[creations] * (2 * _WEIGHT)]
    if faults is None:
        table += [("inject", *arguments) for arguments in _INJECTIONS]
    elif not faults.is_empty:
        table += [st.tuples(st.just("inject"), faults, st.sampled_from(_PLANS))] * len(_INJECTIONS)
    # Hypothesis draws low numbers more often than high ones: they are to be of every kind.
    Random(0).shuffle(table)  # noqa: S311  # the same order each time
    return _batch(st.sampled_from([_TABLE[0], *table]))


@st.composite
def _batch(draw: st.DrawFn, table: SearchStrategy[Step | SearchStrategy[Step]]) -> tuple[Step, ...]:
    batch = []
    for _ in range(BATCH):
        step = draw(table)
        batch.append(draw(step) if isinstance(step, st.SearchStrategy) else step)
    return tuple(batch)
