"""``Behaviour``: one chosen alternative for each gap of the interface, as a frozen value."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypedDict, Unpack

from petstore_mock.common.paths import as_path
from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.contract.gaps import GAPS
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from os import PathLike
    from random import Random

    from petstore_mock.contract.gap_policies import Catalogue, ListPage, ResponseFields

__all__ = ["PRESETS", "Behaviour", "GapChoices", "Policies", "check_gap", "gap_register", "policies"]


class GapChoices(TypedDict, total=False):
    """What may be chosen for each gap: the keywords of ``configure`` and ``Behaviour.replace``, for type checkers."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the fake does where the interface shows nothing: a field a gap, the strict default first.

    ``petstore-mock gaps`` prints what each gap is about. Instances are values: frozen, hashable, comparable.

    Raises:
        PetStoreMockError: there is no such gap, or it got a value that is none of its alternatives.
    """

    invalid_limit: Literal["reject", "clamp", "ignore"] = "reject"
    invalid_status_filter: Literal["reject", "empty", "ignore"] = "reject"
    unknown_query: Literal["reject", "ignore"] = "reject"
    repeated_query: Literal["reject", "first", "last"] = "reject"
    unknown_body_field: Literal["reject", "ignore"] = "reject"
    null_status: Literal["reject", "as_omitted"] = "reject"
    integral_float: Literal["reject", "accept"] = "reject"
    duplicate_member: Literal["reject", "last"] = "reject"
    name_rule: Literal["any", "non_empty", "max_255"] = "any"
    category_rule: Literal["any", "positive"] = "any"
    malformed_pet_id: Literal["not_found", "bad_request"] = "not_found"
    media_type: Literal["unsupported_415", "bad_request", "accept"] = "unsupported_415"
    body_limit: Literal["one_mebibyte", "none"] = "one_mebibyte"
    unknown_route: Literal["not_found", "not_implemented"] = "not_found"
    status_when_omitted: Literal["absent", "available", "pending", "sold"] = "absent"
    list_order: Literal["id_ascending", "id_descending", "by_name", "arbitrary_stable", "arbitrary"] = "id_ascending"
    page_fill: Literal["full", "short"] = "full"
    id_assignment: Literal["sequential", "sparse", "random_int64", "beyond_2_53"] = "sequential"
    error_codes: Literal["standard", "terse", "numeric_strings"] = "standard"
    extra_response_fields: Literal["none", "present"] = "none"
    after_removal: Literal["gone", "not_found", "still_served"] = "gone"
    json_style: Literal["compact", "pretty", "ascii", "shuffled_members"] = "compact"
    paging_headers: Literal["none", "link", "next_link", "total_count"] = "none"
    location_header: Literal["absent", "present"] = "absent"
    deprecation_headers: Literal["present", "absent"] = "present"
    content_type: Literal["plain", "with_charset"] = "plain"
    answer_framing: Literal["content_length", "chunked"] = "content_length"
    header_names: Literal["canonical", "lower_case"] = "canonical"
    connection: Literal["kept", "closed_after_answer"] = "kept"
    rate_limit: Literal["none", "retry_after_seconds", "retry_after_date"] = "none"
    key_rotation: Literal["never", "mid_session"] = "never"
    visibility: Literal["immediate", "delayed"] = "immediate"

    def __new__(cls, **gaps: object) -> Self:
        """Refuse a name that is no gap's, before the generated ``__init__`` does so without a word on the nearest."""
        for name in gaps.keys() - GAPS.keys():
            check_gap(name, gaps[name])
        return object.__new__(cls)  # slots: super() would mean the class as it was before it got them

    def __post_init__(self) -> None:
        for name, gap in GAPS.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in gap.alternatives:
                check_gap(name, value)

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.differences().items())
        return f"Behaviour({changed})"

    def differences(self) -> dict[str, str]:
        """Return the gaps that differ from the default, with their alternatives."""
        return {name: getattr(self, name) for name, gap in GAPS.items() if getattr(self, name) != gap.default}

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: ANN401, FBT001  # as Hypothesis prints
        printer.text(repr(self))

    def replace(self, gaps: Mapping[str, object] | None = None, /, **named: Unpack[GapChoices]) -> Behaviour:
        """Return this behaviour with other alternatives for some gaps: ``replace(list_order="by_name")``.

        Args:
            gaps: alternatives by name, where the names are known at run time only.
            named: alternatives by keyword; they win.

        Raises:
            PetStoreMockError: there is no such gap or alternative; the message suggests the nearest.
        """
        chosen: dict[str, Any] = {**(gaps or {}), **named}
        for name, value in chosen.items():
            check_gap(name, value)
        return replace(self, **chosen) if chosen else self  # each test asks, and few have gaps of their own

    @classmethod
    def preset(cls, name: str) -> Behaviour:
        """Return the behaviour called ``strict``, ``lenient``, ``helpful`` or ``hostile``.

        Raises:
            PetStoreMockError: there is no such preset.
        """
        asked: object = name  # from TOML, anything may come
        if not isinstance(asked, str) or asked not in PRESETS:
            raise PetStoreMockError(
                f"expected a preset, one of {', '.join(PRESETS)}; got {name!r}{did_you_mean(name, PRESETS)}"
            )
        return cls().replace(PRESETS[name])

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Behaviour:
        """Read a behaviour from a TOML file of ``gap = "alternative"`` lines and at most one ``preset = "name"``.

        Raises:
            PetStoreMockError: the file can't be read or says something else; names the line, the key and the
                nearest right spelling.
        """
        import tomllib  # noqa: PLC0415  # only for those who have a file: the stub is to answer soon

        try:
            text = as_path(path, "path").read_text(encoding="utf-8-sig")  # editors on Windows put a mark before it
            table = tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            raise PetStoreMockError(f"expected a readable TOML file of gaps in {path}; {error}") from None
        except tomllib.TOMLDecodeError as error:
            raise PetStoreMockError(f"expected TOML in {path}; {error}") from None
        behaviour = cls()
        entries = dict(table)
        try:
            if "preset" in entries:
                key = "preset"
                behaviour = cls.preset(entries.pop("preset"))
            for key, value in entries.items():  # the except clause names the key
                check_gap(key, value)
        except PetStoreMockError as error:
            raise PetStoreMockError(f"{path}, line {_line_of(text, key)}: {error}") from None
        return behaviour.replace(entries)

    def to_toml(self) -> str:
        """Return every gap as a line of TOML, readable by :meth:`from_toml`."""
        return "".join(f'{field.name} = "{getattr(self, field.name)}"\n' for field in fields(self))


def _line_of(text: str, key: str) -> int:
    # A key stands before "=" or, as the name of a table, in brackets; quotes and a dotted rest don't matter.
    found = re.compile(rf"\s*\[?\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    return next((number for number, line in enumerate(text.splitlines(), 1) if found.match(line)), 1)


def check_gap(name: str, value: object) -> None:
    """Raise unless ``value`` is an alternative of the gap ``name``.

    Raises:
        PetStoreMockError: names the gap, its alternatives and the nearest spelling.
    """
    gap = GAPS.get(name)
    if gap is None:
        raise PetStoreMockError(
            f"expected a gap of the interface (see 'petstore-mock gaps'); got {name!r}{did_you_mean(name, GAPS)}"
        )
    if not isinstance(value, str) or value not in gap.alternatives:
        raise PetStoreMockError(
            f"expected {name} to be one of {', '.join(gap.alternatives)}; got {name}={value!r} "
            f"({type(value).__name__}){did_you_mean(value, gap.alternatives)}"
        )


PRESETS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "strict": {},
        "lenient": {
            "invalid_limit": "clamp",
            "invalid_status_filter": "empty",
            "unknown_query": "ignore",
            "repeated_query": "last",
            "unknown_body_field": "ignore",
            "null_status": "as_omitted",
            "integral_float": "accept",
            "duplicate_member": "last",
            "media_type": "accept",
            "body_limit": "none",
        },
        "helpful": {
            "status_when_omitted": "available",
            "paging_headers": "total_count",
            "location_header": "present",
            "deprecation_headers": "present",
            "content_type": "with_charset",
        },
        "hostile": {
            "list_order": "arbitrary",
            "page_fill": "short",
            "id_assignment": "random_int64",
            "error_codes": "numeric_strings",
            "extra_response_fields": "present",
            "json_style": "shuffled_members",
            "deprecation_headers": "absent",
            "content_type": "with_charset",
            "answer_framing": "chunked",
            "header_names": "lower_case",
            "connection": "closed_after_answer",
            "after_removal": "not_found",
            "malformed_pet_id": "bad_request",
        },
    }
)


class Policies(NamedTuple):
    """What the pipeline gets of each gap: a value or, where that depends on the request, a function of it."""

    invalid_limit: Callable[[str, int, int, int], int | None]
    invalid_status_filter: Callable[[str], str | None]
    unknown_query: bool  # whether it is refused
    repeated_query: Callable[[list[str]], str | None]
    unknown_body_field: bool  # whether it is refused
    null_status: bool  # whether it is refused
    integral_float: bool  # whether it is refused
    duplicate_member: bool  # whether it is refused
    name_rule: Callable[[str], tuple[str, str] | None]
    category_rule: Callable[[int], tuple[str, str] | None]
    malformed_pet_id: str  # the condition that refuses it, as of the next; None for none
    media_type: str | None
    body_limit: int | None  # bytes
    unknown_route: str
    status_when_omitted: str | None
    list_order: Callable[[Catalogue, str | None, int, Random], Iterable[int]]
    page_fill: Callable[[int], int]
    id_assignment: Callable[[int, Random], int]
    error_codes: Callable[[str, int], str]
    extra_response_fields: Callable[[bytes], bytes]
    after_removal: str | None
    json_style: Callable[[bytes], bytes]
    paging_headers: Callable[[ListPage], ResponseFields] | None
    location_header: Callable[[str, int], ResponseFields] | None
    deprecation_headers: Callable[[datetime | None], ResponseFields]
    content_type: str
    answer_framing: bool
    header_names: bool
    connection: bool
    rate_limit: Callable[[int, float], str | None] | None
    key_rotation: Callable[[int], bool] | None
    visibility: int  # how many requests do not see the animal yet


def policies(behaviour: Behaviour) -> Policies:
    """Return what ``behaviour`` chooses; asked once, by the rules that are made of it."""
    # No checker knows the type of a row of the register; a test holds each alternative against the field's.
    return Policies(**{name: gap.alternatives[getattr(behaviour, name)] for name, gap in GAPS.items()})


def gap_register() -> dict[str, Any]:
    """Return the gaps and the presets as a JSON value."""
    gaps = [
        {
            "name": gap.name,
            "step": gap.step,
            "section": gap.section,
            "sentence": gap.sentence,
            "do_not_assume": gap.lesson,
            "default": gap.default,
            "alternatives": list(gap.alternatives),
        }
        for gap in GAPS.values()
    ]
    return {"gaps": gaps, "presets": {name: dict(changes) for name, changes in PRESETS.items()}}
