"""The meaning of a client's exception: an HTTP status, or what went wrong on the way.

Libraries are recognised by the names of their classes, so none of them is imported.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Final, Literal

from petstore_mock.common.values import is_integer

Kind = int | Literal["transport", "timeout", "protocol", "argument"]
"""The meaning of an exception: an HTTP status, how the response was lost, or that the client refused an argument."""

SUCCESSES: Final = range(200, 300)  # RFC 9110 §15.3

# Modules that are no client's own: the standard library, and those that clients are built on.
LIBRARIES: Final = sys.stdlib_module_names | frozenset(
    {
        "aiohttp", "anyio", "attr", "attrs", "certifi", "charset_normalizer", "h11", "h2", "httpcore", "httpx",
        "hypothesis", "idna", "multidict", "petstore_mock", "pydantic", "pydantic_core", "requests", "sniffio",
        "urllib3", "yarl",
    }
)  # fmt: skip

# Names of classes along the MRO. The first kind that fits counts: most libraries derive a timeout from a transport
# error, and requests derives everything from OSError, its JSONDecodeError too.
_NAMES: Final[dict[Kind, set[str]]] = {
    "timeout": {"TimeoutError", "Timeout", "TimeoutException", "ServerTimeoutError"},
    "protocol": {
        "JSONDecodeError", "UnicodeDecodeError", "HTTPException", "ProtocolError", "IncompleteReadError",
        "DecodingError", "DecodeError", "ChunkedEncodingError", "ContentDecodingError", "TooManyRedirects",
        "ClientPayloadError", "ContentTypeError",
    },
    # urllib3's HTTPError is the base of its errors; others of this name bear a status.
    "transport": {"OSError", "TransportError", "NetworkError", "HTTPError", "ClientError"},
}  # fmt: skip
_GAVE_UP: Final = re.compile(r"too many (\d{3}) error responses")  # urllib3's ResponseError, with a status_forcelist
_DEEPEST: Final = 10  # exceptions of a chain


class UnknownErrorError(Exception):
    """An exception that says neither a status nor what went wrong on the way."""


def classify_exception(error: BaseException) -> Kind:
    """Return the meaning of a client's exception: the default ``classify``.

    It looks for a status in ``status_code``, ``status``, ``code`` and ``response``, then at the class (those of
    requests, httpx, httpcore, urllib3, urllib, http.client, aiohttp, asyncio and ssl are known), then at the exception
    that it was raised from.

    Args:
        error: the exception that a call of the client raised.

    Returns:
        The HTTP status, ``"transport"``, ``"timeout"`` or ``"protocol"``.

    Raises:
        UnknownErrorError: the exception says nothing of the kind.
    """
    link: BaseException | None = error
    for _ in range(_DEEPEST):
        if link is None:
            break
        names, causes = ({base.__name__ for base in type(one).__mro__} for one in (link, link.__cause__))
        if "HttpProcessingError" in causes:
            return "protocol"  # aiohttp could not read a response, and made its status up
        status = _status(link)
        if status is not None:
            # An error with the status of a success (aiohttp's ContentTypeError) is about the rest of the response.
            return status if status not in SUCCESSES else "protocol"
        for kind, known in _NAMES.items():
            if names & known:
                return kind
        if type(link).__module__ == "builtins":
            break  # a KeyError is a mistake of the client, whatever it was raised from
        link = _reason(link) or link.__cause__
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    raise UnknownErrorError(
        f"expected an exception that says a status or what went wrong; got {name}: give it a status_code, raise it "
        "from the library's error, or pass classify= with a function that reads it"
    ) from error


def _reason(error: object) -> BaseException | None:
    reason = getattr(error, "reason", None)  # urllib's URLError, urllib3's MaxRetryError
    return reason if isinstance(reason, BaseException) else None


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    for holder, names in ((error, ("status_code", "status", "code")), (response, ("status_code", "status"))):
        for name in names:
            value: Any = getattr(holder, name, None)
            if is_integer(value):
                if 100 <= value < 600:
                    return int(value)
                break  # aiohttp's own errors have status 0, and a code that warns when it is read
    for link in (error, error.args[0] if error.args else None):  # requests' RetryError holds urllib3's error
        found = _GAVE_UP.fullmatch(str(_reason(link)))
        if found is not None:
            return int(found[1])
    return None
