"""A check: one rule, written once. The machine, pasted tests and people's own tests use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.checks.observation import Need, Observation
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.interface.table import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.journal.exchange import Exchange

_NEEDS: Final[tuple[Need, ...]] = ("journal", "outcome", "process")


class Broken(NamedTuple):
    """A broken rule whose section and words depend on the case."""

    sentence: str  #: what the client did, without its subject and without a full stop
    section: str  #: the section of the interface, or the RFC
    words: str  #: what that section says


Look = Callable[[Observation], str | Broken | None]


@dataclass(frozen=True)
class Finding:
    """A check that failed; ``str()`` of it is the whole sentence, with the section and its words."""

    check: Check
    subject: str
    broken: Broken

    def __str__(self) -> str:
        sentence, section, words = self.broken
        where = section if section.startswith("RFC") else f"§{section}"
        return f"{self.subject} {sentence} ({where}: {words})."


@dataclass(frozen=True)
class Check:
    """One rule for clients, as a function over an observation.

    Call it with a journal, exchanges or an :class:`Observation`: ``checks.no_repeated_create(petstore.journal)``. It
    raises AssertionError with what is wrong, and PetStoreMockError if it needs more than requests.
    """

    name: str  #: the name of the function
    section: str  #: the section of the interface, or the RFC, that the rule follows from
    words: str  #: what that section says
    needs: frozenset[Need]  #: what it looks at: ``journal``, ``outcome``, ``process``
    look: Look  #: returns what the client did wrong, in words that follow the subject; None where it did nothing wrong

    def find(self, seen: Observation) -> Finding | None:
        """Return what is wrong; None where nothing is, or where the observation lacks what the check needs."""
        found = self.look(seen) if self.needs <= seen.offers else None
        if isinstance(found, str):
            found = Broken(found, self.section, self.words)
        return None if found is None else Finding(self, seen.subject, found)

    def __call__(self, seen: Observation | Iterable[Exchange], /) -> None:
        __tracebackhide__ = True
        if not isinstance(seen, Observation):
            seen = Observation(list(seen))
        missing = self.needs - seen.offers
        if missing:
            refuse(f"expected an observation with {in_words(sorted(missing))} for {self.name}; use checks.watched()")
        found = self.find(seen)
        if found is not None:
            raise AssertionError(str(found))


def check(*, section: str, words: str, needs: Iterable[Need] = ("journal",)) -> Callable[[Look], Check]:
    """Make a check of the decorated function, which takes an :class:`Observation`.

    The function returns what the client did wrong, in words that follow the call (``"sent two requests"``), or None.

    Args:
        section: the section of the interface, or the RFC, that the rule follows from: ``"4.2"``.
        words: what that section says.
        needs: what the function looks at besides the call: ``"journal"`` (the requests), ``"outcome"`` (the result or
            the exception), ``"process"`` (output, connections, threads, settings). The check runs only where the
            observer offers it.

    Raises:
        PetStoreMockError: there is no such need.
    """
    chosen = frozenset(needs)
    for need in chosen:
        one_of(need, _NEEDS, "need of a check")
    return lambda look: Check(look.__name__, section, words, chosen, look)
