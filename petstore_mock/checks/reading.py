"""Reads results and exceptions of clients, and shows them in sentences and pasted tests.

An animal may be a mapping, a dataclass, a model, a named tuple, or any object with the fields. Class names identify the
exceptions of libraries, so this module imports none of them.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
from itertools import islice
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeGuard

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut, mask_text
from petstore_mock.common.values import is_integer
from petstore_mock.interface.table import FIELDS, in_words

if TYPE_CHECKING:
    from types import TracebackType

Fields: TypeAlias = Mapping[str, Any]
"""Values by the interface's names: the fields of an animal, or the arguments of a call."""
ReadPet: TypeAlias = Callable[[Any], Mapping[str, Any]]

# The attributes or members in which pages hold their animals.
_PAGES: Final = ("items", "pets", "data", "results", "content", "elements", "records", "values", "root")
# The types of the "no value" objects of generated clients and of several libraries.
_NOTHING: Final = frozenset({"Unset", "UnsetType", "NotGiven", "NotSet", "Undefined", "_Nothing", "MissingType"})
_MANY: Final = 10_000  # animals read from an iterator, which may be endless
_NAMES: Final = {name: (name, field.python) for name, field in FIELDS.items()}


def read_pet(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  # a client returns any object
    """Return the fields of an animal by the interface's names (§2). This is the default ``read_pet``.

    The function reads mappings and objects with attributes (dataclasses, attrs, pydantic models, named tuples). A field
    may have the interface's name or its form in snake case, and its value may be a member of an enumeration. The result
    omits fields that are absent or None.

    Args:
        value: the object that a client returned as an animal.

    Raises:
        TypeError: the object has no field of an animal, and is no mapping.
    """
    fields: dict[str, Any] = {}
    for field, names in _NAMES.items():
        for name in names:
            found = _member(value, name)
            if found is not None:
                fields[field] = found
                break
    if not fields and not is_object(value):
        raise TypeError(f"expected an object with the fields {in_words(FIELDS)}; got {type(value).__name__}")
    return fields


def _member(value: Any, name: str) -> Any:  # noqa: ANN401
    """Return a member or an attribute of a value; None for a method, and for an object that means "no value"."""
    found: Any = value.get(name) if is_object(value) else getattr(value, name, None)
    if callable(found) or type(found).__name__ in _NOTHING:
        return None
    is_plain_enum = isinstance(found, Enum) and not isinstance(found, (str, int))
    return found.value if is_plain_enum else found


def as_sequence(value: Any) -> Any:  # noqa: ANN401  # a client returns any object
    """Return the animals of a page or of an iterator as a list; return any other value unchanged."""
    if is_list(value) or isinstance(value, (str, bytes)):
        return value
    for name in _PAGES:
        held: Any = _member(value, name)
        if is_list(held):
            return list(held)
    return list(islice(value, _MANY)) if _is_iterator(value) else value


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a sequence, but not text and not a named tuple."""
    is_text_or_tuple = isinstance(value, (str, bytes)) or hasattr(value, "_fields")
    return isinstance(value, Sequence) and not is_text_or_tuple


def _is_iterator(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, (Mapping, Sequence))


def pet_of(value: Any, read: ReadPet) -> Fields | None:  # noqa: ANN401
    """Return the fields of an animal, or None if ``value`` is not an animal."""
    try:
        return read(value)
    except TypeError:
        if read is read_pet:
            return None
        raise


def copied(value: Any, read: ReadPet) -> Any:  # noqa: ANN401
    """Return a result as lists and dicts, so that comparisons do not use an ``__eq__`` of the client."""
    try:
        if is_list(value):
            return [copied(item, read) for item in value]
        is_plain = isinstance(value, (str, bytes, int, float)) or is_object(value)
        fields: object = value if is_plain else pet_of(value, read)
    except BaseException:  # an object of a closed client may be unreadable, and a list may ask the service
        return None
    # None stands for any other object, which may compare itself.
    return dict(fields) if is_object(fields) else fields


# Exceptions

Kind = int | Literal["transport", "timeout", "protocol", "argument"]
"""The meaning of an exception: an HTTP status, how the response was lost, or that the client rejected an argument."""
Classify: TypeAlias = Callable[[BaseException], Kind]

SUCCESSES: Final = range(200, 300)  # RFC 9110 §15.3

# Modules that do not belong to a client: the standard library, and the libraries that clients use.
_LIBRARIES: Final = """
    aiohttp anyio attr attrs certifi charset_normalizer h11 h2 httpcore httpx hypothesis idna multidict petstore_mock
    pydantic pydantic_core requests sniffio urllib3 yarl
"""
LIBRARIES: Final = sys.stdlib_module_names.union(_LIBRARIES.split())


def is_own(module: str) -> bool:
    """Whether a module is of a client, and not of a library."""
    return module.partition(".")[0] not in LIBRARIES


# Names of classes along the MRO. The first matching kind counts, because most libraries derive a timeout from a
# transport error, and requests derives all its errors from OSError, even its JSONDecodeError.
_KINDS: Final[dict[Kind, set[str]]] = {
    "timeout": {"TimeoutError", "Timeout", "TimeoutException", "ServerTimeoutError", "HTTPTimeoutError"},
    "protocol": {
        "JSONDecodeError", "UnicodeDecodeError", "HTTPException", "ProtocolError", "IncompleteReadError",
        "DecodingError", "DecodeError", "ChunkedEncodingError", "ContentDecodingError", "TooManyRedirects",
        "ClientPayloadError", "ContentTypeError", "LimitOverrunError",
    },
    # HTTPError is the base of urllib3's errors. The HTTPError of other libraries has a status, which is found first.
    "transport": {
        "OSError", "EOFError", "TransportError", "NetworkError", "ProxyError", "HTTPError", "ClientError",
        "EndOfStream", "BrokenResourceError", "ClosedResourceError", "HTTPStreamClosedError", "StreamClosedError",
    },
}  # fmt: skip
_OF_CURL: Final = frozenset({"CurlError", "RequestsError"})  # classes of tornado and curl_cffi
# Errors of libcurl by number; all others mean that the connection failed (https://curl.se/libcurl/c/libcurl-errors.html).
_CURL: Final[dict[int, Kind]] = {28: "timeout", 8: "protocol", 18: "protocol", 47: "protocol", 61: "protocol"}
_CURL_DISTRUST: Final = 60
_DISTRUST: Final = frozenset({"SSLCertVerificationError", "CertificateError", "ClientConnectorCertificateError"})
_NO_RESPONSE: Final = 599  # tornado's status for a lost response
_GAVE_UP: Final = re.compile(r"too many (\d{3}) error responses")  # urllib3's ResponseError, with a status_forcelist
_DEEPEST: Final = 10  # exceptions of a chain
_WRAPPERS: Final = (Exception, RuntimeError, ValueError)  # clients raise these "from" the error of a library


class UnknownErrorError(Exception):
    """Raised for an exception that has no HTTP status and does not mean a lost response."""


def classify_exception(error: BaseException) -> Kind:
    """Return the meaning of a client's exception. This is the default ``classify``.

    The function looks for a status in ``status_code``, ``status``, ``code`` and ``response``. Then it looks at the
    class (it knows requests, httpx, httpcore, urllib3, urllib, http.client, aiohttp, asyncio, ssl, tornado, pycurl and
    curl_cffi). Then it looks at the exception that this one wraps: its cause (``raise ... from error``), an argument
    (``PetError(error)``), or its context.

    Args:
        error: the exception that a call of the client raised.

    Returns:
        The HTTP status, ``"transport"``, ``"timeout"`` or ``"protocol"``.

    Raises:
        UnknownErrorError: the exception has no such meaning.
    """
    for link in chain_of(error):
        kind = _kind(link)
        if kind is not None:
            return kind
        is_wrapper = type(link) in _WRAPPERS and link.__cause__ is not None
        if type(link).__module__ == "builtins" and not is_wrapper:
            # A KeyError is a mistake of the client, whatever its cause.
            break
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    raise UnknownErrorError(
        f"expected an exception with a status or of a known library; got {name}: give it a status_code, raise it from "
        "the library's error, or pass classify= with a function that reads it"
    ) from error


def chain_of(error: BaseException | None, *, shown: bool = False) -> Iterator[BaseException]:
    """Yield an exception and the exceptions that it wraps: its reason, its cause, its argument, or its context.

    With ``shown``, these are only the causes and contexts that a traceback shows.
    """
    link = error
    for _ in range(_DEEPEST):
        if link is None:
            return
        yield link
        context = None if link.__suppress_context__ else link.__context__
        cause = link.__cause__
        if not shown:
            cause = _reason(link) or cause or _wrapped(link)
        link = cause or context


def is_distrust(error: BaseException | None) -> bool:
    """Whether an exception means that the client did not trust the certificate of the service."""
    for link in chain_of(error):
        names = _class_names(link)
        if names & _DISTRUST or _curl_number(link, names) == _CURL_DISTRUST:
            return True
    return False


def own_place(trace: TracebackType | None) -> str:
    """Return the file and the line of the client's own code in a traceback, the latest; empty if it has none."""
    place = ""
    for frame, line in walk_tb(trace):
        if is_own(str(frame.f_globals.get("__name__", ""))):
            place = f"{frame.f_code.co_filename}:{line}"
    return place


def _reason(error: object) -> BaseException | None:
    # urllib's URLError, urllib3's MaxRetryError
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, BaseException) else None


def _wrapped(error: BaseException) -> BaseException | None:
    """Return the exception among the arguments of an exception, as in ``PetError(error)``."""
    for one in error.args:
        if isinstance(one, BaseException):
            return one
    return None


def _kind(error: BaseException) -> Kind | None:
    """Return the meaning of an exception itself, whatever it wraps."""
    names = _class_names(error)
    if "HttpProcessingError" in _class_names(error.__cause__):
        # aiohttp could not read the response; the status is not from the service.
        return "protocol"
    number = _curl_number(error, names)
    if number is not None:
        return _CURL.get(number, "transport")
    status = _status(error)
    has_no_response = status == _NO_RESPONSE and "HTTPClientError" in names
    if status is not None and not has_no_response:
        # An error with a success status, such as aiohttp's ContentTypeError, means that the body is wrong.
        return status if status not in SUCCESSES else "protocol"
    for kind, known in _KINDS.items():
        if names & known:
            return kind
    return "transport" if has_no_response else None


def _class_names(error: BaseException | None) -> set[str]:
    return {base.__name__ for base in type(error).__mro__}


def _curl_number(error: BaseException, names: set[str]) -> int | None:
    """Return the number of an error of libcurl, from pycurl, curl_cffi or tornado."""
    if not names & _OF_CURL and type(error).__module__ != "pycurl":
        return None
    for number in (getattr(error, "errno", None), getattr(error, "code", None), *error.args[:1]):
        if is_integer(number) and number in range(1, 100):
            return int(number)
    return None


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    for holder, names in ((error, ("status_code", "status", "code")), (response, ("status_code", "status"))):
        status = _first_status(holder, names)
        if status is not None:
            return status
    # requests' RetryError contains urllib3's error.
    for link in (error, _wrapped(error)):
        found = _GAVE_UP.fullmatch(str(_reason(link)))
        if found is not None:
            return int(found[1])
    return None


def _first_status(holder: object, names: Iterable[str]) -> int | None:
    for name in names:
        value: Any = getattr(holder, name, None)
        if is_integer(value):
            # aiohttp's own errors have status 0, and reading their code causes a warning.
            return int(value) if 100 <= value < 600 else None
    return None


# Values in sentences

_SHOWN: Final = 60  # characters of a value in a sentence; "..." follows a longer value
_BEFORE: Final = 30  # characters before a masked key, in an excerpt
_STARS: Final = "***"


#: Whether sentences are for people who may not use Python: with names of the interface, and values as JSON.
in_any_language: Final[ContextVar[bool]] = ContextVar("in_any_language", default=False)


def type_name(value: object) -> str:
    """Return the name of a value's type in sentences."""
    return _JSON_TYPES.get(type(value), "value") if in_any_language.get() else type(value).__name__


_JSON_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    list: "array",
    dict: "object",
}


def literal(value: object) -> str:
    """Return ``value`` as Python source; a long text that repeats a unit becomes a product."""
    if in_any_language.get():
        with suppress(TypeError, ValueError):
            return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return _literal_of_text(value)
    if is_object(value):
        members = [f"{literal(name)}: {literal(member)}" for name, member in value.items()]
        return f"{{{', '.join(members)}}}"
    return text_of(repr, value)


def _literal_of_text(text: str) -> str:
    if len(text) > _SHOWN:
        for size in (1, 2, 3):
            unit = text[:size]
            count = len(text) // size
            if unit * count == text:
                return f"{unit!a} * {count}"
    # Editors and web forms may change text that is not in Unicode's composed form (NFC).
    is_safe = text.isprintable() and unicodedata.is_normalized("NFC", text)
    return repr(text) if is_safe else ascii(text)


def shortened(value: object) -> str:
    """Return ``value`` as Python source, shortened to fit in a sentence."""
    return cut(literal(value), _SHOWN)


def raised(error: BaseException) -> str:
    """Return an exception in words that follow "raised", with the fake's keys masked."""
    text = cut(mask_text(text_of(str, error).strip().partition("\n")[0]), _SHOWN)
    return f"{type(error).__name__}{f' ({text})' if text else ''}"


def text_of(make: Callable[[Any], str], value: object) -> str:
    """Return ``make(value)``, or a placeholder if the client's own method fails."""
    try:
        return make(value)
    except BaseException as error:  # sys.exit() in a client's method does not end the run
        return f"<{make.__name__}() raised {type(error).__name__}>"


def around_key(text: str, keys: Iterable[str]) -> str:
    """Return the part of a text around its first key, with the keys masked."""
    masked = mask_text(text, keys)
    at = masked.find(_STARS)
    start = max(0, at - _BEFORE)
    return shortened(masked[start : start + _SHOWN])
