"""Builds an image of WebArena's start page, a small Flask app that its repository only has as source."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from docker.errors import APIError, BuildError

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.sites.container_images.bases import HOST, HostBase
from pytest_webarena.sites.container_images.host_python import host_python

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["HOMEPAGE_IMAGE", "build_homepage"]

HOMEPAGE_IMAGE = "webarena-homepage"
"""Name of the image in the catalogue ``webarena``."""

_DOCKERFILE = b"""\
ARG BASE
FROM ${BASE}
RUN python3 -c "import flask" 2>/dev/null || python3 -m pip install --no-cache-dir flask
COPY app /app
WORKDIR /app
CMD ["python3", "-m", "flask", "run", "--host=0.0.0.0", "--port=4399"]
"""
_LOG_LINES = 20


def build_homepage(client: DockerClient, folder: Path, *, base: str) -> str:
    """Build the image from the repository's folder ``webarena-homepage``, and return its name.

    ``base`` is an image with Python and pip, or ``host`` for this machine's Python and Flask. Raises `SiteError` with
    the end of the build log.
    """
    if not (folder / "app.py").is_file() or not (folder / "templates" / "index.html").is_file():
        raise UsageError(f"expected app.py and templates/index.html in {folder}, as in WebArena's repository")
    if base == HOST:
        base = HostBase(python=host_python(("flask",))).provide(client)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("Dockerfile")
        info.size = len(_DOCKERFILE)
        archive.addfile(info, io.BytesIO(_DOCKERFILE))
        archive.add(folder, "app")
    buffer.seek(0)
    try:
        client.images.build(fileobj=buffer, custom_context=True, tag=HOMEPAGE_IMAGE, buildargs={"BASE": base}, rm=True)
    except BuildError as error:
        lines = "".join(str(entry.get("stream", "")) for entry in error.build_log).splitlines()
        raise SiteError("\n".join([f"building {HOMEPAGE_IMAGE} failed: {error}", *lines[-_LOG_LINES:]])) from None
    except APIError as error:
        raise SiteError(f"building {HOMEPAGE_IMAGE} on {base} failed: {error.explanation or error}") from None
    return HOMEPAGE_IMAGE
