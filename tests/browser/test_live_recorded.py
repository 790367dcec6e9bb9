"""Live sites are recorded and then replayed without the web, in the simulated Internet of `played_world`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.browser.test_live import run_in_simulated_internet

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(920)]

WEB = """
defaults: {sites: [live], start: "https://www.teahouse.com/"}
tasks:
  - id: tried
    intent: What does Assam cost?
    checks: [{answer: "8.50"}, {page: {locate: "css=#price", includes: "8.50"}}]
    solution: [{stop: "8.50"}]
  - id: found
    intent: How many teas are there?
    live: {reads: [POST /search]}
    checks: [{answer: "3"}, {page: {includes: Found 3 teas}}]
    solution: [{click: "text=Find"}, {stop: "3"}]
"""
"""For the wildcard site, which matches any start page: recorded, and replayed without the web."""


@pytest.mark.exhaustive
def test_recorded_web_sites_are_replayed_without_the_web(tmp_path: Path) -> None:
    (tmp_path / "web.tasks.yaml").write_text(WEB)
    webarena = [sys.executable, "-m", "pytest_webarena.commands.cli"]
    done, world = run_in_simulated_internet(
        tmp_path,
        [
            [*webarena, "sites", "archive", "record", "web.tasks.yaml", "-o", "web.warc.gz", "--sites=live"],
            [*webarena, "sites", "archive", "record", "https://agency.org/", "-o", "one.warc.gz", "--sites=live"],
            [*webarena, "sites", "archive", "add", "web.warc.gz", "one.warc.gz"],
            [*webarena, "tasks", "try", "web.tasks.yaml::tried", "--sites=live", "--solution"],
            ["echo", "### the archive"],
            [sys.executable, "-m", "pytest", "--rootdir=.", "-c", os.devnull, "-q", "-p", "no:cacheprovider",
             "--agent=oracle", "web.tasks.yaml", "--sites=archive:web.warc.gz", "--run-dir=archived"],
        ],
    )  # fmt: skip
    records = [json.loads(file.read_text()) for file in (tmp_path / "archived").rglob("trial.json")]
    assert {each["key"]["task"]: each["outcome"] for each in records} == {"tried": "passed", "found": "passed"}
    assert not any("live" in each["environment"] for each in records)
    live = done.stdout.partition("### the archive")[0]
    assert "agency.org" in live.partition("captures added;")[2].partition("\n")[0]
    assert "passed: 2 of 2 checks hold" in live
    posts = [line for lines in world["asked"].values() for line in lines if line.startswith("POST")]
    assert posts == ["POST /search"]  # once, by the recording


BLOCKED_PAGES = """
defaults: {sites: [live], start: "https://www.teahouse.com/"}
tasks:
  - id: wrong-answer
    intent: What does Assam cost?
    checks:
      - answer: "8.50"
      - network: {method: POST, url: "https://www.teahouse.com/track", none: true, attempted: false}
    solution: [{wait: 1}, {stop: "9"}]
""" + "".join(
    f"""
  - id: {name}
    intent: What does it cost?
    start: https://{name}.teahouse.com/
    checks: [{{answer: "8.50"}}]
    solution: [{{stop: "9"}}]
"""
    for name in ("captcha", "wall")
)
"""The start page sends a tracking request, which the gateway withholds; the other pages block visitors."""


@pytest.mark.exhaustive
def test_failure_on_an_archive_of_the_web_counts_as_failed(tmp_path: Path) -> None:
    """A trial that was blocked on the live site is not counted as failed on the archive."""
    (tmp_path / "web.tasks.yaml").write_text(BLOCKED_PAGES)
    common = [sys.executable, "-m", "pytest", "--rootdir=.", "-c", os.devnull, "-q", "-p", "no:cacheprovider",
              "--agent=oracle", "web.tasks.yaml"]  # fmt: skip
    run_in_simulated_internet(
        tmp_path,
        [
            [*common, "--sites=live", "--record-archive=web.warc.gz", "--run-dir=live"],
            [*common, "--sites=archive:web.warc.gz", "--run-dir=archived"],
        ],
    )
    outcomes = {}
    for run in ("live", "archived"):
        records = [json.loads(file.read_text()) for file in (tmp_path / run).rglob("trial.json")]
        outcomes[run] = {each["key"]["task"]: (each["outcome"], each["cause"]) for each in records}
    blocked, not_archived = ("error", "blocked"), ("error", "site")
    assert outcomes["live"] == {"wrong-answer": ("failed", None), "captcha": blocked, "wall": blocked}
    assert outcomes["archived"] == {"wrong-answer": ("failed", None), "captcha": not_archived, "wall": not_archived}
