"""Faults are values that describe a misbehaviour of the service. :meth:`PetStoreMock.inject` plans a fault.

A fault *responds* instead of the operation, or it *loses*, *corrupts* or *slows* the operation's response. Faults of
the connection need a socket. Every fault that responds can also be late: ``server_error(503, delay=0.2)``.
"""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# The decorators make the faults. The functions only declare the arguments of their kinds.

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from petstore_mock.faults import changes
from petstore_mock.faults.fault import Fault, call_like, coerce, keeps, kind, loses, responds, slows
from petstore_mock.faults.kinds import INTERIM_STATUS, REQUEST_KINDS, status_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    Headers = Mapping[str, str | Sequence[str]]

Seconds = float | tuple[float, float]


@responds("the service responded as the test planned")
def respond(
    status: int,
    json: object = None,
    body: bytes | str | None = None,
    headers: Headers | None = None,
    *,
    delay: Seconds | None = None,
) -> Fault:
    """Respond with ``status`` instead of executing the operation.

    Args:
        status: an HTTP status from 200 to 599.
        json: a value to send as the body, as ``application/json``.
        body: bytes or text to send as the body; ``b""`` for none. Without ``json`` and ``body`` the body is the
            interface's Error (§2, §7) with this status; the statuses 204, 205 and 304 have no body.
        headers: header fields, which are added to the usual ones or replace those with the same name. An empty value
            removes the field. A list sends the field once for each value: ``{"Set-Cookie": ["a=1", "b=2"]}``.
        delay: seconds before the response, or a ``(low, high)`` pair to draw from.

    Raises:
        PetStoreMockError: the status is not from 200 to 599, you pass both ``json`` and ``body``, ``json`` is not a
            JSON value, HTTP does not allow the body or a header, or ``headers`` has a field that only the fake sets.
    """


@responds("the service refused the key (§5)", status=401)
def unauthorized(*, delay: Seconds | None = None) -> Fault:
    """Respond 401 as for an invalid key (§5), with ``WWW-Authenticate``; ``delay`` as in :func:`respond`."""


@responds("the service responded as for an absent animal (§7)", status=404)
def not_found(*, delay: Seconds | None = None) -> Fault:
    """Respond 404 as for an absent animal (§7); ``delay`` as in :func:`respond`."""


@responds("the service responded as for an invalid body (§7)", status=400)
def bad_request(*, delay: Seconds | None = None) -> Fault:
    """Respond 400 as for an invalid body (§7); ``delay`` as in :func:`respond`."""


@responds("the service failed", arguments={"status": status_from(500)})
def server_error(status: int = 500, *, delay: Seconds | None = None) -> Fault:
    """Respond with a server error and the interface's Error (§2, §7).

    Args:
        status: an HTTP status from 500 to 599.
        delay: as in :func:`respond`.

    Raises:
        PetStoreMockError: the status is not from 500 to 599.
    """


@responds("the service refused a request beyond its rate limit (RFC 6585 §4)", status=429)
def rate_limited(retry_after: float | str | date | None = 1, *, delay: Seconds | None = None) -> Fault:
    """Respond 429 with ``Retry-After`` (RFC 6585 §4, RFC 9110 §10.2.3).

    Args:
        retry_after: whole seconds; or a date, a datetime or ISO 8601 text, sent as an HTTP date; or None for no field.
        delay: as in :func:`respond`.

    Raises:
        PetStoreMockError: ``retry_after`` is negative, has a fraction, or is not a moment.
    """


@slows("the service responded late")
def delay(seconds: Seconds) -> Fault:
    """Send the operation's response late.

    With ``at="before_commit"``, the operation waits too. If the client disconnects meanwhile, nothing commits.

    Args:
        seconds: the delay from 0 to 3600, or a ``(low, high)`` pair to draw from.

    Raises:
        PetStoreMockError: a time is negative or longer than an hour, or ``low`` is above ``high``.
    """


@loses("the service never responded", needs_socket=True, waits=True)
def hang() -> Fault:
    """Never respond. The fault ends when the client closes the connection, at a reset, or when the test ends."""


@loses("the service reset the connection instead of responding", needs_socket=True)
def reset() -> Fault:
    """Reset the connection (ECONNRESET) instead of responding."""


@loses("the service closed the connection without a byte of a response", needs_socket=True)
def empty_reply() -> Fault:
    """Close the connection properly without sending a byte."""


@kind("the connection ended within the response's body (RFC 9112 §8)", needs_socket=True)
def truncate(fraction: float = 0.5) -> Fault:
    """Announce the whole body, send a part of it, and close the connection.

    Args:
        fraction: the fraction of the body to send, at least 0 and below 1.

    Raises:
        PetStoreMockError: ``fraction`` is out of its range.
    """


@slows("the service responded slowly", needs_socket=True)
def dribble(bytes_per_second: float) -> Fault:
    """Send the body slowly, in small pieces. It arrives whole, so the service always executes the operation.

    Args:
        bytes_per_second: the speed in bytes per second, above 0.

    Raises:
        PetStoreMockError: ``bytes_per_second`` is not positive.
    """


@kind("the response's body was not JSON (§1)", changes=changes.cut_json)
def malformed_json() -> Fault:
    """Send the operation's response with a body that is not JSON."""


@kind("the response's JSON had the media type text/html (§1)", readable=True, excuses=True, changes=changes.as_html)
def wrong_content_type() -> Fault:
    """Send the operation's response as ``text/html``. With ``at="before_commit"``, the store keeps no new animal."""


@kind("a chunk of the response had no valid size (RFC 9112 §7.1)", needs_socket=True)
def malformed_chunk() -> Fault:
    """Send the response in chunks, one of which has no valid size (RFC 9112 §7.1)."""


# The response of these is complete and true, or could be read: HTTP allows them, and libraries get them wrong.


@keeps(
    "the service sent an interim response before the final one (RFC 9110 §15.2)",
    needs_socket=True,
    arguments={"status": INTERIM_STATUS},
)
def interim(status: int, times: int = 1) -> Fault:
    """Send interim responses before the operation's response. A client of HTTP/1.0 gets none.

    Args:
        status: 100, 102 or 103.
        times: how many interim responses, from 1 to 1000.

    Raises:
        PetStoreMockError: ``status`` is another one, or ``times`` is out of its range.
    """


@keeps("the service sent a second response that nobody requested (RFC 9112 §9.2)", needs_socket=True)
def surplus() -> Fault:
    """Send one more complete response behind the operation's response, on a connection that stays open."""


@keeps("the service ended an idle connection with a 408 (RFC 9110 §15.5.9)", needs_socket=True)
def idle_408() -> Fault:
    """Send the operation's response as if the connection stayed open, then a 408 and the end of the connection."""


@keeps("the response had many header fields", excuses=True, changes=changes.add_fields)
def many_fields(n: int = 150) -> Fault:
    """Add ``n`` different header fields to the operation's response, from 1 to 1000. Some libraries have a limit."""


@keeps("the response had further header fields")
def extra_fields(headers: Headers) -> Fault:
    """Send the operation's response with further header fields, or with other values of its own ones.

    Args:
        headers: the values by name; a list of values is one field for each.

    Raises:
        PetStoreMockError: HTTP does not allow a field, or the fake sets it itself.
    """


@keeps(
    "the header fields had no space after the colon (RFC 9112 §5)",
    needs_socket=True,
    changes=changes.leave_out_spaces,
)
def no_spaces() -> Fault:
    """Send the operation's response with header fields such as ``Content-Type:application/json``."""


@keeps("the response had an unusual reason phrase (RFC 9112 §4)", needs_socket=True, changes=changes.name_reason)
def reason_phrase(phrase: str = "") -> Fault:
    """Send the operation's response with another reason phrase, which no client may interpret.

    Args:
        phrase: any text that HTTP allows, also none. It is sent as Latin-1.

    Raises:
        PetStoreMockError: HTTP does not allow the text.
    """


@keeps("the response had no Date (RFC 9110 §6.6.1)", needs_socket=True, changes=changes.leave_out_date)
def no_date() -> Fault:
    """Send the operation's response without ``Date``, as a service without a clock does."""


@keeps(
    "the response ended with the connection, as in HTTP/1.0 (RFC 9112 §6.3)",
    needs_socket=True,
    changes=changes.end_with_connection,
)
def until_close() -> Fault:
    """Send the operation's response as HTTP/1.0, without ``Content-Length``: its body ends with the connection."""


@keeps(
    "the coding was named Chunked, and the chunks had extensions, trailers and long sizes (RFC 9112 §7)",
    needs_socket=True,
    changes=changes.add_to_chunks,
)
def chunk_extras() -> Fault:
    """Send the operation's response in unusual chunks. Clients of HTTP/1.0 get the usual response.

    The coding is named ``Chunked``. The sizes begin with a zero and have extensions, and fields follow the body.
    """


@kind(
    "the response had a content coding (RFC 9110 §8.4)",
    readable=True,
    excuses=True,
    needs_socket=True,
    changes=changes.encode,
)
def encoded(coding: str) -> Fault:
    """Send the operation's response under a content coding, also to a client that did not ask for it.

    Args:
        coding: ``gzip``, ``gzip-multi`` (two members), ``x-gzip``, ``deflate-zlib``, ``deflate-raw``, ``double`` (gzip
            twice, named once), or ``gzip-cut`` (the data ends early).

    Raises:
        PetStoreMockError: there is no such coding. The message suggests the nearest name.
    """


@kind("the response's body stalled", needs_socket=True, waits=True)
def stall_body(after: int = 0) -> Fault:
    """Send the head and ``after`` bytes of the operation's response, but never its last byte, and then nothing.

    The fault ends when the client closes the connection, at a reset, or when the test ends.

    Args:
        after: a number of bytes.

    Raises:
        PetStoreMockError: ``after`` is negative.
    """


@loses("the response's body never ended", needs_socket=True, waits=True)
def endless_body() -> Fault:
    """Send a 200 without ``Content-Length``, with JSON that goes on as fast as the client reads.

    The fault ends as that of :func:`stall_body`.
    """


from petstore_mock.faults import tls  # noqa: E402  # the import adds its kinds to the table here


@kind("the service misbehaved in a different way for each request")
def sequence(*faults: int | Fault) -> Fault:
    """Use the ``faults`` in order, one for each request. After the last fault, the sequence has no further effect.

    Args:
        faults: one or more faults, or statuses such as 503.

    Raises:
        PetStoreMockError: there are no faults, a fault is a sequence, or faults of requests and of ``tls`` are mixed.
    """


__all__ = ["Fault", "coerce", "sequence", "tls"]
__all__ += [*REQUEST_KINDS]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]
__dir__ = __all__.copy  # the names that editors and consoles complete

if not TYPE_CHECKING:  # a type checker would believe that every name exists

    def __getattr__(name: str) -> NoReturn:
        call = None if name.startswith("_") else call_like(name)
        offer = f"the faults are {', '.join(REQUEST_KINDS)}"
        if call is not None:
            offer = f"did you mean faults.{call}?"
        raise AttributeError(f"there is no fault {name!r} ({offer})")
