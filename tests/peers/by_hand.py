"""What ``verify`` finds in services of others, asked for once more by requests that know nothing of ``verify``.

Each clause that is broken somewhere has a check here, written from the interface's words. ``test_verify`` holds the
two to the same findings, and ``python -m tests.peers.by_hand`` writes the table of them into the documents.
"""

from __future__ import annotations

import http.client
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from tests.peers.foreign_services import KEY, SERVICES
from tools.documents.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CHECKS", "findings", "table"]

DOCUMENT: Final = ROOT / "docs" / "reference" / "findings.md"
_BEGIN: Final = "<!-- findings: made by `python -m tests.peers.by_hand` -->"
_END: Final = "<!-- end of findings -->"
_TIMEOUT: Final = 10  # seconds, of a busy machine
_ABSENT: Final = "/pets/3141592653589793"
_STATUSES: Final = ("available", "pending", "sold")
_INT64: Final = range(-(2**63), 2**63)

Json: TypeAlias = Any


@dataclass(frozen=True)
class Answer:
    """What came: a status, 0 for none, the media type, and the JSON value, ``...`` where it is none."""

    status: int
    media_type: str
    value: Json


class Client:
    """Asks a service.

    Args:
        url: its base address.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._base = parts.hostname or "", parts.port, parts.path
        self._unanswered: set[tuple[str, str, str | None]] = set()

    def ask(self, method: str, path: str, body: str | None = None, authorization: str = f"Bearer {KEY}") -> Answer:
        """Send one request on a connection of its own; one that was never answered is not waited for again."""
        if (method, path, body) in self._unanswered:
            return Answer(0, "", ...)
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        fields = {"Authorization": authorization} if authorization else {}
        if method == "POST":
            fields["Content-Type"] = "application/json"
        try:
            connection.request(method, self._base + path, None if body is None else body.encode(), fields)
            response = connection.getresponse()
            text = response.read()
        except TimeoutError:
            self._unanswered.add((method, path, body))
            return Answer(0, "", ...)
        finally:
            connection.close()
        try:
            value = json.loads(text)
        except ValueError:
            value = ...
        return Answer(response.status, (response.getheader("Content-Type") or "").partition(";")[0], value)

    def get(self, path: str, authorization: str = f"Bearer {KEY}") -> Answer:
        """Send a GET."""
        return self.ask("GET", path, authorization=authorization)

    def post(self, body: str, authorization: str = f"Bearer {KEY}") -> Answer:
        """Send a createPet."""
        return self.ask("POST", "/pets", body, authorization)


# Each check returns what came if it breaks the clause, else nothing.

Check: TypeAlias = "Callable[[Client], str]"


def _refuses(body: str) -> Check:
    """A body that is to be refused with 400."""

    def check(client: Client) -> str:
        status = client.post(body).status
        return "" if status == 400 else str(status or "no answer")

    return check


def _needs_key(method: str, path: Callable[[Client], str], authorization: str) -> Check:
    """A request that is to be refused with 401."""

    def check(client: Client) -> str:
        body = '{"name": "Rex", "categoryId": 1}' if method == "POST" else None
        status = client.ask(method, path(client), body, authorization).status
        return "" if status == 401 else str(status)

    return check


def _pets(_: Client) -> str:
    return "/pets"


def _listed(client: Client, query: str = "") -> list[dict[str, Json]]:
    """Return the animals of a list, but for what is none: some services keep all that they are sent."""
    return [pet for pet in client.get(f"/pets{query}").value if isinstance(pet, dict)]


def _one(client: Client) -> str:
    return f"/pets/{_listed(client)[0]['id']}"


def _created(body: str, is_right: Callable[[Json], bool], show: Callable[[Json], Json]) -> Check:
    """An animal that is created, if the service creates it, is to be right in some respect."""

    def check(client: Client) -> str:
        answer = client.post(body)
        if answer.status != 201 or is_right(answer.value):
            return ""
        return f"201, `{json.dumps(show(answer.value), ensure_ascii=False)}`"

    return check


def _any_of(*checks: Check) -> Check:
    return lambda client: next(filter(None, (check(client) for check in checks)), "")


def _field(name: str, body: str, is_right: Callable[[Json], bool]) -> Check:
    """A field of what a create answers."""
    return _created(
        body,
        lambda pet: not isinstance(pet, dict) or (name in pet and is_right(pet[name])),
        lambda pet: {name: pet[name]} if name in pet else sorted(pet),
    )


def _error(*fields: str, statuses: tuple[int, ...] = (400, 401, 404)) -> Check:
    """The body of errors is to have these fields, of the right types."""

    def check(client: Client) -> str:
        for answer in (client.get("/pets", ""), client.get(_ABSENT), client.post("{}"), client.post('{"name"')):
            if answer.status not in statuses:
                continue
            if not isinstance(answer.value, dict):
                return f"{answer.status}, {answer.media_type}"
            for name in fields:
                if type(answer.value.get(name)) is not (int if name == "status" else str):
                    return f"{answer.status}, `{json.dumps(_shape(answer.value))}`"
        return ""

    return check


def _shape(value: dict[str, Json]) -> dict[str, str]:
    return dict.fromkeys(value, "...")


def _error_status(client: Client) -> str:
    for answer in (client.get("/pets", ""), client.get(_ABSENT), client.post("{}")):
        if answer.status in {400, 401, 404} and isinstance(answer.value, dict):
            said = answer.value.get("status", answer.status)
            if said != answer.status:
                return f'{answer.status}, `{{"status": {said}}}`'
    return ""


def _json_body(client: Client) -> str:
    answer = client.post('{"name"')
    return f"{answer.status}, no JSON" if answer.status == 400 and answer.value is ... else ""


def _media_type(client: Client) -> str:
    answers = [client.get("/pets"), client.get(_ABSENT), client.post('{"name"')]
    wrong = [one for one in answers if one.status in {200, 404, 400} and one.media_type != "application/json"]
    return f"{wrong[0].status}, {wrong[0].media_type}" if wrong else ""


def _id_assigned(client: Client) -> str:
    ids = [client.post(f'{{"name": "{name}", "categoryId": 1}}').value["id"] for name in ("Rex", "Tom")]
    return f"201 twice, id {ids[0]} twice" if ids[0] == ids[1] else ""


def _at_most(path: str, most: int) -> Check:
    def check(client: Client) -> str:
        count = len(client.get(path).value)
        return f"200, {count} animals" if count > most else ""

    return check


def _filter(client: Client) -> str:
    others = {pet.get("status") for pet in _listed(client, "?status=pending")} - {"pending"}
    return f"200, {', '.join(sorted(map(str, others)))}" if others else ""


def _kept(client: Client) -> str:
    pet_id = client.post('{"name": "Rex", "categoryId": 1, "status": "sold"}').value["id"]
    listed = [pet["id"] for pet in _listed(client, "?limit=100")]
    answers = [client.get(f"/pets/{pet_id}") for _ in range(3)]  # it may take a moment to show
    if pet_id in listed or any(one.status == 200 and one.value["id"] == pet_id for one in answers):
        return ""
    return f"201, then {answers[-1].status}, and not in the list"


def _gets_listed(client: Client) -> str:
    for pet in _listed(client, "?limit=4"):
        status = client.get(f"/pets/{pet['id']}").status
        if status != 200:
            return f"{status} for {pet['id']}"
    return ""


def _absent(client: Client) -> str:
    status = client.get(_ABSENT).status
    return "" if status == 404 else str(status)


def _int64(client: Client) -> str:
    status = client.get("/pets/9223372036854775807").status
    return "" if status in {200, 404} else str(status)


_LARGE: Final = 9007199254740993

CHECKS: Final[Mapping[str, tuple[str, Check]]] = {
    "1-json-body": ('POST `{"name"`', _json_body),
    "1-media-type": ('GET the list, an absent animal; POST `{"name"`', _media_type),
    "2-pet-object": (
        'POST `[{"name": "Rex", "categoryId": 1}]`',
        _created(
            '[{"name": "Rex", "categoryId": 1}]', lambda pet: isinstance(pet, dict), lambda pet: type(pet).__name__
        ),
    ),
    "2-pet-name": ('POST `{"categoryId": 1}`', _field("name", '{"categoryId": 1}', lambda name: isinstance(name, str))),
    "2-pet-category": (
        'POST `{"name": "Rex"}`, and with a categoryId of 2^63',
        _any_of(
            _field("categoryId", '{"name": "Rex"}', lambda number: number in _INT64),
            _field("categoryId", f'{{"name": "Rex", "categoryId": {2**63}}}', lambda number: number in _INT64),
        ),
    ),
    "2-pet-status": (
        "POST without a status, and with an unknown one",
        _any_of(
            *(
                _created(
                    body,
                    lambda pet: pet.get("status", "sold") in _STATUSES,
                    lambda pet: {"status": pet["status"]},
                )
                for body in (
                    '{"name": "Rex", "categoryId": 1}',
                    '{"name": "Rex", "categoryId": 1, "status": "no-such-status"}',
                )
            )
        ),
    ),
    "2-error-code": ("GET without a key, GET an absent animal, POST `{}`", _error("code")),
    "2-error-message": ("the same", _error("message")),
    "2-error-status": ("the same", _error("status")),
    "2-id-assigned": ("POST two animals", _id_assigned),
    "2-name-echoed": (
        'POST the name `"Tom"`',
        _field("name", '{"name": "Tom", "categoryId": 1}', lambda name: name == "Tom"),
    ),
    "2-category-echoed": (
        "POST the categoryIds 7 and 2^53 + 1",
        _any_of(
            _field("categoryId", '{"name": "Rex", "categoryId": 7}', lambda number: number == 7),
            _field("categoryId", f'{{"name": "Rex", "categoryId": {_LARGE}}}', lambda number: number == _LARGE),
        ),
    ),
    "2-status-echoed": (
        'POST the status `"sold"`',
        _field("status", '{"name": "Rex", "categoryId": 1, "status": "sold"}', lambda status: status == "sold"),
    ),
    "2-category-int64": (
        "POST the categoryId 2^53 + 1",
        # One that is another whatever was sent is no matter of its size.
        _field("categoryId", f'{{"name": "Rex", "categoryId": {_LARGE}}}', lambda number: number == _LARGE),
    ),
    "2-name-text": (
        'POST the name `"Žofka ✓"`',
        _field("name", '{"name": "Žofka ✓", "categoryId": 1}', lambda name: name == "Žofka ✓"),
    ),
    "4.1-limit-counts": ("GET `?limit=1`", _at_most("/pets?limit=1", 1)),
    "4.1-limit-default": ("GET without limit", _at_most("/pets", 20)),
    "4.1-status-filter": ("GET `?status=pending`", _filter),
    "4.2-kept": ("POST an animal, GET it, GET the list", _kept),
    "4.2-name-required": ('POST `{"categoryId": 1}`', _refuses('{"categoryId": 1}')),
    "4.2-category-required": ('POST `{"name": "Rex"}`', _refuses('{"name": "Rex"}')),
    "4.2-both-required": ("POST `{}`", _refuses("{}")),
    "4.2-name-type": ("POST a name of 5", _refuses('{"name": 5, "categoryId": 1}')),
    "4.2-name-null": ("POST a name of null", _refuses('{"name": null, "categoryId": 1}')),
    "4.2-category-type": ('POST a categoryId of `"1"`', _refuses('{"name": "Rex", "categoryId": "1"}')),
    "4.2-category-fraction": ("POST a categoryId of 1.5", _refuses('{"name": "Rex", "categoryId": 1.5}')),
    "4.2-category-null": ("POST a categoryId of null", _refuses('{"name": "Rex", "categoryId": null}')),
    "4.2-category-boolean": ("POST a categoryId of true", _refuses('{"name": "Rex", "categoryId": true}')),
    "4.2-category-range": ("POST a categoryId of 2^63", _refuses(f'{{"name": "Rex", "categoryId": {2**63}}}')),
    "4.2-status-value": (
        "POST an unknown status",
        _refuses('{"name": "Rex", "categoryId": 1, "status": "no-such-status"}'),
    ),
    "4.2-status-case": (
        'POST the status `"Available"`',
        _refuses('{"name": "Rex", "categoryId": 1, "status": "Available"}'),
    ),
    "4.2-status-type": ("POST a status of 1", _refuses('{"name": "Rex", "categoryId": 1, "status": 1}')),
    "4.2-body-object": ("POST an array", _refuses('[{"name": "Rex", "categoryId": 1}]')),
    "4.2-body-json": ('POST `{"name"`', _refuses('{"name"')),
    "4.2-body-required": ("POST nothing", _refuses("")),
    "4.3-get": ("GET animals of the list", _gets_listed),
    "4.3-absent": ("GET an absent animal", _absent),
    "4.3-int64": ("GET `/pets/9223372036854775807`", _int64),
    "5-missing-key": ("GET the list without a key", _needs_key("GET", _pets, "")),
    "5-unknown-key": ("GET the list with another key", _needs_key("GET", _pets, "Bearer no-such-key")),
    "5-missing-key-get": ("GET an animal without a key", _needs_key("GET", _one, "")),
    "5-unknown-key-get": ("GET an animal with another key", _needs_key("GET", _one, "Bearer no-such-key")),
    "5-missing-key-create": ("POST without a key", _needs_key("POST", _pets, "")),
    "5-unknown-key-create": ("POST with another key", _needs_key("POST", _pets, "Bearer no-such-key")),
    "5-scheme": ("GET the list with the key alone", _needs_key("GET", _pets, KEY)),
    "7-status": ("GET without a key, GET an absent animal, POST `{}`", _error_status),
    "7-401-error": ("GET the list without a key", _error("code", "message", "status", statuses=(401,))),
    "7-404-error": ("GET an absent animal", _error("code", "message", "status", statuses=(404,))),
    "7-400-error": ('POST `{}` and `{"name"`', _error("code", "message", "status", statuses=(400,))),
}


def findings(url: str) -> dict[str, str]:
    """Return what came at a service where a clause is broken, by clause."""
    client = Client(url)
    return {clause: came for clause, (_, check) in CHECKS.items() if (came := check(client))}


# The document


def table(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the rows of the document by clause; ``found`` are the findings by service."""
    rows = {}
    for clause, (asked, _) in CHECKS.items():
        cells = [f"`{clause}`", asked, *(found[service].get(clause, "") for service in SERVICES)]
        rows[clause] = f"| {' | '.join(cells)} |"
    return rows


def documented() -> dict[str, dict[str, str]]:
    """Return the findings that the document has, by service and clause."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)[2].partition(_END)[0]
    found: dict[str, dict[str, str]] = {service: {} for service in SERVICES}
    for line in text.strip().splitlines()[2:]:
        clause, _, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
        for service, cell in zip(SERVICES, cells, strict=True):
            if cell:
                found[service][clause.strip("`")] = cell
    return found


def main() -> None:
    """Ask each service, and write the table anew."""
    found = {}
    for name, serve in SERVICES.items():
        with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as url:
            found[name] = findings(url)
    head = [f"| clause | asked | {' | '.join(SERVICES)} |", f"|{'---|' * (len(SERVICES) + 2)}"]
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    part = "\n".join([*head, *table(found).values()])
    DOCUMENT.write_text(f"{before}{_BEGIN}\n{part}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
