"""``connect()``: which world it uses, and the cases that only a remote object has."""

from __future__ import annotations

import copy
import json
import pickle
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import ContractViolationError, PetStoreMock, PetStoreMockError, VerificationError, connect, faults
from tests.client import JSON, REX, Client
from tests.live.stub import stub as process


@pytest.fixture
def stub() -> Iterator[PetStoreMock]:
    """A stub for one test, so that the test can count its worlds."""
    with PetStoreMock(control=True) as stub:
        yield stub


def worlds(stub: PetStoreMock) -> list[str]:
    with Client(stub) as client:
        return [world["name"] for world in json.loads(client.bare("GET", "/__petstore/worlds").body)["worlds"]]


def test_a_world_without_a_name_ends_with_the_block(stub: PetStoreMock) -> None:
    with connect(stub.url) as one, connect(stub.control_url) as two, Client(one) as client:
        assert one.control_url.endswith(f"{urlsplit(one.url).path.removesuffix('/v1')}/__petstore/")
        one.seed(name="Rex")
        assert (two.pets, len(worlds(stub))) == ([], 3)
        assert (client.list().status, len(one.journal), len(two.journal)) == (200, 1, 0)
        one.inject(faults.reset(), times=1)
        assert client.status() is None
        with pytest.raises(PetStoreMockError, match="snapshot"):
            two.restore(one.snapshot())
    assert worlds(stub) == ["default"]
    assert [entry.outcome for entry in one.journal][1:] == ["reset"], "the journal stays after the end"


def test_the_end_of_the_block_ends_a_world_with_problems_too(stub: PetStoreMock) -> None:
    def test() -> None:
        with connect(stub.url) as petstore, Client(petstore) as client:
            petstore.inject(503, on="getPet", times=1)
            client.status(query="?limit=x")

    with pytest.raises(VerificationError, match="on='getPet'") as caught:
        test()
    (note,) = caught.value.__notes__
    assert "GET /v1/pets?limit=x" in note
    assert worlds(stub) == ["default"]


@pytest.mark.parametrize("address", ["", "/w/mine/v1", "/w/mine/__petstore/"])
def test_a_named_world_is_made_once_and_never_ended(stub: PetStoreMock, address: str) -> None:
    root = stub.url.removesuffix("/v1")

    def steer() -> Any:
        return connect(root + address) if address else connect(root, world="mine")

    with steer() as petstore:
        petstore.seed(name="Rex")
        petstore.inject(503, times=1)
    with steer() as again, Client(again) as client:
        assert ([pet["name"] for pet in again.pets], again.api_key) == (["Rex"], petstore.api_key)
        assert client.status() == 503
    with connect(stub.url, world="default") as petstore:
        assert (petstore.url, petstore.api_key, petstore.pets) == (stub.url, stub.api_key, stub.pets)
    assert worlds(stub) == ["default", "mine"]


NO_ADDRESSES: list[Any] = [
    *("", "127.0.0.1:8080", "ftp://127.0.0.1", None, 8080, "http://", "http://127.0.0.1:99999", "http://[::1"),
    *("http://:80", "http://user@", b"http://a"),
]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_advice_about_certificates_is_for_https_only(scheme: str) -> None:
    with socket.socket() as unused:
        # No service listens on it.
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(PetStoreMockError, match=r"got no whole response: .*Start it with") as refused:
            connect(f"{scheme}://127.0.0.1:{unused.getsockname()[1]}")
    assert ("SSL_CERT_FILE" in str(refused.value)) is (scheme == "https")


def test_an_invalid_address_or_name_is_refused(stub: PetStoreMock) -> None:
    for url in NO_ADDRESSES:
        with pytest.raises(PetStoreMockError, match="address"):
            connect(url)
    names: list[Any] = ["..", "a/b", "", "x" * 101, 7]
    for url, name in (*((stub.url, name) for name in names), (f"{stub.url.removesuffix('/v1')}/w/one/v1", "two")):
        with pytest.raises(PetStoreMockError):
            connect(url, world=name)


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, pickle.dumps])
def test_exchanges_can_be_copied_and_other_objects_can_not(
    stub: PetStoreMock, through: Callable[[object], object]
) -> None:
    with connect(stub.url) as petstore, Client(petstore) as client:
        client.list()
        assert through(petstore.journal.last)
        with petstore.inject(503) as handle:
            for found in (petstore, petstore.journal, petstore.clock, handle, petstore.expect_violation()):
                with pytest.raises(PetStoreMockError, match=r"petstore\.url and petstore\.api_key"):
                    through(found)
            assert client.status() == 503


def test_a_closed_door_and_a_missing_stub_have_different_errors() -> None:
    with PetStoreMock() as closed:
        url = closed.url
        with pytest.raises(PetStoreMockError, match="closed"):
            connect(url)
    with pytest.raises(PetStoreMockError, match="petstore-mock serve"):
        connect(url)


@pytest.mark.parametrize(
    ("kind", "body"), [("json", b"{"), ("problem+json", b"{"), ("problem+json", b"[]"), ("problem+json", b"{}")]
)
def test_another_service_at_the_address_is_reported_as_such(kind: str, body: bytes) -> None:
    with PetStoreMock() as other:
        expectation = other.httpserver.expect_request(re.compile("/w/.*"))
        expectation.respond_with_data(body, status=404, content_type=f"application/{kind}")
        with pytest.raises(PetStoreMockError, match="expected the control door"):
            connect(other.url)


def test_a_taken_id_raises_no_evicted_error(stub: PetStoreMock) -> None:
    with connect(stub.url) as petstore:
        rex = petstore.seed()
        with pytest.raises(PetStoreMockError, match="taken") as refused:
            petstore.seed(id=rex["id"])
        assert type(refused.value).__name__ == "ProblemError"


def test_features_that_need_the_same_process_raise_an_error(stub: PetStoreMock) -> None:
    with connect(stub.url) as petstore:
        for name in ("app", "httpserver", "requests_session"):
            with pytest.raises(PetStoreMockError, match="process"):
                getattr(petstore, name)
            with pytest.raises(AttributeError):
                getattr(petstore, f"no_{name}")
        with pytest.raises(PetStoreMockError, match="where="):
            petstore.inject(503, when=lambda _: True)
        with pytest.raises(PetStoreMockError, match="JSON"):
            petstore.update(1, name=float("nan"))  # type: ignore[arg-type]  # on purpose


def test_the_journal_follows_a_reset_by_another_client_and_reconnects(stub: PetStoreMock) -> None:
    with connect(stub.url, world="shared") as one, connect(stub.url, world="shared") as two, Client(one) as client:
        for _ in range(3):
            client.list()
        assert len(one.journal) == 3
        client.close()
        stub.close_connections()
        two.reset()
        client.list("?limit=7")
        stub.close_connections()
        assert [entry.query for entry in one.journal] == [{"limit": "7"}]


def test_fresh_worlds_of_a_strict_world_are_strict(stub: PetStoreMock) -> None:
    with Client(stub) as client:
        client.bare("PUT", "/w/strict/__petstore/world", [JSON], b'{"strict": true}')
    with (
        connect(stub.url, world="strict") as petstore,
        pytest.raises(ContractViolationError, match="limit=0"),
        petstore.fresh() as world,
        Client(world) as client,
    ):
        client.list("?limit=0")


def test_dropped_requests_are_counted_and_queries_about_them_raise_an_error() -> None:
    """A strict world keeps three of five requests. The first request broke the contract."""
    with (
        process("--keep-requests", "3", lines=1) as running,
        connect(running.url) as petstore,
        petstore.fresh(strict=True) as world,
        Client(world) as client,
    ):
        for query in ("?limit=x", "", "", "", ""):
            client.list(query)
        journal = world.journal
        assert (len(journal), journal.last.number, journal[-3].number) == (5, 5, 3)
        assert len(journal.assert_called("listPets")) == len(journal.wait_for("listPets", times=3, timeout=0)) == 3
        journal.assert_called("listPets", times=5)
        journal.assert_not_called("getPet")
        for guess in (list, lambda journal: journal.wait_for("getPet", timeout=0)):
            with pytest.raises(PetStoreMockError):
                guess(journal)
        with pytest.raises(VerificationError, match="matching requests: 5 of 5"):
            journal.assert_called("listPets", times=1)
        with pytest.raises(PetStoreMockError, match="keep"):
            journal.assert_called("createPet", times=0, name="Tom")
        world.reset()
        with pytest.raises(ContractViolationError, match="limit=x"):
            world.verify()


def test_the_journal_stays_exact_if_the_stub_drops_requests_between_two_queries() -> None:
    with (
        process("--keep-requests", "3", lines=1) as running,
        connect(running.url) as petstore,
        petstore.fresh() as world,
        Client(world) as client,
    ):
        client.list()
        assert world.journal.last.number == 1
        for _ in range(5):
            client.list()
        assert [world.journal[-place].number for place in (3, 2, 1)] == [4, 5, 6]
        with pytest.raises(PetStoreMockError, match="keep"):
            _ = world.journal[-4]


ATTRIBUTES = """
    body by_expectation decision detail exchange executed expected fault headers is_violation method mutant number
    omitted operation outcome owner path query reason request_line response_body response_headers section secure status
    target timestamp violations
"""


def test_an_exchange_has_the_same_attributes_in_both_processes(stub: PetStoreMock) -> None:
    deep = b'{"name": ' + b"[" * 500 + b"]" * 500 + b"}"
    with connect(stub.url, world="default") as petstore, Client(stub) as client:
        key = ("Authorization", f"Bearer {stub.api_key}")
        for method, target, fields, body, fault in (
            ("GET", "/v1/pets?limit=2&limit=3&a=%F0", [key], None, None),
            ("GET", "/v1/pets", [], None, None),
            ("GET", "/v1/pets", [("Authorization", "Bearer another-key-of-somebody")], None, None),
            ("HEAD", "/v1/pets", [key], None, None),
            ("POST", "/v1/pets", [key, JSON, ("X-Note", "é")], REX, None),
            ("POST", "/v1/pets", [key, JSON], b'{"name": 1, "categoryId": 1.0, "x": 1e400, "x": [null]}', None),
            ("POST", "/v1/pets", [key, JSON], b"\xff\xfe{", None),
            ("POST", "/v1/pets", [key, JSON], b'{"name": "\\ud800", "categoryId": 12345678901234567890}', None),
            ("POST", "/v1/pets", [key, JSON], deep, None),
            ("GET", f"/v1/pets/7?key={stub.api_key}", [key], None, None),
            ("BREW", "*", [key], None, None),
            ("POST", "/v1/pets", [key, JSON], REX, faults.respond(500, body=b"\xff")),
            ("POST", "/v1/pets", [key, JSON], REX, faults.malformed_json()),
            ("POST", "/v1/pets", [key, JSON], REX, faults.delay(0.01)),
            ("GET", "/v1/pets", [key], None, faults.rate_limited("2030-01-01")),
        ):
            if fault is not None:
                stub.inject(fault, times=1)
            client.bare(method, target, fields, body)
        for own, remote in zip(stub.journal, petstore.journal, strict=True):
            home = copy.copy(own)  # a copy masks keys, like every exchange outside the process
            for name in ATTRIBUTES.split():
                # The door rounds times to milliseconds.
                is_time = name in {"timestamp", "duration"}
                value = getattr(home, name)
                expected = pytest.approx(value, abs=0.001) if is_time else value
                assert getattr(remote, name) == expected, (home, name)
            assert repr(remote) == repr(home)


@pytest.mark.seconds
def test_the_journal_reads_several_pages_of_requests(stub: PetStoreMock) -> None:
    with connect(stub.url, world="default") as petstore, Client(stub) as client:
        for number in range(1005):
            client.bare("GET", f"/v1/pets?limit={number}")
        assert (len(petstore.journal), petstore.journal[-1].query) == (1005, {"limit": "1004"})


def test_only_refused_animals_are_blamed_on_the_seed_file(stub: PetStoreMock, tmp_path: Path) -> None:
    file = tmp_path / "pets.json"
    file.write_text('[{"name": "Rex"}]', encoding="utf-8")
    wrong: Any = "maybe"
    with connect(stub.url) as petstore:
        with (
            pytest.raises(PetStoreMockError, match="got strict='maybe'") as caught,
            petstore.fresh(seed=file, strict=wrong),
        ):
            pass
        assert "pets.json" not in str(caught.value)
        file.write_text('[{"name": 5}]', encoding="utf-8")
        with pytest.raises(PetStoreMockError, match=r"pets\.json: .*name must be a string"), petstore.fresh(seed=file):
            pass
