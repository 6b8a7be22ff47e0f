"""The documented outcomes of each operation (§4, §7), and those that an exchange shows."""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import items_of
from petstore_mock.interface.schemas import properties, required_names
from petstore_mock.interface.table import ANIMAL, OPERATIONS, Operation
from petstore_mock.journal.exchange import faults_met, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.journal.exchange import Exchange


_OPTIONAL: Final = [name for name in properties(ANIMAL) if name not in required_names(ANIMAL)]


def _documented(operation: Operation) -> tuple[str, ...]:
    outcomes = [str(operation.success)]
    if operation.response:
        for name in _OPTIONAL:
            outcomes += [f"{operation.success} {name} present", f"{operation.success} {name} absent"]
    return (*outcomes, *map(str, sorted(operation.errors)))


OUTCOMES: Final = {name: _documented(operation) for name, operation in OPERATIONS.items()}


def outcomes_of(exchange: Exchange) -> list[str]:
    """Return the outcomes that the client saw in an exchange, and its faults, such as ``fault reset``."""
    return [f"fault {fault.kind}" for fault in faults_met(exchange)] + _documented_outcomes(exchange)


def _documented_outcomes(exchange: Exchange) -> list[str]:
    operation = row_of(exchange)
    if operation is None or exchange.status not in operation.statuses:
        return []
    if exchange.fault is not None and exchange.fault.breaks_contract:
        return []
    outcomes = [str(exchange.status)]
    has_whole_body = bool(exchange.response_body) and not exchange.cut_response
    if has_whole_body and exchange.status == operation.success:
        outcomes += _outcomes_of_fields(exchange)
    return outcomes


def _outcomes_of_fields(exchange: Exchange) -> Iterator[str]:
    """Yield which optional fields the animals of a success have, such as ``200 status absent``."""
    body = loads(exchange.response_body)
    animals = items_of(body)
    for name in _OPTIONAL:
        having = [name in animal for animal in animals]
        if not all(having):
            yield f"{exchange.status} {name} absent"
        if any(having):
            yield f"{exchange.status} {name} present"
