"""The journal as an HTTP Archive (HAR 1.2), which browsers' developer tools open.

The format is the one of http://www.softwareishard.com/blog/har-12-spec/. What it has no word for stands in members
that begin with an underscore, as the format allows. Keys are masked; sizes are those of what went over the wire.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from petstore_mock.common.paths import as_path, write_text
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.urls import is_base_url, url_of
from petstore_mock.messages.response import reason_phrase

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from petstore_mock.journal.entry import Entry

__all__ = ["har_document", "write_har"]

_UNKNOWN: Final = -1  # what the format says where a figure is not known


def write_har(path: str | PathLike[str], entries: Iterable[Entry], *, base_url: str | None = None) -> None:
    """Write ``entries`` to ``path``.

    Raises:
        PetStoreMockError: the file can't be written, or ``base_url`` is none.
    """
    as_path(path, "path")  # first: to make the text may take its time
    text = json.dumps(har_document(entries, base_url=base_url), ensure_ascii=False, indent=2)
    write_text(path, f"{text}\n")


def har_document(entries: Iterable[Entry], *, base_url: str | None = None) -> dict[str, Any]:
    """Return ``entries`` as the JSON value of an HTTP Archive.

    Args:
        entries: the entries, in order.
        base_url: scheme and host of the URLs, such as ``http://127.0.0.1:8080``; by default each request's own
            ``Host``.

    Raises:
        PetStoreMockError: ``base_url`` is none.
    """
    if base_url is not None and not is_base_url(base_url):
        raise PetStoreMockError(f"expected base_url with a scheme and a host; got base_url={base_url!r}")
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "petstore-mock", "version": _version()},
            "pages": [],  # optional, yet Firefox's importer reads it
            "entries": [_entry(entry, base_url) for entry in entries],
        }
    }


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # 9 ms, and the stub is to answer soon

    try:
        return version("petstore-mock")
    except PackageNotFoundError:  # a checkout on the path that was never installed
        return "0"


def _entry(entry: Entry, base_url: str | None) -> dict[str, Any]:
    wait = round(entry.duration * 1000, 3)
    record: dict[str, Any] = {
        "startedDateTime": entry.moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "time": wait,
        "request": _request(entry, base_url),
        "response": _response(entry),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": 0},
        "_number": entry.number,
        "_decision": entry.decision,
    }
    if entry.connection:
        record["connection"] = f"{entry.connection}"
    further = {
        "_operation": entry.operation,
        "_outcome": entry.outcome or (None if entry.status else "unanswered"),
        "_reason": entry.reason,
        "_owner": entry.owner,
    }
    record.update({name: _plain(value) for name, value in further.items() if value})
    return record


def _plain(text: str) -> str:
    """Return ``text`` as UTF-8 can carry it: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _pairs(fields: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": _plain(name), "value": _plain(value)} for name, value in fields]


def _request(entry: Entry, base_url: str | None) -> dict[str, Any]:
    url = url_of(entry, base_url)
    request: dict[str, Any] = {
        "method": entry.method,
        "url": url,
        "httpVersion": entry.request.version,
        "cookies": [],  # they stand among the headers, masked
        "headers": _pairs(entry.fields),
        "queryString": _pairs(parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)),
        "headersSize": _UNKNOWN,
        "bodySize": len(entry.body),
    }
    if entry.body:
        text, encoding = _text(entry, entry.body)
        request["postData"] = {"mimeType": entry.headers.get("content-type", ""), "params": [], "text": text}
        if encoding:  # 1.2 knows an encoding for answers only; 1.3 was to have it here too
            request["postData"]["_encoding"] = encoding
    return request


def _response(entry: Entry) -> dict[str, Any]:
    headers, body = entry.response_headers, entry.response_body
    text, encoding = _text(entry, body)
    content: dict[str, Any] = {
        "size": len(body),
        "mimeType": headers.get("content-type", "x-unknown"),  # what browsers write without one
        "text": text,
    }
    if encoding:
        content["encoding"] = encoding
    return {
        "status": entry.status or 0,
        "statusText": reason_phrase(entry.status) if entry.status else "",
        # A server says its own version, not the client's (RFC 9110 §6.2); ours has no other than this one.
        "httpVersion": "HTTP/1.1" if entry.request.version == "HTTP/1.0" else entry.request.version,
        "cookies": [],
        "headers": _pairs(entry.response_fields),
        "content": content,
        "redirectURL": headers.get("location", ""),
        "headersSize": _UNKNOWN,
        "bodySize": len(body) if entry.status else _UNKNOWN,
    }


def _text(entry: Entry, body: bytes) -> tuple[str, str]:
    """Return ``body`` as text, keys masked, and its encoding: empty, or ``base64`` for what is no UTF-8."""
    try:
        return entry.masked(body.decode("utf-8")), ""
    except UnicodeDecodeError:
        return base64.b64encode(entry.masked_bytes(body)).decode("ascii"), "base64"
