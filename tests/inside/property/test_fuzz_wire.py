"""Whatever bytes come: a clean answer or a clean end, nothing that HTTP forbids carried out, nothing valid refused."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from petstore_mock import PetStoreMock
from petstore_mock.transport.server import WireServer
from tests.inside.live.raw import PATIENCE, Answer, RawClient
from tests.inside.property.wire_grammar import KEY, pieces, streams
from tests.inside.property.wire_reference import Verdict, read_answers, reason_to_refuse, reason_to_take, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from petstore_mock.journal.entry import Entry

# What the wire refuses before there is a request, or without reading on. A path that is badly encoded is among them.
pytestmark = pytest.mark.untraced

HTTP_REFUSALS: Final = {
    *("malformed_request", "malformed_target", "bad_host", "unknown_method", "unknown_transfer_coding"),
    "misdirected_request",
    *("unknown_http_version", "uri_too_long", "header_too_large", "expectation_failed", "request_timeout"),
}
impatient: Final = partial(WireServer, head_timeout=0.1, body_timeout=0.1, idle_timeout=0.3, linger_timeout=1.0)
BOUND: Final = 4.0  # seconds: many times those limits, on a machine that is busy with other things
CUTS: Final = st.lists(st.integers(0, 400), max_size=6)


@pytest.fixture(scope="module")
def patient() -> Iterator[PetStoreMock]:
    """A mock with the time limits that it has by default."""
    with PetStoreMock(self_check=True, api_key=KEY) as petstore:
        yield petstore


@pytest.fixture(scope="module")
def hasty() -> Iterator[PetStoreMock]:
    """A mock that gives up on a client soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("petstore_mock.transport.listener.WireServer", impatient)
        petstore = PetStoreMock(self_check=True, api_key=KEY)
        petstore.start()
    with petstore:
        yield petstore


def judge(answers: Sequence[Answer], entries: Sequence[Entry]) -> None:
    """Hold the answers of one connection to what is true of all."""
    for answer, entry in zip(answers, entries, strict=True):
        assert answer.status == entry.status
        assert answer.status < 500 or answer.status in {501, 505}
        if answer.status >= 400 and entry.method != "HEAD":
            error = json.loads(answer.body)
            assert error.keys() == {"code", "message", "status"}
            assert error["status"] == answer.status
            assert answer.fields["content-type"] == "application/json"


def judge_world(petstore: PetStoreMock, answers: Sequence[Answer]) -> None:
    """Hold the fake to what is true when the clients have gone: nothing broke, what was answered is what happened."""
    petstore.verify()
    assert len(petstore.pets) == sum(answer.status == 201 for answer in answers)
    assert len(petstore.journal) == len(answers)
    assert probe(petstore).status == 200


def probe(petstore: PetStoreMock) -> Answer:
    """Send a right request on a connection of its own; once more if the machine slept through a hasty limit."""
    with contextlib.suppress(EOFError, ConnectionError), RawClient(petstore.httpserver) as client:
        return client.get("/v1/pets", f"Authorization: Bearer {KEY}")
    with RawClient(petstore.httpserver) as client:
        return client.get("/v1/pets", f"Authorization: Bearer {KEY}")


def talk(petstore: PetStoreMock, sent: Sequence[bytes]) -> bytes:
    """Send pieces, say that no more comes, and return all that is answered."""
    with RawClient(petstore.httpserver) as client:
        for piece in sent:
            client.send(piece)
        client.socket.shutdown(socket.SHUT_WR)
        return client.rest()


@settings(max_examples=2 * settings().max_examples)  # a stream is quick, and only some of it is odd
@given(data=streams(), cuts=CUTS)
@example(data=b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", cuts=[])  # was 400 for a missing path: it is 405
@example(data=b"GET https://x/v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", cuts=[])  # this test knew the other scheme alone
def test_bytes_mean_to_the_fake_what_they_mean_to_h11(patient: PetStoreMock, data: bytes, cuts: list[int]) -> None:
    """What h11 takes is not refused but for a written reason; what it rejects is not carried out."""
    patient.reset()
    received = talk(patient, pieces(data, cuts))
    entries = list(patient.journal)
    answers = read_answers(received, [entry.method for entry in entries])
    judge(answers, entries)
    judge_world(patient, answers)
    compare(list(verdicts(data)), answers, entries)


def compare(theirs: Sequence[Verdict], answers: Sequence[Answer], entries: Sequence[Entry]) -> None:
    """Go through the requests of one connection as h11 and we read them, up to where we closed it."""
    for verdict, answer, entry in zip(theirs, answers, entries, strict=False):
        refused = entry.condition is not None and entry.condition.name in HTTP_REFUSALS
        closed = answer.fields.get("connection") == "close"
        if verdict.kind != "whole":
            if entry.executed:
                assert reason_to_take(verdict), f"h11 says {verdict.kind}: {verdict.why}; we carried it out: {entry!r}"
            return
        if refused:
            if answer.status in {400, 421, 501, 505}:
                assert reason_to_refuse(verdict, answer.status), f"refused without a written reason: {entry!r}"
        else:
            assert (entry.request.method, entry.request.target) == (verdict.method, reduced(verdict))
            if not (closed and verdict.values(b"expect")):  # then it was refused from its head, and the body not read
                assert entry.request.body == verdict.body
            keeps = keeps_alive(verdict)
            assert closed is not keeps or (closed and verdict.values(b"expect"))
        if closed:
            return
    assert len(entries) <= len(theirs), f"requests that h11 does not see: {entries[len(theirs) :]!r}"
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
    """Say whether the connection is kept after a valid request (RFC 9112 §9.3)."""
    listed = b",".join(verdict.values(b"connection")).lower().split(b",")
    options = {option.strip() for option in listed}
    if verdict.method == "CONNECT" or b"close" in options:
        return False
    return verdict.version == "1.1" or b"keep-alive" in options


@settings(max_examples=max(1, settings().max_examples // 10))  # each waits for its slowest limit
@given(crowd=st.lists(st.tuples(streams(), CUTS), min_size=1, max_size=16))
def test_connection_that_is_left_open_ends_within_its_limits(
    hasty: PetStoreMock, crowd: list[tuple[bytes, list[int]]]
) -> None:
    """Clients that send what they send and then wait: none waits for ever, and none disturbs another."""
    probe(hasty)
    first = hasty.journal.last.connection + 1
    hasty.reset()
    clients = [RawClient(hasty.httpserver) for _ in crowd]
    started = time.monotonic()
    try:
        for client, (data, cuts) in zip(clients, crowd, strict=True):
            with contextlib.suppress(ConnectionError):  # a limit of 0.1 s may pass while we are not run
                for piece in pieces(data, cuts):
                    client.send(piece)
        received = [client.rest() for client in clients]
    finally:
        for client in clients:
            client.socket.close()
    assert time.monotonic() - started < BOUND < PATIENCE
    entries = list(hasty.journal)
    answers: list[Answer] = []
    for number, got in enumerate(received, first):
        known = [entry for entry in entries if entry.connection == number]
        found = read_answers(got, [entry.method for entry in known])
        judge(found, known)
        answers += found
    judge_world(hasty, answers)
