"""Tasks on archived sites in a real browser: the verdicts of the live sites, or none if something is missing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from warcio.checker import Checker

from pytest_webarena.archives.writing import WarcFile
from tests.inner import SUM_TASK, run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine"), pytest.mark.timeout(920)]

TASKS = """
defaults: {sites: [homepage], user: '', mutates: false}
tasks:
  - id: right
    intent: What is the first heading?
    checks: [{answer: "x", }, {page: {open: /calculator, includes: Calculator}}]
    solution: [{goto: /calculator}, {stop: "x"}]
  - id: wrong
    intent: What is the first heading?
    checks: [{answer: "y"}, {page: {open: /calculator, includes: Calculator}}]
    solution: [{goto: /calculator}, {stop: "x"}]
"""
ASTRAY = """
defaults: {sites: [homepage], user: '', mutates: false}
tasks:
  - id: astray
    intent: What is there?
    checks: [{answer: "42"}]
    solution: [{goto: /nowhere}, {stop: "41"}]
  - id: foreign
    intent: What is there?
    checks: [{answer: "42"}]
    solution: [{goto: "http://elsewhere.test/"}, {stop: "41"}]
  - id: unneeded
    intent: What is there?
    checks: [{answer: "42"}]
    solution: [{goto: /nowhere}, {stop: "42"}]
  - id: opened
    intent: What is there?
    checks: [{answer: "42"}, {page: {open: /nowhere, excludes: something}}]
    solution: [{stop: "42"}]
  - id: misled
    intent: What is there?
    checks: [{answer: {unachievable: there is no such page}}]
    solution: [{goto: /nowhere}, {stop: "N/A"}]
  - id: gap
    intent: What is there?
    checks: [{answer: "42"}]
    solution: [{goto: /nowhere}, {click: "css=#there"}, {stop: "42"}]
  - id: rows
    intent: What is there?
    checks: [{answer: "42"}, {state: {sql: select 1, equals: 1}}]
    solution: [{stop: "42"}]
"""
SECURE = """
  - id: secure
    sites: [docs]
    intent: Is it secure?
    checks: [{answer: "yes"}, {page: {locate: "css=#secure", exact: "true"}}, {url: "docs:/more?a=1&b=2"}]
    solution: [{click: "css=a"}, {stop: "yes"}]
"""
BEYOND = ("script", "moved", "cut")
MORE_BEYOND = ("plain", "frame", "refresh", "circle")
"""Pages that need content missing from the archive: from other hosts, or further parts of their own."""


def visiting(*pages: str) -> str:
    """Return a task for each of the pages."""
    return "".join(
        f"""
  - id: {name}
    sites: [docs]
    intent: What is there?
    checks: [{{answer: "42"}}]
    solution: [{{goto: /{name}}}, {{wait: 1}}, {{stop: "41"}}]
"""
        for name in pages
    )


SITES = """
apps:
  old:
    backend: archive
    options: {files: recorded.warc.gz}
    sites: {homepage: {url: "http://homepage.test"}}
  docs:
    backend: archive
    options: {files: docs.warc, unneeded: [ads.example]}
    sites: {docs: {url: "https://docs.example"}}
"""
MORE = b"<p id=secure></p><script src='http://docs.example/more.js?_=1747213200000'></script>"


Outcomes = dict[str, tuple[str, str | None, str]]


def outcomes(run: Path) -> Outcomes:
    records = [json.loads(file.read_text()) for file in run.rglob("trial.json")]
    return {each["key"]["task"]: (each["outcome"], each["cause"], each["event"]) for each in records}


def write_docs(folder: Path) -> None:
    """Write an archive of the site ``docs``."""
    with WarcFile(folder / "docs.warc", sites={}) as docs:
        for url, kind, got in (
            ("https://docs.example/", "text/html", b"<a href='/more?b=2&a=1'>more</a>"),
            ("https://docs.example/more?a=1&b=2", "text/html", MORE.replace(b"http:", b"https:")),
            (
                "http://docs.example/more.js",
                "text/javascript",
                b"document.getElementById('secure').textContent = isSecureContext",
            ),
        ):
            docs.add(
                method="GET", url=url, request_head="GET / HTTP/1.1\r\n", request_body=b"",
                response_head=f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n", response_body=got, time=1,
            )  # fmt: skip
        for path, fields, got in (
            ("script", "", b"<script src='https://cdn.example/app.js'></script>"),
            ("plain", "", b"<script src='//docs-cdn.example/app.js'></script>"),
            ("frame", "", b"<iframe src='https://video.example/'></iframe>"),
            ("moved", "Location: https://www.docs.example/\r\n", b"moved"),
            ("circle", "Location: /circle#again\r\n", b"moved"),
            ("refresh", "", b"<meta http-equiv=refresh content='0; url=https://www.docs.example/'>"),
            ("cut", "Content-Encoding: gzip\r\n", gzip.compress(b"<h1>Prices</h1>" * 40, mtime=0)[:25]),
            ("advert", "", b"<script src='https://cdn.ads.example/app.js'></script>"),
        ):
            docs.add(
                method="GET", url=f"https://docs.example/{path}", request_head="GET / HTTP/1.1\r\n", request_body=b"",
                response_head=f"HTTP/1.1 {301 if b'moved' in got else 200} x\r\nContent-Type: text/html\r\n{fields}",
                response_body=got, time=1,
            )  # fmt: skip


MADE: list[dict[str, Outcomes]] = []


@pytest.fixture
def runs(pytester: pytest.Pytester) -> dict[str, Outcomes]:
    """The same tasks on the recorded site and on its archive; there with additional tasks.

    The first test makes the runs, in this process; all tests read them.
    """
    if not MADE:
        folder = pytester.path
        (folder / "tasks.yaml").write_text(TASKS)
        (folder / "sum.yaml").write_text(SUM_TASK)
        (folder / "astray.yaml").write_text(ASTRAY + visiting(*BEYOND, "advert"))
        (folder / "sites.yaml").write_text(SITES)
        write_docs(folder)
        recorded = folder / "recorded.warc.gz"
        both = ("tasks.yaml", "sum.yaml", "--agent=oracle")
        pytester.runpytest_inprocess(*both, "--run-dir=live", "--record=minimal", f"--record-archive={recorded.name}")
        assert Checker(SimpleNamespace(inputs=[str(recorded)], verbose=False)).process_all() == 0
        options = ("--run-dir=old", "--sites=sites.yaml", "--concurrency=4", "--record=minimal")
        # Missing content is missing in every attempt.
        pytester.runpytest_inprocess(*both, "astray.yaml", *options, "--env-retries=0")
        MADE.append({"live": outcomes(folder / "live"), "old": outcomes(folder / "old")})
    return MADE[0]


@pytest.mark.exhaustive
def test_archive_gives_the_verdicts_of_the_recorded_site(runs: dict[str, Outcomes]) -> None:
    live, old = runs["live"], runs["old"]
    assert live == {"right": ("passed", None, ""), "wrong": ("failed", None, ""), "sum": ("passed", None, "")}
    assert {name: old[name] for name in live} == live


@pytest.mark.exhaustive
def test_missing_archive_content_is_a_site_error(runs: dict[str, Outcomes]) -> None:
    old = runs["old"]
    assert old["astray"] == old["misled"] == ("error", "site", "archive")
    assert old["gap"] == ("error", "site", "archive")
    assert old["opened"][:2] == old["rows"][:2] == ("error", "site")
    assert old["unneeded"] == ("passed", None, "")
    assert old["advert"] == ("failed", None, "")
    assert old["foreign"][:2] == ("error", "task")  # a solution that the gateway rejects; nothing is missing
    assert {name: old[name] for name in BEYOND} == dict.fromkeys(BEYOND, ("error", "site", "archive"))


@pytest.mark.exhaustive
def test_archived_https_page_is_secure_and_missing_content_is_site_error(tmp_path: Path) -> None:
    (tmp_path / "docs.yaml").write_text("defaults: {mutates: false}\ntasks:" + SECURE + visiting(*MORE_BEYOND))
    (tmp_path / "sites.yaml").write_text(f"apps:\n  docs:\n{SITES.partition('  docs:')[2].lstrip(chr(10))}")
    write_docs(tmp_path)
    run_pytest(tmp_path, "--agent=oracle", "--run-dir=old", "--sites=sites.yaml", "--concurrency=4")
    lacking = dict.fromkeys(MORE_BEYOND, ("error", "site", "archive"))
    assert outcomes(tmp_path / "old") == {"secure": ("passed", None, ""), **lacking}
