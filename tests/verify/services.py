"""Helpers for the tests of ``verify``: quick runs, and services other than the fake."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import socket
import socketserver
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias

from werkzeug.serving import WSGIRequestHandler, make_server

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.verify import Verdict, verify

Anything: TypeAlias = Any  # values of WSGI apps

QUICK = 1e6  # requests a second
ENOUGH = 40  # animals: more than the probes can create
KEY = "key-of-the-service"


def ask(url: str, api_key: Anything = KEY, **options: Anything) -> Verdict:
    return verify(url, api_key=api_key, **{"rate": QUICK, "timeout": 2.0, **options})


def ask_fake(
    behaviour: Behaviour | None = None, *, seed: int = 30, at: str | None = None, **options: Anything
) -> Verdict:
    with PetStoreMock(seed=seed, behaviour=behaviour, at=at) as petstore:
        return ask(petstore.url, petstore.api_key, **{"allow_create": ENOUGH, **options})


def result_of(verdict: Verdict, clause: str) -> str:
    (found,) = [one for one in verdict.clauses if one.id == clause]
    return found.result


def broken(verdict: Verdict) -> dict[str, str]:
    return {clause.id: clause.detail for clause in verdict.broken}


def removed_ids(petstore: PetStoreMock) -> set[int]:
    """Return the ids of the animals that requests removed."""
    done = [one for one in petstore.journal if one.method == "DELETE" and one.status == 204]
    return {int(one.path.rpartition("/")[2]) for one in done}


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Anything) -> None:
        pass


@contextlib.contextmanager
def _running(server: socketserver.BaseServer, port: int) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def served(app: Callable[..., Anything]) -> contextlib.AbstractContextManager[str]:
    """Serve a WSGI app and yield its base address."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    return _running(server, server.server_port)


def fixed(status: str, *fields: tuple[str, str], body: bytes = b"{}") -> Callable[..., list[bytes]]:
    """Return a WSGI app that gives the same response to each request."""

    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(status, [("Content-Length", str(len(body))), *fields])
        return [body]

    return app


def listening(handle: Callable[[socket.socket], None]) -> contextlib.AbstractContextManager[str]:
    """Pass each connection to ``handle`` in its own thread, and yield the base address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                handle(self.request)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    return _running(server, server.server_address[1])


# Bytes behind such a head may arrive before or after the head is read, so another finding would depend on chance.
WITHOUT_BODY: Final = frozenset({204, 304})


class Turn:
    """A request to a service and its response. Tests change the response."""

    def __init__(self, environ: dict[str, Anything], sent: bytes) -> None:
        path = environ["PATH_INFO"].removeprefix("/v1")
        names = {("GET", "/pets"): "list", ("POST", "/pets"): "create"}
        method = environ["REQUEST_METHOD"]
        self.name = names.get((method, path), str(method).lower())
        self.environ, self.query = environ, str(environ["QUERY_STRING"])
        self.sent = None
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(sent)
            self.sent = document if isinstance(document, dict) else None
        self.status = 0
        self.media_type = "application/json"
        self.fields: list[tuple[str, str]] = []
        self.document: Anything = None
        self.body: bytes | None = None  # replaces the document

    def respond(self, status: int, document: Anything = None) -> None:
        self.status, self.document = status, document

    def refuse(self, status: int) -> None:
        self.respond(status, {"code": "x", "message": "x", "status": status})

    @property
    def pets(self) -> list[dict[str, Anything]]:
        return [] if self.status >= 300 else self.document if isinstance(self.document, list) else [self.document]


@contextlib.contextmanager
def changed(
    change: Callable[[Turn], object],
    *,
    refuses: Callable[[Turn], int | None] | None = None,
    behaviour: Behaviour | None = None,
) -> Iterator[Anything]:
    """Serve the fake with changed responses. ``refuses`` can refuse a request before it reaches the fake."""
    with PetStoreMock(seed=30, behaviour=behaviour) as petstore:

        def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
            sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = io.BytesIO(sent)
            turn = Turn(environ, sent)
            status = refuses(turn) if refuses is not None else None
            if status is not None:
                turn.refuse(status)
            else:
                heads: list[Anything] = []
                body = b"".join(petstore.app(environ, lambda *head, **_: heads.append(head)))  # type: ignore[arg-type, return-value, unused-ignore]
                turn.status, turn.document = int(heads[0][0][:3]), json.loads(body) if body else None
                turn.fields = [field for field in heads[0][1] if field[0] not in {"Content-Length", "Content-Type"}]
            change(turn)
            body = json.dumps(turn.document).encode() if turn.body is None else turn.body
            if turn.status in WITHOUT_BODY:
                body = b""
            fields = [*turn.fields, ("Content-Type", turn.media_type), ("Content-Length", str(len(body)))]
            start_response(f"{turn.status} X", fields)
            return [body]

        with served(app) as url:
            yield petstore, url


def nothing(_: Turn) -> None: ...


# Services that break one rule each

Change: TypeAlias = Callable[[Turn], object]


def where(holds: Callable[[Turn], Anything], change: Change) -> Change:
    return lambda turn: change(turn) if holds(turn) else None


def on(name: str, status: int = 0) -> Callable[[Turn], bool]:
    return lambda turn: turn.name == name and status in {0, turn.status}


def has_status(status: int) -> Callable[[Turn], bool]:
    return lambda turn: turn.status == status


def has_query(query: str) -> Callable[[Turn], bool]:
    return lambda turn: turn.name == "list" and turn.query == query and turn.status != 401


def fails_with(status: int) -> Change:
    return lambda turn: turn.refuse(status)


def with_status(status: int) -> Change:
    return lambda turn: setattr(turn, "status", status)


def in_pets(name: str, change: Callable[[Anything], Anything], *, only_made: bool = False) -> Change:
    """Change a field of all animals in a response, or only of the animals that ``verify`` created."""

    def of_each(turn: Turn) -> None:
        for pet in turn.pets:
            if name in pet and (not only_made or pet["name"].strip().startswith("Verify")):
                pet[name] = change(pet[name])

    return of_each


def redirect(turn: Turn) -> None:
    turn.status, turn.body = 308, b""
    turn.fields.append(("Location", "https://example.com/login"))


def page(turn: Turn) -> None:
    turn.media_type, turn.body = "text/html", b"<h1>No</h1>"


def page_of_the_app(turn: Turn) -> None:
    turn.status = 200
    page(turn)


def coded(turn: Turn) -> None:
    turn.fields.append(("Content-Encoding", "br"))
    turn.body = b"\x1b\x03\x00\xf8\x8d"


def with_nan(turn: Turn) -> None:
    for pet in turn.pets:
        pet["rank"] = float("nan")


def without_emoji(text: str) -> str:
    return "".join(one if one <= "\uffff" else "?" for one in text)


def without_created(turn: Turn) -> None:
    turn.document = [pet for pet in turn.document if not pet["name"].strip().startswith("Verify")]


def other_errors(turn: Turn) -> None:
    turn.document = {"detail": "no"}


def others(count: int) -> Change:
    return lambda turn: turn.respond(
        200, [{"id": one, "name": "x", "categoryId": 1} for one in range(1000, 1000 + count)]
    )


def is_beyond_int32(turn: Turn) -> bool:
    number = (turn.sent or {}).get("categoryId")
    return turn.status in {201, 400} and type(number) is int and number >= 2**31


def read_as_a_number(name: str) -> str:
    return str(float(name)) if re.fullmatch("[0-9]+(e[0-9]+)?", name) else name


def read_as_a_date(name: str) -> str:
    parts = re.fullmatch("([0-9]{4}-[0-9]{2}-[0-9]{2})(T[0-9:]+Z)?", name)
    return f"{parts[1]}T{parts[2] or '00:00:00'}+00:00" if parts else name


def describe_the_problem(turn: Turn) -> None:
    """Write errors as in RFC 9457."""
    if turn.status >= 400:
        turn.media_type, turn.document = "application/problem+json", {"title": "No", "status": turn.status}


def drop_status(turn: Turn) -> None:
    for pet in turn.pets:
        pet.pop("status", None)


def write_with_single_quotes(turn: Turn) -> None:
    turn.body = str(turn.document).encode()


def page_of_a_failure(turn: Turn) -> None:
    turn.status = 502
    page(turn)


def only_ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode()


IS_ERROR: Callable[[Turn], bool] = lambda turn: turn.status >= 400  # noqa: E731
IS_ODD: Callable[[Turn], bool] = lambda turn: not str((turn.sent or {}).get("name")).isascii()  # noqa: E731
# Each change is one mistake of a service, and breaks only the given clause. Mutants cover other mistakes.
ONE_CAUSE: dict[str, tuple[str, Change]] = {
    "a list is 302": ("4.1-list", where(has_query("limit=4"), with_status(302))),
    "a list is 206": ("4.1-list", where(on("list", 200), with_status(206))),
    "a list is 500": ("4.1-list", where(has_query("status=sold"), fails_with(500))),
    "creates are redirected": ("4.2-created", where(on("create"), redirect)),
    "odd animals are 500": ("2-name-text", where(IS_ODD, fails_with(500))),
    "gets are redirected": ("4.3-get", where(on("get"), redirect)),
    "a refusal is 422": ("4.2-name-required", where(has_status(400), with_status(422))),
    "a refused key is 403": ("5-missing-key", where(has_status(401), fails_with(403))),
    "an absent animal is 500": ("4.3-absent", where(has_status(404), fails_with(500))),
    "errors are coded": ("7-400-error", where(IS_ERROR, coded)),
    "lists are coded": ("1-json-body", where(on("list"), coded)),
    "lists have NaN": ("1-json-body", where(on("list", 200), with_nan)),
    "gets are pages": ("1-json-body", where(on("get", 200), page)),
    "all gets, even refused ones, are 200 with a page": ("1-json-body", where(on("get"), page_of_the_app)),
    "a get wraps the animal": (
        "2-pet-object",
        where(on("get", 200), lambda turn: turn.respond(200, {"data": turn.document})),
    ),
    "a filtered list shows another category": (
        "4.1-same-animal",
        where(has_query("status=sold"), in_pets("categoryId", lambda number: number + 1)),
    ),
    "lists change a created animal": (
        "4.2-same-animal",
        where(on("list"), in_pets("categoryId", lambda number: number + 1, only_made=True)),
    ),
    "lists trim a created name": ("4.2-same-animal", where(on("list"), in_pets("name", str.strip))),
    "a get trims a created name": ("4.3-same-animal", where(on("get"), in_pets("name", str.strip))),
    "a get has no emoji": ("4.3-same-animal", where(on("get"), in_pets("name", without_emoji))),
    "a get rounds numbers": ("4.3-same-animal", where(on("get"), in_pets("categoryId", lambda one: int(float(one))))),
    "lists lack created animals": ("4.2-listed", where(on("list", 200), without_created)),
    "limit=0 brings 150": ("4.1-limit-bound", where(has_query("limit=0"), others(150))),
    "limit=101 brings 101": ("4.1-limit-bound", where(has_query("limit=101"), others(101))),
    "a filtered list that finds animals is 404": ("4.1-list", where(has_query("status=sold"), fails_with(404))),
    "a filtered list shows another status": (
        "4.1-same-animal",
        where(
            lambda turn: on("list", 200)(turn) and "status=sold" in turn.query, in_pets("status", lambda _: "pending")
        ),
    ),
    "a number beyond int32 in a body is 500": ("2-category-int64", where(is_beyond_int32, fails_with(500))),
    "a number beyond int32 in a body is a page": ("2-category-int64", where(is_beyond_int32, page_of_a_failure)),
    "texts are normalized for compatibility": (
        "2-name-decomposed",
        in_pets("name", partial(unicodedata.normalize, "NFKC")),
    ),
    "letters beyond ASCII are escaped": ("2-name-text", in_pets("name", only_ascii)),
    "texts are read as numbers": ("2-name-digits", in_pets("name", read_as_a_number)),
    "texts are read as dates": ("2-name-date", in_pets("name", read_as_a_date)),
    "animals lack the status": ("2-status-echoed", drop_status),
    "no body is JSON": ("1-json-body", write_with_single_quotes),
    "errors are problem documents": ("2-error-code", describe_the_problem),
}


# Services that keep the contract, although they refuse or delay something

Refuses: TypeAlias = Callable[[Turn], "int | None"]


def refuses_names(is_right: Callable[[str], bool], status: int = 400) -> Refuses:
    def refuses(turn: Turn) -> int | None:
        name = (turn.sent or {}).get("name")
        return status if turn.name == "create" and isinstance(name, str) and not is_right(name) else None

    return refuses


def forbids(name: str, status: int) -> Refuses:
    return lambda turn: status if turn.name == name else None


def known_category(turn: Turn) -> int | None:
    category = (turn.sent or {}).get("categoryId")
    return 400 if turn.name == "create" and category not in {None, 1, 2, 3, 4, 5} else None


# Some services apply such a rule before they check the key.
RULES: dict[str, Refuses] = {
    "names have at most 10 letters": refuses_names(lambda name: len(name) <= 10),
    "names have at most 10 letters, else 422": refuses_names(lambda name: len(name) <= 10, 422),
    "names have only letters": refuses_names(str.isalpha),
    "names are ASCII": refuses_names(str.isascii),
    "names have no blanks at their ends": refuses_names(lambda name: name == name.strip()),
    "categories are known": known_category,
    "a key may only read": forbids("create", 403),
    "a key may not read animals": forbids("get", 403),
    "a key may not list animals": forbids("list", 403),
    "there are enough sold animals": lambda turn: 409 if (turn.sent or {}).get("status") == "sold" else None,
}


def late(requests: int, *names: str) -> Change:
    """Hide each created animal for a number of requests."""
    created: dict[int, int] = {}
    number = 0

    def change(turn: Turn) -> None:
        nonlocal number
        number += 1
        if turn.name == "create" and turn.status == 201:
            created[turn.document["id"]] = number
        hidden = {pet_id for pet_id, since in created.items() if number - since <= requests}
        if turn.status == 200 and turn.name in names:
            if turn.name == "list":
                turn.document = [pet for pet in turn.document if pet["id"] not in hidden]
            elif turn.document["id"] in hidden:
                turn.refuse(404)

    return change


def cached(turn_of: int) -> Change:
    """Repeat the first response to a list for a number of requests."""
    kept: dict[str, tuple[int, Anything]] = {}
    number = 0

    def change(turn: Turn) -> None:
        nonlocal number
        number += 1
        if turn.name == "list" and turn.status == 200:
            own = sorted(f"{name}: {value}" for name, value in turn.environ.items() if name.startswith("HTTP_X_"))
            asked = " ".join([turn.query, *own])
            since, document = kept.get(asked, (-turn_of, None))
            if number - since < turn_of:
                turn.document = document
            else:
                kept[asked] = number, turn.document

    return change


DELAYS: dict[str, Callable[[], Change]] = {
    "one request": lambda: late(1, "get", "list"),
    "five requests": lambda: late(5, "get", "list"),
    "thirty requests": lambda: late(30, "get", "list"),
    "four requests, by id": lambda: late(4, "get"),
    "ten requests, in lists": lambda: late(10, "list"),
    "lists from a cache": lambda: cached(12),
}


# Services as reported in public trackers: the clause that each breaks, and the report


def short_of_query(turn: Turn, *names: str) -> dict[str, str]:
    given = dict(pair.split("=", 1) for pair in turn.query.split("&") if "=" in pair)
    return {name: given[name] for name in names if name in given}


def status_in(turn: Turn) -> Anything:
    """Return the status that a list asks for, or that a body has."""
    given = short_of_query(turn, "status") if turn.name == "list" else turn.sent or {}
    return given.get("status")


def filter_after_limit(turn: Turn) -> None:
    given = short_of_query(turn, "limit", "status")
    if turn.name == "list" and turn.status == 200 and len(given) == 2:
        first = [pet for pet in turn.document if pet["id"] <= int(given["limit"])]
        turn.document = [pet for pet in first if pet.get("status") == given["status"]]


def validate_first(turn: Turn) -> int | None:
    has_key = "HTTP_AUTHORIZATION" in turn.environ
    return 400 if turn.name == "create" and not has_key and not (turn.sent or {}).get("name") else None


def fail_beyond_int32(turn: Turn) -> None:
    pet_id = str(turn.environ["PATH_INFO"]).rpartition("/")[2]
    if turn.name == "get" and turn.status == 404 and pet_id.isdecimal() and 2**31 <= int(pet_id) < 2**40:
        turn.refuse(500)


def read_leading_digits(turn: Turn) -> None:
    pet_id = str(turn.environ["PATH_INFO"]).rpartition("/")[2]
    if turn.name == "get" and turn.status in {400, 404} and pet_id.endswith("x"):
        turn.respond(200, {"id": int(pet_id[:-1]), "name": "Rex", "categoryId": 1})


def drop_zeros(turn: Turn) -> None:
    in_pets("name", lambda name: name.lstrip("0") if name.isdecimal() else name)(turn)


def mark_bytes(turn: Turn) -> None:
    turn.body = b"\xef\xbb\xbf" + json.dumps(turn.document).encode()


def warn_first(turn: Turn) -> None:
    turn.body = b"Warning: Undefined variable in /srv/pets.php on line 7\n" + json.dumps(turn.document).encode()


def forbid_absent(turn: Turn) -> None:
    if turn.name == "get" and turn.status == 404:
        turn.refuse(403)


def answer_absent(turn: Turn) -> None:
    if turn.name == "get" and turn.status == 404:
        turn.respond(200, {"data": None})


def show_page(turn: Turn) -> None:
    if turn.status == 404:
        turn.body, turn.media_type = b"<html><title>Error 404</title></html>", "text/html"


def forbid_without_key(turn: Turn) -> None:
    if turn.status == 401:
        turn.refuse(403)


def create_with_200(turn: Turn) -> None:
    if turn.name == "create" and turn.status == 201:
        turn.status = 200


def repeat_the_first(turn: Turn) -> None:
    if turn.name == "list" and turn.status == 200 and len(turn.document) > 2:
        turn.document[-1] = turn.document[0]


def write_absent_as_null(turn: Turn) -> None:
    for pet in turn.pets:
        pet.setdefault("status", None)


def call_it_plain_text(turn: Turn) -> None:
    if turn.status == 200:
        turn.media_type = "text/plain; charset=utf-8"


def without_wide_characters(name: str) -> str:
    return "".join(character if ord(character) < 0x10000 else "?" for character in name)


def as_a_double(value: int) -> int:
    return int(float(value))


def answer_with_200(turn: Turn) -> None:
    if turn.status >= 400:
        turn.status = 200


def fail_without_animals(turn: Turn) -> None:
    if turn.name == "list" and turn.query == "limit=0" and turn.status != 401:
        turn.refuse(500)


def fail_for_text(turn: Turn) -> None:
    text = str(turn.environ["PATH_INFO"]).rpartition("/")[2]
    if turn.name == "get" and turn.status in {400, 404} and not text.removeprefix("-").isdecimal():
        turn.refuse(500)


def show_all_for_zero(turn: Turn) -> None:
    if turn.name == "get" and turn.status in {400, 404} and str(turn.environ["PATH_INFO"]).endswith("/0"):
        turn.respond(200, [{"id": 1, "name": "Rex", "categoryId": 1}])


def show_empty_for_absent(turn: Turn) -> None:
    if turn.name == "get" and turn.status == 404:
        turn.respond(200, {})


def fill_up_the_page(turn: Turn) -> None:
    given = short_of_query(turn, "limit", "status")
    if turn.name == "list" and turn.status == 200 and len(given) == 2:
        is_sold = given["status"] == "sold"
        other: dict[str, Anything] = {"name": "Rex", "categoryId": 1, "status": "available" if is_sold else "sold"}
        other["id"] = 1_000_000 + is_sold
        turn.document = [*turn.document[:-1], other]


def wrap_errors(turn: Turn) -> None:
    if turn.name == "create" and turn.status == 400:
        turn.respond(200, {"error": {"name": "error", "severity": "ERROR", "code": "22P02"}})


def once_more() -> Callable[[Anything], bool]:
    """Return a function that says whether it was called with an equal value before."""
    known: set[Anything] = set()

    def is_known(value: Anything) -> bool:
        was_known = value in known
        known.add(value)
        return was_known

    return is_known


def fail_for_a_used_name(is_used: Callable[[Anything], bool]) -> Change:
    return where(lambda turn: turn.status == 201 and is_used(turn.document["name"]), fails_with(500))


def ignore_the_key(kept: dict[Anything, Anything]) -> Change:
    """Give responses from a cache that looks only at the target."""

    def change(turn: Turn) -> None:
        target = turn.environ["SERVER_PORT"], turn.environ["PATH_INFO"], turn.query
        if turn.status == 200:
            kept[target] = turn.document
        elif turn.status == 401 and turn.name != "create" and target in kept:
            turn.respond(200, kept[target])
            turn.fields = [("X-Cache", "HIT")]

    return change


REPORTED: dict[str, tuple[str, Change, str]] = {
    "errors are 200": (
        "4.2-name-required",
        answer_with_200,
        "https://github.com/codefirst/AsakusaSatellite/issues/126",
    ),
    "wrong creates are 200 with an error": (
        "4.2-name-required",
        wrap_errors,
        "https://github.com/colouring-cities/colouring-britain/issues/203",
    ),
    "the id 0 shows all animals": (
        "4.3-asked-for",
        show_all_for_zero,
        "https://github.com/colymba/silverstripe-restfulapi/issues/21",
    ),
    "an absent animal is an empty object": (
        "4.3-absent",
        show_empty_for_absent,
        "https://github.com/vantage6/vantage6/issues/206",
    ),
    "a filtered page is filled with others": (
        "4.1-status-filter",
        fill_up_the_page,
        "https://github.com/django-tastypie/django-tastypie/issues/174",
    ),
    "limit=0 is 500": ("4.1-list-never-fails", fail_without_animals, "https://github.com/alerta/alerta/issues/80"),
    "an id that is no number is 500": (
        "4.3-get-never-fails",
        fail_for_text,
        "https://github.com/api-platform/core/issues/292",
    ),
    "an animal with a used name is 500": (
        "4.2-created",
        fail_for_a_used_name(once_more()),
        "https://github.com/directus/directus/issues/3185",
    ),
    "a cache ignores the key": (
        "5-missing-key",
        ignore_the_key({}),
        "https://github.com/jonbaldie/varnish/issues/38",
    ),
    "letters are composed": (
        "2-name-decomposed",
        in_pets("name", lambda name: unicodedata.normalize("NFC", name)),
        "https://github.com/sindresorhus/filenamify/issues/40",
    ),
    "runs of blanks are one blank": (
        "2-name-echoed",
        in_pets("name", lambda name: re.sub(" +", " ", name)),
        "https://github.com/buildingSMART/bSDD/issues/11",
    ),
    "letters beyond Latin-1 are question marks": (
        "2-name-text",
        in_pets("name", lambda name: name.encode("latin-1", "replace").decode("latin-1")),
        "https://github.com/EHRI/ehri-frontend/issues/515",
    ),
    "the limit comes before the filter": (
        "4.1-list-finds",
        filter_after_limit,
        "https://github.com/get-convex/convex-helpers/issues/381",
    ),
    "an id beyond int32 is 500": (
        "4.3-get-never-fails",
        fail_beyond_int32,
        "https://github.com/openaq/openaq-api/issues/390",
    ),
    "letters behind an id are ignored": (
        "4.3-asked-for",
        read_leading_digits,
        "https://github.com/accordproject/apap/issues/162",
    ),
    "leading zeros are lost": ("2-name-digits", drop_zeros, "https://github.com/CFCommunity/jsonutil/issues/2"),
    "a byte order mark stands first": (
        "1-json-body",
        where(on("list", 200), mark_bytes),
        "https://github.com/square/moshi/issues/169",
    ),
    "a warning stands first": (
        "1-json-body",
        where(on("get", 200), warn_first),
        "https://github.com/kalkun-sms/Kalkun/issues/252",
    ),
    "an absent animal is 403": (
        "4.3-absent",
        forbid_absent,
        "https://github.com/aws/aws-cli/issues/2041",
    ),
    "an absent animal is 200": (
        "4.3-absent",
        answer_absent,
        "https://github.com/miLibris/flask-rest-jsonapi/issues/184",
    ),
    "an absent animal is a page": ("7-404-error", show_page, "https://github.com/d2iq-archive/marathon/issues/176"),
    "a request without a key is 403": (
        "5-missing-key",
        forbid_without_key,
        "https://github.com/fastapi/fastapi/issues/2026",
    ),
    "a create is 200": ("4.2-created", create_with_200, "https://github.com/zetonteam/zeton_django/issues/194"),
    "a list has an animal twice": (
        "2-id-unique",
        repeat_the_first,
        "https://github.com/opendatadiscovery/odd-platform/issues/400",
    ),
    "an absent field is null": (
        "2-pet-status",
        write_absent_as_null,
        "https://github.com/open-education-api/specification/issues/394",
    ),
    "a success is plain text": ("1-media-type", call_it_plain_text, "https://github.com/google/cadvisor/issues/281"),
    "ids are texts": ("2-pet-id", in_pets("id", str), "https://github.com/grokability/snipe-it/issues/3802"),
    "integers are doubles": (
        "2-category-int64",
        in_pets("categoryId", as_a_double),
        "https://github.com/StarRocks/mcp-server-starrocks/issues/36",
    ),
    "blanks at the ends are lost": (
        "2-name-echoed",
        in_pets("name", str.strip),
        "https://github.com/encode/django-rest-framework/issues/2517",
    ),
    "names have at most 255 characters": (
        "2-name-echoed",
        in_pets("name", lambda name: name[:255]),
        "https://github.com/balderdashy/sails/issues/4401",
    ),
    "names are escaped for HTML": (
        "2-name-html",
        in_pets("name", html.escape),
        "https://github.com/SuiteCRM/SuiteCRM/issues/8101",
    ),
    "emoji are question marks": (
        "2-name-text",
        in_pets("name", without_wide_characters),
        "https://github.com/BerkeAras/WorkGroup/issues/37",
    ),
}


def refuse_zeros(turn: Turn) -> int | None:
    name = (turn.sent or {}).get("name")
    return 400 if turn.name == "create" and isinstance(name, str) and name.isdecimal() else None


def short_pages(turn: Turn) -> None:
    given = short_of_query(turn, "limit")
    if turn.name == "list" and turn.status == 200 and given and len(turn.document) > 1:
        turn.document = turn.document[: (len(turn.document) + 1) // 2]


def with_fractions(turn: Turn) -> None:
    def change(value: Anything) -> Anything:
        is_small = isinstance(value, int) and abs(value) < 2**53
        return float(value) if is_small else value

    for document in turn.document if isinstance(turn.document, list) else [turn.document]:
        document.update({name: change(value) for name, value in document.items()})


def name_the_charset(turn: Turn) -> None:
    turn.media_type = "application/json; charset=utf-8"


def reverse(turn: Turn) -> None:
    if turn.name == "list" and turn.status == 200:
        turn.document.reverse()


def explain_errors(turn: Turn) -> None:
    if turn.status >= 400 and turn.document is not None:
        turn.document["trace"] = "0af7651916cd43dd"


def say_more_of_animals(turn: Turn) -> None:
    for pet in turn.pets:
        pet["tags"] = []


def once_in_a_while(turns: int) -> Refuses:
    """Refuse each such request of a service that is overloaded now and then."""
    count = 0

    def refuses(_: Turn) -> int | None:
        nonlocal count
        count += 1
        return 503 if count % turns == 0 else None

    return refuses


def refuse_a_used_name(is_used: Callable[[Anything], bool]) -> Refuses:
    def refuses(turn: Turn) -> int | None:
        is_complete = turn.name == "create" and "HTTP_AUTHORIZATION" in turn.environ and turn.sent
        return 409 if is_complete and is_used((turn.sent or {}).get("name")) else None

    return refuses


def add_headers_of_a_cache(turn: Turn) -> None:
    turn.fields += [("Age", "0"), ("X-Cache", "MISS")]


# Services near them that keep the contract.
TWINS: dict[str, tuple[Change, Refuses | None]] = {
    "some responses are 503": (nothing, once_in_a_while(15)),
    "a used name is refused": (nothing, refuse_a_used_name(once_more())),
    "a cache asks the service each time": (add_headers_of_a_cache, None),
    "pages are short": (short_pages, None),
    "names of digits are refused": (nothing, refuse_zeros),
    "integers are written as 1.0": (with_fractions, None),
    "the media type has a charset": (name_the_charset, None),
    "lists are in another order": (reverse, None),
    "errors have further fields": (explain_errors, None),
    "animals have further fields": (say_more_of_animals, None),
    "emoji are refused": (nothing, refuses_names(lambda name: name == without_wide_characters(name))),
    "long names are refused": (nothing, refuses_names(lambda name: len(name) <= 255)),
    "names with blanks at their ends are refused": (nothing, refuses_names(lambda name: name == name.strip())),
    "markup is refused": (nothing, refuses_names(lambda name: name == html.escape(name))),
    "the body ends with a line break": (
        lambda turn: setattr(turn, "body", json.dumps(turn.document).encode() + b"\r\n"),
        None,
    ),
    "an id that is no integer is 400": (
        where(lambda turn: str(turn.environ["PATH_INFO"]).endswith("x") and turn.status == 404, fails_with(400)),
        None,
    ),
}
