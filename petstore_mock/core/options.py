"""The table of options. Python, the command line, pytest and the control door read their options here.

A row is an option at some places:

- ``world`` and ``listener`` are keywords of ``PetStoreMock``.
- ``fixture`` are keywords in ``petstore_options``.
- ``setting`` are ``petstore_NAME`` in the settings file of pytest, and variables of the environment.
- ``marker`` are keywords of ``@pytest.mark.petstore``.
- ``door`` are members of ``PUT world``.
- ``serve`` and ``verify`` are options of these commands.

A name has several rows if its value differs between places. ``OPTIONS`` has the first one.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, cast

from petstore_mock.common.dates import moment_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import one_of, refuse, require, require_names, shown
from petstore_mock.common.suggesting import did_you_mean, nearest
from petstore_mock.common.values import by_name, is_integer, is_number, shown_url, variable_of, without_none
from petstore_mock.http.credentials import KEY_TEXT

if TYPE_CHECKING:
    from datetime import date, datetime

    from petstore_mock.interface.behaviour import Behaviour

Place = Literal["world", "listener", "serve", "verify", "fixture", "setting", "marker", "door"]
Seed = int | str | PathLike[str] | Iterable[Mapping[str, object]]

MAX_WORLDS: Final = 10_000
KEPT_REQUESTS: Final = 1_000  # in each world at /w/NAME: a test needs only its own few requests
MOST_PETS: Final = 1_000_000  # in one seed

# Kubernetes sets the excluded variables in each pod if a service has the name petstore-mock.
_PREFIXED: Final = re.compile(r"PETSTORE_MOCK_(?!SERVICE_(HOST|PORT)|PORT_\d)")
_COUNT: Final = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
_YES: Final = ("true", "yes", "on", "1")
_NO: Final = ("false", "no", "off", "0")
FLAG_WORDS: Final = "true or false, yes or no, on or off, 1 or 0"
_LOG_FORMATS: Final = ("text", "json")


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


Check = Callable[[str, Any], object]


def _instance(kind: type, words: str) -> Check:
    def check(name: str, value: object) -> object:
        require(isinstance(value, kind), words, **{name: value})
        return value

    return check


def _whole(words: str, least: float = -math.inf, most: float = math.inf) -> Check:
    def check(name: str, value: object) -> object:
        require(is_integer(value) and least <= value <= most, words, **{name: value})
        return value

    return check


def _seconds(name: str, value: object) -> object:
    if value is not None:
        require(is_number(value) and value > 0, "a positive number of seconds", **{name: value})
    return value


def _any(_: str, value: object) -> object:
    """Return a value that the code checks where it uses it."""
    return value


def _log_format(_: str, value: object) -> str:
    return one_of(value, _LOG_FORMATS, "format")


def _moment(name: str, value: str | date | None) -> float | None:
    if value is None:
        return None
    return moment_of(value, name)


def _behaviour(_: str, value: object) -> Behaviour:
    from petstore_mock.interface.behaviour import as_behaviour  # an unused plugin must not load the gaps

    return as_behaviour(value)


def _mutant(_: str, value: object) -> object:
    if value is None:
        return value
    from petstore_mock.core.mutants import mutants  # as above

    if value not in [*mutants()]:
        refuse(f"expected the name of a mutant; got mutant={shown(value)}{did_you_mean(value, mutants())}")
    return value


# A number of animals, or the path of a file.
_READ_LATER: Final[tuple[type, ...]] = (int, str, PathLike)


def _seed(_: str, value: object) -> object:
    """Return the animals of an iterable as a list. Each world reads them again, and a generator can be read once."""
    if value is None or isinstance(value, _READ_LATER):
        return cast("Any", value)
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


def checked_keys(_: str, keys: tuple[object, ...]) -> tuple[str, ...]:
    """Return the fixed keys of a world. The error does not show them."""
    texts: list[str] = []
    for key in keys:
        if not isinstance(key, str) or KEY_TEXT.fullmatch(key) is None:
            refuse("expected an API key of letters, digits and -._~+/, with = at its end only (RFC 6750 §2.1)")
        texts.append(key)
    require(len({*texts}) == len(texts), "each API key once", keys=len(texts))
    return tuple(texts)


def _date(name: str, value: str) -> str:
    # The world parses the text itself.
    _moment(name, value)
    return value


def _address(name: str, value: str) -> str:
    from petstore_mock.interface.table import BASE_PATH  # an unused plugin must not load the table
    from petstore_mock.journal.exchange import is_base_url  # as above

    require(is_base_url(value), "an address such as https://ci.example/petstore", **{name: shown_url(value)})
    return value.rstrip("/").removesuffix(BASE_PATH)


def _origins(name: str, value: object) -> tuple[str, ...]:
    """Return the origins of an iterable, or of the text of a setting."""
    from petstore_mock.http.cors import ANY, check_origin  # an unused plugin must not load the responses

    origins = value.replace(",", " ").split() if isinstance(value, str) else value
    if not is_array(origins):
        refuse(f"expected an origin, or a list of origins; got {name}={shown(value)}")
    for origin in origins:
        require(isinstance(origin, str), "an origin, or a list of origins", **{name: value})
        if origin != ANY:
            check_origin(name, origin)
    return tuple(origins)


def _choices(name: str, texts: tuple[str, ...]) -> Mapping[str, str]:
    from petstore_mock.interface.behaviour import choices_of  # an unused plugin must not load the gaps

    return choices_of(name, texts)


# Readers of text


def flag_of(text: str) -> bool:
    word = text.strip().lower()
    require(word in {*_YES, *_NO}, FLAG_WORDS, value=text)
    return word in _YES


def number_of(text: str) -> int:
    require(_COUNT.fullmatch(text), "a whole number", value=text)
    return int(text)


def seed_of(text: str) -> int | Path:
    if _COUNT.fullmatch(text):
        return int(text)
    return Path(text)


def seconds_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        refuse(f"expected a number of seconds; got {shown(text)}")


# The table


@dataclass(frozen=True, slots=True)
class Option:
    """An option at some places.

    Attributes:
        name: the Python keyword; ``--name`` and ``petstore_name`` follow from it.
        words: its description in help texts.
        places: the names of the places where it applies.
        group: the heading above it in help texts.
        default: its value if nothing sets it. The user may repeat an option whose default is a tuple.
        check: takes a value from Python or JSON, and returns the value that the program uses.
        parse: reads a value from text.
        schema: the JSON Schema of its value at the door.
        alternatives: the texts that it allows, the default first.
        metavar: a short name of its value in help texts.
    """

    name: str
    words: str
    places: str
    group: str = ""
    default: Any = None
    check: Check = _any
    parse: Callable[[str], object] = str
    schema: Mapping[str, object] | None = None
    alternatives: tuple[str, ...] = ()
    metavar: str = "TEXT"

    @property
    def is_flag(self) -> bool:
        return self.parse is flag_of

    @property
    def is_repeated(self) -> bool:
        return isinstance(self.default, tuple)


_TEXT: Final = _instance(str, "text")
_WHOLE: Final = _whole("a whole number")
_PORT: Final = _whole("a port from 0 to 65535", 0, 65535)
_WORLDS: Final = _whole("a number of worlds of at least 0", 0)
_REQUESTS: Final = _whole("a number of requests of at least 1", 1)

_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_KEY_RULES: Final = {**_TEXT_OR_NULL, "pattern": "^[A-Za-z0-9._~+/-]+=*$"}
_PETS: Final = {"type": "array", "items": {"$ref": "#/components/schemas/NewAnimal"}, "maxItems": MOST_PETS}
_SEED_RULES: Final = {"anyOf": [_PETS, {"type": "integer", "minimum": 0, "maximum": MOST_PETS}, {"type": "null"}]}
_CHOICE: Final = {"$ref": "#/components/schemas/BehaviourChoice"}
_BOOLEAN: Final = {"type": "boolean"}
_INTEGER: Final = {"type": "integer"}

_flag: Final = partial(Option, default=False, check=_instance(bool, "True or False"), parse=flag_of)

# The headings of help texts.
_LISTENER: Final = "listener"
_START: Final = "starting state"
_WORLD_LIMITS: Final = "worlds"
_DOOR: Final = "control door"
_TLS: Final = "TLS"
_LOG: Final = "log"

_ROWS: Final = (
    Option(
        "host",
        "The address to listen on",
        "listener serve fixture setting",
        _LISTENER,
        default="127.0.0.1",
        check=_TEXT,
        metavar="HOST",
    ),
    Option(
        "port",
        "The port to listen on; 0 takes a free one",
        "listener fixture setting",
        default=0,
        check=_PORT,
        parse=number_of,
    ),
    Option(
        "port",
        "The port to listen on; 0 takes a free one",
        "serve",
        _LISTENER,
        default=8080,
        check=_PORT,
        parse=number_of,
        metavar="PORT",
    ),
    Option(
        "public_url",
        "The public address of the stub behind a proxy, without /v1",
        "serve",
        _LISTENER,
        default="",
        check=_address,
        metavar="URL",
    ),
    Option(
        "cors",
        "An origin whose pages may use the service in a browser (CORS); * for any",
        "listener serve fixture setting",
        _LISTENER,
        default=(),
        check=_origins,
        metavar="ORIGIN",
    ),
    # The starting state of a world
    Option("api_key", "A fixed valid API key", "world fixture setting door", schema=_KEY_RULES),
    Option("api_key", "A fixed valid API key", "serve", _START, default=(), check=checked_keys, metavar="KEY"),
    Option(
        "seed",
        "The animals of the starting state: a number of them, or a JSON file with an array of them",
        "world serve fixture setting marker door",
        _START,
        check=_seed,
        parse=seed_of,
        schema=_SEED_RULES,
        metavar="N|FILE",
    ),
    Option(
        "behaviour",
        "The fake's choice for each gap of the interface: a preset or a TOML file",
        "world serve fixture setting marker door",
        _START,
        check=_behaviour,
        schema=_CHOICE,
        metavar="NAME|FILE",
    ),
    Option(
        "set",
        "Choose an alternative, as GAP=VALUE (see 'petstore-mock gaps')",
        "serve",
        _START,
        default=(),
        check=_choices,
        metavar="GAP=VALUE",
    ),
    Option("at", "The fake's date at its start", "world fixture marker door", check=_moment, schema=_TEXT_OR_NULL),
    Option("at", "The fake's date at its start", "serve", _START, check=_date, metavar="DATE"),
    _flag(
        "strict",
        "Whether a contract violation by the client fails the test",
        "world fixture setting marker door",
        schema=_BOOLEAN,
    ),
    Option(
        "random_seed",
        "The seed of random ids, list orders, delays and probabilities",
        "world fixture door",
        default=0,
        check=_WHOLE,
        parse=number_of,
        schema=_INTEGER,
    ),
    Option(
        "mutant", "The name of a mutant, which breaks one clause", "world door", check=_mutant, schema=_TEXT_OR_NULL
    ),
    # Worlds
    Option(
        "max_worlds",
        "The maximum number of worlds at /w/NAME",
        "serve",
        _WORLD_LIMITS,
        default=MAX_WORLDS,
        check=_WORLDS,
        parse=number_of,
        metavar="N",
    ),
    Option(
        "world_ttl",
        "End a world at /w/NAME after this many seconds without a request",
        "serve",
        _WORLD_LIMITS,
        check=_seconds,
        parse=seconds_of,
        metavar="SECONDS",
    ),
    Option(
        "keep_requests",
        "The number of requests that the journal of each world keeps",
        "serve",
        _WORLD_LIMITS,
        default=KEPT_REQUESTS,
        check=_REQUESTS,
        parse=number_of,
        metavar="N",
    ),
    # The control door
    _flag("control", "Open the control door", "listener serve fixture setting", _DOOR),
    _flag("no_control", "Close the control door", "serve", _DOOR),
    Option("control_token", "Open the control door to requests with this token", "serve", _DOOR, metavar="TOKEN"),
    Option(
        "control_port",
        "Serve the control door on this port, without TLS",
        "serve",
        _DOOR,
        check=_PORT,
        parse=number_of,
        metavar="PORT",
    ),
    Option(
        "allowed_host",
        "Another Host value that the control door accepts on loopback",
        "serve",
        _DOOR,
        default=(),
        metavar="HOST",
    ),
    Option(
        "allowed_origin",
        "An origin whose pages use the control door through a proxy",
        "serve",
        _DOOR,
        default=(),
        metavar="ORIGIN",
    ),
    # TLS
    _flag("tls", "Whether to listen with TLS; needs the extra tls", "listener serve fixture setting", _TLS),
    Option(
        "tls_cert",
        "Listen with TLS and this certificate (PEM, with its chain)",
        "serve",
        _TLS,
        metavar="FILE",
    ),
    Option(
        "tls_key",
        "The private key of that certificate (PEM), if it is in another file",
        "serve",
        _TLS,
        metavar="FILE",
    ),
    Option(
        "tls_host",
        "Another name for the stub's own certificate, such as a container's name",
        "serve",
        _TLS,
        default=(),
        metavar="NAME",
    ),
    Option(
        "tls_ca_out",
        "Write the certificate authority of the stub to this file, for clients",
        "serve",
        _TLS,
        metavar="FILE",
    ),
    # The log
    _flag("quiet", "Do not log requests", "serve", _LOG),
    Option(
        "log_format",
        "The format of the output",
        "serve",
        _LOG,
        default="text",
        check=_log_format,
        alternatives=_LOG_FORMATS,
    ),
    # The pytest plugin
    Option("remote", "The address of a remote stub that the fixture controls", "setting"),
    Option("remote_token", "The control token of that stub", "setting"),
    Option(
        "leaks",
        "How to report requests of finished tests",
        "setting",
        default="error",
        alternatives=("error", "warn", "ignore"),
    ),
    Option(
        "deprecations",
        "How to report calls of deprecated operations",
        "setting",
        default="warn",
        alternatives=("warn", "ignore"),
    ),
    # petstore-mock verify and learn. Their defaults are those of petstore_mock.verify.verify().
    Option(
        "allow_create",
        "the largest number of animals to create; no operation can delete them; 0 sends only GET",
        "verify",
        metavar="N",
    ),
    Option("rate", "the largest number of requests per second", "verify", metavar="N"),
    Option("max_requests", "the largest number of requests", "verify", metavar="N"),
    Option("timeout", "the time for a whole response", "verify", metavar="SECONDS"),
    Option("deadline", "the time for the whole run", "verify", metavar="SECONDS"),
    Option(
        "receipt",
        "append a line to this file for each animal that was or may have been created",
        "verify",
        metavar="FILE",
    ),
    Option("behaviour", "the recorded choices; other choices are reported as drift", "verify", metavar="FILE.toml"),
    Option("cert", "a PEM file with a client certificate, for a service that asks for one", "verify", metavar="FILE"),
    Option("cert_key", "a PEM file with its private key, without a password", "verify", metavar="FILE"),
)

OPTIONS: Final = {row.name: row for row in reversed(_ROWS)}


def options_at(place: Place) -> Mapping[str, Option]:
    return by_name(option for option in _ROWS if place in option.places.split())


def misspelt_variables() -> Iterator[str]:
    """Yield a line for each environment variable whose name resembles that of an option."""
    known = [variable_of(name) for name in {**options_at("serve"), **options_at("setting")}]
    for name in filter(_PREFIXED.match, os.environ):
        meant = nearest(name, known)
        if meant not in {None, name}:
            yield f"unknown environment variable {name}; did you mean {meant}?"


def checked(given: Mapping[str, object], place: Place) -> dict[str, Any]:
    """Return the options of a place with values or defaults. The error for an unknown name suggests a known one."""
    known = options_at(place)
    require_names(given, known, f"an option of the {place}")
    return {name: option.check(name, given.get(name, option.default)) for name, option in known.items()}


def start_of(given: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Start:
    """Return the starting state of a world with the given options. ``keys`` are its keys if ``api_key`` is None."""
    values = checked(given, "world")
    api_key = values.pop("api_key")
    if api_key is not None:
        keys = (api_key,)
    return Start(keys=keys, **values)


def own_start(base: Start, own: Mapping[str, Any]) -> Start:
    """Return ``base`` with one test's options that are set. ``gaps`` override its behaviour, ``seed`` adds animals."""
    chosen = without_none(own)
    gaps = chosen.pop("gaps", {})
    added = chosen.pop("seed", None)
    values: dict[str, Any] = {name: OPTIONS[name].check(name, value) for name, value in chosen.items()}
    start = base._replace(added=added, **values)
    if gaps:
        start = start._replace(behaviour=start.behaviour.replace(gaps))
    return start
