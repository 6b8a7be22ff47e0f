"""The state machine: plays examples in which one number decides, or Hypothesis where a subclass adds rules."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest import TestCase

from hypothesis.stateful import RuleBasedStateMachine

from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import Fault
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.scenario import Restrictions, Scenario
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.step_generator import STEPS, StepGenerator
from petstore_mock.stateful.surroundings import in_environment, is_there
from petstore_mock.stateful.time_zones import ANOTHER_ZONE

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.contract.interface import OperationName
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import CheckRun
    from petstore_mock.stateful.steps import Step

__all__ = ["ClientMachine"]

_ZONES: Final = 4  # one of so many examples with dates is in the time zone of the process
_HOURS_AHEAD: Final = (1, 0, 1, -1)  # of the service's clock, likewise, where it is said how long a call may take
_AGAIN: Final = 2  # times that what may have been luck has to come again
_ODD_KEYS: Final = 3  # one of so many examples has keys of every kind of character


class ClientMachine(RuleBasedStateMachine):
    """Checks a client against every world that the interface allows. Made by ``client_machine``.

    A subclass may add rules, invariants and bundles, as with any ``RuleBasedStateMachine``; :attr:`client`,
    :attr:`petstore` and :meth:`call` are for them.

    Attributes:
        run: what all examples share; internal.
        differences: the gaps that vary, each with every alternative but its default; internal.
        restrictions: draws what an example chooses from; internal.
        max_seconds: seconds after which no further example begins, or None; internal.
        is_extended: whether it is a subclass, which may have added rules; internal.
        example: what happens now; internal.
    """

    example: Example | None
    run: ClassVar[CheckRun]
    differences: ClassVar[Sequence[tuple[str, str]]]
    restrictions: ClassVar[SearchStrategy[Restrictions]]
    max_seconds: ClassVar[float | None]
    is_extended: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        cls.is_extended = ClientMachine not in cls.__bases__
        cls.TestCase = _test_case(cls)  # type: ignore[assignment]  # Hypothesis's would not stop listening

    def __init__(self) -> None:
        super().__init__()
        self.example = None

    # For the rules of a subclass

    @property
    def _now(self) -> Example:
        if self.example is None:
            raise PetStoreMockError("expected a rule or an invariant; got a look at an example that has not begun yet")
        return self.example

    @property
    def client(self) -> Any:  # noqa: ANN401  # whatever make_client made
        """The client whose turn it is."""
        return self._now.scene.actor.client.client

    @property
    def petstore(self) -> PetStoreMock:
        """The mock that it talks to."""
        return self._now.scene.actor.petstore

    def call(self, operation: OperationName, **arguments: Any) -> None:  # noqa: ANN401  # those of the three methods
        """Let the client make one of the three calls, and check it as the machine checks its own.

        Args:
            operation: ``"listPets"``, ``"createPet"`` or ``"getPet"``.
            arguments: those of the client's method: ``pet_id``, or ``name``, ``category_id`` and ``status``, and so on.

        Raises:
            ClientBugError: the client has a bug.
        """
        self._catch_up()
        self._now.call(operation, **arguments)

    # What happens

    def begin(
        self,
        behaviour: Behaviour,
        restrictions: Restrictions,
        *,
        odd_keys: bool,
        where: str | None = None,
        hours_ahead: int = 0,
    ) -> None:
        """Begin an example, in an environment or not."""
        zone = ANOTHER_ZONE if where == "time_zone" else None
        place = where if zone is None and where is not None and is_there(where) else None
        beginning = Scenario(behaviour, (), odd_keys, _checked(restrictions), zone, place, hours_ahead)
        self.example = Example(self.run, beginning)

    def take(self, step: Step) -> None:
        """Let one thing happen."""
        self._catch_up()
        self._now.take(step)

    def _catch_up(self) -> None:
        if self.is_extended:
            self._now.catch_up()

    def teardown(self) -> None:
        """End the example."""
        example, self.example = self.example, None
        if example is not None:
            example.end()

    @classmethod
    def play(cls, number: int, restrictions: Restrictions, *, rounds: int = 1) -> None:
        """Play an example from its beginning to its end.

        Args:
            number: all that happens comes of it.
            restrictions: what it chooses from.
            rounds: how many times thirty steps it has.

        Raises:
            ClientBugError: the client has a bug.
        """
        generator = StepGenerator(number, concurrent=cls.run.concurrent, long_hints=cls.run.draws_long_hints)
        behaviour, odd_keys = generator.behaviour(cls.differences), number % _ODD_KEYS == 1
        is_dated = behaviour.rate_limit == "retry_after_date"  # the one date that a client has to read
        allowed = cls.run.environments
        zone = ANOTHER_ZONE if is_dated and number % _ZONES and "time_zone" in allowed else None
        where = in_environment(number, allowed)
        hours_ahead = 0
        if is_dated and cls.run.draws_long_hints:  # whoever waits by its own clock waits for long
            hours_ahead = _HOURS_AHEAD[number // _ZONES % len(_HOURS_AHEAD)]
        beginning = Scenario(behaviour, (), odd_keys, _checked(restrictions), zone, where, hours_ahead)
        try:
            with cls._example(beginning) as example:
                for _ in range(rounds * STEPS):
                    example.take(generator.step(restrictions))
        except ClientBugError as error:
            if cls._comes_again(error):
                raise

    @classmethod
    def _comes_again(cls, error: ClientBugError) -> bool:
        """Say whether what may be a matter of moments shows again.

        Of two calls at once, what was luck would be no test to paste. And on a machine that is too busy, time limits
        run out of clients that have nothing to wait for.
        """
        scenario = error.scenario
        if scenario is None or error.waited:
            return True
        if scenario.has_races:
            return all(cls.replay(scenario) is not None for _ in range(_AGAIN))
        return not error.timed_out or any(cls.replay(scenario) is not None for _ in range(_AGAIN))

    @classmethod
    def replay(cls, scenario: Scenario) -> ClientBugError | None:
        """Play a scenario without drawing anything; return the bug that it shows."""
        try:
            with cls._example(scenario) as example:
                for step in scenario.steps:
                    example.take(step)
        except ClientBugError as error:
            return error
        return None

    @classmethod
    @contextmanager
    def _example(cls, beginning: Scenario) -> Generator[Example]:
        """Begin an example, and end it."""
        example = Example(cls.run, beginning)
        try:
            yield example
        finally:
            example.end()


def _test_case(machine: type[ClientMachine]) -> type[TestCase]:
    """Return a test case that stops listening when it has run, and shrinks as ``check_client`` does."""

    class ClientTestCase(TestCase):
        settings = machine_settings()

        def runTest(self) -> None:  # noqa: N802  # unittest's name
            __tracebackhide__ = True
            find_bug(machine, machine_settings(self.settings)).tell()

        runTest.is_hypothesis_test = True  # type: ignore[attr-defined]  # as Hypothesis marks its own

    ClientTestCase.__name__ = ClientTestCase.__qualname__ = f"{machine.__name__}.TestCase"
    return ClientTestCase


def _checked(restrictions: Restrictions) -> Restrictions:
    """Return what was drawn if it can be used."""
    for fault in restrictions.faults or ():
        if not isinstance(fault, Fault):
            raise PetStoreMockError(
                f"expected faults to draw objects of petstore_mock.faults; got {fault!r} ({type(fault).__name__})"
            )
    return restrictions
