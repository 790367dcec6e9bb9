"""Images of programs that this machine has: real database servers inside containers, without a registry."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["image_with", "missing"]


def missing(server: str, package: str) -> NoReturn:
    """A skip that says what to install, or a failure where WEBARENA_REQUIRE_DATABASES=1."""
    reason = f"this machine has no {server} server to put into a container: apt-get install {package}"
    if os.environ.get("WEBARENA_REQUIRE_DATABASES") == "1":
        pytest.fail(f"WEBARENA_REQUIRE_DATABASES=1, but {reason}", pytrace=False)
    pytest.skip(reason)


@contextmanager
def image_with(
    engine: DockerClient, base: str, *, programs: Sequence[Path], folders: Sequence[Path], path: Sequence[Path]
) -> Iterator[str]:
    """``base`` with ``programs`` and the libraries they need, and ``folders``, all where they are on this machine.

    ``path`` goes before the image's own PATH. The image runs as nobody in particular, and is removed at the end.
    """
    from pytest_webarena.sites.images.host_python import _libraries

    ldd = shutil.which("ldd")
    if ldd is None:
        pytest.skip("this machine has no ldd, which tells the libraries of a program")
    files = io.BytesIO()
    with tarfile.open(fileobj=files, mode="w", dereference=True) as content:
        for file in sorted({*programs, *_libraries(ldd, list(programs), [])}):
            content.add(file, str(file).lstrip("/"))
        for folder in folders:
            content.add(folder, str(folder).lstrip("/"), filter=_without_manuals)
    places = ":".join([*map(str, path), "/usr/local/bin:/usr/bin:/bin"])
    recipe = f"FROM {base}\nADD files.tar /\nENV PATH={places}\nUSER 65532\n"
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, data in (("files.tar", files.getvalue()), ("Dockerfile", recipe.encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    context.seek(0)
    image, _ = engine.images.build(fileobj=context, custom_context=True, rm=True)
    try:
        yield str(image.id)
    finally:
        engine.images.remove(str(image.id), force=True)


def _without_manuals(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "/man" in info.name else info
