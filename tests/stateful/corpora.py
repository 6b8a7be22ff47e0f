"""The buggy clients of the corpora: each with its maker, its options and a correct client of the same shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pytest
from hypothesis import settings

from petstore_mock.checks import UnknownErrorError
from petstore_mock.stateful import ClientBugError, check_client
from tests.clients import (
    reports_again,
    reports_fresh,
    reports_kept,
    reports_later,
    reports_latest,
    reports_more,
    reports_shown,
    reports_unmet,
    reports_unseen,
    sharing,
    slips,
    surroundings,
)
from tests.clients.buggy_asking import ASKING
from tests.clients.buggy_living import LIVING
from tests.clients.buggy_reading import READING
from tests.clients.correct import make_correct
from tests.clients.lives_kept import KEPT_LIVES
from tests.clients.lives_shown import LIVES
from tests.clients.shapes import SHAPES, AsyncPets, Shaped, by_key, maker_of
from tests.clients.trackers_kept import KEPT
from tests.clients.trackers_shown import SHOWN

EVERYWHERE: Final = ("ipv6", "locale", "proxies", "netrc", "time_zone")
TWINS: Final[dict[Any, Any]] = {
    **reports_shown.TWINS,
    **reports_kept.TWINS,
    **reports_later.TWINS,
    **reports_again.TWINS,
    **reports_more.TWINS,
    **reports_latest.TWINS,
    **reports_unseen.TWINS,
    **reports_fresh.TWINS,
    **reports_unmet.TWINS,
}
NOT_LOOKED_FOR: Final = frozenset(
    {
        # The interface does not require that errors can be pickled, and most clients have errors that can't be pickled.
        "ErrorsDoNotPickle",
        # A cache of the whole class keeps the client alive. The machine does not look into caches.
        "CachedMethod",
        # RFC 9110 §15 lets a client treat an unknown 2xx as 200.
        "OthersAreFine",
        # A client may let a request go on after the call was cancelled, for example to keep its connection.
        "RequestOutlivesCancel",
        # No check looks at cookies.
        "CookiesForAll",
        # A synchronous client may run a loop of its own, and nothing says that it works where another loop runs.
        "LoopInALoop",
        # The machine reads each list to its end.
        "StreamAbandoned",
        # The machine does not look at how the program starts processes.
        "StartMethodSet",
    }
)
# The interface does not limit how long a client waits. Only these options make long waits a bug.
NEEDED_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "SleepsAsLongAsTold": {"longest_wait": 2},
    "WaitsByItsOwnClock": {"longest_wait": 2},
}
# All other bugs show with a plain key too.
NEED_ODD_KEY: Final = frozenset({"KeyLowered", "KeyQuoted"})

# Buggy clients leave sockets, threads and exceptions behind.
LEAVINGS: Final = (
    pytest.mark.usefixtures("leavings"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
)


@dataclass(frozen=True)
class Case:
    """A client of a corpus."""

    client: Any
    make: Callable[[Any], Any]
    correct: Callable[[Any], Any]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.client.__name__)


def correct_like(client: Any) -> Callable[[Any], Any]:
    """Return a maker of correct clients of the same shape."""
    if client in TWINS:
        return cast("Callable[[Any], Any]", maker_of(TWINS[client]))
    if issubclass(client, Shaped):
        return SHAPES["pydantic"][0]
    if issubclass(client, AsyncPets):
        return SHAPES["async"][0]
    return by_key(sharing.OneAtATime) if client in sharing.BUGGY else make_correct("http.client")


def _cases() -> list[Case]:
    options: dict[Any, dict[str, Any]] = {
        **{one: {"environment": EVERYWHERE} for one in surroundings.BUGGY},
        **{one: {"concurrent": True} for one in sharing.BUGGY},
        **reports_later.OPTIONS,
        **reports_again.OPTIONS,
    }
    clients = (
        *ASKING,
        *READING,
        *LIVING,
        *slips.SLIPS,
        *slips.PROGRAM,
        *options,
        *SHOWN,
        *KEPT,
        *LIVES,
        *KEPT_LIVES,
        *TWINS,
    )
    return [
        Case(one, maker_of(one), correct_like(one), options.get(one) or NEEDED_OPTIONS.get(one.__name__, {}))
        for one in clients
        if one.__name__ not in NOT_LOOKED_FOR
    ]


CASES: Final = {case.name: case for case in _cases()}
SETTINGS: Final = settings(database=None, derandomize=True)


def bug_of(make_client: Callable[[Any], Any], **options: Any) -> ClientBugError | None:
    """Check a client with the same examples each time, and return the reported bug."""
    try:
        check_client(make_client, **{"settings": SETTINGS, "first": True, **options})
    except ClientBugError as error:
        return error
    except UnknownErrorError as error:  # caused by the possible bug
        return cast("ClientBugError", error.__cause__)
    return None


def raised_by(bug: ClientBugError, make_client: Callable[[Any], Any], **given: Any) -> BaseException | None:
    """Run the pasted test of a bug with a client, and return the raised error."""
    source = "\n".join(line for line in bug.test.splitlines() if not line.startswith("from tests."))
    names: dict[str, Any] = {"make_client": make_client, **given}
    exec(compile(source, "pasted", "exec"), names)  # the product under test
    try:
        names["test_client"]()
    except Exception as error:  # noqa: BLE001  # make_client may raise anything
        return error
    return None
