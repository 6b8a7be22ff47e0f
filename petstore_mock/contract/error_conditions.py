"""Why a request is refused, and how the refusal reads: one table, and the one function that makes an error body."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONDITIONS", "REALM", "Condition", "condition_of_status", "error_document"]

REALM: Final = "petstore"
_CHALLENGE: Final = f'Bearer realm="{REALM}"'


@dataclass(frozen=True, slots=True)
class Condition:
    """Why a request is refused, and how the refusal reads.

    Attributes:
        name: how the journal and the code speak of it.
        status: the HTTP status of the answer.
        code: the ``code`` of the error body under the default behaviour (§7 shows no values).
        message: the first sentence of ``message``.
        section: the section of the interface, or the RFC, that demands the refusal.
        subject: the key of ``contract.SENTENCES`` that a report quotes.
        violation: whether the client broke the contract (an absent animal is no fault of the client).
    """

    name: str
    status: int
    code: str
    message: str
    section: str = ""
    subject: str = "http"
    violation: bool = True

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The header fields that HTTP demands with it, as far as they don't depend on the request."""
        match self.status:
            case 401 if self.name == "missing_key":  # RFC 6750 §3.1: no error code when no credentials were sent
                return (("WWW-Authenticate", _CHALLENGE),)
            case 401:
                error = 'error="invalid_token", error_description="The API key is not valid"'
                return (("WWW-Authenticate", f"{_CHALLENGE}, {error}"),)
            case 407:  # RFC 9110 §15.5.8; the scheme that clients know of proxies (RFC 7617 §2)
                return (("Proxy-Authenticate", f'Basic realm="{REALM}"'),)
            case 426:  # RFC 9110 §15.5.22, whose own example it is
                return (("Upgrade", "HTTP/3.0"),)
            case 415:
                return (("Accept", "application/json"),)  # RFC 9110 §12.5.1
        return ()


def _table(*conditions: Condition) -> Mapping[str, Condition]:
    return MappingProxyType({condition.name: condition for condition in conditions})


CONDITIONS: Final[Mapping[str, Condition]] = _table(
    # §5: missing and invalid keys are one thing to the client and four to the journal.
    Condition(
        "missing_key", 401, "unauthorized", "The API key is missing: send 'Authorization: Bearer <API_KEY>'", "5", "key"
    ),
    Condition(
        "malformed_credentials",
        401,
        "unauthorized",
        "The API key is missing or invalid: send exactly one 'Authorization: Bearer <API_KEY>'",
        "5",
        "key",
    ),
    Condition("unknown_key", 401, "unauthorized", "The API key is not valid", "5", "key"),
    Condition("revoked_key", 401, "unauthorized", "The API key is not valid", "5", "key", violation=False),
    Condition("expired_key", 401, "unauthorized", "The API key is not valid", "5", "key", violation=False),
    Condition("retired_key", 401, "unauthorized", "The API key is not valid", "5", "key", violation=False),
    # §7
    Condition("invalid_body", 400, "invalid_body", "The request body is invalid", "7", "body"),
    Condition("malformed_json", 400, "malformed_json", "The request body is not valid JSON", "1", "json"),
    Condition("invalid_query", 400, "invalid_parameter", "The query parameters are invalid", "7", "query"),
    Condition("invalid_pet_id", 400, "invalid_parameter", "The identifier of the animal is invalid", "4.3", "petId"),
    Condition(
        "malformed_pet_id",
        404,
        "not_found",
        "No animal can have this identifier: petId is a decimal int64",
        "4.3",
        "petId",
    ),
    Condition(
        "absent_pet", 404, "not_found", "There is no animal with this identifier", "7", "absent", violation=False
    ),
    Condition(
        "operation_removed",
        410,
        "gone",
        "getPet was removed on 5 December 2030: use GET /pets with the status filter",
        "4.3",
        "removed",
    ),
    Condition(
        "operation_removed_404",
        404,
        "not_found",
        "getPet was removed on 5 December 2030: use GET /pets with the status filter",
        "4.3",
        "removed",
    ),
    Condition(
        "rate_limited", 429, "rate_limited", "Too many requests: wait before the next", "8", "limits", violation=False
    ),
    # What HTTP demands around the interface (RFC 9110, RFC 9112).
    Condition("unknown_path", 404, "not_found", "The interface has no such path", "4", "paths"),
    Condition(
        "unknown_path_501",
        501,
        "not_implemented",
        "The interface names no such operation, or names it only",
        "4.4",
        "paths",
    ),
    Condition(
        "method_not_allowed", 405, "method_not_allowed", "The method is not allowed here", "RFC 9110 §15.5.6", "paths"
    ),
    Condition("unknown_method", 501, "not_implemented", "The method is not known", "RFC 9110 §9.1", "paths"),
    Condition(
        "unsupported_media_type",
        415,
        "unsupported_media_type",
        "The request body must be application/json",
        "4.2",
        "json",
    ),
    Condition("wrong_media_type", 400, "invalid_body", "The request body must be application/json", "4.2", "json"),
    Condition("body_too_large", 413, "body_too_large", "The request body is too large", "RFC 9110 §15.5.14", "limits"),
    Condition("malformed_target", 400, "malformed_request", "The request target is malformed", "RFC 9112 §3.2"),
    Condition("malformed_request", 400, "malformed_request", "The request is not valid HTTP/1.1", "RFC 9112"),
    Condition("bad_host", 400, "malformed_request", "A request needs exactly one valid Host field", "RFC 9112 §3.2"),
    Condition(
        "misdirected_request",
        421,
        "misdirected_request",
        "An https:// target must come over TLS",
        "RFC 9110 §7.4",
    ),
    Condition("request_timeout", 408, "request_timeout", "The request did not arrive in time", "RFC 9110 §15.5.9"),
    Condition("uri_too_long", 414, "uri_too_long", "The request target is too long", "RFC 9110 §15.5.15"),
    Condition("expectation_failed", 417, "expectation_failed", "The expectation is not known", "RFC 9110 §15.5.18"),
    Condition("header_too_large", 431, "header_too_large", "The header section is too large", "RFC 6585 §5"),
    Condition(
        "unknown_transfer_coding",
        501,
        "not_implemented",
        "The transfer coding is not known: send Content-Length or chunked",
        "RFC 9112 §6.1",
    ),
    Condition(
        "unknown_http_version", 505, "http_version_not_supported", "Send HTTP/1.1 or HTTP/1.0", "RFC 9110 §15.6.6"
    ),
    # Addresses of worlds, which are the fake's own: no sentence of the interface speaks of them.
    Condition("unknown_world", 404, "not_found", "No world has this address", violation=False),
    Condition("ended_world", 404, "not_found", "The world of this address is over", violation=False),
    # Not the client's doing.
    Condition("released", 503, "reset", "The fake was reset while this answer was held", violation=False),
    Condition("internal_error", 500, "internal_error", "The fake itself failed: this is a bug in it", violation=False),
)


# What a status says by itself, of those that have several conditions or a message of ours, and of those that Python's
# versions call differently.
_BY_STATUS: Final = {
    400: "invalid_body",
    401: "unknown_key",
    404: "absent_pet",
    413: "body_too_large",
    414: "uri_too_long",
    429: "rate_limited",
    431: "header_too_large",
}


@cache
def condition_of_status(status: int) -> Condition:
    """Return the condition that a status stands for by itself; for one that the table does not have, its phrase."""
    name = _BY_STATUS.get(status)
    if name is not None:
        return CONDITIONS[name]
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    code = phrase.lower().replace(" ", "_").replace("-", "_")
    return Condition(code, status, code, phrase, violation=False)


def error_document(code: str, message: str, status: int) -> dict[str, Any]:
    """Make an Error (§2): the only place where one is made. ``status`` carries the HTTP status (§7)."""
    return {"code": code, "message": message, "status": status}
