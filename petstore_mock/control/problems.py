"""What the door answers when it refuses: a problem document (RFC 9457), which says what was expected and what came."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import cut
from petstore_mock.contract.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PROBLEM_TYPE", "ProblemError"]

PROBLEM_TYPE: Final = "application/problem+json"
_LONGEST_DETAIL: Final = 10_000  # characters: of a sentence that shows what came, and megabytes may have come


class ProblemError(Exception):
    """A request that is refused. It has changed nothing.

    Args:
        status: the HTTP status.
        detail: what was expected, what came, and the nearest right name.
        violations: each rule that the body breaks, as ``{"field", "message"}``, where there are several.
        headers: header fields that HTTP demands with the status.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        violations: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.violations = list(violations)
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """Return the problem document."""
        document: dict[str, Any] = {
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": cut(self.detail, _LONGEST_DETAIL).encode("utf-8", "replace").decode("utf-8"),
        }
        if self.violations:
            document["violations"] = self.violations
        return encode_json(document)
