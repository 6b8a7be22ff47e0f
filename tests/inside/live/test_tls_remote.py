"""TLS by way of the control door: faults and handshakes of the default world, trust, and what another world is told."""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, RemotePetStore, VerificationError, connect, faults
from petstore_mock.cli import run
from tests.inside.live.raw import eventually
from tests.live.stub import Stub, stub

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 30  # seconds


@pytest.fixture(scope="module")
def served() -> Iterator[Stub]:
    """Give a stub that speaks TLS, with a door on a port of its own."""
    with stub("--tls", "--control-port", "0", "--log-format", "json", lines=1) as served:
        yield served


@pytest.fixture
def ca_path(served: Stub) -> Path:
    return Path(json.loads(served.first[0])["ca_path"])


@pytest.fixture
def door_url(served: Stub) -> str:
    url: str = json.loads(served.first[0])["control_url"]
    return url


@pytest.fixture
def petstore(door_url: str, ca_path: Path) -> Iterator[RemotePetStore]:
    with connect(door_url, world="default", ca_path=ca_path) as petstore:
        yield petstore
        petstore.cancel_faults()
        petstore.reset()
        petstore.tenant.excuse()


def ask(petstore: RemotePetStore, context: ssl.SSLContext | None = None) -> int:
    parts = urlsplit(petstore.url)
    assert parts.scheme == "https"
    assert parts.hostname is not None
    context = context or petstore.tls.client_context()
    connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path}/pets", headers=petstore.headers)
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def ask_door(url: str, method: str, path: str, body: object = None, ca: Path | None = None) -> tuple[int, Any]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = (
        http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        if ca is None
        else http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=PATIENCE, context=ssl.create_default_context(cafile=ca)
        )
    )
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read() or b"null")
    connection.close()
    return response.status, answer


# The default world


def test_a_fault_planned_from_elsewhere_meets_the_client_and_not_the_door(petstore: RemotePetStore) -> None:
    assert ask(petstore) == 200
    with petstore.inject(faults.tls.expired()) as handle:
        assert handle.hits == 0
        for _ in range(2):
            with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
                ask(petstore)
        assert handle.hits == 2
    assert ask(petstore) == 200
    sound, first, second, last = petstore.journal.handshakes
    assert (first.flaw, first.wait(PATIENCE).alert) == ("expired", "certificate_expired")
    assert str(second.wait(PATIENCE)).startswith("fault expired(): TLS handshake of connection ")
    assert [one.complete for one in (sound, first, second, last)] == [True, False, False, True]
    assert (last.version, last.server_name) == ("TLSv1.3", None)
    assert [entry.connection for entry in petstore.journal] == [sound.connection, last.connection]


def test_a_fault_that_met_no_connection_is_answered_for(petstore: RemotePetStore) -> None:
    petstore.inject(faults.tls.wrong_host())
    with pytest.raises(VerificationError, match=r"inject\(tls.wrong_host\(\)\) never fired: no connection met it"):
        petstore.verify()
    with pytest.raises(VerificationError, match="within its block"), petstore.inject(faults.tls.untrusted_root()):
        pass


def test_a_reset_forgets_the_handshakes(petstore: RemotePetStore) -> None:
    ask(petstore)
    (before,) = petstore.journal.handshakes
    petstore.reset()
    assert petstore.journal.handshakes == ()
    assert before.wait().complete


def test_a_handshake_that_is_still_running_says_so(petstore: RemotePetStore, door_url: str) -> None:
    import socket  # noqa: PLC0415  # for this one

    parts = urlsplit(petstore.url)
    assert parts.hostname is not None
    assert parts.port is not None
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as client:
        client.sendall(b"\x16\x03\x01")
        eventually(lambda: petstore.journal.handshakes, "the handshake begins")
        (handshake,) = petstore.journal.handshakes
        with pytest.raises(PetStoreMockError, match=r"ends within timeout=0.05 s; got TLS handshake .*: running"):
            handshake.wait(0.05)
        assert ask_door(door_url, "GET", "/__petstore/handshakes?wait=0.05")[1]["handshakes"][0]["outcome"] == "running"
    assert handshake.wait(PATIENCE).outcome == "closed"


def test_other_languages_read_the_handshakes_at_the_door(petstore: RemotePetStore, door_url: str) -> None:
    assert ask_door(door_url, "POST", "/__petstore/faults", {"fault": {"kind": "tls.untrusted_root"}})[0] == 201
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(petstore)
    status, told = ask_door(door_url, "GET", "/__petstore/handshakes?wait=25")
    assert status == 200
    (handshake,) = told["handshakes"]
    connection = handshake.pop("connection")
    assert connection >= 1
    assert handshake == {
        "outcome": "alert",
        "fault": "tls.untrusted_root",
        "alert": "unknown_ca",
        "server_name": None,
        "version": None,
        "cipher": None,
    }
    assert ask_door(door_url, "DELETE", "/__petstore/faults")[0] == 204
    assert ask(petstore) == 200
    for wrong in ("26", "-1", "soon", "1e1"):
        status, told = ask_door(door_url, "GET", f"/__petstore/handshakes?wait={wrong}")
        assert (status, "query.wait" in told["detail"]) == (422, True)


# Worlds by address


def test_a_world_by_address_has_no_handshakes_and_plans_no_fault_for_them(
    petstore: RemotePetStore, door_url: str, ca_path: Path
) -> None:
    with connect(door_url, ca_path=ca_path) as other:
        assert ask(other) == 200
        told = r"expected the default world, the one at the root, for tls.expired\(\); got 'py-.*a handshake names no w"
        with pytest.raises(PetStoreMockError, match=told):
            other.inject(faults.tls.expired())
        with pytest.raises(PetStoreMockError, match=r"expected the default world for journal\.handshakes"):
            _ = other.journal.handshakes
        path = f"{urlsplit(other.url).path.removesuffix('/v1')}/__petstore"
        status, refused = ask_door(door_url, "POST", f"{path}/faults", {"fault": {"kind": "tls.expired"}})
        assert status == 422
        assert "petstore-mock serve --tls --port 0" in refused["detail"]
        assert ask_door(door_url, "GET", f"{path}/handshakes")[0] == 404
        assert other.tenant.ask("GET", "faults") == {"faults": []}
    assert [one.complete for one in petstore.journal.handshakes] == [True], "it is the default world's"


def test_a_fault_of_the_default_world_meets_those_of_others_and_says_so_in_its_name(
    petstore: RemotePetStore, door_url: str, ca_path: Path
) -> None:
    with connect(door_url, ca_path=ca_path) as other, petstore.inject(faults.tls.handshake_reset(), times=1):
        with pytest.raises(ConnectionResetError):
            ask(other)
        assert ask(other) == 200


# One port for both


def test_a_door_behind_the_same_port_would_meet_the_fault_itself(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    with stub("--tls", "--tls-ca-out", str(ca)) as served:
        status, refused = ask_door(
            served.url, "POST", "/__petstore/faults", {"fault": {"kind": "tls.expired"}, "times": 1}, ca
        )
        assert (status, "serve --control-port PORT, for tls.expired()" in refused["detail"]) == (422, True)
        assert ask_door(served.url, "GET", "/__petstore/faults", ca=ca)[1] == {"faults": []}
        with connect(served.url, world="default", ca_path=ca) as petstore:
            assert ask(petstore) == 200
            assert petstore.journal.handshakes[-1].complete


# Trust


def test_the_stubs_authority_is_handed_on(petstore: RemotePetStore, ca_path: Path) -> None:
    assert petstore.tls.ca_path == str(ca_path)
    assert petstore.tls.environ() == dict.fromkeys(petstore.tls.environ(), str(ca_path))
    assert "NODE_EXTRA_CA_CERTS" in petstore.tls.environ()
    assert ask(petstore) == 200


def test_the_environment_names_it_as_well(door_url: str, ca_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with (
        connect(door_url) as petstore,
        pytest.raises(PetStoreMockError, match=r"connect\(\.\.\., ca_path=FILE\), petstore_remote_ca"),
    ):
        _ = petstore.tls
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_path))
    with connect(door_url) as petstore:
        assert petstore.tls.ca_path == str(ca_path)
        assert ask(petstore) == 200


def test_who_does_not_trust_a_door_is_told_how(tmp_path: Path, ca_path: Path) -> None:
    with PetStoreMock(tls=True, control=True) as elsewhere:
        with pytest.raises(PetStoreMockError, match=r"as ca_path= \(petstore_remote_ca for the fixture\)"):
            connect(elsewhere.url, ca_path=ca_path)
        with connect(elsewhere.url, ca_path=elsewhere.tls.ca_path) as petstore:
            assert ask(petstore) == 200
        for wrong in (tmp_path / "none.pem", tmp_path):
            with pytest.raises(PetStoreMockError, match="expected a PEM file with the certificate of the stub's autho"):
                connect(elsewhere.url, ca_path=wrong)
    with PetStoreMock(control=True) as plain, connect(plain.url) as petstore:
        with pytest.raises(PetStoreMockError, match="expected a stub that speaks TLS"):
            _ = petstore.tls
        assert petstore.journal.handshakes == ()


# petstore-mock ready


def test_ready_trusts_what_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    with stub("--tls", "--tls-ca-out", str(ca)) as served:
        url = served.url.removesuffix("/v1")
        assert run(["ready", "--url", url, "--tls-ca", str(ca)], sys.stdout, sys.stderr) == 0
        capsys.readouterr()
        asked = {
            "which serve --tls-ca-out writes, as --tls-ca": ["--url", url],
            "none.pem: No such file": ["--url", url, "--tls-ca", str(tmp_path / "none.pem")],
            "does it speak TLS? Ask at https://": ["--url", url.replace("https", "http")],
        }
        for told, arguments in asked.items():
            assert run(["ready", "--timeout", "0.1", *arguments], sys.stdout, sys.stderr) == 1
            assert told in capsys.readouterr().out


@pytest.mark.parametrize("own_port", [False, True])
def test_ready_asks_the_stub_that_the_environment_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_port: bool
) -> None:
    given = {"PETSTORE_MOCK_TLS": "true", "PETSTORE_MOCK_TLS_CA_OUT": str(tmp_path / "ca.pem")}
    given |= {"PETSTORE_MOCK_CONTROL_PORT": "0"} if own_port else {}
    with stub("--log-format", "json", environment=given, lines=1) as served:
        first = json.loads(served.first[0])
        for name in given:
            monkeypatch.setenv(name, given[name])
        monkeypatch.setenv("PETSTORE_MOCK_PORT", str(urlsplit(first["url"]).port))
        if own_port:
            monkeypatch.setenv("PETSTORE_MOCK_CONTROL_PORT", str(urlsplit(first["control_url"]).port))
        assert run(["ready"], sys.stdout, sys.stderr) == 0
        expected = first["control_url"] if own_port else first["url"]
        assert capsys.readouterr().out == f"ready: {expected.removesuffix('/__petstore/').removesuffix('/v1')}\n"
