"""The limit of Python's asyncio: the server sends fixed bytes chosen by the request line, and parses nothing else.

``python -m benchmarks.peers.asyncio_bytes PORT FOLDER``; the folder has the bodies ``listed``, ``got``, ``created``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import cast


class Answers(asyncio.Protocol):
    """One connection. Each read is one request."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self._answers = answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the fake's limit of bytes in one read."""
        transport.max_size = 64 * 1024  # type: ignore[attr-defined]  # undocumented
        self._write = cast("asyncio.Transport", transport).write

    def data_received(self, data: bytes) -> None:
        """Respond by the request line alone."""
        self._write(self._answers[data[: data.find(b" HTTP/")]])


async def serve(port: int, answers: dict[bytes, bytes]) -> None:
    """Listen until the process ends."""
    server = await asyncio.get_running_loop().create_server(lambda: Answers(answers), "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    """Build the three responses and serve them."""
    answers = {}
    for line, status, name in (
        (b"GET /v1/pets", b"200 OK", "listed"),
        (b"GET /v1/pets/1", b"200 OK", "got"),
        (b"POST /v1/pets", b"201 Created", "created"),
    ):
        body = Path(sys.argv[2], name).read_bytes()
        fields = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        answers[line] = b"HTTP/1.1 %b\r\n%b\r\n%b" % (status, fields, body)
    asyncio.run(serve(int(sys.argv[1]), answers))


if __name__ == "__main__":
    main()
