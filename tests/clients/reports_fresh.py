"""Clients with bugs from public reports, eighth set."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import re
import threading
import zlib
from typing import Any, ClassVar
from urllib.parse import SplitResult, urljoin, urlsplit

from tests.clients.bugs import FAILURES, altered, clients_of, fails, starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets
from tests.clients.shapes import PlainPet, Shaped

# Errors


class TextStatusError(ApiError):
    """Has its status as text."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = str(status)  # type: ignore[assignment]


# Has the status of its error as text, so it equals no number (bblimke/webmock#241).
StatusIsText = fails(lambda _, answer: TextStatusError(answer.status))


def with_its_status(_: HttpClientPets, answer: Answer) -> ApiError:
    return ApiError(json.loads(answer.body)["status"] if answer.status == 429 else answer.status)


# Needs a member of the body of each 429 (aio-libs/aiobotocore#1128).
BodyOf429Needed = fails(with_its_status)


class RaisedFromItself(HttpClientPets):
    """Raises an error with itself as its cause, so a reader of its causes never ends (rollbar/pyrollbar#318)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        try:
            return super().ask(method, path, body)
        except FAILURES as error:
            raise error from self.cause(error)

    def cause(self, error: Exception) -> Exception | None:
        return error


class RaisedAgain(RaisedFromItself):
    """Correct: its error has no cause."""

    def cause(self, _: Exception) -> None:
        """Return nothing."""


class ReleasedTwice(HttpClientPets):
    """Gives its permit back twice if a request fails, and reports that in place of the failure (encode/httpx#922)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.permits = threading.BoundedSemaphore(1)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.permits.acquire()
        try:
            return super().ask(method, path, body)
        except FAILURES:
            self.note()
            raise
        finally:
            self.permits.release()

    def note(self) -> None:
        self.permits.release()


class ReleasedOnce(ReleasedTwice):
    """Correct: it gives its permit back once."""

    def note(self) -> None:
        """Do nothing."""


# Results


class ShownPet(PlainPet):
    """Shows its status, which may be absent."""

    def __repr__(self) -> str:
        return f"<Pet {self._pet['id']}: {self._pet['status']}>"


class RightlyShownPet(PlainPet):
    def __repr__(self) -> str:
        return f"<Pet {self._pet['id']}: {self.status}>"


class ReprFails(Shaped):
    """Returns animals whose ``repr()`` fails if they have no status (CrowdStrike/caracara#213)."""

    pet = staticmethod(ShownPet)


class ReprWorks(Shaped):
    """Correct: it shows each animal."""

    pet = staticmethod(RightlyShownPet)


class ProxyPet:
    """Looks up each attribute in a dict."""

    names: ClassVar = frozenset({"id", "name", "categoryId", "status"})

    def __init__(self, pet: Json) -> None:
        self.pet = pet

    def __getattr__(self, name: str) -> Any:
        pet = self.pet
        if name not in self.names:
            raise AttributeError(name)
        return pet.get(name)


class CopiedPet(ProxyPet):
    def __getattr__(self, name: str) -> Any:
        if name not in self.names:
            raise AttributeError(name)
        return super().__getattr__(name)


class CopyRecurses(Shaped):
    """Returns animals that nobody can copy: a copy looks for its own dict in itself (sigmavirus24/github3.py#912)."""

    pet = staticmethod(ProxyPet)


class CopyWorks(Shaped):
    """Correct: a copy has no other attributes than an animal."""

    pet = staticmethod(CopiedPet)


class ObjectsUpdated(HttpClientPets):
    """Merges each response into the objects that it returned earlier (unlock-protocol/unlock#4209)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.known: dict[int, Json] = {}

    def read(self, answer: Answer) -> Json:
        found = super().read(answer)
        return [self.merged(pet) for pet in found] if isinstance(found, list) else self.merged(found)

    def merged(self, pet: Json) -> Json:
        known = self.known.setdefault(pet["id"], {})
        known.clear()
        known.update(pet)
        return self.shown(known)

    def shown(self, pet: Json) -> Json:
        return pet


class ObjectsCopied(ObjectsUpdated):
    """Correct: it returns copies."""

    def shown(self, pet: Json) -> Json:
        return dict(pet)


# Removes comments from JSON before it reads it, and so a part of each name with two slashes (vaidik/commentjson#8).
CommentsStripped = altered(read=lambda _, answer: json.loads(re.sub(r"//[^\n]*", "", answer.body.decode())))

# Bodies


class RawDeflateOnly(HttpClientPets):
    """Accepts deflate, and decodes only the form without the head of zlib (httplib2/httplib2#230)."""

    coding = "deflate"

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Accept-Encoding": self.coding}

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        answer = super().receive(response)
        if answer.headers.get("Content-Encoding") == self.coding:
            answer.body = self.decoded(answer.body)
        return answer

    def decoded(self, body: bytes) -> bytes:
        return zlib.decompress(body, -zlib.MAX_WBITS)


class BothDeflates(RawDeflateOnly):
    """Correct: it decodes both forms."""

    def decoded(self, body: bytes) -> bytes:
        try:
            return zlib.decompress(body)
        except zlib.error:
            return super().decoded(body)


class LongErrorsLeft(HttpClientPets):
    """Reads the beginning of a long error, and leaves the rest on the connection (lalinsky/dusty#112)."""

    def content(self, response: http.client.HTTPResponse) -> bytes:
        if response.status < 400:
            return super().content(response)
        begin = response.read(1024)
        self.leave(response)
        return begin

    def leave(self, response: http.client.HTTPResponse) -> None:
        """Do nothing."""


class LongErrorsRead(LongErrorsLeft):
    """Correct: it reads the rest too."""

    def leave(self, response: http.client.HTTPResponse) -> None:
        response.read()


# Timeouts, redirections, and what stays


class TimeoutToConnect(RequestsPets):
    """Has a timeout for connecting, and none for the response (BaseXdb/basex#1359)."""

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        timeout = (TIMEOUT, None)
        follows = method == "GET"
        response = self.session.request(method, self.url + path, timeout=timeout, allow_redirects=follows, **given)
        return self.checked(response, success)


class TimeoutJoined(HttpClientPets):
    """Waits with a timeout for a thread, and then without one for the thread's end (steveyeow/Feynman#136)."""

    timeout: ClassVar[float | None] = None

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(self.send, method, path, body).result(TIMEOUT)


class TimeoutInThread(TimeoutJoined):
    """Correct: the request in the thread has a timeout too."""

    timeout = TIMEOUT


class FragmentSent(HttpClientPets):
    """Follows redirections of reads, and sends the fragment of the address too (xroche/httrack#441)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.url = url

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        for _ in range(5):
            place = urlsplit(urljoin(self.url + path, self.place(answer)))
            is_own = (place.scheme, place.netloc) == urlsplit(self.url)[:2]
            if method != "GET" or answer.status not in {301, 302, 307, 308} or not self.place(answer) or not is_own:
                break
            answer = self.follow(method, self.target(place).removeprefix(self.base))
        return answer

    def follow(self, method: str, path: str) -> Answer:
        return self.send(method, path, None)

    def place(self, answer: Answer) -> str:
        return answer.headers.get("Location") or ""

    def target(self, place: SplitResult) -> str:
        return place._replace(scheme="", netloc="").geturl()


class FragmentKept(FragmentSent):
    """Correct: it sends path and query only."""

    def target(self, place: SplitResult) -> str:
        return super().target(place._replace(fragment=""))


class RedirectedWithoutTimeout(FragmentKept):
    """Follows a redirection without its timeout (urllib3/urllib3#3224)."""

    def follow(self, method: str, path: str) -> Answer:
        connection = self.connect()
        connection.timeout = None
        if connection.sock is not None:
            connection.sock.settimeout(None)
        try:
            return super().follow(method, path)
        finally:
            self.close()


# Adds its own words to the table of reasons that the program has (bottlepy/bottle#723).
ReasonsForAll = starts(lambda _: http.client.responses.update({418: "I'm a teapot"}))
# Correct: it has a table of its own.
OwnReasons = starts(lambda client: setattr(client, "reasons", {**http.client.responses, 418: "I'm a teapot"}))

TWINS: dict[Any, Any] = {
    StatusIsText: HttpClientPets,
    BodyOf429Needed: HttpClientPets,
    RaisedFromItself: RaisedAgain,
    ReleasedTwice: ReleasedOnce,
    ReprFails: ReprWorks,
    CopyRecurses: CopyWorks,
    ObjectsUpdated: ObjectsCopied,
    CommentsStripped: HttpClientPets,
    RawDeflateOnly: BothDeflates,
    LongErrorsLeft: LongErrorsRead,
    TimeoutToConnect: RequestsPets,
    TimeoutJoined: TimeoutInThread,
    FragmentSent: FragmentKept,
    RedirectedWithoutTimeout: FragmentKept,
    ReasonsForAll: OwnReasons,
}
REPORTS_FRESH = clients_of(globals(), *TWINS.values())
