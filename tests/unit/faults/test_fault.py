"""A fault is a value, and every form of it is derived from one table."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from datetime import datetime
from typing import Any

import pytest

from petstore_mock import faults
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.fault import Fault, coerce, schema_of
from petstore_mock.faults.kinds import KINDS, REQUIRED
from petstore_mock.http.response import Head
from petstore_mock.interface.schemas import violations

FORMS: dict[str, object] = {  # the call that makes a fault, and its JSON
    "respond(204)": 204,
    "respond(200, json=[1, 'ü'])": {"kind": "respond", "status": 200, "json": [1, "ü"]},
    r"respond(200, body=b'\xff')": {"kind": "respond", "status": 200, "body_base64": "/w=="},
    "respond(503, body='', headers={'A': '3'}, delay=(0.5, 1))": {
        "kind": "respond",
        "status": 503,
        "body": "",
        "headers": {"A": "3"},
        "delay": [0.5, 1],
    },
    "unauthorized()": 401,
    "not_found(delay=1)": {"kind": "not_found", "delay": 1},
    "server_error(500)": 500,
    "rate_limited(retry_after=1)": 429,
    "rate_limited(retry_after=None)": {"kind": "rate_limited", "retry_after": None},
    "rate_limited(retry_after='2030-01-02T03:04:05Z')": {"kind": "rate_limited", "retry_after": "2030-01-02T03:04:05Z"},
    "truncate(0.5)": {"kind": "truncate", "fraction": 0.5},
    "dribble(10)": {"kind": "dribble", "bytes_per_second": 10},
    "tls.expired()": {"kind": "tls.expired"},
    "sequence(faults.server_error(503), faults.reset())": {"kind": "sequence", "faults": [503, {"kind": "reset"}]},
}


@pytest.mark.parametrize("call", FORMS)
def test_forms_of_a_fault(call: str) -> None:
    fault, data = eval(f"faults.{call}", {"faults": faults}), FORMS[call]
    assert repr(fault) == f"faults.{call}"
    assert fault.to_data() == data
    assert coerce(json.loads(json.dumps(data))) == fault
    assert pickle.loads(pickle.dumps(fault)) == fault == copy.deepcopy(fault)
    assert len({fault, coerce(data)}) == 1
    if isinstance(data, dict):
        components: dict[str, Any] = {"components": {"schemas": {"Fault": {}}}}  # a sequence refers to it
        assert violations(schema_of(fault.kind) | components, data, "fault") == []


def test_equal_arguments_make_equal_faults() -> None:
    moment = datetime(2030, 1, 2, 3, 4, 5, 678)  # noqa: DTZ001  # no zone means UTC
    assert faults.rate_limited(moment) == faults.rate_limited("2030-01-02T03:04:05+00:00")
    assert {faults.delay(2.0), faults.delay(2), faults.delay((2, 2))} == {faults.delay(2)}
    assert faults.dribble(10.0) == faults.dribble(10)


def test_a_line_of_text_shows_no_content() -> None:
    fault = faults.respond(200, body="secret", headers={"X-Key": "secret"})
    assert str(fault) == "respond(200, body=<6 bytes>, headers=<X-Key>)"
    assert str(faults.sequence(fault, 503)) == f"sequence({fault}, server_error(503))"


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_and_its_function_agree(kind: str) -> None:
    owner: Any = faults.tls if kind.startswith("tls.") else faults
    parameters = inspect.signature(getattr(owner, kind.removeprefix("tls."))).parameters
    arguments = {name: one for name, one in KINDS[kind].arguments.items() if name != "body_base64"}  # in JSON alone
    assert {*parameters} == {*arguments}
    if kind != "sequence":  # it takes any number of positional ones
        empty = inspect.Parameter.empty
        defaults = {name: one.default for name, one in parameters.items() if one.default is not empty}
        assert defaults == {name: one.default for name, one in arguments.items() if one.default is not REQUIRED}
    assert KINDS[kind].sentence


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("respond", {"status": 103}, "got status=103"),
        ("respond", {"status": True}, "got status=True"),
        ("respond", {"status": 200, "json": 1, "body": "a"}, "got both"),
        ("respond", {"status": 204, "body": "x"}, "no body with status 204"),
        ("respond", {"status": 200, "json": float("nan")}, "json to be a JSON value"),
        ("respond", {"status": 200, "headers": {"a b": "c"}}, "header field that HTTP allows"),
        ("respond", {"status": 200, "headers": {"Date": "x"}}, "because the fake sets it"),
        ("respond", {"status": 200, "body_base64": "*"}, "as base64"),
        ("server_error", {"status": 400}, "HTTP status from 500 to 599"),
        ("rate_limited", {"retry_after": 0.5}, "whole seconds"),
        ("delay", {}, "expected seconds of a fault of kind delay"),
        ("delay", {"second": 1}, r"did you mean 'seconds'\?"),
        ("delay", {"seconds": (2, 1)}, r"seconds from 0 to 3600, or a pair \(low, high\)"),
        ("delay", {"seconds": float("nan")}, "got seconds=nan"),
        ("delay", {"seconds": 10**400}, "got seconds=1000"),
        ("truncate", {"fraction": 1}, "at least 0 and below 1; got fraction=1"),
        ("dribble", {"bytes_per_second": 0}, "positive number of bytes per second"),
        ("sequence", {"faults": []}, "one or more faults"),
        ("sequence", {"faults": [{"kind": "sequence", "faults": [503]}]}, "no sequences themselves"),
        ("sequence", {"faults": [503, {"kind": "tls.expired"}]}, "faults of requests, or faults of TLS handshakes"),
        ("rest", {}, r"did you mean 'reset'\?"),
    ],
)
def test_wrong_arguments_are_refused(kind: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        coerce({"kind": kind, **arguments})


def test_a_function_that_was_not_called_is_refused() -> None:
    with pytest.raises(PetStoreMockError, match=r"did you mean faults.reset\(\)\?"):
        coerce(faults.reset)


def test_a_fault_does_not_change_with_its_arguments() -> None:
    value = {"a": [1]}
    fault = faults.respond(200, json=value)
    value["a"].append(2)
    assert fault.body == b'{"a": [1]}'


@pytest.mark.parametrize(
    ("fault", "flags"),
    [  # breaks the contract, takes time, tells to wait
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
def test_what_follows_from_a_fault(fault: Fault, flags: tuple[bool, ...]) -> None:
    assert (fault.breaks_contract, fault.takes_time, fault.tells_to_wait) == flags


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
