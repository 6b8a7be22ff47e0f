"""Writes the curl command that repeats a request."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import printable
from petstore_mock.journal.exchange import masked, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petstore_mock.journal.exchange import Exchange

_LONGEST_BODY: Final = 2000  # bytes; a longer body makes the command hard to read
# curl writes these fields itself, or they describe how the client uses its connection and reads the response.
_NOT_REPEATED: Final = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "expect", "host"),
        *("te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
    }
)
_GLOB: Final = frozenset("[]{}")
_BEARER: Final = re.compile(r"bearer \S", re.IGNORECASE)


def curl_line(exchange: Exchange) -> str:
    """Return a shell command that repeats a request; empty if it has no path or its body is too long."""
    if not exchange.target.startswith("/") or exchange.request.oversized:
        return ""
    shown = masked(exchange)
    options = [*_method(shown), *_headers(shown), *_content(shown), *_target(shown)]
    authority = ""
    # `verify` tests a service of its own authority. Its exchanges have connection 0.
    if shown.secure and shown.connection > 0:
        authority = '"$PETSTORE_CA"'
    return curl_command(shown.url, options, authority=authority)


def curl_command(url: str, options: Iterable[str], *, authority: str) -> str:
    """Return a shell command that sends a request to ``url``.

    Args:
        url: the address.
        options: options of curl, quoted for a shell.
        authority: the file of the certificate authority to trust, quoted for a shell; empty for those of the system.
    """
    trusting = ["--cacert", authority] if authority else []
    return " ".join(["curl", "-i", *trusting, *options, quoted(url)])


def _method(exchange: Exchange) -> list[str]:
    if exchange.method == "HEAD":
        # With -X HEAD, curl waits for a body.
        return ["--head"]
    if exchange.method == "GET" and not exchange.body:
        return []
    return ["-X", quoted(exchange.method)]


def _headers(exchange: Exchange) -> Iterator[str]:
    for name, value in exchange.fields:
        if name.lower() not in _NOT_REPEATED:
            yield from ("-H", _header(name, value))


def _content(exchange: Exchange) -> Iterator[str]:
    if not exchange.body:
        return
    if "content-type" not in exchange.headers:
        # Without an empty header, curl adds a Content-Type of its own.
        yield from ("-H", "Content-Type:")
    yield from ("--data-binary", _body(exchange))


def _target(exchange: Exchange) -> Iterator[str]:
    if "/." in exchange.target:
        # Otherwise curl resolves the dots.
        yield "--path-as-is"
    if _GLOB.intersection(exchange.target):
        yield "--globoff"


def _header(name: str, value: str) -> str:
    if name.lower() == "authorization" and _BEARER.match(value):
        return f'"{name}: {value.split(maxsplit=1)[0]} $PETSTORE_KEY"'
    # A semicolon makes curl send an empty field.
    if value:
        return quoted(f"{name}: {value}")
    return quoted(f"{name};")


def _body(exchange: Exchange) -> str:
    plain = text_of(exchange.body)
    if plain is not None and exchange.body_size <= _LONGEST_BODY:
        is_printable = plain.replace("\n", " ").isprintable()
        # If a body begins with @, curl reads it as the name of a file.
        if is_printable and not plain.startswith("@"):
            return shlex.quote(plain)
    return f"@body-of-{exchange.body_size}-bytes"


def quoted(text: str) -> str:
    """Quote for a POSIX shell; unprintable characters become escapes, which the shell does not decode."""
    return shlex.quote(printable(text))
