"""What may happen in an example, as tables; and how it is chosen.

Hypothesis draws one number for an example, and all that happens in it comes of that number. A draw for each step would
cost as much as its request; and five of six examples would be an earlier one with a part of it repeated, in the same
world.
"""

from __future__ import annotations

from itertools import cycle, islice, product
from random import Random
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock import faults as fault_kinds
from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.contract.interface import PET_STATUSES, OperationName

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.faults import Fault
    from petstore_mock.stateful.shrinking import Step

__all__ = ["NUMBERS", "OPERATION_NAMES", "STEPS", "Chance", "Plan"]

OPERATION_NAMES: Final[tuple[OperationName, ...]] = ("listPets", "createPet", "getPet")
# When a fault meets a request: the operation, how often, after how many that pass, and whether after the commit.
Plan = tuple[OperationName, int, int, bool]

NUMBERS: Final = st.integers(0, 2**64 - 1)
STEPS: Final = 30  # of an example

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
_DESTINATIONS: Final = ("elsewhere", "here", "elsewhere", "relative", "elsewhere", "nowhere", "elsewhere", "round")

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
    # What is sent by something in between, or by a later version.
    fault_kinds.rate_limited(None),
    fault_kinds.rate_limited("2020-01-01"),  # past: there is nothing to wait for
    fault_kinds.respond(502, json={"error": "Bad gateway"}),
    fault_kinds.respond(502, json=["Bad gateway"]),
    fault_kinds.respond(502, body="<p>Passerelle d\u00e9fectueuse</p>".encode("latin-1")),
)
_SLOW_FAULTS: Final = (
    fault_kinds.delay(0.02),
    fault_kinds.dribble(1_000_000),
    fault_kinds.rate_limited(1),
    fault_kinds.respond(503, headers={"Retry-After": "1"}),
    fault_kinds.hang(),
    fault_kinds.hang(),  # nothing else shows a timeout that is missing
)
_PLANS: Final[tuple[Plan, ...]] = tuple(
    (operation, times, after, lost)
    for times, after in ((1, 0), (1, 0), (1, 1), (2, 0), (12, 0))
    for operation in OPERATION_NAMES
    for lost in ((False, True) if operation == "createPet" else (False,))
)

# The kinds of steps: names of methods of the machine, and every tuple of their arguments.
_KINDS: Final[tuple[tuple[str, Iterable[tuple[Any, ...]]], ...]] = (
    ("list_some", product(product(_LIMITS, _STATUSES))),
    ("get_known", product(range(8))),
    ("create", product(("Rex", "", " "), (1, 0, -1, 2**53 + 1), _STATUSES)),
    ("get_unknown", product(_UNKNOWN_IDS)),
    ("repeat", ((),)),
    ("spoil_and_repeat", ((),)),
    ("seed", product(_ANIMALS, _UNKNOWN_IDS)),
    ("update", product(product(range(4), (*PET_STATUSES, None), (False, True)))),
    ("remove", product(product(range(4), (False, True)))),
    ("seed_many", product((3, 3, 25, 101), (True, True, False))),
    ("seed_long", product(_LONG_NAMES, (False, True))),
    ("close_connections", product(OPERATION_NAMES)),
    ("revoke_key", product(_RARELY)),
    ("travel", product(_RARELY)),
    ("switch", product(OPERATION_NAMES)),
    ("redirect", product(product(_REDIRECTIONS, OPERATION_NAMES, _DESTINATIONS))),
)
# How often each kind comes: as often as it has arguments, about; what takes as long as several others comes less often.
_WEIGHTS: Final = {"list_some": 360, "close_connections": 60, "seed_long": 40}
_WEIGHT: Final = 120
_TABLE: Final[tuple[Step, ...]] = tuple(
    (name, *arguments) for name, every in _KINDS for arguments in islice(cycle(every), _WEIGHTS.get(name, _WEIGHT))
)
_CREATIONS: Final = 2  # the weights of what comes beside the table
_INJECTIONS: Final = 4

# What names are made of: plain text, white space, what JSON escapes, what takes two, three and four bytes of UTF-8,
# what is written from right to left, what joins with its neighbour, and what some take for the end of a line.
_CHARACTERS: Final = (
    "Rexab 019",
    " \t\r\n\v\0\x1f\x7f",
    "\"\\/'<>&%+,;{}[]",
    "\u00e9\u00df\u0100\u0416",
    "\u05e9\u05dc\u0645\u0631",
    "\u0301\u0308\u200d\ufe0f",
    "\u0085\u2028\u2029\u00a0\ufeff",
    "\u732b\u72ac\ud55c",
    "\U0001f415\U0001f408\U0001f1e9\U00010348",
)
# Names that mean something else to HTML, URLs, templates, escapes and those who guess types: one of so many names.
_MEANINGFUL_NAMES: Final = ("&amp;", "%41", "%s", "{0}", "\\u0041", "null", "1.0", "2026-01-01")
_MEANINGFUL: Final = 5


class Chance:
    """Chooses what happens in one example.

    Args:
        number: the same one makes the same choices.
    """

    def __init__(self, number: int) -> None:
        self._random = Random(number)  # noqa: S311  # nobody is to be kept from guessing

    def behaviour(self, differences: Sequence[tuple[str, str]]) -> Behaviour:
        """Choose a behaviour that differs from the default in a few gaps.

        In as many that each alternative comes in a run of 200 examples, and not so many that one hides another.

        Args:
            differences: the gaps with the alternatives to choose from.
        """
        random = self._random
        some = random.sample(differences, min(random.choice((0, 1, 3, 5, 7, 9)), len(differences)))
        return Behaviour(**dict(some))  # type: ignore[arg-type]  # from the register

    def step(self, faults: Sequence[Fault] | None) -> Step:
        """Choose a step.

        Args:
            faults: the faults to choose from; the machine's own without it.
        """
        random = self._random
        some = faults is None or len(faults) > 0
        place = random.randrange(len(_KINDS) + _CREATIONS + (_INJECTIONS if some else 0))
        if place < len(_KINDS):
            return random.choice(_TABLE)
        if place < len(_KINDS) + _CREATIONS:
            return ("create", self._name(), self._category_id(), random.choice(_STATUSES))
        if faults is None:
            faults = _SLOW_FAULTS if random.random() < 0.2 else _QUICK_FAULTS
        return ("inject", random.choice(faults), random.choice(_PLANS))

    def _name(self) -> str:
        random = self._random
        if random.randrange(_MEANINGFUL) == 0:
            return random.choice(_MEANINGFUL_NAMES)
        unit = "".join(random.choice(random.choice(_CHARACTERS)) for _ in range(random.choice((1, 1, 2, 3, 8))))
        return unit * random.choice((1, 1, 1, 1, 2, 20, 300))

    def _category_id(self) -> int:
        """Choose an integer of any size, both ends of int64 included."""
        size = self._random.choice((1, 8, 32, 54, 63))
        return self._random.choice((-(2**size), 2**size - 1, self._random.randrange(-(2**size), 2**size)))
