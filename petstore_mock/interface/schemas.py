"""Reads ``schemas/*.json``, the only source of the rules for bodies and parameters, and validates with jsonschema.

One rule is stricter than JSON Schema: ``1.0`` is not an integer, unless the gap ``integral_float`` has converted it
before validation. One keyword is checked that JSON Schema only describes: the ``format`` of a text, by the rows of
``interface/kinds.py``. The schemas state the bounds of ``int64``.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# JSON values can have any type.

from __future__ import annotations

import contextlib
import os
from functools import cache, partial
from itertools import groupby, islice
from json import dumps, loads
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse
from petstore_mock.common.suggesting import nearest
from petstore_mock.common.values import is_integer
from petstore_mock.interface.kinds import KINDS, kind_of, quick, require_known
from petstore_mock.interface.table import operation_at
from petstore_mock.interface.violations import MOST_VIOLATIONS, Violation, Violations, no_such_name, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.kinds import Check, Schema
    from petstore_mock.interface.table import Operation

    # Yields the errors of a value, from the validator, the keyword's own value, the value, and the schema around it.
    _Keyword = Callable[["_Validator", Json, Json, Schema], "Iterator[_Error]"]


class _Error(Protocol):
    """An error of jsonschema."""

    validator: str  # the keyword of the schema
    validator_value: Json
    instance: Json
    schema: Schema
    context: list[_Error]  # of ``anyOf`` and ``oneOf``
    path: Sequence[str | int]  # from the error around it
    absolute_path: Sequence[str | int]
    schema_path: Sequence[str | int]


class _Validator(Protocol):
    """A validator of jsonschema."""

    def iter_errors(self, value: Json) -> Iterator[_Error]: ...

    def descend(self, value: Json, rules: Schema) -> Iterator[_Error]: ...


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
    content: Schema = loads((_DIRECTORY / f"{name}.json").read_bytes())
    return content


@cache
def schema(name: str) -> Schema:
    """Return a schema in which the referenced schemas replace every ``$ref``."""
    return component(name, "")


def component(name: str, components: str) -> Schema:
    """Return a new copy of a schema. Its only references begin with ``components``; if that is empty, it has none."""
    resolved: Schema = _resolved(document(name), name, components)
    return resolved


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
    part: Json = document(name)
    for step in filter(None, pointer.split("/")):
        if step not in part:
            refuse(f"expected {pointer} in schemas/{name}.json, because another schema names it; got no {step}")
        part = part[step]
    return part


def properties(name: str) -> Mapping[str, Schema]:
    """Return the properties of an object's schema."""
    by_property: Mapping[str, Schema] = schema(name)["properties"]
    return by_property


def required_names(name: str) -> list[str]:
    """Return the names of an object's required properties."""
    required: list[str] = schema(name).get("required", [])
    return required


def parameters(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of an operation's parameters, by name."""
    return properties(operation.parameters_schema)


def are_right(operation: Operation, texts: Mapping[str, str]) -> bool:
    """Whether the texts of parameters have values that the schemas allow. Other names are ignored."""
    for name, rules in parameters(operation).items():
        if name in texts and not quick(rules)(kind_of(rules).read(texts[name])):
            return False
    return True


def members_of(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of the members of an operation's body, by name; empty if it has no body."""
    return properties(operation.body) if operation.body else {}


def fields_of(operation: Operation) -> JsonObject:
    """Return the schemas of the members of an operation's body that set a field, by the names of the fields."""
    return operation.fields_in(members_of(operation), {})


def arguments(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of the arguments of a call: the operation's parameters, and the members of its body."""
    return {**parameters(operation), **members_of(operation)}


def required_arguments(operation: Operation) -> list[str]:
    """Return the names of the required arguments of a call."""
    required = [*required_names(operation.parameters_schema)]
    if operation.body:
        required += required_names(operation.body)
    return [name for name in arguments(operation) if name in required]


# The validator


def violations(rules: Schema, value: Json, location: str) -> Violations:
    """Return the rules of the schema ``rules`` that ``value`` breaks, sorted by path. The list has a limit."""
    errors: list[_Error] = []
    for error in validator_class()(rules).iter_errors(value):
        errors.extend(_relevant(error))
    # Unknown members are added last: a client can send any number of them, and the list has a limit.
    errors.sort(key=lambda error: error.validator == "additionalProperties")
    # A wrong type causes further errors of the same value, so only the type is reported.
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    broken = Violations()
    for error in errors:
        is_independent = error.validator in _INDEPENDENT
        if is_independent or tuple(error.absolute_path) not in mistyped:
            _add(broken, error, location)
    broken.sort(key=lambda violation: (violation.path, violation.rule))
    return broken


def allows(rules: Schema, value: Json) -> bool:
    """Whether a schema allows a value. The quick check decides about most values."""
    return quick(rules)(value) or not violations(rules, value, "")


# Rules that are reported although the same value has a wrong type.
_INDEPENDENT: Final = frozenset({"type", "required", "additionalProperties"})


def _add(broken: Violations, error: _Error, location: str) -> None:
    """Add the violations of one error: one for each missing or unknown member, or one."""
    path = path_of(error.absolute_path, location)
    rule = error.validator
    if rule == "required":
        missing = [f"{path}.{name}" for name in error.validator_value if name not in error.instance]
        broken.fill(missing, lambda member: Violation(member, "required", "is required and missing"))
    elif rule == "additionalProperties":
        _add_unknown(broken, path, error.instance, error.schema.get("properties", {}))
    else:
        broken.fill([path], partial(Violation, rule=rule, expected=_words(rule, error), value=error.instance))


def _add_unknown(broken: Violations, path: str, value: Mapping[str, object], known: Schema) -> None:
    def violation(name: str) -> Violation:
        return no_such_name(name, value[name], path, known, "field here", given=value)

    broken.fill([name for name in value if name not in known], violation)


def _relevant(error: _Error) -> Iterator[_Error]:
    """Yield an error; for ``anyOf`` and ``oneOf``, yield the errors of the form that fits the value best."""
    if not error.context:
        yield error
        return
    forms = groupby(error.context, key=lambda inner: inner.schema_path[0])
    for inner in min((list(form) for _, form in forms), key=_distance):
        yield from _relevant(inner)


def _distance(form: Sequence[_Error]) -> tuple[bool, int, bool]:
    """Order the forms: the best one has the right type, the fewest broken rules, and no unknown names."""
    own = {error.validator for error in form if not error.path}
    return "type" in own, len(form), "additionalProperties" in own


_WORDS: Final = {
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


def _words(rule: str, error: _Error) -> str:
    """Return the requirement of a keyword, in words that follow the path of the value."""
    wanted = error.validator_value
    if rule == "enum":
        return f"must be {_one_of(wanted)}{_meant(error.instance, wanted)}"
    if rule == "type":
        return _words_of_type(wanted, error)
    if rule == "format":
        return f"must be {_FORMATS[wanted].expected}"
    return _WORDS.get(rule, f"must satisfy {rule} {{}}").format(wanted)


def _words_of_type(wanted: str | list[str], error: _Error) -> str:
    types = [wanted] if isinstance(wanted, str) else wanted
    words = f"must be {' or '.join(map(_with_article, types))}"
    if "enum" in error.schema:
        words += f", {_one_of(error.schema['enum'])}"
    forms = error.schema.get("discriminator", {"mapping": ()})
    return words + _meant(error.instance, forms["mapping"])


def _one_of(values: Iterable[object]) -> str:
    texts = [value if isinstance(value, str) else dumps(value) for value in values]
    return f"one of {', '.join(texts)}"


def _meant(value: object, allowed: Iterable[object]) -> str:
    """Return a hint to the nearest allowed value; empty if no value is near."""
    if not isinstance(value, str):
        return ""
    name = operation_at(value)
    if name is None:
        name = value
    near = nearest(name, map(str, allowed))
    return "" if near is None else f" (did you mean {near}?)"


def _with_article(kind: str) -> str:
    if kind == "null":
        return kind
    article = "an" if kind[0] in "aio" else "a"
    return f"{article} {kind}"


# The kinds by the value of the keyword ``format``.
_FORMATS: Final = {kind.format: kind for kind in KINDS.values()}
_loading: Final = RLock()
if hasattr(os, "register_at_fork"):  # a child forked during the import would wait for the lock for ever
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


@cache
def validator_class() -> Callable[[Schema], _Validator]:
    """Return jsonschema's validator class, with a strict integer type and with limits on the number of errors."""
    with _loading:
        import jsonschema  # takes 80 ms, and few requests need it

    library: Any = jsonschema  # most of its own types are Any
    theirs = library.Draft202012Validator
    checker = theirs.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value))
    keywords = _keywords(theirs.VALIDATORS, library.ValidationError)
    extended: Callable[[Schema], _Validator] = library.validators.extend(theirs, keywords, type_checker=checker)
    return extended


def _keywords(theirs: Mapping[str, _Keyword], error: Callable[[str], _Error]) -> dict[str, _Keyword]:
    """Return the keywords that differ from jsonschema's own."""

    def required(_: _Validator, names: Json, value: Json, _rules: Schema) -> Iterator[_Error]:
        # jsonschema's own keyword yields an error for each name.
        if isinstance(value, dict) and not value.keys() >= set(names):
            yield error("")

    def closed(validator: _Validator, allowed: Json, value: Json, rules: Schema) -> Iterator[_Error]:
        if allowed is not False:
            yield from theirs["additionalProperties"](validator, allowed, value, rules)
        elif isinstance(value, dict) and not value.keys() <= rules.get("properties", {}).keys():
            # jsonschema's own message sorts all names: seconds for millions of them.
            yield error("")

    def items(validator: _Validator, rules: Json, value: Json, outer: Schema) -> Iterator[_Error]:
        yield from islice(theirs["items"](validator, rules, value, outer), MOST_VIOLATIONS + 1)

    def formatted(_: _Validator, name: str, value: Json, _rules: Schema) -> Iterator[_Error]:
        if isinstance(value, str) and name in _FORMATS and not _FORMATS[name].has_format(value):
            yield error("")

    return {
        "required": required,
        "additionalProperties": closed,
        "items": items,
        "discriminator": _discriminator,
        "format": formatted,
    }


def _discriminator(validator: _Validator, forms: Json, value: Json, _rules: Schema) -> Iterator[_Error]:
    """Check a value by the schema that a discriminator chooses, as in OpenAPI. An "if" for each kind would be slow."""
    if not is_object(value):
        return
    kind = value.get(forms["propertyName"])
    if isinstance(kind, str) and kind in forms["mapping"]:
        yield from validator.descend(value, {"$ref": forms["mapping"][kind]})


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
