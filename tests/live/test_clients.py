"""Every real client behaves as the table in ``docs/reference/clients.md`` says."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from petstore_mock import PetStoreMock
from tests.live.clients import CLIENTS, Client, FailedError, Response, Send, cells_of, documented, lines_of


@cache
def succeeds(command: tuple[str, ...]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.untraced
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_client_does_what_the_table_says(client: Client) -> None:
    if client.probe and not succeeds(client.probe):
        pytest.skip(f"not installed, or too old: {' '.join(client.probe)} fails")
    with PetStoreMock() as petstore, client.open() as send:
        assert cells_of(petstore, send) == documented(client.name)


@contextmanager
def talk_to_java(client: str) -> Iterator[Send]:
    source = Path(__file__).with_name("DriveJava.java")
    with lines_of("java", str(source), client) as ask:

        def send(method: str, url: str, headers: dict[str, str], value: object) -> Response:
            more = {} if value is None else {"Content-Type": "application/json"}
            fields = [text for field in {**headers, **more}.items() for text in field]
            body = "-" if value is None else encoded(json.dumps(value))
            response = ask(" ".join([encoded(method), encoded(url), body, *map(encoded, fields)]))
            status, _, came = response.rpartition(" ")
            if not status:
                raise FailedError(b64decode(came).decode("utf-8"))
            return int(status), json.loads(b64decode(came))

        yield send


def encoded(text: str) -> str:
    return b64encode(text.encode("utf-8")).decode("ascii")


@pytest.mark.slow  # a JVM takes a second to start
@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK is installed")
@pytest.mark.parametrize("client", ["HttpClient", "HttpURLConnection"])
def test_java_client_does_what_the_table_says(client: str) -> None:
    with PetStoreMock() as petstore, talk_to_java(client) as send:
        assert cells_of(petstore, send) == documented(f"Java's {client}")
