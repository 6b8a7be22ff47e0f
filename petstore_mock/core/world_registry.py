"""Worlds behind one listener: which one a request belongs to, and which requests leaked from a finished test."""

from __future__ import annotations

import secrets
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import request_line
from petstore_mock.common.real_time import RealTime
from petstore_mock.core import pipeline as service
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.entry import Entry
from petstore_mock.messages.bearer import KEY_TEXT, bearer_key
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import ApiResponse, Head

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from petstore_mock.core.world import World

__all__ = ["Leak", "Worlds", "whose"]

# Around a number, a key of all that a key may consist of: letters of both cases and every mark (RFC 6750 §2.1).
_BEFORE_NUMBER, _AFTER_NUMBER = "Aa-._~+/", "=="
_KEPT_LEAKS: Final = 1000
_KEY_DIGITS_MAX: Final = 18
_NOBODY: Final = "an earlier world"  # who answers for a key that was issued to no test
_UNREAD: Final = "-"  # method and target of a request of which neither is known


@dataclass(frozen=True, slots=True)
class Leak:
    """A request that bore the key of a finished world, or that began in one and never became whole.

    Attributes:
        owner: the test that the world belonged to.
        request: its method and target, keys masked; what is known of it when it has none.
        status: what it was answered.
        bore_key: whether it is told by its key, rather than by when it began.
    """

    owner: str
    request: str
    status: int
    bore_key: bool = True


def whose(owner: str, *, present: bool) -> tuple[str, str]:
    """Return to whom a retired key was issued, and, to be put behind all else, what its client needs.

    Args:
        owner: who answers for the key.
        present: whether that is the present test: then a world of it is over, and not the test.
    """
    needs = "needs a fixed key: set petstore_api_key"
    if present:
        ended = "which ended with its Hypothesis example, its fresh() or a reset()"
        return f"an earlier world of this test, {ended}", f"; a client of several worlds {needs}"
    # A world that is no test's is not the fixture's either, whose setting this is.
    return f"{owner}, which is over", "" if owner == _NOBODY else f"; a client of wider scope than the test {needs}"


@dataclass(frozen=True, slots=True)
class _Epoch:
    """A moment between two resets, as far as a request without a key belongs to it."""

    world: World
    clears: int  # not the world's generation: a restore begins another, but its journal goes on
    owner: str | None


class Worlds:
    """The worlds that share a listener, told apart by their keys. Implements ``transport.handler.Handler``.

    Keys are numbered, so that a retired one is recognised without remembering it: only the number at which each
    test began is kept.
    """

    def __init__(self) -> None:
        self._prefix = f"petstore-{secrets.token_hex(4)}-"  # two processes must not take each other's keys
        self._issued = 0
        self._by_key: dict[str, World] = {}
        self._stack: list[World] = []
        self._owner_starts: list[int] = []
        self._owners: list[str] = []
        self.leaks: list[Leak] = []

    # Keys

    def new_key(self, owner: str | None = None, *, of_all_characters: bool = False) -> str:
        """Return a key that was never issued.

        Args:
            owner: who answers for it once it is retired.
            of_all_characters: whether every kind of character is in it that may be in a key.
        """
        number = self._issued = self._issued + 1  # kept: another world's thread may issue one meanwhile
        if owner is not None and (not self._owners or self._owners[-1] != owner):
            self._owner_starts.append(number)
            self._owners.append(owner)
        key = f"{self._prefix}{number:06d}"
        return f"{_BEFORE_NUMBER}{key}{_AFTER_NUMBER}" if of_all_characters else key

    def check_key(self, key: object) -> str:
        """Return ``key`` if it can be sent as a bearer token and is no other world's.

        Raises:
            PetStoreMockError: it can't (RFC 6750 §2.1), or it is taken. The key itself is not shown.
        """
        if not isinstance(key, str) or not KEY_TEXT.fullmatch(key):
            came = "text with other characters" if isinstance(key, str) else type(key).__name__
            if key == "":
                came = "an empty text"
            raise PetStoreMockError(
                f"expected an API key of letters, digits and -._~+/, with = at its end only (RFC 6750 §2.1); got {came}"
            )
        if key in self._by_key:
            raise PetStoreMockError(
                "expected an API key that no other world behind this listener has; this one is taken"
            )
        return key

    def add_key(self, key: str, world: World) -> None:
        """Let requests that bear ``key`` reach ``world``."""
        self._by_key[key] = world

    def retire(self, world: World, *, but: Sequence[str] = ()) -> None:
        """Let the keys of ``world`` reach no world any more, except those in ``but``."""
        for key in [key for key, other in list(self._by_key.items()) if other is world and key not in but]:
            del self._by_key[key]

    def take_back(self, world: World) -> None:
        """Let the keys that ``world`` has by now reach it again; those that are not its own it has no longer.

        A copy of the state brings back keys that a reset has retired since; but a key of another test, or of another
        world, stays what it is.
        """
        mine = world.owner or _NOBODY
        for key in tuple(world.keys):
            issued_to = self._retired_owner(key)
            if issued_to not in {None, mine} or self._by_key.setdefault(key, world) is not world:
                del world.keys[key]

    def _retired_owner(self, key: str) -> str | None:
        if key.startswith(_BEFORE_NUMBER) and key.endswith(_AFTER_NUMBER):
            key = key[len(_BEFORE_NUMBER) : -len(_AFTER_NUMBER)]
        number = key.removeprefix(self._prefix)
        # A client may have made its key up: int() of thousands of digits raises, and none but our spelling was issued.
        if number == key or len(number) > _KEY_DIGITS_MAX or not number.isdecimal():
            return None
        if number != f"{int(number):06d}" or not 1 <= int(number) <= self._issued:
            return None
        index = bisect_right(self._owner_starts, int(number)) - 1
        return self._owners[index] if index >= 0 else _NOBODY

    # The stack of current worlds

    @property
    def current(self) -> World:
        """The innermost current world: requests with an unknown key or none belong to it."""
        return self._stack[-1]

    def guests(self, host: World) -> list[World]:
        """Return the worlds of the owner of ``host`` inside it that are not over."""
        return [world for world in tuple(self._stack) if world.owner == host.owner and world is not host]

    def let_go(self) -> None:
        """Let every answer go that any of the worlds holds."""
        for world in tuple(self._stack):
            world.let_go()

    def push(self, world: World) -> None:
        """Make ``world`` the current one."""
        self._stack.append(world)

    def begin_test(self, world: World) -> None:
        """Make ``world``, which has got an owner, the current one, but for those that this owner has inside it.

        Those of earlier owners, as a fixture of wider scope keeps one, are asked by their own keys alone: else what a
        test sends without a key would depend on which tests ran before it.
        """
        mine = self.guests(world)
        others = [other for other in self._stack if other is not world and other not in mine]
        self._stack = [*others, world, *mine]  # at once: the listener's thread looks at it

    def remove(self, world: World) -> None:
        """End ``world``: its keys are retired, its held answers let go."""
        self._stack.remove(world)
        self.retire(world)
        world.reset(())

    # transport.handler.Handler

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer a whole request on the world whose key it bears, else on the current one."""
        key, problem = bearer_key(request.fields)
        world = self._by_key.get(key) if key is not None else None
        if world is None:
            world = self._stack[-1]
            if key is not None:
                owner = self._retired_owner(key)
                if owner is not None:
                    return self._leaked(world, request, owner)
                problem = "unknown_key"
        with world.lock:
            if key is not None and not problem and key not in world.keys:  # retired since the look-up above
                return self._leaked(world, request, self._retired_owner(key) or _NOBODY)
            return service.handle(world, request, key, problem)

    def _leaked(self, world: World, request: ApiRequest, owner: str) -> ApiResponse:
        name, advice = whose(owner, present=any(one.owner == owner for one in tuple(self._stack)))
        response = service.answer_retired(world, f"it was issued to {name}{advice}", request)
        self._note_leak(Leak(owner, _shown(request), response.status))
        return response

    def _note_leak(self, leak: Leak) -> None:
        if len(self.leaks) < _KEPT_LEAKS:
            self.leaks.append(leak)

    def _world_of(self, request: ApiRequest) -> tuple[World, str | None, str]:
        key, problem = bearer_key(request.fields)
        world = self._by_key.get(key) if key is not None else None
        return (world, key, problem) if world is not None else (self._stack[-1], None, problem or "unknown_key")

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say from its head whether a request's body is worth reading."""
        world, key, problem = self._world_of(request)
        return service.admits(world, request, key, problem, length)

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body that a request may have, in bytes (gap ``body_limit``)."""
        return self._world_of(request)[0].rules.policies.body_limit()

    def epoch(self) -> _Epoch:
        """Return to whom a request belongs that begins now, should it never show a key."""
        world = self._stack[-1]
        return _Epoch(world, world.journal.clears, world.owner)

    def refuse(
        self, condition: str, detail: str, request: ApiRequest | None, epoch: _Epoch | None = None
    ) -> ApiResponse:
        """Answer what never became a request; without a key it belongs to where it began, if ``epoch`` says so."""
        known = request if request is not None else ApiRequest(_UNREAD, _UNREAD)
        world, key, _ = self._world_of(known)
        owner = self._leaker(known)
        if owner is not None and condition != "internal_error":  # a failure of ours is this session's, whoever met it
            return self._leaked(world, known, owner)
        if epoch is None or key is not None:
            return service.refuse(world, condition, detail, known)
        with epoch.world.lock:
            if epoch.world.journal.clears == epoch.clears:
                return service.refuse(epoch.world, condition, detail, known)
        response = service.refuse_leftover(world, condition, detail, known)
        if epoch.owner is not None:
            unread = f"a request without a readable head ({condition})"
            shown = unread if known.method == _UNREAD else _shown(known)
            self._note_leak(Leak(epoch.owner, shown, response.status, bore_key=False))
        return response

    def _leaker(self, request: ApiRequest) -> str | None:
        """Return who answers for the key that ``request`` bears, if it is a retired one."""
        key, _ = bearer_key(request.fields)
        return None if key is None or key in self._by_key else self._retired_owner(key)

    def neighbour_came(self, request: ApiRequest) -> Callable[[int, Sequence[tuple[str, str]], bytes], bytes]:
        """Take note of a request that an expectation of ``httpserver`` answers; return what is told the answer.

        It belongs to the test in which it came, however late its handler answers: that is no doing of the client's.
        """
        world, key, _ = self._world_of(request)
        owner = self._leaker(request)
        with world.lock:
            if owner is None and key is not None and key not in world.keys:  # retired since the look-up above
                owner = self._retired_owner(key) or _NOBODY
            entry = Entry(world.journal.total + 1, world.owner, request, world.clock.now())
            entry.neighbour = True
            if owner is None:
                world.journal.add(entry)

        def answered(status: int, fields: Sequence[tuple[str, str]], body: bytes) -> bytes:
            if owner is not None:
                self._note_leak(Leak(owner, _shown(request), status))
            with world.lock:
                date = world.clock.http_date()
                entry.answered(ApiResponse(Head(status, fields), body, date))
                entry.duration = RealTime.perf_counter() - request.started
                world.journal.weigh_again(entry)
            return date

        return answered


def _shown(request: ApiRequest) -> str:
    return request_line(request.method, request.target, request.credentials)
