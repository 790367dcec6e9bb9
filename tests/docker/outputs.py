"""The output of a short-lived container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import DockerClient


def output_of(engine: DockerClient, image: str, command: Sequence[str], *, entrypoint: str | None = None) -> str:
    """Return the log after the container has ended: following the log of a container under removal may lose output."""
    container = engine.containers.create(image, list(command), entrypoint=entrypoint, network_mode="none")
    try:
        container.start()
        status = container.wait()["StatusCode"]
        output: str = container.logs().decode()
        assert status == 0, output
        return output
    finally:
        container.remove(force=True)
