"""Recorded traffic (HAR 1.2) as exchanges: what a browser, a proxy or ``--petstore-har`` has seen."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from petstore_mock.common.paths import as_path
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.verify.exchange import Exchange, WholeAnswer, shown
from petstore_mock.verify.facts import Facts
from petstore_mock.verify.gap_evidence import findings
from petstore_mock.verify.learned import Learned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = ["learned_from_har"]


def learned_from_har(path: str | PathLike[str], url: str | None) -> Learned:
    """Return what a recording shows.

    Raises:
        PetStoreMockError: it can't be read, is no HAR, or shows no request to the service.
    """
    entries = _entries(path)
    base = url.rstrip("/") if url is not None else _base(entries, path)
    keys: dict[str, int] = {}
    exchanges: list[Exchange] = []
    for entry in entries:
        exchange = _exchange(entry, base, len(exchanges) + 1, keys)
        if exchange is not None:
            exchanges.append(exchange)
    worked = {one.key for one in exchanges if one.status not in {None, 401, 429}}
    for one in exchanges:
        if one.key not in worked and one.key is not None:
            one.key = -1
    if not exchanges:
        raise PetStoreMockError(f"expected requests to {base} in {path}; it has {len(entries)} to other addresses")
    lacking = sum(1 for one in exchanges if one.answer is not None and one.answer.lacks_body)
    notes = [f"{len(exchanges)} of {len(entries)} recorded requests are of this service"]
    if lacking:
        notes.append(f"{lacking} answers are recorded without their bodies, of which nothing was learned")
    known = [one for one in exchanges if one.answer is None or not one.answer.lacks_body]
    date = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    secrets = tuple(value.rpartition(" ")[2] for value in keys)
    found = findings(Facts(known), secrets)
    return Learned(shown(f"{base} (recorded)", secrets), date, found, tuple(notes))


def _entries(path: str | PathLike[str]) -> list[Mapping[str, Any]]:
    try:
        document = json.loads(as_path(path, "har").read_bytes())
        entries = document["log"]["entries"]
    except OSError as error:
        raise PetStoreMockError(f"expected a HAR file; got har={path!r}: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PetStoreMockError(f"expected a HAR file (JSON with log.entries) in {path}; {error}") from None
    if not isinstance(entries, list):
        raise PetStoreMockError(f"expected log.entries to be a list in {path}; got {type(entries).__name__}")
    return [entry for entry in entries if isinstance(entry, dict)]


def _url_of(entry: Mapping[str, Any]) -> str:
    request = entry.get("request")
    url = request.get("url") if isinstance(request, dict) else None
    return url if isinstance(url, str) else ""


def _base(entries: list[Mapping[str, Any]], path: str | PathLike[str]) -> str:
    """Return the base address that all requests to a pet store have in common."""
    bases = set()
    for entry in entries:
        before, found, after = _url_of(entry).partition(f"{BASE_PATH}/")
        if found and (after.partition("?")[0] + "/").startswith("pets/"):
            bases.add(before + BASE_PATH)
    if len(bases) != 1:
        known = f"; it has {', '.join(sorted(bases))}" if bases else ""
        raise PetStoreMockError(
            f"expected requests to one base address that ends in /v1 in {path}{known}: name it by --url"
        )
    return bases.pop()


def _pairs(value: object) -> Iterator[tuple[str, str]]:
    for pair in value if isinstance(value, list) else []:
        if isinstance(pair, dict) and isinstance(pair.get("name"), str):
            yield pair["name"], str(pair.get("value", ""))


def _text(content: Mapping[str, Any]) -> bytes | None:
    """Return the body that a recording holds, or None."""
    text = content.get("text")
    if not isinstance(text, str):
        return None
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):
            return None
    return text.encode("utf-8", "surrogatepass")


def _exchange(entry: Mapping[str, Any], base: str, number: int, keys: dict[str, int]) -> Exchange | None:
    """Return an entry as an exchange, without its key: only which of the keys it was stays."""
    url = _url_of(entry)
    rest = url.removeprefix(base)
    if rest == url or not rest.startswith("/"):
        return None
    request = entry["request"]
    fields, key = [], None
    for name, value in _pairs(request.get("headers")):
        if name.lower() == "authorization":
            key = keys.setdefault(value, len(keys))
        elif name.lower() not in {"cookie", "proxy-authorization"}:
            fields.append((name, value))
    post = request.get("postData")
    body = _text(post) if isinstance(post, dict) else None
    exchange = Exchange(number, "", str(request.get("method")), rest.partition("#")[0], key, tuple(fields), body)
    response = entry.get("response")
    status = response.get("status") if isinstance(response, dict) else None
    if not isinstance(response, dict) or not isinstance(status, int) or not 100 <= status < 600:
        return exchange
    came = tuple(_pairs(response.get("headers")))
    content = response.get("content")
    content = content if isinstance(content, dict) else {}
    found = _text(content)
    size = content.get("size")
    is_lacking = found is None and size != 0 and status not in {204, 304}
    exchange.answer = WholeAnswer(status, came, found or b"", lacks_body=is_lacking)
    # A recording of our own masks keys, and browsers leave them out: what was let in bore one.
    if exchange.key is None and exchange.operation is not None and status not in {401, 429}:
        exchange.key = keys.setdefault("", len(keys))
    return exchange
