"""Certificates of this process's own authority, sound and flawed (trustme). Imported where TLS is asked for."""

from __future__ import annotations

import atexit
import hashlib
import ipaddress
import os
import re
import shutil
import tempfile
import threading
from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.tls_connection import server_context

try:
    import trustme
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError as error:
    raise PetStoreMockError(
        'expected trustme to be installed, which makes certificates: pip install "petstore-mock[tls]"; '
        "serve takes your own with --tls-cert and --tls-key"
    ) from error

if TYPE_CHECKING:
    import ssl

    from petstore_mock.messages.handshake import Flaw

__all__ = ["Authority", "authority"]

_IDENTITIES: Final = ("127.0.0.1", "::1", "localhost")
# By the real calendar, whatever time a test has frozen: it is the client's clock that counts.
_LONG_AGO = (datetime(2015, 1, 1, tzinfo=UTC), datetime(2016, 1, 1, tzinfo=UTC))
# Names of the domain name system (RFC 1123 §2.1); those beyond ASCII are written as xn--...
_HOST_NAME: Final = re.compile(
    r"(?:\*\.)?(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.ASCII | re.IGNORECASE
)
_WRONG_HOST: Final = "wrong.host.invalid"
_SHOWN_NAME: Final = "petstore-mock"


class Authority:
    """A certificate authority that lives as long as the process; its key never leaves the memory.

    Attributes:
        ca_path: the file of its certificate, in PEM, for clients to trust.
    """

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name=_SHOWN_NAME)
        directory = tempfile.mkdtemp(prefix="petstore-mock-")
        self.ca_path = Path(directory, "ca.pem")
        self._ca.cert_pem.write_to_path(self.ca_path)
        atexit.register(_remove, directory, os.getpid())
        self._lock = threading.Lock()
        self._spki_hashes: dict[tuple[str, ...], str] = {}
        self._contexts: dict[tuple[Flaw | None, tuple[str, ...]], ssl.SSLContext] = {}

    def context(self, flaw: Flaw | None, *hosts: str) -> ssl.SSLContext:
        """Return the server's context with a certificate for ``hosts`` and loopback, sound but for its ``flaw``.

        Each is made once; sessions of one can't be resumed under another.

        Raises:
            PetStoreMockError: one of ``hosts`` is neither a host name nor an address.
        """
        with self._lock:
            context = self._contexts.get((flaw, hosts))
            if context is None:
                identities = tuple(dict.fromkeys((*_IDENTITIES, *map(_identity, hosts))))
                key, chain = self._issue(flaw, identities)
                context = server_context()
                with trustme.Blob(key + chain).tempfile() as path:
                    context.load_cert_chain(path)
                self._contexts[flaw, hosts] = context
                if flaw is None:
                    self._spki_hashes[hosts] = _spki_hash(chain)
            return context

    def spki_hash(self, *hosts: str) -> str:
        """Return the SHA-256 of the public key of the sound certificate for ``hosts``, in base64 (RFC 7469 §2.4)."""
        self.context(None, *hosts)
        return self._spki_hashes[hosts]

    def _issue(self, flaw: Flaw | None, identities: tuple[str, ...]) -> tuple[bytes, bytes]:
        """Return a key and the chain of certificates that is sent with it, in PEM."""
        ca, more = self._ca, []
        before, after = None, None
        match flaw:
            case "expired":
                before, after = _LONG_AGO
            case "wrong_host":
                identities = (_WRONG_HOST,)
            case "untrusted_root":
                ca = trustme.CA(organization_name="nobody knows this root")
                more = [ca.cert_pem.bytes()]
        leaf = ca.issue_cert(*identities, organization_name=_SHOWN_NAME, not_before=before, not_after=after)
        return leaf.private_key_pem.bytes(), b"".join((leaf.cert_chain_pems[0].bytes(), *more))


@cache
def authority() -> Authority:
    """Return the authority of this process: its keys are made once."""
    return Authority()


def _spki_hash(certificate: bytes) -> str:
    key = x509.load_pem_x509_certificate(certificate).public_key()
    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(hashlib.sha256(content).digest()).decode("ascii")


def _identity(host: str) -> str:
    """Return a host name as certificates have it (RFC 5280 §4.2.1.6), or an address."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))  # the zone is this machine's own business
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host):
        raise PetStoreMockError(
            f"expected a host name of letters, digits, '-' and '.', or an address, for a certificate; got {host!r}"
        )
    return host.lower()


def _remove(directory: str, process: int) -> None:
    if os.getpid() == process:  # the child of a fork has it from its parent, who still needs it
        shutil.rmtree(directory, ignore_errors=True)
