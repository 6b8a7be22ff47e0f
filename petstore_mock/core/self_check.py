"""Holds the fake's own answers against the interface: a bug of ours must not pass for an answer of the service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from petstore_mock.contract.interface import Operation
    from petstore_mock.core.world import World
    from petstore_mock.messages.response import ApiResponse

__all__ = ["SelfCheckError", "check_answer", "check_error"]


class SelfCheckError(AssertionError):
    """The fake gave an answer that the interface does not allow."""


def check_answer(world: World, operation: Operation, response: ApiResponse) -> None:
    """Raise ``SelfCheckError`` unless the body of an operation's success is one that the schemas allow (§2, §4)."""
    _check(world, operation.response_schema, response)


def check_error(world: World, response: ApiResponse) -> None:
    """Raise ``SelfCheckError`` unless an answer is an Error (§2) that bears its own status (§7)."""
    value = _check(world, "Error", response)
    if value["status"] != response.status:
        raise SelfCheckError(f"the fake answered {response.status} with status {value['status']} in its body")


def _check(world: World, schema: str, response: ApiResponse) -> Any:  # noqa: ANN401  # a JSON value is any value
    value = json.loads(response.body)
    problems = world.schemas.validate(schema, value, "answer")
    if problems:
        raise SelfCheckError(f"the fake answered {response.status} with {'; '.join(map(str, problems))}")
    return value
