"""Images of the embedded apps: on this machine's Python, and on a base image as from a registry."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import SiteError
from tests.docker.outputs import output_of

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker


def test_embedded_image_is_built_once(engine: DockerClient, embedded_image: str) -> None:
    from pytest_webarena.sites.container_images import ensure_image

    notes: list[str] = []
    assert ensure_image(engine, "embedded", note=notes.append) == embedded_image
    assert notes == []  # a build would be reported
    image = engine.images.get(embedded_image)
    assert image.labels["pytest-webarena.image"] == "embedded"


def test_embedded_image_has_seeded_data_and_unprivileged_user(engine: DockerClient, embedded_image: str) -> None:
    look = (
        "import os, sqlite3, ssl, flask, waitress; print(os.getuid(), os.listdir('/data/homepage'),"
        " os.access('/data/homepage/main.sqlite3', os.W_OK), os.access('/opt/webarena', os.W_OK))"
    )
    output = output_of(engine, embedded_image, ["-c", look], entrypoint="python3")
    assert output.strip() == "65532 ['main.sqlite3'] True False"


@pytest.fixture
def plain_base(engine: DockerClient) -> Iterator[tuple[str, str]]:
    """Two base images with Python and pip but without Flask: one without an index, one with wheels. They and all
    images built on them are removed.
    """
    from pytest_webarena.sites.backends.docker import remove_labelled
    from pytest_webarena.sites.container_images import RECIPES
    from pytest_webarena.sites.container_images.bases import HostBase
    from pytest_webarena.sites.container_images.host_python import host_python, required_packages

    pytest.importorskip("pip")
    name, run = f"localhost/test-{uuid.uuid4().hex[:12]}", f"test-{uuid.uuid4().hex[:12]}"
    host = HostBase(python=host_python(RECIPES["embedded"].packages))
    pip = {f"pip/{file.as_posix()}": Path(str(file.locate())) for file in files_of("pip", compiled=True)}
    wheels = {f"wheels/{file}": data for file, data in map(wheel, required_packages(RECIPES["embedded"].packages))}
    place = host.python.purelib
    bare = f"""
FROM {host.provide(engine)}
RUN rm -rf {place}
COPY pip {place}
ENV PIP_NO_INDEX=1 PIP_ROOT_USER_ACTION=ignore
"""
    recipes = {"bare": bare, "wheels": f"FROM {name}:bare\nCOPY wheels /wheels\nENV PIP_FIND_LINKS=/wheels\n"}
    try:
        for tag, recipe in recipes.items():
            context = archive({"Dockerfile": recipe.encode(), **pip, **wheels})
            engine.images.build(
                fileobj=context, custom_context=True, tag=f"{name}:{tag}", labels={"pytest-webarena.run": run}, rm=True
            )
        yield f"{name}:bare", f"{name}:wheels"
    finally:
        remove_labelled(f"pytest-webarena.run={run}", client=engine, settle=0)


@pytest.mark.exhaustive
def test_dockerfile_builds_on_another_base(engine: DockerClient, plain_base: tuple[str, str]) -> None:
    from pytest_webarena.sites.container_images import ensure_image

    bare, wheels = plain_base
    with pytest.raises(SiteError, match="No matching distribution"):
        ensure_image(engine, "embedded", base=bare)
    reference = ensure_image(engine, "embedded", base=wheels)
    look = "import flask; from importlib.metadata import version; print(version('flask'), flask.__file__)"
    output = output_of(engine, reference, ["-c", look], entrypoint="python3")
    assert output.split()[0] == metadata.version("flask")
    assert engine.images.get(reference).attrs["Config"]["User"] == "65532:65532"


def test_missing_base_image_is_reported(engine: DockerClient) -> None:
    from pytest_webarena.sites.container_images import ensure_image

    with pytest.raises(SiteError, match="WEBARENA_BASE_IMAGE=host"):
        ensure_image(engine, "embedded", base="localhost/absent:1")


def files_of(package: str, *, compiled: bool = False) -> list[metadata.PackagePath]:
    """Return the files that an installed distribution came with, and its byte code if ``compiled``."""
    made_here = {"RECORD", "INSTALLER", "REQUESTED"}
    return [
        file
        for file in metadata.files(package) or []
        if ".." not in file.parts and file.name not in made_here and (compiled or file.suffix != ".pyc")
    ]


def wheel(package: str) -> tuple[str, bytes]:
    """Rebuild an installed distribution as a wheel: file name and content."""
    distribution = metadata.distribution(package)
    tags = [line for line in (distribution.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: ")]
    name = f"{distribution.metadata['Name'].replace('-', '_').replace('.', '_')}-{distribution.version}"
    content, record, folder = io.BytesIO(), "", ""
    with zipfile.ZipFile(content, "w") as out:
        for file in files_of(package):
            data = file.read_binary()
            out.writestr(file.as_posix(), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{file.as_posix()},sha256={digest},{len(data)}\n"
            folder = file.parts[0] if file.parts[0].endswith(".dist-info") else folder
        out.writestr(f"{folder}/RECORD", f"{record}{folder}/RECORD,,\n")
    return f"{name}-{tags[0].removeprefix('Tag: ')}.whl", content.getvalue()


def archive(files: Mapping[str, bytes | Path]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as out:
        for name, data in files.items():
            if isinstance(data, Path):
                out.add(data, name)  # with its time, which byte code depends on
                continue
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            out.addfile(info, io.BytesIO(data))
    buffer.seek(0)
    return buffer
