"""The report of a bug: a sentence, a test to paste, and the requests and responses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.checks import classify_exception, read_pet
from petstore_mock.common.masking import mask_text
from petstore_mock.interface.gaps import GAPS
from petstore_mock.journal.text import journal_text
from petstore_mock.stateful.environments import ENVIRONMENTS, IPV6_HOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.checks.scenario import Scenario
    from petstore_mock.stateful.example import Example
    from petstore_mock.stateful.run import Run

_INDENT: Final = "    "
_REQUESTS: Final = 15  # the number of the latest requests in the report
_WIDTH: Final = 100  # of a line of the test, if the line can be broken
_ODD_KEY: Final = "Aa-._~+/key-of-a-test=="
_ODD_KEY_MATTERS: Final = "The bug needs a key with all kinds of characters that RFC 6750 §2.1 allows."
NOT_ALWAYS: Final = (
    "The bug did not show again in a new run: the client keeps state in its class or module, or the computer was too "
    "busy for the client's timeouts."
)
NOT_EACH_TIME: Final = "The bug depends on how the system schedules threads: run the test a few times."


class ClientBugError(AssertionError):
    """Raised for a client that breaks the interface, or assumes something that the interface leaves open.

    Attributes:
        sentence: the client's mistake, and the section that it breaks.
        test: the source of a test that fails.
        wire: the requests and responses.
        waited: whether the machine had to give up on a call.
        raised: the client's lines that raised an unknown exception, or in which a call waits; else empty.
        scenario: the steps as a value that the machine can play again.
    """

    __module__ = "petstore_mock.stateful"  # the public module

    def __init__(self, sentence: str, test: str, wire: str, raised: str, scenario: Scenario, *, waited: bool) -> None:
        where = f"\n\nIn the client:\n\n{raised}" if raised else ""
        super().__init__(f"{sentence}\n\nAs a test:\n\n{test}\nOn the wire:\n\n{wire}{where}")
        self.sentence, self.test, self.wire, self.raised = sentence, test, wire, raised
        self.scenario, self.waited = scenario, waited

    def with_words(self, words: str) -> ClientBugError:
        """Return the error with a further sentence."""
        sentence = f"{self.sentence}\n{words}"
        return ClientBugError(sentence, self.test, self.wire, self.raised, self.scenario, waited=self.waited)


def explain(example: Example) -> ClientBugError | None:
    """Return the error for the failed check of an example, or None if no check failed."""
    if example.found is None:
        return None
    scenario = replace(example.scenario, steps=example.scenario.steps[: example.taken])
    keys = [world.petstore.api_key for world in example.worlds.values()]
    sentence = "\n".join([mask_text(str(example.found), keys), *_reasons(scenario)])
    texts = {name: journal_text([*world.petstore.journal][-_REQUESTS:]) for name, world in example.worlds.items()}
    wire = "\n\n".join(f"{name}:\n{text}" if len(texts) > 1 else text for name, text in texts.items())
    raised = mask_text(example.raised, keys)
    return ClientBugError(sentence, _source(example), wire, raised, scenario, waited=example.waited)


def _reasons(scenario: Scenario) -> list[str]:
    """Return the conditions that the bug needs, as sentences. Shrinking could not remove them."""
    reasons: list[str] = []
    differences = scenario.behaviour.differences()
    if differences:
        listed = ", ".join(f"{name}={value!r}" for name, value in differences.items())
        gaps = [GAPS[name] for name in differences]
        what = "; ".join(f"§{gap.section}: {gap.sentence.rstrip('.')}" for gap in gaps)
        lessons = "; nor ".join(gap.lesson for gap in gaps)
        reasons.append(
            f"The bug needs {listed}. The interface leaves this open ({what}), so a client must not assume {lessons}."
        )
    reasons += [_ODD_KEY_MATTERS] * (scenario.odd_key and not scenario.has_races)
    return [*reasons, *([] if scenario.environment is None else [ENVIRONMENTS[scenario.environment]])]


# The test to paste


def _source(example: Example) -> str:
    """Return the source of a test that plays the example with watched clients."""
    scenario, options, lines, worlds = example.scenario, example.run.options, example.lines, example.worlds
    tls, host = options.tls or None, IPV6_HOST if scenario.environment == "ipv6" else None
    behaviour = scenario.behaviour if scenario.behaviour.differences() else None
    key = _ODD_KEY if scenario.odd_key else None
    is_led = any("elsewhere.url" in line for line in lines)
    opened = [] if scenario.environment in {None, "ipv6"} else [f"environment({scenario.environment!r})"]
    opened.append(f"PetStoreMock({_keywords(host=host, tls=tls, api_key=key, behaviour=behaviour)}) as petstore")
    opened += [f"PetStoreMock({_keywords(tls=tls)}) as elsewhere"] if is_led else []
    opened += [f"petstore.fresh({_keywords(behaviour=behaviour)}) as other"] if "other" in worlds else []
    given = _given(example, is_led=is_led)
    clients = [f"checks.watched(make_client, {name}, {given}) as {world.client}" for name, world in worlds.items()]
    # A fault that has not fired fails a test, unless the test cancels it.
    ends = [f"{name}.cancel_faults()" for name in worlds if any(line.startswith(f"{name}.inject(") for line in lines)]
    body = [*lines, *(end for end in ends if lines[-1:] != [end])]
    test = [
        *_with(opened),
        *(_INDENT + line for line in _with(clients)),
        *(_INDENT * 2 + line for line in body or ["pass"]),
    ]
    code = "\n".join(["def test_client() -> None:", *(_INDENT + line for line in test)])
    return f"{_imports(code, example.run)}\n\n\n{code}\n"


def _keywords(**given: object) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)


def _given(example: Example, *, is_led: bool) -> str:
    """Return the further arguments of ``checks.watched``."""
    options = example.run.options
    given = ["quiet=True"]
    given += ["methods=methods"] if options.methods else []
    given += ["classify=classify"] if options.classify is not classify_exception else []
    given += ["read_pet=read_pet"] if options.read_pet is not read_pet else []
    own = ", ".join(one.name for one in options.checks)
    given += [f"checks=[*checks.CHECKS.values(), {own}]"] if own else []
    given += ["others=[elsewhere]"] if is_led else []
    given += [f"patience={options.patience!r}"] if example.waited else []
    given += [f"longest_wait={options.longest_wait!r}"] if options.longest_wait is not None else []
    return ", ".join(given)


def _with(managers: Sequence[str]) -> list[str]:
    line = f"with {', '.join(managers)}:"
    return [line] if len(line) <= _WIDTH else ["with (", *(f"{_INDENT}{one}," for one in managers), "):"]


def _imports(code: str, run: Run) -> str:
    def used(names: Iterable[str]) -> list[str]:
        return [name for name in names if re.search(rf"\b{re.escape(name)}\b", code)]

    lines = [f"from petstore_mock import {', '.join(used(['Behaviour', 'PetStoreMock', 'checks', 'faults']))}"]
    lines += ["from petstore_mock.stateful import environment"] * len(used(["environment"]))
    given = ("make_client", "classify", "read_pet", "methods")
    objects: dict[str, object] = {name: getattr(run.options, name) for name in given}
    objects |= {**run.steps, **{one.name: one.look for one in run.options.checks}}
    return "\n".join([*lines, "", *(_import(name, objects[name]) for name in used(objects))])


def _import(name: str, value: object) -> str:
    own, module = getattr(value, "__qualname__", ""), getattr(value, "__module__", "") or ""
    if own.isidentifier() and module and module != "__main__":
        return f"from {module} import {own}{'' if own == name else f' as {name}'}"
    return f"# {name} is the argument that your test passed to check_client."
