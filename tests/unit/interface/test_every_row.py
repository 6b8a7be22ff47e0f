"""Rules for each operation, field and parameter, derived from the rows of the table.

``tests/evolution`` runs these tests on a copy of the package with rows of every effect, kind and relation, so that a
rule here holds for the next row as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest

from petstore_mock import PetStoreMock, faults
from petstore_mock.checks.check import Call
from petstore_mock.core.pipeline import EXECUTORS
from petstore_mock.interface.bodies import odd_texts, wrong_bodies
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS, NULLS, OMITTED, RULES
from petstore_mock.interface.kinds import KINDS, Kind, allows_null, another, kind_of, parts, wrong_text, wrong_texts
from petstore_mock.interface.schemas import arguments, names, parameters, properties, schema, violations
from petstore_mock.interface.table import ANIMAL, BASE_PATH, FIELDS, LABEL, MEMBERS, OPERATIONS, Operation, Parameter
from petstore_mock.journal.exchange import Exchange
from petstore_mock.strategies.scenarios import Blocks, plain_call
from tests.client import JSON, Client, Response

REQUIRED: Final = schema(ANIMAL)["required"]
KEPT: Final = [name for name, field in FIELDS.items() if not field.is_assigned]
each = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
each_with_body = pytest.mark.parametrize(
    "operation", [row for row in OPERATIONS.values() if row.body is not None], ids=lambda row: row.name
)
each_filter = pytest.mark.parametrize(
    ("operation", "parameter"),
    [(row, parameter) for row in OPERATIONS.values() for parameter in row.filters if row.does.about == "many"],
    ids=lambda value: value.name,
)


@pytest.fixture
def client() -> Client:
    return Client(PetStoreMock(), "wsgi")


def rules_of(name: str) -> Mapping[str, Any]:
    return properties(ANIMAL)[name]


def kind(name: str) -> Kind:
    return kind_of(rules_of(name))


def other(name: str) -> Any:
    """Return a valid value of a field that differs from that of each animal."""
    return _differing(FIELDS[name].samples, rules_of(name))


def member(body: str, name: str) -> Any:
    """Return a valid value of a member that differs from its first sample."""
    return _differing(MEMBERS[name].samples, properties(body)[name])


def _differing(samples: Sequence[Any], rules: Mapping[str, Any]) -> Any:
    """Return a value that is no sample, if the schema allows one. It never is the first sample, that of each animal."""
    value = another(samples[-1], rules)
    return another(samples[0], rules) if value == samples[0] else value


def animal(pet_id: int, **fields: Any) -> dict[str, Any]:
    """Return an animal with the first sample of each field."""
    return {"id": pet_id, **{name: FIELDS[name].samples[0] for name in KEPT}, **fields}


def body_of(operation: Operation, *, only_required: bool = False) -> dict[str, Any] | None:
    """Return a body with another value in each field."""
    if operation.body is None:
        return None
    names = schema(operation.body).get("required", ()) if only_required else properties(operation.body)
    return {name: member(operation.body, name) for name in names}


def wanted_fields(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the animal that a request with ``body`` gives it."""
    others = {one.name: one.sets for one in operation.members}
    in_body = {others.get(name, name): value for name, value in body.items()}
    by_parameter = {one.sets: other(one.sets) for one in operation.setting}
    return {name: value for name, value in {**in_body, **by_parameter}.items() if name in FIELDS}


def in_path(operation: Operation) -> dict[str, Any]:
    """Return the values of parameters in a path: those of all animals for a filter, and others if they set a field."""
    rows = operation.parameters_in("path")
    filters = {row.name: FIELDS[row.filters_by].samples[0] for row in rows if row.filters_by}
    return {**filters, **{row.name: other(row.sets) for row in rows if row.sets}}


def path_values(operation: Operation, pet_id: object, given: Mapping[str, object]) -> dict[str, str]:
    values: dict[str, str] = {}
    for parameter in operation.parameters_in("path"):
        value = pet_id if parameter is operation.identifier else in_path(operation)[parameter.name]
        values[parameter.name] = quote(as_text(given.get(parameter.name, value)), safe="")
    return values


def as_text(value: object) -> str:
    """Return a value as the text of a parameter."""
    return value if isinstance(value, str) else json.dumps(value)


def texts_of(value: object) -> list[str]:
    """Return the texts of a parameter; a tuple stands for a repeated one."""
    return [as_text(one) for one in (value if isinstance(value, tuple) else (value,))]


def send(
    client: Client,
    operation: Operation,
    pet_id: object = 2,
    body: object = ...,
    *,
    checked: bool = True,
    **given: Any,
) -> Response:
    """Send a request. ``given`` has the values of parameters, by name; a tuple for a repeated parameter."""
    target = f"{BASE_PATH}{operation.path.format(**path_values(operation, pet_id, given))}"
    given = {**{one.name: other(one.sets) for one in operation.setting if one.where != "path"}, **given}
    query, fields = (
        [(one.name, text) for one in operation.parameters_in(where) for text in texts_of(given.get(one.name, ()))]
        for where in ("query", "header")
    )
    value = body_of(operation) if body is ... else body
    content = None if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
    if content is not None:
        fields.append(JSON)
    target += f"?{urlencode(query)}" if query else ""
    if not checked:
        return client.bare(operation.method, target, [*client.petstore.headers.items(), *fields], content)
    return client.authed(operation.method, target, content, *fields)


def last(client: Client) -> Exchange:
    exchange: Exchange = client.last
    return exchange


# Rows and schemas


@each
def test_row_of_an_operation_agrees_with_its_schemas(operation: Operation) -> None:
    in_template = re.findall(r"\{(\w+)\}", operation.path)
    assert in_template == [parameter.name for parameter in operation.parameters_in("path")]
    assert {operation.body, operation.response} - {None} <= {*names()}
    if operation.shows_many:
        assert kind_of(schema(str(operation.response))).name == "array"
    others = properties(operation.body).keys() - FIELDS.keys() if operation.body else set()
    assert others == {member.name for member in operation.members}
    assert all(MEMBERS[member.name] == member for member in operation.members), "two rows for one member"
    renamed = {one.name: one.sets for one in operation.members}
    body = properties(operation.body) if operation.body else {}
    setting = [renamed.get(name, name) for name in body] + [one.sets for one in operation.setting]
    fields = [name for name in setting if name in FIELDS]
    assert len(fields) == len({*fields}), "two arguments for one field"


@each
def test_sentence_of_a_member_names_the_field_that_it_sets(operation: Operation) -> None:
    for member in operation.members:
        named = FIELDS.keys() & {*re.findall(r"\w+", member.sentence.text)}
        wanted = {member.sets} - {""}
        assert named == wanted, f"the sentence of {member.name} and its sets= name different fields"
        assert not wanted or not FIELDS[member.sets].is_assigned


@each
def test_relation_of_a_parameter_fits_the_effect_and_the_field(operation: Operation) -> None:
    for parameter in operation.parameters:
        field, says = parameter.filters_by or parameter.sets, parameter.says
        if field:
            assert field in FIELDS
            assert says.sets is operation.does.keeps, "sets is for creates and changes, a filter for others"
            if says.is_ordered:
                kind(field).order(FIELDS[field].samples[0])
            assert not says.filters or (says.name == "contains") is (kind(field).name == "array")


# The words of a sentence that say the order of a filter.
ORDERS: Final = {
    "after": {"after", "later", "above", "more", "over", "higher", "larger", "greater", "newer", "longer"},
    "before": {"before", "earlier", "below", "less", "under", "lower", "smaller", "fewer", "shorter"},
}


@pytest.mark.parametrize(
    "parameter",
    [parameter for row in OPERATIONS.values() for parameter in row.filters],
    ids=lambda parameter: parameter.name,
)
def test_sentence_of_a_filter_says_its_relation(parameter: Parameter) -> None:
    words = {*re.findall(r"\w+", parameter.sentence.text.lower().rpartition(";")[2])}
    said = {relation for relation, names in ORDERS.items() if words & names}
    assert said == ORDERS.keys() & {parameter.relation}, f"end the sentence with the relation, in words of {ORDERS}"


@pytest.mark.parametrize("name", [name for name, member in MEMBERS.items() if not member.is_assigned])
def test_samples_of_a_member_are_valid_in_each_turn(name: str) -> None:
    assert MEMBERS[name].samples
    for body in [ANIMAL, *(row.body for row in OPERATIONS.values() if row.body)]:
        rules = properties(body).get(name)
        for turn in range(5) if rules else ():
            for sample in MEMBERS[name].samples:
                value = kind_of(rules or {}).numbered(sample, turn) if turn else sample
                assert violations(rules or {}, value, name) == []


@pytest.mark.parametrize("name", KEPT)
def test_null_is_no_value_of_a_field(name: str) -> None:
    """The store removes a field that changes to null."""
    for body in [ANIMAL, *(row.body for row in OPERATIONS.values() if row.body)]:
        assert not allows_null(properties(body).get(name, {}))


# Operations


def test_each_operation_has_an_executor() -> None:
    assert EXECUTORS.keys() == OPERATIONS.keys()


@each
def test_success_has_the_effect_of_the_row_on_the_right_animal(client: Client, operation: Operation) -> None:
    pets = client.petstore.seed_many([animal(number) for number in (1, 2, 3)])
    assert send(client, operation).status == operation.success
    assert last(client).operation == operation.name
    assert last(client).executed
    after: list[Any] = client.petstore.pets
    by_id = {pet["id"]: pet for pet in after}
    if not operation.commits:
        assert after == pets
    elif operation.does.adds:
        assert after[:-1] == pets
        (added,) = [pet for pet in after if pet["id"] not in {1, 2, 3}]
        assert added.items() >= wanted_fields(operation, body_of(operation) or {}).items()
    elif operation.identifier is not None:
        assert [by_id[1], by_id[3]] == [pets[0], pets[2]]
        assert (2 not in by_id) is operation.does.ends
        if operation.body is not None or operation.setting:
            body = body_of(operation) or {}
            wanted = wanted_fields(operation, body)
            assert by_id[2].items() >= wanted.items()
            assert by_id[2] != pets[1]
            for name in by_id[2].keys() - wanted.keys():
                setting = [one.name for one in operation.members if body.get(one.name) == by_id[2][name]]
                assert by_id[2][name] == pets[1].get(name) or not setting, f"{setting} needs sets={name!r}"


@each
def test_response_shows_what_is_stored(client: Client, operation: Operation) -> None:
    client.petstore.seed_many([animal(number) for number in (1, 2, 3)])
    response = send(client, operation)
    if operation.shows_one:
        assert response.json() in client.petstore.pets
        assert operation.identifier is None or response.json()["id"] == 2
    elif operation.shows_many:
        assert response.json() == client.petstore.pets
    else:
        assert response.body == b""


@each
def test_fault_before_the_commit_keeps_nothing(client: Client, operation: Operation) -> None:
    pets = client.petstore.seed_many([animal(1), animal(2)])
    planned = [faults.server_error(503)]
    if operation.response is not None:
        planned.append(faults.wrong_content_type())
    for fault in planned:
        client.petstore.inject(fault, on=operation.name, at="before_commit", times=1)  # type: ignore[arg-type]
        send(client, operation, checked=False)
        assert last(client).fault == fault
        assert not (operation.commits and last(client).executed)
        assert client.petstore.pets == pets


@each
def test_animal_that_clients_do_not_see_yet_is_absent(client: Client, operation: Operation) -> None:
    """Gap visibility."""
    creates = next(row for row in OPERATIONS.values() if row.does.adds)
    client.petstore.configure(visibility="delayed")
    assert send(client, creates).status == creates.success
    (hidden,) = client.petstore.pets
    response = send(client, operation, hidden["id"])
    if operation.shows_many:
        assert response.json() == []
    elif not operation.does.adds:
        assert (response.status, client.refusal) == (404, "absent_pet")
        assert client.petstore.pets == [hidden]


@each_with_body
def test_fields_that_the_body_leaves_out_are_absent_only_after_a_create_or_a_replacement(
    client: Client, operation: Operation
) -> None:
    client.petstore.seed_many([animal(1), animal(2)])
    sent = body_of(operation, only_required=True) or {}
    assert send(client, operation, body=sent).status == operation.success
    changed: Any = client.petstore.pets[-1]
    given = wanted_fields(operation, sent)
    for name in KEPT:
        if name in given:
            assert changed[name] == given[name]
        elif name in REQUIRED or not (operation.does.replaces or operation.does.adds):
            assert changed[name] == FIELDS[name].samples[0]
        else:
            assert name not in changed
            assert name not in OMITTED or OMITTED[name].default == "absent"


@each
def test_optional_parameter_that_sets_a_field_may_be_left_out(client: Client, operation: Operation) -> None:
    """Without it, the field has the default of the parameter; or else it stays, or is absent from a new animal."""
    required = schema(operation.parameters_schema).get("required", ())
    for parameter in operation.setting:
        if parameter.name in required:
            continue
        default = parameters(operation)[parameter.name].get("default")
        former = another(default, rules_of(parameter.sets))
        client.petstore.reset()
        client.petstore.seed_many([animal(1), animal(2, **{parameter.sets: former})])
        assert send(client, operation, checked=True, **{parameter.name: ()}).status == operation.success
        changed: Any = client.petstore.pets[-1]
        if default is not None:
            assert changed[parameter.sets] == default
        elif operation.does.adds or operation.does.replaces:
            assert parameter.sets not in changed
        else:
            assert changed[parameter.sets] == former


def wrong_requests(operation: Operation) -> Iterator[tuple[object, dict[str, Any]]]:
    """Yield bodies and parameters that the service must refuse with 400 or 404."""
    for wrong in wrong_bodies(operation.body) if operation.body else ():
        text = wrong.text
        for name in MEMBERS:
            text = text.replace(f"{{{name}}}", "1")
        yield text.encode(), {}
    for parameter in operation.parameters:
        if kind_of(parameters(operation)[parameter.name]).name != "text":
            yield ..., {parameter.name: "no-such-value"}


@each
def test_refusal_cites_its_own_operation_or_field_and_changes_nothing(client: Client, operation: Operation) -> None:
    pets = client.petstore.seed_many([animal(1), animal(2)])
    own = {operation.section, *(field.sentence.section for field in FIELDS.values())}
    for body, given in wrong_requests(operation):
        pet_id = given.get(operation.identifier.name, 2) if operation.identifier else 2
        response = send(client, operation, pet_id, body, **given)
        assert response.status in {400, 404}
        assert last(client).section in own
        assert last(client).is_violation
        assert client.petstore.pets == pets


@pytest.mark.parametrize(
    "operation", [row for row in OPERATIONS.values() if row.identifier is not None], ids=lambda row: row.name
)
def test_absent_animal_is_no_violation_of_its_operation(client: Client, operation: Operation) -> None:
    assert operation.identifier is not None
    client.petstore.seed_many([animal(1), animal(2)])
    assert (send(client, operation, 7).status, client.refusal) == (404, "absent_pet")
    sentence = last(client).sentence
    assert sentence is not None
    assert operation.identifier.name in sentence.text
    assert not last(client).is_violation


@each
def test_parameters_in_the_path_are_required(operation: Operation) -> None:
    required = schema(operation.parameters_schema).get("required", ())
    assert {parameter.name for parameter in operation.parameters_in("path")} <= {*required}


# Fields


@pytest.mark.parametrize("name", KEPT)
def test_samples_are_valid_in_many_turns(name: str) -> None:
    count = 5 * len(FIELDS[name].samples)
    pets: list[Any] = PetStoreMock(seed=count).pets
    assert [violations(schema(ANIMAL), pet, "animal") for pet in pets] == [[]] * count
    if kind(name).is_free_text:
        assert len({pet[name] for pet in pets}) == count


@pytest.mark.parametrize("name", KEPT)
def test_another_value_is_valid_and_differs(name: str) -> None:
    for sample in FIELDS[name].samples:
        value = another(sample, rules_of(name))
        assert value != sample
        assert violations(rules_of(name), value, name) == []


@pytest.mark.parametrize("name", KEPT)
def test_wrong_values_break_the_field(name: str) -> None:
    for text in wrong_texts(rules_of(name)).values():
        assert violations(rules_of(name), json.loads(text), name) != [], text


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda row: row.name)
def test_odd_values_of_a_kind_are_valid_without_bounds(kind: Kind) -> None:
    needed = {"minimum": -(2**63), "maximum": 2**63 - 1, "items": {"type": "string"}, "properties": {}}
    rules = {"type": kind.type, **{name: needed[name] for name in kind.needs}}
    for text in kind.odd:
        assert violations({**rules, "format": kind.format}, json.loads(text), "value") == [], text


@pytest.mark.parametrize("name", KEPT)
def test_odd_and_wrong_values_reach_each_part_of_a_field(name: str) -> None:
    odd, wrong = [*odd_texts(rules_of(name))], wrong_texts(rules_of(name))
    for part, rules in parts(rules_of(name)):
        assert any(end.startswith(f"{part.lower()}-") for end in wrong), part
        assert all(any(text in whole for whole in odd) for text in odd_texts(rules)), part


def test_one_field_labels_animals() -> None:
    assert [name for name, field in FIELDS.items() if field.is_label] == [LABEL]
    assert kind(LABEL).is_free_text


# Parameters


def values_around(name: str) -> list[Any]:
    """Return values of a field; for a kind with an order, in that order and with a neighbour on both sides."""
    first = FIELDS[name].samples[0]
    found: list[Any] = [first, another(first, rules_of(name)), FIELDS[name].samples[-1]]
    distinct = [value for index, value in enumerate(found) if value not in found[:index]]
    with suppress(TypeError):  # the kind has no order
        distinct.sort(key=kind(name).order)
    return distinct


def fits(parameter: Parameter, value: Any, wanted: Any) -> bool:
    """Whether an animal with ``value`` belongs to the list."""
    if parameter.relation == "contains":
        return wanted in value
    if parameter.relation == "equals":
        return bool(value == wanted)
    order = kind(parameter.filters_by).order
    is_after = bool(order(value) > order(wanted))
    return is_after if parameter.relation == "after" else value != wanted and not is_after


@each_filter
def test_filter_selects_the_right_animals_on_both_sides_of_its_edge(
    client: Client, operation: Operation, parameter: Parameter
) -> None:
    field = parameter.filters_by
    values = values_around(field)
    pets = [animal(number, **{field: value}) for number, value in enumerate(values, 1)]
    if field not in REQUIRED:
        lacking = animal(len(pets) + 1)
        del lacking[field]
        pets.append(lacking)
    client.petstore.seed_many(pets)
    shown = set()
    for wanted in values:
        for item in wanted if parameter.relation == "contains" else [wanted]:
            ids = [pet["id"] for pet in send(client, operation, **{parameter.name: item}).json()]
            assert ids == [pet["id"] for pet in pets if field in pet and fits(parameter, pet[field], item)]
            shown.add(tuple(ids))
    assert len(shown) > 1


@each
def test_machine_calls_the_operation_with_each_argument(operation: Operation) -> None:
    blocks = Blocks(None)
    assert operation in blocks.rows
    assert plain_call(operation) in blocks.plain
    given = {name for call in blocks.values(()) if call.operation == operation.name for name in call.arguments}
    assert given == {*arguments(operation)}
    if operation.identifier is not None:
        assert any(isinstance(step, Call) and step.operation == operation.name for step in blocks.removal)


# Gaps


def choose(client: Client, gap: str, alternative: str) -> None:
    petstore: Any = client.petstore
    petstore.configure(**({gap: alternative} if gap else {}))


def values_of(operation: Operation, parameter: Parameter) -> list[Any]:
    """Return two different valid values of a parameter."""
    field = parameter.filters_by or parameter.sets
    rules = parameters(operation)[parameter.name]
    first = FIELDS[field].samples[0] if field else rules.get("minimum", 1)
    first = first[0] if isinstance(first, list) else first
    return [first, another(first, rules)]


def test_gap_of_a_parameter_has_a_sentence_about_it() -> None:
    names: dict[str, set[str]] = {}
    for operation in OPERATIONS.values():
        for parameter in operation.parameters:
            if parameter.gap:
                names.setdefault(parameter.gap, set()).add(parameter.name)
                assert GAPS[parameter.gap].decides == "parameter"
                assert wrong_text(parameters(operation)[parameter.name]), "the gap has no effect: each text is valid"
                are_conditions = {*GAPS[parameter.gap].alternatives.values()} <= CONDITIONS.keys()
                assert are_conditions is (parameter.where == "path")
    assert {gap: found for gap, found in names.items() if len(found) > 1} == {}


@each
def test_alternatives_for_an_invalid_parameter_differ(operation: Operation) -> None:
    for parameter in operation.parameters:
        rules = parameters(operation)[parameter.name]
        uses = GAPS[parameter.gap].alternatives.values() if parameter.gap else ()
        texts = (wrong_text(rules), "-1", "0", "1000")
        found = [[use(text, rules) if callable(use) else use for text in texts] for use in uses]
        assert all(one not in found[:index] for index, one in enumerate(found)), parameter.gap


@each
def test_gap_decides_about_an_invalid_parameter_and_the_refusal_names_it(client: Client, operation: Operation) -> None:
    client.petstore.seed_many([animal(1), animal(2)])
    for parameter in operation.parameters:
        rules = parameters(operation)[parameter.name]
        gap, text = GAPS.get(parameter.gap), wrong_text(rules)
        if not text:
            continue
        for name, choice in gap.alternatives.items() if gap else [("", lambda *_: None)]:
            choose(client, gap.name if gap else "", name)
            status = send(client, operation, checked=True, **{parameter.name: text}).status
            if callable(choice) and choice(text, rules) is not None:
                assert status == operation.success
                continue
            assert status == (400 if callable(choice) else CONDITIONS[choice].status)
            assert last(client).violations[0].path == parameter.place
            assert last(client).sentence == parameter.sentence


@each
def test_rules_for_a_field_hold_in_the_body_and_for_the_parameter_that_sets_it(
    client: Client, operation: Operation
) -> None:
    client.petstore.seed_many([animal(1), animal(2)])
    fields = properties(operation.body) if operation.body else {}
    for gap in RULES:
        for name, keywords in gap.alternatives.items():
            choose(client, gap.name, name)
            for text in gap.texts:
                value = json.loads(text.replace("{long label}", "x" * 300))
                places: list[Any] = [
                    (one.place, {one.name: value}, ...) for one in operation.setting if one.sets == gap.field
                ]
                if gap.field in fields:
                    places.append((f"body.{gap.field}", {}, {**(body_of(operation) or {}), gap.field: value}))
                for place, given, body in places:
                    status = send(client, operation, body=body, **given).status
                    if violations(keywords or {}, value, ""):
                        assert (status, last(client).violations[0].path) == (400, place)
                    else:
                        assert status == operation.success
        choose(client, gap.name, gap.default)


@each_with_body
def test_gap_decides_about_null_in_each_member_that_may_be_left_out(client: Client, operation: Operation) -> None:
    client.petstore.seed_many([animal(1), animal(2)])
    body = str(operation.body)
    for name in properties(body).keys() - schema(body).get("required", ()) - {*REQUIRED}:
        if allows_null(properties(body)[name]):
            continue
        assert name in NULLS, f"the row of {name} needs null='...', the gap that decides about null"
        for alternative, refuses in NULLS[name].alternatives.items():
            choose(client, NULLS[name].name, alternative)
            status = send(client, operation, body={**(body_of(operation) or {}), name: None}).status
            assert status == (400 if refuses else operation.success)
            assert not any(None in pet.values() for pet in client.petstore.pets)


@each
def test_gap_decides_about_a_repeated_parameter(client: Client, operation: Operation) -> None:
    client.petstore.seed_many([animal(1), animal(2)])
    for parameter in operation.parameters:
        is_text = kind_of(parameters(operation)[parameter.name]).is_free_text
        # A joined text may be one text with a comma.
        if parameter.where == "path" or (parameter.where == "header" and is_text):
            continue
        values = values_of(operation, parameter)
        for name, use in GAPS["repeated_query"].alternatives.items():
            choose(client, "repeated_query", name)
            response = send(client, operation, checked=True, **{parameter.name: tuple(values)})
            used = use(values)
            if used is None:
                assert (response.status, last(client).violations[0].path) == (400, parameter.place)
            else:
                assert response.body == send(client, operation, **{parameter.name: used}).body
