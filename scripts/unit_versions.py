"""Runs the unit tests with all other supported Python versions found on this machine: ``unit_versions.py``.

``make test-all`` runs the whole suite with the interpreter of ``.venv``. Differences between Python versions show in
the unit tests, so this runs only those, each in a ``.venv-3.X`` that is kept for the next time, and names the versions
that it did not find. Tests with many cases run only some of them, and tests of whole corpora are skipped.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
WANTED = ("3.11", "3.12", "3.13")
IF_THERE = ("3.14",)
CHECKERS = re.compile(r"(mypy|ruff|types-.*)\b")
"""Packages of the extra ``dev`` that no test imports."""
CHOSEN = ("-m", "not corpus", "--cases=8")
"""Which unit tests run; ``--cases`` is an option of ``tests/conftest.py``."""
EXTRAS = "gitlab"
"""Extras of the package that unit tests need and ``dev`` doesn't include."""
_ASK = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"


def candidates(version: str, home: Path, path: str) -> Iterator[Path]:
    """Yields paths where an interpreter of this version may be, the most likely first."""
    if found := shutil.which(f"python{version}", path=path):
        yield Path(found)
    for installed in (".pyenv/versions", ".local/share/uv/python", ".asdf/installs/python"):
        yield from sorted(home.glob(f"{installed}/*{version}*/bin/python{version}"), reverse=True)
    yield from (Path(folder, f"python{version}") for folder in ("/usr/bin", "/usr/local/bin"))


def interpreter(version: str, among: Iterable[Path]) -> Path | None:
    """Returns the first path that runs, is CPython of this version and can make environments; pyenv's shims often
    can't."""
    for path in among:
        if not path.exists():
            continue
        try:
            probe = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if probe.stdout.split() == [version, "cpython"]:
            return path
    return None


def requirements() -> list[str]:
    """Returns what the unit tests need in addition to the package and its extras."""
    dev = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    return [requirement for requirement in dev if not CHECKERS.match(requirement)]


def environment(version: str, python: Path) -> Path:
    """Returns the interpreter of ``.venv-<version>``, which is rebuilt if its requirements have changed."""
    folder, stamp = HERE / f".venv-{version}", HERE / f".venv-{version}" / "made-for"
    needed = [f"{HERE}[{EXTRAS}]", *requirements()]
    made_for = f"{python.resolve()} {hashlib.sha256((HERE / 'pyproject.toml').read_bytes()).hexdigest()} {needed}"
    inside = folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == made_for:
        return inside
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", folder], check=True)
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([inside, "-m", "pip", "install", *quiet, "--editable", *needed], check=True, cwd=HERE)
    stamp.write_text(made_for)
    return inside


def made(version: str, python: Path) -> Path | None:
    """Like `environment`, but prints a message and returns None if the environment can't be made."""
    try:
        return environment(version, python)
    except subprocess.CalledProcessError as error:
        print(f"unit_versions: {version}: no environment could be made with {python}: {error}", flush=True)
        return None


def run(version: str, python: Path) -> bool:
    """Returns whether the unit tests pass with this version. Their output is printed in one piece at the end."""
    began = time.monotonic()
    # Requirements like a browser or an engine concern only the whole suite, which runs elsewhere.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WEBARENA_REQUIRE_")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    report = f"--junitxml=test-results/junit-{version}.xml"
    command = [str(python), "-m", "pytest", "tests/unit", *CHOSEN, "-n", "2", "-q", "-p", "no:cacheprovider", report]
    done = subprocess.run(
        command, cwd=HERE, env=environ, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    says = "passed" if done.returncode == 0 else f"exit status {done.returncode}"
    print(f"{done.stdout}unit_versions: {version}: {says} in {time.monotonic() - began:.0f} s", flush=True)
    return done.returncode == 0


def passed(environments: Mapping[str, Path | None], together: int = 2) -> dict[str, bool]:
    """Returns whether the unit tests pass with each version; several run at once, since many tests wait for
    something."""
    with ThreadPoolExecutor(together) as threads:
        runs = {version: threads.submit(run, version, inside) for version, inside in environments.items() if inside}
        return {version: version in runs and runs[version].result() for version in environments}


def main() -> int:
    """Returns exit status 1 if tests fail with any version."""
    own = "{}.{}".format(*sys.version_info[:2])
    home, path = Path.home(), os.environ.get("PATH", "")
    others = [version for version in (*WANTED, *IF_THERE) if version != own]
    interpreters = {version: interpreter(version, candidates(version, home, path)) for version in others}
    found = {version: python for version, python in interpreters.items() if python is not None}
    with ThreadPoolExecutor(2) as threads:  # installing keeps one core busy
        environments = dict(zip(found, threads.map(made, found, found.values()), strict=True))
    failed = [version for version, well in passed(environments).items() if not well]
    missing = [version for version in WANTED if version != own and version not in found]
    print(
        f"unit_versions: Python {own} ran the whole suite, {', '.join(found) or 'no other'} the unit tests"
        + (f"; not on this machine: {', '.join(missing)}" if missing else "")
        + (f"; FAILED with {', '.join(failed)}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
