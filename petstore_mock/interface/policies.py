"""The choices of a behaviour, with their types: a value or a function for each gap that the core uses by name.

Rows name the other gaps: a parameter, the one about its invalid values; a gap itself, the field that it decides about.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, cast

from petstore_mock.interface.gaps import GAPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.interface.gaps import Documents, Draws, ListPage, ResponseFields, Rewrite


class Policies(Protocol):
    """What a service does, by the name of the gap. None means that it does nothing of the kind."""

    unknown_query: bool
    repeated_query: Callable[[Sequence[str]], str | None]
    unknown_body_field: bool
    integral_float: bool
    duplicate_member: bool
    media_type: str | None
    body_limit: int | None
    unknown_route: str
    list_order: Callable[[Sequence[int], int, Documents, Draws], Iterable[int]]
    page_fill: Callable[[int], int]
    id_assignment: Callable[[int, Draws], int]
    error_codes: Callable[[str, int], str]
    extra_response_fields: Rewrite | None
    after_removal: str | None
    json_style: Rewrite | None
    paging_headers: Callable[[ListPage], ResponseFields] | None
    location_header: Callable[[str, int], ResponseFields] | None
    deprecation_headers: Callable[[datetime | None], ResponseFields]
    content_type: str
    answer_framing: bool
    header_names: bool
    connection: bool
    rate_limit: Callable[[int, float], str | None] | None
    key_rotation: Callable[[int], bool] | None
    visibility: int


def policies_of(behaviour: Behaviour) -> Policies:
    """Return the choices of a behaviour."""
    choices = {name: gap.alternatives[behaviour[name]] for name, gap in GAPS.items()}
    return cast("Policies", SimpleNamespace(**choices))


def choice_of(policies: Policies, gap: str) -> Any:  # noqa: ANN401  # the choices of the rows differ
    """Return the choice for a gap that a row names."""
    return getattr(policies, gap)
