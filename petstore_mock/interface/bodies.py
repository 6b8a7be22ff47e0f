"""Request bodies that break one rule each: ``verify`` sends them, and a mutant accepts each of them.

A body is a text with placeholders: ``{label}`` for a text that is unique to the request, and ``{categoryId}``, the name
of a field that refers to another record, for a value that the service knows.
"""

from __future__ import annotations

from json import dumps, loads
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.interface.kinds import as_text, kind_of, parts, phrase, with_part, wrong_texts
from petstore_mock.interface.schemas import allows, properties, required_names
from petstore_mock.interface.table import MEMBERS, snake_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.interface.kinds import Schema


class WrongBody(NamedTuple):
    """A body that a service must refuse."""

    end: str  # the end of the clause's id
    words: str  # the broken rule, and the mistake of the body
    text: str
    member: str = ""  # the wrong member; empty if the body as a whole is wrong
    others: tuple[str, ...] = ()  # further bodies with the same mistake


def short(name: str) -> str:
    """Return the name of a field or a parameter in the ids of clauses and mutants: ``born-after``."""
    return snake_case(name.removesuffix("Id")).replace("_", "-")


def plain_text(name: str) -> str:
    """Return a plain value of a member, as a JSON text."""
    field = MEMBERS[name]
    if field.is_label:
        return '"{label}"'
    if field.refers:
        return f"{{{name}}}"
    return dumps(field.samples[0])


def plain(body: str) -> dict[str, str]:
    """Return the required members of a plain body, as JSON texts."""
    return {name: plain_text(name) for name in required_names(body)}


def wrong_bodies(body: str) -> Iterator[WrongBody]:
    """Yield a body for each rule of the schema ``body`` that a body can break."""
    fields = plain(body)
    yield from _incomplete(fields)
    # With its label, a body shows whether the service kept it although it refused it.
    labelled = {name: plain_text(name) for name in properties(body) if MEMBERS[name].is_label} | fields
    for name in properties(body):
        yield from _wrong_values(body, name, labelled)
    yield WrongBody("body-object", f"The request body is a {body}: an array", f"[{as_text(fields)}]")
    # Lenient readers of JSON accept names without quotes.
    bare = ", ".join(f"{name}: {text}" for name, text in labelled.items())
    # With the blank, the body is no placeholder.
    lenient = (f"{{ {bare}}}",) if bare else ()
    words = "The request body is JSON: a truncated body, or names without quotes"
    yield WrongBody("body-json", words, as_text(fields)[:-1], others=lenient)
    # Some services never respond to what is no JSON. They may respond to an empty body.
    yield WrongBody("body-required", "The request body is required: an empty body", "")
    yield WrongBody("body-end", "The request body is JSON: a body with text behind it", f"{as_text(fields)}x")


def _incomplete(fields: Mapping[str, str]) -> Iterator[WrongBody]:
    """Yield bodies without required members."""
    for name in fields:
        others = {**fields}
        del others[name]
        yield WrongBody(f"{short(name)}-required", f"{name} is required: a body without it", as_text(others), name)
    if len(fields) > 1:
        words = f"{' and '.join(fields)} are required: an empty object, or one with names in another case"
        number = "both" if len(fields) == 2 else "all"
        in_capitals = as_text({name.upper(): text for name, text in fields.items()})
        yield WrongBody(f"{number}-required", words, "{}", next(iter(fields)), others=(in_capitals,))


_LABEL_LENGTH: Final = 20  # characters that stand for the placeholder of a label


def odd_texts(rules: Schema) -> Iterator[str]:
    """Yield the odd values of a schema's kind that the schema allows, as JSON texts."""
    texts = [*kind_of(rules).odd]
    for name, part in parts(rules):
        texts += [with_part(rules, name, text) for text in odd_texts(part)]
    for text in texts:
        # A text that is allowed without its label may be too long with it.
        value = loads(text.replace("{label}", "x" * _LABEL_LENGTH))
        if allows(rules, value):
            yield text


def _wrong_values(body: str, name: str, fields: Mapping[str, str]) -> Iterator[WrongBody]:
    rules = properties(body)[name]
    is_required = name in required_names(body)
    for end, text in wrong_texts(rules).items():
        # The interface does not say whether null means that an optional field is absent.
        if end != "null" or is_required:
            words = f"{name} is {phrase(rules)}: {text}"
            # In a double, this number is infinite.
            others = (as_text({**fields, name: "1e400"}),) if end == "range" else ()
            yield WrongBody(f"{short(name)}-{end}", words, as_text({**fields, name: text}), name, others)
