"""pytest-httpserver's plain server with three canned responses: ``python -m benchmarks.peers.httpserver_stub PORT``."""

from __future__ import annotations

import sys
import threading

from pytest_httpserver import HTTPServer

from benchmarks.bodies import NEW_PET, bodies


def main() -> None:
    """Serve until the process ends."""
    server = HTTPServer(host="127.0.0.1", port=int(sys.argv[1]))
    listed, got, created = bodies().values()
    for path, body in (("/v1/pets", listed), ("/v1/pets/1", got)):
        server.expect_request(path, method="GET").respond_with_data(body, content_type="application/json")
    creation = server.expect_request("/v1/pets", method="POST", data=NEW_PET)
    creation.respond_with_data(created, status=201, content_type="application/json")
    server.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
