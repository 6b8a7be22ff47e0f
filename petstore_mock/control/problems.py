"""What the door responds when it refuses: a problem document (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from petstore_mock.common.masking import cut
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.violations import Violation

PROBLEM_TYPE: Final = "application/problem+json"
_LONGEST_DETAIL: Final = 10_000  # characters; a sentence may show a part of megabytes
_SHOWN: Final = 20  # violations


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


def invalid(violations: Sequence[Violation], omitted: int = 0) -> ProblemError:
    """Return the refusal of a value that breaks rules."""
    more = len(violations[_SHOWN:]) + omitted
    words = "; ".join(map(str, violations[:_SHOWN]))
    return ProblemError(422, f"{words}{f'; and {more} more' if more else ''}", violations)


def problem_of(error: PetStoreMockError) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and header fields of a refusal."""
    status: int = getattr(error, "status", 422)
    document: dict[str, Any] = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _carried(cut(str(error), _LONGEST_DETAIL)),
    }
    violations: Sequence[Violation] = getattr(error, "violations", ())
    if violations:
        told = [{"field": _carried(one.path), "message": _carried(str(one))} for one in violations[:_SHOWN]]
        document["violations"] = told
    return status, encode_json(document), {"Content-Type": PROBLEM_TYPE, **getattr(error, "fields", {})}


def _carried(text: str) -> str:
    """Return text as UTF-8 can carry it."""
    return text.encode("utf-8", "replace").decode("utf-8")
