"""The finished seed, built once per version of code and libraries, copied from then on."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pytest_webarena.errors import SiteError

__all__ = ["cached", "digest", "seed"]

_FILE = "main.sqlite3"
_LIBRARIES = ("django", "django-oscar", "django-treebeard", "django-haystack")
_HERE = Path(__file__).parent
_SOURCES = ("identity.py", "passwords.py", "settings.py", "shipping.py", "artwork.py")


@cache
def digest() -> str:
    """Names the seed's content: the code that makes it, the world it tells of, Python and the libraries."""
    total = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for library in _LIBRARIES:
        total.update(f"{library}={version(library)};".encode())
    paths = [_HERE / name for name in _SOURCES]
    paths += [
        _HERE.parent / "world.py",
        *sorted((_HERE / "goods").glob("*.py")),
        *sorted((_HERE / "seeding").glob("*.py")),
    ]
    for path in paths:
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def seed(data_dir: Path) -> None:
    """Put a pristine store into ``data_dir``. `SiteError` when it can't be built."""
    data_dir.mkdir(parents=True, exist_ok=True)
    target = data_dir / _FILE
    fresh = target.with_suffix(".new")
    shutil.copyfile(cached(), fresh)
    os.replace(fresh, target)


def cached() -> Path:
    """The finished database in the cache directory, built if it is not there yet (some seconds).

    ``WEBARENA_CACHE_DIR`` overrides the place. Builders that race each make their own copy; the last to
    rename wins, and all copies are equal.
    """
    folder = _cache_dir() / f"shop-{digest()}"
    database = folder / _FILE
    if not database.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as scratch:
            made = Path(scratch) / _FILE
            _build(made)
            os.replace(made, database)
    return database


def _build(database: Path) -> None:
    # In a process of its own: the caller may be a warm store, bound to another database.
    code = (
        "import sys; from pathlib import Path; from pytest_webarena.embedded.shop.seeding import build;"
        " build(Path(sys.argv[1]))"
    )
    packages = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", code, str(database)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise SiteError(f"the store's data could not be built (exit code {done.returncode}); its last lines:\n{tail}")


def _cache_dir() -> Path:
    chosen = os.environ.get("WEBARENA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pytest-webarena"
