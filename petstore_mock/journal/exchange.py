"""One request, its response and the fake's decision: the journal, reports and ``verify`` share this class."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from petstore_mock.common.masking import mask_text, printable, request_line
from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import refuse
from petstore_mock.common.suggesting import readable
from petstore_mock.http.cors import hidden_from
from petstore_mock.http.request import ApiRequest, Headers
from petstore_mock.http.response import Response
from petstore_mock.interface.table import OPERATIONS, Operation, Sentence, sentence_about
from petstore_mock.interface.violations import Described, in_words
from petstore_mock.journal.masks import FieldPairs, masked_request, masked_response, masked_value, masked_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.faults import Fault
    from petstore_mock.interface.conditions import Condition
    from petstore_mock.interface.violations import Violation

KEPT_BODY: Final = 64 * 1024  # bytes of a body that the journal keeps
# Bytes of a body whose values the journal keeps. A list of empty lists takes twenty times as much memory as its text.
_KEPT_VALUES: Final = 1024
# Bytes that the objects of an exchange and of a violation take besides their texts.
_OWN_WEIGHT: Final = 1500
_VIOLATION_WEIGHT: Final = 800
# Credentials of one request to look for in its texts. Only one is valid, and each costs a search.
_MOST_CREDENTIALS: Final = 4
_DEFAULT_BASE: Final = "http://127.0.0.1:8080"  # for a request with a missing or invalid Host
_URL_SAFE: Final = "/:?#[]@!$&'()*+,;=%-._~"  # characters that a URL may hold (RFC 3986 §2)


def _of_request(name: str) -> Any:  # noqa: ANN401  # the attribute's annotation has the type
    return property(lambda exchange: getattr(exchange.request, name))


@readable(request=ApiRequest)
class Exchange:
    """One request, its response, and the fake's decision about it.

    The attributes have the values from the wire, keys included. Keys are masked in text, JSON, HAR, HTML, copies and
    pickles of an exchange, and in ``repr``, ``reason``, ``decision`` and ``request_line``.
    """

    number: int  #: its place in the journal, from 1
    owner: str | None  #: the test that owns the world, or else the name of the world, or None
    request: ApiRequest  #: the journal keeps at most 64 KiB of its body
    timestamp: float  #: when it arrived, in seconds since 1970 by the fake's clock

    connection: int = _of_request("connection")  #: the number of its connection, from 1; 0 without a socket
    exchange: int = _of_request("exchange")  #: its number on its connection, from 1
    method: str = _of_request("method")  #: as sent
    target: str = _of_request("target")  #: path and query as sent, percent-encoded
    path: str = _of_request("path")  #: percent-decoded
    query: dict[str, str] = _of_request("query")  #: the parameters, decoded; a repeated parameter has its last value
    body: bytes = _of_request("body")  #: the body of the request, at most its first 64 KiB

    # Class attributes save memory: an instance stores only the values that differ.
    operation: str | None = None  #: the operation that the route found, or None
    duration: float = 0.0  #: seconds from the first byte of the request to the response, by the real clock
    condition: Condition | None = None  #: why the fake refused it, or None
    detail: str = ""  #: more about the refusal
    violations: tuple[Violation, ...] = ()  #: the first broken rules; ``omitted`` counts the others
    omitted: int = 0  #: how many more rules it broke
    fault: Fault | None = None  #: the fault that it met; if it met two, the one after the commit
    delayed_by: Fault | None = None  #: if it met two faults, the first, which only slows a response
    executed: bool = False  #: whether the operation ran and its effect was kept
    outcome: str | None = None  #: how the response ended, such as ``reset``; None if it went out whole and at once
    in_flight: bool = False  #: whether a fault still delays or sends the response; False once a hang begins
    expected: bool = False  #: whether the test expects the violation
    by_expectation: bool = False  #: whether an expectation of ``httpserver`` made the response
    noted: bool = False  # whether the pytest plugin has recorded it
    mutant: str | None = None  #: the mutant that changed the response
    former: JsonObject | None = None  # the animal before the request changed it; a mutant may restore it
    secure: bool = False  #: whether it arrived over TLS
    response: Response | None = None  #: the response that the fake made, even if it never went out
    sent: bool = True  #: whether the head of the response went out, as far as the fake knows
    keys: Callable[[], Iterable[str]] = tuple  # the world's keys, to mask
    cut_request: int = 0  #: bytes of the body of the request that the journal does not keep
    cut_response: int = 0  #: bytes of the body of the response that the journal does not keep
    changed: Callable[[Exchange], object] | None = None  # called when a deferred response ends; trims it
    weight: int = 0  # about how many bytes of memory it takes

    def __init__(self, number: int, owner: str | None, request: ApiRequest, timestamp: float) -> None:
        self.number = number
        self.owner = owner
        self.request = request
        self.timestamp = timestamp

    def __repr__(self) -> str:
        words = ["<Exchange", f"{self.number}", self.request_line, self.result]
        if self.operation is not None:
            words.append(self.operation)
        if self.condition is not None or self.fault is not None:
            words.append(f"({self.decision})")
        return printable(f"{' '.join(words)}>")

    def __getstate__(self) -> JsonObject:
        """Return the state of a copy or a pickle, which may leave the process: its keys are masked."""
        return vars(masked(self))

    def complete(self, outcome: str | None, *, sent: bool) -> None:
        """Record how a deferred response ended, or that a hang began; a later call replaces the record."""
        self.outcome = outcome
        self.sent = sent
        self.in_flight = False
        self.duration = perf_counter() - self.request.started
        if self.changed is None:
            self.trim()
        else:
            self.changed(self)

    def trim(self) -> None:
        """Keep the first 64 KiB of each body. Code that holds the original request or response has the whole body.

        A description replaces each large value that broke a rule.
        """
        request = self.request
        response = self.response
        if self.violations and len(request.body) > _KEPT_VALUES:
            self.violations = tuple(map(_without_large_value, self.violations))
        if len(request.body) > KEPT_BODY:
            self.cut_request = len(request.body) - KEPT_BODY
            self.request = request = replace(request, body=request.body[:KEPT_BODY])
        if response is not None and len(response.body) > KEPT_BODY:
            self.cut_response = len(response.body) - KEPT_BODY
            self.response = response = Response(response.head, response.body[:KEPT_BODY], response.date)
        sent = 0 if response is None else len(response.body)
        texts = len(request.target) + len(request.body) + sent
        self.weight = _OWN_WEIGHT + request.fields.weight + texts + _VIOLATION_WEIGHT * len(self.violations)

    @property
    def hidden(self) -> str:
        """Why a browser hides the response from the page that sent the request (CORS); empty if it does not."""
        if self.response is None:
            return ""
        origin = hidden_from(self.request, self.response.head)
        if origin is None:
            return ""
        page = self.masked(origin)
        way = f"allow the origin with the option cors (serve --cors {page}), or proxy this path on the page's server"
        return printable(f"browsers hide this response from pages of {page}: {way}")

    # The request

    @property
    def fields(self) -> FieldPairs:
        """The header fields of the request in the order sent."""
        return self.request.fields.as_text()

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the request by name, in any case; a comma joins repeated ones."""
        return self.request.headers

    @property
    def body_size(self) -> int:
        """The size of the body that the client sent, in bytes."""
        return len(self.request.body) + self.cut_request

    def json(self) -> Json:
        """Return the decoded body, as :meth:`ApiRequest.json` does.

        Raises:
            PetStoreMockError: the journal keeps only the beginning of the body.
            ValueError: the body is not JSON, or its values are nested too deep.
        """
        if self.cut_request:
            refuse(f"expected a body of at most {KEPT_BODY} bytes for json(); {self.cut_body}: read 'body'")
        return self.request.json()

    @property
    def cut_body(self) -> str:
        """How much of the request's body the journal keeps, in words; empty if it keeps all."""
        return _cut_words(len(self.body), self.cut_request)

    @property
    def url(self) -> str:
        """The URL in a form that every URL parser accepts.

        127.0.0.1:8080 replaces a missing or invalid ``Host``. Keys are masked only in copies of the exchange.
        """
        target = quote(self.request.base_path + self.target, safe=_URL_SAFE, errors="replace")
        if target.startswith(("http://", "https://")):  # absolute-form (RFC 9112 §3.2.2)
            return target
        scheme = "https" if self.secure else "http"
        base = f"{scheme}://{quote(self.request.header('host') or '', safe=':[].-')}"
        if not is_base_url(base):
            base = _DEFAULT_BASE
        separator = "" if target.startswith("/") else "/"
        return f"{base}{separator}{target}"

    # Masking

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of the world and the credentials of the request. Never show them."""
        return (*self.keys(), *self.request.credentials[:_MOST_CREDENTIALS])

    def masked(self, text: str) -> str:
        """Return ``text`` with the keys of the world and of the request masked."""
        return mask_text(text, self.secrets)

    @property
    def request_line(self) -> str:
        """Method and target as printable text of bounded length, keys masked."""
        return request_line(self.method, self.target, self.secrets)

    # The response

    @property
    def _gone_out(self) -> Response | None:
        if self.in_flight or not self.sent:
            return None
        return self.response

    @property
    def status(self) -> int | None:
        """The status of the response; None while the response is held back, and if it never went out."""
        response = self._gone_out
        return None if response is None else response.status

    @property
    def response_fields(self) -> FieldPairs:
        """The header fields of the sent response, without the framing fields."""
        response = self._gone_out
        if response is None:
            return []
        return [*response.head.fields, ("Date", response.date.decode("ascii"))]

    @property
    def response_headers(self) -> dict[str, str]:
        """The header fields of the response by name, in any case; a comma joins repeated ones."""
        return Headers.of(self.response_fields)

    @property
    def response_body(self) -> bytes:
        """The body of the response, at most its first 64 KiB; empty for HEAD.

        A fault that truncates the response does not shorten this value.
        """
        response = self._gone_out
        if response is None or self.method == "HEAD":
            return b""
        return response.body

    @property
    def response_size(self) -> int:
        """The size of the response's body, in bytes."""
        if self.status is None or self.method == "HEAD":
            return 0
        return len(self.response_body) + self.cut_response

    @property
    def cut_response_body(self) -> str:
        """How much of the response's body the journal keeps, in words; empty if it keeps all."""
        return _cut_words(len(self.response_body), self.cut_response)

    # The decision

    @property
    def result(self) -> str:
        """The status, how the response ended, or both: ``200``, ``reset``, ``200 (truncated)``."""
        if self.in_flight:
            return "in flight"
        if self.status is None:
            return self.outcome or "no response"
        if self.outcome:
            return f"{self.status} ({self.outcome})"
        return f"{self.status}"

    @property
    def is_violation(self) -> bool:
        """Whether the client broke the contract with this request."""
        return self.condition is not None and self.condition.violation

    @property
    def sentence(self) -> Sentence | None:
        """The sentence of the interface behind the refusal, or None."""
        if self.violations:
            return self.violations[0].sentence
        if self.condition is None:
            return None
        return sentence_about(self.condition.subject, self.operation)

    @property
    def section(self) -> str | None:
        """The section of the interface or the RFC behind the refusal, or None."""
        if self.violations:
            return self.violations[0].sentence.section
        if self.condition is None:
            return None
        return self.condition.section or sentence_about(self.condition.subject, self.operation).section

    @property
    def where(self) -> str:
        """A space and the section, such as ``(§4.1)`` or ``(RFC 9110 §15.5.6)``; empty without a section."""
        if not self.section:
            return ""
        sign = "" if self.section.startswith("RFC") else "§"
        return f" ({sign}{self.section})"

    @property
    def reason(self) -> str:
        """Why the fake refused the request, or the fault that it met, in words; keys are masked."""
        if self.violations:
            return self.masked(in_words(self.violations, self.omitted))
        if self.condition is not None:
            more = f": {self.detail}" if self.detail else ""
            return self.masked(f"{self.condition.message}{more}")
        if self.fault is not None:
            return self.masked(f"fault {self.fault}")
        return ""

    @property
    def why(self) -> str:
        """The fault and the condition of the refusal: ``fault delay(0.2); absent_pet (§7)``."""
        parts: list[str] = []
        if self.fault is not None:
            parts.append(f"fault {self.fault}")
        if self.condition is not None:
            parts.append(f"{self.condition.name}{self.where}")
        return self.masked("; ".join(parts))

    @property
    def loss(self) -> str:
        """Say that the fake executed the operation and its response got lost, or return an empty text."""
        is_lost = self.status is None and not self.in_flight
        if is_lost and self._done:
            return f"{self._done}, but the response was lost"
        return ""

    @property
    def _done(self) -> str:
        """What the operation did, in a word; empty if it did not run, or if its effect was not kept."""
        row = row_of(self)
        if row is None or not self.executed:
            return ""
        return "committed" if row.commits else "executed"

    @property
    def decision(self) -> str:
        """The fake's decision in a few words: ``committed, fault reset()``, ``refused, invalid_body (§2)``."""
        parts: list[str] = []
        if self.delayed_by is not None:
            parts.append(f"fault {self.delayed_by}")
        if self._done:
            parts.append(self._done)
        if self.condition is not None:
            parts.append("refused")
        if self.by_expectation:
            parts.append("response by httpserver")
        if self.why:
            parts.append(self.why)
        if parts:
            return ", ".join(parts)
        return "in flight" if self.in_flight else "responded"


def _without_large_value(violation: Violation) -> Violation:
    is_large_text = isinstance(violation.value, str) and len(violation.value) > _KEPT_VALUES
    if is_large_text or isinstance(violation.value, (list, dict)):
        return replace(violation, value=Described(violation.received))
    return violation


def _cut_words(kept: int, cut: int) -> str:
    if not cut or not kept:
        return ""
    return f"the journal keeps only the first {kept} of {kept + cut} bytes"


def masked(exchange: Exchange, *, with_bodies: bool = True) -> Exchange:
    """Return a copy that is safe to show: each key in it is masked, and each invalid value is only described.

    Without ``with_bodies``, the bodies are empty, which saves time if no reader needs them.
    """
    keys = exchange.secrets
    copy = Exchange.__new__(Exchange)
    copy.__dict__.update(exchange.__dict__)
    # The copy has no connection to its journal.
    for name in ("keys", "changed"):
        copy.__dict__.pop(name, None)
    copy.request = masked_request(exchange.request, keys, with_body=with_bodies)
    if exchange.response is not None:
        copy.response = masked_response(exchange.response, keys, with_body=with_bodies)
    copy.owner = masked_value(exchange.owner, keys)
    copy.detail = mask_text(exchange.detail, keys)
    copy.violations = tuple(masked_violation(violation, keys) for violation in exchange.violations)
    copy.fault = masked_value(exchange.fault, keys)
    copy.delayed_by = masked_value(exchange.delayed_by, keys)
    return copy


def row_of(exchange: Exchange) -> Operation | None:
    """Return the row of the operation that the route found."""
    return OPERATIONS.get(exchange.operation or "")


def is_unexpected(exchange: Exchange) -> bool:
    """Return whether the client broke the contract although the test does not expect it."""
    return exchange.is_violation and not exchange.expected


def faults_met(exchange: Exchange) -> list[Fault]:
    """Return the faults that a request met, in order."""
    return [*filter(None, (exchange.delayed_by, exchange.fault))]


def text_of(content: bytes) -> str | None:
    """Return ``content`` as text; None if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_base_url(url: object) -> bool:
    """Return whether ``url`` has an HTTP scheme, a host, no user and no invalid port."""
    with suppress(ValueError):  # brackets without an address, or a port beyond 65535
        parts = urlsplit(str(url))
        is_http = parts.scheme in {"http", "https"} and "@" not in parts.netloc
        return is_http and parts.port != 0 and bool(parts.hostname)
    return False
