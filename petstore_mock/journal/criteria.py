"""Criteria that a request must meet: for the journal's assertions and waits, and for faults.

A criterion that no request can meet would make each assertion with ``times=0`` pass. So the criteria refuse it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.guards import is_array, is_object, items_of
from petstore_mock.common.masking import cut, mask_field, mask_parameter
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.kinds import REQUEST_KINDS
from petstore_mock.http.request import query_of
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.kinds import allows_null, type_of
from petstore_mock.interface.schemas import arguments
from petstore_mock.interface.strict_json import copy_json, read_integer
from petstore_mock.interface.table import OPERATIONS, require_operation
from petstore_mock.interface.violations import describe
from petstore_mock.journal.exchange import faults_met, row_of
from petstore_mock.journal.matching import (
    NOT_SENT,
    has_matcher,
    is_matcher,
    is_predicate,
    meets,
    require_comparable,
    without_matchers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.kinds import Schema
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

_SHOWN: Final = 120  # characters of a value in a message
_MASKS: Final[Mapping[str, Callable[[str, str], str]]] = {"headers": mask_field, "query": mask_parameter}
_NO_JSON: Final = ": for a body that is not JSON, use the criterion body"
# The types of Python by the ``type`` of a schema. True is an integer to Python, but not here.
_PYTHON: Final[Mapping[object, Any]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": Mapping,
}


class CutBodyError(PetStoreMockError):
    """A criterion needs the rest of a body, of which the journal keeps only the beginning."""

    status = 409  # of the control door's response


class Criteria:
    """Criteria that a request must meet, by name."""

    def __init__(
        self, asked: Mapping[str, object], operation: str | None = None, *, before_response: bool = False
    ) -> None:
        self.operation = None if operation is None else require_operation(operation).name
        self.asked = dict(asked)
        self._general = [name for name, row in GENERAL.items() if row.of_request or not before_response]
        self._wanted = {name: self._checked(name, value) for name, value in asked.items()}

    def _checked(self, name: str, value: object) -> object:
        """Return the value to compare for a criterion, after a check."""
        if not _means_argument(name, value):
            if name not in self._general:
                refuse(f"expected criteria of the request, because no response exists yet; got {name}={value!r}")
            return _general_value(name, value)
        known = arguments_of(self.operation)
        if name not in known:
            names = [*dict.fromkeys([*known, *self._general])]
            hint = did_you_mean(name, [*names, "times"])
            refuse(f"expected criteria of {self._whose}: {', '.join(names)}; got {name}={_show(name, value)}{hint}")
        if value is None:
            return None if _may_be_null(self.operation, name) else NOT_SENT
        _require_argument(self.operation, name, value)
        return value

    @property
    def _whose(self) -> str:
        return self.operation or "a request"

    def claim_of(self, times: str) -> str:
        """Return what an assertion expects, keys masked: ``expected getPet 2 times with petId=1``."""
        claim = f"expected {self._whose} {times}"
        if not self.asked:
            return claim
        words = ", ".join(f"{name}={_show(name, value)}" for name, value in self.asked.items())
        return f"{claim} with {words}"

    def shown(self) -> JsonObject:
        """Return the criteria as JSON values by name; keys in header fields and parameters are masked."""
        return {name: without_matchers(_masked(name, value)) for name, value in self.asked.items()}

    def require_json(self) -> None:
        """Refuse criteria that another process can't check."""
        for name, value in self.asked.items():
            if has_matcher(value):
                words = "JSON values as criteria, because the stub in the other process checks them"
                refuse(
                    f"expected {words}; got {name}={_show(name, value)}: look at the exchanges of the journal instead"
                )

    def concerns(self, exchange: Exchange) -> bool:
        """Return whether the request has the operation of the criteria, if they have one."""
        return self.operation in {None, exchange.operation}

    def differences(self, exchange: Exchange) -> list[str]:
        """Return why ``exchange`` does not meet the criteria, keys masked; empty if it does."""
        return [*map(exchange.masked, self._differences(exchange))]

    def matches(self, exchange: Exchange) -> bool:
        """Return whether ``exchange`` meets the criteria.

        Raises:
            CutBodyError: that depends on a part of the body that the journal does not keep.
        """
        if next(self._differences(exchange), None) is not None:
            return False
        if exchange.cut_request:
            self._require_whole_body(exchange)
        return True

    def _require_whole_body(self, exchange: Exchange) -> None:
        for name in self._wanted:
            if self._reads_body(name, exchange):
                raise CutBodyError(
                    f"expected criteria that the journal can check; got {name} for the body of request "
                    f"{exchange.number}: {exchange.cut_body}. Use other criteria"
                )

    def _reads_body(self, name: str, exchange: Exchange) -> bool:
        if name in {"json", "body"}:
            return True
        operation = row_of(exchange)
        if operation is None or not _means_argument(name, self._wanted[name]):
            return False
        return _places(operation).get(name) == "body"

    def _differences(self, exchange: Exchange) -> Iterator[str]:
        if not self.concerns(exchange):
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
    if _means_argument(name, wanted):
        return _argument(exchange, name, wanted)
    return GENERAL[name].read(exchange, wanted)


# Arguments of operations


def _means_argument(name: str, value: object) -> bool:
    """Return whether a criterion is an argument. A ``status`` is, unless it is a number: the HTTP status."""
    if name != "status":
        return name not in GENERAL
    return isinstance(value, (str, NoneType, type(NOT_SENT))) or is_matcher(value)


def _places(operation: Operation) -> dict[str, str]:
    """Return where each argument of an operation is sent: ``body``, ``path``, ``query`` or ``header``."""
    places = dict.fromkeys(arguments(operation), "body")
    for parameter in operation.parameters:
        places[parameter.name] = parameter.where
    return places


def arguments_of(operation: str | None) -> list[str]:
    """Return the names of the arguments of an operation, or of all operations."""
    names: dict[str, None] = {}
    for row in _operations(operation):
        names |= dict.fromkeys(arguments(row))
    return [*names]


def _operations(operation: str | None) -> list[Operation]:
    if operation is None:
        return [*OPERATIONS.values()]
    return [OPERATIONS[operation]]


def _may_be_null(operation: str | None, name: str) -> bool:
    """Whether null is a value of the argument: then None stands for null, else for an argument that was not sent."""
    return any(allows_null(rules) for rules, _ in _forms(operation, name))


def _forms(operation: str | None, name: str) -> list[tuple[Schema, str]]:
    """Return the schema and the place of an argument in each operation that has it."""
    forms: list[tuple[Schema, str]] = []
    for row in _operations(operation):
        rules = arguments(row).get(name)
        if rules is not None:
            forms.append((rules, _places(row)[name]))
    return forms


def _require_argument(operation: str | None, name: str, value: object) -> None:
    """Refuse a value that is no value of the argument in any operation that has it."""
    require_comparable(name, value)
    if is_matcher(value):
        return
    forms = _forms(operation, name)
    for rules, place in forms:
        if _may_equal(value, rules, place):
            return
    rules, place = forms[0]
    words = f"a value of type {type_of(rules)}"
    hint = ""
    if "enum" in rules and isinstance(value, str):
        names = [*map(str, rules["enum"])]
        words = f"one of {', '.join(names)}"
        hint = did_you_mean(value, names)
    other = "json" if place == "body" else "query or path"
    refuse(f"expected {name} as {words}; got {describe(value)}{hint}. For an invalid value, use the criterion {other}")


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
    kind = type_of(rules)
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _PYTHON[kind])


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
    if is_matcher(wanted):
        # A function gets the text of an integer as an integer.
        reads_number = is_predicate(wanted) and arguments(operation)[name].get("type") == "integer"
        if reads_number and isinstance(text, str):
            return read_integer(text)
        return text
    wanted_text = wanted if isinstance(wanted, str) else dumps(wanted, default=str)
    return wanted if text == wanted_text else text


def _member(body: object, name: str) -> object:
    if not is_object(body):
        raise ValueError(f"the body was {describe(body)}")
    return body.get(name, NOT_SENT)


def _text(exchange: Exchange, operation: Operation, place: str, name: str) -> object:
    """Return the text of a parameter, or that it was not sent."""
    if place == "query":
        return _query(exchange).get(name, NOT_SENT)
    if place == "path":
        return operation.path_values(exchange.target).get(name, NOT_SENT)
    return _joined(exchange.request.values(name))


def _joined(values: list[str]) -> object:
    """Return the values of a header field as one (RFC 9110 §5.2)."""
    if not values:
        return NOT_SENT
    return ", ".join(values)


# General criteria


def _json(exchange: Exchange, _: object = None) -> Json:
    try:
        return exchange.json()
    except ValueError:
        problem = "not JSON" if exchange.body else "empty"
        raise ValueError(f"the body was {problem}") from None


def _query(exchange: Exchange, _: object = None) -> JsonObject:
    return _parameters(query_of(exchange.target))


def _parameters(query: Mapping[str, object]) -> JsonObject:
    """Return the text of each parameter, or a list for a repeated one."""
    return {name: _parameter(value) for name, value in query.items()}


def _parameter(value: object) -> object:
    """Return a text or a matcher, or a list of them for a repeated parameter."""
    if not is_array(value):
        return _parameter_text(value)
    texts = [*map(_parameter_text, value)]
    return texts[0] if len(texts) == 1 else texts


def _parameter_text(value: object) -> object:
    # A member of an enumeration of texts is a text, and str() would show its name.
    if isinstance(value, str) or is_matcher(value):
        return value
    return str(value)


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
    for fault in reversed(faults_met(exchange)):
        if meets(fault.kind, wanted):
            return fault.kind
    return _unmatched(exchange.fault, wanted)


def _condition(exchange: Exchange, wanted: object) -> object:
    if exchange.condition is None:
        return _unmatched(None, wanted)
    return exchange.condition.name


def _unmatched(value: object, wanted: object) -> object:
    """Return a value that is no text, so that no matcher gets it."""
    return NOT_SENT if is_matcher(wanted) else value


def _attribute(name: str) -> Callable[[Exchange, object], object]:
    def read(exchange: Exchange, _: object) -> object:
        return getattr(exchange, name)

    return read


def _general_value(name: str, value: object) -> object:
    """Return the value of a criterion in the form that ``differences`` compares."""
    row = GENERAL[name]
    if row.may_match and is_matcher(value):
        require_comparable(name, value)
        return value
    if row.types:
        has_type = isinstance(value, row.types) and not isinstance(value, bool)
        _require(name, value, holds=has_type)
    return row.check(name, value)


def _require(name: str, value: object, *, holds: bool) -> None:
    """Refuse a value that is not what the row of its criterion says."""
    if not holds:
        refuse(f"expected {name} as {GENERAL[name].words}; got {_show(name, value)}")


def _json_value(name: str, value: object) -> object:
    require_comparable(name, value, _NO_JSON)
    if has_matcher(value):
        return value
    return copy_json(value, _NO_JSON.removeprefix(": "))


def _body_value(_: str, value: bytes | str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value


def _status_value(name: str, value: int) -> int:
    if not 100 <= value <= 599:
        refuse(f"expected {name} as an HTTP status, 100 to 599; got {value}")
    return value


def _path_value(name: str, value: str) -> str:
    if "?" in value:
        refuse(f"expected {name} without the query; got {_show(name, value)}: use the criterion query")
    return value


def _query_value(name: str, value: Mapping[object, object]) -> JsonObject:
    wanted_parameters: JsonObject = {}
    for parameter, wanted in value.items():
        if not isinstance(parameter, str) or not all(map(_is_parameter, items_of(wanted))):
            refuse(f"expected {name} as a mapping of text to text, numbers or lists of them; got {_show(name, value)}")
        require_comparable(name, wanted)
        if wanted is not None:
            wanted_parameters[parameter] = wanted
    return _parameters(wanted_parameters)


def _is_parameter(value: object) -> bool:
    return isinstance(value, (str, int, float, NoneType)) or is_matcher(value)


def _headers_value(name: str, value: Mapping[object, object]) -> Mapping[object, object]:
    for field, wanted in value.items():
        is_text = isinstance(wanted, str) or is_matcher(wanted)
        _require(name, value, holds=is_text and isinstance(field, str))
        require_comparable(name, wanted)
    return value


def _name_in(known: Iterable[str]) -> Callable[[str, str | None], str | None]:
    """Return the check of a criterion that is one of the ``known`` names, or None."""

    def check(name: str, value: str | None) -> str | None:
        if value is None:
            return None
        return one_of(value, known, name)

    return check


def _unchanged(_: str, value: object) -> object:
    return value


class Criterion(NamedTuple):
    """A criterion that is no argument of an operation."""

    read: Callable[[Exchange, Any], object]  # returns the value to compare; its ValueError says why there is none
    check: Callable[[str, Any], object] = _unchanged  # returns the value to compare with, or refuses it
    words: str = ""  # the values in words, if it has ``types``
    types: tuple[type, ...] = ()  # of its values; empty for any
    json_type: object = None  # the JSON type that the door checks, or None: the door's error would show a key
    may_match: bool = True  # whether the value may be a matcher
    of_request: bool = True  # whether a request meets it before it has a response


GENERAL: Final[Mapping[str, Criterion]] = {
    "status": Criterion(
        _attribute("status"),
        _status_value,
        "an integer (the HTTP status) or as text (the argument)",
        (int,),
        ["integer", "string", "null"],
        may_match=False,
        of_request=False,
    ),
    "json": Criterion(_json, _json_value),
    "body": Criterion(_attribute("body"), _body_value, "bytes or text", (bytes, str), "string"),
    "query": Criterion(_query, _query_value, "a mapping", (Mapping,), may_match=False),
    "headers": Criterion(_headers, _headers_value, "a mapping of text to text", (Mapping,), may_match=False),
    "method": Criterion(_attribute("method"), _unchanged, "text", (str,), "string"),
    "path": Criterion(_attribute("path"), _path_value, "text", (str,), "string"),
    "fault": Criterion(_fault, _name_in(REQUEST_KINDS), of_request=False),
    "condition": Criterion(_condition, _name_in(CONDITIONS), of_request=False),
}


# Values


def _masked(criterion: str, value: object) -> object:
    """Mask the keys in header fields and parameters."""
    mask = _MASKS.get(criterion)
    if mask is None or value is None:
        return value
    if not is_object(value):
        return "***"  # it may be a key
    return {name: _masked_part(criterion, str(name), part, mask) for name, part in value.items()}


def _masked_part(criterion: str, name: str, value: object, mask: Callable[[str, str], str]) -> object:
    if isinstance(value, str):
        return mask(name, value)
    if value is NOT_SENT:
        return value
    # The criteria refuse bytes and lists in a field. The error must not show them, because they may be a key.
    is_refused = criterion == "headers" and not is_matcher(value)
    if is_refused or mask(name, "text") != "text":
        return "***"
    return value


def _show(name: str, value: object) -> str:
    if value is None:
        return "none"
    return cut(repr(without_matchers(_masked(name, value))), _SHOWN)
