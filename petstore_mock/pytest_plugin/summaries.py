"""The summaries of a run, from its ledger: what they print, what they write as JSON, and whether they fail the run."""

from __future__ import annotations

from itertools import chain, filterfalse, product
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.common.masking import cut_middle
from petstore_mock.common.values import counted, listed
from petstore_mock.core.options import OPTIONS
from petstore_mock.pytest_plugin.products import clause_of, mutants
from petstore_mock.pytest_plugin.variants import Variant, choose_mutants

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.pytest_plugin.ledger import Ledger

_FLAKY: Final = "These tests are flaky: they failed, and a replay had another result. Their failures do not count:"
_SURVIVORS: Final = "No test noticed these mutants. Those that the largest number of tests reached come first:"
_SHOWN: Final = 10  # owners of leaks, or tests in one line
_REACHED: Final = 3  # tests that reached a mutant
_LONGEST_NAME: Final = 60  # characters of a test's name
_COLUMNS: Final = 96  # of a terminal; blocks are indented


class Summary(NamedTuple):
    """One section of the terminal. Each failure is a sentence, and fails the run."""

    title: str
    lines: Sequence[str]
    failures: Sequence[str] = ()


class Measure(NamedTuple):
    """The lines of a summary that has a goal, and its JSON document, whose ``percent`` the goal concerns."""

    lines: list[str]
    document: JsonObject


def _block(title: str, lines: Collection[str]) -> list[str]:
    if not lines:
        return []
    return ["", title, *(f"  {line}" for line in lines)]


def _measured(rows: Sequence[JsonObject], fact: str) -> tuple[JsonObject, list[JsonObject]]:
    """Return the counts and the percentage of the rows that have a fact, for a JSON document, and the other rows.

    A share below 100 % is never rounded up to 100.
    """
    others = [row for row in rows if not row[fact]]
    count = len(rows) - len(others)
    percent = 100.0
    if others:
        percent = min(round(100 * count / len(rows), 2), 99.99)
    return {"count": len(rows), fact: count, "percent": percent}, others


def _alone(ledger: Ledger) -> list[str]:
    title = 'No variants: unittest methods, and tests not naming petstore (add @pytest.mark.usefixtures("petstore")):'
    return _block(title, sorted(ledger.facts.keys() - ledger.tests_under_any("multiplied")))


def leaks(ledger: Ledger, *, fails: bool) -> Summary:
    """List the requests that arrived after the end of their test."""
    lines: list[str] = []
    for owner, requests in [*ledger.leaks.items()][:_SHOWN]:
        advice = "If its client has a wider scope, set petstore_api_key."
        lines.append(f"{listed(requests, _SHOWN)}: leaked by {owner}. {advice}")
    if len(ledger.leaks) > _SHOWN:
        lines.append(f"and {len(ledger.leaks) - _SHOWN} more tests")
    lines.append("Such a request gets 401, or 404 from a remote stub. No journal shows it.")
    failures: list[str] = []
    if fails:
        others = " or ".join(OPTIONS["leaks"].alternatives[1:])
        failures.append(f"leaks fail the session unless petstore_leaks is {others}.")
    return Summary("petstore: requests of finished tests", lines, failures)


def deaths(ledger: Ledger) -> Summary | None:
    """List the tests before which the listener died."""
    by_reason = ledger.by_fact(lambda facts: facts.deaths)
    lines = [f"The listener died before {tests[0]} and restarted: {reason}" for reason, tests in by_reason.items()]
    if lines:
        return Summary("petstore: the listener", lines)
    return None


def removed(ledger: Ledger) -> Summary:
    """List the tests that call a removed operation."""
    tests = ledger.tests_under_any("removed", ("as_is", "gap"))
    return Summary("petstore: tests that call a removed operation", tests or ["none"])


# Exploration


def exploration(ledger: Ledger, count: int, seed: int, assumed: Mapping[str, str]) -> Summary:
    """List the gaps of the interface on which the client relies."""
    from petstore_mock.interface.gaps import GAPS, VARIED  # most runs do not need it

    explored = {*ledger.tests_under_any("multiplied")}
    broken = sorted(explored.intersection(ledger.tests("failed")))
    flaky = sorted(ledger.flaky["gap"].difference(broken))
    sound = explored.difference(broken, flaky)
    most = min(count, sum(len(GAPS[name].alternatives) - 1 for name in VARIED))
    how = f"as is and under up to {most} behaviours each (random seed: {seed})"
    lines = [f"{counted(len(explored), 'test')} ran {how}", *_reliances(ledger, sound)]
    lines += _block("These tests fail as they are, so their variants show nothing:", broken)
    lines += _block(_FLAKY, flaky)
    lines += _block("The fake keeps these known assumptions:", _assumptions(ledger, assumed))
    lines += _alone(ledger)
    return Summary("petstore exploration", lines)


def _reliances(ledger: Ledger, sound: Collection[str]) -> list[str]:
    """Return the lines for each gap on which a test relies that passes as it is."""
    from petstore_mock.interface.gaps import GAPS  # as above

    lines: list[str] = []
    for gap in GAPS.values():
        of_gap: list[str] = []
        for alternative in gap.alternatives:
            variant = Variant("gap", gap.name, alternative)
            failed = [test for test in ledger.tests("failed", variant) if test in sound]
            if failed:
                of_gap.append(f"  {variant.text}: {listed(failed, _SHOWN)}")
        if of_gap:
            lines.append(f"The client, or one of its tests, relies on {gap.name} (§{gap.section}): {gap.sentence}")
            lines.append(f"  Do not assume {gap.lesson}.")
            lines += of_gap
    if lines:
        return lines
    if sound:
        return ["No test shows that the client relies on a gap of the interface."]
    return ["No test with variants passes as it is, so exploration shows nothing about the client."]


def _assumptions(ledger: Ledger, assumed: Mapping[str, str]) -> list[str]:
    sources: dict[tuple[str, ...], list[str]] = {item: ["the setting petstore_assumes"] for item in assumed.items()}
    sources |= ledger.by_fact(lambda facts: map(tuple, facts.assumes))
    return [f"{'='.join(assumption)}: {listed(sources[assumption], _SHOWN)}" for assumption in sources]


# Mutants


def mutation(ledger: Ledger, count: int, seed: int, *, is_verbose: bool) -> Measure:
    """List the mutants that no test noticed. Those that no test reached are counted, or listed by ``is_verbose``."""
    chosen = [_mutant(ledger, name) for name in choose_mutants(count, seed)]
    measured, missed = _measured(chosen, "noticed")
    missed.sort(key=lambda row: -len(row["reached_by"]))
    multiplied = {*ledger.tests("multiplied")}
    finished = multiplied.intersection(ledger.tests("finished"))
    broken = sorted(finished.difference(ledger.tests("passed")))
    flaky = sorted(ledger.flaky["mutant"].difference(broken))
    document = {
        **measured,
        "random_seed": seed,
        "mutants": chosen,
        "failed_as_they_are": broken,
        "flaky": flaky,
        "not_run": sorted(ledger.facts.keys() - multiplied),
    }
    shown = missed if is_verbose else [row for row in missed if row["reached_by"]]
    survivors = [*chain.from_iterable(map(_survivor, shown))]
    share = f"{measured['noticed']} of {counted(len(chosen), 'mutant')}: {measured['percent']} %"
    lines = [f"The tests noticed {share} (seed: {seed})"]
    lines += _block(_SURVIVORS, survivors)
    unreached = len(missed) - len(shown)
    if unreached:
        lines += ["", f"No test reached {counted(unreached, 'other mutant')}; -v lists them."]
    lines += _block("These tests do not pass as they are, so they can't notice mutants:", broken)
    lines += _block(_FLAKY, flaky)
    lines += _alone(ledger)
    return Measure(lines, document)


def _survivor(row: Mapping[str, Json]) -> list[str]:
    """Return a mutant that no test noticed in lines that fit a terminal."""
    tests = listed([cut_middle(test, _LONGEST_NAME) for test in row["reached_by"]], _REACHED) or "no test"
    mistake = f"{row['name']}: {row['does']}"
    clause = f"breaks {row['clause']} (§{row['section']}: {row['words']}); reached by {tests}"
    of_mistake = wrap(mistake, _COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
    of_clause = wrap(clause, _COLUMNS, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return [*of_mistake, *of_clause]


def _mutant(ledger: Ledger, name: str) -> JsonObject:
    mutant = mutants()[name]
    clause = clause_of(mutant)
    noticed = ledger.noticed_by(name)
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


# Coverage


def coverage(ledger: Ledger) -> Measure:
    """List the documented outcomes and faults that the client met."""
    from petstore_mock.faults.kinds import REQUEST_KINDS  # most runs do not need it
    from petstore_mock.journal.outcomes import OUTCOMES  # most runs do not need it

    met = ledger.by_fact(lambda facts: map(tuple, facts.outcomes))
    outcomes: list[JsonObject] = []
    for operation, names in OUTCOMES.items():
        outcomes += [_row("outcome", operation, name, met.get((operation, name), [])) for name in names]
    pairs = product(OUTCOMES, REQUEST_KINDS)
    faults = [_row("fault", operation, kind, met.get((operation, f"fault {kind}"), [])) for operation, kind in pairs]
    measured, others = _measured(outcomes, "shown")
    lines = [f"{' '.join(outcome)}: {counted(len(tests), 'test')}" for outcome, tests in met.items()]
    lines.append(f"Shown: {measured['shown']} of {len(outcomes)} documented outcomes: {measured['percent']} %.")
    lines += [f"Never shown: {row['operation']} {row['outcome']}" for row in others]
    shown_faults = {row["fault"] for row in faults if row["shown"]}
    other_faults = filterfalse(shown_faults.__contains__, REQUEST_KINDS)
    lines.append(f"Faults never shown: {', '.join(other_faults) or 'none'}.")
    return Measure(lines, {**measured, "outcomes": outcomes, "faults": faults})


def _row(kind: str, operation: str, name: str, tests: list[str]) -> JsonObject:
    return {"operation": operation, kind: name, "shown": bool(tests), "tests": tests}
