"""The stub as a process of its own: what a shell, a terminal and a process manager see of it."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from petstore_mock import cli
from tests.live.stub import COMMAND, PATIENCE, Stub, reserved_port, stub
from tests.platforms import POSIX_SHELL, POSIX_SIGNALS


def shell(line: str, **environment: str) -> str:
    return subprocess.run(
        ["sh", "-c", line],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **environment},
    ).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_with_exit_code_0_and_silence(number: signal.Signals) -> None:
    with stub() as running:
        assert running.end(number) == (0, "", "")


@pytest.mark.untraced
def test_it_stops_while_clients_hold_connections_open() -> None:
    with stub() as running, socket.create_connection(running.address, timeout=PATIENCE) as idle:
        idle.sendall(b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 401")
        with socket.create_connection(running.address, timeout=PATIENCE) as half:
            half.sendall(b"POST /v1/pets HTT")
            code, _, err = running.end(signal.SIGINT)
    assert (code, err) == (0, "")


@pytest.mark.untraced
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads don't show here")
def test_the_main_thread_alone_takes_the_signals_that_stop_it() -> None:
    """Given to another, a signal does not wake the main thread, which is to act on it."""
    with stub() as running:
        tasks = list(Path(f"/proc/{running.process.pid}/task").iterdir())
        others = [task for task in tasks if task.name != str(running.process.pid)]
        assert others
        for task in others:
            blocked = int(re.findall(r"SigBlk:\s*(\w+)", (task / "status").read_text())[0], 16)
            assert blocked & 1 << signal.SIGINT - 1
            assert blocked & 1 << signal.SIGTERM - 1


@pytest.mark.untraced
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="nothing can be suspended here")
def test_it_stops_when_the_signal_comes_while_it_is_suspended() -> None:
    """As a shell's ``kill %1`` does to a job after Ctrl-Z. The kernel may then give the signal to any thread."""
    for _ in range(2):
        with stub() as running:
            for number in (signal.SIGSTOP, signal.SIGTERM):
                running.process.send_signal(number)
            assert running.end(signal.SIGCONT) == (0, "", "")


@pytest.mark.untraced
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="nothing can be suspended here")
def test_two_signals_at_once_stop_it_as_one_does() -> None:
    """After Ctrl-C, which all processes of a terminal get, what started them sends SIGTERM as well."""
    for _ in range(2):
        with stub() as running, socket.create_connection(running.address, timeout=PATIENCE) as client:
            client.sendall(b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 401")
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT):
                running.process.send_signal(number)
            code, out, err = running.end(signal.SIGCONT)
        assert (code, err) == (0, "")
        assert [line.split()[1:4] for line in out.splitlines()] == [["GET", "/v1/pets", "401"]]


@pytest.mark.untraced
def test_the_port_is_free_again_at_once() -> None:
    with stub() as running:
        port = running.address[1]
        socket.create_connection(running.address, timeout=PATIENCE).close()
        running.end()
    with stub("--port", str(port)) as again:
        assert again.address[1] == port


@pytest.mark.untraced
@POSIX_SHELL
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "0", "::1"])
def test_the_printed_curl_line_works_when_pasted(host: str) -> None:
    with stub("--host", host, "--seed", "2") as running:
        answer = shell(running.curl)
        assert ("every other address" in running.first[0]) is (host in {"0.0.0.0", "0"})  # not bound here
        assert running.address[0] == ("::1" if host == "::1" else "127.0.0.1")
    assert answer.startswith("HTTP/1.1 200")
    assert len(json.loads(answer.rpartition("\n")[2])) == 2


@pytest.mark.untraced
@POSIX_SHELL
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_printed_curl_line_works_behind_a_proxy_setting() -> None:
    proxy = {"http_proxy": "http://127.0.0.1:9", "no_proxy": "", "NO_PROXY": ""}
    with stub(environment=proxy) as running:
        assert shell(running.curl, **proxy).startswith("HTTP/1.1 200")


@pytest.mark.untraced
def test_every_start_makes_up_another_key_and_prints_it() -> None:
    with stub() as one, stub() as other:
        assert one.first[1].startswith("API key: ")
        assert one.first[1] != other.first[1]
        assert one.first[1].removeprefix("API key: ") in one.curl


@pytest.mark.untraced
def test_a_taken_port_exits_2_with_one_sentence() -> None:
    with stub() as running:
        port = str(running.address[1])
        second = subprocess.run(
            [*COMMAND, "serve", "--port", port], check=False, capture_output=True, text=True, timeout=PATIENCE
        )
    assert (second.returncode, second.stdout) == (2, "")
    assert re.fullmatch(rf"petstore-mock: can't listen on 127\.0\.0\.1 port {port}: [^\n]+\n", second.stderr)


@pytest.mark.untraced
def test_the_installed_command_is_the_module() -> None:
    command = Path(sys.executable).with_name("petstore-mock")
    if not command.exists():
        pytest.skip("the package is not installed beside this Python")
    with stub(command=[str(command)]) as running:
        assert running.end()[0] == 0


@pytest.mark.untraced
def test_a_line_is_logged_as_soon_as_its_request_is_answered() -> None:
    with stub() as running, socket.create_connection(running.address, timeout=PATIENCE) as client:
        client.sendall(b"GET /v1/pets?limit=%1b HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 401")
        line = running.stdout.readline()
        assert "GET /v1/pets?limit=%1b 401" in line
        assert line.rstrip("\n").isprintable()


@POSIX_SIGNALS
def test_serving_goes_on_when_the_log_has_lost_its_reader() -> None:
    with stub() as running:
        running.stdout.close()
        for _ in range(3):
            with socket.create_connection(running.address, timeout=PATIENCE) as client:
                client.sendall(b"GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 401")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0
        assert running.process.stderr is not None
        assert running.process.stderr.read() == ""


@pytest.mark.untraced
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_serving_goes_on_when_nobody_reads_the_log(unbuffered: str) -> None:
    """A pipe holds 64 KiB; what no longer fits must hold up the log alone, and be there in the end."""
    with stub(environment={"PYTHONUNBUFFERED": unbuffered}) as running:
        flood(running, 2000)
        code, out, err = running.end()
    assert (code, err) == (0, "")
    assert out.count("\n") == 2000


def flood(running: Stub, count: int) -> None:
    """Send ``count`` requests, and read the answers."""
    with socket.create_connection(running.address, timeout=PATIENCE) as client:
        answers = client.makefile("rb")
        for _ in range(count // 100):
            client.sendall((b"GET /v1/pets?" + b"x" * 150 + b" HTTP/1.1\r\nHost: x\r\n\r\n") * 100)
            for _ in range(100):
                assert answers.readline().startswith(b"HTTP/1.1 401")
                length = 0
                while (line := answers.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                answers.read(length)


@POSIX_SIGNALS
@pytest.mark.parametrize("log_format", ["text", pytest.param("json", marks=pytest.mark.untraced)])
def test_the_first_signal_stops_it_while_nobody_reads_the_log(log_format: str) -> None:
    """Who starts it may read its first line, for the address, and no more: the pipe is full, and stays so."""
    with stub("--log-format", log_format, lines=1) as running:
        flood(running, 3000)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0
        out, err = running.process.communicate(timeout=PATIENCE)
    missing = re.fullmatch(r"petstore-mock: (\d+) requests are missing in the log: nobody read it\n", err)
    assert missing
    logged = sum("/v1/pets" in line and "Try: " not in line for line in out.split("\n")[:-1])
    assert logged + int(missing[1]) == 3000


@POSIX_SIGNALS
def test_the_first_signal_stops_it_when_its_complaint_can_not_be_written_either() -> None:
    with stub(lines=1, stderr=subprocess.STDOUT) as running:
        flood(running, 3000)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0


@POSIX_SHELL
@pytest.mark.parametrize(
    "closed", [*(pytest.param(one, marks=pytest.mark.untraced) for one in (">&-", "2>&-")), "<&- >&- 2>&-"]
)
def test_it_serves_and_stops_with_streams_that_are_closed(closed: str) -> None:
    """As a script starts a daemon. uvloop aborts when a descriptor below 3 is one of its own."""
    with reserved_port() as port:
        line = f'exec "$@" serve --quiet --port {port} {closed}'
        process = subprocess.Popen(["sh", "-c", line, "sh", *COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            with connected(process, ("127.0.0.1", port)) as client:
                client.sendall(b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 401")
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")


def connected(process: subprocess.Popen[bytes], address: tuple[str, int]) -> socket.socket:
    """Return a connection to ``address``, as soon as ``process`` listens there."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection(address, timeout=PATIENCE)
        except ConnectionRefusedError:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.01)


@POSIX_SHELL
@pytest.mark.untraced
@pytest.mark.parametrize("arguments", [["gaps"], ["openapi"], ["--help"]])
def test_a_printing_command_without_stdout_is_quiet(arguments: list[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
@pytest.mark.parametrize("arguments", [["gaps"], ["openapi"]])
def test_a_full_disk_ends_a_printing_command_with_one_sentence(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123  # no file
        done = subprocess.run(
            [*COMMAND, *arguments], check=False, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
    assert (done.returncode, done.stderr) == (1, "petstore-mock: No space left on device\n")


@pytest.mark.untraced
@pytest.mark.parametrize("arguments", [["openapi"], ["gaps", "--format", "json"]])
def test_a_document_is_utf_8_whatever_the_locale_is(arguments: list[str]) -> None:
    """What programs read is UTF-8 (RFC 8259 §8.1); on Windows a redirected stream is in the system's own encoding."""
    printed = subprocess.run(
        [*COMMAND, *arguments],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    ).stdout
    expected = io.StringIO()
    assert cli.run(arguments, expected, io.StringIO()) == 0
    assert "§" in expected.getvalue()
    assert printed == expected.getvalue().encode()


def test_a_closed_pipe_ends_a_printing_command_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [*COMMAND, "gaps"], check=False, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.untraced
@POSIX_SIGNALS
def test_the_first_answer_waits_for_no_heavy_import() -> None:
    """jsonschema and pytest-httpserver cost 60 ms each; the first 200 is to come within 200 ms."""
    program = """
import io, os, signal, sys, threading, urllib.request
others = set(sys.modules)  # coverage, where it measures this process, reads TOML before us
from petstore_mock import cli
class Out(io.StringIO):
    def write(self, text):
        if text.startswith("petstore-mock serves"):
            threading.Thread(target=use, args=(text,)).start()
        return super().write(text)
def use(text):
    heavy = {"jsonschema", "werkzeug", "pytest_httpserver", "pytest", "hypothesis", "yaml", "tomllib"}
    before = sys.modules.keys() & heavy - others
    request = urllib.request.Request(text.split()[2] + "/pets", headers={"Authorization": "Bearer k"})
    assert urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).status == 200
    print(sorted(before | sys.modules.keys() & heavy - others), file=sys.stderr)
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(cli.run(["serve", "--port", "0", "--api-key", "k", "--seed", "20"], Out(), sys.stderr))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")
