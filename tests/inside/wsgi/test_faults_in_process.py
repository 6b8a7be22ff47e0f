"""Faults as a client of the WSGI app sees them: bodies, delays, and those that need a socket."""

from __future__ import annotations

import contextlib
import io
import json
import threading
import time
from typing import TYPE_CHECKING, Any
from wsgiref.handlers import SimpleHandler
from wsgiref.util import is_hop_by_hop, setup_testing_defaults

import pytest
from werkzeug.middleware.lint import LintMiddleware
from werkzeug.test import Client

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from werkzeug.test import TestResponse

    from petstore_mock.contract.interface import OperationName

PATIENCE = 30  # seconds; only what hangs takes so long
NEW_PET = {"name": "Rex", "categoryId": 1}


class Caller:
    """A client of one mock in process."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self._client = Client(LintMiddleware(petstore.app))
        self._petstore = petstore

    def list(self) -> TestResponse:
        return self._client.get("/v1/pets", headers=self._petstore.headers)

    def create(self) -> TestResponse:
        return self._client.post("/v1/pets", json=NEW_PET, headers=self._petstore.headers)

    def get(self, pet_id: int = 1) -> TestResponse:
        return self._client.get(f"/v1/pets/{pet_id}", headers=self._petstore.headers)

    def head(self) -> TestResponse:
        return self._client.head("/v1/pets", headers=self._petstore.headers)


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    petstore = PetStoreMock(self_check=True, seed=1)
    yield petstore
    petstore.reset()


@pytest.fixture
def caller(petstore: PetStoreMock) -> Caller:
    return Caller(petstore)


def error_of(response: TestResponse) -> dict[str, Any]:
    """Return the error body (§2), once it is found to be one."""
    body = json.loads(response.data)
    assert body.keys() == {"code", "message", "status"}
    assert body["status"] == response.status_code
    assert response.content_type == "application/json"
    assert isinstance(body, dict)
    return body


# Status answers


@pytest.mark.parametrize(
    ("fault", "on", "status", "code"),
    [
        (401, "listPets", 401, "unauthorized"),
        (faults.unauthorized(), "createPet", 401, "unauthorized"),
        (404, "getPet", 404, "not_found"),
        (faults.not_found(), "getPet", 404, "not_found"),
        (400, "createPet", 400, "invalid_body"),
        (faults.bad_request(), "createPet", 400, "invalid_body"),
        (429, "listPets", 429, "rate_limited"),
        (500, "createPet", 500, "internal_server_error"),
        (503, "getPet", 503, "service_unavailable"),
        (faults.server_error(502), "listPets", 502, "bad_gateway"),
        (403, "listPets", 403, "forbidden"),
        (599, "listPets", 599, "error"),
    ],
)
def test_status_alone_answers_with_an_error_body(
    petstore: PetStoreMock, caller: Caller, fault: int | faults.Fault, on: OperationName, status: int, code: str
) -> None:
    petstore.inject(fault, on=on)
    response = {"listPets": caller.list, "createPet": caller.create, "getPet": caller.get}[on]()
    assert response.status_code == status
    assert error_of(response)["code"] == code


def test_injected_401_carries_its_challenge(petstore: PetStoreMock, caller: Caller) -> None:
    """RFC 9110 §15.5.2: a 401 without WWW-Authenticate is none."""
    petstore.inject(401, on="listPets")
    assert 'error="invalid_token"' in caller.list().headers["WWW-Authenticate"]


@pytest.mark.parametrize(("status", "name"), [(407, "Proxy-Authenticate"), (426, "Upgrade")])
def test_fields_that_a_wsgi_application_must_not_send_are_left_out(
    petstore: PetStoreMock, status: int, name: str
) -> None:
    """PEP 3333 leaves them to the server, and that of the standard library answers 500 for them."""
    assert is_hop_by_hop(name)
    petstore.inject(status, off_contract=True)
    environ: dict[str, object] = {"PATH_INFO": "/v1/pets"}
    environ |= {f"HTTP_{field.upper()}": value for field, value in petstore.headers.items()}
    setup_testing_defaults(environ)
    told = io.BytesIO()
    handler = SimpleHandler(io.BytesIO(), told, io.StringIO(), environ)  # type: ignore[arg-type]
    handler.run(petstore.app)
    assert told.getvalue().startswith(f"HTTP/1.0 {status} ".encode())
    assert f"\r\n{name}:".encode() not in told.getvalue()


def test_message_tells_that_the_answer_was_injected(petstore: PetStoreMock, caller: Caller) -> None:
    """Who debugs a client must not look for the mistake in its request."""
    petstore.inject(404, on="getPet")
    assert "injected: not_found()" in error_of(caller.get())["message"]


@pytest.mark.parametrize(
    ("retry_after", "value"), [(7, "7"), ("2030-12-05", "Thu, 05 Dec 2030 00:00:00 GMT"), (None, None)]
)
def test_429_says_when_to_come_back(
    petstore: PetStoreMock,
    caller: Caller,
    retry_after: float | str | None,
    value: str | None,
) -> None:
    petstore.inject(faults.rate_limited(retry_after))
    response = caller.list()
    assert response.status_code == 429
    assert response.headers.get("Retry-After") == value
    error_of(response)


def test_5xx_as_html(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.respond(502, body="<h1>Bad gateway</h1>"))
    response = caller.list()
    assert (response.status_code, response.data) == (502, b"<h1>Bad gateway</h1>")
    assert response.content_type == "text/html; charset=utf-8"


def test_5xx_empty(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.respond(503, body=b""))
    response = caller.list()
    assert (response.status_code, response.data) == (503, b"")
    assert response.headers["Content-Length"] == "0"
    assert "Content-Type" not in response.headers


def test_5xx_with_another_json_body(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.respond(500, json={"error": "böse"}))
    response = caller.list()
    assert response.json == {"error": "böse"}
    assert response.content_type == "application/json"


def test_headers_of_the_fault_win(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.respond(503, headers={"Server": "nginx", "X-Cache": "MISS", "content-type": ""}))
    response = caller.list()
    assert response.headers.getlist("Server") == ["nginx"]
    assert response.headers["X-Cache"] == "MISS"
    assert "Content-Type" not in response.headers


@pytest.mark.parametrize("status", [204, 304])
def test_status_without_a_body_has_none(petstore: PetStoreMock, caller: Caller, status: int) -> None:
    petstore.inject(status)
    response = caller.list()
    assert (response.status_code, response.data) == (status, b"")


@pytest.mark.parametrize(
    "fault",
    [503, faults.respond(503, body=""), faults.respond(502, body="<p>"), faults.respond(500, json={}), 204, 401],
    ids=str,
)
def test_every_answer_names_the_fake_once(petstore: PetStoreMock, caller: Caller, fault: int | faults.Fault) -> None:
    petstore.inject(fault)
    assert caller.list().headers.getlist("Server") == ["petstore-mock"]


def test_redirect_has_its_location(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.respond(307, body="", headers={"Location": "http://elsewhere.test/"}))
    response = caller.list()
    assert (response.status_code, response.headers["Location"]) == (307, "http://elsewhere.test/")


def test_head_gets_the_fault_without_its_body(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(503)
    response = caller.head()
    assert (response.status_code, response.data) == (503, b"")
    assert int(response.headers["Content-Length"]) > 0


# Garbled answers


@pytest.mark.parametrize("call", ["list", "create", "get"])
def test_malformed_json_is_none(petstore: PetStoreMock, caller: Caller, call: str) -> None:
    petstore.inject(faults.malformed_json())
    response = getattr(caller, call)()
    assert response.status_code in {200, 201}
    assert response.content_type == "application/json"
    with pytest.raises(ValueError, match=r"."):
        json.loads(response.data)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_malformed_json_is_none_whatever_the_list(seed: int) -> None:
    petstore = PetStoreMock(seed=seed)
    petstore.inject(faults.malformed_json())
    with pytest.raises(ValueError, match=r"."):
        json.loads(Caller(petstore).list().data)


def test_wrong_content_type_has_the_right_body(petstore: PetStoreMock, caller: Caller) -> None:
    right = caller.list().data
    petstore.inject(faults.wrong_content_type())
    response = caller.list()
    assert (response.content_type, response.data) == ("text/html; charset=utf-8", right)


def test_garbled_answer_to_an_absent_animal_is_a_404(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.wrong_content_type())
    assert caller.get(77).status_code == 404


# What needs a socket


@pytest.mark.parametrize(
    "fault",
    [
        faults.hang(),
        faults.reset(),
        faults.empty_reply(),
        faults.truncate(),
        faults.dribble(100),
        faults.malformed_chunk(),
        faults.sequence(faults.reset(), 503),
    ],
    ids=str,
)
def test_fault_of_the_connection_raises_in_process(petstore: PetStoreMock, caller: Caller, fault: faults.Fault) -> None:
    petstore.inject(fault)
    kind = fault.parts[0].kind
    with pytest.raises(PetStoreMockError, match=rf"the fault {kind}\(\) needs a socket: .*petstore\.url"):
        caller.list()
    assert str(petstore.journal.last.fault).startswith(kind)


def test_fault_of_the_connection_fails_the_test_whose_client_swallows_what_was_raised(
    petstore: PetStoreMock, caller: Caller
) -> None:
    petstore.inject(faults.reset(), times=1)
    with contextlib.suppress(Exception):
        caller.list()
    with pytest.raises(VerificationError, match=r"GET /v1/pets met reset\(\), which needs a socket: .*petstore\.url"):
        petstore.verify()


# Delays


def test_delay_holds_the_answer_back(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.delay(0.05), times=1)
    began = time.monotonic()
    assert caller.list().status_code == 200
    assert 0.05 <= time.monotonic() - began < PATIENCE
    entry = petstore.journal.last
    assert entry.outcome == "delayed"
    assert entry.duration >= 0.05


@pytest.mark.parametrize(("at", "stored"), [("before_commit", 1), ("after_commit", 2)])
def test_late_error_says_what_it_is_after_its_time(
    petstore: PetStoreMock,
    caller: Caller,
    at: Any,  # noqa: ANN401
    stored: int,
) -> None:
    petstore.inject(faults.server_error(503, delay=0.05), on="createPet", at=at)
    began = time.monotonic()
    answer = caller.create()
    assert 0.05 <= time.monotonic() - began < PATIENCE
    assert (answer.status_code, error_of(answer)["code"]) == (503, "service_unavailable")
    assert len(petstore.pets) == stored
    entry = petstore.journal.last
    assert (entry.status, entry.outcome, entry.duration >= 0.05) == (503, "delayed", True)


def test_delays_before_and_after_the_commit_add_up(petstore: PetStoreMock, caller: Caller) -> None:
    for at in ("before_commit", "after_commit"):
        petstore.inject(faults.delay(0.05), on="createPet", at=at, times=1)
    began = time.monotonic()
    assert caller.create().status_code == 201
    assert time.monotonic() - began >= 0.1
    assert petstore.journal.last.duration >= 0.1
    assert not petstore.tenant.world.deferred  # nothing is held any more


def later(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.mark.parametrize(("at", "stored"), [("before_commit", 1), ("after_commit", 2)])
def test_delay_stands_before_or_after_the_commit(petstore: PetStoreMock, caller: Caller, at: Any, stored: int) -> None:  # noqa: ANN401
    petstore.inject(faults.delay(600), on="createPet", at=at)
    answers = []
    thread = later(lambda: answers.append(caller.create().status_code))
    petstore.journal.wait_for("createPet", timeout=PATIENCE)
    assert len(petstore.pets) == stored
    assert petstore.journal.last.status == (None if at == "before_commit" else 201)
    petstore.reset()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert answers == [503 if at == "before_commit" else 201]


def test_reset_lets_a_delayed_answer_go_and_commits_nothing(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.delay(600), on="createPet")
    answers = []
    thread = later(lambda: answers.append(caller.create()))
    (entry,) = petstore.journal.wait_for("createPet", timeout=PATIENCE)
    petstore.reset()
    thread.join(PATIENCE)
    assert entry.duration < PATIENCE
    assert len(petstore.pets) == 1
    assert error_of(answers[0])["code"] == "reset"
    assert len(petstore.journal) == 0


def test_stop_lets_a_delayed_answer_go_and_commits_nothing(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.delay(600), on="createPet")
    answers = []
    thread = later(lambda: answers.append(caller.create()))
    (entry,) = petstore.journal.wait_for("createPet", timeout=PATIENCE)
    petstore.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert len(petstore.pets) == 1, "as over a socket, where the connection ends"
    assert answers[0].status_code == entry.status == 503


def test_delay_blocks_nobody_else(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.delay(600), on="createPet", times=1)
    thread = later(caller.create)
    petstore.journal.wait_for("createPet", timeout=PATIENCE)
    assert caller.list().status_code == 200
    petstore.reset()
    thread.join(PATIENCE)


def test_fault_after_the_commit_still_meets_a_delayed_request(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.delay(0.01), on="createPet", times=1)
    petstore.inject(503, on="createPet", at="after_commit", times=1)
    assert caller.create().status_code == 503
    assert len(petstore.pets) == 2
    assert petstore.journal.last.decision == "fault delay(0.01), executed, fault server_error(503)"
    for fault in ("delay", "server_error", faults.delay(0.01), faults.server_error(503)):
        petstore.journal.assert_called("createPet", times=1, fault=fault)
    petstore.verify()


# The journal and the verification


def test_journal_tells_the_fault(petstore: PetStoreMock, caller: Caller) -> None:
    petstore.inject(faults.sequence(503, faults.malformed_json()), on="listPets")
    caller.list()
    caller.list()
    assert [entry.status for entry in petstore.journal] == [503, 200]
    petstore.journal.assert_called("listPets", times=1, fault="server_error", status=503)
    petstore.journal.assert_called("listPets", times=1, fault="malformed_json", status=200)


def test_when_that_raises_fails_the_test(petstore: PetStoreMock, caller: Caller) -> None:
    """The request passes; the verification names the fault and the error."""
    petstore.inject(503, on="listPets", when=lambda request: request.json()["name"] == "Rex")
    assert caller.list().status_code == 200
    with pytest.raises(VerificationError) as failure:
        petstore.verify()
    text = str(failure.value)
    assert text.startswith("the when= of inject(server_error(503), on='listPets', when=...) raised JSONDecodeError")
    assert isinstance(failure.value.__cause__, PetStoreMockError)
    assert isinstance(failure.value.__cause__.__cause__, json.JSONDecodeError)


def test_fault_breaks_the_contract_without_failing_the_self_check(petstore: PetStoreMock, caller: Caller) -> None:
    for fault in (faults.malformed_json(), faults.wrong_content_type(), faults.respond(200, json={"no": "list"})):
        with petstore.inject(fault, on="listPets"):
            assert caller.list().status_code == 200
    petstore.verify()
