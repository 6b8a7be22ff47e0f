"""How results are read: an animal may be a mapping, a dataclass, a model, a named tuple or any object with its fields.

What a client returns comes in; the interface's names with their values go out. What can't be read so needs a
``read_pet`` of its author's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FIELDS", "ResultReader", "as_sequence", "read_pet"]

# The fields of an animal, and what Python programs call them.
FIELDS: Final = {
    "id": ("id", "pet_id", "petId"),
    "name": ("name",),
    "categoryId": ("categoryId", "category_id"),
    "status": ("status",),
}
# Where a page holds its animals.
_PAGES: Final = ("items", "pets", "data", "results", "content", "elements", "records", "values", "root")
# The types of objects that stand for nothing, as generated clients and those of several libraries have them.
_NOTHING: Final = frozenset({"Unset", "UnsetType", "NotGiven", "NotSet", "Undefined", "_Nothing", "MissingType"})
_MANY: Final = 10_000  # animals, of a list that has no end


def read_pet(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  # whatever a client returns
    """Return the fields of an animal by the interface's names (§2), from whatever a client makes of it.

    Understands mappings and objects with attributes (dataclasses, attrs, pydantic models, named tuples), with
    ``categoryId`` or ``category_id``, and members of an enumeration; a field that is absent or None is left out.

    Args:
        value: what a client returned as an animal.

    Raises:
        TypeError: it has none of an animal's fields.
    """
    if isinstance(value, Mapping) and "categoryId" in value:
        return value
    fields: dict[str, Any] = {}
    for field, names in FIELDS.items():
        for name in names:
            found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
            if found is not None and type(found).__name__ not in _NOTHING and not callable(found):
                is_own = isinstance(found, Enum) and not isinstance(found, (str, int))
                fields[field] = found.value if is_own else found
                break
    if not fields and not isinstance(value, Mapping):
        raise TypeError(f"expected an object with the fields {', '.join(FIELDS)}; got {type(value).__name__}")
    return fields


def as_sequence(value: Any) -> Any:  # noqa: ANN401  # whatever a client returns
    """Return the animals of a page, or of what can be gone through but once, as a list; anything else as it is."""
    if isinstance(value, (str, bytes)) or (isinstance(value, Sequence) and not hasattr(value, "_fields")):
        return value  # as it is, but for a named tuple
    for name in _PAGES:
        held = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if isinstance(held, Sequence) and not isinstance(held, (str, bytes)):
            return list(held)
    if isinstance(value, (Mapping, Sequence)) or not isinstance(value, Iterable):
        return value
    return [pet for _, pet in zip(range(_MANY), value, strict=False)]


class ResultReader:
    """Reads what the client of a run returns.

    Args:
        function: reads an animal; :func:`read_pet` or its author's own.
    """

    def __init__(self, function: Callable[[Any], Mapping[str, Any]]) -> None:
        self.function = function

    @property
    def is_given(self) -> bool:
        """Whether the function is its author's own."""
        return self.function is not read_pet

    def pet(self, value: Any) -> Mapping[str, Any] | None:  # noqa: ANN401
        """Return the fields of an animal, or None when it is none.

        Raises:
            PetStoreMockError: ``read_pet`` returned no mapping.
        """
        if self._is_plain(value):
            fields: Mapping[str, Any] = value
            return fields
        try:
            fields = self.function(value)
        except TypeError:
            if self.is_given:
                raise
            return None
        if not isinstance(fields, Mapping):
            raise PetStoreMockError(
                f"expected read_pet to return a mapping of id, name, categoryId and status; got read_pet({value!r})="
                f"{fields!r} ({type(fields).__name__})"
            )
        return fields

    def code(self, value: Any, place: str, name: str) -> str:  # noqa: ANN401
        """Return the code that reads a field of ``value``, which stands at ``place`` of a test."""
        return f"{place}.get({name!r})" if self._is_plain(value) else f"read_pet({place}).get({name!r})"

    def _is_plain(self, value: Any) -> bool:  # noqa: ANN401
        """Whether it has the interface's own shape, and nobody wants it read otherwise."""
        return not self.is_given and isinstance(value, Mapping) and "categoryId" in value

    def copy(self, value: Any) -> Any:  # noqa: ANN401
        """Return what a result holds as dicts: no ``__eq__`` of a client's own is asked."""
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, (str, bytes)):
            return value
        if isinstance(value, Sequence) and not hasattr(value, "_fields"):
            return [self.copy(item) for item in value]
        fields = self.pet(value)
        return value if fields is None else dict(fields)
