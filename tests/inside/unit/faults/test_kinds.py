"""Faults as values: what each says, and which can't be made."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMockError, faults
from petstore_mock.faults.kinds import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

REPLACING = [
    faults.respond(503),
    faults.unauthorized(),
    faults.not_found(),
    faults.bad_request(),
    faults.server_error(),
    faults.rate_limited(),
    faults.hang(),
    faults.reset(),
    faults.empty_reply(),
]
CORRUPTING = [
    faults.truncate(),
    faults.dribble(10),
    faults.malformed_json(),
    faults.wrong_content_type(),
    faults.malformed_chunk(),
]
NEEDS_SOCKET = {"hang", "reset", "empty_reply", "truncate", "dribble", "malformed_chunk"}


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (faults.respond(503), "respond(503)"),
        (faults.respond(503, body="x"), "respond(503, body=<1 bytes>)"),
        (faults.respond(503, body=b""), "respond(503, body=<0 bytes>)"),
        (faults.respond(418, headers={"X-Key": "hunter2"}), "respond(418, headers=<X-Key>)"),
        (faults.respond(418, json={"a": 1}), "respond(418, json=<8 bytes>)"),
        (
            faults.respond(418, json=1, headers={"content-type": "text/x"}),
            "respond(418, body=<1 bytes>, headers=<content-type>)",
        ),
        (faults.server_error(502), "server_error(502)"),
        (faults.server_error(502, delay=0.2), "server_error(502, delay=0.2)"),
        (faults.unauthorized(delay=(0.1, 2)), "unauthorized(delay=(0.1, 2))"),
        (faults.rate_limited(0, delay=1), "rate_limited(retry_after=0, delay=1)"),
        (faults.respond(418, body="", delay=0), "respond(418, body=<0 bytes>, delay=0)"),
        (faults.unauthorized(), "unauthorized()"),
        (faults.rate_limited(), "rate_limited(retry_after=1)"),
        (faults.rate_limited(retry_after=30), "rate_limited(retry_after=30)"),
        (faults.rate_limited(retry_after=None), "rate_limited(retry_after=None)"),
        (faults.rate_limited("2030-12-06"), "rate_limited(retry_after='2030-12-06T00:00:00Z')"),
        (faults.delay(0.5), "delay(0.5)"),
        (faults.delay((0.1, 2)), "delay((0.1, 2))"),
        (faults.delay(0), "delay(0)"),
        (faults.truncate(0), "truncate(0)"),
        (faults.truncate(), "truncate(0.5)"),
        (faults.dribble(100), "dribble(100)"),
        (faults.dribble(0.5), "dribble(0.5)"),
        (faults.hang(), "hang()"),
        (faults.sequence(503, faults.reset()), "sequence(server_error(503), reset())"),
    ],
)
def test_fault_reads_as_it_was_written_and_shows_no_body(fault: faults.Fault, text: str) -> None:
    assert (str(fault), repr(fault)) == (text, f"faults.{text}")


@pytest.mark.parametrize(
    "code",
    [
        "faults.respond(503, body='x', headers={'X-Key': 'hunter2'})",
        "faults.respond(418, json={'a': [1, 'ö']}, delay=(0.1, 2))",
        "faults.respond(418, body=b'\\xff')",
        "faults.rate_limited(retry_after='2030-12-06T00:00:00Z')",
        "faults.server_error(503, delay=0.2)",
        "faults.dribble(0.5)",
        "faults.sequence(faults.server_error(503), faults.delay((1, 2)), faults.reset())",
    ],
)
def test_code_of_a_fault_is_the_call_that_makes_it(code: str) -> None:
    assert eval(code, {"faults": faults}).code() == code  # the code above


@pytest.mark.parametrize("fault", [*REPLACING, *CORRUPTING, faults.delay(1)], ids=str)
def test_fault_says_what_it_does_to_the_answer(fault: faults.Fault) -> None:
    assert fault.loses_answer == (fault in REPLACING)
    assert fault.needs_socket == (fault.kind in NEEDS_SOCKET)
    kept = {"delay", "dribble"}  # what only slows is the interface's answer in the end
    assert fault.breaks_contract == (fault.kind not in kept and (fault in CORRUPTING or fault.kind in NEEDS_SOCKET))
    assert faults.sequence(500, fault).needs_socket == fault.needs_socket


LATE = [
    faults.respond(200, delay=1),
    faults.unauthorized(delay=1),
    faults.not_found(delay=1),
    faults.bad_request(delay=1),
    faults.server_error(delay=(0, 1)),
    faults.rate_limited(0, delay=1),
    faults.delay(1),
]


@pytest.mark.parametrize("fault", [*REPLACING, *CORRUPTING, *LATE], ids=str)
def test_fault_says_what_time_it_takes(fault: faults.Fault) -> None:
    assert fault.arrives_late == (fault in LATE or fault.kind == "dribble")
    assert fault.takes_time == (fault.arrives_late or fault.kind == "hang")
    for found in (faults.sequence(500, fault), faults.sequence(fault, 500)):
        assert (found.arrives_late, found.takes_time) == (fault.arrives_late, fault.takes_time)


@pytest.mark.parametrize("fault", [*CORRUPTING, faults.delay(1)], ids=str)
def test_fault_says_whether_the_answer_can_be_read_and_is_true(fault: faults.Fault) -> None:
    assert fault.readable == (fault.kind in {"delay", "dribble", "wrong_content_type"})
    assert fault.only_slows == (fault.kind in {"delay", "dribble"})
    assert fault.effect


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (faults.rate_limited(1), True),
        (faults.rate_limited(0), False),
        (faults.rate_limited(None), False),
        (faults.rate_limited("2001-01-01"), False),
        (faults.rate_limited("2999-01-01"), True),
        (faults.respond(503, headers={"retry-after": "9"}), True),
        (faults.respond(503, headers={"Retry-After": "0"}), False),
        (faults.server_error(503, delay=1), False),
    ],
    ids=str,
)
def test_fault_says_whether_it_tells_the_client_to_wait(fault: faults.Fault, told: bool) -> None:
    assert fault.tells_to_wait == faults.sequence(500, fault).tells_to_wait == told


def test_faults_are_compared_by_what_they_do() -> None:
    every: list[faults.Fault] = [*REPLACING, *CORRUPTING, *LATE, faults.respond(401), faults.sequence(503)]
    assert len({*every, faults.reset(), faults.server_error(delay=(0, 1))}) == len(every)


@pytest.mark.parametrize("fault", [*REPLACING, *CORRUPTING, *LATE], ids=str)
def test_faults_stay_what_they_are(fault: faults.Fault) -> None:
    for name in ("status", "fraction", "kind", "other"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(fault, name, 1)


def test_body_of_its_own_breaks_the_contract() -> None:
    assert faults.respond(503, body="<p>").breaks_contract
    assert not faults.respond(503).breaks_contract


def test_every_kind_is_the_name_of_its_function() -> None:
    every = [*REPLACING, *CORRUPTING, faults.delay(1)]
    assert all(callable(getattr(faults, fault.kind)) for fault in every)
    assert sorted(fault.kind for fault in every) == list(faults.KINDS)
    assert set(faults.__all__) == {*faults.KINDS, "Fault", "coerce", "sequence", "tls"}


@pytest.mark.parametrize("name", faults.tls.__all__)
def test_a_fault_of_the_handshake_is_data_code_and_words(name: str) -> None:
    fault = getattr(faults.tls, name)()
    assert fault.meets_handshakes
    assert fault.needs_socket
    assert fault.delivery is None
    assert fault.effect
    assert (str(fault), fault.code()) == (f"tls.{name}()", f"faults.tls.{name}()")
    assert faults.to_data(fault) == {"kind": f"tls.{name}"}
    assert faults.from_data({"kind": f"tls.{name}"}) == fault
    assert fault.takes_time == (name == "handshake_hang")
    assert faults.sequence(fault, fault).meets_handshakes


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "unauthorized"),
        (404, "not_found"),
        (400, "bad_request"),
        (429, "rate_limited"),
        (500, "server_error"),
        (599, "server_error"),
        (403, "respond"),
        (302, "respond"),
        (200, "respond"),
    ],
)
def test_number_becomes_the_fault_of_that_status(status: int, kind: str) -> None:
    fault = faults.coerce(status)
    assert isinstance(fault, Answer)
    assert (fault.kind, fault.status) == (kind, status)


def test_fault_stays_what_it_is() -> None:
    fault = faults.reset()
    assert faults.coerce(fault) is fault


@pytest.mark.parametrize(
    ("options", "body", "content_type"),
    [
        ({}, None, None),
        ({"json": {"a": "ö"}}, '{"a": "ö"}'.encode(), "application/json"),
        ({"json": []}, b"[]", "application/json"),
        ({"body": "<h1>Bad gateway</h1>"}, b"<h1>Bad gateway</h1>", "text/html; charset=utf-8"),
        ({"body": "upstream"}, b"upstream", "text/plain; charset=utf-8"),
        ({"body": b"\xff"}, b"\xff", "text/plain; charset=utf-8"),
        ({"body": ""}, b"", None),
        ({"json": {}, "headers": {"content-type": "text/x"}}, b"{}", "text/x"),
    ],
)
def test_respond_takes_any_body_and_names_its_type(
    options: dict[str, Any], body: bytes | None, content_type: str | None
) -> None:
    fault = faults.respond(503, **options)
    assert fault.body == body
    assert {name.lower(): value for name, value in fault.fields}.get("content-type") == content_type


@pytest.mark.parametrize(
    ("retry_after", "value"),
    [
        (1, "1"),
        (0, "0"),
        (2.0, "2"),
        ("2030-12-05", "Thu, 05 Dec 2030 00:00:00 GMT"),
        (date(2030, 12, 5), "Thu, 05 Dec 2030 00:00:00 GMT"),
        (datetime(2030, 12, 5, 12, tzinfo=UTC), "Thu, 05 Dec 2030 12:00:00 GMT"),
    ],
)
def test_retry_after_is_seconds_or_a_date(retry_after: float | str | date, value: str) -> None:
    assert faults.rate_limited(retry_after).fields == (("Retry-After", value),)


def test_retry_after_can_be_left_out() -> None:
    assert faults.rate_limited(None).fields == ()


NESTED: list[Any] = []  # deeper than json can go
for _ in range(100_000):
    NESTED = [NESTED]

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "status 99": (lambda: faults.respond(99), r"status from 200 to 599; got status=99 \(int\)$"),
    "status 100": (lambda: faults.respond(100), r"got status=100 \(int\); 1xx answers are not final ones"),
    "status 600": (lambda: faults.respond(600), "got status=600"),
    "status text": (lambda: faults.respond("503"), r"got status='503' \(str\)"),  # type: ignore[arg-type]
    "status true": (lambda: faults.respond(True), r"got status=True \(bool\)"),  # noqa: FBT003
    "two bodies": (lambda: faults.respond(500, json={}, body=""), "json= or body= or neither, .*; got both"),
    "no json": (lambda: faults.respond(500, json={1, 2}), "expected json= to be a JSON value; .*: body= takes"),
    "nan": (lambda: faults.respond(500, json=float("nan")), "expected json= to be a JSON value"),
    "deep json": (
        lambda: faults.respond(500, json=NESTED),
        "expected json= to be a JSON value; (maximum recursion|Stack overflow)",
    ),
    "body number": (lambda: faults.respond(500, body=5), r"bytes or text; got body=5 \(int\)"),  # type: ignore[arg-type]
    "body of 204": (lambda: faults.respond(204, body="x"), r"no body with status 204, .*RFC 9110"),
    "header text": (lambda: faults.respond(500, headers="A: 1"), "headers= as a mapping"),  # type: ignore[arg-type]
    "header newline": (lambda: faults.respond(500, headers={"A": "1\r\nB: 2"}), r"HTTP allows .*got 'A': '1\\r\\nB"),
    "header name": (lambda: faults.respond(500, headers={"A\r\nB": "1"}), "a header field that HTTP allows"),
    "header blank": (lambda: faults.respond(500, headers={"A B": "1"}), "a header field that HTTP allows"),
    "header no latin": (lambda: faults.respond(500, headers={"A": "€"}), "a header field that HTTP allows"),
    "framing": (lambda: faults.respond(500, headers={"content-length": "1"}), r"no content-length .*: truncate\(\)"),
    "coding": (lambda: faults.respond(500, headers={"Transfer-Encoding": "x"}), r"no Transfer-Encoding .*: malformed"),
    "connection": (lambda: faults.respond(500, headers={"Connection": "close"}), r"no Connection .*: the gap"),
    "date": (lambda: faults.respond(500, headers={"Date": "x"}), r"no Date .*: clock\.travel_to\(\)"),
    "server error 404": (lambda: faults.server_error(404), r"from 500 to 599; got status=404.*respond\(\) takes any"),
    "retry negative": (lambda: faults.rate_limited(-1), r"whole seconds, .*got retry_after=-1 \(int\)"),
    "retry fraction": (lambda: faults.rate_limited(0.5), r"got retry_after=0\.5"),
    "retry nan": (lambda: faults.rate_limited(float("nan")), "got retry_after=nan"),
    "retry infinite": (lambda: faults.rate_limited(float("inf")), "got retry_after=inf"),
    "retry true": (lambda: faults.rate_limited(True), r"got retry_after=True \(bool\)"),  # noqa: FBT003
    "retry text": (lambda: faults.rate_limited("soon"), "a datetime or ISO 8601 text; got retry_after='soon'"),
    "delay negative": (lambda: faults.delay(-1), r"seconds from 0 to 3600, or a \(low, high\) pair.*got seconds=-1"),
    "delay endless": (lambda: faults.delay(float("inf")), "got seconds=inf"),
    "delay text": (lambda: faults.delay("1"), "got seconds='1'"),  # type: ignore[arg-type]
    "delay backwards": (lambda: faults.delay((2, 1)), r"got seconds=\(2, 1\)"),
    "late negative": (lambda: faults.server_error(delay=-1), r"seconds from 0 to 3600, .*; got delay=-1$"),
    "late true": (lambda: faults.respond(200, delay=True), "got delay=True"),
    "late backwards": (lambda: faults.not_found(delay=(2, 1)), r"got delay=\(2, 1\)"),
    "delay triple": (lambda: faults.delay((1, 2, 3)), r"got seconds=\(1, 2, 3\)"),  # type: ignore[arg-type]
    "truncate all": (lambda: faults.truncate(1), "at least 0 and below 1; got fraction=1"),
    "truncate nan": (lambda: faults.truncate(float("nan")), "got fraction=nan"),
    "retry huge": (lambda: faults.rate_limited(10**400), "got retry_after=1000"),
    "delay huge": (lambda: faults.delay(10**400), "got seconds=1000"),
    "truncate huge": (lambda: faults.truncate(10**400), "got fraction=1000"),
    "dribble huge": (lambda: faults.dribble(10**400), "got bytes_per_second=1000"),
    "header of none": (lambda: faults.respond(500, headers={"A": None}), "text to text; got 'A': None"),  # type: ignore[dict-item]
    "dribble zero": (lambda: faults.dribble(0), "a positive number of bytes per second; got bytes_per_second=0"),
    "empty sequence": (faults.sequence, r"one or more faults; got sequence\(\) without any"),
    "nested sequence": (lambda: faults.sequence(faults.sequence(500)), "that are no sequences themselves"),
    "function": (lambda: faults.coerce(faults.reset), r"Did you mean faults\.reset\(\)\?"),
    "text": (lambda: faults.coerce("503"), r"an HTTP status or a fault .*; got fault='503' \(str\)"),
    "boolean": (lambda: faults.coerce(True), r"got fault=True \(bool\)"),  # noqa: FBT003
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_fault_that_cannot_be_made_says_what_could(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(PetStoreMockError, match=words):
        make()


def test_media_type_of_a_chosen_answer_is_named_once() -> None:
    chosen = faults.respond(500, body="<p>", headers={"content-TYPE": "text/html"})
    assert chosen.fields == (("content-TYPE", "text/html"),)
