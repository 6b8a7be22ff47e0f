"""The request that the core receives. Adapters of the transport build it from a socket or a WSGI environ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from json import loads
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, parse_qsl, unquote

from petstore_mock.common.masking import mask_target, mask_text
from petstore_mock.common.suggesting import readable
from petstore_mock.common.values import grouped
from petstore_mock.http.credentials import NO_KEYS, bearer_key
from petstore_mock.interface.paths import operation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.common.values import Json

# RFC 9110 §9.3, RFC 5789 and QUERY of draft-ietf-httpbis-safe-method-w-body. Any other method gets 501 (§9.1).
KNOWN_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
)

# Bytes that the objects of a field take besides its text.
_FIELD_WEIGHT: Final = 400
# Bytes. For a longer body, an adapter asks the handler for the limit.
UNASKED_BODY: Final = 64 * 1024


class Fields(tuple[tuple[bytes, bytes], ...]):  # noqa: SLOT001  # a tuple's slots would have to be empty
    """Header fields as pairs of name and value; WSGI loses their order and case. Requests may share an instance."""

    # The values by lower-case name.
    by_name: Mapping[bytes, tuple[bytes, ...]]

    # The tuple already holds them.
    def __init__(self, _fields: Iterable[tuple[bytes, bytes]] = (), /) -> None:
        # Not grouped(): its generator takes twice as long, for each request.
        by_name: dict[bytes, list[bytes]] = {}
        for name, value in self:
            by_name.setdefault(name.lower(), []).append(value)
        self.by_name = MappingProxyType({name: tuple(values) for name, values in by_name.items()})

    def __reduce__(self) -> tuple[object, ...]:
        return (Fields, (tuple(self),))

    @classmethod
    def of(cls, pairs: Iterable[Sequence[str]]) -> Fields:
        """Return the header fields for pairs of text, encoded as Latin-1."""
        return cls((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in pairs)

    def as_text(self) -> list[tuple[str, str]]:
        """Return the fields as pairs of text."""
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self]

    @cached_property
    def size(self) -> int:
        """The size of the field lines in bytes."""
        return sum(len(name) + len(value) + len(": \r\n") for name, value in self)

    @cached_property
    def weight(self) -> int:
        """About how many bytes of memory the fields take, for caches."""
        return self.size + len(self) * _FIELD_WEIGHT

    @cached_property
    def bearer(self) -> tuple[str | None, str]:
        """The API key, or None and the condition that says why there is none (§5)."""
        return bearer_key(self.by_name.get(b"authorization", ()))

    @cached_property
    def is_json(self) -> bool:
        """Whether Content-Type declares JSON; parameters and case do not count (RFC 9110 §8.3.1)."""
        types = self.by_name.get(b"content-type", ())
        if len(types) != 1:
            return False
        media_type, _, _ = types[0].decode("latin-1").partition(";")
        return media_type.strip().lower() == "application/json"

    @cached_property
    def coding(self) -> str:
        """The content coding of the body (RFC 9110 §8.4); empty if it has none."""
        named = b", ".join(self.by_name.get(b"content-encoding", ())).decode("latin-1").strip()
        return "" if named.lower() == "identity" else named

    @cached_property
    def credentials(self) -> tuple[str, ...]:
        """The last word of each Authorization field, usually a key; texts such as ``None`` are left out."""
        values = [value.decode("latin-1") for value in self.by_name.get(b"authorization", ())]
        last = [parts[-1] for parts in map(str.split, values) if parts]
        return tuple(word for word in last if word.lower() not in NO_KEYS)


class Headers(dict[str, str]):
    """Header fields by lower-case name. Look one up by its name in any case (RFC 9110 §5.1)."""

    __slots__ = ()

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]]) -> Headers:
        """Return header fields by name. A comma joins repeated ones (RFC 9110 §5.2)."""
        values = grouped((name.lower(), value) for name, value in fields)
        return cls({name: ", ".join(texts) for name, texts in values.items()})

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name: str, default: Any = None, /) -> Any:  # noqa: ANN401  # callers see a dict, with its types
        return super().get(name.lower(), default)


NO_FIELDS: Final = Fields()


@readable()
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ApiRequest:
    """A request. It never changes.

    The ``when=`` functions of :meth:`PetStoreMock.inject` receive only complete ones.
    """

    method: str  #: the method token as sent
    target: str  #: the target as sent but without ``mount``, percent-encoded: ``/v1/pets?limit=2``
    fields: Fields = NO_FIELDS  #: the header fields as bytes, in the order and case sent; WSGI keeps neither
    body: bytes = b""  #: the body, without its transfer coding
    connection: int = 0  #: the number of the connection, from 1; 0 without a socket
    exchange: int = 0  #: the number of the request on that connection, from 1
    started: float = 0.0  #: ``perf_counter()`` when the first byte arrived
    version: str = "HTTP/1.1"  #: the version of HTTP
    #: the encoded path at which the application is mounted, such as ``/api`` of ``/api/v1/pets``
    root_path: str = ""
    mount: str = ""  #: the prefix of a named world's address, as sent, such as ``/w/NAME``; empty for other worlds
    oversized: bool = False  #: whether the body is too long for this request; ``body`` may then be incomplete

    def __init__(  # noqa: PLR0917  # in the order of the fields
        self,
        method: str,
        target: str,
        fields: Fields = NO_FIELDS,
        body: bytes = b"",
        connection: int = 0,
        exchange: int = 0,
        started: float = 0.0,
        version: str = "HTTP/1.1",
        root_path: str = "",
        mount: str = "",
        *,
        oversized: bool = False,
    ) -> None:
        # The usual __init__ of a frozen dataclass takes twice as long.
        self.__dict__.update(
            method=method,
            target=target,
            fields=fields,
            body=body,
            connection=connection,
            exchange=exchange,
            started=started,
            version=version,
            root_path=root_path,
            mount=mount,
            oversized=oversized,
        )

    def __repr__(self) -> str:
        keys = self.credentials
        return f"<ApiRequest {mask_text(self.method, keys)} {mask_target(self.target, keys)} {len(self.body)} bytes>"

    @property
    def operation(self) -> str | None:
        """The name of the operation that has this method and path, or None."""
        return operation_of(self.method, self.target)

    @property
    def base_path(self) -> str:
        """The path before the target in the URL that the client requests. Addresses in responses begin with it."""
        return self.root_path + self.mount

    @property
    def path(self) -> str:
        """The path, percent-decoded."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> dict[str, str]:
        """The query parameters, decoded; a repeated parameter has its last value."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def credentials(self) -> list[str]:
        """The keys in the Authorization fields, valid or not. Never show them."""
        return list(self.fields.credentials)

    @property
    def headers(self) -> dict[str, str]:
        """The header fields by name, in any case; a comma joins repeated ones."""
        return Headers.of(self.fields.as_text())

    def values(self, name: str) -> list[str]:
        """Return every value of the header ``name``, in the order sent."""
        values = self.fields.by_name.get(name.lower().encode("latin-1", "replace"), ())
        return [value.decode("latin-1") for value in values]

    def header(self, name: str, default: str | None = None) -> str | None:
        """Return the value of the header ``name``, or ``default``; a comma joins repeated values."""
        values = self.values(name)
        return ", ".join(values) if values else default

    def json(self) -> Json:
        """Return the body, decoded with ``json.loads``, which is less strict than the fake.

        Raises:
            ValueError: the body is not JSON, or its values are nested too deep.
        """
        try:
            return loads(self.body)
        except RecursionError as error:
            raise ValueError("the values of the body are nested too deep") from error


def query_of(target: str) -> dict[str, list[str]]:
    """Return the values of each parameter in the query of a target, decoded."""
    return parse_qs(target.partition("?")[2], keep_blank_values=True)


def changed(request: ApiRequest, **fields: object) -> ApiRequest:
    """Return a request with other values of some fields, in a third of the time of ``replace``."""
    copy = ApiRequest.__new__(ApiRequest)
    vars(copy).update(vars(request), **fields)
    return copy
