"""Which clients take gzip, and which answers are compressed for them."""

from __future__ import annotations

import gzip

import pytest

from petstore_mock.messages.content_coding import coded
from petstore_mock.messages.request import RequestFields
from petstore_mock.messages.response import ApiResponse, Head, WireFormat

BODY = b'[{"id":1}]'


def answer(head: Head | None = None, *, body: bytes = BODY, wire_format: WireFormat | None = None) -> ApiResponse:
    response = ApiResponse(Head(200) if head is None else head, body, b"now")
    response.wire_format = WireFormat(gzip=True) if wire_format is None else wire_format
    return response


def asking(*values: bytes) -> RequestFields:
    return RequestFields((b"accept-Encoding", value) for value in values)


@pytest.mark.parametrize(
    "accepted",
    [
        *(b"gzip", b"GZIP", b"x-gzip", b"deflate, gzip", b"gzip;q=0.001", b" gzip ; Q=1.0 ,br"),
        *(b"*", b"br;q=0, *;q=0.5", b"identity;q=0.5, gzip;q=0.5", b"gzip;q=0, x-gzip", b"*;q=0, gzip"),
        *(b"identity, gzip", b"identity, gzip;q=1.0"),
    ],
)
def test_client_that_takes_gzip_gets_it(accepted: bytes) -> None:
    fields, body = coded(asking(accepted), answer())
    assert fields == (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    assert gzip.decompress(body) == BODY


@pytest.mark.parametrize(
    "accepted",
    [
        *(b"", b"identity", b"deflate, br", b"gzip;q=0", b"gzip;q=0.000", b"gzip;q=", b"gzip;q=x", b"gzip;level=9"),
        *(b"gzipped", b"*;q=0", b"gzip;q=0, *", b"identity, gzip;q=0.5", b"gzip;q=nan"),
    ],
)
def test_client_that_does_not_take_gzip_or_prefers_none_gets_none(accepted: bytes) -> None:
    assert coded(asking(accepted), answer()) == ((("Vary", "Accept-Encoding"),), BODY)


def test_client_may_spread_what_it_takes_over_fields() -> None:
    assert coded(asking(b"br", b"gzip"), answer())[0][0] == ("Content-Encoding", "gzip")


def test_answer_that_has_no_body_or_a_coding_of_its_own_is_left_alone() -> None:
    assert coded(asking(b"gzip"), answer(body=b"")) == ((), b"")
    assert coded(asking(b"gzip"), answer(Head(200, (("content-encoding", "br"),)))) == ((), BODY)


def test_answer_of_another_behaviour_is_left_alone() -> None:
    assert coded(asking(b"gzip"), answer(wire_format=WireFormat(chunked=True))) == ((), BODY)
