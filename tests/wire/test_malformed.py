"""Bytes that HTTP does not allow: the response, its code, and the end of the connection."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from copy import copy

import pytest

from petstore_mock import PetStoreMock
from tests.wire.raw import AUTH, KEY, REX, Raw, get, post

GET = b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n"
POST = f"POST /v1/pets HTTP/1.1\r\nHost: x\r\n{AUTH}\r\nContent-Type: application/json\r\n".encode()
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"\r\n\r\n"
HOST = b"\r\nHost: x\r\n\r\n"

# The fake refuses each of these with 400 malformed_request, and closes the connection.
MALFORMED = (
    *(b"\xff\xfe\xfd", b" / HTTP/1.1" + HOST, b"GET" + END, b"\rGET / HTTP/1.1" + HOST),
    # HTTP/0.9, and invalid versions
    *(b"GET /\r\n", b"GET /" + HOST, b"GET / " + HOST, b"GET / http/1.1" + HOST, b"GET / HTTP/1." + HOST),
    *(b"GET / HTTP/1.1 " + HOST, b"GET\t/\tHTTP/1.1" + HOST),
    # a bare LF
    *(b"GET / HTTP/1.1\nHost: x\n\n", b"GET / HTTP/1.1\n", b"\nGET / HTTP/1.1" + HOST, GET + b"A: b\nC: d" + END),
    # fields: a bare CR, control characters, folded lines, names
    *(GET + one + END for one in (b"A: b\rC: d", b"A: b\0c", b"A\0b: c", b"A: b\x01", b"A: b\r\n c", b"A : b", b"Abc")),
    *(GET + b": b" + END, b"GET / HTTP/1.1\r\n Host: x" + END),
    # lengths
    *(
        POST + b"Content-Length:" + one + END + b"hello"
        for one in (b"", b" five", b" -5", b" +5", b" 0x5", b" 1_0", b" 99999999999999999999999999", b" 5, 5")
    ),
    *(POST + b"Content-Length: 5\r\nContent-Length: " + one + END + b"hello" for one in (b"5", b"6")),
    # a length with a transfer coding (RFC 9112 §6.1); codings that do not end in chunked: no body can be read (§6.3)
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked" + END + b"0" + END,
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5" + END + b"0" + END,
    POST + b"Content-Length: 5\r\nTransfer-Encoding: xchunked" + END,
    b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked" + END + b"0" + END,
    *(
        POST + b"Transfer-Encoding:" + one + END + b"0" + END
        for one in (b"", b" chunked, chunked", b" chunked\r\nTransfer-Encoding: chunked", b" gzip", b" chunked, gzip")
    ),
    POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip" + END,
    POST + b"transfer-encoding: identity" + END,
    # chunks and trailers
    *(CHUNKED + one for one in (b"g\r\n", b"-1\r\n", b"0x5\r\nhello\r\n", b"ffffffffffffffffff\r\n", b"\r\n")),
    *(CHUNKED + one + b"\r\n0" + END for one in (b"5 \r\nhello", b"5\nhello", b"5\r\nhello!", b"6\r\nhello")),
    *(CHUNKED + b"0\r\n" + one + END for one in (b"Content-Length: 5", b"A: b\r\n c")),
)
ODD_HOSTS = (b"x y", b"x/y", b"x:abc", b"[", b"::::", b"%zz", b"x:80:80", b"]x[", b"[::1]x", b"[x]", b"::1", b"u@x")
BROKEN_TARGETS = (
    *(b"GET ", b"GET  /", b"GET /a b", b"GET /\0", b"GET /\xc3\xa9", b"GET /?\xff", b"GET /\x7f"),
    *(b"GET http:///a", b"GET http://user@x/", b"GET http://x:abc/", b"GET http://[/"),
    b"GET http://:80/",  # RFC 9110 §4.2.1
)
BAD_HOSTS = (
    *(b"GET / HTTP/1.1\r\nHost: " + one + END for one in ODD_HOSTS),
    *(b"GET / HTTP/1.1" + END, b"GET http://x/ HTTP/1.1" + END, GET + b"Host: x" + END, GET + b"hOST: y" + END),
    b"GET / HTTP/1.0\r\nHost: x\r\nHost: x" + END,
)
VERSIONS = (
    *(b"GET / HTTP/" + one + HOST for one in (b"2.0", b"1.2", b"0.9", b"1.10")),
    *(b"OPTIONS / RTSP/1.0\r\nCSeq: 1" + END, b"PRI * HTTP/2.0" + END + b"SM" + END),
)
# The framing of these requests is valid.
ODD_TARGETS = (b"GET /#fragment", b"GET *", b"GET a", b"GET ftp://x/", b"CONNECT /", b"CONNECT x")
# Each of these refusals ends the connection.
FORBIDDEN = [
    *((one, 400, "malformed_request", "malformed_request") for one in MALFORMED),
    *((one + b" HTTP/1.1" + HOST, 400, "malformed_request", "malformed_target") for one in BROKEN_TARGETS),
    *((one, 400, "malformed_request", "bad_host") for one in BAD_HOSTS),
    *((one, 505, "http_version_not_supported", "unknown_http_version") for one in VERSIONS),
    (b"GET https://x/ HTTP/1.1" + HOST, 421, "misdirected_request", "misdirected_request"),  # RFC 9110 §7.4
    (b"GET HTTPS://x HTTP/1.1" + HOST, 421, "misdirected_request", "misdirected_request"),
    *(
        (POST + b"Transfer-Encoding: gzip" + one + END, 501, "not_implemented", "unknown_transfer_coding")
        for one in (b", chunked", b"\r\ntransfer-encoding: Chunked")
    ),
    (POST + b"Content-Length: 5\r\nExpect: 200-ok" + END, 417, "expectation_failed", "expectation_failed"),
]


@pytest.mark.parametrize(
    ("sent", "status", "code", "condition"),
    FORBIDDEN,
    ids=[repr(one[0].replace(POST, b"POST "))[:80] for one in FORBIDDEN],
)
def test_invalid_http_is_refused_and_ends_the_connection(
    client: Raw, petstore: PetStoreMock, sent: bytes, status: int, code: str, condition: str
) -> None:
    received = client.send(sent).response()
    assert (received.status, received.code, received.fields["connection"]) == (status, code, "close")
    assert client.is_closed()
    (entry,) = petstore.journal
    assert entry.condition is not None
    assert (entry.status, entry.condition.name, entry.executed, entry.is_violation) == (status, condition, False, True)
    assert entry.section == entry.condition.section
    assert petstore.pets == []


@pytest.mark.parametrize("line", ODD_TARGETS)
def test_target_in_a_wrong_form_is_400_and_keeps_the_connection(
    client: Raw, petstore: PetStoreMock, line: bytes
) -> None:
    received = client.call(line + b" HTTP/1.1" + HOST)
    assert (received.status, received.code) == (400, "malformed_request")
    (entry,) = petstore.journal
    assert entry.condition is not None
    assert (entry.condition.name, entry.executed, entry.is_violation) == ("malformed_target", False, True)
    if not line.startswith(b"CONNECT"):
        assert "connection" not in received.fields
        assert client.call(get()).status == 200


@pytest.mark.parametrize("method", [b"FOO", b"get", b"PROPFIND", b"DELETED", b"!#$%&'*+-.^_`|~"])
def test_unknown_method_is_501_and_keeps_the_connection(client: Raw, petstore: PetStoreMock, method: bytes) -> None:
    received = client.call(method + b" / HTTP/1.1" + HOST)
    assert (received.status, received.code, "connection" in received.fields) == (501, "not_implemented", False)
    (entry,) = petstore.journal
    assert entry.condition is not None
    assert (entry.condition.name, entry.executed, entry.is_violation) == ("unknown_method", False, True)
    assert entry.section == entry.condition.section
    assert client.call(get()).status == 200


def test_valid_hosts_are_accepted(client: Raw) -> None:
    named = (b"", b":80", b"x:", b"x:8080", b"127.0.0.1:1", b"a_b.c", b"a%20b")
    for host in (*named, b"[::1]", b"[::1]:80", b"[fe80::1%25lo]:80"):
        assert client.call(get().replace(b"Host: x", b"Host: " + host)).status == 200, host


def test_client_that_speaks_tls_is_refused_at_once(client: Raw, petstore: PetStoreMock) -> None:
    hello = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    received = client.send(hello.read()).response()
    assert (received.status, received.code) == (400, "malformed_request")
    assert "http://" in petstore.journal.last.detail
    assert client.is_closed()
    assert len(petstore.journal) == 1


@pytest.mark.parametrize(
    "line", [b"GET / HTTP/3.0\r\n", b"GET /\xff HTTP/1.1\r\n", b"GET /\r\n", b"GET / HTTP/1.1\n", b"\x16\x03"]
)
def test_invalid_head_is_refused_before_it_ends(client: Raw, settle: Callable[[], None], line: bytes) -> None:
    for byte in line:
        client.send(bytes([byte]))
    settle()
    assert client.response().status in {400, 505}


# The exchange of a refused request


@pytest.mark.parametrize(
    ("sent", "method", "target"),
    [
        (b"BREW /tea HTTP/1.1\r\nHost: x\r\nX-A: b" + END, "BREW", "/tea"),
        (b"DELETE /a HTTP/1.0\r\nHost: x", "DELETE", "/a"),
        (b"\0", "-", "-"),
        (b"GET\tA / HTTP/1.1" + HOST + b"HEAD /b HTTP/1.1" + HOST, "-", "-"),
        (CHUNKED + b"g\r\n", "POST", "/v1/pets"),
    ],
    ids=["whole", "half", "none", "not the next request", "body"],
)
def test_refused_request_is_journalled_as_far_as_it_arrived(
    dial: Callable[[], Raw], petstore: PetStoreMock, sent: bytes, method: str, target: str
) -> None:
    client = dial()
    assert client.call(get()).status == 200
    client.send(sent).half_close()
    assert client.response("POST").status in {400, 501}
    first, entry = petstore.journal
    assert (entry.method, entry.target) == (method, target)
    assert (entry.connection, entry.exchange) == (first.connection, 2)


def test_refusal_never_shows_a_key(client: Raw, petstore: PetStoreMock) -> None:
    sent = GET + f"Authorization: Bearer {KEY}\0".encode() + END
    assert KEY.encode() not in client.call(sent).body
    assert KEY not in json.dumps([petstore.journal.last.reason, petstore.journal.last.fields])


@pytest.mark.parametrize("size", range(170, 200, 5))
def test_refused_target_shows_no_part_of_a_key(client: Raw, petstore: PetStoreMock, size: int) -> None:
    client.call(b"GET /%b?x=%b HTTP/1.1" % (b"y" * size, KEY.encode()) + END)
    assert copy(petstore.journal.last).target == f"/{'y' * size}?x=***"


# HEAD: the response has no body (RFC 9110 §9.3.2)


HEADS = {
    505: [b"HEAD / HTTP/2.0" + HOST],
    414: [b"HEAD /" + b"a" * 20_000 + b" HTTP/1.1" + HOST, b"HEAD /" + b"a" * 20_000],
    431: [b"HEAD / HTTP/1.1\r\nX: " + b"a" * 70_000 + END],
    400: [
        *(b"HEAD /\xff HTTP/1.1" + HOST, b"HEAD /#here HTTP/1.1" + HOST, b"HEAD /\r\n", b"HEAD / HTTP/1.1" + END),
        *(b"HEAD / HTTP/1.1\r\nA: b\n", b"HEAD ", b"HEAD /v1/pe", b"HEAD / HTTP/1.1\r\nHost: x"),
        b"HEAD /#here HTTP/1.1\r\n",
    ],
}


@pytest.mark.parametrize("status", HEADS)
def test_refusal_of_head_has_no_body(dial: Callable[[], Raw], status: int) -> None:
    for sent in HEADS[status]:
        client = dial().send(sent).half_close()
        assert client.response("HEAD").status == status, sent[:40]
        assert client.is_closed()


# Order, and the end of the connection


def test_pipelined_refusal_arrives_in_order(client: Raw, petstore: PetStoreMock) -> None:
    client.send(get() * 2 + b"GET /a b HTTP/1.1" + HOST + get())
    assert client.statuses(3) == [200, 200, 400]
    assert client.is_closed()
    assert len(petstore.journal) == 3


@pytest.mark.parametrize(
    "part",
    [b"G", GET, post()[:-1], CHUNKED + b"5\r\nab", CHUNKED + b"1d\r\n" + REX + b"\r\n0\r\n"],
    ids=["line", "fields", "length", "chunk", "trailers"],
)
def test_incomplete_request_is_400_if_the_client_still_reads(client: Raw, petstore: PetStoreMock, part: bytes) -> None:
    client.send(part).half_close()
    assert client.response().status == 400
    assert client.is_closed()
    assert [(entry.status, entry.executed) for entry in petstore.journal] == [(400, False)]
    assert petstore.pets == []
