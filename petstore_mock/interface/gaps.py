"""The gap register. A gap is something that the interface does not show; it has a name and several alternatives.

An alternative is a value, or a small function if it depends on the request, the response or the store. The pipeline
uses the chosen value or function, so the core never compares names of alternatives. The first alternative is the
default. Gaps of requests refuse by default, except ``name_rule`` and ``category_rule``.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# JSON values can have any type.

from __future__ import annotations

import heapq
import zlib
from dataclasses import dataclass
from functools import lru_cache, partial
from json import dumps, loads
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, urlencode

from petstore_mock.common.dates import http_date
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.values import by_name
from petstore_mock.interface.schemas import parameters, properties
from petstore_mock.interface.strict_json import encode_json, read_integer
from petstore_mock.interface.table import (
    ANIMAL,
    BASE_PATH,
    DEPRECATED_SINCE,
    LABEL,
    MEMBERS,
    Operation,
    operations,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from random import Random

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.kinds import Schema

    Draws = Callable[[], Random]
    Rewrite = Callable[[bytes], bytes]

Step: TypeAlias = Literal["validate", "content", "encode", "wire", "event"]
ResponseFields: TypeAlias = tuple[tuple[str, str], ...]


class Choice(NamedTuple):
    """An alternative of a gap: what the service does, in a sentence, and the value or function that does it."""

    effect: str
    use: object


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that the interface does not show, with its alternatives."""

    step: Step  # the step of the pipeline that uses the choice
    name: str
    quoted: str  # the section, then what the interface says or does not say
    lesson: str  # what a client must not assume; completes "Do not assume ..."
    choices: Mapping[str, Choice]  # by name, the default first
    field: str = ""  # the field that the gap sets or restricts; empty for other gaps
    # What the gap decides: about an invalid value of the parameters that name it; about null in the fields that name
    # it; or about its own field: which values a service accepts, what an animal has if the client left the field out.
    decides: Literal["", "parameter", "values", "null", "omitted"] = ""
    texts: tuple[str, ...] = ()  # JSON texts of the field that show the choice
    refuses_later: bool = False  # whether it refuses requests in a later step than validation
    makes_wait: bool = False  # whether a client that heeds the response waits in real time

    @property
    def alternatives(self) -> Mapping[str, Any]:
        """The values or functions for the pipeline, the default first."""
        return {name: choice.use for name, choice in self.choices.items()}

    @property
    def section(self) -> str:
        return self.quoted.removeprefix("§").partition(": ")[0]

    @property
    def sentence(self) -> str:
        return self.quoted.partition(": ")[2]

    @property
    def refuses(self) -> bool:
        """Whether an alternative refuses requests that another one accepts."""
        return self.step == "validate" or self.refuses_later

    @property
    def default(self) -> str:
        return next(iter(self.alternatives))


# Gaps that decide which requests the service accepts. A function for an invalid parameter receives its text and
# schema; for a repeated one, only its texts. It returns a replacement, "" to ignore the parameter, or None to refuse.


def _refuse(*_: object) -> None:
    return None


def _clamped(text: str, rules: Schema) -> int | None:
    if text == "-0":
        text = "0"
    number = read_integer(text)
    if isinstance(number, str):
        return None
    clamped: int = min(max(number, rules["minimum"]), rules["maximum"])
    return clamped


def _ignored(_text: str, rules: Schema) -> object:
    return rules.get("default", "")


def _unmatched(text: str, _rules: Schema) -> str:
    return text or "no-such-status"


_REFUSES: Final = Choice("Responds with 400.", _refuse)
_IS_REFUSED: Final = Choice("Responds with 400.", True)
_ACCEPTED: Final = (
    Gap(
        "validate",
        "invalid_limit",
        "§7: Errors for invalid query parameters on listPets (limit outside 1 to 100): not shown.",
        "that the service accepts a limit outside 1 to 100, or that it refuses such a limit",
        {
            "reject": _REFUSES,
            "clamp": Choice(
                "Uses the nearest allowed limit, and responds with 400 to a text that is no integer.", _clamped
            ),
            "ignore": Choice("Lists as if the request had no limit.", _ignored),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "invalid_status_filter",
        "§7: Errors for invalid query parameters on listPets (an unknown status): not shown.",
        "that the service refuses an unknown status, or that it returns an empty list",
        {
            "reject": _REFUSES,
            "empty": Choice("Returns an empty list.", _unmatched),
            "ignore": Choice("Lists animals of every status.", _ignored),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "unknown_query",
        "§7: Errors for invalid query parameters on listPets: not shown.",
        "that the service ignores unknown query parameters, or that it refuses them",
        {"reject": _IS_REFUSED, "ignore": Choice("Ignores the parameter.", False)},
    ),
    Gap(
        "validate",
        "repeated_query",
        "§7: Errors for invalid query parameters on listPets: not shown.",
        "which value of a repeated parameter the service uses",
        {
            "reject": _REFUSES,
            "first": Choice("Uses the first value.", itemgetter(0)),
            "last": Choice("Uses the last value.", itemgetter(-1)),
        },
    ),
    Gap(
        "validate",
        "unknown_body_field",
        "§4.2: 400: the request body contains invalid values; it is not shown whether an unknown field is invalid.",
        "that the service accepts an unknown field, or that it stores the field",
        {
            "reject": _IS_REFUSED,
            "ignore": Choice("Ignores the field and does not store it.", False),
        },
    ),
    Gap(
        "validate",
        "null_status",
        "§2: status is PetStatus and not required; the interface does not say whether null means no status.",
        "that the service treats null like a missing status",
        {
            "reject": _IS_REFUSED,
            "as_omitted": Choice("Treats null like a missing status.", False),
        },
        decides="null",
        texts=("null",),
    ),
    Gap(
        "validate",
        "integral_float",
        "§2: categoryId is an integer; the interface does not say whether 1.0 or 1e2 is an integer.",
        "that the service accepts a number like 1.0 or 1e2 as an integer",
        {
            "reject": Choice("Responds with 400 to 1.0 and 1e2.", True),
            "accept": Choice("Reads 1.0 and 1e2 as integers.", False),
        },
    ),
    Gap(
        "validate",
        "duplicate_member",
        "§1: Bodies are JSON; the interface does not say which of two members with the same name counts (RFC 8259 §4).",
        "which of two members with the same name the service uses",
        {"reject": _IS_REFUSED, "last": Choice("Uses the last member of that name.", False)},
    ),
    Gap(
        "validate",
        "name_rule",
        "§2: Length or character limits on name: not shown.",
        "that the service accepts an empty or a very long name",
        {
            "any": Choice("Accepts every name, also an empty one.", None),
            "non_empty": Choice("Responds with 400 to an empty name.", {"minLength": 1}),
            "max_255": Choice("Responds with 400 to a name of more than 255 characters.", {"maxLength": 255}),
        },  # keywords of JSON Schema
        field="name",
        decides="values",
        texts=('""', '"{long label}"'),
    ),
    Gap(
        "validate",
        "category_rule",
        "§2: Fields of the category record: not shown; the interface does not say which identifiers exist.",
        "that the service accepts every category id",
        {
            "any": Choice("Accepts every category id.", None),
            "positive": Choice("Responds with 400 to a category id below 1.", {"exclusiveMinimum": 0}),
        },
        field="categoryId",
        decides="values",
        texts=("0",),
    ),
    Gap(
        "validate",
        "malformed_pet_id",
        "§4.3: petId is an int64; the response to an identifier that is not an int64 is not shown.",
        "a certain status (404 or 400) for an identifier that is not an int64",
        {
            "not_found": Choice("Responds with 404.", "malformed_path"),
            "bad_request": Choice("Responds with 400.", "invalid_path"),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "media_type",
        "§4.2: Request body (required, application/json); the response to another media type is not shown.",
        "that the service accepts a wrong or missing Content-Type",
        {
            "unsupported_415": Choice("Responds with 415 to another media type.", "unsupported_media_type"),
            "bad_request": Choice("Responds with 400.", "wrong_media_type"),
            "accept": Choice("Reads the body as JSON.", None),
        },
    ),
    Gap(
        "validate",
        "body_limit",
        "§8: Size limits of request bodies: not shown.",
        "that the service reads a body of any size",
        {
            "one_mebibyte": Choice("Responds with 413 to a body of more than 1 MiB.", 1024 * 1024),
            "none": Choice("Reads a body of any size.", None),
        },
    ),
    Gap(
        "validate",
        "unknown_route",
        "§4.4: A store-orders listing endpoint (GET /store/orders) is mentioned by name only.",
        "a certain response to a path that the interface does not show",
        {
            "not_found": Choice("Responds with 404.", "unknown_path"),
            "not_implemented": Choice("Responds with 501.", "unknown_path_501"),
        },
    ),
)


# Gaps of the content of responses. A function of ``list_order`` receives the ids in ascending order, the number of
# animals to return, the animals of the store, and a source of random numbers.


class Documents(Protocol):
    """The animals, as the order of a list may read them."""

    def document(self, pet_id: int) -> JsonObject | None: ...


def _by_checksum(value: object) -> int:
    """Return a 32-bit checksum; sorting by it gives a stable order that looks random."""
    return zlib.crc32(str(value).encode("utf-8", "surrogatepass"))


def _first(ids: Sequence[int], most: int, *_: object) -> Sequence[int]:
    return ids[:most]


def _last(ids: Sequence[int], most: int, *_: object) -> Sequence[int]:
    last = ids[max(0, len(ids) - most) :]
    return last[::-1]


def _by_name(ids: Sequence[int], most: int, animals: Documents, _draws: object) -> Iterable[int]:
    def name_and_id(pet_id: int) -> tuple[object, int]:
        animal = animals.document(pet_id) or {}
        return animal.get(LABEL), pet_id

    return heapq.nsmallest(most, ids, key=name_and_id)


def _in_stable_order(ids: Sequence[int], most: int, *_: object) -> Iterable[int]:
    return heapq.nsmallest(most, ids, key=_by_checksum)


def _in_any_order(ids: Sequence[int], most: int, _animals: object, draws: Draws) -> Iterable[int]:
    return draws().sample(ids, min(most, len(ids)))


def _all(limit: int) -> int:
    return limit


def _half(limit: int) -> int:
    # At least one animal if any matches.
    return (limit + 1) // 2


def _next_id(last: int, _draws: Draws) -> int:
    return last + 1


def _sparse_id(last: int, draws: Draws) -> int:
    return last + draws().randint(2, 1000)


def _any_id(_last: int, draws: Draws) -> int:
    return draws().randint(1, properties(ANIMAL)["id"]["maximum"])


def _large_id(last: int, _draws: Draws) -> int:
    return max(last, 2**53) + 1


_TERSE: Final = {400: "BAD", 401: "AUTH", 404: "NONE", 429: "SLOW"}


def _standard_code(standard: str, _status: int) -> str:
    return standard


def _terse_code(_standard: str, status: int) -> str:
    return _TERSE.get(status, "ERR")


def _numeric_code(_standard: str, status: int) -> str:
    # Many services number their errors in this way.
    return f"{status}01"


def _more_fields(document: JsonObject) -> JsonObject:
    return {**document, "tags": [], "_meta": {"revision": 1}, **document}


def _with_more_fields(body: bytes) -> bytes:
    value: Json = loads(body)
    more = [*map(_more_fields, value)] if is_array(value) else _more_fields(value)
    return encode_json(more)


_SAID: Final = (
    Gap(
        "content",
        "status_when_omitted",
        "§3: The status given to a new animal when status is omitted: not shown.",
        "that an animal has a status, or a certain status, if the client sent none",
        {
            "absent": Choice("Stores the animal without a status.", None),
            "available": Choice("Stores the animal as available.", "available"),
            "pending": Choice("Stores the animal as pending.", "pending"),
            "sold": Choice("Stores the animal as sold.", "sold"),
        },
        field="status",
        decides="omitted",
    ),
    Gap(
        "content",
        "list_order",
        "§4.1: Pagination controls beyond limit: not shown; the order of the list is not shown either.",
        "that a list has an order, or that every list begins with the same animals",
        {
            "id_ascending": Choice("Lists the smallest id first.", _first),
            "id_descending": Choice("Lists the largest id first.", _last),
            "by_name": Choice("Lists by name, and animals of one name by id.", _by_name),
            "arbitrary_stable": Choice(
                "Lists in an order without a rule, which is the same in each response.", _in_stable_order
            ),
            "arbitrary": Choice("Lists in another order in each response.", _in_any_order),
        },
    ),
    Gap(
        "content",
        "page_fill",
        "§4.1: limit is the maximum number of animals to return; it is not shown whether a page is full.",
        "that a list shorter than limit contains every matching animal",
        {
            "full": Choice("Fills a page up to limit if there are enough animals.", _all),
            "short": Choice("Returns at most half as many animals as limit, although more match.", _half),
        },
    ),
    Gap(
        "content",
        "id_assignment",
        "§2: id is a unique int64 that the service assigns on creation; the interface does not show how.",
        "that ids grow, are consecutive, or fit into a double",
        {
            "sequential": Choice("Counts up from 1.", _next_id),
            "sparse": Choice("Counts up, and leaves out some ids.", _sparse_id),
            "random_int64": Choice("Draws any positive int64.", _any_id),
            "beyond_2_53": Choice("Counts up from beyond 2^53, which a double can't hold.", _large_id),
        },
    ),
    Gap(
        "content",
        "error_codes",
        "§7: The set of possible values of code: not shown.",
        "a certain value of code: the interface shows only the HTTP status",
        {
            "standard": Choice("Uses a word for each kind of error.", _standard_code),
            "terse": Choice("Uses a short code for each status, such as NONE for 404.", _terse_code),
            "numeric_strings": Choice("Uses the status and two digits, such as 40401, as text.", _numeric_code),
        },
    ),
    Gap(
        "content",
        "extra_response_fields",
        "§2: Pet and Error list their fields; the interface does not say that responses have no other fields.",
        "that a response has no other fields",
        {
            "none": Choice("Sends the fields of the interface only.", None),
            "present": Choice("Sends the further fields tags and _meta.", _with_more_fields),
        },
    ),
    Gap(
        "content",
        "after_removal",
        "§4.3: getPet's scheduled removal date is 5 December 2030; its responses from that date on are not shown.",
        "that a deprecated operation works from its removal date on, or how it fails",
        {
            "gone": Choice("Responds with 410 from the removal date of an operation on.", "operation_removed"),
            "not_found": Choice("Responds with 404 from the removal date of an operation on.", "operation_removed_404"),
            "still_served": Choice("Responds as before.", None),
        },
        refuses_later=True,
    ),
)


# Gaps of the form of responses.


def _pretty(body: bytes) -> bytes:
    return dumps(loads(body), indent=2, ensure_ascii=False).encode("utf-8")


def _in_ascii(body: bytes) -> bytes:
    return dumps(loads(body), separators=(",", ":")).encode("ascii")


def _shuffled(value: Json, salt: int = 0) -> Json:
    """Return a value with the members of its objects shuffled; the order may differ between the objects of a list."""
    if is_array(value):
        return [_shuffled(item, index) for index, item in enumerate(value)]
    if is_object(value):
        names = sorted(value, key=partial(_place_of, salt))
        return {name: _shuffled(value[name], salt) for name in names}
    return value


def _place_of(salt: int, name: str) -> int:
    return _by_checksum(f"{salt}{name}")


def _with_shuffled_members(body: bytes) -> bytes:
    return encode_json(_shuffled(loads(body)))


class ListPage(NamedTuple):
    """The facts about a list that paging header fields use."""

    path: str  # the path of the request in the client's address
    limit: int  # the limit of the request, or the default limit
    operation: Operation
    given: Mapping[str, object]  # the parameters of the query that select animals, with their values
    most: int  # the largest size of the page; half of ``limit``, rounded up, if ``page_fill`` is short
    total: int  # the number of matching animals


def _link(page: ListPage, limit: int, relation: str) -> str:
    parameter = page.operation.limit
    query = {} if parameter is None else {parameter.name: limit}
    target = f"{page.path}?{urlencode({**query, **page.given}, quote_via=quote)}"
    return f'<{target}>; rel="{relation}"'


def _links(page: ListPage, *, following: bool) -> ResponseFields:
    # The interface shows no control for another page (§4.1). A client can only request a longer page, which repeats the
    # animals of this page.
    links = [_link(page, page.limit, "first")]
    parameter = page.operation.limit
    largest: int = page.limit if parameter is None else parameters(page.operation)[parameter.name]["maximum"]
    has_more = page.total > page.most and page.limit != largest
    if following and has_more:
        links.append(_link(page, largest, "next"))
    return (("Link", ", ".join(links)),)


def _total(page: ListPage) -> ResponseFields:
    return (("X-Total-Count", str(page.total)),)


def _location(base_path: str, pet_id: int) -> ResponseFields:
    for operation in operations("reads"):
        if operation.identifier is not None:
            path = operation.path.replace(f"{{{operation.identifier.name}}}", str(pet_id))
            return (("Location", f"{base_path}{BASE_PATH}{path}"),)
    return ()


@lru_cache(maxsize=8)
def _deprecation_fields(removed_at: datetime | None) -> ResponseFields:
    if removed_at is None:
        return ()
    return (
        ("Deprecation", f"@{int(DEPRECATED_SINCE.timestamp())}"),  # RFC 9745 §2: a structured-field date
        ("Sunset", http_date(removed_at.timestamp())),  # RFC 8594 §3
    )


def _no_fields(_: object) -> ResponseFields:
    return ()


_LOOKS: Final = (
    # a function rewrites a body; None leaves it as it is
    Gap(
        "encode",
        "json_style",
        "§1: Bodies are JSON; JSON does not prescribe white space, escapes or the order of members (RFC 8259).",
        "a certain layout of JSON: white space, escapes, order of members",
        {
            "compact": Choice("Sends JSON without white space.", None),
            "pretty": Choice("Sends JSON on several indented lines.", _pretty),
            "ascii": Choice("Sends other characters than ASCII as escapes.", _in_ascii),
            "shuffled_members": Choice("Sends the members of an object in changing order.", _with_shuffled_members),
        },
    ),
    Gap(
        "encode",
        "paging_headers",
        "§4.1: Any paging metadata in the response: not shown.",
        "that the response to a list shows how many more animals there are",
        {
            "none": Choice("Sends no header about further animals.", None),
            "link": Choice("Sends a Link header with the address of the first page.", partial(_links, following=False)),
            "next_link": Choice(
                "Sends a Link header with the addresses of the first and of a longer page.",
                partial(_links, following=True),
            ),
            "total_count": Choice("Sends the number of all matching animals in X-Total-Count.", _total),
        },
    ),
    Gap(
        "encode",
        "location_header",
        "§4.2: 201: body is the created Pet; the interface shows no headers.",
        "that the response has a Location header (it may lead to an operation that will be removed)",
        {
            "absent": Choice("Sends no Location header with a 201.", None),
            "present": Choice("Sends the address of the new animal in a Location header.", _location),
        },
    ),
    Gap(
        "encode",
        "deprecation_headers",
        "§9: Deprecation is signalled per operation; the interface does not show how.",
        "that response headers signal the deprecation",
        {
            "present": Choice("Sends headers that announce the removal of an operation.", _deprecation_fields),
            "absent": Choice("Sends no headers about the removal.", _no_fields),
        },
    ),
    Gap(
        "encode",
        "content_type",
        "§1: Bodies are application/json; the interface does not say whether a charset follows.",
        "the exact text of Content-Type",
        {
            "plain": Choice("Sends application/json.", "application/json"),
            "with_charset": Choice("Sends application/json with a charset.", "application/json; charset=utf-8"),
        },
    ),
)
_ON_THE_WIRE: Final = (
    Gap(
        "wire",
        "answer_framing",
        "§1: The service is an HTTP API: HTTP frames its messages (RFC 9112 §6).",
        "that a response has a Content-Length header",
        {
            "content_length": Choice("Announces the length of a body in Content-Length.", False),
            "chunked": Choice("Sends bodies in chunks, without Content-Length.", True),
        },
    ),
    Gap(
        "wire",
        "header_names",
        "§1: The service is an HTTP API: the case of header names has no meaning (RFC 9110 §5.1).",
        "a certain case of header names",
        {
            "canonical": Choice("Sends header names like Content-Type.", False),
            "lower_case": Choice("Sends header names like content-type.", True),
        },
    ),
    Gap(
        "wire",
        "connection",
        "§1: The service is an HTTP API: a server may close a connection after any response (RFC 9112 §9.6).",
        "that a connection stays open",
        {
            "kept": Choice("Keeps the connection open for the next request.", False),
            "closed_after_answer": Choice("Closes the connection after each response.", True),
        },
    ),
)


# Events: the service changes or refuses something although the client made no mistake.

_EVERY_NTH_LIMITED: Final = 5
_REQUESTS_BEFORE_ROTATION: Final = 10


def _seconds_to_wait(number: int, _now: float) -> str | None:
    return None if number % _EVERY_NTH_LIMITED else "1"


def _end_of_wait(number: int, now: float) -> str | None:
    if number % _EVERY_NTH_LIMITED:
        return None
    return http_date(now + 1)


def _is_old(uses: int) -> bool:
    return uses > _REQUESTS_BEFORE_ROTATION


_EVENTS: Final = (
    Gap(
        "event",
        "rate_limit",
        "§8: Rate limits: not shown.",
        "that the service has no rate limit",
        {
            "none": Choice("Accepts any number of requests.", None),
            "retry_after_seconds": Choice(
                "Responds with 429 to each fifth request, and says the seconds to wait.", _seconds_to_wait
            ),
            "retry_after_date": Choice(
                "Responds with 429 to each fifth request, and says until when to wait.", _end_of_wait
            ),
        },
        refuses_later=True,
        makes_wait=True,
    ),
    Gap(
        "event",
        "key_rotation",
        "§5: How keys are issued, their lifetime and their rotation: not shown.",
        "that a valid key stays valid",
        {
            "never": Choice("Keeps a key valid.", None),
            "mid_session": Choice("Revokes a key at its tenth use.", _is_old),
        },
    ),
    Gap(
        "event",
        "visibility",
        "§4: The interface does not say whether other requests find a created animal at once.",
        "that the next request finds a created animal",
        {
            "immediate": Choice("Shows a new animal at once.", 0),
            "delayed": Choice("Hides a new animal from the next request.", 1),
        },
    ),
)

GAPS: Final = by_name((*_ACCEPTED, *_SAID, *_LOOKS, *_ON_THE_WIRE, *_EVENTS))
# Gaps that restrict the values of a field. They could refuse values that a test sends on purpose.
RULES: Final = tuple(gap for gap in GAPS.values() if gap.decides == "values")
# By field: the gaps about null, and about a field that the client left out.
NULLS: Final = {field.name: GAPS[field.null] for field in MEMBERS.values() if field.null in GAPS}
OMITTED: Final = {gap.field: gap for gap in GAPS.values() if gap.decides == "omitted"}
# Gaps that exploration and strategies vary by default. Events are left out, because clients need code to handle them.
VARIED: Final = tuple(name for name, gap in GAPS.items() if gap.step != "event" and gap not in RULES)


def _chosen(choices: str) -> Mapping[str, str]:
    return dict(choice.split("=") for choice in choices.split())


PRESETS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "strict": {},
        "lenient": _chosen("""
            invalid_limit=clamp invalid_status_filter=empty unknown_query=ignore repeated_query=last
            unknown_body_field=ignore null_status=as_omitted integral_float=accept duplicate_member=last
            media_type=accept body_limit=none
        """),
        "helpful": _chosen("""
            status_when_omitted=available paging_headers=total_count location_header=present
            deprecation_headers=present content_type=with_charset
        """),
        "hostile": _chosen("""
            list_order=arbitrary page_fill=short id_assignment=random_int64 error_codes=numeric_strings
            extra_response_fields=present json_style=shuffled_members deprecation_headers=absent
            content_type=with_charset answer_framing=chunked header_names=lower_case
            connection=closed_after_answer after_removal=not_found malformed_pet_id=bad_request
        """),
    }
)
