"""Clients meet the faults of the TLS handshake as the table says, and learn of the authority as the other one says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock
from tests.inside.live.tls_clients import CLIENTS, ROWS, documented, go_program, measured, ready

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.inside.live.tls_clients import Client

pytestmark = pytest.mark.untraced

PATIENCE = 60  # seconds
COMPILED = ("Java's HttpClient", "Go's net/http")  # which takes seconds
HANGS = ("Node's fetch", "`tls.handshake_hang()`")  # its own limit of ten seconds, which no option sets
CELLS = [
    pytest.param(name, label, marks=[pytest.mark.slow] if name in COMPILED or (name, label) == HANGS else [])
    for name in CLIENTS
    for label in ROWS
]


@pytest.fixture(scope="module")
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(tls=True, seed=1) as petstore:
        yield petstore


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest, petstore: PetStoreMock) -> Iterator[tuple[str, Client]]:
    with ready(request.param, petstore) as ask:
        if ask is None:
            pytest.skip("its program is not installed")
        yield request.param, ask


@pytest.mark.parametrize(("client", "label"), CELLS, indirect=["client"])
def test_every_client_sees_what_the_table_says(petstore: PetStoreMock, client: tuple[str, Client], label: str) -> None:
    """Another cell than the document's: run `make generated` and judge the difference."""
    name, ask = client
    assert measured(name, ROWS[label], ask, petstore) == documented()[label, name]


def test_the_table_has_every_fault_and_every_client() -> None:
    assert list(documented()) == [(label, client) for label in ROWS for client in CLIENTS]


# How programs are told of the authority by their environment

BY_ENVIRONMENT = {
    "requests": "import requests; print(requests.get(url, headers=headers).status_code)",
    "httpx": "import httpx; print(httpx.get(url, headers=headers).status_code)",
    "urllib3": "import urllib3; print(urllib3.request('GET', url, headers=headers, retries=False).status)",
    "urllib": "from urllib.request import *; print(urlopen(Request(url, headers=headers)).status)",
    "aiohttp": """
import aiohttp, asyncio
async def run():
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url) as answer:
        print(answer.status)
asyncio.run(run())
""",
}
VARIABLE = {"requests": "REQUESTS_CA_BUNDLE"}


def run_python(petstore: PetStoreMock, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    given = {name: value for name, value in os.environ.items() if name not in petstore.tls.environ()}
    given.pop("SSL_CERT_DIR", None)
    preamble = f"url, headers = {petstore.url + '/pets'!r}, {petstore.headers!r}\n"
    command = [sys.executable, "-c", preamble + code]
    environment = {**given, "NO_PROXY": "*", "no_proxy": "*", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("library", BY_ENVIRONMENT)
def test_a_library_is_told_by_one_variable(petstore: PetStoreMock, library: str) -> None:
    variable = VARIABLE.get(library, "SSL_CERT_FILE")
    done = run_python(petstore, BY_ENVIRONMENT[library], **{variable: petstore.tls.ca_path})
    assert done.stdout.strip() == "200", done.stderr
    others = {name: path for name, path in petstore.tls.environ().items() if name != variable}
    if library == "requests":
        others.pop("CURL_CA_BUNDLE")  # which it reads as well
    untold = run_python(petstore, BY_ENVIRONMENT[library], **others)
    assert untold.returncode != 0
    assert "CERTIFICATE_VERIFY_FAILED" in untold.stderr


def test_all_variables_together_do_for_each(petstore: PetStoreMock) -> None:
    code = "\n".join(BY_ENVIRONMENT.values())
    assert run_python(petstore, code, **petstore.tls.environ()).stdout.split() == ["200"] * len(BY_ENVIRONMENT)


@pytest.mark.parametrize(("library", "told"), [("aiohttp", False), ("httpx", True), ("urllib", True)])
def test_aiohttp_reads_its_environment_at_its_import_only(petstore: PetStoreMock, library: str, told: bool) -> None:
    late = f"import aiohttp, os; os.environ['SSL_CERT_FILE'] = {petstore.tls.ca_path!r}\n"
    done = run_python(petstore, late + BY_ENVIRONMENT[library])
    assert (done.stdout.strip() == "200") == told, done.stderr


def test_an_environment_beats_the_sessions_own_in_requests(petstore: PetStoreMock) -> None:
    code = (
        f"import requests; session = requests.Session(); session.verify = {petstore.tls.ca_path!r}\n"
        "print(session.get(url, headers=headers, verify=session.verify).status_code)\n"
        "print(session.get(url, headers=headers).status_code)"
    )
    certifi = subprocess.run(
        [sys.executable, "-c", "import certifi; print(certifi.where())"], capture_output=True, text=True, check=True
    )
    done = run_python(petstore, code, REQUESTS_CA_BUNDLE=certifi.stdout.strip())
    assert done.stdout.split() == ["200"]
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


@pytest.mark.slow
def test_java_is_told_by_a_trust_store(petstore: PetStoreMock, tmp_path: Path) -> None:
    if shutil.which("javac") is None:
        pytest.skip("no JDK is installed")
    with ready("Java's HttpClient", petstore) as ask:
        assert ask is not None
        assert ask(petstore, 10.0) == "200"
    store = str(tmp_path / "store.p12")
    importing = ["keytool", "-importcert", "-noprompt", "-file", petstore.tls.ca_path, "-alias", "petstore"]
    subprocess.run([*importing, "-keystore", store, "-storepass", "changeit"], check=True, capture_output=True)
    source = tmp_path / "Ask.java"
    source.write_text(JAVA)
    outcomes = {}
    naming = [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit"]
    for told, options in {True: naming, False: []}.items():
        command = ["java", *options, str(source), f"{petstore.url}/pets", petstore.api_key]
        outcomes[told] = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert outcomes[True].stdout.strip() == "200", outcomes[True].stderr
    assert "unable to find valid certification path" in outcomes[False].stderr


JAVA = """
import java.net.URI;
import java.net.http.*;

public class Ask {
    public static void main(String[] given) throws Exception {
        HttpRequest asked = HttpRequest.newBuilder(URI.create(given[0]))
            .header("Authorization", "Bearer " + given[1])
            .build();
        System.out.println(HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
}
"""


@pytest.mark.slow
def test_go_is_told_by_one_variable(petstore: PetStoreMock, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    program = go_program(str(tmp_path))
    others = {name: path for name, path in petstore.tls.environ().items() if name != "SSL_CERT_FILE"}
    told = {}
    for variables in (petstore.tls.environ(), others):
        environment = {**{name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}, **variables}
        done = subprocess.run(
            [program],
            env=environment,
            input=f"{petstore.url}/pets {petstore.api_key} 10",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        told[len(variables)] = done.stdout.strip()
    assert told == {4: "200", 3: "x509.UnknownAuthorityError"}


def test_node_is_told_by_an_agent(petstore: PetStoreMock) -> None:
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    command = ["node", "-e", NODE, petstore.tls.ca_path, f"{petstore.url}/pets", petstore.api_key]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.split() == ["200", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"]


NODE = """
const [file, url, key] = process.argv.slice(1);
const https = require("https");
const headers = { Authorization: `Bearer ${key}` };
const ask = (agent, then) => https.get(url, { agent, headers }, (answer) => {
  console.log(answer.statusCode);
  answer.resume();
  then();
}).on("error", (error) => { console.log(error.code); then(); });
ask(new https.Agent({ ca: require("fs").readFileSync(file) }), () => ask(new https.Agent(), () => {}));
"""
