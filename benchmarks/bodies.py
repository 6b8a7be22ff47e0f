"""The bodies that every contestant sends: those of petstore_mock for 20 animals."""

from __future__ import annotations

import io
from functools import cache
from typing import Any, Final
from wsgiref.types import WSGIApplication
from wsgiref.util import setup_testing_defaults

from petstore_mock import PetStoreMock

ANIMALS: Final = 20
KEY: Final = "benchmark-key"
HEADERS: Final = {"Authorization": f"Bearer {KEY}"}
NEW_PET: Final = b'{"name":"Rex","categoryId":1,"status":"available"}'


def environ(method: str, path: str, body: bytes = b"") -> dict[str, Any]:
    """Return a WSGI environ as a server would make it (PEP 3333)."""
    made: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "wsgi.input": io.BytesIO(body)}
    made |= {"QUERY_STRING": "", "HTTP_AUTHORIZATION": f"Bearer {KEY}"}
    if body:
        made |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
    setup_testing_defaults(made)
    return made


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
def bodies() -> dict[str, bytes]:
    """Return the bodies of a list of 20 animals, of one animal, and of a created one, as petstore_mock makes them."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    return {
        "listed": call(app, environ("GET", "/v1/pets")),
        "got": call(app, environ("GET", "/v1/pets/1")),
        "created": call(app, environ("POST", "/v1/pets", NEW_PET)),
    }
