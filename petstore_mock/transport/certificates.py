"""Makes the authority of this process, and valid and flawed certificates (trustme). Imported only for TLS."""

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
        'expected trustme, which makes certificates, to be installed: pip install "petstore-mock[tls]", '
        "or run serve with your own certificate: --tls-cert and --tls-key"
    ) from error

if TYPE_CHECKING:
    import ssl

_IDENTITIES: Final = ("127.0.0.1", "::1", "localhost")
_LONG_AGO: Final = (datetime(2015, 1, 1, tzinfo=UTC), datetime(2016, 1, 1, tzinfo=UTC))
_NAME: Final = "petstore-mock"


@cache
def authority() -> tuple[trustme.CA, str]:
    """Return the authority of this process, and the PEM file of its certificate. Its key is in no file."""
    made = trustme.CA(organization_name=_NAME)
    directory = tempfile.mkdtemp(prefix="petstore-mock-")
    path = f"{directory}/ca.pem"
    made.cert_pem.write_to_path(path)
    atexit.register(_remove, directory, os.getpid())
    return made, path


@cache
def certified(fault: str, *hosts: str) -> tuple[ssl.SSLContext, str]:
    """Return a server context for ``hosts`` and loopback, and the SHA-256 of its public key (RFC 7469 §2.4)."""
    is_untrusted = fault == "tls.untrusted_root"
    ca = trustme.CA(organization_name="an unknown root") if is_untrusted else authority()[0]
    before, after = _LONG_AGO if fault == "tls.expired" else (None, None)
    # Without the zone of an IPv6 address.
    own = (host.partition("%")[0] for host in hosts)
    names = tuple(dict.fromkeys((*_IDENTITIES, *own)))
    if fault == "tls.wrong_host":
        names = ("wrong.host.invalid",)
    try:
        leaf = ca.issue_cert(*names, organization_name=_NAME, not_before=before, not_after=after)
    except ValueError as error:
        refuse(f"expected host names or addresses for a certificate; got {', '.join(hosts)}: {error}")
    context = server_context()
    # With the root in the chain, clients report that they do not trust it.
    own_root = ca.cert_pem.bytes() if is_untrusted else b""
    with trustme.Blob(leaf.private_key_and_cert_chain_pem.bytes() + own_root).tempfile() as path:
        context.load_cert_chain(path)
    key = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return context, b64encode(digest).decode("ascii")


def _remove(directory: str, process: int) -> None:
    # A forked child must not delete the file that its parent uses.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)
