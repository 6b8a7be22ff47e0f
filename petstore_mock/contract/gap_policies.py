"""What the alternatives of the gaps do: small pure functions, which the register (``gaps``) names."""

from __future__ import annotations

import heapq
import json
import re
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import quote

from petstore_mock.common.dates import http_date
from petstore_mock.contract.interface import DEPRECATED_SINCE, LARGEST_INT64, PETS_PATH
from petstore_mock.contract.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from random import Random

__all__ = [
    "INTEGER_TEXT",
    "Catalogue",
    "ListPage",
    "ResponseFields",
    "any_order",
    "clamp_limit",
    "deprecation_fields",
    "link_to_first_page",
    "link_to_next_page",
    "lowest_first",
    "no_rule",
    "no_substitute",
    "rerender",
    "shuffle_members",
    "stable_order",
    "terse_code",
    "unchanged",
    "with_more_fields",
]

ResponseFields = tuple[tuple[str, str], ...]

# What counts as an integer in a query or a path: JSON's own syntax (RFC 8259 §6), ASCII digits only.
INTEGER_TEXT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)


class Catalogue(Protocol):
    """What an order may ask of the store; ``status`` None means every animal."""

    def ascending(self, status: str | None, limit: int) -> Iterable[int]:
        """Return the ``limit`` lowest ids."""

    def descending(self, status: str | None, limit: int) -> Iterable[int]:
        """Return the ``limit`` highest ids, highest first."""

    def by_name(self, status: str | None, limit: int) -> Iterable[int]:
        """Return the ``limit`` first ids in the order of their names."""

    def every(self, status: str | None) -> Iterable[int]:
        """Return all ids, ascending."""

    def count(self, status: str | None) -> int:
        """Return how many there are."""


def lowest_first(catalogue: Catalogue, status: str | None, limit: int, _random: Random) -> Iterable[int]:
    """Return the lowest ids, in their order: the one of which the store keeps the pages."""
    return catalogue.ascending(status, limit)


def clamp_limit(text: str, minimum: int, maximum: int, _default: int) -> int | None:
    """Return the bound that is next to a limit out of range, or None to refuse it."""
    if not INTEGER_TEXT.fullmatch(text):
        return None  # text that is no integer can't be clamped: it is refused all the same
    if len(text) > len(str(LARGEST_INT64)):
        return minimum if text.startswith("-") else maximum
    return min(max(int(text), minimum), maximum)


def _mixed(number: int) -> int:
    """Spread ``number`` over 32 bits: an order that is stable and tells nothing."""
    return zlib.crc32(str(number).encode("ascii"))


def stable_order(catalogue: Catalogue, status: str | None, limit: int, _random: Random) -> list[int]:
    """Return the animals of a page in an order that stays, and that tells nothing."""
    return heapq.nsmallest(limit, catalogue.every(status), key=_mixed)


def any_order(catalogue: Catalogue, status: str | None, limit: int, random: Random) -> list[int]:
    """Return animals drawn anew for each list."""
    ids = list(catalogue.every(status))
    return random.sample(ids, min(limit, len(ids)))


def shuffle_members(value: Any, salt: int = 0) -> Any:  # noqa: ANN401  # walks any JSON value
    """Return ``value`` with the members of its objects in an order that tells nothing; those of one list differ."""
    if isinstance(value, list):
        return [shuffle_members(item, index) for index, item in enumerate(value)]
    if isinstance(value, dict):
        order = sorted(value, key=lambda name: zlib.crc32(f"{salt}{name}".encode("utf-8", "surrogatepass")))
        return {name: shuffle_members(value[name], salt) for name in order}
    return value


def with_more_fields(body: bytes) -> bytes:
    """Return an answer whose objects have fields that the interface does not know."""
    value = json.loads(body)
    more = {"tags": [], "_meta": {"revision": 1}}
    return encode_json([{**item, **more} for item in value] if isinstance(value, list) else {**value, **more})


def rerender(**options: Any) -> Callable[[bytes], bytes]:  # noqa: ANN401  # options of json.dumps
    """Return what writes JSON in another style: ``options`` are those of ``json.dumps``."""
    return lambda body: json.dumps(json.loads(body), **options).encode("utf-8")


class ListPage(NamedTuple):
    """What a paging field may tell of a list.

    Attributes:
        base_path: what stands before the paths of the interface in the client's addresses; mostly nothing.
        limit: how many animals were asked for, at most (§4.1).
        status: the only status of the list; None for all.
        most: how many it shows at most: fewer than ``limit`` where pages come short.
        total: how many animals there are.
        largest: the largest limit that can be asked for.
    """

    base_path: str
    limit: int
    status: str | None
    most: int
    total: int
    largest: int


def _link(page: ListPage, limit: int, relation: str) -> str:
    chosen = "" if page.status is None else f"&status={quote(page.status, safe='')}"
    return f'<{page.base_path}{PETS_PATH}?limit={limit}{chosen}>; rel="{relation}"'


def link_to_first_page(page: ListPage) -> ResponseFields:
    """Return the ``Link`` field of a list (RFC 8288)."""
    # Only the first page has an address: the interface shows no control for another (§4.1).
    return (("Link", _link(page, page.limit, "first")),)


def link_to_next_page(page: ListPage) -> ResponseFields:
    """Return the ``Link`` field of a list that names a next page while animals are left out."""
    if page.total <= page.most or page.limit == page.largest:
        return link_to_first_page(page)
    # What can be asked for by the interface: a page of more animals, in which those of this one come again.
    return (("Link", f"{_link(page, page.limit, 'first')}, {_link(page, page.largest, 'next')}"),)


@lru_cache(maxsize=8)  # of an interface with one deprecated operation
def deprecation_fields(removed_at: datetime | None) -> ResponseFields:
    """Return the fields that tell of a removal, if there is one."""
    if removed_at is None:
        return ()
    return (
        ("Deprecation", f"@{int(DEPRECATED_SINCE.timestamp())}"),  # RFC 9745 §2: a structured-field date
        ("Sunset", http_date(removed_at.timestamp())),  # RFC 8594 §3
    )


def terse_code(_standard: str, status: int) -> str:
    """Return a code that goes by the status alone."""
    return {400: "BAD", 401: "AUTH", 404: "NONE", 429: "SLOW"}.get(status, "ERR")


def unchanged(body: bytes) -> bytes:
    """Return an answer's body as it is."""
    return body


# Each returns None, and each under its own name: what that means is for the gap to say.


def no_substitute(*_: object) -> None:
    """Put no value in the place of an invalid one: it is refused."""


def no_rule(*_: object) -> None:
    """Find no rule that a value breaks: it is accepted."""
