"""Reports of runs that are over, e.g. merged ones.

>>> write_allure_results("no/such/run", "allure-results")
Traceback (most recent call last):
    ...
pytest_webarena.errors.UsageError: no/such/run: expected a run's directory, with a run.json in it, found none
"""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["write_allure_results"]


def write_allure_results(run: str | Path, target: str | Path, *, root: str | Path | None = None) -> int:
    """Make Allure results in ``target`` of the stored ``run``; the number of its trials. `UsageError` when it is none.

    ``root`` is what node ids are relative to, for links to task files; None: the working directory.
    """
    if not (Path(run) / "run.json").is_file():
        raise UsageError(f"{run}: expected a run's directory, with a run.json in it, found none")
    from pytest_webarena.plugin.reporting.allure import write_results
    from pytest_webarena.results import RunDir

    return write_results(RunDir(Path(run)), Path(target), root=Path(root) if root is not None else None)
