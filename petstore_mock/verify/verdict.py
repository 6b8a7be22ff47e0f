"""The verdict on a service, and its output as text, JSON and TOML."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import cut
from petstore_mock.common.suggesting import readable
from petstore_mock.common.values import counted
from petstore_mock.interface.behaviour import Behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.evidence import Finding

Result = Literal["holds", "broken", "not_observable", "could_not_check"]

HOLDS: Final = 0
BROKEN: Final = 1
COULD_NOT_CHECK: Final = 3


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """The result for one clause."""

    id: str  #: the id of the clause
    section: str  #: the section of the interface
    words: str  #: the sentence of the clause
    result: Result  #: ``holds``, ``broken``, ``not_observable`` or ``could_not_check``
    detail: str  #: the evidence, the breach, or the reason why the clause was not observed; keys are masked
    #: a shell line that repeats the request that broke the clause; it reads the key from ``$PETSTORE_KEY``
    curl: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """A gap for which the service no longer makes the recorded choice."""

    gap: str  #: the name of the gap
    expected: str  #: the recorded alternative
    came: str  #: the present choice with its evidence

    def __str__(self) -> str:
        return f"{self.gap}: expected {self.expected}, as recorded; got {self.came}"


@readable()
@dataclass(frozen=True)
class Verdict:
    """The result of a run."""

    url: str  #: the base address
    began: str  #: the start time in ISO 8601
    clauses: tuple[ClauseResult, ...]  #: the result for each clause, in the order of the interface
    gaps: Mapping[str, Finding]  #: the detected choice for each gap, by name
    drift: tuple[Drift, ...]  #: the gaps with another choice than recorded
    requests: int  #: the number of requests
    #: the id (None if no response showed it) and the name of each animal that the run created or may have created
    left: tuple[tuple[int | None, str], ...]
    stopped: str | None  #: why the run ended early; None if it did not, or if it reached a limit of the user
    notes: tuple[str, ...]  #: other observations that break no clause

    @property
    def created(self) -> int:
        """The number of animals that the run created or may have created."""
        return len(self.left)

    @property
    def broken(self) -> tuple[ClauseResult, ...]:
        """The results of the broken clauses."""
        return tuple(clause for clause in self.clauses if clause.result == "broken")

    @property
    def passed(self) -> bool:
        """Whether clauses were observed, none is broken, no gap drifted, and ``stopped`` is None."""
        return self.exit_code == HOLDS

    @property
    def exit_code(self) -> int:
        """0 if every observed clause holds, 1 on a broken clause or drift, 3 if the service could not be checked."""
        results = {clause.result for clause in self.clauses}
        if "broken" in results or self.drift:
            return BROKEN
        is_seen = "holds" in results and "could_not_check" not in results and not self.stopped
        return HOLDS if is_seen else COULD_NOT_CHECK

    def __str__(self) -> str:
        return as_text(self)

    @property
    def choices(self) -> dict[str, str]:
        """The learned gaps with their alternatives."""
        return {name: finding.choice for name, finding in self.gaps.items() if finding.choice is not None}

    @property
    def behaviour(self) -> Behaviour:
        """The choices as a ``Behaviour``. Other gaps keep their default."""
        return Behaviour().replace(self.choices)

    def to_toml(self) -> str:
        """Return a TOML file for ``behaviour=`` and ``serve --behaviour``: a line for each gap, with its evidence."""
        lines = [f"# Learned from {self.url}, {self.began}: {len(self.choices)} of {len(self.gaps)} gaps."]
        if self.stopped:
            lines.append(f"# The run ended early: {self.stopped}")
        learned = [f'{name} = "{choice}"  # {self.gaps[name].evidence}' for name, choice in self.choices.items()]
        unknown = [f"# {name}: {finding.evidence}" for name, finding in self.gaps.items() if finding.choice is None]
        lines += ["", *learned, "", "# These gaps were not learned and keep their default:", *unknown]
        return "\n".join(lines) + "\n"


# Output

# The text of a report beside its margin, in columns of a terminal.
_COLUMNS: Final = 100
_MOST_NAME: Final = 40  # characters of an animal's name; a run creates names of 256
# Chapters of the interface.
_MOST_SERIOUS_FIRST: Final = ("5", "4", "1", "2", "7")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the report: a mark in the margin, and lines beside it."""

    mark: str
    lines: tuple[str, ...]

    def text(self) -> str:
        first, *others = [line for line in self.lines if line]
        return "\n".join([f"{self.mark:<15} {first}", *(f"{'':<15} {line}" for line in others)])


def as_text(verdict: Verdict, *, verbose: bool = False) -> str:
    """Return the findings, most serious first, then a summary. ``verbose`` adds the clauses that hold, and the gaps."""
    parts = [*_findings(verdict), *_unseen(verdict), *(_verbose(verdict) if verbose else ()), *_left(verdict)]
    lines = [f"{verdict.url}, {verdict.began}", *(part.text() for part in parts), _summary(verdict)]
    return "\n".join(lines) + "\n"


def _weight(clause: ClauseResult) -> int:
    return _MOST_SERIOUS_FIRST.index(clause.section[0])


def _findings(verdict: Verdict) -> Iterator[_Part]:
    for clause in sorted(verdict.broken, key=_weight):
        yield _Part("BROKEN", (f"{clause.id}: {clause.words}", clause.detail, clause.curl))
    for drift in verdict.drift:
        yield _Part("DRIFT", (str(drift),))
    for note in verdict.notes:
        yield _Part("note", (note,))


def _unseen(verdict: Verdict) -> Iterator[_Part]:
    """Yield the clauses that were not observed, by reason."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for clause in verdict.clauses:
        is_unseen = clause.result in {"could_not_check", "not_observable"}
        # The summary says why the run ended.
        if is_unseen and clause.detail != verdict.stopped:
            by_reason[clause.result.replace("_", " "), clause.detail].append(clause.id)
    for (result, reason), names in by_reason.items():
        ids = wrap(", ".join(names), _COLUMNS, break_on_hyphens=False)
        yield _Part(result, (*ids, reason))


def _verbose(verdict: Verdict) -> Iterator[_Part]:
    for clause in verdict.clauses:
        if clause.result == "holds":
            yield _Part("holds", (f"{clause.id}: {clause.words}",))
    for name, finding in verdict.gaps.items():
        yield _Part("gap", (f"{name}: {finding.evidence}",))


def _left(verdict: Verdict) -> Iterator[_Part]:
    if verdict.left:
        animals = ", ".join(f"{cut(name, _MOST_NAME)} (id {pet_id or 'lost'})" for pet_id, name in verdict.left)
        text = f"at most {counted(verdict.created, 'animal')}: {animals}"
        yield _Part("left behind", tuple(wrap(text, _COLUMNS, break_on_hyphens=False)))


def _summary(verdict: Verdict) -> str:
    counts = Counter(clause.result.replace("_", " ") for clause in verdict.clauses)
    counts["drifted"] = len(verdict.drift)
    results = ", ".join(f"{words}: {count}" for words, count in counts.items() if count)
    stopped = f"; stopped: {verdict.stopped}" if verdict.stopped else ""
    return f"{results}; {counted(verdict.requests, 'request')}{stopped}"


def json_text(verdict: Verdict) -> str:
    """Return the verdict as JSON."""
    left = [{"id": pet_id, "name": name} for pet_id, name in verdict.left]
    further = {"date": verdict.began, "exit_code": verdict.exit_code, "created": verdict.created, "left": left}
    return json.dumps({**asdict(verdict), **further}, indent=2, ensure_ascii=False) + "\n"
