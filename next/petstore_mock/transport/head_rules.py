"""What HTTP and the limits of the fake demand of a request's head, whatever carries it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest, Fields

# Apache takes 100 fields and 8 KiB a line, Node 16 KiB a head, h11 100 KiB: generous, and yet bounded.
LINE_LIMIT: Final = 16 * 1024
HEAD_LIMIT: Final = 64 * 1024
FIELD_LIMIT: Final = 100
_SHOWN: Final = 80  # characters of a field value
# RFC 3986 §3.2.2, with the zones that RFC 6874 adds.
_IP_LITERAL: Final = rb"\[(?:[0-9A-Fa-f:.]+(?:%[A-Za-z0-9\-._~]+)?|v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]"
_REG_NAME: Final = rb"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
AUTHORITY: Final = re.compile(rb"(?:%b|%b)(?::[0-9]*)?" % (_IP_LITERAL, _REG_NAME))  # §3.2 without userinfo
_SEPARATORS: Final = len(": \r\n")


class RequestError(Exception):
    """The bytes are no request that HTTP allows: a condition, and what is wrong."""

    def __init__(self, condition: str, detail: str) -> None:
        super().__init__(condition, detail)
        self.condition = condition
        self.detail = detail


def declared_length(text: str) -> int:
    """Return the bytes that ``Content-Length`` declares (RFC 9110 §8.6)."""
    if not (text.isascii() and text.isdigit()):
        raise RequestError("malformed_request", f"Content-Length came as {text[:40]!r}")
    return int(text[:20])  # a longer number is too large anyway


def check_host(values: Mapping[bytes, Sequence[bytes]], *, required: bool) -> None:
    """Refuse a Host that is missing where it is required, repeated or invalid (RFC 9112 §3.2)."""
    hosts = values.get(b"host", ())
    if len(hosts) > 1 or (required and not hosts):
        raise RequestError("bad_host", f"{len(hosts)} Host fields came")
    if hosts and AUTHORITY.fullmatch(hosts[0]) is None:
        raise RequestError("bad_host", f"Host came as {shown(hosts[0])!r}: expected host or host:port")


def is_asked_to_continue(values: Mapping[bytes, Sequence[bytes]]) -> bool:
    """Say whether the client waits for ``100 (Continue)``; refuse other expectations (RFC 9110 §10.1.1)."""
    expected = values.get(b"expect", ())
    if any(value.lower() != b"100-continue" for value in expected):
        raise RequestError("expectation_failed", f"only 100-continue is known; got {shown(expected[0])!r}")
    return bool(expected)


def check_transfer_coding(values: Sequence[bytes]) -> None:
    """Refuse a ``Transfer-Encoding`` that does not tell where the body ends (RFC 9112 §6.1 and §6.3)."""
    codings = [item for value in values for coding in value.split(b",") if (item := coding.strip(b" \t").lower())]
    came = shown(b", ".join(values))
    if codings and codings[-1] != b"chunked":
        raise RequestError("malformed_request", f"the last Transfer-Encoding must be chunked, it came as {came!r}")
    if any(coding != b"chunked" for coding in codings):
        raise RequestError("unknown_transfer_coding", f"it came as {came!r}")


def check_head(request: ApiRequest) -> None:
    """Hold the head of a request that came in process against the demands on the wire."""
    line = len(request.method) + len(request.target) + len("  HTTP/1.1")
    if line > LINE_LIMIT:
        raise RequestError("uri_too_long", f"a request line of {line} bytes, the limit is {LINE_LIMIT}")
    size, problem = _validated(request.fields)
    if line + size > HEAD_LIMIT:
        raise RequestError("header_too_large", f"{line + size} bytes, the limit is {HEAD_LIMIT}")
    if problem is not None:
        raise RequestError(*problem)


@lru_cache(maxsize=64)  # a client repeats itself, and the adapter keeps the fields
def _validated(fields: Fields) -> tuple[int, tuple[str, str] | None]:
    """Return the bytes of the fields on the wire, and what is wrong with them."""
    size = len("\r\n\r\n") + sum(len(name) + len(value) + _SEPARATORS for name, value in fields)
    if len(fields) > FIELD_LIMIT:
        return size, ("header_too_large", f"more than {FIELD_LIMIT} fields")
    try:
        check_host(fields.by_name, required=False)
        is_asked_to_continue(fields.by_name)
    except RequestError as error:
        return size, (error.condition, error.detail)
    return size, None


def shown(text: bytes) -> str:
    """Return ``text``, or its beginning."""
    return cut(text.decode("latin-1"), _SHOWN)
