"""Follows the tutorial with the built wheel in an empty environment, as a user would: ``make try-wheel``.

The environment ``.venv-wheel`` gets the newest wheel of ``dist/`` and its requirements, and nothing of this checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv-wheel"


def main() -> int:
    """Installs and tries the wheel; returns the exit code."""
    wheels = sorted((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        print("try-wheel: expected a wheel in dist/, found none; run make wheel", file=sys.stderr)
        return 1
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ENVIRONMENT], check=True)
    python = ENVIRONMENT / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-compile", "--disable-pip-version-check", wheels[-1]], check=True)
    where = [str(python), "-P", "-c", "import pytest_webarena; print(pytest_webarena.__file__)"]
    imported = Path(subprocess.run(where, check=True, capture_output=True, text=True, cwd="/").stdout.strip())
    if not imported.is_relative_to(ENVIRONMENT):
        print(f"try-wheel: expected the package in {ENVIRONMENT.name}, found it at {imported}", file=sys.stderr)
        return 1
    tutorial = [sys.executable, "-m", "pytest", "tests/browser/test_docs_run.py", "-k", "tutorial", "-q"]
    return subprocess.run(
        tutorial,
        cwd=ROOT,
        env=os.environ | {"WEBARENA_TEST_BIN": str(python.parent), "WEBARENA_REQUIRE_BROWSER": "1"},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
