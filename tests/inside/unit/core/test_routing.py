"""Routes and heads: worked out once, remembered within bounds."""

from __future__ import annotations

from itertools import takewhile

import pytest

from petstore_mock import Behaviour
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.core.routing import Rules, rules_for
from petstore_mock.messages.request import KNOWN_METHODS
from petstore_mock.messages.response import PLAIN, WireFormat


@pytest.fixture
def rules() -> Rules:
    return Rules(Behaviour(), default_schemas())


def test_rules_are_compiled_once_for_each_behaviour() -> None:
    schemas = default_schemas()
    assert rules_for(Behaviour(), schemas) is rules_for(Behaviour().replace(list_order="id_ascending"), schemas)
    assert rules_for(Behaviour(), schemas) is not rules_for(Behaviour(list_order="by_name"), schemas)


@pytest.mark.parametrize(
    ("method", "target", "operation"),
    [
        ("GET", "/v1/pets", "listPets"),
        ("HEAD", "/v1/pets?limit=5", "listPets"),
        ("POST", "/v1/pets", "createPet"),
        ("GET", "/v1/pets/5", "getPet"),
        ("HEAD", "/v1/pets/-5", "getPet"),
        ("GET", "/v1/pets/x", "getPet"),
    ],
)
def test_route_leads_to_the_operation(rules: Rules, method: str, target: str, operation: str) -> None:
    route = rules.route(method, target)
    assert route.operation is not None
    assert route.operation.name == operation
    assert route.refusal is None


def test_every_operation_is_reached_by_its_path(rules: Rules) -> None:
    for operation in OPERATIONS.values():
        route = rules.route(operation.method, operation.path.format(petId=1))
        assert route.operation is operation


def test_allow_names_every_method_that_is_not_answered_405(rules: Rules) -> None:
    for target in ("/v1/pets", "/v1/pets/1"):
        allowed = set(rules.route("OPTIONS", target).allow.split(", "))
        for method in KNOWN_METHODS - {"CONNECT"}:  # whose target is no path
            refusal = rules.route(method, target).refusal
            assert (refusal is None) is (method in allowed)
            assert rules.route(method, target).allow == rules.route("OPTIONS", target).allow


def test_parameters_are_read(rules: Rules) -> None:
    route = rules.route("GET", "/v1/pets?limit=7&status=sold")
    assert (route.limit, route.status, route.pet_id) == (7, "sold", 0)
    assert (rules.route("GET", "/v1/pets").limit, rules.route("GET", "/v1/pets").status) == (20, None)
    assert rules.route("GET", "/v1/pets/-9223372036854775808").pet_id == -(2**63)


def test_asterisk_is_a_target_of_options_only(rules: Rules) -> None:
    assert rules.route("OPTIONS", "*").allow == "GET, HEAD, OPTIONS, POST"
    assert rules.route("OPTIONS", "*").refusal is None
    for method in KNOWN_METHODS - {"OPTIONS", "CONNECT"}:
        refusal = rules.route(method, "*").refusal
        assert refusal is not None
        assert refusal.condition == "malformed_target"


def test_connect_to_an_authority_is_not_allowed(rules: Rules) -> None:
    route = rules.route("CONNECT", "example.org:80")
    assert route.refusal is not None
    assert (route.refusal.condition, route.allow) == ("method_not_allowed", "GET, HEAD, OPTIONS, POST")


def test_plus_is_a_blank_in_a_query_and_itself_in_a_path(rules: Rules) -> None:
    invalid = rules.route("GET", "/v1/pets?a+b=1&status=sold+out").invalid
    assert invalid is not None
    assert [(one.path, one.value) for one in invalid.violations] == [("query.a b", "1"), ("query.status", "sold out")]
    malformed = rules.route("GET", "/v1/pets/1+2").invalid
    assert malformed is not None
    assert malformed.violations[0].value == "1+2"


def test_routes_are_remembered_within_bounds(rules: Rules) -> None:
    assert rules.route("GET", "/v1/pets?limit=1") is rules.route("GET", "/v1/pets?limit=1")
    assert rules.route("GET", "/v1/pets") is not rules.route("HEAD", "/v1/pets")
    longest = "/v1/pets?" + "x" * 503
    assert rules.route("GET", longest) is rules.route("GET", longest)
    assert rules.route("GET", longest + "x") is not rules.route("GET", longest + "x")
    assert rules.route("X" * 20, "/v1/pets") is not rules.route("X" * 20, "/v1/pets"), "no method is that long"
    targets = [f"/v1/pets/{number}" for number in range(3000)]
    routes = [rules.route("GET", target) for target in targets]
    # The latest are looked for first: the first that is gone ends the look, since asking for it takes a place.
    remembered = takewhile(lambda at: rules.route("GET", targets[at]) is routes[at], reversed(range(3000)))
    assert 100 < len([*remembered]) <= 1024


def test_heads_are_remembered_within_bounds(rules: Rules) -> None:
    assert rules.head(200) is rules.head(200)
    assert rules.head(200) is not rules.head(200, json=False)
    assert rules.head(200).get("Content-Type") == "application/json"
    assert rules.head(200, json=False).get("Content-Type") is None
    fields = [(("Location", f"/v1/pets/{number}"),) for number in range(3000)]
    heads = [rules.head(201, one) for one in fields]
    assert [head.get("Location") for head in heads] == [f"/v1/pets/{number}" for number in range(3000)]
    remembered = takewhile(lambda at: rules.head(201, fields[at]) is heads[at], reversed(range(3000)))
    assert 100 < len([*remembered]) <= 1024


@pytest.mark.parametrize(
    ("gap", "alternative", "wire_format"),
    [
        ("answer_framing", "chunked", WireFormat(chunked=True)),
        ("header_names", "lower_case", WireFormat(lower_case=True)),
        ("connection", "closed_after_answer", WireFormat(close=True)),
    ],
)
def test_wire_format_is_plain_unless_a_gap_of_it_is_chosen(gap: str, alternative: str, wire_format: WireFormat) -> None:
    assert Rules(Behaviour().replace({gap: alternative}), default_schemas()).wire_format == wire_format
    assert Rules(Behaviour(), default_schemas()).wire_format is PLAIN
