"""A quick way to say that a value is valid; what it does not vouch for, others validate.

jsonschema takes some 30 µs for a NewPet, three quarters of what creating an animal may cost in all. The fast validator
is made from a plain schema (:mod:`petstore_mock.contract.schema_errors`), and says yes or "ask further": it never
refuses anything and never words a violation. A test holds it to agree with jsonschema.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from petstore_mock.contract.schema_errors import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["compile_fast_validator"]


def compile_fast_validator(schema: object) -> Callable[[Any], bool]:
    """Return a function that is true only for values that ``schema`` allows; of one that is not plain, for none.

    Args:
        schema: a schema without references and annotations.
    """
    return _compile(schema) if is_plain(schema) else _unsure


def _unsure(_: object) -> bool:
    return False


def _compile(schema: Any) -> Callable[[Any], bool]:  # noqa: ANN401  # an object, of those keywords
    match schema["type"]:
        case "integer":
            least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
            # The exact type: a bool is no integer, and a HugeInteger is looked at more closely.
            return lambda value: type(value) is int and least <= value <= most
        case "string":
            if schema.keys() == {"type"}:
                return lambda value: type(value) is str
            if schema.keys() != {"type", "enum"}:  # lengths: rare enough to leave to others
                return _unsure
            allowed = frozenset(schema["enum"])
            return lambda value: type(value) is str and value in allowed
        case "object":
            return _objects(schema)
        case _:
            return _unsure  # of an array, likewise


def _objects(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    required = frozenset(schema.get("required", ()))
    members = {name: _compile(member) for name, member in schema.get("properties", {}).items()}

    def accepts_object(value: Any) -> bool:  # noqa: ANN401  # a JSON value is any value
        if type(value) is not dict or not value.keys() >= required:
            return False
        for name, member in value.items():  # noqa: SIM110  # all() of a generator takes half as long again
            if not members.get(name, _unsure)(member):  # of an open object: what is in it is looked at more closely
                return False
        return True

    return accepts_object
