"""The fixture's world: a new one for each test and each Hypothesis example, and what each must answer for."""

from __future__ import annotations

import functools
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.journal.failure_note import TITLE
from petstore_mock.pytest_plugin.run import FIXTURE, Run, raise_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from petstore_mock.core.tenant import Ending
    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.pytest_plugin.run import Subject

__all__ = ["ISOLATION", "IsolationManager", "StartCheck"]

_RUN: Final = pytest.StashKey[Run]()


class IsolationManager:
    """Keeps the session's mock, begins a world for each test, and verifies it.

    Attributes:
        run: the present test.
        observers: called with the present test and the journal entries that it has not seen yet.
        mutated: the ids of the items that ran under a mutant, of whose leaks nobody is told.
    """

    def __init__(self, assumed: Mapping[str, str]) -> None:
        self._assumed = assumed
        self._petstore: Subject | None = None
        self._opened: list[Subject] = []
        self.run: Run | None = None
        self.observers: list[Callable[[Run, list[Entry]], None]] = []
        self.mutated: set[str] = set()

    @property
    def leaks(self) -> list[Leak]:
        """The requests so far that bore the key of a finished test."""
        return [leak for one in self._opened for leak in one.tenant.leaks if leak.owner not in self.mutated]

    @contextmanager
    def open(self, petstore: Subject) -> Generator[None]:
        """Take the session's mock, which listens, into care; it is stopped when the block ends."""
        petstore.tenant.at_end = self._world_ends
        petstore.adds_notes = False  # the report has the journal
        self._opened.append(petstore)
        self._petstore = petstore
        try:
            self._begin()
            yield
        finally:
            self._petstore = None
            petstore.stop()

    def _begin(self) -> None:
        """Begin a world for the present test, or for an example of it."""
        petstore, run = self._petstore, self.run
        if petstore is None or run is None or run.start_error:
            return
        is_first, run.petstore = run.petstore is None, petstore
        run.shown.clear()
        try:
            if is_first:  # else this is a further example of it
                run.leaks_before = len(petstore.tenant.leaks)
            petstore.start()  # harmless, unless a test stopped it, or this is the child of a fork
            petstore.tenant.renew(run.item.nodeid, **run.start)
            petstore.host.clear()
            run.begin()
        except PetStoreMockError as error:  # of this one test, while the fixture may be in the making for all of them
            run.start_error = f"@pytest.mark.petstore of {run.item.nodeid}: {error}"
            run.petstore = None  # the world may be another test's still

    def _world_ends(self, world: Ending) -> None:
        """Look at what came to a world that is reset, or that ``fresh()`` gave, before it is gone.

        A test answers for the worlds of ``fresh()`` as for its own; for an older one, as a fixture of wider scope keeps
        it, as far as it was asked during the test.
        """
        run = self.run
        if run is None or run.petstore is None:
            return
        if world.journal is run.petstore.journal:
            self._look_at_own(run)
            return
        keys = world.secrets()  # the world forgets them, and they must not show
        for entry in world.journal.kept:
            entry.keys = lambda: keys
        self._show(run, run.unseen(world.journal))
        run.shown.append(run.of_this_test(world.journal))

    def _look(self, run: Run) -> None:
        """Show what came to any world of the test since the last look, to the observers, and note what to warn of."""
        self._look_at_own(run)
        if run.petstore is not None:
            tenant = run.petstore.tenant
            for world in (*tenant.elders, *tenant.guests):
                self._show(run, run.unseen(world.journal))

    def _look_at_own(self, run: Run) -> None:
        """Show the entries that came since the last look to the observers, and note what is to be warned of."""
        petstore = run.petstore
        if petstore is None:
            return
        total = petstore.journal.total  # asked first: one elsewhere learns by that of a reset
        if petstore.journal.clears != run.clears:  # another example, or the test has called reset()
            run.clears, run.looked = petstore.journal.clears, 0
        if total != run.looked:
            entries = [entry for entry in run.entries() if entry.number > run.looked]
            run.looked = entries[-1].number if entries else 0
            self._show(run, entries)

    def _show(self, run: Run, entries: list[Entry]) -> None:
        if entries:
            run.note(entries)
            for observer in self.observers:
                observer(run, entries)

    def _verify(self, run: Run, *, again: bool = True) -> None:
        """Raise for what a test, or an example, must answer for; warn of the rest.

        Args:
            run: the test.
            again: whether what was told already counts again.
        """
        __tracebackhide__ = True
        self._look(run)
        run.require_start()
        try:
            run.verify(again=again)
            run.warn()
        except (PetStoreMockError, VerificationError, Warning) as error:
            raise_at(run.item, error)

    def _verify_failed(self, run: Run, reason: object, *, again: bool = True) -> None:
        """Collect what a failed test must answer for as well: it must not hide the first reason."""
        self._look(run)
        run.has_own_mock = any(str(note).startswith(TITLE) for note in getattr(reason, "__notes__", ()))
        try:
            run.verify(again=again)
            run.warn()
        except (PetStoreMockError, VerificationError, Warning) as error:
            run.problems += [line for line in str(error).splitlines() if line not in str(reason)]

    def _excuse(self, run: Run, *, warns: bool = False) -> None:
        """Let the test fail for nothing that came so far, nor be warned of it unless ``warns``."""
        self._look(run)
        if not warns:
            run.noted.clear()
        if run.petstore is not None:
            run.petstore.tenant.excuse()

    def meet(self, item: pytest.Item) -> Run:
        """Let ``item`` be the present test, unless it is: the first to ask for the fixture may be past its setup."""
        return self.run if self.run is not None and self.run.item is item else self._meet(item)

    def _meet(self, item: pytest.Item) -> Run:
        run = self.run = item.stash[_RUN] = Run(item, self._assumed)
        if run.mutant is not None:
            self.mutated.add(item.nodeid)
        return run

    # Hooks

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin a world before any fixture of the test is set up."""
        __tracebackhide__ = True
        run = self._meet(item)
        self._begin()
        try:
            result = yield
        except (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt):
            self._excuse(run)
            raise
        except BaseException:
            self._excuse(run, warns=True)  # the body never ran: no fault could meet it
            raise
        run.require_start()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Verify the test in the main thread once its body is done, so that it fails rather than errs."""
        __tracebackhide__ = True
        try:
            with self._each_example(item):
                result = yield
        except BaseException as error:
            self.end_call(item, error)
            raise
        self.end_call(item)
        return result

    def end_call(self, item: pytest.Item, error: BaseException | None = None) -> None:
        """Let a test whose body is done answer for what came, as its outcome asks for: ``error`` left it, or none."""
        __tracebackhide__ = True
        run = item.stash[_RUN]
        if error is None and (failures := getattr(item, "_excinfo", None)):  # where a unittest.TestCase keeps them
            error = failures[0].value
        if isinstance(error, (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt)):
            self._excuse(run)
        elif error is not None:
            self._verify_failed(run, error)
        elif run.examples:
            self._excuse(run)  # verified already; the last one may have been thrown away by assume()
        else:
            self._verify(run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Verify what came while fixtures were torn down, whether or not one of them raised."""
        __tracebackhide__ = True
        run = item.stash[_RUN]
        try:
            result = yield
        except (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt):
            self._look(run)
            raise
        except BaseException as error:
            self._verify_failed(run, error, again=False)
            raise
        if not run.start_error:  # told already
            self._verify(run, again=False)
        return result

    # Hypothesis

    @contextmanager
    def _each_example(self, item: pytest.Item) -> Generator[None]:
        """Give each example of a Hypothesis test a world, by the hook that Hypothesis keeps for plugins."""
        handle = getattr(getattr(item, "obj", None), "hypothesis", None)
        inner = getattr(handle, "inner_test", None)
        if handle is None or inner is None or not {FIXTURE, "request"} & set(getattr(item, "fixturenames", ())):
            yield
            return
        handle.inner_test = self._example_of(item.stash[_RUN], inner)
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
                self._verify(run)

            return example_async

        @functools.wraps(inner)
        def example(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self._begin_example(run)
            inner(*args, **kwargs)
            self._verify(run)

        return example

    def _begin_example(self, run: Run) -> None:
        run.examples = True
        self._look(run)
        run.noted.clear()  # of an example that was thrown away
        self._begin()


class StartCheck:
    """Lets a test fail that asks for a starting state that can't be: once it is not skipped, and before its fixtures.

    The fixtures would meet the world of another test.
    """

    def __init__(self, isolation: IsolationManager) -> None:
        self._isolation = isolation

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Fail in one line."""
        run = self._isolation.run
        if run is not None and run.item is item:
            run.require_start()


ISOLATION: Final = pytest.StashKey[IsolationManager]()
