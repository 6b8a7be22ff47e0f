"""What faults change in the operation's own response: its body, its fields, its coding, or its framing."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.http.response import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _gzipped(body: bytes) -> bytes:
    # Without the time, equal bodies have equal bytes.
    return gzip.compress(body, mtime=0)


def _gzipped_twice(body: bytes) -> bytes:
    return _gzipped(_gzipped(body))


def _in_members(body: bytes) -> bytes:
    half = len(body) // 2
    return _gzipped(body[:half]) + _gzipped(body[half:])


def _deflated(body: bytes) -> bytes:
    """Return raw deflate data, which some services send in place of the zlib format (RFC 9110 §8.4.1.2)."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def _cut_short(body: bytes) -> bytes:
    packed = _gzipped(body)
    return packed[: len(packed) // 2]


# The name of a content coding on the wire, and the function that packs a body.
CODINGS: Final[Mapping[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "gzip": ("gzip", _gzipped),
    "gzip-multi": ("gzip", _in_members),
    "x-gzip": ("x-gzip", _gzipped),
    "deflate-zlib": ("deflate", zlib.compress),
    "deflate-raw": ("deflate", _deflated),
    "double": ("gzip", _gzipped_twice),
    "gzip-cut": ("gzip", _cut_short),
}


def _changed(response: Response, body: bytes, *fields: tuple[str, str]) -> Response:
    return Response(response.head.with_fields(*fields), body, response.date, response.wire_format)


def _formed(response: Response, **changes: Any) -> Response:  # fields of WireFormat
    return Response(response.head, response.body, response.date, replace(response.wire_format, **changes))


def cut_json(response: Response) -> Response:
    """Return the response with a body that ends within a string."""
    body = response.body
    if not body:
        return response
    return _changed(response, body[: max(1, len(body) // 2)] + b'"\\')


def as_html(response: Response) -> Response:
    """Return the response with another media type."""
    if not response.body:
        return response
    return _changed(response, response.body, ("Content-Type", "text/html; charset=utf-8"))


def add_fields(response: Response, n: int) -> Response:
    """Return the response with ``n`` more fields."""
    fields = [(f"X-F-{number}", "1") for number in range(1, n + 1)]
    return _changed(response, response.body, *fields)


def leave_out_spaces(response: Response) -> Response:
    """Return the response without spaces after the colons of its fields."""
    return _formed(response, without_spaces=True)


def encode(response: Response, coding: str) -> Response:
    """Return the response under a content coding."""
    name, pack = CODINGS[coding]
    return _changed(response, pack(response.body), ("Content-Encoding", name))


def name_reason(response: Response, phrase: str) -> Response:
    """Return the response with another reason phrase."""
    return _formed(response, reason=phrase)


def leave_out_date(response: Response) -> Response:
    """Return the response without Date."""
    return _formed(response, without_date=True)


def end_with_connection(response: Response) -> Response:
    """Return the response without a length."""
    return _formed(response, version="1.0", until_close=True)


def add_to_chunks(response: Response) -> Response:
    """Return the response in chunks with extensions and trailers."""
    return _formed(response, chunked=True, chunk_extras=True)
