"""The fixture's world: a new one for each test and each Hypothesis example, and what each must answer for."""

from __future__ import annotations

import functools
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.pytest_plugin.run import FIXTURE, Run, raise_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from petstore_mock.core.world import World
    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["KEEPER", "Keeper"]

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
        petstore.tenant.at_fresh_end = self._fresh_ended
        self._leaks.append(petstore.tenant.worlds.leaks)
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
            run.leaks_before = len(petstore.tenant.worlds.leaks)
        run.petstore = petstore
        run.shown.clear()
        try:
            petstore.start()  # harmless, unless a test stopped it, or this is the child of a fork
            petstore.tenant.renew(run.item.nodeid, **run.start)
            petstore.host.clear()
        except PetStoreMockError as error:  # of this one test, while the fixture may be in the making for all of them
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
        except (PetStoreMockError, VerificationError, Warning) as error:
            raise_at(run.item, error)

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
        run = item.stash[_RUN]
        try:
            run.warn(self._look(run))
        except Warning as error:
            raise_at(item, error)

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
