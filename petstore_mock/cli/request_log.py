"""The request log of ``serve``: a line for each request. A daemon thread writes, so a full pipe delays no client."""

from __future__ import annotations

import json
import os
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.common.dates import iso
from petstore_mock.common.masking import printable
from petstore_mock.common.real import Thread, sleep, time
from petstore_mock.common.values import counted
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.journal.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_QUEUE: Final = 10_000  # lines; without a reader, the log must not fill the memory
_BATCH: Final = 500  # lines in one write
_REST: Final = 0.03  # seconds between two writes: to wake for each line costs more than the line
_PIECE: Final = 4096  # bytes that a pipe takes whole (PIPE_BUF)
_PATIENCE: Final = 2.0  # seconds at the end for a reader
_DONE: Final = {"creates": "created", "changes": "changed", "removes": "removed"}
_COLOURS: Final = {"2": "32", "3": "36", "4": "33", "5": "31"}  # by the first digit of a status; else magenta


def result_of(exchange: Exchange) -> str:
    """Return the result in words: ``503 (fault server_error)``, ``reset after the commit: animal 7 created``."""
    fault = exchange.fault or exchange.delayed_by
    if fault is None:
        return exchange.result
    operation = OPERATIONS.get(exchange.operation or "")
    if exchange.status is not None:
        ended = f", {exchange.outcome}" if exchange.outcome not in {None, "delayed"} else ""
        return f"{exchange.status} (fault {fault.kind}{ended})"
    if operation is None or not operation.commits:
        return exchange.result
    if not exchange.executed:
        return f"{exchange.result} before the commit"
    return f"{exchange.result} after the commit: animal {_pet_id(exchange)} {_DONE[operation.effect]}"


def _kept(exchange: Exchange) -> str:
    """Return what a browser will refuse: it keeps responses from pages that nothing allows (CORS)."""
    origin, response = exchange.request.header("Origin"), exchange.response
    if origin is None or response is None or response.head.get("Access-Control-Allow-Origin") is not None:
        return ""
    return f"; a browser will keep this from pages of {origin}: --cors allows them"


def _pet_id(exchange: Exchange) -> object:
    try:
        return json.loads(exchange.response.body)["id"] if exchange.response is not None else "?"
    except (ValueError, KeyError, TypeError):  # the fault changed the body
        return "?"


class RequestLog:
    """Lines on their way to a stream; ``as_json`` makes each an object."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self._as_json = as_json
        self._is_terminal = stream.isatty() and not as_json
        self._coloured = self._is_terminal and not os.environ.get("NO_COLOR")
        self._queue: SimpleQueue[Exchange | str | None] = SimpleQueue()
        self._hung: set[Exchange] = set()
        self._left_out = 0  # requests without a line
        self._waiting = 0  # requests in the batch that is being written
        self._trouble = "nobody read it"
        self._thread = Thread(target=self._write, name="petstore-mock-log", daemon=True)

    def start(self, greeting: str) -> None:
        self._queue.put(greeting)
        self._thread.start()

    def note(self, exchange: Exchange) -> None:
        """Log a request when its response is known; a hang counts once."""
        if exchange.in_flight or exchange in self._hung:
            self._hung.discard(exchange)
            return
        if exchange.outcome == "hang":
            self._hung.add(exchange)
        if self._queue.qsize() < _LONGEST_QUEUE:
            self._queue.put(exchange)
        else:
            self._left_out += 1

    def say(self, event: str, text: str, world: str) -> None:
        """Log what became of a world."""
        told = json.dumps({"event": event, "world": world, "text": text})
        self._queue.put(told if self._as_json else f"{_clock(time())} [{world}] {text}")

    def finish(self) -> str:
        """Write the rest, as long as somebody reads it; return a sentence about the requests that are in no line."""
        self._queue.put(None)
        self._thread.join(_PATIENCE)
        missing = self._left_out + (self._waiting + self._queue.qsize() if self._thread.is_alive() else 0)
        return f"{counted(missing, 'request')} missing in the log: {self._trouble}" if missing else ""

    def _write(self) -> None:
        is_over = False
        while not is_over:
            batch = [self._queue.get()]
            while len(batch) < _BATCH and self._queue.qsize():
                batch.append(self._queue.get())
            is_over = None in batch
            lines = [one if isinstance(one, str) else self._line(one) for one in batch if one is not None]
            self._waiting = sum(isinstance(one, Exchange) for one in batch)
            try:
                _write_all(self._stream, "".join(f"{line}\n" for line in lines))
            except OSError as error:  # the reader has gone, or the disk is full
                self._left_out += self._waiting
                self._trouble = error.strerror or str(error)
            self._waiting = 0
            sleep(0 if is_over else _REST)

    def _line(self, exchange: Exchange) -> str:
        return self._json_line(exchange) if self._as_json else self._text_line(exchange)

    def _text_line(self, exchange: Exchange) -> str:
        pad: Callable[[str, int], str] = str.ljust if self._is_terminal else lambda text, _: text
        world = f"[{exchange.owner}] " if exchange.request.mount else ""
        result, request = result_of(exchange), pad(f"{world}{exchange.request_line}", 44)
        shown = pad(result, 5)
        if self._coloured:
            shown = f"\33[{_COLOURS.get(result[:1], '35')}m{shown}\33[0m"
        took = pad(f"{exchange.duration * 1000:.1f} ms", 9)
        condition = exchange.condition
        why = "" if condition is None else f": {condition.name}, {exchange.reason}"
        operation = "" if exchange.operation is None else f" {exchange.operation}"
        return f"{_clock(exchange.timestamp)} {request} {shown} {took}{operation}{printable(why + _kept(exchange))}"

    def _json_line(self, exchange: Exchange) -> str:
        condition, fault = exchange.condition, exchange.fault or exchange.delayed_by
        told: dict[str, object] = {
            "event": "request",
            "time": iso(exchange.timestamp),
            "number": exchange.number,
            "connection": exchange.connection,
            "method": exchange.masked(exchange.method),
            "target": exchange.masked_target,
            "operation": exchange.operation,
            "status": exchange.status,
            "milliseconds": round(exchange.duration * 1000, 3),
        }
        told |= {"world": exchange.owner} if exchange.request.mount else {}
        told |= {} if exchange.outcome is None else {"outcome": exchange.outcome}
        told |= {"browser": kept[2:]} if (kept := _kept(exchange)) else {}
        told |= {} if fault is None else {"fault": exchange.masked(str(fault)), "result": result_of(exchange)}
        if condition is not None:
            told |= {"condition": condition.name, "section": exchange.section, "reason": exchange.reason}
        return json.dumps(told)


def _clock(seconds: float) -> str:
    return iso(seconds)[11:19]


def _write_all(stream: TextIO, text: str) -> None:
    """Write below the stream's buffer: a thread that waits for a reader would hold its lock at Python's exit."""
    try:
        descriptor = stream.fileno()
    except OSError:  # no file, but what a program reads itself
        stream.write(text)
        return
    data = text.encode(stream.encoding, "backslashreplace")
    while data:
        try:
            data = data[os.write(descriptor, data[:_PIECE]) :]
        except BlockingIOError:  # another program has made the pipe non-blocking
            sleep(0.01)
