"""What crosses the border of the core: a request and an answer.

Neither side knows a socket or an environ: :mod:`petstore_mock.wsgi` and :mod:`petstore_mock.wire` translate.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol
from urllib.parse import parse_qsl, unquote

from petstore_mock.credentials import NO_KEYS
from petstore_mock.errors import PetstoreMockError
from petstore_mock.masking import mask_target, mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from petstore_mock.contract import OperationName

__all__ = [
    "BODILESS_STATUSES",
    "KNOWN_METHODS",
    "NO_FIELDS",
    "PLAIN",
    "UNASKED_BODY",
    "UNSIZED_STATUSES",
    "ApiRequest",
    "ApiResponse",
    "Delivery",
    "Dress",
    "Fields",
    "Handler",
    "Head",
    "Waits",
    "is_field",
    "reason_phrase",
]

_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token (RFC 9110 §5.6.2)
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 §5.5

# RFC 9110 §9.3, RFC 5789 and draft-ietf-httpbis-safe-method-w-body (QUERY; OpenAPI 3.2 describes it too): methods that
# a server recognises. Any other token is answered 501 (RFC 9110 §9.1).
KNOWN_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
)

BODILESS_STATUSES: Final = frozenset({204, 205, 304})  # RFC 9110 §6.4.1, §15.3.6
UNSIZED_STATUSES: Final = frozenset({204, 304})  # those that go without Content-Length (RFC 9110 §8.6); a 205 says 0
UNASKED_BODY: Final = 64 * 1024  # bytes of a body that an adapter reads before it asks the core for its limit

_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}


def reason_phrase(status: int) -> str:
    """Return the reason phrase of ``status``, empty for a status that no RFC names."""
    return _PHRASES.get(status, "")


# What a field holds on to beside its text, measured; the few that clients send always are in what any request weighs.
_FIELD_WEIGHT: Final = 350
_USUAL_FIELDS: Final = 12


class Fields(tuple[tuple[bytes, bytes], ...]):  # noqa: SLOT001  # those of a tuple would have to be empty
    """A request's header fields as (name, value), in the order sent and names in the case sent.

    What each request asks of them is worked out once: on the wire, requests with the same head share one object.

    Attributes:
        by_name: the values by the field's name in lower case; read-only.
        size: about how many bytes they hold on to, beyond what the fields of any request do.
    """

    by_name: Mapping[bytes, tuple[bytes, ...]]
    size: int

    def __init__(self, _fields: Iterable[tuple[bytes, bytes]] = ()) -> None:  # the tuple is made of them by now
        by_name: dict[bytes, tuple[bytes, ...]] = {}
        size = 0
        for name, value in self:
            lower = name.lower()
            by_name[lower] = (*by_name.get(lower, ()), value)
            size += len(name) + len(value)
        self.by_name = MappingProxyType(by_name)  # a `when=` of the test author gets it, and others share it
        self.size = size + max(0, len(self) - _USUAL_FIELDS) * _FIELD_WEIGHT


NO_FIELDS: Final = Fields()


class ApiRequest:
    """A whole request, as the core sees it. What ``when=`` predicates of :meth:`PetStoreMock.inject` get.

    Attributes:
        method: the method token as sent.
        target: origin-form target as sent, still percent-encoded: ``/v1/pets?limit=2``.
        fields: the header fields in the order sent, names in the case sent, as bytes.
        body: the body, decoded from its transfer coding.
        connection: which connection it came on, from 1; 0 without a socket.
        exchange: which request on that connection it is, from 1.
        started: ``time.perf_counter()`` when its first byte came.
        oversized: the body passed the limit and was not kept whole.
        operation: the operation that the route found, or None.
    """

    __slots__ = ("body", "connection", "exchange", "fields", "method", "operation", "oversized", "started", "target")

    def __init__(  # noqa: PLR0917  # called for every request: keywords cost
        self,
        method: str,
        target: str,
        fields: Iterable[tuple[bytes, bytes]] = NO_FIELDS,
        body: bytes = b"",
        connection: int = 0,
        exchange: int = 0,
        started: float = 0.0,
    ) -> None:
        self.method = method
        self.target = target
        self.fields = fields if type(fields) is Fields else Fields(fields)
        self.body = body
        self.connection = connection
        self.exchange = exchange
        self.started = started
        self.oversized = False
        self.operation: OperationName | None = None

    def __repr__(self) -> str:
        keys = self.credentials
        return f"<ApiRequest {mask_text(self.method, keys)} {mask_target(self.target, keys)} {len(self.body)} bytes>"

    @property
    def path(self) -> str:
        """The path, percent-decoded."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> dict[str, str]:
        """The query parameters, decoded; a repeated one shows its last value."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def credentials(self) -> list[str]:
        """What its Authorization fields bear after the scheme: a key, right or wrong. Not to be shown to anybody.

        The texts that stand for a missing setting are no secret, but what a client's author must see.
        """
        last = [words[-1] for value in self.values("authorization") if (words := value.split())]
        return [word for word in last if word.lower() not in NO_KEYS]

    def values(self, name: str) -> list[str]:
        """Return every value of the header ``name``, in the order sent."""
        found = self.fields.by_name.get(name.lower().encode("latin-1", "replace"), ())
        return [value.decode("latin-1") for value in found]

    def header(self, name: str, default: str | None = None) -> str | None:
        """Return the value of the header ``name``, repeated ones joined by a comma, or ``default``."""
        values = self.values(name)
        return ", ".join(values) if values else default

    def json(self) -> Any:  # noqa: ANN401  # a JSON value is any value
        """Decode the body as JSON; raises ValueError when it is none."""
        return json.loads(self.body)


def is_field(name: str, value: str) -> bool:
    """Say whether HTTP allows a header field (RFC 9110 §5); the value is sent as Latin-1."""
    return _FIELD_NAME.fullmatch(name) is not None and _FIELD_VALUE.fullmatch(value) is not None


class Head:
    """The status and the fixed header fields of an answer; immutable, shared between answers, encoded once.

    ``Date``, ``Content-Length``, ``Connection`` and ``Transfer-Encoding`` are not in it: the adapters add them.
    """

    __slots__ = ("fields", "status", "wire")

    def __init__(self, status: int, fields: Sequence[tuple[str, str]] = ()) -> None:
        for name, value in fields:
            if not is_field(name, value):
                raise PetstoreMockError(f"expected a header field that HTTP allows; got {name!r}: {value!r}")
        self.status = status
        self.fields: tuple[tuple[str, str], ...] = tuple(fields)
        lines = [f"HTTP/1.1 {status} {reason_phrase(status)}", *(f"{name}: {value}" for name, value in fields)]
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


@dataclass(frozen=True, slots=True)
class Dress:
    """How a behaviour sends its answers; HTTP allows any of it. All but ``gzip`` is the wire's: WSGI has no say in it.

    Attributes:
        chunked: frame the body in chunks instead of by its length (gap ``answer_framing``).
        close: end the connection after the answer (gap ``connection``).
        lower_case: write header names in lower case (gap ``header_names``).
        gzip: compress the body for a client that takes that (gap ``content_coding``).
    """

    chunked: bool = False
    close: bool = False
    lower_case: bool = False
    gzip: bool = False


PLAIN: Final = Dress()


class Waits(Protocol):
    """Where an adapter says that it holds an answer back, so that ``reset()`` and ``stop()`` can let it go."""

    def add(self, release: Callable[[], None]) -> None:
        """Call ``release`` (from any thread) when the waiting must end."""

    def discard(self, release: Callable[[], None]) -> None:
        """Forget ``release``: its waiting ended by itself."""


class Recorded(Protocol):
    """The part of a journal entry that an adapter completes."""

    duration: float
    outcome: str | None


class ApiResponse:
    """An answer of the core.

    Attributes:
        head: status and header fields.
        body: the bytes of the body. For a HEAD request the adapter sends their length and leaves them out.
        date: the value of ``Date`` by the fake's clock (RFC 9110 §6.6.1).
        dress: how the behaviour sends it.
        delay: seconds to wait before it is sent, or before ``resume`` is called.
        resume: when set, this is no answer yet: wait ``delay`` seconds, call it, and send what it returns. It
            isn't called when the client has gone by then: what was to be committed is not.
        delivery: how the answer goes out, when not whole and at once.
        waits: where to register a held answer.
        entry: the journal's entry, for its duration and outcome.
    """

    # Defaults of the class, not of each instance: most answers set none of these, and one is made for every request.
    dress: Dress = PLAIN
    delay: float = 0.0
    resume: Callable[[], ApiResponse] | None = None
    delivery: Delivery | None = None
    waits: Waits | None = None
    entry: Recorded | None = None

    def __init__(self, head: Head, body: bytes, date: bytes) -> None:
        self.head = head
        self.body = body
        self.date = date

    def __repr__(self) -> str:
        return f"<ApiResponse {self.head.status} {len(self.body)} bytes>"

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.head.status


class Handler(Protocol):
    """The core, as the adapters see it. Every method may be called from any thread."""

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer a whole request. Never raises for anything that a client can send."""

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say, from its head alone, whether the body is worth reading (``Expect``, RFC 9110 §10.1.1).

        ``length`` is the declared length in bytes, None when chunked. When this is False, :meth:`handle` refuses
        the request whatever the body.
        """

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body in bytes that this request may have, None for no limit (gap ``body_limit``)."""

    def refuse(self, condition: str, detail: str, request: ApiRequest | None) -> ApiResponse:
        """Answer what never became a request: a name of ``CONDITIONS`` and what was wrong, for the journal too.

        A handler may also have ``neighbour_came(request)``, which is told of a request that an expectation of
        pytest-httpserver answers; it returns what is to be called with the status, the fields and the body of that
        answer, once there is one, and returns the value of its ``Date``.

        And it may have ``epoch()``, which returns a token of the present moment: for a request that came in parts,
        this method then gets the token of its first byte as ``epoch``, so that what an earlier test left behind is not
        held against the present one.
        """
