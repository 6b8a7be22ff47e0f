"""``petstore-mock serve``: serves worlds on a port, in the foreground, and logs each request."""

from __future__ import annotations

import gc
import json
import secrets
import signal
import threading
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.arguments import Parser, flag, values_of
from petstore_mock.cli.request_log import RequestLog
from petstore_mock.cli.signals import handling
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import EVERYWHERE, without_none, write_text
from petstore_mock.control.admission import Admission, check_host, check_token, is_loopback
from petstore_mock.control.door import Door
from petstore_mock.core.options import options_at
from petstore_mock.core.registry import DEFAULT_WORLD
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.cors import check_origin
from petstore_mock.interface.behaviour import as_behaviour
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.curl import curl_command, quoted
from petstore_mock.mock.service import Service
from petstore_mock.transport.server import Server
from petstore_mock.transport.tls import ServerTls, own_context

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator, Iterator

    from petstore_mock.common.values import JsonObject
    from petstore_mock.core.registry import Leak
    from petstore_mock.journal.exchange import Exchange

    Options = JsonObject

DESCRIPTION: Final = (
    "Serve the fake in the foreground until Ctrl-C or SIGTERM. Environment variables, such as PETSTORE_MOCK_PORT=8080 "
    "and PETSTORE_MOCK_QUIET=true, set the options that are not given. Commas or spaces separate several values."
)
# The number of new objects before a garbage collection. Journals keep many objects, but none of them is garbage.
_COLLECTED: Final = 10_000
# The signals that would end the process at once, and leave the files of its certificates behind.
_ENDING: Final = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM",
    "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGBREAK",
)  # fmt: skip
_NEEDS: Final = {"tls_key": "tls_cert", "tls_host": "tls", "tls_ca_out": "tls"}
_OF_OPEN_DOOR: Final = frozenset({"control_port", "allowed_host", "allowed_origin"})
_APART: Final = (
    ("tls", "tls_cert", "only one certificate can be used"),
    *(
        (name, "no_control", "--no-control closes the door")
        for name in ("control", "control_token", "control_port", "allowed_host", "allowed_origin")
    ),
)
_ALWAYS: Final = frozenset({signal.SIGINT, signal.SIGTERM})


def add_options(parser: Parser) -> None:
    parser.add_options(options_at("serve"))


def run(given: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Serve until SIGINT or SIGTERM."""
    options = values_of(given, options_at("serve"))
    _refuse_contradictions(options)
    log = RequestLog(stdout, as_json=options["log_format"] == "json")
    with ExitStack() as running:
        # Before all else: process 1 of a container ignores a signal without a handler.
        ended = running.enter_context(_ended_by_signal())
        certificates, trust = _tls(options)
        service = _service(options, certificates)
        token, door = _open_door(options, service)
        if not options["quiet"]:
            _log_events(service, log)
        gc.set_threshold(_COLLECTED)
        service.start()
        running.callback(service.stop)
        if door is not None:
            door.start()
            running.callback(door.stop)
        if options["tls_ca_out"] is not None:
            # Before we have the port, the file may be another stub's.
            write_text(options["tls_ca_out"], Path(trust["ca_path"]).read_text(encoding="ascii"))
            trust["ca_path"] = options["tls_ca_out"]
        log.start(_greeting(options, service, door, {"control_token": token, **trust}))
        # A signal just before the wait does not interrupt it, so the wait is short.
        while not ended.wait(0.2):
            for name in service.worlds.expire():
                log.say("ended", f"ended after {options['world_ttl']:g} s without a request", name)
    problem = log.finish()
    if problem:
        print(f"petstore-mock: {problem}", file=stderr)
    return 0


def _log_events(service: Service, log: RequestLog) -> None:
    """Log the requests of all worlds, leaks and failed handshakes."""

    def note(_: object, __: object, exchange: Exchange | None) -> None:
        if exchange is not None:
            log.note(exchange)

    def note_leak(leak: Leak) -> None:
        log.say("leak", f"{leak['request']} arrived after the end of this world", leak["world"])

    def note_handshake(reason: str) -> None:
        log.say("handshake", reason, DEFAULT_WORLD)

    service.host.watchers.append(note)
    service.worlds.leaked = note_leak
    service.worlds.noted = note_handshake


@contextmanager
def _ended_by_signal() -> Generator[threading.Event]:
    """Give an event that the first signal of ``_ENDING`` sets. A second signal of the same kind kills the process."""
    ended = threading.Event()

    def handle(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        ended.set()

    with handling(_ending_signals(), handle):
        yield ended


def _ending_signals() -> Iterator[int]:
    """Yield the signals of ``_ENDING`` that this system has and this process does not ignore.

    nohup ignores SIGHUP for the processes that it starts. A shell ignores SIGINT for background jobs, but they have
    always ended by it here.
    """
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is None:
            continue
        is_ignored = signal.getsignal(number) is signal.SIG_IGN
        if number in _ALWAYS or not is_ignored:
            yield number


def _is_given(value: object) -> bool:
    # The port 0 is a value, although it is false.
    return value is not None and value is not False and value != ()


def _refuse_contradictions(options: Options) -> None:
    """Refuse options that say the contrary of each other, or that have no effect without another one."""
    given = {name for name, value in options.items() if _is_given(value)}
    _refuse_pairs(given)
    port = options["port"]
    if port == options["control_port"] != 0:
        refuse(f"expected two ports; got {port} for --port and for --control-port")
    unused = sorted(given & _OF_OPEN_DOOR)
    if unused and not _is_door_open(options):
        host = options["host"]
        needed = "--control-token, or --control, which makes a token,"
        refuse(f"expected {needed} beside {flag(unused[0])} on {host}, which other machines reach; got no token")


def _refuse_pairs(given: set[str]) -> None:
    for name, needed in _NEEDS.items():
        if name in given and needed not in given:
            refuse(f"expected {flag(needed)} beside {flag(name)}; got {flag(name)} alone")
    for name, other, why in _APART:
        if name in given and other in given:
            refuse(f"expected {flag(name)} or {flag(other)}; got both, and {why}")


def _is_door_open(options: Options) -> bool:
    if options["no_control"]:
        return False
    has_token = options["control_token"] is not None or options["control"]
    return has_token or is_loopback(options["host"])


def _tls(options: Options) -> tuple[ServerTls | None, dict[str, str]]:
    """Return the certificates, and the details by which clients trust the stub's own authority."""
    if options["tls_cert"] is not None:
        own = own_context(options["tls_cert"], options["tls_key"])
        return lambda _: own, {}
    if not options["tls"]:
        return None, {}
    from petstore_mock.mock.tls import Tls  # needs the extra tls

    tls = Tls(options["host"], *options["tls_host"])
    return tls.context, {"ca_path": tls.ca_path, "spki_hash": tls.spki_hash}


def _service(options: Options, certificates: ServerTls | None) -> Service:
    behaviour = as_behaviour(options["behaviour"]).replace(dict(options["set"]))
    listener = {
        "host": options["host"],
        "port": options["port"],
        "control": False,
        "tls": certificates is not None,
        "cors": options["cors"],
        "loop": "uvloop" if find_spec("uvloop") else "asyncio",
    }
    start = {"behaviour": behaviour, "seed": options["seed"], "at": options["at"]}
    try:
        return Service(
            listener,
            start,
            keys=options["api_key"],
            certificates=certificates,
            max_worlds=options["max_worlds"],
            ttl=options["world_ttl"],
            keep=options["keep_requests"],
            public_url=options["public_url"],
            own_certificate=options["tls_cert"] is not None,
        )
    except PetStoreMockError as error:
        # The other options are checked already.
        refuse(f"--seed: {error}")


def _open_door(options: Options, service: Service) -> tuple[str | None, Server | None]:
    """Open the control door. Return its generated token (or None), and the server of its own port (or None)."""
    token = options["control_token"]
    port = options["control_port"]
    made_up = None
    if token is not None:
        check_token(token)
    elif options["control"]:
        token = made_up = secrets.token_urlsafe(24)
    hosts = tuple(map(check_host, options["allowed_host"]))
    origins = tuple(check_origin("allowed_origin", origin) for origin in options["allowed_origin"])
    admission = Admission(token=token, allowed_hosts=hosts, allowed_origins=origins)
    is_open = _is_door_open(options)
    service.mount(admission, is_open=is_open and port is None)
    if port is None or not is_open:
        return made_up, None
    door = Door(service.worlds, service.server, admission)
    door.server = Server(door, options["host"], port)
    return made_up, door.server


def _greeting(options: Options, service: Service, door: Server | None, further: dict[str, str | None]) -> str:
    """Return the addresses and keys of the stub, with a curl command to paste into a shell."""
    server = service.server
    keys = list(service.worlds.default.keys)
    url = f"{server.origin}{BASE_PATH}"
    details: dict[str, str] = {}
    if service.host.has_door:
        details["control_url"] = f"{(door or server).origin}{DOOR_PATH}/"
    details |= without_none(further)
    authority = quoted(details["ca_path"]) if "ca_path" in details else ""
    curl = curl_command(f"{url}/pets", ["-H", quoted(f"Authorization: Bearer {keys[0]}")], authority=authority)
    if options["log_format"] == "json":
        return json.dumps({"event": "serving", "url": url, "api_keys": keys, "curl": curl, **details})
    everywhere = " and on every other address of this machine" if server.bound in EVERYWHERE else ""
    lines = [f"petstore-mock serves {url}{everywhere} (Ctrl-C stops it)"]
    lines += [f"API key: {key}" for key in keys]
    lines += [f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in details.items()]
    lines.append(f"Try: {curl}")
    return "\n".join(lines)
