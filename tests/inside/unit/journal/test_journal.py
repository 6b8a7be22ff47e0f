"""Reading the journal: order, numbers, what is gone, and what a reader in another thread sees."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMockError, faults
from petstore_mock.journal import journal as journal_module
from petstore_mock.journal.entry import Entry
from petstore_mock.journal.journal import Journal
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import ApiResponse, Head
from tests.inside.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def core() -> Core:
    return Core()


def test_journal_holds_every_request_in_order(core: Core) -> None:
    core.create()
    core.list("?limit=0")
    core.send("GET", "/nowhere", key=None)
    assert len(core.journal) == 3
    assert [entry.number for entry in core.journal] == [1, 2, 3]
    assert [entry.operation for entry in core.journal] == ["createPet", "listPets", None]
    assert repr(core.journal) == "<Journal of 3 requests>"


def test_index_counts_from_either_end(core: Core) -> None:
    for number in (1, 2, 3):
        core.get(number)
    journal = core.journal
    assert journal[0].target == "/v1/pets/1"
    assert journal[-1].target == "/v1/pets/3"
    assert journal[-1] is journal[2] is journal.last
    assert [entry.number for entry in journal[1:]] == [2, 3]
    assert [entry.number for entry in journal[::-2]] == [3, 1]
    assert journal[7:] == []


@pytest.mark.parametrize("index", [0, -1, 5])
def test_index_of_no_request_raises_index_error(core: Core, index: int) -> None:
    with pytest.raises(IndexError, match=rf"one of 0 requests; got {index}"):
        core.journal[index]


def test_last_of_an_empty_journal_raises_index_error(core: Core) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected a request before journal\.last; none came yet"):
        _ = core.journal.last


def test_reset_begins_at_number_one_again(core: Core) -> None:
    core.list()
    core.world.reset([core.key])
    assert len(core.journal) == 0
    core.list()
    assert core.journal.last.number == 1


def test_for_operation_holds_refused_requests_too(core: Core) -> None:
    core.create()
    core.create({"name": 7})
    core.create(key=None)
    core.list()
    assert [entry.status for entry in core.journal.for_operation("createPet")] == [201, 400, 401]


def test_for_operation_suggests_the_nearest_operation(core: Core) -> None:
    with pytest.raises(PetStoreMockError, match=r"got 'createPets'\. Did you mean 'createPet'\?"):
        core.journal.for_operation("createPets")  # type: ignore[arg-type]  # the mistake that is meant


def test_violations_are_what_the_client_did_wrong(core: Core) -> None:
    """An absent animal is an answer of the service, no mistake of the client."""
    core.get(404)
    core.list("?limit=0")
    core.list()
    assert [entry.target for entry in core.journal.violations] == ["/v1/pets?limit=0"]


# Bounded memory


def bounded(limit: int = 3, *, ring: bool = False) -> Core:
    core = Core(journal_limit=limit, ring=ring)
    core.get(1)
    core.create()
    core.list()
    return core


def test_journal_counts_what_it_no_longer_keeps() -> None:
    core = bounded()
    core.list()
    assert len(core.journal) == 4
    assert core.journal.last.number == 4
    assert core.journal[1].number == 2


QUESTIONS: dict[str, Callable[[Journal], object]] = {
    "iteration": list,
    "first": lambda journal: journal[0],
    "from the end": lambda journal: journal[-4],
    "slice": lambda journal: journal[:2],
    "backwards": lambda journal: journal[::-1],
    "for_operation": lambda journal: journal.for_operation("listPets"),
    "not called": lambda journal: journal.assert_not_called("getPet"),
    "called": lambda journal: journal.assert_called("getPet"),
    "called so often": lambda journal: journal.assert_called("listPets", times=2),
    "called never": lambda journal: journal.assert_called("createPet", times=0, name="Tom"),
    "wait": lambda journal: journal.wait_for("getPet", timeout=0),
    "har": lambda journal: journal.to_har("never-written.har"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_that_needs_a_gone_entry_raises(question: str) -> None:
    core = bounded()
    core.list()
    with pytest.raises(PetStoreMockError, match=r"keeps 3 requests or 32 MiB, and 1 earlier ones are gone"):
        QUESTIONS[question](core.journal)


def test_question_that_the_kept_entries_answer_does_not_raise() -> None:
    """Whatever is gone, one call seen is a call, and more than so many stay more."""
    core = bounded()
    core.list()
    journal = core.journal
    assert len(journal.assert_called("listPets")) == 2
    assert len(journal.wait_for("listPets", times=2, timeout=0)) == 2
    assert [entry.number for entry in journal[-3:]] == [2, 3, 4]
    with pytest.raises(AssertionError, match="it came 2 times"):
        journal.assert_called("listPets", times=1)
    with pytest.raises(AssertionError, match="expected no listPets"):
        journal.assert_not_called("listPets")


def test_violations_stay_when_other_requests_go(monkeypatch: pytest.MonkeyPatch) -> None:
    core = bounded()
    core.list()
    assert core.journal.violations == []
    core.list("?limit=0")
    for _ in range(3):
        core.list()
    assert [entry.number for entry in core.journal.violations] == [5]
    assert core.journal.violation_count == 1
    monkeypatch.setattr(journal_module, "KEPT_VIOLATIONS", 1)  # so many that some had to go
    for _ in range(5):
        core.list("?limit=0")
    with pytest.raises(PetStoreMockError, match="are gone"):
        _ = core.journal.violations
    assert core.journal.violation_count == 6
    core.world.reset([core.key])
    assert core.journal.violations == []
    assert core.journal.violation_count == 0


def test_requests_that_are_gone_are_counted_by_operation() -> None:
    core = bounded(ring=True)
    created = core.journal.count("createPet")
    core.create()
    for _ in range(4):
        core.list()
    assert core.journal.count("createPet") == created + 1
    assert core.journal.count() == core.journal.total
    assert len(core.journal.kept) == 3


def test_kept_entries_can_be_shown_whatever_is_gone() -> None:
    core = bounded()
    core.list()
    assert [entry.number for entry in core.journal.kept] == [2, 3, 4]


def test_ring_lets_old_entries_go_silently() -> None:
    core = bounded(ring=True)
    core.list("?limit=1")
    journal = core.journal
    assert len(journal) == 4
    assert [entry.number for entry in journal] == [2, 3, 4]
    assert [entry.number for entry in journal[:2]] == [2]
    assert journal.for_operation("getPet") == []
    journal.assert_not_called("getPet")
    with pytest.raises(IndexError, match="request 1 is gone"):
        journal[0]


def test_memory_is_bounded_by_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "BYTES_LIMIT", 100_000)
    core = Core()
    for _ in range(50):
        core.create({"name": "x" * 10_000, "categoryId": 1})
    kept = core.journal[-3:]
    assert kept[-1].number == 50
    with pytest.raises(PetStoreMockError, match="are gone"):
        core.journal[30]


def test_long_header_counts_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "BYTES_LIMIT", 100_000)
    core = Core()
    for _ in range(50):
        core.list(headers={"X-Long": "x" * 10_000})
    with pytest.raises(PetStoreMockError, match="are gone"):
        core.journal[30]


def test_one_request_above_the_bound_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "BYTES_LIMIT", 10)
    core = Core()
    core.list()
    core.list()
    assert core.journal.last.number == 2


def test_held_answers_count_for_memory_once_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "BYTES_LIMIT", 100_000)
    core = Core()
    core.world.plan.add(faults.delay(1), on="createPet")
    held = [core.defer_create(name="x" * 10_000) for _ in range(8)]
    assert core.journal[0].status is None
    for answer in held:
        answer.resume()
    with pytest.raises(PetStoreMockError, match="are gone"):
        core.journal[0]
    kept = core.journal.kept
    assert core.journal.size == sum(entry.weigh() for entry in kept)
    assert len(kept) == 4


def test_first_entry_is_weighed_again_as_any_other() -> None:
    journal = Journal()
    first = Entry(1, None, ApiRequest("GET", "/v1/pets", (), b"", 0, 0, 0.0), 0.0)
    journal.add(first)
    first.response = ApiResponse(Head(200, ()), b"x" * 1000, b"")
    journal.weigh_again(first)
    assert journal.size == first.weigh()


def test_entry_weighs_what_it_holds(core: Core) -> None:
    core.list()
    core.list(f"?status={'x' * 1000}")
    core.create(b'{"name": 1, "x": "%b"}' % (b"y" * 1000))
    plain, target, body = (entry.weigh() for entry in core.journal)
    assert target > plain + 1000
    assert body > target + 16 * 1000, "what was decoded is kept with the violations"


@pytest.mark.parametrize("ended", ["evicted", "cleared"])
def test_held_answer_of_an_entry_that_is_gone_is_not_counted(ended: str) -> None:
    journal_of_one = Journal(limit=1)
    request = ApiRequest("GET", "/v1/pets", (), b"", 0, 0, 0.0)
    first, second = Entry(1, None, request, 0.0), Entry(2, None, request, 0.0)
    journal_of_one.add(first)
    if ended == "evicted":
        journal_of_one.add(second)
    else:
        journal_of_one.clear()
        second.number = 1
        journal_of_one.add(second)
    first.response = ApiResponse(Head(200, ()), b"x" * 1000, b"")
    journal_of_one.weigh_again(first)
    assert journal_of_one.size == second.weigh()


# Threads


def test_an_entry_is_counted_once_it_is_there() -> None:
    """Who reads takes no lock, and may look at the last of as many as are counted."""
    journal = Journal()
    seen = []

    class Looking(Entry):
        def weigh(self) -> int:
            seen.append((len(journal), len(journal.kept)))
            return super().weigh()

    for _ in range(2):
        journal.add(Looking(1, None, ApiRequest("GET", "/v1/pets", (), b"", 0, 0, 0.0), 0.0))
    assert seen == [(0, 0), (1, 1)]


def test_copy_that_an_append_disturbs_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an interpreter that lets another thread in between, a copy may fail; the reader must not."""

    disturbances = iter([True, True])

    class Disturbed(deque[Entry]):  # no interpreter of today does it
        def __iter__(self) -> Iterator[Entry]:
            if next(disturbances, False):
                raise RuntimeError("deque mutated during iteration")
            return super().__iter__()

    monkeypatch.setattr(journal_module, "deque", Disturbed)
    core = Core()
    core.list()
    assert [entry.number for entry in core.journal] == [1]
    assert not next(disturbances, False), "both came"


def test_reading_while_others_write_misses_nothing_that_was_answered() -> None:
    """Four threads send; each looks for its own request right after its answer."""
    core = Core()
    problems: list[str] = []
    per_thread = 100

    def use(name: str) -> None:
        try:
            for number in range(per_thread):
                core.list(f"?limit=5&{name}={number}")
                seen = [entry.request.target for entry in core.journal]
                if f"/v1/pets?limit=5&{name}={number}" not in seen:
                    problems.append(f"{name}={number} is missing")
        except Exception as error:  # noqa: BLE001  # reported by the test's own thread
            problems.append(repr(error))

    threads = [threading.Thread(target=use, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert problems == []
    assert [entry.number for entry in core.journal] == list(range(1, 4 * per_thread + 1))
