"""Certificates of this process's own authority, sound and flawed (trustme). Imported where TLS is asked for."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import ssl
import tempfile
from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real import Lock
from petstore_mock.common.refusing import refuse
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.tls import server_context

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
    from petstore_mock.http.handler import TlsFlaw

_IDENTITIES: Final = ("127.0.0.1", "::1", "localhost")
_LONG_AGO: Final = (datetime(2015, 1, 1, tzinfo=UTC), datetime(2016, 1, 1, tzinfo=UTC))
_NAME: Final = "petstore-mock"


class Authority:
    """A certificate authority that lives as long as the process; its key never leaves the memory.

    Attributes:
        ca_path: the PEM file of its certificate, for clients to trust.
    """

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name=_NAME)
        directory = tempfile.mkdtemp(prefix="petstore-mock-")
        self.ca_path = Path(directory, "ca.pem")
        self._ca.cert_pem.write_to_path(str(self.ca_path))
        atexit.register(_remove, directory, os.getpid())
        self._lock = Lock()
        self._made: dict[tuple[TlsFlaw | None, tuple[str, ...]], tuple[ssl.SSLContext, bytes]] = {}

    def context(self, flaw: TlsFlaw | None, *hosts: str) -> ssl.SSLContext:
        """Return the context with a certificate for ``hosts`` and loopback, sound except for its ``flaw``."""
        return self._make(flaw, hosts)[0]

    def spki_hash(self, *hosts: str) -> str:
        """Return the SHA-256 of the public key of the sound certificate, in base64 (RFC 7469 §2.4)."""
        key = x509.load_pem_x509_certificate(self._make(None, hosts)[1]).public_key()
        content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return b64encode(hashlib.sha256(content).digest()).decode("ascii")

    def _make(self, flaw: TlsFlaw | None, hosts: tuple[str, ...]) -> tuple[ssl.SSLContext, bytes]:
        with self._lock:
            if (flaw, hosts) not in self._made:
                leaf = self._issue(flaw, tuple(dict.fromkeys((*_IDENTITIES, *(h.partition("%")[0] for h in hosts)))))
                context = server_context()
                leaf.configure_cert(context)
                self._made[flaw, hosts] = context, leaf.cert_chain_pems[0].bytes()
            return self._made[flaw, hosts]

    def _issue(self, flaw: TlsFlaw | None, identities: tuple[str, ...]) -> trustme.LeafCert:
        ca = trustme.CA(organization_name="an unknown root") if flaw == "untrusted_root" else self._ca
        before, after = _LONG_AGO if flaw == "expired" else (None, None)
        names = ("wrong.host.invalid",) if flaw == "wrong_host" else identities
        try:
            return ca.issue_cert(*names, organization_name=_NAME, not_before=before, not_after=after)
        except ValueError as error:
            refuse(f"expected host names or addresses for a certificate; got {', '.join(names)}: {error}")


@cache
def authority() -> Authority:
    """Return the authority of this process, whose keys are made once."""
    return Authority()


def _remove(directory: str, process: int) -> None:
    if os.getpid() == process:  # the child of a fork shares the file with its parent, who still needs it
        shutil.rmtree(directory, ignore_errors=True)
