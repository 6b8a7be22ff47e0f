"""The pure parts of what measures a tree: drawn requests, differences, mutants."""

from __future__ import annotations

import json

import pytest

from tools.differences import Found, Report, comparable, differences
from tools.drawing import Request, scenarios, single_requests
from tools.mutants import mutants_of

GAPS = {"page_fill": ["full", "short"], "json_style": ["compact", "pretty"]}


def test_a_recorded_request_is_read_back_as_it_was() -> None:
    for request in single_requests("seed"):
        assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_a_removed_gap_leaves_other_scenarios_as_they_are() -> None:
    both = {scenario.name: scenario for scenario in scenarios("seed", GAPS)}
    fewer = [one for one in scenarios("seed", {"page_fill": GAPS["page_fill"]}) if "combination" not in one.name]
    assert [one for one in fewer if both[one.name] != one] == []


def test_differences_carry_the_innermost_rule() -> None:
    old = {"status": 400, "violations": [{"rule": "type", "path": "a"}, {"rule": "enum", "path": "b"}]}
    new = {"status": 400, "violations": [{"rule": "type", "path": "a"}, {"rule": "enum", "path": "c"}]}
    assert list(differences(old, new)) == [Found("violations[].path", "enum", "b", "c")]
    assert list(differences({"a": 1.0}, {"a": 1})) == [Found("a", "", 1.0, 1)]


def test_sentences_and_their_length_are_no_difference() -> None:
    def response(message: str) -> dict[str, object]:
        body = json.dumps({"code": "x", "message": message})
        return comparable({"headers": [["Content-Length", str(len(body))]], "body": body}, {})

    report = Report()
    report.add(response("must be 5"), response("expected 5"), {}, "about")
    assert report.differing == 0
    assert len(report.sentences) == 1


@pytest.mark.parametrize(
    ("gaps", "bodies"),
    [
        ({"id_assignment": "sparse"}, ('{"id":501}', '{"id":77}')),
        ({"list_order": "arbitrary"}, ('[{"id":1}]', '[{"id":2}]')),
        ({"json_style": "shuffled_members"}, ('{"id":1,"name":"A"}', '{"name":"A","id":1}')),
    ],
)
def test_what_is_drawn_is_no_difference(gaps: dict[str, str], bodies: tuple[str, str]) -> None:
    old, new = (comparable({"headers": [], "body": body}, gaps) for body in bodies)
    assert old == new
    old, new = (comparable({"headers": [], "body": body}, {}) for body in bodies)
    assert old != new


SOURCE = '''
"""A docstring."""
from typing import Literal
Kind = Literal["a"]
def f(x: "int") -> "int":
    if x < 5:
        g(x)
    return f"{x} words"
'''


def test_mutants_change_what_runs() -> None:
    found = {
        (one.kind, one.apply(SOURCE.encode()).decode().splitlines()[one.line - 1])
        for one in mutants_of(SOURCE.encode(), "m")
    }
    assert found == {
        ("negated condition", "    if (not (x < 5)):"),
        ("swapped comparison", "    if x <= 5:"),
        ("changed constant", "    if x < 6:"),
        ("dropped call", "        None"),
        ("return None", "    return None"),
    }
