"""The command line, in process: arguments, exit codes, the one sentence, and what the printing commands print."""

from __future__ import annotations

import dataclasses
import errno
import gc
import io
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pytest

from petstore_mock import cli, faults
from petstore_mock.cli import serve as serve_command
from petstore_mock.cli.gaps import render_gaps
from petstore_mock.cli.output import Output
from petstore_mock.cli.request_log import RequestLog
from petstore_mock.contract.behaviour import PRESETS
from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.openapi import openapi_document
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.journal.entry import Entry
from petstore_mock.journal.rendering import render_line
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import ApiResponse, Head
from petstore_mock.transport.server import WireServer
from tests.platforms import HAS_SIGNALS, LOOPBACK_NETWORK, POSIX_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve as the arguments say, whatever the environment of this run does."""
    for name in [name for name in os.environ if name.startswith("PETSTORE_MOCK_")]:
        monkeypatch.delenv(name)


def run(*arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = cli.run(arguments, stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def complaint(*arguments: str) -> str:
    """Return the sentence that refuses a command line."""
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("petstore-mock: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def serve_in_process(
    use: Callable[[list[str]], None], *arguments: str, signal_number: int = signal.SIGTERM, to_thread: bool = False
) -> int:
    """Serve in this thread; call ``use`` in another with what was printed first, then send the signal."""
    reading, writing = os.pipe()
    problems: list[BaseException] = []

    def drive() -> None:
        with os.fdopen(reading, encoding="utf-8") as lines:
            first = [next(lines)]
            if not first[0].startswith("{"):
                while not first[-1].startswith("Try: "):
                    first.append(next(lines))
            try:
                use([line.rstrip("\n") for line in first])
            except BaseException as error:  # noqa: BLE001  # raised again in the test's thread
                problems.append(error)
            if to_thread:
                signal.pthread_kill(threading.get_ident(), signal_number)
            elif HAS_SIGNALS:
                os.kill(os.getpid(), signal_number)
            else:  # there, os.kill ends the process
                signal.raise_signal(signal_number)
            printed.extend(line.rstrip("\n") for line in lines)

    driver = threading.Thread(target=drive)
    printed.clear()
    driver.start()
    with os.fdopen(writing, "w", encoding="utf-8") as stdout:
        code = cli.run(["serve", "--port", "0", *arguments], stdout, io.StringIO())
    driver.join()
    if problems:
        raise problems[0]
    return code


printed: list[str] = []  # the log of the latest serve_in_process


def get(url: str, key: str | None = None) -> bytes:
    host, _, rest = url.removeprefix("http://").partition(":")
    port, _, path = rest.partition("/")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        credentials = f"Authorization: Bearer {key}\r\n" if key else ""
        connection.sendall(
            f"GET /{path}/pets HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{credentials}\r\n".encode()
        )
        return b"".join(iter(lambda: connection.recv(65536), b""))


# Arguments


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["gaps", "--help"], ["openapi", "--help"]])
def test_help_exits_0_and_prints_the_usage(arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert out.startswith("usage: petstore-mock")


def test_version_is_that_of_the_package() -> None:
    import petstore_mock  # noqa: PLC0415

    assert run("--version") == (0, f"petstore-mock {petstore_mock.__version__}\n", "")


def test_every_option_has_a_help_text() -> None:
    commands = re.findall(r"^    (\w+)", run("--help")[1], re.MULTILINE)
    assert {*commands} == {"serve", "ready", "gaps", "openapi", "verify", "learn"}
    for command in commands:
        _, told, _ = run(command, "--help")
        options = re.split(r"^  (?=\S)", told.partition("\n\n")[2], flags=re.MULTILINE)[1:]
        assert options
        for option in options:
            assert re.search(r"\S\s{2,}\S", option.partition("\n\n")[0]), f"{command} {option}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (
            ["serv"],
            "expected one of serve, ready, gaps, openapi, verify, learn; got 'serv'. Did you mean 'serve'?",
        ),
        (
            ["serve", "--log-format", "jsno"],
            "expected one of text, json; got 'jsno'. Did you mean 'json'?",
        ),
        (["serve", "--prt=1"], "unrecognized arguments: --prt=1. Did you mean '--port'?"),
        (
            ["serve", "--prot", "1"],
            "unrecognized arguments: --prot 1. Did you mean '--port'? (see 'petstore-mock serve --help')",
        ),
        (["gaps", "--json"], "unrecognized arguments: --json (see 'petstore-mock gaps --help')"),
        (
            ["--quiet", "serve"],
            "unrecognized arguments: --quiet; --quiet goes behind serve (see 'petstore-mock serve --help')",
        ),
        (["serve", "--por", "1"], "--por"),
        (["serve", "--port"], "--port"),
        (["serve", "--port", "-1"], "--port"),
        (["serve", "--port", "65536"], "from 0 to 65535; got '65536'"),
        (["serve", "--port", "٨٠"], "from 0 to 65535"),
        (["serve", "--port", "9" * 5000], "from 0 to 65535"),
        (["serve", "--log-format", "xml"], "xml"),
        (["serve", "--set", "list_order"], "GAP=VALUE"),
        (["serve", "--set", "list_ordr=by_name"], "--set: expected a gap"),
        (["serve", "--set", "list_order=by_nam"], "Did you mean 'by_name'?"),
        (["serve", "--behaviour", "hostle"], "Did you mean 'hostile'?"),
        (["serve", "--behaviour", ""], "--behaviour: expected a preset"),
        (["serve", "--behaviour", "missing.toml"], "missing.toml"),
        (["serve", "--behaviour", "./missing.conf"], "expected a readable TOML file of gaps in missing.conf"),
        (["serve", "--behaviour", os.curdir], "expected a readable TOML file of gaps in ."),
        (["serve", "--at", "tomorrow"], "--at: expected a date"),
        (["serve", "--cors", "localhost:5173"], "--cors: expected an origin such as http://localhost:5173"),
        (["serve", "--control-token", ""], "--control-token: expected a control token of printable ASCII"),
        (["serve", "--control-token", "\u00e9"], "--control-token: expected a control token of printable ASCII"),
        (
            ["serve", "--allowed-origin", "localhost:5173"],
            "--allowed-origin: expected an origin such as http://localhost",
        ),
        (
            ["serve", "--allowed-origin", "http://localhost:5173/"],
            "'http://localhost:5173'; got 'http://localhost:5173/'",
        ),
        (
            ["serve", "--allowed-origin", "*"],
            "--allowed-origin: expected an origin such as http://localhost:5173; got '*'",
        ),
        (["serve", "--allowed-host", "http://proxy:8080"], "--allowed-host: expected a host as the field Host has it"),
        (["serve", "--tls-key", "key.pem"], "--tls-key: expected --tls or --tls-cert beside it"),
        (["serve", "--tls-ca-out", "ca.pem"], "--tls-ca-out: expected --tls or --tls-cert beside it"),
        (["serve", "--tls", "--tls-key", "key.pem"], "--tls-key: expected --tls-cert beside it"),
        (
            ["serve", "--tls-cert", "missing.pem"],
            "--tls-cert: expected PEM files with a certificate and its private key",
        ),
        (["serve", "--tls-cert", "a.pem", "--tls-ca-out", "b.pem"], "--tls-ca-out: expected no --tls-cert"),
        (["serve", "--tls", "--tls-ca-out", "/nowhere/ca.pem"], "--tls-ca-out: can't write /nowhere/ca.pem"),
        (["serve", "--api-key", ""], "got an empty text"),
        (["serve", "--api-key", "a b"], "--api-key: expected an API key"),
        (["serve", "--api-key", "twice", "--api-key", "twice"], "--api-key"),
        (
            ["serve", "--seed", "x"],
            "--seed: expected a number of animals, or a JSON file of them; got x; no such file is there",
        ),
        (["serve", "--seed", os.curdir], "--seed: expected a readable JSON file"),
        (["serve", "--seed=-1"], "--seed: expected a number of animals from 0 to 10,000,000; got seed=-1"),
        (["serve", "--seed", "9007199254740993"], "--seed: expected a number of animals from 0"),
        (["serve", "--seed", "9" * 5000], "--seed: expected"),
        (["serve", "--seed", ""], "--seed: expected how many animals, or a JSON file of them; got ''"),
        (["openapi", "--server", ""], "--server: expected a base address such as http://127.0.0.1:8080/v1; got ''"),
        (["openapi", "--server", "foo"], "got 'foo'"),
        (["openapi", "--server", "ftp://foo/v1"], "got 'ftp://foo/v1'"),
        (["openapi", "--server", "http://:80/v1"], "got 'http://:80/v1'"),
        (["openapi", "--server", "http://foo:99999/v1"], "got 'http://foo:99999/v1'"),
        (["openapi", "--server", "http://fo o/v1"], "got 'http://fo o/v1'"),
        (["gaps", "--format", "xml"], "xml"),
        (["openapi", "--format", "xml"], "xml"),
    ],
)
def test_a_bad_argument_is_refused_in_one_sentence(arguments: list[str], words: str) -> None:
    assert words in complaint(*arguments)


def test_a_taken_port_is_refused_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        text = complaint("serve", "--port", port)
    assert f"can't listen on 127.0.0.1 port {port}" in text
    assert "--port" in text


def test_an_address_of_another_machine_is_refused_without_talk_of_ports() -> None:
    text = complaint("serve", "--port", "0", "--host", "192.0.2.1")  # TEST-NET-1 (RFC 5737): nobody has it
    assert "192.0.2.1" in text
    assert "--port" not in text


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127..0.0.1", "127..0.0.1"), ("", "''"), ("127.0.0.1:80", "127.0.0.1:80"), ("[::1]", "[::1]")],
)
def test_an_address_that_is_none_is_refused_in_one_sentence_with_one_that_is(host: str, shown: str) -> None:
    text = complaint("serve", "--host", host)
    assert f"can't listen on {shown} port 8080: " in text
    assert "--host takes an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them" in text


def test_a_port_of_the_system_is_refused_with_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(socket.socket, "bind", refuse)
    assert "choose a --port from 1024 up" in complaint("serve", "--port", "80")


def seed_file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "animals.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[\n {"name": "Rex"},\n\n {"name": "Tom",\n  "categoryId": 1.5}\n]', "animals.json, item [1]: "),
        ('[{"name": "Rex"},\n 7]', "animals.json, item [1]: expected an animal as a JSON object; got 7 (integer)"),
        ('[{"id": 4},\n{"id": 4}]', "animals.json, item [1]: expected an id that is free"),
        ('[\n{"nme": "Rex"}]', "animals.json, item [0]: "),
        ('[{"name": "Rex"\n "id": 1}]', "line 2 column 2"),
        ('{"name": "Rex"}', "animals.json; got object"),
        ("null", "animals.json; got null"),
        ("", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
    ],
)
def test_a_wrong_seed_file_is_refused_with_place_and_reason(tmp_path: Path, text: str, words: str) -> None:
    assert words in complaint("serve", "--seed", seed_file(tmp_path, text))


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
@pytest.mark.parametrize("option", ["--seed", "--behaviour"])
def test_a_file_that_is_not_utf_8_is_refused_by_its_name(tmp_path: Path, option: str, encoding: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes("é".encode(encoding))
    text = complaint("serve", option, str(path))
    assert f"{option}: expected a readable" in text
    assert f"in {path}; 'utf-8' codec can't decode" in text


def test_a_byte_order_mark_as_editors_on_windows_write_it_is_overlooked(tmp_path: Path) -> None:
    seed, behaviour = tmp_path / "animals.json", tmp_path / "mine.toml"
    seed.write_text('[{"name": "Rex"}]', encoding="utf-8-sig")
    behaviour.write_text('paging_headers = "total_count"', encoding="utf-8-sig")
    answers: list[bytes] = []

    def use(first: list[str]) -> None:
        answers.append(get(first[0].split()[2], "k"))

    assert serve_in_process(use, "--api-key", "k", "--seed", str(seed), "--behaviour", str(behaviour)) == 0
    assert b"X-Total-Count: 1" in answers[0]


def test_a_wrong_behaviour_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.conf"
    path.write_text('preset = "lenient"\nlist_order = "by_nam"\n', encoding="utf-8")
    assert "line 2" in complaint("serve", "--behaviour", str(path))


# Serving


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_serve_stops_with_0_and_leaves_the_signals_as_they_were(signal_number: int) -> None:
    before = [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]
    threads = threading.active_count()
    assert serve_in_process(lambda _: None, signal_number=signal_number) == 0
    assert [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)] == before
    assert threading.active_count() == threads


@pytest.mark.parametrize(("before", "meanwhile"), [(700, 10_000), (20_000, 20_000), (0, 0)])
def test_serve_has_the_collector_look_seldom_for_as_long_as_it_runs(before: int, meanwhile: int) -> None:
    """It would go through all that is kept, which is a good part of a request where a thousand worlds are busy."""
    former = gc.get_threshold()
    seen: list[int] = []
    gc.set_threshold(before, 10, 10)
    try:
        assert serve_in_process(lambda _: seen.append(gc.get_threshold()[0])) == 0
        assert gc.get_threshold() == (before, 10, 10)
    finally:
        gc.set_threshold(*former)
    assert seen == [meanwhile]


@POSIX_SIGNALS
def test_serve_stops_when_the_signal_does_not_wake_the_main_thread() -> None:
    """As one does not that comes just before the wait begins, or that the system gives to another thread."""

    def let_it_wait(_: list[str]) -> None:
        time.sleep(0.1)  # should it not wait by then, it finds the signal before it does

    assert serve_in_process(let_it_wait, to_thread=True) == 0


class Unfit(ModuleType):
    """A uvloop that was made for another Python."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


@pytest.mark.parametrize("uvloop", ["installed", "missing", "unfit"])
def test_serve_runs_on_uvloop_where_it_works_and_else_on_asyncio(uvloop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if uvloop == "installed":
        pytest.importorskip("uvloop")
    else:
        monkeypatch.setitem(sys.modules, "uvloop", Unfit("uvloop") if uvloop == "unfit" else None)
    running: list[str] = []

    class Spied(WireServer):
        def start(self) -> None:
            super().start()
            running.append(type(self.loop).__module__.partition(".")[0])

    monkeypatch.setattr(serve_command, "WireServer", Spied)

    def use(first: list[str]) -> None:
        assert get(first[0].split()[2], "secret").startswith(b"HTTP/1.1 200")

    assert serve_in_process(use, "--api-key", "secret") == 0
    assert running == ["uvloop" if uvloop == "installed" else "asyncio"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_again_meets_what_was_there_before(number: signal.Signals) -> None:
    came: list[str] = []
    before = signal.signal(number, lambda *_: came.append("former"))
    try:
        with serve_command.until_signalled(lambda: came.append("end")):
            for _ in range(2):
                signal.raise_signal(number)
    finally:
        signal.signal(number, before)
    assert came == ["end", "former"]


def test_serve_answers_to_every_key_and_logs_one_line_a_request() -> None:
    def use(first: list[str]) -> None:
        url = first[0].split()[2]
        assert first[1:3] == ["API key: one", "API key: two"]
        assert get(url, "one").startswith(b"HTTP/1.1 200")
        assert get(url, "two").startswith(b"HTTP/1.1 200")
        assert get(url, "three").startswith(b"HTTP/1.1 401")

    assert serve_in_process(use, "--api-key", "one", "--api-key", "two") == 0
    assert len(printed) == 3
    assert all("GET /v1/pets" in line for line in printed)
    assert " 200 " in printed[0]
    assert " 401 " in printed[2]
    assert "The API key is not valid" in printed[2]
    assert not any("three" in line for line in printed), "a key shows in the log"


def test_serve_lets_the_pages_of_each_origin_in() -> None:
    def use(first: list[str]) -> None:
        address = first[0].split()[2].removeprefix("http://").removesuffix("/v1").split(":")
        for origin in ("http://a.example", "http://b.example", "http://c.example"):
            with socket.create_connection((address[0], int(address[1])), timeout=10) as client:
                client.sendall(f"GET /v1/pets HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\n\r\n".encode())
                allowed[origin] = f"Access-Control-Allow-Origin: {origin}\r\n".encode() in client.recv(65536)

    allowed: dict[str, bool] = {}
    assert serve_in_process(use, "--cors", "http://a.example", "--cors", "http://b.example") == 0
    assert allowed == {"http://a.example": True, "http://b.example": True, "http://c.example": False}


def test_a_wrong_key_is_refused_in_words_for_a_client_of_any_language() -> None:
    answers: list[bytes] = []

    def use(first: list[str]) -> None:
        answers.append(get(first[0].split()[2], "wrong"))

    assert serve_in_process(use, "--api-key", "right-one") == 0
    for told in (answers[0].decode(), printed[0]):
        assert "the fake knows no such key, of 5 characters; a valid one has 9" in told
        assert "petstore." not in told  # the object of a Python test, which there is none of here


def test_serve_logs_what_it_answers_between_the_signal_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    urls: list[str] = []
    stop = WireServer.stop

    def ask_and_stop(server: WireServer) -> None:
        get(urls[0])
        stop(server)

    monkeypatch.setattr(WireServer, "stop", ask_and_stop)
    assert serve_in_process(lambda first: urls.append(first[0].split()[2])) == 0
    assert [line.split()[1:4] for line in printed] == [["GET", "/v1/pets", "401"]]


def test_serve_logs_what_never_became_a_request() -> None:
    def use(first: list[str]) -> None:
        host, port = first[0].split()[2].removeprefix("http://").removesuffix("/v1").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"nonsense\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400")

    assert serve_in_process(use) == 0
    assert len(printed) == 1
    assert " 400 " in printed[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
def test_serve_serves_when_nobody_can_read_where(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bytes] = []
    start = WireServer.start

    def ask_and_stop(server: WireServer) -> None:
        answers.append(get(f"http://127.0.0.1:{server.port}/v1"))
        os.kill(os.getpid(), signal.SIGTERM)

    def start_and_ask(server: WireServer) -> None:
        start(server)
        asking = threading.Thread(target=ask_and_stop, args=(server,))
        asking.start()

    monkeypatch.setattr(WireServer, "start", start_and_ask)
    err = io.StringIO()
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123  # no file
        assert cli.run(["serve", "--port", "0"], full, err) == 0
    assert answers[0].startswith(b"HTTP/1.1 401")
    assert err.getvalue() == "petstore-mock: 1 request is missing in the log: No space left on device\n"


def test_quiet_logs_no_request() -> None:
    def use(first: list[str]) -> None:
        get(first[0].split()[2])

    assert serve_in_process(use, "--quiet") == 0
    assert printed == []


def test_the_json_log_is_one_object_a_line() -> None:
    def use(first: list[str]) -> None:
        serving = json.loads(first[0])
        assert serving["event"] == "serving"
        assert serving["curl"].endswith(f"{serving['url']}/pets")
        get(serving["url"], serving["api_keys"][0])
        get(serving["url"])

    assert serve_in_process(use, "--log-format", "json") == 0
    good, bad = map(json.loads, printed)
    assert (good["method"], good["target"], good["operation"], good["status"]) == ("GET", "/v1/pets", "listPets", 200)
    assert "condition" not in good
    assert (bad["status"], bad["condition"], bad["section"]) == (401, "missing_key", "5")


def test_seed_behaviour_set_and_date_reach_the_world(tmp_path: Path) -> None:
    path = seed_file(tmp_path, '[{"id": 7, "name": "Rex", "categoryId": 1}, {"id": 9}]')
    answers: list[bytes] = []

    def use(first: list[str]) -> None:
        answers.append(get(first[0].split()[2], "k"))

    arguments = ("--behaviour", "helpful", "--set", "list_order=id_descending", "--at", "2030-12-06T00:00")
    assert serve_in_process(use, "--api-key", "k", "--seed", path, *arguments) == 0
    head, _, body = answers[0].partition(b"\r\n\r\n")
    assert [pet["id"] for pet in json.loads(body)] == [9, 7]
    assert b"X-Total-Count: 2" in head
    assert b"Date: Fri, 06 Dec 2030" in head


def test_a_behaviour_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.conf"
    path.write_text('content_type = "with_charset"\n', encoding="utf-8")
    answers: list[bytes] = []

    def use(first: list[str]) -> None:
        answers.append(get(first[0].split()[2], "k"))

    assert serve_in_process(use, "--api-key", "k", "--behaviour", str(path)) == 0
    assert b"charset=utf-8" in answers[0]


def test_a_number_seeds_so_many_animals() -> None:
    answers: list[bytes] = []

    def use(first: list[str]) -> None:
        answers.append(get(first[0].split()[2], "k"))

    assert serve_in_process(use, "--api-key", "k", "--seed", "3") == 0
    assert len(json.loads(answers[0].partition(b"\r\n\r\n")[2])) == 3


# The environment


@LOOPBACK_NETWORK
def test_the_environment_gives_every_option_of_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour = tmp_path / "mine.conf"
    behaviour.write_text('paging_headers = "total_count"\n', encoding="utf-8")
    for name, value in {
        "HOST": "127.0.0.2",
        "API_KEY": "one, two",
        "SEED": seed_file(tmp_path, '[{"id": 7}, {"id": 9}]'),
        "BEHAVIOUR": str(behaviour),
        "SET": "list_order=id_descending location_header=present",
        "AT": "2030-12-06T00:00",
        "QUIET": "true",
        "LOG_FORMAT": "json",
    }.items():
        monkeypatch.setenv(f"PETSTORE_MOCK_{name}", value)
    answers: list[bytes] = []

    def use(first: list[str]) -> None:
        serving = json.loads(first[0])
        assert serving["url"].startswith("http://127.0.0.2:")
        assert serving["api_keys"] == ["one", "two"]
        answers.append(get(serving["url"], "two"))

    assert serve_in_process(use) == 0
    head, _, body = answers[0].partition(b"\r\n\r\n")
    assert [pet["id"] for pet in json.loads(body)] == [9, 7]
    assert b"X-Total-Count: 2" in head
    assert b"Date: Fri, 06 Dec 2030" in head
    assert printed == []


def test_every_option_of_serve_has_a_variable() -> None:
    options = cli.make_parser().parse_args(["serve"])
    declared = {field.name for field in dataclasses.fields(serve_command.ServeOptions)}
    assert {action.dest for action in options.serve_options} == declared


@pytest.mark.parametrize(
    "opening", [("--control",), ("--control-token", "of-sixteen-letters"), ("--control-port", "0")], ids="-".join
)
def test_a_control_door_is_not_to_be_open_and_closed(opening: tuple[str, ...]) -> None:
    """The door stayed shut without a word."""
    assert (
        complaint("serve", "--no-control", *opening)
        == complaint("serve", *opening, "--no-control")
        == f"petstore-mock: expected {opening[0]} or --no-control, not both: the one is for a control door that is "
        "open, the other closes it\n"
    )


def test_an_environment_does_not_open_and_close_the_control_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_CONTROL", "true")
    monkeypatch.setenv("PETSTORE_MOCK_NO_CONTROL", "true")
    assert "expected PETSTORE_MOCK_CONTROL or PETSTORE_MOCK_NO_CONTROL, not both" in complaint("serve")


@pytest.mark.parametrize(
    ("variable", "value", "option", "is_open"),
    [
        ("NO_CONTROL", "true", "--control", True),
        ("CONTROL", "true", "--no-control", False),
        ("CONTROL", "false", "--no-control", False),
        ("NO_CONTROL", "false", "--control", True),
    ],
)
def test_of_the_environment_and_the_command_line_the_latter_opens_or_closes_the_control_door(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, option: str, *, is_open: bool
) -> None:
    monkeypatch.setenv(f"PETSTORE_MOCK_{variable}", value)

    def use(first: list[str]) -> None:
        assert ("control_url" in json.loads(first[0])) is is_open

    assert serve_in_process(use, "--log-format", "json", option) == 0


def test_a_flag_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_PORT", "nonsense")  # not even looked at
    monkeypatch.setenv("PETSTORE_MOCK_API_KEY", "of-the-environment")
    monkeypatch.setenv("PETSTORE_MOCK_SET", "list_order=nonsense")
    monkeypatch.setenv("PETSTORE_MOCK_LOG_FORMAT", "")  # as good as not set

    def use(first: list[str]) -> None:
        assert first[1] == "API key: of-the-flag"
        assert get(first[0].split()[2], "of-the-environment").startswith(b"HTTP/1.1 401")

    assert serve_in_process(use, "--api-key", "of-the-flag", "--set", "list_order=by_name") == 0


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("PORT", "nonsense", "variable PETSTORE_MOCK_PORT: expected a port from 0 to 65535; got 'nonsense'"),
        ("LOG_FORMAT", "xml", "variable PETSTORE_MOCK_LOG_FORMAT: expected one of text, json; got 'xml'"),
        ("QUIET", "maybe", "PETSTORE_MOCK_QUIET: expected true or false (yes, on, 1 or no, off, 0); got 'maybe'"),
        ("SET", "list_order", "variable PETSTORE_MOCK_SET: expected GAP=VALUE"),
        ("SEED", " ", "variable PETSTORE_MOCK_SEED: expected how many animals"),
        ("BEHAVIOUR", "hostle", "Did you mean 'hostile'? (the environment sets PETSTORE_MOCK_BEHAVIOUR)"),
        ("AT", "tomorrow", "(the environment sets PETSTORE_MOCK_AT)"),
    ],
)
def test_a_variable_that_can_not_be_right_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(f"PETSTORE_MOCK_{variable}", value)
    assert words in complaint("serve")
    assert run("gaps")[0] == run("serve", "--help")[0] == 0


# Printing


def test_the_table_of_gaps_names_every_gap_alternative_and_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = run("gaps")
    assert (code, err) == (0, "")
    words = out.replace(",", " ").split()
    for gap in GAPS.values():
        assert gap.name in words
        assert set(gap.alternatives) <= set(words)
    assert set(PRESETS) <= set(words)
    assert max(map(len, out.splitlines())) <= 100


def test_the_json_of_gaps_is_the_register() -> None:
    code, out, _ = run("gaps", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert {gap["name"]: tuple(gap["alternatives"]) for gap in document["gaps"]} == {
        gap.name: tuple(gap.alternatives) for gap in GAPS.values()
    }
    assert all(gap["default"] == gap["alternatives"][0] for gap in document["gaps"])
    assert document["presets"] == PRESETS


def test_the_markdown_of_gaps_has_a_row_for_each() -> None:
    lines = run("gaps", "--format", "markdown")[1].splitlines()
    assert len(lines) == 2 + len(GAPS)
    assert {line.count("|") for line in lines} == {lines[0].count("|")}


def test_gap_texts_hold_no_pipe_that_would_break_the_table() -> None:
    assert render_gaps("markdown").count("|") == 5 * (2 + len(GAPS))


def test_openapi_prints_the_document_with_the_server_first() -> None:
    document = json.loads(run("openapi", "--server", "http://127.0.0.1:8080/v1")[1])
    assert document["servers"][0]["url"] == "http://127.0.0.1:8080/v1"
    assert document == openapi_document(default_schemas(), server="http://127.0.0.1:8080/v1")


# The entry point


def test_main_takes_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["petstore-mock", "gaps", "--format", "json"])
    assert cli.main() == 0
    assert json.loads(capsys.readouterr().out)
    assert cli.main(["nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_main_writes_to_streams_that_are_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    assert cli.main(["gaps", "--format", "json"]) == 0
    assert json.loads(out.getvalue())


def test_an_interrupt_before_the_server_is_up_ends_without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupted)
    assert cli.main(["serve"]) == 130


def test_a_taken_port_is_refused_in_another_thread_too() -> None:
    """Only the main thread may handle signals; the rest works in any."""
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(1) as pool:
        arguments = ("serve", "--port", str(taken.getsockname()[1]))
        assert "can't listen" in pool.submit(complaint, *arguments).result()


# The log


def entry(target: str = "/v1/pets") -> Entry:
    return Entry(1, None, ApiRequest("GET", target), 0.0)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_log_that_is_read_too_slowly_says_how_much_it_left_out(
    monkeypatch: pytest.MonkeyPatch, log_format: str
) -> None:
    monkeypatch.setattr("petstore_mock.cli.request_log._LONGEST_QUEUE", 2)
    out = io.StringIO()
    log = RequestLog(out, log_format)
    for number in range(5):
        log.note(entry(f"/{number}"))
    log.end()
    log.write()
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert any("3" in line and ("left_out" in line or "not shown" in line) for line in lines)
    assert sum("GET" in line for line in lines) == 2


def test_a_log_that_nobody_reads_keeps_no_large_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petstore_mock.cli.request_log._LARGEST_QUEUE", 1000)
    out = io.StringIO()
    log = RequestLog(out, "text")
    for _ in range(2):  # what was written makes room again
        for number in range(5):
            large = entry(f"/{number}")
            large.weight = 600
            log.note(large)
        log.end()
        log.write()
    assert sum("GET" in line for line in out.getvalue().splitlines()) == 4
    assert out.getvalue().count("3 requests are not shown") == 2


def test_what_was_left_out_is_counted_when_nobody_reads_to_the_end() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # what is given up is not written later
    with os.fdopen(reading, encoding="utf-8") as reader, os.fdopen(writing, "w", encoding="utf-8") as stdout:
        log = RequestLog(stdout, "text")
        log.start()
        log.greet("here it is\n")
        for number in range(20_000):
            log.note(entry(f"/{number}"))
        told = log.finish()
        stdout.close()
        printed = [line for line in reader if line.endswith("\n")]
    found = re.fullmatch(r"(\d+) requests are missing in the log: nobody read it", told)
    assert found
    assert printed[0] == "here it is\n"
    shown = sum("GET" in line for line in printed)
    assert shown > 100
    told_there = [int(line.split()[1]) for line in printed if "are not shown" in line]
    assert shown + sum(told_there) + int(found[1]) == 20_000


def test_a_line_of_the_log_moves_no_cursor() -> None:
    out = io.StringIO()
    log = RequestLog(out, "text")
    log.note(entry("/\x1b[2J\n\u202e"))
    log.end()
    log.write()
    assert out.getvalue().endswith("\n")
    assert out.getvalue()[:-1].isprintable()


class Counted(io.StringIO):
    """A stream that counts how often it is written to."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_lines_of_a_burst_are_written_at_once_and_in_order(log_format: str) -> None:
    out = Counted()
    log = RequestLog(out, log_format)
    for number in range(1200):
        log.note(entry(f"/{number}"))
    log.end()
    log.write()
    assert [number for number, line in enumerate(out.getvalue().splitlines()) if f"/{number}" in line] == [*range(1200)]
    assert out.writes < 10


class Unbuffered(io.RawIOBase):
    """What stands below the text with PYTHONUNBUFFERED, when a pipe is nearly full: it takes a part of each write."""

    def __init__(self) -> None:
        self.taken = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401  # any buffer
        self.taken += bytes(data[:100])
        return min(len(data), 100)


def test_a_pipe_that_takes_a_part_of_what_is_written_gets_the_rest() -> None:
    raw = Unbuffered()
    out = io.TextIOWrapper(cast("BinaryIO", raw), encoding="utf-8", write_through=True)
    log = RequestLog(out, "text")
    for number in range(20):
        log.note(entry(f"/{number}-ž"))
    log.end()
    log.write()
    assert [line.split()[2] for line in raw.taken.decode().splitlines()] == [f"/{number}-ž" for number in range(20)]


def test_a_log_in_an_encoding_that_lacks_a_character_shows_it_as_its_stream_would() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")
    Output(stream).write("/ž\n")
    assert raw.getvalue() == b"/\\u017e\n"


class Full(Unbuffered):
    """A pipe that does not wait (O_NONBLOCK) and is full at every other write."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0

    def write(self, data: Any, /) -> Any:  # noqa: ANN401  # any buffer
        if self.refused <= len(self.taken) // 100:
            self.refused += 1
            return None
        return super().write(data)


@pytest.mark.parametrize("is_buffered", [False, True])
def test_a_pipe_that_does_not_wait_gets_every_line_without_being_asked_all_the_time(
    monkeypatch: pytest.MonkeyPatch, *, is_buffered: bool
) -> None:
    raw = Full()
    rests: list[float] = []
    monkeypatch.setattr("petstore_mock.cli.request_log.time.sleep", rests.append)
    below = io.BufferedWriter(raw, buffer_size=256) if is_buffered else cast("BinaryIO", raw)
    out = io.TextIOWrapper(below, encoding="utf-8", write_through=True)
    log = RequestLog(out, "text")
    for number in range(20):
        log.note(entry(f"/{number}"))
    log.end()
    log.write()
    assert [line.split()[2] for line in raw.taken.decode().splitlines()] == [f"/{number}" for number in range(20)]
    assert rests


def test_serving_goes_on_when_the_log_can_be_written_no_more(tmp_path: Path) -> None:
    """A disk is full, or the terminal is gone."""

    class Lost(Unbuffered):
        def write(self, data: Any, /) -> int:  # noqa: ANN401, ARG002  # any buffer
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        def fileno(self) -> int:
            return file.fileno()

    with (tmp_path / "log").open("wb") as file:
        log = RequestLog(io.TextIOWrapper(cast("BinaryIO", Lost()), encoding="utf-8", write_through=True), "text")
        for _ in range(2):
            log.note(entry())
            log.end()
            log.write()


def test_each_line_has_the_second_and_the_key_of_its_own_request() -> None:
    """What lines have in common is rendered once: it must be that what differs is told apart."""
    out = io.StringIO()
    log = RequestLog(out, "text")
    for second, key in enumerate(["first-of-keys", "other-of-keys"]):
        request = ApiRequest("GET", "/v1/pets?q=other-of-keys", [(b"Authorization", f"Bearer {key}".encode())])
        log.note(Entry(1, None, request, second + 0.9))
    log.end()
    log.write()
    first, second_line = out.getvalue().splitlines()
    assert first.startswith("00:00:00 GET /v1/pets?q=other-of-keys ")  # nobody's key, as far as this request can tell
    assert second_line.startswith("00:00:01 GET /v1/pets?q=***keys ")


def answered(number: int, target: str, *, key: str = "", status: int = 200, keys: Sequence[str] = ()) -> Entry:
    """An entry as most are: nothing came in its way."""
    request = ApiRequest("GET", target, [(b"Authorization", f"Bearer {key}".encode())] if key else [], connection=7)
    request.operation = "listPets"
    made = Entry(number, None, request, 0.1 + number)
    made.response = ApiResponse(Head(status), b"[]", b"")
    made.keys, made.duration = lambda: tuple(keys), 0.0123456
    return made


def logged(log_format: str, *entries: Entry) -> list[str]:
    """Return the lines of entries, each noted twice: the second time, it is known what stands around its numbers."""
    out = io.StringIO()
    log = RequestLog(out, log_format)
    for noted in (*entries, *entries):
        log.note(noted)
    log.end()
    log.write()
    lines = out.getvalue().splitlines()
    assert lines[len(entries) :] == lines[: len(entries)]
    return lines[: len(entries)]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_lines_of_usual_requests_differ_in_what_their_requests_differ(log_format: str) -> None:
    """What lines have in common is rendered once; the texts, the status and the keys to be masked are told apart."""
    refused = answered(7, "/v1/pets?limit=0")
    refused.condition = CONDITIONS["invalid_query"]
    entries = [
        answered(1, "/v1/pets"),
        answered(2, "/v1/pets", status=201),
        answered(3, "/v1/pets?q=some-key-here"),
        answered(4, "/v1/pets?q=some-key-here", key="some-key-here"),
        answered(5, "/v1/pets?q=some-key-here", keys=["other-key", "some-key-here"]),
        answered(6, f"/v1/pets?q={'a' * 1000}"),
        refused,
        answered(8, "/v1/pets"),
    ]
    lines = logged(log_format, *entries)
    if log_format == "text":
        assert lines == [f"00:00:0{one.number} {render_line(one)}" for one in entries]
        return
    told = [json.loads(line) for line in lines]
    assert [one["time"] for one in told] == [one.moment.isoformat(timespec="milliseconds") for one in entries]
    for name in ("number", "connection", "method", "target", "operation", "status"):
        assert [one[name] for one in told] == [getattr(one, name) for one in entries]
    assert {one["milliseconds"] for one in told} == {12.346}
    assert ["condition" in one for one in told] == [one is refused for one in entries]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_line_of_a_named_world_names_it(log_format: str) -> None:
    one, other = answered(1, "/v1/pets"), answered(2, "/v1/pets")
    for entry, name in ((one, "oak"), (other, "elm")):
        entry.owner, entry.request.mount = name, f"/w/{name}"
    lines = logged(log_format, one, other)
    assert ["oak" in line for line in lines] == [True, False]
    assert ["elm" in line for line in lines] == [False, True]


def test_a_line_tells_what_became_of_an_answer_after_it_was_noted() -> None:
    """A fault's answer goes out in its own way once the request is in the journal."""
    out = io.StringIO()
    log = RequestLog(out, "text")
    cut, hung = answered(1, "/v1/pets"), answered(2, "/v1/pets")
    cut.fault = hung.fault = faults.truncate()
    hung.response = None
    for entry in (cut, hung):
        log.note(entry)
    cut.outcome = "truncated"
    log.end()
    log.write()
    first, second = out.getvalue().splitlines()
    assert "200 (truncated) 12.3 ms" in first
    assert "unanswered" in second


@pytest.mark.parametrize("target", ['/v1/pets?q="\\\x1b', "/v1/pets"])
def test_a_line_of_the_json_log_is_json_whatever_the_request_was(target: str) -> None:
    out = io.StringIO()
    log = RequestLog(out, "json")
    refused = entry(target)
    refused.condition, refused.detail = CONDITIONS["invalid_query"], 'got "\n"'
    log.note(refused)
    log.end()
    log.write()
    line = json.loads(out.getvalue())
    assert (line["target"], line["status"], line["operation"]) == (target, None, None)
    assert (line["condition"], line["section"]) == ("invalid_query", "7")
    assert line["reason"].endswith('got "\n"')
    assert line["time"] == "1970-01-01T00:00:00.000+00:00"
