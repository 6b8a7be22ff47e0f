"""Subclasses with rules of their own, and what Hypothesis's decorators and settings mean to a machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, reproduce_failure, settings
from hypothesis.database import InMemoryExampleDatabase

from petstore_mock import faults
from petstore_mock.stateful import ClientBugError, client_machine
from petstore_mock.stateful.scenario import Restrictions
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import Inject
from petstore_mock.stateful.surroundings import ENVIRONMENTS
from tests.inside.clients.corpus import make_buggy
from tests.inside.stateful import extended, leavings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = leavings.EXPECTED

ONCE = settings(database=None, max_examples=60)
UNSHRUNK = settings(ONCE, phases=[Phase.generate])  # Hypothesis shrinks a subclass for up to ten seconds


def found(machine: Any, chosen: settings = ONCE) -> ClientBugError:  # noqa: ANN401
    bug = find_bug(machine, machine_settings(chosen)).bug
    assert bug is not None
    return bug


def fails(source: str) -> BaseException | None:
    names: dict[str, Any] = {}
    exec(compile(source, "pasted", "exec"), names)  # ours: the product under test
    try:
        names["test_client"]()
    except Exception as error:  # noqa: BLE001  # whatever it raises
        return error
    return None


@pytest.mark.untraced
def test_rules_bundles_and_invariants_of_a_subclass_hold_for_a_sound_client() -> None:
    assert find_bug(extended.Sound, machine_settings(settings(database=None, max_examples=15))).bug is None


@pytest.mark.untraced
def test_what_a_rule_of_a_subclass_finds_is_shrunk_and_told_as_the_rest() -> None:
    bug = found(extended.Cutting)
    assert bug.sentence == "Cutting found: raised AssertionError (0000)."
    steps = [
        line.strip()
        for line in bug.test.splitlines()
        if line.strip().startswith(("state", "added")) and "has_a_client" not in line
    ]
    assert steps[0] == "state = Cutting()"
    assert steps[-3:] == ["added_0 = state.add(name='0000')", "state.find(name=added_0)", "state.teardown()"], bug.test
    assert {*steps[2:-3]} <= {"state.take(step=ListPets())"}, bug.test
    assert "GET /v1/pets?limit=100" in bug.wire
    assert "assert self.client.find(name) is not None, name" in bug.raised
    assert "hypothesis" not in bug.raised
    assert isinstance(fails(bug.test), AssertionError), bug.test
    assert fails(bug.test.replace("Cutting", "Sound")) is None, bug.test


@pytest.mark.untraced
def test_what_is_pasted_of_a_subclass_closes_its_mock_though_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = found(extended.Cutting, UNSHRUNK)
    ended = []
    end = extended.Cutting.teardown

    def teardown(self: extended.Cutting) -> None:
        ended.append(self)
        end(self)

    monkeypatch.setattr(extended.Cutting, "teardown", teardown)
    assert isinstance(fails(bug.test), AssertionError), bug.test
    assert len(ended) == 1, bug.test


@pytest.mark.untraced
def test_what_the_machine_itself_checks_is_found_by_a_subclass_too() -> None:
    bug = found(extended.LosesOne, UNSHRUNK)
    told = r"list_pets\(.*\) returned (\d+ animals?, and|\[.*\] although) the service answered "
    assert re.match(told, bug.sentence), bug.sentence  # of two that came, or of none where one came
    assert isinstance(fails(bug.test), ClientBugError), bug.test


@pytest.mark.parametrize(
    "drawn",
    [
        Inject(faults.respond(503, headers={"Retry-After": "soon"}), "getPet", times=12),
        Inject(faults.respond(502, body=b"\xe9")),
        Inject(faults.sequence(faults.rate_limited("2020-01-01"), faults.respond(204, headers={"A": "b"}))),
        Restrictions(faults=(faults.respond(503, headers={"Retry-After": "1"}),)),
    ],
    ids=str,
)
def test_what_is_drawn_is_shown_as_the_code_that_makes_it(drawn: object) -> None:
    """It stands in the pasted test of a subclass."""
    assert eval(repr(drawn), {"faults": faults, "Inject": Inject, "Restrictions": Restrictions}) == drawn


@pytest.mark.untraced
def test_a_subclass_meets_the_environments_too() -> None:
    bug = found(extended.LosesBrackets, settings(UNSHRUNK, max_examples=300))
    assert ENVIRONMENTS["ipv6"] in bug.sentence
    assert "where='ipv6'" in bug.test
    assert isinstance(fails(bug.test), ClientBugError), bug.test


def test_the_test_case_of_a_subclass_runs_the_subclass() -> None:
    case = extended.Cutting.TestCase
    case.settings = UNSHRUNK
    with pytest.raises(ClientBugError, match="Cutting found"):
        case().runTest()
    assert case.__name__ != extended.Sound.TestCase.__name__ or case is not extended.Sound.TestCase


def test_a_subclass_without_rules_is_a_machine() -> None:
    assert find_bug(extended.AddsNothing, machine_settings(settings(database=None, max_examples=5))).bug is None


def reproduced(machine: Any) -> tuple[Any, ClientBugError]:  # noqa: ANN401
    """Run a machine until it fails, and again with what Hypothesis says reproduces that."""
    bug = found(machine, settings(UNSHRUNK, print_blob=True))
    (note,) = bug.__notes__
    told = re.search(r"@reproduce_failure\('([^']+)', b'([^']+)'\)", note)
    assert told is not None
    return reproduce_failure(told[1], told[2].encode())(machine), bug


def test_what_reproduces_a_failure_is_told_and_heeded() -> None:
    machine, bug = reproduced(client_machine(make_buggy("StatusMadeUp")))
    machine.run.report.examples = 0
    again = find_bug(machine, machine_settings(ONCE))
    assert again.bug is not None
    assert again.bug.sentence == bug.sentence
    assert again.report.examples == 1, "the failing example, and no other"


def test_what_reproduces_a_failure_of_a_subclass_is_told_and_heeded() -> None:
    kind = extended.extended(extended.CutsNames)
    machine, bug = reproduced(kind)
    assert found(machine).sentence == bug.sentence


def test_the_database_remembers_what_failed_by_the_function_that_makes_the_client() -> None:
    """Another client's failures are not tried."""
    database = InMemoryExampleDatabase()
    remembered = settings(database=database, max_examples=100)
    make_client = make_buggy("RememberedByTheClass")
    make_client.__qualname__ = "remembering"
    assert find_bug(client_machine(make_client), machine_settings(remembered)).report.examples >= 1
    keys = [key for key, values in database.data.items() if values]
    assert keys
    other = make_buggy("StatusMadeUp")
    other.__qualname__ = "another"
    found(client_machine(other), remembered)
    assert {key for key, values in database.data.items() if values} > set(keys)


SEEDED = """
from hypothesis import settings

from petstore_mock.stateful import client_machine
from petstore_mock.stateful.machine import ClientMachine
from tests.clients.correct import make_correct

numbers = []
Machine = client_machine(make_correct("http.client"))
Machine.play = classmethod(lambda cls, number, restrictions, rounds: numbers.append(number))
TestClient = Machine.TestCase
TestClient.settings = settings(TestClient.settings, max_examples=9, derandomize=False)  # as Hypothesis does under CI


def test_numbers():
    print(numbers)
"""


@pytest.mark.untraced
def test_the_seed_of_the_command_line_decides_what_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "test_seeded.py").write_text(SEEDED)

    def drawn(seed: int) -> str:
        options = ["-q", "-s", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
        command = [sys.executable, "-m", "pytest", "-p", "_hypothesis_pytestplugin", *options]
        command += [f"--hypothesis-seed={seed}", str(tmp_path)]
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # what others import takes a second
        done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=60, check=False)
        shown = re.search(r"\[\d.*?\]", done.stdout)
        assert shown is not None, done.stdout + done.stderr
        return shown[0]

    assert drawn(1) == drawn(1) != drawn(2)
