"""The exchange of client and service, step by step, as a picture or a table tells it.

Times are real ones, counted from the first request; everything is printable, and keys are masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import cut, printable
from petstore_mock.messages.response import reason_phrase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.journal.entry import Entry

__all__ = ["ExchangeStep", "Mark", "Note", "exchanges", "took"]

Arrival = Literal["whole", "corrupted", "cut", "lost", "pending"]
Mark = Literal["commit", "refusal", "fault", "plain"]

_LONGEST_NOTE: Final = 300  # characters
_CUT_SHORT: Final = frozenset({"truncated", "malformed chunk", "client gone", "reset"})  # though its head went out
_CHANGES: Final = frozenset({"createPet"})  # the operations that commit something


@dataclass(frozen=True, slots=True)
class Note:
    """What happened at the service: the commit, a refusal, a fault."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class ExchangeStep:
    """One request and what became of it.

    Attributes:
        number: of the request in the journal.
        began: seconds from the first request to this one.
        ended: seconds from the first request to the answer's end, or to what came in its stead; None while pending.
        request: method and target.
        operation: which operation it was; empty if none.
        retry_of: the number of the same request, which had failed before; None if there was none.
        answer: status and phrase, or why none came.
        arrival: what of the answer reached the client.
        status: of the answer; None without one.
        notes: what the service did.
    """

    number: int
    began: float
    ended: float | None
    request: str
    operation: str
    retry_of: int | None
    answer: str
    arrival: Arrival
    status: int | None
    notes: tuple[Note, ...]

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        parts = [self.request]
        parts += [self.operation] if self.operation else []
        parts += [f"retry of {self.retry_of}"] if self.retry_of is not None else []
        told = "; ".join(filter(None, (*(note.text for note in self.notes), self.answer)))
        return f"Request {self.number}, {', '.join(parts)}: {told}."


def took(seconds: float) -> str:
    """Return a time as people read it: ``0.4 ms``, ``1.25 s``."""
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def exchanges(entries: Iterable[Entry]) -> list[ExchangeStep]:
    """Return ``entries`` as the steps of an exchange, in order."""
    found: list[ExchangeStep] = []
    failed: dict[tuple[str, str, bytes], int] = {}
    first: float | None = None
    for entry in entries:
        request = entry.request
        first = request.started if first is None else first
        same = (request.method, request.target, request.body)
        one = _exchange(entry, max(0.0, request.started - first), failed.pop(same, None))
        found.append(one)
        if one.arrival != "whole" or (one.status or 0) >= 400:
            failed[same] = one.number
    return found


def _exchange(entry: Entry, began: float, retry_of: int | None) -> ExchangeStep:
    arrival = _arrival(entry)
    return ExchangeStep(
        number=entry.number,
        began=began,
        ended=None if arrival == "pending" else began + entry.duration,
        request=entry.request_line,
        operation=entry.operation or ("httpserver" if entry.by_expectation else ""),
        retry_of=retry_of,
        answer=_answer(entry, arrival),
        arrival=arrival,
        status=entry.status,
        notes=tuple(_notes(entry)),
    )


def _arrival(entry: Entry) -> Arrival:
    fault, outcome = entry.fault, entry.outcome
    if outcome is None and fault is not None and fault.delivery is not None:
        return "pending"
    if entry.status is None:  # what is held back is called delayed from the start
        return "pending" if outcome in {None, "delayed"} else "lost"
    if outcome in _CUT_SHORT:
        return "cut"
    return "corrupted" if fault is not None and fault.breaks_contract and not fault.loses_answer else "whole"


def _answer(entry: Entry, arrival: Arrival) -> str:
    if arrival == "pending":
        return "no answer yet"
    if entry.status is None:
        return f"no answer: {entry.outcome}"
    text = f"{entry.status} {reason_phrase(entry.status)}".rstrip()
    if arrival == "cut":
        return f"{text}, cut short: {entry.outcome}"
    if arrival == "corrupted":
        text = f"{text}, corrupted"
    return f"{text}, {entry.outcome}" if entry.outcome else text


def _notes(entry: Entry) -> Iterable[Note]:
    if entry.delayed_by is not None:
        yield _note(entry, "fault", f"fault {entry.delayed_by}")
    if entry.executed and entry.operation in _CHANGES:
        yield Note("commit", "committed")
    fault = entry.fault
    if fault is not None:
        changes = entry.operation in _CHANGES and not entry.executed and entry.condition is None
        nothing = ", nothing committed" if changes else ""
        yield _note(entry, "fault", f"fault {fault}{nothing}{f': {fault.effect}' if fault.effect else ''}")
    if entry.condition is not None:
        expected = ", expected by the test" if entry.is_violation and entry.expected else ""
        why = f"refused: {entry.condition.name}{entry.where}{expected}: {entry.reason}"
        yield _note(entry, "refusal" if entry.is_violation else "plain", why)


def _note(entry: Entry, mark: Mark, text: str) -> Note:
    return Note(mark, printable(cut(entry.masked(text), _LONGEST_NOTE)))
