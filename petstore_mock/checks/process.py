"""Checks of a client's process, and the class that observes its output, settings and threads."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks.check import Process, check
from petstore_mock.checks.reading import LIBRARIES, shortened, text_of
from petstore_mock.common.key_search import key_in
from petstore_mock.common.masking import mask_text
from petstore_mock.common.real import Lock, Thread, monotonic, sleep
from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from petstore_mock.checks.check import Observation

_MOST_THREADS: Final = 8  # idle threads of a pool, which Python ends with the program
_ENDS: Final = 1.0  # seconds that many threads, or connections, may take to end after a close
_MOMENT: Final = 0.1  # seconds that a few threads may take to end
_PAUSE: Final = 0.002  # seconds between two looks
_WAITS_FOR_WORK: Final = frozenset({"concurrent.futures.thread", "queue"})  # modules in which idle threads wait


@check(section="5", words="exceptions end up in logs, so their text has no key", needs=("outcome",))
def key_not_in_errors(seen: Observation) -> str | None:
    link = None if seen.outcome is None else seen.outcome.error
    for _ in range(10):
        if link is None:
            return None
        # The repr of a library's exception may show the request; the client's author can't change it.
        is_own = type(link).__module__.partition(".")[0] not in LIBRARIES
        texts = [text_of(str, link), text_of(repr, link) if is_own else "", *getattr(link, "__notes__", ())]
        form = key_in("\n".join(texts), seen.keys)
        if form is not None:
            return f"raised {type(link).__name__}, whose text contains the API key{form}"
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return None


@check(section="5", words="every reader of a log could use the key in it", needs=("process",))
def key_not_in_output(seen: Observation) -> str | None:
    process = seen.process or Process()
    for text in (*process.shown, *(text_of(make, process.client) for make in (repr, str))):
        form = key_in(text, seen.keys)
        if form is not None:
            return f"shows the API key{form} in its output, logs or repr: {shortened(mask_text(text, seen.keys))}"
    return None


@check(
    section="RFC 9112 §9.4",
    words="a client ought to limit its open connections",
    needs=("process",),
)
def connections_are_closed(seen: Observation) -> str | None:
    count = (seen.process or Process()).connections
    return f"left {counted(count, 'connection')} open" if count else None


@check(section="", words="a closed client ends its threads and tasks", needs=("process",))
def nothing_runs_on(seen: Observation) -> str | None:
    left = (seen.process or Process()).left
    return f"left {', '.join(left[:3])} running" if left else None


@check(section="", words="a client does not change settings of the program", needs=("process",))
def program_unchanged(seen: Observation) -> str | None:
    changed = (seen.process or Process()).settings
    return f"changed {', '.join(changed)}" if changed else None


# The observer


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}  # the fake sets it


def _set_environment(values: dict[str, str]) -> None:
    for name in _environment().keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


# The function that reads a setting, and the function that restores it.
_SETTINGS: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], object]]]] = {
    "logging.root.level": (lambda: logging.root.level, logging.root.setLevel),
    "logging.root.handlers": (lambda: logging.root.handlers[:], partial(setattr, logging.root, "handlers")),
    "socket.getdefaulttimeout()": (socket.getdefaulttimeout, socket.setdefaulttimeout),
    "socket.getaddrinfo": (lambda: socket.getaddrinfo, partial(setattr, socket, "getaddrinfo")),
    "os.environ": (_environment, _set_environment),
    "warnings.filters": (lambda: warnings.filters[:], partial(setattr, warnings, "filters")),
    **{f"signal.{one.name}": (partial(signal.getsignal, one), partial(signal.signal, one)) for one in signal.Signals},
}
_BY_IMPORTS: Final = frozenset({"os.environ", "warnings.filters"})  # libraries change them when they are imported
_one_at_a_time: Final = Lock()


class _Mark(Warning):
    """Never issued. Its filter is first, so the list changes even if a client only sets the second filter again."""


_MARK: Final = ("ignore", None, _Mark, None, 0)


class Watch:
    """Observes output, settings and threads of the process, from its creation until :meth:`end`.

    Meanwhile, the root logger has no handlers. They would make a client's ``basicConfig()`` a no-op that no check
    reports, and fill reports with logs of deliberate failures. A second watch at the same time observes threads only.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._threads, self._modules = client_threads(), len(sys.modules)
        self._replaced = ExitStack()
        self._former = _settings()
        self._is_open = _one_at_a_time.acquire(blocking=False)
        if self._is_open:
            logging.root.handlers = []
            logging.root.setLevel(1)
            self._replace(logging.root.manager, "disable", logging.NOTSET)
            self._replace(logging, "lastResort", _Records(self._texts))  # receives the records without a handler
            self._replace(warnings, "filters", [_MARK, *warnings.filters])
            self._replace(warnings, "showwarning", partial(_show_warning, self._texts, warnings.showwarning))
            for name in ("stdout", "stderr"):
                self._replace(sys, name, _Stream(getattr(sys, name), self._texts))
        self._before = _settings()

    def _replace(self, owner: object, name: str, value: object) -> None:
        self._replaced.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def excuse_environment(self) -> None:
        """Accept the environment variables as they are now."""
        self._before["os.environ"] = _environment()

    def take(self) -> list[str]:
        """Return the texts since the last look."""
        texts = self._texts[:]
        self._texts.clear()
        return texts

    def end(self) -> list[str]:
        """Restore the settings, and return the names of those that changed."""
        if not self._is_open:
            return []
        now = _settings()
        self._replaced.close()
        imported = _BY_IMPORTS if len(sys.modules) != self._modules else frozenset[str]()
        if imported:
            _SETTINGS["warnings.filters"][1]([one for one in now["warnings.filters"] if one != _MARK])
        changed = [name for name in now if name not in imported and now[name] != self._before[name]]
        for name in {*changed, "logging.root.level", "logging.root.handlers"}:
            with suppress(Exception):  # only the main thread sets signal handlers, and those of C can't be restored
                _SETTINGS[name][1](self._former[name])
        self._is_open = False
        _one_at_a_time.release()
        return changed

    def threads_left(self, forget: Callable[[], object], *, closed: bool) -> list[str]:
        """Return the threads that a client leaves behind, in words.

        If threads of a closed client end only when ``forget`` drops the last references to it, its close left them. In
        other cases (or without ``close()``), the result has the remaining threads, if they are more than a pool has.
        """
        settled(lambda: not self._running(), _MOMENT)
        before = self._running()
        forget()
        settled(lambda: not self._running(), _MOMENT if len(before) <= _MOST_THREADS else _ENDS)
        rest = self._running()
        return before if closed and len(rest) < len(before) else rest if len(rest) > _MOST_THREADS else []

    def threads_work(self) -> bool:
        """Whether a thread of the client works, and so may send requests."""
        frames = sys._current_frames()  # noqa: SLF001  # public by its documentation
        return any(not _is_idle(frames.get(thread.ident or 0)) for thread in client_threads() - self._threads)

    def _running(self) -> list[str]:
        return [f"thread {thread.name}" for thread in client_threads() - self._threads]


def client_threads() -> set[threading.Thread]:
    """Return the running threads without the package's own."""
    return {thread for thread in threading.enumerate() if not isinstance(thread, Thread)}


def _is_idle(frame: FrameType | None) -> bool:
    """Whether a thread waits for work, like an idle thread of a pool."""
    while frame is not None and frame.f_globals.get("__name__") == "threading":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in _WAITS_FOR_WORK


def _settings() -> dict[str, Any]:
    return {name: read() for name, (read, _) in _SETTINGS.items()}


class _Records(logging.Handler):
    """Keeps the texts of log records."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # the client's arguments may not fit its message
            self._texts.append(f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}")


class _Stream:
    """A stream that keeps the printed texts."""

    def __init__(self, stream: Any, texts: list[str]) -> None:  # noqa: ANN401
        self._stream, self._texts = stream, texts

    def write(self, text: str) -> Any:  # noqa: ANN401
        self._texts.append(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)


def _show_warning(texts: list[str], former: Callable[..., None], message: Any, *others: Any) -> None:  # noqa: ANN401
    texts.append(str(message))
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
