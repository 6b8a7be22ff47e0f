"""The rules in force: schemas and one behaviour, compiled once; routing and the validation of parameters.

A route depends on the method and the target alone, so it is worked out once for each and kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.common.masking import cut
from petstore_mock.contract.behaviour import Behaviour, policies
from petstore_mock.contract.gap_policies import INTEGER_TEXT, lowest_first, no_rule, unchanged
from petstore_mock.contract.interface import BASE_PATH, OPERATIONS, PETS_PATH
from petstore_mock.contract.strict_json import percent_decode, read_integer, unrepresentable
from petstore_mock.contract.violations import HugeInteger, Violation, member_path, no_such_name
from petstore_mock.messages.request import KNOWN_METHODS
from petstore_mock.messages.response import PLAIN, Head, WireFormat

if TYPE_CHECKING:
    from petstore_mock.contract.gap_policies import ResponseFields
    from petstore_mock.contract.interface import Operation
    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.core.new_pet import NewPet

__all__ = ["CLOSED", "SERVER", "Refusal", "Route", "Rules", "door_hint", "has_route", "rules_for"]

SERVER: Final = ("Server", "petstore-mock")  # so that nobody takes the fake for the real service
# Of the control door, which may be open on a port of its own all the same: who may steer it was told where.
CLOSED: Final = "closed on this port: serve --control or PetStoreMock(control=True) opens it; --control-port, another"
_PATH: Final = re.compile(rf"{PETS_PATH}(?:/[^/]+)?")
_KEPT_ROUTES: Final = 1024  # a client uses a handful; a fuzzer must not fill the memory
_KEPT_TARGET: Final = 512  # characters
_KEPT_METHOD: Final = 16
_KEPT_HEADS: Final = 1024
_SHOWN_METHOD: Final = 40  # characters
_SHOWN_PATH: Final = 200

# GET also answers HEAD (RFC 9110 §9.3.2), and every path answers OPTIONS (§9.3.7).
_METHODS_BY_PATH: Final = {
    "pets": ("GET", "HEAD", "OPTIONS", "POST"),
    "pet": ("GET", "HEAD", "OPTIONS"),
}
METHODS: Final = "GET, HEAD, OPTIONS, POST"  # of the service as a whole
_OPERATION_BY_PATH: Final = {
    ("pets", "GET"): OPERATIONS["listPets"],
    ("pets", "HEAD"): OPERATIONS["listPets"],
    ("pets", "POST"): OPERATIONS["createPet"],
    ("pet", "GET"): OPERATIONS["getPet"],
    ("pet", "HEAD"): OPERATIONS["getPet"],
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused.

    Attributes:
        condition: a name of ``CONDITIONS``.
        violations: the rules broken.
        detail: words on top.
        omitted: of rules broken thousands of times, how many violations were not made.
        fields: header fields of the answer.
    """

    condition: str
    violations: tuple[Violation, ...] = ()
    detail: str = ""
    omitted: int = 0
    fields: ResponseFields = ()


@dataclass(slots=True, eq=False)  # each is one of its own: what was answered is kept by it
class Route:
    """Where a method and a target lead.

    Attributes:
        operation: the operation, or None when the interface has none there.
        refusal: what is wrong with the path or the method; answered without a key.
        allow: the methods of this path, for ``Allow``.
        invalid: what is wrong with the parameters; answered after the key.
        limit: how many animals at most (§4.1).
        status: the status filter; None for none (§4.1).
        pet_id: the identifier asked for (§4.3).
    """

    operation: Operation | None = None
    refusal: Refusal | None = None
    allow: str = ""
    invalid: Refusal | None = None
    limit: int = 0
    status: str | None = None
    pet_id: int = 0


_CONNECT: Final = Route(refusal=Refusal("method_not_allowed", detail="CONNECT is for proxies"), allow=METHODS)
_CONNECT_TO_PATH: Final = Route(refusal=Refusal("malformed_target", detail="the target of CONNECT is 'host:port'"))


class Rules:
    """Schemas and the policies of one behaviour, ready for use. Immutable but for what it remembers."""

    def __init__(self, behaviour: Behaviour, schemas: Schemas) -> None:
        self.behaviour = behaviour
        self.schemas = schemas
        self.policies = policies(behaviour)
        self.new_pet_fields = tuple(schemas.properties("NewPet"))
        self.new_pet_names = frozenset(self.new_pet_fields)
        self.integer_fields = tuple(
            name for name, schema in schemas.properties("NewPet").items() if schema.get("type") == "integer"
        )
        limit = schemas.properties("listPets.parameters")["limit"]
        self.limit_bounds: tuple[int, int, int] = (limit["minimum"], limit["maximum"], limit["default"])  # §8
        self.new_pets: dict[bytes, NewPet] = {}  # of bodies that were valid; see validation.validate_body
        self._routes: dict[tuple[str, str], Route] = {}
        self._heads: dict[tuple[int, ResponseFields, bool], Head] = {}
        chosen = self.policies
        wire_format = WireFormat(
            chunked=chosen.answer_framing,
            close=chosen.connection,
            lower_case=chosen.header_names,
        )
        self.wire_format = PLAIN if wire_format == PLAIN else wire_format  # adapters ask which by `is`
        self.accepts_new_pet = schemas.fast_validator("NewPet")
        # What most behaviours leave alone costs no request a call.
        self.lists_lowest_first = chosen.list_order is lowest_first
        self.limits_values = chosen.name_rule is not no_rule or chosen.category_rule is not no_rule
        self.rewrites = chosen.extra_response_fields is not unchanged or chosen.json_style is not unchanged
        # Whether the same request is answered alike each time, as long as nothing changes.
        self.repeats_itself = not self.rewrites and self.lists_lowest_first and chosen.paging_headers is None

    # Heads

    def head(self, status: int, fields: ResponseFields = (), *, json: bool = True) -> Head:
        """Return the head of an answer with a JSON body, or with none; the same object for the same fields."""
        key = (status, fields, json)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _KEPT_HEADS:
                self._heads.clear()
            content_type = (("Content-Type", self.policies.content_type),) if json else ()
            head = self._heads[key] = Head(status, (*content_type, SERVER, *fields))
        return head

    # Routing

    def route(self, method: str, target: str) -> Route:
        """Say where ``method`` and ``target`` lead, parameters validated."""
        key = (method, target)
        route = self._routes.get(key)
        if route is None:
            route = self._find(method, target)
            if len(target) <= _KEPT_TARGET and len(method) <= _KEPT_METHOD:
                if len(self._routes) >= _KEPT_ROUTES:
                    self._routes.clear()
                self._routes[key] = route
        return route

    def _find(self, method: str, target: str) -> Route:
        if method not in KNOWN_METHODS:
            return Route(refusal=Refusal("unknown_method", detail=cut(method, _SHOWN_METHOD)))  # RFC 9110 §9.1
        if method == "OPTIONS" and target == "*":  # RFC 9110 §9.3.7
            return Route(allow=METHODS)
        if method == "CONNECT":  # RFC 9110 §9.3.6: its target is an authority
            return _CONNECT_TO_PATH if target.startswith("/") else _CONNECT
        path, _, query = target.partition("?")
        if not path.startswith("/") or "#" in target:
            return Route(refusal=Refusal("malformed_target", detail="send an absolute path"))
        segments = [percent_decode(segment) for segment in path[1:].split("/")]
        if None in segments:
            return Route(refusal=Refusal("malformed_target", detail="percent-encode UTF-8, as %XX (RFC 3986 §2.1)"))
        return self._find_path(method, path, segments, query)

    def _find_path(self, method: str, path: str, segments: list[str | None], query: str) -> Route:
        kind = _kind_of(segments)
        if kind is None:
            condition = self.policies.unknown_route
            told = "GET" if method == "HEAD" else method  # the length of GET's answer is told (RFC 9110 §8.6)
            return Route(refusal=Refusal(condition, detail=f"{told} {cut(path, _SHOWN_PATH)}{_path_hint(path)}"))
        allow = ", ".join(_METHODS_BY_PATH[kind])
        if method == "OPTIONS":
            return Route(allow=allow)
        operation = _OPERATION_BY_PATH.get((kind, method))
        if operation is None:
            detail = f"{method} {cut(path, _SHOWN_PATH)}; the methods are {allow}"
            return Route(refusal=Refusal("method_not_allowed", detail=detail), allow=allow)
        return self._validate_parameters(Route(operation, allow=allow), segments[2] if kind == "pet" else None, query)

    def _validate_parameters(self, route: Route, pet_id: str | None, query: str) -> Route:
        assert route.operation is not None  # noqa: S101  # for the type checker: only operations have parameters
        route.limit = self.limit_bounds[2]
        name = route.operation.parameters_schema
        parameters: dict[str, object] = {}
        if pet_id is not None:
            parameters["petId"] = number = _integer(pet_id)
            broken = self.schemas.validate(name, parameters, "path")
            if broken or isinstance(number, HugeInteger):
                wrong = [one for one in broken if one.path == "path.petId"] or unrepresentable(number, "path.petId")
                if wrong:
                    route.invalid = Refusal(self.policies.malformed_pet_id, tuple(wrong))
                    return route
            route.pet_id = number
            if not query and not broken:
                return route
        # Without a query, too: a changed schema may require a parameter.
        violations = self._validate_query(route, name, query, parameters)
        if violations:
            route.invalid = Refusal("invalid_query", tuple(violations))
        return route

    def _validate_query(self, route: Route, name: str, query: str, parameters: dict[str, object]) -> list[Violation]:
        """Add the query to the ``parameters`` known from the path, and validate it."""
        values, violations = self._decode_query(query)
        known = self.schemas.properties(name)
        names = [parameter for parameter in known if parameter != "petId"]
        chosen = self.policies
        for parameter, texts in values.items():
            if parameter not in names:
                if chosen.unknown_query:
                    words = no_such_name(parameter, names, "parameter here", given=values)
                    violations.append(
                        Violation(member_path("query", parameter), "additionalProperties", words, texts[0])
                    )
                continue
            text = texts[0] if len(texts) == 1 else chosen.repeated_query(texts)
            if text is None:
                violations.append(Violation(f"query.{parameter}", "unique", "must be given only once", texts))
                continue
            number = known[parameter].get("type") == "integer"
            parameters[parameter] = _integer(text) if number else text
        for violation in self.schemas.validate(name, parameters, "query"):
            if not self._mends(violation, parameters):
                violations.append(violation)
        limit = parameters.get("limit")
        if isinstance(limit, int):
            route.limit = limit
        status = parameters.get("status")
        route.status = None if status is None else str(status)  # a changed schema may know an empty one
        return violations if names else [replace(one, subject="noQuery") for one in violations]

    def _decode_query(self, query: str) -> tuple[dict[str, list[str]], list[Violation]]:
        values: dict[str, list[str]] = {}
        violations: list[Violation] = []
        for part in query.split("&"):
            if not part:
                continue  # a stray separator says nothing
            raw_name, _, raw_value = part.partition("=")
            name = percent_decode(raw_name.replace("+", " "))
            value = percent_decode(raw_value.replace("+", " "))
            if name is None or value is None:
                words = "must be percent-encoded UTF-8 (RFC 3986 §2.1)"
                violations.append(Violation("query", "percentEncoding", words, part[:80]))
            else:
                values.setdefault(name, []).append(value)
        return values, violations

    def _mends(self, violation: Violation, parameters: dict[str, object]) -> bool:
        """Let the behaviour put a value in the place of an invalid one (gaps invalid_limit, invalid_status_filter)."""
        if violation.rule == "required":
            return False  # there is no value to put another one in the place of
        if violation.path == "query.limit":
            value = parameters["limit"]
            text = value.text if isinstance(value, HugeInteger) else str(value)
            limit = self.policies.invalid_limit(text, *self.limit_bounds)
            if limit is not None:
                parameters["limit"] = limit
            return limit is not None
        if violation.path == "query.status":
            status = self.policies.invalid_status_filter(str(parameters["status"]))
            if status:
                parameters["status"] = status
            elif status is not None:
                del parameters["status"]  # as if none had been asked for
            return status is not None
        return False


def has_route(target: str) -> bool:
    """Say whether the path of ``target`` is one of the interface's, whatever the method."""
    path = target.partition("?")[0]
    return _kind_of([percent_decode(segment) for segment in path[1:].split("/")]) is not None


def _kind_of(segments: list[str | None]) -> Literal["pets", "pet"] | None:
    """Return which path of the interface the decoded segments make; None for any other."""
    match segments:
        case [base, "pets"] if f"/{base}" == BASE_PATH:
            return "pets"
        case [base, "pets", str() as pet_id] if f"/{base}" == BASE_PATH and pet_id:
            return "pet"
    return None  # a trailing or doubled slash and another letter case make another path


def _integer(text: str) -> Any:  # noqa: ANN401  # an integer, or the text that is none
    """Read an integer as JSON writes it; anything else stays text, for the schema to refuse."""
    if not INTEGER_TEXT.fullmatch(text) or text == "-0":
        return text
    return read_integer(text)


def door_hint(path: str) -> str:
    """Return what to say of a path of the control door, which does not come here where that is open; else nothing."""
    if not f"{path.partition('?')[0]}/".startswith(f"{DOOR_PATH}/"):
        return ""
    return f"the control door is {CLOSED}"


def _path_hint(path: str) -> str:
    hint = door_hint(path)
    if hint:
        return f"; {hint}"
    lowered = path.lower().rstrip("/").replace("//", "/")
    if not f"{lowered}/".startswith(f"{BASE_PATH}/"):
        return f"; every path begins with {BASE_PATH}/"
    if lowered.startswith(f"{BASE_PATH}{BASE_PATH}/"):
        return f"; the base address ends in {BASE_PATH} already"
    if _PATH.fullmatch(lowered):
        return "; a trailing or doubled slash and letter case matter"
    if lowered == f"{BASE_PATH}/store/orders":
        return "; the interface only names it (§4.4)"
    return f"; the paths are {PETS_PATH} and {PETS_PATH}/{{petId}}"


@lru_cache(maxsize=512)
def rules_for(behaviour: Behaviour, schemas: Schemas) -> Rules:
    """Return the rules of ``behaviour`` under ``schemas``, compiled once for each pair."""
    return Rules(behaviour, schemas)
