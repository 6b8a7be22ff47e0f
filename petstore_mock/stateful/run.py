"""What the examples of one run share: the listeners, the watchdog, and what is known of the client already."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.faults import tls as tls_faults
from petstore_mock.stateful.at_once import Companion
from petstore_mock.stateful.bug_report import explain_outside
from petstore_mock.stateful.checks import certificates
from petstore_mock.stateful.checks.lifecycle import close_problem, made_problem
from petstore_mock.stateful.checks.output import OutputCapture, output_problem
from petstore_mock.stateful.checks.program import Change, ProgramSettings, program_problem
from petstore_mock.stateful.checks.representation import shown_problem, shown_question
from petstore_mock.stateful.exposure import CheckReport
from petstore_mock.stateful.listeners import Listeners
from petstore_mock.stateful.model.adapter import AdaptedClient
from petstore_mock.stateful.model.call import require_client
from petstore_mock.stateful.model.reading import ResultReader
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.script import Script
from petstore_mock.stateful.waiting import WaitingBudget
from petstore_mock.stateful.watchdog import Watchdog, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Self

    from petstore_mock.journal.entry import Entry
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.model.call import Outcome, PetClient
    from petstore_mock.stateful.model.error_classification import Kind

__all__ = ["MOST_LASTING", "CheckRun"]

_BY_ITSELF: Final = 0.3  # seconds within which a thread that asks by itself is likely to do so
MOST_LASTING: Final = 3  # times that threads or tasks outlast a call, or all clients, before they are known to do so
_PAUSE: Final = 0.002  # seconds between two looks


class CheckRun:
    """One run of the machine.

    Args:
        make_client: makes the client of an example.
        classify: says what a client's exception means.
        patience: seconds after which a client that waits for an answer has no timeout.
        methods: the client's own names of the three methods.
        read_pet: reads an animal that a client returned.
        tls: whether the service speaks TLS, and the client is asked whether it checks certificates.
        concurrent: whether the client may be shared by threads or tasks, and is asked twice at once.
        environments: where the examples may be.
        longest_wait: seconds after which a call has come to an end that was told to wait for longer.

    Attributes:
        draws_long_hints: whether clients are told to wait for longer than that.
        companion: makes the first of two calls at once.
        report: what the client was shown.
        threads_were_left: examples that have left threads behind.
        begins_threads: whether a client starts threads when it is made, which may ask by themselves.
        lasting_threads: times that threads have outlasted the call that began them.
        lasting_tasks: the same of tasks.
        held_threads: times that threads went on after their client was closed.
        variables: of the environment, which ``make_client`` sets.
    """

    def __init__(
        self,
        make_client: Callable[[PetStoreMock], PetClient],
        classify: Callable[[BaseException], Kind],
        patience: float,
        *,
        methods: Mapping[str, str | Callable[..., Any]] | None,
        read_pet: Callable[[Any], Mapping[str, Any]],
        tls: bool,
        concurrent: bool,
        environments: Collection[str],
        longest_wait: float | None = None,
    ) -> None:
        self.draws_long_hints = longest_wait is not None
        self.concurrent = concurrent
        self.environments = frozenset(environments) - ({"ipv6"} if tls else set())  # whose names are on certificates
        self.companion = Companion()
        self.make_client = make_client
        self.classify = classify
        self.methods = methods
        self.reader = ResultReader(read_pet)
        self.tls = tls
        self.listeners = Listeners(tls=tls)
        self.waiting = WaitingBudget()
        self.watchdog = Watchdog(patience, longest_wait)
        self.output = OutputCapture()
        self.report = CheckReport()
        self.threads_were_left = 0
        self.lasting_threads = self.lasting_tasks = 0
        self.held_threads = 0
        self.variables: set[str] = set()
        self.begins_threads = False
        self._has_made_one = False
        self._has_frozen = False
        self._needs_adapter = False

    def __enter__(self) -> Self:
        self.output.__enter__()
        # What was there before is no garbage of ours: thousands of collections need not look through it again.
        if hasattr(gc, "freeze") and not gc.get_freeze_count():  # CPython has it
            gc.freeze()
            self._has_frozen = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._has_frozen:
            gc.unfreeze()
            self._has_frozen = False
        self.output.__exit__()
        self.companion.stop()
        try:
            self.watchdog.stop()
        finally:
            self.listeners.stop()

    @property
    def given(self) -> dict[str, Any]:
        """What the run was given, by the names that it has in a test."""
        return {
            "make_client": self.make_client,
            "classify": self.classify,
            "read_pet": self.reader.function,
            "methods": self.methods,
        }

    def begin_example(self, beginning: Scenario) -> None:
        """Begin another example, which is to know nothing of those before."""
        self.report.begin_example(beginning.behaviour)
        self.watchdog.start()
        self.waiting.begin_example((beginning.time_zone, beginning.hours_ahead))
        self.listeners.close_connections()
        self.output.start_over()

    def new_client(self, petstore: PetStoreMock) -> AdaptedClient:
        """Make a client, and look at the first of a run.

        Raises:
            PetStoreMockError: it can't be one.
        """
        if self._has_made_one:
            awaits_tasks = self.lasting_tasks < MOST_LASTING
            return AdaptedClient(self.make_client, self.methods, petstore, awaits_tasks=awaits_tasks)
        threads = threading.active_count()
        client = AdaptedClient(self.make_client, self.methods, petstore)
        require_client(client)
        self._has_made_one = True
        self.begins_threads = threading.active_count() - client.has_loop > threads
        self.watchdog.shared = self.begins_threads and _sends_by_itself(petstore)
        return client

    def try_client(self) -> None:
        """Make a client and close it, so that a wrong ``make_client`` is told of before anything is drawn.

        Raises:
            PetStoreMockError: it can't be one.
            ClientBugError: it asks for what it should not while it is made, or can't be closed before it was used.
        """
        self.watchdog.start()
        with self.listeners.service.fresh() as petstore:
            output, program = self.output, ProgramSettings()
            output.start_over()
            output.keys.add(petstore.api_key)
            try:
                client = self.new_client(petstore)
                problem = made_problem(petstore.journal) or output_problem(
                    output, "make_client", "make_client({petstore})"
                )
                problem = problem or shown_problem(client.client, petstore.api_key)
                question = shown_question(client.client, petstore.api_key)
                if problem is None and question is not None:
                    self.report.ask(question)
                made = len(petstore.journal)
                outcome = attempt(self.watchdog, petstore, "close", client.close)
            finally:
                changes = program.end()
            script = Script(self.given, Scenario(petstore.behaviour, ()), tls=self.tls)
            script.needs_adapter = not client.is_plain
            problem = problem or close_problem(outcome, "petstore", petstore.journal[made:], self.watchdog.standstill)
            problem = problem or output_problem(output, "close()", "{client}.close()")
            if problem is None:
                problem = program_problem("make_client", self._changed(changes))
                script.watches_program = True
            if problem is not None:
                raise explain_outside(problem, script, outcome, petstore.journal)

    def _changed(self, changes: list[Change]) -> list[Change]:
        """Return the settings of the whole program that a client changes while it is made, or closed."""
        unsure = [change for change in changes if not change.is_sure]
        if unsure:  # what an imported library has changed does not come again
            for change in unsure:
                change.undo()
            program = ProgramSettings()
            try:
                with self._trying():
                    pass
            finally:
                again = program.end()
            for change in unsure:
                if change.setting not in {one.setting for one in again}:
                    change.redo()
            changes = [*(change for change in changes if change.is_sure), *again]
        for change in changes:  # of the environment, often the test's own way to tell a client its address and key
            self.variables |= change.variables
        return [change for change in changes if not change.variables]

    def try_certificates(self) -> None:
        """Ask whether a client checks certificates and host names, and has a timeout in the handshake.

        Raises:
            PetStoreMockError: it does not trust the mock at all.
            ClientBugError: it sends its key over a connection that it ought to have refused, or waits for ever.
        """
        with self._trying() as (petstore, client):
            certificates.require_trust(attempt(self.watchdog, petstore, "listPets", client.list_pets))
        accepted: dict[str, Outcome] = {}
        journal: list[Entry] = []
        for flaw in certificates.FLAWS:
            with self._trying() as (petstore, client):
                sent = certificates.sends_over(getattr(tls_faults, flaw)(), petstore, client, self.watchdog)
                if sent is not None:
                    accepted[flaw] = sent
                    journal = journal or list(petstore.journal)
        if accepted:
            raise explain_outside(
                certificates.accepted_problem(list(accepted)),
                self._tls_script(),
                next(iter(accepted.values())),
                journal,
            )
        with self._trying() as (petstore, client):
            waited = certificates.waits_in_handshake(petstore, client, self.watchdog)
            if waited is not None:
                raise explain_outside(
                    certificates.waiting_problem(self.watchdog.patience), self._tls_script(), waited, petstore.journal
                )

    @contextmanager
    def _trying(self) -> Iterator[tuple[PetStoreMock, AdaptedClient]]:
        """Give a world, and a client of its own that is closed at the end."""
        with self.listeners.service.fresh() as petstore:
            client = self.new_client(petstore)
            self._needs_adapter = not client.is_plain
            try:
                yield petstore, client
            finally:
                with suppress(Exception):  # how it closes was looked at
                    client.close()

    def _tls_script(self) -> Script:
        script = Script(self.given, Scenario(Behaviour(), ()), tls=True)
        script.needs_adapter = self._needs_adapter
        return script


def _sends_by_itself(petstore: PetStoreMock) -> bool:
    """Whether a client that was made and asked for nothing sends requests."""
    made = len(petstore.journal)
    deadline = RealTime.monotonic() + _BY_ITSELF
    while RealTime.monotonic() < deadline:
        if len(petstore.journal) > made:
            return True
        time.sleep(_PAUSE)
    return False
