"""Recording of traces and videos per attempt, and which of them are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_webarena.agents import resolve_agent
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.results.attempts import AttemptWriter
from pytest_webarena.testing import make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import Filming, TrialOptions
from pytest_webarena.trials.plan import TrialPlan


def filmed(tmp_path: Path, attempt: int, **options: Any) -> tuple[str, str]:
    plan = TrialPlan(
        task=make_task("intent: x\nsites: []\nchecks: [{answer: x}]", id="t"),
        agent=resolve_agent("null"),
        trial=1,
        limits=EpisodeLimits(),
        options=TrialOptions(**options),
    )
    config = plan.filmed(SessionConfig(), AttemptWriter(tmp_path, attempt))
    return str(config.trace and config.trace.name), str(config.video and config.video.name)


@pytest.mark.parametrize(
    ("what", "first", "second"),
    [("off", False, False), ("on", True, True), ("retain-on-failure", True, True), ("on-retry", False, True)],
)
def test_trace_and_video_options_select_attempts(tmp_path: Path, what: Any, first: bool, second: bool) -> None:
    assert what in get_args(Filming)
    for attempt, expected in ((1, first), (2, second)):
        assert filmed(tmp_path, attempt, tracing=what) == ("trace.zip" if expected else "None", "None")
        assert filmed(tmp_path, attempt, video=what) == ("None", "videos" if expected else "None")


def test_drop_films_removes_only_the_named_kind(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(TrialKey("t", "null", 1))
    for attempt in ("attempt-1", "attempt-2"):
        (folder.path / attempt / "videos").mkdir(parents=True)
        (folder.path / attempt / "trace.zip").write_bytes(b"x")
        (folder.path / attempt / "videos" / "a.webm").write_bytes(b"x")
    folder.drop_films("trace.zip")
    assert sorted(path.name for path in folder.path.glob("attempt-*/*")) == ["videos", "videos"]
    folder.drop_films("videos", "trace.zip")
    assert not list(folder.path.glob("attempt-*/*"))
