"""What the plugin imports before a test requests the fixture, and that no thread of the fake imports under pytest."""

from __future__ import annotations

import sys

import pytest

from tests.programs import run

_PLUGIN = f"petstore_mock.{'pytest_plugin'}"  # users name it with -p
# A new process, because pytest imports the plugin of this one at its start.
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider")

_SHOWS_MODULES = """
    import sys

    def pytest_unconfigure(config):
        ours = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "petstore_mock"}
        print()
        print("IMPORTED", *ours)
        # pytest adds this name to each module whose assertions it rewrites.
        print("REWRITTEN", *(name for name, module in ours.items() if "@pytest_ar" in vars(module)))
"""


def _after(word: str, text: str) -> set[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(word)]
    return {*line.split()[1:]}


@pytest.mark.seconds
def test_a_run_without_the_fixture_imports_one_small_module_and_rewrites_none(pytester: pytest.Pytester) -> None:
    """Where no bytecode is written, pytest compiles or rewrites each module of a plugin in each run."""
    pytester.makeconftest(_SHOWS_MODULES)
    pytester.makepyfile("def test_it(request): assert request.node.name\n\ndef test_other(): pass")
    printed = run(*_PYTEST, cwd=pytester.path, without=("PETSTORE_",))
    assert _after("IMPORTED", printed) == {"petstore_mock", _PLUGIN, f"{_PLUGIN}.static"}
    assert not _after("REWRITTEN", printed)


# A warning of pytest's is an error here: "Module already imported so cannot be rewritten".
_BEFORE = """
import sys

import petstore_mock

with petstore_mock.PetStoreMock() as petstore:
    for _ in range(2):
        status = pytest_main(["-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider", *sys.argv[1:]])
        assert status == 0, status
"""


@pytest.mark.seconds
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-p", _PLUGIN, "-p", "petstore_mock", "-p", _PLUGIN),
    ],
)
def test_pytest_runs_twice_after_a_mock_was_imported_and_the_plugin_was_named(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile("def test_it(petstore): assert petstore.pets == []")
    pytester.makeconftest(f"pytest_plugins = [{_PLUGIN!r}]")
    script = pytester.path / "before.py"
    script.write_text(_BEFORE.replace("import sys\n", "import sys\n\nfrom pytest import main as pytest_main\n", 1))
    run(sys.executable, str(script), *arguments, cwd=pytester.path, without=("PETSTORE_",))


# Records each import by a thread of the fake. Threads of a client may import what they like.
_RECORDS_IMPORTS = """
    import sys
    import threading

    class Recorder:
        def find_spec(self, name, path=None, target=None):
            thread = threading.current_thread().name
            if thread.startswith("petstore-mock"):
                imported.append(f"{thread}:{name}")
            return None

    imported = []
    sys.meta_path.insert(0, Recorder())

    def pytest_unconfigure(config):
        print()
        print("IMPORTED", *imported)
"""

_CLIENT = """
    import contextlib
    import http.client
    import json
    from urllib.parse import urlsplit

    from petstore_mock import PetStoreMock, checks, connect, faults


    def call(url, key, method="GET", path="/pets", body=None, **fields):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **fields}
        try:
            connection.request(method, parts.path + path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


    def call_in_many_ways(petstore):
        def send(*arguments, **fields):
            return call(petstore.url, petstore.api_key, *arguments, **fields)[0]

        assert send() == 200
        assert send("GET", "/pets?limt=1") == 400
        assert send("GET", "/pets?limit=x") == 400
        assert send("POST", "/pets", '{"name": "Rex", "categoryId": "one", "nme": 1}') == 400
        assert send("POST", "/pets", "{") == 400
        assert send("POST", "/pets", b"\\xff") == 400
        assert send("POST", "/pets", '{"name": "Rex", "categoryId": 1}') == 201
        assert send("GET", "/pets/1", **{"If-Modified-Since": "Wed, 21 Oct 2015 07:28:00 GMT"}) in (200, 304)
        assert send("GET", "/dogs") == 404
        assert send("PURGE", "/pets") == 501
        assert send("GET", "/pets", **{"Authorization": "Basic eA=="}) == 401
        for fault in (503, 429, faults.delay(0.001), faults.reset(), faults.truncate(), faults.malformed_json()):
            petstore.inject(fault, on="listPets", times=1)
            with contextlib.suppress(OSError, http.client.HTTPException):
                send()
        petstore.journal.assert_called("listPets")
        petstore.pets


    class Client:
        def __init__(self, petstore):
            self.petstore = petstore

        def list_pets(self):
            status, content = call(self.petstore.url, self.petstore.api_key)
            if status != 200:
                raise RuntimeError(status)
            return json.loads(content)
"""

_STARTS = {
    "fixture": "def test_it(petstore): call_in_many_ways(petstore)",
    "mock": """
def test_it():
    with PetStoreMock() as petstore:
        call_in_many_ways(petstore)
        petstore.httpserver.expect_request("/v1/store").respond_with_json([1])
        assert call(petstore.url, petstore.api_key, "GET", "/store")[0] == 200
""",
    "check_client": """
def test_it():
    from petstore_mock.stateful import check_client

    with contextlib.suppress(AssertionError):
        check_client(Client, max_examples=3, environment=(), vary=())
""",
    "watched": """
def test_it():
    with contextlib.suppress(AssertionError), PetStoreMock() as petstore:
        client = checks.watched(Client, petstore)
        client.list_pets()
""",
    "connect": """
def test_it():
    with PetStoreMock(control=True) as stub:
        petstore = connect(stub.url)
        call_in_many_ways(petstore)
        root = stub.url.removesuffix("/v1")
        document = json.loads(call(root, "", "GET", "/__petstore/openapi.json")[1])
        for path, methods in document["paths"].items():
            # These two wait.
            if "{" not in path and not path.endswith(("wait", "events")):
                for method in methods.keys() & {"get", "post", "put", "patch"}:
                    call(root, "", method.upper(), path, "{}" if method != "get" else None)
        call(root, "", "PUT", "/__petstore/world", '{"mutant": "unknown"}')
""",
}


@pytest.mark.seconds
@pytest.mark.parametrize("start", _STARTS)
def test_no_thread_of_the_fake_imports_a_module_under_pytest(pytester: pytest.Pytester, start: str) -> None:
    """CPython 3.11 fails if two threads make syntax trees at once, as imports and pytest do (python/cpython#106905)."""
    pytester.makeconftest(_RECORDS_IMPORTS)
    pytester.path.joinpath("test_inner.py").write_text(
        "\n".join([*(line.removeprefix("    ") for line in _CLIENT.splitlines()), "", _STARTS[start]]), encoding="utf-8"
    )
    printed = run(*_PYTEST, "-p", "no:asyncio", cwd=pytester.path, without=("PETSTORE_",))
    assert _after("IMPORTED", printed) == set()
