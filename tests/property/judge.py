"""A second, simple judge of bodies, by the RFCs and the interface. It asks no schemas."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

STATUSES: Final = ("available", "pending", "sold")
INT64: Final = range(-(2**63), 2**63)
DEEPEST: Final = 100


@dataclass(frozen=True)
class BodyVerdict:
    """What a body is: ``accepted``, ``invalid_body`` or ``malformed_json``; the wrong paths; the NewPet."""

    kind: str
    paths: frozenset[str] = frozenset()
    pet: dict[str, Any] | None = None


class _Object(dict[str, Any]):
    """An object, and the names that came more than once."""

    repeated: set[str]


class _NoInt64:
    """A number with a fraction, an exponent, or too many digits."""


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    made = _Object(pairs)
    names = [name for name, _ in pairs]
    made.repeated = {name for name in names if names.count(name) > 1}
    return made


def _no_json(constant: str) -> None:
    raise ValueError(constant)  # RFC 8259 §6: NaN and Infinity are none


def judge_body(body: bytes) -> BodyVerdict:
    """Judge a body of createPet (§4.2)."""
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_json,
            parse_float=lambda _: _NoInt64(),
            parse_int=lambda digits: int(digits) if len(digits) < 100 else _NoInt64(),
        )
        found = list(_walk(value, "body", 0))
    except (ValueError, RecursionError):
        return BodyVerdict("malformed_json", frozenset({"body"}))
    texts = [(path, one) for path, value in found for one in (value if isinstance(value, dict) else [value])]
    lone = {path for path, one in texts if isinstance(one, str) and re.search("[\ud800-\udfff]", one)}
    if lone:
        return BodyVerdict("malformed_json", frozenset(lone))
    repeated = {member_path(path, name) for path, one in found if isinstance(one, _Object) for name in one.repeated}
    paths = {*repeated, *_broken(value)}
    return BodyVerdict("invalid_body", frozenset(paths)) if paths else BodyVerdict("accepted", pet=dict(value))


def member_path(path: str, name: str) -> str:
    """Write the path of a member as the service does: a long name is cut, an odd one is escaped."""
    shown = name if len(name) <= 60 else f"{name[:60]}..."
    return f"{path}.{shown if shown.isprintable() else json.dumps(shown)[1:-1]}"


def _walk(value: object, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield each value with its path."""
    yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is not None and depth >= DEEPEST:
        raise ValueError("too deep")
    for name, part in parts or ():
        yield from _walk(part, member_path(path, str(name)), depth + 1)


def _broken(value: object) -> Iterator[str]:
    """Yield the path of each rule of NewPet (§2) that ``value`` breaks."""
    if not isinstance(value, dict):
        yield "body"
        return
    yield from (member_path("body", name) for name in value.keys() - {"name", "categoryId", "status"})
    if not isinstance(value.get("name"), str):
        yield "body.name"
    category = value.get("categoryId")
    if type(category) is not int or category not in INT64:
        yield "body.categoryId"
    if "status" in value and not (isinstance(value["status"], str) and value["status"] in STATUSES):
        yield "body.status"
