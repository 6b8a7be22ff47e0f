"""The floor: a socket in plain Python that answers every request with the same bytes, unread.

``python -m benchmarks.peers.raw_socket PORT FILE``; a thread a connection, nothing parsed, one send an answer.
"""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path


def serve(connection: socket.socket, answer: bytes) -> None:
    """Answer whatever comes, a read at a time: a request without a body fits into one."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while connection.recv(65536):
            connection.sendall(answer)


def main() -> None:
    """Listen for ever."""
    answer = Path(sys.argv[2]).read_bytes()
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=(connection, answer), daemon=True).start()


if __name__ == "__main__":
    main()
