"""A fault as a value, and its forms: the call that makes it, a line of text, JSON, and the door's schema."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from functools import partial, wraps
from http import HTTPStatus
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, ParamSpec

from petstore_mock.common.dates import http_date, moment_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import one_of, refuse, require_names, shown
from petstore_mock.common.suggesting import nearest, refuse_arguments
from petstore_mock.common.values import is_integer
from petstore_mock.faults.kinds import ARGUMENTS, KINDS, REQUEST_KINDS, Argument, Headers, Kind
from petstore_mock.http.handler import Delivery
from petstore_mock.http.response import BODILESS_STATUSES
from petstore_mock.interface.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.http.response import Response

P = ParamSpec("P")

_POSITIONAL: Final = frozenset({"status", "seconds", "fraction", "bytes_per_second", "coding", "phrase", "n"})


@dataclass(frozen=True, slots=True, repr=False)
class Fault:
    """One misbehaviour of the service, immutable and compared by value. Functions of ``petstore_mock.faults`` make it.

    Attributes:
        kind: the name of the function that makes the fault, such as ``reset`` or ``tls.expired``.
        arguments: the arguments of that function, without those that keep their default of None.
    """

    kind: str
    arguments: Mapping[str, Any]

    # Values may be unhashable.
    def __hash__(self) -> int:
        return hash((self.kind, *self.arguments))

    def __repr__(self) -> str:
        return f"faults.{self._call(self._texts(), repr)}"

    def _repr_pretty_(self, printer: Any, _: object) -> None:  # noqa: ANN401  # of Hypothesis
        printer.text(repr(self))

    def _texts(self) -> dict[str, str]:
        return {name: repr(value) for name, value in self.arguments.items()}

    def __str__(self) -> str:
        """Return the call on one line, without bodies and header values, because they may contain a key."""
        texts = self._texts()
        body = self.body
        if body is not None:
            name = "json" if "json" in texts else "body"
            texts[name] = f"<{len(body)} bytes>"
        if "headers" in texts:
            texts["headers"] = f"<{', '.join(self.arguments['headers'])}>"
        return self._call(texts, str)

    def _call(self, texts: dict[str, str], write: Callable[[object], str]) -> str:
        if self.kind == "sequence":
            return f"sequence({', '.join(map(write, self.parts))})"
        for name in texts.keys() - _POSITIONAL:
            texts[name] = f"{name}={texts[name]}"
        return f"{self.kind}({', '.join(texts.values())})"

    @property
    def row(self) -> Kind:
        """The row of its kind. For a sequence, use the rows of its parts."""
        return KINDS[self.kind]

    @property
    def parts(self) -> tuple[Fault, ...]:
        """The faults of a sequence; for any other fault, the fault itself."""
        parts: tuple[Fault, ...] = self.arguments["faults"] if self.kind == "sequence" else (self,)
        return parts

    @property
    def status(self) -> int | None:
        """The status of the fault's own response; None if the fault makes no response."""
        return self.arguments.get("status", self.row.status) or None

    @property
    def body(self) -> bytes | None:
        """The body of the fault's own response; None for the interface's Error (§2, §7)."""
        if "json" in self.arguments:
            return encode_json(self.arguments["json"])
        body = self.arguments.get("body")
        if isinstance(body, str):
            return body.encode("utf-8", "surrogatepass")
        return body

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """Header fields that the response has further, or instead of the usual ones."""
        after = self.arguments.get("retry_after")
        if isinstance(after, str):
            after = http_date(moment_of(after))
        if after is not None:
            return (("Retry-After", str(after)),)
        headers: Headers = self.arguments.get("headers", {})
        fields = [*self._media_type(headers)]
        for name, value in headers.items():
            texts = [value] if isinstance(value, str) else value
            fields += [(name, text) for text in texts]
        return tuple(fields)

    def _media_type(self, headers: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield the media type of the fault's own body, unless ``headers`` have one."""
        body = self.body
        if not body or "content-type" in map(str.lower, headers):
            return
        media_type = "text/plain; charset=utf-8"
        if "json" in self.arguments:
            media_type = "application/json"
        elif body.lstrip().startswith(b"<"):
            media_type = "text/html; charset=utf-8"
        yield "Content-Type", media_type

    @property
    def delay(self) -> tuple[float, float] | None:
        """The lower and upper bound of the delay in seconds, or None."""
        seconds = self.arguments.get("seconds", self.arguments.get("delay"))
        if seconds is None:
            return None
        low, high = seconds if is_array(seconds) else (seconds, seconds)
        return low, high

    @property
    def delivery(self) -> Delivery | None:
        """The way to send the response over the connection; None sends it whole and at once."""
        if not self.row.needs_socket:
            return None
        return Delivery(self.kind, tuple(self.arguments.values()), self.row.changes)

    @property
    def breaks_contract(self) -> bool:
        """Whether the fault prevents a response that the interface allows."""
        if self.kind == "sequence":
            return any(part.breaks_contract for part in self.parts)
        if self.row.responds:  # by the meaning of §7, no success has an Error as its body
            return self.body is not None or (self.status or 0) < 400
        return not self.row.is_whole

    @property
    def damages_body(self) -> bool:
        """Whether it only damages the operation's own response, so that a response without a body shows nothing."""
        if self.row.loses_response or self.kind == "sequence":
            return False
        return not self.row.is_whole

    @property
    def takes_time(self) -> bool:
        """Whether the fault takes real time, such as the time until the client gives up."""
        for part in self.parts:
            row = part.row
            if row.is_slow or row.waits or part.delay is not None:
                return True
        return False

    @property
    def tells_to_wait(self) -> bool:
        """Whether a ``Retry-After`` tells the client to wait."""
        for part in self.parts:
            for name, value in part.fields:
                if name.lower() == "retry-after" and value.strip() != "0":
                    return True
        return False

    def changed(self, response: Response) -> Response:
        """Return the operation's response with the changes of the fault that need no socket."""
        row = self.row
        if row.changes is None or row.needs_socket:
            return response
        return row.changes(response, *self.arguments.values())

    def to_data(self) -> Json:
        """Return the shortest JSON value that :func:`coerce` reads: only the status, if that is enough."""
        status = self.status if self.row.responds else None
        if status is not None and self == _of_status(status):
            return status
        data: JsonObject = {"kind": self.kind, **self.arguments}
        if isinstance(data.get("body"), bytes):
            try:
                data["body"] = data["body"].decode()
            except UnicodeDecodeError:
                data["body_base64"] = b64encode(data.pop("body")).decode()
        if self.kind == "sequence":
            data["faults"] = [part.to_data() for part in self.parts]
        for name, value in data.items():
            if is_array(value):
                data[name] = list(value)
        return data


def kind(sentence: str, **facts: Any) -> Callable[[Callable[P, Fault]], Callable[P, Fault]]:
    """Return a decorator for an empty function: the decorated function checks its arguments and returns a fault."""

    def register(function: Callable[P, Fault]) -> Callable[P, Fault]:
        name = function.__name__
        form = signature(function)
        known = {**_KNOWN, **facts.pop("arguments", {})}
        arguments: dict[str, Argument] = {}
        defaults: dict[str, object] = {}
        for argument, parameter in form.parameters.items():
            arguments[argument] = known[argument]
            if parameter.default is not parameter.empty:
                defaults[argument] = parameter.default
        if facts.get("meets_handshakes"):
            name = f"tls.{name}"
        elif name != "sequence":
            REQUEST_KINDS.append(name)
        KINDS[name] = Kind(sentence=sentence, arguments=arguments, defaults=defaults, **facts)

        @wraps(function)
        def made(*args: P.args, **kwargs: P.kwargs) -> Fault:
            try:
                values = form.bind(*args, **kwargs).arguments
            except TypeError as error:
                refuse_arguments(function, kwargs, TypeError(f"faults.{name}() {error}"), f"faults.{name}")
            return _make(name, values)

        return made

    return register


responds: Final = partial(kind, responds=True, loses_response=True)
loses: Final = partial(kind, loses_response=True)
breaks_handshake: Final = partial(loses, meets_handshakes=True)
keeps: Final = partial(kind, readable=True, is_whole=True)
slows: Final = partial(keeps, is_slow=True)


def _make(kind: str, values: Mapping[str, object]) -> Fault:
    row = KINDS[kind]
    arguments: JsonObject = {}
    given = {**row.defaults, **values}
    for name, argument in row.arguments.items():
        if name not in given:
            refuse(f"expected the argument {name} of a fault of kind {kind}; got {', '.join(values) or 'no argument'}")
        may_be_left_out = row.defaults.get(name, ...) is None
        if given[name] is not None or not may_be_left_out:
            arguments[name] = argument.parse(name, given[name])
    if {"json", "body"} <= arguments.keys():
        refuse("expected json or body; got both")
    has_body = "json" in arguments or arguments.get("body")
    if has_body and arguments.get("status") in BODILESS_STATUSES:
        refuse(f"expected no body with status {arguments['status']}, which has none (RFC 9110 §6.4.1, §15.3.6)")
    return Fault(kind, arguments)


def _parts(name: str, value: object) -> tuple[Fault, ...]:
    if not is_array(value) or not value:
        refuse(f"expected one or more faults; got {name}={shown(value)}")
    parts = tuple(map(coerce, value))
    for part in parts:
        if part.kind == "sequence":
            refuse(f"expected faults that are not sequences; got {part}: pass its faults one by one")
    if len({part.row.meets_handshakes for part in parts}) > 1:
        refuse(f"expected only faults of requests, or only faults of TLS handshakes; got {', '.join(map(str, parts))}")
    return parts


_PARTS: Final = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Fault"}}
_KNOWN: Final = {**ARGUMENTS, "faults": Argument(_PARTS, _parts)}


def _of_status(status: int) -> Fault:
    for kind, row in KINDS.items():
        if status and row.status == status:
            return _make(kind, {})
    kind = "server_error" if 500 <= status <= 599 else "respond"
    return _make(kind, {"status": status})


def coerce(fault: object) -> Fault:
    """Return ``fault`` as a fault; it may be a status or the JSON form (``{"kind": "delay", "seconds": 0.2}``).

    Raises:
        PetStoreMockError: ``fault`` is none of these; the message suggests the nearest name.
    """
    if isinstance(fault, Fault):
        return fault
    if is_integer(fault):
        return _of_status(fault)
    if not is_object(fault):
        refuse(f"expected an HTTP status or a fault; got fault={shown(fault)}{_hint_of(fault)}")
    members: JsonObject = {str(name): value for name, value in fault.items()}
    if "kind" not in members:
        refuse(f"expected the member kind of a fault; got {', '.join(members) or 'no member'}{_kind_for(members)}")
    kind = one_of(members.pop("kind"), KINDS, "kind of fault")
    known = schema_of(kind)["properties"]
    del known["kind"]
    require_names(members, known, f"the members of a fault of kind {kind}")
    return _make(kind, _with_body(members))


def _with_body(members: JsonObject) -> JsonObject:
    """Return the members of a JSON form with the bytes of ``body_base64`` as the body."""
    if "body_base64" not in members:
        return members
    if "body" in members:
        refuse("expected body or body_base64; got both")
    try:
        members["body"] = b64decode(members.pop("body_base64"), validate=True)
    except (TypeError, ValueError):
        refuse("expected base64 text as body_base64 (RFC 4648 §4); got another value")
    return members


def _kind_for(members: Mapping[str, object]) -> str:
    """Return a hint to the kind of fault that takes these members."""
    for kind, row in KINDS.items():
        if members and members.keys() <= row.arguments.keys():
            return f" (did you mean 'kind': {kind!r}?)"
    return ""


def _hint_of(value: object) -> str:
    """Return a hint to the fault that a value may mean: a text, a class or an object of an exception, a list."""
    # A function that was not called, or a class, has a name.
    name = value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)
    call = call_like(str(name))
    if call is None:
        return ""
    return f" (did you mean faults.{call}?)"


def call_like(name: str) -> str | None:
    """Return the call of the fault that a name may mean, such as ``server_error(503)`` for ``service_unavailable``."""
    calls = {kind: f"{kind}()" for kind in KINDS}
    for status in HTTPStatus:
        if status >= 400:
            call = str(_of_status(status.value))
            calls.setdefault(status.name.lower(), call)
            calls[str(status.value)] = call
    meant = nearest(name, calls)
    if meant is None:
        return None
    return calls[meant]


def schema_of(kind: str) -> JsonObject:
    """Return the JSON Schema of a kind's JSON form, for the door."""
    row = KINDS[kind]
    members = {name: argument.schema for name, argument in row.arguments.items()}
    if "body" in members:  # for a body of bytes that are not text
        members["body_base64"] = {"type": "string", "contentEncoding": "base64"}
    return {
        "type": "object",
        "description": row.sentence,
        "properties": {"kind": {"const": kind}, **members},
        "required": ["kind", *(name for name in row.arguments if name not in row.defaults)],
        "additionalProperties": False,
    }
