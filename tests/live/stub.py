"""A ``petstore-mock serve`` process for tests."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Final

import pytest

from tests.platforms import HAS_SIGNALS, WITHOUT_SIGNALS
from tests.programs import PETSTORE_MOCK

PATIENCE: Final = 30  # seconds; on an idle machine, everything here takes less than a second


class Stub:
    """A running stub, and the lines that it printed first."""

    def __init__(self, process: subprocess.Popen[str], lines: int | None) -> None:
        self.process = process
        assert process.stdout is not None
        self.stdout: IO[str] = process.stdout
        self.first = [self.stdout.readline().rstrip("\n") for _ in range(lines or 1)]
        while lines is None and self.first[-1] and not self.first[-1].startswith("Try: "):
            self.first.append(self.stdout.readline().rstrip("\n"))
        found = re.search(r"https?://[^ \"]+", self.first[0])
        assert found
        self.url = found[0]
        self.curl = self.first[-1].removeprefix("Try: ")

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").removesuffix("/v1").rsplit(":", 1)
        return host.strip("[]"), int(port)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal. Return the exit code and the output since the greeting."""
        if not HAS_SIGNALS:
            pytest.skip(WITHOUT_SIGNALS)
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@contextmanager
def reserved_port() -> Iterator[int]:
    """Yield a free port. On Linux, the system does not assign it to others, but a listener can still bind it."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # allows a listener beside this socket
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
        if sys.platform != "linux":
            held.close()
        yield port


@contextmanager
def stub(
    *arguments: str,
    command: Sequence[str] = PETSTORE_MOCK,
    environment: Mapping[str, str] | None = None,
    lines: int | None = None,
    stderr: int = subprocess.PIPE,
) -> Iterator[Stub]:
    """Run a stub on a free port for the length of a block. Read its first ``lines``, or its whole greeting."""
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield Stub(process, lines)
    finally:
        process.terminate()  # on SIGTERM, the stub deletes the directory of its certificate
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
