"""The OpenAPI document: valid, complete, and made from the contract and the schemas."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from petstore_mock import PetStoreMock
from petstore_mock.contract.interface import OPERATIONS, REMOVAL_DATE
from petstore_mock.contract.openapi import openapi_document
from petstore_mock.contract.schemas import Schemas, default_schemas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def document() -> dict[str, Any]:
    return openapi_document(default_schemas())


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()}


def changed(tmp_path: Path, name: str, edit: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return the document of a copy of the schemas in which ``edit`` has changed one."""
    directory = tmp_path / "schemas"
    shutil.copytree(default_schemas().directory, directory)
    path = directory / f"{name}.json"
    schema = json.loads(path.read_bytes())
    edit(schema)
    path.write_text(json.dumps(schema), encoding="utf-8")
    return openapi_document(Schemas(directory))


def test_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_validator_refuses_a_broken_document(document: dict[str, Any]) -> None:
    del document["paths"]["/pets/{petId}"]["get"]["parameters"]
    assert list(OpenAPIV31SpecValidator(document).iter_errors())


def test_document_has_every_operation_where_the_contract_puts_it(document: dict[str, Any]) -> None:
    for operation in OPERATIONS.values():
        found = document["paths"][operation.path.removeprefix("/v1")][operation.method.lower()]
        assert found["operationId"] == operation.name
        assert f"§{operation.section}" in found["description"]
    assert set(operations(document)) == set(OPERATIONS)


def test_every_declared_answer_is_there_and_the_404_and_405_of_every_path(document: dict[str, Any]) -> None:
    for name, operation in operations(document).items():
        expected = {str(status) for status in OPERATIONS[name].statuses} | {"404", "405", "4XX"}  # type: ignore[index]
        assert set(operation["responses"]) == expected
    told = document["components"]["responses"]["OtherRefusal"]["description"]
    assert {"invalid_limit", "after_removal", "rate_limit"} <= set(told.rpartition(": ")[2].split(", "))


def test_every_body_is_the_component_of_its_schema(document: dict[str, Any]) -> None:
    for name, operation in operations(document).items():
        contract = OPERATIONS[name]  # type: ignore[index]
        success = operation["responses"][str(contract.success)]
        assert success["content"] == {
            "application/json": {"schema": {"$ref": f"#/components/schemas/{contract.response_schema}"}}
        }
        for status in operation["responses"].keys() - {str(contract.success)}:
            response = document["components"]["responses"][operation["responses"][status]["$ref"].rsplit("/", 1)[1]]
            assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}
    body = operations(document)["createPet"]["requestBody"]
    assert body == {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewPet"}}},
    }
    assert "requestBody" not in operations(document)["listPets"]


def test_parameters_carry_bounds_and_default(document: dict[str, Any]) -> None:
    limit, status = operations(document)["listPets"]["parameters"]
    assert (limit["name"], limit["in"], limit.get("required", False)) == ("limit", "query", False)
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
    assert (status["name"], status["in"]) == ("status", "query")
    assert status["schema"] == {"$ref": "#/components/schemas/PetStatus"}
    (pet_id,) = operations(document)["getPet"]["parameters"]
    assert (pet_id["name"], pet_id["in"], pet_id["required"]) == ("petId", "path", True)
    assert pet_id["schema"]["format"] == "int64"
    assert "parameters" not in operations(document)["createPet"]


def test_every_operation_asks_for_a_bearer_key(document: dict[str, Any]) -> None:
    ((name, scheme),) = document["components"]["securitySchemes"].items()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert document["security"] == [{name: []}]
    assert not any("security" in operation for operation in operations(document).values())


def test_only_get_pet_is_deprecated_and_says_until_when(document: dict[str, Any]) -> None:
    marked = {name: operation for name, operation in operations(document).items() if operation.get("deprecated")}
    assert set(marked) == {"getPet"}
    assert marked["getPet"]["x-sunset"] == f"{REMOVAL_DATE:%Y-%m-%d}"


def test_both_environments_are_servers_with_variables_and_a_given_one_comes_first(document: dict[str, Any]) -> None:
    assert [server["url"] for server in document["servers"]] == ["{base_url}", "{staging_base_url}"]
    for server in document["servers"]:
        (variable,) = server["variables"].values()
        assert variable["default"].endswith("/v1")
    given_one = openapi_document(default_schemas(), server="http://127.0.0.1:1/v1/")
    assert [server["url"] for server in given_one["servers"]] == [
        "http://127.0.0.1:1/v1",
        "{base_url}",
        "{staging_base_url}",
    ]


def test_no_reference_leads_out_of_the_components(document: dict[str, Any]) -> None:
    """Generators of clients follow references to whole components only."""
    kinds = document["components"]

    def walk(node: object) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                _, _, kind, name = node["$ref"].split("/")
                assert name in kinds[kind]
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for item in node:
                walk(item)

    walk(document)
    assert "$id" not in json.dumps(document)


def test_a_changed_bound_and_default_of_a_parameter_change_the_document(tmp_path: Path) -> None:
    def edit(schema: dict[str, Any]) -> None:
        schema["properties"]["limit"].update(maximum=50, default=10)

    limit = operations(changed(tmp_path, "listPets.parameters", edit))["listPets"]["parameters"][0]
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}


def test_a_new_parameter_and_a_new_required_one_appear(tmp_path: Path) -> None:
    def edit(schema: dict[str, Any]) -> None:
        schema["properties"]["category"] = {"type": "integer"}
        schema["required"] = ["category"]

    parameters = operations(changed(tmp_path, "listPets.parameters", edit))["listPets"]["parameters"]
    assert {"name": "category", "in": "query", "required": True, "schema": {"type": "integer"}} in parameters


def test_a_parameter_may_be_anything_and_a_reference_lead_anywhere(tmp_path: Path) -> None:
    def edit(schema: dict[str, Any]) -> None:
        schema["properties"]["debug"] = True
        schema["properties"]["again"] = {"$ref": "listPets.parameters.json#/properties/debug"}
        schema["properties"]["whole"] = {"anyOf": [{"$ref": "createPet.parameters.json"}, {"type": "string"}]}

    parameters = operations(changed(tmp_path, "listPets.parameters", edit))["listPets"]["parameters"]
    found = {parameter["name"]: parameter["schema"] for parameter in parameters}
    assert found["debug"] is True
    assert found["again"] == {}
    assert found["whole"]["anyOf"][0]["additionalProperties"] is False


def test_a_changed_body_schema_changes_what_refers_into_it(tmp_path: Path) -> None:
    def edit(schema: dict[str, Any]) -> None:
        schema["properties"]["name"]["maxLength"] = 80

    schemas = changed(tmp_path, "NewPet", edit)["components"]["schemas"]
    assert schemas["NewPet"]["properties"]["name"]["maxLength"] == 80
    assert schemas["Pet"]["properties"]["name"]["maxLength"] == 80


def test_mock_gives_the_document_and_its_address_when_it_listens() -> None:
    silent = PetStoreMock()
    assert silent.openapi() == openapi_document(default_schemas())
    with PetStoreMock() as petstore:
        assert petstore.openapi()["servers"][0]["url"] == petstore.url


def test_the_document_is_the_callers_own(document: dict[str, Any]) -> None:
    document["components"]["schemas"]["NewPet"]["required"].clear()
    document["paths"].clear()
    assert openapi_document(default_schemas())["components"]["schemas"]["NewPet"]["required"] == ["name", "categoryId"]
    assert default_schemas().documents["NewPet"]["required"] == ["name", "categoryId"]
