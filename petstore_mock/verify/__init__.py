"""Does a service keep the contract, and which choices does it make where the interface shows nothing?

A base address and a key come in; a :class:`Verdict` or a :class:`Learned` behaviour comes out. Nothing here knows
whether the fake or the real service responds.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from petstore_mock.common.dates import iso
from petstore_mock.common.guards import is_array
from petstore_mock.common.real import time
from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.http.response import is_field
from petstore_mock.interface.behaviour import Behaviour, as_behaviour
from petstore_mock.verify.evidence import Finding
from petstore_mock.verify.guest import OWN_FIELDS, Guest
from petstore_mock.verify.verdict import ClauseResult, Drift, Learned, Verdict, reach_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

__all__ = ["ClauseResult", "Drift", "Finding", "Learned", "Verdict", "learn", "verify"]
__dir__ = __all__.copy  # what editors and consoles complete


def verify(
    url: str,
    *,
    api_key: str | Sequence[str],
    allow_create: int = 0,
    rate: float = 2.0,
    max_requests: int = 200,
    timeout: float = 10.0,
    deadline: float = 120.0,
    headers: Mapping[str, str] | None = None,
    receipt: str | PathLike[str] | None = None,
    behaviour: Behaviour | str | PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Verdict:
    """Hold a service against the contract.

    Args:
        url: its base address, which ends in ``/v1``.
        api_key: a valid key, or several: where one is retired meanwhile, the next is used.
        allow_create: how many animals may be left behind; without it, only GET is sent.
        rate: requests a second, at most.
        max_requests: requests in all, at most.
        timeout: seconds until a response must be whole.
        deadline: seconds that the whole run may take.
        headers: further header fields of each request, such as a gateway's own; their values are left out of reports.
        receipt: a file that gets a line of JSON for each created animal, before the next request.
        behaviour: the choices that the service is to make still: a ``Behaviour``, or a TOML file of ``learn``.
        progress: called with a line before each request.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    keys = _keys(api_key)
    recorded = _recorded(behaviour)
    counts = {"allow_create": allow_create, "max_requests": max_requests}
    for name, count in counts.items():
        least = 0 if name == "allow_create" else 1
        require(is_integer(count) and count >= least, f"{name} to be a number from {least} up", **{name: count})
    numbers = {"rate": rate, "timeout": timeout, "deadline": deadline}
    for name, number in numbers.items():  # a billion seconds are thirty years: no system's clock waits longer
        is_right = is_number(number) and 1e-9 <= number < 1e9
        require(is_right, f"{name} to be more than 0 and less than a billion", **{name: number})
    fields = dict(headers or {})
    for name, value in fields.items():  # the message must not show a value
        is_right = is_field(name, value) and name.lower() not in {*OWN_FIELDS, "transfer-encoding", "connection"}
        require(is_right, "a header that can be sent, and that verify does not send itself", header=name)
    date = iso(time())
    limits = {**counts, **numbers}
    guest = Guest(url, keys, fields, limits, receipt=receipt, progress=progress or (lambda _: None))
    guest.go()
    return reach_verdict(guest, url.rstrip("/"), date, guest.secrets, recorded)


def learn(url: str, *, api_key: str | Sequence[str], **options: Any) -> Learned:  # noqa: ANN401  # those of verify
    """Find out which choices a service makes; arguments and errors are as for :func:`verify`."""
    return Learned(verify(url, api_key=api_key, **options))


def _keys(api_key: object) -> tuple[str, ...]:
    keys = (api_key,) if isinstance(api_key, str) else tuple(api_key) if is_array(api_key) else ()
    # A header can hold no other characters (RFC 9110 §5.5), and no key can begin or end with a blank.
    is_right = all(isinstance(key, str) and key and all("!" <= one <= "~" for one in key) for key in keys)
    if not keys or not is_right:  # the message must not show a key
        refuse("expected a key, or a list of keys, of printable ASCII characters without blanks; got another api_key")
    return keys


def _recorded(behaviour: Behaviour | str | PathLike[str] | None) -> dict[str, str]:
    """Return the choices that a service is to make still: of a file those that it names, of a ``Behaviour`` all."""
    if behaviour is None:
        return {}
    chosen: Mapping[str, str] = as_behaviour(behaviour)
    named: Mapping[str, object] = chosen
    if not isinstance(behaviour, Behaviour) and Path(behaviour).is_file():
        named = tomllib.loads(Path(behaviour).read_text(encoding="utf-8-sig"))
    require(named, "a behaviour with at least one gap", behaviour=behaviour)
    return {name: choice for name, choice in chosen.items() if name in named or "preset" in named}
