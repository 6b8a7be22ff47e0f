"""Another carrier for the contract suite: Prism's validation proxy in front of the fake.

Prism holds every request and every answer against our OpenAPI document and tells in ``sl-violations`` what it finds. It
writes bodies anew, so the answer that a test sees is the one that the fake sent, from its journal.
"""

from __future__ import annotations

import atexit
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock import PetStoreMock
from tests.client import Client, Response
from tests.peers.tools import node_tool, openapi_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

__all__ = ["PrismClient"]

PATIENCE: Final = 30  # seconds until Prism answers; a second or two on an idle machine
HOST: Final = "127.0.0.1"
BASE_PATH: Final = "/v1"
LARGEST_EXACT: Final = 2**53 - 1  # of the integers that a double holds


class PrismClient(Client):
    """A client of a new fake that has a Prism of its own: Prism forwards to one fixed port."""

    def __init__(self, stack: ExitStack, **options: Any) -> None:  # noqa: ANN401  # those of PetStoreMock
        proxy = _idle.pop() if _idle else _proxy()
        stack.callback(_idle.append, proxy)
        fake_port, prism_port = proxy
        self.petstore = stack.enter_context(PetStoreMock(**{**options, "port": fake_port}))
        self.over = "prism"
        self._mount = ""
        self._carrier = Prism(self.petstore, prism_port)


# The ports that a running Prism forwards to, and its own; of those whose fake has ended.
_idle: list[tuple[int, int]] = []


def _proxy() -> tuple[int, int]:
    """Start Prism; return the port that it forwards to, and its own."""
    fake_port, prism_port = _free_port(), _free_port()
    folder = tempfile.mkdtemp(prefix="prism-")
    atexit.register(shutil.rmtree, folder)  # what is registered first comes last, when Prism has ended
    document = openapi_document(Path(folder))
    command = [node_tool("prism"), "proxy", str(document), f"http://{HOST}:{fake_port}{BASE_PATH}"]
    process = subprocess.Popen([*command, "--port", str(prism_port), "--host", HOST], stdout=subprocess.DEVNULL)
    atexit.register(process.wait, PATIENCE)
    atexit.register(process.terminate)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((HOST, prism_port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "Prism has ended"
            assert time.monotonic() < deadline, "Prism does not listen"
            time.sleep(0.05)  # between two questions, not for luck
        else:
            return fake_port, prism_port


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Prism:
    """Sends through Prism, and fails when it objects to what the fake did."""

    def __init__(self, petstore: PetStoreMock, port: int) -> None:
        self._petstore = petstore
        self._port = port

    def send(self, method: str, target: str, fields: Sequence[tuple[str, str]], body: bytes | None) -> Response:
        _skip_what_prism_cannot_carry(method, target, body)
        before = len(self._petstore.journal)
        connection = http.client.HTTPConnection(HOST, self._port, timeout=PATIENCE)
        try:
            connection.putrequest(method, target.removeprefix(BASE_PATH), skip_accept_encoding=True)
            for name, value in fields:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
        journal = self._petstore.journal
        assert len(journal) == before + 1, f"Prism answered {response.status} by itself"
        entry = journal[-1]
        assert response.status == entry.status
        _skip_what_is_read_anew(entry.response_body)
        if entry.fault is None:
            _check_violations(json.loads(response.getheader("sl-violations") or "[]"), response.status)
        return Response(entry.status, tuple(entry.response_fields), entry.response_body)

    def close(self) -> None:
        """Nothing is held."""


def _skip_what_prism_cannot_carry(method: str, target: str, body: bytes | None) -> None:
    if method not in {"GET", "POST"}:
        pytest.skip("Prism knows the methods of the document only")
    if not target.startswith(f"{BASE_PATH}/"):
        pytest.skip("Prism forwards what lies below the base address")
    if body is not None:
        _skip_what_is_read_anew(body)


def _skip_what_is_read_anew(body: bytes) -> None:
    """Prism reads bodies and writes them anew, so that some of them change on their way."""
    try:
        value = json.loads(body, parse_int=_exact)
    except ValueError:
        pytest.skip("Prism's language reads integers as doubles, and can't read what is no JSON")
    if not isinstance(value, (dict, list)):
        pytest.skip("Prism forwards objects and arrays only")


def _exact(text: str) -> int:
    if abs(int(text)) > LARGEST_EXACT:
        raise ValueError
    return int(text)


def _check_violations(found: list[dict[str, Any]], status: int) -> None:
    """The fake's answer must please Prism; and what Prism refuses of a request, the fake must have refused as well."""
    of_answer = [one for one in found if one["location"][:1] == ["response"]]
    assert of_answer == []
    if status < 400:
        assert found == []
