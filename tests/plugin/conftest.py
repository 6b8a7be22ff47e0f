"""Inner pytest runs. They run in this process unless a test uses xdist."""

from __future__ import annotations

import importlib
import os
import pkgutil
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import petstore_mock

Inner = Callable[..., pytest.RunResult]

# pytester unloads the modules that only an inner run imported. The package would then exist twice.
for module in pkgutil.walk_packages(petstore_mock.__path__, "petstore_mock."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

# A minimal client. The inner tests check the fixture, not the client.
_CLIENT = """
import http.client
import json
from urllib.parse import urlsplit


def call(petstore, method="GET", path="/pets", body=None, key=None):
    parts = urlsplit(petstore.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    headers = {"Authorization": f"Bearer {key or petstore.api_key}", "Content-Type": "application/json"}
    connection.request(method, parts.path + path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content or b"null")
"""

_HEAD = """
import pytest
from client import call
"""

# An inner run loads only the plugins that its source uses. All of them would take a quarter of its time.
_BY_SOURCE = {"hypothesispytest": "@given", "anyio": "anyio", "respx": "respx"}
_UNNEEDED = ("cacheprovider", "pytest_httpserver")

# pytest-asyncio from 0.24 on warns without this setting, and older versions do not know it. nox runs both.
_LOOP_SCOPE = "asyncio_default_fixture_loop_scope"


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Inner:
    """Return a function that runs a test file. ``settings`` are lines of its ``pytest.ini``."""
    # pytest prints longer summaries if it finds CI or BUILD_NUMBER.
    for name in [name for name in os.environ if name.startswith("PETSTORE_") or name in {"CI", "BUILD_NUMBER"}]:
        monkeypatch.delenv(name)
    try:
        pytestconfig.getini(_LOOP_SCOPE)
        knows_loop_scope = True
    except ValueError:
        knows_loop_scope = False

    def run(source: str, *args: str, settings: str = "", **files: Any) -> pytest.RunResult:
        unneeded = [*_UNNEEDED, *(plugin for plugin, word in _BY_SOURCE.items() if word not in source + settings)]
        scope = f"{_LOOP_SCOPE} = function\n" if knows_loop_scope else ""
        pytester.makeini(f"[pytest]\n{scope}{settings}\n")
        pytester.makepyfile(client=_CLIENT, test_inner=_HEAD + textwrap.dedent(source), **files)
        # This suite makes every warning an error, but users have the default filters.
        return pytester.runpytest_inprocess("-Wdefault", *(f"-pno:{plugin}" for plugin in unneeded), *args)

    return run
