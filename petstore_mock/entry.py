"""One entry of the request journal: the request, what was decided about it, and the answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from petstore_mock.messages import mask_credentials

if TYPE_CHECKING:
    from petstore_mock.faults import Fault
    from petstore_mock.messages import ApiRequest, ApiResponse, Condition
    from petstore_mock.violations import Violation

__all__ = ["Entry"]


class Entry:
    """What happened to one request. Keys are masked wherever they would show.

    Attributes:
        number: its place in the journal, from 1.
        owner: the test that owned the world, or None.
        duration: seconds from its first byte to the answer, by the real clock.
        condition: why it was refused, or None.
        violations: the rules that it broke.
        fault: the fault that met it, or None.
        executed: whether the operation was carried out (and what it changes was kept).
        outcome: what became of the answer when it did not go out whole and at once, such as ``reset``.
        expected: whether the test said that this violation would come.
        neighbour: whether an expectation of ``httpserver`` answered it.
    """

    __slots__ = (
        "_request",
        "_response",
        "condition",
        "detail",
        "duration",
        "executed",
        "expected",
        "fault",
        "neighbour",
        "number",
        "outcome",
        "owner",
        "timestamp",
        "violations",
        "weight",
    )

    def __init__(self, number: int, owner: str | None, request: ApiRequest, timestamp: float) -> None:
        self.number = number
        self.owner = owner
        self._request = request
        self._response: ApiResponse | None = None
        self.timestamp = timestamp
        self.duration = 0.0
        self.condition: Condition | None = None
        self.detail = ""
        self.violations: tuple[Violation, ...] = ()
        self.fault: Fault | None = None
        self.executed = False
        self.outcome: str | None = None
        self.expected = False
        self.neighbour = False
        self.weight = 0  # what the journal counted it as

    def __repr__(self) -> str:
        return f"<Entry {self.number} {self.method} {self.target} {self.status or self.outcome}>"

    def answered(self, response: ApiResponse) -> None:
        """Take note of the answer."""
        self._response = response

    @property
    def size(self) -> int:
        """About how many bytes the entry holds on to."""
        response = self._response
        return 1000 + len(self._request.body) + (len(response.body) if response is not None else 0)

    # The request

    @property
    def moment(self) -> datetime:
        """The fake's time when it came."""
        return datetime.fromtimestamp(self.timestamp, UTC)

    @property
    def connection(self) -> int:
        """The number of its connection, from 1; 0 without a socket."""
        return self._request.connection

    @property
    def exchange(self) -> int:
        """Which request on its connection it is, from 1."""
        return self._request.exchange

    @property
    def method(self) -> str:
        """The method as sent."""
        return self._request.method

    @property
    def target(self) -> str:
        """The target as sent: path and query, percent-encoded."""
        return self._request.target

    @property
    def path(self) -> str:
        """The path, percent-decoded."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> dict[str, str]:
        """The query parameters, decoded."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def operation(self) -> str | None:
        """The operation that the route found, or None."""
        return self._request.operation

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The request's header fields in the order sent, credentials masked."""
        found = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self._request.fields]
        return [(name, mask_credentials(name, value)) for name, value in found]

    @property
    def headers(self) -> dict[str, str]:
        """The request's header fields with lower-case names, credentials masked; a repeated one shows its last."""
        return {name.lower(): value for name, value in self.fields}

    @property
    def body(self) -> bytes:
        """The request's body."""
        return self._request.body

    def json(self) -> Any:  # noqa: ANN401  # a JSON value is any value
        """Decode the request's body; raises ValueError when it is no JSON."""
        return json.loads(self.body)

    # The answer

    @property
    def status(self) -> int | None:
        """The status of the answer, or None when there was none."""
        response = self._response
        return None if response is None or self.outcome in {"hang", "reset", "empty reply"} else response.status

    @property
    def response_fields(self) -> list[tuple[str, str]]:
        """The answer's header fields, without those of its framing."""
        response = self._response
        if response is None:
            return []
        return [*response.head.fields, ("Date", response.date.decode("ascii"))]

    @property
    def response_body(self) -> bytes:
        """The answer's body."""
        return b"" if self._response is None else self._response.body

    # The decision

    @property
    def is_violation(self) -> bool:
        """Whether the client broke the contract with it."""
        return self.condition is not None and self.condition.violation

    @property
    def section(self) -> str | None:
        """The section of the interface that it broke."""
        if self.violations:
            return self.violations[0].sentence.section
        return self.condition.section if self.condition is not None else None

    @property
    def reason(self) -> str:
        """Why it was answered as it was, in words; empty for what went as it should."""
        if self.violations:
            return "; ".join(map(str, self.violations))
        if self.condition is not None:
            return f"{self.condition.message}{f': {self.detail}' if self.detail else ''}"
        return f"fault {self.fault}" if self.fault is not None else ""
