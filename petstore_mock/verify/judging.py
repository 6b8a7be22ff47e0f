"""Holds a run against every clause, and against a recorded behaviour: the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from petstore_mock.common.values import counted
from petstore_mock.journal.curl import curl_line
from petstore_mock.verify.clauses import CLAUSES, Breach, Silent
from petstore_mock.verify.evidence import findings
from petstore_mock.verify.seen import History, shown
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.clauses import Clause, Outcome
    from petstore_mock.verify.evidence import Finding
    from petstore_mock.verify.run import Run
    from petstore_mock.verify.seen import Seen
    from petstore_mock.verify.verdict import Result


def reach_verdict(run: Run, url: str, date: str, keys: tuple[str, ...], recorded: Mapping[str, str]) -> Verdict:
    """Hold a run against every clause, and against the recorded choices."""
    guest = run.guest
    history = History(guest.seen)
    gaps = findings(History([]) if guest.never_served else history, keys)
    return Verdict(
        url=shown(url, keys),
        began=date,
        clauses=tuple(_with_one_finding_a_cause([_judged(clause, run, history, keys) for clause in CLAUSES])),
        gaps=gaps,
        drift=tuple(_drift(gaps, recorded)),
        requests=len(guest.seen),
        left=tuple((pet_id, shown(name, keys)) for pet_id, name in guest.left),
        stopped=shown(guest.stopped, keys) or None,
        notes=tuple(shown(note, keys) for note in _notes(run)),
    )


def _drift(gaps: Mapping[str, Finding], recorded: Mapping[str, str]) -> Iterator[Drift]:
    for name, expected in recorded.items():
        finding = gaps[name]
        if finding.kind not in {"not_observable", "not_looked_at"} and finding.choice != expected:
            came = f"{finding.choice} ({finding.evidence})" if finding.choice else finding.evidence
            yield Drift(name, expected, came)


def _notes(run: Run) -> Iterator[str]:
    for coding in {coding for seen in run.guest.seen if (coding := seen.header("Content-Encoding"))} - {"identity"}:
        yield f"responses came with Content-Encoding: {coding} although identity was asked for"
    for seen in run.guest.seen:
        if seen.has_failed and seen.effect == "creates":
            yield f"{seen.line} had no usable response ({seen.came}): a create is never sent again"
        if seen.probe is not None and seen.probe.creates == "last resort":
            yield f"the plain animals of this tool were refused; the plainest one: {seen.line} -> {seen.came}"


def _judged(clause: Clause, run: Run, history: History, keys: tuple[str, ...]) -> tuple[ClauseResult, str]:
    """Return what the run shows of a clause, and the cause of a breach."""

    def result(how: Result, detail: str, request: str = "", curl: str = "") -> ClauseResult:
        detail, request, curl = shown(detail, keys), shown(request, keys), shown(curl, keys)
        return ClauseResult(clause.id, clause.section, clause.words, how, detail, request, curl)

    stopped = run.guest.stopped
    if run.guest.never_served:
        return result("could_not_check", stopped or "nothing was served"), ""
    held, silent, outages = 0, list[str](), list[str]()
    for seen in (seen for probe, found in run.checked.items() if clause.is_shown_by(probe) for seen in found):
        outcome = _outcome(clause, seen, history)
        if isinstance(outcome, Breach):
            detail = f"{seen.line}: {outcome.expected}; came {outcome.came or seen.came}"
            return result("broken", detail, f"{seen.line} -> {seen.came}", curl_line(seen.exchange)), outcome.cause
        if outcome is None:
            held += 1
        else:
            (outages if seen.has_failed and not seen.confirmed else silent).append(outcome.why)
    skipped = [why for probe, why in run.skipped.items() if clause.is_shown_by(probe)]
    if held:
        return result("holds", counted(held, "response")), ""
    if outages or (stopped and not skipped and not silent):
        return result("could_not_check", (*outages, stopped)[0]), ""
    return result("not_observable", (*silent, *skipped, "no request that shows it was sent")[0]), ""


def _outcome(clause: Clause, seen: Seen, history: History) -> Outcome:
    if not seen.has_failed:
        return clause.judge(seen, history)
    if not seen.confirmed:
        return Silent(f"{seen.line}: {seen.came}, as by a service that is not there")
    blamed = _blamed(seen, history)
    if blamed is clause:
        return Breach("expected a whole response" if seen.failure else "expected no 5xx", seen.came)
    return Silent(f"not checked, because of {blamed.id}" if blamed else f"{seen.line}: {seen.came}")


def _blamed(seen: Seen, history: History) -> Clause | None:
    """Return the clause that breaks because of a request without a usable response."""
    probe = seen.probe
    assert probe is not None  # noqa: S101  # for the type checker: a run sends probes
    if seen.failure is not None and seen.failure.kind == "frame":
        return next(clause for clause in CLAUSES if clause.blame == "frame")
    found = [clause for clause in CLAUSES if clause.blame == "failure" and clause.is_shown_by(probe.name)]
    own = [clause for clause in found if probe.name in clause.probes]
    if own and not probe.is_valid:
        return own[0]
    same = [one for one in history.exchanges if one.has_failed and one.operation is seen.operation]
    is_valid = probe.is_valid or seen.failure is not None  # no request, valid or not, gets half a response
    return found[0] if found and is_valid and len(same) > 1 else None


def _with_one_finding_a_cause(judged: list[tuple[ClauseResult, str]]) -> Iterator[ClauseResult]:
    first: dict[str, str] = {}
    for result, cause in judged:
        if cause and first.setdefault(cause, result.id) != result.id:
            detail = f"not checked, because of {first[cause]}"
            yield replace(result, result="not_observable", detail=detail, request="", curl="")
        else:
            yield result
