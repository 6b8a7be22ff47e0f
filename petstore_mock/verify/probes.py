"""What is asked of a service: one table of requests, in the order in which they are sent.

A target or a body may hold ``{known}`` (the id of an animal that a list showed, else one that a get showed, else 1),
``{absent}`` (one that nothing showed), ``{made}`` (the id of the latest animal that this run created), ``{name}`` (a
name with the tool, the date and the run) and ``{category}`` (the category of an animal that a list showed, or 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from petstore_mock.verify.exchange import Fields

__all__ = ["PROBES", "UNKNOWN_FIELD", "Probe", "credentials_of"]

UNKNOWN_FIELD: Final = "noSuchField"


def credentials_of(key: str) -> str:
    """Return what a probe's ``key`` puts into Authorization, with ``{key}`` for the user's own; empty for nothing."""
    return {"own": "Bearer {key}", "unknown": "Bearer no-such-key", "none": ""}.get(key, key)


_JSON: Final = (("Content-Type", "application/json"),)


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that shows something.

    Attributes:
        name: how clauses and reports speak of it.
        method: the method.
        target: the target, from the base address on.
        key: ``own``, ``none``, ``unknown``, or what stands in Authorization.
        fields: further header fields.
        body: the body.
        creates: whether a service that keeps the contract creates an animal: ``yes``, ``no``, or ``maybe`` where the
            interface leaves it open.
        repeat: how often the request is sent at most, until an animal that was created shows.
    """

    name: str
    method: Literal["GET", "POST"]
    target: str
    key: str = "own"
    fields: Fields = ()
    body: str | None = None
    creates: Literal["yes", "no", "maybe"] = "no"
    repeat: int = 1


def _get(name: str, target: str, key: str = "own", fields: Fields = (), repeat: int = 1) -> Probe:
    return Probe(name, "GET", target, key, fields, repeat=repeat)


def _post(
    name: str,
    body: str,
    creates: Literal["yes", "no", "maybe"] = "no",
    *,
    key: str = "own",
    fields: Fields = _JSON,
) -> Probe:
    return Probe(name, "POST", "/pets", key, fields, body, creates)


_NEW: Final = '"name": "{name}", "categoryId": {category}'

PROBES: Final = (
    # What matters most comes first: a key may be worth ten requests.
    _get("list", "/pets"),
    _get("list-100", "/pets?limit=100"),
    _get("get-known", "/pets/{known}"),
    _get("list-limit-1", "/pets?limit=1"),
    _get("list-limit-4", "/pets?limit=4"),
    _get("list-available", "/pets?status=available"),
    _get("list-pending", "/pets?status=pending"),
    _get("list-sold", "/pets?status=sold"),
    _get("get-absent", "/pets/{absent}"),
    # Keys (§5)
    _get("list-no-key", "/pets", "none"),
    _get("list-unknown-key", "/pets", "unknown"),
    _get("get-no-key", "/pets/{known}", "none"),
    _get("get-unknown-key", "/pets/{known}", "unknown"),
    _get("get-absent-unknown-key", "/pets/{absent}", "unknown"),
    _get("list-key-without-scheme", "/pets", "{key}"),
    _get("list-key-other-scheme", "/pets", "Basic {key}"),
    _get("list-empty-key", "/pets", "Bearer"),
    _get("list-key-in-query", "/pets?api_key={key}", "none"),
    # Parameters
    _get("list-available-limit-1", "/pets?status=available&limit=1"),
    _get("list-limit-20", "/pets?limit=20"),
    _get("get-largest", "/pets/9223372036854775807"),
    _get("get-malformed", "/pets/no-number"),
    _get("list-limit-0", "/pets?limit=0"),
    _get("list-limit-101", "/pets?limit=101"),
    _get("list-status-unknown", "/pets?status=no-such-status"),
    _get("list-query-unknown", "/pets?no-such-parameter=1"),
    _get("list-limit-twice", "/pets?limit=1&limit=4"),
    # What createPet refuses (§4.2): nothing is left behind by a service that keeps the contract.
    _post("create-no-key", f"{{{_NEW}}}", key="none"),
    _post("create-unknown-key", f"{{{_NEW}}}", key="unknown"),
    _post("create-without-name", '{"categoryId": {category}}'),
    _post("create-without-category", '{"name": "{name}"}'),
    _post("create-empty-object", "{}"),
    _post("create-name-number", '{"name": 5, "categoryId": {category}}'),
    _post("create-name-null", '{"name": null, "categoryId": {category}}'),
    _post("create-category-text", '{"name": "{name}", "categoryId": "{category}"}'),
    _post("create-category-fraction", '{"name": "{name}", "categoryId": 1.5}'),
    _post("create-category-null", '{"name": "{name}", "categoryId": null}'),
    _post("create-category-true", '{"name": "{name}", "categoryId": true}'),
    _post("create-category-beyond-int64", '{"name": "{name}", "categoryId": 9223372036854775808}'),
    _post("create-status-unknown", f'{{{_NEW}, "status": "no-such-status"}}'),
    _post("create-status-case", f'{{{_NEW}, "status": "Available"}}'),
    _post("create-status-number", f'{{{_NEW}, "status": 1}}'),
    _post("create-array", f"[{{{_NEW}}}]"),
    _post("create-malformed", f"{{{_NEW}"),
    _post("create-no-body", ""),
    # What it creates
    _post("create-available", f'{{{_NEW}, "status": "available"}}', "yes"),
    _get("get-made", "/pets/{made}", repeat=3),
    _post("create-pending", f'{{{_NEW}, "status": "pending"}}', "yes"),
    _get("get-made-second", "/pets/{made}", repeat=3),
    _post("create-sold", f'{{{_NEW}, "status": "sold"}}', "yes"),
    _get("get-made-third", "/pets/{made}", repeat=3),
    _post("create-without-status", f"{{{_NEW}}}", "yes"),
    _post("create-beyond-ascii", '{"name": "{name} Žofka ✓", "categoryId": {category}}', "maybe"),
    _post("create-category-large", '{"name": "{name}", "categoryId": 9007199254740993}', "maybe"),
    # What the interface leaves open (a service may refuse or create)
    _post("create-unknown-field", f'{{{_NEW}, "{UNKNOWN_FIELD}": 1}}', "maybe"),
    _post("create-status-null", f'{{{_NEW}, "status": null}}', "maybe"),
    _post("create-category-1.0", '{"name": "{name}", "categoryId": {category}.0}', "maybe"),
    _post("create-name-empty", '{"name": "", "categoryId": {category}}', "maybe"),
    _post("create-name-256", '{"name": "{name256}", "categoryId": {category}}', "maybe"),
    _post("create-category-0", '{"name": "{name}", "categoryId": 0}', "maybe"),
    _post("create-text-plain", f"{{{_NEW}}}", "maybe", fields=(("Content-Type", "text/plain"),)),
    # How it all is afterwards
    _get("list-available-after", "/pets?status=available&limit=100"),
    _get("list-pending-after", "/pets?status=pending&limit=100"),
    _get("list-sold-after", "/pets?status=sold&limit=100"),
    _get("list-after", "/pets?limit=100"),
    _get("list-after-again", "/pets?limit=100"),
    _get("list-default-after", "/pets"),
    _get("list-limit-4-after", "/pets?limit=4"),
    _get("list-limit-1-after", "/pets?limit=1"),
    _get("list-limit-0-after", "/pets?limit=0"),
    _get("list-limit-twice-after", "/pets?limit=1&limit=4"),
    _get("list-status-unknown-after", "/pets?status=no-such-status"),
    _get("get-known-after", "/pets/{known}"),
    _get("list-last", "/pets?limit=100"),
)
