"""What a client was shown in a run, so that "no bug found" says what it means; and a line that tells of it."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.stateful.model.error_classification import REDIRECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.journal.entry import Entry

__all__ = ["CheckReport", "ProgressLine"]

_INTERVAL: Final = 0.5  # seconds between two looks of the progress line
_WIDTH: Final = 100  # characters of a line


@dataclass
class CheckReport:
    """What a run of the machine has shown to a client.

    Attributes:
        examples: how many examples there were; the failing one included, and shrinking left out.
        calls: how many calls the client made in them.
        seconds: how long they took.
        waited: how many of these were real waiting: for a hang to end, or as long as ``Retry-After`` says.
        answers: how often the requests of an operation were answered so: by operation and status, or by what became
            of the answer (``"reset"``).
        gaps: in how many examples a gap had another alternative than its default, by gap and alternative.
        faults: how often a fault of this kind met a request, redirections included.
        questions: what the interface leaves open, and the client decides by itself; without an answer they are no bugs.
    """

    examples: int = 0
    calls: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    answers: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in OPERATIONS})
    gaps: dict[str, Counter[str]] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    questions: list[str] = field(default_factory=list)

    def begin_example(self, behaviour: Behaviour) -> None:
        """Count an example."""
        self.examples += 1
        for name, value in behaviour.differences().items():
            self.gaps.setdefault(name, Counter())[value] += 1

    def count(self, entries: Iterable[Entry]) -> None:
        """Count the requests of a call."""
        self.calls += 1
        for entry in entries:
            if entry.operation in self.answers:
                self.answers[entry.operation][str(entry.status or entry.outcome or "unanswered")] += 1
            if entry.fault is not None:
                self.faults["redirect" if entry.status in REDIRECTS else entry.fault.kind] += 1

    def ask(self, question: str) -> None:
        """Take note of a question, once; the same of another call is the same question."""
        if _topic(question) not in map(_topic, self.questions):
            self.questions.append(question)

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
        lines += [_told(name, counts) for name, counts in self.answers.items() if counts]
        shown = [f"{name}={value} {count}" for name, counts in self.gaps.items() for value, count in counts.items()]
        lines.append(f"gaps: {', '.join(shown) or 'none differed'}")
        never = [f"{name}={'/'.join(alternatives)}" for name, alternatives in self.never_shown.items()]
        lines += [f"gaps never shown: {', '.join(never)}"] if never else []
        lines.append(_told("faults", self.faults) if self.faults else "faults: none")
        lines += [f"question: {question}" for question in self.questions]
        return "\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in lines)


def _topic(question: str) -> str:
    return question.partition(" raised ")[2] or question


def _told(name: str, counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return f"{name}: {', '.join(f'{value} {count:,}' for value, count in ordered)}"


class ProgressLine:
    """A line on a terminal that tells how far a run is; nothing where there is none."""

    def __init__(self, report: CheckReport, stream: TextIO | None = None) -> None:
        self._report = report
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = bool(getattr(self._stream, "isatty", lambda: False)())
        self._began = self._told = RealTime.monotonic()

    def update(self) -> None:
        """Tell how far the run is, now and then."""
        now = RealTime.monotonic()
        if self._is_shown and now - self._told >= _INTERVAL:
            self._told = now
            self._write(f"petstore_mock: {self._text(now)}"[:_WIDTH])

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown and self._told != self._began:
            self._write("")

    def _text(self, now: float) -> str:
        report = self._report
        met = sorted({answer for counts in report.answers.values() for answer in counts})
        told = f"{report.examples:,} examples, {report.calls:,} calls, {now - self._began:.0f} s"
        return f"{told}; answers so far: {' '.join(met)}; {len(report.gaps)} gaps differed"

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:<{_WIDTH}}{'' if text else chr(13)}")
        self._stream.flush()
