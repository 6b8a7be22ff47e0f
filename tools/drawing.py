"""Draws requests and behaviours with a fixed seed: what a recording and a comparison send.

Each scenario draws from a generator of its own, seeded by its name. A gap that is added or removed therefore leaves all
other scenarios as they are.
"""

from __future__ import annotations

import base64
import tomllib
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEY: Final = "the-key-of-the-recording"
AUTHORIZED: Final = ("Authorization", f"Bearer {KEY}")
JSON: Final = ("Content-Type", "application/json")
AT: Final = "2026-01-15"
REMOVED: Final = "2030-12-06"  # the day after the removal of getPet
_NAMES: Final = ("Rex", "Ada", "Zoë")
PETS: Final = [
    *(
        {"id": number, "name": f"{_NAMES[number % 3]} {number}", "categoryId": number % 4, "status": status}
        for number, status in enumerate(("available", "pending", "sold") * 9, start=1)
    ),
    {"id": 2**53 + 1, "name": "Far", "categoryId": 1},
]

_DRAWN_BODIES: Final = 700
_DRAWN_QUERIES: Final = 250
_REQUESTS_BY_GAP: Final = 25
_COMBINATIONS: Final = 40
_SHOWN: Final = 200  # characters of each part
_LARGE: Final = 4096  # bytes; a larger body is written deflated


@dataclass(frozen=True)
class Request:
    """A request as it is sent; ``about`` says what it tries."""

    about: str
    method: str = "GET"
    target: str = "/v1/pets"
    headers: tuple[tuple[str, str], ...] = (AUTHORIZED,)
    body: bytes | None = None

    def __str__(self) -> str:
        fields = [f"{name}: {value}" for name, value in self.headers if (name, value) not in {AUTHORIZED, JSON}]
        body = (self.body or b"").decode("utf-8", "backslashreplace")
        parts = [self.method, self.target, *fields, *([] if AUTHORIZED in self.headers else ["(no valid key)"]), body]
        return " ".join(part if len(part) <= _SHOWN else f"{part[:_SHOWN]}… ({len(part)})" for part in parts if part)

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON."""
        return {
            "about": self.about,
            "method": self.method,
            "target": self.target,
            "headers": [list(pair) for pair in self.headers],
            "body": None if self.body is None else encoded(self.body),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """Return the request that ``to_json`` wrote."""
        body = None if data["body"] is None else decoded(data["body"])
        headers = tuple((name, value) for name, value in data["headers"])
        return cls(data["about"], data["method"], data["target"], headers, body)


def encoded(content: bytes) -> object:
    """Return ``content`` as text where it is short UTF-8, else as base64, deflated if it is large."""
    if len(content) > _LARGE:
        return {"deflate": base64.b64encode(zlib.compress(content, 9)).decode()}
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def decoded(content: Any) -> bytes:  # noqa: ANN401  # a JSON value
    """Return the bytes that ``encoded`` wrote."""
    if isinstance(content, str):
        return content.encode()
    if "deflate" in content:
        return zlib.decompress(base64.b64decode(content["deflate"]))
    return base64.b64decode(content["base64"])


@dataclass(frozen=True)
class Scenario:
    """Requests that one fresh world receives in order, under a date and a behaviour."""

    name: str
    requests: Sequence[Request]
    gaps: Mapping[str, str] = field(default_factory=dict)
    at: str = AT

    def to_json(self) -> dict[str, Any]:
        """Return the scenario as JSON."""
        requests = [request.to_json() for request in self.requests]
        return {"name": self.name, "at": self.at, "gaps": dict(self.gaps), "requests": requests}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scenario:
        """Return the scenario that ``to_json`` wrote."""
        return cls(data["name"], [Request.from_json(one) for one in data["requests"]], data["gaps"], data["at"])


_DRAWN: Final[dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("drawn.toml").read_text(encoding="utf-8"))

VALID: Final = '{"name":"Rex","categoryId":1,"status":"sold"}'
VALUES: Final = (
    *_DRAWN["numbers"],
    *_DRAWN["texts"],
    *_DRAWN["others"],
    *("9" * 400, "9" * 5000, "-" + "9" * 5000, "0." + "1" * 5000),
    *(
        f'"{character * count}"'
        for character, count in (("n", 255), ("n", 256), ("ü", 255), ("long ", 60), ("x", 9000))
    ),
)
MEMBERS: Final = (*_DRAWN["members"], "x" * 300)
LIMITS: Final = (*_DRAWN["limits"], "9" * 5000)
STATUSES: Final = (*_DRAWN["statuses"], "x" * 300)
PET_IDS: Final = (*_DRAWN["pet_ids"], "9" * 5000, "x" * 300)
AUTHORIZATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (),
    *((form.replace("KEY", KEY),) for form in _DRAWN["authorizations"]),
    (f"Bearer {'x' * 3000}",),
    (f"Bearer {KEY.upper()}",),
    (f"Bearer {KEY[:-1]}",),
    (f"Bearer {KEY}", f"Bearer {KEY}"),
    ("Bearer wrong", f"Bearer {KEY}"),
    (f"Bearer {KEY}", "Basic dXNlcjpwYXNz"),
)
BAD_BYTES: Final = (
    *(b"\xff", b"\xfe\xff", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xf4\x90\x80\x80"),
    *(b"\xc3", b"\xe2\x82", b"\xf0\x9f\x90", b"\x80", b"\xe9"),
)


def _bodies(random: Random) -> Iterator[tuple[str, bytes]]:
    """Yield what each body tries, and the body."""
    yield "valid", VALID.encode()
    for value in VALUES:
        yield "top", value.encode()
        yield "name", f'{{"name":{value},"categoryId":1}}'.encode()
        yield "categoryId", f'{{"name":"Rex","categoryId":{value}}}'.encode()
        yield "status", f'{{"name":"Rex","categoryId":1,"status":{value}}}'.encode()
        yield "unknown member", f'{{"name":"Rex","categoryId":1,"tags":{value}}}'.encode()
    for missing in ('{"name":"Rex"}', '{"categoryId":1}', '{"status":"sold"}', '{"status":1}', '{"tags":1}'):
        yield "missing", missing.encode()
    for name in MEMBERS:
        yield "unknown member", f'{{"name":"Rex","categoryId":1,"{name}":1}}'.encode()
        yield "unknown member, one missing", f'{{"name":"Rex","{name}":1}}'.encode()
    for text in (*_DRAWN["syntax"], *_DRAWN["repeated"]):
        yield "syntax", text.encode()
    yield from _large_and_broken()
    for _ in range(_DRAWN_BODIES):
        yield _drawn_body(random)


def _large_and_broken() -> Iterator[tuple[str, bytes]]:
    yield "many unknown members", _object({f"m{number}": "0" for number in range(1500)})
    yield "many unknown members, two missing", _object({f"m{number}": "[]" for number in range(999)})
    for end in range(1, len(VALID)):
        yield "truncated", VALID[:end].encode()
    for octets in BAD_BYTES:
        yield "bad UTF-8", b'{"name":"R' + octets + b'x","categoryId":1}'
        yield "bad UTF-8 outside", octets + VALID.encode()
    for codec in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-7"):
        yield codec, VALID.encode(codec)
    for depth in (50, 99, 100, 101, 127, 128, 129, 255, 256, 257, 500, 900, 1000, 1001, 5000, 100_000):
        yield "deep", b'{"name":"Rex","categoryId":1,"x":' + b"[" * depth + b"]" * depth + b"}"
        yield "deep objects", b'{"a":' * depth + b"1" + b"}" * depth
        yield "deep, not closed", b'{"name":' + b"[" * depth
    for size in (1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1):
        name = "n" * (size - len('{"name":"","categoryId":1}'))
        yield "about a mebibyte", f'{{"name":"{name}","categoryId":1}}'.encode()


def _drawn_body(random: Random) -> tuple[str, bytes]:
    members = {name: random.choice(VALUES) for name in ("name", "categoryId", "status") if random.random() < 0.6}
    if random.random() < 0.3:
        members[random.choice(MEMBERS)] = random.choice(VALUES)
    defaults = {"name": '"Rex"', "categoryId": "3"}
    if random.random() < 0.6:
        members = {**defaults, **dict(random.sample(sorted(members.items()), min(1, len(members))))}
    body = _object(dict(random.sample(sorted(members.items()), len(members))))
    if random.random() < 0.35 and len(body) < _LARGE:
        return "damaged", _damaged(body, random)
    return "drawn", body


def _object(members: Mapping[str, str]) -> bytes:
    return ("{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}").encode()


def _damaged(body: bytes, random: Random) -> bytes:
    at = random.randrange(len(body))
    by = random.choice(
        [b"", b'"', b",", b":", b"}", b"{", b"[", b"]", b"\\", b"0", b"-", b".", b"e", b" ", b"\x00", b"\xff"]
    )
    return body[:at] + by + body[at + random.randrange(2) :]


def create(about: str, body: bytes, *fields: tuple[str, str]) -> Request:
    """Return a request that creates an animal from ``body``."""
    return Request(f"body: {about}", "POST", "/v1/pets", (AUTHORIZED, JSON, *fields), body)


def _list(about: str, query: str) -> Request:
    return Request(f"query: {about}", target=f"/v1/pets?{query}")


def _get(pet_id: str) -> Request:
    return Request("petId", target=f"/v1/pets/{pet_id}")


def _queries(random: Random) -> Iterator[Request]:
    yield from (_list("limit", f"limit={text}") for text in LIMITS)
    yield from (_list("status", f"status={text}") for text in STATUSES)
    yield from (_list("other", text) for text in _DRAWN["queries"])
    yield _list("many", "&".join(f"p{number}=1" for number in range(1200)))
    yield _list("long", "limit=5&x=" + "y" * 3000)
    for _ in range(_DRAWN_QUERIES):
        parts = [
            random.choice(
                [
                    f"limit={random.choice(LIMITS)}",
                    f"status={random.choice(STATUSES)}",
                    random.choice(_DRAWN["queries"]),
                ]
            )
            for _ in range(random.choice([2, 2, 3]))
        ]
        yield _list("drawn", "&".join(parts))


def _around(random: Random) -> Iterator[Request]:
    """Yield requests whose method, target, key or media type is what they try."""
    yield from (_get(text) for text in PET_IDS)
    for method in (*_DRAWN["methods"], "A" * 40):
        for target in ("/v1/pets", "/v1/pets/1", "/v1/store/orders", "/v1/nothing", "*"):
            body = VALID.encode() if method in {"POST", "PUT", "PATCH"} else None
            yield Request("method", method, target, (AUTHORIZED, JSON) if body else (AUTHORIZED,), body)
    for path in (*_DRAWN["paths"], "/" + "x" * 9000):
        yield Request("path", target=path)
        yield Request("path without a key", random.choice(_DRAWN["methods"][:9]), path, ())
    for forms in AUTHORIZATIONS:
        fields = tuple(("Authorization", form) for form in forms)
        yield Request("authorization", headers=fields)
        yield Request("authorization", target=f"/v1/pets/{random.choice(PET_IDS)}", headers=fields)
        yield Request("authorization", "POST", headers=(*fields, JSON), body=random.choice(_DRAWN["repeated"]).encode())
    for media_type in (None, *_DRAWN["media_types"], "a" * 500):
        fields = (AUTHORIZED,) if media_type is None else (AUTHORIZED, ("Content-Type", media_type))
        for body in (VALID.encode(), b"{}", b""):
            yield Request("media type", "POST", headers=fields, body=body)
    for text in _DRAWN["fields"]:
        name, _, value = text.replace("KEY", KEY).partition(": ")
        yield Request("field", headers=(AUTHORIZED, (name, value)))
        yield create("field", VALID.encode(), (name, value))
    for length in ("2", "44", "999", "five", "-5", "+5", "1_0", "5, 5", "9" * 30):
        yield create("announced length", VALID.encode(), ("Content-Length", length))
    yield Request("no body", "POST", headers=(AUTHORIZED, JSON))
    yield Request("no body", "POST", headers=(AUTHORIZED,))
    yield Request("a body for GET", headers=(AUTHORIZED, JSON), body=b"{}")
    yield Request("a body for GET", target="/v1/pets/1", headers=(AUTHORIZED,), body=b"\xff")


ESSENTIALS: Final = (
    *(create("essential", text.encode()) for text in (VALID, '{"name":"","categoryId":0}', *_DRAWN["repeated"][:2])),
    create("essential", b'{"name":"Rex","categoryId":1,"status":null}'),
    create("essential", b'{"name":"Rex","categoryId":1.0}'),
    create("essential", f'{{"name":"{"n" * 256}","categoryId":-1,"tag":1}}'.encode()),
    *(
        _list("essential", text)
        for text in ("limit=0", "limit=101", "status=x", "x=1", "limit=5&limit=6", "limit=three")
    ),
    *(_get(text) for text in ("1", "999", "one", "9223372036854775808")),
    Request("essential"),
    Request("essential", "HEAD"),
    Request("essential", headers=()),
    Request("essential", "POST", headers=(AUTHORIZED, ("Content-Type", "text/plain")), body=VALID.encode()),
    Request("essential", target="/v1/store/orders"),
    Request("essential", "DELETE", "/v1/pets/1"),
)


def single_requests(seed: str) -> list[Request]:
    """Return every request of the tables, and drawn ones."""
    random = Random(f"{seed}: single requests")
    bodies = [create(about, body) for about, body in _bodies(random)]
    return [*bodies, *_queries(random), *_around(random)]


def _story(random: Random, pool: Sequence[Request]) -> list[Request]:
    """Draw requests that build on each other: creates, lists and gets in turn."""

    def draw() -> Request:
        name = f"Kit {random.randrange(9)}"
        body = f'{{"name":"{name}","categoryId":{random.randrange(9)}}}'.encode()
        page = random.choice(["limit=1", "limit=3", "limit=100", "status=available", "status=pending", "status=sold"])
        pet_id = random.choice([1, 2, 28, 29, 30, 2**53 + 1, 2**53 + 2])
        choices = [create("story", body), _list("story", page), _get(str(pet_id)), random.choice(pool)]
        return random.choice(choices)

    return [draw() for _ in range(14)]


def scenarios(seed: str, gaps: Mapping[str, Sequence[str]]) -> Iterator[Scenario]:
    """Yield what is sent: single requests under the defaults, then each alternative alone, then combinations.

    Args:
        seed: what is drawn follows from it.
        gaps: the alternatives of each gap, the default first.
    """
    pool = single_requests(seed)
    small = [request for request in pool if len(request.body or b"") < _LARGE and len(request.target) < _LARGE]
    for number, request in enumerate(pool):
        yield Scenario(f"single {number}", [request])
    for number in range(15):
        yield Scenario(f"story {number}", _story(Random(f"{seed}: story {number}"), small))
    for pet_id in ("1", "999", "one", "0"):
        yield Scenario(f"removed {pet_id}", [_get(pet_id)], at=REMOVED)
    for gap, alternatives in gaps.items():
        for alternative in alternatives[1:]:
            for at in (AT, REMOVED) if gap == "after_removal" else (AT,):
                name = f"{gap}={alternative} {at}"
                yield from _under(name, {gap: alternative}, at, Random(f"{seed}: {name}"), small)
            if gap == "body_limit":
                large = next(request for request in pool if len(request.body or b"") > 1024 * 1024)
                yield Scenario(f"{gap}={alternative} large", [large], {gap: alternative})
    for number in range(_COMBINATIONS):
        name = f"combination {number}"
        random = Random(f"{seed}: {name}")
        yield from _under(
            name, dict(_combination(f"{seed}: {name}", gaps)), random.choice([AT, AT, REMOVED]), random, small
        )


def _under(name: str, gaps: Mapping[str, str], at: str, random: Random, pool: Sequence[Request]) -> Iterator[Scenario]:
    for number, request in enumerate((*ESSENTIALS, *random.sample(pool, _REQUESTS_BY_GAP))):
        yield Scenario(f"{name} {number}", [request], gaps, at)
    yield Scenario(f"{name} story", _story(random, pool), gaps, at)


def _combination(seed: str, gaps: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield alternatives for about a third of the gaps; what is chosen for a gap does not depend on the others."""
    for gap, alternatives in gaps.items():
        random = Random(f"{seed}: {gap}")
        if random.random() < 0.35:
            yield gap, random.choice(alternatives[1:])
