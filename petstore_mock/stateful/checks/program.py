"""Settings of the whole program, which a client shares with all that runs beside it: it leaves them as they were."""

from __future__ import annotations

import asyncio
import locale
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakSet

from petstore_mock.stateful.checks.output import more_runs_than_one, root_level, set_root_level
from petstore_mock.stateful.model.call import Problem, shortened
from petstore_mock.transport import no_proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Change", "ProgramSettings", "program_problem", "program_unchanged"]

_ABSENT: Final = object()
# What libraries add to when they are imported, and where they put a hook of their own.
_BY_IMPORTS: Final = frozenset({"warnings.filters", "os.environ"})
_HOOKS: Final = frozenset({"sys.excepthook", "sys.unraisablehook", "threading.excepthook"})
_SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGPIPE", "SIGCHLD", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
# What somebody may set, or put something else in the place of; a library that nobody has imported is not looked for.
_ATTRIBUTES: Final[tuple[tuple[str, str], ...]] = (
    ("http.client", "HTTPConnection.debuglevel"),
    ("http.client", "_MAXHEADERS"),
    ("json", "JSONEncoder.default"),
    ("logging", "_warnings_showwarning"),  # by which captureWarnings() knows that it was called
    ("logging", "lastResort"),
    ("logging", "raiseExceptions"),
    ("logging", "root.manager.disable"),
    ("requests.adapters", "DEFAULT_RETRIES"),
    ("socket", "create_connection"),
    ("socket", "getaddrinfo"),
    ("socket", "socket"),
    ("ssl", "_create_default_https_context"),
    ("sys", "excepthook"),
    ("sys", "stderr"),
    ("sys", "stdout"),
    ("sys", "unraisablehook"),
    ("threading", "excepthook"),
    ("urllib3.util.connection", "HAS_IPV6"),
    ("urllib3.util.connection", "allowed_gai_family"),
    ("warnings", "showwarning"),
)


@dataclass(frozen=True)
class _Setting:
    """A setting: how it is called, read and set."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _read(module: str, path: str) -> Any:  # noqa: ANN401  # whatever the attribute is
    return reduce(getattr, path.split("."), sys.modules[module]) if module in sys.modules else _ABSENT


def _write(module: str, path: str, value: Any) -> None:  # noqa: ANN401
    *way, name = path.split(".")
    setattr(reduce(getattr, way, sys.modules[module]), name, value)


def _set_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]  # a list in truth
    for name in ("_filters_mutated", "_filters_mutated_lock_held"):  # by the version of Python: what is remembered
        getattr(warnings, name, list)()


def _set_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in values.items() if os.environ.get(name) != value})


def _policy() -> Any:  # noqa: ANN401  # a policy, or that there is to be none
    return asyncio.get_event_loop_policy() if sys.version_info < (3, 14) else _ABSENT


def _set_policy(policy: Any) -> None:  # noqa: ANN401  # as above
    asyncio.set_event_loop_policy(policy)


_SETTINGS: Final = (
    *(_Setting(f"{module}.{path}", partial(_read, module, path), partial(_write, module, path))
      for module, path in _ATTRIBUTES),
    *(_Setting(f"signal.getsignal(signal.{one.name})", partial(signal.getsignal, one), partial(signal.signal, one))
      for one in _SIGNALS),
    _Setting("logging.root.handlers", lambda: list(logging.root.handlers),
             partial(logging.root.handlers.__setitem__, slice(None))),
    _Setting("asyncio.get_event_loop_policy()", _policy, _set_policy),
    _Setting("logging.root.level", root_level, set_root_level),
    _Setting("locale.setlocale(locale.LC_ALL)", partial(locale.setlocale, locale.LC_ALL),
             partial(locale.setlocale, locale.LC_ALL)),
    _Setting("os.environ", lambda: dict(os.environ), _set_environment),
    _Setting("os.getcwd()", os.getcwd, os.chdir),
    _Setting("socket.getdefaulttimeout()", socket.getdefaulttimeout, socket.setdefaulttimeout),
    _Setting("warnings.filters", lambda: list(warnings.filters), _set_filters),
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A setting that was changed.

    Attributes:
        setting: which it is.
        before: what it was.
        now: what it is.
        is_sure: whether somebody meant it; what came with an import may be the imported library's.
    """

    setting: _Setting
    before: Any
    now: Any
    is_sure: bool = True

    @property
    def name(self) -> str:
        """The code that reads it."""
        return self.setting.name

    @property
    def variables(self) -> set[str]:
        """The variables of the environment that differ."""
        if self.name != "os.environ":
            return set()
        return {name for name in {*self.before, *self.now} if self.before.get(name) != self.now.get(name)}

    def __str__(self) -> str:
        if self.variables:  # whose values may be secrets
            return f"changed os.environ ({', '.join(sorted(self.variables))})"
        if isinstance(self.now, list):
            added = [item for item in self.now if item not in self.before]
            if added:
                return f"added {', '.join(map(shortened, added))} to {self.name}"
        return f"left {self.name} at {shortened(self.now)} instead of {shortened(self.before)}"

    def undo(self) -> None:
        """Set it back."""
        with suppress(Exception):  # a signal's handler may be none of Python's, or this no main thread
            self.setting.write(self.before)

    def redo(self) -> None:
        """Change it again."""
        self.setting.write(self.now)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None


class ProgramSettings:
    """The settings of the whole program, as they are now, until :meth:`end`.

    Handlers of the root logger are put aside meanwhile: ``basicConfig()`` does nothing where there is one, as there is
    under pytest. Of what overlaps, in threads or in tasks, nobody knows who changes what: nothing is told of it, and
    the last to end restores what the first has found. One that is forgotten before its end, as in a test that fails
    between the steps of a machine, is in nobody's way.

    Attributes:
        owner: the thread in which it began, and the task; what the same owner opens within it does not overlap it.
        is_alone: whether nothing overlaps it.
        before: the settings, as they were.
        handlers: those of the root logger, likewise.
        modules: how many were imported.
    """

    _open: ClassVar[WeakSet[ProgramSettings]] = WeakSet()
    _lock: ClassVar[threading.RLock] = threading.RLock()  # a forgotten block may end, as garbage, while it is held

    def __init__(self) -> None:
        self.before: dict[_Setting, Any] = {}
        self.owner = (threading.get_ident(), _current_task())
        self.is_alone = True
        with self._lock:
            self.modules = len(sys.modules)
            self.handlers, logging.root.handlers[:] = list(logging.root.handlers), []
            for setting in _SETTINGS:
                with suppress(Exception):  # the current directory may be gone
                    self.before[setting] = setting.read()
            for other in self._open:
                if other.owner != self.owner:
                    other.is_alone = self.is_alone = False
                    self.before, self.handlers, self.modules = dict(other.before), other.handlers, other.modules
            self._open.add(self)

    def end(self) -> list[Change]:
        """Return what was changed since, and restore it; nothing if it was asked before."""
        with self._lock:
            if self not in self._open:
                return []
            self._open.remove(self)
            if not self.is_alone and not all(other.is_alone for other in self._open):
                return []
            changes = self.restore()
            logging.root.handlers[:] = self.handlers
        return changes if self.is_alone and not more_runs_than_one() else []

    def restore(self) -> list[Change]:
        """Undo what was changed since, and return it."""
        before, self.before = self.before, {}
        changes = []
        for setting, found in before.items():
            # A mock that has started or stopped since, whoever's it is, has changed what has to be restored.
            then = found | no_proxy.written if setting.name == "os.environ" else found
            try:
                now = setting.read()
            except Exception as error:  # noqa: BLE001  # the current directory may have gone: a change like any other
                now = error
            if then is _ABSENT or now is then or now == then:
                continue
            sure = not self._may_come_with_an_import(setting, now)
            changes.append(Change(setting, then, now, sure))
            if sure:
                changes[-1].undo()
        return changes

    def _may_come_with_an_import(self, setting: _Setting, now: object) -> bool:
        """Whether a library that was imported meanwhile may have changed a setting, and not who imported it."""
        imported = [*sys.modules][self.modules :]
        if setting.name in _HOOKS:
            return getattr(now, "__module__", None) in imported
        return setting.name in _BY_IMPORTS and bool(imported)


def program_problem(who: str, changes: Sequence[Change]) -> Problem | None:
    """Return what is wrong with settings of the whole program that ``who`` has changed."""
    if not changes:
        return None
    words = (
        "settings of the whole program are the program's own, and others in it go by them: a client sets its own "
        "logger, connections and contexts"
    )
    return Problem(
        f"{who} {' and '.join(map(str, changes))}", "1", words, ("getattr({client}, 'close', lambda: None)()",)
    )


@contextmanager
def program_unchanged() -> Iterator[None]:
    """Let a block leave the settings of the whole program as they are: logging, sockets, signals, warnings and others.

    What it changes is restored at its end. While another thread or task is in such a block as well, nobody knows who
    changes what, and nothing is told.

    Raises:
        AssertionError: it has changed something.
    """
    settings = ProgramSettings()
    try:
        yield
    except BaseException:
        settings.end()
        raise
    changes = [change for change in settings.end() if change.is_sure]
    if changes:
        told = " and ".join(map(str, changes))
        raise AssertionError(f"expected the settings of the program to stay as they are; a client {told}")
