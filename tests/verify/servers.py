"""Services with reported bugs of servers, serializers, caches and drivers, and correct services near them."""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import unquote

from petstore_mock import Behaviour, PetStoreMock
from tests.verify.frameworks import (
    Reported,
    fields_of,
    header,
    ignore_unknown_fields,
    is_create,
    raw_letters,
    sends,
    sends_fields,
)
from tests.verify.services import Change, Refuses, Turn, in_pets, listening, nothing, on, short_of_query, status_in

Anything = Any


# Servers: each handles a whole connection


class Request(NamedTuple):
    line: str
    fields: dict[str, str]
    rest: bytes  # what arrived behind the head


class Response(NamedTuple):
    status: str
    fields: list[tuple[str, str]]
    body: bytes


def read_head(connection: socket.socket, before: bytes) -> Request:
    found = before
    while b"\r\n\r\n" not in found:
        block = connection.recv(65536)
        if not block:
            raise OSError
        found += block
    head, _, rest = found.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
    return Request(line, fields, rest)


def read_body(connection: socket.socket, request: Request) -> tuple[bytes, bytes]:
    """Return the body of a request, and what stands behind it."""
    length, rest = int(request.fields.get("content-length") or 0), request.rest
    while len(rest) < length:
        rest += connection.recv(65536)
    return rest[:length], rest[length:]


def call(petstore: PetStoreMock, request: Request, body: bytes) -> Response:
    method, target, _ = request.line.split(" ")
    path, _, query = target.partition("?")
    environ: dict[str, Anything] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote(path, "latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": target,
        "SERVER_NAME": "petstore.example",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.multithread": True,
    }
    for name, value in request.fields.items():
        word = name.upper().replace("-", "_")
        environ[word if word.startswith("CONTENT") else f"HTTP_{word}"] = value
    environ["CONTENT_LENGTH"] = str(len(body))
    heads: list[Anything] = []
    came = b"".join(petstore.app(environ, lambda *head, **_: heads.append(head)))  # type: ignore[arg-type, return-value, unused-ignore]
    status, fields = heads[0][:2]
    framing = {"content-length", "connection", "transfer-encoding"}
    return Response(status, [field for field in fields if field[0].lower() not in framing], came)


def send(connection: socket.socket, response: Response, *, version: str = "HTTP/1.1") -> None:
    fields = [*response.fields]
    if version == "HTTP/1.1":
        fields.append(("Content-Length", str(len(response.body))))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    connection.sendall(f"{version} {response.status}\r\n{lines}\r\n".encode("latin-1") + response.body)


Responds = Callable[[PetStoreMock, dict[str, Anything], Request, bytes], Response]
Handles = Callable[[PetStoreMock, socket.socket], None]


def each(respond: Responds) -> Handles:
    """Respond to each request of a connection. The dict is the state of the connection."""

    def handle(petstore: PetStoreMock, connection: socket.socket) -> None:
        behind, state = b"", dict[str, Anything]()
        while True:
            request = read_head(connection, behind)
            body, behind = read_body(connection, request)
            send(connection, respond(petstore, state, request, body))

    return handle


@contextlib.contextmanager
def serving(handle: Handles) -> Iterator[tuple[PetStoreMock, str]]:
    with PetStoreMock(seed=30) as petstore, listening(lambda one: handle(petstore, one)) as url:
        yield petstore, url


def has_key(petstore: PetStoreMock, request: Request) -> bool:
    return request.fields.get("authorization") == f"Bearer {petstore.api_key}"


def leave_body(petstore: PetStoreMock, connection: socket.socket) -> None:
    """Refuse a request without a key before its body is read, and take the body for the next request."""
    behind = b""
    while True:
        request = read_head(connection, behind)
        if not request.line.partition(" ")[0].isalpha():
            send(connection, Response("501 Unsupported method", [("Content-Type", "text/html")], b"<h1>501</h1>"))
            return
        body, behind = b"", request.rest
        if has_key(petstore, request):
            body, behind = read_body(connection, request)
        send(connection, call(petstore, request, body))


def keep_key(petstore: PetStoreMock, state: dict[str, Anything], request: Request, body: bytes) -> Response:
    if has_key(petstore, request):
        state["key"] = request.fields["authorization"]
    if "key" in state:
        request.fields["authorization"] = state["key"]
    return call(petstore, request, body)


def not_modified_with_bytes(petstore: PetStoreMock, _: dict[str, Anything], request: Request, body: bytes) -> Response:
    response = call(petstore, request, body)
    if request.line.endswith("status=sold HTTP/1.1") and response.status.startswith("200"):
        return response._replace(status="304 Not Modified")
    return response


def count_characters(petstore: PetStoreMock, connection: socket.socket) -> None:
    """Cut each body after as many bytes as it has characters."""
    behind = b""
    while True:
        request = read_head(connection, behind)
        body, behind = read_body(connection, request)
        response = call(petstore, request, body)
        text = json.dumps(json.loads(response.body), ensure_ascii=False)
        send(connection, response._replace(body=text.encode("utf-8", "surrogatepass")[: len(text)]))


def let_in_without_token(petstore: PetStoreMock, _: dict[str, Anything], request: Request, body: bytes) -> Response:
    if request.fields.get("authorization") == "Bearer":
        request.fields["authorization"] = f"Bearer {petstore.api_key}"
    return call(petstore, request, body)


def count_chunks(petstore: PetStoreMock, _: dict[str, Anything], request: Request, body: bytes) -> Response:
    """Send the chunks of a long list with their length."""
    response = call(petstore, request, body)
    if len(response.body) < 1_000:
        return response
    chunks = b"%X\r\n%b\r\n0\r\n\r\n" % (len(response.body), response.body)
    return response._replace(fields=[*response.fields, ("Transfer-Encoding", "chunked")], body=chunks)


class Server(NamedTuple):
    clause: str
    report: str
    handle: Handles
    words: str = ""


SERVERS: dict[str, Server] = {
    "a body is left on the connection": Server(
        "1-http",
        "https://github.com/pallets/werkzeug/issues/2380",
        leave_body,
        "expected 401, as on a new connection; the request before was POST /pets: "
        "its body is no part of this one; got 501",
    ),
    "a key counts for its connection": Server(
        "5-missing-key",
        "https://github.com/secdev/scapy/pull/5114",
        each(keep_key),
        "expected 401, as on a new connection; the request before was GET /pets",
    ),
    "the length counts characters": Server(
        "1-json-body", "https://github.com/JuliaWeb/HttpServer.jl/issues/32", count_characters
    ),
    "a scheme without a token is let in": Server(
        "5-scheme", "https://github.com/own-pay/OwnPay/issues/426", each(let_in_without_token)
    ),
    "chunks have a length": Server(
        "1-http", "https://github.com/villadora/express-http-proxy/issues/154", each(count_chunks)
    ),
    "a list is 304 and has bytes": Server("4.1-list", "", each(not_modified_with_bytes), "expected 200; got 304"),
}


def hint_early(petstore: PetStoreMock, connection: socket.socket) -> None:
    behind = b""
    while True:
        request = read_head(connection, behind)
        body, behind = read_body(connection, request)
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
        send(connection, call(petstore, request, body))


def end_with_connection(petstore: PetStoreMock, connection: socket.socket) -> None:
    request = read_head(connection, b"")
    body, _ = read_body(connection, request)
    send(connection, call(petstore, request, body), version="HTTP/1.0")


def close_after_refusal(petstore: PetStoreMock, connection: socket.socket) -> None:
    """Close a connection whose body was not read."""
    behind = b""
    while True:
        request = read_head(connection, behind)
        if not has_key(petstore, request):
            send(connection, call(petstore, request, b""))
            connection.shutdown(socket.SHUT_WR)
            return
        body, behind = read_body(connection, request)
        send(connection, call(petstore, request, body))


def end_after_seven(petstore: PetStoreMock, connection: socket.socket) -> None:
    """Close a connection after some responses, without a word."""
    behind = b""
    for _ in range(7):
        request = read_head(connection, behind)
        body, behind = read_body(connection, request)
        send(connection, call(petstore, request, body))


CORRECT_SERVERS: dict[str, Handles] = {
    "a connection ends after seven requests": end_after_seven,
    "each response has an early hint": hint_early,
    "each response ends with its connection": end_with_connection,
    "a refusal closes the connection": close_after_refusal,
}


# Serializers, caches and drivers


def ignore_case_of_names(turn: Turn) -> None:
    names = {name.lower(): name for name in ("name", "categoryId", "status")}
    if is_create(turn):
        sends(turn, json.dumps({names.get(name.lower(), name): one for name, one in fields_of(turn).items()}).encode())


def convert_scalars(turn: Turn) -> None:
    given = fields_of(turn)
    name, number = given.get("name"), given.get("categoryId")
    if is_create(turn) and isinstance(name, int):
        sends_fields(turn, name=str(name))
    if is_create(turn) and isinstance(number, (str, float, bool)) and number != float("inf"):
        sends_fields(turn, categoryId=int(number))


def fail_for_names_with(letter: Callable[[str], bool]) -> Refuses:
    def refuses(turn: Turn) -> int | None:
        name = fields_of(turn).get("name")
        return 500 if is_create(turn) and isinstance(name, str) and any(map(letter, name)) else None

    return refuses


def is_surrogate(letter: str) -> bool:
    return "\ud800" <= letter <= "\udfff"


def fail_in_turkish(turn: Turn) -> int | None:
    is_read = turn.name in {"list", "create"} and header(turn)
    return 500 if is_read and status_in(turn) in {"available", "pending"} else None


def write_a_line_for_each(turn: Turn) -> None:
    if on("list", 200)(turn):
        turn.body = "\n".join(map(json.dumps, turn.document)).encode()


def group_thousands(turn: Turn) -> None:
    text = json.dumps(turn.document)
    turn.body = re.sub(r"(?<=: )-?\d{4,}", lambda match: f"{int(match[0]):,}", text).encode()


def read_as_python_does(turn: Turn) -> None:
    last = str(turn.environ["PATH_INFO"]).rpartition("/")[2]
    if turn.name == "get" and header(turn) and re.fullmatch(r"\d+_\d+", last):
        turn.environ["REQUEST_URI"] = f"/v1/pets/{int(last)}"


class Former:
    """Gives each read the response to the read before it."""

    def __init__(self) -> None:
        self._last: tuple[int, Anything] | None = None

    def change(self, turn: Turn) -> None:
        if turn.name == "get" and turn.status in {200, 404}:
            own = turn.status, turn.document
            turn.status, turn.document = self._last or own
            self._last = own


def lose_new_id(turn: Turn) -> None:
    if on("create", 201)(turn):
        turn.document["id"] = 0


class FirstCreate:
    """Gives each create the response to the first one."""

    def __init__(self) -> None:
        self._first: Anything = None

    def change(self, turn: Turn) -> None:
        if on("create", 201)(turn):
            self._first = self._first or turn.document
            turn.document = self._first


class Cache:
    """A cache of lists that expires after some of them."""

    def __init__(self, lists: int, *, by_query: bool, is_cleared: bool = False) -> None:
        self._lists, self._by_query, self._is_cleared = lists, by_query, is_cleared
        self._kept: dict[str, Anything] = {}
        self._number = count()

    def change(self, turn: Turn) -> None:
        if on("create", 201)(turn) and self._is_cleared:
            self._kept.clear()
        if on("list", 200)(turn):
            if next(self._number) % self._lists == 0:
                self._kept.clear()
            turn.document = self._kept.setdefault(turn.query if self._by_query else "", turn.document)


IDS_BEYOND_DOUBLES = Behaviour(id_assignment="beyond_2_53")

REPORTED: dict[str, Callable[[], Reported]] = {
    "names of members have any case": lambda: Reported(
        "4.2-both-required", "https://github.com/golang/go/issues/14750", before=ignore_case_of_names
    ),
    "scalars are converted": lambda: Reported(
        "4.2-name-type", "https://github.com/FasterXML/jackson-databind/issues/1106", before=convert_scalars
    ),
    "U+0000 is 500": lambda: Reported(
        "2-name-nul",
        "https://github.com/open-metadata/OpenMetadata/issues/31120",
        before=fail_for_names_with(lambda letter: letter == "\0"),
    ),
    "half a surrogate pair is 500": lambda: Reported(
        "2-name-surrogate",
        "https://github.com/encode/django-rest-framework/issues/7026",
        before=fail_for_names_with(is_surrogate),
    ),
    "a Turkish locale is 500": lambda: Reported(
        "2-status-available", "https://github.com/javamelody/javamelody/issues/386", before=fail_in_turkish
    ),
    "a list has a line for each animal": lambda: Reported("1-json-body", "", write_a_line_for_each),
    "numbers have thousands separators": lambda: Reported(
        "1-json-body", "https://github.com/siddhi-io/siddhi/issues/858", group_thousands
    ),
    "underscores in ids are ignored": lambda: Reported("4.3-asked-for", "", before=read_as_python_does),
    "a read has the former response": lambda: Reported(
        "4.3-asked-for", "https://github.com/redis/redis-py/issues/2624", Former().change
    ),
    "a create returns the id 0": lambda: Reported(
        "2-id-assigned", "https://github.com/lxn/go-pgsql/issues/13", lose_new_id
    ),
    "a cache keeps the response to a create": lambda: Reported(
        "2-id-assigned", "https://github.com/pthomain/dejavu/issues/32", FirstCreate().change
    ),
    "a cache without the query expires after 3 lists": lambda: Reported(
        "4.1-limit-counts",
        "https://github.com/Schibsted-Tech-Polska/good-guy-http/issues/2",
        Cache(3, by_query=False).change,
    ),
    "ids lose digits": lambda: Reported(
        "2-id-unique",
        "https://github.com/demian85/gnip/issues/18",
        in_pets("id", lambda one: int(float(one))),
        # No double can hold these ids.
        behaviour=IDS_BEYOND_DOUBLES,
    ),
    "a cache without the query expires after 9 lists or a create": lambda: Reported(
        "4.1-limit-counts",
        "https://github.com/Schibsted-Tech-Polska/good-guy-http/issues/2",
        Cache(9, by_query=False, is_cleared=True).change,
    ),
}


def read_both_wrongly(turn: Turn) -> None:
    """Return one animal too many, and ignore the status."""
    if turn.name == "list" and header(turn):
        given = short_of_query(turn, "limit")
        limit = given.get("limit", "")
        query = f"limit={int(limit) + 1}" if limit in {"1", "4", "20"} else ""
        turn.environ["REQUEST_URI"] = f"{turn.environ['PATH_INFO']}?{query or turn.query.partition('status')[0]}"


def end_filtered_pages_early(turn: Turn) -> None:
    if on("list", 200)(turn) and "status=" in turn.query:
        turn.document = turn.document[: max(1, len(turn.document) * 2 // 3)]


def show_every_second(turn: Turn) -> None:
    if on("list", 200)(turn):
        turn.document = turn.document[::2]


class LateFilter:
    """Shows a created animal in lists with a filter only some requests later."""

    def __init__(self) -> None:
        self._number = count()
        self._created: dict[int, int] = {}

    def change(self, turn: Turn) -> None:
        number = next(self._number)
        if on("create", 201)(turn):
            self._created[turn.document["id"]] = number
        if on("list", 200)(turn) and "status=" in turn.query:
            turn.document = [pet for pet in turn.document if number - self._created.get(pet["id"], -99) > 25]


def refuse_odd_letters(turn: Turn) -> int | None:
    name = fields_of(turn).get("name")
    is_text = is_create(turn) and isinstance(name, str)
    return 400 if is_text and any(one == "\0" or is_surrogate(one) for one in str(name)) else None


def refuse_zero(turn: Turn) -> int | None:
    return 400 if is_create(turn) and not fields_of(turn).get("categoryId") else None


class Flaky:
    """Reads go to a replica now and then that has no animals."""

    def __init__(self) -> None:
        self._number = count()

    def change(self, turn: Turn) -> None:
        if on("get", 200)(turn) and next(self._number) % 9 == 4:
            turn.refuse(404)


# What changes the response, what sees the request before, and the behaviour of the fake.
TWINS: dict[str, Callable[[], tuple[Change, Refuses | None, Behaviour | None]]] = {
    "ids are beyond 2^53": lambda: (nothing, None, IDS_BEYOND_DOUBLES),
    "a cache expires after 3 lists": lambda: (Cache(3, by_query=True).change, None, None),
    "each page has every second animal": lambda: (show_every_second, None, None),
    "pages with a filter end early": lambda: (end_filtered_pages_early, None, None),
    "filters are late": lambda: (LateFilter().change, None, None),
    "filters are late, and lists by name": lambda: (LateFilter().change, None, Behaviour(list_order="by_name")),
    "pages are short, and in any order": lambda: (
        nothing,
        None,
        Behaviour(list_order="arbitrary", page_fill="short"),
    ),
    "U+0000 and half a surrogate pair are refused": lambda: (raw_letters, refuse_odd_letters, None),
    "the category 0 is refused": lambda: (nothing, refuse_zero, None),
    "some reads are 404": lambda: (Flaky().change, None, None),
    "names in another case are unknown": lambda: (nothing, ignore_unknown_fields, None),
}
