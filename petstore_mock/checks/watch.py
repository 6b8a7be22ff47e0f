"""Observes output, settings, threads and files of the process while a client lives."""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
import tempfile
import threading
import warnings
from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks.process import Shown
from petstore_mock.checks.pulse import children_of
from petstore_mock.checks.reading import is_own, own_place, raised, shortened, text_of
from petstore_mock.checks.settings import Settings
from petstore_mock.common.real import Lock, Thread, list_folder, monotonic, open_file, scan_folder, sleep, time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

    from petstore_mock.checks.check import Thunk

_MOST_THREADS: Final = 8  # idle threads of a pool, which Python ends with the program
_ENDS: Final = 1.0  # seconds that many threads, or connections, may take to end after a close
_MOMENT: Final = 0.1  # seconds that a few threads may take to end
_PAUSE: Final = 0.002  # seconds between two looks
_WAITS_FOR_WORK: Final = frozenset({"concurrent.futures.thread", "queue"})  # modules in which idle threads wait
_MOST_FILES: Final = 2_000  # of a folder
_MOST_BELOW: Final = 200  # of a folder in it
_MOST_READ: Final = 2**18  # bytes of a file
_COARSE: Final = 0.05  # seconds by which the clock of a file system may be behind
_LOOP: Final = "anon_inode:[eventpoll]"  # what an event loop opens
_one_at_a_time: Final = Lock()


# Python itself shows this warning once only. The filter is first, so the list of filters changes even if a client only
# sets the second one again.
_UNAWAITED: Final = ("always", re.compile("coroutine .* was never awaited"), RuntimeWarning, None, 0)


class Watch:
    """Observes the process, from its creation until :meth:`end`.

    Meanwhile, the root logger has no handlers. They would make a client's ``basicConfig()`` a no-op that no check
    reports, and fill reports with logs of deliberate failures. Temporary files have a folder of their own. A second
    watch at the same time observes threads only.
    """

    def __init__(self) -> None:
        self._texts: list[Shown] = []
        self.lost: list[str] = []  # the errors that no caller can catch, in words
        self.unformatted: list[str] = []  # the messages of log records whose arguments do not fit
        self._threads = client_threads()
        self._replaced = ExitStack()
        self._former = Settings()
        self._children = _children()
        self._is_open = _one_at_a_time.acquire(blocking=False)
        self._began = time() - _COARSE
        if self._is_open:
            logging.root.handlers = []
            logging.root.setLevel(1)
            self._replace(logging.root.manager, "disable", logging.NOTSET)
            # It receives the records without a handler.
            self._replace(logging, "lastResort", _Records(self._texts, self.unformatted))
            self._replace(warnings, "filters", [_UNAWAITED, *warnings.filters])
            self._replace(warnings, "showwarning", partial(_show_warning, self._texts, warnings.showwarning))
            self._replace(sys, "unraisablehook", partial(_keep_lost, self.lost, sys.unraisablehook))
            self._replace(threading, "excepthook", partial(_keep_lost, self.lost, threading.excepthook))
            self._replaced.callback(threading.setprofile, threading.getprofile())
            threading.setprofile(partial(_note_thread, self._texts))
            for name in ("stdout", "stderr"):
                self._replace(sys, name, _Stream(getattr(sys, name), self._texts, name))
            self._folder = Path.cwd()
            self._own_folder = tempfile.mkdtemp(prefix="petstore-mock-client-")
            self._replace(tempfile, "tempdir", self._own_folder)
            self._descriptors = _descriptors()
        self._before = Settings()

    def _replace(self, owner: object, name: str, value: object) -> None:
        self._replaced.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def excuse_environment(self) -> None:
        """Accept the environment variables as they are now."""
        self._before.accept("os.environ")

    def take(self) -> list[Shown]:
        """Return the texts since the last time."""
        texts = self._texts[:]
        self._texts.clear()
        return texts

    def end(self) -> list[str]:
        """Restore the settings, and return the names of those that changed."""
        if not self._is_open:
            return []
        changed = self._before.changes()
        filters = [one for one in warnings.filters if one != _UNAWAITED]
        has_imported = self._before.has_imported
        self._replaced.close()
        if has_imported:
            warnings.filters = filters
        self._former.restore({*changed, "logging.root.level", "logging.root.handlers"})
        with suppress(OSError):  # the client's files stay
            Path(self._own_folder).rmdir()
        self._is_open = False
        _one_at_a_time.release()
        return changed

    def files_left(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the temporary files that stay, and the open files, pipes and event loops, in words."""
        if not self._is_open:
            return (), ()
        files = [f"the temporary file {name}" for name in list_folder(self._own_folder)]
        # A thread of the program may read a file meanwhile.
        settled(lambda: not self._opened())
        return files, self._opened()

    def children_left(self) -> list[str]:
        """Return the child processes that stay, in words."""
        settled(lambda: _children() <= self._children, _MOMENT)
        return [f"the child process {number}" for number in _children() - self._children]

    def _opened(self) -> list[str]:
        opened = Counter(_descriptors()) - Counter(self._descriptors)
        return [*opened.elements()]

    def threads_left(self, forget: Thunk, *, closed: bool, closely: bool) -> list[str]:
        """Drop the last references to a client with ``forget``, and return the threads that it leaves, in words.

        If threads of a closed client end only because of ``forget``, its close left them. In other cases (or without
        ``close()``), the result has the remaining threads, if they are more than a pool has. With ``closely``, a thread
        that works has a second to end.
        """
        settled(lambda: not self._running(), _MOMENT)
        before = self._running()
        forget()
        gc.collect(1)  # destructors run now
        settled(lambda: not self._running(), _MOMENT if len(before) <= _MOST_THREADS else _ENDS)
        if closely and not settled(lambda: not self.threads_work()):
            return self._running()
        rest = self._running()
        if closed and len(rest) < len(before):
            return before
        return rest if len(rest) > _MOST_THREADS else []

    def files(self) -> Iterator[Shown]:
        """Yield the texts of the files that were written since the creation, as far as they are near."""
        folders = [Path(self._own_folder), self._folder] if self._is_open else []
        for folder in folders:
            yield from _written(folder, self._began, _MOST_FILES)

    def look(self, threads: Iterable[threading.Thread]) -> None:
        """Keep the names of the client's threads, and how some threads began child processes."""
        # A thread may get its name after its begin.
        self._texts += [Shown(thread.name, "the name of a thread") for thread in client_threads() - self._threads]
        for thread in threads:
            self._texts += _shown_by_children(thread.native_id)

    def threads_work(self) -> bool:
        """Whether a thread of the client works, and so may send requests."""
        threads = client_threads() - self._threads
        frames = sys._current_frames() if threads else {}  # public by its documentation
        return any(not _is_idle(frames.get(thread.ident or 0)) for thread in threads)

    def _running(self) -> list[str]:
        return [f"thread {thread.name}" for thread in client_threads() - self._threads]


def _written(folder: Path | str, since: float, most: int) -> Iterator[Shown]:
    """Yield the texts of the files that were written in a folder, and in the folders in it.

    A folder's own time says nothing about a file that is written again. So each entry is looked at, as far as ``most``.
    """
    with suppress(OSError), scan_folder(folder) as entries:
        for entry in islice(entries, most):
            if entry.is_file():
                yield from _text_of(entry, since)
            elif most > _MOST_BELOW and entry.is_dir():
                yield from _written(entry.path, since, _MOST_BELOW)


def _text_of(entry: os.DirEntry[str], since: float) -> Iterator[Shown]:
    with suppress(OSError):
        if entry.stat().st_mtime >= since:
            with open_file(entry.path, encoding="latin-1") as file:
                yield Shown(file.read(_MOST_READ), f"the file {entry.name}")


def _descriptors() -> list[str]:
    """Return the open files, pipes and event loops of the process, on systems with ``/proc``."""
    found: list[str] = []
    with suppress(OSError):
        for number in list_folder("/proc/self/fd"):
            with suppress(OSError):
                name = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115  # a path takes seven times as long
                # A number tells one loop from another.
                found.append(f"the event loop {number}" if name == _LOOP else name)
    opened = [name for name in found if name.startswith(("/", "pipe:", "the event loop"))]
    return [name for name in opened if not name.startswith(("/dev/", "/proc/"))]


def _children() -> set[str]:
    """Return the numbers of the child processes, on systems with ``/proc``."""
    found = set[str]()
    with suppress(OSError):
        for thread in list_folder("/proc/self/task"):
            found.update(children_of(f"self/task/{thread}"))
    return found


def _shown_by_children(thread: int | None) -> Iterator[Shown]:
    """Yield the arguments and the environment of each child process that a thread has begun."""
    numbers = children_of(f"self/task/{thread}")
    if numbers:
        inherited = {f"{name}={value}" for name, value in os.environ.items()}
        for child in numbers:
            for part, place in (("cmdline", "the arguments"), ("environ", "the environment")):
                with suppress(OSError), open_file(f"/proc/{child}/{part}", encoding="utf-8", errors="replace") as file:
                    # A child inherits what the test itself put into the environment.
                    texts = [text for text in file.read(_MOST_READ).split("\0") if text not in inherited]
                    yield Shown(" ".join(texts), f"{place} of a child process")


def client_threads() -> set[threading.Thread]:
    """Return the running threads without the package's own."""
    return {thread for thread in threading.enumerate() if not isinstance(thread, Thread)}


def _is_idle(frame: FrameType | None) -> bool:
    """Whether a thread waits for work, like an idle thread of a pool."""
    while frame is not None and frame.f_globals.get("__name__") == "threading":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in _WAITS_FOR_WORK


_OF_RECORDS: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})


class _Records(logging.Handler):
    """Keeps the texts of log records, with the attributes that ``extra=`` adds."""

    def __init__(self, texts: list[Shown], unformatted: list[str]) -> None:
        super().__init__()
        self._texts = texts
        self._unformatted = unformatted

    def emit(self, record: logging.LogRecord) -> None:
        place = f"a log record of the logger {record.name!r}"
        try:
            self._texts.append(Shown(f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}", place))
        except Exception:  # the arguments, or their texts, may raise anything
            if is_own(record.name):
                self._unformatted.append(shortened(record.msg))
        for name in vars(record).keys() - _OF_RECORDS:
            self._texts.append(Shown(text_of(str, vars(record)[name]), f"the attribute {name!r} of {place}"))


class _Stream:
    """A stream that keeps the printed texts."""

    def __init__(self, stream: Any, texts: list[Shown], name: str) -> None:  # noqa: ANN401
        self._stream = stream
        self._texts = texts
        self._name = name

    def write(self, text: str) -> Any:  # noqa: ANN401
        self._texts.append(Shown(text, self._name))
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)


def _note_thread(texts: list[Shown], *_: object) -> None:
    """Keep the name of a thread that begins, once. It may end before anybody can look."""
    sys.setprofile(None)
    texts.append(Shown(threading.current_thread().name, "the name of a thread"))


def _keep_lost(lost: list[str], former: Callable[[Any], object], event: Any) -> None:  # noqa: ANN401  # of two classes
    """Keep an error of a thread or of a destructor, if it is of the client's own code. A check reports it."""
    if own_place(event.exc_traceback) and not isinstance(event.exc_value, (SystemExit, Warning)):
        lost.append(raised(event.exc_value))
    else:
        former(event)


def _show_warning(texts: list[Shown], former: Callable[..., None], message: Any, *others: Any) -> None:  # noqa: ANN401
    texts.append(Shown(text_of(str, message), "a warning"))
    former(message, *others)


def settled(holds: Callable[[], bool], seconds: float = _ENDS) -> bool:
    """Wait until ``holds`` is true, and return whether it is. The last and longest wait takes at most ``seconds``.

    A cycle of references may keep a connection open. So the function first collects young garbage, which is quick, and
    all garbage before the last wait.
    """
    for patience, generation in ((_PAUSE, 1), (min(seconds, _MOMENT), 2), (seconds, 0)):
        deadline = monotonic() + patience
        while not holds():
            if monotonic() > deadline:
                break
            sleep(_PAUSE)
        else:
            return True
        if seconds > _PAUSE:
            gc.collect(generation)
    return holds()
