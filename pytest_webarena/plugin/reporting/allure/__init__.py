"""The Allure report: additions to allure-pytest's results, and results of trials that no worker could report.

Without ``--alluredir`` this module does nothing. Allure is imported only when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import TaskFailed, TrialError
from pytest_webarena.plugin.reporting.outcomes import (
    skip_kind,
    skip_reason,
    why_decided,
    why_skipped,
    why_stopped,
)
from pytest_webarena.plugin.reporting.untrusted_text import has_foreign_text
from pytest_webarena.plugin.stash import SETTINGS, TRIAL_TIMES
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from allure_commons.model2 import TestResult

    from pytest_webarena.plugin.items import TaskItem
    from pytest_webarena.plugin.reporting.allure.identity import Identity
    from pytest_webarena.results import RunDir, TrialRecord
    from pytest_webarena.results.comparing.comparison import Comparison

__all__ = [
    "complete_report",
    "directory",
    "report_interrupted",
    "report_lost",
    "report_run",
    "report_trial",
    "write_results",
]

_RESULT = pytest.StashKey["TestResult"]()
"""The prepared result of a trial with a record, on its item."""


def directory(config: pytest.Config) -> Path | None:
    """Return the directory for Allure's results; None without ``--alluredir``."""
    if config.pluginmanager.get_plugin("allure_listener") is None:
        return None
    return Path(config.option.allure_report_dir).absolute()


def report_trial(item: TaskItem, record: TrialRecord, folder: Path) -> None:
    """Prepare the result of ``item``, with the files that ``--record`` keeps.

    allure-pytest sets names, parameters and labels during teardown; `complete_report` corrects them.
    """
    if (target := directory(item.config)) is None:
        return
    from allure_commons.logger import AllureFileLogger

    from pytest_webarena.plugin.reporting.allure.files import Attachments
    from pytest_webarena.plugin.reporting.allure.result import Reported, earlier_results, trial_result

    trial = Reported(record=record, folder=folder, identity=_identity(item), root=item.config.rootpath)
    files = Attachments(target)
    item.stash[_RESULT] = trial_result(trial, files)
    logger = AllureFileLogger(target)
    for earlier in earlier_results(trial, files):
        logger.report_result(earlier)


def complete_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Correct allure-pytest's result of a trial. Called after allure-pytest's own ``pytest_runtest_makereport``."""
    if directory(item.config) is None:
        return
    listener: Any = item.config.pluginmanager.get_plugin("allure_listener")
    live: TestResult | None = listener.allure_logger.get_test(None)
    if live is None:
        return
    if not hasattr(item, "agent_name"):
        if has_foreign_text(item) and (details := live.statusDetails) is not None:
            details.message, details.trace = (printable(text or "") for text in (details.message, details.trace))
        return
    prepared = item.stash.get(_RESULT, None)
    if report.when == "call" and call.excinfo is not None:
        _explain(live, prepared, call.excinfo.value, report)
    if report.skipped and not hasattr(report, "wasxfail"):
        _explain_skip(live, report)
    if report.when == "teardown":
        from pytest_webarena.plugin.reporting.allure.result import identify

        labels = live.labels
        if prepared is None:
            identify(live, _identity(item))  # type: ignore[arg-type]
        else:
            for name in (
                "name",
                "fullName",
                "titlePath",
                "testCaseId",
                "historyId",
                "parameters",
                "labels",
                "description",
            ):
                setattr(live, name, getattr(prepared, name))
            live.steps[:0] = prepared.steps
            live.attachments[:0] = prepared.attachments
            live.links += prepared.links
            if item.config.stash[SETTINGS].rescore is not None:
                live.start, live.stop = prepared.start, prepared.stop  # the time of the trial, not of judging it again
            elif (played := item.stash.get(TRIAL_TIMES, None)) is not None:
                live.start, live.stop = int(1000 * played.start), int(1000 * played.stop)
            # Of several results of a trial, Allure counts the one that began last: that of the attempt that counts.
            live.start = max(live.start or 0, prepared.start)
            live.stop = max(live.stop or 0, live.start)
            del item.stash[_RESULT]  # a rerun has its own
            live.uuid = prepared.uuid  # detaches it from containers of fixtures, listed above the steps
            if live.status == "passed" and live.statusDetails is None and prepared.status == "passed":
                live.statusDetails = prepared.statusDetails
        live.labels += _others(labels, live.labels)


def report_interrupted(item: pytest.Item) -> None:
    """Correct the result of an interrupted trial, which allure-pytest would report as passed."""
    if not hasattr(item, "agent_name") or directory(item.config) is None:
        return
    from allure_commons.model2 import Label, StatusDetails

    from pytest_webarena.plugin.reporting.allure.result import identify
    from pytest_webarena.results.trial_outcome import TrialOutcome

    listener: Any = item.config.pluginmanager.get_plugin("allure_listener")
    live: TestResult | None = listener.allure_logger.get_test(None)
    if live is not None:
        identify(live, _identity(item))  # type: ignore[arg-type]
        live.labels.append(Label(name="outcome", value=TrialOutcome("error", "harness").label))
        live.status = "broken"
        live.statusDetails = StatusDetails(message="error (harness): the run was interrupted during this trial")


def _explain(live: TestResult, prepared: TestResult | None, error: BaseException, report: pytest.TestReport) -> None:
    """Replace the exception's name by the verdict or the error's message; text of ``--audit`` is unchanged."""
    if not isinstance(error, (TaskFailed, TrialError)) or live.statusDetails is None:
        return
    message, trace = printable(str(error)), None
    reason = getattr(report, "wasxfail", None)
    details = prepared.statusDetails if prepared is not None else None
    if prepared is not None and details is not None:
        recorded = details.trace or details.message.partition(": ")[2]
        if message.startswith(recorded):  # results of reruns follow
            message, trace = f"{details.message}{message.removeprefix(recorded)}", details.trace
            live.status = prepared.status if reason is None else live.status
    live.statusDetails.message = message if reason is None else f"XFAIL {reason}\n\n{message}"
    live.statusDetails.trace = trace


def _explain_skip(live: TestResult, report: pytest.TestReport) -> None:
    """Give a trial that was not run the status, label and message of its kind, with the whole reason."""
    from pytest_webarena.plugin.reporting.allure.result import mark_skipped

    reason = why_stopped(report) or why_decided(report) or why_skipped(report) or skip_reason(report)
    mark_skipped(live, skip_kind(report), reason)


def _others(labels: Sequence[Any], own_labels: Sequence[Any]) -> list[Any]:
    """Labels from other sources, without those that describe no trial, such as pytest's package."""
    single = {"parentSuite", "suite", "subSuite", "thread", "host", "package", "framework", "language"}
    own_pairs = {(label.name, label.value) for label in own_labels}
    return [label for label in labels if label.name not in single and (label.name, label.value) not in own_pairs]


def report_lost(config: pytest.Config, run: RunDir, records: Sequence[TrialRecord]) -> None:
    """Write results of trials whose worker died before it could. Called in the controller."""
    if (target := directory(config)) is not None:
        _write(run, target, records, root=config.rootpath, agents=config.stash[SETTINGS].agents)


def report_run(
    config: pytest.Config,
    run: RunDir,
    records: Sequence[TrialRecord],
    *,
    problems: Sequence[str] = (),
    comparisons: Sequence[Comparison] = (),
) -> None:
    """Write Allure's files about the whole run. Called in the controller at the end of the run."""
    if (target := directory(config)) is not None:
        _write_run(run, target, records, problems=problems, comparisons=comparisons)


def write_results(run: RunDir, target: Path, *, root: Path | None = None) -> int:
    """Write Allure results of a stored run, such as a merged one; return the number of its trials.

    ``root`` is the folder of relative node ids, for links to task files. Raises `UsageError` when ``run`` is not a run.
    """
    from pytest_webarena.results.comparing.run_comparisons import between_agents

    facts = run.facts()
    stored = run.read()
    _write(run, target, stored.records, root=root or Path.cwd(), agents=facts.get("agents", ()))
    _write_not_run(run, target, stored.records, facts)
    comparisons = [] if facts.get("audit") else between_agents(run, stored.records)
    problems = [str(each) for each in stored.unreadable]
    _write_run(run, target, stored.records, problems=problems, comparisons=comparisons)
    return len(stored.records)


def _write_run(
    run: RunDir,
    target: Path,
    records: Sequence[TrialRecord],
    *,
    problems: Sequence[str],
    comparisons: Sequence[Comparison],
) -> None:
    from pytest_webarena.plugin.reporting.allure.identity import performer
    from pytest_webarena.plugin.reporting.allure.run_files import write_run_files

    facts = run.facts()
    figures, in_full = _figures(run, facts, records, comparisons)
    write_run_files(
        target,
        facts,
        agents=sorted({performer(record.key) for record in records}),
        attached=_attached(run, records),
        figures=figures,
        in_full=in_full,
        problems=problems,
    )


def _figures(
    run: RunDir, facts: Mapping[str, Any], records: Sequence[TrialRecord], comparisons: Sequence[Comparison]
) -> tuple[dict[str, str], dict[str, str]]:
    """The rates, costs and comparisons of the run's agents, brief and in full; none for audits and runs on a record."""
    from pytest_webarena.plugin.reporting.rate_figures import (
        comparison_figures,
        coverage_figures,
        first_page_figures,
        rate_figures,
    )
    from pytest_webarena.results.conditions import summaries_of
    from pytest_webarena.results.plan import cover, read_plan

    if facts.get("audit") or facts.get("on_record"):
        return {}, {}
    plan = read_plan(run.path)
    summaries = list(summaries_of(run, records, named_with=tuple(plan)).values())
    others = [*coverage_figures(cover(plan, records, begun=run.begun())), *comparison_figures(comparisons)]
    return dict([*first_page_figures(summaries), *others]), dict([*rate_figures(summaries), *others])


def _write(run: RunDir, target: Path, records: Sequence[TrialRecord], *, root: Path, agents: Sequence[str]) -> None:
    if not records:
        return
    from allure_commons.logger import AllureFileLogger

    from pytest_webarena.plugin.reporting.allure.files import Attachments
    from pytest_webarena.plugin.reporting.allure.identity import Identity
    from pytest_webarena.plugin.reporting.allure.result import Reported, earlier_results, trial_result

    files = Attachments(target)
    logger = AllureFileLogger(target)
    for record in records:
        trial = Reported(
            record=record, folder=run.folder(record.key).path, identity=Identity.of_record(record, agents), root=root
        )
        for result in (*earlier_results(trial, files), trial_result(trial, files)):
            logger.report_result(result)


def _write_not_run(run: RunDir, target: Path, records: Sequence[TrialRecord], facts: Mapping[str, Any]) -> None:
    """Write results of planned trials that were not run, which pytest has reported in a live run."""
    from allure_commons.logger import AllureFileLogger

    from pytest_webarena.plugin.reporting.allure.identity import Identity
    from pytest_webarena.plugin.reporting.allure.result import planned_result
    from pytest_webarena.results.plan import read_plan

    known, of_task = {record.key for record in records}, {record.key.task: record for record in records}
    logger = AllureFileLogger(target)
    for key, trial in read_plan(run.path).items():
        identity = Identity.of_planned(trial, of_task.get(key.task), facts.get("agents", ()))
        result = planned_result(trial, identity, facts.get("started", 0.0)) if key not in known else None
        if result is not None:
            logger.report_result(result)


def _attached(run: RunDir, records: Sequence[TrialRecord]) -> list[Path]:
    """Files that belong to no test, and a page about key nodes where there are any."""
    from pytest_webarena.results.files import write_atomically
    from pytest_webarena.results.key_node_views import run_section, standalone

    found = [run.path / name for name in ("results.csv", "summary.json", "run.json", "broker.log")]
    if section := run_section(records, pages=run.pages_of):
        found.insert(0, run.path / "key-nodes.html")
        write_atomically(found[0], standalone("Key nodes", section))
    return found


def _identity(item: TaskItem) -> Identity:
    from pytest_webarena.plugin.reporting.allure.identity import Identity

    return Identity.of_task(item.task, item.nodeid, item.key, item.config.stash[SETTINGS].agents)
