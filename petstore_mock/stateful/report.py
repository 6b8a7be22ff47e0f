"""The error for a bug: a sentence, a test to paste, the requests and responses."""

from __future__ import annotations

import re
import sys
import textwrap
import threading
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import hypothesis

from petstore_mock.checks import classify_exception, read_pet
from petstore_mock.checks.wording import without_keys
from petstore_mock.interface.gaps import GAPS
from petstore_mock.journal.text import journal_text
from petstore_mock.stateful.environments import ANOTHER_ZONE, ENVIRONMENTS, IPV6_HOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.stateful.actor import Found
    from petstore_mock.stateful.example import Example
    from petstore_mock.strategies.scenario import Scenario

_INDENT: Final = "    "
_REQUESTS: Final = 15  # that are shown
_FRAMES: Final = 3  # of a traceback
_FRAMES_OF_A_WAIT: Final = 8  # libraries have some of their own around a lock
_LEFT_OUT: Final = (
    threading.__file__,
    __file__.rpartition("stateful")[0],
    hypothesis.__file__.rpartition("__init__")[0],
)
_ODD_KEY: Final = "Aa-._~+/key-of-a-test=="
_ODD_KEY_MATTERS: Final = (
    "It happens only with a key of all characters that a key may have: letters of both cases, digits and -._~+/, with "
    "= at its end (RFC 6750 §2.1)."
)
_CLOCKS_MATTER: Final = (
    "It happens only where the clocks of service and client differ: dates in responses, Date among them, are by the "
    "clock of the service (RFC 9110 §6.6.1)."
)
NOT_ALWAYS: Final = (
    "It did not come again when its steps were repeated: the client keeps something from one client to the next (a "
    "cache or a session of its class or module), or the machine was too busy for its timeouts."
)
NOT_EACH_TIME: Final = (
    "It may not come again each time: the operating system decides too which of two calls goes on first. Run the test "
    "a few times."
)


class ClientBugError(AssertionError):
    """A client did what the interface does not allow, or relied on what it does not say.

    Attributes:
        sentence: what it did, and the section that says otherwise.
        test: the steps as the source of a test that fails.
        wire: the requests and responses.
        waited: whether a call had to be ended.
        raised: where in the client an exception came from that says nothing, or where it waits for ever.
        scenario: what happened, as a value that the machine can play again.
    """

    __module__ = "petstore_mock.stateful"  # where people find it

    def __init__(self, sentence: str, test: str, wire: str, raised: str, scenario: Scenario) -> None:
        where = f"\n\nIn the client:\n\n{raised}" if raised else ""
        super().__init__(f"{sentence}\n\nAs a test:\n\n{test}\nOn the wire:\n\n{wire}{where}")
        self.sentence, self.test, self.wire, self.raised, self.scenario = sentence, test, wire, raised, scenario

    waited = False

    def with_words(self, words: str) -> ClientBugError:
        """Return the same with a further sentence."""
        bug = ClientBugError(f"{self.sentence}\n{words}", self.test, self.wire, self.raised, self.scenario)
        bug.waited = self.waited
        return bug


def explain(example: Example, found: Found) -> ClientBugError:
    """Return the error that tells of a finding."""
    scenario = replace(example.scenario, steps=example.scenario.steps[: example.taken])
    keys = [actor.petstore.api_key for actor in example.actors]
    sentence = "\n".join([without_keys(str(found), keys), *_reasons(scenario)])
    journals = {actor.world: actor.petstore.journal for actor in example.actors}
    texts = [(name, journal_text(list(journal)[-_REQUESTS:])) for name, journal in journals.items()]
    wire = texts[0][1] if len(texts) == 1 else "\n\n".join(f"{name}:\n{text}" for name, text in texts)
    raised = without_keys(_raised(example, found), keys)
    bug = ClientBugError(sentence, _source(example), wire, raised, scenario)
    bug.waited = example.waits
    return bug


def _reasons(scenario: Scenario) -> list[str]:
    """Return what the bug depends on: shrinking could not take it away."""
    reasons: list[str] = []
    differences = scenario.behaviour.differences()
    for name, value in differences.items() if len(differences) == 1 else ():
        gap = GAPS[name]
        reasons.append(
            f"It happens only with {name}={value!r}: the client assumes what the interface leaves open "
            f"(§{gap.section}: {gap.sentence.rstrip('.')}). A client must not assume {gap.lesson}."
        )
    if len(differences) > 1:
        listed = ", ".join(f"{name}={value!r}" for name, value in differences.items())
        reasons.append(f"It happens only with {listed}: the client assumes what the interface leaves open.")
    reasons += [_ODD_KEY_MATTERS] * scenario.odd_key + [_CLOCKS_MATTER] * bool(scenario.hours_ahead)
    return [*reasons, *([] if scenario.environment is None else [ENVIRONMENTS[scenario.environment]])]


def _raised(example: Example, found: Found) -> str:
    """Return the client's lines behind an exception that says nothing, or behind a call that stands still."""
    error = None if found.outcome is None else found.outcome.error
    if example.player.lost is not None:
        frame = sys._current_frames().get(example.player.ident)  # noqa: SLF001  # public by its documentation
        stack = traceback.extract_stack(frame) if frame is not None else traceback.StackSummary()
        own = [line for line in stack if not line.filename.startswith(_LEFT_OUT)]
        return "".join(traceback.StackSummary.from_list(own[-_FRAMES_OF_A_WAIT:]).format()).rstrip()
    if error is None or found.outcome is None or found.outcome.kind is not None:
        return ""
    told = traceback.TracebackException.from_exception(error)
    own = [line for line in told.stack if not line.filename.startswith(_LEFT_OUT)]
    told.stack = traceback.StackSummary.from_list(own[-_FRAMES:])
    return "".join(told.format(chain=False)).rstrip()


# The test to paste


def _source(example: Example) -> str:
    """Return a test that does the same with watched clients."""
    scenario, options = example.scenario, example.run.options
    world = [f"behaviour={scenario.behaviour!r}"] if scenario.behaviour.differences() else []
    key = [f"api_key={_ODD_KEY!r}"] if scenario.odd_key else []
    tls = ["tls=True"] if options.tls else []
    host = [f"host={IPV6_HOST!r}"] if scenario.environment == "ipv6" else []
    opened = [f"time_zone({ANOTHER_ZONE!r})"] if scenario.environment == "time_zone" else []
    opened += (
        [f"environment({scenario.environment!r})"] if scenario.environment in {"locale", "netrc", "proxies"} else []
    )
    opened.append(f"PetStoreMock({', '.join([*host, *tls, *key, *world])}) as petstore")
    opened += [f"PetStoreMock({', '.join(tls)}) as elsewhere"] if "elsewhere" in example.used else []
    opened += [f"petstore.fresh({', '.join(world)}) as other"] if "other" in example.used else []
    actors = [("client", "petstore"), ("other_client", "other")][: 1 + ("other" in example.used)]
    body = [f"{name}.clock.advance(hours={scenario.hours_ahead})" for _, name in actors if scenario.hours_ahead]
    given = _given(example)
    clients = [f"checks.watched(make_client, {name}{given}) as {client}" for client, name in actors]
    injected = [name for _, name in actors if any(f"{name}.inject(" in line for line in example.lines)]
    lines = [*example.lines, *(f"{name}.cancel_faults()" for name in injected)]  # none of them need fire
    body += [*_with(clients), *textwrap.indent("\n".join(lines or ["pass"]), _INDENT).splitlines()]
    test = [
        "def test_client() -> None:",
        *(_INDENT + line for line in [*_with(opened), *(_INDENT + one for one in body)]),
    ]
    return "\n".join([*_imports("\n".join(test), options), "", "", *test, ""])


def _given(example: Example) -> str:
    """Return the further arguments of ``checks.watched``."""
    options = example.run.options
    given = ["quiet=True"]
    given += ["methods=methods"] if options.methods else []
    given += ["classify=classify"] if options.classify is not classify_exception else []
    given += ["read_pet=read_pet"] if options.read_pet is not read_pet else []
    if options.checks:
        given.append(f"checks=[*checks.CHECKS.values(), {', '.join(one.name for one in options.checks)}]")
    given += ["others=[elsewhere]"] if "elsewhere" in example.used else []
    given += [f"patience={options.patience!r}"] if example.waits else []
    given += [f"longest_wait={options.longest_wait!r}"] if options.longest_wait is not None else []
    return f", {', '.join(given)}"


def _with(managers: Sequence[str]) -> list[str]:
    line = f"with {', '.join(managers)}:"
    return [line] if len(line) <= 100 else ["with (", *(f"{_INDENT}{one}," for one in managers), "):"]


def _imports(code: str, options: Any) -> list[str]:  # noqa: ANN401  # Options
    def used(names: Iterable[str]) -> list[str]:
        return [name for name in names if re.search(rf"\b{re.escape(name)}\b", code)]

    lines = [f"from petstore_mock import {', '.join(used(['Behaviour', 'PetStoreMock', 'checks', 'faults']))}"]
    ours = used(["environment", "spoil", "time_zone"])
    lines += [f"from petstore_mock.stateful import {', '.join(ours)}"] if ours else []
    objects = {"make_client": options.make_client, "classify": options.classify, "read_pet": options.read_pet}
    objects |= {"methods": options.methods, **options.steps, **{one.name: one.look for one in options.checks}}
    return [*lines, "", *(_import(name, objects[name]) for name in used(objects))]


def _import(name: str, value: Any) -> str:  # noqa: ANN401  # anything that the machine was given
    own, module = getattr(value, "__qualname__", ""), getattr(value, "__module__", "") or ""
    if own.isidentifier() and module and module != "__main__":
        return f"from {module} import {own}{'' if own == name else f' as {name}'}"
    return f"# {name} is what was given to check_client."
