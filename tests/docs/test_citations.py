"""Which sentence of the interface a citation means."""

from __future__ import annotations

import pytest

from tests.sentences import PASSAGES, Passage
from tools.documents.citations import anchor, citations

_MEANT = {
    # a quotation
    "sent GET /v1/pets?limit=0 (§4.1: limit: integer, minimum 1, maximum 100, default 20).": ["limit; integer"],
    "although the service returned 404 (§7: 404: no animal found for the given petId)": ["404; getPet"],
    "although the service returned 201 (§4.2: 201: The created animal)": ["201: body is"],
    "sent a body with GET /v1/pets (§4.1: Request body: none)": ["Request body: none"],
    "§9 Which operations carry one: not shown.": ["Which operations"],
    "sent no key (§5: The API key is sent in the form Authorization: Bearer <API_KEY>)": ["The API key is sent"],
    "returned None (§4.3: 200: The animal)": ["200: body is"],
    # the nearby words
    "The removal of getPet (§4.3) at midnight of 5 December 2030. It has no key.": ["Its scheduled removal"],
    "It respects rate limits. The replacement that §4.3 names, GET /pets with the status filter": ["The replacement"],
    "Respond 401 as for an invalid key (§5)": ["When the key"],
    "policy for new versions (§9)\n\nIt has one version, 1.0.0": ["Policy for"],
    "§1 names production and staging, not their addresses.": ["Two environments"],
    "a request body where the interface has none (§4.1, §4.3)": ["Request body: none", "Request body: none"],
    "stability markers (§9)\n\nIt marks no operation": ["Some operations"],
    "Return the fields of an animal by the interface's names (§2).": ["Pet has all fields"],
    "Pet.json does not allow a field (§2)": ["Pet has all fields"],
    # the clause or the gap of a row
    "page_fill\n\n§4.1\n\nfull, short": ["limit; integer"],
    "4.1-list-finds\n\nA list shows existing animals (by the meaning of §4.1)": ["status; PetStatus"],
    "connection\n\n§1\n\nkept, closed_after_answer": ["The service is an HTTP API"],
    # an inference, and a citation of a whole section
    "by the meaning of\n§4.2, a second createPet may add a second animal": ["201: body is"],
    "exceptions end up in logs (by the meaning of §5: a reader of a log could use the key)": ["The API key is sent"],
    "such as those of §4.4.": ["A store-orders"],
    "The address of §1, or how keys are issued, their lifetime and rotation (§5)": ["Request and", "How keys"],
    "was no JSON (§1) (by the meaning of §4.1: a client can list animals)": [
        "Request and response",
        "200: body is",
    ],
}


@pytest.mark.parametrize("text", _MEANT)
def test_citation_means_a_sentence(text: str) -> None:
    found = [passage.text if passage else None for _, _, passage in citations(text)]
    assert [str(one)[: len(begin)] for one, begin in zip(found, _MEANT[text], strict=True)] == _MEANT[text]


def test_section_of_an_rfc_is_no_citation() -> None:
    text = "RFC 9110 §15.5.6, and RFC 8259 §8, §9; but (§4.1) and §5."
    assert [text[begin:end] for begin, end, _ in citations(text)] == ["§4.1", "§5"]


def test_citation_of_a_section_that_is_not_there_means_no_sentence() -> None:
    assert [passage for _, _, passage in citations("as in §4.9, or in §0")] == [None, None]


@pytest.mark.parametrize("passage", [one for one in PASSAGES if one.section and ";" not in one.text], ids=anchor)
def test_quoted_sentence_is_found(passage: Passage) -> None:
    [(_, _, found)] = citations(f"as the interface says (§{passage.section}: {passage.text})")
    assert found == passage


def test_sentences_have_anchors_of_their_own() -> None:
    assert len({anchor(passage) for passage in PASSAGES}) == len(PASSAGES)
