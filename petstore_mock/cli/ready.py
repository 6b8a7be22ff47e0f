"""``petstore-mock ready``: waits until a stub serves."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from typing import Final, TextIO
from urllib.parse import urlsplit

from petstore_mock.cli.environment import origin_of
from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.common.environment import as_flag, text_of

__all__ = ["NOT_READY", "ready"]

NOT_READY: Final = 1
_PAUSE: Final = 0.05  # seconds between two questions


def ready(url: str | None, timeout: float, stdout: TextIO, ca_path: str | None = None) -> int:
    """Ask a stub for its health until it answers; return 0, or 1 if it does not.

    Args:
        url: where it serves; without it, where ``serve`` would by the environment.
        timeout: seconds to wait.
        stdout: where the one line goes that says what came.
        ca_path: a PEM file of the authority to trust, where it speaks TLS; without it, what ``serve`` would have
            written by the environment, or what Python trusts by itself.
    """
    address = url or _address_of_serve()
    ca_path = ca_path or text_of("tls_ca_out") or None
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        problem = _ask(address, max(left, _PAUSE), ca_path)
        if not problem:
            print(f"ready: {address}", file=stdout)
            return 0
        if left <= _PAUSE:
            print(f"not ready within {timeout:g} s: {address}: {problem}", file=stdout)
            return NOT_READY
        time.sleep(_PAUSE)


def _address_of_serve() -> str:
    """Return where ``serve`` would answer by the environment."""
    own_port = text_of("control_port")  # where the door speaks plain HTTP
    tls = as_flag(text_of("tls")) or text_of("tls_cert")
    scheme = "https" if tls and not own_port else "http"
    return origin_of(scheme, text_of("host") or "127.0.0.1", own_port or text_of("port") or "8080")


def _ask(address: str, timeout: float, ca_path: str | None) -> str:
    """Return why the stub is not ready, or nothing."""
    try:
        status, content = _health(address, timeout, ca_path)
        if status != http.client.OK:
            return _status_words(address, status)
        return "" if json.loads(content)["status"] == "ok" else "it says that it is not"
    except ssl.SSLCertVerificationError as error:
        return f"{error}: name the file of its authority, which serve --tls-ca-out writes, as --tls-ca"
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    except (ValueError, KeyError, TypeError):
        return "what answers there is no stub of petstore-mock"


def _health(address: str, timeout: float, ca_path: str | None) -> tuple[int, bytes]:
    parts = urlsplit(address)
    host = parts.hostname or ""
    connection = http.client.HTTPConnection(host, parts.port, timeout=timeout)
    if parts.scheme == "https":
        try:
            context = ssl.create_default_context(cafile=ca_path)
        except OSError as error:  # the stub writes it at its start, and may not have done so yet
            raise OSError(f"can't read a certificate from {ca_path}: {error.strerror or error}") from error
        connection = http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)
    try:
        connection.request("GET", f"{DOOR_PATH}/health")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _status_words(address: str, status: int) -> str:
    if status == http.client.BAD_REQUEST and address.startswith("http:"):
        return f"its health came with status {status}: does it speak TLS? Ask at https:// then, with --tls-ca FILE"
    return f"its health came with status {status}: is the control door closed, or on another port?"
