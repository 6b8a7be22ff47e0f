"""What a client's exception says: an HTTP status, or what went wrong on the way.

Libraries are told by the names of their classes, so that none of them is imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.numbers import is_integer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CLIENT_ERRORS", "REDIRECTS", "SUCCESSES", "Kind", "UnknownErrorError", "classify_exception"]

Kind = int | Literal["transport", "timeout", "protocol"]
"""What an exception means: an HTTP status, or how the answer was lost."""

SUCCESSES: Final = range(200, 300)  # RFC 9110 §15.3
REDIRECTS: Final = range(300, 400)  # §15.4
CLIENT_ERRORS: Final = range(400, 500)  # §15.5

# Class names along the MRO, the most telling kind first: most libraries derive a timeout from a transport error, and
# requests derives everything, JSONDecodeError included, from OSError.
_NAMES: Final[tuple[tuple[Literal["transport", "timeout", "protocol"], frozenset[str]], ...]] = (
    (
        "timeout",
        frozenset(
            {
                "TimeoutError",  # builtins, socket, asyncio, urllib3
                "Timeout",  # requests
                "TimeoutException",  # httpx
                "ServerTimeoutError",  # aiohttp
            }
        ),
    ),
    (
        "protocol",
        frozenset(
            {
                "JSONDecodeError",  # json, requests
                "UnicodeDecodeError",
                "HTTPException",  # http.client: IncompleteRead, BadStatusLine
                "ProtocolError",  # urllib3, httpx
                "DecodingError",  # httpx
                "DecodeError",  # urllib3
                "ChunkedEncodingError",  # requests
                "ContentDecodingError",
                "TooManyRedirects",
                "ClientPayloadError",  # aiohttp
                "ContentTypeError",
            }
        ),
    ),
    (
        "transport",
        frozenset(
            {
                "OSError",  # ConnectionError, socket.error, urllib's URLError, requests' ConnectionError
                "TransportError",  # httpx
                "HTTPError",  # urllib3's base class; the others of this name bear a status
                "ClientError",  # aiohttp
            }
        ),
    ),
)
_STATUSES: Final = range(100, 600)
_GAVE_UP: Final = re.compile(r"too many (\d{3}) error responses")  # urllib3's ResponseError, with a status_forcelist
_DEEPEST: Final = 10


class UnknownErrorError(Exception):
    """An exception that says neither a status nor what went wrong on the way."""


def classify_exception(error: BaseException) -> Kind:
    """Say what an exception of a client means: the default ``classify`` of the machine.

    A status is looked for in ``status_code``, ``status``, ``code`` and ``response``, then the class is looked at: those
    of requests, httpx, urllib3, urllib, http.client and aiohttp are known. If it is none of these, the exception it was
    raised from says more (``raise ... from error``); one that was merely being handled says nothing. An exception
    of Python itself that is no OSError (``KeyError``) is known to be none of these, whatever it was raised from.

    Args:
        error: what a call of the client raised.

    Returns:
        The HTTP status, or ``"transport"``, ``"timeout"`` or ``"protocol"``.

    Raises:
        UnknownErrorError: the exception says nothing of the kind; the machine takes it for a bug of the client.
    """
    for link in _chain(error):
        if _is_unreadable(link):
            return "protocol"
        status = _status(link) or _given_up_on(link)
        if status is not None:
            # An error that bears a success (aiohttp's ContentTypeError) is about what came along with it.
            return status if status not in SUCCESSES else "protocol"
        names = {ancestor.__name__ for ancestor in type(link).__mro__}
        for kind, known in _NAMES:
            if names & known:
                return kind
    raise UnknownErrorError(f"{type(error).__module__}.{type(error).__qualname__}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and what it stands for."""
    link: BaseException | None = error
    for _ in range(_DEEPEST):
        if link is None:
            return
        yield link
        if type(link).__module__ == "builtins" and not isinstance(link, OSError):
            return  # a KeyError raised while handling an answer is no answer
        link = _reason(link) or link.__cause__


def _reason(error: BaseException) -> BaseException | None:
    reason = getattr(error, "reason", None)  # urllib's URLError, urllib3's MaxRetryError
    return reason if isinstance(reason, BaseException) else None


def _is_unreadable(error: BaseException) -> bool:
    """Whether aiohttp could not read an answer: its status is then what a server would say of a request like that."""
    return any(ancestor.__name__ == "HttpProcessingError" for ancestor in type(error.__cause__).__mro__)


def _given_up_on(error: BaseException) -> int | None:
    """Return the status after which urllib3 has given up to ask again, which requests' RetryError holds too."""
    held = error.args[0] if error.args else None
    for link in (error, held):
        reason = _reason(link) if isinstance(link, BaseException) else None
        found = _GAVE_UP.fullmatch(str(reason))
        if found is not None:
            return int(found[1])
    return None


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for holder, names in ((error, ("status_code", "status", "code")), (response, ("status_code", "status"))):
        for name in names:
            value = getattr(holder, name, None)
            if is_integer(value):
                if value in _STATUSES:
                    return int(value)
                break  # aiohttp's own has a status of 0, and a code that warns when it is looked at
    return None
