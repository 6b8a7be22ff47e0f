"""Real HTTP clients, each behind one small function, and the steps that each client takes.

The table in ``docs/reference/clients.md`` shows the results. The tests compare every cell with the real result.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import httpx
import requests
import urllib3

from petstore_mock import PetStoreMock, faults

TABLE: Final = Path(__file__).parents[2] / "docs" / "reference" / "clients.md"
TIMEOUT: Final = 20
_PERL: Final = str(Path(__file__).with_name("drive_http_tiny.pl"))

Response = tuple[int, Any]
Send = Callable[[str, str, "dict[str, str]", Any], Response]  # method, url, headers, JSON value or None
Open = Callable[[], AbstractContextManager[Send]]


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its name in the table, how to open it, and a command that succeeds only if it is installed."""

    name: str
    open: Open
    probe: tuple[str, ...] = ()


class FailedError(ValueError):
    """A client in another program failed. The message is that of the program."""


# The clients


def _by(request: Callable[..., Any]) -> Send:
    """Return a function that sends with ``request``, the function or method of a library."""

    def send(method: str, url: str, headers: dict[str, str], value: object) -> Response:
        response = request(method, url, headers=headers, timeout=TIMEOUT, **({} if value is None else {"json": value}))
        return getattr(response, "status_code", None) or response.status, response.json()

    return send


def _simple(send: Send) -> Open:
    return lambda: nullcontext(send)


def _entered(make: Callable[[], AbstractContextManager[Any]]) -> Open:
    """Return a function that opens a session of a library."""

    @contextmanager
    def entered() -> Iterator[Send]:
        with make() as client:
            yield _by(client.request)

    return entered


@contextmanager
def _httpx_async() -> Iterator[Send]:
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient()
        yield _by(lambda *arguments, **options: runner.run(client.request(*arguments, **options)))
        runner.run(client.aclose())


@contextmanager
def _aiohttp() -> Iterator[Send]:
    async def make() -> aiohttp.ClientSession:
        return aiohttp.ClientSession()

    with asyncio.Runner() as runner:
        session = runner.run(make())

        async def ask(method: str, url: str, headers: dict[str, str], value: object) -> Response:
            async with session.request(method, url, headers=headers, json=value) as response:
                return response.status, await response.json()

        yield lambda method, url, headers, value: runner.run(ask(method, url, headers, value))
        runner.run(session.close())


def _urllib(method: str, url: str, headers: dict[str, str], value: object) -> Response:
    body = None if value is None else json.dumps(value).encode("utf-8")
    more = {} if body is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, {**headers, **more}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def _curl(method: str, url: str, headers: dict[str, str], value: object) -> Response:
    fields = [f"-H{name}: {text}" for name, text in headers.items()]
    body = [] if value is None else ["--json", json.dumps(value)]
    out = _run("curl", "-sS", "-w", "\n%{http_code}", "-X", method, *fields, *body, url)
    text, _, status = out.rpartition("\n")
    return int(status), json.loads(text)


_FETCH: Final = """
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { method, url, headers, value } = JSON.parse(line);
  const more = value === null ? {} : { "Content-Type": "application/json" };
  const body = value === null ? undefined : JSON.stringify(value);
  try {
    const response = await fetch(url, { method, headers: { ...headers, ...more }, body });
    console.log(JSON.stringify([response.status, await response.json()]));
  } catch (error) {
    console.log(JSON.stringify(String(error)));
  }
}
"""


@contextmanager
def lines_of(*command: str) -> Iterator[Callable[[str], str]]:
    """Run a program that responds to each line with a line. Yield a function that sends a line."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        requests_in, responses_out = process.stdin, process.stdout
        assert requests_in is not None
        assert responses_out is not None

        def ask(line: str) -> str:
            print(line, file=requests_in, flush=True)
            return responses_out.readline().rstrip("\n")

        yield ask
        requests_in.close()
        assert process.wait(TIMEOUT) == 0


@contextmanager
def talk(*command: str) -> Iterator[Send]:
    """Run a program that sends requests. It reads requests and writes responses, or an error, as lines of JSON."""
    with lines_of(*command) as ask:

        def send(method: str, url: str, headers: dict[str, str], value: object) -> Response:
            request = {"method": method, "url": url, "headers": headers, "value": value}
            response = json.loads(ask(json.dumps(request)))
            if isinstance(response, str):
                raise FailedError(response)
            status, body = response
            return status, body

        yield send


def _wget(method: str, url: str, headers: dict[str, str], value: object) -> Response:
    fields = [f"--header={name}: {text}" for name, text in headers.items()]
    body = [] if value is None else ["--header=Content-Type: application/json", f"--body-data={json.dumps(value)}"]
    # Without --waitretry=0, wget waits for a second before it retries.
    options = ["--quiet", "--server-response", "--content-on-error", "--waitretry=0", "--output-document=-"]
    command = ["wget", "--no-config", *options, f"--method={method}", *fields, *body, url]
    done = subprocess.run(command, check=False, capture_output=True, timeout=TIMEOUT)
    statuses = re.findall(rb"^ *HTTP/1.1 (\d+)", done.stderr, re.MULTILINE)
    return int(statuses[-1]), json.loads(done.stdout) if done.stdout else None


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout


CLIENTS: Final = (
    Client("requests", _simple(_by(requests.request))),
    Client("requests.Session", _entered(requests.Session)),
    Client("httpx.Client", _entered(httpx.Client)),
    Client("httpx.AsyncClient", _httpx_async),
    Client("urllib3", _entered(urllib3.PoolManager)),
    Client("aiohttp", _aiohttp),
    Client("urllib.request", _simple(_urllib)),
    Client("curl", _simple(_curl), probe=("curl", "--version")),
    Client("wget", _simple(_wget), probe=("wget", "--version")),
    Client("Node's fetch", partial(talk, "node", "--input-type=module", "-e", _FETCH), probe=("node", "-e", "fetch")),
    # Minimal distributions of Perl lack these modules.
    Client("Perl's HTTP::Tiny", partial(talk, "perl", _PERL), probe=("perl", "-MHTTP::Tiny", "-MJSON::PP", "-e", "1")),
)


# The steps. Each one returns its cell of the table, or fails.


def _serves_all_operations(petstore: PetStoreMock, send: Send) -> str:
    url, headers = f"{petstore.url}/pets", petstore.headers
    sent = {"name": "Žofka 🐈 \u202e", "categoryId": 4, "status": "pending"}
    status, created = send("POST", url, headers, sent)
    assert (status, created) == (201, {"id": created["id"], **sent})
    petstore.seed(name="Tom", status="sold")
    assert send("GET", f"{url}?limit=5&status=pending", headers, None) == (200, [created])
    assert send("GET", f"{url}/{created['id']}", headers, None) == (200, created)
    refusals = [
        send("POST", url, headers, {"name": 1, "categoryId": "x"}),
        send("GET", f"{url}/404", headers, None),
        send("GET", url, {"Authorization": "Bearer wrong"}, None),
        send("GET", url, {}, None),
    ]
    assert [status for status, _ in refusals] == [400, 404, 401, 401]
    codes = [body and body["code"] for _, body in refusals]
    assert codes[:2] == ["invalid_body", "not_found"]
    return "yes" if all(codes) else "no body of a 401"


def _carries_int64(petstore: PetStoreMock, send: Send) -> str:
    large = 2**53 + 1
    petstore.seed(id=2**63 - 1, name="Rex", categoryId=-(2**63))
    status, created = send("POST", f"{petstore.url}/pets", petstore.headers, {"name": "Tom", "categoryId": large})
    assert status == 201
    status, found = send("GET", f"{petstore.url}/pets/{2**63 - 1}", petstore.headers, None)
    if status == 404:
        return "lost"
    assert status == 200
    exact = created["categoryId"] == large and (found["id"], found["categoryId"]) == (2**63 - 1, -(2**63))
    return "exact" if exact else "rounded"


def _keeps_connection(petstore: PetStoreMock, send: Send) -> str:
    for _ in range(2):
        assert send("GET", f"{petstore.url}/pets", petstore.headers, None)[0] == 200
    first, second = petstore.journal
    return "kept" if first.connection == second.connection else "new each time"


def _loses_the_response(petstore: PetStoreMock, send: Send) -> str:
    send("GET", f"{petstore.url}/pets", petstore.headers, None)  # the client may keep this connection
    petstore.inject(faults.empty_reply(), on="createPet", times=1, at="after_commit")
    sent = {"name": "Rex", "categoryId": 1}
    try:
        status, _ = send("POST", f"{petstore.url}/pets", petstore.headers, sent)
    except Exception:  # noqa: BLE001  # each client has an error of its own
        assert len(petstore.pets) == 1
        return "reported"
    assert (status, len(petstore.pets)) == (201, 2)
    return "sent again"


STEPS: Final[dict[str, Callable[[PetStoreMock, Send], str]]] = {
    "operations": _serves_all_operations,
    "int64": _carries_int64,
    "connection": _keeps_connection,
    "lost response": _loses_the_response,
}


def cells_of(petstore: PetStoreMock, send: Send) -> dict[str, str]:
    """Take each step in a world at its starting state. Return the cells of the client's row."""
    cells = {}
    for step, take in STEPS.items():
        petstore.reset()
        cells[step] = take(petstore, send)
    return cells


def documented(client: str) -> dict[str, str]:
    """Return the column names and cells of a client's row in ``docs/reference/clients.md``."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and not re.fullmatch(r"[|\-: ]+", line)
    ]
    (row,) = [row for row in rows if row[0] == client]
    return dict(zip(rows[0][1:], row[1:], strict=True))
