"""Services that hang, reset, send a wrong length or speak another protocol. ``verify`` always ends with a verdict."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, faults
from tests.verify.services import (
    ENOUGH,
    Anything,
    Turn,
    ask,
    broken,
    changed,
    fixed,
    listening,
    removed_ids,
    result_of,
    served,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
OK = HEAD + b"Content-Length: 2\r\n\r\n[]"


def head_of(connection: socket.socket) -> bytes:
    """Read and return the head of a request, but not its body."""
    found = b""
    while b"\r\n\r\n" not in found:
        block = connection.recv(4096)
        if not block:
            raise OSError
        found += block
    return found


def always(response: bytes) -> Callable[[socket.socket], None]:
    def handle(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(response)

    return handle


def silence(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


NOTHING_READABLE: dict[str, Callable[[socket.socket], None]] = {
    "silence": silence,
    "closes at once": lambda _: None,
    "garbage": always(b"\x00\x01\x02 hello\r\n\r\n"),
    "a greeting of another protocol": lambda connection: connection.sendall(b"220 mail.example.com ESMTP\r\n"),
    "a head without an end": always(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000),
    "the status is no number": always(b"HTTP/1.1 twohundred OK\r\n\r\n"),
    "two lengths": always(HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n[] "),
    "a length of 5000 digits": always(HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n[]"),
}


@pytest.mark.parametrize("kind", NOTHING_READABLE)
def test_no_clause_could_be_checked_without_a_readable_response(kind: str) -> None:
    began = time.monotonic()
    with listening(NOTHING_READABLE[kind]) as url:
        verdict = ask(url, timeout=0.3, allow_create=1)
    assert verdict.exit_code == 3, verdict
    assert {clause.result for clause in verdict.clauses} == {"could_not_check"}
    assert (verdict.stopped or "").startswith("no readable response arrived: ")
    assert verdict.requests <= 4
    assert time.monotonic() - began < 5


def endless(connection: socket.socket) -> None:
    head_of(connection)
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")


def hanging_in_the_body(connection: socket.socket) -> None:
    head_of(connection)
    connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n[")
    silence(connection)


def dripping(connection: socket.socket) -> None:
    head_of(connection)
    connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n")
    for _ in range(100):
        connection.sendall(b" ")
        time.sleep(0.05)


LIES: dict[str, tuple[str, Callable[[socket.socket], None]]] = {
    "truncated": ("4.1-list", always(HEAD + b"Content-Length: 100\r\n\r\n[]")),
    "chunks without an end": ("4.1-list", always(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n")),
    "hangs in the body": ("4.1-list", hanging_in_the_body),
    "drips": ("4.1-list", dripping),
    "bytes beyond the length": ("1-http", always(OK + b"more")),
    "a second response behind the first": ("1-http", always(OK + OK)),
    "an empty response behind the first": ("1-http", always(OK + b"HTTP/1.1 204 No Content\r\n\r\n")),
    "bad chunks": ("1-http", always(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n")),
    "gzip without gzip data": ("1-http", always(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]")),
    "switches protocols": ("1-http", always(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")),
    "endless body": ("1-http", endless),
}


@pytest.mark.parametrize("kind", LIES)
def test_a_wrong_body_after_a_readable_head_breaks_a_clause(kind: str) -> None:
    clause, handle = LIES[kind]
    began = time.monotonic()
    # The endless body ends at the limit of bytes, not at the timeout.
    timeout = 5.0 if kind == "endless body" else 0.3
    with listening(handle) as url:
        verdict = ask(url, timeout=timeout, max_requests=20)
    assert (kind == "endless body") is ("the body does not end within" in str(verdict))
    assert verdict.exit_code == 1, verdict
    assert clause in broken(verdict)
    assert broken(verdict).keys() <= {clause, "4.3-get", "4.3-absent", "4.3-int64"}
    assert time.monotonic() - began < max(10, 20 * timeout)


@pytest.mark.seconds
@pytest.mark.parametrize("hundreds", range(1, 6))
def test_every_status_ends_with_a_verdict(hundreds: int) -> None:
    status = 0

    def handle(connection: socket.socket) -> None:
        head_of(connection)
        fields = b"Content-Type: application/json\r\nUpgrade: x\r\nConnection: upgrade\r\nContent-Length: 2"
        connection.sendall(b"HTTP/1.1 %d X\r\n%b\r\n\r\n[]" % (status, fields))

    with listening(handle) as url:
        for status in range(hundreds * 100, hundreds * 100 + 100):
            verdict = ask(url, timeout=0.5, max_requests=2)
            assert verdict.exit_code in {0, 1, 3}, (status, verdict)
            assert verdict.requests, status


def test_an_unrequested_content_coding_is_decoded_and_noted() -> None:
    body = gzip.compress(b"[]")
    length = f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with listening(always(HEAD + length + body)) as url:
        verdict = ask(url)
    assert result_of(verdict, "4.1-list") == "holds"
    assert "responses have Content-Encoding: gzip although the requests accept only identity" in verdict.notes


def test_a_hanging_operation_costs_three_timeouts_and_is_one_finding() -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(faults.hang(), on="getPet")
        began = time.monotonic()
        verdict = ask(petstore.url, petstore.api_key, timeout=0.4)
        assert len(petstore.journal.for_operation("getPet")) == 3
    assert time.monotonic() - began < 4
    assert broken(verdict).keys() == {"4.3-get"}
    assert "getPet timed out 3 times" in str(verdict)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_silent_service_costs_four_timeouts(scheme: str) -> None:
    began = time.monotonic()
    with listening(silence) as url:
        verdict = ask(url.replace("http", scheme), timeout=0.4)
    assert (verdict.exit_code, verdict.requests) == (3, 4)
    assert time.monotonic() - began < 6


def test_a_host_name_with_many_silent_addresses_costs_no_extra_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):  # a full queue takes no more connections
            client = opened.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(server.getsockname())
        addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", server.getsockname())] * 6
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        began = time.monotonic()
        verdict = ask("http://many.example/v1", timeout=0.4)
    assert verdict.exit_code == 3
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(("delay", "options"), [(0.2, {}), (0.001, {"rate": 0.01}), (0.001, {"timeout": 20.0})])
def test_the_run_ends_at_the_deadline_with_a_verdict_on_the_requests_so_far(
    delay: float, options: dict[str, float]
) -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(faults.delay(delay), on="listPets")
        petstore.inject(faults.hang(), on="getPet")
        began = time.monotonic()
        verdict = ask(petstore.url, petstore.api_key, **{"deadline": 1.0, **options})
        assert time.monotonic() - began < 5
    assert (broken(verdict), verdict.exit_code) == ({}, 0)
    assert result_of(verdict, "4.1-list") == "holds"
    assert "the limit --deadline 1 s is reached" in str(verdict)


def without_limit(count: int, change: Callable[[list[Anything]], object] = len) -> Callable[..., list[bytes]]:
    """Return a service of ``count`` animals that ignores every query."""
    pets = [
        {"id": number, "name": f"Pet {number}", "categoryId": 1, "status": "sold"} for number in range(1, count + 1)
    ]
    change(pets)
    body = json.dumps(pets).encode()

    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return app


@pytest.mark.seconds
@pytest.mark.untraced
def test_the_work_after_a_response_does_not_grow_with_animals_times_requests() -> None:
    """Without a bound, ten times the animals took ten times the time."""
    took: list[float] = []
    for count in (400, 400, 4_000):
        with served(without_limit(count)) as url:
            began = time.process_time()
            verdict = ask(url, deadline=60.0)
            took.append(time.process_time() - began)
        assert verdict.requests > 30
        assert "4.1-limit-counts" in broken(verdict), verdict
        assert f"at most 100, not {count}" in broken(verdict)["4.1-limit-counts"]
    assert took[2] < 4 * took[1]


@pytest.mark.seconds
def test_a_wrong_animal_at_the_end_of_a_long_list_is_found() -> None:
    def last_is_wrong(pets: list[Anything]) -> None:
        pets[-1]["categoryId"] = "one"

    with served(without_limit(2_000, last_is_wrong)) as url:
        verdict = ask(url)
    assert result_of(verdict, "2-pet-category") == "broken", verdict


def test_a_created_animal_at_the_end_of_a_long_list_is_found() -> None:
    def lengthen(turn: Turn) -> None:
        if turn.name == "list" and turn.status == 200:
            others = [{"id": number, "name": "x", "categoryId": 1} for number in range(10**6, 10**6 + 1_000)]
            turn.document = [*others, *turn.document]

    with changed(lengthen) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert "4.1-limit-counts" in broken(verdict)
    assert {"4.2-listed", "4.2-kept", "4.2-same-animal"}.isdisjoint(broken(verdict)), verdict


@pytest.mark.parametrize("kind", ["hangs in the body", "drips"])
def test_a_service_that_hangs_after_its_head_keeps_to_the_deadline(kind: str) -> None:
    began = time.monotonic()
    with listening(LIES[kind][1]) as url:
        verdict = ask(url, deadline=1.0, timeout=60.0)
    assert time.monotonic() - began < 5
    assert "the limit --deadline 1 s is reached" in str(verdict)


def late_without_a_body(turn: Turn) -> None:
    if turn.name == "create" and turn.status == 400 and turn.environ["CONTENT_LENGTH"] == "0":
        time.sleep(0.9)


def test_a_refusal_after_the_timeout_breaks_the_clause_of_its_request() -> None:
    with changed(late_without_a_body) as (petstore, url):
        verdict = ask(url, petstore.api_key, timeout=0.6, allow_create=ENOUGH)
    assert broken(verdict).keys() == {"4.2-body-required"}


@pytest.mark.parametrize("operation", ["listPets", "getPet", "createPet"])
def test_a_repeated_5xx_breaks_the_clause_of_its_operation(operation: Anything) -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(500, on=operation)
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    clause = {"listPets": "4.1-list", "getPet": "4.3-get", "createPet": "4.2-created"}[operation]
    assert clause in broken(verdict), verdict
    assert "got 500" in broken(verdict)[clause]
    assert verdict.exit_code == 1


@pytest.mark.parametrize("fault", [faults.reset(), faults.truncate(), faults.hang(), 503], ids=str)
def test_a_create_with_a_lost_response_is_not_retried_and_is_in_the_receipt(fault: Anything, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(fault, on="createPet", at="after_commit", times=1)
        verdict = ask(petstore.url, petstore.api_key, timeout=1.5, allow_create=ENOUGH, receipt=receipt)
        bodies = [entry.body for entry in petstore.journal.for_operation("createPet") if entry.body]
        made, removed = {pet["id"] for pet in petstore.pets[30:]}, removed_ids(petstore)
    named = [body for body in bodies if b"Verify" in body]
    # On purpose, one create has the name of another one.
    assert len(named) - len({*named}) == 1
    ids = [json.loads(line)["id"] for line in receipt.read_text(encoding="utf-8").splitlines()]
    assert ids.count(None) == 1
    assert len(ids) - len(removed) == len(made) == verdict.created
    assert {*ids} - {None} <= made | removed
    assert any("verify does not retry a create" in note for note in verdict.notes)


def test_an_outage_breaks_no_clause() -> None:
    answered = 0

    def handle(connection: socket.socket) -> None:
        nonlocal answered
        while answered < 2:
            head_of(connection)
            answered += 1
            connection.sendall(OK)

    with listening(handle) as url:
        verdict = ask(url, timeout=0.2)
    assert (broken(verdict), verdict.exit_code) == ({}, 3)
    assert "the service stopped responding" in (verdict.stopped or "")


@pytest.mark.parametrize(
    ("status", "field", "words"),
    [
        ("302 Found", ("Location", "https://example.com/login"), "https://example.com/login"),
        ("500 No", ("X", "y"), "500"),
        ("429 Slow", ("Retry-After", "86400"), "'Retry-After: 86400'"),
        ("429 Slow", ("Retry-After", "Mon, 01 Jan 2024 00:00:00 +99999999999999999999"), "429"),
        ("401 No", ("Content-Type", "application/json"), "check the key"),
        ("400 Bad", ("Content-Type", "text/html"), "https://"),
    ],
)
def test_no_clause_could_be_checked_if_every_response_is_the_same_refusal(
    status: str, field: tuple[str, str], words: str
) -> None:
    with served(fixed(status, field)) as url:
        verdict = ask(url)
    assert verdict.exit_code == 3, verdict
    assert words in (verdict.stopped or "")
    assert verdict.requests <= 5
    text = " ".join(str(verdict).split())
    assert re.fullmatch(r"\S+ \S+ could not check: \d+; \d requests?; stopped: .*", text), verdict


def test_a_deadline_leaves_no_time_to_wait_after_a_429_without_retry_after() -> None:
    with served(fixed("429 Slow")) as url:
        verdict = ask(url, deadline=0.99)
    assert verdict.stopped == "GET /pets got 429 without Retry-After; a wait of 1 s is too long for the run"


@pytest.mark.parametrize(
    ("mutant", "words"),
    [("any-scheme", "-H 'Authorization: ***'"), ("get-any-key", '-H "Authorization: Bearer no-such-key"')],
)
def test_the_curl_line_repeats_the_request_without_the_key(mutant: str, words: str) -> None:
    with PetStoreMock(seed=30, mutant=mutant, api_key="a-key-that-ends-with-goldfinch") as petstore:
        verdict = ask(petstore.url, petstore.api_key)
    (found,) = verdict.broken
    assert words in found.curl
    assert "goldfinch" not in str(verdict)


def test_no_report_shows_the_key_even_if_the_service_echoes_it(tmp_path: Path) -> None:
    secret = 'so"secret\\key-goldfinch'

    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        told = environ.get("HTTP_AUTHORIZATION", "")
        body = json.dumps({"you sent": told, "at": environ["QUERY_STRING"]}).encode()
        fields = [("Content-Type", told or "x"), ("X-Link", told), ("Content-Length", str(len(body)))]
        start_response("404 X", fields)
        return [body]

    receipt = tmp_path / "receipt"
    with served(app) as url:
        verdict = ask(url, secret, allow_create=3, receipt=receipt)
    assert verdict.exit_code == 1
    for text in (str(verdict), repr(verdict), receipt.read_text()):
        assert "goldfinch" not in text


@pytest.mark.parametrize("url", [5, None, b"http://127.0.0.1/v1", "http://user:pass@127.0.0.1/v1"])
def test_a_wrong_address_is_refused_and_its_password_not_shown(url: Anything) -> None:
    words = r"^expected an ASCII base address with http:// or https:// and without a user, such as \S+; got \S+$"
    with pytest.raises(PetStoreMockError, match=words) as refused:
        ask(url)
    assert "user:" not in str(refused.value)
