"""Compares a received value with a wanted one, which may also be a pattern, a function or ``unittest.mock.ANY``.

A wanted value may contain such matchers at any depth. All other values are compared as JSON.
"""

from __future__ import annotations

import re
import sys
from inspect import iscoroutinefunction
from json import dumps
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeGuard

_DEEPEST: Final = 100  # levels of a wanted value


class _NotSent:
    def __repr__(self) -> str:
        return "not sent"


NOT_SENT: Final = _NotSent()


def is_any(value: object) -> bool:
    """Whether a value is ``unittest.mock.ANY``, which matches every value that was sent."""
    # The test has imported the module if it passes its constant. The fake need not import it.
    mock = sys.modules.get("unittest.mock")
    return mock is not None and value is mock.ANY


def is_pattern(value: object) -> TypeGuard[re.Pattern[Any]]:
    """Whether a value is a compiled regular expression."""
    return isinstance(value, re.Pattern)


def is_predicate(value: object) -> TypeGuard[Callable[[object], object]]:
    """Whether a value is a function that judges a received value; a class is none."""
    return callable(value) and not isinstance(value, type)


def is_matcher(value: object) -> bool:
    """Whether a value is a matcher by itself."""
    return is_any(value) or is_pattern(value) or is_predicate(value)


def has_matcher(value: object) -> bool:
    """Whether a value is or contains a matcher."""
    if is_object(value):
        return any(map(has_matcher, value.values()))
    if is_array(value):
        return any(map(has_matcher, value))
    return is_matcher(value)


def require_comparable(name: str, value: object, advice: str = "", depth: int = 0) -> None:
    """Refuse a value that no received JSON value can equal, such as a set or a datetime."""
    if depth > _DEEPEST:
        refuse(f"expected {name} to be a JSON value; got one that is nested too deep{advice}")
    if is_matcher(value):
        if iscoroutinefunction(value):
            refuse(f"expected {name} as a non-async function; got a coroutine function")
    elif is_object(value):
        if not all(isinstance(member, str) for member in value):
            refuse(f"expected {name} to be a JSON value; got an object with a name that is no text{advice}")
        for inner in value.values():
            require_comparable(name, inner, advice, depth + 1)
    elif is_array(value):
        for inner in value:
            require_comparable(name, inner, advice, depth + 1)
    else:
        _require_json(name, value, advice)


def _require_json(name: str, value: object, advice: str) -> None:
    try:
        dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        # The error of json.dumps names the type, and shows no value that may be a key.
        words = "pass a JSON value, a compiled pattern, a function or unittest.mock.ANY"
        refuse(f"expected {name} to be a JSON value; {error}{advice or f': {words}'}")


def meets(received: object, wanted: object) -> bool:
    """Whether a received value is what a criterion wants."""
    if received is NOT_SENT or wanted is NOT_SENT:
        return received is wanted
    if not has_matcher(wanted):
        return _canonical(received) == _canonical(wanted)
    if is_object(wanted):
        return _members_meet(received, wanted)
    if is_array(wanted):
        return _items_meet(received, wanted)
    return _matcher_meets(received, wanted)


def without_matchers(value: object) -> object:
    """Return a wanted value with a text in place of each matcher, for messages and JSON."""
    if is_object(value):
        return {name: without_matchers(member) for name, member in value.items()}
    if is_array(value):
        return [without_matchers(item) for item in value]
    if is_any(value):
        return "<any value>"
    if is_pattern(value):
        return f"<pattern {value.pattern!r}>"
    if is_predicate(value):
        return f"<function {getattr(value, '__name__', type(value).__name__)}>"
    return value


def _matcher_meets(received: object, matcher: object) -> bool:
    if is_pattern(matcher):
        return _finds(matcher, received)
    if is_predicate(matcher):
        return bool(matcher(received))
    # ANY is the only other matcher.
    return True


def _members_meet(received: object, wanted: Mapping[object, object]) -> bool:
    if not is_object(received) or received.keys() != wanted.keys():
        return False
    return all(meets(received[name], wanted[name]) for name in wanted)


def _items_meet(received: object, wanted: Sequence[object]) -> bool:
    if not is_array(received) or len(received) != len(wanted):
        return False
    return all(map(meets, received, wanted))


def _finds(pattern: re.Pattern[Any], received: object) -> bool:
    """Whether a pattern occurs in a text or in bytes; a pattern of the other kind reads UTF-8."""
    if isinstance(pattern.pattern, bytes):
        if isinstance(received, str):
            received = received.encode("utf-8", "surrogatepass")
        return isinstance(received, bytes) and pattern.search(received) is not None
    if isinstance(received, bytes):
        received = received.decode("utf-8", "replace")
    return isinstance(received, str) and pattern.search(received) is not None


def _canonical(value: object) -> str:
    """Return a value as JSON text, in which ``1``, ``1.0`` and ``true`` differ."""
    return dumps(value, sort_keys=True, default=repr)
