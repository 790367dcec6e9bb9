"""History of checks: robust storage, due tasks, decay, user reports and the report page."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_webarena.errors import RecordingError, UsageError
from pytest_webarena.monitoring.findings import TaskFinding, untried
from pytest_webarena.monitoring.history import DAY, Entry, Flag, History, decay, read_flags
from pytest_webarena.monitoring.report import alerts_json, decay_lines, lines, page, report_json
from pytest_webarena.tasks.reviews import Opinion, Review

from .checks import buy, known


def entry(status: str = "valid", at: float = 0.0, task: str = "task", digest: str | None = None) -> Entry:
    return Entry(task=task, digest=buy().digest if digest is None else digest, at=at, status=status)


def timestamp(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_entries_are_added_and_read_again(tmp_path: Path) -> None:
    History(tmp_path / "deep" / "er").add(entry("drifted", 3.0))
    History(tmp_path / "deep" / "er").add(entry("valid", 4.0))
    assert History(tmp_path / "deep" / "er").entries == [entry("drifted", 3.0), entry("valid", 4.0)]


def test_truncated_history_line_is_skipped(tmp_path: Path) -> None:
    History(tmp_path).add(entry(at=1.0))
    file = tmp_path / "history.jsonl"
    with file.open("ab") as cut:
        cut.write(b'{"schema_version": 1, "task": "hal')
    History(tmp_path).add(entry(at=2.0))
    found = History(tmp_path)
    assert [each.at for each in found.entries] == [1.0, 2.0]
    assert found.unreadable == 1


@pytest.mark.parametrize(
    "line",
    [
        "null",
        "[]",
        "{}",
        '"x"',
        '{"schema_version": 99}',
        '{"schema_version": 1, "task": "t", "status": "fine"}',
        "\x00",
    ],
)
def test_invalid_history_line_is_skipped_and_counted(tmp_path: Path, line: str) -> None:
    (tmp_path / "history.jsonl").write_text(f"{line}\n")
    found = History(tmp_path)
    assert (found.entries, found.unreadable) == ([], 1)


@pytest.mark.parametrize(
    "at", ["1e308", "-1e18", "-1", "NaN", "Infinity", "1" + "0" * 400, "99999999999", "true", '"1"', "null", "[1]"]
)
def test_history_line_with_an_impossible_time_is_skipped(tmp_path: Path, at: str) -> None:
    line = f'{{"schema_version": 1, "task": "task", "digest": "{buy().digest}", "at": {at}, "status": "valid"}}\n'
    (tmp_path / "history.jsonl").write_text(line)
    (tmp_path / "flags.jsonl").write_text(f'{{"task": "task", "reason": "odd", "at": {at}}}\n')
    found = History(tmp_path)
    assert (found.entries, found.flags, found.unreadable) == ([], [], 2)
    assert found.due(buy(), every=30 * DAY) == "it was never checked"
    assert decay(found.entries) == ()
    with pytest.raises(UsageError, match=r"flags.jsonl:1: expected .* optionally 'at', a Unix time in the past"):
        read_flags(tmp_path / "flags.jsonl")
    with (tmp_path / "flags.jsonl").open("a") as file:
        file.write('{"task": "task", "reason": "odd"}\nodd\n')
    with pytest.raises(UsageError, match=r"(?s)flags.jsonl:1: .*\n.*flags.jsonl:3: expected .*'odd'$"):
        read_flags(tmp_path / "flags.jsonl")


def test_history_time_may_be_slightly_in_the_future(tmp_path: Path) -> None:
    History(tmp_path).add(entry(at=time.time() + 60))
    assert History(tmp_path).unreadable == 0


@pytest.mark.parametrize("facts", ['"task": []', '"digest": {}', '"status": []', '"why": 1', '"path": null'])
def test_history_entry_with_wrong_types_is_skipped(tmp_path: Path, facts: str) -> None:
    line = f'{{"schema_version": 1, "task": "t", "digest": "d", "at": 1, "status": "valid", {facts}}}\n'
    (tmp_path / "history.jsonl").write_text(line + "[" * 200_000 + "\n")
    found = History(tmp_path)
    assert (found.entries, found.unreadable) == ([], 2)


def test_killed_process_loses_no_history_entry(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from pytest_webarena.monitoring.history import Entry, History\n"
        "history = History(Path(sys.argv[1]))\n"
        "history.add(Entry(task='t', digest='d', at=1.0, status='valid'))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert [each.task for each in History(tmp_path).entries] == ["t"]


def test_several_processes_can_add_history_entries(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from pytest_webarena.monitoring.history import Entry, History\n"
        "history = History(Path(sys.argv[1]))\n"
        "for n in range(50): history.add(Entry(task='t', digest='d', at=float(n), status='valid', why='x' * 3000))\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    found = History(tmp_path)
    assert (len(found.entries), found.unreadable) == (100, 0)


def test_task_is_due_by_age_change_doubt_or_report(tmp_path: Path) -> None:
    task, history = buy(), History(tmp_path)

    def due(days: float) -> str:
        return history.due(task, every=30 * DAY, now=days * DAY)

    assert due(0) == "it was never checked"
    history.add(entry("site down", 0.0))
    assert due(1) == "its last check had no result (site down)"
    history.add(entry("broken", DAY))
    assert due(2) == ""
    assert due(31) == "its last check was 30 days ago"
    history.add_flags([Flag(task="task", reason="odd", at=3 * DAY, digest=task.digest)])
    assert due(4) == "a reviewer reported a defect"
    history.add(entry("valid", 5 * DAY))
    assert due(6) == ""
    task = replace(task, digest="another")
    assert due(6) == "it has changed since its last check"


def test_report_is_closed_by_a_change_of_the_task(tmp_path: Path) -> None:
    history = History(tmp_path)
    flags = [Flag(task="task", reason="odd", at=1.0, digest=buy().digest), Flag(task="task", reason="older", at=1.0)]
    assert history.add_flags([*flags, *flags]) == 2
    assert History(tmp_path).add_flags(flags) == 0
    assert [flag.reason for flag in history.flags_of(buy())] == ["odd", "older"]
    assert [flag.reason for flag in history.flags_of(buy(digest="another"))] == ["older"]


@pytest.mark.parametrize(
    "text", ["{}", '{"task": "a"}', '{"task": "a", "reason": " "}', '{"task": 1, "reason": "x"}', "x"]
)
def test_invalid_report_lines_are_usage_errors(tmp_path: Path, text: str) -> None:
    file = tmp_path / "flags.jsonl"
    file.write_text(f'{{"task": "a", "reason": "good"}}\n{text}\n')
    with pytest.raises(UsageError, match=r"flags.jsonl:2: expected a line of JSON with 'task' and 'reason'"):
        read_flags(file)
    with pytest.raises(UsageError, match="expected a file that the viewer has written"):
        read_flags(tmp_path / "none")


def test_known_targets_of_another_task_version_are_not_used(tmp_path: Path) -> None:
    history, task = History(tmp_path), buy()
    assert history.known(task) is None
    history.save_known(task, known(task))
    assert history.known(task) == known(task)
    assert history.known(buy(digest="another")) is None
    (tmp_path / "known" / "task.json").write_text("{")
    assert history.known(task) is None


def test_decay_counts_tasks_that_became_invalid() -> None:
    entries = [
        *(entry("valid", timestamp("2026-09-03"), name) for name in "abcd"),
        entry("broken", timestamp("2026-10-01"), "a"),
        entry("valid", timestamp("2026-10-02"), "b"),
        entry("site down", timestamp("2026-10-02"), "c"),
        entry("drifted", timestamp("2026-10-20"), "b"),
        entry("valid", timestamp("2026-11-01"), "a"),
        entry("valid", timestamp("2026-11-01"), "c"),
        entry("broken", timestamp("2026-11-02"), "d", digest="changed"),
    ]
    september, october, november = decay(entries)
    assert (september.tasks, september.valid, september.rate) == (4, 4, None)
    assert (october.tasks, october.broken, october.drifted, october.undecided) == (2, 1, 1, 1)
    assert (october.lost, october.were_valid, october.rate) == (2, 2, 1.0)
    # 'a' was broken before, and 'd' is another task since it was changed.
    assert (november.tasks, november.lost, november.were_valid) == (3, 0, 1)
    assert all(len(line) <= 80 for line in decay_lines((september, october, november)))


def finding(status: str, task: str = "task", **more: object) -> TaskFinding:
    made = replace(untried(buy(id=task), f"why {task}", at=timestamp("2026-11-02")), status=status)  # type: ignore[arg-type]
    return replace(made, **more)  # type: ignore[arg-type]


def test_alerts_contain_only_changes() -> None:
    findings = [finding("valid", "a"), finding("broken", "b"), finding("broken", "c"), finding("valid", "d")]
    before = {"a": entry("broken", 1.0), "b": entry("broken", 1.0), "c": entry("valid", 1.0), "d": entry("valid", 1.0)}
    flags = {"d": [Flag(task="d", reason="old", at=0.5), Flag(task="d", reason="odd", at=2.0)]}
    alerts = alerts_json(findings, before, flags, at=3.0)
    assert [(each["task"], each["was"], each["status"]) for each in alerts["alerts"]] == [
        ("c", "valid", "broken"),
        ("a", "broken", "valid"),
        ("d", "valid", "valid"),
    ]
    assert [flag["reason"] for flag in alerts["alerts"][2]["flags"]] == ["odd"]
    assert alerts["not_valid"] == ["b", "c"]
    assert alerts_json([finding("valid", "new")], {}, {}, at=3.0)["alerts"] == []
    assert alerts_json([finding("untried", "new")], {}, {}, at=3.0)["alerts"][0]["was"] == ""


HOSTILE = "</main><script>alert(1)</script>\"'&"


def test_report_page_escapes_texts_and_loads_nothing(tmp_path: Path) -> None:
    flags = {"b": [Flag(task="b", reason=HOSTILE, at=1.0)]}
    findings = [finding("valid", "a"), finding("broken", "b", why=HOSTILE)]
    shown = page(
        findings, tmp_path / "report.html", at=1.0, not_due=[("z", entry())], flags=flags, months=decay([entry()])
    )
    assert "<script" not in shown
    assert 'src="http' not in shown
    assert shown.index("broken</span> <code>b") < shown.index("valid</span> <code>a")
    assert "default-src 'none'" in shown
    data = report_json(findings, at=1.0, not_due=["z"], flags=flags, months=decay([entry()]))
    assert [each["task"] for each in json.loads(json.dumps(data))["tasks"]] == ["b", "a"]
    assert data["counts"] == {"broken": 1, "drifted": 0, "blocked": 0, "site down": 0, "untried": 0, "valid": 1}


def test_report_page_embeds_screenshots_before_and_after(tmp_path: Path) -> None:
    screenshots = tmp_path / "attempt-1" / "screenshots"
    screenshots.mkdir(parents=True)
    for name in ("000.jpg", "001.jpg", "002.jpg", "final.jpg"):
        (screenshots / name).write_bytes(name.encode())
    broken = finding("broken", attempt=str(screenshots.parent))
    broken = replace(broken, parts=tuple(replace(part, status="broken", step=1) for part in broken.parts[:1]))

    def pictured(found: TaskFinding) -> list[str]:
        import base64
        import re

        shown = page([found], tmp_path / "report.html", at=1.0, not_due=[], flags={}, months=())
        return [base64.b64decode(each).decode() for each in re.findall(r"base64,([^\"]+)", shown)]

    assert pictured(broken) == ["001.jpg", "002.jpg"]
    assert pictured(replace(broken, status="valid")) == ["000.jpg", "final.jpg"]


def test_report_lines_name_tasks_that_are_not_valid() -> None:
    found = [finding("valid", "a"), finding("broken", "b", why="word " * 100)]
    report = list(lines(found, {"a": [Flag(task="a", reason="odd", at=1.0)]}))
    assert report[0].split()[:2] == ["broken", "1"]
    assert any(line.startswith("broken: b (") for line in report)
    assert "  reported: odd" in report
    assert all(len(line) <= 80 for line in report)


def test_unusable_history_folder_is_an_error(tmp_path: Path) -> None:
    history = History(tmp_path / "taken")
    (tmp_path / "taken").write_text("")
    with pytest.raises(RecordingError, match=r"expected to write .*history\.jsonl"):
        history.add(entry())
    with pytest.raises(UsageError, match=r"history\.jsonl: expected a readable file"):
        History(tmp_path / "taken")


def test_reviews_are_counted_and_open_ones_listed(tmp_path: Path) -> None:
    cleo = Opinion(who="cleo", verdict="disagrees", about="the address is not needed")
    reviewed = {
        "a": None,
        "b": Review(annotator="ada", reviewers=(cleo,)),
        "c": Review(annotator="ada", of=("00000000",)),
        "d": Review(annotator="ada"),
    }
    found = [finding("valid", id).with_review(buy(id=id, review=review)) for id, review in reviewed.items()]
    report = list(lines(found, {}))
    assert report[1] == "reviews: 1 annotated, 1 disputed, 1 changed since, 1 none"
    assert "  review: cleo: the address is not needed" in report
    digest = buy(id="c").digest[:8]
    assert f"  review: the task has changed since it was looked at; it is {digest} now" in report
    assert not any(line.startswith(("valid: a", "valid: d")) for line in report)
    data = report_json(found, at=1.0, not_due=[], flags={}, months=())
    assert data["reviews"] == {"annotated": 1, "disputed": 1, "changed since": 1, "none": 1}
    assert [(each["review"], each["disagreements"]) for each in data["tasks"]][1] == (
        "disputed",
        ("cleo: the address is not needed",),
    )
    shown = page(found, tmp_path / "report.html", at=1.0, not_due=[], flags={}, months=())
    assert "Review: cleo: the address is not needed" in shown
    assert list(lines([finding("valid")], {}))[1:] == []  # no reviews are kept there
