"""The option ``--petstore-remote``: the fixture controls a remote stub, with the same reports and verification."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from petstore_mock import PetStoreMock
from tests.plugin.conftest import Inner


@pytest.fixture
def stub() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True) as stub:
        yield stub
        with urllib.request.urlopen(f"{stub.control_url}worlds") as response:
            assert len(json.load(response)["worlds"]) == 1, "the run leaves no world on the stub"


@pytest.fixture
def remote(inner: Inner, stub: PetStoreMock) -> Inner:
    """Return a function that runs a test file with the remote stub."""

    def run(source: str, *args: str, settings: str = "", **files: str) -> pytest.RunResult:
        return inner(source, f"--petstore-remote={stub.url}", *args, settings=settings, **files)

    return run


_ANY_TESTS = """
    import types
    from hypothesis import given, settings, strategies as st

    kept = []

    @pytest.fixture(scope="session")
    def petstore_options():
        return {"seed": 2, "behaviour": "helpful"}

    @pytest.mark.parametrize("number", range(3))
    def test_each(petstore, number):
        assert len(petstore.pets) == 2
        petstore.seed(name="Rex")
        assert call(petstore)[1] == petstore.pets
        assert len(petstore.journal) == 1
        assert "/w/pytest-" in petstore.url
        assert petstore.url not in kept
        kept.append(petstore.url)

    @pytest.mark.petstore(seed=[{"name": "Rex"}], behaviour="strict", at="2031-01-01")
    def test_mark(petstore):
        assert [pet["name"] for pet in petstore.pets][2:] == ["Rex"]
        petstore.seed()
        petstore.reset()
        assert len(petstore.pets) == 3
        assert petstore.behaviour.paging_headers == "none"
        assert petstore.clock.moment.year == 2031

    @settings(max_examples=5, deadline=None, database=None)
    @given(number=st.integers(0, 3))
    def test_examples(petstore, number):
        assert len(petstore.pets) == 2
        petstore.seed_many(number)
        assert len(call(petstore)[1]) == 2 + number

    @pytest.fixture(scope="class")
    def world(petstore):
        with petstore.fresh() as world:
            yield world

    class TestWider:
        def test_first(self, world):
            call(world, path="/pets?first=1")

        def test_second(self, world):
            call(world, path="/pets?second=1")
"""


@pytest.mark.seconds
@pytest.mark.untraced
@pytest.mark.parametrize("workers", [(), ("-n2", "--dist=loadscope")], ids=["here", "xdist"])
def test_each_test_has_a_world_of_its_own_on_the_stub(
    remote: Inner, stub: PetStoreMock, workers: tuple[str, ...]
) -> None:
    result = remote(_ANY_TESTS, "--petstore-coverage", *workers)
    result.assert_outcomes(passed=7, warnings=2)
    assert result.ret == pytest.ExitCode.OK
    assert f"remote={stub.url} from --petstore-remote" in str(result.stdout)
    assert str(result.stdout).count("ContractWarning: GET /v1/pets?first=1 ") == 1
    assert "listPets 200: 4 tests" in str(result.stdout)
    assert stub.pets == []


def test_unfired_faults_and_violations_fail_a_test_and_the_report_shows_the_journal(remote: Inner) -> None:
    result = remote(
        """
        @pytest.mark.petstore(strict=True)
        def test_strict(petstore):
            call(petstore, "POST", body={"name": "Rex", "categoryId": "1"})

        def test_before_a_reset(petstore):
            petstore.inject(503, times=1)
            petstore.reset()

        def test_fresh(petstore):
            petstore.inject(503, on="createPet", times=1)
            with petstore.fresh(seed=1) as inner:
                call(inner, path="/pets?limit=x")
            assert False

        @pytest.mark.petstore(strict=True)
        def test_expected(petstore):
            with petstore.expect_violation("limit"):
                call(petstore, path="/pets?limit=x")
        """
    )
    result.assert_outcomes(failed=3, passed=1)
    text = str(result.stdout)
    assert "before a reset: inject(server_error(503), times=1) never fired" in text
    assert "also: inject(server_error(503), on='createPet', times=1) never fired" in text
    assert "body.categoryId must be an integer" in text
    assert 'curl -i -X POST -H "Authorization: Bearer $PETSTORE_KEY"' in text
    assert "in a world of fresh():" in text


def test_the_files_of_a_session_are_read_once(remote: Inner, pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", gaps='paging_headers = "link"')
    pytester.makefile(".json", animals='[{"name": "Rex"}]')
    result = remote(
        """
        from pathlib import Path

        @pytest.mark.parametrize("number", range(3))
        def test_it(petstore, number):
            for name in ("gaps.toml", "animals.json"):
                Path(name).unlink(missing_ok=True)
            petstore.reset()
            assert petstore.behaviour.paging_headers == "link"
            assert [pet["name"] for pet in petstore.pets] == ["Rex"]
        """,
        settings="petstore_behaviour = gaps.toml\npetstore_seed = animals.json",
    )
    result.assert_outcomes(passed=3)


def test_a_leak_fails_the_session_and_names_its_owner(remote: Inner) -> None:
    result = remote(
        """
        import types

        kept = []

        def test_keeps_its_address(petstore):
            kept.append(types.SimpleNamespace(url=petstore.url, api_key=petstore.api_key))

        def test_innocent(petstore):
            assert call(kept[0])[0] == 404
            assert len(petstore.journal) == 0
        """
    )
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "GET /v1/pets: leaked by test_inner.py::test_keeps_its_address" in str(result.stdout)


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_client_of_session_scope_works_with_a_fixed_key(inner: Inner, stub: PetStoreMock, is_remote: bool) -> None:
    source = """
        @pytest.fixture(scope="session")
        def address(petstore):
            return petstore.url, petstore.api_key

        @pytest.mark.parametrize("number", range(2))
        def test_it(address, petstore, number):
            assert address == (petstore.url, "the-key-of-all") == (petstore.url, petstore.api_key)
            assert petstore.pets == []
            petstore.seed()
            assert call(petstore)[0] == 200
    """
    options = [f"--petstore-remote={stub.url}"] if is_remote else []
    result = inner(source, *options, settings="petstore_api_key = the-key-of-all")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:1", "expected a stub of"),
        ("http://a/w/mine/v1", "expected the root of a stub"),
    ],
)
def test_a_wrong_address_is_reported_in_one_line(
    inner: Inner, monkeypatch: pytest.MonkeyPatch, address: str, words: str
) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_REMOTE_TOKEN", "a-token-that-nobody-may-see")
    result = inner("def test_it(petstore): pass", settings=f"petstore_remote = {address}")
    result.assert_outcomes(errors=1)
    assert words in str(result.stdout)
    assert f"remote={address} from the setting petstore_remote" in str(result.stdout)
    assert "a-token-that" not in str(result.stdout)
