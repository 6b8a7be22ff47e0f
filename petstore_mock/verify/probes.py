"""What is asked of a service: requests in the order in which they are sent, made from the table of operations.

A target or a body may hold ``{known}`` (the id of a listed animal, or 1), ``{odd1}`` to ``{odd3}`` (odd ones among the
listed), ``{absent}`` (an id that nothing showed), ``{made}`` (the animal that this run created last), ``{name}`` (a
name of this run), ``{category}`` (the category of a listed animal, or 1), ``{a:FIELD}`` (a value of a listed animal).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.interface.schemas import parameters, properties, schema
from petstore_mock.interface.table import FIELDS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.interface.table import Operation, Parameter

UNKNOWN_FIELD: Final = "noSuchField"
LONG_NAME: Final = 256
OWN: Final = "Bearer {key}"
_UNKNOWN: Final = "Bearer no-such-key"

Creates = Literal["yes", "no", "maybe", "last resort"]


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that shows something."""

    name: str
    operation: Operation
    target: str  # from the base address on
    is_valid: bool = True  # whether the interface says that it succeeds
    key: str = OWN  # what stands in Authorization
    body: str = ""
    creates: Creates = "no"  # ``maybe`` where the interface leaves it open
    media_type: str = "application/json"

    @property
    def has_key(self) -> bool:
        return self.key == OWN


def verb_of(operation: Operation) -> str:
    return operation.client_method.partition("_")[0]


def kind_of(rules: Mapping[str, Any]) -> str:
    return "enum" if "enum" in rules else str(rules.get("type"))


def short(name: str) -> str:
    return name.removesuffix("Id")


def with_effect(*effects: str) -> list[Operation]:
    return [operation for operation in OPERATIONS.values() if operation.effect in effects]


def limit_of(operation: Operation) -> tuple[str, Mapping[str, Any]] | None:
    """Return the parameter that bounds a list, and its schema."""
    found = [(name, rules) for name, rules in parameters(operation).items() if {"maximum", "default"} <= rules.keys()]
    return found[0] if found else None


def filters_of(operation: Operation) -> list[Parameter]:
    return [parameter for parameter in operation.query_parameters if parameter.filters]


def values_of(operation: Operation, parameter: Parameter) -> Mapping[str, str]:
    """Return the values to filter by, by the words that stand for them in the names of probes."""
    allowed = parameters(operation)[parameter.name].get("enum")
    return {value: value for value in allowed} if allowed else {parameter.name: f"{{a:{parameter.filters}}}"}


# Values that a service must refuse, by the kind of the field: the end of the clause's id, its words, and the JSON text.
_WRONG: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "string": (("type", "{} is a string", "5"), ("null", "{} is a string, and null is none", "null")),
    "integer": (
        ("type", "{} is an integer, and text is none", '"1"'),
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
    """Yield a field, the end of the clause's id, its words and the JSON text of each wrong value."""
    for name, rules in properties(body).items():
        allowed: list[str] = rules.get("enum", ["?"])
        for end, words, text in _WRONG.get(kind_of(rules), ()):
            titled = {"values": ", ".join(allowed), "Value": allowed[0].title()}
            yield name, end, words.format(name, **titled), text.replace("{Value}", titled["Value"])


def _lists(operation: Operation) -> Iterator[tuple[int, Probe]]:
    """Yield lists with the round in which they are sent: 0 first, 1 after the gets, 2 at the end."""
    verb, limit = verb_of(operation), limit_of(operation)

    def list_(name: str, query: str = "", *, is_valid: bool = True) -> Probe:
        return Probe(f"{verb}{'-' * bool(name)}{name}", operation, f"{operation.path}?{query}".rstrip("?"), is_valid)

    yield 0, list_("")
    name, rules = limit or ("", {"minimum": 0, "maximum": 0, "default": 0})
    least, most = rules["minimum"], rules["maximum"]
    largest = f"{name}={most}" if name else ""
    if name:
        yield from ((0, list_(f"{name}-{number}", f"{name}={number}")) for number in (most, least, 4))
        yield 1, list_(f"{name}-{rules['default']}", f"{name}={rules['default']}")
        beyond = (least - 1, most + 1, 1000)
        yield from ((1, list_(f"{name}-{number}", f"{name}={number}", is_valid=False)) for number in beyond)
        yield 1, list_(f"{name}-twice", f"{name}=1&{name}=4", is_valid=False)
    for parameter in filters_of(operation):
        for words, value in values_of(operation, parameter).items():
            yield 0, list_(words, f"{parameter.name}={value}")
            yield 2, list_(f"{words}-after", f"{parameter.name}={value}&{largest}".rstrip("&"))
        for at, end in ((1, ""), (2, "-after")):
            yield at, list_(f"{parameter.name}-unknown{end}", f"{parameter.name}=no-such-value", is_valid=False)
    yield 1, list_("query-unknown", "no-such-parameter=1", is_valid=False)
    yield from ((2, list_(words, largest)) for words in ("after", "after-again", "last"))
    yield 2, list_("default-after")
    if name:
        yield from ((2, list_(f"{name}-{number}-after", f"{name}={number}")) for number in (4, least))
        yield 2, list_(f"{name}-{least - 1}-after", f"{name}={least - 1}", is_valid=False)
        yield 2, list_(f"{name}-twice-after", f"{name}=1&{name}=4", is_valid=False)


def _one(operation: Operation, name: str, value: str, *, is_valid: bool = True, key: str = OWN) -> Probe:
    """Return a request for one animal, or for what has no identifier in its path."""
    parameter = operation.path_parameter
    target = operation.path.replace(f"{{{parameter.name}}}", value) if parameter else operation.path
    body = _object(_plain(operation.body)) if operation.body else ""
    return Probe(f"{verb_of(operation)}-{name}", operation, target, is_valid, key, body)


def read_back() -> list[Probe]:
    """Return the requests that show the last created animal: by itself, or where getPet is removed, in a list."""
    lists = [probe for operation in with_effect("lists") for at, probe in _lists(operation) if at == 2]
    made = [Probe("list-made", probe.operation, probe.target) for probe in lists if probe.name.endswith("-last")]
    return [*(_one(operation, "made", "{made}") for operation in with_effect("reads")), *made]


def _with_other_keys(operation: Operation) -> Iterator[Probe]:
    value = "{known}" if operation.effect == "reads" else "{made}"
    keys = [("no-key", ""), ("unknown-key", _UNKNOWN)]
    if operation.effect == "lists":
        keys += [("key-without-scheme", "{key}"), ("key-other-scheme", "Basic {key}"), ("key-empty", "Bearer")]
        in_query = f"{operation.path}?api_key=no-such-key"  # the user's own key stands in no URL
        yield Probe(f"{verb_of(operation)}-key-in-query", operation, in_query, is_valid=False, key="")
    yield from (_one(operation, name, value, is_valid=False, key=key) for name, key in keys)
    if operation.effect == "reads":
        yield _one(operation, "absent-unknown-key", "{absent}", is_valid=False, key=_UNKNOWN)


def _plain(body: str) -> dict[str, str]:
    """Return the JSON texts of the required fields of a plausible animal."""
    texts = {name: json.dumps(FIELDS[name].samples[0]) for name in schema(body)["required"]}
    return texts | {"name": '"{name}"', "categoryId": "{category}"}


def _object(texts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in texts.items())}}}"


def _creates(operation: Operation, body: str) -> Iterator[Probe]:
    """Yield creates: what is refused, then plain animals, then odd ones, which a service may refuse."""
    plain, fields = _plain(body), properties(body)

    def create(name: str, text: str, creates: Creates = "no", media_type: str = "application/json") -> Probe:
        verb, is_valid = verb_of(operation), creates == "yes"
        return Probe(f"{verb}-{name}", operation, operation.path, is_valid, OWN, text, creates, media_type)

    for name in schema(body)["required"]:
        others = {other: text for other, text in plain.items() if other != name}
        yield create(f"without-{short(name)}", _object(others))
    for name, end, _, text in wrong_values(body):
        yield create(f"{short(name)}-{end}", _object({**plain, name: text}))
    whole = _object(plain)
    refused = {"empty-object": "{}", "array": f"[{whole}]", "malformed": whole[:-1], "no-body": ""}
    yield from (create(name, text) for name, text in refused.items())

    optional = {name: rules for name, rules in fields.items() if name not in plain}
    for name, rules in optional.items():
        for value in rules.get("enum", FIELDS[name].samples[:1]):
            words = value if "enum" in rules else f"with-{short(name)}"
            yield create(words, _object({**plain, name: json.dumps(value)}), "yes")
        yield create(f"without-{short(name)}", whole, "yes")
    yield create("plainest", _object({**plain, "name": '"Rex"'}), "last resort")

    extra = {name: json.dumps(rules["enum"][0]) for name, rules in optional.items() if "enum" in rules}
    for name, rules in fields.items():
        odd = {
            "string": [("text", '"{name}Žofka✓"'), ("empty", '""'), ("long", '"{long name}"')],
            "integer": [("large", "9007199254740993"), ("1.0", "{category}.0"), ("0", "0")],
        }
        values = [*odd.get(kind_of(rules), ()), *([("null", "null")] if name in optional else [])]
        for end, text in values:
            yield create(f"{short(name)}-{end}", _object({**plain, **extra, name: text}), "maybe")
    yield create("unknown-field", _object({**plain, UNKNOWN_FIELD: "1"}), "maybe")
    yield create("text-plain", whole, "maybe", "text/plain")


def _probes() -> Iterator[Probe]:
    gets = with_effect("reads")
    lists = [pair for operation in with_effect("lists") for pair in _lists(operation)]
    yield from (probe for at, probe in lists if at == 0)  # what matters most comes first: a key may be short-lived
    yield from (_one(operation, "known", "{known}") for operation in gets)
    yield from (_one(operation, "absent", "{absent}", is_valid=False) for operation in gets)
    for operation in with_effect("lists", "reads"):
        yield from _with_other_keys(operation)
    yield from (probe for at, probe in lists if at == 1)
    for operation in gets:
        yield from (_one(operation, f"odd-{number}", f"{{odd{number}}}") for number in (1, 2, 3))
        yield _one(operation, "largest", "9223372036854775807", is_valid=False)
        yield _one(operation, "malformed", "no-number", is_valid=False)
    for operation in with_effect("creates"):
        yield from _with_other_keys(operation)
        yield from _creates(operation, str(operation.body))
    yield from (probe for at, probe in lists if at == 2 and not probe.name.endswith("-last"))
    yield from (_one(operation, "known-after", "{known}") for operation in gets)
    yield from (probe for at, probe in lists if at == 2 and probe.name.endswith("-last"))
    for operation in with_effect("changes", "removes"):
        yield from _with_other_keys(operation)
        yield _one(operation, "made", "{made}")


PROBES: Final = tuple(_probes())
# These tell whether the service is there, and accepts the key.
CONTROLS: Final = tuple(_one(operation, "control", "1") for operation in with_effect("lists", "reads"))


def plan(allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield the requests that a run sends; what is known by then only stays in braces."""
    words = {"yes": "(creates an animal)", "no": ""}
    for probe in [probe for probe in PROBES if allow_create or not probe.operation.commits][:max_requests]:
        key = f"Authorization: {probe.key}" if probe.key else ""
        parts = [probe.operation.method, probe.target, key, probe.body]
        yield "  ".join(part for part in (*parts, words.get(probe.creates, "(may create an animal)")) if part)
