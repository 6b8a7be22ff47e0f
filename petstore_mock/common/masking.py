"""Masks API keys in texts that are shown, and escapes control characters.

It masks values where a key belongs: in ``Authorization``, and in fields and parameters with names such as ``api_key``.
In other texts it masks the keys of the request's world (from 8 characters), and any text in the form of an issued key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CUT: Final = "..."  # the end of a text that was cut
ISSUED_START: Final = "petstore-"
ISSUED_KEY: Final = re.compile(rf"{ISSUED_START}[0-9a-f]{{8}}-\d{{6,}}")  # a key that a world issues

_RECOGNISABLE: Final = 8  # characters; a shorter fixed key, such as `test`, also occurs in ordinary words
_STARS: Final = "***"
_TAIL: Final = 4  # characters of a masked key that stay visible, to distinguish two keys
_SHORTEST_WITH_TAIL: Final = 12  # characters; four visible ones would reveal too much of a shorter key
_SHOWN_METHOD: Final = 40  # characters; a client may send a method of any length
_SHOWN_TARGET: Final = 200

# Schemes with one opaque token. Other credentials may end with a password, so their end is masked too.
_TOKEN_SCHEMES: Final = frozenset({"bearer", "token", "apikey"})
SCHEMES: Final = _TOKEN_SCHEMES | {"basic", "digest", "negotiate", "hmac"}

_SECRET_FIELD: Final = re.compile(r"authorization|api[-_]?key|token|secret|passw|credential|cookie", re.IGNORECASE)
_SECRET_PARAMETER: Final = re.compile(rf"{_SECRET_FIELD.pattern}|\bkey\b", re.IGNORECASE)
_BLANK: Final = re.compile(r"(\s)")
_PART: Final = re.compile(r"""[^/?&=#\s"']+""")  # of a target


def cut(text: str, most: int) -> str:
    """Return ``text``, or its first ``most`` characters and ``...``; ``mask_text`` recognises a key that was cut."""
    return text if len(text) <= most else f"{text[:most]}{CUT}"


def printable(text: str) -> str:
    """Return ``text`` with escapes for characters that move a cursor, break a line or reverse the text."""
    if text.isprintable():
        return text
    # repr() has these escapes, but it also doubles each backslash, and it escapes quotes if the text has both kinds.
    escaped = repr(text)[1:-1].replace("\\\\", "\\")
    has_both_quotes = "'" in text and '"' in text
    return escaped.replace("\\'", "'") if has_both_quotes else escaped


def request_line(method: str, target: str, keys: Iterable[str]) -> str:
    """Return method and target as printable, shortened text with masked keys."""
    keys = tuple(keys)
    return printable(f"{cut(mask_text(method, keys), _SHOWN_METHOD)} {cut(mask_target(target, keys), _SHOWN_TARGET)}")


def mask(secret: str) -> str:
    """Return stars and the end of a long key, or only stars for a short key; a masked key stays the same."""
    if secret.startswith(_STARS) and len(secret) <= len(_STARS) + _TAIL:
        return secret
    return f"{_STARS}{secret[-_TAIL:]}" if len(secret) >= _SHORTEST_WITH_TAIL else _STARS


def mask_field(name: str, value: str, keys: Iterable[str] = ()) -> str:
    """Return a header field's value. Mask credentials if the field's name suggests them, else mask ``keys``."""
    if _SECRET_FIELD.search(name) is None:
        return mask_text(value, keys)
    scheme, blank, credentials = value.partition(" ")
    if scheme.lower() not in SCHEMES:
        return mask(value) if value.isalnum() else _STARS if value else ""
    if not credentials.strip():
        return value  # a scheme without credentials is a mistake that reports must show
    return f"{scheme}{blank}{mask(credentials) if scheme.lower() in _TOKEN_SCHEMES else _STARS}"


def mask_parameter(name: str, value: str) -> str:
    """Return the value of a parameter or member, masked if the name suggests a key."""
    return mask(value) if value and _SECRET_PARAMETER.search(name) else value


def mask_target(target: str, keys: Iterable[str] = ()) -> str:
    """Return a request target with masked keys, and masked values of parameters with names such as ``api_key``."""
    path, mark, query = mask_text(target, keys).partition("?")
    path, ampersand, mistaken = path.partition("&")  # a client may forget the question mark
    return f"{path}{ampersand}{_mask_parameters(mistaken)}{mark}{_mask_parameters(query)}"


def _mask_parameters(query: str) -> str:
    return "&".join(map(_mask_pair, query.split("&")))


def _mask_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    value, mark, fragment = value.partition("#")
    return f"{name}{equals}{mask_parameter(name, value)}{mark}{fragment}"


def mask_text(text: str, keys: Iterable[str] = ()) -> str:
    """Return ``text`` with masked keys, plain or percent-encoded: ``keys`` from 8 characters, and all issued keys."""
    keys = sorted(keys, key=len, reverse=True)  # longest first, because a key may begin with another key
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
            start = key[: len(ISSUED_START) + 1 if key.startswith(ISSUED_START) else _RECOGNISABLE]
            if CUT in text and start in text:  # the text may have been cut within the key
                text = _mask_cut(text, start)
    return ISSUED_KEY.sub(lambda found: mask(found[0]), text) if ISSUED_START in text else text


def _mask_cut(text: str, start: str) -> str:
    """Mask the words that contain ``start`` and are cut after it."""
    return "".join(_mask_cut_word(word, start) if start in word else word for word in _BLANK.split(text))


def _mask_cut_word(word: str, start: str) -> str:
    parts = []
    done = 0
    while (begin := word.find(start, done)) >= 0 and (end := word.find(CUT, begin + len(start))) >= 0:
        parts += [word[done:begin], _STARS]
        done = end
    return "".join([*parts, word[done:]])
