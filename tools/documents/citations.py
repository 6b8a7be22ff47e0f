"""Finds the sentence of the interface that a citation such as ``§4.1`` means. The site links each citation to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.sentences import PASSAGES, Passage

# A section of an RFC is no citation of the interface.
_CITATION: Final = re.compile(r"RFC\s+\d+\s+§[\d.]+(?:,\s+§[\d.]+)*|§(?P<section>\d(?:\.\d)?)(?![\d.]*\d)")
_BORDER: Final = re.compile(r"[.!?;]\s+(?=[A-Z§])|\n\n")  # of sentences and cells
# The main sentence of each section. Inferences cite it, and so do citations whose words match no sentence well enough.
_MAIN: Final = {
    "1": "Request and response",
    "2": "Pet has all fields",
    "4.1": "200: body is Pets",
    "4.2": "201: body is",
    "4.3": "200: body is",
    "5": "The API key",
    "8": "Rate limits",
    "9": "Deprecation",
}
# The least likeness of a match. A shared word counts 1, divided by the number of the section's sentences that have it.
_ALIKE: Final = 1.3


def citations(text: str) -> Iterator[tuple[int, int, Passage | None]]:
    """Yield each citation in a paragraph or a row of a table: its start, its end, and the sentence that it means.

    The sentence is None if the interface has no such section.
    """
    for citation in _CITATION.finditer(text):
        if citation["section"]:
            begin, end = citation.span()
            before, after = _BORDER.split(text[:begin])[-1], _BORDER.split(text[end:].partition("(by the")[0])[0]
            yield begin, end, _cited(citation["section"], text.split(maxsplit=1)[0], before, after)


def anchor(passage: Passage) -> str:
    """Return the anchor of a sentence on the page of the interface."""
    number = [one for one in PASSAGES if one.section == passage.section].index(passage) + 1
    return f"sentence-{passage.section}-{number}".replace(".", "-")


def _cited(section: str, name: str, before: str, after: str) -> Passage | None:
    """Return the sentence of the row's clause or gap, or the one most like the quotation or words at the citation."""
    passages = [one for one in PASSAGES if one.section == section]
    if not passages:
        return None
    if named := [one for one in passages if name in one.clauses + one.gaps]:
        return named[0]
    main = next(one for one in passages if one.text.startswith(_MAIN.get(section, "")))
    if re.search(r"by the meaning of\s+$", before):
        return main
    quotation = re.match(r": ([^)]+)", after)
    quoted = quotation[1] if quotation else ""
    if exact := [one for one in passages if one.text == quoted]:
        return exact[0]
    words = _words(quoted or before + after)
    counts = Counter(word for one in passages for word in _words(one.text))

    def likeness(passage: Passage) -> float:
        begins_alike = _first_word(passage.text) == _first_word(quoted)
        return sum(1 / counts[word] for word in _words(passage.text) & words) + begins_alike

    best = max(passages, key=likeness)
    return best if quotation or likeness(best) >= _ALIKE else main


def _first_word(text: str) -> str:
    return text.partition(" ")[0].rstrip(":;")


def _words(text: str) -> set[str]:
    """Return the numbers and the longer words, in the singular."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    return {word.rstrip("s") for word in re.findall(r"[a-z]{4,}|[0-9]+", parted)}
