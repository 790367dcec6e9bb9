"""Reports of stored runs that have finished, e.g. merged ones.

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
    """Write Allure results of the stored ``run`` into ``target``, and return the number of its trials.

    ``root`` is the folder that node ids are relative to, for links to task files; None is the working directory. Raises
    `UsageError` when ``run`` is not a run.
    """
    if not (Path(run) / "run.json").is_file():
        raise UsageError(f"{run}: expected a run's directory, with a run.json in it, found none")
    from pytest_webarena.plugin.reporting.allure import write_results
    from pytest_webarena.results import RunDir

    return write_results(RunDir(Path(run)), Path(target), root=Path(root) if root is not None else None)
