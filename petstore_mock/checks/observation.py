"""What checks look at: one call of a client, its requests, its outcome, and the facts around them."""

from __future__ import annotations

from asyncio import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from petstore_mock.checks.reading import copied, read_pet
from petstore_mock.checks.wording import literal, raised, shortened
from petstore_mock.common.real import perf_counter
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import FIELDS, OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from petstore_mock.checks.classify import Kind
    from petstore_mock.checks.reading import ReadPet
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

Need = Literal["journal", "outcome", "process"]


@dataclass(frozen=True)
class Call:
    """One call of a client's method.

    Attributes:
        operation: the name of the operation.
        arguments: the arguments by the interface's names; those that the caller leaves out are absent.
    """

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @staticmethod
    def of(row: Operation, positional: Sequence[Any], given: Mapping[str, Any]) -> Call:
        """Return the call that the Python arguments of a client's method make."""
        names = {python: name for name, python in _python_names(row).items()}
        arguments = {names.get(name, name): value for name, value in given.items() if value is not None}
        if row.path_parameter is not None and positional:
            arguments[row.path_parameter.name] = positional[0]
        return Call(row.name, arguments)

    def __str__(self) -> str:
        return self._written(shortened)

    @property
    def code(self) -> str:
        """The call as Python source, without its object."""
        return self._written(literal)

    def _written(self, write: Callable[[object], str]) -> str:
        positional, keywords = self.python
        given = [*map(write, positional), *(f"{name}={write(value)}" for name, value in keywords.items())]
        return f"{self.row.client_method}({', '.join(given)})"

    @property
    def row(self) -> Operation:
        """The row of its operation."""
        return OPERATIONS[self.operation]

    @property
    def python(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as a Python client takes them: a path parameter by position, others by keyword."""
        names, path = _python_names(self.row), self.row.path_parameter
        keywords = {names.get(name, name): value for name, value in self.arguments.items()}
        return ([] if path is None else [keywords.pop(path.python)]), keywords

    @property
    def path_value(self) -> Any:  # noqa: ANN401  # an argument is any value
        """The value of the parameter in its path; None without one."""
        path = self.row.path_parameter
        return None if path is None else self.arguments[path.name]

    @property
    def body(self) -> dict[str, Any] | None:
        """The body that belongs to it; None for an operation without one."""
        parameters = {parameter.name for parameter in self.row.parameters}
        body = {name: value for name, value in self.arguments.items() if name not in parameters}
        return None if self.row.body is None else body


def _python_names(row: Operation) -> dict[str, str]:
    return {one.name: one.python for one in (*FIELDS.values(), *row.parameters)}


@dataclass
class Outcome:
    """The outcome of a call.

    Attributes:
        value: the returned object.
        error: the raised exception, or None.
        kind: its meaning; None where ``classify`` does not know it.
        seconds: how long the call took.
        ended: why the call had to be ended by force: ``hung`` for a client without a timeout, ``stood still`` for one
            that neither ended nor sent a request; else None.
    """

    value: Any = None
    error: BaseException | None = None
    kind: Kind | None = None
    seconds: float = 0.0
    ended: Literal["hung", "stood still"] | None = None

    def __str__(self) -> str:
        return f"returned {shortened(self.value)}" if self.error is None else f"raised {raised(self.error)}"


def attempt(function: Callable[[], Any], classify: Callable[[BaseException], Kind]) -> Outcome:
    """Call ``function`` and return its outcome; errors of the mock pass through."""
    began = perf_counter()
    try:
        return Outcome(function(), seconds=perf_counter() - began)
    except PetStoreMockError:
        raise
    except (Exception, SystemExit, CancelledError) as error:  # noqa: BLE001  # a client raises anything
        outcome = Outcome(error=error, seconds=perf_counter() - began)
        with suppress(Exception):  # a check says that nobody knows the meaning
            outcome.kind = classify(error)
        return outcome


class Kept:
    """The result of an earlier call, with a copy of it as it was."""

    def __init__(self, call: Call, value: Any, read: ReadPet = read_pet) -> None:  # noqa: ANN401
        self.call, self.value, self._read = call, value, read
        self.renew()

    def renew(self) -> None:
        """Copy it anew: its caller may have changed it."""
        self._copy = self._copied()

    def _copied(self) -> Any:  # noqa: ANN401
        with suppress(Exception):  # an object of the client's own may end with its client
            return copied(self.value, self._read)
        return None

    @property
    def is_changed(self) -> bool:
        """Whether the object is another now."""
        return bool(self._copied() != self._copy)


@dataclass
class Process:
    """Facts about the process of a client.

    Attributes:
        client: the client itself.
        shown: the texts that were logged, printed or warned of, each behind its verb.
        connections: the open connections.
        allowed_connections: the connections that may be open.
        threads: the threads that the client left behind at its close.
        tasks: the names of its tasks that go on after its close.
        settings: the changed settings of the program.
    """

    client: object = None
    shown: Sequence[tuple[str, str]] = ()
    connections: int = 0
    allowed_connections: int = 0
    threads: int = 0
    tasks: Sequence[str] = ()
    settings: Sequence[str] = ()


@dataclass
class Observation:
    """One call of a client: its requests, its outcome, and facts that some checks need.

    Attributes:
        exchanges: the requests of the call, in order.
        call: the call; None where nobody said what was asked.
        outcome: its outcome; None where nobody looked.
        process: facts about the client's process; None where nobody looked.
        doing: the subject of sentences where there is no call: ``make_client`` while a client is made, ``close()``
            while it is closed.
        earlier: the requests of the same client before this call.
        foreign: requests that reached another service, or the world of another client, during the call.
        earlier_results: results of earlier calls that their caller still holds.
        meanwhile: the call that was under way at the same time.
        shared: whether threads or tasks of the client may have sent some of the requests.
        url: the base address of the service.
        keys: the API keys of the client.
        pets: the animals that the service has, by id.
        lags: whether lists and reads may leave out animals that the service has (gap ``visibility``).
        flaw: the fault that the connection met in its TLS handshake, or None.
        patience: the seconds that a call may wait for a response that never comes.
        read_pet: reads an animal that the client returned.
    """

    exchanges: Sequence[Exchange]
    call: Call | None = None
    outcome: Outcome | None = None
    process: Process | None = None
    doing: str = "the client"
    earlier: Sequence[Exchange] = ()
    foreign: Sequence[Exchange] = ()
    earlier_results: Sequence[Kept] = ()
    meanwhile: Call | None = None
    shared: bool = False
    url: str = ""
    keys: Sequence[str] = ()
    pets: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Any])
    lags: bool = False
    flaw: Fault | None = None
    patience: float = 2.0
    read_pet: ReadPet = read_pet

    @property
    def offers(self) -> frozenset[Need]:
        """What it offers to checks."""
        given: dict[Need, object] = {"journal": True, "outcome": self.outcome, "process": self.process}
        return frozenset(need for need, value in given.items() if value is not None)

    @property
    def subject(self) -> str:
        """The actor in sentences: the call, or what the client did without one."""
        if self.call is None or self.meanwhile is None:
            return self.doing if self.call is None else str(self.call)
        return f"{self.call}, while {self.meanwhile} was under way in another thread or task,"
