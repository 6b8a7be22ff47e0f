"""Faults as values: how they read, what they equal, and which can't be made."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMockError, faults

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = [
    (faults.respond(503), "respond(503)"),
    (faults.respond(503, body="x"), "respond(503, body=<1 bytes>)"),
    (faults.respond(418, headers={"X-Key": "hunter2"}), "respond(418, headers=<X-Key>)"),
    (faults.respond(418, json={"a": 1}), "respond(418, json=<8 bytes>)"),
    (faults.respond(418, body="", delay=0), "respond(418, body=<0 bytes>, delay=0)"),
    (faults.unauthorized(delay=(0.1, 2)), "unauthorized(delay=(0.1, 2))"),
    (faults.not_found(), "not_found()"),
    (faults.bad_request(), "bad_request()"),
    (faults.server_error(502, delay=0.2), "server_error(502, delay=0.2)"),
    (faults.rate_limited(), "rate_limited(retry_after=1)"),
    (faults.rate_limited(None), "rate_limited(retry_after=None)"),
    (faults.rate_limited("2030-12-06"), "rate_limited(retry_after='2030-12-06T00:00:00Z')"),
    (faults.delay((0.1, 2)), "delay((0.1, 2))"),
    (faults.delay(0), "delay(0)"),
    (faults.hang(), "hang()"),
    (faults.reset(), "reset()"),
    (faults.empty_reply(), "empty_reply()"),
    (faults.truncate(), "truncate(0.5)"),
    (faults.dribble(0.5), "dribble(0.5)"),
    (faults.malformed_json(), "malformed_json()"),
    (faults.wrong_content_type(), "wrong_content_type()"),
    (faults.malformed_chunk(), "malformed_chunk()"),
    (faults.sequence(503, faults.reset()), "sequence(server_error(503), reset())"),
    (faults.tls.expired(), "tls.expired()"),
]


@pytest.mark.parametrize(("fault", "text"), TEXTS, ids=str)
def test_a_fault_reads_as_it_was_written_and_shows_no_body(fault: faults.Fault, text: str) -> None:
    assert str(fault) == text
    assert repr(fault).startswith(f"faults.{text.partition('(')[0]}(")


def test_the_repr_of_a_fault_is_the_call_that_makes_it() -> None:
    calls = [repr(fault) for fault, _ in TEXTS]
    assert [eval(call, {"faults": faults}) for call in calls] == [fault for fault, _ in TEXTS]


@pytest.mark.parametrize(("fault", "text"), TEXTS, ids=str)
def test_a_fault_is_a_value(fault: faults.Fault, text: str) -> None:
    same = pickle.loads(pickle.dumps(fault))
    assert same == fault
    assert hash(same) == hash(fault)
    assert [str(other) for other, _ in TEXTS if other == fault] == [text]
    with pytest.raises((AttributeError, TypeError)):
        setattr(fault, "kind", 1)  # noqa: B010  # what a checker would refuse


def test_every_kind_reads_here() -> None:
    shown = {text.partition("(")[0] for _, text in TEXTS} - {"tls.expired"}
    assert shown == set(faults.__all__) - {"Fault", "coerce", "tls"}


NESTED: list[Any] = []  # deeper than json can go
for _ in range(100_000):
    NESTED = [NESTED]

MISTAKES: dict[str, Callable[..., object]] = {
    "status=99": lambda: faults.respond(99),
    "status=100": lambda: faults.respond(100),
    "status=600": lambda: faults.respond(600),
    "status='503'": lambda: faults.respond("503"),  # type: ignore[arg-type]
    "status=True": lambda: faults.respond(True),  # noqa: FBT003
    "got both": lambda: faults.respond(500, json={}, body=""),
    "type set is not JSON": lambda: faults.respond(500, json={1, 2}),
    "not JSON compliant": lambda: faults.respond(500, json=float("nan")),
    "to be a JSON value": lambda: faults.respond(500, json=NESTED),
    "body=5": lambda: faults.respond(500, body=5),  # type: ignore[arg-type]
    "204": lambda: faults.respond(204, body="x"),
    "headers=": lambda: faults.respond(500, headers="A: 1"),  # type: ignore[arg-type]
    "'A': '1\\r\\nB: 2'": lambda: faults.respond(500, headers={"A": "1\r\nB: 2"}),
    "'A B'": lambda: faults.respond(500, headers={"A B": "1"}),
    "'A': '€'": lambda: faults.respond(500, headers={"A": "€"}),
    "'A': None": lambda: faults.respond(500, headers={"A": None}),  # type: ignore[dict-item]
    "content-length": lambda: faults.respond(500, headers={"content-length": "1"}),
    "Transfer-Encoding": lambda: faults.respond(500, headers={"Transfer-Encoding": "x"}),
    "Connection": lambda: faults.respond(500, headers={"Connection": "close"}),
    "Date in headers": lambda: faults.respond(500, headers={"Date": "x"}),
    "status=404": lambda: faults.server_error(404),
    "retry_after=-1": lambda: faults.rate_limited(-1),
    "retry_after=0.5": lambda: faults.rate_limited(0.5),
    "retry_after=inf": lambda: faults.rate_limited(float("inf")),
    "retry_after=True": lambda: faults.rate_limited(True),  # noqa: FBT003
    "retry_after='soon'": lambda: faults.rate_limited("soon"),
    "retry_after=1000": lambda: faults.rate_limited(10**400),
    "seconds=-1": lambda: faults.delay(-1),
    "seconds=inf": lambda: faults.delay(float("inf")),
    "seconds='1'": lambda: faults.delay("1"),  # type: ignore[arg-type]
    "seconds=(2, 1)": lambda: faults.delay((2, 1)),
    "seconds=(1, 2, 3)": lambda: faults.delay((1, 2, 3)),  # type: ignore[arg-type]
    "delay=-1": lambda: faults.server_error(delay=-1),
    "delay=True": lambda: faults.respond(200, delay=True),
    "fraction=1": lambda: faults.truncate(1),
    "fraction=nan": lambda: faults.truncate(float("nan")),
    "bytes_per_second=0": lambda: faults.dribble(0),
    "one or more faults": faults.sequence,
    "sequences": lambda: faults.sequence(faults.sequence(500)),
}


@pytest.mark.parametrize("named", MISTAKES)
def test_a_fault_that_can_t_be_made_is_refused(named: str) -> None:
    with pytest.raises(PetStoreMockError) as refused:
        MISTAKES[named]()
    assert named in str(refused.value)
