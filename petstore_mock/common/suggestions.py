"""What somebody who wrote an unknown name may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["did_you_mean", "nearest", "refuse_unknown"]

_LONGEST: Final = 100  # characters; nobody's slip, and to compare longer ones takes its time


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the one of ``known`` that is most like ``name``, however it is cased or joined, or None."""
    text = str(name)
    if len(text) > _LONGEST:
        return None
    import difflib  # noqa: PLC0415  # for a mistake only: every pytest run with the plugin comes by here

    folded = {_fold(other): other for other in known}
    close = difflib.get_close_matches(_fold(text), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question to end a message with, behind a full stop: ``. Did you mean 'getPet'?``, or nothing."""
    meant = nearest(name, known)
    return "" if meant is None else f". Did you mean {meant!r}?"


def refuse_unknown(call: Callable[..., object], unknown: Mapping[str, object]) -> None:
    """Refuse keywords that ``call`` does not have: in Python's own words nobody learns which one was meant.

    A function takes them as ``**unknown: Never``, so that a type checker refuses them as well.

    Raises:
        PetStoreMockError: there is one; names those that there are, and the nearest.
    """
    __tracebackhide__ = True
    for name in unknown:
        import inspect  # noqa: PLC0415  # for a mistake only

        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        known = [
            one.name for one in inspect.signature(call).parameters.values() if one.kind in kinds and one.name != "self"
        ]
        raise PetStoreMockError(
            f"expected keywords of {call.__qualname__.removesuffix('.__init__')}, from {', '.join(known)}; "
            f"got {name!r}{did_you_mean(name, known)}"
        )


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
