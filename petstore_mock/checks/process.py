"""Checks of a client's process, and the class that observes its output, settings and threads."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import locale
import logging
import os
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.request
import warnings
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from petstore_mock.checks.check import Mistake, Process, check
from petstore_mock.checks.reading import LIBRARIES, around_key, text_of
from petstore_mock.common.key_search import key_in
from petstore_mock.common.real import Lock, Thread, monotonic, sleep
from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from petstore_mock.checks.check import Observation

_MOST_THREADS: Final = 8  # idle threads of a pool, which Python ends with the program
_ENDS: Final = 1.0  # seconds that many threads, or connections, may take to end after a close
_MOMENT: Final = 0.1  # seconds that a few threads may take to end
_PAUSE: Final = 0.002  # seconds between two looks
_DEEPEST: Final = 10  # exceptions of a chain
_WAITS_FOR_WORK: Final = frozenset({"concurrent.futures.thread", "queue"})  # modules in which idle threads wait


@check(
    section="5",
    words="exceptions end up in logs, so their text has no key",
    needs=("outcome",),
    rules={"key in an exception": "raised {error}, whose text contains the API key{form}"},
)
def key_not_in_errors(seen: Observation) -> Mistake | None:
    error = None if seen.outcome is None else seen.outcome.error
    for link in () if error is None else _links(error):
        # The repr of a library's exception may show the request; the client's author can't change it.
        is_own = type(link).__module__.partition(".")[0] not in LIBRARIES
        texts = [text_of(str, link), text_of(repr, link) if is_own else "", *getattr(link, "__notes__", ())]
        form = key_in("\n".join(texts), seen.keys)
        if form is not None:
            return Mistake("key in an exception", error=type(link).__name__, form=form, cause=type(link).__name__)
    return None


def _links(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions that a traceback of ``error`` shows."""
    link: BaseException | None = error
    for _ in range(_DEEPEST):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


@check(
    section="5",
    words="every reader of a log could use the key in it",
    needs=("process",),
    rules={"key in the output": "shows the API key{form} in {place}: {text}"},
)
def key_not_in_output(seen: Observation) -> Mistake | None:
    process = seen.process or Process()
    for text in process.shown:
        place = text.place if isinstance(text, Shown) else "its output"
        mistake = _key_in_output(text, place, seen)
        if mistake is not None:
            return mistake
    for make in (repr, str):
        mistake = _key_in_output(text_of(make, process.client), f"the {make.__name__} of the client", seen)
        if mistake is not None:
            return mistake
    return None


def _key_in_output(text: str, place: str, seen: Observation) -> Mistake | None:
    form = key_in(text, seen.keys)
    if form is None:
        return None
    return Mistake("key in the output", form=form, place=place, text=around_key(text, seen.keys), cause=place)


@check(
    section="RFC 9112 §9.4",
    words="a client ought to limit its open connections",
    needs=("process",),
    rules={"connections open": "left {connections} open"},
)
def connections_are_closed(seen: Observation) -> Mistake | None:
    count = (seen.process or Process()).connections
    return Mistake("connections open", connections=counted(count, "connection")) if count else None


@check(
    section="",
    words="a closed client ends its threads and tasks",
    needs=("process",),
    rules={"threads or tasks left": "left {left} running"},
)
def nothing_runs_on(seen: Observation) -> Mistake | None:
    left = (seen.process or Process()).left
    return Mistake("threads or tasks left", left=", ".join(left[:3])) if left else None


@check(
    section="",
    words="a client does not change settings of the program",
    needs=("process",),
    rules={"program changed": "changed {settings}"},
)
def program_unchanged(seen: Observation) -> Mistake | None:
    changed = ", ".join((seen.process or Process()).settings)
    return Mistake("program changed", settings=changed, cause=changed) if changed else None


class Shown(str):
    """A text that a client showed, with the place where it showed it."""

    __slots__ = ("place",)

    place: str

    def __new__(cls, text: str, place: str) -> Self:
        shown = super().__new__(cls, text)
        shown.place = place
        return shown


# The observer


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}  # the fake sets it


def _set_environment(values: dict[str, str]) -> None:
    for name in _environment().keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


def _attribute(owner: Any, name: str) -> Setting:  # noqa: ANN401  # a module, or an object of it
    return Setting(partial(getattr, owner, name), partial(setattr, owner, name))


def _opener() -> list[Any] | None:
    """Return what ``install_opener()`` changed. ``urlopen()`` itself keeps a usual opener."""
    opener = getattr(urllib.request, "_opener", None)
    if opener is None or _parts(opener) == _parts(urllib.request.build_opener()):
        return None
    return _parts(opener)


def _forget_opener(_: object) -> None:
    setattr(urllib.request, "_opener", None)  # noqa: B010  # the module declares no type for it


def _switch_gc(enabled: bool) -> None:  # noqa: FBT001  # as the setting is kept
    if enabled:
        gc.enable()
    else:
        gc.disable()


def _set_gc_threshold(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)


def _parts(opener: Any) -> list[Any]:  # noqa: ANN401
    return [opener.addheaders, sorted(type(handler).__name__ for handler in opener.handlers)]


def _loop_policy() -> object:
    """Return the policy of event loops, or None for asyncio's own, which asyncio makes when it needs one."""
    policy = getattr(asyncio.events, "_event_loop_policy", None)
    return None if type(policy).__module__.startswith("asyncio.") else policy


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  # as chdir() takes it
    except OSError:
        return ""


class Setting(NamedTuple):
    """A setting of the whole program: how to read it, and how to restore it."""

    read: Callable[[], Any]
    restore: Callable[[Any], object]


_SETTINGS: Final[dict[str, Setting]] = {
    "logging.root.level": Setting(lambda: logging.root.level, logging.root.setLevel),
    "logging.root.handlers": Setting(lambda: logging.root.handlers[:], partial(setattr, logging.root, "handlers")),
    "logging.getLoggerClass()": Setting(logging.getLoggerClass, logging.setLoggerClass),
    "logging.getLogRecordFactory()": Setting(logging.getLogRecordFactory, logging.setLogRecordFactory),
    "socket.getdefaulttimeout()": Setting(socket.getdefaulttimeout, socket.setdefaulttimeout),
    "socket.getaddrinfo": _attribute(socket, "getaddrinfo"),
    "socket.socket": _attribute(socket, "socket"),
    "socket.create_connection": _attribute(socket, "create_connection"),
    "ssl._create_default_https_context": _attribute(ssl, "_create_default_https_context"),
    "ssl.create_default_context": _attribute(ssl, "create_default_context"),
    "urllib.request.install_opener()": Setting(_opener, _forget_opener),
    "http.client.HTTPConnection.debuglevel": _attribute(http.client.HTTPConnection, "debuglevel"),
    "os.environ": Setting(_environment, _set_environment),
    "os.getcwd()": Setting(_folder, os.chdir),
    "warnings.filters": Setting(lambda: warnings.filters[:], partial(setattr, warnings, "filters")),
    "locale.setlocale()": Setting(partial(locale.setlocale, locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL)),
    "time.sleep": _attribute(time, "sleep"),
    "time.time": _attribute(time, "time"),
    "threading.Thread.start": _attribute(threading.Thread, "start"),
    "threading.excepthook": _attribute(threading, "excepthook"),
    "threading.stack_size()": Setting(threading.stack_size, threading.stack_size),
    "json.JSONEncoder.default": _attribute(json.JSONEncoder, "default"),
    "asyncio.get_event_loop_policy()": Setting(_loop_policy, partial(setattr, asyncio.events, "_event_loop_policy")),
    "threading.settrace()": Setting(threading.gettrace, threading.settrace),
    "threading.setprofile()": Setting(threading.getprofile, threading.setprofile),
    "gc.isenabled()": Setting(gc.isenabled, _switch_gc),
    "gc.get_threshold()": Setting(gc.get_threshold, _set_gc_threshold),
    "sys.getrecursionlimit()": Setting(sys.getrecursionlimit, sys.setrecursionlimit),
    "sys.getswitchinterval()": Setting(sys.getswitchinterval, sys.setswitchinterval),
    "sys.get_int_max_str_digits()": Setting(
        getattr(sys, "get_int_max_str_digits", int), getattr(sys, "set_int_max_str_digits", int)
    ),
    **{f"sys.{name}": _attribute(sys, name) for name in ("excepthook", "displayhook", "unraisablehook")},
    **{f"sys.{name}": _attribute(sys, name) for name in ("stdout", "stderr", "stdin")},
    **{
        f"signal.{name.name}": Setting(partial(signal.getsignal, name), partial(signal.signal, name))
        for name in signal.Signals
    },
}
# Libraries change these when they are imported.
_BY_IMPORTS: Final = frozenset({"os.environ", "warnings.filters", "sys.excepthook", "logging.getLoggerClass()"})
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
        self._texts: list[Shown] = []
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
                self._replace(sys, name, _Stream(getattr(sys, name), self._texts, name))
        self._before = _settings()

    def _replace(self, owner: object, name: str, value: object) -> None:
        self._replaced.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def excuse_environment(self) -> None:
        """Accept the environment variables as they are now."""
        self._before["os.environ"] = _environment()

    def take(self) -> list[Shown]:
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
            _SETTINGS["warnings.filters"].restore([one for one in now["warnings.filters"] if one != _MARK])
        changed = [name for name in now if name not in imported and now[name] != self._before[name]]
        for name in {*changed, "logging.root.level", "logging.root.handlers"}:
            with suppress(Exception):  # only the main thread sets signal handlers, and those of C can't be restored
                _SETTINGS[name].restore(self._former[name])
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
    return {name: setting.read() for name, setting in _SETTINGS.items()}


_OF_RECORDS: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})


class _Records(logging.Handler):
    """Keeps the texts of log records, with the attributes that ``extra=`` adds."""

    def __init__(self, texts: list[Shown]) -> None:
        super().__init__()
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        place = f"a log record of the logger {record.name!r}"
        with suppress(Exception):  # the client's arguments may not fit its message
            self._texts.append(Shown(f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}", place))
        for name in vars(record).keys() - _OF_RECORDS:
            self._texts.append(Shown(text_of(str, vars(record)[name]), f"the attribute {name!r} of {place}"))


class _Stream:
    """A stream that keeps the printed texts."""

    def __init__(self, stream: Any, texts: list[Shown], name: str) -> None:  # noqa: ANN401
        self._stream, self._texts, self._name = stream, texts, name

    def write(self, text: str) -> Any:  # noqa: ANN401
        self._texts.append(Shown(text, self._name))
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)


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
