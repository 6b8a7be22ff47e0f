"""The tables of ``verify`` fit one another: sentences, clauses, probes, gaps."""

from __future__ import annotations

import re

import pytest

from petstore_mock.contract.gaps import GAPS
from petstore_mock.verify.clauses import CLAUSES
from petstore_mock.verify.exchange import Exchange, redacted
from petstore_mock.verify.facts import Facts
from petstore_mock.verify.gap_evidence import NEEDS, NOT_LOOKED_AT, findings
from petstore_mock.verify.probes import PROBES, credentials_of
from tests.sentences import PASSAGES


def test_every_sentence_has_a_clause_a_gap_or_a_reason() -> None:
    assert len(PASSAGES) == 87
    for sentence in PASSAGES:
        assert sentence.clauses or sentence.gaps or sentence.why, sentence.text


def test_sentences_name_clauses_and_gaps_that_exist_and_every_one_of_them() -> None:
    ids = {clause.id for clause in CLAUSES}
    assert {name for sentence in PASSAGES for name in sentence.clauses} == ids
    assert {name for sentence in PASSAGES for name in sentence.gaps} == set(GAPS)


def test_every_not_shown_is_a_gap_or_has_a_reason() -> None:
    for sentence in PASSAGES:
        if "not shown" in sentence.text:
            assert not sentence.clauses
            assert bool(sentence.gaps) != bool(sentence.why), sentence.text


def test_clauses_have_ids_of_their_own_that_begin_with_their_section() -> None:
    assert len({clause.id for clause in CLAUSES}) == len(CLAUSES) == 72
    for clause in CLAUSES:
        assert re.fullmatch(rf"{re.escape(clause.section)}-[a-z0-9-]+", clause.id)


def test_clauses_stand_in_the_interfaces_order() -> None:
    sections = [clause.section for clause in CLAUSES]
    assert sections == sorted(sections)


def test_every_clause_has_a_probe_and_every_probe_shows_a_clause_or_a_gap() -> None:
    names = [probe.name for probe in PROBES]
    assert len(names) == len({*names})
    for clause in CLAUSES:
        assert any(clause.is_shown_by(name) for name in names), clause.id
        for pattern in clause.probes:
            assert any(clause.is_shown_by(name) for name in names if re.match(pattern.partition("*")[0], name)), pattern


def test_a_service_that_keeps_the_contract_creates_at_most_thirteen() -> None:
    assert sum(probe.creates != "no" for probe in PROBES) == 13


def test_every_gap_but_eight_has_an_observer_and_says_what_it_takes() -> None:
    assert len(NEEDS) == len(GAPS) - 8
    found = findings(Facts([]), ())
    assert set(found) == set(GAPS)
    assert {finding.gap for finding in found.values() if finding.kind == "not_observable"} == set(NEEDS)
    assert all(finding.evidence for finding in found.values())
    unlooked = [finding for finding in found.values() if finding.gap not in NEEDS]
    assert {(finding.kind, finding.evidence) for finding in unlooked} == {("not_looked_at", NOT_LOOKED_AT)}


@pytest.mark.parametrize("key", ['a"b\\c', "secret-key", "abc"])
def test_keys_are_left_out_however_json_writes_them(key: str) -> None:
    import json  # noqa: PLC0415

    text = f"{key} and {json.dumps({'key': key})}"
    assert key not in redacted(text, (key,))
    assert json.dumps(key)[1:-1] not in redacted(text, (key,))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("own", '-H "Authorization: Bearer $PETSTORE_KEY_2" http://127.0.0.1/v1"/pets?api_key=$PETSTORE_KEY_2"'),
        ("{key}", '-H "Authorization: $PETSTORE_KEY_2" '),
        ("Basic {key}", '-H "Authorization: Basic $PETSTORE_KEY_2" '),
        ("unknown", '-H "Authorization: Bearer no-such-key" '),
        ("none", "curl -i http://"),
    ],
)
def test_a_curl_line_bears_what_the_request_bore(key: str, words: str) -> None:
    asked = Exchange(1, "", "GET", "/pets?api_key={key}", None, credentials=credentials_of(key))
    asked.variable += "_2"
    assert words in asked.curl("http://127.0.0.1/v1")
