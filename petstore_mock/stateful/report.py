"""The error for a bug: a sentence, a test to paste, the requests and responses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.checks import classify_exception, read_pet
from petstore_mock.checks.wording import without_keys
from petstore_mock.interface.gaps import GAPS
from petstore_mock.journal.text import journal_text
from petstore_mock.stateful.environments import ANOTHER_ZONE, BLOCKS, ENVIRONMENTS, IPV6_HOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.stateful.example import Example
    from petstore_mock.stateful.run import Options
    from petstore_mock.strategies.scenario import Scenario

_INDENT: Final = "    "
_REQUESTS: Final = 15  # that are shown
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

    def __init__(
        self, sentence: str, test: str, wire: str, raised: str, scenario: Scenario, *, waited: bool = False
    ) -> None:
        where = f"\n\nIn the client:\n\n{raised}" if raised else ""
        super().__init__(f"{sentence}\n\nAs a test:\n\n{test}\nOn the wire:\n\n{wire}{where}")
        self.sentence, self.test, self.wire, self.raised = sentence, test, wire, raised
        self.scenario, self.waited = scenario, waited

    def with_words(self, words: str) -> ClientBugError:
        """Return the same with a further sentence."""
        sentence = f"{self.sentence}\n{words}"
        return ClientBugError(sentence, self.test, self.wire, self.raised, self.scenario, waited=self.waited)


def explain(example: Example) -> ClientBugError | None:
    """Return the error that tells what a check found in an example; None if it found nothing."""
    if example.found is None:
        return None
    scenario = replace(example.scenario, steps=example.scenario.steps[: example.taken])
    keys = [petstore.api_key for petstore in example.worlds.values()]
    sentence = "\n".join([without_keys(str(example.found), keys), *_reasons(scenario)])
    texts = {name: journal_text(list(petstore.journal)[-_REQUESTS:]) for name, petstore in example.worlds.items()}
    wire = "\n\n".join(f"{name}:\n{text}" if len(texts) > 1 else text for name, text in texts.items())
    raised = without_keys(example.stack, keys)
    return ClientBugError(sentence, _source(example), wire, raised, scenario, waited=example.waited)


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


# The test to paste


def _source(example: Example) -> str:
    """Return a test that does the same with watched clients."""
    scenario, options, used = example.scenario, example.run.options, example.used
    tls = {"tls": True} if options.tls else {}
    world = {"behaviour": scenario.behaviour} if scenario.behaviour.differences() else {}
    key = {"api_key": _ODD_KEY} if scenario.odd_key else {}
    host = {"host": IPV6_HOST} if scenario.environment == "ipv6" else {}
    opened = [f"time_zone({ANOTHER_ZONE!r})"] if scenario.environment == "time_zone" else []
    opened += [f"environment({scenario.environment!r})"] if scenario.environment in BLOCKS else []
    opened.append(f"PetStoreMock({_keywords({**host, **tls, **key, **world})}) as petstore")
    opened += [f"PetStoreMock({_keywords(tls)}) as elsewhere"] if "elsewhere" in used else []
    opened += [f"petstore.fresh({_keywords(world)}) as other"] if "other" in used else []
    clients = {"client": "petstore", **({"other_client": "other"} if "other" in used else {})}
    hours = scenario.hours_ahead
    body = [f"{name}.clock.advance(hours={hours})" for name in clients.values() if hours]
    given = _given(example)
    body += _with([f"checks.watched(make_client, {name}{given}) as {client}" for client, name in clients.items()])
    faulty = [name for name in clients.values() if any(f"{name}.inject(" in line for line in example.lines)]
    lines = [*example.lines, *(f"{name}.cancel_faults()" for name in faulty)]  # none of them need fire
    body += [_INDENT + line for line in lines or ["pass"]]
    test = [*_with(opened), *(_INDENT + line for line in body)]
    code = "\n".join(["def test_client() -> None:", *(_INDENT + line for line in test)])
    return f"{_imports(code, options)}\n\n\n{code}\n"


def _keywords(given: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


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
    given += [f"patience={options.patience!r}"] if example.waited else []
    given += [f"longest_wait={options.longest_wait!r}"] if options.longest_wait is not None else []
    return f", {', '.join(given)}"


def _with(managers: Sequence[str]) -> list[str]:
    line = f"with {', '.join(managers)}:"
    return [line] if len(line) <= 100 else ["with (", *(f"{_INDENT}{one}," for one in managers), "):"]


def _imports(code: str, options: Options) -> str:
    def used(names: Iterable[str]) -> list[str]:
        return [name for name in names if re.search(rf"\b{re.escape(name)}\b", code)]

    lines = [f"from petstore_mock import {', '.join(used(['Behaviour', 'PetStoreMock', 'checks', 'faults']))}"]
    ours = used(["environment", "spoil", "time_zone"])
    lines += [f"from petstore_mock.stateful import {', '.join(ours)}"] if ours else []
    objects: dict[str, object] = {
        "make_client": options.make_client,
        "classify": options.classify,
        "read_pet": options.read_pet,
    }
    objects |= {"methods": options.methods, **options.steps, **{one.name: one.look for one in options.checks}}
    return "\n".join([*lines, "", *(_import(name, objects[name]) for name in used(objects))])


def _import(name: str, value: object) -> str:
    own, module = getattr(value, "__qualname__", ""), getattr(value, "__module__", "") or ""
    if own.isidentifier() and module and module != "__main__":
        return f"from {module} import {own}{'' if own == name else f' as {name}'}"
    return f"# {name} is what was given to check_client."
