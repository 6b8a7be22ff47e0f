"""The commands ``petstore-mock verify`` and ``learn``: options, files and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from petstore_mock import Behaviour, PetStoreMock
from tests.platforms import POSIX_SIGNALS
from tests.programs import alternatives
from tests.verify.services import Turn, changed, fixed, on, served, where, with_status

QUICK = ("--rate", "1000000", "--timeout", "1")


@pytest.fixture
def service() -> Iterator[PetStoreMock]:
    with PetStoreMock(seed=30) as petstore:
        yield petstore


def command(*arguments: object, **variables: str) -> tuple[int, str, str]:
    line = [sys.executable, "-m", "petstore_mock", *map(str, arguments)]
    ran = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    return ran.returncode, ran.stdout, ran.stderr


def test_verify_writes_its_reports_and_exits_0(service: PetStoreMock, tmp_path: Path) -> None:
    record = tmp_path / "v.json"
    options = ("--api-key-env", "STAGING_KEY", *QUICK, "--verbose", "--json", record)
    code, out, err = command("verify", service.url, *options, STAGING_KEY=service.api_key)
    assert (code, err) == (0, "")
    assert "holds           4.1-list: " in out
    found = json.loads(record.read_text(encoding="utf-8"))
    assert {"url", "date", "clauses", "gaps", "drift", "exit_code", "requests", "created", "stopped"} <= found.keys()
    assert set(found["clauses"][0]) >= {"id", "section", "words", "result", "detail"}
    assert {clause["result"] for clause in found["clauses"]} == {"holds", "not_observable"}
    assert found["gaps"]["list_order"]["choice"] == "id_ascending"
    assert service.api_key not in out + record.read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_the_report_fits_the_terminal_and_verbose_shows_whole_commands(columns: int) -> None:
    tenant = "tenant-4711" * 20
    with PetStoreMock(seed=30, mutant="status-case-passes") as petstore:
        options = (
            "--api-key",
            petstore.api_key,
            "--allow-create",
            40,
            "--header",
            f"X-Tenant: {tenant}",
        )
        shown = ("verify", petstore.url, *options, *QUICK)
        _, out, _ = command(*shown, COLUMNS=str(columns))
        _, verbose, _ = command(*shown, "--verbose", COLUMNS=str(columns))
    assert "BROKEN          4.2-status-case" in out
    assert max(map(len, out.splitlines())) <= min(columns, 100)
    assert re.search(r" and \d+ more \(--verbose\)", " ".join(out.split()))
    assert "more (--verbose)" not in verbose
    (line,) = [line for line in verbose.splitlines() if "curl -i" in line]
    assert f"-H 'X-Tenant: {tenant}'" in line
    pieces = out[out.index("curl -i") :].partition("\nleft behind")[0].split(" \\\n")
    assert len(pieces) > 1
    assert " ".join(piece.strip() for piece in pieces).startswith("curl -i -X POST")


URL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify"], "URL"),
        (["verify", URL], "--api-key-env"),
        (["verify", "http://user:pass@127.0.0.1:99999/v1", "--api-key", "k"], "without a user"),
        (["verify", URL, "--api-key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE; it is empty or not set"),
        (["verify", URL, "--api-key-env", "pass@"], "the variable that --api-key-env names; it is empty"),
        (["verify", URL, "--api-key", "a b"], "without spaces"),
        (["verify", URL, "--api-key", "k", "--rate", "nan"], "greater than 0"),
        (["verify", URL, "--api-key", "k", "--allow-create", "-1"], "at least 0"),
        (["verify", URL, "--api-key", "k", "--json", "/no/such/directory/f"], "--json"),
        (["verify", URL, "--api-key", "k", "--behaviour", "/no/such.toml"], "TOML"),
        (
            ["verify", URL, "--plan", "--json", "f"],
            "no output file with --plan, which sends no request; got --json",
        ),
        (["verify", URL, "--api-key", "k", "--header", "pass@"], "without a colon"),
        (["verify", URL, "--api-key", "k", "--header", "Authorization: pass@"], "header='Authorization'"),
        (["verify", URL, "--api-key", "k", "--header", "X Y: pass@"], "header='X Y'"),
        (["verify", URL, "--api-key", "k", "--secret-header", "X-Two: pass@"], "got a text that is no such name"),
        (["verify", URL, "--api-key", "k", "--cert", "/no/such.pem"], "a client certificate"),
        (["learn"], "URL"),
    ],
)
def test_wrong_arguments_exit_2_and_say_what_is_wrong(arguments: list[str], words: str) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "pass@" not in err


def test_address_without_the_version_exits_2_and_names_the_right_one() -> None:
    with served(fixed("404 Not Found")) as url:
        code, out, err = command("verify", url.removesuffix("/v1"), "--api-key", "k")
    assert (code, out) == (2, "")
    assert f"did you mean {url}?" in err


def test_the_report_on_an_unreachable_service_names_a_proxy_that_is_set() -> None:
    arguments = ("verify", URL, "--api-key", "k", *QUICK)
    proxy = {"HTTP_PROXY": "http://me:pass@127.0.0.1:9", "http_proxy": "http://me:pass@127.0.0.1:9"}
    code, out, err = command(*arguments, **proxy, NO_PROXY="", no_proxy="")
    assert (code, err) == (3, "")
    assert "HTTP_PROXY is set, but verify uses no proxy" in " ".join(out.split())
    assert "pass@" not in out
    assert "HTTP_PROXY" not in command(*arguments, **proxy, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")[1]


def test_headers_of_a_gateway_are_sent_and_masked_in_every_report(tmp_path: Path) -> None:
    def gateway(turn: Turn) -> int | None:
        return None if (turn.environ.get("HTTP_X_ONE"), turn.environ.get("HTTP_X_TWO")) == values else 403

    values, record, receipt = (
        ("first: a long value with a goldfinch", "second-goldfinch"),
        tmp_path / "v.json",
        tmp_path / "receipt",
    )
    files = ("--json", record, "--receipt", receipt, "--allow-create", 3)
    secret = ("--secret-header", "x-one", "--secret-header", "X-Two")
    headers = ("--header", f"X-One: {values[0]}", "--header", f"X-Two:{values[1]}", *secret)
    with changed(where(on("create", 201), with_status(200)), refuses=gateway) as (petstore, url):
        code, out, err = command("verify", url, "--api-key", petstore.api_key, *QUICK, *headers, *files)
    assert (code, err) == (1, "")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("BROKEN")] == ["4.2-created:"]
    assert "-H 'X-One: ***'" in out
    for text in (out, record.read_text(encoding="utf-8"), receipt.read_text(encoding="utf-8")):
        assert "goldfinch" not in text


def test_junit_has_a_case_for_each_clause_and_the_exchange_in_the_failure(tmp_path: Path) -> None:
    file, record = tmp_path / "verdict.xml", tmp_path / "verdict.json"
    with PetStoreMock(seed=30, mutant="create-name-nul-changed") as petstore:
        petstore.configure(list_order="by_name")
        options = ("--api-key", petstore.api_key, *QUICK, "--allow-create", 40, "--junit", file, "--json", record)
        code, _, err = command("verify", petstore.url, *options, "--behaviour", "strict")
    assert (code, err) == (1, "")
    suite = ET.parse(file).getroot()[0]
    cases = {str(case.get("name")).partition(":")[0]: case for case in suite.iter("testcase")}
    clauses = [clause["id"] for clause in json.loads(record.read_text(encoding="utf-8"))["clauses"]]
    assert [*cases] == [*clauses, "list_order"]
    failures = {name: case[0] for name, case in cases.items() if len(case) and case[0].tag == "failure"}
    assert failures.keys() == {"2-name-nul", "list_order"}
    text = str(failures["2-name-nul"].text)
    assert text.startswith("POST /pets: expected name to be ")
    assert "\ncurl -i -X POST " in text
    assert str(failures["list_order"].get("message")).startswith("list_order: expected id_ascending")
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == [str(len(cases)), "2", "0"]


def test_junit_says_why_a_clause_was_skipped_or_could_not_be_checked(service: PetStoreMock, tmp_path: Path) -> None:
    file = tmp_path / "verdict.xml"
    assert command("verify", service.url, "--api-key", service.api_key, *QUICK, "--junit", file)[0] == 0
    skipped = {str(one.get("message")) for one in ET.parse(file).getroot().iter("skipped")}
    assert "creating animals needs --allow-create" in skipped
    assert command("verify", URL, "--api-key", "k", *QUICK, "--junit", file)[0] == 3
    suite = ET.parse(file).getroot()[0]
    assert suite.get("errors") == suite.get("tests")
    assert "Connection refused" in str(next(suite.iter("error")).get("message"))


def test_plan_prints_the_planned_requests_and_sends_none(service: PetStoreMock) -> None:
    code, out, _ = command("verify", service.url, "--api-key", service.api_key, "--plan", "--allow-create", "3")
    assert (code, len(service.journal)) == (0, 0)
    assert "GET /pets/{known}  Authorization: Bearer {key}\n" in out
    assert "POST /pets  Authorization: Bearer {key}  {" in out
    assert service.api_key not in out
    assert "POST" not in command("verify", service.url, "--plan")[1]


def test_learn_writes_a_behaviour(tmp_path: Path) -> None:
    behaviour = Behaviour.preset("hostile").replace(
        list_order="by_name",
        connection="kept",
        header_names="canonical",
        json_style="compact",
        answer_framing="content_length",
    )
    file = tmp_path / "service.toml"
    with PetStoreMock(seed=30, behaviour=behaviour, at="2030-12-06") as petstore:
        options = ("--api-key", petstore.api_key, *QUICK, "--allow-create", 20, "-o", file)
        code, out, err = command("learn", petstore.url, *options)
    assert (code, bool(re.fullmatch(r"petstore-mock: at most \d+ animals left behind\n", err))) == (0, True)
    assert f"of {len(alternatives())} gaps" in out
    assert Behaviour.from_toml(file) == behaviour
    assert "# connection: not looked at\n" in file.read_text(encoding="utf-8")


def test_learn_names_the_clauses_that_the_service_breaks(service: PetStoreMock) -> None:
    for operation in ("listPets", "getPet"):
        service.inject(400, on=operation, off_contract=True)
    code, _, err = command("learn", service.url, "--api-key", service.api_key, *QUICK)
    assert code == 0
    assert re.fullmatch(r"petstore-mock: the service breaks [\w.-]+(, [\w.-]+)+ \(see 'petstore-mock verify'\)\n", err)


@POSIX_SIGNALS
def test_ctrl_c_ends_the_run_with_a_verdict_on_the_requests_so_far(service: PetStoreMock) -> None:
    # A background job of a shell ignores SIGINT, and its children inherit that.
    code = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "runpy.run_module('petstore_mock', run_name='__main__', alter_sys=True)"
    )
    line = [sys.executable, "-c", code, "verify", service.url, "--api-key", service.api_key, "--rate", "20"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    service.journal.wait_for(times=10, timeout=20)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "stopped: interrupted by Ctrl-C" in " ".join(out.split())
