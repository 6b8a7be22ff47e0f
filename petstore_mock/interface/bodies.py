"""Request bodies that break one rule each: ``verify`` sends them, and a mutant accepts each of them.

A body is a text. In it, ``{name}`` stands for any name, and ``{category}`` for any category.
"""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.interface.schemas import properties, schema
from petstore_mock.interface.table import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Values that a service must refuse, by kind of field. Keys are the ends of clause ids, and values are JSON texts.
_WRONG: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {"type": "5", "null": "null"},
    "integer": {"type": '"1"', "fraction": "1.5", "null": "null", "boolean": "true", "range": "9223372036854775808"},
    "enum": {"value": '"no-such-value"', "case": '"{Value}"', "type": "1"},
    "array": {"type": '"text"'},
}


def kind_of(rules: Mapping[str, Any]) -> str:
    return "enum" if "enum" in rules else str(rules.get("type"))


def short(name: str) -> str:
    """Return the name of a field in the ids of clauses and mutants."""
    return name.removesuffix("Id")


def plain(body: str) -> dict[str, str]:
    """Return the required fields of a plain animal, as JSON texts."""
    texts = {name: dumps(FIELDS[name].samples[0]) for name in schema(body)["required"]}
    return texts | {"name": '"{name}"', "categoryId": "{category}"}


def as_text(fields: Mapping[str, str]) -> str:
    """Return the JSON text of an object whose members are JSON texts."""
    return f"{{{', '.join(f'{dumps(name)}: {text}' for name, text in fields.items())}}}"


def wrong_bodies(body: str) -> Iterator[tuple[str, str, str]]:
    """Yield a triple for each body that a service must refuse: end of the clause's id, words of the clause, body."""
    fields, required = plain(body), schema(body)["required"]
    for name in required:
        others = {other: text for other, text in fields.items() if other != name}
        yield f"{short(name)}-required", f"{name} is required: a body without it", as_text(others)
    yield "both-required", f"{' and '.join(required)} are required: an empty object", "{}"
    for name, rules in properties(body).items():
        allowed: list[str] = rules.get("enum", [""])
        kind = rules.get("format", rules["type"])
        kind = f"one of {', '.join(allowed)}" if "enum" in rules else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        for end, text in _WRONG.get(kind_of(rules), {}).items():
            value = text.replace("{Value}", allowed[0].title())
            yield f"{short(name)}-{end}", f"{name} is {kind}: {value}", as_text({**fields, name: value})
    yield "body-object", f"The request body is a {body}: an array", f"[{as_text(fields)}]"
    yield "body-json", "The request body is JSON: a truncated body", as_text(fields)[:-1]
    yield "body-required", "The request body is required: an empty body", ""
