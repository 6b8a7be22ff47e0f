"""The probes: the requests of a run, in the order of sending. They are derived from the table of operations.

A target or a body may hold these placeholders:

- ``{known}``: the id of a listed animal, or 1
- ``{odd1}`` to ``{odd3}``: the ids of listed animals with unusual values
- ``{absent}``: a random id that probably no animal has
- ``{made}``: the id of the last animal that this run created
- ``{label}`` and ``{long label}``: a name that is unique to the request; the long name has 256 characters
- ``{categoryId}``, the name of a field that refers to another record: its value in a listed animal, or a sample
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.guards import is_array
from petstore_mock.interface.bodies import as_text, odd_texts, plain, plain_text, short, wrong_bodies
from petstore_mock.interface.gaps import NULLS, RULES
from petstore_mock.interface.kinds import kind_of
from petstore_mock.interface.schemas import parameters, properties
from petstore_mock.interface.table import FIELDS, LABEL, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.interface.table import Operation, Parameter

UNKNOWN_FIELD: Final = "noSuchField"
LONG_NAME: Final = 256
OWN: Final = "Bearer {key}"
UNKNOWN_KEY: Final = "no-such-key"

# The response that the interface demands. ``accepted``: a success, which shows that a value is allowed. ``made``: a
# success with the last created animal. ``open``: the interface leaves the response open.
Expected = Literal["success", "accepted", "made", "refused", "kept out", "absent", "absent or there", "open"]


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that checks a clause or detects a gap."""

    operation: Operation
    target: str  # relative to the base address
    expected: Expected = "success"
    shows: str = ""  # the id of a clause, or the name of a gap
    words: str = ""  # the sentence of that clause
    key: str = OWN  # the value of Authorization
    body: str = ""
    media_type: str = "application/json"
    is_last_resort: bool = False  # sent only if the service refused every plain animal

    @property
    def has_key(self) -> bool:
        return self.key == OWN

    @property
    def is_valid(self) -> bool:
        return self.expected in {"success", "accepted", "made"}


def with_effect(*effects: str) -> tuple[Operation, ...]:
    return tuple(operation for operation in OPERATIONS.values() if operation.effect in effects)


def limits_of(operation: Operation) -> tuple[int, int, int]:
    """Return the least, the largest and the default limit of a list."""
    rules = parameters(operation)["limit"]
    return rules["minimum"], rules["maximum"], rules["default"]


def filters_of(operation: Operation) -> list[Parameter]:
    return [parameter for parameter in operation.query_parameters if parameter.says.filters]


# Lists


def _list(operation: Operation, query: str = "", *more: Any) -> Probe:  # noqa: ANN401
    return Probe(operation, f"{operation.path}?{query}".rstrip("?"), *more)


def _lists(operation: Operation) -> Iterator[Probe]:
    """Yield lists of every kind. A run sends them twice, because other clients may change animals meanwhile."""
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
            sample = FIELDS[parameter.filters_by].samples[0]
            yield _list(operation, f"{name}={sample[0] if is_array(sample) else sample}")
        yield _list(operation, f"{name}=no-such-value", "open", parameter.gap or "")
    yield _list(operation, "no-such-parameter=1", "open", "unknown_query")


def _largest(operation: Operation, *more: Any) -> Probe:  # noqa: ANN401
    return _list(operation, f"limit={limits_of(operation)[1]}", *more)


# Requests for one animal


def _one(operation: Operation, value: str, *more: Any, **others: Any) -> Probe:  # noqa: ANN401
    """Return a request for a path. If the path has a parameter, ``value`` replaces it."""
    parameter = operation.identifier
    target = operation.path.replace(f"{{{parameter.name}}}", value) if parameter else operation.path
    body = as_text(plain(operation.body)) if operation.body else ""
    return Probe(operation, target, *more, **{"body": body, **others})


def _with_other_keys(operation: Operation) -> Iterator[Probe]:
    value = "{known}" if operation.effect == "reads" else "{absent}"
    suffix = "" if operation.effect == "lists" else f"-{operation.verb}"
    missing = "kept out", f"5-missing-key{suffix}", f"{operation.name} without a key gets 401"
    unknown = "kept out", f"5-unknown-key{suffix}", f"{operation.name} with an invalid key gets 401"
    yield _one(operation, value, *missing, key="")
    yield _one(operation, value, *unknown, key=f"Bearer {UNKNOWN_KEY}")
    if operation.effect == "reads":
        yield _one(operation, "{absent}", *unknown, key=f"Bearer {UNKNOWN_KEY}")
    if operation.effect == "lists":
        # A URL must never hold the user's own key.
        yield _list(operation, f"api_key={UNKNOWN_KEY}", *missing, "")
        scheme = "kept out", "5-scheme", "Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>"
        yield from (_one(operation, value, *scheme, key=key) for key in ("{key}", "Basic {key}", "Bearer"))


# Creates


def _odd(name: str, rules: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield values of a field that a service may refuse: the JSON text, and the gap that it shows or an empty text."""
    kind = kind_of(rules)
    for text in odd_texts(rules):
        yield text, ""
    if kind.type == "integer":
        yield f"{plain_text(name)}.0", "integral_float"
    for gap in (*RULES, *NULLS.values()):
        if gap.field == name:
            yield from ((text, gap.name) for text in gap.texts)


def _creates(operation: Operation) -> Iterator[Probe]:
    """Yield creates: wrong bodies, then plain animals, then odd animals, which a service may refuse."""
    body, section = str(operation.body), operation.section
    required, fields = plain(body), properties(body)

    def create(texts: Mapping[str, str], *more: Any, **others: Any) -> Probe:  # noqa: ANN401
        return _one(operation, "", *more, **{"body": as_text({**required, **texts}), **others})

    for end, words, text in wrong_bodies(body):
        yield create({}, "refused", f"{section}-{end}", f"{words} gets 400", body=text)
    optional = {name: rules for name, rules in fields.items() if name not in required}
    samples = {name: json.dumps(FIELDS[name].samples[0]) for name in optional}
    for name, rules in optional.items():
        others = {other: text for other, text in samples.items() if other != name}
        for value in rules.get("enum", ()):
            shows = f"2-{short(name)}-{value}", f"{name}: {value} is allowed"
            yield create({**others, name: json.dumps(value)}, "accepted", *shows)
        if "enum" not in rules:
            yield create(samples)
        yield create(others, "accepted", f"2-{short(name)}-optional", f"NewPet: {name} is not required")
    yield create({LABEL: json.dumps(FIELDS[LABEL].samples[0])}, "open", is_last_resort=True)
    extra = {name: json.dumps(rules["enum"][0]) for name, rules in optional.items() if "enum" in rules}
    for name, rules in fields.items():
        for text, gap in _odd(name, rules):
            yield create({**extra, name: text}, "open", gap)
    yield create({UNKNOWN_FIELD: "1"}, "open", "unknown_body_field")
    yield create({}, "open", "media_type", media_type="text/plain")


# All


def _probes() -> Iterator[Probe]:
    lists, gets, creates = with_effect("lists"), with_effect("reads"), with_effect("creates")
    for operation in lists:  # the most important probes come first, because a key may expire soon
        yield from _lists(operation)
    for operation in gets:
        absent = "absent", f"{operation.section}-absent", "404: no animal found for the given petId"
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
    """Yield the requests that show the last created animal: by id, or in a list after the removal of getPet."""
    section = with_effect("creates")[0].section
    kept = "made", f"{section}-kept", f"A created animal stays in the catalogue (by the meaning of §{section})"
    yield from (_one(operation, "{made}", *kept) for operation in with_effect("reads"))
    yield from (_largest(operation, *kept) for operation in with_effect("lists"))


PROBES: Final = tuple(_probes())
READ_BACK: Final = tuple(_read_back())
# Their responses show whether the service still responds and accepts the key.
CONTROLS: Final = tuple(_one(operation, "1") for operation in with_effect("lists", "reads"))


def plan(allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield a line for each of ``PROBES`` that a run may send. Placeholders stay: responses give their values."""
    for probe in [probe for probe in PROBES if allow_create or not probe.operation.commits][:max_requests]:
        key = f"Authorization: {probe.key}" if probe.key else ""
        yield "  ".join(part for part in (probe.operation.method, probe.target, key, probe.body) if part)
