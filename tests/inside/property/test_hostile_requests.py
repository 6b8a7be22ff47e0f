"""Whatever is sent, under whatever behaviour: an answer of the right form, never a failure of the fake."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.contract.gaps import GAPS
from petstore_mock.messages.request import ApiRequest
from tests.inside.contract.harness import Answer, check_every_answer
from tests.inside.core import whole

pytestmark = pytest.mark.untraced

BEHAVIOURS = st.fixed_dictionaries({}, optional={
    name: st.sampled_from(list(gap.alternatives)) for name, gap in GAPS.items() if gap.step != "wire"
})  # fmt: skip
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "QUERY", "get", "", "\xe4"])
PIECES = st.sampled_from(
    [
        *("/", "//", "v1", "pets", "1", "-1", "9" * 25, "%", "%3", "%31", "%ff", "%00", "%2F", "%c3%a4", "?", "&", "="),
        *("+", "#", "limit", "status", "petId", "sold", "0", "100", "101", ";", "\xe4", " ", "*", ".."),
    ]
)
TARGETS = st.one_of(
    st.sampled_from(["/v1/pets", "/v1/pets/1", "/v1/pets?limit=5", "*"]),
    st.builds(
        lambda start, rest: start + "".join(rest),
        st.sampled_from(["/v1/pets", "/v1/pets/", "/v1/pets?", ""]),
        st.lists(PIECES, max_size=8),
    ),
    st.text(st.characters(max_codepoint=255), max_size=30),
)
JSON_TEXTS = st.recursive(
    st.sampled_from(
        [
            "null",
            "true",
            "1",
            "-0",
            "1.0",
            "1e5",
            "1e999999999",
            "9" * 30,
            '""',
            '"a"',
            '"\\ud800"',
            '"sold"',
            "NaN",
            "",
        ]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(
            st.tuples(st.sampled_from(['"name"', '"categoryId"', '"status"', '"id"', '"\\ud800"', '"x"']), inner),
            max_size=4,
        ).map(lambda pairs: f"{{{','.join(f'{name}:{value}' for name, value in pairs)}}}"),
    ),
    max_leaves=8,
)
BODIES = st.one_of(
    JSON_TEXTS.map(lambda text: text.encode("utf-8")),
    st.binary(max_size=30),
    st.fixed_dictionaries(
        {"name": st.text(), "categoryId": st.integers()}, optional={"status": st.none() | st.text()}
    ).map(lambda value: json.dumps(value).encode()),
)
FIELDS = st.lists(
    st.tuples(
        st.sampled_from([b"Content-Type", b"content-type", b"Authorization", b"Content-Length", b"X", b"\xff"]),
        st.sampled_from([b"application/json", b"Bearer x", b"", b"\xff\xfe", b"a,b", b"application/json;\xe4"]),
    ),
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    gaps=BEHAVIOURS,
    requests=st.lists(
        st.tuples(METHODS, TARGETS, FIELDS, BODIES, st.booleans(), st.booleans()), min_size=1, max_size=8
    ),
)
@example(gaps={}, requests=[("POST", "/v1/pets", [], rb'{"x":{"\ud800":1,"\ud800":2},"x":1}', True, True)])
def test_no_request_breaks_the_core(gaps: dict[str, str], requests: list[tuple[Any, ...]]) -> None:
    petstore = PetStoreMock(behaviour=Behaviour().replace(gaps), seed=3, self_check=True)
    for method, target, fields, body, with_key, with_type in requests:
        sent = list(fields)
        if with_key:
            sent.append((b"Authorization", f"Bearer {petstore.api_key}".encode()))
        if with_type:
            sent.append((b"Content-Type", b"application/json"))
        response = whole(petstore.host.worlds.handle(ApiRequest(method, target, sent, body)))
        answer = Answer(
            response.status, (*response.head.fields, ("Date", response.date.decode("ascii"))), response.body
        )
        if response.body:
            check_every_answer(answer, "GET", petstore)
        assert response.status in {200, 201, 204, 400, 401, 404, 405, 413, 415, 429, 501}
        petstore.host.worlds.admits(ApiRequest(method, target, sent), len(body))
    petstore.verify()
    for entry in petstore.journal:
        json.dumps([entry.reason, entry.target, entry.path, entry.query, entry.headers, str(entry)]).encode("ascii")
        f"{entry.reason}{entry.path}".encode()
