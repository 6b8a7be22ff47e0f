"""``verify`` finds reported bugs of frameworks, gateways and mock servers, and accuses no correct service near them."""

from __future__ import annotations

import pytest

from tests.verify.frameworks import REPORTED, TWINS
from tests.verify.services import ENOUGH, ask, broken, changed


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_reported_bug_is_one_finding(name: str) -> None:
    reported = REPORTED[name]
    with changed(reported.change, refuses=reported.before) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {reported.clause}, verdict
    assert verdict.stopped is None


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_correct_service_near_it_breaks_no_clause(name: str) -> None:
    change, before = TWINS[name]
    with changed(change, refuses=before) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict
