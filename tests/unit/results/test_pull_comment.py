"""The comment on a pull request: its content, what it must not contain, and its length."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from pytest_webarena.results import RunDir, TrialRecord, summarise
from pytest_webarena.results.comparing.comparison import compare
from pytest_webarena.results.gate import Ruling
from pytest_webarena.results.pull_comment import LONGEST, comment_on, marker, no_result
from pytest_webarena.secrets import mark
from tests.cases import each_case
from tests.made_up import make_run, make_trial
from tests.unit.results.baselines import outcomes

FAILS = Ruling(exit_code=10, message="a: 50.0% passed, --min-pass-rate asks for 90.0%")
PAGES = "https://git.test/job/1/artifacts/file/run/{path}"


def comment(run: RunDir, *records: TrialRecord, **more: Any) -> str:
    options = {"coverages": {}, "ruling": None, **more}
    return comment_on(run, records, summarise(records), **options)


def rows(text: str) -> list[str]:
    return [line for line in text.partition("| last page |")[2].splitlines() if line.startswith("| ")]


def test_comment_has_gate_rates_commit_and_failed_trials_with_pictures(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    records = [make_trial(run, "ok"), make_trial(run, "cart", "failed", message="answer: found 5\nmore")]
    text = comment(run, *records, ruling=FAILS, commit="c0ffee" * 7, link=PAGES)
    assert text.splitlines()[0] == "<!-- pytest-webarena comment: tasks -->"
    assert "❌ gate: a: 50.0% passed, --min-pass-rate asks for 90.0%" in text
    assert "Commit c0ffeec0ffee" in text
    assert "| **a** | 1/2 | 50.0% | 9.5% to 90.5% |" in text
    picture = (
        f"https://git.test/job/1/artifacts/file/run/trials/{records[1].key.folder}/attempt-1/screenshots/final.png"
    )
    assert rows(text) == [f"| cart | a | failed | answer: found 5 | [picture]({picture}) |"]


def test_one_address_of_all_records_is_linked_once_and_pictures_are_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    text = comment(run, make_trial(run, "cart", "failed"), link="https://git.test/artifacts/7")
    assert text.count("https://git.test/artifacts/7") == 1
    assert "<code>trials/cart.a.1-" in text


def test_comment_shows_the_difference_to_the_baseline(tmp_path: Path) -> None:
    first, second = (outcomes(name, *letters * 8) for name, letters in (("main", "p"), ("branch", "f")))
    run = make_run(tmp_path / "run")
    text = comment(run, make_trial(run, "t", "failed"), comparisons=[compare(first, second)])
    assert "**Difference to the baseline:** a in branch is worse than a in main: −100.0 points" in text
    assert text.index("**Difference") < text.index("did not pass") < text.index("Baseline, task by task")


HOSTILE = (
    "a | b", "<img src=x onerror=y>", "![x](http://evil.test)", "[x](javascript:y)", "@org/team", "see #7 and !8",
    "www.evil.test", "`code` $x$", "<!-- pytest-webarena comment: tasks -->",
    "::error::forged", "</details>", "\u202eb",
)  # fmt: skip


@each_case("text", HOSTILE)
def test_text_of_agents_and_pages_has_no_effect(text: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / str(HOSTILE.index(text)))
    written = comment(run, make_trial(run, "cart", "failed", message=f"found {text}"))
    (row,) = rows(written)
    cell = row.split("failed | ")[1].rpartition(" | ")[0]
    assert row.count("|") == 6
    assert not set(cell) & set("<>[]`*_!$@|")
    shown = html.unescape(cell)
    assert not re.search(r"[@#!]\w|www\.|\u202e", shown), shown
    assert "http:" not in cell
    assert written.count("<!--") == 1
    assert written.count("</details>") == 1


def test_secrets_are_masked(tmp_path: Path) -> None:
    mark("s3cr3t-of-the-comment")
    run = make_run(tmp_path / "run")
    record = make_trial(run, "cart", "failed")
    text = comment(run, TrialRecord(key=record.key, outcome="failed", message="found s3cr3t-of-the-comment"))
    assert "s3cr3t" not in text
    assert "[secret]" in html.unescape(text)


def test_long_comments_keep_the_verdict_and_name_what_was_cut(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    record = make_trial(run, "cart", "failed", message="\N{PILE OF POO}@" * 150)
    first, second = (outcomes(name, *letters * 40) for name, letters in (("main", "p"), ("branch", "f")))
    many = {"comparisons": [compare(first, second)], "ruling": FAILS}
    text = comment(run, *[record] * 900, **many)
    assert len(text.encode("utf-16-le")) // 2 <= LONGEST
    assert len(text) > LONGEST // 4
    assert "gate: a: 50.0% passed" in text
    assert "**Difference to the baseline:**" in text
    shown = len(rows(text))
    assert f"Cut, because comments are limited to 65,536 characters: {900 - shown} of 900 trials did not pass" in text
    assert text.count("<details") == text.count("</details>")
    assert "Cut" not in comment(run, record, **many)


def test_run_without_result_says_so_in_place_of_an_earlier_comment() -> None:
    text = no_result("part-*: expected a run, found none <b>", commit="c0ffee")
    assert text.startswith(marker("tasks"))
    assert "❌ no result: part-&#42;: expected a run, found none &lt;b&gt;" in text


def test_marker_cannot_end_its_html_comment() -> None:
    assert marker("a --> <b>\n") == "<!-- pytest-webarena comment: a-b -->"
    assert marker("") == marker("-->") == marker("tasks")
