"""The request log of ``petstore-mock serve``: a line for each request, written outside the event loop.

What most lines say, method, target, status and operation, is that of an earlier line: it is rendered once. A line of
that kind costs little more than its numbers, and is made where the request is answered: to hand the entry over to the
thread that writes would cost more, since the two hold each other up, and the entry is no longer in the processor's
cache.
"""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from functools import lru_cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.output import Output
from petstore_mock.common.wording import counted
from petstore_mock.journal.rendering import around_duration

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.response import ApiResponse

__all__ = ["RequestLog"]

_LONGEST_QUEUE: Final = 10_000  # a log that nobody reads must not fill the memory ...
_LARGEST_QUEUE: Final = 32 * 1024 * 1024  # ... nor may its bodies: bytes that the entries hold on to
_KEPT_KINDS: Final = 512  # of lines
_KEPT_TARGET: Final = 200  # characters
_MOST_LINES: Final = 500  # written at once: who watches sees them scroll, and requests wait for no longer rendering

# Seconds between two writes. The first line after a rest goes out at once; those of a burst gather, since to wake for
# each of them (a write, and two changes of the thread that runs) costs several times what the line costs. Nobody reads
# as quickly.
_REST: Final = 0.03


class _OtherLine(str):
    """A line that is of no request."""

    __slots__ = ()


class RequestLog:
    """Lines on their way to a stream.

    The server's thread notes, a thread of its own writes: a pipe that nobody reads holds up that thread alone, neither
    a client nor the end of the process. Lines that say why a request was refused, or what met it, are rendered there,
    too: they take their time, and the answer of a fault has an outcome only afterwards. Requests whose lines find no
    room are counted, and told as soon as there is.

    Args:
        stdout: where the lines go.
        log_format: ``text``, or ``json`` for one object a line.
    """

    def __init__(self, stdout: TextIO, log_format: str) -> None:
        self._output = Output(stdout)
        self._kind: type[_JsonLine | _TextLine] = _JsonLine if log_format == "json" else _TextLine
        self._kept: dict[object, _JsonLine | _TextLine] = {}  # of plain lines
        self._left_out_line = _json_left_out if log_format == "json" else _text_left_out
        self._world_line = _json_world if log_format == "json" else _text_world
        self._greeting: SimpleQueue[str] = SimpleQueue()
        self._ending = threading.Event()
        # Lines, and entries of which lines are to be made, with what they weigh.
        self._queue: SimpleQueue[str | tuple[Entry, int] | None] = SimpleQueue()
        # Each is counted by one thread alone: these by the server's ...
        self._noted = 0  # requests
        self._left_out = 0  # of those: they found no room in the queue
        self._noted_bytes = 0  # of the entries that found room; lines are short
        # ... and these by the one that writes.
        self._taken_bytes = 0  # of the entries that have left the queue
        self._told = 0  # of those left out: they are counted in a line that says so
        self._other_lines = 0  # lines that are of no request

    def note(self, entry: Entry) -> None:
        """Let the line of ``entry`` be written soon."""
        self._noted += 1
        if self._queue.qsize() >= _LONGEST_QUEUE or self._noted_bytes - self._taken_bytes >= _LARGEST_QUEUE:
            self._left_out += 1
        elif (
            entry.executed
            and entry.condition is None
            and entry.fault is None
            and entry.outcome is None
            and entry.response is not None
        ):
            self._queue.put(self._plain_line(entry, entry.response))  # all that there is to tell is known and usual
        else:
            self._noted_bytes += entry.weight
            self._queue.put((entry, entry.weight))

    def _plain_line(self, entry: Entry, response: ApiResponse) -> str:
        request = entry.request
        world = entry.owner if request.mount else None
        # The operation follows from the first two; in their texts, the keys are masked.
        key = (request.method, request.target, response.head.status, entry.keys(), request.fields.credentials, world)
        kind = self._kept.get(key)
        if kind is None:
            kind = self._kind(entry)
            if len(self._kept) >= _KEPT_KINDS:
                self._kept.clear()
            if len(request.target) <= _KEPT_TARGET:
                self._kept[key] = kind
        return kind.line(entry)

    def say(self, event: str, text: str, world: str) -> None:
        """Let a line be written soon that is of no request: what became of a world.

        One that finds no room is left out uncounted: the control door has it still.
        """
        if self._queue.qsize() < _LONGEST_QUEUE:
            self._queue.put(_OtherLine(self._world_line(event, text, world)))

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
        self._ending.set()

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
            noted, ended = self._more(first)
            lines, others = [], 0
            for one in noted:
                if isinstance(one, str):
                    lines.append(one)
                    others += type(one) is _OtherLine
                else:
                    entry, weight = one
                    lines.append(self._kind(entry).line(entry))
                    self._taken_bytes += weight
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
                self._ending.wait(_REST)

    def _more(self, first: str | tuple[Entry, int]) -> tuple[list[str | tuple[Entry, int]], bool]:
        """Return ``first`` with what waits behind it, and whether the end was among that."""
        found = [first]
        for _ in range(min(self._queue.qsize(), _MOST_LINES - 1)):  # nobody else takes anything out
            noted = self._queue.get_nowait()
            if noted is None:
                return found, True
            found.append(noted)
        return found, False


class _TextLine:
    """Makes lines of text that differ from that of ``entry`` in their numbers alone."""

    __slots__ = ("_before", "_behind", "_lines", "_second")

    def __init__(self, entry: Entry) -> None:
        told = f"[{entry.owner}] " if entry.request.mount else ""
        before, self._behind = around_duration(entry)
        self._before = told + before
        self._second = 0.0
        self._lines: dict[int, str] = {}  # of that second: of many requests in it, most took as long as others

    def line(self, entry: Entry) -> str:
        second = entry.timestamp // 1
        if second != self._second:
            self._second, self._lines = second, {}
        tenths = int(entry.duration * 10_000 + 0.5)
        line = self._lines.get(tenths)
        if line is None:
            line = f"{_time_of_day(second)} {self._before}{tenths // 10}.{tenths % 10}{self._behind}"
            self._lines[tenths] = line
        return line


@lru_cache(maxsize=2)
def _time_of_day(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%H:%M:%S}"


class _JsonLine:
    """Makes lines of JSON that differ from that of ``entry`` in their numbers alone."""

    __slots__ = ("_before", "_behind")

    def __init__(self, entry: Entry) -> None:
        told: dict[str, object] = {"method": entry.method, "target": entry.target, "operation": entry.operation}
        self._before = f'{json.dumps(told | {"status": entry.status})[1:-1]}, "milliseconds": '
        world = f', "world": "{entry.owner}"' if entry.request.mount else ""  # a name needs no escapes
        why = "}"
        if entry.condition is not None:
            told = {"condition": entry.condition.name, "section": entry.section, "reason": entry.reason}
            why = f", {json.dumps(told)[1:]}"
        self._behind = world + why

    def line(self, entry: Entry) -> str:
        second, took = entry.timestamp // 1, round(entry.duration * 1e6)
        milliseconds = min(999, int((entry.timestamp - second) * 1000 + 0.0005))  # to the microsecond, as Entry.moment
        return (
            f'{{"event": "request", "time": "{_date_and_time(second)}.{milliseconds:03}+00:00", '
            f'"number": {entry.number}, "connection": {entry.connection}, '
            f"{self._before}{took // 1000}.{took % 1000:03}{self._behind}"
        )


@lru_cache(maxsize=2)
def _date_and_time(timestamp: float) -> str:
    return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%dT%H:%M:%S}"


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
