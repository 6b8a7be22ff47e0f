"""Collects the facts in test reports, also from xdist workers, and makes the summaries from them.

Each summary is a function that takes the ledger. All return lines for the terminal; some also return a JSON document.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.common.values import counted
from petstore_mock.core.options import OPTIONS
from petstore_mock.pytest_plugin import settings
from petstore_mock.pytest_plugin.report import index_page
from petstore_mock.pytest_plugin.variants import choose_mutants, mutant_of, name_without_variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_SHOWN: Final = 10  # owners of leaks, or tests in one line


class Ledger:
    """The facts of a run, by test and variant.

    Facts are ``multiplied`` (the test has variants), ``finished``, ``passed``, ``failed``, ``reached`` (the
    mutant changed a response), ``removed`` (the client called a removed operation), ``calls OPERATION``,
    ``shows OPERATION OUTCOME``, ``assumes GAP=ALTERNATIVE`` and ``death WHY`` (the listener died before the test).
    """

    def __init__(self) -> None:
        self.facts: dict[str, dict[str, set[str]]] = {}
        self.leaks: dict[str, list[str]] = {}  # requests by owner
        self.pages: dict[str, list[str]] = {}  # the file and the reason of each failing test

    def add(self, record: dict[str, Any]) -> None:
        """Add the record of a report. A later record of the same test and variant replaces its facts."""
        self.facts.setdefault(record["test"], {})[record["variant"]] = {*record["facts"]}
        for owner, request in record["leaks"]:
            self.leaks.setdefault(owner, []).append(request)
        if page := record.get("page"):
            self.pages[f"{record['test']} {record['variant']}".strip()] = page

    def tests(self, fact: str, variant: str = "") -> list[str]:
        """Return the tests with a fact under a variant, by default without a variant."""
        return sorted(test for test, variants in self.facts.items() if fact in variants.get(variant, ()))

    def by_fact(self, kind: str) -> dict[str, list[str]]:
        """Return the tests for each fact that starts with ``kind``. Facts under mutants are left out."""
        found: dict[str, set[str]] = {}
        for test, variants in self.facts.items():
            for variant, facts in variants.items():
                for fact in facts if not variant.startswith("mutant=") else ():
                    if fact.startswith(kind):
                        found.setdefault(fact.removeprefix(kind), set()).add(test)
        return {fact: sorted(tests) for fact, tests in sorted(found.items())}

    def under_mutant(self, fact: str, mutant: str) -> list[str]:
        """Return the tests that have a fact under a mutant and pass without the mutant."""
        passed = {*self.tests("passed")}
        return [test for test in self.tests(fact, f"mutant={mutant}") if test in passed]

    def is_needless(self, item: pytest.Item) -> bool:
        """Return whether a variant can show nothing new. Such a variant is not run."""
        facts = self.facts.get(name_without_variant(item), {}).get("", set())
        # Another xdist worker may have run the unchanged test.
        if not variant_of(item) or "finished" not in facts:
            return False
        mutant = mutant_of(item)
        if mutant is None:
            return "failed" in facts
        from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # most runs do not need it

        is_met = any(f"calls {name}" in facts for name in MUTANTS[mutant].operations)
        return "passed" not in facts or not is_met or bool(self.under_mutant("failed", mutant))


class Summaries:
    """Prints the summaries that options request, writes their JSON files, and fails a run below its goals."""

    def __init__(self, config: pytest.Config) -> None:
        OPTIONS["at"].check("--petstore-at", config.getoption("petstore_at") or None)
        self.assumed = settings.assumed_gaps(config)
        self.covers = any(config.getoption(f"petstore_coverage{name}") for name in ("", "_fail_under", "_json"))
        self._config = config
        if not config.getoption("petstore_mutants"):
            for option in ("--petstore-mutants-fail-under", "--petstore-mutants-json"):
                if config.getoption(option) is not None:
                    refuse(f"expected --petstore-mutants N together with {option}; got {option} alone")
        mode, source, _ = settings.setting(config, "leaks")
        self._leak_mode = one_of(mode or settings.LEAK_MODES[0], settings.LEAK_MODES, f"value of {source}")
        self.ledger = Ledger()  # each xdist worker has its own; the controller's has all tests
        self._lines: dict[str, list[str]] = {}  # by title

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if record := getattr(report, "petstore", None):
            self.ledger.add(record)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if hasattr(self._config, "workerinput"):  # the xdist controller prints the summaries
            return
        self._sum_up()
        has_failed = any(line.startswith("FAILED") for lines in self._lines.values() for line in lines)
        if has_failed and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _sum_up(self) -> None:
        option, ledger = self._config.getoption, self.ledger
        seed = option("petstore_random_seed") or 0
        if ledger.leaks and self._leak_mode != "ignore":
            self._lines["petstore: requests of finished tests"] = leaks(ledger, fails=self._leak_mode == "error")
        if deaths := ledger.by_fact("death "):
            lines = [f"The listener died before {tests[0]} and restarted: {death}" for death, tests in deaths.items()]
            self._lines["petstore: the listener"] = lines
        if ledger.pages and (folder := option("petstore_html")):
            path = self._config.invocation_params.dir / folder / "index.html"
            self._lines["petstore: pages"] = [settings.written(path, "index", index_page(ledger.pages))]
        if option("petstore_at"):
            self._lines["petstore: tests that call a removed operation"] = ledger.by_fact("removed").get("", ["none"])
        if self.covers:
            self._measure("coverage", *coverage(ledger))
        if count := option("petstore_explore"):
            self._lines["petstore exploration"] = exploration(ledger, count, seed, self.assumed)
        if count := option("petstore_mutants"):
            self._measure("mutants", *mutants(ledger, count, seed))

    def _measure(self, name: str, lines: list[str], document: Mapping[str, Any]) -> None:
        """Write a summary's JSON file, and report a percentage below the goal."""
        self._lines[f"petstore {name}"] = lines
        if file := self._config.getoption(f"petstore_{name}_json"):
            text = json.dumps(document, indent=2, ensure_ascii=False)
            line = settings.written(self._config.invocation_params.dir / file, "JSON", text)
            lines.append(line if line.startswith("JSON") else f"FAILED: {line}")
        least = self._config.getoption(f"petstore_{name}_fail_under")
        if least is not None and document["percent"] < least:
            lines.append(f"FAILED: {document['percent']} % is less than --petstore-{name}-fail-under={least:g}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for title, lines in self._lines.items():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line, red=line.startswith("FAILED"))


def _block(title: str, lines: Collection[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _listed(tests: Sequence[str]) -> str:
    return f"{', '.join(tests[:_SHOWN])}{f' and {len(tests) - _SHOWN} more' if len(tests) > _SHOWN else ''}"


def _measured(whole: Collection[object], part: Collection[object], what: str) -> dict[str, Any]:
    """Return the counts and the percentage for a JSON document. A share below 100 % is never rounded up to 100."""
    percent = 100.0 if len(part) == len(whole) else min(round(100 * len(part) / len(whole), 2), 99.99)
    return {"count": len(whole), what: len(part), "percent": percent}


def _alone(ledger: Ledger) -> list[str]:
    title = 'No variants: unittest methods, and tests not naming petstore (add @pytest.mark.usefixtures("petstore")):'
    return _block(title, sorted(ledger.facts.keys() - ledger.by_fact("multiplied").get("", ())))


def leaks(ledger: Ledger, *, fails: bool) -> list[str]:
    """List the requests that arrived after the end of their test."""
    lines = [
        f"{_listed(requests)}: leaked by {owner}. If its client has a wider scope, set petstore_api_key."
        for owner, requests in [*ledger.leaks.items()][:_SHOWN]
    ]
    if len(ledger.leaks) > _SHOWN:
        lines.append(f"and {len(ledger.leaks) - _SHOWN} more tests")
    lines.append("Such a request gets 401, or 404 from a remote stub. No journal shows it.")
    others = " or ".join(settings.LEAK_MODES[1:])
    return [*lines, f"FAILED: leaks fail the session unless petstore_leaks is {others}."] if fails else lines


def exploration(ledger: Ledger, count: int, seed: int, assumed: Mapping[str, str]) -> list[str]:
    """List the gaps of the interface on which the client relies."""
    from petstore_mock.interface.gaps import GAPS, VARIED  # noqa: PLC0415  # most runs do not need it

    explored = ledger.by_fact("multiplied").get("", [])
    broken = sorted({*explored} & {*ledger.tests("failed")})
    sound = {*explored}.difference(broken)
    found: list[str] = []
    for gap in GAPS.values():
        variants = [f"{gap.name}={alternative}" for alternative in gap.alternatives]
        failed = {one: [test for test in ledger.tests("failed", one) if test in sound] for one in variants}
        if any(failed.values()):
            found.append(f"The client, or one of its tests, relies on {gap.name} (§{gap.section}): {gap.sentence}")
            found.append(f"  Do not assume {gap.lesson}.")
            found += [f"  {variant}: {_listed(tests)}" for variant, tests in failed.items() if tests]
    if not found:
        unknown = "No test with variants passes as it is, so exploration shows nothing about the client."
        found = ["No test shows that the client relies on a gap of the interface." if sound else unknown]
    declared = {f"{name}={alternative}": ["the setting petstore_assumes"] for name, alternative in assumed.items()}
    declared |= ledger.by_fact("assumes ")
    most = min(count, sum(len(GAPS[name].alternatives) - 1 for name in VARIED))
    return [
        f"{counted(len(explored), 'test')} ran as is and under up to {most} behaviours each (random seed: {seed})",
        *found,
        *_block("These tests fail as they are, so their variants show nothing:", broken),
        *_block("The fake keeps these known assumptions:", [f"{one}: {_listed(by)}" for one, by in declared.items()]),
        *_alone(ledger),
    ]


def mutants(ledger: Ledger, count: int, seed: int) -> tuple[list[str], dict[str, Any]]:
    """List the mutants that no test noticed."""
    chosen = [_mutant(ledger, name) for name in choose_mutants(count, seed)]
    noticed = [mutant for mutant in chosen if mutant["noticed"]]
    missed = sorted((one for one in chosen if not one["noticed"]), key=lambda one: -len(one["reached_by"]))
    multiplied = {*ledger.tests("multiplied")}
    broken = sorted({*ledger.tests("finished")} & multiplied - {*ledger.tests("passed")})
    document = {
        **_measured(chosen, noticed, "noticed"),
        "random_seed": seed,
        "mutants": chosen,
        "failed_as_they_are": broken,
        "not_run": sorted(ledger.facts.keys() - multiplied),
    }
    line = "{name}: {does} (breaks {clause}, §{section}: {words}); reached by {tests}"
    survivors = [line.format(**one, tests=_listed(one["reached_by"]) or "no test") for one in missed]
    lines = [
        f"The tests noticed {len(noticed)} of {counted(len(chosen), 'mutant')}: {document['percent']} % (seed: {seed})",
        *_block("No test noticed these mutants. Those that the largest number of tests reached come first:", survivors),
        *_block("These tests do not pass as they are, so they can't notice mutants:", broken),
        *_alone(ledger),
    ]
    return lines, document


def _mutant(ledger: Ledger, name: str) -> dict[str, Any]:
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # most runs do not need it
    from petstore_mock.verify.clauses import CLAUSES  # noqa: PLC0415  # most runs do not need it

    mutant, noticed = MUTANTS[name], ledger.under_mutant("failed", name)
    clause = next(clause for clause in CLAUSES if clause.id == mutant.clause)
    return {
        "name": name,
        "does": mutant.words,
        "clause": clause.id,
        "section": clause.section,
        "words": clause.words,
        "noticed": bool(noticed),
        "noticed_by": noticed,
        "reached_by": ledger.under_mutant("reached", name),
    }


def coverage(ledger: Ledger) -> tuple[list[str], dict[str, Any]]:
    """List the documented outcomes and faults that the client met."""
    from petstore_mock.faults.kinds import REQUEST_KINDS  # noqa: PLC0415  # most runs do not need it
    from petstore_mock.journal.outcomes import OUTCOMES  # noqa: PLC0415  # most runs do not need it

    shows = ledger.by_fact("shows ")

    def row(kind: str, operation: str, name: str) -> dict[str, Any]:
        tests = shows.get(f"{operation} {'fault ' if kind == 'fault' else ''}{name}", [])
        return {"operation": operation, kind: name, "shown": bool(tests), "tests": tests}

    outcomes = [row("outcome", operation, name) for operation, names in OUTCOMES.items() for name in names]
    faults = [row("fault", operation, kind) for kind in REQUEST_KINDS for operation in OUTCOMES]
    shown = [one for one in outcomes if one["shown"]]
    never = [kind for kind in REQUEST_KINDS if not any(one["shown"] for one in faults if one["fault"] == kind)]
    document = {**_measured(outcomes, shown, "shown"), "outcomes": outcomes, "faults": faults}
    lines = [
        *(f"{operation_and_outcome}: {counted(len(tests), 'test')}" for operation_and_outcome, tests in shows.items()),
        f"Shown: {len(shown)} of {len(outcomes)} documented outcomes: {document['percent']} %.",
        *(f"Never shown: {one['operation']} {one['outcome']}" for one in outcomes if not one["shown"]),
        f"Faults never shown: {', '.join(never) or 'none'}.",
    ]
    return lines, document
