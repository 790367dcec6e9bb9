"""A team's preview deployment: https with certificates of an authority of its own, and single sign-on."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.hosted_app import Server

__all__ = ["certificates", "identity_provider", "server_tls"]


def certificates(folder: Path, name: str = "ca") -> ssl.SSLContext:
    """Write the certificate of a new authority to ``NAME.pem``.

    Returns the TLS settings of a server at 127.0.0.1 and localhost whose certificate it has signed.
    """
    own, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Authority of {name}")])
    signer = x509.SubjectKeyIdentifier.from_public_key(own.public_key())

    def sign(of: x509.Name, public: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder().subject_name(of).issuer_name(subject).public_key(public)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(days=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=9))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(own, hashes.SHA256())

    authority = sign(subject, own.public_key(), x509.BasicConstraints(ca=True, path_length=None), signer)
    (folder / f"{name}.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
    leaf = sign(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "preview")]), key.public_key(), names, issuer)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / f"{name}-server.pem").write_bytes(leaf.public_bytes(serialization.Encoding.PEM) + secret)
    return server_tls(folder, name)


def server_tls(folder: Path, name: str = "ca") -> ssl.SSLContext:
    """Return the TLS settings of another such server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}-server.pem")
    return context


@contextmanager
def identity_provider(tls: ssl.SSLContext) -> Iterator[str]:
    """Run an identity provider at localhost that sends people back with their name as code. Yields its address."""

    class Provider(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form = '<form method="post"><input name="user"><input name="password"><button>Go</button></form>'
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(form)))
            self.end_headers()
            self.wfile.write(form.encode())

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            to = parse_qs(urlsplit(self.path).query)["to"][0]
            self.send_response(303)
            self.send_header("Location", f"{to}?code={form['user'][0]}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Provider)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
