"""Calls without a socket: our WSGI app, our sessions for client libraries, and libraries that patch clients."""

from __future__ import annotations

import io
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from benchmarks.bodies import ANIMALS, KEY, NEW_PET, bodies, call, environ
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import in_turns, isolated
from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["measure", "timings"]

_REACH: Final = {"list": 25.0, "create": 40.0}  # µs
_US: Final = 1e6
_URL: Final = "http://petstore.test/v1/pets"


def _start_response(*_: object) -> Any:  # noqa: ANN401  # PEP 3333's write(), never used
    return None


def _wsgi() -> dict[str, Callable[[], object]]:
    """Return calls of the app, as a server makes them. The journal keeps its usual number of requests."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    listing, getting = environ("GET", "/v1/pets", KEY), environ("GET", "/v1/pets/1", KEY)
    creating = environ("POST", "/v1/pets", KEY, NEW_PET)
    for asked in (listing, getting, creating):
        call(app, asked)  # each is a success

    def create() -> object:
        creating["wsgi.input"] = io.BytesIO(NEW_PET)
        return app(creating, _start_response)

    return {
        "petstore_mock: WSGI, list": lambda: app(listing, _start_response),
        "petstore_mock: WSGI, get": lambda: app(getting, _start_response),
        "petstore_mock: WSGI, create": create,
    }


def _with_clients() -> tuple[dict[str, Callable[[], object]], list[str]]:
    """Return calls through requests and httpx, to our app and to libraries that patch requests and httpx."""
    import httpx  # noqa: PLC0415  # of the bench group
    import requests  # noqa: PLC0415

    calls: dict[str, Callable[[], object]] = {}
    notes = []
    headers = {"Authorization": f"Bearer {KEY}"}
    app: Any = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    ours = httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://petstore.test", headers=headers)
    calls["petstore_mock: httpx over WSGI, list"] = lambda: ours.get("/v1/pets")
    petstore = PetStoreMock(seed=ANIMALS, api_key=KEY)
    own = petstore.requests_session()
    own.trust_env = False
    calls["petstore_mock: requests_session(), list"] = lambda: own.get(_URL, headers=headers)
    assert ours.get("/v1/pets").content == own.get(_URL, headers=headers).content == bodies().listed
    body = bodies().listed
    if find_spec("respx"):
        import respx  # noqa: PLC0415

        router = respx.Router()
        router.get(_URL).mock(return_value=httpx.Response(200, content=body))
        patched = httpx.Client(transport=httpx.MockTransport(router.handler), headers=headers)
        calls["respx: httpx, list"] = lambda: (router.calls.reset(), patched.get(_URL))
    else:
        notes.append("respx left out: not installed.")
    if find_spec("responses"):
        import responses  # noqa: PLC0415

        mock = responses.RequestsMock()
        mock.start()
        mock.add("GET", _URL, body=body, content_type="application/json")
        session = requests.Session()
        session.trust_env = False
        calls["responses: requests Session, list"] = lambda: (mock.calls.reset(), session.get(_URL, headers=headers))
    else:
        notes.append("responses left out: not installed.")
    return calls, notes


def timings(*, rounds: int) -> dict[str, Any]:
    """Return the seconds of each call, by name, and notes. Call this in a new process."""
    calls, notes = _with_clients()
    return {"seconds": in_turns({**_wsgi(), **calls}, rounds=rounds), "notes": notes}


def measure(plan: Plan) -> Result:
    """Measure calls in process."""
    measured = isolated("in_process:timings", rounds=plan.pick(60, 8))
    taken = {name: seconds * _US for name, seconds in measured["seconds"].items()}
    listed, created = taken["petstore_mock: WSGI, list"], taken["petstore_mock: WSGI, create"]
    result = Result(notes=list(measured["notes"]))
    result.figures["in_process"] = Figure(
        f"{listed:.1f} µs, {created:.1f} µs", listed <= _REACH["list"] and created <= _REACH["create"]
    )
    rows = [[name, f"{value:.1f}"] for name, value in taken.items()]
    result.tables.append(Table("One call in process", ["call", "median µs"], rows))
    peers = [f"{name} {version(name)}" for name in ("httpx", "requests", "responses", "respx") if find_spec(name)]
    result.notes.append(f"With {', '.join(peers)}. The calls of a row share one client.")
    result.notes.append("respx and responses clear their records before each call.")
    return result
