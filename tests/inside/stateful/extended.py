"""Machines to which a subclass adds rules: at the top of a module, so that pasted tests can import them."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, rule

from petstore_mock.stateful import client_machine
from tests.clients.correct import ApiError, HttpClientPets, Json
from tests.clients.shapes import by_key
from tests.clients.surroundings import PortAfterFirstColon, make_surrounded


class Renames(HttpClientPets):
    """Finds an animal by its name, for which the interface has no operation."""

    longest = 1_000

    def find(self, name: str) -> Json:
        return next((pet for pet in self.list_pets(limit=100) if pet["name"][: self.longest] == name), None)


class CutsNames(Renames):
    longest = 3


def extended(client: type[Renames]) -> Any:  # noqa: ANN401  # a machine
    class Found(client_machine(by_key(client), vary=[], faults=st.nothing())):  # type: ignore[misc]  # made here
        added = Bundle("added")

        @rule(target=added, name=st.text(st.characters(codec="ascii"), max_size=6))
        def add(self, name: str) -> str:
            self.petstore.seed(name=name)
            self.call("listPets", limit=100)
            return name

        @rule(name=added)
        def find(self, name: str) -> None:
            names = [pet["name"] for pet in self.petstore.pets]
            if name in names and len(names) <= 100:
                with contextlib.suppress(ApiError):  # its key may be refused
                    assert self.client.find(name) is not None, name

        @invariant()
        def has_a_client(self) -> None:
            assert self.example is None or isinstance(self.client, Renames)

    return Found


Sound = extended(Renames)
Sound.__name__ = Sound.__qualname__ = "Sound"
Cutting = extended(CutsNames)
Cutting.__name__ = Cutting.__qualname__ = "Cutting"


class AddsNothing(client_machine(by_key(CutsNames))):  # type: ignore[misc]  # made here
    """Has no rule of its own."""


class Loses(HttpClientPets):
    def list_pets(self, **query: Json) -> Json:
        return super().list_pets(**query)[1:]


class LosesOne(client_machine(by_key(Loses))):  # type: ignore[misc]  # made here
    """What the machine itself checks is found by a subclass too."""

    @rule()
    def look(self) -> None:
        self.call("listPets", limit=2)


class LosesBrackets(client_machine(make_surrounded(PortAfterFirstColon), vary=[], faults=st.nothing())):  # type: ignore[misc]  # made here
    """Environments are met by a subclass too."""

    @rule()
    def look(self) -> None:
        self.call("listPets", limit=2)
