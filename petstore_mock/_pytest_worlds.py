"""The fixture's world: a new one for each test and each Hypothesis example, and what each must answer for."""

from __future__ import annotations

import functools
import inspect
import linecache
import warnings
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.errors import ContractWarning, DeprecatedOperationWarning, PetstoreMockError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from petstore_mock.entry import Entry
    from petstore_mock.mock import PetStoreMock
    from petstore_mock.world import World
    from petstore_mock.worlds import Leak

__all__ = [
    "FIXTURE",
    "KEEPER",
    "VARIANT",
    "Keeper",
    "Run",
    "assumptions_of",
    "name_without_variant",
    "variant_of",
    "variant_text",
]

FIXTURE: Final = "petstore"
VARIANT: Final = "_petstore_variant"  # the parameter that exploration adds to a test
_DECORATOR_LINES: Final = 50  # a table of parameters may be long; it need not be found
_SHOWN_WORLDS: Final = 10  # of fresh(): a test may go through thousands
_WARNED_REASONS: Final = 20  # of one test: a property test can break one rule in a hundred ways


def merged_marks(item: pytest.Item, name: str) -> dict[str, Any]:
    """Return the keywords of all marks called ``name``; the one nearest to the test wins."""
    merged: dict[str, Any] = {}
    for mark in item.iter_markers(name):
        merged = {**mark.kwargs, **merged}
    return merged


def variant_of(item: pytest.Item) -> dict[str, str]:
    """Return the gap that is varied in this item, with its alternative; empty in a test as it is."""
    callspec = getattr(item, "callspec", None)
    varied: dict[str, str] | None = None if callspec is None else callspec.params.get(VARIANT)
    return varied or {}


def variant_text(variant: Mapping[str, str]) -> str:
    """Return a variant as it stands in the id of its item."""
    return ",".join(f"{gap}={alternative}" for gap, alternative in variant.items())


def name_without_variant(item: pytest.Item) -> str:
    """Return the id that the test would have if it were not multiplied."""
    text = variant_text(variant_of(item))
    if not text:
        return item.nodeid
    return item.nodeid.replace(f"-{text}]", "]").replace(f"[{text}]", "").replace(f"[{text}-", "[")


def assumptions_of(item: pytest.Item) -> dict[str, str]:
    """Return the leanings that the marks of a test declare."""
    return merged_marks(item, "petstore_assumes")


class Run:
    """One test, from its setup to its teardown.

    Attributes:
        item: the test.
        start: what its starting state has on top of the session's: keywords of ``PetStoreMock._renew``.
        start_error: why its starting state can't be, or empty.
        problems: what it must answer for beside the reason for which it failed.
        ended: entries of its ``fresh()`` worlds that are over, and that nobody has looked at yet.
        shown: entries of each of its latest ``fresh()`` worlds that are over, for its report.
        examples: whether it was judged example by example.
        leaks_before: how many requests of finished worlds had come before it.
    """

    __slots__ = (
        "_asked",
        "_registry",
        "_warned",
        "clears",
        "ended",
        "examples",
        "item",
        "leaks_before",
        "looked",
        "petstore",
        "problems",
        "shown",
        "start",
        "start_error",
    )

    def __init__(self, item: pytest.Item, assumed: Mapping[str, str]) -> None:
        self.item = item
        self.petstore: PetStoreMock | None = None
        self.start_error = ""
        self.problems: list[str] = []
        self.ended: list[Entry] = []
        self.shown: deque[list[Entry]] = deque(maxlen=_SHOWN_WORLDS)
        self.examples = False
        self.leaks_before = 0
        self.clears = -1  # when the numbers of the journal began anew
        self.looked = 0  # the number of the last journal entry that was looked at
        self._warned: set[str] = set()
        self._registry: dict[Any, Any] = {}
        self._asked = FIXTURE in getattr(item, "fixturenames", ())
        self.start = merged_marks(item, "petstore")
        gaps = {**assumed, **assumptions_of(item), **variant_of(item)}
        if gaps:
            self.start["gaps"] = gaps

    def require_start(self) -> None:
        """Fail in one line if the marks of the test ask for a starting state that can't be: it is no bug of ours."""
        if self.start_error:
            pytest.fail(f"@pytest.mark.petstore of {self.item.nodeid}: {self.start_error}", pytrace=False)

    @property
    def uses_petstore(self) -> bool:
        """Whether the test has to do with the fixture: by its arguments, or by what happened."""
        if self.petstore is None:
            return False
        return self._asked or bool(self.petstore.journal.total) or any(self.petstore._world.plan)  # noqa: SLF001

    @property
    def leaks(self) -> list[Leak]:
        """The requests of finished worlds that came during this test."""
        if self.petstore is None:
            return []
        return self.petstore._worlds.leaks[self.leaks_before :]  # noqa: SLF001

    def entries(self) -> list[Entry]:
        """Return what the journal still has of the present world, oldest first."""
        assert self.petstore is not None  # noqa: S101  # for the type checker: only those are asked that use it
        return self.petstore.journal.kept  # iterating raises once the oldest are gone

    def fresh_entries(self) -> list[list[Entry]]:
        """Return what came to the ``fresh()`` worlds of the test, or of its example: those that are over come first."""
        assert self.petstore is not None  # noqa: S101  # as above
        open_ = (world.journal.kept for world in self.petstore._worlds.guests(self.item.nodeid))  # noqa: SLF001
        return [entries for entries in (*self.shown, *open_) if entries]

    def warn(self, entries: Iterable[Entry]) -> None:
        """Warn, at the line of the test, of what the client did wrong."""
        for entry in entries:
            if entry.is_violation and not entry.expected:
                text = f"{entry.request_line} broke the contract{entry.where}: {entry.reason}"
                self._issue(ContractWarning(text), text)
            if entry.operation == "getPet":
                self._issue(
                    DeprecatedOperationWarning(
                        "the client called getPet, which the interface removes on 5 December 2030 (§4.3): "
                        "use GET /pets with the status filter"
                    ),
                    "getPet",
                )

    def _issue(self, warning: Warning, once: str) -> None:
        """Issue a warning once a test; one that is an error raises each time, or Hypothesis could not shrink it."""
        path, line = _line_of(self.item)
        known = once in self._warned or len(self._warned) >= _WARNED_REASONS
        with warnings.catch_warnings(record=True) if known else _nothing():
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


def _raise_at(item: pytest.Item, error: BaseException) -> None:
    """Raise ``error`` as if the first line of the test did: a report then shows that line, and none of ours."""
    path, line = _line_of(item)
    code = compile("raise error", path, "exec").replace(co_name=item.name, co_firstlineno=line)
    __tracebackhide__ = True
    exec(code, {"error": error.with_traceback(None)})  # noqa: S102  # two constant words


@contextmanager
def _nothing() -> Generator[None]:
    yield


_RUN: Final = pytest.StashKey[Run]()


class Keeper:
    """Keeps the session's mock, begins a world for each test, and judges it.

    Attributes:
        run: the present test.
        observers: called with the present test and the journal entries that it has not seen yet.
    """

    def __init__(self, assumed: Mapping[str, str]) -> None:
        self._assumed = assumed
        self._petstore: PetStoreMock | None = None
        self._leaks: list[list[Leak]] = []
        self.run: Run | None = None
        self.observers: list[Callable[[Run, list[Entry]], None]] = []

    @property
    def leaks(self) -> list[Leak]:
        """The requests so far that bore the key of a finished test."""
        return [leak for leaks in self._leaks for leak in leaks]

    @contextmanager
    def open(self, petstore: PetStoreMock) -> Generator[PetStoreMock]:
        """Take the session's mock, which listens, into care; it is stopped when the block ends."""
        petstore._at_fresh_end = self._fresh_ended  # noqa: SLF001
        self._leaks.append(petstore._worlds.leaks)  # noqa: SLF001
        self._petstore = petstore
        try:
            self._begin()
            yield petstore
        finally:
            self._petstore = None
            petstore.stop()

    def _begin(self) -> None:
        """Begin a world for the present test, or for an example of it."""
        petstore, run = self._petstore, self.run
        if petstore is None or run is None:
            return
        if run.petstore is None:  # else this is a further example of it
            run.leaks_before = len(petstore._worlds.leaks)  # noqa: SLF001
        run.petstore = petstore
        run.shown.clear()
        try:
            petstore.start()  # harmless, unless a test stopped it, or this is the child of a fork
            petstore._renew(run.item.nodeid, **run.start)  # noqa: SLF001
        except PetstoreMockError as error:  # of this one test, while the fixture may be in the making for all of them
            run.start_error = str(error)
            run.petstore = None  # the world may be another test's still

    def _fresh_ended(self, world: World) -> None:
        """Keep what came to a world that ``fresh()`` gave, for its test to answer for as for its own."""
        run = self.run
        if run is not None and run.item.nodeid == world.owner:
            keys = tuple(world.keys)  # the world forgets them, and they must not show
            entries = world.journal.kept
            for entry in entries:
                entry.keys = lambda: keys
            run.ended += entries
            run.shown.append(entries)

    def _look(self, run: Run) -> list[Entry]:
        """Return the entries that came since the last look, and show them to the observers."""
        petstore = run.petstore
        if petstore is None:
            return []
        entries, run.ended = run.ended, []
        if petstore.journal.clears != run.clears:  # another example, or the test has called reset()
            run.clears, run.looked = petstore.journal.clears, 0
        if petstore.journal.total != run.looked:
            own = [entry for entry in run.entries() if entry.number > run.looked]
            run.looked = own[-1].number if own else 0
            entries += own
        if entries:
            for observer in self.observers:
                observer(run, entries)
        return entries

    def _judge(self, run: Run) -> None:
        """Raise for what a test, or an example, must answer for; warn of the rest."""
        __tracebackhide__ = True
        entries = self._look(run)
        run.require_start()
        try:
            if run.petstore is not None:
                run.petstore.verify()
            run.warn(entries)
        except (PetstoreMockError, VerificationError, Warning) as error:
            _raise_at(run.item, error)

    def _judge_failed(self, run: Run, reason: object) -> None:
        """Collect what a failed test must answer for as well: it must not hide the first reason."""
        entries = self._look(run)
        try:
            if run.petstore is not None:
                run.petstore.verify()
            run.warn(entries)
        except (VerificationError, Warning) as error:
            run.problems += [line for line in str(error).splitlines() if line not in str(reason)]

    def meet(self, item: pytest.Item) -> Run:
        """Let ``item`` be the present test, unless it is: the first to ask for the fixture may be past its setup."""
        return self.run if self.run is not None and self.run.item is item else self._meet(item)

    def _meet(self, item: pytest.Item) -> Run:
        run = self.run = item.stash[_RUN] = Run(item, self._assumed)
        return run

    # Hooks

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin a world before any fixture of the test is set up."""
        __tracebackhide__ = True
        run = self._meet(item)
        self._begin()
        result = yield
        run.require_start()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judge the test in the main thread once its body is done, so that it fails rather than errs."""
        __tracebackhide__ = True
        run = item.stash[_RUN]
        handle = getattr(getattr(item, "obj", None), "hypothesis", None)
        if handle is None:
            return (yield from self._judged(run))
        with self._each_example(run, handle):
            return (yield from self._judged(run))

    def _judged(self, run: Run) -> Generator[None, object, object]:
        """Judge a test by its outcome, which pytest sends or throws in."""
        __tracebackhide__ = True
        try:
            result = yield
        except (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt):
            self._look(run)
            raise
        except BaseException as error:
            self._judge_failed(run, error)
            raise
        if failures := getattr(run.item, "_excinfo", None):  # where a unittest.TestCase keeps its failures
            self._judge_failed(run, failures[0].value)
        elif run.examples:
            self._look(run)  # judged already; the last one may have been thrown away by assume()
        else:
            self._judge(run)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Warn of what the client did wrong while fixtures were torn down."""
        __tracebackhide__ = True
        run = item.stash[_RUN]
        run.warn(self._look(run))

    # Hypothesis

    @contextmanager
    def _each_example(self, run: Run, handle: Any) -> Generator[None]:  # noqa: ANN401  # Hypothesis has no type for it
        """Give each example of a Hypothesis test a world, by the hook that Hypothesis keeps for plugins."""
        inner = getattr(handle, "inner_test", None)
        if inner is None or not {FIXTURE, "request"} & set(getattr(run.item, "fixturenames", ())):
            yield
            return
        handle.inner_test = self._example_of(run, inner)
        try:
            yield
        finally:
            handle.inner_test = inner  # the function is shared with other items: parameters, variants

    def _example_of(self, run: Run, inner: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(inner):  # pytest-asyncio and anyio tell the two apart

            @functools.wraps(inner)
            async def example_async(*args: object, **kwargs: object) -> None:
                __tracebackhide__ = True
                self._begin_example(run)
                await inner(*args, **kwargs)
                self._judge(run)

            return example_async

        @functools.wraps(inner)
        def example(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self._begin_example(run)
            inner(*args, **kwargs)
            self._judge(run)

        return example

    def _begin_example(self, run: Run) -> None:
        run.examples = True
        self._look(run)
        self._begin()


KEEPER: Final = pytest.StashKey[Keeper]()
