"""YAML files of the repository are valid for other readers, too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]


@pytest.mark.exhaustive
def test_each_file_loads_with_pyyaml() -> None:
    """Its pure Python reader is the strictest: it refuses '?' in an unquoted text inside braces."""
    listed = subprocess.run(
        ["git", "ls-files", "*.yaml", "*.yml"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    problems = {}
    for name in listed.stdout.split():
        try:
            yaml.safe_load((ROOT / name).read_text("utf-8"))
        except yaml.YAMLError as error:
            problems[name] = str(error)
    assert listed.stdout
    assert problems == {}
