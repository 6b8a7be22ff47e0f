"""Reads ``schemas/*.json``, the only source of the rules for bodies and parameters, and validates with jsonschema.

One rule is stricter than JSON Schema: ``1.0`` is not an integer, unless the gap ``integral_float`` has converted it
before validation. One keyword is checked that JSON Schema only describes: the ``format`` of a text, by the rows of
``interface/kinds.py``. The schemas state the bounds of ``int64``.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# JSON values can have any type, and most of jsonschema's own types are Any.

from __future__ import annotations

import contextlib
import os
from functools import cache, partial
from itertools import groupby, islice
from json import dumps, loads
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.suggesting import nearest
from petstore_mock.common.values import is_integer
from petstore_mock.interface.kinds import KINDS, kind_of, quick, require_known
from petstore_mock.interface.table import operation_at
from petstore_mock.interface.violations import MOST_VIOLATIONS, Violation, Violations, no_such_name, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.table import Operation

    Schema = Mapping[str, Any]
    Check = Callable[[Any], bool]

_PACKAGE: Final = Path(__file__).parent.parent
_SOURCES: Final = (_PACKAGE / "_schemas", _PACKAGE.parent / "schemas", _PACKAGE.parent.parent / "schemas")
# The first folder that exists: inside an installed package, beside the package in a checkout, or one level higher.
_DIRECTORY: Final = next((directory for directory in _SOURCES if directory.is_dir()), _SOURCES[0])


_NAMES: Final = tuple(sorted(path.stem for path in _DIRECTORY.glob("*.json")))


def names() -> list[str]:
    """Return the names of all schemas."""
    return [*_NAMES]


@cache
def document(name: str) -> Schema:
    """Return a schema as its file contains it, with references."""
    found: Schema = loads((_DIRECTORY / f"{name}.json").read_bytes())
    return found


@cache
def schema(name: str) -> Schema:
    """Return a schema in which the referenced schemas replace every ``$ref``."""
    return component(name, "")


def component(name: str, components: str) -> Schema:
    """Return a new copy of a schema. Its only references begin with ``components``; if that is empty, it has none."""
    found: Schema = _resolved(document(name), name, components)
    return found


# With an `$id`, jsonschema would open a new resource at each level.
_OF_DOCUMENTS: Final = frozenset({"$id", "$ref", "$schema"})


def _resolved(node: Json, file: str, components: str) -> Json:
    """Return a part of a schema without references. ``file`` is the name of the schema that it stands in."""
    if is_array(node):
        return [_resolved(item, file, components) for item in node]
    if not is_object(node):
        return node
    own: JsonObject = {}
    for key, value in node.items():
        if key not in _OF_DOCUMENTS:
            own[key] = _resolved(value, file, components)
    reference = node.get("$ref")
    if reference is None:
        return own
    target, _, pointer = reference.partition("#")
    name = target.removesuffix(".json") or file
    if components and not pointer:
        return {"$ref": f"{components}{name}", **own}
    return {**_resolved(_part(name, pointer), name, components), **own}


def _part(name: str, pointer: str) -> Json:
    """Return the part of a schema that a JSON pointer names (RFC 6901); the whole schema without a pointer."""
    part: Any = document(name)
    steps = pointer.strip("/").split("/") if pointer else []
    for step in steps:
        part = part[step]
    return part


def properties(name: str) -> Mapping[str, Schema]:
    """Return the properties of an object's schema."""
    found: Mapping[str, Schema] = schema(name)["properties"]
    return found


def parameters(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of an operation's parameters, by name."""
    return properties(operation.parameters_schema)


def are_right(operation: Operation, texts: Mapping[str, str]) -> bool:
    """Whether the texts of parameters have values that the schemas allow. Other names are ignored."""
    known = {name: rules for name, rules in parameters(operation).items() if name in texts}
    return all(quick(rules)(kind_of(rules).read(texts[name])) for name, rules in known.items())


def arguments(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of the arguments of a call: the operation's parameters, and the members of its body."""
    return {**parameters(operation), **(properties(operation.body) if operation.body else {})}


def required_arguments(operation: Operation) -> list[str]:
    """Return the names of the required arguments of a call."""
    parts = [schema(part).get("required", ()) for part in (operation.parameters_schema, operation.body) if part]
    return [name for name in arguments(operation) if any(name in part for part in parts)]


# The validator


def violations(rules: Schema, value: Json, location: str) -> Violations:
    """Return the rules of the schema ``rules`` that ``value`` breaks, sorted by path. The list has a limit."""
    errors: list[Any] = []
    for error in validator_class()(rules).iter_errors(value):
        errors.extend(_relevant(error))
    # Unknown members are added last: a client can send any number of them, and the list has a limit.
    errors.sort(key=lambda error: error.validator == "additionalProperties")
    # A wrong type causes further errors of the same value, so only the type is reported.
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    found = Violations()
    for error in errors:
        is_independent = error.validator in _INDEPENDENT
        if is_independent or tuple(error.absolute_path) not in mistyped:
            _add(found, error, location)
    found.sort(key=lambda violation: (violation.path, violation.rule))
    return found


# Rules that are reported although the same value has a wrong type.
_INDEPENDENT: Final = frozenset({"type", "required", "additionalProperties"})


def _add(found: Violations, error: Any, location: str) -> None:  # noqa: ANN401  # jsonschema's ValidationError
    """Add the violations of one error: one for each missing or unknown member, or one."""
    path, rule = path_of(error.absolute_path, location), error.validator
    if rule == "required":
        missing = [f"{path}.{name}" for name in error.validator_value if name not in error.instance]
        found.fill(missing, lambda member: Violation(member, "required", "is required and missing"))
    elif rule == "additionalProperties":
        _add_unknown(found, path, error.instance, error.schema.get("properties", {}))
    else:
        found.fill([path], partial(Violation, rule=rule, expected=_words(rule, error), value=error.instance))


def _add_unknown(found: Violations, path: str, value: Mapping[str, Any], known: Schema) -> None:
    def violation(name: str) -> Violation:
        words = no_such_name(name, known, "field here", given=value)
        return Violation(path_of([name], path), "additionalProperties", words, value[name])

    found.fill([name for name in value if name not in known], violation)


def _relevant(error: Any) -> Iterator[Any]:  # noqa: ANN401  # jsonschema's ValidationError
    """Yield an error; for ``anyOf`` and ``oneOf``, yield the errors of the form that fits the value best."""
    forms = [list(form) for _, form in groupby(error.context, key=lambda one: one.schema_path[0])]
    if not forms:
        yield error
        return

    # The best form has the right type, the fewest broken rules, and no unknown names.
    def distance(form: list[Any]) -> tuple[bool, int, bool]:
        own = {one.validator for one in form if not one.path}
        return "type" in own, len(form), "additionalProperties" in own

    for one in min(forms, key=distance):
        yield from _relevant(one)


_WORDS: Final[Mapping[str, str]] = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have a length of at least {}",
    "maxLength": "must have a length of at most {}",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "pattern": "must match {}",
}


def _words(rule: str, error: Any) -> str:  # noqa: ANN401  # as above
    """Return the requirement of a keyword, in words that follow the path of the value."""
    wanted = error.validator_value
    if rule == "enum":
        return f"must be {_one_of(wanted)}{_meant(error.instance, wanted)}"
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        choices = f", {_one_of(error.schema['enum'])}" if "enum" in error.schema else ""
        form = f"must be {' or '.join(map(_with_article, kinds))}{choices}"
        return f"{form}{_meant(error.instance, error.schema.get('discriminator', {}).get('mapping', ()))}"
    if rule == "format":
        return f"must be {next(kind.expected for kind in KINDS.values() if kind.format == wanted)}"
    return _WORDS.get(rule, f"must satisfy {rule} {{}}").format(wanted)


def _one_of(values: Iterable[object]) -> str:
    texts = [value if isinstance(value, str) else dumps(value) for value in values]
    return f"one of {', '.join(texts)}"


def _meant(value: object, allowed: Iterable[object]) -> str:
    """Return a hint to the nearest allowed value; empty if no value is near."""
    if not isinstance(value, str):
        return ""
    meant = operation_at(value)
    near = nearest(value if meant is None else meant, map(str, allowed))
    return "" if near is None else f" (did you mean {near}?)"


def _with_article(kind: str) -> str:
    return kind if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


# The checks of the formats of texts, by the value of the keyword.
_FORMATS: Final = {kind.format: kind.has_format for kind in KINDS.values() if kind.has_format is not None}
_loading: Final = RLock()
if hasattr(os, "register_at_fork"):  # a child forked during the import would wait for the lock for ever
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


@cache
def validator_class() -> Any:  # noqa: ANN401  # most of jsonschema's own types are Any
    """Return jsonschema's validator class, with a strict integer type and with limits on the number of errors."""
    with _loading:
        import jsonschema  # takes 80 ms, and few requests need it

    library: Any = jsonschema
    theirs = library.Draft202012Validator
    checker = theirs.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value))
    return library.validators.extend(theirs, _keywords(library), type_checker=checker)


def _keywords(library: Any) -> JsonObject:  # noqa: ANN401  # as above
    """Return the keywords that differ from jsonschema's own."""
    theirs = library.Draft202012Validator.VALIDATORS

    def required(_validator: Any, names: Any, value: Any, _rules: Schema) -> Iterator[Any]:  # noqa: ANN401
        if isinstance(value, dict) and not value.keys() >= set(names):
            yield library.ValidationError("")  # jsonschema's own keyword yields an error for each name

    def closed(validator: Any, allowed: Any, value: Any, rules: Schema) -> Iterator[Any]:  # noqa: ANN401
        if allowed is not False:
            yield from theirs["additionalProperties"](validator, allowed, value, rules)
        elif isinstance(value, dict) and not value.keys() <= rules.get("properties", {}).keys():
            yield library.ValidationError("")  # jsonschema's own message sorts all names: seconds for millions of them

    def items(validator: Any, rules: Any, value: Any, outer: Schema) -> Iterator[Any]:  # noqa: ANN401
        yield from islice(theirs["items"](validator, rules, value, outer) or (), MOST_VIOLATIONS + 1)

    def discriminator(judge: Any, forms: Any, value: Any, _rules: Schema) -> Iterator[Any]:  # noqa: ANN401
        reference = _reference(forms, value)
        if reference is not None:
            yield from judge.descend(value, {"$ref": reference})

    formatted = partial(_formatted, library.ValidationError)
    return {
        "required": required,
        "additionalProperties": closed,
        "items": items,
        "discriminator": discriminator,
        "format": formatted,
    }


def _formatted(error: Any, _validator: Any, name: str, value: object, _rules: Schema) -> Iterator[Any]:  # noqa: ANN401
    if _breaks_format(name, value):
        yield error("")


def _reference(forms: Any, value: Any) -> str | None:  # noqa: ANN401
    """Return the schema that a discriminator chooses, as in OpenAPI. An "if" for each kind would be slow."""
    kind = value.get(forms["propertyName"]) if is_object(value) else None
    mapping: Mapping[str, str] = forms["mapping"]
    return mapping.get(kind) if isinstance(kind, str) else None


def _breaks_format(name: str, value: object) -> bool:
    has_format = _FORMATS.get(name)
    return has_format is not None and isinstance(value, str) and not has_format(value)


def preload_validator() -> None:
    """Import jsonschema early, so that the first refusal is fast. A listener does this in a thread of its own."""
    with contextlib.suppress(Exception):  # the first refusal imports it again, and fails visibly
        validator_class()


# The quick check


@cache
def is_valid(name: str) -> Check:
    """Return a quick check: True means valid, and False means that ``violations`` must decide."""
    return quick(schema(name))


# The loop reads every schema now: later, a test may have replaced the file system.
for _name in names():
    require_known(schema(_name), f"schemas/{_name}.json")
