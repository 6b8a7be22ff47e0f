"""What the door responds when it refuses: a problem document (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from petstore_mock.common.masking import cut
from petstore_mock.interface.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.interface.violations import Violation

PROBLEM_TYPE: Final = "application/problem+json"
_LONGEST_DETAIL: Final = 10_000  # characters; a sentence may show a part of megabytes
_SHOWN: Final = 20  # violations


class Broken(TypedDict):
    """A wrong part of a request."""

    field: str
    message: str


class ProblemData(TypedDict):
    """A refusal. The request has changed nothing."""

    title: str
    status: int
    detail: str
    violations: NotRequired[list[Broken]]


class ProblemError(Exception):
    """A request that is refused, with the header fields that HTTP demands for the status."""

    def __init__(self, status: int, detail: str, violations: Sequence[Violation] = (), **fields: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.violations = violations
        self.fields: Mapping[str, str] = {name.replace("_", "-"): value for name, value in fields.items()}

    def body(self) -> bytes:
        document: dict[str, Any] = {
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": _carried(cut(self.detail, _LONGEST_DETAIL)),
        }
        if self.violations:
            document["violations"] = [
                {"field": _carried(one.path), "message": _carried(str(one))} for one in self.violations[:_SHOWN]
            ]
        return encode_json(document)


def invalid(violations: Sequence[Violation], omitted: int = 0) -> ProblemError:
    """Return the refusal of a value that breaks rules."""
    words = "; ".join(map(str, violations[:_SHOWN]))
    more = len(violations[_SHOWN:]) + omitted
    return ProblemError(422, f"{words}{f'; and {more} more' if more else ''}", violations)


def _carried(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
