"""Criteria of requests: for the journal's assertions and waits, and for faults. Each says why a request differs."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final
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
    from collections.abc import Callable, Mapping

    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

    Check = Callable[[Exchange], str]  # returns the difference in words; empty for none

_SHOWN: Final = 120  # characters of a value in a message


class _NotSent:
    """Stands for an argument that was not sent."""

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
        self._checks = [self._check(name, value) for name, value in asked.items()]

    def claim_of(self, times: str) -> str:
        """Return the claim of an assertion in words: ``expected getPet twice with petId=1``; keys are masked."""
        words = ", ".join(f"{name}={_show(value)}" for name, value in self.shown().items())
        return f"expected {self.operation or 'a request'} {times}{f' with {words}' if words else ''}"

    def shown(self) -> dict[str, Any]:
        """Return the criteria by name; keys in header fields and parameters are masked."""
        return {
            name: {one: _MASKS[name](one, text) for one, text in value.items()} if name in _MASKS else value
            for name, value in self.asked.items()
        }

    def differences(self, exchange: Exchange) -> list[str]:
        """Return why ``exchange`` does not meet the criteria, keys masked; empty if it does."""
        found = [exchange.masked(difference) for check in self._checks if (difference := check(exchange))]
        is_other = self.operation not in {None, exchange.operation}
        return [f"it is {exchange.operation or 'no operation'}", *found] if is_other else found

    def miss(self, exchange: Exchange) -> str:
        """Return the same as one text."""
        return "; ".join(self.differences(exchange))

    def matches(self, exchange: Exchange) -> bool:
        return self.operation in {None, exchange.operation} and not any(check(exchange) for check in self._checks)

    def _check(self, name: str, value: Any) -> Check:  # noqa: ANN401  # each criterion checks its own value
        is_argument = name == "status" and (value is None or isinstance(value, str))
        if name in GENERAL and not is_argument:
            if name not in self._general:
                refuse(f"expected criteria of the request, which has no response yet; got {name}={_show(value)}")
            checked, differs = GENERAL[name]
            return partial(differs, checked(value))
        asked = OPERATIONS.values() if self.operation is None else [OPERATIONS[self.operation]]
        known = list(dict.fromkeys(argument for operation in asked for argument in _places(operation)))
        if name not in known:
            names = [*dict.fromkeys([*known, *self._general])]
            hint = did_you_mean(name, [*names, "times"])
            whose = self.operation or "a request"
            refuse(f"expected criteria of {whose}: {', '.join(names)}; got {name}={_show(value)}{hint}")
        return partial(_argument, name, value)


def _places(operation: Operation) -> dict[str, str]:
    """Return where each argument of an operation is sent: ``body``, ``path`` or ``query``."""
    places: dict[str, str] = {parameter.name: parameter.where for parameter in operation.parameters}
    return places | dict.fromkeys(properties(operation.body) if operation.body else (), "body")


def _argument(name: str, wanted: object, exchange: Exchange) -> str:
    operation = OPERATIONS.get(exchange.operation or "")
    place = None if operation is None else _places(operation).get(name)
    if operation is None or place is None:
        return f"{'it' if operation is None else operation.name} has no argument {name}"
    if place == "body":
        return _member(name, wanted, exchange)
    if place == "query":
        came = _texts(_parameters(exchange).get(name))
    else:
        at = operation.path.split("/").index(f"{{{name}}}") - len(operation.path.split("/"))
        came = unquote(exchange.target.partition("?")[0].split("/")[at])
    return _compared(name, came, str(wanted) if is_integer(wanted) else wanted)


def _member(name: str, wanted: object, exchange: Exchange) -> str:
    value, problem = _decoded(exchange)
    if not problem and not is_object(value):
        problem = f"the body was {describe(value)}"
    return f"{name} was not sent: {problem}" if problem else _compared(name, value.get(name, _NOT_SENT), wanted)


# Criteria that every request has: what a test may pass, and how a request may differ from that


def _status_of(value: Any) -> int:  # noqa: ANN401  # checks whatever a test passes
    require(is_integer(value), "status as an integer (the HTTP status) or as text (the argument)", status=value)
    return int(value)


def _status(wanted: int, exchange: Exchange) -> str:
    if exchange.status == wanted:
        return ""
    came = f"missing ({exchange.result})" if exchange.status is None else exchange.status
    return f"status was {came}, expected {wanted}{f' ({cut(exchange.reason, _SHOWN)})' if exchange.reason else ''}"


def _json_of(value: object) -> object:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"expected json to be a JSON value; {error}")
    return value


def _json(wanted: object, exchange: Exchange) -> str:
    came, problem = _decoded(exchange)
    return problem or _differ("json", came, wanted)


def _body_of(value: object) -> bytes:
    if not isinstance(value, (str, bytes)):
        refuse(f"expected body as bytes or text; got body={_show(value)}")
    return value.encode() if isinstance(value, str) else value


def _body(wanted: bytes, exchange: Exchange) -> str:
    return _cut_body(exchange) or _differ("body", exchange.body, wanted)


def _query_of(value: Any) -> dict[str, list[str]]:  # noqa: ANN401
    require(is_object(value), "query as a mapping", query=value)
    given = {name: values if is_array(values) else [values] for name, values in value.items() if values is not None}
    return {str(name): [one if isinstance(one, str) else str(one) for one in values] for name, values in given.items()}


def _query(wanted: dict[str, list[str]], exchange: Exchange) -> str:
    came = _parameters(exchange)
    return "" if came == wanted else f"query was {_show(_masked_query(came))}, expected {_show(_masked_query(wanted))}"


def _headers_of(value: Any) -> Mapping[str, str]:  # noqa: ANN401
    if not is_object(value) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        shown = sorted(map(str, value)) if is_object(value) else value  # a value may be a key
        refuse(f"expected headers as a mapping of text to text; got headers={_show(shown)}")
    return value


def _headers(wanted: Mapping[str, str], exchange: Exchange) -> str:
    return "; ".join(filter(None, (_header(exchange, name, text) for name, text in wanted.items())))


def _header(exchange: Exchange, name: str, wanted: str) -> str:
    came = exchange.request.values(name)
    if wanted in came or wanted == ", ".join(came):
        return ""
    expected = mask_field(name, wanted, exchange.secrets)
    shown = ", ".join(mask_field(name, text, exchange.secrets) for text in came)
    was = _show(shown) if came else "not sent"
    return f"header {name} was {was}, expected {'another key' if shown == expected else _show(expected)}"


def _fault_of(value: Any) -> Fault | str | None:  # noqa: ANN401
    if value is None or isinstance(value, Fault):
        return value
    return fault_of(value) if is_object(value) else one_of(value, REQUEST_KINDS, "kind of fault")


def _fault(wanted: Fault | str | None, exchange: Exchange) -> str:
    met = [one for one in (exchange.fault, exchange.delayed_by) if one is not None]
    forms = {form for one in met for form in (one, one.kind)} if met else {None}
    return "" if wanted in forms else f"fault was {exchange.fault or 'none'}, expected {wanted or 'none'}"


def _condition_of(value: Any) -> str | None:  # noqa: ANN401
    return None if value is None else one_of(value, CONDITIONS, "condition")


def _condition(wanted: str | None, exchange: Exchange) -> str:
    came = None if exchange.condition is None else exchange.condition.name
    return "" if came == wanted else f"condition was {came or 'none'}, expected {wanted or 'none'}"


def _as_it_is(value: object) -> object:
    return value


GENERAL: Final[Mapping[str, tuple[Callable[[Any], Any], Callable[[Any, Exchange], str]]]] = {
    "status": (_status_of, _status),
    "json": (_json_of, _json),
    "body": (_body_of, _body),
    "query": (_query_of, _query),
    "headers": (_headers_of, _headers),
    "method": (_as_it_is, lambda wanted, exchange: _differ("method", exchange.method, wanted)),
    "path": (_as_it_is, lambda wanted, exchange: _differ("path", exchange.path, wanted)),
    "fault": (_fault_of, _fault),
    "condition": (_condition_of, _condition),
}
_OF_RESPONSE: Final = frozenset({"status", "fault", "condition"})


# Values and their comparison


def _show(value: object) -> str:
    return cut(repr(value), _SHOWN)


def _compared(name: str, came: object, wanted: object) -> str:
    """Compare an argument; None means that it was not sent, and ``json=`` can ask for null."""
    return _differ(name, came, _NOT_SENT if wanted is None else wanted)


def _differ(what: str, came: object, wanted: object) -> str:
    return "" if _same(came, wanted) else f"{what} was {_show(came)}, expected {_show(wanted)}"


def _same(first: Any, second: Any) -> bool:  # noqa: ANN401  # two JSON values
    """Compare as JSON does: ``1``, ``1.0`` and ``true`` are three values; a member of an enumeration is its value."""
    if is_object(first) and is_object(second):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if is_array(first) and is_array(second):
        return len(first) == len(second) and all(map(_same, first, second))
    return _kind(first) is _kind(second) and bool(first == second)


def _kind(value: object) -> type:
    return next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), type(value))


def _texts(values: list[str] | None) -> object:
    """Return a parameter's value; of a repeated one the list."""
    return _NOT_SENT if values is None else values[0] if len(values) == 1 else values


def _parameters(exchange: Exchange) -> dict[str, list[str]]:
    return parse_qs(exchange.target.partition("?")[2], keep_blank_values=True)


def _masked_query(query: Mapping[str, list[str]]) -> dict[str, object]:
    return {name: _texts([mask_parameter(name, value) for value in values]) for name, values in query.items()}


def _masked_argument(name: str, value: Any) -> Any:  # noqa: ANN401
    if is_array(value):
        return [_masked_argument(name, one) for one in value]
    return mask_parameter(str(name), value) if isinstance(value, str) else value


_MASKS: Final[Mapping[str, Callable[[str, Any], Any]]] = {"headers": mask_field, "query": _masked_argument}


def _cut_body(exchange: Exchange) -> str:
    if not exchange.cut_request:
        return ""
    return f"the journal keeps {len(exchange.body)} of the {exchange.body_size} bytes of the body"


def _decoded(exchange: Exchange) -> tuple[Any, str]:
    try:
        return exchange.json(), ""
    except ValueError:
        return None, _cut_body(exchange) or ("the body was not JSON" if exchange.body else "the body was empty")
