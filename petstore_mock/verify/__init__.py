"""Does a service keep the contract, and which choices does it make where the contract says nothing?

A base address and a key come in, or a recording; a :class:`Verdict` goes out, or a :class:`Learned` behaviour. It
stands on the contract alone: whether the fake or the real service answers is nothing that it knows.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from petstore_mock.common.numbers import is_integer, is_number
from petstore_mock.errors import PetStoreMockError
from petstore_mock.verify.checking import Checking
from petstore_mock.verify.client import ServiceConnection
from petstore_mock.verify.gap_evidence import Finding
from petstore_mock.verify.guest import Guest
from petstore_mock.verify.learned import Learned, learned_from, recorded_choices
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict, reach_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from petstore_mock.contract.behaviour import Behaviour

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
    receipt: str | PathLike[str] | None = None,
    behaviour: Behaviour | str | PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verdict:
    """Hold a service against the contract.

    Args:
        url: its base address, which ends in ``/v1``.
        api_key: a valid key, or several: where one is retired meanwhile, the next is used.
        allow_create: how many animals may be left behind; without it, only GET is sent.
        rate: requests a second, at most.
        max_requests: requests in all, at most.
        timeout: seconds that an answer may take.
        receipt: a file to which each created animal is written, as a line of JSON, before the next step.
        behaviour: the choices that the service is to make still: a ``Behaviour``, or a TOML file of ``learn``.
        progress: called with a line before each request.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    keys = _keys(api_key)
    recorded = recorded_choices(behaviour)
    _check(allow_create=allow_create, rate=rate, max_requests=max_requests, timeout=timeout)
    _check_url(url)
    began = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    guest = Guest(
        ServiceConnection(url),
        keys,
        allow_create=allow_create,
        rate=min(rate, _FASTEST),
        max_requests=max_requests,
        timeout=timeout,
        receipt=receipt,
        progress=progress or _silent,
    )
    with guest:
        checking = Checking(guest)
        checking.go()
    return reach_verdict(checking, url=url.rstrip("/"), date=began, keys=keys, recorded=recorded)


def learn(
    url: str | None = None,
    *,
    api_key: str | Sequence[str] | None = None,
    har: str | PathLike[str] | None = None,
    allow_create: int = 0,
    rate: float = 2.0,
    max_requests: int = 200,
    timeout: float = 10.0,
    receipt: str | PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Learned:
    """Find out which choices a service makes: by asking it, or from recorded traffic (``har``), asking nobody.

    Args:
        url: its base address; with ``har`` the one of the recording, if it can't be told from it.
        api_key: as for :func:`verify`, as are the arguments below ``har``.
        har: a HAR file of a browser, a proxy or ``--petstore-har``.
        allow_create: how many animals may be left behind.
        rate: requests a second, at most.
        max_requests: requests in all, at most.
        timeout: seconds that an answer may take.
        receipt: a file to which each created animal is written.
        progress: called with a line before each request.

    Raises:
        PetStoreMockError: an argument can't be right, or the recording can't be read.
    """
    if har is not None:
        from petstore_mock.verify.har import learned_from_har  # noqa: PLC0415  # for recordings alone

        if url is not None:
            _check_url(url)
        return learned_from_har(har, url)
    if url is None or api_key is None:
        raise PetStoreMockError(
            "expected a service to learn from: pass url and api_key, or a recording as har; "
            f"got url={url!r}, api_key={'None' if api_key is None else '***'}, har=None"
        )
    verdict = verify(
        url,
        api_key=api_key,
        allow_create=allow_create,
        rate=rate,
        max_requests=max_requests,
        timeout=timeout,
        receipt=receipt,
        progress=progress,
    )
    return learned_from(verdict)


def _check_url(url: object) -> None:
    if not isinstance(url, str):
        raise PetStoreMockError(f"expected a base address; got url={url!r} ({type(url).__name__})")


def _silent(_line: str) -> None:
    pass


def _keys(api_key: object) -> tuple[str, ...]:
    keys = (api_key,) if isinstance(api_key, str) else tuple(api_key) if isinstance(api_key, (list, tuple)) else ()
    if not keys:
        raise PetStoreMockError(f"expected a key, or a list of keys; got api_key of type {type(api_key).__name__}")
    for key in keys:
        # A header can hold no others (RFC 9110 §5.5), and no key can begin or end with a blank.
        if not isinstance(key, str) or not key or not all(" " < character <= "~" for character in key):
            raise PetStoreMockError("expected a key of printable ASCII characters without blanks; got another api_key")
    return keys


def _check(*, allow_create: object, rate: object, max_requests: object, timeout: object) -> None:
    for name, value, least in (("allow_create", allow_create, 0), ("max_requests", max_requests, 1)):
        if not is_integer(value) or value < least:
            raise PetStoreMockError(f"expected {name} to be a number from {least} up; got {name}={value!r}")
    for name, number in (("rate", rate), ("timeout", timeout)):
        # No system's clock counts what is longer than a billion seconds: an answer's time, or between two requests.
        if not is_number(number) or not 1e-9 <= number < 1e9:
            raise PetStoreMockError(
                f"expected {name} to be more than 0 (a billionth at least) and less than a billion; "
                f"got {name}={number!r}"
            )
