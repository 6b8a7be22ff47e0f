"""Finds the row of the interface for the path of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.interface.strict_json import percent_decode
from petstore_mock.interface.table import ROUTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.table import RouteRow


def segments_of(target: str) -> list[str] | None:
    """Return the decoded segments of a target's path; None if one of them is no percent-encoded UTF-8."""
    segments: list[str] = []
    for segment in target.partition("?")[0][1:].split("/"):
        decoded = percent_decode(segment)
        if decoded is None:
            return None
        segments.append(decoded)
    return segments


def row_at(segments: Sequence[str]) -> tuple[RouteRow, dict[str, list[str]]] | None:
    """Return the row of a path and the parameters in the path; None if no row has it."""
    for row in ROUTES:
        parameters = row.match(segments)
        if parameters is not None:
            return row, parameters
    return None


def operation_of(method: str, target: str) -> str | None:
    """Return the name of the operation of a request; None if the interface has none there."""
    match = row_at(segments_of(target) or ())
    if match is None:
        return None
    operation = match[0].operations.get(method)
    return None if operation is None else operation.name
