"""The fixture ``petstore``: one object, and a world for each test and each example."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from tests.plugin.conftest import Inner


_EVERY_KIND_OF_TEST = """
    import unittest
    import anyio
    from hypothesis import given, settings, strategies as st

    objects = set()
    examples = []
    numbers = []

    def use(petstore):
        objects.add(id(petstore))
        assert petstore.pets == []
        assert len(petstore.journal) == 0
        pet = petstore.seed()
        assert call(petstore) == (200, [pet])

    @pytest.fixture
    def helper(petstore):
        return petstore

    def test_function(petstore):
        use(petstore)

    def test_through_another_fixture(helper):
        use(helper)

    def test_by_name(request):
        use(request.getfixturevalue("petstore"))

    class TestClass:
        @pytest.fixture(autouse=True)
        def before(self, petstore):
            self.petstore = petstore

        def setup_method(self):
            self.before_setup = True

        def test_method(self, petstore):
            use(petstore)

        def test_method_without_argument(self):
            use(self.petstore)

        @given(st.integers())
        @settings(max_examples=5, database=None)
        def test_given_method(self, petstore, number):
            examples.append(petstore.api_key)
            use(petstore)

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def before(self, request):
            self.petstore = request.getfixturevalue("petstore")

        def test_case(self):
            use(self.petstore)

        def test_case_again(self):
            use(self.petstore)

    @pytest.mark.usefixtures("petstore")
    class OtherCase(unittest.TestCase):
        def test_marked(self):
            pass

    @given(number=st.integers())
    @settings(max_examples=5, database=None)
    def test_given(petstore, number):
        examples.append(petstore.api_key)
        use(petstore)

    @pytest.mark.parametrize("parameter", [1, 2])
    @given(number=st.integers())
    @settings(max_examples=5, database=None)
    def test_given_and_parametrised(petstore, parameter, number):
        numbers.append(int(petstore.api_key.rpartition("-")[2]))
        examples.append(petstore.api_key)
        use(petstore)

    @pytest.mark.asyncio
    async def test_asyncio(petstore):
        await anyio.to_thread.run_sync(use, petstore)

    @pytest.mark.asyncio
    @given(number=st.integers())
    @settings(max_examples=5, database=None)
    async def test_asyncio_given(petstore, number):
        examples.append(petstore.api_key)
        await anyio.to_thread.run_sync(use, petstore)

    @pytest.mark.anyio
    async def test_anyio(petstore):
        await anyio.to_thread.run_sync(use, petstore)

    @pytest.mark.anyio
    @given(number=st.integers())
    @settings(max_examples=5, database=None, deadline=None)
    async def test_anyio_given(petstore, number):
        examples.append(petstore.api_key)
        await anyio.to_thread.run_sync(use, petstore)

    def test_it_was_one_object_and_every_example_had_a_world():
        assert len(objects) == 1
        assert len(examples) >= 30
        assert len(set(examples)) == len(examples)

    def test_an_example_begins_one_world_and_not_several():
        steps = [after - before for before, after in zip(numbers, numbers[1:])]
        assert len(numbers) == 10
        assert sorted(steps) == [1] * 8 + [2]  # between the two tests there is the one of the setup
"""


def test_every_kind_of_test_has_a_world_of_its_own(inner: Inner) -> None:
    """Functions, classes, unittest, Hypothesis, asyncio and anyio on both backends; no health check."""
    result = inner(_EVERY_KIND_OF_TEST)
    result.assert_outcomes(passed=20)


def test_a_run_without_the_fixture_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\n\ndef test_it():\n    print(*sys.modules)")
    arguments = [sys.executable, "-m", "pytest", "-s", "-p", "petstore_mock"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
    loaded = set(done.stdout.split())
    assert f"petstore_mock.{'pytest_plugin'}" in loaded
    assert not loaded & {"werkzeug", "jsonschema", "hypothesis", "httptools", "pytest_httpserver"}
    rooms = tuple(f"petstore_mock.{room}" for room in ("transport", "interface"))
    assert not {name for name in loaded if name.startswith(rooms)}
    if sys.version_info < (3, 14):  # whose pdb, which pytest imports, brings asyncio
        assert "asyncio" not in loaded


_LATE = """
    def ask(request):
        petstore = request.getfixturevalue("petstore")
        assert call(petstore) == (200, [])
        petstore.inject(404, on="getPet", times=1)
        return petstore
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("ask(request)", ["on='getPet', times=1) never fired"]),
        ("ask(request); assert not 'reached'", ["assert not 'reached'", "on='getPet', times=1) never fired"]),
    ],
)
def test_a_body_that_is_the_first_of_all_to_ask_is_judged(inner: Inner, body: str, words: list[str]) -> None:
    """The parts of the plugin are loaded by then, in the midst of that test; the next one has a world of its own."""
    result = inner(f"""{_LATE}
    def test_before():
        pass

    def test_asks(request):
        {body}

    def test_asks_again(request):
        petstore = request.getfixturevalue("petstore")
        assert petstore.journal.total == 0
    """)
    result.assert_outcomes(passed=2, failed=1)
    text = str(result.stdout)
    assert all(word in text for word in words)
    assert "1  GET /v1/pets  200" in text


@pytest.mark.parametrize("stops", ["petstore.stop()", "with petstore: assert call(petstore) == (200, [])"])
def test_a_test_that_stops_the_fake_leaves_the_next_one_listening(inner: Inner, stops: str) -> None:
    source = f"""
        urls = set()

        def test_before(petstore):
            urls.add(petstore.url)

        def test_stops(petstore):
            {stops}
            with pytest.raises(Exception, match="expected a mock that listens"):
                petstore.url

        def test_after(petstore):
            assert call(petstore) == (200, [])
            assert urls == {{petstore.url}}
    """
    inner(source).assert_outcomes(passed=3)


def test_fixtures_tell_in_five_lines_what_there_is(inner: Inner) -> None:
    """Each name in them is one of the mock's: what is renamed is renamed there, too."""
    shown = inner("", "--fixtures").stdout.str()
    told = re.search(r"^petstore \[session scope\].*\n((?:    .*\n|\n)+)", shown, re.MULTILINE)
    assert told
    lines = [line.strip() for line in told[1].splitlines() if line.strip()]
    assert len(lines) == 5
    names = {
        name for line in lines[1:] for name in re.findall(r"(?<=[ :])([a-z]\w+)(?=[(,.;])", line.partition(":")[2])
    }
    missing = {name for name in names - {"faults", "process"} if not hasattr(PetStoreMock, name)}
    assert not missing
    assert {"url", "seed", "inject", "journal", "pets"} <= names


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a socket of the stopped loop
def test_a_listener_whose_thread_died_is_begun_anew_with_a_sentence(inner: Inner) -> None:
    """A client of a test may stop every event loop that it finds."""
    source = """
        import asyncio, gc, time

        def test_kills(petstore):
            call(petstore)
            for loop in [one for one in gc.get_objects() if isinstance(one, asyncio.AbstractEventLoop)]:
                if loop.is_running():
                    loop.call_soon_threadsafe(loop.stop)
                    while loop.is_running():
                        time.sleep(0.001)
            time.sleep(0.1)
            assert not "alive"

        def test_next(petstore):
            assert call(petstore) == (200, [])
    """
    result = inner(source)
    result.assert_outcomes(passed=1, failed=1)
    text = str(result.stdout)
    assert "the listener has ended: RuntimeError" in text
    assert "It ended before test_inner.py::test_next, and was begun anew: RuntimeError" in text
    gc.collect()


@pytest.mark.parametrize("where", ["", "--petstore-remote={}"])
def test_a_fixture_that_starts_in_a_patched_environment_keeps_proxies_away_from_the_next_test(
    inner: Inner, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    source = """
        import os
        from unittest import mock

        def test_first(request):
            with mock.patch.dict(os.environ):
                request.getfixturevalue("petstore")
                assert os.environ["NO_PROXY"] == "a.example,127.0.0.1"
        assert os.environ["NO_PROXY"] == "a.example"

        def test_second(petstore):
            assert os.environ["NO_PROXY"] == "a.example,127.0.0.1"
    """
    with PetStoreMock(control=True) as stub:
        monkeypatch.setenv("NO_PROXY", "a.example")
        monkeypatch.setenv("no_proxy", "")
        inner(source, *filter(None, [where.format(stub.url)])).assert_outcomes(passed=2)
    # Mocks of other tests in this process may listen still.
    assert os.environ["NO_PROXY"] in {"a.example", "a.example,127.0.0.1"}
