"""Plain values: JSON, numbers, paths, counts, environment variables."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeGuard, TypeVar, cast

from petstore_mock.common.masking import cut, printable
from petstore_mock.common.refusing import refuse, require, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

K = TypeVar("K")
T = TypeVar("T")


class Named(Protocol):
    """A row of a table."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)

# Wildcard addresses, with the address that clients on this machine use.
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # for requests, not for a listener

_LONGEST_URL: Final = 200  # characters to show
_HIDDEN: Final = "***"

# A JSON value, and a JSON object, whose types nothing checks: a schema has checked the value, or it is only passed on.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]
# A JSON value whose types are checked.
JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer; ``True`` is an integer to Python, but not here."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is an integer or a float; ``True`` is a number to Python, but not here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def by_name(rows: Iterable[Row]) -> Mapping[str, Row]:
    """Return the rows of a table by name, in their order; refuse two rows with one name."""
    table: dict[str, Row] = {}
    for row in rows:
        require(row.name not in table, "a unique name for each row of a table", name=row.name)
        table[row.name] = row
    return MappingProxyType(table)


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the values of each key, in the order of the pairs."""
    groups: dict[K, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def without(items: Iterable[T], left_out: T) -> list[T]:
    """Return the items except one."""
    return [item for item in items if item is not left_out]


def without_none(values: Mapping[str, T | None]) -> dict[str, T]:
    """Return a copy without the members that are None."""
    return {name: value for name, value in values.items() if value is not None}


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 request``, ``2 requests``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names in words, and how many others there are: ``a, b and 3 more``."""
    words = ", ".join(names[:most])
    others = len(names) - most
    if others > 0:
        return f"{words} and {others} more"
    return words


def as_path(path: object, name: str) -> Path:
    """Return ``path`` as a ``Path``; ``name`` is the argument's name in errors."""
    value: object = path  # a type checker would narrow the type of ``path`` itself
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(value):
        refuse(f"expected {name} to be a path, as text or a path object; got {name}={shown(value)}")
    return Path(cast("str | os.PathLike[str]", path))


def read_file(path: object, name: str, parse: Callable[[str], object], words: str) -> object:
    """Return the value of a file in UTF-8; refuse a file that can't be read or parsed.

    Args:
        path: the file.
        name: the argument's name in errors.
        parse: returns the value of a text, or raises ValueError.
        words: the expected file in words.
    """
    file = as_path(path, name)
    try:
        return parse(file.read_text(encoding="utf-8-sig"))  # editors on Windows add a byte-order mark
    except RecursionError:
        problem = "its values are nested too deep"
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    return refuse(f"expected {words}; got {file}: {problem}")


def write_text(path: object, text: str | Iterable[str]) -> None:
    """Write a text, or its parts, to a file. A lone surrogate is written as its escape, which JSON has too."""
    file = as_path(path, "path")
    parts = [text] if isinstance(text, str) else text
    try:
        with file.open("w", encoding="utf-8", errors="backslashreplace") as opened:
            opened.writelines(parts)
    except OSError as error:
        refuse(f"expected a file that can be written; got path={str(path)!r}: {error.strerror}")


def origin_of(host: str, port: object, *, secure: bool) -> str:
    """Return the scheme, host and port at which clients on this machine reach a listener."""
    host = EVERYWHERE.get(host, host)
    if ":" in host:
        host = f"[{host}]"
    scheme = "https" if secure else "http"
    return f"{scheme}://{host}:{port}"


def shown_url(url: object) -> str:
    """Return an address as messages show it: without its user and password, its query and its fragment.

    A query may be ``?api_key=...``, and the fragment of the console's address is ``#token=...``. A password may contain
    any character, so everything up to the last ``@`` is hidden.
    """
    beginning, separator, rest = str(url).partition("://")
    if not separator:
        beginning = ""
        rest = str(url)
    _, at, host = rest.rpartition("@")
    if at:
        rest = f"{_HIDDEN}@{host}"
    for start in ("?", "#"):
        before, _, after = rest.partition(start)
        if after:
            rest = f"{before}{start}{_HIDDEN}"
    return printable(cut(f"{beginning}{separator}{rest}", _LONGEST_URL))


def variable_of(option: str) -> str:
    """Return the environment variable of an option: ``PETSTORE_MOCK_PORT`` for ``port``."""
    # A client may read PETSTORE_API_KEY itself, so the prefix is not a plain PETSTORE_.
    return f"PETSTORE_MOCK_{option.upper()}"


def text_of(option: str) -> str:
    """Return the value of the environment variable of an option; empty if it is not set."""
    text = os.environ.get(variable_of(option), "")
    # For a service called petstore-mock, Kubernetes sets PETSTORE_MOCK_PORT=tcp://10.0.0.1:8080 in each pod.
    return "" if text.startswith("tcp://") else text
