"""Clients with bugs from public reports, first half: we mended the machine with them. ``TWINS`` has correct ones."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import json
import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

from tests.clients.bugs import after, altered, before, clients_of, fails, reads, starts, waits
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json
from tests.clients.shapes import AsyncPets, StreamsPets

log = logging.getLogger("pets.reports")
GO_ON = {301, 302, 307, 308}


class RequestOutlivesCancel(AsyncPets):
    """Shields each request from the cancellation of its caller (estuary/connectors#4748)."""

    kept: ClassVar[set[Any]] = set()

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        task = asyncio.ensure_future(super().ask(method, path, success, **given))
        self.kept.add(task)
        task.add_done_callback(self.kept.discard)
        return await asyncio.shield(asyncio.wait_for(task, None))


class RequestIsCancelled(AsyncPets):
    """Correct: it cancels the task of the request, and waits for its end."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        task = asyncio.ensure_future(super().ask(method, path, success, **given))
        try:
            return await asyncio.shield(task)
        finally:
            task.cancel()
            await asyncio.wait([task])


NOT_FOUND = ApiError(404)
# Raises one exception object for all calls, whose traceback grows (patx/pickledb#70).
OneErrorForAll = fails(lambda _, answer: NOT_FOUND if answer.status == 404 else ApiError(answer.status))
ErrorForEach = fails(lambda _, answer: ApiError(answer.status, answer.body))


class PingsAfterClose(HttpClientPets):
    """Has a thread that goes on sending requests after the close (bybit-exchange/pybit#252)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.url, self.is_closed = url, threading.Event()
        self.thread: threading.Thread | None = None

    def get_pet(self, pet_id: int) -> Json:
        pet = super().get_pet(pet_id)
        if self.thread is None:
            self.thread = threading.Thread(target=self.ping, daemon=True)
            self.thread.start()
        return pet

    def ping(self) -> None:
        for _ in range(10):
            if self.is_over():
                return
            with contextlib.closing(HttpClientPets(self.url, self.key)) as other, contextlib.suppress(Exception):
                other.ask("GET", "/pets?limit=1")

    def is_over(self) -> bool:
        time.sleep(0.3)
        return False

    def close(self) -> None:
        self.is_closed.set()
        super().close()


class PingsUntilClose(PingsAfterClose):
    """Correct: its close ends the thread."""

    def is_over(self) -> bool:
        return self.is_closed.wait(0.3)

    def close(self) -> None:
        super().close()
        if self.thread is not None:
            self.thread.join()


class NothingAfterCtrlC(HttpClientPets):
    """Returns None for anything that ends a call, for Ctrl-C too (benoitc/restkit#62)."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except Exception:
            raise
        except:  # noqa: E722  # the bug
            return None


class EndedByCtrlC(HttpClientPets):
    """Correct: it closes its connection, and lets Ctrl-C through."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except BaseException:
            self.close()
            raise


def noted(text: Callable[[HttpClientPets], str]) -> type[HttpClientPets]:
    def error(self: HttpClientPets, answer: Answer) -> Exception:
        failed = ApiError(answer.status, answer.body)
        failed.add_note(text(self))
        return failed

    return fails(error)


# Adds its request headers to each error as a note (pymc-labs/decision-hub#282).
KeyInANote = noted(lambda self: f"request headers: {self.headers()}")
NamesInANote = noted(lambda self: f"request headers: {[*self.headers()]}")


class TriesUsedUp(HttpClientPets):
    """Counts the failures of its whole life, and then sends nothing any more (jupnp/jupnp#133)."""

    failures = 0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if self.failures >= 5:
            raise ApiError(503)
        answer = super().ask(method, path, body)
        self.count(answer)
        return answer

    def count(self, answer: Answer) -> None:
        self.failures += answer.status >= 500


class TriesCounted(TriesUsedUp):
    """Correct: it only counts."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = HttpClientPets.ask(self, method, path, body)
        self.count(answer)
        return answer


# Takes JSON with "~{" for the encoding HZ-GB-2312 (psf/requests#5376).
HzGuessed = altered(read=lambda self, answer: json.loads(answer.body.decode("hz" if b"~{" in answer.body else "utf-8")))
Utf8Decoded = altered(read=lambda self, answer: json.loads(answer.body.decode("utf-8")))
# Takes the names "yes" and "no" for booleans, as a loose coercion does (guardrails-ai/guardrails#1620).
BooleansGuessed = reads(lambda pet: {**pet, "name": {"yes": True, "no": False}.get(pet["name"], pet["name"])})
BooleansLeft = reads(lambda pet: {**pet})


# Formats a log message that contains the name, so "%" breaks the record (HumanCellAtlas/data-store#427).
LogLineFails = before("encode", lambda self, body: log.info(f"creating {body['name']} in %s", body["categoryId"]))  # noqa: G004  # the bug
LogLineFits = before("encode", lambda self, body: log.info("creating %s in %s", body["name"], body["categoryId"]))


def patched() -> None:
    former = asyncio.BaseEventLoop.run_until_complete
    asyncio.BaseEventLoop.run_until_complete = functools.partialmethod(former)  # type: ignore[method-assign, assignment]


# Replaces a method of all event loops, as nest_asyncio does (Unstructured-IO/unstructured-python-client#107).
LoopPatched = starts(lambda _: patched())
LoopOfItsOwn = starts(lambda _: asyncio.new_event_loop().close())


def kind_of(answer: Answer) -> str:
    return str(answer.headers.get("Content-Type").split(";")[0])  # type: ignore[union-attr]  # the bug


# Needs the Content-Type of each error (python-scim/scim2-client#22).
TypeOfErrorsNeeded = fails(lambda _, answer: ApiError(answer.status, kind_of(answer).encode()))
TypeOfErrorsShown = fails(lambda _, answer: ApiError(answer.status, str(answer.headers.get("Content-Type")).encode()))


class InterimIsFinal(StreamsPets):
    """Takes an interim response for the final one (snoyberg/http-client#521)."""

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 1"):
            return int(head.split(None, 2)[1]), b""
        return await super().read(again(head, reader))


def again(head: bytes, reader: asyncio.StreamReader) -> asyncio.StreamReader:
    reader._buffer[:0] = head  # type: ignore[attr-defined]  # noqa: SLF001  # a stream has no public way to unread
    return reader


class TrailersLeft(StreamsPets):
    """Keeps its connection, and leaves trailers there for the next response (http-kit/http-kit#523)."""

    streams: Any = None

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        body = json.dumps(given["json"]).encode() if "json" in given else b""
        fields = {**self.headers, "Connection": "keep-alive", "Content-Length": len(body)}
        if body:
            fields["Content-Type"] = "application/json"
        query = "&".join(f"{name}={value}" for name, value in (given.get("params") or {}).items() if value is not None)
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        target = f"{self.parts.path}{path}{'?' if query else ''}{query}"
        try:
            async with asyncio.timeout(1):
                if self.streams is None or self.is_over(self.streams[0]):
                    await self.aclose()
                    self.streams = await asyncio.open_connection(self.parts.hostname, self.parts.port)
                reader, writer = self.streams
                writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
                self.is_last = False
                status, content = await self.read(reader)
        except BaseException:
            await self.aclose()
            raise
        if self.is_last:
            await self.aclose()
        if status != success:
            raise ApiError(status, content)
        return json.loads(content)

    def is_over(self, reader: asyncio.StreamReader) -> bool:
        return reader.at_eof()

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        has_end = any(name in {b"content-length", b"transfer-encoding"} for name, _, _ in fields)
        self.is_last = not has_end or any(b"close" in value for name, _, value in fields if name == b"connection")
        return await super().read(again(head.replace(b"http/", b"HTTP/"), reader))

    async def chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        async for chunk in super().chunks(reader):
            yield chunk
        await self.end(reader)

    async def end(self, reader: asyncio.StreamReader) -> None:
        await reader.readuntil(b"\r\n")

    async def aclose(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


class TrailersRead(TrailersLeft):
    """Correct: it reads the trailers."""

    async def end(self, reader: asyncio.StreamReader) -> None:
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass


class ClosedInThePool(TrailersRead):
    """Keeps a connection although the response says ``Connection: close`` (boto/boto#1773)."""

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        found = await super().read(reader)
        self.is_last = False
        return found

    def is_over(self, _: asyncio.StreamReader) -> bool:
        return False


def repeating(more: Callable[[str], str]) -> type[HttpClientPets]:
    """Make a client that sends a failed read again to ``more(path)``."""

    def ask(self: Any, method: str, path: str, body: bytes | None = None) -> Answer:
        answer: Answer = self.plain.ask(method, path, body)
        for _ in range(2):
            if method != "GET" or answer.status not in {500, 502}:
                break
            path = more(path)
            answer = self.plain.ask(method, path, body)
        return answer

    return altered(ask=ask)


# Appends its parameters again with each attempt (softonic/axios-retry#280).
ParamsAgain = repeating(lambda path: f"{path}&{path.partition('?')[2]}" if "?" in path else path)
ParamsOnce = repeating(lambda path: path)


class RetriesEndInNone(HttpClientPets):
    """Returns None when its attempts are used up (EleutherAI/lm-evaluation-harness#4169)."""

    def get_pet(self, pet_id: int) -> Json:
        for _ in range(3):
            try:
                return super().get_pet(pet_id)
            except (OSError, http.client.HTTPException):
                continue
        return self.end()

    def end(self) -> Json:
        return None


class RetriesEndInAnError(RetriesEndInNone):
    """Correct: it raises an error."""

    def end(self) -> Json:
        raise ConnectionError("no response after three attempts")


def any_number(answer: Answer) -> float | None:
    try:
        return min(float(after(answer)), 1.0)
    except ValueError:
        return None


# Reads Retry-After by ``float()``, so "nan" and "-1" get into ``sleep()`` (tavily-ai/tavily-python#166).
NotFinite = waits(any_number)
FiniteOnly = waits(
    lambda answer: (
        any_number(answer) if math.isfinite(any_number(answer) or 0) and (any_number(answer) or 0) >= 0 else None
    )
)


class MovedForEveryMethod(HttpClientPets):
    """Stores permanent redirections by address alone, those of creates too (psf/requests#3291)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.moved: dict[tuple[str, str], str] = {}

    def name(self, method: str, path: str) -> tuple[str, str]:
        return method[:0], path.partition("?")[0]

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        there = self.moved.get(self.name(method, path), path)
        answer = super().ask(method, there, body)
        target = urlsplit(answer.headers.get("Location") or "")
        is_own = not target.netloc and target.path.startswith(self.base)
        if answer.status in {301, 308} and is_own:
            self.moved[self.name(method, path)] = target.path.removeprefix(self.base) + "?" + target.query
            if method == "GET":
                answer = super().ask(method, self.moved[self.name(method, path)], body)
        return answer


class MovedForReads(MovedForEveryMethod):
    """Correct: it stores the redirections of reads, for their whole address."""

    def name(self, method: str, path: str) -> tuple[str, str]:
        return method, path if method == "GET" else f"{path}#{len(self.moved)}"


class LocationJoined(HttpClientPets):
    """Takes each Location for a whole address (joepie91/node-bhttp#2)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        for _ in range(5):
            if method != "GET" or answer.status not in GO_ON:
                break
            there = urlsplit(self.target(path, answer.headers.get("Location") or ""))
            if (there.hostname, there.port) != (self.host, self.port):
                break
            path = f"{there.path.removeprefix(self.base)}{'?' if there.query else ''}{there.query}"
            answer = super().ask(method, path, body)
        return answer

    def target(self, path: str, location: str) -> str:
        if location and "://" not in location:
            raise KeyError(f"scheme of the target of {path}")
        return location


class LocationResolved(LocationJoined):
    """Correct: it resolves the Location."""

    def target(self, path: str, location: str) -> str:
        return urljoin(f"http://{self.host}:{self.port}{self.base}{path}", location)


class HostnameCompared(HttpClientPets):
    """Keeps its key for another port of the same host (pydantic/pydantic-ai#6810)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        there = urlsplit(
            urljoin(f"http://{self.host}:{self.port}{self.base}{path}", answer.headers.get("Location") or "")
        )
        if method != "GET" or answer.status not in GO_ON or not there.hostname or there.scheme != "http":
            return answer
        with contextlib.closing(HttpClientPets(there.geturl(), self.key if self.is_same(there) else "")) as other:
            other.base = ""
            return other.ask("GET", there.path + (f"?{there.query}" if there.query else ""))

    def is_same(self, there: Any) -> bool:
        return bool(there.hostname == self.host)


class OriginCompared(HostnameCompared):
    """Correct: it compares the port too."""

    def is_same(self, there: Any) -> bool:
        return bool((there.hostname, there.port) == (self.host, self.port))


TWINS: dict[Any, Any] = {
    RequestOutlivesCancel: RequestIsCancelled,
    OneErrorForAll: ErrorForEach,
    PingsAfterClose: PingsUntilClose,
    NothingAfterCtrlC: EndedByCtrlC,
    KeyInANote: NamesInANote,
    TriesUsedUp: TriesCounted,
    HzGuessed: Utf8Decoded,
    BooleansGuessed: BooleansLeft,
    LogLineFails: LogLineFits,
    LoopPatched: LoopOfItsOwn,
    TypeOfErrorsNeeded: TypeOfErrorsShown,
    InterimIsFinal: StreamsPets,
    TrailersLeft: TrailersRead,
    ClosedInThePool: TrailersRead,
    ParamsAgain: ParamsOnce,
    RetriesEndInNone: RetriesEndInAnError,
    NotFinite: FiniteOnly,
    MovedForEveryMethod: MovedForReads,
    LocationJoined: LocationResolved,
    HostnameCompared: OriginCompared,
}
REPORTS = clients_of(globals(), *TWINS.values())
