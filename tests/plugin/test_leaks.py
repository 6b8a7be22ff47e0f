"""Requests of finished tests: the summary names their owner, and the session fails."""

from __future__ import annotations

import re

import pytest

from tests.plugin.conftest import Inner

# Simulates the request of a leftover thread.
_LEAK = """
    kept = []

    def test_keeps_its_key(petstore):
        kept.append(petstore.api_key)

    def test_innocent(petstore):
        assert call(petstore, key=kept[0])[0] == 401
        assert len(petstore.journal) == 0
"""

_NAMED = "GET /v1/pets: leaked by test_inner.py::test_keeps_its_key. If its client has a wider scope, set"


@pytest.mark.parametrize(("mode", "code", "named"), [("error", 1, True), ("warn", 0, True), ("ignore", 0, False)])
def test_a_leak_fails_the_session_and_names_its_owner_unless_set_otherwise(
    inner: Inner, mode: str, code: int, named: bool
) -> None:
    result = inner(_LEAK, settings="" if mode == "error" else f"petstore_leaks = {mode}")
    result.assert_outcomes(passed=2)
    assert result.ret == code
    assert (_NAMED in str(result.stdout)) is named
    assert ("set petstore_api_key" in str(result.stdout)) is named


_WIDER = """
    @pytest.fixture(scope="module")
    def key(petstore):
        return petstore.api_key

    def test_first(key, petstore):
        assert call(petstore, key=key)[0] == 200

    def test_second(key, petstore):
        status, body = call(petstore, key=key)
        assert status == 200, body["message"]

    def test_third(key, petstore):
        call(petstore)
        assert [call(petstore, path=path, key=key)[0] for path in ("/pets?limit=1", "/pets/1")] == [200, 200]

    def test_without_the_client(petstore):
        assert petstore.pets
"""


def test_the_report_of_a_test_that_failed_by_a_leak_shows_the_leak(inner: Inner) -> None:
    result = inner(_WIDER)
    result.assert_outcomes(passed=1, failed=3)
    whose = "test_inner.py::test_first, which has ended"
    advice = "; a client of wider scope needs a fixed key: set petstore_api_key"
    assert "The API key is not valid: it was issued to test_inner.py::test_first, which has ended" in str(result.stdout)
    result.stdout.re_match_lines(
        [
            "-+ petstore journal -+",
            "no requests",
            re.escape(f"GET /v1/pets (401) belongs to {whose}{advice}"),
            "-+ petstore journal -+",
            "1  GET /v1/pets  200 .*",
            re.escape(f"GET /v1/pets?limit=1 (401) belongs to {whose}{advice}"),
            re.escape(f"GET /v1/pets/1 (401) belongs to {whose}{advice}"),
            "-+ petstore journal -+",
            "no request arrived at .*",
        ]
    )
    assert str(result.stdout).count(" (401) belongs to ") == 3, "each request is in only one report"
    assert "leaked by test_inner.py::test_first" in str(result.stdout)
