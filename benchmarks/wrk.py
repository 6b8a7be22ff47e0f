"""Load by wrk: one thread, eight kept connections, and a script that prints the result as JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.bodies import HEADERS
from benchmarks.processes import HOST

CONNECTIONS: Final = 8
_SCRIPT: Final = Path(__file__).with_name("load.lua")


class Load(NamedTuple):
    """The result of one run of wrk. ``refused`` counts error responses (4xx and 5xx) and socket errors."""

    requests: int
    rate: float  # per second
    refused: int


def missing() -> str:
    """Return why there is no wrk, or an empty text."""
    return "" if shutil.which("wrk") else "wrk is not installed (Debian: apt install wrk)"


def load(port: int, path: str, *, seconds: int, method: str = "GET", body: bytes = b"") -> Load:
    """Send requests for some seconds as fast as the server responds. Raises RuntimeError if no response arrives."""
    fields = {**HEADERS, "Content-Type": "application/json"} if body else HEADERS
    headers = [part for name, value in fields.items() for part in ("-H", f"{name}: {value}")]
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "10s", *headers, "-s", str(_SCRIPT)]
    command += [f"http://{HOST}:{port}{path}", "--", method, body.decode()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    if done.returncode:
        raise RuntimeError(f"wrk failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return Load(**json.loads(done.stdout.rpartition("RESULT ")[2]))
