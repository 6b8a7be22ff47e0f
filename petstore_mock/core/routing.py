"""The rules in force: one behaviour, compiled. Routes requests and validates their parameters.

A route depends on the method and the target alone, so the rules keep the routes of recent requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.bounded import Bounded
from petstore_mock.common.masking import cut
from petstore_mock.http.request import KNOWN_METHODS
from petstore_mock.http.response import PLAIN, Head, WireFormat
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import Behaviour, policies
from petstore_mock.interface.gaps import RULES
from petstore_mock.interface.strict_json import percent_decode, read_integer
from petstore_mock.interface.table import BASE_PATH, METHODS, OPERATIONS, ROUTES, Operation, Parameter, in_words
from petstore_mock.interface.violations import Violation, no_such_name, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.core.store import Body, Filter

ResponseFields = tuple[tuple[str, str], ...]

SERVER: Final = ("Server", "petstore-mock")  # so that nobody takes the fake for the real service
DOOR_PATH: Final = "/__petstore"
# The door may be open on a port of its own: the greeting says where.
CLOSED: Final = "closed on this port: serve --control or PetStoreMock(control=True) opens it; --control-port, another"
_KEPT_ROUTES: Final = 1024  # a client uses a handful; a fuzzer must not fill the memory
_KEPT_TARGET: Final = 512  # characters
_KEPT_HEADS: Final = 1024
_KEPT_BODIES: Final = 32  # a test creates the same few animals
_SHOWN_METHOD: Final = 40  # characters
_SHOWN_PATH: Final = 200
_BROWSER_FILES: Final = ("/favicon.ico", "/robots.txt")  # browsers and crawlers ask for them unasked
_SHOWN_PART: Final = 80  # of a query


@dataclass(frozen=True, slots=True)
class Refusal:
    condition: str  # a name of ``CONDITIONS``
    violations: tuple[Violation, ...] = ()
    detail: str = ""
    omitted: int = 0  # how many more rules are broken
    fields: ResponseFields = ()  # of the response


@dataclass(slots=True, eq=False)  # compared by identity: the store keeps responses by route
class Route:
    operation: Operation | None = None
    refusal: Refusal | None = None  # what is wrong with path or method; such a request needs no key
    allow: str = ""  # the methods of the path
    invalid: Refusal | None = None  # what is wrong with the parameters; comes after the key
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])  # the values of the parameters, defaults included
    filters: tuple[Filter, ...] = ()  # which animals a list has

    @property
    def pet_id(self) -> int:
        """The identifier in the path; 0 where there is none."""
        operation = self.operation
        parameter = None if operation is None else operation.path_parameter
        return 0 if parameter is None else self.arguments.get(parameter.name, 0)


class Rules:
    """The policies of one behaviour, ready for use. Immutable but for what it remembers."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.policies = chosen = policies(behaviour)
        self.field_rules = [(gap, getattr(chosen, gap.name)) for gap in RULES if getattr(chosen, gap.name)]
        self.bodies: Bounded[tuple[str, bytes], Body] = Bounded(_KEPT_BODIES)  # valid ones; see validation
        self._routes: Bounded[tuple[str, str], Route] = Bounded(_KEPT_ROUTES)
        self._heads: Bounded[tuple[int, ResponseFields, bool], Head] = Bounded(_KEPT_HEADS)
        wire_format = WireFormat(chosen.answer_framing, chosen.connection, chosen.header_names)
        self.wire_format = PLAIN if wire_format == PLAIN else wire_format  # adapters compare by `is`

    def head(self, status: int, fields: ResponseFields = (), *, json: bool = True) -> Head:
        """Return the head of a response with a JSON body or with none; the same object for the same fields."""
        key = (status, fields, json)
        head = self._heads.get(key)
        if head is None:
            content_type = (("Content-Type", self.policies.content_type),) if json else ()
            head = self._heads[key] = Head(status, (*content_type, SERVER, *fields))
        return head

    def route(self, method: str, target: str) -> Route:
        """Return where ``method`` and ``target`` lead, with validated parameters."""
        route = self._routes.get((method, target))
        if route is None:
            route = self._find(method, target)
            if len(target) <= _KEPT_TARGET and method in KNOWN_METHODS:
                self._routes[method, target] = route
        return route

    def _find(self, method: str, target: str) -> Route:
        if method not in KNOWN_METHODS:
            return Route(refusal=Refusal("unknown_method", detail=cut(method, _SHOWN_METHOD)))  # RFC 9110 §9.1
        if method == "OPTIONS" and target == "*":  # RFC 9110 §9.3.7
            return Route(allow=METHODS)
        if method == "CONNECT":  # RFC 9110 §9.3.6: its target is an authority
            host, _, port = target.rpartition(":")
            if not host or "/" in host or not port.isdecimal():
                return Route(refusal=Refusal("malformed_target", detail="the target of CONNECT is 'host:port'"))
            return Route(refusal=Refusal("method_not_allowed", detail="CONNECT is for proxies"), allow=METHODS)
        path, _, query = target.partition("?")
        segments = [percent_decode(segment) for segment in path[1:].split("/")]
        problem = "percent-encode UTF-8, as %XX (RFC 3986 §2.1)" if None in segments else ""
        problem = problem if path.startswith("/") and "#" not in target else "send an absolute path"
        if problem:
            return Route(refusal=Refusal("malformed_target", detail=problem))
        return self._find_path(method, path, [segment or "" for segment in segments], query)

    def _find_path(self, method: str, path: str, segments: list[str], query: str) -> Route:
        shown = cut(path, _SHOWN_PATH)
        for row in ROUTES:
            arguments = row.match(segments)
            if arguments is None:
                continue
            if method == "OPTIONS":
                return Route(allow=row.allow)
            operation = row.operations.get(method)
            if operation is None:
                detail = f"{method} {shown}; the methods are {row.allow}"
                return Route(refusal=Refusal("method_not_allowed", detail=detail), allow=row.allow)
            route = Route(operation, allow=row.allow)
            self._validate(route, operation, arguments, query)
            return route
        if path in _BROWSER_FILES:
            return Route(refusal=Refusal("browser_file", detail=path))
        told = "GET" if method == "HEAD" else method  # HEAD has the Content-Length of GET (RFC 9110 §8.6)
        return Route(refusal=Refusal(self.policies.unknown_route, detail=f"{told} {shown}{_path_hint(path)}"))

    # Parameters

    def _validate(self, route: Route, operation: Operation, in_path: dict[str, str], query: str) -> None:
        """Validate the parameters of a route's operation, and set them."""
        name = operation.parameters_schema
        known = schemas.parameters(operation)
        given: dict[str, Any] = {one: _value(known[one], text) for one, text in in_path.items()}
        parameter = operation.path_parameter
        if parameter is not None and (wrong := _broken(name, given, "path", f"path.{parameter.name}")):
            route.invalid = Refusal(_policy(self.policies, parameter), tuple(wrong))
            return
        violations = self._read_query(operation, query, given)
        violations += [one for one in _broken(name, given, "query") if not self._mends(operation, one, given)]
        if violations:
            route.invalid = Refusal("invalid_query", tuple(violations))
        defaults = {one: schema["default"] for one, schema in known.items() if "default" in schema}
        route.arguments = {**defaults, **given}
        route.filters = tuple(
            (one.filters, given[one.name]) for one in operation.parameters if one.filters and one.name in given
        )

    def _read_query(self, operation: Operation, query: str, given: dict[str, Any]) -> list[Violation]:
        """Add the values of a query to ``given``; return what is wrong with its form and its names."""
        known = schemas.parameters(operation)
        names, subject = [parameter.name for parameter in operation.query_parameters], operation.query_subject
        values, violations = _decode_query(query, subject)
        for name, texts in values.items():
            if name not in names:
                if self.policies.unknown_query:
                    words = no_such_name(name, names, "parameter here", given=values)
                    path = path_of([name], "query")
                    violations.append(Violation(path, "additionalProperties", words, texts[0], subject))
                continue
            text = texts[0] if len(texts) == 1 else self.policies.repeated_query(texts)
            if text is None:
                violations.append(Violation(f"query.{name}", "unique", "must be given only once", texts))
            else:
                given[name] = _value(known[name], text)
        return violations

    def _mends(self, operation: Operation, violation: Violation, given: dict[str, Any]) -> bool:
        """Replace or drop an invalid value as the gap of its parameter says; return whether it is right now."""
        parameter = next((one for one in operation.parameters if f"query.{one.name}" == violation.path), None)
        if parameter is None or parameter.gap is None or violation.rule == "required":
            return False
        text = str(given[parameter.name])
        instead = _policy(self.policies, parameter)(text, schemas.parameters(operation)[parameter.name])
        if instead == "":  # as if the parameter had not come
            del given[parameter.name]
        elif instead is not None:
            given[parameter.name] = instead
        return instead is not None


@lru_cache(maxsize=512)
def rules_for(behaviour: Behaviour) -> Rules:
    return Rules(behaviour)


def _policy(chosen: Any, parameter: Parameter) -> Any:  # noqa: ANN401  # a value or a function of the gap register
    """Return what the behaviour has for an invalid value of a parameter."""
    return getattr(chosen, parameter.gap or "")


def _value(schema: Mapping[str, Any], text: str) -> Any:  # noqa: ANN401  # a JSON value
    """Return the value that the text of a parameter stands for; text that stands for none is refused by its schema."""
    return read_integer(text) if schema.get("type") == "integer" else text


def _broken(name: str, given: Mapping[str, Any], location: str, path: str = "") -> list[Violation]:
    """Return the rules of a schema that parameters break, or only those at ``path``."""
    if schemas.is_valid(name)(given):
        return []
    return [one for one in schemas.violations(schemas.schema(name), given, location) if path in {"", one.path}]


def _decode_query(query: str, subject: str) -> tuple[dict[str, list[str]], list[Violation]]:
    values: dict[str, list[str]] = {}
    violations: list[Violation] = []
    for part in query.split("&"):
        if not part:
            continue  # a stray separator means nothing
        raw_name, _, raw_value = part.replace("+", " ").partition("=")
        name, value = percent_decode(raw_name), percent_decode(raw_value)
        if name is None or value is None:
            words = "must be percent-encoded UTF-8 (RFC 3986 §2.1)"
            violations.append(Violation("query", "percentEncoding", words, part[:_SHOWN_PART], subject))
        else:
            values.setdefault(name, []).append(value)
    return values, violations


def door_hint(path: str) -> str:
    """Return what to say of a path of the control door, which comes to the core where the door is closed."""
    under_door = f"{path.partition('?')[0]}/".startswith(f"{DOOR_PATH}/")
    return f"the control door is {CLOSED}" if under_door else ""


def _path_hint(path: str) -> str:
    hint = door_hint(path)
    if hint:
        return f"; {hint}"
    lowered = path.lower().rstrip("/").replace("//", "/")
    if not f"{lowered}/".startswith(f"{BASE_PATH}/"):
        return f"; every path begins with {BASE_PATH}/"
    if lowered.startswith(f"{BASE_PATH}{BASE_PATH}/"):
        return f"; the base address ends in {BASE_PATH} already"
    if any(row.match(lowered[1:].split("/")) is not None for row in ROUTES):
        return "; a trailing or doubled slash and letter case matter"
    if lowered == f"{BASE_PATH}/store/orders":
        return "; the interface only names it (§4.4)"
    paths = dict.fromkeys(f"{BASE_PATH}{operation.path}" for operation in OPERATIONS.values())
    return f"; the paths are {in_words(paths)}"
