"""Single scenarios, played with a client of the tests; and pasted tests, run with another client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import Behaviour
from petstore_mock.stateful import client_machine
from petstore_mock.stateful.scenario import Scenario
from tests.clients.shapes import by_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock import PetStoreMock
    from petstore_mock.stateful import ClientBugError
    from petstore_mock.stateful.steps import Step
    from tests.clients.correct import HttpClientPets, Json


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


def told(client: type[HttpClientPets], *steps: Step, odd_keys: bool = False) -> ClientBugError | None:
    """Let a client of that class go through the steps; return what the machine raises, or None."""
    return play(by_key(client), *steps, odd_keys=odd_keys)


def raised_by(source: str, make_client: Json, **given: Any) -> BaseException | None:  # noqa: ANN401
    """Run a pasted test in this process with another ``make_client``; return what it raised."""
    names: dict[str, Any] = {"make_client": make_client, **given}
    exec(compile(source, "pasted", "exec"), names)  # ours: the product under test
    try:
        names["test_client"]()
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # whatever the client raises
        return error
    return None
