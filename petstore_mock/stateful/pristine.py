"""The state of a client's classes and modules, as it was before the first client was made.

How this works: a client may keep state in its class or module. A test that the machine prints begins without such
state, so the machine must begin without it too when it plays that test. :class:`Pristine` finds the classes and modules
that ``make_client`` uses, copies their plain values, and puts the copies back.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from copy import deepcopy
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from petstore_mock.checks.reading import is_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.checks.check import Thunk

Members: TypeAlias = "dict[str, Any]"
_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS: Final = (list, dict, set, tuple, frozenset)
_MOST: Final = 200  # classes and modules
_ABSENT: Final = object()


class StateOfClient:
    """The state that outlives the clients of a run. A subclass restores it."""

    def restore(self) -> None:
        """Put the state back before a scenario is played again."""

    def renew(self) -> None:
        """Put the state back before a play that decides whether there is a bug."""
        self.restore()

    def suspect(self) -> None:
        """Expect that the bug depends on the state."""


class Pristine(StateOfClient):
    """A copy of the state of the classes and modules that a function uses."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._saved: list[tuple[Any, Members]] = []
        self._caches: list[Thunk] = []
        for owner in _owners(function):
            self._save(owner)

    def _save(self, owner: Any) -> None:  # noqa: ANN401  # a class or a module
        values: Members = {}
        for name, value in _members(owner).items():
            if name.startswith("__"):
                continue
            clear = getattr(value, "cache_clear", None)
            if callable(clear):
                self._caches.append(clear)
            values[name] = deepcopy(value) if _is_plain(value) else value
        self._saved.append((owner, values))

    def restore(self) -> None:
        """Put the copies back, into the same lists, dicts and sets."""
        for clear in self._caches:
            clear()
        for owner, values in self._saved:
            for name, value in values.items():
                _put_back(owner, name, value)
            for name in _members(owner).keys() - values.keys():
                _take_away(owner, name)


def _members(owner: Any) -> Members:  # noqa: ANN401
    return {**vars(owner)}


def _put_back(owner: Any, name: str, value: Any) -> None:  # noqa: ANN401
    now: Any = _members(owner).get(name, _ABSENT)
    if now is value:
        return
    if not _is_plain(value):
        _set(owner, name, value)
        return
    copy = deepcopy(value)
    if type(now) is not type(value):
        _set(owner, name, copy)
    elif now == value:
        return
    elif type(now) is list:
        now[:] = copy
    elif type(now) in {dict, set}:
        now.clear()
        now.update(copy)
    else:
        _set(owner, name, copy)


def _set(owner: Any, name: str, value: Any) -> None:  # noqa: ANN401
    with suppress(AttributeError, TypeError):  # a class may refuse to be changed
        setattr(owner, name, value)


def _take_away(owner: Any, name: str) -> None:  # noqa: ANN401
    """Delete the names that were added since, except those that imports and definitions add to a module."""
    value = _members(owner)[name]
    is_defined = isinstance(owner, ModuleType) and isinstance(value, (ModuleType, type, FunctionType))
    if not name.startswith("__") and not is_defined:
        with suppress(AttributeError, TypeError):
            delattr(owner, name)


def _is_plain(value: object, depth: int = 4) -> bool:
    """Whether a value can be copied without a side effect."""
    if type(value) in _PLAIN:
        return True
    if type(value) not in _CONTAINERS or not depth:
        return False
    members: Any = value
    parts: list[Any] = [*members]
    if type(value) is dict:
        parts += members.values()
    return all(_is_plain(part, depth - 1) for part in parts)


def _owners(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the classes and modules that a function uses, without those of libraries."""
    waiting: list[Any] = [function]
    known: dict[int, Any] = {}
    while waiting and len(known) < _MOST:
        value = waiting.pop()
        if id(value) in known or not _is_own(value):
            continue
        known[id(value)] = value
        if isinstance(value, (type, ModuleType)):
            yield value
        waiting += _used_by(value)


def _is_own(value: object) -> bool:
    if isinstance(value, ModuleType):
        module = value.__name__
    elif isinstance(value, (type, FunctionType)):
        module = value.__module__ or ""
    else:
        return isinstance(value, (partial, MethodType)) or hasattr(value, "__wrapped__")
    return is_own(module) and module.partition(".")[0] not in {"pytest", "_pytest"}


def _used_by(value: Any) -> list[Any]:  # noqa: ANN401
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__func__, type(value.__self__), value.__self__]
    if isinstance(value, FunctionType):
        return _used_by_function(value)
    if isinstance(value, type):
        methods = [member for member in vars(value).values() if isinstance(member, FunctionType)]
        return [*value.__mro__[1:], *methods, sys.modules.get(value.__module__)]
    return [getattr(value, "__wrapped__", None)]


def _used_by_function(function: FunctionType) -> list[Any]:
    names = _names(function.__code__) & function.__globals__.keys()
    used = [function.__globals__[name] for name in names]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty cell
            used.append(cell.cell_contents)
    module = sys.modules.get(function.__module__ or "")
    return [*used, *(function.__defaults__ or ()), module]


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
