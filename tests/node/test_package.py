"""The npm package ``adapters/node``, installed from its tarball into an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from petstore_mock import __version__
from tests.peers.tools import NODE_MODULES, node_tool
from tests.platforms import POSIX_SHELL
from tests.programs import PETSTORE_MOCK, run
from tools.documents.blocks import ROOT, blocks
from tools.node_types import KIT, TARGET, kit_types

PACKAGE: Final = TARGET.parent
MANIFEST: Final[dict[str, Any]] = json.loads((PACKAGE / "package.json").read_bytes())
NEEDS_NPM: Final = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")

FIRST: Final = """
import { deepEqual, equal } from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startStub, withWorld } from 'petstore-mock';

let stub;
before(async () => { stub = await startStub(); });
after(() => stub.stop());

const list = (petstore, query = '') => fetch(`${petstore.url}/pets${query}`, { headers: petstore.headers });
"""
GREEN: Final = """
test('the state', () => withWorld({ seed: [{ name: 'Rex' }] }, async (petstore) => {
  const tom = await petstore.seed({ name: 'Tom', categoryId: 2 });
  equal((await petstore.seedMany(2)).length, 2);
  await petstore.update(tom.id, { status: 'sold' });
  await petstore.remove(1);
  deepEqual((await petstore.pets()).map((pet) => pet.id), [2, 3, 4]);
  await petstore.configure({ list_order: 'id_descending' });
  deepEqual((await (await list(petstore)).json()).map((pet) => pet.id), [4, 3, 2]);
  await petstore.reset();
  deepEqual((await petstore.pets()).map((pet) => pet.name), ['Rex']);
}));
test('faults, journal and clock', () => withWorld({}, async (petstore) => {
  const fault = await petstore.inject({ kind: 'delay', seconds: 0.01 }, { on: 'listPets', times: 1 });
  const waits = petstore.journal.waitFor('listPets', { limit: 3 });
  equal((await list(petstore, '?limit=3')).status, 200);
  equal((await waits).length, 1);
  deepEqual([await fault.hits(), (await petstore.faults())[0].spent], [1, true]);
  await petstore.journal.assertCalled('listPets', { times: 1, limit: 3 });
  await petstore.journal.assertNotCalled('getPet');
  equal((await petstore.journal.last()).status, 200);
  equal((await petstore.journal.list({ operation: 'getPet' })).length, 0);
  await petstore.clock.freeze();
  await petstore.clock.travelTo('2030-12-06');
  await petstore.clock.advance({ days: 1 });
  equal((await petstore.clock.now()).toISOString(), '2030-12-07T00:00:00.000Z');
}));
test('ids beyond 2^53', () => withWorld({ seed: [{ id: 9007199254740993n }] }, async (petstore) => {
  const { id } = await petstore.seed({ id: 2n ** 62n + 1n, name: '"integer-9007199254740993:"' });
  equal(id, 4611686018427387905n);
  await petstore.update(id, { name: '9007199254740993' });
  deepEqual((await petstore.pets()).map((pet) => pet.id), [9007199254740993n, 4611686018427387905n]);
  const response = await fetch(`${petstore.url}/pets/${id}`, { headers: petstore.headers });
  equal(response.status, 200);
  await petstore.journal.assertCalled('getPet', { petId: id, times: 1 });
  equal((await petstore.journal.list({ operation: 'getPet' }))[0].response_body_text, await response.text());
  await petstore.remove(id);
  equal((await petstore.pets()).length, 1);
}));
test('keys', () => withWorld({ strict: false }, async (petstore) => {
  await petstore.revokeKey();
  equal((await list(petstore)).status, 401);
}));
"""
RED: Final = """
test('an assertion', () => withWorld({}, async (petstore) => {
  equal((await list(petstore, '?limit=1000')).status, 200);
}));
test('a fault', () => withWorld({}, (petstore) => petstore.inject({ kind: 'reset' }, { on: 'createPet', times: 1 })));
test('a near miss', () => withWorld({}, async (petstore) => {
  await list(petstore, '?limit=2');
  await petstore.journal.assertCalled('listPets', { times: 1, limit: 3 });
}));
test('a wrong name', () => withWorld({}, (petstore) => petstore.inject(503, { time: 1 })));
"""


def test_types_are_those_of_the_door() -> None:
    # A process of its own: other tests of this one may have loaded the door in another order.
    program = "from tools.node_types import node_types; print(node_types(), end='')"
    made = run(sys.executable, "-c", program, cwd=ROOT)
    assert TARGET.read_text(encoding="utf-8") == made, "run 'python -m tools.node_types'"


def test_types_of_the_kit_have_each_operation() -> None:
    assert KIT.read_text(encoding="utf-8") == kit_types(), "run 'python -m tools.node_types'"


def test_package_has_the_version_of_this_one_and_no_dependencies() -> None:
    assert MANIFEST["version"] == __version__
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & MANIFEST.keys()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder with the package, installed from its tarball, and a ``petstore-mock`` in ``bin``."""
    copy = tmp_path / "package"
    shutil.copytree(PACKAGE, copy)
    folder = tmp_path / "empty"
    (folder / "bin").mkdir(parents=True)
    run("npm", "pack", "--silent", "--pack-destination", folder, cwd=copy)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tarball,) = folder.glob("*.tgz")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{tarball.name}", cwd=folder)
    command = folder / "bin" / "petstore-mock"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m petstore_mock "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return folder


def node(folder: Path, source: str, *, code: int = 0) -> str:
    """Run tests with Node, and return what it printed."""
    (folder / "one.test.mjs").write_text(FIRST + source, encoding="utf-8")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return run(
        "node", "--test", "--test-reporter=tap", "one.test.mjs", cwd=folder, environment={"PATH": path}, code=code
    )


@pytest.mark.seconds
@NEEDS_NPM
@POSIX_SHELL
@pytest.mark.untraced
def test_first_test_is_green_and_a_failing_one_says_why(folder: Path) -> None:
    exported = {path for entry in MANIFEST["exports"].values() for path in paths_of(entry)}
    assert all((folder / "node_modules" / "petstore-mock" / path).is_file() for path in exported)
    assert "# pass 4\n# fail 0" in node(folder, GREEN)
    printed = node(folder, RED, code=1)
    assert "# pass 0\n# fail 4" in printed
    assert "400 !== 200" in printed
    assert "request 1 broke the contract: GET /v1/pets?limit=1000" in printed
    assert "curl -i -H" in printed
    assert "inject(reset(), on='createPet', times=1) never fired: no request matched it" in printed
    assert "limit was '2', expected 3" in printed
    assert "did you mean times?" in printed


@NEEDS_NPM
@POSIX_SHELL
@pytest.mark.untraced
def test_commonjs_module_and_a_missing_stub(folder: Path) -> None:
    source = """
        const { createWorld, startStub } = require('petstore-mock');
        createWorld({ stub: 'http://127.0.0.1:9/v1' }).catch((error) => console.log(error.message));
        startStub({ command: 'no-such-program' }).catch((error) => console.log(error.message));
    """
    printed = run("node", "-e", source, cwd=folder, environment={"NODE_OPTIONS": ""})
    assert "expected a stub at http://127.0.0.1:9/w/js-" in printed
    assert "expected 'no-such-program serve' to start" in printed


def paths_of(entry: Any) -> list[str]:
    """Return the files of an entry of ``exports``."""
    return [entry] if isinstance(entry, str) else [path for part in entry.values() for path in paths_of(part)]


# Starts the stub as a global setup does, and runs the tests of the documents on it.
ALL: Final = """
import { spawnSync } from 'node:child_process';
import setUp from './stub.js';

const stop = await setUp();
const options = ['--test', '--test-reporter=tap', '--test-concurrency=2', 'pets1.test.js', 'pets2.test.js'];
const done = spawnSync(process.execPath, options, { encoding: 'utf8' });
console.log(done.stdout);
await stop();
"""
STRICT: Final = ("--strict", "--module", "nodenext", "--target", "es2022", "--types", "node")
ADAPTER: Final = """
import { serve } from 'petstore-mock/check';

const list = async ({ url, apiKey }) => {
  const response = await fetch(`${url}/pets`, { headers: { Authorization: `Bearer ${apiKey}` } });
  if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status });
  return response.json();
};
serve({ open: (given) => given, listPets: list });
"""


@pytest.mark.seconds
@NEEDS_NPM
@POSIX_SHELL
@pytest.mark.untraced
def test_adapter_of_the_package_is_checked(folder: Path) -> None:
    (folder / "adapter.mjs").write_text(ADAPTER, encoding="utf-8")
    check = [*PETSTORE_MOCK, "check", "--first", "--faults", "none", "--", "node", "adapter.mjs"]
    printed = run(*check, cwd=folder, code=1)
    assert "listPets" in printed


TYPED: Final = """
import { withWorld, type Fault } from 'petstore-mock';
import { serve } from 'petstore-mock/check';

await withWorld({ seed: [{ name: 'Rex' }] }, async (petstore) => {
  const fault: Fault = { kind: 'delay', seconds: 0.2 };
  await petstore.inject(fault, { on: 'listPets', times: 1 });
  // @ts-expect-error: there is no such kind
  await petstore.inject({ kind: 'timeout' });
  // @ts-expect-error: a misspelt argument
  await petstore.inject(503, { time: 1 });
  // @ts-expect-error: no such operation
  await petstore.journal.assertCalled('list_pets');
  // @ts-expect-error: a misspelt gap
  await petstore.configure({ list_ordr: 'by_name' });
  const id: number | bigint = (await petstore.seed({ id: 2n ** 62n })).id;
  await petstore.remove(id);
  const name: string = (await petstore.door('GET', 'gaps')).gaps[0]!.name;
  const status: number | null = (await petstore.journal.last())!.status;
  void [name, status];
});
serve<{ list(): unknown }>({ open: ({ url }) => ({ list: () => url }), listPets: (client) => client.list() });
"""


@NEEDS_NPM
@POSIX_SHELL
@pytest.mark.peers
def test_types_accept_correct_calls_and_refuse_wrong_ones(folder: Path) -> None:
    link_types_of_node(folder)
    (folder / "typed.mts").write_text(TYPED, encoding="utf-8")
    required = "import { createWorld } from 'petstore-mock';\nexport const made = createWorld({ strict: false });\n"
    (folder / "typed.cts").write_text(required, encoding="utf-8")
    run(node_tool("tsc"), *STRICT, "--noEmit", "typed.mts", "typed.cts", cwd=folder)


@NEEDS_NPM
@POSIX_SHELL
@pytest.mark.peers
@pytest.mark.untraced
def test_typescript_of_the_documents_runs_in_several_processes(folder: Path) -> None:
    """Node runs each file in its own process, two at once. All copies of the tests share one stub."""
    link_types_of_node(folder)
    sources = {block.text.partition("\n")[0].removeprefix("// "): block.text for block in blocks("typescript")}
    pets = sources["pets.test.ts"]
    for number in range(1, 3):
        sources[f"pets{number}.test.ts"] = pets.replace("await startStub()", "{ stop: async () => {} } as Stub")
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    run(node_tool("tsc"), *STRICT, *sources, cwd=folder)
    (folder / "all.mjs").write_text(ALL, encoding="utf-8")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    printed = run("node", "all.mjs", cwd=folder, environment={"PATH": path, "NODE_OPTIONS": ""})
    assert "# pass 4\n# fail 0" in printed
    tests = run("node", "--test", "--test-reporter=tap", "pets.test.js", cwd=folder, environment={"PATH": path})
    assert "# pass 2\n# fail 0" in tests


def link_types_of_node(folder: Path) -> None:
    for name in ("@types", "undici-types"):
        (folder / "node_modules" / name).symlink_to(NODE_MODULES / name)
