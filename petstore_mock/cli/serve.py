"""``petstore-mock serve``: worlds on a port, in the foreground, with a line for each request."""

from __future__ import annotations

import gc
import json
import os
import secrets
import shlex
import signal
import socket
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.cli.arguments import SERVE, Parser, UsageError, flag, values_of
from petstore_mock.cli.request_log import RequestLog
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import write_text
from petstore_mock.control.admission import Admission, check_host, check_token, is_loopback
from petstore_mock.control.door import Door
from petstore_mock.core.cors import cors_of
from petstore_mock.core.host import Host
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.core.world import World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.behaviour import as_behaviour
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.mock.service import Service
from petstore_mock.transport.server import Server
from petstore_mock.transport.tls import ServerTls, own_context

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator

DESCRIPTION: Final = (
    "Respond to requests in the foreground until Ctrl-C or SIGTERM. The environment stands in for options that are not "
    "given: PETSTORE_MOCK_PORT for --port, true for --quiet, commas or spaces between the values of a repeated option."
)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_LOCAL: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # shown, not bound
_PROXIES: Final = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")  # those that curl reads
_COLLECTED: Final = 10_000  # new objects between two looks of the garbage collector, which finds nothing in journals


def add_options(parser: Parser) -> None:
    parser.add_options(SERVE)


def run(given: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Serve until SIGINT or SIGTERM."""
    options = values_of(given, SERVE)
    opening = [name for name in ("control", "control_token", "control_port") if options[name] not in {None, False}]
    if options["no_control"] and opening:
        raise UsageError(f"expected {flag(opening[0])} or --no-control; got both: the second closes the control door")
    log = RequestLog(stdout, as_json=options["log_format"] == "json")
    ended = threading.Event()
    former = gc.get_threshold()
    gc.set_threshold(_COLLECTED, *former[1:])
    with _until_signalled(ended):
        stub = _Stub(options, log)
        try:
            stub.start()
            log.start(stub.greeting())
            while not ended.wait(0.2):  # a signal that comes just before the wait does not end it
                stub.expire()
        finally:
            stub.stop()
            gc.set_threshold(*former)
    if trouble := log.finish():
        print(f"petstore-mock: {trouble}", file=stderr)
    return 0


class _Stub:
    """A service with its control door, and what the log says of its worlds."""

    def __init__(self, options: dict[str, Any], log: RequestLog) -> None:
        self._options = options
        self._log = log
        self._trust: dict[str, str] = {}  # by what clients trust its own authority
        self._authority = ""  # the certificate of that authority
        with _naming("set"):
            behaviour = as_behaviour(options["behaviour"]).replace(dict(options["set"]))
        keys = options["api_key"] or ()
        with _naming("api_key"):
            World(Host(), {}, keys=keys)  # without animals, only the keys can be wrong
        certificates = self._certificates()
        listener = {name: options[name] for name in ("host", "port", "cors")}
        listener |= {"control": False, "tls": certificates is not None}
        with _naming("seed"):  # all else is checked by now
            self.service = Service(
                {**listener, "loop": "uvloop" if find_spec("uvloop") else "asyncio"},
                {"behaviour": behaviour, "seed": options["seed"], "at": options["at"]},
                keys=keys,
                certificates=certificates,
                max_worlds=options["max_worlds"],
                ttl=options["world_ttl"],
                keep=options["keep_requests"],
                listener=None if options["quiet"] else log.note,
            )
        self.service.host.public_url = options["public_url"] or ""
        self.service.host.own_certificate = options["tls_cert"] is not None
        if not options["quiet"]:
            words = "arrived after the end of the world"
            self.service.worlds.leaked = lambda leak: log.say("leak", f"{leak.request} {words}", leak.owner)
        self._token: str | None = None  # one that was made up
        self._own_port: Server | None = None
        self._mount()

    # The door

    def _mount(self) -> None:
        options = self._options
        token = options["control_token"]
        if token is not None:
            check_token(token)
        elif options["control"]:
            token = self._token = secrets.token_urlsafe(24)
        hosts = tuple(check_host(host) for host in options["allowed_host"])
        cors_of(options["allowed_origin"])  # the same rules for what an origin is
        admission = Admission(token=token, allowed_hosts=hosts, allowed_origins=options["allowed_origin"])
        is_open = not options["no_control"] and (token is not None or _is_local(options["host"]))
        port: int | None = options["control_port"]
        self.service.mount(admission, is_open=is_open and port is None)
        if is_open and port is not None:
            door = Door(self.service.worlds, lambda: own, admission, service=lambda: self.service.server)
            own = self._own_port = Server(door, options["host"], port)

    # TLS

    def _certificates(self) -> ServerTls | None:
        options = self._options
        needs_tls = [name for name in ("tls_key", "tls_ca_out", "tls_host") if options[name]]
        if options["tls_cert"] is not None:
            for name in ("tls_ca_out", "tls_host"):
                if options[name]:
                    refuse(f"{flag(name)}: expected no --tls-cert beside it: that certificate is not the stub's own")
            own = own_context(options["tls_cert"], options["tls_key"])
            return lambda _: own
        if not options["tls"]:
            if needs_tls:
                refuse(f"{flag(needs_tls[0])}: expected --tls or --tls-cert beside it")
            return None
        if options["tls_key"] is not None:
            refuse("--tls-key: expected --tls-cert beside it")
        from petstore_mock.mock.tls import Tls  # noqa: PLC0415  # an extra

        tls = Tls(options["host"], *options["tls_host"])
        self._trust = {"ca_path": options["tls_ca_out"] or tls.ca_path, "spki_hash": tls.spki_hash}
        self._authority = Path(tls.ca_path).read_text(encoding="ascii")
        return tls.context

    # Running

    def start(self) -> None:
        self.service.start()
        if self._own_port is not None:
            self._own_port.start()
        if self._options["tls_ca_out"] is not None:  # a stub that found its port taken must not overwrite the other's
            write_text(self._options["tls_ca_out"], self._authority)

    def stop(self) -> None:
        if self._own_port is not None:
            self._own_port.stop()
        self.service.stop()

    def expire(self) -> None:
        """End the worlds that got no request for too long."""
        for name in self.service.worlds.expire():
            self._log.say("ended", f"no request for {self._options['world_ttl']:g} s", name)

    def greeting(self) -> str:
        """Return where the stub is, with a line that works when it is pasted into a shell."""
        server, keys = self.service.server, list(self.service.worlds.default.keys)
        origin = _origin(server, secure=self.service.host.tls)
        door: dict[str, str] = {}
        if self.service.host.has_door:
            at = origin if self._own_port is None else _origin(self._own_port, secure=False)
            door = {"control_url": f"{at}{DOOR_PATH}/"}
            door |= {} if self._token is None else {"control_token": self._token}
        direct = "--noproxy '*' " if any(os.environ.get(name) for name in _PROXIES) else ""
        glob = "-g " if "[" in origin else ""  # curl takes brackets for a pattern
        trusting = f"--cacert {shlex.quote(self._trust['ca_path'])} " if self._trust else ""
        curl = f"curl -i {direct}{glob}{trusting}-H 'Authorization: Bearer {keys[0]}' {origin}{BASE_PATH}/pets"
        if self._options["log_format"] == "json":
            url = origin + BASE_PATH
            return json.dumps({"event": "serving", "url": url, "api_keys": keys, "curl": curl, **door, **self._trust})
        everywhere = " and on every other address of this machine" if server.bound in _LOCAL else ""
        lines = [
            f"petstore-mock serves {origin}{BASE_PATH}{everywhere} (Ctrl-C stops it)",
            *(f"API key: {key}" for key in keys),
            *(f"CA certificate: {path}" for name, path in self._trust.items() if name == "ca_path"),
            *(f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in door.items()),
            f"Try: {curl}",
        ]
        return "\n".join(lines)


@contextmanager
def _naming(option: str) -> Generator[None]:
    """Begin the message of a refusal with the option that it is about."""
    try:
        yield
    except PetStoreMockError as error:
        refuse(f"{flag(option)}: {error}")


def _is_local(host: str) -> bool:
    """Say whether a host, by its address or its name, is this machine alone."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False  # the server says so
    return all(is_loopback(str(address[0])) for *_, address in found)


def _origin(server: Server, *, secure: bool) -> str:
    host = _LOCAL.get(server.bound, server.host)
    return f"http{'s' if secure else ''}://{f'[{host}]' if ':' in host else host}:{server.port}"


@contextmanager
def _until_signalled(ended: threading.Event) -> Generator[None]:
    """Set an event at the first SIGINT or SIGTERM; a second one of the same kind meets the former handler."""
    former: dict[int, Any] = {}

    def handle(number: int, _: object) -> None:
        signal.signal(number, former[number])
        ended.set()

    is_main = threading.current_thread() is threading.main_thread()  # Python lets no other thread have handlers
    for number in _SIGNALS if is_main else ():
        former[int(number)] = signal.signal(number, handle)
    try:
        yield
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)
