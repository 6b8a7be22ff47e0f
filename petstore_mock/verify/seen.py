"""The exchanges of a run, and the animals that they showed over time."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.dates import seconds_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut
from petstore_mock.common.values import is_integer
from petstore_mock.interface.schemas import is_valid
from petstore_mock.verify.probes import limits_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.transport.client import FailedError
    from petstore_mock.verify.probes import Probe

    Pet = dict[str, Any]

_SHOWN: Final = 300  # characters of a body in a report
# The longest page of the contract has 100 animals. Of a longer list, a run keeps so many odd and so many other animals.
_MOST_OF_A_KIND: Final = 100


NO_JSON: Final = object()


def _json(body: bytes) -> Any:  # noqa: ANN401  # a JSON value, or NO_JSON
    try:
        return json.loads(body.decode("utf-8"), parse_constant=int)  # raises for NaN, which is no JSON
    except (ValueError, RecursionError):
        return NO_JSON


class Seen:
    """The exchange of one probe. ``made`` are the ids of the animals that the run created before it."""

    def __init__(
        self, exchange: Exchange, probe: Probe, failure: FailedError | None, made: Collection[int] = ()
    ) -> None:
        self.exchange = exchange
        self.probe = probe
        self.failure = failure  # why no whole response arrived
        # Whether the service responded to other requests right after this failure.
        self.confirmed = False
        self.number, self.operation, self.effect = exchange.number, probe.operation, probe.operation.effect
        self.line = f"{exchange.method} {probe.target}"
        self.status = exchange.status or 0  # 0 without a readable head
        self.is_success = 200 <= self.status < 300 and failure is None
        self.is_refusal = 400 <= self.status < 500 and failure is None
        self.is_silent = failure is not None and failure.kind == "silence"
        self.has_failed = self.status >= 500 or failure is not None
        # The body as a JSON value, or NO_JSON.
        self.document: Any = _json(exchange.response_body if failure is None else b"")
        self.pet_id = exchange.path.rpartition("/")[2]
        sent = _json(exchange.body)
        self.sent: Mapping[str, Any] = sent if is_object(sent) else {}
        # The values of the request's filters, by field.
        given = exchange.query
        names = {one.name: one.filters_by for one in self.operation.filters}
        self.filters = {field: given[name] for name, field in names.items() if name in given}
        self.items = self._items()
        # The number of animals in the response, also of those that the sample leaves out.
        self.count = len(self.items or ())
        if self.items is not None and self.count > 2 * _MOST_OF_A_KIND:
            self.items = self.document = _sample(self.items, self.filters, made)
        self.pets = [dict(pet) for pet in self.items or () if is_object(pet) and is_integer(pet.get("id"))]
        # A service may send 8 MiB with each response.
        exchange.trim()
        # The limit of a list. It is the default if the request has none, and None if the request has several.
        is_list = self.effect == "lists" and probe.target.count("limit=") < 2
        self.limit = int(given.get("limit", limits_of(self.operation)[2])) if is_list else None

    def _items(self) -> list[Any] | None:
        """Return the animals of a success, unchecked. None if none are expected, or the JSON is missing or wrong."""
        is_absent = self.effect == "reads" and not self.probe.is_valid
        if is_absent or not self.probe.has_key or not self.is_success or self.document is NO_JSON:
            return None
        found = self.document if self.operation.response == "Pets" else [self.document]
        return list(found) if self.operation.response and is_array(found) else None

    def header(self, name: str) -> str:
        return self.exchange.response_headers.get(name.lower(), "")

    def shows(self, pet_id: int) -> bool:
        return any(pet["id"] == pet_id for pet in self.pets)

    @property
    def responds(self) -> bool:
        """Whether a response arrived, at least its head, and it is no 5xx of a service that is down."""
        is_down = self.failure is None and self.status >= 500
        return self.status > 0 and not is_down

    @property
    def is_removed(self) -> bool:
        """Whether the response is later than the operation's removal date, by the service's own Date (§4.3)."""
        removed, date = self.operation.removed_at, seconds_of(self.header("Date"))
        return removed is not None and date is not None and date >= removed.timestamp()

    @property
    def came(self) -> str:
        """The response or failure in one line."""
        if self.failure is not None or not self.status:
            return f"{self.status or ''} {self.failure or 'nothing'}".strip()
        where = f" Location: {self.header('Location')}" if 300 <= self.status < 400 else ""
        body = self.exchange.response_body.decode("utf-8", "backslashreplace").replace("\n", " ")
        return f"{self.status}{where} {cut(body, _SHOWN)}".rstrip()


def matches(pet: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    """Whether a list with these filters holds the animal. One matching element of an array is enough."""
    found = {field: pet.get(field) for field in filters}
    return all(value in (one if is_array(one := found[field]) else [one]) for field, value in filters.items())


def oddness(pet: Mapping[str, Any]) -> tuple[bool, bool, int]:
    """Return a sort key, which is higher for an animal whose values some services change by mistake."""
    name = str(pet.get("name"))
    return not name.isascii(), any(is_integer(value) and abs(value) > 2**53 for value in pet.values()), len(name)


def _sample(items: list[Any], filters: Mapping[str, str], made: Collection[int]) -> list[Any]:
    """Return the odd elements of a long list and the first others, in the order of the list, and all of ``made``.

    An element is odd if a check may refuse it, or if services change its values by mistake. The work after a response
    must not grow with animals times requests: a service may ignore ``limit``.
    """
    is_right = is_valid("Pet")
    ids: set[int] = set()
    kept: list[Any] = []
    counts = {True: 0, False: 0}
    for item in items:
        is_made = False
        is_odd = not is_right(item)
        if not is_odd:
            is_made = item["id"] in made
            is_changed_often = any(oddness(item)[:2])
            is_odd = is_changed_often or item["id"] in ids or not matches(item, filters)
            ids.add(item["id"])
        counts[is_odd] += 1
        if is_made or counts[is_odd] <= _MOST_OF_A_KIND:
            kept.append(item)
    return kept


class History:
    """The animals that the exchanges showed, and when.

    Other clients may use the service. An animal surely existed at a request if responses before and after show it.
    """

    def __init__(self, exchanges: Sequence[Seen]) -> None:
        self.exchanges = exchanges
        self.created = [seen for seen in exchanges if seen.effect == "creates" and seen.pets]
        self.listed = [pet for seen in exchanges if seen.effect == "lists" for pet in seen.pets]
        # The animals in responses, by id. Responses to creates are left out.
        self.views: dict[int, list[tuple[Seen, Pet]]] = defaultdict(list)
        # The number of the first exchange that showed an animal, by id.
        self._first: dict[int, int] = {}
        for seen in exchanges:
            for pet in seen.pets:
                self._first.setdefault(pet["id"], seen.number)
                if seen.effect != "creates":
                    self.views[pet["id"]].append((seen, pet))

    @property
    def accepts_plain(self) -> bool:
        """Whether the service accepted a plain animal, or no probe sent one."""
        plain = [seen for seen in self.exchanges if seen.effect == "creates" and seen.probe.is_valid]
        return not plain or any(seen.is_success for seen in plain)

    def unserved(self, operation: Operation) -> set[int]:
        """Return the statuses of an operation's valid requests, or an empty set if one of them succeeded with JSON."""
        valid = [seen for seen in self.exchanges if seen.operation is operation and seen.probe.is_valid and seen.status]
        is_served = any(seen.is_success and seen.document is not NO_JSON for seen in valid)
        return set() if is_served else {seen.status for seen in valid}

    def fails_again(self, seen: Seen) -> bool:
        """Whether another request of the same operation failed as well."""
        return any(one.has_failed and one.operation is seen.operation and one is not seen for one in self.exchanges)

    def is_known(self, pet_id: int, number: int) -> bool:
        """Whether an earlier response showed or created the animal."""
        return self._first.get(pet_id, number) < number

    def around(self, pet_id: int, number: int, *, lists: bool = False) -> tuple[list[Pet], list[Pet]]:
        """Return an animal as responses before and after a request show it. With ``lists``, only lists count."""
        views = [(one.number, pet) for one, pet in self.views.get(pet_id, ()) if one.effect == "lists" or not lists]
        return [pet for at, pet in views if at < number], [pet for at, pet in views if at > number]

    def standing(self, seen: Seen) -> set[int]:
        """Return the ids of animals that match the filters of a list, in that list or both before and after it."""
        found: set[int] = {pet["id"] for pet in seen.pets if matches(pet, seen.filters)}
        for pet_id in self.views:
            before, after = self.around(pet_id, seen.number)
            if before and after and matches(before[-1], seen.filters) and matches(after[0], seen.filters):
                found.add(pet_id)
        return found
