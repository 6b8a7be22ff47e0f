"""The WSGI application reads target, fields and body from an environ that may deviate from PEP 3333."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from werkzeug.test import Client, TestResponse

from petstore_mock import PetStoreMock
from tests.client import REX

SIZE = 1024 * 1024 + 1


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock()


def get(petstore: PetStoreMock, target: str = "/v1/pets", **options: Any) -> TestResponse:
    headers = {} if "environ_overrides" in options else petstore.headers
    return Client(petstore.app).get(target, headers=headers, **options)


def test_a_query_is_read_once_from_the_environ_or_the_path(petstore: PetStoreMock) -> None:
    for query in ("limit=0", "limit=1&limit=1", "status=lost"):
        assert get(petstore, query_string=query).status_code == 400
        assert petstore.journal.last.target == f"/v1/pets?{query}"
    assert get(petstore, "/v1/pets?limit=3").status_code == 200


def test_path_that_a_client_decoded_as_utf_8_is_served(petstore: PetStoreMock) -> None:
    """PEP 3333 requires Latin-1, but httpx's transport puts any character into the environ."""
    with httpx.Client(transport=httpx.WSGITransport(app=petstore.app), headers=petstore.headers) as client:
        assert client.get("http://fake.test/v1/pets/\u2713").status_code == 404
    assert petstore.journal.last.path == "/v1/pets/\u2713"


def test_spaces_around_a_field_value_are_dropped_and_the_version_is_kept(petstore: PetStoreMock) -> None:
    """RFC 9110 §5.5 excludes the spaces. A server strips them, but a client in process may not."""
    for value in (" Bearer {}", "Bearer {} ", "\tBearer {}\t"):
        environ = {"HTTP_AUTHORIZATION": value.format(petstore.api_key), "SERVER_PROTOCOL": "HTTP/1.0"}
        assert get(petstore, environ_overrides=environ).status_code == 200
    assert petstore.journal.last.request.version == "HTTP/1.0"


class Input(io.BytesIO):
    """The input of an application; it counts the bytes that the application reads."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


ENDS = {"wsgi.input_terminated": True}  # set by servers that decode chunked bodies
# The variables for the body; then the input, the status, the condition, and the number of bytes read.
BODIES: list[tuple[dict[str, Any], bytes, int, str | None, int]] = [
    ({"CONTENT_LENGTH": "29"}, REX + b"the next request of the connection", 201, None, 29),
    (ENDS, REX, 201, None, 29),
    ({}, REX, 400, "malformed_json", 0),
    *(
        ({"CONTENT_LENGTH": length}, REX, 400, "malformed_request", 0)
        for length in ("-1", "1e1", "+29", "29, 29", "\N{ARABIC-INDIC DIGIT TWO}", "x" * 500)
    ),
    ({"CONTENT_LENGTH": "40"}, REX, 400, "malformed_request", 29),
    ({"CONTENT_LENGTH": str(2 * SIZE)}, b" " * (2 * SIZE), 413, "body_too_large", 0),
    (ENDS, b" " * (2 * SIZE), 413, "body_too_large", SIZE),
]


@pytest.mark.parametrize(("variables", "content", "status", "condition", "count"), BODIES, ids=range(len(BODIES)))
def test_the_environ_decides_the_length_of_the_body(
    petstore: PetStoreMock, variables: dict[str, Any], content: bytes, status: int, condition: str | None, count: int
) -> None:
    stream = Input(content)
    statuses: list[str] = []

    def start_response(line: str, *_: object) -> Callable[[bytes], None]:
        statuses.append(line)
        return lambda _data: None

    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/pets", "CONTENT_TYPE": "application/json", **variables}
    environ |= {"HTTP_AUTHORIZATION": f"Bearer {petstore.api_key}", "wsgi.input": stream}
    b"".join(petstore.app(environ, start_response))
    assert statuses[0].startswith(f"{status} ")
    assert stream.count == count
    found = petstore.journal.last.condition
    assert (found and found.name, len(petstore.pets)) == (condition, status == 201)


class Raw(io.RawIOBase):
    """The input of a server that decodes chunks, like werkzeug's. ``read(n)`` allocates n bytes at once."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._content.readinto(buffer)


def test_a_chunked_body_of_any_size_is_read_piece_by_piece(petstore: PetStoreMock) -> None:
    petstore.configure(body_limit="none")
    body = b" " * SIZE + REX
    overrides = {"wsgi.input": Raw(body), "wsgi.input_terminated": True, "CONTENT_LENGTH": ""}
    reply = Client(petstore.app).post(
        "/v1/pets",
        headers={**petstore.headers, "Content-Type": "application/json"},
        environ_overrides=overrides,
    )
    assert (reply.status_code, petstore.journal.last.body_size) == (201, len(body))
