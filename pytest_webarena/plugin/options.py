"""Options and ini keys of this plugin, each with its default and unit."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from pytest_webarena.plugin.agent_options import add_agent_options
from pytest_webarena.plugin.gate_options import add_gate_options
from pytest_webarena.plugin.judge_options import JUDGE_INI, add_judge_options
from pytest_webarena.plugin.option_groups import OptionGroups, Subject
from pytest_webarena.plugin.option_values import (
    agents_run_directory,
    natural_float,
    natural_int,
    positive_float,
    positive_int,
    run_directory,
    width,
)
from pytest_webarena.plugin.presets import PRESETS
from pytest_webarena.plugin.suite_options import add_suite_options, names_suite

__all__ = ["ANSWER_FORMATS", "GRADINGS", "INI_KEYS", "PULLS", "add_options", "is_plugin_used", "option_groups"]

GRADINGS = ("original", "repaired", "verified", "webcanvas-paper", "webcanvas-code")
ANSWER_FORMATS = ("auto", "text", "verified")
PULLS = ("small", "all", "never")
"""Values of options, copied here so that declaring options does not import the packages that define them."""

INI_KEYS: tuple[tuple[str, Any, str], ...] = (
    ("secrets", [], "Names for --secret-env."),
    ("prices", "", "Default of --prices, relative to the root directory."),
    ("tasks", [], "Globs of task files, relative to the root directory."),
    ("agents", ["agents"], "Directories of agent definitions."),
    ("sites", "", "Default of --sites; files are relative to the root directory."),
    ("pull", "", "Default of --pull."),
    ("site_urls", [], "Values for --site-url, which replaces them."),
    ("browser_executable", "", "Default of --browser-executable."),
    ("tracing", "", "Default of --tracing for tasks; also accepts on-retry."),
    ("video", "", "Default of --video for tasks; also accepts on-retry."),
    *((name, "", text) for name, text in JUDGE_INI),
)
"""Name without the prefix ``webarena_``, default and help of each ini key."""

_defaults: dict[str, Any] = {}
"""Defaults of the options, by pytest's names; the same for every session of a process."""


def option_groups() -> OptionGroups:
    """Return the options in groups by subject, each with its default and unit."""
    groups = OptionGroups()
    add_agent_options(groups.subject("agents", "agents, models and their limits"))
    _add_site_options(groups.subject("sites", "sites and browsers"))
    selection = groups.subject("selection", "selection of tasks and trials")
    add_suite_options(selection)
    _add_selection_options(selection)
    _add_trial_options(groups.subject("trials", "trials and where they run"))
    _add_judging_options(groups.subject("verdicts", "gradings, checks and the judge"))
    _add_run_options(groups.subject("records", "records and earlier runs"))
    add_gate_options(groups.subject("gates", "thresholds and comparisons (exit codes 10 to 15)"))
    return groups


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and ini keys."""
    for group in option_groups().declare(parser):
        _defaults.update((option.dest, option.attrs().get("default")) for option in group.options)
    for name, default, text in INI_KEYS:
        kind: Literal["args", "string"] = "args" if isinstance(default, list) else "string"
        parser.addini(f"webarena_{name}", type=kind, default=default, help=text)


def _add_site_options(group: Subject) -> None:
    """Declare the options about sites."""
    group.addoption(
        "--sites",
        default=None,
        metavar="CATALOGUE",
        help="Sites to run tasks on: embedded (default; no Docker), embedded-docker, webarena, webarena-verified, "
        "external, live, or a catalogue file. With --suite, the suite's own is the default.",
    )
    group.addoption(
        "--site-url",
        action="append",
        default=[],
        metavar="SITE=URL",
        help="Address of a hosted site, used instead of the catalogue's; repeatable; env: from WebArena's variables.",
    )
    group.addoption(
        "--record-archive",
        default=None,
        metavar="FILE",
        help="Record the sites' responses in a new .warc.gz file, which --sites=archive:FILE serves.",
    )
    group.addoption(
        "--reachable-sites",
        default=None,
        metavar="task|environment|SITE,…",
        help="Sites that agents can visit in addition to their task's: none, all of the catalogue, or the named "
        "ones (default: as tasks say; published suites say environment).",
    )
    group.addoption(
        "--allow-unreset",
        action="store_true",
        help="Also run tasks that change sites which can't be reset; they may affect each other.",
    )
    group.addoption(
        "--pull",
        choices=PULLS,
        default=None,
        help="Missing images to pull: small ones (at most 1 GB by their manifest), all, or none (default: small). "
        "Tasks of missing sites are skipped; 'webarena sites images pull' pulls images before a run.",
    )
    group.addoption(
        "--fetch-images",
        action="store_true",
        help="Download input images that are not on the task's sites (default: skip such tasks).",
    )
    group.addoption(
        "--replicas",
        type=positive_int,
        default=None,
        metavar="N",
        help="Maximum replicas per app (default: by free memory, workers and --concurrency).",
    )
    group.addoption(
        "--lease-timeout",
        type=positive_float,
        default=600.0,
        metavar="SECONDS",
        help="Seconds that a trial may wait for its sites (default: 600).",
    )
    group.addoption(
        "--browser-executable",
        default=None,
        metavar="PATH",
        help="Browser to launch (default: Playwright's own if installed, else a Chromium or Chrome of the system; "
        "with --browser=firefox a Firefox).",
    )


def _add_selection_options(group: Subject) -> None:
    """Declare the options that select collected trials."""
    group.addoption(
        "--shard",
        default=None,
        metavar="I/N",
        help="Run only part I of N; 'webarena runs merge' joins the run directories.",
    )
    group.addoption(
        "--shard-durations",
        default=None,
        metavar="RUN",
        help="Balance the parts by the durations of this recorded run (default: parts by task id alone).",
    )


def _add_trial_options(group: Subject) -> None:
    """Declare the options about running trials."""
    group.addoption(
        "--trials", type=positive_int, default=None, metavar="K", help="Trials per task and agent (default: 1)."
    )
    group.addoption(
        "--preset",
        choices=tuple(PRESETS),
        default=None,
        help="Apply the limits, viewport, observation, reachable sites and grading of a published evaluation: "
        + "; ".join(f"{name}: {preset.about}" for name, preset in PRESETS.items())
        + ".",
    )
    group.addoption(
        "--env-retries",
        type=natural_int,
        default=1,
        metavar="N",
        help="Retries, each on a fresh replica, after an error of site, browser or model (default: 1).",
    )
    group.addoption(
        "--max-consecutive-errors",
        type=natural_int,
        default=5,
        metavar="N",
        help="Skip the rest of an agent's trials after this many errors in a row with one cause; for site errors, "
        "the rest on these sites. Exit code 13; --resume runs the rest. 0: never (default: 5).",
    )
    group.addoption(
        "--write-timeout",
        type=natural_float,
        default=10.0,
        metavar="SECONDS",
        help="Seconds to wait after the last step for requests that may change a site (POST, PUT, …). A working "
        "site gets six times as long before the trial is an error; with 0, checks do not wait (default: 10).",
    )
    group.addoption(
        "--quiet-time",
        type=natural_float,
        default=1.0,
        metavar="SECONDS",
        help="Seconds that pages get after the last action to start delayed work, such as saving after an "
        "animation; requests that they start are waited for (default: 1).",
    )
    group.addoption(
        "--concurrency",
        type=width,
        default=None,
        metavar="K",
        help="Trials in flight in one process, in threads on shared browsers; with -n in each worker, with --ray "
        "on each node (default: 1; with --ray auto). auto: by free memory and processors.",
    )
    group.addoption(
        "--ray",
        metavar="ADDRESS",
        default=None,
        help="Run trials on the nodes of the Ray cluster at HOST:PORT that includes this machine; auto: the "
        "cluster started here by `ray start`; none: on this machine, when resuming a run of a cluster. Needs "
        "the extra [ray]; not with -n.",
    )
    group.addoption(
        "--ray-insecure",
        action="store_true",
        help="Allow a cluster without token authentication: whoever reaches its ports runs code on all its machines.",
    )


def _add_judging_options(group: Subject) -> None:
    """Declare the options about judging."""
    group.addoption(
        "--grading",
        choices=GRADINGS,
        default=None,
        help="Grading whose verdict counts. WebArena's tasks: original (the released harness, defects included), "
        "repaired (documented defects repaired; default) or verified (WebArena-Verified). Key nodes: as "
        "WebCanvas' paper or code scores them.",
    )
    group.addoption(
        "--without-repair",
        action="append",
        default=[],
        metavar="RULE",
        help="Leave a repair out of --grading=repaired; repeatable. 'webarena tasks repairs' lists them.",
    )
    group.addoption(
        "--answer-format",
        choices=ANSWER_FORMATS,
        default=None,
        help="Form of the final answer that agents are asked for: plain text, or WebArena-Verified's JSON "
        "(default: auto, the form that the grading reads).",
    )
    add_judge_options(group)
    group.addoption(
        "--check-timeout",
        type=natural_float,
        default=60.0,
        metavar="SECONDS",
        help=(
            "Seconds to judge one check, without model calls; longer is not met or undecided. 0: no limit, judged in "
            "this process, for debuggers (default: 60)."
        ),
    )


def _add_run_options(group: Subject) -> None:
    """Declare the options about run directories: new, resumed, rescored and replayed ones."""
    group.addoption(
        "--run-dir",
        default=None,
        metavar="DIR",
        help="Directory for this run's records (default: webarena-runs/<date>-<time>).",
    )
    group.addoption(
        "--record",
        choices=("all", "failures", "minimal"),
        default="all",
        help="Trials that keep screenshots and observations; everything else is always kept (default: all).",
    )
    group.addoption(
        "--resume",
        type=run_directory,
        default=None,
        metavar="RUN_DIR",
        help="Continue an earlier run (latest: the newest): skip finished trials whose task is unchanged, run the "
        "rest. Agents, trials and settings are the run's; contradictions are errors.",
    )
    group.addoption(
        "--allow-mixed",
        action="store_true",
        help="With --resume: allow trials of other agents, sites or settings in one run; reports name the differences.",
    )
    group.addoption(
        "--rescore",
        type=agents_run_directory,
        default=None,
        metavar="RUN_DIR",
        help="Judge a finished run again from its records, without sites, browsers or agents. Agents, trials, "
        "grading and judge are the run's unless given.",
    )
    group.addoption(
        "--replay-run",
        type=agents_run_directory,
        default=None,
        metavar="RUN_DIR",
        help="Run agents on the recorded trials of a finished run (latest: the newest), without sites or browser, "
        "until they leave the record. A trial passes if it stays on the record and meets its checks.",
    )
    group.addoption(
        "--replay-of",
        default="",
        metavar="AGENT",
        help="With --replay-run: follow this agent's trials (default: those of the same agent, else of the only "
        "agent).",
    )
    group.addoption(
        "--audit",
        action="store_true",
        help="Audit the tasks instead of an agent: solutions must pass; agents that do nothing or something wrong "
        "must fail. Exit code 12 if a task is invalid.",
    )
    group.addoption(
        "--secret-env",
        action="append",
        default=[],
        metavar="NAME",
        help="Environment variable whose value must not appear in any file; repeatable. API keys never appear.",
    )


def is_plugin_used(config: pytest.Config) -> bool:
    """Return whether the command line or the ini file uses this plugin. Otherwise all settings are the defaults."""
    for name, default in _defaults.items():
        value = config.getoption(name)
        if not (value is None or value is False or value == [] or value == default):
            return True
    ini = any(config.getini(f"webarena_{name}") != default for name, default, _ in INI_KEYS)
    return ini or any(map(names_suite, config.args))
