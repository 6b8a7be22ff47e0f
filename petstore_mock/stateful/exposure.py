"""The report of what a client was shown, so that "no bug found" means something."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.journal.exchange import Exchange


@dataclass
class CheckReport:
    """What a run of the machine has shown to a client.

    Attributes:
        examples: how many examples there were, the failing one included and shrinking left out.
        calls: how many calls the client made in them.
        seconds: how long they took.
        waited: how many of these went by with the faults that take real time, all of them side by side.
        answers: how often requests of an operation were responded to with a status, or how the response was lost
            (``"reset"``).
        gaps: in how many examples a gap differed from its default, by gap and alternative.
        faults: how often a fault of a kind met a request.
        left_out: the operations that the client has no method for.
    """

    examples: int = 0
    calls: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    answers: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in OPERATIONS})
    gaps: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    faults: Counter[str] = field(default_factory=Counter[str])
    left_out: list[str] = field(default_factory=list[str])

    def begin_example(self, behaviour: Behaviour) -> None:
        """Count an example."""
        self.examples += 1
        for name, value in behaviour.differences().items():
            self.gaps.setdefault(name, Counter())[value] += 1

    def count(self, exchanges: Iterable[Exchange]) -> None:
        """Count requests."""
        for exchange in exchanges:
            if exchange.operation in self.answers:
                self.answers[exchange.operation][str(exchange.status or exchange.result)] += 1
            if exchange.fault is not None:
                self.faults[exchange.fault.kind] += 1

    @property
    def never_shown(self) -> dict[str, list[str]]:
        """The alternatives of gaps that no example had, by gap."""
        missing = {
            name: [one for one in gap.alternatives if one != gap.default and one not in self.gaps.get(name, ())]
            for name, gap in GAPS.items()
        }
        return {name: alternatives for name, alternatives in missing.items() if alternatives}

    def __str__(self) -> str:
        waited = f", {self.waited:.1f} of them waiting" if self.waited else ""
        lines = [f"{self.examples:,} examples, {self.calls:,} calls, {self.seconds:.1f} seconds{waited}"]
        lines += [_counts(name, counts) for name, counts in self.answers.items() if counts]
        shown = [f"{name}={value} {count}" for name, counts in self.gaps.items() for value, count in counts.items()]
        lines.append(f"gaps: {', '.join(shown) or 'none differed'}")
        never = [f"{name}={'/'.join(alternatives)}" for name, alternatives in self.never_shown.items()]
        lines += [f"gaps never shown: {', '.join(never)}"] if never else []
        lines.append(_counts("faults", self.faults) if self.faults else "faults: none")
        lines += [f"left out, because the client has no method for them: {', '.join(self.left_out)}"] * bool(
            self.left_out
        )
        return "\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in lines)


def _counts(name: str, counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return f"{name}: {', '.join(f'{value} {count:,}' for value, count in ordered)}"
