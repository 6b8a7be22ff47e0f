"""Load by wrk: one thread, eight kept connections, and a script that prints the result as JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.processes import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Load", "load", "missing"]

CONNECTIONS: Final = 8
_SCRIPT: Final = Path(__file__).with_name("load.lua")


@dataclass(frozen=True, slots=True)
class Load:
    """The result of one run of wrk.

    Attributes:
        requests: the number of responses.
        rate: requests per second.
        median: the median latency, in microseconds.
        p99: the 99th percentile of the latency, in microseconds.
        refused: the number of error responses (4xx and 5xx) and of socket errors.
    """

    requests: int
    rate: float
    median: float
    p99: float
    refused: int


def missing() -> str:
    """Return why there is no wrk, or an empty text."""
    return "" if shutil.which("wrk") else "wrk is not installed (Debian: apt install wrk)"


def load(
    port: int,
    path: str,
    headers: Mapping[str, str],
    *,
    seconds: int,
    method: str = "GET",
    body: bytes = b"",
    scheme: str = "http",
) -> Load:
    """Send requests as fast as the server responds.

    Args:
        port: the port of the server.
        path: the target, or several targets with spaces between them, for requests in turn.
        headers: the header fields.
        seconds: the duration.
        method: the method.
        body: the body.
        scheme: http or https. wrk does not verify certificates.

    Raises:
        RuntimeError: no response arrived.
    """
    fields = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    first = path.split(maxsplit=1)[0]
    done = subprocess.run(
        [
            *("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "10s", *fields),
            *("-s", str(_SCRIPT), f"{scheme}://{HOST}:{port}{first}", "--", method, path, body.decode()),
        ],
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"wrk failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return Load(**json.loads(done.stdout.rpartition("RESULT ")[2]))
