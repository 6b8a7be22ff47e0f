"""The image without Docker: its CMD and HEALTHCHECK run as the Dockerfile has them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.live.stub import COMMAND, PATIENCE, reserved_port
from tests.platforms import POSIX_SIGNALS

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("FROM ")[2]
SETTINGS = dict(pair.split("=") for pair in re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)[0].split())
COMPOSE = re.findall(r"^    command: \[(serve, .*)\]$", (ROOT / "docs/how-to/containers.md").read_text(), re.MULTILINE)
WAYS: dict[str, dict[str, str]] = {
    "plain": {},
    "compose": {},
    "token": {"PETSTORE_MOCK_CONTROL_TOKEN": "secret"},
    "tls": {"PETSTORE_MOCK_TLS": "true"},
    "tls and token": {"PETSTORE_MOCK_TLS": "true", "PETSTORE_MOCK_CONTROL": "true"},
    "shared ca": {
        "PETSTORE_MOCK_TLS": "true",
        "PETSTORE_MOCK_TLS_HOST": "petstore",
        "PETSTORE_MOCK_TLS_CA_OUT": "ca.pem",
    },
}


def words_of(instruction: str) -> list[str]:
    """Return the words of an instruction, those of the console script as this Python runs it."""
    found = re.findall(rf"^(?:HEALTHCHECK .*\\\n *)?{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found[-1])
    return [*COMMAND, *words[1:]] if words[0] == "petstore-mock" else words


HEALTH = [*COMMAND, *json.loads(re.findall(r"CMD (\[.*\])\nENTRYPOINT", DOCKERFILE)[0])[1:]]


@POSIX_SIGNALS
@pytest.mark.parametrize("way", WAYS)
def test_the_image_becomes_healthy_and_ends_at_once(tmp_path: Path, way: str) -> None:
    with reserved_port() as port:
        environment = {**os.environ, **SETTINGS, **WAYS[way], "PETSTORE_MOCK_PORT": str(port)}
    command = COMPOSE[0].replace('"', "").split(", ") if way == "compose" else words_of("CMD")
    served = [*words_of("ENTRYPOINT"), *command]
    with subprocess.Popen(served, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        asked = subprocess.run(HEALTH, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=5)
    assert (asked.returncode, process.returncode) == (0, 0), asked.stdout + out
    assert "0.0.0.0" not in out or "every other address" in out


@POSIX_SIGNALS
def test_it_writes_no_file_without_tls() -> None:
    """A read-only root file system does no harm."""
    import resource  # noqa: PLC0415  # POSIX has it

    def forbid() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with reserved_port() as port:
        environment = {**os.environ, **SETTINGS, "PETSTORE_MOCK_PORT": str(port), "TMPDIR": "/nowhere"}
    served = [*words_of("ENTRYPOINT"), *words_of("CMD")]
    with subprocess.Popen(served, env=environment, stdout=subprocess.PIPE, preexec_fn=forbid) as process:  # noqa: PLW1509
        asked = subprocess.run(HEALTH, env=environment, preexec_fn=forbid, capture_output=True, check=False)
        process.terminate()
    assert (asked.returncode, process.returncode) == (0, 0), asked.stdout


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.call(["unshare", "--pid", "--fork", "true"]) != 0,
    reason="the system lets this user make no PID namespace",
)
def test_sigterm_ends_it_as_pid_1() -> None:
    """The kernel sends PID 1 no signal that it does not handle."""
    served = [*COMMAND, "serve", "--port", "0", "--quiet"]
    unshared = ["unshare", "--pid", "--fork", "--kill-child", *served]
    with subprocess.Popen(unshared, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "serves" in process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
        os.kill(int(children), signal.SIGTERM)
        assert process.wait(5) == 0


def test_the_image_has_the_extras_a_folder_for_certificates_and_labels() -> None:
    assert "[fast,tls]" in DOCKERFILE
    assert re.search(r"install --directory --owner=10001 .*/certs$", DOCKERFILE, re.MULTILINE)
    assert "USER 10001" in DOCKERFILE
    names = ("title", "description", "source", "documentation", "licenses")
    assert all(f"org.opencontainers.image.{name}=" in DOCKERFILE for name in names)


def test_a_variable_wins_over_the_command_line_of_the_image() -> None:
    options = shlex.join(words_of("CMD")[1:])
    assert not re.search(r"--(host|port)", options)
    assert SETTINGS["PETSTORE_MOCK_HOST"] == "0.0.0.0"
