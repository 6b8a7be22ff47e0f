"""Services that break one clause of the interface each, made from the table: operation by field by mistake.

The reports say which of them a team's tests notice. A mutant that no client could ever observe is none:
``petstore-mock verify`` detects each of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.common.values import is_number
from petstore_mock.interface import turn as do
from petstore_mock.interface.schemas import is_valid, parameters, properties, schema
from petstore_mock.interface.table import FIELDS, OPERATIONS, in_words
from petstore_mock.interface.turn import NO_BODY, NO_JSON, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.common.values import JsonValue
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.interface.turn import Change, Condition

    Making = Callable[[Turn], Mapping[str, Any] | None]
    Rules = Mapping[str, Any]

_EXACT: Final = 2**53  # the largest integer up to which a double holds all


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause."""

    name: str
    clause: str  # the id of the clause of ``petstore-mock verify``
    words: str  # what the service does
    operations: tuple[str, ...]  # the names of the operations that do it
    after: Change | None = None  # changes the response
    before: Change | None = None  # changes the request


def _verb(operation: Operation) -> str:
    return operation.client_method.partition("_")[0]


def _with_effect(*effects: str) -> Iterator[Operation]:
    return (operation for operation in OPERATIONS.values() if operation.effect in effects)


def _short(name: str) -> str:
    return name.removesuffix("Id")


def _kind(rules: Rules) -> str:
    return "enum" if "enum" in rules else str(rules.get("type"))


# Fields: an animal with a wrong field.


@dataclass(frozen=True, slots=True)
class _Mistake:
    name: str
    kinds: tuple[str, ...]  # of the fields that it may happen to
    words: str
    change: Callable[[dict[str, Any], str, Rules], object]  # of an animal that has the field
    clause: str = "2-pet-{}"
    effect: str = ""  # of the operations, if it takes a field that a client sent; else of any


def _set(change: Callable[[Any, Rules], Any]) -> Callable[[dict[str, Any], str, Rules], object]:
    return lambda pet, name, rules: pet.update({name: change(pet[name], rules)})


def _drop(pet: dict[str, Any], name: str, _rules: Rules) -> None:
    del pet[name]


def _rename(pet: dict[str, Any], name: str, _rules: Rules) -> None:
    pet[_other_name(name)] = pet.pop(name)


def _other_name(name: str) -> str:
    return FIELDS[name].python if FIELDS[name].python != name else f"pet_{name}"


def _other(value: Any, rules: Rules) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, str):
        return next((one for one in rules.get("enum", ()) if one != value), _other_case(value))
    return value - 1 if isinstance(value, int) else []


def _other_case(text: str) -> str:
    return text.lower() if text == text.upper() else text.upper()


_ascii: Final = _set(lambda value, _: value.encode("ascii", "replace").decode("ascii"))
_rounded: Final = _set(lambda value, rules: min(int(float(value)), rules["maximum"]))
_changed: Final = _set(_other)

_EVERY: Final = ("integer", "string", "enum", "array")
_MISTAKES: Final = (
    _Mistake("missing", ("integer", "string"), "returns no {}", _drop),
    _Mistake("renamed", ("integer", "string"), "calls {} {}", _rename),
    _Mistake("text", ("integer", "array"), "returns {} as text", _set(lambda value, _: str(value))),
    _Mistake("null", ("string",), "returns {} null", _set(lambda _value, _rules: None)),
    _Mistake("upper", ("enum",), "returns {} in other letter case", _set(lambda value, _: _other_case(value))),
    _Mistake("number", ("enum",), "returns {} as a number", _set(lambda value, _: len(value))),
    _Mistake("dropped", ("enum", "array"), "returns no {}", _drop, "2-{}-echoed", "creates"),
    _Mistake("changed", _EVERY, "returns another {}", _changed, "2-{}-echoed", "creates"),
    _Mistake("rounded", ("integer",), "rounds {} beyond 2^53", _rounded, "2-{}-int64", "creates"),
    _Mistake("ascii", ("string",), "returns ? for letters of {} beyond ASCII", _ascii, "2-{}-text", "creates"),
    _Mistake("stale", _EVERY, "returns another {} than the list", _changed, "4.3-same-animal", "reads"),
)


def _of_fields() -> Iterator[Mutant]:
    for operation in OPERATIONS.values():
        for name, rules in properties("Pet").items() if operation.response in {"Pet", "Pets"} else ():
            for mistake in _MISTAKES:
                takes_sent = operation.effect == mistake.effect and not FIELDS[name].assigned
                if _kind(rules) in mistake.kinds and (not mistake.effect or takes_sent):
                    mutant = f"{_verb(operation)}-{_short(name)}-{mistake.name}"
                    words = f"{operation.name} {mistake.words.format(name, _other_name(name))}"
                    clause = mistake.clause.format(_short(name))
                    yield Mutant(mutant, clause, words, (operation.name,), _in_pets(name, mistake.change, rules))


def _in_pets(name: str, change: Callable[[dict[str, Any], str, Rules], object], rules: Rules) -> Change:
    def after(turn: Turn) -> None:
        for pet in turn.pets:
            if name in pet:
                change(pet, name, rules)

    return after


# Operations: a key that is refused or accepted wrongly, a response that is wrong as a whole.


_LISTS: Final = ("lists",)
_CREATES: Final = ("creates",)
_READS: Final = ("reads",)
_BODIES: Final = ("lists", "creates", "changes", "reads")  # the effects of operations that return animals
_ANIMAL: Final = ("creates", "reads")
_ALL: Final = (*_BODIES, "removes")


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    clause: str
    words: str
    effects: tuple[str, ...]
    after: Change | None = None
    statuses: tuple[int, ...] = (200, 201, 204)  # of the responses that ``after`` changes
    before: Change | None = None


def _let_in(*conditions: str) -> Change:
    def before(turn: Turn) -> None:
        if turn.refused_key in conditions:
            turn.refused_key = ""

    return before


_any_key: Final = _let_in("unknown_key", "revoked_key", "expired_key")


def _cut_short(turn: Turn) -> None:
    turn.body = json.dumps(turn.document).encode()[:-1]


def _wrap(change: Callable[[Turn], Any]) -> Change:
    """Return a change of the document to what ``change`` makes of it."""
    return lambda turn: setattr(turn, "document", change(turn))


def _give_id(pet_id: Callable[[Turn, dict[str, Any]], int]) -> Change:
    def after(turn: Turn) -> None:
        for pet in turn.pets:
            pet["id"] = pet_id(turn, pet)

    return after


def _another(turn: Turn) -> None:
    other = turn.animals.other(turn.pet_id)
    if other is not None:
        turn.respond(200, other)


def _unless_filtered(turn: Turn) -> None:
    if not any(parameter.filters and parameter.name in turn.query for parameter in turn.operation.parameters):
        turn.document = []


def _large_id_refused(turn: Turn) -> None:
    if turn.pet_id > _EXACT:
        turn.refuse(400)


_empty: Final = _wrap(lambda _: [])
_array: Final = _wrap(lambda turn: [turn.document])
_object: Final = _wrap(lambda turn: {"pets": turn.document})
_ids: Final = _wrap(lambda turn: [pet["id"] for pet in turn.pets])
_first_id: Final = _give_id(lambda turn, _: turn.pets[0]["id"])
_taken_id: Final = _give_id(lambda turn, pet: (turn.animals.other(pet["id"]) or pet)["id"])


def _forget(turn: Turn) -> None:
    turn.animals.remove(turn.document["id"])


def _respond_200(turn: Turn) -> None:
    turn.respond(200, turn.document if turn.succeeded else None)


_ROWS: Final = (
    _Row("{verb}-is-cut", "1-json-body", "returns JSON that lacks its end", _BODIES, _cut_short),
    _Row("{verb}-as-html", "1-media-type", "responds as text/html", _BODIES, do.as_page),
    _Row("{verb}-not-there", "1-base-address", "is not there: 404", _LISTS, do.refused(404)),
    _Row("{verb}-wrapped", "2-pets-array", 'returns {"pets": [...]}', _LISTS, _object),
    _Row("{verb}-of-ids", "2-pet-object", "returns ids, not animals", _LISTS, _ids),
    _Row("{verb}-in-array", "2-pet-object", "returns an array of one animal", _ANIMAL, _array),
    _Row("{verb}-one-id", "2-id-unique", "returns the id of the first animal for each", _LISTS, _first_id),
    _Row("{verb}-id-taken", "2-id-assigned", "returns the id of another animal", _CREATES, _taken_id),
    _Row("{verb}-empty", "{section}-list-finds", "returns no animal without a filter", _LISTS, _unless_filtered),
    _Row("{verb}-always-empty", "{section}-list-finds", "returns no animal", _LISTS, _empty),
    _Row("{verb}-answers-200", "{success}", "responds 200", ("creates", "removes"), _respond_200),
    _Row("{verb}-answers-204", "{success}", "responds 204 without a body", _BODIES, do.without_body),
    _Row("{verb}-forgotten", "{section}-kept", "keeps no animal", _CREATES, _forget),
    _Row("{verb}-finds-nothing", "{success}", "finds no animal: 404", _READS, do.refused(404)),
    _Row("{verb}-another", "{section}-asked-for", "returns another animal", _READS, _another),
    _Row("absent-is-null", "{section}-absent", "returns null for an absent id", _READS, _respond_200, (404,)),
    _Row("absent-is-400", "{section}-absent", "refuses an absent id: 400", _READS, do.refused(400), (404,)),
    _Row("absent-is-another", "{section}-absent", "returns an animal for an absent id", _READS, _another, (404,)),
    _Row("large-id-refused", "{section}-int64", "refuses an id beyond 2^53", _READS, _large_id_refused, (200, 404)),
    _Row("{verb}-refuses-key", "5-key", "refuses a valid key", _ALL, do.refused(401), (200, 201, 204, 404)),
    _Row("{verb}-without-key", "5-missing-key{suffix}", "accepts a missing key", _ALL, before=_let_in("missing_key")),
    _Row("{verb}-any-key", "5-unknown-key{suffix}", "accepts any key", _ALL, before=_any_key),
)


def _of_operations() -> Iterator[Mutant]:
    for operation in OPERATIONS.values():
        verb, section = _verb(operation), operation.section
        names = {
            "verb": verb,
            "section": section,
            "success": f"{section}-{'created' if operation.effect == 'creates' else verb}",
            "suffix": "" if operation.effect == "lists" else f"-{verb}",
        }
        for row in _ROWS:
            if operation.effect in row.effects:
                words = f"{operation.name} {row.words}"
                name, clause = row.name.format(**names), row.clause.format(**names)
                after = None if row.after is None else do.with_status(row.after, *row.statuses)
                yield Mutant(name, clause, words, (operation.name,), after, row.before)


# Parameters that are ignored, shifted or refused.


def _of_parameters() -> Iterator[Mutant]:
    for operation in _with_effect("lists"):
        filters = [parameter for parameter in operation.query_parameters if parameter.filters]
        for parameter in operation.query_parameters:
            rules = parameters(operation)[parameter.name]
            if parameter in filters:
                # The first filter is "the filter": names of mutants are public, and older than a second filter.
                subject = "filter" if parameter is filters[0] else f"{parameter.name}-filter"
                yield from _of_filter(operation, parameter, rules, subject)
            elif "maximum" in rules and "default" in rules:
                yield from _of_limit(operation, parameter.name, rules)


def _of_limit(operation: Operation, name: str, rules: Rules) -> Iterator[Mutant]:
    verb, clause, only = _verb(operation), f"{operation.section}-{name}", (operation.name,)
    least, most = rules["minimum"], rules["maximum"]

    def refused(mutant: str, bound: str, words: str, is_it: Callable[[int], bool]) -> Mutant:
        change = do.when(lambda turn: (number := turn.number(name)) is not None and is_it(number), do.refused(400))
        return Mutant(f"{verb}-{mutant}-refused", f"{clause}-{bound}", f"{words} is refused: 400", only, change)

    def shifted(change: Callable[[int], int]) -> Change:
        def before(turn: Turn) -> None:
            number = turn.number(name)
            if number is not None:
                turn.query[name] = str(change(number))

        return before

    def defaulted(number: int) -> Mutant:
        words = f"the default of {name} is {number}"
        before = do.before(lambda turn: name not in turn.query, do.asked(name, str(number)))
        return Mutant(f"{verb}-default-{number}", f"{clause}-default", words, only, before=before)

    ignored, and_one = shifted(lambda _: most), shifted(lambda number: min(number + 1, most))
    yield refused("minimum", "minimum", f"{name}={least}", lambda number: number == least)
    yield refused("maximum", "maximum", f"{name}={most}", lambda number: number == most)
    yield refused(name, "within", f"every {name} from {least + 1} to {most - 1}", lambda number: least < number < most)
    yield Mutant(f"{verb}-{name}-ignored", f"{clause}-counts", f"{name} is ignored", only, before=ignored)
    words = f"one animal more than {name} comes"
    yield Mutant(f"{verb}-{name}-and-one", f"{clause}-counts", words, only, before=and_one)
    yield defaulted(most)
    yield defaulted(rules["default"] + 1)


def _of_filter(operation: Operation, parameter: Parameter, rules: Rules, subject: str) -> Iterator[Mutant]:
    verb, name, only = _verb(operation), parameter.name, (operation.name,)
    clause = f"{operation.section}-{name}"

    def finds_nothing(mutant: str, words: str, asked: Condition) -> Mutant:
        change = do.when(asked, _empty)
        return Mutant(f"{verb}-{mutant}-finds-nothing", f"{clause}-finds", f"{words} finds no animal", only, change)

    def ignored(mutant: str, words: str, asked: Condition) -> Mutant:
        before = do.before(asked, lambda turn: turn.query.pop(name))
        return Mutant(f"{verb}-{mutant}-ignored", f"{clause}-filter", f"{words} is ignored", only, before=before)

    yield ignored(subject, f"the {name} filter", lambda turn: name in turn.query)
    yield finds_nothing(subject, f"the {name} filter", lambda turn: name in turn.query)
    values: list[str] = rules.get("enum", [])
    for value, next_value in zip(values, [*values[1:], *values[:1]], strict=True):
        words, asked = f"{name}={value}", _asks(name, value)
        refused = do.when(asked, do.refused(400))
        yield Mutant(f"{verb}-{value}-refused", f"{clause}-{value}", f"{words} is refused: 400", only, refused)
        yield ignored(value, words, asked)
        yield finds_nothing(value, words, asked)
        swapped = do.before(_asks(name, next_value), do.asked(name, value))
        words = f"{name}={next_value} finds the animals of {words}"
        yield Mutant(f"{verb}-{next_value}-{value}", f"{clause}-filter", words, only, before=swapped)


def _asks(name: str, value: str) -> Condition:
    return lambda turn: turn.query.get(name) == value


# Bodies: valid ones that the service refuses, and invalid ones that pass, of which it makes something.


def _of_bodies() -> Iterator[Mutant]:
    for operation in _with_effect("creates"):
        if operation.body is not None:
            yield from _of_valid_bodies(operation, operation.body)
            yield from _of_invalid_bodies(operation, operation.body)
            yield from _of_refused_bodies(operation, operation.body)


def _of_valid_bodies(operation: Operation, body: str) -> Iterator[Mutant]:
    def refused(mutant: str, clause: str, words: str, name: str, value: str | None) -> Mutant:
        change = do.when(lambda turn: turn.fields.get(name) == value, do.refused(400))
        words = f"{operation.name} refuses {words}: 400"
        return Mutant(f"{_verb(operation)}-{mutant}", f"2-{_short(name)}-{clause}", words, (operation.name,), change)

    for name, rules in properties(body).items():
        if name not in schema(body)["required"]:
            yield refused(f"needs-{_short(name)}", "optional", f"an animal without a {name}", name, None)
        for value in rules.get("enum", ()):
            yield refused(f"{value}-refused", value, f"the {name} {value}", name, value)


# The mistakes that a service overlooks, by the kind of the field: the mutant's name, the clause, and the values, which
# came in a body that the service refused.
_OVERLOOKED: Final[Mapping[str, Mapping[str, tuple[str, Callable[[Any, Rules], bool]]]]] = {
    "string": {
        "{}-number": ("type", lambda value, _: is_number(value)),
        "{}-null": ("null", lambda value, _: value is None),
    },
    "integer": {
        "{}-text": ("type", lambda value, _: isinstance(value, str)),
        "{}-fraction": ("fraction", lambda value, _: isinstance(value, float) and value % 1 > 0),
        "{}-null": ("null", lambda value, _: value is None),
        "{}-boolean": ("boolean", lambda value, _: isinstance(value, bool)),
        "{}-beyond-int64": ("range", lambda value, _: type(value) is int),
    },
    "enum": {
        "unknown-{}": ("value", lambda value, rules: isinstance(value, str) and value.lower() not in rules["enum"]),
        "{}-case": ("case", lambda value, rules: isinstance(value, str) and value.lower() in rules["enum"]),
        "{}-number": ("type", lambda value, _: is_number(value)),
    },
    "array": {"{}-text": ("type", lambda value, _: isinstance(value, str))},
}


def _of_invalid_bodies(operation: Operation, body: str) -> Iterator[Mutant]:
    plain = _plain(body)
    for name in plain:
        words, mutant = f"a body without {name}", f"{_short(name)}-not-required"
        yield _passing(operation, mutant, f"{_short(name)}-required", words, _completed({name}, plain))
    words = f"a body without {in_words(plain)}"
    yield _passing(operation, "nothing-required", "both-required", words, _completed({*plain}, plain))
    for name, rules in properties(body).items():
        for template, (clause, is_it) in _OVERLOOKED.get(_kind(rules), {}).items():
            mutant = f"{template.format(_short(name))}-passes"
            words = f"a body with a wrong {name} ({template.format('').strip('-')})"
            made_of = _mended(name, rules, is_it, plain.get(name))
            yield _passing(operation, mutant, f"{_short(name)}-{clause}", words, made_of)
    words = "an array of animals"
    yield _passing(operation, "array-passes", "body-object", words, _first_of_array)
    words = "a body that is not JSON"
    yield _passing(operation, "no-json-passes", "body-json", words, _made_of(NO_JSON, plain))
    yield _passing(operation, "no-body-passes", "body-required", "an empty body", _made_of(NO_BODY, plain))


def _plain(body: str) -> dict[str, Any]:
    """Return a plausible animal with the required fields alone."""
    return {name: FIELDS[name].samples[0] for name in schema(body)["required"]}


def _passing(operation: Operation, name: str, clause: str, words: str, made_of: Making) -> Mutant:
    """Return a mutant that creates the animal that ``made_of`` makes of a refused request, if it makes one."""
    body = str(operation.body)

    def after(turn: Turn) -> None:
        fields = made_of(turn)
        if fields is not None:
            turn.create({name: fields[name] for name in properties(body) if name in fields}, body)

    change = do.with_status(after, 400)
    return Mutant(name, f"{operation.section}-{clause}", f"{words} passes", (operation.name,), change)


def _completed(missing: set[str], plain: Mapping[str, Any]) -> Making:
    def made_of(turn: Turn) -> Mapping[str, Any] | None:
        lacks_these = isinstance(turn.sent, dict) and plain.keys() - turn.fields.keys() == missing
        return {**plain, **turn.fields} if lacks_these else None

    return made_of


def _mended(name: str, rules: Rules, is_it: Callable[[Any, Rules], bool], plain: object) -> Making:
    def made_of(turn: Turn) -> Mapping[str, Any] | None:
        if name not in turn.fields or not is_it(turn.fields[name], rules):
            return None
        lowered = str(turn.fields[name]).lower()
        return {**turn.fields, name: lowered if lowered in rules.get("enum", ()) else plain}

    return made_of


def _made_of(sent: object, plain: Mapping[str, Any]) -> Making:
    return lambda turn: plain if turn.sent is sent else None


def _first_of_array(turn: Turn) -> Mapping[str, Any] | None:
    sent = cast("JsonValue", turn.sent)
    return do.members(sent[0]) if isinstance(sent, list) and sent else None


def _of_refused_bodies(operation: Operation, body: str) -> Iterator[Mutant]:
    plain = _plain(body)

    def kept(turn: Turn) -> None:
        sent = {name: value for name, value in turn.fields.items() if name in plain}
        right = {name: value for name, value in sent.items() if is_valid(body)({**plain, name: value})}
        if right:
            turn.animals.add({**plain, **right})

    for name, status in (("refused", 400), ("unauthorized", 401)):
        clause, words = (
            f"{operation.section}-refused-not-kept",
            f"{operation.name} keeps an animal that it refuses with",
        )
        yield Mutant(f"{name}-is-kept", clause, f"{words} {status}", (operation.name,), do.with_status(kept, status))


# Errors, and a key in another form.


def _of_errors() -> Iterator[Mutant]:
    words, scheme = "the service accepts a key without the scheme Bearer", _let_in("malformed_credentials")
    yield Mutant("any-scheme", "5-scheme", words, tuple(OPERATIONS), before=scheme)
    statuses = sorted({status for operation in OPERATIONS.values() for status in operation.errors})

    def error(name: str, clause: str, words: str, change: Callable[[dict[str, Any]], Any], *only: int) -> Mutant:
        def after(turn: Turn) -> None:
            turn.document = change(do.members(turn.document))

        operations = [one.name for one in OPERATIONS.values() if not only or only[0] in one.errors]
        return Mutant(name, clause, words, tuple(operations), do.with_status(after, *(only or statuses)))

    for field in properties("Error"):
        yield error(f"error-{field}-missing", f"2-error-{field}", f"errors have no {field}", _without(field))
    words = "the status of errors is text"
    yield error("error-status-text", "2-error-status", words, lambda found: {**found, "status": str(found["status"])})
    words = "the status of errors is not the HTTP status"
    yield error("error-status-other", "7-status", words, lambda found: {**found, "status": 500})
    for status in statuses:
        names = tuple(operation.name for operation in OPERATIONS.values() if status in operation.errors)
        clause, page = f"7-{status}-error", do.with_status(_error_page, status)
        yield Mutant(f"{status}-as-html", clause, f"{status} comes as a page of HTML", names, page)
        words = f'the body of {status} is {{"detail": ...}}'
        yield error(f"{status}-as-detail", clause, words, lambda found: {"detail": found.get("message")}, status)


def _without(field: str) -> Callable[[dict[str, Any]], Any]:
    return lambda error: {name: value for name, value in error.items() if name != field}


def _error_page(turn: Turn) -> None:
    do.as_page(turn)
    turn.body = f"<h1>{turn.status}</h1>".encode()


def _section(mutant: Mutant) -> list[int]:
    return [int(part) for part in mutant.clause.partition("-")[0].split(".")]


_TEMPLATES: Final = (_of_fields, _of_operations, _of_parameters, _of_bodies, _of_errors)
_MADE: Final = sorted((mutant for template in _TEMPLATES for mutant in template()), key=_section)
MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType({mutant.name: mutant for mutant in _MADE})
