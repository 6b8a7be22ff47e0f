"""The control door: routes a request, admits or refuses it, validates its arguments, and runs the verb."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast
from urllib.parse import unquote

from petstore_mock import __version__
from petstore_mock.common.dates import http_date
from petstore_mock.common.masking import cut
from petstore_mock.common.real import Event, monotonic, time
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.control.admission import PROBLEM_TYPE, Admission
from petstore_mock.control.console import console_page
from petstore_mock.control.schemas import Schema, Shape, door_document, shape_of, violations
from petstore_mock.core.refusals import ProblemError
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds, check_name
from petstore_mock.core.routing import BROWSER_FILES, CLOSED, DOOR_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.handler import Blocking, Handler
from petstore_mock.http.request import KNOWN_METHODS, ApiRequest, query_of
from petstore_mock.http.response import Head, Response, Stream
from petstore_mock.interface.conditions import CONDITIONS, reason_phrase
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json, read_integer
from petstore_mock.interface.violations import MOST_LISTED, Violation
from petstore_mock.verbs import VERBS, Verb
from petstore_mock.verbs.verb import Added, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.transport.server import Server
    from petstore_mock.verbs.events import EventFeed

    Route = tuple[re.Pattern[str], dict[str, Verb]]

_LONGEST_DETAIL: Final = 10_000  # characters; a message may quote long values
_LIMIT: Final = 64 * 1024 * 1024  # bytes of a request body: several hundred thousand animals
_PIECE: Final = 64 * 1024  # characters of a response that are sent at once
_PATH: Final = re.compile(rf"(?:/(?:w|%77)/(?P<name>[^/?]*))?{DOOR_PATH}(?P<rest>/[^?]*)?", re.ASCII)
_PORT: Final = re.compile(r":[^\]:]*$")  # in a Host field; an address of IPv6 is in brackets
_ARGUMENT: Final = re.compile(r"\\{(\w+)\\}")  # a placeholder in a path after re.escape()
_FLAGS: Final = {"true": True, "false": False}
_READING: Final = frozenset({"GET", "HEAD"})
# A page of another site must not frame, sniff or read a response.
_FIELDS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_log = logging.getLogger("petstore_mock")


class HealthData(TypedDict):
    status: str
    version: str
    uptime: float  # seconds


@dataclass(frozen=True, slots=True)
class _Place:
    """What a target names: a world, a path of the door, and the verbs or the file of the console at this path."""

    world: str | None  # None at the root
    path: str  # below ``/__petstore``
    verbs: Mapping[str, Verb]  # by method
    arguments: Mapping[str, str]  # the parts of the path that stand for placeholders, percent-encoded
    page: tuple[int, bytes, dict[str, str]] | None

    @property
    def name(self) -> str:
        """The name of the world."""
        return self.world or DEFAULT_WORLD

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that the path allows."""
        known = _READING if self.page is not None else self.verbs
        return tuple(sorted({"OPTIONS", *known}))


class Door(Handler):
    """The control door. The service passes it each request for which :meth:`serves` returns true.

    A closed door responds to ``health`` only.
    """

    def __init__(
        self, worlds: Worlds, server: Server, admission: Admission | None = None, *, is_open: bool = True
    ) -> None:
        self._worlds = worlds
        self._service = server
        self.server = server  # with --control-port, serve sets a second server here
        self._admission = admission or Admission()
        self._is_open = is_open
        self._verbs = [
            Verb(self.health, "GET", "health", is_public=True),
            Verb(self.openapi, "GET", "openapi.json"),
            *VERBS,
        ]
        self._streams = {f"/{verb.path}" for verb in self._verbs if verb.streams}
        self._routes = [*_routes_of(self._verbs)]
        worlds.host.has_door |= is_open

    def health(self, _: Worlds) -> HealthData:
        """Report that the stub is ready, its version, and its uptime in seconds."""
        return {"status": "ok", "version": __version__, "uptime": round(monotonic() - self.server.started, 3)}

    def openapi(self, _: Worlds, origin: Origin) -> dict[str, Any]:
        """Describe the control door as an OpenAPI 3.1 document."""
        return door_document(self._verbs, origin, __version__)

    # Called by the transport

    def serves(self, request: ApiRequest) -> bool:
        """Return whether the door handles a request. Such a request is not journalled and meets no fault."""
        path = _path_of(request)
        if DOOR_PATH in path:
            return _PATH.fullmatch(path) is not None
        if path in BROWSER_FILES:
            return True
        if not self._is_open or path != "/":
            return False
        return "text/html" in (request.header("Accept") or "")

    def handle(self, request: ApiRequest) -> Blocking:
        match = _PATH.fullmatch(_path_of(request))
        has_stream = match is not None and match["rest"] in self._streams
        left = Event()
        return Blocking(partial(self._respond, request, left), has_stream and request.method == "GET", left)

    def body_limit(self, request: ApiRequest) -> int:
        try:
            self._admit(request, to_page=False)
        except ProblemError:
            return 0
        return _LIMIT

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        row = CONDITIONS[condition]
        return _refused(ProblemError(f"{row.message}: {detail}", row.status))

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        _log.error("the control door failed", exc_info=error)
        detail = f"petstore-mock has a bug, please report it: {type(error).__name__}: {error}"
        return _refused(ProblemError(detail, 500))

    # Routing

    def _respond(self, request: ApiRequest, left: Event) -> Response | Stream:
        try:
            return self._routed(request, left)
        except PetStoreMockError as error:
            return _refused(error)
        except Exception as error:  # a bug must give a response and a log line
            return self.failed(error, request)

    def _routed(self, request: ApiRequest, left: Event) -> Response | Stream:
        _check_media_type(request)
        is_reading = request.method in _READING
        if is_reading and _path_of(request) == "/":
            return _response(303, fields={"Location": f"{DOOR_PATH}/"})
        place = self._place_of(request)
        if not self._is_public(request.method, place):
            self._admit(request, to_page=place.page is not None)
        if request.method not in KNOWN_METHODS:  # RFC 9110 §9.1
            raise ProblemError(f"expected a known method, such as GET; got {cut(request.method, 40)}", 501)
        if not place.verbs and place.page is None:
            raise self._unknown(place)
        if is_reading and place.page is not None:
            # A look at a world keeps it; a world that does not exist has no page.
            self._worlds.find(place.name)
            return _response(*place.page)
        if request.method == "OPTIONS":
            return _response(204, fields={"Allow": ", ".join(place.methods)})
        return self._run(request, self._allowed_verb(request.method, place), place, left)

    def _is_public(self, method: str, place: _Place) -> bool:
        verb = place.verbs.get(method)
        if verb is None or place.world is not None:
            return False
        return verb.is_public

    def _allowed_verb(self, method: str, place: _Place) -> Verb:
        verb = place.verbs.get(method)
        if verb is None:
            allowed = ", ".join(place.methods)
            raise ProblemError(f"expected one of the methods {allowed}; got {method}", 405, Allow=allowed)
        if shape_of(verb).root_only and place.world is not None:
            expected = f"{DOOR_PATH}{place.path}, which concerns all worlds"
            raise ProblemError(f"root only: expected {expected}; got the path of one world", 404)
        return verb

    def _place_of(self, request: ApiRequest) -> _Place:
        match = _PATH.fullmatch(_path_of(request))
        if match is None:
            raise ProblemError(f"expected a path of the control door, such as {DOOR_PATH}/world", 404)
        world = None if match["name"] is None else unquote(match["name"])
        if world == DEFAULT_WORLD:
            check_name(world)  # raises an error: the only address of the default world is the root
        path = match["rest"] or ""
        page = console_page(path)
        for pattern, verbs in self._routes:
            route = pattern.fullmatch(path)
            if route is not None:
                return _Place(world, path, verbs, route.groupdict(), page)
        return _Place(world, path, {}, {}, page)

    def _admit(self, request: ApiRequest, *, to_page: bool) -> None:
        """Refuse a request that may not use the door. The files of the page need no token."""
        if not self._is_open:
            raise ProblemError(f"the control door is {CLOSED}", 404)
        is_secure = self.server is self._service and self._worlds.host.tls
        scheme = "https" if is_secure else "http"
        self._admission.check_source(request, self.server.bound, self.server.port, scheme, to_page=to_page)
        if not to_page:
            self._admission.check_token(request)

    def _unknown(self, place: _Place) -> ProblemError:
        verbs = self._verbs
        if place.world is not None:
            verbs = [verb for verb in verbs if not shape_of(verb).root_only]
        hint = did_you_mean(place.path[1:], [verb.path for verb in verbs])
        return ProblemError(f"expected a path of the control door; got {cut(place.path, 100)!r}{hint}", 404)

    # Running a verb

    def _run(self, request: ApiRequest, verb: Verb, place: _Place, left: Event) -> Response | Stream:
        arguments = self._arguments(request, verb, place, left)
        if verb.streams:
            return self._stream(request, verb, arguments)
        result = self._result(verb, place.name, arguments)
        if verb.status == 204:
            return _response(204)
        if isinstance(result, Iterator):
            pieces = _pieces(cast("Iterator[str]", result))
            return Stream(_head(verb.status, {"Content-Type": verb.media_type}), _now(), pieces, chunked=True)
        is_json = verb.media_type == "application/json"
        content = encode_json(result) if is_json else str(result).encode()
        status = verb.status
        if verb.method == "PUT" and "previous" in result:
            status = 200  # RFC 9110 §9.3.4
        return _response(status, content, {"Content-Type": verb.media_type})

    def _result(self, verb: Verb, name: str, arguments: Mapping[str, object]) -> Json:
        if shape_of(verb).concerns_all:
            return verb(self._worlds, arguments)
        world = self._worlds.find(name)
        lock = world.lock if verb.locks else nullcontext()
        with self._worlds.visiting(world), lock:
            return verb(world, arguments)

    def _stream(self, request: ApiRequest, verb: Verb, arguments: Mapping[str, object]) -> Response | Stream:
        fields = {"Content-Type": verb.media_type}
        if request.method == "HEAD":
            return _response(200, fields=fields)
        feed: EventFeed = verb(self._worlds, arguments)
        return Stream(_head(200, fields), _now(), iter(feed), feed.overflowed)

    def _arguments(self, request: ApiRequest, verb: Verb, place: _Place, left: Event) -> dict[str, object]:
        """Return the validated arguments of the path, the query and the body, and those that the door adds."""
        shape = shape_of(verb)
        arguments: dict[str, object] = {}
        for name, rules in shape.path.items():
            arguments[name] = _typed(unquote(place.arguments[name]), rules)
        arguments |= _query(request, shape.query)
        body = _body(request, shape)
        arguments |= {verb.body: body} if verb.body else body
        added = {**self._added(request, place.world), Added.LEFT: left}
        for name, role in shape.added.items():
            if role in added:
                arguments[name] = added[role]
        return arguments

    def _added(self, request: ApiRequest, world: str | None) -> dict[Added, object]:
        added: dict[Added, object] = {
            Added.ORIGIN: self._origin(request),
            Added.ONLY_NEW: request.header("If-None-Match") == "*",  # RFC 9110 §13.1.2
            Added.SHARES_PORT: self.server is self._service,
        }
        if world is not None:
            added[Added.WORLD] = world
        return added

    def _origin(self, request: ApiRequest) -> str:
        """Return the service's address: --public-url, else from Host; on a control port, with the service's port."""
        shared = self._worlds.host
        if shared.public_url:
            return shared.public_url
        host = request.header("Host") or "localhost"
        if self.server is not self._service:
            host = f"{_PORT.sub('', host)}:{self._service.port}"
        scheme = "https" if shared.tls else "http"
        return f"{scheme}://{host}"


def _routes_of(verbs: Sequence[Verb]) -> Iterator[Route]:
    """Yield a pattern for each path of the door, with the verbs of the path by method."""
    by_path: dict[str, dict[str, Verb]] = {}
    for verb in verbs:
        by_path.setdefault(verb.path, {})[verb.method] = verb
    for path, by_method in by_path.items():
        if "GET" in by_method:
            by_method["HEAD"] = by_method["GET"]
        pattern = _ARGUMENT.sub(r"(?P<\1>[^/]+)", re.escape(f"/{path}"))
        yield re.compile(pattern), by_method


def _path_of(request: ApiRequest) -> str:
    return request.target.partition("?")[0]


# Arguments


def _query(request: ApiRequest, rules: Schema) -> JsonObject:
    """Decode and validate the query. A repeated parameter becomes a list, which no schema allows."""
    known: Mapping[str, Schema] = rules["properties"]
    query: JsonObject = {}
    for name, values in query_of(request.target).items():
        query[name] = values
        if len(values) == 1:
            query[name] = _typed(values[0], known.get(name, {}))
    _require_valid(query, rules, "query")
    return query


def _typed(text: str, rules: Schema) -> object:
    """Convert text of a path or query. Wrong text stays a string, and the schema refuses it."""
    kind = rules.get("type")
    if kind == "integer":
        return read_integer(text)
    if kind == "boolean":
        return _FLAGS.get(text, text)
    return text


def _check_media_type(request: ApiRequest) -> None:
    """Refuse a body that is not declared as JSON, at each path of the door.

    A page of another site can send a body of some other types without a preflight. An empty body needs no type: some
    clients send a Content-Type, or an empty chunked body, although they send nothing.
    """
    announced = (request.header("Content-Length") or "").strip("0")
    has_body = request.body or request.oversized or announced
    if has_body and not request.fields.is_json:
        got = cut(request.header("Content-Type") or "none", 100)
        raise ProblemError(f"expected Content-Type: application/json; got {got}", 415, Accept="application/json")


def _body(request: ApiRequest, shape: Shape) -> Json:
    """Decode and validate the body. A request may omit it if no member is required."""
    if request.oversized:
        got = request.header("Content-Length") or "more"
        raise ProblemError(f"expected a body of at most {_LIMIT} bytes; got {got}", 413)
    if request.body:
        value = _decoded(request)
        _require_valid(value, shape.body, "body")
        return value
    required = shape.body.get("required", ["JSON"])
    if required:
        raise ProblemError(f"expected a body with {', '.join(required)}; got none", 422)
    return {}


def _decoded(request: ApiRequest) -> Json:
    coding = request.fields.coding
    if coding:  # RFC 9110 §12.5.3
        words = f"expected a body without Content-Encoding; got {cut(coding, 100)}"
        raise ProblemError(words, 415, Accept_Encoding="identity")
    try:
        value, repeated = decode_json(request.body)
    except MalformedJsonError as error:
        raise ProblemError(str(error), 400) from None
    if repeated:
        raise ProblemError(str(repeated[0]), 400, repeated)
    return value


def _require_valid(value: Json, rules: Schema, location: str) -> None:
    """Refuse a value that its schema does not allow."""
    if value == {} and rules.get("required") == []:
        return
    broken = violations(rules, value, location)
    if broken:
        raise ProblemError(broken.in_words(), 422, broken)


# Responses


def _now() -> bytes:
    return http_date(time()).encode("ascii")


def _pieces(texts: Iterator[str]) -> Iterator[bytes]:
    """Yield the texts as larger pieces, because each piece that is sent takes a turn of the loop."""
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting = []
            size = 0
    yield "".join(waiting).encode("utf-8", "replace")


def _head(status: int, fields: Mapping[str, str]) -> Head:
    return Head(status, list({**_FIELDS, **fields}.items()))


def _response(status: int, content: bytes = b"", fields: Mapping[str, str] | None = None) -> Response:
    return Response(_head(status, fields or {}), content, _now())


def _refused(error: PetStoreMockError) -> Response:
    """Return a problem document (RFC 9457)."""
    status: int = getattr(error, "status", 422)
    broken: Sequence[Violation] = getattr(error, "violations", ())
    document: dict[str, object] = {
        "title": reason_phrase(status),
        "status": status,
        "detail": cut(str(error), _LONGEST_DETAIL),
    }
    if broken:
        listed = broken[:MOST_LISTED]
        document["violations"] = [{"field": violation.path, "message": str(violation)} for violation in listed]
    # A quoted value may have a lone surrogate.
    content = dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    fields: Mapping[str, str] = getattr(error, "fields", {})
    return _response(status, content, {"Content-Type": PROBLEM_TYPE, **fields})
