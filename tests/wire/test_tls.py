"""A mock that speaks TLS: certificates, wire faults, and faults of the handshake."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests

from petstore_mock import PetStoreMock, RemotePetStore, connect, faults
from tests.live.stub import stub
from tests.programs import run
from tests.wire.raw import KEY, PATIENCE, address_of, eventually, get

LAST = get("/v1/pets", "Connection: close")
FLAWS = {
    "expired": (faults.tls.expired(), "certificate has expired"),
    "wrong_host": (faults.tls.wrong_host(), "IP address mismatch"),
    "untrusted_root": (faults.tls.untrusted_root(), "self.signed certificate in certificate chain"),
}


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(tls=True, api_key=KEY) as petstore:
        yield petstore


def unchecked() -> ssl.SSLContext:
    """Return the context of a client that checks nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def shake(
    petstore: PetStoreMock | RemotePetStore,
    context: ssl.SSLContext | None = None,
    **options: Any,
) -> ssl.SSLSocket:
    """Return the socket after a handshake; raise the error of the client."""
    raw = socket.create_connection(address_of(petstore), timeout=PATIENCE)
    try:
        options.setdefault("server_hostname", address_of(petstore)[0])
        return (context or petstore.tls.client_context()).wrap_socket(raw, **options)
    except BaseException:
        raw.close()
        raise


def read(client: socket.socket) -> bytes:
    """Read to the end."""
    received = b""
    while part := client.recv(65536):
        received += part
    return received


def call(petstore: PetStoreMock, context: ssl.SSLContext | None = None) -> int:
    """Send one request on a connection of its own, and return the status."""
    with shake(petstore, context) as client:
        client.sendall(LAST)
        return int(read(client)[9:12])


# Certificates and clients


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_certificate_passes_the_strictest_verification(petstore: PetStoreMock, name: str) -> None:
    context = petstore.tls.client_context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN  # Python 3.13's default
    with shake(petstore, context, server_hostname=name) as client:
        assert client.version() == "TLSv1.3"
        assert client.selected_alpn_protocol() is None


def test_client_needs_the_authority_and_a_failing_test_reports_a_client_without_it() -> None:
    def fail() -> None:
        with PetStoreMock(tls=True, api_key=KEY) as petstore:
            with pytest.raises(ssl.SSLCertVerificationError, match="local issuer"):
                shake(petstore, ssl.create_default_context())
            assert call(petstore) == 500  # fails on purpose; by then the service has seen the failed handshake

    with pytest.raises(AssertionError) as caught:
        fail()
    assert "does not trust the certificate" in "".join(caught.value.__notes__)


def test_client_libraries_accept_the_authority(petstore: PetStoreMock) -> None:
    assert set(petstore.tls.environ().values()) == {petstore.tls.ca_path}
    with requests.Session() as session:
        session.trust_env = False  # else REQUESTS_CA_BUNDLE overrides the session's setting
        session.verify = petstore.tls.ca_path
        assert session.get(f"{petstore.url}/pets", headers=petstore.headers, timeout=PATIENCE).status_code == 200
    with httpx.Client(verify=petstore.tls.client_context()) as client:
        assert client.get(f"{petstore.url}/pets", headers=petstore.headers).status_code == 200


def test_missing_extra_is_named() -> None:
    script = "import sys; sys.modules['trustme'] = None; import petstore_mock; petstore_mock.PetStoreMock(tls=True)"
    assert 'pip install "petstore-mock[tls]"' in run(sys.executable, "-c", script, code=1)


# The connection


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_connection_is_kept_and_requests_may_arrive_together(petstore: PetStoreMock, scheme: str) -> None:
    """An absolute http:// target is served (RFC 9112 §3.2.2). RFC 9110 §7.4 requires TLS for https:// only."""
    last = get(f"{scheme}://x/v1/pets", "Connection: close")
    with shake(petstore, suppress_ragged_eofs=False) as client:  # a FIN without close_notify would raise
        client.sendall(get("/v1/pets/1") * 3 + last)
        assert read(client).count(b"HTTP/1.1 ") == 4
    assert [(entry.exchange, entry.secure, entry.status) for entry in petstore.journal] == [
        *((number, True, 404) for number in (1, 2, 3)),
        (4, True, 200),
    ]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_session_resumption_does_not_skip_a_fault(petstore: PetStoreMock, version: ssl.TLSVersion) -> None:
    context = petstore.tls.client_context()
    context.minimum_version = context.maximum_version = version
    with shake(petstore, context) as client:
        client.sendall(get())
        client.recv(65536)
        session = client.session
    petstore.inject(faults.tls.expired())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(petstore, context, session=session)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        # Until Python 3.12, ssl reports ECONNRESET as an end; http.client then raises the subclass RemoteDisconnected.
        (faults.reset(), ConnectionResetError),
        (faults.empty_reply(), http.client.RemoteDisconnected),
        (faults.truncate(), http.client.IncompleteRead),
        (faults.malformed_chunk(), http.client.IncompleteRead),
    ],
    ids=str,
)
def test_wire_fault_is_the_same_as_without_tls(
    petstore: PetStoreMock, fault: faults.Fault, error: type[Exception]
) -> None:
    petstore.inject(fault, times=1)
    context = petstore.tls.client_context()
    with contextlib.closing(http.client.HTTPSConnection(*address_of(petstore), context=context)) as connection:
        connection.request("GET", "/v1/pets", headers=petstore.headers)
        with pytest.raises(error):
            connection.getresponse().read()


@pytest.mark.parametrize("notified", [True, False])
def test_client_that_half_closes_gets_its_response(petstore: PetStoreMock, notified: bool) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = petstore.tls.client_context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as raw:
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
                break
            raw.sendall(outgoing.read())
            incoming.write(raw.recv(65536))
        client.write(get())
        if notified:
            with contextlib.suppress(ssl.SSLWantReadError):
                client.unwrap()
        raw.sendall(outgoing.read())  # the request, with close_notify if notified
        raw.shutdown(socket.SHUT_WR)
        incoming.write(read(raw))
        assert client.read(65536).startswith(b"HTTP/1.1 200 OK")


# Clients that speak something else


@pytest.mark.parametrize(
    ("head", "seen"),
    [
        (b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", ("GET", "/v1/pets")),
        (b"HEAD /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", ("HEAD", "/v1/pets")),
        (b"\x00\x01", ("-", "-")),
    ],
)
def test_plain_http_is_400(petstore: PetStoreMock, head: bytes, seen: tuple[str, str]) -> None:
    with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
        client.sendall(head)
        received = read(client)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.endswith(b"\r\n\r\n") is (seen[0] == "HEAD")
    (entry,) = petstore.journal
    assert (entry.method, entry.target, entry.executed) == (*seen, False)
    assert "https://" in entry.reason


def test_http_2_is_refused_and_not_negotiated(petstore: PetStoreMock) -> None:
    for offered, chosen in ((["h2"], None), (["h2", "http/1.1"], "http/1.1")):
        context = petstore.tls.client_context()
        context.set_alpn_protocols(offered)
        with shake(petstore, context) as client:
            assert client.selected_alpn_protocol() == chosen
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
            assert client.recv(65536).startswith(b"HTTP/1.1 505 ")


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x01", b""], ids=["no TLS", "half", "none"])
def test_failed_handshakes_disturb_no_other_client(
    petstore: PetStoreMock, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(30):
        with socket.create_connection(address_of(petstore), timeout=PATIENCE) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                read(client)
    assert call(petstore) == 200
    assert [entry.status for entry in petstore.journal] == [200]
    assert capfd.readouterr().err == ""


def test_half_open_handshakes_block_neither_clients_nor_a_stop(petstore: PetStoreMock) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection(address_of(petstore))).sendall(b"\x16\x03\x01\x02")
        assert call(petstore) == 200
        began = time.perf_counter()
        petstore.stop()
        assert time.perf_counter() - began < 1


# Faults of the handshake


@pytest.mark.parametrize("flaw", FLAWS)
def test_certificate_has_only_the_planned_flaw(petstore: PetStoreMock, flaw: str) -> None:
    fault, error = FLAWS[flaw]
    handle = petstore.inject(fault, times=3)
    with pytest.raises(ssl.SSLCertVerificationError, match=error):
        shake(petstore)
    assert call(petstore, unchecked()) == 200, "a client that checks nothing must succeed"
    context = petstore.tls.client_context()
    context.check_hostname = False
    if flaw == "wrong_host":
        assert call(petstore, context) == 200, "only the name of the certificate must be wrong"
    else:
        with pytest.raises(ssl.SSLCertVerificationError):
            call(petstore, context)
    assert handle.hits == 3
    assert call(petstore) == 200, "the fault must end after three connections"


@pytest.mark.parametrize("end", ["reset", "stop"])
@pytest.mark.parametrize("fault", [faults.hang(), faults.tls.handshake_hang()], ids=str)
def test_hanging_handshake_ends_with_the_test(petstore: PetStoreMock, fault: faults.Fault, end: str) -> None:
    handle = petstore.inject(fault)
    left: list[object] = []

    def work() -> None:
        try:
            left.append(call(petstore))
        except (ConnectionResetError, ValueError):  # until Python 3.12, ssl reports a reset as an end
            left.append(None)

    thread = threading.Thread(target=work)
    thread.start()
    eventually(lambda: handle.hits == 1, "the hang")
    thread.join(0.05)
    assert thread.is_alive()
    began = time.perf_counter()
    petstore.reset() if end == "reset" else petstore.stop()
    thread.join(PATIENCE)
    assert time.perf_counter() - began < 1
    assert left == [None]


def test_planned_tls_fault_closes_open_connections_and_hits_the_next(petstore: PetStoreMock) -> None:
    """A busy connection closes after its response."""
    petstore.inject(faults.delay(0.1), times=1)
    with shake(petstore) as idle, shake(petstore) as busy:
        idle.sendall(get("/v1/pets/1"))
        idle.recv(65536)
        busy.sendall(get())
        petstore.journal.wait_for("listPets", timeout=PATIENCE)
        petstore.inject(faults.tls.expired())
        assert read(idle) == b""
        assert read(busy).startswith(b"HTTP/1.1 200 OK")
        with pytest.raises(ssl.SSLCertVerificationError):
            shake(petstore)


def test_fault_counts_connections(petstore: PetStoreMock) -> None:
    """A port probe without a handshake does not count."""
    handle = petstore.inject(faults.tls.untrusted_root(), after=1, times=2)
    statuses = []
    for _ in range(4):
        socket.create_connection(address_of(petstore)).close()
        try:
            statuses.append(call(petstore))
        except ssl.SSLCertVerificationError:
            statuses.append(0)
    assert statuses == [200, 0, 0, 200]
    assert handle.hits == 2


def test_each_tls_fault_of_a_sequence_hits_one_connection_and_uses_up_no_other_fault(petstore: PetStoreMock) -> None:
    petstore.inject(503, times=1)
    handle = petstore.inject(faults.sequence(faults.tls.handshake_reset(), faults.tls.wrong_host()))
    with pytest.raises(ConnectionResetError):
        shake(petstore)
    assert (handle.hits, len(petstore.journal)) == (1, 0)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(petstore)
    assert [call(petstore), call(petstore)] == [503, 200]


# A stub, on uvloop


def test_stub_speaks_tls_and_writes_its_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ca = tmp_path / "our ca.pem"
    named = ("--tls-host", "petstore", "--tls-host", "*.shop.example", "--tls-host", "10.0.0.9")
    with stub("--tls", "--tls-ca-out", str(ca), "--api-key", KEY, *named, "--log-format", "json", lines=1) as served:
        context = ssl.create_default_context(cafile=str(ca))
        monkeypatch.setenv("SSL_CERT_FILE", str(ca))
        with connect(served.url) as petstore:
            assert httpx.get(f"{petstore.url}/pets", headers=petstore.headers, verify=context).status_code == 200
            for name in ("petstore", "pets.shop.example", "10.0.0.9", "127.0.0.1", "localhost"):
                shake(petstore, context, server_hostname=name).close()
            with pytest.raises(ssl.SSLCertVerificationError, match=r"petstore\.other"):
                shake(petstore, context, server_hostname="petstore.other")
