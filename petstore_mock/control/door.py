"""The door: routes a request, admits or refuses it, judges its arguments, and lets the verb do it."""

from __future__ import annotations

import logging
import re
from contextlib import nullcontext
from dataclasses import replace
from http import HTTPStatus
from json import dumps
from typing import TYPE_CHECKING, Any, Final, TypedDict
from urllib.parse import parse_qs, unquote

from petstore_mock import __version__
from petstore_mock.common.dates import http_date
from petstore_mock.common.masking import cut
from petstore_mock.common.real import monotonic, time
from petstore_mock.common.refusing import did_you_mean
from petstore_mock.control.admission import PROBLEM_TYPE, Admission, ProblemError, is_loopback
from petstore_mock.control.console import console_page
from petstore_mock.control.schemas import Schema, door_document, in_place, shape_of
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds, check_name
from petstore_mock.core.routing import CLOSED, DOOR_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.handler import Blocking
from petstore_mock.http.request import KNOWN_METHODS, UNASKED_BODY, ApiRequest
from petstore_mock.http.response import Head, Response, Stream
from petstore_mock.interface import schemas
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json, read_integer
from petstore_mock.verbs import VERBS, Verb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from petstore_mock.interface.violations import Violation
    from petstore_mock.transport.server import Server

_LONGEST_DETAIL: Final = 10_000  # characters; a sentence may show a part of megabytes
_SHOWN: Final = 20  # violations
_LIMIT: Final = 64 * 1024 * 1024  # bytes of a body: some hundred thousand animals
_PATH: Final = re.compile(rf"(?:/(?:w|%77)/(?P<name>[^/?]*))?{DOOR_PATH}(?P<rest>/[^?]*)?", re.ASCII)
_ARGUMENT: Final = re.compile(r"\\{(\w+)\\}")  # in an escaped path
_OF_BROWSERS: Final = frozenset({"/favicon.ico", "/robots.txt"})  # they ask for these themselves
_READING: Final = frozenset({"GET", "HEAD"})
_FLAGS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_FIELDS: Final = {  # a page of another site may not frame, sniff or read the responses
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


class Door:
    """The control door: a ``Handler``, to which a service hands the requests that :meth:`serves` claims.

    The server knows where it listens once it does. ``service`` returns that of the service, where the door has a port
    of its own. A door that is not open tells its health alone.
    """

    def __init__(
        self,
        worlds: Worlds,
        server: Callable[[], Server],
        admission: Admission | None = None,
        *,
        is_open: bool = True,
        service: Callable[[], Server] | None = None,
    ) -> None:
        self._worlds = worlds
        self._server = server
        self._rules = admission or Admission()
        self._is_open = is_open
        self._service = service
        self._verbs = [Verb(self.health, "GET", "health"), Verb(self.openapi, "GET", "openapi.json"), *VERBS]
        self._routes = [
            (re.compile(_ARGUMENT.sub(r"(?P<\1>[^/]+)", re.escape(verb.path))), verb) for verb in self._verbs
        ]
        worlds.host.has_door |= is_open

    def health(self, _: Worlds) -> HealthData:
        """Say that the stub serves."""
        return {"status": "ok", "version": __version__, "uptime": round(monotonic() - self._server().started, 3)}

    def openapi(self, _: Worlds, origin: str) -> dict[str, Any]:
        """Describe the door as an OpenAPI 3.1 document."""
        return door_document(self._verbs, origin, __version__)

    @property
    def _admission(self) -> Admission:
        server = self._server()
        scheme = "https" if self._service is None and self._worlds.host.tls else "http"
        return replace(self._rules, loopback=is_loopback(server.bound), port=server.port, scheme=scheme)

    # What the transport asks

    def serves(self, request: ApiRequest) -> bool:
        """Say whether a request is the door's: it is never journalled, and meets no fault."""
        path = request.target.partition("?")[0]
        if DOOR_PATH in path:
            return _PATH.fullmatch(path) is not None
        is_browser = path == "/" and self._is_open and "text/html" in (request.header("Accept") or "")
        return is_browser or path in _OF_BROWSERS

    def handle(self, request: ApiRequest) -> Blocking:
        streams = request.method == "GET" and request.target.partition("?")[0].endswith("/events")
        return Blocking(lambda: self._respond(request), streams=streams)

    def admits(self, request: ApiRequest, _: int | None) -> bool:
        try:
            self._admission.check_source(request, to_page=False)
            self._admission.check_token(request)
        except ProblemError:
            return False
        return self._is_open

    def body_limit(self, request: ApiRequest) -> int:
        return _LIMIT if self.admits(request, None) else UNASKED_BODY

    def generation(self) -> object:
        return None

    def refuse(self, condition: str, detail: str, _: ApiRequest, __: object = None) -> Response:
        return _refused(ProblemError(CONDITIONS[condition].status, f"expected what HTTP allows; got {detail}"))

    def failed(self, error: BaseException, _: ApiRequest) -> Response:
        _log.error("the control door failed", exc_info=error)
        return _refused(ProblemError(500, f"a bug of petstore-mock: {type(error).__name__}: {error}"))

    def connection_opened(self) -> None: ...

    def handshake_failed(self, reason: str) -> None: ...

    # Routing

    def _respond(self, request: ApiRequest) -> Response | Stream:
        try:
            return self._routed(request)
        except PetStoreMockError as error:
            return _refused(error)
        except Exception as error:  # noqa: BLE001  # a bug must be a response, and be seen
            return self.failed(error, request)

    def _routed(self, request: ApiRequest) -> Response | Stream:
        target = request.target.partition("?")[0]
        match = _PATH.fullmatch(target)
        if match is None:
            if target == "/" and request.method in _READING:
                return _response(303, fields={"Location": f"{DOOR_PATH}/"})
            raise ProblemError(404, f"expected a path of the control door, such as {DOOR_PATH}/world")
        path: str = match["rest"] or ""
        name = None if match["name"] is None else unquote(match["name"])
        verbs, given = self._route(path[1:])
        if path == "/health" and name is None and request.method in _READING:
            return self._done(request, verbs["GET"], name, given)
        if not self._is_open:
            raise ProblemError(404, f"the control door is {CLOSED}")
        if name == DEFAULT_WORLD:
            check_name(name)  # which refuses it: the default world has no address but the root
        page = console_page(path)
        allowed = sorted({*verbs, "OPTIONS"} | ({"GET", "HEAD"} if page or "GET" in verbs else set[str]()))
        self._admission.check_source(request, to_page=page is not None)
        _check_method(request.method, allowed)
        if page is not None:
            self._worlds.find(name or DEFAULT_WORLD)
            return _response(*page)
        self._admission.check_token(request)
        if not verbs:
            known = [verb.path for verb in self._verbs if name is None or not shape_of(verb).root_only]
            came = f"{cut(path, 100)!r}{did_you_mean(path[1:], known)}"
            raise ProblemError(404, f"expected a path of the door; got {came}")
        if request.method == "OPTIONS":
            return _response(204, fields={"Allow": ", ".join(allowed)})
        verb = verbs["GET" if request.method == "HEAD" else request.method]
        if shape_of(verb).root_only and name is not None:
            raise ProblemError(404, f"root only: {path[1:]} concerns all worlds, and stands at {DOOR_PATH}{path}")
        return self._done(request, verb, name, given)

    def _route(self, path: str) -> tuple[dict[str, Verb], dict[str, str]]:
        """Return the verbs of a path by method, and the arguments in it."""
        found = {verb.method: (verb, match) for pattern, verb in self._routes if (match := pattern.fullmatch(path))}
        given = {name: unquote(text) for _, match in found.values() for name, text in match.groupdict().items()}
        return {method: verb for method, (verb, _) in found.items()}, given

    # Doing

    def _done(self, request: ApiRequest, verb: Verb, name: str | None, given: dict[str, str]) -> Response | Stream:
        shape = shape_of(verb)
        arguments: dict[str, Any] = {path: _typed(given[path], rules) for path, rules in shape.path.items()}
        arguments |= _query(request, shape.query)
        if shape.body is not None:
            body = _body(request, shape.body)
            arguments |= {verb.body: body} if verb.body else body
        if "origin" in shape.carried:
            arguments["origin"] = self._origin(request)
        if "name" in shape.carried and name is not None:
            arguments["name"] = name
        if "new" in shape.carried:  # RFC 9110 §13.1.2
            arguments["new"] = request.header("If-None-Match") == "*"
        fields = {"Content-Type": verb.media_type}
        if verb.media_type == "text/event-stream":
            if request.method == "HEAD":
                return _response(200, fields=fields)
            return Stream(_head(200, fields), _now(), verb(self._worlds, arguments))
        if shape.concerns_all:
            result = verb(self._worlds, arguments)
        else:
            world = self._worlds.find(name or DEFAULT_WORLD)
            with self._worlds.visiting(world), world.lock if verb.locks else nullcontext():
                result = verb(world, arguments)
        if verb.status == 204:
            return _response(204)
        content = encode_json(result) if verb.media_type == "application/json" else str(result).encode()
        status = 200 if verb.method == "PUT" and "previous" in result else verb.status  # RFC 9110 §9.3.4
        return _response(status, content, fields)

    def _origin(self, request: ApiRequest) -> str:
        """Return the address of the service: the public one, else as the client names this machine."""
        if self._worlds.host.public_url:
            return self._worlds.host.public_url
        host = request.header("Host") or "localhost"
        if self._service is not None:
            bare = host if host.endswith("]") else host.rpartition(":")[0] or host
            host = f"{bare}:{self._service().port}"
        return f"http{'s' if self._worlds.host.tls else ''}://{host}"


def _check_method(method: str, allowed: list[str]) -> None:
    if method not in KNOWN_METHODS:  # RFC 9110 §9.1
        raise ProblemError(501, f"expected a method of HTTP; got {cut(method, 40)}")
    if allowed != ["OPTIONS"] and method not in allowed:
        names = ", ".join(allowed)
        raise ProblemError(405, f"expected one of the methods {names}; got {method}", Allow=names)


# Arguments


def _query(request: ApiRequest, rules: Schema) -> Any:  # noqa: ANN401  # an object
    """Decode and judge the query; the judge refuses the list that a repeated parameter becomes."""
    known: Mapping[str, Schema] = rules["properties"]
    texts = parse_qs(request.target.partition("?")[2], keep_blank_values=True)
    value = {name: _typed(given[0], known.get(name, {})) if len(given) == 1 else given for name, given in texts.items()}
    return _judged(value, rules, "query")


def _typed(text: str, rules: Schema) -> object:
    """Return the value that a text in a path or a query stands for; the judge refuses text that stands for none."""
    kind = rules.get("type")
    return read_integer(text) if kind == "integer" else _FLAGS.get(text, text) if kind == "boolean" else text


def _body(request: ApiRequest, rules: Schema) -> Any:  # noqa: ANN401  # a JSON value
    """Decode and judge the body; an object without required members may be missing."""
    if request.oversized:
        came = request.header("Content-Length") or "more"
        raise ProblemError(413, f"expected a body of at most {_LIMIT} bytes; got {came}")
    if not request.body:
        if rules.get("required", True):
            raise ProblemError(422, f"expected a body with {', '.join(rules.get('required', ['JSON']))}; got none")
        return {}
    if not request.fields.is_json:
        came = cut(request.header("Content-Type") or "none", 100)
        raise ProblemError(415, f"expected Content-Type: application/json; got {came}", Accept="application/json")
    if coding := request.fields.coding:  # RFC 9110 §12.5.3
        came = f"expected a body without Content-Encoding; got {cut(coding, 100)}"
        raise ProblemError(415, came, Accept_Encoding="identity")
    try:
        value, repeated = decode_json(request.body)
    except MalformedJsonError as error:
        raise ProblemError(400, str(error)) from None
    if repeated:
        raise ProblemError(400, str(repeated[0]), repeated)
    return _judged(value, rules, "body")


def _judged(value: Any, rules: Schema, location: str) -> Any:  # noqa: ANN401  # a JSON value
    """Return a value that its schema allows. An empty object with no required members asks no judge."""
    if value == {} and not rules.get("required", True):
        return value
    found = schemas.violations(in_place(rules, value), value, location)
    if found:
        more = len(found[_SHOWN:]) + found.omitted
        words = "; ".join(map(str, found[:_SHOWN]))
        raise ProblemError(422, f"{words}{f'; and {more} more' if more else ''}", found)
    return value


# Responses


def _now() -> bytes:
    return http_date(time()).encode("ascii")


def _head(status: int, fields: Mapping[str, str]) -> Head:
    return Head(status, list({**_FIELDS, **fields}.items()))


def _response(status: int, content: bytes = b"", fields: Mapping[str, str] | None = None) -> Response:
    return Response(_head(status, fields or {}), content, _now())


def _refused(error: PetStoreMockError) -> Response:
    """Return a problem document (RFC 9457)."""
    status: int = getattr(error, "status", 422)
    broken: Sequence[Violation] = getattr(error, "violations", ())
    document: dict[str, Any] = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": cut(str(error), _LONGEST_DETAIL),
    }
    if broken:
        document["violations"] = [{"field": one.path, "message": str(one)} for one in broken[:_SHOWN]]
    text = dumps(document, ensure_ascii=False, separators=(",", ":"))
    content = text.encode("utf-8", "replace")  # a value may have a lone surrogate
    return _response(status, content, {"Content-Type": PROBLEM_TYPE, **getattr(error, "fields", {})})
