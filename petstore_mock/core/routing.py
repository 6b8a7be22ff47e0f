"""The compiled rules of one behaviour. They route requests, and validate parameters and bodies.

A route depends only on the method and the target, so the rules cache the routes of recent requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from petstore_mock.common.masking import cut
from petstore_mock.common.sized import SizedCache
from petstore_mock.common.values import by_name
from petstore_mock.http.request import KNOWN_METHODS, NO_FIELDS
from petstore_mock.http.response import PLAIN, WireFormat
from petstore_mock.interface import schemas
from petstore_mock.interface.gaps import NULLS, RULES, ResponseFields
from petstore_mock.interface.kinds import kind_of, quick
from petstore_mock.interface.paths import row_at, segments_of
from petstore_mock.interface.policies import choice_of, policies_of
from petstore_mock.interface.strict_json import (
    MalformedJsonError,
    decode_json,
    percent_decode,
)
from petstore_mock.interface.table import METHODS, OPERATIONS, ROUTES, Operation, Parameter, in_words
from petstore_mock.interface.violations import Violation, Violations, no_such_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.http.request import ApiRequest, Fields
    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.interface.kinds import Schema

Texts: TypeAlias = "Mapping[str, Sequence[str]]"  # the texts of parameters, by name
Body: TypeAlias = "Mapping[str, object]"  # validated; requests with the same body share it

SERVER: Final = ("Server", "petstore-mock")  # shows that this is not the real service
DOOR_PATH: Final = "/__petstore"
# The door may be open on a port of its own, which the greeting of the stub shows.
CLOSED: Final = (
    "closed on this port: open it with the option control (serve --control), or on another port with --control-port"
)
# A client needs a handful; a fuzzer must not fill the memory.
_KEPT_ROUTES: Final = 256 * 1024  # bytes of memory for the routes of one behaviour
_ROUTE_WEIGHT: Final = 1024  # bytes that a route takes besides its violations
_VIOLATION_WEIGHT: Final = 800
_KEPT_BODIES: Final = 256  # tests create the same few animals
_KEPT_SIZE: Final = 512  # characters of method and target, or bytes of a body; the caches keep nothing longer
# The names of all header parameters. Usually there are none, and then a route depends on method and target alone.
_IN_HEADER: Final = {parameter.name: None for row in OPERATIONS.values() for parameter in row.parameters_in("header")}
_PATHS: Final = in_words("/".join(["", *row.pattern]) for row in ROUTES)
# The conditions of an invalid parameter, by the part of the request that has it.
_INVALID: Final = {"query": "invalid_query", "header": "invalid_header", "path": "invalid_path"}
BROWSER_FILES: Final = ("/favicon.ico", "/robots.txt")  # browsers and crawlers request them on their own


# Load balancers and orchestrators request them to see whether a service is up.
_PROBES: Final = ("/", "/health", "/healthz", "/livez", "/ping", "/readyz")


@dataclass(frozen=True, slots=True)
class Refusal:
    condition: str  # a name of ``CONDITIONS``
    violations: Violations = field(default_factory=Violations)
    detail: str = ""
    fields: ResponseFields = ()  # further header fields of the response


@dataclass(frozen=True, slots=True)
class Filter:
    """A parameter that selects animals, with its value."""

    parameter: Parameter
    value: object


@dataclass(slots=True, eq=False)  # compared by identity: the store caches responses by route
class Route:
    operation: Operation | None = None
    # For a wrong path or method (then there is no operation), or for wrong parameters (the key is checked first).
    refusal: Refusal | None = None
    allow: str = ""  # the methods of the path
    arguments: JsonObject = field(default_factory=dict[str, object])  # the values of the parameters, defaults included
    filters: tuple[Filter, ...] = ()  # they select the animals of a list
    pet_id: int = 0  # the identifier in the path

    @property
    def weight(self) -> int:
        """About how many bytes of memory it takes."""
        if self.refusal is None:
            return _ROUTE_WEIGHT
        return _ROUTE_WEIGHT + len(self.refusal.violations) * _VIOLATION_WEIGHT


class Rules:
    """The policies of one behaviour, ready for use. Only the cache of routes changes."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.policies = chosen = policies_of(behaviour)
        wire_format = WireFormat(chosen.answer_framing, chosen.connection, chosen.header_names)
        self.wire_format = PLAIN if wire_format == PLAIN else wire_format  # adapters compare by `is`
        # The functions that rewrite a JSON body. Usually there are none.
        self.rewrites = [*filter(None, (chosen.extra_response_fields, chosen.json_style))]
        self.kept_routes = SizedCache[tuple[str, str], Route](_KEPT_ROUTES, largest=_KEPT_ROUTES // 16)

    def route(self, method: str, target: str, fields: Fields = NO_FIELDS) -> Route:
        """Return the route of a request, with validated parameters."""
        in_header = _header_texts(fields)
        if in_header:
            return self._find(method, target, in_header)
        route = self.kept_routes.get((method, target))
        if route is None:
            route = self._find(method, target, in_header)
            size = len(method) + len(target)
            if size <= _KEPT_SIZE:
                self.kept_routes.keep((method, target), route, size + route.weight)
        return route

    def _find(self, method: str, target: str, in_header: Texts) -> Route:
        segments = segments_of(target)
        problem = _problem_of(method, target, segments)
        if problem is not None:
            return problem
        match = row_at(segments or ())
        path, _, query = target.partition("?")
        if match is None:
            # The Content-Length of HEAD must be that of GET (RFC 9110 §8.6).
            shown = "GET" if method == "HEAD" else method
            return _no_route(self._unknown_path(shown, path), f"{shown} {cut(path, 200)}; {_path_hint(path)}")
        row, in_path = match
        operation = row.operations.get(method)
        if operation is not None:
            return self._validated(operation, row.allow, {**in_path, **in_header}, query)
        if method == "OPTIONS":
            return Route(allow=row.allow)
        words = f"{method} {cut(path, 200)}; the methods are {row.allow}"
        return _no_route("method_not_allowed", words, row.allow)

    def _unknown_path(self, method: str, path: str) -> str:
        """Return the condition of a path that the interface does not have."""
        if path in BROWSER_FILES:
            return "browser_file"
        if method == "GET" and path in _PROBES:
            return "probe"
        return self.policies.unknown_route

    # Parameters

    def _validated(self, operation: Operation, allow: str, other_texts: Texts, query: str) -> Route:
        """Return a route with the values of the parameters, or with the refusal of wrong ones.

        ``other_texts`` are those of the parameters in the path and the header.
        """
        route = Route(operation, allow=allow)
        condition = _INVALID["query"]
        in_query, violations = self._read_query(operation, query)
        texts = {**other_texts, **in_query}
        for parameter in operation.parameters:
            value, broken = self._value_of(operation, parameter, texts.get(parameter.name, ()))
            if broken and parameter.where == "path":
                # The path names another resource, or none, so its query does not matter.
                condition = choice_of(self.policies, parameter.gap)
                violations = Violations(broken)
                break
            if parameter.sets and value is not None and not broken:
                own = {parameter.sets: schemas.parameters(operation)[parameter.name]}
                broken += _broken_by_gaps(self, {parameter.sets: value}, own, parameter.place)
            if broken:
                condition = _INVALID[parameter.where]
                violations += broken
            if value is not None:
                _add_argument(route, parameter, value)
        if violations:
            route.refusal = Refusal(condition, violations.about(operation.name))
        return route

    def _value_of(
        self, operation: Operation, parameter: Parameter, texts: Sequence[str]
    ) -> tuple[object, list[Violation]]:
        """Return the value of a parameter, or its default, and its violations."""
        rules = schemas.parameters(operation)[parameter.name]
        value = None
        broken = list[Violation]()
        may_be_joined = parameter.where == "header" and not kind_of(rules).is_free_text
        if texts and may_be_joined:
            texts = [*map(str.strip, texts[0].split(","))]
        text: str | None = "".join(texts)
        if len(texts) > 1:
            text = self.policies.repeated_query(texts)
        if text is None:
            broken = [Violation(parameter.place, "unique", "must be given only once", texts)]
        elif texts:
            value, broken = self._read(parameter, text, rules)
        elif parameter.name in schemas.schema(operation.parameters_schema).get("required", ()):
            broken = [Violation(parameter.place, "required", "is required and missing")]
        if value is None:
            value = rules.get("default")
        return value, broken

    def _read(self, parameter: Parameter, text: str, rules: Schema) -> tuple[object, list[Violation]]:
        """Return a parameter's value and violations. A gap may replace an invalid value. None means no value."""
        value = kind_of(rules).read(text)
        if quick(rules)(value):
            return value, []
        broken = schemas.violations(rules, value, parameter.place)
        if not broken or parameter.where == "path" or not parameter.gap:
            return value, broken
        instead = choice_of(self.policies, parameter.gap)(text, rules)
        if instead is None:
            return value, broken
        is_ignored = instead == ""
        return None if is_ignored else instead, []

    def _read_query(self, operation: Operation, query: str) -> tuple[Texts, Violations]:
        """Return the texts of the parameters in a query, and the violations of its form and its names."""
        values, violations = _values_of(query)
        names = by_name(operation.parameters_in("query"))
        unknown = [name for name in values if name not in names]
        if self.policies.unknown_query:
            # A client can send any number of unknown names, and the list has a limit.
            violations.fill(unknown, partial(_no_parameter, names, values))
        return {name: values[name] for name in values.keys() & names}, violations


def _values_of(query: str) -> tuple[dict[str, list[str]], Violations]:
    """Return the values in a query by name, and the violations of its form. Empty parts are ignored."""
    values: dict[str, list[str]] = {}
    malformed: list[str] = []
    for part in filter(None, query.split("&")):
        name, value = map(percent_decode, part.replace("+", " ").partition("=")[::2])
        if name is None or value is None:
            malformed.append(part)
        else:
            values.setdefault(name, []).append(value)
    violations = Violations()
    violations.fill(malformed, _malformed_part)
    return values, violations


def _no_parameter(names: Iterable[str], values: Mapping[str, Sequence[str]], name: str) -> Violation:
    """Return the violation of an unknown name in a query."""
    return no_such_name(name, values[name][0], "query", names, "parameter here", given=values)


def _malformed_part(part: str) -> Violation:
    """Return the violation of a part of a query that is no percent-encoded UTF-8."""
    return Violation("query", "percentEncoding", "must be percent-encoded UTF-8 (RFC 3986 §2.1)", part[:80])


def _add_argument(route: Route, parameter: Parameter, value: Json) -> None:
    route.arguments[parameter.name] = value
    if parameter.filters_by:
        route.filters += (Filter(parameter, value),)
    if parameter.relation == "identifies":
        route.pet_id = value


def _header_texts(fields: Fields) -> Texts:
    """Return the texts of header parameters. Servers may join repeated fields by a comma (RFC 9110 §5.2)."""
    texts: dict[str, list[str]] = {}
    for name in _IN_HEADER:
        values = fields.by_name.get(name.lower().encode())
        if values is not None:
            texts[name] = [b", ".join(values).decode("latin-1")]
    return texts


@lru_cache(maxsize=512)
def rules_for(behaviour: Behaviour) -> Rules:
    return Rules(behaviour)


def _problem_of(method: str, target: str, segments: Sequence[str] | None) -> Route | None:
    """Return the route of a request whose method or target can't belong to any path; else None."""
    if method not in KNOWN_METHODS:
        return _no_route("unknown_method", cut(method, 40))  # RFC 9110 §9.1
    if method == "OPTIONS" and target == "*":  # RFC 9110 §9.3.7
        return Route(allow=METHODS)
    if method == "CONNECT" and _is_authority(target):
        return _no_route("method_not_allowed", "CONNECT is for proxies", METHODS)
    is_path = target.startswith("/") and "#" not in target
    if method == "CONNECT" or not is_path:
        return _no_route("malformed_target", "send an absolute path")
    if segments is None:
        return _no_route("malformed_target", "percent-encode UTF-8, as %XX (RFC 3986 §2.1)")
    return None


def _is_authority(target: str) -> bool:
    """Return whether a target has the form that CONNECT needs (RFC 9110 §9.3.6)."""
    return ":" in target and "/" not in target


def _no_route(condition: str, detail: str, allow: str = "") -> Route:
    fields = (("Allow", allow),) if allow else ()  # RFC 9110 §15.5.6
    return Route(refusal=Refusal(condition, detail=detail, fields=fields), allow=allow)


def _path_hint(path: str) -> str:
    if f"{path}/".startswith(f"{DOOR_PATH}/"):
        return f"the control door is {CLOSED}"
    if path.startswith("/_"):
        return f"the paths are {_PATHS}, and that of the control door is {DOOR_PATH}/"
    if path in _PROBES:
        return f"to see whether the stub is ready, request {DOOR_PATH}/health"
    tidied = path.lower().strip("/").replace("//", "/").split("/")
    if row_at(tidied) is not None:
        return "trailing slashes, double slashes and letter case matter"
    return f"the paths are {_PATHS}"


# Bodies


def validate_head(rules: Rules, request: ApiRequest) -> Refusal | None:
    """Check the coding, the media type and the size of a body. Return a refusal, or None if they are allowed."""
    coding = request.fields.coding
    if coding:
        return Refusal("content_coding", detail=f"got Content-Encoding {coding[:80]!r}")
    condition = rules.policies.media_type
    if condition is not None and not request.fields.is_json:
        media_type = request.header("content-type")
        got = "no Content-Type" if media_type is None else f"Content-Type {media_type[:80]!r}"
        return Refusal(condition, detail=f"got {got}")
    if request.oversized:
        return Refusal("body_too_large", detail=f"the limit is {rules.policies.body_limit} bytes")
    return None


def validate(rules: Rules, request: ApiRequest, route: Route) -> Body | Refusal | None:
    """Return the validated body, None if the operation takes no body, or a refusal with the violations."""
    operation = route.operation
    invalid = route.refusal
    content = request.body
    if operation is None or operation.body is None:
        return invalid
    decode = _decode if len(content) <= _KEPT_SIZE else _decode.__wrapped__
    body = validate_head(rules, request) or decode(rules, content, operation.name, operation.body)
    if invalid is None:
        return body
    if isinstance(body, Refusal) and body.condition == "invalid_body":
        return replace(invalid, violations=invalid.violations.plus(body.violations))
    return invalid


@lru_cache(maxsize=_KEPT_BODIES)
def _decode(rules: Rules, content: bytes, operation: str, schema: str) -> Body | Refusal:
    """Return a valid body with its members in the order of the schema, or a refusal with the violations."""
    try:
        value, repeated = decode_json(content)
    except MalformedJsonError as error:
        return Refusal("malformed_json", Violations([replace(error.violation, subject=operation)]))
    document = cast("JsonObject", value) if isinstance(value, dict) else {}
    _let_pass(rules, document, schema)
    broken = repeated if rules.policies.duplicate_member else Violations()
    if not schemas.is_valid(schema)(value):
        broken = broken.plus(schemas.violations(schemas.schema(schema), value, "body"))
    known = {name: document[name] for name in schemas.properties(schema) if name in document}
    wrong = {violation.path for violation in broken}
    broken += _broken_by_gaps(rules, known, schemas.properties(schema), "body.{}", wrong)
    if broken:
        return Refusal("invalid_body", broken.about(operation))
    return known


def _broken_by_gaps(
    rules: Rules, values: Body, own: Mapping[str, Schema], place: str, wrong: Container[str] = ()
) -> Violations:
    """Return the violations of rules that the behaviour adds for a field, such as a longest name.

    Args:
        rules: the rules of the behaviour.
        values: values of fields, by the names of the fields.
        own: the schemas of these values.
        place: the location of a value, with ``{}`` for the name of its field.
        wrong: locations whose values break the schema.
    """
    violations = Violations()
    for gap in RULES:
        path = place.format(gap.field)
        keywords = choice_of(rules.policies, gap.name)
        if keywords and gap.field in values and path not in wrong:
            choice = f"(gap {gap.name}={rules.behaviour[gap.name]})"
            for broken in schemas.violations({**own[gap.field], **keywords}, values[gap.field], path):
                violations.append(replace(broken, expected=f"{broken.expected} {choice}"))
    return violations


def _let_pass(rules: Rules, document: JsonObject, schema: str) -> None:
    """Before the schema applies, remove members that the behaviour ignores, and convert floats that it accepts."""
    chosen = rules.policies
    known = schemas.properties(schema)
    if not chosen.unknown_body_field:
        for name in document.keys() - known.keys():
            del document[name]
    for name in known.keys() & document.keys():
        value = document[name]
        if value is None and name in NULLS:
            if not choice_of(chosen, NULLS[name].name):
                del document[name]
        elif known[name].get("type") == "integer" and not chosen.integral_float:
            document[name] = _as_integer(value)


def _as_integer(value: object) -> object:
    """Return a float as an integer if it is exactly the number that the client sent. The schema refuses others."""
    if not isinstance(value, float):
        return value
    # From 2**53 on, a float may differ from the number that the client sent.
    if value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
