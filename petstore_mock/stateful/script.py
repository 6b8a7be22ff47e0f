"""The steps of an example as the source of a test that people can paste."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.stateful.at_once import at_once
from petstore_mock.stateful.checks.program import program_unchanged
from petstore_mock.stateful.model.adapter import adapted
from petstore_mock.stateful.model.call import literal
from petstore_mock.stateful.model.error_classification import classify_exception
from petstore_mock.stateful.model.key_forms import holds_key
from petstore_mock.stateful.model.reading import read_pet
from petstore_mock.stateful.surroundings import IPV6_HOST, environment
from petstore_mock.stateful.time_zones import time_zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from petstore_mock.stateful.model.call import Call
    from petstore_mock.stateful.scenario import Scenario

__all__ = ["Script", "seed_code"]

_INDENT: Final = "    "
_ODD_KEY: Final = "Aa-._~+/key-of-a-test-{}=="
_MODULES: Final = (
    "contextlib",
    "copy",
    "email.utils",
    "gc",
    "io",
    "json",
    "logging",
    "re",
    "threading",
    "time",
    "traceback",
    "unittest",
    "warnings",
)
_MEANINGS: Final = {
    "make_client": ": it makes the client of a mock",
    "classify": ": it says what an exception means",
    "read_pet": ": it reads an animal that the client returned",
    "methods": ": the client's own names of the three methods",
}
# That people find in petstore_mock.stateful.
_OURS: Final = (classify_exception, read_pet, adapted, at_once, environment, holds_key, program_unchanged, time_zone)


@dataclass
class _Line:
    """One step: code that stands as it is, or a call by a client of that name, whose result may be wanted later."""

    step: str | tuple[str, Call]
    raises: bool = False
    result: str | None = None
    kept: bool = False

    @property
    def code(self) -> str:
        """The step as a line of the test."""
        if isinstance(self.step, str):
            return self.step
        actor, call = self.step
        return f"{actor}.{call.code()}"

    def lines(self) -> list[str]:
        if self.raises and self.result is None:  # as it may: that it raised is not what the test is about
            return ["with contextlib.suppress(Exception):", f"{_INDENT}{self.code}"]
        lines = [f"{self.result} = {self.code}" if self.result is not None else self.code]
        if self.kept:
            lines.append(f"kept = copy.deepcopy({self.result})")
        return lines


class Script:
    """The steps of an example, as the code of a test.

    Args:
        given: what the machine was given, by the names that it has in a test: ``make_client``, ``classify`` and so on.
        beginning: how the example begins.
        tls: whether its mocks speak TLS.

    Attributes:
        beginning: how the example begins.
        needs_adapter: whether the client is no plain one, whose methods can be called as they are.
        has_other: whether there is a second, independent world with a client of its own.
        has_elsewhere: whether there is another service to be redirected to.
        counts_threads: whether the threads are counted before there is a client.
        watches_program: whether the settings of the whole program are looked at.
        fingerprint: tells the steps so far from others: two examples of the same steps do the same.
    """

    def __init__(self, given: Mapping[str, Any], beginning: Scenario, *, tls: bool = False) -> None:
        self._listening = ["tls=True"] if tls else []
        self.beginning = beginning
        self.needs_adapter = False
        self._given = given
        self._lines: list[_Line] = []
        self.has_other = False
        self.has_elsewhere = False
        self.counts_threads = False
        self.watches_program = False
        self._results = 0
        self.fingerprint = 0

    def __str__(self) -> str:
        return "\n".join(line.code for line in self._lines)

    def add(self, code: str) -> None:
        """Add a step."""
        self._lines.append(_Line(code))
        self.fingerprint = hash((self.fingerprint, code))

    def add_call(self, actor: str, call: Call, *, raises: bool) -> int:
        """Add a call of a client; return its place, for :meth:`name_result`."""
        self._lines.append(_Line((actor, call), raises))  # most are never read: only a bug shows them
        self.fingerprint = hash((self.fingerprint, actor, call.operation, repr(call.arguments)))
        return len(self._lines) - 1

    def name_result(self, place: int) -> str:
        """Have the result of a call kept under a name, and return it."""
        line = self._lines[place]
        if line.result is None:
            self._results += 1
            line.result = "result" if self._results == 1 else f"result_{self._results}"
        return line.result

    def keep_result(self, place: int) -> str:
        """Have the result of a call copied as ``kept``; return its name."""
        name = self.name_result(place)
        self._lines[place].kept = True
        return name

    def _methods(self) -> str:
        """Return the argument that names the client's methods."""
        methods: Mapping[str, Any] | None = self._given.get("methods")
        if not methods:
            return ""
        plain = all(isinstance(name, str) for name in methods.values())
        return f", methods={methods!r}" if plain else ", methods=methods"

    def source(self, check: Iterable[str]) -> str:
        """Return the test: the steps so far, then ``check``, the lines that fail."""
        beginning = self.beginning
        zone, where = beginning.time_zone, beginning.environment
        gaps = ", ".join(f"{name}={value!r}" for name, value in beginning.behaviour.differences().items())
        host = [f"host={IPV6_HOST!r}"] if where == "ipv6" else []
        options = [*host, *self._listening, *([f"api_key={_ODD_KEY.format(1)!r}"] if beginning.odd_keys else [])]
        behaviour = [f"behaviour=Behaviour({gaps})"] if gaps else []
        options += behaviour
        opened = [f"time_zone({zone!r})"] if zone is not None else []
        if where is not None and not host:
            opened.append(f"environment({where!r})")
        opened.append(f"PetStoreMock({', '.join(options)}) as petstore")
        if self.has_elsewhere:
            opened.append(f"PetStoreMock({', '.join(self._listening)}) as elsewhere")
        clients = ["client = make_client(petstore)"]
        if self.has_other:
            # A world of fresh() has the default behaviour unless it is told another.
            own = [*([f"api_key={_ODD_KEY.format(2)!r}"] if beginning.odd_keys else []), *behaviour]
            opened.append(f"petstore.fresh({', '.join(own)}) as other")
            clients.append("other_client = make_client(other)")
        if beginning.hours_ahead:
            worlds = ("petstore", "other") if self.has_other else ("petstore",)
            clients = [*(f"{world}.clock.advance(hours={beginning.hours_ahead})" for world in worlds), *clients]
        if self.watches_program:
            opened.append("program_unchanged()")
        if self.counts_threads:
            clients.insert(0, "threads = threading.active_count()")
        body = [*clients, *_written(self._lines), *check]
        adapter = ["", f"make_client = adapted(make_client{self._methods()})"] if self.needs_adapter else []
        lines = [
            *_imports("\n".join([*adapter, *opened, *body]), self._given),
            *adapter,
            "",
            "",
            "def test_client() -> None:",
            f"{_INDENT}with {', '.join(opened)}:",
            *(f"{_INDENT * 2}{line}".rstrip() for part in body for line in part.split("\n")),
        ]
        return "".join(f"{line}\n" for line in lines)


def _written(steps: Iterable[_Line]) -> Iterator[str]:
    """Yield the lines of steps; a step that is repeated stands in a loop."""
    for lines, same in itertools.groupby(step.lines() for step in steps):
        count = len(list(same))
        if count == 1:
            yield from lines
        else:
            yield f"for _ in range({count}):"
            yield from (f"{_INDENT}{line}" for line in lines)


def _imports(code: str, given: Mapping[str, Any]) -> list[str]:
    given = {**{function.__name__: function for function in _OURS}, **given}

    def used(names: Iterable[str]) -> list[str]:
        return [name for name in names if re.search(rf"\b{re.escape(name)}\b", code)]

    lines = [f"import {name}" for name in used(_MODULES)]
    if lines:
        lines.append("")
    lines.append(f"from petstore_mock import {', '.join(used(['Behaviour', 'PetStoreMock', 'faults']))}")
    brought = used(name for name in given if name != "methods" or "methods=methods" in code)
    ours = [name for name in brought if given[name] in _OURS]
    if ours:
        own = (f"{given[name].__name__}{'' if given[name].__name__ == name else f' as {name}'}" for name in ours)
        lines.append(f"from petstore_mock.stateful import {', '.join(sorted(own))}")
    return [*lines, "", *(_import(name, given[name]) for name in brought if name not in ours)]


def _import(name: str, function: Any) -> str:  # noqa: ANN401  # whatever the machine was given
    """Return the line that brings what the machine was given, or says so."""
    own, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "") or ""
    if own.isidentifier() and module and module != "__main__":
        return f"from {module} import {own}{'' if own == name else f' as {name}'}"
    return f"# {name} is what was given to the machine{_MEANINGS[name]}."


def seed_code(animal: Mapping[str, Any]) -> str:
    """Return the arguments that seed an animal."""
    return ", ".join(f"{name}={literal(value)}" for name, value in animal.items())
