"""The container image, tested without Docker: the CMD and HEALTHCHECK of the Dockerfile."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
import trustme

from tests.live.stub import PATIENCE, reserved_port
from tests.platforms import POSIX_SIGNALS
from tests.programs import PETSTORE_MOCK

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("FROM ")[2]
COMPOSE = re.findall(r"command: \[(serve, .*)\]", (ROOT / "docs/how-to/containers.md").read_text(encoding="utf-8"))[0]
SETTINGS = dict(pair.split("=") for pair in re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)[0].split())
HEALTH, _, CMD = (json.loads(words) for words in re.findall(r"(?:CMD|ENTRYPOINT) (\[.*\])", DOCKERFILE))
WAYS = {
    "plain": {},
    "token": {"CONTROL_TOKEN": "secret"},
    "TLS": {"TLS": "true"},
    "TLS and token": {"TLS": "true", "CONTROL": "true", "TLS_HOST": "petstore", "TLS_CA_OUT": "ca.pem"},
    "TLS as an option": {},
    "TLS as an option, and token": {},
    "own certificate as an option": {},
    "compose": {},
    "read-only": {},
}

# The options of serve, of which the health check does not know.
OPTIONS = {
    "TLS as an option": ["--tls"],
    "TLS as an option, and token": ["--tls", "--control"],
    "own certificate as an option": ["--tls-cert", "own.pem"],
}

pytestmark = POSIX_SIGNALS


def write_nothing() -> None:
    import resource  # noqa: PLC0415  # only on POSIX

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.seconds
@pytest.mark.parametrize("way", WAYS)
def test_the_image_becomes_healthy_and_stops_at_once(tmp_path: Path, way: str) -> None:
    with reserved_port() as port:  # the command line of the image has no port, so the variable sets it
        own = {f"PETSTORE_MOCK_{name}": value for name, value in {**WAYS[way], "PORT": str(port)}.items()}
    start = partial(
        subprocess.Popen,
        env={**os.environ, **SETTINGS, **own},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=write_nothing if way == "read-only" else None,
    )
    ca = trustme.CA()
    certificate = ca.issue_cert("petstore.example")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    words = COMPOSE.replace('"', "").split(", ") if way == "compose" else CMD
    with start([*PETSTORE_MOCK, *words, *OPTIONS.get(way, [])]) as process:
        for _ in range(10):  # Docker repeats health checks as well
            with start([*PETSTORE_MOCK, *HEALTH[1:]]) as health:
                found = health.communicate(timeout=PATIENCE)[0]
            if health.returncode == 0:
                break
        process.send_signal(signal.SIGTERM)
        out = process.communicate(timeout=5)[0]
    assert (health.returncode, process.returncode) == (0, 0), found + out
    assert "every other address" in out


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.call(["unshare", "--pid", "--fork", "true"]) != 0,
    reason="this user can't make a PID namespace",
)
def test_sigterm_stops_the_image_as_pid_1() -> None:
    """The kernel drops signals for which PID 1 has no handler."""
    command = ["unshare", "--pid", "--fork", "--kill-child", *PETSTORE_MOCK, "serve", "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "serves" in process.stdout.readline()
        child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
        os.kill(int(child), signal.SIGTERM)
        assert process.wait(5) == 0


def test_the_image_has_extras_a_certificate_folder_and_labels() -> None:
    for wanted in (r"\[fast,tls\]", "--owner=10001 .*/certs", "USER 10001", "image.source=", "image.licenses="):
        assert re.search(wanted, DOCKERFILE), wanted
