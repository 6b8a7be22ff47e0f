"""The table of options. ``PetStoreMock``, ``serve``, the fixture and the control door read their options from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, cast

from petstore_mock.common.dates import moment_of
from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import did_you_mean, refuse, require, shown
from petstore_mock.common.values import is_integer, is_number

if TYPE_CHECKING:
    from datetime import date, datetime

    from petstore_mock.interface.behaviour import Behaviour

Place = Literal["world", "listener", "serve", "fixture", "marker", "door"]  # where an option applies
Seed = int | str | PathLike[str] | Iterable[Mapping[str, Any]]

MAX_WORLDS: Final = 10_000
KEPT_REQUESTS: Final = 1_000  # in each world at /w/NAME: a test needs only its own few requests
MOST_PETS: Final = 1_000_000  # in one seed

_COUNT: Final = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
_YES: Final = ("true", "yes", "on", "1")
_NO: Final = ("false", "no", "off", "0")
FLAG_WORDS: Final = "true or false, yes or no, on or off, 1 or 0"


class WorldOptions(TypedDict, total=False):
    """The options of a world: those of ``PetStoreMock`` without the options of its listener."""

    api_key: str | None
    seed: Seed | None
    behaviour: Behaviour | Mapping[str, str] | str | PathLike[str] | None
    at: str | date | datetime | None
    strict: bool
    random_seed: int
    mutant: str | None


class Start(NamedTuple):
    """The checked starting state of a world. ``added`` is the further seed of the current test."""

    behaviour: Behaviour
    keys: tuple[str, ...] = ()
    seed: Seed | None = None
    at: float | None = None
    strict: bool = False
    random_seed: int = 0
    mutant: str | None = None
    added: Seed | None = None


# Checks: each takes a value from Python or JSON, and returns the value that the program uses


def _check(accepts: Callable[[Any], bool], words: str) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:  # noqa: ANN401  # checks take whatever a test passes
        require(accepts(value), words, **{name: value})
        return value

    return check


def _moment(name: str, value: Any) -> float | None:  # noqa: ANN401
    return None if value is None else moment_of(value, name)


def _behaviour(_: str, value: Any) -> Behaviour:  # noqa: ANN401
    from petstore_mock.interface.behaviour import as_behaviour  # noqa: PLC0415  # an unused plugin must not load the gaps

    return as_behaviour(value)


def _mutant(_: str, value: Any) -> Any:  # noqa: ANN401
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # as above

    if value is not None and value not in [*MUTANTS]:
        refuse(f"expected the name of a mutant; got mutant={shown(value)}{did_you_mean(value, MUTANTS)}")
    return value


def _seed(_: str, value: Any) -> Any:  # noqa: ANN401
    """Return the animals of an iterable as a list. Each world reads them again, and a generator can be read once."""
    if value is None or isinstance(value, (int, str, PathLike)):
        return value
    return read_animals(value)


def read_animals(pets: object) -> list[object]:
    """Return the animals of an iterable. It may be a generator that asks the fake, so hold no lock of a world.

    Raises:
        PetStoreMockError: the value is no iterable of animals, or it has too many of them.
    """
    if not hasattr(pets, "__iter__") or is_object(pets) or isinstance(pets, (str, bytes)):
        refuse(f"expected a list or a number of animals as the seed; got {shown(pets)}")
    animals: list[object] = []
    for animal in cast("Iterable[object]", pets):
        if len(animals) == MOST_PETS:
            refuse(f"expected at most {MOST_PETS:,} animals as the seed; got one more")
        animals.append(dict(animal) if is_object(animal) else animal)
    return animals


# Readers of text


def flag_of(text: str) -> bool:
    word = text.strip().lower()
    require(word in {*_YES, *_NO}, FLAG_WORDS, value=text)
    return word in _YES


def number_of(text: str) -> int:
    require(_COUNT.fullmatch(text), "a whole number", value=text)
    return int(text)


def seed_of(text: str) -> int | Path:
    return int(text) if _COUNT.fullmatch(text) else Path(text)


def seconds_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        refuse(f"expected a number of seconds; got {shown(text)}")


# The table


@dataclass(frozen=True, slots=True)
class Option:
    name: str  # the Python keyword; ``--name`` and ``petstore_name`` follow from it
    words: str  # its description in help texts
    check: Callable[[str, Any], Any]  # takes a value from Python or JSON, and returns the one that is used
    places: str  # the names of the places where it applies
    default: Any = None
    parse: Callable[[str], Any] = str  # reads a value from text
    schema: Mapping[str, Any] | None = None  # the schema of its value at the door

    @property
    def is_flag(self) -> bool:
        return self.parse is flag_of


_ANY: Final = _check(lambda _: True, "")  # the world checks the value
_FLAG: Final = _check(lambda value: isinstance(value, bool), "True or False")
_TEXT: Final = _check(lambda value: isinstance(value, str), "text")
_WHOLE: Final = _check(is_integer, "a whole number")
_PORT: Final = _check(lambda value: is_integer(value) and 0 <= value <= 65535, "a port from 0 to 65535")
_WORLDS: Final = _check(lambda value: is_integer(value) and value >= 0, "a number of worlds of at least 0")
_REQUESTS: Final = _check(lambda value: is_integer(value) and value >= 1, "a number of requests of at least 1")
_SECONDS: Final = _check(
    lambda value: value is None or (is_number(value) and value > 0), "a positive number of seconds"
)

_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_KEY_RULES: Final = {**_TEXT_OR_NULL, "pattern": "^[A-Za-z0-9._~+/-]+=*$"}
_PETS: Final = {"type": "array", "items": {"$ref": "#/components/schemas/NewAnimal"}, "maxItems": MOST_PETS}
_SEED_RULES: Final = {"anyOf": [_PETS, {"type": "integer", "minimum": 0, "maximum": MOST_PETS}, {"type": "null"}]}
_CHOICE: Final = {"$ref": "#/components/schemas/BehaviourChoice"}
_SEED_WORDS: Final = "The animals of the starting state: a number of them, or a JSON file with an array of them"
_BEHAVIOUR_WORDS: Final = "The fake's choice for each gap of the interface: a preset or a TOML file"
_STRICT_WORDS: Final = "Whether a contract violation by the client fails the test"
_RANDOM_WORDS: Final = "The seed of random ids, list orders, delays and probabilities"
_TTL_WORDS: Final = "End a world at /w/NAME after this many seconds without a request"
_KEEP_WORDS: Final = "The number of requests that the journal of each world keeps"
_OFF: Final = False

_ROWS: Final = (
    Option("host", "The address to listen on", _TEXT, "listener serve fixture", "127.0.0.1"),
    Option("port", "The port to listen on; 0 takes a free one", _PORT, "listener serve fixture", 0, number_of),
    Option("api_key", "A fixed valid API key", _ANY, "world serve fixture door", schema=_KEY_RULES),
    Option("seed", _SEED_WORDS, _seed, "world serve fixture marker door", None, seed_of, _SEED_RULES),
    Option("behaviour", _BEHAVIOUR_WORDS, _behaviour, "world serve fixture marker door", schema=_CHOICE),
    Option("at", "The fake's date at its start", _moment, "world serve fixture marker door", schema=_TEXT_OR_NULL),
    Option("strict", _STRICT_WORDS, _FLAG, "world fixture marker door", _OFF, flag_of, {"type": "boolean"}),
    Option("random_seed", _RANDOM_WORDS, _WHOLE, "world fixture door", 0, number_of, {"type": "integer"}),
    Option("mutant", "The name of a mutant, which breaks one clause", _mutant, "world door", schema=_TEXT_OR_NULL),
    Option("control", "Open the control door", _FLAG, "listener serve fixture", _OFF, flag_of),
    Option("tls", "Whether to listen with TLS; needs the extra tls", _FLAG, "listener serve fixture", _OFF, flag_of),
    Option("max_worlds", "The maximum number of worlds at /w/NAME", _WORLDS, "serve", MAX_WORLDS, number_of),
    Option("world_ttl", _TTL_WORDS, _SECONDS, "serve", None, seconds_of),
    Option("keep_requests", _KEEP_WORDS, _REQUESTS, "serve", KEPT_REQUESTS, number_of),
)

OPTIONS: Final[Mapping[str, Option]] = {option.name: option for option in _ROWS}


def options_at(place: Place) -> dict[str, Option]:
    return {name: option for name, option in OPTIONS.items() if place in option.places.split()}


def checked(given: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return the options of a place with values or defaults. The error for an unknown name suggests a known one."""
    known = options_at(place)
    for name in given:
        if name not in known:
            refuse(f"expected an option of the {place}: {', '.join(known)}; got {name}{did_you_mean(name, known)}")
    return {name: option.check(name, given.get(name, option.default)) for name, option in known.items()}


def start_of(given: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Start:
    """Return the starting state of a world with the given options. ``keys`` are its keys if ``api_key`` is None."""
    values = checked(given, "world")
    api_key = values.pop("api_key")
    return Start(keys=keys if api_key is None else (api_key,), **values)


def own_start(base: Start, own: Mapping[str, Any]) -> Start:
    """Return ``base`` with one test's options that are set. ``gaps`` override its behaviour, ``seed`` adds animals."""
    given = {name: value for name, value in own.items() if value is not None}
    gaps, added = given.pop("gaps", {}), given.pop("seed", None)
    values = {name: OPTIONS[name].check(name, value) for name, value in given.items()}
    behaviour: Behaviour = values.pop("behaviour", base.behaviour)
    return base._replace(added=added, behaviour=behaviour.replace(gaps) if gaps else behaviour, **values)
