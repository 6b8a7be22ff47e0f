"""Clients as people write them are checked as they are, and their bugs told with tests that stand alone."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from petstore_mock import PetStoreMock, PetStoreMockError
from petstore_mock.stateful import ClientBugError, check_client, read_pet
from tests.clients.correct import ApiError, Json
from tests.clients.shapes import SDK_METHODS, SHAPES, AsyncPets, Block, DataclassPet, Page, Sdk, by_key, shaped
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = leavings.EXPECTED

ONCE = settings(database=None)
SAME = settings(ONCE, derandomize=True)  # a client with one bug may be told of it in other words, by other examples
# As many as come before anything waits. How an answer looks and where a method stands show in any of them; whose calls
# or whose end are of another kind gets more, and waits for what hangs.
QUICK, WITH_A_HANG = 5, 12


@pytest.mark.untraced
@pytest.mark.parametrize("name", SHAPES)
def test_a_correct_client_of_any_shape_is_no_false_alarm(name: str) -> None:
    make_client, options = SHAPES[name]
    before = threading.active_count()
    examples = WITH_A_HANG if name.startswith(("async", "block", "dataclass", "needs")) else QUICK
    check_client(make_client, **options, max_examples=examples, settings=ONCE)
    assert threading.active_count() <= before


@pytest.mark.soak
@pytest.mark.parametrize("name", ["dataclass", "pydantic", "async", "async block"])
def test_a_correct_client_of_any_shape_is_no_false_alarm_in_ten_thousand_examples(name: str) -> None:
    make_client, options = SHAPES[name]
    check_client(make_client, **options, max_examples=10_000, settings=ONCE)


def found(make_client: Callable[[PetStoreMock], Json], **options: Any) -> ClientBugError:  # noqa: ANN401
    with pytest.raises(ClientBugError) as caught:
        check_client(make_client, **options, settings=SAME)
    return caught.value


def shout(pet: Json) -> Json:
    made = DataclassPet.of(pet)
    return replace(made, name=made.name.upper())


def share(pet: Json, known: dict[int, DataclassPet] = {}) -> Json:  # noqa: B006  # the bug
    """Keep one object an animal, and change it with each answer."""
    made = known.setdefault(pet["id"], DataclassPet.of(pet))
    vars(made).update(vars(DataclassPet.of(pet)))
    return made


class Retries(AsyncPets):
    """Creates again whatever failed."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except ApiError:
            if method != "POST":
                raise
            return await super().ask(method, path, success, **given)


class WaitsForEver(AsyncPets):
    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return await super().ask(method, path, success, **given, timeout=None)


def nameless(client: Callable[[PetStoreMock], Json]) -> Callable[[PetStoreMock], Json]:
    """Return what a pasted test can't import, so that it takes the client that it is given."""
    return lambda petstore: client(petstore)  # noqa: PLW0108  # a name would be imported


class Forgets(Sdk):
    def add(self, pet: Json) -> Json:
        return super().add({"name": pet["name"], "categoryId": pet["categoryId"]})


BUGGY: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "changed": ("dataclass", by_key(shaped(shout)), {}, "whose name is '"),
    "shared": ("dataclass", by_key(shaped(share)), {}, "changed what "),
    "async": ("async", nameless(Retries), {}, "sent POST /pets again"),
    "no timeout": (
        "async",
        nameless(WaitsForEver),
        {"patience": 1.5},
        "waited for an answer that never came",
    ),
    "names": ("other names", by_key(Forgets), {"methods": SDK_METHODS}, "sent no status"),
    "page": ("page", by_key(shaped(lambda pet: pet, lambda pets: Page(pets[:2]))), {}, "returned 2 animals"),
    "in the end": (
        "page",
        by_key(shaped(lambda pet: pet, lambda pets: iter(pets[1:]))),
        {},
        "animals, and the service",
    ),
}


@pytest.mark.untraced
@pytest.mark.parametrize("name", BUGGY)
def test_a_bug_is_told_with_a_test_that_adapts_the_client(name: str) -> None:
    shape, make_client, options, words = BUGGY[name]
    error = found(make_client, **options)
    assert words in error.sentence
    assert raised_by(error.test, make_client, **options) is not None, error.test
    correct, _ = SHAPES[shape]
    assert raised_by(error.test, correct, **options) is None, error.test


def test_a_block_that_fails_at_its_end_is_told_of() -> None:
    class Fails(Block):
        def __exit__(self, *_: object) -> None:
            super().__exit__()
            raise LookupError("never entered")

    error = found(by_key(Fails))
    assert "close() raised LookupError (never entered)" in error.sentence
    assert isinstance(raised_by(error.test, by_key(Fails)), LookupError), error.test
    assert raised_by(error.test, by_key(Block)) is None, error.test


def test_a_result_with_none_of_an_animals_fields_is_told_of_with_the_way_out() -> None:
    error = found(by_key(shaped(lambda pet: (pet["id"], pet["name"]))))
    assert "create_pet(name='Rex', category_id=1) returned a tuple instead of an animal" in error.sentence
    assert "pass read_pet=" in error.sentence
    assert raised_by(error.test, SHAPES["dataclass"][0]) is None, error.test


def test_a_read_pet_that_raises_is_named() -> None:
    error = found(by_key(shaped(DataclassPet.of)), read_pet=lambda pet: {"id": pet.ident})
    assert "of which read_pet= raised AttributeError ('DataclassPet' object has no attribute 'ident')" in error.sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ["list_pets"]}, r"methods=\['list_pets'\]"),
        ({"methods": {"list_animals": "all"}}, "got 'list_animals'"),
        ({"methods": {"list_pets": 3}}, r"methods\['list_pets'\] as the name of a method, .* got 3"),
        ({"methods": {"list_pets": "pets.every"}}, r"lacks list_pets.*methods={'list_pets': \.\.\.}"),
        ({"read_pet": 3}, "read_pet=3"),
        ({"methods": SDK_METHODS, "read_pet": str}, r"read_pet to return a mapping .* \(str\)"),
    ],
)
def test_what_does_not_fit_a_client_is_the_test_authors_mistake(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        check_client(by_key(Sdk), **{"methods": SDK_METHODS, **options}, max_examples=5, settings=ONCE)


def test_an_animal_is_read_from_whatever_has_its_fields() -> None:
    pet = {"id": 1, "name": "Rex", "categoryId": 2, "status": "sold"}
    for name in ("dataclass", "attrs", "pydantic", "named tuple", "plain object", "snake case"):
        with PetStoreMock() as petstore:
            petstore.seed(pet)
            client = SHAPES[name][0](petstore)
            assert read_pet(client.get_pet(1)) == pet
            client.close()
    with pytest.raises(TypeError, match="expected an object with the fields id, name, categoryId, status; got int"):
        read_pet(3)


@pytest.mark.untraced
def test_the_loop_of_an_asynchronous_client_goes_on_between_its_calls() -> None:
    """As it does in production: what is scheduled there happens."""

    class Schedules(AsyncPets):
        happened = False

        async def get_pet(self, pet_id: int) -> Json:
            asyncio.get_running_loop().call_later(0.01, setattr, Schedules, "happened", True)  # noqa: FBT003
            return await super().get_pet(pet_id)

    check_client(Schedules, max_examples=3, settings=ONCE)
    assert Schedules.happened
