"""Faults: misbehaviour of the service, as values. :meth:`PetStoreMock.inject` plans when a request meets one.

A fault *responds* instead of the operation, *corrupts* the operation's response, or *slows* it. Faults of the
connection need a socket. Every fault that responds can be late as well: ``server_error(503, delay=0.2)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.faults import tls
from petstore_mock.faults.fault import Fault, coerce, make

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

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
__dir__ = __all__.copy  # what editors and consoles complete

Seconds = float | tuple[float, float]


def respond(
    status: int,
    json: object = None,
    body: bytes | str | None = None,
    headers: Mapping[str, str | Sequence[str]] | None = None,
    *,
    delay: Seconds | None = None,
) -> Fault:
    """Respond with ``status`` instead of executing the operation.

    Args:
        status: an HTTP status from 200 to 599.
        json: a value to send as the body, as ``application/json``.
        body: bytes or text to send as the body; ``b""`` for none. Without ``json`` and ``body`` the body is the
            interface's Error (§2) with this status.
        headers: further header fields; they win over the usual ones. An empty value leaves the field out. A list sends
            the field for each of its values: ``{"Set-Cookie": ["a=1", "b=2"]}``.
        delay: seconds before the response, or a ``(low, high)`` pair to draw from.

    Raises:
        PetStoreMockError: the status is not final, both ``json`` and ``body`` are given, or HTTP can't carry one of
            the values.
    """
    return make("respond", status=status, json=json, body=body, headers=headers, delay=delay)


def unauthorized(*, delay: Seconds | None = None) -> Fault:
    """Respond 401 as to an invalid key (§5), with its challenge; ``delay`` as in :func:`respond`."""
    return make("unauthorized", delay=delay)


def not_found(*, delay: Seconds | None = None) -> Fault:
    """Respond 404 as for an absent animal (§7); ``delay`` as in :func:`respond`."""
    return make("not_found", delay=delay)


def bad_request(*, delay: Seconds | None = None) -> Fault:
    """Respond 400 as to an invalid body (§7); ``delay`` as in :func:`respond`."""
    return make("bad_request", delay=delay)


def server_error(status: int = 500, *, delay: Seconds | None = None) -> Fault:
    """Respond with a ``status`` from 500 to 599 and the interface's Error; ``delay`` as in :func:`respond`."""
    return make("server_error", status=status, delay=delay)


def rate_limited(retry_after: float | str | date | None = 1, *, delay: Seconds | None = None) -> Fault:
    """Respond 429 with ``Retry-After`` (RFC 6585 §4, RFC 9110 §10.2.3).

    Args:
        retry_after: whole seconds; or a date, a datetime or ISO 8601 text, sent as an HTTP date; or None for no field.
        delay: as in :func:`respond`.

    Raises:
        PetStoreMockError: ``retry_after`` is negative, has a fraction, or is no moment.
    """
    return make("rate_limited", retry_after=retry_after, delay=delay)


def delay(seconds: Seconds) -> Fault:
    """Send the operation's response ``seconds`` later, or later by a time between the two of a ``(low, high)`` pair.

    Before the commit, the operation waits too: if the client leaves meanwhile, nothing is committed.

    Raises:
        PetStoreMockError: a time is negative or above an hour, or the pair is the wrong way round.
    """
    return make("delay", seconds=seconds)


def hang() -> Fault:
    """Never respond. Ends when the client closes the connection, or with the test."""
    return make("hang")


def reset() -> Fault:
    """Reset the connection (ECONNRESET) instead of responding."""
    return make("reset")


def empty_reply() -> Fault:
    """Close the connection properly without sending a byte."""
    return make("empty_reply")


def truncate(fraction: float = 0.5) -> Fault:
    """Announce the whole body and close the connection after ``fraction`` of it: at least 0 and below 1."""
    return make("truncate", fraction=fraction)


def dribble(bytes_per_second: float) -> Fault:
    """Send the body in small pieces. It arrives whole, so the operation is always executed."""
    return make("dribble", bytes_per_second=bytes_per_second)


def malformed_json() -> Fault:
    """Send the operation's response with a body that is not JSON."""
    return make("malformed_json")


def wrong_content_type() -> Fault:
    """Send the operation's response as ``text/html``. Before the commit, the store does not keep its animal."""
    return make("wrong_content_type")


def malformed_chunk() -> Fault:
    """Send the response in chunks, one of which has no valid size (RFC 9112 §7.1)."""
    return make("malformed_chunk")


def sequence(*faults: int | Fault) -> Fault:
    """Use the ``faults`` one after the other, one for each request; then the sequence is spent.

    Raises:
        PetStoreMockError: there is none, one is a sequence itself, or faults of requests and of ``tls`` are mixed.
    """
    return make("sequence", faults=faults)
