"""The tests of a pytest run: a world for each test and each Hypothesis example, and a verdict on what came to it."""

from __future__ import annotations

import functools
import inspect
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pytest

from petstore_mock.common.values import write_text
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.journal.text import TITLE
from petstore_mock.pytest_plugin import settings, summaries, variants
from petstore_mock.pytest_plugin.ledger import Ledger, record_at
from petstore_mock.pytest_plugin.report import WiderFixtures, add_journal
from petstore_mock.pytest_plugin.run import MISTAKES, Run, raise_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal
    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.pytest_plugin.ledger import Record
    from petstore_mock.pytest_plugin.summaries import Summary

_ENDS: Final = (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt)  # these excuse a test
_VERDICTS: Final = (PetStoreMockError, VerificationError, Warning)


class Session:
    """The tests of a run and their fake: each hook stands here once.

    Attributes:
        home: the session's fake, from the first test that asks for it.
        ledger: what the reports carried, on the controller of xdist as well.
    """

    def __init__(self, config: pytest.Config) -> None:
        settings.check_options(config)
        self.home: Home | None = None
        self.ledger = Ledger()
        self._config = config
        self._leak_mode = settings.leak_mode(config)
        self._assumed = settings.assumed_gaps(config)
        self._covers = any(config.getoption(f"petstore_coverage{name}") for name in ("", "_fail_under", "_json"))
        self._run: Run | None = None
        self._seen: WeakKeyDictionary[Journal, tuple[int, int]] = WeakKeyDictionary()  # clears, and the newest number
        self._leak_count = 0
        self._mutated: set[str] = set()  # ids of tests that ran against a mutant: their leaks do not count
        self._wider: WiderFixtures = {}
        self._summaries: list[Summary] = []
        self._problems: list[str] = []

    # The fake and its worlds

    @contextmanager
    def keep(self, home: Home) -> Generator[None]:
        """Give the tests of a block worlds of a fake."""
        self.home = home
        try:
            self._begin()
            yield
        finally:
            self.home = None
            home.stop()

    def _begin(self) -> None:
        """Begin a world for the present test, or for an example of it."""
        home, run = self.home, self._run
        if home is None or run is None or run.start_error:
            return
        run.fresh.clear()
        run.listener = run.listener or home.end_of_listener
        try:
            home.begin(run.item.nodeid, self._world_ends, run.start())
        except PetStoreMockError as error:  # it concerns this test alone; the fixture may be in the making for all
            run.start_error = f"@pytest.mark.petstore of {run.item.nodeid}: {error}"
            return
        if run.home is None:
            self._leaks_of(run, home)  # what came between two tests is in no report
        run.home = home
        for world in home.worlds:
            self._unseen(world.journal)

    def _unseen(self, journal: Journal) -> list[Exchange]:
        """Return what came to a world since it was looked at last, which is now."""
        total = journal.total
        clears, number = self._seen.get(journal, (-1, 0))
        if (clears, number) == (journal.clears, total):
            return []
        new = [one for one in journal.kept if one.number > number or clears != journal.clears]
        self._seen[journal] = journal.clears, new[-1].number if new else total
        return new

    def _look(self, run: Run) -> None:
        """Note what came to any world of the test since the last look."""
        for world in run.home.worlds if run.home is not None else ():
            self._look_at(run, world)

    def _look_at(self, run: Run, world: World) -> list[Exchange]:
        new = self._unseen(world.journal)
        if new:
            run.note(new, with_outcomes=self._covers)
            if run.home is not None and world is not run.home.world:
                run.note_fresh(world.journal, new)
        return new

    def _world_ends(self, world: World) -> None:
        """Look at a world that is about to be cleared."""
        if self._run is not None:
            keys = world.secrets()  # the world forgets them, and they must not show
            for exchange in self._look_at(self._run, world):
                exchange.keys = lambda: keys

    def _leaks_of(self, run: Run, home: Home) -> list[Leak]:
        """Return the requests of finished tests since the last report."""
        self._leak_count, leaks = home.leaks_since(self._leak_count)
        run.leaks += leaks
        return [leak for leak in leaks if leak.owner not in self._mutated]

    # The verdict

    def _verify(self, run: Run, *, again: bool = True) -> None:
        """Raise for what a test, or an example, must answer for; warn of the rest."""
        __tracebackhide__ = True
        self._look(run)
        run.require_start()
        try:
            self._judge(run, again=again)
        except _VERDICTS as error:
            raise_at(run.item, error)

    def _judge(self, run: Run, *, again: bool) -> None:
        __tracebackhide__ = True
        if run.home is None:
            return
        try:
            run.home.world.verify(again=again)
        except BaseException:
            run.warnings.clear()
            raise
        run.warn()

    def _verify_failed(self, run: Run, reason: BaseException, *, again: bool = True) -> None:
        """Collect what a failed test must answer for as well; it must not hide the first reason."""
        self._look(run)
        run.has_own_mock = any(str(note).startswith(TITLE) for note in getattr(reason, "__notes__", ()))
        try:
            self._judge(run, again=again)
        except _VERDICTS as error:
            run.problems += [line for line in str(error).splitlines() if line not in str(reason)]

    def _excuse(self, run: Run, *, warns: bool = False) -> None:
        """Let the test answer for nothing that came so far, nor be warned of it unless ``warns``."""
        self._look(run)
        if not warns:
            run.warnings.clear()
        if run.home is not None:
            run.home.world.verification.excuse()

    # Collecting

    @pytest.hookimpl(trylast=True)  # once all other parameters are known
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        variants.multiply(metafunc, self._assumed)

    @pytest.hookimpl(trylast=True)  # what -k and its like took out does not count
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = [
            (item, text)
            for item in items
            for text in (*settings.mistakes_in_marks(item), *variants.mistakes_in_each(item))
        ]
        for item, text in [*found, *settings.mistakes_in_options(items)]:
            item.stash[MISTAKES] = f"{item.stash.get(MISTAKES, '')}\n{text}".strip()
        for item in items:
            variants.tell_hypothesis(item)

    # Running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        # The last test of a class or module tears its fixtures down, so it always runs.
        is_last = nextitem is None or nextitem.parent is not item.parent
        if variants.variant_of(item) is None or is_last:
            return None
        return True if variants.is_needless(item, self.ledger) else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before any fixture of the test is set up
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        __tracebackhide__ = True
        run = self._run = Run(item, self._assumed)
        if run.mutant is not None:
            self._mutated.add(item.nodeid)
        self._begin()
        if run.start_error:  # its fixtures would meet the world of another test; a mark `skip` wins
            item.setup = run.require_start  # type: ignore[method-assign]
        try:
            result = yield
        except _ENDS:
            self._excuse(run)
            raise
        except BaseException:
            self._excuse(run, warns=True)  # the body never ran: no fault could meet it
            raise
        run.require_start()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Note what a fixture of wider scope sets up: it is gone when the next test begins."""
        if fixturedef.scope == "function" or self.home is None or self._run is None:
            return (yield)
        before = self.home.state()
        result = yield
        changed = [name for name, value in self.home.state().items() if value != before[name]]
        self._wider[request.fixturename or fixturedef.argname] = changed, self._run.item.nodeid
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Verify the test in the main thread once its body is done, so that it fails rather than errs."""
        __tracebackhide__ = True
        run = self._run
        assert run is not None  # noqa: S101  # for the type checker: its setup made it
        try:
            with self._each_example(run):
                result = yield
        except BaseException as error:
            self._end_call(run, error)
            raise
        failures = getattr(item, "_excinfo", None)  # where a unittest.TestCase keeps them
        self._end_call(run, failures[0].value if failures else None)
        return result

    def _end_call(self, run: Run, error: BaseException | None) -> None:
        __tracebackhide__ = True
        if isinstance(error, _ENDS):
            self._excuse(run)
        elif error is not None:
            self._verify_failed(run, error)
        elif run.by_example:
            self._excuse(run)  # each was verified; the last one may have been thrown away by assume()
        else:
            self._verify(run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        """Verify what came while fixtures were torn down, whether or not one of them raised."""
        __tracebackhide__ = True
        run = self._run
        assert run is not None  # noqa: S101  # as above
        try:
            result = yield
        except _ENDS:
            self._look(run)
            raise
        except BaseException as error:
            self._verify_failed(run, error, again=False)
            raise
        if not run.start_error:  # reported already
            self._verify(run, again=False)
        return result

    # Hypothesis

    @contextmanager
    def _each_example(self, run: Run) -> Generator[None]:
        """Give each example of a Hypothesis test a world, by the hook that Hypothesis keeps for plugins."""
        handle = getattr(getattr(run.item, "obj", None), "hypothesis", None)
        inner = getattr(handle, "inner_test", None)
        # A test that names `request` may ask for the fixture by getfixturevalue().
        if inner is None or not {settings.FIXTURE, "request"} & {*getattr(run.item, "fixturenames", ())}:
            yield
            return
        handle.inner_test = self._example_of(run, inner)
        try:
            yield
        finally:
            handle.inner_test = inner  # other items share the function: parameters, variants

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
        run.by_example = True
        self._look(run)
        run.warnings.clear()  # of an example that was thrown away
        self._begin()

    # Reporting

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report its record and, if it tells of a failure, the journal."""
        report = yield
        run = self._run
        if run is None or run.item is not item:
            return report
        asks = run.home is not None and (report.failed or report.when == "teardown")
        leaks = self._leaks_of(run, run.home) if asks and run.home is not None else []
        if not run.uses and not run.leaks:
            return report
        error = None if call.excinfo is None else call.excinfo.value
        report.__dict__["petstore"] = run.record(report, error, leaks)
        if run.mutant is not None:  # a failure is what was hoped for
            report.outcome, report.longrepr, report.sections = "passed", None, []
            report.__dict__.pop("wasxfail", None)
            call.excinfo = None  # no debugger is to stop there
        elif report.failed:
            add_journal(report, run, self._config, self._wider)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (record := record_at(report)) is not None:
            self.ledger.add(record)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
        """Say of a run against a mutant whether the test noticed."""
        record: Record | None = record_at(report)
        if record is None or record["mutant"] is None:
            return None
        if not record["is_last"]:
            return "", "", ""
        return ("noticed", "n", "NOTICED") if record["failed"] else ("unnoticed", "u", "UNNOTICED")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Sum up, write the JSON files, and let the session fail if it must; a worker of xdist only reports."""
        if hasattr(self._config, "workerinput"):
            return
        option, ledger = self._config.getoption, self.ledger
        seed = option("petstore_random_seed") or 0
        found = [summaries.leaks(ledger, self._leak_mode), summaries.listener(ledger)]
        if option("petstore_at"):
            found.append(summaries.removal(ledger))
        if self._covers:
            found.append(self._measured(summaries.coverage(ledger), "coverage"))
        if count := option("petstore_explore"):
            found.append(summaries.exploration(ledger, count, seed, self._assumed))
        if count := option("petstore_mutants"):
            chosen = variants.choose_mutants(count, seed)
            found.append(self._measured(summaries.mutants(ledger, chosen, count, seed), "mutants"))
        self._summaries = [summary for summary in found if summary is not None]
        fails = self._problems or (ledger.leaks and self._leak_mode == "error")
        if fails and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _measured(self, summary: Summary, name: str) -> Summary:
        """Write the JSON file of a summary, hold its share against what it must be, and say so."""
        least = self._config.getoption(f"petstore_{name}_fail_under")
        problems = []
        if file := self._config.getoption(f"petstore_{name}_json"):
            path = self._config.invocation_params.dir / file
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, f"{json.dumps(summary.document, indent=2, ensure_ascii=False)}\n")
                summary.lines.append(f"JSON: {path}")
            except (OSError, PetStoreMockError) as error:
                problems.append(f"--petstore-{name}-json: {error}")
        if least is not None and summary.share < least:
            share = summaries.percent(summary.share)
            problems.append(f"{share} is less than --petstore-{name}-fail-under={least:g}")
        summary.lines += [f"FAILED: {problem}" for problem in problems]
        self._problems += problems
        return summary

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for summary in self._summaries:
            terminalreporter.section(summary.title, **summary.marks)
            for line in summary.lines:
                terminalreporter.write_line(line, red=line.startswith("FAILED"))
