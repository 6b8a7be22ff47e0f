"""Reaches the verdict of a run: checks its exchanges against every clause and every recorded choice."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted, shown_url
from petstore_mock.interface.table import LABEL
from petstore_mock.journal.curl import curl_line
from petstore_mock.verify.clauses import CLAUSES, checks
from petstore_mock.verify.evidence import findings
from petstore_mock.verify.probes import UNKNOWN_KEY
from petstore_mock.verify.seen import History
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.evidence import Finding
    from petstore_mock.verify.row import Clause, Result
    from petstore_mock.verify.run import Run
    from petstore_mock.verify.seen import Seen

    Unseen = Literal["could_not_check", "not_observable"]
    Checked = list[tuple[Result, Seen]]

_IDENTITY: Final = "identity"


def reach_verdict(run: Run, recorded: Mapping[str, str]) -> Verdict:
    """Check a run against every clause and the recorded choices."""
    history, keys = History(run.seen), run.secrets
    gaps = findings(History([]) if run.never_served else history, keys)
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
        is_create = seen.operation.does.adds
        if seen.has_failed and (is_create or seen.probe.is_open):
            never = "; verify does not retry a create" if is_create else ""
            kept = ", and the service kept its animal" if is_create and _is_kept(run, seen) else ""
            yield f"{seen.line} got no usable response: {seen.came}{never}{kept}"
        if seen.probe.is_last_resort:
            yield f"the service refused every plain animal; verify tried the simplest: {seen.line} -> {seen.came}"


def _is_kept(run: Run, create: Seen) -> bool:
    """Whether a later response shows the animal of a create without a response."""
    label = create.sent.get(LABEL)
    later = run.seen[create.number :]
    return any(pet.get(LABEL) == label for seen in later for pet in seen.pets)


class _Judge:
    """Judges the exchanges of a run. Breaches with the same cause break only the first clause."""

    def __init__(self, run: Run, history: History) -> None:
        self._run = run
        self._history = history
        self._checked: dict[str, Checked] = defaultdict(list)
        # The first clause that each cause breaks.
        self._first: dict[str, str] = {}
        for seen in run.checked if not run.never_served else ():
            for check in checks(seen, history):
                self._checked[check.clause].append((check.result, seen))

    def results(self) -> Iterator[ClauseResult]:
        for clause in CLAUSES:
            yield self._result(clause)

    def _result(self, clause: Clause) -> ClauseResult:
        checked = self._checked[clause.id]
        breaches = [(result, seen) for result, seen in checked if not result.holds]
        own = [breach for breach in breaches if self._is_first(breach[0], clause)]
        if own:
            return self._broken(clause, *own[0])
        if breaches:
            reason = f"hidden by the breach of {self._first[breaches[0][0].cause]}"
            return ClauseResult(clause.id, clause.section, clause.words, "not_observable", reason)
        if checked:
            times = counted(len(checked), "time")
            return ClauseResult(clause.id, clause.section, clause.words, "holds", times)
        reason = self._why_unseen(clause)
        result: Unseen = "could_not_check" if reason == self._run.stopped else "not_observable"
        return ClauseResult(clause.id, clause.section, clause.words, result, hide(reason, self._run.secrets))

    def _is_first(self, result: Result, clause: Clause) -> bool:
        return self._first.setdefault(result.cause or clause.id, clause.id) == clause.id

    def _broken(self, clause: Clause, result: Result, seen: Seen) -> ClauseResult:
        keys = self._run.secrets
        key = "$PETSTORE_KEY" if seen.probe.has_key else UNKNOWN_KEY
        if "{" in seen.probe.key and not seen.probe.has_key:
            # The report shows how the key was changed, and not the key.
            key = seen.probe.key.removeprefix("Bearer ")
        curl = curl_line(seen.exchange).replace("$PETSTORE_KEY", key)
        detail = f"{seen.line}: expected {result.expected}; got {seen.came}"
        return ClauseResult(clause.id, clause.section, clause.words, "broken", hide(detail, keys), hide(curl, keys))

    def _why_unseen(self, clause: Clause) -> str:
        """Return the reason why no exchange shows a clause."""
        run = self._run
        if run.never_served:
            return run.stopped
        sent = [seen for seen in run.checked if clause.is_shown_by(seen.probe)]
        return self._why_not_shown(clause, sent) or self._why_not_sent(clause, is_sent=bool(sent))

    def _why_not_shown(self, clause: Clause, sent: list[Seen]) -> str:
        """Return why the responses to the probes do not show a clause; empty if none was sent, or animals lack."""
        tried = [seen for seen in sent if seen.probe.is_valid or seen.probe.shows == clause.id]
        has_tried_create = any(seen.operation.does.adds for seen in tried)
        if has_tried_create and not self._history.accepts_plain:
            return "the service refused every plain animal"
        lacks_animals = bool(clause.needs) and any(seen.is_success for seen in tried)
        if not tried or lacks_animals:
            return ""
        return f"no response shows it, for example {tried[0].line} -> {cut(tried[0].came, 60)}"

    def _why_not_sent(self, clause: Clause, *, is_sent: bool) -> str:
        run = self._run
        needs = f"needs {clause.needs}" if clause.needs else ""
        for skip in run.skipped:
            # The need says more than that a placeholder has no value.
            says_less = skip.lacks_animal and bool(needs)
            if clause.is_shown_by(skip.probe) and not says_less:
                return skip.why
        if run.stopped and not is_sent:
            return run.stopped
        return needs or "no probe for it was sent"
