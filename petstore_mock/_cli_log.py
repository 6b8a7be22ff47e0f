"""The request log of ``petstore-mock serve``: a line for each request, written outside the event loop."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from petstore_mock.report import render_line

if TYPE_CHECKING:
    from petstore_mock.entry import Entry
    from petstore_mock.messages import ApiRequest, ApiResponse, Handler

__all__ = ["Logged", "RequestLog"]

_LONGEST_QUEUE: Final = 10_000  # a log that nobody reads must not fill the memory


class RequestLog:
    """Lines on their way to a stream.

    The server's thread notes, the main thread writes: a terminal that stops scrolling holds up the log, never a client.

    Args:
        stdout: where the lines go.
        log_format: ``text``, or ``json`` for one object a line.
    """

    def __init__(self, stdout: TextIO, log_format: str) -> None:
        self._stdout = stdout
        self._render = _json_line if log_format == "json" else _text_line
        self._left_out_line = _json_left_out if log_format == "json" else _text_left_out
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()  # its put() is safe in a signal handler
        self._left_out = 0

    def note(self, entry: Entry) -> None:
        """Let the line of ``entry`` be written soon."""
        if self._queue.qsize() < _LONGEST_QUEUE:
            self._queue.put(entry)
        else:
            self._left_out += 1

    def end(self) -> None:
        """Let :meth:`write` return once it has written what was noted before."""
        self._queue.put(None)

    def write(self) -> None:
        """Write lines until :meth:`end` is called. When nobody reads them any more, write nothing, and go on."""
        while (entry := self._queue.get()) is not None:
            self._print(self._render(entry))
            if self._left_out:
                count, self._left_out = self._left_out, 0
                self._print(self._left_out_line(count))

    def _print(self, line: str) -> None:
        try:
            print(line, file=self._stdout, flush=self._queue.empty())
        except BrokenPipeError:
            with suppress(OSError, ValueError):  # else Python complains about the unwritten rest at its exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stdout.fileno())


class Logged:
    """A handler that hands on the journal entry of each answer. Implements ``messages.Handler``."""

    def __init__(self, handler: Handler, log: RequestLog) -> None:
        self._handler = handler
        self._note = log.note
        self.admits = handler.admits
        self.body_limit = handler.body_limit

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer as the handler does, and note it."""
        return self._noted(self._handler.handle(request))

    def refuse(self, condition: str, detail: str, request: ApiRequest | None) -> ApiResponse:
        """Refuse as the handler does, and note it."""
        return self._noted(self._handler.refuse(condition, detail, request))

    def _noted(self, response: ApiResponse) -> ApiResponse:
        if response.entry is not None:
            self._note(cast("Entry", response.entry))  # the adapters' view of it is narrower
        return response


def _text_line(entry: Entry) -> str:
    return f"{entry.moment:%H:%M:%S} {render_line(entry)}"


def _json_line(entry: Entry) -> str:
    line: dict[str, Any] = {
        "event": "request",
        "time": entry.moment.isoformat(timespec="milliseconds"),
        "number": entry.number,
        "connection": entry.connection,
        "method": entry.method,
        "target": entry.target,
        "operation": entry.operation,
        "status": entry.status,
        "milliseconds": round(entry.duration * 1000, 3),
    }
    if entry.condition is not None:
        line["condition"] = entry.condition.name
        line["section"] = entry.section
        line["reason"] = entry.reason
    return json.dumps(line)


def _text_left_out(count: int) -> str:
    return f"... {count} requests are not shown: they came faster than this log is read"


def _json_left_out(count: int) -> str:
    return json.dumps({"event": "left_out", "requests": count})
