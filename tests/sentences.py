"""Every sentence of the interface, with its clauses, its gaps, or the reason why no response shows it.

The sentences are those of ``docs/reference/interface.md``. A row of a table and a line of a list count as sentences.
A row below names its sentence by the first words. Tests check that each row names one sentence, that each sentence has
a row, and that the rows have all clauses and all gaps. The documents count the sentences of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "interface.md"
# The digest of all sentences. Change the page only if the specification changes. Then put the new digest here.
DIGEST: Final = "76c8f0f6be630f95"
_MISSING: Final = "5-missing-key 5-missing-key-get 5-missing-key-create"
_KEY_REFUSED: Final = f"{_MISSING} 5-unknown-key 5-unknown-key-get 5-unknown-key-create 7-401-error"
_NOT_SEEN: Final = "it says only that something is not shown, so a request has nothing to test"
_NAME: Final = "the name is part of the document only; no request or response contains it"
_NO_BODY: Final = "verify sends a GET without a body; the interface does not say how a service treats a body"

# The clauses that check a sentence, and the gaps that it leaves open.
HELD: Final[dict[str, dict[str, str]]] = {
    "1": {
        "The service is": "1-http answer_framing header_names connection",
        "A client can": "4.1-list 4.1-status-filter 4.2-created 4.3-get",
        "Each animal belongs": "2-pet-category",
        "The base address": "1-base-address",
        "It includes the": "1-base-address",
        "Request and response": "1-json-body 1-media-type 4.2-body-json json_style content_type duplicate_member",
        "Other resources": "unknown_route",
        "Their operations": "unknown_route",
    },
    "2": {
        "Allowed values": (
            "2-pet-status 2-status-available 2-status-pending 2-status-sold 4.2-status-value 4.2-status-case "
            "4.2-status-type"
        ),
        "name; string": (
            "4.2-name-required 4.2-name-type 4.2-name-null 2-name-echoed 2-name-text 2-name-digits 2-name-exponent "
            "2-name-date 2-name-moment 2-name-true 2-name-null 2-name-html 2-name-backslash 2-name-percent "
            "2-name-blanks 2-name-lines 2-name-invisible 2-name-decomposed 2-name-nul 2-name-surrogate "
            "2-name-marks"
        ),
        "categoryId; integer": (
            "4.2-category-required 4.2-category-type 4.2-category-fraction 4.2-category-null "
            "4.2-category-boolean 4.2-category-range 2-category-echoed 2-category-int64 integral_float "
            "category_rule"
        ),
        "status; PetStatus": "2-status-optional 2-status-echoed 4.2-status-value null_status status_when_omitted",
        "Pet has all fields": "2-pet-name 2-pet-category 2-pet-status 2-pet-object extra_response_fields",
        "id; integer": "2-pet-id 2-id-unique 2-id-assigned id_assignment",
        "A JSON array": "2-pets-array 2-pet-object",
        "code; string": "2-error-code error_codes",
        "message; string": "2-error-message",
        "status; integer": "2-error-status 7-status",
        "Fields of the": "category_rule",
        "Length or character": "name_rule",
    },
    "3": {
        "The only state-like": "2-pet-status",
        "available; The": "2-status-available",
        "pending; Named": "2-status-pending",
        "sold; Named state": "2-status-sold",
        "The status given": "status_when_omitted",
    },
    "4": {
        "All paths are": "1-base-address",
        "Every operation": _MISSING,
    },
    "4.1": {
        "Method and path": "4.1-list 1-base-address",
        "Query parameters": "4.1-list 4.1-list-never-fails 4.1-limit-accepted unknown_query repeated_query",
        "limit; integer": (
            "4.1-limit-accepted 4.1-limit-bound 4.1-limit-counts 4.1-limit-default 4.1-list-never-fails invalid_limit "
            "page_fill"
        ),
        "status; PetStatus": (
            "4.1-status-filter 4.1-list-finds 4.1-status-accepted 4.1-list-never-fails invalid_status_filter"
        ),
        "200: body is": "4.1-list 4.1-list-finds 4.1-same-animal 2-pets-array",
        "The operation": "4.1-limit-counts paging_headers list_order",
        "401: Error body": "5-missing-key 5-unknown-key 7-401-error",
        "Pagination controls": "paging_headers list_order",
    },
    "4.2": {
        "Method and path": "4.2-created 1-base-address",
        "Request body": "4.2-body-required 4.2-body-object 4.2-body-json 4.2-body-end media_type unknown_body_field",
        "name and categoryId": "4.2-name-required 4.2-category-required 4.2-both-required",
        "201: body is": "4.2-created 4.2-kept 4.2-listed 4.2-same-animal 2-id-assigned location_header visibility",
        "400: Error body": "7-400-error",
        "The request body": (
            "4.2-both-required 4.2-status-value 4.2-refused-not-kept 4.2-create-never-fails unknown_body_field"
        ),
        "401: Error body": "5-missing-key-create 5-unknown-key-create 7-401-error",
    },
    "4.3": {
        "Method and path": "4.3-get",
        "Path parameter": "4.3-asked-for 4.3-int64 4.3-get-never-fails malformed_pet_id",
        "200: body is": "4.3-get 4.3-same-animal",
        "401: Error body": "5-missing-key-get 5-unknown-key-get 7-401-error",
        "404: Error body": "4.3-absent 7-404-error",
        "The operation": "deprecation_headers",
        "Its scheduled": "4.3-get after_removal",
        "The replacement": "4.1-status-filter 4.1-list-finds",
    },
    "4.4": {
        "A store-orders": "unknown_route",
        "Its method details": "unknown_route",
    },
    "5": {
        "Scheme: HTTP": "5-scheme 5-key",
        "The API key is": "5-key 5-scheme 5-missing-key",
        "The scheme applies": f"5-key {_MISSING}",
        "When the key": f"{_KEY_REFUSED} 5-exact-key",
        "How keys are": "key_rotation",
    },
    "7": {
        "Error responses": "7-401-error 7-404-error 7-400-error 2-error-code 2-error-message 2-error-status",
        "400; createPet": (
            "4.2-name-required 4.2-category-required 4.2-both-required 4.2-category-type 4.2-status-value 7-400-error"
        ),
        "401; listPets": _KEY_REFUSED,
        "404; getPet": "4.3-absent 7-404-error",
        "The status field": "7-status",
        "The set of possible": "error_codes",
        "Errors for invalid": "invalid_limit invalid_status_filter unknown_query repeated_query",
    },
    "8": {
        "limit (page size) minimum": "4.1-limit-accepted",
        "limit (page size) maximum": "4.1-limit-accepted 4.1-limit-counts",
        "limit (page size) default": "4.1-limit-default",
        "Rate limits": "rate_limit",
        "Size limits of": "body_limit",
    },
    "9": {
        "The base address": "1-base-address",
        "Deprecation is": "deprecation_headers",
        "GET /pets/{petId}": "deprecation_headers after_removal",
    },
}
# Why no response shows a sentence.
UNSEEN: Final[dict[str, dict[str, str]]] = {
    "": {"This document": "it is about the document, not about a response"},
    "1": {"Two environments": "a run sends requests to one base address, so it can't show that another exists"},
    "3": {
        "Transitions": _NOT_SEEN,
        "No operation": "no request can test an operation that does not exist",
    },
    "4.1": {"Operation name": _NAME, "Request body": _NO_BODY},
    "4.2": {"Operation name": _NAME},
    "4.3": {"Operation name": _NAME, "Request body": _NO_BODY},
    "5": {"Per-operation": "with one key, a run can't show that another key has fewer permissions"},
    "6": {"Events, webhooks": _NOT_SEEN},
    "9": {
        "The interface": "no response carries it",
        "Some operations": "the marker is optional, so its absence breaks nothing",
        "Which operations": _NOT_SEEN,
        "Policy for": _NOT_SEEN,
    },
}


class Passage(NamedTuple):
    """A sentence of the interface.

    Attributes:
        section: its section.
        text: its words; the cells of a row are joined by ``; ``.
        clauses: the ids of the clauses that check it.
        gaps: the names of the gaps that it leaves open.
        why: why no response shows it.
    """

    section: str
    text: str
    clauses: tuple[str, ...]
    gaps: tuple[str, ...]
    why: str


def sentences() -> Iterator[tuple[str, str]]:
    """Yield the section and the text of each sentence of the page, without headings and heads of tables."""
    page = PAGE.read_text(encoding="utf-8")
    lines = page[page.index("This document covers") :].splitlines()
    section = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if heading := re.match(r"#+ (\d+(?:\.\d+)?)", line):
            section = heading[1]
        if line.startswith("#") or "|---" in line + following or line in {"", "- Responses:"}:
            continue
        if line.startswith("|"):
            yield section, "; ".join(cell.strip() for cell in line.strip("|").split("|")).replace("`", "")
        else:
            for text in re.split(r"(?<=\.) (?=[A-Z`])", line.strip().removeprefix("- ")):
                yield section, text.replace("`", "")


def _named(rows: dict[str, dict[str, str]], section: str, text: str) -> str:
    return next((found for begin, found in rows.get(section, {}).items() if text.startswith(begin)), "")


def _matching(name: str) -> list[str]:
    """Return the clauses that a name stands for: ``2-visit-*`` stands for each clause whose id begins so."""
    if "*" not in name:
        return [name]
    listed = re.findall(r"^\| `([^`]+)` \|", PAGE.with_name("clauses.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [clause for clause in listed if fnmatchcase(clause, name)]


def _passages() -> Iterator[Passage]:
    for section, text in sentences():
        names = _named(HELD, section, text).split()
        clauses = tuple(clause for name in names if name[0].isdigit() for clause in _matching(name))
        gaps = tuple(name for name in names if not name[0].isdigit())
        yield Passage(section, text, clauses, gaps, _named(UNSEEN, section, text))


PASSAGES: Final = tuple(_passages())
