"""Services that break one clause each: the clause is named, and so is what was sent and what came."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from petstore_mock import PetStoreMock
from tests.inside.verify.asking import ENOUGH, Anything, ask, broken, served

if TYPE_CHECKING:
    from collections.abc import Callable


class Exchange:
    """What a middleware may change of an exchange, before and after the fake has answered."""

    def __init__(self, environ: dict[str, Anything]) -> None:
        self.environ = environ
        self.status = 0
        self.headers: dict[str, str] = {}
        self.value: Anything = None
        self.query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
        path = environ["PATH_INFO"].removeprefix("/v1")
        methods = {("GET", "/pets"): "list", ("POST", "/pets"): "create"}
        self.kind = methods.get((environ["REQUEST_METHOD"], path), "get" if path.startswith("/pets/") else "")
        self.body = b""

    @property
    def is_error(self) -> bool:
        return self.status >= 400


def breaking(
    petstore: PetStoreMock, change: Callable[[Exchange], None], before: Callable[[Exchange], None] | None
) -> Anything:
    """Return the fake's app with its answers changed."""

    def app(environ: dict[str, Anything], start_response: Anything) -> list[bytes]:
        exchange = Exchange(environ)
        if before is not None:
            before(exchange)
        seen: list[Anything] = []

        def start(status: str, headers: Anything, _: object = None) -> Anything:
            seen.append((status, headers))

        answer = petstore.app(environ, start)
        body = b"".join(answer)
        status, headers = seen[0]
        exchange.status, exchange.headers = int(status[:3]), dict(headers)
        exchange.value = json.loads(body) if body else None
        change(exchange)
        text = json.dumps(exchange.value).encode() if exchange.value is not None else exchange.body
        exchange.headers["Content-Length"] = str(len(text))
        start_response(f"{exchange.status} X", list(exchange.headers.items()))
        return [text]

    return app


def each_pet(function: Callable[[dict[str, Anything]], object]) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        if not exchange.is_error:
            for pet in exchange.value if isinstance(exchange.value, list) else [exchange.value]:
                if isinstance(pet, dict):
                    function(pet)

    return change


def each_error(function: Callable[[dict[str, Anything]], object]) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        if exchange.is_error:
            function(exchange.value)

    return change


def when(kind: str, function: Callable[[Exchange], object], *statuses: int) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        if exchange.kind == kind and (not statuses or exchange.status in statuses):
            function(exchange)

    return change


def answers(status: int, value: Anything = ...) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        exchange.status = status
        if value is not ...:
            exchange.value = value

    return change


def nothing(_: Exchange) -> None: ...


def set_query(**changes: str | None) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        if exchange.kind == "list":
            query = {**exchange.query, **changes}
            text = "&".join(f"{name}={value}" for name, value in query.items() if value is not None)
            exchange.environ["QUERY_STRING"] = text
            exchange.environ["REQUEST_URI"] = f"/v1/pets?{text}"

    return change


def limit_off_by_one(exchange: Exchange) -> None:
    if (
        exchange.kind == "list"
        and (exchange.query.get("limit") or "").isdecimal()
        and int(exchange.query["limit"]) in range(1, 100)
    ):
        set_query(limit=str(int(exchange.query["limit"]) + 1))(exchange)


def limit_100_refused(exchange: Exchange) -> None:
    if exchange.query.get("limit") == "100":
        exchange.status, exchange.value = 400, {"code": "x", "message": "x", "status": 400}


def let_in(petstore: PetStoreMock, kind: str) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        if exchange.kind == kind:
            exchange.environ["HTTP_AUTHORIZATION"] = f"Bearer {petstore.api_key}"

    return change


def empty_when_filtered(exchange: Exchange) -> None:
    if exchange.kind == "list" and "status" in exchange.query and exchange.status == 200:
        exchange.value = []


def without_twins(exchange: Exchange) -> None:
    if exchange.kind == "list" and exchange.status == 200 and exchange.value:
        exchange.value.insert(0, dict(exchange.value[-1]))
        exchange.value = exchange.value[: max(2, len(exchange.value) - 1)]


def first_id_again(exchange: Exchange) -> None:
    if exchange.kind == "create" and exchange.status == 201:
        exchange.value["id"] = 1


def rounded(pet: dict[str, Anything]) -> None:
    pet["categoryId"] = int(float(pet["categoryId"]))


def ascii_only(pet: dict[str, Anything]) -> None:
    pet["name"] = pet["name"].encode("ascii", "replace").decode()


def repaired(field: str, value: Anything) -> Callable[[Exchange], None]:
    """Create an animal although the body is wrong in one field."""

    def change(exchange: Exchange) -> None:
        if exchange.kind != "create":
            return
        import io  # noqa: PLC0415

        text = exchange.environ["wsgi.input"].read(int(exchange.environ["CONTENT_LENGTH"] or 0))
        try:
            sent = json.loads(text)
        except ValueError:
            sent = None
        if isinstance(sent, dict):
            allowed = {
                "name": lambda v: isinstance(v, str),
                "categoryId": lambda v: type(v) is int and v < 2**63,
                "status": lambda v: v in ("available", "pending", "sold"),
            }
            if (field in sent and not allowed[field](sent[field])) or (field not in sent and field != "status"):
                sent[field] = value
            text = json.dumps(sent).encode()
        exchange.environ["wsgi.input"] = io.BytesIO(text)
        exchange.environ["CONTENT_LENGTH"] = str(len(text))

    return change


# Its name, the clause that it breaks, what is changed after the fake has answered, and what before.
BROKEN: list[tuple[str, str, Anything, Anything]] = [
    ("the limit is one too many", "4.1-limit-counts", nothing, limit_off_by_one),
    ("the default is 21", "4.1-limit-default", nothing, lambda e: "limit" in e.query or set_query(limit="21")(e)),
    ("limit=100 is refused", "4.1-limit-maximum", limit_100_refused, None),
    ("the filter is ignored", "4.1-status-filter", nothing, set_query(status=None)),
    ("the filter finds nothing", "4.1-status-finds", empty_when_filtered, None),
    ("a list is empty", "4.1-list-finds", when("list", lambda e: e.query or answers(200, [])(e), 200), None),
    ("a list is an object", "2-pets-array", when("list", lambda e: answers(200, {"items": e.value})(e), 200), None),
    ("a list answers 206", "4.1-list", when("list", answers(206), 200), None),
    ("an animal comes twice", "2-id-unique", without_twins, None),
    ("ids are text", "2-pet-id", each_pet(lambda pet: pet.update(id=str(pet["id"]))), None),
    ("ids are beyond int64", "2-pet-id", each_pet(lambda pet: pet.update(id=pet["id"] + 2**63)), None),
    ("names are missing", "2-pet-name", each_pet(lambda pet: pet.pop("name")), None),
    ("categories are fractions", "2-pet-category", each_pet(lambda pet: pet.update(categoryId=0.5)), None),
    (
        "categoryId is called category_id",
        "2-pet-category",
        each_pet(lambda p: p.update(category_id=p.pop("categoryId"))),
        None,
    ),
    (
        "the status is upper case",
        "2-pet-status",
        each_pet(lambda p: "status" in p and p.update(status=p["status"].upper())),
        None,
    ),
    ("the status is null", "2-pet-status", each_pet(lambda p: p.setdefault("status", None)), None),
    ("large numbers are rounded", "2-category-int64", each_pet(rounded), None),
    ("letters are lost", "2-name-text", each_pet(ascii_only), None),
    ("the first id comes again", "2-id-assigned", first_id_again, None),
    ("a create answers 200", "4.2-created", when("create", answers(200), 201), None),
    ("the created name is another", "2-name-echoed", when("create", lambda e: e.value.update(name="x"), 201), None),
    (
        "the created category is another",
        "2-category-echoed",
        when("create", lambda e: e.value.update(categoryId=9), 201),
        None,
    ),
    (
        "the created status is another",
        "2-status-echoed",
        when("create", lambda e: e.value.update(status="sold"), 201),
        None,
    ),
    ("a missing name is let in", "4.2-name-required", nothing, repaired("name", "made up")),
    ("a number passes for a name", "4.2-name-type", nothing, repaired("name", "5")),
    ("a missing category is let in", "4.2-category-required", nothing, repaired("categoryId", 1)),
    ("text passes for a category", "4.2-category-type", nothing, repaired("categoryId", 1)),
    ("a fraction passes for a category", "4.2-category-fraction", nothing, repaired("categoryId", 1)),
    ("2^63 passes for a category", "4.2-category-range", nothing, repaired("categoryId", 2**63 - 1)),
    ("an unknown status is let in", "4.2-status-value", nothing, repaired("status", "sold")),
    ("a refusal is 422", "4.2-name-required", when("create", answers(422), 400), None),
    ("an unknown animal is 200 with null", "4.3-absent", when("get", answers(200, "null"), 404), None),
    ("an unknown animal is 400", "4.3-absent", when("get", answers(400), 404), None),
    (
        "a known animal is 404",
        "4.3-get",
        when("get", answers(404, {"code": "x", "message": "x", "status": 404}), 200),
        None,
    ),
    ("another animal comes", "4.3-asked-for", when("get", lambda e: e.value.update(id=e.value["id"] + 1), 200), None),
    ("a get shows another name", "4.3-same-animal", when("get", lambda e: e.value.update(name="x"), 200), None),
    ("the Error's code is a number", "2-error-code", each_error(lambda error: error.update(code=5)), None),
    ("the Error has no message", "2-error-message", each_error(lambda error: error.pop("message")), None),
    ("the Error's status is text", "2-error-status", each_error(lambda e: e.update(status=str(e["status"]))), None),
    ("the Error's status is another", "7-status", each_error(lambda error: error.update(status=500)), None),
    (
        "an Error is called text/html",
        "7-401-error",
        lambda e: e.is_error and e.headers.update({"Content-Type": "text/html"}),
        None,
    ),
    ("an Error is wrapped", "7-404-error", lambda e: e.status == 404 and answers(404, {"error": e.value})(e), None),
    ("answers are called text/plain", "1-media-type", lambda e: e.headers.update({"Content-Type": "text/plain"}), None),
    ("a refused key is 403", "5-unknown-key", lambda e: e.status == 401 and answers(403)(e), None),
    (
        "the list is at another address",
        "1-base-address",
        answers(404, {"code": "x", "message": "x", "status": 404}),
        None,
    ),
]
LET_IN = [
    ("list", "5-unknown-key"),
    ("get", "5-unknown-key-get"),
    ("create", "5-unknown-key-create"),
    ("list", "5-scheme"),
]


@pytest.mark.untraced
@pytest.mark.parametrize(("clause", "change", "before"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_what_a_service_breaks_is_named(clause: str, change: Anything, before: Anything) -> None:
    with PetStoreMock(seed=30) as petstore, served(breaking(petstore, change, before)) as url:
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert clause in broken(verdict), verdict
    assert verdict.exit_code == 1
    (found,) = [one for one in verdict.broken if one.id == clause]
    assert found.detail.partition(": ")[2].startswith("expected ")
    assert "; came " in found.detail
    assert found.curl.startswith("curl -i ")
    assert petstore.api_key not in str(verdict)


@pytest.mark.parametrize(("kind", "clause"), LET_IN)
def test_a_service_that_lets_any_key_in_is_told(kind: str, clause: str) -> None:
    with PetStoreMock(seed=30) as petstore, served(breaking(petstore, nothing, let_in(petstore, kind))) as url:
        verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert clause in broken(verdict), verdict


def test_a_created_animal_that_is_not_kept_is_told() -> None:
    with PetStoreMock(seed=30) as petstore:

        def forget(exchange: Exchange) -> None:
            if exchange.kind == "create" and exchange.status == 201:
                petstore.remove(exchange.value["id"])

        with served(breaking(petstore, forget, None)) as url:
            verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert "4.2-kept" in broken(verdict), verdict


def test_a_refused_create_that_is_kept_is_told() -> None:
    with PetStoreMock(seed=3) as petstore:

        def keep(exchange: Exchange) -> None:
            if exchange.kind == "create" and exchange.status == 400 and "name" in str(petstore.journal.last.body):
                sent = petstore.journal.last.body
                try:
                    name = json.loads(sent)["name"]
                except (ValueError, KeyError, TypeError):
                    return
                if isinstance(name, str):
                    petstore.seed(name=name)

        with served(breaking(petstore, keep, None)) as url:
            verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
    assert "4.2-refused-not-kept" in broken(verdict), verdict


def test_a_valid_key_that_one_operation_refuses_is_told_of_it() -> None:
    refused = {"code": "x", "message": "x", "status": 401}
    for kind, clause in (("list", "4.1-list"), ("get", "4.3-get"), ("create", "4.2-created")):
        with (
            PetStoreMock(seed=30) as petstore,
            served(breaking(petstore, when(kind, answers(401, refused)), None)) as url,
        ):
            verdict = ask(url, petstore.api_key, allow_create=ENOUGH)
        assert clause in broken(verdict), verdict
