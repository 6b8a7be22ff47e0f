"""``petstore-mock check``: what it finds, what it writes, and what it plays again."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapter.conftest import LOSES_STATUS, Adapter, Check
from tests.platforms import PROCESSOR_TIMES

ROOT = Path(__file__).parents[2]
NODE = ["node", str(ROOT / "adapters/node/example/adapter.mjs")]
# Few scenarios: no gap varies and no request meets a fault.
QUICKLY = ("--examples", "1", "--vary", "", "--faults", "none")


@pytest.mark.seconds
def test_a_correct_client_has_no_bug(check: Check, adapter: Adapter, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    code, out, error = check(adapter(""), *QUICKLY, "--json", str(report))
    assert (code, error) == (0, "")
    assert out.startswith("adapter: bare\n")
    assert "not checked, because the client runs in another process: nothing_runs_on, program_unchanged" in out
    assert out.endswith("No bug was found.\n")
    written = json.loads(report.read_text(encoding="utf-8"))
    assert written["bugs"] == []
    assert written["calls"] > 100
    assert not (tmp_path / "petstore-check.json").exists()


@pytest.mark.seconds
def test_a_bug_is_told_in_the_words_of_the_interface_and_can_be_played_again(
    check: Check, adapter: Adapter, tmp_path: Path
) -> None:
    scenario, report = tmp_path / "petstore-check.json", tmp_path / "report.json"
    code, out, _ = check([*adapter(LOSES_STATUS), "it's one"], *QUICKLY, "--json", str(report))
    assert code == 1
    (shown,) = [line for line in out.splitlines() if line.startswith("Play them again:")]
    assert shlex.split(shown)[-1] == "it's one"
    assert "Bug 1 of 1 (rule 'wrong field')" in out
    assert '  1  createPet {"name": "Rex", "categoryId": 1, "status": "available"}\n' in out
    (bug,) = json.loads(report.read_text(encoding="utf-8"))["bugs"]
    assert bug["steps"][-1]["calls"][0]["operation"] in {"listPets", "createPet", "getPet"}
    assert bug["sentence"] in out
    assert bug["sentence"].startswith('createPet(name="Rex", categoryId=1, status="available") returned an animal')

    again = check(adapter(LOSES_STATUS), "--replay", str(scenario))
    assert again[0] == 1
    assert bug["sentence"].partition("(")[0] in again[1]
    mended = check(adapter(""), "--replay", str(scenario))
    assert mended == (0, "No recorded bug shows any more.\n", "")


@pytest.mark.seconds
def test_a_rule_can_be_switched_off(check: Check, adapter: Adapter) -> None:
    code, out, _ = check(adapter(LOSES_STATUS), *QUICKLY, "--ignore", "wrong field")
    assert code == 0
    assert "ignored: wrong field" in out


@pytest.mark.seconds
def test_an_operation_that_the_client_lacks_is_left_out(check: Check, adapter: Adapter) -> None:
    code, out, _ = check(adapter("OPERATIONS = ['listPets', 'getPet']"), *QUICKLY)
    assert code == 0
    assert "left out, because the client has no method: createPet" in out


@pytest.mark.seconds
def test_lists_ask_only_for_the_limits_that_a_team_allows(check: Check, adapter: Adapter) -> None:
    code = """
        def call(request, former=call):
            limit = request["arguments"].get("limit")
            assert limit is None or 5 <= limit <= 9, limit
            return former(request)
    """
    assert check(adapter(code), *QUICKLY, "--limits", "5..9")[0] == 0


@pytest.mark.slow
def test_a_client_is_held_to_what_it_promises_about_its_retries(check: Check, adapter: Adapter, tmp_path: Path) -> None:
    code, out, _ = check(adapter(""), "--retries", "3,base=0.1,on=500+503", "--first", "--vary", "")
    assert code == 1
    assert "(rule 'fewer attempts than promised')" in out
    assert check(adapter(""), "--replay", str(tmp_path / "petstore-check.json"))[0] == 1


@pytest.mark.slow
def test_a_pass_that_is_not_complete_fails(check: Check, adapter: Adapter) -> None:
    code, out, error = check(adapter(""), "--complete", "--seconds", "0.1", "--vary", "")
    assert (code, error) == (1, "")
    assert "expected a complete pass; got every single fault: " in out
    assert out.endswith("allow more seconds, or see why the client never met them\n")
    assert "No bug was found" not in out


@pytest.mark.slow
def test_a_client_that_keeps_its_process_alive_has_a_bug(check: Check, adapter: Adapter, tmp_path: Path) -> None:
    code = """
        OPERATIONS = ["getPet"]
        def end():
            if clients:
                time.sleep(60)
    """
    exit_code, out, _ = check(adapter(code), *QUICKLY)
    assert exit_code == 1
    assert "(rule 'process kept alive'): the closed client left a process that stayed alive for " in out
    assert check(adapter(code), "--replay", str(tmp_path / "petstore-check.json"))[0] == 1


# Nothing else in this process runs during a call, like the event loop of Node in a client that never awaits.
COMPUTES = """
    CONCURRENT = True
    def call(request, former=call):
        try:
            return former(request)
        except Failed as failed:
            while {condition}:
                pass
            raise
"""


@pytest.mark.slow
@PROCESSOR_TIMES
@pytest.mark.parametrize("shell", [[], ["sh", "-c", '"$@"; true', "sh"]], ids=["itself", "by a shell"])
def test_a_call_that_computes_for_ever_is_a_bug_of_the_client(
    shell: list[str], check: Check, adapter: Adapter, tmp_path: Path
) -> None:
    client = [*shell, *adapter(COMPUTES.format(condition="failed.error.get('status') == 401"))]
    exit_code, out, error = check(client, *QUICKLY, "--patience", "0.5")
    assert (exit_code, error) == (1, "")
    assert "Bug 1 of 1 (rule 'endless loop'): listPets() computed for " in out
    assert "  1  petstore.revoke_key\n  2  listPets {}\n\n" in out
    assert check(client, "--replay", str(tmp_path / "petstore-check.json"))[0] == 1


@pytest.mark.slow
@PROCESSOR_TIMES
def test_a_call_that_computes_for_ever_is_the_only_bug_beside_other_calls(
    check: Check, adapter: Adapter, tmp_path: Path
) -> None:
    # Only the scenarios that wait, which run side by side, have this header. The process replies to nothing else.
    code = COMPUTES.format(condition="failed.error.get('told') == '1'")
    processes = tmp_path / "processes"
    client = adapter(f"{code}    open({str(processes)!r}, 'a').write(f'{{os.getpid()}}\\n')\n")
    exit_code, out, error = check(client, "--examples", "1", "--vary", "", "--patience", "0.5")
    assert (exit_code, error) == (1, "")
    assert "Bug 1 of 1 (rule 'endless loop')" in out
    began = {int(number) for number in processes.read_text(encoding="ascii").split()}
    assert len(began) > 1
    assert [number for number in began if Path(f"/proc/{number}/cmdline").exists()] == []


@pytest.fixture
def recorded(check: Check, adapter: Adapter, tmp_path: Path) -> Path:
    check(adapter(LOSES_STATUS), *QUICKLY)
    return tmp_path / "petstore-check.json"


@pytest.mark.seconds
def test_a_scenario_file_that_was_edited_is_refused(check: Check, adapter: Adapter, recorded: Path) -> None:
    text = recorded.read_text(encoding="utf-8")
    changes = {
        text.replace('"odd_key": false', '"odd_key": true'): "got a file that was edited: run 'petstore-mock check",
        text.replace('"petstore-mock-scenarios": 1', '"petstore-mock-scenarios": 2'): "of version 1; got version 2",
        text[:-20]: "expected a scenario file with JSON",
        "[]": "expected a scenario file with a JSON object",
    }
    for changed, sentence in changes.items():
        assert changed != text
        recorded.write_text(changed, encoding="utf-8")
        exit_code, _, error = check(adapter(""), "--replay", str(recorded))
        assert exit_code == 2
        assert sentence in error


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--junit", "report.xml"), "unrecognized arguments: --junit (did you mean '--json'?)"),
        (("--max-examples", "3"), "unrecognized arguments: --max-examples (did you mean '--examples'?)"),
        (("--timeout", "3"), "unrecognized arguments: --timeout (did you mean '--patience'?)"),
        (("--limits", "9..5"), "expected --limits as two numbers, such as 1..50; got '9..5'"),
        (("--vary", "list_ordr"), "did you mean 'list_order'?"),
        (("--examples", "0"), "expected --examples above 0"),
        (("--retries", "3,jiter=1"), "did you mean 'jitter'?"),
        (("--retries", "base=0.1"), "expected attempts= as a whole number of at least 1; got attempts='base=0.1'"),
        (("--retries", ""), "expected attempts= as a whole number of at least 1"),
        (("--concurrent",), 'expected an adapter that says "concurrent": true for --concurrent'),
        (("--replay", "absent.json"), "to write a new one); got absent.json: No such file"),
        (("--ignore", "wrong feld"), "did you mean 'wrong field'?"),
    ],
)
def test_wrong_options_are_refused(check: Check, adapter: Adapter, options: tuple[str, ...], sentence: str) -> None:
    exit_code, out, error = check(adapter(""), *options)
    assert (exit_code, out) == (2, "")
    assert sentence in error


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_example_of_the_kit_for_node_has_no_bug(check: Check) -> None:
    # undici closes the connection for an interim response 100.
    code, out, _ = check(NODE, "--examples", "30", "--concurrent", "--ignore", "interim response not skipped")
    assert code == 0, out


# A call that never ends, one that ends with a thread, and one that pauses twice.
UNSETTLED = """
import { Worker } from 'node:worker_threads';
import { serve } from 'KIT';

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

serve({
  open: () => ({}),
  listPets: () => new Promise(() => {}),
  createPet: () => new Promise((resolve) => {
    new Worker("setTimeout(() => {}, 5000)", { eval: true }).once('exit', () => resolve({ paused: true }));
  }),
  getPet: () => pause(3.9).then(() => pause(1)).then(() => ({ paused: 'twice' })),
  // No client knows the kit's own error.
  error: () => ({ kind: 'protocol' }),
});
"""


@pytest.mark.seconds
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_kit_for_node_ends_a_promise_that_never_settles_and_waits_for_others(tmp_path: Path) -> None:
    kit = ROOT / "adapters/node/petstore-adapter.mjs"
    (tmp_path / "adapter.mjs").write_text(UNSETTLED.replace("KIT", kit.as_uri()), encoding="utf-8")
    for operation, expected in (
        ("listPets", {"type": "NeverSettledError", "kind": "other"}),
        ("createPet", {"paused": True}),
        ("getPet", {"paused": "twice"}),
    ):
        requests: list[dict[str, object]] = [
            {"hello": 1},
            {"id": 1, "do": "open", "client": "a", "url": "http://localhost", "api_key": "k", "timeout": 1},
            {"id": 2, "do": "call", "client": "a", "operation": operation, "arguments": {}},
        ]
        with subprocess.Popen(
            ["node", str(tmp_path / "adapter.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for request in requests:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                reply = json.loads(process.stdout.readline())
        told = reply.get("ok") or {name: reply["error"][name] for name in expected}
        assert told == expected


# An asynchronous client with eight slots. A cancelled call must return its slot.
ASYNCHRONOUS = """
import asyncio

import httpx


class StatusError(Exception):
    def __init__(self, status):
        super().__init__(str(status))
        self.status_code = status


class Shop:
    def __init__(self, petstore):
        self.slots = asyncio.Semaphore(8)
        self.http = httpx.AsyncClient(headers=petstore.headers, timeout=petstore.timeout)
        self.url = petstore.url

    async def list_pets(self, limit=None, status=None):
        given = {name: value for name, value in (("limit", limit), ("status", status)) if value is not None}
        TAKE
            response = await self.http.get(self.url + "/pets", params=given)
        RETURN
        if response.status_code != 200:
            raise StatusError(response.status_code)
        return response.json()

    async def close(self):
        await self.http.aclose()


def make(petstore):
    return Shop(petstore)
"""
SLOTS = {
    "endless wait": ("await self.slots.acquire()\n        if True:", "self.slots.release()"),
    "exception swallowed": (
        "try:",
        "except asyncio.CancelledError:\n            raise TimeoutError('cancelled') from None",
    ),
    "": ("async with self.slots:", ""),
}


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("rule", SLOTS)
def test_calls_of_an_asynchronous_client_are_cancelled(check: Check, tmp_path: Path, rule: str) -> None:
    take, release = SLOTS[rule]
    (tmp_path / "shop.py").write_text(ASYNCHRONOUS.replace("TAKE", take).replace("RETURN", release), encoding="utf-8")
    exit_code, out, error = check(in_python(tmp_path), *QUICKLY, "--first", "--patience", "2")
    assert (exit_code, error) == (1 if rule else 0, ""), out
    assert not rule or f"(rule {rule!r})" in out
    assert not rule or "listPets {} again and again, cancelled each time\n" in out


def in_python(folder: Path) -> list[str]:
    """Return the command of the adapter for ``shop:make`` in a folder."""
    program = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]; sys.argv[1:] = ['shop:make']; "
    return [
        sys.executable,
        "-c",
        f"{program}import runpy; runpy.run_module('petstore_mock.adapter', run_name='__main__')",
    ]


@pytest.mark.slow
def test_a_client_in_python_has_the_same_bug_through_its_adapter(check: Check, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from tests.stateful.corpora import CASES\nmake = CASES['CreatesAgain'].make\n", encoding="utf-8"
    )
    code, out, _ = check(in_python(tmp_path), "--examples", "1", "--vary", "", "--first")
    assert code == 1
    assert "(rule 'create sent again')" in out
    code, out, _ = check(in_python(tmp_path), "--replay", str(tmp_path / "petstore-check.json"))
    assert code == 1
    assert "(rule 'create sent again')" in out
