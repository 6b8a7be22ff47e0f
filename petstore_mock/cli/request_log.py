"""The request log of ``petstore-mock serve``: a line for each request, written outside the event loop."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.output import Output
from petstore_mock.common.wording import counted
from petstore_mock.journal.rendering import render_line

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry

__all__ = ["RequestLog"]

_LONGEST_QUEUE: Final = 10_000  # a log that nobody reads must not fill the memory ...
_LARGEST_QUEUE: Final = 32 * 1024 * 1024  # ... nor may its bodies: bytes that the entries hold on to
_MOST_LINES: Final = 500  # written at once: who watches sees them scroll, and requests wait for no longer rendering

# Seconds between two writes. The first line after a rest goes out at once; those of a burst gather, since to wake for
# each of them (a write, and two changes of the thread that runs) costs several times what the line costs.
_REST: Final = 0.01


class RequestLog:
    """Lines on their way to a stream.

    The server's thread notes, a thread of its own writes: a pipe that nobody reads holds up that thread alone, neither
    a client nor the end of the process. Requests whose lines find no room are counted, and told as soon as there is.

    Args:
        stdout: where the lines go.
        log_format: ``text``, or ``json`` for one object a line.
    """

    def __init__(self, stdout: TextIO, log_format: str) -> None:
        self._output = Output(stdout)
        self._render = _json_line if log_format == "json" else _text_line
        self._left_out_line = _json_left_out if log_format == "json" else _text_left_out
        self._world_line = _json_world if log_format == "json" else _text_world
        self._greeting: SimpleQueue[str] = SimpleQueue()
        self._queue: SimpleQueue[tuple[Entry | str, int] | None] = SimpleQueue()
        # Each is counted by one thread alone: these by the server's ...
        self._noted = 0  # requests
        self._left_out = 0  # of those: they found no room in the queue
        self._noted_bytes = 0  # of those that found room
        # ... and these by the one that writes.
        self._taken_bytes = 0  # of those that have left the queue
        self._told = 0  # of those left out: they are counted in a line that says so
        self._other_lines = 0  # lines that are of no request

    def note(self, entry: Entry) -> None:
        """Let the line of ``entry`` be written soon."""
        self._noted += 1
        if self._queue.qsize() < _LONGEST_QUEUE and self._noted_bytes - self._taken_bytes < _LARGEST_QUEUE:
            self._noted_bytes += entry.weight
            self._queue.put((entry, entry.weight))
        else:
            self._left_out += 1

    def say(self, event: str, text: str, world: str) -> None:
        """Let a line be written soon that is of no request: what became of a world.

        One that finds no room is left out uncounted: the control door has it still.
        """
        if self._queue.qsize() < _LONGEST_QUEUE:
            self._queue.put((self._world_line(event, text, world), 0))

    def start(self) -> None:
        """Begin the thread that writes: what :meth:`greet` says, and then the lines."""

        def write() -> None:
            greeting = self._greeting.get()
            self._other_lines += greeting.count("\n")
            self._output.write(greeting)
            self.write()

        self._output.begin(write)

    def greet(self, greeting: str) -> None:
        """Let ``greeting`` be what is written first."""
        self._greeting.put(greeting)

    def end(self) -> None:
        """Let :meth:`write` return once it has written what was noted before."""
        self._queue.put(None)

    def finish(self) -> str:
        """Write what is still to be written, as long as somebody reads it.

        Returns:
            A sentence about the requests that are in no line; empty when there are none, or when the reader has gone of
            his own accord.
        """
        self.end()
        self._output.finish()
        trouble = self._output.trouble
        missing = self._noted - self._told - max(0, self._output.lines - self._other_lines)
        if not missing or isinstance(trouble, BrokenPipeError):
            return ""
        why = "nobody read it" if trouble is None else trouble.strerror or str(trouble)
        return f"{_requests(missing)} missing in the log: {why}"

    def write(self) -> None:
        """Write lines until :meth:`end` is called. When they can be written no more, count them, and go on."""
        while (first := self._queue.get()) is not None and not self._output.is_given_up:
            entries, ended = self._more(*first)
            lines = [entry if isinstance(entry, str) else self._render(entry) for entry in entries]
            others = sum(isinstance(entry, str) for entry in entries)
            left_out = self._left_out - self._told
            if left_out:
                lines.append(self._left_out_line(left_out))
            lines.append("")
            wanted = self._output.lines + len(lines) - 1
            self._output.write("\n".join(lines))
            if self._output.lines == wanted:
                self._told += left_out
                self._other_lines += others + bool(left_out)
            if ended:
                return
            if self._queue.qsize() < _MOST_LINES:
                time.sleep(_REST)

    def _more(self, first: Entry | str, weight: int) -> tuple[list[Entry | str], bool]:
        """Return ``first`` with those that wait behind it, and whether the end was among them."""
        entries, ended = [first], False
        with suppress(Empty):
            while len(entries) < _MOST_LINES:
                noted = self._queue.get_nowait()
                if noted is None:
                    ended = True
                    break
                entries.append(noted[0])
                weight += noted[1]
        self._taken_bytes += weight
        return entries, ended


def _text_line(entry: Entry) -> str:
    world = f"[{entry.owner}] " if entry.request.mount else ""
    return f"{_time_of_day(entry.timestamp // 1)} {world}{render_line(entry)}"


@lru_cache(maxsize=2)
def _time_of_day(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%H:%M:%S}"


def _json_line(entry: Entry) -> str:
    moment = entry.moment.isoformat(timespec="milliseconds")
    request = _json_request(entry.method, entry.target, entry.operation)
    status = "null" if entry.status is None else entry.status
    why = f', "world": "{entry.owner}"' if entry.request.mount else ""  # a name needs no escapes
    if entry.condition is not None:
        told = {"condition": entry.condition.name, "section": entry.section, "reason": entry.reason}
        why += f", {json.dumps(told)[1:-1]}"
    # By hand, what is the same for many requests once for all of them: json.dumps would cost as much as the answer.
    return (
        f'{{"event": "request", "time": "{moment}", "number": {entry.number}, "connection": {entry.connection}, '
        f'{request}, "status": {status}, "milliseconds": {round(entry.duration * 1000, 3)}{why}}}'
    )


@lru_cache(maxsize=64)
def _json_request(method: str, target: str, operation: str | None) -> str:
    return json.dumps({"method": method, "target": target, "operation": operation})[1:-1]


def _text_world(_: str, text: str, world: str) -> str:
    return f"{_time_of_day(time.time() // 1)} [{world}] {text}"


def _json_world(event: str, text: str, world: str) -> str:
    return json.dumps({"event": event, "world": world, "text": text})


def _requests(count: int) -> str:
    return f"{counted(count, 'request')} {'is' if count == 1 else 'are'}"


def _text_left_out(count: int) -> str:
    return f"... {_requests(count)} not shown: they came faster than this log is read"


def _json_left_out(count: int) -> str:
    return json.dumps({"event": "left_out", "requests": count})
