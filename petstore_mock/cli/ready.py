"""``petstore-mock ready``: waits until a stub is ready."""

from __future__ import annotations

import ssl
from argparse import Namespace
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from petstore_mock.cli.arguments import values_of
from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut, printable
from petstore_mock.common.real import monotonic, sleep
from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.values import origin_of, shown_url
from petstore_mock.core.options import options_at
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.remote.door import RemoteDoor
from petstore_mock.transport.client import MEBIBYTE, Connection, FailedError, json_body

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from petstore_mock.http.response import Response

DESCRIPTION: Final = (
    "Request the health of a stub until it responds. Use this in a container's health check or in a script. Without "
    "--url, the address follows from PETSTORE_MOCK_HOST, _PORT, _CONTROL_PORT, _TLS and _TLS_CERT, as for serve."
)
NOT_READY: Final = 1
_LONGEST: Final = 1e9  # seconds; operating systems refuse much longer waits
_PAUSE: Final = 0.1  # seconds between two requests
_FROM_PROXIES: Final = frozenset({502, 503, 504})  # while they can't reach the stub
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SHOWN: Final = 200  # characters of an address to which a service redirects


class Problem(NamedTuple):
    """Why the stub is not ready, and whether it may become ready."""

    words: str
    may_pass: bool = False


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--url", metavar="http://HOST:PORT", help="the address of the stub")
    words = "the certificate authority of the stub (PEM), as serve --tls-ca-out writes it"
    parser.add_argument("--tls-ca", metavar="FILE", help=words)
    parser.add_argument("--timeout", type=float, default=10, metavar="S", help="the seconds to wait (default: 10)")


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    require(0 < options.timeout < _LONGEST, "a positive number of seconds", timeout=options.timeout)
    is_own = options.url is None
    addresses = _addresses_of_serve() if is_own else [options.url]
    first = shown_url(addresses[0])
    doors = [RemoteDoor(address) for address in addresses]
    ca_file = None
    if options.tls_ca is not None:
        has_tls = any(door.is_tls for door in doors)
        require(has_tls, "an address with https:// beside --tls-ca", url=first)
        ca_file = _ca_file(options.tls_ca, stderr)
    end_at = monotonic() + options.timeout
    words = "no time for a request"
    while monotonic() < end_at:
        problems: list[Problem] = []
        for door, address in zip(doors, addresses, strict=True):
            left = max(end_at - monotonic(), _PAUSE)
            problem = _ask(door, left, ca_file, is_own=is_own)
            if problem is None:
                print(f"ready: {shown_url(address)}", file=stdout)
                return 0
            problems.append(problem)
        words = problems[0].words
        if not any(problem.may_pass for problem in problems):
            print(f"not ready: {first}: {words}", file=stdout)
            return NOT_READY
        sleep(_PAUSE)
    print(f"not ready within {options.timeout:g} s: {first}: {words}", file=stdout)
    return NOT_READY


def _addresses_of_serve() -> list[str]:
    """Return the addresses at which ``serve`` may listen with this environment.

    A health check of a container does not know the options of ``serve``. One of them may have turned TLS on.
    """
    names = ("host", "port", "control_port", "tls", "tls_cert")
    serve = options_at("serve")
    options = values_of(Namespace(), {name: serve[name] for name in names})
    host = options["host"]
    port = options["port"]
    own_port = options["control_port"]
    if own_port:
        # This port has no TLS.
        return [origin_of(host, own_port, secure=False)]
    secure = origin_of(host, port, secure=True)
    has_tls = bool(options["tls"] or options["tls_cert"])
    return [secure] if has_tls else [origin_of(host, port, secure=False), secure]


def _ca_file(text: str, stderr: TextIO) -> Path:
    """Return the file of the certificate authority. Report a missing file at once, because we wait for it."""
    file = Path(text)
    if not file.parent.is_dir() or file.is_dir():
        refuse(f"--tls-ca: expected a file with certificates (PEM); got {text!r}, and its folder has no such file")
    if not file.exists():
        print(f"petstore-mock: waiting for the file of --tls-ca, {text!r}: it does not exist yet", file=stderr)
    return file


def _ask(door: RemoteDoor, timeout: float, ca_file: Path | None, *, is_own: bool) -> Problem | None:
    """Request the health once. Return None if the stub is ready. An own stub is one on this machine."""
    context = None
    if door.is_tls:
        try:
            context = ssl.create_default_context(cafile=ca_file)
        except ssl.SSLError as error:
            return Problem(f"the file of --tls-ca, {str(ca_file)!r}, holds no certificate (PEM): {error.reason}")
        except OSError as error:
            # serve may still write it.
            return Problem(f"the file of --tls-ca, {str(ca_file)!r}, can't be read: {error.strerror}", may_pass=True)
        if is_own:
            # Its certificate may be for other names.
            context.check_hostname = False
            if ca_file is None:
                context.verify_mode = ssl.CERT_NONE
    with closing(Connection(f"{door.url_of(None)}health", most_body=MEBIBYTE, context=context)) as connection:
        request = ApiRequest("GET", connection.base, Fields.of(connection.fields))
        try:
            return _judge(connection.send(request, timeout=timeout))
        except FailedError as error:
            return _of_failure(error)


def _of_failure(error: FailedError) -> Problem:
    if error.distrust:
        return Problem(f"{error}; pass --tls-ca with the file that serve --tls-ca-out writes")
    return Problem(str(error), may_pass=error.kind != "frame")


def _judge(response: Response) -> Problem | None:
    """Return None for the health of a stub that is ready."""
    status = response.status
    if status in _FROM_PROXIES:
        return Problem(f"a proxy responds with status {status}", may_pass=True)
    if status in _REDIRECTS:
        location = printable(cut(response.head.get("Location") or "another address", _SHOWN))
        return Problem(f"its health redirects to {location} (status {status}); ready follows no redirect")
    if status != 200:
        tls = "; if it speaks TLS, use https:// and --tls-ca FILE" if status == 400 else ""
        return Problem(f"its health has status {status}, so it is no stub of petstore-mock{tls}")
    try:
        health = json_body(response)
    except ValueError:
        health = None
    if not is_object(health) or "status" not in health:
        return Problem("another service responds at this address")
    return None if health["status"] == "ok" else Problem("its health is not ok", may_pass=True)
