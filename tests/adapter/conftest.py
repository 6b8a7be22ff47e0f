"""The command line in this process, and small adapters in Python, each of which breaks the protocol in one way."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command, command

__all__ = ["command"]

# Code for such an adapter, whose client loses a field.
LOSES_STATUS = """
    OPERATIONS = ["createPet", "getPet"]
    def call(request, former=call):
        result = former(request)
        for pet in result if isinstance(result, list) else [result]:
            pet.pop("status", None)
        return result
"""

# An adapter without a kit. A test appends code that replaces one of its functions.
BASE = """
import http.client, json, os, signal, subprocess, sys, time, urllib.parse

OPERATIONS = ["listPets", "createPet", "getPet"]
CONCURRENT = False
clients = {}

def write(message):
    line(json.dumps(message) + "\\n")

def line(text):
    sys.stdout.write(text)
    sys.stdout.flush()

def hello(request):
    write({"hello": 1, "operations": OPERATIONS, "concurrent": CONCURRENT, "name": "bare"})

def open_client(request):
    clients[request["client"]] = request
    return None

def call(request):
    return send(clients[request["client"]], request["operation"], request["arguments"])

def close(request):
    return None

class Failed(Exception):
    def __init__(self, **error):
        self.error = error

def send(client, operation, given):
    url = urllib.parse.urlsplit(client["url"])
    path, body, success = f"{url.path}/pets", None, 200
    headers = {"Authorization": f"Bearer {client['api_key']}", "Connection": "close"}
    method = "GET"
    if operation == "createPet":
        method, body, success = "POST", json.dumps(given), 201
        headers["Content-Type"] = "application/json"
    elif operation == "getPet":
        path += f"/{given['petId']}"
    elif given:
        path += "?" + urllib.parse.urlencode(given)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=client["timeout"])
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read()
    except TimeoutError as error:
        raise Failed(kind="timeout", message=str(error), type="TimeoutError")
    except (OSError, http.client.HTTPException) as error:
        raise Failed(kind="transport", message=str(error), type=type(error).__name__)
    finally:
        connection.close()
    if response.status != success:
        told = response.headers["Retry-After"]  # the protocol ignores unknown members
        raise Failed(kind="status", status=response.status, message=str(response.status), type="StatusError", told=told)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(kind="protocol", message=str(error), type="ValueError")

def answer(request):
    try:
        reply = {"ok": {"open": open_client, "call": call, "close": close}[request["do"]](request)}
    except Failed as error:
        reply = {"error": error.error}
    write({"id": request["id"], **reply})

def end():
    pass
"""
RUN = """
for text in sys.stdin:
    request = json.loads(text)
    (hello if "hello" in request else answer)(request)
end()
"""
Adapter = Callable[[str], list[str]]


@pytest.fixture
def adapter(tmp_path: Path) -> Adapter:
    """Return a function that writes an adapter with some code of its own, and returns the command that starts it."""

    def write(code: str = "") -> list[str]:
        path = tmp_path / "adapter.py"
        path.write_text("".join([BASE, textwrap.dedent(code), RUN]), encoding="utf-8")
        return [sys.executable, "-S", "-E", str(path)]

    return write


Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(command: Command, tmp_path: Path) -> Check:
    """Return a function that runs ``petstore-mock check`` with options and the command of an adapter."""

    def run(adapter: list[str], *options: str) -> tuple[int, str, str]:
        return command("check", "--scenario", str(tmp_path / "petstore-check.json"), *options, "--", *adapter)

    return run
