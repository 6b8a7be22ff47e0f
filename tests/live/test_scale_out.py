"""Four stubs behind the proxies of the documents: four hundred worlds, none of which meets another."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.live.stub import PATIENCE, Stub, reserved_port, stub
from tests.platforms import POSIX_SIGNALS
from tools.documents.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NGINX: Final = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
HAPROXY: Final = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
STUBS: Final = 4
WORLDS: Final = 400
SUITES: Final = 8


def recipe(name: str) -> str:
    """Return the configuration that the documents show."""
    (block,) = [one for one in blocks("nginx", "haproxy", "yaml") if one.text.startswith(f"# {name}\n")]
    assert block.document.stem == "scale-out"
    return block.text


@dataclass
class Farm:
    """Stubs behind a proxy at ``port``."""

    port: int
    stubs: list[Stub]

    def ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: object = None, key: str = ""
    ) -> Any:  # noqa: ANN401
        """Send a request; return status and JSON."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, json.loads(content) if is_json and content else None

    def connect(self, port: int | None = None) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)


@contextmanager
def farm(folder: Path, proxy: str) -> Iterator[Farm]:
    """Run the stubs and a proxy for the length of a block."""
    with ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        options = ("--quiet", "--allowed-host", f"127.0.0.1:{port}")
        stubs = [stack.enter_context(stub(*options, stderr=subprocess.DEVNULL)) for _ in range(STUBS)]
        text = recipe(f"{proxy}.c{'onf' if proxy == 'nginx' else 'fg'}").replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        for number, one in enumerate(stubs, 1):
            text = re.sub(rf"127\.0\.0\.1:808{number}\b", f"127.0.0.1:{one.address[1]}", text)
        command = nginx(folder, text) if proxy == "nginx" else haproxy(folder, text)
        with (folder / "proxy.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _until_it_listens(process, port, folder / "proxy.log")
            yield Farm(port, stubs)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


def nginx(folder: Path, text: str) -> list[str]:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(text.replace("http {", f"http {{ {temporary}", 1), encoding="utf-8")
    files = ("-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log"))
    return [str(NGINX), *files, "-g", f"daemon off; pid {folder}/nginx.pid;"]


def haproxy(folder: Path, text: str) -> list[str]:
    (folder / "haproxy.cfg").write_text(text, encoding="utf-8")
    return [str(HAPROXY), "-db", "-f", str(folder / "haproxy.cfg")]  # in the foreground


def _until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while True:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        except ConnectionRefusedError:
            continue
        return


def one_test(farm: Farm, connection: http.client.HTTPConnection, number: int) -> None:
    """Do what a test does, in a world of its own, and see what is its own and nothing else."""
    root, name = f"/w/test-{number}", f"of {number}"
    seed = [{"name": name} for _ in range(1 + number % 3)]
    status, made = farm.ask(connection, "PUT", f"{root}/__petstore/world", {"seed": seed, "strict": True})
    assert (status, made["url"]) == (201, f"http://127.0.0.1:{farm.port}{root}/v1")
    key, pets = made["api_key"], f"{root}/v1/pets"
    fault = {"fault": 503, "on": "listPets", "times": 1}
    assert farm.ask(connection, "POST", f"{root}/__petstore/faults", fault)[0] == 201
    assert farm.ask(connection, "POST", pets, {"name": name, "categoryId": 1}, key)[0] == 201
    assert farm.ask(connection, "GET", pets, key=key)[0] == 503
    look_again(farm, connection, number, key)
    asserted = {"operation": "createPet", "times": 1, "where": {"name": name}}
    assert farm.ask(connection, "POST", f"{root}/__petstore/requests/assert", asserted)[1]["passed"] is True
    journal = farm.ask(connection, "GET", f"{root}/__petstore/requests")[1]
    assert [one["status"] for one in journal["requests"]] == [201, 503, 200]
    assert farm.ask(connection, "GET", f"{root}/__petstore/world/verification")[1]["passed"] is True


def look_again(farm: Farm, connection: http.client.HTTPConnection, number: int, key: str) -> None:
    status, pets = farm.ask(connection, "GET", f"/w/test-{number}/v1/pets", key=key)
    assert (status, [pet["name"] for pet in pets]) == (200, [f"of {number}"] * (2 + number % 3))


def run_all(running: Farm) -> dict[str, tuple[int, str]]:
    """Run the tests of all worlds in parallel suites; return on which stub each world is, and its key."""

    def suite(which: int) -> None:
        connection = running.connect()
        for number in range(which, WORLDS, SUITES):
            one_test(running, connection, number)
        connection.close()

    with ThreadPoolExecutor(SUITES) as suites:
        list(suites.map(suite, range(SUITES)))
    whose: dict[str, tuple[int, str]] = {}
    for index, one in enumerate(running.stubs):
        connection = running.connect(one.address[1])
        for world in running.ask(connection, "GET", "/__petstore/worlds")[1]["worlds"][1:]:
            assert world["name"] not in whose, "a world is on one stub"
            whose[world["name"]] = index, world["api_key"]
        connection.close()
    assert len(whose) == WORLDS
    count = Counter(index for index, _ in whose.values())
    assert all(count[index] > WORLDS / STUBS / 3 for index in range(STUBS)), count
    return whose


def kill(one: Stub) -> None:
    one.process.send_signal(signal.SIGKILL)
    one.process.wait(PATIENCE)


PROXIES = [
    pytest.param(
        "nginx",
        marks=pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: apt install nginx-light)"),
    ),
    pytest.param(
        "haproxy",
        marks=pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed (Debian: apt install haproxy)"),
    ),
]


@pytest.mark.slow
@POSIX_SIGNALS
@pytest.mark.parametrize("proxy", PROXIES)
def test_worlds_behind_a_proxy_keep_apart_and_a_stub_takes_its_own_along(tmp_path: Path, proxy: str) -> None:
    gone = {502} if proxy == "nginx" else {503, 404}  # HAProxy sends them to another as soon as it has noticed
    with farm(tmp_path, proxy) as running:
        whose = run_all(running)
        kill(running.stubs[0])
        connection = running.connect()
        for number in range(WORLDS):
            name = f"test-{number}"
            index, key = whose[name]
            if index == 0:
                assert running.ask(connection, "GET", f"/w/{name}/v1/pets", key=key)[0] in gone
            else:
                look_again(running, connection, number, key)
        connection.close()


@pytest.mark.slow
@POSIX_SIGNALS
@pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed (Debian: apt install haproxy)")
def test_haproxy_makes_new_worlds_of_a_stub_that_is_gone_elsewhere(tmp_path: Path) -> None:
    with farm(tmp_path, "haproxy") as running:
        whose = run_all(running)
        (name, key) = next((name, key) for name, (index, key) in whose.items() if index == 0)
        kill(running.stubs[0])
        connection = running.connect()
        deadline = time.monotonic() + PATIENCE
        while (status := running.ask(connection, "GET", f"/w/{name}/v1/pets", key=key)[0]) == 503:
            assert time.monotonic() < deadline, "the check never noticed"
            time.sleep(0.1)
        assert status == 404
        one_test(running, connection, int(name.removeprefix("test-")))
        connection.close()


@pytest.mark.slow
@POSIX_SIGNALS
@pytest.mark.parametrize("proxy", PROXIES)
def test_the_root_is_the_same_stub_s_whatever_is_asked(tmp_path: Path, proxy: str) -> None:
    with farm(tmp_path, proxy) as running:
        connection = running.connect()
        made = running.ask(connection, "POST", "/__petstore/pets", {"name": "Rex"})[1]["pets"][0]
        key = running.ask(connection, "GET", "/__petstore/world")[1]["api_key"]
        for path in ("/v1/pets", f"/v1/pets/{made['id']}", "/v1/pets?status=sold", "/v1/dogs"):
            assert running.ask(connection, "GET", path, key=key)[0] == (404 if "dogs" in path else 200)
        assert running.ask(connection, "GET", "/__petstore/requests?last=1")[1]["total"] == 4
        assert running.ask(connection, "GET", "/__petstore/worlds")[1]["worlds"][0]["requests"] == 4
        connection.close()


def test_recipes_name_the_same_stubs() -> None:
    """So that the page can be read from one to the next."""
    named = [re.findall(r"127\.0\.0\.1:808[1-9]", recipe(name)) for name in ("nginx.conf", "haproxy.cfg")]
    assert named[0] == named[1] == [f"127.0.0.1:808{number}" for number in range(1, STUBS + 1)]


def test_manifests_select_what_they_run() -> None:
    """Each Service's selector is some pod's labels, and each probe asks what is open."""
    items = yaml.safe_load(recipe("petstore.yaml"))["items"]
    pods = [item["spec"]["template"] for item in items if "template" in item["spec"]]
    labels = [pod["metadata"]["labels"] for pod in pods]
    for item in items:
        selector = item["spec"]["selector"].get("matchLabels", item["spec"]["selector"])
        assert selector in labels
    (container,) = pods[0]["spec"]["containers"]
    assert {container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")} == {
        "/__petstore/health"
    }
    assert container["env"][0]["name"] == "PETSTORE_MOCK_CONTROL_TOKEN"
