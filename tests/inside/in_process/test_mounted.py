"""The fake mounted under a path of another application: addresses that it writes can be asked for."""

from __future__ import annotations

import warnings
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.core.tenant import Tenant
from petstore_mock.journal.rendering import render_curl

with warnings.catch_warnings():  # newer ones prefer a successor of httpx, and say so
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

REX = {"name": "Rex", "categoryId": 1}


def _nothing(_environ: Any, start_response: Any) -> list[bytes]:  # noqa: ANN401  # PEP 3333
    start_response("404 Not Found", [])
    return []


def client_of(petstore: PetStoreMock, carrier: str) -> httpx.Client:
    if carrier == "wsgi":
        transport = httpx.WSGITransport(app=DispatcherMiddleware(_nothing, {"/a b": petstore.app}))
        return httpx.Client(transport=transport, base_url="http://testserver")
    return TestClient(Starlette(routes=[Mount("/a b", app=petstore.asgi)]))


@pytest.mark.parametrize("carrier", ["wsgi", "asgi"])
@pytest.mark.parametrize("world", ["", "/w/one"])
def test_addresses_begin_with_the_path_that_it_is_mounted_at(carrier: str, world: str) -> None:
    petstore = PetStoreMock(behaviour=Behaviour(location_header="present", paging_headers="next_link"), self_check=True)
    tenant = petstore.tenant
    if world:
        tenant = Tenant(petstore.host.worlds, tenant.world.schemas, name="one", behaviour=petstore.behaviour)
    with client_of(petstore, carrier) as client:
        client.headers["Authorization"] = f"Bearer {tenant.key}"
        created = [client.post(f"/a%20b{world}/v1/pets", json=REX) for _ in range(2)]
        assert [answer.headers["Location"] for answer in created] == [f"/a%20b{world}/v1/pets/{n}" for n in (1, 2)]
        assert client.get(created[1].headers["Location"]).json() == created[1].json()
        listed = client.get(f"/a%20b{world}/v1/pets?limit=1")
        assert {link["rel"]: link["url"] for link in listed.links.values()} == {
            "first": f"/a%20b{world}/v1/pets?limit=1",
            "next": f"/a%20b{world}/v1/pets?limit=100",
        }
    last = tenant.entries[-1]
    assert last.target == "/v1/pets?limit=1", "the journal's paths begin with the base path"
    assert f"http://testserver/a%20b{world}/v1/pets?limit=1" in str(render_curl(last))


def test_slash_at_the_end_of_the_mount_is_none_of_the_address() -> None:
    """``//v1`` would be another host (RFC 3986 §4.2)."""
    petstore = PetStoreMock(behaviour=Behaviour(location_header="present"))
    transport = httpx.WSGITransport(app=petstore.app, script_name="/")
    with httpx.Client(transport=transport, headers=petstore.headers) as client:
        assert client.post("http://testserver/v1/pets", json=REX).headers["Location"] == "/v1/pets/1"
