"""The command ``petstore-mock serve`` as a process: greeting, log, control door and signals."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMockError, connect, faults
from tests.live.stub import PATIENCE, Stub, stub
from tests.platforms import HAS_SIGNALS, POSIX_SIGNALS
from tests.programs import PETSTORE_MOCK
from tests.wire.raw import eventually

KEY = "key-of-the-test"


def ask(url: str, key: str = KEY, method: str = "GET", body: bytes | None = None, **fields: str) -> int:
    """Send a request and return its status, or 0 without a response."""
    named = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    named |= {name.replace("_", "-"): value for name, value in fields.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, named, method=method), timeout=PATIENCE) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def root_of(running: Stub) -> str:
    return running.url.removesuffix("/v1")


def test_the_greeting_has_the_address_the_key_and_a_curl_command() -> None:
    with stub("--api-key", KEY, "--seed", "3") as running:
        assert running.first[0].startswith(f"petstore-mock serves {running.url} ")
        assert f"API key: {KEY}" in running.first
        assert f"Control url: {root_of(running)}/__petstore/" in running.first
        assert running.curl.endswith(f"{running.url}/pets")
        assert ask(f"{running.url}/pets") == 200
        code, _, err = running.end()
    assert (code, err) == (0, "")


def test_the_greeting_as_json_has_the_same_details() -> None:
    with stub("--log-format", "json", "--control", "--tls", lines=1) as running:
        found = json.loads(running.first[0])
    assert set(found) == {"event", "url", "api_keys", "curl", "control_url", "control_token", "ca_path", "spki_hash"}
    assert (found["event"], found["url"].startswith("https://")) == ("serving", True)


def lose_a_create(running: Stub, at: Any) -> None:
    with connect(running.url, world="default") as petstore:
        petstore.inject(faults.reset(), on="createPet", times=1, at=at)
    ask(f"{running.url}/pets", method="POST", body=b'{"name": "Rex", "categoryId": 1}')


def test_the_log_shows_fault_and_outcome() -> None:
    with stub("--api-key", KEY) as running:
        lose_a_create(running, "before_commit")
        lose_a_create(running, "after_commit")
        with connect(running.url, world="default") as petstore:
            petstore.inject(503, on="listPets", times=1)
            petstore.inject(faults.delay(0.1), on="listPets", times=1)
        for path in ("/pets", "/pets", "/pets?limit=0"):
            ask(running.url + path)
        _, out, _ = running.end()
    lines = [line.partition(" ")[2] for line in out.splitlines()]
    assert lines[0].startswith("POST /v1/pets reset before the commit ")
    assert lines[1].startswith("POST /v1/pets reset after the commit: animal 1 created ")
    assert lines[2].startswith("GET /v1/pets 503 (fault server_error) ")
    assert re.match(r"GET /v1/pets 200 \(fault delay\) [1-9]\d\d", lines[3])  # at least 100 ms
    assert lines[4].startswith("GET /v1/pets?limit=0 400 ")
    assert len(lines) == 5


def test_a_line_of_the_log_is_printable_and_bounded() -> None:
    with stub("--api-key", KEY) as running:
        port = urlsplit(running.url).port
        for target in (b"/\x1b[31mred", b"/" + b"x" * 9_000):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % target)
                client.recv(1)
        first, second = running.end()[1].splitlines()
    assert " GET /\\x1b[31mred 400 " in first
    assert len(second) < 1_000


def test_the_log_as_json_has_an_object_for_each_request() -> None:
    with stub("--api-key", KEY, "--log-format", "json", lines=1) as running:
        lose_a_create(running, "after_commit")
        ask(f"{running.url}/pets?limit=0")
        ask(f"{running.url}/pets")
        _, out, _ = running.end()
    reset, refused, served = map(json.loads, out.splitlines())
    assert (reset["status"], reset["outcome"], reset["fault"]) == (None, "reset", "reset()")
    assert reset["result"] == "reset after the commit: animal 1 created"
    assert (refused["event"], refused["status"], refused["condition"]) == ("request", 400, "invalid_query")
    assert (refused["section"], refused["target"], refused["number"]) == ("4.1", "/v1/pets?limit=0", 2)
    assert (reset["reason"], served["reason"]) == (None, None)
    assert "query.limit" in refused["reason"]


def test_the_log_shows_which_responses_a_browser_hides_from_a_page() -> None:
    page: dict[str, Any] = {"Origin": "http://shop.example"}
    with stub("--api-key", KEY) as running:
        ask(f"{running.url}/pets", method="OPTIONS", Access_Control_Request_Method="GET", **page)
        ask(f"{running.url}/pets", **page)
        ask(f"{running.url}/pets", Sec_Fetch_Site="same-origin", **page)
        ask(f"{running.url}/pets")
        lines = running.end()[1].splitlines()
    hidden = ["hide this response from pages of http://shop.example" in line for line in lines]
    assert hidden == [True, True, False, False]


@pytest.mark.skipif(not HAS_SIGNALS, reason="it needs a pseudo-terminal")
@pytest.mark.parametrize("plain", [False, True])
def test_on_a_terminal_the_log_has_columns_and_colours(plain: bool) -> None:
    import pty  # noqa: PLC0415  # only on POSIX

    master, terminal = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1" if plain else ""}
    command = [*PETSTORE_MOCK, "serve", "--port", "0", "--api-key", KEY]
    with subprocess.Popen(command, stdout=terminal, env=environment) as process, open(master, "rb") as screen:  # noqa: PTH123
        first = screen.readline().decode()
        url = first.split()[2]
        for path in ("/pets", "/pets?limit=0", "/pets/1"):
            ask(url + path)
        lines: list[str] = []
        while len(lines) < 3:
            line = screen.readline().decode().rstrip()
            lines += [line] if " /v1/pets" in line and "Try:" not in line else []
        process.terminate()
    assert [re.findall("\33\\[(\\d+)m", line) for line in lines] == (
        [[]] * 3 if plain else [["32", "0"], ["33", "0"], ["33", "0"]]
    )
    bare = [re.sub("\33\\[\\d+m", "", line) for line in lines]
    assert len({line.index(status) for line, status in zip(bare, (" 200 ", " 400 ", " 404 "), strict=True)}) == 1
    assert len({re.search(r" ms +(\w+Pet)", line).start(1) for line in bare}) == 1  # type: ignore[union-attr]


def test_with_public_url_every_address_is_public() -> None:
    public = "https://ci.example/petstore"
    gaps = {"location_header": "present", "paging_headers": "link"}
    options = [word for name, value in gaps.items() for word in ("--set", f"{name}={value}")]
    with stub("--public-url", f"{public}/v1", "--api-key", KEY, *options) as running:
        body = json.dumps({"behaviour": gaps, "api_key": KEY}).encode()
        made = fetch(f"{root_of(running)}/w/a/__petstore/world", body, "PUT")
        assert json.load(made)["url"] == f"{public}/w/a/v1"
        for mount in ("", "/w/a"):
            pets = f"{root_of(running)}{mount}/v1/pets"
            assert fetch(pets, b'{"name": "Rex", "categoryId": 1}').headers["Location"] == f"/petstore{mount}/v1/pets/1"
            assert fetch(pets).headers["Link"].startswith(f"</petstore{mount}/v1/pets?")


@pytest.mark.seconds
def test_connect_through_a_proxy_with_a_path_needs_public_url() -> None:
    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # either side may close first
            while data := source.recv(65536):
                sink.sendall(data.replace(b" /petstore/", b" /", 1))

    class Proxy(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(stubs[-1].address) as upstream:
                threading.Thread(target=pump, args=(self.request, upstream), daemon=True).start()
                pump(upstream, self.request)

    stubs: list[Stub] = []
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        public = f"http://127.0.0.1:{proxy.server_address[1]}/petstore"
        with stub("--quiet", "--allowed-host", "127.0.0.1") as running:
            stubs.append(running)
            with pytest.raises(PetStoreMockError, match=r"/petstore, .*--public-url"):
                connect(public)
        with stub("--quiet", "--allowed-host", "127.0.0.1", "--public-url", public) as running:
            stubs.append(running)
            with connect(public) as petstore:
                assert petstore.url.startswith(f"{public}/w/")
                assert fetch(f"{petstore.url}/pets", key=petstore.api_key).status == 200
        proxy.shutdown()


def fetch(url: str, body: bytes | None = None, method: str | None = None, key: str = KEY) -> Any:
    named = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(url, body, named, method=method), timeout=PATIENCE)


def test_quiet_logs_no_requests() -> None:
    with stub("--quiet", "--api-key", KEY) as running:
        ask(f"{running.url}/pets")
        assert running.end()[1] == ""


@pytest.mark.seconds
def test_a_full_pipe_delays_no_client_and_lost_lines_are_counted() -> None:
    with stub("--api-key", KEY) as running:
        for _ in range(600):  # more lines than a pipe of 64 KiB can hold
            assert ask(f"{running.url}/pets?limit=0&{'x' * 100}") == 400
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0
        assert running.process.stderr is not None
        assert re.search(r"the log lost \d+ lines: no process read it", running.process.stderr.read())


def test_a_pipe_that_another_program_made_non_blocking_loses_no_line() -> None:
    code = "import os, runpy; os.set_blocking(1, False); runpy.run_module('petstore_mock', run_name='__main__')"
    with stub("--api-key", KEY, "--log-format", "json", lines=1, command=(sys.executable, "-c", code)) as running:
        for _ in range(300):  # more lines than the pipe holds, before the test reads it
            ask(f"{running.url}/pets?limit=0&{'x' * 150}")
        lines = [json.loads(running.stdout.readline()) for _ in range(300)]
        assert [line["number"] for line in lines] == [*range(1, 301)]


def test_a_door_with_a_token_refuses_requests_without_it() -> None:
    with stub("--control-token", "secret", "--quiet") as running:
        door = f"{root_of(running)}/__petstore"
        assert (ask(f"{door}/world"), ask(f"{door}/health"), ask(f"{door}/")) == (401, 200, 200)
        assert ask(f"{door}/world", Petstore_Control_Token="secret") == 200
        with pytest.raises(PetStoreMockError, match="token"):
            connect(running.url)
        with connect(running.url, token="secret") as petstore:
            assert petstore.pets == []


@pytest.mark.parametrize("options", [("--no-control",), ("--host", "0.0.0.0")])
def test_a_closed_door_responds_only_to_health_requests(options: tuple[str, ...]) -> None:
    with stub(*options, "--log-format", "json", lines=1) as running:
        assert "control_url" not in json.loads(running.first[0])
        door = f"{root_of(running).replace('0.0.0.0', '127.0.0.1')}/__petstore"
        assert (ask(f"{door}/health"), ask(f"{door}/world"), ask(f"{door}/")) == (200, 404, 404)
        assert running.end()[1] == ""  # the log leaves out requests to the door


def test_control_port_gives_the_door_its_own_port() -> None:
    with stub("--control-port", "0", "--log-format", "json", lines=1) as running:
        door = json.loads(running.first[0])["control_url"]
        assert door != f"{root_of(running)}/__petstore/"
        assert (ask(f"{door}world"), ask(f"{door}health")) == (200, 200)
        assert (ask(f"{root_of(running)}/__petstore/world"), ask(f"{root_of(running)}/__petstore/health")) == (404, 200)
        with connect(door) as petstore:
            assert petstore.url.startswith(root_of(running))


def test_environment_variables_set_options_that_are_not_given() -> None:
    environment = {
        "PETSTORE_MOCK_API_KEY": f"{KEY} other",
        "PETSTORE_MOCK_SEED": "2",
        "PETSTORE_MOCK_NO_CONTROL": "yes",
    }
    with stub(environment=environment, lines=None) as running:
        assert (ask(f"{running.url}/pets"), ask(f"{running.url}/pets", "other")) == (200, 200)
        assert ask(f"{root_of(running)}/__petstore/world") == 404


@pytest.mark.seconds
def test_the_number_of_worlds_is_bounded_and_unused_worlds_end() -> None:
    with stub("--max-worlds", "1", "--world-ttl", "2", "--quiet") as running:
        world = f"{root_of(running)}/w/{{}}/__petstore/world"
        assert (ask(world.format("a"), method="PUT"), ask(world.format("b"), method="PUT")) == (201, 507)
        deadline = time.monotonic() + PATIENCE
        while ask(world.format("b"), method="PUT") != 201 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert ask(world.format("a")) == 404


@pytest.mark.seconds
def test_a_world_that_holds_a_response_ends_like_any_other() -> None:
    with stub("--world-ttl", "1", "--quiet") as running:
        world = f"{root_of(running)}/w/held"
        with connect(running.url, world="held") as petstore:
            petstore.inject(faults.hang())
            key = petstore.api_key
        # The response goes out, or the connection ends, only when the world ends.
        assert ask(f"{world}/v1/pets", key) == 0
        assert ask(f"{world}/__petstore/world") == 404


@pytest.mark.seconds
def test_a_stub_with_tls_is_ready_for_clients_that_trust_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ca = str(tmp_path / "ca.pem")
    with stub("--tls", "--tls-ca-out", ca, "--quiet") as running:
        asked = [*PETSTORE_MOCK, "ready", "--url", running.url, "--timeout", "20"]
        assert subprocess.run([*asked, "--tls-ca", ca], check=False, capture_output=True).returncode == 0
        assert subprocess.run(asked, check=False, capture_output=True).returncode == 1
        monkeypatch.setenv("SSL_CERT_FILE", ca)
        with connect(running.url) as petstore:
            assert petstore.url.startswith("https://")


def test_a_failed_handshake_is_in_the_log_and_in_requests_txt() -> None:
    words = "handshake failed: the client does not trust the certificate"
    with stub("--tls", "--control-port", "0") as running:
        door = next(line.removeprefix("Control url: ") for line in running.first if line.startswith("Control url"))
        assert ask(f"{running.url}/pets") == 0
        eventually(lambda: words in fetch(f"{door}requests.txt").read().decode(), "a note")
        _, out, _ = running.end()
    assert f"[default] {words}" in out


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_command_of_a_violation_works_over_tls(tmp_path: Any) -> None:
    ca = str(tmp_path / "ca.pem")
    with stub("--tls", "--tls-ca-out", ca, "--api-key", KEY, "--quiet", "--control-port", "0") as running:
        door = next(line.removeprefix("Control url: ") for line in running.first if line.startswith("Control url"))
        variables = {**os.environ, "PETSTORE_CA": ca, "PETSTORE_KEY": KEY}
        for line in (running.curl.replace("/pets", "/pets?limit=0"), ""):
            command = line or next(
                one for one in fetch(f"{door}requests.txt").read().decode().split("\n") if "curl -i" in one
            )
            assert command.count(ca if line else '--cacert "$PETSTORE_CA"') == 1
            done = subprocess.run(["sh", "-c", command], env=variables, capture_output=True, text=True, check=False)
            assert "HTTP/1.1 400" in done.stdout, done.stderr


@POSIX_SIGNALS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_serve_with_0_while_a_client_is_connected(number: signal.Signals) -> None:
    with stub() as running, socket.create_connection(running.address):
        assert running.end(number)[::2] == (0, "")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux shows which signals a process handles")
def test_a_signal_ends_serve_while_it_still_seeds(tmp_path: Path) -> None:
    """Process 1 of a container ignores a signal without a handler."""
    pipe = tmp_path / "pets.json"
    os.mkfifo(pipe)  # serve waits for its animals
    with subprocess.Popen([*PETSTORE_MOCK, "serve", "--port", "0", "--seed", pipe], stdout=subprocess.PIPE) as process:
        status, bit = Path(f"/proc/{process.pid}/status"), 1 << (signal.SIGTERM - 1)
        try:
            eventually(lambda: int(status.read_text().partition("SigCgt:")[2].split()[0], 16) & bit, "a handler")
            process.terminate()
            pipe.write_text("[]", encoding="utf-8")
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@pytest.mark.seconds
def test_a_taken_port_exits_with_2_and_one_sentence() -> None:
    with stub("--quiet") as running:
        other = [*PETSTORE_MOCK, "serve", "--port", str(running.address[1])]
        found = subprocess.run(other, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)


def test_a_closed_pipe_ends_a_printing_command_without_an_error() -> None:
    with subprocess.Popen([*PETSTORE_MOCK, "gaps"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode in {0, 1}, err) == (True, b"")
