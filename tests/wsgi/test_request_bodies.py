"""How much of ``wsgi.input`` is a request's body (PEP 3333), whatever the server says of it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable

REX = b'{"name":"Rex","categoryId":1}'


class Input(io.BytesIO):
    """What a server gives an application; it counts what was asked of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def post(petstore: PetStoreMock, stream: io.BytesIO, **environ: Any) -> tuple[str, Any]:  # noqa: ANN401
    """Call the app as a server does that says no more of the body than ``environ``."""
    whole = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/v1/pets",
        "HTTP_AUTHORIZATION": f"Bearer {petstore.api_key}",
        "CONTENT_TYPE": "application/json",
        "wsgi.input": stream,
        **environ,
    }
    statuses: list[str] = []

    def start_response(status: str, _fields: object, _info: object = None) -> Callable[[bytes], None]:
        statuses.append(status)
        return lambda _data: None

    body = b"".join(petstore.app(whole, start_response))
    return statuses[0], json.loads(body)


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock()


def test_body_is_as_long_as_its_content_length(petstore: PetStoreMock) -> None:
    stream = Input(REX + b"the next request of the connection")
    assert post(petstore, stream, CONTENT_LENGTH=str(len(REX)))[0] == "201 Created"
    assert stream.taken == len(REX)


def test_input_that_ends_by_itself_is_read_to_its_end(petstore: PetStoreMock) -> None:
    """As servers say that decode chunked bodies."""
    assert post(petstore, Input(REX), **{"wsgi.input_terminated": True})[0] == "201 Created"


def test_input_without_a_length_is_not_touched(petstore: PetStoreMock) -> None:
    stream = Input(REX)
    status, error = post(petstore, stream)
    assert status == "400 Bad Request"
    assert "body must be a JSON object and is empty" in error["message"]
    assert stream.taken == 0


@pytest.mark.parametrize("length", ["-1", "1e1", "+29", "29, 29", "\N{ARABIC-INDIC DIGIT TWO}", "x" * 500])
def test_length_that_is_no_number_is_refused(petstore: PetStoreMock, length: str) -> None:
    status, error = post(petstore, Input(REX), CONTENT_LENGTH=length)
    assert status == "400 Bad Request"
    assert f"Content-Length came as {length[:40]!r}" in error["message"]
    assert petstore.pets == []
    assert petstore.journal.last.condition is not None
    assert petstore.journal.last.condition.name == "malformed_request"


def test_body_that_ends_early_is_refused(petstore: PetStoreMock) -> None:
    status, error = post(petstore, Input(REX), CONTENT_LENGTH="40")
    assert status == "400 Bad Request"
    assert "the body ended after 29 of 40 bytes" in error["message"]
    assert petstore.pets == []


@pytest.mark.parametrize("declared", [True, False])
def test_body_over_the_limit_is_not_read_whole(petstore: PetStoreMock, declared: bool) -> None:
    size = 1024 * 1024 + 1
    stream = Input(b" " * (2 * size))
    environ = {"CONTENT_LENGTH": str(2 * size)} if declared else {"wsgi.input_terminated": True}
    status, error = post(petstore, stream, **environ)
    assert status.startswith("413 ")  # its phrase differs from one Python to another
    assert error["status"] == 413
    assert stream.taken == (0 if declared else size)
