"""The machine finds what was reported of real clients of HTTP APIs."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import seed, settings

from petstore_mock import Behaviour
from petstore_mock.stateful import client_machine
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.search import find_bug, machine_settings, shrink
from petstore_mock.stateful.steps import ListPets
from tests.clients.correct import make_correct
from tests.clients.shapes import SHAPES, AsyncPets, Shaped
from tests.clients.trackers import ASKED_FOR, KEPT, SHOWN, make_reported
from tests.clients.trackers_kept import DatesAreLocal
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

pytestmark = leavings.EXPECTED

NOT_FOUND = {
    "ErrorsDoNotPickle",  # is how most errors are, and no fault by the interface: not looked for
}
QUICK = {
    "NoneForNoContent",
    "NoRowsForAnythingElse",
    "RefreshesUntilItWorks",
    "FalsyLeftOut",
    "LogsRequests",
    "ConfiguresTheRootLogger",
}


def correct_like(client: Any) -> Any:  # noqa: ANN401  # what makes a client
    """Return what makes a correct client of the same shape."""
    if issubclass(client, Shaped):
        return SHAPES["pydantic"][0]
    return SHAPES["async"][0] if issubclass(client, AsyncPets) else make_correct("http.client")


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(one, marks=() if one.__name__ in QUICK else pytest.mark.slow)
        for one in (*SHOWN, *KEPT)
        if one.__name__ not in NOT_FOUND
    ],
)
def test_what_was_reported_of_real_clients_is_found_and_its_test_fails_when_pasted(client: Any) -> None:  # noqa: ANN401
    make_client = make_reported(client)
    machine = seed(0)(
        client_machine(make_client, **ASKED_FOR.get(client.__name__, {}))
    )  # as for the table of the documents
    found = find_bug(machine, machine_settings(settings(database=None), 200)).bug
    assert found is not None
    assert raised_by(found.test, make_client) is not None, found.test
    assert raised_by(found.test, correct_like(client)) is None, found.test


def test_a_date_that_is_read_as_local_time_is_put_down_to_the_time_zone() -> None:
    machine = client_machine(make_reported(DatesAreLocal))
    limited = Scenario(Behaviour(rate_limit="retry_after_date"), (ListPets(),) * 6)
    elsewhere = replace(limited, time_zone="IST-5:30")
    with machine.run, machine.run.waiting.unlimited():
        assert machine.replay(limited) is None
        found = None
        while found is None:  # where it runs into the next second it has waited long enough
            found = machine.replay(elsewhere)
        found = shrink(machine, elsewhere, found)
    assert "It happens only in another time zone than UTC" in found.sentence
    assert "with time_zone('IST-5:30'), PetStoreMock(" in found.test
    assert os.environ.get("TZ") != "IST-5:30"
    assert raised_by(found.test, make_reported(DatesAreLocal)) is not None, found.test
