"""For any bytes, the fake responds or closes cleanly. It executes no forbidden request and refuses no valid one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from petstore_mock import PetStoreMock
from tests.property.grammar import pieces, streams
from tests.property.reference import Verdict, read_responses, reason_to_refuse, reason_to_take, verdicts
from tests.wire.raw import KEY, Raw, Received

Entry = Any  # an Exchange

pytestmark = pytest.mark.untraced

# Conditions of requests that are refused before an operation is chosen. A badly encoded path is malformed_target.
HTTP_REFUSALS: Final = {
    *("malformed_request", "malformed_target", "bad_host", "unknown_transfer_coding"),
    *("misdirected_request", "unknown_http_version", "uri_too_long", "header_too_large", "expectation_failed"),
    "request_timeout",
}
CUTS: Final = st.lists(st.integers(0, 400), max_size=6)


@pytest.fixture(scope="module")
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(api_key=KEY) as petstore:
        yield petstore


def talk(petstore: PetStoreMock, sent: Sequence[bytes]) -> bytes:
    """Send pieces, half-close the connection, and return the bytes of all responses."""
    with Raw(petstore) as client:
        for piece in sent:
            client.send(piece)
        return client.half_close().rest()


@settings(max_examples=2 * settings().max_examples)  # each example is fast, and only some have odd bytes
@given(data=streams(), cuts=CUTS)
@example(data=b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", cuts=[])  # 405, and not 400 for a missing path
@example(data=b"GET https://x/v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", cuts=[])
@example(data=b"HEAD / HTTP/1.0\r\nHost: x\r\n\r\nabc\0", cuts=[3])
def test_the_fake_agrees_with_h11_about_bytes(petstore: PetStoreMock, data: bytes, cuts: list[int]) -> None:
    """Apart from limits and Expect, ``reference`` has a reason if only h11 or only the fake refuses a request."""
    petstore.reset()
    received = talk(petstore, pieces(data, cuts))
    entries = list(petstore.journal)
    responses = read_responses(received, [entry.method for entry in entries])
    for response, entry in zip(responses, entries, strict=True):
        judge(response, entry)
    petstore.verify()
    assert len(petstore.pets) == sum(response.status == 201 for response in responses)
    compare(list(verdicts(data)), responses, entries)


def judge(response: Received, entry: Entry) -> None:
    """Assert the rules that apply to every response."""
    assert response.status == entry.status
    assert response.status < 500 or response.status in {501, 505}
    if response.status >= 400 and entry.method != "HEAD":
        assert response.json().keys() == {"code", "message", "status"}
        assert response.json()["status"] == response.status
        assert response.fields["content-type"] == "application/json"


def is_http_refusal(entry: Entry) -> bool:
    return entry.condition is not None and entry.condition.name in HTTP_REFUSALS


def compare(theirs: Sequence[Verdict], responses: Sequence[Received], entries: Sequence[Entry]) -> None:
    """Compare the requests of one connection as h11 and the fake read them, until the fake closes it."""
    for verdict, response, entry in zip(theirs, responses, entries, strict=False):
        closed = response.fields.get("connection") == "close"
        if verdict.kind != "whole":
            if entry.executed:
                assert reason_to_take(verdict), f"h11 says {verdict.kind}: {verdict.why}; executed: {entry!r}"
            return
        if is_http_refusal(entry):
            if response.status in {400, 421, 501, 505}:
                assert reason_to_refuse(verdict, response.status), f"refused without a reason in REASONS: {entry!r}"
        else:
            assert (entry.method, entry.target) == (verdict.method, reduced(verdict))
            if not (closed and verdict.values(b"expect")):  # then the fake refused it without reading the body
                assert entry.body == verdict.body
            assert closed is not keeps_alive(verdict) or (closed and verdict.values(b"expect"))
        if closed:
            return
    assert len(entries) <= len(theirs), f"h11 does not find these requests: {entries[len(theirs) :]!r}"
    assert len(theirs) - len(entries) <= 1
    assert all(verdict.kind == "incomplete" for verdict in theirs[len(entries) :])


def reduced(verdict: Verdict) -> str:
    """Return the target in origin form (RFC 9112 §3.2)."""
    scheme = re.match("https?://", verdict.target, re.IGNORECASE)
    if verdict.method == "CONNECT" or scheme is None:
        return verdict.target
    authority = verdict.target[scheme.end() :].replace("?", "/?", 1).partition("/")
    path = verdict.target[scheme.end() + len(authority[0]) :]
    if not path:
        return "*" if verdict.method == "OPTIONS" else "/"
    return path if path.startswith("/") else f"/{path}"


def keeps_alive(verdict: Verdict) -> bool:
    """Return whether a server keeps the connection after a valid request (RFC 9112 §9.3)."""
    options = {option.strip() for option in b",".join(verdict.values(b"connection")).lower().split(b",")}
    if verdict.method == "CONNECT" or b"close" in options:
        return False
    return verdict.version == "1.1" or b"keep-alive" in options
