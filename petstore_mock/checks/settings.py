"""The settings of the whole program that a client may change: how to read each of them, and how to restore it."""

from __future__ import annotations

import asyncio
import csv
import decimal
import gc
import locale
import logging
import operator
import os
import random
import signal
import socket
import sys
import threading
import urllib.request
import warnings
from contextlib import suppress
from functools import cache, partial
from http.client import responses
from pkgutil import resolve_name
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from petstore_mock.checks.reading import is_own
from petstore_mock.common.real import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

Members: TypeAlias = "dict[Any, Any]"
_MOST_DRAWN: Final = 1_000  # times 624 random numbers
_BITS: Final = 32 * 624  # the random numbers of one state


class Setting(NamedTuple):
    """A setting of the whole program: how to read it, and how to restore it."""

    read: Callable[[], Any]
    restore: Callable[[Any], object]
    same: Callable[[Any, Any], bool] = operator.eq  #: whether two values are the same setting


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}  # the fake sets it


def _mapping(owner: Any, read: Callable[[], Members]) -> Setting:  # noqa: ANN401  # a mapping
    def restore(values: Members) -> None:
        for name in read().keys() - values.keys():
            del owner[name]
        owner.update(values)

    return Setting(read, restore)


def _attribute(owner: Any, name: str) -> Setting:  # noqa: ANN401  # a module, or an object of it
    return Setting(partial(getattr, owner, name, None), partial(setattr, owner, name))


def _list(owner: Any, name: str) -> Setting:  # noqa: ANN401  # a module, or an object of it
    return Setting(lambda: getattr(owner, name)[:], partial(setattr, owner, name))


def _are_alike(key: Callable[[Any], list[Any] | str], now: Any, before: Any) -> bool:  # noqa: ANN401  # openers, or contexts
    """Whether two values are one object, or the same to ``key``."""
    return now is before or key(now) == key(before)


def _parts(opener: Any) -> list[Any]:  # noqa: ANN401
    """Return what ``install_opener()`` changes. ``urlopen()`` itself keeps a usual opener."""
    known: Any = opener or urllib.request.build_opener()
    return [known.addheaders, sorted(type(handler).__name__ for handler in known.handlers)]


def _switch_gc(enabled: bool) -> None:  # noqa: FBT001  # as the setting is kept
    if enabled:
        gc.enable()
    else:
        gc.disable()


def _set_gc_threshold(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)


def _loop_policy() -> object:
    """Return the policy of event loops, or None for asyncio's own, which asyncio makes when it needs one."""
    policy = getattr(asyncio.events, "_event_loop_policy", None)
    return None if type(policy).__module__.startswith("asyncio.") else policy


def _decimal_context() -> decimal.Context:
    """Return how decimal numbers are computed, without the flags, which each computation sets."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return context


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  # as chdir() takes it
    except OSError:
        return ""


def _umask() -> int | None:
    """Return the mask of file modes. ``os.umask()`` can't read it without a change."""
    with suppress(OSError), open_file("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return None


def _is_drawn_from(now: Any, before: Any) -> bool:  # noqa: ANN401  # states of random
    """Whether a state of ``random`` follows from another one by drawing numbers, and not by ``random.seed()``."""
    drawn = random.Random()  # no secret
    drawn.setstate(before)
    for _ in range(_MOST_DRAWN):
        if drawn.getstate()[1][:-1] == now[1][:-1]:
            return True
        drawn.getrandbits(_BITS)
    return False


_locale: Final = partial(locale.setlocale, locale.LC_ALL)
_limits: dict[str, Setting] = {}
with suppress(ImportError):  # on Windows
    import resource

    for _name, _kind in vars(resource).items():
        if _name.startswith("RLIMIT_"):
            limited = Setting(partial(resource.getrlimit, _kind), partial(resource.setrlimit, _kind))
            _limits[f"resource.{_name}"] = limited
# Settings that no name of a module holds, or that need a reader of their own.
_SETTINGS: Final[dict[str, Setting]] = {
    "logging.root.level": Setting(logging.root.getEffectiveLevel, logging.root.setLevel),
    "logging.root.handlers": _list(logging.root, "handlers"),
    "logging.disable()": _attribute(logging.root.manager, "disable"),
    "http.client.responses": _mapping(responses, responses.copy),
    "logging.captureWarnings()": _attribute(logging, "_warnings_showwarning"),
    "socket.getdefaulttimeout()": Setting(socket.getdefaulttimeout, socket.setdefaulttimeout),
    "urllib.request.install_opener()": _attribute(urllib.request, "_opener")._replace(same=partial(_are_alike, _parts)),
    "os.environ": _mapping(os.environ, _environment),
    "os.getcwd()": Setting(_folder, os.chdir),
    "csv.field_size_limit()": Setting(csv.field_size_limit, csv.field_size_limit),
    "decimal.getcontext()": Setting(_decimal_context, decimal.setcontext, partial(_are_alike, repr)),
    "os.umask()": Setting(_umask, os.umask),
    **_limits,
    "warnings.filters": _list(warnings, "filters"),
    "locale.setlocale()": Setting(_locale, _locale),
    "random.seed()": Setting(random.getstate, random.setstate, _is_drawn_from),
    "threading.stack_size()": Setting(threading.stack_size, threading.stack_size),
    "threading.settrace()": Setting(threading.gettrace, threading.settrace),
    "threading.setprofile()": Setting(threading.getprofile, threading.setprofile),
    "asyncio.get_event_loop_policy()": Setting(_loop_policy, partial(setattr, asyncio.events, "_event_loop_policy")),
    "gc.isenabled()": Setting(gc.isenabled, _switch_gc),
    "gc.get_threshold()": Setting(gc.get_threshold, _set_gc_threshold),
    "gc.callbacks": Setting(gc.callbacks.copy, partial(operator.setitem, gc.callbacks, slice(None))),
    "sys.getrecursionlimit()": Setting(sys.getrecursionlimit, sys.setrecursionlimit),
    "sys.getswitchinterval()": Setting(sys.getswitchinterval, sys.setswitchinterval),
    "sys.get_int_max_str_digits()": Setting(sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    **{f"sys.{name}": _list(sys, name) for name in ("path", "meta_path", "path_hooks", "argv")},
    # Usually absent.
    "sys.tracebacklimit": _attribute(sys, "tracebacklimit"),
    **{
        f"signal.{name.name}": Setting(partial(signal.getsignal, name), partial(signal.signal, name))
        for name in signal.Signals
    },
}
# Libraries change these when they are imported.
_BY_IMPORTS: Final = frozenset(
    {
        "http.client.responses",
        "os.environ",
        "warnings.filters",
        "sys.excepthook",
        "sys.path",
        "sys.meta_path",
        "logging._loggerClass",
    }
)
# The functions, classes, constants and objects of these modules and classes are settings too, if the program has
# imported them.
_OWNERS: Final = """
    asyncio asyncio:BaseEventLoop builtins http.client http.client:HTTPConnection http.client:HTTPResponse json
    json.decoder json.encoder json:JSONDecoder json:JSONEncoder logging logging:Logger os random signal socket
    socket:socket ssl ssl:SSLContext subprocess sys tempfile threading threading:Thread time urllib.parse
    urllib.request warnings aiohttp:ClientSession httpx._config httpx:AsyncClient httpx:Client requests
    requests.adapters requests.adapters:HTTPAdapter requests.api requests.models:Response requests.sessions
    requests.sessions:Session urllib3.connection urllib3.connection:HTTPConnection urllib3.connectionpool
    urllib3.connectionpool:HTTPConnectionPool urllib3.poolmanager:PoolManager urllib3.util.connection
    urllib3.util.retry urllib3.util.retry:Retry urllib3.util.ssl_
"""
_owner: Final = cache(resolve_name)
# A shell sets builtins._ to each result, and pytest keeps the error of each failed test in sys.
_RESULTS: Final = frozenset({"_", "last_exc", "last_type", "last_value", "last_traceback"})
# Modules themselves fill names that are None, and replace lists. The opener is in _SETTINGS. A logger may get a parent.
_NO_SETTING: Final = (NoneType, list, urllib.request.OpenerDirector, logging.Logger)


class Settings:
    """The settings of the program at one time."""

    def __init__(self) -> None:
        self.values = {name: setting.read() for name, setting in _SETTINGS.items()}
        self._owners: Members = {}
        for name in _OWNERS.split():
            if name.partition(":")[0] in sys.modules:
                with suppress(AttributeError, ImportError):  # of a module that a test replaced
                    self._owners[name.replace(":", ".")] = _owner(name)
        # A client may set all but the handlers of its own logger.
        for name, logger in [*logging.root.manager.loggerDict.items()]:
            if isinstance(logger, logging.Logger) and not is_own(name):
                self._owners[f"logging.getLogger({name!r})"] = logger
        self._members: dict[str, Members] = {name: {**vars(owner)} for name, owner in self._owners.items()}
        self._handlers = {name: _working(logger) for name, logger in _loggers().items()}
        self._modules = len(sys.modules)

    def accept(self, name: str) -> None:
        """Take the present value of a setting for the right one."""
        self.values[name] = _SETTINGS[name].read()

    def changes(self) -> list[str]:
        """Return the names of the settings that have other values now."""
        now = Settings()
        changed = [name for name, value in self.values.items() if not _SETTINGS[name].same(now.values[name], value)]
        changed += self._replaced(now._members)
        if self.has_imported:
            return [name for name in changed if name not in _BY_IMPORTS]
        return changed + [name for name, own in now._handlers.items() if own != self._handlers.get(name, [])]

    def _replaced(self, now: Mapping[str, Members]) -> Iterator[str]:
        for owner, members in self._members.items():
            for name, former in members.items():
                other = now.get(owner, members).get(name)
                # Nearly all names have the same object. NaN, which does not equal itself, is one of them.
                if other is former or other == former:
                    continue
                if name not in _RESULTS and not isinstance(former, _NO_SETTING):
                    yield f"{owner}.{name}"

    @property
    def has_imported(self) -> bool:
        """Whether the program has imported a module since."""
        return len(sys.modules) != self._modules

    def restore(self, names: Collection[str]) -> None:
        """Give settings their values of this time, as far as that is possible."""
        for name in self.values.keys() & names:
            with suppress(Exception):  # only the main thread sets signal handlers, and those of C can't be restored
                _SETTINGS[name].restore(self.values[name])
        for owner, members in self._members.items():
            for name in members:
                if f"{owner}.{name}" in names:
                    setattr(self._owners[owner], name, members[name])
        for name, logger in _loggers().items():
            if name in names:
                logger.handlers = self._handlers.get(name, [])


def _loggers() -> dict[str, logging.Logger]:
    """Return the loggers that have handlers."""
    found: dict[str, logging.Logger] = {}
    for logger in [*logging.root.manager.loggerDict.values()]:
        if isinstance(logger, logging.Logger) and logger.handlers:
            found[f"logging.getLogger({logger.name!r}).handlers"] = logger
    return found


def _working(logger: logging.Logger) -> list[logging.Handler]:
    return [handler for handler in logger.handlers if not isinstance(handler, logging.NullHandler)]
