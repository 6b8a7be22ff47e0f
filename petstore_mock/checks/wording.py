"""Values in sentences, and in the source of pasted tests."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import mask_text

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN: Final = 60  # characters of a value in a sentence


def literal(value: object) -> str:
    """Return ``value`` as Python source; long text that repeats a unit becomes a product."""
    if isinstance(value, str):
        for unit in (value[:1], value[:2], value[:3]) if len(value) > _SHOWN else ():
            count = len(value) // len(unit)
            if unit * count == value:
                return f"{unit!a} * {count}"
        # An editor or a form may change text that is not in Unicode's composed form.
        return repr(value) if value.isprintable() and unicodedata.is_normalized("NFC", value) else ascii(value)
    if is_object(value):
        return f"{{{', '.join(f'{literal(name)}: {literal(member)}' for name, member in value.items())}}}"
    return text_of(repr, value)


def shortened(value: object) -> str:
    """Return ``value`` as Python source, or its beginning."""
    return _cut(literal(value))


def raised(error: BaseException) -> str:
    """Return an exception in words that follow "raised"; keys that the fake issued are masked."""
    text = _cut(mask_text(text_of(str, error).strip().partition("\n")[0]))
    return f"{type(error).__name__}{f' ({text})' if text else ''}"


def text_of(make: Callable[[Any], str], value: object) -> str:
    """Return ``make(value)``; a client's own method may fail."""
    try:
        return make(value)
    except Exception as error:  # noqa: BLE001
        return f"<{make.__name__}() raised {type(error).__name__}>"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
