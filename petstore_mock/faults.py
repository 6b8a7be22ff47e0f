"""Faults: what may go wrong, as values. :mod:`petstore_mock.core.fault_plan` decides when.

A fault *replaces* the answer (a status, a hang, a reset, an empty reply), *garbles* it (cut, dribbled, malformed, of a
wrong type) or *delays* it. Those of the connection (:attr:`Fault.needs_socket`) can't be had in process.
"""

from __future__ import annotations

import contextlib
import json as json_module
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Final, Literal

from petstore_mock.common.dates import as_moment, http_date
from petstore_mock.common.suggestions import nearest
from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.response import BODILESS_STATUSES, Delivery, is_field

__all__ = [
    "Fault",
    "bad_request",
    "coerce",
    "delay",
    "dribble",
    "empty_reply",
    "hang",
    "malformed_chunk",
    "malformed_json",
    "not_found",
    "rate_limited",
    "reset",
    "respond",
    "sequence",
    "server_error",
    "truncate",
    "unauthorized",
    "wrong_content_type",
]

KINDS: Final = tuple(name for name in __all__ if name not in {"Fault", "coerce", "sequence"})  # all that a fault can be

Edit = Literal["malformed_json", "wrong_content_type"]

_LARGEST_DELAY: Final = 3600.0
_LARGEST_NUMBER: Final = 2.0**63
_INFORMATIONAL: Final = range(100, 200)
_FINAL: Final = range(200, 600)
_SERVER_ERRORS: Final = range(500, 600)

# What only the adapters can set rightly; a wrong one is a fault of its own.
_FRAMING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-length": "truncate() makes one that lies",
        "transfer-encoding": "malformed_chunk(), or the gap answer_framing",
        "connection": "the gap connection closes after each answer",
        "date": "clock.travel_to() changes the fake's time",
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One misbehaviour. Made by the functions of this module.

    Attributes:
        kind: the name of the function that made it.
        status: the status of the answer that it gives instead of the operation's, or None.
        body: the body of that answer; None for the interface's error body.
        fields: header fields of that answer.
        delay: seconds to wait, from and to.
        edit: how it garbles the operation's own answer.
        delivery: what it does to the connection.
        parts: the faults of a sequence, one for each request.
    """

    kind: str
    status: int | None = None
    body: bytes | None = None
    fields: tuple[tuple[str, str], ...] = ()
    delay: tuple[float, float] | None = None
    edit: Edit | None = None
    delivery: Delivery | None = None
    parts: tuple[Fault, ...] = ()

    @property
    def needs_socket(self) -> bool:
        """Whether only a real connection can show it."""
        return self.delivery is not None or any(part.needs_socket for part in self.parts)

    @property
    def breaks_contract(self) -> bool:
        """Whether the answer is no answer of the interface on purpose."""
        return self.edit is not None or self.body is not None or (self.delivery is not None and not self.only_slows)

    @property
    def loses_answer(self) -> bool:
        """Whether the client gets something else than the operation's answer."""
        return self.status is not None or (
            self.delivery is not None and self.delivery.kind in {"hang", "reset", "empty_reply"}
        )

    @property
    def only_slows(self) -> bool:
        """Whether the operation's answer arrives whole all the same, and only later or in drops."""
        return self.delay is not None or (self.delivery is not None and self.delivery.kind == "dribble")

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(self._arguments())})"

    def _arguments(self) -> Iterator[str]:
        """Yield what its function was told; of a body and of headers no more than that they are: a key may be there."""
        yield from map(str, self.parts)
        if self.kind in {"respond", "server_error"}:
            yield str(self.status)
        if self.kind == "rate_limited":
            after = dict(self.fields).get("Retry-After")
            yield f"retry_after={int(after) if after is not None and after.isdecimal() else after!r}"
        elif self.fields:
            yield f"headers=<{', '.join(name for name, _ in self.fields)}>"
        if self.body is not None:
            yield f"body=<{len(self.body)} bytes>"
        if self.delay is not None:
            low, high = self.delay
            yield f"{low:g}" if low == high else f"({low:g}, {high:g})"
        if self.delivery is not None and self.kind in {"truncate", "dribble"}:
            yield f"{self.delivery.value:g}"


def respond(
    status: int,
    json: object = None,
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """Answer with ``status`` instead of carrying out the operation.

    Args:
        status: any HTTP status from 200 to 599.
        json: a value to send as the body, as ``application/json``.
        body: bytes or text to send as the body; ``b""`` for none. Without ``json`` and ``body`` the body is the
            interface's Error (§2) with this status.
        headers: further header fields; they win over ours. One with an empty value leaves the field out.

    Raises:
        PetStoreMockError: the status is no final HTTP status, both ``json`` and ``body`` are given, or one of them or a
            header is nothing that HTTP can carry.
    """
    if not _is_one_of(status, _FINAL):
        hint = "; 1xx answers are not final ones" if _is_one_of(status, _INFORMATIONAL) else ""
        raise PetStoreMockError(
            f"expected an HTTP status from 200 to 599; got status={status!r} ({type(status).__name__}){hint}"
        )
    if json is not None and body is not None:
        raise PetStoreMockError("expected json= or body= or neither, as the body of an answer; got both")
    content, content_type = _content(json, body)
    if content and status in BODILESS_STATUSES:
        raise PetStoreMockError(f"expected no body with status {status}, which has none (RFC 9110 §6.4.1)")
    fields = _fields({} if headers is None else headers)
    if content and "content-type" not in {name.lower() for name, _ in fields}:
        fields = (("Content-Type", content_type), *fields)
    return Fault("respond", status=status, body=content, fields=fields)


def _content(json: object, body: Any) -> tuple[bytes | None, str]:  # noqa: ANN401  # judges whatever a test author passes
    """Return the body of an answer and its media type."""
    if json is not None:
        try:
            text = json_module.dumps(json, ensure_ascii=False, allow_nan=False)
            return text.encode("utf-8"), "application/json"
        except (TypeError, ValueError, RecursionError) as error:
            raise PetStoreMockError(f"expected json= to be a JSON value; {error}: body= takes what is none") from error
    if body is None:
        return None, ""
    if not isinstance(body, (str, bytes, bytearray)):
        raise PetStoreMockError(f"expected body= as bytes or text; got body={body!r} ({type(body).__name__})")
    content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
    html = content.lstrip()[:1] == b"<"
    return content, "text/html; charset=utf-8" if html else "text/plain; charset=utf-8"


def _fields(headers: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401
    if not isinstance(headers, Mapping):
        raise PetStoreMockError(f"expected headers= as a mapping of text to text; got headers={headers!r}")
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, (str, int)):
            raise PetStoreMockError(f"expected headers= as a mapping of text to text; got {name!r}: {value!r}")
    fields = tuple((name, str(value)) for name, value in headers.items())
    for name, value in fields:
        if not is_field(name, value):
            raise PetStoreMockError(f"expected a header field that HTTP allows (RFC 9110 §5); got {name!r}: {value!r}")
        if name.lower() in _FRAMING:
            raise PetStoreMockError(f"expected no {name} in headers=, which the fake sets: {_FRAMING[name.lower()]}")
    return fields


def unauthorized() -> Fault:
    """Answer 401 as for an invalid key (§5), with its challenge."""
    return Fault("unauthorized", status=401)


def not_found() -> Fault:
    """Answer 404 as for an absent animal (§7)."""
    return Fault("not_found", status=404)


def bad_request() -> Fault:
    """Answer 400 as for an invalid body (§7)."""
    return Fault("bad_request", status=400)


def _is_one_of(status: object, statuses: range) -> bool:
    return isinstance(status, int) and not isinstance(status, bool) and status in statuses


def server_error(status: int = 500) -> Fault:
    """Answer a 5xx with the interface's error body.

    Raises:
        PetStoreMockError: ``status`` is no 5xx.
    """
    if not _is_one_of(status, _SERVER_ERRORS):
        raise PetStoreMockError(f"expected a status from 500 to 599; got status={status!r}; respond() takes any")
    return Fault("server_error", status=status)


def rate_limited(retry_after: float | str | date | None = 1) -> Fault:
    """Answer 429 with ``Retry-After`` (RFC 6585 §4, RFC 9110 §10.2.3).

    Args:
        retry_after: whole seconds, or a moment (a date, a datetime or ISO 8601 text) to be sent as an HTTP date, or
            None to leave the field out.

    Raises:
        PetStoreMockError: ``retry_after`` is negative, has a fraction, or is no moment.
    """
    if retry_after is None:
        return Fault("rate_limited", status=429)
    value = None
    if isinstance(retry_after, (str, date)):
        with contextlib.suppress(PetStoreMockError):
            value = http_date(as_moment(retry_after).timestamp())
    elif _is_number(retry_after) and retry_after >= 0 and retry_after == int(retry_after):
        value = str(int(retry_after))
    if value is None:
        raise PetStoreMockError(
            "expected whole seconds, 0 or more, or a date, a datetime or ISO 8601 text; "
            f"got retry_after={retry_after!r} ({type(retry_after).__name__})"
        )
    return Fault("rate_limited", status=429, fields=(("Retry-After", value),))


def delay(seconds: float | tuple[float, float]) -> Fault:
    """Hold the answer back for ``seconds``, or for a time drawn between the two of a pair.

    Before the commit, the operation waits too: a client that leaves meanwhile leaves nothing behind.

    Raises:
        PetStoreMockError: a negative or absurd time, or a pair the wrong way round.
    """
    match seconds:
        case (low, high):
            pass
        case _:
            low = high = seconds
    if not (_is_number(low) and _is_number(high) and 0 <= low <= high <= _LARGEST_DELAY):
        raise PetStoreMockError(
            f"expected seconds from 0 to {_LARGEST_DELAY:g}, or a (low, high) pair of them; got seconds={seconds!r}"
        )
    return Fault("delay", delay=(float(low), float(high)))


def _is_number(value: object) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return abs(value) < _LARGEST_NUMBER  # a larger int is no float; NaN is not less


def hang() -> Fault:
    """Never answer. Ends when the client closes, or with the test."""
    return Fault("hang", delivery=Delivery("hang"))


def reset() -> Fault:
    """Reset the connection (ECONNRESET) instead of answering."""
    return Fault("reset", delivery=Delivery("reset"))


def empty_reply() -> Fault:
    """Close the connection properly without sending a byte."""
    return Fault("empty_reply", delivery=Delivery("empty_reply"))


def truncate(fraction: float = 0.5) -> Fault:
    """Promise the whole body and close after ``fraction`` of it.

    Raises:
        PetStoreMockError: ``fraction`` is not at least 0 and below 1.
    """
    if not _is_number(fraction) or not 0 <= fraction < 1:
        raise PetStoreMockError(f"expected a fraction of at least 0 and below 1; got fraction={fraction!r}")
    return Fault("truncate", delivery=Delivery("truncate", float(fraction)))


def dribble(bytes_per_second: float) -> Fault:
    """Send the body in small pieces. The answer arrives whole, so that the operation is always carried out.

    Raises:
        PetStoreMockError: ``bytes_per_second`` is not positive.
    """
    if not _is_number(bytes_per_second) or bytes_per_second <= 0:
        raise PetStoreMockError(
            f"expected a positive number of bytes per second; got bytes_per_second={bytes_per_second!r}"
        )
    return Fault("dribble", delivery=Delivery("dribble", float(bytes_per_second)))


def malformed_json() -> Fault:
    """Send the operation's answer with a body that is no JSON."""
    return Fault("malformed_json", edit="malformed_json")


def wrong_content_type() -> Fault:
    """Send the operation's answer as ``text/html``.

    Before the commit the animal that it tells of is not kept, as with any garbled answer.
    """
    return Fault("wrong_content_type", edit="wrong_content_type")


def malformed_chunk() -> Fault:
    """Send the answer in chunks, one of which has no valid size (RFC 9112 §7.1)."""
    return Fault("malformed_chunk", delivery=Delivery("malformed_chunk"))


def sequence(*faults: int | Fault) -> Fault:
    """Use the ``faults`` one after the other, one a request; then the sequence is spent.

    Raises:
        PetStoreMockError: there is none, or one is a sequence itself.
    """
    parts = tuple(coerce(fault) for fault in faults)
    if not parts:
        raise PetStoreMockError("expected one or more faults; got sequence() without any")
    for part in parts:
        if part.parts:
            raise PetStoreMockError(
                f"expected faults that are no sequences themselves; got {part}: pass its faults one by one"
            )
    return Fault("sequence", parts=parts)


_BY_STATUS: Final[dict[int, Fault]] = {401: unauthorized(), 404: not_found(), 400: bad_request(), 429: rate_limited()}


def coerce(fault: Any) -> Fault:  # noqa: ANN401  # judges whatever a test author passes
    """Return ``fault``, or the fault that answers with that status.

    Raises:
        PetStoreMockError: it is neither a fault nor a status.
    """
    if isinstance(fault, Fault):
        return fault
    if isinstance(fault, int) and not isinstance(fault, bool):
        if fault in _BY_STATUS:
            return _BY_STATUS[fault]
        return server_error(fault) if fault in _SERVER_ERRORS else respond(fault)
    meant = nearest(getattr(fault, "__name__", fault), [*KINDS, "sequence"])  # of a function that was not called
    raise PetStoreMockError(
        f"expected an HTTP status or a fault of petstore_mock.faults; "
        f"got fault={fault!r} ({type(fault).__name__})" + ("" if meant is None else f". Did you mean faults.{meant}()?")
    )
