"""The output of the commands: help, gaps, documents, and the verdict on a service that breaks the contract."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from petstore_mock import PetStoreMock, faults
from tests.golden.compare import hold, hold_json
from tests.programs import PETSTORE_MOCK, run


def printed(*arguments: str, code: int = 0) -> str:
    """Return the output of a command."""
    return run(*PETSTORE_MOCK, *arguments, environment={"COLUMNS": "100", "NO_COLOR": "1"}, code=code)


@pytest.mark.parametrize("command", ["", "demo", "serve", "ready", "gaps", "openapi", "check", "verify", "learn"])
def test_help(command: str) -> None:
    hold(f"help-{command or 'all'}.txt", printed(*filter(None, [command]), "--help"))


def test_demo() -> None:
    hold("demo.txt", printed("demo"))


def test_gaps() -> None:
    hold("gaps.txt", printed("gaps"))


def test_openapi_document() -> None:
    hold_json("openapi.json", json.loads(printed("openapi")))


def test_document_of_the_door(day: PetStoreMock) -> None:
    """One line for each operation and schema. The whole document would have thousands of lines."""
    with urllib.request.urlopen(f"{day.control_url}openapi.json", timeout=10) as response:
        document = json.load(response)
    lines = [
        f"{method.upper()} {path} {json.dumps(operation)}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if not path.startswith("/w/")
    ]
    lines += [f"{name} {json.dumps(schema)}" for name, schema in document["components"]["schemas"].items()]
    hold("door.txt", "\n".join(lines))


@pytest.fixture
def broken() -> PetStoreMock:
    """Return a fake that breaks the clause 2-pet-id: it returns an id of the wrong type."""
    petstore = PetStoreMock(seed=3, api_key="a-fixed-key")
    petstore.inject(faults.respond(200, json=[{"id": "1", "name": "Rex", "categoryId": 1}]), on="listPets", times=None)
    return petstore


def test_verdict_on_a_service_that_breaks_the_contract(broken: PetStoreMock, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    options = ("--api-key", "a-fixed-key", "--rate", "1000", "--json", str(record))
    with broken:
        text = printed("verify", broken.url, *options, code=1)
    found = json.loads(record.read_bytes())
    assert found["exit_code"] == 1
    clauses = found["clauses"]
    details = [clause["detail"] for clause in clauses if clause["result"] == "broken"]
    assert details
    words = " ".join(text.split())
    assert all(" ".join(detail.split()) in words for detail in details), "the text shows each breach in full"
    hold("verdict.txt", text, {str(tmp_path): "FOLDER"})
