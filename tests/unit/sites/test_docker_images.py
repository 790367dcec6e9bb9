"""Locally built images: content, base image, and when they are rebuilt."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, BuildError, ImageNotFound
from packaging.requirements import Requirement

from pytest_webarena.embedded import APPS
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.container_images import RECIPES, bases, ensure_image
from pytest_webarena.sites.container_images.host_python import HostPython, host_python, required_packages


class Engine:
    """A fake Docker client for building images; images are names with ids."""

    def __init__(self, *present: str, pullable: tuple[str, ...] = ()) -> None:
        self.present = {name: f"sha256:{name}" for name in present}
        self.pullable = pullable
        self.built: list[dict[str, Any]] = []
        self.pulled: list[str] = []
        self.failure: Exception | None = None
        self.images = SimpleNamespace(
            get=self.get, pull=self.pull, build=self.build, list=self.by_repository, remove=self.present.pop
        )
        self.api = SimpleNamespace(import_image_from_data=self.load)

    def get(self, name: str) -> Any:
        if name not in self.present:
            raise ImageNotFound(f"no {name}")
        return SimpleNamespace(id=self.present[name])

    def by_repository(self, *, name: str) -> list[Any]:
        found = [tag for tag in self.present if tag.startswith(f"{name}:")]
        # Dates don't follow the order of names.
        return [
            SimpleNamespace(tags=[tag], attrs={"Created": f"2026-01-{day:02}"})
            for day, tag in enumerate(found, start=1)
        ]

    def pull(self, name: str) -> None:
        self.pulled.append(name)
        if name not in self.pullable:
            raise APIError("no such host")
        self.present[name] = f"sha256:{name}"

    def load(self, data: bytes, *, repository: str, tag: str, changes: list[str]) -> None:
        assert data
        self.present[f"{repository}:{tag}"] = "sha256:imported"

    def build(self, *, tag: str, **settings: Any) -> None:
        if self.failure:
            raise self.failure
        self.built.append({"tag": tag, **settings})
        self.present[tag] = f"sha256:{tag}"


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostPython:
    """A small fake of this machine's Python."""
    stdlib = tmp_path / "lib" / "python3"
    files = [
        "os.py",
        "json/__init__.py",
        "__pycache__/os.pyc",
        "__pycache__/os.opt-2.pyc",
        "test/big.py",
        "config-3/x.a",
    ]
    for name in [*files, "site-packages/private.py", "lib-dynload/_tkinter.so", "lib-dynload/_json.so"]:
        (stdlib / name).parent.mkdir(parents=True, exist_ok=True)
        (stdlib / name).write_text(name)
    for name in ("python3", "sh", "libc.so.6"):
        (tmp_path / name).write_text(name)
        (tmp_path / name).chmod(0o755)
    described = HostPython(
        executable=tmp_path / "python3",
        stdlib=stdlib,
        purelib=PurePosixPath("/usr/lib/packages"),
        shell=tmp_path / "sh",
        libraries=(tmp_path / "libc.so.6",),
        packages=required_packages(["markupsafe"]),
    )
    monkeypatch.setattr(bases, "host_python", lambda packages: described)
    monkeypatch.delenv("WEBARENA_BASE_IMAGE", raising=False)
    return described


@pytest.fixture
def build(python: HostPython) -> Callable[..., tuple[str, list[str]]]:
    def build(engine: Any, **settings: Any) -> tuple[str, list[str]]:
        notes: list[str] = []
        return ensure_image(engine, "embedded", note=notes.append, **settings), notes

    return build


Build = Callable[..., tuple[str, list[str]]]


def base_of(engine: Engine) -> str:
    (built,) = engine.built
    return str(built["buildargs"]["BASE"])


def test_present_slim_python_is_the_base(build: Build) -> None:
    engine = Engine(bases.DEFAULT)
    build(engine)
    assert base_of(engine) == bases.DEFAULT
    assert engine.built[0]["network_mode"] == "default"  # pip needs a network
    assert engine.pulled == []


def test_missing_slim_python_is_pulled(build: Build) -> None:
    engine = Engine(pullable=(bases.DEFAULT,))
    build(engine)
    assert base_of(engine) == bases.DEFAULT


def test_base_is_built_from_host_python_if_pull_fails(build: Build, python: HostPython) -> None:
    engine = Engine()
    reference, notes = build(engine)
    assert base_of(engine) == f"localhost/pytest-webarena-base:{python.digest}"
    assert engine.built[0]["network_mode"] == "none"
    assert "no such host" in notes[0]
    assert "WEBARENA_BASE_IMAGE=host" in notes[0]
    again, notes = build(engine)
    assert (again, notes) == (reference, [])
    assert engine.pulled == [bases.DEFAULT]  # an existing base is not pulled again
    assert len(engine.built) == 1


def test_host_python_can_be_requested_as_base(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_BASE_IMAGE", "host")
    engine = Engine(bases.DEFAULT)
    build(engine)
    assert base_of(engine).startswith("localhost/pytest-webarena-base:")


def test_named_base_is_used_without_fallback(build: Build) -> None:
    engine = Engine(bases.DEFAULT, "mirror.example/python:3.12")
    build(engine, base="mirror.example/python:3.12")
    assert base_of(engine) == "mirror.example/python:3.12"
    with pytest.raises(SiteError, match=r"absent:1 is not on this engine.*\n.*WEBARENA_BASE_IMAGE=host"):
        build(engine, base="absent:1")


def test_image_name_depends_on_base_and_packages(
    build: Build, python: HostPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(bases.DEFAULT)
    first, _ = build(engine)
    engine.present[bases.DEFAULT] = "sha256:newer"
    second, _ = build(engine)
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "99" if name == "flask" else real(name))
    third, _ = build(engine)
    assert len({first, second, third}) == 3
    assert "flask==99" in engine.built[-1]["buildargs"]["PACKAGES"].split()


def test_build_context_has_only_the_embedded_apps(build: Build) -> None:
    engine = Engine(bases.DEFAULT)
    build(engine)
    with tarfile.open(fileobj=engine.built[0]["fileobj"]) as context:
        names = set(context.getnames())
    assert engine.built[0]["dockerfile"] in names
    assert {"pytest_webarena/errors.py", "pytest_webarena/embedded/serve.py"} <= names
    assert not any("__pycache__" in name or name.startswith("pytest_webarena/browser") for name in names)


def test_each_extra_has_its_own_image_and_packages() -> None:
    shop, rest = RECIPES["embedded-shop"], RECIPES["embedded"]
    assert shop.apps == ("shop",)
    assert "homepage" in rest.apps
    assert "shop" not in rest.apps
    assert {Requirement(text).name for text in set(shop.packages) - set(rest.packages)} == {"django-oscar", "tzdata"}
    with pytest.raises(SiteError, match=r"an extra 'forge' of pytest-webarena, which forge needs, found none; once"):
        _ = replace(shop, extra="forge", apps=("forge",)).packages


def test_image_context_excludes_apps_of_other_images(build: Build) -> None:
    engine = Engine(bases.DEFAULT)
    build(engine)
    with tarfile.open(fileobj=engine.built[0]["fileobj"]) as context:
        folders = {name.split("/")[2] for name in context.getnames() if name.count("/") > 2 and "/embedded/" in name}
    assert folders & set(APPS) == set(RECIPES["embedded"].apps)
    assert folders - set(APPS) == {"land"}  # shared by apps


def test_a_failing_build_shows_the_end_of_its_log(build: Build) -> None:
    engine = Engine(bases.DEFAULT)
    engine.failure = BuildError("exit code 1", iter([{"stream": "Step 3/9\n"}, {"stream": "no space left\n"}]))
    with pytest.raises(SiteError, match=r"failed: exit code 1\nStep 3/9\nno space left"):
        build(engine)


def test_only_the_newest_images_are_kept(build: Build) -> None:
    engine = Engine(bases.DEFAULT)
    made = []
    for version in range(7):
        engine.present[bases.DEFAULT] = f"sha256:{version}"
        made.append(build(engine)[0])
    assert len(set(made)) == 7
    assert [name for name in made if name in engine.present] == made[-5:]
    assert bases.DEFAULT in engine.present


def test_unknown_recipe_suggests_a_known_one() -> None:
    with pytest.raises(SiteError, match="did you mean 'embedded'"):
        ensure_image(Engine(), "embeded")  # type: ignore[arg-type]


def test_python_tar_has_only_files_needed_to_run(python: HostPython) -> None:
    with tarfile.open(fileobj=io.BytesIO(python.tar())) as archive:
        members = {f"/{member.name}": member for member in archive}
    lib = str(python.stdlib)
    assert {str(python.executable), str(python.libraries[0]), "/bin/sh", "/etc/passwd"} <= set(members)
    assert {
        f"{lib}/os.py",
        f"{lib}/json/__init__.py",
        f"{lib}/__pycache__/os.pyc",
        f"{lib}/lib-dynload/_json.so",
    } <= set(members)
    assert "/usr/lib/packages/markupsafe/__init__.py" in members
    ballast = ("test", "config-3", "site-packages", "_tkinter", "opt-2")
    assert not [name for name in members if any(part in name.removeprefix(lib) for part in ballast) and lib in name]
    assert members["/usr/local/bin/python3"].linkname == str(python.executable)
    assert members["/tmp"].mode == 0o1777
    assert (
        members[str(python.stdlib)].mode & 0o005 == 0o005
    )  # the container's user needs access, whatever the local mode is
    assert members[str(python.executable)].mode == 0o755


def test_refused_base_import_is_a_site_error(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()

    def refuse(*_: object, **__: object) -> None:
        raise APIError("no space left on device")

    monkeypatch.setattr(engine.api, "import_image_from_data", refuse)
    with pytest.raises(SiteError, match="no space left on device"):
        build(engine, base="host")


@pytest.mark.skipif(sys.platform != "linux", reason="images of this machine's Python are for Linux")
def test_only_system_libraries_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries bundled with a package are copied with the package, not from their local path."""
    compiled = [Path(str(file.locate())) for file in metadata.files("markupsafe") or [] if ".so" in file.suffixes]
    if not compiled:
        pytest.skip("markupsafe is installed without its compiled part")
    ldd = tmp_path / "ldd"
    around = compiled[0].parent / ".." / compiled[0].parent.name / compiled[0].name
    ldd.write_text(f"#!/bin/sh\nprintf '\\tlibz.so.1 => /lib/libz.so.1 (0x7f)\\n\\tour.so => {around} (0x7f)\\n'\n")
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert host_python(["markupsafe"]).libraries == (Path("/lib/libz.so.1"),)


def test_base_digest_depends_on_its_content(python: HostPython) -> None:
    assert replace(python).digest == python.digest
    assert replace(python, packages=()).digest != python.digest
    python.executable.write_text("another build")
    before = python.digest
    python.executable.write_text("yet another build")
    assert python.digest != before


def test_required_packages_include_dependencies() -> None:
    found = required_packages(["flask"])
    assert {"flask", "jinja2", "markupsafe", "werkzeug"} <= set(found)
    assert list(found) == sorted(found)
    with pytest.raises(SiteError, match="pip install nowhere-to-be-found"):
        required_packages(["nowhere-to-be-found"])
