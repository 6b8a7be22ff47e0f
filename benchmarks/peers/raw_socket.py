"""The floor: a Python socket that sends the same bytes for every request, and does not parse requests.

``python -m benchmarks.peers.raw_socket PORT FILE``; one thread for each connection, and one send for each response.
"""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path


def serve(connection: socket.socket, answer: bytes) -> None:
    """Send a response for each read. A request without a body fits into one read."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while connection.recv(65536):
            connection.sendall(answer)


def main() -> None:
    """Listen until the process ends."""
    answer = Path(sys.argv[2]).read_bytes()
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=(connection, answer), daemon=True).start()


if __name__ == "__main__":
    main()
