"""The run's certificate authority, which ends TLS for https hosts so that requests can be read and recorded.

All of it is kept in memory and is lost when the broker ends. Browsers of the run get the authority's `spki` by a launch
flag (`egress.trust_arguments`). Nothing else trusts it, and it is in no certificate store of the machine.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import os
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["Authority"]

_DAYS = 30
"""Validity of a certificate in days. Runs are much shorter; browsers refuse more than 398 days."""
_HOSTS = 2000
"""Number of host names whose certificates are cached; further ones are made again when needed."""


class Authority:
    """An ECDSA P-256 key, its certificate, and one certificate for each requested host name.

    The constructor imports ``cryptography``, which is slow: make one only where https is served.
    """

    def __init__(self) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pytest-webarena, this run alone")])
        public = self._key.public_key()
        self._known = x509.SubjectKeyIdentifier.from_public_key(public)
        self._certificate = self._sign(
            self._name,
            public,
            [
                (x509.BasicConstraints(ca=True, path_length=0), True),
                (_signs_certificates(), True),
                (self._known, False),
            ],
        )
        digest = hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
        self.spki = base64.b64encode(digest).decode()
        """SHA-256 of the authority's public key (SubjectPublicKeyInfo) in base64, as browsers expect it."""
        self.certificate = self._certificate.public_bytes(Encoding.PEM).decode()
        """The authority's certificate (PEM), for clients that accept a certificate file."""
        self._contexts: dict[str, ssl.SSLContext] = {}

    def context(self, host: str) -> ssl.SSLContext:
        """Return the server-side TLS context for ``host``, a name or an IP address. It is made on first use."""
        context = self._contexts.get(host)
        if context is None:
            if len(self._contexts) >= _HOSTS:
                del self._contexts[next(iter(self._contexts))]
            context = self._contexts[host] = self._make(host)
        return context

    def _make(self, host: str) -> ssl.SSLContext:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)]) if len(host) <= 64 else x509.Name([])
        leaf = self._sign(
            name,
            key.public_key(),
            [
                (x509.SubjectAlternativeName([_alternative(host)]), len(host) > 64),
                (x509.BasicConstraints(ca=False, path_length=None), True),
                (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
                (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._known), False),
            ],
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        chain = leaf.public_bytes(Encoding.PEM) + self.certificate.encode()
        _load(context, chain, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return context

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extensions: list[tuple[x509.ExtensionType, bool]]
    ) -> x509.Certificate:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        # Machines in one run may have clocks that differ a little.
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(self._key, hashes.SHA256())


def _signs_certificates() -> x509.KeyUsage:
    """Return the key usage of the authority, without which strict verifiers such as Python 3.13 reject it."""
    from cryptography import x509

    return x509.KeyUsage(
        key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return x509.DNSName(host)


def _load(context: ssl.SSLContext, chain: bytes, key: bytes) -> None:
    """Load a certificate and its key from pipes: Python accepts files only, and no key shall be on a disk."""
    ends = []
    try:
        for data in (chain, key):
            read, write = os.pipe()
            ends.append(read)
            with open(write, "wb") as file:  # a few kB at most, which every pipe holds
                file.write(data)
        context.load_cert_chain(*(f"/dev/fd/{end}" for end in ends))
    finally:
        for end in ends:
            os.close(end)
