"""Allure's files about the whole run: categories, environment, executor, configuration.

Only the controller writes them, and they are the same for every shard of a run, so that directories of results can be
combined.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attr import asdict

from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.plugin.reporting.allure.files import Attachments
from pytest_webarena.plugin.reporting.allure.result import SKIP_KINDS, STATUSES
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.trial_outcome import TrialOutcome
from pytest_webarena.results.wording import CAUSE_WORDS, STOP_WORDS
from pytest_webarena.text import printable

__all__ = [
    "CONFIG",
    "HISTORY",
    "ONE_PAGE_LIMIT",
    "categories",
    "configuration",
    "environment_properties",
    "executor",
    "write_run_files",
]

CONFIG = "allurerc.mjs"
"""Configuration of Allure 3, including categories: ``allure generate DIR --config=DIR/allurerc.mjs``."""

ONE_PAGE_LIMIT = 40_000_000
"""Bytes of results up to which the report is a single page, which opens from disk unlike other reports."""

_OFFLINE = "allure-offline.mjs"
_OFFLINE_PLUGIN = """\
// Written by pytest-webarena. Allure's pages load a script for usage statistics; this removes it from the report.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const removed = /<script[^>]*src="https:\\/\\/www\\.googletagmanager\\.com[^"]*"[^>]*><\\/script>/;

export default class Offline {
  async done(context) {
    // It learns the report's place by writing a file into it, and adds no folder of its own.
    const known = await context.reportFiles.addFile("../awesome/summary.json", Buffer.from("{}"));
    const page = readFileSync(join(known, "..", "index.html"), "utf8");
    await context.reportFiles.addFile("../awesome/index.html", Buffer.from(page.replace(removed, "")));
  }
}
"""
"""Plugin for Allure 3. It runs after the plugin that writes the page."""

_CONFIGURATION = """\
// Written by pytest-webarena. Allure 3:  npx allure@3 generate RESULTS --config=RESULTS/allurerc.mjs
import {{ readFileSync, readdirSync, statSync }} from "node:fs";
import {{ fileURLToPath }} from "node:url";

const config = {config};
const agents = {agents};

config.environments = Object.fromEntries(Object.entries(agents).map(([id, agent]) => [
  id,
  {{ name: agent, matcher: ({{ labels }}) => labels.some(({{ name, value }}) => name === "agent" && value === agent) }},
]));

const here = new URL(".", import.meta.url);
const names = readdirSync(here);
const place = (name) => new URL(encodeURIComponent(name), here);

// The first page shows the figures of the run. Results of several runs or shards keep the figures of each.
const parts = names.filter((name) => name.endsWith("-globals.json"));
const figures = parts.map((name) => JSON.parse(readFileSync(place(name))).figures ?? {{}})
  .filter((each) => Object.keys(each).length);
const mark = (index) => figures.length > 1 ? ` (part ${{index + 1}} of ${{figures.length}})` : "";
config.variables = Object.fromEntries(figures.flatMap((each, index) =>
  Object.entries(each).map(([name, text]) => [`${{name}}${{mark(index)}}`, text])));
if (figures.length > 1) config.variables["rates of all parts"] = {merge};

// One page that opens from disk, unless these results are too many for that.
const size = names.reduce((sum, name) => sum + statSync(place(name)).size, 0);
config.plugins.awesome.options.singleFile = size < {limit};
config.plugins.offline = {{ import: fileURLToPath(new URL("{offline}", import.meta.url)) }};

// Trends: this file is read and added to by each report that is made with it.
if (process.env.{history}) {{
  config.historyPath = process.env.{history};
  config.plugins.awesome.options.charts.push(...{trends});
}}

export default config;
"""

HISTORY = "ALLURE_HISTORY"
"""Environment variable with the file in which Allure 3 stores the history of reports."""

_UNDECIDED = {
    "rules": "Undecided, a judge could decide",
    "people": "Undecided, people decide",
    UNATTRIBUTED: "Undecided, an error of the agent or its environment",
}
"""Category of undecided trials by the detail of their outcome."""
_SUITES = ("parentSuite", "suite", "subSuite")
_CHARTS = (
    {"type": "currentStatus", "title": "Trials by outcome"},
    {"type": "problemsDistribution", "by": "environment", "title": "Not passed, by agent and site"},
    {"type": "successRateDistribution", "title": "Success by site and task"},
    {"type": "durations", "title": "Trials by duration", "groupBy": "none"},
)
"""Charts that a single run of tasks has data for."""
_TRENDS = (
    {"type": "statusDynamics", "title": "Outcomes, report by report"},
    {"type": "statusTransitions", "title": "Newly passed and newly failed, report by report"},
)
"""Charts that need earlier reports."""
_MERGE = "not computed here: merge the runs (webarena runs merge) and report the merged run"
"""Figure of a report of several parts, whose rates have no sum."""
_HIDDEN_LABELS = ("agent", "host", "thread", "framework", "language", "package", "parentSuite", "suite", "subSuite")


def write_run_files(
    directory: Path,
    facts: Mapping[str, Any],
    *,
    agents: Sequence[str],
    attached: Sequence[Path] = (),
    figures: Mapping[str, str] | None = None,
    in_full: Mapping[str, str] | None = None,
    problems: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Write the run's files next to its results.

    Args:
        facts: Content of ``run.json``.
        agents: Names of all agents with records (`identity.performer`).
        attached: Files that belong to no test.
        figures: Rates, costs and comparisons as text, by name. Results of shards are combined and each has its own
            figures, so they are in a file of their own, which the configuration reads.
        in_full: The same for the attached text, which has room for all words; by default the same.
        problems: Errors of the run as a whole.
    """
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / "categories.json", json.dumps(categories(), indent=1))
    write_atomically(directory / CONFIG, configuration(agents))
    write_atomically(directory / _OFFLINE, _OFFLINE_PLUGIN)
    write_atomically(directory / "environment.properties", _properties(environment_properties(facts, agents)))
    write_atomically(directory / "executor.json", json.dumps(executor(environment), indent=1))
    files = Attachments(directory)
    found = [attachment for path in attached if (attachment := files.file(path.name, path)) is not None]
    if figures:
        text = "".join(f"{name}: {value}\n" for name, value in (in_full or figures).items())
        found.insert(0, files.text("success rates.txt", text))
    globals_ = {
        "attachments": [
            {**asdict(attachment), "timestamp": round(facts.get("started", 0.0) * 1000)} for attachment in found
        ],
        "errors": [{"message": printable(problem)} for problem in problems],
        "figures": {printable(name): printable(value) for name, value in (figures or {}).items()},
    }
    if found or problems:
        write_atomically(directory / f"{uuid.uuid4()}-globals.json", json.dumps(globals_))


class _Category(NamedTuple):
    """A category of trials: the same one for both versions of Allure, which match differently."""

    name: str
    status: str
    message: str
    """Regular expression for the message, with which Allure 2 matches."""
    label: str = ""
    """Regular expression for the label ``outcome``, with which Allure 3 matches; empty: it uses the message, too."""


def _categories() -> Iterator[_Category]:
    """Yield the categories, in the order of matching."""
    for cause, words in CAUSE_WORDS.items():
        yield _of_outcome(f"Error, {cause}: {words}", TrialOutcome("error", cause))
    for reason, words in STOP_WORDS.items():
        name = "Finished, and the checks fail" if reason == "answered" else f"Failed, {words}"
        yield _of_outcome(name, TrialOutcome("failed", reason))
    for detail, name in _UNDECIDED.items():
        yield _of_outcome(name, TrialOutcome("undecided", detail))
    retried = "Passed, after an error on an earlier attempt"
    yield _Category(retried, STATUSES["passed"], "^passed on attempt ", "^passed: attempt ")
    for kind, (status, name) in SKIP_KINDS.items():
        yield _Category(name, status, f"^{re.escape(kind)}: ")
    yield _Category("Failed as expected (xfail)", "skipped", "^XFAIL")


def _of_outcome(name: str, outcome: TrialOutcome) -> _Category:
    return _Category(name, STATUSES[outcome.kind], f"^{re.escape(outcome.words)}: ", f"^{re.escape(outcome.label)}$")


def categories() -> list[dict[str, Any]]:
    """Return the categories for Allure 2, which matches the whole message."""
    return [
        {"name": each.name, "matchedStatuses": [each.status], "messageRegex": rf"{each.message}[\s\S]*"}
        for each in _categories()
    ]


def configuration(agents: Sequence[str]) -> str:
    """Return the configuration for Allure 3, in JavaScript. Categories use the outcome label.

    Several agents become *environments*: the report can be filtered by agent, and each trial shows the other agents'
    results at its task.
    """
    groups: list[Any] = ["environment"] if len(agents) > 1 else []
    groups.append({"label": "feature"})
    rules = [_rule(each, groups) for each in _categories()]
    config = {
        "name": "pytest-webarena",
        "hideLabels": list(_HIDDEN_LABELS),
        "categories": {"rules": rules},
        "plugins": {"awesome": {"options": {"groupBy": list(_SUITES), "charts": list(_CHARTS)}}},
    }
    names = {re.sub(r"[^A-Za-z0-9_-]", "_", agent)[:60]: agent for agent in agents} if len(agents) > 1 else {}
    return _CONFIGURATION.format(
        config=json.dumps(config, indent=2), agents=json.dumps(names), limit=ONE_PAGE_LIMIT,
        offline=_OFFLINE, history=HISTORY, merge=json.dumps(_MERGE), trends=json.dumps(_TRENDS),
    )  # fmt: skip


def _rule(category: _Category, groups: Sequence[Any]) -> dict[str, Any]:
    by = {"labels": {"outcome": category.label}} if category.label else {"message": category.message}
    return {
        "name": category.name,
        "matchers": {"statuses": [category.status], **by},
        "groupBy": groups,
        "groupByMessage": False,
    }


def _grading(facts: Mapping[str, Any]) -> str:
    without = f" without {', '.join(facts['without'])}" if facts.get("without") else ""
    return f"{facts.get('name', '')}{without}"


def environment_properties(facts: Mapping[str, Any], agents: Sequence[str]) -> dict[str, str]:
    """Return descriptions of the run, without anything that differs between its shards."""
    limits = facts.get("limits", {})
    versions = facts.get("versions", {})
    named = {
        "agents": ", ".join(agents),
        "sites": facts.get("catalogue", ""),
        "trials per task": facts.get("trials", ""),
        "grading": _grading(facts.get("grading") or {}),
        "most steps": limits.get("steps", ""),
        "time limit": f"{limits['seconds']:g} s" if "seconds" in limits else "",
        "stop rule": limits.get("stop_rule", ""),
        "retries after errors": facts.get("env_retries", ""),
        "git": str(facts.get("git", ""))[:12] + ("+" if str(facts.get("git", "")).endswith("+") else ""),
        "python": facts.get("python", ""),
        "platform": facts.get("platform", ""),
        **{name: versions[name] for name in ("pytest-webarena", "pytest", "playwright") if name in versions},
    }
    return {name: str(value) for name, value in named.items() if value not in ("", None)}


def executor(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return who ran it: a CI job with its address, or a local machine."""
    get = environment.get
    if get("GITHUB_ACTIONS"):
        url = f"{get('GITHUB_SERVER_URL', '')}/{get('GITHUB_REPOSITORY', '')}"
        return {
            "name": "GitHub Actions",
            "type": "github",
            "url": url,
            "buildOrder": int(get("GITHUB_RUN_NUMBER") or 0),
            "buildName": f"{get('GITHUB_WORKFLOW', 'run')} #{get('GITHUB_RUN_NUMBER', '')}",
            "buildUrl": f"{url}/actions/runs/{get('GITHUB_RUN_ID', '')}",
        }
    if get("GITLAB_CI"):
        return {
            "name": "GitLab CI",
            "type": "gitlab",
            "url": get("CI_PROJECT_URL", ""),
            "buildOrder": int(get("CI_PIPELINE_IID") or 0),
            "buildName": f"pipeline #{get('CI_PIPELINE_IID', '')}",
            "buildUrl": get("CI_PIPELINE_URL") or get("CI_JOB_URL", ""),
        }
    if get("JENKINS_URL"):
        return {
            "name": "Jenkins",
            "type": "jenkins",
            "url": get("JENKINS_URL", ""),
            "buildOrder": int(get("BUILD_NUMBER") or 0),
            "buildName": f"{get('JOB_NAME', 'build')} #{get('BUILD_NUMBER', '')}",
            "buildUrl": get("BUILD_URL", ""),
        }
    return {"name": "local run", "type": "local"}


def _properties(values: Mapping[str, str]) -> str:
    """Properties in Java's format: escaped keys and values, with non-ASCII characters as ``\\uXXXX``."""
    return "".join(f"{_escaped(name, ' =:#!')}={_escaped(value, '')}\n" for name, value in values.items())


def _escaped(text: str, special: str) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    for letter in special:
        text = text.replace(letter, f"\\{letter}")
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 32 <= code < 127 else f"\\u{code:04x}" for code in codes)
