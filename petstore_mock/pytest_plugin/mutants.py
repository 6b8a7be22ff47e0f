"""Mutants: run tests against services that break one clause each, and tell which of them no test noticed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.wording import counted
from petstore_mock.contract.mutants import MUTANTS
from petstore_mock.pytest_plugin.exploration import is_failure, is_multiplied, listed, write_tests
from petstore_mock.pytest_plugin.goal import Goal, percent
from petstore_mock.pytest_plugin.run import mutant_of, name_without_variant

if TYPE_CHECKING:
    from collections.abc import Generator

    from petstore_mock.contract.mutants import Mutant
    from petstore_mock.journal.entry import Entry
    from petstore_mock.pytest_plugin.isolation import IsolationManager
    from petstore_mock.pytest_plugin.run import Run
    from petstore_mock.verify.clauses import Clause

__all__ = ["Mutants", "choose"]

_ATTRIBUTE: Final = "petstore_mutant"  # of a report: it crosses xdist
_SHOWN_TESTS: Final = 5  # of one mutant
_TOO_SLOW: Final = ("hypothesis.errors", "DeadlineExceeded")  # not to be imported for that


@lru_cache(maxsize=1)
def choose(count: str, seed: int) -> tuple[str, ...]:
    """Return the mutants of a run, ``count`` of them or ``all``: of every clause one before any has two.

    They are the same for all tests: what none of them notices is a weak spot of the suite.
    """
    if count == "all":
        return tuple(MUTANTS)
    random = Random(f"{seed} mutants")  # noqa: S311  # reproducible on purpose
    columns: dict[str, list[str]] = {}
    for mutant in random.sample(list(MUTANTS.values()), len(MUTANTS)):
        columns.setdefault(mutant.clause, []).append(mutant.name)
    names = [name for row in zip_longest(*columns.values()) for name in row if name]
    chosen = {*names[: int(count)]}
    return tuple(name for name in MUTANTS if name in chosen)


@dataclass(slots=True)
class _Test:
    """How a test went.

    Attributes:
        finished: whether it ran as it is, to its end.
        passed: whether no phase of that was anything but passed.
        operations: what it asked of the service, of this process alone.
        noticed: the mutants under which it ran, and whether it noticed.
        asked: the mutants of which it asked what they do otherwise.
    """

    finished: bool = False
    passed: bool = True
    operations: set[str | None] = field(default_factory=set)
    noticed: dict[str, bool] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)


class Mutants:
    """Collects how tests went under mutants, here or on the workers of xdist, and sums it up.

    A test as it is fails or passes as ever. What comes of it under a mutant is neither: it has noticed, or it has not.
    """

    def __init__(self, config: pytest.Config, isolation: IsolationManager) -> None:
        self._count: str = config.getoption("petstore_mutants")
        self._seed: int = config.getoption("petstore_random_seed") or 0
        self._again: bool = config.getoption("petstore_mutants_all")
        self._goal = Goal(config, "petstore_mutants")
        self._isolation = isolation
        self._chosen = choose(self._count, self._seed)
        self._tests: dict[str, _Test] = {}
        self._not_multiplied: set[str] = set()
        isolation.observers.append(self._observe)

    def _of(self, name: str) -> _Test:
        return self._tests.setdefault(name, _Test())

    def _observe(self, run: Run, entries: list[Entry]) -> None:
        if run.mutant is None:
            self._of(name_without_variant(run.item)).operations.update(entry.operation for entry in entries)
        else:
            run.asked = run.asked or any(entry.mutant == run.mutant for entry in entries)

    # Running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Leave out a run that can tell nothing new; it gets no report, and counts for nothing."""
        mutant = mutant_of(item)
        # The last of a class or module is what tears its fixtures down.
        if mutant is None or nextitem is None or nextitem.parent is not item.parent:
            return None
        return True if self._is_needless(name_without_variant(item), MUTANTS[mutant]) else None

    def _is_needless(self, name: str, mutant: Mutant) -> bool:
        test = self._of(name)
        if not test.finished:  # xdist may have given it as it is to another worker
            return False
        if not test.passed or test.operations.isdisjoint(mutant.operations):
            return True
        return not self._again and bool(self._noticed_by(mutant.name))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note on the report what it is about; under a mutant, a failure is what was hoped for, and is no failure."""
        report = yield
        run = self._isolation.run
        # One that can't have its starting state has not come to use the fixture.
        if run is None or run.item is not item or not (run.uses_petstore or is_multiplied(item)):
            return report
        noted: dict[str, Any] = {"test": name_without_variant(item), "multiplied": is_multiplied(item)}
        if run.mutant is not None:
            excused = run.met_old_keys_alone or (call.excinfo is not None and _says_nothing(call.excinfo.value))
            run.noticed = run.noticed or (is_failure(report) and not excused)
            noted |= {"mutant": run.mutant, "noticed": run.noticed, "asked": run.asked}
            report.outcome, report.longrepr, report.sections = "passed", None, []
            report.__dict__.pop("wasxfail", None)
            call.excinfo = None  # no debugger is to stop there
        report.__dict__[_ATTRIBUTE] = noted
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
        """Say of a run under a mutant whether the test noticed."""
        noted: dict[str, Any] = getattr(report, _ATTRIBUTE, {})
        if "mutant" not in noted:
            return None
        if report.when != "teardown":
            return "", "", ""
        return ("noticed", "n", "NOTICED") if noted["noticed"] else ("unnoticed", "u", "UNNOTICED")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report into account."""
        noted: dict[str, Any] | None = getattr(report, _ATTRIBUTE, None)
        if noted is None:
            return
        name = noted["test"]
        if not noted["multiplied"]:
            self._not_multiplied.add(name)
            return
        test = self._of(name)
        if "mutant" not in noted:
            test.passed = test.passed and report.passed and not hasattr(report, "wasxfail")
            test.finished = report.when == "teardown"
            return
        mutant = noted["mutant"]
        test.noticed[mutant] = test.noticed.get(mutant, False) or noted["noticed"]
        if noted["asked"]:
            test.asked.add(mutant)

    # The verdict

    @property
    def _telling(self) -> dict[str, _Test]:
        """The tests that pass as they are: those of the others tell nothing."""
        return {name: test for name, test in sorted(self._tests.items()) if test.finished and test.passed}

    def _noticed_by(self, mutant: str) -> list[str]:
        return [name for name, test in self._telling.items() if test.noticed.get(mutant)]

    def _asked_by(self, mutant: str) -> list[str]:
        return [name for name, test in self._telling.items() if mutant in test.asked]

    @property
    def _survivors(self) -> list[str]:
        return [name for name in self._chosen if not self._noticed_by(name)]

    @property
    def _share(self) -> float:
        return 100 * (len(self._chosen) - len(self._survivors)) / len(self._chosen)

    def _weakest_first(self) -> list[tuple[str, list[str]]]:
        """Return the clauses of which some mutant survives, with those; the weakest spots come first."""
        survivors = self._survivors
        of_clause: dict[str, list[str]] = {}
        for name in self._chosen:
            of_clause.setdefault(MUTANTS[name].clause, []).append(name)
        spots = [
            (clause, [name for name in names if name in survivors], len(names)) for clause, names in of_clause.items()
        ]

        def weakness(spot: tuple[str, list[str], int]) -> tuple[float, int]:
            _, missed, count = spot
            return -len(missed) / count, -max(len(self._asked_by(name)) for name in missed)

        return [(clause, missed) for clause, missed, _ in sorted((spot for spot in spots if spot[1]), key=weakness)]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the file, and let the session fail where too few were noticed."""
        self._goal.finish(session, exitstatus, self._share, self._document())

    def _document(self) -> dict[str, Any]:
        clauses = _clauses()
        mutants = []
        for name in self._chosen:
            mutant, noticed = MUTANTS[name], self._noticed_by(name)
            clause = clauses[mutant.clause]
            mutants.append(
                {
                    "name": name,
                    "does": mutant.words,
                    "clause": clause.id,
                    "section": clause.section,
                    "words": clause.words,
                    "noticed": bool(noticed),
                    "noticed_by": noticed,
                    "asked_by": self._asked_by(name),
                }
            )
        return {
            "count": len(self._chosen),
            "noticed": len(self._chosen) - len(self._survivors),
            "percent": round(self._share, 2),
            "random_seed": self._seed,
            "mutants": mutants,
            "failed_as_they_are": self._failed,
            "not_run": sorted(self._not_multiplied),
        }

    @property
    def _failed(self) -> list[str]:
        return sorted(name for name, test in self._tests.items() if test.finished and not test.passed)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which broken clauses no test noticed, the weakest spots first."""
        write = terminalreporter.write_line
        terminalreporter.section("petstore mutants")
        noticed, share = len(self._chosen) - len(self._survivors), percent(self._share)
        write(
            f"The tests noticed {noticed} of {counted(len(self._chosen), 'service')} that break a clause each: {share} "
            f"(--petstore-mutants={self._count} --petstore-random-seed={self._seed})"
        )
        if not self._telling:
            write("No test passes as it is and could be run under mutants.")
        elif self._survivors:
            self._write_survivors(terminalreporter)
        title = "Do not pass as they are, so that nothing is known of what they would notice:"
        write_tests(write, title, self._failed)
        title = "Not run under mutants (unittest classes, steps of pytest-bdd, getfixturevalue):"
        write_tests(write, title, self._not_multiplied)
        self._goal.tell(write)

    def _write_survivors(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        clauses = _clauses()
        unasked = []
        title = "Tests asked for these, and none noticed, the weakest spots first:"
        for id_, missed in self._weakest_first():
            clause = f"§{clauses[id_].section} {clauses[id_].words} ({id_})"
            if not any(map(self._asked_by, missed)):
                unasked.append(f"{clause}: {', '.join(missed)}")
                continue
            if title:
                write("")
                write(title)
                title = ""
            write(f"  {clause}", yellow=True)
            for name in missed:
                tests = self._asked_by(name)
                asked = f"asked by {listed(tests, _SHOWN_TESTS)}" if tests else "no test asks for it"
                write(f"    {name}: {MUTANTS[name].words}; {asked}")
        if unasked:
            write("")
            write("No test asks for these:")
            for line in unasked:
                write(f"  {line}")


def _says_nothing(error: BaseException) -> bool:
    """Return whether a failure is no word on what the service answered: one that is excused, or a slow machine."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_says_nothing, error.exceptions))
    kind = type(error)
    return isinstance(error, pytest.xfail.Exception) or (kind.__module__, kind.__name__) == _TOO_SLOW


def _clauses() -> dict[str, Clause]:
    from petstore_mock.verify.clauses import CLAUSES  # noqa: PLC0415  # for the summary alone

    return {clause.id: clause for clause in CLAUSES}
