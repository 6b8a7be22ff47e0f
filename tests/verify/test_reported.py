"""``verify`` finds what services did wrong according to public reports, and accuses no correct service near them."""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Callable
from inspect import signature
from itertools import count
from urllib.parse import unquote_plus

import pytest

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.verify import verify
from tests.verify.services import (
    ENOUGH,
    REPORTED,
    TWINS,
    Turn,
    ask,
    broken,
    changed,
    has_query,
    in_pets,
    nothing,
    on,
    result_of,
    status_in,
    validate_first,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_reported_mistake_is_one_finding(name: str) -> None:
    clause, change, _ = REPORTED[name]
    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {clause}, verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_correct_twin_breaks_no_clause(name: str) -> None:
    change, refuses = TWINS[name]
    with changed(change, refuses=refuses) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (broken(verdict), verdict.exit_code) == ({}, 0), verdict


def test_service_that_validates_before_it_looks_at_the_key_is_found() -> None:
    """Report: https://github.com/TheCacophonyProject/cacophony-api/issues/128"""
    with changed(nothing, refuses=validate_first) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"5-missing-key-create"}


@pytest.mark.parametrize(
    ("mutant", "words"), [("any-case-of-key", "{key in another case}"), ("start-of-key", "{key}x")]
)
def test_key_that_is_nearly_right_shows_its_change_and_not_the_key(mutant: str, words: str) -> None:
    """Report: https://github.com/WP-API/OAuth1/issues/189"""
    with PetStoreMock(seed=30, mutant=mutant, api_key="Key-That-Ends-With-Goldfinch") as petstore:
        verdict = ask(petstore.url, petstore.api_key)
    (found,) = verdict.broken
    assert found.id == "5-exact-key"
    assert f'-H "Authorization: Bearer {words}"' in found.curl
    assert "Goldfinch" not in str(verdict)


def test_all_probes_fit_the_default_number_of_requests() -> None:
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    assert verdict.requests < signature(verify).parameters["max_requests"].default
    assert verdict.stopped is None


def test_short_pages_are_told_as_the_gap_and_not_as_a_breach() -> None:
    with changed(TWINS["pages are short"][0]) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert verdict.gaps["page_fill"].choice == "short"
    assert result_of(verdict, "4.2-listed") != "broken"


def test_list_without_animals_that_lists_before_and_after_have_is_a_short_page() -> None:
    """Lists go to several replicas, and one of them never gets the writes."""
    lists = count()

    def drop_created(turn: Turn) -> None:
        old = [pet for pet in turn.pets if pet["id"] <= 30]
        if has_query("limit=100")(turn) and len(old) < len(turn.pets) and next(lists) == 1:
            turn.document = old

    with changed(drop_created) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (verdict.gaps["page_fill"].choice, broken(verdict)) == ("short", {})


def test_create_that_adds_two_animals_is_found() -> None:
    """Proxies sent a POST to a second server after a failure of the first (nginx before 1.9.13)."""
    petstores: list[PetStoreMock] = []

    def add_again(turn: Turn) -> None:
        if on("create", 201)(turn):
            petstores[0].seed(name=turn.document["name"], categoryId=turn.document["categoryId"])

    with changed(add_again) as (petstore, url):
        petstores.append(petstore)
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.2-listed"}
    assert "expected one animal for each create; the animals [31, 32] share a name" in broken(verdict)["4.2-listed"]


def send_instead(turn: Turn, body: bytes) -> None:
    turn.environ["wsgi.input"], turn.environ["CONTENT_LENGTH"] = io.BytesIO(body), str(len(body))


def read_leniently(turn: Turn) -> None:
    """Gson reads names without quotes by default."""
    body = turn.environ["wsgi.input"].read()
    send_instead(turn, re.sub(rb"([{,] *)([a-zA-Z]+):", rb'\1"\2":', body))


def read_32_bits(turn: Turn) -> None:
    path, slash, last = turn.environ["PATH_INFO"].rpartition("/")
    if last.isdecimal():
        turn.environ["REQUEST_URI"] = f"{path}{slash}{int(last) % 2**32}"


@pytest.mark.parametrize(("clause", "read"), [("4.2-body-json", read_leniently), ("4.3-asked-for", read_32_bits)])
def test_request_that_a_service_reads_too_leniently_is_found(clause: str, read: Callable[[Turn], None]) -> None:
    with changed(nothing, refuses=read) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {clause}


def test_list_that_is_xml_unless_the_client_asks_for_json_is_found() -> None:
    """Spring writes XML if its module is there, and the client takes any type."""

    def write_xml(turn: Turn) -> None:
        if turn.status == 200 and turn.environ["HTTP_ACCEPT"] != "application/json":
            turn.media_type, turn.body = "application/xml", b"<pets/>"

    with changed(write_xml) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"1-json-body"}
    assert "Accept: */*" in broken(verdict)["1-json-body"]


def test_list_that_is_refused_to_a_client_that_takes_any_type_is_found() -> None:
    def refuse(turn: Turn) -> int | None:
        return 406 if turn.environ["HTTP_ACCEPT"] == "*/*" else None

    with changed(nothing, refuses=refuse) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.1-list"}


def test_two_runs_with_the_same_labels_find_no_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labels of a day have one of 10,000 numbers."""
    monkeypatch.setattr(secrets, "randbelow", lambda _: 47)
    with changed(nothing) as (petstore, url):
        verdicts = [ask(url, petstore.api_key, allow_create=ENOUGH) for _ in range(2)]
    assert [broken(verdict) for verdict in verdicts] == [{}, {}]


def test_filter_that_loses_created_animals_is_no_short_page() -> None:
    def lose(turn: Turn) -> None:
        if has_query("status=sold")(turn):
            turn.document = [pet for pet in turn.document if pet["id"] <= 30]

    with changed(lose) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert (verdict.gaps["page_fill"].choice, result_of(verdict, "4.2-listed")) == ("full", "holds")


def test_text_that_is_decoded_once_more_is_found() -> None:
    with changed(in_pets("name", unquote_plus)) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"2-name-percent"}
    assert "not decoded as a part of a URL" in broken(verdict)["2-name-percent"]


def test_redirection_without_an_address_has_none_in_the_report() -> None:
    with changed(lambda turn: turn.respond(304) if has_query("status=sold")(turn) else None) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert "got 304" in broken(verdict)["4.1-list"]
    assert "Location" not in broken(verdict)["4.1-list"]


def test_created_animal_whose_response_was_lost_is_noted_if_it_was_kept() -> None:
    with changed(lambda turn: turn.refuse(500) if on("create", 201)(turn) and turn.document["id"] == 33 else None) as (
        petstore,
        url,
    ):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert any("the service kept its animal" in note for note in verdict.notes), verdict.notes


@pytest.mark.parametrize(
    ("name", "value", "shown", "is_masked"),
    [
        ("X-Tenant", "pets", "pets", False),
        ("X-Tenant", "tenant-4711", "tenant-4711", False),
        ("X-Gateway-Key", "pets", "***", False),
        ("X-Auth-Type", "application", "***", False),
        ("X-Auth-Type", "application/json", "***", False),
        ("X-Gateway-Key", "tenant-4711", "***", True),
        ("X-Named", "tenant-4711", "***", True),
        ("X-Named", "Basic tenant-4711", "***", True),
        ("Cookie", "tenant-4711", "***", True),
    ],
)
def test_value_of_a_header_is_masked_if_it_is_a_secret(name: str, value: str, shown: str, is_masked: bool) -> None:
    def change(turn: Turn) -> None:
        if turn.name == "get" and turn.status == 200:
            turn.document["name"] = ["application/json of tenant-4711"]

    secret = [name] if name == "X-Named" else []
    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, headers={name: value}, secret_headers=secret)
    (found,) = verdict.broken
    assert f"-H '{name}: {shown}'" in found.curl
    assert re.search(r"/v1/pets/\d+$", found.curl)
    assert "GET /pets/" in found.detail
    assert ('"name": ["application/json of ***"]' in found.detail) is is_masked
    assert ('"name": ["application/json of tenant-4711"]' in found.detail) is not is_masked


def test_learned_file_holds_no_value_of_an_animal() -> None:
    with PetStoreMock(seed=[{"name": "Secret Rex", "categoryId": 1_977_001_977}] * 30) as petstore:
        text = ask(petstore.url, petstore.api_key, allow_create=ENOUGH).to_toml()
    assert "Secret" not in text
    assert "1977001977" not in text
    assert '[{"id": int, "name": str' in text


def test_learned_file_lists_what_the_fake_cannot_play_and_shows_no_value() -> None:
    def change(turn: Turn) -> None:
        for pet in turn.pets if turn.name == "create" else ():
            pet.setdefault("status", None)
        if turn.status == 400:
            turn.status = 422
            turn.document["message"] = "Secret Rex is taken"

    behaviour = Behaviour(location_header="present")
    with changed(change, behaviour=behaviour) as (petstore, url):
        text = ask(url, petstore.api_key, allow_create=ENOUGH).to_toml()
    _, _, unplayable = text.partition("# The fake can't play what follows")
    unplayable, _, unlearned = unplayable.partition("# These gaps were not learned")
    assert re.search(r'^# status_when_omitted: a choice that .*"status": null', unplayable, re.MULTILINE)
    assert "# clause 4.2-name-required: " in unplayable
    assert "/how-to/verify.html" in unplayable
    assert "status_when_omitted" not in unlearned
    assert 'location_header = "present"' in text
    assert "Secret" not in text
    assert re.search(r"/pets/\d", text) is None


def test_inconsistent_service_is_called_so_in_the_learned_file() -> None:
    def change(turn: Turn) -> None:
        if turn.name == "get" and str(turn.environ["PATH_INFO"]).endswith("x"):
            turn.refuse(400)

    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key)
    assert verdict.gaps["malformed_pet_id"].kind == "contradictory"
    assert "# malformed_pet_id: inconsistent: not_found (" in verdict.to_toml()


def test_header_of_a_cache_is_named_as_the_likely_cause_of_a_contradiction() -> None:
    def repeat_a_former_response(turn: Turn) -> None:
        if turn.name == "get" and turn.status == 200:
            turn.document["categoryId"] += 1
            turn.fields.append(("Age", "30"))

    with changed(repeat_a_former_response) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert "as in other responses (Age: 30: a cache may be the cause)" in " ".join(str(verdict).split())


def test_lists_from_an_old_cache_name_it() -> None:
    kept: dict[str, object] = {}

    def repeat_the_first(turn: Turn) -> None:
        if turn.name == "list" and turn.status == 200:
            turn.fields.append(("Age", "9000" if turn.query in kept else "0"))
            turn.document = kept.setdefault(turn.query, turn.document)

    with changed(repeat_the_first) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.2-listed"}
    assert "(Age: 9000: a cache may be the cause)" in broken(verdict)["4.2-listed"]


@pytest.mark.untraced
@pytest.mark.parametrize("is_cleared", [False, True])
def test_cache_that_ignores_the_query_is_one_finding(is_cleared: bool) -> None:
    """A cache may be set to leave the query out of its keys."""
    kept: dict[str, object] = {}

    def repeat_the_first(turn: Turn) -> None:
        if turn.name == "create" and turn.status == 201 and is_cleared:
            kept.clear()
        if turn.name == "list" and turn.status == 200:
            turn.document = kept.setdefault("list", turn.document)

    with changed(repeat_the_first) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.1-limit-counts"}, verdict
    assert "a cache in front of it, ignores the query" in broken(verdict)["4.1-limit-counts"]


def test_ignored_limit_is_no_ignored_query() -> None:
    def ignore_limit(turn: Turn) -> None:
        if turn.query:
            query = re.sub(r"limit=\d+", "limit=100", turn.query)
            turn.environ["REQUEST_URI"] = f"{turn.environ['PATH_INFO']}?{query}"

    with changed(nothing, refuses=ignore_limit) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.1-limit-counts"}, verdict
    assert "ignores the query" not in broken(verdict)["4.1-limit-counts"]


@pytest.mark.untraced
@pytest.mark.parametrize("names", [{"list", "get"}, {"list"}])
def test_reads_that_clamp_a_number_are_blamed_and_not_the_create(names: set[str]) -> None:
    def clamp(turn: Turn) -> None:
        if turn.name in names:
            in_pets("categoryId", lambda number: max(-(2**31), min(number, 2**31 - 1)))(turn)

    with changed(clamp) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    (found,) = verdict.broken
    assert found.id == "4.2-same-animal"
    assert re.match(r"GET /pets[^:]*: expected categoryId to be 9007199254740993 ", found.detail), found
    assert "POST" not in found.curl


def test_values_that_a_service_refuses_in_lists_and_creates_are_one_finding() -> None:
    """In a Turkish locale, Java's "available".toUpperCase() has a dotted capital, so that no enum has the name."""

    def refuse(turn: Turn) -> int | None:
        is_read = turn.name in {"list", "create"} and "HTTP_AUTHORIZATION" in turn.environ
        return 400 if is_read and status_in(turn) in {"available", "pending"} else None

    with changed(nothing, refuses=refuse) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"2-status-available"}, verdict


def test_refused_used_name_is_noted_and_breaks_no_clause() -> None:
    change, refuses = TWINS["a used name is refused"]
    with changed(change, refuses=refuses) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert verdict.notes == ("POST /pets got 409 for the name of another animal",)


def test_run_goes_on_after_many_requests_of_a_kind_failed() -> None:
    def fail_for_wrong_creates(turn: Turn) -> None:
        if turn.name == "create" and turn.status == 400:
            turn.refuse(500)

    with changed(fail_for_wrong_creates) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.2-name-required"}
    assert verdict.stopped is None
    assert result_of(verdict, "2-name-html") == result_of(verdict, "4.2-listed") == "holds"


def test_names_of_created_animals_have_the_date_of_the_run() -> None:
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    day = verdict.began[:10]
    undated = [name for _, name in verdict.left if day not in name and day.replace("-", "") not in name]
    assert sorted(undated) == ["", "null", "true"]


def test_changed_text_says_what_should_have_stayed() -> None:
    change = REPORTED["letters are composed"][1]
    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert "without normalization; got 201" in broken(verdict)["2-name-decomposed"]


@pytest.mark.parametrize(
    ("operations", "clause"),
    [
        ({"list", "get", "create"}, "5-missing-key"),
        ({"get"}, "5-missing-key-get"),
        ({"create"}, "5-missing-key-create"),
    ],
)
def test_operations_that_look_at_no_key_are_one_finding(operations: set[str], clause: str) -> None:
    keys: list[str] = []

    def let_in(turn: Turn) -> None:
        if turn.name in operations:
            turn.environ["HTTP_AUTHORIZATION"] = f"Bearer {keys[0]}"

    with changed(nothing, refuses=let_in) as (petstore, url):
        keys.append(petstore.api_key)
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {clause}


WRONG_WITHOUT_KEY = {
    "limit=0": "5-missing-key",
    "status=no-such-value": "5-missing-key",
    "no-such-value": "5-missing-key-get",
    "absent": "5-missing-key-get",
    "no body": "5-missing-key-create",
    "no JSON": "5-missing-key-create",
}


@pytest.mark.parametrize("wrong", WRONG_WITHOUT_KEY)
def test_request_without_a_key_gets_401_whatever_else_is_wrong(wrong: str) -> None:
    def refuse(turn: Turn) -> int | None:
        last = str(turn.environ["PATH_INFO"]).rpartition("/")[2]
        length = int(turn.environ.get("CONTENT_LENGTH") or 0)
        is_wrong = {
            "absent": turn.name == "get" and last.isdecimal() and int(last) > 1_000,
            "no body": turn.name == "create" and length == 0,
            "no JSON": turn.name == "create" and length > 0 and turn.sent is None,
        }
        is_refused = is_wrong.get(wrong, wrong in {turn.query, last})
        return 400 if is_refused and "HTTP_AUTHORIZATION" not in turn.environ else None

    with changed(nothing, refuses=refuse) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() == {WRONG_WITHOUT_KEY[wrong]}
