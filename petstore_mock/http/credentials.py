"""Reads bearer keys, and says what is wrong with refused credentials in words that show no secret (§5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import NO_KEYS
from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# RFC 6750 §2.1: b64token. The scheme has no letter case (RFC 9110 §11.1); blanks are 1*SP (§11.4).
KEY_TEXT: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +(%b)" % KEY_TEXT.pattern.encode("ascii"))

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z-]{0,15}")  # too short for a pass phrase: a message may show it
_LONE_SCHEMES: Final = frozenset({"apikey", "basic", "digest", "token"})
_QUOTES: Final = ("'", '"', "`", "b'", 'b"')


def bearer_key(values: Sequence[bytes]) -> tuple[str | None, str]:
    """Return the API key in the ``values`` of the Authorization fields, or None and the condition."""
    if not values:
        return None, "missing_key"
    if len(values) > 1:  # Authorization is no list header: two fields are no valid credentials
        return None, "malformed_credentials"
    match = _BEARER.fullmatch(values[0])
    return (match[1].decode("ascii"), "") if match else (None, "malformed_credentials")


def key_fault(condition: str, values: Sequence[str], keys: Iterable[str]) -> str:
    """Say what is wrong with refused credentials; empty where the condition alone says it."""
    if condition not in {"unknown_key", "malformed_credentials"}:
        return ""
    if len(values) > 1:
        return f"{len(values)} Authorization fields arrived"
    known = tuple(keys)
    return _diagnosis(values[0], known) or _length(values[0], known)


def _diagnosis(value: str, keys: Sequence[str]) -> str:
    scheme, *words = value.split() or [""]
    key = " ".join(words)
    if scheme.lower() != "bearer":
        return _scheme_words(value.strip(), scheme, keys)
    if not key:
        return "no key follows 'Bearer'"
    if words[0].lower() == "bearer":
        return "the word 'Bearer' stands twice"
    if key.startswith(_QUOTES):
        return "the key is in quotes, as in '...' or b'...'"
    if len(words) > 1 or not _BEARER.fullmatch(value.encode("latin-1", "replace")):
        is_key = KEY_TEXT.fullmatch(words[0])
        return (
            "the white space is wrong: expected a blank behind 'Bearer', and none in or around the key"
            if is_key
            else ""
        )
    return _unset(key)


def _scheme_words(value: str, scheme: str, keys: Sequence[str]) -> str:
    if value.startswith(_QUOTES):
        return "the whole value is in quotes"
    is_scheme = value != scheme or scheme.lower() in _LONE_SCHEMES
    if is_scheme and scheme not in keys and _SCHEME.fullmatch(scheme):
        return f"the scheme is {scheme!r}, not 'Bearer'"
    unset = _unset(value)
    return f"the scheme 'Bearer' is missing{f', and {unset}' if unset else ''}"


def _unset(key: str) -> str:
    return f"the key is the text {key!r}: a setting of the client has no value" if key.lower() in NO_KEYS else ""


def _length(value: str, keys: Sequence[str]) -> str:
    *_, key = value.split()
    wanted = f"; a valid key has {len(keys[0])}" if keys else ""
    return f"the fake does not know the key, of {counted(len(key), 'character')}{wanted}"
