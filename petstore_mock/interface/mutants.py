"""Services that break one clause of the interface each: templates of mistakes, applied to the rows of the table.

The reports say which of them a team's tests notice. A mutant that no client could ever observe is none:
``petstore-mock verify`` detects each of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.values import is_number
from petstore_mock.interface.schemas import is_valid, parameters, properties, schema
from petstore_mock.interface.table import FIELDS, OPERATIONS
from petstore_mock.interface.turn import NO_BODY, NO_JSON, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.interface.table import Operation

    Rules = Mapping[str, Any]
    Change = Callable[[Turn, "_Subject"], object]

_SUCCESSES: Final = (200, 201, 204)
_STATUSES: Final = tuple(sorted({status for operation in OPERATIONS.values() for status in operation.errors}))
_PETS: Final = ("lists", "creates", "changes", "reads")  # the effects of operations that return animals
_STATUS_NAMES: Final[list[str]] = schema("PetStatus")["enum"]
_WRONG_KEYS: Final = ("unknown_key", "revoked_key", "expired_key")
_EXACT: Final = 2**53  # the largest integer up to which a double holds all


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause."""

    name: str
    clause: str  # the id of the clause of ``petstore-mock verify``
    words: str  # what the service does
    operations: tuple[str, ...]  # the names of the operations that do it
    after: Callable[[Turn], object] | None = None  # changes the response
    before: Callable[[Turn], object] | None = None  # changes the request


@dataclass(frozen=True, slots=True)
class _Subject:
    """One thing that a template is about: operations, and a field, a parameter, a value or a status of theirs."""

    operations: tuple[str, ...]
    words: Mapping[str, object]  # for the name, the clause and the sentence
    name: str = ""  # of a field or a parameter
    rules: Rules = field(default_factory=dict[str, Any])
    value: Any = None
    statuses: tuple[int, ...] = ()  # of the responses, where the template has the usual ones

    @property
    def operation(self) -> Operation:
        return OPERATIONS[self.operations[0]]

    @property
    def body(self) -> str:
        return self.operation.body or ""

    def valued(self, value: object, **words: object) -> _Subject:
        return self.about(self.name, self.rules, str(value), **words)

    def about(self, name: str, rules: Rules, value: Any = None, **words: object) -> _Subject:  # noqa: ANN401
        """Return the subject of a field, a parameter or a value of these operations."""
        told = {**self.words, "name": name, "short": name.removesuffix("Id"), "value": value, **words}
        return _Subject(self.operations, told, name, rules, value)


@dataclass(frozen=True, slots=True)
class _Template:
    """One mistake."""

    subjects: Iterable[_Subject]
    text: str  # name, clause and words of the mutant; braces stand for words of the subject
    change: Change
    statuses: tuple[int, ...] = _SUCCESSES  # of the responses that it changes; it changes requests where there are none

    def mutants(self) -> Iterator[Mutant]:
        for subject in self.subjects:
            turned = partial(self._turned, subject)
            after, before = (turned, None) if self.statuses else (None, turned)
            name, clause, words = self.text.format_map(subject.words).split(" ", 2)
            yield Mutant(name, clause, words, subject.operations, after, before)

    def _turned(self, subject: _Subject, turn: Turn) -> None:
        if not self.statuses or turn.status in (subject.statuses or self.statuses):
            self.change(turn, subject)


# The subjects


def _operations(*effects: str) -> list[_Subject]:
    return [_subject(operation) for operation in OPERATIONS.values() if operation.effect in effects]


def _subject(operation: Operation) -> _Subject:
    verb = operation.client_method.partition("_")[0]
    words = {
        "operation": operation.name,
        "verb": verb,
        "section": operation.section,
        "success": f"{operation.section}-{'created' if operation.effect == 'creates' else verb}",
        "suffix": "" if operation.effect == "lists" else f"-{verb}",
    }
    return _Subject((operation.name,), words)


def _kind(rules: Rules) -> str:
    return "enum" if "enum" in rules else str(rules.get("type"))


def _returned(kind: str) -> list[_Subject]:
    """Return the fields of one kind in the animals that operations return."""
    return [
        subject.about(name, rules, other=FIELDS[name].python if FIELDS[name].python != name else f"pet_{name}")
        for subject in _operations(*_PETS)
        for name, rules in properties("Pet").items()
        if _kind(rules) == kind
    ]


def _stored(*fields: Iterable[_Subject]) -> list[_Subject]:
    """Return the fields that a client has sent in the same request."""
    return [one for one in chain(*fields) if one.operation.effect == "creates" and not FIELDS[one.name].assigned]


def _read(fields: Iterable[_Subject]) -> list[_Subject]:
    return [one for one in fields if one.operation.effect == "reads" and not FIELDS[one.name].assigned]


def _declaring(status: int) -> tuple[str, ...]:
    return tuple(name for name, operation in OPERATIONS.items() if status in operation.errors)


def _parameters(*, filters: bool) -> Iterator[_Subject]:
    """Yield the parameters of lists that filter, or those that bound."""
    for subject in _LISTS:
        rows = [row for row in subject.operation.query_parameters if bool(row.filters) is filters]
        for row in rows:
            # The first filter is "the filter": names of mutants are public, and older than a second filter.
            word = "filter" if row is rows[0] else f"{row.name}-filter"
            yield subject.about(row.name, parameters(subject.operation)[row.name], word=word)


def _values(subjects: Iterable[_Subject]) -> Iterator[_Subject]:
    """Yield the values of enumerations, each with the one before it."""
    for subject in subjects:
        values = subject.rules.get("enum", [])
        for former, value in zip([*values[-1:], *values], values, strict=False):
            yield subject.about(subject.name, subject.rules, value, word=value, former=former)


def _bodies() -> list[_Subject]:
    """Return the operations that create; the value is a plausible animal with the required fields alone."""
    return [
        subject.about("", {}, {name: FIELDS[name].samples[0] for name in schema(subject.body)["required"]})
        for subject in _operations("creates")
    ]


def _sent() -> list[_Subject]:
    """Return the fields of the bodies; the value is the plausible animal."""
    return [
        subject.about(name, rules, subject.value)
        for subject in _bodies()
        for name, rules in properties(subject.body).items()
    ]


def _wrong() -> Iterator[_Subject]:
    """Yield the wrong values of each field that a service may overlook, by the kind of the field."""
    for subject in _sent():
        for wrong, clause in _OVERLOOKED.get(_kind(subject.rules), {}).items():
            short = subject.words["short"]
            mutant = f"unknown-{short}" if clause == "value" else f"{short}-{wrong}"
            yield subject.about(subject.name, subject.rules, subject.value, wrong=wrong, clause=clause, mutant=mutant)


_IS_WRONG: Final[Mapping[str, Callable[[Any], bool]]] = {
    "number": is_number,
    "null": lambda value: value is None,
    "text": lambda value: isinstance(value, str),
    "fraction": lambda value: isinstance(value, float) and value % 1 > 0,
    "boolean": lambda value: isinstance(value, bool),
    "beyond-int64": lambda value: type(value) is int,
    "unknown": lambda value: isinstance(value, str) and value.lower() not in _STATUS_NAMES,
    "case": lambda value: isinstance(value, str) and value.lower() in _STATUS_NAMES,
}
_OVERLOOKED: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {"number": "type", "null": "null"},
    "integer": {"text": "type", "fraction": "fraction", "null": "null", "boolean": "boolean", "beyond-int64": "range"},
    "enum": {"unknown": "value", "case": "case", "number": "type"},
    "array": {"text": "type"},
}


# The mistakes


def _becomes(**attributes: object) -> Change:
    """Return a change of attributes of the turn."""

    def change(turn: Turn, _: object) -> None:
        for name, value in attributes.items():
            setattr(turn, name, value)

    return change


def _when(holds: Callable[[Turn, _Subject], bool], change: Change) -> Change:
    return lambda turn, subject: change(turn, subject) if holds(turn, subject) else None


def _let_in(*conditions: str) -> Change:
    return _when(lambda turn, _: turn.refused_key in conditions, _becomes(refused_key=""))


def _refuse(status: int = 400) -> Change:
    return lambda turn, _: turn.refuse(status)


def _document(change: Callable[[Any, _Subject], Any]) -> Change:
    """Return a change of the document to the value that ``change`` makes of it."""
    return lambda turn, subject: setattr(turn, "document", change(turn.document, subject))


def _status_as(change: Callable[[int], object]) -> Change:
    return _document(lambda error, _: {**error, "status": change(error["status"])})


def _cut_short(turn: Turn, _: object) -> None:
    turn.body = json.dumps(turn.document).encode()[:-1]


def _respond_another(turn: Turn, _: object) -> None:
    other = turn.animals.other(turn.pet_id)
    if other is not None:
        turn.status, turn.document = 200, other


def _forget(turn: Turn, _: object) -> None:
    turn.animals.remove(turn.document["id"])


def _is_unfiltered(turn: Turn, _: object) -> bool:
    return not any(one.filters and one.name in turn.query for one in turn.operation.parameters)


def _take_first_id(turn: Turn, _: object) -> None:
    for pet in turn.pets:
        pet["id"] = turn.pets[0]["id"]


def _take_other_id(turn: Turn, _: object) -> None:
    turn.document["id"] = (turn.animals.other(turn.document["id"]) or turn.document)["id"]


def _in_pets(change: Callable[[dict[str, Any], _Subject], object]) -> Change:
    def after(turn: Turn, subject: _Subject) -> None:
        for pet in turn.pets:
            if subject.name in pet:
                change(pet, subject)

    return after


def _set(change: Callable[..., Any]) -> Change:
    return _in_pets(lambda pet, subject: pet.update({subject.name: change(pet[subject.name])}))


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")


def _rounded(number: int) -> int:
    return min(int(float(number)), 2**63 - 1)


def _other(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, str):
        return next((one for one in _STATUS_NAMES if value in _STATUS_NAMES and one != value), value.swapcase())
    return value - 1 if isinstance(value, int) else []


def _is_asked(turn: Turn, subject: _Subject) -> bool:
    """Whether the request has the parameter, with the value of the subject if it has one."""
    return subject.name in turn.query and subject.value in {None, turn.query[subject.name]}


def _is_between(turn: Turn, subject: _Subject) -> bool:
    number = turn.number(subject.name)
    return number is not None and subject.rules["minimum"] < number < subject.rules["maximum"]


def _ignore(turn: Turn, subject: _Subject) -> None:
    if _is_asked(turn, subject):
        del turn.query[subject.name]


def _ask_former(turn: Turn, subject: _Subject) -> None:
    if _is_asked(turn, subject):
        turn.query[subject.name] = str(subject.words["former"])


def _ask_default(turn: Turn, subject: _Subject) -> None:
    turn.query.setdefault(subject.name, subject.value)


def _ask_one_more(turn: Turn, subject: _Subject) -> None:
    number = turn.number(subject.name)
    if number is not None:
        turn.query[subject.name] = str(min(number + 1, subject.rules["maximum"]))


def _is_sent(turn: Turn, subject: _Subject) -> bool:
    return bool(turn.fields.get(subject.name) == subject.value)


def _passes(made_of: Callable[[Turn, _Subject], Mapping[str, Any] | None]) -> Change:
    """Return a change that creates the animal that ``made_of`` makes of a refused body, if it makes one."""

    def after(turn: Turn, subject: _Subject) -> None:
        fields = made_of(turn, subject)
        if fields is not None:
            turn.create(fields)

    return after


def _completed(turn: Turn, subject: _Subject) -> Mapping[str, Any] | None:
    """Complete a body that lacks the field, or all required fields where the subject has none."""
    lacking = {subject.name} if subject.name else subject.value.keys()
    is_lacking = is_object(turn.sent) and subject.value.keys() - turn.fields.keys() == lacking
    return {**subject.value, **turn.fields} if is_lacking else None


def _mended(turn: Turn, subject: _Subject) -> Mapping[str, Any] | None:
    """Put a right value, or none, in the place of a wrong one."""
    name, value = subject.name, turn.fields.get(subject.name)
    if name not in turn.fields or not _IS_WRONG[str(subject.words["wrong"])](value):
        return None
    lowered = str(value).lower()
    return {**turn.fields, name: lowered if lowered in subject.rules.get("enum", ()) else subject.value.get(name)}


def _instead_of(sent: object) -> Change:
    return _passes(lambda turn, subject: subject.value if turn.sent is sent else None)


def _first_of_array(turn: Turn, _: object) -> Mapping[str, Any] | None:
    first = turn.sent[0] if is_array(turn.sent) and turn.sent else None
    return first if is_object(first) else None


def _keep(turn: Turn, subject: _Subject) -> None:
    plain, is_right = subject.value, is_valid(subject.body)
    sent = {name: value for name, value in turn.fields.items() if name in plain}
    right = {name: value for name, value in sent.items() if is_right({**plain, name: value})}
    if right:
        turn.animals.add({**plain, **right})


_EMPTY: Final = _becomes(document=[])
_ok: Final = _becomes(status=200)
_null: Final = _becomes(status=200, document=None)
_only_ids: Final = _document(lambda pets, _: [one["id"] for one in pets])
_in_array: Final = _document(lambda pet, _: [pet])
_empty_unfiltered: Final = _when(_is_unfiltered, _EMPTY)
_NO_CONTENT: Final = _becomes(status=204, document=None, media_type=None, body=b"")
_error_page: Final = _becomes(media_type="text/html", body=b"<h1>Error</h1>")
_drop: Final = _in_pets(lambda pet, subject: pet.pop(subject.name))
_rename: Final = _in_pets(lambda pet, subject: pet.update({str(subject.words["other"]): pet.pop(subject.name)}))
_detail: Final = _document(lambda error, _: {"detail": error["message"]})
_without: Final = _document(lambda error, subject: {name: error[name] for name in error if name != subject.name})
_refuse_asked: Final = _when(_is_asked, _refuse())
_refuse_between: Final = _when(_is_between, _refuse())
_refuse_large: Final = _when(lambda turn, _: turn.pet_id > _EXACT, _refuse())
_refuse_sent: Final = _when(_is_sent, _refuse())
_find_none: Final = _when(_is_asked, _EMPTY)
_complete: Final = _passes(_completed)
_mend: Final = _passes(_mended)

# The templates

_LISTS: Final = _operations("lists")
_CREATES: Final = _operations("creates")
_READS: Final = _operations("reads")
_SHOWS: Final = _operations(*_PETS)
_ALL: Final = _operations(*_PETS, "removes")
_EVERY: Final = [_Subject(tuple(OPERATIONS), {})]
_ERRORS: Final = [_Subject(_declaring(status), {"status": status}, statuses=(status,)) for status in _STATUSES]
_OF_ERRORS: Final = [_EVERY[0].about(name, rules) for name, rules in properties("Error").items()]
_NUMBERS: Final = _returned("integer")
_TEXTS: Final = _returned("string")
_CHOICES: Final = _returned("enum")
_ARRAYS: Final = _returned("array")
_ANY: Final = [*_NUMBERS, *_TEXTS, *_CHOICES, *_ARRAYS]
_LIMITS: Final = [one for one in _parameters(filters=False) if {"maximum", "default"} <= one.rules.keys()]
_BOUNDS: Final = [one.valued(one.rules[bound], word=bound) for one in _LIMITS for bound in ("minimum", "maximum")]
_DEFAULTS: Final = [one.valued(n) for one in _LIMITS for n in (one.rules["maximum"], one.rules["default"] + 1)]
_FILTERS: Final = [*_parameters(filters=True)]
_VALUES: Final = [*_values(_FILTERS)]
_NARROWED: Final = [*_FILTERS, *_VALUES]
_REQUIRED: Final = [one for one in _sent() if one.name in one.value]
_OPTIONAL: Final = [one.about(one.name, one.rules) for one in _sent() if one.name not in one.value]
_T: Final = _Template

_TEMPLATES: Final = (
    _T(_SHOWS, "{verb}-is-cut 1-json-body {operation} returns JSON that lacks its end", _cut_short),
    _T(_SHOWS, "{verb}-as-html 1-media-type {operation} responds as text/html", _becomes(media_type="text/html")),
    _T(_LISTS, "{verb}-not-there 1-base-address {operation} is not there: 404", _refuse(404)),
    _T(_LISTS, "{verb}-wrapped 2-pets-array {operation} wraps the array", _document(lambda pets, _: {"pets": pets})),
    _T(_LISTS, "{verb}-of-ids 2-pet-object {operation} returns ids, not animals", _only_ids),
    _T([*_CREATES, *_READS], "{verb}-in-array 2-pet-object {operation} returns an array", _in_array),
    # Fields of animals
    _T([*_NUMBERS, *_TEXTS], "{verb}-{short}-missing 2-pet-{short} {operation} returns no {name}", _drop),
    _T([*_NUMBERS, *_TEXTS], "{verb}-{short}-renamed 2-pet-{short} {operation} calls {name} {other}", _rename),
    _T([*_NUMBERS, *_ARRAYS], "{verb}-{short}-text 2-pet-{short} {operation} has {name} as text", _set(str)),
    _T(_TEXTS, "{verb}-{short}-null 2-pet-{short} {operation} returns {name} null", _set(lambda _: None)),
    _T(_CHOICES, "{verb}-{short}-upper 2-pet-{short} {operation} returns {name} in capitals", _set(str.upper)),
    _T(_CHOICES, "{verb}-{short}-number 2-pet-{short} {operation} returns {name} as a number", _set(len)),
    _T(_LISTS, "{verb}-one-id 2-id-unique {operation} returns the first id for each animal", _take_first_id),
    _T(_CREATES, "{verb}-id-taken 2-id-assigned {operation} returns the id of another animal", _take_other_id),
    _T(_stored(_CHOICES, _ARRAYS), "{verb}-{short}-dropped 2-{short}-echoed {operation} loses {name}", _drop),
    _T(_stored(_ANY), "{verb}-{short}-changed 2-{short}-echoed {operation} returns another {name}", _set(_other)),
    _T(_stored(_NUMBERS), "{verb}-{short}-rounded 2-{short}-int64 {name} is rounded beyond 2^53", _set(_rounded)),
    _T(_stored(_TEXTS), "{verb}-{short}-ascii 2-{short}-text {name} loses letters beyond ASCII", _set(_ascii)),
    _T(_read(_ANY), "{verb}-{short}-stale 4.3-same-animal {name} is another than in the list", _set(_other)),
    # Errors
    _T(_OF_ERRORS, "error-{name}-missing 2-error-{name} errors have no {name}", _without, _STATUSES),
    _T(_EVERY, "error-status-text 2-error-status the status of errors is text", _status_as(str), _STATUSES),
    _T(_EVERY, "error-status-other 7-status the status of errors is 500", _status_as(lambda _: 500), _STATUSES),
    _T(_ERRORS, "{status}-as-html 7-{status}-error {status} comes as a page of HTML", _error_page),
    _T(_ERRORS, "{status}-as-detail 7-{status}-error {status} has a member detail alone", _detail),
    # Parameters
    _T([*_BOUNDS, *_VALUES], "{verb}-{word}-refused {section}-{name}-{word} {name}={value} is refused", _refuse_asked),
    _T(_LIMITS, "{verb}-{name}-refused {section}-{name}-within every {name} between is refused", _refuse_between),
    _T(_LIMITS, "{verb}-{name}-ignored {section}-{name}-counts {name} is ignored", _ignore, ()),
    _T(_LIMITS, "{verb}-{name}-and-one {section}-{name}-counts one animal more than {name} comes", _ask_one_more, ()),
    _T(_DEFAULTS, "{verb}-default-{value} {section}-{name}-default {name} is {value} by default", _ask_default, ()),
    _T(_NARROWED, "{verb}-{word}-ignored {section}-{name}-filter {name} ({word}) is ignored", _ignore, ()),
    _T(_NARROWED, "{verb}-{word}-finds-nothing {section}-{name}-finds {name} ({word}) finds nothing", _find_none),
    _T(_VALUES, "{verb}-{value}-{former} {section}-{name}-filter {value} finds {former}", _ask_former, ()),
    # Operations as a whole
    _T(_LISTS, "{verb}-empty {section}-list-finds {operation} finds nothing without a filter", _empty_unfiltered),
    _T(_LISTS, "{verb}-always-empty {section}-list-finds {operation} finds nothing", _EMPTY),
    _T(_operations("creates", "removes"), "{verb}-answers-200 {success} {operation} responds 200", _ok),
    _T(_SHOWS, "{verb}-answers-204 {success} {operation} responds 204 without a body", _NO_CONTENT),
    _T(_CREATES, "{verb}-forgotten {section}-kept {operation} keeps no animal", _forget),
    _T(_READS, "{verb}-finds-nothing {success} {operation} finds no animal: 404", _refuse(404)),
    _T(_READS, "{verb}-another {section}-asked-for {operation} returns another animal", _respond_another),
    _T(_READS, "absent-is-null {section}-absent an absent animal is null", _null, (404,)),
    _T(_READS, "absent-is-400 {section}-absent an absent animal is refused: 400", _refuse(), (404,)),
    _T(_READS, "absent-is-another {section}-absent an absent animal is another", _respond_another, (404,)),
    _T(_READS, "large-id-refused {section}-int64 an id beyond 2^53 is refused: 400", _refuse_large, (200, 404)),
    _T(_ALL, "{verb}-refuses-key 5-key {operation} refuses a valid key", _refuse(401), (*_SUCCESSES, 404)),
    _T(_ALL, "{verb}-without-key 5-missing-key{suffix} {operation} accepts a missing key", _let_in("missing_key"), ()),
    _T(_ALL, "{verb}-any-key 5-unknown-key{suffix} {operation} accepts any key", _let_in(*_WRONG_KEYS), ()),
    _T(_EVERY, "any-scheme 5-scheme a key without Bearer is accepted", _let_in("malformed_credentials"), ()),
    # Bodies
    _T(_OPTIONAL, "{verb}-needs-{short} 2-{short}-optional a body without {name} is refused", _refuse_sent),
    _T(_values(_sent()), "{verb}-{value}-refused 2-{short}-{value} the {name} {value} is refused", _refuse_sent),
    _T(_REQUIRED, "{short}-not-required {section}-{short}-required no {name} passes", _complete, (400,)),
    _T(_bodies(), "nothing-required {section}-both-required a body without required fields passes", _complete, (400,)),
    _T(_wrong(), "{mutant}-passes {section}-{short}-{clause} a wrong {name} ({wrong}) passes", _mend, (400,)),
    _T(_bodies(), "array-passes {section}-body-object an array of animals passes", _passes(_first_of_array), (400,)),
    _T(_bodies(), "no-json-passes {section}-body-json a body that is not JSON passes", _instead_of(NO_JSON), (400,)),
    _T(_bodies(), "no-body-passes {section}-body-required an empty body passes", _instead_of(NO_BODY), (400,)),
    _T(_bodies(), "refused-is-kept {section}-refused-not-kept a refused animal is kept: 400", _keep, (400,)),
    _T(_bodies(), "unauthorized-is-kept {section}-refused-not-kept an animal is kept without a key", _keep, (401,)),
)


def _section(mutant: Mutant) -> list[int]:
    return [int(part) for part in mutant.clause.partition("-")[0].split(".")]


_MADE: Final = sorted((mutant for template in _TEMPLATES for mutant in template.mutants()), key=_section)
MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType({mutant.name: mutant for mutant in _MADE})
