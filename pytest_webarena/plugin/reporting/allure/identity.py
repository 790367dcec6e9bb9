"""Identity of a trial in Allure: titles, ids, parameters, labels, links.

All of it depends on the trial alone. So a trial looks the same whether or not its worker could report it, on every
shard, and in a report that is made later from the records; histories and retries depend on this.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from allure_commons.model2 import Label, Link, Parameter

from pytest_webarena.plugin.reporting.labels import behaviour_labels, tag_links
from pytest_webarena.results.records import DEFAULT_BROWSER, TrialKey
from pytest_webarena.tasks.placeholders import readable
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.results.plan import PlannedTrial
    from pytest_webarena.tasks.model import Task

__all__ = ["Identity", "performer", "source_url"]

_TRIAL = re.compile(r"(?:^|-)trial\d+(?=-|$)")
_BROWSERS = ("chromium", "firefox", "webkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A trial's identity in Allure."""

    key: TrialKey
    intent: str
    sites: tuple[str, ...]
    category: str
    template: str
    tags: tuple[str, ...]
    path: str
    """The task's file, as in node ids."""
    variant: str
    """Other parameters of the node id: the browser, and what a conftest parametrizes."""
    line: int | None = None
    """The task's line in its file, if known."""

    @classmethod
    def of_record(cls, record: TrialRecord, agents: Sequence[str]) -> Identity:
        """Return the identity of a record.

        ``agents`` are the names given to ``--agent``, which node ids contain; records contain ids.
        """
        return cls(
            key=record.key,
            intent=record.intent,
            sites=record.sites,
            category=record.category,
            template=record.template,
            tags=record.tags,
            path=record.node_id.partition("::")[0],
            variant=_variant(record.node_id, agents),
        )

    @classmethod
    def of_planned(cls, trial: PlannedTrial, alike: TrialRecord | None, agents: Sequence[str]) -> Identity:
        """Return the identity of a trial that was not run.

        The plan has no texts of tasks: they are those of ``alike``, another trial of the task, if there is one.
        """
        return cls(
            key=trial.key,
            intent=alike.intent if alike else "",
            sites=trial.sites,
            category=alike.category if alike else "",
            template=alike.template if alike else "",
            tags=alike.tags if alike else (),
            path=trial.node_id.partition("::")[0],
            variant=_variant(trial.node_id, agents),
        )

    @classmethod
    def of_task(cls, task: Task, node_id: str, key: TrialKey, agents: Sequence[str]) -> Identity:
        """Return the identity of a collected item, whether it started or not."""
        return cls(
            key=key,
            intent=readable(task.intent, task.leased),
            sites=task.sites,
            category=task.category,
            template=task.template,
            tags=task.tags,
            path=node_id.partition("::")[0],
            variant=_variant(node_id, agents),
            line=task.location.line,
        )

    @property
    def title(self) -> str:
        """The intent, which people want to read."""
        return printable(" ".join(self.intent.split())) or self.key.task

    @property
    def full_name(self) -> str:
        """The name of the test case: a task, independent of agents."""
        return printable(f"{self.path}#{self.key.task}")

    @property
    def test_case_id(self) -> str:
        """The id that all agents, trials and browsers of a task share."""
        return _hash(self.full_name)

    @property
    def history_id(self) -> str:
        """The id of the history: one per agent and trial. Reruns share it and become retries."""
        return _hash(self.full_name, self.key.agent, self.key.trial, self.variant)

    @property
    def title_path(self) -> list[str]:
        """The place in the tree of a report with separate agents, as `run_files.CONFIG` configures it."""
        return [
            printable(part) for part in (" + ".join(self.sites) or "no site", self.category or Path(self.path).stem)
        ]

    def parameters(self) -> list[Parameter]:
        """Return the parameters, as plain values, which Allure uses to find retries and history."""
        pairs = [("agent", self.key.agent), ("trial", str(self.key.trial))]
        if self.variant:
            pairs.append(("browser" if self.variant in _BROWSERS else "variant", self.variant))
        return [Parameter(name=name, value=printable(value)) for name, value in pairs]

    def labels(self) -> list[Label]:
        """Return labels for suites, agent, behaviours and tags."""
        return [Label(name=name, value=printable(value)) for name, value in self._labels()]

    def _labels(self) -> Iterator[tuple[str, str]]:
        agent = performer(self.key)
        yield from zip(("parentSuite", "suite", "subSuite"), (agent, *self.title_path), strict=True)
        yield "agent", agent
        yield from behaviour_labels(
            task=self.key.task, template=self.template, sites=self.sites, tags=self.tags, category=self.category
        )

    def links(self, root: Path, environment: Mapping[str, str] = os.environ) -> list[Link]:
        """Return the links of tags, and one to the task's line in the repository if CI provides its address."""
        found = [Link(type=kind, url=printable(url), name=_end_of(url)) for kind, url in tag_links(self.tags)]
        url = source_url(root / self.path, self.line, environment)
        return [*found, Link(type="link", url=url, name=self.source)] if url else found

    @property
    def source(self) -> str:
        """The task's place, as ``file:line``."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


def performer(key: TrialKey) -> str:
    """Return Allure's group of a trial: the agent, separately for each browser other than the default.

    Shards and runs use the same names.

    >>> performer(TrialKey("sum", "oracle", 1)), performer(TrialKey("sum", "oracle", 1, "firefox"))
    ('oracle', 'oracle (firefox)')
    """
    return key.agent if key.browser == DEFAULT_BROWSER else f"{key.agent} ({key.browser})"


def source_url(path: Path, line: int | None, environment: Mapping[str, str]) -> str:
    """Return the address of a file's line at CI's commit; empty outside GitHub and GitLab.

    >>> github = {"GITHUB_SERVER_URL": "https://git.test", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "c0ffee"}
    >>> source_url(Path("/w/tasks/a.yaml"), 7, {**github, "GITHUB_WORKSPACE": "/w"})
    'https://git.test/a/b/blob/c0ffee/tasks/a.yaml#L7'
    """
    get = environment.get
    if get("GITHUB_REPOSITORY") and get("GITHUB_SHA"):
        base = f"{get('GITHUB_SERVER_URL', 'https://github.com')}/{get('GITHUB_REPOSITORY')}/blob/{get('GITHUB_SHA')}"
        top = get("GITHUB_WORKSPACE", "")
    elif get("CI_PROJECT_URL") and get("CI_COMMIT_SHA"):
        base = f"{get('CI_PROJECT_URL')}/-/blob/{get('CI_COMMIT_SHA')}"
        top = get("CI_PROJECT_DIR", "")
    else:
        return ""
    if not top or not path.is_relative_to(top):
        return ""
    return f"{base}/{path.relative_to(top).as_posix()}" + (f"#L{line}" if line is not None else "")


def _variant(node_id: str, agents: Sequence[str]) -> str:
    """The node id's parameters without agent and trial, which are separate parameters in Allure."""
    parameters = node_id.partition("[")[2].removesuffix("]")
    for agent in sorted(agents, key=len, reverse=True):
        if parameters.startswith(f"{agent}-") or parameters == agent:
            parameters = parameters[len(agent) :].removeprefix("-")
            break
    return _TRIAL.sub("", parameters).removeprefix("-")


def _end_of(url: str) -> str:
    """The last part of an address, such as the number of an issue."""
    return printable(url.rstrip("/").rpartition("/")[2])


def _hash(*parts: object) -> str:
    return hashlib.md5(json.dumps(parts).encode(), usedforsecurity=False).hexdigest()
