"""Every sentence of the interface, and where it is held: by clauses, by gaps, or by nothing that can be asked.

The text is ``docs/reference/interface.md``, and a test compares the two. Another test holds the clauses and the gap
register complete against this table. The documents say how many rows there are of each kind.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Passage(NamedTuple):
    """A sentence, a row of a table, or a line of a list.

    Attributes:
        section: its section.
        text: its words; the cells of a row are joined by ``; ``.
        clauses: the ids of the clauses that hold it, separated by spaces.
        gaps: the names of the gaps that it leaves open.
        why: why neither, or not they alone, can hold it.
    """

    section: str
    text: str
    clauses: str = ""
    gaps: str = ""
    why: str = ""


_MISSING: Final = "5-missing-key 5-missing-key-get 5-missing-key-create"
_KEY_REFUSED: Final = f"{_MISSING} 5-unknown-key 5-unknown-key-get 5-unknown-key-create 7-401-error"
_NOT_SEEN: Final = "not shown, and a request can't show it either"

PASSAGES: Final = (
    Passage(
        "",
        "This document covers the whole interface of the pet store service: the animal catalogue, its "
        "authentication, errors, limits and versioning.",
        why="it is about the document, not about a response",
    ),
    # §1
    Passage(
        "1", "The service is an HTTP API for a store's animals.", "1-http", "answer_framing header_names connection"
    ),
    Passage(
        "1",
        "A client can list animals, filter them by availability status, add a new animal, and fetch one "
        "animal by its identifier.",
        "4.1-list 4.1-status-filter 4.2-created 4.3-get",
    ),
    Passage("1", "Each animal belongs to a category, which it references by identifier.", "2-pet-category"),
    Passage("1", "The base address is {base_url}.", "1-base-address"),
    Passage("1", "It includes the version path segment /v1.", "1-base-address"),
    Passage(
        "1",
        "Two environments exist: production at {base_url} and staging at {staging_base_url}.",
        why="a run sends requests to one base address, so it can't show that another exists",
    ),
    Passage(
        "1",
        "Request and response bodies are JSON (application/json).",
        "1-json-body 1-media-type 4.2-body-json",
        "json_style content_type duplicate_member",
    ),
    Passage(
        "1", "Other resources, such as store orders and categories, are referred to only by name.", gaps="unknown_route"
    ),
    Passage("1", "Their operations and fields: not shown.", gaps="unknown_route"),
    # §2
    Passage(
        "2",
        "PetStatus (string enumeration): allowed values: available, pending, sold.",
        "2-pet-status 2-status-available 2-status-pending 2-status-sold 4.2-status-value 4.2-status-case "
        "4.2-status-type",
    ),
    Passage(
        "2",
        "NewPet; name; string; none; yes; The animal's name",
        "4.2-name-required 4.2-name-type 4.2-name-null 2-name-echoed 2-name-text",
    ),
    Passage(
        "2",
        "NewPet; categoryId; integer; int64; yes; Identifier of the category the animal belongs to",
        "4.2-category-required 4.2-category-type 4.2-category-fraction 4.2-category-null 4.2-category-"
        "boolean 4.2-category-range 2-category-echoed 2-category-int64",
        "integral_float category_rule",
    ),
    Passage(
        "2",
        "NewPet; status; PetStatus; none; no; Availability status",
        "2-status-optional 2-status-echoed 4.2-status-value",
        "null_status status_when_omitted",
    ),
    Passage(
        "2",
        "Pet has all fields of NewPet plus the following.",
        "2-pet-name 2-pet-category 2-pet-status 2-pet-object",
        "extra_response_fields",
    ),
    Passage(
        "2",
        "Pet; id; integer; int64; yes; Unique identifier, assigned by the service on creation",
        "2-pet-id 2-id-unique 2-id-assigned",
        "id_assignment",
    ),
    Passage("2", "A JSON array of Pet objects.", "2-pets-array 2-pet-object"),
    Passage("2", "Error; code; string; yes; Machine-readable error code", "2-error-code", "error_codes"),
    Passage(
        "2",
        "Error; message; string; yes; Human-readable description",
        "2-error-message",
        why="whether it is readable for a human is for a human to say",
    ),
    Passage("2", "Error; status; integer; yes; The HTTP status code", "2-error-status 7-status"),
    Passage("2", "Fields of the category record: not shown.", gaps="category_rule"),
    Passage("2", "Length or character limits on name: not shown.", gaps="name_rule"),
    # §3
    Passage("3", "The only state-like field is status on a Pet, with these states:", "2-pet-status"),
    Passage(
        "3",
        "available; The animal is available",
        "2-status-available",
        why="no response shows whether somebody can buy it",
    ),
    Passage("3", "pending; Named state only", "2-status-pending"),
    Passage("3", "sold; Named state only", "2-status-sold"),
    Passage("3", "Transitions: not shown.", why=_NOT_SEEN),
    Passage(
        "3",
        "No operation for changing the status of an existing animal is shown.",
        why="no request can test an operation that does not exist",
    ),
    Passage("3", "The status given to a new animal when status is omitted: not shown.", gaps="status_when_omitted"),
    # §4
    Passage("4", "All paths are relative to {base_url}.", "1-base-address"),
    Passage(
        "4",
        "Every operation requires authentication (see section 5).",
        _MISSING,
    ),
    Passage(
        "4.1",
        "Operation name: listPets",
        why="the name is part of the document only; no request or response contains it",
    ),
    Passage("4.1", "Method and path: GET /pets", "4.1-list 1-base-address"),
    Passage("4.1", "Query parameters (both optional):", "4.1-list 4.1-limit-within", "unknown_query repeated_query"),
    Passage(
        "4.1",
        "limit; integer; minimum 1, maximum 100; 20; Maximum number of animals to return",
        "4.1-limit-minimum 4.1-limit-maximum 4.1-limit-bound 4.1-limit-within 4.1-limit-counts 4.1-limit-default",
        "invalid_limit page_fill",
    ),
    Passage(
        "4.1",
        "status; PetStatus; one of available, pending, sold; none; Returns only animals with this status",
        "4.1-status-filter 4.1-status-finds 4.1-status-available 4.1-status-pending 4.1-status-sold",
        "invalid_status_filter",
    ),
    Passage(
        "4.1",
        "Request body: none.",
        why="verify sends a GET without a body; the interface does not say how a service treats a body",
    ),
    Passage(
        "4.1", "200: body is Pets, the array of Pet objects.", "4.1-list 4.1-list-finds 4.1-same-animal 2-pets-array"
    ),
    Passage(
        "4.1",
        "The operation is described as returning a paginated list.",
        "4.1-limit-counts",
        "paging_headers list_order",
    ),
    Passage("4.1", "401: Error body, missing or invalid API key.", "5-missing-key 5-unknown-key 7-401-error"),
    Passage(
        "4.1",
        "Pagination controls beyond limit (offset, cursor, page token, or any paging metadata in the "
        "response): not shown.",
        gaps="paging_headers list_order",
    ),
    Passage(
        "4.2",
        "Operation name: createPet",
        why="the name is part of the document only; no request or response contains it",
    ),
    Passage("4.2", "Method and path: POST /pets", "4.2-created 1-base-address"),
    Passage(
        "4.2",
        "Request body (required, application/json): NewPet.",
        "4.2-body-required 4.2-body-object 4.2-body-json",
        "media_type unknown_body_field",
    ),
    Passage("4.2", "name and categoryId are required.", "4.2-name-required 4.2-category-required 4.2-both-required"),
    Passage(
        "4.2",
        "201: body is the created Pet, including the assigned id.",
        "4.2-created 4.2-kept 4.2-listed 4.2-same-animal 2-id-assigned",
        "location_header visibility",
    ),
    Passage("4.2", "400: Error body.", "7-400-error"),
    Passage(
        "4.2",
        "The request body is missing required fields or contains invalid values.",
        "4.2-both-required 4.2-status-value 4.2-refused-not-kept",
        "unknown_body_field",
    ),
    Passage(
        "4.2", "401: Error body, missing or invalid API key.", "5-missing-key-create 5-unknown-key-create 7-401-error"
    ),
    Passage(
        "4.3", "Operation name: getPet", why="the name is part of the document only; no request or response contains it"
    ),
    Passage("4.3", "Method and path: GET /pets/{petId}", "4.3-get"),
    Passage(
        "4.3",
        "Path parameter: petId, required, integer, format int64, the identifier of the animal.",
        "4.3-asked-for 4.3-int64",
        "malformed_pet_id",
    ),
    Passage(
        "4.3",
        "Request body: none.",
        why="verify sends a GET without a body; the interface does not say how a service treats a body",
    ),
    Passage("4.3", "200: body is the Pet.", "4.3-get 4.3-same-animal"),
    Passage("4.3", "401: Error body, missing or invalid API key.", "5-missing-key-get 5-unknown-key-get 7-401-error"),
    Passage("4.3", "404: Error body, the requested resource could not be found.", "4.3-absent 7-404-error"),
    Passage("4.3", "The operation is marked deprecated.", gaps="deprecation_headers"),
    Passage("4.3", "Its scheduled removal date is 5 December 2030.", "4.3-get", "after_removal"),
    Passage("4.3", "The replacement is GET /pets with the status filter.", "4.1-status-filter 4.1-status-finds"),
    Passage(
        "4.4", "A store-orders listing endpoint (GET /store/orders) is mentioned by name only.", gaps="unknown_route"
    ),
    Passage("4.4", "Its method details, parameters and payloads: not shown.", gaps="unknown_route"),
    # §5
    Passage("5", "Scheme: HTTP bearer.", "5-scheme 5-key"),
    Passage(
        "5",
        "The API key is sent as a bearer token in the Authorization header, in the form Authorization: "
        "Bearer <API_KEY>.",
        "5-key 5-scheme 5-missing-key",
    ),
    Passage(
        "5",
        "The scheme applies to every operation listed in section 4.",
        "5-key 5-missing-key 5-missing-key-get 5-missing-key-create",
    ),
    Passage("5", "When the key is missing or invalid, the service answers 401 with an Error body.", _KEY_REFUSED),
    Passage("5", "How keys are issued, their lifetime and their rotation: not shown.", gaps="key_rotation"),
    Passage(
        "5",
        "Per-operation permissions or scopes: not shown.",
        why="with one key, a run can't show that another key has fewer permissions",
    ),
    # §6
    Passage("6", "Events, webhooks and notifications: not shown.", why=_NOT_SEEN),
    # §7
    Passage(
        "7",
        "Error responses use the Error shape from section 2 (code, message, status), as application/json.",
        "7-401-error 7-404-error 7-400-error 2-error-code 2-error-message 2-error-status",
    ),
    Passage(
        "7",
        "400; createPet; Body is missing required fields (name, categoryId) or contains invalid values",
        "4.2-name-required 4.2-category-required 4.2-both-required 4.2-category-type 4.2-status-value 7-400-error",
    ),
    Passage("7", "401; listPets, createPet, getPet; API key missing or invalid", _KEY_REFUSED),
    Passage("7", "404; getPet; No animal found for the given petId", "4.3-absent 7-404-error"),
    Passage("7", "The status field of the Error body carries the same number as the HTTP status.", "7-status"),
    Passage("7", "The set of possible values of code: not shown.", gaps="error_codes"),
    Passage(
        "7",
        "Errors for invalid query parameters on listPets (for example limit outside 1 to 100 or an "
        "unknown status): not shown.",
        gaps="invalid_limit invalid_status_filter unknown_query repeated_query",
    ),
    # §8
    Passage("8", "limit (page size) minimum; listPets; 1", "4.1-limit-minimum"),
    Passage("8", "limit (page size) maximum; listPets; 100", "4.1-limit-maximum 4.1-limit-counts"),
    Passage("8", "limit (page size) default; listPets; 20", "4.1-limit-default"),
    Passage("8", "Rate limits: not shown.", gaps="rate_limit"),
    Passage("8", "Size limits of request bodies: not shown.", gaps="body_limit"),
    # §9
    Passage("9", "The interface version is 1.0.0.", why="no response carries it"),
    Passage("9", "The base address carries the path segment /v1.", "1-base-address"),
    Passage("9", "Deprecation is signalled per operation.", gaps="deprecation_headers"),
    Passage(
        "9",
        "GET /pets/{petId} is deprecated with the removal date given in section 4.3.",
        gaps="deprecation_headers after_removal",
    ),
    Passage(
        "9",
        "Some operations may carry an experimental or beta stability marker.",
        why="the marker is optional, so its absence breaks nothing",
    ),
    Passage("9", "Which operations carry one: not shown.", why=_NOT_SEEN),
    Passage(
        "9", "Policy for introducing new versions and for the support period of old ones: not shown.", why=_NOT_SEEN
    ),
)
