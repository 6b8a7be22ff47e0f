"""The hooks of a pytest run. Each test and each Hypothesis example gets a world, whose requests are verified."""

from __future__ import annotations

import functools
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

from petstore_mock.common.refusing import require
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.pytest_plugin import variants
from petstore_mock.pytest_plugin.home import state_of
from petstore_mock.pytest_plugin.ledger import Summaries
from petstore_mock.pytest_plugin.report import add_journal
from petstore_mock.pytest_plugin.run import Run, WiderFixtures, end_at_author, raise_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.pytest_plugin.home import Home

    Wrapper = Generator[None, Any, Any]

_ONE_OPTIONS: Final = "one petstore_options for all tests, in the conftest.py above them, because they share one fake"
# A test that ends with one of these is not verified.
_ENDS: Final = (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt)


class Session:
    """The hooks that run the tests of a session, and the session's fake."""

    _run: Run  # of the current test

    def __init__(self, config: pytest.Config) -> None:
        self.home: Home | None = None  # until a test requests the fixture
        self.fake: Home | None = None  # the latest, which outlives the fixture
        self.config = config
        self._summaries = Summaries(config)
        config.pluginmanager.register(self._summaries, "petstore-summaries")
        self._options: object = None  # the definition of petstore_options that the fake uses
        self._leak_count = 0
        self._wider: WiderFixtures = {}

    # The fake and its worlds

    def end_former(self) -> None:
        """Stop the fake of an earlier set-up. The next one has other options, and perhaps the same port."""
        if self.fake is None:
            return
        run = self._run
        if run.home is not None:  # the current test began before pytest set the fixture up again
            self._look(run.home)
            run.home = None
        self.fake.stop()

    def begin(self) -> None:
        """Begin a world for the current test or example."""
        home, run = self.home, self._run
        if home is None or run.start_error:
            return
        if run.home is not None:  # an example: its predecessor may have been discarded
            self._look(run.home)
            run.warnings.clear()
        run.fresh.clear()
        run.facts |= {f"death {home.died}"} if home.died else set()
        try:
            self._require_options(run.item)
            home.begin(run.item.nodeid, self._look_at, run.start(self._summaries.assumed))
        except PetStoreMockError as error:  # only this test must fail, although all tests share the fixture
            run.start_error = f"the options and marks of {run.item.nodeid}: {error}"
            return
        self._look(home)  # at the first world of a test, this ignores the requests of earlier tests
        run.home = home

    def _require_options(self, item: pytest.Item) -> None:
        # pytest has no public function for the fixture definition that a test gets.
        fixtures: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        if definitions := fixtures.get("petstore_options"):
            self._options = self._options or definitions[-1]
            require(definitions[-1] is self._options, _ONE_OPTIONS, folder=definitions[-1].baseid)

    def _look(self, home: Home) -> None:
        for world in home.worlds:
            self._look_at(world)

    def _look_at(self, world: World) -> None:
        """Note the new requests of a world. The fake calls this as well, before it clears a world."""
        run, new = self._run, [one for one in world.journal.kept if not one.noted]
        for one in new:
            one.noted = True
        if run.home is None or not new:
            return
        run.note(new, with_outcomes=self._summaries.covers)
        if world is not run.home.world:
            keys = world.secrets()  # the world will drop its keys, but reports must still mask them
            for exchange in new:
                exchange.keys = lambda: keys
            run.note_fresh(world.journal, new)

    # Verification

    def _end(self, phase: Literal["setup", "call", "teardown"], run: Run, error: BaseException | None) -> None:
        """Verify a test at the end of a phase. ``error`` is the exception that ended the phase."""
        __tracebackhide__ = True
        if run.home is None:
            # In the other cases, pytest has reported a failure already.
            if error is None and phase != "teardown":
                run.require_start()
            return
        self._look(run.home)
        # Each example is verified on its own, and `assume()` may have discarded the last one.
        was_verified = phase == "call" and run.by_example
        is_excused = isinstance(error, _ENDS) or (error is None and was_verified)
        if is_excused:
            run.warnings.clear()
        if is_excused or (phase == "setup" and error is not None):  # if the body never ran, no fault could fire
            with suppress(VerificationError):
                run.home.petstore.verify()
        elif phase != "setup":
            self._verify(run, run.home, error, again=phase == "call")

    def _verify(self, run: Run, home: Home, error: BaseException | None = None, *, again: bool = True) -> None:
        """Raise an error for problems, else issue the warnings. After an ``error``, only collect the problems."""
        __tracebackhide__ = True
        noted, run.warnings = run.warnings, {}
        try:
            home.petstore.verify(again=again)
            if noted:
                run.warn(noted)
        except (PetStoreMockError, VerificationError, Warning) as found:
            if error is None:
                raise_at(run.item, found)
            run.problems += [line for line in str(found).splitlines() if line not in str(error)]

    # Hypothesis

    def _example_of(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Return a test function that gives each Hypothesis example a world, and verifies it."""
        run = self._run
        run.by_example = True

        @functools.wraps(inner)
        def example(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self.begin()
            inner(*args, **kwargs)
            self._end_example(run)

        @functools.wraps(inner)
        async def example_async(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self.begin()
            await inner(*args, **kwargs)
            self._end_example(run)

        # The plugins for asyncio await a test only if it is a coroutine function.
        return example_async if inspect.iscoroutinefunction(inner) else example

    def _end_example(self, run: Run) -> None:
        __tracebackhide__ = True
        run.require_start()
        if run.home is not None:
            self._look(run.home)
            self._verify(run, run.home)

    # Hooks

    @pytest.hookimpl(trylast=True)  # after all other parameters, since the variant must be the last
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        variants.multiply(metafunc, self._summaries.assumed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        # The last test of a class or module always runs, because it tears down the fixtures.
        is_last = nextitem is None or nextitem.parent is not item.parent
        return None if is_last or not self._summaries.ledger.is_needless(item) else True

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before any fixture of the test is set up
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        self._run = run = Run(item, self._wider)
        self.begin()
        if run.start_error:  # fixtures would use the world of another test; `skip` still works
            item.setup = run.require_start  # type: ignore[method-assign]
        return (yield from self._phase("setup", item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        """Verify a test right after its body, so that a problem is a failure and not an error."""
        __tracebackhide__ = True
        handle: Any = getattr(getattr(item, "obj", None), "hypothesis", None)
        inner = getattr(handle, "inner_test", None)
        # A test that uses `request` may request the fixture by getfixturevalue().
        if inner is None or {variants.FIXTURE, "request"}.isdisjoint(getattr(item, "fixturenames", ())):
            return (yield from self._phase("call", item))
        handle.inner_test = self._example_of(inner)  # Hypothesis has this attribute for plugins
        try:
            return (yield from self._phase("call", item))
        finally:
            handle.inner_test = inner  # tests with other parameters or variants share the function

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        return (yield from self._phase("teardown", item))

    def _phase(self, phase: Literal["setup", "call", "teardown"], item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        try:
            result = yield
        except BaseException as error:
            if not isinstance(item, pytest.Function):
                end_at_author(error)
            self._end(phase, self._run, error)
            raise
        # The exceptions of a unittest.TestCase, which do not propagate.
        failures = getattr(item, "_excinfo", None)
        self._end(phase, self._run, failures[0].value if failures else None)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Wrapper:
        """Note the state that a fixture of wider scope sets up. The next test will not have it."""
        __tracebackhide__ = True
        if fixturedef.scope == "function" or self.home is None:
            return (yield)
        before = state_of(self.home.petstore)
        result = yield
        changed = [name for name, value in state_of(self.home.petstore).items() if value != before[name]]
        self._wider[fixturedef.argname] = changed, self._run.item
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Wrapper:
        """Add the record to the report, and the journal to a failure."""
        report = yield
        run = getattr(self, "_run", None)
        if run is None or run.item is not item:
            return report
        leaks: list[Leak] = []
        if run.home is not None and (report.failed or report.when == "teardown"):
            self._leak_count, leaks = run.home.leaks_since(self._leak_count)
            run.leaks += leaks
        if not run.uses and not leaks:
            return report
        # A mutant may make a client send requests after its test.
        leaks = [leak for leak in leaks if "mutant=" not in leak["world"]]
        report.petstore = run.record(report, None if call.excinfo is None else call.excinfo.value, leaks)
        if run.mutant is not None:  # a failure means that the test noticed the mutant
            report.outcome, report.longrepr, report.sections = "passed", None, []
            report.__dict__.pop("wasxfail", None)
            call.excinfo = None  # a debugger must not stop at this failure
        elif report.failed:
            add_journal(report, run, self.config)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        record = getattr(report, "petstore", None)
        if record is None or not record["variant"].startswith("mutant="):
            return None
        if report.when != "teardown":
            return "", "", ""
        return ("noticed", "n", "NOTICED") if "failed" in record["facts"] else ("unnoticed", "u", "UNNOTICED")
