"""The options of the command line, from the table of options. Environment variables set options that are not given."""

from __future__ import annotations

import argparse
import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn

from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.common.values import text_of, variable_of
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.common.values import JsonObject
    from petstore_mock.core.options import Option

# Separates the values of a repeated option in a variable.
_BETWEEN: Final = re.compile(r"[,\s]+")


class Parser(argparse.ArgumentParser):
    """A parser that accepts no abbreviated options and reports an error in one sentence."""

    def __init__(self, **settings: Any) -> None:  # those of argparse
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        refuse(f"{message} (see '{self.prog} --help')")

    def require_known(self, first: str, commands: Iterable[str]) -> None:
        """Refuse a first argument that is neither a command nor an option of this parser."""
        one_of(first, [*commands, *self._option_string_actions], "command")

    def refuse_unknown(self, unknown: Sequence[str]) -> NoReturn:
        """Refuse arguments that no option takes, with the nearest name of an option."""
        meant = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
        self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")

    # typeshed declares overloads, which differ only in the type of the namespace.
    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str],
        namespace: Any = None,  # noqa: ANN401
    ) -> tuple[argparse.Namespace, list[str]]:
        return super().parse_known_args(self._with_joined_values(args), namespace)

    def _with_joined_values(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments with ``--name=-value`` for ``--name -value``. A value may begin with a dash."""
        # Behind a double dash, everything belongs to a command.
        end = arguments.index("--") if "--" in arguments else len(arguments)
        joined: list[str] = []
        rest = iter(arguments[:end])
        for argument in rest:
            joined.append(argument)
            action = self._option_string_actions.get(argument)
            # An action with nargs takes no value, or several.
            if action is None or action.nargs is not None:
                continue
            for value in islice(rest, 1):
                joined.append(value)
                if value.startswith("-") and value not in self._option_string_actions:
                    # Only a long name takes a value after an equals sign.
                    joined[-2:] = [f"{max(action.option_strings, key=len)}={value}"]
        return [*joined, *arguments[end:]]

    def add_options(self, options: Mapping[str, Option]) -> None:
        """Add options of the table. An option that is not given is None."""
        groups: JsonObject = {"": self}
        for option in options.values():
            if option.group not in groups:
                groups[option.group] = self.add_argument_group(option.group)
            add = partial(groups[option.group].add_argument, flag(option.name))
            if option.is_flag:
                add(action="store_const", const="true", help=option.words)
            elif option.is_repeated:
                add(action="append", metavar=option.metavar, help=f"{option.words}; can be repeated")
            else:
                default = f" (default: {option.default})" if option.default else ""
                metavar = "|".join(option.alternatives) or option.metavar
                add(metavar=metavar, help=f"{option.words}{default}")


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def values_of(given: argparse.Namespace, options: Mapping[str, Option]) -> JsonObject:
    """Return the value of each option from the command line, the environment or its default, in this order."""
    values: JsonObject = {}
    for name, option in options.items():
        texts = getattr(given, name, None)
        variable = text_of(name).strip()
        if texts is not None:
            values[name] = _value_of(option, texts, flag(name))
        elif variable:
            parts = _BETWEEN.split(variable) if option.is_repeated else variable
            values[name] = _value_of(option, parts, f"the environment variable {variable_of(name)}")
        else:
            values[name] = option.default
    return values


def _value_of(option: Option, texts: str | Sequence[str], source: str) -> object:
    """Return the checked value of an option. Only a repeated option has a list of texts."""
    try:
        value = option.parse(texts) if isinstance(texts, str) else tuple(texts)
        return option.check(option.name, value)
    except PetStoreMockError as error:
        refuse(f"{source}: {error}")
