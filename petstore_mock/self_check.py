"""Holds the fake's own answers against the interface: a bug of ours must not pass for an answer of the service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from petstore_mock.contract import Operation
    from petstore_mock.messages import ApiResponse
    from petstore_mock.world import World

__all__ = ["SelfCheckError", "check_answer"]


class SelfCheckError(AssertionError):
    """The fake gave an answer that the interface does not allow."""


def check_answer(world: World, operation: Operation, response: ApiResponse) -> None:
    """Raise ``SelfCheckError`` unless the operation's own answer is one that the schemas allow (§2, §4, §7)."""
    value = json.loads(response.body)
    success = response.status == operation.success
    problems = world.schemas.judge(operation.response_schema if success else "Error", value, "answer")
    if problems:
        raise SelfCheckError(f"{operation.name} answered {response.status} with {'; '.join(map(str, problems))}")
    if not success and value["status"] != response.status:
        raise SelfCheckError(f"{operation.name} answered {response.status} with status {value['status']} in its body")
