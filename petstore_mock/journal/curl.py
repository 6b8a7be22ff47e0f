"""Writes the curl command that repeats a request."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import printable
from petstore_mock.journal.exchange import masked, text_of

if TYPE_CHECKING:
    from petstore_mock.journal.exchange import Exchange

_LONGEST_BODY: Final = 2000  # bytes; a longer body makes the command hard to read
# curl writes these fields itself, or they describe how the client uses its connection and reads the response.
_NOT_REPEATED: Final = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "expect", "host"),
        *("te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
    }
)


def curl_line(exchange: Exchange) -> str:
    """Return a shell command that repeats a request; empty if it has no path or its body is too long."""
    if not exchange.target.startswith("/") or exchange.request.oversized:
        return ""
    exchange = masked(exchange)
    has_own_authority = exchange.secure and exchange.connection > 0  # connection 0: `verify` tested a real service
    parts = ["curl", "-i", *(['--cacert "$PETSTORE_CA"'] if has_own_authority else [])]
    if exchange.method == "HEAD":
        parts.append("--head")  # with -X HEAD, curl waits for a body
    elif exchange.method != "GET" or exchange.body:
        parts += ["-X", _quote(exchange.method)]
    for name, value in exchange.fields:
        if name.lower() not in _NOT_REPEATED:
            parts += ["-H", _header(name, value)]
    if exchange.body:
        if "content-type" not in exchange.headers:
            parts += ["-H", "Content-Type:"]  # else curl adds its own
        parts += ["--data-binary", _body(exchange)]
    parts += ["--path-as-is"] if "/." in exchange.target else []  # else curl resolves the dots
    parts += ["--globoff"] if any(character in exchange.target for character in "[]{}") else []
    return " ".join([*parts, _quote(exchange.url)])


def _header(name: str, value: str) -> str:
    scheme, _, key = value.partition(" ")
    if name.lower() == "authorization" and scheme.lower() == "bearer" and key and not key[0].isspace():
        return f'"{name}: {scheme} $PETSTORE_KEY"'
    # A semicolon makes curl send an empty field.
    return _quote(f"{name}: {value}" if value else f"{name};")


def _body(exchange: Exchange) -> str:
    plain = text_of(exchange.body) or ""
    # If a body begins with @, curl reads it as the name of a file.
    is_readable = plain.replace("\n", " ").isprintable() and not plain.startswith("@")
    if plain and is_readable and exchange.body_size <= _LONGEST_BODY:
        return shlex.quote(plain)
    return f"@body-of-{exchange.body_size}-bytes"


def _quote(text: str) -> str:
    """Quote for a POSIX shell; unprintable characters become escapes, which the shell does not decode."""
    return shlex.quote(printable(text))
