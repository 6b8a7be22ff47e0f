"""The bodies that every contestant sends: those of petstore_mock for 20 animals."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = ["ANIMALS", "KEY", "NEW_PET", "Bodies", "bodies", "call", "environ"]

ANIMALS: Final = 20
KEY: Final = "benchmark-key"
NEW_PET: Final = b'{"name":"Rex","categoryId":1,"status":"available"}'


@dataclass(frozen=True, slots=True)
class Bodies:
    """The bodies of a list of 20 animals, of one animal, and of a created one."""

    listed: bytes
    got: bytes
    created: bytes


def environ(method: str, path: str, key: str, body: bytes = b"") -> dict[str, Any]:
    """Return a WSGI environ as a server would make it (PEP 3333)."""
    base: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1",
        "HTTP_ACCEPT": "*/*",
        "HTTP_USER_AGENT": "benchmark",
        "HTTP_AUTHORIZATION": f"Bearer {key}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if body:
        base |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
    return base


def call(app: WSGIApplication, asked: dict[str, Any]) -> bytes:
    """Call a WSGI app and return the body; raise RuntimeError unless the response is a success."""
    statuses: list[str] = []

    def start_response(status: str, *_: object) -> Any:  # noqa: ANN401  # PEP 3333's write(), never used
        statuses.append(status)

    body = b"".join(app(asked, start_response))
    if not statuses[0].startswith("2"):
        raise RuntimeError(f"expected a success; got {statuses[0]}: {body[:200]!r}")
    return body


@cache
def bodies() -> Bodies:
    """Return the bodies that petstore_mock returns in process."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    return Bodies(
        listed=call(app, environ("GET", "/v1/pets", KEY)),
        got=call(app, environ("GET", "/v1/pets/1", KEY)),
        created=call(app, environ("POST", "/v1/pets", KEY, NEW_PET)),
    )
