"""Each room has the additions: ``test_grown_interface.py`` runs these tests on a copy whose interface has grown."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import find, settings
from openapi_spec_validator import validate

import petstore_mock
from petstore_mock import PetStoreMock, PetStoreMockError, faults, strategies
from petstore_mock.interface.openapi import as_openapi_3_0

World = Any  # a PetStoreMock, but the static types of this checkout lack the additions
PACKAGE = Path(petstore_mock.__file__).parent
PET = "/v1/pets/{}"
LICENCE = "/v1/pets/{}/licence"
HOME = "/v1/pets/{}/home"
COLOURED = {"name": "Rex", "categoryId": 1, "colours": ["brown", "grey"]}


@pytest.fixture
def petstore() -> Iterator[World]:
    with PetStoreMock(control=True, strict=False) as petstore:
        yield petstore


def ask(
    petstore: World,
    method: str,
    target: str,
    value: object = None,
    *,
    with_key: bool = True,
    fields: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, Any, str | None]:
    """Send a request; return the status, the JSON value and the field Allow of the response."""
    connection = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=10)
    head = {**(petstore.headers if with_key else {}), "Content-Type": "application/json", **fields}
    connection.request(method, target, None if value is None else json.dumps(value), head)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if body else None, response.getheader("Allow")


def ids(pets: Any) -> list[int]:
    return [pet["id"] for pet in pets]


def test_process_runs_on_the_copy() -> None:
    assert PACKAGE.parent == Path(__file__).parent


def test_new_operation_is_routed(petstore: World) -> None:
    pet_id = petstore.seed(colours=["brown"])["id"]
    assert ask(petstore, "DELETE", LICENCE.format(pet_id))[:2] == (204, None)
    assert petstore.pets == []
    assert ask(petstore, "DELETE", LICENCE.format(pet_id))[0] == 404
    for method, target, section in (("DELETE", LICENCE, "4.91"), ("PUT", HOME, "4.92"), ("GET", PET, "4.3")):
        assert ask(petstore, method, target.format("x"), COLOURED if method == "PUT" else None)[0] == 404
        assert petstore.journal.last.section == section
    for method in ("GET", "OPTIONS"):
        assert ask(petstore, method, HOME.format(1))[2] == "OPTIONS, PUT"


def test_new_parameter_filters_and_is_suggested(petstore: World) -> None:
    petstore.seed_many([{"id": 1, "colours": ["brown"]}, {"id": 2, "colours": ["grey", "brown"]}, {"id": 3}])
    for colour, found in {"brown": [1, 2], "grey": [2], "no": []}.items():
        assert ids(ask(petstore, "GET", f"/v1/pets?colour={colour}")[1]) == found
    assert "did you mean colour?" in ask(petstore, "GET", "/v1/pets?colours=brown")[1]["message"]


def test_new_parameter_may_stand_in_a_header(petstore: World) -> None:
    petstore.seed_many([{"id": 1, "isChipped": True}, {"id": 2, "isChipped": False}, {"id": 3}])
    for text, found in {"true": [1], "false": [2]}.items():
        assert ids(ask(petstore, "GET", "/v1/pets", fields={"X-Chipped": text})[1]) == found
    status, error, _ = ask(petstore, "GET", "/v1/pets", fields={"X-Chipped": "yes"})
    assert (status, petstore.journal.last.violations[0].path) == (400, "header.X-Chipped")
    assert "must be a boolean" in error["message"]
    petstore.journal.assert_called("listPets", times=1, **{"X-Chipped": True})


def test_new_gap_decides_about_a_wrong_value(petstore: World) -> None:
    petstore.seed()
    assert ask(petstore, "GET", "/v1/pets?bornAfter=yesterday")[0] == 400
    assert "must be a date" in petstore.journal.last.reason
    petstore.configure(invalid_birthday="ignore")
    assert len(ask(petstore, "GET", "/v1/pets?bornAfter=yesterday")[1]) == 1


def test_none_in_a_criterion_stands_for_null_where_null_is_allowed(petstore: World) -> None:
    pet = petstore.seed()
    for member in ({}, {"until": None}, {"until": "2026-02-01"}):
        ask(petstore, "PUT", f"/v1/shelters/1/guests/{pet['id']}", {"cause": "Too loud", **member})
    petstore.journal.assert_called("transferPet", times=1, until=None)
    petstore.journal.assert_called("transferPet", times=1, until="2026-02-01")
    ask(petstore, "POST", "/v1/pets", COLOURED)
    petstore.journal.assert_called("createPet", times=1, born=None)


def test_new_field_is_accepted_and_validated(petstore: World) -> None:
    status, created, _ = ask(petstore, "POST", "/v1/pets", COLOURED)
    assert (status, created["colours"]) == (201, ["brown", "grey"])
    assert ask(petstore, "POST", "/v1/pets", {**COLOURED, "colours": ["brown", 5]})[0] == 400
    assert petstore.journal.last.violations[0].path == "body.colours.1"
    for name, value, words in (
        ("born", "yesterday", "must be a date"),
        ("seenAt", "2021-06-15", "must be a date and time"),
        ("weight", "4", "must be a number"),
        ("isChipped", 1, "must be a boolean"),
        ("temper", "Calm", "must be one of calm, lively"),
    ):
        status, error, _ = ask(petstore, "POST", "/v1/pets", {**COLOURED, name: value})
        assert (status, words in error["message"]) == (400, True), error
        assert petstore.journal.last.section == "2"


def test_openapi_describes_the_new_operation_parameter_and_field(petstore: World) -> None:
    document = petstore.openapi()
    removes = document["paths"]["/pets/{petId}/licence"]["delete"]
    assert removes["operationId"] == "retirePet"
    assert sorted(removes["responses"]) == ["204", "401", "404", "default"]
    listed = {one["name"]: one["in"] for one in document["paths"]["/pets"]["get"]["parameters"]}
    assert listed["colour"] == "query"
    assert listed["X-Chipped"] == "header"
    for name in ("Pet", "NewPet"):
        assert "colours" in document["components"]["schemas"][name]["properties"]
    (sent,) = document["paths"]["/pets"]["post"]["requestBody"]["content"]["application/json"]["examples"].values()
    assert sent["value"]["colours"] == ["brown"]


def test_openapi_3_0_says_exclusive_bounds_in_its_own_way(petstore: World) -> None:
    document = as_openapi_3_0(petstore.openapi())
    validate(document)
    weight = document["components"]["schemas"]["NewPet"]["properties"]["weight"]
    assert (weight["minimum"], weight["exclusiveMinimum"], weight["maximum"]) == (0, True, 1000)


def test_seed_and_update_accept_the_new_field(petstore: World) -> None:
    assert [pet["colours"] for pet in petstore.seed_many(2)] == [["brown"], ["grey", "white"]]
    pet = petstore.seed(colours=["new"])
    assert pet["colours"] == ["new"]
    assert petstore.update(pet["id"], colours=["other"])["colours"] == ["other"]
    assert "colours" not in petstore.update(pet["id"], colours=None)
    with pytest.raises(PetStoreMockError, match="colours must be an array"):
        petstore.seed(colours="brown")


def test_journal_knows_the_new_operation_and_its_criteria(petstore: World) -> None:
    pet = petstore.seed()
    ask(petstore, "DELETE", LICENCE.format(pet["id"]))
    ask(petstore, "GET", "/v1/pets?colour=brown")
    ask(petstore, "POST", "/v1/pets", COLOURED)
    petstore.journal.assert_called("retirePet", times=1, petId=pet["id"], status=204)
    petstore.journal.assert_called("listPets", times=1, colour="brown")
    petstore.journal.assert_called("createPet", times=1, colours=["brown", "grey"])
    assert all(one.executed for one in petstore.journal)


@pytest.mark.parametrize(("at", "is_left"), [("before_commit", True), ("after_commit", False)])
def test_faults_fire_before_and_after_the_commit(petstore: World, at: str, is_left: bool) -> None:
    pet = petstore.seed()
    with petstore.inject(faults.server_error(503), on="retirePet", at=at, where={"petId": pet["id"]}):
        assert ask(petstore, "DELETE", LICENCE.format(pet["id"]))[0] == 503
    assert (petstore.pets == [pet]) is is_left


COVERED = """
from looks import COLOURED, LICENCE, ask

def test_it(petstore):
    ask(petstore, "DELETE", LICENCE.format(petstore.seed()["id"]))
    ask(petstore, "POST", "/v1/pets", COLOURED)
"""


def test_coverage_has_outcomes_of_the_new_operation_and_field(tmp_path: Path) -> None:
    (tmp_path / "test_covered.py").write_text(COVERED, encoding="utf-8")
    record = tmp_path / "covered.json"
    # Assertion rewriting makes syntax trees. In two threads at the same time, that can fail (python/cpython#106905).
    options = ["-q", "--assert=plain", f"--rootdir={tmp_path}", f"--petstore-coverage-json={record}"]
    command = [sys.executable, "-m", "pytest", *options]
    subprocess.run([*command, str(tmp_path)], check=False, timeout=100)
    outcomes = json.loads(record.read_text(encoding="utf-8"))["outcomes"]
    shown = {f"{one['operation']} {one['outcome']}": one["shown"] for one in outcomes}
    assert (shown["retirePet 204"], shown["retirePet 404"]) == (True, False)
    assert (shown["createPet 201 colours present"], shown["createPet 201 colours absent"]) == (True, False)


def test_door_describes_the_additions_and_accepts_the_new_field(petstore: World) -> None:
    document = ask(petstore, "GET", "/__petstore/openapi.json")[1]
    for name in ("Animal", "NewAnimal", "AnimalChanges", "Criteria"):
        assert "colours" in document["components"]["schemas"][name]["properties"]
    assert "colour" in document["components"]["schemas"]["Criteria"]["properties"]
    assert "retirePet" in json.dumps(document)
    status, added, _ = ask(petstore, "POST", "/__petstore/pets", {"colours": ["brown"]})
    assert (status, added["pets"][0]["colours"]) == (201, ["brown"])
    assert ask(petstore, "POST", "/__petstore/pets", {"colours": "brown"})[0] == 422


def test_console_hard_codes_no_field() -> None:
    page = PACKAGE / "control" / "page"
    assert [file.name for file in page.iterdir() if "categoryId" in file.read_text(encoding="utf-8")] == []


def test_mutants_break_the_new_operation_field_and_parameter() -> None:
    mutant: World
    with PetStoreMock(mutant="retire-without-key", strict=False) as mutant:
        assert ask(mutant, "DELETE", LICENCE.format(mutant.seed()["id"]), with_key=False)[0] == 204
    with PetStoreMock(mutant="create-colours-dropped", strict=False) as mutant:
        assert "colours" not in ask(mutant, "POST", "/v1/pets", COLOURED)[1]
    with PetStoreMock(mutant="list-colour-filter-ignored", strict=False) as mutant:
        mutant.seed(colours=["grey"])
        assert len(ask(mutant, "GET", "/v1/pets?colour=brown")[1]) == 1


def test_static_types_name_the_new_operation_and_field() -> None:
    source = (PACKAGE / "interface" / "static.py").read_text(encoding="utf-8")
    assert '"retirePet"' in source
    assert source.count("    colours: list[str]") == 2  # in the fields of a new animal, and in the changes of an animal


def test_strategies_draw_the_new_field_and_parameter() -> None:
    quick = settings(database=None, max_examples=2000)
    new: Any = find(strategies.new_pets(), lambda pet: bool(pet.get("colours")), settings=quick)
    assert new["colours"] == ["Rex"]
    assert "colour" in find(strategies.list_queries(), lambda query: "colour" in query, settings=quick)
    assert find(strategies.invalid_new_pets(), lambda one: "colours" in str(one.body), settings=quick).rule
