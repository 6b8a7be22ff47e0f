"""``petstore-mock ready``: waits until a stub serves."""

from __future__ import annotations

import http.client
import json
import os
import time
from typing import TYPE_CHECKING, Final, TextIO
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NOT_READY", "ready"]

NOT_READY: Final = 1
_PAUSE: Final = 0.05  # seconds between two questions
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # asked, not bound


def ready(url: str | None, timeout: float, stdout: TextIO) -> int:
    """Ask a stub for its health until it answers; return 0, or 1 if it does not.

    Args:
        url: where it serves; without it, where ``serve`` would by the environment.
        timeout: seconds to wait.
        stdout: where the one line goes that says what came.
    """
    address = url or _address_of(os.environ)
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        problem = _ask(address, max(left, _PAUSE))
        if not problem:
            print(f"ready: {address}", file=stdout)
            return 0
        if left <= _PAUSE:
            print(f"not ready within {timeout:g} s: {address}: {problem}", file=stdout)
            return NOT_READY
        time.sleep(_PAUSE)


def _address_of(environment: Mapping[str, str]) -> str:
    host = environment.get("PETSTORE_MOCK_HOST") or "127.0.0.1"
    host = _ANY_ADDRESS.get(host, host)
    port = environment.get("PETSTORE_MOCK_CONTROL_PORT") or environment.get("PETSTORE_MOCK_PORT") or "8080"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _ask(address: str, timeout: float) -> str:
    """Return why the stub is not ready, or nothing."""
    parts = urlsplit(address)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("GET", "/__petstore/health")
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != http.client.OK:
            return f"its health came with status {answer.status}: is the control door closed, or on another port?"
        if json.loads(content)["status"] != "ok":
            return "it says that it is not"
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    except (ValueError, KeyError, TypeError):
        return "what answers there is no stub of petstore-mock"
    finally:
        connection.close()
    return ""
