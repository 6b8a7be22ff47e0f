"""Third-party services, each on its own port. ``verify`` is tested on them."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.peers.tools import HERE, NODE_MODULES, node_tool, openapi_document, python_tool

KEY: Final = "team-secret-key"
FOREIGN: Final = HERE / "foreign"
PATIENCE: Final = 60  # seconds until a program responds; Java starts slowly on a busy machine


def fastapi(folder: Path) -> list[object]:
    """A team's own service on FastAPI."""
    shutil.copy(FOREIGN / "team_service.py", folder)
    return [python_tool("uvicorn"), "team_service:app"]


def prism(folder: Path) -> list[object]:
    """Prism on our OpenAPI document."""
    return [node_tool("prism"), "mock", openapi_document(folder)]


def json_server(folder: Path) -> list[object]:
    """json-server with thirty animals."""
    statuses = ("available", "pending", "sold")
    pets = [{"id": n, "name": f"Pet {n}", "categoryId": 1, "status": statuses[n % 3]} for n in range(1, 31)]
    (folder / "db.json").write_text(json.dumps({"pets": pets}), encoding="utf-8")
    shutil.copy(FOREIGN / "routes.json", folder)
    return [node_tool("json-server"), "db.json", "--routes", "routes.json", "--quiet"]


def wiremock(folder: Path) -> list[object]:
    """Stubs of WireMock, like those of a test."""
    jars = list((NODE_MODULES / "wiremock").rglob("wiremock-standalone-*.jar"))
    if not jars or shutil.which("java") is None:
        pytest.skip("WireMock or Java is not installed: 'make peers' installs WireMock")
    shutil.copytree(FOREIGN / "wiremock", folder / "stubs")
    return ["java", "-jar", jars[0], "--root-dir", folder / "stubs", "--disable-banner"]


SERVICES: Final[Mapping[str, Callable[[Path], list[object]]]] = {
    "FastAPI": fastapi,
    "Prism": prism,
    "json-server": json_server,
    "WireMock": wiremock,
}


@contextlib.contextmanager
def running(service: str, folder: Path) -> Iterator[str]:
    """Run a service with its files in a folder, and yield its base address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*map(str, SERVICES[service](folder)), "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}" + ("" if service == "Prism" else "/v1")
    deadline = time.monotonic() + PATIENCE
    try:
        while not responds(base):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{command[0]} does not respond")
            time.sleep(0.1)
        yield base
    finally:
        process.terminate()
        process.wait(PATIENCE)


def responds(url: str) -> bool:
    try:
        httpx.get(url, timeout=1)
    except httpx.HTTPError:
        return False
    return True
