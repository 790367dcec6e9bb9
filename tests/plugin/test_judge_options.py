"""Options and ini keys that configure the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.plugin.stash import settings_of


def judge(pytester: pytest.Pytester, *arguments: str) -> JudgeSettings:
    return settings_of(pytester.parseconfigure(*arguments)).judge


def test_default_is_no_judge(pytester: pytest.Pytester) -> None:
    settings = judge(pytester)
    assert (settings.model, settings.temperature, settings.bar, settings.cache) == ("", 0.0, 0.8, None)
    assert judge(pytester, "--judge=none").model == ""


def test_options_win_over_the_ini_file(pytester: pytest.Pytester) -> None:
    (pytester.path / "prompts").mkdir()
    (pytester.path / "prompts" / "own.j2").write_text("--- user\n{{ answer }}")
    pytester.makeini(
        "[pytest]\nwebarena_judge = kept\nwebarena_judge_prompt = prompts/own.j2\nwebarena_judge_min_kappa = 0.5\n"
        "webarena_judge_cache = verdicts\nwebarena_judge_temperature = none\nwebarena_judge_key_env = none\n"
        "webarena_judge_url = http://127.0.0.1:1/v1\n"
    )
    settings = judge(pytester)
    assert (settings.model, settings.bar, settings.temperature) == ("kept", 0.5, None)
    assert settings.identity().prompt.startswith("own@")
    assert settings.cache == pytester.path / "verdicts"
    assert (settings.endpoint.url, settings.endpoint.key_env) == ("http://127.0.0.1:1/v1", None)
    given = judge(pytester, "--judge=other", "--judge-prompt=teacher", "--judge-temperature=0.3", "--judge-min-kappa=0")
    assert (given.model, given.prompt, given.temperature, given.bar) == ("other", "teacher", 0.3, 0.0)
    assert judge(pytester, "--judge=none").model == ""
    assert judge(pytester, "--judge-cache=there").cache == Path.cwd() / "there"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--judge-min-kappa=2", "--judge-min-kappa: expected a kappa from 0 to 1"),
        ("--judge-min-kappa=high", "--judge-min-kappa: expected a kappa from 0 to 1"),
        ("--judge-temperature=warm", "--judge-temperature: expected a number from 0 or none"),
    ],
)
def test_invalid_judge_option_is_a_usage_error(pytester: pytest.Pytester, option: str, message: str) -> None:
    with pytest.raises(pytest.UsageError, match=message):
        judge(pytester, "--judge=m", option)


def test_judge_without_api_key_stops_run_before_first_trial(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = pytester.runpytest_inprocess("--judge=m", "--agent=null")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --judge: model endpoint: expected an API key*--judge-key-env=none"])
    assert pytester.runpytest_inprocess("--judge=m", "--agent=null", "--co").ret != pytest.ExitCode.USAGE_ERROR


UNDECIDED = """
defaults: {sites: [homepage]}
tasks:
  - {id: fuzzy, intent: What do they say?, checks: [{all: [{string_match: {fuzzy_match: [It is fine]}}]}]}
  - {id: plain, intent: What is it?, checks: [{string_match: {must_include: [tea]}}]}
  - {id: points, intent: Why?, checks: [{rubric: {items: [{points: 1, what: Says why.}]}}]}
  - id: nodes
    intent: Look.
    checks: [{key_nodes: [{value: {semantic: is a kettle}}]}]
"""


@pytest.mark.parametrize("how", ["--co", "--agent=null"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (None, "found no evaluation_harness/helper_functions.py"),
        ("def llm_fuzzy_match(pred, reference, question): {}", "expected the function llm_ua_match, found none"),
        ("def llm_ua_match(pred, reference, question): {}", "expected the function llm_fuzzy_match, found none"),
    ],
)
def test_unreadable_judge_prompt_stops_run_before_first_trial(
    pytester: pytest.Pytester, words: str | None, message: str, how: str
) -> None:
    """Both kinds of question are checked: otherwise the other prompt would fail hours later."""
    if words is not None:
        folder = pytester.path / "clone" / "evaluation_harness"
        folder.mkdir(parents=True)
        prompt_lines = (
            '\n    message = pred + reference + question\n    messages = [{"role": "user", "content": message}]\n'
        )
        (folder / "helper_functions.py").write_text(words.replace(" {}", prompt_lines))
    result = pytester.runpytest_inprocess("--judge=m", "--judge-prompt=upstream:clone", how)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --judge-prompt: *{message}"])


def test_header_warns_of_tasks_that_need_a_judge(pytester: pytest.Pytester) -> None:
    (pytester.path / "some.tasks.yaml").write_text(UNDECIDED)
    warning = "webarena: 3 of 4 tasks need a judge model, and --judge names none:*"
    result = pytester.runpytest("--collect-only", "--agent=null")
    result.stdout.fnmatch_lines([warning, "webarena: name one now (--judge=MODEL), or judge the run when it is over*"])
    for more in (("--judge=m", "--judge-url=http://127.0.0.1:1/v1", "--judge-key-env=none"), ("-k", "plain")):
        pytester.runpytest("--collect-only", "--agent=null", *more).stdout.no_fnmatch_line("*need a judge model*")
