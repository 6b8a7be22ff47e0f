"""The state that the examples of one run share: options, listeners, the report, and facts about the client."""

from __future__ import annotations

import textwrap
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks import CHECKS, Check, classify_exception, read_pet
from petstore_mock.checks.calling import Limits
from petstore_mock.checks.process import client_threads, settled
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.mock.petstore import PetStoreMock
from petstore_mock.stateful.environments import ENVIRONMENTS, IPV6_HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks import Kind
    from petstore_mock.checks.adapting import Methods
    from petstore_mock.faults import Fault
    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.journal.exchange import Exchange

_BY_ITSELF: Final = 0.3  # seconds within which a background thread of the client is likely to send a request


@dataclass(kw_only=True)
class Options:
    """The arguments of ``check_client``. A wrong argument raises PetStoreMockError."""

    make_client: Callable[[Any], Any]
    classify: Callable[[BaseException], Kind] = classify_exception
    read_pet: Callable[[Any], Mapping[str, Any]] = read_pet
    methods: Methods | None = None
    vary: Collection[str] = tuple(GAPS)
    faults: Collection[Fault] | None = None
    patience: float = 2.0
    max_examples: int | None = None
    max_seconds: float | None = None
    settings: Settings | None = None
    tls: bool = False
    concurrent: bool = False
    environment: Collection[str] = ()
    longest_wait: float | None = None
    checks: Collection[Check] = ()
    steps: Collection[Callable[[Any, Any], object]] = ()
    arguments: Mapping[str, SearchStrategy[Any]] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        words = "make_client= as a function of the mock, like lambda petstore: Client(petstore.url, petstore.api_key)"
        require(callable(self.make_client), words, make_client=self.make_client)
        for function in (self.classify, self.read_pet, *self.steps):
            require(callable(function), "functions for classify=, read_pet= and steps=", function=function)
        for name in ("patience", "max_seconds", "longest_wait"):
            seconds = getattr(self, name)
            holds = (is_number(seconds) and seconds > 0) or (seconds is None and name != "patience")
            require(holds, f"{name}= as seconds, more than 0", **{name: seconds})
        most = self.max_examples
        is_count = most is None or (is_integer(most) and most > 0)
        require(is_count, "max_examples= as a whole number of at least 1", max_examples=most)
        for one in self.checks:
            require(isinstance(one, Check), "checks= as a list of checks made by petstore_mock.checks.check", check=one)
        self.vary = _names(self.vary, GAPS, "gap", "vary")
        self.environment = _names(self.environment, ENVIRONMENTS, "environment", "environment")
        self.faults = None if self.faults is None else [coerce(fault) for fault in self.faults]


def _names(given: Collection[str], known: Collection[str], kind: str, argument: str) -> list[str]:
    require(not isinstance(given, str), f"{argument}= as a list of names", **{argument: given})
    return [one_of(name, known, kind) for name in dict.fromkeys(given)]


@dataclass
class CheckReport:
    """The coverage of a run: how often the client met each response, gap and fault.

    Attributes:
        examples: the number of examples, with the failing one and without shrinking.
        calls: the number of calls in these examples.
        seconds: the duration of the run, in seconds.
        waited: the part of ``seconds`` for the examples that take real time. These run at the same time.
        answers: the number of responses, by operation and status, or by how the response was lost (``"reset"``).
        gaps: the number of examples in which a gap differed from its default, by gap and alternative.
        faults: the number of requests that met a fault, by kind.
        left_out: the operations for which the client has no method.
    """

    examples: int = 0
    calls: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    answers: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in OPERATIONS})
    gaps: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    faults: Counter[str] = field(default_factory=Counter[str])
    left_out: list[str] = field(default_factory=list[str])

    def begin_example(self, behaviour: Behaviour) -> None:
        self.examples += 1
        for name, value in behaviour.differences().items():
            self.gaps.setdefault(name, Counter())[value] += 1

    def count(self, exchanges: Iterable[Exchange]) -> None:
        for exchange in exchanges:
            if exchange.operation in self.answers:
                self.answers[exchange.operation][str(exchange.status or exchange.result)] += 1
            if exchange.fault is not None:
                self.faults[exchange.fault.kind] += 1

    @property
    def never_shown(self) -> dict[str, list[str]]:
        """The alternatives that no example used, by gap."""
        shown = {name: {gap.default, *self.gaps.get(name, ())} for name, gap in GAPS.items()}
        missing = {name: gap.alternatives.keys() - shown[name] for name, gap in GAPS.items()}
        return {name: sorted(alternatives) for name, alternatives in missing.items() if alternatives}

    def __str__(self) -> str:
        waited = f", {self.waited:.1f} of them waiting" if self.waited else ""
        shown = [f"{name}={value} {count}" for name, counts in self.gaps.items() for value, count in counts.items()]
        never = [f"{name}={'/'.join(alternatives)}" for name, alternatives in self.never_shown.items()]
        lines = {
            **{name: _counted(counts) for name, counts in self.answers.items()},
            "gaps": ", ".join(shown) or "none differed",
            "gaps never shown": ", ".join(never),
            "faults": _counted(self.faults) or "none",
            "left out, because the client has no method": ", ".join(self.left_out),
        }
        text = [f"{self.examples:,} examples, {self.calls:,} calls, {self.seconds:.1f} seconds{waited}"]
        text += [f"{title}: {line}" for title, line in lines.items() if line]
        return "\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in text)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{value} {count:,}" for value, count in counts.most_common())


class Run(ExitStack):
    """One run of the machine."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.options = options
        self.checks = [*CHECKS.values(), *options.checks]
        self.steps = {getattr(step, "__name__", ""): step for step in options.steps}
        self.report = CheckReport()
        self.limits = Limits(options.patience, options.longest_wait)
        self.operations: Mapping[str, Sequence[str]] = {}
        self._keys = count(1)
        self._threads = client_threads()
        self._mocks: dict[str, PetStoreMock] = {}

    def mock(self, name: str = "petstore") -> PetStoreMock:
        """Return the mock of the service, ``petstore`` or ``ipv6``, or of another service, ``elsewhere``."""
        if name not in self._mocks:
            host = IPV6_HOST if name == "ipv6" else "127.0.0.1"
            mock = PetStoreMock(host=host, tls=self.options.tls and name != "ipv6")
            mock.adds_notes = False
            self._mocks[name] = self.enter_context(mock)
        return self._mocks[name]

    def new_key(self) -> str:
        """Return a new key with all kinds of characters that RFC 6750 §2.1 allows."""
        return f"Aa-._~+/key-of-a-test-{next(self._keys)}-{id(self):x}=="

    def meet(self, operations: Mapping[str, Sequence[str]], petstore: PetStoreMock) -> None:
        """Note the methods of the first client, and whether a background thread of it sends requests."""
        self.operations = operations
        self.report.left_out = [name for name in OPERATIONS if name not in operations]
        made = len(petstore.journal)
        if client_threads() - self._threads:
            self.limits.sends_by_itself = settled(lambda: len(petstore.journal) > made, _BY_ITSELF)
