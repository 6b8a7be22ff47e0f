"""The register of mutants: services that break one clause of the interface each, and what each does instead.

Would a client's tests notice? Each is run under mutants, as exploration runs it under gaps. A mutant changes what is
asked of the service, what it answers, or what it keeps; the pipeline stays as it is (:mod:`petstore_mock.core.mutation`
hooks it in). What no client could ever observe is no mutant: ``petstore-mock verify`` catches each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from petstore_mock.common.numbers import is_number
from petstore_mock.contract import mutant_changes as do
from petstore_mock.contract.interface import DEFAULT_LIMIT, LARGEST_INT64, LARGEST_LIMIT, PET_STATUSES, OperationName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.contract.mutant_changes import Turn

__all__ = ["MUTANTS", "Mutant"]

_EXACT: Final = 2**53  # of the integers that a double holds


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause.

    Attributes:
        name: how the reports speak of it.
        clause: the id of the clause that it breaks, of ``petstore-mock verify``.
        words: what the service does.
        after: changes what came of it.
        before: changes what was asked of the service.
        operations: the operations that do so.
    """

    name: str
    clause: str
    words: str
    after: Callable[[Turn], object] | None = None
    before: Callable[[Turn], object] | None = None
    operations: tuple[OperationName, ...] = field(kw_only=True)


_LIST: Final[tuple[OperationName, ...]] = ("listPets",)
_CREATE: Final[tuple[OperationName, ...]] = ("createPet",)
_GET: Final[tuple[OperationName, ...]] = ("getPet",)
_ALL: Final[tuple[OperationName, ...]] = ("listPets", "createPet", "getPet")

# A mutant by the operations that do otherwise.
_list = partial(Mutant, operations=_LIST)
_create = partial(Mutant, operations=_CREATE)
_get = partial(Mutant, operations=_GET)
_all = partial(Mutant, operations=_ALL)

_MUTANTS: Final = (
    # §1
    _list("list-is-cut", "1-json-body", "listPets answers JSON that lacks its end", do.on_success(do.cut_short)),
    _get("get-is-cut", "1-json-body", "getPet answers JSON that lacks its end", do.on_success(do.cut_short)),
    _list("list-as-html", "1-media-type", "listPets answers as text/html", do.on_success(do.as_page)),
    _create("create-as-html", "1-media-type", "createPet answers as text/html", do.on_success(do.as_page)),
    _list("list-not-there", "1-base-address", "listPets is not there: 404", do.on_success(do.refused(404))),
    # §2
    _list("list-wrapped", "2-pets-array", 'the list comes as {"pets": [...]}', do.on_success(do.wrapped)),
    _list("list-of-ids", "2-pet-object", "the list holds ids, not animals", do.on_success(do.as_ids)),
    _get("get-in-array", "2-pet-object", "getPet answers an array of one animal", do.on_success(do.in_array)),
    _create("create-in-array", "2-pet-object", "createPet answers an array of one", do.on_success(do.in_array)),
    _list("list-id-text", "2-pet-id", "the ids of a list are text", do.with_field("id", int, str)),
    _create("create-id-text", "2-pet-id", "createPet answers an id that is text", do.with_field("id", int, str)),
    _create("create-id-missing", "2-pet-id", "createPet answers no id", do.without("id")),
    _get("get-id-renamed", "2-pet-id", "getPet calls the id petId", do.renamed("id", "petId")),
    _list("list-name-renamed", "2-pet-name", "the list calls the name title", do.renamed("name", "title")),
    _get(
        "get-name-null", "2-pet-name", "getPet answers a name that is null", do.with_field("name", str, do.always(None))
    ),
    _list(
        "list-category-renamed",
        "2-pet-category",
        "the list calls categoryId category_id",
        do.renamed("categoryId", "category_id"),
    ),
    _get(
        "get-category-text",
        "2-pet-category",
        "getPet answers a categoryId of text",
        do.with_field("categoryId", int, str),
    ),
    _create("create-category-missing", "2-pet-category", "createPet answers no categoryId", do.without("categoryId")),
    _list(
        "list-status-upper",
        "2-pet-status",
        "the list writes AVAILABLE, PENDING, SOLD",
        do.with_field("status", str, str.upper),
    ),
    _get(
        "get-status-number",
        "2-pet-status",
        "getPet answers a status that is a number",
        do.with_field("status", str, len),
    ),
    _list("list-one-id", "2-id-unique", "every animal of a list has the id of the first", do.all_of_one_id),
    _create("create-id-taken", "2-id-assigned", "createPet answers the id of another animal", do.id_of_another),
    _all("error-code-missing", "2-error-code", "errors have no code", do.in_errors(do.lacking("code"))),
    _all("error-message-missing", "2-error-message", "errors have no message", do.in_errors(do.lacking("message"))),
    _all("error-status-missing", "2-error-status", "errors have no status", do.in_errors(do.lacking("status"))),
    _all(
        "error-status-text",
        "2-error-status",
        "the status of errors is text",
        do.in_errors(lambda error: {**error, "status": str(error.get("status"))}),
    ),
    _create(
        "create-name-changed",
        "2-name-echoed",
        "createPet answers the name in other letter case",
        do.with_field("name", str, do.other_case),
    ),
    _create(
        "create-category-changed",
        "2-category-echoed",
        "createPet answers another category",
        do.with_field("categoryId", int, lambda number: number - 1),
    ),
    _create("create-status-dropped", "2-status-echoed", "createPet answers no status", do.without("status")),
    _create(
        "create-status-changed",
        "2-status-echoed",
        "createPet answers another status",
        do.with_field("status", str, do.next_status),
    ),
    _create(
        "create-category-rounded",
        "2-category-int64",
        "createPet rounds a categoryId beyond 2^53",
        do.with_field("categoryId", int, do.rounded),
    ),
    _create(
        "create-name-ascii",
        "2-name-text",
        "createPet answers ? for letters beyond ASCII",
        do.with_field("name", str, do.in_ascii),
    ),
    _create(
        "create-needs-status",
        "2-status-optional",
        "createPet refuses an animal without a status: 400",
        do.on(do.sent_status(None), do.refused(400)),
    ),
    *(
        _create(
            f"create-{status}-refused",
            f"2-status-{status}",
            f"createPet refuses the status {status}: 400",
            do.on(do.sent_status(status), do.refused(400)),
        )
        for status in PET_STATUSES
    ),
    # §4.1
    _list("list-answers-204", "4.1-list", "listPets answers 204, and nothing", do.on_success(do.answered(204))),
    _list(
        "list-minimum-refused",
        "4.1-limit-minimum",
        "limit=1 is refused: 400",
        do.on(lambda turn: turn.limit == 1, do.refused(400)),
    ),
    _list(
        "list-maximum-refused",
        "4.1-limit-maximum",
        "limit=100 is refused: 400",
        do.on(lambda turn: turn.limit == LARGEST_LIMIT, do.refused(400)),
    ),
    _list(
        "list-limit-refused",
        "4.1-limit-within",
        "every limit from 2 to 99 is refused: 400",
        do.on(lambda turn: turn.limit not in {None, 1, LARGEST_LIMIT}, do.refused(400)),
    ),
    _list("list-limit-ignored", "4.1-limit-counts", "limit is ignored", before=do.limit_ignored),
    _list("list-limit-and-one", "4.1-limit-counts", "one animal more than limit comes", before=do.limit_and_one),
    _list(
        "list-default-100",
        "4.1-limit-default",
        "the default of limit is 100",
        before=do.default_limit(LARGEST_LIMIT),
    ),
    _list(
        "list-default-21",
        "4.1-limit-default",
        "the default of limit is 21",
        before=do.default_limit(DEFAULT_LIMIT + 1),
    ),
    *(
        _list(
            f"list-{status}-refused",
            f"4.1-status-{status}",
            f"status={status} is refused: 400",
            do.on(do.asked_status(status), do.refused(400)),
        )
        for status in PET_STATUSES
    ),
    _list(
        "list-filter-ignored",
        "4.1-status-filter",
        "the status filter is ignored",
        before=do.filter_ignored(*PET_STATUSES),
    ),
    _list("list-sold-ignored", "4.1-status-filter", "status=sold is ignored", before=do.filter_ignored("sold")),
    _list(
        "list-pending-available",
        "4.1-status-filter",
        "status=pending brings those that are available",
        before=do.filter_taken_for("pending", "available"),
    ),
    _list(
        "list-filter-finds-nothing",
        "4.1-status-finds",
        "the status filter finds no animal",
        do.on(lambda turn: "status" in turn.query, do.empty_page),
    ),
    _list(
        "list-sold-finds-nothing",
        "4.1-status-finds",
        "status=sold finds no animal",
        do.on(do.asked_status("sold"), do.empty_page),
    ),
    _list(
        "list-empty",
        "4.1-list-finds",
        "the list is always empty, unless it is filtered",
        do.on(lambda turn: "status" not in turn.query, do.empty_page),
    ),
    _list("list-always-empty", "4.1-list-finds", "the list is always empty", do.on_success(do.empty_page)),
    # §4.2
    _create("create-answers-200", "4.2-created", "createPet answers 200, not 201", do.on_success(do.answered(200))),
    _create("create-answers-204", "4.2-created", "createPet answers 204, and nothing", do.on_success(do.answered(204))),
    _create("create-forgotten", "4.2-kept", "a created animal is not kept", do.on_success(do.forgotten)),
    _create(
        "name-not-required",
        "4.2-name-required",
        "a body without name passes",
        do.passes(do.lacks("name"), {"name": do.always("unnamed")}),
    ),
    _create(
        "category-not-required",
        "4.2-category-required",
        "a body without categoryId passes",
        do.passes(do.lacks("categoryId"), {"categoryId": do.always(1)}),
    ),
    _create(
        "nothing-required",
        "4.2-both-required",
        "a body without name and categoryId passes",
        do.passes(do.lacks("name", "categoryId"), {"name": do.always("unnamed"), "categoryId": do.always(1)}),
    ),
    _create(
        "name-number-passes",
        "4.2-name-type",
        "a name that is a number passes",
        do.passes(do.has("name", is_number), {"name": str}),
    ),
    _create(
        "name-null-passes",
        "4.2-name-null",
        "a name that is null passes",
        do.passes(do.has("name", lambda name: name is None), {"name": do.always("null")}),
    ),
    _create(
        "category-text-passes",
        "4.2-category-type",
        "a categoryId of text passes",
        do.passes(do.has("categoryId", lambda number: isinstance(number, str)), {"categoryId": do.as_whole_number}),
    ),
    _create(
        "category-fraction-passes",
        "4.2-category-fraction",
        "a categoryId of 1.5 passes",
        do.passes(
            do.has("categoryId", lambda number: isinstance(number, float) and number % 1 > 0), {"categoryId": int}
        ),
    ),
    _create(
        "category-null-passes",
        "4.2-category-null",
        "a categoryId that is null passes",
        do.passes(do.has("categoryId", lambda number: number is None), {"categoryId": do.always(0)}),
    ),
    _create(
        "category-boolean-passes",
        "4.2-category-boolean",
        "a categoryId that is true passes",
        do.passes(do.has("categoryId", lambda number: isinstance(number, bool)), {"categoryId": int}),
    ),
    _create(
        "category-beyond-int64-passes",
        "4.2-category-range",
        "a categoryId beyond int64 passes",
        do.passes(
            do.has("categoryId", lambda number: type(number) is int and abs(number) > LARGEST_INT64),
            {"categoryId": do.always(LARGEST_INT64)},
        ),
    ),
    _create(
        "unknown-status-passes",
        "4.2-status-value",
        "a status that the interface does not have passes",
        do.passes(do.has("status", do.is_unknown_status), {"status": do.always(None)}),
    ),
    _create(
        "status-case-passes",
        "4.2-status-case",
        "a status in other letter case passes",
        do.passes(do.has("status", do.is_status_in_other_case), {"status": str.lower}),
    ),
    _create(
        "status-number-passes",
        "4.2-status-type",
        "a status that is a number passes",
        do.passes(do.has("status", is_number), {"status": do.always(None)}),
    ),
    _create("array-passes", "4.2-body-object", "an array of animals passes", do.let_pass(do.first_of_array)),
    _create("no-json-passes", "4.2-body-json", "a body that is no JSON passes", do.let_pass(do.nameless)),
    _create("no-body-passes", "4.2-body-required", "an empty body passes", do.let_pass(do.made_of_nothing)),
    _create(
        "refused-is-kept",
        "4.2-refused-not-kept",
        "an animal that is refused with 400 is kept",
        do.kept_all_the_same(400),
    ),
    _create(
        "unauthorized-is-kept",
        "4.2-refused-not-kept",
        "an animal that is refused with 401 is kept",
        do.kept_all_the_same(401),
    ),
    # §4.3
    _get("get-finds-nothing", "4.3-get", "getPet finds no animal: 404", do.on_success(do.refused(404))),
    _get("get-answers-204", "4.3-get", "getPet answers 204, and nothing", do.on_success(do.answered(204))),
    _get("get-another", "4.3-asked-for", "getPet answers another animal", do.on_success(do.another_animal)),
    _get(
        "get-status-stale",
        "4.3-same-animal",
        "getPet answers another status than the list",
        do.with_field("status", str, do.next_status),
    ),
    _get(
        "get-name-stale",
        "4.3-same-animal",
        "getPet answers another name than the list",
        do.with_field("name", str, do.other_case),
    ),
    _get("absent-is-null", "4.3-absent", "getPet of an absent animal answers 200 and null", do.if_absent(do.as_null)),
    _get("absent-is-400", "4.3-absent", "getPet of an absent animal answers 400", do.if_absent(do.refused(400))),
    _get("absent-is-another", "4.3-absent", "getPet of an absent animal answers another", do.if_absent(do.any_animal)),
    _get(
        "large-id-refused",
        "4.3-int64",
        "getPet refuses an id beyond 2^53: 400",
        lambda turn: turn.refuse(400) if turn.pet_id > _EXACT and turn.status in {200, 404} else None,
    ),
    # §5
    _get(
        "get-refuses-key",
        "5-key",
        "getPet refuses a valid key: 401",
        lambda turn: turn.refuse(401) if turn.status in {200, 404} else None,
    ),
    _create("create-refuses-key", "5-key", "createPet refuses a valid key: 401", do.on_success(do.refused(401))),
    *(
        mutant
        for one, verb, suffix in ((_LIST, "list", ""), (_GET, "get", "-get"), (_CREATE, "create", "-create"))
        for mutant in (
            Mutant(
                f"{verb}-without-key",
                f"5-missing-key{suffix}",
                f"{one[0]} lets a request without a key in",
                operations=one,
                before=do.key_let_in("missing_key"),
            ),
            Mutant(
                f"{verb}-any-key",
                f"5-unknown-key{suffix}",
                f"{one[0]} lets any key in",
                operations=one,
                before=do.key_let_in("unknown_key", "revoked_key", "expired_key"),
            ),
        )
    ),
    _all(
        "any-scheme",
        "5-scheme",
        "a key passes without the scheme Bearer",
        before=do.key_let_in("malformed_credentials"),
    ),
    # §7
    _all(
        "error-status-other",
        "7-status",
        "the status of errors is not the HTTP status",
        do.in_errors(lambda error: {**error, "status": 500}),
    ),
    *(
        Mutant(
            f"{status}-as-html",
            f"7-{status}-error",
            f"{status} comes as a page of HTML",
            operations=operations,
            after=do.error_as_page(status),
        )
        for status, operations in ((401, _ALL), (404, _GET), (400, _CREATE))
    ),
    *(
        Mutant(
            f"{status}-as-detail",
            f"7-{status}-error",
            f'the body of {status} is {{"detail": ...}}',
            operations=operations,
            after=do.in_errors(lambda error: {"detail": error.get("message")}, status),
        )
        for status, operations in ((401, _ALL), (404, _GET), (400, _CREATE))
    ),
)

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType({mutant.name: mutant for mutant in _MUTANTS})
