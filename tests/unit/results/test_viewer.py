"""Content of the page of ``webarena view``. Browser tests cover its look and behaviour."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.results import Attempt, RunDir
from pytest_webarena.results.records import MemoryUse
from pytest_webarena.results.viewer import write_view

from ...made_up import PICTURE, UNDECIDED, graded, make_run, make_trial

HOSTILE = "</script><script>alert(1)</script><!--<script> \"'&amp; \ud800 \x00 ${x} `"


class Page(HTMLParser):
    """Elements of a parsed page, and its scripts by id with their texts."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: dict[str, tuple[str, str]] = {}
        self.policy = ""
        self._open: tuple[str, str] | None = None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = {name: value or "" for name, value in attrs}
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag in ("script", "style"):
            self._open = (values.get("id", tag), values.get("type", tag))
            self.scripts[self._open[0]] = (self._open[1], "")

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            kind, text = self.scripts[self._open[0]]
            self.scripts[self._open[0]] = (kind, text + data)

    def index(self) -> Any:
        return json.loads(self.scripts["index"][1])

    def trial(self, task: str) -> Any:
        (packed,) = [text for name, (_, text) in self.scripts.items() if name.startswith(f"trial-{task}.")]
        return json.loads(gzip.decompress(base64.b64decode(packed)))

    def picture(self, address: str) -> bytes:
        return base64.b64decode(self.scripts[address.removeprefix("#")][1])


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "run")


def page(run: RunDir, **options: Any) -> Page:
    write_view(run, run.path / "view.html", **options)
    return Page(run.path / "view.html")


def test_raw_text_is_empty_for_values_of_python_agents(run: RunDir) -> None:
    click = {"kind": "click", "target": {"id": "4"}, "button": "left", "count": 1, "modifiers": []}
    value = "Click(target=Element(id='4'), button='left', count=1, modifiers=())"
    make_trial(run, "buy", steps=[{"action": click, "raw": value}, {"action": click, "raw": "```click [4]```"}])
    (attempt,) = page(run).trial("buy")["attempts"]
    assert [frame["raw"] for frame in attempt["frames"]] == ["", "```click [4]```"]


def test_trial_frames_have_pictures_observations_and_network(run: RunDir) -> None:
    made = make_trial(run, "buy")
    shown = page(run)
    (row,) = shown.index()["trials"]
    assert (row["task"], row["outcome"], row["steps"], row["seconds"]) == ("buy", "passed", 2, 3.0)
    detail = shown.trial("buy")
    assert detail["record"] | {"manifests": {}, "run": ""} == json.loads(json.dumps(made.to_json()))
    (attempt,) = detail["attempts"]
    assert [frame["title"] for frame in attempt["frames"]] == ["Click “Save”", "Answer “rye”"]
    first = attempt["frames"][0]
    assert (first["raw"], first["observation"]) == ("click [4]", "observation 0")
    assert shown.picture(first["picture"]) == PICTURE
    assert attempt["network"] == [[0.0, 200, "GET", "http://s.test/", ""]]
    assert attempt["tabs"] == [{"url": "http://s.test/end", "title": "The end", "active": True}]


def test_model_agent_trial_shows_calls_cost_and_memory(run: RunDir) -> None:
    used = Usage(calls=2, input_tokens=1500, output_tokens=20, cost=0.25)
    call = {"purpose": "action", "model": "m", "sampling": {}, "tools": [], "messages": [], "error": "HTTP 500"}
    made = make_trial(
        run,
        steps=[{"usage": used, "retries": 1, "model_calls": "model_calls/000.json"}],
        usage=used,
        model="m",
        memory=MemoryUse(scope="task", of="t", trials=1, after="t.a.1-00", wrote=True),
    )
    attempt = run.folder(made.key).path / "attempt-1"
    (attempt / "model_calls").mkdir()
    (attempt / "model_calls" / "000.json").write_text(json.dumps({"calls": [call]}))
    (attempt / "memory-before.txt").write_text("tea is on page 2")
    shown = page(run)
    detail = shown.trial("t")
    frame = detail["attempts"][0]["frames"][0]
    assert (frame["model"], frame["retries"]) == ("$0.2500, 1,500 tokens in, 20 out, 2 calls", 1)
    assert frame["model_calls"] == "===== call 1 of 1 (action): m\n--- no reply: HTTP 500"
    assert detail["attempts"][0]["notes"] == [["Shown of earlier trials", "tea is on page 2"]]
    assert detail["words"]["memory"].startswith("of the task t: shown 1 earlier trial")
    assert shown.index()["cost"] == {"a": "$0.2500, 1,500 tokens in, 20 out, 2 calls"}


def test_recorded_texts_add_no_elements_to_the_page(run: RunDir) -> None:
    steps = [{"raw": HOSTILE, "error": HOSTILE, "url_before": HOSTILE}]
    harmless = make_run(run.path.parent / "harmless")
    make_trial(harmless, steps=[{}])
    make_trial(run, intent=HOSTILE, answer=HOSTILE, tags=(HOSTILE,), category=HOSTILE, sites=(HOSTILE,), steps=steps)
    shown = page(run)
    assert shown.tags == page(harmless).tags
    assert shown.index()["trials"][0]["intent"] == HOSTILE
    assert shown.trial("t")["attempts"][0]["frames"][0]["raw"] == HOSTILE


def test_content_security_policy_allows_only_own_script_and_style(run: RunDir) -> None:
    make_trial(run)
    shown = page(run)
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(shown.scripts[name][1].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in shown.policy
    assert "default-src 'none'" in shown.policy
    assert not re.search(r"\b(src|href)=", (run.path / "view.html").read_text().partition('id="index"')[0])


def test_repeated_screenshot_is_embedded_once(run: RunDir) -> None:
    for task in ("a", "b", "c"):
        make_trial(run, task)
    shown = page(run)
    assert sum(name.startswith("picture-") for name in shown.scripts) == 1
    assert json.loads(shown.scripts["pictures"][1]) == {"inside": 1, "linked": 0}


def test_pictures_beyond_budget_are_linked_and_failures_embedded_first(run: RunDir) -> None:
    for task, outcome in (("a-passed", "passed"), ("b-failed", "failed"), ("c-error", "error")):
        made = make_trial(run, task, outcome)
        for number, shot in enumerate(sorted((run.folder(made.key).path / "attempt-1" / "screenshots").iterdir())):
            shot.write_bytes(PICTURE + task.encode() + bytes([number]))
    shown = page(run, picture_budget=6 * (len(PICTURE) + 10))
    pictures = {
        task: [frame["picture"] for frame in shown.trial(task)["attempts"][0]["frames"]]
        for task in ("a-passed", "b-failed", "c-error")
    }
    assert all(name.startswith("#") for task in ("b-failed", "c-error") for name in pictures[task])
    assert not any(name.startswith("#") for name in pictures["a-passed"])
    assert all((run.path / unquote(name)).read_bytes().startswith(PICTURE) for name in pictures["a-passed"])


def test_images_of_the_intent_are_shown(run: RunDir) -> None:
    made = make_trial(run)
    inputs = run.folder(made.key).path / "attempt-1" / "intent_images"
    inputs.mkdir()
    for number in range(11):
        (inputs / f"{number}.gif").write_bytes(b"GIF89a" + bytes([number]))
    shown = page(run)
    names = shown.trial("t")["attempts"][0]["inputs"]
    assert [base64.b64decode(shown.scripts[name[1:]][1])[-1] for name in names] == list(range(11))


def test_screenshot_links_work_with_special_characters_in_paths(tmp_path: Path) -> None:
    run = make_run(tmp_path / "50% #1? run")
    make_trial(run)
    write_view(run, tmp_path / "view.html", picture_budget=0)
    (address, *_) = [frame["picture"] for frame in Page(tmp_path / "view.html").trial("t")["attempts"][0]["frames"]]
    assert address.startswith("50%25%20%231%3F%20run/trials/")
    elsewhere = tmp_path / "elsewhere" / "view.html"
    write_view(run, elsewhere, picture_budget=0)
    (address, *_) = [frame["picture"] for frame in Page(elsewhere).trial("t")["attempts"][0]["frames"]]
    assert address.startswith("file:///")
    assert Path(unquote(address.removeprefix("file://"))).is_file()


def test_all_attempts_are_shown(run: RunDir) -> None:
    make_trial(run, outcome="error", message="connection refused", evidence=False)
    attempts = (
        Attempt(number=1, outcome="error", cause="site", message="connection refused"),
        Attempt(number=2, outcome="passed"),
    )
    make_trial(run, attempts=attempts)
    first, second = page(run).trial("t")["attempts"]
    assert (first["outcome"], first["cause"], first["message"]) == ("error", "site", "connection refused")
    assert len(first["frames"]) == 2
    assert (second["number"], second["outcome"]) == (2, "passed")


def test_trial_without_steps_is_shown(run: RunDir) -> None:
    make_trial(run, outcome="error", steps=(), evidence=False, cause="harness", message="the worker died")
    detail = page(run).trial("t")
    assert detail["attempts"][0]["frames"] == []
    assert detail["record"]["message"] == "the worker died"


def test_frames_without_pictures_are_shown(run: RunDir) -> None:
    made = make_trial(run)
    run.folder(made.key).drop_pictures()
    frames = page(run).trial("t")["attempts"][0]["frames"]
    assert [(frame["picture"], frame["observation"]) for frame in frames] == [("", "")] * 2


def test_view_of_empty_run_and_of_missing_run(run: RunDir, tmp_path: Path) -> None:
    assert page(run).index()["trials"] == []
    with pytest.raises(UsageError, match="expected a run directory"):
        write_view(RunDir(tmp_path / "nothing"), tmp_path / "view.html")
    assert not (tmp_path / "view.html").exists()


def test_undecided_trials_are_marked(run: RunDir) -> None:
    make_trial(run, "open", "failed", **UNDECIDED)
    make_trial(run, "wrong", "failed")
    shown = page(run)
    assert {row["task"]: row["outcome"] for row in shown.index()["trials"]} == {"open": "undecided", "wrong": "failed"}
    assert shown.index()["summary"]["agents"]["a"]["rate"]["undecided"]["value_if_met"] == 0.5


def test_page_has_verdicts_of_all_gradings(run: RunDir) -> None:
    make_trial(run, "webarena.1", **graded(repaired=1, original=0, verified=None))
    make_trial(run, "own")
    shown = page(run)
    assert [row["gradings"] for row in shown.index()["trials"]] == [
        {},
        {"repaired": True, "original": False, "verified": None},
    ]
    assert shown.index()["summary"]["gradings"]["a"]["rates"]["verified"]["errors"] == 1
    assert shown.trial("webarena.1")["record"]["verdicts"]["original"]["passed"] is False


def test_page_says_why_sites_were_reset(run: RunDir) -> None:
    made = make_trial(run, resets={"shop": "POST http://shop.test/cart"})
    assert page(run).trial(made.key.task)["words"]["reset after"] == "shop: POST http://shop.test/cart"
