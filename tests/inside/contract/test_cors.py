"""What a browser is told about pages of other origins (Fetch Standard, CORS protocol), over all doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petstore_mock import faults
from tests.inside.contract.harness import last_entry

if TYPE_CHECKING:
    from tests.inside.contract.conftest import Serve
    from tests.inside.contract.harness import Answer, Service

PAGE = "http://localhost:5173"
ORIGIN = ("Origin", PAGE)
EXPOSED = {"retry-after", "link", "deprecation", "sunset", "www-authenticate", "location", "x-total-count"}
REX = b'{"name":"Rex","categoryId":1}'


@pytest.fixture
def shop(serve: Serve) -> Service:
    """Give a service that one page may use."""
    return serve(cors=["https://shop.example", PAGE])


def names(value: str | None) -> set[str]:
    return {name.strip().lower() for name in (value or "").split(",")}


def preflight(service: Service, path: str = "/v1/pets", method: str = "POST", origin: str = PAGE) -> Answer:
    asked = [
        ("Access-Control-Request-Method", method),
        ("Access-Control-Request-Headers", "authorization,content-type"),
    ]
    return service.send("OPTIONS", path, [("Origin", origin), *asked])


def assert_shown(answer: Answer, origin: str = PAGE) -> None:
    """Hold an answer against what a browser demands before a page may see all of it."""
    assert answer.header("Access-Control-Allow-Origin") == origin
    assert names(answer.header("Access-Control-Expose-Headers")) == EXPOSED
    assert answer.header("Vary") == "Origin"
    assert not answer.all("Access-Control-Allow-Credentials")


def assert_not_shown(answer: Answer) -> None:
    assert not [name for name, _ in answer.fields if name.lower().startswith("access-control-")]


def test_by_default_no_answer_says_a_word_to_browsers(service: Service) -> None:
    for answer in (service.authed("GET", "/v1/pets", None, ORIGIN), preflight(service)):
        assert_not_shown(answer)
        assert not answer.all("Vary")


def test_a_preflight_is_answered_without_a_key(shop: Service) -> None:
    answer = preflight(shop)
    assert answer.status == 204
    assert answer.header("Access-Control-Allow-Origin") == PAGE
    assert names(answer.header("Access-Control-Allow-Methods")) == {"get", "head", "options", "post"}
    assert names(answer.header("Access-Control-Allow-Headers")) == {"authorization", "content-type"}
    assert answer.header("Vary") == "Origin"
    assert last_entry(shop).condition is None


def test_a_preflight_names_the_methods_of_its_path(shop: Service) -> None:
    assert names(preflight(shop, "/v1/pets/7").header("Access-Control-Allow-Methods")) == {"get", "head", "options"}


def test_a_preflight_of_an_unknown_path_lets_the_page_see_the_404(shop: Service) -> None:
    assert preflight(shop, "/v1/dogs", "GET").status == 204
    answer = shop.send("GET", "/v1/dogs", [ORIGIN])
    assert answer.status == 404
    assert_shown(answer)


def test_a_preflight_for_a_page_that_is_not_allowed_allows_nothing(shop: Service) -> None:
    answer = preflight(shop, origin="http://localhost:5174")
    assert_not_shown(answer)
    assert answer.header("Vary") == "Origin"


def test_options_without_a_question_stay_what_they_are(shop: Service) -> None:
    answer = shop.send("OPTIONS", "/v1/pets", [ORIGIN])
    assert answer.header("Allow") == "GET, HEAD, OPTIONS, POST"
    assert not answer.all("Access-Control-Allow-Methods")


@pytest.mark.parametrize("origin", [PAGE, "https://shop.example"])
def test_an_allowed_page_sees_answers(shop: Service, origin: str) -> None:
    for answer in (
        shop.authed("GET", "/v1/pets", None, ("Origin", origin)),
        shop.authed("POST", "/v1/pets", REX, ("Content-Type", "application/json"), ("Origin", origin)),
        shop.authed("GET", "/v1/pets/1", None, ("Origin", origin)),
    ):
        assert answer.status in {200, 201}
        assert_shown(answer, origin)


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://LOCALHOST:5173", "https://localhost:5173", "null", "*", f"{PAGE}/", ""]
)
def test_another_page_is_answered_and_sees_nothing(shop: Service, origin: str) -> None:
    answer = shop.authed("GET", "/v1/pets", None, ("Origin", origin))
    assert answer.status == 200
    assert_not_shown(answer)
    assert answer.header("Vary") == "Origin"


def test_an_answer_to_no_page_varies_by_origin_too(shop: Service) -> None:
    answer = shop.list()  # a cache that kept it for a page would hide it from that page
    assert_not_shown(answer)
    assert answer.header("Vary") == "Origin"


def test_errors_are_shown(shop: Service) -> None:
    json_type = ("Content-Type", "application/json")
    for answer, status in (
        (shop.send("GET", "/v1/pets", [ORIGIN]), 401),
        (shop.send("GET", "/v1/pets", [ORIGIN, ("Authorization", "Bearer wrong")]), 401),
        (shop.authed("POST", "/v1/pets", b"{", json_type, ORIGIN), 400),
        (shop.authed("POST", "/v1/pets", b"x" * 2_000_000, json_type, ORIGIN), 413),
        (shop.authed("GET", "/v1/pets/99", None, ORIGIN), 404),
        (shop.authed("DELETE", "/v1/pets", None, ORIGIN), 405),
    ):
        assert answer.status == status
        assert_shown(answer)


def test_a_key_of_a_finished_test_is_refused_in_sight(shop: Service) -> None:
    old = shop.petstore.headers
    shop.petstore.reset()
    key = shop.petstore.issue_key()
    shop.petstore.reset()  # which retires it
    assert_shown(shop.send("GET", "/v1/pets", [ORIGIN, ("Authorization", f"Bearer {key}")]))
    assert_shown(shop.send("GET", "/v1/pets", [ORIGIN, *old.items()]))


@pytest.mark.parametrize(
    "fault",
    [
        faults.rate_limited(3),
        faults.unauthorized(),
        faults.respond(403, body=b"no"),
        faults.malformed_json(),
        faults.wrong_content_type(),
    ],
    ids=str,
)
def test_faults_are_shown(shop: Service, fault: faults.Fault) -> None:
    shop.petstore.inject(fault, times=1)
    answer = shop.bare("GET", "/v1/pets", [ORIGIN, *shop.petstore.headers.items()])
    assert_shown(answer)
    assert last_entry(shop).response_headers["access-control-allow-origin"] == PAGE


def test_a_late_answer_is_shown(serve_wire: Serve) -> None:
    service = serve_wire(cors=[PAGE])
    service.petstore.inject(faults.delay(0.001), times=1)
    assert_shown(service.authed("GET", "/v1/pets", None, ORIGIN))


def test_what_an_expectation_answers_is_shown_unless_it_says_otherwise(serve_wire: Serve) -> None:
    service = serve_wire(cors=[PAGE])
    service.petstore.httpserver.expect_oneshot_request("/v1/store/orders").respond_with_json([])
    own = {"Access-Control-Allow-Origin": "https://other.example"}
    service.petstore.httpserver.expect_request("/v1/store/categories").respond_with_json([], headers=own)
    assert preflight(service, "/v1/store/orders", "GET").status == 204
    assert_shown(service.bare("GET", "/v1/store/orders", [ORIGIN]))
    answer = service.bare("GET", "/v1/store/categories", [ORIGIN])
    assert answer.all("Access-Control-Allow-Origin") == ["https://other.example"]


def test_any_page_may_be_allowed(serve: Serve) -> None:
    service = serve(cors="*")
    for origin in ("http://a.example", "null"):
        answer = service.authed("GET", "/v1/pets", None, ("Origin", origin))
        assert answer.header("Access-Control-Allow-Origin") == "*"
        assert not answer.all("Vary")  # the answer is the same for everybody
        allowed = preflight(service, origin=origin).header("Access-Control-Allow-Headers")
        assert allowed == "authorization, content-type"


def test_an_inner_world_is_shown_as_well(shop: Service) -> None:
    with shop.petstore.fresh() as inner:
        assert_shown(shop.send("GET", "/v1/pets", [ORIGIN, *inner.headers.items()]))
