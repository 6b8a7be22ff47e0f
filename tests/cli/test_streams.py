"""Commands whose standard output or standard error is closed, as some process managers start programs."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.live.stub import PATIENCE, reserved_port
from tests.platforms import POSIX_SIGNALS
from tests.programs import PETSTORE_MOCK

pytestmark = POSIX_SIGNALS

CLOSED = {"stdout": ">&-", "stderr": "2>&-", "both": ">&- 2>&-", "all": "<&- >&- 2>&-"}
COMMANDS = {
    "gaps": 0,
    "gaps --format json": 0,
    "openapi": 0,
    "demo": 0,
    "--version": 0,
    "--help": 0,
    "serve --port 70000": 2,
    "srve": 2,
    "ready --url http://127.0.0.1:9 --timeout 0.1": 1,
    "verify http://127.0.0.1:9/v1 --api-key k --timeout 1": 3,
    "learn http://127.0.0.1:9/v1 --api-key k --timeout 1": 3,
}


def shell(words: str, streams: str) -> subprocess.Popen[str]:
    line = f"exec {shlex.join(PETSTORE_MOCK)} {words} {streams}"
    return subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.seconds
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_without_a_stream_ends_as_with_it(words: str, closed: str) -> None:
    with shell(words, CLOSED[closed]) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in err) == (COMMANDS[words], False), err
    assert closed == "stderr" or out == ""


@pytest.mark.seconds
@pytest.mark.parametrize("options", ["", "--quiet", "--log-format json", "--tls"])
@pytest.mark.parametrize("closed", CLOSED)
def test_serve_without_a_stream_serves(closed: str, options: str) -> None:
    with reserved_port() as port:
        process = shell(f"serve --port {port} {options}", CLOSED[closed])
    with process:
        try:
            variables = {**os.environ, "PETSTORE_MOCK_PORT": str(port)}
            asked = [*PETSTORE_MOCK, "ready", "--timeout", str(PATIENCE)]
            ready = subprocess.run(asked, env=variables, capture_output=True, text=True, check=False)
            assert ready.returncode == 0, ready.stdout
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM"])
def test_a_signal_that_ends_serve_leaves_no_file_behind(name: str, tmp_path: Path) -> None:
    command = [*PETSTORE_MOCK, "serve", "--port", "0", "--tls"]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    number = getattr(signal, name)
    # nohup, under which this run may have been started, would let the program ignore SIGHUP.
    former = signal.signal(number, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=variables, text=True)
    finally:
        signal.signal(number, former)
    with process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert list(tmp_path.iterdir())
            process.send_signal(number)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []


def test_serve_under_nohup_goes_on_after_a_hangup(tmp_path: Path) -> None:
    command = ["nohup", *PETSTORE_MOCK, "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.6)
        process.terminate()
        assert process.wait(PATIENCE) == 0
