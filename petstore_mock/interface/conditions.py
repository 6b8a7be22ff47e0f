"""The table of conditions: each reason to refuse a request, with the status, code and message of the refusal."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from petstore_mock.common.values import by_name

if TYPE_CHECKING:
    from collections.abc import Mapping

REALM: Final = "petstore"
_CHALLENGE: Final = f'Bearer realm="{REALM}"'


@dataclass(frozen=True, slots=True)
class Condition:
    """A reason to refuse a request, with the form of the refusal."""

    name: str  # as the journal shows it
    status: int
    message: str  # the start of ``message`` in the error body
    section: str = ""  # the section of the interface, or the RFC, that reports cite; empty: the section of the sentence
    subject: str = "http"  # the topic of the sentence that reports quote; the operation may have its own
    _: KW_ONLY
    code: str = ""  # ``code`` of the error body under the default behaviour; §7 shows no values
    violation: bool = True  # whether the request breaks the contract; a request for an absent animal does not break it
    fields: tuple[tuple[str, str], ...] = ()  # the header fields of the status, except those that vary by request


_FIELDS: Final[Mapping[str | int, tuple[tuple[str, str], ...]]] = {  # by the name of a condition, else by its status
    "missing_key": (("WWW-Authenticate", _CHALLENGE),),  # RFC 6750 §3.1: no error code without credentials
    "content_coding": (("Accept-Encoding", "identity"),),  # RFC 9110 §12.5.3: the coding caused the 415
    401: (("WWW-Authenticate", f'{_CHALLENGE}, error="invalid_token", error_description="The API key is not valid"'),),
    407: (("Proxy-Authenticate", f'Basic realm="{REALM}"'),),  # RFC 9110 §15.5.8
    415: (("Accept", "application/json"),),  # RFC 9110 §12.5.1
    426: (("Upgrade", "HTTP/3.0"),),  # RFC 9110 §15.5.22
}


# RFC 9110 renamed the last four. Python before 3.13 has their older phrases.
_PHRASES: Final = {
    **{status.value: status.phrase for status in HTTPStatus},
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}


def reason_phrase(status: int) -> str:
    """Return the reason phrase of ``status``; empty if no RFC defines the status."""
    return _PHRASES.get(status, "")


def _code(status: int) -> str:
    return (reason_phrase(status) or "Error").lower().replace("'", "").replace(" ", "_").replace("-", "_")


def _row(name: str, status: int, *words: str, code: str = "", violation: bool = True) -> Condition:
    fields = _FIELDS.get(name, _FIELDS.get(status, ()))
    return Condition(name, status, *words, code=code or _code(status), violation=violation, fields=fields)


_INVALID_KEY: Final = "The API key is not valid"
_WRONG_KEY: Final = "The API key is missing or invalid: send exactly one 'Authorization: Bearer <API_KEY>'"
_NOT_JSON: Final = "The request body must be application/json"

_ROWS: Final = (
    # §5 has one response for a missing or invalid key. The journal distinguishes the reasons.
    _row("missing_key", 401, "The API key is missing: send 'Authorization: Bearer <API_KEY>'", "5", "key"),
    _row("malformed_credentials", 401, _WRONG_KEY, "5", "key"),
    _row("unknown_key", 401, _INVALID_KEY, "5", "key"),
    _row("revoked_key", 401, _INVALID_KEY, "5", "key"),
    _row("rotated_key", 401, _INVALID_KEY, "5", "key", violation=False),
    _row("expired_key", 401, _INVALID_KEY, "5", "key", violation=False),
    _row("retired_key", 401, _INVALID_KEY, "5", "key", violation=False),
    _row("invalid_body", 400, "The request body is invalid", "7", "body", code="invalid_body"),
    _row("malformed_json", 400, "The request body is not valid JSON", "1", "json", code="malformed_json"),
    _row("invalid_query", 400, "The query parameters are invalid", "7", "query", code="invalid_parameter"),
    _row("invalid_header", 400, "A header parameter is invalid", "7", "header", code="invalid_parameter"),
    _row("invalid_path", 400, "The path parameters are invalid", "", "path", code="invalid_parameter"),
    _row("malformed_path", 404, "Nothing can have this path", "", "path"),
    _row("absent_pet", 404, "There is no animal with this identifier", "7", "absent", violation=False),
    # The detail of the refusal names the operation and its replacement.
    _row("operation_removed", 410, "The operation was removed", "", "removed"),
    _row("operation_removed_404", 404, "The operation was removed", "", "removed"),
    _row("rate_limited", 429, "Too many requests: wait", "8", "limits", code="rate_limited", violation=False),
    _row("unknown_path", 404, "The interface has no such path", "4", "paths"),
    # Browsers request files such as a favicon by default. The client made no mistake.
    _row("browser_file", 404, "The interface has no such path", "4", "paths", violation=False),
    # Load balancers request a path such as / to see whether the service is up. The client made no mistake.
    _row("probe", 404, "The interface has no such path", "4", "paths", violation=False),
    _row("unknown_path_501", 501, "The interface does not describe an operation at this path", "4.4", "paths"),
    _row("unsupported_media_type", 415, _NOT_JSON, "", "body"),
    _row("content_coding", 415, "The request body must not have a content coding", "RFC 9110 §15.5.16", "json"),
    _row("wrong_media_type", 400, _NOT_JSON, "", "body", code="invalid_body"),
    # Refusals that HTTP defines and the interface does not mention (RFC 9110, RFC 9112, RFC 6585).
    _row("method_not_allowed", 405, "The method is not allowed here", "RFC 9110 §15.5.6", "paths"),
    _row("unknown_method", 501, "The method is not known", "RFC 9110 §9.1", "paths"),
    _row("body_too_large", 413, "The request body is too large", "RFC 9110 §15.5.14", "limits", code="body_too_large"),
    _row("malformed_target", 400, "The request target is malformed", "RFC 9112 §3.2", code="malformed_request"),
    _row("malformed_request", 400, "The request is not valid HTTP/1.1", "RFC 9112", code="malformed_request"),
    _row("bad_host", 400, "A request needs exactly one valid Host field", "RFC 9112 §3.2", code="malformed_request"),
    _row("misdirected_request", 421, "A request with an https:// target needs TLS", "RFC 9110 §7.4"),
    _row("request_timeout", 408, "The request did not arrive in time", "RFC 9110 §15.5.9"),
    _row("uri_too_long", 414, "The request target is too long", "RFC 9110 §15.5.15", code="uri_too_long"),
    _row("expectation_failed", 417, "The header Expect has an unknown value", "RFC 9110 §15.5.18"),
    _row("header_too_large", 431, "The header section is too large", "RFC 6585 §5", code="header_too_large"),
    _row("unknown_transfer_coding", 501, "Only the transfer coding chunked is supported", "RFC 9112 §6.1"),
    _row("unknown_http_version", 505, "Only HTTP/1.1 and HTTP/1.0 are supported", "RFC 9110 §15.6.6"),
    # Refusals of the fake itself, which the interface does not mention.
    _row("unknown_world", 404, "No world has this address", violation=False),
    _row("ended_world", 404, "The world of this address has ended", violation=False),
    _row("released", 503, "The fake was reset while it held this response", code="reset", violation=False),
    _row("internal_error", 500, "The fake failed: this is a bug in the fake", code="internal_error", violation=False),
)

CONDITIONS: Final = by_name(_ROWS)

# The conditions of bare statuses. Any other status has its reason phrase, or Error, as the message.
_OF_STATUSES: Final = "invalid_body unknown_key absent_pet rate_limited body_too_large uri_too_long header_too_large"
_BY_STATUS: Final = {CONDITIONS[name].status: CONDITIONS[name] for name in _OF_STATUSES.split()}


@cache
def condition_of_status(status: int) -> Condition:
    """Return the condition of a bare status, such as a fault's. Most have the reason phrase as their message."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return _row(_code(status), status, reason_phrase(status) or "Error", violation=False)


def error_document(code: str, message: str, status: int) -> dict[str, object]:
    """Return an Error (§2), the body of every refusal; ``status`` is the HTTP status (§7)."""
    return {"code": code, "message": message, "status": status}
