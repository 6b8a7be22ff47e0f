"""Suggestions for names that are almost right."""

from __future__ import annotations

import pytest

from petstore_mock.common.suggestions import did_you_mean, nearest

FIELDS = ("name", "categoryId", "status")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("category_id", "categoryId"),
        ("CategoryId", "categoryId"),
        ("category-id", "categoryId"),
        ("n---a---m---e", "name"),
        ("n___a___m___e", "name"),
        ("catgoryId", "categoryId"),
        ("category", "categoryId"),
        ("state", "status"),
        ("NAME", "name"),
        ("colour", None),
        ("", None),
        (5, None),
        (["status"], "status"),
    ],
)
def test_the_nearest_name_is_offered(name: object, meant: str | None) -> None:
    assert nearest(name, FIELDS) == meant
    assert did_you_mean(name, FIELDS) == ("" if meant is None else f". Did you mean '{meant}'?")


def test_what_is_too_long_for_a_slip_is_not_compared() -> None:
    known = ("x" * 120,)
    assert nearest("x" * 100, known) == known[0]
    assert nearest("x" * 101, known) is None


def test_nothing_is_offered_where_nothing_is_known() -> None:
    assert nearest("name", ()) is None
