"""Errors for wrong arguments: what was expected, what arrived, and the nearest valid name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, NoReturn

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_SLIP: Final = 100  # characters; longer names take too long to compare
_SHOWN: Final = 200  # characters of a value


def refuse(message: str) -> NoReturn:
    """Raise PetStoreMockError; unlike ``require``, it lets a type checker narrow a type."""
    raise PetStoreMockError(message) from None  # the message already contains the cause


class Stays:
    """A base class of objects that refuse to be copied or pickled."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        got = f"got a {type(self).__name__}, whose state and threads stay in this process"
        refuse(f"expected text to copy or pass to another process, such as petstore.url and petstore.api_key; {got}")


def require(holds: object, expected: str, **got: object) -> None:
    """Raise PetStoreMockError unless ``holds`` is true: "expected a port from 0 to 65535; got port=70000"."""
    if not holds:
        refuse(f"expected {expected}; got {', '.join(f'{name}={shown(value)}' for name, value in got.items())}")


def one_of(name: object, known: Iterable[str], kind: str) -> str:
    """Return ``name`` if it is one of ``known``; else raise PetStoreMockError with the nearest of them."""
    names = list(known)
    if isinstance(name, str) and name in names:
        return name
    article = "an" if kind[0] in "aeiou" else "a"
    refuse(f"expected {article} {kind}, one of {', '.join(names)}; got {shown(name)}{did_you_mean(name, names)}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)", or "" if no name is near."""
    meant = nearest(name, known)
    return "" if meant is None else f" (did you mean {meant!r}?)"


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name most like ``name``, or None; case, hyphens and underscores do not count."""
    text = str(name)
    if len(text) > _LONGEST_SLIP:
        return None
    folded = {_fold(other): other for other in known}
    close = difflib.get_close_matches(_fold(text), folded, n=1)
    return folded[close[0]] if close else None


def shown(value: object) -> str:
    """Return the shortened ``repr`` of a value."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to convert an integer of more than 4,300 digits to text
        return "an integer of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
