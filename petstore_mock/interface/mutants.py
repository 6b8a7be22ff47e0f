"""Mutants: services that break one clause of the interface each. Templates of mistakes are applied to the table.

The reports show which mutants a team's tests notice. A client can observe every mutant: ``petstore-mock verify``
detects each of them.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownMemberType=false
# JSON values can have any type, and so can the members of a subject.

from __future__ import annotations

from dataclasses import dataclass
from json import dumps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.interface.bodies import short, wrong_bodies
from petstore_mock.interface.conditions import condition_of_status, error_document
from petstore_mock.interface.kinds import quick
from petstore_mock.interface.schemas import parameters, properties, schema, violations
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json, read_integer
from petstore_mock.interface.table import FIELDS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.interface.table import Operation

    # The part of the interface that a mutant breaks, such as an operation, a field, a parameter, a body or a status. It
    # has the words for the texts of the templates, and the tags by which templates choose subjects.
    Subject = Mapping[str, Any]
    Change = Callable[["Turn", Subject], object]


@dataclass(slots=True)
class Turn:
    """A request and its response. A mutant changes either the request, before the service reads it, or the response."""

    operation: Operation
    query: dict[str, str]  # the query parameters by name
    pet_id: int  # 0 if the path has none
    sent: bytes  # the body of the request
    refused_key: str  # the condition that refuses the key; empty if the key is valid
    animals: Any  # the animals of the store; ``other(id)`` returns the first with another id
    status: int = 0
    document: Any = None  # the JSON value of the response's body
    media_type: str | None = "application/json"
    body: bytes | None = None  # the bytes to send instead of ``document``

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals in the response."""
        return [pet for pet in (self.document if is_array(self.document) else [self.document]) if isinstance(pet, dict)]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The members of the request's body; empty if it is not an object."""
        try:
            value, _ = decode_json(self.sent)
        except MalformedJsonError:
            return {}
        return value if is_object(value) else {}

    def refuse(self, status: int) -> None:
        """Respond with an Error, and remove the animal if the request created one."""
        if self.operation.effect == "creates" and self.status == self.operation.success:
            self.animals.remove(self.document["id"])
        condition = condition_of_status(status)
        self.status, self.document = status, error_document(condition.code, condition.message, status)
        self.media_type = "application/json"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause."""

    name: str
    clause: str  # the id of the clause of ``petstore-mock verify``
    words: str  # the mistake of the service
    operations: tuple[str, ...]  # the names of the operations with the mistake
    statuses: tuple[int, ...]  # the statuses of responses to change; empty if the mutant changes requests
    template: Change
    subject: Subject

    def change(self, turn: Turn) -> None:
        """Apply the mutant to the request, or to a response with one of its statuses."""
        if not self.statuses or turn.status in self.statuses:
            self.template(turn, self.subject)


# Subjects

_STATUS_NAMES: Final[list[str]] = schema("PetStatus")["enum"]


def _subjects() -> Iterator[Subject]:
    statuses = tuple(sorted({status for row in OPERATIONS.values() for status in row.errors}))
    every = {"tags": {"every"}, "operations": tuple(OPERATIONS), "statuses": statuses}
    yield every
    for name in properties("Error"):
        yield {**every, "tags": {"error"}, "name": name}
    for status in statuses:
        names = tuple(row.name for row in OPERATIONS.values() if status in row.errors)
        yield {"tags": {"status"}, "operations": names, "statuses": (status,), "status": status}
    for row in OPERATIONS.values():
        yield from _of_operation(row)


def _of_operation(row: Operation) -> Iterator[Subject]:
    verb, effect = row.verb, row.effect
    one: Subject = {
        "operations": (row.name,),
        "operation": row.name,
        "verb": verb,
        "section": row.section,
        "success": f"{row.section}-{'created' if effect == 'creates' else verb}",
        "suffix": "" if effect == "lists" else f"-{verb}",
    }
    yield {**one, "tags": {"any", effect, "shows" if row.response else ""}}
    for end, words, body in wrong_bodies(row.body) if row.body else ():
        sent = body.replace("{categoryId}", "1").encode()
        yield {**one, "tags": {"wrong"}, "end": end, "wrong": words, "schema": row.body, "body": sent}
    for name, rules in properties("Pet").items() if row.response else ():
        # A client can compare fields that the service does not assign: it has sent them, or a list has shown them.
        known = "" if FIELDS[name].is_assigned else {"creates": "echoed", "reads": "seen"}.get(effect, "")
        yield from _named(one, {"field", known}, name, rules)
    for name, rules in properties(row.body).items() if row.body else ():
        yield from _named(one, {"sent", "" if name in schema(row.body)["required"] else "optional"}, name, rules)
    filters = [parameter.name for parameter in row.filters]
    for name, rules in parameters(row).items() if effect == "lists" else ():
        # Names of mutants are public, so the first filter keeps the plain word ``filter``.
        word = "filter" if filters[:1] == [name] else f"{name}-filter"
        yield from _named({**one, "word": word}, {"filter" if name in filters else "limit"}, name, rules)


def _named(words: Subject, tags: set[str], name: str, rules: Mapping[str, Any]) -> Iterator[Subject]:
    """Yield a field or a parameter of an operation, then the values of its enum, or its bounds."""
    one = {**words, "name": name, "short": short(name), "value": None, **rules}
    yield {**one, "tags": {*tags, "enum" if "enum" in rules else rules["type"]}}
    tag = "choice" if "sent" in tags else "value"
    for value in rules.get("enum", ()) if "field" not in tags else ():
        yield {**one, "tags": {tag}, "value": value, "word": value}
    for bound in ("minimum", "maximum") if "limit" in tags else ():
        yield {**one, "tags": {"bound", bound}, "value": str(rules[bound]), "word": bound}


# Changes


def _becomes(**attributes: object) -> Change:
    """Return a change that sets attributes of the turn."""

    def change(turn: Turn, _: object) -> None:
        for name, value in attributes.items():
            setattr(turn, name, value)

    return change


def _when(holds: Callable[[Turn, Subject], object], change: Change) -> Change:
    return lambda turn, one: change(turn, one) if holds(turn, one) else None


def _refuse(status: int = 400) -> Change:
    return lambda turn, _: turn.refuse(status)


def _let_in(*conditions: str) -> Change:
    return _when(lambda turn, _: turn.refused_key in conditions, _becomes(refused_key=""))


def _document(change: Callable[[Any, Subject], Any]) -> Change:
    return lambda turn, one: setattr(turn, "document", change(turn.document, one))


def _cut_short(turn: Turn, _: object) -> None:
    turn.body = dumps(turn.document).encode()[:-1]


def _forget(turn: Turn, _: object) -> None:
    turn.animals.remove(turn.document["id"])


def _respond_another(turn: Turn, _: object) -> None:
    other = turn.animals.other(turn.pet_id)
    if other is not None:
        turn.status, turn.document = 200, other


def _take_first_id(turn: Turn, _: object) -> None:
    for pet in turn.pets:
        pet["id"] = turn.pets[0]["id"]


def _take_other_id(turn: Turn, _: object) -> None:
    turn.document["id"] = (turn.animals.other(turn.document["id"]) or turn.document)["id"]


# Changes of a parameter


def _has_value(turn: Turn, one: Subject) -> bool:
    """Whether the request has the parameter, and the value of the subject if the subject has one."""
    return one["name"] in turn.query and one["value"] in {None, turn.query[one["name"]]}


def _is_between(turn: Turn, one: Subject) -> bool:
    return read_integer(turn.query.get(one["name"], "")) in range(one["minimum"] + 1, one["maximum"])


def _one_more(turn: Turn, one: Subject) -> None:
    number = read_integer(turn.query.get(one["name"], ""))
    if isinstance(number, int) and number in range(one["minimum"], one["maximum"]):
        turn.query[one["name"]] = str(number + 1)


# Changes of a field


def _in_pets(change: Callable[[dict[str, Any], str], object]) -> Change:
    """Return a change to each animal in the response that has the subject's field."""

    def after(turn: Turn, one: Subject) -> None:
        for pet in turn.pets:
            if one["name"] in pet:
                change(pet, one["name"])

    return after


def _set(change: Callable[..., Any]) -> Change:
    return _in_pets(lambda pet, name: pet.update({name: change(pet[name])}))


def _keep(change: Callable[..., Any]) -> Change:
    """Return a change to the stored animal; the response to its creation stays correct."""

    def after(turn: Turn, one: Subject) -> None:
        name, pet = one["name"], turn.document
        if name in pet and change(pet[name]) != pet[name]:
            turn.animals.update(pet["id"], {name: change(pet[name])})

    return after


def _basic(text: str) -> str:
    """Replace the characters that take four bytes in UTF-8, such as emoji."""
    return "".join(one if one <= "\uffff" else "?" for one in text)


def _cut(text: str) -> str:
    return text[:50]


def _rounded(number: int) -> int:
    return min(int(float(number)), 2**63 - 1)


def _other(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, str):
        return next((one for one in _STATUS_NAMES if value in _STATUS_NAMES and one != value), value.swapcase())
    return value - 1 if isinstance(value, int) else []


# Changes of a body


def _mistakes(body: bytes, kind: str) -> object:
    """Return how a body is wrong: the broken rules with their places, and the types of the values."""
    try:
        value, _ = decode_json(body)
    except MalformedJsonError:
        return "not JSON" if body else "no body"
    broken = violations(schema(kind), value, "body")
    return {(one.path, one.rule, type(one.value), str(one.value).lower() in _STATUS_NAMES) for one in broken}


def _accept(turn: Turn, one: Subject) -> None:
    """Accept a body with the subject's mistakes: replace it with a valid one before the service validates it.

    So the journal has no violation for the wrong body.
    """
    if _mistakes(turn.sent, one["schema"]) == _mistakes(one["body"], one["schema"]):
        rules = properties(one["schema"])
        valid = {name: value for name, value in turn.fields.items() if quick(rules.get(name, {}))(value)}
        turn.sent = encode_json(
            {**{name: FIELDS[name].samples[0] for name in schema(one["schema"])["required"]}, **valid}
        )


def _keep_refused(turn: Turn, _: object) -> None:
    if isinstance(turn.fields.get("name"), str):
        turn.animals.add({"name": turn.fields["name"]})


# Templates

_EMPTY: Final = _becomes(document=[])
_HTML: Final = _becomes(media_type="text/html")
_NO_CONTENT: Final = _becomes(status=204, document=None, media_type=None, body=b"")
_ERROR_PAGE: Final = _becomes(media_type="text/html", body=b"<h1>Error</h1>")
_WRAPPED: Final = _document(lambda pets, _: {"pets": pets})
_IN_ARRAY: Final = _document(lambda pet, _: [pet])
_NULL: Final = _becomes(status=200, document=None)
_WITHOUT: Final = _document(lambda error, one: {name: error[name] for name in error if name != one["name"]})
_OTHER_STATUS: Final = _document(lambda error, _: {**error, "status": 500})
_DROP: Final = _in_pets(lambda pet, name: pet.pop(name))
_RENAME: Final = _in_pets(lambda pet, name: pet.update({f"pet_{name}": pet.pop(name)}))
_ANY_KEY: Final = _let_in("unknown_key", "revoked_key", "rotated_key", "expired_key")
_FIND_NONE: Final = _when(_has_value, _EMPTY)
_REFUSE_VALUE: Final = _when(_has_value, _refuse())
_REFUSE_BETWEEN: Final = _when(_is_between, _refuse())
_REFUSE_LARGE: Final = _when(lambda turn, _: turn.pet_id > 2**53, _refuse())
_REFUSE_SENT: Final = _when(lambda turn, one: turn.fields.get(one["name"]) == one["value"], _refuse())
_IGNORE: Final = _when(_has_value, lambda turn, one: turn.query.pop(one["name"]))
_USE_MOST: Final[Change] = lambda turn, one: turn.query.setdefault(one["name"], one["value"])  # noqa: E731

_SUBJECTS: Final = tuple(_subjects())
_SUCCESSES: Final = (200, 201, 204)


def _mutants(tags: str, text: str, change: Change, statuses: tuple[int, ...] = _SUCCESSES) -> Iterator[Mutant]:
    """Yield the mutants of a template, one for each subject that has all ``tags``; ``a|b`` means either tag."""
    # ``text`` has the name, the clause and the words; braces stand for words of the subject.
    for one in _SUBJECTS:
        if all(not one["tags"].isdisjoint(tag.split("|")) for tag in tags.split()):
            name, clause, words = text.format_map(one).split(" ", 2)
            changed = statuses and one.get("statuses", statuses)
            yield Mutant(name, clause, words, one["operations"], changed, change, one)


_T: Final = _mutants
_TEMPLATES: Final = (
    _T("shows", "{verb}-is-cut 1-json-body {operation} returns truncated JSON", _cut_short),
    _T("shows", "{verb}-as-html 1-media-type {operation} returns JSON as text/html", _HTML),
    _T("lists", "{verb}-not-there 1-base-address {operation} returns 404 for every valid request", _refuse(404)),
    _T("lists", "{verb}-wrapped 2-pets-array {operation} returns the array in an object", _WRAPPED),
    _T("creates|reads", "{verb}-in-array 2-pet-object {operation} returns the animal in an array", _IN_ARRAY),
    # Fields of animals
    _T("field integer|string", "{verb}-{short}-missing 2-pet-{short} {operation} returns no {name}", _DROP),
    _T("field integer|string", "{verb}-{short}-renamed 2-pet-{short} {operation} renames {name}", _RENAME),
    _T("field integer|array", "{verb}-{short}-text 2-pet-{short} {operation} returns {name} as text", _set(str)),
    _T("field string", "{verb}-{short}-null 2-pet-{short} {operation} returns null as {name}", _set(lambda _: None)),
    _T("field enum", "{verb}-{short}-upper 2-pet-{short} {operation} returns {name} in capitals", _set(str.upper)),
    _T("lists", "{verb}-one-id 2-id-unique {operation} returns one id for all animals", _take_first_id),
    _T("creates", "{verb}-id-taken 2-id-assigned {operation} returns the id of another animal", _take_other_id),
    # Fields that the client has sent, and fields that it has seen in a list
    _T("echoed enum|array", "{verb}-{short}-dropped 2-{short}-echoed {operation} drops the sent {name}", _DROP),
    _T("echoed", "{verb}-{short}-changed 2-{short}-echoed {operation} returns another {name}", _set(_other)),
    _T("echoed integer", "{verb}-{short}-rounded 2-{short}-int64 {operation} rounds a large {name}", _set(_rounded)),
    _T("echoed string", "{verb}-{short}-emoji 2-{short}-text {operation} returns ? for emoji in {name}", _set(_basic)),
    _T("echoed string", "{verb}-{short}-trimmed 2-{short}-echoed {operation} trims {name}", _set(str.strip)),
    _T("echoed string", "keeps-{short}-basic {section}-same-animal the store replaces emoji in {name}", _keep(_basic)),
    _T("echoed string", "keeps-{short}-trimmed {section}-same-animal the store trims {name}", _keep(str.strip)),
    _T("echoed string", "keeps-{short}-cut {section}-same-animal the store cuts a long {name}", _keep(_cut)),
    _T("echoed integer", "keeps-{short}-rounded {section}-same-animal the store rounds {name}", _keep(_rounded)),
    _T("echoed enum", "keeps-{short}-other {section}-same-animal the store keeps another {name}", _keep(_other)),
    _T("seen", "{verb}-{short}-stale {section}-same-animal {operation} and the list differ in {name}", _set(_other)),
    # Errors
    _T("error", "error-{name}-missing 2-error-{name} error bodies have no {name}", _WITHOUT),
    _T("every", "error-status-other 7-status error bodies have the status 500", _OTHER_STATUS),
    _T("status", "{status}-as-html 7-{status}-error responses with {status} have an HTML page as body", _ERROR_PAGE),
    # Parameters
    _T("bound", "{verb}-{word}-refused {section}-{name}-{word} {operation} refuses {name}={value}", _REFUSE_VALUE),
    _T(
        "limit",
        "{verb}-{name}-refused {section}-{name}-within {operation} refuses each {name} between the bounds",
        _REFUSE_BETWEEN,
    ),
    _T("limit", "{verb}-{name}-and-one {section}-{name}-counts {operation} returns one animal too many", _one_more, ()),
    _T("maximum", "{verb}-default-{value} {section}-{name}-default the default {name} is {value}", _USE_MOST, ()),
    _T(
        "filter|value",
        "{verb}-{word}-ignored {section}-{name}-filter {operation} ignores the {name} {word}",
        _IGNORE,
        (),
    ),
    _T(
        "filter|value",
        "{verb}-{word}-finds-nothing {section}-{name}-finds {operation} finds nothing for the {name} {word}",
        _FIND_NONE,
    ),
    _T("value", "{verb}-{word}-refused {section}-{name}-{word} {operation} refuses {name}={value}", _REFUSE_VALUE),
    # Operations as a whole
    _T("lists", "{verb}-always-empty {section}-list-finds {operation} returns an empty list", _EMPTY),
    _T("creates|removes", "{verb}-answers-200 {success} {operation} returns 200", _becomes(status=200)),
    _T("shows", "{verb}-answers-204 {success} {operation} returns 204 without a body", _NO_CONTENT),
    _T("creates", "{verb}-forgotten {section}-kept {operation} does not store the animal", _forget),
    _T("reads", "{verb}-finds-nothing {success} {operation} returns 404 for a stored animal", _refuse(404)),
    _T("reads", "{verb}-another {section}-asked-for {operation} returns another animal", _respond_another),
    _T("reads", "absent-is-null {section}-absent {operation} returns null for an absent animal", _NULL, (404,)),
    _T("reads", "absent-is-400 {section}-absent {operation} returns 400 for an absent animal", _refuse(), (404,)),
    _T("reads", "large-id-refused {section}-int64 {operation} refuses ids beyond 2^53", _REFUSE_LARGE, (200, 404)),
    _T("any", "{verb}-refuses-key 5-key {operation} refuses a valid key", _refuse(401), (*_SUCCESSES, 404)),
    _T("any", "{verb}-without-key 5-missing-key{suffix} {operation} accepts a missing key", _let_in("missing_key"), ()),
    _T("any", "{verb}-any-key 5-unknown-key{suffix} {operation} accepts any key", _ANY_KEY, ()),
    _T("every", "any-scheme 5-scheme the service accepts a key without Bearer", _let_in("malformed_credentials"), ()),
    # Bodies
    _T("optional", "{verb}-needs-{short} 2-{short}-optional {operation} requires {name}", _REFUSE_SENT),
    _T("choice", "{verb}-{value}-refused 2-{short}-{value} {operation} refuses the {name} {value}", _REFUSE_SENT),
    _T("wrong", "{end}-passes {section}-{end} {operation} accepts a wrong body ({wrong})", _accept, ()),
    _T(
        "creates",
        "refused-is-kept {section}-refused-not-kept the store keeps the animal although the response is 400 or 401",
        _keep_refused,
        (400, 401),
    ),
)


def _section(mutant: Mutant) -> list[int]:
    return [int(part) for part in mutant.clause.partition("-")[0].split(".")]


_MADE: Final = sorted((mutant for template in _TEMPLATES for mutant in template), key=_section)
MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType({mutant.name: mutant for mutant in _MADE})
