"""The machine finds reported bugs of clients in Node, Java and Go, and has no false alarm about correct ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command, command
from tests.peers.tools import NODE_MODULES
from tests.programs import run

__all__ = ["command"]

pytestmark = [pytest.mark.peers, pytest.mark.untraced]

ROOT = Path(__file__).parents[2]
# The rule that each buggy client breaks. tests/clients/ has the reports.
NODE = {
    "UndefinedInQuery": "invalid request",
    "LengthOfText": "invalid request",
    "NoContentType": "invalid request",
    "RoundsArguments": "another animal requested",
    "KeyTakenAlong": "key to another service",
    "PostFollowed": "followed as a read",
    "ProxyForAll": "no request",
    "GzipNotUnpacked": "wrong outcome",
    "RoundsResults": "wrong field",
    "IdsAsText": "wrong field",
    "ChunksDecodedAlone": "wrong field",
    "StatusIgnored": "wrong outcome",
    "AnyTwoHundred": "202 is no success",
    "ParsesBeforeStatus": "wrong meaning",
    "NullForFailure": "wrong outcome",
    "BodyReadTwice": "program error",
    "NoTimeout": "no timeout",
    "TimeoutNotAnOption": "no timeout",
    "TimeoutOfPromise": "program error",
    "PostRetried": "create sent again",
    "RetriesManyTimes": "too many requests",
    "DateIsNoNumber": "retry before Retry-After",
    "DateOfNumber": "retry before Retry-After",
    "BodyConsumed": "program error",
    "KeyInError": "key in an exception",
    "KeyLogged": "key in the output",
    "KeyInWarning": "key in the output",
    "BodyNotConsumed": "connections open",
    "AgentKept": "connections open",
    "ErrorsUnheard": "process ended",
    "PromiseUnheard": "process ended",
    "TimeoutNotCleared": "process ended",
    "CleansUpForEver": "endless loop",
    "CutUnheard": "program error",
    "LockTakenAgain": "program error",
    "TimerKept": "process kept alive",
}
JAVA = {
    "PostRepeated": "create sent again",
    "NoTimeout": "no timeout",
    "KeyInException": "key in an exception",
    "NumbersAreDoubles": "wrong field",
    "IdsAreInts": "another animal requested",
    "UnknownFieldsRefused": "program error",
    "CharsetOfPlatform": "wrong field",
    "PostFollowed": "followed as a read",
    "ThreadKept": "process kept alive",
    "ConnectionsKept": "connections open",
    "PermitKept": "endless wait",
    "InterruptLost": "exception swallowed",
    "OkHttpRetries": "create sent again",
    "OkHttpAsksAgain": "create sent again",
}
GO = {
    "bodyOfErrors": "connections open",
    "bodies": "connections open",
    "retriesEOF": "create sent again",
    "retriesStatus": "create sent again",
    "datesIgnored": "retry before Retry-After",
    "noTimeout": "no timeout",
    "floats": "unknown animal",
    "nullIsPet": "broken body accepted",
    "keyLogged": "key in the output",
    "panics": "process ended",
    "slotLost": "endless wait",
}
# Debian's libokhttp-java.
OKHTTP = [Path("/usr/share/java/okhttp.jar"), Path("/usr/share/java/okio.jar")]
HAS_OKHTTP = all(file.is_file() for file in OKHTTP)
# undici closes the connection for an interim response 100, so fetch fails too. No client can help it.
INTERIM = ("--ignore", "interim response not skipped")
BUGGY = {"node": NODE, "java": JAVA, "go": GO}
CORRECT = {
    "node": ["FetchPets", "UndiciPets", "PoolPets", "HttpPets", "UnpooledPets", "AxiosPets", "GotPets", "RetryingPets"],
    "java": ["Asynchronous", "Blocking", "UrlConnection", "Interruptible", "OkHttpPets"],
    "go": ["plain", "unpooled", "retriesReads", "slots"],
}


def _node(folder: Path) -> list[str]:
    for place in ("adapters/node", "tests/clients/node"):
        shutil.copytree(ROOT / place, folder / place)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    return ["node", str(folder / "tests/clients/node/adapter.mjs")]


def _java(folder: Path) -> list[str]:
    sources = [
        "adapters/java/PetstoreAdapter.java",
        "adapters/java/example/ShopClient.java",
        "tests/clients/java/Clients.java",
    ]
    if HAS_OKHTTP:
        sources.append("tests/clients/java/OkHttpClients.java")
    path = ":".join([str(folder), *map(str, OKHTTP)])
    run("javac", "-cp", path, "-d", str(folder), *(ROOT / source for source in sources))
    return ["java", "-cp", path, "Clients"]


def _go(folder: Path) -> list[str]:
    sources = ("adapters/go/petstore_adapter.go", "adapters/go/example/shop.go", "tests/clients/go/clients.go")
    copies = [shutil.copy(ROOT / source, folder) for source in sources]
    run("go", "build", "-o", str(folder / "clients"), *copies, cwd=folder)
    return [str(folder / "clients")]


PREPARE: dict[str, Callable[[Path], list[str]]] = {"node": _node, "java": _java, "go": _go}
Started = Callable[[str, str], list[str]]


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """Return a function that returns the command of the adapter for a client in a language."""
    commands: dict[str, list[str]] = {}

    def start(language: str, client: str) -> list[str]:
        if shutil.which(language) is None or (language == "node" and not (NODE_MODULES / "undici").is_dir()):
            pytest.skip(f"{language} or its packages are not installed")
        if client.startswith("OkHttp") and not HAS_OKHTTP:
            pytest.skip("OkHttp is not installed")
        if language not in commands:
            commands[language] = PREPARE[language](tmp_path_factory.mktemp(language))
        return [*commands[language], client]

    return start


@pytest.mark.parametrize(
    ("language", "client"), [(language, name) for language, names in CORRECT.items() for name in names]
)
def test_no_false_alarm_about_a_correct_client(
    command: Command, started: Started, language: str, client: str, tmp_path: Path
) -> None:
    options = ("--examples", "30", "--seed", "1", "--scenario", str(tmp_path / "bugs.json"), *INTERIM)
    code, out, error = command("check", *options, "--", *started(language, client))
    assert (code, error) == (0, ""), out


@pytest.mark.parametrize(
    ("language", "client", "rule"),
    [(language, name, rule) for language, rules in BUGGY.items() for name, rule in rules.items()],
)
def test_a_reported_bug_is_found_and_shows_again(
    command: Command, started: Started, language: str, client: str, rule: str, tmp_path: Path
) -> None:
    scenario = str(tmp_path / "bugs.json")
    adapter = started(language, client)
    options = ("--first", "--examples", "15", "--seed", "1", "--scenario", scenario, *INTERIM)
    code, out, error = command("check", *options, "--", *adapter)
    assert (code, error) == (1, "")
    assert f"(rule {rule!r})" in out
    # A date in Retry-After has whole seconds, so a client that is early by less than a second may need several plays.
    plays = 4 if "Retry-After" in rule else 1
    assert any(command("check", "--replay", scenario, "--", *adapter)[0] == 1 for _ in range(plays))
