"""Masks API keys in texts that are shown, and escapes control characters.

It masks values where a key belongs: in ``Authorization``, and in fields and parameters with names such as ``api_key``.
In other texts it masks the keys of the request's world (from 8 characters), and any text in the form of an issued key.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from petstore_mock.common.key_search import CUT, RECOGNISABLE, find_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STARS: Final = "***"
_TAIL: Final = 4  # characters of a masked key that stay visible, to distinguish two keys
_SHORTEST_WITH_TAIL: Final = 12  # characters; four visible ones would reveal too much of a shorter key
_SHORTEST_SECRET: Final = 3  # characters; a shorter secret of a real service is part of many words
_SHOWN_METHOD: Final = 40  # characters; a client may send a method of any length
_SHOWN_TARGET: Final = 200

# Schemes with one opaque token. Other credentials may end with a password, so their end is masked too.
_TOKEN_SCHEMES: Final = frozenset({"bearer", "token", "apikey"})
SCHEMES: Final = _TOKEN_SCHEMES | {"basic", "digest", "negotiate", "hmac"}

# Parts of the names of fields and parameters that hold a secret.
_SECRET_NAMES: Final = (
    "authorization", "apikey", "api_key", "api-key", "token", "secret", "passw", "credential", "cookie",
)  # fmt: skip
_KEY_WORD: Final = re.compile(r"\bkey\b")
_UNRESERVED: Final = frozenset(f"{ascii_letters}{digits}-._~")  # RFC 3986 §2.3


def cut(text: str, most: int) -> str:
    """Return ``text``, or its first ``most`` characters and ``...``; ``mask_text`` recognises a key that was cut."""
    return text if len(text) <= most else f"{text[:most]}{CUT}"


def cut_middle(text: str, most: int) -> str:
    """Return ``text``, or its beginning and its end with ``...`` between them."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def printable(text: str) -> str:
    """Return ``text`` with escapes for characters that move a cursor, break a line or reverse the text."""
    if text.isprintable():
        return text
    # repr() has these escapes, but it also doubles each backslash, and it escapes quotes if the text has both kinds.
    escaped = repr(text)[1:-1].replace("\\\\", "\\")
    has_both_quotes = "'" in text and '"' in text
    return escaped.replace("\\'", "'") if has_both_quotes else escaped


def request_line(method: str, target: str, keys: Sequence[str]) -> str:
    """Return method and target as printable, shortened text with masked keys."""
    return printable(f"{cut(mask_text(method, keys), _SHOWN_METHOD)} {cut(mask_target(target, keys), _SHOWN_TARGET)}")


def mask(secret: str) -> str:
    """Return stars and the end of a long key, or only stars for a short key; a masked key stays the same."""
    if secret.startswith(_STARS) and len(secret) <= len(_STARS) + _TAIL:
        return secret
    tail = secret[-_TAIL:]
    # Another tail would need escapes, for example in JSON.
    has_tail = len(secret) >= _SHORTEST_WITH_TAIL and _UNRESERVED.issuperset(tail)
    return f"{_STARS}{tail}" if has_tail else _STARS


def mask_field(name: str, value: str, keys: Iterable[str] = ()) -> str:
    """Return a header field's value. Mask credentials if the field's name suggests them, else mask ``keys``."""
    if not _names_secret(name.lower()):
        return mask_text(value, keys)
    scheme, blank, credentials = value.partition(" ")
    kind = scheme.lower()
    if kind not in SCHEMES:
        if value.isalnum():
            return mask(value)
        return _STARS if value else ""
    if not credentials.strip():
        return value  # a scheme without credentials is a mistake that reports must show
    shown = mask(credentials) if kind in _TOKEN_SCHEMES else _STARS
    return f"{scheme}{blank}{shown}"


def mask_parameter(name: str, value: str) -> str:
    """Return the value of a parameter or member, masked if the name suggests a key."""
    return mask(value) if value and _names_secret_parameter(name.lower()) else value


def _names_secret(text: str) -> bool:
    return any(name in text for name in _SECRET_NAMES)


def _names_secret_parameter(text: str) -> bool:
    return _names_secret(text) or _KEY_WORD.search(text) is not None


def mask_target(target: str, keys: Iterable[str]) -> str:
    """Return a request target with masked keys, and masked values of parameters with names such as ``api_key``."""
    path, mark, query = mask_text(target, keys).partition("?")
    path, ampersand, mistaken = path.partition("&")  # a client may forget the question mark
    return f"{path}{ampersand}{_mask_parameters(mistaken)}{mark}{_mask_parameters(query)}"


def _mask_parameters(query: str) -> str:
    if not _names_secret_parameter(unquote(query).lower()):
        return query
    return "&".join(map(_mask_pair, query.split("&")))


def _mask_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    value, mark, fragment = value.partition("#")
    return f"{name}{equals}{mask_parameter(unquote(name), value)}{mark}{fragment}"


def mask_text(text: str, keys: Iterable[str] = (), *, shortest: int = RECOGNISABLE, tail: bool = True) -> str:
    """Return ``text`` with masked keys: ``keys`` in each of their forms, and all issued keys.

    Args:
        text: any text; a key in it may be cut.
        keys: the known keys.
        shortest: characters; shorter forms of a key stay.
        tail: whether the end of a long key stays visible, to distinguish two keys.
    """
    parts: list[str] = []
    done = 0
    for key in find_keys(text, keys, shortest=shortest):
        has_tail = tail and not key.is_cut
        shown = mask(key.key) if has_tail else _STARS
        parts += [text[done : key.begin], shown]
        done = key.end
    return "".join([*parts, text[done:]])


def hide(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` as printable text without the secrets of a real service, not even the end of a long one."""
    return printable(mask_text(text, secrets, shortest=_SHORTEST_SECRET, tail=False))


def mask_bytes(content: bytes, keys: Iterable[str]) -> bytes:
    """Return the bytes of a body with masked keys."""
    encoding = "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        # Latin-1 maps each byte to one character.
        encoding = "latin-1"
        text = content.decode(encoding)
    return mask_text(text, keys).encode(encoding, "replace")
