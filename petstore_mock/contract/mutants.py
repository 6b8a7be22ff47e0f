"""The register of mutants: services that break one clause of the interface each, and what each does instead.

Would a client's tests notice? Each is run under mutants, as exploration runs it under gaps. A mutant changes what is
asked of the service, what it answers, or what it keeps; the pipeline stays as it is (:mod:`petstore_mock.core.mutation`
hooks it in). What no client could ever observe is no mutant: ``petstore-mock verify`` catches each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from petstore_mock.contract.interface import PET_STATUSES, OperationName
from petstore_mock.contract.mutant_changes import (
    all_of_one_id,
    always,
    another_animal,
    answered,
    any_animal,
    as_ids,
    as_null,
    as_page,
    as_whole_number,
    asked_status,
    cut_short,
    default_limit,
    empty_page,
    error_as_page,
    filter_ignored,
    filter_taken_for,
    first_of_array,
    forgotten,
    has,
    id_of_another,
    if_absent,
    in_array,
    in_ascii,
    in_errors,
    is_number,
    is_status_in_other_case,
    is_unknown_status,
    kept_all_the_same,
    key_let_in,
    lacking,
    lacks,
    let_pass,
    limit_and_one,
    limit_ignored,
    made_of_nothing,
    nameless,
    next_status,
    on,
    on_success,
    other_case,
    passes,
    refused,
    renamed,
    rounded,
    sent_status,
    with_field,
    without,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.contract.mutant_changes import Turn

__all__ = ["MUTANTS", "Mutant"]

_MOST: Final = 100
_DEFAULT: Final = 20
_LARGEST: Final = 2**63 - 1
_EXACT: Final = 2**53  # of the integers that a double holds


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause.

    Attributes:
        name: how the reports speak of it.
        clause: the id of the clause that it breaks, of ``petstore-mock verify``.
        words: what the service does.
        operations: the operations that do so.
        before: changes what was asked of the service.
        after: changes what came of it.
    """

    name: str
    clause: str
    words: str
    operations: tuple[OperationName, ...]
    before: Callable[[Turn], object] | None = None
    after: Callable[[Turn], object] | None = None


_LIST: Final[tuple[OperationName, ...]] = ("listPets",)
_CREATE: Final[tuple[OperationName, ...]] = ("createPet",)
_GET: Final[tuple[OperationName, ...]] = ("getPet",)
_ALL: Final[tuple[OperationName, ...]] = ("listPets", "createPet", "getPet")
_INVALID: Final = ("unknown_key", "revoked_key", "expired_key")

_MUTANTS: Final = (
    # §1
    Mutant(
        "list-is-cut", "1-json-body", "listPets answers JSON that lacks its end", _LIST, after=on_success(cut_short)
    ),
    Mutant("get-is-cut", "1-json-body", "getPet answers JSON that lacks its end", _GET, after=on_success(cut_short)),
    Mutant("list-as-html", "1-media-type", "listPets answers as text/html", _LIST, after=on_success(as_page)),
    Mutant("create-as-html", "1-media-type", "createPet answers as text/html", _CREATE, after=on_success(as_page)),
    Mutant("list-not-there", "1-base-address", "listPets is not there: 404", _LIST, after=on_success(refused(404))),
    # §2
    Mutant("list-wrapped", "2-pets-array", 'the list comes as {"pets": [...]}', _LIST, after=on_success(wrapped)),
    Mutant("list-of-ids", "2-pet-object", "the list holds ids, not animals", _LIST, after=on_success(as_ids)),
    Mutant("get-in-array", "2-pet-object", "getPet answers an array of one animal", _GET, after=on_success(in_array)),
    Mutant("create-in-array", "2-pet-object", "createPet answers an array of one", _CREATE, after=on_success(in_array)),
    Mutant("list-id-text", "2-pet-id", "the ids of a list are text", _LIST, after=with_field("id", int, str)),
    Mutant(
        "create-id-text", "2-pet-id", "createPet answers an id that is text", _CREATE, after=with_field("id", int, str)
    ),
    Mutant("create-id-missing", "2-pet-id", "createPet answers no id", _CREATE, after=without("id")),
    Mutant("get-id-renamed", "2-pet-id", "getPet calls the id petId", _GET, after=renamed("id", "petId")),
    Mutant("list-name-renamed", "2-pet-name", "the list calls the name title", _LIST, after=renamed("name", "title")),
    Mutant(
        "get-name-null",
        "2-pet-name",
        "getPet answers a name that is null",
        _GET,
        after=with_field("name", str, always(None)),
    ),
    Mutant(
        "list-category-renamed",
        "2-pet-category",
        "the list calls categoryId category_id",
        _LIST,
        after=renamed("categoryId", "category_id"),
    ),
    Mutant(
        "get-category-text",
        "2-pet-category",
        "getPet answers a categoryId of text",
        _GET,
        after=with_field("categoryId", int, str),
    ),
    Mutant(
        "create-category-missing",
        "2-pet-category",
        "createPet answers no categoryId",
        _CREATE,
        after=without("categoryId"),
    ),
    Mutant(
        "list-status-upper",
        "2-pet-status",
        "the list writes AVAILABLE, PENDING, SOLD",
        _LIST,
        after=with_field("status", str, str.upper),
    ),
    Mutant(
        "get-status-number",
        "2-pet-status",
        "getPet answers a status that is a number",
        _GET,
        after=with_field("status", str, len),
    ),
    Mutant("list-one-id", "2-id-unique", "every animal of a list has the id of the first", _LIST, after=all_of_one_id),
    Mutant(
        "create-id-taken", "2-id-assigned", "createPet answers the id of another animal", _CREATE, after=id_of_another
    ),
    Mutant("error-code-missing", "2-error-code", "errors have no code", _ALL, after=in_errors(lacking("code"))),
    Mutant(
        "error-message-missing", "2-error-message", "errors have no message", _ALL, after=in_errors(lacking("message"))
    ),
    Mutant("error-status-missing", "2-error-status", "errors have no status", _ALL, after=in_errors(lacking("status"))),
    Mutant(
        "error-status-text",
        "2-error-status",
        "the status of errors is text",
        _ALL,
        after=in_errors(lambda error: {**error, "status": str(error.get("status"))}),
    ),
    Mutant(
        "create-name-changed",
        "2-name-echoed",
        "createPet answers the name in other letter case",
        _CREATE,
        after=with_field("name", str, other_case),
    ),
    Mutant(
        "create-category-changed",
        "2-category-echoed",
        "createPet answers another category",
        _CREATE,
        after=with_field("categoryId", int, lambda number: number - 1),
    ),
    Mutant("create-status-dropped", "2-status-echoed", "createPet answers no status", _CREATE, after=without("status")),
    Mutant(
        "create-status-changed",
        "2-status-echoed",
        "createPet answers another status",
        _CREATE,
        after=with_field("status", str, next_status),
    ),
    Mutant(
        "create-category-rounded",
        "2-category-int64",
        "createPet rounds a categoryId beyond 2^53",
        _CREATE,
        after=with_field("categoryId", int, rounded),
    ),
    Mutant(
        "create-name-ascii",
        "2-name-text",
        "createPet answers ? for letters beyond ASCII",
        _CREATE,
        after=with_field("name", str, in_ascii),
    ),
    Mutant(
        "create-needs-status",
        "2-status-optional",
        "createPet refuses an animal without a status: 400",
        _CREATE,
        after=on(sent_status(None), refused(400)),
    ),
    *(
        Mutant(
            f"create-{status}-refused",
            f"2-status-{status}",
            f"createPet refuses the status {status}: 400",
            _CREATE,
            after=on(sent_status(status), refused(400)),
        )
        for status in PET_STATUSES
    ),
    # §4.1
    Mutant("list-answers-204", "4.1-list", "listPets answers 204, and nothing", _LIST, after=on_success(answered(204))),
    Mutant(
        "list-minimum-refused",
        "4.1-limit-minimum",
        "limit=1 is refused: 400",
        _LIST,
        after=on(lambda turn: turn.limit == 1, refused(400)),
    ),
    Mutant(
        "list-maximum-refused",
        "4.1-limit-maximum",
        "limit=100 is refused: 400",
        _LIST,
        after=on(lambda turn: turn.limit == _MOST, refused(400)),
    ),
    Mutant(
        "list-limit-refused",
        "4.1-limit-within",
        "every limit from 2 to 99 is refused: 400",
        _LIST,
        after=on(lambda turn: turn.limit not in {None, 1, _MOST}, refused(400)),
    ),
    Mutant("list-limit-ignored", "4.1-limit-counts", "limit is ignored", _LIST, before=limit_ignored),
    Mutant("list-limit-and-one", "4.1-limit-counts", "one animal more than limit comes", _LIST, before=limit_and_one),
    Mutant("list-default-100", "4.1-limit-default", "the default of limit is 100", _LIST, before=default_limit(_MOST)),
    Mutant(
        "list-default-21", "4.1-limit-default", "the default of limit is 21", _LIST, before=default_limit(_DEFAULT + 1)
    ),
    *(
        Mutant(
            f"list-{status}-refused",
            f"4.1-status-{status}",
            f"status={status} is refused: 400",
            _LIST,
            after=on(asked_status(status), refused(400)),
        )
        for status in PET_STATUSES
    ),
    Mutant(
        "list-filter-ignored",
        "4.1-status-filter",
        "the status filter is ignored",
        _LIST,
        before=filter_ignored(*PET_STATUSES),
    ),
    Mutant("list-sold-ignored", "4.1-status-filter", "status=sold is ignored", _LIST, before=filter_ignored("sold")),
    Mutant(
        "list-pending-available",
        "4.1-status-filter",
        "status=pending brings those that are available",
        _LIST,
        before=filter_taken_for("pending", "available"),
    ),
    Mutant(
        "list-filter-finds-nothing",
        "4.1-status-finds",
        "the status filter finds no animal",
        _LIST,
        after=on(lambda turn: "status" in turn.query, empty_page),
    ),
    Mutant(
        "list-sold-finds-nothing",
        "4.1-status-finds",
        "status=sold finds no animal",
        _LIST,
        after=on(asked_status("sold"), empty_page),
    ),
    Mutant(
        "list-empty",
        "4.1-list-finds",
        "the list is always empty, unless it is filtered",
        _LIST,
        after=on(lambda turn: "status" not in turn.query, empty_page),
    ),
    Mutant("list-always-empty", "4.1-list-finds", "the list is always empty", _LIST, after=on_success(empty_page)),
    # §4.2
    Mutant(
        "create-answers-200", "4.2-created", "createPet answers 200, not 201", _CREATE, after=on_success(answered(200))
    ),
    Mutant(
        "create-answers-204",
        "4.2-created",
        "createPet answers 204, and nothing",
        _CREATE,
        after=on_success(answered(204)),
    ),
    Mutant("create-forgotten", "4.2-kept", "a created animal is not kept", _CREATE, after=on_success(forgotten)),
    Mutant(
        "name-not-required",
        "4.2-name-required",
        "a body without name passes",
        _CREATE,
        after=passes(lacks("name"), {"name": always("unnamed")}),
    ),
    Mutant(
        "category-not-required",
        "4.2-category-required",
        "a body without categoryId passes",
        _CREATE,
        after=passes(lacks("categoryId"), {"categoryId": always(1)}),
    ),
    Mutant(
        "nothing-required",
        "4.2-both-required",
        "a body without name and categoryId passes",
        _CREATE,
        after=passes(lacks("name", "categoryId"), {"name": always("unnamed"), "categoryId": always(1)}),
    ),
    Mutant(
        "name-number-passes",
        "4.2-name-type",
        "a name that is a number passes",
        _CREATE,
        after=passes(has("name", is_number), {"name": str}),
    ),
    Mutant(
        "name-null-passes",
        "4.2-name-null",
        "a name that is null passes",
        _CREATE,
        after=passes(has("name", lambda name: name is None), {"name": always("null")}),
    ),
    Mutant(
        "category-text-passes",
        "4.2-category-type",
        "a categoryId of text passes",
        _CREATE,
        after=passes(has("categoryId", lambda number: isinstance(number, str)), {"categoryId": as_whole_number}),
    ),
    Mutant(
        "category-fraction-passes",
        "4.2-category-fraction",
        "a categoryId of 1.5 passes",
        _CREATE,
        after=passes(
            has("categoryId", lambda number: isinstance(number, float) and number % 1 > 0), {"categoryId": int}
        ),
    ),
    Mutant(
        "category-null-passes",
        "4.2-category-null",
        "a categoryId that is null passes",
        _CREATE,
        after=passes(has("categoryId", lambda number: number is None), {"categoryId": always(0)}),
    ),
    Mutant(
        "category-boolean-passes",
        "4.2-category-boolean",
        "a categoryId that is true passes",
        _CREATE,
        after=passes(has("categoryId", lambda number: isinstance(number, bool)), {"categoryId": int}),
    ),
    Mutant(
        "category-beyond-int64-passes",
        "4.2-category-range",
        "a categoryId beyond int64 passes",
        _CREATE,
        after=passes(
            has("categoryId", lambda number: type(number) is int and abs(number) > _LARGEST),
            {"categoryId": always(_LARGEST)},
        ),
    ),
    Mutant(
        "unknown-status-passes",
        "4.2-status-value",
        "a status that the interface does not have passes",
        _CREATE,
        after=passes(has("status", is_unknown_status), {"status": always(None)}),
    ),
    Mutant(
        "status-case-passes",
        "4.2-status-case",
        "a status in other letter case passes",
        _CREATE,
        after=passes(has("status", is_status_in_other_case), {"status": str.lower}),
    ),
    Mutant(
        "status-number-passes",
        "4.2-status-type",
        "a status that is a number passes",
        _CREATE,
        after=passes(has("status", is_number), {"status": always(None)}),
    ),
    Mutant("array-passes", "4.2-body-object", "an array of animals passes", _CREATE, after=let_pass(first_of_array)),
    Mutant("no-json-passes", "4.2-body-json", "a body that is no JSON passes", _CREATE, after=let_pass(nameless)),
    Mutant("no-body-passes", "4.2-body-required", "an empty body passes", _CREATE, after=let_pass(made_of_nothing)),
    Mutant(
        "refused-is-kept",
        "4.2-refused-not-kept",
        "an animal that is refused with 400 is kept",
        _CREATE,
        after=kept_all_the_same(400),
    ),
    Mutant(
        "unauthorized-is-kept",
        "4.2-refused-not-kept",
        "an animal that is refused with 401 is kept",
        _CREATE,
        after=kept_all_the_same(401),
    ),
    # §4.3
    Mutant("get-finds-nothing", "4.3-get", "getPet finds no animal: 404", _GET, after=on_success(refused(404))),
    Mutant("get-answers-204", "4.3-get", "getPet answers 204, and nothing", _GET, after=on_success(answered(204))),
    Mutant("get-another", "4.3-asked-for", "getPet answers another animal", _GET, after=on_success(another_animal)),
    Mutant(
        "get-status-stale",
        "4.3-same-animal",
        "getPet answers another status than the list",
        _GET,
        after=with_field("status", str, next_status),
    ),
    Mutant(
        "get-name-stale",
        "4.3-same-animal",
        "getPet answers another name than the list",
        _GET,
        after=with_field("name", str, other_case),
    ),
    Mutant(
        "absent-is-null",
        "4.3-absent",
        "getPet of an absent animal answers 200 and null",
        _GET,
        after=if_absent(as_null),
    ),
    Mutant(
        "absent-is-400", "4.3-absent", "getPet of an absent animal answers 400", _GET, after=if_absent(refused(400))
    ),
    Mutant(
        "absent-is-another",
        "4.3-absent",
        "getPet of an absent animal answers another",
        _GET,
        after=if_absent(any_animal),
    ),
    Mutant(
        "large-id-refused",
        "4.3-int64",
        "getPet refuses an id beyond 2^53: 400",
        _GET,
        after=lambda turn: turn.refuse(400) if turn.pet_id > _EXACT and turn.status in {200, 404} else None,
    ),
    # §5
    Mutant(
        "get-refuses-key",
        "5-key",
        "getPet refuses a valid key: 401",
        _GET,
        after=lambda turn: turn.refuse(401) if turn.status in {200, 404} else None,
    ),
    Mutant(
        "create-refuses-key", "5-key", "createPet refuses a valid key: 401", _CREATE, after=on_success(refused(401))
    ),
    *(
        mutant
        for operation, verb, suffix in (
            ("listPets", "list", ""),
            ("getPet", "get", "-get"),
            ("createPet", "create", "-create"),
        )
        for mutant in (
            Mutant(
                f"{verb}-without-key",
                f"5-missing-key{suffix}",
                f"{operation} lets a request without a key in",
                (operation,),  # type: ignore[arg-type]  # one of the three
                before=key_let_in("missing_key"),
            ),
            Mutant(
                f"{verb}-any-key",
                f"5-unknown-key{suffix}",
                f"{operation} lets any key in",
                (operation,),  # type: ignore[arg-type]  # as above
                before=key_let_in(*_INVALID),
            ),
        )
    ),
    Mutant(
        "any-scheme",
        "5-scheme",
        "a key passes without the scheme Bearer",
        _ALL,
        before=key_let_in("malformed_credentials"),
    ),
    # §7
    Mutant(
        "error-status-other",
        "7-status",
        "the status of errors is not the HTTP status",
        _ALL,
        after=in_errors(lambda error: {**error, "status": 500}),
    ),
    *(
        Mutant(
            f"{status}-as-html",
            f"7-{status}-error",
            f"{status} comes as a page of HTML",
            operations,
            after=error_as_page(status),
        )
        for status, operations in ((401, _ALL), (404, _GET), (400, _CREATE))
    ),
    *(
        Mutant(
            f"{status}-as-detail",
            f"7-{status}-error",
            f'the body of {status} is {{"detail": ...}}',
            operations,
            after=in_errors(lambda error: {"detail": error.get("message")}, status),
        )
        for status, operations in ((401, _ALL), (404, _GET), (400, _CREATE))
    ),
)

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType({mutant.name: mutant for mutant in _MUTANTS})
