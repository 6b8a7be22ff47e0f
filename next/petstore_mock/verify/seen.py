"""What a run or a recording shows: each exchange, and which animals there were when."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from petstore_mock.common.dates import seconds_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, printable
from petstore_mock.common.values import is_integer
from petstore_mock.interface.table import OPERATIONS, ROUTES
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


class NoJson(str):
    """Why a body is not JSON."""

    __slots__ = ()


def _json(body: bytes) -> Any:  # noqa: ANN401  # a JSON value, or a NoJson
    def refuse(text: str) -> None:
        raise ValueError(f"{text} is no JSON value")

    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse) if body else NoJson("the body is empty")
    except (ValueError, RecursionError) as error:
        return NoJson(f"{error or 'it nests too deep'}")


def operation_of(method: str, target: str) -> Operation | None:
    """Return the operation of a target that begins at the base address."""
    segments = ["v1", *target.partition("?")[0].lstrip("/").split("/")]
    row = next((row for row in ROUTES if row.match(segments) is not None), None)
    return None if row is None or method not in row.operations else row.operations[method]


class Seen:
    """An exchange with what is known of it.

    Attributes:
        exchange: what was sent and what came.
        target: the target from the base address on.
        probe: the probe that it is of; None in a recording.
        has_key: whether it bore a key of the user's.
        failure: why no whole response came.
        confirmed: whether the service responded to another request right after it failed.
    """

    def __init__(self, exchange: Exchange, target: str, probe: Probe | None = None, *, has_key: bool = True) -> None:
        self.exchange = exchange
        self.target = target
        self.probe = probe
        self.has_key = has_key
        self.failure: FailedError | None = None
        self.confirmed = False
        operation = operation_of(exchange.method, target)
        exchange.request.operation = None if operation is None else operation.name

    @property
    def number(self) -> int:
        return self.exchange.number

    @property
    def operation(self) -> Operation | None:
        return OPERATIONS.get(self.exchange.operation or "")

    @property
    def status(self) -> int:
        """The status; 0 where no readable head came."""
        return self.exchange.status or 0

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300 and self.failure is None

    @property
    def is_refusal(self) -> bool:
        return 400 <= self.status < 500

    @property
    def has_failed(self) -> bool:
        return self.failure is not None or self.status >= 500

    def header(self, name: str) -> str | None:
        return self.exchange.response_headers.get(name.lower())

    @cached_property
    def document(self) -> Any:  # noqa: ANN401  # a JSON value, or a NoJson
        response = self.exchange.response
        return _json(b"" if response is None or self.failure is not None else response.body)

    @cached_property
    def sent(self) -> Any:  # noqa: ANN401  # as above
        return _json(self.exchange.body)

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    def one(self, name: str) -> str | None:
        """Return the value of a query parameter that stands once."""
        found = [value for known, value in self.query if known == name]
        return found[0] if len(found) == 1 else None

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
        parameters = [] if self.operation is None else self.operation.query_parameters
        return {one.filters: value for one in parameters if one.filters and (value := self.one(one.name)) is not None}

    @property
    def line(self) -> str:
        return f"{self.exchange.method} {self.target}"

    @property
    def came(self) -> str:
        """What came, in a line."""
        response = self.exchange.response
        if response is None or self.failure is not None:
            return f"{self.status} and then: " * bool(self.status) + (self.failure.words if self.failure else "nothing")
        where = f" Location: {location}" if 300 <= self.status < 400 and (location := self.header("Location")) else ""
        body = response.body.decode("utf-8", "backslashreplace").replace("\n", " ")
        return f"{self.status}{where} {cut(body, _SHOWN)}".rstrip()


def matches(pet: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    """Whether a list with these filters holds the animal; of an array, one element must match."""
    return all(
        value in (found if is_array(found) else [found])
        for field, value in filters.items()
        for found in (pet.get(field),)
    )


class History:
    """Which animals a run or a recording showed, and when.

    Others use the service as well: an animal was there at a request only if it was seen before and after.
    """

    def __init__(self, exchanges: Sequence[Seen]) -> None:
        self.exchanges = exchanges
        self.created: list[Seen] = []
        self.views: dict[int, list[tuple[Seen, dict[str, Any]]]] = defaultdict(list)  # by id, without the creation
        self._known: dict[int, int] = {}  # the number of the first exchange that showed an animal, by id
        for seen in exchanges:
            creates = seen.operation is not None and seen.operation.effect == "creates"
            for pet in seen.pets:
                self._known.setdefault(pet["id"], seen.number)
                if creates:
                    self.created.append(seen)
                else:
                    self.views[pet["id"]].append((seen, pet))

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The animals that lists showed, the latest at the end."""
        lists = [seen for seen in self.exchanges if seen.operation is not None and seen.operation.effect == "lists"]
        return [pet for seen in lists for pet in seen.pets]

    def seen_before(self, pet_id: int, number: int) -> bool:
        return self._known.get(pet_id, number) < number

    def viewed_before(self, pet_id: int, number: int) -> bool:
        return any(seen.number < number for seen, _ in self.views.get(pet_id, ()))

    def viewed_after(self, pet_id: int, number: int) -> bool:
        return any(seen.number > number for seen, _ in self.views.get(pet_id, ()))

    def standing(self, number: int, filters: Mapping[str, str]) -> set[int]:
        """Return the ids of the animals that were there, and matched, before and after a request."""
        found: set[int] = set()
        for pet_id, views in self.views.items():
            before = [pet for seen, pet in views if seen.number <= number][-1:]
            after = [pet for seen, pet in views if seen.number >= number][:1]
            if before and after and matches(before[0], filters) and matches(after[0], filters):
                found.add(pet_id)
        return found

    @staticmethod
    def is_removed(seen: Seen) -> bool:
        """Whether the operation's removal date has come, by the service's own clock (§4.3)."""
        removed = None if seen.operation is None else seen.operation.removed_at
        date = seconds_of(seen.header("Date") or "")
        return removed is not None and date is not None and date >= removed.timestamp()
