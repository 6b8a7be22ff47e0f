"""The OpenAPI document in the tools that people have: validators, generators, servers, and tools that send requests.

``docs/reference/openapi.md`` has the table of them. The generated clients of ``test_generated_clients.py``, Prism
(``test_verify.py``) and Schemathesis (``test_schemathesis.py``) read the same document.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from petstore_mock import PetStoreMock
from tests.peers.tools import HERE, NODE_MODULES, generate_python, node_tool, python_tool, run
from tools.documents.blocks import ROOT, blocks

pytestmark = [pytest.mark.peers]

DOCUMENT: Final = ROOT / "docs" / "reference" / "openapi.md"
REX: Final = {"id": 1, "name": "Rex", "categoryId": 1, "status": "available"}
QUIET: Final = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
VALIDATORS: Final = {
    "@apidevtools/swagger-parser": ("node", "validate.mjs"),
    "@redocly/cli": ("redocly", "lint", "openapi.json"),
    "@stoplight/spectral-cli": ("spectral", "lint", "openapi.json", "--ruleset", "spectral.json"),
    "openapi-spec-validator": ("openapi-spec-validator", "openapi.json"),
}
VALIDATE: Final = 'import parser from "@apidevtools/swagger-parser"; await parser.validate("openapi.json");'
TSC: Final = ("--strict", "--module", "nodenext", "--target", "es2022", "--noEmit", "--skipLibCheck")
GENERATED: Final = """
import sys
import openapi_client
from openapi_client import ApiClient, Configuration, NewPet, PetsApi

pets = PetsApi(ApiClient(Configuration(host=sys.argv[1], access_token=sys.argv[2])))
assert pets.get_pet(1).name == "Rex"
created = pets.create_pet(NewPet(name="Mañana", categoryId=2**53 + 1))
assert pets.get_pet(created.id) == created and len(pets.list_pets(limit=2)) == 2
try:
    pets.get_pet(404)
except openapi_client.exceptions.NotFoundException as error:
    print(error.data.code)
"""
CONNEXION: Final = """
import connexion
from connexion.mock import MockResolver

app = connexion.FlaskApp("mock", specification_dir=".")
app.add_api("openapi.json", resolver=MockResolver(mock_all=True), base_path="/v1", validate_responses=True)
key = {"Authorization": "Bearer any"}
with app.test_client() as client:
    print(client.get("/v1/pets/1", headers=key).text)
    refused = [client.post("/v1/pets", json={"name": 5}, headers=key), client.get("/v1/pets")]
    assert [response.status_code for response in refused] == [400, 401]
"""
OPENAPI_BACKEND: Final = """
import { OpenAPIBackend } from "openapi-backend";

const api = new OpenAPIBackend({ definition: "./openapi.json", apiRoot: "/v1", strict: true });
api.register("notImplemented", (call) => call.api.mockResponseForOperation(call.operation.operationId).mock);
api.register("validationFail", () => 400);
api.registerSecurityHandler("apiKey", () => true);
await api.init();
const ask = (path, query) => api.handleRequest({ method: "GET", path, query, headers: {} });
console.log(JSON.stringify(await ask("/v1/pets/1", "")));
if ((await ask("/v1/pets", "limit=500")) !== 400) throw new Error("limit=500 is accepted");
"""


@pytest.fixture(params=["3.1", "3.0"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a folder with the document in ``openapi.json``, in which Node finds the tools."""
    return filled(tmp_path, request.param)


def filled(folder: Path, version: str, *options: str) -> Path:
    command = (sys.executable, "-m", "petstore_mock", "openapi", "--openapi", version, *options)
    (folder / "openapi.json").write_text(run(*command, cwd=folder), encoding="utf-8")
    (folder / "validate.mjs").write_text(VALIDATE, encoding="utf-8")
    (folder / "spectral.json").write_text('{"extends": ["spectral:oas"]}', encoding="utf-8")
    (folder / "node_modules").symlink_to(NODE_MODULES)
    return folder


@pytest.mark.parametrize("tool", VALIDATORS)
def test_validator_accepts_it(folder: Path, tool: str) -> None:
    program, *arguments = VALIDATORS[tool]
    if program == "node":
        node_tool("spectral")  # skips where npm has installed nothing
    else:
        program = python_tool(program) if program == tool else node_tool(program)
    run(program, *arguments, cwd=folder, environment=QUIET)


def test_generators_read_it_and_the_result_compiles(folder: Path) -> None:
    generate_python("openapi.json", folder, "client")
    run(python_tool("python"), "-m", "compileall", "-q", "client", cwd=folder)
    run(node_tool("openapi-typescript"), "openapi.json", "-o", "schema.d.ts", cwd=folder)
    run(node_tool("orval"), "--input", "openapi.json", "--output", "client.ts", "--client", "fetch", cwd=folder)
    run(node_tool("tsc"), *TSC, "client.ts", "schema.d.ts", cwd=folder)


def test_client_of_openapi_generator_reads_and_creates(folder: Path) -> None:
    options = ("generate", "-i", "openapi.json", "-g", "python", "-o", ".")
    run(python_tool("openapi-generator-cli"), *options, cwd=folder)
    (folder / "drive.py").write_text(GENERATED, encoding="utf-8")
    with PetStoreMock(seed=2) as petstore:
        told = run(python_tool("python"), "drive.py", petstore.url, petstore.api_key, cwd=folder)
    assert told == "not_found\n"


def test_postman_asks_for_an_animal_that_is_there(folder: Path) -> None:
    options = ("-s", "openapi.json", "-o", "postman.json", "-O", "parametersResolution=Example")
    run(node_tool("openapi2postmanv2"), *options, cwd=folder)
    (pets,) = json.loads((folder / "postman.json").read_bytes())["item"]
    requests: list[Any] = [item["request"] for item in leaves(pets)]
    assert [value["value"] for one in requests for value in one["url"]["variable"]] == ["1"]
    assert [json.loads(one["body"]["raw"])["name"] for one in requests if one.get("body")] == ["Rex"]


def leaves(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [leaf for child in item["item"] for leaf in leaves(child)] if "item" in item else [item]


def test_dredd_gets_what_it_expects(tmp_path: Path) -> None:
    folder = filled(tmp_path, "3.0")
    (hooks,) = (block for block in blocks("js") if block.document == DOCUMENT)
    (folder / "hooks.cjs").write_text(hooks.text, encoding="utf-8")
    with PetStoreMock(seed=2) as petstore:
        options = ("--hookfiles=hooks.cjs", f"--header=Authorization: Bearer {petstore.api_key}")
        told = run(node_tool("dredd"), "openapi.json", petstore.url, *options, cwd=folder)
    assert "3 passing, 0 failing" in told


def test_specmatic_gets_what_it_expects(tmp_path: Path) -> None:
    folder = filled(tmp_path, "3.1")
    with PetStoreMock(seed=2) as petstore:
        command = (node_tool("specmatic"), "test", "openapi.json", f"--testBaseURL={petstore.url}")
        told = run(*command, cwd=folder, environment={"apiKey": petstore.api_key})
    assert "Tests run: 3, Successes: 3, Failures: 0" in told


def test_connexion_and_openapi_backend_serve_the_examples(tmp_path: Path) -> None:
    folder = filled(tmp_path, "3.0")
    (folder / "key.py").write_text("def info(token):\n    return {'sub': token}\n", encoding="utf-8")
    (folder / "serve.py").write_text(CONNEXION, encoding="utf-8")
    (folder / "serve.mjs").write_text(OPENAPI_BACKEND, encoding="utf-8")
    environment = {"BEARERINFO_FUNC": "key.info", "PYTHONPATH": str(folder)}
    node_tool("spectral")
    for command in ((python_tool("python"), "serve.py"), ("node", "serve.mjs")):
        told = run(*command, cwd=folder, environment=environment)
        assert json.loads(told[told.index("{") : told.index("}") + 1]) == REX, told


def test_table_has_the_versions_that_are_tested() -> None:
    table = DOCUMENT.read_text(encoding="utf-8")
    pinned: dict[str, str] = json.loads((HERE / "package.json").read_bytes())["dependencies"]
    requirements = (HERE / "requirements.txt").read_text(encoding="utf-8")
    pinned |= dict(re.findall(r"^([a-z-]+)(?:\[\w+\])?==([\d.]+)", requirements, re.MULTILINE))
    rows = dict(re.findall(r"^\| `?([@\w/-]+)`? ([\d.]+) \|", table, re.MULTILINE))
    assert len(rows) >= 14
    assert {name: pinned[name] for name in rows} == rows
