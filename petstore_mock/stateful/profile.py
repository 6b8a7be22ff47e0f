"""What a run measured: the client's retries in outages, and the faults that the client met."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Final

from petstore_mock.common.values import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.checks.check import Exchanges
    from petstore_mock.checks.scenario import PlannedFault

_NAMED: Final = 5  # plans that a sentence names


@dataclass(frozen=True)
class Coverage:
    """Which plans of faults the client met in a run."""

    subject: str
    plans: Sequence[PlannedFault]
    left: Sequence[PlannedFault]

    def __str__(self) -> str:
        if not self.left:
            return f"complete ({len(self.plans)})"
        named = [f"{plan.fault} on {plan.on} {plan.at}" for plan in self.left]
        return f"{len(self.left)} of {len(self.plans)} left: {listed(named, _NAMED)}"


@dataclass
class Outage:
    """How the client behaved in one kind of outage.

    Attributes:
        operation: the operation.
        failure: the fault that each request met.
        calls: the number of calls in the outage.
        requests: the number of requests that these calls sent.
        pauses: the seconds between the requests of the call that sent the largest number.
        recovers: whether the next call after the outage got a response; None if there was none.
    """

    operation: str
    failure: str
    calls: int = 0
    requests: int = 0
    pauses: list[float] = field(default_factory=list[float])
    recovers: bool | None = None

    def note(self, exchanges: Exchanges) -> None:
        """Note the requests of one call in the outage."""
        self.calls += 1
        self.requests += len(exchanges)
        pauses = [round(latter.request.started - former.request.started, 2) for former, latter in pairwise(exchanges)]
        self.pauses = max(self.pauses, pauses, key=len)

    @property
    def attempts(self) -> int:
        """The largest number of requests of a call."""
        return len(self.pauses) + 1

    @property
    def growth(self) -> float | None:
        """How many times longer each pause is than the one before it, on average."""
        ratios = [latter / former for former, latter in pairwise(self.pauses) if former > 0]
        if not ratios:
            return None
        return round(fmean(ratios), 1)

    def __str__(self) -> str:
        words = f"{self.operation} {self.attempts} requests after {self.failure}"
        pauses = ", ".join(f"{pause:g}" for pause in self.pauses) + " s"
        if self.growth is not None:
            pauses += f", {self.growth:g} times longer each"
        if self.recovers is False:
            pauses += ", no recovery"
        return f"{words} (pauses {pauses})"


def retries_in_words(outages: Iterable[Outage]) -> str:
    """Return the retries and failed recoveries in one line."""
    shown = [str(outage) for outage in outages if outage.pauses or outage.recovers is False]
    return "; ".join(shown) or "none"
