"""The options of the command line, from the table of options. Environment variables set options that are not given."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from petstore_mock.common.refusing import did_you_mean, nearest, one_of, refuse, require
from petstore_mock.common.values import shown_url, text_of, variable_of
from petstore_mock.core.options import OPTIONS, Option, flag_of, number_of, options_at
from petstore_mock.core.world import Host, World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.behaviour import choices_of
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.exchange import is_base_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Kubernetes sets the excluded variables in each pod if a service has the name petstore-mock.
_PREFIXED: Final = re.compile(r"PETSTORE_MOCK_(?!SERVICE_(HOST|PORT)|PORT_\d)")
_BETWEEN: Final = re.compile(r"[,\s]+")  # separates the values of a repeated option in a variable


def _keys(_: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    World(Host(), {}, keys=keys)
    return keys


def _date(name: str, value: str) -> str:
    OPTIONS["at"].check(name, value)
    return value  # the world parses the text itself


def _format(_: str, value: str) -> str:
    return one_of(value, ("text", "json"), "format")


def _address(name: str, value: str) -> str:
    require(is_base_url(value), "an address such as https://ci.example/petstore", **{name: shown_url(value)})
    return value.rstrip("/").removesuffix(BASE_PATH)


def _plain(_: str, value: Any) -> Any:  # noqa: ANN401
    return value


_PORT_WORDS: Final = "Serve the control door on this port, without TLS"
# Options that only `serve` has, and options with other defaults or checks there. The user may repeat an option
# whose default is a tuple.
_SERVE: Final = (
    replace(OPTIONS["port"], default=8080),
    replace(OPTIONS["api_key"], check=_keys, default=()),
    replace(OPTIONS["at"], check=_date),
    Option("set", "Choose an alternative, as GAP=VALUE (see 'petstore-mock gaps')", choices_of, "serve", ()),
    Option("tls_cert", "Listen with TLS and this certificate (PEM, with its chain)", _plain, "serve"),
    Option("tls_key", "The private key of that certificate (PEM), if it is in another file", _plain, "serve"),
    Option("tls_host", "Another name for the stub's own certificate, such as a container's name", _plain, "serve", ()),
    Option("tls_ca_out", "Write the certificate authority of the stub to this file, for clients", _plain, "serve"),
    Option("public_url", "The public address of the stub behind a proxy, without /v1", _address, "serve", ""),
    Option("quiet", "Do not log requests", _plain, "serve", False, flag_of),  # noqa: FBT003
    Option("log_format", "The format of the output: text or json", _format, "serve", "text"),
    Option("no_control", "Close the control door", _plain, "serve", False, flag_of),  # noqa: FBT003
    Option("control_token", "Open the control door to requests with this token", _plain, "serve"),
    Option("control_port", _PORT_WORDS, OPTIONS["port"].check, "serve", None, number_of),
    Option("allowed_host", "Another Host value that the control door accepts on loopback", _plain, "serve", ()),
    Option("allowed_origin", "An origin whose pages use the control door through a proxy", _plain, "serve", ()),
)
SERVE: Final = options_at("serve") | {option.name: option for option in _SERVE}


class Parser(argparse.ArgumentParser):
    """A parser that accepts no abbreviated options and reports an error in one sentence."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  # those of argparse
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        refuse(f"{message} (see '{self.prog} --help')")

    def require_known(self, first: str, commands: Iterable[str]) -> None:
        """Refuse a first argument that is neither a command nor an option of this parser."""
        if not first.startswith("-"):
            one_of(first, commands, "command")
        elif first not in self._option_string_actions:
            self.refuse_unknown([first])

    def refuse_unknown(self, unknown: Sequence[str]) -> NoReturn:
        """Refuse arguments that no option takes, with the nearest name of an option."""
        meant = did_you_mean(unknown[0].partition("=")[0], self._long_options())
        self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")

    # typeshed declares overloads, which differ only in the type of the namespace.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]  # noqa: ANN401
        return super().parse_known_args(self._with_joined_values(args), namespace)

    def _with_joined_values(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments with ``--name=-value`` for ``--name -value``. A value may begin with a dash."""
        joined: list[str] = []
        rest = iter(arguments)
        for argument in rest:
            if argument == "--":
                return [*joined, argument, *rest]
            action = self._option_string_actions.get(argument)
            # An action with nargs takes no value, or several.
            value = next(rest, None) if action is not None and action.nargs is None else None
            if action is None or value is None:
                joined.append(argument)
            elif value.startswith("-") and value not in self._option_string_actions:
                joined.append(f"{max(action.option_strings, key=len)}={value}")
            else:
                joined += [argument, value]
        return joined

    def _long_options(self) -> list[str]:
        return [name for name in self._option_string_actions if name.startswith("--")]

    def add_options(self, options: Mapping[str, Option]) -> None:
        """Add options of the table. An option that is not given is None."""
        for option in options.values():
            how: dict[str, Any] = {"action": "store_const", "const": "true"} if option.is_flag else {}
            default = f" (default: {option.default})" if option.default else ""
            if _is_repeated(option):
                how, default = {"action": "append"}, "; can be repeated"
            self.add_argument(flag(option.name), help=f"{option.words}{default}", **how)


def _is_repeated(option: Option) -> bool:
    return isinstance(option.default, tuple)


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def values_of(given: argparse.Namespace, options: Mapping[str, Option]) -> dict[str, Any]:
    """Return the value of each option from the command line, the environment or its default, in this order."""
    values: dict[str, Any] = {}
    for name, option in options.items():
        texts, source = getattr(given, name, None), flag(name)
        if texts is None and (text := text_of(name).strip()):
            texts = _BETWEEN.split(text) if _is_repeated(option) else text
            source = f"the environment variable {variable_of(name)}"
        values[name] = option.default
        try:
            if texts is not None:
                value = tuple(texts) if _is_repeated(option) else option.parse(str(texts))
                values[name] = option.check(name, value)
        except PetStoreMockError as error:
            refuse(f"{source}: {error}")
    return values


def misspelt_variables() -> list[str]:
    """Return a line for each environment variable whose name resembles that of an option."""
    known = [variable_of(name) for name in (*SERVE, *OPTIONS)]
    found = {name: nearest(name, known) for name in os.environ if _PREFIXED.match(name) and name not in known}
    return [f"unknown environment variable {name}; did you mean {meant}?" for name, meant in found.items() if meant]
