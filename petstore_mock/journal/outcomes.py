"""The documented outcomes of each operation (§4, §7), and those that an exchange shows."""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array
from petstore_mock.interface.schemas import parameters, schema
from petstore_mock.interface.table import OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.journal.exchange import Exchange

_PAGES: Final = ("empty page", "partial page", "full page")


def _optional_fields(operation: Operation) -> list[str]:
    if operation.response is None:
        return []
    found: Mapping[str, Any] = schema(operation.response)
    animal = found.get("items", found)
    return [name for name in animal["properties"] if name not in animal["required"]]


def _documented(operation: Operation) -> Iterator[str]:
    pages = _PAGES if operation.effect == "lists" else ()
    fields = [f"{name} {state}" for name in _optional_fields(operation) for state in ("present", "absent")]
    for detail in (*pages, *fields) or ("",):
        yield f"{operation.success} {detail}".rstrip()
    yield from map(str, sorted(operation.errors))


OUTCOMES: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(_documented(operation)) for name, operation in OPERATIONS.items()
}


def outcomes_of(exchange: Exchange) -> list[str]:
    """Return the outcomes that a request showed to the client, and its faults, such as ``fault reset``."""
    shown = [f"fault {fault.kind}" for fault in (exchange.delayed_by, exchange.fault) if fault is not None]
    operation = OPERATIONS.get(exchange.operation or "")
    breaks_contract = exchange.fault is not None and exchange.fault.breaks_contract
    if operation is None or breaks_contract:
        return shown
    if exchange.status == operation.success:
        shown += (f"{exchange.status} {detail}".rstrip() for detail in _details(exchange, operation))
    elif exchange.status in operation.errors:
        shown.append(str(exchange.status))
    return shown


def _details(exchange: Exchange, operation: Operation) -> Iterator[str]:
    fields = _optional_fields(operation)
    if operation.effect != "lists" and not fields:
        yield ""
    if not exchange.response_body or exchange.cut_response:
        return
    body = loads(exchange.response_body)
    animals = body if is_array(body) else [body]
    for name in fields:
        states = {"present" if name in animal else "absent" for animal in animals}
        yield from (f"{name} {state}" for state in sorted(states))
    if operation.effect == "lists":
        yield _PAGES[0 if not animals else 1 + (len(animals) >= _page_limit(exchange, operation))]


def _page_limit(exchange: Exchange, operation: Operation) -> int:
    """Return the limit of a page (§8): the requested one within its bounds, else the default."""
    bounds: Mapping[str, int] = parameters(operation)["limit"]
    try:
        return min(max(int(exchange.query["limit"]), bounds["minimum"]), bounds["maximum"])
    except (KeyError, ValueError):
        return bounds["default"]
