"""Services with reported bugs of databases, parsers, routers and HTTP, and correct services near them."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from typing import Any

from petstore_mock import PetStoreMock
from tests.verify.frameworks import Reported, fields_of, header, hide_sold, is_create, raw_body, sends_fields
from tests.verify.servers import Handles, Response, Server, call, read_body, read_head, send
from tests.verify.services import Change, Refuses, Turn, in_pets, nothing, on
from tests.verify.stacks import unknown_category

Anything = Any


def target(turn: Turn) -> str:
    return str(turn.environ["REQUEST_URI"])


# Databases


def refuse_emoji(status: int) -> Refuses:
    def refuses(turn: Turn) -> int | None:
        name = fields_of(turn).get("name")
        return status if is_create(turn) and isinstance(name, str) and max(name, default="") > "\uffff" else None

    return refuses


def refuse_categories(status: int) -> Refuses:
    return lambda turn: status if unknown_category(turn) else None


def fail_for_nul(turn: Turn) -> int | None:
    return 500 if "%00" in turn.query and header(turn) else None


def find_nothing_for_nul(turn: Turn) -> None:
    if turn.name == "list" and header(turn) and "%00" in turn.query:
        turn.respond(200, [])


def only_line_feeds(name: str) -> str:
    return name.replace("\r\n", "\n")


# Parsers and serializers


def no_content_for_none(turn: Turn) -> None:
    hide_sold(turn)
    if on("list", 200)(turn) and not turn.document:
        turn.respond(204)


def spaced_list(turn: Turn) -> None:
    hide_sold(turn)
    if on("list", 200)(turn) and not turn.document:
        turn.body = b"[\n\n]\n"


def raw_quotes(turn: Turn) -> None:
    turn.body = _with_quotes(turn.document, '"')


def numbered_quotes(turn: Turn) -> None:
    turn.body = _with_quotes(turn.document, "\\u0022")


def _with_quotes(document: Anything, quote: str) -> bytes:
    """Return JSON with another form of the quotes in texts."""
    return re.sub(r"\\(.)", lambda match: quote if match[1] == '"' else match[0], json.dumps(document)).encode()


def as_cesu(turn: Turn) -> None:
    """Write each half of a surrogate pair as UTF-8."""
    text = json.dumps(turn.document, ensure_ascii=False)
    halves = text.encode("utf-16-be", "surrogatepass")
    letters = (chr(int.from_bytes(halves[place : place + 2], "big")) for place in range(0, len(halves), 2))
    turn.body = "".join(letters).encode("utf-8", "surrogatepass")


def in_capital_digits(turn: Turn) -> None:
    text = json.dumps(turn.document)
    turn.body = re.sub(r"(?<!\\)\\u[0-9a-f]{4}", lambda match: f"\\u{match[0][2:].upper()}", text).encode()


def depth(body: bytes) -> int:
    return max(body.count(b"["), body.count(b'":{'), body.count(b'": {'))


def refuse_depth(status: int) -> Refuses:
    return lambda turn: status if turn.name == "create" and header(turn) and depth(raw_body(turn)) > 400 else None


def in_snake_case(turn: Turn) -> None:
    if is_create(turn):
        fields = fields_of(turn)
        sends_fields(turn, categoryId=fields.get("category_id"), category_id=None)


def show_snake_case(turn: Turn) -> None:
    for pet in turn.pets:
        pet["category_id"] = pet.pop("categoryId")


def show_both_cases(turn: Turn) -> None:
    for pet in turn.pets:
        pet["category_id"] = pet["categoryId"]


def fail_for_infinity(turn: Turn) -> int | None:
    return 500 if is_create(turn) and float("inf") in map(_as_double, fields_of(turn).values()) else None


def _as_double(value: Anything) -> float:
    return value if isinstance(value, float) else 0.0


def refuse_exponents(turn: Turn) -> int | None:
    return 400 if is_create(turn) and re.search(rb"[0-9][eE][+-]?[0-9]+ *[,}]", raw_body(turn)) else None


# Routers and keys


def refuse_other_schemes(turn: Turn) -> int | None:
    return 401 if header(turn) and not header(turn).startswith("Bearer ") else None


def skip_blanks_of_scheme(turn: Turn) -> None:
    if header(turn):
        turn.environ["HTTP_AUTHORIZATION"] = re.sub("^(?i:bearer) +", "Bearer ", header(turn))


def leave_digits_encoded(turn: Turn) -> int | None:
    return 404 if turn.name == "get" and header(turn) and re.search("%3[0-9]", target(turn)) else None


def refuse_encoded_blanks(turn: Turn) -> int | None:
    return 400 if turn.name == "get" and header(turn) and "%20" in target(turn) else None


_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")


def fail_for_percent_sign(turn: Turn) -> int | None:
    return 500 if _BROKEN.search(target(turn)) else None


def show_page_for_percent_sign(turn: Turn) -> None:
    if _BROKEN.search(target(turn)):
        turn.status, turn.media_type, turn.body = 400, "text/html", b"<h1>400 Bad Request</h1>"


def require_header(turn: Turn) -> None:
    if not header(turn):
        turn.respond(422, {"detail": [{"loc": ["header", "authorization"], "msg": "field required"}]})


def with_detail(turn: Turn) -> None:
    if turn.status == 401:
        turn.document["detail"] = [{"loc": ["header", "authorization"], "msg": "field required"}]


# HTTP


def with_two_types(turn: Turn) -> None:
    if turn.status < 300:
        turn.fields.append(("Content-Type", "application/vnd.api+json"))


def with_profile(turn: Turn) -> None:
    turn.media_type = 'application/json; profile="pets, animals"'


def _chunks(body: bytes, extension: bytes = b"") -> bytes:
    parts = [body[place : place + 500] for place in range(0, len(body), 500)]
    return b"".join(b"%X%b\r\n%b\r\n" % (len(part), extension, part) for part in parts)


def chunked(
    *fields: str, extension: bytes = b"", end: bytes = b"0\r\n\r\n", is_whole: Callable[[bytes], bool] = lambda _: True
) -> Handles:
    """Return a server with chunks. It ends the connection behind a body that is not whole."""

    def handle(petstore: PetStoreMock, connection: socket.socket) -> None:
        behind = b""
        while True:
            request = read_head(connection, behind)
            body, behind = read_body(connection, request)
            response = call(petstore, request, body)
            _send_chunks(connection, response, fields, _chunks(response.body, extension))
            if not is_whole(response.body):
                connection.shutdown(socket.SHUT_WR)
                return
            connection.sendall(end)

    return handle


def _send_chunks(connection: socket.socket, response: Response, fields: tuple[str, ...], chunks: bytes) -> None:
    own = [f"{name}: {value}" for name, value in response.fields]
    lines = "".join(f"{line}\r\n" for line in [*own, *fields])
    connection.sendall(f"HTTP/1.1 {response.status}\r\n{lines}\r\n".encode("latin-1") + chunks)


CHUNKED = "Transfer-Encoding: chunked"


def by_case(name: str) -> Handles:
    """Return a server that finds a header field only by its name in this case."""

    def handle(petstore: PetStoreMock, connection: socket.socket) -> None:
        behind = b""
        while True:
            while b"\r\n\r\n" not in behind:
                behind += connection.recv(65536) or b"\r\n\r\n"
            has_field = f"\r\n{name}: ".encode() in behind
            request = read_head(connection, behind)
            body, behind = read_body(connection, request)
            if not has_field:
                request.fields.pop(name.lower(), None)
            send(connection, call(petstore, request, body))

    return handle


SERVERS: dict[str, Server] = {
    "a long list has no last chunk": Server(
        "4.1-list",
        "https://github.com/aspnet/KestrelHttpServer/issues/1858",
        chunked(CHUNKED, is_whole=lambda body: not body.startswith(b"[") or len(body) < 1_000),
        "expected a whole response",
    ),
    "the name of the field with the key has its case": Server(
        "5-key",
        "https://github.com/svdgraaf/serverless-basic-authentication/issues/8",
        by_case("Authorization"),
        "(names of header fields in lower case: RFC 9110 §5.1)",
    ),
    "bodies are called chunked twice": Server(
        "1-http", "https://github.com/kubernetes/ingress-nginx/issues/11162", chunked(CHUNKED, CHUNKED)
    ),
}

CORRECT_SERVERS: dict[str, Handles] = {
    "chunks have extensions, and a trailer": chunked(
        "Transfer-Encoding: Chunked", extension=b";x=1", end=b"0;x\r\nX-Count: 1\r\n\r\n"
    ),
}

REPORTED: dict[str, Callable[[], Reported]] = {
    "emoji are 500": lambda: Reported(
        "2-name-text", "https://github.com/autolab/Autolab/issues/1061", before=refuse_emoji(500)
    ),
    "an empty list is 204": lambda: Reported(
        "4.1-list", "https://github.com/PostgREST/postgrest/issues/70", no_content_for_none
    ),
    "quotes in texts are not escaped": lambda: Reported(
        "1-json-body", "https://github.com/grokability/snipe-it/issues/10950", raw_quotes
    ),
    "emoji are in CESU-8": lambda: Reported(
        "1-json-body", "https://github.com/JuliaIO/JSON.jl/issues/57", as_cesu, words="in UTF-8, unlike"
    ),
    "the scheme has to have its capital": lambda: Reported(
        "5-key", "https://github.com/oomol-lab/open-connector/issues/188", before=refuse_other_schemes
    ),
    "a digit that is encoded in the path is 404": lambda: Reported(
        "4.3-get", "https://github.com/seanmonstar/warp/issues/624", before=leave_digits_encoded
    ),
    "U+0000 in a filter is 500": lambda: Reported(
        "4.1-list-never-fails", "https://github.com/mozilla/sumo/issues/2815", before=fail_for_nul
    ),
    "a broken percent sign is 500": lambda: Reported(
        "4.1-list-never-fails", "https://github.com/rack/rack/issues/337", before=fail_for_percent_sign
    ),
    "a deep body is 500": lambda: Reported(
        "4.2-create-never-fails", "https://github.com/flop-labs/technocore-chat/issues/130", before=refuse_depth(500)
    ),
    "an unknown category is 500": lambda: Reported(
        "4.2-created", "https://github.com/atviriduomenys/spinta/issues/363", before=refuse_categories(500)
    ),
    "a missing key is 422": lambda: Reported(
        "5-missing-key", "https://github.com/edictum-ai/edictum-console/issues/18", require_header
    ),
    "Content-Type stands twice": lambda: Reported(
        "1-media-type", "https://github.com/miLibris/flask-rest-jsonapi/issues/99", with_two_types
    ),
    "members are in snake case": lambda: Reported(
        "2-pet-category", "https://github.com/magento/devdocs/issues/674", show_snake_case, in_snake_case
    ),
    "an infinite number is 500": lambda: Reported(
        "4.2-category-range", "https://github.com/pydantic/pydantic/issues/2345", before=fail_for_infinity
    ),
    "line breaks lose their carriage return": lambda: Reported(
        "2-name-lines", "https://github.com/zapadi/redmine-net-api/issues/66", in_pets("name", only_line_feeds)
    ),
}

# What changes the response, and what sees the request before.
TWINS: dict[str, tuple[Change, Refuses | None]] = {
    "emoji are 422": (nothing, refuse_emoji(422)),
    "an empty list has lines": (spaced_list, None),
    "quotes in texts are numbers": (numbered_quotes, None),
    "escapes are in capitals": (in_capital_digits, None),
    "the scheme has any case": (nothing, skip_blanks_of_scheme),
    "an encoded blank in the path is 400": (nothing, refuse_encoded_blanks),
    "a filter with U+0000 finds nothing": (find_nothing_for_nul, None),
    "a broken percent sign is a page with 400": (show_page_for_percent_sign, None),
    "a deep body is 413": (nothing, refuse_depth(413)),
    "an unknown category is 404": (nothing, refuse_categories(404)),
    "a refused key has details": (with_detail, None),
    "the media type has a profile": (with_profile, None),
    "members are in both cases": (show_both_cases, None),
    "exponents are refused": (nothing, refuse_exponents),
    "names with carriage returns are refused": (
        nothing,
        lambda turn: 400 if is_create(turn) and "\r" in str(fields_of(turn).get("name")) else None,
    ),
}
