"""Text that may be shown of a request: without API keys, and without characters that a terminal obeys.

A key is recognised by its place (``Authorization``, a field or parameter with a name like a key's), by being a key of
the world that the request met, or by its shape, which is that of the keys that the fake issues.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CUT: Final = "..."  # stands at the end of a text that was cut short
ISSUED_START: Final = "petstore-"
ISSUED_KEY: Final = re.compile(rf"{ISSUED_START}[0-9a-f]{{8}}-\d{{6,}}")  # the shape of the keys that a world issues

_RECOGNISABLE: Final = 8  # characters; a shorter fixed key, such as `test`, is part of many words
_STARS: Final = "***"
_TAIL: Final = 4  # characters that stay, so that two keys can be told apart ...
_SHORTEST_WITH_TAIL: Final = 12  # ... unless they are half of the key
_SHOWN_METHOD: Final = 40  # characters; there is no limit to what a client may send
_SHOWN_TARGET: Final = 200

# Schemes of one opaque token; the end of other credentials may be the end of a password.
_TOKEN_SCHEMES: Final = frozenset({"bearer", "token", "apikey"})
_SCHEMES: Final = _TOKEN_SCHEMES | {"basic", "digest", "negotiate", "hmac"}

_SECRET_FIELD: Final = re.compile(r"authorization|api[-_]?key|token|secret|passw|credential|cookie", re.IGNORECASE)
_SECRET_PARAMETER: Final = re.compile(rf"{_SECRET_FIELD.pattern}|\bkey\b", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"([?&])([^=&#]*)=([^&#]+)")
_PART: Final = re.compile(r"""[^/?&=#\s"']+""")  # of a target


def cut(text: str, most: int) -> str:
    """Return ``text``, or its first ``most`` characters and ``...``; the beginning of a key can still be masked."""
    return text if len(text) <= most else f"{text[:most]}{CUT}"


def printable(text: str) -> str:
    """Return ``text`` with each character escaped that moves a cursor, breaks a line or reverses the writing."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def request_line(method: str, target: str, keys: Iterable[str]) -> str:
    """Return method and target for a line of text: printable, bounded, keys masked."""
    keys = tuple(keys)
    return printable(f"{cut(mask_text(method, keys), _SHOWN_METHOD)} {cut(mask_target(target, keys), _SHOWN_TARGET)}")


def mask(secret: str) -> str:
    """Return the end of a long key behind stars, of a short key the stars alone; a masked key stays as it is."""
    if secret.startswith(_STARS) and len(secret) <= len(_STARS) + _TAIL:
        return secret
    return f"{_STARS}{secret[-_TAIL:]}" if len(secret) >= _SHORTEST_WITH_TAIL else _STARS


def mask_field(name: str, value: str, keys: Iterable[str] = ()) -> str:
    """Mask the credentials in the value of a header field, and ``keys`` anywhere else."""
    if _SECRET_FIELD.search(name) is None:
        return mask_text(value, keys)
    scheme, blank, credentials = value.partition(" ")
    if scheme.lower() not in _SCHEMES:
        return mask(value) if value.isalnum() else _STARS if value else ""
    if not credentials.strip():
        return value  # a scheme without credentials is a mistake that reports must show
    return f"{scheme}{blank}{mask(credentials) if scheme.lower() in _TOKEN_SCHEMES else _STARS}"


def mask_parameter(name: str, value: str) -> str:
    """Mask the decoded value of a parameter or member whose name is like a key's."""
    return mask(value) if value and _SECRET_PARAMETER.search(name) else value


def mask_target(target: str, keys: Iterable[str] = ()) -> str:
    """Mask every key in a request target, and the values of parameters with names like a key's."""
    return _PARAMETER.sub(lambda one: f"{one[1]}{one[2]}={mask_parameter(one[2], one[3])}", mask_text(target, keys))


def mask_text(text: str, keys: Iterable[str] = ()) -> str:
    """Mask every key in ``text``: ``keys``, and keys that the fake issued; percent-encoded ones too."""
    keys = sorted(keys, key=len, reverse=True)  # one key may be the beginning of another
    text = _mask_plain(text, keys)
    if "%" in text and _mask_plain(decoded := unquote(text), keys) != decoded:  # a client may encode any character
        text = _PART.sub(lambda part: _mask_encoded(part[0], keys), text)
    return text


def _mask_encoded(part: str, keys: Sequence[str]) -> str:
    decoded = unquote(part)
    masked = _mask_plain(decoded, keys)
    return part if masked == decoded else quote(masked, safe="*.")


def _mask_plain(text: str, keys: Sequence[str]) -> str:
    for key in keys:
        if len(key) >= _RECOGNISABLE:
            text = text.replace(key, mask(key)) if key in text else text
            if CUT in text:  # a text may end within a key
                start = key[: len(ISSUED_START) + 1 if key.startswith(ISSUED_START) else _RECOGNISABLE]
                text = re.sub(rf"{re.escape(start)}\S*?{re.escape(CUT)}", f"{_STARS}{CUT}", text)
    return ISSUED_KEY.sub(lambda found: mask(found[0]), text) if ISSUED_START in text else text
