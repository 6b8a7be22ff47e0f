"""``verify`` finds the bugs of public reports, one finding each, and accuses no correct service near them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.verify import frameworks, layers, servers, stacks
from tests.verify.frameworks import Reported
from tests.verify.servers import CORRECT_SERVERS, SERVERS, Cache, read_both_wrongly, serving
from tests.verify.services import ENOUGH, Turn, ask, broken, changed, nothing
from tests.verify.stacks import convert_and_fill_in

REPORTED: dict[str, Callable[[], Reported]] = {
    **{name: reported._replace for name, reported in frameworks.REPORTED.items()},
    **servers.REPORTED,
    **stacks.REPORTED,
    **layers.REPORTED,
}
# Each failure costs a run four more requests.
FAILING_OFTEN = {"a refused key is 500", "a Turkish locale is 500"}
# What changes the response, what sees the request before, and perhaps the behaviour of the fake.
TWINS: dict[str, Callable[[], tuple[Any, ...]]] = {
    **{name: partial(tuple, twin) for name, twin in {**frameworks.TWINS, **layers.TWINS}.items()},
    **servers.TWINS,
    **stacks.TWINS,
}
ALL_SERVERS = SERVERS | layers.SERVERS
ALL_CORRECT_SERVERS = CORRECT_SERVERS | layers.CORRECT_SERVERS


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_reported_bug_is_one_finding(name: str) -> None:
    reported = REPORTED[name]()
    with changed(reported.change, refuses=reported.before, behaviour=reported.behaviour) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {reported.clause}, verdict
    assert reported.words in broken(verdict)[reported.clause]
    assert verdict.stopped is None
    assert verdict.requests < 200 or name in FAILING_OFTEN


@pytest.mark.slow
def test_failure_for_wrong_requests_hides_no_failure_for_unusual_ones() -> None:
    for_nul = REPORTED["U+0000 is 500"]().before
    for_infinity = REPORTED["an infinite number is 500"]().before
    assert for_nul is not None
    assert for_infinity is not None
    with changed(nothing, refuses=lambda turn: for_nul(turn) or for_infinity(turn)) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"2-name-nul", "4.2-category-range"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_SERVERS)
def test_mistake_of_a_server_is_one_finding(name: str) -> None:
    clause, _, handle, words = ALL_SERVERS[name]
    with serving(handle) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {clause}, verdict
    assert words in broken(verdict)[clause]


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_correct_service_near_it_breaks_no_clause(name: str) -> None:
    change, before, *behaviour = TWINS[name]()
    with changed(change, refuses=before, behaviour=next(iter(behaviour), None)) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_CORRECT_SERVERS)
def test_correct_server_breaks_no_clause(name: str) -> None:
    with serving(ALL_CORRECT_SERVERS[name]) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


@pytest.mark.parametrize(
    ("before", "clauses"),
    [
        (convert_and_fill_in, {"4.2-category-required", "4.2-category-type"}),
        (read_both_wrongly, {"4.1-limit-counts", "4.1-status-filter"}),
    ],
)
def test_two_mistakes_are_two_findings(before: Callable[[Turn], None], clauses: set[str]) -> None:
    with changed(nothing, refuses=before) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == clauses, verdict
    assert "ignores the query" not in str(verdict)


@pytest.mark.parametrize(("lists", "is_cleared"), [(3, False), (9, True)])
def test_cache_that_ignores_the_query_is_named_although_it_expires(lists: int, is_cleared: bool) -> None:
    cache = Cache(lists, by_query=False, is_cleared=is_cleared)
    with changed(cache.change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.1-limit-counts"}, verdict
    assert "ignores the query" in broken(verdict)["4.1-limit-counts"]


def test_bytes_beyond_utf8_are_shown_without_the_letters_before_them() -> None:
    """The letters may be a part of the key, which no search for the whole key finds."""

    def echo_key(turn: Turn) -> None:
        if turn.status == 200:
            turn.body = f'[{{"name": "{keys[0]}'.encode() + b'\xff"}]'

    keys: list[str] = []
    with changed(echo_key) as (petstore, url):
        keys.append(petstore.api_key)
        verdict = ask(url, petstore.api_key)
    detail = broken(verdict)["1-json-body"]
    assert r"unlike `\xff`" in detail
    assert petstore.api_key[-4:] not in detail
