"""Criteria that a request must meet: for the journal's assertions and waits, and for faults.

A criterion that no request can meet would make each assertion with ``times=0`` pass. So the criteria refuse it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, mask_field, mask_parameter
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.common.values import is_integer
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.kinds import REQUEST_KINDS
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.schemas import parameters, properties
from petstore_mock.interface.strict_json import copy_json, read_integer
from petstore_mock.interface.table import OPERATIONS, require_operation
from petstore_mock.interface.violations import describe
from petstore_mock.journal.exchange import faults_met, row_of
from petstore_mock.journal.matching import (
    NOT_SENT,
    has_matcher,
    in_words,
    is_matcher,
    is_predicate,
    meets,
    require_comparable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.common.values import JsonObject
    from petstore_mock.interface.schemas import Schema
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

_SHOWN: Final = 120  # characters of a value in a message
_NO_JSON: Final = ": for a body that is not JSON, use the criterion body"
# The types of Python by the ``type`` of a schema. True is an integer to Python, but not here.
_PYTHON: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


class CutBodyError(PetStoreMockError):
    """A criterion needs the rest of a body, of which the journal keeps only the beginning."""

    status = 409  # of the control door's response


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
        if value is None:
            return NOT_SENT
        _require_argument(self.operation, name, value)
        return value

    def claim_of(self, times: str) -> str:
        """Return what an assertion expects, keys masked: ``expected getPet 2 times with petId=1``."""
        claim = f"expected {self.operation or 'a request'} {times}"
        words = ", ".join(f"{name}={_show(name, value)}" for name, value in self.asked.items())
        return f"{claim} with {words}" if words else claim

    def shown(self) -> JsonObject:
        """Return the criteria as JSON values by name; keys in header fields and parameters are masked."""
        return {name: in_words(_masked(name, value)) for name, value in self.asked.items()}

    def require_json(self) -> None:
        """Refuse criteria that another process can't check."""
        for name, value in self.asked.items():
            if has_matcher(value):
                words = "JSON values as criteria, because the stub in the other process checks them"
                refuse(
                    f"expected {words}; got {name}={_show(name, value)}: look at the exchanges of the journal instead"
                )

    def differences(self, exchange: Exchange) -> list[str]:
        """Return why ``exchange`` does not meet the criteria, keys masked; empty if it does."""
        return [exchange.masked(words) for words in self._differences(exchange)]

    def matches(self, exchange: Exchange) -> bool:
        """Return whether ``exchange`` meets the criteria.

        Raises:
            CutBodyError: that depends on a part of the body that the journal does not keep.
        """
        if next(self._differences(exchange), None) is not None:
            return False
        cut_away = [name for name in self._wanted if exchange.cut_request and self._reads_body(name, exchange)]
        if cut_away:
            raise CutBodyError(
                f"expected criteria that the journal can check; got {cut_away[0]} for the body of request "
                f"{exchange.number}: {exchange.cut_body}. Use other criteria"
            )
        return True

    def _reads_body(self, name: str, exchange: Exchange) -> bool:
        if name in {"json", "body"}:
            return True
        operation = row_of(exchange)
        if operation is None or name not in _places(operation):
            return False
        return self._is_in_body(name, operation)

    def _is_in_body(self, name: str, operation: Operation) -> bool:
        is_http_status = name in GENERAL and is_integer(self._wanted[name])
        return _places(operation)[name] == "body" and not is_http_status

    def _differences(self, exchange: Exchange) -> Iterator[str]:
        if self.operation not in {None, exchange.operation}:
            yield f"operation was {exchange.operation or 'none'}, expected {self.operation}"
        for name, wanted in self._wanted.items():
            if exchange.cut_request and self._reads_body(name, exchange):
                continue
            try:
                received = _received(exchange, name, wanted)
            except ValueError as problem:
                yield f"{name}: {problem}"
                continue
            if not meets(received, wanted):
                yield f"{name} was {_show(name, received)}, expected {_show(name, wanted)}"


def _received(exchange: Exchange, name: str, wanted: object) -> object:
    """Return the value of a request to compare. Raise ValueError with the reason if it has none."""
    is_argument = wanted is NOT_SENT or name not in GENERAL or _is_argument(name, wanted)
    return _argument(exchange, name, wanted) if is_argument else GENERAL[name](exchange, wanted)


# Arguments of operations


def _is_argument(name: str, value: object) -> bool:
    """Return whether a ``status`` is an argument. A number is the HTTP status."""
    return name == "status" and (value is None or isinstance(value, str) or is_matcher(value))


def _places(operation: Operation) -> dict[str, str]:
    """Return where each argument of an operation is sent: ``body``, ``path``, ``query`` or ``header``."""
    places: dict[str, str] = {parameter.name: parameter.where for parameter in operation.parameters}
    return places | dict.fromkeys(properties(operation.body) if operation.body else (), "body")


def arguments_of(operation: str | None) -> list[str]:
    """Return the names of the arguments of an operation, or of all operations."""
    return [*dict.fromkeys(name for one in _operations(operation) for name in _places(one))]


def _operations(operation: str | None) -> list[Operation]:
    return [*OPERATIONS.values()] if operation is None else [OPERATIONS[operation]]


def _rules(operation: Operation, name: str) -> Schema:
    """Return the schema of an argument."""
    if _places(operation)[name] == "body":
        return properties(operation.body or "")[name]
    return parameters(operation)[name]


def _require_argument(operation: str | None, name: str, value: object) -> None:
    """Refuse a value that is no value of the argument in any operation that has it."""
    require_comparable(name, value)
    if is_matcher(value):
        return
    having = [one for one in _operations(operation) if name in _places(one)]
    if any(_may_equal(value, _rules(one, name), _places(one)[name]) for one in having):
        return
    rules = _rules(having[0], name)
    choices = rules.get("enum")
    if choices and isinstance(value, str):
        names = [*map(str, choices)]
        words, hint = f"one of {', '.join(names)}", did_you_mean(value, names)
    else:
        words, hint = f"a value of type {rules.get('type')}", ""
    place = "json" if _places(having[0])[name] == "body" else "query or path"
    refuse(f"expected {name} as {words}; got {describe(value)}{hint}. For an invalid value, use the criterion {place}")


def _may_equal(value: object, rules: Schema, place: str) -> bool:
    """Return whether a client can send a value of this type. The bounds of the schema do not count."""
    if place != "body":
        # A parameter is text, and a repeated one is a list.
        if is_array(value):
            return all(_may_equal(item, rules, place) for item in value)
        if isinstance(value, str) and "enum" not in rules:
            return True
    if "enum" in rules:
        return value in rules["enum"]
    kinds = rules.get("type")
    if kinds is None:
        return True
    names = [kinds] if isinstance(kinds, str) else kinds
    return any(_is_of(value, name) for name in names)


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _PYTHON.get(kind, (object,)))


def _argument(exchange: Exchange, name: str, wanted: object) -> object:
    operation = row_of(exchange)
    if operation is None:
        raise ValueError("the request has no such argument")
    place = _places(operation).get(name)
    if place is None:
        raise ValueError(f"{operation.name} has no such argument")
    if place == "body":
        return _member(_json(exchange), name)
    text = _text(exchange, operation, place, name)
    if not is_matcher(wanted):
        wanted_text = wanted if isinstance(wanted, str) else dumps(wanted, default=str)
        return wanted if text == wanted_text else text
    is_number = is_predicate(wanted) and _rules(operation, name).get("type") == "integer"
    return _number(text) if is_number else text


def _member(body: object, name: str) -> object:
    if not is_object(body):
        raise ValueError(f"the body was {describe(body)}")
    return body.get(name, NOT_SENT)


def _number(text: object) -> object:
    """Return the text of a parameter as an integer, if it is one."""
    return read_integer(text) if isinstance(text, str) else text


def _text(exchange: Exchange, operation: Operation, place: str, name: str) -> Any:  # noqa: ANN401
    """Return the text of a parameter, or that it was not sent."""
    if place == "query":
        return _query(exchange).get(name, NOT_SENT)
    if place == "path":
        return operation.path_values(exchange.target).get(name, NOT_SENT)
    return _joined(exchange.request.values(name))


def _joined(values: list[str]) -> object:
    """Return the values of a header field as one (RFC 9110 §5.2)."""
    return ", ".join(values) if values else NOT_SENT


# General criteria


def _json(exchange: Exchange, _: object = None) -> Any:  # noqa: ANN401
    try:
        return exchange.json()
    except ValueError:
        raise ValueError("the body was not JSON" if exchange.body else "the body was empty") from None


def _query(exchange: Exchange, _: object = None) -> JsonObject:
    return _parameters(parse_qs(exchange.target.partition("?")[2], keep_blank_values=True))


def _parameters(query: Mapping[str, Any]) -> JsonObject:
    """Return the text of each parameter, or a list for a repeated one."""
    return {name: _parameter(value) for name, value in query.items()}


def _parameter(value: Any) -> Any:  # noqa: ANN401  # a text, a list, or a matcher
    if is_matcher(value):
        return value
    items = value if is_array(value) else [value]
    # A member of an enumeration of texts is a text, and str() shows its name.
    texts = [item if isinstance(item, str) or is_matcher(item) else str(item) for item in items]
    return texts[0] if len(texts) == 1 else texts


def _headers(exchange: Exchange, wanted: Mapping[str, object]) -> dict[str, object]:
    return {name: _header(exchange.request.values(name), value) for name, value in wanted.items()}


def _header(values: list[str], wanted: object) -> object:
    """Return the value that is wanted, if a field of this name has it; else all values."""
    for value in values:
        if meets(value, wanted):
            return value
    return _joined(values)


def _fault(exchange: Exchange, wanted: object) -> object:
    """Return the kind of the fault that is wanted, if the request met it; else the fault that it met."""
    met = [fault.kind for fault in reversed(faults_met(exchange))]
    if is_matcher(wanted):
        return next((kind for kind in met if meets(kind, wanted)), NOT_SENT)
    return wanted if wanted in met else exchange.fault


def _condition(exchange: Exchange, wanted: object) -> object:
    if exchange.condition is None:
        return NOT_SENT if is_matcher(wanted) else None
    return exchange.condition.name


def _attribute(name: str) -> Callable[[Exchange, object], object]:
    read = attrgetter(name)
    return lambda exchange, _: read(exchange)


# Each function returns the value to compare; its ValueError says why the request has none.
GENERAL: Final[Mapping[str, Callable[[Exchange, Any], Any]]] = {
    "status": _attribute("status"),
    "json": _json,
    "body": _attribute("body"),
    "query": _query,
    "headers": _headers,
    "method": _attribute("method"),
    "path": _attribute("path"),
    "fault": _fault,
    "condition": _condition,
}
_OF_RESPONSE: Final = frozenset({"status", "fault", "condition"})
# The words and types of a criterion. The last member is the JSON type that the door checks, or None: the door's error
# would show a key in the value.
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
    may_match = name not in {"status", "query", "headers"}
    if may_match and is_matcher(value):
        require_comparable(name, value)
        return value
    words, types, _ = TYPES.get(name, ("", (object,), None))
    given: object = value  # a type checker would narrow the type of ``value`` itself
    fits = isinstance(given, types) and not (words and isinstance(given, bool))
    if not fits:
        refuse(f"expected {name} as {words}; got {_show(name, value)}")
    check = _CHECKS.get(name)
    return value if check is None else check(name, value)


def _json_value(name: str, value: Any) -> Any:  # noqa: ANN401
    require_comparable(name, value, _NO_JSON)
    return value if has_matcher(value) else copy_json(value, _NO_JSON.removeprefix(": "))


def _body_value(_: str, value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _status_value(name: str, value: int) -> int:
    if not 100 <= value <= 599:
        refuse(f"expected {name} as an HTTP status, 100 to 599; got {value}")
    return value


def _path_value(name: str, value: str) -> str:
    if "?" in value:
        refuse(f"expected {name} without the query; got {_show(name, value)}: use the criterion query")
    return value


def _query_value(name: str, value: Mapping[object, Any]) -> JsonObject:
    wanted_parameters: JsonObject = {}
    for parameter, wanted in value.items():
        items = wanted if is_array(wanted) else [wanted]
        if not isinstance(parameter, str) or any(map(_is_no_parameter, items)):
            refuse(f"expected {name} as a mapping of text to text, numbers or lists of them; got {_show(name, value)}")
        require_comparable(name, wanted)
        if wanted is not None:
            wanted_parameters[parameter] = wanted
    return _parameters(wanted_parameters)


def _is_no_parameter(value: object) -> bool:
    return not (value is None or isinstance(value, (str, int, float)) or is_matcher(value))


def _headers_value(name: str, value: Mapping[object, Any]) -> Mapping[object, Any]:
    for field, wanted in value.items():
        is_text = isinstance(field, str) and isinstance(wanted, str)
        is_matched = isinstance(field, str) and is_matcher(wanted)
        if not (is_text or is_matched):
            refuse(f"expected {name} as {TYPES[name][0]}; got {_show(name, value)}")
        require_comparable(name, wanted)
    return value


def _fault_value(name: str, value: str | None) -> str | None:
    return None if value is None else one_of(value, REQUEST_KINDS, name)


def _condition_value(name: str, value: str | None) -> str | None:
    return None if value is None else one_of(value, CONDITIONS, name)


_CHECKS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "status": _status_value,
    "json": _json_value,
    "body": _body_value,
    "query": _query_value,
    "headers": _headers_value,
    "path": _path_value,
    "fault": _fault_value,
    "condition": _condition_value,
}


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
    is_open = mask(name, "text") == "text" and (criterion == "query" or is_matcher(value))
    return value if is_open or value is NOT_SENT else "***"


def _show(name: str, value: object) -> str:
    return "none" if value is None else cut(repr(in_words(_masked(name, value))), _SHOWN)
