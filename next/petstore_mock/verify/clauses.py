"""The clauses: every sentence of the interface that can be seen from outside, as one table made from the operations.

A clause names the probes whose exchanges show it (patterns of ``fnmatch``) and a judge: a function of one exchange and
the history of the run. It returns None where the clause holds, a :class:`Breach`, or a :class:`Silent` where the exchange
says nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from petstore_mock.common.guards import is_object
from petstore_mock.interface.schemas import is_valid, parameters, properties, schema, violations
from petstore_mock.interface.table import FIELDS, OPERATIONS
from petstore_mock.interface.violations import describe
from petstore_mock.verify.probes import PROBES, kind_of, limit_of, short, values_of, verb_of, with_effect, wrong_values
from petstore_mock.verify.seen import History, NoJson, Seen, matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.interface.table import Operation, Parameter


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
    blame: Literal["", "failure", "frame"] = ""  # breaks where a response to its probes fails, or is no HTTP

    @property
    def section(self) -> str:
        return self.id.partition("-")[0]

    def is_shown_by(self, probe: str) -> bool:
        return any(fnmatchcase(probe, name) for name in self.probes)


def _other(seen: Seen) -> Silent:
    """Say that another response came than the clause is about."""
    return Silent(f"{seen.line} -> {seen.status}" if seen.status else f"{seen.line}: {seen.came}")


# §1, and what each response holds


def _is_http(seen: Seen, _: History) -> Outcome:
    if seen.failure is not None and seen.failure.kind == "frame":
        return Breach("expected an HTTP response (RFC 9112)", seen.came)
    return None if seen.status else _other(seen)


def _is_json(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or seen.operation is None or not seen.operation.response or seen.status == 204:
        return _other(seen)
    return Breach(f"expected a JSON body; {seen.document}") if isinstance(seen.document, NoJson) else None


def _has_type(seen: Seen) -> bool:
    return (seen.header("Content-Type") or "").partition(";")[0].strip().lower() == "application/json"


def _is_called_json(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or seen.status == 204:
        return _other(seen)
    if _has_type(seen):
        return None
    return Breach("expected Content-Type: application/json", f"Content-Type: {seen.header('Content-Type')}")


def _is_there(seen: Seen, _: History) -> Outcome:
    if seen.status in {404, 405}:
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


# §2


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


def _is_new(seen: Seen, history: History) -> Outcome:
    if not seen.pets:
        return _other(seen)
    pet_id = seen.pets[0]["id"]
    known = history.seen_before(pet_id, seen.number)
    return Breach(f"expected an id of its own; {pet_id} is another animal's") if known else None


def _is_echoed(name: str) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        sent, found = seen.sent, seen.document
        if not seen.is_success or not is_valid("Pet")(found) or not is_object(sent) or sent.get(name) is None:
            return Silent(f"no animal was created with {name}: {_other(seen).why}")
        if found.get(name) == sent[name]:
            return None
        words = f"expected {name} to be {describe(sent[name])}; it is {describe(found.get(name))}"
        return Breach(words, cause=f"{name} echoed")

    return judge


# §7


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
    status = (_error(seen) or {}).get("status", seen)
    if status is seen or isinstance(status, str):
        return Silent("no Error body with a status came")
    return None if status == seen.status else Breach(f"expected status to be {seen.status}; it is {describe(status)}")


def _has_error_body(status: int) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        if seen.status != status or seen.operation is None or status not in seen.operation.errors:
            return Silent(f"no {status} came that the interface shows")
        if not _has_type(seen):
            came = f"{seen.came} with Content-Type: {seen.header('Content-Type')}"
            return Breach("expected an Error body, as application/json", came, "error body")
        return None if _error(seen) is not None else Breach("expected an Error body", cause="error body")

    return judge


# §4.1: lists


def _succeeds(seen: Seen, history: History) -> Outcome:
    """Judge the status of a valid request; other clauses judge the values that it has."""
    operation = seen.operation
    assert operation is not None  # noqa: S101  # for the type checker: a probe has one
    if seen.status == operation.success:
        return None
    if seen.is_success:
        return Breach(f"expected {operation.success}")
    if History.is_removed(seen):
        return Silent(f"its removal date has come, by the service's own Date: {_other(seen).why}")
    if seen.query or seen.status in {401, 403, 429} or operation.effect == "creates" and seen.status >= 400:
        return _other(seen)
    if operation.effect == "reads":
        return _is_got(seen, history)
    return Breach(f"expected {operation.success}", cause="not there" if seen.status in {404, 405} else "")


def _is_accepted(seen: Seen, _: History) -> Outcome:
    """Judge whether a value is allowed."""
    if seen.is_success:
        return None
    is_refused = seen.is_refusal and seen.status not in {401, 403, 404, 405, 429}
    return Breach("expected the value to be accepted") if is_refused else _other(seen)


def _keeps_limit(name: str, default: int | None) -> Judge:
    """Judge the length of a page; it shows something only where more animals match."""

    def judge(seen: Seen, history: History) -> Outcome:
        if seen.items is None:
            return _other(seen)
        limit = int(seen.one(name) or default or 0)
        there = len(history.standing(seen.number, seen.filters))
        if len(seen.items) > limit:
            return Breach(f"expected at most {limit} animals; {len(seen.items)} came")
        is_shown = len(seen.items) == limit or there > limit
        return None if is_shown else Silent(f"it takes more than {limit} animals, and {there} were seen")

    return judge


def _keeps_bound(most: int) -> Judge:
    def judge(seen: Seen, history: History) -> Outcome:
        if seen.is_refusal:
            return None
        if seen.items is None:
            return _other(seen)
        if len(seen.items) > most:
            return Breach(f"expected at most {most} animals on any page; {len(seen.items)} came")
        return None if len(history.views) > most else Silent(f"it takes more than {most} animals")

    return judge


def _shows_only(seen: Seen, _: History) -> Outcome:
    if seen.items is None:
        return _other(seen)
    field, value = next(iter(seen.filters.items()))
    for pet in seen.items:
        if is_valid("Pet")(pet) and not matches(pet, seen.filters):
            return Breach(f"expected only animals with {field} {value}; one has {describe(pet.get(field))}")
    return None if seen.items else Silent(f"no animal with {field} {value} was seen")


def _finds(seen: Seen, history: History) -> Outcome:
    """Judge a list that may not be empty: an animal that matches was there before and after."""
    if seen.items is None:
        return _other(seen)
    if seen.items:
        return None
    there = history.standing(seen.number, seen.filters)
    if there:
        return Breach(f"expected an animal; the one with id {min(there)} was there before and after", cause="empty")
    return Silent("no animal that matches was seen")


def _is_same(seen: Seen, history: History) -> Outcome:
    """Judge whether animals are those that other lists show before and after."""
    compared = False
    for pet in filter(is_valid("Pet"), seen.pets if _are_sound(seen) else ()):
        views = [(one, view) for one, view in history.views[pet["id"]] if one.target != seen.target and _lists(one)]
        around = [view for one, view in views if one.number < seen.number][-1:]
        around += [view for one, view in views if one.number > seen.number][:1]
        if len(around) == 2 and _known(around[0]) == _known(around[1]) and is_valid("Pet")(around[0]):
            compared = True
            if _known(pet) != _known(around[0]):
                return Breach(f"expected what other lists show, {describe(_known(around[0]))}", describe(_known(pet)))
    return None if compared else Silent("no list showed the same animal before and after, unchanged")


def _are_sound(seen: Seen) -> bool:
    """Whether a response has animals, each with an id of its own."""
    return bool(seen.items) and len({pet["id"] for pet in seen.pets}) == len(seen.items or ())


def _lists(seen: Seen) -> bool:
    return seen.operation is not None and seen.operation.effect == "lists"


def _known(pet: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pet.get(name) for name in properties("Pet")}


# §4.2: creates


def _is_created(seen: Seen, history: History) -> Outcome:
    """Judge whether a value is allowed in a plain animal. A service may refuse the names and categories of the tool."""
    if seen.is_success:
        return None
    if not seen.is_refusal or seen.status in {401, 403, 404, 405, 429}:
        return _other(seen)
    if _plain_works(history, seen):
        return Breach(f"expected {OPERATIONS[str(seen.exchange.operation)].success}, as for another plain animal")
    return Silent(f"no plain animal was accepted, so the name or the category may be why: {seen.line} -> {seen.came}")


def _plain_works(history: History, but: Seen | None = None) -> bool:
    plain = [one for one in history.exchanges if one.probe is not None and one.probe.creates == "yes"]
    return any(one.is_success for one in plain if one is not but) or all(one is but for one in plain)


def _is_refused(seen: Seen, history: History) -> Outcome:
    """Judge the refusal of a wrong body; where plain animals are refused as well, it says nothing."""
    if seen.status in {401, 403, 404, 405, 429} or not seen.status:
        return _other(seen)
    if seen.status != 400:
        cause = f"refused by {seen.status}" if seen.is_refusal else ""
        return Breach("expected 400: the body lacks a required field or has an invalid value", cause=cause)
    return None if _plain_works(history) else Silent("plain animals are refused as well")


def _is_kept(seen: Seen, history: History) -> Outcome:
    """Judge whether the animal that was created last is found, if not at once (gap visibility)."""
    made = [one for one in history.created if one.number < seen.number][-1:]
    if not made:
        return Silent("no animal was created")
    pet = made[0].pets[0]
    if any(one["id"] == pet["id"] for one in seen.pets) or history.viewed_after(pet["id"], seen.number):
        return None
    if seen.is_success or seen.status == 404 and not History.is_removed(seen):
        if seen.items is None or not _lists(seen) or _is_whole(seen, history):
            return Breach(f"expected the animal that was created with id {pet['id']}, in this response or a later one")
        return Silent("the list that was asked for may be full")
    return _other(seen)


def _is_whole(seen: Seen, history: History) -> bool:
    """Whether a list shows every animal that matches: it is shorter than another page of the same limit."""
    pages = [len(one.items or ()) for one in history.exchanges if _lists(one) and one.limit == seen.limit]
    return len(seen.items or ()) < max(pages, default=0)


def _is_listed(seen: Seen, history: History) -> Outcome:
    """Judge whether lists show the created animals; getPet showed them."""
    if not _are_sound(seen) or not _is_whole(seen, history):
        return Silent("no list showed all its animals: the page may be full" if seen.items else _other(seen).why)
    looked = False
    for made in history.created:
        pet = made.pets[0]
        views = history.views[pet["id"]]
        if views and views[0][0].number < seen.number and matches(views[-1][1], seen.filters):
            looked = True
            if not any(_lists(one) for one, _ in views):
                return Breach(f"expected the created animal with id {pet['id']} as well: no list shows it")
    return None if looked else Silent("no animal was created that the list should show")


def _stays(seen: Seen, history: History) -> Outcome:
    """Judge whether a created animal is the same in the lists, else in getPet, as in the response to its creation."""
    if not seen.pets or not is_valid("Pet")(seen.pets[0]) or history.seen_before(seen.pets[0]["id"], seen.number):
        return _other(seen)
    pet, sent = seen.pets[0], seen.sent if is_object(seen.sent) else {}
    found = [(one, view) for one, view in history.views[pet["id"]] if is_valid("Pet")(view)]
    views = [view for one, view in found if _lists(one)] or [view for _, view in found]
    if not views:
        return Silent("nothing showed the animal again")
    for name in properties("Pet"):
        is_wrong = name in sent and sent[name] != pet.get(name)  # another clause says so
        if views[0].get(name) != pet.get(name) and not is_wrong:
            words = f"expected {name} to stay {describe(pet.get(name))}"
            return Breach(words, f"{describe(views[0].get(name))} later")
    return None


def _nothing_stays(seen: Seen, history: History) -> Outcome:
    """Judge whether a list shows what was refused; each request bore a name of its own."""
    refused = {
        one.sent["name"]: one
        for one in history.exchanges
        if one.exchange.method == "POST" and one.status in {400, 401} and one.number < seen.number
        if is_object(one.sent) and isinstance(one.sent.get("name"), str) and not (one.probe and one.probe.is_last_resort)
    }
    if not seen.pets or not refused:
        return Silent("no list showed an animal" if refused else "no create was refused")
    for pet in seen.pets:
        if pet.get("name") and pet["name"] in refused:
            status = refused[pet["name"]].status
            return Breach(f"expected nothing of a request that was answered {status}; animal {pet['id']} has its name")
    return None


# §4.3: gets


def _is_got(seen: Seen, history: History) -> Outcome:
    """Judge the response for an animal that another response showed."""
    if not seen.pet_id.isdecimal() or not history.viewed_before(int(seen.pet_id), seen.number):
        return Silent("no list showed an animal")
    if seen.status == 404 and not history.viewed_after(int(seen.pet_id), seen.number):
        return Silent("no later response shows the animal: somebody may have removed it")
    return Breach("expected 200: responses before and after show this animal")


def _is_asked_for(seen: Seen, _: History) -> Outcome:
    if not seen.is_success or not is_object(seen.document) or "id" not in seen.document:
        return _other(seen)
    found = seen.document["id"]
    is_right = str(found) == seen.pet_id
    return None if is_right else Breach(f"expected the animal with id {seen.pet_id}; it is {describe(found)}")


def _is_absent(*others: int) -> Judge:
    def judge(seen: Seen, _: History) -> Outcome:
        if seen.status in {404, *others}:
            return None
        if seen.status in {401, 403, 429} or History.is_removed(seen) or (seen.pets and str(seen.pets[0]["id"]) == seen.pet_id):
            return _other(seen)
        return Breach("expected 404: there is no such animal", cause=f"absent is {seen.status}")

    return judge


# §5


def _is_let_in(seen: Seen, _: History) -> Outcome:
    if seen.status == 401:
        return Breach("expected the key to be accepted, as it is elsewhere", cause=f"key {seen.exchange.operation}")
    return None if seen.is_success or seen.is_refusal and seen.status != 403 else _other(seen)


def _is_kept_out(seen: Seen, _: History) -> Outcome:
    if seen.status == 401:
        return None
    if History.is_removed(seen) and seen.status in {404, 410}:
        return Silent("its removal date has come, by the service's own Date")
    return Breach("expected 401", cause=f"keys refused by {seen.status}" if seen.is_refusal else "")


# The table


def _of_messages() -> Iterator[Clause]:
    verbs = {effect: [verb_of(one) for one in with_effect(effect)] for effect in ("lists", "reads", "creates")}
    all_probes = tuple(f"{verb_of(operation)}*" for operation in OPERATIONS.values())
    lists, creates = tuple(f"{verb}*" for verb in verbs["lists"]), tuple(f"{verb}-*" for verb in verbs["creates"])
    yield Clause("1-http", "The service is an HTTP API", all_probes, _is_http, "frame")
    yield Clause("1-json-body", "Response bodies are JSON", all_probes, _is_json)
    yield Clause("1-media-type", "Response bodies are application/json", all_probes, _is_called_json)
    yield Clause("1-base-address", "The base address includes the version path segment /v1", (*verbs["lists"],), _is_there)
    yield Clause("2-pets-array", "Pets: a JSON array", lists, _is_array)
    gets = tuple(f"{verb}-{name}" for verb in verbs["reads"] for name in ("known*", "odd-*", "made"))
    animals = (*lists, *gets, *creates)
    yield Clause("2-pet-object", "Pets: an array of Pet objects", animals, _are_objects)
    for name, rules in properties("Pet").items():
        required = name in schema("Pet")["required"]
        words = f"Pet: {name}, {'one of ' * ('enum' in rules)}{', '.join(rules.get('enum', [rules.get('type', '')]))}"
        words += ", required" * required
        yield Clause(f"2-pet-{short(name)}", words, animals, _has_field(name, rules, required=required))
    yield Clause("2-id-unique", "id: unique identifier", lists, _are_distinct)
    yield Clause("2-id-assigned", "id: assigned by the service on creation, unique", creates, _is_new)
    for name, rules in properties("Error").items():
        words = f"Error: {name}, {rules['type']}, required"
        yield Clause(f"2-error-{name}", words, all_probes, _has_error_field(name, rules))
    yield Clause("5-key", "The API key is sent as Authorization: Bearer <API_KEY>", all_probes, _of_own_key(_is_let_in))
    yield Clause("7-status", "The status field of the Error body carries the HTTP status", all_probes, _carries_status)
    for status in sorted({status for operation in OPERATIONS.values() for status in operation.errors}):
        words = f"{status}: Error body, as application/json"
        yield Clause(f"7-{status}-error", words, all_probes, _has_error_body(status))


def _of_own_key(judge: Judge) -> Judge:
    return lambda seen, history: judge(seen, history) if seen.has_key else Silent("no request with a key came back")


def _of_operation(operation: Operation) -> Iterator[Clause]:
    verb, section = verb_of(operation), operation.section
    name = "created" if operation.effect == "creates" else verb
    words = f"{operation.method} {operation.path}: the status of a success is {operation.success}"
    yield Clause(f"{section}-{name}", words, (verb, f"{verb}-*"), _of_valid(_succeeds), blame="failure")
    suffix = "" if operation.effect == "lists" else f"-{verb}"
    for kind, patterns in (("missing", ("no-key", "key-in-query")), ("unknown", ("unknown-key", "absent-unknown-key"))):
        words = f"Key {'missing' if kind == 'missing' else 'invalid'}: 401, on {operation.name}"
        probes = tuple(f"{verb}-{pattern}" for pattern in patterns)
        yield Clause(f"5-{kind}-key{suffix}", words, probes, _is_kept_out, blame="failure")
    of_effect = {"lists": _of_list, "creates": _of_create, "reads": _of_get}
    yield from of_effect[operation.effect](operation) if operation.effect in of_effect else ()


def _of_valid(judge: Judge) -> Judge:
    def of_valid(seen: Seen, history: History) -> Outcome:
        return judge(seen, history) if seen.probe is not None and seen.probe.is_valid else Silent("no valid request was sent")

    return of_valid


def _of_list(operation: Operation) -> Iterator[Clause]:
    verb, section = verb_of(operation), operation.section
    limit = limit_of(operation)
    if limit is not None:
        name, rules = limit
        least, most, default = rules["minimum"], rules["maximum"], rules["default"]
        yield Clause(f"{section}-{name}-minimum", f"{name}: minimum {least}", (f"{verb}-{name}-{least}", f"{verb}-{name}-{least}-after"), _is_accepted)
        largest = (f"{verb}-{name}-{most}", f"{verb}-after", f"{verb}-last")
        yield Clause(f"{section}-{name}-maximum", f"{name}: maximum {most}", largest, _is_accepted)
        within = (f"{verb}-{name}-4*", f"{verb}-{name}-{default}")
        yield Clause(f"{section}-{name}-within", f"{name}: from {least} to {most}", within, _is_accepted)
        counted = (f"{verb}-{name}-{least}", *within, f"{verb}-{name}-{most}", f"{verb}-*after", f"{verb}-*-{name}-1")
        words = f"{name}: maximum number of animals to return"
        yield Clause(f"{section}-{name}-counts", words, counted, _with(name, _keeps_limit(name, None)))
        plain = (verb, f"{verb}-default-after", *_filter_probes(operation))
        yield Clause(f"{section}-{name}-default", f"{name}: default {default}", plain, _keeps_limit(name, default))
        beyond = (f"{verb}-{name}-{least - 1}*", f"{verb}-{name}-{most + 1}", f"{verb}-{name}-1000")
        words = f"{name}: a page has at most {most} animals, for any {name}"
        yield Clause(f"{section}-{name}-bound", words, beyond, _keeps_bound(most))
    words = "The body holds animals where there are some"
    yield Clause(f"{section}-list-finds", words, (verb, f"{verb}-*"), _without_filter(_finds))
    for parameter in operation.query_parameters:
        if parameter.filters:
            yield from _of_filter(operation, parameter)
    scheme = "Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>"
    odd_keys = (f"{verb}-key-without-scheme", f"{verb}-key-other-scheme", f"{verb}-key-empty")
    yield Clause("5-scheme", scheme, odd_keys, _is_kept_out, blame="failure")
    yield Clause(f"{section}-same-animal", "Each list shows the same animal", (verb, f"{verb}-*"), _is_same)
    refused = "400, 401: what is refused is not added"
    for creating in with_effect("creates"):
        after = (f"{verb}*after*", f"{verb}-last")
        yield Clause(f"{creating.section}-refused-not-kept", refused, after, _nothing_stays)
        yield Clause(f"{creating.section}-listed", "Lists show a created animal", after, _is_listed)


def _filter_probes(operation: Operation, parameter: Parameter | None = None) -> Iterator[str]:
    for one in [parameter] if parameter else operation.query_parameters:
        if one.filters:
            yield from (f"{verb_of(operation)}-{words}" for words in values_of(operation, one))


def _with(name: str, judge: Judge) -> Judge:
    def with_name(seen: Seen, history: History) -> Outcome:
        is_asked = seen.one(name) is not None and seen.probe is not None and seen.probe.is_valid
        return judge(seen, history) if is_asked else Silent(f"no list was asked for with a valid {name}")

    return with_name


def _without_filter(judge: Judge) -> Judge:
    def without(seen: Seen, history: History) -> Outcome:
        is_plain = not seen.filters and seen.probe is not None and seen.probe.is_valid
        return judge(seen, history) if is_plain else Silent("no list without a filter was asked for")

    return without


def _of_filter(operation: Operation, parameter: Parameter) -> Iterator[Clause]:
    name, clause = parameter.name, f"{operation.section}-{parameter.name}"
    probes = tuple(f"{probe}{end}" for probe in _filter_probes(operation, parameter) for end in ("", "-limit-1", "-after"))
    for value in parameters(operation)[name].get("enum", ()):
        yield Clause(f"{clause}-{value}", f"{name}={value} is allowed", (f"{verb_of(operation)}-{value}",), _is_accepted)
    yield Clause(f"{clause}-filter", f"{name}: returns only animals with this {name}", probes, _shows_only)
    yield Clause(f"{clause}-finds", f"{name}: returns animals with this {name}", probes, _finds)


def _of_create(operation: Operation) -> Iterator[Clause]:
    verb, section, body = verb_of(operation), operation.section, str(operation.body)
    made = (f"{verb}-*",)
    required = schema(body)["required"]
    for name, rules in properties(body).items():
        clause = f"2-{short(name)}"
        odd = {f"{verb}-{short(name)}-large", f"{verb}-{short(name)}-text"}  # these have clauses of their own
        echoed = tuple(one.name for one in PROBES if one.creates != "no" and one.name not in odd)
        yield Clause(f"{clause}-echoed", f"Pet has all fields of NewPet: {name}", echoed, _is_echoed(name))
        if kind_of(rules) == "integer":
            words = f"{name}: format int64, beyond 2^53 too"
            yield Clause(f"{clause}-int64", words, (f"{verb}-{short(name)}-large",), _is_echoed(name))
        if kind_of(rules) == "string":
            words = f"{name}: string, letters beyond ASCII too"
            yield Clause(f"{clause}-text", words, (f"{verb}-{short(name)}-text",), _is_echoed(name))
        if name not in required:
            words = f"NewPet: {name} is not required"
            yield Clause(f"{clause}-optional", words, (f"{verb}-without-{short(name)}",), _is_created)
        for value in rules.get("enum", ()):
            yield Clause(f"{clause}-{value}", f"{name}: {value} is allowed", (f"{verb}-{value}",), _is_created)
    words = "201: body is the created Pet, which is in the catalogue from then on"
    yield Clause(f"{section}-kept", words, ("*-made",), _is_kept)
    yield Clause(f"{section}-same-animal", "The created Pet stays the same in every response", made, _stays)
    rows = [(f"{short(name)}-required", f"{name} is required", f"without-{short(name)}") for name in required]
    rows += [("both-required", f"{' and '.join(required)} are required", "empty-object")]
    rows += [(f"{short(name)}-{end}", words, f"{short(name)}-{end}") for name, end, words, _ in wrong_values(body)]
    rows += [("body-object", f"Request body: {body}, and an array is none", "array")]
    rows += [("body-json", "Request body is JSON", "malformed"), ("body-required", "Request body: required", "no-body")]
    for name, words, probe in rows:
        yield Clause(f"{section}-{name}", f"{words}; else 400", (f"{verb}-{probe}",), _is_refused, blame="failure")


def _of_get(operation: Operation) -> Iterator[Clause]:
    verb, section = verb_of(operation), operation.section
    got = (f"{verb}-known*", f"{verb}-odd-*", f"{verb}-made")
    yield Clause(f"{section}-asked-for", "petId: the identifier of the animal", got, _is_asked_for)
    yield Clause(f"{section}-same-animal", "The Pet is the one that the list shows", got, _is_same)
    absent = "404: the requested resource could not be found"
    yield Clause(f"{section}-absent", absent, (f"{verb}-absent",), _is_absent(), blame="failure")
    largest = "petId: integer, format int64"
    yield Clause(f"{section}-int64", largest, (f"{verb}-largest",), _is_absent(200), blame="failure")


def _clauses() -> Iterator[Clause]:
    yield from _of_messages()
    for operation in OPERATIONS.values():
        yield from _of_operation(operation)


def _section(clause: Clause) -> list[int]:
    return [int(part) for part in clause.section.split(".")]


CLAUSES: Final = tuple(sorted(_clauses(), key=_section))
