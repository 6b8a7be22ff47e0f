"""An exchange as text, curl, JSON, HAR and HTML: the same facts, masked and escaped."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace

import pytest
import requests

from petstore_mock import PetStoreMock, faults
from petstore_mock.errors import ContractViolationError, VerificationError
from petstore_mock.journal.curl import curl_line
from petstore_mock.journal.exchange import Exchange
from petstore_mock.journal.har import har_document
from petstore_mock.journal.record import from_data, to_data
from petstore_mock.journal.table import page, table_parts
from petstore_mock.journal.text import add_note, error_of, journal_text, request_lines
from tests.unit.journal.conftest import KEY, REX, exchange

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


URL, AUTHORIZATION = "http://127.0.0.1:8080", '-H "Authorization: Bearer $PETSTORE_KEY"'
ODD_FIELDS = [(b"X-Empty", b""), (b"Accept", b"*/*"), (b"Cookie", b"a=secret")]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (exchange("HEAD"), f"--head {AUTHORIZATION} {URL}/v1/pets"),
        (exchange(fields=ODD_FIELDS), f"{AUTHORIZATION} -H 'X-Empty;' -H 'Cookie: ***' {URL}/v1/pets"),
        (exchange(target="/v1/./[a]"), f"{AUTHORIZATION} --path-as-is --globoff '{URL}/v1/./[a]'"),
        *(
            (
                exchange("POST", body=body),
                f"-X POST {AUTHORIZATION} -H Content-Type: --data-binary {words} {URL}/v1/pets",
            )
            for body, words in (
                (b"a", "a"),
                (b"{\n}", "'{\n}'"),
                (b"\xff", "@body-of-1-bytes"),
                (b"@a", "@body-of-2-bytes"),
            )
        ),
    ],
)
def test_curl_command_repeats_the_request(made: Exchange, words: str) -> None:
    assert curl_line(made) == f"curl -i {words}"
    assert curl_line(exchange(target="-")) == ""


def test_record_is_the_same_after_a_round_trip(exchanges: list[Exchange]) -> None:
    for made in exchanges:
        made.keys = lambda: (KEY,)
        data = to_data(made)
        text = json.dumps(data)
        assert KEY not in text
        again = from_data(json.loads(text))
        assert to_data(again) == data
        assert (repr(again), curl_line(again), request_lines([again])) == (
            repr(made),
            curl_line(made),
            request_lines([made]),
        )
    first, created, refused, lost, binary = map(to_data, exchanges)
    assert (first["query"], first["body_text"], created["body"]) == ({"limit": ["5"]}, "", json.loads(REX))
    assert [(one["field"], one["rule"], one["value"]) for one in refused["violations"]] == [
        ("body.name", "type", "5 (integer)"),
        ("body.x", "required", None),
    ]
    assert (lost["status"], lost["fault"], lost["state"], binary["body_base64"]) == (None, "reset()", "done", "/yUn")


def test_har_is_masked_and_has_the_decisions(exchanges: list[Exchange]) -> None:
    document = har_document(exchanges)
    assert KEY not in json.dumps(document)
    assert [entry["_decision"] for entry in document["log"]["entries"]][1:4] == [
        "committed",
        "refused, invalid_body (§2)",
        "fault reset()",
    ]
    entries = document["log"]["entries"]
    assert [entry["request"]["url"] for entry in entries] == [one.url for one in exchanges]
    assert [entry["response"]["status"] for entry in entries] == [one.status or 0 for one in exchanges]


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_har_has_the_version_of_the_client_and_that_of_the_server(version: str) -> None:
    made = exchange()
    made.request = replace(made.request, version=version)
    (entry,) = har_document([made])["log"]["entries"]
    assert (entry["request"]["httpVersion"], entry["response"]["httpVersion"]) == (version, "HTTP/1.1")


def test_table_escapes_hostile_text(exchanges: list[Exchange]) -> None:
    quiet = [exchange(number=number) for number in range(1, 5)]
    made = exchange(target=f"/{HOSTILE}", body=HOSTILE.encode(), number=5, fields=[(b"X-Key", HOSTILE.encode("utf-8"))])
    text = page("<title>", ["".join(table_parts([*quiet, made])), "".join(table_parts([*exchanges]))])
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert KEY not in text
    assert "committed" in text
    assert "no response: reset" in text
    assert "201 (truncated)" in text
    assert "5 requests without trouble: 1 to 5" in text
    assert "".join(table_parts([])) == "<p>No request arrived.</p>"


def test_rows_of_the_table_have_a_css_class_for_the_outcome(exchanges: list[Exchange]) -> None:
    classes = re.findall(r'<tr class="(\w+)"', "".join(table_parts([*exchanges])))
    assert classes == ["fault", "lost", "refused", "quiet", "quiet"], "the newest first"


def test_table_says_that_a_create_was_sent_again_after_its_response_was_lost() -> None:
    with PetStoreMock() as petstore:
        petstore.inject(faults.reset(), on="createPet", times=1, at="after_commit")
        session, url = requests.Session(), f"{petstore.url}/pets"
        for name in ("Rex", "Rex", "Tom"):
            with suppress(requests.ConnectionError):
                session.post(url, json={"name": name, "categoryId": 1}, headers=petstore.headers)
        rows = "".join(table_parts([*petstore.journal], newest_first=False)).split("<tr class=")[1:]
    said = "sent again after request 1 lost its response: it may add a second animal"
    assert [said in row for row in rows] == [False, True, False]
    assert [row.split('"')[1] for row in rows] == ["lost", "fault", "quiet"]


def test_notes_of_an_exception() -> None:
    error = ValueError("boom")
    add_note(error, "the fixture", lambda: "no requests", ["boom", "a fault\nnever fired"])
    assert error.__notes__ == ["petstore journal of the fixture:\nalso: a fault\nalso: never fired\nno requests"]
    broken = ValueError()
    add_note(broken, "x", lambda: str(1 / 0))
    assert not hasattr(broken, "__notes__"), "an error in the report adds no note"
    ended = KeyboardInterrupt()
    add_note(ended, "x", str)
    assert not hasattr(ended, "__notes__")


def test_text_counts_what_it_leaves_out(exchanges: list[Exchange]) -> None:
    assert journal_text([], ["handshake failed"]) == "no requests\nhandshake failed"
    assert journal_text(exchanges[3:]).startswith("left out: 3 earlier requests\n")
    error = error_of([("violation", f"rule {number}") for number in range(122)])
    assert type(error) is ContractViolationError
    assert str(error).splitlines()[-2:] == ["rule 119", "and 2 more problems"]
    assert type(error_of([("unfired_fault", "x")])) is VerificationError
