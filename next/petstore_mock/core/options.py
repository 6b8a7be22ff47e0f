"""The table of options. ``PetStoreMock``, ``serve``, the fixture and the control door take theirs from it.

Each row says how a value from Python or JSON is checked, and how a value from text is read: from a command line, an
environment variable or an ini file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict

from petstore_mock.common.dates import moment_of
from petstore_mock.common.refusing import did_you_mean, one_of, refuse, require, shown
from petstore_mock.common.values import is_integer, is_number

if TYPE_CHECKING:
    from petstore_mock.interface.behaviour import Behaviour

# Where an option holds. A marker of pytest takes options of the test's own start; the door takes those of a world.
Place = Literal["world", "listener", "serve", "fixture", "marker", "door"]
Seed = int | str | PathLike[str] | Iterable[Mapping[str, Any]]

MAX_WORLDS: Final = 10_000
KEPT_REQUESTS: Final = 1_000  # of each world by address: a test looks back on its own few
MOST_PETS: Final = 1_000_000  # of one request to the door

_COUNT: Final = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
_FLAGS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
FLAG_WORDS: Final = "true or false, yes or no, on or off, 1 or 0"


class WorldOptions(TypedDict, total=False):
    """The options of a world: those of ``PetStoreMock`` that are not its listener's."""

    api_key: str | None
    seed: Seed | None
    behaviour: Behaviour | Mapping[str, str] | str | PathLike[str] | None
    at: str | date | datetime | None
    strict: bool
    random_seed: int
    mutant: str | None


class OwnOptions(TypedDict, total=False):
    """What one test has of its own, where the options of the session say something else; ``seed`` comes on top."""

    behaviour: Behaviour | Mapping[str, str] | str | PathLike[str] | None
    gaps: Mapping[str, str] | None
    seed: Seed | None
    at: str | date | datetime | None
    strict: bool | None
    mutant: str | None


class Start(NamedTuple):
    """The checked starting state of a world; ``added`` are animals of the present test alone."""

    behaviour: Behaviour
    keys: tuple[str, ...] = ()
    seed: Seed | None = None
    at: float | None = None
    strict: bool = False
    random_seed: int = 0
    mutant: str | None = None
    added: Seed | None = None


# Checks of values from Python or JSON; each returns the value as it is used


def _flag(name: str, value: Any) -> bool:  # noqa: ANN401  # checks take whatever a test passes
    require(isinstance(value, bool), "True or False", **{name: value})
    return bool(value)


def _text(name: str, value: Any) -> str:  # noqa: ANN401
    require(isinstance(value, str), f"{name} as text", **{name: value})
    return str(value)


def _any(_: str, value: Any) -> Any:  # noqa: ANN401  # whoever uses it checks it
    return value


def _whole(least: int, most: int, words: str) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:  # noqa: ANN401
        require(is_integer(value) and least <= value <= most, words, **{name: value})
        return int(value)

    return check


def _integer(name: str, value: Any) -> int:  # noqa: ANN401
    require(is_integer(value), "a whole number", **{name: value})
    return int(value)


def _seconds(name: str, value: Any) -> float | None:  # noqa: ANN401
    require(value is None or (is_number(value) and value > 0), "a positive number of seconds", **{name: value})
    return None if value is None else float(value)


def _moment(name: str, value: Any) -> float | None:  # noqa: ANN401
    return None if value is None else moment_of(value, name)


def _behaviour(_: str, value: Any) -> Behaviour:  # noqa: ANN401
    from petstore_mock.interface.behaviour import as_behaviour  # noqa: PLC0415  # the unused plugin needs no gaps

    return as_behaviour(value)


def _mutant(_: str, value: Any) -> str | None:  # noqa: ANN401
    if value is None:
        return None
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # most worlds have none

    return one_of(value, MUTANTS, "mutant")


def _cors(_: str, value: Any) -> Any:  # noqa: ANN401
    from petstore_mock.core.cors import cors_of  # noqa: PLC0415  # most mocks have none

    return cors_of(value)


# Readers of text


def flag_of(text: str) -> bool:
    """Return a flag that a text stands for."""
    found = _FLAGS.get(text.strip().lower())
    if found is None:
        refuse(f"expected {FLAG_WORDS}; got {shown(text)}")
    return found


def seed_of(text: str) -> int | Path:
    """Return a number of animals, or a file of them."""
    return int(text) if _COUNT.fullmatch(text) else Path(text)


def number_of(text: str) -> int:
    """Return a whole number."""
    require(_COUNT.fullmatch(text), "a whole number", got=text)
    return int(text)


def seconds_of(text: str) -> float:
    """Return a number of seconds."""
    try:
        return float(text)
    except ValueError:
        refuse(f"expected a number of seconds; got {shown(text)}")


# The table


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes:
        name: the keyword of Python; ``--name`` and ``petstore_name`` follow from it.
        words: what it is, in a sentence for help texts.
        check: checks a value from Python or JSON, and returns it as it is used.
        parse: reads a value from text.
        schema: the JSON Schema of its value, where the door takes it.
        default: the value unless given.
        places: where it holds.
    """

    name: str
    words: str
    check: Callable[[str, Any], Any] = _any
    parse: Callable[[str], Any] = str
    schema: Mapping[str, Any] | None = None
    default: Any = None
    places: frozenset[Place] = frozenset()

    @property
    def is_flag(self) -> bool:
        """Whether a command line takes it without a value."""
        return self.parse is flag_of


def _at(*places: Place) -> frozenset[Place]:
    return frozenset(places)


_ROWS: Final = (
    Option(
        name="host",
        words="The address to listen on",
        check=_text,
        default="127.0.0.1",
        places=_at("listener", "serve", "fixture"),
    ),
    Option(
        name="port",
        words="The port to listen on; 0 takes a free one",
        check=_whole(0, 65535, "a port from 0 to 65535"),
        parse=number_of,
        default=0,
        places=_at("listener", "serve", "fixture"),
    ),
    Option(
        name="api_key",
        words="A fixed valid API key; without it each world gets its own",
        schema={"type": ["string", "null"], "pattern": "^[A-Za-z0-9._~+/-]+=*$"},
        places=_at("world", "serve", "fixture", "door"),
    ),
    Option(
        name="seed",
        words="The animals of the starting state: how many, a list of them, or a JSON file",
        parse=seed_of,
        schema={
            "anyOf": [
                {"type": "array", "items": {"$ref": "#/components/schemas/NewAnimal"}, "maxItems": MOST_PETS},
                {"type": "integer", "minimum": 0, "maximum": MOST_PETS},
                {"type": "null"},
            ]
        },
        places=_at("world", "serve", "fixture", "marker", "door"),
    ),
    Option(
        name="behaviour",
        words="What the fake does where the interface shows nothing: a preset, gaps, or a TOML file",
        check=_behaviour,
        schema={"$ref": "#/components/schemas/BehaviourChoice"},
        places=_at("world", "serve", "fixture", "marker", "door"),
    ),
    Option(
        name="at",
        words="The fake's date at the start, such as 2030-12-06",
        check=_moment,
        schema={"type": ["string", "null"], "description": "ISO 8601"},
        places=_at("world", "serve", "fixture", "marker", "door"),
    ),
    Option(
        name="strict",
        words="Whether a contract violation by the client fails the test",
        check=_flag,
        parse=flag_of,
        schema={"type": "boolean"},
        default=False,
        places=_at("world", "fixture", "marker", "door"),
    ),
    Option(
        name="random_seed",
        words="The seed of ids, orders and probabilities that are drawn",
        check=_integer,
        parse=number_of,
        schema={"type": "integer"},
        default=0,
        places=_at("world", "fixture", "door"),
    ),
    Option(
        name="mutant",
        words="The name of a mutant, a service that breaks one clause",
        check=_mutant,
        schema={"type": ["string", "null"]},
        places=_at("world", "door"),
    ),
    Option(
        name="control",
        words="Whether the control door is open",
        check=_flag,
        parse=flag_of,
        default=False,
        places=_at("listener", "serve", "fixture"),
    ),
    Option(
        name="cors",
        words="The origins whose pages may use the service in a browser, or * for any",
        check=_cors,
        places=_at("listener", "serve"),
    ),
    Option(
        name="tls",
        words="Whether to listen with TLS; needs the extra tls",
        check=_flag,
        parse=flag_of,
        default=False,
        places=_at("listener", "serve", "fixture"),
    ),
    Option(
        name="max_worlds",
        words="How many worlds by address there may be",
        check=_whole(0, 2**63 - 1, "a number of worlds of at least 0"),
        parse=number_of,
        default=MAX_WORLDS,
        places=_at("serve"),
    ),
    Option(
        name="world_ttl",
        words="Seconds after which a world that got no request ends",
        check=_seconds,
        parse=seconds_of,
        places=_at("serve"),
    ),
    Option(
        name="keep_requests",
        words="How many requests the journal of each world by address keeps",
        check=_whole(1, 2**63 - 1, "a number of requests of at least 1"),
        parse=number_of,
        default=KEPT_REQUESTS,
        places=_at("serve"),
    ),
)

OPTIONS: Final[Mapping[str, Option]] = {option.name: option for option in _ROWS}


def options_at(place: Place) -> dict[str, Option]:
    """Return the options that hold at a place, by name."""
    return {name: option for name, option in OPTIONS.items() if place in option.places}


def checked(given: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return the value of each option of a place, with defaults; refuse unknown names with the nearest."""
    known = options_at(place)
    for name in given:
        if name not in known:
            refuse(f"expected options of a {place}, from {', '.join(known)}; got {name}{did_you_mean(name, known)}")
    return {name: option.check(name, given.get(name, option.default)) for name, option in known.items()}


def start_of(given: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Start:
    """Return the starting state that options of a world stand for; ``keys`` are its keys unless an option gives one."""
    values = checked(given, "world")
    api_key = values.pop("api_key")
    return Start(keys=keys if api_key is None else (api_key,), **values)


def own_start(base: Start, own: OwnOptions) -> Start:
    """Return the starting state of one test: ``base``, but for the options of its own that are not None."""
    given = {name: value for name, value in own.items() if value is not None}
    gaps, added = given.pop("gaps", None), given.pop("seed", None)
    values = {name: OPTIONS[name].check(name, value) for name, value in given.items()}
    start = base._replace(added=added, **values)
    return start._replace(behaviour=start.behaviour.replace(**gaps)) if isinstance(gaps, Mapping) else start
