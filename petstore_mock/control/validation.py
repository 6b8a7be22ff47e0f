"""What a request to the door may say: its JSON, and its query, held against the table of operations."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend

from petstore_mock.common.masking import cut
from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.contract.schemas import validator_class
from petstore_mock.contract.strict_json import MalformedJsonError, decode_json
from petstore_mock.contract.violations import describe, member_path
from petstore_mock.control.problems import ProblemError
from petstore_mock.control.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from werkzeug.datastructures import MultiDict

__all__ = ["checked_query", "decoded_body"]

_SHOWN: Final = 20  # violations
_SHOWN_NAME: Final = 60  # characters
_INTEGERS: Final = frozenset({"after", "count", "fault", "random_seed", "seed", "times"})  # of a body's own members
_BOOLEANS: Final = {"true": True, "false": False}
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)


def _items(validator: Any, items: object, instance: object, schema: object) -> Iterator[ValidationError]:  # noqa: ANN401
    """Tell of the first wrong items: an error weighs kilobytes, and a body may hold millions."""
    found = Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)
    yield from islice(found or (), _SHOWN + 1)


_Validator: Final = extend(validator_class(), {"items": _items})  # type: ignore[no-untyped-call]  # of types-jsonschema


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": SCHEMAS}}
    return _Validator(schema)  # type: ignore[no-any-return]  # of a class that extend() makes


def decoded_body(content: bytes, schema: str) -> Any:  # noqa: ANN401  # a JSON value
    """Decode a body as strictly as the service does, and hold it against a schema.

    Raises:
        ProblemError: 400 for what is no JSON, 422 for JSON that can't be right.
    """
    try:
        value, repeated = decode_json(content)
    except MalformedJsonError as error:
        raise ProblemError(400, f"expected JSON: {error}") from None
    if repeated:
        raise ProblemError(400, f"expected JSON: {'; '.join(map(str, repeated[:_SHOWN]))}")
    value = _whole(value)
    errors = sorted(_validator(schema).iter_errors(value), key=lambda error: error.json_path)
    if errors:
        violations = [one for error in errors[:_SHOWN] for one in _violations(error)]
        _refuse(violations[:_SHOWN], max(len(errors), len(violations)) - _SHOWN)
    return value


def _whole(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    """Make integers of whole numbers that were written with a fraction: in JSON Schema 1.0 is an integer."""
    if not isinstance(value, dict):
        return value
    return {
        name: int(one) if name in _INTEGERS and isinstance(one, float) and one.is_integer() else one
        for name, one in value.items()
    }


def _refuse(violations: list[dict[str, str]], omitted: int = 0) -> None:
    words = "; ".join(one["message"] for one in violations)
    more = f"; and {omitted} more" if omitted > 0 else ""
    raise ProblemError(422, f"expected {words}{more}", violations=violations)


def _violations(error: ValidationError) -> list[dict[str, str]]:
    """Return what one error of jsonschema's means: each field that is wrong, what was expected of it, and what came."""
    if error.validator in {"oneOf", "anyOf"} and error.context:
        # Of several forms the one that was meant: the best match among those whose type fits.
        others = {one.schema_path[0] for one in error.context if one.validator == "type" and not one.path}
        fitting = (one for one in error.context if one.schema_path[0] not in others and one.validator != "not")
        meant = best_match(fitting)
        if meant is not None:
            return _violations(meant)
    path = "body"
    for step in error.absolute_path:
        path = member_path(path, str(step))
    value: Any = error.instance
    wanted: Any = error.validator_value
    if error.validator == "required":
        missing = [name for name in wanted if name not in value]
        return [_said(member_path(path, name), "to be there; it is missing") for name in missing]
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {})) if isinstance(error.schema, dict) else []
        extra = [name for name in value if name not in known][:_SHOWN]
        return [
            {
                "field": (field := member_path(path, cut(name, _SHOWN_NAME))),
                "message": f"no member {field}: there is {_listed(known) or 'none'}{did_you_mean(name, known)}",
            }
            for name in extra
        ]
    return [_said(path, _words(error))]


def _said(field: str, words: str) -> dict[str, str]:
    return {"field": field, "message": f"{field} {words}"}


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _SHOWN else f"the {len(names)} names in openapi.json"


def _words(error: ValidationError) -> str:
    """Return what was expected of a value, and what came."""
    value: Any = error.instance
    wanted: Any = error.validator_value
    came = f"; got {describe(value)}"
    match error.validator:
        case "enum":
            names = [str(name) for name in wanted if name is not None]
            words = f"to be one of {_listed(names)}{came}{did_you_mean(value, names)}"
        case "type":
            words = f"to be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}{came}"
        case "minimum" | "maximum" | "exclusiveMinimum":
            bound = {"minimum": "at least", "maximum": "at most"}.get(str(error.validator), "above")
            words = f"to be {bound} {wanted}{came}"
        case "maxItems":
            words = f"with at most {wanted} items; got {len(value)}"
        case "pattern":  # of a key, which must not show
            words = f"to match {wanted}; got text that does not"
        case _:
            described = str(error.schema.get("description", "")) if isinstance(error.schema, dict) else ""
            form = described[:1].lower() + described[1:].rstrip(".") or "as openapi.json says"
            words = f"to be {form}{came}"
    return words


def checked_query(given: MultiDict[str, str], known: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return query parameters as the values that they stand for.

    Raises:
        ProblemError: 422 for one that is unknown, repeated, or of a value that can't be right.
    """
    values: dict[str, Any] = {}
    violations = []
    for name, texts in given.lists():
        schema = known.get(name)
        if schema is None:
            names = ", ".join(known) or "none"
            message = f"no query parameter {cut(name, _SHOWN_NAME)!r}: there is {names}{did_you_mean(name, known)}"
        elif len(texts) > 1:
            message = f"query.{name} once; got it {len(texts)} times"
        else:
            value = _typed(texts[0], schema)
            error = best_match(_Validator(schema).iter_errors(value))
            if error is None:
                values[name] = value
                continue
            message = f"query.{name} {_words(error)}"
        violations.append({"field": f"query.{cut(name, _SHOWN_NAME)}", "message": message})
    if violations:
        _refuse(violations)
    return values


def _typed(text: str, schema: Mapping[str, Any]) -> object:
    kind = schema.get("type")
    if kind == "integer" and text.isascii() and text.isdecimal() and len(text) < 20:
        return int(text)
    if kind == "number" and _DECIMAL.fullmatch(text):
        return float(text)
    if kind == "boolean":
        return _BOOLEANS.get(text, text)
    return text
