"""``verify`` reports each mistake of a foreign service once, and no mistake where the interface leaves a choice."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from petstore_mock import PetStoreMock
from tests.verify.services import (
    DELAYS,
    ENOUGH,
    IS_ERROR,
    ONE_CAUSE,
    RULES,
    Turn,
    ask,
    broken,
    changed,
    fails_with,
    has_query,
    in_pets,
    nothing,
    on,
    other_errors,
    result_of,
    where,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_CAUSE)
def test_one_cause_is_one_finding(name: str) -> None:
    clause, change = ONE_CAUSE[name]
    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
        assert petstore.api_key not in str(verdict)
    assert broken(verdict).keys() == {clause}, verdict
    assert re.search(r"\b(None|True|False)\b|Error\(", str(verdict)) is None
    (found,) = verdict.broken
    assert ": expected " in found.detail
    assert "; got " in found.detail
    assert ("Location: https://example.com/login" in found.detail) is ("redirected" in name)
    assert found.curl.startswith("curl -i ")


@pytest.mark.untraced
@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_the_interface_does_not_show_breaks_no_clause(name: str) -> None:
    with changed(nothing, refuses=RULES[name]) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


def test_verify_tries_the_simplest_animal_if_the_service_refuses_every_plain_one() -> None:
    with changed(nothing, refuses=RULES["names have only letters"]) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    (note,) = verdict.notes
    assert note.startswith("the service refused every plain animal; verify tried the simplest: POST /pets -> 201 ")
    assert [name for _, name in verdict.left] == ["Rex"]
    assert result_of(verdict, "2-status-sold") == "not_observable"
    assert result_of(verdict, "4.2-kept") == "holds"


@pytest.mark.untraced
@pytest.mark.parametrize("name", DELAYS)
def test_delayed_visibility_breaks_no_clause(name: str) -> None:
    with changed(DELAYS[name]()) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


def test_verify_reads_a_created_animal_again_until_it_appears() -> None:
    hide = DELAYS["one request"]()

    def change(turn: Turn) -> None:
        hide(turn)
        ONE_CAUSE["a get trims a created name"][1](turn)

    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.3-same-animal"}
    assert verdict.gaps["visibility"].choice == "delayed"


def test_verify_reads_each_created_animal_once_if_none_ever_appears() -> None:
    with PetStoreMock(seed=30, mutant="create-forgotten") as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
        assert broken(verdict).keys() == {"4.2-kept"}
        assert len(petstore.journal.for_operation("getPet")) < 60


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("rule", "options", "clause", "reason"),
    [
        ("", {"allow_create": 0}, "4.2-kept", "needs a created animal"),
        ("", {"allow_create": 0}, "7-400-error", "creating animals needs --allow-create"),
        ("", {"allow_create": 3}, "2-name-text", "the limit --allow-create 3 is reached"),
        ("", {"max_requests": 5}, "4.3-get", "the limit --max-requests 5 is reached"),
        ("names have only letters", {}, "4.2-name-type", "the service refused every plain animal"),
        ("a key may not list animals", {}, "2-id-unique", "no response shows it, for example GET /pets -> 403 "),
        ("a key may not read animals", {}, "4.3-get", "no response shows it, for example GET /pets/"),
    ],
)
def test_a_clause_that_is_not_observable_names_the_missing_condition(
    rule: str, options: dict[str, int], clause: str, reason: str
) -> None:
    with changed(nothing, refuses=RULES.get(rule)) as (petstore, url):
        verdict = ask(url, petstore.api_key, **{"allow_create": ENOUGH, **options})
    (found,) = [one for one in verdict.clauses if one.id == clause]
    assert found.result == "not_observable"
    assert found.detail.startswith(reason)


def test_without_allow_create_verify_reads_odd_animals_of_the_service() -> None:
    with changed(ONE_CAUSE["a get has no emoji"][1]) as (petstore, url):
        petstore.seed_many([{"id": 900, "name": "Rex \U0001f600 the Third of Brno"}, {"id": 901, "name": "Rex"}])
        verdict = ask(url, petstore.api_key)
    assert broken(verdict).keys() == {"4.3-same-animal"}


def test_a_5xx_to_an_odd_request_is_one_finding_and_the_run_goes_on() -> None:
    is_odd: Callable[[Turn], bool] = lambda turn: turn.status == 400 and turn.query in {"limit=0", "limit=101"}  # noqa: E731
    with changed(where(is_odd, fails_with(500))) as (petstore, url):
        verdict = ask(url, petstore.api_key)
    assert (verdict.exit_code, verdict.stopped) == (1, None)
    assert broken(verdict).keys() == {"4.1-list-never-fails"}
    assert "GET /pets?limit=0: expected a status below 500; got 500" in broken(verdict)["4.1-list-never-fails"]


def test_unknown_error_codes_match_no_alternative_and_one_short_page_decides_page_fill() -> None:
    def change(turn: Turn) -> None:
        if turn.status >= 400:
            turn.document["code"] = f"E{turn.status}"
        where(has_query("limit=4"), lambda turn: turn.document.pop())(turn)

    with changed(change) as (petstore, url):
        gaps = ask(url, petstore.api_key).gaps
    assert (gaps["error_codes"].choice, gaps["error_codes"].kind) == (None, "neither")
    assert (gaps["page_fill"].choice, gaps["page_fill"].kind) == ("short", "learned")


def null_where_omitted(turn: Turn) -> None:
    for pet in turn.pets if turn.name == "create" else ():
        others = {name: pet.pop(name) for name in [*pet]}
        pet.update({"status": None, **others})


def test_a_choice_that_the_gap_register_does_not_have_is_reported_with_its_response() -> None:
    with changed(null_where_omitted) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    finding = verdict.gaps["status_when_omitted"]
    assert (finding.choice, finding.kind) == (None, "neither")
    assert '"status": null' in finding.evidence


def test_the_report_starts_with_the_most_serious_findings_and_their_details() -> None:
    def change(turn: Turn) -> None:
        where(IS_ERROR, other_errors)(turn)
        where(on("get", 200), in_pets("name", len))(turn)
        if turn.name == "list" and turn.status == 401:
            turn.respond(200, [])

    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    lines = str(verdict).splitlines()
    findings = [line.split()[1].rstrip(":") for line in lines if line.startswith("BROKEN")]
    assert findings == sorted(findings, key=lambda clause: "54127".index(clause[0]))
    assert len(findings) == len(verdict.broken) > 2
    assert lines[1].startswith("BROKEN")
    for clause in verdict.broken:
        at = next(
            number for number, line in enumerate(lines) if line.startswith("BROKEN") and f" {clause.id}: " in line
        )
        text = " ".join(line.strip().removesuffix(" \\") for line in lines[at:])
        assert " ".join(clause.detail.split()) in " ".join(text.split())
        assert clause.curl in text
    assert max(map(len, lines)) <= 100
    assert lines[-1].endswith(" requests")
