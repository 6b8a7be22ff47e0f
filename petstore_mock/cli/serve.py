"""``petstore-mock serve``: one world on a port, in the foreground, with a line a request."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.cli.output import Output
from petstore_mock.cli.request_log import RequestLog
from petstore_mock.contract.interface import BASE_PATH, PETS_PATH
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.core.cors import cors_of
from petstore_mock.core.starting_state import as_behaviour, fill, seed_of
from petstore_mock.core.world import World
from petstore_mock.core.world_registry import Worlds
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.server import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

__all__ = ["ServeOptions", "serve"]

# A stub may run for days, and nobody can ask it for what was: few entries stay in the processor's cache.
_KEPT_ENTRIES: Final = 100
_WARM_AFTER: Final = 1.0  # seconds
_LOOK_UP: Final = 0.2  # seconds
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # shown, not bound
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_OTHER_HOST: Final = "; --host takes an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
_ADVICE: Final[Mapping[int | None, str]] = {
    errno.EADDRINUSE: "; stop the program that uses it, or choose another --port (0 takes any free one)",
    errno.EACCES: "; choose a --port from 1024 up, or 0 for any free one",
    errno.EADDRNOTAVAIL: _OTHER_HOST,
}
_PROXIES: Final = ("http_proxy", "all_proxy", "ALL_PROXY")  # what curl heeds for http


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
    quiet: bool = False
    log_format: str = "text"


def serve(options: ServeOptions, stdout: TextIO, stderr: TextIO) -> int:
    """Serve until SIGINT or SIGTERM; return 0.

    Raises:
        PetStoreMockError: an option can't be right, or the port is taken; in one sentence.
    """
    log = RequestLog(stdout, options.log_format)
    signalled: SimpleQueue[None] = SimpleQueue()  # its put() is safe in a signal handler
    with _until_signalled(lambda: signalled.put(None)):
        worlds, keys = _make_worlds(options)
        if not options.quiet:
            worlds.current.journal.listen(log.note)
        server = WireServer(worlds, options.host, options.port, new_loop=_loop_maker())
        # The first refused body would wait for jsonschema's import; who waits for the first answer must not.
        warming = threading.Timer(_WARM_AFTER, default_schemas().warm)
        warming.daemon = True
        try:
            with _signals_left_to_main():
                _start(server, options)
                warming.start()
                log.start(_greeting(server, keys, options))
            _wait(signalled)
        finally:
            try:
                server.stop()
            finally:
                warming.cancel()
                if warming.ident is not None:
                    warming.join()
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


def _wait(signalled: SimpleQueue[None]) -> None:
    """Wait for a signal. On Windows none interrupts a wait for a lock: there, look up often enough to let it in."""
    while True:
        with contextlib.suppress(Empty):
            signalled.get(timeout=None if os.name == "posix" else _LOOK_UP)
            return


@contextmanager
def _until_signalled(end: Callable[[], None]) -> Generator[None]:
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


def _make_worlds(options: ServeOptions) -> tuple[Worlds, list[str]]:
    with _named("--cors"):
        worlds = Worlds(cors_of(options.cors))
    with _named("--behaviour"):
        behaviour = as_behaviour(options.behaviour)
    with _named("--set"):
        behaviour = behaviour.replace(dict(options.settings))
    with _named("--at"):
        world = World(
            default_schemas(),
            behaviour=behaviour,
            at=options.at,
            journal_limit=_KEPT_ENTRIES,
            ring=True,
            index=worlds.keys,
        )
    worlds.push(world)
    with _named("--api-key"):
        for key in options.api_keys or (worlds.new_key(),):
            world.keys.add(worlds.check_key(key))
    with _named("--seed"):
        fill(world, None if options.seed is None else seed_of(options.seed))
    return worlds, list(world.keys)


@contextmanager
def _named(option: str) -> Generator[None]:
    """Let what is wrong name the option that it came from."""
    try:
        yield
    except PetStoreMockError as error:
        raise PetStoreMockError(f"{option}: {error}") from error


def _start(server: WireServer, options: ServeOptions) -> None:
    try:
        server.start()
    except PetStoreMockError as error:
        cause = error.__cause__
        reason = str(cause.strerror if isinstance(cause, OSError) and cause.strerror else cause or error)
        if isinstance(cause, UnicodeError):  # whose words are about the codec that found out
            reason = "no host can have this name"
        advice = _ADVICE.get(cause.errno, "") if isinstance(cause, OSError) else ""
        if isinstance(cause, (socket.gaierror, ValueError)):
            advice = _OTHER_HOST
        raise PetStoreMockError(
            f"can't listen on {options.host or repr('')} port {options.port}: {reason}{advice}"
        ) from error


def _greeting(server: WireServer, keys: list[str], options: ServeOptions) -> str:
    """Return where the stub is, with a line that works when it is pasted into a shell."""
    host = _ANY_ADDRESS.get(server.bound, options.host)
    origin = f"http://{f'[{host}]' if ':' in host else host}:{server.port}"
    # `--noproxy` only where the environment would send loopback to a proxy.
    direct = "--noproxy '*' " if any(os.environ.get(name) for name in _PROXIES) else ""
    glob = "-g " if ":" in host else ""  # curl takes brackets for a pattern
    curl = f"curl -i {direct}{glob}-H 'Authorization: Bearer {keys[0]}' {origin}{PETS_PATH}"
    if options.log_format == "json":
        return f"{json.dumps({'event': 'serving', 'url': origin + BASE_PATH, 'api_keys': keys, 'curl': curl})}\n"
    everywhere = " and on every other address of this machine" if server.bound in _ANY_ADDRESS else ""
    lines = [
        f"petstore-mock serves {origin}{BASE_PATH}{everywhere} (Ctrl-C stops it)",
        *(f"API key: {key}" for key in keys),
        f"Try: {curl}",
    ]
    return "".join(f"{line}\n" for line in lines)
