"""Reads bearer keys, and says what is wrong with refused credentials in words that show no secret (§5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import NO_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# RFC 6750 §2.1: b64token. The scheme has no letter case (RFC 9110 §11.1); blanks are 1*SP (§11.4).
KEY_TEXT: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +(%b)" % KEY_TEXT.pattern.encode("ascii"))

# A message may show a scheme: it has no digit, and it is too short for a pass phrase.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z-]{0,15}")
_LONE_SCHEMES: Final = frozenset({"apikey", "basic", "digest", "token"})
_QUOTES: Final = ("'", '"', "`")


def bearer_key(values: Sequence[bytes]) -> tuple[str | None, str]:
    """Return the API key in the ``values`` of the Authorization fields, or None and the condition."""
    if not values:
        return None, "missing_key"
    if len(values) > 1:  # Authorization is no list header: two fields are no valid credentials
        return None, "malformed_credentials"
    match = _BEARER.fullmatch(values[0])
    return (match[1].decode("ascii"), "") if match else (None, "malformed_credentials")


def key_fault(condition: str, values: Sequence[str], keys: Iterable[str]) -> str:
    """Say what is wrong with refused credentials; empty where the condition alone says it.

    Args:
        condition: why they were refused: a name of ``CONDITIONS``.
        values: the values of the Authorization fields.
        keys: the keys of the request's world, the test's own first.
    """
    if condition not in {"unknown_key", "malformed_credentials"}:
        return ""
    if len(values) > 1:
        return f"{len(values)} Authorization fields arrived"
    known = tuple(keys)
    scheme, _, key = values[0].strip().partition(" ")
    if scheme.lower() != "bearer":
        return _scheme_fault(values[0], known)
    return _key_fault(key, known)


def _scheme_fault(value: str, keys: Sequence[str]) -> str:
    words = value.split()
    if not words:
        return "the field is empty"
    if _is_quoted(value.strip()):
        return "the whole value is in quotes"
    first = words[0]
    if first.lower() == "bearer":  # a tab, or the no-break space of a word processor
        return "the white space behind 'Bearer' is not a plain blank"
    has_scheme = len(words) > 1 or first.lower() in _LONE_SCHEMES
    if has_scheme and first not in keys and _SCHEME.fullmatch(first):
        return f"the scheme is {first!r}, not 'Bearer'"
    if words == [first] and first.lower() in NO_KEYS:
        return f"the scheme is missing, and {_unset(first)}"
    return f"the scheme is missing: the value does not begin with 'Bearer ', {_lengths(value, keys)}"


def _key_fault(key: str, keys: Sequence[str]) -> str:
    words = key.split()
    if not words:
        return "no key follows 'Bearer'"
    if words[0].lower() == "bearer":
        return "the word 'Bearer' stands twice"
    if key.strip().lower() in NO_KEYS:
        return _unset(key.strip())
    if _is_quoted(key.removeprefix("b")):
        is_bytes = key.startswith("b")
        return "the key is written as b'...': decode the bytes" if is_bytes else "the key is in quotes"
    if len(words) > 1 or key != words[0]:
        return "the key contains white space"
    return f"the fake does not know the key, {_lengths(key, keys)}"


def _lengths(text: str, keys: Sequence[str]) -> str:
    wanted = f"; a valid key has {len(keys[0])}" if keys else ""
    return f"which has {len(text)} character{'' if len(text) == 1 else 's'}{wanted}"


def _unset(text: str) -> str:
    return f"the key is the text {text!r}: a setting of the client has no value"


def _is_quoted(text: str) -> bool:
    return len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0]
