"""The control door by its own description: Schemathesis finds nothing in it, and a client made of it works.

Two settings are not the defaults. What JSON Schema can't say (a date of the years that HTTP can write, criteria by the
interface's names, an animal as ``Pet.json`` has it) is refused with 422 though the schema takes it, so 422 is expected
there. And a million animals, or a wait of 25 seconds, are as good as a thousand and a blink: ``door_hooks.py`` lowers
what is sent. ``events`` never ends, and is left out here.
"""

from __future__ import annotations

import json
import os
import re
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock
from tests.peers.tools import HERE, NODE_MODULES, PYTHON_BIN, node_tool, python_tool, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.peers]

SEED = ["--seed", "1"] if os.environ.get("CI") else []
TOML = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "422", "507"]
"""


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True) as mock:
        yield mock
        mock.cancel_faults()  # that were planned at random, and that no request met


def description(petstore: PetStoreMock) -> dict[str, Any]:
    with urllib.request.urlopen(f"{petstore.control_url}openapi.json", timeout=30) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def test_schemathesis_finds_nothing(petstore: PetStoreMock, tmp_path: Path) -> None:
    origin = petstore.url.removesuffix("/v1")
    for name in ("one", "other"):
        made = urllib.request.Request(f"{origin}/w/{name}/__petstore/world", method="PUT")
        urllib.request.urlopen(made, timeout=30).close()
    document = description(petstore)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == "world":  # one that is there: of made-up names most requests would be 404
                    parameter["examples"] = {name: {"value": name} for name in ("one", "other")}
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "schemathesis.toml").write_text(TOML, encoding="utf-8")
    output = run(
        *(python_tool("st"), "--no-color", "run", "openapi.json", "--url", origin, "--checks", "all"),
        *("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "10", *SEED),
        *("--exclude-path-regex", "/events$", "--request-timeout", "60"),
        cwd=tmp_path,
        environment={
            "COLUMNS": "120",
            "NO_PROXY": "127.0.0.1",
            "SCHEMATHESIS_HOOKS": str(HERE / "door_hooks.py"),
        },
    )
    summary = output[output.index("= SUMMARY =") :]
    for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
        assert re.search(rf"✅ {phase}", summary), output
    assert re.search(r"([0-9]+) generated, \1 passed", summary), output


PYTHON = """
import sys
from door import Client
from door.api.default import add_pets, end_world_of, list_pets_of, make_world_of, plan_fault_of
from door.models import NewFault, NewPetsType0, WorldOptions

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
made = make_world_of.sync("generated", client=client, body=WorldOptions(seed=2, strict=True))
assert made.url == f"{sys.argv[1]}/w/generated/v1", made
assert len(list_pets_of.sync("generated", client=client).pets) == 2
plan_fault_of.sync("generated", client=client, body=NewFault(fault=503, times=1))
verdict = end_world_of.sync("generated", client=client)
assert verdict.passed is False
print(verdict.problems[0].kind.value)
"""


def test_generated_python_client_steers_the_stub(petstore: PetStoreMock, tmp_path: Path) -> None:
    document = description(petstore)
    for path in [path for path in document["paths"] if path.endswith(".svg")]:
        del document["paths"][path]  # the generator knows no pictures, and says so
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    options = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", "door", "--fail-on-warning"]
    path = f"{PYTHON_BIN}{os.pathsep}{os.environ['PATH']}"
    run(python_tool("openapi-python-client"), *options, cwd=tmp_path, environment={"PATH": path})
    (tmp_path / "drive.py").write_text(PYTHON, encoding="utf-8")
    origin = petstore.url.removesuffix("/v1")
    assert run(python_tool("python"), "drive.py", origin, cwd=tmp_path).strip() == "unfired_fault"


TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: process.argv[2]! });
const world = { params: { path: { world: "generated" } } };
const made = await client.PUT("/w/{world}/__petstore/world", { ...world, body: { seed: 2, strict: true } });
if (made.data?.pets !== 2) throw new Error(JSON.stringify(made));
// @ts-expect-error: a World has no such field. The compiler complains here if the types let everything pass.
void made.data?.nme;
await client.POST("/w/{world}/__petstore/faults", { ...world, body: { fault: 503, times: 1 } });
const { data } = await client.DELETE("/w/{world}/__petstore/world", world);
console.log(data?.problems[0]?.kind);
"""


def test_generated_typescript_client_steers_the_stub(petstore: PetStoreMock, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(description(petstore)), encoding="utf-8")
    run(node_tool("openapi-typescript"), "openapi.json", "-o", "schema.d.ts", cwd=tmp_path)
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "drive.ts").write_text(TYPESCRIPT, encoding="utf-8")
    options = ("--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck")
    run(node_tool("tsc"), *options, "drive.ts", cwd=tmp_path)
    origin = petstore.url.removesuffix("/v1")
    assert run("node", "drive.js", origin, cwd=tmp_path).strip() == "unfired_fault"
