"""What a run found, and its forms for people and programs: text, JSON, JUnit's XML."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal
from xml.etree import ElementTree as ET

from petstore_mock.common.values import counted
from petstore_mock.interface.table import BASE_PATH, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.evidence import Finding

Result = Literal["holds", "broken", "not_observable", "could_not_check"]

HOLDS: Final = 0
BROKEN: Final = 1
COULD_NOT_CHECK: Final = 3


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """What is known of a clause.

    Attributes:
        id: the clause's.
        section: the section of the interface.
        words: what it says.
        result: ``holds``, ``broken``, ``not_observable`` or ``could_not_check``.
        detail: what showed it, what broke it, or why it could not be seen; keys are left out.
        request: the request that broke it, and the response.
        curl: a shell line that sends that request again; the key stands in ``$PETSTORE_KEY``.
    """

    id: str
    section: str
    words: str
    result: Result
    detail: str
    request: str = ""
    curl: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """A choice that the service no longer makes as it was recorded.

    Attributes:
        gap: the gap's name.
        expected: the recorded alternative.
        came: what the service does now.
    """

    gap: str
    expected: str
    came: str

    def __str__(self) -> str:
        return f"{self.gap}: recorded is {self.expected}; came {self.came}"


@dataclass(frozen=True)
class Verdict:
    """What a run found.

    Attributes:
        url: the base address.
        began: when, in ISO 8601.
        clauses: what is known of every clause, in the interface's order.
        gaps: what is known of every gap, by name.
        drift: the gaps that are no longer as recorded.
        requests: how many were sent.
        left: the animals that were, or may have been, left behind: id (None if its response was lost) and name.
        stopped: why it ended early, or None.
        notes: what else the run noticed; none of it breaks the contract.
    """

    url: str
    began: str
    clauses: tuple[ClauseResult, ...]
    gaps: Mapping[str, Finding]
    drift: tuple[Drift, ...]
    requests: int
    left: tuple[tuple[int | None, str], ...]
    stopped: str | None
    notes: tuple[str, ...]

    @property
    def created(self) -> int:
        """How many animals were, or may have been, left behind."""
        return len(self.left)

    @property
    def broken(self) -> tuple[ClauseResult, ...]:
        """The clauses that are broken."""
        return tuple(clause for clause in self.clauses if clause.result == "broken")

    @property
    def passed(self) -> bool:
        """Whether something was seen, all of it holds, and nothing has drifted."""
        return self.exit_code == HOLDS

    @property
    def exit_code(self) -> int:
        """0 if what was seen holds, 1 if the contract or the recorded behaviour is broken, 3 if it can't be said."""
        results = {clause.result for clause in self.clauses}
        if "broken" in results or self.drift:
            return BROKEN
        is_seen = "holds" in results and "could_not_check" not in results and not self.stopped
        return HOLDS if is_seen else COULD_NOT_CHECK

    def __str__(self) -> str:
        return as_text(self)


_MARKS: Final[Mapping[str, str]] = {
    "broken": "BROKEN",
    "could_not_check": "could not check",
    "not_observable": "not observable",
    "holds": "holds",
}
_SECTIONS: Final[Mapping[str, str]] = {
    "1": "What the service does",
    "2": "Resources and their fields",
    **{operation.section: operation.summary for operation in OPERATIONS.values()},
    "5": "Authentication",
    "7": "Errors",
}
_MOST_SERIOUS_FIRST: Final = ("5", "4", "1", "2", "7")  # the first part of the section
_INDENT: Final = " " * 16


def as_text(verdict: Verdict, *, verbose: bool = False) -> str:
    """Return the findings, most serious first, then the summary; ``verbose`` adds every clause and gap."""
    lines = [f"{verdict.url}, {verdict.began}"]
    for clause in sorted(verdict.broken, key=lambda clause: _MOST_SERIOUS_FIRST.index(clause.section[0])):
        lines += _clause(clause)
    lines += [f"{'DRIFT':<15} {drift}" for drift in verdict.drift]
    lines += [f"{'note':<15} {note}" for note in verdict.notes]
    lines += _not_seen(verdict)
    if verbose:
        for section, clauses in groupby(verdict.clauses, key=lambda clause: clause.section):
            lines += ["", f"§{section} {_SECTIONS.get(section, '')}"]
            lines += [line for clause in clauses if clause.result != "broken" for line in _clause(clause)]
        lines += ["", "Where the interface shows nothing"]
        lines += [f"{name}: {_choice(finding)}" for name, finding in verdict.gaps.items()]
    lines += [*_left(verdict), _summary(verdict)]
    if verdict.broken and not verdict.url.endswith(BASE_PATH):
        lines.append(f"The interface's base address ends in {BASE_PATH}, and this one does not: is it the right one?")
    return "\n".join(lines) + "\n"


def _clause(clause: ClauseResult) -> list[str]:
    further = [clause.detail, clause.curl] if clause.result != "holds" else []
    return [f"{_MARKS[clause.result]:<15} {clause.id}: {clause.words}", *(_INDENT + line for line in further if line)]


def _not_seen(verdict: Verdict) -> Iterator[str]:
    """Yield the clauses that were not seen, by the reason."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for clause in verdict.clauses:
        if clause.result in {"could_not_check", "not_observable"} and clause.detail != verdict.stopped:
            reasons[clause.result, clause.detail].append(clause.id)
    for (result, reason), clauses in reasons.items():
        yield f"{_MARKS[result]:<15} {', '.join(clauses)}"
        yield _INDENT + reason


def _choice(finding: Finding) -> str:
    return finding.evidence if finding.choice is None else f"{finding.choice} ({finding.evidence})"


def _left(verdict: Verdict) -> list[str]:
    if not verdict.left:
        return []
    ids = [str(pet_id) for pet_id, _ in verdict.left if pet_id is not None]
    starts = {name[: len("Verify") + 6] for _, name in verdict.left if name.startswith("Verify")}
    names = f"their names begin with {', '.join(sorted(starts))}" if starts else "none has a name of this tool"
    count = counted(len(verdict.left), "animal")
    return [f"{'left behind':<15} at most {count}: {names}; their ids are {', '.join(ids) or 'lost'}"]


def _summary(verdict: Verdict) -> str:
    results: Counter[str] = Counter(clause.result for clause in verdict.clauses)
    parts = [f"{results[result]} {words.lower()}" for result, words in _MARKS.items() if results[result]]
    parts += [f"{len(verdict.drift)} drifted"] if verdict.drift else []
    stopped = f"; stopped: {verdict.stopped}" if verdict.stopped else ""
    return f"{', '.join(parts)}; {counted(verdict.requests, 'request')}{stopped}"


def json_text(verdict: Verdict) -> str:
    """Return the record that programs read."""
    clauses = [{name: value for name, value in asdict(clause).items() if value != ""} for clause in verdict.clauses]
    gaps = {name: {"choice": one.choice, "evidence": one.evidence} for name, one in verdict.gaps.items()}
    record = {
        "url": verdict.url,
        "date": verdict.began,
        "exit_code": verdict.exit_code,
        "requests": verdict.requests,
        "created": verdict.created,
        "left": [{"id": pet_id, "name": name} for pet_id, name in verdict.left],
        "stopped": verdict.stopped,
        "notes": verdict.notes,
        "clauses": clauses,
        "gaps": gaps,
        "drift": [asdict(drift) for drift in verdict.drift],
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def as_junit(verdict: Verdict) -> str:
    """Return JUnit's XML: a test a clause and a drifted gap; what could not be checked is an error."""
    suite = ET.Element("testsuite", name="petstore-mock verify", timestamp=verdict.began[:19], hostname=verdict.url)
    cases = [("contract", clause.id, clause.result, f"{clause.words}: {clause.detail}") for clause in verdict.clauses]
    cases += [("drift", drift.gap, "broken", str(drift)) for drift in verdict.drift]
    tags: Counter[str] = Counter(tests=len(cases), failures=0, errors=0, skipped=0)
    marks = {"broken": "failures", "could_not_check": "errors", "not_observable": "skipped"}
    for kind, name, result, detail in cases:
        case = ET.SubElement(suite, "testcase", classname=f"petstore.{kind}", name=name, time="0")
        if result in marks:
            ET.SubElement(case, marks[result].removesuffix("s"), message=detail)
            tags[marks[result]] += 1
    for tag, count in tags.items():
        suite.set(tag, str(count))
    root = ET.Element("testsuites")
    root.append(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
