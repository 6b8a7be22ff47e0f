"""A fault is a value, and every form of it is derived from one table."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import faults
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.fault import Fault, coerce, from_data, schema_of
from petstore_mock.faults.kinds import KINDS, REQUIRED
from petstore_mock.http.response import Head
from petstore_mock.interface.schemas import violations

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS = [  # the fault, the call that makes it, its JSON
    (faults.respond(204), "respond(204)", 204),
    (faults.respond(418), "respond(418)", 418),
    (
        faults.respond(200, json=[1, "ü"]),
        "respond(200, json=[1, 'ü'])",
        {"kind": "respond", "status": 200, "json": [1, "ü"]},
    ),
    (
        faults.respond(200, body=b"\xff"),
        r"respond(200, body=b'\xff')",
        {"kind": "respond", "status": 200, "body_base64": "/w=="},
    ),
    (
        faults.respond(503, body="", headers={"Retry-After": "3"}, delay=(0.5, 1.0)),
        "respond(503, body='', headers={'Retry-After': '3'}, delay=(0.5, 1))",
        {"kind": "respond", "status": 503, "body": "", "headers": {"Retry-After": "3"}, "delay": [0.5, 1]},
    ),
    (faults.unauthorized(), "unauthorized()", 401),
    (faults.not_found(delay=1.0), "not_found(delay=1)", {"kind": "not_found", "delay": 1}),
    (faults.server_error(), "server_error(500)", 500),
    (faults.rate_limited(), "rate_limited(retry_after=1)", 429),
    (faults.rate_limited(None), "rate_limited(retry_after=None)", {"kind": "rate_limited", "retry_after": None}),
    (
        faults.rate_limited(datetime(2030, 1, 2, 3, 4, 5, 678)),  # noqa: DTZ001  # no zone means UTC
        "rate_limited(retry_after='2030-01-02T03:04:05Z')",
        {"kind": "rate_limited", "retry_after": "2030-01-02T03:04:05Z"},
    ),
    (faults.truncate(), "truncate(0.5)", {"kind": "truncate", "fraction": 0.5}),
    (faults.dribble(10.0), "dribble(10)", {"kind": "dribble", "bytes_per_second": 10}),
    (faults.tls.expired(), "tls.expired()", {"kind": "tls.expired"}),
    (
        faults.sequence(503, faults.reset()),
        "sequence(faults.server_error(503), faults.reset())",
        {"kind": "sequence", "faults": [503, {"kind": "reset"}]},
    ),
]


@pytest.mark.parametrize(("fault", "call", "data"), FORMS, ids=[call for _, call, _ in FORMS])
def test_forms_of_a_fault(fault: Fault, call: str, data: object) -> None:
    assert repr(fault) == f"faults.{call}"
    assert fault.to_data() == data
    assert from_data(json.loads(json.dumps(data))) == fault
    assert eval(repr(fault), {"faults": faults}) == fault
    assert pickle.loads(pickle.dumps(fault)) == fault == copy.deepcopy(fault)
    assert len({fault, from_data(data)}) == 1
    if isinstance(data, dict):
        assert violations(schema_of(fault.kind), data, "fault") == []


def test_a_line_of_text_shows_no_content() -> None:
    fault = faults.respond(200, body="secret", headers={"X-Key": "secret"})
    assert str(fault) == "respond(200, body=<6 bytes>, headers=<X-Key>)"
    assert str(faults.sequence(fault, 503)) == f"sequence({fault}, server_error(503))"


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_and_its_function_agree(kind: str) -> None:
    owner: Any = faults.tls if kind.startswith("tls.") else faults
    parameters = inspect.signature(getattr(owner, kind.removeprefix("tls."))).parameters
    assert list(parameters) == [argument.name for argument in KINDS[kind].arguments]
    if kind != "sequence":  # it takes any number of positional ones
        empty = inspect.Parameter.empty
        defaults = {name: one.default for name, one in parameters.items() if one.default is not empty}
        assert defaults == {one.name: one.default for one in KINDS[kind].arguments if one.default is not REQUIRED}
    assert KINDS[kind].sentence


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: faults.respond(99), "HTTP status from 200 to 599; got status=99"),
        (lambda: faults.respond(103), "a 1xx response is not final"),
        (lambda: faults.respond(True), "got status=True"),
        (lambda: faults.respond(200, json=1, body="a"), "got both"),
        (lambda: faults.respond(204, body="x"), "no body with status 204"),
        (lambda: faults.respond(200, json=float("nan")), "json to be a JSON value"),
        (lambda: faults.respond(200, headers={"a b": "c"}), "header field that HTTP allows"),
        (lambda: faults.respond(200, headers={"Content-Length": "3"}), "the fault truncate sends a wrong one"),
        (lambda: faults.server_error(400), "HTTP status from 500 to 599"),
        (lambda: faults.rate_limited(0.5), "whole seconds"),
        (lambda: faults.rate_limited(-1), "got retry_after=-1"),
        (lambda: faults.delay((2, 1)), r"seconds from 0 to 3600, or a pair \(low, high\)"),
        (lambda: faults.delay(float("nan")), "got seconds=nan"),
        (lambda: faults.delay(10**400), "seconds from 0 to 3600"),
        (lambda: faults.truncate(1), "at least 0 and below 1; got fraction=1"),
        (lambda: faults.dribble(0), "positive number of bytes per second"),
        (lambda: faults.sequence(), "one or more faults"),
        (lambda: faults.sequence(faults.sequence(503)), "no sequences themselves"),
        (lambda: faults.sequence(503, faults.tls.expired()), "faults of requests, or faults of TLS handshakes"),
        (lambda: coerce(faults.reset), r"did you mean faults.reset\(\)\?"),
        (lambda: from_data({"kind": "rest"}), r"did you mean reset\?"),
        (lambda: from_data("reset"), r'did you mean \{"kind": "reset"\}\?'),
        (lambda: from_data({"kind": "delay"}), "expected seconds of a fault of kind delay"),
        (lambda: from_data({"kind": "delay", "second": 1}), r"did you mean seconds\?"),
        (lambda: from_data({"kind": "respond", "status": 200, "body_base64": "*"}), "as base64"),
        (lambda: from_data({"kind": "sequence", "faults": 3}), "got faults=3"),
    ],
)
def test_wrong_arguments_are_refused(make: Callable[[], Fault], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        make()


def test_a_fault_does_not_change_with_its_arguments() -> None:
    value = {"a": [1]}
    fault = faults.respond(200, json=value)
    value["a"].append(2)
    assert fault.body == b'{"a": [1]}'


@pytest.mark.parametrize(
    ("fault", "flags"),
    [  # breaks the contract, arrives late, takes time, tells to wait
        (faults.not_found(), (False, False, False, False)),
        (faults.respond(503, body="x"), (True, False, False, False)),
        (faults.respond(200), (True, False, False, False)),
        (faults.server_error(503, delay=1), (False, True, True, False)),
        (faults.rate_limited(3), (False, False, False, True)),
        (faults.rate_limited(0), (False, False, False, False)),
        (faults.respond(503, headers={"retry-after": "soon"}), (False, False, False, True)),
        (faults.delay(1), (False, True, True, False)),
        (faults.hang(), (True, False, True, False)),
        (faults.reset(), (True, False, False, False)),
        (faults.sequence(faults.reset(), faults.dribble(5)), (True, True, True, False)),
    ],
    ids=str,
)
def test_what_follows_from_a_fault(fault: Fault, flags: tuple[bool, ...]) -> None:
    assert (fault.breaks_contract, fault.arrives_late, fault.takes_time, fault.tells_to_wait) == flags


def test_response_of_a_fault() -> None:
    assert faults.respond(502, body="<h1>").fields == (("Content-Type", "text/html; charset=utf-8"),)
    assert faults.respond(502, json=1).fields == (("Content-Type", "application/json"),)
    assert faults.rate_limited("2030-12-06").fields == (("Retry-After", "Fri, 06 Dec 2030 00:00:00 GMT"),)
    assert faults.rate_limited(None).fields == ()
    assert faults.delay((1, 2)).delay == (1, 2)
    assert faults.malformed_json().corrupt(Head(200), b"[1234]")[1] == b'[12"\\'
    head, body = faults.wrong_content_type().corrupt(Head(200, [("Content-Type", "application/json")]), b"[]")
    assert (head.get("content-type"), body) == ("text/html; charset=utf-8", b"[]")
    delivery = faults.truncate(0.25).delivery
    assert delivery is not None
    assert (delivery.kind, delivery.value) == ("truncate", 0.25)
