"""Clients with bugs from public reports, third set: all of them were written before the machine met any of them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import httpx
import pydantic
import requests.adapters

from tests.clients.bugs import clients_of, starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, LibraryPets, RequestsPets
from tests.clients.shapes import AsyncPets, ModelPet, StreamsPets, an_array, shaped
from tests.clients.sharing import OneForEachThread, Pooled

# Timeouts


class TimeoutForTheHead(AsyncPets):
    """Ends its timeout when the head of a response has arrived (workos/workos-node#1679)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        request = self.http.build_request(method, path, **given, timeout=None)
        async with asyncio.timeout(TIMEOUT):
            response = await self.http.send(request, stream=True)
        try:
            await self.read(response)
        finally:
            await response.aclose()
        if response.status_code != success:
            raise ApiError(response.status_code, response.content)
        return response.json()

    async def read(self, response: httpx.Response) -> None:
        await response.aread()


class TimeoutForTheBody(TimeoutForTheHead):
    """Correct: the body has a timeout too."""

    async def read(self, response: httpx.Response) -> None:
        async with asyncio.timeout(TIMEOUT):
            await response.aread()


class TimeoutTruncated(HttpClientPets):
    """Cuts its timeout to whole seconds, so less than a second means none (kyegomez/swarms#2241)."""

    timeout = int(0.8) or None


class TimeoutInFull(HttpClientPets):
    """Correct: a part of a second counts."""

    timeout = 0.8


class WithoutTimeout(HttpClientPets):
    """Waits without an end."""

    timeout = None


class ThreadAfterTimeout(HttpClientPets):
    """Leaves its thread in the request when it waits no longer (kyegomez/swarms#2097)."""

    pets_of_thread: type[HttpClientPets] = WithoutTimeout

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pets = self.pets_of_thread(url, key)
        self.pool = concurrent.futures.ThreadPoolExecutor(1)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.pool.submit(self.pets.ask, method, path, body).result(2 * TIMEOUT)

    def close(self) -> None:
        self.pool.shutdown(wait=False)
        self.pets.close()


class ThreadEndsInTime(ThreadAfterTimeout):
    """Correct: the request itself has a timeout."""

    pets_of_thread = HttpClientPets


class AlarmAsTimeout(HttpClientPets):
    """Makes its timeout with a signal, which only the main thread can do (F5Networks/f5-common-python#1517)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        former = signal.signal(signal.SIGALRM, self.is_late)
        signal.setitimer(signal.ITIMER_REAL, TIMEOUT)
        try:
            return super().ask(method, path, body)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)

    def is_late(self, *_: object) -> None:
        raise TimeoutError


# The wire


class _Once:
    """A stream that reads once, however many bytes arrive."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.readuntil, self.read, self.readexactly = reader.readuntil, reader.read, reader.read


class ReadOnce(StreamsPets):
    """Takes what one read returns for the whole body (u9n/dlms-cosem#35)."""

    async def read(self, reader: Any) -> tuple[int, bytes]:
        return await super().read(_Once(reader))  # type: ignore[arg-type]


class BothLengths(HttpClientPets):
    """Sends Content-Length with a chunked body (psf/requests#1648)."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        if body is None:
            return super().send(method, path, body)
        headers = {**self.headers(), "Content-Type": "application/json", **self.framing(body)}
        connection = self.connect()
        try:
            connection.request(method, self.base + path, iter([body]), headers, encode_chunked=True)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise

    def framing(self, body: bytes) -> dict[str, str]:
        return {"Transfer-Encoding": "chunked", "Content-Length": str(len(body))}


class OneLength(BothLengths):
    """Correct: a chunked body has no Content-Length."""

    def framing(self, _: bytes) -> dict[str, str]:
        return {"Transfer-Encoding": "chunked"}


class NewKeyForgotten(HttpClientPets):
    """Sends a request again after a 401, and forgets the key (camunda-community-hub/camunda-operate-client-java#32)."""

    is_second = False

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        if answer.status == 401:
            self.is_second = True
            answer = super().ask(method, path, body)
            self.is_second = False
        return answer

    def headers(self) -> dict[str, str]:
        return {} if self.is_second else super().headers()


class NewKeySent(NewKeyForgotten):
    """Correct: the second request has the key too."""

    def headers(self) -> dict[str, str]:
        return HttpClientPets.headers(self)


class UnverifiedAfterFailure(AsyncPets):
    """Does not verify the certificate if the verification failed once (chalie-ai/chalie#1906)."""

    def __init__(self, petstore: Any) -> None:
        self.given: dict[str, Any] = {"base_url": petstore.url, "headers": petstore.headers, "timeout": TIMEOUT}
        self.http = httpx.AsyncClient(**self.given, trust_env=False, verify=petstore.tls.client_context())

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except httpx.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" not in str(error):
                raise
            await self.fall_back()
            return await super().ask(method, path, success, **given)

    async def fall_back(self) -> None:
        await self.http.aclose()
        self.http = httpx.AsyncClient(**self.given, trust_env=False, verify=self.context())

    def context(self) -> ssl.SSLContext | bool:
        return False


class VerifiedAfterFailure(UnverifiedAfterFailure):
    """Correct: it passes the failure on."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return await AsyncPets.ask(self, method, path, success, **given)


# Two calls, and two clients, at once


class InFlightByUrl(Pooled):
    """Waits for a request in flight to the same address, whatever its method (AryanSharma48/smoothAPI#15)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.in_flight: dict[object, concurrent.futures.Future[Answer]] = {}
        self.lock = threading.Lock()

    def name(self, _: str, path: str) -> object:
        return path

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        name, own = self.name(method, path), concurrent.futures.Future[Answer]()
        with self.lock:
            future = self.in_flight.setdefault(name, own)
        if future is not own:
            return future.result(2 * TIMEOUT)
        try:
            own.set_result(super().ask(method, path, body))
        except BaseException as error:
            own.set_exception(error)
            raise
        finally:
            with self.lock:
                del self.in_flight[name]
        return own.result()


class InFlightByRequest(InFlightByUrl):
    """Correct: it waits only for the same read."""

    def name(self, method: str, path: str) -> object:
        return path if method == "GET" else object()


class ReleasedBeforeRead(Pooled):
    """Gives a connection back before the response is read (basho/riak-python-client#357)."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = {**self.headers(), **({} if body is None else {"Content-Type": "application/json"})}
        connection = self.take()
        try:
            connection.request(method, self.base + path, body=body, headers=headers)
            response = connection.getresponse()
            self.idle.append(connection)
            return self.receive(response)
        except BaseException:
            connection.close()
            raise


class ThreadLocalOfTheMaker(OneForEachThread):
    """Makes its session only for the thread that makes the client (CurrencyCloud/currencycloud-python#6)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.local.pets = HttpClientPets(url, key)
        self.all.add(self.local.pets)

    @property
    def own(self) -> HttpClientPets:
        pets: HttpClientPets = self.local.pets
        return pets


class _Transport:
    """Sends requests for all clients of an address."""

    users, is_closed = 0, False


class PoolOfAllClosed(HttpClientPets):
    """Closes a transport that another client still uses (openai/openai-java#850)."""

    transports: ClassVar[dict[object, _Transport]] = {}

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        known = self.transports.get((self.host, self.port))
        if known is None or known.is_closed:
            known = _Transport()
        self.transport = self.transports[self.host, self.port] = known
        known.users += 1
        self.uses = True
        self.pets = HttpClientPets(url, key)

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        if self.transport.is_closed:
            raise RuntimeError("the transport is closed")
        return self.pets.send(method, path, body)

    def close(self) -> None:
        self.pets.close()
        self.transport.users -= self.uses
        self.uses = False
        self.transport.is_closed = self.is_over()

    def is_over(self) -> bool:
        return True


class PoolOfTheLast(PoolOfAllClosed):
    """Correct: the last client closes the transport."""

    transports: ClassVar[dict[object, _Transport]] = {}

    def is_over(self) -> bool:
        return not self.transport.users


class StreamAbandoned(HttpClientPets):
    """Gives a place in its pool back only at the end of a list, which a caller may leave early (e2b-dev/E2B#1433)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.places = threading.Semaphore(10)

    def list_pets(self, **query: Json) -> Iterator[Json]:
        self.places.acquire()
        try:
            pets = an_array(super().list_pets(**query))
        except BaseException:
            self.places.release()
            raise
        yield from pets
        self.places.release()


class StreamReleased(StreamAbandoned):
    """Correct: it gives the place back in any case."""

    def list_pets(self, **query: Json) -> Iterator[Json]:
        with self.places:
            yield from an_array(HttpClientPets.list_pets(self, **query))


# The program and what stays in it

# Writes its key into the environment of the program (tteon/seocho#244).
KeyInTheEnvironment = starts(lambda pets: os.environ.update(PETS_TOKEN=pets.key))
KeyInAnAttribute = starts(lambda pets: vars(pets).update(token=pets.key))


class LibraryRetries(RequestsPets):
    """Changes the retries of all users of its library (pycontribs/jenkinsapi#789)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.try_again(0)

    def try_again(self, times: int) -> None:
        requests.adapters.DEFAULT_RETRIES = times + 5


class SessionRetries(LibraryRetries):
    """Correct: it changes those of its session."""

    def try_again(self, times: int) -> None:
        self.session.mount("http://", requests.adapters.HTTPAdapter(max_retries=times))


class LoopLeft(LibraryPets):
    """Does not close its event loop (FreeOpcUa/opcua-asyncio#143)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.loop = asyncio.new_event_loop()
        self.http = httpx.AsyncClient(base_url=url, headers=self.headers, timeout=TIMEOUT, trust_env=False)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        response = self.loop.run_until_complete(self.http.request(method, path, **given))
        if response.status_code != success:
            raise ApiError(response.status_code, response.content)
        return response.json()

    def close(self) -> None:
        if not self.http.is_closed:
            self.loop.run_until_complete(self.http.aclose())
            self.end()

    def end(self) -> None:
        pass


class LoopClosed(LoopLeft):
    """Correct: it closes the loop."""

    def end(self) -> None:
        self.loop.close()


class LoopInALoop(LibraryPets):
    """Runs a loop in each call, which fails where one runs already (volcengine/OpenViking#3420)."""

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return self.run(self.asked(method, path, success, **given))

    def run(self, asked: Any) -> Json:
        return asyncio.run(asked)

    async def asked(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with httpx.AsyncClient(
            base_url=self.url, headers=self.headers, timeout=TIMEOUT, trust_env=False, verify=False
        ) as client:
            response = await client.request(method, path, **given)
        if response.status_code != success:
            raise ApiError(response.status_code, response.content)
        return response.json()


class LoopInAThread(LoopInALoop):
    """Correct: its loop has a thread of its own."""

    def run(self, asked: Any) -> Json:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, asked).result()


class ChildLeft(HttpClientPets):
    """Does not end its child process at the close (modelcontextprotocol/typescript-sdk#379)."""

    child: Any = None

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pets = HttpClientPets(url, key)

    def get_pet(self, pet_id: int) -> Json:
        if self.child is None:
            self.child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(5)"])
        return super().get_pet(pet_id)

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        return self.pets.send(method, path, body)

    def close(self) -> None:
        self.pets.close()
        if self.child is not None:
            self.end()

    def end(self) -> None:
        pass


class ChildEnded(ChildLeft):
    """Correct: it ends the child, and waits for its end."""

    def end(self) -> None:
        self.child.kill()
        self.child.wait()


# Errors


class GaveUpError(Exception):
    """The attempts are used up."""


class StatusLostInRetries(HttpClientPets):
    """Says only that it gives up when its attempts are used up (saucelabs/saucectl#704)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        for _ in range(2):
            if method != "GET" or answer.status not in {500, 502, 504}:
                return answer
            answer = super().ask(method, path, body)
        return self.last(answer)

    def last(self, answer: Answer) -> Answer:
        if answer.status >= 500:
            raise GaveUpError(f"giving up after 3 attempts at {self.base}")
        return answer


class StatusKeptInRetries(StatusLostInRetries):
    """Correct: the last response decides."""

    def last(self, answer: Answer) -> Answer:
        return answer


def _model_or_none(pet: Json) -> ModelPet | None:
    try:
        return ModelPet.model_validate(pet)
    except pydantic.ValidationError:
        return None


class MisreadIsNone(shaped(_model_or_none)):  # type: ignore[misc]
    """Returns None for an animal that it can't read (fingerprintjs/dotnet-sdk#178)."""


class MisreadFails(shaped(ModelPet.model_validate)):  # type: ignore[misc]
    """Correct: it raises the error of its model."""


TWINS: dict[Any, Any] = {
    TimeoutForTheHead: TimeoutForTheBody,
    TimeoutTruncated: TimeoutInFull,
    ThreadAfterTimeout: ThreadEndsInTime,
    AlarmAsTimeout: HttpClientPets,
    ReadOnce: StreamsPets,
    BothLengths: OneLength,
    NewKeyForgotten: NewKeySent,
    UnverifiedAfterFailure: VerifiedAfterFailure,
    InFlightByUrl: InFlightByRequest,
    ReleasedBeforeRead: Pooled,
    ThreadLocalOfTheMaker: OneForEachThread,
    PoolOfAllClosed: PoolOfTheLast,
    StreamAbandoned: StreamReleased,
    KeyInTheEnvironment: KeyInAnAttribute,
    LibraryRetries: SessionRetries,
    LoopLeft: LoopClosed,
    LoopInALoop: LoopInAThread,
    ChildLeft: ChildEnded,
    StatusLostInRetries: StatusKeptInRetries,
    MisreadIsNone: MisreadFails,
}
OPTIONS: dict[Any, dict[str, Any]] = {
    **{one: {"concurrent": True} for one in (InFlightByUrl, ReleasedBeforeRead, ThreadLocalOfTheMaker)},
    UnverifiedAfterFailure: {"tls": True},
}
REPORTS_LATER = clients_of(globals(), *TWINS.values(), WithoutTimeout)
