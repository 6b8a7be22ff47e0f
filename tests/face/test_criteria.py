"""What a criterion of an assertion, a wait or a fault may be; header names, cut bodies, and dropped requests."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, RemotePetStore, VerificationError
from tests.client import JSON, Client

Face = Any  # PetStoreMock or RemotePetStore; the tests use only members of both


def test_patterns_functions_and_any_match_what_was_sent(petstore: Face, client: Client) -> None:
    journal = petstore.journal
    client.authed("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 12}', JSON, ("X-Trace", "t-17"))
    client.list("?limit=12")
    client.get(7)
    matching: list[tuple[Any, dict[str, Any]]] = [
        ("createPet", {"name": ANY, "categoryId": 12}),
        ("createPet", {"name": re.compile("^R")}),
        ("createPet", {"categoryId": lambda number: number > 10}),
        ("createPet", {"json": ANY}),
        ("createPet", {"json": {"name": re.compile("ex$"), "categoryId": ANY}}),
        ("createPet", {"json": lambda pet: sorted(pet) == ["categoryId", "name"]}),
        ("createPet", {"body": re.compile('"Rex"')}),
        ("createPet", {"body": re.compile(b'"Rex"')}),
        ("createPet", {"headers": {"x-trace": re.compile(r"t-\d+"), "Content-Type": ANY}}),
        ("createPet", {"method": re.compile("P"), "path": re.compile("pets$")}),
        ("listPets", {"limit": re.compile("2"), "query": {"limit": ANY}}),
        ("listPets", {"limit": lambda limit: limit == 12}),
        ("getPet", {"petId": re.compile("7")}),
        ("getPet", {"condition": re.compile("absent"), "status": 404}),
    ]
    missing: list[tuple[Any, dict[str, Any]]] = [
        ("createPet", {"status": ANY}),
        ("createPet", {"status": re.compile("s")}),
        ("createPet", {"name": re.compile("Tom")}),
        ("createPet", {"categoryId": re.compile("1")}),
        ("createPet", {"json": {"name": ANY}}),
        ("createPet", {"headers": {"X-Other": ANY}}),
        ("createPet", {"name": lambda name: name == "Tom"}),
        ("listPets", {"query": {"limit": ANY, "status": ANY}}),
        ("getPet", {"fault": ANY}),
        ("createPet", {"condition": ANY}),
    ]
    if isinstance(petstore, RemotePetStore):
        for operation, criteria in matching:
            with pytest.raises(PetStoreMockError, match="other process"):
                journal.assert_called(operation, **criteria)
        return
    for operation, criteria in matching:
        assert len(journal.assert_called(operation, times=1, **criteria)) == 1
        assert len(journal.wait_for(operation, timeout=0, **criteria)) == 1
        with pytest.raises(VerificationError, match="expected"):
            journal.assert_not_called(operation, **criteria)
    for operation, criteria in missing:
        journal.assert_not_called(operation, **criteria)
        with pytest.raises(VerificationError, match="<"):
            journal.assert_called(operation, **criteria)


class Strange:
    """Equals everything, as some libraries' objects do."""

    def __eq__(self, _: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


async def judges_later(_: object) -> bool:
    return True


NOTHING_EQUALS: list[object] = [
    {1},
    frozenset({"a"}),
    datetime(2030, 1, 1, tzinfo=UTC),
    Decimal(1),
    Strange(),
    1j,
    judges_later,
    int,
]


@pytest.mark.parametrize("value", NOTHING_EQUALS, ids=[type(value).__name__ for value in NOTHING_EQUALS])
@pytest.mark.parametrize(
    "criterion", ["name", "categoryId", "limit", "petId", "status", "json", "body", "method", "path"]
)
def test_a_value_that_no_request_can_have_is_refused_wherever_criteria_are_given(
    petstore: Face, criterion: str, value: object
) -> None:
    journal = petstore.journal
    nested: dict[str, Any] = {criterion: value}
    uses: list[Callable[[], object]] = [
        lambda: journal.assert_called(times=0, **nested),
        lambda: journal.assert_not_called(**nested),
        lambda: journal.wait_for(timeout=0, **nested),
        lambda: asyncio.run(journal.wait_for_async(timeout=0, **nested)),
        lambda: petstore.inject(503, where=nested),
    ]
    for use in uses:
        with pytest.raises(PetStoreMockError):
            use()


@pytest.mark.parametrize(
    ("operation", "criteria"),
    [
        ("createPet", {"categoryId": "1"}),
        ("createPet", {"categoryId": True}),
        ("createPet", {"categoryId": 1.5}),
        ("createPet", {"name": 5}),
        ("createPet", {"status": "solld"}),
        ("listPets", {"status": "solld"}),
        ("listPets", {"limit": 1.5}),
        ("listPets", {"limit": {"a": 1}}),
        ("getPet", {"petId": True}),
        ("getPet", {"status": 99}),
        ("getPet", {"status": 600}),
        ("getPet", {"path": "/v1/pets?limit=1"}),
        (None, {"json": {"a": {1}}}),
        (None, {"json": {1: "a"}}),
        (None, {"query": {"limit": {"a": 1}}}),
        (None, {"query": {"limit": datetime(2030, 1, 1, tzinfo=UTC)}}),
        (None, {"query": {"limit": [b"1"]}}),
        (None, {"headers": {"X-A": None}}),
        (None, {"fault": {1}}),
    ],
    ids=range(19),
)
def test_a_value_of_the_wrong_type_is_refused(petstore: Face, operation: Any, criteria: dict[str, Any]) -> None:
    for ask in (petstore.journal.assert_called, petstore.journal.assert_not_called):
        with pytest.raises(PetStoreMockError):
            ask(operation, **criteria)
    with pytest.raises(PetStoreMockError):
        petstore.journal.wait_for(operation, timeout=0, **criteria)


def test_a_fault_meets_requests_by_pattern_function_and_any() -> None:
    with PetStoreMock() as petstore, Client(petstore) as client:
        planned = petstore.inject(503, on="createPet", where={"name": re.compile("^R"), "categoryId": ANY}, times=1)
        petstore.inject(500, on="listPets", where={"limit": lambda limit: limit > 5}, times=1)
        assert "pattern" in repr(planned)
        key = [*petstore.headers.items(), JSON]

        def status(method: str, query: str, name: str = "") -> int:
            body = json.dumps({"name": name, "categoryId": 1}).encode() if name else None
            return client.bare(method, f"/v1/pets{query}", key, body).status

        assert [status("POST", "", name) for name in ("Tom", "Rex", "Rex")] == [201, 503, 201]
        assert [status("GET", query) for query in ("?limit=5", "?limit=6")] == [200, 500]


def test_names_of_header_fields_match_in_any_case(petstore: Face, client: Client) -> None:
    seen: list[str] = []

    def noted(value: str) -> bool:
        seen.append(value)
        return False

    if isinstance(petstore, PetStoreMock):
        petstore.inject(503, when=lambda request: noted(request.headers["x-TRACE"]))
    client.authed("GET", "/v1/pets", None, ("X-Trace", "t1"))
    exchange = petstore.journal.last
    for headers, name, value in (
        (exchange.headers, "X-Trace", "t1"),
        (exchange.response_headers, "Content-Type", None),
    ):
        for spelling in (name, name.lower(), name.upper()):
            assert spelling in headers
            assert headers[spelling] == headers.get(spelling) == (value or "application/json")
        assert "X-Other" not in headers
        assert (headers.get("X-Other"), headers.get("X-Other", "none")) == (None, "none")
        with pytest.raises(KeyError):
            headers["X-Other"]
    assert seen == (["t1"] if isinstance(petstore, PetStoreMock) else [])


# Bodies over 64 KiB


def test_a_cut_body_says_so_everywhere(petstore: Face, client: Client, tmp_path: Path) -> None:
    body = json.dumps({"name": "x" * 70_000, "categoryId": 1}).encode()
    client.post(body)
    journal, exchange = petstore.journal, petstore.journal.last
    words = f"keeps only the first 65536 of {len(body)} bytes"
    assert exchange.cut_request == len(body) - 65536
    with pytest.raises(PetStoreMockError, match=words):
        exchange.json()
    journal.to_har(tmp_path / "journal.har")
    (entry,) = json.loads((tmp_path / "journal.har").read_text())["log"]["entries"]
    assert words in entry["request"]["postData"]["comment"]
    assert "keeps only the first 65536 of" in entry["response"]["content"]["comment"]
    undecided: list[dict[str, Any]] = [{"name": "Rex"}, {"json": {}}, {"body": b""}, {"categoryId": 1}]
    for criteria in undecided:
        for times in (0, 1, None):
            with pytest.raises(PetStoreMockError, match=words):
                journal.assert_called("createPet", times=times, **criteria)
        with pytest.raises(PetStoreMockError, match=words):
            journal.wait_for("createPet", timeout=0, **criteria)
    journal.assert_called("createPet", times=0, name="Rex", method="PUT")
    journal.assert_called("createPet", times=1, method="POST", status=201)


def test_a_cut_body_says_so_at_the_door() -> None:
    body = json.dumps({"name": "x" * 70_000, "categoryId": 1}).encode()
    words = f"keeps only the first 65536 of {len(body)} bytes"
    with PetStoreMock(control=True) as petstore, Client(petstore) as client:
        client.post(body)
        (entry,) = client.bare("GET", "/__petstore/requests").json()["requests"]
        assert (entry["body_cut"], entry["response_body_cut"] > 0) == (len(body) - 65536, True)
        for path in ("requests.txt", "requests.html"):
            assert words in client.bare("GET", f"/__petstore/{path}").body.decode()
        question = json.dumps({"where": {"name": "Rex"}}).encode()
        for verb in ("assert", "wait"):
            refused = client.bare("POST", f"/__petstore/requests/{verb}", [JSON], question)
            assert (refused.status, words in refused.body.decode()) == (409, True)


# A wait over dropped requests


def test_a_wait_that_depends_on_dropped_requests_is_refused_at_once() -> None:
    with PetStoreMock(control=True) as petstore, Client(petstore) as client:
        petstore.journal.limit = 3
        for _ in range(5):
            client.list("?limit=1")
        threads = threading.active_count()
        with pytest.raises(PetStoreMockError, match="dropped 2 of 5"):
            petstore.journal.wait_for("createPet", timeout=86_400, name="Rex")
        with pytest.raises(PetStoreMockError, match="dropped 2 of 5"):
            petstore.journal.wait_for("listPets", times=4, timeout=86_400)
        assert len(petstore.journal.wait_for("listPets", times=3, timeout=86_400)) == 3
        question = json.dumps({"operation": "createPet", "where": {"name": "Rex"}, "timeout": 25}).encode()
        refused = client.bare("POST", "/__petstore/requests/wait", [JSON], question)
        assert (refused.status, "dropped 2 of 5" in refused.body.decode()) == (409, True)
        assert threading.active_count() == threads
