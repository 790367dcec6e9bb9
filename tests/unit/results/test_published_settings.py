"""Published figures have distinct keys, and the shipped agents have the settings of the papers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_webarena.agents.model import prompts
from pytest_webarena.plugin.presets import PRESETS
from pytest_webarena.results.published import (
    contradictions,
    published,
    published_groups,
    published_judges,
    published_key_nodes,
    published_people,
    published_settings,
    published_templates,
)

AGENTS = Path(__file__).parents[3] / "agents"
SETTINGS = [*published_settings("webarena"), *published_settings("webcanvas")]
KEY_NODES = published_key_nodes("mind2web-live")
CONTRADICTIONS = [*contradictions("webarena"), *contradictions("mind2web-live")]
SECTIONS = (
    published, published_key_nodes, published_templates, published_people, published_groups, published_judges,
)  # fmt: skip
ROWS: list[Any] = [
    row
    for section in SECTIONS
    for suite in ("webarena", "visualwebarena", "mind2web-live", "arb")
    for row in section(suite)
]


def definition(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((AGENTS / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def test_rows_are_identified_by_paper_version_table_model_split_and_tasks() -> None:
    keys = Counter((type(row), *row.key, getattr(row, "subject", "")) for row in ROWS)
    assert [key for key, count in keys.items() if count > 1] == []


def test_rows_of_papers_name_version_and_table() -> None:
    papers = [row for row in ROWS if "arXiv" in row.source]
    assert len(papers) > 20
    assert [row for row in papers if not (row.version and row.table)] == []
    assert [row for row in ROWS if not row.split] == []


@pytest.mark.parametrize(
    "each", contradictions("webarena") + contradictions("mind2web-live"), ids=lambda it: it["names"][0]
)
def test_contradictions_are_kept_as_rows(each: Mapping[str, Any]) -> None:
    places = {(row.table, row.name) for row in ROWS if row.suite == each["suite"]}
    for table in each["tables"]:
        assert any((table, name) in places for name in each["names"])
    for name in each["names"]:
        assert any((table, name) in places for table in each["tables"])


def test_inconsistent_rows_are_listed_as_contradictions() -> None:
    listed = {
        name for suite in ("webarena", "mind2web-live") for each in contradictions(suite) for name in each["names"]
    }
    inconsistent = {row.name for row in ROWS if "inconsistent" in row.note}
    assert inconsistent
    assert inconsistent <= listed


@pytest.mark.parametrize("row", KEY_NODES, ids=lambda row: f"{row.name}, {row.success}")
def test_success_rates_are_whole_numbers_of_tasks_or_marked(row: Any) -> None:
    """Detects copying errors. Papers round or truncate the last digit."""
    passed = round(row.success * row.tasks / 100)
    whole = row.success == pytest.approx(100 * passed / row.tasks, abs=0.06)
    assert whole is ("inconsistent" not in row.note)
    assert not whole or f"{passed} of {row.tasks}" in row.note


@pytest.mark.parametrize(
    ("setting", "agent"), [(setting, agent) for setting in SETTINGS for agent in setting["agents"]], ids=str
)
def test_agents_have_the_settings_of_the_paper(setting: Mapping[str, Any], agent: str) -> None:
    found = dict(definition(agent))
    found["max_obs_length"] = found["observation"].get("max_obs_length")
    found["steps"] = found.get("limits", {}).get("steps", PRESETS["webarena-paper"].options["--max-steps"])
    expected = {key: value for key, value in setting.items() if key not in ("paper", "table", "agents", "reward_scale")}
    assert {key: found.get(key) for key in expected} == expected
    assert ("-no-hint" in agent or agent == "cot-t0" or "web" in agent) or found["unachievable_hint"]


def test_reward_prompt_has_the_scale_of_the_paper() -> None:
    (scale,) = [setting["reward_scale"] for setting in SETTINGS if "reward_scale" in setting]
    text = (Path(prompts.__path__[0]) / "reward.j2").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith('- "score"')]
    meanings = {int(score): meaning for score, meaning in re.findall(r"(\d+): ([^.]*)\.", line)}
    words = {1: "loop", 3: "not help", 7: "helped", 9: "critical", 10: "done"}
    assert list(meanings) == list(scale) == list(words)
    assert all(words[score] in meanings[score] for score in words)


@pytest.mark.parametrize("row", published_judges("arb"), ids=lambda row: row.name)
def test_counts_of_judges_give_the_printed_accuracy(row: Any) -> None:
    assert sum(row.counts.values()) == row.cases
    assert round((row.counts["tp"] + row.counts["tn"]) / row.cases, 2) == row.accuracy
