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
    """One thing that a world can be told or asked.

    An argument that stands in ``path`` comes from there. The others are the query of a GET or a DELETE, and the members
    of the body of other methods.

    Attributes:
        function: does it for a world, or for all worlds of the listener. Its name is the verb's, its docstring the
            summary, and its annotations give the schemas.
        method: the HTTP method.
        path: the path below ``/__petstore/``.
        status: the status of its success; 204 has no body, and a PUT that replaces something gets 200.
        body: the argument that the whole body is; empty where each member is an argument.
        member: the member in which its JSON value has what the function returns; empty where that is the value.
        locks: whether the carrier holds the world's lock meanwhile; a verb that waits does not.
        media_type: the media type of the response.
    """

    function: Callable[..., Any]
    method: str
    path: str
    status: int = 200
    body: str = ""
    member: str = ""
    locks: bool = True
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
