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
    published,
    published_groups,
    published_key_nodes,
    published_people,
    published_settings,
    published_templates,
)

AGENTS = Path(__file__).parents[3] / "agents"
SETTINGS = [*published_settings("webarena"), *published_settings("webcanvas")]
KEY_NODES = published_key_nodes("mind2web-live")


def definition(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((AGENTS / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("section", [published, published_key_nodes], ids=lambda section: section.__name__)
def test_rows_are_identified_by_source_table_model_and_tasks(section: Any) -> None:
    rows = [row for suite in ("webarena", "visualwebarena", "mind2web-live") for row in section(suite)]
    keys = Counter((row.suite, row.source, row.table, row.name, row.tasks) for row in rows)
    assert rows
    assert not [key for key, count in keys.items() if count > 1]


def test_rows_of_papers_name_their_table() -> None:
    rows = (
        *published("webarena"),
        *KEY_NODES,
        *published_templates("webarena"),
        *published_people("webarena"),
        *published_groups("arb"),
    )
    assert [row for row in rows if "arXiv" in row.source and not row.table] == []


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
