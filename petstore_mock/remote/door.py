"""Sends verbs to the control door of a stub. If the door refuses a verb, the call raises an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast
from urllib.parse import quote, unquote, urlencode, urlsplit

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut, printable
from petstore_mock.common.refusing import refuse, shown
from petstore_mock.common.values import shown_url
from petstore_mock.control.admission import PROBLEM_TYPE, TOKEN_HEADER, check_token
from petstore_mock.control.schemas import Schema, shape_of, violations
from petstore_mock.core.refusals import NotFoundError, ProblemError
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.faults.fault import Fault
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.exchange import is_base_url
from petstore_mock.journal.journal import EvictedError
from petstore_mock.transport.client import MEBIBYTE, Connection, FailedError, json_body, media_type

if TYPE_CHECKING:
    from petstore_mock.common.values import Json
    from petstore_mock.http.response import Response
    from petstore_mock.verbs import Verb

    Arguments = Mapping[str, Any]  # of a verb, by name
    Do = Callable[[Verb, Arguments], Any]

# Seconds for a whole response. requests/wait may take 25.
_TIMEOUT: Final = 60.0
# The limit of the door for requests holds for its responses too.
_MOST_BODY: Final = 64 * MEBIBYTE
# Characters to quote of a response that is not the door's.
_SHOWN: Final = 300
_PATH: Final = re.compile(rf"(?P<root>.*?)(?:/w/(?P<name>[^/]+))?(?:{BASE_PATH}|{DOOR_PATH})?")


class RemoteDoor:
    """A client of the control doors of one stub. Thread-safe: each call opens its own connection.

    ``root`` is the address of the stub. ``name`` is the world in the given address, or None.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        if not is_base_url(url):
            words = "expected the address of a stub without a user, such as http://127.0.0.1:8080/v1"
            refuse(f"{words}; got url={shown_url(url)!r}")
        parts = urlsplit(url)
        match = cast("re.Match[str]", _PATH.fullmatch(parts.path.rstrip("/")))  # the pattern matches any path
        self.name = None if match["name"] is None else unquote(match["name"])
        self.root = f"{parts.scheme}://{parts.netloc}{match['root'].rstrip('/')}"
        self.host = parts.hostname or ""
        self.is_tls = parts.scheme == "https"
        self._own_fields = [(TOKEN_HEADER, check_token(token))] if token else []
        # Refuses an address that the client can't send to.
        self._connection()

    def url_of(self, world: str | None) -> str:
        """Return the address of the door of a world. None means the world at the root."""
        return self.root + _path_of(world)

    def send(self, verb: Verb, world: str | None, arguments: Arguments) -> Json:
        """Run a verb in a world, and return the result."""
        rest = dict(arguments)
        path = verb.path
        for name, rules in shape_of(verb).path.items():
            path = path.replace(f"{{{name}}}", _in_path(rest.pop(name), rules))
        content = b""
        if verb.method not in {"GET", "DELETE"}:
            body = rest[verb.body] if verb.body else rest
            content = _encoded(body)
        elif rest:
            query = {name: json.dumps(value) for name, value in rest.items()}
            path += f"?{urlencode(query)}"
        response = self._exchange(verb.method, _path_of(world) + path, content)
        with self.reading(response):
            return _result(verb, response)

    @contextmanager
    def reading(self, response: Response | None = None) -> Generator[None]:
        """Refuse a response whose values have another form than those of the door."""
        try:
            yield
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError):
            got = "a result with other members than this version returns"
            if response is not None:
                text = printable(cut(response.body.decode("utf-8", "replace"), _SHOWN))
                got = f"status {response.status} and {text!r}"
            refuse(
                f"expected the control door of petstore-mock at {self.root}{DOOR_PATH}/; got {got}. Is the door "
                "closed, or does it have another port?"
            )

    def _connection(self) -> Connection:
        return Connection(self.root, most_body=_MOST_BODY)

    def _exchange(self, method: str, path: str, content: bytes) -> Response:
        with closing(self._connection()) as connection:
            fields = [*connection.fields, *self._own_fields]
            if content:
                fields += [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
            request = ApiRequest(method, connection.base + path, Fields.of(fields), content)
            try:
                return connection.send(request, timeout=_TIMEOUT)
            except FailedError as error:
                advice = "Start it with 'petstore-mock serve', and wait for it with 'petstore-mock ready'"
                if self.root.startswith("https:"):
                    advice += ". Set SSL_CERT_FILE to the file that serve --tls-ca-out wrote"
                refuse(f"expected a stub of petstore-mock at {self.root}; got no whole response: {error}. {advice}")


def _result(verb: Verb, response: Response) -> Json:
    """Return the result of a verb, with the members that the verb returns.

    Raises:
        ValueError: the response is not the door's.
    """
    value: Json = None
    kind = "application/json"
    if response.body:
        value = json_body(response)
        kind = media_type(response)
    if kind == PROBLEM_TYPE and isinstance(value["detail"], str):
        _raise_problem(value["detail"], response.status, verb)
    is_result = kind == "application/json" and 200 <= response.status < 300
    if not is_result or violations(shape_of(verb).result, value, "response"):
        raise ValueError("not the door of petstore-mock")
    return value


def _path_of(world: str | None) -> str:
    mount = "" if world is None else f"/w/{quote(world, safe='')}"
    return f"{mount}{DOOR_PATH}/"


def _raise_problem(detail: str, status: int, verb: Verb) -> NoReturn:
    """Raise the error for a refusal of the door. The door's process wrote ``detail``."""
    words = printable_lines(detail)
    if status == 404:
        raise NotFoundError(words)
    if status == 409 and verb.path.startswith("requests/"):
        raise EvictedError(words)
    raise ProblemError(words, status)


def printable_lines(text: str) -> str:
    """Return a text of the other process without characters that move a cursor. Line breaks stay."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _in_path(value: object, rules: Schema) -> str:
    """Return an argument for a path. Text for a number stays in quotation marks, so that the door refuses it."""
    text = str(value) if rules.get("type") == "string" else _encoded(value).decode()
    return quote(text, safe="")


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
        # In criteria, such as where={"fault": ...}, the door takes no bare status.
        return data if is_object(data) else {"kind": value.kind, **value.arguments}
    if isinstance(value, date):
        return value.isoformat()
    is_binary = isinstance(value, (bytes, bytearray))
    if isinstance(value, Iterable) and not is_binary:
        return list(cast("Any", value))
    # The bytes may be a key.
    got = "bytes" if is_binary else shown(value)
    message = f"got {got}. If it is a function for when=, pass criteria as where={{'name': 'Rex'}} instead"
    raise TypeError(message)
