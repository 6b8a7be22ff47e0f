"""Services with reported bugs of stores, workers, gateways and serializers, and correct services near them."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Callable
from itertools import count
from typing import Any

from petstore_mock import Behaviour
from tests.verify.frameworks import (
    Reported,
    fields_of,
    has_unknown_status,
    header,
    hide_sold,
    is_create,
    raw_body,
    sends,
    sends_fields,
)
from tests.verify.services import Change, Refuses, Turn, in_pets, nothing, on, refuses_names

Anything = Any
SEEDED = 30  # animals of the service before a run


def path_of(turn: Turn) -> str:
    return str(turn.environ["PATH_INFO"])


def id_of(turn: Turn) -> int | None:
    last = path_of(turn).rpartition("/")[2]
    return int(last) if last.isdecimal() else None


def reads_instead(turn: Turn, pet_id: int) -> None:
    turn.environ["REQUEST_URI"] = f"{path_of(turn).rpartition('/')[0]}/{pet_id}"


# Lists


def keep_keys_of_rows(turn: Turn) -> None:
    """A PHP array with gaps in its keys is an object in JSON."""
    if on("list", 200)(turn) and "status=" in turn.query:
        rows = {str(pet["id"] - 1): pet for pet in turn.document}
        if [*rows] != [str(number) for number in range(len(rows))]:
            turn.document = rows


def number_members(turn: Turn) -> None:
    """PDO returns each column by its name and by its number."""
    for pet in turn.pets:
        pet.update({str(number): value for number, value in enumerate([*pet.values()])})


def only_first_status(turn: Turn) -> None:
    """Lists come in order of the status, and end with it."""
    if on("list", 200)(turn) and turn.document:
        first = turn.document[0].get("status")
        turn.document = [pet for pet in turn.document if pet.get("status") == first]


def skip_every_third(turn: Turn) -> None:
    if on("list", 200)(turn) and "status=" in turn.query and len(turn.document) > 2:
        turn.document = [pet for place, pet in enumerate(turn.document) if place % 3 != 2]


def as_stream(turn: Turn, end: str) -> None:
    if on("list", 200)(turn) and turn.document:
        turn.body = f"[{','.join(map(json.dumps, turn.document))}{end}".encode()


def empty_list_is_object(turn: Turn) -> None:
    hide_sold(turn)
    if on("list", 200)(turn):
        turn.document = turn.document or {}


# Stores


def id_of_trigger(first: int) -> Change:
    """Return the id of the row that a trigger adds to another table, whose ids begin with ``first``."""

    def change(turn: Turn) -> None:
        if on("create", 201)(turn):
            turn.document["id"] += first - SEEDED - 1

    return change


def name_id_of_trigger(turn: Turn) -> None:
    if on("create", 201)(turn):
        turn.document["auditId"] = 1


class ByTheClock:
    """Ids are seconds. Of three animals that have one, the store keeps the last."""

    def __init__(self) -> None:
        self._number = count()
        self._second: dict[int, int] = {}

    def before(self, turn: Turn) -> None:
        own = self._kept().get(id_of(turn) or 0)
        if own is not None:
            reads_instead(turn, own)

    def change(self, turn: Turn) -> None:
        if on("create", 201)(turn):
            self._second[turn.document["id"]] = 1_700_000_000 + next(self._number) // 3
        if on("list", 200)(turn):
            lost = self._second.keys() - self._kept().values()
            turn.document = [pet for pet in turn.document if pet["id"] not in lost]
        in_pets("id", lambda pet_id: self._second.get(pet_id, pet_id))(turn)

    def _kept(self) -> dict[int, int]:
        return {second: pet_id for pet_id, second in self._second.items()}


def archive_sold(turn: Turn) -> None:
    if on("get", 200)(turn) and turn.document.get("status") == "sold":
        turn.refuse(404)


def end_before_emoji(name: str) -> str:
    return re.split("[\U00010000-\U0010ffff]", name)[0]


def pad(name: str) -> str:
    return name.ljust(40)


def with_padded_code(turn: Turn) -> None:
    for pet in turn.pets:
        pet["code"] = pad(pet["name"])


def count_down(turn: Turn) -> None:
    """Give created animals negative ids, the largest first."""
    in_pets("id", lambda pet_id: -pet_id if pet_id > SEEDED else pet_id)(turn)


def read_negative_ids(turn: Turn) -> None:
    last = path_of(turn).rpartition("/")[2]
    if turn.name == "get" and re.fullmatch("-[0-9]+", last) and int(last) < -SEEDED:
        reads_instead(turn, -int(last))
    elif turn.name == "get" and SEEDED < (id_of(turn) or 0) < 1_000:
        reads_instead(turn, 2**40)


class Restarting:
    """Forgets all created animals now and then, and counts their ids anew."""

    def __init__(self, requests: int) -> None:
        self._requests = requests
        self._number = count(1)
        self._created = self._forgotten = 0

    def before(self, turn: Turn) -> None:
        if next(self._number) % self._requests == 0:
            self._forgotten = self._created
        pet_id = id_of(turn)
        if pet_id is not None and pet_id > SEEDED:
            reads_instead(turn, pet_id + self._forgotten)

    def change(self, turn: Turn) -> None:
        if on("create", 201)(turn):
            self._created += 1
        if on("list", 200)(turn):
            turn.document = [pet for pet in turn.document if not 0 < pet["id"] - SEEDED <= self._forgotten]
        for pet in turn.pets:
            if pet["id"] > SEEDED:
                pet["id"] -= self._forgotten


class CleanedUp:
    """An operator removes each fifth created animal some requests later."""

    def __init__(self) -> None:
        self._number = count(1)
        self._since: dict[int, int] = {}

    def change(self, turn: Turn) -> None:
        number = next(self._number)
        if on("create", 201)(turn):
            self._since[turn.document["id"]] = number
        removed = {pet_id for pet_id, since in self._since.items() if pet_id % 5 == 0 and number - since > 20}
        if on("list", 200)(turn):
            turn.document = [pet for pet in turn.document if pet["id"] not in removed]
        elif on("get", 200)(turn) and turn.document["id"] in removed:
            turn.refuse(404)


def share_ids(turn: Turn) -> None:
    """Two workers count ids, each for itself."""
    for pet in turn.pets:
        if pet["id"] > SEEDED:
            pet["id"] = SEEDED + (pet["id"] - SEEDED + 1) // 2


def read_shared_ids(turn: Turn) -> None:
    pet_id = id_of(turn)
    if pet_id is not None and SEEDED < pet_id < 1_000:
        reads_instead(turn, SEEDED + 2 * (pet_id - SEEDED) - 1)


_BLOCK = 1_000_000


def number_by_worker(turn: Turn) -> None:
    for pet in turn.pets:
        if pet["id"] > SEEDED and pet["id"] % 2:
            pet["id"] += _BLOCK


def read_numbers_of_workers(turn: Turn) -> None:
    pet_id = id_of(turn)
    if pet_id is not None and _BLOCK + SEEDED < pet_id < _BLOCK + 1_000:
        reads_instead(turn, pet_id - _BLOCK)


class Upserting:
    """A create with the name of another animal changes that animal."""

    def __init__(self) -> None:
        self._former: dict[str, Anything] = {}

    def before(self, turn: Turn) -> int | None:
        fields = fields_of(turn)
        is_right = is_create(turn) and type(fields.get("categoryId")) is int and not has_unknown_status(turn)
        return 409 if is_right and fields.get("name") in self._former else None

    def change(self, turn: Turn) -> None:
        if turn.name == "create" and turn.status == 409:
            former = self._former[fields_of(turn)["name"]]
            former.update(fields_of(turn))
            turn.respond(201, dict(former))
        elif on("create", 201)(turn):
            self._former[turn.document["name"]] = dict(turn.document)
        kept = {pet["id"]: pet for pet in self._former.values()}
        for pet in turn.pets:
            pet.update(kept.get(pet["id"], {}))


def refuse_names_in_any_case(turn: Turn, used: set[str]) -> int | None:
    name = fields_of(turn).get("name")
    if not is_create(turn) or not isinstance(name, str) or type(fields_of(turn).get("categoryId")) is not int:
        return None
    is_used = name.casefold() in used
    used.add(name.casefold())
    return 409 if is_used else None


def unknown_category(turn: Turn) -> bool:
    number = fields_of(turn).get("categoryId")
    return is_create(turn) and type(number) is int and number not in {1, 2, 3, 4, 5} and abs(number) < 2**63


def default_comes_later(turn: Turn) -> None:
    if on("create", 201)(turn) and "status" not in fields_of(turn):
        turn.document.pop("status", None)


def rank_in_reads(turn: Turn) -> None:
    if on("get", 200)(turn):
        turn.document["rank"] = 0


# Serializers


def omit_first_status(turn: Turn) -> None:
    for pet in turn.pets:
        if pet.get("status") == "available":
            del pet["status"]


def with_rank(turn: Turn) -> None:
    for pet in turn.pets:
        pet.update({"rank": pet["id"] % 3} if pet["id"] % 3 else {})


def filter_in_any_case(turn: Turn) -> None:
    if turn.name == "list":
        query = re.sub("status=([A-Za-z]+)", lambda match: match[0].lower(), turn.query)
        turn.environ["REQUEST_URI"] = f"{path_of(turn)}?{query}".rstrip("?")


def read_first_parameter(turn: Turn) -> None:
    turn.environ["REQUEST_URI"] = f"{path_of(turn)}?{turn.query.partition('&')[0]}".rstrip("?")


def empty_name_is_null(turn: Turn) -> None:
    in_pets("name", lambda name: name or None)(turn)


def empty_parameters_are_absent(turn: Turn) -> None:
    if turn.name == "list" and turn.query.endswith("="):
        turn.environ["REQUEST_URI"] = path_of(turn)


def strip_tags(turn: Turn) -> None:
    in_pets("name", lambda name: html.unescape(re.sub("<[^>]*>?", "", name)))(turn)


class Bulk:
    """Creates an animal for each element of an array."""

    def before(self, turn: Turn) -> None:
        if turn.name == "create" and header(turn) and raw_body(turn).startswith(b"[{"):
            elements = json.loads(raw_body(turn))
            sends(turn, json.dumps(elements[0]).encode())
            turn.environ["bulk"] = True

    def change(self, turn: Turn) -> None:
        if on("create", 201)(turn) and turn.environ.get("bulk"):
            turn.document = [turn.document]


def halves_are_letters(turn: Turn) -> None:
    """Read each half of a surrogate pair in escapes as a letter of its own."""
    halves = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..")
    if is_create(turn) and halves.search(raw_body(turn)):
        sends(turn, halves.sub(b"??", raw_body(turn)))


def fill_in_dollars(name: str) -> str:
    """JavaScript's String.replace() gives some dollar signs of its second text a meaning."""
    return name.replace("$$", "$")


def curl_quotes(name: str) -> str:
    return re.sub('"(.*?)"', "\u201c\\1\u201d", name).replace("'", "\u2019")


def as_utf16(turn: Turn) -> None:
    turn.media_type, turn.body = "application/json; charset=utf-16", json.dumps(turn.document).encode("utf-16")


def number_html(turn: Turn) -> None:
    text = json.dumps(turn.document)
    turn.body = re.sub("[<>&']", lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def as_hal(turn: Turn) -> None:
    if turn.status < 300:
        turn.media_type = "application/hal+json"


def beyond_int64(turn: Turn) -> None:
    in_pets("id", lambda pet_id: pet_id + 2**63)(turn)


def read_beyond_int64(turn: Turn) -> None:
    pet_id = id_of(turn) or 0
    if turn.name == "get" and pet_id > 2**63:
        reads_instead(turn, pet_id - 2**63)


def with_arrays(turn: Turn) -> None:
    if on("create", 201)(turn):
        turn.document["photos"] = [[]]


def convert_and_fill_in(turn: Turn) -> None:
    """A text is read as a number, and a missing number is 0."""
    number = fields_of(turn).get("categoryId")
    if is_create(turn) and "name" in fields_of(turn):
        if number is None:
            sends_fields(turn, categoryId=0)
        elif isinstance(number, str) and number.isdecimal():
            sends_fields(turn, categoryId=int(number))


def refuse_charset(turn: Turn) -> int | None:
    is_exact = str(turn.environ.get("CONTENT_TYPE", "")) == "application/json"
    return 415 if turn.name == "create" and header(turn) and not is_exact else None


def refuse_other_types(turn: Turn) -> int | None:
    called = str(turn.environ.get("CONTENT_TYPE", "")).partition(";")[0]
    return 415 if turn.name == "create" and header(turn) and called != "application/json" else None


def negative_ids_count_from_the_end(turn: Turn) -> None:
    if turn.name == "get" and header(turn) and path_of(turn).endswith("/-1"):
        reads_instead(turn, SEEDED)


def ignore_line_break(turn: Turn) -> None:
    """In many languages, ``$`` in a pattern stands before a line break at the end, too."""
    if turn.name == "get" and header(turn) and path_of(turn).endswith("\n"):
        turn.environ["REQUEST_URI"] = path_of(turn).removesuffix("\n")


def refuse_control_letters(turn: Turn) -> int | None:
    return 400 if turn.name == "get" and header(turn) and not path_of(turn).isprintable() else None


def refuse_negative_ids(turn: Turn) -> int | None:
    return 400 if turn.name == "get" and header(turn) and "/-" in path_of(turn) else None


# Errors


def as_grpc(turn: Turn) -> None:
    if turn.status >= 400:
        turn.document = {"code": turn.status % 17, "message": "no", "details": []}


def with_details(turn: Turn) -> None:
    if turn.status >= 400:
        turn.document = {**turn.document, "code": "NOT_FOUND", "details": []}


def messages_in_array(turn: Turn) -> None:
    if turn.status == 400:
        turn.document["message"] = [turn.document["message"]]


def with_list_of_errors(turn: Turn) -> None:
    if turn.status == 400:
        turn.document["errors"] = [turn.document["message"]]


def refuse_without_body(turn: Turn) -> None:
    if turn.status == 401:
        turn.body, turn.media_type = b"", "text/plain"
        turn.fields.append(("WWW-Authenticate", "Bearer"))


def refuse_with_charset(turn: Turn) -> None:
    if turn.status == 401:
        turn.media_type = "application/json;charset=UTF-8"


def page_for_broken_json(turn: Turn) -> None:
    if turn.status == 400 and turn.name == "create" and not raw_body(turn).endswith((b"}", b"]")):
        turn.media_type, turn.body = "text/html", b"<pre>SyntaxError: Unexpected end of JSON input</pre>"


def without_message(turn: Turn) -> None:
    if turn.status >= 400:
        turn.document["message"] = ""


def compress_errors(turn: Turn) -> None:
    if turn.status >= 400:
        turn.body = gzip.compress(json.dumps(turn.document).encode())


def compress_errors_and_say_so(turn: Turn) -> None:
    compress_errors(turn)
    if turn.status >= 400:
        turn.fields.append(("Content-Encoding", "gzip"))


# Gateways


class CachedRefusals:
    """A cache that keeps a 401 for some requests. It returns the 401 for any key, unless it keeps one for each key."""

    def __init__(self, requests: int, *, by_key: bool = False, tells: bool = True) -> None:
        self._requests, self._by_key, self._tells = requests, by_key, tells
        self._number = count()
        self._kept: dict[Anything, tuple[int, Anything]] = {}

    def change(self, turn: Turn) -> None:
        number = next(self._number)
        if turn.name == "create":
            return
        asked = path_of(turn), turn.query, header(turn) if self._by_key else ""
        since, document = self._kept.get(asked, (-self._requests, None))
        if number - since < self._requests:
            turn.respond(401, document)
            if self._tells:
                turn.fields = [("X-Cache", "Error from cloudfront"), ("Age", str(number - since))]
        elif turn.status == 401:
            self._kept[asked] = number, turn.document


class CachedByAddress:
    """A cache that takes a create for a list of the same address."""

    def __init__(self) -> None:
        self._list: Anything = None

    def change(self, turn: Turn) -> None:
        if on("list", 200)(turn) and not turn.query:
            self._list = turn.document
        if turn.name == "create" and turn.status != 401 and self._list is not None:
            turn.respond(200, self._list)


class CachedNumbers:
    """A cache that keeps numbers as texts. It has an animal from the second read on."""

    def __init__(self, *, as_texts: bool) -> None:
        self._as_texts = as_texts
        self._kept: set[int] = set()

    def change(self, turn: Turn) -> None:
        if not on("get", 200)(turn):
            return
        pet_id = turn.document["id"]
        if pet_id in self._kept:
            turn.fields.append(("X-Cache", "HIT"))
            if self._as_texts:
                turn.document["categoryId"] = str(turn.document["categoryId"])
        self._kept.add(pet_id)


class EscapedInCache:
    """Each response escapes the texts of the animals in a cache, and the cache keeps them so."""

    def __init__(self) -> None:
        self._times: dict[int, int] = {}

    def change(self, turn: Turn) -> None:
        for pet in turn.pets if turn.name != "create" else ():
            times = self._times.get(pet["id"], 0)
            self._times[pet["id"]] = times + 1
            for _ in range(times):
                pet["name"] = html.escape(pet["name"], quote=False)


def by_the_clock() -> Reported:
    store = ByTheClock()
    return Reported(
        "2-id-assigned",
        "https://github.com/1692775560/dsh-Mimir-Academic-research/issues/168",
        store.change,
        store.before,
    )


def restarting() -> Reported:
    store = Restarting(45)
    return Reported(
        "2-id-assigned", "https://github.com/Azure/azure-functions-host/issues/11626", store.change, store.before
    )


def upserting() -> Reported:
    store = Upserting()
    return Reported("2-id-assigned", "https://github.com/spinnaker/keel/pull/339", store.change, store.before)


REPORTED: dict[str, Callable[[], Reported]] = {
    "a filtered list is an object": lambda: Reported(
        "2-pets-array", "https://github.com/laravel/framework/issues/33700", keep_keys_of_rows
    ),
    "only the first parameter counts": lambda: Reported(
        "4.1-limit-counts",
        "https://github.com/elabftw/elabftw/issues/3513",
        before=read_first_parameter,
        words="ignores the query or a part of it",
    ),
    "a comma stands behind the last animal": lambda: Reported(
        "1-json-body",
        "https://github.com/rchodava/datamill/issues/80",
        lambda turn: as_stream(turn, ",]"),
        words="breaks at ']' (character",
    ),
    "null stands behind the JSON": lambda: Reported(
        "1-json-body",
        "https://github.com/WP-API/WP-API/issues/2845",
        lambda turn: as_stream(turn, "]null"),
        words="breaks at 'n' (character",
    ),
    "a store restarts": restarting,
    "workers count ids": lambda: Reported(
        "2-id-unique", "https://github.com/yitter/IdGenerator/issues/79", share_ids, read_shared_ids
    ),
    "a used name changes the animal": upserting,
    "a create shows no default": lambda: Reported(
        "4.2-same-animal",
        "https://github.com/nuwave/lighthouse/issues/501",
        default_comes_later,
        behaviour=Behaviour(status_when_omitted="available"),
    ),
    "the first value of an enum is left out": lambda: Reported(
        "2-status-echoed", "https://github.com/grpc-ecosystem/grpc-gateway/issues/294", omit_first_status
    ),
    "values of an enum are in capitals": lambda: Reported(
        "2-pet-status", "https://github.com/swagger-api/swagger-codegen/issues/7386", in_pets("status", str.upper)
    ),
    "an empty name is null": lambda: Reported(
        "2-pet-name", "https://github.com/aspnet/Mvc/issues/4988", empty_name_is_null
    ),
    "tags are stripped": lambda: Reported(
        "2-name-html", "https://github.com/shopware/shopware/issues/4292", strip_tags
    ),
    "an array creates animals": lambda: Reported(
        "4.2-body-object", "https://github.com/PostgREST/postgrest/issues/17", Bulk().change, Bulk().before
    ),
    "a media type with a charset is refused": lambda: Reported(
        "4.2-created", "https://github.com/aws/chalice/issues/306", before=refuse_charset
    ),
    "the id -1 is the last animal": lambda: Reported(
        "4.3-asked-for",
        "https://github.com/gem/oq-engine/issues/2323",
        before=negative_ids_count_from_the_end,
    ),
    "errors are those of gRPC": lambda: Reported(
        "2-error-code", "https://github.com/grpc-ecosystem/grpc-gateway/issues/1842", as_grpc
    ),
    "messages are in an array": lambda: Reported(
        "2-error-message", "https://github.com/nestjs/nest/issues/8272", messages_in_array
    ),
    "a refused key has no body": lambda: Reported(
        "7-401-error", "https://github.com/verdie-g/crpg/issues/90", refuse_without_body
    ),
    "errors are compressed without a word": lambda: Reported(
        "7-400-error",
        "https://github.com/apache/trafficcontrol/issues/1737",
        compress_errors,
        words=r"unlike `\x1f\x8b`",
    ),
    "an empty list is an empty object": lambda: Reported(
        "2-pets-array", "https://github.com/leafo/lapis/issues/648", empty_list_is_object
    ),
    "a create returns a used id of a trigger": lambda: Reported(
        "2-id-assigned", "https://github.com/FransBouma/Massive/issues/18", id_of_trigger(6)
    ),
    "a create returns a new id of a trigger": lambda: Reported(
        "4.2-kept", "https://github.com/FransBouma/Massive/issues/18", id_of_trigger(5_000)
    ),
    "ids are seconds": by_the_clock,
    "lists show archived animals": lambda: Reported("4.3-get", "https://github.com/quru/qis/issues/12", archive_sold),
    "names end before an emoji": lambda: Reported(
        "2-name-text",
        "https://github.com/mozilla/fxa-profile-server/issues/186",
        in_pets("name", end_before_emoji),
        words="in its whole length",
    ),
    "names are padded": lambda: Reported(
        "2-name-echoed",
        "https://github.com/seven-technologies-cloud/pythonrest/issues/10",
        in_pets("name", pad),
        words="with the same blanks",
    ),
    "two escapes are two letters": lambda: Reported(
        "2-name-text", "https://github.com/SBJson/SBJson/issues/41", before=halves_are_letters
    ),
    "dollar signs have a meaning": lambda: Reported(
        "2-name-backslash", "https://github.com/discourse/discourse/pull/8100", in_pets("name", fill_in_dollars)
    ),
    "quotes are curly": lambda: Reported(
        "2-name-html", "https://github.com/Automattic/stories-android/issues/503", in_pets("name", curl_quotes)
    ),
    "responses are in UTF-16": lambda: Reported(
        "1-json-body", "https://github.com/Particular/ServiceControl/issues/2870", as_utf16, words="in UTF-8, unlike"
    ),
    "responses are HAL": lambda: Reported(
        "1-media-type", "https://github.com/spring-projects/spring-hateoas/issues/1164", as_hal
    ),
    "ids are beyond int64": lambda: Reported(
        "2-pet-id", "https://github.com/qdrant/qdrant-client/issues/936", beyond_int64, read_beyond_int64
    ),
    "a line break behind an id is ignored": lambda: Reported(
        "4.3-asked-for", "https://github.com/laravel/framework/pull/45790", before=ignore_line_break
    ),
    "broken JSON is a page": lambda: Reported(
        "7-400-error", "https://github.com/expressjs/express/issues/4570", page_for_broken_json
    ),
    "a cache ignores the method": lambda: Reported(
        "2-pet-object", "https://github.com/tavis-software/Tavis.HttpCache/issues/18", CachedByAddress().change
    ),
    "a cache keeps numbers as texts": lambda: Reported(
        "2-pet-category", "https://github.com/laravel/framework/issues/31345", CachedNumbers(as_texts=True).change
    ),
    "a cache keeps escaped texts": lambda: Reported(
        "4.2-same-animal", "https://github.com/rails/rails/issues/36956", EscapedInCache().change
    ),
    "a cache keeps a refused key": lambda: Reported(
        "5-key",
        "https://github.com/cloud-gov/pages-core/issues/978",
        CachedRefusals(30).change,
        words="a cache may be the cause",
    ),
    "a cache keeps a refused key and does not say so": lambda: Reported(
        "5-key",
        "https://github.com/cloud-gov/pages-core/issues/978",
        CachedRefusals(30, tells=False).change,
        words="a cache may keep a 401",
    ),
}


def _used_names() -> Refuses:
    used: set[str] = set()
    return lambda turn: refuse_names_in_any_case(turn, used)


# What changes the response, what sees the request before, and the behaviour of the fake.
TWINS: dict[str, Callable[[], tuple[Change, Refuses | None, Behaviour | None]]] = {
    "animals have members with numbers": lambda: (number_members, None, None),
    "lists end with their first status": lambda: (only_first_status, None, None),
    "JSON has blanks at its end": lambda: (lambda turn: as_stream(turn, "]\r\n" + 512 * " "), None, None),
    "an operator removes animals": lambda: (CleanedUp().change, None, None),
    "workers have blocks of ids": lambda: (number_by_worker, read_numbers_of_workers, None),
    "a used name in any case is refused": lambda: (nothing, _used_names(), None),
    "an unknown category is 409": lambda: (nothing, lambda turn: 409 if unknown_category(turn) else None, None),
    "a further field comes later": lambda: (rank_in_reads, None, None),
    "a further field is left out if it is 0": lambda: (with_rank, None, None),
    "filters are in any case": lambda: (nothing, filter_in_any_case, None),
    "empty parameters are absent": lambda: (nothing, empty_parameters_are_absent, None),
    "a create returns arrays as well": lambda: (with_arrays, None, None),
    "other media types are 415": lambda: (nothing, refuse_other_types, None),
    "negative ids are 400": lambda: (nothing, refuse_negative_ids, None),
    "errors have details": lambda: (with_details, None, None),
    "errors have a list of errors": lambda: (with_list_of_errors, None, None),
    "a refused key has a charset": lambda: (refuse_with_charset, None, None),
    "errors are compressed": lambda: (compress_errors_and_say_so, None, None),
    "a cache keeps a refused key apart": lambda: (CachedRefusals(30, by_key=True).change, None, None),
    "a filter skips animals": lambda: (skip_every_third, None, None),
    "a create names an audit": lambda: (name_id_of_trigger, None, None),
    "ids are negative": lambda: (count_down, read_negative_ids, None),
    "animals have a padded code": lambda: (with_padded_code, None, None),
    "signs of HTML are numbers": lambda: (number_html, None, None),
    "names with dollar signs are refused": lambda: (nothing, refuses_names(lambda name: "$" not in name), None),
    "control letters in a path are 400": lambda: (nothing, refuse_control_letters, None),
    "errors have an empty message": lambda: (without_message, None, None),
    "a cache keeps animals": lambda: (CachedNumbers(as_texts=False).change, None, None),
}
