"""The contestants: the command and the request paths of each. ``make bench`` installs those from npm."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from benchmarks.bodies import ANIMALS, KEY, bodies
from benchmarks.processes import ROOT, Running, free_port, started

_NPM: Final = ROOT / ".cache" / "bench" / "node_modules"


@dataclass(frozen=True, slots=True)
class Server:
    """A contestant.

    Attributes:
        name: the name in the tables.
        command: returns the command for a port. It may write files into the given folder.
        version: returns the version, or raises an error if the server is not installed.
        missing: returns why the server can't run, or an empty text.
        is_mock: whether it is a mock server of another project. We compare with the fastest of them.
        validates: whether it validates requests.
        stores: whether it keeps created animals.
        root: the path before ``/pets``.
    """

    name: str
    command: Callable[[int, Path], list[str]]
    version: Callable[[], str]
    missing: Callable[[], str] = field(default=lambda: "")
    is_mock: bool = False
    validates: bool = False
    stores: bool = False
    root: str = "/v1"

    def running(self) -> AbstractContextManager[Running]:
        """Run the server within a ``with`` block. Raises RuntimeError if it does not respond."""
        return started(self.command, f"{self.root}/pets")


def _write_bodies(folder: Path) -> None:
    for name, body in bodies().items():
        (folder / name).write_bytes(body)


# petstore_mock

# Runs the fake as without the extra `fast`: the import of uvloop fails, even if uvloop is installed.
_WITHOUT_UVLOOP: Final = "import sys; sys.modules['uvloop'] = None; from petstore_mock.cli import main; main()"


def options_of_the_fake(port: int) -> list[str]:
    """Return the arguments with which ``petstore-mock`` serves 20 animals."""
    return ["serve", "--quiet", "--port", str(port), "--api-key", KEY, "--seed", str(ANIMALS)]


def _fake(port: int, _: Path) -> list[str]:
    return [sys.executable, "-c", _WITHOUT_UVLOOP, *options_of_the_fake(port)]


def _fake_fast(port: int, _: Path) -> list[str]:
    return [str(Path(sys.executable).with_name("petstore-mock")), *options_of_the_fake(port)]


# The limit: nginx

_NGINX: Final = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    # The fastest options of nginx for a file of a kilobyte: sendfile costs one more system call.
    sendfile off;
    output_buffers 1 64k;
    keepalive_requests 1000000000;
    open_file_cache max=100;
    default_type application/json;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location = /v1/pets {{ alias {folder}/listed; error_page 405 =201 /created; }}
        location = /v1/pets/1 {{ alias {folder}/got; }}
        location = /created {{ alias {folder}/created; }}
    }}
}}
"""


def _nginx_program() -> str:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin") or ""


def _nginx(port: int, folder: Path) -> list[str]:
    _write_bodies(folder)
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
    return [_nginx_program(), "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def _nginx_missing() -> str:
    return "" if _nginx_program() else "nginx is not installed (Debian: apt install nginx-light)"


def _nginx_version() -> str:
    done = subprocess.run([_nginx_program(), "-v"], capture_output=True, text=True, check=True)
    return done.stderr.strip().rpartition("/")[2].split()[0]


# Programs in Python


def _python(module: str, port: int, folder: Path) -> list[str]:
    _write_bodies(folder)
    return [sys.executable, "-m", f"benchmarks.peers.{module}", str(port), str(folder)]


# Programs from npm


def _manifest(package: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((_NPM / package / "package.json").read_text())
    return manifest


def _node(name: str, binary: str) -> list[str]:
    """Return the command of a package's program, without the shell that npm wraps around it."""
    return ["node", str(_NPM / name / _manifest(name)["bin"][binary])]


def _prism(port: int, folder: Path) -> list[str]:
    (folder / "openapi.json").write_text(json.dumps(_openapi_with_examples()))
    mock = ["mock", "--verboseLevel", "silent", "--host", "127.0.0.1", "--port", str(port)]
    return [*_node("@stoplight/prism-cli", "prism"), *mock, str(folder / "openapi.json")]


def _openapi_with_examples() -> dict[str, Any]:
    command = [sys.executable, "-m", "petstore_mock", "openapi"]
    document: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    examples = dict(zip(("listPets", "getPet", "createPet"), bodies().values(), strict=True))
    for path in document["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict) and operation.get("operationId") in examples:
                body = json.loads(examples[operation["operationId"]])
                for status, answer in operation["responses"].items():
                    if status.startswith("2"):
                        answer["content"]["application/json"]["example"] = body
    return document


def _canned() -> list[tuple[str, str, int, bytes]]:
    """Return method, path, status and body of each canned response."""
    listed, got, created = bodies().values()
    return [
        ("GET", "/v1/pets", 200, listed),
        ("GET", "/v1/pets/1", 200, got),
        ("POST", "/v1/pets", 201, created),
    ]


def _wiremock(port: int, folder: Path) -> list[str]:
    mappings = folder / "mappings"
    mappings.mkdir()
    for number, (method, path, status, body) in enumerate(_canned()):
        response = {"status": status, "headers": {"Content-Type": "application/json"}, "body": body.decode()}
        stub = {"request": {"method": method, "urlPath": path}, "response": response}
        (mappings / f"{number}.json").write_text(json.dumps(stub))
    jar = next((_NPM / "wiremock").glob("build/*.jar"))
    quiet = ["--no-request-journal", "--disable-banner", "--bind-address", "127.0.0.1"]
    return ["java", "-jar", str(jar), "--port", str(port), "--root-dir", str(folder), *quiet]


def _mountebank(port: int, folder: Path) -> list[str]:
    headers = {"Content-Type": "application/json", "Connection": "keep-alive"}
    stubs = []
    for method, path, status, body in _canned():
        response = {"statusCode": status, "headers": headers, "body": body.decode()}
        predicate = {"equals": {"method": method, "path": path}}
        stubs.append({"predicates": [predicate], "responses": [{"is": response}]})
    config = {"imposters": [{"port": port, "protocol": "http", "recordRequests": False, "stubs": stubs}]}
    (folder / "imposters.json").write_text(json.dumps(config))
    options = ["--configfile", str(folder / "imposters.json"), "--port", str(free_port()), "--host", "127.0.0.1"]
    quiet = ["--nologfile", "--loglevel", "error", "--pidfile", str(folder / "mb.pid")]
    return [*_node("mountebank", "mb"), "start", *options, *quiet]


def _of_npm(
    name: str,
    package: str,
    command: Callable[[int, Path], list[str]],
    *,
    runtime: str = "node",
    validates: bool = False,
    root: str = "/v1",
) -> Server:
    def missing() -> str:
        if shutil.which(runtime) is None:
            return f"{runtime} is not installed"
        return "" if (_NPM / package).exists() else "not installed (make bench installs it if there is npm)"

    return Server(
        name,
        command,
        lambda: str(_manifest(package)["version"]),
        missing,
        is_mock=True,
        validates=validates,
        root=root,
    )


FAKE: Final = Server("petstore_mock", _fake, partial(version, "petstore-mock"), stores=True)
FAKE_FAST: Final = Server(
    "petstore_mock, extra fast",
    _fake_fast,
    lambda: f"{version('petstore-mock')} on uvloop {version('uvloop')}",
    lambda: "" if find_spec("uvloop") else "uvloop is not installed",
    stores=True,
)
LIMIT: Final = Server("nginx, files", _nginx, _nginx_version, _nginx_missing)
ASYNCIO: Final = Server("asyncio, the same bodies", partial(_python, "asyncio_bytes"), lambda: sys.version.split()[0])
SERVERS: Final = (
    FAKE,
    FAKE_FAST,
    LIMIT,
    ASYNCIO,
    _of_npm("Prism, no log", "@stoplight/prism-cli", _prism, validates=True, root=""),
    _of_npm("WireMock, no journal", "wiremock", _wiremock, runtime="java"),
    _of_npm("mountebank", "mountebank", _mountebank),
    Server("pytest-httpserver", partial(_python, "httpserver_stub"), partial(version, "pytest-httpserver")),
    Server(
        "Flask, development server",
        partial(_python, "flask_fake"),
        partial(version, "flask"),
        lambda: "" if find_spec("flask") else "Flask is not installed",
        stores=True,
        validates=True,
    ),
)
