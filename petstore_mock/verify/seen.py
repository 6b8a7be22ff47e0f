"""What a run or a recording shows: each exchange, and which animals there were when."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qsl

from petstore_mock.common.dates import seconds_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, printable
from petstore_mock.common.values import is_integer
from petstore_mock.interface.table import ROUTES
from petstore_mock.verify.probes import limit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.reader import FailedError

_SHOWN: Final = 300  # characters of a body in a report
_SHORTEST_KEY: Final = 3  # characters; a shorter text is part of many words


def shown(text: str, keys: Iterable[str]) -> str:
    """Return ``text`` as a report may show it: printable, without keys, however JSON has escaped them."""
    for key in sorted(keys, key=len, reverse=True):
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "***").replace(json.dumps(key)[1:-1], "***")
    return printable(text)


Pets: TypeAlias = list[dict[str, Any]]


class NoJson(str):
    """Why a body is not JSON."""

    __slots__ = ()


def _json(body: bytes) -> Any:  # noqa: ANN401  # a JSON value, or a NoJson
    try:
        return json.loads(body.decode("utf-8")) if body else NoJson("the body is empty")
    except (ValueError, RecursionError) as error:
        return NoJson(error)


def operation_of(method: str, target: str) -> Operation | None:
    """Return the operation of a target that begins at the base address."""
    segments = ["v1", *target.partition("?")[0].lstrip("/").split("/")]
    found = [row.operations.get(method) for row in ROUTES if row.match(segments) is not None]
    return found[0] if found else None


class Seen:
    """An exchange with what is known of it.

    Attributes:
        exchange: what was sent and what came.
        target: the target from the base address on.
        probe: the probe that it is of; None in a recording.
        failure: why no whole response came.
        confirmed: whether the service responded to another request right after it failed.
    """

    def __init__(self, exchange: Exchange, target: str, probe: Probe | None = None) -> None:
        self.exchange = exchange
        self.target = target
        self.probe = probe
        self.failure: FailedError | None = None
        self.confirmed = False
        self.number = exchange.number
        self.operation = operation_of(exchange.method, target)
        self.effect = "" if self.operation is None else self.operation.effect
        exchange.request.operation = None if self.operation is None else self.operation.name

    @property
    def has_key(self) -> bool:
        """Whether it bore a key of the user's; in a recording, keys may be masked or left out."""
        return self.probe is None or self.probe.has_key

    @property
    def is_valid(self) -> bool:
        """Whether the interface says that it succeeds."""
        return self.probe is not None and self.probe.is_valid

    @property
    def status(self) -> int:
        """The status; 0 where no readable head came."""
        return self.exchange.status or 0

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300 and self.failure is None

    @property
    def is_refusal(self) -> bool:
        return 400 <= self.status < 500 and self.failure is None

    @property
    def has_failed(self) -> bool:
        return self.failure is not None or self.status >= 500

    def header(self, name: str) -> str:
        return self.exchange.response_headers.get(name.lower(), "")

    @cached_property
    def document(self) -> Any:  # noqa: ANN401  # a JSON value, or a NoJson
        return _json(b"" if self.failure is not None else self.exchange.response_body)

    @cached_property
    def sent(self) -> Mapping[str, Any]:
        """The members of the request's body, if it is an object."""
        sent = _json(self.exchange.body)
        return sent if is_object(sent) else {}

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    @property
    def pet_id(self) -> str:
        return self.exchange.path.rpartition("/")[2]

    @cached_property
    def items(self) -> list[Any] | None:
        """The animals of a success, whatever they are; None where the response holds none."""
        operation = self.operation
        if operation is None or not self.has_key or not self.is_success or isinstance(self.document, NoJson):
            return None
        found = self.document if operation.response == "Pets" else [self.document]
        return list(found) if operation.response and is_array(found) else None

    @cached_property
    def pets(self) -> list[dict[str, Any]]:
        """The animals that are objects with an id."""
        return [dict(pet) for pet in self.items or () if is_object(pet) and is_integer(pet.get("id"))]

    @property
    def limit(self) -> int | None:
        """The limit of a list: the default where the request names none; None where it names no single number."""
        found = limit_of(self.operation) if self.operation is not None else None
        values = [value for name, value in self.query if found is not None and name == found[0]]
        if found is None or len(values) > 1:
            return None
        text = values[0] if values else str(found[1]["default"])
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 10 else None

    @property
    def filters(self) -> dict[str, str]:
        """The fields that a list was filtered by, and their values."""
        fields = {} if self.operation is None else {one.name: one.filters for one in self.operation.query_parameters}
        return {field: value for name, value in self.query if (field := fields.get(name))}

    @property
    def line(self) -> str:
        return f"{self.exchange.method} {self.target}"

    @property
    def came(self) -> str:
        """What came, in a line."""
        if self.failure is not None or not self.status:
            return f"{self.status or ''} {self.failure.words if self.failure else 'nothing'}".strip()
        where = f" Location: {self.header('Location')}" if 300 <= self.status < 400 else ""
        body = self.exchange.response_body.decode("utf-8", "backslashreplace").replace("\n", " ")
        return f"{self.status}{where} {cut(body, _SHOWN)}".rstrip()


def matches(pet: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    """Whether a list with these filters holds the animal; of an array, one element must match."""
    found = {field: pet.get(field) for field in filters}
    return all(value in (one if is_array(one := found[field]) else [one]) for field, value in filters.items())


class History:
    """Which animals a run or a recording showed, and when.

    Others use the service as well: an animal was there at a request only if it was seen before and after.
    """

    def __init__(self, exchanges: Sequence[Seen]) -> None:
        self.exchanges = exchanges
        self.created: list[Seen] = []
        self.views: dict[int, list[tuple[Seen, dict[str, Any]]]] = defaultdict(list)  # by id, without the creation
        self._first: dict[int, int] = {}  # the number of the first exchange that showed an animal, by id
        for seen in exchanges:
            for pet in seen.pets:
                self._first.setdefault(pet["id"], seen.number)
                if seen.effect != "creates":
                    self.views[pet["id"]].append((seen, pet))
            if seen.effect == "creates" and seen.pets:
                self.created.append(seen)

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The animals that lists showed, the latest at the end."""
        return [pet for seen in self.exchanges if seen.effect == "lists" for pet in seen.pets]

    def is_known(self, pet_id: int, number: int) -> bool:
        """Whether a response before the request showed the animal, or created it."""
        return self._first.get(pet_id, number) < number

    def made(self, pet_id: int, number: int) -> list[dict[str, Any]]:
        """Return an animal as it was created before a request."""
        return [one.pets[0] for one in self.created if one.number < number and one.pets[0]["id"] == pet_id]

    def around(self, pet_id: int, number: int, *, lists: bool = False) -> tuple[Pets, Pets]:
        """Return how responses, or only lists, before and after a request show an animal."""
        views = [(one.number, pet) for one, pet in self.views.get(pet_id, ()) if one.effect == "lists" or not lists]
        return [pet for at, pet in views if at < number], [pet for at, pet in views if at > number]

    def standing(self, seen: Seen) -> set[int]:
        """Return the ids of the animals that were there, and matched the filters, before and after a list."""
        found: set[int] = {pet["id"] for pet in seen.pets if matches(pet, seen.filters)}
        for pet_id in self.views:
            before, after = self.around(pet_id, seen.number)
            if before and after and matches(before[-1], seen.filters) and matches(after[0], seen.filters):
                found.add(pet_id)
        return found

    @staticmethod
    def is_removed(seen: Seen) -> bool:
        """Whether the operation's removal date has come, by the service's own clock (§4.3)."""
        removed = None if seen.operation is None else seen.operation.removed_at
        date = seconds_of(seen.header("Date"))
        return removed is not None and date is not None and date >= removed.timestamp()
