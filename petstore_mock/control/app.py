"""The door as a WSGI application: routes a request, lets it in or refuses it, and has it carried out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Map, Rule

from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.common.real_time import RealTime
from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.control.console import console_page
from petstore_mock.control.handlers import DoorCall, Handlers
from petstore_mock.control.mount import BODY_LIMIT, PATH
from petstore_mock.control.operations import OPERATIONS, DoorOperation
from petstore_mock.control.problems import PROBLEM_TYPE, ProblemError
from petstore_mock.control.validation import checked_query, decoded_body
from petstore_mock.core.tenants import FullError, Tenants
from petstore_mock.core.world_registry import DEFAULT_WORLD, check_name
from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.request import KNOWN_METHODS
from petstore_mock.transport.mounted import REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from wsgiref.types import StartResponse, WSGIEnvironment

    from petstore_mock.control.admission import Admission
    from petstore_mock.transport.server import WireServer

__all__ = ["ControlApp"]

_log = logging.getLogger("petstore_mock")

_SECURITY: Final = (  # a page of another site may not frame, sniff or read what the door answers
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
)


class ControlApp:
    """The control door (PEP 3333). Thread-safe; bad input gets a problem document, never a 5xx.

    Args:
        tenants: the worlds that it steers.
        admission: says who may come in, once the listener knows.
        version: of the package, for ``health``.
        service: gives the service's listener, where the door has a port of its own; None where they share one.
        close_connections: closes the idle ones of the service: of these numbers, or all for None.
    """

    def __init__(
        self,
        tenants: Tenants,
        admission: Callable[[], Admission],
        *,
        version: str,
        service: Callable[[], WireServer] | None = None,
        close_connections: Callable[[frozenset[int] | None], None],
    ) -> None:
        self._tenants = tenants
        self._admission = admission
        self._service = service
        self._handlers = Handlers(
            tenants, version, RealTime.monotonic(), close_connections, own_port=service is not None
        )
        self._routes = Map(
            [Rule(_rule(one), endpoint=one, methods=[one.method]) for one in OPERATIONS],
            strict_slashes=True,
            merge_slashes=False,
        )

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        request.max_content_length = BODY_LIMIT
        try:
            response = self._respond(request)
        except ProblemError as problem:
            response = _problem(problem)
        except HTTPException as error:
            response = _problem(_as_problem(error))
        except Exception as error:  # noqa: BLE001  # a bug of ours must be an answer, and be seen
            _log.exception("the control door itself failed")
            response = _problem(
                ProblemError(500, f"the fake itself failed, a bug in it: {type(error).__name__}: {error}")
            )
        for name, value in _SECURITY:
            response.headers.setdefault(name, value)
        if request.method == "HEAD" and response.is_streamed:
            response.close()
            response = Response(status=response.status_code, headers=response.headers)
        return response(environ, start_response)

    def admits(self, environ: WSGIEnvironment) -> bool:
        """Say whether the head of a request lets it in: of who stays out, no large body is to be kept."""
        request, admission = Request(environ), self._admission()
        try:
            admission.check_source(request, to_page=False)
            admission.check_token(request)
        except ProblemError:
            return False
        return True

    def _respond(self, request: Request) -> Response:
        refused = request.environ.get(REFUSED)
        if refused is not None:
            condition, detail = refused
            raise ProblemError(CONDITIONS[condition].status, f"expected a request that HTTP allows; {detail}")
        if request.method not in KNOWN_METHODS:
            raise ProblemError(501, f"expected a method of HTTP; got {request.method[:40]!r}")  # RFC 9110 §9.1
        name, path = _parts(request)
        operation, arguments, allowed = self._route(request, path, at_root=name is None)
        if operation is not None and operation.is_open:
            return self._carry_out(request, operation, None, {})
        page = console_page(path) if name is None or self._tenants.find(name) is not None else None
        admission = self._admission()
        admission.check_source(request, to_page=page is not None)
        if page is not None:
            if request.method not in {"GET", "HEAD"}:
                raise _method_not_allowed(["GET", "HEAD"])
            return page
        admission.check_token(request)
        if operation is None:
            if request.method == "OPTIONS" and allowed:
                return Response(status=204, headers={"Allow": ", ".join(allowed)})
            if allowed:
                raise _method_not_allowed(allowed)
            names = [one.path for one in OPERATIONS if name is None or not one.root_only]
            raise ProblemError(404, f"expected a path of the door; got {path[:100]!r}{did_you_mean(path[1:], names)}")
        return self._carry_out(request, operation, name, arguments)

    def _route(
        self, request: Request, path: str, *, at_root: bool
    ) -> tuple[DoorOperation | None, dict[str, str], list[str]]:
        """Return what a method and a path stand for, its arguments, or the methods that the path has."""
        adapter = self._routes.bind("localhost")
        method = "GET" if request.method == "HEAD" else request.method
        try:
            operation, arguments = adapter.match(path, method)
        except MethodNotAllowed as error:
            methods = {*(error.valid_methods or ()), "OPTIONS"} - {"HEAD"}
            return None, {}, sorted({*methods, "HEAD"} if "GET" in methods else methods)
        except HTTPException:  # NotFound, or a redirect that would add a slash
            return None, {}, []
        if operation.root_only and not at_root:
            return None, {}, []
        return operation, {name: unquote(text) for name, text in arguments.items()}, []  # matched before it is decoded

    def _carry_out(
        self, request: Request, operation: DoorOperation, name: str | None, arguments: dict[str, str]
    ) -> Response:
        query = checked_query(request.args, operation.query)
        body = _body(request, operation)
        call = DoorCall(
            name=DEFAULT_WORLD if name is None else name,
            at_root=name is None,
            origin=self._origin(request),
            arguments=arguments,
            query=query,
            body=body,
        )
        if name is not None and operation.name == "make_world":
            try:
                check_name(name)
            except PetStoreMockError as error:
                raise ProblemError(422, str(error)) from None
        elif name == DEFAULT_WORLD:
            raise ProblemError(
                404, f"expected the name of a world by address; the door of the default one is {DOOR_PATH}/"
            )
        try:
            answer = operation.handler(self._handlers, call)
        except PetStoreMockError as error:
            raise ProblemError(422, str(error)) from None
        except FullError as error:
            raise ProblemError(507, str(error)) from None
        if isinstance(answer, Response):
            return answer
        status = next(iter(operation.answers))
        if answer is None:
            return Response(status=status)
        content = encode_json(answer) if operation.media_type == "application/json" else answer
        return Response(content, status, content_type=operation.media_type)

    def _origin(self, request: Request) -> str:
        """Return the address that the client has asked, as the service's: by its own Host."""
        host = request.headers.get("Host", "localhost")
        if self._service is None:
            return f"{request.scheme}://{host}"
        service = self._service()
        bare = host if host.endswith("]") else host.rpartition(":")[0] or host
        return f"{'https' if service.speaks_tls else 'http'}://{bare}:{service.port}"


def _rule(operation: DoorOperation) -> str:
    """Return the path of an operation as werkzeug writes it."""
    return "/" + operation.path.replace("{", "<").replace("}", ">")


def _parts(request: Request) -> tuple[str | None, str]:
    """Return the world that a request names, None at the root, and its path below ``/__petstore``."""
    raw = request.environ.get("RAW_URI") or request.environ.get("REQUEST_URI") or request.path
    match = PATH.fullmatch(raw.partition("?")[0])
    if match is None:
        raise NotFound
    name = match["name"]
    return None if name is None else unquote(name), match["rest"] or ""


def _body(request: Request, operation: DoorOperation) -> Any:  # noqa: ANN401  # a JSON value
    """Read and validate the body; an operation without one takes an empty object as well."""
    if request.content_length is not None and request.content_length > BODY_LIMIT:
        raise ProblemError(413, f"expected at most {BODY_LIMIT} bytes; got {request.content_length}")
    content = request.get_data(cache=False)
    if not content:
        if operation.needs_body:
            raise ProblemError(422, f"expected a body of JSON with {operation.name}; got none")
        return {}
    if request.mimetype != "application/json":
        came = repr(request.content_type[:100]) if request.content_type else "none"
        raise ProblemError(
            415, f"expected Content-Type: application/json; got {came}", headers={"Accept": "application/json"}
        )
    return decoded_body(content, operation.body or "Nothing")


def _as_problem(error: HTTPException) -> ProblemError:
    status = error.code or 500
    details = {
        404: f"expected a path of the door, such as {DOOR_PATH}/world",
        413: f"expected at most {BODY_LIMIT} bytes",
    }
    return ProblemError(status, details.get(status, error.description or ""))


def _method_not_allowed(methods: Sequence[str]) -> ProblemError:
    allowed = ", ".join(methods)
    return ProblemError(405, f"expected one of the methods {allowed}", headers={"Allow": allowed})  # RFC 9110 §15.5.6


def _problem(problem: ProblemError) -> Response:
    return Response(problem.body(), problem.status, headers=problem.headers, content_type=PROBLEM_TYPE)
