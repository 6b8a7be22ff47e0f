"""How results and exceptions of clients are read.

Animals may be mappings, dataclasses, models, named tuples, any object with the fields. Exceptions of libraries are
recognised by the names of their classes, so none of them is imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any, Final, Literal, TypeGuard

from petstore_mock.common.guards import is_object
from petstore_mock.common.values import is_integer
from petstore_mock.interface.table import FIELDS, in_words

ReadPet = Callable[[Any], Mapping[str, Any]]

# The attributes or members in which pages hold their animals.
_PAGES: Final = ("items", "pets", "data", "results", "content", "elements", "records", "values", "root")
# The types of objects that stand for nothing in generated clients and in several libraries.
_NOTHING: Final = frozenset({"Unset", "UnsetType", "NotGiven", "NotSet", "Undefined", "_Nothing", "MissingType"})
_MANY: Final = 10_000  # animals of an endless iterator


def _camel(python: str) -> str:
    head, *tail = python.split("_")
    return head + "".join(map(str.title, tail))


_NAMES: Final = {name: (name, field.python, _camel(field.python)) for name, field in FIELDS.items()}  # petId is an id


def read_pet(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  # a client returns any object
    """Return the fields of an animal by the interface's names (§2): the default ``read_pet``.

    It understands mappings and objects with attributes (dataclasses, attrs, pydantic models, named tuples), fields by
    the interface's name or in snake case, and members of an enumeration. A field that is absent or None is left out.

    Args:
        value: the object that a client returned as an animal.

    Raises:
        TypeError: it has none of an animal's fields.
    """
    fields: dict[str, Any] = {}
    for field, names in _NAMES.items():
        for name in names:
            found = _member(value, name)
            if found is not None and type(found).__name__ not in _NOTHING and not callable(found):
                is_plain_enum = isinstance(found, Enum) and not isinstance(found, (str, int))
                fields[field] = found.value if is_plain_enum else found
                break
    if not fields and not is_object(value):
        raise TypeError(f"expected an object with the fields {in_words(FIELDS)}; got {type(value).__name__}")
    return fields


def _member(value: Any, name: str) -> Any:  # noqa: ANN401
    return value.get(name) if is_object(value) else getattr(value, name, None)


def as_sequence(value: Any) -> Any:  # noqa: ANN401  # a client returns any object
    """Return the animals of a page or of an iterator as a list; anything else as it is."""
    if is_list(value) or isinstance(value, (str, bytes)):
        return value
    for name in _PAGES:
        held: Any = _member(value, name)
        if is_list(held):
            return list(held)
    return list(islice(value, _MANY)) if _is_iterator(value) else value


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a sequence of items: neither text nor a named tuple."""
    return not isinstance(value, (str, bytes)) and not hasattr(value, "_fields") and isinstance(value, Sequence)


def _is_iterator(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, (Mapping, Sequence))


def pet_of(value: Any, read: ReadPet) -> Mapping[str, Any] | None:  # noqa: ANN401
    """Return the fields of an animal, or None where ``value`` is none."""
    try:
        return read(value)
    except TypeError:
        if read is read_pet:
            return None
        raise


def copied(value: Any, read: ReadPet) -> Any:  # noqa: ANN401
    """Return a result as lists and dicts, so that no ``__eq__`` of the client's own decides a comparison."""
    if is_list(value):
        return [copied(item, read) for item in value]
    fields: object = value if isinstance(value, (str, bytes)) or is_object(value) else pet_of(value, read)
    return dict(fields) if is_object(fields) else value


# Exceptions

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
_KINDS: Final[dict[Kind, set[str]]] = {
    "timeout": {"TimeoutError", "Timeout", "TimeoutException", "ServerTimeoutError"},
    "protocol": {
        "JSONDecodeError", "UnicodeDecodeError", "HTTPException", "ProtocolError", "IncompleteReadError",
        "DecodingError", "DecodeError", "ChunkedEncodingError", "ContentDecodingError", "TooManyRedirects",
        "ClientPayloadError", "ContentTypeError", "LimitOverrunError",
    },
    # urllib3's HTTPError is the base of its errors; others of this name bear a status.
    "transport": {
        "OSError", "EOFError", "TransportError", "NetworkError", "ProxyError", "HTTPError", "ClientError",
        "EndOfStream", "BrokenResourceError", "ClosedResourceError",
    },
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
        for kind, known in _KINDS.items():
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
