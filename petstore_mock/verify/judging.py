"""Reaches the verdict of a run: checks its exchanges against every clause and every recorded choice."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted, shown_url
from petstore_mock.interface.table import LABEL
from petstore_mock.journal.curl import curl_line
from petstore_mock.verify.clauses import CLAUSES, checks
from petstore_mock.verify.evidence import findings
from petstore_mock.verify.probes import UNKNOWN_KEY, USED_LABEL
from petstore_mock.verify.run import ALL_REFUSED
from petstore_mock.verify.seen import History
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.evidence import Finding
    from petstore_mock.verify.row import Clause, Result
    from petstore_mock.verify.run import Run
    from petstore_mock.verify.seen import Seen
    from petstore_mock.verify.verdict import Result as ClauseOutcome

    Checked = list[tuple[Result, Seen]]


def reach_verdict(run: Run, recorded: Mapping[str, str]) -> Verdict:
    """Check a run against every clause and the recorded choices."""
    keys = run.secrets
    served = run.seen
    if run.never_served:
        served = []
    history = History(served)
    gaps = findings(history, keys)
    url = hide(shown_url(run.url), keys)
    clauses = tuple(_Judge(run, history).results())
    left = tuple((pet_id, hide(name, keys)) for pet_id, name in run.left)
    notes = dict.fromkeys(hide(note, keys) for note in _notes(run))
    return Verdict(
        url=url,
        began=run.began,
        clauses=clauses,
        gaps=gaps,
        drift=tuple(_drift(recorded, gaps)),
        requests=len(run.seen),
        left=left,
        stopped=hide(run.stopped, keys) or None,
        notes=tuple(notes),
    )


def _drift(recorded: Mapping[str, str], gaps: Mapping[str, Finding]) -> Iterator[Drift]:
    for name, choice in recorded.items():
        finding = gaps[name]
        if finding.kind != "not_observable" and finding.choice != choice:
            yield Drift(name, choice, finding.evidence)


def _notes(run: Run) -> Iterator[str]:
    codings = {seen.header("Content-Encoding") for seen in run.seen} - {"", "identity"}
    for coding in sorted(codings):
        yield f"responses have Content-Encoding: {coding} although the requests accept only identity"
    for seen in run.seen:
        if seen.has_failed and seen.operation.does.adds:
            words = f"{seen.line} got no usable response: {seen.came}; verify does not retry a create"
            if _is_kept(run, seen):
                words += ", and the service kept its animal"
            yield words
        if seen.is_refusal and USED_LABEL in seen.template.body:
            yield f"{seen.line} got {seen.status} for the {LABEL} of another animal"
        if seen.probe.is_last_resort:
            yield f"the service refused every plain animal; verify tried the simplest: {seen.line} -> {seen.came}"


def _is_kept(run: Run, create: Seen) -> bool:
    """Whether a later response shows the animal of a create without a response."""
    labels = [seen.label for seen in run.seen]
    # Another create may have sent the same text.
    if not create.label or labels.count(create.label) > 1:
        return False
    return any(seen.with_label(create.label) for seen in run.seen[create.number :])


class _Judge:
    """Judges the exchanges of a run. Breaches with the same cause break only the first clause."""

    def __init__(self, run: Run, history: History) -> None:
        self._run = run
        self._history = history
        self._checked: dict[str, Checked] = defaultdict(list)
        # The first clause that each cause breaks.
        self._first: dict[str, str] = {}
        # Failures of a service that never served a request break no clause.
        if run.never_served:
            return
        for seen in run.checked:
            for clause, result in checks(seen, history):
                self._checked[clause].append((result, result.shown_by or seen))

    def results(self) -> Iterator[ClauseResult]:
        for clause in CLAUSES:
            result, detail, curl = self._result(clause)
            keys = self._run.secrets
            yield ClauseResult(clause.id, clause.section, clause.words, result, hide(detail, keys), hide(curl, keys))

    def _result(self, clause: Clause) -> tuple[ClauseOutcome, str, str]:
        """Return the result for a clause, with its detail and a curl line."""
        checked = self._checked[clause.id]
        hidden_by = ""
        for result, seen in checked:
            if result.holds:
                continue
            cause = result.cause or clause.id
            named = clause.id
            # A cause may be the id of the broken clause that names the mistake.
            if self._is_broken(cause):
                named = cause
            first = self._first.setdefault(cause, named)
            if first == clause.id:
                return "broken", f"{seen.line}: expected {result.expected}; got {seen.came}", _curl(seen)
            hidden_by = hidden_by or first
        if hidden_by:
            return "not_observable", f"hidden by the breach of {hidden_by}", ""
        if checked:
            return "holds", counted(len(checked), "time"), ""
        reason = self._why_unseen(clause)
        if reason == self._run.stopped:
            return "could_not_check", reason, ""
        return "not_observable", reason, ""

    def _is_broken(self, clause: str) -> bool:
        return not all(result.holds for result, _ in self._checked[clause])

    def _why_unseen(self, clause: Clause) -> str:
        """Return the reason why no exchange shows a clause."""
        run = self._run
        if run.never_served:
            return run.stopped
        for probe, why in run.skipped:
            if clause.is_shown_by(probe):
                return why
        sent = [seen for seen in run.checked if clause.is_shown_by(seen.probe)]
        if run.stopped and not sent:
            return run.stopped
        needs = clause.needs or "an animal that no response showed"
        return self._why_not_shown(clause, sent) or f"needs {needs}"

    def _why_not_shown(self, clause: Clause, sent: list[Seen]) -> str:
        """Return why the responses for a clause show nothing; empty if animals are missing."""
        example = ""
        for seen in sent:
            if not seen.probe.is_valid and seen.probe.shows != clause.id:
                continue
            if seen.operation.does.adds and not self._history.accepts_plain:
                return ALL_REFUSED
            if clause.needs and seen.is_success:
                return ""
            example = example or f"no response shows it, for example {seen.line} -> {cut(seen.came, 60)}"
        return example


def _curl(seen: Seen) -> str:
    """Return a shell line that repeats a request. It shows how a key was changed, and not the key."""
    line = curl_line(seen.exchange)
    key = seen.probe.key
    if seen.probe.has_key:
        return line
    shown = key.removeprefix("Bearer ") if "{" in key else UNKNOWN_KEY
    return line.replace("$PETSTORE_KEY", shown)
