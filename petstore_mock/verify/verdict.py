"""What a run says: of each clause, of each gap, of the drift from a recorded behaviour; and as which exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.wording import counted
from petstore_mock.verify.clauses import CLAUSES, Breach, Silent
from petstore_mock.verify.exchange import shown
from petstore_mock.verify.facts import Facts
from petstore_mock.verify.gap_evidence import findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.checking import Checking
    from petstore_mock.verify.clauses import Clause
    from petstore_mock.verify.exchange import Exchange
    from petstore_mock.verify.gap_evidence import Finding

__all__ = [
    "BROKEN",
    "COULD_NOT_CHECK",
    "HOLDS",
    "ClauseResult",
    "Drift",
    "Result",
    "Verdict",
    "reach_verdict",
]

Result = Literal["holds", "broken", "not_observable", "could_not_check"]

# Exit codes of ``petstore-mock verify`` and ``learn``.
HOLDS: Final = 0
BROKEN: Final = 1
COULD_NOT_CHECK: Final = 3
_OUTAGES: Final = frozenset({502, 503, 504})  # statuses of a service that is not there, rather than of what was asked


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """What is known of a clause.

    Attributes:
        id: the clause's.
        section: the section of the interface.
        words: what it says.
        result: ``holds``, ``broken``, ``not_observable`` or ``could_not_check``.
        detail: what showed it, what broke it, or why it could not be seen; keys are left out.
        request: the request that broke it, and the answer.
        curl: a line of shell that sends that request again; the key stands in ``$PETSTORE_KEY``.
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
        created: how many animals were, or may have been, left behind.
        stopped: why it ended early, or None.
    """

    url: str
    began: str
    clauses: tuple[ClauseResult, ...]
    gaps: Mapping[str, Finding]
    drift: tuple[Drift, ...]
    requests: int
    created: int
    stopped: str | None

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
        if self.broken or self.drift:
            return BROKEN
        results = {clause.result for clause in self.clauses}
        return (
            HOLDS if "holds" in results and "could_not_check" not in results and not self.stopped else COULD_NOT_CHECK
        )

    def __str__(self) -> str:
        from petstore_mock.verify.reports import as_text  # noqa: PLC0415  # the reports know the verdict

        return as_text(self)


def reach_verdict(
    checking: Checking, *, url: str, date: str, keys: tuple[str, ...], recorded: Mapping[str, str]
) -> Verdict:
    """Hold a run against every clause, and against the recorded choices."""
    guest = checking.guest
    facts = Facts(guest.exchanges)
    clauses = tuple(_clause(clause, checking, facts, url, keys) for clause in CLAUSES)
    gaps = findings(Facts([]) if guest.never_served else facts, keys)
    return Verdict(
        url=shown(url, keys),
        began=date,
        clauses=clauses,
        gaps=gaps,
        drift=tuple(_drift(gaps, recorded)),
        requests=len(guest.exchanges),
        created=guest.spent,
        stopped=None if guest.stopped is None else shown(guest.stopped, keys),
    )


def _drift(gaps: Mapping[str, Finding], recorded: Mapping[str, str]) -> Iterator[Drift]:
    for name, expected in recorded.items():
        finding = gaps[name]
        if finding.kind not in {"not_observable", "not_looked_at"} and finding.choice != expected:
            came = f"{finding.choice} ({finding.evidence})" if finding.choice else finding.evidence
            yield Drift(name, expected, came)


def _clause(clause: Clause, checking: Checking, facts: Facts, url: str, keys: tuple[str, ...]) -> ClauseResult:
    def result(how: Result, detail: str, exchange: Exchange | None = None) -> ClauseResult:
        request = "" if exchange is None else shown(f"{exchange.line} -> {exchange.came}", keys)
        curl = "" if exchange is None else shown(exchange.curl(url), keys)
        return ClauseResult(clause.id, clause.section, clause.words, how, shown(detail, keys), request, curl)

    guest = checking.guest
    if guest.never_served:
        return result("could_not_check", guest.stopped or "nothing was served")
    seen = 0
    silent: list[str] = []
    outages: list[str] = []
    exchanges = [one for probe, found in checking.checked.items() if clause.is_shown_by(probe) for one in found]
    for exchange in exchanges:
        outcome = _outcome(clause, exchange, facts)
        if isinstance(outcome, Breach):
            came = outcome.came or exchange.came
            return result("broken", f"{exchange.line}: {outcome.expected}; came {came}", exchange)
        if outcome is None:
            seen += 1
        else:
            (outages if (exchange.status or 0) >= 500 else silent).append(outcome.why)
    if seen:
        return result("holds", counted(seen, "answer"))
    skipped = [why for probe, why in checking.skipped.items() if clause.is_shown_by(probe)]
    if outages or (guest.stopped is not None and not skipped):
        return result("could_not_check", (outages or [guest.stopped or ""])[0])
    return result("not_observable", (silent + skipped or ["nothing that shows it was answered"])[0])


def _outcome(clause: Clause, exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Return what an exchange shows of a clause, whether it was answered or not."""
    if exchange.failure is not None:
        if exchange.confirmed and (exchange.probe in clause.probes or clause.id == "1-http"):
            outcome = clause.check(exchange, facts) if clause.id == "1-http" else None
            return outcome or Breach("expected an answer", exchange.failure.words)
        return Silent(exchange.failure.words)
    if (
        exchange.status is not None
        and exchange.status >= 500
        and (exchange.status in _OUTAGES or not exchange.confirmed)
    ):
        return Silent(f"{exchange.line} was answered {exchange.status}, as by a service that is not there")
    if exchange.status in {401, 429} and exchange.key is not None and exchange.key >= 0 and not _is_of_keys(clause):
        return (
            Breach("expected the key to be let in, as it is elsewhere")
            if exchange.probe in clause.probes
            else Silent("the key was refused")
        )
    return clause.check(exchange, facts)


def _is_of_keys(clause: Clause) -> bool:
    return clause.section in {"5", "7"} or clause.id.startswith(("1-", "2-error"))


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as the record that programs read."""
    return {
        "url": verdict.url,
        "date": verdict.began,
        "exit_code": verdict.exit_code,
        "requests": verdict.requests,
        "created": verdict.created,
        "stopped": verdict.stopped,
        "clauses": [
            {name: value for name, value in asdict(clause).items() if value or name not in {"request", "curl"}}
            for clause in verdict.clauses
        ],
        "gaps": {
            name: {"choice": finding.choice, "evidence": finding.evidence} for name, finding in verdict.gaps.items()
        },
        "drift": [asdict(drift) for drift in verdict.drift],
    }
