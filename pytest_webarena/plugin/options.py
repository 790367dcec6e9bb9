"""Options and ini keys of this plugin, each with its default and unit."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from pytest_webarena.plugin.agent_options import add_agent_options
from pytest_webarena.plugin.gate_options import add_gate_options
from pytest_webarena.plugin.judge_options import JUDGE_INI, add_judge_options
from pytest_webarena.plugin.option_values import (
    natural_float,
    natural_int,
    positive_float,
    positive_int,
    run_directory,
    width,
)
from pytest_webarena.plugin.presets import PRESETS
from pytest_webarena.plugin.suite_options import add_suite_options, names_suite

__all__ = ["ANSWER_FORMATS", "GRADINGS", "INI_KEYS", "PULLS", "add_options", "asked_for"]

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
    ("tracing", "", "Default of --tracing for tasks; takes on-retry besides."),
    ("video", "", "Default of --video for tasks; takes on-retry besides."),
    *((name, "", text) for name, text in JUDGE_INI),
)
"""Name without the prefix ``webarena_``, default and help of each ini key."""

_defaults: dict[str, Any] = {}
"""Defaults of the options, by pytest's names; the same for every session of a process."""


def add_options(parser: pytest.Parser) -> None:
    """Declare the options (one group) and ini keys, each with its default and unit."""
    group = parser.getgroup("webarena", "web-agent tasks (pytest-webarena)")
    add_agent_options(group)
    _add_site_options(group)
    _add_trial_options(group)
    _add_judging_options(group)
    _add_run_options(group)
    add_gate_options(group)
    _defaults.update((option.dest, option.attrs().get("default")) for option in group.options)
    for name, default, text in INI_KEYS:
        kind: Literal["args", "string"] = "args" if isinstance(default, list) else "string"
        parser.addini(f"webarena_{name}", type=kind, default=default, help=text)


def _add_site_options(group: pytest.OptionGroup) -> None:
    """Declare the options about sites."""
    group.addoption(
        "--sites",
        default=None,
        metavar="CATALOGUE",
        help="Sites to run tasks on: embedded (default; no Docker), embedded-docker, webarena, webarena-verified, "
        "external, live, or a catalogue file. With --suite the default is the suite's own.",
    )
    add_suite_options(group)
    group.addoption(
        "--site-url",
        action="append",
        default=[],
        metavar="SITE=URL",
        help="Use a site that runs elsewhere instead of the catalogue's; repeat for several. It can't be reset.",
    )
    group.addoption(
        "--record-archive",
        default=None,
        metavar="FILE",
        help="Keep what the sites answer as an archive, a new .warc.gz file, that --sites=archive:FILE serves.",
    )
    group.addoption(
        "--reachable-sites",
        default=None,
        metavar="task|environment|SITE,…",
        help="What agents can visit in addition to their task's sites: nothing, all sites of the catalogue, or "
        "the named ones (default: as tasks say; published suites say environment).",
    )
    group.addoption(
        "--allow-unreset",
        action="store_true",
        help="Also run tasks that change sites which can't be reset; they may disturb each other.",
    )
    group.addoption(
        "--pull",
        choices=PULLS,
        default=None,
        help="Which missing images a run pulls: small ones, of at most 1 GB by their manifest, all, or never any "
        "(default: small). Tasks of missing sites are skipped; 'webarena sites images pull' pulls images before a run.",
    )
    group.addoption(
        "--fetch-images",
        action="store_true",
        help="Load tasks' input images also from addresses that are on none of their sites, over the network (default: "
        "such tasks are skipped).",
    )
    group.addoption(
        "--replicas",
        type=positive_int,
        default=None,
        metavar="N",
        help="Most replicas per app (default: as half of the free memory allows, at most 3 per worker and 2 more, or "
        "as many as --concurrency has in flight and a few more).",
    )
    group.addoption(
        "--lease-timeout",
        type=positive_float,
        default=600.0,
        metavar="SECONDS",
        help="How long a trial may wait for its sites, in seconds (default: 600).",
    )


def _add_trial_options(group: pytest.OptionGroup) -> None:
    """Declare the options about running trials."""
    group.addoption(
        "--trials", type=positive_int, default=None, metavar="K", help="Tries per task and agent (default: 1)."
    )
    group.addoption(
        "--preset",
        choices=tuple(PRESETS),
        default=None,
        help="Names, limits, viewport, observation, reach and grading of a published evaluation, all at once: "
        + "; ".join(f"{name}: {preset.about}" for name, preset in PRESETS.items())
        + ".",
    )
    group.addoption(
        "--env-retries",
        type=natural_int,
        default=1,
        metavar="N",
        help="Tries more, each on a fresh replica, after an error of site, browser or model (default: 1).",
    )
    group.addoption(
        "--max-consecutive-errors",
        type=natural_int,
        default=5,
        metavar="N",
        help="Errors in a row, of one agent and one cause, after which the rest of its trials is not run; for errors "
        "of sites, the rest on these sites. The exit code is then 13, and --resume runs what is missing. 0: go on to "
        "the end (default: 5).",
    )
    group.addoption(
        "--write-timeout",
        type=natural_float,
        default=10.0,
        metavar="SECONDS",
        help="How long requests that may change a site (POST, PUT, …) are waited for after a trial's last step, in "
        "seconds. One without an answer by then makes the trial an error of its site; with 0 checks see the site as it "
        "is at once (default: 10).",
    )
    group.addoption(
        "--quiet-time",
        type=natural_float,
        default=1.0,
        metavar="SECONDS",
        help="How long pages with scripts get after the last action to begin what they have put off (to save when "
        "something has faded, say), in seconds, where checks look at sites; what they begin is waited for. Agents that "
        "think before they stop have passed it already (default: 1).",
    )
    group.addoption(
        "--browser-executable",
        default=None,
        metavar="PATH",
        help="Browser to launch (default: Playwright's own if installed, else one of the system: a Chromium or Chrome; "
        "with --browser=firefox a Firefox).",
    )
    group.addoption(
        "--concurrency",
        type=width,
        default=None,
        metavar="K",
        help="Trials in flight at a time, in threads on shared browsers; their tests are reported as they are over. "
        "auto: as many as half of the free memory holds, at most 16 per processor, and no more than these have time "
        "for, if agents compute rather than wait. With -n, in each of its workers (default: 1, one after the other). "
        "With --ray: on each node (default there: auto).",
    )
    group.addoption(
        "--ray",
        metavar="ADDRESS",
        default=None,
        help="Play trials on the nodes of the Ray cluster at HOST:PORT, which this machine is in; auto: the one that "
        "`ray start` has begun here. Each node has a browser, its own sites and --concurrency trials. Needs the "
        "extra [ray]; not with -n. none: this machine does, where --resume would take a run's cluster over.",
    )
    group.addoption(
        "--ray-insecure",
        action="store_true",
        help="Use a cluster that asks nobody for a token: whoever reaches its ports runs code on all of its machines.",
    )


def _add_judging_options(group: pytest.OptionGroup) -> None:
    """Declare the options about judging."""
    group.addoption(
        "--grading",
        choices=GRADINGS,
        default=None,
        help="Whose verdict counts for tasks of WebArena's benchmarks: the original harness's, its defects included; "
        "the same with the documented defects repaired; or WebArena-Verified's (default: repaired). All are recorded. "
        "For key nodes: as WebCanvas' paper scores them, or as its code does, which records the page before each step.",
    )
    group.addoption(
        "--without-repair",
        action="append",
        default=[],
        metavar="RULE",
        help="Leave one repair out of --grading=repaired; repeat for several. 'webarena tasks repairs' lists them.",
    )
    group.addoption(
        "--answer-format",
        choices=ANSWER_FORMATS,
        default=None,
        help="The form of answer that agents are asked for: plain text, or WebArena-Verified's typed response, as JSON "
        "(default: auto, the one that the grading that counts can read).",
    )
    add_judge_options(group)
    group.addoption(
        "--check-timeout",
        type=natural_float,
        default=60.0,
        metavar="SECONDS",
        help=(
            "What judging one check may take, in seconds, models not counted; one that takes longer is an error, no "
            "verdict. 0: no limit, and no process apart for judging, as debuggers want it (default: 60)."
        ),
    )


def _add_run_options(group: pytest.OptionGroup) -> None:
    """Declare the options about run directories: new, resumed, rescored and replayed ones."""
    group.addoption(
        "--run-dir",
        default=None,
        metavar="DIR",
        help="Where this run's records go (default: webarena-runs/<date>-<time>).",
    )
    group.addoption(
        "--record",
        choices=("all", "failures", "minimal"),
        default="all",
        help="Which trials keep screenshots and observations; all else is always kept (default: all).",
    )
    group.addoption(
        "--resume",
        type=run_directory,
        default=None,
        metavar="RUN_DIR",
        help="Go on with an earlier run (latest: the newest one): skip its finished trials whose task is unchanged, "
        "run the rest. Agents, "
        "trials, tests and all else are the run's own; what contradicts it is an error.",
    )
    group.addoption(
        "--allow-mixed",
        action="store_true",
        help="With --resume: have trials of other agents, sites or settings in one run. Reports name the difference.",
    )
    group.addoption(
        "--rescore",
        type=run_directory,
        default=None,
        metavar="RUN_DIR",
        help="Judge a finished run again, from what was recorded: no sites, no browser, no agents. Agents, "
        "trials, grading and judge are the run's own unless given; its task files are collected unless others are.",
    )
    group.addoption(
        "--replay-run",
        type=run_directory,
        default=None,
        metavar="RUN_DIR",
        help="Run agents on the recorded trials of a finished run (latest: the newest one), without sites or browser, "
        "until they do something else than was done: a trial passes that stays on the record and meets its checks.",
    )
    group.addoption(
        "--replay-of",
        default="",
        metavar="AGENT",
        help="With --replay-run: whose trials are followed (default: those of the agent's own name, else of the only "
        "agent that tried the task).",
    )
    group.addoption(
        "--shard",
        default=None,
        metavar="I/N",
        help="Run only part I of N; join the run directories with 'webarena runs merge'.",
    )
    group.addoption(
        "--audit",
        action="store_true",
        help="Audit the tasks instead of an agent: solutions must pass, agents that do nothing or something wrong must "
        "fail. Exit with 12 when a task is not valid.",
    )
    group.addoption(
        "--secret-env",
        action="append",
        default=[],
        metavar="NAME",
        help="Environment variable whose value must be in no file written; repeat for several. API keys never are.",
    )


def asked_for(config: pytest.Config) -> bool:
    """Return whether the command line or the ini file uses this plugin. Otherwise all settings are the defaults."""
    for name, default in _defaults.items():
        value = config.getoption(name)
        if not (value is None or value is False or value == [] or value == default):
            return True
    ini = any(config.getini(f"webarena_{name}") != default for name, default, _ in INI_KEYS)
    return ini or any(map(names_suite, config.args))
