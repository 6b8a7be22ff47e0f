"""The command line in this process: arguments, environment variables, and the commands that print or wait."""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_httpserver

from petstore_mock import PetStoreMock, PetStoreMockError, connect
from tests.cli.conftest import Command


def test_version_is_printed(command: Command) -> None:
    """Tests in tests/golden compare the help and the gaps."""
    assert command("--version")[:2] == (0, "petstore-mock 0.1.0\n")


WRONG: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), "COMMAND"),
    (("srve",), "expected a command, one of demo, serve, ready, gaps, openapi, check, verify, learn, "),
    (("--port", "80"), "expected a command, one of demo, serve, "),
    (("help",), "did you mean '--help'?"),
    (("learn", "http://127.0.0.1:9/v1", "--out", "f"), "did you mean '--output'?"),
    (("srve",), "did you mean 'serve'?"),
    (("--vrsion",), "did you mean '--version'?"),
    (("serve", "--prt", "1"), "unrecognized arguments: --prt 1 (did you mean '--port'?)"),
    (("serve", "--prt=1"), "unrecognized arguments: --prt=1 (did you mean '--port'?)"),
    (("gaps", "--fromat", "json"), "did you mean '--format'?"),
    (("ready", "--tlsca", "f"), "did you mean '--tls-ca'?"),
    (("verify", "http://127.0.0.1:9/v1", "--api_key", "k"), "did you mean '--api-key'?"),
    (("serve", "--port", "70000"), "--port: expected a port from 0 to 65535"),
    (("serve", "--port", "x"), "--port: expected"),
    (("serve", "--set", "list_order"), "GAP=VALUE"),
    (("serve", "--set", "list_ordr=by_name"), "did you mean 'list_order'?"),
    (("serve", "--behaviour", "hostil"), "did you mean 'hostile'?"),
    (("serve", "--at", "soon"), "2030-12-06"),
    (("serve", "--seed", "nowhere.json"), "--seed: expected a number of animals, or a JSON file"),
    (("serve", "--seed", "-1"), "--seed: expected a number of animals"),
    (("serve", "--set", "list_order=x"), "--set: expected a list_order"),
    (("serve", "--behaviour", "no.toml"), "--behaviour: expected a readable TOML file"),
    (("serve", "--api-key", "a", "--api-key", "a"), "--api-key: expected each API key once"),
    (("serve", "--at", "2030-13-01"), "--at: expected a date"),
    (("serve", "--public-url", "ci.example"), "--public-url: expected an address"),
    (("serve", "--api-key", "a b"), "RFC 6750"),
    (("serve", "--log-format", "xml"), "text, json"),
    (("serve", "--allowed-origin", "http://shop.example/"), "as browsers write it"),
    (("serve", "--cors", "http://shop.example/"), "as browsers write it"),
    (("serve", "--keep-requests", "0"), "at least 1"),
    (("serve", "--control", "--no-control"), "--control or --no-control"),
    (("serve", "--control-port", "0", "--no-control"), "--control-port or --no-control"),
    (("serve", "--control-token", "a", "--no-control"), "--control-token or --no-control"),
    (("serve", "--allowed-host", "a", "--no-control"), "--allowed-host or --no-control"),
    (("serve", "--allowed-origin", "http://a", "--no-control"), "--allowed-origin or --no-control"),
    (("serve", "--host", "0.0.0.0", "--control-port", "0"), "beside --control-port on 0.0.0.0"),
    (("serve", "--host", "0.0.0.0", "--allowed-host", "a"), "beside --allowed-host on 0.0.0.0"),
    (("serve", "--control-port", "8080"), "expected two ports; got 8080 for --port and for --control-port"),
    (("serve", "--tls", "--tls-cert", "x.pem"), "--tls or --tls-cert"),
    (("serve", "--tls-host", "a"), "expected --tls beside --tls-host"),
    (("serve", "--tls-key", ""), "expected --tls-cert beside --tls-key"),
    (("ready", "--url", "http://127.0.0.1:9", "--tls-ca", "x.pem"), "https:// beside --tls-ca"),
    (("serve", "--control-token", "a\tb"), "printable"),
    (("serve", "--control-token", ""), "control token"),  # a shell variable without a value
    *((("serve", option, ""), option) for option in ("--port", "--seed", "--at", "--log-format")),
    (("serve", "--tls-cert", ""), "certificate=''"),
    (("serve", "--allowed-host", "http://a"), "Host"),
    (("serve", "--tls-key", "x.pem"), "--tls-cert"),
    (("serve", "--tls-ca-out", "x.pem"), "--tls"),
    (("ready", "--url", "here"), "http://127.0.0.1:8080"),
    (("ready", "--timeout", "0"), "positive"),
    (("gaps", "--format", "xml"), "xml"),
    (("openapi", "--server", "x"), "http://127.0.0.1:8080/v1"),
    (("openapi", "--openapi", "2.0"), "3.1"),
    (
        ("verify", "http://127.0.0.1:9/v1", "--plan", "--receipt", "f"),
        "with --plan, which sends no request; got --receipt",
    ),
)


# Values that begin with a dash. Each command line has another mistake, whose message shows that the value was taken.
DASHES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("serve", "--control-token", "-abc", "--port", "70000"), "--port"),
    (("serve", "--api-key", "-a", "--api-key", "--b", "--port", "70000"), "--port"),
    (("serve", "--api-key=-a", "--port", "70000"), "--port"),
    (("serve", "--seed", "-pets.json"), "-pets.json"),
    (("serve", "--set", "-list_order=by_name"), "-list_order"),
    (("ready", "--url", "--here"), "'--here'"),
    (("ready", "--timeout", "-1"), "timeout=-1.0"),
    (("openapi", "--server", "-x"), "'-x'"),
    (("verify", "http://127.0.0.1:9/v1", "--api-key", "-k", "--rate", "0"), "rate=0"),
    (("verify", "http://127.0.0.1:9/v1", "--header", "-x", "--api-key", "k"), "without a colon"),
    (("verify", "http://127.0.0.1:9/v1", "--api-key-env", "-x"), "the variable that --api-key-env names"),
    (("learn", "http://127.0.0.1:9/v1", "-o", "-x.toml", "--plan"), "got --output"),
    (("serve", "--control-token", "--port", "1"), "--control-token: expected one argument"),
    (("serve", "--control-token"), "--control-token: expected one argument"),
    (("check", "--seed", "--", "true"), "--seed: expected one argument"),
    (("check", "--json", "--", "true"), "--json: expected one argument"),
)


@pytest.mark.parametrize(("arguments", "words"), DASHES)
def test_a_value_may_begin_with_a_dash(command: Command, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = command(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_a_behaviour_that_nests_too_deep_is_refused(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "deep.toml"
    file.write_text("a = " + "[" * 100_000, encoding="utf-8")
    for arguments in (("serve",), ("verify", "http://127.0.0.1:9/v1", "--api-key", "k")):
        code, out, err = command(*arguments, "--behaviour", str(file))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "nested too deep" in err


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_a_wrong_argument_exits_with_2_and_one_sentence(
    command: Command, arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = command(*arguments)
    assert (code, out, err.count("\n"), err.startswith("petstore-mock: ")) == (2, "", 1, True)
    assert words in err


def test_a_wrong_environment_variable_is_reported(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_PORT", "70000")
    assert "PETSTORE_MOCK_PORT: expected a port" in command("serve")[2]
    monkeypatch.setenv("PETSTORE_MOCK_PORT", "tcp://10.0.0.1:8080")  # Kubernetes sets it for a service of this name
    monkeypatch.setenv("PETSTORE_MOCK_QUIET", "perhaps")
    assert "PETSTORE_MOCK_QUIET: expected true or false" in command("serve")[2]


def test_a_misspelt_variable_prints_one_line_with_the_nearest_name(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("APIKEY", "SERVICE_HOST", "PORT_8080_TCP", "SERVICE_PORT"):  # Kubernetes sets all but the first
        monkeypatch.setenv(f"PETSTORE_MOCK_{name}", "secret")
    line = "petstore-mock: unknown environment variable PETSTORE_MOCK_APIKEY; did you mean PETSTORE_MOCK_API_KEY?\n"
    assert command("gaps")[::2] == (0, line)


def test_a_variable_of_the_plugin_is_no_misspelt_one(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMOTE", "REMOTE_TOKEN", "LEAKS", "STRICT"):
        monkeypatch.setenv(f"PETSTORE_MOCK_{name}", "x")
    assert command("gaps")[::2] == (0, "")


@pytest.mark.parametrize("version", ["3.1", "3.0"])
def test_openapi_leaves_out_only_what_the_options_name(command: Command, version: str) -> None:
    def printed(*options: str) -> str:
        return command("openapi", "--openapi", version, *options)[1]

    whole, narrow = printed(), printed("--no-default-responses", "--no-int64-bounds")
    assert '"default": {' in whole
    assert "9223372036854775807" in whole
    left_out = json.loads(whole)
    for at_path in left_out["paths"].values():
        for operation in at_path.values():
            del operation["responses"]["default"]
    assert json.loads(printed("--no-default-responses")) == left_out
    bounds = re.compile(r',?\s*"(minimum|maximum)": -?9223372036854775\d{3}')
    assert json.loads(printed("--no-int64-bounds")) == json.loads(bounds.sub("", whole))
    assert json.loads(narrow) == json.loads(bounds.sub("", json.dumps(left_out)))


def test_openapi_prints_the_document_with_the_given_server_first(command: Command) -> None:
    document = json.loads(command("openapi", "--server", "http://127.0.0.1:9/v1")[1])
    assert (document["openapi"][:3], document["servers"][0]["url"]) == ("3.1", "http://127.0.0.1:9/v1")
    assert json.loads(command("openapi", "--openapi", "3.0")[1])["openapi"] == "3.0.3"


def test_ready_waits_and_prints_the_result(command: Command) -> None:
    with PetStoreMock(control=True) as petstore:
        for url in (petstore.url, petstore.control_url, petstore.url.removesuffix("/v1")):
            assert command("ready", "--url", url)[:2] == (0, f"ready: {url}\n")
    code, out, _ = command("ready", "--url", unused_url(), "--timeout", "0.2")
    assert (code, "not ready within 0.2 s" in out) == (1, True)
    with PetStoreMock() as closed:  # `ready` stops at once, because waiting does not open a door
        code, out, _ = command("ready", "--url", closed.url, "--timeout", "60")
        assert (code, "status 404" in out) == (1, True)


def test_ready_brackets_an_ipv6_address_of_the_environment(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_PORT", str(urlsplit(unused_url()).port))
    for host in ("::", "::1"):
        monkeypatch.setenv("PETSTORE_MOCK_HOST", host)
        assert " http://[::1]:" in command("ready", "--timeout", "0.01")[1]


def test_ready_waits_for_a_stub_that_takes_long(command: Command) -> None:
    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(1.2)
            self.wfile.write(b'HTTP/1.0 200 OK\r\n\r\n{"status": "ok"}')

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.handle_request).start()
        assert command("ready", "--url", f"http://127.0.0.1:{server.server_port}", "--timeout", "30")[0] == 0


def test_ready_waits_for_a_stub_behind_a_proxy(command: Command, httpserver: pytest_httpserver.HTTPServer) -> None:
    health = "/__petstore/health"
    for status in (502, 503, 504):
        httpserver.expect_ordered_request(health).respond_with_data(status=status)
    httpserver.expect_ordered_request(health).respond_with_json({"status": "ok"})
    assert command("ready", "--url", httpserver.url_for("/"), "--timeout", "60")[0] == 0


def test_ready_names_a_missing_certificate_file_at_once(command: Command, tmp_path: Path) -> None:
    missing = tmp_path / "no-such.pem"
    code, out, err = command("ready", "--url", "https://127.0.0.1:9", "--tls-ca", str(missing), "--timeout", "0.2")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("petstore-mock: waiting for the file of --tls-ca, ")
    assert "no-such.pem" in err
    assert "no-such.pem" in out
    missing.write_text("no certificate", encoding="utf-8")
    code, out, err = command("ready", "--url", "https://127.0.0.1:9", "--tls-ca", str(missing), "--timeout", "60")
    assert (code, "no certificate" in out, err) == (1, True, "")
    code, out, err = command("ready", "--url", "https://127.0.0.1:9", "--tls-ca", str(missing / "f"))
    assert (code, out, err.count("\n"), "--tls-ca: " in err) == (2, "", 1, True)


def test_ready_reports_a_service_that_is_not_a_stub(command: Command, httpserver: pytest_httpserver.HTTPServer) -> None:
    httpserver.expect_request("/__petstore/health").respond_with_data("hello")
    code, out, _ = command("ready", "--url", httpserver.url_for("/v1"), "--timeout", "60")
    assert (code, "another service responds at this address" in out) == (1, True)


def unused_url() -> str:
    """Return an address at which no process listens."""
    with PetStoreMock() as other:
        return other.url


# Addresses that hold a secret: a user, a query, and the fragment of a link to the console.
USERS: tuple[str, ...] = (
    "http://bob:hunter2@127.0.0.1:9",
    "http://bob:hun/hunter2?#@127.0.0.1:9",
    "http://hunter2@127.0.0.1:9/v1",
    "http://127.0.0.1:99999/v1?hunter2",
    "bob:hunter2@127.0.0.1:9",
    "ftp://127.0.0.1:9/#hunter2",
)
QUERIES: tuple[str, ...] = ("http://127.0.0.1:9/v1?api_key=hunter2", "http://127.0.0.1:9/__petstore/#token=hunter2")
CLIENTS: tuple[tuple[str, ...], ...] = (
    ("ready", "--timeout", "0.2", "--url"),
    ("verify", "--api-key-env", "HOME", "--deadline", "1"),
)
COMMANDS: tuple[tuple[str, ...], ...] = (*CLIENTS, ("serve", "--public-url"), ("openapi", "--server"))
SECRETS = [(arguments, url) for arguments in COMMANDS for url in USERS]
SECRETS += [(arguments, url) for arguments in CLIENTS for url in QUERIES]


@pytest.mark.parametrize(("arguments", "url"), SECRETS)
def test_no_message_shows_the_secret_of_an_address(command: Command, arguments: tuple[str, ...], url: str) -> None:
    code, out, err = command(*arguments, url)
    assert code != 0
    assert "127.0.0.1" in out + err
    assert "hunter2" not in out + err


@pytest.mark.parametrize("url", [*USERS, *QUERIES])
def test_connect_shows_no_secret_of_an_address(url: str) -> None:
    with pytest.raises(PetStoreMockError, match=r"127\.0\.0\.1") as refused:
        connect(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("guess", "meant"),
    [
        (("run",), "serve"),
        (("serve", "--data", "3"), "--seed"),
        (("serve", "--key", "k"), "--api-key"),
        (("serve", "-p", "80"), "--port"),
        (("verify", "--creates", "3", "http://127.0.0.1:1"), "--allow-create"),
    ],
)
def test_command_or_option_of_another_tool_names_ours(command: Command, guess: tuple[str, ...], meant: str) -> None:
    assert f"did you mean {meant!r}?" in command(*guess)[2]
