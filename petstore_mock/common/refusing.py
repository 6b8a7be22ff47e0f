"""Errors for wrong arguments: what was expected, what arrived, and the nearest valid name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from petstore_mock.common.masking import cut
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

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
        words = [f"{name}={shown(value)}" for name, value in got.items()]
        refuse(f"expected {expected}; got {', '.join(words)}")


def one_of(name: object, known: Iterable[str], kind: str, meant: str | None = None) -> str:
    """Return ``name`` if it is one of ``known``; else raise PetStoreMockError with the nearest one, or ``meant``."""
    names = list(known)
    if isinstance(name, str) and name in names:
        return name
    article = "an" if kind[0] in "aeiou" else "a"
    hint = did_you_mean(name if meant is None else meant, names)
    refuse(f"expected {article} {kind}, one of {', '.join(names)}; got {shown(name)}{hint}")


def require_names(given: Iterable[str], known: Collection[str], words: str) -> None:
    """Raise PetStoreMockError for the first of the ``given`` names that is not ``known``, with the nearest name."""
    for name in given:
        if name not in known:
            names = ", ".join(known) or "none"
            refuse(f"expected {words}: {names}; got {name}{did_you_mean(name, known)}")


def shown(value: object) -> str:
    """Return the shortened ``repr`` of a value."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to convert an integer of more than 4,300 digits to text
        return "an integer of thousands of digits"
    return cut(text, _SHOWN)
