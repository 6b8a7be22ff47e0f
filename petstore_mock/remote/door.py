"""Sends verbs to the control door of a stub. If the door refuses a verb, the call raises an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, Request

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut
from petstore_mock.common.refusing import refuse, shown
from petstore_mock.control.admission import PROBLEM_TYPE, TOKEN_HEADER, check_token
from petstore_mock.core.refusals import NotFoundError, ProblemError
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.fault import Fault
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.exchange import is_base_url
from petstore_mock.journal.journal import EvictedError

if TYPE_CHECKING:
    from petstore_mock.verbs import Verb

_TIMEOUT: Final = 60.0  # seconds for a response; requests/wait may take 25
_SHOWN: Final = 300  # characters to quote of a response that is not the door's
_PATH: Final = re.compile(rf"(?P<root>.*?)(?:/w/(?P<name>[^/]+))?(?:{BASE_PATH}|{DOOR_PATH})?/*")


class RemoteDoor:
    """A client of the control doors of one stub. Thread-safe: each call opens its own connection.

    ``root`` is the address of the stub. ``name`` is the world in the given address, or None.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        if not is_base_url(url):
            refuse(f"expected the address of a stub, such as http://127.0.0.1:8080/v1; got url={shown(url)}")
        parts = urlsplit(url)
        match = cast("re.Match[str]", _PATH.fullmatch(parts.path))  # the pattern matches any path
        self.name = None if match["name"] is None else unquote(match["name"])
        self.root = f"{parts.scheme}://{parts.netloc}{match['root'].rstrip('/')}"
        self.host = parts.hostname or ""
        self._fields = {"Content-Type": "application/json"} | ({TOKEN_HEADER: check_token(token)} if token else {})
        self._opener = OpenerDirector()  # without handlers for proxies and redirects
        self._opener.add_handler(HTTPHandler())
        self._opener.add_handler(HTTPSHandler())

    def url_of(self, world: str | None) -> str:
        """Return the address of the door of a world. None means the world at the root."""
        mount = "" if world is None else f"/w/{quote(world, safe='')}"
        return f"{self.root}{mount}{DOOR_PATH}/"

    def send(self, verb: Verb, world: str | None, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
        """Run a verb in a world, and return the result."""
        given = dict(arguments)
        path = re.sub(r"\{(\w+)\}", lambda name: quote(_in_path(name[1], given.pop(name[1])), safe=""), verb.path)
        content = None
        if verb.method not in {"GET", "DELETE"}:
            content = _encoded(given[verb.body] if verb.body else given)
        elif given:
            path += f"?{urlencode({name: json.dumps(value) for name, value in given.items()})}"
        url = self.url_of(world) + path
        status, kind, body = self._exchange(Request(url, content, self._fields, method=verb.method))  # noqa: S310
        value: Any = None
        try:
            value = json.loads(body) if body else None
        except ValueError:
            kind = ""
        if kind == PROBLEM_TYPE and is_object(value) and "detail" in value:
            if status == 404:
                raise NotFoundError(value["detail"])
            if status == 409 and verb.path.startswith("requests/"):
                raise EvictedError(value["detail"])
            raise ProblemError(value["detail"], status) if status == 409 else PetStoreMockError(value["detail"])
        if status >= 400 or (body and kind != "application/json"):
            refuse(
                f"expected the control door of petstore-mock at {self.root}{DOOR_PATH}/; got status {status} and "
                f"{cut(body.decode('utf-8', 'replace'), _SHOWN)!r}. Is the door closed, or does it have another port?"
            )
        return value

    def _exchange(self, request: Request) -> tuple[int, str, bytes]:
        try:
            with self._opener.open(request, timeout=_TIMEOUT) as response:
                return response.status, response.headers.get_content_type(), response.read()
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            refuse(
                f"expected a stub of petstore-mock at {self.root}; got {type(reason).__name__}: {reason}. Start it "
                "with 'petstore-mock serve', and wait for it with 'petstore-mock ready'. For https://, set "
                "SSL_CERT_FILE to the file that serve --tls-ca-out wrote"
            )


def _in_path(name: str, value: object) -> str:
    return str(value) if name == "api_key" else _encoded(value).decode()  # the door must refuse the text "7" as an id


def _encoded(value: object) -> bytes:
    """Return a value as JSON. Refuse values that JSON can't carry."""
    try:
        return json.dumps(value, default=_carried, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"expected a value that JSON can carry to another process; {error}")


def _carried(value: object) -> object:
    """Return the JSON form of a mapping, an iterable of animals, a moment or a fault."""
    if is_object(value):
        return dict(value)
    if isinstance(value, Fault):
        data = value.to_data()
        return data if is_object(data) else {"kind": value.kind, **value.arguments}  # criteria refuse a bare status
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return list(cast("Any", value))
    given = "bytes" if isinstance(value, (bytes, bytearray)) else shown(value)  # the bytes may be a key
    message = f"got {given}. If it is a function for when=, pass criteria as where={{'name': 'Rex'}} instead"
    raise TypeError(message)
