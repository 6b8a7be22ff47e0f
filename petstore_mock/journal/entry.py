"""One entry of the request journal: the request, what was decided about it, and the answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote

from petstore_mock.common.masking import mask_field, mask_target, mask_text, printable, request_line
from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.interface import SENTENCES, Sentence
from petstore_mock.messages.request import KNOWN_METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.contract.error_conditions import Condition
    from petstore_mock.contract.violations import Violation
    from petstore_mock.faults import Fault
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse

__all__ = ["Entry"]

# What an entry weighs beside its bytes, measured; a refused body stays decoded in its violations, some times larger.
_BASE_WEIGHT: Final = 1000
_DECODED_WEIGHT: Final = 16


def _joined(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return header fields as a mapping (RFC 9110 §5.2)."""
    joined: dict[str, str] = {}
    for name, value in fields:
        lower = name.lower()
        joined[lower] = f"{joined[lower]}, {value}" if lower in joined else value
    return joined


class Entry:
    """What happened to one request. Keys are masked wherever they would show, but for :attr:`request` and the bodies.

    Attributes:
        number: its place in the journal, from 1.
        owner: the test that owned the world, or None.
        request: the request as it came, nothing masked.
        timestamp: the fake's time when it came, in seconds since 1970.
        duration: seconds from its first byte to the answer, by the real clock.
        condition: why it was refused, or None.
        detail: what is to be said beside the condition's own message.
        violations: the rules that it broke; of thousands, the first.
        omitted: how many more it broke.
        fault: the fault that met it, or None; of two, the one after the commit.
        delayed_by: the delay that came before that other fault, or None.
        executed: whether the operation was carried out (and what it changes was kept).
        outcome: what became of the answer when it did not go out whole and at once, such as ``reset``.
        expected: whether the test said that this violation would come.
        by_expectation: whether an expectation of ``httpserver`` answered it.
        mutant: the mutant that did otherwise than the interface says, or None.
        keys: gives the keys to be masked; internal.
        secure: whether it came over TLS.
        response: the answer as the core made it, nothing masked; None while there is none, as one that is deferred.
        sent: whether anything of the answer went out, as far as it is known; internal.
    """

    number: int
    owner: str | None
    request: ApiRequest
    timestamp: float
    condition: Condition | None
    violations: tuple[Violation, ...]
    # What most requests leave as it is belongs to the class: an entry, made for each, has only what differs.
    duration: float = 0.0
    detail: str = ""
    omitted: int = 0
    fault: Fault | None = None
    delayed_by: Fault | None = None
    executed: bool = False
    outcome: str | None = None
    expected: bool = False
    by_expectation: bool = False
    mutant: str | None = None
    keys: Callable[[], Iterable[str]] = tuple
    secure: bool = False
    response: ApiResponse | None = None
    sent: bool = True  # unless an adapter tells otherwise
    weight: int = 0  # what the journal counted it as

    def __init__(self, number: int, owner: str | None, request: ApiRequest, timestamp: float) -> None:
        self.number = number
        self.owner = owner
        self.request = request
        self.timestamp = timestamp
        self.condition = None
        self.violations = ()

    def __repr__(self) -> str:
        parts = [f"<Entry {self.number} {self.request_line}", str(self.status or self.outcome or "unanswered")]
        if self.operation is not None:
            parts.append(self.operation)
        if self.condition is not None or self.fault is not None:
            parts.append(f"({self.decision})")
        return printable(f"{' '.join(parts)}>")

    def complete(self, outcome: str, *, sent: bool) -> None:
        """Take note of what became of a deferred answer; see :class:`petstore_mock.messages.deferred.Completion`."""
        self.outcome = outcome
        self.sent = sent
        self.duration = RealTime.perf_counter() - self.request.started

    def weigh(self) -> int:
        """Return about how many bytes the entry holds on to."""
        request, response = self.request, self.response
        size = _BASE_WEIGHT + len(request.body) + len(request.target) + request.fields.size
        if self.violations:
            size += len(request.body) * _DECODED_WEIGHT
        return size if response is None else size + len(response.body)

    # The request

    @property
    def moment(self) -> datetime:
        """The fake's time when it came."""
        return datetime.fromtimestamp(self.timestamp, UTC)

    @property
    def connection(self) -> int:
        """The number of its connection, from 1; 0 without a socket."""
        return self.request.connection

    @property
    def exchange(self) -> int:
        """Which request on its connection it is, from 1."""
        return self.request.exchange

    @property
    def method(self) -> str:
        """The method as sent, keys masked."""
        method = self.request.method
        return method if method in KNOWN_METHODS else self.masked(method)

    @property
    def target(self) -> str:
        """The target as sent, percent-encoded: path and query, keys masked."""
        return mask_target(self.request.target, self.secrets)

    @property
    def request_line(self) -> str:
        """Method and target as they may be shown in a line of text: printable, bounded, keys masked."""
        return request_line(self.request.method, self.request.target, self.secrets)

    @property
    def path(self) -> str:
        """The path, percent-decoded, keys masked."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> dict[str, str]:
        """The query parameters, decoded, keys masked; a repeated one shows its last value."""
        text = self.target.partition("?")[2]
        return dict(parse_qsl(text, keep_blank_values=True)) if text else {}

    @property
    def operation(self) -> str | None:
        """The operation that the route found, or None."""
        return self.request.operation

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The request's header fields in the order sent, keys masked."""
        keys = self.secrets
        found = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self.request.fields]
        return [(mask_text(name, keys), mask_field(name, value, keys)) for name, value in found]

    @property
    def headers(self) -> dict[str, str]:
        """The request's header fields with lower-case names, keys masked; repeated ones joined by a comma."""
        return _joined(self.fields)

    @property
    def body(self) -> bytes:
        """The request's body, as sent."""
        return self.request.body

    def json(self) -> Any:  # noqa: ANN401  # a JSON value is any value
        """Decode the request's body as :meth:`ApiRequest.json` does."""
        return self.request.json()

    # Keys

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown: the keys of its world, and the credentials that it bore itself."""
        return (*self.keys(), *self.request.credentials)

    def masked(self, text: str) -> str:
        """Return ``text`` without the keys that this request is known to have had to do with."""
        return mask_text(text, self.secrets)

    def masked_bytes(self, content: bytes) -> bytes:
        """Return the same of bytes: a key is ASCII, and Latin-1 maps bytes one to one, so that the rest stays."""
        return self.masked(content.decode("latin-1")).encode("latin-1")

    @property
    def misplaced_keys(self) -> tuple[str, ...]:
        """Where a key stands beside Authorization (§5): ``target``, ``body``, or the lower-case name of a field."""
        request, keys = self.request, self.secrets
        places = ["target"] if mask_target(request.target, keys) != request.target else []
        for raw_name, raw_value in request.fields:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            if name != "authorization" and mask_text(value, keys) != value:
                places.append(name)
        body = request.body.decode("latin-1")
        return (*places, "body") if mask_text(body, keys) != body else tuple(places)

    # The answer

    @property
    def status(self) -> int | None:
        """The status of the answer; None when there was none, or is none yet."""
        response = self.response
        return None if response is None or not self.sent else response.status

    @property
    def response_fields(self) -> list[tuple[str, str]]:
        """The answer's header fields without those of its framing, keys masked; none without an answer."""
        response = self.response
        if response is None or self.status is None:
            return []
        keys = self.secrets
        found = [*response.head.fields, ("Date", response.date.decode("ascii"))]
        return [(name, mask_field(name, value, keys)) for name, value in found]

    @property
    def response_headers(self) -> dict[str, str]:
        """The answer's header fields with lower-case names, keys masked; repeated ones joined by a comma."""
        return _joined(self.response_fields)

    @property
    def response_body(self) -> bytes:
        """The answer's body, empty without an answer and for HEAD; readable and whole, whatever went out of it."""
        response = self.response
        return b"" if response is None or self.status is None or self.method == "HEAD" else response.body

    # The decision

    @property
    def is_violation(self) -> bool:
        """Whether the client broke the contract with it."""
        return self.condition is not None and self.condition.violation

    @property
    def sentence(self) -> Sentence | None:
        """The sentence of the interface that decided, when it was refused."""
        if self.violations:
            return self.violations[0].sentence
        return SENTENCES[self.condition.subject] if self.condition is not None else None

    @property
    def section(self) -> str | None:
        """The section of the interface that it broke."""
        if self.violations:
            return self.violations[0].sentence.section
        return self.condition.section if self.condition is not None else None

    @property
    def where(self) -> str:
        """The section that it broke as it stands in a sentence: `` (§4.1)``, `` (RFC 9110 §15.5.6)`` or nothing."""
        section = self.section
        if not section:
            return ""
        return f" ({section})" if section.startswith("RFC") else f" (§{section})"

    @property
    def reason(self) -> str:
        """Why it was answered as it was, in words; empty for what went as it should."""
        if self.violations:
            return self.masked("; ".join(map(str, self.violations)))
        if self.condition is not None:
            return self.masked(f"{self.condition.message}{f': {self.detail}' if self.detail else ''}")
        return f"fault {self.fault}" if self.fault is not None else ""

    @property
    def decision(self) -> str:
        """What was decided, in a few words: ``executed``, ``fault reset()``, ``refused: invalid_body (§2)``."""
        parts = [f"fault {self.delayed_by}"] if self.delayed_by is not None else []
        parts += ["executed"] if self.executed else []
        if self.fault is not None:
            parts.append(f"fault {self.fault}")
        if self.condition is not None:
            parts.append(f"refused: {self.condition.name}{self.where}")
        if self.by_expectation and self.response is not None:
            parts.append("answered by httpserver")
        return ", ".join(parts) or ("answered" if self.response is not None else "held back")
