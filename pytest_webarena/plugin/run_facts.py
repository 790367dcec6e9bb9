"""Facts of a run for ``run.json``: versions, arguments, settings."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.stash import CATALOGUE, COLLECTED, SUITES, settings_of
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.suites.published import data_facts, find_suite

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.plugin.ray_dispatch import ClusterSettings

__all__ = ["apps_of", "run_facts"]

_RECORDED_PACKAGES = (
    "pytest-webarena",
    "pytest",
    "pytest-xdist",
    "playwright",
    "pytest-playwright",
    "allure-pytest",
    "docker",
    "openai",
)


def run_facts(config: pytest.Config, controller_facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run's facts in the process of its first trial; ``controller_facts`` are those from the controller.

    Secrets are never on the command line, so ``argv`` may be stored.
    """
    settings = settings_of(config)
    return {
        "started": controller_facts["started"],
        "id": controller_facts.get("id", ""),
        "argv": controller_facts["argv"],
        "agents": list(settings.agents),
        "preset": settings.preset,
        "trials": settings.trials,
        "browsers": list(settings.browsers),
        "audit": settings.audit,
        "on_record": str(settings.on_record.run) if settings.on_record is not None else None,
        "catalogue": settings.catalogue,
        "apps": apps_of(config),
        "site_urls": dict(settings.site_urls),
        "allow_unreset": settings.allow_unreset,
        "reach": list(settings.options.reach) if settings.options.reach is not None else None,
        "asked": controller_facts.get("asked"),
        "collected": config.stash.get(COLLECTED, None),
        "suites": [data_facts(find_suite(name)) for name in config.stash[SUITES]],
        "limits": {"steps": settings.max_steps, "seconds": settings.time_limit, "stop_rule": settings.stop_rule},
        "overrides": _given(asdict(settings.overrides)),
        "models": _given(asdict(settings.options.models)),
        "grading": {"name": settings.options.grading.name, "without": list(settings.options.grading.left_out)},
        "answer_format": settings.options.answers,
        "judge": _judge(settings.judge),
        "env_retries": settings.options.env_retries,
        "workers": controller_facts["workers"],
        "pace": controller_facts.get("pace") or {},
        "wide": settings.concurrency,
        "ray": _cluster(settings.ray) if settings.ray is not None else None,
        "versions": _versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "root": str(config.rootpath),
        "git": _git_revision(config.rootpath),
    }


def _judge(settings: JudgeSettings) -> dict[str, Any] | None:
    if not settings.model:
        return None
    from pytest_webarena.llm_judge.judge_eligibility import judge_facts  # only where there is a judge

    return judge_facts(settings)


def apps_of(config: pytest.Config) -> dict[str, str] | None:
    """Return a digest of manifest and code for each app of the catalogue; None where no catalogue was read."""
    if CATALOGUE not in config.stash:
        return None
    apps = config.stash[CATALOGUE].apps
    return {name: app.digest for name, app in apps.items() if app.backend != EXTERNAL}


def _cluster(ray: ClusterSettings) -> dict[str, Any]:
    return {"address": ray.given, "insecure": ray.insecure, "wide": ray.concurrency}


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that were given, as plain data."""
    plain = {
        name: _given(value) if isinstance(value, dict) else str(value) if isinstance(value, Path) else value
        for name, value in settings.items()
    }
    return {name: value for name, value in plain.items() if value not in (None, (), {})}


def _versions() -> dict[str, str]:
    found = {}
    for name in _RECORDED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git_revision(root: Path) -> str:
    """Commit of the tests' repository, with ``+`` appended for uncommitted changes; empty outside git."""
    try:
        run = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"]
        return subprocess.run(run, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
