"""A request leaves nothing for the collector: what it held on to goes with its journal entry."""

from __future__ import annotations

import gc
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock, faults
from tests.inside.live.raw import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Send = Callable[[str, str, bytes], int]

pytestmark = pytest.mark.untraced

REX = b'{"name":"Rex","categoryId":1}'
ASKED = (
    ("POST", "/v1/pets", REX, 201),
    ("GET", "/v1/pets?limit=3", b"", 200),
    ("GET", "/v1/pets/1", b"", 200),
    ("GET", "/v1/pets/999999", b"", 404),
    ("GET", "/v1/pets?limit=0", b"", 400),
    ("PUT", "/v1/pets", b"", 405),
    ("POST", "/v1/pets", b'{"name":', 400),
    ("POST", "/v1/pets", b'{"name":1}', 400),
)
REQUESTS = 100_000
KEPT = 10_000  # requests in the journal
GROWTH = 2 << 20  # bytes, beyond the animals that were created
PET = 600  # bytes an animal


def over_wsgi(petstore: PetStoreMock) -> Send:
    def send(method: str, target: str, body: bytes) -> int:
        path, _, query = target.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "HTTP_AUTHORIZATION": f"Bearer {petstore.api_key}",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        }
        begun: list[str] = []
        b"".join(petstore.app(environ, lambda status, *_: begun.append(status)))  # type: ignore[arg-type]  # PEP 3333's write(), never used
        return int(begun[0][:3])

    return send


def over_the_socket(petstore: PetStoreMock, client: RawClient) -> Send:
    def send(method: str, target: str, body: bytes) -> int:
        head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {petstore.api_key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return client.send(head.encode() + body).answer().status

    return send


@pytest.fixture(params=["wsgi", "socket"])
def petstore_and_send(request: pytest.FixtureRequest) -> Iterator[tuple[PetStoreMock, Send]]:
    if request.param == "wsgi":
        petstore = PetStoreMock()
        yield petstore, over_wsgi(petstore)
    else:
        with PetStoreMock() as petstore, RawClient(petstore.httpserver) as client:
            yield petstore, over_the_socket(petstore, client)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def ask(send: Send, rounds: int) -> None:
    for _ in range(rounds):
        for method, target, body, status in ASKED:
            assert send(method, target, body) == status


def cycles_of(work: Callable[[], None]) -> int:
    """Return how many objects are left for the collector each time; a thread of an earlier test may end once."""
    gc.collect()
    left = []
    for _ in range(3):
        work()
        left.append(gc.collect())
    return min(left)


@pytest.mark.usefixtures("no_collector")
def test_requests_leave_no_cycles(petstore_and_send: tuple[PetStoreMock, Send]) -> None:
    petstore, send = petstore_and_send
    ask(send, 3)  # what is made once

    def asked() -> None:
        ask(send, 100)
        petstore.reset()  # the journal lets its entries go

    assert cycles_of(asked) == 0


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("at", ["before_commit", "after_commit"])
@pytest.mark.parametrize(
    "fault", [faults.delay(0), faults.server_error(503, delay=0), faults.malformed_json()], ids=str
)
def test_faults_leave_no_cycles(petstore_and_send: tuple[PetStoreMock, Send], fault: faults.Fault, at: Any) -> None:  # noqa: ANN401
    petstore, send = petstore_and_send
    petstore.inject(fault, on="createPet", at=at)
    for _ in range(3):
        send("POST", "/v1/pets", REX)

    def asked() -> None:
        for _ in range(50):
            send("POST", "/v1/pets", REX)
        petstore.journal.clear()

    assert cycles_of(asked) == 0


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("fault", [faults.delay(0.001), faults.dribble(100_000)], ids=str)
def test_answers_that_wait_for_a_timer_leave_no_cycles(fault: faults.Fault) -> None:
    with PetStoreMock() as petstore, RawClient(petstore.httpserver) as client:
        send = over_the_socket(petstore, client)
        petstore.inject(fault)
        for _ in range(3):
            send("POST", "/v1/pets", REX)

        def asked() -> None:
            for _ in range(50):
                assert send("POST", "/v1/pets", REX) == 201
            petstore.journal.clear()

        assert cycles_of(asked) == 0


@pytest.mark.soak
@pytest.mark.usefixtures("no_collector")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell resident memory")
def test_a_hundred_thousand_requests_without_the_collector_grow_by_the_journal_alone(
    petstore_and_send: tuple[PetStoreMock, Send],
) -> None:
    petstore, send = petstore_and_send

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    ask(send, KEPT // len(ASKED) + 1000)  # the journal holds as much as it ever will
    gc.collect()
    before, animals = resident(), len(petstore.pets)
    ask(send, REQUESTS // len(ASKED))
    created = len(petstore.pets) - animals
    assert petstore.journal.total >= REQUESTS
    assert resident() - before <= GROWTH + created * PET
    assert gc.collect() == 0
