"""The gap register: everything that the interface does not show, as a named choice of ours.

One table. An alternative is a value or, where it depends on the request, a small pure function (``gap_policies`` has
those that take more than a line); ``behaviour.policies`` hands the pipeline the chosen ones, and no other code compares
a behaviour's value.
The default stands first: strict, and the least that a client could lean on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.dates import http_date
from petstore_mock.contract import gap_policies as policies
from petstore_mock.contract.interface import LARGEST_INT64, PETS_PATH
from petstore_mock.contract.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GAPS", "VARIED", "Gap", "Stage"]

Stage = Literal["validate", "content", "encode", "wire", "event"]

_EVERY_NTH_LIMITED: Final = 5
_REQUESTS_BEFORE_ROTATION: Final = 10
_REFUSE_OR_NOT: Final = {"reject": True, "ignore": False}


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that the interface does not show.

    Attributes:
        name: the field of ``Behaviour``.
        step: the step of the pipeline that asks.
        section: the section of the interface that leaves it open.
        sentence: what it says, or does not.
        lesson: what a client must therefore not assume.
        alternatives: the choices, the default first, each with what ``Policies`` says that the pipeline gets.
    """

    name: str
    step: Stage
    section: str
    sentence: str
    lesson: str
    alternatives: Mapping[str, Any]

    @property
    def default(self) -> str:
        """The first alternative."""
        return next(iter(self.alternatives))


def _gap(
    name: str,
    step: Stage,
    section: str,
    sentence: str,
    lesson: str,
    **alternatives: Any,  # noqa: ANN401  # a row of a table
) -> Gap:
    return Gap(name, step, section, sentence, lesson, MappingProxyType(alternatives))


_ROWS: Final = (
    # What is accepted.
    _gap(
        "invalid_limit",
        "validate",
        "7",
        "Errors for invalid query parameters on listPets (limit outside 1 to 100): not shown.",
        "that a limit out of range is refused, or is not",
        reject=policies.no_substitute,
        clamp=policies.clamp_limit,
        ignore=lambda _text, _minimum, _maximum, default: default,
    ),
    _gap(
        "invalid_status_filter",
        "validate",
        "7",
        "Errors for invalid query parameters on listPets (an unknown status): not shown.",
        "that an unknown status is refused, or gives an empty list",
        reject=policies.no_substitute,
        empty=lambda text: text or "no-such-status",
        ignore=lambda _text: "",
    ),
    _gap(
        "unknown_query",
        "validate",
        "7",
        "Errors for invalid query parameters on listPets: not shown.",
        "that a query parameter of another name has an effect, or has none",
        **_REFUSE_OR_NOT,
    ),
    _gap(
        "repeated_query",
        "validate",
        "7",
        "Errors for invalid query parameters on listPets: not shown.",
        "which of two values of one parameter counts",
        reject=policies.no_substitute,
        first=lambda values: values[0],
        last=lambda values: values[-1],
    ),
    _gap(
        "unknown_body_field",
        "validate",
        "4.2",
        "400: the request body contains invalid values; whether a further field is one is not said.",
        "that a further field is accepted, or kept",
        **_REFUSE_OR_NOT,
    ),
    _gap(
        "null_status",
        "validate",
        "2",
        "status is PetStatus and not required; whether null stands for leaving it out is not said.",
        "that null is as good as leaving status out",
        reject=True,
        as_omitted=False,
    ),
    _gap(
        "integral_float",
        "validate",
        "2",
        "categoryId is an integer; whether 1.0 or 1e2 is one is not said.",
        "that a number written with a fraction or an exponent passes for an integer",
        reject=True,
        accept=False,
    ),
    _gap(
        "duplicate_member",
        "validate",
        "2",
        "Bodies are JSON; which of two members of one name counts is not said (RFC 8259 §4).",
        "which of two members of one name counts",
        reject=True,
        last=False,
    ),
    _gap(
        "name_rule",
        "validate",
        "2",
        "Length or character limits on name: not shown.",
        "that an empty or a very long name is accepted",
        any=policies.no_rule,
        non_empty=lambda name: None if name else ("minLength", "must not be empty (gap name_rule=non_empty)"),
        max_255=lambda name: (
            None if len(name) <= 255 else ("maxLength", "must have at most 255 characters (gap name_rule=max_255)")
        ),
    ),
    _gap(
        "category_rule",
        "validate",
        "2",
        "Fields of the category record: not shown; nor which identifiers exist.",
        "that any category id is accepted",
        any=policies.no_rule,
        positive=lambda number: (
            None if number > 0 else ("exclusiveMinimum", "must be positive (gap category_rule=positive)")
        ),
    ),
    _gap(
        "malformed_pet_id",
        "validate",
        "4.3",
        "petId is an int64; the answer to another text in its place is not shown.",
        "whether an identifier that is no int64 is answered 404 or 400",
        not_found="malformed_pet_id",
        bad_request="invalid_pet_id",
    ),
    _gap(
        "media_type",
        "validate",
        "4.2",
        "Request body (required, application/json); the answer to another media type is not shown.",
        "that a wrong or missing Content-Type is overlooked",
        unsupported_415="unsupported_media_type",
        bad_request="wrong_media_type",
        accept=None,
    ),
    _gap(
        "body_limit",
        "validate",
        "8",
        "Size limits of request bodies: not shown.",
        "that a body of any size is read",
        one_mebibyte=1024 * 1024,
        none=None,
    ),
    _gap(
        "unknown_route",
        "validate",
        "4.4",
        "A store-orders listing endpoint (GET /store/orders) is mentioned by name only.",
        "how a path is answered that the interface does not show",
        not_found="unknown_path",
        not_implemented="unknown_path_501",
    ),
    # What an answer says.
    _gap(
        "status_when_omitted",
        "content",
        "3",
        "The status given to a new animal when status is omitted: not shown.",
        "that an animal has a status, or which one, when none was sent",
        absent=None,
        available="available",
        pending="pending",
        sold="sold",
    ),
    _gap(
        "list_order",
        "content",
        "4.1",
        "Pagination controls beyond limit: not shown; nor the order of the list.",
        "that a list has an order, or that the same animals come first each time",
        id_ascending=policies.lowest_first,
        id_descending=lambda catalogue, status, limit, _random: catalogue.descending(status, limit),
        by_name=lambda catalogue, status, limit, _random: catalogue.by_name(status, limit),
        arbitrary_stable=policies.stable_order,
        arbitrary=policies.any_order,
    ),
    _gap(
        "page_fill",
        "content",
        "4.1",
        "limit is the maximum number of animals to return; that so many come where there are more is not said.",
        "that a list shorter than limit holds every animal that matches",
        full=lambda limit: limit,
        short=lambda limit: (limit + 1) // 2,  # and so never an empty page where an animal matches
    ),
    _gap(
        "id_assignment",
        "content",
        "2",
        "id is an int64, unique, assigned by the service on creation; how is not shown.",
        "that ids grow, follow one another, or fit into a double",
        sequential=lambda last, _random: last + 1,
        sparse=lambda last, random: last + random.randint(2, 1000),
        random_int64=lambda _last, random: random.randint(1, LARGEST_INT64),
        beyond_2_53=lambda last, _random: max(last, 2**53) + 1,
    ),
    _gap(
        "error_codes",
        "content",
        "7",
        "The set of possible values of code: not shown.",
        "any value of code: only the HTTP status is promised",
        standard=lambda standard, _status: standard,
        terse=policies.terse_code,
        numeric_strings=lambda _standard, status: f"{status}01",  # as many services number them; no HTTP status
    ),
    _gap(
        "extra_response_fields",
        "content",
        "2",
        "Pet and Error list their fields; that no further ones will come is not said.",
        "that an answer has no further fields",
        none=policies.unchanged,
        present=policies.with_more_fields,
    ),
    _gap(
        "after_removal",
        "content",
        "4.3",
        "getPet's scheduled removal date is 5 December 2030; what is answered from then on is not shown.",
        "how, or whether, getPet is answered after its removal date",
        gone="operation_removed",
        not_found="operation_removed_404",
        still_served=None,
    ),
    # How an answer looks.
    _gap(
        "json_style",
        "encode",
        "1",
        "Bodies are JSON; white space, escapes and the order of members are free (RFC 8259).",
        "how JSON is written",
        compact=policies.unchanged,
        pretty=policies.rerender(indent=2, ensure_ascii=False),
        ascii=policies.rerender(separators=(",", ":")),
        shuffled_members=lambda body: encode_json(policies.shuffle_members(json.loads(body))),
    ),
    _gap(
        "paging_headers",
        "encode",
        "4.1",
        "Any paging metadata in the response: not shown.",
        "that a list says how much more there is",
        none=None,
        link=policies.link_to_first_page,
        next_link=policies.link_to_next_page,
        total_count=lambda page: (("X-Total-Count", str(page.total)),),
    ),
    _gap(
        "location_header",
        "encode",
        "4.2",
        "201: body is the created Pet; headers are not shown.",
        "that a created animal's address is given (it would lead to the removed getPet)",
        absent=None,
        present=lambda mount, pet_id: (("Location", f"{mount}{PETS_PATH}/{pet_id}"),),
    ),
    _gap(
        "deprecation_headers",
        "encode",
        "9",
        "Deprecation is signalled per operation; how is not shown.",
        "that the deprecation is told in headers",
        present=policies.deprecation_fields,
        absent=lambda _removed_at: (),
    ),
    _gap(
        "content_type",
        "encode",
        "1",
        "Bodies are application/json; whether a charset is named is not said.",
        "the exact text of Content-Type",
        plain="application/json",
        with_charset="application/json; charset=utf-8",
    ),
    _gap(
        "answer_framing",
        "wire",
        "1",
        "The service is an HTTP API: framing is HTTP's (RFC 9112 §6).",
        "that Content-Length is there",
        content_length=False,
        chunked=True,
    ),
    _gap(
        "header_names",
        "wire",
        "1",
        "The service is an HTTP API: header names have no case (RFC 9110 §5.1).",
        "the case of header names",
        canonical=False,
        lower_case=True,
    ),
    _gap(
        "connection",
        "wire",
        "1",
        "The service is an HTTP API: a server may close a connection after any answer (RFC 9112 §9.6).",
        "that a connection is kept",
        kept=False,
        closed_after_answer=True,
    ),
    # What happens without the client's doing.
    _gap(
        "rate_limit",
        "event",
        "8",
        "Rate limits: not shown.",
        "that requests are never refused for their number",
        none=None,
        retry_after_seconds=lambda number, _now: "1" if number % _EVERY_NTH_LIMITED == 0 else None,
        retry_after_date=lambda number, now: http_date(now + 1) if number % _EVERY_NTH_LIMITED == 0 else None,
    ),
    _gap(
        "key_rotation",
        "event",
        "5",
        "How keys are issued, their lifetime and their rotation: not shown.",
        "that a key that worked goes on working",
        never=None,
        mid_session=lambda uses: uses > _REQUESTS_BEFORE_ROTATION,
    ),
    _gap(
        "visibility",
        "event",
        "4",
        "Whether a created animal is at once in lists and gets is not said.",
        "that a created animal can be read at once",
        immediate=0,
        delayed=1,
    ),
)

GAPS: Final[Mapping[str, Gap]] = MappingProxyType({gap.name: gap for gap in _ROWS})

# Those that exploration and strategies vary unasked: events want handling of their own, and the two rules would refuse
# what a test means to send.
VARIED: Final = tuple(
    gap.name for gap in _ROWS if gap.step != "event" and gap.name not in {"name_rule", "category_rule"}
)
