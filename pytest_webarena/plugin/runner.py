"""The body of every task item: runs a trial in the executor and turns its record into a pytest outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_webarena.errors import HarnessError, SiteMissing, TaskFailed, Unready, error_of
from pytest_webarena.plugin.auditing import as_expected
from pytest_webarena.plugin.prefetched_trial import PrefetchedTrial, TrialTimes
from pytest_webarena.plugin.reporting import html
from pytest_webarena.plugin.reporting.allure import report_trial
from pytest_webarena.plugin.reporting.artifacts import link_artifacts
from pytest_webarena.plugin.reporting.outcomes import DECIDED, SKIPPED, STOPPED, STOPPED_UNDECIDED
from pytest_webarena.plugin.stash import PREFETCHED, SEQUENTIAL_STOP, SETTINGS, TRIAL_TIMES
from pytest_webarena.results import RunDir
from pytest_webarena.results.trial_outcome import reported_outcome
from pytest_webarena.results.wording import cost_words, rerun_words
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from pytest_webarena.plugin.items import TaskItem
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.executor import TrialExecutor
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.stopping import NotRun, Stops

__all__ = ["facts", "may_begin", "run_task"]


def run_task(request: pytest.FixtureRequest, browser_name: str) -> None:
    """Run one trial. Passes, raises `TaskFailed` for a wrong result, or a `TrialError` when there is no result."""
    __tracebackhide__ = True
    item = request.node
    settings = item.config.stash[SETTINGS]
    is_rescoring = settings.rescore is not None
    if not is_rescoring and (refused := getattr(item.function, "refused", "")):
        _skip(item, refused)
    stops = None if is_rescoring else _stops(request)
    needs = () if is_rescoring else _needs(item.task)
    if (
        PREFETCHED not in item.stash
        and stops is not None
        and (why := stops.why_not(item.key.agent, item.browser, needs))
    ):
        _not_run(item, why)
    if PREFETCHED not in item.stash and not is_rescoring and SEQUENTIAL_STOP in item.config.stash:
        info: RunInfo = request.getfixturevalue("webarena_run")
        if why := item.config.stash[SEQUENTIAL_STOP].stop_reason_of(RunDir(info.run_dir)):
            item.user_properties.append((DECIDED, why))
            pytest.skip(why)
    begun: PrefetchedTrial | None = item.stash.get(PREFETCHED, None)
    try:
        if begun is not None:
            del item.stash[PREFETCHED]  # a rerun has a trial of its own
            runtime = begun.runtime
            begun.output.flush_to_report(item)
            record = begun.future.result()
            item.stash[TRIAL_TIMES] = TrialTimes.by(record)
        else:
            if TRIAL_TIMES in item.stash:
                del item.stash[TRIAL_TIMES]
            runtime = request.getfixturevalue(settings.runner)  # requested late, because each of them is expensive
            executor: TrialExecutor = request.getfixturevalue("webarena_executor")
            record = executor.submit(
                item.task, item.agent_name, item.trial, browser=item.browser, node_id=item.nodeid
            ).result()
    except SiteMissing as missing:
        _skip(item, printable(str(missing)))
    except Unready as error:
        if stops is None:
            raise
        _not_run(item, stops.stop(item.key.agent, item.browser, needs, error))
    except OSError as error:  # of records only: all other errors are in the trial's record
        raise HarnessError(printable(f"the trial's records can't be written: {error}")) from None
    if stops is not None:
        stops.note(record, needs)
    item.user_properties.extend(facts(record))
    stored = record
    if item.planned is not None:
        run = RunDir(runtime.folder(stored).parents[1])
        record = as_expected(item.planned, record, run)  # from here on, "passed" is what the audit expects
        item.user_properties.append(("audit", record.outcome))
    runtime.prune(record)
    report_trial(item, stored, runtime.folder(stored))
    html.remember(item, runtime.folder(stored))
    link_artifacts(item, runtime.folder(stored), stored)
    message = printable(record.message + rerun_words(record))
    if record.outcome == "failed":
        raise TaskFailed(message)
    if record.outcome == "error":
        raise error_of(record.cause or "harness", message)


def may_begin(item: TaskItem) -> Any:
    """Return the runtime for the trial of ``item``, whose fixtures are set up; None if it must not run, or not now."""
    from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

    config, request = item.config, item._request
    expected = evaluate_xfail_marks(item)
    if item.function.refused or evaluate_skip_marks(item) or (expected is not None and not expected.run):
        return None
    if _stops(request).why_not(item.key.agent, item.browser, _needs(item.task)):
        return None
    info: RunInfo = request.getfixturevalue("webarena_run")
    if SEQUENTIAL_STOP in config.stash and config.stash[SEQUENTIAL_STOP].stop_reason_of(RunDir(info.run_dir)):
        return None
    return request.getfixturevalue("webarena_runtime")


def _skip(item: pytest.Item, reason: str) -> NoReturn:
    """Skip the trial; the summary reports the whole reason, once for all trials that share it."""
    __tracebackhide__ = True
    item.user_properties.append((SKIPPED, reason))
    pytest.skip(reason.partition("\n")[0])


def _stops(request: pytest.FixtureRequest) -> Stops:
    """Return the run's record of consecutive errors, which all its processes share."""
    from pytest_webarena.trials.stopping import Stops

    info: RunInfo = request.getfixturevalue("webarena_run")
    return Stops(info.temp_dir, request.config.stash[SETTINGS].equal_errors)


def _needs(task: Task) -> tuple[str, ...]:
    """Return the names of the resources that a trial of ``task`` needs, for `Stops`."""
    from pytest_webarena.trials.stopping import BROWSER
    from pytest_webarena.trials.trial_environment import needs_browser

    return (*task.sites, *([BROWSER] if needs_browser(task) else []))


def _not_run(item: pytest.Item, why: NotRun) -> NoReturn:
    """Skip the trial, because a prerequisite is missing; the controller counts it as not run."""
    __tracebackhide__ = True
    reason = printable(why.reason)
    item.user_properties.append((STOPPED, reason))
    if why.undecided:
        item.user_properties.append((STOPPED_UNDECIDED, "yes"))
    pytest.skip(f"not run: {reason}")


def facts(record: TrialRecord) -> list[tuple[str, object]]:
    """Return a trial's properties for JUnit, pytest-html and the xdist controller, as plain values only."""
    return [
        ("task", record.key.task),
        ("agent", record.key.agent),
        ("trial", record.key.trial),
        ("browser", record.key.browser),
        ("outcome", reported_outcome(record).kind),
        *([("attempt", record.attempt)] if record.attempt > 1 else []),
        ("score", record.score),
        ("stop_reason", record.stop_reason),
        ("cause", record.cause),
        ("steps", record.steps),
        ("record", record.key.folder),
        *([("reruns", " ".join(each.outcome for each in record.reruns))] if record.reruns else []),
        *_model_facts(record),
    ]


def _model_facts(record: TrialRecord) -> list[tuple[str, object]]:
    used = record.total_usage
    if used is None:
        return []
    return [
        ("model", record.model),
        ("input_tokens", used.input_tokens),
        ("output_tokens", used.output_tokens),
        ("cost", "unknown" if used.cost is None else used.cost if used.complete else cost_words(used)),
    ]
