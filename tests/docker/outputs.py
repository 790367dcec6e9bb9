"""What a container prints that is over at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import DockerClient


def output_of(engine: DockerClient, image: str, command: Sequence[str], *, entrypoint: str | None = None) -> str:
    """Read when it has ended: who follows a log that is being removed may read nothing of it."""
    container = engine.containers.create(image, list(command), entrypoint=entrypoint, network_mode="none")
    try:
        container.start()
        status = container.wait()["StatusCode"]
        output: str = container.logs().decode()
        assert status == 0, output
        return output
    finally:
        container.remove(force=True)
