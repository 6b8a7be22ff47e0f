"""What HTTP and the limits of the fake demand of a request's head, whatever carries it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest, Fields

# Apache takes 100 fields and 8 KiB a line, Node 16 KiB a head, h11 100 KiB: generous, and yet bounded.
LINE_LIMIT: Final = 16 * 1024
HEAD_LIMIT: Final = 64 * 1024
FIELD_LIMIT: Final = 100
# RFC 3986 §3.2.2, with the zones that RFC 6874 adds.
_IP_LITERAL: Final = rb"\[(?:[0-9A-Fa-f:.]+(?:%[A-Za-z0-9\-._~]+)?|v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]"
_REG_NAME: Final = rb"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
AUTHORITY: Final = re.compile(rb"(?:%b|%b)(?::[0-9]*)?" % (_IP_LITERAL, _REG_NAME))  # §3.2 without userinfo


class RequestError(Exception):
    """The bytes are no request that HTTP allows: a condition, and what is wrong."""

    def __init__(self, condition: str, detail: str) -> None:
        super().__init__(condition, detail)
        self.condition = condition
        self.detail = detail


def shown(text: bytes, most: int = 80) -> str:
    """Return ``text``, or its beginning."""
    return cut(text.decode("latin-1"), most)


def check_line(size: int) -> None:
    """Refuse a request line of too many bytes."""
    if size > LINE_LIMIT:
        raise RequestError("uri_too_long", f"a request line of {size} bytes, the limit is {LINE_LIMIT}")


@lru_cache(maxsize=1024)  # a client repeats itself
def check_fields(fields: Fields) -> int:
    """Refuse fields that HTTP forbids or the fake does not serve; return their bytes on the wire."""
    if len(fields) > FIELD_LIMIT:
        raise RequestError("header_too_large", f"more than {FIELD_LIMIT} fields")
    hosts = fields.by_name.get(b"host", ())  # RFC 9112 §3.2
    if len(hosts) > 1:
        raise RequestError("bad_host", f"{len(hosts)} Host fields came")
    if hosts and AUTHORITY.fullmatch(hosts[0]) is None:
        raise RequestError("bad_host", f"Host came as {shown(hosts[0])!r}: expected host or host:port")
    for expected in fields.by_name.get(b"expect", ()):  # RFC 9110 §10.1.1
        if expected.lower() != b"100-continue":
            raise RequestError("expectation_failed", f"only 100-continue is known; got {shown(expected)!r}")
    return len("\r\n") + sum(len(name) + len(value) + len(": \r\n") for name, value in fields)


def check_head(request: ApiRequest) -> None:
    """Hold the head of a request that came in process against the demands on the wire."""
    line = len(f"{request.method} {request.target} HTTP/1.1")
    check_line(line)
    size = line + len("\r\n") + check_fields(request.fields)
    if size > HEAD_LIMIT:
        raise RequestError("header_too_large", f"{size} bytes, the limit is {HEAD_LIMIT}")
