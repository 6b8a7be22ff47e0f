"""Does a service keep the contract, and which choices does it make where the interface shows nothing?

A base address and a key come in, or a recording; a :class:`Verdict` or a :class:`Learned` behaviour comes out. Nothing
here knows whether the fake or the real service responds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.dates import iso
from petstore_mock.common.guards import is_array
from petstore_mock.common.real import time
from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.verify.evidence import Finding
from petstore_mock.verify.guest import Guest, Limits
from petstore_mock.verify.judging import reach_verdict
from petstore_mock.verify.learned import Learned, learned_from, learned_from_har, recorded_choices
from petstore_mock.verify.run import Run
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from petstore_mock.interface.behaviour import Behaviour

__all__ = ["ClauseResult", "Drift", "Finding", "Learned", "Verdict", "learn", "verify"]

_FASTEST: Final = 1_000_000.0  # requests a second


def verify(
    url: str,
    *,
    api_key: str | Sequence[str],
    allow_create: int = 0,
    rate: float = 2.0,
    max_requests: int = 200,
    timeout: float = 10.0,
    deadline: float = 120.0,
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
        receipt: a file that gets a line of JSON for each created animal, before the next request.
        behaviour: the choices that the service is to make still: a ``Behaviour``, or a TOML file of ``learn``.
        progress: called with a line before each request.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    keys = _keys(api_key)
    recorded = recorded_choices(behaviour)
    numbers = {"allow_create": allow_create, "rate": rate, "max_requests": max_requests}
    limits = _limits({**numbers, "timeout": timeout, "deadline": deadline})
    date = iso(time())
    run = Run(Guest(url, keys, limits, receipt, progress or (lambda _: None)))
    run.go()
    return reach_verdict(run, url.rstrip("/"), date, keys, recorded)


def learn(
    url: str | None = None,
    *,
    api_key: str | Sequence[str] | None = None,
    har: str | PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401  # those of verify
) -> Learned:
    """Find out which choices a service makes: by asking it, or from recorded traffic (``har``), asking nobody.

    Args:
        url: its base address; with ``har`` the one of the recording, if it can't be told from it.
        api_key: as for :func:`verify`.
        har: a HAR file of a browser, a proxy or ``--petstore-har``.
        options: further arguments of :func:`verify`.

    Raises:
        PetStoreMockError: an argument can't be right, or the recording can't be read.
    """
    if har is not None:
        return learned_from_har(har, url, iso(time()))
    if url is None or api_key is None:
        refuse("expected a service to learn from: pass url and api_key, or a recording as har")
    return learned_from(verify(url, api_key=api_key, **options))


def _keys(api_key: object) -> tuple[str, ...]:
    keys = (api_key,) if isinstance(api_key, str) else tuple(api_key) if is_array(api_key) else ()
    # A header can hold no other characters (RFC 9110 §5.5), and no key can begin or end with a blank.
    is_right = all(isinstance(key, str) and key and all("!" <= one <= "~" for one in key) for key in keys)
    if not keys or not is_right:  # the message must not show a key
        refuse("expected a key, or a list of keys, of printable ASCII characters without blanks; got another api_key")
    return keys


def _limits(given: dict[str, Any]) -> Limits:
    for name, least in (("allow_create", 0), ("max_requests", 1)):
        value = given[name]
        require(is_integer(value) and value >= least, f"{name} to be a number from {least} up", **{name: value})
    for name in ("rate", "timeout", "deadline"):
        # A billion seconds are thirty years: no system's clock waits longer.
        is_right = is_number(given[name]) and 1e-9 <= given[name] < 1e9
        require(is_right, f"{name} to be more than 0 and less than a billion", **{name: given[name]})
    return Limits(**{**given, "rate": min(given["rate"], _FASTEST)})
