"""Loads the images of a task's intent: from files, from its sites and, where allowed, from other addresses."""

from __future__ import annotations

import functools
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, urlsplit

from pytest_webarena.agents.protocol import InputImage
from pytest_webarena.errors import SiteError, SiteMissing, TaskError
from pytest_webarena.tasks.images import not_fetched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_webarena.tasks.model import ImageSource, Task

__all__ = ["MAX_BYTES", "load_images"]

MAX_BYTES = 20_000_000
"""Maximum size of one image, in bytes."""
_TIMEOUT = 30.0


class _Sites(Protocol):
    @property
    def sites(self) -> Mapping[str, str]: ...

    def download(self, site: str, path: str) -> tuple[int, bytes]: ...


def load_images(task: Task, live: _Sites, *, fetch: bool) -> tuple[InputImage, ...]:
    """The task's images. ``fetch`` allows loading images that are on none of its sites over the network.

    Raises `TaskError` for data that is no image, `SiteError` when a site does not answer, and `SiteMissing` for an
    image that must not be fetched.
    """
    return tuple(_load(image, task, live, fetch) for image in task.images)


def _load(image: ImageSource, task: Task, live: _Sites, fetch: bool) -> InputImage:
    place = f"image {image}"
    if image.is_file:
        data = _read(Path(task.location.path).parent / image.path, place)
    elif site := image.site or _site_of(image.path, live.sites):
        data = _download(live, site, image.path, place)
    elif fetch:
        data = _fetch(image.path, place)
    else:
        raise SiteMissing(not_fetched(image))
    if len(data) > MAX_BYTES:
        raise TaskError(f"{place}: expected at most {MAX_BYTES:,} bytes, found {len(data):,}")
    media_type = _media_type(data)
    if not media_type:
        raise TaskError(f"{place}: expected a PNG, JPEG, GIF or WebP image, found {_shown(data)}")
    name = unquote(urlsplit(image.path).path if not image.is_file else image.path).rpartition("/")[2]
    return InputImage(name=name or "image", media_type=media_type, data=data)


def _site_of(address: str, sites: Mapping[str, str]) -> str:
    wanted = urlsplit(address)
    for name, base in sites.items():
        parts = urlsplit(base)
        if (parts.scheme, parts.netloc) == (wanted.scheme, wanted.netloc):
            return name
    return ""


def _read(path: Path, place: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TaskError(f"{place}: expected the file {path}, found: {(error.strerror or str(error)).lower()}") from None


def _download(live: _Sites, site: str, path: str, place: str) -> bytes:
    status, data = live.download(site, path)
    if status >= 500:
        raise SiteError(f"{place}: expected it at the site, which failed with status {status}")
    if status != 200:
        raise TaskError(f"{place}: expected it at the site, found status {status}")
    return data


@functools.lru_cache(maxsize=32)  # trials of a task run one after the other
def _fetch(address: str, place: str) -> bytes:
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "pytest-webarena"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            data: bytes = response.read(MAX_BYTES + 1)
            return data
    except (OSError, ValueError) as error:
        raise SiteError(f"{place}: expected it within {_TIMEOUT:g} s, found: {error}") from None


def _media_type(data: bytes) -> str:
    """The media type by the first bytes; empty for types that models behind the usual endpoints do not accept."""
    for start, name in ((b"\x89PNG\r\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif")):
        if data.startswith(start):
            return f"image/{name}"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


def _shown(data: bytes) -> str:
    return repr(data[:20]) if data else "nothing"
