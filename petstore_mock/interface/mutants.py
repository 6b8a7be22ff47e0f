"""Services that break one clause of the interface each: templates of mistakes, applied to the rows of the table.

The reports say which of them a team's tests notice. A mutant that no client could ever observe is none:
``petstore-mock verify`` detects each of them.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownMemberType=false
# JSON values have any type, and so have the words of a subject.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from json import dumps
from types import MappingProxyType
from typing import Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.values import is_number
from petstore_mock.interface.schemas import is_valid, parameters, properties, schema
from petstore_mock.interface.table import FIELDS, OPERATIONS
from petstore_mock.interface.turn import NO_BODY, NO_JSON, Turn

# An operation, and a field, a parameter or a value of it: the words for the texts of a template.
Subject = Mapping[str, Any]
Change = Callable[[Turn, Subject], object]

_SUCCESSES: Final = (200, 201, 204)
_PETS: Final = ("lists", "creates", "changes", "reads")  # the effects of operations that return animals
_STATUS_NAMES: Final[list[str]] = schema("PetStatus")["enum"]
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


def _mutants(
    subjects: Iterable[Subject], text: str, change: Change, statuses: tuple[int, ...] = _SUCCESSES
) -> Iterator[Mutant]:
    """Yield the mutants of a template: ``text`` has name, clause and words; braces stand for words of a subject.

    A template changes responses with one of ``statuses``, or requests where there are none.
    """
    for subject in subjects:
        name, clause, words = text.format_map(subject).split(" ", 2)
        turned = partial(_turned, change, subject, subject.get("statuses", statuses))
        after, before = (turned, None) if statuses else (None, turned)
        yield Mutant(name, clause, words, subject["operations"], after, before)


def _turned(change: Change, subject: Subject, statuses: tuple[int, ...], turn: Turn) -> None:
    if not statuses or turn.status in statuses:
        change(turn, subject)


# The subjects


def _operations(*effects: str) -> list[Subject]:
    found: list[Subject] = []
    for operation in OPERATIONS.values():
        verb = operation.client_method.partition("_")[0]
        success = f"{operation.section}-{'created' if operation.effect == 'creates' else verb}"
        words = {"operation": operation.name, "verb": verb, "section": operation.section, "success": success}
        suffix = "" if operation.effect == "lists" else f"-{verb}"
        if operation.effect in effects:
            found.append({**words, "row": operation, "operations": (operation.name,), "suffix": suffix})
    return found


def _named(subject: Subject, fields: Mapping[str, Any], **words: Any) -> list[Subject]:  # noqa: ANN401
    """Return the fields or parameters of an operation, by their schemas."""
    return [
        {
            **subject,
            "name": name,
            "short": name.removesuffix("Id"),
            "rules": rules,
            "kind": "enum" if "enum" in rules else rules.get("type"),
            "value": None,
            **words,
        }
        for name, rules in fields.items()
    ]


def _returned(*kinds: str) -> list[Subject]:
    """Return the fields of some kinds in the animals that operations return."""
    found = [one for subject in _SHOWS for one in _named(subject, properties("Pet"))]
    return [one for one in found if one["kind"] in kinds]


def _known(effect: str, fields: list[Subject]) -> list[Subject]:
    """Return the fields that the client knows already: it has sent them, or has seen them in a list."""
    return [one for one in fields if one["row"].effect == effect and not FIELDS[one["name"]].assigned]


def _values(subjects: Iterable[Subject]) -> list[Subject]:
    """Return the values of enumerations, each with the one before it."""
    found: list[Subject] = []
    for subject in subjects:
        values = subject["rules"].get("enum", [])
        for former, value in zip([*values[-1:], *values], values, strict=False):
            found.append({**subject, "value": value, "word": value, "former": former})
    return found


def _wrong() -> Iterator[Subject]:
    """Yield the wrong values of each field that a service may overlook, by the kind of the field."""
    for subject in _SENT:
        for wrong, clause in _OVERLOOKED.get(subject["kind"], {}).items():
            mutant = f"unknown-{subject['short']}" if clause == "value" else f"{subject['short']}-{wrong}"
            yield {**subject, "wrong": wrong, "clause": clause, "mutant": mutant}


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

_LISTS: Final = _operations("lists")
_CREATES: Final[list[Subject]] = [
    {**one, "plain": {name: FIELDS[name].samples[0] for name in schema(one["row"].body)["required"]}}
    for one in _operations("creates")
]
_READS: Final = _operations("reads")
_SHOWS: Final = _operations(*_PETS)
_ALL: Final = _operations(*_PETS, "removes")
_EVERY: Final[list[Subject]] = [{"operations": tuple(OPERATIONS)}]
_STATUSES: Final = tuple(sorted({status for operation in OPERATIONS.values() for status in operation.errors}))
_ERRORS: Final[list[Subject]] = [
    {"operations": tuple(one.name for one in OPERATIONS.values() if status in one.errors), "statuses": (status,)}
    for status in _STATUSES
]
_NUMBERS: Final = _returned("integer")
_TEXTS: Final = _returned("string")
_PLAIN: Final = _returned("integer", "string")
_CHOICES: Final = _returned("enum")
_ARRAYS: Final = _returned("array")
_ECHOED: Final = _known("creates", [*_PLAIN, *_CHOICES, *_ARRAYS])
_SENT_NUMBERS: Final = _known("creates", _NUMBERS)
_SENT_TEXTS: Final = _known("creates", _TEXTS)
_SENT_CHOICES: Final = _known("creates", _CHOICES)
_DROPPED: Final = _known("creates", [*_CHOICES, *_ARRAYS])
_SEEN: Final = _known("reads", [*_PLAIN, *_CHOICES, *_ARRAYS])
_OF_ERRORS: Final = _named(_EVERY[0], properties("Error"))
_WRITES: Final = _operations("creates", "removes")
_SENT: Final = [
    one for subject in _CREATES for one in _named(subject, properties(subject["row"].body), plain=subject["plain"])
]
_FILTERING: Final = {row.name for one in _LISTS for row in one["row"].parameters if row.filters}
_PARAMETERS: Final = [one for subject in _LISTS for one in _named(subject, parameters(subject["row"]))]
_LIMITS: Final = [one for one in _PARAMETERS if {"maximum", "default"} <= one["rules"].keys()]
_BOUNDS: Final[list[Subject]] = [
    {**one, "value": str(one["rules"][bound]), "word": bound} for one in _LIMITS for bound in ("minimum", "maximum")
]
_DEFAULTS: Final[list[Subject]] = [
    {**one, "value": str(value)} for one in _LIMITS for value in (one["rules"]["maximum"], one["rules"]["default"] + 1)
]
# The first filter is "the filter": names of mutants are public, and older than a second filter.
_FILTERS: Final[list[Subject]] = [
    {**one, "word": f"{one['name']}-filter" if place else "filter"}
    for place, one in enumerate(one for one in _PARAMETERS if one["name"] in _FILTERING)
]
_VALUES: Final = _values(_FILTERS)
_NARROWED: Final = [*_FILTERS, *_VALUES]
_REQUIRED: Final = [one for one in _SENT if one["name"] in one["plain"]]
_OPTIONAL: Final = [one for one in _SENT if one["name"] not in one["plain"]]


# The mistakes


def _becomes(**attributes: object) -> Change:
    """Return a change of attributes of the turn."""

    def change(turn: Turn, _: object) -> None:
        for name, value in attributes.items():
            setattr(turn, name, value)

    return change


def _when(holds: Callable[[Turn, Subject], object], change: Change) -> Change:
    return lambda turn, subject: change(turn, subject) if holds(turn, subject) else None


def _let_in(*conditions: str) -> Change:
    return _when(lambda turn, _: turn.refused_key in conditions, _becomes(refused_key=""))


def _refuse(status: int = 400) -> Change:
    return lambda turn, _: turn.refuse(status)


def _document(change: Callable[[Any, Subject], Any]) -> Change:
    """Return a change of the document to the value that ``change`` makes of it."""
    return lambda turn, subject: setattr(turn, "document", change(turn.document, subject))


def _cut_short(turn: Turn, _: object) -> None:
    turn.body = dumps(turn.document).encode()[:-1]


def _respond_another(turn: Turn, _: object) -> None:
    other = turn.animals.other(turn.pet_id)
    if other is not None:
        turn.status, turn.document = 200, other


def _is_unfiltered(turn: Turn, _: object) -> bool:
    return not any(one.filters and one.name in turn.query for one in turn.operation.parameters)


def _take_first_id(turn: Turn, _: object) -> None:
    for pet in turn.pets:
        pet["id"] = turn.pets[0]["id"]


def _take_other_id(turn: Turn, _: object) -> None:
    turn.document["id"] = (turn.animals.other(turn.document["id"]) or turn.document)["id"]


def _in_pets(change: Callable[[dict[str, Any], str], object]) -> Change:
    def after(turn: Turn, subject: Subject) -> None:
        for pet in turn.pets:
            if subject["name"] in pet:
                change(pet, subject["name"])

    return after


def _set(change: Callable[..., Any]) -> Change:
    return _in_pets(lambda pet, name: pet.update({name: change(pet[name])}))


def _rename(pet: dict[str, Any], name: str) -> None:
    python = FIELDS[name].python
    pet[python if python != name else f"pet_{name}"] = pet.pop(name)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")


def _basic(text: str) -> str:
    """Replace the characters that take four bytes in UTF-8, such as emoji."""
    return "".join(one if one <= "\uffff" else "?" for one in text)


def _stores(change: Callable[[Any], Any]) -> Change:
    """Return a change of what is kept; the response of the create stays as it is."""

    def after(turn: Turn, subject: Subject) -> None:
        name, kept = subject["name"], turn.document
        if name in kept and change(kept[name]) != kept[name]:
            turn.animals.update(kept["id"], {name: change(kept[name])})
            turn.has_updated = True

    return after


def _rounded(number: int) -> int:
    return min(int(float(number)), 2**63 - 1)


def _other(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, str):
        return next((one for one in _STATUS_NAMES if value in _STATUS_NAMES and one != value), value.swapcase())
    return value - 1 if isinstance(value, int) else []


def _is_asked(turn: Turn, subject: Subject) -> bool:
    """Whether the request has the parameter, with the value of the subject if it has one."""
    return subject["name"] in turn.query and subject["value"] in {None, turn.query[subject["name"]]}


def _is_between(turn: Turn, subject: Subject) -> bool:
    number = turn.number(subject["name"])
    return number is not None and subject["rules"]["minimum"] < number < subject["rules"]["maximum"]


def _ask_one_more(turn: Turn, subject: Subject) -> None:
    number = turn.number(subject["name"])
    if number is not None:
        turn.query[subject["name"]] = str(min(number + 1, subject["rules"]["maximum"]))


def _is_sent(turn: Turn, subject: Subject) -> bool:
    return bool(turn.fields.get(subject["name"]) == subject.get("value"))


def _passes(made_of: Callable[[Turn, Subject], Mapping[str, Any] | None]) -> Change:
    """Return a change that creates the animal that ``made_of`` makes of a refused body, if it makes one."""

    def after(turn: Turn, subject: Subject) -> None:
        fields = made_of(turn, subject)
        if fields is not None:
            turn.create(fields)

    return after


def _completed(turn: Turn, subject: Subject) -> Mapping[str, Any] | None:
    """Complete a body that lacks the field, or all required fields where the subject has none."""
    plain = subject["plain"]
    lacking = {subject["name"]} if "name" in subject else plain.keys()
    is_lacking = is_object(turn.sent) and plain.keys() - turn.fields.keys() == lacking
    return {**plain, **turn.fields} if is_lacking else None


def _mended(turn: Turn, subject: Subject) -> Mapping[str, Any] | None:
    """Put a right value, or none, in the place of a wrong one."""
    name, value = subject["name"], turn.fields.get(subject["name"])
    if name not in turn.fields or not _IS_WRONG[subject["wrong"]](value):
        return None
    lowered = str(value).lower()
    right = lowered if lowered in subject["rules"].get("enum", ()) else subject["plain"].get(name)
    return {**turn.fields, name: right}


def _instead_of(sent: object) -> Change:
    return _passes(lambda turn, subject: subject["plain"] if turn.sent is sent else None)


def _first_of_array(turn: Turn, _: object) -> Mapping[str, Any] | None:
    first = turn.sent[0] if is_array(turn.sent) and turn.sent else None
    return first if is_object(first) else None


def _keep(turn: Turn, subject: Subject) -> None:
    plain, is_right = subject["plain"], is_valid(subject["row"].body)
    sent = {name: value for name, value in turn.fields.items() if name in plain}
    right = {name: value for name, value in sent.items() if is_right({**plain, name: value})}
    if right:
        turn.animals.add({**plain, **right})


_EMPTY: Final = _becomes(document=[])
_HTML: Final = _becomes(media_type="text/html")
_NO_CONTENT: Final = _becomes(status=204, document=None, media_type=None, body=b"")
_ERROR_PAGE: Final = _becomes(media_type="text/html", body=b"<h1>Error</h1>")
_WRAPPED: Final = _document(lambda pets, _: {"pets": pets})
_IDS: Final = _document(lambda pets, _: [one["id"] for one in pets])
_IN_ARRAY: Final = _document(lambda pet, _: [pet])
_DETAIL: Final = _document(lambda error, _: {"detail": error["message"]})
_TEXT_STATUS: Final = _document(lambda error, _: {**error, "status": str(error["status"])})
_OTHER_STATUS: Final = _document(lambda error, _: {**error, "status": 500})
_WITHOUT: Final = _document(lambda error, one: {name: error[name] for name in error if name != one["name"]})
_DROP: Final = _in_pets(lambda pet, name: pet.pop(name))
_RENAME: Final = _in_pets(_rename)
_OK: Final = _becomes(status=200)
_ANY_KEY: Final = _let_in("unknown_key", "revoked_key", "rotated_key", "expired_key")
_FIND_NONE: Final = _when(_is_asked, _EMPTY)
_EMPTY_UNFILTERED: Final = _when(_is_unfiltered, _EMPTY)
_REFUSE_BETWEEN: Final = _when(_is_between, _refuse())
_COMPLETE: Final = _passes(_completed)
_MEND: Final = _passes(_mended)
_REFUSE_ASKED: Final = _when(_is_asked, _refuse())
_REFUSE_LARGE: Final = _when(lambda turn, _: turn.pet_id > _EXACT, _refuse())
_REFUSE_SENT: Final = _when(_is_sent, _refuse())
_IGNORE: Final = _when(_is_asked, lambda turn, one: turn.query.pop(one["name"]))
_ASK_FORMER: Final = _when(_is_asked, lambda turn, one: turn.query.update({one["name"]: one["former"]}))
_ASK_DEFAULT: Final[Change] = lambda turn, one: turn.query.setdefault(one["name"], one["value"])  # noqa: E731
_FORGET: Final[Change] = lambda turn, _: turn.animals.remove(turn.document["id"])  # noqa: E731


_T: Final = _mutants

_TEMPLATES: Final = (
    _T(_SHOWS, "{verb}-is-cut 1-json-body {operation} returns JSON that lacks its end", _cut_short),
    _T(_SHOWS, "{verb}-as-html 1-media-type {operation} responds as text/html", _HTML),
    _T(_LISTS, "{verb}-not-there 1-base-address {operation} is not there: 404", _refuse(404)),
    _T(_LISTS, "{verb}-wrapped 2-pets-array {operation} wraps the array", _WRAPPED),
    _T(_LISTS, "{verb}-of-ids 2-pet-object {operation} returns ids, not animals", _IDS),
    _T([*_CREATES, *_READS], "{verb}-in-array 2-pet-object {operation} returns an array", _IN_ARRAY),
    # Fields of animals
    _T(_PLAIN, "{verb}-{short}-missing 2-pet-{short} {operation} returns no {name}", _DROP),
    _T(_PLAIN, "{verb}-{short}-renamed 2-pet-{short} {operation} calls {name} by another name", _RENAME),
    _T([*_NUMBERS, *_ARRAYS], "{verb}-{short}-text 2-pet-{short} {operation} has {name} as text", _set(str)),
    _T(_TEXTS, "{verb}-{short}-null 2-pet-{short} {operation} returns {name} null", _set(lambda _: None)),
    _T(_CHOICES, "{verb}-{short}-upper 2-pet-{short} {operation} returns {name} in capitals", _set(str.upper)),
    _T(_CHOICES, "{verb}-{short}-number 2-pet-{short} {operation} returns {name} as a number", _set(len)),
    _T(_LISTS, "{verb}-one-id 2-id-unique {operation} returns the first id for each animal", _take_first_id),
    _T(_CREATES, "{verb}-id-taken 2-id-assigned {operation} returns the id of another animal", _take_other_id),
    _T(_DROPPED, "{verb}-{short}-dropped 2-{short}-echoed {operation} loses {name}", _DROP),
    _T(_ECHOED, "{verb}-{short}-changed 2-{short}-echoed {operation} returns another {name}", _set(_other)),
    _T(_SENT_NUMBERS, "{verb}-{short}-rounded 2-{short}-int64 {name} is rounded beyond 2^53", _set(_rounded)),
    _T(_SENT_TEXTS, "{verb}-{short}-ascii 2-{short}-text {name} loses letters beyond ASCII", _set(_ascii)),
    _T(_SENT_TEXTS, "{verb}-{short}-emoji 2-{short}-text {name} has ? for each emoji", _set(_basic)),
    _T(_SENT_TEXTS, "{verb}-{short}-trimmed 2-{short}-echoed {name} loses blanks at its ends", _set(str.strip)),
    _T(_SENT_TEXTS, "keeps-{short}-basic {section}-same-animal {name} is kept with ? for each emoji", _stores(_basic)),
    _T(_SENT_TEXTS, "keeps-{short}-trimmed {section}-same-animal {name} is kept without blanks", _stores(str.strip)),
    _T(_SENT_TEXTS, "keeps-{short}-cut {section}-same-animal {name} is cut", _stores(lambda one: one[:50])),
    _T(_SENT_NUMBERS, "keeps-{short}-rounded {section}-same-animal {name} is kept rounded", _stores(_rounded)),
    _T(_SENT_CHOICES, "keeps-{short}-other {section}-same-animal another {name} is kept", _stores(_other)),
    _T(_SEEN, "{verb}-{short}-stale 4.3-same-animal {name} is another than in the list", _set(_other)),
    # Errors
    _T(_OF_ERRORS, "error-{name}-missing 2-error-{name} errors have no {name}", _WITHOUT, _STATUSES),
    _T(_EVERY, "error-status-text 2-error-status the status of errors is text", _TEXT_STATUS, _STATUSES),
    _T(_EVERY, "error-status-other 7-status the status of errors is 500", _OTHER_STATUS, _STATUSES),
    _T(_ERRORS, "{statuses[0]}-as-html 7-{statuses[0]}-error {statuses[0]} comes as a page of HTML", _ERROR_PAGE),
    _T(_ERRORS, "{statuses[0]}-as-detail 7-{statuses[0]}-error {statuses[0]} has a member detail alone", _DETAIL),
    # Parameters
    _T([*_BOUNDS, *_VALUES], "{verb}-{word}-refused {section}-{name}-{word} {name}={value} is refused", _REFUSE_ASKED),
    _T(_LIMITS, "{verb}-{name}-refused {section}-{name}-within every {name} between is refused", _REFUSE_BETWEEN),
    _T(_LIMITS, "{verb}-{name}-ignored {section}-{name}-counts {name} is ignored", _IGNORE, ()),
    _T(_LIMITS, "{verb}-{name}-and-one {section}-{name}-counts one animal more than {name} comes", _ask_one_more, ()),
    _T(_DEFAULTS, "{verb}-default-{value} {section}-{name}-default {name} is {value} by default", _ASK_DEFAULT, ()),
    _T(_NARROWED, "{verb}-{word}-ignored {section}-{name}-filter {name} ({word}) is ignored", _IGNORE, ()),
    _T(_NARROWED, "{verb}-{word}-finds-nothing {section}-{name}-finds {name} ({word}) finds nothing", _FIND_NONE),
    _T(_VALUES, "{verb}-{value}-{former} {section}-{name}-filter {value} finds {former}", _ASK_FORMER, ()),
    # Operations as a whole
    _T(_LISTS, "{verb}-empty {section}-list-finds {operation} finds nothing without a filter", _EMPTY_UNFILTERED),
    _T(_LISTS, "{verb}-always-empty {section}-list-finds {operation} finds nothing", _EMPTY),
    _T(_WRITES, "{verb}-answers-200 {success} {operation} responds 200", _OK),
    _T(_SHOWS, "{verb}-answers-204 {success} {operation} responds 204 without a body", _NO_CONTENT),
    _T(_CREATES, "{verb}-forgotten {section}-kept {operation} keeps no animal", _FORGET),
    _T(_READS, "{verb}-finds-nothing {success} {operation} finds no animal: 404", _refuse(404)),
    _T(_READS, "{verb}-another {section}-asked-for {operation} returns another animal", _respond_another),
    _T(_READS, "absent-is-null {section}-absent an absent animal is null", _becomes(status=200, document=None), (404,)),
    _T(_READS, "absent-is-400 {section}-absent an absent animal is refused: 400", _refuse(), (404,)),
    _T(_READS, "absent-is-another {section}-absent an absent animal is another", _respond_another, (404,)),
    _T(_READS, "large-id-refused {section}-int64 an id beyond 2^53 is refused: 400", _REFUSE_LARGE, (200, 404)),
    _T(_ALL, "{verb}-refuses-key 5-key {operation} refuses a valid key", _refuse(401), (*_SUCCESSES, 404)),
    _T(_ALL, "{verb}-without-key 5-missing-key{suffix} {operation} accepts a missing key", _let_in("missing_key"), ()),
    _T(_ALL, "{verb}-any-key 5-unknown-key{suffix} {operation} accepts any key", _ANY_KEY, ()),
    _T(_EVERY, "any-scheme 5-scheme a key without Bearer is accepted", _let_in("malformed_credentials"), ()),
    # Bodies
    _T(_OPTIONAL, "{verb}-needs-{short} 2-{short}-optional a body without {name} is refused", _REFUSE_SENT),
    _T(_values(_SENT), "{verb}-{value}-refused 2-{short}-{value} the {name} {value} is refused", _REFUSE_SENT),
    _T(_REQUIRED, "{short}-not-required {section}-{short}-required no {name} passes", _COMPLETE, (400,)),
    _T(_CREATES, "nothing-required {section}-both-required a body without required fields passes", _COMPLETE, (400,)),
    _T(_wrong(), "{mutant}-passes {section}-{short}-{clause} a wrong {name} ({wrong}) passes", _MEND, (400,)),
    _T(_CREATES, "array-passes {section}-body-object an array of animals passes", _passes(_first_of_array), (400,)),
    _T(_CREATES, "no-json-passes {section}-body-json a body that is not JSON passes", _instead_of(NO_JSON), (400,)),
    _T(_CREATES, "no-body-passes {section}-body-required an empty body passes", _instead_of(NO_BODY), (400,)),
    _T(_CREATES, "refused-is-kept {section}-refused-not-kept a refused animal is kept: 400", _keep, (400,)),
    _T(_CREATES, "unauthorized-is-kept {section}-refused-not-kept an animal is kept without a key", _keep, (401,)),
)


def _section(mutant: Mutant) -> list[int]:
    return [int(part) for part in mutant.clause.partition("-")[0].split(".")]


_MADE: Final = sorted((mutant for template in _TEMPLATES for mutant in template), key=_section)
MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType({mutant.name: mutant for mutant in _MADE})
