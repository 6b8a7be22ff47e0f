"""What happens in an example, and how it is chosen.

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
from petstore_mock.contract.interface import OPERATIONS, PET_STATUSES
from petstore_mock.stateful import steps
from petstore_mock.stateful.checks.broken_answers import BROKEN_ANSWERS
from petstore_mock.strategies.values import category_ids, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.faults import Fault
    from petstore_mock.stateful.scenario import Restrictions
    from petstore_mock.stateful.steps import Step

__all__ = ["NUMBERS", "STEPS", "StepGenerator", "any_step"]

NUMBERS: Final = st.integers(0, 2**64 - 1)
STEPS: Final = 30  # of an example

_OPERATIONS: Final[tuple[OperationName, ...]] = tuple(OPERATIONS)
_STATUSES: Final = (None, *PET_STATUSES)
_LIMITS: Final = (None, 1, 2, 3, 20, 21, 50, 99, 100)
_EDGE_IDS: Final = (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
_UNKNOWN_IDS: Final = (None, None, None, *_EDGE_IDS)  # None for one that has vanished, or for a small one
_ANIMALS: Final = (  # name, category and status
    ("Rex", 1, None),
    *(("Tom", 2, status) for status in PET_STATUSES),
    ("", 0, None),
    ("\u00e9\U0001f415", -1, "available"),
    ('\u2028\r\n\0"\\', 2**63 - 1, "sold"),
    ("\u05e9\u05dc\u05d5\u05dd", 2**53 + 1, None),
)
_LONG_NAMES: Final = (("x", 1_000), ("x", 70_000), ("\u00e9", 70_000), ("\U0001f415", 70_000), ("ab", 150_000))
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
    fault_kinds.respond(429, headers={"Retry-After": "-1"}),  # no such hint, and a 429 all the same
    fault_kinds.respond(503, headers={"Retry-After": "soon"}),
    fault_kinds.respond(502, json={"error": "Bad gateway"}),
    fault_kinds.respond(502, json=["Bad gateway"]),
    fault_kinds.respond(502, body="<p>Passerelle d\u00e9fectueuse</p>".encode("latin-1")),
    fault_kinds.respond(401, headers={"WWW-Authenticate": "Bearer"}),  # whose realm is optional (RFC 6750 §3)
    *BROKEN_ANSWERS,
)
# What no client should wait for, whoever says so; for those who say themselves how long a call may take.
_LONG_HINTS: Final = (
    fault_kinds.rate_limited(86_400),
    fault_kinds.respond(503, headers={"Retry-After": "1000000000"}),
    fault_kinds.rate_limited("2999-12-31"),
    fault_kinds.rate_limited(10**12),  # more than a clock can hold
)
_SLOW_FAULTS: Final = (
    fault_kinds.delay(0.02),
    fault_kinds.dribble(1_000_000),
    fault_kinds.rate_limited(1),
    fault_kinds.respond(503, headers={"Retry-After": "1"}),
    fault_kinds.hang(),
    fault_kinds.hang(),  # nothing else shows a timeout that is missing
)
# When a fault meets a request: the operation, how often, after how many that pass, and whether after the commit.
_PLANS: Final = tuple(
    (operation, times, after, committed)
    for times, after in ((1, 0), (1, 0), (1, 1), (2, 0), (12, 0))
    for operation in _OPERATIONS
    for committed in ((False, True) if operation == "createPet" else (False,))
)
# The steps that are chosen from: each kind with all arguments that it may have, and how many come of them all.
_KINDS: Final[tuple[tuple[Callable[..., Step], Iterable[tuple[Any, ...]], int], ...]] = (
    (steps.ListPets, product(_LIMITS, _STATUSES), 360),
    (steps.GetKnown, product(range(8)), 120),
    (steps.CreatePet, product(("Rex", "", " "), (1, 0, -1, 2**53 + 1), _STATUSES), 120),
    (steps.GetUnknown, product(_UNKNOWN_IDS), 120),
    (steps.Repeat, [()], 120),
    (steps.SpoilAndRepeat, [()], 120),
    (steps.Seed, ((*animal, pet_id) for animal, pet_id in product(_ANIMALS, _UNKNOWN_IDS)), 120),
    (steps.Update, product(range(4), (*PET_STATUSES, None), (False, True)), 120),
    (steps.Remove, product(range(4), (False, True)), 120),
    (steps.SeedMany, product((3, 3, 25, 101), (True, True, False)), 120),
    (steps.SeedLong, ((*name, by_list) for name, by_list in product(_LONG_NAMES, (False, True))), 40),  # takes its time
    (steps.CloseConnections, product(_OPERATIONS), 60),  # likewise
    (steps.RevokeKey, product(_OPERATIONS), 18),  # an example is over, more or less, once its key is refused
    (steps.TravelPastRemoval, [()], 18),  # likewise with getPet
    (steps.Switch, product(_OPERATIONS), 120),
    (steps.Redirect, product(_REDIRECTIONS, _OPERATIONS, _DESTINATIONS), 120),
)
_PLAIN_CALLS: Final = 204
_TABLE: Final[tuple[Step, ...]] = (
    *(kind(*arguments) for kind, every, weight in _KINDS for arguments in islice(cycle(every), weight)),
    *islice(cycle(steps.PLAIN), _PLAIN_CALLS),
)
# Of so many steps so many come beside the table.
_FROM_TABLE: Final = 16
_CREATIONS: Final = 2
_INJECTIONS: Final = 4
_MEETINGS: Final = 5  # of a client that may be shared
_PLACES: Final = (12, 25, 60)  # lines of its own that a call has: most have few

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


def any_step(
    faults: SearchStrategy[Fault] | None, *, concurrent: bool = False, long_hints: bool = False
) -> SearchStrategy[Step]:
    """Return a strategy for a step, for Hypothesis's own runner, which shrinks it to a plain call.

    Args:
        faults: draws the faults; the machine's own without it.
        concurrent: whether the client may be shared, and is asked twice at once.
        long_hints: whether it is told to wait for longer than anybody should.
    """
    drawn = st.sampled_from((*_faults(long_hints=long_hints), *_SLOW_FAULTS)) if faults is None else faults
    creations = st.builds(steps.CreatePet, names(), category_ids(), st.sampled_from(_STATUSES))
    plans = st.tuples(drawn, st.sampled_from(_PLANS))
    injections = plans.map(lambda drawn: steps.Inject(drawn[0], *drawn[1]))
    usual = st.sampled_from(steps.PLAIN) | st.sampled_from(_TABLE) | creations | injections
    if not concurrent:
        return usual
    places = st.one_of(*(st.integers(1, most) for most in _PLACES))
    operations = st.sampled_from(_OPERATIONS)
    return usual | st.builds(steps.AtOnce, operations, operations, places, st.none() | places)


def _faults(*, long_hints: bool) -> tuple[Fault, ...]:
    return (*_QUICK_FAULTS, *_LONG_HINTS) if long_hints else _QUICK_FAULTS


class StepGenerator:
    """Chooses what happens in one example.

    Args:
        number: the same one makes the same choices.
        concurrent: whether the client may be shared, and is asked twice at once.
        long_hints: whether it is told to wait for longer than anybody should.
    """

    def __init__(self, number: int, *, concurrent: bool = False, long_hints: bool = False) -> None:
        self._quick_faults = _faults(long_hints=long_hints)
        self._meetings = _MEETINGS if concurrent else 0
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

    def step(self, restrictions: Restrictions) -> Step:
        """Choose a step, from what may be chosen."""
        random, faults = self._random, restrictions.faults
        has_faults = faults is None or len(faults) > 0
        injections = _INJECTIONS if has_faults else 0
        place = random.randrange(_FROM_TABLE + _CREATIONS + injections + self._meetings)
        if place < _FROM_TABLE:
            return random.choice(_TABLE)
        if place < _FROM_TABLE + _CREATIONS:
            return steps.CreatePet(self._name(), self._category_id(), random.choice(_STATUSES))
        if place >= _FROM_TABLE + _CREATIONS + injections:
            operations = random.choice(_OPERATIONS), random.choice(_OPERATIONS)
            hold, then = (random.randint(1, random.choice(_PLACES)) for _ in operations)
            return steps.AtOnce(*operations, hold, random.choice((None, then)))
        if faults is None:
            faults = _SLOW_FAULTS if random.random() < 0.2 else self._quick_faults
        return steps.Inject(random.choice(faults), *random.choice(_PLANS))

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
