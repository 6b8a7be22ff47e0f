"""The machine plays the steps of a scenario as calls, and prints them as source: both send the same requests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from petstore_mock import PetStoreMock, PetStoreMockError, checks, faults
from petstore_mock.checks.scenario import Act, PlannedFault, Scenario
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.lines import Line, Name
from petstore_mock.stateful.report import explain
from petstore_mock.stateful.run import Options, Run
from petstore_mock.strategies import scenarios
from tests.clients.correct import HttpClientPets

sent: list[tuple[Any, ...]] = []


class Recorded(HttpClientPets):
    """Notes what it sends and receives."""

    def send(self, method: str, path: str, body: bytes | None) -> Any:
        try:
            answer = super().send(method, path, body)
        except Exception as error:
            sent.append((method, path, body, type(error)))
            raise
        sent.append((method, path, body, answer.status))
        return answer


def make_client(petstore: PetStoreMock) -> Recorded:
    return Recorded(petstore.url, petstore.api_key)


@checks.check(section="4", words="a scenario that is over", needs=("call",))
def always_fails_at_the_end(seen: checks.Observation) -> str | None:
    return "is over" if seen.doing == "close()" else None


@pytest.mark.seconds
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(scenario=scenarios(concurrent=False))
def test_a_printed_test_sends_what_the_machine_sent(scenario: Scenario) -> None:
    sent.clear()
    with Run(Options(make_client, checks=[always_fails_at_the_end])) as run:
        run.checks = [always_fails_at_the_end]
        bug = explain(Example(run, scenario).play())
    played = [*sent]
    sent.clear()
    assert bug is not None
    names: dict[str, Any] = {}
    exec(compile(bug.test, "printed", "exec"), names)  # the product under test
    with pytest.raises(AssertionError, match="is over"):
        names["test_client"]()
    assert sent == played


def test_a_line_is_played_by_its_data_alone() -> None:
    """Its owner and its method are names. A text is never more than a text."""

    class Noted:
        def __init__(self) -> None:
            self.calls: list[Any] = []

        def seed(self, *positional: Any, **keywords: Any) -> None:
            self.calls.append((positional, keywords))

    noted, text = Noted(), "') or print('executed')  #"
    line = Line("petstore", "seed", (text, Name("petstore")), {"name": text})
    line.play({"petstore": noted})
    assert noted.calls == [((text, noted), {"name": text})]
    assert str(line) == f"petstore.seed({text!r}, petstore, name={text!r})"


@pytest.mark.parametrize("step", [Act("reset"), Act("seed() or print"), Act("own", {"step": "print"})])
def test_an_unknown_act_is_refused_when_it_is_played(step: Act) -> None:
    with Run(Options(make_client)) as run, pytest.raises(PetStoreMockError, match="one of"):
        Example(run, Scenario(steps=(step,))).play()


def test_the_address_of_a_redirection_is_written_as_a_name() -> None:
    fault = faults.respond(307, headers={"Location": "{elsewhere}/pets"})
    with Run(Options(make_client, checks=[always_fails_at_the_end])) as run:
        run.checks = [always_fails_at_the_end]
        bug = explain(Example(run, Scenario(steps=(PlannedFault(fault=fault),))).play())
    assert bug is not None
    assert "headers={'Location': elsewhere.url + '/pets'}" in bug.test
    assert "as elsewhere" in bug.test
