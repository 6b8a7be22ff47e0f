"""Checks of a client's process: its output, its settings, and what stays after its close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from petstore_mock.checks.check import Mistake, check
from petstore_mock.checks.reading import around_key, chain_of, is_own, text_of
from petstore_mock.common.key_search import key_in
from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from petstore_mock.checks.check import Observation


@check(
    section="5",
    words="exceptions end up in logs, so their text has no key",
    needs=("outcome",),
    rules={"key in an exception": "raised {error}, whose text contains the API key{form}"},
)
def key_not_in_errors(seen: Observation) -> Mistake | None:
    for link in chain_of(seen.ending.error, shown=True):
        kind = type(link)
        texts = [text_of(str, link), *getattr(link, "__notes__", ())]
        # The repr of a library's exception may show the request; the client's author can't change it.
        if is_own(kind.__module__):
            texts.append(text_of(repr, link))
        form = key_in("\n".join(texts), seen.keys)
        if form is not None:
            return Mistake("key in an exception", error=kind.__name__, form=form, cause=kind.__name__)
    return None


@check(
    section="5",
    words="every reader of a log could use the key in it",
    needs=("process",),
    rules={"key in the output": "shows the API key{form} in {place}: {text}"},
)
def key_not_in_output(seen: Observation) -> Mistake | None:
    process = seen.facts
    # One search of all texts takes far less time than a search of each: a library may log ten lines for each request.
    has_key = key_in("\n".join(process.shown), seen.keys) is not None
    texts = [*process.shown] if has_key else []
    for name, owner in (("the client", process.client), ("a result", seen.ending.value)):
        texts += [Shown(text_of(make, owner), f"the {make.__name__} of {name}") for make in (repr, str)]
    for text in texts:
        form = key_in(text, seen.keys)
        if form is not None:
            place = text.place if isinstance(text, Shown) else "its output"
            shown = around_key(text, seen.keys)
            return Mistake("key in the output", form=form, place=place, text=shown, cause=place)
    return None


@check(
    section="RFC 9112 §9.4",
    words="a client ought to limit its open connections",
    needs=("process",),
    rules={"connections open": "left {connections} open"},
)
def connections_are_closed(seen: Observation) -> Mistake | None:
    count = seen.facts.connections
    return Mistake("connections open", connections=counted(count, "connection")) if count else None


@check(
    section="",
    words="a closed client leaves nothing behind",
    needs=("process",),
    rules={
        "threads or tasks left": "left {left} running",
        "temporary files left": "left {left} behind",
        "descriptors left": "left {left} open",
        "client left alive": "did not let go of the client: {left} keeps it in memory",
        "memory grows": "kept more in memory with each equal call: {left} grows",
        "request after the close": "left a thread running that sent {left}",
    },
)
def nothing_runs_on(seen: Observation) -> Mistake | None:
    process = seen.facts
    remains = {**process.remains, "threads or tasks left": process.left}
    for rule, left in remains.items():
        if left:
            return Mistake(rule, left=", ".join(left[:3]))
    return None


@check(
    section="",
    words=(
        "a caller can catch each error, so a client raises none in a thread, a task, a destructor or a log record, and "
        "awaits each coroutine"
    ),
    needs=("process",),
    rules={
        "error lost": "raised {error} where no caller can catch it",
        "log record broken": "wrote a log record whose arguments do not fit its message {message}",
        "coroutine not awaited": "did not await a {cause}",
    },
)
def errors_reach_callers(seen: Observation) -> Mistake | None:
    process = seen.facts
    if process.unformatted:
        return Mistake("log record broken", message=process.unformatted[0])
    # A call that fails may have no time to await a coroutine, whose warning comes later. A closed client has no loop.
    for text in process.shown:
        coroutine, is_told, _ = text.partition(" was never awaited")
        is_warning = getattr(text, "place", "") == "a warning"
        if is_told and is_warning and not seen.may_lose_coroutines:
            return Mistake("coroutine not awaited", cause=coroutine)
    lost = process.lost
    return Mistake("error lost", error=lost[0], cause=lost[0]) if lost else None


@check(
    section="",
    words="a client does not change settings of the program",
    needs=("process",),
    rules={"program changed": "changed {settings}"},
)
def program_unchanged(seen: Observation) -> Mistake | None:
    settings = seen.facts.settings
    changed = ", ".join(settings[:5])
    # A program may have many loggers.
    if settings[5:]:
        changed += " and others"
    return Mistake("program changed", subject="the client", settings=changed, cause=changed) if changed else None


class Shown(str):
    """A text that a client showed, with the place where it showed it."""

    __slots__ = ("place",)

    place: str

    def __new__(cls, text: str, place: str) -> Self:
        shown = super().__new__(cls, text)
        shown.place = place
        return shown
