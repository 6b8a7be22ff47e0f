"""A request, as the core sees it: neither a socket nor an environ, which the adapters of ``transport`` translate."""

from __future__ import annotations

import json
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote

from petstore_mock.common.masking import NO_KEYS, mask_target, mask_text
from petstore_mock.messages.bearer import bearer_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petstore_mock.contract.interface import OperationName

__all__ = ["KNOWN_METHODS", "NO_FIELDS", "UNASKED_BODY", "ApiRequest", "MountedRequest", "RequestFields"]

# RFC 9110 §9.3, RFC 5789 and draft-ietf-httpbis-safe-method-w-body (QUERY; OpenAPI 3.2 describes it too): methods that
# a server recognises. Any other token is answered 501 (RFC 9110 §9.1).
KNOWN_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
)

UNASKED_BODY: Final = 64 * 1024  # bytes of a body that an adapter reads before it asks the core for its limit


# What a field holds on to beside its text, measured; the few that clients send always are in what any request weighs.
_FIELD_WEIGHT: Final = 350
_USUAL_FIELDS: Final = 12


class RequestFields(tuple[tuple[bytes, bytes], ...]):  # noqa: SLOT001  # those of a tuple would have to be empty
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

    @cached_property
    def bearer(self) -> tuple[str | None, str]:
        """The API key that they bear, or None and the condition that says why there is none (§5)."""
        return bearer_key(self.by_name.get(b"authorization", ()))

    @cached_property
    def is_json(self) -> bool:
        """Whether they declare a body of JSON; parameters and letter case are irrelevant (RFC 9110 §8.3.1)."""
        types = self.by_name.get(b"content-type", ())
        return len(types) == 1 and types[0].decode("latin-1").partition(";")[0].strip().lower() == "application/json"

    @cached_property
    def credentials(self) -> tuple[str, ...]:
        """What the Authorization fields bear after the scheme; see :attr:`ApiRequest.credentials`."""
        values = [value.decode("latin-1") for value in self.by_name.get(b"authorization", ())]
        last = [words[-1] for value in values if (words := value.split())]
        return tuple(word for word in last if word.lower() not in NO_KEYS)


NO_FIELDS: Final = RequestFields()


class ApiRequest:
    """A whole request, as the core sees it. What ``when=`` predicates of :meth:`PetStoreMock.inject` get.

    Attributes:
        method: the method token as sent.
        target: origin-form target as sent, still percent-encoded: ``/v1/pets?limit=2``.
        root_path: where the application is mounted, encoded: ``/api`` of ``/api/v1/pets``; empty at the root.
        mount: what stood before it in the address of a named world, as sent: ``/w/NAME``; else empty.
        fields: the header fields in the order sent, names in the case sent, as bytes.
        body: the body, decoded from its transfer coding.
        connection: which connection it came on, from 1; 0 without a socket.
        exchange: which request on that connection it is, from 1.
        started: ``RealTime.perf_counter()`` when its first byte came.
        version: the version of HTTP that it came in, such as ``HTTP/1.1``.
        oversized: the body passed the limit and was not kept whole.
        operation: the operation that the route found, or None.
    """

    __slots__ = (
        "body",
        "connection",
        "exchange",
        "fields",
        "method",
        "mount",
        "operation",
        "oversized",
        "started",
        "target",
        "version",
    )

    method: str
    target: str
    root_path: str = ""  # no slot of these: only a MountedRequest has one, and over the socket no request pays for it
    mount: str
    fields: RequestFields
    body: bytes
    connection: int
    exchange: int
    started: float
    version: str
    oversized: bool
    operation: OperationName | None

    def __init__(  # noqa: PLR0917  # called for every request: keywords cost
        self,
        method: str,
        target: str,
        fields: Iterable[tuple[bytes, bytes]] = NO_FIELDS,
        body: bytes = b"",
        connection: int = 0,
        exchange: int = 0,
        started: float = 0.0,
        version: str = "HTTP/1.1",
    ) -> None:
        self.method = method
        self.target = target
        self.mount = ""
        self.fields = fields if type(fields) is RequestFields else RequestFields(fields)
        self.body = body
        self.connection = connection
        self.exchange = exchange
        self.started = started
        self.version = version
        self.oversized = False
        self.operation = None

    def __repr__(self) -> str:
        keys = self.credentials
        return f"<ApiRequest {mask_text(self.method, keys)} {mask_target(self.target, keys)} {len(self.body)} bytes>"

    @property
    def base_path(self) -> str:
        """What stood before the target in the address that the client used; addresses sent to it begin so too."""
        return self.root_path + self.mount

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
        return list(self.fields.credentials)

    def values(self, name: str) -> list[str]:
        """Return every value of the header ``name``, in the order sent."""
        found = self.fields.by_name.get(name.lower().encode("latin-1", "replace"), ())
        return [value.decode("latin-1") for value in found]

    def header(self, name: str, default: str | None = None) -> str | None:
        """Return the value of the header ``name``, repeated ones joined by a comma, or ``default``."""
        values = self.values(name)
        return ", ".join(values) if values else default

    def json(self) -> Any:  # noqa: ANN401  # a JSON value is any value
        """Decode the body with ``json.loads``, which is less strict than the fake.

        Raises:
            ValueError: the body is no JSON, or nests too deep to tell.
        """
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("the body nests too deep to be decoded") from error


class MountedRequest(ApiRequest):
    """A request to an application that is mounted under a path (SCRIPT_NAME of PEP 3333, root_path of ASGI)."""

    __slots__ = ("root_path",)

    def __init__(self, root_path: str, *request: Any) -> None:  # noqa: ANN401  # what ApiRequest takes
        super().__init__(*request)
        self.root_path = root_path
