"""The state machine: draws what happens in an example, and lets it happen."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Final

from hypothesis.stateful import RuleBasedStateMachine

from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import Fault
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.step_generator import STEPS, StepGenerator

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.stateful.run import CheckRun
    from petstore_mock.stateful.scenario import Scenario

__all__ = ["ClientMachine"]

_ODD_KEYS: Final = 3  # one of so many examples has keys of every kind of character


class ClientMachine(RuleBasedStateMachine):
    """Checks a client against every world that the interface allows. Made by ``client_machine``.

    Attributes:
        run: what all examples share.
        differences: the gaps that vary, each with every alternative but its default.
        drawn_faults: draws the faults of an example; None for the machine's own.
        any_fault: whether the faults are the machine's own.
        example: what happens now.
    """

    run: ClassVar[CheckRun]
    differences: ClassVar[Sequence[tuple[str, str]]]
    drawn_faults: ClassVar[SearchStrategy[list[Fault] | None]]
    any_fault: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        self.example: Example | None = None
        self._generator = StepGenerator(0)
        self._faults: Sequence[Fault] | None = None

    def begin(self, number: int, faults: Sequence[Fault] | None) -> None:
        """Begin an example, and let much happen in it.

        Args:
            number: all that happens comes of it.
            faults: the faults that happen; the machine's own without it.
        """
        for fault in faults or ():
            if not isinstance(fault, Fault):
                raise PetStoreMockError(
                    f"expected faults to draw objects of petstore_mock.faults; got {fault!r} ({type(fault).__name__})"
                )
        self._generator = StepGenerator(number)
        self._faults = faults
        behaviour = self._generator.behaviour(self.differences)
        self.example = Example(self.run, behaviour, odd_keys=number % _ODD_KEYS == 1, any_fault=self.any_fault)
        self.go_on()

    def go_on(self) -> None:
        """Let more happen in the same world."""
        assert self.example is not None  # noqa: S101  # initialize rules come first
        for _ in range(STEPS):
            self.example.take(self._generator.step(self._faults))

    def teardown(self) -> None:
        """End the example."""
        example, self.example = self.example, None
        if example is not None:
            example.end()

    @classmethod
    def play(cls, number: int, faults: Sequence[Fault] | None, *, rounds: int = 1) -> None:
        """Play an example from its beginning to its end.

        Args:
            number: as for :meth:`begin`.
            faults: as for :meth:`begin`.
            rounds: how many times as much happens in it.

        Raises:
            ClientBugError: the client has a bug.
        """
        with cls._ending() as machine:
            ClientMachine.begin(machine, number, faults)  # not the rule that a subclass makes of it
            for _ in range(1, rounds):
                ClientMachine.go_on(machine)

    @classmethod
    def replay(cls, scenario: Scenario) -> ClientBugError | None:
        """Play a scenario without drawing anything; return the bug that it shows."""
        try:
            with cls._ending() as machine:
                machine.example = Example(
                    cls.run, scenario.behaviour, odd_keys=scenario.odd_keys, any_fault=scenario.any_fault
                )
                for step in scenario.steps:
                    machine.example.take(step)
        except ClientBugError as error:
            return error
        return None

    @classmethod
    @contextmanager
    def _ending(cls) -> Generator[ClientMachine]:
        """Yield a machine for one example, and end the example."""
        machine = cls()
        try:
            yield machine
        finally:
            machine.teardown()
