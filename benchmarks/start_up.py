"""Measures the cost of the installed plugin for other test suites.

    python benchmarks/start_up.py [ROUNDS]

Runs pytest on one trivial test in an empty project, alternately without and with the plugin, so that other load affects
both alike. Columns: processor seconds of the whole process tree without and with it, the difference, and the difference
in imported modules. ``without`` blocks the entry point (``-p no:webarena``), so that no module of the plugin is loaded.
The last row also collects a task file and deselects its task, which shows the cost of the first task.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

CASES: Mapping[str, tuple[str, ...]] = {
    "pytest": (),
    "pytest -n 2": ("-n", "2"),
    "pytest --collect-only": ("--collect-only",),
    "pytest, and one task": ("tasks.yaml", "--deselect=tasks.yaml"),
}
WITHOUT = ("-p", "no:webarena")
OTHERS = ("-p", "no:cacheprovider", "-q")
TASK = "tasks:\n  - {id: hello, intent: Say hello, sites: [], checks: [{answer: hello}]}\n"
COUNT = "import pytest, sys; code = pytest.main(sys.argv[1:]); print('modules', len(sys.modules)); sys.exit(code)"


def run(folder: Path, arguments: Sequence[str]) -> tuple[float, int]:
    """Returns the CPU seconds of a pytest run with its children, and how many modules its first process imported."""
    before = os.times()
    command = [sys.executable, "-c", COUNT, "test_it.py", *OTHERS, *arguments]
    # Compiled files are kept, as they are for an installed package.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return spent, int(done.stdout.rpartition("modules ")[2])


def main() -> None:
    """Prints the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    print(f"CPU seconds of the process tree, medians of {rounds}, rounds taken in turn")
    print(f"{'':<24}{'without':>9}{'with':>9}{'more':>9}{'modules more':>14}")
    with tempfile.TemporaryDirectory(prefix="start-up-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
        (folder / "test_it.py").write_text("def test_it(): pass\n", "utf-8")
        (folder / "tasks.yaml").write_text(TASK, "utf-8")
        for case, arguments in CASES.items():
            without = [argument for argument in arguments if "tasks.yaml" not in argument]
            pairs = [(run(folder, [*without, *WITHOUT]), run(folder, arguments)) for _ in range(rounds + 1)][1:]
            less, more = (median(each[side][0] for each in pairs) for side in (0, 1))
            modules = pairs[0][1][1] - pairs[0][0][1]
            print(f"{case:<24}{less:>9.3f}{more:>9.3f}{more - less:>9.3f}{modules:>14}")


if __name__ == "__main__":
    main()
