"""Clients that others' generators make from our OpenAPI document do what ``docs/reference/clients.md`` says of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock
from tests.live.clients import cells_of, documented, talk
from tests.peers.tools import HERE, NODE_MODULES, PYTHON_BIN, node_tool, openapi_document, python_tool, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.peers]

PYTHON = "openapi-python-client"
TYPESCRIPT = "openapi-typescript with openapi-fetch"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the file of our document."""
    return str(openapi_document(tmp_path_factory.mktemp("document")))


def _generate_python(document: str, directory: Path) -> list[str]:
    options = ["generate", "--path", document, "--meta", "none", "--fail-on-warning"]
    path = f"{PYTHON_BIN}{os.pathsep}{os.environ['PATH']}"  # it runs ruff over what it generates
    run(
        python_tool("openapi-python-client"),
        *options,
        "--output-path",
        str(directory / "pet_store_client"),
        cwd=directory,
        environment={"PATH": path},
    )
    return [python_tool("python"), _copied("drive_generated.py", directory)]


def _copied(name: str, directory: Path) -> str:
    (directory / name).write_bytes((HERE / name).read_bytes())
    return str(directory / name)


def _generate_typescript(document: str, directory: Path) -> list[str]:
    run(node_tool("openapi-typescript"), document, "-o", "schema.d.ts", cwd=directory)
    (directory / "node_modules").symlink_to(NODE_MODULES)
    (directory / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    source = _copied("drive_generated.ts", directory)
    options = ["--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck"]
    run(node_tool("tsc"), *options, source, cwd=directory)
    return ["node", str(directory / "drive_generated.js")]


GENERATORS = {PYTHON: _generate_python, TYPESCRIPT: _generate_typescript}


@pytest.fixture(scope="module", params=GENERATORS)
def generated(
    request: pytest.FixtureRequest, document: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[str]]:
    """Give the name of a generator, and the command that drives its client."""
    directory = tmp_path_factory.mktemp("generated")
    return request.param, GENERATORS[request.param](document, directory)


def test_generated_client_does_what_the_table_says(generated: tuple[str, list[str]]) -> None:
    name, command = generated
    with PetStoreMock() as petstore, talk(*command) as send:
        assert cells_of(petstore, send) == documented(name)
