"""Shrinking by what the steps mean: played by a function here, without a client or a service."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour
from petstore_mock._machine_explain import ClientBugError
from petstore_mock._machine_shrink import Course, simplest


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
