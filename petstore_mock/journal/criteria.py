"""What a test asks of a request: the criteria of the journal's assertions and of faults, and why an entry differs.

Each criterion becomes a check that returns a difference in words, or nothing. A match is no difference at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote

from petstore_mock import faults
from petstore_mock.common.masking import cut, mask_field, mask_parameter
from petstore_mock.common.numbers import is_integer
from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.contract.interface import OPERATIONS, require_operation
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.contract.violations import describe
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.contract.interface import Operation
    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.journal.entry import Entry

__all__ = ["Criteria"]

_SHOWN: Final = 120  # characters of a value in a message
_TEMPLATE: Final = re.compile(r"\{(\w+)\}")


class _Absent:
    """Stands for an argument that was not sent."""

    def __repr__(self) -> str:
        return "not sent"


_ABSENT: Final = _Absent()


class Criteria:
    """The criteria of one question.

    Args:
        operation: the operation asked for, or None for any request.
        asked: the keywords of the question.
        schemas: say which arguments the operations have; those that ship unless given.
        unanswered: whether it is asked before there is an answer, so that nothing can be asked of that.

    Raises:
        PetStoreMockError: no such operation or criterion (suggests the nearest name), or no possible value.
    """

    def __init__(
        self,
        operation: str | None,
        asked: Mapping[str, Any],
        schemas: Schemas | None = None,
        *,
        unanswered: bool = False,
    ) -> None:
        self.operation = None if operation is None else require_operation(operation).name
        self._schemas = schemas
        self._unanswered = unanswered
        self._asked = dict(asked)
        self._checks = [self._check(name, value) for name, value in asked.items()]

    def claim(self, times: str) -> str:
        """Return what is asked for in words: ``createPet once with name='Rex'``."""
        asked = ", ".join(f"{name}={_show(value)}" for name, value in self.shown().items())
        return " ".join(filter(None, (self.operation or "a request", times, asked and f"with {asked}")))

    def shown(self) -> dict[str, Any]:
        """Return what is asked for as it may be shown: keys in header fields and parameters are masked."""
        return {
            name: {one: _MASKS[name](one, text) for one, text in value.items()} if name in _MASKS else value
            for name, value in self._asked.items()
        }

    def differences(self, entry: Entry) -> list[str]:
        """Return why ``entry`` is not what is asked for, nothing when it is."""
        found = [entry.masked(difference) for check in self._checks if (difference := check(entry)) is not None]
        if self.operation is not None and entry.operation != self.operation:
            found.insert(0, f"it is {entry.operation or 'no operation'}")
        return found

    def matches(self, entry: Entry) -> bool:
        """Say whether ``entry`` is what is asked for."""
        return (self.operation is None or entry.operation == self.operation) and not any(
            check(entry) is not None for check in self._checks
        )

    # From a keyword to a check

    def _check(self, name: str, value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401  # whatever a test asks
        of_answer = name in _OF_ANSWER and not (name == "status" and isinstance(value, str | None))
        if self._unanswered and of_answer:
            raise PetStoreMockError(
                f"expected criteria of the request alone: it has no answer yet when this is asked; got {name}={value!r}"
            )
        if of_answer or (name in _GENERAL and name != "status"):
            return _GENERAL[name](value)
        if name not in self._arguments():
            self._refuse(name, value)
        return self._argument(name, value)

    def _arguments(self) -> list[str]:
        """Return the names of the arguments that the asked operation has; of any operation, if none is asked for."""
        asked = OPERATIONS.values() if self.operation is None else [OPERATIONS[self.operation]]
        return list(dict.fromkeys(name for operation in asked for name in self._places(operation)))

    def _places(self, operation: Operation) -> dict[str, str]:
        """Return where each argument of ``operation`` is sent: ``body``, ``path`` or ``query``."""
        schemas = self._schemas or default_schemas()
        in_path = _TEMPLATE.findall(operation.path)
        places = {
            name: "path" if name in in_path else "query" for name in schemas.properties(operation.parameters_schema)
        }
        if operation.request_schema is not None:
            places.update(dict.fromkeys(schemas.properties(operation.request_schema), "body"))
        return places

    def _refuse(self, name: str, value: object) -> None:
        general = (other for other in _GENERAL if not (self._unanswered and other in _OF_ANSWER))
        known = list(dict.fromkeys((*self._arguments(), *general)))
        times = [] if self._unanswered else ["times"]
        raise PetStoreMockError(
            f"expected {'times, or ' if times else ''}criteria of {self.operation or 'a request'}: {', '.join(known)}; "
            f"got {name}={_show(value)} ({type(value).__name__}){did_you_mean(name, [*times, *known])}"
        )

    def _argument(self, name: str, value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401
        def check(entry: Entry) -> str | None:
            operation = OPERATIONS.get(entry.operation)  # type: ignore[call-overload]  # None is in no mapping
            place = self._places(operation).get(name) if operation is not None else None
            if operation is None or place is None:
                return f"{operation.name if operation else 'it'} has no argument {name}"
            if place == "body":
                return _body_argument(entry, name, value)
            if place == "query":
                return _differs(name, _texts(_parameters(entry).get(name)), value)
            return _differs(name, unquote(entry.request.target.partition("?")[0].rpartition("/")[2]), value)

        return check


def _show(value: object) -> str:
    return cut(repr(value), _SHOWN)


def _same(first: Any, second: Any) -> bool:  # noqa: ANN401  # two JSON values
    """Compare as JSON does: ``1``, ``1.0`` and ``true`` are three values, a member of an enumeration is its value."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_same, first, second))
    return _kind(first) is _kind(second) and bool(first == second)


def _kind(value: object) -> type:
    """Return the type of ``value``, or the type in JSON's terms that it is derived from."""
    return next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), type(value))


def _compared(what: str, came: object, expected: object) -> str | None:
    return None if _same(came, expected) else f"{what} was {_show(came)}, expected {_show(expected)}"


def _texts(values: list[str] | None) -> object:
    """Return a parameter's value; a repeated one as a list."""
    if values is None:
        return _ABSENT
    return values[0] if len(values) == 1 else values


def _as_text(value: object) -> object:
    """Return how a value stands in a query or a path: numbers are text there, None is not sent."""
    if value is None:
        return _ABSENT
    return str(value) if is_integer(value) else value


def _differs(name: str, came: object, expected: object) -> str | None:
    wanted = _as_text(expected)
    return None if came == wanted else f"{name} was {_show(came)}, expected {_show(wanted)}"


def _parameters(entry: Entry) -> dict[str, list[str]]:
    return parse_qs(entry.request.target.partition("?")[2], keep_blank_values=True)


def _decoded(entry: Entry) -> tuple[Any, str | None]:
    try:
        return entry.json(), None
    except ValueError:
        return None, "the body was no JSON" if entry.body else "the body was empty"


def _body_argument(entry: Entry, name: str, expected: object) -> str | None:
    value, problem = _decoded(entry)
    if problem is not None:
        return f"{name} was not sent: {problem}"
    if not isinstance(value, dict):
        return f"{name} was not sent: the body was {describe(value)}"
    came = value.get(name, _ABSENT)
    if expected is None:  # not sent; `null` can be asked for by json=
        return None if came is _ABSENT else f"{name} was {_show(came)}, expected it not to be sent"
    return _compared(name, came, expected)


# The criteria that every request has


def _status(value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401
    if not is_integer(value):
        raise PetStoreMockError(
            "expected status as an int (the HTTP status) or as text (the argument status); "
            f"got status={value!r} ({type(value).__name__})"
        )

    def check(entry: Entry) -> str | None:
        if entry.status == value:
            return None
        came = entry.status if entry.status is not None else f"missing ({entry.outcome or 'no answer yet'})"
        return f"status was {came}, expected {value}{f' ({cut(entry.reason, _SHOWN)})' if entry.reason else ''}"

    return check


def _json(value: object) -> Callable[[Entry], str | None]:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise PetStoreMockError(f"expected json to be a JSON value; {error}") from None

    def check(entry: Entry) -> str | None:
        came, problem = _decoded(entry)
        return problem or _compared("json", came, value)

    return check


def _body(value: object) -> Callable[[Entry], str | None]:
    if not isinstance(value, (str, bytes)):
        raise PetStoreMockError(f"expected body as bytes or text; got body={value!r} ({type(value).__name__})")
    wanted = value.encode() if isinstance(value, str) else value
    return lambda entry: _compared("body", entry.body, wanted)


def _query(value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        raise PetStoreMockError(f"expected query as a mapping; got query={value!r} ({type(value).__name__})")
    wanted = {
        str(name): [
            one if isinstance(one, str) else str(one)  # of an enumeration's member, str() may give the name
            for one in (values if isinstance(values, (list, tuple)) else [values])
        ]
        for name, values in value.items()
        if values is not None  # as of an argument: it was not sent
    }

    def check(entry: Entry) -> str | None:
        came = _parameters(entry)
        if came == wanted:
            return None
        return f"query was {_show(_shown_query(came))}, expected {_show(_shown_query(wanted))}"

    return check


def _shown_query(query: Mapping[str, list[str]]) -> dict[str, object]:
    return {name: _texts([mask_parameter(name, value) for value in values]) for name, values in query.items()}


def _masked_argument(name: str, argument: object) -> object:
    if isinstance(argument, (list, tuple)):
        return [_masked_argument(name, one) for one in argument]
    return mask_parameter(str(name), argument) if isinstance(argument, str) else argument


def _headers(value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        shown = sorted(map(str, value)) if isinstance(value, Mapping) else value  # a value may be a key
        raise PetStoreMockError(f"expected headers as a mapping of text to text; got headers={shown!r}")

    def check(entry: Entry) -> str | None:
        return "; ".join(filter(None, (_header(entry, name, text) for name, text in value.items()))) or None

    return check


def _header(entry: Entry, name: str, expected: str) -> str | None:
    came = entry.request.values(name)
    if expected in came or expected == ", ".join(came):
        return None
    keys = entry.secrets
    wanted = mask_field(name, expected, keys)
    if not came:
        return f"header {name} was not sent, expected {_show(wanted)}"
    shown = ", ".join(mask_field(name, text, keys) for text in came)
    return f"header {name} was {_show(shown)}, expected {'another key' if shown == wanted else _show(wanted)}"


def _method(value: object) -> Callable[[Entry], str | None]:
    return lambda entry: _compared("method", entry.method, value)


def _path(value: object) -> Callable[[Entry], str | None]:
    return lambda entry: _compared("path", entry.request.path, value)


def _fault(value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401
    if isinstance(value, Mapping):  # of those who have no function to call
        value = faults.from_data(value)
    if isinstance(value, faults.Fault):
        return lambda entry: (
            None if value in {entry.fault, entry.delayed_by} else f"fault was {entry.fault or 'none'}, expected {value}"
        )
    if value is not None:
        _require(value, faults.KINDS, "fault", "the kind of a fault, or None")

    def check(entry: Entry) -> str | None:
        came = None if entry.fault is None else entry.fault.kind
        earlier = None if entry.delayed_by is None else entry.delayed_by.kind
        matches = value == came or (value is not None and value == earlier)
        return None if matches else f"fault was {came or 'none'}, expected {value or 'none'}"

    return check


def _condition(value: Any) -> Callable[[Entry], str | None]:  # noqa: ANN401
    if value is not None:
        _require(value, tuple(CONDITIONS), "condition", "the name of a condition, or None")

    def check(entry: Entry) -> str | None:
        came = None if entry.condition is None else entry.condition.name
        return None if came == value else f"condition was {came or 'none'}, expected {value or 'none'}"

    return check


def _require(value: object, known: tuple[str, ...], name: str, what: str) -> None:
    if value in known:
        return
    raise PetStoreMockError(
        f"expected {name} to be {what}, of {', '.join(known)}; "
        f"got {name}={value!r} ({type(value).__name__}){did_you_mean(value, known)}"
    )


_GENERAL: Final[Mapping[str, Callable[[Any], Callable[[Entry], str | None]]]] = {
    "status": _status,
    "json": _json,
    "body": _body,
    "query": _query,
    "headers": _headers,
    "method": _method,
    "path": _path,
    "fault": _fault,
    "condition": _condition,
}
_MASKS: Final[Mapping[str, Callable[[str, Any], object]]] = {"headers": mask_field, "query": _masked_argument}
_OF_ANSWER: Final = frozenset(
    {"status", "fault", "condition"}
)  # what only an answer tells, if status is an HTTP status
