"""Certificates of this process's own authority, sound and flawed (trustme). Imported where TLS is asked for."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final

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
    import ssl

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
        self.ca_path = f"{directory}{os.sep}ca.pem"
        self._ca.cert_pem.write_to_path(self.ca_path)
        atexit.register(_remove, directory, os.getpid())
        self._made = cache(self._make)

    def context(self, flaw: TlsFlaw | None, *hosts: str) -> ssl.SSLContext:
        """Return the context with a certificate for ``hosts`` and loopback, sound except for its ``flaw``."""
        return self._made(flaw, *hosts)[0]

    def spki_hash(self, *hosts: str) -> str:
        """Return the SHA-256 of the public key of the sound certificate, in base64 (RFC 7469 §2.4)."""
        key = x509.load_pem_x509_certificate(self._made(None, *hosts)[1]).public_key()
        content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return b64encode(hashlib.sha256(content).digest()).decode("ascii")

    def _make(self, flaw: TlsFlaw | None, *hosts: str) -> tuple[ssl.SSLContext, bytes]:
        ca = trustme.CA(organization_name="an unknown root") if flaw == "untrusted_root" else self._ca
        before, after = _LONG_AGO if flaw == "expired" else (None, None)
        own = (host.partition("%")[0] for host in hosts)  # without the zone of an IPv6 address
        names = ("wrong.host.invalid",) if flaw == "wrong_host" else tuple(dict.fromkeys((*_IDENTITIES, *own)))
        try:
            leaf = ca.issue_cert(*names, organization_name=_NAME, not_before=before, not_after=after)
        except ValueError as error:
            refuse(f"expected host names or addresses for a certificate; got {', '.join(hosts)}: {error}")
        context = server_context()
        own_root = ca.cert_pem.bytes() if flaw == "untrusted_root" else b""  # so that clients can name what is wrong
        with trustme.Blob(leaf.private_key_and_cert_chain_pem.bytes() + own_root).tempfile() as path:
            context.load_cert_chain(path)
        return context, leaf.cert_chain_pems[0].bytes()


@cache
def authority() -> Authority:
    """Return the authority of this process, whose keys are made once."""
    return Authority()


def _remove(directory: str, process: int) -> None:
    if os.getpid() == process:  # the child of a fork shares the file with its parent, who still needs it
        shutil.rmtree(directory, ignore_errors=True)
