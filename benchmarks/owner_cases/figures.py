"""Every figure that is printed of a run, against numbers that were counted from the trials' expected endings.

Each reader of `PRINTED` looks at one output and yields what it lacks.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pytest_webarena.results.following.progress import Follower

from .project import STEADY, TEMPTED, Output, Project
from .rules import Ending, Figures, Owned

Expected = Mapping[str, Figures]
"""The numbers of each agent."""
JUNIT, ALLURE, GITHUB = "junit.xml", "allure", "summary.md"
REPORTS = (f"--junitxml={JUNIT}", f"--alluredir={ALLURE}")
"""Options with which pytest writes the reports that are read here."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished run."""

    project: Project
    name: str
    output: Output
    """What pytest printed."""
    right: Expected

    @property
    def path(self) -> Path:
        """The run's directory."""
        return self.project.path / self.name

    def command(self, *arguments: str) -> str:
        """What ``webarena`` prints, in one line."""
        return flat(self.project.webarena(*arguments).text)


def flat(text: str) -> str:
    """``text`` in one line with single spaces."""
    return " ".join(text.split())


def lacking(text: str, *wanted: str) -> Iterator[str]:
    """Which of ``wanted`` the text does not contain."""
    yield from (f"expected {each!r}" for each in wanted if each not in text)


def with_errors(right: Figures) -> list[str]:
    """The words about excluded trials, for reports of rates."""
    if not right.excluded:
        return []
    stopped = f" and {right.stopped} stopped trial{'s' * (right.stopped != 1)}" if right.stopped else ""
    return [f"{right.count_of_all} = {right.rate_of_all} (95%", f" with errors{stopped} as failures"]


def terminal(run: Run) -> Iterator[str]:
    text = flat(run.output.text)
    yield from verdict(run.right, text)
    for agent, right in run.right.items():
        met = f", {right.rate_if_met} if {right.undecided} undecided {'is' if right.undecided == 1 else 'are'} met"
        yield from lacking(
            text, f"{agent}: {right.passed}/{right.judged} passed = {right.rate}{met * bool(right.undecided)}"
        )
        yield from lacking(text, *with_errors(right))
        if right.excluded:
            yield from lacking(text, f"bounds if errors had failed / passed: {right.bounds}")
        if right.undecided:
            yield from lacking(text, f"undecided {right.undecided} trial")
    counts = {
        "failed": sum(each.failed + each.recorded.undecided for each in run.right.values()),
        "error": sum(each.error for each in run.right.values()),
    }
    shown = Counter({found[2]: int(found[1]) for found in re.finditer(r"(\d+) (failed|error)", run.output.lines[-1])})
    for name, count in counts.items():
        if count != shown[name]:
            yield f"pytest counts {shown[name]} as {name} instead of {count}"


def junit(run: Run) -> Iterator[str]:
    root = ElementTree.parse(run.project.path / JUNIT).getroot()
    properties = {each.get("name", ""): each.get("value", "") for each in root.iter("property")}
    for agent, right in run.right.items():
        name = f"success rate of {agent}"
        yield from lacking(properties.get(name, ""), f"{right.count} = {right.rate} (95%")
        yield from lacking(properties.get(f"{name}, errors as failures", ""), *with_errors(right))
        if right.excluded:
            yield from lacking(properties.get(f"{name}, bounds if errors had failed / passed", ""), right.bounds)
        own = [case for case in root.iter("testcase") if f"[{agent}" in case.get("name", "")]
        facts = [{each.get("name"): each.get("value") for each in case.iter("property")} for case in own]
        shown = Counter("undecided" if "undecided" in each else each.get("outcome") for each in facts)
        yield from _miscounted(shown, right.recorded)
        if (
            failures := sum(case.find("failure") is not None for case in own)
        ) != right.failed + right.recorded.undecided:
            yield f"{failures} failures of {agent}"


def _miscounted(shown: Mapping[Any, int], right: Figures) -> Iterator[str]:
    for name in ("passed", "failed", "undecided", "error"):
        if (count := shown.get(name, 0)) != getattr(right, name):
            yield f"{count} trials are {name} instead of {getattr(right, name)}"


def allure(run: Run) -> Iterator[str]:
    folder = run.project.path / ALLURE
    written = sorted(
        (json.loads(file.read_text()) for file in folder.glob("*-result.json")), key=lambda each: each["stop"]
    )
    results = {each["historyId"]: each for each in written}.values()  # earlier ones are shown as retries of the last
    for agent, right in run.right.items():
        own = [each for each in results if any(value["value"] == agent for value in each["labels"])]
        labels = [next((each["value"] for each in found["labels"] if each["name"] == "outcome"), "") for found in own]
        shown = Counter(
            "undecided" if label in ("undecided", "failed: unattributed") else label.partition(":")[0]
            for label in labels
        )
        yield from _miscounted(shown, right.recorded)
        statuses = Counter(each["status"] for each in own)
        found = (statuses["passed"], statuses["failed"], statuses["broken"])
        if found != (right.passed, right.failed + right.recorded.undecided, right.error):
            yield f"{agent}: passed, failed and broken are {found}"
    texts = "".join(
        file.read_text() for file in folder.glob("*-attachment.txt") if "success rate of" in file.read_text()
    )
    for agent, right in run.right.items():
        yield from lacking(texts, f"success rate of {agent}: {right.count} = {right.rate}", *with_errors(right))
        if right.excluded:
            yield from lacking(texts, f"passed: {right.bounds}")


def _summary(agents: Mapping[str, Any], right: Expected) -> Iterator[str]:
    """Which numbers of a ``summary.json`` are wrong."""
    for agent, numbers in right.items():
        rate = agents[agent]["rate"]
        open_ones = rate.get("undecided", {"count": 0, "value_if_met": rate["value"]})
        failed = rate.get("errors_failed", {"passed": rate["passed"], "trials": rate["judged"], "value": rate["value"]})
        shown = (
            rate["passed"], rate["judged"], rate["errors"], rate.get("stopped", 0), open_ones["count"],
            failed["passed"], failed["trials"], agents[agent]["undecided"],
        )  # fmt: skip
        wanted = (
            numbers.passed, numbers.judged, numbers.error, numbers.stopped, numbers.undecided, numbers.passed,
            numbers.trials, numbers.undecided,
        )  # fmt: skip
        if shown != wanted:
            yield f"{agent}: expected {wanted}, found {shown}"
        percentages = [f"{each:.1%}" for each in (rate["value"], open_ones["value_if_met"], failed["value"])]
        if percentages != [numbers.rate, numbers.rate_if_met, numbers.rate_of_all]:
            yield f"{agent}: rates {percentages}"
        for groups in ("by_site", "by_category"):
            parts = [
                (each["passed"], each["judged"], each["errors"], each.get("undecided", {"count": 0})["count"])
                for each in agents[agent][groups].values()
            ]
            known = numbers.recorded
            total = (known.passed, known.judged, known.error, known.undecided)
            if tuple(map(sum, zip(*parts, strict=True))) != total:
                yield f"{agent}: {groups} is {parts}"
        if numbers.excluded and "{:.1%} to {:.1%}".format(*rate["bounds"]) != numbers.bounds:
            yield f"{agent}: bounds {rate['bounds']}"


def summary_file(run: Run) -> Iterator[str]:
    yield from _summary(json.loads((run.path / "summary.json").read_text())["agents"], run.right)


def results_table(run: Run) -> Iterator[str]:
    with (run.path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    for agent, right in run.right.items():
        own = [row for row in rows if row["agent"] == agent]
        yield from _miscounted(
            Counter("undecided" if row["undecided"] else row["outcome"] for row in own), right.recorded
        )


def tables(run: Run) -> Iterator[str]:
    text = run.command("compare", "tables", run.name)
    erred, undecided = (any(getattr(each, name) for each in run.right.values()) for name in ("excluded", "undecided"))
    for agent, right in run.right.items():
        cells = [f"{right.judged}"]
        cells += [f"{right.undecided} (→ {right.rate_if_met})" if right.undecided else "0"] if undecided else []
        cells += [f"{right.error}"]
        cells += [f"{right.rate_of_all} ({right.count_of_all})"] if erred else []
        yield from lacking(text, " ".join(cells))
        if re.search(rf"{agent},? {right.rate}", text) is None:
            yield f"expected the rate {right.rate} of {agent}"
        if right.stopped:
            yield from lacking(text, f"trials that errors in a row stopped, failures in SR*: {right.stopped}.")
    printed = run.project.webarena("compare", "tables", run.name, "--format=csv").text
    rows = {row["agent"]: row for row in csv.DictReader(printed.splitlines()) if row["group"] == "all"}
    for agent, right in run.right.items():
        row = rows[agent]
        shown = [row[name] for name in ("passed", "judged", "errors", "undecided")]
        if shown != [str(each) for each in (right.passed, right.judged, right.error, right.undecided)]:
            yield f"{agent}: numbers {shown}"
        if f"{float(row['rate_errors_failed']):.1%}" != right.rate_of_all:
            yield f"{agent}: rate with errors as failures {row['rate_errors_failed']}"


def comparison(run: Run) -> Iterator[str]:
    yield from _compared(run, run.command("compare", "agents", run.name, "--allow-mixed"))
    saved = run.project.path / "baseline.json"
    run.project.webarena("compare", "baseline", "save", run.name, f"--output={saved}")
    yield from _compared(run, run.command("compare", "agents", str(saved), "--allow-mixed"))


def _compared(run: Run, text: str) -> Iterator[str]:
    right = run.right[TEMPTED]
    if any(each.excluded for each in run.right.values()):
        yield from lacking(text, f"tempted: {right.count} = {right.rate} (95%", *with_errors(right))
        excluded = f"{run.right[STEADY].excluded} and {right.excluded} trial"
        yield from lacking(text, f"errors {excluded}") if not right.stopped else ()
    if right.undecided:
        yield from lacking(text, f"undecided {run.right[STEADY].undecided} and {right.undecided} trial")
    yield from verdict(run.right, text)


def verdict(right: Expected, text: str) -> Iterator[str]:
    """Whether a comparison is settled although unknown trials could reverse it, or the other way round."""
    other, own = right[STEADY], right[TEMPTED]
    if other.trials != other.judged or other.undecided:
        return
    low, high = own.passed / own.trials, (own.passed + own.undecided + own.excluded) / own.trials
    rate, clear = other.passed / other.trials, 0.4 if own.trials > 20 else 1.0  # of few trials, chance may be the cause
    shown = re.search(r"tempted is (better|worse) than steady|Unsettled whether tempted", text)
    if shown is None:
        yield "expected a comparison of the agents"
        return
    word = shown[1] or "unsettled"
    if (word == "better" and low <= rate) or (word == "worse" and high >= rate):
        yield f"the comparison says {word} although unknown trials could reverse it"
    if (word != "worse" and rate - high > clear) or (word != "better" and low - rate > clear):
        yield f"the comparison says {word} although no unknown trial could reverse another verdict"


def listing(run: Run) -> Iterator[str]:
    text = run.command("runs", "list", ".")
    for agent, right in run.right.items():
        wanted = f"{agent} {right.count}{f' +{right.error}E' if right.error else ''}"
        if re.search(rf"{re.escape(wanted)}(,|$| (?!\\+))", text) is None:
            yield f"expected {wanted!r}"


def viewer(run: Run) -> Iterator[str]:
    run.project.webarena("view", run.name, "--output=view.html")
    page = (run.project.path / "view.html").read_text()
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    index = json.loads(found[1]) if found is not None else {}
    yield from _summary(index["summary"]["agents"], run.right)
    for agent, right in run.right.items():
        own = [each for each in index["trials"] if each["agent"] == agent]
        yield from _miscounted(
            Counter("undecided" if each["undecided"] else each["outcome"] for each in own), right.recorded
        )


def live_view(run: Run) -> Iterator[str]:
    found = {each["name"]: each for each in Follower(run.path).look()["agents"]}
    for agent, right in run.right.items():
        own = found[agent]
        shown = (own["passed"], own["judged"], own["undecided"], own["errors"])
        if shown != (right.passed, right.judged, right.undecided, right.error):
            yield f"{agent}: {shown}"
        yield from lacking(own["errors_failed"], *with_errors(right))


def github(run: Run) -> Iterator[str]:
    text = (run.project.path / GITHUB).read_text()
    for agent, right in run.right.items():
        met = f", {right.rate_if_met} if {right.undecided} undecided {'is' if right.undecided == 1 else 'are'} met"
        yield from lacking(text, f"| **{agent}** | {right.count} | {right.rate}{met * bool(right.undecided)}")
        yield from lacking(text, *with_errors(right))
    rows = Counter(re.findall(r"\| tempted \| (\w+)", text))
    for name in ("undecided", "failed"):
        if rows[name] > getattr(run.right[TEMPTED], name):
            yield f"{rows[name]} rows are {name}"


def explained(run: Run) -> Iterator[str]:
    found = run.project.webarena("runs", "explain", run.name, "--agent=tempted").text
    count = sum(line.startswith("undecided: ") for line in found.splitlines())  # where another agent has passed
    if count != (right := run.right[TEMPTED].recorded.undecided):
        yield f"{count} trials are undecided instead of {right}"


OF_ANY_RUN: Mapping[str, Callable[[Run], Iterator[str]]] = {
    "summary.json": summary_file,
    "results.csv": results_table,
    "tables": tables,
    "compare": comparison,
    "runs list": listing,
    "viewer": viewer,
    "live view": live_view,
}
"""Outputs of any run, merged ones too."""
PRINTED: Mapping[str, Callable[[Run], Iterator[str]]] = {
    "terminal": terminal, "JUnit": junit, "Allure": allure, "GitHub": github, **OF_ANY_RUN,
}  # fmt: skip
"""Outputs of a run that pytest has just finished, with the options `REPORTS`."""
FEW = {name: OF_ANY_RUN[name] for name in ("summary.json", "runs list")}
"""Outputs that differ from run to run only if the run's records do."""


def wrong_figures(run: Run, printed: Mapping[str, Callable[[Run], Iterator[str]]] = PRINTED) -> Iterator[str]:
    """What is wrong in each output of a run."""
    for name, read in printed.items():
        try:
            yield from (f"{name}: {wrong}" for wrong in read(run))
        except (LookupError, ValueError, AttributeError, OSError, ElementTree.ParseError) as error:
            yield f"{name}: it cannot be read ({type(error).__name__}: {error})"


def counted(endings: Mapping[tuple[str, str, int], Ending | Owned]) -> Expected:
    """The numbers of each agent, from its trials' endings."""
    return {
        agent: Figures.of(ending for (of, *_), ending in endings.items() if of == agent) for agent in (STEADY, TEMPTED)
    }
