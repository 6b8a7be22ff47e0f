"""What a request's head owes whatever carries it: its limits, its Host, its Expect. All adapters ask.

The syntax is the wire's alone (``request_parsing``): a call in process comes parsed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.messages.request import ApiRequest, RequestFields
    from petstore_mock.transport.request_parsing import RequestHead

__all__ = [
    "AUTHORITY",
    "FIELD_LIMIT",
    "HEAD_LIMIT",
    "HOST_AND_PORT",
    "LINE_LIMIT",
    "RequestError",
    "check_framing",
    "check_head",
    "check_host",
    "check_transfer_coding",
    "declared_length",
    "is_asked_to_continue",
    "shown",
]

# Apache takes 100 fields and 8 KiB a line, Node 16 KiB a head, h11 100 KiB: generous, and yet bounded.
LINE_LIMIT: Final = 16 * 1024
HEAD_LIMIT: Final = 64 * 1024
FIELD_LIMIT: Final = 100
_SHOWN: Final = 80  # characters of a field value
# RFC 3986 §3.2.2, with the zones that RFC 6874 adds.
_IP_LITERAL: Final = rb"\[(?:[0-9A-Fa-f:.]+(?:%[A-Za-z0-9\-._~]+)?|v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]"
_REG_NAME: Final = rb"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})"
AUTHORITY: Final = re.compile(rb"(?:%b|%b*)(?::[0-9]*)?" % (_IP_LITERAL, _REG_NAME))  # §3.2 without userinfo
HOST_AND_PORT: Final = re.compile(rb"(?:%b|%b+):[0-9]+" % (_IP_LITERAL, _REG_NAME))
_SEPARATORS: Final = len(": \r\n")


class RequestError(Exception):
    """What came is no request that HTTP allows: the name of a condition, what was wrong, and who asked if known."""

    def __init__(self, condition: str, detail: str, head: RequestHead | None = None) -> None:
        super().__init__(condition, detail)
        self.condition = condition
        self.detail = detail
        self.head = head


def declared_length(text: str) -> int:
    """Return what ``Content-Length`` says, in bytes (RFC 9110 §8.6).

    Raises:
        RequestError: it is no whole number in decimal digits.
    """
    if not (text.isascii() and text.isdigit()):
        raise RequestError("malformed_request", f"Content-Length came as {text[:40]!r}")
    return int(text[:20])  # what is longer is too large in any case


def shown(text: bytes, most: int = _SHOWN) -> str:
    """Return ``text``, or its beginning."""
    return cut(text.decode("latin-1"), most)


def check_host(values: Mapping[bytes, Sequence[bytes]], *, required: bool) -> None:
    """Refuse a Host that is missing where it is required, repeated, or none (RFC 9112 §3.2).

    Raises:
        RequestError: it is.
    """
    hosts = values.get(b"host", ())
    if len(hosts) > 1 or (required and not hosts):
        raise RequestError("bad_host", f"{len(hosts)} Host fields came")
    if hosts and AUTHORITY.fullmatch(hosts[0]) is None:
        raise RequestError("bad_host", f"Host came as {shown(hosts[0])!r}: expected host or host:port")


def is_asked_to_continue(values: Mapping[bytes, Sequence[bytes]]) -> bool:
    """Say whether the client waits for ``100 (Continue)`` (RFC 9110 §10.1.1).

    Raises:
        RequestError: it waits for something else.
    """
    expected = values.get(b"expect", ())
    if any(value.lower() != b"100-continue" for value in expected):
        raise RequestError("expectation_failed", f"only 100-continue is known; got {shown(expected[0])!r}")
    return bool(expected)


def check_head(request: ApiRequest) -> None:
    """Hold the head of a request that came in process against what the wire demands of one.

    Raises:
        RequestError: the wire would refuse it.
    """
    line = len(request.method) + len(request.target) + len("  HTTP/1.1")
    if line > LINE_LIMIT:
        raise RequestError("uri_too_long", f"a request line of {line} bytes, the limit is {LINE_LIMIT}")
    size, problem = _validated(request.fields)
    if line + size > HEAD_LIMIT:
        raise RequestError("header_too_large", f"{line + size} bytes, the limit is {HEAD_LIMIT}")
    if problem is not None:
        raise RequestError(*problem)


@lru_cache(maxsize=64)  # a client repeats itself, and its adapter keeps the fields
def _validated(fields: RequestFields) -> tuple[int, tuple[str, str] | None]:
    """Return how many bytes the fields are on the wire, with the lines' ends, and what is wrong with them."""
    size = len("\r\n\r\n") + sum(len(name) + len(value) + _SEPARATORS for name, value in fields)
    if len(fields) > FIELD_LIMIT:
        return size, ("header_too_large", f"more than {FIELD_LIMIT} fields")
    try:
        check_host(fields.by_name, required=False)
        is_asked_to_continue(fields.by_name)
    except RequestError as error:
        return size, (error.condition, error.detail)
    return size, None


def check_transfer_coding(values: Sequence[bytes]) -> None:
    """Refuse a ``Transfer-Encoding``, of these values, from which nobody could tell where the body ends.

    Raises:
        RequestError: the last coding is not ``chunked`` (RFC 9112 §6.3), or another is not known (§6.1).
    """
    codings = [item for value in values for coding in value.split(b",") if (item := coding.strip(b" \t").lower())]
    came = shown(b", ".join(values))
    if codings and codings[-1] != b"chunked":
        raise RequestError("malformed_request", f"the last Transfer-Encoding must be chunked, it came as {came!r}")
    if any(coding != b"chunked" for coding in codings):
        raise RequestError("unknown_transfer_coding", f"it came as {came!r}")


def check_framing(fields: RequestFields) -> None:
    """Refuse what a client library is told to say of the body's length though nobody could read it (RFC 9112 §6.1).

    Raises:
        RequestError: the last coding is not chunked, one is not known, or there are two lengths.
    """
    codings = fields.by_name.get(b"transfer-encoding", ())
    check_transfer_coding(codings)
    if codings and b"content-length" in fields.by_name:
        raise RequestError("malformed_request", "Content-Length and Transfer-Encoding came together")
