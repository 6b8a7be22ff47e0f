"""One request and what came of it, as a probe sent it or as a recording has it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl, unquote

from petstore_mock.common.masking import cut, printable
from petstore_mock.common.numbers import is_integer

if TYPE_CHECKING:
    from petstore_mock.contract.interface import OperationName

__all__ = ["Exchange", "Failure", "FailureKind", "Fields", "NotJson", "WholeAnswer", "redacted", "shown"]

Fields = tuple[tuple[str, str], ...]
FailureKind = Literal["connect", "silence", "cut", "length", "not_http"]
_SHOWN: Final = 300  # characters of a body in a report
_SHORTEST_KEY: Final = 3  # characters; what is shorter stands in every other word


def shown(text: str, keys: tuple[str, ...]) -> str:
    """Return ``text``, in which a service may have put anything, as a report may show it: printable, without keys."""
    return printable(redacted(text, keys))


def redacted(text: str, keys: tuple[str, ...]) -> str:
    """Return ``text`` without the keys, however JSON may have escaped them."""
    for key in sorted(keys, key=len, reverse=True):
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "***").replace(json.dumps(key)[1:-1], "***")
    return text


@dataclass(frozen=True)
class NotJson:
    """Stands for a body that is no JSON text.

    Attributes:
        why: what is wrong with it.
    """

    why: str


@dataclass(frozen=True)
class Failure:
    """Why there is no answer that could be read.

    Attributes:
        kind: ``connect`` (nobody listens, or there is no such host), ``silence`` (it hung), ``cut`` (the connection
            ended within the answer, or before it), ``length`` (it lied about its length), ``not_http`` (garbage).
        words: what happened, as a clause of a sentence.
    """

    kind: FailureKind
    words: str


@dataclass(frozen=True)
class WholeAnswer:
    """An answer that was whole.

    Attributes:
        status: the HTTP status.
        fields: the header fields as they came.
        body: its content, content codings undone.
        closes: whether the service closes the connection after it.
        lacks_body: whether a recording has left the body out.
    """

    status: int
    fields: Fields
    body: bytes
    closes: bool = False
    lacks_body: bool = False

    def header(self, name: str) -> str | None:
        """Return the values of the field ``name`` joined by commas, or None."""
        found = [value for known, value in self.fields if known.lower() == name.lower()]
        return ", ".join(found) if found else None

    @cached_property
    def json(self) -> Any:  # noqa: ANN401  # a JSON value, or NotJson
        """The body's JSON value, or a :class:`NotJson`."""
        if not self.body:
            return NotJson("the body is empty")
        try:
            return json.loads(self.body.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return NotJson(str(error) or type(error).__name__)


def _refuse(text: str) -> Any:  # noqa: ANN401  # never returns
    message = f"{text} is no JSON value"
    raise ValueError(message)


@dataclass(eq=False)
class Exchange:
    """A request, and its answer or why there is none.

    Attributes:
        number: its place in the run, from 1 on.
        probe: the name of the probe that it is of; empty in a recording.
        method: the method.
        target: the target from the base address on, such as ``/pets?limit=2``.
        key: which key it bore, counted from 0; None for none, -1 for one that is made up.
        fields: its further header fields.
        body: its body.
        answer: what came, or None.
        failure: why nothing whole came.
        confirmed: whether the service served another request right after it failed.
        notes: what else is known of it.
        credentials: what stood in Authorization, with ``{key}`` in the place of a key; empty for nothing.
        variable: what a shell calls that key.
    """

    number: int
    probe: str
    method: str
    target: str
    key: int | None
    fields: Fields = ()
    body: bytes | None = None
    answer: WholeAnswer | None = None
    failure: Failure | None = None
    confirmed: bool = False
    notes: list[str] = field(default_factory=list)
    credentials: str = ""
    variable: str = "$PETSTORE_KEY"

    @property
    def operation(self) -> OperationName | None:
        """The operation that it asks for, if it is one of the interface's."""
        path = self.target.partition("?")[0]
        if path == "/pets":
            return {"GET": "listPets", "POST": "createPet"}.get(self.method)  # type: ignore[return-value]
        is_one = path.startswith("/pets/") and "/" not in path[6:] and len(path) > len("/pets/")
        return "getPet" if is_one and self.method == "GET" else None

    @property
    def status(self) -> int | None:
        """The status of the answer, if one came."""
        return None if self.answer is None else self.answer.status

    def header(self, name: str) -> str | None:
        """Return the values of the answer's field ``name`` joined by commas; None without it, or without an answer."""
        return None if self.answer is None else self.answer.header(name)

    @property
    def json(self) -> Any:  # noqa: ANN401  # a JSON value, or NotJson
        """The JSON value of the answer."""
        return NotJson("no answer came") if self.answer is None else self.answer.json

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """The query parameters, in the order sent."""
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    def one(self, name: str) -> str | None:
        """Return the value of a query parameter that stands once."""
        found = [value for known, value in self.query if known == name]
        return found[0] if len(found) == 1 else None

    @cached_property
    def sent(self) -> Any:  # noqa: ANN401  # a JSON value, or NotJson
        """The JSON value of the request's body."""
        try:
            return json.loads(self.body or b"")
        except (ValueError, RecursionError) as error:
            return NotJson(str(error))

    @property
    def pet_id(self) -> str:
        """What stands in the place of petId."""
        return unquote(self.target.partition("?")[0].rpartition("/")[2])

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals that the answer shows, as far as they are objects with an id."""
        if self.answer is None or self.key is None or self.key < 0:
            return []
        value = self.answer.json
        found: list[Any] = []
        if self.operation == "listPets" and self.status == 200 and isinstance(value, list):
            found = value
        elif (self.operation, self.status) in {("getPet", 200), ("createPet", 201)}:
            found = [value]
        return [pet for pet in found if isinstance(pet, dict) and is_integer(pet.get("id"))]

    # How it reads

    @property
    def line(self) -> str:
        """The request in a line."""
        return f"{self.method} {self.target}"

    @property
    def came(self) -> str:
        """What came of it, in a line."""
        if self.failure is not None:
            return self.failure.words
        if self.answer is None:
            return "nothing"
        body = self.answer.body.decode("utf-8", "backslashreplace").replace("\n", " ")
        return f"{self.answer.status} {cut(body, _SHOWN)}".rstrip()

    def curl(self, base: str) -> str:
        """Return a line of shell that sends it again; keys stand in variables."""
        from shlex import quote  # noqa: PLC0415  # for what is broken alone

        parts = ["curl", "-i"]
        if self.method != "GET":
            parts += ["-X", self.method]
        if self.credentials:
            parts += ["-H", f'"Authorization: {self.credentials.replace("{key}", self.variable)}"']
        for name, value in self.fields:
            parts += ["-H", quote(f"{name}: {value}")]
        if self.body is not None:
            text = self.body.decode("utf-8", "replace")
            shown_body = quote(text) if len(text) <= _SHOWN else quote(f"{text[:20]}... ({len(self.body)} bytes)")
            parts += ["--data-raw", shown_body]
        if "{key}" in self.target:  # a shell puts a variable into double quotes alone
            return " ".join([*parts, f'{quote(base)}"{self.target.replace("{key}", self.variable)}"'])
        return " ".join([*parts, quote(base + self.target)])
