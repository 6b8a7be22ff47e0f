"""``schemas/*.json``: the only source of the rules for bodies and parameters, and jsonschema as their judge.

JSON Schema leaves two things open that are decided here. ``1.0`` is no integer: the gap ``integral_float`` decides
before the judge is asked. The schemas write the bounds of ``int64`` out, since ``format`` asserts nothing.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from functools import cache, partial
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from petstore_mock.common.values import is_integer
from petstore_mock.interface.violations import (
    MOST_VIOLATIONS,
    Violation,
    Violations,
    no_such_name,
    path_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.common.values import JsonValue
    from petstore_mock.interface.table import Operation

    Schema = Mapping[str, Any]

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
    found: Schema = json.loads((_DIRECTORY / f"{name}.json").read_bytes())
    return found


@cache
def schema(name: str) -> Schema:
    """Return a schema with the referred schemas in place of every ``$ref``."""
    found: Any = _resolved(cast("JsonValue", document(name)), name)
    return cast("Schema", found)


def _resolved(node: JsonValue, file: str) -> JsonValue:
    if isinstance(node, list):
        return [_resolved(item, file) for item in node]
    if not isinstance(node, dict):
        return node
    # With `$id`, jsonschema opens a new resource at each descent.
    kept = {key: _resolved(value, file) for key, value in node.items() if key not in {"$id", "$ref", "$schema"}}
    if "$ref" not in node:
        return kept
    found, target = lookup(str(node["$ref"]), file)
    return {**cast("dict[str, JsonValue]", _resolved(found, target)), **kept}


def lookup(reference: str, file: str) -> tuple[Any, str]:
    """Return the part of a schema that a ``$ref`` in ``file`` leads to, and the schema's name."""
    target, _, pointer = reference.partition("#")
    name = target.removesuffix(".json") or file
    found: Any = document(name)
    for step in pointer.strip("/").split("/") if pointer else ():
        found = found[step]
    return found, name


def properties(name: str) -> Mapping[str, Schema]:
    """Return the properties of an object's schema."""
    found: Mapping[str, Schema] = schema(name)["properties"]
    return found


def parameters(operation: Operation) -> Mapping[str, Schema]:
    """Return the schemas of an operation's parameters, by name."""
    return properties(operation.parameters_schema)


# The judge


def violations(rules: Schema, value: Any, location: str) -> Violations:  # noqa: ANN401  # a JSON value is any value
    """Hold ``value`` against the schema ``rules``; return every rule that it breaks, in path order.

    A value of the wrong type breaks the type alone: its other violations follow from it. ``location`` is the first
    part of each path, such as ``body``.
    """
    errors: list[Any] = list(judge_class()(rules).iter_errors(value))
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    found = Violations()
    # A client can add unknown members without end: they take the room that the others leave.
    for error in sorted(errors, key=lambda error: error.validator == "additionalProperties"):
        if error.validator == "type" or tuple(error.absolute_path) not in mistyped:
            _add(found, error, location)
    found.close()
    return found


def _add(found: Violations, error: Any, location: str) -> None:  # noqa: ANN401  # jsonschema's ValidationError
    path, rule, value = path_of(error.absolute_path, location), error.validator, error.instance
    match rule:
        case "anyOf" | "oneOf" if error.context:
            for one in _meant(error):
                _add(found, one, location)
            return
        case "required":
            missing = [name for name in error.validator_value if name not in value]
            made = [Violation(f"{path}.{name}", rule, "is required and missing") for name in missing]
        case "additionalProperties":
            known = error.schema.get("properties", {})
            names = [name for name in value if name not in known]
            shown = names[: found.room]
            found.omitted += len(names) - len(shown)
            words = partial(no_such_name, known=known, kind="field here", given=value)
            made = [Violation(path_of([name], path), rule, words(name), value[name]) for name in shown]
        case _:
            made = [Violation(path, rule, _words(rule, error.validator_value, error.schema), value)]
    found += [violation for violation in dict.fromkeys(made) if violation not in found]


def _meant(error: Any) -> list[Any]:  # noqa: ANN401  # as above
    """Return the errors of the form that was meant: its type fits, and the fewest of its rules are broken."""
    forms: dict[int, list[Any]] = {}
    for one in error.context:
        forms.setdefault(one.schema_path[0], []).append(one)
    fitting = [form for form in forms.values() if not any(one.validator == "type" and not one.path for one in form)]
    return min(
        fitting or forms.values(), key=lambda form: (sum(map(_weight, form)), -max(len(one.path) for one in form))
    )


def _weight(error: Any) -> int:  # noqa: ANN401  # as above
    """Return how many rules an error stands for: each unknown name breaks one."""
    is_unknown_name = error.validator == "additionalProperties"
    return len(error.instance.keys() - error.schema["properties"].keys()) if is_unknown_name else 1


_WORDS: Final[Mapping[str, str]] = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} character{s}",
    "maxLength": "must have at most {} character{s}",
    "minItems": "must have at least {} item{s}",
    "maxItems": "must have at most {} item{s}",
    "pattern": "must match {}",
}


def _words(rule: str, wanted: Any, rules: Schema) -> str:  # noqa: ANN401  # the value of any keyword
    """Return what a keyword demands of a value, in words that follow its path."""
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        words = f"must be {' or '.join(map(_with_article, kinds))}"
        return f"{words}, {_one_of(rules['enum'])}" if "enum" in rules else words
    if rule == "enum":
        return f"must be {_one_of(wanted)}"
    return _WORDS.get(rule, f"must satisfy {rule} {{}}").format(wanted, s="" if wanted == 1 else "s")


def _one_of(allowed: Iterable[Any]) -> str:
    return "one of " + ", ".join(item if isinstance(item, str) else json.dumps(item) for item in allowed)


def _with_article(kind: str) -> str:
    return kind if kind == "null" else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


_loading: Final = RLock()
if hasattr(os, "register_at_fork"):  # a child that is born during the import would wait for it for ever
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


def _jsonschema() -> Any:  # noqa: ANN401  # its own types are Any for the most part
    with _loading:
        import jsonschema  # noqa: PLC0415  # heavy (80 ms): only for a refusal

    return jsonschema


@cache
def judge_class() -> Any:  # noqa: ANN401  # as above
    """Return jsonschema's validator, with our notion of an integer and with bounds on what it finds."""
    library = _jsonschema()
    theirs = library.Draft202012Validator.VALIDATORS

    def closed(judge: Any, allowed: Any, value: Any, rules: Schema) -> Iterator[Any]:  # noqa: ANN401
        if allowed is not False:
            yield from theirs["additionalProperties"](judge, allowed, value, rules)
        elif isinstance(value, dict) and not value.keys() <= rules.get("properties", {}).keys():
            yield library.ValidationError("")  # theirs writes out all the names: 17 s for 100,000 of them

    def items(judge: Any, rules: Any, value: Any, outer: Schema) -> Iterator[Any]:  # noqa: ANN401
        yield from islice(theirs["items"](judge, rules, value, outer) or (), MOST_VIOLATIONS + 1)

    def is_int(_: Any, value: object) -> bool:  # noqa: ANN401
        return is_integer(value)

    checker = library.Draft202012Validator.TYPE_CHECKER.redefine("integer", is_int)
    extended = {"additionalProperties": closed, "items": items}
    return library.validators.extend(library.Draft202012Validator, extended, type_checker=checker)


def preload_judge() -> None:
    """Import jsonschema; for a daemon thread, so that the first refusal need not."""
    with contextlib.suppress(Exception):  # the first refusal tries again, and fails visibly
        judge_class()


# The quick check


Check: TypeAlias = "Callable[[JsonValue], bool]"


@cache
def is_valid(name: str) -> Callable[[Any], bool]:
    """Return the quick check of the schema ``name``."""
    return quick(schema(name))


def quick(rules: Schema) -> Callable[[Any], bool]:
    """Return a function that is true only for values that a schema allows; of others, ask the judge."""
    forms = rules.get("anyOf")
    if forms is not None and rules.keys() - _ANNOTATIONS <= {"anyOf"}:
        checks = [quick(form) for form in forms]
        return lambda value: any(check(value) for check in checks)
    make, keywords = _QUICK.get(str(rules.get("type")), (_ask, frozenset[str]()))
    return make(rules) if rules.keys() - _ANNOTATIONS <= keywords else _ask(rules)


def _ask(_: Schema) -> Check:
    return lambda _: False


def _quick_integer(rules: Schema) -> Check:
    least, most = rules.get("minimum", -math.inf), rules.get("maximum", math.inf)
    return lambda value: type(value) is int and least <= value <= most


def _quick_flag(_: Schema) -> Check:
    return lambda value: type(value) is bool


def _quick_null(_: Schema) -> Check:
    return lambda value: value is None


def _quick_string(rules: Schema) -> Check:
    if "enum" in rules:
        allowed = frozenset(rules["enum"])
        return lambda value: type(value) is str and value in allowed
    if rules.keys() & {"minLength", "maxLength"}:
        least, most = rules.get("minLength", 0), rules.get("maxLength", math.inf)
        return lambda value: type(value) is str and least <= len(value) <= most
    return lambda value: type(value) is str


def _quick_array(rules: Schema) -> Check:
    accepts, most = quick(rules.get("items", {})), rules.get("maxItems", math.inf)
    return lambda value: type(value) is list and len(value) <= most and all(map(accepts, value))


def _quick_object(rules: Schema) -> Check:
    required = frozenset(rules.get("required", ()))
    members = {name: quick(member) for name, member in rules.get("properties", {}).items()}
    unknown = _ask(rules)

    def accepts(value: JsonValue) -> bool:
        if type(value) is not dict or not value.keys() >= required:
            return False
        for name, member in value.items():  # noqa: SIM110  # all() of a generator takes half as long again
            if not members.get(name, unknown)(member):
                return False
        return True

    return accepts


_ANNOTATIONS: Final = frozenset({"type", "title", "description", "format", "default", "examples"})
# By type: the quick check, and the keywords that it follows.
_QUICK: Final[Mapping[str, tuple[Callable[[Schema], Check], frozenset[str]]]] = {
    "boolean": (_quick_flag, frozenset()),
    "null": (_quick_null, frozenset()),
    "integer": (_quick_integer, frozenset({"minimum", "maximum"})),
    "string": (_quick_string, frozenset({"enum", "minLength", "maxLength"})),
    "array": (_quick_array, frozenset({"items", "maxItems"})),
    "object": (_quick_object, frozenset({"properties", "required", "additionalProperties"})),
}
