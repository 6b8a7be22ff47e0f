"""Inner pytest runs, in this process unless xdist is asked for."""

from __future__ import annotations

import importlib
import os
import pkgutil
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

import petstore_mock

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[..., pytest.RunResult]

# pytester forgets the modules that an inner run is the first to import, and the package would keep two of each.
for module in pkgutil.walk_packages(petstore_mock.__path__, "petstore_mock."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

# A client as small as can be; the inner tests are about the fixture.
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

# An inner run has only those of these plugins that it asks for: they take a quarter of its time, and a worker a second.
_BY_SOURCE = {"hypothesispytest": "@given", "anyio": "anyio", "respx": "respx"}
_UNNEEDED = ("cacheprovider", "pytest_httpserver", "html", "html_fixtures", "metadata", "allure_pytest")

# Unset, pytest-asyncio warns from 0.24 on, and before that it knows no such setting: nox runs this suite with both.
_LOOP_SCOPE = "asyncio_default_fixture_loop_scope"


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Inner:
    """Run a file of tests; ``settings`` are lines of its ``pytest.ini``."""
    for name in [name for name in os.environ if name.startswith("PETSTORE_")]:
        monkeypatch.delenv(name)
    try:
        pytestconfig.getini(_LOOP_SCOPE)
        knows_loop_scope = True  # set in this run or not
    except ValueError:
        knows_loop_scope = False

    def run(source: str, *args: str, settings: str = "", **files: Any) -> pytest.RunResult:  # noqa: ANN401  # as makepyfile
        unneeded = [*_UNNEEDED, *(plugin for plugin, word in _BY_SOURCE.items() if word not in source + settings)]
        scope = f"{_LOOP_SCOPE} = function\n" if knows_loop_scope else ""
        pytester.makeini(f"[pytest]\n{scope}{settings}\n")
        pytester.makepyfile(client=_CLIENT, test_inner=_HEAD + textwrap.dedent(source), **files)
        # This suite makes every warning an error; what a user sees is the default.
        return pytester.runpytest_inprocess("-Wdefault", *(f"-pno:{plugin}" for plugin in unneeded), *args)

    return run
