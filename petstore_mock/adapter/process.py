"""One process of an adapter: its start, the requests to it, its replies, and its end.

How this works: one thread reads both outputs of the process. Before it takes a reply, it reads what the process wrote
to standard error before. So a text is known as soon as the call has ended that caused it. The process has its own
group, and the end of the process ends the group.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoReplyError
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, cast

from petstore_mock.adapter.protocol import (
    VERSION,
    BrokenAdapterError,
    ClientError,
    Hello,
    Message,
    ReplyError,
    decoded,
    encoded,
    hello_of,
    result_of,
    shown_line,
)
from petstore_mock.checks.adapting import StoppedError
from petstore_mock.checks.pulse import children_of
from petstore_mock.common.masking import cut, mask_text
from petstore_mock.common.real import Lock, Thread, list_folder, monotonic, sleep
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import is_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from petstore_mock.common.values import Json

T = TypeVar("T")

_CHUNK: Final = 1 << 16
_MOST_CHUNKS: Final = 64  # of standard error before one look at standard output
_LONGEST_LINE: Final = 64 << 20  # bytes
_KEPT: Final = 1 << 16  # characters of standard error
_TAIL: Final = 12  # lines of standard error in a message
_LONGEST_ERROR: Final = 300  # characters of such a line
_LOOK: Final = 0.1  # seconds
_STARTS: Final = 5.0  # times the patience: how long a process may take to start
_SOON: Final = 2.5  # times the patience, because the computer may be busy
_PAUSE: Final = 0.01  # seconds between two looks
ENDS: Final = 1.0  # seconds that a process may take to end
_HAS_GROUPS: Final = os.name == "posix"


class EndedError(Exception):
    """The process of a client ended.

    Attributes:
        how: what the process did, in words.
        rule: the rule that the client broke.
    """

    rule = "process ended"

    def __init__(self, how: str, text: str) -> None:
        super().__init__(text)
        self.how = how


class UnendedError(EndedError):
    """The process of a client goes on although its standard input has ended."""

    rule = "process kept alive"


class AdapterProcess:
    """A process that makes the calls of clients.

    Args:
        command: the program and its arguments.
        patience: how long the process may take for a reply that no service delays, in seconds.
    """

    def __init__(self, command: Sequence[str], patience: float) -> None:
        self.patience = patience
        self.keys: list[str] = []  # the keys of its clients
        self.clients = 0  # how many are open
        self.over: Exception | None = None  # why no further request can be sent
        self.is_retired = False  # whether a call in it never ended
        self.is_noticed = False  # whether a call or a close fails because the process has ended
        self._names = count(1)
        self._sent = self._lines = 0
        self._half: list[bytes] = []  # of a line
        self._errors = ""  # the end of standard error
        self._unread: list[str] = []  # the texts of standard error since the last look
        self._lock = Lock()
        self._writing = Lock()
        self._greeted: Future[Hello] = Future()
        self._waiting: dict[int, Future[Any]] = {}
        self._calls = set[int]()  # the numbers of the calls that wait
        self._is_ending = False
        self._is_held = False  # whether another process holds the output after the end of this one
        self._popen = _started(command)
        self._pipes = {f"pipe:[{os.fstat(output.fileno()).st_ino}]" for output in self._outputs()}
        self._reader = Thread(target=self._read, name="petstore-mock-adapter", daemon=True)
        self._reader.start()
        try:
            self._write({"hello": VERSION})
            self.hello = self._result(self._greeted, patience * _STARTS, "hello")
        except BaseException:
            self.kill()
            raise

    # Requests

    def new_client(self, key: str) -> str:
        """Return a name for a new client with a key."""
        self.keys.append(key)
        self.clients += 1
        return f"client-{next(self._names)}"

    def ask(self, request: Message) -> Future[object]:
        """Send a request, and return the future of its result; raise an error if the process is over."""
        with self._lock:
            if self.over is not None:
                self.is_noticed = True
                raise self.over
            self._sent += 1
            number = self._sent
            future = self._waiting[number] = Future()
            if request["do"] == "call":
                self._calls.add(number)
        self._write({"id": number, **request})
        return future

    def ask_soon(self, request: Message) -> Json:
        """Send a request for which the service is not needed, and return its result.

        Raises:
            StoppedError: no reply came, and a call is running, which may be the reason.
        """
        return self._result(self.ask(request), self.patience * _SOON, str(request["do"]))

    def cancel(self, client: str, call: Future[object]) -> None:
        """Cancel a call, unless its reply has come."""
        with self._lock:
            waiting = [*self._waiting.items()]
        for number, future in waiting:
            if future is call:
                # The call itself may hold the process.
                with contextlib.suppress(StoppedError):
                    self.ask_soon({"do": "cancel", "client": client, "call": number})

    def _result(self, future: Future[T], seconds: float, what: str) -> T:
        try:
            return future.result(seconds)
        except NoReplyError:
            if future.done():
                raise
        if self._calls:
            self.is_retired = True
            raise StoppedError
        half = b"".join(self._half)
        got = f"half a line, {shown_line(half, self.keys)!r}: end it with a line feed" if half else "none"
        raise self._break(f"expected a reply to {what} within {seconds:g} s; got {got}, and flush standard output")

    def _write(self, message: Message) -> None:
        # A process that ended is noticed by the thread that reads.
        with self._writing, contextlib.suppress(OSError, ValueError):
            stdin = cast("IO[bytes]", self._popen.stdin)
            stdin.write(encoded(message))
            stdin.flush()

    # Replies

    def _read(self) -> None:
        blocks = self._read_both() if _HAS_GROUPS else self._read_apart()
        with contextlib.suppress(OSError, ValueError):
            for data in blocks:
                if not self._take(data):
                    break
        self._finish()
        for output in self._outputs():
            output.close()
        self._close_input()

    def _read_both(self) -> Iterator[bytes]:
        out, errors = self._outputs()
        os.set_blocking(errors.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while True:
                has_exited = self._popen.poll() is not None
                ready = [key.fileobj for key, _ in selector.select(_LOOK)]
                data = os.read(out.fileno(), _CHUNK) if out in ready else b""
                goes_on = self._read_errors(errors)
                if errors in ready and not goes_on:
                    selector.unregister(errors)
                has_ended = out in ready and not data
                self._is_held = has_exited and not ready
                if has_ended or self._is_held:
                    return
                yield data

    def _read_errors(self, errors: IO[bytes]) -> bool:
        """Read what the process has written to standard error; return False at its end."""
        for _ in range(_MOST_CHUNKS):
            try:
                data = os.read(errors.fileno(), _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._note(data)
        return True

    def _read_apart(self) -> Iterator[bytes]:
        """Read both outputs where a pipe can't be asked whether it has data. A text may be known a moment late."""
        out, errors = self._outputs()

        def read_errors() -> None:
            while data := os.read(errors.fileno(), _CHUNK):
                self._note(data)

        Thread(target=read_errors, name="petstore-mock-errors", daemon=True).start()
        while data := os.read(out.fileno(), _CHUNK):
            yield data

    def _outputs(self) -> tuple[IO[bytes], IO[bytes]]:
        return cast("IO[bytes]", self._popen.stdout), cast("IO[bytes]", self._popen.stderr)

    def _note(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        with self._lock:
            self._unread.append(text)
            del self._unread[:-_MOST_CHUNKS]
            self._errors = (self._errors + text)[-_KEPT:]

    def taken(self) -> str:
        """Return the text of standard error since the last look."""
        with self._lock:
            text = "".join(self._unread)
            self._unread.clear()
        return text

    def _take(self, data: bytes) -> bool:
        """Take what the process wrote; return False if it breaks the protocol."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            line = b"".join([*self._half, end])
            self._half.clear()
            self._lines += 1
            try:
                self._reply(decoded(line))
            except ReplyError as error:
                got = f"line {self._lines} of the adapter is no reply: {shown_line(line, self.keys)!r}"
                self._break(f"{got}; {error}")
                return False
        if rest:
            self._half.append(rest)
        if sum(map(len, self._half)) <= _LONGEST_LINE:
            return True
        self._break(f"expected lines of at most {_LONGEST_LINE >> 20} MiB; got a longer one: end each with a line feed")
        return False

    def _reply(self, message: Message) -> None:
        if not self._greeted.done():
            self._greeted.set_result(hello_of(message))
            return
        number = message.get("id")
        if not is_integer(number) or number not in self._waiting:
            raise self._wrong_id(number)
        try:
            result = result_of(message)
        except ClientError as error:
            self._settled(number).set_exception(error)
        else:
            self._settled(number).set_result(result)

    def _wrong_id(self, number: object) -> ReplyError:
        if is_integer(number) and 0 < number <= self._sent:
            return ReplyError(f"expected one reply for each request; got a second one with the id {number}")
        return ReplyError(f"expected the id of a request that waits; got {number!r}: copy the id of the request")

    def _settled(self, number: int) -> Future[object]:
        with self._lock:
            self._calls.discard(number)
            return self._waiting.pop(number)

    # The end

    def _break(self, sentence: str) -> Exception:
        """End a process that breaks the protocol. Return why it is over: it may have ended before."""
        with self._lock:
            over = self.over = self.over or BrokenAdapterError(self._with_errors(sentence))
        self.kill()
        return over

    def _finish(self) -> None:
        """Let all calls fail that still wait, because the process has ended."""
        code = self._code()
        with self._lock:
            waiting = [*self._waiting.values()]
            self._waiting.clear()
            if self.over is None:
                self.is_noticed = bool(waiting)
                self.over = self._reason(code, is_waiting=bool(waiting))
            if not self._greeted.done():
                waiting.append(self._greeted)
        for future in waiting:
            future.set_exception(self.over)

    def _code(self, seconds: float = ENDS) -> int | None:
        """Return the exit code, or None for a process that goes on for longer."""
        # A computer that delays this thread delays the process too, so a late look counts as one look.
        for _ in range(round(seconds / _PAUSE)):
            if self._popen.poll() is not None:
                break
            sleep(_PAUSE)
        return self._popen.poll()

    def _reason(self, code: int | None, *, is_waiting: bool) -> Exception:
        how = "closed its standard output" if code is None else f"ended with {_shown_code(code)}"
        if self._is_ending:
            return EndedError(how, how)
        if not self._greeted.done():
            half = b"".join(self._half)
            wrote = f" after half a line, {shown_line(half, self.keys)!r}" if half else ""
            return BrokenAdapterError(self._with_errors(f"expected a reply to hello; the adapter {how}{wrote}"))
        has_crashed = code and self.keys
        if is_waiting or has_crashed:
            return EndedError(how, self._with_errors(how))
        words = f"the adapter {how} although no call was running: read requests until standard input ends"
        return BrokenAdapterError(self._with_errors(words))

    def _with_errors(self, sentence: str) -> str:
        # A key is masked before a line is cut, so that no part of it is left.
        tail = mask_text(self._errors, self.keys).strip().splitlines()[-_TAIL:]
        text = "\n".join(cut(line, _LONGEST_ERROR) for line in tail)
        return f"{sentence}. The end of its standard error:\n{text}" if text else sentence

    def end(self, seconds: float) -> EndedError | None:
        """Close standard input. Return an error that says how the process does not end with 0 in time, or None."""
        self._is_ending = True
        self._close_input()
        code = self._code(seconds)
        self._reader.join(ENDS)
        has_left_others = code is not None and self._has_left_others()
        self.kill()
        if isinstance(self.over, BrokenAdapterError):
            raise self.over
        if has_left_others:
            raise BrokenAdapterError(
                "expected no process after the end of the adapter; got one that the adapter started: end it when "
                "standard input ends"
            )
        if code is None:
            how = f"stayed alive for more than {seconds:.2g} s after the end of standard input"
            return UnendedError(how, how)
        if code == 0:
            return None
        how = f"ended with {_shown_code(code)} instead of 0"
        return EndedError(how, self._with_errors(how))

    def _close_input(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            cast("IO[bytes]", self._popen.stdin).close()

    def _has_left_others(self) -> bool:
        """Whether other processes outlive the first one: they hold its output, or belong to its group."""
        if self._is_held:
            return True
        deadline = monotonic() + _LOOK
        while _is_group(self._popen.pid):
            if monotonic() > deadline:
                return True
            sleep(_PAUSE)
        return False

    def tasks(self) -> Iterator[str]:
        """Yield the threads of the process, and of those that it has started, as folders below ``/proc``."""
        return _tasks(str(self._popen.pid))

    def stop(self) -> None:
        """End the process at once, because a call in it does not end."""
        with self._lock:
            self.over = self.over or StoppedError()
            self.is_noticed = True
        self.kill()

    def interrupt(self) -> None:
        """End the process and its group at once, without waiting for it, as a handler of a signal may."""
        if _HAS_GROUPS:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        else:
            self._popen.kill()

    def kill(self) -> None:
        """End the process and its group at once."""
        self.interrupt()
        self._popen.wait()
        if self._is_held:
            _kill_all(self._pipes)


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=_HAS_GROUPS)  # noqa: S603
    except OSError as error:
        refuse(f"expected a program that can be started; got {command[0]!r}: {error.strerror}")


def _kill_all(pipes: set[str]) -> None:
    """End the processes that hold one of some pipes, where the system lists them. They may have left the group."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            held = {str((entry / "fd" / number).readlink()) for number in ("1", "2")}
            if held & pipes:
                os.kill(int(entry.name), signal.SIGKILL)


def _tasks(process: str) -> Iterator[str]:
    # The process may end at any time.
    with contextlib.suppress(OSError):
        for thread in list_folder(f"/proc/{process}/task"):
            task = f"{process}/task/{thread}"
            yield task
            for child in children_of(task):
                yield from _tasks(child)


def _is_group(number: int) -> bool:
    with contextlib.suppress(OSError):
        if _HAS_GROUPS:
            os.killpg(number, 0)
            return True
    return False


def _shown_code(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
