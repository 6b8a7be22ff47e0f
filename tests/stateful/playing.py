"""Single scenarios, played with a client of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock import Behaviour
from petstore_mock.stateful import client_machine
from petstore_mock.stateful.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock import PetStoreMock
    from petstore_mock.stateful import ClientBugError
    from petstore_mock.stateful.steps import Step
    from tests.clients.correct import HttpClientPets, Json


def made(client: type[HttpClientPets]) -> Callable[[PetStoreMock], Json]:
    """Return what makes a client of a class, for the machine and for a pasted test."""
    return lambda petstore: client(petstore.url, petstore.api_key)


def play(
    make_client: Callable[[PetStoreMock], Json],
    *steps: Step,
    behaviour: Behaviour | None = None,
    odd_keys: bool = False,
    patience: float = 2.0,
) -> ClientBugError | None:
    """Let a client go through the steps; return what the machine raises, or None."""
    machine = client_machine(make_client, patience=patience)
    with machine.run, machine.run.waiting.unlimited():
        return machine.replay(Scenario(behaviour or Behaviour(), steps, odd_keys))
