"""``verify`` finds reported bugs of servers, serializers, caches and drivers, and accuses no correct service."""

from __future__ import annotations

import pytest

from tests.verify.servers import (
    CORRECT_SERVERS,
    IDS_BEYOND_DOUBLES,
    REPORTED,
    ROUNDED,
    SERVERS,
    TWINS,
    read_both_wrongly,
    serving,
)
from tests.verify.services import ENOUGH, ask, broken, changed, nothing


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_mistake_of_a_server_is_one_finding(name: str) -> None:
    clause, _, handle, words = SERVERS[name]
    with serving(handle) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {clause}, verdict
    assert words in broken(verdict)[clause]


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRECT_SERVERS)
def test_correct_server_breaks_no_clause(name: str) -> None:
    with serving(CORRECT_SERVERS[name]) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_reported_bug_is_one_finding(name: str) -> None:
    reported = REPORTED[name]()
    with changed(reported.change, refuses=reported.before) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {reported.clause}, verdict
    assert verdict.stopped is None


def test_ids_that_lose_digits_are_one_finding() -> None:
    with changed(ROUNDED.change, behaviour=IDS_BEYOND_DOUBLES) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {ROUNDED.clause}, verdict


def test_two_mistakes_with_lists_are_two_findings() -> None:
    with changed(nothing, refuses=read_both_wrongly) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.1-limit-counts", "4.1-status-filter"}, verdict
    assert "ignores the query" not in str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_correct_service_near_it_breaks_no_clause(name: str) -> None:
    change, before, behaviour = TWINS[name]()
    with changed(change, refuses=before, behaviour=behaviour) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict
