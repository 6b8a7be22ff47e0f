"""What is asked of a service: requests in the order in which they are sent, made from the table of operations.

A target or a body may hold ``{known}`` (the id of an animal that a list showed, or 1), ``{odd1}`` to ``{odd3}`` (odd ones
among the listed), ``{absent}`` (an id that nothing showed), ``{made}`` (the animal that this run created last),
``{name}`` (a name of this run), ``{category}`` (the category of a listed animal, or 1) and ``{a:FIELD}`` (the value of a
listed animal).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.interface.schemas import parameters, properties, schema
from petstore_mock.interface.table import FIELDS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.interface.table import Operation, Parameter

UNKNOWN_FIELD: Final = "noSuchField"
OWN: Final = "Bearer {key}"
_UNKNOWN_KEY: Final = "Bearer no-such-key"
LONG_NAME: Final = 256

Creates = Literal["yes", "no", "maybe"]


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that shows something."""

    name: str
    operation: Operation
    target: str  # from the base address on
    key: str = OWN  # what stands in Authorization
    body: str = ""
    creates: Creates = "no"  # ``maybe`` where the interface leaves it open
    media_type: str = "application/json"
    is_valid: bool = True  # whether the interface says that it succeeds
    is_last_resort: bool = False  # sent only where every animal before it was refused

    @property
    def has_key(self) -> bool:
        return self.key == OWN


def verb_of(operation: Operation) -> str:
    return operation.client_method.partition("_")[0]


def kind_of(rules: Mapping[str, Any]) -> str:
    return "enum" if "enum" in rules else str(rules.get("type"))


def short(name: str) -> str:
    return name.removesuffix("Id")


def with_effect(*effects: str) -> Iterator[Operation]:
    return (operation for operation in OPERATIONS.values() if operation.effect in effects)


def limit_of(operation: Operation) -> tuple[str, Mapping[str, Any]] | None:
    """Return the parameter that bounds a list, and its schema."""
    rules = parameters(operation)
    found = [one.name for one in operation.query_parameters if {"maximum", "default"} <= rules[one.name].keys()]
    return (found[0], rules[found[0]]) if found else None


def values_of(operation: Operation, parameter: Parameter) -> Mapping[str, str]:
    """Return the values to filter by, by the words that stand for them in the names of probes."""
    allowed = parameters(operation)[parameter.name].get("enum")
    return {value: value for value in allowed} if allowed else {parameter.name: f"{{a:{parameter.filters}}}"}


# What a body breaks: the clause's end, what the interface says, and the JSON text of the wrong value.
WRONG: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "string": (("type", "{} is a string", "5"), ("null", "{} is a string, and null is none", "null")),
    "integer": (
        ("type", "{} is an integer, and text is none", '"{category}"'),
        ("fraction", "{} is an integer, and 1.5 is none", "1.5"),
        ("null", "{} is an integer, and null is none", "null"),
        ("boolean", "{} is an integer, and true is none", "true"),
        ("range", "{} is an int64, and 2^63 is none", "9223372036854775808"),
    ),
    "enum": (
        ("value", "{} is one of {values}", '"no-such-value"'),
        ("case", "{} is one of {values}, and {Value} is none", '"{Value}"'),
        ("type", "{} is a string", "1"),
    ),
    "array": (("type", "{} is an array", '"text"'),),
}


def wrong_values(body: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield a field, the clause's end, its words and the JSON text of each value that a service must refuse."""
    for name, rules in properties(body).items():
        allowed = rules.get("enum", ["?"])
        for end, words, text in WRONG.get(kind_of(rules), ()):
            words = words.replace("{values}", ", ".join(allowed)).replace("{Value}", allowed[0].title())
            yield name, end, words.format(name), text.replace("{Value}", allowed[0].title())


def _plain(body: str) -> dict[str, str]:
    """Return the JSON texts of the required fields of a plausible animal."""
    texts = {name: json.dumps(FIELDS[name].samples[0]) for name in schema(body)["required"]}
    return texts | {"name": '"{name}"', "categoryId": "{category}"}


def _object(texts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in texts.items())}}}"


def _target(operation: Operation, value: str) -> str:
    parameter = operation.path_parameter
    return operation.path.replace(f"{{{parameter.name}}}", value) if parameter else operation.path


def _list(operation: Operation, name: str, query: str = "", *, is_valid: bool = True) -> Probe:
    target = f"{operation.path}?{query}" if query else operation.path
    return Probe(f"{verb_of(operation)}{'-' * bool(name)}{name}", operation, target, is_valid=is_valid)


def _lists(operation: Operation) -> Iterator[Probe]:
    yield _list(operation, "")
    limit = limit_of(operation)
    if limit is not None:
        name, rules = limit
        yield from (
            _list(operation, f"{name}-{number}", f"{name}={number}") for number in (rules["maximum"], rules["minimum"], 4)
        )
    for parameter in operation.query_parameters:
        for words, value in values_of(operation, parameter).items() if parameter.filters else ():
            yield _list(operation, words, f"{parameter.name}={value}")


def _odd_lists(operation: Operation) -> Iterator[Probe]:
    """Yield lists at the bounds, and lists of which the interface shows no response."""
    filters = [parameter for parameter in operation.query_parameters if parameter.filters]
    limit = limit_of(operation)
    if limit is not None:
        name, rules = limit
        yield _list(operation, f"{name}-{rules['default']}", f"{name}={rules['default']}")
        if filters:
            words, value = next(iter(values_of(operation, filters[0]).items()))
            yield _list(operation, f"{words}-{name}-1", f"{filters[0].name}={value}&{name}=1")
        for number in (rules["minimum"] - 1, rules["maximum"] + 1, 1000):
            yield _list(operation, f"{name}-{number}", f"{name}={number}", is_valid=False)
        yield _list(operation, f"{name}-twice", f"{name}=1&{name}=4", is_valid=False)
    for parameter in filters:
        query = f"{parameter.name}=no-such-value"
        yield _list(operation, f"{parameter.name}-unknown", query, is_valid=False)
    yield _list(operation, "query-unknown", "no-such-parameter=1", is_valid=False)


def _largest(operation: Operation) -> str:
    limit = limit_of(operation)
    return "" if limit is None else f"{limit[0]}={limit[1]['maximum']}"


def _later_lists(operation: Operation) -> Iterator[Probe]:
    filters = [parameter for parameter in operation.query_parameters if parameter.filters]
    limit = limit_of(operation)
    largest = _largest(operation)
    for parameter in filters:
        for words, value in values_of(operation, parameter).items():
            yield _list(operation, f"{words}-after", f"{parameter.name}={value}&{largest}")
        yield _list(operation, f"{parameter.name}-unknown-after", f"{parameter.name}=no-such-value", is_valid=False)
    yield _list(operation, "after", largest)
    yield _list(operation, "after-again", largest)
    yield _list(operation, "default-after")
    if limit is not None:
        name, minimum = limit[0], limit[1]["minimum"]
        yield _list(operation, f"{name}-4-after", f"{name}=4")
        yield _list(operation, f"{name}-{minimum}-after", f"{name}={minimum}")
        yield _list(operation, f"{name}-{minimum - 1}-after", f"{name}={minimum - 1}", is_valid=False)
        yield _list(operation, f"{name}-twice-after", f"{name}=1&{name}=4", is_valid=False)


def _get(operation: Operation, name: str, value: str, *, is_valid: bool = True) -> Probe:
    return Probe(f"{verb_of(operation)}-{name}", operation, _target(operation, value), is_valid=is_valid)


def read_back() -> tuple[Probe, ...]:
    """Return the requests that show the animal that was created last: by itself, or where that is removed, in a list."""
    gets = [_get(operation, "made", "{made}") for operation in with_effect("reads")]
    return (*gets, *(_list(operation, "made", _largest(operation)) for operation in with_effect("lists")))


def _with_keys(operation: Operation) -> Iterator[Probe]:
    verb = verb_of(operation)
    value = "{known}" if operation.effect == "reads" else "{made}"
    body = _object(_plain(operation.body)) if operation.body else ""
    for name, key in (("no-key", ""), ("unknown-key", _UNKNOWN_KEY)):
        yield Probe(f"{verb}-{name}", operation, _target(operation, value), key, body, is_valid=False)
    if operation.effect == "reads":
        yield Probe(f"{verb}-absent-unknown-key", operation, _target(operation, "{absent}"), _UNKNOWN_KEY, is_valid=False)
    if operation.effect == "lists":
        for name, key in (("without-scheme", "{key}"), ("other-scheme", "Basic {key}"), ("empty", "Bearer")):
            yield Probe(f"{verb}-key-{name}", operation, operation.path, key, is_valid=False)
        in_query = f"{operation.path}?api_key=no-such-key"  # the user's own key stands in no URL
        yield Probe(f"{verb}-key-in-query", operation, in_query, "", is_valid=False)


def _create(
    operation: Operation, name: str, body: str, creates: Creates = "no", media_type: str = "application/json"
) -> Probe:
    is_valid = creates == "yes"
    return Probe(f"{verb_of(operation)}-{name}", operation, operation.path, OWN, body, creates, media_type, is_valid)


def _refused(operation: Operation, body: str) -> Iterator[Probe]:
    plain = _plain(body)
    for name in schema(body)["required"]:
        others = {other: text for other, text in plain.items() if other != name}
        yield _create(operation, f"without-{short(name)}", _object(others))
    yield _create(operation, "empty-object", "{}")
    for name, end, _, text in wrong_values(body):
        yield _create(operation, f"{short(name)}-{end}", _object({**plain, name: text}))
    yield _create(operation, "array", f"[{_object(plain)}]")
    yield _create(operation, "malformed", _object(plain)[:-1])
    yield _create(operation, "no-body", "")


def _created(operation: Operation, body: str) -> Iterator[Probe]:
    """Yield plain animals, then odd ones. A service may restrict names and categories: it may refuse odd ones."""
    plain = _plain(body)
    fields = properties(body)
    extra: dict[str, str] = {}
    for name in fields.keys() - plain.keys():
        for value in fields[name].get("enum", FIELDS[name].samples[:1]):
            words = value if "enum" in fields[name] else f"with-{short(name)}"
            extra.setdefault(name, json.dumps(value))
            yield _create(operation, words, _object({**plain, name: json.dumps(value)}), "yes")
        yield _create(operation, f"without-{short(name)}", _object(plain), "yes")
    plainest = _object(plain | {"name": '"Rex"'})
    yield replace(_create(operation, "plainest", plainest, "maybe"), is_last_resort=True)
    for name, rules in fields.items():
        if kind_of(rules) == "string":
            yield _create(operation, f"{short(name)}-text", _object({**plain, name: '"{name}Žofka✓"', **extra}), "maybe")
        if kind_of(rules) == "integer":
            yield _create(operation, f"{short(name)}-large", _object({**plain, name: "9007199254740993"}), "maybe")
            yield _create(operation, f"{short(name)}-1.0", _object({**plain, name: "{category}.0"}), "maybe")
            yield _create(operation, f"{short(name)}-0", _object({**plain, name: "0"}), "maybe")
        if name not in plain:
            yield _create(operation, f"{short(name)}-null", _object({**plain, name: "null"}), "maybe")
    yield _create(operation, "unknown-field", _object({**plain, UNKNOWN_FIELD: "1"}), "maybe")
    yield _create(operation, "name-empty", _object({**plain, "name": '""'}), "maybe")
    yield _create(operation, "name-256", _object({**plain, "name": '"{name256}"', **extra}), "maybe")
    yield _create(operation, "text-plain", _object(plain), "maybe", "text/plain")


def _probes() -> Iterator[Probe]:
    # What matters most comes first: a key may be worth ten requests.
    lists, gets, creates = [*with_effect("lists")], [*with_effect("reads")], [*with_effect("creates")]
    first = [[*_lists(operation)] for operation in lists]
    for probes in first:
        yield from probes[:2]
    yield from (_get(operation, "known", "{known}") for operation in gets)
    for probes in first:
        yield from probes[2:]
    yield from (_get(operation, "absent", "{absent}", is_valid=False) for operation in gets)
    for operation in (*lists, *gets):
        yield from _with_keys(operation)
    for operation in lists:
        yield from _odd_lists(operation)
    for operation in gets:
        yield from (_get(operation, f"odd-{number}", f"{{odd{number}}}") for number in (1, 2, 3))
        yield _get(operation, "largest", "9223372036854775807", is_valid=False)
        yield _get(operation, "malformed", "no-number", is_valid=False)
    for operation in creates:
        yield from _with_keys(operation)
        yield from _refused(operation, str(operation.body))
        yield from _created(operation, str(operation.body))
    for operation in lists:
        yield from _later_lists(operation)
    yield from (_get(operation, "known-after", "{known}") for operation in gets)
    yield from (_list(operation, "last", _largest(operation)) for operation in lists)
    for operation in with_effect("changes", "removes"):
        yield from _with_keys(operation)
        body = _object(_plain(operation.body)) if operation.body else ""
        yield Probe(f"{verb_of(operation)}-made", operation, _target(operation, "{made}"), body=body)


PROBES: Final = tuple(_probes())


def plan(allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield the requests that a run sends; what is known by then only stays in braces."""
    sent = [probe for probe in PROBES if allow_create or not probe.operation.commits]
    for probe in sent[:max_requests]:
        words = [probe.operation.method, probe.target, f"Authorization: {probe.key}" * bool(probe.key), probe.body]
        words += [{"yes": "(creates an animal)", "maybe": "(may create an animal)", "no": ""}[probe.creates]]
        yield "  ".join(word for word in words if word)
