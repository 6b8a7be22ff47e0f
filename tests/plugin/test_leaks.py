"""Requests of finished tests: named with their owner, and the session fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[..., pytest.RunResult]
    Output = Callable[[pytest.RunResult], str]

# What a leftover thread does, without one.
_LEAK = """
    kept = []

    def test_keeps_its_key(petstore):
        kept.append(petstore.api_key)

    def test_innocent(petstore):
        assert call(petstore, key=kept[0])[0] == 401
        assert len(petstore.journal) == 0
"""
_NAMED = "GET /v1/pets: leaked by test_inner.py::test_keeps_its_key, or a client of wider scope than the test"


def test_a_leak_fails_the_session_and_names_its_owner(inner: Inner, output: Output) -> None:
    result = inner(_LEAK)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert _NAMED in output(result)
    assert "set petstore_api_key" in output(result)


@pytest.mark.parametrize(("mode", "named"), [("warn", True), ("ignore", False)])
def test_a_leak_may_be_told_only_or_ignored(inner: Inner, output: Output, mode: str, named: bool) -> None:
    result = inner(_LEAK, settings=f"petstore_leaks = {mode}")
    assert result.ret == pytest.ExitCode.OK
    assert (_NAMED in output(result)) is named


def test_no_leak_says_nothing(inner: Inner, output: Output) -> None:
    result = inner("def test_it(petstore): call(petstore)")
    assert result.ret == pytest.ExitCode.OK
    assert "finished tests" not in output(result)


def test_many_leaks_are_counted(inner: Inner, output: Output) -> None:
    result = inner(
        """
        kept = []

        @pytest.mark.parametrize("number", range(12))
        def test_keeps(petstore, number):
            kept.append(petstore.api_key)

        def test_leaks(petstore):
            for key in kept:
                call(petstore, key=key)
            call(petstore, path="/pets/1", key=kept[0])
        """
    )
    assert "GET /v1/pets and 1 more: leaked by test_inner.py::test_keeps[0]" in output(result)
    assert "and 2 more tests" in output(result)


def test_a_fixed_key_lets_a_client_of_session_scope_work(inner: Inner) -> None:
    result = inner(
        """
        @pytest.fixture(scope="session")
        def client(petstore):
            return petstore.api_key

        def test_one(client, petstore):
            assert call(petstore, key=client)[0] == 200

        def test_two(client, petstore):
            assert client == "the-key-of-all"
            assert call(petstore, key=client)[0] == 200
        """,
        settings="petstore_api_key = the-key-of-all",
    )
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK


def test_a_wrong_mode_is_a_usage_error(inner: Inner) -> None:
    result = inner(_LEAK, settings="petstore_leaks = maybe")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected one of error, warn, ignore in the setting petstore_leaks; got 'maybe'*"])
