"""How a client and its exceptions are shown: whoever logs them is not to read the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_mock.stateful.checks.output import key_is_absent
from petstore_mock.stateful.model.call import Problem, shortened
from petstore_mock.stateful.model.holding import LIBRARIES
from petstore_mock.stateful.model.key_forms import PLAIN, form_in, masked

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["form_in_repr", "shown_problem", "shown_question"]

_WAYS: Final[tuple[tuple[str, str, Callable[[object], str]], ...]] = (
    ("__repr__", "repr", repr),
    ("__str__", "str", str),
)


def _definer(kind: type, name: str) -> type:
    """Return the class that a method comes from."""
    return next(base for base in kind.__mro__ if name in vars(base))


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES


def _is_written(kind: type, name: str) -> bool:
    """Whether somebody has written a method of a client by hand; dataclasses and attrs make theirs, or wrap them."""
    function = vars(_definer(kind, name))[name]
    code = getattr(function, "__code__", None)
    namespace = getattr(function, "__globals__", {}).get("__name__") or ""
    return code is not None and not code.co_filename.startswith("<") and not _is_library(namespace)


def _form(show: Callable[[object], str], value: object, key: str) -> tuple[str, str] | None:
    """Return how something is shown, and the form of the key in it; None when there is none."""
    try:
        text = show(value)
    except Exception:  # noqa: BLE001  # its text is a client's own affair
        return None
    form = form_in(text, key)
    return None if form is None else (masked(text, key), form)


def shown_problem(client: object, key: str) -> Problem | None:
    """Return what is wrong with what a client's author has written to show it."""
    kind = type(client)
    for method, name, show in _WAYS:
        found = _form(show, client, key) if _is_written(kind, method) else None
        if found is not None:
            text, form = found
            words = "the API key is sent as a bearer token; who logs the client, or sees a traceback with it, reads it"
            as_it_is = "" if form == PLAIN else f" {form}"
            sentence = f"{name}() of the client shows the API key{as_it_is}: {shortened(text)}"
            return Problem(sentence, "5", words, (key_is_absent(f"{name}({{client}})", form),))
    return None


def shown_question(client: object, key: str) -> str | None:
    """Return what is to be asked of a client that something else, such as a dataclass, shows with its key."""
    if _form(repr, client, key) is None:
        return None
    return (
        f"repr() of the client, a {type(client).__name__}, shows the API key: is that meant? Whoever logs it, or sees "
        "a traceback with its variables, reads the key; a dataclass leaves a field out with field(repr=False)"
    )


def form_in_repr(error: BaseException, key: str) -> str | None:
    """Return the form of the key in how an exception of a client's own is shown; those of libraries show requests."""
    definer = _definer(type(error), "__repr__")
    if _is_library((type(error) if definer is BaseException else definer).__module__):
        return None
    found = _form(repr, error, key)
    return None if found is None else found[1]
