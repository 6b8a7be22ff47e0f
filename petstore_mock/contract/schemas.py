"""Compiles ``schemas/*.json``, decodes JSON strictly, and returns violations as data.

The schemas are the only source of the rules for bodies and parameters. Two things that JSON Schema leaves open
are settled here: ``1.0`` is no integer for us (the gap ``integral_float`` decides before the validator is asked), and
``int64`` is asserted by bounds in the schemas, since ``format`` asserts nothing.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.numbers import is_integer
from petstore_mock.contract.fast_validator import compile_fast_validator
from petstore_mock.contract.schema_errors import SchemaError, find_errors, is_plain
from petstore_mock.contract.schema_files import follow, read_document, resolve
from petstore_mock.contract.violations import MOST_VIOLATIONS, Violation, Violations, member_path, no_such_name, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

__all__ = ["SCHEMA_NAMES", "Schemas", "assertions_of", "by_jsonschema", "default_schemas", "gather", "validator_class"]

SCHEMA_NAMES: Final = (
    "Error",
    "NewPet",
    "Pet",
    "PetStatus",
    "Pets",
    "createPet.parameters",
    "getPet.parameters",
    "listPets.parameters",
)

# Keywords that assert nothing. The validator's copy goes without them: jsonschema walks over every keyword of a schema,
# and `$id` opens a new resource at each descent, which costs more than the checks themselves.
_ANNOTATIONS: Final = frozenset({"$schema", "$id", "title", "description", "format", "default", "$comment", "examples"})


class Schemas:
    """The rules of one directory of schemas.

    Args:
        directory: where ``NewPet.json`` and its like are.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.documents: dict[str, dict[str, Any]] = {name: read_document(directory, name) for name in SCHEMA_NAMES}
        self.resolved: dict[str, dict[str, Any]] = {name: resolve(self.documents, name) for name in SCHEMA_NAMES}
        self._asserting = {name: assertions_of(schema) for name, schema in self.resolved.items()}
        self._fast_validators = {name: compile_fast_validator(schema) for name, schema in self._asserting.items()}
        self._finders: dict[str, Callable[[Any], Iterable[SchemaError]]] = {}  # made when first asked

    def __repr__(self) -> str:
        return f"<Schemas {self.directory}>"

    def lookup(self, reference: str) -> Mapping[str, Any]:
        """Return the schema that a ``$ref`` of these schemas leads to."""
        return follow(self.documents, reference)

    def fast_validator(self, name: str) -> Callable[[Any], bool]:
        """Return what says quickly that a value is valid by the schema ``name``; else :meth:`validate` knows."""
        return self._fast_validators[name]

    def validate(self, name: str, value: Any, location: str) -> Violations:  # noqa: ANN401  # a JSON value is any value
        """Hold ``value`` against the schema ``name`` and return every rule that it breaks, in path order.

        Of a value of the wrong type that is the type alone: what else it breaks follows from it.

        Args:
            name: one of ``SCHEMA_NAMES``.
            value: a decoded JSON value.
            location: where it was found, ``body`` or ``query`` or ``path``: the first part of each path.
        """
        if self._fast_validators[name](value):
            return Violations()
        find = self._finders.get(name)
        if find is None:
            schema = self._asserting[name]
            find = self._finders[name] = partial(find_errors, schema) if is_plain(schema) else by_jsonschema(schema)
        return gather(find(value), location)

    def properties(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the properties of the object schema ``name``, with their references resolved."""
        found: Mapping[str, Any] = self.resolved[name].get("properties", {})
        # `true` and `false` are schemas, too; whoever asks here wants keywords, of which they have none.
        return {field: schema if isinstance(schema, dict) else {} for field, schema in found.items()}


def assertions_of(node: Any) -> Any:  # noqa: ANN401  # walks any JSON value
    """Return the part of a resolved schema that asserts something."""
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key not in _ANNOTATIONS}
    if "properties" in kept:
        kept["properties"] = {name: assertions_of(schema) for name, schema in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = assertions_of(kept["items"])
    return kept


@cache
def validator_class() -> Any:  # noqa: ANN401  # jsonschema types its validator classes as Any
    """Return jsonschema's validator, with our notion of an integer."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415  # heavy: 60 ms, once, when first used
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    theirs: Any = Draft202012Validator.VALIDATORS["additionalProperties"]

    def closed(validator: Validator, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401
        if allowed is not False or "patternProperties" in schema:
            yield from theirs(validator, allowed, instance, schema)
        elif isinstance(instance, dict) and not instance.keys() <= schema.get("properties", {}).keys():
            yield ValidationError("")  # theirs sorts and writes out all the names, to no use here

    divided: Any = Draft202012Validator.VALIDATORS["multipleOf"]

    def multiple(validator: Validator, step: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ANN401
        try:
            yield from divided(validator, step, instance, schema)
        except OverflowError:  # theirs divides as doubles; 1e400 is none, nor is an integer of 400 digits
            if isinstance(instance, float) or Fraction(instance) % Fraction(step):
                yield ValidationError("")

    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value))
    extended = {"additionalProperties": closed, "multipleOf": multiple}
    return validators.extend(Draft202012Validator, extended, type_checker=checker)  # type: ignore[no-untyped-call]  # theirs


def by_jsonschema(schema: Any) -> Callable[[Any], list[SchemaError]]:  # noqa: ANN401  # `true` is a schema, too
    """Return what finds the errors of any schema as :func:`find_errors` does of a plain one."""
    validator = validator_class()(schema)

    def find(value: Any) -> list[SchemaError]:  # noqa: ANN401  # a JSON value is any value
        errors = [
            SchemaError(tuple(one.absolute_path), one.validator, one.validator_value, one.instance, one.schema)
            for one in validator.iter_errors(value)
        ]
        # What else: an enumeration, or the bounds of an integer that came as a float.
        mistyped = {error.path for error in errors if error.keyword == "type"}
        return [error for error in errors if error.keyword == "type" or error.path not in mistyped]

    return find


def gather(errors: Iterable[SchemaError], location: str) -> Violations:
    """Make the violations, in path order. A client can add unknown members without end: they take what room is left."""
    made: dict[Violation, None] = {}
    unknown = []
    for error in errors:
        if error.keyword == "additionalProperties":
            unknown.append(error)
        else:
            made.update(dict.fromkeys(_violations(error, location)))
    found = Violations(made)
    for error in unknown:
        known = _known(error)
        names = [name for name in error.value if name not in known]
        shown = names[: found.room]
        found.omitted += len(names) - len(shown)
        found += dict.fromkeys(_unknown_members(error, shown, location))  # shortened names may be one path
    found.sort(key=lambda violation: (violation.path, violation.rule))
    found.omitted += len(found[MOST_VIOLATIONS:])
    del found[MOST_VIOLATIONS:]
    return found


def _known(error: SchemaError) -> Mapping[str, Any]:
    known: Mapping[str, Any] = error.schema.get("properties", {})
    return known


def _unknown_members(error: SchemaError, names: Iterable[str], location: str) -> list[Violation]:
    path = path_of(error.path, location)
    known = _known(error)
    return [
        Violation(
            member_path(path, name),
            "additionalProperties",
            no_such_name(name, known, "field here", given=error.value),
            error.value[name],
        )
        for name in names
    ]


def _violations(error: SchemaError, location: str) -> list[Violation]:
    """Turn one error into our violations."""
    path = path_of(error.path, location)
    rule, schema, value = error.keyword, error.schema, error.value
    if rule == "required":
        missing = [name for name in schema["required"] if name not in value]
        return [Violation(f"{path}.{name}", rule, "is required and missing") for name in missing]
    expected = _expected(rule, error.wanted)
    if rule == "type" and "enum" in schema:  # not told apart: it would say the same value again
        expected += f", {_one_of(schema['enum'])}"
    return [Violation(path, rule, expected, value)]


def _expected(rule: str, wanted: Any) -> str:  # noqa: ANN401  # the value of any keyword
    if rule == "type":
        return "must be " + " or ".join(map(_with_article, [wanted] if isinstance(wanted, str) else wanted))
    if rule == "enum":
        return f"must be {_one_of(wanted)}"
    words, unit = {
        "minimum": ("must be at least", ""),
        "maximum": ("must be at most", ""),
        "exclusiveMinimum": ("must be more than", ""),
        "exclusiveMaximum": ("must be less than", ""),
        "minLength": ("must have at least", f" character{'' if wanted == 1 else 's'}"),
        "maxLength": ("must have at most", f" character{'' if wanted == 1 else 's'}"),
        "pattern": ("must match", ""),
        "multipleOf": ("must be a multiple of", ""),
    }.get(rule, (f"must satisfy {rule}", ""))
    return f"{words} {wanted}{unit}"


def _one_of(allowed: Iterable[Any]) -> str:
    return "one of " + ", ".join(item if isinstance(item, str) else json.dumps(item) for item in allowed)


def _with_article(kind: str) -> str:
    if kind == "null":
        return kind
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


@cache
def default_schemas() -> Schemas:
    """Return the schemas that ship with the package; in a checkout, those at its top level."""
    here = Path(__file__).parent.parent
    shipped = here / "_schemas"
    return Schemas(shipped if shipped.is_dir() else here.parent / "schemas")
