"""The papers' metrics of runs as data: CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from pytest_webarena.csv_text import csv_text
from pytest_webarena.results.metrics import Metrics
from pytest_webarena.results.published import published, published_groups, published_people, published_templates
from pytest_webarena.results.statistics import Rate
from pytest_webarena.results.tables import Row

__all__ = ["as_csv", "as_json"]


def as_csv(rows: Sequence[Row]) -> str:
    """Return one line per run, agent, browser and group of tasks, in numbers."""
    lines: list[list[object]] = [
        [
            "run",
            "agent",
            "grading",
            "group",
            "passed",
            "judged",
            "errors",
            "rate",
            "low",
            "high",
            "browser",
            "undecided",
            "rate_errors_failed",
            "low_errors_failed",
            "high_errors_failed",
            "guard",
            "robots",
        ]
    ]
    for row in rows:
        for group, rate, interval in _all_rates(row.metrics):
            value = "" if rate.value is None else f"{rate.value:.6f}"
            low, high = (f"{bound:.6f}" for bound in interval)
            counts = (rate.passed, rate.judged, rate.errors)
            failed = rate.with_errors_failed
            failed_figures = [
                "" if failed.value is None else f"{failed.value:.6f}",
                *map("{:.6f}".format, failed.interval),
            ]
            cells = [row.run, row.agent, row.grading, group, *counts, value, low, high, row.browser, rate.undecided]
            lines.append([*cells, *failed_figures, row.guard, row.robots])
    return csv_text(lines)


def _all_rates(metrics: Metrics) -> Iterator[tuple[str, Rate, tuple[float, float]]]:
    yield "all", metrics.rate, metrics.rate.interval
    named = {
        name: getattr(metrics, name) for name in ("achievable", "unachievable", "given_up", "information", "others")
    }
    groups = [
        *named.items(),
        *((f"category:{name}", rate) for name, rate in metrics.by_category.items()),
        *((f"subject:{name}", rate) for name, rate in metrics.by_subject.items()),
        *((f"answer:{name}", rate) for name, rate in metrics.by_answer.items()),
        *((f"problem:{name}", rate) for name, rate in metrics.by_problem.items()),
        *((f"site:{name}", rate) for name, rate in metrics.by_site.items()),
        *((f"template:{name}", rate) for name, rate in metrics.by_template.items()),
    ]
    for name, rate in groups:
        yield name, rate, rate.interval


def as_json(rows: Sequence[Row]) -> str:
    """Return all figures as JSON, with a ``schema_version``."""
    data = [
        {
            **asdict(row),
            "rates": {
                name: {**asdict(rate), "judged": rate.judged, "value": rate.value, "interval95": list(interval)}
                for name, rate, interval in _all_rates(row.metrics)
            },
            "published_groups": [asdict(each) for each in published_groups(row.suite)],
            "published_templates": [asdict(each) for each in published_templates(row.suite)],
            "published_people": [asdict(each) for each in published_people(row.suite)],
            "published": [asdict(each) for each in published(row.suite)] if row.grading == "original" else [],
        }
        for row in rows
    ]
    return json.dumps({"schema_version": 1, "agents": data}, indent=1)
