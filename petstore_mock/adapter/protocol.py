"""The protocol between the machine and an adapter, version 1: the replies, and the errors in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from petstore_mock.checks import Kind, UnknownErrorError
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, mask_text, printable
from petstore_mock.common.refusing import one_of
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.common.values import is_integer
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import OPERATIONS, in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from petstore_mock.common.values import Json

Message: TypeAlias = "Mapping[str, Json]"
VERSION: Final = 1
CANCELLED: Final = "cancelled"
#: The kinds of an error that have no status, with what they mean to the checks. None: the caller can't tell.
KINDS: Final[Mapping[str, Kind | None]] = {
    "transport": "transport",
    "timeout": "timeout",
    "protocol": "protocol",
    "argument": "argument",
    CANCELLED: None,
    "other": None,
}
STATUS: Final = "status"
_STATUSES: Final = range(100, 600)
_SHOWN: Final = 120  # characters of a line in a message
_LONGEST_TYPE: Final = 80  # characters of the name of an error's class


class BrokenAdapterError(PetStoreMockError):
    """Raised for an adapter that breaks the protocol."""


class ReplyError(Exception):
    """Raised for a line that is no reply. Its text says what was expected, what arrived and what to do."""


class ClientError(Exception):
    """An error that the adapter reports for a call. The checks show the name of the class that the adapter names."""

    def __init__(self, message: str, meaning: Kind | None) -> None:
        super().__init__(message)
        self.meaning: Kind | None = meaning


class CancelledError(ClientError):
    """The error of a call that the machine cancelled."""


@dataclass(frozen=True)
class Hello:
    """What an adapter says about its client."""

    operations: frozenset[str]
    concurrent: bool
    cancel: bool  # whether calls can be cancelled
    name: str


def classify(error: BaseException) -> Kind:
    """Return the meaning of an error that the adapter reported."""
    if isinstance(error, ClientError) and error.meaning is not None:
        return error.meaning
    raise UnknownErrorError("the adapter reports an error that is neither a status nor a lost response")


def encoded(message: Message) -> bytes:
    """Return a message as a line. Its characters are ASCII, so no client splits the line at U+2028."""
    return json.dumps(message).encode() + b"\n"


def decoded(line: bytes) -> Message:
    """Return the message in a line; raise ReplyError if the line has none."""
    try:
        message: object = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ReplyError(
            "expected one JSON object in UTF-8 on each line of standard output; print everything else to standard error"
        ) from None
    if not is_object(message):
        raise ReplyError("expected a JSON object; reply with the id of the request, and with ok or error")
    return message


def _refuse_constant(text: str) -> NoReturn:
    raise ReplyError(f"expected JSON, which has no {text}: reply with an error instead, or write null")


def shown_line(line: bytes, keys: Collection[str]) -> str:
    """Return a line as messages show it."""
    return printable(cut(mask_text(line.decode(errors="replace"), keys), _SHOWN))


def hello_of(message: Message) -> Hello:
    """Return what the first message of an adapter says; raise ReplyError if it is no right hello."""
    version = message.get("hello")
    operations = message.get("operations")
    if version != VERSION:
        raise ReplyError(f'expected the first line to be a reply to hello; begin it with {{"hello": {VERSION}, ...')
    if not is_array(operations) or not operations:
        raise ReplyError(f"expected operations as a list of names; list those of {in_words(OPERATIONS)} that you adapt")
    for name in operations:
        if name not in [*OPERATIONS]:
            hint = did_you_mean(name, OPERATIONS)
            raise ReplyError(f"expected operations among {in_words(OPERATIONS)}; got {name!r}{hint}")
    concurrent = message.get("concurrent", False)
    cancel = message.get("cancel", False)
    name = message.get("name", "")
    has_flags = isinstance(concurrent, bool) and isinstance(cancel, bool)
    if not has_flags or not isinstance(name, str):
        raise ReplyError("expected concurrent and cancel as true or false, and name as a text")
    return Hello(frozenset(operations), concurrent, cancel, cut(printable(name), _SHOWN))


def result_of(message: Message) -> Json:
    """Return the result in a reply. Raise the error that it reports, or ReplyError if it has neither."""
    error = message.get("error")
    if error is not None:
        raise _error_of(error)
    if "ok" not in message:
        raise ReplyError("expected a reply with ok or error; write null for a result that is nothing")
    return message["ok"]


def _error_of(error: object) -> ClientError:
    if not is_object(error):
        raise ReplyError("expected error as an object with kind and message")
    try:
        kind = one_of(error.get("kind"), (STATUS, *KINDS), "kind of error")
    except PetStoreMockError as refusal:
        raise ReplyError(str(refusal)) from None
    status = error.get("status")
    if kind == CANCELLED:
        return CancelledError(str(error.get("message") or ""), None)
    if kind != STATUS:
        return _made(error, KINDS[kind])
    if not is_integer(status) or status not in _STATUSES:
        raise ReplyError("expected an error of kind status to have the status as a number from 100 to 599")
    return _made(error, status)


def _made(error: Message, meaning: Kind | None) -> ClientError:
    """Return an error whose class has the name of the client's own class."""
    name = printable(str(error.get("type") or "Error"))[:_LONGEST_TYPE]
    # The checks call an error without a meaning a mistake of the client, as they do with those of Python itself.
    room = "builtins" if meaning is None else ClientError.__module__
    shown: type[ClientError] = type(name, (ClientError,), {"__module__": room})
    return shown(str(error.get("message") or ""), meaning)
