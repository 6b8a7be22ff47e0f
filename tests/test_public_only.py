"""The tests outside ``tests/unit`` use public names only, so that they hold for any implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.public_only import ATTRIBUTES, MODULES, NAMES, breaches

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
UNITS = {TESTS / "unit", TESTS / "evolution"}  # the latter edits a copy of the package
# This file quotes what the checker refuses.
QUOTING = Path(__file__)


def test_files_use_public_names_only() -> None:
    found = {
        str(file.relative_to(TESTS)): refused
        for file in FILES
        if file != QUOTING
        and (refused := breaches(file.read_text(encoding="utf-8"), is_unit=bool(UNITS & {*file.parents})))
    }
    assert found == {}, "use a public name, or move the test to tests/unit"


def test_the_files_are_found() -> None:
    names = {str(file.relative_to(TESTS)) for file in FILES}
    assert {"conftest.py", "public_only.py", "clients/correct.py"} <= names


@pytest.mark.parametrize(
    "source",
    [
        # Imports.
        "import petstore_mock.core.world",
        "import petstore_mock.pytest_plugin",
        "from petstore_mock import core",
        "from petstore_mock import cli as command",
        "from petstore_mock import _schemas",
        "from petstore_mock.errors import PetStoreMockError",
        "from petstore_mock.core.store import Store",
        "from petstore_mock.faults.kinds import Answer",
        "from petstore_mock.stateful import steps",
        "from petstore_mock.stateful.search import find_bug",
        "from petstore_mock.verify import _guest",
        "def test():\n    from petstore_mock.transport import listener",
        # Names as text.
        "patch('petstore_mock.journal.journal.Journal.add')",
        "monkeypatch.setattr('petstore_mock.verify.guest.sleep', print)",
        "sys.modules['petstore_mock.core']",
        "importlib.import_module('petstore_mock.transport.server')",
        "inner('''\nfrom petstore_mock.core.world import World\n''')",
        "inner('''\nfrom petstore_mock import faults, core\n''')",
        "run('-p', 'petstore_mock.pytest_plugin')",
        "f'petstore_mock.core.{name}'",
        "getattr(petstore, '_world')",
        "monkeypatch.setattr(module, '_LIMIT', 3)",
        "patch.object(server, '_accept')",
        "getattr(petstore, 'tenant')",
        # Private attributes of others.
        "client._transport",
        "petstore.journal._entries",
        "make()._parser",
        "self.client._socket",
        "petstore_mock.core.world.World()",
        "petstore_mock.faults.to_data(fault)",
        "from petstore_mock import faults\nfaults.to_data(fault)",
        "from petstore_mock import stateful as machine\nmachine.search",
        "PetStoreMock(seed=3, self_check=True)",
        "from petstore_mock import PetStoreMock\nPetStoreMock.tenant",
        "from petstore_mock import Entry\npatch.object(Entry, 'weigh')",
        "petstore_mock.PetStoreMock(self_check=False)",
        # Attributes of public objects that are not public.
        "petstore.tenant",
        "client.petstore.tenant",
        "self.petstore.journal.kept",
        "with petstore.fresh() as inner:\n    inner.tenant",
        "petstore.host.worlds",
        "def test(mock: PetStoreMock) -> None:\n    mock.tenant",
        "def test(*, mock: 'PetStoreMock | None') -> None:\n    mock.tenant",
        "async def test(mock: petstore_mock.PetStoreMock) -> None:\n    mock.tenant",
        "mock = PetStoreMock(seed=3)\nmock.tenant",
        "mock = petstore_mock.connect(url)\nmock.door",
        "from petstore_mock import connect\nmock = connect(url)\nmock.door",
        "mock: PetStoreMock = make()\nmock.host",
        "with PetStoreMock() as mock:\n    mock.tenant",
        "petstore.journal.add(entry)",
        "petstore.journal[0].weigh()",
        "petstore.journal.last.weight",
        "for request in petstore.journal:\n    request.weight",
        "petstore.inject(503).never_fired",
        "told = petstore.inject(503)\ntold.never_fired",
        "petstore.clock.begin_request()",
        "petstore.snapshot().animals",
    ],
)
def test_what_is_not_public_is_refused(source: str) -> None:
    assert breaches(source) != []


@pytest.mark.parametrize(
    "source",
    [
        "import petstore_mock",
        "from petstore_mock import PetStoreMock, connect, faults",
        "from petstore_mock.stateful import check_client",
        "from petstore_mock.verify import Verdict",
        "import petstore_mock.faults",
        "from petstore_mock.faults import reset as reset_fault",
        "from tests.client import Client",
        "petstore_mock.__version__, petstore_mock.PetStoreMock, petstore_mock.faults.reset()",
        "self._client, cls._made, super()._start()",
        "pair._replace(first=1)._asdict()",
        "patch('time.time')",
        "inner('''\nfrom petstore_mock import faults, PetStoreMock\nimport petstore_mock.stateful\n''')",
        "'petstore_mock is a package. petstore_mock.faults.reset is a function.'",
        "getattr(petstore, 'api_key')",
        "petstore.journal[0].status, petstore.journal[1:].count, petstore.journal.last.json",
        "with connect(url) as mock:\n    mock.journal.assert_called('createPet')",
        "def test(tenant: Tenant) -> None:\n    tenant.tenant",
        "server.host",
        "from petstore_mock import faults\nfaults.reset(), faults.tls.expired(), faults.Fault",
        "check(self_check=True)",
        "connection = connect(server)\nconnection.request()",
        "petstore.__class__.__name__",
    ],
)
def test_public_names_pass(source: str) -> None:
    assert breaches(source) == []


def test_a_unit_test_may_import_what_is_internal_but_not_what_is_private() -> None:
    assert breaches("from petstore_mock.core.store import Store\nimport petstore_mock.http", is_unit=True) == []
    for source in (
        "from petstore_mock.core.store import _Row",
        "from petstore_mock.core import store\nstore._Row",
        "patch('petstore_mock.core.store.Store')",
    ):
        assert breaches(source, is_unit=True) != [], source


def test_a_breach_names_its_line() -> None:
    assert breaches("import os\n\nfrom petstore_mock.core import world\n") == ["line 3: petstore_mock.core.world"]


def test_types_of_one_function_do_not_reach_another() -> None:
    source = "def first(x: PetStoreMock):\n    x.url\n\ndef second(x: Other):\n    x.tenant\n"
    assert breaches(source) == []


def test_the_table_names_what_there_is() -> None:
    import petstore_mock  # noqa: PLC0415  # only this test looks into the package

    assert {name for name in NAMES - MODULES if not hasattr(petstore_mock, name)} == set()
    for kind, attributes in ATTRIBUTES.items():
        found = getattr(petstore_mock, kind, None) or petstore_mock.Exchange  # the name of Entry after the switch
        known = {name for one in found.__mro__ for name in (*vars(one), *vars(one).get("__annotations__", {}))}
        assert attributes <= known, kind
