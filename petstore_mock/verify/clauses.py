"""The clauses, which are the testable statements of the interface, and the checks of an exchange against them.

The table is derived from the operations, the schemas and the probes. ``checks`` reads one exchange and yields a
``Check`` for each clause that the exchange confirms or breaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.guards import is_object
from petstore_mock.common.values import is_integer
from petstore_mock.interface.bodies import short
from petstore_mock.interface.kinds import kind_of
from petstore_mock.interface.schemas import is_valid, properties, schema, violations
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.interface.violations import describe
from petstore_mock.verify.probes import PROBES, READ_BACK, filters_of, limits_of, with_effect
from petstore_mock.verify.seen import NO_JSON, History, Seen, matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe


@dataclass(frozen=True, slots=True)
class Clause:
    """A testable statement of the interface."""

    id: str  # stable; it starts with the section of the interface
    words: str
    # Each exchange of these operations can show the clause. A probe that names the clause can show it as well.
    operations: tuple[Operation, ...] = ()
    needs: str = ""  # the animals or responses that an exchange needs to show the clause

    @property
    def section(self) -> str:
        return self.id.partition("-")[0]

    def is_shown_by(self, probe: Probe) -> bool:
        return probe.operation in self.operations or probe.shows == self.id


class Check(NamedTuple):
    """The result of one exchange for one clause. Breaches with the same ``cause`` are reported once."""

    clause: str
    holds: bool
    expected: str = ""  # the expected response; never empty for a breach
    cause: str = ""


def success_clause(operation: Operation) -> str:
    """Return the id of the clause for the success status of an operation."""
    return f"{operation.section}-{'created' if operation.effect == 'creates' else operation.verb}"


# The table

_EVERY: Final = tuple(OPERATIONS.values())
_LISTS: Final = with_effect("lists")
_CREATES: Final = with_effect("creates")
_SHOWS: Final = with_effect("lists", "creates", "reads")


def _of_every_response() -> Iterator[Clause]:
    yield Clause("1-http", "The service is an HTTP API", _EVERY)
    yield Clause("1-json-body", "Response bodies are JSON", _EVERY)
    yield Clause("1-media-type", "Response bodies are application/json", _EVERY)
    yield Clause("1-base-address", "The base address includes the version path segment /v1", _LISTS)
    yield Clause("2-pets-array", "Pets is a JSON array", _LISTS)
    yield Clause("2-pet-object", "Pets is an array of Pet objects", _SHOWS)
    for kind, operations in (("Pet", _SHOWS), ("Error", _EVERY)):
        for name, rules in properties(kind).items():
            values = f"one of {', '.join(rules['enum'])}" if "enum" in rules else rules.get("format", rules["type"])
            required = ", required" if name in schema(kind)["required"] else ""
            yield Clause(f"2-{kind.lower()}-{short(name)}", f"{kind}: {name}, {values}{required}", operations)
    yield Clause("2-id-unique", "id: unique identifier", _LISTS, "two animals")
    yield Clause("2-id-assigned", "id: unique identifier, assigned by the service on creation", _CREATES)
    yield Clause("5-key", "The API key is sent as Authorization: Bearer <API_KEY>", _EVERY)
    yield Clause("7-status", "The status field of the Error body carries the HTTP status", _EVERY)
    for status in sorted({status for operation in _EVERY for status in operation.errors}):
        words = f"{status}: Error body, as application/json"
        yield Clause(f"7-{status}-error", words, _EVERY, f"a response with {status}")


def _meant(words: str, operation: Operation) -> str:
    """Mark a sentence as an inference. The section does not say it literally."""
    return f"{words} (by the meaning of §{operation.section})"


def _of_operations() -> Iterator[Clause]:
    for operation in _EVERY:
        words = f"{operation.method} {operation.path}: a success has status {operation.success}"
        yield Clause(success_clause(operation), words, (operation,))
    for operation in _SHOWS:
        words = _meant("An animal is the same in every response", operation)
        needs = "another response with the same animal"
        yield Clause(f"{operation.section}-same-animal", words, (operation,), needs)
    for operation in _LISTS:
        section, (_, most, default) = operation.section, limits_of(operation)
        words = _meant(f"A page has at most {most} animals for any limit", operation)
        finds = _meant("A list shows existing animals", operation)
        yield Clause(f"{section}-limit-counts", "limit: maximum number of animals to return", _LISTS, "an animal")
        yield Clause(f"{section}-limit-default", f"limit: default {default}", _LISTS, f"{default} animals")
        yield Clause(f"{section}-limit-bound", words, _LISTS, f"more than {most} animals")
        yield Clause(f"{section}-list-finds", finds, _LISTS, "an animal")
        for name in (parameter.name for parameter in filters_of(operation)):
            words = _meant(f"{name}: a list shows existing animals with this {name}", operation)
            yield Clause(f"{section}-{name}-filter", f"{name}: returns only animals with this {name}", _LISTS)
            yield Clause(f"{section}-{name}-finds", words, _LISTS)
    for operation in _CREATES:
        words = _meant("A refused create adds no animal", operation)
        needs = "a create that was refused with 400 or 401"
        yield Clause(f"{operation.section}-refused-not-kept", words, _LISTS, needs)
        needs = "a created animal and a list that is not full"
        yield Clause(f"{operation.section}-listed", _meant("Lists show a created animal", operation), _LISTS, needs)
        for name, rules in properties(str(operation.body)).items():
            yield Clause(f"2-{short(name)}-echoed", f"Pet has all fields of NewPet, including {name}", _CREATES)
            beyond = kind_of(rules).beyond
            if beyond is not None:
                needs = f"a created animal with such a {name}"
                yield Clause(f"2-{short(name)}-{beyond.id}", f"{name}: {beyond.words}", _CREATES, needs)
    for operation in with_effect("reads"):
        yield Clause(f"{operation.section}-asked-for", "petId: the identifier of the animal", (operation,))


_NAMED: Final = {
    probe.shows: Clause(probe.shows, probe.words, needs="a created animal" if probe.expected == "made" else "")
    for probe in (*PROBES, *READ_BACK)
    if probe.words
}
CLAUSES: Final = tuple(
    sorted((*_of_every_response(), *_of_operations(), *_NAMED.values()), key=lambda clause: clause.section)
)


# Checks of an exchange

_KEYS_AND_LIMITS: Final = frozenset({401, 403, 409, 429})  # some services use 409 for a full quota
_ELSEWHERE: Final = frozenset({404, 405})
# For each expectation of a probe: the right status, and the statuses that neither confirm nor break the clause.
_STATUSES: Final[Mapping[str, tuple[int, frozenset[int]]]] = {
    "refused": (400, _KEYS_AND_LIMITS | _ELSEWHERE),
    "kept out": (401, frozenset()),
    "absent": (404, _KEYS_AND_LIMITS | {405}),
    "absent or there": (404, _KEYS_AND_LIMITS | {200, 405}),
}


def checks(seen: Seen, history: History) -> Iterator[Check]:
    """Yield the results of one exchange."""
    if seen.failure is not None:
        is_own = bool(seen.probe.words) and not seen.probe.is_valid
        blamed = seen.probe.shows if is_own else success_clause(seen.operation)
        if is_own or history.fails_again(seen):
            yield Check("1-http" if seen.failure.kind == "frame" else blamed, holds=False, expected="a whole response")
        return
    if seen.probe.media_type != "application/json":
        return  # the interface does not show how a service treats other media types
    yield from _of_message(seen, history)
    yield from _of_status(seen, history)
    if seen.probe.shows == "invalid_limit" and seen.is_refusal:
        yield Check(f"{seen.operation.section}-limit-bound", holds=True)
    if seen.effect == "lists" and seen.items is not None:
        yield from _of_list(seen, history)
    if seen.effect == "creates" and seen.is_success:
        yield from _of_create(seen, history)
    if seen.effect == "reads" and seen.probe.is_valid and is_object(seen.document) and "id" in seen.document:
        is_right = str(seen.document["id"]) == seen.pet_id
        yield Check(f"{seen.operation.section}-asked-for", is_right, f"the animal with id {seen.pet_id}")
    if is_distinct(seen):
        yield from _of_same(seen, history)
    if seen.probe.expected == "made":
        yield from _of_kept(seen, history)


def _of_message(seen: Seen, history: History) -> Iterator[Check]:
    yield Check("1-http", holds=True)
    is_json = seen.document is not NO_JSON
    is_called_json = seen.header("Content-Type").partition(";")[0].strip().lower() == "application/json"
    coding = seen.header("Content-Encoding") if not is_json else ""
    if seen.is_success and seen.status != 204 and seen.operation.response and seen.probe.expected not in _STATUSES:
        cause = "coding" if coding else _cause(seen, history)
        words = f"no content coding (Accept-Encoding is identity), not {coding}" if coding else "a JSON body"
        yield Check("1-json-body", is_json, words, cause)
        words = f"Content-Type application/json, not {seen.header('Content-Type') or 'a missing one'}"
        yield Check("1-media-type", is_called_json, words, "media type" if is_json else cause)
    if seen.effect == "lists" and seen.is_success and seen.probe.has_key and is_json:
        yield Check("2-pets-array", seen.items is not None, "a JSON array")
    if seen.effect == "lists" and (seen.is_success or seen.status in _ELSEWHERE):
        yield Check("1-base-address", seen.is_success, "a list at this base address")
    if seen.probe.has_key and (seen.is_success or seen.is_refusal) and seen.status != 403:
        yield Check("5-key", seen.status != 401, "no 401, because other operations accept the key")
    objects = [item for item in seen.items or () if is_object(item) and not properties("Pet").keys().isdisjoint(item)]
    if seen.items:
        yield Check("2-pet-object", len(objects) == len(seen.items), "only Pet objects")
    yield from _of_fields("Pet", objects)
    if seen.status in seen.operation.errors:
        found = seen.document
        is_error = is_object(found) and not properties("Error").keys().isdisjoint(found)
        cause = "coding" if coding else "media type" if is_error else "error body"
        yield Check(f"7-{seen.status}-error", is_called_json and is_error, "an Error body, as application/json", cause)
        if is_error:
            yield from _of_fields("Error", [found])
            if isinstance(found.get("status"), int):
                yield Check("7-status", found["status"] == seen.status, f"status {seen.status} in the Error body")


def _of_fields(kind: str, objects: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
    for name, rules in properties(kind).items():
        clause = f"2-{kind.lower()}-{short(name)}"
        for one in objects:
            if name in one:
                wrong = violations(rules, one[name], name)
                yield Check(clause, not wrong, f"a valid {kind} ({wrong[0] if wrong else ''})")
            elif name in schema(kind)["required"]:
                yield Check(clause, holds=False, expected=f"each {kind} to have {name}; one has {', '.join(one)}")


def _of_status(seen: Seen, history: History) -> Iterator[Check]:
    probe, status, wanted = seen.probe, seen.status, seen.operation.success
    # If no list is found at the base address, only the clause 1-base-address is broken.
    is_nowhere = seen.effect == "lists" and status in _ELSEWHERE and not history.listed
    is_gone = seen.is_removed and seen.is_refusal and status != 401
    if _is_sound(seen) and (seen.is_success or _is_wrong(seen, history)):
        yield Check(success_clause(seen.operation), status == wanted, f"{wanted}", _cause(seen, history, wanted))
    if probe.expected == "accepted":
        # The service may refuse the names and categories that verify uses.
        is_evidence = seen.effect != "creates" or history.accepts_plain
        if seen.is_success or (seen.is_refusal and is_evidence and status not in _KEYS_AND_LIMITS | _ELSEWHERE):
            sent = {name for name, rules in properties("Pet").items() if name in seen.sent and "enum" in rules}
            values = [f"{name} {seen.sent[name]}" for name in sorted(sent)]
            yield Check(probe.shows, seen.is_success, "the value to be accepted", ", ".join(values))
    if probe.expected in _STATUSES:
        wanted, others = _STATUSES[probe.expected]
        is_evidence = wanted != 400 or history.accepts_plain
        # An operation that refuses every request shows nothing.
        if status != wanted and seen.is_refusal:
            is_evidence = status not in history.unserved(seen.operation)
        if is_evidence and status not in others and not is_nowhere and not is_gone:
            yield Check(probe.shows, status == wanted, f"{wanted}", _cause(seen, history, wanted))


def _cause(seen: Seen, history: History, wanted: int = 0) -> str:
    """Return the cause of a breach: the same text for all breaches by one mistake of the service; empty if unknown."""
    if seen.status in history.unserved(seen.operation):
        return f"{seen.status} from {seen.operation.name}"
    return f"{seen.status} for {wanted}" if wanted and not seen.is_success else ""


def _is_sound(seen: Seen) -> bool:
    """Whether the request has to succeed. A service may refuse an odd animal with 4xx, but must not fail."""
    is_failing_create = seen.has_failed and seen.effect == "creates" and seen.probe.expected == "open"
    return seen.probe.is_valid or (is_failing_create and is_valid(str(seen.operation.body))(seen.sent))


def _is_wrong(seen: Seen, history: History) -> bool:
    """Whether the status of a valid request breaks the success clause of its operation."""
    if seen.has_failed:
        return history.fails_again(seen)
    is_of_value = seen.is_refusal and ("?" in seen.probe.target or seen.effect == "creates")
    if is_of_value or seen.is_removed or seen.status in _KEYS_AND_LIMITS:
        return False
    if seen.effect in {"reads", "changes", "removes"}:
        before, after = history.around(int(seen.pet_id), seen.number)
        return bool(before) and (seen.status not in _ELSEWHERE or bool(after) or seen.operation.commits)
    return seen.effect != "lists" or seen.status not in _ELSEWHERE


# Animals


def is_distinct(seen: Seen) -> bool:
    return len({pet["id"] for pet in seen.pets}) == len(seen.items or ())


def _known(pet: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pet[name] for name in properties("Pet") if name in pet}


def _is_pet(value: object) -> bool:
    """Whether a value is a valid animal. Unknown fields are allowed."""
    return is_object(value) and is_valid("Pet")(_known(value))


def _of_same(seen: Seen, history: History) -> Iterator[Check]:
    """Compare each animal with earlier and later responses, and a created animal with later responses."""
    for pet in filter(_is_pet, seen.pets):
        before, after = history.around(pet["id"], seen.number, lists=True)
        made = [one.pets[0] for one in history.created if one.number < seen.number and one.pets[0]["id"] == pet["id"]]
        pair = [*(before or made)[-1:], *after[:1]]
        if seen.effect == "creates":
            is_known = history.is_known(pet["id"], seen.number)
            pair = [] if is_known else (after or history.around(pet["id"], seen.number)[1])[:1] * 2
        if len(pair) < 2 or _known(pair[0]) != _known(pair[1]) or not _is_pet(pair[0]):
            continue  # another client may have changed the animal
        for name in properties("Pet"):
            other = pair[0].get(name)
            words = f"{name} to be {describe(other)} for the id {pet['id']}, as in other responses"
            yield Check(f"{seen.operation.section}-same-animal", pet.get(name) == other, words, f"{name} differs")


def _of_list(seen: Seen, history: History) -> Iterator[Check]:
    section, (_, most, _) = seen.operation.section, limits_of(seen.operation)
    there, count = history.standing(seen), seen.count
    if seen.probe.is_valid and seen.limit is not None:
        kind = "counts" if "limit=" in seen.probe.target else "default"
        # A store with fewer animals can't show the limit.
        if count >= seen.limit or len(there) > seen.limit:
            yield Check(f"{section}-limit-{kind}", count <= seen.limit, f"a list of at most {seen.limit}, not {count}")
    would_show = seen.probe.shows == "invalid_limit" and len(history.views) > most
    if not seen.probe.is_valid and (count > most or would_show):
        yield Check(f"{section}-limit-bound", count <= most, f"at most {most} animals on any page, not {count}")
    if len(seen.pets) > 1:
        yield Check("2-id-unique", len({pet["id"] for pet in seen.pets}) == len(seen.pets), "each id once")
    yield from _of_filters(seen, there)
    yield from _of_refused(seen, history)
    yield from _of_listed(seen, history)


def _of_filters(seen: Seen, there: set[int]) -> Iterator[Check]:
    section = seen.operation.section
    names = [one.name for one in filters_of(seen.operation) if one.filters_by in seen.filters]
    if not seen.probe.is_valid or not (seen.items or there):
        return
    for name in names or ["list"]:
        words = f"an animal such as id {min(there, default=0)}, which earlier and later responses show"
        yield Check(f"{section}-{name}-finds", bool(seen.items), words, "empty")
    for name in names if seen.items else ():
        is_right = all(matches(pet, seen.filters) for pet in seen.items or () if _is_pet(pet))
        yield Check(f"{section}-{name}-filter", is_right, f"only animals with this {name}")


# Created animals


def _is_beyond(value: object) -> bool:
    """Whether services often change such a value: text beyond ASCII, or an integer beyond 2^53."""
    return (isinstance(value, str) and not value.isascii()) or (is_integer(value) and value > 2**53)


def _of_create(seen: Seen, history: History) -> Iterator[Check]:
    for pet in seen.pets:
        is_known = history.is_known(pet["id"], seen.number)
        yield Check("2-id-assigned", not is_known, f"a new id; another animal has {pet['id']}")
    for name, value in seen.sent.items():
        rules = properties(str(seen.operation.body)).get(name)
        if rules is None or value is None or seen.probe.expected == "refused" or not _is_pet(seen.document):
            continue
        end = ("int64" if is_integer(value) else "text") if _is_beyond(value) else "echoed"
        is_same = seen.document.get(name) == value
        yield Check(f"2-{short(name)}-{end}", is_same, f"{name} to be {describe(value)}", f"{name} differs")


def _of_kept(seen: Seen, history: History) -> Iterator[Check]:
    """Check that the last created animal is found, possibly some requests later (gap visibility)."""
    made = [one.pets[0]["id"] for one in history.created if one.number < seen.number][-1:]
    is_evidence = _is_whole(seen, history) if seen.effect == "lists" else seen.is_success or seen.status == 404
    is_late = any(
        found[0][0].number > one.number + 1 for one in history.created if (found := history.views[one.pets[0]["id"]])
    )
    for pet_id in made:
        is_found = any(pet["id"] == pet_id for pet in seen.pets) or bool(history.around(pet_id, seen.number)[1])
        if is_found or (is_evidence and not is_late):
            yield Check(seen.probe.shows, is_found, f"the created animal {pet_id}, in this response or later")


def _is_whole(seen: Seen, history: History) -> bool:
    """Whether a list shows every matching animal. It does if another page with the same limit is longer."""
    pages = [one.count for one in history.exchanges if one.effect == "lists" and one.limit == seen.limit]
    return 0 < seen.count < max(pages, default=0) and is_distinct(seen)


def _of_listed(seen: Seen, history: History) -> Iterator[Check]:
    """Check that lists show the created animals that getPet showed."""
    views = [found for made in history.created if (found := history.views[made.pets[0]["id"]])]
    looked = [found for found in views if found[0][0].number < seen.number and matches(found[-1][1], seen.filters)]
    # One animal is enough, because the others may appear later.
    is_shown = any(one.effect == "lists" for found in looked for one, _ in found)
    if looked and _is_whole(seen, history):
        ids = ", ".join(str(found[0][1]["id"]) for found in looked)
        words = f"the created animals {ids} as well; no list shows any of them"
        yield Check(f"{history.created[0].operation.section}-listed", is_shown, words)


def _of_refused(seen: Seen, history: History) -> Iterator[Check]:
    """Check that a list shows no refused animal. Each create has a unique name."""
    creates = [one for one in history.exchanges if one.effect == "creates" and one.number < seen.number]
    own = [one for one in creates if one.status in {400, 401} and not one.probe.is_last_resort]
    refused = {name for one in own if isinstance(name := one.sent.get("name"), str) and name}
    kept = [pet["id"] for pet in seen.pets if isinstance(pet.get("name"), str) and pet["name"] in refused]
    if refused and seen.pets:
        words = f"no animal of a refused create; the animals {kept} have names of refused creates"
        yield Check(f"{creates[0].operation.section}-refused-not-kept", not kept, words)
