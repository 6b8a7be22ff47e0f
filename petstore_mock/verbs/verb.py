"""The class of a verb, and the table of all verbs that the control door serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Any, Final

from petstore_mock.common.real import Event
from petstore_mock.common.values import Json
from petstore_mock.interface.table import OPERATIONS

EVENT_STREAM: Final = "text/event-stream"


class Keywords:
    """Adds keywords to the JSON Schema of a type, or names the component that replaces it."""

    def __init__(self, component: str = "", **keywords: Any) -> None:  # any keyword
        self.component = component
        self.keywords = keywords


class Added(Enum):
    """The role of an argument that the caller of a verb adds. No client sends it, so no schema contains it."""

    WORLD = auto()  # the name of the world in the address; absent at the root
    ORIGIN = auto()  # the scheme, host and port of each address that the verb returns
    ONLY_NEW = auto()  # whether the verb must not replace a world
    SHARES_PORT = auto()  # whether the door listens on the port of the service
    LEFT = auto()  # an event: the client has left, and nothing waits for the result
    PREDICATE = auto()  # a function, which only a caller in the same process can pass


WorldName = Annotated[str, Added.WORLD]
Origin = Annotated[str, Added.ORIGIN]
OnlyNew = Annotated[bool, Added.ONLY_NEW]
SharesPort = Annotated[bool, Added.SHARES_PORT]
Left = Annotated[Event, Added.LEFT]
Predicate = Annotated[Callable[[Any], object], Added.PREDICATE]

Count = Annotated[int, Keywords(minimum=0, maximum=2**63 - 1)]
Positive = Annotated[int, Keywords(minimum=1, maximum=2**63 - 1)]
OperationName = Annotated[str, Keywords(enum=list(OPERATIONS))]
Criteria = Annotated[Mapping[str, Any], Keywords("Criteria")]


@dataclass(frozen=True, eq=False)
class Verb:
    """A command or query of one world, or of all worlds of a listener."""

    function: Callable[..., Any]  # its name, docstring and annotations become operationId, summary and schemas
    method: str  # GET and DELETE take arguments from the query, other methods from the body
    path: str  # relative to /__petstore/; each {placeholder} is an argument
    status: int = 200  # the status of a success; a PUT that replaces a world responds with 200 instead
    body: str = ""  # the argument that takes the whole body; if empty, each member is an argument
    member: str = ""  # the member of the response that holds the result; if empty, the response is the result
    locks: bool = True  # whether the caller holds the world's lock; a verb that waits must not block the world
    media_type: str = "application/json"
    is_public: bool = False  # whether the verb needs no token, also where the door is closed

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def streams(self) -> bool:
        """Whether the response goes on until the client leaves."""
        return self.media_type == EVENT_STREAM

    def __call__(self, target: object, arguments: Mapping[str, Any]) -> Json:
        result = self.function(target, **arguments)
        return {self.member: result} if self.member else result


VERBS: Final[list[Verb]] = []


def verb(method: str, path: str, status: int = 200, **row: Any) -> Callable[[Callable[..., Any]], Verb]:
    """Return a decorator that makes a function a verb and adds it to the table."""

    def register(function: Callable[..., Any]) -> Verb:
        VERBS.append(Verb(function, method, path, status, **row))
        return VERBS[-1]

    return register
