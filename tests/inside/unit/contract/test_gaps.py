"""The register of gaps, held against the interface and the design."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from petstore_mock.contract.gap_policies import INTEGER_TEXT
from petstore_mock.contract.gaps import GAPS
from petstore_mock.core.store import Store

ROOT = Path(__file__).parents[4]

# Every "not shown" of the interface: its section, words that tell it from the others, and the gaps that choose for it,
# or the words by which the documents speak of it where there is nothing to choose.
NOT_SHOWN: list[tuple[str, str, tuple[str, ...], str]] = [
    ("1", "Other resources, such as store orders and categories", ("unknown_route",), "Other endpoints (§4.4)"),
    ("2", "Fields of the category record", ("category_rule",), "Fields of the category record (§2)"),
    ("2", "Length or character limits on `name`", ("name_rule",), ""),
    ("3", "Transitions; no operation for changing the status is shown", (), "Transitions of `status` (§3)"),
    ("3", "The status given when `status` is omitted", ("status_when_omitted",), ""),
    ("4.1", "Pagination controls beyond `limit`", ("paging_headers", "list_order", "page_fill"), ""),
    ("4.4", "GET /store/orders: method details, parameters and payloads", ("unknown_route",), "Other endpoints (§4.4)"),
    ("5", "How keys are issued, their lifetime and their rotation", ("key_rotation",), "`issue_key`, `revoke_key`"),
    ("5", "Per-operation permissions or scopes", (), "permissions and scopes"),
    ("6", "Events, webhooks and notifications", (), "Events, webhooks and notifications (§6)"),
    ("7", "The set of possible values of `code`", ("error_codes",), ""),
    (
        "7",
        "Errors for invalid query parameters on listPets",
        ("invalid_limit", "invalid_status_filter", "unknown_query", "repeated_query"),
        "",
    ),
    ("8", "Rate limits", ("rate_limit",), ""),
    ("8", "Size limits of request bodies", ("body_limit",), ""),
    ("9", "Which operations carry an `experimental` or `beta` marker", (), "Stability markers (§9)"),
    ("9", "Policy for introducing new versions", (), "Versioning policy (§9)"),
]


def test_gap_names_are_those_of_the_register() -> None:
    for name, gap in GAPS.items():
        assert gap.name == name
        assert len(gap.alternatives) >= 2
        assert gap.default == next(iter(gap.alternatives))
        assert re.fullmatch(r"[1-9](\.\d)?", gap.section)
        assert gap.sentence
        assert gap.lesson
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", alternative) for alternative in gap.alternatives)


def test_every_not_shown_has_its_gap_of_that_section() -> None:
    for section, _words, gaps, _readme in NOT_SHOWN:
        for gap in gaps:
            assert GAPS[gap].section in {section, "4.4"} or (gap, section) == ("unknown_route", "1")


def test_register_stands_in_the_steps_of_the_pipeline() -> None:
    steps = [gap.step for gap in GAPS.values()]
    order = ["validate", "content", "encode", "wire", "event"]
    assert steps == sorted(steps, key=order.index)


@pytest.mark.parametrize("text", ["0", "-0", "1", "-1", "10", "9" * 400])
def test_integer_text_is_jsons(text: str) -> None:
    assert INTEGER_TEXT.fullmatch(text)


@pytest.mark.parametrize("text", ["", "-", "+1", "01", "1.0", "1e1", " 1", "1\n", "١", "１", "²", "1_0"])
def test_integer_text_is_nothing_else(text: str) -> None:
    assert not INTEGER_TEXT.fullmatch(text)


@pytest.mark.parametrize("name", list(GAPS["list_order"].alternatives))
@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_every_order_lists_the_right_animals(name: str, limit: int) -> None:
    store = Store()
    for number in range(1, 8):
        more = {"status": "sold"} if number % 2 else {}
        store.put({"id": number, "name": str(-number % 4), "categoryId": 1, **more})
    order = GAPS["list_order"].alternatives[name]
    for status, ids in ((None, set(range(1, 8))), ("sold", {1, 3, 5, 7}), ("no-such", set())):
        found = list(order(store, status, limit, Random(1)))
        assert len(found) == len(set(found)) == min(limit, len(ids))
        assert set(found) <= ids


@pytest.mark.parametrize("name", list(GAPS["id_assignment"].alternatives))
def test_every_assignment_gives_positive_ids(name: str) -> None:
    assign = GAPS["id_assignment"].alternatives[name]
    random, last = Random(1), 0
    for _ in range(100):
        number = assign(last, random)
        assert 0 < number < 2**63
        assert name == "random_int64" or number > last
        last = max(last, number)


def test_operation_that_is_not_removed_signals_nothing() -> None:
    assert [choice(None) for choice in GAPS["deprecation_headers"].alternatives.values()] == [(), ()]


def test_documents_speak_of_what_has_no_gap() -> None:
    choices = (ROOT / "docs" / "explanation" / "choices.md").read_text(encoding="utf-8")
    for section, words, gaps, line in NOT_SHOWN:
        assert gaps or line, words
        assert line in choices, f"§{section}: {words}"
