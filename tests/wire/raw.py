"""A client that sends raw bytes and reads responses strictly."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from petstore_mock import PetStoreMock, RemotePetStore

KEY: Final = "wire-key"
AUTH: Final = f"Authorization: Bearer {KEY}"
REX: Final = b'{"name":"Rex","categoryId":1}'
OTHER: Final = b"OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE: Final = 10.0  # seconds; a test that waits longer for bytes fails
_DESCRIPTORS: Final = Path("/proc/self/fd")


def get(target: str = "/v1/pets", *fields: str, method: str = "GET", version: str = "1.1") -> bytes:
    """Return a request with the key and without a body."""
    lines = [f"{method} {target} HTTP/{version}", "Host: x", AUTH, *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(body: bytes = REX, *fields: str, framing: str | None = None, version: str = "1.1") -> bytes:
    """Return a createPet request; ``framing`` is the field that delimits its body, by default Content-Length."""
    head = ("Content-Type: application/json", framing or f"Content-Length: {len(body)}", *fields)
    return get("/v1/pets", *head, method="POST", version=version) + body


def eventually(holds: Callable[[], object], what: str) -> None:
    """Wait until ``holds()`` is true; after the timeout, fail and name ``what``."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.002)


def open_descriptors() -> int:
    """Return the number of open descriptors; 0 if the system does not show them."""
    return sum(1 for _ in _DESCRIPTORS.iterdir()) if _DESCRIPTORS.exists() else 0


def address_of(petstore: PetStoreMock | RemotePetStore) -> tuple[str, int]:
    parts = urlsplit(petstore.url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@dataclass(frozen=True)
class Received:
    """A response with field names in lower case."""

    status: int
    reason: str
    fields: dict[str, str]
    body: bytes = b""
    chunks: int = 0

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json()["code"])


def parse_head(head: bytes) -> Received:
    """Return a parsed head; fail if it is not HTTP/1.1 or has a field twice."""
    line, *lines = head.decode("latin-1").split("\r\n")
    version, status, reason = line.split(" ", 2)
    assert (version, len(status)) == ("HTTP/1.1", 3), line
    fields: dict[str, str] = {}
    for one in lines:
        name, colon, value = one.partition(": ")
        assert colon, f"no field: {one!r}"
        assert name.strip() == name
        assert name.lower() not in fields, f"{name} occurs twice"
        fields[name.lower()] = value
    return Received(int(status), reason, fields)


class Raw:
    """One connection."""

    new_socket: Callable[..., Any] = socket.socket

    def __init__(self, petstore: PetStoreMock, *, receive_buffer: int | None = None) -> None:
        host, port = address_of(petstore)
        self.socket: socket.socket = type(self).new_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        try:
            self.socket.connect((host, port))
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Self:
        self.socket.sendall(data)
        return self

    def half_close(self) -> Self:
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def reset(self) -> None:
        """Close with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def call(self, data: bytes) -> Received:
        return self.send(data).response(data.split(b" ", 1)[0].decode("latin-1"))

    def response(self, method: str = "GET") -> Received:
        """Read one response to ``method``; raise EOFError if the connection ends within it."""
        head = self.head()
        if method == "HEAD" or head.status < 200 or head.status in {204, 304}:
            return head
        if head.fields.get("transfer-encoding") != "chunked":
            return replace(head, body=self._exactly(int(head.fields["content-length"])))
        assert "content-length" not in head.fields
        pieces = []
        while size := int(self._until(b"\r\n"), 16):
            pieces.append(self._exactly(size))
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"
        return replace(head, body=b"".join(pieces), chunks=len(pieces))

    def head(self) -> Received:
        """Read only the head of a response."""
        return parse_head(self._until(b"\r\n\r\n"))

    def statuses(self, count: int) -> list[int]:
        return [self.response().status for _ in range(count)]

    def rest(self) -> bytes:
        """Read to the end of the connection; a reset raises ConnectionResetError."""
        while data := self.socket.recv(65536):
            self.buffer += data
        return self.buffer

    def is_closed(self) -> bool:
        """Return whether the connection ends without a reset or another byte."""
        return self.rest() == b""

    def is_silent(self, seconds: float = 0.1) -> bool:
        """Return whether neither a byte nor the end arrives within ``seconds``."""
        self.socket.settimeout(seconds)
        try:
            self.buffer += self.socket.recv(1)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)
        return False

    def _more(self) -> bytes:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"the connection ended after {self.buffer[:200]!r}")
        return data

    def _until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            self.buffer += self._more()
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        pieces, left = [self.buffer], size - len(self.buffer)
        while left > 0:
            pieces.append(self._more())
            left -= len(pieces[-1])
        whole = b"".join(pieces)
        self.buffer = whole[size:]
        return whole[:size]
