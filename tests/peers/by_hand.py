"""Sends its own requests to third-party services, to check the findings of ``verify``.

Each clause that a service breaks has a check here, written from the words of the interface. ``test_verify`` compares
the findings, and ``python -m tests.peers.by_hand`` writes the table of ``findings.md``.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import httpx

from petstore_mock.verify import Verdict, verify
from tests.peers.foreign_services import KEY, SERVICES, running
from tools.documents.blocks import ROOT

DOCUMENT: Final = ROOT / "docs" / "reference" / "findings.md"
BEGIN: Final = "<!-- findings: made by `python -m tests.peers.by_hand` -->"
END: Final = "<!-- end of findings -->"
ABSENT: Final = "/pets/3141592653589793"
REX: Final = {"name": "Rex", "categoryId": 1}
LARGE: Final = 9007199254740993  # 2^53 + 1
ERROR: Final = {"code": str, "message": str, "status": int}

Json: TypeAlias = Any
Check: TypeAlias = "Callable[[Client], str]"  # returns the response if it breaks the clause, else an empty text


class Response(NamedTuple):
    """A response. After a timeout, the status is 0. If the body is not JSON, the value is ``...``."""

    status: int
    media_type: str = ""
    value: Json = ...

    def of(self, *names: str) -> dict[str, Json]:
        return {name: self.value[name] for name in names if name in self.value}


class Client:
    """Sends requests to a service. It sends each body only once with each key."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.post = functools.lru_cache(self._post)

    def over_one_connection(self, *keys: str) -> str:
        """Return the status for the last key, if it is another than 401."""
        with httpx.Client(base_url=self._http.base_url, timeout=5) as http:
            came = [http.get("pets", headers={"Authorization": key}).status_code for key in keys]
        return unless(came[-1], 401)

    def failure(self, target: str) -> str:
        """Return a status of 500 and more. ``httpx`` would correct the target."""
        base = self._http.base_url
        connection = HTTPConnection(base.host, base.port or 80, timeout=5)
        connection.request("GET", f"{base.path}{target}", headers={"Authorization": f"Bearer {KEY}"})
        status = connection.getresponse().status
        connection.close()
        return str(status) if status >= 500 else ""

    def get(self, path: str = "/pets", authorization: str = f"Bearer {KEY}") -> Response:
        return self._send("GET", path, "", authorization)

    def _post(self, body: str, authorization: str = f"Bearer {KEY}") -> Response:
        return self._send("POST", "/pets", body, authorization)

    def created(self, **members: Json) -> Response:
        return self.post(json.dumps({**REX, **members}))

    def pets(self, query: str = "") -> list[dict[str, Json]]:
        """Return the objects in a list. Some services also store values that are no animals."""
        return [pet for pet in self.get(f"/pets{query}").value if isinstance(pet, dict)]

    def _send(self, method: str, path: str, body: str, authorization: str) -> Response:
        fields = {"Authorization": authorization} if authorization else {}
        try:
            received = self._http.request(method, path, content=body.encode(), headers=fields)
        except httpx.TimeoutException:
            return Response(0)
        media_type = received.headers.get("Content-Type", "").partition(";")[0]
        try:
            return Response(received.status_code, media_type, received.json())
        except ValueError:
            return Response(received.status_code, media_type)


def refuses(body: str) -> Check:
    return lambda client: unless(client.post(body).status, 400)


def needs_key(send: Callable[[Client, str], Response], authorization: str) -> Check:
    return lambda client: unless(send(client, authorization).status, 401)


def unless(status: int, *expected: int) -> str:
    return "" if status in expected else str(status or "no response")


def keeps(name: str, *bodies: str, right: Callable[[Json], bool]) -> Check:
    """Check a field of the created animals. ``bodies`` are sent in turn."""

    def check(client: Client) -> str:
        for response in map(client.post, bodies):
            if response.status == 201 and isinstance(response.value, dict) and not right(response.value.get(name)):
                return f"201, `{json.dumps(response.of(name) or sorted(response.value), ensure_ascii=False)}`"
        return ""

    return check


def echoes(name: str, *values: Json) -> Check:
    """Check that a field is returned as it was sent."""

    def check(client: Client) -> str:
        for value in values:
            response = client.created(**{name: value})
            if response.of(name) != {name: value}:
                return f"{response.status}, `{json.dumps(response.of(name), ensure_ascii=False)}`"
        return ""

    return check


def error(response: Response) -> str:
    """Return the response if it has no Error body."""
    if not isinstance(response.value, dict):
        return f"{response.status}, {response.media_type}"
    is_right = all(isinstance(response.value.get(name), kind) for name, kind in ERROR.items())
    return "" if is_right else f"{response.status}, `{json.dumps(dict.fromkeys(response.value, '...'))}`"


def error_status(client: Client) -> str:
    for status, _, value in (client.get("/pets", ""), client.get(ABSENT), client.post("{}")):
        if status in {400, 401, 404} and isinstance(value, dict) and value.get("status", status) != status:
            return f'{status}, `{{"status": {value["status"]}}}`'
    return ""


def pet_object(client: Client) -> str:
    response = client.post(json.dumps([REX]))
    return "201, an array" if response.status == 201 and isinstance(response.value, list) else ""


def id_assigned(client: Client) -> str:
    ids = [client.created(name=name).value.get("id") for name in ("Ben", "Tim")]
    if ids[0] == ids[1]:
        return f"201 twice, id {ids[0]} twice"
    chosen = client.created(name="Max", id=LARGE - 2)
    is_taken = chosen.status == 201 and chosen.value.get("id") == LARGE - 2
    return "201, with the id of the request" if is_taken else ""


def at_most(path: str, most: int) -> Check:
    return lambda client: "" if len(client.get(path).value) <= most else f"200, more than {most}"


def filters(client: Client) -> str:
    others = {pet.get("status") for pet in client.pets("?status=pending")} - {"pending"}
    return f"200, {', '.join(sorted(map(str, others)))}" if others else ""


def kept(client: Client) -> str:
    pet_id = client.created(name="Kim", status="sold").value["id"]
    got = [client.get(f"/pets/{pet_id}") for _ in range(3)]  # a new animal may become visible later
    if pet_id in [pet["id"] for pet in client.pets("?limit=100")] or any(one.status == 200 for one in got):
        return ""
    return f"201, then {got[-1].status}, and not in the list"


def gets_listed(client: Client) -> str:
    got = {pet["id"]: client.get(f"/pets/{pet['id']}").status for pet in client.pets("?limit=4")}
    return next((f"{status} for {pet_id}" for pet_id, status in got.items() if status != 200), "")


def gets_by_odd_text(client: Client) -> str:
    got = client.get(f"/pets/+{client.pets()[0]['id']}")
    return str(got.status) if got.status == 200 else ""


def fails(body: str) -> Check:
    def check(client: Client) -> str:
        status = client.post(body).status
        return str(status) if status >= 500 else ""

    return check


def lists(client: Client, authorization: str) -> Response:
    return client.get("/pets", authorization)


def gets(client: Client, authorization: str) -> Response:
    return client.get(f"/pets/{client.pets()[0]['id']}", authorization)


def exact_key(client: Client) -> str:
    """Send the key, and then its letters in the other case, over one connection."""
    return client.over_one_connection(f"Bearer {KEY}", f"Bearer {KEY.swapcase()}")


def scheme_in_lower_case(client: Client) -> str:
    status = lists(client, f"bearer {KEY}").status
    return str(status) if status == 401 else ""


def creates(client: Client, authorization: str) -> Response:
    return client.post(json.dumps(REX), authorization)


NOT_STATUS: Final = json.dumps({**REX, "status": "no-such-status"})
BEYOND: Final = json.dumps({**REX, "categoryId": 2**63})
REFUSED: Final = {
    "name-required": '{"categoryId": 1}',
    "category-required": '{"name": "Rex"}',
    "both-required": "{}",
    "name-type": '{"name": 5, "categoryId": 1}',
    "name-null": '{"name": null, "categoryId": 1}',
    "category-type": '{"name": "Rex", "categoryId": "1"}',
    "category-fraction": '{"name": "Rex", "categoryId": 1.5}',
    "category-null": '{"name": "Rex", "categoryId": null}',
    "category-boolean": '{"name": "Rex", "categoryId": true}',
    "category-range": BEYOND,
    "status-value": NOT_STATUS,
    "status-case": json.dumps({**REX, "status": "Available"}),
    "status-type": json.dumps({**REX, "status": 1}),
    "body-object": json.dumps([REX]),
    "body-json": '{"name"',
    "body-end": f"{json.dumps(REX)}x",
    "body-required": "",
}

CHECKS: Final[Mapping[str, tuple[str, Check]]] = {
    "2-pet-object": ("POST an array", pet_object),
    "2-pet-name": ("POST no name", keeps("name", '{"categoryId": 1}', right=lambda name: isinstance(name, str))),
    "2-pet-category": (
        "POST no categoryId, and the categoryId 2^63",
        keeps("categoryId", '{"name": "Rex"}', BEYOND, right=lambda number: isinstance(number, int) and number < 2**63),
    ),
    "2-pet-status": (
        "POST an unknown status, and no status",
        lambda client: _status(client.post(NOT_STATUS)) or _status(client.created()),
    ),
    "2-id-assigned": ("POST two animals, and one with an id", id_assigned),
    "2-name-echoed": ('POST the name `"Tom"`', echoes("name", "Tom")),
    "2-category-echoed": ("POST the categoryIds 7 and 2^53 + 1", echoes("categoryId", 7, LARGE)),
    "2-status-echoed": ('POST the status `"sold"`', echoes("status", "sold")),
    "2-category-int64": ("POST the categoryId 2^53 + 1", echoes("categoryId", LARGE)),
    "2-name-surrogate": ("POST a name with a lone surrogate", fails(r'{"name": "x\ud800", "categoryId": 1}')),
    "4.1-list": ("GET `?limit=100`", lambda client: unless(client.get("/pets?limit=100").status, 200)),
    "4.1-limit-counts": ("GET `?limit=1`", at_most("/pets?limit=1", 1)),
    "4.1-limit-default": ("GET without limit", at_most("/pets", 20)),
    "4.1-status-filter": ("GET `?status=pending`", filters),
    "4.1-list-never-fails": ("GET `?status=%`", lambda client: client.failure("pets?status=%")),
    "4.2-kept": ("POST an animal, GET it, GET the list", kept),
    **{f"4.2-{name}": (f"POST `{body}`" if body else "POST nothing", refuses(body)) for name, body in REFUSED.items()},
    "4.3-get": ("GET animals of the list", gets_listed),
    "4.3-asked-for": ("GET an animal by `+` and its id", gets_by_odd_text),
    "4.3-absent": ("GET an absent animal", lambda client: unless(client.get(ABSENT).status, 404)),
    "4.3-int64": ("GET `/pets/2^63 - 1`", lambda client: unless(client.get(f"/pets/{2**63 - 1}").status, 200, 404)),
    "5-key": ("GET the list with `bearer` before the key", scheme_in_lower_case),
    "5-missing-key": ("GET the list without a key", needs_key(lists, "")),
    "5-unknown-key": ("GET the list with an unknown key", needs_key(lists, "Bearer no-such-key")),
    "5-missing-key-get": ("GET an animal without a key", needs_key(gets, "")),
    "5-unknown-key-get": ("GET an animal with an unknown key", needs_key(gets, "Bearer no-such-key")),
    "5-missing-key-create": ("POST `{` without a key", lambda client: unless(client.post("{", "").status, 401)),
    "5-unknown-key-create": ("POST with an unknown key", needs_key(creates, "Bearer no-such-key")),
    "7-status": ("GET without a key, GET an absent animal, POST `{}`", error_status),
    "7-401-error": ("GET the list without a key", lambda client: error(client.get("/pets", ""))),
    "7-404-error": ("GET an absent animal", lambda client: error(client.get(ABSENT))),
    "7-400-error": ('POST `{"name"`', lambda client: error(client.post('{"name"'))),
    "5-exact-key": ("GET the list with the key, then with the key in another case", exact_key),
    "5-scheme": ("GET the list with a key without `Bearer`", needs_key(lists, KEY)),
}


def _status(response: Response) -> str:
    is_right = response.status != 201 or response.value.get("status", "sold") in {"available", "pending", "sold"}
    return "" if is_right else f"201, `{json.dumps(response.of('status'))}`"


def findings(service: str, folder: Path) -> tuple[Verdict, dict[str, str]]:
    """Verify a service. Return the verdict, and the responses that confirm each broken clause."""
    with running(service, folder) as url:
        verdict = verify(url, api_key=KEY, allow_create=50, rate=1e6, timeout=5.0)
        with httpx.Client(
            base_url=url, timeout=5, headers={"Content-Type": "application/json", "Connection": "close"}
        ) as http:
            client = Client(http)
            return verdict, {clause.id: CHECKS[clause.id][1](client) for clause in verdict.broken}


def documented() -> dict[str, dict[str, str]]:
    """Return the findings of the document by service and clause."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("|").split(" | ") for line in text.strip().splitlines()[2:]]
    return {
        service: {row[0].strip(" `"): row[at].strip() for row in rows if row[at].strip()}
        for at, service in enumerate(SERVICES, 2)
    }


def main() -> None:
    """Verify each service, and write the table."""
    found = {}
    for name in SERVICES:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = findings(name, Path(folder))[1]
    rows = [["clause", "request", *SERVICES], ["---"] * (len(SERVICES) + 2)]
    rows += [
        [f"`{one}`", request, *(found[name].get(one, "") for name in SERVICES)] for one, (request, _) in CHECKS.items()
    ]
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    part = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{part}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
