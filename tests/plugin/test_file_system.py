"""A test may replace the file system (pyfakefs). The fake still has its own files, and shows none of the test's."""

from __future__ import annotations

import sys

import pytest

from tests.plugin.conftest import Inner
from tests.programs import run

# A new process, because this one has imported the whole package. Users import PetStoreMock at the top of a file, and
# no module of the control door is imported before the first test runs under the fake file system.
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio")

_CALL = """
    import http.client
    import json
    from urllib.parse import urlsplit


    def call(petstore, method="GET", path="/v1/pets", body=None):
        parts = urlsplit(petstore.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
        headers = {"Authorization": f"Bearer {petstore.api_key}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content
"""


def passes(pytester: pytest.Pytester, source: str, *, count: int) -> None:
    """Run a file of ``count`` tests in a new process. Every test must pass."""
    pytest.importorskip("pyfakefs", reason="not installed: it is in the group 'test'")
    pytester.makepyfile(call=_CALL, test_inner=source)
    printed = run(*_PYTEST, cwd=pytester.path, without=("PETSTORE_",))
    assert f"{count} passed" in printed, printed


@pytest.mark.seconds
def test_a_mock_judges_requests_and_describes_itself(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
        from call import call
        from petstore_mock import PetStoreMock

        def test_it(fs):
            with PetStoreMock() as petstore:
                assert call(petstore)[0] == 200
                assert call(petstore, "POST", body='{"id": 1}')[0] == 400
                assert "Pet" in petstore.openapi()["components"]["schemas"]
        """,
        count=1,
    )


@pytest.mark.seconds
def test_the_fixture_judges_requests(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
        from call import call

        def test_it(fs, petstore):
            assert call(petstore)[0] == 200
            assert call(petstore, "POST", body='{"id": 1}')[0] == 400
        """,
        count=1,
    )


@pytest.mark.seconds
def test_the_console_serves_its_own_files_and_none_of_the_test(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
        from pathlib import Path

        import pytest
        from call import call
        import petstore_mock
        from petstore_mock import PetStoreMock

        PAGE = Path(petstore_mock.__file__).parent / "control" / "page"

        def ask(petstore, name):
            return call(petstore, path=f"/__petstore/{name}")

        def test_the_first_door_opens_under_the_fake_file_system(fs):
            fs.create_file(str(PAGE / "index.html"), contents="of the test")
            fs.create_file(str(PAGE / "planted.html"), contents="of the test")
            with PetStoreMock(control=True) as petstore:
                status, page = ask(petstore, "")
                assert status == 200
                assert b"<script" in page
                assert b"of the test" not in page
                assert ask(petstore, "console.css")[0] == 200
                assert ask(petstore, "planted.html")[0] == 404

        def test_a_later_door_opens_without_it():
            with PetStoreMock(control=True) as petstore:
                assert ask(petstore, "")[0] == 200
                assert ask(petstore, "planted.html")[0] == 404
        """,
        count=2,
    )


@pytest.mark.seconds
def test_a_seed_file_of_the_test_is_read_when_it_is_given(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
        from petstore_mock import PetStoreMock

        def test_it(fs):
            fs.create_file("/animals.json", contents='[{"name": "Rex"}]')
            with PetStoreMock(seed="/animals.json") as petstore:
                fs.remove("/animals.json")
                petstore.reset()
                assert [pet["name"] for pet in petstore.pets] == ["Rex"]
        """,
        count=1,
    )


@pytest.mark.seconds
def test_the_files_of_a_marker_are_read_once_before_the_test(pytester: pytest.Pytester) -> None:
    pytester.makefile(".json", animals='[{"name": "Rex"}]')
    pytester.makefile(".toml", gaps='list_order = "id_descending"')
    passes(
        pytester,
        """
        from pathlib import Path

        import pytest
        from hypothesis import HealthCheck, given, settings, strategies

        HERE = Path(__file__).parent
        marked = pytest.mark.petstore(seed=str(HERE / "animals.json"), behaviour=str(HERE / "gaps.toml"))

        def names(petstore):
            return [pet["name"] for pet in petstore.pets]

        @marked
        def test_reset(fs, petstore):
            petstore.reset()
            assert names(petstore) == ["Rex"]

        @marked
        @settings(max_examples=3, suppress_health_check=[*HealthCheck], database=None)
        @given(strategies.integers())
        def test_examples(fs, petstore, number):
            assert names(petstore) == ["Rex"]
        """,
        count=2,
    )


def test_an_error_in_the_seed_file_of_a_marker_names_the_file(inner: Inner, pytester: pytest.Pytester) -> None:
    pytester.makefile(".json", animals='[{"nme": "Rex"}]')
    result = inner(
        """
        @pytest.mark.petstore(seed="animals.json")
        def test_it(petstore): pass
        """
    )
    result.stdout.fnmatch_lines(["*animals.json: animal 0: *nme*"])
