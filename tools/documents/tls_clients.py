"""How HTTP clients report each fault of the TLS handshake: a table of ``docs/reference/faults.md``, measured.

Each client verifies certificates by its defaults, and trusts the mock's authority in its own way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from petstore_mock import PetStoreMock, faults
from tests.live.clients import lines_of
from tools.documents import fault_clients
from tools.documents.blocks import ROOT, generated, table
from tools.documents.fault_clients import DOCUMENT, TIMEOUT, Call, cells_of, name_of

Client = Callable[[PetStoreMock, float], str]

_PATIENCE: Final = 10.0  # seconds
_SOUND: Final = "none"
_DRIVERS: Final = ROOT / "tests" / "live"

# Sets only a timeout, and prints Node's name of an error.
_FETCH: Final = """
const [url, key, seconds] = process.argv.slice(1);
const signal = AbortSignal.timeout(1000 * seconds);
try {
  console.log((await fetch(url, { headers: { Authorization: `Bearer ${key}` }, signal })).status);
} catch (error) {
  console.log(error.cause?.code ?? error.name);
}
"""


def _by_library(send: Callable[[Call], object], petstore: PetStoreMock, timeout: float) -> str:
    call = Call("GET", f"{petstore.url}/pets", petstore.headers, timeout=timeout, ca_path=petstore.tls.ca_path)
    send(call)
    return str(call.seen[-1])


def _by_curl(petstore: PetStoreMock, timeout: float) -> str:
    options = ["--silent", "--noproxy", "*", "--max-time", str(timeout), "--output", os.devnull]
    command = ["curl", *options, "--write-out", "%{http_code}", "--cacert", petstore.tls.ca_path]
    key = f"Authorization: Bearer {petstore.api_key}"
    done = subprocess.run(
        [*command, "-H", key, f"{petstore.url}/pets"], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}"


def _by_node(petstore: PetStoreMock, timeout: float) -> str:
    command = ["node", "--input-type=module", "-e", _FETCH, f"{petstore.url}/pets", petstore.api_key, str(timeout)]
    environment = {**os.environ, **petstore.tls.environ()}
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60, check=True
    ).stdout.strip()


_LIBRARIES: Final = ("requests", "httpx", "urllib3", "aiohttp")
_PROGRAMS: Final = {"curl": "curl", "Node's fetch": "node", "Java's HttpClient": "javac", "Go's net/http": "go"}
CLIENTS: Final = (*_LIBRARIES, *_PROGRAMS)

ROWS: Final[dict[str, faults.Fault | None]] = {
    _SOUND: None,
    **{f"`tls.{name}()`": getattr(faults.tls, name)() for name in faults.tls.__all__},
}


def go_program(directory: str) -> str:
    """Build the client in Go, and return its path."""
    program, source = str(Path(directory, "drive_tls")), str(_DRIVERS / "drive_tls.go")
    environment = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    command = ["go", "build", "-o", program, source]
    subprocess.run(command, env=environment, check=True, timeout=300)
    return program


@contextmanager
def ready(client: str, petstore: PetStoreMock) -> Iterator[Client | None]:
    """Yield a function that sends one request; None without the client's program."""
    with ExitStack() as stack:
        if client in _LIBRARIES:
            yield partial(_by_library, fault_clients.CLIENTS[client])
        elif shutil.which(_PROGRAMS[client]) is None:
            yield None
        elif client == "curl":
            yield _by_curl
        elif client == "Node's fetch":
            yield _by_node
        elif client == "Go's net/http":
            program = go_program(stack.enter_context(TemporaryDirectory()))
            ask = stack.enter_context(lines_of(program, petstore.tls.ca_path))
            yield lambda mock, timeout: ask(f"{mock.url}/pets {mock.api_key} {timeout}")
        else:
            source = _DRIVERS / "DriveTls.java"
            ask = stack.enter_context(lines_of("java", str(source), petstore.tls.ca_path))
            ask(f"{petstore.url}/pets {petstore.api_key} {_PATIENCE}")  # a first call takes a second with any timeout
            yield lambda mock, timeout: ask(f"{mock.url}/pets {mock.api_key} {timeout}")


def measured(fault: faults.Fault | None, ask: Client, petstore: PetStoreMock) -> str:
    """Return a client's result for a fault, in the table's words."""
    petstore.reset()
    petstore.close_connections()
    handle = None if fault is None else petstore.inject(fault)
    told = ""
    # On a busy machine, a client may time out before it connects.
    for timeout in (TIMEOUT, _PATIENCE) if fault == faults.tls.handshake_hang() else (_PATIENCE,):
        try:
            told = ask(petstore, timeout)
        except Exception as error:  # noqa: BLE001  # the table has its name
            told = name_of(error)
        if handle is None or handle.hits:
            break
    hits = 1 if handle is None else handle.hits
    petstore.cancel_faults()
    return told if hits == 1 else f"{told}, trying {hits} times"


def measured_table() -> str:
    """Measure and return the table. A client that is not installed keeps its cells."""
    known = cells_of(generated(DOCUMENT, "tls faults"))
    cells: dict[tuple[str, str], str] = {}
    with PetStoreMock(tls=True) as petstore:
        for client in CLIENTS:
            with ready(client, petstore) as ask:
                for label, fault in ROWS.items():
                    cells[label, client] = known[label, client] if ask is None else measured(fault, ask, petstore)
    rows = [[label, *(cells[label, client] for client in CLIENTS)] for label in ROWS]
    return table("fault", *CLIENTS, rows=rows)
