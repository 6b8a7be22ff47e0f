"""``verify`` finds reported bugs of stores, workers, gateways and serializers, and accuses no correct service."""

from __future__ import annotations

import pytest

from tests.verify.servers import Cache
from tests.verify.services import ENOUGH, ask, broken, changed, nothing
from tests.verify.stacks import REPORTED, TWINS, convert_and_fill_in


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_reported_bug_is_one_finding(name: str) -> None:
    reported = REPORTED[name]()
    with changed(reported.change, refuses=reported.before, behaviour=reported.behaviour) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {reported.clause}, verdict
    assert reported.words in broken(verdict)[reported.clause]
    assert verdict.stopped is None
    assert verdict.requests < 200


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_correct_service_near_it_breaks_no_clause(name: str) -> None:
    change, before, behaviour = TWINS[name]()
    with changed(change, refuses=before, behaviour=behaviour) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


def test_converted_value_hides_no_missing_member() -> None:
    with changed(nothing, refuses=convert_and_fill_in) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.2-category-required", "4.2-category-type"}, verdict


@pytest.mark.parametrize(("lists", "is_cleared"), [(3, False), (9, True)])
def test_cache_that_ignores_the_query_is_named_although_it_expires(lists: int, is_cleared: bool) -> None:
    cache = Cache(lists, by_query=False, is_cleared=is_cleared)
    with changed(cache.change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.1-limit-counts"}, verdict
    assert "ignores the query" in broken(verdict)["4.1-limit-counts"]
