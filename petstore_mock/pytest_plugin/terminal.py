"""Prints the summaries that options request, writes their JSON files, and fails a run below its goals."""

from __future__ import annotations

import json
from typing import Final

import pytest

from petstore_mock.common.refusing import refuse
from petstore_mock.core.options import OPTIONS
from petstore_mock.pytest_plugin import settings, summaries
from petstore_mock.pytest_plugin.ledger import Ledger
from petstore_mock.pytest_plugin.report import index_page
from petstore_mock.pytest_plugin.summaries import Measure, Summary

_COVERAGE_OPTIONS: Final = ("petstore_coverage", "petstore_coverage_fail_under", "petstore_coverage_json")

_MODES_WITHOUT_BODIES: Final = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")


class Summaries:
    """The summaries of a run. Each xdist worker has its own ledger; the controller's has all tests."""

    def __init__(self, config: pytest.Config) -> None:
        OPTIONS["at"].check("--petstore-at", config.getoption("petstore_at") or None)
        self._config = config
        if not config.getoption("petstore_mutants"):
            self._refuse_goals_of_mutants()
        self.assumed = settings.assumed_gaps(config)
        self.covers = any(config.getoption(name) for name in _COVERAGE_OPTIONS)
        self._leak_mode = settings.choice(config, "leaks")
        self.ledger = Ledger()
        self._summaries: list[Summary] = []

    def _refuse_goals_of_mutants(self) -> None:
        for option in ("--petstore-mutants-fail-under", "--petstore-mutants-json"):
            if self._config.getoption(option) is not None:
                refuse(f"expected --petstore-mutants N together with {option}; got {option} alone")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # The controller of xdist prints the summaries. Without the bodies of tests, they would say nothing.
        is_worker = hasattr(self._config, "workerinput")
        if is_worker or not runs_bodies(self._config):
            return
        self._sum_up()
        has_failed = any(summary.failures for summary in self._summaries)
        if has_failed and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _sum_up(self) -> None:
        """Make the summaries that options request."""
        option = self._config.getoption
        ledger = self.ledger
        add = self._summaries.append
        self._note_troubles()
        seed = option("petstore_random_seed") or 0
        if option("petstore_at"):
            add(summaries.removed(ledger))
        if self.covers:
            add(self._with_goal("coverage", summaries.coverage(ledger)))
        behaviours = option("petstore_explore")
        if behaviours:
            add(summaries.exploration(ledger, behaviours, seed, self.assumed))
        mutants = option("petstore_mutants")
        if mutants:
            is_verbose = self._config.get_verbosity() > 0
            add(self._with_goal("mutants", summaries.mutation(ledger, mutants, seed, is_verbose=is_verbose)))

    def _note_troubles(self) -> None:
        ledger = self.ledger
        add = self._summaries.append
        if ledger.leaks and self._leak_mode != "ignore":
            add(summaries.leaks(ledger, fails=self._leak_mode == "error"))
        died = summaries.deaths(ledger)
        if died is not None:
            add(died)
        pages = self._config.getoption("petstore_html")
        if pages and ledger.pages:
            path = self._config.invocation_params.dir / pages / "index.html"
            add(Summary("petstore: pages", [settings.written(path, "index", index_page(ledger.pages)).line]))

    def _with_goal(self, name: str, measure: Measure) -> Summary:
        """Write the JSON file of a measure, and compare its percentage with the goal."""
        lines = [*measure.lines]
        failures: list[str] = []
        file = self._config.getoption(f"petstore_{name}_json")
        if file:
            text = json.dumps(measure.document, indent=2, ensure_ascii=False)
            written = settings.written(self._config.invocation_params.dir / file, "JSON", text)
            section = failures if written.failed else lines
            section.append(written.line)
        percent = measure.document["percent"]
        least = self._config.getoption(f"petstore_{name}_fail_under")
        if least is not None and percent < least:
            failures.append(f"{percent} % is less than --petstore-{name}-fail-under={least:g}")
        return Summary(f"petstore {name}", lines, failures)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for summary in self._summaries:
            terminalreporter.section(summary.title)
            for line in summary.lines:
                terminalreporter.write_line(line)
            for failure in summary.failures:
                terminalreporter.write_line(f"FAILED: {failure}", red=True)


def runs_bodies(config: pytest.Config) -> bool:
    """Return whether this run executes the bodies of tests. Without them, nothing can be verified."""
    return not any(config.getoption(name) for name in _MODES_WITHOUT_BODIES)
