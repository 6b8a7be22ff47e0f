"""The process that hosts a fake belongs to its user: importing, starting, serving and stopping change nothing of it."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from petstore_mock import PetStoreMock, VerificationError, connect
from tests.wire.raw import KEY, Raw, eventually, get, post

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, in which each warning is an error."""
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error", **environment}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=given,
    )


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(api_key=KEY) as petstore:
        yield petstore


# Names and settings

STATE = """
    import asyncio, atexit, gc, http.client, json, locale, logging, os, select, selectors, signal, socket, ssl
    import subprocess, sys, threading, time, urllib.request, warnings

    MODULES = (asyncio, gc, http.client, json, logging, os, select, selectors, signal, socket, ssl, subprocess, sys)
    MODULES += (threading, time, urllib.request, warnings, asyncio.base_events, asyncio.selector_events)
    CACHES = {"modules", "path_importer_cache", "meta_path", "last_traceback"}

    def state():
        '''Return everything of the process that a library could change.'''
        found = {
            "environ": dict(os.environ),
            "folder": os.getcwd(),
            "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
            "policy": asyncio.events._event_loop_policy,
            "root logger": (logging.root.handlers[:], logging.root.level, logging.root.manager.disable),
            "asyncio's logger": (logging.getLogger("asyncio").handlers[:], logging.getLogger("asyncio").level),
            "record": logging.getLogRecordFactory(),
            "filters": warnings.filters[:],
            "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.gettrace(), sys.getprofile()),
            "limits": (sys.getswitchinterval(), sys.getrecursionlimit(), sys.get_int_max_str_digits()),
            "exit": atexit._ncallbacks(),
            "gc": (gc.get_threshold(), gc.callbacks[:], gc.isenabled()),
            "path": (sys.path[:], sys.path_hooks[:]),
            "timeout": socket.getdefaulttimeout(),
            "locale": locale.setlocale(locale.LC_ALL),
            "stack": threading.stack_size(),
        }
        for module in MODULES:
            for name, value in vars(module).items():
                if name not in CACHES:
                    found[f"{module.__name__}.{name}"] = value if isinstance(value, (int, str)) else id(value)
        return found

    def show_changes(before):
        after = state()
        print(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))
"""


def test_import_start_requests_and_stop_change_nothing_of_the_process() -> None:
    done = run(f"""{STATE}
    import werkzeug.serving, requests, jsonschema  # libraries that change something of their own when imported

    before = state()
    import petstore_mock
    from tests.wire.raw import Raw, get, post

    petstore = petstore_mock.PetStoreMock(api_key="wire-key").start()
    with Raw(petstore) as client:
        petstore.httpserver.expect_request("/a").respond_with_data("a")
        for sent in (get(), post(), get("/a")):
            client.call(sent)
        petstore.requests_session().get("http://petstore.test/v1/pets")
    petstore.stop()
    show_changes(before)
    """)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_no_name_is_replaced_while_a_mock_starts() -> None:
    """An audit hook sees each new socket, also one that is made between a replacement and its end."""
    done = run("""
    import socket, sys
    from petstore_mock import PetStoreMock

    original, replaced = socket.socket, []

    def look(event, _):
        if event.startswith("socket.") and socket.socket is not original:
            replaced.append(event)

    sys.addaudithook(look)
    for _ in range(3):
        PetStoreMock().start().stop()
    print(replaced)
    """)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("debug", ["", "1"])
def test_the_fake_writes_no_records_of_asyncio(debug: str) -> None:
    done = run(
        """
    import logging, sys
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
    from petstore_mock import PetStoreMock
    from tests.wire.raw import Raw, get

    with PetStoreMock(api_key="wire-key") as petstore, Raw(petstore) as client:
        client.call(get())
    """,
        PYTHONASYNCIODEBUG=debug,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_start_writes_no_record(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), PetStoreMock(api_key=KEY) as petstore, Raw(petstore) as client:
        client.call(get())
    assert caplog.records == []


# Replaced names

# asyncio calls the functions left out, each time that a loop starts or a thread begins.
THREADING = sorted({*threading.__all__} - {"get_ident", "get_native_id", "TIMEOUT_MAX"})


@pytest.mark.parametrize("name", THREADING)
def test_new_connections_are_served_while_a_name_of_threading_is_replaced(petstore: PetStoreMock, name: str) -> None:
    """The classes of ``threading`` look up each other when they are called."""
    petstore.httpserver.expect_request("/a").respond_with_data("a")
    replaced = mock.MagicMock(side_effect=ZeroDivisionError)
    with mock.patch(f"threading.{name}", replaced), Raw(petstore) as client:
        assert [client.call(sent).status for sent in (get(), post(), get("/a"))] == [200, 201, 200]
        petstore.stop()
        petstore.start()
    assert replaced.mock_calls == []
    with Raw(petstore) as client:
        assert client.call(get()).status == 200


def test_a_connection_that_can_not_be_made_is_closed_and_fails_the_test(petstore: PetStoreMock) -> None:
    """Here asyncio itself needs the replaced name; without the close, the client would wait for its own timeout."""
    with mock.patch("asyncio.trsock.TransportSocket", side_effect=ZeroDivisionError), Raw(petstore) as client:
        assert client.is_closed()
    eventually(lambda: len(petstore.journal) == 1, "the failure journalled")
    condition = petstore.journal.last.condition
    assert condition is not None
    assert condition.name == "internal_error"
    with pytest.raises(VerificationError, match="ZeroDivisionError"):
        petstore.verify()
    petstore.reset()


# Threads


def test_a_response_of_httpserver_arrives_after_its_thread_has_ended(petstore: PetStoreMock) -> None:
    """A guard that compares threads before and after a test must not see one."""
    petstore.httpserver.expect_request("/a").respond_with_data("a")
    before = threading.enumerate()
    with Raw(petstore) as client:
        for _ in range(200):
            assert client.call(get("/a")).status == 200
            assert [thread for thread in threading.enumerate() if thread not in before] == []


# NO_PROXY


def test_a_connected_object_that_is_dropped_leaves_no_proxy_as_it_was() -> None:
    """No ``with`` and no ``stop()``: the entry ends with the object."""
    with PetStoreMock(control=True) as stub, mock.patch.dict(os.environ, NO_PROXY="a.example", no_proxy="a.example"):
        url = stub.url.replace("127.0.0.1", "localhost")
        remote: Any = connect(url, world="default")
        assert "localhost" in os.environ["NO_PROXY"]
        del remote
        gc.collect()
        assert "localhost" not in os.environ["NO_PROXY"]
        assert "localhost" not in os.environ["no_proxy"]


# Forks

FORKED = """
    import multiprocessing, os, signal, sys, warnings
    from socket import create_connection
    from petstore_mock import PetStoreMock, faults
    from tests.wire.raw import KEY, Raw, address_of, eventually, get

    warnings.simplefilter("ignore", DeprecationWarning)  # CPython 3.12 warns about a fork beside threads
    sys.unraisablehook = lambda _: None  # about the sockets of this script
    petstore = PetStoreMock(api_key=KEY, tls={tls}).start()
    address = address_of(petstore)
    idle, held = Raw(petstore), Raw(petstore)
    if not {tls}:
        idle.call(get())
        petstore.inject(faults.hang(), on="getPet")
        held.send(get("/v1/pets/1"))
        petstore.journal.wait_for("getPet", timeout=10)
    read, write = os.pipe()

    def raises(error, call, *arguments):
        try:
            call(*arguments)
        except error:
            return True

    def work():
        os.close(write)
        os.read(read, 1)  # until the parent ends

    {fork}
    {act}
    print("end")
    os.close(write)
"""
FORK = "(os.fork() or (work(), os._exit(0)))"
WORKER = "multiprocessing.get_context('fork').Process(target=work, daemon=True).start()"


@FORKS
@pytest.mark.parametrize("fork", [FORK, WORKER], ids=["os.fork", "multiprocessing"])
@pytest.mark.parametrize(
    "act",
    [
        "petstore.close_connections(); assert idle.is_closed()",
        "petstore.reset(); assert raises(ConnectionResetError, held.rest)",
        "petstore.stop(); assert idle.is_closed(); assert raises(ConnectionRefusedError, create_connection, address)",
        "petstore.stop(); petstore.start(); assert address_of(petstore) == address; Raw(petstore).call(get())",
    ],
    ids=["close", "reset", "stop", "start"],
)
def test_a_forked_process_holds_neither_clients_nor_the_port(fork: str, act: str) -> None:
    done = run(FORKED.format(tls=False, fork=fork, act=act))
    assert (done.stdout, done.stderr) == ("end\n", "")


@pytest.mark.seconds
@FORKS
def test_a_forked_process_lets_go_of_clients_within_their_tls_handshake() -> None:
    done = run(FORKED.format(tls=True, fork=FORK, act="petstore.stop(); assert idle.is_closed()"))
    assert (done.stdout, done.stderr) == ("end\n", "")
