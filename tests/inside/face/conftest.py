"""The object that a test author holds, at home and from another process: each test here runs over both."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Answer = tuple[int, Any]


@pytest.fixture(scope="session")
def stub() -> Iterator[PetStoreMock]:
    """Give a stub with a control door, for all worlds elsewhere."""
    with PetStoreMock(control=True) as stub:
        yield stub


@pytest.fixture(params=["home", "remote"])
def petstore(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give the object, by either carrier."""
    if request.param == "home":
        with PetStoreMock() as petstore:
            yield petstore
        return
    stub = request.getfixturevalue("stub")
    with connect(stub.url) as remote:
        yield remote


@pytest.fixture
def ask() -> Callable[..., Answer]:
    """Give a client of the service: status and body, or the exception's name for a lost answer."""

    def ask(  # a request has these parts
        petstore: Any,  # noqa: ANN401
        method: str = "GET",
        path: str = "/pets",
        body: object = None,
        *,
        key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        parts = urlsplit(petstore.url)
        assert parts.hostname is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
        fields = {
            "Authorization": f"Bearer {key or petstore.api_key}",
            "Content-Type": "application/json",
            **(headers or {}),
        }
        content = body if isinstance(body, bytes | None) else json.dumps(body)
        try:
            connection.request(method, parts.path + path, content, fields)
            response = connection.getresponse()
            answer = response.read()
        except (ConnectionError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()
        return response.status, json.loads(answer or b"null")

    return ask
