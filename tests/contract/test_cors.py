"""The header fields that let pages of other origins use the service (Fetch Standard, CORS protocol)."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, faults
from tests.client import JSON, REX, Client, Response
from tests.contract.conftest import Serve

PAGE = "http://localhost:5173"
ORIGIN = ("Origin", PAGE)
EXPOSED = {"retry-after", "link", "deprecation", "sunset", "www-authenticate", "location", "x-total-count"}


@pytest.fixture
def shop(serve: Serve) -> Client:
    """Return a client of a fake that pages of two origins may use."""
    return serve(cors=["https://shop.example", PAGE])


def names(response: Response, field: str) -> set[str]:
    return {name.strip().lower() for name in (response.header(f"Access-Control-{field}") or "").split(",")}


def preflight(client: Client, path: str = "/v1/pets", method: str = "POST", origin: str = PAGE) -> Response:
    asked = ("Access-Control-Request-Method", method), ("Access-Control-Request-Headers", "authorization,content-type")
    return client.send("OPTIONS", path, [("Origin", origin), *asked])


def assert_shown(response: Response, origin: str = PAGE) -> None:
    """Assert that a browser would show the whole response to a page."""
    assert response.header("Access-Control-Allow-Origin") == origin
    assert names(response, "Expose-Headers") >= EXPOSED
    assert response.header("Vary") == "Origin"
    assert response.header("Access-Control-Allow-Credentials") is None


def assert_not_shown(response: Response) -> None:
    assert not [name for name, _ in response.fields if name.lower().startswith("access-control-")]


def test_a_preflight_needs_no_key_and_names_the_methods_of_its_path(shop: Client) -> None:
    response = preflight(shop)
    assert (response.status, shop.refusal, response.header("Vary")) == (204, None, "Origin")
    assert response.header("Access-Control-Allow-Origin") == PAGE
    assert names(response, "Allow-Methods") == {"get", "head", "options", "post"}
    assert names(response, "Allow-Headers") >= {"authorization", "content-type"}
    allow = shop.send("OPTIONS", "/v1/pets/7").header("Allow") or ""
    assert "POST" not in allow
    assert names(preflight(shop, "/v1/pets/7"), "Allow-Methods") == {*allow.lower().split(", ")}
    assert preflight(shop, "/v1/dogs", "GET").status == 204, "the page must see the 404"
    response = shop.send("OPTIONS", "/v1/pets", [ORIGIN])
    assert response.header("Allow") == "GET, HEAD, OPTIONS, POST"
    assert response.header("Access-Control-Allow-Methods") is None, "the request is no preflight"


# Method, path, fields in addition to the origin, body; then the expected status.
AUTH = ("Authorization", "Bearer {}")
REQUESTS: list[tuple[str, str, list[tuple[str, str]], bytes | None, int]] = [
    ("GET", "/v1/pets", [AUTH], None, 200),
    ("POST", "/v1/pets", [AUTH, JSON], REX, 201),
    ("GET", "/v1/pets/1", [AUTH], None, 200),
    ("GET", "/v1/dogs", [], None, 404),
    ("GET", "/v1/pets", [], None, 401),
    ("GET", "/v1/pets", [("Authorization", "Bearer wrong")], None, 401),
    ("POST", "/v1/pets", [AUTH, JSON], b"{", 400),
    ("POST", "/v1/pets", [AUTH, JSON], b"x" * 2_000_000, 413),
    ("GET", "/v1/pets/99", [AUTH], None, 404),
    ("DELETE", "/v1/pets", [AUTH], None, 405),
]


def test_an_allowed_page_sees_responses_and_errors(shop: Client) -> None:
    for method, path, fields, body, status in REQUESTS:
        head = [(name, value.format(shop.petstore.api_key)) for name, value in fields]
        for origin in (PAGE, "https://shop.example"):
            response = shop.send(method, path, [("Origin", origin), *head], body)
            assert response.status == status
            assert_shown(response, origin)


def test_another_page_sees_nothing(shop: Client, client: Client) -> None:
    """Vary keeps caches from giving this response to an allowed page."""
    for origin in ("http://localhost", "http://LOCALHOST:5173", "https://localhost:5173", "null", "*", f"{PAGE}/", ""):
        response = shop.authed("GET", "/v1/pets", None, ("Origin", origin))
        assert (response.status, response.header("Vary")) == (200, "Origin")
        for hidden in (response, preflight(shop, origin=origin), client.authed("GET", "/v1/pets", None, ORIGIN)):
            assert_not_shown(hidden)
    assert client.list().header("Vary") is None, "by default no response has CORS fields"


def test_an_allowed_page_sees_the_refusal_of_a_revoked_key_and_an_inner_world(shop: Client) -> None:
    key = shop.petstore.issue_key()
    shop.petstore.reset()  # the reset revokes the key
    response = shop.send("GET", "/v1/pets", [ORIGIN, ("Authorization", f"Bearer {key}")])
    assert response.status == 401
    assert_shown(response)
    with shop.petstore.fresh() as inner:
        assert_shown(shop.send("GET", "/v1/pets", [ORIGIN, *inner.headers.items()]))


@pytest.mark.parametrize(
    "fault",
    [
        *(faults.rate_limited(3), faults.unauthorized(), faults.respond(403, body=b"no")),
        *(faults.malformed_json(), faults.wrong_content_type(), faults.delay(0.001)),
    ],
    ids=str,
)
def test_an_allowed_page_sees_faults(shop: Client, fault: faults.Fault) -> None:
    shop.petstore.inject(fault, times=1)
    assert_shown(shop.bare("GET", "/v1/pets", [ORIGIN, *shop.petstore.headers.items()]))
    assert shop.last.response_headers["access-control-allow-origin"] == PAGE


def test_any_page_may_be_allowed(serve: Serve) -> None:
    client = serve(cors="*")
    for origin in ("http://a.example", "null"):
        response = client.authed("GET", "/v1/pets", None, ("Origin", origin))
        assert response.header("Access-Control-Allow-Origin") == "*"
        assert response.header("Vary") is None, "the response is the same for every origin"
        allowed = names(preflight(client, origin=origin), "Allow-Headers")
        assert allowed >= {"authorization", "content-type"}, "an asterisk does not cover Authorization"


WRONG: list[object] = [
    *("http://localhost:5173", 5173, ["http://localhost:5173/shop"], ["https://shop.example:443"], [5173]),
    *(["localhost:5173"], ["http://[::1"], ["http://localhost:port"], ["http://LOCALHOST:5173"]),
    ["http://user@shop.example"],
]


@pytest.mark.parametrize("cors", WRONG, ids=str)
def test_an_origin_that_no_browser_sends_is_refused(cors: Any) -> None:
    PetStoreMock(cors=["http://localhost", "https://a.example:8443", "http://[::1]:5173", "null", "*"])
    with pytest.raises(PetStoreMockError, match="origin"):
        PetStoreMock(cors=cors)
