"""What a run found, clause by clause, and its forms for people and programs: text, JSON, JUnit's XML, TOML."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal
from xml.etree import ElementTree as ET

from petstore_mock.common.masking import cut
from petstore_mock.common.values import counted
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.journal.curl import curl_line
from petstore_mock.verify.clauses import CLAUSES, looks
from petstore_mock.verify.evidence import Finding, findings
from petstore_mock.verify.seen import History, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.clauses import Clause, Look
    from petstore_mock.verify.guest import Guest
    from petstore_mock.verify.seen import Seen

Result = Literal["holds", "broken", "not_observable", "could_not_check"]

HOLDS: Final = 0
BROKEN: Final = 1
COULD_NOT_CHECK: Final = 3


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """What is known of a clause."""

    id: str  #: the clause's
    section: str  #: the section of the interface
    words: str  #: what it says
    result: Result  #: ``holds``, ``broken``, ``not_observable`` or ``could_not_check``
    detail: str  #: what showed it, what broke it, or why it could not be seen; keys are left out
    curl: str = ""  #: a shell line that sends the request that broke it again; the key stands in ``$PETSTORE_KEY``


@dataclass(frozen=True, slots=True)
class Drift:
    """A choice that the service no longer makes as it was recorded."""

    gap: str  #: the gap's name
    expected: str  #: the recorded alternative
    came: str  #: what the service does now

    def __str__(self) -> str:
        return f"{self.gap}: recorded is {self.expected}; came {self.came}"


@dataclass(frozen=True)
class Verdict:
    """What a run found."""

    url: str  #: the base address
    began: str  #: when, in ISO 8601
    clauses: tuple[ClauseResult, ...]  #: what is known of every clause, in the interface's order
    gaps: Mapping[str, Finding]  #: what is known of every gap, by name
    drift: tuple[Drift, ...]  #: the gaps that are no longer as recorded
    requests: int  #: how many were sent
    #: id (None if its response was lost) and name of each animal that was or may have been left behind
    left: tuple[tuple[int | None, str], ...]
    stopped: str | None  #: why it ended early, or None
    notes: tuple[str, ...]  #: what else the run noticed; none of it breaks the contract

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


@dataclass(frozen=True)
class Learned:
    """The choices that a run has shown."""

    verdict: Verdict  #: the run's

    @property
    def gaps(self) -> Mapping[str, Finding]:
        """What is known of every gap."""
        return self.verdict.gaps

    @property
    def choices(self) -> dict[str, str]:
        """The gaps that could be told, with their alternatives."""
        return {name: finding.choice for name, finding in self.gaps.items() if finding.choice is not None}

    @property
    def behaviour(self) -> Behaviour:
        """The choices as a ``Behaviour``; what could not be told stays at its default."""
        return Behaviour().replace(self.choices)

    def to_toml(self) -> str:
        """Return a file for ``behaviour=`` and ``serve --behaviour``: a line a gap, with what showed it."""
        verdict = self.verdict
        lines = [f"# Learned from {verdict.url}, {verdict.began}: {len(self.choices)} of {len(self.gaps)} gaps."]
        lines += [f"# It ended early: {verdict.stopped}"] if verdict.stopped else []
        lines += ["", *(f'{name} = "{value}"  # {self.gaps[name].evidence}' for name, value in self.choices.items())]
        lines += ["", "# What can't be told stays at its default:"]
        lines += [f"# {name}: {finding.evidence}" for name, finding in self.gaps.items() if finding.choice is None]
        return "\n".join(lines) + "\n"


# Judging


def reach_verdict(guest: Guest, url: str, date: str, keys: tuple[str, ...], recorded: Mapping[str, str]) -> Verdict:
    """Hold a run against every clause, and against the recorded choices."""
    history = History(guest.seen)
    gaps = findings(History([]) if guest.never_served else history, keys)
    return Verdict(
        url=shown(url, keys),
        began=date,
        clauses=tuple(_clauses(guest, history, keys)),
        gaps=gaps,
        drift=tuple(_drift(gaps, recorded)),
        requests=len(guest.seen),
        left=tuple((pet_id, shown(name, keys)) for pet_id, name in guest.left),
        stopped=shown(guest.stopped, keys) or None,
        notes=tuple(dict.fromkeys(shown(note, keys) for note in _notes(guest))),
    )


def _drift(gaps: Mapping[str, Finding], recorded: Mapping[str, str]) -> Iterator[Drift]:
    for name, expected in recorded.items():
        finding = gaps[name]
        if finding.kind != "not_observable" and finding.choice != expected:
            yield Drift(name, expected, finding.evidence)


def _notes(guest: Guest) -> Iterator[str]:
    for coding in {coding for seen in guest.seen if (coding := seen.header("Content-Encoding"))} - {"identity"}:
        yield f"responses came with Content-Encoding: {coding} although identity was asked for"
    for seen in guest.seen:
        if seen.has_failed and (seen.effect == "creates" or seen.probe.expected == "open"):
            never = ": a create is never sent again" if seen.effect == "creates" else ""
            yield f"{seen.line} had no usable response ({seen.came}){never}"
        if seen.probe.is_last_resort:
            yield f"the plain animals of this tool were refused; the plainest one: {seen.line} -> {seen.came}"


def _clauses(guest: Guest, history: History, keys: tuple[str, ...]) -> Iterator[ClauseResult]:
    """Yield what is known of each clause; of breaches with one cause, the first is the finding."""
    found: dict[str, list[tuple[Look, Seen]]] = defaultdict(list)
    for seen in guest.checked if not guest.never_served else ():
        for look in looks(seen, history):
            found[look.clause].append((look, seen))
    first: dict[str, str] = {}
    for clause in CLAUSES:
        result: Result = "holds" if found[clause.id] else "not_observable"
        detail, curl = counted(len(found[clause.id]), "time") if result == "holds" else "", ""
        breaches = [one for one in found[clause.id] if not one[0].holds]
        own = [one for one in breaches if first.setdefault(one[0].cause or clause.id, clause.id) == clause.id]
        for look, seen in own[:1]:
            result, curl = "broken", curl_line(seen.exchange, own_ca=False)
            detail = f"{seen.line}: expected {look.expected or clause.words}; came {seen.came}"
        if breaches and not own:
            result, detail = "not_observable", f"not checked, because of {first[breaches[0][0].cause]}"
        detail = detail or _why_unseen(clause, guest, history)
        if result == "not_observable" and detail == guest.stopped:
            result = "could_not_check"
        yield ClauseResult(clause.id, clause.section, clause.words, result, shown(detail, keys), shown(curl, keys))


def _why_unseen(clause: Clause, guest: Guest, history: History) -> str:
    if guest.never_served:
        return guest.stopped
    sent = [seen for seen in guest.checked if clause.is_shown_by(seen.probe)]
    tried = [seen for seen in sent if seen.probe.is_valid or seen.probe.shows == clause.id]
    if not history.accepts_plain and any(seen.effect == "creates" for seen in tried):
        return "the service refused the plain animals of this tool"
    if tried and not (clause.needs and any(seen.is_success for seen in tried)):
        return f"no response shows it, such as {tried[0].line} -> {cut(tried[0].came, 60)}"
    reasons = [why for probe, why in guest.skipped if clause.is_shown_by(probe)]
    if clause.needs:  # which says more than what a request lacked
        reasons = [why for why in reasons if not why.startswith("no ")]
    reasons += [guest.stopped] if guest.stopped and not sent else []
    return (*reasons, f"it takes {clause.needs}" if clause.needs else "no request that shows it was sent")[0]


# The forms

_MOST_SERIOUS_FIRST: Final = ("5", "4", "1", "2", "7")  # the first part of the section


def as_text(verdict: Verdict, *, verbose: bool = False) -> str:
    """Return the findings, most serious first, then the summary; ``verbose`` adds every clause and gap."""
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
        f"{count} {words}" for words, count in {**counts, "drifted": len(verdict.drift)}.items() if count
    )
    stopped = f"; stopped: {verdict.stopped}" if verdict.stopped else ""
    return "\n".join([*lines, f"{summary}; {counted(verdict.requests, 'request')}{stopped}"]) + "\n"


def json_text(verdict: Verdict) -> str:
    """Return the record that programs read."""
    left = [{"id": pet_id, "name": name} for pet_id, name in verdict.left]
    further = {"date": verdict.began, "exit_code": verdict.exit_code, "created": verdict.created, "left": left}
    return json.dumps({**asdict(verdict), **further}, indent=2, ensure_ascii=False) + "\n"


def as_junit(verdict: Verdict) -> str:
    """Return JUnit's XML: a test a clause and a drifted gap; what could not be checked is an error."""
    suite = ET.Element("testsuite", name="petstore-mock verify", timestamp=verdict.began[:19], hostname=verdict.url)
    cases = [("contract", clause.id, clause.result, f"{clause.words}: {clause.detail}") for clause in verdict.clauses]
    cases += [("drift", drift.gap, "broken", str(drift)) for drift in verdict.drift]
    tags = {"broken": "failure", "could_not_check": "error", "not_observable": "skipped"}
    for kind, name, result, detail in cases:
        case = ET.SubElement(suite, "testcase", classname=f"petstore.{kind}", name=name, time="0")
        if result in tags:
            ET.SubElement(case, tags[result], message=detail)
    counted_as = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
    for attribute, path in {**counted_as, "skipped": "testcase/skipped"}.items():
        suite.set(attribute, str(len(suite.findall(path))))
    root = ET.Element("testsuites")
    root.append(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
