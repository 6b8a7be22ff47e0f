"""Suggestions for names that are almost right."""

from __future__ import annotations

import pytest

from petstore_mock.suggestion import did_you_mean, nearest

FIELDS = ("name", "categoryId", "status")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("category_id", "categoryId"),
        ("CategoryId", "categoryId"),
        ("category-id", "categoryId"),
        ("catgoryId", "categoryId"),
        ("category", "categoryId"),
        ("state", "status"),
        ("NAME", "name"),
        ("colour", None),
        ("", None),
        (5, None),
        (["status"], "status"),
        ("categoryId" * 11, None),
    ],
)
def test_the_nearest_name_is_offered(name: object, meant: str | None) -> None:
    assert nearest(name, FIELDS) == meant
    assert did_you_mean(name, FIELDS) == ("" if meant is None else f". Did you mean '{meant}'?")


def test_nothing_is_offered_where_nothing_is_known() -> None:
    assert nearest("name", ()) is None
