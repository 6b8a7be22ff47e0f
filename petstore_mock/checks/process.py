"""Checks of a client's process: its output, its settings, and what stays after its close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from petstore_mock.checks.check import Mistake, Process, check
from petstore_mock.checks.reading import DEEPEST, around_key, is_own, text_of
from petstore_mock.common.key_search import key_in
from petstore_mock.common.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.checks.check import Observation


@check(
    section="5",
    words="exceptions end up in logs, so their text has no key",
    needs=("outcome",),
    rules={"key in an exception": "raised {error}, whose text contains the API key{form}"},
)
def key_not_in_errors(seen: Observation) -> Mistake | None:
    error = None if seen.outcome is None else seen.outcome.error
    for link in () if error is None else _links(error):
        # The repr of a library's exception may show the request; the client's author can't change it.
        has_own_text = is_own(type(link).__module__)
        texts = [text_of(str, link), text_of(repr, link) if has_own_text else "", *getattr(link, "__notes__", ())]
        form = key_in("\n".join(texts), seen.keys)
        if form is not None:
            return Mistake("key in an exception", error=type(link).__name__, form=form, cause=type(link).__name__)
    return None


def _links(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions that a traceback of ``error`` shows."""
    link: BaseException | None = error
    for _ in range(DEEPEST):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


@check(
    section="5",
    words="every reader of a log could use the key in it",
    needs=("process",),
    rules={"key in the output": "shows the API key{form} in {place}: {text}"},
)
def key_not_in_output(seen: Observation) -> Mistake | None:
    process = seen.process or Process()
    # One search of all texts takes far less time than a search of each: a library may log ten lines for each request.
    has_key = key_in("\n".join(process.shown), seen.keys) is not None
    for text in process.shown if has_key else ():
        place = text.place if isinstance(text, Shown) else "its output"
        mistake = _key_in_output(text, place, seen)
        if mistake is not None:
            return mistake
    for make in (repr, str):
        mistake = _key_in_output(text_of(make, process.client), f"the {make.__name__} of the client", seen)
        if mistake is not None:
            return mistake
    return None


def _key_in_output(text: str, place: str, seen: Observation) -> Mistake | None:
    form = key_in(text, seen.keys)
    if form is None:
        return None
    return Mistake("key in the output", form=form, place=place, text=around_key(text, seen.keys), cause=place)


@check(
    section="RFC 9112 §9.4",
    words="a client ought to limit its open connections",
    needs=("process",),
    rules={"connections open": "left {connections} open"},
)
def connections_are_closed(seen: Observation) -> Mistake | None:
    count = (seen.process or Process()).connections
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
    process = seen.process or Process()
    remains = {**process.remains, "threads or tasks left": process.left}
    for rule, left in remains.items():
        if left:
            return Mistake(rule, left=", ".join(left[:3]))
    return None


@check(
    section="",
    words="a caller can catch each error, so a client raises none in a thread, a task, a destructor or a log record",
    needs=("process",),
    rules={
        "error lost": "raised {error} where no caller can catch it",
        "log record broken": "wrote a log record whose arguments do not fit its message {message}",
    },
)
def errors_reach_callers(seen: Observation) -> Mistake | None:
    process = seen.process or Process()
    if process.unformatted:
        return Mistake("log record broken", message=process.unformatted[0])
    lost = process.lost
    return Mistake("error lost", error=lost[0], cause=lost[0]) if lost else None


@check(
    section="",
    words="a client does not change settings of the program",
    needs=("process",),
    rules={"program changed": "changed {settings}"},
)
def program_unchanged(seen: Observation) -> Mistake | None:
    changed = ", ".join((seen.process or Process()).settings)
    return Mistake("program changed", subject="the client", settings=changed, cause=changed) if changed else None


class Shown(str):
    """A text that a client showed, with the place where it showed it."""

    __slots__ = ("place",)

    place: str

    def __new__(cls, text: str, place: str) -> Self:
        shown = super().__new__(cls, text)
        shown.place = place
        return shown
