"""``--preset``: one option for the settings of a published evaluation."""

from __future__ import annotations

import pytest

from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.settings import Settings
from pytest_webarena.plugin.stash import settings_of

from .conftest import task_file

SEEN = {"kinds": ["accessibility_tree"], "extractor": "exact", "compat": True, "max_obs_length": 1920}


def settings(pytester: pytest.Pytester, *arguments: str) -> Settings:
    return settings_of(pytester.parseconfigure(*arguments))


@pytest.mark.parametrize(("name", "rule"), [("webarena-paper", "paper"), ("webarena-upstream", "upstream")])
def test_preset_sets_stop_rule_observation_and_reachable_sites(pytester: pytest.Pytester, name: str, rule: str) -> None:
    read = settings(pytester, f"--preset={name}", "--max-steps=30")
    assert (read.preset, read.stop_rule, read.max_steps) == (name, rule, 30)
    assert (read.options.reach, read.options.grading.name) == (("*",), "original")
    known = ("host_names", "viewport", "observation")
    changed, used = read.overrides.apply({"observation": {"kinds": ["html"]}}, known, "here")
    assert changed["observation"] == SEEN
    assert (changed["host_names"], changed["viewport"], used) == ("paper", [1280, 720], [])
    assert "host_names" not in read.overrides.apply({}, ("viewport",), "here")[0]  # a kind that knows no such key


def test_webcanvas_preset_sets_sampling_steps_and_grading(pytester: pytest.Pytester) -> None:
    read = settings(pytester, "--preset=webcanvas-paper")
    assert (read.preset, read.options.grading.name) == ("webcanvas-paper", "webcanvas-paper")
    known: tuple[str, ...] = ("viewport", "sampling", "observation", "limits", "first_step")
    changed, _ = read.overrides.apply({"sampling": {"temperature": 1.0}, "viewport": [1280, 720]}, known, "here")
    assert changed["sampling"] == {"temperature": 0.7, "max_tokens": 500}
    assert (changed["viewport"], changed["limits"]) == ([1080, 720], {"steps": "webcanvas"})
    known = (*known, "reward")
    for given in ({}, {"reward": None}, {"reward": "none"}):
        assert read.overrides.apply(given, known, "here")[0].get("reward") == given.get("reward")
    rewarded, _ = read.overrides.apply({"reward": {"by": "self", "sampling": {"temperature": 1}}}, known, "here")
    assert rewarded["reward"] == {"by": "self", "sampling": {"temperature": 0.7, "max_tokens": 500}}
    with pytest.raises(UsageError, match=r"setting reward\.sampling: expected 'reward' to be a mapping, found 'self'"):
        read.overrides.apply({"reward": "self"}, known, "here")
    with pytest.raises(pytest.UsageError, match="--preset=webcanvas-paper: expected no --max-steps, found 10"):
        settings(pytester, "--preset=webcanvas-paper", "--max-steps=10")


@pytest.mark.parametrize(
    "other", ["--max-steps=10", "--stop-rule=upstream", "--grading=repaired", "--reachable-sites=task",
              "--observation=html", "--agent-option=viewport=[800, 600]"],
)  # fmt: skip
def test_preset_rejects_options_that_contradict_it(pytester: pytest.Pytester, other: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"--preset=webarena-paper: expected no .*{other.split('=')[0]}"):
        settings(pytester, "--preset=webarena-paper", other)


def test_settings_without_preset_are_defaults(pytester: pytest.Pytester) -> None:
    read = settings(pytester)
    assert (read.preset, read.options.reach, read.overrides) == ("", None, Overrides())


@pytest.mark.parametrize(
    ("given", "reach"),
    [("task", ()), ("environment", ("*",)), ("wikipedia, homepage", ("wikipedia", "homepage"))],
)
def test_reachable_sites_option_accepts_keyword_or_site_names(
    pytester: pytest.Pytester, given: str, reach: tuple[str, ...]
) -> None:
    assert settings(pytester, f"--reachable-sites={given}").options.reach == reach


def test_reachable_sites_must_be_in_the_catalogue(pytester: pytest.Pytester) -> None:
    pytester.makefile(".tasks.yaml", a=task_file("a", sites="[map]"))
    result = pytester.runpytest("a.tasks.yaml", "--agent=null", "--reachable-sites=map,wikipedai")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--reachable-sites: expected sites of the catalogue, found wikipedai; did you mean*"])


@pytest.mark.parametrize("given", ["", ",", "task,wikipedia"])
def test_invalid_reachable_sites_value_is_rejected(pytester: pytest.Pytester, given: str) -> None:
    with pytest.raises(pytest.UsageError, match="--reachable-sites: expected task, environment or names of sites"):
        settings(pytester, f"--reachable-sites={given}")
