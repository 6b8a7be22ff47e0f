"""How HTTP clients report each fault: a table of ``docs/reference/faults.md``, measured."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import httpx
import requests
import urllib3

from petstore_mock import PetStoreMock, faults
from petstore_mock.faults.changes import CODINGS
from petstore_mock.interface.static import OperationName
from tools.documents.blocks import ROOT, table

DOCUMENT: Final = ROOT / "docs" / "reference" / "faults.md"
PATIENCE: Final = 5.0  # seconds for a response
TIMEOUT: Final = 0.25  # seconds that each client waits for a missing or slow response
PET: Final = {"id": 1, "name": "Rex", "categoryId": 1, "status": "available"}


@dataclass(frozen=True)
class Call:
    """One request, and the statuses of the responses that the client received."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None = None
    timeout: float = PATIENCE
    ca_path: str | None = None  # of the authority that the client trusts under TLS
    seen: list[int] = field(default_factory=list)

    @property
    def context(self) -> ssl.SSLContext | bool:
        """The TLS settings for libraries that take a context; True for their defaults."""
        return True if self.ca_path is None else ssl.create_default_context(cafile=self.ca_path)


# The clients: each reads the whole body and decodes it as JSON, as clients of the interface do.


def _by_requests(call: Call) -> object:
    with requests.Session() as session:
        session.trust_env = False  # else REQUESTS_CA_BUNDLE overrides the session's value
        session.verify = call.ca_path or True
        answer = session.request(call.method, call.url, headers=call.headers, data=call.body, timeout=call.timeout)
        call.seen.append(answer.status_code)
        return answer.json()


def _by_httpx(call: Call) -> object:
    with httpx.Client(timeout=call.timeout, verify=call.context) as client:
        answer = client.request(call.method, call.url, headers=call.headers, content=call.body)
        call.seen.append(answer.status_code)
        return answer.json()


def _by_urllib3(call: Call) -> object:
    with urllib3.PoolManager(retries=False, timeout=call.timeout, ca_certs=call.ca_path) as pool:
        answer = pool.request(call.method, call.url, headers=call.headers, body=call.body)
        call.seen.append(answer.status)
        return answer.json()


def _by_aiohttp(call: Call) -> object:
    async def run() -> object:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=call.timeout)) as session,
            session.request(call.method, call.url, headers=call.headers, data=call.body, ssl=call.context) as answer,
        ):
            call.seen.append(answer.status)
            return await answer.json()

    return asyncio.run(run())


def _by_http_client(call: Call) -> object:
    parts = urlsplit(call.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=call.timeout)
    try:
        connection.request(call.method, parts.path, call.body, call.headers)
        answer = connection.getresponse()
        call.seen.append(answer.status)
        return json.loads(answer.read())
    finally:
        connection.close()


class EndedError(Exception):
    """The connection ended. The message says where."""


def _by_socket(call: Call) -> object:
    """Read the raw bytes of a response, without an HTTP library."""
    parts = urlsplit(call.url)
    fields = {"Host": parts.netloc, **call.headers, "Content-Length": str(len(call.body or b""))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    with socket.create_connection((parts.hostname, parts.port), call.timeout) as connection:
        connection.sendall(f"{call.method} {parts.path} HTTP/1.1\r\n{head}\r\n".encode() + (call.body or b""))
        return json.loads(_body(connection, call, b""))


def _body(connection: socket.socket, call: Call, received: bytes) -> bytes:
    while b"\r\n\r\n" not in received:
        data = connection.recv(65536)
        if not data:
            raise EndedError(f"end after {len(received)} bytes")
        received += data
    head, _, body = received.partition(b"\r\n\r\n")
    call.seen.append(int(head[9:12]))
    if call.seen[-1] < 200:
        return _body(connection, call, body)
    pairs = [line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:]]
    fields = {name: value.strip() for name, value in pairs}
    chunked = b"transfer-encoding" in fields
    length = int(fields[b"content-length"]) if b"content-length" in fields else None
    while chunked or length is None or len(body) < length:
        has_size = body[:1].isdigit()
        if chunked and has_size and body.endswith(b"\r\n\r\n"):
            return b"".join(body.split(b"\r\n")[1:-4:2])
        data = connection.recv(65536)
        if not data and chunked:
            size, _, _ = body.partition(b"\r\n")
            raise EndedError(f"end in a chunk whose size line is `{size.decode()}`")
        if not data and length is None:
            return body
        if not data:
            raise EndedError(f"end after {len(body)} of {length} bytes")
        body += data
    return body


CLIENTS: Final[dict[str, Callable[[Call], object]]] = {
    "raw socket": _by_socket,
    "http.client": _by_http_client,
    "requests": _by_requests,
    "httpx": _by_httpx,
    "urllib3": _by_urllib3,
    "aiohttp": _by_aiohttp,
}


# The faults


@dataclass(frozen=True)
class Row:
    """One line of the table: a fault, planned as its label says."""

    label: str
    fault: faults.Fault
    on: OperationName = "getPet"
    options: dict[str, Any] = field(default_factory=dict)
    timeout: float = PATIENCE


ROWS: Final = (
    Row("`401`", faults.unauthorized()),
    Row("`404`", faults.not_found()),
    Row("`400` on createPet", faults.bad_request(), "createPet"),
    Row("`rate_limited()`", faults.rate_limited()),
    Row("`server_error()`", faults.server_error()),
    Row('`respond(502, body="<h1>…")`', faults.respond(502, body="<h1>Bad gateway</h1>")),
    Row('`respond(503, body="")`', faults.respond(503, body="")),
    Row("`malformed_json()`", faults.malformed_json()),
    Row("`wrong_content_type()`", faults.wrong_content_type()),
    Row("`delay(0.05)`", faults.delay(0.05)),
    Row("`delay(60)`", faults.delay(60), timeout=TIMEOUT),
    Row("`server_error(503, delay=0.05)`", faults.server_error(503, delay=0.05)),
    Row("`server_error(503, delay=60)`", faults.server_error(503, delay=60), timeout=TIMEOUT),
    Row("`hang()`", faults.hang(), timeout=TIMEOUT),
    Row("`reset()`", faults.reset()),
    Row("`empty_reply()`", faults.empty_reply()),
    Row("`truncate()`", faults.truncate()),
    Row("`dribble(150)`", faults.dribble(150), timeout=TIMEOUT),
    Row("`malformed_chunk()`", faults.malformed_chunk()),
    Row("`interim(100)`", faults.interim(100)),
    Row("`interim(103)`", faults.interim(103)),
    Row("`stall_body(25)`", faults.stall_body(25), timeout=TIMEOUT),
    *(Row(f'`encoded("{coding}")`', faults.encoded(coding)) for coding in CODINGS),
    Row("`many_fields()`", faults.many_fields()),
    Row('`extra_fields({"Set-Cookie": "a=1;;"})`', faults.extra_fields({"Set-Cookie": "a=1;;"})),
    Row("`no_spaces()`", faults.no_spaces()),
    Row('`reason_phrase("")`', faults.reason_phrase("")),
    Row("`no_date()`", faults.no_date()),
    Row("`until_close()`", faults.until_close()),
    Row("`chunk_extras()`", faults.chunk_extras()),
    Row("`reset()` on createPet, after the commit", faults.reset(), "createPet", {"at": "after_commit"}),
)


def _call(petstore: PetStoreMock, on: str, timeout: float) -> Call:
    if on == "createPet":
        headers = {**petstore.headers, "Content-Type": "application/json"}
        return Call("POST", f"{petstore.url}/pets", headers, b'{"name": "Tom", "categoryId": 2}', timeout)
    return Call("GET", f"{petstore.url}/pets{'/1' if on == 'getPet' else ''}", petstore.headers, timeout=timeout)


def ask(client: str, petstore: PetStoreMock, on: str = "getPet", timeout: float = PATIENCE) -> str:
    """Let a client send one request; return its result in the table's words."""
    call = _call(petstore, on, timeout)
    before = len(petstore.journal)
    try:
        CLIENTS[client](call)
    except Exception as error:  # noqa: BLE001  # the table shows the error
        cell = ", then ".join([*map(str, call.seen), name_of(error)])
    else:
        cell = ", then ".join(map(str, call.seen))
    asked = len(petstore.journal) - before
    return cell if asked == 1 else f"{cell}, after {asked} requests"


def measured(row: Row, petstore: PetStoreMock) -> dict[str, str]:
    """Return each client's result for a fault. All run at once, each in its own world."""
    with ExitStack() as stack, ThreadPoolExecutor(len(CLIENTS)) as pool:
        worlds = [stack.enter_context(petstore.fresh(seed=[PET])) for _ in CLIENTS]
        for world in worlds:
            world.inject(row.fault, on=row.on, times=1, **row.options)
        cells = pool.map(ask, CLIENTS, worlds, [row.on] * len(CLIENTS), [row.timeout] * len(CLIENTS))
        return dict(zip(CLIENTS, cells, strict=True))


def name_of(error: BaseException) -> str:
    """Return the name of an exception for the table."""
    if isinstance(error, EndedError):
        return str(error)
    reset = any(isinstance(cause, OSError) and cause.errno == errno.ECONNRESET for cause in _chain(error))
    return f"{type(error).__name__}{' (ECONNRESET)' if reset else ''}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, wherever a library keeps them."""
    yield error
    behind = [error.__cause__ or error.__context__, *getattr(error, "args", ()), getattr(error, "reason", None)]
    for cause in behind:
        if isinstance(cause, BaseException) and cause is not error:
            yield from _chain(cause)


# The document


def measured_table() -> str:
    """Measure and return the table."""
    with PetStoreMock() as petstore:
        return table("fault", *CLIENTS, rows=[[row.label, *measured(row, petstore).values()] for row in ROWS])


def cells_of(text: str) -> dict[tuple[str, str], str]:
    """Return the cells of a table by the titles of row and column."""
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    return {(line[0], column): cell for line in lines[2:] for column, cell in zip(lines[0][1:], line[1:], strict=True)}
