"""What HTTP clients make of each fault of the TLS handshake: a table of ``docs/reference/faults.md``, measured.

``python -m tests.inside.live.tls_clients`` writes the table anew (``make generated`` does, too); the suite compares it.
Each client checks certificates as it does by default, and is told of the mock's authority in its own way.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import aiohttp
import httpx
import requests
import urllib3

from petstore_mock import PetStoreMock, faults
from petstore_mock.errors import PetStoreMockError
from tests.live.clients import lines_of
from tools.documents.fault_clients import DOCUMENT, TIMEOUT, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.messages.handshake import Handshake

    Client = Callable[[PetStoreMock, float], str]

__all__ = ["CLIENTS", "ROWS", "documented", "go_program", "measured", "ready"]

_BEGIN: Final = "<!-- tls faults: made by `make generated` -->"
_END: Final = "<!-- end of tls faults -->"
_PATIENCE: Final = 10.0  # seconds
_SOUND: Final = "none"
_DRIVERS: Final = Path(__file__).parents[2] / "live"

# Nothing but the limit of time, and what Node calls what went wrong.
_FETCH: Final = """
const [url, key, seconds] = process.argv.slice(1);
const signal = AbortSignal.timeout(1000 * seconds);
try {
  console.log((await fetch(url, { headers: { Authorization: `Bearer ${key}` }, signal })).status);
} catch (error) {
  console.log(error.cause?.code ?? error.name);
}
"""


def by_requests(petstore: PetStoreMock, timeout: float) -> str:
    with requests.Session() as session:
        session.trust_env = False  # else REQUESTS_CA_BUNDLE, where it is set, beats the session's own
        session.verify = petstore.tls.ca_path
        return str(session.get(f"{petstore.url}/pets", headers=petstore.headers, timeout=timeout).status_code)


def by_httpx(petstore: PetStoreMock, timeout: float) -> str:
    with httpx.Client(verify=petstore.tls.client_context(), timeout=timeout) as client:
        return str(client.get(f"{petstore.url}/pets", headers=petstore.headers).status_code)


def by_urllib3(petstore: PetStoreMock, timeout: float) -> str:
    with urllib3.PoolManager(ca_certs=petstore.tls.ca_path, retries=False, timeout=timeout) as pool:
        return str(pool.request("GET", f"{petstore.url}/pets", headers=petstore.headers).status)


def by_aiohttp(petstore: PetStoreMock, timeout: float) -> str:
    async def run() -> str:
        limit = aiohttp.ClientTimeout(total=timeout)
        async with (
            aiohttp.ClientSession(timeout=limit, headers=petstore.headers) as session,
            session.get(f"{petstore.url}/pets", ssl=petstore.tls.client_context()) as answer,
        ):
            return str(answer.status)

    return asyncio.run(run())


def by_curl(petstore: PetStoreMock, timeout: float) -> str:
    options = ["--silent", "--noproxy", "*", "--max-time", str(timeout), "--output", os.devnull]
    command = ["curl", *options, "--write-out", "%{http_code}", "--cacert", petstore.tls.ca_path]
    key = f"Authorization: Bearer {petstore.api_key}"
    done = subprocess.run(
        [*command, "-H", key, f"{petstore.url}/pets"], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}"


def by_node(petstore: PetStoreMock, timeout: float) -> str:
    command = ["node", "--input-type=module", "-e", _FETCH, f"{petstore.url}/pets", petstore.api_key, str(timeout)]
    environment = {**os.environ, **petstore.tls.environ()}
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60, check=True
    ).stdout.strip()


CLIENTS: Final = (
    "requests",
    "httpx",
    "urllib3",
    "aiohttp",
    "curl",
    "Node's fetch",
    "Java's HttpClient",
    "Go's net/http",
)
_PYTHON: Final[dict[str, Client]] = {
    "requests": by_requests,
    "httpx": by_httpx,
    "urllib3": by_urllib3,
    "aiohttp": by_aiohttp,
}
_PROGRAMS: Final = {"curl": "curl", "Node's fetch": "node", "Java's HttpClient": "javac", "Go's net/http": "go"}

ROWS: Final[dict[str, faults.Fault | None]] = {
    _SOUND: None,
    **{f"`tls.{name}()`": getattr(faults.tls, name)() for name in faults.tls.__all__},
}


def go_program(directory: str) -> str:
    """Build the client in Go, and return its path."""
    program, source = str(Path(directory, "drive_tls")), str(_DRIVERS / "drive_tls.go")
    environment = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", program, source], env=environment, check=True, timeout=300)
    return program


@contextmanager
def ready(client: str, petstore: PetStoreMock) -> Iterator[Client | None]:
    """Give what lets a client ask once, None where its program is not installed."""
    with ExitStack() as stack:
        if client in _PYTHON:
            yield _PYTHON[client]
        elif shutil.which(_PROGRAMS[client]) is None:
            yield None
        elif client == "curl":
            yield by_curl
        elif client == "Node's fetch":
            yield by_node
        elif client == "Go's net/http":
            program = go_program(stack.enter_context(TemporaryDirectory()))
            ask = stack.enter_context(lines_of(program, petstore.tls.ca_path))
            yield lambda mock, timeout: ask(f"{mock.url}/pets {mock.api_key} {timeout}")
        else:
            source = _DRIVERS / "DriveTls.java"
            ask = stack.enter_context(lines_of("java", str(source), petstore.tls.ca_path))
            ask(f"{petstore.url}/pets {petstore.api_key} {_PATIENCE}")  # the first takes a second, however long it may
            yield lambda mock, timeout: ask(f"{mock.url}/pets {mock.api_key} {timeout}")


def measured(client: str, fault: faults.Fault | None, ask: Client, petstore: PetStoreMock) -> str:
    """Return what a client makes of a fault, and the alert that it sends, in the words of the table."""
    petstore.reset()
    petstore.close_connections()
    with ExitStack() as stack:
        if fault is not None:
            stack.enter_context(petstore.inject(fault))
        # A client on a busy machine may give up before it has begun.
        for timeout in (TIMEOUT, _PATIENCE) if fault is not None and fault.takes_time else (_PATIENCE,):
            try:
                told = ask(petstore, timeout)
            except Exception as error:  # noqa: BLE001  # which one, is the question
                told = name_of(error)
            if handshakes := petstore.journal.handshakes:
                break
    asked = f", trying {len(handshakes)} times" if len(handshakes) > 1 else ""
    alert = "" if client == "Java's HttpClient" else _alert(handshakes[0])  # which it sends, or closes before that
    return f"{told}{alert}{asked}"


def _alert(handshake: Handshake) -> str:
    if handshake.flaw is None or handshake.flaw.startswith("handshake"):
        return ""
    try:
        handshake.wait(_PATIENCE)
    except PetStoreMockError:
        return ", handshake unfinished"
    return f" ({handshake.alert})" if handshake.alert else f" ({handshake.outcome})"


# The document


def documented() -> dict[tuple[str, str], str]:
    """Return the cells of the document, by fault and client; empty before the table is first made."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)[2].partition(_END)[0].strip()
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    return {(line[0], column): cell for line in lines[2:] for column, cell in zip(lines[0][1:], line[1:], strict=True)}


def table() -> str:
    """Return the table as measured now; what is not installed here keeps its cells."""
    known = documented()
    cells: dict[tuple[str, str], str] = {}
    with PetStoreMock(tls=True) as petstore:
        for client in CLIENTS:
            with ready(client, petstore) as ask:
                for label, fault in ROWS.items():
                    cells[label, client] = (
                        known.get((label, client), "") if ask is None else measured(client, fault, ask, petstore)
                    )
        petstore.reset()
    lines = [f"| fault | {' | '.join(CLIENTS)} |", f"|{'---|' * (len(CLIENTS) + 1)}"]
    lines += [f"| {label} | {' | '.join(cells[label, client] for client in CLIENTS)} |" for label in ROWS]
    return "\n".join(lines)


def main() -> None:
    """Write the table anew."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    DOCUMENT.write_text(f"{before}{_BEGIN}\n{table()}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
