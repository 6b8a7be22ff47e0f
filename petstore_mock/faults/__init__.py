"""Faults: what may go wrong, as values. :mod:`petstore_mock.core.fault_plan` decides when.

A fault *replaces* the answer (a status, a hang, a reset, an empty reply), *corrupts* it (cut, malformed, of a wrong
type) or *slows* it. Those of the connection (:attr:`Fault.needs_socket`) can't be had in process. What answers
instead of the operation can be late as well: ``server_error(503, delay=0.2)``.
"""

from __future__ import annotations

import contextlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, date
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from petstore_mock.common.dates import as_moment, http_date
from petstore_mock.common.numbers import is_integer, is_number
from petstore_mock.common.suggestions import did_you_mean, nearest
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import tls
from petstore_mock.faults.kinds import (
    Answer,
    BadRequest,
    Delay,
    Dribble,
    EmptyReply,
    Fault,
    FaultSequence,
    Hang,
    MalformedChunk,
    MalformedJson,
    NotFound,
    RateLimited,
    Reset,
    Respond,
    Seconds,
    ServerError,
    Truncate,
    Unauthorized,
    WrongContentType,
    json_body,
    media_type,
)
from petstore_mock.messages.response import BODILESS_STATUSES, is_field

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
    "tls",
    "truncate",
    "unauthorized",
    "wrong_content_type",
]

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


def respond(
    status: int,
    json: object = None,
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    delay: float | tuple[float, float] | None = None,
) -> Respond:
    """Answer with ``status`` instead of carrying out the operation.

    Args:
        status: any HTTP status from 200 to 599.
        json: a value to send as the body, as ``application/json``.
        body: bytes or text to send as the body; ``b""`` for none. Without ``json`` and ``body`` the body is the
            interface's Error (§2) with this status.
        headers: further header fields; they win over ours. One with an empty value leaves the field out.
        delay: seconds to hold it back, or a ``(low, high)`` pair to draw from; as in all that answer.

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
    return Respond(status, content, fields, _held_back(delay))


def _content(json: object, body: Any) -> tuple[bytes | None, str]:  # noqa: ANN401  # checks whatever a test author passes
    """Return the body of an answer and its media type."""
    if json is not None:
        try:
            return json_body(json), "application/json"
        except (TypeError, ValueError, RecursionError) as error:
            raise PetStoreMockError(f"expected json= to be a JSON value; {error}: body= takes what is none") from None
    if body is None:
        return None, ""
    if not isinstance(body, (str, bytes, bytearray)):
        raise PetStoreMockError(f"expected body= as bytes or text; got body={body!r} ({type(body).__name__})")
    content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)
    return content, media_type(content)


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


def unauthorized(*, delay: float | tuple[float, float] | None = None) -> Unauthorized:
    """Answer 401 as for an invalid key (§5), with its challenge; ``delay`` as in :func:`respond`."""
    return Unauthorized(401, delay=_held_back(delay))


def not_found(*, delay: float | tuple[float, float] | None = None) -> NotFound:
    """Answer 404 as for an absent animal (§7); ``delay`` as in :func:`respond`."""
    return NotFound(404, delay=_held_back(delay))


def bad_request(*, delay: float | tuple[float, float] | None = None) -> BadRequest:
    """Answer 400 as for an invalid body (§7); ``delay`` as in :func:`respond`."""
    return BadRequest(400, delay=_held_back(delay))


def _is_one_of(status: object, statuses: range) -> bool:
    return is_integer(status) and status in statuses


def server_error(status: int = 500, *, delay: float | tuple[float, float] | None = None) -> ServerError:
    """Answer a 5xx with the interface's error body; ``delay`` as in :func:`respond`.

    Raises:
        PetStoreMockError: ``status`` is no 5xx.
    """
    if not _is_one_of(status, _SERVER_ERRORS):
        raise PetStoreMockError(f"expected a status from 500 to 599; got status={status!r}; respond() takes any")
    return ServerError(status, delay=_held_back(delay))


def rate_limited(
    retry_after: float | str | date | None = 1, *, delay: float | tuple[float, float] | None = None
) -> RateLimited:
    """Answer 429 with ``Retry-After`` (RFC 6585 §4, RFC 9110 §10.2.3).

    Args:
        retry_after: whole seconds, or a moment (a date, a datetime or ISO 8601 text) to be sent as an HTTP date, or
            None to leave the field out.
        delay: as in :func:`respond`.

    Raises:
        PetStoreMockError: ``retry_after`` is negative, has a fraction, or is no moment.
    """
    told: int | str | None = None
    value = ""
    if isinstance(retry_after, (str, date)):
        with contextlib.suppress(PetStoreMockError):
            moment = as_moment(retry_after).astimezone(UTC)
            told, value = f"{moment:%Y-%m-%dT%H:%M:%SZ}", http_date(moment.timestamp())
    elif retry_after is not None and _is_float(retry_after) and retry_after >= 0 and retry_after == int(retry_after):
        told = int(retry_after)
        value = str(told)
    if told is None and retry_after is not None:
        raise PetStoreMockError(
            "expected whole seconds, 0 or more, or a date, a datetime or ISO 8601 text; "
            f"got retry_after={retry_after!r} ({type(retry_after).__name__})"
        )
    fields = (("Retry-After", value),) if value else ()
    return RateLimited(429, fields=fields, delay=_held_back(delay), retry_after=told)


def delay(seconds: float | tuple[float, float]) -> Delay:
    """Hold the answer back for ``seconds``, or for a time drawn between the two of a pair.

    Before the commit, the operation waits too: a client that leaves meanwhile leaves nothing behind.

    Raises:
        PetStoreMockError: a negative or absurd time, or a pair the wrong way round.
    """
    return Delay(_seconds(seconds, "seconds"))


def _held_back(delay: Any) -> Seconds | None:  # noqa: ANN401  # checks whatever a test author passes
    return None if delay is None else _seconds(delay, "delay")


def _seconds(given: Any, name: str) -> Seconds:  # noqa: ANN401
    match given:
        case (low, high):
            pass
        case _:
            low = high = given
    if not (_is_float(low) and _is_float(high) and 0 <= low <= high <= _LARGEST_DELAY):
        raise PetStoreMockError(
            f"expected seconds from 0 to {_LARGEST_DELAY:g}, or a (low, high) pair of them; got {name}={given!r}"
        )
    return float(low), float(high)


def _is_float(value: object) -> TypeGuard[float]:
    return is_number(value) and abs(value) < _LARGEST_NUMBER  # a larger int is no float; NaN is not less


def hang() -> Hang:
    """Never answer. Ends when the client closes, or with the test."""
    return Hang()


def reset() -> Reset:
    """Reset the connection (ECONNRESET) instead of answering."""
    return Reset()


def empty_reply() -> EmptyReply:
    """Close the connection properly without sending a byte."""
    return EmptyReply()


def truncate(fraction: float = 0.5) -> Truncate:
    """Promise the whole body and close after ``fraction`` of it.

    Raises:
        PetStoreMockError: ``fraction`` is not at least 0 and below 1.
    """
    if not _is_float(fraction) or not 0 <= fraction < 1:
        raise PetStoreMockError(f"expected a fraction of at least 0 and below 1; got fraction={fraction!r}")
    return Truncate(float(fraction))


def dribble(bytes_per_second: float) -> Dribble:
    """Send the body in small pieces. The answer arrives whole, so that the operation is always carried out.

    Raises:
        PetStoreMockError: ``bytes_per_second`` is not positive.
    """
    if not _is_float(bytes_per_second) or bytes_per_second <= 0:
        raise PetStoreMockError(
            f"expected a positive number of bytes per second; got bytes_per_second={bytes_per_second!r}"
        )
    return Dribble(float(bytes_per_second))


def malformed_json() -> MalformedJson:
    """Send the operation's answer with a body that is no JSON."""
    return MalformedJson()


def wrong_content_type() -> WrongContentType:
    """Send the operation's answer as ``text/html``.

    Before the commit the animal that it tells of is not kept, as with any corrupted answer.
    """
    return WrongContentType()


def malformed_chunk() -> MalformedChunk:
    """Send the answer in chunks, one of which has no valid size (RFC 9112 §7.1)."""
    return MalformedChunk()


def sequence(*faults: int | Fault) -> FaultSequence:
    """Use the ``faults`` one after the other, one a request; then the sequence is spent.

    Raises:
        PetStoreMockError: there is none, or one is a sequence itself.
    """
    parts = tuple(coerce(fault) for fault in faults)
    if not parts:
        raise PetStoreMockError("expected one or more faults; got sequence() without any")
    for part in parts:
        if isinstance(part, FaultSequence):
            raise PetStoreMockError(
                f"expected faults that are no sequences themselves; got {part}: pass its faults one by one"
            )
    if len({part.meets_handshakes for part in parts}) > 1:
        raise PetStoreMockError(
            "expected faults that meet requests, or those of faults.tls, which meet connections; "
            f"got {FaultSequence(parts)}"
        )
    return FaultSequence(parts)


_FUNCTIONS: Final[Mapping[str, Callable[..., Fault]]] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            bad_request,
            delay,
            dribble,
            empty_reply,
            hang,
            malformed_chunk,
            malformed_json,
            not_found,
            rate_limited,
            reset,
            respond,
            server_error,
            truncate,
            unauthorized,
            wrong_content_type,
        )
    }
)
KINDS: Final = tuple(_FUNCTIONS)  # all that a request can meet
_BY_KIND: Final[Mapping[str, Callable[..., Fault]]] = MappingProxyType(
    {**_FUNCTIONS, **{f"tls.{name}": getattr(tls, name) for name in tls.__all__}}
)

_BY_STATUS: Final[dict[int, Fault]] = {401: unauthorized(), 404: not_found(), 400: bad_request(), 429: rate_limited()}


def coerce(fault: Any) -> Fault:  # noqa: ANN401  # checks whatever a test author passes
    """Return ``fault``, or the fault that answers with that status.

    Raises:
        PetStoreMockError: it is neither a fault nor a status.
    """
    if isinstance(fault, Fault):
        return fault
    if is_integer(fault):
        return _of_status(fault)
    meant = nearest(getattr(fault, "__name__", fault), [*KINDS, "sequence"])  # of a function that was not called
    raise PetStoreMockError(
        f"expected an HTTP status or a fault of petstore_mock.faults; "
        f"got fault={fault!r} ({type(fault).__name__})" + ("" if meant is None else f". Did you mean faults.{meant}()?")
    )


def _of_status(status: int) -> Fault:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return server_error(status) if status in _SERVER_ERRORS else respond(status)


# As data, for those who can't call a function: the control door


def from_data(value: object) -> Fault:
    """Make a fault of a JSON value: ``503``, or a kind and its arguments: ``{"kind": "delay", "seconds": 0.2}``.

    A pair is an array; a sequence is ``{"kind": "sequence", "faults": [503, {"kind": "reset"}]}``; a body that is no
    text is given to ``respond`` as ``body_base64``.

    Raises:
        PetStoreMockError: there is no such kind or argument (suggests the nearest name), or no such value of it.
    """
    if is_integer(value):
        return coerce(value)
    if not isinstance(value, Mapping):
        meant = nearest(value, [*KINDS, "sequence"]) if isinstance(value, str) else None
        raise PetStoreMockError(
            'expected a fault as an HTTP status, or as an object such as {"kind": "reset"}; '
            f"got fault={value!r} ({type(value).__name__})"
            + ("" if meant is None else f'. Did you mean {{"kind": "{meant}"}}?')
        )
    given = dict(value)
    kind = given.pop("kind", None)
    if kind == "sequence":
        _check_members(kind, given, {"faults": True})
        if not isinstance(given["faults"], (list, tuple)):
            raise PetStoreMockError(f"expected faults as an array of faults; got faults={given['faults']!r}")
        return sequence(*map(from_data, given["faults"]))
    if not isinstance(kind, str) or kind not in _BY_KIND:
        known = (*_BY_KIND, "sequence")
        raise PetStoreMockError(
            f"expected kind to be one of {', '.join(known)}; got kind={kind!r} ({type(kind).__name__})"
            f"{did_you_mean(kind, known)}"
        )
    members = {name: one.default is Parameter.empty for name, one in signature(_BY_KIND[kind]).parameters.items()}
    if kind == "respond":
        members["body_base64"] = False
    _check_members(kind, given, members)
    if "body_base64" in given:
        if given.get("body") is not None:
            raise PetStoreMockError("expected body or body_base64, as the body of an answer; got both")
        given["body"] = _decoded(given.pop("body_base64"))
    return _BY_KIND[kind](**given)


def _check_members(kind: str, given: Mapping[str, object], known: Mapping[str, bool]) -> None:
    """Refuse members that are not ``known``, and miss those that are required (true)."""
    for name, value in given.items():
        if name not in known:
            takes = f"the members {', '.join(known)}" if known else "no further member"
            raise PetStoreMockError(
                f"expected {takes} of a fault of kind {kind}; got {name}={value!r}{did_you_mean(name, known)}"
            )
    for name, required in known.items():
        if required and name not in given:
            raise PetStoreMockError(f"expected {name} of a fault of kind {kind}; got {', '.join(given) or 'none'}")


def _decoded(text: object) -> bytes:
    try:
        if isinstance(text, str):
            return b64decode(text, validate=True)
    except ValueError:
        pass
    raise PetStoreMockError(f"expected body_base64 as base64 (RFC 4648 §4); got body_base64={text!r}")


def to_data(fault: Fault) -> Any:  # noqa: ANN401  # a JSON value
    """Return ``fault`` as :func:`from_data` takes it, in its shortest form: the status, where that says it all."""
    if isinstance(fault, FaultSequence):
        return {"kind": fault.kind, "faults": [to_data(part) for part in fault.parts]}
    if isinstance(fault, Answer) and fault == _of_status(fault.status):
        return fault.status
    arguments = fault.arguments()
    if isinstance(arguments.get("body"), bytes):
        arguments["body_base64"] = b64encode(arguments.pop("body")).decode()
    return {
        "kind": fault.kind,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()},
    }
