"""``webarena tasks monitor``: check whether tasks can still be done, and keep a history of the results."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.monitoring.findings import TaskFinding
    from pytest_webarena.monitoring.history import History
    from pytest_webarena.tasks.model import Task

__all__ = ["NOTHING_DUE", "UNTOLD", "add_arguments", "tasks_named"]

UNTOLD = 3
"""Exit code: nothing is known to be broken or drifted, but some tasks could not be determined."""
NOTHING_DUE = 4
"""Exit code of ``--only-due`` when no task was due."""

_MOST_STEPS = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "tasks", nargs="*", metavar="TASKS", help="suites, task files, folders, or FILE::ID; none with --history"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("webarena-monitor"), metavar="DIR",
        help="where reports and the history are kept (default: webarena-monitor)",
    )  # fmt: skip
    parser.add_argument("--only-due", action="store_true", help="leave out what was checked lately; for scheduled jobs")
    parser.add_argument(
        "--every", type=float, default=30.0, metavar="DAYS", help="after how long a task is due again (default: 30)"
    )
    parser.add_argument("--flags", type=Path, metavar="FILE", help="reports of people, as the viewer writes them")
    parser.add_argument("--alerts", type=Path, metavar="FILE", help="what is new (default: DIR/alerts.json)")
    parser.add_argument("--history", action="store_true", help="print monthly findings without checking")
    parser.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: the ini file's, or embedded)")
    parser.add_argument(
        "--site-url", action="append", default=[], metavar="SITE=URL", help="address of a site that runs elsewhere"
    )
    parser.add_argument("--allow-unreset", action="store_true", help="also run tasks that change unresettable sites")
    parser.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    _add_judge(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=_run)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for a judge, with the names of pytest's options."""
    from pytest_webarena.commands.judge import add_judge_arguments

    parser.add_argument(
        "--judge", default="", metavar="MODEL",
        help="model that judges key nodes with a rule, and answers (default: they are untried)",
    )  # fmt: skip
    parser.add_argument("--judge-prompt", default="teacher", metavar="NAME", help="built-in or .j2 file (teacher)")
    parser.add_argument(
        "--judge-cache",
        type=Path,
        metavar="DIR",
        help="where its replies are kept (default: judge_replies/ in --folder)",
    )
    add_judge_arguments(parser)


def _judge(options: argparse.Namespace) -> JudgeSettings:
    """The judge to ask, without a model where there is none. Raises `UsageError` if it can't be asked."""
    from dataclasses import replace

    from pytest_webarena.commands.judge import judge_settings
    from pytest_webarena.llm.config import ModelSettings

    options.model = "" if options.judge == "none" else options.judge
    settings = replace(judge_settings(options), cache=options.judge_cache or options.folder / "judge_replies")
    settings.check(ModelSettings())
    return settings


def _run(options: argparse.Namespace) -> int:
    from pytest_webarena.monitoring.history import DAY, History, read_flags

    history = History(options.folder)
    if options.history:
        return _months(options, history)
    if not options.tasks:
        raise UsageError("expected tasks to check: suites, task files, folders or FILE::ID; or --history")
    if not options.every > 0:
        raise UsageError(f"--every: expected a number of days above 0, found {options.every:g}")
    _judge(options)  # raises for a bad judge before anything starts
    tasks = tasks_named(options.tasks)
    if options.flags is not None:
        flags = read_flags(options.flags)
        history.add_flags(flags)
        if unknown := sorted({flag.task for flag in flags} - {task.id for task in tasks}):
            print(f"--flags {options.flags}: of no task that was named: {', '.join(unknown)}", file=sys.stderr)
    due = [task for task in tasks if not options.only_due or history.due(task, every=options.every * DAY)]
    if not due:
        found = [entry.at for task in tasks if (entry := history.last(task)) is not None]
        days = options.every - (time.time() - min(found)) / DAY
        _print_unreadable(history)
        print(f"none of {len(tasks)} tasks is due; the next one is in {days:.0f} days")
        return NOTHING_DUE
    return _check(options, history, due, [task for task in tasks if task not in due])


def _months(options: argparse.Namespace, history: History) -> int:
    from pytest_webarena.monitoring.history import decay
    from pytest_webarena.monitoring.report import decay_lines

    months = decay(history.entries)
    if options.format == "json":
        data = [{**{name: getattr(each, name) for name in each.__slots__}, "rate": each.rate} for each in months]
        print(json.dumps(data, indent=1))
    else:
        print("\n".join(decay_lines(months)) if months else f"no check is kept in {options.folder}")
    _print_unreadable(history)
    return 0


def _print_unreadable(history: History) -> None:
    if history.unreadable:
        lines = "a line" if history.unreadable == 1 else f"{history.unreadable} lines"
        why = "damaged, or without a time in the past"
        print(f"{history.folder}: left out {lines} that can't be read: {why}", file=sys.stderr)


def tasks_named(sources: Sequence[str]) -> list[Task]:
    """Return the tasks that the command line names, each once. Raises `UsageError` for names without tasks."""
    from pytest_webarena.commands.suites import tasks_of
    from pytest_webarena.errors import closest

    found: dict[str, Task] = {}
    for source in sources:
        file, _, name = source.partition("::")
        if Path(file).suffix in (".yaml", ".yml") and not Path(file).exists():
            raise UsageError(f"{source}: expected a task file, found no such file")
        tasks = tasks_of(file)
        name = name.partition("[")[0]
        chosen = [task for task in tasks if name in ("", task.id, task.template)]
        if not chosen:
            known = closest(name, {task.id for task in tasks}) if name else "the file has none"
            raise UsageError(f"{source}: expected tasks, found none; {known}")
        for task in chosen:
            if (other := found.get(task.id)) is not None and other.location != task.location:
                places = " and ".join(f"{each.location.path}:{each.location.line}" for each in (other, task))
                raise UsageError(f"expected each task id once, found {task.id} at {places}")
            found[task.id] = task
    return list(found.values())


def _check(options: argparse.Namespace, history: History, due: Sequence[Task], rest: Sequence[Task]) -> int:
    from pytest_webarena.monitoring.history import decay
    from pytest_webarena.monitoring.report import alerts_json, lines, page, report_json
    from pytest_webarena.results.files import write_atomically

    before = {task.id: history.last_of_any_version(task.id) for task in due}
    findings = _findings(options, history, due)
    flags = {task.id: found for task in due if (found := history.flags_of(task))}
    at, months = time.time(), decay(history.entries)
    data = report_json(findings, at=at, not_due=[task.id for task in rest], flags=flags, months=months)
    alerts = alerts_json(findings, before, flags, at=at)
    target = options.folder / "report.html"
    shown = page(
        findings, target, at=at, not_due=[(task.id, history.last(task)) for task in rest], flags=flags, months=months
    )
    alerts_file = options.alerts or options.folder / "alerts.json"
    alerts_file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(options.folder / "report.json", json.dumps(data, indent=1))
    write_atomically(alerts_file, json.dumps(alerts, indent=1))
    write_atomically(target, shown)
    if options.format == "json":
        print(json.dumps(data, indent=1))
    else:
        print("\n".join(lines(findings, flags)))
        new_alerts = len(alerts["alerts"])
        print(f"\nreport: {target}; {new_alerts} new in {alerts_file}")
    _print_unreadable(history)
    statuses = {each.status for each in findings}
    if statuses & {"broken", "drifted"}:
        return 1
    return UNTOLD if statuses - {"valid"} else 0


def _findings(options: argparse.Namespace, history: History, due: Sequence[Task]) -> list[TaskFinding]:
    from pytest_webarena.monitoring.checking import check, untried_reason
    from pytest_webarena.monitoring.findings import untried
    from pytest_webarena.monitoring.history import Entry
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.sites.catalogues.loading import load_catalogue
    from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls
    from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
    from pytest_webarena.trials.executor import SerialExecutor
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import Runtime

    urls = parse_site_urls(options.site_url)
    catalogue = load_catalogue(options.sites, site_urls=urls)
    findings: list[TaskFinding] = []
    began = time.time()
    (options.folder / "runs").mkdir(parents=True, exist_ok=True)
    name = time.strftime("%Y-%m-%dT%H-%M-%S.", time.gmtime(began))
    run_dir = Path(tempfile.mkdtemp(prefix=name, dir=options.folder / "runs"))
    with ExitStack() as exits:
        broker = BrokerConfig(catalogue=options.sites, site_urls=urls, run_dir=run_dir, max_replicas=3)
        launcher = exits.enter_context(BrokerLauncher(broker))
        facts = {
            "started": began,
            "argv": ["webarena tasks monitor", *options.tasks],
            "agents": ["monitor"],
            "workers": 1,
        }
        info = RunInfo(
            run_dir=run_dir, broker=launcher.address, temp_dir=Path(launcher.address).parent / "temp", facts=facts
        )
        runtime = exits.enter_context(Runtime(info, _config(options, history, {task.id: task for task in due})))
        executor = exits.enter_context(SerialExecutor(runtime))
        for number, task in enumerate(due, start=1):
            if why := untried_reason(task, catalogue, allow_unreset=options.allow_unreset):
                finding = untried(task, why, at=time.time())
                history.add(Entry.of(finding, flags=len(history.flags_of(task))))
            else:
                finding = check(task, executor, RunDir(run_dir), history, now=time.time)
            findings.append(finding.with_review(task))
            print(f"[{number}/{len(due)}] {finding.status}: {task.id}", file=sys.stderr)
    if not any(run_dir.iterdir()):
        os.rmdir(run_dir)
    return findings


def _config(options: argparse.Namespace, history: History, tasks: dict[str, Task]) -> Any:
    from pytest_webarena.browser.config import EngineConfig, SessionConfig
    from pytest_webarena.monitoring.replaying import definition
    from pytest_webarena.trials.episode import EpisodeLimits
    from pytest_webarena.trials.options import TrialOptions
    from pytest_webarena.trials.runtime import RuntimeConfig

    return RuntimeConfig(
        worker="check",
        limits=EpisodeLimits(steps=_MOST_STEPS),
        options=TrialOptions(env_retries=1),
        lease_timeout=300.0,
        agent_directories=(),
        judge=_judge(options),
        engine=EngineConfig(executable=options.browser_executable),
        session=SessionConfig(record_screenshots=True),
        agent_of=lambda name, task: definition(history.known(tasks[task.id])),
    )
