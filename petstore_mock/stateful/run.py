"""What the examples of one run share: its options, the listeners, the report, and what is known of the client."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks import CHECKS
from petstore_mock.checks.attending import Limits, client_threads
from petstore_mock.checks.process import settled
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.mock.petstore import PetStoreMock
from petstore_mock.stateful.environments import IPV6_HOST
from petstore_mock.stateful.exposure import CheckReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks import Check, Kind
    from petstore_mock.checks.adapting import Methods
    from petstore_mock.faults import Fault

_BY_ITSELF: Final = 0.3  # seconds within which a thread that sends by itself is likely to do so


@dataclass(frozen=True, kw_only=True)
class Options:
    """The arguments of ``check_client``, checked."""

    make_client: Callable[[Any], Any]
    classify: Callable[[BaseException], Kind]
    read_pet: Callable[[Any], Mapping[str, Any]]
    methods: Methods | None
    vary: Sequence[str]
    faults: Sequence[Fault] | None
    patience: float
    max_seconds: float | None
    tls: bool
    concurrent: bool
    environments: Sequence[str]
    longest_wait: float | None
    checks: Sequence[Check]  # of the test's own
    steps: Mapping[str, Callable[[Any, Any], object]]
    arguments: Mapping[str, SearchStrategy[Any]]


class Run(ExitStack):
    """One run of the machine."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.options = options
        self.checks = [*CHECKS.values(), *options.checks]
        self.report = CheckReport()
        self.limits = Limits(options.patience, options.longest_wait)
        self.operations: Mapping[str, Sequence[str]] = {}
        self._keys = 0
        self._threads = client_threads()
        self._mocks: dict[str, PetStoreMock] = {}

    def mock(self, name: str = "petstore") -> PetStoreMock:
        """Return the service (at an IPv6 address for ``ipv6``), or another service, ``elsewhere``."""
        if name not in self._mocks:
            host = IPV6_HOST if name == "ipv6" else "127.0.0.1"
            mock = PetStoreMock(host=host, tls=self.options.tls and name != "ipv6")
            mock.adds_notes = False
            self._mocks[name] = self.enter_context(mock)
        return self._mocks[name]

    def new_key(self) -> str:
        """Return a key with characters of every kind that RFC 6750 §2.1 allows."""
        self._keys += 1
        return f"Aa-._~+/key-of-a-test-{self._keys}-{id(self):x}=="

    def meet(self, operations: Mapping[str, Sequence[str]], petstore: PetStoreMock) -> None:
        """Look at the first client: which methods it has, and whether a thread of it sends requests by itself."""
        self.operations = operations
        self.report.left_out = [name for name in OPERATIONS if name not in operations]
        made = len(petstore.journal)
        if client_threads() > self._threads:
            self.limits.sends_by_itself = settled(lambda: len(petstore.journal) > made, _BY_ITSELF)
