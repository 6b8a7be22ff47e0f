"""Services that others wrote, on a port each: what ``verify`` is held to."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.peers.tools import HERE, NODE_MODULES, node_tool, openapi_document, python_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["KEY", "SERVICES"]

KEY: Final = "team-secret-key"
FOREIGN: Final = HERE / "foreign"
PATIENCE: Final = 60  # seconds until a program answers; Java takes some on a busy machine


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


@contextlib.contextmanager
def fastapi(folder: Path) -> Iterator[str]:
    """A team's own, as it comes."""
    shutil.copy(FOREIGN / "team_service.py", folder)
    port = free_port()
    with running([python_tool("uvicorn"), "team_service:app", "--port", port], port, cwd=folder):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def prism(folder: Path) -> Iterator[str]:
    """Prism on our OpenAPI document."""
    openapi_document(folder)
    port = free_port()
    with running([node_tool("prism"), "mock", "openapi.json", "--port", port], port, cwd=folder):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def json_server(folder: Path) -> Iterator[str]:
    """json-server with thirty animals."""
    statuses = ("available", "pending", "sold")
    pets = [{"id": n, "name": f"Pet {n}", "categoryId": 1, "status": statuses[n % 3]} for n in range(1, 31)]
    (folder / "db.json").write_text(json.dumps({"pets": pets}), encoding="utf-8")
    shutil.copy(FOREIGN / "routes.json", folder)
    port = free_port()
    program = [node_tool("json-server"), "db.json", "--routes", "routes.json", "--port", port, "--quiet"]
    with running(program, port, cwd=folder):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def wiremock(folder: Path) -> Iterator[str]:
    """Stubs of WireMock, as a test of some team has them."""
    jars = list((NODE_MODULES / "wiremock").rglob("wiremock-standalone-*.jar"))
    if not jars or shutil.which("java") is None:
        pytest.skip("WireMock or Java is not installed: 'make peers' does the first")
    shutil.copytree(FOREIGN / "wiremock", folder / "stubs")
    port = free_port()
    program = ["java", "-jar", jars[0], "--port", port, "--root-dir", folder / "stubs", "--disable-banner"]
    with running(program, port, cwd=folder):
        yield f"http://127.0.0.1:{port}/v1"


SERVICES: Final[Mapping[str, Callable[[Path], AbstractContextManager[str]]]] = {
    "FastAPI": fastapi,
    "Prism": prism,
    "json-server": json_server,
    "WireMock": wiremock,
}
