"""Collects what checks need while a trial is live, and judges what was collected. The two phases share only the
evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pytest_webarena.actions import Stop
from pytest_webarena.checks.grading import REPAIRED, UPSTREAM_KINDS, Grading, find_grading, gradings_of, headline_of
from pytest_webarena.checks.intervals import clean, combined, counted, score_bounds, total
from pytest_webarena.checks.judge_protocol import Asker
from pytest_webarena.checks.kind import END, Judgement, Kind, Live, State, View, blames_task
from pytest_webarena.checks.masked_evidence import MaskReads, unless_masked
from pytest_webarena.checks.sign_ins import SignIns, TabsNoted, Watched, weigh_sign_in
from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.errors import BrowserError, JudgeError, SiteError, TaskError, TooLarge, TrialError
from pytest_webarena.evidence import Evidence, Probe
from pytest_webarena.tasks.kinds import BUILTIN, find_kind
from pytest_webarena.tasks.model import Check, Task
from pytest_webarena.tasks.placeholders import readable
from pytest_webarena.text import clip, message_of

__all__ = ["Needs", "Watch", "collect", "judge", "judge_all", "leaves", "make_ready", "needs", "needs_judge"]

Watch = Callable[[str, str], Judgement | None]
"""Called with the grading and the path of each check before it is judged; returns a judgement to use instead, or
None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a task's checks need in addition to what every trial records."""

    each_step: tuple[Check, ...] = ()
    """Checks to `collect` after every step, with its index as the state."""
    end: tuple[Check, ...] = ()
    """Checks to `collect` at the end of the episode."""
    responses: bool = False
    """Whether the bodies of responses must be kept."""
    sites: bool = False
    """Whether any check depends on what sites show, store or receive, and not only on the answer and the steps."""
    changes: bool = False
    """Whether any check depends on changes in the sites' data."""
    pages: bool = False
    """Whether any check depends on the browser's address, or collects something with the browser."""


def needs(checks: Sequence[Check]) -> Needs:
    """Returns which checks collect something, and when. Both lists are empty for tasks that only read the record."""
    return Needs(
        each_step=tuple(check for check, steps in leaves(checks) if steps and _collects(check)),
        end=tuple(check for check, _ in leaves(checks) if _collects(check) or _reads_tabs(check)),
        responses=any(_reads_responses(check) for check, _ in leaves(checks)),
        sites=any(_looks_at_sites(check) for check, _ in leaves(checks)),
        changes=any(_reads_changes(check) for check, _ in leaves(checks)),
        pages=any(_looks_at_pages(check) for check, _ in leaves(checks)),
    )


def needs_judge(task: Task, grading: Grading) -> bool:
    """Whether ``task``, judged by the counting grading, needs a judge model for answers that exact comparison can't
    decide."""
    counts = headline_of(task, grading.name) or grading.name
    for check, _ in leaves(task.gradings.get(counts, task.checks)):
        kind = find_kind(check.kind)
        if isinstance(kind, Kind) and kind.needs_judge is not None and kind.needs_judge(check.spec):
            return True
    return False


def leaves(checks: Sequence[Check], steps: bool = False) -> Iterator[tuple[Check, bool]]:
    """Yields the checks that are not combinations, and whether they are judged in every state."""
    for check in checks:
        every = steps or check.when == "any_step"
        if check.children:
            yield from leaves(check.children, every)
        else:
            yield check, every


def _negated(checks: Sequence[Check], within: bool = False) -> Iterator[str]:
    """Yields the paths of the checks that are negated."""
    for check in checks:
        if check.children:
            yield from _negated(check.children, within ^ (check.kind == "not"))
        elif within:
            yield check.path


def _kind(check: Check) -> Kind[object] | None:
    kind = find_kind(check.kind)
    return kind if isinstance(kind, Kind) else None


def _collects(check: Check) -> bool:
    kind = _kind(check)
    return kind is not None and kind.collect is not None


def _reads_tabs(check: Check) -> bool:
    kind = _kind(check)
    return kind is not None and kind.reads_tabs


def _looks_at_sites(check: Check) -> bool:
    kind = _kind(check)
    if kind is None:
        return False
    reads = kind.reads_requests or kind.reads_signals or kind.reads_changes
    sights = kind.sights(check.spec)
    sees = sights is None or not sights.isdisjoint(("place", "data", "requests"))  # None: not declared
    return kind.stateful or reads or kind.collect is not None or sees


def _looks_at_pages(check: Check) -> bool:
    kind = _kind(check)
    if kind is None:
        return False
    sees = "place" in (kind.sights(check.spec) or ())
    return kind.stateful or kind.reads_signals or kind.collect is not None or sees


def _reads_changes(check: Check) -> bool:
    kind = _kind(check)
    return kind is not None and kind.reads_changes


def _reads_responses(check: Check) -> bool:
    kind = _kind(check)
    return kind is not None and kind.reads_responses is not None and kind.reads_responses(check.spec)


def collect(
    checks: Sequence[Check], live: Live, *, state: State, ends_session: bool = False, tabs: Sequence[str] = ()
) -> tuple[Probe, ...]:
    """Collect what ``checks`` need in this state: data first, then the current page, then pages opened for the purpose.

    For each site with an account, the login is tested before and after, unless the task ``ends_session``. If the login
    is lost at the end, the harness logs the account in again with cookies of its own, and repeats what can be read
    again. ``tabs`` are the addresses of the tabs that the agent left open.

    A check's own failure to collect (a bad selector, bad SQL) is its probe's ``error``. `SiteError` and `BrowserError`
    are raised, because they affect the whole trial.
    """
    due: list[tuple[int, Check, Kind[object]]] = []
    for check, _ in leaves(checks):
        kind = _kind(check)
        if kind is not None and (_collects(check) or (kind.reads_tabs and state == END)):
            due.append((kind.phase(check.spec), check, kind))
    due.sort(key=lambda item: item[0])
    negated = frozenset(_negated(checks))

    def gather(check: Check, kind: Kind[object], known: SignIns) -> tuple[Probe, Watched]:
        asked = Watched(live, known, late=check.path in negated)
        return _gather(check, kind, asked, state, tabs), asked

    sign_ins = SignIns(live, on=not ends_session)
    found = [gather(check, kind, sign_ins) for _, check, kind in due]
    sign_ins.end()
    lost = sign_ins.lost() if state == END and hasattr(live, "signed_in_again") else frozenset()
    if sites := set().union(*(asked.repeats(lost) for _, asked in found)):
        with sign_ins.again(sites) as others:
            for place, (probe, asked) in enumerate(found):
                if (lacking := asked.repeats(lost)) and lacking <= others.renewed:
                    repeated, asked = gather(*due[place][1:], others)
                    found[place] = replace(repeated, first=probe.value), asked
    return tuple(replace(probe, sign_ins=asked.sign_ins or None) for probe, asked in found)


def _gather(check: Check, kind: Kind[object], asked: Watched, state: State, tabs: Sequence[str]) -> Probe:
    probe = Probe(check=check.path, state=state)
    try:
        if kind.reads_tabs:
            asked.see_tabs(tabs)
        value = kind.collect(check.spec, cast("Live", asked)) if kind.collect is not None else None
    except (SiteError, BrowserError):
        raise
    except TooLarge as error:
        return replace(probe, error=str(error), beyond=True)
    except TrialError as error:
        return replace(probe, error=message_of(error) or type(error).__name__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # third-party kinds may raise anything, even pytest.skip or exit
        raised = _is_theirs(check) and not blames_task(error)
        return replace(probe, error=f"{type(error).__name__}: {message_of(error)}", raised=raised)
    return replace(probe, value=value)


def make_ready(task: Task, grading: str = "") -> None:
    """Load what judging the task by ``grading`` needs. Errors are ignored here; judging reports them."""
    from pytest_webarena.checks import side_effects  # noqa: F401  # here, so that each forked judge finds it loaded

    for check, _ in leaves(task.every_check):
        kind = _kind(check)
        if kind is None:
            continue
        try:
            if kind.make_ready is not None:
                kind.make_ready(check.spec)
            if kind.make_ready_for is not None:
                kind.make_ready_for(grading)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a user's module may even call sys.exit or pytest.importorskip
            continue


def _side_effects(task: Task, evidence: Evidence) -> Judgement | None:
    from pytest_webarena.checks.side_effects import side_effects  # only where a site keeps a ledger

    return unless_masked(side_effects(task, evidence.changes), evidence, evidence.changes)


def judge(
    task: Task,
    evidence: Evidence,
    *,
    grading: Grading = REPAIRED,
    asker: Asker | None = None,
    watch: Watch | None = None,
) -> Verdict:
    """Judge a trial from its evidence. Pure: no browser, no sites, no clock.

    An undecided check makes the verdict undecided, unless the rest decides it anyway. ``asker`` is the judge model;
    without one, checks that need it are undecided. Raises `TaskError` when the task has no checks of this grading.

    There is no time limit. `bounded.judge_all_bounded` has one, and uses ``watch``.
    """
    known = gradings_of(task, grading.name)
    name = headline_of(task, grading.name)
    if name is None:
        raise TaskError(f"{task.id}: expected checks of the grading {grading.name!r}, found {', '.join(known)}")
    if name != grading.name:
        grading = find_grading(name)
    task, evidence = evidence.in_names(task)
    judging = _Judging(task, evidence, grading, asker, watch)
    results = tuple(judging.check(check) for check in task.gradings.get(name, task.checks))
    weights = [result.weight for result in results] if task.score == "mean" else None
    low, high = total([score_bounds(result) for result in results], weights)
    least, most = total([counted(result) for result in results], weights)
    if not known and evidence.changes is not None and (effects := _side_effects(task, evidence)) is not None:
        rule = judging.rule(effects)
        results = (*results, rule)
        worst, best = score_bounds(rule)
        low, high, least, most = low * worst, high * best, least * worst, most * best
    score = clean(low) if low == high else None
    passes = {bound >= task.threshold - 1e-9 for bound in (least, most)}
    passed = passes.pop() if len(passes) == 1 else None
    if known and not grading.decides and any(result.score is None for result in results):
        score = passed = None  # one undecided check makes the verdict undecided
    return Verdict(
        score=score,
        passed=passed,
        lower_bound=clean(low),
        results=results,
        task=task.id,
        intent=readable(task.intent, task.leased, evidence.sites),
        threshold=task.threshold,
        stop_reason=evidence.stop_reason,
        grading=str(grading) if known else "",
    )


def judge_all(
    task: Task, evidence: Evidence, *, headline: Grading, asker: Asker | None = None, watch: Watch | None = None
) -> Mapping[str, Verdict]:
    """Returns the verdicts of every grading of the task, the headline's first; a single one for tasks without gradings.

    ``repaired`` is judged without the repairs that ``headline`` leaves out. Raises `TaskError`, as `judge` does.
    """
    name = headline_of(task, headline.name)
    first = judge(task, evidence, grading=headline, asker=asker, watch=watch)
    others = (other for other in gradings_of(task, headline.name) if other != name)
    return {
        name or headline.name: first,
        **{other: judge(task, evidence, grading=find_grading(other), asker=asker, watch=watch) for other in others},
    }


class _Judging:
    def __init__(
        self, task: Task, evidence: Evidence, grading: Grading, asker: Asker | None, watch: Watch | None
    ) -> None:
        self.task = task
        self.evidence = evidence
        self.grading = grading
        self.asker = asker
        self.watch = watch
        self.masks = MaskReads(evidence) if evidence.masked else None
        # Nothing changes between stopping and the end, so a step that stops is a separate state only if probed.
        steps = {step.index for step in evidence.steps if step.action.get("kind") != Stop.kind}
        probed = {probe.state for probe in evidence.probes if isinstance(probe.state, int)}
        self.states: tuple[State, ...] = (*sorted(steps | probed), END)

    def check(self, check: Check, state: State | None = None, *, negated: bool = False) -> CheckResult:
        """Returns the result of one check in ``state``, if an outer check has chosen one. ``negated`` states whether an
        odd number of ``not`` surrounds it."""
        if check.when == "any_step" and state is None:
            return self.best(check, negated)
        if check.children:
            return self.combined(check, state, negated)
        return self.leaf(check, END if state is None else state, negated)

    def best(self, check: Check, negated: bool) -> CheckResult:
        """Returns the result of the best state; undecided if an undecided state might be better."""
        results = [self.check(check, state, negated=negated) for state in self.states]
        known = [result for result in results if result.score is not None]
        unknown = [result for result in results if result.score is None]
        best = max(known, key=lambda result: result.score or 0.0, default=None)
        if best is not None and (not unknown or best.score == 1):
            if best.score:
                return best
            return replace(best, state="any state", why=f"{best.why} (nor after any of the steps)" if best.why else "")
        return next((result for result in unknown if not result.judgeable), unknown[0])

    def combined(self, check: Check, state: State | None, negated: bool) -> CheckResult:
        negated ^= check.kind == "not"
        children = tuple(self.check(child, state, negated=negated) for child in check.children)
        low, high = combined(check.kind, [score_bounds(child) for child in children])
        score = clean(low) if low == high else None
        counts = None
        if score is not None and any(child.counts is not None for child in children):
            counts = clean(combined(check.kind, [counted(child) for child in children])[0])
        expected = {"all": "all of these", "any": "one of these", "not": "the contrary of this"}[check.kind]
        judgeable = score is None and all(child.judgeable for child in children if child.score is None)
        judgement = Judgement(score=score, expected=expected, judgeable=judgeable)
        found = self.result(check, judgement, state, children)
        return replace(found, counts=None if counts == score else counts)

    def leaf(self, check: Check, state: State, negated: bool) -> CheckResult:
        kind = _kind(check)
        if kind is None:
            why = f"no kind of check called '{check.kind}' is installed"
            return self.result(check, Judgement.unknown(expected="", why=why), state)
        if self.watch is not None and (skipped := self.watch(self.grading.name, check.path)) is not None:
            skipped = replace(skipped, expected=clip(str(check.spec), 200))
            return self.result(check, _blamed(skipped, negated=negated), state)
        evidence = TabsNoted.of(self.evidence) if kind.reads_tabs else self.evidence
        probe = self.evidence.probe(check.path, state) if kind.collect or kind.reads_tabs else None
        as_shown = self.grading.name == "original" and check.kind in UPSTREAM_KINDS
        if as_shown and probe is not None and probe.first is not None:
            probe = replace(probe, value=probe.first)  # the original evaluators read whatever the session shows
        view = View(
            evidence=evidence,
            state=state,
            probe=probe,
            intent=self.task.intent,
            grading=self.grading,
            asker=self.asker,
            negated=negated,
            ends_session=self.task.ends_session,
        )
        try:
            judgement = _judge_collected(kind, check, view, self.masks)
        except (JudgeError, KeyboardInterrupt):
            raise
        except BaseException as error:  # third-party kinds may leave by pytest.skip or exit
            why = clip(f"judging raised {type(error).__name__}: {message_of(error)}", 200)
            says = Judgement.raised(error, expected=str(check.spec), why=why)
            # Kinds of this package must never raise: no verdict about the agent may result from a fault of theirs.
            judgement = says if _is_theirs(check) else Judgement.unknown(expected=str(check.spec), why=why)
        if state == END and self.evidence.busy:
            judgement = _while_busy(judgement, kind, check, self.evidence.busy)
        missing = judgement.score is None and not judgement.judgeable
        if missing and view.probe is not None and view.probe.beyond:
            judgement = replace(judgement, cause="agent")  # showing too much hides the answer
        unseen = isinstance(evidence, TabsNoted) and not evidence.seen
        if not (self.task.ends_session or unseen or as_shown):
            judgement = weigh_sign_in(judgement, probe, self.evidence, negated=negated)
        if negated and judgement.score == 0 and judgement.contrary is not None:
            judgement = replace(judgement, score=None, cause=judgement.contrary)
        return self.result(check, _blamed(judgement, negated=negated), state if kind.stateful else END)

    def rule(self, judgement: Judgement) -> CheckResult:
        """Returns the result of a rule that the task does not list as a check."""
        from pytest_webarena.checks.side_effects import PATH

        check = Check(path=PATH, kind="changes")
        if self.evidence.busy:
            judgement = _while_busy(judgement, None, check, self.evidence.busy)
        return replace(self.result(check, judgement, END), state="")

    def result(
        self, check: Check, judgement: Judgement, state: State | None, children: tuple[CheckResult, ...] = ()
    ) -> CheckResult:
        return CheckResult(
            path=check.path,
            kind=check.kind,
            score=judgement.score,
            expected=readable(judgement.expected, self.task.leased, self.evidence.sites),
            actual=judgement.actual,
            why=readable(judgement.why, self.task.leased, self.evidence.sites),
            state="" if state is None else END if state == END else f"after step {state}",
            weight=check.weight,
            children=children,
            cause=judgement.cause if judgement.score is None else None,
            waited=self.evidence.check_waits.get(check.path) if state == END else None,
            judgeable=judgement.judgeable and judgement.score is None,
            counts=_reaches(judgement),
            parts=judgement.parts,
        )


def _blamed(judgement: Judgement, *, negated: bool) -> Judgement:
    """Returns ``judgement`` with a score if the agent is to blame that it has none: nobody may gain by hiding what is
    checked, so neither the check nor its negation counts as met."""
    if judgement.score is None and judgement.cause == "agent":
        return replace(judgement, score=1.0 if negated else 0.0)
    return judgement


def _is_theirs(check: Check) -> bool:
    """Whether the kind of check is a third party's."""
    return check.kind not in BUILTIN


def _judge_collected(kind: Kind[object], check: Check, view: View, masks: MaskReads | None) -> Judgement:
    if view.probe is not None and view.probe.raised:
        why = clip(f"collecting raised {view.probe.error}", 200)
        return replace(Judgement.of(False, expected=str(check.spec), why=why), contrary="task")
    if view.probe is not None and view.probe.error and _is_theirs(check):  # its judge may not handle errors
        return Judgement.unknown(expected=str(check.spec), why=clip(view.probe.error, 200))
    if found := view.evidence.own_addresses.untranslated(check.spec):
        why = f"'{found}' of a hosted site can't be translated to its name; write site:/path"
        return Judgement.unknown(expected=str(check.spec), why=why)
    return kind.judge(check.spec, view) if masks is None else masks.judge(kind, check.spec, view)


def _while_busy(judgement: Judgement, kind: Kind[object] | None, check: Check, busy: str) -> Judgement:
    """Returns ``judgement`` if it would be the same after the work that a site still had; else it is undecided.

    All sites count, because one may show or call another.
    """
    if judgement.score is None:
        return judgement
    sights = kind.sights(check.spec) if kind is not None else None
    late = kind is None or kind.collect is not None or kind.reads_changes or sights is None or "data" in sights
    lasts = kind is not None and kind.presence is not None and judgement.score == 1 and kind.presence(check.spec)
    if not late or lasts:
        return judgement
    return Judgement.unknown(expected=judgement.expected, actual=judgement.actual, why=busy, cause="site")


def _reaches(judgement: Judgement) -> float | None:
    """Returns 1 if a score below 1 reaches the check's own threshold, else None."""
    return 1.0 if judgement.score is not None and judgement.threshold - 1e-9 <= judgement.score < 1 else None
