"""The clauses: every sentence of the interface that can be seen from outside, as one table made from the operations.

A clause names the probes whose exchanges show it (patterns of ``fnmatch``) and a judge: a function of one exchange and
the history of the run. It returns None where the clause holds, a :class:`Breach`, or a :class:`Silent` where the
exchange says nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from petstore_mock.common.guards import is_object
from petstore_mock.interface.schemas import is_valid, parameters, properties, schema, violations
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.interface.violations import describe
from petstore_mock.verify.probes import (
    PROBES,
    filters_of,
    kind_of,
    limit_of,
    short,
    values_of,
    verb_of,
    with_effect,
    wrong_values,
)
from petstore_mock.verify.seen import History, NoJson, Seen, matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.interface.table import Operation


@dataclass(frozen=True, slots=True)
class Breach:
    """What an exchange breaks. Breaches of one ``cause`` are one finding."""

    expected: str
    came: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """Why an exchange says nothing of a clause."""

    why: str


Outcome: TypeAlias = "Breach | Silent | None"
Judge: TypeAlias = "Callable[[Seen, History], Outcome]"


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence of the interface that can be seen from outside."""

    id: str  # stable; it begins with the section of the interface
    words: str
    probes: tuple[str, ...]
    judge: Judge
    blame: Literal["", "failure", "frame"] = ""  # breaks where its probes get no whole response, or what is no HTTP

    @property
    def section(self) -> str:
        return self.id.partition("-")[0]

    def is_shown_by(self, probe: str) -> bool:
        return any(fnmatchcase(probe, name) for name in self.probes)


_KEYS_AND_LIMITS: Final = frozenset({401, 403, 429})
_ELSEWHERE: Final = frozenset({404, 405})


def _other(seen: Seen) -> Silent:
    """Say that another response came than the clause is about."""
    return Silent(f"{seen.line} -> {seen.came[:60]}")


# Responses and their animals


def _is_http(seen: Seen, _: History) -> Outcome:
    return None if seen.status else _other(seen)


def _is_json(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or seen.status == 204:
        return _other(seen)
    return Breach(f"expected a JSON body; {seen.document}") if isinstance(seen.document, NoJson) else None


def _has_type(seen: Seen) -> bool:
    return seen.header("Content-Type").partition(";")[0].strip().lower() == "application/json"


def _is_called_json(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or seen.status == 204:
        return _other(seen)
    came = f"Content-Type: {seen.header('Content-Type') or 'none'}"
    return None if _has_type(seen) else Breach("expected Content-Type: application/json", came)


def _is_there(seen: Seen, _: History) -> Outcome:
    if seen.status in _ELSEWHERE:
        return Breach("expected the operation below this base address, which ends in /v1", cause="not there")
    return None if seen.is_success else _other(seen)


def _is_array(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or not seen.has_key or isinstance(seen.document, NoJson):
        return _other(seen)
    return Breach("expected a JSON array") if seen.items is None else None


def _are_objects(seen: Seen, _: History) -> Outcome:
    wrong = [item for item in seen.items or () if not is_object(item)]
    if wrong:
        return Breach(f"expected each animal to be a JSON object; one is {describe(wrong[0])}")
    return None if seen.items else Silent(f"{seen.line} showed no animal")


def _has_field(name: str, rules: Mapping[str, Any], *, required: bool) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        pets = [item for item in seen.items or () if is_object(item)]
        for pet in pets:
            if name in pet and (wrong := violations(rules, pet[name], name)):
                return Breach(f"expected right animals: {wrong[0]}")
            if required and name not in pet:
                return Breach(f"expected each animal to have {name}; one has {', '.join(pet) or 'no field'}")
        return None if any(name in pet for pet in pets) else Silent(f"{seen.line} showed no animal with {name}")

    return judge


def _are_distinct(seen: Seen, _: History) -> Outcome:
    ids = [pet["id"] for pet in seen.pets]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        return Breach(f"expected each animal once; the id {twice[0]} came {ids.count(twice[0])} times")
    return None if len(ids) > 1 else Silent("no list showed two animals")


def _known(pet: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pet[name] for name in properties("Pet") if name in pet}


def _is_pet(value: object) -> bool:
    """Whether a value is an animal, with further fields or without."""
    return is_object(value) and is_valid("Pet")(_known(value))


def _is_same(seen: Seen, history: History) -> Outcome:
    """Judge whether animals are those that other responses show before and after; a create, those after."""
    compared = False
    is_sound = len({pet["id"] for pet in seen.pets}) == len(seen.items or ())
    for pet in filter(_is_pet, seen.pets if is_sound else ()):
        before, after = history.around(pet["id"], seen.number, lists=True)
        pair = [*(before or history.made(pet["id"], seen.number))[-1:], *after[:1]]
        if seen.effect == "creates":
            pair = (after or history.around(pet["id"], seen.number)[1])[:1] * 2
        is_known = seen.effect == "creates" and history.is_known(pet["id"], seen.number)
        if len(pair) < 2 or is_known or _known(pair[0]) != _known(pair[1]) or not _is_pet(pair[0]):
            continue
        compared = True
        for name in properties("Pet"):
            if pet.get(name) != pair[0].get(name):
                words = f"expected {name} to be {describe(pair[0].get(name))}, as in other responses"
                return Breach(words, f"{describe(pet.get(name))} for the id {pet['id']}", f"{name} differs")
    return None if compared else Silent("no other responses showed the same animal, unchanged")


# Errors


def _error(seen: Seen) -> Mapping[str, Any] | None:
    """Return an Error body, or a body that has a field of one; None for a body of another kind."""
    found = seen.document
    is_declared = seen.operation is not None and seen.status in seen.operation.errors
    return found if is_declared and is_object(found) and properties("Error").keys() & found.keys() else None


def _has_error_field(name: str, rules: Mapping[str, Any]) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        error = _error(seen)
        if error is None:
            return Silent("no Error body came")
        if name not in error:
            return Breach(f"expected the Error to have {name}; it has {', '.join(error)}")
        wrong = violations(rules, error[name], name)
        return Breach(f"expected a right Error: {wrong[0]}") if wrong else None

    return judge


def _carries_status(seen: Seen, _: History) -> Outcome:
    status = (_error(seen) or {}).get("status")
    if not isinstance(status, int):
        return Silent("no Error body with a status came")
    return None if status == seen.status else Breach(f"expected status to be {seen.status}; it is {describe(status)}")


def _has_error_body(status: int) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        if seen.status != status or seen.operation is None or status not in seen.operation.errors:
            return Silent(f"no {status} came that the interface shows")
        if _has_type(seen) and _error(seen) is not None:
            return None
        came = f"{seen.came} with Content-Type: {seen.header('Content-Type') or 'none'}"
        return Breach("expected an Error body, as application/json", came, "error body")

    return judge


# Statuses


def _succeeds(seen: Seen, history: History) -> Outcome:
    """Judge the status of a valid request; other clauses judge the values that it has."""
    assert seen.operation is not None  # noqa: S101  # for the type checker: a probe has one
    wanted = seen.operation.success
    if not seen.is_valid or seen.status == wanted:
        return None if seen.is_valid else Silent("no valid request was sent")
    if seen.is_success:
        return Breach(f"expected {wanted}")
    is_refused = seen.is_refusal and (seen.query or seen.effect == "creates")
    if is_refused or seen.status in _KEYS_AND_LIMITS or History.is_removed(seen):
        return _other(seen)
    if seen.effect == "reads":
        before, after = history.around(int(seen.pet_id), seen.number)
        if not before or (seen.status in _ELSEWHERE and not after):
            return Silent("no response before and after showed an animal")
    return Breach(f"expected {wanted}", cause="not there" * (seen.status in _ELSEWHERE and seen.effect == "lists"))


def _is_accepted(seen: Seen, _: History) -> Outcome:
    is_refused = seen.is_refusal and seen.status not in _KEYS_AND_LIMITS | _ELSEWHERE
    if is_refused:
        return Breach("expected the value to be accepted")
    return None if seen.is_success else _other(seen)


def _plain_works(history: History) -> bool:
    plain = [one for one in history.exchanges if one.probe is not None and one.probe.creates == "yes"]
    return not plain or any(one.is_success for one in plain)


def _is_created(seen: Seen, history: History) -> Outcome:
    """Judge whether a value is allowed in a plain animal. A service may refuse the names and categories of the tool."""
    outcome = _is_accepted(seen, history)
    if isinstance(outcome, Breach) and not _plain_works(history):
        return Silent(f"no plain animal was accepted, the name or the category may be why: {_other(seen).why}")
    return outcome


def _is_refused(seen: Seen, history: History) -> Outcome:
    """Judge the refusal of a wrong body; where plain animals are refused as well, it says nothing."""
    if seen.status in _KEYS_AND_LIMITS | _ELSEWHERE:
        return _other(seen)
    if seen.status != 400:
        cause = f"refused by {seen.status}" if seen.is_refusal else ""
        return Breach("expected 400: the body lacks a required field or has an invalid value", cause=cause)
    return None if _plain_works(history) else Silent("plain animals are refused as well")


def _is_absent(*others: int) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        if seen.status in {404, *others}:
            return None
        is_there = any(str(pet["id"]) == seen.pet_id for pet in seen.pets)
        if seen.status in _KEYS_AND_LIMITS or History.is_removed(seen) or is_there:
            return _other(seen)
        return Breach("expected 404: there is no such animal", cause=f"absent is {seen.status}")

    return judge


_is_unknown: Final = _is_absent()
_is_unknown_or_there: Final = _is_absent(200)
_DEMANDS: Final = (_is_refused, _is_unknown, _is_unknown_or_there)  # each of them asks for a status of an error


def _is_let_in(seen: Seen, _: History) -> Outcome:
    if not seen.has_key:
        return Silent("no request with a key came back")
    if seen.status == 401:
        return Breach("expected the key to be accepted, as it is elsewhere")
    return None if seen.is_success or (seen.is_refusal and seen.status != 403) else _other(seen)


def _is_kept_out(seen: Seen, _: History) -> Outcome:
    if seen.status == 401:
        return None
    if History.is_removed(seen) and seen.is_refusal:
        return _other(seen)
    if seen.status in _ELSEWHERE and seen.effect == "lists":
        return Breach("expected 401", cause="not there")
    return Breach("expected 401", cause=f"keys refused by {seen.status}" if seen.is_refusal else "")


# Lists


def _keeps_limit(seen: Seen, history: History) -> Outcome:
    """Judge the length of a page; it shows something only where more animals match."""
    if seen.items is None or seen.limit is None or not seen.is_valid:
        return _other(seen)
    there = len(history.standing(seen))
    if len(seen.items) > seen.limit:
        return Breach(f"expected at most {seen.limit} animals; {len(seen.items)} came")
    is_shown = len(seen.items) == seen.limit or there > seen.limit
    return None if is_shown else Silent(f"it takes more than {seen.limit} animals, and {there} were seen")


def _keeps_bound(most: int) -> Judge:
    def judge(seen: Seen, history: History) -> Outcome:
        if seen.items is None:
            return None if seen.is_refusal else _other(seen)
        if len(seen.items) > most:
            return Breach(f"expected at most {most} animals on any page; {len(seen.items)} came")
        return None if len(history.views) > most else Silent(f"it takes more than {most} animals")

    return judge


def _shows_only(seen: Seen, _: History) -> Outcome:
    wrong = [pet for pet in seen.items or () if _is_pet(pet) and not matches(pet, seen.filters)]
    for field, value in seen.filters.items():
        if wrong:
            return Breach(f"expected only animals with {field} {value}; one has {describe(wrong[0].get(field))}")
    return None if seen.items else Silent(f"{seen.line} showed no animal")


def _finds(seen: Seen, history: History) -> Outcome:
    """Judge a list that may not be empty: an animal that matches was there before and after."""
    if seen.items is None or not seen.is_valid:
        return _other(seen)
    there = history.standing(seen)
    if there and not seen.items:
        return Breach(f"expected an animal; the one with id {min(there)} was there before and after", cause="empty")
    return None if seen.items else Silent("no animal that matches was seen")


def _finds_unfiltered(seen: Seen, history: History) -> Outcome:
    return Silent("no list without a filter was asked for") if seen.filters else _finds(seen, history)


def _is_whole(seen: Seen, history: History) -> bool:
    """Whether a list shows every animal that matches: it is shorter than another page of the same limit."""
    pages = [len(one.items or ()) for one in history.exchanges if one.effect == "lists" and one.limit == seen.limit]
    return 0 < len(seen.items or ()) == len({pet["id"] for pet in seen.pets}) < max(pages, default=0)


# What a create leaves


def _is_new(seen: Seen, history: History) -> Outcome:
    if not seen.pets:
        return _other(seen)
    pet_id = seen.pets[0]["id"]
    is_known = history.is_known(pet_id, seen.number)
    return Breach(f"expected an id of its own; {pet_id} is another animal's") if is_known else None


def _is_echoed(name: str) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        sent, found = seen.sent, seen.document
        if not seen.is_success or not _is_pet(found) or sent.get(name) is None:
            return Silent(f"no animal was created with {name}: {_other(seen).why}")
        if found.get(name) == sent[name]:
            return None
        words = f"expected {name} to be {describe(sent[name])}; it is {describe(found.get(name))}"
        return Breach(words, cause=f"{name} differs")

    return judge


def _is_kept(seen: Seen, history: History) -> Outcome:
    """Judge whether the animal that was created last is found, if not at once (gap visibility)."""
    made = [one.pets[0]["id"] for one in history.created if one.number < seen.number][-1:]
    if not made or any(pet["id"] == made[0] for pet in seen.pets) or history.around(made[0], seen.number)[1]:
        return None if made else Silent("no animal was created")
    if seen.effect == "lists" and not _is_whole(seen, history):
        return Silent("the list that was asked for may be full")
    if not seen.is_success and seen.status != 404:
        return _other(seen)
    views = [(one, history.views[one.pets[0]["id"]]) for one in history.created]
    if any(found and found[0][0].number > one.number + 1 for one, found in views):
        return Silent("animals show some time after their creation, and this one may show after the run")
    return Breach(f"expected the animal that was created with id {made[0]}, in this response or a later one")


def _is_listed(seen: Seen, history: History) -> Outcome:
    """Judge whether lists show the created animals that getPet showed."""
    if not _is_whole(seen, history):
        return Silent("no list showed all its animals: the page may be full" if seen.items else _other(seen).why)
    views = [found for made in history.created if (found := history.views[made.pets[0]["id"]])]
    looked = [found for found in views if found[0][0].number < seen.number and matches(found[-1][1], seen.filters)]
    if any(one.effect == "lists" for found in looked for one, _ in found):  # lists may show others some time later
        return None
    ids = ", ".join(str(found[0][1]["id"]) for found in looked)
    if ids:
        return Breach(f"expected the created animals as well, no list shows one; their ids are {ids}")
    return Silent("no animal was created that the list should show")


def _nothing_stays(seen: Seen, history: History) -> Outcome:
    """Judge whether a list shows what was refused; each request bore a name of its own."""
    refused = {
        str(one.sent.get("name")): one
        for one in history.exchanges
        if one.effect == "creates" and one.status in {400, 401} and one.number < seen.number
        if one.probe is not None and one.probe.creates != "last resort"
    }
    for pet in seen.pets:
        if pet.get("name") and pet["name"] in refused:
            status = refused[pet["name"]].status
            return Breach(f"expected nothing of a create with status {status}; the animal {pet['id']} has its name")
    return None if seen.pets and refused else Silent("no create was refused, or no list showed an animal")


def _is_asked_for(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or not is_object(seen.document) or "id" not in seen.document:
        return _other(seen)
    found = seen.document["id"]
    is_right = str(found) == seen.pet_id
    return None if is_right else Breach(f"expected the animal with id {seen.pet_id}; it is {describe(found)}")


# The table


def _of_messages() -> Iterator[Clause]:
    every = tuple(f"{verb_of(operation)}*" for operation in OPERATIONS.values())
    lists = [verb_of(operation) for operation in with_effect("lists")]
    arrays = tuple(f"{verb}*" for verb in lists)
    creates = tuple(f"{verb_of(operation)}-*" for operation in with_effect("creates"))
    gets = [f"{verb_of(one)}-{name}" for one in with_effect("reads") for name in ("known*", "odd-*", "made")]
    animals = (*arrays, *creates, *gets)
    yield Clause("1-http", "The service is an HTTP API", every, _is_http, "frame")
    yield Clause("1-json-body", "Response bodies are JSON", every, _is_json)
    yield Clause("1-media-type", "Response bodies are application/json", every, _is_called_json)
    yield Clause("1-base-address", "The base address includes the version path segment /v1", (*lists,), _is_there)
    yield Clause("2-pets-array", "Pets: a JSON array", arrays, _is_array)
    yield Clause("2-pet-object", "Pets: an array of Pet objects", animals, _are_objects)
    for name, rules in properties("Pet").items():
        required = name in schema("Pet")["required"]
        kind = f"one of {', '.join(rules['enum'])}" if "enum" in rules else rules.get("format", rules.get("type"))
        words = f"Pet: {name}, {kind}{', required' * required}"
        yield Clause(f"2-pet-{short(name)}", words, animals, _has_field(name, rules, required=required))
    yield Clause("2-id-unique", "id: unique identifier", arrays, _are_distinct)
    yield Clause("2-id-assigned", "id: assigned by the service on creation, unique", creates, _is_new)
    for name, rules in properties("Error").items():
        words = f"Error: {name}, {rules['type']}, required"
        yield Clause(f"2-error-{name}", words, every, _has_error_field(name, rules))
    yield Clause("5-key", "The API key is sent as Authorization: Bearer <API_KEY>", every, _is_let_in)
    yield Clause("7-status", "The status field of the Error body carries the HTTP status", every, _carries_status)
    for status in sorted({status for operation in OPERATIONS.values() for status in operation.errors}):
        words = f"{status}: Error body, as application/json"
        yield Clause(f"7-{status}-error", words, every, _has_error_body(status))


# The rows of an operation: the end of the clause's id, its words, the ends of its probes' names, the judge.
_Row: TypeAlias = "tuple[str, str, tuple[str, ...], Judge]"


def _of_operation(operation: Operation) -> Iterator[Clause]:
    verb, section = verb_of(operation), operation.section
    name = "created" if operation.effect == "creates" else verb
    words = f"{operation.method} {operation.path}: the status of a success is {operation.success}"
    yield Clause(f"{section}-{name}", words, (verb, f"{verb}-*"), _succeeds, "failure")
    suffix = "" if operation.effect == "lists" else f"-{verb}"
    for kind, *ends in (("missing", "no-key", "key-in-query"), ("unknown", "unknown-key", "absent-unknown-key")):
        words = f"Key {'missing' if kind == 'missing' else 'invalid'}: 401, on {operation.name}"
        probes = tuple(f"{verb}-{end}" for end in ends)
        yield Clause(f"5-{kind}-key{suffix}", words, probes, _is_kept_out, "failure")
    if operation.effect == "lists":
        words = "Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>"
        probes = tuple(f"{verb}-key-{end}" for end in ("without-scheme", "other-scheme", "empty"))
        yield Clause("5-scheme", words, probes, _is_kept_out, "failure")
    rows = {"lists": _of_list, "creates": _of_create, "reads": _of_get}.get(operation.effect)
    for end, words, patterns, judge in rows(operation) if rows else ():
        clause = end if end[0].isdigit() else f"{section}-{end}"
        probes = tuple(f"{verb}-{one}" if one else verb for one in patterns)
        yield Clause(clause, words, probes, judge, "failure" if judge in _DEMANDS else "")


def _of_list(operation: Operation) -> Iterator[_Row]:
    limit = limit_of(operation)
    values = [word for parameter in filters_of(operation) for word in values_of(operation, parameter)]
    if limit is not None:
        name, rules = limit
        least, most, default = rules["minimum"], rules["maximum"], rules["default"]
        within = (f"{name}-4", f"{name}-4-after", f"{name}-{default}")
        yield f"{name}-minimum", f"{name}: minimum {least}", (f"{name}-{least}", f"{name}-{least}-after"), _is_accepted
        yield f"{name}-maximum", f"{name}: maximum {most}", (f"{name}-{most}", "after", "last"), _is_accepted
        yield f"{name}-within", f"{name}: from {least} to {most}", within, _is_accepted
        counted = (f"{name}-*", *(f"{value}-after" for value in values), "after", "after-again", "last")
        yield f"{name}-counts", f"{name}: maximum number of animals to return", counted, _keeps_limit
        yield f"{name}-default", f"{name}: default {default}", ("", "default-after", *values), _keeps_limit
        words = f"{name}: a page has at most {most} animals, for any {name}"
        yield f"{name}-bound", words, (f"{name}-{least - 1}*", f"{name}-{most + 1}", f"{name}-1000"), _keeps_bound(most)
    yield "list-finds", "The body holds animals where there are some", ("", "*"), _finds_unfiltered
    for parameter in filters_of(operation):
        name = parameter.name
        for value in parameters(operation)[name].get("enum", ()):
            yield f"{name}-{value}", f"{name}={value} is allowed", (value,), _is_accepted
        probes = tuple(f"{word}{end}" for word in values_of(operation, parameter) for end in ("", "-after"))
        yield f"{name}-filter", f"{name}: returns only animals with this {name}", probes, _shows_only
        yield f"{name}-finds", f"{name}: returns animals with this {name}", probes, _finds
    yield "same-animal", "Each list shows the same animal", ("", "*"), _is_same
    for creating in with_effect("creates"):
        after = ("*after*", "last")
        yield f"{creating.section}-refused-not-kept", "400, 401: what is refused is not added", after, _nothing_stays
        yield f"{creating.section}-listed", "Lists show a created animal", after, _is_listed


def _of_create(operation: Operation) -> Iterator[_Row]:
    body, verb = str(operation.body), verb_of(operation)
    required = schema(body)["required"]
    made = [one.name.removeprefix(f"{verb}-") for one in PROBES if one.operation is operation and one.creates != "no"]
    for name, rules in properties(body).items():
        clause, odd = f"2-{short(name)}", (f"{short(name)}-large", f"{short(name)}-text")  # with clauses of their own
        echoed = tuple(one for one in made if one not in odd)
        yield f"{clause}-echoed", f"Pet has all fields of NewPet: {name}", echoed, _is_echoed(name)
        if kind_of(rules) == "integer":
            yield f"{clause}-int64", f"{name}: format int64, beyond 2^53 too", odd[:1], _is_echoed(name)
        if kind_of(rules) == "string":
            yield f"{clause}-text", f"{name}: string, letters beyond ASCII too", odd[1:], _is_echoed(name)
        if name not in required:
            yield f"{clause}-optional", f"NewPet: {name} is not required", (f"without-{short(name)}",), _is_created
        for value in rules.get("enum", ()):
            yield f"{clause}-{value}", f"{name}: {value} is allowed", (value,), _is_created
    yield "same-animal", "The created Pet stays the same in every response", (*made,), _is_same
    rows = [(f"{short(name)}-required", f"{name} is required", f"without-{short(name)}") for name in required]
    rows += [("both-required", f"{' and '.join(required)} are required", "empty-object")]
    rows += [(f"{short(name)}-{end}", words, f"{short(name)}-{end}") for name, end, words, _ in wrong_values(body)]
    rows += [("body-object", f"Request body: {body}, and an array is none", "array")]
    rows += [("body-json", "Request body is JSON", "malformed"), ("body-required", "Request body: required", "no-body")]
    yield from ((end, f"{words}; else 400", (probe,), _is_refused) for end, words, probe in rows)


def _of_get(_: Operation) -> Iterator[_Row]:
    got = ("known*", "odd-*", "made")
    yield "asked-for", "petId: the identifier of the animal", got, _is_asked_for
    yield "same-animal", "The Pet is the one that the list shows", got, _is_same
    yield "absent", "404: the requested resource could not be found", ("absent",), _is_unknown
    yield "int64", "petId: integer, format int64", ("largest",), _is_unknown_or_there


def _clauses() -> Iterator[Clause]:
    yield from _of_messages()
    for operation in OPERATIONS.values():
        yield from _of_operation(operation)
    words = "201: body is the created Pet, which is in the catalogue from then on"
    yield from (Clause(f"{one.section}-kept", words, ("*-made",), _is_kept) for one in with_effect("creates"))


def _section(clause: Clause) -> list[int]:
    return [int(part) for part in clause.section.split(".")]


CLAUSES: Final = tuple(sorted(_clauses(), key=_section))
