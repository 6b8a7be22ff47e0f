"""Reads bearer keys, and says what is wrong with refused credentials in words that show no secret (§5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Texts that stand where a setting is missing (many languages print one, and §5 shows the last): never a secret.
NO_KEYS: Final = frozenset({"none", "null", "undefined", "nil", "nan", "<nil>", "(null)", "<api_key>"})

# RFC 6750 §2.1: b64token. The scheme has no letter case (RFC 9110 §11.1); blanks are 1*SP (§11.4).
KEY_TEXT: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +(%b)" % KEY_TEXT.pattern.encode("ascii"))
_SCHEMES: Final = frozenset(
    {"apikey", "basic", "digest", "token"}
)  # a message may show them; another word may be a key
_QUOTES: Final = ("'", '"', "`", "b'", 'b"')
_UNSET: Final = "the key is the text of a setting that has no value, such as 'None'"


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
    value = values[0]
    scheme, *words = value.split() or [""]
    if scheme.lower() != "bearer" and not value.startswith(_QUOTES):
        if scheme.lower() in _SCHEMES:
            return f"the scheme is {scheme!r}, not 'Bearer'"
        return f"the scheme 'Bearer' is missing{f', and {_UNSET}' if value.lower() in NO_KEYS else ''}"
    valid = "".join(f"; a valid key has {len(known)}" for known in tuple(keys)[:1])
    unknown = f"the fake does not know the key, of {counted(len(''.join(words)), 'character')}{valid}"
    return _mistake(value, words) or unknown


def _mistake(value: str, words: Sequence[str]) -> str:
    key = words[0] if words else ""
    if value.startswith(_QUOTES) or key.startswith(_QUOTES):
        return "the key is in quotes, as in '...' or b'...'"
    if key.lower() in {"", "bearer"}:
        return "the word 'Bearer' stands twice" if key else "no key follows 'Bearer'"
    if key.lower() in NO_KEYS:
        return _UNSET
    if len(words) > 1 or (KEY_TEXT.fullmatch(key) and not _BEARER.fullmatch(value.encode("latin-1", "replace"))):
        return "the white space is wrong: expected a blank behind 'Bearer', and none in or around the key"
    return ""
