"""Criteria that a request must meet: for the journal's assertions and waits, and for faults."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, mask_field, mask_parameter
from petstore_mock.common.refusing import did_you_mean, one_of, refuse
from petstore_mock.faults.kinds import REQUEST_KINDS
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.schemas import properties
from petstore_mock.interface.strict_json import copy_json
from petstore_mock.interface.table import OPERATIONS, require_operation
from petstore_mock.interface.violations import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.faults.fault import Fault
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

_SHOWN: Final = 120  # characters of a value in a message


class _NotSent:
    def __repr__(self) -> str:
        return "not sent"


_NOT_SENT: Final = _NotSent()


class Criteria:
    """Criteria that a request must meet, by name."""

    def __init__(
        self, asked: Mapping[str, Any], operation: str | None = None, *, before_response: bool = False
    ) -> None:
        self.operation = None if operation is None else require_operation(operation).name
        self.asked = dict(asked)
        self._general = [name for name in GENERAL if not (before_response and name in _OF_RESPONSE)]
        self._wanted = {name: self._taken(name, value) for name, value in asked.items()}

    def _taken(self, name: str, value: Any) -> Any:  # noqa: ANN401  # each criterion checks its own value
        if name in GENERAL and not _is_argument(name, value):
            if name not in self._general:
                refuse(f"expected criteria of the request, because no response exists yet; got {name}={value!r}")
            return _general_value(name, value)
        arguments = arguments_of(self.operation)
        if name not in arguments:
            names = [*arguments, *(one for one in self._general if one not in arguments)]
            whose, hint = self.operation or "a request", did_you_mean(name, [*names, "times"])
            refuse(f"expected criteria of {whose}: {', '.join(names)}; got {name}={_show(name, value)}{hint}")
        return _NOT_SENT if value is None else value

    def claim_of(self, times: str) -> str:
        """Return what an assertion expects, keys masked: ``expected getPet 2 times with petId=1``."""
        words = ", ".join(f"{name}={_show(name, value)}" for name, value in self.asked.items())
        return f"expected {self.operation or 'a request'} {times}{f' with {words}' if words else ''}"

    def shown(self) -> dict[str, Any]:
        """Return the criteria by name; keys in header fields and parameters are masked."""
        return {name: _masked(name, value) for name, value in self.asked.items()}

    def differences(self, exchange: Exchange) -> list[str]:
        """Return why ``exchange`` does not meet the criteria, keys masked; empty if it does."""
        return [exchange.masked(words) for words in self._differences(exchange)]

    def matches(self, exchange: Exchange) -> bool:
        return next(self._differences(exchange), None) is None

    def _differences(self, exchange: Exchange) -> Iterator[str]:
        if self.operation not in {None, exchange.operation}:
            yield f"operation was {exchange.operation or 'none'}, expected {self.operation}"
        for name, wanted in self._wanted.items():
            try:
                is_argument = wanted is _NOT_SENT or name not in GENERAL or _is_argument(name, wanted)
                received = _argument(exchange, name, wanted) if is_argument else GENERAL[name](exchange, wanted)
            except ValueError as problem:
                yield f"{name}: {problem}"
                continue
            if _canonical(received) != _canonical(wanted):
                yield f"{name} was {_show(name, received)}, expected {_show(name, wanted)}"


# Arguments of operations


def _is_argument(name: str, value: object) -> bool:
    """Return whether a ``status`` is an argument (text or None). An integer is the HTTP status."""
    return name == "status" and (value is None or isinstance(value, str))


def _places(operation: Operation) -> dict[str, str]:
    """Return where each argument of an operation is sent: ``body``, ``path`` or ``query``."""
    places: dict[str, str] = {parameter.name: parameter.where for parameter in operation.parameters}
    return places | dict.fromkeys(properties(operation.body) if operation.body else (), "body")


def arguments_of(operation: str | None) -> list[str]:
    """Return the names of the arguments of an operation, or of all operations."""
    operations = OPERATIONS.values() if operation is None else [OPERATIONS[operation]]
    return [*dict.fromkeys(name for one in operations for name in _places(one))]


def _argument(exchange: Exchange, name: str, wanted: object) -> Any:  # noqa: ANN401
    operation = OPERATIONS.get(exchange.operation or "")
    place = None if operation is None else _places(operation).get(name)
    if operation is None or place is None:
        raise ValueError(f"{'the request' if operation is None else operation.name} has no such argument")
    if place == "body":
        value = _json(exchange)
        if not is_object(value):
            raise ValueError(f"the body was {describe(value)}")
        return value.get(name, _NOT_SENT)
    text = _text(exchange, operation, place, name)
    is_same = text == (wanted if isinstance(wanted, str) else dumps(wanted, default=str))
    return wanted if is_same else text


def _text(exchange: Exchange, operation: Operation, place: str, name: str) -> Any:  # noqa: ANN401
    """Return the text of a parameter, or that it was not sent."""
    if place == "query":
        return _query(exchange).get(name, _NOT_SENT)
    if place == "path":
        return operation.path_values(exchange.target).get(name, _NOT_SENT)
    values = exchange.request.values(name)
    return ", ".join(values) if values else _NOT_SENT


# General criteria


def _body(exchange: Exchange, _: object = None) -> bytes:
    if exchange.cut_request:
        raise ValueError(f"the journal keeps only {len(exchange.body)} of {exchange.body_size} bytes of the body")
    return exchange.body


def _json(exchange: Exchange, _: object = None) -> Any:  # noqa: ANN401
    body = _body(exchange)
    try:
        return exchange.json()
    except ValueError:
        raise ValueError("the body was not JSON" if body else "the body was empty") from None


def _query(exchange: Exchange, _: object = None) -> dict[str, Any]:
    return _parameters(parse_qs(exchange.target.partition("?")[2], keep_blank_values=True))


def _parameters(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the text of each parameter, or a list for a repeated one."""
    lists = {name: found if is_array(found) else [found] for name, found in query.items()}
    texts = {name: [one if isinstance(one, str) else str(one) for one in found] for name, found in lists.items()}
    return {name: found[0] if len(found) == 1 else found for name, found in texts.items()}


def _headers(exchange: Exchange, wanted: Mapping[str, str]) -> dict[str, Any]:
    received: dict[str, Any] = {}
    for name, text in wanted.items():
        values = exchange.request.values(name)
        received[name] = text if text in values else ", ".join(values) if values else _NOT_SENT
    return received


def _fault(exchange: Exchange, wanted: str | None) -> Fault | str | None:
    met = {one.kind for one in (exchange.fault, exchange.delayed_by) if one is not None}
    return wanted if wanted in met else exchange.fault


# Each function returns the value to compare; its ValueError says why the request has none.
GENERAL: Final[Mapping[str, Callable[[Exchange, Any], Any]]] = {
    "status": lambda exchange, _: exchange.status,
    "json": _json,
    "body": _body,
    "query": _query,
    "headers": _headers,
    "method": lambda exchange, _: exchange.method,
    "path": lambda exchange, _: exchange.path,
    "fault": _fault,
    "condition": lambda exchange, _: exchange.condition and exchange.condition.name,
}
_OF_RESPONSE: Final = frozenset({"status", "fault", "condition"})
# No request can match a criterion of another type, so an assertion with times=0 would always pass.
# The last member is the JSON type that the door checks, or None: the door's error would show a key in the value.
TYPES: Final[Mapping[str, tuple[str, tuple[type, ...], object]]] = {
    "status": ("an integer (the HTTP status) or as text (the argument)", (int,), ["integer", "string", "null"]),
    "body": ("bytes or text", (bytes, str), "string"),
    "query": ("a mapping", (Mapping,), None),
    "headers": ("a mapping of text to text", (Mapping,), None),
    "method": ("text", (str,), "string"),
    "path": ("text", (str,), "string"),
}


def _general_value(name: str, value: Any) -> Any:  # noqa: ANN401
    """Return the value of a criterion in the form that ``differences`` compares."""
    words, types, _ = TYPES.get(name, ("", (object,), None))
    given: object = value  # a type checker would narrow the type of ``value`` itself
    fits = isinstance(given, types) and not (words and isinstance(given, bool))
    if not fits or (name == "headers" and not all(isinstance(text, str) for pair in value.items() for text in pair)):
        refuse(f"expected {name} as {words}; got {_show(name, value)}")
    if name == "query":
        return _parameters({name: one for name, one in value.items() if one is not None})
    if name == "json":
        return copy_json(value, "for a body that is not JSON, use the criterion body")
    if name == "body" and isinstance(value, str):
        return value.encode()
    known = {"fault": REQUEST_KINDS, "condition": CONDITIONS}.get(name)
    return value if known is None or value is None else one_of(value, known, name)


# Values


def _masked(name: str, value: Any) -> Any:  # noqa: ANN401
    """Mask the keys in header fields and parameters."""
    mask = {"headers": mask_field, "query": mask_parameter}.get(name)
    if mask is None or value is None:
        return value
    if not is_object(value):
        return "***"  # it may be a key
    return {one: _masked_part(name, str(one), part, mask) for one, part in value.items()}


def _masked_part(criterion: str, name: str, value: object, mask: Callable[[str, str], str]) -> object:
    if isinstance(value, str):
        return mask(name, value)
    # The criteria refuse bytes and lists in a field. The error must not show them, because they may be a key.
    is_open = criterion == "query" and mask(name, "text") == "text"
    return value if is_open else "***"


def _show(name: str, value: object) -> str:
    return "none" if value is None else cut(repr(_masked(name, value)), _SHOWN)


def _canonical(value: object) -> str:
    """Return a value as JSON text, in which ``1``, ``1.0`` and ``true`` differ."""
    return dumps(value, sort_keys=True, default=repr)
