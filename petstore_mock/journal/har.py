"""The journal as an HTTP Archive (HAR 1.2).

http://www.softwareishard.com/blog/har-12-spec/ defines the format, and allows custom members that begin with an
underscore. Keys are masked; sizes are those of the whole bodies before masking.
"""

from __future__ import annotations

import base64
from json import dumps
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from petstore_mock import __version__
from petstore_mock.common.dates import iso
from petstore_mock.interface.conditions import reason_phrase
from petstore_mock.journal.exchange import masked, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petstore_mock.common.values import JsonObject
    from petstore_mock.journal.exchange import Exchange

_UNKNOWN: Final = -1  # HAR's value for an unknown size


def har_document(exchanges: Iterable[Exchange]) -> JsonObject:
    """Return the archive of exchanges as a JSON value."""
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "petstore-mock", "version": __version__},
            "pages": [],  # optional, but Firefox's importer reads it
            "entries": [_entry(masked(exchange)) for exchange in exchanges],
        }
    }


def har_parts(exchanges: Iterable[Exchange], *, indent: int | None = None) -> Iterator[str]:
    """Yield the parts of the archive as JSON text. It is too large to be made at once."""
    # The entries are the last member of the document, and empty here.
    before, _, after = dumps(har_document([]), indent=indent).rpartition("[]")
    line = ""
    end = ""
    if indent is not None:
        line = "\n" + " " * 3 * indent
        end = "\n" + " " * 2 * indent
    yield f"{before}["
    separator = line
    for exchange in exchanges:
        text = dumps(_entry(masked(exchange)), ensure_ascii=False, indent=indent)
        # Within texts, JSON escapes the ends of lines.
        yield separator + text.replace("\n", line)
        separator = f",{line}"
    yield f"{end}]{after}\n"


def _entry(exchange: Exchange) -> JsonObject:
    wait = round(exchange.duration * 1000, 3)
    entry: JsonObject = {
        "startedDateTime": iso(exchange.timestamp),
        "time": wait,
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": 0},
        "connection": str(exchange.connection),
    }
    for name in ("number", "operation", "decision", "reason", "result", "owner"):
        entry[f"_{name}"] = getattr(exchange, name)
    return entry


def _pairs(fields: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in fields]


def _request(exchange: Exchange) -> JsonObject:
    request: JsonObject = {
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": exchange.request.version,
        "cookies": [],  # the headers have them, masked
        "headers": _pairs(exchange.fields),
        "queryString": _pairs(parse_qsl(exchange.target.partition("?")[2], keep_blank_values=True)),
        "headersSize": _UNKNOWN,
        "bodySize": exchange.body_size,
    }
    if exchange.body:
        # HAR 1.2 defines an encoding for responses only.
        content = _content(exchange.body, "_encoding")
        comment = _comment(exchange.cut_body)
        request["postData"] = {"mimeType": exchange.headers.get("content-type", ""), "params": [], **content, **comment}
    return request


def _response(exchange: Exchange) -> JsonObject:
    status = exchange.status or 0
    version = exchange.request.version
    if version == "HTTP/1.0":
        # A server sends its own version (RFC 9110 §6.2).
        version = "HTTP/1.1"
    content: JsonObject = {
        "size": exchange.response_size,
        # As browsers write it.
        "mimeType": exchange.response_headers.get("content-type", "x-unknown"),
        **_content(exchange.response_body, "encoding"),
        **_comment(exchange.cut_response_body),
    }
    return {
        "status": status,
        "statusText": reason_phrase(status),
        "httpVersion": version,
        "cookies": [],
        "headers": _pairs(exchange.response_fields),
        "content": content,
        "redirectURL": exchange.response_headers.get("location", ""),
        "headersSize": _UNKNOWN,
        "bodySize": exchange.response_size if status else _UNKNOWN,
    }


def _comment(words: str) -> dict[str, str]:
    return {"comment": words} if words else {}


def _content(body: bytes, encoding: str) -> dict[str, str]:
    text = text_of(body)
    if text is not None:
        return {"text": text}
    return {"text": base64.b64encode(body).decode("ascii"), encoding: "base64"}
