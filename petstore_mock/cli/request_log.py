"""The request log of ``petstore-mock serve``: a line for each request, written outside the event loop."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO

from petstore_mock.journal.rendering import render_line

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.handler import Handler

__all__ = ["Logged", "RequestLog"]

_LONGEST_QUEUE: Final = 10_000  # a log that nobody reads must not fill the memory
_MOST_LINES: Final = 500  # written at once: who watches sees them scroll, and requests wait for no longer rendering

# Seconds between two writes. The first line after a rest goes out at once; those of a burst gather, since to wake for
# each of them (a write, and two changes of the thread that runs) costs several times what the line costs.
_REST: Final = 0.01


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
        self._left_out = 0  # in all: only the server's thread counts
        self._told = 0  # of those

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
        while (first := self._queue.get()) is not None:
            entries, ended = self._more(first)
            lines = [self._render(entry) for entry in entries]
            left_out = self._left_out
            if left_out > self._told:
                lines.append(self._left_out_line(left_out - self._told))
                self._told = left_out
            lines.append("")
            self.show("\n".join(lines))
            if ended:
                return
            if self._queue.qsize() < _MOST_LINES:
                time.sleep(_REST)

    def _more(self, first: Entry) -> tuple[list[Entry], bool]:
        """Return ``first`` with those that wait behind it, and whether the end was among them."""
        entries = [first]
        with suppress(Empty):
            while len(entries) < _MOST_LINES:
                entry = self._queue.get_nowait()
                if entry is None:
                    return entries, True
                entries.append(entry)
        return entries, False

    def show(self, text: str) -> None:
        """Write ``text``; when nobody reads it any more, write nothing from now on."""
        try:
            self._write(text)
        except OSError:  # the reader has gone, the terminal too, or the disk is full
            with suppress(OSError, ValueError):  # else Python complains about the unwritten rest at its exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stdout.fileno())

    def _write(self, text: str) -> None:
        stream = self._stdout
        binary = getattr(stream, "buffer", None)
        if binary is None:  # no file: what a program reads itself
            stream.write(text)
            stream.flush()
            return
        stream.flush()
        data = text.encode(stream.encoding, stream.errors or "strict")
        # With PYTHONUNBUFFERED there is no buffer below the text, a full pipe takes a part of what it is given when a
        # signal comes, and the text layer does not ask how much: the rest would be lost.
        while data:
            try:
                taken = binary.write(data)
            except BlockingIOError as error:
                taken = error.characters_written
            data = data[taken or 0 :]
            if not taken:
                time.sleep(_REST)
        while not _is_flushed(binary):
            time.sleep(_REST)


def _is_flushed(binary: BinaryIO) -> bool:
    """Flush what can be flushed now; say whether that was all. Some other program may have made the pipe not wait."""
    try:
        binary.flush()
    except BlockingIOError:
        return False
    return True


class Logged:
    """A handler that hands on the journal entry of each answer. Implements ``transport.handler.Handler``."""

    def __init__(self, handler: Handler, log: RequestLog) -> None:
        self._handle = handler.handle
        self._refuse = handler.refuse
        self._note = log.note
        self.admits = handler.admits
        self.body_limit = handler.body_limit

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer as the handler does, and note it."""
        return self._noted(self._handle(request))

    def refuse(self, condition: str, detail: str, request: ApiRequest | None) -> ApiResponse:
        """Refuse as the handler does, and note it."""
        return self._noted(self._refuse(condition, detail, request))

    def _noted(self, response: ApiResponse) -> ApiResponse:
        entry: Any = response.entry  # a whole Entry: the adapters' view of it is narrower
        if entry is not None:
            self._note(entry)
        return response


def _text_line(entry: Entry) -> str:
    return f"{_time_of_day(entry.timestamp // 1)} {render_line(entry)}"


@lru_cache(maxsize=2)
def _time_of_day(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%H:%M:%S}"


def _json_line(entry: Entry) -> str:
    moment = entry.moment.isoformat(timespec="milliseconds")
    request = _json_request(entry.method, entry.target, entry.operation)
    status = "null" if entry.status is None else entry.status
    why = ""
    if entry.condition is not None:
        told = {"condition": entry.condition.name, "section": entry.section, "reason": entry.reason}
        why = f", {json.dumps(told)[1:-1]}"
    # By hand, what is the same for many requests once for all of them: json.dumps would cost as much as the answer.
    return (
        f'{{"event": "request", "time": "{moment}", "number": {entry.number}, "connection": {entry.connection}, '
        f'{request}, "status": {status}, "milliseconds": {round(entry.duration * 1000, 3)}{why}}}'
    )


@lru_cache(maxsize=64)
def _json_request(method: str, target: str, operation: str | None) -> str:
    return json.dumps({"method": method, "target": target, "operation": operation})[1:-1]


def _text_left_out(count: int) -> str:
    return f"... {count} requests are not shown: they came faster than this log is read"


def _json_left_out(count: int) -> str:
    return json.dumps({"event": "left_out", "requests": count})
