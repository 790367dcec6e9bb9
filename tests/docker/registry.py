"""A registry on loopback with one small image of any number of layers. Engines trust registries on 127.0.0.1."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["registry"]

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@contextmanager
def registry(*layers: int) -> Iterator[str]:
    """Serve a new image whose layers are files of so many random bytes; give its reference."""
    blobs: dict[str, bytes] = {}

    def blob(content: bytes, kind: str) -> dict[str, object]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        blobs[digest] = content
        return {"mediaType": kind, "size": len(content), "digest": digest}

    tars = [_tar(f"file-{number}", os.urandom(size)) for number, size in enumerate(layers)]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]},
    }
    described = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(json.dumps(config).encode(), "application/vnd.docker.container.image.v1+json"),
        "layers": [blob(gzip.compress(tar, 1), "application/vnd.docker.image.rootfs.diff.tar.gzip") for tar in tars],
    }
    manifest = json.dumps(described).encode()
    blobs[f"sha256:{hashlib.sha256(manifest).hexdigest()}"] = manifest

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            content = manifest if "/manifests/" in self.path else blobs.get(name, b"{}")
            self.send_response(200)
            self.send_header("Content-Type", _MANIFEST if "/manifests/" in self.path else "application/octet-stream")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(content).hexdigest()}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}/shop:1"
        finally:
            server.shutdown()


def _tar(name: str, content: bytes) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()
