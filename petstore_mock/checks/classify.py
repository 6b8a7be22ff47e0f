"""The meaning of a client's exception: an HTTP status, or what went wrong on the way.

Libraries are recognised by the names of their classes, so none of them is imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.values import is_integer

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = int | Literal["transport", "timeout", "protocol", "argument"]
"""The meaning of an exception: an HTTP status, how the response was lost, or that the client refused an argument."""

SUCCESSES: Final = range(200, 300)  # RFC 9110 §15.3
REDIRECTS: Final = range(300, 400)  # §15.4
CLIENT_ERRORS: Final = range(400, 500)  # §15.5

# Names of classes along the MRO. The first kind that fits counts: most libraries derive a timeout from a transport
# error, and requests derives everything from OSError, its JSONDecodeError too.
_NAMES: Final[tuple[tuple[Kind, str], ...]] = (
    ("timeout", "TimeoutError Timeout TimeoutException ServerTimeoutError"),
    (
        "protocol",
        (
            "JSONDecodeError UnicodeDecodeError HTTPException ProtocolError IncompleteReadError DecodingError "
            "DecodeError ChunkedEncodingError ContentDecodingError TooManyRedirects ClientPayloadError ContentTypeError"
        ),
    ),
    # urllib3's HTTPError is the base of its errors; others of this name bear a status.
    ("transport", "OSError TransportError NetworkError HTTPError ClientError"),
)
_STATUSES: Final = range(100, 600)
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
    for link in chain(error):
        if _is_unreadable(link):
            return "protocol"
        status = _status(link) or _given_up_on(link)
        if status is not None:
            # An error with the status of a success (aiohttp's ContentTypeError) is about the rest of the response.
            return status if status not in SUCCESSES else "protocol"
        names = {ancestor.__name__ for ancestor in type(link).__mro__}
        for kind, known in _NAMES:
            if not names.isdisjoint(known.split()):
                return kind
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    raise UnknownErrorError(
        f"expected an exception that says a status or what went wrong; got {name}: give it a status_code, raise it "
        "from the library's error, or pass classify= with a function that reads it"
    ) from error


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from."""
    link: BaseException | None = error
    for _ in range(_DEEPEST):
        if link is None:
            return
        yield link
        if type(link).__module__ == "builtins" and not isinstance(link, OSError):
            return  # a KeyError is a mistake of the client, whatever it was raised from
        link = _reason(link) or link.__cause__


def _reason(error: object) -> BaseException | None:
    reason = getattr(error, "reason", None)  # urllib's URLError, urllib3's MaxRetryError
    return reason if isinstance(reason, BaseException) else None


def _is_unreadable(error: BaseException) -> bool:
    """Whether aiohttp could not read a response: the status of its error is then made up."""
    return any(ancestor.__name__ == "HttpProcessingError" for ancestor in type(error.__cause__).__mro__)


def _given_up_on(error: BaseException) -> int | None:
    """Return the status at which urllib3 stopped to retry; requests' RetryError holds urllib3's error."""
    for link in (error, error.args[0] if error.args else None):
        found = _GAVE_UP.fullmatch(str(_reason(link)))
        if found is not None:
            return int(found[1])
    return None


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    for holder, names in ((error, ("status_code", "status", "code")), (response, ("status_code", "status"))):
        for name in names:
            value: Any = getattr(holder, name, None)
            if is_integer(value):
                if value in _STATUSES:
                    return int(value)
                break  # aiohttp's own errors have status 0, and a code that warns when it is read
    return None
