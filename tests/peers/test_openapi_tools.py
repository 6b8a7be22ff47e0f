"""The OpenAPI document in third-party tools: validators, generators, and tools that send requests.

``docs/reference/openapi.md`` lists them in a table. The generated clients of ``test_generated_clients.py``, Prism
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
from tests.peers.tools import HERE, NODE_MODULES, compile_typescript, generate_python, node_tool, python_tool
from tests.programs import PETSTORE_MOCK, run
from tools.documents.blocks import ROOT, blocks

pytestmark = [pytest.mark.peers]

DOCUMENT: Final = ROOT / "docs" / "reference" / "openapi.md"
QUIET: Final = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
VALIDATORS: Final = {
    "@redocly/cli": ("redocly", "lint", "openapi.json"),
    "@stoplight/spectral-cli": ("spectral", "lint", "openapi.json", "--ruleset", "spectral.json"),
    "openapi-spec-validator": ("openapi-spec-validator", "openapi.json"),
}
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


@pytest.fixture(params=["3.1", "3.0"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a folder with the document in ``openapi.json``."""
    return filled(tmp_path, request.param)


def filled(folder: Path, version: str) -> Path:
    command = (sys.executable, "-m", "petstore_mock", "openapi", "--openapi", version)
    (folder / "openapi.json").write_text(run(*command, cwd=folder), encoding="utf-8")
    (folder / "spectral.json").write_text('{"extends": ["spectral:oas"]}', encoding="utf-8")
    return folder


@pytest.mark.parametrize("tool", VALIDATORS)
def test_validator_accepts_the_document(folder: Path, tool: str) -> None:
    program, *arguments = VALIDATORS[tool]
    path = python_tool(program) if program == tool else node_tool(program)
    run(path, *arguments, cwd=folder, environment=QUIET)


def test_generators_read_the_document_and_the_result_compiles(folder: Path) -> None:
    generate_python("openapi.json", folder, "client")
    run(python_tool("python"), "-m", "compileall", "-q", "client", cwd=folder)
    compile_typescript("openapi.json", folder, 'import type { paths } from "./schema.js"; void ({} as paths);')


# For each generator: its command, and a program with a typed list.
TYPED: Final = {
    "openapi-typescript-codegen": (
        # Redocly has a program of the same short name.
        ("../openapi-typescript-codegen/bin/index.js", "--input", "openapi.json", "--output", "client"),
        (
            'import { PetsService } from "./client/index.js";\n'
            "export const names = async () => (await PetsService.listPets()).map((pet) => pet.name);\n"
        ),
    ),
    "oazapfts": (
        ("oazapfts", "openapi.json", "client.ts", "--optimistic"),
        (
            'import { listPets } from "./client.js";\n'
            "export const names = async () => (await listPets()).map((pet) => pet.name);\n"
        ),
    ),
}


@pytest.mark.parametrize("version", ["3.1", "3.0"])
@pytest.mark.parametrize("generator", TYPED)
def test_typed_list_compiles_without_default_responses(generator: str, version: str, tmp_path: Path) -> None:
    (program, *arguments), source = TYPED[generator]
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "names.ts").write_text(source, encoding="utf-8")
    compiler = ("--strict", "--noEmit", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck")
    libraries = ("--target", "es2022", "--lib", "es2022,dom", "--types", "node")
    document = run(*PETSTORE_MOCK, "openapi", "--openapi", version, "--no-default-responses")
    (tmp_path / "openapi.json").write_text(document, encoding="utf-8")
    run(node_tool(program), *arguments, cwd=tmp_path)
    run(node_tool("tsc"), *compiler, *libraries, "names.ts", cwd=tmp_path)


def test_typed_list_of_the_whole_document_may_be_an_error(tmp_path: Path) -> None:
    (program, *arguments), _ = TYPED["openapi-typescript-codegen"]
    (tmp_path / "openapi.json").write_text(run(*PETSTORE_MOCK, "openapi"), encoding="utf-8")
    run(node_tool(program), *arguments, cwd=tmp_path)
    service = (tmp_path / "client" / "services" / "PetsService.ts").read_text(encoding="utf-8")
    assert "CancelablePromise<Pets | Error>" in service, "the page can drop the option for this generator"


def test_client_of_openapi_generator_reads_and_creates(folder: Path) -> None:
    options = ("generate", "-i", "openapi.json", "-g", "python", "-o", ".")
    run(python_tool("openapi-generator-cli"), *options, cwd=folder)
    (folder / "drive.py").write_text(GENERATED, encoding="utf-8")
    with PetStoreMock(seed=2) as petstore:
        printed = run(python_tool("python"), "drive.py", petstore.url, petstore.api_key, cwd=folder)
    assert printed == "not_found\n"


def test_a_postman_collection_requests_an_existing_animal(folder: Path) -> None:
    options = ("-s", "openapi.json", "-o", "postman.json", "-O", "parametersResolution=Example")
    run(node_tool("openapi2postmanv2"), *options, cwd=folder)
    (pets,) = json.loads((folder / "postman.json").read_bytes())["item"]
    requests: list[Any] = [item["request"] for item in leaves(pets)]
    assert [value["value"] for one in requests for value in one["url"]["variable"]] == ["1"]
    assert [json.loads(one["body"]["raw"])["name"] for one in requests if one.get("body")] == ["Rex"]


def leaves(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [leaf for child in item["item"] for leaf in leaves(child)] if "item" in item else [item]


def test_dredd_gets_the_responses_that_it_expects(tmp_path: Path) -> None:
    folder = filled(tmp_path, "3.0")
    (hooks,) = (block for block in blocks("js") if block.document == DOCUMENT)
    (folder / "hooks.cjs").write_text(hooks.text, encoding="utf-8")
    with PetStoreMock(seed=2) as petstore:
        options = ("--hookfiles=hooks.cjs", f"--header=Authorization: Bearer {petstore.api_key}")
        printed = run(node_tool("dredd"), "openapi.json", petstore.url, *options, cwd=folder)
    assert "3 passing, 0 failing" in printed


def test_table_has_the_versions_that_are_tested() -> None:
    table = DOCUMENT.read_text(encoding="utf-8")
    pinned: dict[str, str] = json.loads((HERE / "package.json").read_bytes())["dependencies"]
    requirements = (HERE / "requirements.txt").read_text(encoding="utf-8")
    pinned |= dict(re.findall(r"^([a-z-]+)(?:\[\w+\])?==([\d.]+)", requirements, re.MULTILINE))
    rows = dict(re.findall(r"^\| `?([@\w/-]+)`? ([\d.]+) \|", table, re.MULTILINE))
    assert len(rows) >= 10
    assert {name: pinned[name] for name in rows} == rows
