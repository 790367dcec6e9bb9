"""Lines of the terminal summary."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.evidence import Usage
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.model_calls import CallTotals
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import NO_JUDGE
from pytest_webarena.plugin.reporting.ended_trials import cut_off_lines, unattributed_lines
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.plugin.reporting.summary_lines import Line, shorter
from pytest_webarena.plugin.reporting.terminal import (
    budget_lines,
    grading_lines,
    judge_lines,
    left_out_lines,
    original_rates,
    rescored_lines,
    site_lines,
)
from pytest_webarena.plugin.selection import LeftOut
from pytest_webarena.results import JudgeRecord, TrialKey, TrialRecord, summarise
from pytest_webarena.results.records import MemoryUse
from pytest_webarena.sites.protocol.report import AppReport, BrokerReport, Durations
from tests.made_up import make_run, make_trial

from ....made_up import graded


def record(task: str, outcome: Any = "passed", *, agent: str = "careful", trial: int = 1, **more: Any) -> TrialRecord:
    values = {
        "score": {"passed": 1.0, "failed": 0.0}.get(outcome),
        "cause": "site" if outcome == "error" else None,
        "stop_reason": None if outcome == "error" else "answered",
        "sites": ("shop",),
        "category": "content",
        "steps": 4,
        "seconds": {"total": 2.0},
        **more,
    }
    return TrialRecord(key=TrialKey(task, agent, trial), outcome=outcome, **values)


def texts(lines: Iterable[Line]) -> list[str]:
    found = [line.text for line in lines]
    assert max(map(len, found)) <= 80
    return found


def summary(*records: TrialRecord) -> list[str]:
    return texts(summary_lines(summarise(records).values()))


def test_errors_are_excluded_from_the_rate() -> None:
    assert summary(record("a"), record("b", "failed", stop_reason="max_steps"), record("c", "error")) == [
        "careful: 1/2 passed = 50.0% (95% interval 9.5% to 90.5%), 1 error excluded",
        "  stopped      answered 1, max_steps 1",
        "  errors by    site 1, not counted in the rate",
        "               1/3 = 33.3% (95% interval 6.1% to 79.2%) with errors as failures",
        "               bounds if errors had failed / passed: 33.3% to 66.7%",
        "  per trial    4.0 steps, 2.0 s",
    ]


def test_summary_shows_the_rate_if_undecided_trials_are_met() -> None:
    """Such answers are not known to be wrong."""
    undecided = {"schema_version": 3, "judgeable": True}
    lines = summary(*(record(name, "failed", verdict=undecided) for name in "abc"), record("d"), record("e", "failed"))
    assert lines[:2] == [
        "careful: 1/5 passed = 20.0%, 80.0% if 3 undecided are met",
        "  (95% interval 3.6% to 62.4%)",
    ]
    assert [line for line in lines if "if met" in line or "judge" in line] == [
        "  undecided    3 trials; if met, the 95% interval ends at 96.4%,",
        "               decide them: pytest --rescore RUN --judge MODEL",
    ]
    assert max(map(len, lines)) <= 80


def test_summary_shows_costs_and_marks_unknown_ones() -> None:
    used = Usage(calls=12, input_tokens=34_567, output_tokens=890, cost=0.0123)
    cached = Usage(calls=12, cached_calls=12, input_tokens=1, output_tokens=1, saved=1.5)
    unknown = Usage(calls=1, input_tokens=1, output_tokens=1, cost=None)
    assert summary(record("a", usage=used, model="m"))[2:3] == [
        "  cost         $0.0123, 34,567 tokens in, 890 out, 12 calls",
    ]
    assert summary(record("a", usage=cached, model="m"))[2:4] == [
        "  cost         $0, 1 tokens in, 1 out, 12 calls, 12 of them from the cache,",
        "               $1.50 saved",
    ]
    assert summary(record("a", usage=used, model="m"), record("b", usage=unknown, model="new"))[2:4] == [
        "  cost         unknown cost, 34,568 tokens in, 891 out, 13 calls",
        "               $0.0123 known of 1 trial, no price for new (--prices)",
    ]


def test_budget_line_shows_the_costs_of_the_run() -> None:
    def line(purpose: Any, **more: Any) -> CallTotals:
        usage = Usage(calls=5, cached_calls=2, cost=0.5)
        return CallTotals(**{"purpose": purpose, "model": "m", "usage": usage, "unknown": 0, "open": 0, **more})

    plain, bounded = ModelSettings(), ModelSettings(max_cost=2.0, cache=Path("c"))
    assert texts(budget_lines([line("agent"), line("judge", unknown=1, open=2)], bounded)) == [
        "models         $1.00 spent of $2.00 (--max-cost), $0.5000 of it by judges,",
        "               1 call of unknown cost, 2 requests without a reported cost,",
        "               cache: 4 hits, 6 missed",
    ]
    assert texts(budget_lines([line("agent"), line("reward")], plain)) == [
        "models         $1.00 spent, $0.5000 of it by reward models"
    ]
    assert "1 call of unknown cost, counted as $0.7500" in " ".join(
        texts(budget_lines([line("agent", unknown=1, assumed=0.75)], bounded))
    )
    assert "$0.5000 spent and $1.50 reserved of $2.00 (--max-cost)," in " ".join(
        texts(budget_lines([line("agent", open=3, reserved=1.5)], bounded))
    )
    assert list(budget_lines([line("agent")], plain)) == list(budget_lines([], bounded)) == []


def test_summary_groups_by_site_when_there_are_several() -> None:
    sites = [f"site-number-{number}" for number in range(9)]
    lines = summary(
        *(record(site, "passed" if number else "error", sites=(site,)) for number, site in enumerate(sites))
    )
    assert lines[1:4] == [
        "  by site      site-number-0 0/0+1E, site-number-1 1/1, site-number-2 1/1,",
        "               site-number-3 1/1, site-number-4 1/1, site-number-5 1/1,",
        "               site-number-6 1/1, site-number-7 1/1, site-number-8 1/1",
    ]
    assert not any("by category" in line for line in lines)


def test_several_tries_show_reliability_of_the_agent() -> None:
    steady = [record("steady", trial=trial) for trial in (1, 2)]
    shaky = [record("shaky"), record("shaky", "failed", trial=2)]
    never = [record("never", "failed", trial=trial) for trial in (1, 2)]
    lines = summary(*steady, *shaky, *never, record("broken", "error"))
    assert "  of 2 tries   2/3 tasks solved at least once, 1 always, pass@2 66.7%," in lines
    assert "               pass^2 33.3%, 50% of the spread is chance" in lines
    assert "  flaky        shaky 1/2" in lines
    assert "pass@2 66.7% on 3 of 4 tasks" in " ".join(map(str.strip, summary(*steady, *shaky, *never, record("once"))))
    assert "               bounds if errors had failed / passed: 42.9% to 57.1%" in lines  # the error
    whole = next(line for line in lines if line.startswith("  interval"))
    assert "if these tasks are all there are, and no sample" in whole
    alone = summary(record("steady"), record("never", "failed"))
    assert not any(
        line.startswith(("  interval", "  flaky", "  of ")) for line in alone
    )  # one try gives no such figures


def test_summary_names_the_least_certain_flaky_tasks() -> None:
    lines = summary(
        *(record(f"t{n}", "passed" if trial > 1 else "failed", trial=trial) for n in range(9) for trial in (1, 2, 3))
    )
    assert "  flaky        t0 2/3, t1 2/3, t2 2/3, t3 2/3, 5 more" in lines


def test_summary_averages_partial_scores() -> None:
    lines = summary(record("a"), record("b", "failed", score=0.5))
    assert "  score        0.750 on average, parts of tasks counted" in lines
    assert not any("score" in line for line in summary(record("a"), record("b", "failed")))


def test_summary_names_slow_trials() -> None:
    records = [record(f"t{number}") for number in range(9)]
    assert "  slowest      slow 1 min 30 s, t0 2.0 s, t1 2.0 s" in summary(
        *records, record("slow", seconds={"total": 90.0})
    )
    assert not any("slowest" in line for line in summary(*records))


def test_long_agent_name_is_wrapped() -> None:
    agent = "a-very-long-name-of-an-agent-with-its-version-2.1"
    lines = summary(record("a", agent=agent), record("b", "error", agent=agent))
    assert lines[:2] == [f"{agent}: 1/1 passed = 100.0%", "  (95% interval 20.7% to 100.0%), 1 error excluded"]


def test_privileged_agent_is_marked() -> None:
    assert "  note         sees the solutions: its rate says nothing about agents" in summary(
        record("a", privileged=True)
    )


def test_run_with_only_errors_has_no_rate() -> None:
    assert summary(record("a", "error"))[0] == "careful: no trial was judged, 1 error excluded"


def test_site_lines_summarise_the_broker_report() -> None:
    app = AppReport(
        app="homepage",
        backend="process",
        leases=60,
        waits=Durations.of([0.4, 2.5, 0.5]),
        handovers=Durations.of([0.0004, 0.0005]),
        resets=Durations.of([0.02]),
        reset_reasons={"POST": 9, "db: its data differ from pristine": 2, "PUT": 1, "DELETE": 1},
        clean_hand_ons=40,
        broken=1,
        failed_starts=2,
        most_replicas=4,
    )
    report = BrokerReport(apps={"homepage": app}, problems=("it was killed and started again",))
    lines = list(site_lines(report))
    assert texts(lines) == [
        "homepage       60 leases, 3 waited 500 ms (max 2.5 s), granted in 0.5 ms,",
        "               1 reset 20 ms, 9 after POST,",
        "               2 after db: its data differ from pristine, 1 after PUT, …,",
        "               40 reused, 1 broken, 2 failed starts, 4 replicas at most",
        "sites: it was killed and started again",
    ]
    assert lines[-1].mark == "red"


@pytest.mark.parametrize(
    ("left_out", "lines"),
    [
        (LeftOut(), []),
        (LeftOut(finished=1), ["left out       1 trial finished before (--resume)"]),
        (
            LeftOut(finished=2, other_shards=30),
            [
                "left out       2 trials finished before (--resume),",
                "               30 trials of other shards (--shard)",
            ],
        ),
    ],
)
def test_left_out_lines_count_excluded_trials(left_out: LeftOut, lines: list[str]) -> None:
    assert [line.text for line in left_out_lines(left_out)] == lines


def test_crashed_attempts_that_were_retried_are_counted() -> None:
    assert not list(cut_off_lines(0))
    assert texts(cut_off_lines(1)) == ["cut off        1 attempt ended with its process, tried again"]


def test_gradings_are_compared_in_the_summary() -> None:
    records = [
        record("webarena.1", **graded(repaired=1, original=1, verified=None)),
        record("webarena.2", **graded(repaired=1, original=0, verified=1)),
        record("own"),
    ]
    assert texts(grading_lines(records, Path("runs/1"))) == [
        "gradings       repaired 2/2, original 1/2, verified 1/1 (1 not computed)",
        "               1 trial judged differently, see webarena compare gradings runs/1",
    ]
    other = record("webarena.1", agent="hasty", **graded(repaired=0, original=0))
    assert texts(grading_lines([*records, other], Path("runs/1")))[2:] == [
        "               hasty: repaired 0/1, original 0/1",
        "               1 trial judged differently, see webarena compare gradings runs/1",
    ]


def test_rate_by_the_original_evaluators_comes_first() -> None:
    """Only it is comparable with published rates."""
    records = [
        record("webarena.1", source={"suite": "webarena"}, **graded(repaired=1, original=1)),
        record("webarena.2", "failed", source={"suite": "webarena"}, **graded(repaired=0, original=1)),
    ]
    assert texts(summary_lines(summarise(records).values(), {}, original_rates(records)))[:2] == [
        "careful: original 2/2 passed = 100.0%: comparable with published rates",
        "careful: 1/2 passed = 50.0% (95% interval 9.5% to 90.5%)",
    ]
    own = [record("own", **graded(repaired=1, original=1))]
    assert original_rates(own) == {}
    counts = [record("webarena.1", source={"suite": "webarena"}, **graded(original=1, repaired=1))]
    assert original_rates(counts) == {}


def test_single_grading_has_no_comparison_line() -> None:
    assert list(grading_lines([record("a"), record("b", **graded(verified=1))], Path("runs/1"))) == []


def test_trials_with_memory_are_marked_as_dependent() -> None:
    remembering = record("a", memory=MemoryUse(scope="task", of="a"))
    assert [line for line in summary(remembering) if "remember" in line] == [
        "  note         trials remember earlier ones (memory: task),"
    ]
    assert "               the interval takes them for independent" in summary(remembering)


def judged_record(task: str, outcome: Any, **more: Any) -> TrialRecord:
    return TrialRecord(key=TrialKey(task, "a", 1), outcome=outcome, **more)


def test_summary_has_a_line_for_judges_and_missing_judges() -> None:
    judge = JudgeRecord(
        model="some-judge", prompt="teacher@0123456789ab", temperature=0.0, questions=2, cached=1,
        usage=Usage(calls=2, cached_calls=1, input_tokens=600, output_tokens=40, cost=0.25),
    )  # fmt: skip
    none = {"cause": "judge", "message": f"no verdict: {NO_JUDGE}\nundecided: …"}
    below = {"cause": "judge", "message": "no verdict: kappa 0.20 is below the bar of 0.8 (--judge-min-kappa)"}
    records = [
        judged_record("1", "passed", judge=judge),
        judged_record("2", "error", **none),
        judged_record("3", "error", **none),
        judged_record("4", "error", **below),
    ]
    text = "\n".join(line.text for line in summary_lines(summarise(records).values()))
    assert "some-judge (prompt teacher@0123456789ab)" in text
    assert "2 questions on 1 trial, 1 from the cache" in text
    assert "$0.25" in text
    assert "  not judged   2 of 4 trials: it needs a judge, and there is none:" in text
    assert "not judged 1 of 4 trials: kappa 0.20 is below the bar of 0.8 (--judge-min-kappa)" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_rescore_summary_counts_changed_outcomes() -> None:
    def earlier(outcome: str, until: float, digest: str = "d") -> dict[str, Any]:
        return {"outcome": outcome, "until": until, "task_digest": digest}

    records = [
        judged_record("1", "passed", task_digest="d", history=(earlier("failed", 50),)),
        judged_record("2", "passed", task_digest="e", history=(earlier("failed", 1), earlier("failed", 50))),
        judged_record("3", "error", task_digest="d", history=(earlier("passed", 60),)),
        judged_record("4", "failed", task_digest="d", history=(earlier("failed", 60),)),
        judged_record(
            "5", "failed", task_digest="d", history=(earlier("passed", 2),)
        ),  # rescored earlier by another run
        judged_record("6", "failed"),
    ]
    first, *rest = [line.text for line in rescored_lines(records, since=10)]
    text = " ".join([first, *rest])
    assert first.startswith("judged again   2 failed → passed, 1 passed → error")
    assert "1 with the same outcome" in text
    assert "1 trial of tasks that were edited since" in text


def test_judge_line_shows_whether_the_judge_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))
    (line,) = judge_lines(JudgeSettings(model="m"))
    assert (line.text, line.mark) == ("judge m, not measured (webarena judge measure m)", "yellow")
    assert list(judge_lines(JudgeSettings())) == []
    _, *rubrics = judge_lines(JudgeSettings(model="m"), "rubric@1 + teacher@2")
    assert " ".join(line.text for line in rubrics) == (
        "judge m on rubrics, not measured (webarena judge measure m --set=rubrics)"
    )
    assert {line.mark for line in rubrics} == {"yellow"}


def plain(lines: Iterable[Line]) -> list[str]:
    """Return lines that contain commands, which are not broken."""
    return [line.text for line in lines]


def test_trials_of_an_undecided_owner_are_named_with_the_commands_that_repeat_them(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    lost = [make_trial(run, f"t{n}", "failed", stop_reason="unattributed", message="the process died\nx") for n in "12"]
    names = [record.key.folder for record in lost]
    lines = plain(unattributed_lines([*lost, make_trial(run, "t3")], run.path))
    assert lines[0].startswith("undecided owner: 2 trials")
    assert lines[1:3] == [f"  {name}  the process died" for name in names]
    place = shorter(run.path)
    moved = " ".join(f"{place}/trials/{name}" for name in names)
    assert lines[3] == f"  to repeat them: mkdir -p set-aside && mv {moved} set-aside/"
    assert f"--accept {names[0]} --accept {names[1]}" in lines[4]
    assert lines[4].endswith(f"&& pytest --resume={place}")
    many = plain(unattributed_lines(lost * 5, run.path))
    assert len(many) == 10
    assert many[-1] == f"  and 2 more: webarena runs explain {place}"
    assert not list(unattributed_lines([make_trial(run, "t4")], run.path))
