"""Runs of pytest whose trials end in events: retries, ``--resume``, reruns, merges, stops, gates, dead processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from tests.unit.trials.owner_events import CASES

from .figures import FEW, OF_ANY_RUN, PRINTED, REPORTS, Run, counted, explained, flat, verdict, wrong_figures
from .project import DIES, FAILS, LOSES_WORKER, PASSES, STEADY, TEMPTED, Fate, Output, Project, Trial, project
from .rules import Ending, expected, retried

Case = tuple[str, list[str]]
"""Name of a case, and what is wrong."""
_OWN = frozenset({"budget", "judge_refuses", "judge_unreadable", "judge_fails", "judge_rejects", "forged_verdict"})
"""Events that have runs of their own: they stop a run, or make its rates differ by their judge."""
_SAMPLE = frozenset({
    "before_agent", "site", "unread_site", "renderer", "shared_browser", "model", "declared", "agent", "judge",
    "judge_access", "unreported_usage", "too_large", "disk", "harness",
})  # fmt: skip
"""Events whose records differ in what reports and runs distinguish."""
_PLAIN = [f"plain-{number}" for number in range(8)]
NO_STOP = "--max-consecutive-errors=0"
ENDED, TOO_LOW, TOO_MANY_ERRORS, STOPPED, WORSE, UNSETTLED = 1, 10, 11, 13, 14, 15
"""Documented exit codes."""


def wrong_endings(
    own: Project, run: str, right: Mapping[Trial, Ending], *, later: Collection[Trial] = ()
) -> Iterator[str]:
    """Which trials of a run did not end as they must. A ``later`` attempt counts only of those that are named."""
    found = own.records(run)
    for trial, ending in right.items():
        record = found.get(trial)
        shown = "not run" if record is None else "undecided" if record.undecided else record.outcome
        if shown != ("not run" if ending in ("stopped", "left out") else ending):
            yield f"{trial[1]} of {trial[0]} is {shown} instead of {ending}"
        elif record is not None and ending != "error" and (record.attempt > 1) != (trial in later):
            yield f"attempt {record.attempt} of {trial[1]} counts"
        elif record is not None and record.score != (None if ending == "error" else float(ending == "passed")):
            yield f"the score of {trial[1]} is {record.score}"


def halves() -> tuple[dict[Trial, Fate], dict[Trial, Ending]]:
    """Fates and endings of the plain tasks, of which each agent passes half."""
    fates = {(agent, task, 1): FAILS for agent in (STEADY, TEMPTED) for task in _PLAIN[::2]}
    endings: dict[Trial, Ending] = {
        (agent, task, 1): "failed" if (agent, task, 1) in fates else "passed"
        for agent in (STEADY, TEMPTED)
        for task in _PLAIN
    }
    return fates, endings


def whole_run(*, every_event: bool) -> Iterator[Case]:
    """A run of events with a retry; then gates, ``--resume``, and a merge with the resumed run."""
    events = {event for event, _ in CASES} - _OWN if every_event else _SAMPLE
    names = {f"{event}-{result or 'known'}": (event, result) for event, result in CASES if event in events}
    with project([*names, *_PLAIN]) as own:
        fates, endings = halves()
        for name, (event, result) in names.items():
            fates[TEMPTED, name, 1] = Fate(event=event, result=result)
            endings |= {(TEMPTED, name, 1): retried(event, result), (STEADY, name, 1): "passed"}
        output = own.pytest("--run-dir=run", NO_STOP, *REPORTS, fates=fates)
        first = Run(project=own, name="run", output=output, right=counted(endings))
        errors = {(TEMPTED, name, 1) for name, case in names.items() if expected(*case) == "error"}
        later = {trial for trial in errors if endings[trial] != "error"}
        yield "retries", [*wrong_endings(own, "run", endings, later=later), *_wrong_code(output, ENDED)]
        yield "figures", [*wrong_figures(first), *wrong_figures(first, {"explain": explained})]
        yield "gates", list(wrong_gates(own, "run", endings))
        shutil.copytree(own.path / "run", own.path / "first")

        output = own.pytest("--resume=run", NO_STOP)
        again = {trial for trial, ending in endings.items() if ending == "error"}
        wrong = [f"{trial[1]} of {trial[0]} runs again" for trial in set(own.begun) - again]
        wrong += [f"{trial[1]} of {trial[0]} does not run again" for trial in again - set(own.begun)]
        after: dict[Trial, Ending] = {trial: "passed" if trial in again else end for trial, end in endings.items()}
        # the failures before --resume are failures of the run
        wrong += [*wrong_endings(own, "run", after, later=errors), *_wrong_code(output, ENDED)]
        second = Run(project=own, name="run", output=output, right=counted(after))
        yield "resume", [*wrong, *wrong_figures(second, FEW)]

        output = own.webarena("runs", "merge", "run", "first", "--output=merged", "--allow-mixed")
        merged = Run(project=own, name="merged", output=second.output, right=counted(after))
        wrong = [*_wrong_code(output, 0), *wrong_endings(own, "merged", after, later=errors)]
        yield "merge of a run and its resumed copy", [*wrong, *wrong_figures(merged, FEW)]


def judged_run() -> Iterator[Case]:
    """A run in which each trial has a judge, and several gradings."""
    names = {
        f"{event}-{result or 'known'}": (event, result)
        for event, result in CASES
        if event in _OWN and event != "budget"
    }
    with project([*names]) as own:
        fates = {
            (agent, name, 1): Fate(event=event, result=result if agent == TEMPTED else "recurs")
            for name, (event, result) in names.items()
            for agent in (STEADY, TEMPTED)
        }
        endings: dict[Trial, Ending] = {
            trial: expected(fate.event, None if fate.event == "forged_verdict" else fate.result)
            for trial, fate in fates.items()
        }
        output = own.pytest("--run-dir=run", NO_STOP, *REPORTS, fates=fates)
        run = Run(project=own, name="run", output=output, right=counted(endings))
        yield "outcomes with a judge", list(wrong_endings(own, "run", endings))
        yield "figures with a judge", [*wrong_figures(run, OF_ANY_RUN), *_wrong_gradings(run)]


def _wrong_gradings(run: Run) -> Iterator[str]:
    text = run.command("compare", "gradings", "run")
    right = run.right[TEMPTED]
    for grading in ("repaired", "original"):
        wanted = f"{grading} {right.rate} {right.passed}/{right.judged} passed"
        wanted += f", {right.undecided} undecided" if right.undecided else ""
        if wanted not in text:
            yield f"compare gradings: expected {wanted!r}"
        rows = run.project.webarena(
            "compare", "tables", "run", f"--grading={grading}", "--format=csv"
        ).text.splitlines()
        own = next(line.split(",") for line in rows if f",{TEMPTED},{grading},all," in line)
        shown = (own[4:7], own[11])
        if shown != ([str(right.passed), str(right.judged), str(right.error)], str(right.undecided)):
            yield f"tables by {grading}: {shown}"


def wrong_gates(own: Project, run: str, endings: Mapping[Trial, Ending]) -> Iterator[str]:
    """Which thresholds do not give the documented exit code for the tempted agent, the worse one of the run."""
    right = counted(endings)[TEMPTED]
    low, high = right.passed / right.judged, (right.passed + right.undecided) / right.judged
    allowed = f"--max-errors={right.error}"
    wanted = [
        ((f"--min-pass-rate={low - 0.001:.4f}", allowed), 0),
        ((f"--min-pass-rate={(low + high) / 2:.4f}", allowed), UNSETTLED if right.undecided else TOO_LOW),
        ((f"--min-pass-rate={high + 0.001:.4f}", allowed), TOO_LOW),
    ]
    if right.error:
        wanted += [((f"--min-pass-rate={low - 0.001:.4f}",), TOO_MANY_ERRORS)]
        wanted += [((f"--max-errors={right.error - 1 or 0.001}",), TOO_MANY_ERRORS)]
        share = right.error / right.trials
        wanted += [((f"--max-errors={share + 0.01:.4f}",), 0), ((f"--max-errors={share - 0.01:.4f}",), TOO_MANY_ERRORS)]
    # an end of the interval instead of the rate
    wanted += [((f"--min-pass-rate={low - 0.001:.4f}", "--min-pass-rate-end=low", allowed), UNSETTLED)]
    wanted += [((f"--min-pass-rate={low + 0.001:.4f}", "--min-pass-rate-end=high", allowed), 0)]
    for options, code in wanted:
        found = own.webarena("runs", "gate", run, *options)
        if found.code != code:
            yield f"{' '.join(options)} exits with {found.code} instead of {code}"


def _wrong_code(output: Output, code: int) -> Iterator[str]:
    if output.code != code:
        yield f"the exit code is {output.code} instead of {code}"


def reruns() -> Iterator[Case]:
    """Trials that run again in one invocation: the first verdict counts, and an error has none."""
    table: Mapping[str, tuple[tuple[Fate, ...], Ending, int]] = {
        # fates in order, then the ending and the attempt that count; one more run passes
        "fails": ((FAILS,), "failed", 1), "undecided": ((UNKNOWN,), "undecided", 1), "own": ((CAUSED,), "failed", 1),
        "error": ((BROKEN,), "passed", 2), "undecided-fails": ((UNKNOWN, FAILS), "undecided", 1),
        "fails-undecided": ((FAILS, DECLARED), "failed", 1), "error-fails": ((BROKEN, FAILS), "failed", 2),
    }  # fmt: skip
    endings: dict[Trial, Ending] = {(STEADY, task, 1): "passed" for task in table}
    endings |= {(TEMPTED, task, 1): ending for task, (_, ending, _) in table.items()}
    with project([*table]) as own:
        fates = {(TEMPTED, task, 1): order for task, (order, *_) in table.items()}
        output = own.pytest("--run-dir=run", NO_STOP, "--reruns=2", fates=fates)
        run = Run(project=own, name="run", output=output, right=counted(endings))
        later = {(TEMPTED, task, 1) for task, (*_, attempt) in table.items() if attempt > 1}
        wrong = [*wrong_endings(own, "run", endings, later=later), *wrong_figures(run, FEW)]
        # a verdict that stands fails the test each time
        if len(own.begun) != (begun := len(table) + sum(3 - (ending == "passed") for _, ending, _ in table.values())):
            wrong.append(f"{len(own.begun)} trials begin instead of {begun}")
        if "6 failed and passed later" not in flat(output.text):
            wrong.append("the terminal does not say that six failed trials passed when they ran again")
        yield "reruns", wrong


def dead_processes() -> Iterator[Case]:
    """Processes that end while an agent runs: a record is written for their trials, and only what no agent could have
    done buys another attempt."""
    fates: dict[Trial, Fate] = {
        (TEMPTED, "killed", 1): DIES, (TEMPTED, "lost", 1): LOSES_WORKER, (TEMPTED, "fails", 1): FAILS,
    }  # fmt: skip
    endings: dict[Trial, Ending] = {
        (TEMPTED, "killed", 1): "undecided", (TEMPTED, "lost", 1): "error", (TEMPTED, "fails", 1): "failed",
        **{(STEADY, task, 1): "passed" for task in ("killed", "lost", "fails")},
    }  # fmt: skip
    with project(["killed", "lost", "fails"]) as own:
        output = own.pytest("--run-dir=run", NO_STOP, fates=fates)
        run = Run(project=own, name="run", output=output, right=counted(endings))
        yield "dead processes", [*wrong_endings(own, "run", endings), *wrong_figures(run, OF_ANY_RUN)]
        output = own.pytest("--resume=run", NO_STOP)
        again = {(TEMPTED, "lost", 1)}
        wrong = [f"{[*own.begun]} run again"] if set(own.begun) != again else []
        endings |= dict.fromkeys(again, "passed")
        yield "dead processes and --resume", [*wrong, *wrong_endings(own, "run", endings, later=again)]


DECLARED, UNKNOWN = Fate(event="declared"), Fate(event="renderer", result="works")
CAUSED, BROKEN = Fate(event="renderer", result="recurs"), Fate(event="disk")
SERIES: Sequence[tuple[str, Sequence[Fate], int]] = (
    ("undecided errors", [PASSES, FAILS, DECLARED, DECLARED, DECLARED, PASSES, PASSES, PASSES], 5),
    ("undecided errors of a browser", [UNKNOWN] * 4 + [PASSES] * 4, 3),
    ("errors", [PASSES, BROKEN, BROKEN, BROKEN, PASSES, PASSES, PASSES, PASSES], 4),
    ("errors that the agent causes", [CAUSED] * 6 + [PASSES, PASSES], 8),
    ("errors with a failure between", [DECLARED, DECLARED, CAUSED, DECLARED, DECLARED, FAILS, DECLARED, DECLARED], 8),
    ("errors of two causes", [DECLARED, BROKEN, DECLARED, BROKEN, DECLARED, PASSES, PASSES, PASSES], 5),
)
"""Fates of an agent's trials in order, and how many of them run if three errors in a row stop it."""


_PRINTED = "undecided errors"
"""Series whose every output is read."""


def stops() -> Iterator[Case]:
    """Runs that errors in a row stop: what the agent surely caused does not, and what is left out is no gain."""
    for name, order, begins in SERIES:
        tasks = [f"t{number}" for number in range(len(order))]
        fates = {(TEMPTED, task, 1): fate for task, fate in zip(tasks, order, strict=True)}
        fates |= {(STEADY, task, 1): FAILS for task in tasks[::4]}
        endings: dict[Trial, Ending] = {
            (STEADY, task, 1): "failed" if (STEADY, task, 1) in fates else "passed" for task in tasks
        }
        left_out: Ending = "stopped" if name == "errors" else "left out"
        for number, (task, fate) in enumerate(zip(tasks, order, strict=True)):
            plain: Ending = "failed" if fate is FAILS else "passed"
            ending = expected(fate.event, fate.result) if fate.event else plain
            endings[TEMPTED, task, 1] = ending if number < begins else left_out
        with project(tasks) as own:
            threshold = ("--min-pass-rate=0.99", "--max-errors=8")
            output = own.pytest("--run-dir=run", "--max-consecutive-errors=3", *threshold, *REPORTS, fates=fates)
            run = Run(project=own, name="run", output=output, right=counted(endings))
            wrong = [*wrong_endings(own, "run", endings), *wrong_figures(run, PRINTED if name == _PRINTED else FEW)]
            if begins < len(order):
                right = run.right[TEMPTED]
                counted_rate = f"tempted: {right.passed / (right.judged + right.stopped):.1%} passed"
                wrong += [
                    *_wrong_code(output, STOPPED),
                    *_wrong_code(own.webarena("runs", "gate", "run", *threshold), STOPPED),
                ]
                surely_below = right.passed + right.undecided < right.judged + right.stopped
                if surely_below and counted_rate not in flat(output.text):
                    wrong.append(f"the gate does not say {counted_rate!r}")
            yield f"stops after {name}", wrong


def budget() -> Iterator[Case]:
    """A spent budget leaves trials undecided; ``--resume`` runs them."""
    tasks = ["a", "b", "c", "d"]
    fates: dict[Trial, Fate] = {(TEMPTED, task, 1): Fate(event="budget") for task in tasks[2:]}
    endings: dict[Trial, Ending] = {
        (agent, task, 1): "undecided" if (agent, task, 1) in fates else "passed"
        for agent in (STEADY, TEMPTED)
        for task in tasks
    }
    with project(tasks) as own:
        output = own.pytest("--run-dir=run", "--min-pass-rate=0.6", "--max-errors=4", *REPORTS, fates=fates)
        run = Run(project=own, name="run", output=output, right=counted(endings))
        gate = own.webarena("runs", "gate", "run", "--min-pass-rate=0.6", "--max-errors=4")
        wrong = [*wrong_endings(own, "run", endings), *wrong_figures(run, FEW), *_wrong_code(gate, UNSETTLED)]
        wrong += ["the gate counts no trial as not passed"] if "tempted: 50.0% passed" not in flat(output.text) else []
        yield "a spent budget", wrong
        own.pytest("--resume=run")
        yield "a spent budget and --resume", ["other trials run again"] if set(own.begun) != set(fates) else []


def merge() -> Iterator[Case]:
    """Runs of the same trials: the later verdict counts, whatever it is, and an error is no verdict."""
    order: Mapping[str, tuple[Fate, Fate, Ending]] = {
        "worse": (PASSES, FAILS, "failed"), "better": (FAILS, PASSES, "passed"),
        "declared": (PASSES, DECLARED, "undecided"),
        "caused": (PASSES, CAUSED, "failed"), "recovers": (DECLARED, PASSES, "passed"),
        "breaks": (FAILS, BROKEN, "failed"), "mends": (BROKEN, FAILS, "failed"),
    }  # fmt: skip
    with project([*order]) as own:
        for number in (0, 1):
            fates = {(TEMPTED, task, 1): fate[number] for task, fate in order.items()}
            own.pytest(f"--run-dir=run{number}", NO_STOP, "--env-retries=0", fates=fates)
        endings: dict[Trial, Ending] = {(TEMPTED, task, 1): ending for task, (*_, ending) in order.items()}
        endings |= {(STEADY, task, 1): "passed" for task in order}
        wrong = []
        for first, second in ((0, 1), (1, 0)):
            name = f"merged{first}"
            output = own.webarena("runs", "merge", f"run{first}", f"run{second}", f"--output={name}")
            run = Run(project=own, name=name, output=output, right=counted(endings))
            wrong += [*_wrong_code(output, 0), *wrong_endings(own, name, endings), *wrong_figures(run, FEW)]
        yield "merge of two runs", wrong


def baseline() -> Iterator[Case]:
    """A gate against a run in which both agents passed: only what is known to be worse is."""
    tasks = [f"t{number:02}" for number in range(16)]
    with project(tasks) as own:
        own.pytest("--run-dir=before", NO_STOP)
        own.webarena("compare", "baseline", "save", "before", "--output=baseline.json")
        for fate, codes in ((FAILS, {WORSE}), (CAUSED, {WORSE}), (DECLARED, {UNSETTLED}), (BROKEN, {TOO_MANY_ERRORS})):
            fates = {(TEMPTED, task, 1): fate for task in tasks[4:]}
            options = ("--baseline=baseline.json", "--max-errors=4")
            output = own.pytest(f"--run-dir={fate.event or 'fails'}", NO_STOP, *options, fates=fates)
            wrong = [] if output.code in codes else [f"the exit code is {output.code} instead of {codes}"]
            ending = expected(fate.event, fate.result) if fate.event else "failed"
            endings: dict[Trial, Ending] = {(agent, task, 1): "passed" for agent in (STEADY, TEMPTED) for task in tasks}
            right = counted(endings | dict.fromkeys(fates, ending))
            compared = own.webarena("compare", "agents", fate.event or "fails", "--allow-mixed")
            wrong += verdict(right, flat(compared.text))
            yield f"a gate against a baseline, with {fate.event or 'failures'}", wrong


def shards() -> Iterator[Case]:
    """Two shards that undecided errors stop: the merged run has the stopped trials of both."""
    tasks = [f"t{number}" for number in range(10)]
    fates: dict[Trial, Fate] = {(TEMPTED, task, 1): DECLARED for task in tasks}
    with project(tasks) as own:
        for number in (1, 2):
            own.pytest(f"--shard={number}/2", f"--run-dir=s{number}", "--max-consecutive-errors=2", fates=fates)
        output = own.webarena("runs", "merge", "s1", "s2", "--output=merged")
        endings: dict[Trial, Ending] = {(STEADY, task, 1): "passed" for task in tasks}
        found = {trial[1] for name in ("s1", "s2") for trial in own.records(name) if trial[0] == TEMPTED}
        endings |= {(TEMPTED, task, 1): "undecided" if task in found else "left out" for task in tasks}
        wrong = [f"{len(found)} trials of the tempted agent run instead of 4"] if len(found) != 4 else []
        merged = Run(project=own, name="merged", output=output, right=counted(endings))
        wrong += [*_wrong_code(output, 0), *wrong_endings(own, "merged", endings)]
        gate = own.webarena("runs", "gate", "merged", "--min-pass-rate=0.1")
        yield "merge of stopped shards", [*wrong, *_wrong_code(gate, STOPPED), *wrong_figures(merged, OF_ANY_RUN)]


def settled() -> Iterator[Case]:
    """``--stop-when-settled`` counts undecided trials and errors in both directions."""
    tasks = [f"t{number:02}" for number in range(18)]
    for fate, stops_early in ((CAUSED, True), (DECLARED, False), (BROKEN, False)):
        with project(tasks) as own:
            fates = {(TEMPTED, task, 1): fate for task in tasks}
            own.pytest("--run-dir=run", NO_STOP, "--stop-when-settled", "--difference=20", fates=fates)
            early = len(own.begun) < 2 * len(tasks)
            wrong = [f"{len(own.begun)} of {2 * len(tasks)} trials run"] if early != stops_early else []
            yield f"--stop-when-settled if each trial ends in {fate.event}", wrong


CASES_OF_RUNS: Mapping[str, Callable[[], Iterator[Case]]] = {
    "whole run": partial(whole_run, every_event=False), "every event": partial(whole_run, every_event=True),
    "judged run": judged_run, "reruns": reruns, "merge": merge, "dead processes": dead_processes, "stops": stops,
    "budget": budget, "baseline": baseline, "shards": shards, "settled": settled,
}  # fmt: skip
