"""Disks of containers on which nothing can be saved."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.docker import DockerBackend, disk_space
from pytest_webarena.sites.backends.docker.containers import Running
from pytest_webarena.sites.backends.docker.disk_space import Disk
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest, VolumeManifest


def test_disk_that_became_read_only_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    state = os.statvfs("/")
    fields = [*state]
    fields[8] |= os.ST_RDONLY
    read_only = os.statvfs_result(fields)
    monkeypatch.setattr(os, "statvfs", lambda path: read_only if Path(path).name == "root" else state)  # of the process
    cgroup = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    found = disk_space.disks_of_process(os.getpid(), cgroup[:5])
    assert found is not None
    assert [disk.path for disk in found if disk.read_only] == ["/"]
    assert "the disk at / is read-only" in disk_space.full_disks(found)


def test_only_volumes_that_are_shared_may_be_read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    volumes = (
        VolumeManifest(source="/seed", target="/shared"),
        VolumeManifest(source="/seed", target="/copied", mutable=True),
        VolumeManifest(source="", target="/own"),
    )
    app = AppManifest(name="db", sites=(), backend="docker", docker=DockerManifest(image="db", port=1, volumes=volumes))
    disks = [Disk(volume.target, 900, 500, read_only=True) for volume in volumes]
    monkeypatch.setattr(disk_space, "disks_of_process", lambda pid, container: disks)
    backend = DockerBackend(BackendContext(run="r", owner="o", directory=tmp_path, environ={}))
    handle: Any = Running(id="c", name="c", ip="")
    replica = Replica(id="db-1", app="db", host="", port=1, handle=handle)
    said = asyncio.run(backend.full_disks(app, replica))
    assert said == "the disk at /copied is read-only; the disk at /own is read-only"
