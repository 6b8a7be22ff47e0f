"""Where an example plays: its worlds and clients, and what everybody but the client under test does there."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import respond
from petstore_mock.stateful.bug_report import explain_outside
from petstore_mock.stateful.checks.program import ProgramSettings
from petstore_mock.stateful.checks.requests import MOST_REDIRECTIONS
from petstore_mock.stateful.model.actor import Actor
from petstore_mock.stateful.model.call import Outcome, Problem
from petstore_mock.stateful.script import Script, seed_code
from petstore_mock.stateful.surroundings import IPV6_HOST, environment
from petstore_mock.stateful.time_zones import time_zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.fault_rule import CommitPoint
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import CheckRun
    from petstore_mock.stateful.scenario import Scenario

__all__ = ["Scene"]


class Scene:
    """The worlds of an example with their clients, and the hands of others in them.

    Attributes:
        script: the code of what was done.
        actors: the clients, each in its world.
        actor: the client whose turn it is.
        faults: those that were planned.
        elsewhere: where redirections have led to, if they have.
        program: the settings of the whole program, before there was a client.
    """

    def __init__(self, run: CheckRun, beginning: Scenario) -> None:
        self._run = run
        self._beginning = beginning
        self._stack = ExitStack()
        self.behaviour = beginning.behaviour
        self.script = Script(run.given, beginning, tls=run.tls)
        self.faults: list[FaultHandle] = []
        self.elsewhere: PetStoreMock | None = None
        try:
            where = beginning.environment
            self._stack.enter_context(time_zone(beginning.time_zone))
            if where not in {None, "ipv6"}:
                self._stack.enter_context(environment(where))
            self._service = self._stack.enter_context(run.listeners.at(IPV6_HOST if where == "ipv6" else None))
            self.program = ProgramSettings()
            self._stack.callback(self.program.end)
            self.actors = [self._new_actor("client", "petstore")]
        except BaseException:  # a mistake in make_client
            self._stack.close()
            raise
        self.actor = self.actors[0]

    def _new_actor(self, name: str, world: str) -> Actor:
        # A key of every kind of character is numbered as well, as all that leak can be.
        key = self._service.tenant.worlds.new_key(of_all_characters=True) if self._beginning.odd_keys else None
        petstore = self._stack.enter_context(self._service.fresh(behaviour=self.behaviour, api_key=key))
        petstore.clock.advance(hours=self._beginning.hours_ahead)
        self._run.output.keys.add(petstore.api_key)
        try:
            client = self._run.new_client(petstore)
        except PetStoreMockError:
            raise
        except Exception as error:
            if self._beginning.environment is None:  # it could be made before
                raise
            outcome = Outcome(error=error)
            problem = Problem(f"make_client {outcome}", "1", "the service has an address like any other", ())
            raise explain_outside(problem, self.script, outcome, petstore.journal, actor=name, petstore=world) from None
        self.script.needs_adapter |= not client.is_plain
        return Actor(name, world, petstore, client, self.behaviour)

    def close(self) -> None:
        """Close the worlds."""
        self._stack.close()

    def journals(self) -> dict[str, list[Entry]]:
        """Return the requests so far, by the names that the mocks have in the test."""
        mocks = {actor.world: actor.petstore for actor in self.actors}
        if self.elsewhere is not None:
            mocks["elsewhere"] = self.elsewhere
        return {name: list(mock.journal) for name, mock in mocks.items()}

    def has_pet(self, pet_id: int) -> bool:
        """Say whether the service has an animal of this id, whoever knows of it."""
        return any(pet["id"] == pet_id for pet in self.actor.petstore.pets)

    # What may meet a call

    def may_meet_fault(self, operation: str) -> bool:
        """Say whether a call of ``operation`` may meet a fault that was planned."""
        return any(self._planned(operation))

    def may_take_time(self, operation: str) -> tuple[bool, bool]:
        """Say whether a call may take real time by itself, and whether it may if the client waits when told to."""
        waits, if_told = False, self._is_nearly_limited()
        for handle in self._planned(operation):
            waits = waits or handle.fault.takes_time
            if_told = if_told or handle.fault.tells_to_wait
        return waits, if_told

    def _is_nearly_limited(self) -> bool:
        """Whether one of the next requests is refused for its number: a call makes one, and a few clients two."""
        return self.actor.petstore.tenant.world.limits_rate_within(2)

    def _planned(self, operation: str) -> Iterator[FaultHandle]:
        return (handle for handle in self.faults if handle.on in {None, operation} and not handle.spent)

    # The hands of others

    def seed(self, animal: Mapping[str, Any]) -> None:
        """Let another actor add an animal."""
        self.actor.petstore.seed(animal)
        self.actor.oracle.exists(animal)
        self._did(f"seed({seed_code(animal)})")

    def seed_many(self, count: int) -> None:
        """Let another actor add many animals."""
        for animal in self.actor.petstore.seed_many(count):
            self.actor.oracle.exists(animal)
        self._did(f"seed_many({count})")

    def update(self, pet_id: int, fields: Mapping[str, Any]) -> None:
        """Let another actor change an animal."""
        self.actor.oracle.exists(self.actor.petstore.update(pet_id, **fields))
        self._did(f"update({pet_id}, {seed_code(fields)})")

    def remove(self, pet_id: int) -> None:
        """Let another actor remove an animal."""
        self.actor.petstore.remove(pet_id)
        self.actor.oracle.removed(pet_id)
        self._did(f"remove({pet_id})")

    def revoke_key(self) -> None:
        """Let the key become invalid."""
        self.actor.petstore.revoke_key()
        self._did("revoke_key()")

    def travel_past_the_removal(self) -> None:
        """Let the day after getPet's removal come."""
        self.actor.petstore.clock.travel_to("2030-12-06")
        self._did("clock.travel_to('2030-12-06')")

    def close_connections(self) -> None:
        """Let the service close its idle connections."""
        self.actor.petstore.close_connections()
        self._did("close_connections()")

    def inject(self, fault: Fault, *, on: OperationName, times: int | None, after: int, at: CommitPoint) -> None:
        """Plan a fault, a sequence without ``times``."""
        self.faults.append(self.actor.petstore.inject(fault, on=on, times=times, after=after, at=at))
        options = ["" if times is None else f", times={times}", f", on={on!r}", f", after={after}" if after else ""]
        options.append(f", at={at!r}" if at != "before_commit" else "")
        self._did(f"inject({fault.code()}{''.join(options)})")

    def redirect(self, status: int, on: OperationName, where: str) -> None:
        """Plan a redirection, until :meth:`stop_redirecting`: it would lead another call astray.

        Args:
            status: its status.
            on: the operation.
            where: where it leads to: another service is "elsewhere", the same one "here" or, by a path alone,
                "relative"; "nowhere" names no place, and "round" leads back again and again.
        """
        path = f"/pets/{next(iter(self.actor.oracle.pets), 1)}" if on == "getPet" else "/pets"
        if where == "elsewhere":
            if self.elsewhere is None:
                self.elsewhere = self._stack.enter_context(self._run.listeners.elsewhere.fresh())
                self.script.has_elsewhere = True
            there, code = f"{self.elsewhere.url}/pets", "elsewhere.url + '/pets'"
        elif where == "relative":
            there = BASE_PATH + path
            code = repr(there)
        else:
            there, code = self.actor.petstore.url + path, f"{self.actor.world}.url + {path!r}"
        headers = {} if where == "nowhere" else {"Location": there}
        shown = f", headers={{'Location': {code}}}" if headers else ""
        times = MOST_REDIRECTIONS + 2 if where == "round" else 1
        self.faults.append(self.actor.petstore.inject(respond(status, headers=headers), on=on, times=times))
        code = f"{self.actor.world}.inject(faults.respond({status}{shown}), times={times}, on={on!r})"
        self.script.add(f"redirection = {code}")

    def stop_redirecting(self) -> None:
        """End the redirection that was planned last."""
        self.faults.pop().cancel()
        self.script.add("redirection.cancel()")

    def switch(self) -> None:
        """Go on with the other client: of another world, with another key."""
        if len(self.actors) == 1:
            self.actors.append(self._new_actor("other_client", "other"))
            self.script.has_other = True
        self.actor = self.actors[1 - self.actors.index(self.actor)]

    def _did(self, code: str) -> None:
        self.script.add(f"{self.actor.world}.{code}")
