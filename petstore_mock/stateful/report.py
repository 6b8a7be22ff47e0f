"""The report of a bug: a sentence, a test to paste, and the requests and responses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from petstore_mock.checks import classify_exception, every_call_asks, outcome_fits_response, read_pet
from petstore_mock.common.masking import mask_text
from petstore_mock.common.values import without_none
from petstore_mock.errors import ReportedError
from petstore_mock.interface.gaps import GAPS
from petstore_mock.journal.text import journal_text
from petstore_mock.stateful.environments import ENVIRONMENTS, IPV6_HOST
from petstore_mock.stateful.lines import ELSEWHERE, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.checks import Finding
    from petstore_mock.checks.scenario import Scenario
    from petstore_mock.checks.watched import Found
    from petstore_mock.stateful.example import Example
    from petstore_mock.stateful.run import Options

_ABOUT_OUTCOMES: Final = (every_call_asks.name, outcome_fits_response.name)
_INDENT: Final = "    "
_REQUESTS: Final = 15  # the number of the latest requests in the report
_WIDTH: Final = 100  # of a line of the test, if the line can be broken
_ODD_KEY: Final = "Aa-._~+/key-of-a-test=="
_ODD_KEY_MATTERS: Final = "The bug needs a key with all kinds of characters that RFC 6750 §2.1 allows."
_RULE: Final = "The name of the rule is {rule!r}: ignore=[{rule!r}] switches it off."
_NOT_IMPORTED: Final = "# {name} is the argument that your test passed to check_client."
_USUAL: Final = (None, classify_exception, read_pet)
NOT_ALWAYS: Final = (
    "The bug did not show again in a new run: it depends on the calls of earlier examples, or the computer was too "
    "busy for the client's timeouts."
)
NOT_REPLAYED: Final = (
    "The test passes in a new process: the bug depends on what this process did before, for example on a state of the "
    "client's module."
)
BY_CHANCE: Final = "The bug showed in {shown} of {plays} plays: it depends on chance."
FIXED_CHANCE: Final = "The test fixes the state of random, with which the bug shows."
NOT_EACH_TIME: Final = "The bug depends on how the system schedules threads: run the test a few times."


class ClientBugError(ReportedError):
    """Raised for a client that breaks the interface, or assumes something that the interface leaves open.

    If the client has several bugs, the other attributes are those of the first one.

    Attributes:
        bugs: the error of each bug, the shortest test first.
        sentence: the client's mistake, and the section that it breaks.
        rule: the stable name of the broken rule, for ``ignore=``.
        test: the source of a test that fails.
        wire: the requests and responses.
        waited: whether the machine had to give up on a call.
        raised: the client's lines that raised an unknown exception, or in which a call waits; else empty.
        scenario: the steps as a value that the machine can play again.
    """

    __module__ = "petstore_mock.stateful"  # the public module

    bugs: tuple[ClientBugError, ...]
    sentence: str
    rule: str
    test: str
    wire: str
    waited: bool
    raised: str
    scenario: Scenario

    def __init__(self, bug: Bug, bugs: Sequence[ClientBugError] = ()) -> None:
        self.bug = bug
        self.bugs = tuple(bugs) or (self,)
        self.sentence = bug.sentence
        self.rule = bug.finding.rule
        self.test = bug.test
        self.wire = bug.wire
        self.raised = bug.raised
        self.scenario = bug.scenario
        self.waited = bug.waited
        if len(self.bugs) > 1:
            super().__init__(_listed(self.bugs))
        else:
            super().__init__(str(bug))
            self.add_note(_RULE.format(rule=self.rule))

    @staticmethod
    def of(bugs: Sequence[Bug]) -> ClientBugError:
        """Return one error for some bugs, the shortest test first."""
        errors = [ClientBugError(bug) for bug in sorted(bugs, key=attrgetter("size"))]
        if len(errors) == 1:
            return errors[0]
        return ClientBugError(errors[0].bug, errors)


def _listed(errors: Sequence[ClientBugError]) -> str:
    count = len(errors)
    texts = [f"The client has {count} bugs."]
    texts += [f"Bug {number} of {count} (rule {error.rule!r}): {error.bug}" for number, error in enumerate(errors, 1)]
    texts.append("ignore=[...] with names of rules switches rules off.")
    return "\n\n".join(texts)


@dataclass(frozen=True)
class Bug:
    """What one failed example shows."""

    finding: Finding
    sentence: str
    test: str
    wire: str
    raised: str
    scenario: Scenario
    waited: bool
    was_lost: bool  # whether the bug is that the client's own timeout or a lost connection ended the call
    chance: int | None
    importable: bool  # whether a new process can run the test
    lines: tuple[Line, ...] = ()

    def __str__(self) -> str:
        where = f"\n\nIn the client:\n\n{self.raised}" if self.raised else ""
        return f"{self.sentence}\n\nAs a test:\n\n{self.test}\nOn the wire:\n\n{self.wire}{where}"

    def with_words(self, words: str) -> Bug:
        """Return the bug with a further sentence."""
        return replace(self, sentence=f"{self.sentence}\n{words}")

    @property
    def size(self) -> tuple[int, int, int]:
        """How much a reader of the test has to read."""
        scenario = self.scenario
        return len(scenario.steps), len(scenario.behaviour.differences()), len(repr(scenario))


def explain(example: Example, *, fixes_chance: bool = False) -> Bug | None:
    """Return the bug of an example, or None if no check failed."""
    found = example.found
    if found is None:
        return None
    scenario = replace(example.scenario, steps=example.scenario.steps[: example.taken])
    keys = [world.petstore.api_key for world in example.worlds.values()]
    sentence = "\n".join([mask_text(str(found), keys), *_reasons(scenario)])
    test, importable = _source(example, fixes_chance=fixes_chance)
    return Bug(
        finding=found.finding,
        sentence=sentence,
        test=test,
        wire=_wire(example),
        raised=mask_text(example.raised, keys),
        scenario=scenario,
        waited=example.waited,
        was_lost=_was_lost(found),
        chance=example.chance,
        importable=importable,
        lines=tuple(example.lines),
    )


def _was_lost(found: Found) -> bool:
    """Whether a bug is that a timeout or a lost connection ended a call, and nothing else."""
    if found.outcome is None or found.finding.check not in _ABOUT_OUTCOMES:
        return False
    return found.outcome.kind in {"timeout", "transport"}


def _wire(example: Example) -> str:
    texts: list[str] = []
    for name, world in example.worlds.items():
        text = journal_text([*world.petstore.journal][-_REQUESTS:])
        if len(example.worlds) > 1:
            text = f"{name}:\n{text}"
        texts.append(text)
    return "\n\n".join(texts)


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
    if scenario.odd_key and not scenario.has_races:
        reasons.append(_ODD_KEY_MATTERS)
    if scenario.environment is not None:
        reasons.append(ENVIRONMENTS[scenario.environment])
    return reasons


# The test to paste


def _source(example: Example, *, fixes_chance: bool) -> tuple[str, bool]:
    """Return the source of a test that plays the example, and whether it can import everything that it needs."""
    names = set[str]().union(*(line.names for line in example.lines))
    is_led = ELSEWHERE in names
    body = _body(example) or ["pass"]
    given = _given(example, is_led=is_led)
    clients = [
        f"checks.watched(make_client, {name}, {', '.join(given)}) as {world.client}"
        for name, world in example.worlds.items()
    ]
    test = [f"random.seed({example.chance})"] if fixes_chance else []
    test += _with(_opened(example, is_led=is_led))
    test += [_INDENT + line for line in _with(clients)]
    test += [_INDENT * 2 + line for line in body]
    code = "\n".join(["def test_client() -> None:", *(_INDENT + line for line in test)])
    imports, importable = _imports(example, names, has_seed=fixes_chance)
    return f"{imports}\n\n\n{code}\n", importable


def _opened(example: Example, *, is_led: bool) -> list[str]:
    """Return the context managers of the test, without its clients."""
    scenario = example.scenario
    options = example.run.options
    tls = options.tls or None
    host = IPV6_HOST if scenario.environment == "ipv6" else None
    behaviour = scenario.behaviour if scenario.behaviour.differences() else None
    key = _ODD_KEY if scenario.odd_key else None
    opened: list[str] = []
    if scenario.environment not in {None, "ipv6"}:
        opened.append(f"environment({scenario.environment!r})")
    opened.append(f"PetStoreMock({_keywords(host=host, tls=tls, api_key=key, behaviour=behaviour)}) as petstore")
    if is_led:
        opened.append(f"PetStoreMock({_keywords(tls=tls)}) as {ELSEWHERE}")
    if "other" in example.worlds:
        opened.append(f"petstore.fresh({_keywords(behaviour=behaviour)}) as other")
    return opened


def _body(example: Example) -> list[str]:
    lines = example.lines
    body = [str(line) for line in lines]
    for name in example.worlds:
        # A fault that has not fired fails a test, unless the test cancels it.
        has_faults = (name, "inject") in [(line.owner, line.method) for line in lines]
        is_last = lines[-1:] == [Line(name, "cancel_faults")]
        if has_faults and not is_last:
            body.append(f"{name}.cancel_faults()")
    return body


def _keywords(**given: object) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in without_none(given).items())


def _given(example: Example, *, is_led: bool) -> list[str]:
    """Return the further arguments of ``checks.watched``."""
    options = example.run.options
    run = example.run
    named = [check.name for check in options.checks]
    if options.retries is not None:
        named.append(f"checks.{options.retries!r}.check")
    arguments = ["quiet=True", *(f"{name}={name}" for name in _passed(options))]
    if named:
        arguments.append(f"checks=[*checks.CHECKS.values(), {', '.join(named)}]")
    if is_led:
        arguments.append("others=[elsewhere]")
    if example.waited:
        arguments.append(f"patience={options.patience!r}")
    if options.longest_wait is not None:
        arguments.append(f"longest_wait={options.longest_wait!r}")
    if run.ignore:
        arguments.append(f"ignore={sorted(run.ignore)!r}")
    return arguments


def _passed(options: Options) -> dict[str, object]:
    """Return the arguments of ``check_client`` that ``checks.watched`` has too, and that are not the defaults."""
    given = {"methods": options.methods, "classify": options.classify, "read_pet": options.read_pet}
    return {name: value for name, value in given.items() if value not in _USUAL}


def _with(managers: Sequence[str]) -> list[str]:
    line = f"with {', '.join(managers)}:"
    if len(line) <= _WIDTH:
        return [line]
    return ["with (", *(f"{_INDENT}{manager}," for manager in managers), "):"]


def _imports(example: Example, names: set[str], *, has_seed: bool) -> tuple[str, bool]:
    """Return the imports of the test, and whether all that it needs can be imported."""
    options = example.run.options
    scenario = example.scenario
    own = {"PetStoreMock", "checks", *(names & {"faults"})}
    if scenario.behaviour.differences():
        own.add("Behaviour")
    lines = ["import random", ""] if has_seed else []
    lines.append(f"from petstore_mock import {', '.join(sorted(own))}")
    if scenario.environment not in {None, "ipv6"}:
        lines.append("from petstore_mock.stateful import environment")
    objects = {"make_client": options.make_client, **_passed(options)}
    steps = example.run.steps
    objects |= {name: steps[name] for name in steps if name in names}
    objects |= {check.name: check.look for check in options.checks}
    lines.append("")
    importable = True
    for name, value in objects.items():
        line = _import(name, value)
        if line is None:
            line = _NOT_IMPORTED.format(name=name)
            importable = False
        lines.append(line)
    return "\n".join(lines), importable


def _import(name: str, value: object) -> str | None:
    """Return the line that imports an object, or None if it is not importable."""
    own = getattr(value, "__qualname__", "")
    module = getattr(value, "__module__", "") or ""
    if not own.isidentifier() or module in {"", "__main__"}:
        return None
    alias = "" if own == name else f" as {name}"
    return f"from {module} import {own}{alias}"
