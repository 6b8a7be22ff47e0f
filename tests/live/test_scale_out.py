"""Four stubs behind the proxies of the documentation: 400 worlds stay separate."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.live.stub import PATIENCE, Stub, reserved_port, stub
from tests.platforms import POSIX_SIGNALS
from tools.documents.blocks import blocks

Call = Callable[..., tuple[int, Any]]

PROGRAMS: Final = {
    name: shutil.which(name) or shutil.which(name, path="/usr/sbin")  # Debian: apt install nginx-light haproxy
    for name in ("nginx", "haproxy")
}
STUBS: Final = 4
WORLDS: Final = 400
SUITES: Final = 8


def recipe(name: str) -> str:
    """Return a configuration from the documentation."""
    (block,) = [one for one in blocks("nginx", "haproxy", "yaml") if one.text.startswith(f"# {name}\n")]
    assert block.document.stem == "scale-out"
    return block.text


@contextmanager
def calling(port: int) -> Iterator[Call]:
    """Yield a function that sends to a proxy or a stub, and returns status and JSON."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False) as client:

        def call(method: str, path: str, body: object = None, key: str = "") -> tuple[int, Any]:
            response = client.request(
                method, path, json=body, headers={"Authorization": f"Bearer {key}"} if key else {}
            )
            return response.status_code, response.json() if "json" in response.headers.get("Content-Type", "") else None

        yield call


@contextmanager
def farm(folder: Path, proxy: str) -> Iterator[tuple[int, list[Stub]]]:
    """Run the stubs and a proxy for the length of a block. Yield the port of the proxy, and the stubs."""
    with ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        options = ("--quiet", "--allowed-host", f"127.0.0.1:{port}")
        stubs = [stack.enter_context(stub(*options, stderr=subprocess.DEVNULL)) for _ in range(STUBS)]
        text = recipe(f"{proxy}.c{'onf' if proxy == 'nginx' else 'fg'}").replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        for number, one in enumerate(stubs, 1):
            text = re.sub(rf"127\.0\.0\.1:808{number}\b", f"127.0.0.1:{one.address[1]}", text)
        log = folder / "proxy.log"
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(command_of(proxy, folder, text), stdout=file, stderr=file)
        try:
            while not listens(port):
                assert process.poll() is None, log.read_text(encoding="utf-8")
            yield port, stubs
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True


def command_of(proxy: str, folder: Path, text: str) -> list[str]:
    file = folder / "proxy.conf"
    if proxy == "haproxy":
        file.write_text(text, encoding="utf-8")
        return [str(PROGRAMS[proxy]), "-db", "-f", str(file)]  # in the foreground
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    file.write_text(text.replace("http {", f"http {{ {temporary}", 1), encoding="utf-8")
    files = ("-p", str(folder), "-c", str(file), "-e", str(folder / "error.log"))
    return [str(PROGRAMS[proxy]), *files, "-g", f"daemon off; pid {folder}/nginx.pid;"]


def one_test(call: Call, port: int, number: int) -> None:
    """Do what a typical test does in its own world. Assert that the test sees only its own state."""
    root, name = f"/w/test-{number}", f"of {number}"
    seed = [{"name": name} for _ in range(1 + number % 3)]
    status, made = call("PUT", f"{root}/__petstore/world", {"seed": seed, "strict": True})
    assert (status, made["url"]) == (201, f"http://127.0.0.1:{port}{root}/v1")
    key, pets = made["api_key"], f"{root}/v1/pets"
    assert call("POST", f"{root}/__petstore/faults", {"fault": 503, "on": "listPets", "times": 1})[0] == 201
    assert call("POST", pets, {"name": name, "categoryId": 1}, key)[0] == 201
    assert call("GET", pets, key=key)[0] == 503
    check_animals(call, number, key)
    asserted = {"operation": "createPet", "times": 1, "where": {"name": name}}
    assert call("POST", f"{root}/__petstore/requests/assert", asserted)[1]["passed"] is True
    journal = call("GET", f"{root}/__petstore/requests")[1]
    assert [one["status"] for one in journal["requests"]] == [201, 503, 200]
    assert call("GET", f"{root}/__petstore/world/verification")[1]["passed"] is True


def check_animals(call: Call, number: int, key: str) -> None:
    status, pets = call("GET", f"/w/test-{number}/v1/pets", key=key)
    assert (status, [pet["name"] for pet in pets]) == (200, [f"of {number}"] * (2 + number % 3))


def run_all(port: int, stubs: list[Stub]) -> dict[str, tuple[int, str]]:
    """Run the tests of all worlds in parallel suites. Return the stub and the key of each world."""

    def suite(which: int) -> None:
        with calling(port) as call:
            for number in range(which, WORLDS, SUITES):
                one_test(call, port, number)

    with ThreadPoolExecutor(SUITES) as suites:
        list(suites.map(suite, range(SUITES)))
    whose: dict[str, tuple[int, str]] = {}
    for index, one in enumerate(stubs):
        with calling(one.address[1]) as call:
            for world in call("GET", "/__petstore/worlds")[1]["worlds"][1:]:
                assert world["name"] not in whose, "two stubs have this world"
                whose[world["name"]] = index, world["api_key"]
    count = Counter(index for index, _ in whose.values())
    assert count.total() == WORLDS
    assert all(count[index] > WORLDS / STUBS / 3 for index in range(STUBS)), count
    return whose


@pytest.mark.slow
@POSIX_SIGNALS
@pytest.mark.parametrize("proxy", PROGRAMS)
def test_worlds_behind_a_proxy_stay_separate_and_a_killed_stub_loses_only_its_own(tmp_path: Path, proxy: str) -> None:
    if PROGRAMS[proxy] is None:
        pytest.skip(f"{proxy} is not installed")
    with farm(tmp_path, proxy) as (port, stubs):
        with calling(port) as call:
            check_that_the_root_is_always_the_same_stub(call)
        whose = run_all(port, stubs)
        stubs[0].process.send_signal(signal.SIGKILL)
        stubs[0].process.wait(PATIENCE)
        gone = {502} if proxy == "nginx" else {503, 404}  # HAProxy soon sends these requests to another stub
        with calling(port) as call:
            for name, (index, key) in whose.items():
                if index == 0:
                    assert call("GET", f"/w/{name}/v1/pets", key=key)[0] in gone
                else:
                    check_animals(call, int(name.removeprefix("test-")), key)


def check_that_the_root_is_always_the_same_stub(call: Call) -> None:
    made = call("POST", "/__petstore/pets", {"name": "Rex"})[1]["pets"][0]
    key = call("GET", "/__petstore/world")[1]["api_key"]
    for path in ("/v1/pets", f"/v1/pets/{made['id']}", "/v1/pets?status=sold", "/v1/dogs"):
        assert call("GET", path, key=key)[0] == (404 if "dogs" in path else 200)
    assert call("GET", "/__petstore/requests?last=1")[1]["total"] == 4
    assert call("GET", "/__petstore/worlds")[1]["worlds"][0]["requests"] == 4


def test_both_proxies_name_the_same_stubs_and_each_selector_matches_a_pod() -> None:
    """The selector of each Service matches the labels of a pod. The probes request ``health``, which needs no token."""
    for name in ("nginx.conf", "haproxy.cfg"):
        named = re.findall(r"127\.0\.0\.1:808[1-9]", recipe(name))
        assert named == [f"127.0.0.1:808{number}" for number in range(1, STUBS + 1)]
    items = yaml.safe_load(recipe("petstore.yaml"))["items"]
    pods = [item["spec"]["template"] for item in items if "template" in item["spec"]]
    labels = [pod["metadata"]["labels"] for pod in pods]
    for item in items:
        assert item["spec"]["selector"].get("matchLabels", item["spec"]["selector"]) in labels
    (container,) = pods[0]["spec"]["containers"]
    probes = {container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")}
    assert probes == {"/__petstore/health"}
    assert container["env"][0]["name"] == "PETSTORE_MOCK_CONTROL_TOKEN"
