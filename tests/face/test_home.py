"""Features of an object in the test's own process: options, worlds, ``when=``, WSGI, notes, copies."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from petstore_mock import ApiRequest, PetStoreMock, PetStoreMockError, VerificationError, faults
from tests.client import Client


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock()


@pytest.fixture
def client(petstore: PetStoreMock) -> Iterator[Client]:
    with Client(petstore, "wsgi") as client:
        yield client


# Options

WRONG: list[tuple[dict[str, Any], str]] = [
    *(({name: value}, f"{name}={value!r}") for name, value in (("strict", "false"), ("random_seed", None))),
    *(({name: value}, f"{name}={value!r}") for name, value in (("port", "8080"), ("port", True), ("host", 1))),
    ({"tls": "yes"}, "tls"),
    ({"at": "tomorrow"}, "'tomorrow'"),
    ({"seed": -1}, "-1"),
    ({"seed": {"name": "Rex"}}, "seed"),
    ({"seed": [{}, {"name": 5}]}, "animal 1"),
    ({"seed": 1_000_001}, "1,000,000"),
    ({"seed": "\0"}, "'\\x00'"),
    ({"behaviour": "hostil"}, "'hostile'"),
    *(({"behaviour": one}, str(one)) for one in (5, "absent.toml")),
    ({"mutant": "list-wraped"}, "'list-wrapped'"),
]


@pytest.mark.parametrize(("wrong", "named"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_option_is_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(PetStoreMockError) as refused:
        PetStoreMock(**wrong)
    assert named in str(refused.value)


def test_a_mock_listens_only_within_its_block_or_after_a_start(petstore: PetStoreMock) -> None:
    with petstore:
        assert petstore.url.startswith("http://127.0.0.1:")
        assert petstore.url.endswith("/v1")
        with petstore.fresh() as inner:
            inner.stop()
            assert inner.url == petstore.url, "a fresh world does not stop the listener"
        with Client(petstore) as client:
            assert client.list().status == 200
        address = petstore.url
    with pytest.raises(PetStoreMockError):
        _ = petstore.url
    petstore.start()
    assert petstore.url != "" != address
    petstore.stop()


def test_each_carrier_shows_an_animal_that_a_client_adds(petstore: PetStoreMock) -> None:
    with petstore, Client(petstore, "wsgi") as one, Client(petstore) as two:
        one.create(name="Rex", categoryId=1)
        assert two.list().json() == petstore.pets
        assert [entry.operation for entry in petstore.journal] == ["createPet", "listPets"]


def test_fresh_of_a_subclass_keeps_its_class_and_attributes() -> None:
    class Helpful(PetStoreMock):
        def __init__(self, species: str) -> None:
            super().__init__(seed=3)
            self.species = species

    with Helpful("cat").fresh() as inner:
        assert (type(inner), inner.species, inner.pets) == (Helpful, "cat", [])


def test_keys_identify_nested_worlds(petstore: PetStoreMock, client: Client) -> None:
    with petstore.fresh(seed=3) as inner, inner.fresh(seed=4) as innermost:
        worlds = {0: petstore, 3: inner, 4: innermost}
        for count, world in worlds.items():
            response = client.send("GET", "/v1/pets", list(world.headers.items()))
            assert len(response.json()) == count
        assert [len(world.journal) for world in worlds.values()] == [1, 1, 1]
        client.status(key="unknown")
        assert [len(world.journal) for world in worlds.values()] == [1, 1, 2], "the innermost world gets it"
        left = innermost.api_key
    assert client.status(key=left) == 401
    assert len(petstore.journal) == 1, "a request with the key of an ended world is a leak"
    with pytest.raises(PetStoreMockError), petstore.fresh(api_key=petstore.api_key):
        pass


# when=


def test_when_function_gets_the_request_and_a_mismatch_uses_up_nothing(petstore: PetStoreMock, client: Client) -> None:
    seen = []

    def wanted(request: ApiRequest) -> bool:
        traced = request.header("x-trace")
        seen.append((request.method, request.operation, request.query, traced, len(petstore.journal)))
        return traced == "t"

    handle = petstore.inject(503, where={"limit": 2}, when=wanted, after=1, times=1)
    trace = [("X-Trace", "t")]
    queries = [("?limit=2", trace), ("?limit=1", trace), ("?limit=2", []), ("?limit=2", trace), ("?limit=2", trace)]
    assert [client.status(query=query, fields=fields) for query, fields in queries] == [200, 200, 200, 503, 200]
    assert seen[0] == ("GET", "listPets", {"limit": "2"}, "t", 0)
    assert (handle.hits, len(seen)) == (1, 3)


@pytest.mark.parametrize("leave", [pytest.fail, sys.exit, json.loads])
def test_a_when_function_that_raises_lets_the_request_pass_and_fails_the_verification(
    petstore: PetStoreMock, client: Client, leave: Callable[[str], object]
) -> None:
    handle = petstore.inject(503, when=lambda _: bool(leave("unwanted")))
    assert client.status() == 200
    with pytest.raises(VerificationError) as failure:
        petstore.verify()
    assert str(handle) in str(failure.value)


def test_a_when_function_may_send_requests_and_control_the_fake(petstore: PetStoreMock, client: Client) -> None:
    """Its own requests may meet the same fault, and a fault that it cancels meets no request."""
    sent: list[int | None] = []

    def sends(_: ApiRequest) -> bool:
        if not sent:
            sent.append(None)
            sent[0] = client.status()
        return True

    handle = petstore.inject(503, when=sends, times=1)
    client.status()
    assert (handle.hits, client.status()) == (1, 200)

    def cancels(_: ApiRequest) -> bool:
        petstore.cancel_faults()
        return True

    handles = [petstore.inject(503, when=cancels), petstore.inject(500)]
    assert (client.status(), [handle.hits for handle in handles]) == (200, [0, 0])

    def resets(_: ApiRequest) -> bool:
        petstore.reset()
        return True

    petstore.inject(500, when=resets, times=1)
    client.status()
    assert [entry.number for entry in petstore.journal] == [1]


def test_a_value_of_when_that_is_no_function_is_refused(petstore: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match="when"):
        petstore.inject(503, when=1)  # type: ignore[arg-type]  # the mistake under test


# Without a socket


def test_a_fault_that_needs_a_socket_raises_and_fails_the_verification(petstore: PetStoreMock) -> None:
    streams = faults.truncate(), faults.dribble(9), faults.malformed_chunk()
    for fault in (faults.hang(), faults.reset(), faults.empty_reply(), *streams):
        petstore.inject(fault, times=1)
        with Client(petstore, "wsgi") as client, pytest.raises(PetStoreMockError, match=r"petstore\.url"):
            client.list()
        assert petstore.journal.last.fault == fault
        with pytest.raises(VerificationError, match=r"petstore\.url"):
            petstore.verify()
        petstore.reset()


@pytest.mark.parametrize("end", ["stop", "reset"])
@pytest.mark.parametrize(("at", "kept"), [("before_commit", 0), ("after_commit", 1)])
def test_a_stop_or_a_reset_releases_a_held_response(
    petstore: PetStoreMock, client: Client, end: str, at: Any, kept: int
) -> None:
    """Tests in tests/wire cover sockets."""
    petstore.inject(faults.delay(600), on="createPet", at=at)
    statuses: list[int | None] = []
    thread = threading.Thread(target=lambda: statuses.append(client.status("createPet")))
    thread.start()
    (entry,) = petstore.journal.wait_for("createPet", timeout=30)
    assert (len(petstore.pets), entry.status) == (kept, None)
    assert client.list().status == 200, "a delay blocks no other request"
    petstore.stop() if end == "stop" else petstore.reset()
    thread.join(30)
    assert (statuses, len(petstore.pets)) == ([201 if kept else 503], kept if end == "stop" else 0)


# Notes


def test_each_mock_adds_its_own_note() -> None:
    def test() -> None:
        with PetStoreMock() as outer, PetStoreMock() as inner, inner.fresh() as fresh:
            urls.extend([outer.url, inner.url])
            with Client(fresh) as client:
                client.list("?limit=3")
            raise ZeroDivisionError

    urls: list[str] = []
    with pytest.raises(ZeroDivisionError) as caught:
        test()
    of_fresh, of_inner, of_outer = caught.value.__notes__
    assert "GET /v1/pets?limit=3" in of_fresh
    assert (urls[1] in of_inner, urls[0] in of_outer) == (True, True)


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    words: str


@pytest.mark.parametrize(
    "ending", [KeyboardInterrupt(), SystemExit(), GeneratorExit(), FrozenError("as it is")], ids=repr
)
def test_an_exception_that_takes_no_note_stays_unchanged(ending: BaseException) -> None:
    with pytest.raises(type(ending)) as caught, PetStoreMock():
        raise ending
    assert caught.value is ending
    assert not hasattr(ending, "__notes__")


# Fields with several values, and copies


def test_a_field_is_sent_for_each_value_of_its_list(petstore: PetStoreMock) -> None:
    """Both carriers do so, also for a fault that was read from JSON."""
    fault = faults.respond(200, json=[], headers={"Set-Cookie": ["a=1", "b=2"], "Vary": "Accept"})
    assert faults.coerce(json.loads(json.dumps(fault.to_data()))) == fault
    assert "a=1" not in str(fault)
    petstore.inject(fault, on="listPets")
    with petstore, Client(petstore, "wsgi") as one, Client(petstore) as two:
        for client in (one, two):
            response = client.bare("GET", "/v1/pets", [*petstore.headers.items()])
            assert (response.all("Set-Cookie"), response.all("Vary")) == (["a=1", "b=2"], ["Accept"])
    assert [value for name, value in petstore.journal.last.response_fields if name == "Set-Cookie"] == ["a=1", "b=2"]


@pytest.mark.parametrize("headers", [{"A": ["b\n"]}, {"A": [["b"]]}, {"Connection": ["close"]}, {"A": None}], ids=str)
def test_a_field_in_a_list_follows_the_same_rules(headers: dict[str, Any]) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected (a header field that HTTP allows|no Connection)"):
        faults.respond(200, headers=headers)


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("name", ["self", "journal", "clock", "app", "httpserver", "handle", "snapshot", "block"])
def test_the_error_of_a_copy_advises_to_pass_the_address_and_the_key(
    petstore: PetStoreMock, name: str, through: Callable[[object], object]
) -> None:
    """A spawned process or Django's setUpTestData would copy the object."""
    made = {"self": petstore, "handle": petstore.inject(503), "snapshot": petstore.snapshot()}
    found = {**made, "block": petstore.expect_violation()}.get(name) or getattr(petstore, name)
    with pytest.raises(PetStoreMockError, match=r"petstore\.url and petstore\.api_key"):
        through([found] if through is not copy.copy else found)
