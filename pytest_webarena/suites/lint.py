"""Finds faulty key nodes without a network: each node is tested against the address at which it was recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import parse_qs, unquote, urlparse

from pytest_webarena.checks.key_nodes.ambiguous_prefixes import open_ended
from pytest_webarena.checks.key_nodes.model import KeyNodes, UrlTarget
from pytest_webarena.checks.webcanvas.addresses import address_subject
from pytest_webarena.checks.webcanvas.counterparts import NoCounterpart, counterpart
from pytest_webarena.checks.webcanvas.elements import selector_fault
from pytest_webarena.checks.webcanvas.nodes import FUNCTIONS, Node
from pytest_webarena.suites.mind2web import SUITE
from pytest_webarena.tasks.model import Check, Task
from pytest_webarena.text import clip

__all__ = ["RULES", "LintFinding", "LintReport", "holds", "lint"]

REPORT_VERSION = 1

RULES: Mapping[str, tuple[Literal["fault", "note"], str]] = {
    "own-url": ("fault", "false on the address at which it was recorded"),
    "unpassable": ("fault", "false there, and hardly ever true of that page's address"),
    "duplicate": ("fault", "the same as an earlier node of its task: one act reaches both"),
    "selector": ("fault", "a selector that is none"),
    "skipped": ("fault", "the task is not run, because of a node"),
    "free": ("note", "reached by opening the site's start page"),
    "open-end": ("note", "reached by another number that begins like it"),
    "no-record": ("note", "no recorded address to hold it against"),
}
"""Rules by name: whether a violation must be fixed, and its meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One violation of a rule by one node."""

    rule: str
    """Name of the rule in `RULES`."""
    task: str
    node: int
    """Number of the node in the task, from 1; 0: the task as a whole."""
    says: str
    """Description in a sentence."""
    path: str
    line: int

    @property
    def level(self) -> str:
        """``fault``: must be fixed; ``note``: for information."""
        return RULES[self.rule][0]

    def __str__(self) -> str:
        node = f" node {self.node}" if self.node else ""
        return f"{self.path}:{self.line}: {self.task}{node}: {self.rule}: {self.says}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """The result of linting."""

    tasks: int
    """Number of tasks with key nodes."""
    nodes: int
    replayed: int
    """Number of nodes that could be tested against an address: nodes on addresses that need no judge."""
    findings: tuple[LintFinding, ...]
    """Findings in the order of tasks and nodes."""

    @property
    def faults(self) -> int:
        """Number of findings that must be fixed."""
        return sum(finding.level == "fault" for finding in self.findings)

    def render(self, form: str = "text") -> str:
        """Returns the report for people (``text``) or programs (``json``)."""
        if form == "json":
            data = {
                "schema_version": REPORT_VERSION,
                "tasks": self.tasks,
                "nodes": self.nodes,
                "replayed": self.replayed,
                "rules": {name: {"level": level, "means": means} for name, (level, means) in RULES.items()},
                "findings": [{**asdict(each), "level": each.level} for each in self.findings],
            }
            return json.dumps(data, indent=2, ensure_ascii=False)
        counts = Counter(finding.rule for finding in self.findings)
        lines = [str(finding) for finding in self.findings if finding.level == "fault"]
        lines += [""] if lines else []
        lines.append(f"{self.tasks} tasks, {self.nodes} key nodes, {self.replayed} held against their own address")
        for name, (level, means) in RULES.items():
            if counts[name]:
                lines.append(f"  {counts[name]:>5} {name} ({level}): {means}")
        if free := counts["free"]:
            lines.append(f"  opening the start pages and stopping reaches {free / self.nodes:.1%} of the nodes")
        return "\n".join(lines)


def lint(tasks: Sequence[Task]) -> LintReport:
    """Lint the key nodes of ``tasks``."""
    findings: list[LintFinding] = []
    counted = nodes = replayed = 0
    for task in tasks:
        specs = [check.spec for check in _leaves(task.checks) if isinstance(check.spec, KeyNodes)]
        if not specs:
            continue
        counted += 1
        linted = _Linted(task, specs)
        findings += linted.findings()
        nodes += len(linted.nodes)
        replayed += linted.replayed
    return LintReport(tasks=counted, nodes=nodes, replayed=replayed, findings=tuple(findings))


def _leaves(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        if check.children:
            yield from _leaves(check.children)
        else:
            yield check


class _Linted:
    """Linting of one task."""

    def __init__(self, task: Task, specs: Sequence[KeyNodes]) -> None:
        self.task = task
        self.nodes = [node for spec in specs for node in spec.nodes]
        given = task.source.get("recorded")
        recorded = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
        self.recorded = [str(recorded[index]) if index < len(recorded) else "" for index in range(len(self.nodes))]
        self.replayed = 0

    def findings(self) -> Iterator[LintFinding]:
        """Yields the findings of the task."""
        if self.task.skip:
            yield self._finding("skipped", 0, self.task.skip)
        start = _start(self.recorded)
        seen: dict[Node, int] = {}
        for number, node in enumerate(self.nodes, 1):
            try:
                plain = counterpart(node)
            except NoCounterpart:
                continue
            if (first := seen.setdefault(plain, number)) != number:
                yield self._finding("duplicate", number, f"{_told(plain)} is node {first} again")
            if asked := open_ended(node):
                yield self._finding("open-end", number, f"{_told(plain)} holds wherever '{clip(asked, 80)}' goes on")
            if isinstance(node.target, UrlTarget):
                yield from self._address(number, plain, start)
            elif self.task.source.get("suite") == SUITE and (
                why := _no_selector(plain)
            ):  # others may use Playwright's selectors, too
                yield self._finding("selector", number, why)

    def _address(self, number: int, node: Node, start: str) -> Iterator[LintFinding]:
        if FUNCTIONS[node.function][1] == "semantic":
            return
        if start and holds(node, start):
            yield self._finding("free", number, f"{_told(node)} holds on {start}")
        url = self.recorded[number - 1]
        if not url:
            yield self._finding("no-record", number, f"{_told(node)} was recorded at no known address")
            return
        self.replayed += 1
        if holds(node, url):
            return
        why = _hopeless(node, url)
        here = f"{_told(node)} does not hold on {clip(url, 160)}"
        if why:
            yield self._finding("unpassable", number, f"{here}: {why}")
        else:
            yield self._finding("own-url", number, f"{here}; it may have been recorded a step early")

    def _finding(self, rule: str, node: int, says: str) -> LintFinding:
        where = self.task.location
        return LintFinding(rule=rule, task=self.task.id, node=node, says=says, path=where.path, line=where.line)


def _start(recorded: Sequence[str]) -> str:
    """Returns the start page of the site at which the recording began; empty when it is unknown."""
    try:
        parts = urlparse(next(filter(None, recorded), ""))
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}/" if parts.scheme in ("http", "https") and parts.netloc else ""


def _told(node: Node) -> str:
    subject = f"{node.function} of '{clip(node.key, 40)}'" if node.key else node.function
    return f"{subject} '{clip(node.reference, 80)}'"


def holds(node: Node, url: str) -> bool:
    """Returns whether a node about an address holds on ``url``, without a judge."""
    _, match = FUNCTIONS[node.function]
    subject = address_subject(url, match, node.key)
    return subject is not None and (subject == node.reference if match == "exact" else node.reference in subject)


def _hopeless(node: Node, url: str) -> str:
    """Returns why a node fails on its own address although the address contains what it requires; empty when it
    doesn't."""
    _, match = FUNCTIONS[node.function]
    fits: Callable[[str], bool] = node.reference.__eq__ if match == "exact" else lambda text: node.reference in text
    if not node.key:
        subject = address_subject(url, match, "") or ""
        if match == "includes" and "://" in node.reference:
            return "what is compared has no scheme: it begins with the host"
        if fits(f"{subject}/") or fits(subject.removesuffix("/")):
            return "only the slash at the end differs"
        return _but_for_case(node, subject)
    values = _values(url, node.key)
    if any(fits(unquote(value)) for value in values[1:]):
        return f"the parameter is there {len(values)} times, and only its first value counts"
    if unquote(node.key) != node.key and _values(url, unquote(node.key)):
        return "the parameter's name is percent-encoded in it, and names are compared decoded"
    parts = [part for part in _split(node.reference) if part]
    here = {part for value in values for part in _split(unquote(value))}
    if len(parts) > 1 and here & set(parts):
        return "it asks for several values in this order and next to each other"
    return _but_for_case(node, unquote(values[0]) if values else "")


def _but_for_case(node: Node, subject: str) -> str:
    return "only upper and lower case differ" if node.reference.casefold() in subject.casefold() else ""


def _values(url: str, key: str) -> list[str]:
    try:
        return parse_qs(urlparse(url).query).get(key, [])
    except ValueError:
        return []


def _split(text: str) -> list[str]:
    for sign in "|;+":
        text = text.replace(sign, ",")
    return [part.strip() for part in text.split(",")]


def _no_selector(node: Node) -> str:
    """Returns why WebCanvas' library rejects a selector; empty also when that library is not installed."""
    selector = node.reference if FUNCTIONS[node.function][0] == "element" else node.path
    if not selector or node.method != "selector":
        return ""
    fault = selector_fault(selector)
    return f"'{clip(selector, 80)}' is none to WebCanvas: {clip(fault, 120)}" if fault else ""
