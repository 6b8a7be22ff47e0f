"""Reaches the verdict of a run: checks its exchanges against every clause and every recorded choice."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted, shown_url
from petstore_mock.interface.table import LABEL
from petstore_mock.journal.curl import curl_line
from petstore_mock.verify.clauses import CLAUSES, checks
from petstore_mock.verify.evidence import findings
from petstore_mock.verify.probes import UNKNOWN_KEY, USED_LABEL
from petstore_mock.verify.seen import History
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from petstore_mock.verify.evidence import Finding
    from petstore_mock.verify.row import Clause, Result
    from petstore_mock.verify.run import Run
    from petstore_mock.verify.seen import Seen
    from petstore_mock.verify.verdict import Result as ClauseOutcome

    Checked = list[tuple[Result, Seen]]

_IDENTITY: Final = "identity"


def reach_verdict(run: Run, recorded: Mapping[str, str]) -> Verdict:
    """Check a run against every clause and the recorded choices."""
    history, keys = History(run.seen), run.secrets
    served = History([]) if run.never_served else history
    gaps = findings(served, keys)
    left = [(pet_id, hide(name, keys)) for pet_id, name in run.left]
    # Each note once, in order.
    notes = dict.fromkeys(hide(note, keys) for note in _notes(run))
    return Verdict(
        url=hide(shown_url(run.url), keys),
        began=run.began,
        clauses=tuple(_Judge(run, history).results()),
        gaps=gaps,
        drift=tuple(_drift(recorded, gaps)),
        requests=len(run.seen),
        left=tuple(left),
        stopped=hide(run.stopped, keys) or None,
        notes=tuple(notes),
    )


def _drift(recorded: Mapping[str, str], gaps: Mapping[str, Finding]) -> Iterator[Drift]:
    for name, choice in recorded.items():
        finding = gaps[name]
        if finding.kind != "not_observable" and finding.choice != choice:
            yield Drift(name, choice, finding.evidence)


def _notes(run: Run) -> Iterator[str]:
    codings = {seen.header("Content-Encoding") for seen in run.seen} - {"", _IDENTITY}
    for coding in sorted(codings):
        yield f"responses have Content-Encoding: {coding} although the requests accept only identity"
    for seen in run.seen:
        if seen.has_failed and seen.operation.does.adds:
            kept = ", and the service kept its animal" if _is_kept(run, seen) else ""
            yield f"{seen.line} got no usable response: {seen.came}; verify does not retry a create{kept}"
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
    later = chain.from_iterable(seen.pets for seen in run.seen[create.number :])
    return any(pet.get(LABEL) == create.label for pet in later)


class _Judge:
    """Judges the exchanges of a run. Breaches with the same cause break only the first clause."""

    def __init__(self, run: Run, history: History) -> None:
        self._run = run
        self._history = history
        self._checked: dict[str, Checked] = defaultdict(list)
        # The first clause that each cause breaks.
        self._first: dict[str, str] = {}
        for seen in run.checked if not run.never_served else ():
            for clause, result in checks(seen, history):
                self._checked[clause].append((result, seen))

    def results(self) -> Iterator[ClauseResult]:
        for clause in CLAUSES:
            result, detail, curl = self._result(clause)
            keys = self._run.secrets
            yield ClauseResult(clause.id, clause.section, clause.words, result, hide(detail, keys), hide(curl, keys))

    def _result(self, clause: Clause) -> tuple[ClauseOutcome, str, str]:
        """Return the result for a clause, with its detail and a curl line."""
        checked = self._checked[clause.id]
        breaches = [(result, seen) for result, seen in checked if not result.holds]
        for result, seen in breaches:
            if self._first.setdefault(result.cause or clause.id, clause.id) == clause.id:
                detail = f"{seen.line}: expected {result.expected}; got {seen.came}"
                return "broken", detail, _curl(seen)
        if breaches:
            cause = breaches[0][0].cause
            return "not_observable", f"hidden by the breach of {self._first[cause]}", ""
        if checked:
            return "holds", counted(len(checked), "time"), ""
        reason = self._why_unseen(clause)
        return "could_not_check" if reason == self._run.stopped else "not_observable", reason, ""

    def _why_unseen(self, clause: Clause) -> str:
        """Return the reason why no exchange shows a clause."""
        if self._run.never_served:
            return self._run.stopped
        sent = [seen for seen in self._run.checked if clause.is_shown_by(seen.probe)]
        return self._why_no_response_shows(clause, sent) or self._why_not_sent(clause, sent)

    def _why_no_response_shows(self, clause: Clause, sent: Sequence[Seen]) -> str:
        """Return why the responses to the requests for a clause show nothing; empty if that is not the reason."""
        tried = [seen for seen in sent if seen.probe.is_valid or seen.probe.shows == clause.id]
        has_created = any(seen.operation.does.adds for seen in tried)
        if has_created and not self._history.accepts_plain:
            return "the service refused every plain animal"
        lacks_animals = bool(clause.needs) and any(seen.is_success for seen in tried)
        if not tried or lacks_animals:
            return ""
        return f"no response shows it, for example {tried[0].line} -> {cut(tried[0].came, 60)}"

    def _why_not_sent(self, clause: Clause, sent: Sequence[Seen]) -> str:
        for skip in self._run.skipped:
            if skip.why and clause.is_shown_by(skip.probe):
                return skip.why
        if self._run.stopped and not sent:
            return self._run.stopped
        return f"needs {clause.needs or 'an animal that no response showed'}"


def _curl(seen: Seen) -> str:
    """Return a shell line that repeats a request. It shows how a key was changed, and not the key."""
    key = "$PETSTORE_KEY" if seen.probe.has_key else UNKNOWN_KEY
    if "{" in seen.probe.key and not seen.probe.has_key:
        key = seen.probe.key.removeprefix("Bearer ")
    return curl_line(seen.exchange).replace("$PETSTORE_KEY", key)
