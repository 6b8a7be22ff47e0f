"""One call of a client: what was asked, what came of it, and what is wrong with it."""

from __future__ import annotations

import inspect
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from petstore_mock.common.masking import mask_text
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.model.adapter import METHODS, AdaptedClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.stateful.model.error_classification import Kind

__all__ = [
    "NO_CALL",
    "QUIETLY",
    "Call",
    "Ended",
    "Outcome",
    "PetClient",
    "Problem",
    "literal",
    "require_client",
    "shortened",
]

_METHODS: Final[dict[str, str]] = dict(zip(("listPets", "createPet", "getPet"), METHODS, strict=True))
_SHOWN: Final = 60
QUIETLY: Final = ("with contextlib.suppress(Exception):", "    {call}")  # lines of a check of what the call has sent
_LEAST_TIMEOUT: Final = 0.1  # seconds; no client can mean less


class PetClient(Protocol):
    """What the machine asks of a client: three methods, which may be ``async def``.

    A call returns what the service answered or raises an exception that tells what went wrong. A context manager is
    entered for each example; a client with ``close()`` or ``aclose()`` is closed at its end. An animal is a mapping, or
    any object with its fields; a list is a sequence of them, an iterator or a page.
    """

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Any:  # noqa: ANN401
        """Return the animals that listPets answers.

        Args:
            limit: how many at most; None when the caller does not say.
            status: of which status; None for any.
        """

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Any:  # noqa: ANN401
        """Return the animal that createPet answers.

        Args:
            name: its name.
            category_id: its category, any int64.
            status: its status; None when it is left out.
        """

    def get_pet(self, pet_id: int) -> Any:  # noqa: ANN401
        """Return the animal that getPet answers."""


# How the three methods are called.
_USES: Final[tuple[tuple[str, tuple[Any, ...], tuple[str, ...]], ...]] = (
    ("list_pets", (), ()),
    ("list_pets", (), ("limit", "status")),
    ("create_pet", (), ("name", "category_id")),
    ("create_pet", (), ("name", "category_id", "status")),
    ("get_pet", (1,), ()),
)
_PROTOCOL: Final = (
    "list_pets(*, limit=None, status=None), create_pet(*, name, category_id, status=None) and get_pet(pet_id)"
)


def require_client(client: AdaptedClient) -> None:
    """Raise unless a client has the three methods, and they can be called as the machine calls them.

    Raises:
        PetStoreMockError: says what is missing, or differs.
    """
    made = client.client
    got = f"got make_client(petstore)={made!r} ({type(made).__name__})"
    if isinstance(made, type):
        raise PetStoreMockError(f"expected make_client to return a client; {got}: make an instance of it")
    missing = [name for name in METHODS if client.method(name) is None]
    if missing:
        raise PetStoreMockError(
            f"expected make_client to return a client with {_PROTOCOL}; {got}, which lacks {', '.join(missing)}: "
            f"pass methods={{{missing[0]!r}: ...}} with the names that they have, or functions of your client"
        )
    for name, positional, keywords in _USES:
        method = client.method(name)
        try:
            signature = inspect.signature(method)  # type: ignore[arg-type]  # none is missing
        except (TypeError, ValueError):  # written in C, or as strange
            continue
        try:
            signature.bind(*positional, **dict.fromkeys(keywords))
        except TypeError as error:
            shown = ", ".join([*map(repr, positional), *(f"{keyword}=..." for keyword in keywords)])
            raise PetStoreMockError(
                f"expected a client with {_PROTOCOL}; {name}({shown}) does not fit {name}{signature}: {error}; "
                f"methods={{{name!r}: ...}} takes a function of the client and these arguments"
            ) from None


@dataclass(frozen=True)
class Call:
    """A call of one of the three methods."""

    operation: OperationName
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return self.code(short=True)

    def on(self, client: AdaptedClient) -> Any:  # noqa: ANN401  # whatever the client returns
        """Make the call."""
        if self.operation == "getPet":
            return client.get_pet(self.arguments["pet_id"])
        return (client.list_pets if self.operation == "listPets" else client.create_pet)(**self.arguments)

    def code(self, *, short: bool = False) -> str:
        """Return the call as Python writes it, without its object."""
        show = shortened if short else literal
        if self.operation == "getPet":
            return f"get_pet({self.arguments['pet_id']})"
        given = ", ".join(f"{name}={show(value)}" for name, value in self.arguments.items())
        return f"{_METHODS[self.operation]}({given})"

    @property
    def body(self) -> dict[str, Any]:
        """The body that createPet is to send (§4.2)."""
        given = self.arguments
        status = {} if given.get("status") is None else {"status": given["status"]}
        return {"name": given["name"], "categoryId": given["category_id"], **status}


NO_CALL: Final = Call("listPets", {})  # stands where a problem is none of a call's: its words name no call


def literal(value: object) -> str:
    """Return ``value`` as Python writes it; long text of one character as a product."""
    if isinstance(value, str) and len(value) > _SHOWN:
        for size in (1, 2, 3):
            unit = value[:size]
            if (unit * (len(value) // size + 1))[: len(value)] == value:
                whole, rest = divmod(len(value), size)
                return f"{unit!a} * {whole}" if not rest else f"({unit!a} * {whole + 1})[:{len(value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(name)}: {literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, str):
        # What looks like another text, or is made one by an editor, is escaped.
        return repr(value) if value.isprintable() and unicodedata.is_normalized("NFC", value) else ascii(value)
    return _text(repr, value)


def _text(make: Callable[[Any], str], value: object) -> str:
    """Return the text that ``repr`` or ``str`` makes of a client's own object, which may fail at it."""
    try:
        return make(value)
    except Exception as error:  # noqa: BLE001  # whatever a client raises
        return f"<{make.__name__}() of it raised {type(error).__name__}>"


def shortened(value: object) -> str:
    """Return ``value`` as Python writes it, or its beginning."""
    return _cut(literal(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


Ended = Literal["hung", "ran away", "stood still"]


@dataclass
class Outcome:
    """What came of a call.

    Attributes:
        value: what it returned.
        error: what it raised instead, or None.
        kind: what the exception means, or None when nobody knows.
        ended: why it had to be ended, or None: the service never answered and the client had no timeout, it asked
            again without an end, or it neither came to an end nor sent a request.
        seconds: how long it took.
    """

    value: Any = None
    error: BaseException | None = None
    kind: Kind | None = None
    ended: Ended | None = None
    seconds: float = 0.0

    @property
    def was_ended(self) -> bool:
        """Whether an exception of the machine's own ended it, which says nothing of the client."""
        return self.ended in {"ran away", "stood still"}

    @property
    def timed_out(self) -> bool:
        """Whether the client lost its patience: on a busy machine it may, with any answer."""
        return self.kind == "timeout" and self.seconds >= _LEAST_TIMEOUT

    def __str__(self) -> str:
        if self.error is None:
            return f"returned {shortened(self.value)}"
        text = _cut(mask_text(_text(str, self.error).strip().partition("\n")[0]))
        return f"raised {type(self.error).__name__}{f' ({text})' if text else ''}"


@dataclass
class Problem:
    """What is wrong with a call.

    Attributes:
        sentence: what the client did, without a full stop.
        section: the section of the interface, or the RFC, that it went against.
        words: what that section says.
        check: lines of a test that fail for it; the call itself stands in them as ``{call}``.
        question: what is to be asked instead, where the interface leaves it open whether it is wrong.
    """

    sentence: str
    section: str
    words: str
    check: Sequence[str] = field(default=("{call}",))
    question: str | None = None

    def await_threads(self, *, go_on: bool) -> None:
        """Let the check wait for what threads of the client send, where it looks at what was sent.

        Args:
            go_on: whether they outlast their calls, so that nobody knows whose a request is.
        """
        if go_on:
            self.sentence += ", or a thread or a task did so that one of its calls has started"
        lines = list(self.check)
        for place in range(len(lines)):
            if lines[place : place + 2] == [*QUIETLY]:
                lines.insert(place + 2, "time.sleep(0.1)  # the client has threads, which may ask as well")
        self.check = lines

    def allow_failures(self, operation: OperationName) -> None:
        """Let the check pass for a client whose ``operation`` met a fault or a refusal, and that told of it."""
        first, *rest = self.check
        if first == "result = {call}":
            passed = ["except Exception:", "    pass  # as it may: what came first was no success"]
            self.check = ["try:", f"    {first}", *passed, "else:", *(f"    {line}" for line in rest)]
        elif first == "{call}":
            answered = f"    answered = {{journal}}.for_operation({operation!r})[-1]"
            raised = [answered, "    if answered.fault is None and answered.status < 400:", "        raise"]
            self.check = ["try:", "    {call}", "except Exception:", *raised, *rest]
