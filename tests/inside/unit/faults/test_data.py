"""Faults as JSON values: what the control door takes and gives."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock import PetStoreMockError, faults

FORMS: list[tuple[Any, faults.Fault]] = [
    (503, faults.server_error(503)),
    (401, faults.unauthorized()),
    (403, faults.respond(403)),
    (429, faults.rate_limited()),
    ({"kind": "respond", "status": 503}, faults.respond(503)),
    ({"kind": "respond", "status": 418, "json": {"a": [1, "\u00f6"]}}, faults.respond(418, json={"a": [1, "\u00f6"]})),
    ({"kind": "respond", "status": 418, "body": "<p>"}, faults.respond(418, body="<p>")),
    ({"kind": "respond", "status": 418, "body": ""}, faults.respond(418, body=b"")),
    ({"kind": "respond", "status": 418, "body_base64": "/w=="}, faults.respond(418, body=b"\xff")),
    (
        {"kind": "respond", "status": 418, "body": "{}", "headers": {"Content-Type": "text/x", "A": "1"}},
        faults.respond(418, body="{}", headers={"Content-Type": "text/x", "A": "1"}),
    ),
    ({"kind": "server_error", "status": 503, "delay": 0.2}, faults.server_error(503, delay=0.2)),
    ({"kind": "unauthorized", "delay": [0.1, 2]}, faults.unauthorized(delay=(0.1, 2))),
    ({"kind": "rate_limited", "retry_after": None}, faults.rate_limited(None)),
    ({"kind": "rate_limited", "retry_after": "2030-12-06T00:00:00Z"}, faults.rate_limited("2030-12-06")),
    ({"kind": "delay", "seconds": 0.2}, faults.delay(0.2)),
    ({"kind": "delay", "seconds": [1, 2]}, faults.delay((1, 2))),
    ({"kind": "hang"}, faults.hang()),
    ({"kind": "reset"}, faults.reset()),
    ({"kind": "empty_reply"}, faults.empty_reply()),
    ({"kind": "truncate", "fraction": 0.25}, faults.truncate(0.25)),
    ({"kind": "dribble", "bytes_per_second": 10}, faults.dribble(10)),
    ({"kind": "malformed_json"}, faults.malformed_json()),
    ({"kind": "wrong_content_type"}, faults.wrong_content_type()),
    ({"kind": "malformed_chunk"}, faults.malformed_chunk()),
    ({"kind": "sequence", "faults": [503, {"kind": "reset"}]}, faults.sequence(503, faults.reset())),
]


@pytest.mark.parametrize(("value", "fault"), FORMS, ids=str)
def test_fault_and_its_data_are_each_other(value: object, fault: faults.Fault) -> None:
    assert faults.from_data(value) == fault
    assert faults.to_data(fault) == value


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"kind": "server_error"}, faults.server_error()),
        ({"kind": "truncate"}, faults.truncate()),
        ({"kind": "rate_limited"}, faults.rate_limited()),
        ({"kind": "not_found", "delay": None}, faults.not_found()),
        ({"kind": "respond", "status": 500, "json": None, "headers": None}, faults.respond(500)),
    ],
    ids=str,
)
def test_data_may_leave_out_what_has_a_default(value: object, fault: faults.Fault) -> None:
    assert faults.from_data(value) == fault


def test_every_kind_has_a_form() -> None:
    assert {fault.kind for _, fault in FORMS} | {"bad_request", "not_found"} == {*faults.KINDS, "sequence"}


moments = st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30))  # noqa: DTZ001  # none means UTC
seconds = st.floats(0, 3600).flatmap(lambda low: st.one_of(st.just(low), st.tuples(st.just(low), st.floats(low, 3600))))
late = st.none() | seconds
latin = st.text(st.characters(codec="latin-1", categories=("L", "N", "P", "Zs")), max_size=5)
headers = st.dictionaries(
    st.from_regex(r"X-[A-Za-z]{1,5}|Content-Type|content-type", fullmatch=True), latin, max_size=3
)
texts = st.text(st.characters(codec="utf-8"), max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
# Every status with a body but those that have none.
statuses = st.integers(200, 599).filter(lambda status: status not in {204, 205, 304})
contents = st.one_of(
    st.fixed_dictionaries({}, optional={"body": st.text(max_size=9) | st.binary(max_size=9)}),
    st.fixed_dictionaries({"json": json_values}),
)
single = st.one_of(
    st.builds(
        lambda status, content, headers, delay: faults.respond(status, headers=headers, delay=delay, **content),
        statuses,
        contents,
        headers,
        late,
    ),
    st.builds(faults.server_error, st.integers(500, 599), delay=late),
    st.builds(
        faults.rate_limited,
        st.none() | st.integers(0, 2**62) | moments,
        delay=late,
    ),
    *(st.builds(make, delay=late) for make in (faults.unauthorized, faults.not_found, faults.bad_request)),
    st.builds(faults.delay, seconds),
    st.builds(faults.truncate, st.floats(0, 1, exclude_max=True)),
    st.builds(faults.dribble, st.floats(0, 2**62, exclude_min=True)),
    *(
        st.just(make())
        for make in (
            faults.hang,
            faults.reset,
            faults.empty_reply,
            faults.malformed_json,
            faults.wrong_content_type,
            faults.malformed_chunk,
        )
    ),
)


@pytest.mark.untraced
@given(fault=single | st.lists(single, min_size=1, max_size=3).map(lambda some: faults.sequence(*some)))
def test_every_fault_survives_the_way_through_json(fault: faults.Fault) -> None:
    assert faults.from_data(json.loads(json.dumps(faults.to_data(fault)))) == fault


@given(fault=single | st.lists(single, min_size=1, max_size=3).map(lambda some: faults.sequence(*some)))
def test_every_fault_survives_the_way_through_its_code(fault: faults.Fault) -> None:
    assert eval(fault.code(), {"faults": faults}) == fault  # code that we made


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("503", r'an HTTP status, or as an object such as \{"kind": "reset"\}; got fault=\'503\' \(str\)$'),
        ("rest", r'Did you mean \{"kind": "reset"\}\?$'),
        (True, r"got fault=True \(bool\)"),
        (None, r"got fault=None \(NoneType\)"),
        ([503], r"got fault=\[503\] \(list\)"),
        (99, "from 200 to 599; got status=99"),
        ({}, r"kind to be one of bad_request, .*, sequence; got kind=None \(NoneType\)"),
        ({"kind": 503}, r"got kind=503 \(int\)"),
        ({"kind": ["reset"]}, r"got kind=\['reset'\] \(list\)"),
        ({"kind": "Reset"}, r"got kind='Reset' \(str\)\. Did you mean 'reset'\?"),
        ({"kind": "coerce"}, "got kind='coerce'"),
        ({"kind": "from_data"}, "got kind='from_data'"),
        ({"kind": "delay"}, "expected seconds of a fault of kind delay; got none"),
        ({"kind": "delay", "second": 1}, r"the members seconds of a .* delay; got second=1\. Did you mean 'seconds'\?"),
        ({"kind": "delay", "seconds": "1"}, "got seconds='1'"),
        ({"kind": "delay", "seconds": [1, 2, 3]}, r"got seconds=\[1, 2, 3\]"),
        ({"kind": "reset", "status": 1}, "no further member of a fault of kind reset; got status=1"),
        ({"kind": "respond"}, "expected status of a fault of kind respond"),
        ({"kind": "respond", "status": "503"}, r"got status='503' \(str\)"),
        ({"kind": "respond", "status": 500, "header": {}}, "Did you mean 'headers'"),
        ({"kind": "respond", "status": 500, "body": "a", "body_base64": "YQ=="}, "body or body_base64, .*; got both"),
        ({"kind": "respond", "status": 500, "json": 1, "body_base64": "YQ=="}, "json= or body= or neither"),
        ({"kind": "respond", "status": 500, "body_base64": "!"}, r"as base64 .*; got body_base64='!'"),
        ({"kind": "respond", "status": 500, "body_base64": 1}, "got body_base64=1"),
        ({"kind": "server_error", "status": 404}, "from 500 to 599; got status=404"),
        ({"kind": "server_error", "delay": -1}, "got delay=-1"),
        ({"kind": "truncate", "fraction": 2}, "got fraction=2"),
        ({"kind": "sequence"}, "expected faults of a fault of kind sequence"),
        ({"kind": "sequence", "faults": []}, "expected one or more faults"),
        ({"kind": "sequence", "faults": 503}, "faults as an array of faults; got faults=503"),
        ({"kind": "sequence", "faults": [{"kind": "rest"}]}, "Did you mean 'reset'"),
        ({"kind": "sequence", "fault": [503]}, "Did you mean 'faults'"),
        ({"kind": "sequence", "faults": [{"kind": "sequence", "faults": [503]}]}, "no sequences themselves"),
    ],
    ids=str,
)
def test_data_that_is_no_fault_says_what_would_be(value: object, words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        faults.from_data(value)
