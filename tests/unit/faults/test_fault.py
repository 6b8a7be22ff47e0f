"""Faults are values, and one table determines all of their forms."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import re
from datetime import datetime
from typing import Any

import pytest

from petstore_mock import faults
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.fault import Fault, coerce, schema_of
from petstore_mock.faults.kinds import KINDS
from petstore_mock.http.response import Head, Response
from petstore_mock.interface.schemas import violations
from petstore_mock.transport.delivery import DELIVERIES

# The call that makes a fault, and its JSON.
FORMS: dict[str, object] = {
    "respond(204)": 204,
    "respond(200, json=[1, 'ü'])": {"kind": "respond", "status": 200, "json": [1, "ü"]},
    r"respond(200, body=b'\xff')": {"kind": "respond", "status": 200, "body_base64": "/w=="},
    "respond(503, body='', headers={'X-Key': 'hunter2'}, delay=(0.5, 1))": {
        "kind": "respond",
        "status": 503,
        "body": "",
        "headers": {"X-Key": "hunter2"},
        "delay": [0.5, 1],
    },
    "unauthorized()": 401,
    "not_found(delay=1)": {"kind": "not_found", "delay": 1},
    "bad_request()": 400,
    "server_error(500)": 500,
    "server_error(502, delay=0.2)": {"kind": "server_error", "status": 502, "delay": 0.2},
    "rate_limited(retry_after=1)": 429,
    "rate_limited(retry_after=None)": {"kind": "rate_limited", "retry_after": None},
    "rate_limited(retry_after='2030-01-02T03:04:05Z')": {
        "kind": "rate_limited",
        "retry_after": "2030-01-02T03:04:05Z",
    },
    "delay((0.1, 2))": {"kind": "delay", "seconds": [0.1, 2]},
    "delay(0)": {"kind": "delay", "seconds": 0},
    "truncate(0.5)": {"kind": "truncate", "fraction": 0.5},
    "dribble(10)": {"kind": "dribble", "bytes_per_second": 10},
    **{f"{kind}()": {"kind": kind} for kind, row in KINDS.items() if not row.arguments},
    "interim(103, times=1)": {"kind": "interim", "status": 103, "times": 1},
    "stall_body(after=25)": {"kind": "stall_body", "after": 25},
    "encoded('gzip-multi')": {"kind": "encoded", "coding": "gzip-multi"},
    "many_fields(150)": {"kind": "many_fields", "n": 150},
    "extra_fields(headers={'Link': ['a', 'b']})": {"kind": "extra_fields", "headers": {"Link": ["a", "b"]}},
    "reason_phrase('Très bien')": {"kind": "reason_phrase", "phrase": "Très bien"},
    "sequence(faults.server_error(503), faults.reset())": {"kind": "sequence", "faults": [503, {"kind": "reset"}]},
}
# Texts that hide parts of the call.
TEXTS = {
    "extra_fields(headers={'Link': ['a', 'b']})": "extra_fields(headers=<Link>)",
    "respond(200, json=[1, 'ü'])": "respond(200, json=<8 bytes>)",
    r"respond(200, body=b'\xff')": "respond(200, body=<1 bytes>)",
    "respond(503, body='', headers={'X-Key': 'hunter2'}, delay=(0.5, 1))": (
        "respond(503, body=<0 bytes>, headers=<X-Key>, delay=(0.5, 1))"
    ),
    "sequence(faults.server_error(503), faults.reset())": "sequence(server_error(503), reset())",
}


@pytest.mark.parametrize("call", FORMS)
def test_forms_of_a_fault(call: str) -> None:
    fault, data = eval(f"faults.{call}", {"faults": faults}), FORMS[call]
    assert repr(fault) == f"faults.{call}"
    assert str(fault) == TEXTS.get(call, call)
    assert fault.to_data() == data
    assert coerce(json.loads(json.dumps(data))) == fault
    assert pickle.loads(pickle.dumps(fault)) == fault == copy.deepcopy(fault)
    assert len({fault, coerce(data)}) == 1
    assert [other for other in FORMS if eval(f"faults.{other}", {"faults": faults}) == fault] == [call]
    with pytest.raises((AttributeError, TypeError)):
        fault.kind = 1
    if isinstance(data, dict):
        components: dict[str, Any] = {"components": {"schemas": {"Fault": {}}}}  # a sequence refers to Fault
        assert violations(schema_of(fault.kind) | components, data, "fault") == []


def test_every_kind_has_a_form() -> None:
    assert {call.partition("(")[0] for call in FORMS} == {*KINDS}
    assert {kind.partition(".")[0] for kind in KINDS} == {*faults.__all__} - {"Fault", "coerce"}


def test_each_kind_that_needs_a_socket_has_one_way_to_be_sent() -> None:
    kinds = {kind for kind, row in KINDS.items() if row.needs_socket}
    assert {kind for kind in kinds if KINDS[kind].changes is None} == {*DELIVERIES}


def test_equivalent_arguments_make_equal_faults() -> None:
    moment = datetime(2030, 1, 2, 3, 4, 5, 678)  # noqa: DTZ001  # no zone means UTC
    assert faults.rate_limited(moment) == faults.rate_limited("2030-01-02T03:04:05+00:00")
    assert {faults.delay(2.0), faults.delay(2), faults.delay((2, 2))} == {faults.delay(2)}
    assert faults.dribble(10.0) == faults.dribble(10)


NESTED: list[Any] = []  # too deep for the json module
for _ in range(100_000):
    NESTED = [NESTED]


def respond(status: object = 500, **given: object) -> dict[str, Any]:
    return {"kind": "respond", "status": status, **given}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *[(respond(status), f"got status={status!r}") for status in (99, 100, 103, 600, "503", True)],
        (respond(json={}, body=""), "got both"),
        (respond(204, body="x"), "no body with status 204"),
        (respond(json={1, 2}), "type set is not JSON"),
        (respond(json=float("nan")), "json to be a JSON value.*not JSON compliant"),
        (respond(json=NESTED), "to be a JSON value"),
        (respond(body=5), "body=5"),
        (respond(body_base64="*"), "expected base64 text as body_base64"),
        (respond(body="x", body_base64="eA=="), "got both"),
        (respond(headers="A: 1"), "headers="),
        *[
            (
                respond(headers={name: value}),
                f"header field that HTTP allows.*{re.escape(repr(name))}: {re.escape(repr(value))}",
            )
            for name, value in {"A": "1\r\nB: 2", "A B": "1", "B": "€", "C": None}.items()
        ],
        *[
            (respond(headers={name: "1"}), f"{name} .*because the fake sets it")
            for name in ("content-length", "Transfer-Encoding", "Connection", "Date")
        ],
        (respond(delay=True), "delay=True"),
        ({"kind": "server_error", "status": 404}, "HTTP status from 500 to 599; got status=404"),
        ({"kind": "server_error", "delay": -1}, "delay=-1"),
        *[
            ({"kind": "rate_limited", "retry_after": value}, f"retry_after={str(value)[:4]!s}")
            for value in (-1, 0.5, float("inf"), True, 10**400)
        ],
        ({"kind": "rate_limited", "retry_after": "soon"}, "retry_after='soon'"),
        ({"kind": "delay"}, "expected the argument seconds of a fault of kind delay"),
        ({"kind": "delay", "second": 1}, r"did you mean 'seconds'\?"),
        *[
            ({"kind": "delay", "seconds": value}, re.escape(f"got seconds={value!r}"))
            for value in (-1, float("inf"), float("nan"), "1", (2, 1), (1, 2, 3))
        ],
        ({"kind": "delay", "seconds": (2, 1)}, r"seconds from 0 to 3600, or a pair \(low, high\)"),
        ({"kind": "delay", "seconds": 10**400}, "got seconds=1000"),
        ({"kind": "truncate", "fraction": 1}, "at least 0 and below 1; got fraction=1"),
        ({"kind": "truncate", "fraction": float("nan")}, "fraction=nan"),
        ({"kind": "dribble", "bytes_per_second": 0}, "positive number of bytes per second"),
        *[
            ({"kind": "interim", "status": status}, f"status 100, 102 or 103; got status={status!r}")
            for status in (101, 200, True, "103")
        ],
        ({"kind": "interim", "status": 103, "times": 0}, "got times=0"),
        ({"kind": "many_fields", "n": 0}, "got n=0"),
        ({"kind": "many_fields", "n": 1001}, "from 1 to 1000; got n=1001"),
        ({"kind": "stall_body", "after": -1}, "got after=-1"),
        ({"kind": "encoded", "coding": "gzip-mult"}, r"did you mean 'gzip-multi'\?"),
        ({"kind": "reason_phrase", "phrase": "a\r\nb"}, "a text that HTTP allows"),
        ({"kind": "reason_phrase", "phrase": "€"}, "a text that HTTP allows"),
        ({"kind": "sequence", "faults": []}, "one or more faults"),
        ({"kind": "sequence", "faults": [{"kind": "sequence", "faults": [503]}]}, "faults that are not sequences"),
        (
            {"kind": "sequence", "faults": [503, {"kind": "tls.expired"}]},
            "faults of requests, or only faults of TLS handshakes",
        ),
        ({"kind": "rest"}, r"did you mean 'reset'\?"),
        (
            {"kind": "respond", "statu": 1, "deley": 1, "jsn": 1},
            "of kind respond: status, json, body, headers, delay, body_base64; got statu",
        ),
    ],
    ids=itertools.count(),
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        coerce(wrong)
    kind, arguments = wrong["kind"], {name: value for name, value in wrong.items() if name != "kind"}
    if hasattr(faults, kind) and kind != "sequence" and "body_base64" not in arguments:
        with pytest.raises((PetStoreMockError, TypeError)):
            getattr(faults, kind)(**arguments)


def test_a_wrong_call_names_the_function() -> None:
    respond: Any = faults.respond
    for given in ({}, {"status": 200, "boddy": ""}):
        with pytest.raises(TypeError, match=r"respond\(\) "):
            respond(**given)


def test_a_function_that_was_not_called_is_refused() -> None:
    with pytest.raises(PetStoreMockError, match=r"did you mean faults.reset\(\)\?"):
        coerce(faults.reset)


def test_a_fault_copies_its_arguments() -> None:
    value = {"a": [1]}
    fault = faults.respond(200, json=value)
    value["a"].append(2)
    assert fault.body == b'{"a":[1]}'


@pytest.mark.parametrize(
    ("fault", "flags"),
    [  # breaks the contract, takes time, tells the client to wait
        (faults.not_found(), (False, False, False)),
        (faults.respond(503, body="x"), (True, False, False)),
        (faults.respond(200), (True, False, False)),
        (faults.server_error(503, delay=1), (False, True, False)),
        (faults.rate_limited(3), (False, False, True)),
        (faults.rate_limited(0), (False, False, False)),
        (faults.respond(503, headers={"retry-after": "soon"}), (False, False, True)),
        (faults.delay(1), (False, True, False)),
        (faults.hang(), (True, True, False)),
        (faults.reset(), (True, False, False)),
        (faults.sequence(faults.reset(), faults.dribble(5)), (True, True, False)),
    ],
    ids=str,
)
def test_flags_of_a_fault(fault: Fault, flags: tuple[bool, ...]) -> None:
    assert (fault.breaks_contract, fault.takes_time, fault.tells_to_wait) == flags


def test_response_of_a_fault() -> None:
    assert faults.respond(502, body="<h1>").fields == (("Content-Type", "text/html; charset=utf-8"),)
    assert faults.respond(502, json=1).fields == (("Content-Type", "application/json"),)
    assert faults.rate_limited("2030-12-06").fields == (("Retry-After", "Fri, 06 Dec 2030 00:00:00 GMT"),)
    assert faults.rate_limited(None).fields == ()
    assert faults.delay((1, 2)).delay == (1, 2)
    plain = Response(Head(200, [("Content-Type", "application/json")]), b"[1234]", b"")
    assert faults.malformed_json().changed(plain).body == b'[12"\\'
    html = faults.wrong_content_type().changed(plain)
    assert (html.head.get("content-type"), html.body) == ("text/html; charset=utf-8", b"[1234]")
    assert faults.encoded("x-gzip").changed(plain) is plain, "the connection changes it"
    delivery = faults.truncate(0.25).delivery
    assert delivery is not None
    assert (delivery.kind, delivery.values) == ("truncate", (0.25,))
