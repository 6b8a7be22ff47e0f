"""A stub of a tree as a child process, and a raw HTTP/1.1 client that keeps what arrives as it is."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from socket import create_connection
from typing import TYPE_CHECKING, Any, Final, Self

from tools.drawing import AT, KEY, PETS, encoded

if TYPE_CHECKING:
    from pathlib import Path

    from tools.drawing import Request

_PATIENCE: Final = 2.0  # seconds for a response
_PORT: Final = "PORT_"
_BOOT: Final = 20.0  # seconds for the first line of the log


class Stub:
    """``petstore-mock serve`` of the tree in ``folder``, with a fixed key, seed and date; its log in ``lines``."""

    def __init__(self, folder: Path, seed: Path, errors: Path) -> None:
        seed.write_text(json.dumps(PETS), encoding="utf-8")
        options = ["--port", "0", "--log-format", "json", "--api-key", KEY, "--at", AT, "--seed", str(seed.resolve())]
        command = [sys.executable, "-m", "petstore_mock", "serve", *options]
        with errors.open("w") as stderr:
            self._process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, encoding="utf-8"
            )
        assert self._process.stdout is not None
        too_late = threading.Timer(_BOOT, self._process.kill)
        too_late.start()
        line = self._process.stdout.readline()
        too_late.cancel()
        if not line:
            self._process.wait()
            raise ChildProcessError(f"the stub of {folder} does not serve; {errors} says why")
        self.greeting = json.loads(line)
        self.port = int(self.greeting["url"].split(":")[2].split("/")[0])
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._door = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self.lines.extend(self._process.stdout)

    def plain(self, text: str) -> str:
        """Return ``text`` with this stub's port replaced by a word of its length, so that it compares."""
        return text.replace(f":{self.port}", f":{_PORT}")

    def door(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        """Send a request to the control door."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        self._door.request(method, f"/__petstore/{path}", None if body is None else body.encode(), headers)
        response = self._door.getresponse()
        text = self.plain(response.read().decode())
        fields = [[name, self.plain(value)] for name, value in response.getheaders() if name != "Date"]
        return {"status": response.status, "headers": fields, "body": text}

    def renew_door(self) -> None:
        """Forget the connection to the door, which a failed exchange leaves unusable."""
        self._door.close()


class Connection:
    """A connection to the service, on which requests are sent as bytes."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self._port = f":{port}".encode()
        self._socket = create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        self._buffer = b""
        self.is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, data: bytes, pieces: int = 1) -> None:
        """Send ``data``, in several segments if asked; a peer that has closed is noticed by reading."""
        size = -(-len(data) // pieces) or 1
        with suppress(OSError):
            for start in range(0, len(data), size):
                self._socket.sendall(data[start : start + size])
                if pieces > 1:
                    time.sleep(0.003)

    def _plain(self, content: bytes) -> bytes:
        return content.replace(self._port, f":{_PORT}".encode())

    def _more(self) -> bool:
        """Read on; return whether anything came."""
        more = self._socket.recv(65536)
        self._buffer += more
        return bool(more)

    def read(self, method: str = "GET") -> dict[str, Any]:
        """Return the next response as it arrived: its parts, and how the connection ended, if it did."""
        found: dict[str, Any] = {"end": ""}
        try:
            while b"\r\n\r\n" not in self._buffer:
                if not self._more():
                    return {**self._ended(found, "closed"), "left": encoded(self._buffer)}
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            found["line"], *fields = self._plain(head).decode("latin-1").split("\r\n")
            found["headers"] = [list(field.partition(": ")[::2]) for field in fields]
            found["order"] = [name for name, _ in found["headers"]]
            found["body"] = encoded(self._plain(self._body(found, method)))
        except TimeoutError:
            return {**self._ended(found, "silent"), "left": encoded(self._buffer)}
        except OSError as error:
            return {**self._ended(found, type(error).__name__), "left": encoded(self._buffer)}
        if ["connection", "close"] in [[name.lower(), value] for name, value in found["headers"]]:
            self._ended(found, "closed")
        return found

    def _ended(self, found: dict[str, Any], how: str) -> dict[str, Any]:
        self.is_open = False
        found["end"] = how
        return found

    def _body(self, found: dict[str, Any], method: str) -> bytes:
        fields = {name.lower(): value for name, value in found["headers"]}
        status = found["line"].split(" ")[1]
        if method == "HEAD" or status in {"204", "304"} or status.startswith("1"):
            return b""
        if "content-length" in fields:
            return self._exactly(int(fields["content-length"]), found)
        if fields.get("transfer-encoding") == "chunked":
            return self._chunks(found)
        while self._more():
            pass
        self._ended(found, "closed")
        return self._exactly(len(self._buffer), found)

    def _exactly(self, size: int, found: dict[str, Any]) -> bytes:
        while len(self._buffer) < size:
            if not self._more():
                self._ended(found, f"closed {size - len(self._buffer)} bytes early")
                break
        content, self._buffer = self._buffer[:size], self._buffer[size:]
        return content

    def _chunks(self, found: dict[str, Any]) -> bytes:
        content = b""
        while self.is_open:
            while b"\r\n" not in self._buffer and self._more():
                pass
            line, _, self._buffer = self._buffer.partition(b"\r\n")
            try:
                size = int(line, 16)
            except ValueError:
                self._ended(found, f"chunk of size {line!r}")
                break
            content += self._exactly(size + 2, found)[:size]
            if not size:
                break
        return content


def request_bytes(request: Request, form: str, host: str) -> tuple[bytes, bytes]:
    """Return the head and the body of ``request`` as they are sent in a form such as ``chunked``."""
    body = request.body
    fields = [("Host", host), *request.headers]
    if form == "chunked" and body is not None:
        fields.append(("Transfer-Encoding", "chunked"))
        middle = len(body) // 2
        pieces = [piece for piece in (body[:middle], body[middle:]) if piece]
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    elif body is not None:
        fields.append(("Content-Length", str(len(body))))
    if form == "close":
        fields.append(("Connection", "close"))
    if form == "expect" and body is not None:
        fields.append(("Expect", "100-continue"))
    version = "HTTP/1.0" if form == "1.0" else "HTTP/1.1"
    lines = [f"{request.method} {request.target} {version}", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"), body or b""


def exchange(connection: Connection, request: Request, form: str) -> list[dict[str, Any]]:
    """Send ``request`` in a form, and return what arrives: an interim response before the final one, if one came."""
    head, body = request_bytes(request, form, connection.host)
    if form == "expect" and request.body is not None:
        connection.send(head)
        first = connection.read(request.method)
        if not first.get("line", "").startswith("HTTP/1.1 100"):
            return [first]
        connection.send(body)
        return [first, connection.read(request.method)]
    connection.send(head + body, pieces=3 if form == "segments" else 1)
    return [connection.read(request.method)]
