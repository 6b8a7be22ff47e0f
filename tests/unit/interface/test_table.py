"""Routes, sentences, conditions, the OpenAPI document and mutants, as derived from the table."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from petstore_mock import PetStoreMock, PetStoreMockError
from petstore_mock.checks.adapting import PetClient
from petstore_mock.interface.conditions import CONDITIONS, condition_of_status, error_document
from petstore_mock.interface.openapi import as_openapi_3_0, openapi_document
from petstore_mock.interface.schemas import arguments, is_valid, properties
from petstore_mock.interface.table import (
    FIELDS,
    METHODS,
    OPERATIONS,
    ROUTES,
    SENTENCES,
    require_operation,
    snake_case,
    source,
    topic_of,
)
from petstore_mock.verify.mutants import MUTANTS
from tests.client import JSON, Client
from tests.clients.correct import HttpClientPets, LibraryPets

# What a method may do (RFC 9110 §9.3).
EFFECTS = {
    "GET": {"lists", "reads"},
    "POST": {"creates", "changes", "removes"},
    "PUT": {"changes", "replaces"},
    "PATCH": {"changes"},
    "DELETE": {"removes"},
}


def test_routes_follow_the_operations() -> None:
    by_path = {route.path: route for route in ROUTES}
    pets, pet = by_path["/pets"], by_path["/pets/{petId}"]
    for route in ROUTES:
        assert route.allow.split(", ") == sorted({*route.operations, "OPTIONS"})
    assert METHODS.split(", ") == sorted({method for route in ROUTES for method in route.allow.split(", ")})
    assert {one.name for row in ROUTES for one in row.operations.values()} == {*OPERATIONS}
    assert (pets.operations["POST"], "POST" in pet.operations) == (OPERATIONS["createPet"], False)
    assert pets.operations["HEAD"] is OPERATIONS["listPets"]
    assert pet.match(["v1", "pets", "a/b"]) == {"petId": ["a/b"]}
    for segments in (["v1", "pets", ""], ["v1", "pets"], ["V1", "pets", "1"], ["v1", "pets", "1", ""]):
        assert pet.match(segments) is None


def test_rows_match_the_properties_of_the_schemas() -> None:
    assert [*properties("Pet")] == [*FIELDS]
    sent = properties("NewPet")
    assert [*sent] == [name for name in FIELDS if name in sent]
    assert not any(FIELDS[name].is_assigned for name in sent)
    for operation in OPERATIONS.values():
        assert [*properties(operation.parameters_schema)] == [parameter.name for parameter in operation.parameters]
        assert {parameter.filters_by for parameter in operation.filters} <= {*FIELDS}
        assert operation.effect in EFFECTS[operation.method]
        assert {parameter.sentence.section for parameter in operation.parameters} <= {operation.section}
        assert (operation.response is None) is (operation.success == 204)  # RFC 9110 §15.3.5
    for name, field in FIELDS.items():
        assert all(is_valid("Pet")({"id": 1, "name": "", "categoryId": 1, name: sample}) for sample in field.samples)


def test_refusal_of_an_unknown_operation_suggests_the_nearest_name() -> None:
    with pytest.raises(PetStoreMockError, match=r"expected an operation, one of .*\(did you mean 'getPet'\?\)"):
        require_operation("get_pet")


@pytest.mark.parametrize(
    ("section", "words", "told"),
    [
        ("5", SENTENCES["key"].text, "§5"),
        ("4.1", "listPets: List animals", "§4.1"),
        ("4.2", "every createPet adds an animal", "by the meaning of §4.2"),
        ("RFC 9110 §15.4", "a redirection", "RFC 9110 §15.4"),
        ("", "a client ends its threads", ""),
    ],
)
def test_source_marks_an_inference(section: str, words: str, told: str) -> None:
    assert source(section, words) == told


def test_conditions_have_a_sentence_and_an_error_body() -> None:
    for subject in {condition.subject for condition in CONDITIONS.values()}:
        assert any(topic_of(subject, name) in SENTENCES for name in OPERATIONS)
    for status in range(400, 600):
        condition = condition_of_status(status)
        assert (condition.status, bool(re.fullmatch(r"[a-z]+(_[a-z]+)*", condition.code))) == (status, True)
        document: Any = error_document(condition.code, condition.message, status)
        assert is_valid("Error")(document)
    assert SENTENCES["listPets.query"].section == "4.1"


def test_openapi_document_is_valid_and_complete() -> None:
    document: Any = openapi_document("http://127.0.0.1:8080/v1/")
    validate(document)
    found = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    assert found.keys() == OPERATIONS.keys()
    for name, operation in OPERATIONS.items():
        names = [parameter.name for parameter in operation.parameters]
        assert [one["name"] for one in found[name].get("parameters", ())] == names
        assert found[name]["responses"].keys() == {*map(str, operation.statuses), "default"}
    assert openapi_document()["servers"] == document["servers"][1:]


def test_examples_are_the_first_animal_of_a_seeded_world() -> None:
    (first,) = PetStoreMock(seed=1).pets
    paths: Any = openapi_document()["paths"]
    lists, creates, gets = paths["/pets"]["get"], paths["/pets"]["post"], paths["/pets/{petId}"]["get"]
    assert gets["parameters"][0]["examples"]["first"]["value"] == first["id"]
    responses = [(lists, "200", [first]), (creates, "201", first), (gets, "200", first)]
    for operation, status, value in responses:
        assert operation["responses"][status]["content"]["application/json"]["examples"]["first"]["value"] == value
    sent = creates["requestBody"]["content"]["application/json"]["examples"]["first"]["value"]
    assert sent == {name: value for name, value in first.items() if name in properties("NewPet")}


def test_openapi_3_0_wraps_a_reference_with_siblings_in_all_of() -> None:
    assert "allOf" in str(as_openapi_3_0(openapi_document())["components"]["schemas"]["Pet"]["properties"]["status"])


def test_openapi_3_0_document_is_valid() -> None:
    document: Any = as_openapi_3_0(openapi_document())
    validate(document)
    assert document["openapi"] == "3.0.3"
    assert document["paths"]["/pets/{petId}"]["get"]["parameters"][0]["example"] == 1


# Clients


def test_protocol_of_clients_has_each_operation_and_argument() -> None:
    for operation in OPERATIONS.values():
        method = inspect.signature(getattr(PetClient, operation.client_method))
        names = [operation.identifier.name if operation.identifier else "", *arguments(operation)]
        assert [*method.parameters][1:] == [snake_case(name) for name in dict.fromkeys(filter(None, names))]


# Mutants


def test_mutants_differ_and_follow_the_order_of_the_sections() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+", name) and one.operations for name, one in MUTANTS.items())
    assert len({mutant.words for mutant in MUTANTS.values()}) == len(MUTANTS)
    sections = [mutant.clause.partition("-")[0] for mutant in MUTANTS.values()]
    assert sections == sorted(sections)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("name-required-passes", b'{"categoryId":1}'),
        ("name-null-passes", b'{"name":null,"categoryId":1}'),
        ("body-json-passes", b"name=Rex"),
        ("create-without-key", b'{"name":"Rex","categoryId":1}'),
    ],
)
def test_wrong_request_that_a_mutant_accepts_is_no_violation(name: str, body: bytes) -> None:
    petstore = PetStoreMock(mutant=name)
    key = [] if name == "create-without-key" else [*petstore.headers.items()]
    assert Client(petstore, "wsgi").send("POST", "/v1/pets", [*key, JSON], body).status == 201
    exchange = petstore.journal[-1]
    assert (exchange.mutant, exchange.violations, petstore.journal.violations) == (name, (), [])


def test_correct_clients_of_the_corpus_have_each_operation() -> None:
    for client in (HttpClientPets, LibraryPets):
        assert [name for name, row in OPERATIONS.items() if not hasattr(client, row.client_method)] == []
