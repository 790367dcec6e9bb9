"""A base image without a registry: a tar of the running interpreter, its libraries and some packages."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_webarena.errors import SiteError

__all__ = ["HostPython", "host_python", "required_packages"]

_FORMAT = 2
"""Part of the digest; increase it whenever the same inputs give a different image."""

_NOT_NEEDED = frozenset(
    {"dist-packages", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tests", "tkinter", "turtledemo"}
)
_USER = 65532


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """The contents of the image; created by `host_python`."""

    executable: Path
    stdlib: Path
    purelib: PurePosixPath
    """Directory in which the interpreter, outside any virtual environment, searches packages."""
    shell: Path
    libraries: tuple[Path, ...]
    """Shared libraries of the interpreter, its extension modules and the shell, under the names that the loader
    uses."""
    packages: tuple[str, ...]
    """Names of installed distributions."""

    @property
    def config(self) -> tuple[str, ...]:
        """The image's configuration, as Dockerfile instructions for an import."""
        folders = sorted({str(path.parent) for path in self.libraries})
        return (
            f"ENV LD_LIBRARY_PATH={':'.join(folders)}",
            "ENV PATH=/usr/local/bin:/usr/bin:/bin",
            "ENV LANG=C.UTF-8",
        )

    @property
    def digest(self) -> str:
        """A hash that changes whenever the image would: interpreter, libraries, packages. 12 hex characters."""
        parts = [str(_FORMAT), sys.version, *self.config, str(self.purelib)]
        for path in (self.executable, self.stdlib / "os.py", self.shell, *self.libraries):
            stat = path.stat()
            parts.append(f"{path} {stat.st_size} {int(stat.st_mtime)}")
        parts.extend(f"{name}=={metadata.version(name)}" for name in self.packages)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def tar(self) -> bytes:
        """Returns the file system as an uncompressed tar, as the engine's import requires it."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            out = _Writer(archive)
            out.folder("/tmp", mode=0o1777)
            out.text("/etc/passwd", f"root:x:0:0::/:/bin/sh\nwebarena:x:{_USER}:{_USER}::/data:/bin/sh\n")
            out.text("/etc/group", f"root:x:0:\nwebarena:x:{_USER}:\n")
            out.text("/etc/nsswitch.conf", "hosts: files dns\n")
            for path in (self.executable, *self.libraries):
                out.file(str(path), path)
            for name in ("python3", "python"):
                out.link(f"/usr/local/bin/{name}", str(self.executable))
            if self.shell.name == "busybox":
                out.file("/bin/busybox", self.shell)
                for applet in _applets(self.shell):
                    out.link(f"/bin/{applet}", "busybox")
            else:
                out.file("/bin/sh", self.shell)
            for path in _tree(self.stdlib):
                out.file(str(path), path)
            for name, path in _package_files(self.packages):
                out.file(str(self.purelib / name), path)
        return buffer.getvalue()


def host_python(packages: Iterable[str]) -> HostPython:
    """Describe the running interpreter with ``packages`` and all their requirements, as installed here.

    Raises `SiteError` when this machine's interpreter can't be packed (not Linux, no ``ldd``, a package missing).
    """
    ldd = shutil.which("ldd")
    if sys.platform != "linux" or ldd is None:
        raise SiteError(
            "expected Linux with ldd to make an image from this machine's Python; "
            "name a base image instead: WEBARENA_BASE_IMAGE=python:3.11-slim"
        )
    base = sysconfig.get_paths(vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix})
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable = Path(sys.base_prefix, "bin", version).resolve()
    if not executable.is_file():
        executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    stdlib = Path(base["stdlib"])
    shell, packed = _shell(), required_packages(packages)
    extensions = sorted(path for path in (stdlib / "lib-dynload").glob("*.so") if "tkinter" not in path.name)
    inside = [path for name, path in _package_files(packed) if ".so" in PurePosixPath(name).suffixes]
    purelib = subprocess.run(
        [str(executable), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True, timeout=30,
    ).stdout.strip()  # fmt: skip
    return HostPython(
        executable=executable,
        stdlib=stdlib,
        purelib=PurePosixPath(purelib),
        shell=shell,
        libraries=_libraries(ldd, [executable, shell, *extensions], inside),
        packages=packed,
    )


def required_packages(roots: Iterable[str]) -> tuple[str, ...]:
    """Returns ``roots`` and all their requirements on this interpreter, as canonical names in alphabetical order.

    Raises `SiteError` when one is not installed.
    """
    seen: set[str] = set()
    waiting = [Requirement(root) for root in roots]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            raise SiteError(
                f"the embedded apps need the package {name!r}, which is not installed here; run: pip install {name}"
            ) from None
        seen.add(name)
        extras = requirement.extras or {""}
        for text in requires:
            child = Requirement(text)
            if child.marker is None or any(child.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(child)
    return tuple(sorted(seen))


def _package_files(packages: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yields the files of installed distributions, including byte code, as (path below purelib, file), in a stable
    order."""
    for package in packages:
        for file in sorted(metadata.files(package) or [], key=str):
            source = Path(str(file.locate()))
            if ".." not in file.parts and source.is_file():
                yield file.as_posix(), source


def _shell() -> Path:
    """Returns a static busybox if there is one, for people who inspect a container; else this machine's ``sh``."""
    busybox = shutil.which("busybox")
    if busybox is not None and _applets(Path(busybox)):
        return Path(busybox).resolve()
    return Path("/bin/sh").resolve()


def _applets(busybox: Path) -> list[str]:
    result = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, timeout=30, check=False)
    return [name for name in result.stdout.split() if "/" not in name and name != "busybox"]


def _libraries(ldd: str, binaries: Sequence[Path], inside: Sequence[Path]) -> tuple[Path, ...]:
    """Returns the libraries that ``binaries`` and the files ``inside`` packages link to, except those in the packages
    themselves."""
    output = subprocess.run(
        [ldd, *map(str, binaries), *map(str, inside)], capture_output=True, text=True, timeout=60, check=False
    ).stdout  # a static binary makes it exit 1
    found = {os.path.normpath(path) for path in re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", output, re.M)}
    return tuple(sorted(map(Path, found - {os.path.normpath(path) for path in inside})))


def _tree(stdlib: Path) -> Iterator[Path]:
    for path in sorted(stdlib.rglob("*")):
        parts = path.relative_to(stdlib).parts
        if _NOT_NEEDED.intersection(parts) or parts[0].startswith("config-") or not path.is_file():
            continue
        if path.name.endswith((".opt-1.pyc", ".opt-2.pyc")) or (parts[0] == "lib-dynload" and "tkinter" in path.name):
            continue
        yield path


class _Writer:
    """Adds files with fixed owners and modes, and their parent folders, which are accessible to all."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._folders: set[str] = {"/"}
        self._names: set[str] = set()

    def folder(self, name: str, *, mode: int = 0o755) -> None:
        if name in self._folders:
            return
        self._folders.add(name)
        self.folder(str(PurePosixPath(name).parent))
        info = tarfile.TarInfo(name.lstrip("/"))
        info.type, info.mode = tarfile.DIRTYPE, mode
        self._archive.addfile(info)

    def file(self, name: str, source: Path) -> None:
        # Links are followed: a library must exist under the name that the loader uses.
        stat = source.stat()
        mode = 0o755 if stat.st_mode & 0o111 else 0o644
        self._add(name, source.read_bytes(), mode=mode, mtime=int(stat.st_mtime))

    def text(self, name: str, text: str) -> None:
        self._add(name, text.encode(), mode=0o644, mtime=0)

    def link(self, name: str, target: str) -> None:
        if self._new(name):
            info = tarfile.TarInfo(name.lstrip("/"))
            info.type, info.linkname = tarfile.SYMTYPE, target
            self._archive.addfile(info)

    def _add(self, name: str, content: bytes, *, mode: int, mtime: int) -> None:
        if self._new(name):
            info = tarfile.TarInfo(name.lstrip("/"))
            info.size, info.mode, info.mtime = len(content), mode, mtime
            self._archive.addfile(info, io.BytesIO(content))

    def _new(self, name: str) -> bool:
        if name in self._names:
            return False
        self._names.add(name)
        self.folder(str(PurePosixPath(name).parent))
        return True
