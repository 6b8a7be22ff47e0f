"""The host that a client names in its TLS hello: read from real ones, cut and spoilt."""

from __future__ import annotations

import contextlib
import random
import ssl

import pytest

from petstore_mock.transport.client_hello import server_name_of


def hello_of(name: str | None, *protocols: str) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.set_alpn_protocols(list(protocols))
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def in_records(hello: bytes, size: int) -> bytes:
    """Cut what one record holds into records of ``size`` bytes (RFC 8446 §5.1)."""
    content = hello[5:]
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    return b"".join(hello[:3] + len(part).to_bytes(2, "big") + part for part in parts)


@pytest.mark.parametrize("name", ["localhost", "a.b-c.example", "x" * 63])
def test_a_real_hello_names_its_host(name: str) -> None:
    hello = hello_of(name, "h2", "http/1.1")
    assert server_name_of(hello) == name
    assert server_name_of(in_records(hello, 7)) == name
    assert server_name_of(hello + b"\x14\x03\x03\x00\x01\x01") == name  # what else came with it


def test_an_address_is_no_name() -> None:
    assert server_name_of(hello_of("127.0.0.1")) is None
    assert server_name_of(hello_of(None)) is None


def test_a_hello_that_has_not_come_whole_names_it_once_the_name_is_there() -> None:
    hello = hello_of("localhost")
    known = [server_name_of(hello[:end]) for end in range(len(hello) + 1)]
    assert set(known) == {None, "localhost"}
    assert known == sorted(known, key=lambda name: name is not None), "once it is known it stays so"


def test_what_is_no_ascii_is_escaped() -> None:
    hello = hello_of("localhost").replace(b"localhost", b"loc\xffl\x00ost")
    assert server_name_of(hello) == "loc\\xffl\x00ost"


def test_bytes_that_are_no_hello_name_nothing_and_raise_nothing() -> None:
    hello = hello_of("localhost")
    drawn = random.Random(1)
    for _ in range(2000):
        spoilt = bytearray(hello)
        for _ in range(drawn.randint(1, 4)):
            spoilt[drawn.randrange(len(spoilt))] = drawn.randrange(256)
        assert isinstance(server_name_of(bytes(spoilt)), str | None)
    for other in (
        b"",
        b"\x16",
        b"\x16\x03\x01\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
    ):
        assert server_name_of(other) is None
