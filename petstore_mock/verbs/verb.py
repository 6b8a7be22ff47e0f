"""What a verb is: a JSON function of a world, and its row in the table of the control door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from petstore_mock.interface.table import OPERATIONS


class Keywords:
    """Further keywords of the JSON Schema of a type, or the component that stands for it."""

    def __init__(self, component: str = "", **keywords: Any) -> None:  # noqa: ANN401  # any keyword
        self.component = component
        self.keywords = keywords


Count = Annotated[int, Keywords(minimum=0, maximum=2**63 - 1)]
Positive = Annotated[int, Keywords(minimum=1, maximum=2**63 - 1)]
OperationName = Annotated[str, Keywords(enum=list(OPERATIONS))]
Criteria = Annotated[Mapping[str, Any], Keywords("Criteria")]


@dataclass(frozen=True, eq=False)
class Verb:
    """One thing that a world, or all worlds of the listener, can be told or asked."""

    function: Callable[..., Any]  # its name, docstring and annotations give the door's name, summary and schemas
    method: str  # a GET or a DELETE has its arguments in the query, other methods have them in the body
    path: str  # below /__petstore/; an argument that stands there comes from there
    status: int = 200  # of its success; 204 has no body, and a PUT that replaces something gets 200
    body: str = ""  # the argument that the whole body is; empty where each member is an argument
    member: str = ""  # the member that has what the function returns; empty where that is the whole value
    locks: bool = True  # whether the carrier holds the world's lock meanwhile; a verb that waits does not
    media_type: str = "application/json"

    @property
    def name(self) -> str:
        return self.function.__name__

    def __call__(self, target: Any, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
        result = self.function(target, **arguments)
        return {self.member: result} if self.member else result


VERBS: Final[list[Verb]] = []


def verb(method: str, path: str, status: int = 200, **row: Any) -> Callable[[Callable[..., Any]], Verb]:  # noqa: ANN401
    """Make a function a verb, and add it to the table."""

    def register(function: Callable[..., Any]) -> Verb:
        VERBS.append(Verb(function, method, path, status, **row))
        return VERBS[-1]

    return register
