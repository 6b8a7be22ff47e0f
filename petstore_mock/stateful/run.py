"""The state that the examples of one run share: options, listeners, the report, and facts about the client."""

from __future__ import annotations

import textwrap
from collections import Counter
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.checks import CHECKS, Check, Policy, classify_exception, read_pet
from petstore_mock.checks.calling import Limits
from petstore_mock.checks.watch import client_threads, settled
from petstore_mock.checks.watched import checked_rules
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.suggesting import readable
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.mock.petstore import PetStoreMock
from petstore_mock.stateful.environments import DEFAULT_ENVIRONMENTS, ENVIRONMENTS, IPV6_HOST
from petstore_mock.stateful.pristine import Pristine
from petstore_mock.stateful.profile import Coverage, Outage, retries_in_words
from petstore_mock.stateful.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from random import Random

    from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks.adapting import Methods
    from petstore_mock.checks.check import Group
    from petstore_mock.checks.reading import Classify, ReadPet
    from petstore_mock.checks.scenario import PlannedFault
    from petstore_mock.faults import Fault
    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.stateful.pristine import StateOfClient

_UNCLEAR: Final = "retries, waits and repeated creates not checked, because the client sends requests by itself"
_PAUSE: Final = 6.0  # seconds that a call may pause after a failure, until the machine goes on without it
_SHORT_PAUSE: Final = 1.5
_PAUSES: Final = 12.0  # seconds of all such pauses, after which only the short pause is left
_BY_ITSELF: Final = 0.3  # seconds within which a background thread of the client is likely to send a request


@dataclass
class Options:
    """Return a report of the run, or raise ClientBugError if the client has a bug.

    Args:
        make_client: a function that takes the mock and returns a client of ``petstore.url`` with ``petstore.api_key``.
            The machine calls it once or twice per example. Methods of the client may be ``async def``. The machine
            enters a client that is a context manager, and closes a client that has ``close()``. If the client lacks a
            method, the report lists its operation as left out.
        classify: a function that returns the meaning of a client's exception: an HTTP status, ``"transport"``,
            ``"timeout"`` or ``"protocol"``. It raises an error for an unknown exception. The default knows the usual
            libraries.
        read_pet: a function that returns the fields of an animal that the client returned, by the interface's names.
            The default reads mappings and objects with attributes, also with ``category_id``.
        methods: the client's names of ``list_pets``, ``create_pet`` and ``get_pet``, such as ``pets.all``,
            or functions that take the client and the arguments.
        vary: the gaps that vary; all gaps by default.
        faults: the faults that requests may meet; the machine's own faults by default, ``()`` for none.
        patience: the seconds after which a call that waits for a response is reported as having no timeout.
        max_examples: the number of drawn examples. The default is 200, or no limit with ``max_seconds``.
        max_seconds: the seconds after which no further example begins. Shrinking may take longer. The default is no
            limit.
        settings: Hypothesis's settings; those of the current profile by default. Their ``max_examples`` is
            ignored, and the machine switches deadlines and health checks off.
        tls: whether the service speaks TLS. Then the client must verify certificates and host names, and
            ``make_client`` must make it trust ``petstore.tls``.
        concurrent: whether threads may share the client, or tasks if it is asynchronous. Then some steps make two calls
            at once.
        environment: the environments of the process, one example each. ``"ipv6"`` is an address with colons. In
            ``"proxies"``, HTTP_PROXY names a proxy and NO_PROXY excludes the service. ``"time_zone"`` is a zone other
            than UTC. ``"locale"`` is an installed locale other than English. In ``"netrc"``, a netrc file has an entry
            for the host of the service. The default is all of them except ``"netrc"``.
        longest_wait: the longest ``Retry-After`` that the client waits for, in seconds. With this argument, some
            responses tell the client to wait for days, or have dates of a clock that is an hour fast or slow. Without
            it, no response tells the client to wait for more than a second, because the interface shows no rate limits.
        retries: what the client promises about its retries: a ``petstore_mock.checks.Policy``. The machine holds the
            client to it. Without it, the report shows what the machine measured.
        complete: ``"faults"`` for the complete pass: every single fault, and pairs of faults within one call. The run
            fails if one of them is left for want of time.
        checks: your own checks (see ``petstore_mock.checks.check``), in addition to those of ``petstore_mock.checks``.
        steps: your own steps, which are functions of the client and its mock. The client has the methods of the
            interface, and each of its calls is checked. An AssertionError of a step is a bug.
        arguments: strategies for the arguments of calls, by operation. Each draws a dict with the interface's names:
            ``{"createPet": st.fixed_dictionaries({"name": st.just("Rex"), "categoryId": st.just(1)})}``.

        first: whether to stop at the first bug. By default, the machine goes on and reports all bugs of the run.
        ignore: the names of checks, or of single rules, that your team has decided against. A report of a bug has the
            name of its rule, such as ``"202 is no success"``. The report of the run counts what was ignored.

    Returns:
        A report of examples, responses by operation, gaps, faults and left out operations.

    Raises:
        ClientBugError: the client has a bug. The error has a sentence, a test to paste, the requests and the responses.
        UnknownErrorError: ``classify`` does not know an exception, so the machine can't tell whether it is a bug.
        PetStoreMockError: an argument has a wrong value, or ``make_client`` returns no client.
    """

    make_client: Callable[[PetStoreMock], Any]
    _: KW_ONLY
    classify: Classify | None = None
    read_pet: ReadPet = read_pet
    methods: Methods | None = None
    vary: Collection[str] | None = None
    faults: Collection[int | Fault] | None = None
    patience: float = 2.0
    max_examples: int | None = None
    max_seconds: float | None = None
    settings: Settings | None = None
    tls: bool = False
    concurrent: bool = False
    environment: Collection[str] = DEFAULT_ENVIRONMENTS
    longest_wait: float | None = None
    checks: Collection[Check] = ()
    steps: Collection[Callable[[Any, PetStoreMock], object]] = ()
    arguments: Mapping[str, SearchStrategy[Mapping[str, Any]]] | None = None
    retries: Policy | None = None
    complete: Literal["faults"] | None = None
    first: bool = False
    ignore: Collection[str] = ()

    def __post_init__(self) -> None:
        words = "make_client= as a function of the mock, like lambda petstore: Client(petstore.url, petstore.api_key)"
        require(callable(self.make_client), words, make_client=self.make_client)
        self.classifier = classify_exception if self.classify is None else self.classify
        for function in (self.classifier, self.read_pet, *self.steps):
            require(callable(function), "functions for classify=, read_pet= and steps=", function=function)
        self._check_numbers()
        for check in self.checks:
            is_check = isinstance(check, Check)
            require(is_check, "checks= as a list of checks made by petstore_mock.checks.check", check=check)
        require(self.complete in {None, "faults"}, 'complete="faults"', complete=self.complete)
        self.promised: list[Check] = []
        if self.retries is not None:
            is_policy = isinstance(self.retries, Policy)
            require(is_policy, "retries= as a checks.Policy(attempts=3)", retries=self.retries)
            self.promised.append(self.retries.check)
        self.gaps = [*GAPS]
        if self.vary is not None:
            self.gaps = _names(self.vary, GAPS, "gap", "vary")
        self.environment = _names(self.environment, ENVIRONMENTS, "environment", "environment")
        self.chosen_faults = None if self.faults is None else list(map(coerce, self.faults))
        self.strategies: Mapping[str, SearchStrategy[Any]] = self.arguments or {}
        self.ignored_rules = checked_rules(self.ignore, self.every_check)

    # What a client in another process needs otherwise

    @property
    def every_check(self) -> Sequence[Check]:
        """The checks of the run, in order."""
        return [*CHECKS.values(), *self.checks, *self.promised]

    @property
    def plays_side_by_side(self) -> bool:
        """Whether calls of two clients may overlap."""
        return True

    def state_of_client(self) -> StateOfClient:
        """Return the state that clients of this run share."""
        return Pristine(self.make_client)

    def chance(self) -> Random | None:
        """Return the source of drawn scenarios, or None for that of Hypothesis's settings."""
        return None

    def _check_numbers(self) -> None:
        for name in ("patience", "max_seconds", "longest_wait"):
            seconds = getattr(self, name)
            if seconds is None and name != "patience":
                continue
            holds = is_number(seconds) and seconds > 0
            require(holds, f"{name}= as seconds, more than 0", **{name: seconds})
        most = self.max_examples
        if most is not None:
            is_count = is_integer(most) and most > 0
            require(is_count, "max_examples= as a whole number of at least 1", max_examples=most)


def _names(given: Collection[str], known: Collection[str], kind: str, argument: str) -> list[str]:
    require(not isinstance(given, str), f"{argument}= as a list of names", **{argument: given})
    return [one_of(name, known, kind) for name in dict.fromkeys(given)]


@readable()
@dataclass
class CheckReport:
    """The coverage of a run: how often the client met each response, gap and fault.

    Attributes:
        examples: the number of examples, with the failing one and without shrinking.
        calls: the number of calls in these examples.
        unclear: the number of calls after which the machine could not check retries and waits, because threads or
            tasks of the client send requests by themselves.
        seconds: the duration of the run, in seconds.
        waited: the part of ``seconds`` for the examples that take real time. These run at the same time.
        answers: the number of responses, by operation and status, or by how the response was lost (``"reset"``).
        gaps: the number of examples in which a gap differed from its default, by gap and alternative.
        faults: the number of requests that met a fault, by kind.
        left_out: the operations for which the client has no method.
        ignored: the number of findings that did not count, by the name of the rule.
        outages: what the client did while each request of an operation failed: attempts, pauses, growth, recovery.
        coverage: which single faults, and which pairs of faults, the client met. ``left`` has the others.
        paused: the number of calls that still paused after a failure when the machine went on.
    """

    examples: int = 0
    calls: int = 0
    unclear: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    answers: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in OPERATIONS})
    gaps: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    faults: Counter[str] = field(default_factory=Counter[str])
    left_out: list[str] = field(default_factory=list[str])
    ignored: Counter[str] = field(default_factory=Counter[str])
    outages: dict[tuple[str, str], Outage] = field(default_factory=dict[tuple[str, str], Outage])
    coverage: list[Coverage] = field(default_factory=list[Coverage])
    requests: dict[PlannedFault, int] = field(default_factory=dict["PlannedFault", int], repr=False)
    paused: int = 0

    def outage(self, plan: PlannedFault) -> Outage:
        """Return what the run noted about an outage."""
        key = str(plan.on), str(plan.fault)
        return self.outages.setdefault(key, Outage(*key))

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
        missing: dict[str, list[str]] = {}
        for name, gap in GAPS.items():
            left = gap.alternatives.keys() - {gap.default, *self.gaps.get(name, ())}
            if left:
                missing[name] = sorted(left)
        return missing

    @property
    def gap_of_coverage(self) -> str:
        """What is missing for a complete pass, in words. Empty if nothing is missing."""
        left = [f"{part.subject}: {part}" for part in self.coverage if part.left]
        if not left:
            return ""
        advice = "allow more seconds, or see why the client never met them"
        return f"expected a complete pass; got {'; '.join(left)}: {advice}"

    def __str__(self) -> str:
        text = [f"{self.examples:,} examples, {self.calls:,} calls, {self.seconds:.1f} seconds"]
        if self.waited:
            text[0] += f", {self.waited:.1f} of them waiting"
        text += [f"{title}: {line}" for title, line in self._lines().items() if line]
        return "\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in text)

    def _lines(self) -> dict[str, str]:
        gaps: list[str] = []
        for name, counts in self.gaps.items():
            gaps += [f"{name}={value} {count}" for value, count in counts.items()]
        never = [f"{name}={'/'.join(alternatives)}" for name, alternatives in self.never_shown.items()]
        lines = {name: _counted(counts) for name, counts in self.answers.items()}
        lines |= {"gaps": ", ".join(gaps) or "none differed", "gaps never shown": ", ".join(never)}
        lines["faults"] = _counted(self.faults) or "none"
        lines |= {coverage.subject: str(coverage) for coverage in self.coverage}
        if self.unclear:
            lines[_UNCLEAR] = f"{self.unclear:,} of {self.calls:,} calls"
        return lines | {
            "retries": retries_in_words(self.outages.values()),
            "left out, because the client has no method": ", ".join(self.left_out),
            "ignored": _counted(self.ignored),
            "calls that still paused when the machine went on": f"{self.paused or ''}",
        }


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{value} {count:,}" for value, count in counts.most_common())


class Run(ExitStack):
    """One run of the machine."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.options = options
        self.checks = options.every_check
        self.steps = {getattr(step, "__name__", ""): step for step in options.steps}
        self.report = CheckReport()
        self.limits = Limits(options.patience, options.longest_wait, pause=_PAUSE)
        self.ignore = options.ignored_rules
        self.known: set[Group] = set()  # the groups of the findings that are already reported
        self.progress = Progress()
        self.phase = "a plain client"
        self._pauses = _PAUSES
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

    def note_pause(self) -> None:
        """Note that the machine left a call that paused, and wait for a shorter time if it waited long enough."""
        self.report.paused += 1
        self._pauses -= self.limits.pause
        if self._pauses <= 0:
            self.limits.pause = _SHORT_PAUSE

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
