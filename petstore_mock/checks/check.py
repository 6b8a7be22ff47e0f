"""A check is one rule. It looks at one call of a client: its requests, its outcome and facts about the process."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from petstore_mock.checks.reading import literal, raised, read_pet, shortened
from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, Operation, in_words, snake_case, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.checks.reading import Kind, ReadPet
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

Need = Literal["journal", "outcome", "process"]


@dataclass(frozen=True)
class Call:
    """One call of a client's method."""

    operation: str  #: the name of the operation
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: by the interface's names

    @staticmethod
    def of(row: Operation, positional: Sequence[Any], given: Mapping[str, Any]) -> Call:
        """Return the call for the Python arguments of a client's method."""
        names = {snake_case(name): name for name in schemas.arguments(row)}
        arguments = {names.get(name, name): value for name, value in given.items() if value is not None}
        if row.identifier is not None and positional:
            arguments[row.identifier.name] = positional[0]
        return Call(row.name, arguments)

    def __str__(self) -> str:
        return self._written(shortened)

    @property
    def code(self) -> str:
        """The call as Python source, without the client's name."""
        return self._written(literal)

    def _written(self, write: Callable[[object], str]) -> str:
        positional, keywords = self.python
        given = [*map(write, positional), *(f"{name}={write(value)}" for name, value in keywords.items())]
        return f"{self.row.client_method}({', '.join(given)})"

    @property
    def row(self) -> Operation:
        """The row of the operation in the table of operations."""
        return OPERATIONS[self.operation]

    @property
    def python(self) -> tuple[list[Any], dict[str, Any]]:
        """The Python arguments: the path parameter by position, the others by keyword."""
        path = self.row.identifier
        keywords = {snake_case(name): value for name, value in self.arguments.items()}
        return ([] if path is None else [keywords.pop(snake_case(path.name))]), keywords

    @property
    def path_value(self) -> Any:  # noqa: ANN401  # an argument is any value
        """The value of the path parameter, or None if the operation has none."""
        path = self.row.identifier
        return None if path is None else self.arguments[path.name]

    @property
    def body(self) -> dict[str, Any] | None:
        """The request body of the call, or None if the operation has none."""
        parameters = {parameter.name for parameter in self.row.parameters}
        body = {name: value for name, value in self.arguments.items() if name not in parameters}
        return None if self.row.body is None else body


RUNAWAY: Final = 200  # requests of one call, followed redirections included
Ended = Literal["hung", "stood still", "ran away"]


@dataclass
class Outcome:
    """The outcome of a call."""

    value: Any = None  #: the returned object
    error: BaseException | None = None  #: the raised exception, or None
    kind: Kind | None = None  #: the meaning of the exception, or None if ``classify`` does not know it
    seconds: float = 0.0  #: the duration of the call, in seconds
    #: Why the machine gave up on the call. ``hung``: the client has no timeout. ``stood still``: the call neither ended
    #: nor sent a request. ``ran away``: it sent more than 200 requests. None: the call ended.
    ended: Ended | None = None

    def __str__(self) -> str:
        return f"returned {shortened(self.value)}" if self.error is None else f"raised {raised(self.error)}"


def attempt(function: Callable[[], Any], classify: Callable[[BaseException], Kind]) -> Outcome:
    """Call ``function`` and return its outcome; raise the mock's own errors."""
    began = perf_counter()
    try:
        return Outcome(function(), seconds=perf_counter() - began)
    except PetStoreMockError:
        raise
    except (Exception, SystemExit, CancelledError) as error:  # noqa: BLE001  # a client raises anything
        outcome = Outcome(error=error, seconds=perf_counter() - began)
        with suppress(Exception):  # kind stays None, which a check reports
            outcome.kind = classify(error)
        return outcome


class Kept(NamedTuple):
    """The result of an earlier call that the caller still holds."""

    call: Call  #: the call
    value: Any  #: the returned object
    copy: Any  #: a copy of the object, taken when the latest call began, as lists and dicts


@dataclass
class Process:
    """Facts about the process of a client."""

    client: object = None  #: the client itself
    shown: Sequence[str] = ()  #: the texts of log records, output and warnings
    connections: int = 0  #: the number of open connections if it is more than a client needs, else 0
    left: Sequence[str] = ()  #: the threads and tasks that still run after the close, such as ``thread refresh``
    settings: Sequence[str] = ()  #: the names of the changed settings of the program


@dataclass
class Observation:
    """One call of a client: its requests, its outcome, and the facts that some checks need."""

    exchanges: Sequence[Exchange]  #: the requests of the call, in order
    call: Call | None = None  #: the call, or None for requests outside of a call
    outcome: Outcome | None = None  #: the outcome of the call, or None if it is not known
    process: Process | None = None  #: facts about the client's process, or None if they are not known
    doing: str = "the client"  #: the subject of sentences without a call, such as ``close()``
    earlier: Sequence[Exchange] = ()  #: the requests of the same client before this call
    foreign: Sequence[Exchange] = ()  #: requests that reached another service, or the world of another client
    earlier_results: Sequence[Kept] = ()  #: results of earlier calls that the caller still holds
    meanwhile: Call | None = None  #: the call that ran at the same time, or None
    shared: bool = False  #: whether threads or tasks of the client may have sent some of the requests
    url: str = ""  #: the base address of the service
    keys: Sequence[str] = ()  #: the API keys of the client
    pets: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Any])  #: the service's animals, by id
    lags: bool = False  #: whether lists and reads may omit animals that the service has (gap ``visibility``)
    flaw: Fault | None = None  #: the fault of the connection's TLS handshake, or None
    patience: float = 2.0  #: how long a call may wait for a response that never comes, in seconds
    read_pet: ReadPet = read_pet  #: reads an animal that the client returned

    @cached_property
    def offers(self) -> frozenset[Need]:
        """The needs that this observation meets."""
        given: dict[Need, object] = {"journal": True, "outcome": self.outcome, "process": self.process}
        return frozenset(need for need, value in given.items() if value is not None)

    @property
    def subject(self) -> str:
        """The subject of sentences: the call, or ``doing`` if there is no call."""
        if self.call is None or self.meanwhile is None:
            return self.doing if self.call is None else str(self.call)
        return f"{self.call}, while {self.meanwhile} was under way in another thread or task,"


class Broken(NamedTuple):
    """A broken rule whose section and words depend on the case."""

    sentence: str  #: what the client did, without a subject and without a full stop
    section: str  #: the section of the interface, such as ``4.2``, or an RFC; empty if neither has the rule
    words: str  #: the words of that section, or an inference from it


Look = Callable[[Observation], str | Broken | None]


@dataclass(frozen=True)
class Check:
    """One rule for clients, as a function over an observation.

    Call it with a journal, exchanges or an :class:`Observation`: ``checks.no_repeated_create(petstore.journal)``. It
    raises AssertionError if the client broke the rule, and PetStoreMockError if the argument lacks facts that it needs.
    """

    name: str  #: the name of the function
    section: str  #: the section of the interface, such as ``4.2``, or an RFC; empty if neither has the rule
    words: str  #: the words of that section, or an inference from it
    needs: frozenset[Need]  #: the facts that the check reads, among ``journal``, ``outcome`` and ``process``
    look: Look  #: returns the mistake of the client in words that follow the subject, or None

    def find(self, seen: Observation) -> str | None:
        """Return the client's mistake as a sentence. None means no mistake, or that the check lacks facts."""
        found = self.look(seen) if self.needs <= seen.offers else None
        if found is None:
            return None
        sentence, section, words = found if isinstance(found, Broken) else (found, self.section, self.words)
        rule = ": ".join(filter(None, (source(section, words), words)))
        return f"{seen.subject} {sentence} ({rule})."

    def __call__(self, seen: Observation | Iterable[Exchange], /) -> None:
        __tracebackhide__ = True
        if not isinstance(seen, Observation):
            seen = Observation(list(seen))
        missing = self.needs - seen.offers
        if missing:
            refuse(
                f"expected an observation with {in_words(sorted(missing))} for {self.name}; got fewer facts: use "
                "checks.watched()"
            )
        found = self.find(seen)
        if found is not None:
            raise AssertionError(found)


def check(*, section: str, words: str, needs: Iterable[Need] = ("journal",)) -> Callable[[Look], Check]:
    """Return a decorator that turns a function of an :class:`Observation` into a check.

    The function returns the client's mistake in words that follow the call (``"sent two requests"``), or None.

    Args:
        section: the section of the interface, such as ``"4.2"``, or an RFC; empty if neither has the rule.
        words: the words of that section, or an inference from it, which reports mark with "by the meaning of".
        needs: the facts that the function reads besides the call: ``"journal"`` (the requests), ``"outcome"`` (the
            result or the exception), ``"process"`` (output, connections, threads, settings). The check runs only where
            these facts are known.

    Raises:
        PetStoreMockError: there is no such need.
    """
    chosen = frozenset(needs)
    for need in chosen:
        one_of(need, get_args(Need), "need of a check")
    return lambda look: Check(look.__name__, section, words, chosen, look)
