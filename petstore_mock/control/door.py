"""The control door: routes a request, admits or refuses it, validates its arguments, and runs the verb."""

from __future__ import annotations

import logging
import re
from contextlib import nullcontext
from json import dumps
from typing import TYPE_CHECKING, Any, Final, TypedDict
from urllib.parse import parse_qs, unquote

from petstore_mock import __version__
from petstore_mock.common.dates import http_date
from petstore_mock.common.masking import cut
from petstore_mock.common.real import monotonic, time
from petstore_mock.common.refusing import did_you_mean
from petstore_mock.control.admission import PROBLEM_TYPE, Admission
from petstore_mock.control.console import console_page
from petstore_mock.control.schemas import Schema, door_document, shape_of, violations
from petstore_mock.core.refusals import ProblemError
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds, check_name
from petstore_mock.core.routing import BROWSER_FILES, CLOSED, DOOR_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.handler import Blocking, Handler
from petstore_mock.http.request import KNOWN_METHODS, ApiRequest
from petstore_mock.http.response import Head, Response, Stream
from petstore_mock.interface.conditions import CONDITIONS, reason_phrase
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json, read_integer
from petstore_mock.interface.violations import MOST_LISTED, Violation
from petstore_mock.verbs import VERBS, Verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.transport.server import Server

_LONGEST_DETAIL: Final = 10_000  # characters; a message may quote long values
_LIMIT: Final = 64 * 1024 * 1024  # bytes of a request body: several hundred thousand animals
_PATH: Final = re.compile(rf"(?:/(?:w|%77)/(?P<name>[^/?]*))?{DOOR_PATH}(?P<rest>/[^?]*)?", re.ASCII)
_ARGUMENT: Final = re.compile(r"\\{(\w+)\\}")  # a placeholder in a path after re.escape()
_FLAGS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_FIELDS: Final = {  # a page of another site must not frame, sniff or read a response
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
        self._verbs = [Verb(self.health, "GET", "health"), Verb(self.openapi, "GET", "openapi.json"), *VERBS]
        self._routes = [
            (re.compile(_ARGUMENT.sub(r"(?P<\1>[^/]+)", re.escape(verb.path))), verb) for verb in self._verbs
        ]
        worlds.host.has_door |= is_open

    def health(self, _: Worlds) -> HealthData:
        """Report that the stub is ready, its version, and its uptime in seconds."""
        return {"status": "ok", "version": __version__, "uptime": round(monotonic() - self.server.started, 3)}

    def openapi(self, _: Worlds, origin: str) -> dict[str, Any]:
        """Describe the control door as an OpenAPI 3.1 document."""
        return door_document(self._verbs, origin, __version__)

    # Called by the transport

    def serves(self, request: ApiRequest) -> bool:
        """Return whether the door handles a request. Such a request is not journalled and meets no fault."""
        path = request.target.partition("?")[0]
        if DOOR_PATH in path:
            return _PATH.fullmatch(path) is not None
        is_browser = path == "/" and self._is_open and "text/html" in (request.header("Accept") or "")
        return is_browser or path in BROWSER_FILES

    def handle(self, request: ApiRequest) -> Blocking:
        streams = request.method == "GET" and request.target.partition("?")[0].endswith("/events")
        return Blocking(lambda: self._respond(request), streams=streams)

    def body_limit(self, request: ApiRequest) -> int:
        try:
            self._admit(request, to_page=False)
        except ProblemError:
            return 0
        return _LIMIT

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:  # noqa: ARG002
        return _refused(ProblemError(f"{CONDITIONS[condition].message}: {detail}", CONDITIONS[condition].status))

    def failed(self, error: BaseException, request: ApiRequest) -> Response:  # noqa: ARG002
        _log.error("the control door failed", exc_info=error)
        return _refused(
            ProblemError(f"petstore-mock has a bug, please report it: {type(error).__name__}: {error}", 500)
        )

    # Routing

    def _respond(self, request: ApiRequest) -> Response | Stream:
        try:
            return self._routed(request)
        except PetStoreMockError as error:
            return _refused(error)
        except Exception as error:  # noqa: BLE001  # a bug must give a response and a log line
            return self.failed(error, request)

    def _admit(self, request: ApiRequest, *, to_page: bool) -> None:
        """Refuse a request that may not use the door. The files of the page need no token."""
        if not self._is_open:
            raise ProblemError(f"the control door is {CLOSED}", 404)
        scheme = "https" if self.server is self._service and self._worlds.host.tls else "http"
        self._admission.check_source(request, self.server.bound, self.server.port, scheme, to_page=to_page)
        if not to_page:
            self._admission.check_token(request)

    def _routed(self, request: ApiRequest) -> Response | Stream:
        target, method = request.target.partition("?")[0], request.method
        if target == "/" and method in {"GET", "HEAD"}:
            return _response(303, fields={"Location": f"{DOOR_PATH}/"})
        name, path = _parts_of(target)
        found = {verb.method: (verb, one) for pattern, verb in self._routes if (one := pattern.fullmatch(path[1:]))}
        found |= {"HEAD": found["GET"]} if "GET" in found else {}
        page = console_page(path)
        if path != "/health" or name is not None or method not in found:  # health is open to all
            self._admit(request, to_page=page is not None)
        if method not in KNOWN_METHODS:  # RFC 9110 §9.1
            raise ProblemError(f"expected a known method, such as GET; got {cut(method, 40)}", 501)
        if page is not None and method in {"GET", "HEAD"}:
            self._worlds.find(name or DEFAULT_WORLD)
            return _response(*page)
        if not found and page is None:
            known = [verb.path for verb in self._verbs if name is None or not shape_of(verb).root_only]
            came = f"{cut(path, 100)!r}{did_you_mean(path[1:], known)}"
            raise ProblemError(f"expected a path of the control door; got {came}", 404)
        allowed = ", ".join(sorted({"OPTIONS", *(found if page is None else ("GET", "HEAD"))}))
        if method == "OPTIONS":
            return _response(204, fields={"Allow": allowed})
        if method not in found:
            raise ProblemError(f"expected one of the methods {allowed}; got {method}", 405, Allow=allowed)
        verb, given = found[method]
        if shape_of(verb).root_only and name is not None:
            expected = f"{DOOR_PATH}{path}, which concerns all worlds"
            raise ProblemError(f"root only: expected {expected}; got the path of one world", 404)
        return self._run(request, verb, name, given.groupdict())

    # Running a verb

    def _run(self, request: ApiRequest, verb: Verb, name: str | None, in_path: Mapping[str, str]) -> Response | Stream:
        shape, fields = shape_of(verb), {"Content-Type": verb.media_type}
        arguments: dict[str, Any] = {one: _typed(unquote(in_path[one]), rules) for one, rules in shape.path.items()}
        arguments |= _query(request, shape.query)
        if shape.body is not None:
            body = _body(request, shape.body)
            arguments |= {verb.body: body} if verb.body else body
        own = {
            "origin": self._origin(request),
            "new": request.header("If-None-Match") == "*",  # RFC 9110 §13.1.2
            "shares_port": self.server is self._service,
        }
        own |= {} if name is None else {"name": name}
        arguments |= {one: value for one, value in own.items() if one in shape.added}
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
        """Return the service's address: --public-url, else from Host; on a control port, with the service's port."""
        host, shared = request.header("Host") or "localhost", self._worlds.host
        if self.server is not self._service:
            bare = host if host.endswith("]") else host.rpartition(":")[0] or host
            host = f"{bare}:{self._service.port}"
        return shared.public_url or f"http{'s' if shared.tls else ''}://{host}"


def _parts_of(target: str) -> tuple[str | None, str]:
    """Return the world in a path (None at the root) and the path below ``/__petstore``."""
    match = _PATH.fullmatch(target)
    if match is None:
        raise ProblemError(f"expected a path of the control door, such as {DOOR_PATH}/world", 404)
    name = None if match["name"] is None else unquote(match["name"])
    if name == DEFAULT_WORLD:
        check_name(name)  # raises an error: the only address of the default world is the root
    return name, match["rest"] or ""


# Arguments


def _query(request: ApiRequest, rules: Schema) -> Any:  # noqa: ANN401  # an object
    """Decode and validate the query. A repeated parameter becomes a list, which no schema allows."""
    known: Mapping[str, Schema] = rules["properties"]
    texts = parse_qs(request.target.partition("?")[2], keep_blank_values=True)
    value = {name: _typed(given[0], known.get(name, {})) if len(given) == 1 else given for name, given in texts.items()}
    return _validated(value, rules, "query")


def _typed(text: str, rules: Schema) -> object:
    """Convert text of a path or query. Wrong text stays a string, and the schema refuses it."""
    kind = rules.get("type")
    return read_integer(text) if kind == "integer" else _FLAGS.get(text, text) if kind == "boolean" else text


def _body(request: ApiRequest, rules: Schema) -> Any:  # noqa: ANN401  # a JSON value
    """Decode and validate the body. A request may omit it if no member is required."""
    required = rules.get("required", ["JSON"])
    if request.oversized:
        came = request.header("Content-Length") or "more"
        raise ProblemError(f"expected a body of at most {_LIMIT} bytes; got {came}", 413)
    if not request.body:
        if required:
            raise ProblemError(f"expected a body with {', '.join(required)}; got none", 422)
        return {}
    if not request.fields.is_json:
        came = cut(request.header("Content-Type") or "none", 100)
        raise ProblemError(f"expected Content-Type: application/json; got {came}", 415, Accept="application/json")
    if coding := request.fields.coding:  # RFC 9110 §12.5.3
        came = f"expected a body without Content-Encoding; got {cut(coding, 100)}"
        raise ProblemError(came, 415, Accept_Encoding="identity")
    try:
        value, repeated = decode_json(request.body)
    except MalformedJsonError as error:
        raise ProblemError(str(error), 400) from None
    if repeated:
        raise ProblemError(str(repeated[0]), 400, repeated)
    return _validated(value, rules, "body")


def _validated(value: Any, rules: Schema, location: str) -> Any:  # noqa: ANN401  # a JSON value
    """Return the value if its schema allows it."""
    found = () if value == {} and rules.get("required") == [] else violations(rules, value, location)
    if found:
        raise ProblemError(found.in_words(), 422, found)
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
        "title": reason_phrase(status),
        "status": status,
        "detail": cut(str(error), _LONGEST_DETAIL),
    }
    if broken:
        document["violations"] = [{"field": one.path, "message": str(one)} for one in broken[:MOST_LISTED]]
    content = dumps(document, ensure_ascii=False).encode("utf-8", "replace")  # a quoted value may have a lone surrogate
    return _response(status, content, {"Content-Type": PROBLEM_TYPE, **getattr(error, "fields", {})})
