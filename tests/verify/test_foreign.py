"""Services of other teams: what they break is one finding for each cause, and no more than the interface shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.verify.services import ENOUGH, Turn, ask, broken, changed, nothing, result_of

if TYPE_CHECKING:
    from collections.abc import Callable


def status_of(name: str, status: int, *only: int) -> Callable[[Turn], None]:
    def change(turn: Turn) -> None:
        if turn.name == name and (turn.status in only or not only):
            turn.status = status

    return change


def redirected(turn: Turn) -> None:
    if turn.query == "limit=4" and turn.status == 200:
        turn.status = 302


def error_page(turn: Turn) -> None:
    if turn.status >= 400:
        turn.media_type, turn.body = "text/html", b"<h1>No</h1>"


def own_errors(turn: Turn) -> None:
    if turn.status >= 400:
        turn.document = {"detail": "no"}


def another_status_in_filtered_lists(turn: Turn) -> None:
    for pet in turn.pets if turn.query == "status=sold" else ():
        pet["categoryId"] += 1


def another_category_when_created(turn: Turn) -> None:
    for pet in turn.pets if turn.name == "list" else ():
        pet["categoryId"] += pet["name"].startswith("Verify")


def without_created(turn: Turn) -> None:
    if turn.name == "list" and turn.status == 200:
        turn.document = [pet for pet in turn.document if not pet["name"].startswith("Verify")]


def rounded(turn: Turn) -> None:
    for pet in turn.pets if turn.name == "get" else ():
        pet["categoryId"] = int(float(pet["categoryId"]))


def page_of_150(turn: Turn) -> None:
    if turn.query in {"limit=101", "limit=1000"}:
        turn.respond(200, [{"id": number, "name": "x", "categoryId": 1} for number in range(1000, 1150)])


ONE_CAUSE: dict[str, tuple[str, Callable[[Turn], object]]] = {
    "a plain list is refused": (
        "4.1-list",
        lambda turn: turn.refuse(400) if (turn.name, turn.query, turn.status) == ("list", "", 200) else None,
    ),
    "a list leads elsewhere": ("4.1-list", redirected),
    "a list is 206": ("4.1-list", status_of("list", 206, 200)),
    "a create is 200": ("4.2-created", status_of("create", 200, 201)),
    "lists are not there": ("1-base-address", lambda turn: turn.refuse(404) if turn.name == "list" else None),
    "a refusal is 422": ("4.2-name-required", status_of("create", 422, 400)),
    "a refused key is 403": ("5-missing-key", lambda turn: turn.refuse(403) if turn.status == 401 else None),
    "errors are pages": ("7-400-error", error_page),
    "errors are of another kind": ("7-400-error", own_errors),
    "limit=100 is refused": ("4.1-limit-maximum", lambda turn: turn.refuse(400) if turn.query == "limit=100" else None),
    "a filtered list shows another animal": ("4.1-same-animal", another_status_in_filtered_lists),
    "lists change a created animal": ("4.2-same-animal", another_category_when_created),
    "lists lack created animals": ("4.2-listed", without_created),
    "a get rounds numbers": ("4.3-same-animal", rounded),
    "a page has 150 animals": ("4.1-limit-bound", page_of_150),
}


@pytest.mark.untraced
@pytest.mark.parametrize("name", ONE_CAUSE)
def test_one_cause_is_one_finding(name: str) -> None:
    clause, change = ONE_CAUSE[name]
    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
        assert petstore.api_key not in str(verdict)
    assert broken(verdict).keys() == {clause}, verdict
    (found,) = verdict.broken
    assert ": expected " in found.detail
    assert "; came " in found.detail
    assert found.curl.startswith("curl -i ")


def long_name(turn: Turn) -> int | None:
    name = (turn.sent or {}).get("name")
    return 400 if turn.name == "create" and isinstance(name, str) and len(name) > 10 else None


def unknown_category(turn: Turn) -> int | None:
    category = (turn.sent or {}).get("categoryId")
    return 400 if turn.name == "create" and category not in {1, 2, 3, 4, 5} else None


def only_reads(turn: Turn) -> int | None:
    return 403 if turn.name == "create" else None


@pytest.mark.untraced
@pytest.mark.parametrize("refuses", [long_name, unknown_category, only_reads])
def test_a_rule_that_the_interface_does_not_show_breaks_nothing(refuses: Callable[[Turn], int | None]) -> None:
    with changed(nothing, refuses=refuses) as (petstore, url):
        keyless = {"5-missing-key-create", "5-unknown-key-create"}  # such a rule may come first
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict).keys() <= keyless, verdict
    assert result_of(verdict, "4.3-get") == "holds"
    if refuses is long_name:
        assert result_of(verdict, "2-status-sold") == "not_observable"
        assert any("the plainest one: POST /pets -> 201" in note for note in verdict.notes)


def null_where_omitted(turn: Turn) -> None:
    for pet in turn.pets if turn.name == "create" else ():
        pet.setdefault("status", None)


def test_a_choice_that_is_none_of_ours_is_told_as_that() -> None:
    with changed(null_where_omitted) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    finding = verdict.gaps["status_when_omitted"]
    assert (finding.choice, finding.kind) == (None, "neither")
    assert '"status": null' in finding.evidence


def test_findings_come_first_most_serious_first_with_their_details() -> None:
    def change(turn: Turn) -> None:
        own_errors(turn)
        if turn.name == "list" and turn.status == 401:
            turn.respond(200, [])

    with changed(change) as (petstore, url):
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    lines = str(verdict).splitlines()
    findings = [line.split()[1].rstrip(":") for line in lines if line.startswith("BROKEN")]
    assert findings == sorted(findings, key=lambda clause: "54127".index(clause[0]))
    assert len(findings) == len(verdict.broken) > 2
    assert lines[1].startswith("BROKEN")
    for clause in verdict.broken:
        at = next(
            number for number, line in enumerate(lines) if line.startswith("BROKEN") and f" {clause.id}: " in line
        )
        assert lines[at + 1].strip() == clause.detail
        assert lines[at + 2].strip() == clause.curl
    assert lines[-1].endswith(" requests")
