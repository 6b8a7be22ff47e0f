"""Services that are no stub. ``ready`` and ``connect()`` end within their limits, and refuse them in one sentence."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, connect
from tests.client import JSON, Client
from tests.verify.services import Anything, listening, served
from tests.verify.test_hostile import HEAD, always, endless, head_of

ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def with_body(body: bytes, status: str = "200 OK", media_type: str = "application/json") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def endless_extension(connection: socket.socket) -> None:
    head_of(connection)
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;")
    while True:
        connection.sendall(b"x" * 0x100000)


def endless_head(connection: socket.socket) -> None:
    head_of(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        connection.sendall(b"x" * 0x100000)


def dripping(head: bytes) -> Callable[[socket.socket], None]:
    def handle(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(head)
        while True:
            connection.sendall(b" ")
            time.sleep(0.02)

    return handle


PROBLEM = "application/problem+json"
DEEP = b"[" * 200_000 + b"]" * 200_000
QUICK: dict[str, Callable[[socket.socket], None]] = {
    "an array": always(with_body(b"[]")),
    "null": always(with_body(b"null")),
    "no JSON": always(with_body(b"{")),
    "deep JSON": always(with_body(DEEP)),
    "deep JSON in a member": always(with_body(b'{"status": ' + DEEP + b', "name": ' + DEEP + b"}")),
    "a number of many digits": always(with_body(b'{"status": ' + b"9" * 5000 + b"}")),
    "no UTF-8": always(with_body(b'{"status": "\xff"}')),
    "other members": always(with_body(b'{"state": "ok"}')),
    "members of other types": always(with_body(b'{"name": 1, "url": [], "api_key": {}, "strict": "no"}')),
    "nothing": always(with_body(b"")),
    "a problem without members": always(with_body(b"{}", "404 No", PROBLEM)),
    "a problem with another detail": always(with_body(b'{"detail": ' + DEEP + b"}", "404 No", PROBLEM)),
    "a problem with escapes": always(with_body(json.dumps({"detail": ESCAPE}).encode(), "422 No", PROBLEM)),
    "escapes in the status line": always(f"HTTP/1.1 500 {ESCAPE}\r\nContent-Length: 0\r\n\r\n".encode()),
    "escapes in place of HTTP": always(ESCAPE.encode() + b"\r\n\r\n"),
    "escapes in the media type": always(with_body(b"{}", media_type=ESCAPE)),
    "escapes in the body": always(with_body(ESCAPE.encode(), "500 No", "text/html")),
    "a redirect": always(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/%b\r\n\r\n" % ESCAPE.encode()),
    "a redirect with JSON": always(with_body(b'{"status": "ok"}', "307 No")),
    "another protocol": always(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    "a length of many digits": always(HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n"),
    "a truncated body": always(HEAD + b"Content-Length: 100\r\n\r\n{"),
    "bad gzip": always(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
    "an endless body": endless,
    "an endless extension of a chunk": endless_extension,
    "an endless head": endless_head,
}
SLOW = {
    "a dripping head": dripping(b"HTTP/1.1 200 OK\r\nX:"),
    "a dripping body": dripping(HEAD + b"Content-Length: 100000\r\n\r\n"),
    "dripping chunks": dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;"),
}


def is_one_sentence(text: str) -> bool:
    return text.isprintable() and "Traceback" not in text and 0 < len(text) < 1_000


@pytest.mark.parametrize("kind", [*QUICK, *SLOW])
def test_ready_ends_within_its_timeout_and_says_one_sentence(kind: str, command: Anything) -> None:
    began = time.monotonic()
    with listening({**QUICK, **SLOW}[kind]) as url:
        code, out, err = command("ready", "--url", url, "--timeout", "1")
    assert (code, err) == (1, "")
    assert is_one_sentence(out.removesuffix("\n")), out
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("kind", QUICK)
def test_connect_refuses_a_service_that_is_no_stub(kind: str) -> None:
    with listening(QUICK[kind]) as url, pytest.raises(PetStoreMockError) as refused:
        connect(url)
    assert is_one_sentence(str(refused.value)), str(refused.value)


def test_a_body_of_many_bytes_does_not_fill_the_memory(command: Anything) -> None:
    """``ready`` stops after 1 MiB, although the service goes on for as long as it may."""
    taken = 0

    def flood(connection: socket.socket) -> None:
        nonlocal taken
        head_of(connection)
        connection.sendall(HEAD + b"Content-Length: 1000000000000\r\n\r\n")
        while True:
            taken += connection.send(b" " * 0x10000)

    with listening(flood) as url:
        code, out, _ = command("ready", "--url", url, "--timeout", "20")
    assert code == 1
    assert "does not end within" in out
    assert taken < 64 * 1024 * 1024


# Each changes one response of a door that is right otherwise.
LIES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "an exchange without members": ("requests", lambda page: page["requests"][0].clear()),
    "an exchange with another type": ("requests", lambda page: page["requests"][0].update(method=5)),
    "a moment that is none": ("requests", lambda page: page["requests"][0].update(at="soon")),
    "a status without a Date": ("requests", lambda page: page["requests"][0].update(response_fields=[])),
    "a field that is no pair": ("requests", lambda page: page["requests"][0].update(fields=[["a"]])),
    "a body that is no Base64": ("requests", lambda page: page["requests"][0].update(body_text=None, body_base64="?")),
    "a body in no form": ("requests", lambda page: page["requests"][0].update(body_text=None, body_base64=None)),
    "a fault of no kind": ("requests", lambda page: page["requests"][0].update(fault_data={"kind": "none"})),
    "a condition of no status": ("requests", lambda page: page["requests"][0].update(condition="none")),
    "an address that is none": ("world", lambda world: world.update(url="http://[")),
    "a number of thousands of digits": ("requests", lambda page: page.update(total=10**4000)),
    "escapes in a problem": (
        "world/verification",
        lambda result: result.update(problems=[{"kind": "violation", "message": ESCAPE}]),
    ),
    "escapes in an assertion": ("requests/assert", lambda result: result.update(passed=False, message=ESCAPE)),
}


def changed_door(stub: PetStoreMock, path: str, change: Callable[[Any], object]) -> Callable[..., list[bytes]]:
    """Return a WSGI app that passes requests to the door of a stub, and changes the response of one path."""

    def app(environ: dict[str, Any], start_response: Anything) -> list[bytes]:
        sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        target, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        with Client(stub) as client:
            found = client.bare(environ["REQUEST_METHOD"], f"{target}?{query}", [JSON] if sent else [], sent or None)
        value = json.loads(found.body) if found.body else None
        if target.endswith(f"/__petstore/{path}") and found.status < 300:
            change(value)
        body = b"" if value is None else json.dumps(value).encode()
        start_response(f"{found.status} X", [("Content-Type", found.header("Content-Type") or "")] if body else [])
        return [body]

    return app


def use(stub: PetStoreMock, url: str) -> None:
    """Steer a stub through the door at ``url``, by each path that ``LIES`` names."""
    with connect(url, world="default") as petstore, Client(stub) as client:
        client.list()
        petstore.journal.assert_called("listPets")
        assert [exchange.operation for exchange in petstore.journal] == ["listPets"]
        petstore.verify()


@pytest.mark.parametrize("lie", LIES)
def test_a_door_with_another_form_is_refused_with_one_sentence(lie: str) -> None:
    changed: list[object] = []

    def change(value: Any) -> None:
        changed.append(value)
        LIES[lie][1](value)

    with (
        PetStoreMock(control=True) as stub,
        served(changed_door(stub, LIES[lie][0], change)) as url,
        pytest.raises((PetStoreMockError, VerificationError)) as refused,
    ):
        use(stub, url)
    assert changed
    assert str(refused.value).replace("\n", "").isprintable(), str(refused.value)


def test_a_door_without_a_change_is_accepted() -> None:
    with PetStoreMock(control=True) as stub, served(changed_door(stub, "no such path", print)) as url:
        use(stub, url)
