"""One test that has to do with the fixture: what its marks ask for, what came during it, and its warnings."""

from __future__ import annotations

import linecache
import re
import warnings
import zlib
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.errors import ContractWarning, DeprecatedOperationWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.journal import Journal
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.pytest_plugin.remote import RemoteFixture

    Subject = PetStoreMock | RemoteFixture  # what a run tests against, in this process or in another

__all__ = [
    "AS_IT_IS",
    "FIXTURE",
    "MISTAKES",
    "MUTANT",
    "VARIANT",
    "Run",
    "assumptions_of",
    "file_name",
    "name_without_variant",
    "raise_at",
    "variant_of",
    "variant_text",
]

FIXTURE: Final = "petstore"
VARIANT: Final = "_petstore_variant"  # the parameter that exploration adds to a test
MUTANT: Final = "mutant"  # what is varied where it is no gap: the clause that the service breaks
MISTAKES: Final = pytest.StashKey[list[str]]()  # why a test can't have the starting state that it asks for
AS_IT_IS: Final[Any] = getattr(pytest, "HIDDEN_PARAM", "as_it_is")  # pytest 8.4 is the first to hide an id
_DECORATOR_LINES: Final = 50  # a table of parameters may be long; it need not be found
_SHOWN_WORLDS: Final = 10  # of fresh(): a test may go through thousands
_LONGEST_NAME: Final = 120  # characters: file systems allow 255 bytes, and a suffix comes behind
_Mark = tuple[int, int]  # where a journal stands: how often it was cleared, and the number of its last entry
_WARNED_REASONS: Final = 20  # of one test: a property test can break one rule in a hundred ways


def merged_marks(item: pytest.Item) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the keywords of a test's marks ``petstore``, and of its ``petstore_assumes``; the nearest mark wins."""
    start: dict[str, Any] = {}
    assumed: dict[str, str] = {}
    for mark in item.iter_markers():  # for both at once: to walk through the parents is what takes time
        if mark.name == FIXTURE:
            start = {**mark.kwargs, **start}
        elif mark.name == "petstore_assumes":
            assumed = {**mark.kwargs, **assumed}
    return start, assumed


def variant_of(item: pytest.Item) -> dict[str, str]:
    """Return the gap that is varied in this item with its alternative, or the mutant; empty in a test as it is."""
    callspec = getattr(item, "callspec", None)
    varied: dict[str, str] | None = None if callspec is None else callspec.params.get(VARIANT)
    return varied or {}


def mutant_of(item: pytest.Item) -> str | None:
    """Return the name of the mutant under which this item runs its test, or None."""
    return variant_of(item).get(MUTANT)


def variant_text(variant: Mapping[str, str]) -> str:
    """Return a variant as it stands in the id of its item."""
    return ",".join(f"{gap}={alternative}" for gap, alternative in variant.items())


def name_without_variant(item: pytest.Item) -> str:
    """Return the id that the test would have if it were not multiplied."""
    text = variant_text(variant_of(item))
    if not text and VARIANT in getattr(getattr(item, "callspec", None), "params", {}) and isinstance(AS_IT_IS, str):
        text = AS_IT_IS
    if not text:
        return item.nodeid
    # One of them, and the last: a parameter of the test's own may have the same text for its id.
    for part, left in ((f"-{text}]", "]"), (f"[{text}]", ""), (f"[{text}-", "[")):
        if part in item.nodeid:
            return left.join(item.nodeid.rsplit(part, 1))
    return item.nodeid


def assumptions_of(item: pytest.Item) -> dict[str, str]:
    """Return the assumptions that the marks of a test declare."""
    return merged_marks(item)[1]


def file_name(nodeid: str) -> str:
    """Return a file name for a test that every file system takes, and that no other test has."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", nodeid).strip("._")[-_LONGEST_NAME:]
    return safe if safe == nodeid else f"{safe}-{zlib.crc32(nodeid.encode()):08x}"


def _since(journal: Journal, mark: _Mark | None) -> list[Entry]:
    clears, number = mark or (journal.clears, 0)
    kept = journal.kept
    return [entry for entry in kept if entry.number > number] if journal.clears == clears else kept


class Run:
    """One test, from its setup to its teardown.

    Attributes:
        item: the test.
        start: what its starting state has on top of the session's: keywords of ``Tenant.renew``.
        start_error: why its starting state can't be, or empty.
        problems: what it must answer for beside the reason for which it failed.
        noted: what is to be warned of, by what tells one warning from another.
        shown: entries of each of its latest ``fresh()`` worlds that are over, for its report.
        began: where the journals stood of worlds that are older than the test, when that began: how often each was
            cleared, and the number of its last entry.
        seen: the same, of all other worlds, when they were looked at last.
        has_own_mock: whether it failed with the journal of a mock of its own.
        examples: whether it was verified example by example.
        leaks_before: how many requests of finished worlds had come before it.
        mutant: the mutant that answers in the place of the service, or None.
        noticed: whether a phase of it has failed under that mutant.
        asked: whether something was asked of that mutant that it does otherwise.
    """

    def __init__(self, item: pytest.Item, assumed: Mapping[str, str]) -> None:
        self.item = item
        self.petstore: Subject | None = None
        mistakes: list[str] = item.stash.get(MISTAKES, [])
        self.start_error = "\n".join(mistakes)
        self.problems: list[str] = []
        self.shown: deque[list[Entry]] = deque(maxlen=_SHOWN_WORLDS)
        self.began: dict[Journal, _Mark] = {}
        self.seen: dict[Journal, _Mark] = {}
        self.examples = False
        self.has_own_mock = False
        self.leaks_before = 0
        self.clears = -1  # when the numbers of the journal began anew
        self.looked = 0  # the number of the last journal entry that was looked at
        self.noted: dict[str, Warning] = {}
        self._warned: set[str] = set()
        self._uses = FIXTURE in getattr(item, "fixturenames", ())
        self.start, assumed_here = merged_marks(item)
        gaps = {**assumed, **assumed_here, **variant_of(item)}
        self.mutant = gaps.pop(MUTANT, None)
        self.noticed = self.asked = False
        if self.mutant is not None:
            self.start["mutant"] = self.mutant
        if gaps:
            self.start["gaps"] = gaps

    def require_start(self) -> None:
        """Fail in one line if the marks of the test ask for a starting state that can't be: it is no bug of ours."""
        if self.start_error:
            pytest.fail(self.start_error, pytrace=False)

    @property
    def uses_petstore(self) -> bool:
        """Whether the test has to do with the fixture: by its arguments, or by what happened."""
        if self.petstore is None:
            return False
        return self._uses or self.petstore.tenant.is_used

    @property
    def leaks(self) -> list[Leak]:
        """The requests of finished worlds that came during this test."""
        if self.petstore is None:
            return []
        return self.petstore.tenant.leaks[self.leaks_before :]

    @property
    def met_old_keys_alone(self) -> bool:
        """Whether its client, of wider scope, has the key of a test that is over: then no variant is the reason."""
        return bool(self.leaks) and not self.entries()

    def entries(self) -> list[Entry]:
        """Return what the journal still has of the present world, oldest first."""
        assert self.petstore is not None  # noqa: S101  # for the type checker: only those are asked that use it
        return self.petstore.tenant.entries

    def fresh_entries(self) -> list[list[Entry]]:
        """Return what came to the ``fresh()`` worlds of the test, or of its example: those that are over come first."""
        assert self.petstore is not None  # noqa: S101  # as above
        tenant = self.petstore.tenant
        open_ = (self.of_this_test(world.journal) for world in (*tenant.elders, *tenant.guests))
        return [entries for entries in (*self.shown, *open_) if entries]

    def begin(self) -> None:
        """Note where the worlds stand that are older than the test, as a fixture of wider scope keeps one."""
        assert self.petstore is not None  # noqa: S101  # as above
        journals = [world.journal for world in self.petstore.tenant.elders]
        self.began = {journal: (journal.clears, journal.total) for journal in journals}
        self.seen |= self.began

    def of_this_test(self, journal: Journal) -> list[Entry]:
        """Return what came to another world since the test, or its example, began."""
        return _since(journal, self.began.get(journal))

    def unseen(self, journal: Journal) -> list[Entry]:
        """Return what came to another world since it was looked at last, which is now."""
        entries = _since(journal, self.seen.get(journal))
        if entries:
            self.seen[journal] = journal.clears, entries[-1].number
        return entries

    def note(self, entries: Iterable[Entry]) -> None:
        """Note what the client did wrong in ``entries``, to be warned of."""
        self._uses = True
        for entry in entries:
            if entry.is_violation and not entry.expected and len(self.noted) <= _WARNED_REASONS:
                text = f"{entry.request_line} broke the contract{entry.where}: {entry.reason}"
                self.noted.setdefault(text, ContractWarning(text))
            if entry.operation == "getPet" and "getPet" not in self.noted:
                self.noted["getPet"] = DeprecatedOperationWarning(
                    "the client called getPet, which the interface removes on 5 December 2030 (§4.3): "
                    "use GET /pets with the status filter"
                )

    def verify(self, *, again: bool) -> None:
        """Raise for what the test must answer for; then nothing that was noted so far is warned of.

        Args:
            again: whether what was told already counts again.

        Raises:
            VerificationError: names all of it.
        """
        __tracebackhide__ = True
        if self.petstore is None:
            return
        try:
            self.petstore.tenant.verify(again=again)
        except BaseException:
            self.noted.clear()
            raise

    def warn(self) -> None:
        """Warn, at the line of the test, of what was noted."""
        noted, self.noted = self.noted, {}
        for once, warning in noted.items():
            self._issue(warning, once)

    def _issue(self, warning: Warning, once: str) -> None:
        """Issue a warning once a test; one that is an error raises each time, or Hypothesis could not shrink it."""
        path, line = _line_of(self.item)
        # The test as it is has warned of the same as it does under a mutant.
        known = once in self._warned or len(self._warned) >= _WARNED_REASONS or self.mutant is not None
        with warnings.catch_warnings(record=True) if known else nullcontext():
            warnings.warn_explicit(
                warning,
                category=type(warning),
                filename=path,
                lineno=line,
                module=getattr(getattr(self.item, "module", None), "__name__", None),
                registry={},
            )
        self._warned.add(once)


def _line_of(item: pytest.Item) -> tuple[str, int]:
    """Return the file of a test and the line of its ``def``: pytest counts from the first decorator."""
    path, start, _ = item.reportinfo()
    first = (start or 0) + 1
    begins = f"def {getattr(item, 'originalname', None) or item.name}("
    lines = range(first, first + _DECORATOR_LINES)
    found = next((line for line in lines if begins in linecache.getline(str(path), line)), first)
    return str(path), found


def raise_at(item: pytest.Item, error: BaseException) -> None:
    """Raise ``error`` as if the first line of the test did: a report then shows that line, and none of ours.

    Only code that was compiled for that file and line has a frame there, and nobody can make a traceback without one.
    """
    path, line = _line_of(item)
    code = compile("raise error", path, "exec").replace(co_name=item.name, co_firstlineno=line)
    __tracebackhide__ = True
    exec(code, {"error": error.with_traceback(None)})  # noqa: S102  # two constant words
