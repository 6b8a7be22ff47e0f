"""What the tests of ``verify`` share: quick runs against the fake, and services that are not the fake."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from werkzeug.serving import WSGIRequestHandler, make_server

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.verify import Verdict, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Anything: TypeAlias = Any  # what goes into a WSGI app, and comes out of it

QUICK = 1e6  # requests a second
ENOUGH = 40  # animals: more than the probes can create
REMOVED = "2030-12-06"
KEY = "key-of-the-service"


def ask(url: str, api_key: Anything = KEY, **options: Anything) -> Verdict:
    return verify(url, api_key=api_key, **{"rate": QUICK, "timeout": 2.0, **options})


def ask_fake(behaviour: Behaviour, *, at: str | None = None, seed: int = 30, **options: Anything) -> Verdict:
    with PetStoreMock(seed=seed, behaviour=behaviour, at=at) as petstore:
        keys = [petstore.api_key, petstore.issue_key()]
        return ask(petstore.url, keys, **{"allow_create": ENOUGH, **options})


def result_of(verdict: Verdict, clause: str) -> str:
    (found,) = [one for one in verdict.clauses if one.id == clause]
    return found.result


def broken(verdict: Verdict) -> dict[str, str]:
    return {clause.id: clause.detail for clause in verdict.broken}


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Anything) -> None:
        pass


@contextlib.contextmanager
def served(app: Callable[..., Anything]) -> Iterator[str]:
    """Serve a WSGI app; give its base address."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def listening(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """Give each connection to ``handle``, in a thread of its own; give the base address."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def one(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            handle(connection)
        connection.close()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        thread.join()
