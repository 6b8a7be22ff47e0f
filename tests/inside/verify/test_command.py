"""``petstore-mock verify`` and ``learn`` on a command line: options, files, exit codes."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError, faults
from petstore_mock.cli import run
from petstore_mock.contract.gaps import GAPS
from petstore_mock.verify import learn, verify
from petstore_mock.verify.gap_evidence import NEEDS
from tests.platforms import POSIX_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = ("--rate", "1000000", "--timeout", "1")


@pytest.fixture
def service() -> Iterator[PetStoreMock]:
    with PetStoreMock(seed=30) as petstore:
        yield petstore


def command(*arguments: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], out, err)
    return code, out.getvalue(), err.getvalue()


def test_verify_writes_its_reports_and_exits_0(service: PetStoreMock, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("json", "junit")}
    options = [part for name, file in files.items() for part in (f"--{name}", file)]
    code, out, err = command("verify", service.url, "--api-key", service.api_key, *QUICK, *options)
    assert (code, err) == (0, "")
    assert "§4.1 List animals" in out
    record = json.loads(files["json"].read_text(encoding="utf-8"))
    assert {"url", "date", "clauses", "gaps", "drift"} <= record.keys()
    assert record["url"] == service.url
    assert set(record["clauses"][0]) >= {"id", "section", "words", "result", "detail"}
    assert {clause["result"] for clause in record["clauses"]} == {"holds", "not_observable"}
    assert record["gaps"]["list_order"]["choice"] == "id_ascending"
    suite = ET.parse(files["junit"]).getroot()[0]
    assert suite.get("failures") == "0"
    assert len(suite) == int(suite.get("tests", "")) == len(record["clauses"])
    for file in files.values():
        assert service.api_key not in file.read_text(encoding="utf-8")


def test_the_key_comes_from_the_environment(service: PetStoreMock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGING_KEY", service.api_key)
    assert command("verify", service.url, "--api-key-env", "STAGING_KEY", *QUICK)[0] == 0


def test_a_broken_contract_exits_1(service: PetStoreMock, tmp_path: Path) -> None:
    service.inject(400, on="getPet", off_contract=True)
    code, out, _ = command("verify", service.url, "--api-key", service.api_key, *QUICK, "--json", tmp_path / "v.json")
    assert code == 1
    assert "BROKEN          4.3-absent" in out
    assert "is it the right one?" not in out
    assert json.loads((tmp_path / "v.json").read_text())["exit_code"] == 1


def test_an_address_that_may_lack_its_end_is_asked_about(service: PetStoreMock) -> None:
    code, out, _ = command("verify", service.url.removesuffix("/v1"), "--api-key", service.api_key, *QUICK)
    assert code == 1
    assert out.endswith("The interface's base address ends in /v1, and this one does not: is it the right one?\n")


def test_an_outage_exits_3_and_writes_the_record_all_the_same(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code, _, _ = command(
        "verify", f"http://127.0.0.1:{port}/v1", "--api-key", "k", *QUICK, "--json", tmp_path / "v.json"
    )
    assert code == 3
    record = json.loads((tmp_path / "v.json").read_text())
    assert {clause["result"] for clause in record["clauses"]} == {"could_not_check"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify"], "URL"),
        (["verify", "http://127.0.0.1:9/v1"], "--api-key-env"),
        (["verify", "127.0.0.1:9/v1", "--api-key", "k"], "expected a base address"),
        (["verify", "http://user:pass@127.0.0.1/v1", "--api-key", "k"], "without a user"),
        (["verify", "http://127.0.0.1:99999/v1", "--api-key", "k"], "expected a base address"),
        (["verify", "http://user:pass@127.0.0.1:99999/v1", "--api-key", "k"], "without a user"),
        (["verify", "ftp://user:pass@127.0.0.1/v1", "--api-key", "k"], "without a user"),
        (["verify", "http://127.0.0.1:9/v\N{CHECK MARK}", "--api-key", "k"], "percent-encoded"),
        (["verify", "http://\N{SNOWMAN}.invalid/v1", "--api-key", "k"], "xn--"),
        (["verify", "http://127.0.0.1:9/v 1", "--api-key", "k"], "percent-encoded"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key-env", "NO_SUCH_VARIABLE"], "not set"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "a b"], "without blanks"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--rate", "0"], "more than 0"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--rate", "nan"], "more than 0"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--rate", "1e-300"], "more than 0"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--timeout", "1e300"], "less than a billion"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--allow-create", "-1"], "from 0 up"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--max-requests", "0"], "from 1 up"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--json", "/no/such/directory/f"], "--json"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--receipt", "/no/such/directory/f"], "receipt"),
        (["verify", "http://127.0.0.1:9/v1", "--api-key", "k", "--behaviour", "/no/such.toml"], "TOML"),
        (["learn"], "--har"),
        (["learn", "--har", "/no/such.har"], "HAR"),
    ],
)
def test_wrong_arguments_exit_2_and_say_what_is_wrong(arguments: list[str], words: str) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "pass@" not in err


@pytest.mark.parametrize("options", [{"url": 5}, {"receipt": 5}, {"receipt": "a\0b"}, {"har": "x", "url": 5}], ids=str)
def test_arguments_of_another_type_are_told_at_the_call(options: dict[str, Any]) -> None:
    ask: Any = learn if "har" in options else verify
    with pytest.raises(PetStoreMockError, match=r"\Aexpected "):
        ask(**{"url": "http://127.0.0.1:9/v1", "api_key": "k"} | options)


def test_a_plan_shows_every_request_and_sends_none(service: PetStoreMock) -> None:
    code, out, _ = command("verify", service.url, "--api-key", service.api_key, "--plan", "--allow-create", "3")
    assert code == 0
    assert len(service.journal) == 0
    assert "GET  /pets/{known}  Authorization: Bearer {key}\n" in out
    assert "(creates an animal)" in out
    assert service.api_key not in out
    assert "POST" not in command("verify", service.url, "--plan")[1]


def test_learn_writes_a_behaviour_that_the_fixture_and_the_stub_read(tmp_path: Path) -> None:
    unlooked = {name: gap.default for name, gap in GAPS.items() if name not in NEEDS}
    behaviour = Behaviour.preset("hostile").replace(unlooked)
    file = tmp_path / "service.toml"
    with PetStoreMock(seed=30, behaviour=behaviour, at="2030-12-06") as petstore:
        code, out, err = command(
            "learn", petstore.url, "--api-key", petstore.api_key, *QUICK, "--allow-create", 20, "-o", file
        )
    assert (code, err) == (0, "")
    assert "24 of 32 gaps" in out
    assert Behaviour.from_toml(file) == behaviour
    text = file.read_text(encoding="utf-8")
    assert "# connection: not looked at\n" in text
    assert 'list_order = "arbitrary"  # ' in text
    assert "answers: " in text
    with PetStoreMock(behaviour=file) as again:
        assert again.behaviour == behaviour


def test_learn_lists_what_can_not_be_told_with_its_reason(service: PetStoreMock) -> None:
    code, out, _ = command("learn", service.url, "--api-key", service.api_key, *QUICK)
    assert code == 0
    assert "# name_rule: it takes creating an animal (--allow-create)" in out
    assert "\nname_rule = " not in out


def test_learn_keeps_what_it_knows_of_a_service_that_is_not_there(tmp_path: Path) -> None:
    known, new = tmp_path / "service.toml", tmp_path / "new.toml"
    known.write_text('list_order = "by_name"\n', encoding="utf-8")
    for file in (known, new):
        code, out, err = command("learn", "http://127.0.0.1:1/v1", "--api-key", "x", *QUICK, "-o", file)
        assert (code, out) == (3, "")
        assert "nothing could be learned: It ended early: nothing readable came: no connection" in err
        assert f"{file} is as it was" in err
    assert known.read_text(encoding="utf-8") == 'list_order = "by_name"\n'
    assert not new.exists()


def test_learn_tells_a_service_that_does_something_else(service: PetStoreMock) -> None:
    service.inject(faults.respond(200, json=[], headers={"X-Pagination": "1/1"}), on="listPets")
    out = command("learn", service.url, "--api-key", service.api_key, *QUICK)[1]
    assert "# paging_headers: none of none, link, next_link, total_count: GET /pets -> 200 with X-Pagination" in out


def test_learn_tells_contradictory_evidence(service: PetStoreMock) -> None:
    asked = 0

    def turn(line: str) -> None:
        nonlocal asked
        asked += "limit=0" in line
        service.configure(invalid_limit="ignore" if asked > 1 else "reject")

    from petstore_mock.verify import learn  # noqa: PLC0415

    learned = learn(service.url, api_key=service.api_key, rate=1e6, progress=turn)
    assert learned.gaps["invalid_limit"].kind == "contradictory"
    assert "invalid_limit" not in learned.choices
    assert "# invalid_limit: contradictory: " in learned.to_toml()


def test_drift_exits_1_and_is_in_the_record(service: PetStoreMock, tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text('content_type = "with_charset"\n')
    record = tmp_path / "v.json"
    options = ("--behaviour", file, "--json", record)
    code, out, _ = command("verify", service.url, "--api-key", service.api_key, *QUICK, *options)
    assert code == 1
    assert "content_type: recorded is with_charset; came plain" in out
    (drift,) = json.loads(record.read_text(encoding="utf-8"))["drift"]
    assert (drift["gap"], drift["expected"]) == ("content_type", "with_charset")
    assert drift["came"].startswith("plain")


@POSIX_SIGNALS
def test_ctrl_c_ends_it_with_what_is_known_so_far(service: PetStoreMock, tmp_path: Path) -> None:
    record = tmp_path / "v.json"
    # A shell starts what runs in the background with SIGINT ignored, and a child takes that over.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from petstore_mock.cli import main; sys.exit(main())"
    )
    options = ["--api-key", service.api_key, "--rate", "20", "--json", str(record)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "verify", service.url, *options], stdout=subprocess.PIPE, text=True
    )
    service.journal.wait_for(times=10, timeout=20)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "stopped: it was interrupted" in out
    results = {clause["result"] for clause in json.loads(record.read_text())["clauses"]}
    assert results - {"not_observable"} == {"holds", "could_not_check"}


def test_progress_shows_on_a_terminal_alone(service: PetStoreMock) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out, err = io.StringIO(), Terminal()
    run(["verify", service.url, "--api-key", service.api_key, *QUICK, "--max-requests", "3"], out, err)
    assert "\r\x1b[K2  GET /pets?limit=100" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")


def test_a_recording_teaches_what_a_run_does_and_asks_nobody(tmp_path: Path) -> None:
    behaviour = Behaviour.preset("hostile").replace(list_order="by_name", connection="kept")
    har, file = tmp_path / "traffic.har", tmp_path / "service.toml"
    with PetStoreMock(seed=30, behaviour=behaviour, at="2030-12-06") as petstore:
        url = petstore.url
        command("verify", url, "--api-key", petstore.api_key, *QUICK, "--allow-create", 20)
        petstore.journal.to_har(har)
    assert petstore.api_key not in har.read_text(encoding="utf-8")
    code, _, err = command("learn", "--har", har, "-o", file)
    assert (code, err) == (0, "")
    learned = Behaviour.from_toml(file)
    wanted = {name: value for name, value in behaviour.differences().items() if name in NEEDS}
    assert {name: getattr(learned, name) for name in wanted} == wanted
    assert "# connection: not looked at" in file.read_text(encoding="utf-8")
    assert command("learn", "--har", har, "--url", url)[0] == 0
    assert command("learn", "--har", har, "--url", "http://elsewhere/v1")[0] == 2


def entry(url: str, status: int, text: str | None, **request: object) -> dict[str, object]:
    content = {"size": 10, "mimeType": "application/json", **({} if text is None else {"text": text})}
    headers = [{"name": "Authorization", "value": "Bearer the-key"}, {"name": "Cookie", "value": "session=1"}]
    return {
        "request": {"method": "GET", "url": url, "headers": headers, **request},
        "response": {
            "status": status,
            "headers": [{"name": "Content-Type", "value": "application/json"}],
            "content": content,
        },
    }


def test_a_recording_without_bodies_says_so_and_learns_from_the_rest(tmp_path: Path) -> None:
    base = "https://pets.example.com/v1"
    entries = [
        entry(f"{base}/pets?limit=0", 400, '{"code": "BAD", "message": "the-key", "status": 400}'),
        entry(f"{base}/pets", 200, None),
        entry("https://cdn.example.com/app.js", 200, "x"),
        {"request": None, "response": {}},
        entry(f"{base}/pets/x", 0, None),
    ]
    file = tmp_path / "a.har"
    file.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    code, out, _ = command("learn", "--har", file)
    assert code == 0
    assert f"# Learned from {base} (recorded)" in out
    assert "# 1 answers are recorded without their bodies" in out
    assert 'invalid_limit = "reject"' in out
    assert 'error_codes = "terse"' in out
    assert "the-key" not in out


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"log": {"entries": 5}}', '{"log": {"entries": []}}', "\x00", '{"log": {"entries": [1, {}]}}'],
)
def test_what_is_no_recording_exits_2(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.har"
    file.write_text(text, encoding="utf-8")
    code, _, err = command("learn", "--har", file)
    assert code == 2
    assert str(file) in err


def test_a_recording_of_two_services_asks_which(tmp_path: Path) -> None:
    file = tmp_path / "a.har"
    entries = [entry(f"https://{host}.example.com/v1/pets", 200, "[]") for host in ("a", "b")]
    file.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    code, _, err = command("learn", "--har", file)
    assert code == 2
    assert "https://a.example.com/v1, https://b.example.com/v1" in err
    assert command("learn", "--har", file, "--url", "https://a.example.com/v1")[0] == 0
