"""Verifies certificates of servers that run elsewhere, by the machine's authorities and a catalogue's."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pytest_webarena.errors import SiteError
from pytest_webarena.gateway.upstream import tls_fault

__all__ = ["authorities_problem", "certificate_problem", "client_tls"]

_UNTRUSTED = {18, 19, 20, 21}
"""OpenSSL's codes for chains that end at an unknown authority (``X509_V_ERR_…`` in ``openssl/x509_vfy.h``)."""


def client_tls(*files: str) -> ssl.SSLContext:
    """Returns the TLS settings for connections to hosts that run elsewhere.

    Certificates and host names are always verified: by the machine's authorities, those of ``SSL_CERT_FILE``, and those
    in ``files`` (PEM; empty names are ignored). Raises `SiteError` for a file that can't be used.
    """
    return _context(tuple(sorted({file for file in files if file})))


@cache
def _context(files: tuple[str, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    for file in files:
        try:
            context.load_verify_locations(cafile=file)
        except (OSError, ValueError) as error:
            raise SiteError(f"expected certificates in {file} ('certificate_authority'), found {_why(error)}") from None
    return context


def authorities_problem(file: str) -> str:
    """Returns why ``file`` has no certificates that can be trusted; empty if it has."""
    if not Path(file).is_file():
        return f"no file {file}"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except (OSError, ValueError) as error:
        return f"{_why(error)} in {file}"
    return ""


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return "no certificate that begins with '-----BEGIN CERTIFICATE-----'"
    return getattr(error, "strerror", None) or str(error)


def certificate_problem(error: BaseException, files: Iterable[str] = ()) -> str:
    """Returns what is wrong with a server's certificate or TLS, and what to do; empty for another kind of error."""
    if not isinstance(error, ssl.SSLError):
        return ""
    fault = tls_fault(error)
    if not isinstance(error, ssl.SSLCertVerificationError) or error.verify_code not in _UNTRUSTED:
        return fault
    if named := ", ".join(filter(None, files)):
        return f"{fault}; expected one that an authority in {named} has signed ('certificate_authority' of the app)"
    return (
        f"{fault}; if an authority of your own signed it, name its file in the app: 'certificate_authority: ca.pem' "
        "(webarena init: --certificate-authority=ca.pem)"
    )
