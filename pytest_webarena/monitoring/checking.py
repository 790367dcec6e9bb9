"""Checks tasks one by one: the monitoring agent runs each as a trial, and the result is stored in the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteMissing, TrialError, Unready
from pytest_webarena.evidence import Evidence
from pytest_webarena.monitoring.findings import TaskFinding, find, known_of, untried
from pytest_webarena.monitoring.history import Entry, History
from pytest_webarena.monitoring.replaying import AGENT, key_node_checks, read_tried_actions
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.records import DEFAULT_BROWSER
from pytest_webarena.sites.catalogues.archived import account_mismatch
from pytest_webarena.sites.catalogues.external import why_not_lent
from pytest_webarena.sites.catalogues.signing_in import why_not_signed_in
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.tasks.model import Limits, Task

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.trials.executor import TrialExecutor

__all__ = ["check", "untried_reason"]


def untried_reason(task: Task, catalogue: Catalogue, *, allow_unreset: bool = False) -> str:
    """Why a task cannot be tried at all; empty when it can."""
    known = sites_for_tasks(catalogue)
    if missing := [site for site in task.leased if site not in known]:
        hosts = task.source.get("hosts")
        names = [str(hosts.get(site, site)) for site in missing] if isinstance(hosts, dict) else missing
        live = "; webarena tasks import … --catalogue FILE writes one of live sites" if isinstance(hosts, dict) else ""
        return f"the catalogue {catalogue.name} has no site {', '.join(names)}{live} (--sites, --site-url)"
    if task.skip:
        return f"the task is marked skip: {task.skip}"
    if task.xfail:
        return f"the task is marked xfail: {task.xfail}"
    if not allow_unreset and (refused := why_not_lent(catalogue, task)):
        return refused
    if other := account_mismatch(catalogue, task):
        return other
    if unknown := why_not_signed_in(catalogue, task):
        return unknown
    if task.solution is None and not (task.source.get("recorded") and any(key_node_checks(task))):
        return "it has no solution, and no key nodes with recorded addresses"
    return ""


def check(
    task: Task, executor: TrialExecutor, run: RunDir, history: History, *, now: Callable[[], float]
) -> TaskFinding:
    """Try a task and store the finding in the history; for a valid task also the elements that it matched."""
    finding = _tried(task, executor, run, history, now=now)
    history.add(Entry.of(finding, flags=len(history.flags_of(task))))
    return finding


def _tried(
    task: Task, executor: TrialExecutor, run: RunDir, history: History, *, now: Callable[[], float]
) -> TaskFinding:
    known = history.known(task)
    # The search for moved elements takes additional steps, so the task's limits for agents do not apply.
    played = replace(task, limits=Limits(), xfail="")
    try:
        record = executor.submit(played, AGENT, 1, browser=DEFAULT_BROWSER, node_id=_node_id(task)).result()
    except SiteMissing as error:
        return untried(task, str(error), at=now())
    except (TrialError, Unready) as error:
        return untried(task, f"{error.cause}: {error}", at=now())
    attempt = run.folder(record.key).path / f"attempt-{record.attempt}"
    evidence = _evidence(attempt)
    tried = read_tried_actions(attempt)
    finding = find(task, record, evidence, tried, known, attempt=attempt)
    if finding.status == "valid" and task.solution is not None and evidence is not None:
        history.save_known(task, known_of(task, record, evidence, tried))
    return finding


def _evidence(attempt: Path) -> Evidence | None:
    try:
        return read_evidence(attempt)
    except (ValueError, KeyError, TypeError):
        return None


def _node_id(task: Task) -> str:
    return f"{task.location.path}::{task.id}"
