"""A test may replace the functions for files: the fake still serves its own files."""

from __future__ import annotations

import builtins
import io
import os
import pathlib
from typing import NoReturn

import pytest

from petstore_mock import PetStoreMock
from tests.client import JSON, Client


def refuse(*arguments: object, **_: object) -> NoReturn:
    raise FileNotFoundError(f"the file system of the test has no {arguments}")


def test_console_and_documents_need_no_file_of_the_tests_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under pyfakefs: the mock exists, then the test replaces the file system."""
    with PetStoreMock(control=True) as petstore, Client(petstore) as client:
        for module, names in ((builtins, ["open"]), (io, ["open"]), (os, ["listdir", "scandir", "open", "stat"])):
            for name in names:
                monkeypatch.setattr(module, name, refuse)
        for name in ("open", "iterdir", "glob", "read_bytes", "read_text"):
            monkeypatch.setattr(pathlib.Path, name, refuse)
        statuses = {
            target: client.bare("GET", f"/__petstore/{target}").status
            for target in ("", "console.css", "openapi.json", "service/openapi.json")
        }
        refused = client.bare("POST", "/v1/pets", [*petstore.headers.items(), JSON], b"{}").status
        monkeypatch.undo()
    assert statuses == dict.fromkeys(statuses, 200)
    assert refused == 400
