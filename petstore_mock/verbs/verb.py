"""What a verb is: a JSON function of a world, and its row in the table of the control door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NewType, TypedDict

from petstore_mock.interface.table import OPERATIONS

# Arguments that the carrier adds: the scheme, host and port that the client uses, and the name in the address.
Origin = NewType("Origin", str)
WorldName = NewType("WorldName", str)


class Keywords:
    """Further keywords of the JSON Schema of a type, or the component that stands for it."""

    def __init__(self, component: str = "", **keywords: Any) -> None:  # noqa: ANN401  # any keyword
        self.component = component
        self.keywords = keywords


Count = Annotated[int, Keywords(minimum=0, maximum=2**63 - 1)]
Positive = Annotated[int, Keywords(minimum=1, maximum=2**63 - 1)]
Share = Annotated[float, Keywords(exclusiveMinimum=0, maximum=1)]
OperationName = Annotated[str, Keywords(enum=list(OPERATIONS))]
Pet = Annotated[Mapping[str, Any], Keywords("Animal")]
NewPet = Annotated[Mapping[str, Any], Keywords("NewAnimal")]
PetChanges = Annotated[Mapping[str, Any], Keywords("AnimalChanges")]
Criteria = Annotated[Mapping[str, Any], Keywords("Criteria")]
FaultForm = Annotated[Any, Keywords("Fault")]  # a status, or a kind and its arguments
BehaviourData = Annotated[dict[str, str], Keywords("Behaviour")]
GapsData = Annotated[dict[str, Any], Keywords("Gaps")]
CoverageData = Annotated[dict[str, Any], Keywords("Coverage")]
ArchiveData = Annotated[dict[str, Any], Keywords("Archive")]  # HAR 1.2
GapChoices = Annotated[Mapping[str, str], Keywords("GapChoices")]  # alternatives by gap, and `preset`


class Nothing(TypedDict):
    """No arguments."""


class WithOrigin(TypedDict, total=False):
    """No arguments but the origin, with which the carrier begins each ``url``."""

    origin: Origin


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """One thing that a world can be told or asked.

    An argument that stands in ``path`` comes from there. The others are the query of a GET or a DELETE, and the members
    of the body of other methods.

    Attributes:
        function: does it; its name is the verb's, its docstring the summary, and its annotations give the schemas.
        method: the HTTP method.
        path: the path below ``/__petstore/``.
        status: the status of its success; 204 has no body.
        body: the argument that the whole body is; empty where each member is an argument.
        of: whether the function gets a world, or all worlds of the listener.
        root_only: whether it stands at the root alone.
        locks: whether the carrier holds the world's lock meanwhile; a verb that waits does not.
        media_type: the media type of the response.
        replaced: its status where it has replaced something; 0 for the same.
    """

    function: Callable[[Any, Any], Any]
    method: str
    path: str
    status: int
    body: str = ""
    of: Literal["world", "worlds"] = "world"
    root_only: bool = False
    locks: bool = True
    media_type: str = "application/json"
    replaced: int = 0

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def summary(self) -> str:
        """What it does, in a sentence; empty where Python keeps no docstrings."""
        return (self.function.__doc__ or "").partition("\n")[0]

    def __call__(self, target: Any, arguments: Any) -> Any:  # noqa: ANN401  # a world or all worlds; a JSON value
        return self.function(target, arguments)


VERBS: Final[list[Verb]] = []


def verb(method: str, path: str, status: int = 200, **row: Any) -> Callable[[Callable[[Any, Any], Any]], Verb]:  # noqa: ANN401
    """Make a function a verb, and add it to the table."""

    def register(function: Callable[[Any, Any], Any]) -> Verb:
        made = Verb(function, method, path, status, **row)
        VERBS.append(made)
        return made

    return register
