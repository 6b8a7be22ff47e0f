"""The verdict of a run, and its output as text, JSON and TOML."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted, shown_url
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.journal.curl import curl_line
from petstore_mock.verify.clauses import CLAUSES, checks
from petstore_mock.verify.evidence import Finding, findings
from petstore_mock.verify.probes import UNKNOWN_KEY
from petstore_mock.verify.seen import History

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.clauses import Check, Clause
    from petstore_mock.verify.run import Run
    from petstore_mock.verify.seen import Seen

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
    curl: str = (
        ""  #: a shell line that repeats the request that broke the clause; it reads the key from ``$PETSTORE_KEY``
    )


@dataclass(frozen=True, slots=True)
class Drift:
    """A gap for which the service no longer makes the recorded choice."""

    gap: str  #: the name of the gap
    expected: str  #: the recorded alternative
    came: str  #: the present choice with its evidence

    def __str__(self) -> str:
        return f"{self.gap}: expected {self.expected}, as recorded; got {self.came}"


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
        lines += [f"# The run ended early: {self.stopped}"] if self.stopped else []
        lines += ["", *(f'{name} = "{value}"  # {self.gaps[name].evidence}' for name, value in self.choices.items())]
        lines += ["", "# These gaps were not learned and keep their default:"]
        lines += [f"# {name}: {finding.evidence}" for name, finding in self.gaps.items() if finding.choice is None]
        return "\n".join(lines) + "\n"


# Judging


def reach_verdict(run: Run, recorded: Mapping[str, str]) -> Verdict:
    """Check a run against every clause and the recorded choices."""
    history, keys = History(run.seen), run.secrets
    gaps = findings(History([]) if run.never_served else history, keys)
    came = {name: gaps[name] for name in recorded if gaps[name].kind != "not_observable"}
    return Verdict(
        url=hide(shown_url(run.url), keys),
        began=run.began,
        clauses=tuple(_clauses(run, history)),
        gaps=gaps,
        drift=tuple(
            Drift(name, recorded[name], one.evidence) for name, one in came.items() if one.choice != recorded[name]
        ),
        requests=len(run.seen),
        left=tuple((pet_id, hide(name, keys)) for pet_id, name in run.left),
        stopped=hide(run.stopped, keys) or None,
        notes=tuple(dict.fromkeys(hide(note, keys) for note in _notes(run))),
    )


def _notes(run: Run) -> Iterator[str]:
    for coding in {coding for seen in run.seen if (coding := seen.header("Content-Encoding"))} - {"identity"}:
        yield f"responses have Content-Encoding: {coding} although the requests accept only identity"
    for seen in run.seen:
        if seen.has_failed and (seen.effect == "creates" or seen.probe.expected == "open"):
            never = "; verify does not retry a create" if seen.effect == "creates" else ""
            yield f"{seen.line} got no usable response: {seen.came}{never}"
        if seen.probe.is_last_resort:
            yield f"the service refused every plain animal; verify tried the simplest: {seen.line} -> {seen.came}"


def _clauses(run: Run, history: History) -> Iterator[ClauseResult]:
    """Yield the result for each clause. Breaches with the same cause break only the first clause."""
    found: dict[str, list[tuple[Check, Seen]]] = defaultdict(list)
    for seen in run.checked if not run.never_served else ():
        for check in checks(seen, history):
            found[check.clause].append((check, seen))
    first: dict[str, str] = {}
    for clause in CLAUSES:
        result: Result = "holds" if found[clause.id] else "not_observable"
        detail, curl = counted(len(found[clause.id]), "time") if result == "holds" else "", ""
        breaches = [one for one in found[clause.id] if not one[0].holds]
        own = [one for one in breaches if first.setdefault(one[0].cause or clause.id, clause.id) == clause.id]
        for check, seen in own[:1]:
            key = "$PETSTORE_KEY" if seen.probe.has_key else UNKNOWN_KEY
            result, curl = "broken", curl_line(seen.exchange).replace("$PETSTORE_KEY", key)
            detail = f"{seen.line}: expected {check.expected}; got {seen.came}"
        if breaches and not own:
            result, detail = "not_observable", f"hidden by the breach of {first[breaches[0][0].cause]}"
        detail = detail or _why_unseen(clause, run, history)
        if result == "not_observable" and detail == run.stopped:
            result = "could_not_check"
        detail, curl = hide(detail, run.secrets), hide(curl, run.secrets)
        yield ClauseResult(clause.id, clause.section, clause.words, result, detail, curl)


def _why_unseen(clause: Clause, run: Run, history: History) -> str:
    if run.never_served:
        return run.stopped
    sent = [seen for seen in run.checked if clause.is_shown_by(seen.probe)]
    tried = [seen for seen in sent if seen.probe.is_valid or seen.probe.shows == clause.id]
    if not history.accepts_plain and any(seen.effect == "creates" for seen in tried):
        return "the service refused every plain animal"
    if tried and not (clause.needs and any(seen.is_success for seen in tried)):
        return f"no response shows it, for example {tried[0].line} -> {cut(tried[0].came, 60)}"
    reasons = [why for probe, why in run.skipped if clause.is_shown_by(probe)]
    if clause.needs:  # the need says more than "no animal was created"
        reasons = [why for why in reasons if not why.startswith("no ")]
    reasons += [run.stopped] if run.stopped and not sent else []
    return (*reasons, f"needs {clause.needs}" if clause.needs else "no probe for it was sent")[0]


# Output

_MOST_SERIOUS_FIRST: Final = ("5", "4", "1", "2", "7")  # chapters of the interface


def as_text(verdict: Verdict, *, verbose: bool = False) -> str:
    """Return the findings, most serious first, then a summary. ``verbose`` adds the clauses that hold, and the gaps."""
    by_weight = sorted(verdict.broken, key=lambda clause: _MOST_SERIOUS_FIRST.index(clause.section[0]))
    parts = [("BROKEN", f"{clause.id}: {clause.words}", clause.detail, clause.curl) for clause in by_weight]
    parts += [("DRIFT", str(drift), "", "") for drift in verdict.drift]
    parts += [("note", note, "", "") for note in verdict.notes]
    unseen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for clause in verdict.clauses:
        if clause.result in {"could_not_check", "not_observable"} and clause.detail != verdict.stopped:
            unseen[clause.result.replace("_", " "), clause.detail].append(clause.id)
    parts += [(result, ", ".join(names), reason, "") for (result, reason), names in unseen.items()]
    if verbose:
        held = [clause for clause in verdict.clauses if clause.result == "holds"]
        parts += [("holds", f"{clause.id}: {clause.words}", "", "") for clause in held]
        parts += [("gap", f"{name}: {finding.evidence}", "", "") for name, finding in verdict.gaps.items()]
    if verdict.left:
        animals = ", ".join(f"{name} (id {pet_id or 'lost'})" for pet_id, name in verdict.left)
        parts.append(("left behind", f"at most {counted(verdict.created, 'animal')}: {animals}", "", ""))
    lines = [f"{verdict.url}, {verdict.began}"]
    for mark, first, *further in parts:
        lines += [f"{mark:<15} {first}", *(f"{'':<15} {line}" for line in further if line)]
    counts = Counter(clause.result.replace("_", " ") for clause in verdict.clauses)
    summary = ", ".join(
        f"{words}: {count}" for words, count in {**counts, "drifted": len(verdict.drift)}.items() if count
    )
    stopped = f"; stopped: {verdict.stopped}" if verdict.stopped else ""
    return "\n".join([*lines, f"{summary}; {counted(verdict.requests, 'request')}{stopped}"]) + "\n"


def json_text(verdict: Verdict) -> str:
    """Return the verdict as JSON."""
    left = [{"id": pet_id, "name": name} for pet_id, name in verdict.left]
    further = {"date": verdict.began, "exit_code": verdict.exit_code, "created": verdict.created, "left": left}
    return json.dumps({**asdict(verdict), **further}, indent=2, ensure_ascii=False) + "\n"
