"""What the door responds when it refuses: a problem document (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from petstore_mock.common.masking import cut
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.violations import Violation

PROBLEM_TYPE: Final = "application/problem+json"
_LONGEST_DETAIL: Final = 10_000  # characters; a sentence may show a part of megabytes
SHOWN: Final = 20  # violations


class Broken(TypedDict):
    field: str
    message: str


class ProblemData(TypedDict):
    title: str
    status: int
    detail: str
    violations: NotRequired[list[Broken]]


class ProblemError(PetStoreMockError):
    """A refusal with its status, the broken rules, and the header fields that HTTP demands for the status."""

    def __init__(self, status: int, detail: str, violations: Sequence[Violation] = (), **fields: str) -> None:
        super().__init__(detail)
        self.status = status
        self.violations = violations
        self.fields = {name.replace("_", "-"): value for name, value in fields.items()}


def problem_of(error: PetStoreMockError) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and header fields of a refusal."""
    status: int = getattr(error, "status", 422)
    broken: Sequence[Violation] = getattr(error, "violations", ())
    document: dict[str, Any] = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": cut(str(error), _LONGEST_DETAIL),
    }
    if broken:
        document["violations"] = [{"field": one.path, "message": str(one)} for one in broken[:SHOWN]]
    content = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")  # a value may have a lone surrogate
    return status, content, {"Content-Type": PROBLEM_TYPE, **getattr(error, "fields", {})}
