"""Faults that HTTP allows and that client libraries get wrong."""

from __future__ import annotations

import gzip
import json
import re
import time
import zlib
from collections.abc import Callable
from typing import Final

import pytest

from petstore_mock import PetStoreMock, faults
from tests.wire.raw import PATIENCE, Raw, eventually, get, post

# The operation's response arrives whole and true, so the operation is always executed.
WHOLE: Final = (
    faults.interim(103),
    faults.surplus(),
    faults.idle_408(),
    faults.many_fields(),
    faults.extra_fields({"Set-Cookie": ["a=1", "b=2"]}),
    faults.no_spaces(),
    faults.reason_phrase("Voilà"),
    faults.no_date(),
    faults.until_close(),
    faults.chunk_extras(),
)
UNPACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.decompress,
    "gzip-multi": gzip.decompress,
    "x-gzip": gzip.decompress,
    "deflate-zlib": zlib.decompress,
    "deflate-raw": lambda body: zlib.decompress(body, wbits=-zlib.MAX_WBITS),
    "double": lambda body: gzip.decompress(gzip.decompress(body)),
}


@pytest.mark.parametrize("at", ["before_commit", "after_commit"])
@pytest.mark.parametrize("fault", WHOLE, ids=lambda fault: fault.kind)
def test_a_fault_that_changes_no_content_never_prevents_the_operation(
    client: Raw, petstore: PetStoreMock, fault: faults.Fault, at: str
) -> None:
    petstore.inject(fault, on="createPet", times=1, at=at)  # type: ignore[arg-type]  # either of the two
    client.send(post())
    received = b""
    while b'"Rex"' not in received:
        received += client.socket.recv(65536)
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]
    entry = petstore.journal.last
    assert (entry.fault, entry.status, entry.executed) == (fault, 201, True)
    assert len(petstore.journal) == 1


@pytest.mark.parametrize(("version", "expected"), [("1.1", [103, 103, 103, 200]), ("1.0", [200])])
def test_interim_responses_come_before_the_final_one(
    client: Raw, petstore: PetStoreMock, version: str, expected: list[int]
) -> None:
    petstore.inject(faults.interim(103, times=3), times=1)
    client.send(get(version=version))
    statuses = [client.response().status for _ in expected]
    assert statuses == expected
    assert petstore.journal.last.outcome == "interim"


def test_a_surplus_response_comes_before_that_of_the_next_request(client: Raw, petstore: PetStoreMock) -> None:
    petstore.seed(name="Rex")
    petstore.inject(faults.surplus(), times=1)
    assert len(client.call(get()).json()) == 1
    client.send(get("/v1/pets/1"))
    assert client.response().json() == {"surplus": True}
    assert client.response().json()["name"] == "Rex"
    assert [entry.operation for entry in petstore.journal] == ["listPets", "getPet"]


def test_an_idle_connection_ends_with_a_408(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.idle_408(), times=1)
    first = client.call(get())
    assert (first.status, first.fields.get("connection")) == (200, None)
    last = client.response()
    assert (last.status, last.fields["connection"]) == (408, "close")
    assert client.is_closed()
    assert len(petstore.journal) == 1


@pytest.mark.parametrize("after", [0, 5, 10**6])
def test_a_body_stalls_before_its_last_byte(client: Raw, petstore: PetStoreMock, after: int) -> None:
    petstore.seed(name="Rex")
    whole = client.call(get()).body
    petstore.inject(faults.stall_body(after), times=1)
    assert client.send(get()).head().fields["content-length"] == str(len(whole))
    sent = whole[: min(after, len(whole) - 1)]
    while len(client.buffer) < len(sent):
        client.buffer += client.socket.recv(65536)
    assert client.buffer == sent
    assert client.is_silent()
    client.socket.close()
    eventually(lambda: petstore.journal.last.outcome == "stalled", "the outcome")


def test_an_endless_body_goes_on_until_the_client_leaves(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.endless_body(), times=1)
    head = client.send(get()).head()
    assert (head.status, head.fields.get("content-length")) == (200, None)
    received, deadline = client.buffer, time.monotonic() + PATIENCE
    while len(received) < 5_000_000:
        assert time.monotonic() < deadline
        received += client.socket.recv(1 << 20)
    assert received[:1000].startswith(b"[0,0,0")
    assert json.loads(received[: received.rindex(b",")] + b"]")[:3] == [0, 0, 0]
    client.socket.close()
    eventually(lambda: petstore.journal.last.outcome == "client gone", "the outcome")


@pytest.mark.parametrize("coding", UNPACK)
def test_an_encoded_body_has_the_right_content(client: Raw, petstore: PetStoreMock, coding: str) -> None:
    petstore.seed(name="Rex")
    petstore.inject(faults.encoded(coding), times=1)
    got = client.call(get())
    name = coding if coding == "x-gzip" else coding.partition("-")[0].replace("double", "gzip")
    assert got.fields["content-encoding"] == name
    assert json.loads(UNPACK[coding](got.body))[0]["name"] == "Rex"
    assert json.loads(petstore.journal.last.response_body)[0]["name"] == "Rex", "the journal has the content"
    assert client.call(get()).json()[0]["name"] == "Rex", "the connection is kept"


def test_an_encoded_body_may_end_early(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.encoded("gzip-cut"), times=1)
    with pytest.raises(EOFError):
        gzip.decompress(client.call(get()).body)


def test_many_fields_are_all_different(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.many_fields(1000), times=1)
    fields = client.call(get()).fields
    assert len(fields) > 1000
    assert sum(len(name) + len(value) + 4 for name, value in fields.items()) < 16 * 1024


def test_extra_fields_come_beside_the_own_ones_or_in_their_place(client: Raw, petstore: PetStoreMock) -> None:
    headers = {"Set-Cookie": ["a=1;;", "b=2"], "Content-Type": "Application/JSON", "X-Left": "9, 98"}
    petstore.inject(faults.extra_fields(headers), times=1)
    head, _, body = client.send(get("/v1/pets", "Connection: close")).rest().partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert [line for line in lines if line.startswith((b"Set-Cookie", b"X-Left"))] == [
        b"Set-Cookie: a=1;;",
        b"Set-Cookie: b=2",
        b"X-Left: 9, 98",
    ]
    assert [line for line in lines if line.lower().startswith(b"content-type")] == [b"Content-Type: Application/JSON"]
    assert body == b"[]"


def test_header_fields_may_have_no_space_after_the_colon(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.no_spaces(), times=1)
    head, _, body = client.send(get("/v1/pets", "Connection: close")).rest().partition(b"\r\n\r\n")
    assert b"\r\nContent-Type:application/json\r\n" in head
    assert b": " not in head
    assert body == b"[]"


@pytest.mark.parametrize("phrase", ["", "Voilà", "200"])
def test_the_reason_phrase_is_any_text(client: Raw, petstore: PetStoreMock, phrase: str) -> None:
    petstore.inject(faults.reason_phrase(phrase), times=1)
    got = client.call(get())
    assert (got.status, got.reason) == (200, phrase)


def test_a_response_may_lack_a_date(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.no_date(), times=1)
    assert "date" not in client.call(get()).fields
    assert "date" in client.call(get()).fields


def test_a_body_may_end_with_the_connection(client: Raw, petstore: PetStoreMock) -> None:
    petstore.seed(name="Rex")
    petstore.inject(faults.until_close(), times=1)
    head, _, body = client.send(get()).rest().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 OK\r\n")
    assert b"content-length" not in head.lower()
    assert json.loads(body)[0]["name"] == "Rex"


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_chunks_have_extensions_and_trailers(client: Raw, petstore: PetStoreMock, version: str) -> None:
    petstore.seed(name="Rex")
    petstore.inject(faults.chunk_extras(), times=1)
    text = client.send(get("/v1/pets", "Connection: close", version=version)).rest()
    assert (b'\r\n0;part="1; 2"\r\nX-Trace: 1\r\n' in text) is (version == "1.1")
    assert (b"Transfer-Encoding: Chunked" in text) is (version == "1.1")
    assert bool(re.search(rb'\r\n0[0-9A-F]+;part="1; 2"\r\n', text)) is (version == "1.1")
    assert (b"Content-Length" in text) is (version == "1.0")


@pytest.mark.parametrize("fault", [*WHOLE, faults.endless_body(), faults.stall_body()], ids=lambda one: one.kind)
def test_a_response_to_head_has_no_body(client: Raw, petstore: PetStoreMock, fault: faults.Fault) -> None:
    petstore.seed(name="Rex")
    petstore.inject(fault, times=1)
    # The next response begins where the one to HEAD ends.
    client.send(get(method="HEAD") + get("/v1/pets/1", "Connection: close"))
    received = client.rest()
    statuses = [line.split()[1] for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.")]
    assert next(status for status in statuses if status != b"103") == b"200"
    assert b"[" not in received
    if fault.kind == "stall_body":
        assert b"Rex" in received, "the connection is kept"
