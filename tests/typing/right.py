"""Code that a type checker must accept. No test runs this file."""

from __future__ import annotations

from petstore_mock import ApiRequest, Behaviour, PetStoreMock, faults


def is_large(request: ApiRequest) -> bool:
    return len(request.body) > 1000


def a_test(petstore: PetStoreMock) -> None:
    rex = petstore.seed(name="Rex", categoryId=1, status="available")
    petstore.seed({"id": 7, "a field of other schemas": True}, name="Tom")
    petstore.update(rex["id"], status=None)
    petstore.inject(503, on="listPets", times=1)
    petstore.inject(faults.delay((0.1, 0.2)), on="createPet", at="after_commit", when=is_large).cancel()
    petstore.configure(list_order="by_name", rate_limit="none")
    petstore.configure("hostile", list_order="by_name")
    petstore.configure(Behaviour(id_assignment="sparse").replace({"list_order": "by_name"}, json_style="pretty"))
    petstore.journal.assert_called("createPet", times=1, name="Rex", status=201)
    petstore.journal.assert_called(None)
    moment: float = petstore.journal.last.duration
    assert moment
    petstore.clock.advance(minutes=1)
    with petstore.fresh(seed=3, behaviour="lenient") as other:
        other.seed()
