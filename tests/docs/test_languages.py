"""The documents' examples in other languages run as they are written, on the stub that the documents start."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.live.stub import PATIENCE, stub
from tests.platforms import POSIX_SHELL
from tests.programs import PETSTORE_MOCK, run
from tools.documents.blocks import blocks

pytestmark = [POSIX_SHELL, pytest.mark.untraced]  # with_stub.sh runs them all

# The lines of the documents that start a stub at a fixed port: the port in the line, or the default port.
SERVING = sorted(
    {line for one in blocks("sh") for line in re.findall(r"^petstore-mock serve [^>\n]*$", one.text, re.MULTILINE)}
)
_FILE = re.compile(r"(?://|#) ([\w.]+\.(?:java|go|sh))\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the documents name, and a ``petstore-mock`` in its ``bin``."""
    for block in blocks("java", "go", "sh"):
        if named := _FILE.match(block.text):
            (tmp_path / named[1]).write_text(block.text, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "petstore-mock"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m petstore_mock "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


def variables(folder: Path) -> dict[str, str]:
    """Return the environment in which programs find ``petstore-mock``."""
    return {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def with_stub(folder: Path, *command: str) -> str:
    """Run a command with the script of the documents. Return what the command printed; if it fails, fail the test."""
    return run("sh", "with_stub.sh", *command, cwd=folder, environment=variables(folder))


def log_of(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in folder.glob("stub.log.*"))


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_recipes_run_twice_at_once(folder: Path, shell: str) -> None:
    """Two runs share the folder. In each run, two shell tests share a stub."""
    both = f"{shell} test_pets.sh & first=$!; {shell} test_pets.sh; wait $first"
    command = [shutil.which(shell) or pytest.skip(f"{shell} is not installed"), "with_stub.sh", shell, "-c", both]
    options: dict[str, Any] = {"cwd": folder, "env": variables(folder), "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(command, **options) for _ in range(2)]
    assert [run.communicate(timeout=60)[0].split() for run in runs] == [["passed"] * 2] * 2
    assert [run.returncode for run in runs] == [0, 0]
    assert len(list(folder.glob("stub.log.*"))) == 2
    names = set(re.findall(r"/w/(shell-\w+)/|\[(shell-\w+)\]|\"world\": \"(shell-\w+)\"", log_of(folder)))
    assert len(names) == 4


@pytest.mark.slow
@pytest.mark.parametrize("line", SERVING)
def test_the_second_stub_of_a_recipe_leaves_the_first_alone(tmp_path: Path, line: str) -> None:
    """Two runs in one folder use the same port. With TLS, they also use the same certificate file."""
    ca = str(tmp_path / "ca.pem")
    options = re.sub(r" --(control-)?port \d+", "", line).replace("ca.pem", ca).split()[2:]
    with stub(*options) as first:
        second = [*PETSTORE_MOCK, "serve", *options, "--port", str(urlsplit(first.url).port)]
        done = subprocess.run(second, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        trust = ("--tls-ca", ca) if "--tls" in options else ()
        run(*PETSTORE_MOCK, "ready", "--url", first.url, "--timeout", "10", *trust, cwd=tmp_path)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_signal_ends_the_script_its_tests_and_the_stub(folder: Path, shell: str, number: signal.Signals) -> None:
    def hear() -> None:
        signal.signal(number, signal.SIG_DFL)  # a shell can't trap a signal that its parent ignores

    (folder / "slow.sh").write_text("echo $$ $PETSTORE_URL > started.tmp; mv started.tmp started; exec sleep 60\n")
    command = [shutil.which(shell) or pytest.skip(f"{shell} is not installed"), "with_stub.sh", "sh", "slow.sh"]
    with subprocess.Popen(command, cwd=folder, env=variables(folder), preexec_fn=hear) as process:  # noqa: PLW1509
        deadline = time.monotonic() + 30
        while not (folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        tests, url = (folder / "started").read_text(encoding="ascii").split()
        process.send_signal(number)
        assert process.wait(10) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(tests), 0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(url).port or 0))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_shell_fails_for_a_wrong_number_of_requests(folder: Path) -> None:
    script = folder / "test_pets.sh"
    script.write_text(script.read_text(encoding="utf-8").replace('"times": 1', '"times": 2'), encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match="exited with 1"):
        with_stub(folder, "sh", "test_pets.sh")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK is installed")
def test_java_example_passes_twice_at_once_and_fails_for_a_wrong_expectation(folder: Path) -> None:
    both = "java PetStoreTest.java & first=$!; java PetStoreTest.java && wait $first"
    assert with_stub(folder, "sh", "-c", both).splitlines()[-2:] == ["passed", "passed"]
    source = folder / "PetStoreTest.java"
    source.write_text(source.read_text(encoding="utf-8").replace('\\"times\\": 1', '\\"times\\": 3'), encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r'java.lang.AssertionError: {"code":"service_unavailable"'):
        with_stub(folder, "java", "PetStoreTest.java")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_go_example_passes_and_fails_for_a_wrong_expectation(folder: Path) -> None:
    """The tests of the example run in parallel, each in its own world."""
    command = ("go", "test", "-v", "-count=1", "petstore_test.go")
    printed = with_stub(folder, *command)
    assert printed.count("--- PASS: ") == 2
    source = folder / "petstore_test.go"
    source.write_text(source.read_text(encoding="utf-8").replace('"times": 1', '"times": 3'), encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match="expected 503, then 200; got 503, then 503"):
        with_stub(folder, *command)
    assert '"leak"' not in log_of(folder)
