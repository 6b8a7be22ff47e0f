"""Criteria of requests: for the journal's assertions and waits, and for faults. Each says why a request differs."""

from __future__ import annotations

from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, mask_field, mask_parameter
from petstore_mock.common.refusing import did_you_mean, one_of, refuse, require
from petstore_mock.common.values import is_integer
from petstore_mock.faults.fault import Fault
from petstore_mock.faults.fault import coerce as fault_of
from petstore_mock.faults.kinds import REQUEST_KINDS
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.schemas import properties
from petstore_mock.interface.table import OPERATIONS, require_operation
from petstore_mock.interface.violations import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

    # Returns the value of a request, to be compared; raises ValueError with the reason why it has none.
    Read = Callable[[Exchange, Any], Any]

_SHOWN: Final = 120  # characters of a value in a message


class _NotSent:
    def __repr__(self) -> str:
        return "not sent"


_NOT_SENT: Final = _NotSent()


class _Parameter(str):
    """The text of a parameter, which an integer equals that is written so."""

    __slots__ = ()


class Criteria:
    """Criteria that a request must meet, by name."""

    def __init__(
        self, asked: Mapping[str, Any], operation: str | None = None, *, before_response: bool = False
    ) -> None:
        self.operation = None if operation is None else require_operation(operation).name
        self.asked = dict(asked)
        self._before_response = before_response
        self._checks = [(name, *self._check(name, value)) for name, value in asked.items()]

    def claim_of(self, times: str) -> str:
        """Return the claim of an assertion in words: ``expected getPet twice with petId=1``; keys are masked."""
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
            yield f"it is {exchange.operation or 'no operation'}"
        for name, wanted, read in self._checks:
            try:
                came = read(exchange, wanted)
            except ValueError as problem:
                yield f"{name}: {problem}"
                continue
            expected = str(wanted) if isinstance(came, _Parameter) and is_integer(wanted) else wanted
            if not _same(came, expected):
                yield f"{name} was {_show(name, came)}, expected {_show(name, expected)}"

    def _check(self, name: str, value: Any) -> tuple[Any, Read]:  # noqa: ANN401  # each criterion checks its own value
        general = [other for other, row in GENERAL.items() if not (self._before_response and row.of_response)]
        is_argument = name == "status" and (value is None or isinstance(value, str))
        if name in GENERAL and not is_argument:
            if name not in general:
                refuse(f"expected criteria of the request, which has no response yet; got {name}={value!r}")
            return GENERAL[name].take(value), GENERAL[name].read
        operations = OPERATIONS.values() if self.operation is None else [OPERATIONS[self.operation]]
        arguments = list(dict.fromkeys(one for operation in operations for one in _places(operation)))
        if name not in arguments:
            names = [*dict.fromkeys([*arguments, *general])]
            whose, hint = self.operation or "a request", did_you_mean(name, [*names, "times"])
            refuse(f"expected criteria of {whose}: {', '.join(names)}; got {name}={_show(name, value)}{hint}")
        return _NOT_SENT if value is None else value, partial(_argument, name)


# Reading requests


def _places(operation: Operation) -> dict[str, str]:
    """Return where each argument of an operation is sent: ``body``, ``path`` or ``query``."""
    places: dict[str, str] = {parameter.name: parameter.where for parameter in operation.parameters}
    return places | dict.fromkeys(properties(operation.body) if operation.body else (), "body")


def _argument(name: str, exchange: Exchange, _: object) -> Any:  # noqa: ANN401
    operation = OPERATIONS.get(exchange.operation or "")
    place = None if operation is None else _places(operation).get(name)
    if operation is None or place is None:
        raise ValueError(f"{'it' if operation is None else operation.name} has no such argument")
    if place == "body":
        value = _json(exchange)
        if not is_object(value):
            raise ValueError(f"the body was {describe(value)}")
        return value.get(name, _NOT_SENT)
    if place == "query":
        text = _query(exchange).get(name, _NOT_SENT)
        return _Parameter(text) if isinstance(text, str) else text
    parts = operation.path.split("/")
    return _Parameter(unquote(exchange.target.partition("?")[0].split("/")[parts.index(f"{{{name}}}") - len(parts)]))


def _json(exchange: Exchange, _: object = None) -> Any:  # noqa: ANN401
    try:
        return exchange.json()
    except ValueError:
        _body(exchange)
        raise ValueError("the body was not JSON" if exchange.body else "the body was empty") from None


def _body(exchange: Exchange, _: object = None) -> bytes:
    if exchange.cut_request:
        raise ValueError(f"the journal keeps {len(exchange.body)} of the {exchange.body_size} bytes of the body")
    return exchange.body


def _query(exchange: Exchange, _: object = None) -> dict[str, Any]:
    return _parameters(parse_qs(exchange.target.partition("?")[2], keep_blank_values=True))


def _parameters(query: Mapping[str, Iterable[object]]) -> dict[str, Any]:
    """Return the text of each parameter; of a repeated one the list."""
    texts = {str(name): [one if isinstance(one, str) else str(one) for one in query[name]] for name in query}
    return {name: found[0] if len(found) == 1 else found for name, found in texts.items()}


def _headers(exchange: Exchange, wanted: Mapping[str, str]) -> dict[str, Any]:
    came: dict[str, Any] = {}
    for name, text in wanted.items():
        values = exchange.request.values(name)
        came[name] = text if text in values else ", ".join(values) if values else _NOT_SENT
    return came


def _fault(exchange: Exchange, wanted: Fault | str | None) -> Fault | str | None:
    met = [one for one in (exchange.fault, exchange.delayed_by) if one is not None]
    return wanted if wanted in [form for one in met for form in (one, one.kind)] else exchange.fault


def _attribute(name: str) -> Read:
    return lambda exchange, _: getattr(exchange, name)


def _condition(exchange: Exchange, _: object) -> str | None:
    return None if exchange.condition is None else exchange.condition.name


# What a test may pass


def _take_status(value: Any) -> int:  # noqa: ANN401  # checks whatever a test passes
    require(is_integer(value), "status as an integer (the HTTP status) or as text (the argument)", status=value)
    return int(value)


def _take_query(value: Any) -> dict[str, Any]:  # noqa: ANN401
    require(is_object(value), "query as a mapping", query=value)
    return _parameters({name: one if is_array(one) else [one] for name, one in value.items() if one is not None})


def _take_json(value: object) -> object:
    try:
        dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"expected json to be a JSON value; {error}")
    return value


def _take_body(value: object) -> bytes:
    if not isinstance(value, (str, bytes)):
        refuse(f"expected body as bytes or text; got body={value!r}")
    return value.encode() if isinstance(value, str) else value


def _take_headers(value: Any) -> Mapping[str, str]:  # noqa: ANN401
    if not is_object(value) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        refuse("expected headers as a mapping of text to text; got another value")  # which may be a key
    return value


def _take_fault(value: Any) -> Fault | str | None:  # noqa: ANN401
    if value is None or isinstance(value, Fault):
        return value
    return fault_of(value) if is_object(value) else one_of(value, REQUEST_KINDS, "kind of fault")


def _take_condition(value: Any) -> str | None:  # noqa: ANN401
    return None if value is None else one_of(value, CONDITIONS, "condition")


def _take(value: object) -> object:
    return value


class _General(NamedTuple):
    """A criterion that every request has."""

    take: Callable[[Any], Any]  # checks what a test passes, and returns it as it is compared
    read: Read
    of_response: bool = False


GENERAL: Final[Mapping[str, _General]] = {
    "status": _General(_take_status, _attribute("status"), of_response=True),
    "json": _General(_take_json, _json),
    "body": _General(_take_body, _body),
    "query": _General(_take_query, _query),
    "headers": _General(_take_headers, _headers),
    "method": _General(_take, _attribute("method")),
    "path": _General(_take, _attribute("path")),
    "fault": _General(_take_fault, _fault, of_response=True),
    "condition": _General(_take_condition, _condition, of_response=True),
}


# Values


def _masked(name: str, value: Any) -> Any:  # noqa: ANN401
    """Mask the keys in header fields and parameters."""
    mask = {"headers": mask_field, "query": mask_parameter}.get(name)
    if mask is None or not is_object(value):
        return value
    return {one: mask(str(one), text) if isinstance(text, str) else text for one, text in value.items()}


def _show(name: str, value: object) -> str:
    return "none" if value is None else cut(repr(_masked(name, value)), _SHOWN)


def _same(first: Any, second: Any) -> bool:  # noqa: ANN401  # two JSON values
    """Compare as JSON does: ``1``, ``1.0`` and ``true`` are three values; a member of an enumeration is its value."""
    if is_object(first) and is_object(second):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if is_array(first) and is_array(second):
        return len(first) == len(second) and all(map(_same, first, second))
    return _kind(first) is _kind(second) and bool(first == second)


def _kind(value: object) -> type:
    return next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), type(value))
