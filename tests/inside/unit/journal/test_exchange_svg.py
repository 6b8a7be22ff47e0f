"""The exchange as a picture: what it shows, that any XML reader takes it, and that it keeps secrets."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock import PetStoreMockError, faults
from petstore_mock.journal.exchange import exchanges
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import Core

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


def drawn(core: Core, **options: Any) -> ET.Element:  # noqa: ANN401  # those of to_svg
    """Return the picture of a core's journal, as an XML reader sees it."""
    root = ET.fromstring(core.journal.to_svg(**options))
    assert root.tag == f"{SVG}svg"
    return root


def rows(root: ET.Element) -> list[tuple[str, str, list[str]]]:
    """Return the requests and answers from top to bottom: kind, number, and their texts."""
    groups = root.findall(f"{SVG}g")
    return [
        (
            group.get("class", ""),
            group.get("data-number", ""),
            ["".join(text.itertext()) for text in group.findall(f"{SVG}text")],
        )
        for group in groups
    ]


def said(root: ET.Element) -> str:
    return "\n".join(root.itertext())


def test_request_and_answer_are_two_arrows_in_order() -> None:
    core = Core(at="2030-01-02T03:04:05")
    core.create()
    root = drawn(core)
    (request, answer) = rows(root)
    assert request[:2] == ("request", "1")
    assert request[2] == ["+0.0 ms", "1 POST /v1/pets  createPet", "committed"]
    assert answer[:2] == ("answer", "1")
    assert answer[2][0].startswith("1 201 Created  ")
    assert answer[2][0].endswith(" ms")


def test_picture_has_a_title_and_a_description_for_those_who_cannot_see_it() -> None:
    core = Core(at="2030-01-02T03:04:05")
    core.world.clock.freeze()
    core.create()
    core.create({"name": "Rex", "categoryId": "1"})
    root = drawn(core)
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert title is not None
    assert title.text == (
        "The exchange of client and pet store service: 2 requests, from 2030-01-02 03:04:05 UTC of the fake's time"
    )
    assert description is not None
    assert description.text == (
        "Request 1, POST /v1/pets, createPet: committed; 201 Created. Request 2, POST /v1/pets, createPet: refused: "
        'invalid_body (§2): body.categoryId must be an integer, got "1" (string); 400 Bad Request.'
    )


def test_lost_answer_ends_at_a_cross_beside_the_commit_and_the_fault() -> None:
    core = Core()
    core.world.plan.add(faults.reset(), at="after_commit", times=1)
    answer = core.defer_create()
    answer.resume()
    answer.completion.complete("reset", sent=False)
    core.send("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 1}', headers={"Content-Type": "application/json"})
    root = drawn(core)
    first, lost, again, _ = rows(root)
    assert first[2][1:3] == ["1 POST /v1/pets  createPet", "committed"]
    assert first[2][3].startswith("fault reset(): the service reset")
    assert lost[2][0].startswith("1 no answer: reset")
    assert again[2][1] == "2 POST /v1/pets  createPet  retry of 1"
    (group,) = (
        one for one in root.findall(f"{SVG}g") if one.get("class") == "answer" and one.get("data-number") == "1"
    )
    line = group.find(f"{SVG}line")
    assert line is not None
    assert line.get("stroke-dasharray")
    assert int(line.get("x2", "0")) > 300, "it does not reach the client"


def test_fault_before_the_commit_says_that_nothing_was_committed() -> None:
    core = Core()
    core.world.plan.add(faults.server_error(503), times=1)
    core.create()
    (one,) = exchanges(core.journal)
    assert [note.text for note in one.notes] == ["fault server_error(503), nothing committed"]
    assert one.arrival == "whole"


@pytest.mark.parametrize(
    ("fault", "outcome", "sent", "arrival", "answer"),
    [
        (faults.truncate(0.5), "truncated", True, "cut", "201 Created, cut short: truncated"),
        (faults.malformed_chunk(), "malformed chunk", True, "cut", "201 Created, cut short: malformed chunk"),
        (faults.hang(), "hang", False, "lost", "no answer: hang"),
        (faults.empty_reply(), "empty reply", False, "lost", "no answer: empty reply"),
        (faults.delay(0.1), "delayed", True, "whole", "201 Created, delayed"),
        (faults.delay(0.1), "client gone", False, "lost", "no answer: client gone"),
        (faults.dribble(10), "client gone", True, "cut", "201 Created, cut short: client gone"),
    ],
)
def test_what_reached_the_client_is_told_apart(  # one row of the table
    fault: faults.Fault, outcome: str, sent: bool, arrival: str, answer: str
) -> None:
    core = Core()
    core.world.plan.add(fault)
    deferred = core.defer_create()
    assert exchanges(core.journal)[0].arrival == "pending"
    assert "no answer yet" in said(drawn(core))
    deferred.resume()
    deferred.completion.complete(outcome, sent=sent)
    (one,) = exchanges(core.journal)
    assert (one.arrival, one.answer) == (arrival, answer)
    assert answer in said(drawn(core))


def test_corrupted_answer_is_no_whole_one() -> None:
    core = Core()
    core.world.plan.add(faults.malformed_json(), times=1)
    core.create()
    assert exchanges(core.journal)[0].answer == "201 Created, corrupted"
    assert "201 Created, corrupted" in said(drawn(core))


def test_requests_that_ran_at_once_cross_each_other() -> None:
    core = Core()
    core.world.plan.add(faults.delay(60), times=1)
    slow = core.defer()
    core.list("?limit=1")
    slow.resume()
    slow.completion.complete("delayed", sent=True)
    assert [row[:2] for row in rows(drawn(core))] == [
        ("request", "1"),
        ("request", "2"),
        ("answer", "2"),
        ("answer", "1"),
    ]


def test_time_is_counted_from_the_first_request() -> None:
    core = Core()
    now = time.perf_counter()
    for began in (now - 2, now - 1.9):
        core.worlds.handle(ApiRequest("GET", "/v1/pets", [(b"Host", b"fake.test")], started=began))
    requests = [row for row in rows(drawn(core)) if row[0] == "request"]
    assert [row[2][0] for row in requests] == ["+0.0 ms", "+100.0 ms"]


def test_same_request_after_a_success_is_no_retry() -> None:
    core = Core()
    core.list()
    core.list()
    assert [one.retry_of for one in exchanges(core.journal)] == [None, None]


def test_only_the_latest_are_drawn_and_the_others_counted() -> None:
    core = Core()
    for _ in range(5):
        core.list()
    root = drawn(core, last=2)
    assert [number for kind, number, _ in rows(root) if kind == "request"] == ["4", "5"]
    assert "left out: 3 earlier requests" in said(root)


def test_description_of_many_tells_the_latest() -> None:
    core = Core()
    for _ in range(25):
        core.list()
    description = drawn(core).findtext(f"{SVG}desc", "")
    assert description.startswith("Of the latest 20 requests: Request 6, ")


def test_empty_journal_says_so() -> None:
    root = drawn(Core())
    assert "no requests" in said(root)
    assert root.findtext(f"{SVG}desc") == "No request came."


def test_picture_is_written_as_it_is_returned(tmp_path: Path) -> None:
    core = Core()
    core.list()
    svg = core.journal.to_svg(tmp_path / "exchange.svg")
    assert (tmp_path / "exchange.svg").read_text(encoding="utf-8") == svg


def test_file_that_cannot_be_written_raises(tmp_path: Path) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected a file that can be written; got path=.*missing"):
        Core().journal.to_svg(tmp_path / "missing" / "exchange.svg")


@pytest.mark.parametrize("last", [0, -1, True, 1.5, None])
def test_what_is_no_count_is_refused(last: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match="expected last as a whole number of at least 1; got last="):
        Core().journal.to_svg(last=last)


def test_key_stands_nowhere_in_the_picture() -> None:
    core = Core()
    key = core.key
    core.list(f"?api_key={key}")
    core.create({"name": key, "categoryId": key})
    core.world.plan.add(faults.respond(503, body=f"no {key}"))
    core.list(f"/{key}")
    assert key not in core.journal.to_svg()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("&'<!--", "&'<!--"),
        ("]]>", "]]>"),
        ("\u202e\x00\x1b[31m", "\\u202e\\u0000\\u001b[31m"),
        ("x" * 5000, "x" * 20),
    ],
)
def test_hostile_text_is_shown_as_text(text: str, shown: str) -> None:
    core = Core()
    core.create({"name": "Rex", "categoryId": text})
    core.send(f"{text}\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), f"/v1/{text}\uffff")
    root = drawn(core)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "rect", "line", "path", "g", "text", "tspan")
    }
    assert shown in "".join("".join(texts) for _, _, texts in rows(root))
    assert all(len(line) <= 70 for _, _, texts in rows(root) for line in texts), "it stays where it belongs"


def test_wide_letters_take_two_columns() -> None:
    core = Core()
    core.create({"name": "Rex", "categoryId": 1, "漢" * 100: 1})
    (texts,) = (texts for kind, _, texts in rows(drawn(core)) if kind == "request")
    assert "漢" * 5 in "".join(texts)
    assert all(len(line) + line.count("漢") <= 60 for line in texts)


@pytest.mark.untraced
@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=300), st.text(max_size=300), st.binary(max_size=50)),
        max_size=5,
    )
)
def test_any_request_makes_a_picture_that_an_xml_reader_takes(requests: list[tuple[str, str, bytes]]) -> None:
    core = Core()
    for method, target, body in requests:
        raw = (method.encode("utf-8", "surrogatepass").decode("latin-1"), target)
        core.send(raw[0], f"/v1/{raw[1]}", body, headers={"Content-Type": "application/json"})
    root = drawn(core)
    assert len(rows(root)) == 2 * len(requests)
    assert all(text.isprintable() for _, _, texts in rows(root) for text in texts)
