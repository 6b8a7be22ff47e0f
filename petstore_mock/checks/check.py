"""A check: one rule, written once, and what it looks at: one call of a client, its requests, its outcome, facts."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from petstore_mock.checks.reading import literal, raised, read_pet, shortened
from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import FIELDS, OPERATIONS, Operation, in_words, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.checks.reading import Kind, ReadPet
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

Need = Literal["journal", "outcome", "process"]
_NEEDS: Final[tuple[Need, ...]] = ("journal", "outcome", "process")


@dataclass(frozen=True)
class Call:
    """One call of a client's method."""

    operation: str  #: the name of the operation
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: by the interface's names, if not left out

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
    fields = {one.name: one.python for one in FIELDS.values()}
    return fields | {one.name: one.python for one in row.parameters}


@dataclass
class Outcome:
    """The outcome of a call."""

    value: Any = None  #: the returned object
    error: BaseException | None = None  #: the raised exception, or None
    kind: Kind | None = None  #: its meaning; None where ``classify`` does not know it
    seconds: float = 0.0  #: how long the call took, in seconds
    #: Why the call had to be ended by force, ``hung`` for a client without a timeout, ``stood still`` for one that
    #: neither ended nor sent a request; else None.
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
        with suppress(Exception):  # kind stays None, which a check reports
            outcome.kind = classify(error)
        return outcome


class Kept(NamedTuple):
    """The result of an earlier call, which its caller still holds."""

    call: Call  #: the call
    value: Any  #: the object
    copy: Any  #: what the object was when the latest call began, as lists and dicts


@dataclass
class Process:
    """Facts about the process of a client."""

    client: object = None  #: the client itself
    shown: Sequence[str] = ()  #: the texts that were logged, printed or warned of
    connections: int = 0  #: how many connections are open, if they are more than the client needs
    left: Sequence[str] = ()  #: the threads and tasks that the client left behind at its close, in words
    settings: Sequence[str] = ()  #: the changed settings of the program


@dataclass
class Observation:
    """One call of a client: its requests, its outcome, and facts that some checks need."""

    exchanges: Sequence[Exchange]  #: the requests of the call, in order
    call: Call | None = None  #: None for requests outside of a call
    outcome: Outcome | None = None  #: None if the observer has none
    process: Process | None = None  #: facts about the client's process; None if the observer has none
    doing: str = "the client"  #: the subject of sentences where there is no call, ``make_client`` or ``close()``
    earlier: Sequence[Exchange] = ()  #: the requests of the same client before this call
    foreign: Sequence[Exchange] = ()  #: requests that reached another service, or the world of another client
    earlier_results: Sequence[Kept] = ()  #: results of earlier calls that their caller still holds
    meanwhile: Call | None = None  #: the call that was under way at the same time
    shared: bool = False  #: whether threads or tasks of the client may have sent some of the requests
    url: str = ""  #: the base address of the service
    keys: Sequence[str] = ()  #: the API keys of the client
    pets: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Any])  #: the service's animals, by id
    lags: bool = False  #: whether lists and reads may leave out animals that the service has (gap ``visibility``)
    flaw: Fault | None = None  #: the fault that the connection met in its TLS handshake, or None
    patience: float = 2.0  #: the seconds that a call may wait for a response that never comes
    read_pet: ReadPet = read_pet  #: reads an animal that the client returned

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


class Broken(NamedTuple):
    """A broken rule whose section and words depend on the case."""

    sentence: str  #: what the client did, without its subject and without a full stop
    section: str  #: the section of the interface, or the RFC; empty where none says it
    words: str  #: what that section says or means


Look = Callable[[Observation], str | Broken | None]


@dataclass(frozen=True)
class Check:
    """One rule for clients, as a function over an observation.

    Call it with a journal, exchanges or an :class:`Observation`: ``checks.no_repeated_create(petstore.journal)``. It
    raises AssertionError with what is wrong, and PetStoreMockError if it needs more than requests.
    """

    name: str  #: the name of the function
    section: str  #: the section of the interface, or the RFC, that the rule follows from
    words: str  #: what that section says or means
    needs: frozenset[Need]  #: what it looks at, of ``journal``, ``outcome``, ``process``
    look: Look  #: returns what the client did wrong, in words that follow the subject; None where it did nothing wrong

    def find(self, seen: Observation) -> str | None:
        """Return what is wrong, in a sentence; None where nothing is, or where the observation lacks a need."""
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
            refuse(f"expected an observation with {in_words(sorted(missing))} for {self.name}; use checks.watched()")
        found = self.find(seen)
        if found is not None:
            raise AssertionError(found)


def check(*, section: str, words: str, needs: Iterable[Need] = ("journal",)) -> Callable[[Look], Check]:
    """Make a check of the decorated function, which takes an :class:`Observation`.

    The function returns what the client did wrong, in words that follow the call (``"sent two requests"``), or None.

    Args:
        section: the section of the interface, or the RFC, that the rule follows from: ``"4.2"``; empty if none.
        words: what that section says or means. Words that are not the interface's own show as an inference.
        needs: what the function looks at besides the call: ``"journal"`` (the requests), ``"outcome"`` (the result or
            the exception), ``"process"`` (output, connections, threads, settings). The check runs only where the
            observer offers it.

    Raises:
        PetStoreMockError: there is no such need.
    """
    chosen = frozenset(needs)
    for need in chosen:
        one_of(need, _NEEDS, "need of a check")
    return lambda look: Check(look.__name__, section, words, chosen, look)
