"""Where an example plays: its worlds and clients, and what everybody but the client under test does there."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.faults import respond
from petstore_mock.stateful.bug_report import Script, fault_code, seed_code
from petstore_mock.stateful.checks.requests import MOST_REDIRECTIONS
from petstore_mock.stateful.model.actor import Actor
from petstore_mock.stateful.shrinking import takes_time, tells_to_wait

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.core.fault_plan import FaultHandle, Moment
    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import Run

__all__ = ["Scene"]


class Scene:
    """The worlds of an example with their clients, and the hands of others in them.

    Args:
        run: what all examples share.
        behaviour: what the service does where the interface shows nothing.
        odd_keys: whether every kind of character is in its keys that may be in one.

    Attributes:
        script: the code of what was done.
        actor: the client whose turn it is, in its world.
    """

    def __init__(self, run: Run, behaviour: Behaviour, *, odd_keys: bool = False) -> None:
        self.run = run
        self.odd_keys = odd_keys
        self.behaviour = behaviour
        self.script = Script(odd_keys=odd_keys)
        self._stack = ExitStack()
        self._faults: list[FaultHandle] = []
        self._elsewhere: PetStoreMock | None = None
        self._actors = [self._actor("client", "petstore")]
        self.actor = self._actors[0]

    def _actor(self, name: str, world: str) -> Actor:
        petstore = self._stack.enter_context(self.run.fresh(self.behaviour, odd_key=self.odd_keys))
        self.run.ear.keys.add(petstore.api_key)
        return Actor(name, world, petstore, self.run.client_of(petstore), self.behaviour)

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

    def inject(self, fault: Fault, *, on: str, times: int | None, after: int, at: Moment) -> bool:
        """Plan a fault, a sequence without ``times``; False when real waiting is over for this run."""
        told_to = tells_to_wait(fault)
        if told_to or takes_time(fault):
            question = (self.script.course, str(fault), on, times, after, at)
            if not self.run.may_wait(question, told_to=told_to):
                return False
        self._faults.append(self.actor.petstore.inject(fault, on=on, times=times, after=after, at=at))
        options = ["" if times is None else f", times={times}", f", on={on!r}", f", after={after}" if after else ""]
        options.append(f", at={at!r}" if at != "before_commit" else "")
        self._did(f"inject({fault_code(fault)}{''.join(options)})")
        return True

    def redirect(self, status: int, on: str, where: str) -> None:
        """Plan a redirection, until :meth:`stop_redirecting`: it would lead another call astray.

        Args:
            status: its status.
            on: the operation.
            where: where it leads to: another service is "elsewhere", the same one "here" or, by a path alone,
                "relative"; "nowhere" names no place, and "round" leads back again and again.
        """
        path = f"/pets/{next(iter(self.actor.oracle.pets), 1)}" if on == "getPet" else "/pets"
        if where == "elsewhere":
            if self._elsewhere is None:
                self._elsewhere = self._stack.enter_context(self.run.elsewhere.fresh())
                self.script.with_elsewhere()
            there, code = f"{self._elsewhere.url}/pets", "elsewhere.url + '/pets'"
        elif where == "relative":
            there = BASE_PATH + path
            code = repr(there)
        else:
            there, code = self.actor.petstore.url + path, f"{self.actor.world}.url + {path!r}"
        headers = {} if where == "nowhere" else {"Location": there}
        shown = f", headers={{'Location': {code}}}" if headers else ""
        times = MOST_REDIRECTIONS + 2 if where == "round" else 1
        self._faults.append(self.actor.petstore.inject(respond(status, headers=headers), on=on, times=times))
        code = f"{self.actor.world}.inject(faults.respond({status}{shown}), times={times}, on={on!r})"
        self.script.add(f"redirection = {code}")

    def stop_redirecting(self) -> None:
        """End the redirection that was planned last."""
        self._faults.pop().cancel()
        self.script.add("redirection.cancel()")

    def switch(self) -> None:
        """Go on with the other client: of another world, with another key."""
        if len(self._actors) == 1:
            self._actors.append(self._actor("other_client", "other"))
            self.script.with_other()
        self.actor = self._actors[1 - self._actors.index(self.actor)]

    def _did(self, code: str) -> None:
        self.script.add(f"{self.actor.world}.{code}")
