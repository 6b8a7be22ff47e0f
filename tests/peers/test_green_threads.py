"""The fixture under gevent and eventlet, patched as in the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.programs import run

pytestmark = [pytest.mark.peers]

SUITE = """
from concurrent.futures import ThreadPoolExecutor

import requests
from petstore_mock import faults


def status(petstore, _=0):
    return requests.get(petstore.url + "/pets", headers=petstore.headers, timeout=5).status_code


def test_a_fault_and_a_wait(petstore):
    petstore.inject(faults.delay(0.1), times=1)
    assert status(petstore) == 200
    petstore.journal.wait_for("listPets", times=1, timeout=2)


def test_threads(petstore):
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(lambda _: status(petstore), range(8))] == [200] * 8
"""
PATCH = {
    "gevent": "from gevent import monkey; monkey.patch_all()\n",
    "eventlet": "import eventlet; eventlet.monkey_patch()\n",
}


@pytest.mark.parametrize("library", PATCH)
def test_fixture_works_where_conftest_patches_first(tmp_path: Path, library: str) -> None:
    pytest.importorskip(library, reason="not installed: run 'make peers'")
    (tmp_path / "conftest.py").write_text(PATCH[library], encoding="utf-8")
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    printed = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path, timeout=60)
    assert "2 passed" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("library", PATCH)
def test_mock_works_where_the_program_patches_before_it_imports_the_package(tmp_path: Path, library: str) -> None:
    pytest.importorskip(library, reason="not installed: run 'make peers'")
    uses = "from petstore_mock import PetStoreMock\nwith PetStoreMock() as petstore:\n    print(status(petstore))\n"
    functions = SUITE.partition("def test_")[0]
    printed = run(sys.executable, "-W", "ignore", "-c", PATCH[library] + functions + uses, cwd=tmp_path, timeout=60)
    assert printed == "200\n"
