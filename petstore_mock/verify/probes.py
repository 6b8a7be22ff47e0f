"""What is asked of a service: requests in the order in which they are sent, made from the table of operations.

A target or a body may hold ``{known}`` (the id of a listed animal, or 1), ``{odd1}`` to ``{odd3}`` (odd ones among the
listed), ``{absent}`` (an id that nothing showed), ``{made}`` (the animal that this run created last), ``{name}`` (a
name of this run), ``{category}`` (the category of a listed animal, or 1).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.guards import is_array
from petstore_mock.interface.schemas import parameters, properties, schema
from petstore_mock.interface.table import FIELDS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.interface.table import Operation, Parameter

UNKNOWN_FIELD: Final = "noSuchField"
LONG_NAME: Final = 256
OWN: Final = "Bearer {key}"
_UNKNOWN: Final = "Bearer no-such-key"

# What the interface says of the response: ``accepted`` where a value of the request is the point, ``made`` where it
# shows the animal that was created last, ``open`` where the interface shows nothing.
Expected = Literal["success", "accepted", "made", "refused", "kept out", "absent", "absent or there", "open"]


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that shows something."""

    operation: Operation
    target: str  # from the base address on
    expected: Expected = "success"
    shows: str = ""  # the id of a clause, or the name of a gap, that this probe and maybe others show
    words: str = ""  # what the interface says in that clause
    key: str = OWN  # what stands in Authorization
    body: str = ""
    media_type: str = "application/json"
    is_last_resort: bool = False  # it is sent only where all plain animals are refused

    @property
    def has_key(self) -> bool:
        return self.key == OWN

    @property
    def is_valid(self) -> bool:
        return self.expected in {"success", "accepted", "made"}


def verb_of(operation: Operation) -> str:
    return operation.client_method.partition("_")[0]


def kind_of(rules: Mapping[str, Any]) -> str:
    return "enum" if "enum" in rules else str(rules.get("type"))


def short(name: str) -> str:
    return name.removesuffix("Id")


def with_effect(*effects: str) -> tuple[Operation, ...]:
    return tuple(operation for operation in OPERATIONS.values() if operation.effect in effects)


def limits_of(operation: Operation) -> tuple[int, int, int]:
    """Return the least, the largest and the default limit of a list."""
    rules = parameters(operation)["limit"]
    return rules["minimum"], rules["maximum"], rules["default"]


def filters_of(operation: Operation) -> list[Parameter]:
    return [parameter for parameter in operation.query_parameters if parameter.filters]


# Lists


def _list(operation: Operation, query: str = "", *more: Any) -> Probe:  # noqa: ANN401
    return Probe(operation, f"{operation.path}?{query}".rstrip("?"), *more)


def _lists(operation: Operation) -> Iterator[Probe]:
    """Yield lists of every kind. They are sent twice: only what is there before and after a list was there then."""
    section, (least, most, default) = operation.section, limits_of(operation)
    yield _list(operation)
    bounds = {most: ("maximum", f"maximum {most}"), least: ("minimum", f"minimum {least}")}
    for number in (most, least, 4, default):
        end, words = bounds.get(number, ("within", f"from {least} to {most}"))
        yield _list(operation, f"limit={number}", "accepted", f"{section}-limit-{end}", f"limit: {words}")
    for number in (least - 1, most + 1, 1000):
        yield _list(operation, f"limit={number}", "open", "invalid_limit")
    yield _list(operation, "limit=1&limit=4", "open", "repeated_query")
    for parameter in filters_of(operation):
        name, allowed = parameter.name, parameters(operation)[parameter.name].get("enum", ())
        for value in allowed:
            shows = f"{section}-{name}-{value}", f"{name}={value} is allowed"
            yield _list(operation, f"{name}={value}", "accepted", *shows)
        if not allowed:
            sample = FIELDS[str(parameter.filters)].samples[0]
            yield _list(operation, f"{name}={sample[0] if is_array(sample) else sample}")
        yield _list(operation, f"{name}=no-such-value", "open", parameter.gap or "")
    yield _list(operation, "no-such-parameter=1", "open", "unknown_query")


def _largest(operation: Operation, *more: Any) -> Probe:  # noqa: ANN401
    return _list(operation, f"limit={limits_of(operation)[1]}", *more)


# Requests for one animal


def _one(operation: Operation, value: str, *more: Any, **others: Any) -> Probe:  # noqa: ANN401
    """Return a request for one animal, or for what has no identifier in its path."""
    parameter = operation.path_parameter
    target = operation.path.replace(f"{{{parameter.name}}}", value) if parameter else operation.path
    body = _object(_plain(operation.body)) if operation.body else ""
    return Probe(operation, target, *more, **{"body": body, **others})


def _with_other_keys(operation: Operation) -> Iterator[Probe]:
    value = "{known}" if operation.effect == "reads" else "{absent}"
    suffix = "" if operation.effect == "lists" else f"-{verb_of(operation)}"
    missing = "kept out", f"5-missing-key{suffix}", f"Key missing: 401, on {operation.name}"
    unknown = "kept out", f"5-unknown-key{suffix}", f"Key invalid: 401, on {operation.name}"
    yield _one(operation, value, *missing, key="")
    yield _one(operation, value, *unknown, key=_UNKNOWN)
    if operation.effect == "reads":
        yield _one(operation, "{absent}", *unknown, key=_UNKNOWN)
    if operation.effect == "lists":
        yield _list(operation, "api_key=no-such-key", *missing, "")  # the user's own key stands in no URL
        scheme = "kept out", "5-scheme", "Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>"
        yield from (_one(operation, value, *scheme, key=key) for key in ("{key}", "Basic {key}", "Bearer"))


# Creates

# Values that a service must refuse, by the kind of the field: the end of the clause's id, and the JSON text.
_WRONG: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {"type": "5", "null": "null"},
    "integer": {"type": '"1"', "fraction": "1.5", "null": "null", "boolean": "true", "range": "9223372036854775808"},
    "enum": {"value": '"no-such-value"', "case": '"{Value}"', "type": "1"},
    "array": {"type": '"text"'},
}
# Values that a service may refuse, and the gap that each shows.
_ODD: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {
        **dict.fromkeys(('"{name}Žofka✓"', '"{name}😀"', '" {name}  x "'), ""),
        **dict.fromkeys(('""', '"{long name}"'), "name_rule"),
    },
    "integer": {"9007199254740993": "", "{category}.0": "integral_float", "0": "category_rule"},
}


def _plain(body: str) -> dict[str, str]:
    """Return the JSON texts of the required fields of a plausible animal."""
    texts = {name: json.dumps(FIELDS[name].samples[0]) for name in schema(body)["required"]}
    return texts | {"name": '"{name}"', "categoryId": "{category}"}


def _object(texts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in texts.items())}}}"


def _wrong_bodies(body: str) -> Iterator[tuple[str, str, str]]:
    """Yield bodies that the service must refuse: the end of the clause's id, its words, and the body."""
    plain, required = _plain(body), schema(body)["required"]
    for name in required:
        others = {other: text for other, text in plain.items() if other != name}
        yield f"{short(name)}-required", f"{name} is required", _object(others)
    yield "both-required", f"{' and '.join(required)} are required", "{}"
    for name, rules in properties(body).items():
        allowed: list[str] = rules.get("enum", [""])
        kind = rules.get("format", rules["type"])
        kind = f"one of {', '.join(allowed)}" if "enum" in rules else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        for end, text in _WRONG.get(kind_of(rules), {}).items():
            value = text.replace("{Value}", allowed[0].title())
            yield f"{short(name)}-{end}", f"{name} is {kind}, and {value} is none", _object({**plain, name: value})
    yield "body-object", f"Request body: {body}, and an array is none", f"[{_object(plain)}]"
    yield "body-json", "Request body is JSON", _object(plain)[:-1]
    yield "body-required", "Request body: required", ""


def _creates(operation: Operation) -> Iterator[Probe]:
    """Yield creates: what is refused, then plain animals, then odd ones, which a service may refuse."""
    body, section = str(operation.body), operation.section
    plain, fields = _plain(body), properties(body)

    def create(texts: Mapping[str, str], *more: Any, **others: Any) -> Probe:  # noqa: ANN401
        return _one(operation, "", *more, **{"body": _object({**plain, **texts}), **others})

    for end, words, text in _wrong_bodies(body):
        yield create({}, "refused", f"{section}-{end}", f"{words}; else 400", body=text)
    optional = {name: rules for name, rules in fields.items() if name not in plain}
    samples = {name: json.dumps(FIELDS[name].samples[0]) for name in optional}
    for name, rules in optional.items():
        others = {other: text for other, text in samples.items() if other != name}
        for value in rules.get("enum", ()):
            shows = f"2-{short(name)}-{value}", f"{name}: {value} is allowed"
            yield create({**others, name: json.dumps(value)}, "accepted", *shows)
        if "enum" not in rules:
            yield create(samples)
        yield create(others, "accepted", f"2-{short(name)}-optional", f"NewPet: {name} is not required")
    yield create({"name": '"Rex"'}, "open", is_last_resort=True)
    extra = {name: json.dumps(rules["enum"][0]) for name, rules in optional.items() if "enum" in rules}
    for name, rules in fields.items():
        nothing = {"null": f"null_{name}"} if name in optional else {}
        for text, gap in {**_ODD.get(kind_of(rules), {}), **nothing}.items():
            yield create({**extra, name: text}, "open", gap)
    yield create({UNKNOWN_FIELD: "1"}, "open", "unknown_body_field")
    yield create({}, "open", "media_type", media_type="text/plain")


# All


def _probes() -> Iterator[Probe]:
    lists, gets, creates = with_effect("lists"), with_effect("reads"), with_effect("creates")
    for operation in lists:  # what matters most comes first: a key may be short-lived
        yield from _lists(operation)
    for operation in gets:
        absent = "absent", f"{operation.section}-absent", "404: no animal has this petId"
        yield from (_one(operation, "{known}"), _one(operation, "{absent}", *absent))
    for operation in (*lists, *gets):
        yield from _with_other_keys(operation)
    for operation in gets:
        yield from (_one(operation, f"{{odd{number}}}") for number in (1, 2, 3))
        shows = f"{operation.section}-int64", "petId: integer, format int64"
        yield _one(operation, "9223372036854775807", "absent or there", *shows)
        yield _one(operation, "no-number", "open", "malformed_pet_id")
    for operation in creates:
        yield from _with_other_keys(operation)
        yield from _creates(operation)
    for operation in lists:
        yield from _lists(operation)
        yield _largest(operation)
    yield from (_one(operation, "{known}") for operation in gets)
    yield from map(_largest, lists)
    for operation in with_effect("changes", "removes"):
        yield from _with_other_keys(operation)
        yield _one(operation, "{made}")


def _read_back() -> Iterator[Probe]:
    """Yield the requests that show the last created animal: by itself, or where getPet is removed, in a list."""
    words = "201: body is the created Pet, which is in the catalogue from then on"
    kept = "made", f"{with_effect('creates')[0].section}-kept", words
    yield from (_one(operation, "{made}", *kept) for operation in with_effect("reads"))
    yield from (_largest(operation, *kept) for operation in with_effect("lists"))


PROBES: Final = tuple(_probes())
READ_BACK: Final = tuple(_read_back())
# These tell whether the service is there, and accepts the key.
CONTROLS: Final = tuple(_one(operation, "1") for operation in with_effect("lists", "reads"))


def plan(allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield the requests that a run sends; what is known by then only stays in braces."""
    for probe in [probe for probe in PROBES if allow_create or not probe.operation.commits][:max_requests]:
        key = f"Authorization: {probe.key}" if probe.key else ""
        yield "  ".join(part for part in (probe.operation.method, probe.target, key, probe.body) if part)
