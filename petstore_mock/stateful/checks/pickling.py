"""Whether what a client raises can be handed to another process, as pools of processes and task queues do."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING

from petstore_mock.stateful.model.call import Outcome
from petstore_mock.stateful.model.holding import LIBRARIES

if TYPE_CHECKING:
    from petstore_mock.stateful.model.call import Call

__all__ = ["pickling_question"]


def pickling_question(call: Call, error: BaseException) -> str | None:
    """Return what is to be asked of an exception of a client's own that can't be copied by way of pickle.

    The interface says nothing of it: most clients are never used so, and those that are fail with another error.
    """
    kind = type(error)
    if kind.__module__.partition(".")[0] in {*LIBRARIES, "__main__"} or not _is_found(kind):
        return None
    try:
        with suppress(RecursionError):  # of a chain of exceptions, say
            pickle.loads(pickle.dumps(error))  # noqa: S301  # it was made here
    except Exception as failure:  # noqa: BLE001  # whatever its constructor raises
        told = str(Outcome(error=failure))
    else:
        return None
    return (
        f"{call} raised {kind.__name__}, which can't be handed to another process: pickle.loads(pickle.dumps(error)) "
        f"{told}. Is that meant? Pools of processes, task queues and pytest-xdist hand exceptions on so; one whose "
        "__init__() takes other arguments than it gives to super().__init__() needs a __reduce__()"
    )


def _is_found(kind: type) -> bool:
    """Whether pickle finds the class by its name: one that a test has made in a function it does not."""
    try:
        return attrgetter(kind.__qualname__)(sys.modules[kind.__module__]) is kind
    except (AttributeError, KeyError):
        return False
