"""A key in other forms: whoever finds it in base64 has it as well."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from petstore_mock.errors import PetStoreMockError

__all__ = ["PLAIN", "form_in", "forms", "holds_key", "masked"]

PLAIN: Final = "as it is"
_LEAST: Final = 8  # characters: a shorter form would be found in every other word


@lru_cache(maxsize=64)
def forms(key: str) -> dict[str, str]:
    """Return what tells a key, each with the name of its form: as it is, in base64, in hexadecimal, percent-encoded."""
    found = {key: PLAIN}
    raw = key.encode()
    for before in range(3):  # what stands before it shifts base64's groups of three
        encoded = b64encode(b"\0" * before + raw).decode()
        # Only whole characters are the key's alone: six bits each.
        sure = encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        found |= {sure: "in base64", sure.translate({ord("+"): "-", ord("/"): "_"}): "in base64"}
    found |= {raw.hex(): "in hexadecimal", raw.hex().upper(): "in hexadecimal", quote(key, safe=""): "percent-encoded"}
    found[key] = PLAIN
    return {form: name for form, name in found.items() if form == key or len(form) >= _LEAST}


def form_in(text: str, key: str) -> str | None:
    """Return the name of the form in which a key stands in a text, or None."""
    return next((name for form, name in forms(key).items() if form in text), None)


def holds_key(text: Any, key: str) -> bool:  # noqa: ANN401  # checks whatever a test author passes
    """Say whether a text holds a key: as it is, in base64, in hexadecimal or percent-encoded.

    Args:
        text: such as a log, an exception's text or a file.
        key: the key.

    Raises:
        PetStoreMockError: one of them is no text, or there is no key.
    """
    if not isinstance(text, (str, bytes)) or not key:
        raise PetStoreMockError(f"expected text and a key; got {type(text).__name__}, and key={type(key).__name__}")
    return form_in(text if isinstance(text, str) else text.decode("latin-1"), key) is not None


def masked(text: str, key: str) -> str:
    """Return a text with the key's forms masked."""
    for form in forms(key):
        text = text.replace(form, "***")
    return text
