"""``webarena tasks validate --with-sites``: validate tasks and catalogues on running sites."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.commands.project import import_as_pytest
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.validation.validating import SiteReport, validate_on_sites

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.tasks.validate import Report

__all__ = ["validate_on_sites_of"]


def validate_on_sites_of(
    report: Report, sources: Sequence[str], options: argparse.Namespace, *, all_apps: bool
) -> list[SiteReport]:
    """Validate the tasks of ``report`` on the sites of each catalogue in ``sources``: a task on those of the first that
    has all its sites. ``all_apps``: whether apps that no task uses are started, too."""
    import_as_pytest(report.files)
    found = []
    left: list[Task] = list(report.tasks)
    for number, source in enumerate(sources, 1):
        catalogue = load_catalogue(source)
        last = number == len(sources)
        own = [task for task in left if last or set(task.leased) <= set(catalogue.sites)]
        left = [task for task in left if task not in own]
        with open_runtime(source, headed=False, executable=options.browser_executable) as runtime:
            runtime.engine()  # without a browser, nothing can be said about any file
            found.append(validate_on_sites(own, catalogue, runtime, all_apps=all_apps, say=_say))
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
