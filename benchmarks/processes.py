"""Runs servers and functions in new processes: starts them, waits until they are ready, and always ends them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.bodies import HEADERS

ROOT: Final = Path(__file__).parents[1]
HOST: Final = "127.0.0.1"
# The environment of every started process. It leaves out the options of our suite, and the variable that
# makes Python compile each module again. Python never does so for an installed package.
ENVIRONMENT: Final = {
    name: value
    for name, value in os.environ.items()
    if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith(("PYTEST", "COV", "HYPOTHESIS"))
}
_READY_PATIENCE: Final = 30.0  # seconds; the slowest peer takes about two seconds
_FUNCTION_PATIENCE: Final = 240.0
_POLL: Final = 0.001

# Measures the package of the tree in argv[3]; `benchmarks` comes from this checkout.
_CALL: Final = """
import importlib, json, sys
sys.path.insert(0, sys.argv[3])
import petstore_mock
assert petstore_mock.__file__.startswith(sys.argv[3]), petstore_mock.__file__
del sys.path[0]
module, name = sys.argv[1].split(':')
function = getattr(importlib.import_module(f'benchmarks.{module}'), name)
print(json.dumps(function(**json.loads(sys.argv[2]))))
"""


def isolated(name: str, *, tree: Path | None = None, **arguments: Any) -> Any:  # noqa: ANN401  # a JSON value
    """Call ``module:function`` of this package in a new Python process, and return its result.

    A measurement then has its own memory and imports, and slows no other measurement.

    Args:
        name: the module and the function.
        tree: a folder whose ``petstore_mock`` is measured instead of this checkout's.
        arguments: those of the function, as JSON values.

    Raises:
        RuntimeError: the process failed; its traceback is on standard error.
    """
    command = [sys.executable, "-c", _CALL, name, json.dumps(arguments), str(tree or ROOT)]
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, timeout=_FUNCTION_PATIENCE, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{name} ended with exit code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


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

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self._process = process
        self._log = log
        self.port = port
        self.ready_after = 0.0

    def wait_until_ready(self, path: str, started_at: float) -> None:
        """Send requests until the response is 200.

        Raises:
            RuntimeError: the process has ended, or the response does not arrive in time.
        """
        status = 0
        while time.perf_counter() - started_at < _READY_PATIENCE:
            if self._process.poll() is not None:
                raise RuntimeError(f"exit code {self._process.returncode} before it served: {self._last_line()}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                status = self._status_of(path)
            if status == http.HTTPStatus.OK:
                self.ready_after = time.perf_counter() - started_at
                return
            time.sleep(_POLL)
        problem = f"no 200 within {_READY_PATIENCE:g} s; the last status was {status or 'none'}"
        raise RuntimeError(f"{problem}: {self._last_line()}")

    def _last_line(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "no output"

    def _status_of(self, path: str) -> int:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_READY_PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=HEADERS)
            response = connection.getresponse()
            response.read()
            return response.status

    def processor_seconds(self) -> float:
        """Return the processor time that the process and its children have taken so far, of all cores."""
        ticks = 0
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has ended
                fields = entry.read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(fields[2]) == self._process.pid:  # the group
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def started(command_of: Callable[[int, Path], Sequence[str]], path: str) -> Generator[Running]:
    """Run a server within a ``with`` block, and wait until it sends a 200 for ``path``.

    Args:
        command_of: returns the command for a port. It may write files into the given folder.
        path: the target of the first request.

    Raises:
        RuntimeError: the server does not respond.
    """
    port = free_port()
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        log, command = Path(name, "output.txt"), command_of(port, Path(name))
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
        running = Running(process, port, log)
        try:
            running.wait_until_ready(path, started_at)
            yield running
        finally:
            running.end()
