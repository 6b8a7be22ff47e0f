"""The request log of ``serve``: one line per request. A daemon thread writes it, so a full pipe delays no client."""

from __future__ import annotations

import json
import os
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO
from weakref import WeakSet

from petstore_mock.common.dates import iso
from petstore_mock.common.masking import printable
from petstore_mock.common.real import Event, Thread, sleep, time
from petstore_mock.common.values import counted
from petstore_mock.journal.exchange import row_of
from petstore_mock.journal.record import part_of

if TYPE_CHECKING:
    from petstore_mock.journal.exchange import Exchange

_MOST_LINES: Final = 10_000  # in the queue; a full queue drops the oldest
_BATCH: Final = 500  # lines in one write
_REST: Final = 0.03  # seconds between two writes
_PATIENCE: Final = 2.0  # seconds for the last write
# A JSON line has these members. An exchange at the control door has them as well.
_MEMBERS: Final = (
    "number", "at", "connection", "method", "target", "operation", "status",
    "duration_ms", "outcome", "fault", "condition",
)  # fmt: skip
# The colour by the first digit of a status. Other results are magenta.
_COLOURS: Final = {"2": "32", "3": "36", "4": "33", "5": "31"}


class RequestLog:
    """Queues lines and writes them to a stream. With ``as_json``, each line is a JSON object."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self._as_json = as_json
        self._has_columns = stream.isatty()
        self._has_colours = self._has_columns and not os.environ.get("NO_COLOR")
        self._queue: deque[Exchange | str] = deque(maxlen=_MOST_LINES)
        # The journal drops them at a reset, and then nothing else keeps them.
        self._hanging: WeakSet[Exchange] = WeakSet()
        self._noted = self._written = 0  # lines
        self._ended = Event()
        self._thread = Thread(target=self._write, name="petstore-mock-log", daemon=True)

    def start(self, greeting: str) -> None:
        self._add(greeting)
        self._thread.start()

    def note(self, exchange: Exchange) -> None:
        """Log a request when its response is known. Log a hang when it begins."""
        if exchange in self._hanging:
            self._hanging.remove(exchange)
        elif not exchange.in_flight:
            if exchange.outcome == "hang":
                self._hanging.add(exchange)
            self._add(exchange)

    def say(self, event: str, text: str, world: str) -> None:
        """Log an event of a world."""
        line = f"{_clock(time())} [{world}] {text}"
        if self._as_json:
            line = json.dumps({"event": event, "world": world, "text": text})
        self._add(line)

    def finish(self) -> str:
        """Write the rest, and return a sentence about lost lines, or an empty text."""
        self._ended.set()
        self._thread.join(_PATIENCE)
        missing = self._noted - self._written
        if not missing:
            return ""
        return f"the log lost {counted(missing, 'line')}: no process read it, or the disk is full"

    def _add(self, line: Exchange | str) -> None:
        self._noted += 1
        self._queue.append(line)

    def _write(self) -> None:
        # A blocked write to the stream itself would block the exit of Python.
        descriptor = self._stream.fileno()
        while not self._ended.wait(_REST) or self._queue:
            count = min(len(self._queue), _BATCH)
            batch = [self._queue.popleft() for _ in range(count)]
            text = "".join(f"{self._line(entry)}\n" for entry in batch)
            data = text.encode(errors="backslashreplace")
            with suppress(OSError):
                while data:
                    data = data[_taken(descriptor, data) :]
                self._written += len(batch)

    def _line(self, entry: Exchange | str) -> str:
        if isinstance(entry, str):
            return entry
        return _as_json(entry) if self._as_json else self._as_text(entry)

    def _as_text(self, exchange: Exchange) -> str:
        world = _world_of(exchange)
        request = exchange.request_line if world is None else f"[{world}] {exchange.request_line}"
        result = _result_of(exchange)
        took = f"{exchange.duration * 1000:.1f} ms"
        if self._has_columns:
            request = f"{request:<44}"
            result = f"{result:<5}"
            took = f"{took:<9}"
        if self._has_colours:
            result = f"\33[{_COLOURS.get(result[:1], '35')}m{result}\33[0m"
        line = f"{_clock(exchange.timestamp)} {request} {result} {took}"
        if exchange.operation is not None:
            line += f" {exchange.operation}"
        if exchange.condition is not None:
            line += printable(f": {exchange.condition.name}, {exchange.reason}")
        return f"{line}; {exchange.hidden}" if exchange.hidden else line


def _as_json(exchange: Exchange) -> str:
    record = {
        "event": "request",
        **part_of(exchange, _MEMBERS),
        # ``fault`` names the fault.
        "reason": None if exchange.condition is None else exchange.reason,
        "world": _world_of(exchange),
        "result": _result_of(exchange),
        "section": exchange.section,
        "browser": exchange.hidden or None,
    }
    return json.dumps(record)


def _world_of(exchange: Exchange) -> str | None:
    """Return the name of the world at whose address the request came, or None for the root."""
    return exchange.owner if exchange.request.mount else None


def _taken(descriptor: int, data: bytes) -> int:
    """Write, and return the number of written bytes. A program such as Node may make the pipe non-blocking."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        sleep(_REST)
        return 0


def _result_of(exchange: Exchange) -> str:
    """Return the result, such as ``503 (fault server_error)`` or ``reset after the commit: animal 7 created``."""
    fault = exchange.fault or exchange.delayed_by
    if fault is None:
        return exchange.result
    if exchange.status is not None:
        return f"{exchange.status} (fault {fault.kind})"
    operation = row_of(exchange)
    if operation is None or not operation.commits:
        return exchange.result
    if not exchange.executed:
        return f"{exchange.result} before the commit"
    return f"{exchange.result} after the commit: animal {_pet_id_of(exchange)} {operation.does.done}"


def _pet_id_of(exchange: Exchange) -> object:
    """Return the id in a response that was lost, or a question mark if the fault changed the body."""
    if exchange.response is None:
        return "?"
    try:
        return json.loads(exchange.response.body)["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "?"


def _clock(moment: float) -> str:
    return iso(moment)[11:19]
