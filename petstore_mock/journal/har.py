"""The journal as an HTTP Archive (HAR 1.2), and recorded archives as exchanges.

The format is the one of http://www.softwareishard.com/blog/har-12-spec/. Members that begin with an underscore are
ours, as the format allows. Keys are masked; sizes are those of the wire.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from petstore_mock import __version__
from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.values import is_integer
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Head, Response, is_field, reason_phrase
from petstore_mock.journal.exchange import Exchange, is_base_url, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_UNKNOWN: Final = -1  # the format's word for an unknown size


def har_document(exchanges: Iterable[Exchange], *, base_url: str | None = None) -> dict[str, Any]:
    """Return exchanges as the JSON value of an archive; ``base_url`` replaces scheme and host of each URL."""
    require(base_url is None or is_base_url(base_url), "base_url with a scheme and a host", base_url=base_url)
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "petstore-mock", "version": __version__},
            "pages": [],  # optional, but Firefox's importer reads it
            "entries": [_entry(exchange, base_url) for exchange in exchanges],
        }
    }


def _entry(exchange: Exchange, base_url: str | None) -> dict[str, Any]:
    wait = round(exchange.duration * 1000, 3)
    entry: dict[str, Any] = {
        "startedDateTime": iso(exchange.timestamp),
        "time": wait,
        "request": _request(exchange, base_url),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": 0},
        "_number": exchange.number,
        "_decision": exchange.decision,
    }
    if exchange.connection:
        entry["connection"] = f"{exchange.connection}"
    further = {
        "_operation": exchange.operation,
        "_outcome": exchange.outcome or (None if exchange.status else exchange.result),
        "_reason": exchange.reason,
        "_owner": exchange.owner,
    }
    return {**entry, **{name: _plain(value) for name, value in further.items() if value}}


def _plain(text: str) -> str:
    """Return ``text`` as UTF-8 can carry it: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _pairs(fields: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": _plain(name), "value": _plain(value)} for name, value in fields]


def _request(exchange: Exchange, base_url: str | None) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": exchange.masked(exchange.method),
        "url": exchange.url(base_url),
        "httpVersion": exchange.request.version,
        "cookies": [],  # they stand among the headers, masked
        "headers": _pairs(exchange.masked_fields(exchange.fields)),
        "queryString": _pairs(parse_qsl(exchange.masked_target.partition("?")[2], keep_blank_values=True)),
        "headersSize": _UNKNOWN,
        "bodySize": exchange.body_size,
    }
    if exchange.body:
        text, encoding = _text(exchange, exchange.body)
        content_type = exchange.masked(exchange.headers.get("content-type", ""))
        request["postData"] = {"mimeType": content_type, "params": [], "text": text}
        if encoding:  # HAR 1.2 has an encoding for responses only
            request["postData"]["_encoding"] = encoding
    return request


def _response(exchange: Exchange) -> dict[str, Any]:
    fields = exchange.masked_fields(exchange.response_fields)
    headers = {name.lower(): value for name, value in fields}
    text, encoding = _text(exchange, exchange.response_body)
    content = {
        "size": exchange.response_size,
        "mimeType": headers.get("content-type", "x-unknown"),  # the word of browsers
        "text": text,
    }
    version = exchange.request.version
    return {
        "status": exchange.status or 0,
        "statusText": reason_phrase(exchange.status) if exchange.status else "",
        "httpVersion": "HTTP/1.1" if version == "HTTP/1.0" else version,  # the server's own (RFC 9110 §6.2)
        "cookies": [],
        "headers": _pairs(fields),
        "content": {**content, "encoding": encoding} if encoding else content,
        "redirectURL": headers.get("location", ""),
        "headersSize": _UNKNOWN,
        "bodySize": exchange.response_size if exchange.status else _UNKNOWN,
    }


def _text(exchange: Exchange, body: bytes) -> tuple[str, str]:
    text = text_of(body)
    if text is not None:
        return exchange.masked(text), ""
    return base64.b64encode(exchange.masked_bytes(body)).decode("ascii"), "base64"


# Reading


def read_har(document: Any) -> list[Exchange]:  # noqa: ANN401  # a JSON value
    """Return the exchanges of a recorded archive. A body that the recording lacks counts as ``cut_response``."""
    entries = _member(document, "log").get("entries")
    if not is_array(entries):
        refuse("expected an HTTP Archive: a JSON object with an array log.entries; got another value")
    found = [_recorded(entry, number) for number, entry in enumerate(entries, 1)]
    return [exchange for exchange in found if exchange is not None]


def _member(value: object, name: str) -> Mapping[str, Any]:
    member = value.get(name) if is_object(value) else None
    return member if is_object(member) else {}


def _recorded(entry: Any, number: int) -> Exchange | None:  # noqa: ANN401
    recorded = _member(entry, "request")
    method, url = recorded.get("method"), recorded.get("url")
    if not isinstance(method, str) or not isinstance(url, str) or not is_base_url(url):
        return None
    parts = urlsplit(url)
    fields = _fields(recorded)
    if all(name.lower() != "host" for name, _ in fields):
        fields.append(("Host", parts.netloc))
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    post = _member(recorded, "postData")
    body = _body({**post, "encoding": post.get("_encoding", post.get("encoding"))})
    request = ApiRequest(method, target, Fields.of(fields), body or b"")
    exchange = Exchange(number, None, request, _moment(entry.get("startedDateTime")))
    exchange.secure = parts.scheme == "https"
    answer = _member(entry, "response")
    status, content = answer.get("status"), _member(answer, "content")
    if is_integer(status) and 100 <= status <= 599:
        body = _body(content)
        exchange.cut_response = content.get("size", 0) if body is None else 0
        fields = [field for field in _fields(answer) if is_field(*field)]
        date = "".join(value for name, value in fields if name.lower() == "date")
        head = Head(status, [field for field in fields if field[0].lower() != "date"])
        exchange.response = Response(head, body or b"", date.encode("ascii", "replace"))
    return exchange


def _fields(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = message.get("headers")
    found = [pair for pair in pairs if is_object(pair)] if is_array(pairs) else []
    return [(str(pair.get("name")), str(pair.get("value", ""))) for pair in found]


def _body(content: Mapping[str, Any]) -> bytes | None:
    text = content.get("text")
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text) if content.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")
    except ValueError:
        return None


def _moment(text: Any) -> float:  # noqa: ANN401
    try:
        return moment_of(text)
    except PetStoreMockError:
        return 0.0
