"""One request with its response and the decision about it: the value that journal, reports and ``verify`` share."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from petstore_mock.common.masking import mask_target, mask_text, printable, request_line
from petstore_mock.common.real import perf_counter
from petstore_mock.http.response import Response
from petstore_mock.interface.table import OPERATIONS, SENTENCES, Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.faults import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.conditions import Condition
    from petstore_mock.interface.violations import Violation

KEPT_BODY: Final = 64 * 1024  # bytes of a body that the journal keeps
_DEFAULT_BASE: Final = "http://127.0.0.1:8080"  # for a request whose Host is missing or not valid
_URL_SAFE: Final = "/:?#[]@!$&'()*+,;=%-._~"  # characters that a URL may hold (RFC 3986 §2)

FieldPairs = list[tuple[str, str]]


def joined(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return header fields by lower-case name, repeated ones joined by a comma (RFC 9110 §5.2)."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name.lower(), []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}


def _of_request(name: str) -> Any:  # noqa: ANN401  # the annotation of the attribute has the type
    return property(lambda exchange: getattr(exchange.request, name))


class Exchange:
    """One request, its response, and the decision about it.

    The values are those that went over the wire, keys included. Text, JSON, HAR, HTML, copies and pickles of an
    exchange are masked, and so are ``repr``, ``reason``, ``decision`` and ``request_line``.
    """

    number: int  #: its place in the journal, from 1
    owner: str | None  #: the test that owns the world
    request: ApiRequest  #: the journal keeps at most 64 KiB of its body
    timestamp: float  #: the fake's time of its arrival, in seconds since 1970

    connection: int = _of_request("connection")  #: the number of its connection, from 1; 0 without a socket
    exchange: int = _of_request("exchange")  #: its number on its connection, from 1
    method: str = _of_request("method")  #: as sent
    target: str = _of_request("target")  #: path and query as sent, percent-encoded
    path: str = _of_request("path")  #: percent-decoded
    query: dict[str, str] = _of_request("query")  #: the parameters, decoded; a repeated parameter has its last value
    operation: str | None = _of_request("operation")  #: the operation that the route found, or None
    body: bytes = _of_request("body")  #: the body of the request, of a longer one the first 64 KiB

    # Most exchanges keep these values: an instance has only the ones that differ.
    duration: float = 0.0  #: seconds from its first byte to the response, by the real clock
    condition: Condition | None = None  #: why it was refused
    detail: str = ""  #: more about the refusal
    violations: tuple[Violation, ...] = ()  #: the broken rules; of thousands, the first
    omitted: int = 0  #: how many more rules it broke
    fault: Fault | None = None  #: the fault that it met; of two, the one after the commit
    delayed_by: Fault | None = None  #: the delay that it met before that fault
    executed: bool = False  #: whether the operation was executed and its effect kept
    outcome: str | None = None  #: how the response ended if not whole and at once, such as ``reset``
    in_flight: bool = False  #: whether the response is still held back or on its way
    expected: bool = False  #: whether the test expects its violation
    by_expectation: bool = False  #: whether an expectation of ``httpserver`` made the response
    mutant: str | None = None  #: the mutant that changed the response
    secure: bool = False  #: whether it came over TLS
    response: Response | None = None  #: the response that the core made, also if it never went out
    sent: bool = True  #: whether the head of the response went out, as far as the fake knows
    keys: Callable[[], Iterable[str]] = tuple  # to mask
    is_masked: bool = False  # whether it came from a copy or another process
    cut_request: int = 0  # bytes of the body that the journal does not keep
    cut_response: int = 0
    changed: Callable[[Exchange], object] | None = None  # called when a deferred response ends

    def __init__(self, number: int, owner: str | None, request: ApiRequest, timestamp: float) -> None:
        self.number = number
        self.owner = owner
        self.request = request
        self.timestamp = timestamp

    def __repr__(self) -> str:
        operation = "" if self.operation is None else f" {self.operation}"
        decision = f" ({self.decision})" if self.condition is not None or self.fault is not None else ""
        return printable(f"<Exchange {self.number} {self.request_line} {self.result}{operation}{decision}>")

    def complete(self, outcome: str, *, sent: bool) -> None:
        """Note how a deferred response ended, or that a hang has begun; the latest report counts."""
        self.outcome = outcome
        self.sent = sent
        self.in_flight = False
        self.duration = perf_counter() - self.request.started
        self.trim()
        if self.changed is not None:
            self.changed(self)

    def trim(self) -> None:
        """Keep the first 64 KiB of each body. The request and the response themselves stay whole for their users."""
        request, response = self.request, self.response
        if len(request.body) > KEPT_BODY:
            self.cut_request = len(request.body) - KEPT_BODY
            self.request = copy(request)
            self.request.body = request.body[:KEPT_BODY]
        if response is not None and len(response.body) > KEPT_BODY:
            self.cut_response = len(response.body) - KEPT_BODY
            self.response = Response(response.head, response.body[:KEPT_BODY], response.date)

    # The request

    @property
    def fields(self) -> FieldPairs:
        """The header fields of the request in the order sent."""
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self.request.fields]

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the request by lower-case name, repeated ones joined by a comma."""
        return joined(self.fields)

    @property
    def body_size(self) -> int:
        """The bytes of the body that was sent."""
        return len(self.request.body) + self.cut_request

    def json(self) -> Any:  # noqa: ANN401  # a JSON value is any value
        """Decode the body as :meth:`ApiRequest.json` does."""
        return self.request.json()

    @property
    def url(self) -> str:
        """Its URL, which every URL parser accepts, as far as its ``Host`` tells. Ask a masked copy."""
        target = quote(self.request.base_path + self.target, safe=_URL_SAFE, errors="replace")
        if target.startswith(("http://", "https://")):  # absolute-form (RFC 9112 §3.2.2)
            return target
        base = f"http{'s' if self.secure else ''}://{quote(self.request.header('host') or '', safe=':[].-')}"
        return f"{base if is_base_url(base) else _DEFAULT_BASE}{target if target.startswith('/') else f'/{target}'}"

    # Masking

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of its world and its own credentials: never show them."""
        return (*self.keys(), *self.request.credentials)

    def masked(self, text: str) -> str:
        """Return ``text`` with the keys of the world and of the request masked."""
        return mask_text(text, self.secrets)

    @property
    def masked_target(self) -> str:
        """The target with keys, and parameters with names like a key's, masked."""
        return mask_target(self.target, self.secrets)

    @property
    def request_line(self) -> str:
        """Method and target for a line of text: printable, bounded, keys masked."""
        return request_line(self.method, self.target, self.secrets)

    # The response

    @property
    def _gone_out(self) -> Response | None:
        return None if self.in_flight or not self.sent else self.response

    @property
    def status(self) -> int | None:
        """The status that went out; None if none did, or while the response is held back."""
        response = self._gone_out
        return None if response is None else response.status

    @property
    def response_fields(self) -> FieldPairs:
        """The header fields of the response that went out, without those of its framing."""
        response = self._gone_out
        return [] if response is None else [*response.head.fields, ("Date", response.date.decode("ascii"))]

    @property
    def response_headers(self) -> dict[str, str]:
        """The same by lower-case name, repeated ones joined by a comma."""
        return joined(self.response_fields)

    @property
    def response_body(self) -> bytes:
        """The body of the response, of a longer one the first 64 KiB; empty for HEAD. It is whole even if cut short."""
        response = self._gone_out
        return b"" if response is None or self.method == "HEAD" else response.body

    @property
    def response_size(self) -> int:
        """The bytes of the response's body."""
        return 0 if self.status is None or self.method == "HEAD" else len(self.response_body) + self.cut_response

    # The decision

    @property
    def result(self) -> str:
        """The status, how the response ended, or both: ``200``, ``reset``, ``200 (truncated)``."""
        if self.status is None:
            return "in flight" if self.in_flight else self.outcome or "no response"
        return f"{self.status} ({self.outcome})" if self.outcome else f"{self.status}"

    @property
    def is_violation(self) -> bool:
        """Whether the client broke the contract with it."""
        return self.condition is not None and self.condition.violation

    @property
    def sentence(self) -> Sentence | None:
        """The sentence of the interface that led to its refusal."""
        if self.violations:
            return self.violations[0].sentence
        return None if self.condition is None else SENTENCES[self.condition.subject]

    @property
    def section(self) -> str | None:
        """The section of the interface or the RFC that led to its refusal."""
        if self.violations:
            return self.violations[0].sentence.section
        return None if self.condition is None else self.condition.section

    @property
    def where(self) -> str:
        """The section in parentheses, behind a blank: `` (§4.1)``, `` (RFC 9110 §15.5.6)``, or nothing."""
        section = self.section or ""
        return f" ({'' if section.startswith('RFC') else '§'}{section})" if section else ""

    @property
    def reason(self) -> str:
        """Why it was refused, or the fault that it met, in words; keys are masked."""
        if self.violations:
            return self.masked("; ".join(map(str, self.violations)))
        if self.condition is not None:
            return self.masked(f"{self.condition.message}{f': {self.detail}' if self.detail else ''}")
        return self.masked(f"fault {self.fault}") if self.fault is not None else ""

    @property
    def why(self) -> str:
        """The fault that it met, and the condition that refused it: ``fault reset()``, ``invalid_body (§2)``."""
        parts = [f"fault {self.fault}"] if self.fault is not None else []
        parts += [f"{self.condition.name}{self.where}"] if self.condition is not None else []
        return self.masked("; ".join(parts))

    @property
    def decision(self) -> str:
        """What became of it in a few words: ``committed, fault reset()``, ``refused, invalid_body (§2)``."""
        parts = [f"fault {self.delayed_by}"] if self.delayed_by is not None else []
        if self.executed and self.operation is not None:
            parts.append("committed" if OPERATIONS[self.operation].commits else "executed")
        parts += ["refused"] if self.condition is not None else []
        parts += ["response by httpserver"] if self.by_expectation else []
        parts += [self.why] if self.why else []
        return ", ".join(parts) or ("in flight" if self.in_flight else "responded")


def text_of(content: bytes) -> str | None:
    """Return ``content`` as text; None where it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_base_url(url: object) -> bool:
    """Say whether ``url`` is text with a scheme of HTTP, a host, and a port that can be, or none."""
    with suppress(ValueError):  # brackets without an address, or a port beyond 65535
        parts = urlsplit(str(url))
        return parts.scheme in {"http", "https"} and bool(parts.netloc) and parts.port != 0
    return False
