"""What the service does with each alternative of each gap, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.interface.gaps import Gap

EFFECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "invalid_limit": {
        "reject": "Responds with 400.",
        "clamp": "Uses the nearest allowed limit, and responds with 400 to a text that is no integer.",
        "ignore": "Lists as if the request had no limit.",
    },
    "invalid_status_filter": {
        "reject": "Responds with 400.",
        "empty": "Returns an empty list.",
        "ignore": "Lists animals of every status.",
    },
    "unknown_query": {"reject": "Responds with 400.", "ignore": "Ignores the parameter."},
    "repeated_query": {
        "reject": "Responds with 400.",
        "first": "Uses the first value.",
        "last": "Uses the last value.",
    },
    "unknown_body_field": {"reject": "Responds with 400.", "ignore": "Ignores the field and does not store it."},
    "null_status": {"reject": "Responds with 400.", "as_omitted": "Treats null like a missing status."},
    "integral_float": {"reject": "Responds with 400 to 1.0 and 1e2.", "accept": "Reads 1.0 and 1e2 as integers."},
    "duplicate_member": {"reject": "Responds with 400.", "last": "Uses the last member of that name."},
    "name_rule": {
        "any": "Accepts every name, also an empty one.",
        "non_empty": "Responds with 400 to an empty name.",
        "max_255": "Responds with 400 to a name of more than 255 characters.",
    },
    "category_rule": {
        "any": "Accepts every category id.",
        "positive": "Responds with 400 to a category id below 1.",
    },
    "malformed_pet_id": {"not_found": "Responds with 404.", "bad_request": "Responds with 400."},
    "media_type": {
        "unsupported_415": "Responds with 415 to another media type.",
        "bad_request": "Responds with 400.",
        "accept": "Reads the body as JSON.",
    },
    "body_limit": {
        "one_mebibyte": "Responds with 413 to a body of more than 1 MiB.",
        "none": "Reads a body of any size.",
    },
    "unknown_route": {"not_found": "Responds with 404.", "not_implemented": "Responds with 501."},
    "status_when_omitted": {
        "absent": "Stores the animal without a status.",
        "available": "Stores the animal as available.",
        "pending": "Stores the animal as pending.",
        "sold": "Stores the animal as sold.",
    },
    "list_order": {
        "id_ascending": "Lists the smallest id first.",
        "id_descending": "Lists the largest id first.",
        "by_name": "Lists by name, and animals of one name by id.",
        "arbitrary_stable": "Lists in an order without a rule, which is the same in each response.",
        "arbitrary": "Lists in another order in each response.",
    },
    "page_fill": {
        "full": "Fills a page up to limit if there are enough animals.",
        "short": "Returns at most half as many animals as limit, although more match.",
    },
    "id_assignment": {
        "sequential": "Counts up from 1.",
        "sparse": "Counts up, and leaves out some ids.",
        "random_int64": "Draws any positive int64.",
        "beyond_2_53": "Counts up from beyond 2^53, which a double can't hold.",
    },
    "error_codes": {
        "standard": "Uses a word for each kind of error.",
        "terse": "Uses a short code for each status, such as NONE for 404.",
        "numeric_strings": "Uses the status and two digits, such as 40401, as text.",
    },
    "extra_response_fields": {
        "none": "Sends the fields of the interface only.",
        "present": "Sends the further fields tags and _meta.",
    },
    "after_removal": {
        "gone": "getPet responds with 410 from its removal date on.",
        "not_found": "getPet responds with 404 from its removal date on.",
        "still_served": "getPet works as before.",
    },
    "json_style": {
        "compact": "Sends JSON without white space.",
        "pretty": "Sends JSON on several indented lines.",
        "ascii": "Sends other characters than ASCII as escapes.",
        "shuffled_members": "Sends the members of an object in changing order.",
    },
    "paging_headers": {
        "none": "Sends no header about further animals.",
        "link": "Sends a Link header with the address of the first page.",
        "next_link": "Sends a Link header with the addresses of the first and of a longer page.",
        "total_count": "Sends the number of all matching animals in X-Total-Count.",
    },
    "location_header": {
        "absent": "Sends no Location header with a 201.",
        "present": "Sends the address of the new animal in a Location header.",
    },
    "deprecation_headers": {
        "present": "Sends headers that announce the removal of getPet.",
        "absent": "Sends no headers about the removal.",
    },
    "content_type": {
        "plain": "Sends application/json.",
        "with_charset": "Sends application/json with a charset.",
    },
    "answer_framing": {
        "content_length": "Announces the length of a body in Content-Length.",
        "chunked": "Sends bodies in chunks, without Content-Length.",
    },
    "header_names": {
        "canonical": "Sends header names like Content-Type.",
        "lower_case": "Sends header names like content-type.",
    },
    "connection": {
        "kept": "Keeps the connection open for the next request.",
        "closed_after_answer": "Closes the connection after each response.",
    },
    "rate_limit": {
        "none": "Accepts any number of requests.",
        "retry_after_seconds": "Responds with 429 to each fifth request, and says the seconds to wait.",
        "retry_after_date": "Responds with 429 to each fifth request, and says until when to wait.",
    },
    "key_rotation": {
        "never": "Keeps a key valid.",
        "mid_session": "Revokes a key at its tenth use.",
    },
    "visibility": {
        "immediate": "Shows a new animal at once.",
        "delayed": "Hides a new animal from the next request.",
    },
}


def effects_of(gap: Gap) -> list[str]:
    """Return the effect of each alternative of a gap, in order; an empty text if nobody has written it yet."""
    known = EFFECTS.get(gap.name, {})
    return [known.get(name, "") for name in gap.alternatives]
