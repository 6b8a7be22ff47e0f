"""The kinds of faults: one class each, with all that the rest of the package asks of it.

A fault *replaces* the operation's answer (:class:`Answer`, and what loses it on the connection), *corrupts* it, or only
*slows* it. These classes check nothing: the functions of :mod:`petstore_mock.faults`, which make them, do. A kind
that has no field of its own takes over what ``dataclass`` has made for its base: each costs a tenth of a millisecond.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

from petstore_mock.messages.response import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.messages.handshake import Flaw
    from petstore_mock.messages.response import Head

__all__ = [
    "Answer",
    "BadRequest",
    "Delay",
    "Dribble",
    "EmptyReply",
    "Fault",
    "FaultSequence",
    "HandshakeFault",
    "Hang",
    "MalformedChunk",
    "MalformedJson",
    "NotFound",
    "RateLimited",
    "Reset",
    "Respond",
    "Seconds",
    "ServerError",
    "Truncate",
    "Unauthorized",
    "WrongContentType",
    "json_body",
    "media_type",
]

Seconds = tuple[float, float]  # from and to; the same number twice where it is no range

_LARGEST_WHOLE: Final = 1e15  # up to which a number without a fraction is written as an integer
_FIRST_ERROR: Final = 400
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_JSON: Final = ("Content-Type", "application/json")


@dataclass(frozen=True, slots=True, repr=False)
class Fault:
    """One misbehaviour, made by the functions of :mod:`petstore_mock.faults`; immutable, compared by value.

    Attributes:
        loses_answer: whether the client gets something else than the operation's answer.
        only_slows: whether the operation's answer arrives whole and true all the same, only later or in drops.
        readable: whether a patient client can read the operation's answer all the same.
    """

    loses_answer: ClassVar[bool] = False
    only_slows: ClassVar[bool] = False
    readable: ClassVar[bool] = False
    _unnamed: ClassVar[str] = ""  # the argument that is written without its name

    @property
    def kind(self) -> str:
        """The name of the function that made it."""
        return _WORD_BEGINS.sub("_", type(self).__name__).lower()

    @property
    def effect(self) -> str:
        """What the service did, in words; empty for an answer, whose status says it."""
        return ""

    @property
    def parts(self) -> tuple[Fault, ...]:
        """What a request may meet: the fault itself, or one of a sequence."""
        return (self,)

    @property
    def delivery(self) -> Delivery | None:
        """What it does to the connection, if anything."""
        return None

    @property
    def needs_socket(self) -> bool:
        """Whether only a real connection can show it."""
        return self.delivery is not None

    @property
    def meets_handshakes(self) -> bool:
        """Whether it meets connections, in their TLS handshake, and not requests."""
        return False

    @property
    def breaks_contract(self) -> bool:
        """Whether what the client gets is no answer of the interface, on purpose."""
        return not self.only_slows

    @property
    def arrives_late(self) -> bool:
        """Whether an answer comes, after real time."""
        return self.only_slows

    @property
    def takes_time(self) -> bool:
        """Whether a request that meets it takes real time, if only until the client gives up."""
        return self.arrives_late

    @property
    def tells_to_wait(self) -> bool:
        """Whether the client is told to wait, by ``Retry-After``."""
        return False

    def corrupt(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Return what it makes of the operation's own answer."""
        return head, body

    # How it is written

    def arguments(self) -> dict[str, Any]:
        """Return what its function has to be told to make it again; no more than that."""
        return {self._unnamed: _plain(getattr(self, self._unnamed))} if self._unnamed else {}

    def code(self) -> str:
        """Return the code that makes it, all that it sends included."""
        return f"faults.{self._call(self.arguments())}"

    def __str__(self) -> str:
        return self._call(self._shown())

    def __repr__(self) -> str:
        return f"faults.{self}"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: ANN401, FBT001  # as Hypothesis prints
        printer.text(self.code())

    def _shown(self) -> dict[str, Any]:
        """Return the arguments as a line of text may show them."""
        return self.arguments()

    def _call(self, arguments: Mapping[str, Any]) -> str:
        told = (repr(value) if name == self._unnamed else f"{name}={value!r}" for name, value in arguments.items())
        return f"{self.kind}({', '.join(told)})"


def _plain(number: float | Seconds) -> float | Seconds:
    """Return a number as people write it: 2 for 2.0; of a range that is none, one of the two."""
    if isinstance(number, tuple):
        low, high = map(_plain, number)
        return low if low == high else (low, high)  # type: ignore[return-value]  # two numbers
    return int(number) if abs(number) < _LARGEST_WHOLE and number == int(number) else number


# Those that answer instead of the operation


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Fault):
    """An answer in place of the operation's; the base of those below.

    Attributes:
        status: its status.
        body: its body; None for the interface's error body (§2).
        fields: header fields beside or instead of the usual ones.
        delay: seconds that it is held back; None for no time.
    """

    loses_answer: ClassVar[bool] = True

    status: int
    body: bytes | None = None
    fields: tuple[tuple[str, str], ...] = ()
    delay: Seconds | None = None

    @property
    def breaks_contract(self) -> bool:
        """Whether its body is none of the interface's; an Error is none with a status that tells of no error (§7)."""
        return self.body is not None or self.status < _FIRST_ERROR

    @property
    def arrives_late(self) -> bool:
        """Whether it is held back."""
        return self.delay is not None

    def arguments(self) -> dict[str, Any]:
        """Return what is told to all of them: how long they are held back."""
        return {} if self.delay is None else {"delay": _plain(self.delay)}


class Unauthorized(Answer):
    """401, as for an invalid key (§5)."""

    __slots__ = ()


class NotFound(Answer):
    """404, as for an absent animal (§7)."""

    __slots__ = ()


class BadRequest(Answer):
    """400, as for an invalid body (§7)."""

    __slots__ = ()


class ServerError(Answer):
    """A 5xx."""

    __slots__ = ()

    _unnamed: ClassVar[str] = "status"

    def arguments(self) -> dict[str, Any]:
        """Return the status, and how long it is held back."""
        return {"status": self.status, **Answer.arguments(self)}


@dataclass(frozen=True, slots=True, repr=False)
class RateLimited(Answer):
    """429 (RFC 6585 §4).

    Attributes:
        retry_after: what the client is told: seconds, a moment as ISO 8601 text in UTC, or nothing.
    """

    retry_after: int | str | None = None

    @property
    def tells_to_wait(self) -> bool:
        """Whether ``Retry-After`` names a time that is still to come."""
        after = self.retry_after
        return datetime.fromisoformat(after) > datetime.now(UTC) if isinstance(after, str) else bool(after)

    def arguments(self) -> dict[str, Any]:
        """Return what the client is told, and how long it is held back."""
        return {"retry_after": self.retry_after, **Answer.arguments(self)}


class Respond(Answer):
    """Any status, with any body and any header fields."""

    __slots__ = ()

    _unnamed: ClassVar[str] = "status"

    @property
    def tells_to_wait(self) -> bool:
        """Whether it has a ``Retry-After`` that is not 0; what a test author wrote there may be anything."""
        return any(name.lower() == "retry-after" and value.strip() != "0" for name, value in self.fields)

    def arguments(self) -> dict[str, Any]:
        """Return status, body and header fields; no media type that follows from the body."""
        told: dict[str, Any] = {"status": self.status}
        fields = self.fields
        if self.body is not None:
            name, value = self._content(self.body)
            told[name] = value
            derived = _JSON if name == "json" else ("Content-Type", media_type(self.body))
            if self.body and fields[:1] == (derived,):
                fields = fields[1:]
        if fields:
            told["headers"] = dict(fields)
        return {**told, **Answer.arguments(self)}

    def _content(self, body: bytes) -> tuple[str, object]:
        """Return by which argument a body is told, and its value there."""
        if _JSON in self.fields[:1]:
            try:
                value = json.loads(body)
                if value is not None and json_body(value) == body:
                    return "json", value
            except (ValueError, RecursionError):
                pass
        try:
            return "body", body.decode()
        except UnicodeDecodeError:
            return "body", body

    def _shown(self) -> dict[str, Any]:
        """Return the arguments, of a body and of headers no more than that they are: a key may be there."""
        shown = self.arguments()
        for name in {"json", "body"} & shown.keys():
            shown[name] = _Summary(f"<{len(self.body or b'')} bytes>")
        if "headers" in shown:
            shown["headers"] = _Summary(f"<{', '.join(shown['headers'])}>")
        return shown


class _Summary(str):
    """Says of an argument that it is there; written without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def json_body(value: object) -> bytes:
    """Return a JSON value as a body; raises ValueError, TypeError or RecursionError for what is none."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def media_type(body: bytes) -> str:
    """Return the media type of a body that was given as text or bytes."""
    return "text/html; charset=utf-8" if body.lstrip()[:1] == b"<" else "text/plain; charset=utf-8"


# Those of the connection


class Hang(Fault):
    """No answer, ever."""

    __slots__ = ()

    effect: ClassVar[str] = "the service never answered"
    loses_answer: ClassVar[bool] = True
    delivery: ClassVar[Delivery] = Delivery("hang")
    takes_time: ClassVar[bool] = True  # until the client gives up


class Reset(Fault):
    """A RST instead of an answer."""

    __slots__ = ()

    effect: ClassVar[str] = "the service reset the connection instead of answering"
    loses_answer: ClassVar[bool] = True
    delivery: ClassVar[Delivery] = Delivery("reset")


class EmptyReply(Fault):
    """The end of the connection instead of an answer."""

    __slots__ = ()

    effect: ClassVar[str] = "the service closed the connection without a byte of an answer"
    loses_answer: ClassVar[bool] = True
    delivery: ClassVar[Delivery] = Delivery("empty_reply")


@dataclass(frozen=True, slots=True, repr=False)
class Truncate(Fault):
    """The end of the connection within the body.

    Attributes:
        fraction: how much of the body is sent.
    """

    effect: ClassVar[str] = "the connection ended within the answer's body (RFC 9112 §8)"
    _unnamed: ClassVar[str] = "fraction"

    fraction: float

    @property
    def delivery(self) -> Delivery:
        """The beginning of the body, and a close."""
        return Delivery("truncate", self.fraction)


@dataclass(frozen=True, slots=True, repr=False)
class Dribble(Fault):
    """The whole answer, in small pieces.

    Attributes:
        bytes_per_second: how fast its body is sent.
    """

    effect: ClassVar[str] = "the service answered slowly"
    only_slows: ClassVar[bool] = True
    readable: ClassVar[bool] = True
    _unnamed: ClassVar[str] = "bytes_per_second"

    bytes_per_second: float

    @property
    def delivery(self) -> Delivery:
        """The body, little by little."""
        return Delivery("dribble", self.bytes_per_second)


class MalformedChunk(Fault):
    """A body in chunks, one of which has no valid size."""

    __slots__ = ()

    effect: ClassVar[str] = "a chunk of the answer had no valid size (RFC 9112 §7.1)"
    delivery: ClassVar[Delivery] = Delivery("malformed_chunk")


# Those of the operation's own answer


class MalformedJson(Fault):
    """The operation's answer with a body that is no JSON."""

    __slots__ = ()

    effect: ClassVar[str] = "the answer's body was no JSON (§1)"

    def corrupt(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Break the body off within a text that does not end."""
        return head, body[: max(1, len(body) // 2)] + b'"\\'


class WrongContentType(Fault):
    """The operation's answer under a wrong media type."""

    __slots__ = ()

    effect: ClassVar[str] = "the answer was an animal, called text/html (§1)"
    readable: ClassVar[bool] = True

    def corrupt(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Call the body HTML."""
        return head.with_fields(("Content-Type", "text/html; charset=utf-8")), body


@dataclass(frozen=True, slots=True, repr=False)
class Delay(Fault):
    """The operation's answer, later.

    Attributes:
        seconds: how much later.
    """

    effect: ClassVar[str] = "the service answered late"
    only_slows: ClassVar[bool] = True
    readable: ClassVar[bool] = True
    _unnamed: ClassVar[str] = "seconds"

    seconds: Seconds


# Those of the TLS handshake


@dataclass(frozen=True, slots=True, repr=False)
class HandshakeFault(Fault):
    """What is wrong with a certificate, or with the handshake itself, after the cases of badssl.com.

    Attributes:
        flaw: which it is.
    """

    loses_answer: ClassVar[bool] = True
    needs_socket: ClassVar[bool] = True
    meets_handshakes: ClassVar[bool] = True

    flaw: Flaw

    @property
    def kind(self) -> str:
        """The name of the function that made it, behind that of its module."""
        return f"tls.{self.flaw}"

    @property
    def effect(self) -> str:
        """What the service did, in words."""
        return _EFFECTS[self.flaw]

    @property
    def takes_time(self) -> bool:
        """Whether a client is left waiting."""
        return self.flaw == "handshake_hang"


_EFFECTS: Final[Mapping[Flaw, str]] = {
    "expired": "the service's certificate had expired (RFC 5280 §4.1.2.5)",
    "wrong_host": "the service's certificate was for another host (RFC 9110 §4.3.4)",
    "untrusted_root": "the service's certificate led to an unknown root (RFC 5280 §6.1)",
    "handshake_reset": "the service reset the connection in the TLS handshake",
    "handshake_hang": "the service never answered in the TLS handshake",
}


@dataclass(frozen=True, slots=True, repr=False)
class FaultSequence(Fault):
    """Several faults, one for each request."""

    kind: ClassVar[str] = "sequence"

    faults: tuple[Fault, ...]

    @property
    def parts(self) -> tuple[Fault, ...]:
        """The faults, one for each request."""
        return self.faults

    @property
    def needs_socket(self) -> bool:
        """Whether one of them needs one."""
        return any(fault.needs_socket for fault in self.faults)

    @property
    def meets_handshakes(self) -> bool:
        """Whether they do, which is the same for all of them."""
        return self.faults[0].meets_handshakes

    @property
    def breaks_contract(self) -> bool:
        """Whether one of them does."""
        return any(fault.breaks_contract for fault in self.faults)

    @property
    def arrives_late(self) -> bool:
        """Whether one of them does."""
        return any(fault.arrives_late for fault in self.faults)

    @property
    def takes_time(self) -> bool:
        """Whether one of them does."""
        return any(fault.takes_time for fault in self.faults)

    @property
    def tells_to_wait(self) -> bool:
        """Whether one of them does."""
        return any(fault.tells_to_wait for fault in self.faults)

    def arguments(self) -> dict[str, Any]:
        """Return its faults."""
        return {"faults": self.faults}

    def code(self) -> str:
        """Return the code that makes it."""
        return f"faults.sequence({', '.join(fault.code() for fault in self.faults)})"

    def __str__(self) -> str:
        return f"sequence({', '.join(map(str, self.faults))})"
