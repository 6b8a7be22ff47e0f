"""Checks each response of the fake against the JSON schemas in ``schemas/`` and the rules of HTTP."""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

if TYPE_CHECKING:
    from petstore_mock import Behaviour
    from tests.client import Response

SCHEMAS: Final = Path(__file__).parents[1] / "schemas"
# The members that a response has by default. The schemas alone would accept further members.
MEMBERS: Final = {
    name: {*json.loads((SCHEMAS / f"{name}.json").read_bytes())["properties"]} for name in ("Pet", "Error")
}

_FIXDATE: Final = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_CHALLENGE: Final = re.compile(r'Bearer realm="[^"\\]+"(, |$)')  # RFC 6750 §3


def hold(response: Response, method: str, behaviour: Behaviour, now: float) -> None:
    """Assert the rules for every response that no fault has changed.

    Args:
        response: the response.
        method: the method of its request.
        behaviour: the chosen alternative of each gap.
        now: the fake's time in seconds since 1970.
    """
    assert response.status < 500 or response.status in {501, 505}, response
    _hold_head(response, now)
    if method == "HEAD" or response.status == 204:
        assert response.body == b""
        return
    charset = "; charset=utf-8" if behaviour.content_type == "with_charset" else ""
    assert response.header("Content-Type") == f"application/json{charset}"
    length = response.header("Content-Length")
    assert length is None or int(length) == len(response.body)
    _hold_body(response, exact=behaviour.extra_response_fields == "none")


def _hold_head(response: Response, now: float) -> None:
    names = [name.lower() for name, _ in response.fields]
    assert len(names) == len(set(names)), names
    date = response.header("Date")  # RFC 9110 §6.6.1
    assert date is not None
    assert _FIXDATE.fullmatch(date)
    assert abs(parsedate_to_datetime(date).timestamp() - now) < 60
    if response.status == 401:
        assert _CHALLENGE.match(response.header("WWW-Authenticate") or "")
    if response.status == 405:
        assert response.header("Allow")  # RFC 9110 §15.5.6
    if response.status == 204:
        assert response.header("Content-Length") is None  # RFC 9110 §8.6


def _hold_body(response: Response, *, exact: bool) -> None:
    document = response.json()
    name = "Error" if response.status >= 400 else "Pets" if isinstance(document, list) else "Pet"
    problems = [error.message for error in _validator(name).iter_errors(document)]
    assert problems == [], response
    if exact:
        members = MEMBERS["Error" if name == "Error" else "Pet"]
        assert all(set(one) <= members for one in (document if name == "Pets" else [document])), response
    if name == "Error":
        assert document["status"] == response.status  # §7
        assert document["code"]
        assert document["message"]
        assert len(response.body) < 16 * 1024, "an error must stay readable, whatever was sent"


@cache
def _validator(name: str) -> Draft202012Validator:
    schemas: dict[str, Any] = {file.name: json.loads(file.read_bytes()) for file in SCHEMAS.glob("*.json")}
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    return Draft202012Validator(schemas[f"{name}.json"], registry=registry)
