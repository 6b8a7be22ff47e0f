"""The fixture ``petstore``: one object for the session, and a world for each test and each example."""

from __future__ import annotations

import os
import re
import socket

import pytest

from petstore_mock import PetStoreMock
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
        assert sorted(steps) == [1] * 8 + [2]  # the setup of the second test begins one world as well
"""


def test_every_kind_of_test_has_a_world_of_its_own(inner: Inner) -> None:
    """Covers functions, classes, unittest, Hypothesis, asyncio, and anyio on both backends."""
    result = inner(_EVERY_KIND_OF_TEST)
    result.assert_outcomes(passed=20)


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
def test_a_test_whose_body_first_requests_the_fixture_is_verified(inner: Inner, body: str, words: list[str]) -> None:
    """The fixture starts in the middle of this test. The next test has its own world."""
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
def test_the_fake_listens_again_after_a_test_has_stopped_it(inner: Inner, stops: str) -> None:
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


def test_fixtures_option_shows_five_lines_with_names_that_exist(inner: Inner) -> None:
    shown = inner("", "--fixtures").stdout.str()
    found = re.search(r"^petstore \[session scope\].*\n((?:    .*\n|\n)+)", shown, re.MULTILINE)
    assert found
    lines = [line.strip() for line in found[1].splitlines() if line.strip()]
    assert len(lines) == 5
    names = {
        name for line in lines[1:] for name in re.findall(r"(?<=[ :])([a-z]\w+)(?=[(,.;])", line.partition(":")[2])
    }
    missing = {name for name in names - {"faults", "process"} if not hasattr(PetStoreMock, name)}
    assert not missing
    assert {"url", "seed", "inject", "journal", "pets"} <= names


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_listener_that_died_is_started_again_and_reported(inner: Inner) -> None:
    """Some tests stop every event loop that they find."""
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
    assert "the listener died: RuntimeError" in text
    assert "The listener died before test_inner.py::test_next and restarted: RuntimeError" in text


@pytest.mark.parametrize("where", ["", "--petstore-remote={}"])
def test_parametrised_options_set_the_fixture_up_again_on_its_port(inner: Inner, where: str) -> None:
    source = """
        @pytest.fixture(scope="session", params=[1, 2])
        def petstore_options(request):
            return {"seed": request.param}

        def test_it(petstore, petstore_options):
            assert len(call(petstore)[1]) == petstore_options["seed"]
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with PetStoreMock(control=True) as stub:
        result = inner(source, where.format(stub.url)) if where else inner(source, settings=f"petstore_port = {port}")
        result.assert_outcomes(passed=2)


@pytest.mark.parametrize("where", ["", "--petstore-remote={}"])
def test_the_next_test_has_the_variable_no_proxy_if_the_fixture_started_in_a_patched_environment(
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
    # Mocks of other tests in this process may still listen.
    assert os.environ["NO_PROXY"] in {"a.example", "a.example,127.0.0.1"}
