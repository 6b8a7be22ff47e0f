"""The adapter for clients in Python: ``python -m petstore_mock.adapter module:make_client``.

How this works: each client has a thread, which makes its calls. If a call arrives while the thread is busy, another
thread makes it. What the client prints goes to standard error.
"""

from __future__ import annotations

import concurrent.futures
import gc
import importlib
import json
import os
import sys
from collections import defaultdict
from contextlib import suppress
from functools import partial
from operator import attrgetter
from queue import SimpleQueue
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from petstore_mock.adapter.protocol import CANCELLED, STATUS, VERSION
from petstore_mock.checks import Call, UnknownErrorError, classify_exception, read_pet
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.reading import copied, text_of
from petstore_mock.common.real import Lock, Thread
from petstore_mock.common.values import is_integer
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.mock.face import PetStore

_NOWHERE: Final = "http://127.0.0.1:9/v1"  # the port of the discard service


class _Worker:
    """A thread that makes the calls of one client."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._busy = 0
        Thread(target=self._run, name="petstore-mock-client", daemon=True).start()

    def do(self, work: Callable[[], object]) -> None:
        if self._busy:
            Thread(target=work, name="petstore-mock-call", daemon=True).start()
            return
        self._busy += 1
        self._work.put(work)

    def _run(self) -> None:
        while True:
            work = self._work.get()
            work()
            self._busy -= 1


class PythonAdapter:
    """Makes clients and calls as the machine asks for them.

    Args:
        make_client: the function that ``check_client`` takes. Its argument has ``url``, ``api_key``, ``headers``,
            ``timeout`` and ``ca``, which is the file of the certificate authority or None.
        replies: the stream for the replies.
    """

    def __init__(self, make_client: Callable[[Any], object], replies: BinaryIO) -> None:
        self._make = make_client
        self._replies = replies
        self._writing = Lock()
        self._clients: dict[str, AdaptedClient] = {}
        self._workers: defaultdict[str, _Worker] = defaultdict(_Worker)
        self._requests = {"open": self._open, "call": self._call, "cancel": self._cancel, "close": self._close}

    def serve(self, requests: BinaryIO) -> None:
        """Reply to requests until the stream ends."""
        for line in requests:
            request = json.loads(line)
            if "hello" in request:
                self._write(self._hello())
                continue
            self._workers[request["client"]].do(partial(self._reply, request))

    def _hello(self) -> JsonObject:
        name = f"{getattr(self._make, '__module__', '')}:{getattr(self._make, '__qualname__', '')}"
        return {"hello": VERSION, **self._abilities(), "concurrent": True, "name": name}

    def _abilities(self) -> JsonObject:
        """Return the operations that a client has, or all if no client can be made yet."""
        try:
            client = AdaptedClient(self._make, _service(_NOWHERE, "no-key", 1.0, None))
            client.close()
        except Exception:  # a client may need its service
            return {"operations": [*OPERATIONS]}
        operations = [*client.operations]
        return {"operations": operations, "cancel": all(client.is_async(Call(name)) for name in operations)}

    def _reply(self, request: JsonObject) -> None:
        try:
            reply = {"ok": self._requests[request["do"]](request)}
        except BaseException as error:  # a client raises anything
            reply = {"error": _told(error)}
        self._write({"id": request["id"], **reply})

    def _write(self, message: JsonObject) -> None:
        line = json.dumps(message, default=partial(text_of, repr)).encode() + b"\n"
        with self._writing:
            self._replies.write(line)
            self._replies.flush()

    def _open(self, request: JsonObject) -> None:
        service = _service(request["url"], request["api_key"], request["timeout"], request.get("ca"))
        self._clients[request["client"]] = AdaptedClient(self._make, service)

    def _call(self, request: JsonObject) -> Json:
        client = self._clients[request["client"]]
        return copied(client.call(Call(request["operation"], request["arguments"])), read_pet)

    def _cancel(self, request: JsonObject) -> None:
        self._clients[request["client"]].cancel()

    def _close(self, request: JsonObject) -> None:
        self._clients.pop(request["client"]).close()
        # A cycle of a caught error and its traceback may still hold a connection.
        gc.collect()


def _service(url: str, key: str, timeout: float, ca: str | None) -> PetStore:
    headers = {"Authorization": f"Bearer {key}"}
    parts = SimpleNamespace(url=url, api_key=key, headers=headers, timeout=timeout, ca=ca)
    return cast("PetStore", parts)


def _told(error: BaseException) -> JsonObject:
    if isinstance(error, concurrent.futures.CancelledError):
        return {"kind": CANCELLED}
    told: JsonObject = {"kind": "other", "message": text_of(str, error), "type": type(error).__name__}
    with suppress(UnknownErrorError):
        told["kind"] = classify_exception(error)
    if is_integer(told["kind"]):
        told |= {"kind": STATUS, "status": told["kind"]}
    return told


def _imported(place: str) -> Callable[[Any], Any]:
    module, colon, name = place.partition(":")
    if not colon:
        raise PetStoreMockError(f"expected module:make_client; got {place!r}")
    make_client: Callable[[Any], Any] = attrgetter(name)(importlib.import_module(module))
    return make_client


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if len(sys.argv) != 2:
        raise PetStoreMockError("expected one argument, as in: python -m petstore_mock.adapter module:make_client")
    sys.path.insert(0, "")
    adapter = PythonAdapter(_imported(sys.argv[1]), replies)
    # A collection after each close must not look through all modules again.
    gc.freeze()
    adapter.serve(sys.stdin.buffer)


if __name__ == "__main__":
    main()
