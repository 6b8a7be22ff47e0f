"""``petstore-mock ready``: waits until a stub is ready."""

from __future__ import annotations

import json
import ssl
import time
from argparse import Namespace
from http.client import HTTPException
from typing import TYPE_CHECKING, Final, TextIO
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

from petstore_mock.cli.arguments import SERVE, values_of
from petstore_mock.common.refusing import require
from petstore_mock.common.values import origin_of
from petstore_mock.remote.door import RemoteDoor

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION: Final = (
    "Request the health of a stub until it responds. Use this in a container's health check or in a script. Without "
    "--url, the address follows from PETSTORE_MOCK_HOST, _PORT, _CONTROL_PORT, _TLS and _TLS_CERT, as for serve."
)
NOT_READY: Final = 1
_PAUSE: Final = 0.1  # seconds between two requests
_FROM_PROXIES: Final = frozenset({502, 503, 504})  # while they can't reach the stub


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--url", metavar="http://HOST:PORT", help="the address of the stub")
    words = "the certificate authority of the stub (PEM), as serve --tls-ca-out writes it"
    parser.add_argument("--tls-ca", metavar="FILE", help=words)
    parser.add_argument("--timeout", type=float, default=10, metavar="S", help="the seconds to wait (default: 10)")


def run(options: Namespace, stdout: TextIO, _: TextIO) -> int:
    require(options.timeout > 0, "a positive number of seconds", timeout=options.timeout)
    address = options.url or _address_of_serve()
    health = f"{RemoteDoor(address).url_of(None)}health"
    end_at, problem, is_final = time.monotonic() + options.timeout, "", False
    while not is_final and (left := end_at - time.monotonic()) > 0:
        problem, is_final = _ask(health, max(left, _PAUSE), options.tls_ca, verify=options.url is not None)
        if not problem:
            print(f"ready: {address}", file=stdout)
            return 0
        time.sleep(_PAUSE)
    waited = "" if is_final else f" within {options.timeout:g} s"
    print(f"not ready{waited}: {address}: {problem}", file=stdout)
    return NOT_READY


def _address_of_serve() -> str:
    """Return the address at which ``serve`` listens with this environment."""
    names = ("host", "port", "control_port", "tls", "tls_cert")
    options = values_of(Namespace(), {name: SERVE[name] for name in names})
    own_port = options["control_port"]  # this port has no TLS
    secure = bool(options["tls"] or options["tls_cert"]) and not own_port
    return origin_of(options["host"], own_port or options["port"], secure=secure)


def _ask(health: str, timeout: float, ca_path: str | None, *, verify: bool) -> tuple[str, bool]:
    """Return why the stub is not ready (empty if it is ready), and whether more waiting is useless."""
    try:
        context = ssl.create_default_context(cafile=ca_path) if health.startswith("https") else None
        # Without --url, the stub is on this machine, and its certificate may be for other names.
        if context is not None and not verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
        with opener.open(health, timeout=timeout) as response:
            is_ready = json.load(response)["status"] == "ok"
            return "" if is_ready else "its health is not ok", False
    except HTTPError as error:
        if error.code in _FROM_PROXIES:
            return f"a proxy responds with status {error.code}", False
        tls = "; if it speaks TLS, use https:// and --tls-ca FILE" if error.code == 400 else ""
        return f"its health has status {error.code}, so it is no stub of petstore-mock{tls}", True
    except (OSError, HTTPException) as error:  # includes a missing --tls-ca file, which serve may still write
        reason = getattr(error, "reason", error)
        is_distrust = isinstance(reason, ssl.SSLCertVerificationError)
        hint = "; pass --tls-ca with the file that serve --tls-ca-out writes" if is_distrust else ""
        return f"{reason}{hint}", is_distrust
    except (ValueError, KeyError, TypeError):
        return "another service responds at this address", True
