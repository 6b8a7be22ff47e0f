"""Checks a service against the contract, and detects which choice it makes for each gap.

You pass a base address and a key, and get a :class:`Verdict`. The fake and the real service are checked alike.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.suggesting import guided, of_module
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.http.response import is_field
from petstore_mock.interface.behaviour import Behaviour, as_behaviour
from petstore_mock.verify.clauses import ENOUGH_REQUESTS
from petstore_mock.verify.evidence import Finding
from petstore_mock.verify.judging import reach_verdict
from petstore_mock.verify.run import Run
from petstore_mock.verify.sending import OWN_FIELDS, Sender, client_certificate
from petstore_mock.verify.verdict import ClauseResult, Drift, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from os import PathLike

_KEY: Final = re.compile("[!-~]+")

__all__ = ["ClauseResult", "Drift", "Finding", "Verdict", "verify"]
__dir__ = __all__.copy  # editors and consoles complete these names

if not TYPE_CHECKING:  # a type checker would believe that every name exists
    __getattr__ = of_module(__name__, __all__)


@guided
def verify(
    url: str,
    *,
    api_key: str,
    allow_create: int = 0,
    rate: float = 2.0,
    max_requests: int = ENOUGH_REQUESTS,
    timeout: float = 10.0,
    deadline: float = 120.0,
    headers: Mapping[str, str] | None = None,
    secret_headers: Collection[str] = (),
    cert: str | PathLike[str] | None = None,
    cert_key: str | PathLike[str] | None = None,
    receipt: str | PathLike[str] | None = None,
    behaviour: Behaviour | str | PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Verdict:
    """Return a verdict on a service: which clauses of the contract it keeps, and which choices it makes.

    Args:
        url: the base address of the service, which ends in ``/v1``.
        api_key: a valid key.
        allow_create: the largest number of animals to create. No operation can delete them. With 0, the default, the
            run sends only GET.
        rate: the largest number of requests per second.
        max_requests: the largest number of requests.
        timeout: seconds that a whole response may take; at most 7 until the first response arrives.
        deadline: seconds that the whole run may take.
        headers: more header fields for each request, for example those of a gateway. Reports mask the value of a field
            whose name suggests a secret, such as ``X-Api-Key``.
        secret_headers: the names of other fields of ``headers`` whose values reports mask.
        cert: a PEM file with a client certificate, and perhaps its private key.
        cert_key: a PEM file with the private key, without a password.
        receipt: a file. Before its next request, the run adds a JSON line for each animal that it may have created.
        behaviour: the recorded choices: a ``Behaviour``, the name of a preset, or a TOML file of ``learn``. Other
            choices are reported as drift.
        progress: a function that is called with one line before each request.

    Raises:
        PetStoreMockError: an argument is invalid, or the service is at another base address.
    """
    _require_key(api_key)
    recorded = _recorded(behaviour)
    numbers = {"rate": rate, "timeout": timeout, "deadline": deadline}
    counts = {"allow_create": allow_create, "max_requests": max_requests}
    _require_limits(counts, numbers)
    fields = _checked_fields(headers or {}, secret_headers)
    sender = Sender(url, api_key, fields, secret_headers, client_certificate(cert, cert_key))
    run = Run(url, sender, {**counts, **numbers}, receipt=receipt, progress=progress or (lambda _: None))
    run.send_all()
    return reach_verdict(run, recorded)


def _require_limits(counts: Mapping[str, int], numbers: Mapping[str, float]) -> None:
    for (name, count), least in zip(counts.items(), (0, 1), strict=True):
        require(is_integer(count) and count >= least, f"a whole number of at least {least}", **{name: count})
    # Operating systems refuse waits that are much longer than a billion seconds.
    for name, number in numbers.items():
        is_right = is_number(number) and 1e-9 <= number < 1e9
        require(is_right, "a number greater than 0 and less than a billion", **{name: number})


def _checked_fields(headers: Mapping[str, str], secret_headers: Collection[str]) -> dict[str, str]:
    """Return the header fields of the user. A value may be a secret, so no message shows it."""
    fields = dict(headers)
    for name, value in fields.items():
        is_right = is_field(name, value) and name.lower() not in OWN_FIELDS
        require(is_right, "a valid header field except Connection, Transfer-Encoding and verify's own", header=name)
    if {*map(str.lower, secret_headers)} - {*map(str.lower, fields)}:
        # The name may hold the value: whoever passes both together does not want to see them here.
        refuse(
            "expected the names of header fields that headers has as secret_headers; got a text that is no such name: "
            "pass the name there, and the name with its value as a header"
        )
    return fields


def _require_key(api_key: object) -> None:
    # A field value has no control characters (RFC 9110 §5.5). A server strips spaces at its ends.
    if not isinstance(api_key, str) or _KEY.fullmatch(api_key) is None:
        # The message must not show a key.
        refuse("expected a key of printable ASCII characters without spaces; got an invalid api_key")


def _recorded(behaviour: Behaviour | str | PathLike[str] | None) -> dict[str, str]:
    """Return the recorded choices: all of them, or only those that a file without a preset names."""
    if behaviour is None:
        return {}
    chosen: Mapping[str, str] = as_behaviour(behaviour)
    named: Mapping[str, object] = chosen
    if not isinstance(behaviour, Behaviour) and Path(behaviour).is_file():
        named = tomllib.loads(Path(behaviour).read_text(encoding="utf-8-sig"))
    require(named, "a behaviour that names at least one gap", behaviour=behaviour)
    # A preset makes every choice.
    if "preset" in named:
        named = chosen
    return {name: choice for name, choice in chosen.items() if name in named}
