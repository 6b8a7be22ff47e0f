"""The one writer of curl commands: a shell line that repeats a request."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import printable

if TYPE_CHECKING:
    from petstore_mock.journal.exchange import Exchange

_LONGEST_BODY: Final = 2000  # bytes; people read a longer one elsewhere
_KEY_VARIABLE: Final = "PETSTORE_KEY"
# curl writes these itself, or they say how a client reads.
_NOT_REPEATED: Final = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "expect", "host"),
        *("te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
    }
)


def curl_line(exchange: Exchange) -> str:
    """Return a shell command that repeats a request; empty where no whole request arrived."""
    if exchange.target in {"", "-"} or exchange.request.oversized:
        return ""
    parts = ["curl", "-i", *_method(exchange)]
    for name, value in exchange.masked_fields(exchange.fields):
        if name.lower() not in _NOT_REPEATED:
            parts += ["-H", _header(name, value)]
    feed = ""
    if exchange.body:
        if "content-type" not in exchange.headers:
            parts += ["-H", "Content-Type:"]  # else curl adds one of its own
        feed, argument = _body(exchange)
        parts += ["--data-binary", argument]
    return f"{feed}{' '.join([*parts, *_address(exchange)])}"


def _method(exchange: Exchange) -> list[str]:
    if exchange.method == "HEAD":
        return ["--head"]  # with -X HEAD, curl waits for a body
    return [] if exchange.method == "GET" and not exchange.body else ["-X", _quote(exchange.masked(exchange.method))]


def _header(name: str, value: str) -> str:
    scheme, _, key = value.partition(" ")
    if name.lower() == "authorization" and scheme.lower() == "bearer" and key and not key[0].isspace():
        return f'"{name}: {scheme} ${_KEY_VARIABLE}"'
    return _quote(f"{name}: {value}" if value else f"{name};")  # the semicolon makes curl send an empty field


def _address(exchange: Exchange) -> list[str]:
    target = exchange.masked_target
    if not target.startswith("/"):  # curl makes a path of `*` and of an absolute form
        return ["--request-target", _quote(target), _quote(exchange.base_url)]
    flags = ["--path-as-is"] if "/." in target else []  # else curl resolves the dots
    flags += ["--globoff"] if any(character in target for character in "[]{}") else []
    return [*flags, _quote(exchange.url())]


def _body(exchange: Exchange) -> tuple[str, str]:
    """Return the command that feeds curl's standard input, if needed, and the argument of ``--data-binary``."""
    if exchange.body_size > _LONGEST_BODY:
        return "", f"@body-of-{exchange.body_size}-bytes"
    content = exchange.masked_bytes(exchange.body)
    try:
        plain = content.decode("utf-8")
    except UnicodeDecodeError:
        plain = ""
    if plain.isprintable() and plain and not plain.startswith("@"):  # curl reads a file of that name
        return "", shlex.quote(plain)
    escaped = "".join(map(_escaped, content))
    if escaped.startswith("-"):  # printf takes it for an option
        escaped = f"\\055{escaped[1:]}"
    return f"printf '{escaped}' | ", "@-"


def _escaped(byte: int) -> str:
    """Return a byte for the format of ``printf`` between single quotes (POSIX: three octal digits)."""
    is_plain = 0x20 <= byte < 0x7F and chr(byte) not in "%\\'"
    return chr(byte) if is_plain else f"\\{byte:03o}"


def _quote(text: str) -> str:
    """Quote for a POSIX shell; characters that are not printable are shown escaped, which a shell does not undo."""
    return shlex.quote(printable(text))
