"""The clients of Java's own library do what ``docs/reference/clients.md`` says of them."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode, b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock
from tests.live.clients import Answer, FailedError, Send, cells_of, documented, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.slow,  # a Java machine takes a second to start
    pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK is installed"),
]

SOURCE = Path(__file__).with_name("DriveJava.java")


@contextmanager
def talk_to_java(client: str) -> Iterator[Send]:
    with lines_of("java", str(SOURCE), client) as ask:

        def send(method: str, url: str, headers: dict[str, str], value: object) -> Answer:
            more = {} if value is None else {"Content-Type": "application/json"}
            fields = [text for field in {**headers, **more}.items() for text in field]
            body = "-" if value is None else encoded(json.dumps(value))
            status, _, came = ask(" ".join([encoded(method), encoded(url), body, *map(encoded, fields)])).rpartition(
                " "
            )
            if not status:
                raise FailedError(b64decode(came).decode("utf-8"))
            return int(status), json.loads(b64decode(came))

        yield send


def encoded(text: str) -> str:
    return b64encode(text.encode("utf-8")).decode("ascii")


@pytest.mark.parametrize("client", ["HttpClient", "HttpURLConnection"])
def test_java_client_does_what_the_table_says(client: str) -> None:
    with PetStoreMock() as petstore, talk_to_java(client) as send:
        assert cells_of(petstore, send) == documented(f"Java's {client}")
