"""Shrinking by what the steps mean: played by a function here, without a client or a service."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour, faults
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.shrinking import Course, simplest


@pytest.mark.parametrize("limit", [2**31, 2**53 + 1, -(2**31) - 1, 255, 2])
def test_a_number_is_shrunk_to_the_limit_at_which_it_fails_without_a_walk(limit: int) -> None:
    played = 0

    def play(course: Course) -> ClientBugError | None:
        nonlocal played
        played += 1
        for step in course.steps:
            number = step[2] if step[0] == "create" else 0
            if (number >= limit) if limit > 0 else (number <= limit):
                return ClientBugError(str(number), "", "")
        return None

    far = 3 * limit + 7 if limit > 0 else 3 * limit - 7
    shrunk = simplest(Course(Behaviour(), (("create", "Rex", far, None),)), ClientBugError("", "", ""), play)
    assert shrunk.sentence == str(limit)
    assert played < 1000


def by_a_refusal(course: Course) -> ClientBugError | None:
    """Fail for a refused key: the one that is retired after ten requests, or one that is refused once."""
    refused = any(step[:2] == ("inject", faults.unauthorized()) and step[2][0] == "createPet" for step in course.steps)
    retired = course.behaviour.key_rotation == "mid_session" and len(course.steps) > 10
    return ClientBugError(f"{course.behaviour.differences()} {course.steps}", "", "") if refused or retired else None


@pytest.mark.parametrize("any_fault", [True, False])
def test_what_the_service_does_after_many_requests_is_shrunk_to_one_fault(any_fault: bool) -> None:
    """Unless the faults are those that the test's author chose."""
    course = Course(Behaviour(key_rotation="mid_session"), (("create", "Rex", 1, None),) * 15, any_fault=any_fault)
    shrunk = simplest(course, ClientBugError("", "", ""), by_a_refusal)
    once = ("inject", faults.unauthorized(), ("createPet", 1, 0, False))
    assert (shrunk.sentence == f"{{}} {(once,)}") is any_fault
