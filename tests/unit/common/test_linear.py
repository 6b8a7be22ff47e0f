"""Work on a client's text grows with its length, whatever its characters: a regular expression stops all threads."""

from __future__ import annotations

import string
from base64 import b64encode
from functools import partial
from time import process_time
from typing import TYPE_CHECKING

import pytest

from petstore_mock.common.masking import mask_field, mask_parameter, mask_text, printable, request_line
from petstore_mock.http.credentials import key_fault
from petstore_mock.http.request import Fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.untraced  # the tracer takes most of the time of a short loop

SIZE = 64 * 1024
KEYS = ("petstore-0123abcd-000042", "adv+key/0123456789-secretive")
PLAIN = "The quick brown fox jumps over the lazy dog. "
EIGHTH = SIZE // 8
MOST = 20  # times the shorter text, of which 8 are due; quadratic work takes 64 times
# Times a look at each character of plain text; quadratic work takes thousands of times.
FEW_WALKS, MOST_WALKS = 10, 200


def shortest(work: Callable[[], object]) -> float:
    """Return the shortest processor time of three runs, in seconds."""

    def seconds() -> float:
        begin = process_time()
        work()
        return process_time() - begin

    return min(seconds() for _ in range(3))


def forms(key: str) -> Iterator[str]:
    yield key
    yield f"{key[:12]}..."
    yield f"{key[:12]}"
    yield "".join(f"%{ord(character):02X}" for character in key)
    yield "".join(f"\\u{ord(character):04x}" for character in key)
    yield key.replace("/", "\\/")
    yield b64encode(f"Bearer {key}".encode()).decode()


def texts(character: str, size: int) -> Iterator[tuple[str, str]]:
    """Yield texts of this size, each with a key to mask."""
    own = character * 300
    yield character * size, own
    yield character * size, f"{own}x"
    yield (f"{character}..." * size)[:size], own
    # A long key that repeats itself, of which a long beginning stands before a cut.
    yield f"{character * size}...", f"{character * (size - 1)}!"
    for form in forms(KEYS[1]):
        half = character * ((size - len(form)) // 2)
        yield f"{half}{form}{half}", KEYS[1]
        yield (f"{form}{character}" * size)[:size], KEYS[1]


MASKERS: dict[str, Callable[[str, str], object]] = {
    "line": lambda text, key: request_line("GET", text, [key]),
    "field": lambda text, key: mask_field("X-Other", text, [key]),
    "credentials": lambda text, key: mask_field("Authorization", text, [key]),
    "name": mask_parameter,
    "printable": lambda text, _: printable(text),
    "key": lambda text, key: key_fault("unknown_key", [text], [key]),
}


def walk() -> None:
    for character in (PLAIN * SIZE)[:SIZE]:
        ord(character)


@pytest.mark.seconds
@pytest.mark.parametrize(
    "masker", [pytest.param(name, marks=pytest.mark.slow) if name == "field" else name for name in MASKERS]
)
def test_work_on_a_text_is_linear(masker: str) -> None:
    """One measurement may be wrong on a busy machine, so it only says which texts need exact ones."""
    work = MASKERS[masker]
    one_walk = shortest(walk)
    slow = []
    for character in string.printable:
        for (text, key), (eighth, _) in zip(texts(character, SIZE), texts(character, EIGHTH), strict=True):
            begin = process_time()
            work(text, key)
            if process_time() - begin < FEW_WALKS * one_walk:
                continue
            measured = (measure(partial(work, text, key), partial(work, eighth, key)) for _ in range(4))
            if all(is_slow(*seconds, one_walk) for seconds in measured):
                slow.append((character, text[:40], key[:40]))
    assert not slow


def measure(work: Callable[[], object], work_on_eighth: Callable[[], object]) -> tuple[float, float]:
    return shortest(work), shortest(work_on_eighth)


def is_slow(seconds: float, seconds_of_eighth: float, one_walk: float) -> bool:
    is_linear = seconds < max(MOST * seconds_of_eighth, FEW_WALKS * one_walk)
    return not is_linear or seconds > MOST_WALKS * one_walk


ESCAPES = {
    "percent": "%41",
    "percent, repeated": "%25",
    "percent, three times": "%252541",
    "percent signs": "%%",
    "unicode": "\\u0041",
    "backslashes": "\\\\",
    "slashes": "\\/",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_a_text_full_of_escapes_takes_at_most_forty_times_as_long_as_plain_text(name: str) -> None:
    text, plain = ((part * SIZE)[:SIZE] for part in (ESCAPES[name], PLAIN))
    assert mask_text(text, KEYS) == text
    work, least = partial(mask_text, text, KEYS), partial(mask_text, plain, KEYS)
    # One measurement may be wrong on a busy machine.
    assert any(shortest(work) < 40 * shortest(least) for _ in range(10))


def test_a_thousand_issued_keys_take_little_longer_than_one() -> None:
    """A search for each key would take a thousand times as long."""
    issued = [f"petstore-0123abcd-{number:06d}" for number in range(1000)]
    text = (PLAIN * SIZE)[:SIZE]
    assert shortest(lambda: mask_text(text, issued)) < MOST * shortest(lambda: mask_text(text, issued[:1]))


def test_work_on_many_fields_of_one_name_is_linear() -> None:
    pairs = [(b"a", b"")] * (SIZE // 4)
    different = [(b"%d" % number, b"") for number in range(SIZE // 4)]
    assert shortest(lambda: Fields(pairs)) < 3 * shortest(lambda: Fields(different))
