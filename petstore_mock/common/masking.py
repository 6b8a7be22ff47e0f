"""What may be shown of a request: no API key, and nothing that a terminal obeys.

A key is known by where it stands (``Authorization``, a field or parameter that is called like one), by being a key of
the world that the request met, or by its shape, which is that of the keys that the fake issues.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "CUT",
    "ISSUED_KEY",
    "NO_KEYS",
    "cut",
    "mask",
    "mask_field",
    "mask_parameter",
    "mask_target",
    "mask_text",
    "printable",
    "request_line",
]

# What languages write for a setting that is not there, in lower case, and the interface (§5) in the place of a key.
# None of these is a secret.
NO_KEYS: Final = frozenset({"none", "null", "undefined", "nil", "nan", "<nil>", "(null)", "<api_key>"})

ISSUED_KEY: Final = re.compile(r"petstore-[0-9a-f]{8}-\d{6,}")  # as core.world_registry makes them

# A shorter fixed key, such as `test`, would be found in every other word. Where keys belong it is masked all the same.
_RECOGNISABLE: Final = 8

_TAIL: Final = 4  # characters that stay, so that two keys can be told apart ...
_STARS: Final = "***"
_SHORTEST_WITH_TAIL: Final = 12  # ... unless they would be half of it

# Schemes whose credentials are one opaque token; the end of any other's may be the end of a password.
_TOKEN_SCHEMES: Final = frozenset({"bearer", "token", "apikey"})
_SCHEMES: Final = _TOKEN_SCHEMES | {"basic", "digest", "negotiate", "hmac"}

_LONGEST_KEPT: Final = 200  # characters of a target

_SECRET_NAME: Final = r"authorization|api[-_]?key|token|secret|passw|credential|cookie"  # noqa: S105  # names, not secrets
_SECRET_FIELD: Final = re.compile(_SECRET_NAME, re.IGNORECASE)
_SECRET_PARAMETER_NAME: Final = rf"(?:{_SECRET_NAME}|\bkey\b)"
_NAMES_SECRET: Final = re.compile(_SECRET_PARAMETER_NAME, re.IGNORECASE)
_SECRET_PARAMETER: Final = re.compile(rf"([?&][^=&#]*{_SECRET_PARAMETER_NAME}[^=&#]*=)([^&#]+)", re.IGNORECASE)

_ISSUED_START: Final = "petstore-"
_PART: Final = re.compile(r"""[^/?&=#\s"']+""")  # of a target, wherever it stands

_SHOWN_METHOD: Final = 40  # characters; a client may send one of 16 KiB
_SHOWN_TARGET: Final = 200

CUT: Final = "..."  # stands where a text was cut short, by whoever cuts one in which a key may stand


def cut(text: str, most: int) -> str:
    """Return ``text``, or its first ``most`` characters and :data:`CUT`; a key that is cut can still be masked."""
    return text if len(text) <= most else f"{text[:most]}{CUT}"


def request_line(method: str, target: str, keys: Sequence[str]) -> str:
    """Return method and target as they may be shown in a line of text: printable, bounded, ``keys`` masked."""
    return printable(f"{cut(mask_text(method, keys), _SHOWN_METHOD)} {cut(mask_target(target, keys), _SHOWN_TARGET)}")


def mask(secret: str) -> str:
    """Return what may be shown of a key: the end of a long one; what is masked already stays as it is."""
    if secret.startswith(_STARS) and len(secret) <= len(_STARS) + _TAIL:  # so short, it gives no more away than a tail
        return secret
    return f"***{secret[-_TAIL:]}" if len(secret) >= _SHORTEST_WITH_TAIL else "***"


def mask_field(name: str, value: str, keys: Iterable[str] = ()) -> str:
    """Mask the credentials in the value of a header field; any other value is returned as it is.

    Args:
        name: the field's name, in any case.
        value: its value.
        keys: keys that are known, wherever they stand.
    """
    if _SECRET_FIELD.search(name) is None:
        return mask_text(value, keys)
    scheme, blank, credentials = value.partition(" ")
    if scheme.lower() not in _SCHEMES:
        if not value:
            return value
        is_token = " " not in value and ":" not in value and "cookie" not in name.lower()
        return mask(value) if is_token else "***"
    if not credentials.strip():
        return value  # a scheme alone is what a report must show
    return f"{scheme}{blank}{mask(credentials) if scheme.lower() in _TOKEN_SCHEMES else '***'}"


def mask_text(text: str, keys: Iterable[str] = ()) -> str:
    """Mask every key in ``text``: those in ``keys``, and those that the fake issued; percent-encoded ones too."""
    keys = sorted(keys, key=len, reverse=True)  # one key may be the beginning of another
    text = _mask_plain(text, keys)
    if "%" in text and _mask_plain(decoded := unquote(text), keys) != decoded:  # a client may encode any character
        text = _PART.sub(lambda part: _mask_part(part[0], keys), text)
    return text


def _mask_plain(text: str, keys: Sequence[str]) -> str:
    for key in keys:
        if len(key) < _RECOGNISABLE:
            continue
        if key in text:
            text = text.replace(key, mask(key))
        if CUT in text:
            text = _without_beginnings(text, key)
    return ISSUED_KEY.sub(lambda found: mask(found[0]), text) if _ISSUED_START in text else text


def _mask_part(part: str, keys: Sequence[str]) -> str:
    """Mask every key in a percent-encoded part of a target; a part without one is returned as it is."""
    decoded = unquote(part)
    masked = _mask_plain(decoded, keys)
    return part if masked == decoded else quote(masked, safe="*.")


def _without_beginnings(text: str, key: str) -> str:
    """Mask the beginnings of ``key`` that end where a text was cut short."""
    # What all keys that the fake issues begin with is no secret, and a word.
    least = key[: len(_ISSUED_START) + 1 if key.startswith(_ISSUED_START) else _RECOGNISABLE]
    if least not in text:
        return text
    pieces = text.split(CUT)
    for index, piece in enumerate(pieces[:-1]):
        at = piece.rfind(least)
        if at >= 0 and key.startswith(piece[at:]):
            pieces[index] = f"{piece[:at]}***"
    return CUT.join(pieces)


def mask_target(target: str, keys: Iterable[str] = ()) -> str:
    """Mask every key in a request target, percent-encoded ones and the values of parameters named like one."""
    # A client asks for the same few targets with the same key, and the stub logs each; a long one is not to be kept.
    mask_it = _masked_before if len(target) <= _LONGEST_KEPT else _mask_target
    return mask_it(target, tuple(keys))


def _mask_target(target: str, keys: tuple[str, ...]) -> str:
    target = mask_text(target, keys)
    if "?" not in target:
        return target
    return _SECRET_PARAMETER.sub(lambda found: found[1] + mask(found[2]), target)


_masked_before: Final = lru_cache(maxsize=256)(_mask_target)


def mask_parameter(name: str, value: str) -> str:
    """Mask the decoded value of a parameter or member that is called like a key; any other is returned as it is."""
    return mask(value) if value and _NAMES_SECRET.search(name) else value


def printable(text: str) -> str:
    """Return ``text`` with everything escaped that could move a cursor, break a line or turn the writing around."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
