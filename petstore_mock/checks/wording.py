"""Values in sentences and in the source of pasted tests; keys in them, in each form that gives a key away."""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHOWN: Final = 60  # characters of a value in a sentence
_LEAST: Final = 8  # characters of a key; a shorter form is part of many words


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


@lru_cache(maxsize=64)
def _forms(key: str) -> dict[str, str]:
    """Return the texts that give a key away, each with words about its form."""
    raw = key.encode()
    found = dict.fromkeys((raw.hex(), raw.hex().upper()), " in hexadecimal")
    for before in range(3):  # the bytes before the key shift the groups of base64, of three bytes each
        encoded = b64encode(b"\0" * before + raw).decode()
        alone = encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]  # these characters depend on the key only
        found |= dict.fromkeys((alone, alone.translate({ord("+"): "-", ord("/"): "_"})), " in base64")
    found |= {quote(key, safe=""): " percent-encoded", key: ""}
    return {form: words for form, words in found.items() if len(form) >= _LEAST}


def key_in(text: str, keys: Iterable[str]) -> str | None:
    """Return words about the form in which one of the keys stands in a text (empty for as it is), or None."""
    return next((words for key in keys for form, words in _forms(key).items() if form in text), None)


def without_keys(text: str, keys: Iterable[str]) -> str:
    """Return a text with the keys masked in every form."""
    for form in (form for key in keys for form in _forms(key)):
        text = text.replace(form, "***")
    return text
