"""Which documented outcomes of the interface (§4, §7), and which faults, a request showed to the client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.interface import OPERATIONS, OperationName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.journal.entry import Entry

__all__ = ["DOCUMENTED", "outcomes"]

_PAGES: Final = ("empty page", "partial page", "full page")
_STATUS: Final = ("status present", "status absent")


def _documented() -> Iterator[tuple[str, OperationName]]:
    """Yield every outcome that the interface documents (§4, §7), with the operation that has it."""
    for operation in OPERATIONS.values():
        details = (*_PAGES, *_STATUS) if operation.response_schema == "Pets" else _STATUS
        for detail in details:
            yield f"{operation.success} {detail}", operation.name
        for status in sorted(operation.errors):
            yield str(status), operation.name


DOCUMENTED: Final = tuple(_documented())


def outcomes(entry: Entry, limit_bounds: tuple[int, int, int]) -> Iterator[str]:
    """Yield what one request showed to the client: outcomes and kinds of faults.

    Args:
        entry: the request and its answer.
        limit_bounds: the least, the largest and the default number of animals on a page.
    """
    fault = entry.fault
    for met in (entry.delayed_by, fault):
        if met is not None:
            yield f"fault {met.kind}"
    if entry.operation is None or entry.status is None:
        return
    if fault is not None and fault.breaks_contract:
        return  # whatever came, it was no answer of the interface
    operation = OPERATIONS[entry.operation]  # type: ignore[index]  # the route found it
    if entry.status in operation.errors:
        yield str(entry.status)
    elif entry.status == operation.success and entry.response_body:
        body = json.loads(entry.response_body)
        animals = body if isinstance(body, list) else [body]
        for detail in _details(animals):
            yield f"{entry.status} {detail}"
        if isinstance(body, list):
            yield f"{entry.status} {_PAGES[0 if not body else 1 + (len(body) >= _page_limit(entry, limit_bounds))]}"


def _details(animals: list[dict[str, Any]]) -> set[str]:
    return {_STATUS[0] if "status" in animal else _STATUS[1] for animal in animals}


def _page_limit(entry: Entry, bounds: tuple[int, int, int]) -> int:
    """Return how many animals a page holds: what the client asked for, as far as it is valid (§8)."""
    minimum, maximum, default = bounds
    text = entry.query.get("limit", "")
    return min(max(int(text), minimum), maximum) if text.isdecimal() and len(text) < len(str(2**63)) else default
