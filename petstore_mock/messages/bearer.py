"""What is wrong with the credentials of a refused request, in words that show no secret (§5).

A report masks what a client sent, and with it the mistake; these words name the mistake. They are looked for only when
a request is refused: what a valid key costs is one look-up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import ISSUED_KEY, NO_KEYS
from petstore_mock.common.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["KEY_TEXT", "bearer_key", "key_fault"]

# RFC 6750 §2.1: b64token.
KEY_TEXT: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
# The scheme's name has no case (RFC 9110 §11.1); blanks are 1*SP (§11.4).
_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +(%b)" % KEY_TEXT.pattern.encode("ascii"))
_KEY_CHARACTER: Final = re.compile(r"[A-Za-z0-9._~+/-]")

# What may be shown as a scheme: no digit, and too short for a pass phrase. IANA's names with letters alone are.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z-]{0,15}")
_ALONE: Final = frozenset({"basic", "token", "apikey", "digest"})  # where a word that stands alone is no key

_ENCLOSING: Final = {
    "''": "quotes",
    '""': "quotes",
    "``": "quotes",
    "<>": "angle brackets",
    "{}": "braces",
    "[]": "brackets",
    "()": "brackets",
}


def bearer_key(values: Sequence[bytes]) -> tuple[str | None, str]:
    """Return the API key that the ``values`` of the Authorization fields bear, or None and the condition why not."""
    if not values:
        return None, "missing_key"
    if len(values) > 1:  # no list header: two of them are no valid credentials
        return None, "malformed_credentials"
    match = _BEARER.fullmatch(values[0])
    return (match[1].decode("ascii"), "") if match else (None, "malformed_credentials")


def key_fault(condition: str, values: Sequence[str], keys: Iterable[str]) -> str:
    """Say what is wrong with refused credentials; nothing where the condition alone says it.

    Args:
        condition: why they were refused: a name of ``CONDITIONS``.
        values: the values of the Authorization fields.
        keys: the keys of the world that the request met, the one of its test first.
    """
    if condition == "unknown_key":
        return _unknown(values[0].split()[-1], tuple(keys))
    if condition != "malformed_credentials":
        return ""
    return _malformed(values[0], tuple(keys)) if len(values) == 1 else f"{len(values)} Authorization fields came"


def _unknown(key: str, keys: Sequence[str]) -> str:
    if key.lower() in NO_KEYS:
        return _not_set(key)
    if key.lower() == "bearer":
        return "the key is the word 'Bearer' a second time, and no key follows"
    if key.lower() in {known.lower() for known in keys}:
        return "the key differs from one that the fake knows in letter case alone"
    if ISSUED_KEY.fullmatch(key):
        return "it is none of this world's: it looks like one of another world, or of another run of the fake"
    wanted = f"; a valid one has {len(keys[0])}" if keys else ""
    return f"the fake knows no such key, of {counted(len(key), 'character')}{wanted}"


def _malformed(value: str, keys: Sequence[str]) -> str:
    text = value.strip()
    if not text:
        return "the field is empty"
    enclosed = _enclosed(text)
    if enclosed:
        return f"the whole value is in {enclosed}"
    scheme, *behind = text.split(None, 1)
    if not behind:
        return _one_word(text, keys)
    (key,) = behind
    if scheme.lower() != "bearer":
        return _other_scheme(scheme, keys)
    if text[len(scheme) : -len(key)].strip(" "):  # a tab, or the no-break space of a word processor
        return "what follows 'Bearer' is no plain blank"
    return _malformed_key(key)


def _one_word(word: str, keys: Sequence[str]) -> str:
    lower = word.lower()
    if lower == "bearer":
        return "the key is empty: nothing follows 'Bearer'"
    if _is_key(word, keys):
        return "there is no scheme: the value is the key alone"
    if lower.startswith("bearer"):
        return "no blank follows 'Bearer'"
    if lower in NO_KEYS:
        return f"there is no scheme, and {_not_set(word)}"
    if lower in _ALONE:
        return f"the scheme came as {word!r}, and no key follows"
    return f"there is no scheme: the value is one word of {counted(len(word), 'character')}"


def _other_scheme(scheme: str, keys: Sequence[str]) -> str:
    if _is_key(scheme, keys):
        return "there is no scheme: the value begins with the key"
    if _SCHEME.fullmatch(scheme):
        return f"the scheme came as {scheme!r}"
    if scheme.lower() == "authorization:":
        return "the value begins with the field's name"
    if scheme.lower().startswith("bearer"):
        return "no blank follows 'Bearer'"
    return "the value does not begin with 'Bearer'"


def _malformed_key(key: str) -> str:
    if KEY_TEXT.fullmatch(key):  # nothing else is left
        return "there is white space around the value"
    if key.lower() in NO_KEYS:
        return _not_set(key)
    enclosed = _enclosed(key)
    if enclosed:
        return f"the key is in {enclosed}"
    if key[0] == "b" and _enclosed(key[1:]) == "quotes":
        return "the key came as b'...', as Python writes bytes: decode it"
    if key.split(maxsplit=1)[0].lower() == "bearer":
        return "the key begins with 'Bearer' a second time"
    return _wrong_character(key)


def _wrong_character(key: str) -> str:
    if "," in key:  # RFC 9110 §5.3: what a gateway may make of two fields
        return "there is a comma in it, as when two Authorization fields are joined"
    if len(key.split()) > 1:
        return "there is white space in the key"
    wrong = next((character for character in key.rstrip("=") if not _KEY_CHARACTER.fullmatch(character)), "=")
    if not wrong.isascii() or not wrong.isprintable():
        return "the key has a character that is not printable ASCII"
    return f"the key has {wrong!r} where a bearer token can't (RFC 6750 §2.1)"


def _not_set(text: str) -> str:
    return f"the key is the text {text!r}: the client's setting is not there"


def _is_key(word: str, keys: Sequence[str]) -> bool:
    return word in keys or ISSUED_KEY.fullmatch(word) is not None


def _enclosed(text: str) -> str:
    return _ENCLOSING.get(f"{text[0]}{text[-1]}", "") if len(text) > 1 else ""
