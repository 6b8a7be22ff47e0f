"""The control door by its own description: Schemathesis finds nothing in it, and a client made of it works.

Two settings are not the defaults. What JSON Schema can't say (a date of the years that HTTP can write, criteria by the
interface's names, an animal as ``Pet.json`` has it) is refused with 422 though the schema takes it, so 422 is expected
there. And a million animals, or a wait of 25 seconds, are as good as a thousand and a blink: ``door_hooks.py`` lowers
what is sent. ``events`` never ends, and is left out here.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from petstore_mock import PetStoreMock
from tests.peers.tools import HERE, compile_typescript, generate_python, python_tool, run, schemathesis

pytestmark = [pytest.mark.peers]

TOML = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "422", "507"]
"""
PYTHON = """
import sys
from door import Client
from door.api.default import end_world_of, list_pets_of, make_world_of, plan_fault_of
from door.models import MakeWorldOfBody, PlanFaultOfBody

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
made = make_world_of.sync("generated", client=client, body=MakeWorldOfBody(seed=2, strict=True))
assert made.url == f"{sys.argv[1]}/w/generated/v1", made
assert len(list_pets_of.sync("generated", client=client).pets) == 2
plan_fault_of.sync("generated", client=client, body=PlanFaultOfBody(fault=503, times=1))
verdict = end_world_of.sync("generated", client=client)
assert verdict.passed is False
print(verdict.problems[0].kind.value)
"""
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


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    """Give the address of a fake with a door, whose description stands in the folder as ``openapi.json``."""
    with PetStoreMock(control=True) as petstore:
        with urllib.request.urlopen(f"{petstore.control_url}openapi.json", timeout=30) as response:
            (tmp_path / "openapi.json").write_bytes(response.read())
        yield petstore.url.removesuffix("/v1")
        petstore.cancel_faults()  # that were planned at random, and that no request met


def test_schemathesis_finds_nothing(origin: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        made = urllib.request.Request(f"{origin}/w/{name}/__petstore/world", method="PUT")
        urllib.request.urlopen(made, timeout=30).close()
    document = json.loads((tmp_path / "openapi.json").read_bytes())
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == "world":  # one that is there: of made-up names most requests would be 404
                    parameter["examples"] = {name: {"value": name} for name in ("one", "other")}
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "schemathesis.toml").write_text(TOML, encoding="utf-8")
    hooks = {"NO_PROXY": "127.0.0.1", "SCHEMATHESIS_HOOKS": str(HERE / "door_hooks.py")}
    schemathesis(tmp_path, origin, "10", "--exclude-path-regex", "/events$", "--request-timeout", "60", **hooks)


def test_generated_python_client_steers_the_stub(origin: str, tmp_path: Path) -> None:
    generate_python("openapi.json", tmp_path, "door")
    (tmp_path / "drive.py").write_text(PYTHON, encoding="utf-8")
    assert run(python_tool("python"), "drive.py", origin, cwd=tmp_path).strip() == "unfired_fault"


def test_generated_typescript_client_steers_the_stub(origin: str, tmp_path: Path) -> None:
    compile_typescript("openapi.json", tmp_path, TYPESCRIPT)
    assert run("node", "drive.js", origin, cwd=tmp_path).strip() == "unfired_fault"
