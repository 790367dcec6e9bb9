"""``--preset``: names, limits and viewport of a published evaluation as one option, which is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    import pytest

__all__ = ["PRESETS", "Preset", "apply_preset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A preset."""

    about: str
    options: Mapping[str, Any]
    """Options of the command line and their values; None where an option contradicts the agents' values."""
    agents: tuple[tuple[str, Any], ...]
    """Dotted keys of agents' definitions and their values, for definitions that have such a key."""


_SEEN: tuple[tuple[str, Any], ...] = (
    ("viewport", [1280, 720]),
    ("host_names", "paper"),
    (
        "observation",
        {"kinds": ["accessibility_tree"], "extractor": "exact", "compat": True, "max_obs_length": 1920},
    ),
)

PRESETS: Mapping[str, Preset] = {
    "webarena-paper": Preset(
        about="WebArena's paper (its stop rule, 30 steps, all sites reachable, 1280×720, accessibility tree, "
        "real host names, original evaluators)",
        options={
            "--stop-rule": "paper",
            "--max-steps": 30,
            "--reachable-sites": "environment",
            "--grading": "original",
        },
        agents=_SEEN,
    ),
    "webarena-upstream": Preset(
        about="the same with the early stop of WebArena's released code",
        options={
            "--stop-rule": "upstream",
            "--max-steps": 30,
            "--reachable-sites": "environment",
            "--grading": "original",
        },
        agents=_SEEN,
    ),
    "webcanvas-paper": Preset(
        about="WebCanvas's paper (temperature 0.7, 500 tokens a reply, 1.5 times the reference's steps, 1080×720, list "
        "of elements, key nodes as in the paper)",
        options={"--grading": "webcanvas-paper", "--max-steps": None},
        agents=(
            ("viewport", [1080, 720]),
            ("sampling", {"temperature": 0.7, "max_tokens": 500}),
            ("reward.sampling", {"temperature": 0.7, "max_tokens": 500}),
            ("observation", {"kinds": ["webcanvas"], "html_viewport_only": False, "max_tokens": 12000}),
            ("limits", {"steps": "webcanvas"}),
            ("first_step", "search_or_goto"),
        ),
    ),
}
"""Presets by name."""


def apply_preset(config: pytest.Config) -> Preset | None:
    """Set the options of a preset. Raises `UsageError` when another value is given for one of them."""
    name: str | None = config.getoption("--preset")
    if name is None:
        return None
    preset = PRESETS[name]
    for option, value in preset.options.items():
        given = config.getoption(option)
        if given not in (None, value):
            other = f"{option}" if value is None else f"other {option} than {value}"
            raise UsageError(
                f"--preset={name}: expected no {other}, found {given}; without the preset each of its options can be "
                "given alone"
            )
        setattr(config.option, option.removeprefix("--").replace("-", "_"), value)
    if config.getoption("--observation"):
        raise UsageError(f"--preset={name}: expected no --observation, which the preset sets")
    for text in config.getoption("--agent-option"):
        key = text.partition("=")[0].split(".")[0]
        if key in dict(preset.agents):
            raise UsageError(f"--preset={name}: expected no --agent-option {key}, which the preset sets")
    return preset
