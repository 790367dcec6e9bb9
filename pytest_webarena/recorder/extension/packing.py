"""Writes the unpacked extension: the listener of the harness's own browser, and a script that sends its reports."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_webarena.browser.tabs.dom_events import listener_source
from pytest_webarena.errors import UsageError

__all__ = ["ORIGIN", "read_secret", "write_config", "write_extension"]

_KEY = base64.b64encode(b"webarena recorder: a public key that belongs to no private one").decode()
"""Value of ``key`` in the manifest, which gives the extension the same id wherever its folder is."""
_ID = "".join(chr(ord("a") + int(digit, 16)) for digit in hashlib.sha256(base64.b64decode(_KEY)).hexdigest()[:32])
ORIGIN = f"chrome-extension://{_ID}"
"""Origin of the extension's requests."""
_COPIED = ("background.js", "popup.html", "popup.js")
_CONFIG = "config.json"
_SECRETS = (
    "current-password",
    "new-password",
    "one-time-code",
    "cc-number",
    "cc-csc",
    "cc-exp",
    "cc-exp-month",
    "cc-exp-year",
)
"""Values of ``autocomplete`` of fields whose content is not recorded. A person's own browser fills in cards, too."""


def write_extension(folder: Path, origins: Iterable[str]) -> str:
    """Write everything but the server's address; return the manifest's digest, for `write_config`.

    Args:
        folder: A new or empty folder, or one that this function wrote before.
        origins: Addresses of sites, and domains, such as ``.example.com``, which the extension may read.

    Raises:
        UsageError: The folder contains something else or cannot be written.
    """
    own, nonce = files(__package__), f"webarena{secrets.token_hex(8)}-"
    sources = {name: (own / name).read_text("utf-8").replace("NONCE", nonce) for name in (*_COPIED, "bridge.js")}
    listener = listener_source(before=sources.pop("bridge.js"), secret_fields=_SECRETS)
    manifest: dict[str, Any] = json.loads((own / "manifest.json").read_text("utf-8"))
    manifest |= {"key": _KEY, "host_permissions": sorted({_pattern(each) for each in origins})}
    originals = "".join((own / name).read_text("utf-8") for name in (*_COPIED, "bridge.js"))
    digest = hashlib.sha256(f"{json.dumps(manifest)}{originals}".encode()).hexdigest()[:16]
    manifest["version_name"] = digest
    try:
        if folder.exists() and any(folder.iterdir()) and not (folder / _CONFIG).is_file():
            raise UsageError(
                f"--extension {folder}: expected a new or empty folder, found other files; choose another one"
            )
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # the address contains a secret
        for name, text in {**sources, "listener.js": listener, "manifest.json": json.dumps(manifest, indent=2)}.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--extension {folder}: expected a folder that can be written, found: {error}") from None
    return digest


def write_config(folder: Path, address: str, digest: str) -> None:
    """Write the server's address, which the extension reads before each request."""
    target, temporary = folder / _CONFIG, folder / f"{_CONFIG}.new"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({"address": address, "manifest": digest}, file)
    temporary.replace(target)


def read_secret(folder: Path) -> tuple[str, int]:
    """Return the secret and the port of the address in the folder, so that an installed extension finds a new server;
    a new secret and 0 if there is none."""
    try:
        address = urlsplit(json.loads((folder / _CONFIG).read_text("utf-8"))["address"])
        token, port = address.path.strip("/"), address.port or 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        token, port = "", 0
    return (
        (token, port) if len(token) >= 32 and token.isascii() and "/" not in token else (secrets.token_urlsafe(24), 0)
    )


def _pattern(origin: str) -> str:
    """Return Chrome's match pattern.

    >>> _pattern("https://www.example.com/shop"), _pattern(".example.com"), _pattern("http://127.0.0.1:8000")
    ('https://www.example.com/*', '*://*.example.com/*', 'http://127.0.0.1:8000/*')
    """
    if origin.startswith("."):
        return f"*://*{origin}/*"
    parts = urlsplit(origin)
    return f"{parts.scheme}://{parts.netloc}/*"
