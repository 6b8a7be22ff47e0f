"""Clients that generators make from the OpenAPI document behave as ``docs/reference/clients.md`` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from petstore_mock import PetStoreMock
from tests.live.clients import cells_of, documented, talk
from tests.peers.tools import HERE, compile_typescript, generate_python, openapi_document, python_tool

pytestmark = [pytest.mark.peers]


def python(document: str, folder: Path) -> list[str]:
    generate_python(document, folder, "pet_store_client")
    (folder / "drive.py").write_bytes((HERE / "drive_generated.py").read_bytes())
    return [python_tool("python"), str(folder / "drive.py")]


def typescript(document: str, folder: Path) -> list[str]:
    compile_typescript(document, folder, (HERE / "drive_generated.ts").read_text(encoding="utf-8"))
    return ["node", str(folder / "drive.js")]


GENERATORS = {"openapi-python-client": python, "openapi-typescript with openapi-fetch": typescript}


@pytest.fixture(scope="module", params=GENERATORS)
def generated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """Return the name of a generator, and the command that drives its client."""
    folder = tmp_path_factory.mktemp("generated")
    return request.param, GENERATORS[request.param](str(openapi_document(folder)), folder)


def test_generated_client_does_what_the_table_says(generated: tuple[str, list[str]]) -> None:
    name, command = generated
    with PetStoreMock() as petstore, talk(*command) as send:
        assert cells_of(petstore, send) == documented(name)
