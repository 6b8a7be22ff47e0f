"""A second, simple judge of bodies and targets, by the RFCs and the interface. It asks no schemas."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BodyVerdict", "judge_body", "judge_target"]

STATUSES: Final = ("available", "pending", "sold")
INT64: Final = range(-(2**63), 2**63)
DEEPEST: Final = 100

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)")


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


# Targets


def decode(text: str) -> str | None:
    """Decode percent-encoded UTF-8 (RFC 3986 §2.1), or return None."""
    if not text.isascii() or re.search("%(?![0-9A-Fa-f]{2})", text):
        return None
    raw = re.sub("%(..)", lambda match: chr(int(match[1], 16)), text).encode("latin-1")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def judge_target(target: str, pets: list[dict[str, Any]]) -> tuple[int, object, frozenset[str]]:
    """Judge ``GET target``: return the status, the body of a 200, and the wrong paths of a 400."""
    path, _, query = target.partition("?")
    segments = [decode(segment) for segment in path.split("/")]
    if segments[0] or len(segments) < 2 or "#" in target or None in segments:
        return 400, None, frozenset()
    match segments[1:]:
        case ["v1", "pets"]:
            return _judge_list(query, pets)
        case ["v1", "pets", str(text)] if text:
            return _judge_get(text, query, pets)
    return 404, None, frozenset()


def _parameters(query: str) -> tuple[dict[str, list[str]], set[str]]:
    found: dict[str, list[str]] = {}
    broken = set()
    for part in query.split("&"):
        name, _, value = (decode(side.replace("+", " ")) for side in part.partition("="))
        if name is None or value is None:
            broken.add("query")
        elif part:
            found.setdefault(name, []).append(value)
    return found, broken


def _judge_list(query: str, pets: list[dict[str, Any]]) -> tuple[int, object, frozenset[str]]:
    found, broken = _parameters(query)
    broken |= {member_path("query", name) for name, values in found.items() if len(values) > 1}
    broken |= {member_path("query", name) for name in found.keys() - {"limit", "status"}}
    limit, status = found.get("limit", ["20"])[0], found.get("status", [None])[0]
    if _INTEGER.fullmatch(limit) is None or len(limit) > 3 or int(limit) not in range(1, 101):
        broken.add("query.limit")
    if status is not None and status not in STATUSES:
        broken.add("query.status")
    if broken:
        return 400, None, frozenset(broken)
    chosen = [pet for pet in pets if status is None or pet.get("status") == status]
    return 200, chosen[: int(limit)], frozenset()


def _judge_get(text: str, query: str, pets: list[dict[str, Any]]) -> tuple[int, object, frozenset[str]]:
    if _INTEGER.fullmatch(text) is None or text == "-0" or len(text) > 20 or int(text) not in INT64:
        return 404, None, frozenset()
    found, broken = _parameters(query)
    if broken := broken | {member_path("query", name) for name in found}:
        return 400, None, frozenset(broken)
    pet = next((pet for pet in pets if pet["id"] == int(text)), None)
    return (404, None, frozenset()) if pet is None else (200, pet, frozenset())
