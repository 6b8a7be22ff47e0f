"""The door without a socket: a mock, its worlds, and werkzeug's client of the WSGI application."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from werkzeug.datastructures import Headers
from werkzeug.test import Client

from petstore_mock import PetStoreMock
from petstore_mock.control.admission import Admission
from petstore_mock.control.app import ControlApp
from petstore_mock.core.tenants import Tenants
from petstore_mock.messages.request import ApiRequest

if TYPE_CHECKING:
    from petstore_mock.messages.response import ApiResponse

__all__ = ["HOST", "PORT", "Door", "Reply"]


@dataclass(frozen=True)
class Reply:
    """What the door answered; ``json`` is None where that is no JSON."""

    status_code: int
    headers: Headers
    text: str
    json: Any


PORT: Final = 8080
HOST: Final = f"127.0.0.1:{PORT}"


class Door:
    """A mock with its door.

    Args:
        petstore: the mock; a plain one unless given.
        admission: who may come in; everybody of loopback unless given.
        options: those of ``Tenants``.
    """

    def __init__(
        self,
        petstore: PetStoreMock | None = None,
        admission: Admission | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.petstore = petstore or PetStoreMock(self_check=True)
        self.tenants = Tenants(self.petstore.tenant, **options)
        self.closed: list[frozenset[int] | None] = []
        admission = admission or Admission(port=PORT)
        app = ControlApp(self.tenants, lambda: admission, version="1.2.3", close_connections=self.closed.append)
        self.client = Client(app)

    def ask(
        self, method: str, path: str, body: object = None, *, world: str = "", headers: dict[str, str] | None = None
    ) -> Reply:
        """Send one request; ``path`` is below ``/__petstore/``."""
        mount = f"/w/{world}" if world else ""
        fields = {"Host": HOST, **(headers or {})}
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        answer = self.client.open(f"{mount}/__petstore/{path}", method=method, headers=fields, data=content)
        is_json = "json" in answer.content_type and answer.text
        return Reply(
            answer.status_code, Headers(answer.headers), answer.text, json.loads(answer.text) if is_json else None
        )

    def get(self, path: str, **options: Any) -> Any:  # noqa: ANN401  # a JSON value
        """Return what a GET answers with 200."""
        answer = self.ask("GET", path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json

    def call(self, key: str | None, target: str, body: object = None) -> ApiResponse:
        """Let a client of the service send one request."""
        fields = [(b"Content-Type", b"application/json"), (b"Host", HOST.encode())]
        if key is not None:
            fields.append((b"Authorization", f"Bearer {key}".encode()))
        content = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest("GET" if body is None else "POST", target, fields, content)
        answer = self.petstore.host.worlds.handle(request)
        assert not hasattr(answer, "resume"), "not a deferred response"
        return answer
