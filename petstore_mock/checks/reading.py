"""Animals as clients return them: mappings, dataclasses, models, named tuples, any object with the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any, Final, TypeGuard

from petstore_mock.common.guards import is_object
from petstore_mock.interface.table import FIELDS, in_words

ReadPet = Callable[[Any], Mapping[str, Any]]

# The attributes or members in which pages hold their animals.
_PAGES: Final = ("items", "pets", "data", "results", "content", "elements", "records", "values", "root")
# The types of objects that stand for nothing in generated clients and in several libraries.
_NOTHING: Final = frozenset({"Unset", "UnsetType", "NotGiven", "NotSet", "Undefined", "_Nothing", "MissingType"})
_MANY: Final = 10_000  # animals of an endless iterator


def _camel(python: str) -> str:
    head, *tail = python.split("_")
    return head + "".join(map(str.title, tail))


_NAMES: Final = {name: (name, field.python, _camel(field.python)) for name, field in FIELDS.items()}  # petId is an id


def read_pet(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  # a client returns any object
    """Return the fields of an animal by the interface's names (§2): the default ``read_pet``.

    It understands mappings and objects with attributes (dataclasses, attrs, pydantic models, named tuples), fields by
    the interface's name or in snake case, and members of an enumeration. A field that is absent or None is left out.

    Args:
        value: the object that a client returned as an animal.

    Raises:
        TypeError: it has none of an animal's fields.
    """
    fields: dict[str, Any] = {}
    for field, names in _NAMES.items():
        for name in names:
            found = _member(value, name)
            if found is not None and type(found).__name__ not in _NOTHING and not callable(found):
                is_plain_enum = isinstance(found, Enum) and not isinstance(found, (str, int))
                fields[field] = found.value if is_plain_enum else found
                break
    if not fields and not is_object(value):
        raise TypeError(f"expected an object with the fields {in_words(FIELDS)}; got {type(value).__name__}")
    return fields


def _member(value: Any, name: str) -> Any:  # noqa: ANN401
    return value.get(name) if is_object(value) else getattr(value, name, None)


def as_sequence(value: Any) -> Any:  # noqa: ANN401  # a client returns any object
    """Return the animals of a page or of an iterator as a list; anything else as it is."""
    if is_list(value) or isinstance(value, (str, bytes)):
        return value
    for name in _PAGES:
        held: Any = _member(value, name)
        if is_list(held):
            return list(held)
    return list(islice(value, _MANY)) if _is_iterator(value) else value


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a sequence of items: neither text nor a named tuple."""
    return not isinstance(value, (str, bytes)) and not hasattr(value, "_fields") and isinstance(value, Sequence)


def _is_iterator(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, (Mapping, Sequence))


def pet_of(value: Any, read: ReadPet) -> Mapping[str, Any] | None:  # noqa: ANN401
    """Return the fields of an animal, or None where ``value`` is none."""
    try:
        return read(value)
    except TypeError:
        if read is read_pet:
            return None
        raise


def copied(value: Any, read: ReadPet) -> Any:  # noqa: ANN401
    """Return a result as lists and dicts, so that no ``__eq__`` of the client's own decides a comparison."""
    if is_list(value):
        return [copied(item, read) for item in value]
    fields: object = value if isinstance(value, (str, bytes)) or is_object(value) else pet_of(value, read)
    return dict(fields) if is_object(fields) else value
