"""A check looks at one call of a client: its requests, its outcome and facts about the process.

How this works: a check declares its rules. Each rule has a stable name and a sentence with places for data. The
function of the check returns a :class:`Mistake`, which has the name of the broken rule and the data.
:meth:`Check.find` makes a :class:`Finding` of it. No code decides by the sentence of a finding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from petstore_mock.checks.reading import in_any_language, literal, raised, read_pet, shortened
from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.common.suggesting import guided
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, Operation, in_words, snake_case, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.checks.reading import Classify, Fields, Kind, ReadPet
    from petstore_mock.common.values import JsonObject
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

Need = Literal["journal", "call", "outcome", "process"]
Group: TypeAlias = "tuple[str, ...]"
Thunk: TypeAlias = "Callable[[], Any]"
Exchanges: TypeAlias = "Sequence[Exchange]"


@dataclass(frozen=True)
class Call:
    """One call of a client's method."""

    operation: str  #: the name of the operation
    arguments: Fields = field(default_factory=dict[str, Any])  #: by the interface's names

    @staticmethod
    def of(row: Operation, positional: Sequence[Any], given: Fields) -> Call:
        """Return the call for the Python arguments of a client's method."""
        names = {snake_case(name): name for name in schemas.arguments(row)}
        arguments: JsonObject = {}
        for name, value in given.items():
            if value is not None:
                arguments[names.get(name, name)] = value
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
        if in_any_language.get():
            given = [f"{name}={write(value)}" for name, value in self.arguments.items()]
            return f"{self.operation}({', '.join(given)})"
        positional, keywords = self.python
        given = [*map(write, positional), *(f"{name}={write(value)}" for name, value in keywords.items())]
        return f"{self.row.client_method}({', '.join(given)})"

    @property
    def row(self) -> Operation:
        """The row of the operation in the table of operations."""
        return OPERATIONS[self.operation]

    @property
    def python(self) -> tuple[list[Any], JsonObject]:
        """The Python arguments: the path parameter by position, the others by keyword."""
        path = self.row.identifier
        keywords = {snake_case(name): value for name, value in self.arguments.items()}
        positional = [] if path is None else [keywords.pop(snake_case(path.name))]
        return positional, keywords

    @property
    def path_value(self) -> Any:  # noqa: ANN401  # an argument is any value
        """The value of the path parameter, or None if the operation has none."""
        path = self.row.identifier
        return None if path is None else self.arguments[path.name]

    @property
    def body(self) -> JsonObject | None:
        """The request body of the call, or None if the operation has none."""
        if self.row.body is None:
            return None
        body = dict(self.arguments)
        for parameter in self.row.parameters:
            body.pop(parameter.name, None)
        return body


RUNAWAY: Final = 200  # requests of one call, followed redirections included
Ended = Literal["hung", "stood still", "ran away", "computed", "paused", "left", "stopped"]


@dataclass
class Outcome:
    """The outcome of a call."""

    value: Any = None  #: the returned object
    error: BaseException | None = None  #: the raised exception, or None
    kind: Kind | None = None  #: the meaning of the exception, or None if ``classify`` does not know it
    seconds: float = 0.0  #: the duration of the call, in seconds
    #: Why the machine gave up on the call. ``hung``: the client has no timeout. ``stood still``: the call neither ended
    #: nor sent a request. ``computed``: the same, but it used the processor all the time. ``ran away``: it sent more
    #: than 200 requests. ``paused``: it paused after a failure, for longer than ``longest_wait``. ``left``: it paused
    #: after a failure, which is no mistake. ``stopped``: another call in its process did not end, and the machine ended
    #: the process. None: the call ended.
    ended: Ended | None = None
    held: float = 0.0  #: how long the call kept all other tasks of its event loop from running, in seconds
    began: float = 0.0  #: when the call began, by ``time.perf_counter()``
    interrupt: type[BaseException] | None = None  #: the class of the exception that interrupted the call, or None

    def __str__(self) -> str:
        return f"returned {shortened(self.value)}" if self.error is None else f"raised {raised(self.error)}"


def attempt(function: Thunk, classify: Classify) -> Outcome:
    """Call ``function`` and return its outcome; raise the mock's own errors."""
    began = perf_counter()
    try:
        return Outcome(function(), seconds=perf_counter() - began, began=began)
    except PetStoreMockError:
        raise
    except BaseException as error:  # a client raises anything
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and isinstance(error, KeyboardInterrupt):  # the user pressed Ctrl-C
            raise
        outcome = Outcome(error=error, seconds=perf_counter() - began, began=began)
        with suppress(BaseException):  # kind stays None, which a check reports
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
    #: What else stays after the close, in words, by the rule that forbids it, such as ``temporary files left``.
    remains: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Any])
    lost: Sequence[str] = ()  #: the errors of threads, tasks and destructors, which no caller can catch
    unformatted: Sequence[str] = ()  #: the messages of log records whose arguments do not fit


@dataclass
class Observation:
    """One call of a client: its requests, its outcome, and the facts that some checks need."""

    exchanges: Exchanges  #: the requests of the call, in order
    call: Call | None = None  #: the call, or None for requests outside of a call
    outcome: Outcome | None = None  #: the outcome of the call, or None if it is not known
    process: Process | None = None  #: facts about the client's process, or None if they are not known
    doing: str = ""  #: what the client does without a call, such as ``close()``; empty if that is not known
    earlier: Exchanges = ()  #: the requests of the same client before this call
    foreign: Exchanges = ()  #: requests that reached another service, or the world of another client
    others_work: bool = False  #: whether threads or tasks of other clients may have sent some of ``foreign``
    earlier_results: Sequence[Kept] = ()  #: results of earlier calls that the caller still holds
    meanwhile: Call | None = None  #: the call that ran at the same time, or None
    closed: bool = False  #: whether the client was closed before the call
    may_lose_coroutines: bool = False  #: whether a call has failed or was interrupted, or the client was closed
    is_same_error: bool = False  #: whether an earlier call raised the exception object of the outcome
    shared: bool = False  #: whether threads or tasks of the client may have sent some of the requests
    url: str = ""  #: the base address of the service
    keys: Sequence[str] = ()  #: the API keys of the client
    pets: Mapping[int, Fields] = field(default_factory=dict[int, Any])  #: the service's animals, by id
    lags: bool = False  #: whether lists and reads may omit animals that the service has (gap ``visibility``)
    flaw: Fault | None = None  #: the fault of the connection's TLS handshake, or None
    patience: float = 2.0  #: how long a call may wait for a response that never comes, in seconds
    longest_wait: float | None = None  #: how long a call may pause after a failure, in seconds; None for any time
    read_pet: ReadPet = read_pet  #: reads an animal that the client returned

    @cached_property
    def offers(self) -> frozenset[Need]:
        """The needs that this observation meets."""
        met: set[Need] = {"journal", "call"}
        if self.outcome is not None:
            met.add("outcome")
        if self.process is not None:
            met.add("process")
        return frozenset(met)

    @property
    def done(self) -> tuple[Call, Outcome] | None:
        """The call and its outcome. None if one of them is not known, or if the call did not end."""
        call = self.call
        outcome = self.outcome
        if call is None or outcome is None or outcome.ended is not None:
            return None
        return call, outcome

    @property
    def ending(self) -> Outcome:
        """The outcome; an empty one if it is not known."""
        return self.outcome or Outcome()

    @property
    def facts(self) -> Process:
        """The facts about the client's process; no facts if they are not known."""
        return self.process or Process()

    @property
    def subject(self) -> str:
        """The subject of sentences: the call, or ``doing`` if there is no call."""
        if self.call is None:
            return self.doing or "the client"
        if self.meanwhile is None:
            return str(self.call)
        return f"{self.call}, while {self.meanwhile} was under way in another thread or task,"


class Broken(NamedTuple):
    """A mistake in words of your own check, if the section depends on the case."""

    sentence: str  #: what the client did, without a subject and without a full stop
    section: str  #: the section of the interface, such as ``4.2``, or an RFC; empty if neither has the rule
    words: str  #: the words of that section, or an inference from it


class Mistake:
    """A broken rule of a check, and the data for its sentence. Mistakes with the same symptom have one cause."""

    def __init__(self, rule: str, source: Source | None = None, symptom: str = "", **data: object) -> None:
        self.rule = rule
        self.source = source
        self.symptom = symptom
        self.data = data


class Source(NamedTuple):
    """The place that has a rule."""

    section: str  #: the section of the interface, such as ``4.2``, or an RFC; empty if neither has the rule
    words: str  #: the words of that section, or an inference from it

    def __str__(self) -> str:
        return ": ".join(filter(None, (source(*self), self.words)))


@dataclass(frozen=True)
class Finding:
    """A mistake of a client that a check found. Its text is one sentence."""

    check: str  #: the name of the check
    rule: str  #: the stable name of the broken rule, for ``ignore=``
    subject: str  #: the call, or what the client did without a call
    says: str  #: the sentence after the subject, with the places of ``data``
    source: Source  #: the place that has the rule
    data: Fields = field(default_factory=dict[str, object])  #: the facts of this case, by name
    symptom: str = ""  #: what one cause may show by several rules, such as the outcome of two calls at once

    def __str__(self) -> str:
        said = self.says.format_map(self.data) if self.data else self.says
        return f"{self.subject} {said} ({self.source})."

    @property
    def group(self) -> Group:
        """The rule and the cause. Two findings with the same group are the same bug of a client."""
        if self.symptom:
            return (self.symptom,)
        return (self.check, self.rule, str(self.data.get("cause", "")))


Said: TypeAlias = "str | Broken | Mistake | None"
Look = Callable[[Observation], Said]


@dataclass(frozen=True)
class Check:
    """One or more rules for clients, as a function over an observation.

    Call it with a journal, exchanges or an :class:`Observation`: ``checks.no_repeated_create(petstore.journal)``. It
    raises AssertionError if the client broke a rule, and PetStoreMockError if the argument lacks facts that it needs.
    A journal has the requests of many calls: a repeated request counts as a retry only if the first one failed.
    """

    name: str  #: the name of the function
    section: str  #: the section of the interface, such as ``4.2``, or an RFC; empty if neither has the rule
    words: str  #: the words of that section, or an inference from it
    #: The facts that the check reads, among ``journal``, ``call``, ``outcome`` and ``process``.
    needs: frozenset[Need]
    look: Look  #: returns the mistake of the client in words that follow the subject, or None
    rules: Mapping[str, str] = field(default_factory=dict[str, str])  #: the sentence of each rule, by the rule's name

    def find(self, seen: Observation) -> Finding | None:
        """Return the client's mistake. None means no mistake, or that the check lacks facts."""
        mistake = self.look(seen) if self.needs <= seen.offers else None
        if mistake is None:
            return None
        if isinstance(mistake, str):
            mistake = Broken(mistake, self.section, self.words)
        if isinstance(mistake, Broken):
            return Finding(self.name, self.name, seen.subject, mistake.sentence, Source(*mistake[1:]))
        place = mistake.source or Source(self.section, self.words)
        subject = str(mistake.data.get("subject", seen.subject))
        symptom = mistake.symptom
        if seen.meanwhile is not None and "outcome" in self.needs:
            # If two calls share a connection, the result and the exception depend on chance.
            symptom = "outcome of two calls at once"
        return Finding(self.name, mistake.rule, subject, self.rules[mistake.rule], place, mistake.data, symptom)

    def __call__(self, seen: Observation | Iterable[Exchange], /) -> None:
        __tracebackhide__ = True
        if isinstance(seen, Observation):
            observation = seen
            offers = seen.offers
        else:
            observation = Observation(list(seen))
            offers = frozenset[Need]({"journal"})
        missing = self.needs - offers
        if missing:
            refuse(
                f"expected an observation with {in_words(sorted(missing))} for {self.name}; got fewer facts: use "
                "checks.watched()"
            )
        found = self.find(observation)
        if found is not None:
            raise AssertionError(str(found))


@guided
def check(
    *,
    section: str,
    words: str,
    needs: Iterable[Need] = ("journal",),
    rules: Mapping[str, str] | None = None,
) -> Callable[[Look], Check]:
    """Return a decorator that turns a function of an :class:`Observation` into a check.

    The function returns the client's mistake in words that follow the call (``"sent two requests"``), or None.

    Args:
        section: the section of the interface, such as ``"4.2"``, or an RFC; empty if neither has the rule.
        words: the words of that section, or an inference from it, which reports mark with "by the meaning of".
        needs: the facts that the function reads besides the call: ``"journal"`` (the requests), ``"call"`` (that all
            requests belong to one call), ``"outcome"`` (the result or the exception), ``"process"`` (output,
            connections, threads, settings). The check runs only where these facts are known.
        rules: the sentences of the check's rules, by name. By default, the check is one rule with its own name.

    Raises:
        PetStoreMockError: there is no such need.
    """
    chosen = frozenset(needs)
    for need in chosen:
        one_of(need, get_args(Need), "need of a check")
    return lambda look: Check(look.__name__, section, words, chosen, look, rules or {})
