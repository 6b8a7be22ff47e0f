"""The exchanges of a run, and the animals that they showed over time."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cached_property
from itertools import groupby, permutations
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from petstore_mock.common.dates import seconds_of
from petstore_mock.common.guards import is_array, is_object, items_of
from petstore_mock.common.masking import cut
from petstore_mock.common.values import is_integer, without_none
from petstore_mock.interface.kinds import kind_of, parts
from petstore_mock.interface.schemas import are_right, is_valid, parameters, properties
from petstore_mock.interface.table import ANIMAL, LABEL, known_part
from petstore_mock.verify.probes import REQUIRED, limits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.kinds import Schema
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.transport.client import FailedError
    from petstore_mock.verify.probes import Probe

    Pet = JsonObject
    # The members of a JSON object, or values of parameters by name.
    Members = Mapping[str, Json]

_START: Final = re.compile(rb"[\[{]")  # of JSON that is an array or an object
_PRINTED: Final = re.compile(rb"(?s).*[!-~]")  # bytes up to the last letter in ASCII
_MOST_PREFIX: Final = 2_000  # bytes; a longer text before the JSON is a page of its own
_SHOWN: Final = 300  # characters of a body in a report
# The longest page of the contract has 100 animals. Of a longer list, a run keeps so many odd and so many other animals.
_MOST_OF_A_KIND: Final = 100

# How often a request has to fail in a row. Fewer failures may be an outage.
TRIES: Final = 3
# Responses to a request line behind the rest of a body.
_GARBLED: Final = frozenset({400, 405, 501})
_LONGEST_NUMBER: Final = 100
NO_JSON: Final = object()


def _number(text: str) -> float:
    """Return a number. 1.0 is the integer 1, as JSON Schema says (Validation 2020-12 §6.1.1)."""
    number = float(text)
    if number.is_integer() and len(text) < _LONGEST_NUMBER:
        return int(Decimal(text))
    return number


def _json(body: bytes, number: Callable[[str], float] = _number) -> Json:
    """Return the JSON value of a body, or NO_JSON."""
    try:
        # int() raises for NaN, which is no JSON.
        return json.loads(body.decode("utf-8"), parse_constant=int, parse_float=number)
    except (ValueError, RecursionError):
        return NO_JSON


def _read(body: bytes) -> tuple[bytes, Json]:
    """Return what stands before the JSON of a body, and the JSON value, or NO_JSON.

    A byte order mark, a guard against inclusion, or a warning may stand before it.
    """
    document = _json(body)
    start = _START.search(body, 0, _MOST_PREFIX)
    if document is not NO_JSON or start is None:
        return b"", document
    document = _json(body[start.start() :])
    return b"" if document is NO_JSON else body[: start.start()], document


def _beyond_utf8(body: bytes) -> str:
    """Return the first bytes that are no UTF-8, or an empty text. Letters before them may be a part of a key."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        near = body[max(error.start - 10, 0) : error.end]
        return _PRINTED.sub(b"", near).decode("utf-8", "backslashreplace")
    return ""


def _broken_at(body: bytes) -> str:
    """Return the place of the first error in JSON; empty if the body begins with it, or is too deep."""
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        if error.pos:
            return f"{error.doc[error.pos :][:1]!r} (character {error.pos + 1})"
    except (ValueError, RecursionError):
        pass
    return ""


def _members(body: bytes) -> Members:
    """Return the members of a JSON object; empty for another body."""
    # 1.0 is no integer here: whether a service reads it as one is a gap.
    value = _json(body, float)
    return value if is_object(value) else {}


class Wanted(NamedTuple):
    """A filter of a request, with its value."""

    parameter: Parameter
    value: Json

    def selects(self, pet: Members) -> bool:
        """Whether the filter selects an animal. One fitting element of an array is enough."""
        field = self.parameter.filters_by
        relation = self.parameter.says
        found = pet.get(field)
        if found is None:
            return False
        if not relation.is_ordered:
            # In Python, true equals 1.
            is_flag = isinstance(self.value, bool)
            alike = [item for item in items_of(found) if isinstance(item, bool) is is_flag]
            return any(relation.holds(item, self.value) for item in alike)
        order = kind_of(properties(ANIMAL)[field]).order
        try:
            return relation.holds(order(found), order(self.value))
        except TypeError:  # the service returned another type, which breaks the clause of the field
            return False


def read_values(operation: Operation, given: Mapping[str, str]) -> JsonObject:
    """Return the values of the parameters that have a text in ``given``, by name."""
    rules = parameters(operation)
    return {name: kind_of(rules[name]).read(text) for name, text in given.items() if name in rules}


def limit_of(operation: Operation, values: Members) -> int | None:
    """Return the limit of a list, or its default; None if it has no limit, or another text."""
    if operation.limit is None:
        return None
    limit = values.get(operation.limit.name, limits_of(operation)[2])
    return limit if is_integer(limit) else None


def wanted(operation: Operation, values: Members) -> list[Wanted]:
    """Return the filters of a request with these values."""
    return [Wanted(parameter, values[parameter.name]) for parameter in operation.filters if parameter.name in values]


def matches(pet: Members, filters: Iterable[Wanted]) -> bool:
    """Whether a list with these filters holds the animal."""
    return all(one.selects(pet) for one in filters)


def is_same_value(name: str, value: object, other: object) -> bool:
    """Whether two values of a field mean the same: a moment has many texts."""
    return _is_same(properties(ANIMAL)[name], value, other)


def _is_same(rules: Schema, value: object, other: object) -> bool:
    if value == other:
        return True
    if is_object(value) and is_object(other):
        return all(_is_same(part, value.get(name), other.get(name)) for name, part in parts(rules))
    order = kind_of(rules).order
    try:
        return bool(order(value) == order(other))
    except TypeError:  # the kind has no order, or one of the two has another type
        return False


def is_pet(value: object) -> TypeGuard[Pet]:
    """Whether a value is a valid animal. Unknown fields are allowed."""
    return is_object(value) and is_valid(ANIMAL)(known_part(value))


class Seen:
    """The exchange of one probe. ``made`` are the ids of the animals that the run created before it."""

    def __init__(self, exchange: Exchange, probe: Probe, failure: FailedError | None, made: Collection[int]) -> None:
        self.exchange = exchange
        self.probe = probe
        # Why no whole response arrived.
        self.failure = failure
        # Whether the service responded to other requests right after this failure.
        self.confirmed = False
        # Whether it repeats a request whose response was lost.
        self.is_repeat = False
        # The status of the same request on a new connection, if that differs; else 0.
        self.status_anew = 0
        self.number = exchange.number
        self.operation = probe.operation
        self.line = probe.line
        # The request without the values of the service's animals.
        self.template = probe.template
        # 0 without a readable head.
        self.status = exchange.status or 0
        # The first digit of the status, and the body. An incomplete response has neither.
        digit = 0
        body = b""
        if failure is None:
            digit = self.status // 100
            body = exchange.response_body
        self.is_refusal = digit == 4
        self.has_failed = not 1 <= digit < 5
        # What stands before the JSON of the body, and the JSON value, or NO_JSON.
        self.prefix, self.document = _read(body)
        self.beyond_utf8 = _beyond_utf8(body)
        # The end of a long body is lost later.
        self.broken_at = "" if self.document is not NO_JSON else _broken_at(body)
        # Some services respond to wrong requests with a success whose body is an error.
        self.is_disguised = digit == 2 and not probe.is_valid and _is_error(self.document)
        self.is_success = digit == 2 and not self.is_disguised
        self.sent = _members(exchange.body)
        # The parameters of the request beside those in its path, by name.
        self.chosen = {**exchange.query, **dict(probe.fields)}
        # Accept is no parameter. A service that refuses the request because of it breaks the clause of the success.
        self.chosen.pop("Accept", None)
        self._given = {**self.operation.path_values(probe.target), **self.chosen}
        self._values = read_values(self.operation, self._given)
        self.filters = wanted(self.operation, self._values)
        self.items = self._items()
        # The number of animals in the response, also of those that the sample leaves out.
        self.count = len(self.items or ())
        if self.count > 2 * _MOST_OF_A_KIND:
            self.items = self.document = _sample(self.document, self.filters, made)
        # A service may send 8 MiB with each response.
        exchange.trim()

    @cached_property
    def sets(self) -> Pet:
        """The fields that a success gives the animal, without null: the interface leaves its effect open."""
        return without_none(self.named_fields)

    @cached_property
    def named_fields(self) -> Pet:
        """Every field that the request sets, in its body or by a parameter, null and defaults included."""
        rules = parameters(self.operation)
        defaults = {name: rules[name]["default"] for name in rules if "default" in rules[name]}
        return self.operation.fields_in(self.sent, defaults | self._values)

    @cached_property
    def pets(self) -> list[Pet]:
        """The animals in the response that have an id."""
        return [dict(pet) for pet in self.objects if is_integer(pet.get("id"))]

    @property
    def own_pets(self) -> list[Pet]:
        """The animals in the response that the request may be about. A service may show another one by mistake."""
        return [pet for pet in self.pets if self.may_be_about(pet["id"])]

    def _items(self) -> list[Json] | None:
        """Return the animals of a success, unchecked. None if none are expected, or the JSON is missing or wrong."""
        if not self.is_readable or self.operation.response is None:
            return None
        if self.operation.shows_many:
            return list(self.document) if is_array(self.document) else None
        if self.shows_none:
            return None
        return [self.document]

    @property
    def shows_none(self) -> bool:
        """Whether a success shows no animal: one that should be absent, or that of a wrong change."""
        does = self.operation.does
        if does.adds:
            return False
        if self.probe.is_open:
            return bool(self.probe.gap) or does.shows_stored
        return self.probe.expected.status != 0

    @property
    def pet_id(self) -> str:
        """The text that identifies the animal of the request; empty if the path has none."""
        identifier = self.operation.identifier
        return "" if identifier is None else self.text(identifier)

    @property
    def is_of_other_type(self) -> bool:
        """Whether the key is right, and the media type of the body is another than that of the interface."""
        return self.probe.has_key and self.probe.media_type.partition(";")[0] != "application/json"

    @property
    def shows_another(self) -> bool:
        """Whether a success shows an animal with another id than the request."""
        if not self.pet_id or not self.operation.shows_one:
            return False
        if not self.is_success or not is_object(self.document):
            return False
        return str(self.document.get("id", self.pet_id)) != self.pet_id

    @property
    def target_id(self) -> int | None:
        """The id of the animal that a success created, changed, removed or read; None for a failure."""
        if not self.is_success:
            return None
        if not self.operation.does.adds:
            return self.is_about
        return next(iter(self.ids), None)

    @property
    def is_about(self) -> int | None:
        """The id of the animal that the request is about, or None."""
        if self.pet_id.isdecimal():
            return int(self.pet_id)
        return None

    def may_be_about(self, pet_id: int) -> bool:
        """Whether the request names this animal, or none."""
        return self.is_about in {None, pet_id}

    def text(self, parameter: Parameter) -> str:
        """Return the text of a parameter in the request; empty if the request has none."""
        return self._given.get(parameter.name, "")

    @property
    def has_right_texts(self) -> bool:
        """Whether each parameter of the request has a value that its schema allows."""
        return are_right(self.operation, self._given)

    @property
    def limit(self) -> int | None:
        """The limit of a list: the default if the request has none, and None if it has several or another text."""
        parameter = self.operation.limit
        if parameter is not None and self.probe.target.count(f"{parameter.name}=") > 1:
            return None
        return limit_of(self.operation, self._values)

    @property
    def is_filtered(self) -> bool:
        """Whether each animal in the response matches the filters of the request."""
        return all(matches(pet, self.filters) for pet in self.pets)

    @cached_property
    def objects(self) -> list[Members]:
        """The elements of the response that have at least one field of an animal."""
        names = properties(ANIMAL).keys()
        objects = filter(is_object, self.items or ())
        return [item for item in objects if not names.isdisjoint(item)]

    @property
    def ids(self) -> list[int]:
        """The ids of these animals."""
        return [pet["id"] for pet in self.pets]

    @property
    def is_distinct(self) -> bool:
        """Whether all elements are animals with different ids."""
        return len({*self.ids}) == len(self.items or ())

    @property
    def is_json(self) -> bool:
        return self.document is not NO_JSON

    @property
    def is_readable(self) -> bool:
        """Whether a request with the key succeeded with JSON."""
        return self.is_success and self.is_json and self.probe.has_key

    @property
    def is_silent(self) -> bool:
        return self.failure is not None and self.failure.kind == "silence"

    def header(self, name: str) -> str:
        return self.exchange.response_headers.get(name.lower(), "")

    def pet(self, pet_id: int | None) -> Pet | None:
        """Return the animal with an id in the response, or None."""
        for pet in self.pets:
            if pet["id"] == pet_id:
                return pet
        return None

    def with_label(self, *labels: str) -> list[int]:
        """Return the ids of the animals in the response that have one of the labels."""
        return [pet["id"] for pet in self.pets if pet.get(LABEL) in labels]

    @property
    def label(self) -> str:
        """The label that the request gives an animal; empty if it gives none."""
        label = self.sent.get(LABEL)
        if isinstance(label, str):
            return label
        return ""

    def shows_change(self, change: Seen, pet_id: int) -> bool:
        """Whether the response shows what a change left, or is about another animal."""
        if not self.may_be_about(pet_id):
            return True
        pet = self.pet(pet_id)
        if change.operation.does.ends:
            is_there = pet is not None
            if self.operation.shows_one:
                is_there = self.is_success
            return not is_there
        if pet is None or change.operation.does.adds:
            return pet is not None
        return has_sent(pet, change)

    @property
    def may_be_of_connection(self) -> bool:
        """Whether an earlier request on the connection may be the reason for the response: its key, or its body."""
        # Each change has a new connection.
        if self.operation.commits:
            return False
        is_garbled = self.status in _GARBLED and not self.probe.is_open
        is_let_in = self.is_success and self.probe.expected.status == 401
        return is_garbled or is_let_in

    @property
    def responds(self) -> bool:
        """Whether a response arrived, at least its head, and it is no 5xx of a service that is down."""
        is_down = self.failure is None and self.status >= 500
        return self.status > 0 and not is_down

    @cached_property
    def is_removed(self) -> bool:
        """Whether the response is later than the operation's removal date, by the service's own Date (§4.3)."""
        removed = self.operation.removed_at
        date = seconds_of(self.header("Date"))
        if removed is None or date is None:
            return False
        return date >= removed.timestamp()

    @property
    def came(self) -> str:
        """The response or failure in one line."""
        if self.failure is not None:
            return f"{self.status or ''} {self.failure}".strip()
        if not self.status:
            return "nothing"
        words = [str(self.status)]
        location = self.header("Location")
        if location and 300 <= self.status < 400:
            words.append(f"Location: {location}")
        body = self.exchange.response_body.decode("utf-8", "backslashreplace").replace("\n", " ")
        words.append(cut(body, _SHOWN))
        return " ".join(words).rstrip()


def _is_error(document: object) -> bool:
    """Whether an object is no animal, and has none as a member."""
    if not is_object(document) or not REQUIRED.isdisjoint(document):
        return False
    return not any(map(REQUIRED.issubset, filter(is_object, document.values())))


def has_sent(pet: Pet, change: Seen) -> bool:
    """Whether an animal has every field of the request that changed it."""
    return all(is_same_value(name, pet.get(name), value) for name, value in change.sets.items())


def length(pet: Members) -> int:
    """Return the length of an animal as JSON. Values that services change by mistake are long, escapes included."""
    return len(json.dumps(pet))


def _sample(items: list[Json], filters: Sequence[Wanted], made: Collection[int]) -> list[Json]:
    """Return the odd elements of a long list and the first others, in the order of the list, and all of ``made``.

    An element is odd if a check may refuse it. The work after a response must not grow with animals times requests: a
    service may ignore ``limit``.
    """
    is_right = is_valid(ANIMAL)
    # An invalid element has None instead of an id.
    ids: set[int | None] = {None}
    kept: list[Json] = []
    counts: Counter[bool] = Counter()
    for item in items:
        pet_id = item["id"] if is_right(item) else None
        is_odd = pet_id in ids or not matches(item, filters)
        ids.add(pet_id)
        counts[is_odd] += 1
        if pet_id in made or counts[is_odd] <= _MOST_OF_A_KIND:
            kept.append(item)
    return kept


def accepts_plain(exchanges: Iterable[Seen]) -> bool:
    """Whether the service accepted a plain animal, or no probe sent one."""
    was_sent = False
    for seen in exchanges:
        if seen.operation.does.adds and seen.probe.is_valid:
            was_sent = True
            if seen.is_success:
                return True
    return not was_sent


class View(NamedTuple):
    """An animal as one response showed it."""

    number: int
    pet: Pet
    is_listed: bool


class History:
    """The animals that the exchanges showed, and when.

    Other clients may use the service. An animal surely existed at a request if responses before and after show it. A
    change by this run divides the views of an animal: only views between two changes are compared.
    """

    def __init__(self, exchanges: Sequence[Seen]) -> None:
        self.exchanges = exchanges
        # The exchanges with a success or a refusal.
        self.answered: list[Seen] = []
        # The successful creates, and the successful changes of stored animals that a service may accept.
        self.created: list[Seen] = []
        self.changed: list[Seen] = []
        self.lists: list[Seen] = []
        # The exchanges of each operation, by name.
        self._of: dict[str, list[Seen]] = defaultdict(list)
        # The animals in responses, by id. Responses to creates are left out.
        self.views: dict[int, list[View]] = defaultdict(list)
        # The animals that a list showed.
        self.listed: set[int] = set()
        # The ids that a create returned for a second animal.
        self.shared: set[int | None] = set()
        # The numbers of the exchanges that may have changed or removed an animal, by id.
        self._changes: dict[int, list[int]] = defaultdict(list)
        # The number of the first exchange that showed an animal, by id.
        self._first: dict[int, int] = {}
        self._standing: dict[int, set[int]] = {}
        for seen in exchanges:
            self._add(seen)

    def _add(self, seen: Seen) -> None:
        self._of[seen.operation.name].append(seen)
        if seen.is_success or seen.is_refusal:
            self.answered.append(seen)
        if seen.operation.shows_many:
            self.lists.append(seen)
            self.listed.update(seen.ids)
        if seen.operation.commits:
            self._add_change(seen)
        # The clause about the identifier judges a wrong animal; it says nothing about the other animal.
        for pet in seen.own_pets:
            self._first.setdefault(pet["id"], seen.number)
            if not seen.operation.does.adds:
                self.views[pet["id"]].append(View(seen.number, pet, seen.operation.shows_many))

    def _add_change(self, seen: Seen) -> None:
        is_done = seen.target_id is not None
        if seen.operation.does.adds:
            if is_done:
                self.created.append(seen)
            if seen.target_id in self._first:
                self.shared.add(seen.target_id)
            return
        if seen.is_about is not None and not seen.is_refusal:
            self._changes[seen.is_about].append(seen.number)
        if is_done and not seen.probe.expected.status:
            self.changed.append(seen)

    @cached_property
    def ignores_queries(self) -> bool:
        """Whether the service, or a cache, ignores the query or a part of it: limits and filters change no list."""
        ignored: set[str] = set()
        lists = [seen for seen in self.lists if seen.probe.is_valid]
        for seen, other in permutations(lists, 2):
            if seen.pets == other.pets:
                if seen.limit != other.limit and seen.count > (seen.limit or inf):
                    ignored.add("limit")
                if seen.filters != other.filters and not seen.is_filtered:
                    ignored.add("filter")
        return len(ignored) > 1

    def of(self, operation: Operation) -> list[Seen]:
        """Return the exchanges of an operation."""
        return self._of[operation.name]

    @cached_property
    def accepts_plain(self) -> bool:
        """Whether the service accepted a plain animal, or no probe sent one."""
        return accepts_plain(self.exchanges)

    @cached_property
    def wrongly_made(self) -> dict[str, str]:
        """The clauses of accepted wrong bodies, by the ids of the animals with these bodies."""
        return {str(one.target_id): one.probe.shows for one in self.created if one.probe.expected.status}

    @cached_property
    def is_utf8(self) -> bool:
        """Whether every body is UTF-8. Otherwise texts differ for this reason."""
        return not any(seen.beyond_utf8 for seen in self.exchanges)

    def unserved(self, operation: Operation) -> set[int]:
        """Return the statuses of an operation's valid requests, or an empty set if one of them succeeded with JSON."""
        statuses: set[int] = set()
        for seen in self.of(operation):
            if not seen.probe.is_valid:
                continue
            is_whole = seen.is_json or operation.response is None
            if seen.is_success and is_whole:
                return set()
            statuses.add(seen.status)
        return statuses - {0}

    def fails_again(self, seen: Seen) -> bool:
        """Whether a failure is no accident: several tries of the request failed in a row, or several requests hung."""
        of_operation = self.of(seen.operation)
        if seen.is_silent:
            return sum(other.is_silent for other in of_operation) > 1
        alike = [other for other in of_operation if other.template == seen.template]
        for _, in_a_row in groupby(alike, attrgetter("has_failed")):
            tries = [*in_a_row]
            if seen in tries:
                return len(tries) >= TRIES
        return False

    def is_known(self, pet_id: int, number: int) -> bool:
        """Whether an earlier response showed or created the animal."""
        return self._first.get(pet_id, number) < number

    def returns_former(self, seen: Seen) -> bool:
        """Whether a create returns the id of another animal."""
        return seen.operation.does.adds and seen.target_id in self.shared

    def around(self, pet_id: int, number: int, *, lists: bool = False) -> tuple[list[Pet], list[Pet]]:
        """Return an animal as responses before and after a request show it, between the same changes of this run.

        With ``lists``, only lists count.
        """
        begin, end = self._span(pet_id, number)
        before: list[Pet] = []
        after: list[Pet] = []
        for view in self.views.get(pet_id, ()):
            if lists and not view.is_listed:
                continue
            if begin <= view.number < number:
                before.append(view.pet)
            elif number < view.number < end:
                after.append(view.pet)
        return before, after

    def _span(self, pet_id: int, number: int) -> tuple[int, float]:
        """Return the numbers of the last change of an animal before a request, and of the next one after it."""
        begin = 0
        for change in self._changes.get(pet_id, ()):
            if change > number:
                return begin, change
            if change < number:
                begin = change
        return begin, inf

    def last(self, operation: Operation, number: int) -> Seen | None:
        """Return the last success of an operation before a request that created, changed or removed an animal."""
        for seen in reversed([*self.created, *self.changed]):
            if seen.operation is operation and seen.number < number:
                return seen
        return None

    @cached_property
    def has_short_pages(self) -> bool:
        return any(map(self.is_short, self.lists))

    def is_short(self, seen: Seen) -> bool:
        """Whether a page is shorter than its limit, although more animals match (gap page_fill)."""
        if seen.limit is None or not seen.probe.is_valid:
            return False
        return 0 < seen.count < min(seen.limit, len(self.standing(seen) - self._late(seen)))

    def _late(self, seen: Seen) -> set[int]:
        """Return the created animals that may not be in a list yet (gap visibility), or that its filter may lose."""
        created = {create.ids[0] for create in self.created}
        if seen.filters or not created <= self.listed:
            return created
        return {pet_id for pet_id in created if not self.around(pet_id, seen.number, lists=True)[0]}

    def former(self, pet_id: int, number: int, *, lists: bool = False) -> Pet | None:
        """Return an animal as it was before a request, as far as this run knows. With ``lists``, only lists count."""
        before, _ = self.around(pet_id, number, lists=lists)
        if before:
            return before[-1]
        last_change, _ = self._span(pet_id, number)
        if last_change:
            return None
        for create in reversed(self.created):
            if create.target_id == pet_id and create.number < number:
                return create.pets[0]
        return None

    @cached_property
    def is_late(self) -> bool:
        """Whether a created animal appeared later than in the next response (gap visibility)."""
        for create in self.created:
            views = self.views.get(create.ids[0])
            if views and views[0].number > create.number + 1:
                return True
        return False

    def was_last_there(self, pet_id: int, number: int) -> bool:
        """Whether the last response about an animal before a request showed it."""
        is_there = False
        for seen in self.exchanges[: number - 1]:
            if not seen.may_be_about(pet_id):
                continue
            is_removed = seen.is_success and seen.operation.does.ends
            is_gone = is_removed or seen.status == 404
            if seen.pet(pet_id) is not None:
                is_there = True
            elif is_gone and seen.is_about == pet_id:
                is_there = False
        return is_there

    def refused(self, operation: Operation, number: int) -> list[Seen]:
        """Return the requests of an operation before a request that the service refused."""
        refused = [seen for seen in self.of(operation) if seen.status in {400, 401}]
        return [seen for seen in refused if seen.number < number and not seen.probe.is_last_resort]

    def should_show(self, seen: Seen, pet_id: int) -> bool:
        """Whether a list without a limit should show an animal: earlier responses did, and its filters select it."""
        before, _ = self.around(pet_id, seen.number)
        return bool(before) and matches(before[-1], seen.filters)

    def standing(self, seen: Seen) -> set[int]:
        """Return the ids of animals that match the filters of a list, in that list or both before and after it."""
        if seen.number not in self._standing:
            standing: set[int] = {pet["id"] for pet in seen.pets if matches(pet, seen.filters)}
            for pet_id in self.views:
                before, after = self.around(pet_id, seen.number)
                nearest = [*before[-1:], *after[:1]]
                if len(nearest) == 2 and all(matches(pet, seen.filters) for pet in nearest):
                    standing.add(pet_id)
            self._standing[seen.number] = standing
        return self._standing[seen.number]
