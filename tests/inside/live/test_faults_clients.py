"""Every fault as real clients see it, and what lets the held ones go."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import pytest
import urllib3

from petstore_mock import PetStoreMock, faults
from tests.inside.live.raw import PATIENCE, RawClient, eventually
from tools.documents.fault_clients import CLIENTS, PET, ROWS, TIMEOUT, Row, ask, documented, measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.contract.interface import OperationName

pytestmark = pytest.mark.untraced

CREATE: Final = b'{"name": "Tom", "categoryId": 2}'


@pytest.fixture(scope="module")
def listening() -> Iterator[PetStoreMock]:
    with PetStoreMock(self_check=True) as petstore:
        for client in CLIENTS:  # the first request of each pays for imports
            ask(client, petstore, "listPets")
        yield petstore


@pytest.fixture
def petstore(listening: PetStoreMock) -> Iterator[PetStoreMock]:
    with listening.fresh(seed=[PET]) as petstore:
        yield petstore


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
def test_every_client_sees_what_the_table_says(listening: PetStoreMock, row: Row) -> None:
    """Another cell than the document's: run `make generated` and judge the difference."""
    cells = documented()
    assert measured(row, listening) == {client: cells[row.label, client] for client in CLIENTS}


def test_table_has_every_fault_and_every_client() -> None:
    assert list(documented()) == [(row.label, client) for row in ROWS for client in CLIENTS]
    kinds = {row.fault.kind for row in ROWS}
    assert kinds == set(faults.__all__) - {"Fault", "coerce", "sequence", "tls"}


# Each wire fault on each operation, byte by byte

RESET: Final = "ConnectionResetError (ECONNRESET)"
WIRE_FAULTS: Final[dict[str, tuple[faults.Fault, str, str | None]]] = {
    # fault: what the socket shows, and the outcome in the journal; {status} and {size} are the operation's
    "reset": (faults.reset(), RESET, "reset"),
    "empty_reply": (faults.empty_reply(), "end after 0 bytes", "empty reply"),
    "hang": (faults.hang(), "TimeoutError", "hang"),
    "truncate": (faults.truncate(0.5), "{status}, then end after {half} of {size} bytes", "truncated"),
    "truncate all": (faults.truncate(0), "{status}, then end after 0 of {size} bytes", "truncated"),
    "dribble": (faults.dribble(2000), "{status}", "dribbled"),
    "malformed_chunk": (
        faults.malformed_chunk(),
        "{status}, then end in a chunk of size `no-chunk-size`",
        "malformed chunk",
    ),
    "malformed_json": (faults.malformed_json(), "{status}, then JSONDecodeError", None),
    "delay": (faults.delay(0.02), "{status}", "delayed"),
    "status": (faults.server_error(503), "503", None),
}


@pytest.mark.parametrize("on", ["listPets", "createPet", "getPet"])
@pytest.mark.parametrize("name", WIRE_FAULTS)
def test_fault_is_what_it_says_on_every_operation(petstore: PetStoreMock, name: str, on: OperationName) -> None:
    fault, expected, outcome = WIRE_FAULTS[name]
    assert ask("raw socket", petstore, on) == ("201" if on == "createPet" else "200")
    size = len(petstore.journal.last.response_body)
    petstore.inject(fault, on=on, times=1)
    status = 201 if on == "createPet" else 200
    timeout = TIMEOUT if name == "hang" else PATIENCE
    assert ask("raw socket", petstore, on, timeout) == expected.format(status=status, size=size, half=size // 2)
    entry = petstore.journal.last
    eventually(lambda: entry.outcome == outcome, f"{outcome} in the journal")
    assert entry.fault is fault
    assert ask("raw socket", petstore, on) == f"{status}"


@pytest.mark.parametrize("name", WIRE_FAULTS)
@pytest.mark.parametrize(("at", "created"), [("before_commit", False), ("after_commit", True)])
def test_placement_decides_whether_the_animal_exists(petstore: PetStoreMock, name: str, at: str, created: bool) -> None:
    petstore.inject(WIRE_FAULTS[name][0], on="createPet", times=1, at=at)  # type: ignore[arg-type]  # one of the two
    ask("raw socket", petstore, "createPet", TIMEOUT if name == "hang" else PATIENCE)
    # What only slows loses nothing: whoever waits gets the animal, wherever the fault stood.
    slow = name in {"delay", "dribble"}
    assert [pet["name"] for pet in petstore.pets[1:]] == (["Tom"] if created or slow else [])


def test_wire_faults_follow_one_another_in_a_sequence(petstore: PetStoreMock) -> None:
    petstore.inject(faults.sequence(faults.reset(), 503, faults.empty_reply()), on="getPet")
    seen = [ask("raw socket", petstore) for _ in range(4)]
    assert seen == [RESET, "503", "end after 0 bytes", "200"]


def test_default_retries_of_urllib3_show_in_the_journal(petstore: PetStoreMock) -> None:
    petstore.inject(faults.reset(), on="getPet")
    with urllib3.PoolManager() as pool, pytest.raises(urllib3.exceptions.MaxRetryError):
        pool.request("GET", f"{petstore.url}/pets/1", headers=petstore.headers)
    petstore.journal.assert_called("getPet", times=4, fault="reset")


# Letting go


def _create(petstore: PetStoreMock) -> RawClient:
    """Send a createPet on a connection of its own, and don't wait for the answer."""
    client = RawClient(petstore.httpserver)
    fields = f"Authorization: Bearer {petstore.api_key}\r\nContent-Type: application/json"
    head = f"POST /v1/pets HTTP/1.1\r\nHost: x\r\n{fields}\r\nContent-Length: {len(CREATE)}\r\n\r\n"
    return client.send(head.encode() + CREATE)


HELD: Final[dict[str, tuple[faults.Fault, str]]] = {
    "hang": (faults.hang(), "before_commit"),
    "delay before": (faults.delay(60), "before_commit"),
    "delay after": (faults.delay(60), "after_commit"),
    "dribble": (faults.dribble(1), "before_commit"),
}


@pytest.mark.parametrize("how", ["reset", "stop", "restore"])
@pytest.mark.parametrize("held", HELD)
def test_reset_and_stop_let_go_what_is_held(held: str, how: str) -> None:
    fault, at = HELD[held]
    with PetStoreMock() as petstore:
        petstore.inject(fault, on="createPet", at=at)  # type: ignore[arg-type]  # one of the two
        with _create(petstore) as client:
            (entry,) = petstore.journal.wait_for("createPet", timeout=PATIENCE)
            began = time.monotonic()
            if how == "restore":
                petstore.restore(petstore.snapshot())
            else:
                getattr(petstore, how)()
            with pytest.raises(ConnectionResetError):
                client.rest()
            assert time.monotonic() - began < 1  # of 60
            assert entry.outcome == ("hang" if held == "hang" else "reset"), "it was not the client who left"


def test_client_that_leaves_during_a_delay_leaves_nothing_behind(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(60), on="createPet")
    with _create(petstore):
        (entry,) = petstore.journal.wait_for("createPet", timeout=PATIENCE)
    eventually(lambda: entry.outcome == "client gone", "the client's leaving in the journal")
    assert petstore.pets == [PET]
    assert entry.status is None


def test_client_that_leaves_a_hang_ends_it(petstore: PetStoreMock) -> None:
    petstore.inject(faults.hang(), on="createPet")
    with _create(petstore):
        petstore.journal.wait_for("createPet", timeout=PATIENCE)
        eventually(lambda: petstore.tenant.world.deferred, "the answer held")  # it has no public sign
    eventually(lambda: not petstore.tenant.world.deferred, "the hang ended")


def test_held_answers_block_nobody_else(petstore: PetStoreMock) -> None:
    petstore.inject(faults.hang(), on="createPet")
    clients = [_create(petstore) for _ in range(20)]
    try:
        petstore.journal.wait_for("createPet", times=20, timeout=PATIENCE)
        assert [ask(client, petstore) for client in CLIENTS] == ["200"] * len(CLIENTS)
    finally:
        for client in clients:
            client.socket.close()
