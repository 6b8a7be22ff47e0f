"""The effects of operations: what an operation does to animals, and what follows from that.

A row of the table of operations names its effect. Everything that depends on the effect asks the row here: the commit,
caching, the links of OpenAPI, the log, the machine's calls, the checks of clients, and the clauses of ``verify`` with
their mutants. So no other module compares the names of effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from petstore_mock.common.values import by_name

EffectName = Literal["lists", "reads", "creates", "changes", "replaces", "removes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an operation does to animals.

    Attributes:
        name: the name that rows of operations use.
        about: the animals that a request is about: ``many`` stored ones, ``one`` stored animal, or a ``new`` one.
        commits: whether a success changes the store.
        keeps: whether the animal has the fields of the request after a success.
        replaces: whether fields that the body leaves out are absent after a success.
        ends: whether the animal is gone after a success.
        done: the commit in the words of the log: "animal 7 ... after the commit".
        repeated: what a second request may do after the first one was executed; completes "a second ... may".
    """

    name: EffectName
    about: Literal["many", "one", "new"]
    commits: bool = False
    keeps: bool = False
    replaces: bool = False
    ends: bool = False
    done: str = ""
    repeated: str = ""

    @property
    def shows_stored(self) -> bool:
        """Whether its only purpose is to show stored animals."""
        return not self.commits

    @property
    def adds(self) -> bool:
        """Whether a success adds an animal."""
        return self.about == "new"


_ROWS: Final = (
    Effect(name="lists", about="many"),
    Effect(name="reads", about="one"),
    Effect(name="creates", about="new", commits=True, keeps=True, done="created", repeated="add a second animal"),
    Effect(name="changes", about="one", commits=True, keeps=True, done="changed", repeated="change the animal twice"),
    Effect(
        name="replaces",
        about="one",
        commits=True,
        keeps=True,
        replaces=True,
        done="replaced",
        repeated="replace the animal twice",
    ),
    Effect(name="removes", about="one", commits=True, ends=True, done="removed", repeated="remove another animal"),
)
EFFECTS: Final = by_name(_ROWS)
# Methods whose second request changes nothing more (RFC 9110 §9.2.2).
IDEMPOTENT_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
