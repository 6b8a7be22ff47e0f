"""The contestants: the command and the request paths of each."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks import npm
from benchmarks.bodies import ANIMALS, KEY, bodies
from benchmarks.processes import free_port, started

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from benchmarks.processes import Running

__all__ = [
    "ASYNCIO",
    "FAKE",
    "FAKE_FAST",
    "FAKE_LOGGING",
    "FASTAPI",
    "HEADERS",
    "LIMIT",
    "PRISM",
    "RAW",
    "SERVERS",
    "WIREMOCK",
    "Server",
    "nginx_missing",
    "nginx_program",
    "running",
]

HEADERS: Final = {"Authorization": f"Bearer {KEY}"}


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
        stores: whether it keeps created animals. Each round starts such a server again, so that it stays small.
        listing: the path that lists 20 animals.
        getting: the path of one animal.
        creating: the path to create one.
    """

    name: str
    command: Callable[[int, Path], list[str]]
    version: Callable[[], str]
    missing: Callable[[], str] = field(default=lambda: "")
    is_mock: bool = False
    validates: bool = False
    stores: bool = False
    listing: str = "/v1/pets"
    getting: str = "/v1/pets/1"
    creating: str = "/v1/pets"


@contextmanager
def running(server: Server) -> Generator[Running]:
    """Run ``server`` within a ``with`` block.

    Raises:
        RuntimeError: the server does not respond.
    """
    port = free_port()
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folder = Path(name)
        with started(server.command(port, folder), port, server.listing, HEADERS, folder) as process:
            yield process


# petstore_mock


# Runs the fake as without the extra `fast`: the import of uvloop fails, even if uvloop is installed.
_WITHOUT_UVLOOP: Final = "import sys; sys.modules['uvloop'] = None; from petstore_mock.cli import main; main()"


def _options(port: int) -> list[str]:
    return ["serve", "--quiet", "--port", str(port), "--api-key", KEY, "--seed", str(ANIMALS)]


def _fake(port: int, _: Path) -> list[str]:
    return [sys.executable, "-c", _WITHOUT_UVLOOP, *_options(port)]


def _fake_fast(port: int, _: Path) -> list[str]:
    return [str(Path(sys.executable).with_name("petstore-mock")), *_options(port)]


def _fake_logging(port: int, folder: Path) -> list[str]:
    return [part for part in _fake(port, folder) if part != "--quiet"]


# The limit (nginx), and the floor (asyncio and a raw socket)

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


def _write_bodies(folder: Path) -> None:
    shown = bodies()
    for name in ("listed", "got", "created"):
        (folder / name).write_bytes(getattr(shown, name))


def _nginx(port: int, folder: Path) -> list[str]:
    _write_bodies(folder)
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
    return [nginx_program(), "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def nginx_program() -> str:
    """Return the path of nginx, or an empty text."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin") or ""


def nginx_missing() -> str:
    """Return why there is no nginx, or an empty text."""
    return "" if nginx_program() else "nginx is not installed (Debian: apt install nginx-light)"


def _nginx_version() -> str:
    done = subprocess.run([nginx_program(), "-v"], capture_output=True, text=True, check=True)
    return done.stderr.strip().rpartition("/")[2].split()[0]


def _raw_socket(port: int, folder: Path) -> list[str]:
    body = bodies().listed
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    (folder / "answer").write_bytes(head.encode() + body)
    return [*_module("raw_socket"), str(port), str(folder / "answer")]


def _asyncio(port: int, folder: Path) -> list[str]:
    _write_bodies(folder)
    return [*_module("asyncio_bytes"), str(port), str(folder)]


# Peers in Python


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.peers.{name}"]


def _with_pets(name: str, port: int, folder: Path) -> list[str]:
    _write_bodies(folder)
    return [*_module(name), str(port), str(folder / "listed")]


def _python_version() -> str:
    return sys.version.split()[0]


def _needs(*modules: str) -> Callable[[], str]:
    def missing() -> str:
        lacking = [module for module in modules if find_spec(module) is None]
        return f"{', '.join(lacking)} not installed (make bench installs the group bench)" if lacking else ""

    return missing


# Peers from npm


def _prism(port: int, folder: Path) -> list[str]:
    (folder / "openapi.json").write_text(json.dumps(_openapi_with_examples()))
    mock = ["mock", "--verboseLevel", "silent", "--host", "127.0.0.1", "--port", str(port)]
    return [*npm.program("@stoplight/prism-cli", "prism"), *mock, str(folder / "openapi.json")]


def _openapi_with_examples() -> dict[str, Any]:
    command = [sys.executable, "-m", "petstore_mock", "openapi"]
    document: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    shown = bodies()
    examples = {"listPets": shown.listed, "getPet": shown.got, "createPet": shown.created}
    for path in document["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict) and operation.get("operationId") in examples:
                body = json.loads(examples[operation["operationId"]])
                for status, answer in operation["responses"].items():
                    if status.startswith("2"):
                        answer["content"]["application/json"]["example"] = body
    return document


def _wiremock(port: int, folder: Path) -> list[str]:
    shown = bodies()
    mappings = folder / "mappings"
    mappings.mkdir()
    for name, method, path, status, body in (
        ("list", "GET", "/v1/pets", 200, shown.listed),
        ("get", "GET", "/v1/pets/1", 200, shown.got),
        ("create", "POST", "/v1/pets", 201, shown.created),
    ):
        answer = {"status": status, "headers": {"Content-Type": "application/json"}, "body": body.decode()}
        stub = {"request": {"method": method, "urlPath": path}, "response": answer}
        (mappings / f"{name}.json").write_text(json.dumps(stub))
    jar = next(iter(sorted(npm.package("wiremock").glob("build/*.jar"))))
    quiet = ["--no-request-journal", "--disable-banner", "--bind-address", "127.0.0.1"]
    return ["java", "-jar", str(jar), "--port", str(port), "--root-dir", str(folder), *quiet]


def _mountebank(port: int, folder: Path) -> list[str]:
    shown = bodies()
    stubs = [
        {
            "predicates": [{"equals": {"method": method, "path": path}}],
            "responses": [
                {
                    "is": {
                        "statusCode": status,
                        "headers": {"Content-Type": "application/json", "Connection": "keep-alive"},
                        "body": body.decode(),
                    }
                }
            ],
        }
        for method, path, status, body in (
            ("GET", "/v1/pets", 200, shown.listed),
            ("GET", "/v1/pets/1", 200, shown.got),
            ("POST", "/v1/pets", 201, shown.created),
        )
    ]
    config = {"imposters": [{"port": port, "protocol": "http", "recordRequests": False, "stubs": stubs}]}
    (folder / "imposters.json").write_text(json.dumps(config))
    options = ["--configfile", str(folder / "imposters.json"), "--port", str(free_port()), "--host", "127.0.0.1"]
    quiet = ["--nologfile", "--loglevel", "error", "--pidfile", str(folder / "mb.pid")]
    return [*npm.program("mountebank", "mb"), "start", *options, *quiet]


def _json_server(port: int, folder: Path) -> list[str]:
    (folder / "db.json").write_text(json.dumps({"pets": json.loads(bodies().listed)}))
    options = ["--host", "127.0.0.1", "--port", str(port), "--quiet"]
    return [*npm.program("json-server", "json-server"), *options, str(folder / "db.json")]


FAKE: Final = Server("petstore_mock", _fake, lambda: version("petstore-mock"), stores=True)
FAKE_FAST: Final = Server(
    "petstore_mock, extra fast",
    _fake_fast,
    lambda: f"{version('petstore-mock')} on uvloop {version('uvloop')}",
    lambda: "" if find_spec("uvloop") else "uvloop not installed (the extra fast)",
    stores=True,
)
FAKE_LOGGING: Final = Server(
    "petstore_mock, a log line per request", _fake_logging, lambda: version("petstore-mock"), stores=True
)
LIMIT: Final = Server("nginx, files", _nginx, _nginx_version, nginx_missing)
ASYNCIO: Final = Server("asyncio, the same bodies", _asyncio, _python_version)
RAW: Final = Server("raw Python socket", _raw_socket, _python_version)
PRISM: Final = Server(
    "Prism, no log",
    _prism,
    is_mock=True,
    validates=True,
    listing="/pets",
    getting="/pets/1",
    creating="/pets",
    version=partial(npm.version, "@stoplight/prism-cli"),
    missing=partial(npm.missing, "@stoplight/prism-cli"),
)
WIREMOCK: Final = Server(
    "WireMock, no journal",
    _wiremock,
    is_mock=True,
    version=partial(npm.version, "wiremock"),
    missing=partial(npm.missing, "wiremock"),
)
MOUNTEBANK: Final = Server(
    "mountebank",
    _mountebank,
    is_mock=True,
    version=partial(npm.version, "mountebank"),
    missing=partial(npm.missing, "mountebank"),
)
JSON_SERVER: Final = Server(
    "json-server",
    _json_server,
    is_mock=True,
    stores=True,
    listing=f"/pets?_limit={ANIMALS}",
    getting="/pets/1",
    creating="/pets",
    version=partial(npm.version, "json-server"),
    missing=partial(npm.missing, "json-server"),
)
HTTPSERVER: Final = Server(
    "pytest-httpserver", lambda port, _: [*_module("httpserver_stub"), str(port)], lambda: version("pytest-httpserver")
)
FLASK: Final = Server(
    "Flask, development server",
    partial(_with_pets, "flask_fake"),
    lambda: version("flask"),
    _needs("flask"),
    stores=True,
    validates=True,
)
FASTAPI: Final = Server(
    "FastAPI on uvicorn",
    partial(_with_pets, "fastapi_fake"),
    lambda: version("fastapi"),
    _needs("fastapi", "uvicorn"),
    stores=True,
    validates=True,
)
SERVERS: Final = (
    *(FAKE, FAKE_FAST, FAKE_LOGGING, LIMIT, ASYNCIO, PRISM, WIREMOCK, MOUNTEBANK, JSON_SERVER),
    *(HTTPSERVER, FLASK, FASTAPI),
)
