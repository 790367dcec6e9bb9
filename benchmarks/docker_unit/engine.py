"""A Docker engine of our own, with its own disk, socket and networks, which may be restarted and filled."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import DockerClient

SUBNETS = "10.99.0.0/16"
"""Range of the networks that units get on it; another engine of this machine may use the usual one."""
_POOL = "base=10.98.0.0/16,size=24"
_ALLOW = ["FORWARD", "-s", "10.98.0.0/15", "-d", "10.98.0.0/15", "-j", "ACCEPT"]
"""Rule for these networks: the rules of another engine refuse packets between containers that they do not know."""
_DISK = "900M"
_PATIENCE = 60.0


class Engine:
    """The engine; `environment` lets programs use it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.environment = {"DOCKER_HOST": f"unix://{folder}/socket", "WEBARENA_SUBNETS": SUBNETS}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the engine and wait until it answers. It sets no firewall rules, which other engines would share."""
        command = [
            "dockerd", f"--host=unix://{self.folder}/socket", f"--data-root={self.data}",
            f"--exec-root={self.folder}/exec", f"--pidfile={self.folder}/pid", "--bridge=none", "--iptables=false",
            f"--default-address-pool={_POOL}",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                self.client().close()
                return
            except Exception:
                if self._process.poll() is not None or time.monotonic() > ends:
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        """End the engine and its containers."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_PATIENCE)
            self._process = None

    def client(self) -> DockerClient:
        """Return a client of this engine."""
        from docker import DockerClient

        client = DockerClient(base_url=self.environment["DOCKER_HOST"])
        client.ping()
        return client

    def fill(self) -> None:
        """Leave no free space on its disk."""
        with (self.data / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                os.fsync(filler.fileno())

    def make_space(self) -> None:
        """Remove what `fill` wrote."""
        (self.data / "filler").unlink(missing_ok=True)


@contextmanager
def own_engine() -> Iterator[Engine]:
    """Run an engine, as root; everything is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="docker-faults-") as name:
        engine = Engine(Path(name))
        engine.data.mkdir()
        disk = Path(name, "disk")
        for command in (["truncate", "-s", _DISK, disk], ["mkfs.ext4", "-q", "-m0", disk]):
            subprocess.run(command, check=True)
        subprocess.run(["mount", "-o", "loop", disk, engine.data], check=True)
        subprocess.run(["iptables", "-I", *_ALLOW], check=True)
        try:
            engine.start()
            yield engine
        finally:
            engine.stop()
            subprocess.run(["iptables", "-D", *_ALLOW], check=True)
            subprocess.run(["umount", engine.data], check=True)
