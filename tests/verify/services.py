"""What the tests of ``verify`` share: quick runs, and services that are not the fake."""

from __future__ import annotations

import contextlib
import io
import json
import socketserver
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from werkzeug.serving import WSGIRequestHandler, make_server

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.verify import Verdict, verify

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

Anything: TypeAlias = Any  # what goes into a WSGI app, and comes out of it

QUICK = 1e6  # requests a second
ENOUGH = 40  # animals: more than the probes can create
KEY = "key-of-the-service"


def ask(url: str, api_key: Anything = KEY, **options: Anything) -> Verdict:
    return verify(url, api_key=api_key, **{"rate": QUICK, "timeout": 2.0, **options})


def ask_fake(
    behaviour: Behaviour | None = None, *, seed: int = 30, at: str | None = None, **options: Anything
) -> Verdict:
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
def _running(server: socketserver.BaseServer, port: int) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def served(app: Callable[..., Anything]) -> contextlib.AbstractContextManager[str]:
    """Serve a WSGI app; give its base address."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    return _running(server, server.server_port)


def listening(handle: Callable[[socket.socket], None]) -> contextlib.AbstractContextManager[str]:
    """Give each connection to ``handle``, in a thread of its own; give the base address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                handle(self.request)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    return _running(server, server.server_address[1])


class Turn:
    """A request to a service, and its response, which a test may change."""

    def __init__(self, environ: dict[str, Anything], sent: bytes) -> None:
        path = environ["PATH_INFO"].removeprefix("/v1")
        names = {("GET", "/pets"): "list", ("POST", "/pets"): "create"}
        self.name = names.get((environ["REQUEST_METHOD"], path), "get")
        self.query: str = environ["QUERY_STRING"]
        self.sent = json.loads(sent) if sent.startswith(b"{") and sent.endswith(b"}") else None
        self.status = 0
        self.media_type = "application/json"
        self.fields: list[tuple[str, str]] = []
        self.document: Anything = None
        self.body: bytes | None = None  # instead of the document

    def respond(self, status: int, document: Anything = None) -> None:
        self.status, self.document = status, document

    def refuse(self, status: int) -> None:
        self.respond(status, {"code": "x", "message": "x", "status": status})

    @property
    def pets(self) -> list[dict[str, Anything]]:
        return [] if self.status >= 300 else self.document if isinstance(self.document, list) else [self.document]


@contextlib.contextmanager
def changed(
    change: Callable[[Turn], object], *, refuses: Callable[[Turn], int | None] | None = None
) -> Iterator[Anything]:
    """Serve the fake with changed responses; ``refuses`` may refuse a request before the fake sees it."""
    with PetStoreMock(seed=30) as petstore:

        def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
            sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = io.BytesIO(sent)
            turn = Turn(environ, sent)
            status = refuses(turn) if refuses is not None else None
            if status is not None:
                turn.refuse(status)
            else:
                heads: list[Anything] = []
                body = b"".join(petstore.app(environ, lambda *head, **_: heads.append(head)))  # type: ignore[arg-type, return-value, unused-ignore]
                turn.status, turn.document = int(heads[0][0][:3]), json.loads(body) if body else None
                turn.fields = [field for field in heads[0][1] if field[0] not in {"Content-Length", "Content-Type"}]
            change(turn)
            body = json.dumps(turn.document).encode() if turn.body is None else turn.body
            fields = [*turn.fields, ("Content-Type", turn.media_type), ("Content-Length", str(len(body)))]
            start_response(f"{turn.status} X", fields)
            return [body]

        with served(app) as url:
            yield petstore, url


def nothing(_: Turn) -> None: ...
