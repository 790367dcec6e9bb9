"""``--resume``: what it restores from the run, what it rejects, and what ``--allow-mixed`` permits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results import RunDir
from pytest_webarena.results.records import JudgeRecord
from tests.cases import each_case
from tests.rewritten import forget_trial, rewrite

MakeTasks = Callable[..., None]

MINE = """
import helper

class Mine:
    def act(self, observation):
        return helper.say()
"""


def keys(pytester: pytest.Pytester, run: str = "run") -> set[tuple[str, str, int]]:
    return {(record.key.task, record.key.agent, record.key.trial) for record in RunDir(pytester.path / run).records()}


def forget(pytester: pytest.Pytester, words: str) -> None:
    """Delete the trial's record, as if it had not started."""
    (folder,) = (pytester.path / "run" / "trials").glob(f"{words}*")
    forget_trial(folder)


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_resume_restores_options_of_the_run(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "b", "other")
    make_tasks("c", name="more")
    make_tasks("stranger", name="outside")
    options = (
        *("--agent=null", "--agent=na", "--trials=2", "--max-steps=7", "--stop-rule=upstream", "-k", "not other"),
        "--check-timeout=50",
    )
    partial_run = canned.runpytest("tasks/demo.yaml", "tasks/more.yaml", *options, "--run-dir=run", *workers)
    partial_run.assert_outcomes(passed=12)
    before = keys(canned)
    forget(canned, "b.na.2")
    canned.runpytest("--resume=run", *workers).assert_outcomes(passed=1)
    assert keys(canned) == before
    facts = json.loads((canned.path / "run" / "resumed.json").read_text())
    assert [
        (each["agents"], each["trials"], each["limits"]["stop_rule"], each["limits"]["steps"]) for each in facts
    ] == [(["null", "na"], 2, "upstream", 7)]
    assert [each["asked"]["options"]["--check-timeout"] for each in facts] == [50]


def test_resume_keeps_workers_and_concurrency_unless_they_are_given(
    canned: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("a", "b", "c")

    def resumed(*options: str) -> tuple[int, int, dict[str, Any]]:
        forget(canned, "b.oracle.1")
        canned.runpytest("--resume=run", *options).assert_outcomes(passed=1)
        facts = json.loads((canned.path / "run" / "resumed.json").read_text())[-1]
        return facts["workers"], facts["wide"], facts["pace"]

    canned.runpytest("tasks", "--run-dir=run", "-n2", "--dist=loadfile").assert_outcomes(passed=3)
    assert resumed() == (2, 1, {"--dist": "loadfile"})
    assert resumed("-n0", "--concurrency=2") == (1, 2, {"--concurrency": 2})

    shutil.rmtree(canned.path / "run")
    wide = ("--concurrency=3", "--replicas=2", "--record=failures")
    canned.runpytest("tasks", "--run-dir=run", *wide).assert_outcomes(passed=3)
    assert resumed("--replicas=1") == (1, 3, {"--concurrency": 3, "--replicas": 1, "--record": "failures"})


def test_resume_restores_selection_of_the_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("alpha", "beta", "gamma")
    chosen = ("--select=id=alpha", "--deselect=tasks/demo.yaml::beta[chromium]", "-m", "webarena")
    canned.runpytest("tasks", *chosen, "--run-dir=run").assert_outcomes(passed=1)
    forget(canned, "alpha.oracle.1")
    canned.runpytest("--resume=run").assert_outcomes(passed=1)
    assert keys(canned) == {("alpha", "oracle", 1)}


def test_resume_works_from_another_directory(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    canned.makeini("[pytest]\n")
    make_tasks("alpha", "beta")
    canned.runpytest("tasks", "--run-dir=run", "-k", "alpha").assert_outcomes(passed=1)
    forget(canned, "alpha.oracle.1")
    below = canned.mkdir("below")
    monkeypatch.chdir(below)
    canned.runpytest("--resume", "../run").assert_outcomes(passed=1)
    assert keys(canned) == {("alpha", "oracle", 1)}


def test_resume_from_another_root_directory_names_that_of_the_run(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    canned.makeini("[pytest]\n")
    make_tasks("alpha", "beta")
    canned.runpytest("tasks", "--run-dir=run", "-k", "alpha").assert_outcomes(passed=1)
    forget(canned, "alpha.oracle.1")
    monkeypatch.chdir(tmp_path)
    result = canned.runpytest(f"--resume={canned.path / 'run'}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"the run's root directory was {canned.path}; resume it there" in result.stderr.str()


@pytest.mark.parametrize(
    ("given", "reach", "other"),
    [
        (("--preset=webarena-paper",), ["*"], "--preset=webarena-upstream"),
        (("--reachable-sites=task",), [], "--reachable-sites=environment"),
        (("--reachable-sites=wikipedia,homepage",), ["wikipedia", "homepage"], "--reachable-sites=homepage"),
    ],
)
def test_resume_restores_preset_and_reachable_sites(
    canned: pytest.Pytester, make_tasks: MakeTasks, given: tuple[str, ...], reach: list[str], other: str
) -> None:
    make_tasks("alpha", "beta")
    canned.runpytest("tasks", *given, "--run-dir=run").assert_outcomes(passed=2)
    forget(canned, "alpha.oracle.1")
    result = canned.runpytest("--resume=run", other)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --resume: expected the run's own {other.partition('=')[0]}, *, found *"])
    canned.runpytest("--resume=run").assert_outcomes(passed=1)
    first, (again,) = (json.loads((canned.path / "run" / name).read_text()) for name in ("run.json", "resumed.json"))
    assert sorted(again["reach"]) == sorted(first["reach"]) == sorted(reach)
    for fact in ("preset", "overrides", "limits", "grading"):
        assert again[fact] == first[fact]


def test_resume_rejects_changed_judge_prompt(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """The prompt's name is the same; the content of its file has changed."""
    make_tasks("alpha", "beta")
    (canned.path / "own.j2").write_text("--- user\n{{ answer }}")
    judge = ("--judge=m", "--judge-prompt=own.j2", "--judge-url=http://127.0.0.1:1/v1", "--judge-key-env=none")
    canned.runpytest("tasks", *judge, "--run-dir=run").assert_outcomes(passed=2)
    prompt = json.loads((canned.path / "run" / "run.json").read_text())["judge"]["prompt"]
    (file,) = (canned.path / "run" / "trials").glob("beta*/trial.json")
    judge_record = asdict(JudgeRecord(model="m", prompt=f"{prompt} + formula@0", temperature=0.0, questions=1))
    rewrite(file, judge=judge_record)
    forget(canned, "alpha")
    (canned.path / "own.j2").write_text("--- user\nWell, {{ answer }}")
    result = canned.runpytest("--resume=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --resume: expected the judge's prompt formula as the run has it, digest 0*"])
    rewrite(file, judge=judge_record | {"prompt": prompt})
    result = canned.runpytest("--resume=run")
    result.stderr.fnmatch_lines(["ERROR: --resume: expected the judge's prompt own as the run has it, digest *"])
    canned.runpytest("--resume=run", "--allow-mixed").assert_outcomes(passed=1)


@pytest.fixture
def partial_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> pytest.Pytester:
    """A run of some tasks by two agents with non-default settings."""
    make_tasks("a", "b")
    make_tasks("stranger", name="outside")
    options = ("--agent=null", "--agent=na", "--trials=2", "--stop-rule=upstream", "-k", "a or b", "--run-dir=run")
    canned.runpytest("tasks/demo.yaml", *options).assert_outcomes(passed=8)
    return canned


@each_case(
    ("arguments", "difference"),
    [
        (("--agent=null",), "--agent, null, na, found null"),
        (("--agent=oracle",), "--agent, null, na, found oracle"),
        (("--trials=3",), "--trials, 2, found 3"),
        (("--stop-rule=paper",), "--stop-rule, upstream, found paper"),
        (("--max-steps=30",), "--max-steps, none, found 30"),
        (("--sites=embedded-docker",), "--sites, embedded, found embedded-docker"),
        (("--grading=original",), "--grading, repaired, found original"),
        (("--answer-format=verified",), "--answer-format, auto, found verified"),
        (("--judge=some-model",), "--judge, none, found some-model"),
        (("--audit",), "--audit, none, found True"),
        (("--browser=firefox",), "--browser, chromium, found firefox"),
        (("-k", "b"), "-k, a or b, found b"),
        (("tasks/outside.yaml",), "tests of the run's own, tasks/demo.yaml, found tasks/outside.yaml"),
        (("tasks",), "tests of the run's own, tasks/demo.yaml, found tasks"),
        (("webarena",), "tests of the run's own, tasks/demo.yaml, found webarena"),
        (("--shard=2/2",), None),
    ],
)
def test_resume_rejects_contradicting_option_and_names_both_values(
    partial_run: pytest.Pytester, arguments: tuple[str, ...], difference: str | None
) -> None:
    before = keys(partial_run)
    result = partial_run.runpytest("--resume=run", *arguments)
    if difference is None:  # a subset of the run
        assert result.ret == 0
    else:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(
            [f"*--resume: expected {'' if difference.startswith('tests') else '*own '}{difference}; leave it*"]
        )
    assert keys(partial_run) == before


def test_resume_of_last_failed_run_uses_its_plan(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("alpha", "wrong")
    canned.runpytest("tasks")
    canned.runpytest("tasks", "--lf", "--run-dir=run").assert_outcomes(failed=1)
    forget(canned, "wrong")
    canned.runpytest("--resume=run").assert_outcomes(failed=1)
    canned.runpytest("--resume=run").assert_outcomes()
    assert keys(canned) == {("wrong", "oracle", 1)}


def test_resume_of_last_failed_run_without_plan_needs_named_tests(
    canned: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("alpha", "wrong")
    canned.runpytest("tasks")
    canned.runpytest("tasks", "--lf", "--run-dir=run").assert_outcomes(failed=1)
    (canned.path / "run" / "plan.json").unlink()
    result = canned.runpytest("--resume=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--resume: expected test names, because the run used --lf*"])
    canned.runpytest("--resume=run", "tasks/demo.yaml::wrong").assert_outcomes()
    assert keys(canned) == {("wrong", "oracle", 1)}


@pytest.fixture
def interrupted(canned: pytest.Pytester, make_tasks: MakeTasks) -> pytest.Pytester:
    """A run with two missing trials."""
    make_tasks("alpha", "beta")
    canned.runpytest("tasks", "--run-dir=run").assert_outcomes(passed=2)
    return canned


@each_case(
    ("arguments", "run"),
    [
        (("tasks/demo.yaml",), 2),
        (("tasks/demo.yaml::alpha",), 1),
        (("tasks", "-k", "beta"), 1),
        (("--select=id=alpha",), 1),
        (("tasks", "--agent=oracle", "--trials=1", "--grading=repaired", "--sites=embedded"), 2),
        (("--env-retries=4", "--max-cost=3", "--lease-timeout=5", "--check-timeout=9"), 2),
    ],
)
def test_resume_accepts_same_or_narrower_selection(
    interrupted: pytest.Pytester, arguments: tuple[str, ...], run: int
) -> None:
    for folder in (interrupted.path / "run" / "trials").iterdir():
        forget_trial(folder)
    interrupted.runpytest("--resume=run", *arguments).assert_outcomes(
        passed=run, deselected=2 - run if "::" not in str(arguments) else 0
    )


def test_resume_rejects_changed_agent_code_unless_mixed_is_allowed(
    canned: pytest.Pytester, make_tasks: MakeTasks, capsys: pytest.CaptureFixture[str]
) -> None:
    make_tasks("alpha", "beta")
    canned.makepyfile(mine=MINE, helper="def say():\n    return 'stop []'\n")
    canned.syspathinsert(canned.path)
    canned.runpytest("tasks", "--agent=mine:Mine", "--run-dir=run").assert_outcomes(passed=2)
    forget(canned, "alpha.")
    (canned.path / "helper.py").write_text("def say():\n    return 'stop [mended]'\n")
    result = canned.runpytest("--resume=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*expected the agent mine:Mine as the run has it, digest *, found digest *; put it back*"]
    )
    assert keys(canned) == {("beta", "mine-Mine", 1)}
    forced = canned.runpytest("--resume=run", "--allow-mixed", "-k", "alpha")
    forced.assert_outcomes(passed=1, deselected=1)
    forced.stdout.fnmatch_lines(
        ["mine-Mine: 2/2 passed*", "  mixed *no one rate: its trials differ,", "*digest of the agent * / *"]
    )
    capsys.readouterr()
    assert main(["runs", "merge", str(canned.path / "run"), "-o", str(canned.path / "out")]) == 2
    assert "mine-Mine: digest of the agent: " in capsys.readouterr().err


def test_mixed_settings_are_reported_next_to_the_rate(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("alpha", "beta")
    canned.runpytest("tasks", "--run-dir=run", "-k", "alpha").assert_outcomes(passed=1)
    result = canned.runpytest("tasks", "--resume=run", "--allow-mixed", "-k", "beta", "--stop-rule=upstream")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(
        ["oracle: 2/2 passed*", "  mixed *no one rate: its trials differ, --stop-rule paper / upstream"]
    )


def test_resume_rejects_unreadable_records_before_first_trial(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b")
    canned.runpytest("tasks", "--run-dir=run")
    (file,) = (canned.path / "run" / "trials").glob("a.*/trial.json")
    file.write_text("{")
    result = canned.runpytest("--resume=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected a run whose records can be read*", f"*{file}*"])
    assert file.read_text() == "{"
    shutil.rmtree(file.parent)
    removed = canned.runpytest("--resume=run")
    assert removed.ret == pytest.ExitCode.USAGE_ERROR
    removed.stderr.fnmatch_lines([f"*{file}: expected the record that the trial had, found it removed*"])
    accept = ["runs", "verify", str(canned.path / "run"), "--accept", file.parent.name, "--because", "a test"]
    assert main(accept) == 0
    canned.runpytest("--resume=run").assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize(("options", "code"), [((), 1), (("--min-pass-rate=0.1",), 11)])
def test_run_fails_when_records_become_unreadable(
    canned: pytest.Pytester, make_tasks: MakeTasks, options: tuple[str, ...], code: int
) -> None:
    make_tasks("a", "b")
    (canned.path / "conftest.py").write_text(
        (canned.path / "conftest.py").read_text()
        + "\n\ndef pytest_sessionfinish(session):\n"
        + "    for file in session.config.rootpath.glob('run/trials/a.*/trial.json'):\n        file.write_text('')\n"
    )
    result = canned.runpytest("tasks", "--run-dir=run", *options)
    assert result.ret == code
    result.stdout.fnmatch_lines(
        ["oracle: 1/1 passed*", "unreadable *1 trial, in none of the figures:", "*trial.json: *"]
    )


def test_rescore_names_unreadable_records(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b")
    canned.runpytest("tasks", "--run-dir=run")
    (file,) = (canned.path / "run" / "trials").glob("a.*/trial.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema_version": 99}))
    result = canned.runpytest("--rescore=run")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["error (harness):", "*trial.json:", "expected the record of a trial*"])
    result.stdout.fnmatch_lines(["unreadable *1 trial, in none of the figures:"])


def test_rescore_counts_unreadable_record_as_lost(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("alpha", "beta", "gamma")
    canned.runpytest("tasks", "--run-dir=run")
    next((canned.path / "run" / "trials").glob("beta*/trial.json")).write_text("{")
    result = canned.runpytest("--rescore=run", "--min-pass-rate=0.5", "--max-errors=5")
    assert result.ret == 11
    result.stdout.fnmatch_lines(
        [
            "trials         3 planned, 3 run (2 judged, 1 lost)",
            "gate: 1 trial has a record or evidence that was changed, removed or can't be*",
        ]
    )


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_earlier_failure_fails_the_resumed_run(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "wrong", "b")
    assert canned.runpytest("--run-dir=run").ret == 1
    forget(canned, "b.")
    result = canned.runpytest("--resume=run", *workers)
    assert result.ret == 1  # one passed just now, and one of the run has failed
    result.stdout.fnmatch_lines(["left out       2 trials finished before (--resume), 1 of them without success"])
    assert canned.runpytest("--resume=run", *workers).ret == 1  # nothing was left to run
    assert canned.runpytest("--resume=run", "--min-pass-rate=0.5", *workers).ret == 0
    assert canned.runpytest("--resume=run", "--min-pass-rate=0.9", *workers).ret == 10


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_earlier_xfail_does_not_fail_the_resumed_run(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "wrong")
    with (canned.path / "conftest.py").open("a") as file:
        file.write("\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n")
        file.write("        if 'wrong' in item.name:\n            item.add_marker(pytest.mark.xfail)\n")
    assert canned.runpytest("--run-dir=run").ret == 0
    assert canned.runpytest("--resume=run", *workers).ret == 0


def test_resume_latest_uses_newest_run(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("right", "wrong")
    canned.runpytest("-k", "right").assert_outcomes(passed=1)
    result = canned.runpytest("--resume=latest")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 trial finished before (--resume)*"])


def test_resume_latest_without_runs_is_a_usage_error(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("right")
    result = canned.runpytest("--resume=latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--resume: expected a folder webarena-runs here or above*"])


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["", "with workers"])
def test_run_killed_before_first_trial_can_be_resumed(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: list[str]
) -> None:
    make_tasks("a", "wrong")
    whole = (canned.path / "conftest.py").read_text()
    canned.makeconftest(whole.replace("return CannedRuntime", "os._exit(9), CannedRuntime"))
    canned.runpytest_subprocess(*workers, "--agent=oracle", "--agent=null", "--trials=2", "--run-dir=run")
    assert not (canned.path / "run" / "trials").exists()
    canned.makeconftest(whole)
    canned.runpytest("--resume=run").assert_outcomes(passed=4, failed=4)
    assert {(agent, trial) for _, agent, trial in keys(canned)} == {
        (agent, trial) for agent in ("oracle", "null") for trial in (1, 2)
    }


@pytest.mark.parametrize("leftovers", [[], ["plan.json"]])
def test_resume_of_directory_without_run_suggests_run_dir(
    canned: pytest.Pytester, make_tasks: MakeTasks, leftovers: list[str]
) -> None:
    make_tasks("a")
    (canned.path / "run").mkdir()
    for name in leftovers:
        (canned.path / "run" / name).write_text("{}")
    result = canned.runpytest("--resume=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    place = canned.path / "run"
    result.stderr.fnmatch_lines(
        [f"*--resume: expected a run in {place}, found neither *; --run-dir={place} starts a run*"]
    )
