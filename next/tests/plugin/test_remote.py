"""``--petstore-remote``: the fixture over a stub that runs elsewhere, with the same reports and the same judgement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Inner = Callable[..., pytest.RunResult]
    Output = Callable[[pytest.RunResult], str]


@pytest.fixture
def stub() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True) as stub:
        yield stub


@pytest.fixture
def remote(inner: Inner, stub: PetStoreMock) -> Inner:
    """Run a file of tests over a stub that runs outside of the run."""

    def run(source: str, *args: str, settings: str = "", **files: str) -> pytest.RunResult:
        return inner(source, f"--petstore-remote={stub.url}", *args, settings=settings, **files)

    return run


def test_each_test_has_a_world_of_its_own_on_the_stub(remote: Inner, stub: PetStoreMock, output: Output) -> None:
    result = remote(
        """
        seen = []

        @pytest.mark.parametrize("number", range(3))
        def test_it(petstore, number):
            assert petstore.pets == []
            petstore.seed(name="Rex")
            assert call(petstore)[1] == petstore.pets
            assert len(petstore.journal) == 1
            assert "/w/pytest-" in petstore.url
            seen.append(petstore.url)

        def test_they_are_apart(petstore):
            assert len(set(seen)) == 3
        """
    )
    result.assert_outcomes(passed=4)
    assert result.ret == pytest.ExitCode.OK
    assert f"remote={stub.url} from --petstore-remote" in output(result)
    assert stub.pets == []
    assert stub.host.worlds.named == {}, "nothing is left behind"


def test_a_failure_shows_the_journal(remote: Inner, output: Output) -> None:
    result = remote(
        """
        def test_it(petstore):
            petstore.inject(503, on="createPet", times=1)
            call(petstore, "POST", body={"name": "Rex", "categoryId": "1"})
            assert False

        def test_nothing_came(petstore):
            assert False
        """
    )
    result.assert_outcomes(failed=2)
    text = output(result)
    assert "petstore journal" in text
    assert "also: inject(server_error(503), on='createPet', times=1) never fired: 1 request got no further" in text
    assert 'body.categoryId must be an integer, got "1" (string)' in text
    assert 'curl -i -X POST -H "Authorization: Bearer $PETSTORE_KEY"' in text
    assert "no requests came to http://127.0.0.1" in text


def test_what_never_fired_and_strict_violations_fail_the_test(remote: Inner, output: Output) -> None:
    result = remote(
        """
        def test_unfired(petstore):
            petstore.inject(503, times=1)

        def test_before_a_reset(petstore):
            petstore.inject(503, times=1)
            petstore.reset()

        @pytest.mark.petstore(strict=True)
        def test_strict(petstore):
            call(petstore, path="/pets?limit=x")

        @pytest.mark.petstore(strict=True)
        def test_expected(petstore):
            with petstore.expect_violation("limit"):
                call(petstore, path="/pets?limit=x")
        """
    )
    result.assert_outcomes(failed=3, passed=1)
    text = output(result)
    assert "VerificationError: inject(server_error(503), times=1) never fired" in text
    assert "before a reset(): inject(server_error(503), times=1) never fired" in text
    assert "ContractViolationError: GET /v1/pets?limit=x broke the contract" in text


def test_violations_and_the_deprecated_operation_are_warned_of(remote: Inner, output: Output) -> None:
    result = remote(
        """
        def test_it(petstore):
            petstore.seed(id=1)
            call(petstore, path="/pets?limit=x")
            call(petstore, path="/pets/1")
            petstore.reset()
            call(petstore, path="/pets?limit=y")
        """
    )
    result.assert_outcomes(passed=1, warnings=3)
    text = output(result)
    assert "ContractWarning: GET /v1/pets?limit=x broke the contract" in text
    assert "ContractWarning: GET /v1/pets?limit=y broke the contract" in text
    assert "DeprecatedOperationWarning" in text


def test_the_starting_state_comes_from_options_and_marks(remote: Inner) -> None:
    remote(
        """
        import datetime

        @pytest.fixture(scope="session")
        def petstore_options():
            return {"seed": 2, "behaviour": "helpful", "at": datetime.date(2030, 1, 1)}

        def test_session(petstore):
            assert len(petstore.pets) == 2
            assert petstore.behaviour.paging_headers == "total_count"
            assert petstore.clock.moment.year == 2030

        @pytest.mark.petstore(seed=[{"name": "Rex"}], behaviour="strict", at="2031-01-01")
        def test_mark(petstore):
            assert [pet["name"] for pet in petstore.pets][2:] == ["Rex"]
            petstore.seed()
            petstore.reset()
            assert len(petstore.pets) == 3
            assert petstore.behaviour.paging_headers == "none"
            assert petstore.clock.moment.year == 2031

        @pytest.mark.petstore_each("list_order")
        def test_each(petstore):
            pass
        """
    ).assert_outcomes(passed=2 + 5)


def test_leaks_are_named_with_their_owner_and_fail_the_session(remote: Inner, output: Output) -> None:
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
    assert "GET /v1/pets: leaked by test_inner.py::test_keeps_its_address" in output(result)


def test_a_fixed_key_keeps_one_address_for_clients_of_the_session(remote: Inner) -> None:
    result = remote(
        """
        @pytest.fixture(scope="session")
        def address(petstore):
            return petstore.url, petstore.api_key

        @pytest.mark.parametrize("number", range(2))
        def test_it(address, petstore, number):
            assert address == (petstore.url, petstore.api_key)
            assert petstore.pets == []
            petstore.seed()
            assert call(petstore)[0] == 200
        """,
        settings="petstore_api_key = a-key-for-the-session",
    )
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK


def test_exploration_and_coverage_work(remote: Inner, output: Output) -> None:
    result = remote(
        """
        def test_it(petstore):
            petstore.seed(name="B")
            petstore.seed(name="A")
            assert [pet["name"] for pet in call(petstore)[1]] == ["B", "A"]
        """,
        "--petstore-explore=60",
        "--petstore-coverage",
    )
    text = output(result)
    assert "leans on list_order" in text
    assert "200 partial page" in text
    assert "createPet 400" in text.partition("Never shown:")[2]


def test_each_example_of_hypothesis_has_a_world_anew(remote: Inner, output: Output) -> None:
    result = remote(
        """
        from hypothesis import given, settings, strategies as st

        @settings(max_examples=5, deadline=None, database=None)
        @given(number=st.integers(0, 3))
        def test_it(petstore, number):
            assert petstore.pets == []
            petstore.seed_many(number)
            assert len(call(petstore)[1]) == number

        @settings(max_examples=5, deadline=None, database=None)
        @given(number=st.integers(0, 3))
        def test_unfired(petstore, number):
            petstore.inject(503, times=1)
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "never fired" in output(result)


def test_a_world_of_fresh_is_shown_and_answered_for(remote: Inner, output: Output) -> None:
    result = remote(
        """
        def test_it(petstore):
            with petstore.fresh(seed=1) as inner:
                call(inner, path="/pets?limit=x")
            assert False
        """
    )
    assert "in a world of fresh():" in output(result)
    assert "ContractWarning: GET /v1/pets?limit=x" in output(result)


@pytest.mark.untraced
def test_a_world_of_wider_scope_outlives_its_first_test(remote: Inner, stub: PetStoreMock, output: Output) -> None:
    result = remote(
        """
        @pytest.fixture(scope="class")
        def world(petstore):
            with petstore.fresh() as world:
                yield world

        class TestWorld:
            def test_first(self, world):
                call(world, path="/pets?first=1")

            def test_second(self, world):
                call(world, path="/pets?second=1")
        """
    )
    result.assert_outcomes(passed=2, warnings=2)
    text = output(result)
    assert text.count("ContractWarning: GET /v1/pets?first=1 ") == 1
    assert text.count("ContractWarning: GET /v1/pets?second=1 ") == 1
    assert stub.host.worlds.named == {}, "nothing is left behind"


@pytest.mark.untraced
def test_workers_of_xdist_share_one_stub(remote: Inner, stub: PetStoreMock) -> None:
    pytest.importorskip("xdist")
    result = remote(
        """
        @pytest.mark.parametrize("number", range(8))
        def test_it(petstore, number):
            petstore.seed_many(number)
            assert len(call(petstore)[1]) == number
            assert len(petstore.journal) == 1
        """,
        "-n2",
    )
    result.assert_outcomes(passed=8)
    assert result.ret == pytest.ExitCode.OK
    assert stub.host.worlds.named == {}, "nothing is left behind"


def test_a_har_file_is_written(remote: Inner, pytester: pytest.Pytester) -> None:
    remote("def test_it(petstore):\n    call(petstore)\n    assert False", "--petstore-har=har")
    folder: Path = pytester.path / "har"
    (found,) = folder.glob("*.har")
    (entry,) = json.loads(found.read_text())["log"]["entries"]
    assert "/w/pytest-" in entry["request"]["url"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def test_it(petstore): petstore.app", "expected the process of the stub for petstore.app"),
        ("def test_it(petstore): petstore.httpserver", "expected the process of the stub for petstore.httpserver"),
        ("def test_it(petstore): petstore.inject(503, when=bool)", "expected where= for a stub in another process"),
        (
            """
            @pytest.fixture(scope="session")
            def petstore_options():
                return {"port": 8080}

            def test_it(petstore): pass
            """,
            "expected options of a world elsewhere, from api_key",
        ),
    ],
)
def test_what_can_t_work_says_so(remote: Inner, output: Output, source: str, told: str) -> None:
    result = remote(source)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert told in output(result)


def test_nobody_there_is_told_in_a_line(inner: Inner, output: Output) -> None:
    with PetStoreMock() as gone:
        url = gone.url
    result = inner("def test_it(petstore): pass", settings=f"petstore_remote = {url}")
    result.assert_outcomes(errors=1)
    assert f"petstore: expected a stub of petstore-mock at {url.removesuffix('/v1')}" in output(result)
    assert "remote comes from the setting petstore_remote" in output(result)


def test_the_address_of_one_world_is_refused(inner: Inner, output: Output, stub: PetStoreMock) -> None:
    url = f"{stub.url.removesuffix('/v1')}/w/mine/v1"
    result = inner("def test_it(petstore): pass", f"--petstore-remote={url}")
    assert "expected the root of a stub, since each test makes a world of its own" in output(result)


def test_address_and_token_come_from_the_environment(
    inner: Inner, output: Output, stub: PetStoreMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_REMOTE", stub.url)
    monkeypatch.setenv("PETSTORE_MOCK_REMOTE_TOKEN", "a-token-that-nobody-may-see")
    result = inner('def test_it(petstore): assert "/w/pytest-" in petstore.url')
    result.assert_outcomes(passed=1)
    assert "a-token-that-nobody-may-see" not in output(result)
    assert "remote_token=***-see" in output(result)


def test_a_stub_that_speaks_tls_is_trusted_by_its_authority(inner: Inner, output: Output) -> None:
    with PetStoreMock(tls=True, control=True) as stub:
        test = """
            from urllib.request import Request, urlopen

            def test_it(petstore):
                asked = Request(f"{petstore.url}/pets", headers=petstore.headers)
                urlopen(asked, context=petstore.tls.client_context()).close()
                assert [entry.status for entry in petstore.journal] == [200]

            def test_handshakes_are_nobodys(petstore):
                petstore.inject(__import__("petstore_mock").faults.tls.expired())
            """
        settings = f"petstore_remote = {stub.url}\npetstore_remote_ca = {stub.tls.ca_path}"
        result = inner(test, settings=settings)
        result.assert_outcomes(passed=1, failed=1)
        assert "expected the default world, the one at the root, for tls.expired()" in output(result)
        assert "which is a bug" not in output(result)
        result = inner(test, settings=f"petstore_remote = {stub.url}\npetstore_remote_ca = none.pem")
        assert "expected a PEM file with the certificate of the stub's authority" in output(result)
        assert "remote_ca comes from the setting petstore_remote_ca" in output(result)
