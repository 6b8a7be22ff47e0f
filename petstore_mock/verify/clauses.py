"""The clauses: every sentence of the interface that can be seen from outside, as one table.

A clause names the probes whose exchanges show it (``list*`` stands for all that begin so), and a check: a function of
one exchange and the facts of the run. It returns None where the clause holds, a :class:`Breach`, or a :class:`Silent`
where the exchange says nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.numbers import is_integer
from petstore_mock.contract.interface import DEFAULT_LIMIT, LARGEST_INT64, LARGEST_LIMIT, OPERATIONS, PET_STATUSES
from petstore_mock.verify.exchange import NotJson

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.verify.exchange import Exchange
    from petstore_mock.verify.facts import Facts

    Check = Callable[[Exchange, Facts], "Breach | Silent | None"]

__all__ = ["CLAUSES", "Breach", "Clause", "Silent"]

_NUMBER: Final = "an integer in int64"
_TEXT: Final = "a string"


@dataclass(frozen=True, slots=True)
class Breach:
    """What an exchange breaks."""

    expected: str
    came: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """Why an exchange says nothing of a clause."""

    why: str


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence of the interface that can be seen from outside.

    Attributes:
        id: stable, beginning with the section of the interface.
        words: what it says.
        probes: the names of the probes that show it, as patterns of ``fnmatch``.
        check: says what an exchange of theirs shows.
    """

    id: str
    words: str
    probes: tuple[str, ...]
    check: Check

    @property
    def section(self) -> str:
        """The section of the interface."""
        return self.id.partition("-")[0]

    def is_shown_by(self, probe: str) -> bool:
        """Whether an exchange of the probe is checked."""
        return any(fnmatchcase(probe, name) for name in self.probes)


# Checks


def _status(wanted: int, why: str = "") -> Check:
    """Check the status of an answer alone."""

    def check(exchange: Exchange, _facts: Facts) -> Breach | None:
        return None if exchange.status == wanted else Breach(f"expected {wanted}{why}")

    return check


def _listed(exchange: Exchange) -> list[Any] | Silent:
    """Return what a list holds, whatever it is."""
    if exchange.status != 200:
        return Silent(f"{exchange.line} was answered {exchange.status}")
    if not isinstance(exchange.json, list):
        return Silent("the answer is no array")
    return exchange.json


def _documents(exchange: Exchange) -> list[Any] | Silent:
    """Return the animals of an answer, whatever they are."""
    if (exchange.operation, exchange.status) in {("getPet", 200), ("createPet", 201)}:
        return [exchange.json]
    if exchange.operation == "listPets":
        found = _listed(exchange)
        return found if isinstance(found, Silent) or found else Silent("no list showed an animal")
    return Silent(f"{exchange.line} was answered {exchange.status}")


def _is_declared(exchange: Exchange) -> bool:
    """Whether the answer has a status that the interface declares for the operation."""
    return exchange.operation is not None and exchange.status in OPERATIONS[exchange.operation].statuses


def _json(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    if not _is_declared(exchange):
        return Silent("no answer of the interface came")
    found = exchange.json
    return Breach(f"expected a JSON body; {found.why}") if isinstance(found, NotJson) else None


def _media_type(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    if not _is_declared(exchange):
        return Silent("no answer of the interface came")
    came = exchange.header("Content-Type")
    if came is not None and came.partition(";")[0].strip().lower() == "application/json":
        return None
    return Breach("expected Content-Type: application/json", f"Content-Type: {came}")


def _readable(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    if exchange.failure is not None and exchange.failure.kind in {"length", "not_http"}:
        return Breach("expected an HTTP answer (RFC 9112)", exchange.failure.words)
    return None if exchange.answer is not None else Silent("no answer came")


def _array(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    if exchange.status != 200:
        return Silent(f"{exchange.line} was answered {exchange.status}")
    return None if isinstance(exchange.json, list) else Breach("expected a JSON array")


def _objects(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    found = _documents(exchange)
    if isinstance(found, Silent):
        return found
    wrong = [pet for pet in found if not isinstance(pet, dict)]
    return Breach(f"expected each animal to be a JSON object; one is {wrong[0]!r}") if wrong else None


def _field(name: str, is_right: Callable[[Any], bool], what: str, *, required: bool) -> Check:
    """Check a field of every animal in an answer."""

    def check(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
        found = _documents(exchange)
        if isinstance(found, Silent):
            return found
        pets = [pet for pet in found if isinstance(pet, dict)]
        given = [pet for pet in pets if name in pet]
        for pet in given:
            if not is_right(pet[name]):
                return Breach(f"expected {name} to be {what}; it is {pet[name]!r}")
        if required and len(given) < len(pets):
            without = next(pet for pet in pets if name not in pet)
            return Breach(f"expected every animal to have {name}; one has {', '.join(without) or 'no field'}")
        return None if given else Silent(f"no animal with {name} was seen")

    return check


def _is_int64(value: object) -> bool:
    return is_integer(value) and -LARGEST_INT64 - 1 <= value <= LARGEST_INT64


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_status(value: object) -> bool:
    return value in PET_STATUSES


def _error(name: str, is_right: Callable[[Any], bool], what: str) -> Check:
    """Check a field of an Error body."""

    def check(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
        if not _is_declared(exchange) or exchange.status not in {400, 401, 404}:
            return Silent("no such error came")
        found = exchange.json
        if not isinstance(found, dict):
            return Breach("expected an Error object")
        if name not in found:
            return Breach(f"expected the Error to have {name}; it has {', '.join(found) or 'no field'}")
        return None if is_right(found[name]) else Breach(f"expected {name} to be {what}; it is {found[name]!r}")

    return check


def _status_carried(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    found = exchange.json
    if exchange.status not in {400, 401, 404} or not isinstance(found, dict) or "status" not in found:
        return Silent("no such error came")
    return (
        None
        if found["status"] == exchange.status
        else Breach(f"expected status to be {exchange.status}; it is {found['status']!r}")
    )


def _error_of(status: int) -> Check:
    """Check an Error body as a whole, as it comes with a status."""
    fields = (("code", _is_text, _TEXT), ("message", _is_text, _TEXT), ("status", is_integer, "an integer"))
    checks = [*(_error(*field) for field in fields), _media_type]

    def check(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
        if exchange.status != status:
            return Silent(f"no {status} came")
        return next((found for one in checks if (found := one(exchange, facts)) is not None), None)

    return check


def _at_most(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check the length of a page: it shows something only where more animals match than may come."""
    found = _listed(exchange)
    if isinstance(found, Silent):
        return found
    text = exchange.one("limit")
    limit = DEFAULT_LIMIT if text is None else int(text)
    if len(found) > limit:
        return Breach(f"expected at most {limit} animals; {len(found)} came")
    more = len(facts.standing(exchange.number, exchange.one("status")))
    if len(found) == limit or more > limit:
        return None
    return Silent(f"it takes more than {limit} animals, and {max(more, len(found))} were seen")


def _only(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    """Check a filtered list: only animals with this status."""
    found = _listed(exchange)
    if isinstance(found, Silent):
        return found
    status = exchange.one("status")
    for pet in found:
        if isinstance(pet, dict) and pet.get("status") != status:
            return Breach(f"expected only animals with status {status}; one has {pet.get('status', 'no status')!r}")
    return None if found else Silent("no animal with this status was seen")


def _finds(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check a list that may not be empty: an animal that matches was there before and after."""
    found = _listed(exchange)
    if isinstance(found, Silent):
        return found
    matching = facts.standing(exchange.number, exchange.one("status")) - {pet["id"] for pet in exchange.pets}
    if found:
        return None
    if matching:
        return Breach(f"expected an animal; {min(matching)} was there before and after")
    return Silent("no animal that matches was seen")


def _distinct(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    ids = [pet["id"] for pet in exchange.pets]
    if len(ids) < 2:
        return Silent("it takes two animals in one list")
    twice = sorted({one for one in ids if ids.count(one) > 1})
    return Breach(f"expected each animal once; {twice[0]} came {ids.count(twice[0])} times") if twice else None


def _new_id(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check the id of a created animal: no other animal had it."""
    if not exchange.pets:
        return Silent("no animal was created")
    pet_id = exchange.pets[0]["id"]
    if facts.seen_before(pet_id, exchange.number):
        return Breach(f"expected an id of its own; {pet_id} was another animal's")
    return None


def _echoed(name: str) -> Check:
    """Check whether a field of a created animal is what was sent."""

    def check(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
        sent, found = exchange.sent, exchange.json
        if (
            exchange.status != 201
            or not isinstance(found, dict)
            or not isinstance(sent, dict)
            or sent.get(name) is None
        ):
            return Silent(f"no animal with {name} was created")
        same = found.get(name) == sent[name] and isinstance(found.get(name), bool) is isinstance(sent[name], bool)
        return None if same else Breach(f"expected {name} to be {sent[name]!r}; it is {found.get(name)!r}")

    return check


def _created(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    if exchange.status == 201:
        return None
    known = "a list showed" if "known category" in exchange.notes else "nobody has shown"
    if exchange.status == 400 and known == "nobody has shown":
        return Silent("the category is one that no list showed, and which exist is not shown (§2)")
    return Breach(f"expected 201: name and categoryId (which {known}) are all that is required")


def _kept(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check whether a created animal is found again, at the third time if not at once (gap visibility)."""
    made = [one.pets[0]["id"] for one in facts.created if one.number < exchange.number]
    if not made:
        return Silent("no animal was created")
    if any(pet["id"] == made[-1] for pet in exchange.pets):
        return None
    if exchange.operation == "getPet" and not facts.is_removed(exchange):
        return Breach(f"expected the animal that was created as {made[-1]}, at the third time at the latest")
    return Silent("getPet is removed, and the list that was asked for may be full")


def _refused_left_nothing(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check whether what was refused is in the list all the same; each request bore a name of its own."""
    if not exchange.pets:
        return Silent("no list showed an animal")
    refused = {
        one.sent["name"]: one
        for one in facts.exchanges
        if one.operation == "createPet"
        and one.status in {400, 401}
        and one.number < exchange.number
        and isinstance(one.sent, dict)
        and isinstance(one.sent.get("name"), str)
        and one.sent["name"]
    }
    if not refused:
        return Silent("no create was refused")
    for pet in exchange.pets:
        name = pet.get("name")
        if isinstance(name, str) and name in refused:
            return Breach(
                f"expected nothing of what was answered {refused[name].status}; animal {pet['id']} has its name"
            )
    return None


def _asked_for(exchange: Exchange, _facts: Facts) -> Breach | Silent | None:
    if exchange.status != 200 or not isinstance(exchange.json, dict):
        return Silent(f"{exchange.line} was answered {exchange.status}")
    found = exchange.json.get("id")
    return (
        None
        if str(found) == exchange.pet_id
        else Breach(f"expected the animal with id {exchange.pet_id}; it is {found!r}")
    )


def _got(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check the answer to getPet for an animal that an answer showed."""
    if exchange.status == 200:
        return None
    if not facts.seen_before(int(exchange.pet_id), exchange.number):
        return Silent("nothing showed an animal")
    if facts.is_removed(exchange):
        return Silent("its removal date has come, by the service's own Date")
    if exchange.status == 404 and not facts.seen_after(int(exchange.pet_id), exchange.number):
        return Silent("no later list shows the animal: somebody may have removed it")
    return Breach("expected 200: answers before and after show this animal")


def _same_as_listed(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    """Check whether getPet shows what the lists before and after it show."""
    if exchange.status != 200 or not isinstance(exchange.json, dict):
        return Silent(f"{exchange.line} was answered {exchange.status}")
    shown = [
        (one.number, pet)
        for one in facts.exchanges
        if one.operation == "listPets"
        for pet in one.pets
        if pet["id"] == exchange.json.get("id")
    ]
    before = [pet for number, pet in shown if number < exchange.number][-1:]
    after = [pet for number, pet in shown if number > exchange.number][:1]
    names = ("name", "categoryId", "status")
    listed = [{name: pet.get(name) for name in names} for pet in before + after]
    if len(listed) < 2 or listed[0] != listed[1]:
        return Silent("no list showed the same animal before and after, unchanged")
    found = {name: exchange.json.get(name) for name in names}
    return None if found == listed[0] else Breach(f"expected what the lists show, {listed[0]}; it is {found}")


def _absent(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    if exchange.status == 404:
        return None
    if facts.is_removed(exchange):
        return Silent("its removal date has come, by the service's own Date")
    if exchange.status == 200 and exchange.pets and str(exchange.pets[0]["id"]) == exchange.pet_id:
        return Silent("there is an animal with this id")
    return Breach("expected 404: there is no such animal")


def _largest(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    if exchange.status == 200:
        return None  # there may be one
    return _absent(exchange, facts)


def _echoed_unless_refused(name: str, why: str) -> Check:
    """Check whether a field of a created animal is what was sent, if a service may refuse that."""
    echoed = _echoed(name)
    return lambda exchange, facts: Silent(why) if exchange.status == 400 else echoed(exchange, facts)


def _found_at(exchange: Exchange, _facts: Facts) -> Breach | None:
    if exchange.status in {404, 405}:
        return Breach("expected the operation below this base address, which ends in /v1")
    return None


# The table

_LISTS: Final = ("list*",)
_ANY: Final = ("list*", "get-*", "create-*")
_MADE: Final = (
    "create-available",
    "create-pending",
    "create-sold",
    "create-without-status",
    "create-beyond-ascii",
    "create-category-large",
    "create-unknown-field",
    "create-status-null",
    "create-category-1.0",
    "create-name-256",
    "create-category-0",
)  # not create-text-plain: a service that takes it need not read it as JSON (gap media_type)
_GOT: Final = ("get-known", "get-known-after", "get-made*")
_KEYLESS: Final = ("list-no-key", "list-key-in-query")

_accepted: Final = _status(200, ": the value is allowed")
_refused: Final = _status(400, ": the body lacks a required field or has an invalid value")


def _counts(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    text = exchange.one("limit")
    if (
        text is None
        or not 1 <= int(text) <= LARGEST_LIMIT
        or len(exchange.query) > 1 + (exchange.one("status") is not None)
    ):
        return Silent("it has no limit within the bounds")
    return _at_most(exchange, facts)


def _not_refused(exchange: Exchange, _facts: Facts) -> Breach | None:
    return Breach("expected the key to be let in, as it is elsewhere") if exchange.status == 401 else None


def _refused_get(exchange: Exchange, facts: Facts) -> Breach | Silent | None:
    if exchange.status in {404, 410} and facts.is_removed(exchange):
        return Silent("getPet's removal date has come, by the service's own Date")
    return None if exchange.status == 401 else Breach("expected 401")


# What a body breaks, and the probe that sends it.
_REFUSED: Final = (
    ("name-required", "name is required", "create-without-name"),
    ("category-required", "categoryId is required", "create-without-category"),
    ("both-required", "name and categoryId are required", "create-empty-object"),
    ("name-type", "name is a string", "create-name-number"),
    ("name-null", "name is a string, and null is none", "create-name-null"),
    ("category-type", "categoryId is an integer, and text is none", "create-category-text"),
    ("category-fraction", "categoryId is an integer, and 1.5 is none", "create-category-fraction"),
    ("category-null", "categoryId is an integer, and null is none", "create-category-null"),
    ("category-boolean", "categoryId is an integer, and true is none", "create-category-true"),
    ("category-range", "categoryId is an int64, and 2^63 is none", "create-category-beyond-int64"),
    ("status-value", "status is one of available, pending, sold", "create-status-unknown"),
    ("status-case", "status is one of available, pending, sold, and Available is none", "create-status-case"),
    ("status-type", "status is a string", "create-status-number"),
    ("body-object", "Request body: NewPet, and an array is none", "create-array"),
    ("body-json", "Request body is JSON", "create-malformed"),
    ("body-required", "Request body: required", "create-no-body"),
)

CLAUSES: Final = (
    # §1
    Clause("1-http", "The service is an HTTP API", _ANY, _readable),
    Clause("1-json-body", "Response bodies are JSON", _ANY, _json),
    Clause("1-media-type", "Response bodies are application/json", _ANY, _media_type),
    Clause(
        "1-base-address",
        "The base address includes the version path segment /v1",
        ("list", "create-available"),
        _found_at,
    ),
    # §2
    Clause("2-pets-array", "Pets: a JSON array", _LISTS, _array),
    Clause("2-pet-object", "Pets: an array of Pet objects", _ANY, _objects),
    Clause("2-pet-id", "Pet: id, integer, int64, required", _ANY, _field("id", _is_int64, _NUMBER, required=True)),
    Clause("2-pet-name", "Pet: name, string, required", _ANY, _field("name", _is_text, _TEXT, required=True)),
    Clause(
        "2-pet-category",
        "Pet: categoryId, integer, int64, required",
        _ANY,
        _field("categoryId", _is_int64, _NUMBER, required=True),
    ),
    Clause(
        "2-pet-status",
        "Pet: status is one of available, pending, sold",
        _ANY,
        _field("status", _is_status, "one of available, pending, sold", required=False),
    ),
    Clause("2-id-unique", "id: unique identifier", _LISTS, _distinct),
    Clause("2-id-assigned", "id: assigned by the service on creation, unique", _MADE, _new_id),
    Clause("2-error-code", "Error: code, string, required", _ANY, _error("code", _is_text, _TEXT)),
    Clause("2-error-message", "Error: message, string, required", _ANY, _error("message", _is_text, _TEXT)),
    Clause("2-error-status", "Error: status, integer, required", _ANY, _error("status", is_integer, "an integer")),
    Clause("2-name-echoed", "Pet has all fields of NewPet: name", _MADE, _echoed("name")),
    Clause("2-category-echoed", "Pet has all fields of NewPet: categoryId", _MADE, _echoed("categoryId")),
    Clause("2-status-echoed", "Pet has all fields of NewPet: status", _MADE, _echoed("status")),
    Clause(
        "2-category-int64",
        "categoryId: format int64, beyond 2^53 too",
        ("create-category-large",),
        _echoed_unless_refused("categoryId", "the category is refused, and which exist is not shown (§2)"),
    ),
    Clause(
        "2-name-text",
        "name: string, letters beyond ASCII too",
        ("create-beyond-ascii",),
        _echoed_unless_refused("name", "the name is refused, and which characters it may hold is not shown (§2)"),
    ),
    Clause("2-status-optional", "NewPet: status is not required", ("create-without-status",), _created),
    Clause("2-status-available", "PetStatus: available is allowed", ("create-available",), _created),
    Clause("2-status-pending", "PetStatus: pending is allowed", ("create-pending",), _created),
    Clause("2-status-sold", "PetStatus: sold is allowed", ("create-sold",), _created),
    # §4.1
    Clause("4.1-list", "GET /pets answers 200: body is Pets", ("list", "list-default-after"), _status(200)),
    Clause("4.1-limit-minimum", "limit: minimum 1", ("list-limit-1", "list-limit-1-after"), _accepted),
    Clause("4.1-limit-maximum", "limit: maximum 100", ("list-100", "list-after", "list-last"), _accepted),
    Clause(
        "4.1-limit-within",
        "limit: from 1 to 100",
        ("list-limit-4*", "list-limit-20", "list-available-limit-1"),
        _accepted,
    ),
    Clause("4.1-limit-counts", "limit: maximum number of animals to return", ("list-*",), _counts),
    Clause(
        "4.1-limit-default",
        "limit: default 20",
        ("list", "list-available", "list-pending", "list-sold", "list-default-after"),
        _at_most,
    ),
    Clause("4.1-status-available", "status=available is allowed", ("list-available*",), _accepted),
    Clause("4.1-status-pending", "status=pending is allowed", ("list-pending*",), _accepted),
    Clause("4.1-status-sold", "status=sold is allowed", ("list-sold*",), _accepted),
    Clause(
        "4.1-status-filter",
        "status: returns only animals with this status",
        ("list-available*", "list-pending*", "list-sold*"),
        _only,
    ),
    Clause(
        "4.1-status-finds",
        "status: returns animals with this status",
        ("list-available*", "list-pending*", "list-sold*"),
        _finds,
    ),
    Clause(
        "4.1-list-finds",
        "Body is Pets, the array of Pet objects",
        ("list", "list-100", "list-limit-1", "list-limit-4*", "list-default-after", "list-after*", "list-last"),
        _finds,
    ),
    # §4.2
    Clause(
        "4.2-created",
        "POST /pets answers 201",
        ("create-available", "create-pending", "create-sold", "create-without-status"),
        _created,
    ),
    Clause("4.2-kept", "201: body is the created Pet, which is in the catalogue from then on", ("get-made*",), _kept),
    *(Clause(f"4.2-{name}", f"{words}; else 400", (probe,), _refused) for name, words, probe in _REFUSED),
    Clause(
        "4.2-refused-not-kept",
        "400, 401: what is refused is not added",
        ("list*after*", "list-last"),
        _refused_left_nothing,
    ),
    # §4.3
    Clause("4.3-get", "GET /pets/{petId} answers 200: body is the Pet", ("get-known", "get-known-after"), _got),
    Clause("4.3-asked-for", "petId: the identifier of the animal", _GOT, _asked_for),
    Clause(
        "4.3-same-animal", "The Pet is the one that the list shows", ("get-known", "get-known-after"), _same_as_listed
    ),
    Clause("4.3-absent", "404: the requested resource could not be found", ("get-absent",), _absent),
    Clause("4.3-int64", "petId: integer, format int64", ("get-largest",), _largest),
    # §5
    Clause(
        "5-key",
        "The API key is sent as Authorization: Bearer <API_KEY>",
        ("list", "get-absent", "create-available"),
        _not_refused,
    ),
    Clause("5-missing-key", "Key missing: 401, on listPets", _KEYLESS, _status(401)),
    Clause("5-unknown-key", "Key invalid: 401, on listPets", ("list-unknown-key",), _status(401)),
    Clause("5-missing-key-get", "Key missing: 401, on getPet", ("get-no-key",), _refused_get),
    Clause(
        "5-unknown-key-get", "Key invalid: 401, on getPet", ("get-unknown-key", "get-absent-unknown-key"), _refused_get
    ),
    Clause("5-missing-key-create", "Key missing: 401, on createPet", ("create-no-key",), _status(401)),
    Clause("5-unknown-key-create", "Key invalid: 401, on createPet", ("create-unknown-key",), _status(401)),
    Clause(
        "5-scheme",
        "Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>",
        ("list-key-without-scheme", "list-key-other-scheme", "list-empty-key"),
        _status(401),
    ),
    # §7
    Clause("7-status", "The status field of the Error body carries the HTTP status", _ANY, _status_carried),
    Clause("7-401-error", "401: Error body, as application/json", ("*-no-key", "*-unknown-key"), _error_of(401)),
    Clause("7-404-error", "404: Error body, as application/json", ("get-absent", "get-largest"), _error_of(404)),
    Clause("7-400-error", "400: Error body, as application/json", ("create-*",), _error_of(400)),
)
