"""``petstore-mock serve``: worlds on a port, in the foreground, with a line for each request."""

from __future__ import annotations

import gc
import json
import secrets
import shlex
import signal
import threading
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.cli.arguments import SERVE, Parser, UsageError, flag, values_of
from petstore_mock.cli.request_log import RequestLog
from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.values import write_text
from petstore_mock.control.admission import Admission, check_host, check_token, is_loopback
from petstore_mock.control.door import Door
from petstore_mock.core.cors import cors_of
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.behaviour import as_behaviour
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.mock.service import Service
from petstore_mock.transport.server import Server
from petstore_mock.transport.tls import ServerTls, own_context

if TYPE_CHECKING:
    from argparse import Namespace

    Options = dict[str, Any]

DESCRIPTION: Final = (
    "Respond to requests in the foreground until Ctrl-C or SIGTERM. The environment stands in for options that are not "
    "given: PETSTORE_MOCK_PORT for --port, true for --quiet, commas or spaces between the values of a repeated option."
)
_LOCAL: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # shown, not bound
_COLLECTED: Final = 10_000  # new objects between two looks of the garbage collector, which finds nothing in journals


def add_options(parser: Parser) -> None:
    parser.add_options(SERVE)


def run(given: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Serve until SIGINT or SIGTERM."""
    options = values_of(given, SERVE)
    log = RequestLog(stdout, as_json=options["log_format"] == "json")
    certificates, trust = _tls(options)
    service = _service(options, certificates)
    token, door = _open_door(options, service)
    if not options["quiet"]:
        words = "arrived after the end of the world"
        service.host.watchers.append(lambda _, __, exchange: None if exchange is None else log.note(exchange))
        service.worlds.leaked = lambda leak: log.say("leak", f"{leak.request} {words}", leak.owner)
    ended = _ended_by_signal()
    gc.set_threshold(_COLLECTED)
    with ExitStack() as running:
        for server in (service, door) if door else (service,):
            server.start()
            running.callback(server.stop)
        log.start(_greeting(options, service, door, {"control_token": token, **trust}))
        while not ended.wait(0.2):  # a signal that comes just before the wait does not end it
            for name in service.worlds.expire():
                log.say("ended", f"no request for {options['world_ttl']:g} s", name)
    if trouble := log.finish():
        print(f"petstore-mock: {trouble}", file=stderr)
    return 0


def _ended_by_signal() -> threading.Event:
    """Return an event that the first SIGINT or SIGTERM sets; the second ends the process."""
    ended = threading.Event()

    def handle(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
    return ended


def _tls(options: Options) -> tuple[ServerTls | None, dict[str, str]]:
    """Return the certificates, and by what clients trust the stub's own authority."""
    for name, needed in (("tls_key", "tls_cert"), ("tls_host", "tls"), ("tls_ca_out", "tls")):
        require(options[needed] or not options[name], f"{flag(needed)} beside {flag(name)}", **{needed: None})
    if options["tls_cert"] is not None:
        require(not options["tls"], "--tls or --tls-cert, which brings a certificate of its own", tls=True)
        own = own_context(options["tls_cert"], options["tls_key"])
        return lambda _: own, {}
    if not options["tls"]:
        return None, {}
    from petstore_mock.mock.tls import Tls  # noqa: PLC0415  # an extra

    tls, copy = Tls(options["host"], *options["tls_host"]), options["tls_ca_out"]
    if copy is not None:
        write_text(copy, Path(tls.ca_path).read_text(encoding="ascii"))
    return tls.context, {"ca_path": copy or tls.ca_path, "spki_hash": tls.spki_hash}


def _service(options: Options, certificates: ServerTls | None) -> Service:
    behaviour = as_behaviour(options["behaviour"]).replace(dict(options["set"]))
    listener = {"host": options["host"], "port": options["port"], "cors": options["cors"] or None}
    loop = "uvloop" if find_spec("uvloop") else "asyncio"
    try:
        service = Service(
            {**listener, "control": False, "tls": certificates is not None, "loop": loop},
            {"behaviour": behaviour, "seed": options["seed"], "at": options["at"]},
            keys=options["api_key"],
            certificates=certificates,
            max_worlds=options["max_worlds"],
            ttl=options["world_ttl"],
            keep=options["keep_requests"],
        )
    except PetStoreMockError as error:
        refuse(f"--seed: {error}")  # all else is checked by now
    service.host.public_url = options["public_url"] or ""
    service.host.own_certificate = options["tls_cert"] is not None
    return service


def _open_door(options: Options, service: Service) -> tuple[str | None, Server | None]:
    """Open the control door as the options say; return a token that was made up, and the door's own port."""
    token, port, made_up = options["control_token"], options["control_port"], None
    opening = [name for name in ("control", "control_token", "control_port") if options[name] not in {None, False}]
    if options["no_control"] and opening:
        raise UsageError(f"expected {flag(opening[0])} or --no-control; got both: the second closes the control door")
    if token is not None:
        check_token(token)
    elif options["control"]:
        token = made_up = secrets.token_urlsafe(24)
    hosts = tuple(check_host(host) for host in options["allowed_host"])
    cors_of("allowed_origin", options["allowed_origin"])  # the same rules for what an origin is
    admission = Admission(token=token, allowed_hosts=hosts, allowed_origins=options["allowed_origin"])
    is_local = options["host"] == "localhost" or is_loopback(options["host"])
    is_open = not options["no_control"] and (token is not None or is_local)
    service.mount(admission, is_open=is_open and port is None)
    if port is None or not is_open:
        return made_up, None
    door = Door(service.worlds, service.server, admission)
    door.server = Server(door, options["host"], port)
    return made_up, door.server


def _greeting(options: Options, service: Service, door: Server | None, further: dict[str, str | None]) -> str:
    """Return where the stub is, with a line that works when it is pasted into a shell."""
    server, keys = service.server, list(service.worlds.default.keys)
    url = f"{_origin(server, secure=service.host.tls)}{BASE_PATH}"
    control = _origin(door, secure=False) if door else url.removesuffix(BASE_PATH)
    told = {"control_url": f"{control}{DOOR_PATH}/" if service.host.has_door else None, **further}
    told = {name: value for name, value in told.items() if value is not None}
    trusting = f"--cacert {shlex.quote(str(told['ca_path']))} " if "ca_path" in told else ""
    curl = f"curl -i {trusting}-H 'Authorization: Bearer {keys[0]}' {url}/pets"
    if options["log_format"] == "json":
        return json.dumps({"event": "serving", "url": url, "api_keys": keys, "curl": curl, **told})
    everywhere = " and on every other address of this machine" if server.bound in _LOCAL else ""
    lines = [f"petstore-mock serves {url}{everywhere} (Ctrl-C stops it)", *(f"API key: {key}" for key in keys)]
    lines += [f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in told.items()]
    return "\n".join([*lines, f"Try: {curl}"])


def _origin(server: Server, *, secure: bool) -> str:
    host = _LOCAL.get(server.bound, server.host)
    return f"http{'s' if secure else ''}://{f'[{host}]' if ':' in host else host}:{server.port}"
