"""The summaries of a run: each is a function of the ledger."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from petstore_mock.pytest_plugin.ledger import Ledger

_SHOWN_LEAKS: Final = 10  # owners
_SHOWN_TESTS: Final = 20  # in one line
_SHOWN_ASKING: Final = 5  # tests that asked for one mutant
_COLUMNS: Final = (26, 11)  # of the table of outcomes: its first, and each other
_NO_VARIANTS: Final = "(unittest classes, steps of pytest-bdd, getfixturevalue):"


@dataclass
class Summary:
    """What the end of a run says about one subject.

    Attributes:
        title: the line above it.
        lines: its text.
        share: what was reached, in percent.
        document: the same as JSON.
        marks: colours of the title, as ``terminalreporter.section`` takes them.
    """

    title: str
    lines: list[str]
    share: float = 100.0
    document: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, bool] = field(default_factory=dict)


def percent(share: float) -> str:
    """Return a share of 100 in words; never 100 if something is missing."""
    return "100 %" if share == 100 else f"{min(share, 99.9):.1f} %"


def _listed(tests: Sequence[str], most: int = _SHOWN_TESTS) -> str:
    more = f" and {len(tests) - most} more" if len(tests) > most else ""
    return f"{', '.join(tests[:most])}{more}"


def _block(title: str, tests: Collection[str]) -> list[str]:
    return ["", title, *(f"  {test}" for test in sorted(tests))] if tests else []


def _share(part: Collection[object], whole: Collection[object]) -> float:
    return 100 * len(part) / len(whole) if whole else 100.0


# Leaks, the listener, and operations that are removed


def leaks(ledger: Ledger, mode: str) -> Summary | None:
    """Name the tests whose requests came after their end."""
    if not ledger.leaks or mode == "ignore":
        return None
    first: dict[str, str] = {}
    for owner, request in ledger.leaks:
        first.setdefault(owner, request)
    owners = Counter(owner for owner, _ in ledger.leaks)
    lines = []
    for owner, count in list(owners.items())[:_SHOWN_LEAKS]:
        requests = first[owner] if count == 1 else f"{first[owner]} and {count - 1} more"
        lines.append(
            f"{requests}: leaked by {owner}, or a client of wider scope than the test: set petstore_api_key"
        )
    if len(owners) > _SHOWN_LEAKS:
        lines.append(f"and {len(owners) - _SHOWN_LEAKS} more tests")
    lines.append("These requests are in no journal. The fake refuses the key of a finished test with 401.")
    if mode == "error":
        lines.append("They fail the session. To let it pass, set petstore_leaks = warn or ignore.")
    return Summary("petstore: requests of finished tests", lines, marks={"red": mode == "error", "yellow": True})


def listener(ledger: Ledger) -> Summary | None:
    """Say why a listener had to be begun anew."""
    return Summary("petstore: the listener", ledger.listener, marks={"yellow": True}) if ledger.listener else None


def removal(ledger: Ledger) -> Summary:
    """List the tests that call an operation when it is removed (``--petstore-at``)."""
    found = sorted(name for name, test in ledger.tests.items() if test.removed)
    none = ["none: no test called it on or after the day of its removal, by the fake's time"]
    return Summary(f"petstore: tests that still need {' or '.join(_removed())}", found or none)


def _removed() -> list[str]:
    from petstore_mock.interface.table import OPERATIONS  # noqa: PLC0415  # many runs do without

    return [name for name, operation in OPERATIONS.items() if operation.removed_at is not None]


# Exploration


def exploration(ledger: Ledger, count: int, seed: int, assumed: Mapping[str, str]) -> Summary:
    """Say which choices of the fake the client relies on, although the interface does not show them."""
    from petstore_mock.interface.gaps import GAPS  # noqa: PLC0415  # as above

    explored = {name: test for name, test in ledger.tests.items() if test.multiplied}
    broken = [name for name, test in explored.items() if test.as_it_is.failed]
    relied: dict[str, dict[str, list[str]]] = {}
    for name, test in sorted(explored.items()):
        for variant in [] if test.as_it_is.failed else [text for text, run in test.gaps.items() if run.failed]:
            relied.setdefault(variant.partition("=")[0], {}).setdefault(variant, []).append(name)
    lines = [
        f"{counted(len(explored), 'test')} as they are and under up to {count} behaviours each "
        f"(--petstore-explore={count} --petstore-random-seed={seed})",
        "",
    ]
    if len(broken) == len(explored):
        lines.append("Nothing is known about the client: no test passes as it is and could be explored.")
    elif not relied:
        lines.append("No test shows that the client relies on something that the interface leaves open.")
    for gap in (gap for gap in GAPS.values() if gap.name in relied):
        lines.append(f"The client, or one of its tests, relies on {gap.name} (§{gap.section}): {gap.sentence}")
        lines.append(f"  Do not assume {gap.lesson}.")
        lines += [f"  {variant}: {_listed(tests)}" for variant, tests in relied[gap.name].items()]
    lines += _block("These tests fail as they are, so their variants show nothing:", broken)
    lines += _assumptions(ledger, assumed)
    alone = [name for name, test in ledger.tests.items() if not test.multiplied]
    lines += _block(f"Not explored {_NO_VARIANTS}", alone)
    if alone:
        lines.append(
            'Only a test that names petstore can be explored: @pytest.mark.usefixtures("petstore") on it is enough.'
        )
    return Summary("petstore exploration", lines)


def _assumptions(ledger: Ledger, assumed: Mapping[str, str]) -> list[str]:
    declared: dict[str, list[str]] = {}
    for name, test in sorted(ledger.tests.items()):
        for gap, alternative in test.assumes.items():
            declared.setdefault(f"{gap}={alternative}", []).append(name)
    lines = [f"  {name}={alternative}: the setting petstore_assumes" for name, alternative in assumed.items()]
    lines += [f"  {variant}: {_listed(tests)}" for variant, tests in sorted(declared.items())]
    return ["", "Known assumptions, which the fake keeps:", *lines] if lines else []


# Mutants


def mutants(ledger: Ledger, chosen: Sequence[str], count: str, seed: int) -> Summary:
    """Say which mutants no test noticed, the weakest spots first."""
    noticed = [name for name in chosen if ledger.noticed_by(name)]
    share = _share(noticed, chosen)
    lines = [
        f"The tests noticed {len(noticed)} of {counted(len(chosen), 'service')} that break a clause each: "
        f"{percent(share)} (--petstore-mutants={count} --petstore-random-seed={seed})"
    ]
    multiplied = {name: test for name, test in ledger.tests.items() if test.multiplied}
    broken = sorted(name for name, test in multiplied.items() if test.as_it_is.finished and not test.as_it_is.passed)
    alone = sorted(name for name, test in ledger.tests.items() if not test.multiplied)
    if multiplied.keys() & ledger.telling.keys():
        lines += _survivors(ledger, chosen)
    else:
        lines.append("No test passes as it is and could be run against mutants.")
    lines += _block("These tests do not pass as they are, so nothing is known of what they would notice:", broken)
    lines += _block(f"Not run against mutants {_NO_VARIANTS}", alone)
    document = {
        "count": len(chosen),
        "noticed": len(noticed),
        "percent": round(share, 2),
        "random_seed": seed,
        "mutants": [_mutant(ledger, name) for name in chosen],
        "failed_as_they_are": broken,
        "not_run": alone,
    }
    return Summary("petstore mutants", lines, share, document)


def _mutant(ledger: Ledger, name: str) -> dict[str, Any]:
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # as above

    mutant, noticed = MUTANTS[name], ledger.noticed_by(name)
    return {
        "name": name,
        "does": mutant.words,
        "clause": mutant.clause,
        "section": mutant.clause.partition("-")[0],
        "words": _clause_words(mutant.clause),
        "noticed": bool(noticed),
        "noticed_by": noticed,
        "asked_by": ledger.asked_by(name),
    }


def _clause_words(clause: str) -> str:
    """Return the words of a clause of ``petstore_mock.verify``."""
    if importlib.util.find_spec("petstore_mock.verify") is None:  # until that room stands
        return clause
    found: Any = importlib.import_module("petstore_mock.verify.clauses")
    return str(next(one.words for one in found.CLAUSES if one.id == clause))


def _survivors(ledger: Ledger, chosen: Iterable[str]) -> list[str]:
    by_clause: dict[str, list[dict[str, Any]]] = {}
    for mutant in (_mutant(ledger, name) for name in chosen):
        by_clause.setdefault(mutant["clause"], []).append(mutant)
    asked: list[str] = []
    unasked: list[str] = []
    for found in sorted(by_clause.values(), key=_weakness):
        missed = [mutant for mutant in found if not mutant["noticed"]]
        clause = "§{section} {words} ({clause})".format(**found[0])
        if any(mutant["asked_by"] for mutant in missed):
            asked += [f"  {clause}", *(f"    {_survivor(mutant)}" for mutant in missed)]
        elif missed:
            unasked.append(f"  {clause}: {', '.join(mutant['name'] for mutant in missed)}")
    lines = ["", "Tests asked for these, and none noticed, the weakest spots first:", *asked] if asked else []
    return [*lines, "", "No test asks for these:", *unasked] if unasked else lines


def _weakness(mutants: Sequence[Mapping[str, Any]]) -> tuple[float, int]:
    missed = [len(mutant["asked_by"]) for mutant in mutants if not mutant["noticed"]]
    return -len(missed) / len(mutants), -max(missed, default=0)


def _survivor(mutant: Mapping[str, Any]) -> str:
    tests = mutant["asked_by"]
    asked = f"asked by {_listed(tests, _SHOWN_ASKING)}" if tests else "no test asks for it"
    return f"{mutant['name']}: {mutant['does']}; {asked}"


# Coverage of outcomes


def coverage(ledger: Ledger) -> Summary:
    """Say which documented outcomes and faults the tests showed to the client."""
    from petstore_mock.faults.kinds import REQUEST_KINDS  # noqa: PLC0415  # as above
    from petstore_mock.journal.outcomes import OUTCOMES  # noqa: PLC0415  # as above

    shown: dict[tuple[str, str], list[str]] = {}
    for name, test in sorted(ledger.tests.items()):
        for pair in test.shown:
            shown.setdefault(pair, []).append(name)
    documented = [(operation, outcome) for operation, outcomes in OUTCOMES.items() for outcome in outcomes]
    faults = [(operation, f"fault {kind}") for kind in REQUEST_KINDS for operation in OUTCOMES]
    missing = [pair for pair in documented if pair not in shown]
    reached = [pair for pair in documented if pair in shown]
    never = [kind for kind in REQUEST_KINDS if not any((name, f"fault {kind}") in shown for name in OUTCOMES)]
    rows = [*sorted({outcome for _, outcome in documented}), *dict.fromkeys(outcome for _, outcome in faults)]
    cells = {pair: str(len(shown.get(pair, ()))) for pair in [*documented, *faults]}
    lines = [
        _row("", OUTCOMES),
        *(_row(outcome, (cells.get((operation, outcome), "-") for operation in OUTCOMES)) for outcome in rows),
        "",
        f"Shown: {len(reached)} of {len(documented)} documented outcomes: {percent(_share(reached, documented))}.",
        f"Never shown: {', '.join(map(' '.join, missing)) or 'nothing that the interface documents'}.",
        f"Faults never shown: {', '.join(never) or 'none'}.",
    ]
    document = {
        "count": len(documented),
        "shown": len(reached),
        "percent": round(_share(reached, documented), 2),
        "outcomes": list(_rows("outcome", documented, shown)),
        "faults": list(_rows("fault", faults, shown)),
    }
    title = "petstore: outcomes that the tests showed to the client, by tests"
    return Summary(title, lines, _share(reached, documented), document)


def _rows(
    kind: str, pairs: Iterable[tuple[str, str]], shown: Mapping[tuple[str, str], list[str]]
) -> Iterator[dict[str, Any]]:
    for operation, outcome in pairs:
        tests = shown.get((operation, outcome), [])
        yield {"operation": operation, kind: outcome.removeprefix("fault "), "shown": bool(tests), "tests": tests}


def _row(name: str, cells: Iterable[str]) -> str:
    first, other = _COLUMNS
    return f"{name:<{first}}{''.join(f'{cell:>{other}}' for cell in cells)}".rstrip()
