"""Runs servers in new processes: starts them, sends requests until they are ready, and always ends them."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.timing import ENVIRONMENT, ROOT

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

__all__ = ["HOST", "Running", "free_port", "processor_seconds_of", "resident_bytes", "started"]

HOST: Final = "127.0.0.1"
READY_PATIENCE: Final = 30.0  # seconds; the slowest peer takes about two seconds
END_PATIENCE: Final = 3.0
_POLL: Final = 0.001


def free_port() -> int:
    """Return a port that the system says is free."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class Running:
    """A server that runs.

    Attributes:
        port: its port.
        ready_after: seconds from its start to its first 200.
    """

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self.port = port
        self.ready_after = 0.0

    def wait_until_ready(self, path: str, headers: Mapping[str, str], started_at: float) -> None:
        """Send requests until the response is 200.

        Raises:
            RuntimeError: the process has ended, or the response does not arrive in time.
        """
        last = ""
        while time.perf_counter() - started_at < READY_PATIENCE:
            if self._process.poll() is not None:
                raise RuntimeError(f"it ended with exit code {self._process.returncode} before it served")
            connection = http.client.HTTPConnection(HOST, self.port, timeout=READY_PATIENCE)
            try:
                connection.request("GET", path, headers=dict(headers))
                answer = connection.getresponse()
                answer.read()
                if answer.status == http.HTTPStatus.OK:
                    self.ready_after = time.perf_counter() - started_at
                    return
                last = f"; the last response was {answer.status}"
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(_POLL)
        raise RuntimeError(f"no 200 within {READY_PATIENCE:g} s{last}")

    def resident_bytes(self) -> int:
        """Return the resident memory of the process and its children."""
        group = self._process.pid
        return sum(resident_bytes(pid) for pid in _members(group))

    def processor_seconds(self) -> float:
        """Return the processor time that the process and its children have taken so far, of all cores."""
        return sum(processor_seconds_of(pid) for pid in _members(self._process.pid))

    def end(self) -> None:
        """End the process and its children."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_PATIENCE)
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # a child that outlived its parent


def _members(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group:
                    found.append(int(entry.name))
    return found


def resident_bytes(pid: int | str = "self") -> int:
    """Return the resident memory of a process; 0 if the system does not show it."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def processor_seconds_of(pid: int) -> float:
    """Return the processor time that a process has taken so far, of all cores; 0 if the system does not show it."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@contextmanager
def started(
    command: Sequence[str], port: int, path: str, headers: Mapping[str, str], folder: Path
) -> Generator[Running]:
    """Run a server within a ``with`` block. Its output goes to a file in ``folder``.

    Raises:
        RuntimeError: the server does not respond.
    """
    log = folder / "output.txt"
    with log.open("wb") as output:
        started_at = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    running = Running(process, port)
    try:
        try:
            running.wait_until_ready(path, headers, started_at)
        except RuntimeError as error:
            tail = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{error}{f': {tail[0][:200]}' if tail else ''}") from None
        yield running
    finally:
        running.end()
