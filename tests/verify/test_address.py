"""``verify`` at addresses without /v1, at closed ports, and at services that ask for client certificates."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from petstore_mock import PetStoreMockError
from tests.verify.services import Anything, ask, fixed, listening, result_of, served


def test_address_without_the_version_costs_one_request_and_names_the_right_one() -> None:
    paths: list[str] = []

    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        paths.append(environ["PATH_INFO"])
        return fixed("404 Not Found")(environ, start_response)

    with served(app) as url:
        root = url.removesuffix("/v1")
        words = rf"^expected a base address that ends in /v1; {root} has no list .*; did you mean {root}/v1\?$"
        with pytest.raises(PetStoreMockError, match=words):
            ask(f"{root}/")
    assert paths == ["/pets"]


def test_page_at_an_address_without_the_version_is_no_service() -> None:
    page = fixed("200 OK", ("Content-Type", "text/html"), body=b"<h1>Our application</h1>")
    with served(page) as url, pytest.raises(PetStoreMockError, match="did you mean"):
        ask(url.removesuffix("/v1"))
    with served(page) as url:
        assert ask(url, max_requests=5).exit_code == 1


def test_service_at_another_address_is_checked() -> None:
    with served(fixed("200 OK", ("Content-Type", "application/json"), body=b"[]")) as url:
        verdict = ask(url.removesuffix("/v1"), max_requests=1)
    assert result_of(verdict, "4.1-list") == "holds"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_refused_connection_is_told_without_a_guess(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    verdict = ask(f"{scheme}://127.0.0.1:{port}/v1")
    assert verdict.exit_code == 3
    assert verdict.stopped == "no readable response arrived: the connection failed: Connection refused"


# Services that ask for a client certificate


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return ca


@contextlib.contextmanager
def asking_for_a_certificate(ca: trustme.CA, version: ssl.TLSVersion) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    ca.issue_cert("127.0.0.1").configure_cert(context)
    ca.configure_trust(context)

    def handle(plain: socket.socket) -> None:
        with context.wrap_socket(plain, server_side=True) as connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")

    with listening(handle) as url:
        yield url.replace("http:", "https:")


VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


@VERSIONS
def test_service_that_asks_for_a_certificate_gets_one(
    authority: trustme.CA, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    own = authority.issue_cert("client.example.com")
    cert, cert_key = tmp_path / "cert.pem", tmp_path / "key.pem"
    own.private_key_pem.write_to_path(cert_key)
    own.cert_chain_pems[0].write_to_path(cert)
    with asking_for_a_certificate(authority, version) as url:
        assert [one.id for one in ask(url, cert=cert, cert_key=cert_key, max_requests=1).broken] == []


@VERSIONS
def test_service_that_lacks_a_certificate_is_told_with_the_option(
    authority: trustme.CA, version: ssl.TLSVersion
) -> None:
    with asking_for_a_certificate(authority, version) as url:
        verdict = ask(url)
    assert verdict.exit_code == 3
    assert "if it asks for a client certificate, pass --cert" in (verdict.stopped or "")


@VERSIONS
def test_service_that_refuses_the_certificate_is_told(
    authority: trustme.CA, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    file = tmp_path / "other.pem"
    trustme.CA().issue_cert("client.example.com").private_key_and_cert_chain_pem.write_to_path(file)
    with asking_for_a_certificate(authority, version) as url:
        verdict = ask(url, cert=file)
    assert "perhaps because of the client certificate of --cert" in (verdict.stopped or "")


@pytest.mark.parametrize("text", [None, "", "-----BEGIN CERTIFICATE-----"])
def test_file_without_a_certificate_is_refused(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "cert.pem"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(PetStoreMockError, match=r"a client certificate and its private key.*cert\.pem"):
        ask("https://127.0.0.1:9/v1", cert=file)


def test_key_without_a_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PetStoreMockError, match="beside cert_key"):
        ask("https://127.0.0.1:9/v1", cert_key=tmp_path / "key.pem")
