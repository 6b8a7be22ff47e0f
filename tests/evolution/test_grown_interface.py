"""Rows, schemas and one executor are enough for a new operation, field and parameter: every room follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evolution.grown import grow, look

LOOKS = Path(__file__).with_name("looks.py")
PATHS = "DELETE, GET, HEAD, OPTIONS"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a copy whose interface has grown."""
    folder = tmp_path_factory.mktemp("grown")
    grow(folder)
    return folder


@pytest.fixture(scope="module")
def seen(folder: Path) -> dict[str, Any]:
    """Give what a process on the copy does."""
    return look(folder, LOOKS)


def test_process_runs_on_the_copy(seen: dict[str, Any], folder: Path) -> None:
    assert seen["package"] == str(folder)


def test_operation_is_routed(seen: dict[str, Any]) -> None:
    routes = {"gone": [204, None], "left": [], "again": 404, "malformed": 404, "allow": PATHS, "options": PATHS}
    assert seen["routes"] == routes


def test_parameter_filters_and_is_offered(seen: dict[str, Any]) -> None:
    assert seen["parameters"]["found"] == {"small": [1, 2], "old": [2], "no": []}
    assert "did you mean tag?" in seen["parameters"]["unknown"]


def test_field_is_accepted_and_judged(seen: dict[str, Any]) -> None:
    assert seen["bodies"] == {"created": [201, ["small", "old"]], "refused": [400, "body.tags.1"]}


def test_openapi_describes_it(seen: dict[str, Any]) -> None:
    assert seen["openapi"] == {
        "operation": "deletePet",
        "responses": ["204", "401", "404", "405", "4XX"],
        "parameters": ["limit", "status", "tag"],
        "schemas": [True, True],
    }


def test_tests_seed_and_update_the_field(seen: dict[str, Any]) -> None:
    found = seen["seed_and_update"]
    refused = found.pop("refused")
    assert found == {"sampled": [["small"], ["old", "calm"]], "seeded": ["new"], "updated": ["other"], "taken": False}
    assert "tags must be an array" in refused


def test_journal_knows_operation_and_criteria(seen: dict[str, Any]) -> None:
    assert seen["journal"] == [["deletePet", True], ["listPets", True], ["createPet", True]]


def test_faults_strike_before_and_after_the_commit(seen: dict[str, Any]) -> None:
    assert seen["faults_of_operation"] == {"before_commit": [503, True], "after_commit": [503, False]}


def test_coverage_has_its_outcomes(seen: dict[str, Any]) -> None:
    coverage = seen["coverage"]
    assert (coverage["deletePet 204"], coverage["deletePet 404"]) == (1, 0)
    assert (coverage["createPet 201 tags present"], coverage["createPet 201 tags absent"]) == (1, 0)


def test_door_accepts_and_describes_it(seen: dict[str, Any]) -> None:
    assert seen["door"] == {
        "schemas": [True, True, True, True],
        "criteria": True,
        "operations": True,
        "added": [201, ["small"]],
        "wrong": 422,
    }


def test_console_names_no_field_by_hand(seen: dict[str, Any]) -> None:
    assert seen["console"] == []


def test_mutants_break_it(seen: dict[str, Any]) -> None:
    assert seen["mutants"] == {"without key": 204, "dropped": False, "ignored": 1}


def test_static_types_name_it(seen: dict[str, Any]) -> None:
    assert '"deletePet"]' in seen["static_types"]
    assert seen["static_types"].count("    tags: list[str]") == 2  # of the fields, and of the changes


def test_strategies_draw_it(seen: dict[str, Any]) -> None:
    assert seen["strategies"]["new_pets"] == ["Rex"]
    assert seen["strategies"]["list_queries"]
    assert seen["strategies"]["invalid"]


def test_verify_has_clauses_for_it(seen: dict[str, Any]) -> None:
    assert any(name.startswith("4.5") for name in seen["clauses"])
    assert any("tags" in name for name in seen["clauses"])


def test_machine_calls_it(seen: dict[str, Any]) -> None:
    assert seen["machine"] == {"delete_pet": True, "tag": True, "tags": True}
