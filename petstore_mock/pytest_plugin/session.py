"""The tests of a pytest run: a world for each test and each Hypothesis example, and a verdict on what came to it."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

import pytest

from petstore_mock.common.refusing import require
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.pytest_plugin import variants
from petstore_mock.pytest_plugin.ledger import Summaries
from petstore_mock.pytest_plugin.report import WiderFixtures, add_journal
from petstore_mock.pytest_plugin.run import Run, end_at_author, raise_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal
    from petstore_mock.pytest_plugin.home import Home

    Wrapper = Generator[None, Any, Any]

_ONE_OPTIONS: Final = "one petstore_options for all tests, in the conftest.py above them, since they share one fake"
_ENDS: Final = (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt)  # these excuse a test


class Session:
    """The tests of a run and their fake: each hook that runs tests stands here, once."""

    def __init__(self, config: pytest.Config) -> None:
        self.home: Home | None = None  # from the first test on that asks for the fixture
        self.config = config
        self._summaries = Summaries(config)
        config.pluginmanager.register(self._summaries, "petstore-summaries")
        self._run: Run | None = None
        self._options: object = None  # the definition of petstore_options that made the fake
        self._seen: WeakKeyDictionary[Journal, tuple[int, int]] = WeakKeyDictionary()  # clears, and the newest number
        self._leak_count = 0
        self._wider: WiderFixtures = {}

    # The fake and its worlds

    def begin(self) -> None:
        """Begin a world for the present test, or for an example of it."""
        home, run = self.home, self._run
        if home is None or run is None or run.start_error:
            return
        run.fresh.clear()
        run.facts |= {f"death {home.died}"} if home.died else set()
        try:
            self._require_options(run.item)
            home.begin(run.item.nodeid, self._look_at, run.start(self._summaries.assumed))
        except PetStoreMockError as error:  # it concerns this test alone; the fixture may be in the making for all
            run.start_error = f"the marks of {run.item.nodeid}: {error}"
            return
        run.home = home
        for world in home.worlds:
            self._unseen(world.journal)  # it belongs to other tests

    def _require_options(self, item: pytest.Item) -> None:
        # pytest has no public way to ask which of several fixtures of one name a test gets.
        fixtures: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        if definitions := fixtures.get("petstore_options"):
            self._options = self._options or definitions[-1]
            require(definitions[-1] is self._options, _ONE_OPTIONS, got=definitions[-1].baseid)

    def _unseen(self, journal: Journal) -> list[Exchange]:
        """Return what came to a world since it was looked at last, which is now."""
        total = len(journal)
        clears, number = self._seen.get(journal, (-1, 0))
        if (clears, number) == (journal.clears, total):
            return []
        new = [one for one in journal.kept if one.number > number or clears != journal.clears]
        self._seen[journal] = journal.clears, new[-1].number if new else total
        return new

    def _look(self, home: Home) -> None:
        for world in home.worlds:
            self._look_at(world)

    def _look_at(self, world: World) -> None:
        """Note what came to a world since the last look; also called when a reset, or its end, is about to clear it."""
        run, new = self._run, self._unseen(world.journal)
        if run is None or run.home is None or not new:
            return
        run.note(new, with_outcomes=self._summaries.covers)
        if world is not run.home.world:
            keys = world.secrets()  # the world forgets them, and they must not show
            for exchange in new:
                exchange.keys = lambda: keys
            run.note_fresh(world.journal, new)

    # The verdict

    def _end(self, phase: Literal["setup", "call", "teardown"], run: Run, error: BaseException | None) -> None:
        """Let a test answer for what came by the end of a phase; ``error`` is what left the phase."""
        __tracebackhide__ = True
        if run.home is None:
            if error is None and phase != "teardown":  # else it is reported already
                run.require_start()
            return
        self._look(run.home)
        was_judged = phase == "call" and run.by_example  # the last example may have been thrown away by assume()
        if isinstance(error, _ENDS) or (error is None and was_judged):
            run.warnings.clear()
            run.home.excuse()
        elif phase == "setup" and error is not None:
            run.home.excuse()  # the body never ran: no fault could meet it
        elif phase != "setup":
            self._verify(run, error, again=phase == "call")

    def _verify(self, run: Run, error: BaseException | None = None, *, again: bool = True) -> None:
        """Raise for what came, and warn of the rest. After an ``error``, only collect it: that comes first."""
        __tracebackhide__ = True
        assert run.home is not None  # noqa: S101  # for the type checker
        noted, run.warnings = run.warnings, {}
        try:
            run.home.verify(again=again)
            if noted:
                run.warn(noted)
        except (PetStoreMockError, VerificationError, Warning) as found:
            if error is None:
                raise_at(run.item, found)
            run.problems += [line for line in str(found).splitlines() if line not in str(error)]

    # Hypothesis

    def _example_of(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Return a test function of Hypothesis whose every example has a world, and is verified."""
        run = self._run
        assert run is not None  # noqa: S101  # for the type checker: its setup made it

        @functools.wraps(inner)
        def example(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self._begin_example(run)
            inner(*args, **kwargs)
            self._end_example(run)

        @functools.wraps(inner)
        async def example_async(*args: object, **kwargs: object) -> None:
            __tracebackhide__ = True
            self._begin_example(run)
            await inner(*args, **kwargs)
            self._end_example(run)

        return example_async if inspect.iscoroutinefunction(inner) else example  # asyncio's plugins tell them apart

    def _begin_example(self, run: Run) -> None:
        run.by_example = True
        if run.home is not None:
            self._look(run.home)
        run.warnings.clear()  # of an example that was thrown away
        self.begin()

    def _end_example(self, run: Run) -> None:
        __tracebackhide__ = True
        run.require_start()
        if run.home is not None:
            self._look(run.home)
            self._verify(run)

    # Hooks

    @pytest.hookimpl(trylast=True)  # once all other parameters are known
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        variants.multiply(metafunc, self._summaries.assumed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        # The last test of a class or module tears its fixtures down, so it always runs.
        is_last = nextitem is None or nextitem.parent is not item.parent
        return None if is_last or not self._summaries.ledger.is_needless(item) else True

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before any fixture of the test is set up
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        self._run = run = Run(item)
        self.begin()
        if run.start_error:  # its fixtures would meet the world of another test; a mark `skip` wins
            item.setup = run.require_start  # type: ignore[method-assign]
        return (yield from self._phase("setup", item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        """Verify a test in the main thread once its body is done, so that it fails rather than errs."""
        __tracebackhide__ = True
        handle: Any = getattr(getattr(item, "obj", None), "hypothesis", None)
        inner = getattr(handle, "inner_test", None)
        # A test that names `request` may ask for the fixture by getfixturevalue().
        if inner is None or {variants.FIXTURE, "request"}.isdisjoint(getattr(item, "fixturenames", ())):
            return (yield from self._phase("call", item))
        handle.inner_test = self._example_of(inner)  # the hook that Hypothesis keeps for plugins
        try:
            return (yield from self._phase("call", item))
        finally:
            handle.inner_test = inner  # other items share the function: parameters, variants

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        return (yield from self._phase("teardown", item))

    def _phase(self, phase: Literal["setup", "call", "teardown"], item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        assert self._run is not None  # noqa: S101  # for the type checker
        try:
            result = yield
        except BaseException as error:
            if not isinstance(item, pytest.Function):
                end_at_author(error)
            self._end(phase, self._run, error)
            raise
        failures = getattr(item, "_excinfo", None)  # where a unittest.TestCase keeps them
        self._end(phase, self._run, failures[0].value if failures else None)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Wrapper:
        """Note what a fixture of wider scope sets up: it is gone when the next test begins."""
        __tracebackhide__ = True
        if fixturedef.scope == "function" or self.home is None or self._run is None:
            return (yield)
        before = self.home.state()
        result = yield
        changed = [name for name, value in self.home.state().items() if value != before[name]]
        self._wider[fixturedef.argname] = changed, self._run.item.nodeid
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Wrapper:
        """Give the report its record and, if it tells of a failure, the journal."""
        report = yield
        run = self._run
        if run is None or run.item is not item:
            return report
        leaks: list[Leak] = []
        if run.home is not None and (report.failed or report.when == "teardown"):
            self._leak_count, leaks = run.home.leaks_since(self._leak_count)
            run.leaks += leaks
        if not run.uses and not leaks:
            return report
        leaks = [leak for leak in leaks if "mutant=" not in leak.owner]  # a client may hang on against a mutant
        report.petstore = run.record(report, None if call.excinfo is None else call.excinfo.value, leaks)
        if run.mutant is not None:  # a failure is welcome
            report.outcome, report.longrepr, report.sections = "passed", None, []
            report.__dict__.pop("wasxfail", None)
            call.excinfo = None  # no debugger is to stop there
        elif report.failed:
            add_journal(report, run, self.config, self._wider)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        record = getattr(report, "petstore", None)
        if record is None or not record["variant"].startswith("mutant="):
            return None
        if report.when != "teardown":
            return "", "", ""
        return ("noticed", "n", "NOTICED") if "failed" in record["facts"] else ("unnoticed", "u", "UNNOTICED")
