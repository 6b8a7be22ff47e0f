"""Worlds behind one listener: which one a request belongs to, and which requests leaked from a world that is over.

A request to ``/w/NAME`` belongs to the world of that name; at the root, to the world whose key it bears, else to the
current one. So tests of any language can run side by side: each has its world, and none meets another's.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from petstore_mock.common.bounded import Firsts
from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.common.masking import cut, request_line
from petstore_mock.common.real_time import RealTime
from petstore_mock.core import pipeline
from petstore_mock.core.keys import KeyIndex
from petstore_mock.core.routing import CLOSED, door_hint, has_route
from petstore_mock.core.world import World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.kinds import HandshakeFault
from petstore_mock.journal.entry import Entry
from petstore_mock.messages.bearer import KEY_TEXT
from petstore_mock.messages.handshake import Handshake
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.core.cors import Cors
    from petstore_mock.core.keys import Key
    from petstore_mock.messages.deferred import DeferredResponse
    from petstore_mock.messages.response import Head

__all__ = ["DEFAULT_WORLD", "Leak", "Worlds", "check_name", "whose"]

DEFAULT_WORLD: Final = "default"  # the name of the world at the root

# Around a number, a key of all that a key may consist of: letters of both cases and every mark (RFC 6750 §2.1).
_BEFORE_NUMBER, _AFTER_NUMBER = "Aa-._~+/", "=="
_KEPT_LEAKS: Final = 1000
_KEY_DIGITS_MAX: Final = 18
_NOBODY: Final = "an earlier world"  # who answers for a key that was issued to no test
_UNREAD: Final = "-"  # method and target of a request of which neither is known
_BY_ADDRESS: Final = ("/w/", "/%77/")  # RFC 3986 §6.2.2.2: the same path, written in another way
_LONGEST_NAME: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9._~-]+", re.ASCII)  # RFC 3986 §2.3: what needs no encoding in a path
_REFUSED_NAMES: Final = frozenset({".", "..", DEFAULT_WORLD})  # a client takes the first two out of a path (§5.2.4)
_KEPT_ADDRESSES: Final = 4096  # as many as there are known heads; a fuzzer must not fill the memory
_KEPT_ADDRESS: Final = 512  # characters
REMEMBERED: Final = 100_000  # names and keys of worlds that are over, each; a stub may run for months


def check_name(name: str) -> str:
    """Return ``name`` if a world can have it.

    Raises:
        PetStoreMockError: it can't.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME or name in _REFUSED_NAMES:
        came = repr(name) if len(name) <= _LONGEST_NAME else f"one of {len(name)} characters"
        raise PetStoreMockError(
            f"expected a name of 1 to {_LONGEST_NAME} letters, digits, '.', '_', '~' and '-', other than '.', '..' and "
            f"{DEFAULT_WORLD!r}; got name={came}"
        )
    return name


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
    clears: int  # a restore goes back too, but its journal goes on
    owner: str | None


@dataclass(frozen=True, slots=True)
class _Unknown:
    """An address that leads to no world: of one that is over, or that never was."""

    condition: str
    detail: str
    owner: str | None  # the name of the world that is over


class Worlds:
    """The worlds that share a listener, told apart by address or by key. Implements ``transport.handler.Handler``.

    Issued keys are numbered, so that a retired one is recognised without remembering it: only the number at which each
    test began is kept.

    Args:
        cors: which pages of other origins may use the service; None for none.
        tls: whether the listener speaks TLS.

    Attributes:
        keys: the keys of all of them.
        named: those that have an address ``/w/NAME``, by name.
        leaks: the first requests that bore a key, or went to the address, of a world that is over.
        tls: whether the listener speaks TLS.
        own_certificate: whether it does so under a certificate of the user's own, of which nobody can make a wrong one.
        renew_connections: closes the listener's kept connections, those that are busy after their answer.
        has_door: whether a control door makes worlds here.
        leaked: called with each leak, in the listener's thread; it must be quick.
    """

    def __init__(self, cors: Cors | None = None, *, tls: bool = False) -> None:
        self._cors = cors
        self.tls = tls
        self.own_certificate = False
        self.has_door = False
        self.renew_connections: Callable[[], None] = _nothing_to_renew
        self._prefix = f"petstore-{secrets.token_hex(4)}-"  # two processes must not take each other's keys
        self._issued = 0
        self.keys = KeyIndex()
        self._given: dict[str, str] = {}  # retired keys that were not issued here, and whose they were
        self.named: dict[str, World] = {}
        self._ended: dict[str, None] = {}  # names of worlds that are over
        self._addresses: dict[str, tuple[str, str, str]] = {}
        self._stack: list[World] = []
        self._owner_starts: list[int] = []
        self.owners: list[str] = []
        self.leaks: Firsts[Leak] = Firsts(_KEPT_LEAKS)
        self.leaked: Callable[[Leak], None] = _unheard

    # Keys

    def new_key(self, owner: str | None = None, *, of_all_characters: bool = False) -> str:
        """Return a key that was never issued.

        Args:
            owner: who answers for it once it is retired.
            of_all_characters: whether every kind of character is in it that may be in a key.
        """
        number = self._issued = self._issued + 1  # kept: another world's thread may issue one meanwhile
        if owner is not None and (not self.owners or self.owners[-1] != owner):
            self._owner_starts.append(number)
            self.owners.append(owner)
            if len(self.owners) >= 2 * REMEMBERED:
                del self._owner_starts[:REMEMBERED], self.owners[:REMEMBERED]
        key = f"{self._prefix}{number:06d}"
        return f"{_BEFORE_NUMBER}{key}{_AFTER_NUMBER}" if of_all_characters else key

    def check_key(self, key: object, *, shared: bool = False) -> str:
        """Return ``key`` if it can be sent as a bearer token and is no other world's.

        Args:
            key: the key.
            shared: whether other worlds may have it too, since an address tells them apart.

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
        if not shared and self.keys.is_taken(key):
            raise PetStoreMockError(
                "expected an API key that no other world behind this listener has; this one is taken"
            )
        return key

    def lost_keys(self, world: World, names: Iterable[str]) -> list[str]:
        """Return those of ``names`` that are another test's, or another world's, by now, and not of ``world``."""
        mine = world.owner or _NOBODY
        return [
            name
            for name in names
            if name not in world.keys and (self.retired_owner(name) not in {None, mine} or self.keys.is_taken(name))
        ]

    def retired_owner(self, key: str) -> str | None:
        """Return to whom ``key``, which opens no world, was issued or given; None if it never was."""
        given = self._given.get(key)
        if given is not None:
            return given
        number = self._issued_number(key)
        if number is None:
            return None
        index = bisect_right(self._owner_starts, number) - 1
        return self.owners[index] if index >= 0 else _NOBODY

    def _issued_number(self, key: str) -> int | None:
        """Return the number of a key that was issued here, or None."""
        if key.startswith(_BEFORE_NUMBER) and key.endswith(_AFTER_NUMBER):
            key = key[len(_BEFORE_NUMBER) : -len(_AFTER_NUMBER)]
        number = key.removeprefix(self._prefix)
        # A client may have made its key up: int() of thousands of digits raises, and none but our spelling was issued.
        if number == key or len(number) > _KEY_DIGITS_MAX or not number.isdecimal():
            return None
        return int(number) if number == f"{int(number):06d}" and 1 <= int(number) <= self._issued else None

    # The stack of current worlds

    def guests(self, host: World) -> list[World]:
        """Return the worlds of the owner of ``host`` inside it that are not over."""
        return [world for world in tuple(self._stack) if world.owner == host.owner and world is not host]

    def elders(self, host: World) -> list[World]:
        """Return the worlds that earlier owners have begun and that are not over, as a fixture of wider scope keeps."""
        return [world for world in tuple(self._stack) if world.owner not in {None, host.owner}]

    def let_go(self) -> None:
        """Let every answer go that any of the worlds holds."""
        for world in tuple(self._stack):
            world.let_go()

    def push(self, world: World) -> None:
        """Make ``world`` the current one."""
        self._admit(world)
        self._stack.append(world)

    def replace(self, former: World, world: World) -> None:
        """Put ``world`` in the place of ``former``, one of the stack."""
        self._admit(world)
        self._stack = [world if other is former else other for other in self._stack]

    def _admit(self, world: World) -> None:
        """Tell ``world`` what is the listener's to say."""
        world.cors = self._cors
        world.journal.secure = self.tls

    def begin_test(self, world: World) -> None:
        """Make ``world``, which has got an owner, the current one, but for those that this owner has inside it.

        Those of earlier owners, as a fixture of wider scope keeps one, are asked by their own keys alone: else what a
        test sends without a key would depend on which tests ran before it.
        """
        mine = self.guests(world)
        others = [other for other in self._stack if other is not world and other not in mine]
        self._stack = [*others, world, *mine]  # at once: the listener's thread looks at it

    def remove(self, world: World) -> None:
        """End ``world``, one of the stack: its keys are retired, its held answers let go."""
        self._stack.remove(world)
        world.reset(())

    # Worlds by address

    def add_named(self, name: str, world: World) -> None:
        """Let requests to ``/w/NAME`` reach ``world``, and those at the root that bear its keys."""
        world.owner = name
        self._admit(world)
        self.named[name] = world
        self._ended.pop(name, None)
        for key in world.keys:
            self._given.pop(key, None)

    def end_named(self, name: str) -> None:
        """End the world at ``/w/NAME``: what still asks there, or with its keys, has leaked."""
        world = self.named.pop(name)
        with world.lock:
            for key in world.keys:
                if self._issued_number(key) is None:
                    _remember(self._given, key, name)
            world.reset(())
        _remember(self._ended, name, None)

    def is_over(self, name: str) -> bool:
        """Say whether the world at ``/w/NAME`` was ended."""
        return name in self._ended

    def _at_address(self, request: ApiRequest) -> World | _Unknown | None:
        """Find the world of a request to ``/w/NAME/...``, None elsewhere; the rest of the path becomes its target."""
        if not request.mount:
            if not request.target.startswith(_BY_ADDRESS):
                return None
            request.mount, request.target, name = self._parts(request.target)
        else:
            name = unquote(request.mount.rpartition("/")[2])
        world = self.named.get(name)
        if world is not None:
            world.asked = request.started
            return world
        shown = cut(repr(name), _LONGEST_NAME)
        if self.is_over(name):
            return _Unknown("ended_world", f"the world {shown} is over, and its client still asks", name)
        hint = door_hint(request.target) or self._way_to(name)
        return _Unknown("unknown_world", f"there is no world {shown}: {hint}", None)

    def _way_to(self, name: str) -> str:
        """Return what to do for a world of a name that was never made."""
        if name == DEFAULT_WORLD:
            return "the default world is at /v1"
        if not self.has_door:
            return f"worlds are made by the control door, which is {CLOSED}"
        try:
            return f"PUT /w/{check_name(name)}{DOOR_PATH}/world to the control door makes one"
        except PetStoreMockError as error:
            return str(error)

    def _parts(self, target: str) -> tuple[str, str, str]:
        """Take the target of a request to ``/w/NAME/...`` apart: what stands before, the rest, and the name.

        It says the same each time: it is kept, since each request asks, and the journal then holds one copy of it.
        """
        parts = self._addresses.get(target)
        if parts is None:
            path, mark, query = target.partition("?")
            _, prefix, segment, *rest = path.split("/", 3)
            parts = f"/{prefix}/{segment}", f"/{rest[0] if rest else ''}{mark}{query}", unquote(segment)
            if len(target) <= _KEPT_ADDRESS:
                if len(self._addresses) >= _KEPT_ADDRESSES:
                    self._addresses.clear()
                self._addresses[target] = parts
        return parts

    # transport.handler.Handler

    def handle(self, request: ApiRequest) -> ApiResponse | DeferredResponse:
        """Answer a whole request on the world of its address or of its key, else on the current one."""
        name, problem = request.fields.bearer
        key = None if name is None else self.keys.only.get(name)
        if request.mount or request.target.startswith(_BY_ADDRESS):
            found = self._at_address(request)
            if not isinstance(found, World):
                return self._nowhere(request, found)
            world = found
            if key is None or key.world is not world:  # several worlds may have it
                key = world.keys.get(name)
        else:
            world = self._stack[-1] if key is None else key.world or self._stack[-1]
            if key is None and name is not None:
                owner = self._leaker(name)
                if owner is not None:
                    return self._leaked(world, request, owner)
                key = world.keys.get(name)  # several worlds may have it
        world.lock.acquire()  # for each request: a `with` of this lock takes twice as long
        try:
            if key is not None and key.world is not world:  # retired since the look-up above
                if not request.mount:
                    return self._leaked(world, request, self.retired_owner(key.name) or _NOBODY)
                key = None
            if key is None and name is not None:
                problem = "unknown_key"
            return pipeline.handle(world, request, key, problem)
        finally:
            world.lock.release()

    def takes_no_expectation(self, request: ApiRequest) -> bool:
        """Say whether the fake answers a request itself, whatever an expectation of ``httpserver`` may match.

        The fake's own paths are its own (§4.4). A preflight would use up one, since most match any method.
        """
        if self._cors is not None and self._cors.permits_preflight(request):
            return True
        is_addressed = not request.mount and request.target.startswith(_BY_ADDRESS)
        return has_route(self._parts(request.target)[1] if is_addressed else request.target)

    def handshake_began(self, connection: int) -> Handshake:
        """Enter the TLS handshake of a connection in the journal of the current world, and choose its fault.

        A connection says nothing of worlds: like a request without a key, it belongs to the current one.
        """
        world = self._stack[-1]
        with world.lock:
            fault = world.plan.choose("handshake", None, world.random)
            flaw = fault.flaw if isinstance(fault, HandshakeFault) else None
            handshake = Handshake(connection, flaw, world.deferred)
            world.journal.add_handshake(handshake)
        return handshake

    def _nowhere(self, request: ApiRequest, found: _Unknown | None) -> ApiResponse:
        """Answer a request to the address of no world."""
        assert found is not None  # noqa: S101  # for the type checker: the caller has seen an address
        response = pipeline.refuse_leftover(self._stack[0], found.condition, found.detail, request)
        if found.owner is not None:
            self._note_leak(Leak(found.owner, _shown(request), response.status, bore_key=False))
        return response

    def _leaked(self, world: World, request: ApiRequest, owner: str) -> ApiResponse:
        name, advice = whose(owner, present=any(one.owner == owner for one in tuple(self._stack)))
        response = pipeline.refuse_leftover(world, "retired_key", f"it was issued to {name}{advice}", request)
        self._note_leak(Leak(owner, _shown(request), response.status))
        return response

    def _note_leak(self, leak: Leak) -> None:
        self.leaks.note(leak)
        self.leaked(leak)

    def _look_up(self, request: ApiRequest) -> tuple[World, Key | None]:
        """Find the world of a request that is not to be carried out yet, and its key there."""
        name, _ = request.fields.bearer
        addressed = self._at_address(request)
        if isinstance(addressed, World):
            return addressed, None if name is None else addressed.keys.get(name)
        if addressed is not None:
            return self._stack[0], None
        key = None if name is None else self.keys.only.get(name)
        return (self._stack[-1] if key is None else key.world or self._stack[-1]), key

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say from its head whether a request's body is worth reading."""
        world, key = self._look_up(request)
        return pipeline.admits(world, request, key, length)

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body that a request may have, in bytes (gap ``body_limit``)."""
        return self._look_up(request)[0].rules.policies.body_limit

    def epoch(self) -> object:
        """Return to whom a request belongs that begins now, should it never show a key."""
        world = self._stack[-1]
        return _Epoch(world, world.journal.clears, world.owner)

    def refuse(self, condition: str, detail: str, request: ApiRequest | None, epoch: object = None) -> ApiResponse:
        """Answer what never became a request; without a key it belongs to where it began, if ``epoch`` says so."""
        known = request if request is not None else ApiRequest(_UNREAD, _UNREAD)
        addressed = self._at_address(known)
        if isinstance(addressed, World):
            return pipeline.refuse(addressed, condition, detail, known)
        if addressed is not None:
            return self._nowhere(known, addressed)
        world, key = self._look_up(known)
        name, _ = known.fields.bearer
        owner = None if name is None else self._leaker(name)
        if owner is not None and condition != "internal_error":  # a failure of ours is this session's, whoever met it
            return self._leaked(world, known, owner)
        if not isinstance(epoch, _Epoch) or key is not None:
            return pipeline.refuse(world, condition, detail, known)
        with epoch.world.lock:
            if epoch.world.journal.clears == epoch.clears:
                return pipeline.refuse(epoch.world, condition, detail, known)
        response = pipeline.refuse_leftover(world, condition, detail, known)
        if epoch.owner is not None:
            shown = "a request without a readable head" if known.method == _UNREAD else _shown(known)
            self._note_leak(Leak(epoch.owner, f"{shown} ({condition})", response.status, bore_key=False))
        return response

    def _leaker(self, name: str) -> str | None:
        """Return who answers for the key ``name``, if it is a retired one."""
        return None if self.keys.is_taken(name) else self.retired_owner(name)

    def expectation_matched(self, request: ApiRequest) -> Callable[[Head, bytes], ApiResponse]:
        """Take note of a request that an expectation of ``httpserver`` answers; return what makes its answer.

        It belongs to the test in which it came, however late its handler answers: that is no doing of the client's.
        """
        world, key = self._look_up(request)
        name, _ = request.fields.bearer
        owner = None if name is None else self._leaker(name)
        with world.lock:
            if owner is None and key is not None and key.world is not world:  # retired since the look-up above
                owner = self.retired_owner(key.name) or _NOBODY
            entry = Entry(world.journal.total + 1, world.owner, request, world.clock.now())
            entry.by_expectation = True
            if owner is None:
                world.journal.add(entry)

        def answer(head: Head, body: bytes) -> ApiResponse:
            if owner is not None:
                self._note_leak(Leak(owner, _shown(request), head.status))
            with world.lock:
                world.clock.begin_request()
                response = ApiResponse(head, body, world.clock.date_field)
                pipeline.tell_browser(world, request, response)
                entry.response = response
                entry.duration = RealTime.perf_counter() - request.started
                world.journal.weigh_again(entry)
            return response

        return answer


def _shown(request: ApiRequest) -> str:
    return request_line(request.method, request.target, request.credentials)


def _nothing_to_renew() -> None:
    """Do nothing where nobody listens."""


def _unheard(_: Leak) -> None:
    """Hear of a leak where nobody does."""


def _remember(names: dict[str, Any], name: str, value: str | None) -> None:
    """Keep ``name`` as the newest, within bounds."""
    names.pop(name, None)
    names[name] = value
    if len(names) > REMEMBERED:
        del names[next(iter(names))]
