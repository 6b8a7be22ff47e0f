"""A session whose tests use the fixture: each test and each Hypothesis example gets a world, and is verified.

The hooks of this module serve reports and variants. ``Hooks`` in the plugin's first module calls the session at the
begin and the end of each phase of a test.
"""

from __future__ import annotations

import functools
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.refusing import require
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.pytest_plugin import FIXTURE, settings, variants
from petstore_mock.pytest_plugin.replays import Replays
from petstore_mock.pytest_plugin.report import add_journal, describe
from petstore_mock.pytest_plugin.run import Run
from petstore_mock.pytest_plugin.terminal import Summaries, runs_bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.common.values import JsonObject
    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.pytest_plugin import Phase, Wrapper
    from petstore_mock.pytest_plugin.home import Home

_ONE_OPTIONS: Final = "one petstore_options for all tests, in the conftest.py above them, because they share one fake"
# A test that ends with one of these is not verified.
_ENDS: Final = (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt)


class Session:
    """The tests of a session, and the session's fake."""

    def __init__(self, config: pytest.Config, item: pytest.Item | None) -> None:
        """``item`` is the current test, if the session begins in the middle of one."""
        self.home: Home | None = None  # while the fixture is set up
        self.summaries = Summaries(config)
        self._fake: Home | None = None  # the latest, which outlives the fixture
        self._config = config
        self._deprecations = settings.choice(config, "deprecations")
        self._options: object = None  # the definition of petstore_options that the fake uses
        self._leak_count = 0
        self._under_mutants: set[str] = set()  # ids of the tests that ran against a mutant
        self._issued: set[tuple[str, str]] = set()
        self._replays = Replays()
        self._original_body: object = None  # of a Hypothesis test, while a wrapper replaces it
        self._run: Run | None = None if item is None else Run(item, self._issued)

    # The fake and its worlds

    def start(self, petstore_options: object) -> PetStoreMock:
        """Start the fake for the value of ``petstore_options``, in the middle of the first test that requests it."""
        self._end_former()
        self.home = self._fake = home = settings.start_fake(self._config, petstore_options)
        # After the last test, whose teardown still verifies its world.
        self._config.add_cleanup(home.stop)
        self._begin()
        return home.petstore

    def _end_former(self) -> None:
        """Stop the fake of an earlier set-up. The next one has other options, and perhaps the same port."""
        if self._fake is None:
            return
        run = self._run
        # The current test began before pytest set the fixture up again.
        if run is not None and run.home is not None:
            self._look(run, run.home)
            run.home = None
        self._fake.stop()

    def _begin(self) -> None:
        """Begin a world for the current test or example."""
        home = self.home
        run = self._run
        if home is None or run is None or run.start_error:
            return
        # An example: its predecessor may have been discarded.
        if run.home is not None:
            self._look(run, run.home)
            run.warnings.clear()
        run.fresh.clear()
        if home.died:
            run.facts.note("deaths", home.died)
        try:
            self._require_options(run.item)
            home.begin(run.item.nodeid, functools.partial(self._look_at, run), run.start(self.summaries.assumed))
        except PetStoreMockError as error:
            # Only this test must fail, although all tests share the fixture.
            run.start_error = f"the options and marks of {run.item.nodeid}: {error}"
            return
        # At the first world of a test, this ignores the requests of earlier tests.
        self._look(run, home)
        run.home = home

    def _require_options(self, item: pytest.Item) -> None:
        # pytest has no public function for the fixture definition that a test gets.
        fixtures: JsonObject = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        definitions = fixtures.get("petstore_options")
        if not definitions:
            return
        used = definitions[-1]
        if self._options is None:
            self._options = used
        require(used is self._options, _ONE_OPTIONS, folder=used.baseid)

    def _look(self, run: Run, home: Home) -> None:
        for world in home.worlds:
            self._look_at(run, world)

    def _look_at(self, run: Run, world: World) -> None:
        """Note the new requests of a world. The fake calls this as well, before it clears a world."""
        new = [exchange for exchange in world.journal.kept if not exchange.noted]
        for exchange in new:
            exchange.noted = True
        if run.home is None or not new:
            return
        run.note(new, with_outcomes=self.summaries.covers, with_deprecations=self._deprecations == "warn")
        if world is not run.home.world:
            # The world will drop its keys, but reports must still mask them.
            keys = world.secrets()
            for exchange in new:
                exchange.keys = lambda: keys
            run.note_fresh(world.journal, new)

    # The phases of a test

    def enter(self, item: pytest.Item) -> None:
        """Begin a test."""
        # The play before this one may have replaced it.
        vars(item).pop("setup", None)
        self._run = run = Run(item, self._issued, self._replays.current)
        if run.mutant is not None:
            self._under_mutants.add(item.nodeid)
        self._begin()
        # Fixtures would use the world of another test. A mark `skip` still works.
        if run.start_error:
            item.setup = run.require_start  # type: ignore[method-assign]

    def enter_body(self, item: pytest.Item) -> None:
        """Begin the body of a test. A Hypothesis test gets a world for each example."""
        run = self._run
        if run is None:
            return
        handle: Any = getattr(getattr(item, "obj", None), "hypothesis", None)
        inner = getattr(handle, "inner_test", None)
        # A test that uses `request` may request the fixture by getfixturevalue().
        may_use = not {FIXTURE, "request"}.isdisjoint(getattr(item, "fixturenames", ()))
        if inner is not None and may_use:
            # Hypothesis has this attribute for plugins.
            self._original_body = inner
            handle.inner_test = self._example_of(inner, run)

    def leave(self, phase: Phase, item: pytest.Item, error: BaseException | None) -> None:
        """End a phase of a test, and verify the test. ``error`` is the exception that ended the phase."""
        __tracebackhide__ = True
        if self._original_body is not None:
            # Tests with other parameters or variants share the function.
            handle: Any = getattr(item, "obj", None)
            handle.hypothesis.inner_test = self._original_body
            self._original_body = None
        # The exceptions of a unittest.TestCase, which do not propagate.
        failures = getattr(item, "_excinfo", None)
        if error is None and failures:
            error = failures[0].value
        run = self._run
        if run is None:
            return
        if run.home is not None:
            self._look(run, run.home)
            self._end(phase, run, run.home, error)
        elif error is None and phase != "teardown":
            # With an error, and at the teardown, pytest has reported the failure already.
            run.require_start()

    def _end(self, phase: Phase, run: Run, home: Home, error: BaseException | None) -> None:
        __tracebackhide__ = True
        if self._is_excused(phase, run, error):
            run.warnings.clear()
        elif phase != "setup":
            self._verify(run, home, error, again=phase == "call")
            return
        elif error is None:
            return
        # If a fixture failed, no fault could fire. This marks the problems as reported, so that the teardown does not
        # raise them.
        with suppress(VerificationError):
            home.petstore.verify()

    def _is_excused(self, phase: Phase, run: Run, error: BaseException | None) -> bool:
        """Return whether the end of a phase needs no verification."""
        # With --setup-only, no test has a body. So no fault can fire, and no test can fail.
        if isinstance(error, _ENDS) or not runs_bodies(self._config):
            return True
        # Each example is verified on its own, and `assume()` may have discarded the last one.
        return error is None and phase == "call" and run.by_example

    def _verify(self, run: Run, home: Home, error: BaseException | None = None, *, again: bool = True) -> None:
        """Raise an error for problems, else issue the warnings. After an ``error``, only collect the problems."""
        __tracebackhide__ = True
        noted = run.warnings
        run.warnings = {}
        try:
            home.petstore.verify(again=again)
            run.warn(noted)
        except (PetStoreMockError, VerificationError, Warning) as problem:
            if error is None:
                run.verdict = problem
                raise
            known = str(error)
            run.problems += [line for line in str(problem).splitlines() if line not in known]

    # Hypothesis

    def _example_of(self, inner: Callable[..., Any], run: Run) -> Callable[..., object]:
        """Return a test function that gives each Hypothesis example a world, and verifies it."""
        run.by_example = True

        @functools.wraps(inner)
        def example(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self._begin()
            inner(*args, **kwargs)
            self._end_example(run)

        @functools.wraps(inner)
        async def example_async(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self._begin()
            await inner(*args, **kwargs)
            self._end_example(run)

        # The plugins for asyncio await a test only if it is a coroutine function.
        if inspect.iscoroutinefunction(inner):
            return example_async
        return example

    def _end_example(self, run: Run) -> None:
        __tracebackhide__ = True
        run.require_start()
        if run.home is not None:
            self._look(run, run.home)
            self._verify(run, run.home)

    # Variants and reports

    @pytest.hookimpl(trylast=True)  # after all other parameters, since the variant must be the last
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        variants.multiply(metafunc, self.summaries.assumed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        if self._replays.current is not None:
            self._replays.replay(item, nextitem)
            return True
        # The last test of a class or module always runs, because it tears down the fixtures.
        is_last = nextitem is None or nextitem.parent is not item.parent
        is_needless = not is_last and self.summaries.ledger.is_needless(item)
        if is_needless:
            return True
        if variants.variant_of(item).kind == "as_is":
            return None
        self._replays.play(item, nextitem)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Wrapper:
        """Add the record to the report, and the journal to a failure."""
        report = yield
        run = self._run
        if run is None or run.item is not item:
            return report
        error = None if call.excinfo is None else call.excinfo.value
        if self._replays.current is not None:
            run.record(report, error, [])
            self._replays.has_failed = run.facts.failed
            _hide(report, call)
            return report
        leaks = self._new_leaks(run, report)
        if run.uses or leaks:
            # A mutant may make a client send requests after its test.
            of_tests = [leak for leak in leaks if leak["world"] not in self._under_mutants]
            report.petstore = run.record(report, error, of_tests)
            self._show(report, run, call)
        return report

    def _show(self, report: pytest.TestReport, run: Run, call: pytest.CallInfo[None]) -> None:
        """Add the journal to the report of a failure. A failed verification needs no traceback."""
        if run.mutant is not None:
            # A failure means that the test noticed the mutant.
            _hide(report, call)
        elif report.failed:
            if call.excinfo is not None and call.excinfo.value is run.verdict:
                report.longrepr = describe(call.excinfo.value, run.item)
            add_journal(report, run, self._config)

    def _new_leaks(self, run: Run, report: pytest.TestReport) -> list[Leak]:
        """Return the requests of finished tests that arrived since the last report."""
        is_due = report.failed or report.when == "teardown"
        if run.home is None or not is_due:
            return []
        self._leak_count, leaks = run.home.leaks_since(self._leak_count)
        run.leaks += leaks
        return leaks

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        record: Mapping[str, Any] | None = getattr(report, "petstore", None)
        if record is None or variants.Variant(*record["variant"]).kind != "mutant":
            return None
        if report.when != "teardown":
            return "", "", ""
        if record["facts"]["flaky"]:
            return "flaky", "f", "FLAKY"
        if record["facts"]["failed"]:
            return "noticed", "n", "NOTICED"
        return "unnoticed", "u", "UNNOTICED"


def _hide(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Let a failure look like a pass. A debugger must not stop at it."""
    report.outcome = "passed"
    report.longrepr = None
    report.sections = []
    report.__dict__.pop("wasxfail", None)
    call.excinfo = None
