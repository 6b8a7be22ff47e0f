"""Types of operations, fields and gaps. ``tools/static_types.py`` generates this file."""

from __future__ import annotations

from typing import Literal, TypedDict

OperationName = Literal["listPets", "createPet", "getPet"]
PetStatus = Literal["available", "pending", "sold"]


class PetFields(TypedDict, total=False):
    """Fields of an animal (§2)."""

    id: int
    name: str
    categoryId: int
    status: PetStatus


class PetChanges(TypedDict, total=False):
    """Fields that another actor may change."""

    name: str
    categoryId: int
    status: PetStatus | None


class GapChoices(TypedDict, total=False):
    """The alternatives of each gap, as keywords."""

    invalid_limit: Literal["reject", "clamp", "ignore"]
    invalid_status_filter: Literal["reject", "empty", "ignore"]
    unknown_query: Literal["reject", "ignore"]
    repeated_query: Literal["reject", "first", "last"]
    unknown_body_field: Literal["reject", "ignore"]
    null_status: Literal["reject", "as_omitted"]
    integral_float: Literal["reject", "accept"]
    duplicate_member: Literal["reject", "last"]
    name_rule: Literal["any", "non_empty", "max_255"]
    category_rule: Literal["any", "positive"]
    malformed_pet_id: Literal["not_found", "bad_request"]
    media_type: Literal["unsupported_415", "bad_request", "accept"]
    body_limit: Literal["one_mebibyte", "none"]
    unknown_route: Literal["not_found", "not_implemented"]
    status_when_omitted: Literal["absent", "available", "pending", "sold"]
    list_order: Literal["id_ascending", "id_descending", "by_name", "arbitrary_stable", "arbitrary"]
    page_fill: Literal["full", "short"]
    id_assignment: Literal["sequential", "sparse", "random_int64", "beyond_2_53"]
    error_codes: Literal["standard", "terse", "numeric_strings"]
    extra_response_fields: Literal["none", "present"]
    after_removal: Literal["gone", "not_found", "still_served"]
    json_style: Literal["compact", "pretty", "ascii", "shuffled_members"]
    paging_headers: Literal["none", "link", "next_link", "total_count"]
    location_header: Literal["absent", "present"]
    deprecation_headers: Literal["present", "absent"]
    content_type: Literal["plain", "with_charset"]
    answer_framing: Literal["content_length", "chunked"]
    header_names: Literal["canonical", "lower_case"]
    connection: Literal["kept", "closed_after_answer"]
    rate_limit: Literal["none", "retry_after_seconds", "retry_after_date"]
    key_rotation: Literal["never", "mid_session"]
    visibility: Literal["immediate", "delayed"]
