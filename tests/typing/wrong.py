"""Lines that a type checker must refuse, each for the reason in its comment. No test runs this file."""

from __future__ import annotations

from petstore_mock import Behaviour, PetStoreMock


def a_test(petstore: PetStoreMock) -> None:
    petstore.configure(list_ordr="by_name")  # call-arg: a gap
    petstore.configure(list_order="by_nam")  # arg-type: an alternative
    Behaviour(list_order="by_nam")  # arg-type: an alternative
    Behaviour().replace(list_ordr="by_name")  # call-arg: a gap
    petstore.inject(503, on="listPet")  # arg-type: an operation
    petstore.inject(503, on="listPets", at="after")  # arg-type: a moment
    petstore.seed(nam="Rex")  # call-arg: a field
    petstore.seed(name="Rex", categoryId="1")  # arg-type: a value
    petstore.seed(name="Rex", status="lost")  # arg-type: a value
    petstore.update(1, nam="Rex")  # call-arg: a field
    petstore.journal.assert_called("createPets")  # arg-type: an operation
    petstore.journal.for_operation("createPets")  # arg-type: an operation
    petstore.clock.advance(minute=1)  # arg-type or call-arg: a unit
    PetStoreMock(behavior="strict")  # arg-type or call-arg: an option
