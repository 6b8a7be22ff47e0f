"""Reads bearer keys (§5), and explains refused credentials without showing a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import SCHEMES
from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Texts that many languages print for a missing setting, and the placeholder of §5. They are never secrets.
NO_KEYS: Final = frozenset({"none", "null", "undefined", "nil", "nan", "<nil>", "(null)", "<api_key>"})

# RFC 6750 §2.1: b64token. The case of the scheme has no meaning (RFC 9110 §11.1). Spaces follow the scheme (§11.4).
KEY_TEXT: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +(%b)" % KEY_TEXT.pattern.encode("ascii"))
_QUOTES: Final = ("'", '"', "`", "b'", 'b"')
_WHITE_SPACE: Final = "the white space is wrong: expected a space after 'Bearer', and none in or around the key"
_UNSET: Final = "the key is a placeholder, such as 'None' for a setting without a value"


def bearer_key(values: Sequence[bytes]) -> tuple[str | None, str]:
    """Return the API key in the ``values`` of Authorization, or None and the condition of the refusal."""
    if not values:
        return None, "missing_key"
    # Authorization is not a list field, so two fields are invalid.
    if len(values) > 1:
        return None, "malformed_credentials"
    match = _BEARER.fullmatch(values[0])
    if match is None:
        return None, "malformed_credentials"
    return match[1].decode("ascii"), ""


def key_fault(condition: str, values: Sequence[str], keys: Iterable[str]) -> str:
    """Return the mistake in refused credentials; empty if the condition already says it."""
    if condition not in {"unknown_key", "malformed_credentials"}:
        return ""
    if len(values) > 1:
        return f"{len(values)} Authorization fields arrived"
    value = values[0]
    scheme, *words = value.split() or [""]
    if scheme.lower() != "bearer" and not value.startswith(_QUOTES):
        # Safe to show; any other word may be a key.
        if scheme.lower() in SCHEMES:
            return f"the scheme is {scheme!r}, not 'Bearer'"
        missing = "the scheme 'Bearer' is missing"
        return f"{missing}, and {_UNSET}" if value.lower() in NO_KEYS else missing
    mistake = _mistake(value, words)
    if mistake:
        return mistake
    sizes = counted(len("".join(words)), "character")
    for key in tuple(keys)[:1]:
        sizes += f"; a valid key has {len(key)}"
    return f"the fake does not know this key ({sizes})"


def _mistake(value: str, words: Sequence[str]) -> str:
    key = words[0] if words else ""
    if value.startswith(_QUOTES) or key.startswith(_QUOTES):
        return "the key is in quotes, such as '...' or b'...'"
    if not key:
        return "no key follows 'Bearer'"
    if key.lower() == "bearer":
        return "the word 'Bearer' appears twice"
    if key.lower() in NO_KEYS:
        return _UNSET
    is_bearer = _BEARER.fullmatch(value.encode("latin-1", "replace")) is not None
    has_wrong_space = KEY_TEXT.fullmatch(key) is not None and not is_bearer
    return _WHITE_SPACE if has_wrong_space or len(words) > 1 else ""
