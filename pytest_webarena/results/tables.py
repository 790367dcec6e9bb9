"""Tables of the papers' metrics from any set of runs, next to published figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import StepRecord
from pytest_webarena.results import analysis_tables as analyses
from pytest_webarena.results.analysis_tables import Analysed, percent
from pytest_webarena.results.conditions import Source, check_rates, mixed, source_of
from pytest_webarena.results.environments import guarding
from pytest_webarena.results.failure_labels import Failures, failures_of
from pytest_webarena.results.key_node_scores import KeyNodeScores, key_node_scores
from pytest_webarena.results.key_node_tables import Scored, key_node_tables
from pytest_webarena.results.metrics import Metrics, measure
from pytest_webarena.results.paper_differences import SUITE, unlike_paper
from pytest_webarena.results.plan import stopped_trials
from pytest_webarena.results.published import (
    PublishedGroup,
    published,
    published_groups,
)
from pytest_webarena.results.records import TrialRecord, names_of
from pytest_webarena.results.reference_steps import ReferenceScores, reference_scores, references
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.statistics import Rate, Stopped, TemplateKey, grouped, stopped_clusters
from pytest_webarena.results.table_forms import Table
from pytest_webarena.results.wording import mixed_words, passed_words

__all__ = ["Row", "Table", "gather", "tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The metrics of one agent in one browser of one run."""

    name: str
    """The agent's id, with the browser and the name of the run where they are needed to distinguish rows."""
    run: str
    agent: str
    browser: str
    grading: str
    """The grading of these figures; several, joined, where the run itself is mixed."""
    suite: str
    """The published suite of all its tasks; empty for other tasks."""
    metrics: Metrics
    mixed: tuple[str, ...] = ()
    """Differences between its trials that make the rate meaningless (`conditions`)."""
    key_nodes: KeyNodeScores | None = None
    """Scores of key nodes; None if no trial has any."""
    reference: ReferenceScores | None = None
    """Agreement with solutions that were replayed in one of the runs; None if there are none."""
    prompts: tuple[str, ...] = ()
    """The prompts of its trials with a model; several where the run itself is mixed."""
    guard: str = ""
    """Guard of live sites (`environments.Setting`); empty without them."""
    robots: str = ""
    """How robots.txt of live sites was treated."""
    unlike: tuple[str, ...] = ()
    """Differences from the conditions of WebArena's paper, for its tasks."""
    failures: Failures | None = None
    """Failed trials by class; None for another grading than the one that counts, to which rules and labels refer."""
    participants: Mapping[str, Metrics] = field(default_factory=dict)
    """Metrics of each person who took part as this agent, by name."""

    @property
    def analysed(self) -> Analysed:
        """The figures for the paper's analyses."""
        return Analysed(name=self.name, metrics=self.metrics, failures=self.failures, participants=self.participants)


def gather(runs: Sequence[Path], *, grading: str = "", templates: TemplateKey = "text") -> list[Row]:
    """Return the agents of all runs, per browser. Raises `UsageError` for a folder that is not a run, or is empty."""
    found: list[tuple[RunDir, list[TrialRecord], tuple[str, ...], Source]] = []
    for path in runs:
        run = RunDir(path)
        facts, stored = run.facts(), run.read()
        check_rates(path, facts)
        if not stored.records:
            also = "".join(f"\n  {each}" for each in stored.unreadable)
            raise UsageError(f"{path}: expected a run with finished trials, found none{also}")
        source = source_of(path, facts, stored.records)
        differing = mixed(source)
        for name, records in grouped(stored.records).items():
            reasons = tuple(each.short for each in differing.get(name, ()))
            found.append((run, records, reasons, source))
    named = names_of(records[0].key for _, records, _, _ in found)
    names = [named[records[0].key.entrant] for _, records, _, _ in found]
    solutions: dict[str, Sequence[StepRecord]] = {}
    for run, records, _, _ in found:
        solutions = {**references(records, run.steps_of), **solutions}
    return [
        Row(
            name=name if names.count(name) == 1 else f"{name} ({run.path.resolve().name})",
            run=run.path.resolve().name,
            **records[0].key.entrant._asdict(),
            grading=grading or _grading(records),
            suite=_only({str(record.source.get("suite", "")) for record in records}),
            metrics=measure(records, grading=grading, templates=templates, stopped=_stopped(run, records, templates)),
            mixed=reasons,
            key_nodes=key_node_scores(records, grading=grading),
            reference=reference_scores(records, solutions, run.steps_of),
            prompts=tuple(sorted({str(record.environment.get("prompt") or "") for record in records} - {""})),
            **dict(zip(("guard", "robots"), guarding(records), strict=True)),
            unlike=unlike_paper(source.parts, records, grading or _grading(records))
            if {str(record.source.get("suite", "")) for record in records} == {SUITE}
            else (),
            failures=failures_of(run, records) if not grading else None,
            participants=_participants(records, grading, templates),
        )
        for name, (run, records, reasons, source) in zip(names, found, strict=True)
    ]


def _stopped(run: RunDir, records: Sequence[TrialRecord], templates: TemplateKey) -> list[Stopped]:
    """The agent's trials that errors in a row stopped."""
    everyone = run.read().records
    own = [each for each in stopped_trials(run.path, everyone) if each.key.entrant == records[0].key.entrant]
    return stopped_clusters(own, everyone, templates) if own else []


def _participants(records: Sequence[TrialRecord], grading: str, templates: TemplateKey) -> dict[str, Metrics]:
    """The metrics of each person, where trials name them."""
    found: dict[str, list[TrialRecord]] = {}
    for record in records:
        if participant := str(record.environment.get("participant") or ""):
            found.setdefault(participant, []).append(record)
    return {
        participant: measure(found[participant], grading=grading, templates=templates) for participant in sorted(found)
    }


def _grading(records: Sequence[TrialRecord]) -> str:
    """The gradings of these trials' outcomes, joined; empty if their tasks have none."""
    known = {
        verdict.get("grading") or ""
        for record in records
        if (verdict := record.verdicts.get(record.grading)) is not None
    }
    return " + ".join(sorted(known - {""}))


def _only(names: set[str]) -> str:
    return names.pop() if len(names) == 1 else ""


def tables(rows: Sequence[Row], *, templates: TemplateKey = "text", each_template: bool = False) -> list[Table]:
    """Return all tables: rates, published ones, people, templates, categories and sites, effort, failures, nodes."""
    analysed = [row.analysed for row in rows]
    comparable = _suite(rows) if {row.grading for row in rows} == {"original"} else ""
    return [
        _rates(rows),
        *_published(rows),
        *analyses.people(analysed, comparable),
        *_problems(rows),
        analyses.templates(analysed, templates, comparable),
        *(analyses.each_template(analysed) if each_template else ()),
        *_groups(rows),
        _effort(rows),
        *analyses.lengths(analysed),
        *analyses.failures(analysed),
        *_key_nodes(rows),
        *_offline(rows),
    ]


def _rates(rows: Sequence[Row]) -> Table:
    undecided = any(row.metrics.undecided for row in rows)
    erred = any(row.metrics.rate.excluded for row in rows)
    is_live = any(row.guard for row in rows)
    cells: list[tuple[str, ...]] = [
        (
            row.name,
            *((row.guard or "none", row.robots or "none") if is_live else ()),
            percent(row.metrics.rate.value),
            _interval(row.metrics.rate.interval, row.metrics.rate),
            percent(row.metrics.achievable.value),
            percent(row.metrics.unachievable.value),
            percent(row.metrics.given_up.value),
            str(row.metrics.rate.judged),
            *([_undecided(row.metrics.rate)] if undecided else []),
            str(row.metrics.rate.errors),
            *(_errors_failed(row.metrics.rate) if erred else ()),
        )
        for row in rows
    ]
    notes = [
        "SR: success rate; 95% intervals are clustered by template (or task) and take tasks for a sample; "
        "AC, UA: on achievable and unachievable tasks; gave up: achievable tasks that the agent called unachievable; "
        "errors are excluded from all rates"
        + (", but SR* and its interval count them as failures, as papers do." if erred else "."),
        *(
            f"{row.name}: trials that errors in a row stopped, failures in SR*: {row.metrics.rate.stopped}."
            for row in rows
            if row.metrics.rate.stopped
        ),
    ]
    gradings = {row.grading for row in rows}
    if gradings != {""}:
        notes.insert(
            0, "Grading: " + "; ".join(sorted(f"{each or 'the tasks have but one'}" for each in gradings)) + "."
        )
    notes += [
        f"{row.name}: {row.metrics.unanswered} failed without a final answer, not with a wrong one."
        for row in rows
        if row.metrics.unanswered
    ]
    if undecided:
        notes.append(
            "undecided: failed trials that might have passed, counted as not met, and SR if all are met; "
            "webarena runs explain RUN says why and what to do."
        )
    notes += [_judging(row) for row in rows if row.metrics.rate.by_judge]
    notes += [_guessing(row) for row in rows if row.metrics.rate.chance is not None]
    notes += [f"{row.name}: prompt {' or '.join(row.prompts)}." for row in rows if row.prompts]
    notes += [f"{row.name} is {mixed_words(row.mixed)}." for row in rows if row.mixed]
    notes += [f"{row.name}, unlike the paper's agents: {'; '.join(row.unlike)}." for row in rows if row.unlike]
    if (suite := _suite(rows)) and published(suite) and gradings != {"original"}:
        notes.append(f"Published rates on {suite} were graded by its original evaluators: see --grading=original.")
    more = ("undecided",) if undecided else ()
    last = ("SR*", "95% interval*") if erred else ()
    live = ("guard", "robots.txt") if is_live else ()
    columns = ("agent", *live, "SR", "95% interval", "SR_AC", "SR_UA", "gave up", "judged", *more, "errors", *last)
    return Table(title="Success rates", columns=columns, rows=tuple(cells), notes=tuple(notes))


def _errors_failed(rate: Rate) -> tuple[str, str]:
    """The rate with errors as failures, and its interval."""
    failed = rate.with_errors_failed
    return f"{percent(failed.value)} ({passed_words(failed)})", _interval(failed.interval, failed)


def _undecided(rate: Rate) -> str:
    return f"{rate.undecided} (→ {percent(rate.upper.value)})" if rate.undecided else "0"


def _judging(row: Row) -> str:
    rate, found = row.metrics.rate, row.metrics.rate.corrected
    use = f"{row.name}: a judge was asked about {rate.by_judge} of {rate.judged} trials"
    if found is None:
        why = "it was not measured (webarena judge measure), or is uninformative"
        return f"{use}; no interval includes its errors: {why}."
    interval = " to ".join(map(percent, found.interval))
    return f"{use}; if it never erred, SR would be {percent(found.value)} ({interval})."


def _guessing(row: Row) -> str:
    rate = row.metrics.rate
    some = (
        f" on the {rate.guessable} of {rate.judged} trials where one can guess" if rate.guessable < rate.judged else ""
    )
    return f"{row.name}: a blind guess gets {percent(rate.chance)}{some}."


def _suite(rows: Sequence[Row]) -> str:
    return _only({row.suite for row in rows})


def _published(rows: Sequence[Row]) -> Iterator[Table]:
    """Published figures, only next to figures by the same evaluators."""
    found = published(_suite(rows)) if {row.grading for row in rows} == {"original"} else ()
    if not found:
        return
    sources = list(dict.fromkeys(each.cited for each in found))
    notes = dict.fromkeys(each.note for each in found if each.note)
    remarks = [f"{'; '.join(each.name for each in found if each.note == note)}: {note}." for note in notes]
    yield Table(
        title=f"Published on {_suite(rows)}",
        columns=("agent", "SR", "±", "SR_AC", "SR_UA", "gave up", "source"),
        rows=tuple(
            (
                each.name,
                f"{each.rate:g}%",
                "" if each.plus_minus is None else f"{each.plus_minus:g}",
                "" if each.achievable is None else f"{each.achievable:g}%",
                "" if each.unachievable is None else f"{each.unachievable:g}%",
                "" if each.gave_up is None else f"{each.gave_up:g}%",
                f"[{sources.index(each.cited) + 1}]",
            )
            for each in found
        ),
        notes=(*(f"[{number}] {source}." for number, source in enumerate(sources, start=1)), *remarks),
    )


def _problems(rows: Sequence[Row]) -> Iterator[Table]:
    """Success rates by subject and kind of answer, next to published figures."""
    known = published_groups(_suite(rows))
    if not known:
        return
    cells: list[tuple[str, ...]] = []
    shown: dict[PublishedGroup, None] = {}
    for name in sorted({name for row in rows for name in row.metrics.by_problem}):
        subject, _, kind = name.rpartition(", ")
        for row in rows:
            if (rate := row.metrics.by_problem.get(name)) is not None:
                interval = _interval(rate.interval, rate)
                cells.append((name, row.name, percent(rate.value), interval, str(rate.judged), ""))
        for each in known:
            if each.answer == kind and subject.casefold().startswith(each.subject):
                shown[each] = None
                source = f"[{list(dict.fromkeys(one.cited for one in shown)).index(each.cited) + 1}]"
                cells.append((name, each.name, f"{each.rate:g}%", "", str(each.cases), source))
    if cells:
        sources = dict.fromkeys(each.cited for each in shown)
        remarks = dict.fromkeys(f"{each.name} on {each.subject}, {each.answer}: {each.note}." for each in shown)
        yield Table(
            title=f"{_suite(rows)} by subject and kind of answer",
            columns=("problems", "agent", "SR", "95% interval", "judged", "source"),
            rows=tuple(cells),
            notes=(
                *(f"[{number}] {source}." for number, source in enumerate(sources, start=1)),
                *remarks,
                *(f"{row.name} is {mixed_words(row.mixed)}." for row in rows if row.mixed),
            ),
        )


def _groups(rows: Sequence[Row]) -> Iterator[Table]:
    for row in rows:
        metrics = row.metrics
        groups: list[tuple[str, Mapping[str, Rate]]] = [
            ("", {"information seeking": metrics.information, "other achievable tasks": metrics.others}),
            ("category: ", metrics.by_category),
            ("subject: ", metrics.by_subject),
            ("kind of answer: ", metrics.by_answer),
            ("site: ", metrics.by_site),
        ]
        guessed = any(rate.chance is not None for _, rates in groups for rate in rates.values())
        yield Table(
            title=f"{row.name} by kind of task",
            columns=("tasks", "SR", *(["chance"] if guessed else []), "95% interval", "passed", "judged", "errors"),
            rows=tuple(
                (
                    f"{prefix}{name}",
                    percent(rate.value),
                    *([percent(rate.chance if rate.guessable == rate.judged else None)] if guessed else []),
                    _interval(rate.interval, rate),
                    passed_words(rate).partition("/")[0],
                    str(rate.judged),
                    str(rate.errors),
                )
                for prefix, rates in groups
                for name, rate in rates.items()
                if rate.judged or rate.errors
            ),
            notes=(f"{row.name} is {mixed_words(row.mixed)}.",) if row.mixed else (),
        )


def _effort(rows: Sequence[Row]) -> Table:
    return Table(
        title="Effort per trial",
        columns=("agent", "steps", "if passed", "seconds", "if passed", "errors by cause"),
        rows=tuple(
            (
                row.name,
                _number(row.metrics.steps),
                _number(row.metrics.steps_passed),
                _number(row.metrics.seconds),
                _number(row.metrics.seconds_passed),
                ", ".join(f"{cause} {count}" for cause, count in row.metrics.errors.items()) or "none",
            )
            for row in rows
        ),
    )


def _key_nodes(rows: Sequence[Row]) -> Iterator[Table]:
    found = [Scored(row.name, row.key_nodes) for row in rows if row.key_nodes is not None]
    for title, columns, cells, notes in key_node_tables(found, _suite(rows)):
        yield Table(title=title, columns=columns, rows=cells, notes=notes)


def _offline(rows: Sequence[Row]) -> Iterator[Table]:
    """Agreement of trials with a reference, as data sets without sites measure it, next to the trials' results."""
    cells = tuple(
        (
            row.name,
            *map(percent, (found.element, found.step, found.task)),
            *map(percent, (row.key_nodes.completion, row.key_nodes.success) if row.key_nodes else (None, None)),
            *map(percent, (row.metrics.rate.value, found.same_verdict)),
            str(found.trials),
        )
        for row in rows
        if (found := row.reference) is not None
    )
    if cells:
        yield Table(
            title="Offline (steps of a reference) against online",
            columns=("agent", "element", "step", "all steps", "CR", "SR(0)", "SR", "alike", "trials"),
            rows=cells,
            notes=(
                "Offline: shares of the steps of a solution (replayed by the oracle in one of these runs) that trials "
                "took, too, in order: element: on the same element or address; step: and the same done to it; all "
                "steps: trials that took all of them. Online: key nodes, success rate. alike: trials that took all "
                "steps and passed, or neither. Mind2Web sets agents back onto the reference after each step; here they "
                "go on from where they are, so these shares are the lower ones.",
            ),
        )


def _interval(interval: tuple[float, float], rate: Rate) -> str:
    return f"{100 * interval[0]:.1f}–{100 * interval[1]:.1f}" if rate.judged else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
