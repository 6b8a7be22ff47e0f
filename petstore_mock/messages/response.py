"""An answer of the core."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BODILESS_STATUSES",
    "PLAIN",
    "UNSIZED_STATUSES",
    "ApiResponse",
    "Delivery",
    "Head",
    "WireFormat",
    "is_field",
    "reason_phrase",
]

_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token (RFC 9110 §5.6.2)
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 §5.5

BODILESS_STATUSES: Final = frozenset({204, 205, 304})  # RFC 9110 §6.4.1, §15.3.6
UNSIZED_STATUSES: Final = frozenset({204, 304})  # without Content-Length (RFC 9110 §8.6); a 205 says 0

_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}


def reason_phrase(status: int) -> str:
    """Return the reason phrase of ``status``, empty for a status that no RFC names."""
    return _PHRASES.get(status, "")


def is_field(name: str, value: str) -> bool:
    """Say whether HTTP allows a header field (RFC 9110 §5); the value is sent as Latin-1."""
    return _FIELD_NAME.fullmatch(name) is not None and _FIELD_VALUE.fullmatch(value) is not None


class Head:
    """The status and the fixed header fields of an answer; immutable, shared between answers, encoded once.

    ``Date``, ``Content-Length``, ``Connection`` and ``Transfer-Encoding`` are not in it: the adapters add them. The
    option that belongs to ``Upgrade`` is in ``wire``, and not in ``fields``, as those adapters have no connection.
    """

    __slots__ = ("fields", "status", "wire")

    def __init__(self, status: int, fields: Sequence[tuple[str, str]] = ()) -> None:
        for name, value in fields:
            if not is_field(name, value):
                raise PetStoreMockError(f"expected a header field that HTTP allows; got {name!r}: {value!r}")
        self.status = status
        self.fields: tuple[tuple[str, str], ...] = tuple(fields)
        lines = [f"HTTP/1.1 {status} {reason_phrase(status)}", *(f"{name}: {value}" for name, value in fields)]
        if any(name.lower() == "upgrade" for name, _ in fields):
            lines.append("Connection: Upgrade")  # RFC 9110 §7.8
        self.wire = ("\r\n".join(lines) + "\r\n").encode("latin-1")

    def __repr__(self) -> str:
        return f"<Head {self.status} {dict(self.fields)!r}>"

    def get(self, name: str) -> str | None:
        """Return the first value of the header ``name``, or None."""
        wanted = name.lower()
        return next((value for field, value in self.fields if field.lower() == wanted), None)

    def with_fields(self, *more: tuple[str, str]) -> Head:
        """Return a copy in which ``more`` replace the fields of the same names; an empty value takes one away."""
        names = {name.lower() for name, _ in more}
        kept = [field for field in self.fields if field[0].lower() not in names]
        return Head(self.status, (*kept, *((name, value) for name, value in more if value)))


DeliveryKind = Literal["hang", "reset", "empty_reply", "truncate", "dribble", "malformed_chunk"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """How an adapter sends an answer other than whole and at once. Every kind needs a socket.

    ``value`` is the fraction of the body that ``truncate`` sends, the bytes per second of ``dribble``.
    """

    kind: DeliveryKind
    value: float = 0.0

    @property
    def loses_answer(self) -> bool:
        """Whether nothing of the answer goes out, not even its status."""
        return self.kind in {"hang", "reset", "empty_reply"}


@dataclass(frozen=True, slots=True)
class WireFormat:
    """How a behaviour sends its answers; HTTP allows any of it. WSGI has no say in it.

    Attributes:
        chunked: frame the body in chunks instead of by its length (gap ``answer_framing``).
        close: end the connection after the answer (gap ``connection``).
        lower_case: write header names in lower case (gap ``header_names``).
    """

    chunked: bool = False
    close: bool = False
    lower_case: bool = False


PLAIN: Final = WireFormat()


class ApiResponse:
    """An answer of the core: what the client is told. When it is told, and whether whole, is ``DeferredResponse``'s.

    Attributes:
        head: status and header fields.
        body: the bytes of the body. For a HEAD request the adapter sends their length and leaves them out.
        date: the value of ``Date`` by the fake's clock (RFC 9110 §6.6.1).
        wire_format: how the behaviour sends it.
        wire: all of it as one write, kept by the adapter that made it; empty when that is still to be made, and None
            for an answer that is given once: nobody would use it again.
    """

    __slots__ = ("body", "date", "head", "wire", "wire_format")

    def __init__(self, head: Head, body: bytes, date: bytes, wire_format: WireFormat = PLAIN) -> None:
        self.head = head
        self.body = body
        self.date = date
        self.wire_format = wire_format
        self.wire: bytes | None = None

    def __repr__(self) -> str:
        return f"<ApiResponse {self.head.status} {len(self.body)} bytes>"

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.head.status
