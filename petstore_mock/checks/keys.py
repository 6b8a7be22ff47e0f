"""An API key in other forms: a key in base64 is a key for everybody who finds it."""

from __future__ import annotations

import sys
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

# Modules that are no client's own: the standard library, and those that clients are built on.
LIBRARIES: Final = sys.stdlib_module_names | frozenset(
    {
        "aiohttp", "anyio", "attr", "attrs", "certifi", "charset_normalizer", "h11", "h2", "httpcore", "httpx",
        "hypothesis", "idna", "multidict", "petstore_mock", "pydantic", "pydantic_core", "requests", "sniffio",
        "urllib3", "yarl",
    }
)  # fmt: skip
_LEAST: Final = 8  # characters; a shorter form is part of many words


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
