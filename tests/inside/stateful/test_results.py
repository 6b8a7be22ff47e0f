"""What clients return: objects of their own, which may fail, refuse or ask the service when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import faults
from petstore_mock.stateful.steps import CreatePet, Inject, ListPets, Seed, SpoilAndRepeat
from tests.clients.buggy_reading import AskedWhenRead, FieldsAsAttributes
from tests.clients.correct import HttpClientPets, Json
from tests.clients.shapes import by_key
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by, told

if TYPE_CHECKING:
    from petstore_mock.stateful.steps import Step

pytestmark = leavings.EXPECTED

LIST: Step = ListPets()
CREATE: Step = CreatePet()
SPOIL: Step = SpoilAndRepeat()


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((CREATE,), "create_pet(name='Rex', category_id=1) returned <"),
        ((Seed(), LIST), "list_pets() returned [<"),
    ],
)
def test_a_result_that_fails_when_it_is_looked_at_is_told_of(steps: tuple[Step, ...], words: str) -> None:
    error = told(FieldsAsAttributes, *steps)
    assert error is not None
    assert error.sentence.startswith(words)
    assert "raised AttributeError ('Pet' object has no attribute 'status') when it was" in error.sentence
    assert "__getitem__" in error.raised
    assert isinstance(raised_by(error.test, by_key(FieldsAsAttributes)), AttributeError), error.test
    assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


@pytest.mark.parametrize("fault", [None, faults.unauthorized()])
def test_a_list_that_is_asked_for_when_it_is_looked_at_is_told_of(fault: faults.Fault | None) -> None:
    steps = [LIST] if fault is None else [Inject(fault)]
    error = told(AskedWhenRead, *steps)
    assert error is not None
    assert "and sent its request only when that was looked at" in error.sentence
    assert raised_by(error.test, by_key(AskedWhenRead)) is not None, error.test
    assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


class ReadOnly(dict[str, Any]):
    """An animal that says in its own way that it can't be changed."""

    def _refuse(self, *_: object) -> None:
        raise NotImplementedError

    __setitem__ = clear = _refuse


class ReturnsReadOnly(HttpClientPets):
    def create_pet(self, **given: Json) -> Json:
        return ReadOnly(super().create_pet(**given))

    def list_pets(self, **given: Json) -> Json:
        return tuple(ReadOnly(pet) for pet in super().list_pets(**given))


def test_a_result_may_refuse_to_be_changed_in_its_own_words() -> None:
    assert told(ReturnsReadOnly, CREATE, SPOIL, LIST, SPOIL) is None


class Current(Sequence[Any]):
    """A list that can be read as long as it is its client's latest."""

    def __init__(self, client: ReturnsTheCurrent, pets: Json) -> None:
        self.client, self.pets = client, pets

    def __len__(self) -> int:
        return len(self.pets)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401
        if self.client.latest is not self:
            raise RuntimeError("the client has gone on")
        return self.pets[index]


class ReturnsTheCurrent(HttpClientPets):
    latest: Json = None

    def list_pets(self, **given: Json) -> Json:
        self.latest = Current(self, super().list_pets(**given))
        return self.latest


def test_a_result_may_end_with_the_next_call() -> None:
    assert told(ReturnsTheCurrent, LIST, LIST, LIST) is None
