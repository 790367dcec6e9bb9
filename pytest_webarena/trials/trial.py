"""One trial from lease to record: the attempt, its retries after environment errors, its verdict."""

from __future__ import annotations

import hashlib
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_webarena.agents.host_access import can_signal_processes
from pytest_webarena.checks import judge_all_bounded
from pytest_webarena.checks.grading import needs_pages
from pytest_webarena.checks.ground import declared_ground
from pytest_webarena.errors import (
    BrowserLost,
    Cause,
    HarnessError,
    RecordingError,
    SiteMissing,
    SiteUnreached,
    SiteUnready,
    SiteYielded,
    TrialError,
)
from pytest_webarena.evidence import Evidence, Usage, cut
from pytest_webarena.owners import BEFORE_AGENT, ENDED_BY_ERROR, EVENTS, event_of
from pytest_webarena.results.records import Attempt, TrialRecord
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.trials.agent_run import run_agent
from pytest_webarena.trials.archive_misses import missing_resources, reporting_misses, with_misses
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.failed_writes import failed_writes, noting_failed_writes, with_failed_writes
from pytest_webarena.trials.fault_attribution import Attribution, Ended, unanswered
from pytest_webarena.trials.final_sign_ins import final_sign_ins
from pytest_webarena.trials.ground_attack import attack_ground
from pytest_webarena.trials.hung_agent import guarded
from pytest_webarena.trials.live_sites import obstacles, reporting_obstacles, with_obstacles
from pytest_webarena.trials.memory import Recollection, recollection
from pytest_webarena.trials.outcome import Decided, decide
from pytest_webarena.trials.progress import Progress, Recorder
from pytest_webarena.trials.refused_hosts import refused_hosts
from pytest_webarena.trials.session_secrets import SessionSecrets
from pytest_webarena.trials.tamper import tamper_with
from pytest_webarena.trials.trial_environment import TrialEnvironment, set_up_environment
from pytest_webarena.trials.written_values import change_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.results.attempts import AttemptWriter
    from pytest_webarena.results.trial_folder import TrialFolder
    from pytest_webarena.trials.episode import Episode
    from pytest_webarena.trials.plan import TrialPlan
    from pytest_webarena.trials.trial_environment import Resources

__all__ = ["RETRIED_CAUSES", "run_trial"]

RETRIED_CAUSES: frozenset[Cause] = frozenset({"site", "browser", "model"})
"""Causes of environment errors. Errors of other causes would recur, or must not be hidden."""

_BY_CODE: Mapping[str, str] = {"shared_browser": "browser", "disk": "harness"}
"""Events that code of the agent may cause without an action (it kills the browser, fills the disk), and those that
count instead."""

_NOTHING = 1.0
"""Seconds of waiting that are negligible."""

_SHARED_LOSSES = 1
"""Number of times that a trial may lose a browser that it shares with other trials; then it gets its own."""


def run_trial(plan: TrialPlan, resources: Resources, folder: TrialFolder) -> TrialRecord:
    """Run one trial and write its record. Returns the record that counts, for every outcome.

    Raises `SiteMissing` or `SiteUnready`, without a record, when a site is not available; otherwise only
    `KeyboardInterrupt` and the like.
    """
    if plan.memory is None or (keys := plan.agent.memory) is None:
        return _run_attempts(plan, resources, folder, None)
    # Wait before leasing anything: another trial that is waited for may need what this one would hold.
    with recollection(keys, plan.memory, of=keys.name_for(plan.task), trial=folder.key.folder) as recalled:
        return _run_attempts(plan, resources, folder, recalled)


def _run_attempts(
    plan: TrialPlan, resources: Resources, folder: TrialFolder, recalled: Recollection | None
) -> TrialRecord:
    attempts: list[Attempt] = []
    attribution = Attribution(plan, resources)
    visited: tuple[str, ...] = ()
    lost, retries = 0, plan.options.env_retries
    while True:
        writer = folder.begin(worker=plan.worker, node_id=plan.node_id, task=plan.facts())
        try:
            with ExitStack() as beginning:
                beginning.enter_context(plan.start())
                tried = _attempt(
                    plan, resources, writer, recalled, visited, alone=lost >= _SHARED_LOSSES, ready=beginning
                )
            plan.cancellation.check()
        except (SiteMissing, SiteUnready):
            folder.withdraw(writer.number)
            raise
        record, again, cause = tried.record, tried.again, tried.record.cause
        if tried.yielded and set(tried.visited) > set(visited):
            retries += 1  # nothing is broken; and this ends, because each retry asks for more sites at once
        visited = tried.visited
        if tried.lost and lost < _SHARED_LOSSES:
            lost += 1
            retries += 1  # so that it does not use one of the trial's own retries
        if record.cause == "site" and again and tried.unreached:
            retries = max(retries, 1)  # the agent only visited a site that it may visit
        if tried.ended is not None and plan.counting is None:
            record = attribution.owned(record, tried.ended, seconds=_use(record))
        if recalled is not None:
            record = replace(record, memory=recalled.keep(judged=record.outcome != "error"))
            retries = 0 if record.outcome != "error" else retries  # a later attempt would remember this one
        attempts.append(
            Attempt(
                number=writer.number,
                outcome=record.outcome,
                cause=record.cause,
                message=record.message,
                started=record.started,
                seconds=record.seconds.get("total", 0.0),
                usage=record.usage if record.usage is not None or not tried.unused else Usage(),
                resets=record.resets,
            )
        )
        record = TrialRecord.from_json(
            scrub_plain(replace(record, attempt=writer.number, attempts=tuple(attempts)).to_json())
        )
        if record.stop_reason in ENDED_BY_ERROR and plan.counting is None:
            plan = replace(plan, counting=record)
            folder.keep(record)
        if cause not in RETRIED_CAUSES or not again or len(attempts) > retries:
            return folder.finish(_counting(plan, record, attempts), since=plan.since)


def _use(record: TrialRecord) -> float:
    """Seconds for which the attempt used its sites."""
    parts = record.seconds
    return max(0.0, parts.get("total", 0.0) - parts.get("lease", 0.0) - parts.get("judge", 0.0))


def _counting(plan: TrialPlan, last: TrialRecord, attempts: Sequence[Attempt]) -> TrialRecord:
    """The record that counts: of the last attempt, or of the first one whose error was not the environment's."""
    counting = plan.counting
    if counting is None or counting.attempt == last.attempt:
        return last
    later = ", ".join(
        f"attempt {each.number} {'passed' if each.outcome == 'passed' else f'ended in: {each.outcome}'}"
        for each in attempts
        if each.number > counting.attempt
    )
    message = f"{counting.message}\n{later}, which does not count: only an error of the environment is retried"
    return replace(counting, attempts=tuple(attempts), message=message)


class _AttemptResult(NamedTuple):
    """A finished attempt."""

    record: TrialRecord
    again: bool
    """Whether another attempt could have a better result."""
    visited: tuple[str, ...]
    """`Progress.visited`."""
    unreached: bool
    """Whether the attempt ended because a reachable site was unavailable."""
    yielded: bool
    """Whether the attempt ended because it gave a reachable site up for another trial."""
    lost: bool
    """Whether the attempt ended because a browser crashed that it shared with other trials."""
    ended: Ended | None
    """How it ended in an error; None otherwise."""
    unused: bool
    """Whether the agent, although it uses models, reported no usage of its own: it had not begun, or its calls are
    counted here."""


def _attempt(
    plan: TrialPlan,
    resources: Resources,
    writer: AttemptWriter,
    recalled: Recollection | None,
    visited: tuple[str, ...],
    *,
    alone: bool,
    ready: ExitStack,
) -> _AttemptResult:
    """Run one attempt. ``alone`` gives it a browser of its own. ``ready`` is closed when the agent has its first page,
    or cannot get one."""
    started = time.time()
    progress = Progress(visited=visited)
    unreached = yielded = lost = False
    decided, again = Decided("error", "harness", ""), True
    raised: TrialError | None = None
    with progress.timed("total"):
        try:
            try:
                evidence = _gather(plan, resources, writer, progress, recalled, alone=alone, ready=ready)
            finally:
                ready.close()
            plan.cancellation.check()
            writer.finish(evidence)
            progress.environment |= failed_writes(evidence.requests)
            with progress.timed("judge"):
                progress.verdicts = judge_all_bounded(
                    plan.task,
                    evidence,
                    headline=plan.options.grading,
                    asker=plan.asker,
                    seconds=plan.options.check_timeout,
                )
            assert progress.verdict is not None
            cause = progress.verdict.cause
            progress.unanswered = unanswered(plan.task, evidence, progress.verdict, cause)
            ending = progress.episode.ending if progress.episode is not None else None
            decided = decide(
                progress.verdict,
                stop_reason=ending.reason if ending is not None else None,
                stop_detail=ending.detail if ending is not None else "",
            )
            if missing := missing_resources(evidence):
                progress.environment["not_archived"] = missing
                decided = with_misses(decided, evidence)
            if not (live := bool(progress.environment.get("live"))) and (refused := refused_hosts(evidence.requests)):
                progress.environment["refused_hosts"] = refused
            if (met := obstacles(evidence, live=live)) or live:
                progress.environment["obstacles"] = met
                decided = with_obstacles(decided, evidence, live=live)
            # another attempt would meet the same
            again = decided.event not in ("archive", "live_site") and decided.cause != "blocked"
            if decided.event == "unreported_usage" and plan.agent.kind == "model":
                decided = decided._replace(event="uncounted_usage")
            remark = plan.agent.on_verdict(plan.task, plan.trial, writer.path, decided.outcome, progress.verdict)
            if remark and decided.outcome != "passed":
                decided = decided._replace(message=f"{decided.message}\n{remark}".lstrip())
        except (SiteMissing, SiteUnready):
            raise
        except TrialError as error:
            raised, again = error, error.again
            decided = Decided("error", error.cause, str(error), event_of(error).name)
            progress.add(error.usage)
            unreached, lost = isinstance(error, SiteUnreached), isinstance(error, BrowserLost)
            yielded = isinstance(error, SiteYielded)
        except Exception as error:  # a bug in the harness must not look like a failed task, nor end the run
            decided = Decided("error", "harness", _unexpected(error), "harness")
            progress.add(getattr(error, "usage", None))
            with suppress(RecordingError):
                writer.note_traceback(error)
    decided = with_failed_writes(decided, progress.environment)
    ended = _ended(plan, progress, raised, decided, writer.path) if decided.cause is not None else None
    return _AttemptResult(
        _record(plan, progress, decided, started), again, progress.visited, unreached, yielded, lost, ended,
        unused=plan.agent.asks_models and (plan.agent.kind == "model" or "episode" not in progress.seconds),
    )  # fmt: skip


def _ended(plan: TrialPlan, progress: Progress, error: TrialError | None, decided: Decided, folder: Path) -> Ended:
    control = error.control if error is not None else None
    asker = plan.asker
    event = EVENTS[decided.event]
    live = bool(progress.environment.get("live"))
    if live and decided.cause == "site" and event.control == "trial":
        event = EVENTS["live_site"]
    elif error is None and decided.cause == "judge" and asker is not None and asker.event:
        event, control = EVENTS[asker.event], lambda: asker.control
    if can_signal_processes(plan.agent):
        event = EVENTS[_BY_CODE.get(event.name, event.name)]
    if not progress.begun and event.control != "none":
        event = EVENTS[BEFORE_AGENT]
    return Ended(
        event=event, folder=folder, control=control, visited=progress.visited,
        interrupted=error.interrupted if error is not None else None,
        unanswered=progress.unanswered, places=progress.places, live=live, at=progress.ended,
        instance_problem=progress.instance_problem(plan.agent) if event.cause == "site" else None,
    )  # fmt: skip


def _gather(
    plan: TrialPlan,
    resources: Resources,
    writer: AttemptWriter,
    progress: Progress,
    recalled: Recollection | None,
    *,
    alone: bool,
    ready: ExitStack,
) -> Evidence:
    """Run everything that needs sites and a browser; both are released afterwards."""
    task = plan.task
    if plan.in_flight > 1:
        progress.environment["in_flight"] = plan.in_flight  # shows how busy the machine may have been
    with ExitStack() as exits:
        exits.callback(writer.closed)
        exits.callback(progress.note_release)
        environment = exits.enter_context(
            set_up_environment(
                task,
                resources,
                holder=plan.holder,
                timed=progress.timed,
                tailor=lambda config: _with_own_browser(plan.filmed(plan.tailored(config), writer), alone),
                self_driving=plan.agent.self_driving,
                rooted=plan.agent.rooted,
                options=plan.options,
                visited=progress.visited,
                leased=progress.note_lease,
            )
        )
        task = environment.own_addresses.in_value(task)
        plan = replace(plan, task=task)
        exits.callback(_note_visits, environment, progress)
        exits.callback(_note_places, environment, progress)
        progress.replicas, progress.sites = environment.replicas, environment.live.sites
        progress.browser = environment.session.browser_version
        progress.environment = {**progress.environment, **environment.session.environment}
        progress.environment |= plan.conditions
        exits.enter_context(noting_failed_writes(environment.requests, progress.environment))
        if task.user:
            progress.environment["users"] = dict(task.user)
        if programs := environment.programs:
            progress.environment["programs"] = programs
        if external := environment.external_sites:
            progress.environment["external_sites"] = external
        if resets := environment.site_resets:
            progress.environment["site_resets"] = resets
        if environment.lease is not None and environment.lease.live:
            progress.environment["live"] = dict(environment.lease.live)
        writer.given(environment.images)
        see_pages = needs_pages(task, plan.options.grading)
        collector = Collector(task, environment, plan.options, see_pages=see_pages)
        secrets = SessionSecrets(environment)
        writer.hides_credentials = secrets.wanted
        exits.callback(secrets.learn_all)
        recorder = Recorder(writer, collector, environment, progress, secrets)
        with environment.attributing_site_errors(), progress.timed("episode"):
            facts = progress.environment
            with reporting_obstacles(environment.requests, facts), reporting_misses(environment.requests, facts):
                environment.open_first_pages()
            ready.close()
            so_far = _record(plan, progress, Decided("failed", None, ""), time.time())
            with reporting_misses(environment.requests, facts), guarded(plan, so_far, writer) as guard:
                progress.begun = True
                episode = run_agent(plan, environment, recorder, writer, recalled, guard)
                progress.episode = episode
        with environment.attributing_site_errors(), progress.timed("collect"):
            try:
                _require_time(plan, episode, environment)
                if plan.agent.crawls and (ground := declared_ground(task)) is not None:
                    progress.environment["crawl"] = attack_ground(task, ground, environment, resources)

                def tamper() -> None:  # not earlier, because it might delete queued work, which is no damage
                    if plan.agent.tampers and environment.lease is not None:
                        progress.environment["meddled"] = tamper_with(environment.lease, task)

                evidence = collector.finish(
                    answer=episode.answer,
                    stop_reason=episode.ending.reason,
                    steps=episode.steps,
                    answer_format=plan.answer_format,
                    used=_used(plan, episode),
                    picture=lambda data: writer.screenshot("final", data),
                    before_reading=tamper,
                )
                progress.signed_in = final_sign_ins(environment.lease, environment.session, task.user or {}, evidence)
                secrets.learn_pages(evidence)
                if plan.agent.changes_values:
                    limit = plan.options.check_timeout
                    progress.environment["values"] = change_values(task, environment, evidence, limit)
                return evidence
            finally:
                if see_pages:
                    progress.seconds["pages"] = round(collector.seconds_for_pages, 4)
                progress.seconds["wait"] = round(collector.waited, 4)
                if collector.late is not None and (late := collector.late.seconds):
                    progress.seconds["late"] = late
                    waits = {each.app: each.seconds for each in collector.late.quiet_waits}
                    progress.environment["late_work"] = {"sites": waits, "checks": dict(collector.late.check_waits)}
                if collector.unfinished:
                    progress.environment["unfinished_writes"] = [asdict(each) for each in collector.unfinished]
                if collector.unanswered:
                    progress.environment["unanswered_reads"] = list(collector.unanswered)
                if collector.no_picture:
                    progress.environment["no_picture"] = collector.no_picture


def _with_own_browser(config: SessionConfig, alone: bool) -> SessionConfig:
    return replace(config, own_browser=True) if alone else config


def _note_visits(environment: TrialEnvironment, progress: Progress) -> None:
    """Record which reachable sites the attempt visited, however it ended."""
    progress.visited = environment.visits.names(progress.visited)
    if environment.visits.sites:
        with suppress(TrialError):
            reached = [asdict(site) for site in environment.visits.reached()]
            progress.environment["reach"] = {"sites": list(environment.visits.sites), "visited": reached}


def _note_places(environment: TrialEnvironment, progress: Progress) -> None:
    """Record where and when the agent ended. Only addresses of sites: others, such as ``data:``, contain what the agent
    made."""
    progress.ended = time.monotonic()
    addresses = environment.session.addresses
    progress.places = tuple(url for url in addresses if url.startswith(("http:", "https:")))


def _require_time(plan: TrialPlan, episode: Episode, environment: TrialEnvironment) -> None:
    """Raise `SiteUnreached` when a self-driving agent ran out of time partly because of waits for sites. Its time
    cannot be extended; its next attempt begins with the sites that it had visited."""
    environment.arrive()
    if plan.agent.self_driving and episode.ending.reason == "time" and environment.visits.waited > _NOTHING:
        raise SiteUnreached(
            f"the agent's time was up; it had waited {environment.visits.waited:.1f} s of it for sites on first visits"
        )


def _used(plan: TrialPlan, episode: Episode) -> Used:
    """The agent's usage, as far as it is known."""
    if episode.usage is None and not plan.agent.asks_models:
        return Used(usage=Usage(), seconds=episode.agent_seconds)
    gap = episode.usage_gap if plan.agent.asks_models else ""
    booked = plan.agent.kind == "model" and plan.options.models.calls is not None
    return Used(usage=episode.usage, gap=gap, seconds=episode.agent_seconds, recorded_per_call=booked)


def _unexpected(error: Exception) -> str:
    bug = HarnessError(f"unexpected {type(error).__name__}: {error}; please report it with the attempt's traceback.txt")
    return str(bug)


def _record(plan: TrialPlan, progress: Progress, decided: Decided, started: float) -> TrialRecord:
    episode, verdict = progress.episode, progress.verdict
    return TrialRecord(
        key=plan.key,
        outcome=decided.outcome,
        score=verdict.known_score if verdict is not None else None,
        stop_reason=episode.ending.reason if episode else None,
        stop_detail=episode.ending.detail if episode else "",
        cause=decided.cause,
        message=cut(decided.message),
        verdict=verdict.to_json() if verdict is not None else None,
        grading=next(iter(progress.verdicts), ""),
        verdicts={name: each.to_json() for name, each in progress.verdicts.items()},
        judge=plan.asker.use if plan.asker is not None else None,
        answer=episode.answer if episode else None,
        answer_format=plan.answer_format,
        steps=progress.steps,
        usage=progress.usage if episode is None else _used(plan, episode).least if episode.usage is not None else None,
        sites_digest=hashlib.sha256(repr(sorted(progress.replicas.items())).encode()).hexdigest()[:16],
        browser=progress.browser,
        environment=progress.environment,
        replicas=progress.replicas,
        resets=progress.resets,
        seconds=progress.seconds,
        started=round(started, 3),
        node_id=plan.node_id,
        worker=plan.worker,
        signed_in=progress.signed_in,
        **plan.facts(progress.sites),
    )
