"""Writes the head and the body of a response as bytes of HTTP/1.1 (RFC 9112)."""

from __future__ import annotations

from typing import Final

from petstore_mock.http.response import UNSIZED_STATUSES, Response

_CHUNKS: Final = 3  # more than one, so that a client which reads only the first chunk fails


def frame(
    response: Response, *, modern: bool, bodiless: bool, closing: bool, chunked: bool | None = None
) -> tuple[bytes, bytes]:
    """Return the head and the body of ``response`` as they go out."""
    body = response.body
    lines = [response.head.wire, b"Date: ", response.date, b"\r\n"]
    if response.status in UNSIZED_STATUSES:
        body = b""
    elif (response.wire_format.chunked if chunked is None else chunked) and modern and not bodiless:
        lines.append(b"Transfer-Encoding: chunked\r\n")
        body = _in_chunks(body)
    else:
        lines.append(b"Content-Length: %d\r\n" % len(body))
    if closing:
        lines.append(b"Connection: close\r\n")
    elif not modern:
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    head = b"".join(lines)
    if response.wire_format.lower_case:
        status, *fields = head.split(b"\r\n")
        names = (field.partition(b":") for field in fields)
        head = b"\r\n".join([status, *(name.lower() + colon + value for name, colon, value in names)])
    return head, b"" if bodiless else body


def _in_chunks(body: bytes) -> bytes:
    size = len(body) // _CHUNKS + 1
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))
