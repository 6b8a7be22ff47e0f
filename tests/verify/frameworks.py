"""Services with reported bugs of frameworks, gateways and mock servers, and correct services near them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from petstore_mock import Behaviour
from tests.verify.services import (
    Change,
    Refuses,
    Turn,
    explain_errors,
    fails_with,
    in_pets,
    nothing,
    refuses_names,
    where,
)

Anything = Any


class Reported(NamedTuple):
    """A service with one bug: the clause that it breaks, the report, and words that the finding needs."""

    clause: str
    report: str
    change: Change = nothing
    # Sees a request before the fake: changes it, or returns the status that refuses it.
    before: Refuses | None = None
    behaviour: Behaviour | None = None
    words: str = ""


def header(turn: Turn) -> str:
    return str(turn.environ.get("HTTP_AUTHORIZATION", ""))


def fields_of(turn: Turn) -> dict[str, Anything]:
    return turn.sent if isinstance(turn.sent, dict) else {}


def sends(turn: Turn, body: bytes) -> None:
    """Replace the body that the fake reads."""
    turn.environ["wsgi.input"] = io.BytesIO(body)
    turn.environ["CONTENT_LENGTH"] = str(len(body))


def sends_fields(turn: Turn, **changed: Anything) -> None:
    """Replace fields of the body. Those that become None are left out."""
    members = {**fields_of(turn), **changed}
    sends(turn, json.dumps({name: value for name, value in members.items() if value is not None}).encode())


def is_create(turn: Turn) -> bool:
    return turn.name == "create" and isinstance(turn.sent, dict) and bool(header(turn))


def key_beyond_ascii(turn: Turn) -> int | None:
    return None if header(turn).isascii() else 500


def key_without_blank(turn: Turn) -> int | None:
    return 500 if header(turn) and " " not in header(turn) else None


def redirect_to_login(turn: Turn) -> None:
    turn.status, turn.body, turn.media_type = 302, b"<p>Redirecting to /login", "text/html"
    turn.fields.append(("Location", "/login"))


def raw_body(turn: Turn) -> bytes:
    body: bytes = turn.environ["wsgi.input"].getvalue()
    return body


def broken_json_fails(turn: Turn) -> int | None:
    try:
        json.loads(raw_body(turn) or b"{}")
    except (ValueError, RecursionError):
        return 500 if header(turn) else None
    return None


STATUSES = ("available", "pending", "sold")


def has_unknown_status(turn: Turn) -> bool:
    return is_create(turn) and fields_of(turn).get("status", "sold") not in STATUSES


def unknown_status_fails(turn: Turn) -> int | None:
    return 500 if has_unknown_status(turn) else None


def unknown_status_is_dropped(turn: Turn) -> int | None:
    if has_unknown_status(turn):
        sends_fields(turn, status=None)
    return None


class Keeping:
    """Keeps an invalid value of a field, and shows it in each response."""

    def __init__(self, name: str, instead: Anything, is_kept: Callable[[Anything], bool]) -> None:
        self._name, self._instead, self._is_kept = name, instead, is_kept
        self._kept: dict[int, Anything] = {}

    def before(self, turn: Turn) -> None:
        if is_create(turn) and self._is_kept(fields_of(turn).get(self._name)):
            sends_fields(turn, **{self._name: self._instead})

    def change(self, turn: Turn) -> None:
        value = fields_of(turn).get(self._name)
        if turn.name == "create" and turn.status == 201 and self._is_kept(value):
            self._kept[turn.document["id"]] = value
        for pet in turn.pets:
            if pet["id"] in self._kept:
                pet[self._name] = self._kept[pet["id"]]


ANY_STATUS = Keeping("status", "sold", lambda value: isinstance(value, str) and value not in STATUSES)
LARGE_NUMBER = Keeping("categoryId", 1, lambda value: type(value) is int and value >= 2**63)


def wrap_each(turn: Turn) -> None:
    if turn.status < 300:
        turn.document = {"data": turn.document}


class ChosenIds:
    """Gives an animal the id that the body has."""

    def __init__(self) -> None:
        self._own: dict[int, int] = {}

    def before(self, turn: Turn) -> None:
        path = str(turn.environ["PATH_INFO"])
        last = path.rpartition("/")[2]
        if is_create(turn) and "id" in fields_of(turn):
            sends_fields(turn, id=None)
        elif last.isdecimal() and int(last) in self._own:
            turn.environ["PATH_INFO"] = path.replace(last, str(self._own[int(last)]))

    def change(self, turn: Turn) -> None:
        if turn.name == "create" and turn.status == 201 and "id" in fields_of(turn):
            self._own[fields_of(turn)["id"]] = turn.document["id"]
        chosen = {own: pet_id for pet_id, own in self._own.items()}
        for pet in turn.pets:
            pet["id"] = chosen.get(pet["id"], pet["id"])


CHOSEN_IDS = ChosenIds()


def hide_sold(turn: Turn) -> None:
    """Show no sold animals but those of the run."""

    def is_shown(pet: dict[str, Anything]) -> bool:
        return pet.get("status") != "sold" or pet["name"].startswith("Verify")

    if turn.name == "list" and turn.status == 200:
        turn.document = [*filter(is_shown, turn.document)]
    elif turn.name == "get" and turn.status == 200 and not is_shown(turn.document):
        turn.refuse(404)


def empty_list_is_null(turn: Turn) -> None:
    hide_sold(turn)
    if turn.name == "list" and turn.status == 200:
        turn.document = turn.document or None


def one_is_no_list(turn: Turn) -> None:
    if turn.name == "list" and turn.status == 200 and len(turn.document) == 1:
        turn.document = turn.document[0]


def encode_twice(turn: Turn) -> None:
    if turn.status < 300:
        turn.document = json.dumps(turn.document)


def integers_are_texts(turn: Turn) -> None:
    in_pets("id", str)(turn)
    in_pets("categoryId", str)(turn)


def omit_zero_values(turn: Turn) -> None:
    for pet in turn.pets:
        for name in [name for name, value in pet.items() if value in (0, "")]:
            del pet[name]


def always_the_same(turn: Turn) -> None:
    if turn.name == "get" and turn.status in {200, 400, 404}:
        turn.respond(200, {"id": 4711, "name": "Rex", "categoryId": 1, "status": "sold"})


def bytes_of_query_fail(turn: Turn) -> int | None:
    return 500 if "%FF" in turn.query.upper() and header(turn) else None


def wrap_large_numbers(turn: Turn) -> int | None:
    number = fields_of(turn).get("categoryId")
    if is_create(turn) and type(number) is int and number >= 2**63:
        sends_fields(turn, categoryId=number - 2**64)
    return None


def ids_of_rows(turn: Turn) -> None:
    if turn.name == "list" and turn.status == 200:
        for pet in turn.document:
            pet["id"] += 100_000


def null_among_animals(turn: Turn) -> None:
    if turn.name == "list" and turn.status == 200 and len(turn.document) > 3:
        turn.document[2] = None


def unknown_field_fails(turn: Turn) -> int | None:
    known = {"name", "categoryId", "status"}
    return 500 if is_create(turn) and fields_of(turn).keys() - known else None


def negative_category_fails(turn: Turn) -> int | None:
    number = fields_of(turn).get("categoryId")
    return 500 if is_create(turn) and type(number) is int and number < 0 else None


def missing_number_is_zero(turn: Turn) -> int | None:
    if is_create(turn) and fields_of(turn).get("categoryId") is None:
        sends_fields(turn, categoryId=0)
    return None


def ignore_text_behind_json(turn: Turn) -> int | None:
    if turn.name == "create" and header(turn) and turn.sent is None:
        try:
            _, end = json.JSONDecoder().raw_decode(raw_body(turn).decode())
        except (ValueError, RecursionError):
            return None
        sends(turn, raw_body(turn)[:end])
    return None


def create_returns_nothing(turn: Turn) -> None:
    if turn.name == "create" and turn.status == 201:
        turn.body = b""


def empty_parameter_fails(turn: Turn) -> int | None:
    return 500 if turn.query.endswith("=") and header(turn) else None


def repeated_parameter_fails(turn: Turn) -> int | None:
    return 500 if turn.query.count("limit=") > 1 and header(turn) else None


def add_slashes(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')


def write_in_cp1252(turn: Turn) -> None:
    turn.body = json.dumps(turn.document, ensure_ascii=False).encode("cp1252", "replace")


def read_as_latin_1(turn: Turn) -> int | None:
    body = raw_body(turn)
    if not body.isascii() or b"\\u" in body:
        try:
            text = json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8").decode("latin-1")
        except (ValueError, RecursionError):
            return None
        sends(turn, text.encode("utf-8"))
    return None


def in_pascal_case(turn: Turn) -> None:
    for pet in turn.pets:
        others = {f"{name[0].upper()}{name[1:]}": value for name, value in pet.items()}
        pet.clear()
        pet.update(others)


def nest_errors(turn: Turn) -> None:
    if turn.status >= 400:
        turn.document = {"detail": turn.document}


REPORTED: dict[str, Reported] = {
    "a key beyond ASCII is 500": Reported(
        "5-exact-key", "https://github.com/mozilla-ai/otari/issues/1184", before=key_beyond_ascii
    ),
    "a key without a blank is 500": Reported(
        "5-scheme", "https://github.com/rommapp/romm/issues/3488", before=key_without_blank
    ),
    "a refused key is 500": Reported(
        "5-missing-key",
        "https://github.com/laravel/framework/issues/25636",
        where(lambda turn: turn.status == 401, fails_with(500)),
    ),
    "a refused key is a redirection": Reported(
        "5-missing-key",
        "https://github.com/laravel/framework/issues/15353",
        where(lambda turn: turn.status == 401, redirect_to_login),
    ),
    "broken JSON is 500": Reported(
        "4.2-body-json", "https://github.com/shlinkio/shlink/issues/1639", before=broken_json_fails
    ),
    "an unknown status is 500": Reported(
        "4.2-status-value", "https://github.com/BBMRI-ERIC/negotiator/issues/66", before=unknown_status_fails
    ),
    "an unknown status is dropped": Reported(
        "4.2-status-value",
        "https://github.com/DataBiosphere/terra-workspace-manager/pull/511",
        before=unknown_status_is_dropped,
    ),
    "an unknown status is kept": Reported(
        "4.2-status-value", "https://github.com/betfair/cougar/issues/16", ANY_STATUS.change, ANY_STATUS.before
    ),
    "numbers beyond int64 are kept": Reported(
        "4.2-category-range",
        "https://github.com/networknt/json-schema-validator/issues/776",
        LARGE_NUMBER.change,
        LARGE_NUMBER.before,
    ),
    "successes are in an envelope": Reported(
        "2-pets-array", "https://github.com/laravel/framework/issues/30753", wrap_each
    ),
    "the client chooses the id": Reported(
        "2-id-assigned", "https://github.com/ushahidi/platform/issues/3600", CHOSEN_IDS.change, CHOSEN_IDS.before
    ),
    "an empty list is null": Reported(
        "2-pets-array", "https://github.com/gin-gonic/gin/issues/125", empty_list_is_null
    ),
    "a list of one animal is an object": Reported(
        "2-pets-array", "https://github.com/open-horizon/exchange-api/issues/480", one_is_no_list
    ),
    "JSON is encoded twice": Reported(
        "2-pets-array", "https://github.com/magefan/module-blog/issues/313", encode_twice
    ),
    "integers are texts": Reported(
        "2-pet-id", "https://github.com/grpc-ecosystem/grpc-gateway/issues/438", integers_are_texts
    ),
    "zero values are left out": Reported(
        "2-pet-name", "https://github.com/sodafoundation/api/issues/706", omit_zero_values
    ),
    "a status is a number": Reported(
        "2-pet-status", "https://github.com/arcus-azure/arcus.templates/issues/36", in_pets("status", STATUSES.index)
    ),
    "each get is the example": Reported(
        "4.3-asked-for", "https://github.com/stoplightio/prism/issues/2626", always_the_same
    ),
    "bytes that are no UTF-8 are 500": Reported(
        "4.1-list-never-fails", "https://github.com/openfarmcc/OpenFarm/issues/452", before=bytes_of_query_fail
    ),
    "numbers beyond int64 wrap around": Reported(
        "4.2-category-range", "https://github.com/ultrajson/ultrajson/issues/49", before=wrap_large_numbers
    ),
    "lists have ids of rows": Reported("4.3-get", "https://github.com/phalt/swapi/issues/114", ids_of_rows),
    "null stands among the animals": Reported(
        "2-pet-object", "https://github.com/foojayio/discoapi/issues/132", null_among_animals
    ),
    "an unknown field is 500": Reported(
        "4.2-create-never-fails",
        "https://github.com/GoogleChrome/chromium-dashboard/issues/6469",
        before=unknown_field_fails,
    ),
    "a negative category is 500": Reported(
        "4.2-created", "https://github.com/Azure/data-api-builder/issues/620", before=negative_category_fails
    ),
    "a missing number is zero": Reported(
        "4.2-category-required", "https://github.com/aspnet/Mvc/issues/3971", before=missing_number_is_zero
    ),
    "text behind JSON is ignored": Reported(
        "4.2-body-end", "https://github.com/go-chi/render/pull/63", before=ignore_text_behind_json
    ),
    "a create returns nothing": Reported(
        "1-json-body", "https://github.com/spring-projects/spring-data-rest/issues/388", create_returns_nothing
    ),
    "a parameter without a value is 500": Reported(
        "4.1-list-never-fails", "https://github.com/expressjs/express/issues/1603", before=empty_parameter_fails
    ),
    "a repeated parameter is 500": Reported(
        "4.1-list-never-fails", "https://github.com/expressjs/express/issues/7147", before=repeated_parameter_fails
    ),
    "apostrophes get backslashes": Reported(
        "2-name-backslash",
        "https://github.com/deliciousbrains/wp-offload-ses-lite/issues/21",
        in_pets("name", add_slashes),
    ),
    "responses are in Windows-1252": Reported(
        "1-json-body", "https://github.com/MotusDev/Motus-TO-DO/issues/2", write_in_cp1252
    ),
    "requests are read as Latin-1": Reported(
        "2-name-text", "https://github.com/FraunhoferIOSB/FROST-Server/pull/321", before=read_as_latin_1
    ),
    "fields are in Pascal case": Reported(
        "2-pet-object", "https://github.com/dotnet/aspnetcore/issues/29589", in_pascal_case
    ),
    "errors are nested": Reported("7-400-error", "https://github.com/DariuszNewecki/CORE/issues/716", nest_errors),
}


def raw_letters(turn: Turn) -> None:
    turn.body = json.dumps(turn.document, ensure_ascii=False).encode("utf-8", "surrogatepass")


def with_escaped_slashes(turn: Turn) -> None:
    turn.body = json.dumps(turn.document).replace("/", "\\/").encode()


def with_exponents(turn: Turn) -> None:
    """Write small integers as a Go service does that reads JSON into a map."""
    for pet in turn.pets:
        if pet.get("categoryId") in range(1, 10):
            pet["categoryId"] = f"@{pet['categoryId']}@"
    body = json.dumps(turn.document).replace('"@', "").replace('@"', "e+00")
    turn.body = body.encode()


def indented(turn: Turn) -> None:
    turn.body = json.dumps(turn.document, indent=4, sort_keys=True).encode()


def with_challenge(turn: Turn) -> None:
    if turn.status == 401:
        turn.fields.append(("WWW-Authenticate", 'Bearer error="invalid_token"'))


def ignore_unknown_fields(turn: Turn) -> int | None:
    if is_create(turn):
        known = ("name", "categoryId", "status")
        sends(turn, json.dumps({name: value for name, value in fields_of(turn).items() if name in known}).encode())
    return None


def refuse_numbers(least: int, most: int) -> Refuses:
    def refuses(turn: Turn) -> int | None:
        number = fields_of(turn).get("categoryId")
        is_refused = is_create(turn) and type(number) is int and not least <= number <= most
        return 400 if is_refused else None

    return refuses


def refuse_queries(*parts: str) -> Refuses:
    def refuses(turn: Turn) -> int | None:
        is_refused = any(part in turn.query.upper() for part in parts) or turn.query.count("limit=") > 1
        return 400 if is_refused and header(turn) else None

    return refuses


def own_codes(turn: Turn) -> None:
    if turn.status >= 400:
        turn.document["code"] = f"PETS-{turn.status}"


def refuse_surplus_ids(turn: Turn) -> int | None:
    return 400 if is_create(turn) and "id" in fields_of(turn) else None


def close_each(turn: Turn) -> None:
    turn.fields.append(("Connection", "close"))


def name_validators(turn: Turn) -> None:
    if turn.status == 200:
        turn.fields += [("ETag", '"1"'), ("Cache-Control", "no-cache"), ("Vary", "Authorization")]


def name_the_location(turn: Turn) -> None:
    if turn.status == 201:
        turn.fields.append(("Location", f"/v1/pets/{turn.document['id']}"))


# Correct services near them: what changes the response, and what sees the request before.
TWINS: dict[str, tuple[Change, Refuses | None]] = {
    "refused keys have a challenge": (with_challenge, None),
    "a key beyond ASCII is 401 at a gateway": (nothing, lambda turn: None if header(turn).isascii() else 401),
    "errors have codes of their own": (own_codes, None),
    "errors have a trace": (explain_errors, None),
    "unknown fields are ignored": (nothing, ignore_unknown_fields),
    "an id in a body is refused": (nothing, refuse_surplus_ids),
    "no animal is sold yet": (hide_sold, None),
    "a list of one animal is indented": (indented, None),
    "letters are written as they are": (raw_letters, None),
    "slashes are escaped": (with_escaped_slashes, None),
    "integers have exponents": (with_exponents, None),
    "empty names are refused": (nothing, refuses_names(bool)),
    "negative categories are refused": (nothing, refuse_numbers(0, 2**63)),
    "categories beyond int32 are refused": (nothing, refuse_numbers(-(2**31), 2**31 - 1)),
    "odd queries are refused": (nothing, refuse_queries("%FF", "%00")),
    "an empty parameter is refused": (
        nothing,
        lambda turn: 400 if turn.query.endswith("=") and header(turn) else None,
    ),
    "names with quotes are refused": (nothing, refuses_names(lambda name: "'" not in name and "\\" not in name)),
    "names beyond Latin-1 are refused": (
        nothing,
        refuses_names(lambda name: all(letter < "\u0100" for letter in name)),
    ),
    "each connection is closed": (close_each, None),
    "reads have validators": (name_validators, None),
    "creates name the location": (name_the_location, None),
}
