"""``schemas/*.json``: the only source of the rules for bodies and parameters, and jsonschema as their judge.

JSON Schema leaves two things open that are decided here. ``1.0`` is no integer: the gap ``integral_float`` decides
before the judge is asked. The schemas write the bounds of ``int64`` out, since ``format`` asserts nothing.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# JSON values have any type, and jsonschema's own types are Any for the most part.

from __future__ import annotations

import contextlib
import math
import os
from functools import cache, partial
from itertools import islice
from json import dumps, loads
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import nearest
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.interface.violations import MOST_VIOLATIONS, Violation, Violations, no_such_name, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.interface.table import Operation

    Schema = Mapping[str, Any]
    Check = Callable[[Any], bool]

_PACKAGE: Final = Path(__file__).parent.parent
_SOURCES: Final = (_PACKAGE / "_schemas", _PACKAGE.parent / "schemas", _PACKAGE.parent.parent / "schemas")
# The first is the wheel's, the second a checkout's, the third that of a package in a folder of the checkout.
_DIRECTORY: Final = next((directory for directory in _SOURCES if directory.is_dir()), _SOURCES[0])


def names() -> list[str]:
    """Return the names of all schemas."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.json"))


@cache
def document(name: str) -> Schema:
    """Return a schema as its file has it."""
    found: Schema = loads((_DIRECTORY / f"{name}.json").read_bytes())
    return found


@cache
def schema(name: str) -> Schema:
    """Return a schema with the referred schemas in place of every ``$ref``."""
    found: Schema = _resolved(document(name), name)
    return found


def _resolved(node: Any, file: str) -> Any:  # noqa: ANN401  # a JSON value
    if is_array(node):
        return [_resolved(item, file) for item in node]
    if not is_object(node):
        return node
    # With `$id`, jsonschema opens a new resource at each descent.
    kept = {key: _resolved(value, file) for key, value in node.items() if key not in {"$id", "$ref", "$schema"}}
    if "$ref" not in node:
        return kept
    target, _, pointer = node["$ref"].partition("#")
    name = target.removesuffix(".json") or file
    found: Any = document(name)
    for step in pointer.strip("/").split("/") if pointer else ():
        found = found[step]
    return {**_resolved(found, name), **kept}


def properties(name: str) -> Mapping[str, Schema]:
    """Return the properties of an object's schema."""
    found: Mapping[str, Schema] = schema(name)["properties"]
    return found


def parameters(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of an operation's parameters, by name."""
    return properties(operation.parameters_schema)


# The judge


def violations(rules: Schema, value: Any, location: str) -> Violations:  # noqa: ANN401  # a JSON value is any value
    """Hold ``value`` against the schema ``rules``; return every rule that it breaks, in path order."""
    errors = [one for error in judge_class()(rules).iter_errors(value) for one in _told(error)]
    # A value of the wrong type breaks the type alone: its other violations follow from it.
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    found = Violations()
    # A client can add unknown members without end: they take the room that the others leave.
    for error in sorted(errors, key=lambda error: error.validator == "additionalProperties"):
        if error.validator == "type" or tuple(error.absolute_path) not in mistyped:
            _add(found, error, path_of(error.absolute_path, location))
    found.sort(key=lambda violation: (violation.path, violation.rule))
    return found


def _add(found: Violations, error: Any, path: str) -> None:  # noqa: ANN401  # jsonschema's ValidationError
    rule, value = error.validator, error.instance
    if rule == "required":
        missing = [f"{path}.{name}" for name in error.validator_value if name not in value]
        found.fill(missing, lambda path: Violation(path, rule, "is required and missing"))
    elif rule == "additionalProperties":
        known = error.schema.get("properties", {})
        words = partial(no_such_name, known=known, kind="field here", given=value)
        unknown = [name for name in value if name not in known]
        found.fill(unknown, lambda name: Violation(path_of([name], path), rule, words(name), value[name]))
    else:
        words_of_rule = _words(rule, error.validator_value, error)
        found.fill([path], lambda path: Violation(path, rule, words_of_rule, value))


def _told(error: Any) -> Iterator[Any]:  # noqa: ANN401  # as above
    """Yield an error, or those of the form that was meant: its type and most rules fit, and it knows the names."""
    if error.validator not in {"anyOf", "oneOf"} or not error.context:
        yield error
        return
    forms: dict[int, list[Any]] = {}
    for one in error.context:
        forms.setdefault(one.schema_path[0], []).append(one)

    def distance(form: list[Any]) -> tuple[bool, int, bool]:
        own = {one.validator for one in form if not one.path}
        return "type" in own, len(form), "additionalProperties" in own

    for one in min(forms.values(), key=distance):
        yield from _told(one)


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


def _words(rule: str, wanted: Any, error: Any) -> str:  # noqa: ANN401  # the value of any keyword
    """Return what a keyword demands of a value, in words that follow its path."""
    if rule not in {"type", "enum"}:
        return _WORDS.get(rule, f"must satisfy {rule} {{}}").format(wanted)
    values = error.schema.get("enum", ())
    allowed = ", ".join(one if isinstance(one, str) else dumps(one) for one in values)
    if rule == "enum":
        meant = nearest(error.instance, map(str, values)) if isinstance(error.instance, str) else None
        return f"must be one of {allowed}{f' (did you mean {meant}?)' if meant else ''}"
    kinds = [wanted] if isinstance(wanted, str) else wanted
    articles = {"integer": "an ", "array": "an ", "object": "an ", "null": ""}
    words = " or ".join(f"{articles.get(kind, 'a ')}{kind}" for kind in kinds)
    return f"must be {words}{f', one of {allowed}' if allowed else ''}"


_loading: Final = RLock()
if hasattr(os, "register_at_fork"):  # a child that is born during the import would wait for it for ever
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


@cache
def judge_class() -> Any:  # noqa: ANN401  # jsonschema's own types are Any for the most part
    """Return jsonschema's validator, with our notion of an integer and with bounds on what it finds."""
    with _loading:
        import jsonschema  # noqa: PLC0415  # heavy (80 ms): only for a refusal

    library: Any = jsonschema
    theirs = library.Draft202012Validator
    validators = theirs.VALIDATORS

    def required(_judge: Any, names: Any, value: Any, _rules: Schema) -> Iterator[Any]:  # noqa: ANN401
        if isinstance(value, dict) and not value.keys() >= set(names):
            yield library.ValidationError("")  # theirs has an error for each name

    def closed(judge: Any, allowed: Any, value: Any, rules: Schema) -> Iterator[Any]:  # noqa: ANN401
        if allowed is not False:
            yield from validators["additionalProperties"](judge, allowed, value, rules)
        elif isinstance(value, dict) and not value.keys() <= rules.get("properties", {}).keys():
            yield library.ValidationError("")  # theirs writes out all the names: 17 s for 100,000 of them

    def items(judge: Any, rules: Any, value: Any, outer: Schema) -> Iterator[Any]:  # noqa: ANN401
        yield from islice(validators["items"](judge, rules, value, outer) or (), MOST_VIOLATIONS + 1)

    extended = {"required": required, "additionalProperties": closed, "items": items}
    checker = theirs.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value))
    return library.validators.extend(theirs, extended, type_checker=checker)


def preload_judge() -> None:
    """Import jsonschema; for a daemon thread, so that the first refusal need not."""
    with contextlib.suppress(Exception):  # the first refusal tries again, and fails visibly
        judge_class()


# The quick check


@cache
def is_valid(name: str) -> Check:
    """Return the quick check of the schema ``name``."""
    return quick(schema(name))


_ANNOTATIONS: Final = frozenset({"type", "title", "description", "format", "default", "examples"})


def quick(rules: Schema) -> Check:
    """Return a function that is true only for values that a schema allows; of others, ask the judge."""
    make, followed = _QUICK.get(str(rules.get("type")), (_no_check, ""))
    return make(rules) if rules.keys() - _ANNOTATIONS <= {*followed.split()} else _ask


def _ask(_: object) -> bool:
    return False


def _no_check(_: Schema) -> Check:
    return _ask


def _integer(rules: Schema) -> Check:
    least, most = rules.get("minimum", -math.inf), rules.get("maximum", math.inf)
    return lambda value: type(value) is int and least <= value <= most


def _number(rules: Schema) -> Check:
    least, most = rules.get("minimum", -math.inf), rules.get("maximum", math.inf)
    above, below = rules.get("exclusiveMinimum", -math.inf), rules.get("exclusiveMaximum", math.inf)
    return lambda value: is_number(value) and least <= value <= most and above < value < below


def _string(rules: Schema) -> Check:
    if "enum" in rules:
        allowed = frozenset(rules["enum"])
        return lambda value: type(value) is str and value in allowed
    return lambda value: type(value) is str


def _array(rules: Schema) -> Check:
    accepts, most = quick(rules.get("items", {})), rules.get("maxItems", math.inf)
    return lambda value: type(value) is list and len(value) <= most and all(map(accepts, value))


def _object(rules: Schema) -> Check:
    required = frozenset(rules.get("required", ()))
    members = {name: quick(member) for name, member in rules.get("properties", {}).items()}

    def accepts(value: Any) -> bool:  # noqa: ANN401
        if type(value) is not dict or not value.keys() >= required:
            return False
        for name, member in value.items():  # noqa: SIM110  # all() of a generator takes half as long again
            if not members.get(name, _ask)(member):
                return False
        return True

    return accepts


# By type: the maker of the check, and the keywords that it follows.
_QUICK: Final[Mapping[str, tuple[Callable[[Schema], Check], str]]] = {
    "integer": (_integer, "minimum maximum"),
    "number": (_number, "minimum maximum exclusiveMinimum exclusiveMaximum"),
    "string": (_string, "enum"),
    "array": (_array, "items maxItems"),
    "object": (_object, "properties required additionalProperties"),
}
