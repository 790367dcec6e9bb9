"""The part of a project that is shipped to nodes: its files, at other paths there; never secrets, which nodes have
already."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from pytest_webarena.errors import UsageError
from pytest_webarena.shipped import shipped

__all__ = ["NodePaths", "Staged", "driver_package", "secrets_of", "stage"]

_LEFT_OUT = (
    ".*", "__pycache__", "*.pyc", "*.egg-info", "node_modules", "venv", "env", "webarena-runs", "allure-results",
    "allure-report", "test-results", "*.pem", "*.key", "*.p12", "id_rsa*", "id_ed25519*", "credentials*",
)  # fmt: skip
"""Name patterns of files and folders that are not shipped; a project lists more in ``.rayignore``, one per line."""
_MOST = 200 << 20
"""Maximum total size, in bytes."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.I)
_SHORTEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The copy of a project that is shipped."""

    folder: Path
    held_back: tuple[str, ...]
    """Files that were left out because they contain the value of a secret."""
    size: int
    """Size in bytes."""


def secrets_of(environment: Mapping[str, str], names: Iterable[str] = ()) -> tuple[str, ...]:
    """Values of environment variables that must not leave this machine: those of ``names``, and of variables named like
    secrets."""
    wanted = set(names)
    values = (
        value.strip()
        for name, value in environment.items()
        if name in wanted or (_SECRET_NAME.search(name) and not os.path.exists(value))
    )
    return tuple(sorted({value for value in values if len(value) >= _SHORTEST}))


def stage(root: Path, target: Path, *, without: Iterable[Path] = (), secrets: Iterable[str] = ()) -> Staged:
    """Copy the project at ``root`` to ``target``. `UsageError` when it is too large to be shipped.

    Leaves out hidden files, caches, records, files named like keys, the folders ``without``, names in ``.rayignore``,
    and each file that contains one of ``secrets``. Links are followed only inside the project.
    """
    patterns = (*_LEFT_OUT, *_own_patterns(root))
    away = {path.resolve() for path in without}
    values = [secret.encode() for secret in secrets]
    size, held_back = 0, []
    for file in _files(root, root.resolve(), patterns, away):
        size += file.stat().st_size
        if size > _MOST:
            raise UsageError(
                f"--ray: expected at most {_MOST >> 20} MiB of files below {root} to ship to the nodes, found more; "
                "list files that nodes do not need in .rayignore there, or use a smaller root directory"
            )
        data = file.read_bytes()
        name = file.relative_to(root)
        if any(value in data for value in values):
            held_back.append(name.as_posix())
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
        shutil.copymode(file, target / name)
    return Staged(folder=target, held_back=tuple(held_back), size=size)


def _own_patterns(root: Path) -> list[str]:
    try:
        lines = (root / ".rayignore").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.strip().strip("/") for line in lines if line.strip() and not line.startswith("#")]


def _files(folder: Path, root: Path, patterns: tuple[str, ...], away: set[Path]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        real = path.resolve()
        if any(fnmatch(path.name, pattern) for pattern in patterns) or real in away or not real.is_relative_to(root):
            continue
        if path.is_dir() and not path.is_symlink():
            if (path / "run.json").exists() and (path / "trials").is_dir():
                continue  # the run directory of another run
            yield from _files(path, root, patterns, away)
        elif path.is_file():
            yield path


@dataclass(frozen=True, slots=True)
class NodePaths:
    """Maps paths of the driver's machine to paths on a node, below the project's root or in the installed package."""

    root: Path
    """Root of the project on the driver."""
    there: Path
    """Root of its copy on the node."""
    package: Path | None = None
    """Result of `driver_package` on the driver."""

    def on_node(self, path: Path, *, what: str) -> Path:
        """The path on the node. `UsageError` naming ``what`` when the path is in neither."""
        package, own = self.package, driver_package()
        along = package is not None and own is not None and path.is_relative_to(package)
        inside = package is not None and package != self.root and package.is_relative_to(self.root)  # a .venv
        if path.is_relative_to(self.root) and not (along and inside):
            return self.there / path.relative_to(self.root)
        if along:
            assert package is not None
            assert own is not None
            return own / path.relative_to(package)
        raise UsageError(
            f"{what}: expected a path below {self.root}, because nodes of --ray have only this folder, found {path}"
        )


def driver_package() -> Path | None:
    """Directory of the files that come with this package on this machine; None if they are not installed."""
    agents = shipped("agents")
    return agents.parent if agents is not None else None
