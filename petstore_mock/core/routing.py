"""The rules in force: one behaviour, compiled. Routes requests and validates their parameters.

A route depends on the method and the target alone, so the rules keep the routes of recent requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import cut
from petstore_mock.http.request import KNOWN_METHODS
from petstore_mock.http.response import PLAIN, Head, WireFormat
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import Behaviour, policies
from petstore_mock.interface.gaps import RULES, no_rule
from petstore_mock.interface.strict_json import percent_decode, read_integer
from petstore_mock.interface.table import BASE_PATH, METHODS, OPERATIONS, ROUTES, Operation, in_words
from petstore_mock.interface.violations import HugeInteger, Violation, no_such_name, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.core.store import Filter

ResponseFields = tuple[tuple[str, str], ...]

SERVER: Final = ("Server", "petstore-mock")  # so that nobody takes the fake for the real service
DOOR_PATH: Final = "/__petstore"
# The door may be open on a port of its own: the greeting says where.
CLOSED: Final = "closed on this port: serve --control or PetStoreMock(control=True) opens it; --control-port, another"
_KEPT_ROUTES: Final = 1024  # a client uses a handful; a fuzzer must not fill the memory
_KEPT_TARGET: Final = 512  # characters
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
    """The policies of one behaviour, ready for use. Immutable but for the routes that it remembers."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.policies = chosen = policies(behaviour)
        # What gaps such as name_rule demand of a field; by default nothing.
        rules = [(gap.field, getattr(chosen, gap.name)) for gap in RULES]
        self.field_rules = [(name, find) for name, find in rules if find is not no_rule]
        wire_format = WireFormat(chosen.answer_framing, chosen.connection, chosen.header_names)
        self.wire_format = PLAIN if wire_format == PLAIN else wire_format  # adapters compare by `is`
        self._kept_route = lru_cache(_KEPT_ROUTES)(self._find)

    def head(self, status: int, fields: ResponseFields = (), *, json: bool = True) -> Head:
        """Return the head of a response with a JSON body or with none."""
        content_type = (("Content-Type", self.policies.content_type),) if json else ()
        return _head(status, (*content_type, SERVER, *fields))

    def route(self, method: str, target: str) -> Route:
        """Return where ``method`` and ``target`` lead, with validated parameters."""
        is_short = len(target) <= _KEPT_TARGET and method in KNOWN_METHODS
        return self._kept_route(method, target) if is_short else self._find(method, target)

    def _find(self, method: str, target: str) -> Route:
        if method not in KNOWN_METHODS:
            return Route(refusal=Refusal("unknown_method", detail=cut(method, _SHOWN_METHOD)))  # RFC 9110 §9.1
        if method == "OPTIONS" and target == "*":  # RFC 9110 §9.3.7
            return Route(allow=METHODS)
        if method == "CONNECT" and "/" in target:  # RFC 9110 §9.3.6: its target is an authority
            return Route(refusal=Refusal("malformed_target", detail="the target of CONNECT is 'host:port'"))
        if method == "CONNECT":
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
        return Route(refusal=Refusal(self.policies.unknown_route, detail=f"{told} {shown}; {_path_hint(path)}"))

    # Parameters

    def _validate(self, route: Route, operation: Operation, in_path: dict[str, str], query: str) -> None:
        """Validate the parameters of a route's operation, and set them."""
        known = schemas.parameters(operation)
        texts, violations = self._read_query(operation, query)
        given: dict[str, Any] = {
            name: read_integer(text) if known[name].get("type") == "integer" else text
            for name, text in {**texts, **in_path}.items()
        }
        parameter = operation.path_parameter
        if parameter is not None:
            wrong = [one for one in _broken(operation, given, "path") if one.path == f"path.{parameter.name}"]
            if wrong:
                route.invalid = Refusal(getattr(self.policies, parameter.gap or ""), tuple(wrong))
                return
        violations += [one for one in _broken(operation, given, "query") if not self._mends(operation, one, given)]
        if violations:
            route.invalid = Refusal("invalid_query", tuple(violations))
        defaults = {one: schema["default"] for one, schema in known.items() if "default" in schema}
        route.arguments = {**defaults, **given}
        route.filters = tuple(
            (one.filters, given[one.name]) for one in operation.parameters if one.filters and one.name in given
        )

    def _read_query(self, operation: Operation, query: str) -> tuple[dict[str, str], list[Violation]]:
        """Return the texts of the parameters in a query, and what is wrong with its form and its names."""
        names, subject = [parameter.name for parameter in operation.query_parameters], operation.query_subject
        values, violations = _decode_query(query, subject)
        texts: dict[str, str] = {}
        for name, given in values.items():
            text = given[0] if len(given) == 1 else self.policies.repeated_query(given)
            if name not in names:
                if self.policies.unknown_query:
                    words = no_such_name(name, names, "parameter here", given=values)
                    path = path_of([name], "query")
                    violations.append(Violation(path, "additionalProperties", words, given[0], subject))
            elif text is None:
                violations.append(Violation(f"query.{name}", "unique", "must be given only once", given))
            else:
                texts[name] = text
        return texts, violations

    def _mends(self, operation: Operation, violation: Violation, given: dict[str, Any]) -> bool:
        """Replace or drop an invalid value as the gap of its parameter says; return whether it is right now."""
        parameter = next((one for one in operation.parameters if f"query.{one.name}" == violation.path), None)
        if parameter is None or parameter.gap is None or violation.rule == "required":
            return False
        value = given[parameter.name]
        text = value.text if isinstance(value, HugeInteger) else str(value)
        instead = getattr(self.policies, parameter.gap)(text, schemas.parameters(operation)[parameter.name])
        if instead == "":  # as if the parameter had not come
            del given[parameter.name]
        elif instead is not None:
            given[parameter.name] = instead
        return instead is not None


@lru_cache(maxsize=512)
def rules_for(behaviour: Behaviour) -> Rules:
    return Rules(behaviour)


@lru_cache(maxsize=1024)
def _head(status: int, fields: ResponseFields) -> Head:
    return Head(status, fields)


def _broken(operation: Operation, given: Mapping[str, Any], location: str) -> list[Violation]:
    """Return what parameters break of their schema."""
    name = operation.parameters_schema
    return [] if schemas.is_valid(name)(given) else schemas.violations(schemas.schema(name), given, location)


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
    if hint := door_hint(path):
        return hint
    if path == f"{BASE_PATH}/store/orders":
        return "the interface only names it (§4.4)"
    paths = dict.fromkeys(f"{BASE_PATH}{operation.path}" for operation in OPERATIONS.values())
    return f"the paths are {in_words(paths)}; slashes and letter case matter"
