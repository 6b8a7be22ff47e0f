"""What goes in at the door and out, as JSON Schema: the one source of its validation and its description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.behaviour import PRESETS
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import LARGEST_INT64
from petstore_mock.contract.interface import OPERATIONS as SERVICE_OPERATIONS
from petstore_mock.contract.mutants import MUTANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CANCEL_QUERY",
    "FAULT_QUERY",
    "HANDSHAKE_QUERY",
    "LONGEST_WAIT",
    "MOST_PETS",
    "REQUEST_QUERY",
    "SCHEMAS",
    "Schema",
    "ref",
]

MOST_PETS: Final = 1_000_000  # of one request
LONGEST_WAIT: Final = 25  # seconds: less than what clients and proxies give a request as a rule

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """Return a reference to one of :data:`SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, **more: Any) -> Schema:  # noqa: ANN401  # keywords of JSON Schema
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}
# What `connect()` asks of a stub of its own version, for the reports of a test; no promise to anybody else.
_RECORD: Final[Schema] = {**_FLAG, "description": "Internal: may change with any version.", "x-internal": True}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": LARGEST_INT64}
_POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": LARGEST_INT64}
_SERVICE_OPERATION: Final[Schema] = {"type": "string", "enum": list(SERVICE_OPERATIONS)}
_ANY_OPERATION: Final[Schema] = {"type": ["string", "null"], "enum": [*SERVICE_OPERATIONS, None]}
_ANIMAL: Final[Schema] = {"type": "object", "description": "Fields of an animal (§2); what is missing is filled in."}
_WHERE: Final[Schema] = {
    "type": ["object", "null"],
    "description": "Criteria: arguments by the interface's names, or status, json, body, query, headers, method, path.",
}
_GAPS: Final[Schema] = {
    "type": "object",
    "properties": {name: {"type": "string", "enum": list(gap.alternatives)} for name, gap in GAPS.items()},
    "additionalProperties": False,
}
_NUMBER: Final[Schema] = {"type": "number", "minimum": -1e12, "maximum": 1e12}
_FAULT: Final[Schema] = {
    "description": 'An HTTP status, or a kind of fault and its arguments, as {"kind": "delay", "seconds": 2}.',
    "oneOf": [
        {"type": "integer", "minimum": 200, "maximum": 599},
        {"type": "object", "properties": {"kind": _TEXT}, "required": ["kind"]},
    ],
}
_PLAN: Final[dict[str, Schema]] = {
    "on": _ANY_OPERATION,
    "times": {"type": ["integer", "null"], "minimum": 1, "maximum": LARGEST_INT64},
    "after": _COUNT,
    "at": {"type": "string", "enum": ["before_commit", "after_commit"]},
    "probability": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "off_contract": _FLAG,
    "where": _WHERE,
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Problem": _object(
        {"title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
        {"violations": _array(_object({"field": _TEXT, "message": _TEXT}))},
    ),
    "Health": _object(
        {
            "status": {"type": "string", "const": "ok"},
            "version": _TEXT,
            "uptime": {"type": "number"},
            "worlds": _POSITIVE,
        }
    ),
    "World": _object(
        {
            "name": _TEXT,
            "url": _TEXT,
            "api_key": _TEXT,
            "pets": _COUNT,
            "requests": _COUNT,
            "violations": _COUNT,
            "faults": _COUNT,
        },
        {
            "mutant": {**_TEXT, "description": "The mutant that answers; only where there is one."},
            "previous": ref("Verification"),
            "passed": _FLAG,
        },
    ),
    "WorldOptions": _object(
        {},
        {
            "seed": {
                "description": "An array of animals, or how many.",
                "oneOf": [
                    {"type": "array", "items": _ANIMAL},
                    {"type": "integer", "minimum": 0, "maximum": MOST_PETS},
                    {"type": "null"},
                ],
            },
            "behaviour": {
                "description": "The name of a preset, or gaps with their alternatives.",
                "oneOf": [{"type": "string", "enum": list(PRESETS)}, _GAPS, {"type": "null"}],
            },
            "at": {"type": ["string", "null"], "description": "The date at the start, ISO 8601."},
            "strict": _FLAG,
            "random_seed": {"type": "integer"},
            "mutant": {
                "type": ["string", "null"],
                "enum": [*MUTANTS, None],
                "description": "A service that breaks one clause answers, until the world is made anew.",
            },
            "api_key": {
                "type": ["string", "null"],
                "pattern": "^[A-Za-z0-9._~+/-]+=*$",
                "description": "Letters, digits and -._~+/, then any = (RFC 6750 §2.1).",
            },
        },
    ),
    "Verification": _object(
        {
            "passed": _FLAG,
            "problems": _array(
                _object({"kind": {"type": "string", "enum": ["unfired_fault", "violation", "error"]}, "message": _TEXT})
            ),
        }
    ),
    "Telling": _object(
        {},
        {
            "again": {
                **_FLAG,
                "description": "Whether what was told already, and is still so, counts; true unless given.",
            },
            "excuse": {**_FLAG, "description": "Let nobody answer for what came so far.", "x-internal": True},
        },
    ),
    "Pet": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
    "Pets": _object({"pets": _array(ref("Pet"))}),
    "NewPets": {
        "description": 'An animal, an array of animals, or how many, as {"count": 20}.',
        "oneOf": [
            _object({"count": {"type": "integer", "minimum": 0, "maximum": MOST_PETS}}),
            {"type": "array", "items": _ANIMAL, "maxItems": MOST_PETS},
            {**_ANIMAL, "not": {"required": ["count"]}},
        ],
    },
    "PetChange": {"type": "object", "description": 'Fields of an animal; "status": null takes it away.'},
    "NewFault": _object({"fault": _FAULT}, _PLAN),
    "Fault": _object(
        {"id": _POSITIVE, "fault": _FAULT, **_PLAN, "hits": _COUNT, "spent": _FLAG},
        {
            "why_not": {
                "type": ["string", "null"],
                "description": "Why it has not fired yet, if a test must answer for that; with ?record=true.",
                "x-internal": True,
            },
            "words": {"type": "string", "description": "How it is told; with ?record=true.", "x-internal": True},
        },
    ),
    "Faults": _object({"faults": _array(ref("Fault"))}),
    "Request": _object(
        {
            "number": _POSITIVE,
            "at": _TEXT,
            "method": _TEXT,
            "path": {"type": "string", "description": "From /v1 on, percent-decoded."},
            "query": {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}},
            "headers": {"type": "object", "additionalProperties": _TEXT},
            "status": {"type": ["integer", "null"]},
            "response_headers": {"type": "object", "additionalProperties": _TEXT},
            "response_body": {"description": "The JSON value, or text."},
            "operation": {"type": ["string", "null"]},
            "fault": {"type": ["string", "null"]},
            "executed": _FLAG,
            "duration_ms": {"type": "number"},
            "violations": _array(_object({"section": _TEXT, "field": _TEXT, "message": _TEXT}, {"sentence": _TEXT})),
        },
        {
            "body": {"description": "The JSON value, null where there is none."},
            "body_text": _TEXT,
            "body_base64": _TEXT,
            "mutant": {**_TEXT, "description": "The mutant that did otherwise than the interface says; else absent."},
            "record": {
                "type": "object",
                "description": "All that is known of it, for reports; with ?record=true.",
                "x-internal": True,
            },
        },
        additionalProperties=True,
    ),
    "Requests": _object(
        {"requests": _array(ref("Request")), "total": _COUNT, "evicted": _COUNT},
        {
            "clears": {
                **_COUNT,
                "description": "How often the numbers began anew; with ?record=true.",
                "x-internal": True,
            }
        },
    ),
    "Expectation": _object(
        {"numbers": _array(_POSITIVE)},
        {
            "clears": {
                **_COUNT,
                "description": "As the requests said it: after a reset the numbers are others'.",
                "x-internal": True,
            }
        },
    ),
    "Wait": _object(
        {},
        {
            "operation": _ANY_OPERATION,
            "count": {"type": "integer", "minimum": 1, "maximum": LARGEST_INT64},
            "where": _WHERE,
            "timeout": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT},
        },
    ),
    "Waited": _object({"met": _FLAG, "requests": _array(ref("Request"))}),
    "Assertion": _object(
        {},
        {
            "operation": _ANY_OPERATION,
            "times": {"type": ["integer", "null"], "minimum": 0, "maximum": LARGEST_INT64},
            "where": _WHERE,
        },
    ),
    "Asserted": _object({"passed": _FLAG, "message": _TEXT}),
    "Picture": _TEXT,
    "Archive": _object({"log": {"type": "object"}}),
    "Behaviour": {"type": "object", "additionalProperties": _TEXT},
    "BehaviourChange": {
        **_GAPS,
        "properties": {**_GAPS["properties"], "preset": {"type": "string", "enum": list(PRESETS)}},
    },
    "Gaps": {"type": "object", "required": ["gaps", "presets"]},
    "Clock": _object({"now": _TEXT, "frozen": _FLAG}),
    "ClockChange": _object(
        {},
        {
            "travel_to": _TEXT,
            "advance": _object({}, dict.fromkeys(("days", "hours", "minutes", "seconds"), _NUMBER)),
            "freeze": _FLAG,
        },
    ),
    "Keys": _object(
        {"keys": _array(_object({"api_key": _TEXT, "expires": {"type": ["string", "null"]}, "revoked": _FLAG}))}
    ),
    "Nothing": _object({}),
    "NewKey": _object(
        {},
        {
            "expires": {
                "description": "Seconds from now, or a date, ISO 8601.",
                "oneOf": [_NUMBER, _TEXT, {"type": "null"}],
            }
        },
    ),
    "Key": _object({"api_key": _TEXT}),
    "Snapshot": _object({"id": _POSITIVE}),
    "Coverage": _object(
        {
            "outcomes": _array(_object({"operation": _SERVICE_OPERATION, "outcome": _TEXT, "shown": _COUNT})),
            "faults": _array({"type": "object", "required": ["fault", "shown"]}),
        }
    ),
    "Handshake": _object(
        {
            "connection": {**_POSITIVE, "description": "Its number, as the requests over it have it."},
            "outcome": {
                "type": "string",
                "description": "complete, alert, reset, hang, timed out, closed, reset by the client, failed: ..., "
                "or running.",
            },
            "fault": {"type": ["string", "null"], "description": "The kind of the fault that met it."},
            "alert": {"type": ["string", "null"], "description": "Which the client sent (RFC 8446 §6)."},
            "server_name": {"type": ["string", "null"], "description": "The host that the client named (SNI)."},
            "version": {"type": ["string", "null"]},
            "cipher": {"type": ["string", "null"]},
        }
    ),
    "Handshakes": _object({"handshakes": _array(ref("Handshake"))}),
    "Worlds": _object({"worlds": _array(ref("World"))}),
    "Leaks": _object(
        {"leaks": _array(_object({"world": _TEXT, "request": _TEXT, "status": {"type": "integer"}, "by_key": _FLAG}))}
    ),
}

# The query of ``GET requests``.
REQUEST_QUERY: Final[dict[str, Schema]] = {
    "operation": _SERVICE_OPERATION,
    "status": {"type": "integer", "minimum": 100, "maximum": 599},
    "violations": _FLAG,
    "after": _COUNT,
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1000},
    "last": {"type": "integer", "minimum": 1, "maximum": 1000},
    "record": _RECORD,
}

# The query of ``GET faults`` and ``POST faults``, and of ``DELETE faults/{id}``.
FAULT_QUERY: Final[dict[str, Schema]] = {"record": _RECORD}
CANCEL_QUERY: Final[dict[str, Schema]] = {"required": _FLAG}

# The query of ``GET handshakes``.
HANDSHAKE_QUERY: Final[dict[str, Schema]] = {"wait": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT}}
