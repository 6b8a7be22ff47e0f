"""``check_client(..., tls=True)``: three clients that check nothing, one that checks too little, one that waits."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING

import httpx
import pytest

from petstore_mock import PetStoreMock, PetStoreMockError
from petstore_mock.stateful import ClientBugError, check_client
from tests.clients.correct import TIMEOUT, HttpClientPets, HttpxPets, RequestsPets, Urllib3Pets
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

pytestmark = [*leavings.EXPECTED, pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")]

ALL = (
    "a service whose certificate was for another host; so it did where it had expired or led to a root that "
    "nobody trusts (RFC 9110 §4.3.4: "
)


class HttpsPets(HttpClientPets):
    """Correct, on ``http.client``."""

    context: ssl.SSLContext

    def new_connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.context)


def with_http_client(petstore: PetStoreMock) -> HttpsPets:
    client = HttpsPets(petstore.url, petstore.api_key)
    client.context = petstore.tls.client_context()
    return client


def with_urllib3(petstore: PetStoreMock) -> Urllib3Pets:
    client = Urllib3Pets(petstore.url, petstore.api_key)
    client.pool.connection_pool_kw["ca_certs"] = petstore.tls.ca_path
    return client


def with_requests(petstore: PetStoreMock) -> RequestsPets:
    client = RequestsPets(petstore.url, petstore.api_key)
    client.session.trust_env = False
    client.session.verify = petstore.tls.ca_path
    return client


def with_httpx(petstore: PetStoreMock) -> HttpxPets:
    client = HttpxPets(petstore.url, petstore.api_key)
    headers, context = client.client.headers, petstore.tls.client_context()
    client.client.close()
    client.client = httpx.Client(
        base_url=petstore.url, headers=headers, timeout=TIMEOUT, trust_env=False, verify=context
    )
    return client


@pytest.mark.untraced
@pytest.mark.parametrize("make_client", [with_http_client, with_urllib3, with_requests, with_httpx])
def test_a_correct_client_passes_over_tls(make_client: Callable[[PetStoreMock], object]) -> None:
    report = check_client(make_client, tls=True, max_examples=8)
    assert report.examples == 8


# Clients that check nothing


def urllib3_without_checks(petstore: PetStoreMock) -> Urllib3Pets:
    client = Urllib3Pets(petstore.url, petstore.api_key)
    client.pool.connection_pool_kw["cert_reqs"] = "CERT_NONE"
    return client


def requests_without_checks(petstore: PetStoreMock) -> RequestsPets:
    client = RequestsPets(petstore.url, petstore.api_key)
    client.session.trust_env = False
    client.session.verify = False
    return client


def httpx_without_checks(petstore: PetStoreMock) -> HttpxPets:
    return HttpxPets(petstore.url, petstore.api_key)  # with verify=False


@pytest.mark.parametrize("make_client", [urllib3_without_checks, requests_without_checks, httpx_without_checks])
def test_a_client_that_checks_nothing_is_found(make_client: Callable[[PetStoreMock], object]) -> None:
    with pytest.raises(ClientBugError) as caught:
        check_client(make_client, tls=True, max_examples=1)
    bug = caught.value
    assert bug.sentence.startswith(f"list_pets() sent its request, with the key, to {ALL}")
    assert "with PetStoreMock(tls=True) as petstore:" in bug.test
    assert "faults.tls.wrong_host()" in bug.test
    assert isinstance(raised_by(bug.test, make_client), AssertionError)
    assert "GET /v1/pets" in bug.wire


def test_a_client_that_checks_no_host_names_is_found() -> None:
    def without_host_names(petstore: PetStoreMock) -> HttpsPets:
        client = with_http_client(petstore)
        client.context.check_hostname = False
        return client

    with pytest.raises(ClientBugError) as caught:
        check_client(without_host_names, tls=True, max_examples=1)
    assert "whose certificate was for another host (RFC 9110" in caught.value.sentence
    assert isinstance(raised_by(caught.value.test, without_host_names), AssertionError)
    assert raised_by(caught.value.test, with_http_client) is None, "the test passes for a correct client"


class Patient(HttpsPets):
    """Has no timeout."""

    timeout = None


def test_a_client_without_a_timeout_in_the_handshake_is_found() -> None:
    def make_client(petstore: PetStoreMock) -> Patient:
        client = Patient(petstore.url, petstore.api_key)
        client.context = petstore.tls.client_context()
        return client

    with pytest.raises(ClientBugError) as caught:
        check_client(make_client, tls=True, max_examples=1, patience=1.5)
    assert caught.value.sentence.startswith("list_pets() waited for 1.5 s in a TLS handshake")
    assert caught.value.test.index("began = ") < caught.value.test.index("end.start()"), (
        "or a busy machine lets it pass"
    )
    assert isinstance(raised_by(caught.value.test, make_client), AssertionError)
    assert raised_by(caught.value.test, with_http_client) is None, "the test passes for a correct client"


def test_a_client_that_does_not_trust_the_mock_is_the_authors_to_change() -> None:
    def untold(petstore: PetStoreMock) -> RequestsPets:
        client = RequestsPets(petstore.url, petstore.api_key)
        client.session.trust_env = False
        return client

    with pytest.raises(PetStoreMockError, match=r"petstore\.tls\.client_context\(\) or petstore\.tls\.ca_path"):
        check_client(untold, tls=True, max_examples=1)


def test_without_tls_nobody_is_asked() -> None:
    check_client(httpx_without_checks, max_examples=1)
