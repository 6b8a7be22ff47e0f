"""Clients that are generated from the door's description plan every kind of fault, and add, read and find an animal."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from petstore_mock import PetStoreMock, faults
from tests.peers.tools import NODE_MODULES, PYTHON_BIN, node_tool, python_tool, run

pytestmark = [pytest.mark.peers]

ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "respond": {"status": 418, "headers": {"X-A": "b"}, "body": "tea"},
    "delay": {"seconds": 1},
    "server_error": {"status": 502, "delay": [0, 0.5]},
    "rate_limited": {"retry_after": 2},
    "truncate": {"fraction": 0.25},
    "dribble": {"bytes_per_second": 9},
    "sequence": {"faults": [503, {"kind": "reset"}]},
}
# Those of the TLS handshake need a stub that speaks TLS; their form has no arguments.
KINDS: Final = sorted({*faults.__all__} - {"Fault", "coerce", "tls"})
SENT: Final = [{"kind": kind, **ARGUMENTS.get(kind, {})} for kind in KINDS]

PYTHON = """
import json, sys
from door import Client, models
from door.api.default import add_pets_of, assert_requests_of, list_faults_of, list_pets_of, make_world_of, plan_fault_of

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
make_world_of.sync("generated", client=client)
for sent in json.loads(sys.argv[2]):
    name = "Fault" + "".join(word.capitalize() for word in sent["kind"].split("_"))
    fault = getattr(models, name).from_dict(dict(sent))
    rule = models.PlanFaultOfBody(fault=fault, off_contract=True)
    planned = plan_fault_of.sync("generated", client=client, body=rule)
    assert type(planned.fault).__name__ == name, planned
    assert planned.fault.to_dict() == sent, (planned, sent)
added = add_pets_of.sync("generated", client=client, body=models.NewAnimal(name="Rex", category_id=7))
(pet,) = list_pets_of.sync("generated", client=client).pets
assert (added.pets[0].id, pet.name, pet.category_id) == (pet.id, "Rex", 7)
where = models.Criteria(name="Rex")
asked = models.AssertRequestsOfBody(times=0, where=where)
assert assert_requests_of.sync("generated", client=client, body=asked).passed
print(len(list_faults_of.sync("generated", client=client).faults))
"""
TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: process.argv[2]! });
const world = { params: { path: { world: "generated" } } };
await client.PUT("/w/{world}/__petstore/world", world);
const faults: components["schemas"]["Fault"][] = FAULTS;
for (const fault of faults) {
    const body = { fault, off_contract: true };
    const { data } = await client.POST("/w/{world}/__petstore/faults", { ...world, body });
    if (JSON.stringify(data?.fault) !== JSON.stringify(fault)) throw new Error(JSON.stringify(data));
}
// @ts-expect-error: the seconds of a delay are a number
void ({ kind: "delay", seconds: "1" } satisfies components["schemas"]["Fault"]);
const { data } = await client.POST("/w/{world}/__petstore/pets", { ...world, body: { name: "Rex", categoryId: 7 } });
const read = await client.GET("/w/{world}/__petstore/pets", world);
const pet = read.data?.pets[0];
if (pet?.name !== "Rex" || pet.categoryId !== 7 || pet.id !== data?.pets[0]?.id) throw new Error(JSON.stringify(pet));
const where = { name: "Rex" };
const told = await client.POST("/w/{world}/__petstore/requests/assert", { ...world, body: { times: 0, where } });
if (!told.data?.passed) throw new Error(JSON.stringify(told));
console.log((await client.GET("/w/{world}/__petstore/faults", world)).data?.faults.length);
"""


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    """Give the address of a stub whose door has described itself in ``openapi.json``."""
    with PetStoreMock(control=True) as petstore:
        with urllib.request.urlopen(f"{petstore.control_url}openapi.json", timeout=30) as reply:
            (tmp_path / "openapi.json").write_bytes(reply.read())
        yield petstore.url.removesuffix("/v1")


def test_python_client(origin: str, tmp_path: Path) -> None:
    options = ("generate", "--path", "openapi.json", "--meta", "none", "--output-path", "door", "--fail-on-warning")
    path = f"{PYTHON_BIN}{os.pathsep}{os.environ['PATH']}"
    run(python_tool("openapi-python-client"), *options, cwd=tmp_path, environment={"PATH": path})
    (tmp_path / "drive.py").write_text(PYTHON, encoding="utf-8")
    told = run(python_tool("python"), "drive.py", origin, json.dumps(SENT), cwd=tmp_path)
    assert told.strip() == str(len(SENT))


def test_typescript_client(origin: str, tmp_path: Path) -> None:
    run(node_tool("openapi-typescript"), "openapi.json", "-o", "schema.d.ts", cwd=tmp_path)
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "drive.ts").write_text(TYPESCRIPT.replace("FAULTS", json.dumps(SENT)), encoding="utf-8")
    options = ("--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck")
    run(node_tool("tsc"), *options, "drive.ts", cwd=tmp_path)
    assert run("node", "drive.js", origin, cwd=tmp_path).strip() == str(len(SENT))
