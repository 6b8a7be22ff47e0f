"""What a client meets on a mock that speaks TLS: certificates, delivery faults, and the faults of the handshake."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import requests

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, faults
from petstore_mock.cli import run
from petstore_mock.core.tenant import Tenant
from petstore_mock.messages.handshake import CERTIFICATE_FLAWS, Handshake
from petstore_mock.transport.certificates import authority
from petstore_mock.transport.server import WireServer
from petstore_mock.transport.tls_connection import ServerTls
from tests.inside.live.raw import Echo, eventually
from tests.live.stub import stub
from tests.platforms import LOOPBACK_NETWORK, POSIX_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 30  # seconds; only what hangs takes so long
REX = {"name": "Rex", "categoryId": 1}


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(tls=True, seed=3, self_check=True) as petstore:
        yield petstore


def address_of(petstore: PetStoreMock) -> tuple[str, int]:
    url = httpx.URL(petstore.url)
    assert url.scheme == "https"
    return url.host, url.port or 0


def connect(
    petstore: PetStoreMock,
    context: ssl.SSLContext | None = None,
    **options: Any,  # noqa: ANN401  # those of wrap_socket
) -> ssl.SSLSocket:
    """Shake hands; fails as the client fails."""
    raw = socket.create_connection(address_of(petstore), timeout=PATIENCE)
    try:
        options.setdefault("server_hostname", address_of(petstore)[0])
        return (context or petstore.tls.client_context()).wrap_socket(raw, **options)
    except BaseException:
        raw.close()
        raise


@contextlib.contextmanager
def connection_of(
    petstore: PetStoreMock, context: ssl.SSLContext | None = None
) -> Iterator[http.client.HTTPSConnection]:
    host, port = address_of(petstore)
    context = context or petstore.tls.client_context()
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=PATIENCE)
    try:
        yield connection
    finally:
        connection.close()


def ask(connection: http.client.HTTPSConnection, petstore: PetStoreMock, path: str = "/v1/pets") -> int:
    connection.request("GET", path, headers=petstore.headers)
    response = connection.getresponse()
    response.read()
    return response.status


def unchecked() -> ssl.SSLContext:
    """Return the context of a client that checks nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


# Certificates and clients


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_certificate_passes_the_strictest_verification(petstore: PetStoreMock, name: str) -> None:
    context = petstore.tls.client_context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN  # Python 3.13's default
    with connect(petstore, context, server_hostname=name) as client:
        assert client.version() == "TLSv1.3"
        assert client.selected_alpn_protocol() is None
    assert petstore.journal.handshakes[0].wait().server_name == (name if name == "localhost" else None)


@LOOPBACK_NETWORK
def test_it_is_sound_for_ipv6_and_for_another_address_of_the_machine() -> None:
    for host in ("::1", "127.0.0.2"):
        with PetStoreMock(tls=True, host=host) as petstore, connection_of(petstore) as connection:
            assert ask(connection, petstore) == 200


def test_only_its_own_authority_makes_it_trusted(petstore: PetStoreMock) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="local issuer"):
        connect(petstore, ssl.create_default_context())
    assert petstore.journal.handshakes[-1].wait().alert == "unknown_ca"


def test_requests_and_httpx_are_told_of_the_authority(petstore: PetStoreMock) -> None:
    with requests.Session() as session:
        session.trust_env = False  # else REQUESTS_CA_BUNDLE, where it is set, beats the session's own
        session.verify = petstore.tls.ca_path
        assert session.post(f"{petstore.url}/pets", json=REX, headers=petstore.headers).status_code == 201
    with httpx.Client(verify=petstore.tls.client_context(), headers=petstore.headers) as client:
        assert client.get(f"{petstore.url}/pets").json() == petstore.pets


async def _aiohttp(petstore: PetStoreMock) -> int:
    import aiohttp  # noqa: PLC0415

    async with (
        aiohttp.ClientSession(headers=petstore.headers) as session,
        session.get(f"{petstore.url}/pets", ssl=petstore.tls.client_context()) as response,
    ):
        return response.status


def test_aiohttp_is_told_of_the_authority(petstore: PetStoreMock) -> None:
    assert asyncio.run(_aiohttp(petstore)) == 200


def test_other_programs_read_their_environment(petstore: PetStoreMock) -> None:
    assert set(petstore.tls.environ().values()) == {petstore.tls.ca_path}
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    environment = {**os.environ, **petstore.tls.environ()}
    command = [curl, "-sS", "--noproxy", "*", "-H", f"Authorization: Bearer {petstore.api_key}", f"{petstore.url}/pets"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert json.loads(done.stdout) == petstore.pets


def test_all_mocks_of_a_process_have_one_authority(petstore: PetStoreMock) -> None:
    with PetStoreMock(tls=True) as other, connection_of(other, petstore.tls.client_context()) as connection:
        assert other.tls.ca_path == petstore.tls.ca_path
        assert ask(connection, other) == 200


def test_a_mock_without_tls_has_no_certificates() -> None:
    with pytest.raises(PetStoreMockError, match=r"PetStoreMock\(tls=True\)"):
        _ = PetStoreMock().tls
    with pytest.raises(PetStoreMockError, match="expected tls to be True or False"):
        PetStoreMock(tls="yes")  # type: ignore[arg-type]


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)
    for name in ("petstore_mock.transport.certificates", "petstore_mock.mock.tls"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(PetStoreMockError, match=r'pip install "petstore-mock\[tls\]"'):
        PetStoreMock(tls=True)


def test_a_world_of_an_address_has_no_connections_of_its_own(petstore: PetStoreMock) -> None:
    tenant = Tenant(petstore.host.worlds, petstore.tenant.world.schemas, name="other")
    with pytest.raises(PetStoreMockError, match=r"expected the default world, .* for tls\.expired"):
        tenant.inject(faults.tls.expired())


def test_the_control_door_speaks_tls_and_is_no_pages() -> None:
    with PetStoreMock(tls=True, control=True, cors="*") as petstore:
        door = petstore.url.removesuffix("/v1") + "/__petstore"
        with httpx.Client(verify=petstore.tls.client_context()) as client:
            assert client.get(f"{door}/world").json()["url"] == petstore.url
            asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": "PUT"}
            preflight = client.options(f"{door}/world", headers=asked)
            assert preflight.status_code == 403
            assert not [name for name in preflight.headers if name.startswith("access-control-")]
            planned = client.post(f"{door}/faults", json={"fault": {"kind": "tls.expired"}, "times": 1})
            assert planned.status_code == 422
            assert "at the service's port the door's own connections would meet it" in planned.json()["detail"]
            petstore.inject(faults.tls.expired()).cancel()  # who holds the object needs no door


def test_a_certificate_of_ones_own_is_not_spoilt(petstore: PetStoreMock) -> None:
    petstore.host.worlds.own_certificate = True
    with pytest.raises(PetStoreMockError, match="which can't be spoilt"):
        petstore.inject(faults.tls.expired())
    petstore.inject(faults.tls.handshake_reset()).cancel()


def test_urls_that_are_shown_are_those_that_were_asked(petstore: PetStoreMock, tmp_path: Path) -> None:
    with connection_of(petstore) as connection:
        ask(connection, petstore)
    petstore.journal.to_har(tmp_path / "log.har")
    (entry,) = json.loads((tmp_path / "log.har").read_text())["log"]["entries"]
    assert entry["request"]["url"] == f"{petstore.url}/pets"


# The connection


def test_a_connection_is_kept_and_requests_may_come_together(petstore: PetStoreMock) -> None:
    one = f"GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {petstore.api_key}\r\n\r\n".encode()
    with connect(petstore) as client:
        client.sendall(one * 3 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = b""
        while part := client.recv(65536):
            received += part
    assert received.count(b"HTTP/1.1 200 OK") == 4
    assert [entry.exchange for entry in petstore.journal] == [1, 2, 3, 4]
    assert len(petstore.journal.handshakes) == 1
    assert petstore.journal.handshakes[0].connection == petstore.journal.last.connection


def test_a_target_in_absolute_form_has_the_scheme_of_tls(petstore: PetStoreMock) -> None:
    with connection_of(petstore) as connection:  # RFC 9112 §3.2.2: as a client sends it that takes it for a proxy
        assert ask(connection, petstore, f"{petstore.url}/pets?limit=1") == 200
    assert petstore.journal.last.path == "/v1/pets"


def test_large_bodies_cross_both_ways(petstore: PetStoreMock) -> None:
    petstore.seed_many([{"name": f"{'x' * 50_000}{number}", "categoryId": 1} for number in range(20)])
    with connection_of(petstore) as connection:
        connection.request("GET", "/v1/pets?limit=100", headers=petstore.headers)
        assert json.loads(connection.getresponse().read()) == petstore.pets
        body = json.dumps({"name": "y" * 900_000, "categoryId": 1})
        connection.request("POST", "/v1/pets", body, {**petstore.headers, "Content-Type": "application/json"})
        assert connection.getresponse().status == 201
    assert len(petstore.pets[-1]["name"]) == 900_000


def test_the_end_is_announced_under_tls(petstore: PetStoreMock) -> None:
    # A FIN without close_notify would raise (RFC 8446 §6.1).
    with connect(petstore, suppress_ragged_eofs=False) as client:
        client.sendall(b"GET /v1/dogs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while client.recv(65536):
            pass


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_session_is_resumed_into_a_fault(petstore: PetStoreMock, version: ssl.TLSVersion) -> None:
    context = petstore.tls.client_context()
    context.minimum_version = context.maximum_version = version
    with connect(petstore, context) as client:
        client.sendall(b"GET /v1/dogs HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(65536)
        session = client.session
    petstore.inject(faults.tls.expired())
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(petstore, context, session=session)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        # Until Python 3.12 ssl called ECONNRESET an end, and http.client says RemoteDisconnected of that, a subclass.
        (faults.reset(), ConnectionResetError),
        (faults.empty_reply(), http.client.RemoteDisconnected),
        (faults.truncate(), http.client.IncompleteRead),
        (faults.malformed_chunk(), http.client.IncompleteRead),
    ],
    ids=str,
)
def test_faults_of_the_connection_are_what_they_are_without_tls(
    petstore: PetStoreMock, fault: faults.Fault, told: type[Exception]
) -> None:
    petstore.inject(fault, times=1)
    with connection_of(petstore) as connection, pytest.raises(told):
        ask(connection, petstore)


@contextlib.contextmanager
def written_to(petstore: PetStoreMock) -> Iterator[tuple[socket.socket, ssl.SSLObject, ssl.MemoryBIO, ssl.MemoryBIO]]:
    """Shake hands and write a request, which is still to be sent: give the socket, TLS, what comes and what goes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = petstore.tls.client_context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as raw:
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
                break
            raw.sendall(outgoing.read())
            incoming.write(raw.recv(65536))
        client.write(f"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {petstore.api_key}\r\n\r\n".encode())
        yield raw, client, incoming, outgoing


def test_a_reset_is_a_real_one(petstore: PetStoreMock) -> None:
    petstore.inject(faults.reset(), times=1)
    with written_to(petstore) as (raw, _, _, outgoing):
        raw.sendall(outgoing.read())
        with pytest.raises(ConnectionResetError):
            raw.recv(1)


def test_slow_answers_are_slow_under_tls(petstore: PetStoreMock) -> None:
    petstore.inject(faults.sequence(faults.delay(0.02), faults.dribble(5000)))
    with connection_of(petstore) as connection:
        assert [ask(connection, petstore) for _ in range(3)] == [200, 200, 200]
    assert [entry.outcome for entry in petstore.journal] == ["delayed", "dribbled", None]


def test_a_hanging_answer_ends_with_the_test(petstore: PetStoreMock) -> None:
    petstore.inject(faults.hang())
    with connect(petstore) as client:
        client.sendall(f"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {petstore.api_key}\r\n\r\n".encode())
        petstore.journal.wait_for("listPets", timeout=PATIENCE)
        petstore.reset()
        with contextlib.suppress(ConnectionResetError):  # which Python's ssl called an end until 3.12
            assert client.recv(1) == b""


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        (b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", ("GET", "/v1/pets")),
        (b"GET /v1/pe", ("GET", "-")),
        (b"\x00\x01", ("-", "-")),
    ],
)
def test_plain_http_is_answered_in_words(petstore: PetStoreMock, head: bytes, asked: tuple[str, str]) -> None:
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 400 ")
    entry = petstore.journal.last
    assert "the address must begin with https://" in entry.reason
    assert (entry.method, entry.path) == asked
    assert not entry.executed
    assert petstore.journal.handshakes == ()


def test_a_head_in_plain_http_answers_nothing_but_its_head(petstore: PetStoreMock) -> None:
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        client.sendall(b"HEAD /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while part := client.recv(65536):
            received += part
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.endswith(b"\r\n\r\n")


def test_a_target_over_tls_may_be_absolute(petstore: PetStoreMock) -> None:
    """RFC 9112 §3.2.2; RFC 9110 §7.4 demands TLS of the one scheme, and forbids it to none."""
    for scheme in (b"https", b"http"):
        with connect(petstore) as client:
            client.sendall(b"GET %b://x/v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % scheme)
            assert client.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_the_door_in_plain_http_behind_tls_does_nothing() -> None:
    with PetStoreMock(tls=True, control=True) as stub:
        for asked in (b"GET /__petstore/health", b"GET /__petstore/pets", b"POST /__petstore/world/reset"):
            with socket.create_connection(address_of(stub), timeout=PATIENCE) as client:
                client.sendall(asked + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                received = b""
                while part := client.recv(65536):
                    received += part
            assert received.startswith(b"HTTP/1.1 400 ")
            assert b"application/problem+json" in received
            assert b"must begin with https://" in received
        assert len(stub.journal) == 0


def test_bytes_that_are_no_tls_after_all_end_the_connection(petstore: PetStoreMock) -> None:
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        client.sendall(b"\x16\x03\x01\x00\x05hello")
        while client.recv(65536):
            pass
    assert petstore.journal.handshakes[0].wait().outcome.startswith("failed: ")


def test_a_client_that_leaves_half_way_is_told_of(petstore: PetStoreMock) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        petstore.tls.client_context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1").do_handshake()
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        client.sendall(outgoing.read())
        client.recv(1)  # the service has answered
        client.shutdown(socket.SHUT_WR)
        assert petstore.journal.handshakes[0].wait(PATIENCE).outcome == "closed"


def test_old_versions_are_refused(petstore: PetStoreMock) -> None:
    context = unchecked()
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        connect(petstore, context)
    assert petstore.journal.handshakes[0].wait().outcome == "failed: UNSUPPORTED_PROTOCOL"


def first_words(context: ssl.SSLContext, name: str = "localhost") -> bytes:
    """Return the hello of a client."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("named", [b"loc\xff\xfe\xe9ost", b"a\x1b[31m\r\nb", b"a\x00b.local"], ids=repr)
def test_a_host_that_is_none_is_nobodys_traceback(
    petstore: PetStoreMock, named: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        client.sendall(first_words(unchecked(), "localhost".ljust(len(named), "x")).replace(b"localhost", named))
        assert client.recv(1) in {b"\x15", b"\x16"}  # it goes on, or an alert says that it doesn't
        assert petstore.journal.handshakes[0].server_name == named.decode("ascii", "backslashreplace")
    assert petstore.journal.handshakes[0].wait(PATIENCE).alert is None
    assert capfd.readouterr().err == ""


def test_the_host_is_known_whatever_a_fault_does(petstore: PetStoreMock) -> None:
    petstore.inject(faults.sequence(faults.tls.handshake_reset(), faults.tls.expired()))
    for _ in range(2):
        with pytest.raises(OSError, match=r"reset|expired"):
            connect(petstore, server_hostname="localhost")
    assert [one.server_name for one in petstore.journal.handshakes] == ["localhost", "localhost"]


def test_a_hello_may_be_large_and_may_come_byte_by_byte(petstore: PetStoreMock) -> None:
    context = petstore.tls.client_context()
    context.set_alpn_protocols([f"{'x' * 200}{number}" for number in range(200)])
    with connect(petstore, context, server_hostname="localhost") as client:
        assert client.version() == "TLSv1.3"
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in first_words(unchecked()):
            raw.send(bytes([byte]))
        assert raw.recv(1) == b"\x16"
    assert [one.server_name for one in petstore.journal.handshakes] == ["localhost", "localhost"]


def test_a_hello_that_never_ends_is_cut_off(petstore: PetStoreMock) -> None:
    part = b"\x01\xff\xff\xff" + bytes(16_000)  # of sixteen mebibytes, by its own word
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        with contextlib.suppress(OSError):
            for _ in range(100):
                client.sendall(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part)
        with contextlib.suppress(OSError):
            while client.recv(65536):
                pass
    assert petstore.journal.handshakes[0].wait(PATIENCE).outcome == "failed: EXCESSIVE_MESSAGE_SIZE"


def test_a_client_of_http_2_alone_is_told_what_is_spoken(petstore: PetStoreMock) -> None:
    context = petstore.tls.client_context()
    context.set_alpn_protocols(["h2"])
    with connect(petstore, context) as client:
        assert client.selected_alpn_protocol() is None
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        assert client.recv(65536).startswith(b"HTTP/1.1 505 ")
    assert "Send HTTP/1.1" in petstore.journal.last.reason
    context.set_alpn_protocols(["h2", "http/1.1"])
    with connect(petstore, context) as client:
        assert client.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("notified", [True, False])
def test_a_client_that_sends_no_more_is_answered_all_the_same(petstore: PetStoreMock, notified: bool) -> None:
    with written_to(petstore) as (raw, client, incoming, outgoing):
        if notified:
            with contextlib.suppress(ssl.SSLWantReadError):
                client.unwrap()
        raw.sendall(outgoing.read())  # the request, and with it that it was the last word
        raw.shutdown(socket.SHUT_WR)
        while part := raw.recv(65536):
            incoming.write(part)
        assert client.read(65536).startswith(b"HTTP/1.1 200 OK")


def test_renegotiation_is_refused(petstore: PetStoreMock) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    host, port = address_of(petstore)
    command = [openssl, "s_client", "-connect", f"{host}:{port}", "-tls1_2", "-CAfile", petstore.tls.ca_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        assert client.stdin is not None
        client.stdin.write(b"R\n")
        client.stdin.flush()
        assert client.stdout is not None
        told = client.stdout.read()
        assert client.wait(PATIENCE) != 0
    assert b"RENEGOTIATING" in told
    assert b"no renegotiation" in told
    assert len(petstore.journal) == 0


def test_many_half_open_handshakes_hold_nobody_up(petstore: PetStoreMock) -> None:
    with contextlib.ExitStack() as open_sockets:
        for _ in range(300):
            open_sockets.enter_context(socket.create_connection(address_of(petstore))).sendall(b"\x16\x03\x01\x02")
        with connection_of(petstore) as connection:
            assert ask(connection, petstore) == 200
        began = time.perf_counter()
        petstore.stop()
        assert time.perf_counter() - began < 1


# Faults of the handshake

TRUSTING = {flaw: getattr(faults.tls, flaw)() for flaw in CERTIFICATE_FLAWS}


@pytest.mark.parametrize(
    ("flaw", "told", "alert"),
    [
        ("expired", "certificate has expired", "certificate_expired"),
        ("wrong_host", "IP address mismatch", "bad_certificate"),
        ("untrusted_root", "self.signed certificate in certificate chain", "unknown_ca"),
    ],
)
def test_each_flaw_is_the_only_one(petstore: PetStoreMock, flaw: str, told: str, alert: str) -> None:
    handle = petstore.inject(TRUSTING[flaw], times=1)  # type: ignore[index]
    with pytest.raises(ssl.SSLCertVerificationError, match=told):
        connect(petstore)
    handshake = petstore.journal.handshakes[0].wait(PATIENCE)
    assert (handshake.flaw, handshake.outcome, handshake.alert) == (flaw, "alert", alert)
    assert handle.hits == 1
    assert f"fault {flaw}()" in str(handshake)
    with connection_of(petstore) as connection:
        assert ask(connection, petstore) == 200, "the fault is spent"


def test_who_checks_no_names_takes_a_certificate_of_another_host(petstore: PetStoreMock) -> None:
    petstore.inject(faults.tls.wrong_host())
    context = petstore.tls.client_context()
    context.check_hostname = False
    with connection_of(petstore, context) as connection:
        assert ask(connection, petstore) == 200, "its certificate is sound but for the name"


@pytest.mark.parametrize("fault", TRUSTING.values(), ids=str)
def test_who_checks_nothing_notices_nothing(petstore: PetStoreMock, fault: faults.Fault) -> None:
    petstore.inject(fault)
    with connection_of(petstore, unchecked()) as connection:
        assert ask(connection, petstore) == 200
    (handshake,) = petstore.journal.handshakes
    assert handshake.complete
    assert handshake.connection == petstore.journal.last.connection


def test_a_reset_in_the_handshake(petstore: PetStoreMock) -> None:
    petstore.inject(faults.tls.handshake_reset())
    with pytest.raises(ConnectionResetError):
        connect(petstore)
    assert petstore.journal.handshakes[0].outcome == "reset"


@pytest.mark.parametrize("end", ["reset", "stop"])
def test_a_handshake_that_hangs_ends_with_the_test(petstore: PetStoreMock, end: str) -> None:
    petstore.inject(faults.tls.handshake_hang())
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as raw:
        problems: list[BaseException] = []

        def shake() -> None:
            try:
                petstore.tls.client_context().wrap_socket(raw, server_hostname="127.0.0.1")
            except OSError as error:
                problems.append(error)

        thread = threading.Thread(target=shake)
        thread.start()
        eventually(lambda: [one.outcome for one in petstore.journal.handshakes] == ["hang"], "the hang")
        assert thread.is_alive()
        began = time.perf_counter()
        petstore.reset() if end == "reset" else petstore.stop()
        thread.join(PATIENCE)
        assert time.perf_counter() - began < 1
    assert isinstance(problems[0], ConnectionResetError)
    if end == "reset":
        assert petstore.journal.handshakes == ()


def test_a_client_that_gives_up_on_a_hang_leaves_nothing(petstore: PetStoreMock) -> None:
    petstore.inject(faults.tls.handshake_hang())
    host, port = address_of(petstore)
    with socket.create_connection((host, port), timeout=0.1) as raw, pytest.raises(TimeoutError):
        petstore.tls.client_context().wrap_socket(raw, server_hostname=host)
    eventually(lambda: petstore.httpserver.open_connections == 0, "no connection")


def test_kept_connections_are_closed_and_meet_it(petstore: PetStoreMock) -> None:
    with connection_of(petstore) as connection:
        assert ask(connection, petstore) == 200
        petstore.inject(faults.tls.expired())
        with pytest.raises(ConnectionResetError):  # or RemoteDisconnected, its subclass: what was sent may meet a RST
            ask(connection, petstore)
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(connection, petstore)


def test_a_connection_that_is_busy_is_closed_after_its_answer(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(0.1), times=1)
    with connect(petstore) as client:
        client.sendall(f"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {petstore.api_key}\r\n\r\n".encode())
        petstore.journal.wait_for("listPets", timeout=PATIENCE)
        with petstore.inject(faults.tls.expired()):
            received = b""
            while part := client.recv(65536):  # until it is closed
                received += part
            assert received.startswith(b"HTTP/1.1 200 OK")
            with pytest.raises(ssl.SSLCertVerificationError):
                connect(petstore)


def test_it_counts_connections(petstore: PetStoreMock) -> None:
    handle = petstore.inject(faults.tls.untrusted_root(), after=1, times=2)
    outcomes = []
    for _ in range(4):
        try:
            with connection_of(petstore) as connection:
                outcomes.append(ask(connection, petstore))
        except ssl.SSLCertVerificationError:
            outcomes.append(0)
    assert outcomes == [200, 0, 0, 200]
    assert (handle.passed, handle.hits) == (1, 2)


def test_a_sequence_meets_one_connection_after_the_other(petstore: PetStoreMock) -> None:
    petstore.inject(faults.sequence(faults.tls.handshake_reset(), faults.tls.wrong_host()))
    with pytest.raises(ConnectionResetError):
        connect(petstore)
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(petstore)
    connect(petstore).close()


def test_one_that_met_no_connection_fails_the_test() -> None:
    told = r"inject\(tls\.expired\(\)\) never fired: no connection met it"
    with pytest.raises(VerificationError, match=told), PetStoreMock(tls=True) as petstore:
        petstore.inject(faults.tls.expired())
    with (
        PetStoreMock(tls=True) as petstore,
        pytest.raises(VerificationError, match="within its block"),
        petstore.inject(faults.tls.expired()),
    ):
        pass


def test_a_connection_without_a_handshake_meets_none(petstore: PetStoreMock) -> None:
    with petstore.inject(faults.tls.handshake_reset()) as handle:
        socket.create_connection(address_of(petstore)).close()  # a port probe
        assert handle.hits == 0
        with pytest.raises(ConnectionResetError):
            connect(petstore)


def test_what_only_requests_can_be_asked_is_refused(petstore: PetStoreMock) -> None:
    for rule in ({"on": "listPets"}, {"when": bool}, {"where": {"name": "Rex"}}, {"at": "after_commit"}):
        with pytest.raises(PetStoreMockError, match=f"expected no {next(iter(rule))}= with tls.expired"):
            petstore.inject(faults.tls.expired(), **rule)
    with pytest.raises(PetStoreMockError, match="which meet connections"):
        faults.sequence(503, faults.tls.expired())
    with pytest.raises(PetStoreMockError, match=r"PetStoreMock\(tls=True\), for tls\.expired\(\)"):
        PetStoreMock().inject(faults.tls.expired())


def test_other_faults_go_on_beside_it(petstore: PetStoreMock) -> None:
    petstore.inject(503, times=1)
    with petstore.inject(faults.tls.expired(), after=1), connection_of(petstore) as connection:
        assert [ask(connection, petstore), ask(connection, petstore)] == [503, 200]
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(petstore)


# The server by itself, on both loops


@pytest.fixture
def handshakes() -> list[Handshake]:
    return []


@pytest.fixture
def server(
    echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop], handshakes: list[Handshake]
) -> Iterator[WireServer]:
    def began(connection: int) -> Handshake:
        handshakes.append(Handshake(connection))
        return handshakes[-1]

    tls = ServerTls(lambda flaw: authority().context(flaw, "127.0.0.1"), began)
    server = WireServer(echo, new_loop=new_loop, tls=tls, head_timeout=0.2)
    server.start()
    yield server
    server.stop()


def client_of(server: WireServer) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(authority().ca_path))
    return context.wrap_socket(
        socket.create_connection((server.host, server.port), timeout=PATIENCE), server_hostname="127.0.0.1"
    )


def test_both_loops_carry_it(server: WireServer, handshakes: list[Handshake]) -> None:
    with client_of(server) as client:
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while client.recv(65536):
            pass
    assert handshakes[0].complete
    eventually(lambda: server.open_connections == 0, "no connection")


def test_who_says_nothing_or_half_a_hello_is_shut_out(server: WireServer, handshakes: list[Handshake]) -> None:
    for said in (b"", b"\x16\x03\x01"):
        with socket.create_connection((server.host, server.port), timeout=PATIENCE) as client:
            client.sendall(said)
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
    assert [one.wait().outcome for one in handshakes] == ["timed out"]


def test_it_stops_at_once_with_handshakes_half_way(server: WireServer) -> None:
    with socket.create_connection((server.host, server.port)) as client, client_of(server) as other:
        client.sendall(b"\x16\x03\x01")
        eventually(lambda: server.open_connections == 2, "both")
        began = time.perf_counter()
        server.stop()
        assert time.perf_counter() - began < 0.5
        with contextlib.suppress(OSError):
            assert other.recv(1) == b""


# The stub


def test_serve_speaks_tls_and_writes_its_authority(tmp_path: Path) -> None:
    ca = tmp_path / "our ca.pem"
    with stub("--tls", "--tls-ca-out", str(ca), "--api-key", "k") as served:
        assert served.url.startswith("https://127.0.0.1:")
        assert served.first[2] == f"CA certificate: {ca}"
        context = ssl.create_default_context(cafile=str(ca))
        assert httpx.get(f"{served.url}/pets", headers={"Authorization": "Bearer k"}, verify=context).status_code == 200
        if shutil.which("curl"):
            done = subprocess.run(served.curl, shell=True, capture_output=True, text=True, timeout=PATIENCE, check=True)
            assert done.stdout.startswith("HTTP/1.1 200 OK")


@POSIX_SIGNALS
def test_a_stub_that_is_ended_takes_the_directory_of_its_authority_away() -> None:
    with stub("--tls", "--log-format", "json", lines=1) as served:
        path = Path(json.loads(served.first[0])["ca_path"])
        assert path.exists()
    assert not path.parent.exists()


def test_serve_has_a_certificate_for_the_names_that_others_know_it_by(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    named = ("--tls-host", "petstore", "--tls-host", "*.Shop.example", "--tls-host", "10.0.0.9")
    with stub("--tls", "--tls-ca-out", str(ca), *named, "--log-format", "json", lines=1) as served:
        first = json.loads(served.first[0])
        assert (first["ca_path"], len(base64.b64decode(first["spki_hash"]))) == (str(ca), 32)
        context = ssl.create_default_context(cafile=str(ca))
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        address = httpx.URL(served.url)
        for name in ("petstore", "pets.shop.example", "10.0.0.9", "127.0.0.1", "localhost"):
            raw = socket.create_connection((address.host, address.port or 0), timeout=PATIENCE)
            context.wrap_socket(raw, server_hostname=name).close()
        raw = socket.create_connection((address.host, address.port or 0), timeout=PATIENCE)
        with raw, pytest.raises(ssl.SSLCertVerificationError, match=r"petstore\.other"):
            context.wrap_socket(raw, server_hostname="petstore.other")


@pytest.mark.parametrize("name", ["pet_store", "", "-x", "a..b", "https://petstore", "petstore:8443", "x" * 64, "*"])
def test_names_that_no_host_has_are_refused(name: str) -> None:
    with pytest.raises(PetStoreMockError, match="expected a host name of letters"):
        authority().context(None, name)
    with pytest.raises(PetStoreMockError, match="expected a host name of letters"):
        PetStoreMock(tls=True, host=name)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tls-host", "petstore"], "--tls-host: expected --tls or --tls-cert beside it"),
        (["--tls", "--tls-host", "pet_store"], "--tls-host: expected a host name of letters"),
        (["--tls-cert", "cert.pem", "--tls-host", "petstore"], "--tls-host: expected no --tls-cert beside it"),
        (["--tls-key", "key.pem"], "--tls-key: expected --tls or --tls-cert beside it"),
        (["--tls", "--tls-key", "key.pem"], "--tls-key: expected --tls-cert beside it"),
        (["--tls-cert", "none.pem"], "--tls-cert: expected PEM files with a certificate and its private key"),
        (["--tls", "--tls-ca-out", "no/such/directory"], "--tls-ca-out: can't write no/such/directory: No such file"),
    ],
)
def test_serve_says_which_option_of_tls_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert run(["serve", "--port", "0", *arguments], sys.stdout, sys.stderr) == 2
    assert f"petstore-mock: {told}" in capsys.readouterr().err


def test_serve_takes_a_certificate_of_ones_own(tmp_path: Path) -> None:
    import trustme  # noqa: PLC0415

    own = trustme.CA()
    leaf = own.issue_cert("127.0.0.1")
    (tmp_path / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    (tmp_path / "key.pem").write_bytes(leaf.private_key_pem.bytes())
    own.cert_pem.write_to_path(tmp_path / "ca.pem")
    files = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    with stub(*files, "--api-key", "k") as served:
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        assert httpx.get(f"{served.url}/pets", headers={"Authorization": "Bearer k"}, verify=context).status_code == 200
