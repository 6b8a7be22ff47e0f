"""``verify`` on services that others wrote: what it finds there was each checked by hand, with curl."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from petstore_mock.cli import run as run_command
from petstore_mock.verify import Verdict, guest, verify
from tests.peers.tools import HERE, NODE_MODULES, node_tool, python_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.peers

FOREIGN = HERE / "foreign"
KEY = "team-secret-key"
PATIENCE = 60  # seconds until a program answers; Java takes some on a busy machine

REFUSALS = {
    *("name-required", "category-required", "both-required", "name-type", "name-null", "category-type"),
    *("category-fraction", "category-null", "category-boolean", "category-range", "status-value", "status-case"),
    *("status-type", "body-object", "body-json", "body-required"),
}
ALL_REFUSALS = {f"4.2-{name}" for name in REFUSALS}
ERROR_FIELDS = {"2-error-code", "2-error-message", "2-error-status"}
NO_ECHO = {"2-id-assigned", "2-name-echoed", "2-category-echoed", "2-status-echoed", "2-name-text"}


@contextlib.contextmanager
def running(command: Sequence[object], port: int, *, cwd: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [str(part) for part in command], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            try:
                connection.request("GET", "/")
                connection.getresponse().read()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"{command[0]} does not answer")
                time.sleep(0.1)
            finally:
                connection.close()
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "sleep", lambda _seconds: None)


def found(url: str, allow_create: int = 30) -> tuple[set[str], Verdict]:
    verdict = verify(url, api_key=KEY, allow_create=allow_create, rate=1e6, timeout=5.0)
    assert verdict.exit_code == 1
    return {clause.id for clause in verdict.broken}, verdict


def test_a_team_on_fastapi_answers_422_and_detail_and_takes_text_for_a_number(tmp_path: Path) -> None:
    shutil.copy(FOREIGN / "team_service.py", tmp_path)
    port = free_port()
    with running([python_tool("uvicorn"), "team_service:app", "--port", port], port, cwd=tmp_path):
        broken, verdict = found(f"http://127.0.0.1:{port}/v1")
    # An int of Pydantic takes "1", true and 2^63; a status that was left out comes back as null.
    assert broken == {*ALL_REFUSALS, *ERROR_FIELDS, "2-pet-category", "2-pet-status", "7-401-error", "7-404-error"}
    assert verdict.gaps["malformed_pet_id"].kind == "neither"
    assert "422" in verdict.gaps["malformed_pet_id"].evidence


def test_prism_lets_any_key_in_and_answers_every_request_with_one_example(tmp_path: Path) -> None:
    out = io.StringIO()
    assert run_command(["openapi"], out, io.StringIO()) == 0
    (tmp_path / "openapi.json").write_text(out.getvalue(), encoding="utf-8")
    port = free_port()
    with running([node_tool("prism"), "mock", "openapi.json", "--port", port], port, cwd=tmp_path):
        broken, _ = found(f"http://127.0.0.1:{port}")
    keys = {"5-unknown-key", "5-unknown-key-get", "5-unknown-key-create"}
    # A body that is no JSON is never answered: 4.2-body-json is broken by a timeout.
    assert broken == {*ALL_REFUSALS, *NO_ECHO, *keys, "4.1-status-filter", "4.3-absent", "4.3-int64", "7-status"}


def test_json_server_asks_for_no_key_and_checks_nothing(tmp_path: Path) -> None:
    statuses = ("available", "pending", "sold")
    pets = [{"id": n, "name": f"Pet {n}", "categoryId": 1, "status": statuses[n % 3]} for n in range(1, 31)]
    (tmp_path / "db.json").write_text(json.dumps({"pets": pets}), encoding="utf-8")
    shutil.copy(FOREIGN / "routes.json", tmp_path)
    port = free_port()
    program = [node_tool("json-server"), "db.json", "--routes", "routes.json", "--port", port, "--quiet"]
    with running(program, port, cwd=tmp_path):
        broken, _ = found(f"http://127.0.0.1:{port}/v1")
    keys = {"5-missing-key", "5-missing-key-get", "5-missing-key-create", "5-scheme"}
    keys |= {"5-unknown-key", "5-unknown-key-get", "5-unknown-key-create"}
    assert keys < broken
    assert {"4.1-limit-counts", "4.1-limit-default", "2-category-int64", "7-404-error", "1-media-type"} < broken
    assert ALL_REFUSALS - broken == {"4.2-body-json"}


def test_stubs_of_wiremock_answer_what_they_were_told_whatever_is_asked(tmp_path: Path) -> None:
    jars = list((NODE_MODULES / "wiremock").rglob("wiremock-standalone-*.jar"))
    if not jars or shutil.which("java") is None:
        pytest.skip("WireMock or Java is not installed: 'make peers' does the first")
    shutil.copytree(FOREIGN / "wiremock", tmp_path / "stubs")
    port = free_port()
    program = ["java", "-jar", jars[0], "--port", port, "--root-dir", tmp_path / "stubs", "--disable-banner"]
    with running(program, port, cwd=tmp_path):
        broken, _ = found(f"http://127.0.0.1:{port}/v1")
    lists = {"4.1-limit-counts", "4.1-status-filter"}
    # The second animal of the list has no stub of its own; nor has the one that was created.
    assert broken == {*ALL_REFUSALS, *NO_ECHO, *lists, "2-category-int64", "4.2-kept", "4.3-get"}
