"""Services that hang, reset, lie about lengths or speak no HTTP: they break clauses, and never the tool."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock, faults
from petstore_mock.verify import reports
from petstore_mock.verify.learned import learned_from
from tests.inside.verify.asking import ENOUGH, KEY, Anything, ask, broken, listening, result_of, served
from tests.inside.verify.test_broken_services import breaking, each_pet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]"


def head_of(connection: socket.socket) -> bytes:
    """Return the head of a request, whose body is left unread."""
    found = b""
    while b"\r\n\r\n" not in found:
        block = connection.recv(4096)
        if not block:
            raise OSError
        found += block
    return found


def always(answer: bytes, *, close: bool = True) -> Callable[[socket.socket], None]:
    def handle(connection: socket.socket) -> None:
        while True:
            head_of(connection)
            connection.sendall(answer)
            if close:
                return

    return handle


def silence(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def reset(connection: socket.socket) -> None:
    connection.recv(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip(connection: socket.socket) -> None:
    head_of(connection)
    for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 10_000:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


NOTHING_READABLE: dict[str, Callable[[socket.socket], None]] = {
    "silence": silence,
    "reset": reset,
    "closes at once": lambda _connection: None,
    "garbage": always(b"\x00\x01\x02 hello\r\n\r\n"),
    "a greeting of another protocol": lambda connection: connection.sendall(b"220 mail.example.com ESMTP\r\n"),
    "a byte now and then": drip,
    "HTTP/2 alone": always(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"),
    "a head without an end": always(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000),
    "the status is no number": always(b"HTTP/1.1 twohundred OK\r\n\r\n"),
    "a field without a colon": always(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
    "cut": always(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]"),
    "two lengths": always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[] "),
    "a length of minus one": always(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n[]"),
    "a length of an exabyte": always(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n[]"),
    "more than the length": always(OK + b"more"),
    "bad chunks": always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n"),
    "chunks without an end": always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n"),
    "gzip that is none": always(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]"),
    "switches protocols": always(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "an unknown coding": always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\n[]"),
}


@pytest.mark.parametrize("kind", NOTHING_READABLE)
def test_where_nothing_readable_comes_it_could_not_be_checked(kind: str) -> None:
    began = time.monotonic()
    with listening(NOTHING_READABLE[kind]) as url:
        verdict = ask(url, timeout=0.3, allow_create=1)
    assert verdict.exit_code == 3, verdict
    assert {clause.result for clause in verdict.clauses} == {"could_not_check"}
    assert verdict.stopped is not None
    assert verdict.stopped.startswith("nothing readable came: ")
    assert verdict.requests == 3
    assert time.monotonic() - began < 5


def test_an_answer_is_read_in_a_coding_that_nobody_asked_for() -> None:
    body = gzip.compress(b"[]")
    fields = ("Content-Type: application/json", "Content-Encoding: gzip", f"Content-Length: {len(body)}")
    head = "\r\n".join(("HTTP/1.1 200 OK", *fields, "", "")).encode()
    with listening(always(head + body)) as url:
        assert result_of(ask(url), "4.1-list") == "holds"


def test_silence_is_given_up_within_thirty_seconds_whatever_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petstore_mock.verify.guest._FIRST_ANSWER", 0.9)
    began = time.monotonic()
    with listening(silence) as url:
        assert ask(url, timeout=600.0).exit_code == 3
    assert time.monotonic() - began < 3


def test_a_port_where_nobody_listens_could_not_be_checked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    verdict = ask(f"http://127.0.0.1:{port}/v1")
    assert verdict.exit_code == 3
    assert "no connection: Connection refused" in str(verdict)


def test_a_host_that_does_not_exist_could_not_be_checked() -> None:
    assert ask("http://no-such-host.invalid/v1").exit_code == 3


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(
        [*command, "-keyout", str(file), "-out", str(file.with_suffix(".crt"))], check=True, capture_output=True
    )
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


def test_a_tls_port_spoken_to_in_plain_could_not_be_checked(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def handle(connection: socket.socket) -> None:
        context.wrap_socket(connection, server_side=True)

    with listening(handle) as url:
        verdict = ask(url)
        assert verdict.exit_code == 3
        assert "https://" in (verdict.stopped or "")
        secure = ask(url.replace("http:", "https:"))
        assert secure.exit_code == 3, "nobody vouches for the certificate"
        assert str(secure.stopped).endswith(" (SSL_CERT_FILE names a file of the authorities to trust)")


def test_a_tls_port_that_says_so_in_plain_could_not_be_checked_either(certificate: Path) -> None:
    """As nginx and others do, and as the stub does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def handle(connection: socket.socket) -> None:
        if connection.recv(1, socket.MSG_PEEK) == b"\x16":  # a handshake
            context.wrap_socket(connection, server_side=True).close()
        else:
            head_of(connection)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n<")

    with listening(handle) as url:
        verdict = ask(url)
    assert (verdict.exit_code, verdict.requests) == (3, 1)
    assert verdict.stopped == "that is a TLS port, which answers 400: the address begins with https://"


def test_what_answers_400_in_plain_and_speaks_no_tls_is_judged() -> None:
    with served(fixed("400 Bad Request", ("Content-Type", "application/json"))) as url:
        verdict = ask(url)
    assert verdict.exit_code == 1
    assert "4.1-list" in broken(verdict)


def test_a_plain_port_spoken_to_by_tls_is_told() -> None:
    with PetStoreMock() as petstore:
        verdict = ask(petstore.url.replace("http:", "https:"))
    assert verdict.exit_code == 3
    assert str(verdict.stopped).endswith(" (if that port speaks no TLS, the address begins with http://)")


def test_what_could_not_be_checked_at_all_is_one_line() -> None:
    with served(fixed("302 Found", ("Location", "https://example.com/login"))) as url:
        text = str(ask(url))
    assert text.count("\n") == 1
    assert text.endswith(
        "72 could not check; 3 requests; stopped: every answer is a redirect, the last one 302 to "
        "https://example.com/login, and none is followed\n"
    )


def fixed(status: str, *fields: tuple[str, str], body: bytes = b"{}") -> Anything:
    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(status, [("Content-Length", str(len(body))), *fields])
        return [body]

    return app


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ("302 Found", (("Location", "https://example.com/login"),)),
        ("500 No", ()),
        ("503 No", ()),
        ("429 Slow", (("Retry-After", "1"),)),
        ("429 Slow", (("Retry-After", "86400"),)),
        ("429 Slow", (("Retry-After", "Mon, 01 Jan 2024 00:00:00 +99999999999999999999"),)),
        ("429 Slow", ()),
    ],
)
def test_where_every_answer_is_a_redirect_a_5xx_or_a_429_it_could_not_be_checked(
    status: str, fields: tuple[tuple[str, str], ...]
) -> None:
    with served(fixed(status, *fields)) as url:
        verdict = ask(url)
    assert verdict.exit_code == 3, verdict
    assert verdict.requests <= 3


@pytest.mark.parametrize(
    "value", [1e400, *(pytest.param(one, marks=pytest.mark.untraced) for one in (["x"], {"code": "x"}, None))], ids=str
)
@pytest.mark.parametrize("field", ["name", "status", "categoryId"])
def test_fields_of_any_type_break_clauses_and_not_the_tool(field: str, value: Anything) -> None:
    with (
        PetStoreMock(seed=5, api_key=KEY) as petstore,
        served(breaking(petstore, each_pet(lambda pet: pet.update({field: value})), None)) as url,
    ):
        assert ask(url, allow_create=ENOUGH).exit_code == 1


def test_what_a_terminal_obeys_and_no_file_can_hold_is_shown_escaped(tmp_path: Path) -> None:
    odd = '{"\x1b[31m\\ud800\\u202e": 1}'
    with served(fixed("200 OK", ("Content-Type", "text/\x1b[31m"), ("Link", "\x07"), body=odd.encode())) as url:
        verdict = ask(url)
    texts = [reports.json_text(verdict), reports.as_junit(verdict), str(verdict)]
    for text in [*texts, learned_from(verdict).to_toml()]:
        (tmp_path / "report").write_text(text, encoding="utf-8")
        assert all(character.isprintable() or character == "\n" for character in text)
    assert r"text/\x1b[31m" in broken(verdict)["1-media-type"]


@pytest.mark.untraced
@pytest.mark.parametrize(
    "field",
    [b"Content-Length: " + b"9" * 5000, b"Date: Mon, 01 Jan 2024 00:00:00 +" + b"9" * 20],
    ids=["length", "date"],
)
def test_numbers_beyond_any_size_break_clauses_and_not_the_tool(field: bytes) -> None:
    with listening(always(b"HTTP/1.1 404 No\r\n" + field + b"\r\n\r\n[]")) as url:
        assert ask(url).exit_code in {1, 3}


def test_a_429_that_asks_for_a_day_is_not_waited_for(waits: list[float]) -> None:
    with served(fixed("429 Slow", ("Retry-After", "86400"))) as url:
        assert "Retry-After: 86400" in (ask(url).stopped or "")
    assert all(wait < 61 for wait in waits)


def test_a_key_that_is_refused_from_the_first_request_on_is_advised_about() -> None:
    with PetStoreMock(seed=3) as petstore:
        verdict = ask(petstore.url, "some-other-key")
    assert verdict.exit_code == 3
    assert "check it" in (verdict.stopped or "")
    assert verdict.requests <= 3


def test_a_page_of_html_breaks_the_contract() -> None:
    with served(fixed("200 OK", ("Content-Type", "text/html"), body=b"<html>It works!</html>")) as url:
        verdict = ask(url)
    assert verdict.exit_code == 1
    assert "1-json-body" in broken(verdict)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (faults.hang(), "no answer came within 0.3 s"),
        (faults.reset(), "the connection"),
        (faults.truncate(), "the connection ended when"),
        (faults.empty_reply(), "the connection ended before any answer"),
        (faults.malformed_chunk(), "chunk"),
    ],
    ids=str,
)
def test_a_probe_that_fails_is_tried_once_more_and_then_breaks_its_clause(fault: faults.Fault, words: str) -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(fault, on="getPet", when=lambda request: len(request.target) > 14)
        verdict = ask(petstore.url, petstore.api_key, timeout=0.3)
        assert words in broken(verdict)["4.3-absent"]
    assert verdict.exit_code == 1
    assert result_of(verdict, "4.3-get") == "holds"


@pytest.mark.parametrize("fault", [faults.hang(), faults.reset(), faults.truncate()], ids=str)
def test_a_probe_that_fails_once_breaks_nothing(fault: faults.Fault) -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(fault, on="getPet", times=1)
        petstore.inject(fault, on="listPets", times=1, after=3)
        verdict = ask(petstore.url, petstore.api_key, timeout=0.3)
    assert broken(verdict) == {}
    assert verdict.exit_code == 0


@pytest.mark.parametrize("fault", [faults.reset(), faults.truncate(), faults.hang(), 503], ids=str)
def test_a_create_whose_answer_was_lost_is_never_sent_again_and_is_in_the_receipt(
    fault: Anything, tmp_path: Path
) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(fault, on="createPet", at="after_commit", times=1)
        verdict = ask(petstore.url, petstore.api_key, timeout=0.3, allow_create=ENOUGH, receipt=receipt)
        bodies = [entry.body for entry in petstore.journal.for_operation("createPet")]
        made = {pet["id"] for pet in petstore.pets[30:]}
    whole = [body for body in bodies if body]  # of one that is too large nothing is read
    assert len({*whole}) == len(whole), "no body was sent twice"
    entries = [json.loads(line) for line in receipt.read_text(encoding="utf-8").splitlines()]
    assert sum(entry["id"] is None for entry in entries) == 1
    assert len(entries) == len(made) == verdict.created
    assert {entry["id"] for entry in entries} - {None} <= made


def test_a_service_that_dies_meanwhile_could_not_be_checked() -> None:
    answered = 0

    def handle(connection: socket.socket) -> None:
        nonlocal answered
        while answered < 2:  # both are lists
            head_of(connection)
            answered += 1
            connection.sendall(OK)

    with listening(handle) as url:
        verdict = ask(url, timeout=0.2)
    assert broken(verdict) == {}, "an outage breaks nothing"
    assert verdict.exit_code == 3
    assert "no longer there" in (verdict.stopped or "")


def test_the_third_5xx_stops_it() -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(503, on="getPet")
        verdict = ask(petstore.url, petstore.api_key)
        assert sum(entry.status == 503 for entry in petstore.journal) == 3
        assert petstore.journal.last.status == 503
    assert broken(verdict) == {}
    assert verdict.exit_code == 3


def test_a_500_to_one_request_of_a_service_that_is_there_breaks_its_clause() -> None:
    with PetStoreMock(seed=30) as petstore:
        petstore.inject(500, on="createPet", when=lambda request: b'"name": 5' in request.body)
        petstore.inject(500, on="getPet", when=lambda request: len(request.target) > 14, times=2)
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    assert "4.3-absent" in broken(verdict)
    assert verdict.exit_code == 1


def test_the_key_shows_nowhere_even_if_the_service_echoes_it(tmp_path: Path) -> None:
    secret = 'so"secret\\key-4711'

    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        told = environ.get("HTTP_AUTHORIZATION", "")
        body = json.dumps({"you sent": told, "at": environ["QUERY_STRING"]}).encode()
        start_response(
            f"400 {told}", [("Content-Type", told or "x"), ("Link", told), ("Content-Length", str(len(body)))]
        )
        return [body]

    receipt = tmp_path / "receipt"
    with served(app) as url:
        verdict = ask(url, [secret, KEY], allow_create=3, receipt=receipt)
    texts = [reports.json_text(verdict), reports.as_junit(verdict), str(verdict)]
    texts += [learned_from(verdict).to_toml(), receipt.read_text(), repr(verdict)]
    for text in texts:
        assert "4711" not in text
        assert KEY not in text
