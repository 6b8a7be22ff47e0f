"""The OpenAPI document of the control door: Schemathesis finds no bug with it, and clients generated from it work.

Some settings are not the defaults. Schemathesis accepts 422 for valid data, because JSON Schema can't describe all
rules of the door: dates that HTTP can write, criteria with the interface's names, animals as in ``Pet.json``.
``door_hooks.py`` lowers large numbers of animals and long waits. ``events`` never ends, so Schemathesis leaves it out.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from petstore_mock import PetStoreMock, faults
from tests.peers.tools import HERE, compile_typescript, generate_python, python_tool, schemathesis
from tests.programs import run

pytestmark = [pytest.mark.peers]

TOML = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "422", "507"]
"""
ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "respond": {"status": 418, "headers": {"X-A": "b"}, "body": "tea"},
    "delay": {"seconds": 1},
    "server_error": {"status": 502, "delay": [0, 0.5]},
    "rate_limited": {"retry_after": 2},
    "truncate": {"fraction": 0.25},
    "dribble": {"bytes_per_second": 9},
    "encoded": {"coding": "double"},
    "extra_fields": {"headers": {"Set-Cookie": ["a=1", "b=2"]}},
    "interim": {"status": 103},
    "sequence": {"faults": [503, {"kind": "reset"}]},
}
# Every kind of fault, except those of the TLS handshake: they need a stub that speaks TLS.
KINDS: Final = sorted({*faults.__all__} - {"Fault", "coerce", "tls"})
SENT: Final = [{"kind": kind, **ARGUMENTS.get(kind, {})} for kind in KINDS]

PYTHON: Final = """
import json, sys
from door import Client, models
from door.api.default import (
    add_pets_of, assert_requests_of, cancel_faults_of, end_world_of, list_pets_of, make_world_of, plan_fault_of
)

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
made = make_world_of.sync("generated", client=client, body=models.MakeWorldOfBody(seed=2, strict=True))
assert made.url == f"{sys.argv[1]}/w/generated/v1", made
for sent in json.loads(sys.argv[2]):
    name = "Fault" + "".join(word.capitalize() for word in sent["kind"].split("_"))
    fault = getattr(models, name).from_dict(dict(sent))
    rule = models.PlanFaultOfBody(fault=fault, off_contract=True)
    planned = plan_fault_of.sync("generated", client=client, body=rule)
    assert type(planned.fault).__name__ == name, planned
    assert planned.fault.to_dict() == sent, (planned, sent)
cancel_faults_of.sync_detailed("generated", client=client)
added = add_pets_of.sync("generated", client=client, body=models.NewAnimal(name="Rex", category_id=7))
*_, pet = list_pets_of.sync("generated", client=client).pets
assert (added.pets[0].id, pet.name, pet.category_id) == (pet.id, "Rex", 7)
criteria = models.AssertRequestsOfBody(times=0, where=models.Criteria(name="Rex"))
assert assert_requests_of.sync("generated", client=client, body=criteria).passed
plan_fault_of.sync("generated", client=client, body=models.PlanFaultOfBody(fault=503, times=1))
verdict = end_world_of.sync("generated", client=client)
assert verdict.passed is False
print(verdict.problems[0].kind.value)
"""
TYPESCRIPT: Final = """
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: process.argv[2]! });
const world = { params: { path: { world: "generated" } } };
const made = await client.PUT("/w/{world}/__petstore/world", { ...world, body: { seed: 2, strict: true } });
if (made.data?.pets !== 2) throw new Error(JSON.stringify(made));
// @ts-expect-error: a World has no such field. The compiler complains here if the types let everything pass.
void made.data?.nme;
const faults: components["schemas"]["Fault"][] = FAULTS;
for (const fault of faults) {
    const body = { fault, off_contract: true };
    const { data } = await client.POST("/w/{world}/__petstore/faults", { ...world, body });
    if (JSON.stringify(data?.fault) !== JSON.stringify(fault)) throw new Error(JSON.stringify(data));
}
// @ts-expect-error: the seconds of a delay are a number
void ({ kind: "delay", seconds: "1" } satisfies components["schemas"]["Fault"]);
await client.DELETE("/w/{world}/__petstore/faults", world);
const added = await client.POST("/w/{world}/__petstore/pets", { ...world, body: { name: "Rex", categoryId: 7 } });
const pet = (await client.GET("/w/{world}/__petstore/pets", world)).data?.pets.at(-1);
if (pet?.name !== "Rex" || pet.categoryId !== 7) throw new Error(JSON.stringify(pet));
if (pet.id !== added.data?.pets[0]?.id) throw new Error(JSON.stringify(added));
const body = { times: 0, where: { name: "Rex" } };
const asserted = await client.POST("/w/{world}/__petstore/requests/assert", { ...world, body });
if (!asserted.data?.passed) throw new Error(JSON.stringify(asserted));
await client.POST("/w/{world}/__petstore/faults", { ...world, body: { fault: 503, times: 1 } });
const { data } = await client.DELETE("/w/{world}/__petstore/world", world);
console.log(data?.problems[0]?.kind);
"""


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a fake with a door, and write the description of the door as ``openapi.json``."""
    with PetStoreMock(control=True) as petstore:
        with urllib.request.urlopen(f"{petstore.control_url}openapi.json", timeout=30) as response:
            (tmp_path / "openapi.json").write_bytes(response.read())
        yield petstore.url.removesuffix("/v1")
        petstore.cancel_faults()  # Schemathesis planned them, and no request met them


def test_schemathesis_finds_nothing(origin: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        made = urllib.request.Request(f"{origin}/w/{name}/__petstore/world", method="PUT")
        urllib.request.urlopen(made, timeout=30).close()
    document = json.loads((tmp_path / "openapi.json").read_bytes())
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == "world":  # most requests for an invented name would get 404
                    parameter["examples"] = {name: {"value": name} for name in ("one", "other")}
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "schemathesis.toml").write_text(TOML, encoding="utf-8")
    hooks = {"NO_PROXY": "127.0.0.1", "SCHEMATHESIS_HOOKS": str(HERE / "door_hooks.py")}
    schemathesis(tmp_path, origin, "10", "--exclude-path-regex", "/events$", "--request-timeout", "60", **hooks)


def test_generated_python_client_steers_the_stub(origin: str, tmp_path: Path) -> None:
    generate_python("openapi.json", tmp_path, "door")
    (tmp_path / "drive.py").write_text(PYTHON, encoding="utf-8")
    printed = run(python_tool("python"), "drive.py", origin, json.dumps(SENT), cwd=tmp_path)
    assert printed.strip() == "unfired_fault"


def test_generated_typescript_client_steers_the_stub(origin: str, tmp_path: Path) -> None:
    compile_typescript("openapi.json", tmp_path, TYPESCRIPT.replace("FAULTS", json.dumps(SENT)))
    assert run("node", "drive.js", origin, cwd=tmp_path).strip() == "unfired_fault"
