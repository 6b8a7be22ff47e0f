"""``petstore-mock serve``: one world on a port, in the foreground, with a line a request."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import os
import secrets
import shlex
import signal
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.cli.environment import ANY_ADDRESS, origin_of
from petstore_mock.cli.output import Output
from petstore_mock.cli.request_log import RequestLog
from petstore_mock.common.dates import as_moment
from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.contract.interface import BASE_PATH, PETS_PATH
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.control.admission import Admission, check_host, check_token, is_loopback
from petstore_mock.control.mount import ControlMount, door_of
from petstore_mock.core.cors import check_origin, cors_of
from petstore_mock.core.starting_state import as_behaviour, fill, seed_of
from petstore_mock.core.tenant import Tenant
from petstore_mock.core.tenants import KEPT_REQUESTS, MAX_WORLDS, Tenants
from petstore_mock.core.world_registry import Worlds
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.server import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from petstore_mock.journal.entry import Entry
    from petstore_mock.transport.tls_connection import ServerTls

__all__ = ["ServeOptions", "serve"]

_LOOK_UP: Final = 0.2  # seconds
_OBJECTS_BETWEEN_LOOKS: Final = 10_000  # of the collector; an empty world has some 300, and Python says 700
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_OTHER_HOST: Final = "; --host takes an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
_ADVICE: Final[Mapping[int | None, str]] = {
    errno.EADDRINUSE: "; stop the program that uses it, or choose another --port (0 takes any free one)",
    errno.EACCES: "; choose a --port from 1024 up, or 0 for any free one",
    errno.EADDRNOTAVAIL: _OTHER_HOST,
}
_PROXIES: Final = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")  # what curl heeds for http


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The command line of ``serve``, each option by its name."""

    host: str = "127.0.0.1"
    port: int = 8080
    api_keys: Sequence[str] = ()
    seed: str | None = None
    behaviour: str | None = None
    settings: Sequence[tuple[str, str]] = ()
    at: str | None = None
    cors: Sequence[str] = ()
    tls: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_ca_out: str | None = None
    tls_hosts: Sequence[str] = ()
    quiet: bool = False
    log_format: str = "text"
    control: bool = False
    no_control: bool = False
    control_token: str | None = None
    control_port: int | None = None
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    max_worlds: int = MAX_WORLDS
    world_ttl: float | None = None
    keep_requests: int = KEPT_REQUESTS


def serve(options: ServeOptions, stdout: TextIO, stderr: TextIO) -> int:
    """Serve until SIGINT or SIGTERM; return 0.

    Raises:
        PetStoreMockError: an option can't be right, or the port is taken; in one sentence.
    """
    log = RequestLog(stdout, options.log_format)
    signalled: SimpleQueue[None] = SimpleQueue()  # its put() is safe in a signal handler
    with _collector_seldom_asked(), until_signalled(lambda: signalled.put(None)):
        tenants = _make_worlds(options, None if options.quiet else log.note)
        worlds = tenants.default.worlds
        if not options.quiet:
            worlds.leaked = lambda leak: log.say("leak", f"{leak.request} came to a world that is over", leak.owner)
        tls, trust = _make_tls(options, worlds)
        door = _Door(options, tenants)
        server = door.service = WireServer(
            worlds, options.host, options.port, mounted=door.on_service, new_loop=_loop_maker(), tls=tls
        )
        worlds.renew_connections = server.renew_connections
        ending = _Ending(tenants, options.world_ttl, log)
        try:
            with _signals_left_to_main():
                _start(server)
                door.start()
                ending.start()
                log.start()
            # Who reads it may send a signal at once.
            log.greet(_greeting(server, tenants.default.world.keys, options, door, trust))
            _wait(signalled)
        finally:
            ending.stop()
            door.stop()
            server.stop()
        if told := log.finish():  # it has what was answered since the signal, as far as somebody reads it
            complaint = Output(stderr)  # which may lead into the same full pipe
            complaint.begin(lambda: complaint.write(f"petstore-mock: {told}\n"))
            complaint.finish()
    return 0


def _loop_maker() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes the event loop: uvloop where that is installed and works, else asyncio."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415  # an extra
    except Exception:  # noqa: BLE001  # one that does not fit this Python may raise anything, and is no reason to stop
        return asyncio.SelectorEventLoop
    return new_event_loop


@contextmanager
def _signals_left_to_main() -> Generator[None]:
    """Keep signals from the threads that start in the block: the main thread alone acts on them, and may be asleep."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover  # on Windows
        yield
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


@contextmanager
def _collector_seldom_asked() -> Generator[None]:
    """Let the collector look less often than Python would: each time it goes through all that the journals keep.

    It finds nothing there, since no request leaves a cycle; only worlds that are over do.
    """
    former = gc.get_threshold()
    if former[0]:  # else somebody has switched it off
        gc.set_threshold(max(former[0], _OBJECTS_BETWEEN_LOOKS), *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)


def _wait(signalled: SimpleQueue[None]) -> None:
    """Wait for a signal, looking up now and then.

    One that comes just before the wait begins does not end it, nor does one that another thread takes; and on Windows
    none ends a wait for a lock.
    """
    while True:
        with contextlib.suppress(Empty):
            signalled.get(timeout=_LOOK_UP)
            return


@contextmanager
def until_signalled(end: Callable[[], None]) -> Generator[None]:
    """Call ``end`` at the first SIGINT or SIGTERM; a second one of the same kind meets what was there before."""
    former: dict[int, Any] = {}
    came: set[int] = set()

    # One of the other kind is no impatience: after Ctrl-C, who started us (npm, foreman) sends SIGTERM as well. Until
    # one comes again its handler stays, since Python complains when a signal is on its way to one that is gone.
    def handle(number: int, _frame: object) -> None:
        if number in came:
            signal.signal(number, former.pop(number))
            signal.raise_signal(number)
            return
        is_first = not came
        came.add(number)
        if is_first:
            end()

    def restore() -> None:
        while former:
            signal.signal(*former.popitem())

    # Python lets only the main thread have handlers: who embeds the command elsewhere ends the process in another way.
    for number in _SIGNALS if threading.current_thread() is threading.main_thread() else ():
        former[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        restore()


def _make_worlds(options: ServeOptions, listener: Callable[[Entry], object] | None) -> Tenants:
    with _named("--cors"):
        worlds = Worlds(cors_of(options.cors), tls=options.tls or options.tls_cert is not None)
    with _named("--behaviour"):
        behaviour = as_behaviour(options.behaviour)
    with _named("--set"):
        behaviour = behaviour.replace(dict(options.settings))
    with _named("--at"):
        at = None if options.at is None else as_moment(options.at, "at")
    with _named("--api-key"):
        default = Tenant(
            worlds,
            default_schemas(),
            api_keys=options.api_keys,
            behaviour=behaviour,
            at=at,
            journal_limit=options.keep_requests,
            ring=True,
            listener=listener,
        )
    with _named("--seed"):
        fill(default.world, None if options.seed is None else seed_of(options.seed))
    return Tenants(
        default,
        max_worlds=options.max_worlds,
        ttl=options.world_ttl,
        kept_requests=options.keep_requests,
        listener=listener,
    )


class _Door:
    """The control door of the stub: on the service's port, on one of its own, or closed.

    Attributes:
        service: the service's listener, once there is one.
        on_service: what the service's port mounts, if anything.
    """

    service: WireServer

    def __init__(self, options: ServeOptions, tenants: Tenants) -> None:
        self._options = options
        made_up = secrets.token_urlsafe(24) if options.control and options.control_token is None else None
        self._shown_token = made_up
        self._server: WireServer | None = None
        if options.control_token is not None:
            with _named("--control-token"):
                check_token(options.control_token)
        with _named("--allowed-host"):
            for host in options.allowed_hosts:
                check_host(host)
        with _named("--allowed-origin"):
            for origin in options.allowed_origins:
                check_origin(origin)
        token = options.control_token or made_up
        if options.no_control or (token is None and not self._is_local()):
            self.on_service: ControlMount | None = None
            return
        own_port = options.control_port is not None
        mount = door_of(
            tenants,
            Admission(
                token=token,
                allowed_hosts=tuple(options.allowed_hosts),
                allowed_origins=tuple(options.allowed_origins),
            ),
            mounted_by=lambda: self._server or self.service,
            service=(lambda: self.service) if own_port else None,
        )
        self.on_service = None if own_port else mount
        if options.control_port is not None:
            worlds = tenants.default.worlds
            self._server = WireServer(
                worlds, options.host, options.control_port, mounted=mount, new_loop=asyncio.SelectorEventLoop
            )

    def _is_local(self) -> bool:
        """Say whether the stub listens on loopback alone; a name is what it stands for."""
        try:
            found = socket.getaddrinfo(self._options.host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return False  # nobody listens there, which is said elsewhere
        return all(is_loopback(address[0]) for *_, address in found if isinstance(address[0], str))

    @property
    def told(self) -> dict[str, str]:
        """What the greeting says of the door."""
        server = self._server or (self.service if self.on_service is not None else None)
        if server is None:
            return {}
        told = {"control_url": f"{_origin(server)}{DOOR_PATH}/"}
        return told if self._shown_token is None else {**told, "control_token": self._shown_token}

    def start(self) -> None:
        """Listen, if the door has a port of its own."""
        if self._server is not None:
            _start(self._server)

    def stop(self) -> None:
        """Stop listening there."""
        if self._server is not None:
            self._server.stop()


class _Ending:
    """Ends the worlds that nobody asked for too long, from a thread of its own."""

    def __init__(self, tenants: Tenants, ttl: float | None, log: RequestLog) -> None:
        self._tenants = tenants
        self._ttl = ttl
        self._log = log
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to look, if worlds end by themselves at all."""
        if self._ttl is not None:
            threading.Thread(target=self._look, args=(self._ttl,), name="petstore-mock-ttl", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _look(self, ttl: float) -> None:
        while not self._over.wait(min(max(ttl / 10, 0.05), 60.0)):
            for name in self._tenants.expire():
                self._log.say("ended", f"nobody asked the world for {ttl:g} s", name)


def _make_tls(options: ServeOptions, worlds: Worlds) -> tuple[ServerTls | None, dict[str, str]]:
    """Return how to speak TLS, None for not at all, and by what clients trust the stub, if it is of its own making."""
    if not worlds.tls:
        asked = ("--tls-key", options.tls_key), ("--tls-ca-out", options.tls_ca_out), ("--tls-host", options.tls_hosts)
        for name, given in asked:
            if given:
                raise PetStoreMockError(f"{name}: expected --tls or --tls-cert beside it")
        return None, {}
    from petstore_mock.transport.tls_connection import ServerTls, own_context  # noqa: PLC0415  # few speak TLS

    if options.tls_cert is not None:
        if options.tls_ca_out is not None:
            raise PetStoreMockError(
                "--tls-ca-out: expected no --tls-cert beside it: its authority is none of the stub's"
            )
        if options.tls_hosts:
            raise PetStoreMockError("--tls-host: expected no --tls-cert beside it, which says what it is for")
        with _named("--tls-cert"):
            own = own_context(options.tls_cert, options.tls_key)
        worlds.own_certificate = True
        return ServerTls(lambda _: own, worlds.handshake_began), {}
    if options.tls_key is not None:
        raise PetStoreMockError("--tls-key: expected --tls-cert beside it")
    with _named("--tls"):
        from petstore_mock.transport.certificates import authority  # noqa: PLC0415  # an extra

    known = authority()
    hosts = (options.host, *options.tls_hosts)
    with _named("--tls-host" if options.tls_hosts else "--host"):
        known.context(None, *hosts)  # made before the first client comes
    ca_path = str(known.ca_path)
    if options.tls_ca_out is not None:
        ca_path = options.tls_ca_out
        try:
            Path(ca_path).write_bytes(known.ca_path.read_bytes())
        except OSError as error:
            raise PetStoreMockError(f"--tls-ca-out: can't write {ca_path}: {error.strerror or error}") from error
    trust = {"ca_path": ca_path, "spki_hash": known.spki_hash(*hosts)}
    return ServerTls(lambda flaw: known.context(flaw, *hosts), worlds.handshake_began), trust


@contextmanager
def _named(option: str) -> Generator[None]:
    """Let what is wrong name the option that it came from."""
    try:
        yield
    except PetStoreMockError as error:
        raise PetStoreMockError(f"{option}: {error}") from error


def _start(server: WireServer) -> None:
    host, port = server.host, server.port  # as asked for
    try:
        server.start()
    except PetStoreMockError as error:
        cause = error.__context__  # which its own traceback leaves out
        reason = str(cause.strerror if isinstance(cause, OSError) and cause.strerror else cause or error)
        if isinstance(cause, UnicodeError):  # whose words are about the codec that found out
            reason = "no host can have this name"
        advice = _ADVICE.get(cause.errno, "") if isinstance(cause, OSError) else ""
        if isinstance(cause, (socket.gaierror, ValueError)):
            advice = _OTHER_HOST
        raise PetStoreMockError(f"can't listen on {host or repr('')} port {port}: {reason}{advice}") from error


def _origin(server: WireServer) -> str:
    """Return scheme, host and port under which a server can be asked from this machine."""
    return origin_of("https" if server.speaks_tls else "http", ANY_ADDRESS.get(server.bound, server.host), server.port)


def _greeting(
    server: WireServer, every_key: Iterable[str], options: ServeOptions, door: _Door, trust: Mapping[str, str]
) -> str:
    """Return where the stub is, with a line that works when it is pasted into a shell.

    Args:
        server: the stub.
        every_key: its keys.
        options: its options.
        door: its control door.
        trust: by what clients trust it: the file of its authority, and the hash of its key; empty for none of its own.
    """
    origin, keys = _origin(server), list(every_key)
    # `--noproxy` only where the environment would send loopback to a proxy.
    direct = "--noproxy '*' " if any(os.environ.get(name) for name in _PROXIES) else ""
    glob = "-g " if "[" in origin else ""  # curl takes brackets for a pattern
    ca_path = trust.get("ca_path")
    trusting = f"--cacert {shlex.quote(ca_path)} " if ca_path is not None else ""
    curl = f"curl -i {direct}{glob}{trusting}-H 'Authorization: Bearer {keys[0]}' {origin}{PETS_PATH}"
    if options.log_format == "json":
        serving = {"event": "serving", "url": origin + BASE_PATH, "api_keys": keys, "curl": curl, **door.told, **trust}
        return f"{json.dumps(serving)}\n"
    everywhere = " and on every other address of this machine" if server.bound in ANY_ADDRESS else ""
    lines = [
        f"petstore-mock serves {origin}{BASE_PATH}{everywhere} (Ctrl-C stops it)",
        *(f"API key: {key}" for key in keys),
        *([] if ca_path is None else [f"CA certificate: {ca_path}"]),
        *(f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in door.told.items()),
        f"Try: {curl}",
    ]
    return "".join(f"{line}\n" for line in lines)
