"""Whole trials on a test page: every step that a solution may have, and native dialogs for agents that answer them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.agents.shipped import agent_directories
from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.checks import find_grading
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.sites.protocol.messages import ReleaseReport
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.model_server import Answer, call, model_server, say

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Try = Callable[..., TrialRecord]

BOARD = """<title>Board</title><body>
<div id=card draggable=true ondragstart="event.dataTransfer.setData('text', 'card')">Card</div>
<div id=done ondragover="event.preventDefault()" ondrop="say('dropped')">Done</div>
<input type=file id=file onchange="say(this.files[0].name)">
<button onclick="setTimeout(() => document.body.append('late'), 300)">Later</button>
<button onclick="say(confirm('Sure?'))">Delete</button>
<button onclick="say(prompt('Who?', 'Ada'))">Sign</button>
<p id=log></p>
<script>
const log = document.getElementById('log')
log.textContent = sessionStorage.log || ''
function say(what) { log.textContent += what + ' '; sessionStorage.log = log.textContent }
if (performance.getEntriesByType('navigation')[0].type == 'reload') say('again')
</script>"""
SOLVED = """
intent: Tidy the board up.
sites: [board]
checks: [{page: {locate: css=#log, exact: "dropped cv.pdf false Ada Grace again"}}]
solution:
  - drag: {css=#card: css=#done}
  - upload: {css=#file: cv.pdf}
  - click: text=Later
  - wait: 0.2
  - click: text=Delete
  - dismiss_dialog
  - click: text=Sign
  - accept_dialog
  - click: text=Sign
  - accept_dialog: Grace
  - reload
"""
PRESSED = """
intent: Press Later.
sites: [board]
checks:
  - key_nodes:
      - url: {includes: /}
      - element: css=body > button
      - value: {locate: css=button, exact: Later}
solution:
  - click: text=Later
  - wait: 0.5
"""
ASKED = """
intent: Press Delete, but change your mind.
sites: [board]
checks: [{page: {locate: css=#log, exact: "false"}}]
"""


@pytest.fixture
def attempt(engine: BrowserEngine, web: Web, quick: Deadlines, tmp_path: Path) -> Try:
    """Run one trial on the site ``board``."""
    web.put("/", BOARD)
    (tmp_path / "cv.pdf").write_text("me")

    class Lease:
        reach: ClassVar[dict[str, str]] = {}
        own_addresses = OwnAddresses({})
        live: ClassVar[dict[str, str]] = {}
        sites: ClassVar = {
            "board": SimpleNamespace(
                name="board",
                url="http://a.test",
                start="http://a.test/",
                app="board",
                forbid_side_effects=False,
                login=None,
                users={},
                default_user="",
            )
        }
        replicas = ()

        def requests(self) -> tuple[()]:
            return ()

        def mark(self, *, required: bool = False) -> None: ...

        def changes(self) -> tuple[()]:
            return ()

        def unrecorded(self) -> tuple[()]:
            return ()

        def check(self, *, ask: bool = False) -> None: ...

        def release(self) -> ReleaseReport:
            return ReleaseReport()

        def own_answer(self, url: str, *, harness: bool = False) -> str:
            return ""

        def wait_until_quiet(self, **how: Any) -> tuple[()]:
            return ()

        def wait_for_writes(self, seconds: float, **more: float) -> tuple[()]:
            return ()

    class Resources:
        def keeper(self, users: Mapping[str, str]) -> Any:
            return None

        def engine(self) -> BrowserEngine:
            return engine

        def session_config(self, lease: object, state: Mapping[str, Any] | None) -> SessionConfig:
            return SessionConfig(proxy=web.proxy, deadlines=quick, uploads={"cv.pdf": tmp_path / "cv.pdf"})

        def lease(self, sites: Sequence[str], *, users: Mapping[str, str], holder: str, **reach: Any) -> Any:
            return nullcontext(Lease())

        def login_state(self, lease: Any, users: Mapping[str, str]) -> None:
            return None

    def attempt(
        task: Task, agent: str, overrides: Overrides | None = None, trial: int = 1, grading: str = "repaired"
    ) -> TrialRecord:
        definition = resolve_agent(agent, agent_directories(), overrides)
        limits, options = EpisodeLimits(steps=15, seconds=30), TrialOptions(grading=find_grading(grading))
        plan = TrialPlan(task=task, agent=definition, trial=trial, limits=limits, options=options)
        folder = RunDir(tmp_path / "run").folder(TrialKey(task.id, definition.id, trial))
        return run_trial(plan, Resources(), folder)

    return attempt


def test_solution_can_drag_upload_wait_reload_and_answer_dialogs(attempt: Try, tmp_path: Path) -> None:
    record = attempt(make_task(SOLVED), "oracle")
    assert record.outcome == "passed", record.message
    assert record.environment["dialogs"] == "hold"
    again = Overrides(options=(("run", str(tmp_path / "run")), ("agent", "oracle")))
    repeated = attempt(make_task(SOLVED), "replay", again)
    assert (repeated.outcome, repeated.environment["dialogs"]) == ("passed", "hold"), repeated.message


def test_pages_are_stored_only_for_the_grading_that_reads_them(attempt: Try, tmp_path: Path) -> None:
    (folder,) = {attempt(make_task(PRESSED), "oracle").key.folder}
    kept = tmp_path / "run" / "trials" / folder / "attempt-1"
    assert not (kept / "pages").exists()
    assert read_evidence(kept).pages == ()

    record = attempt(make_task(PRESSED), "oracle", trial=2, grading="webcanvas-code")
    assert record.outcome == "passed", record.message
    assert (record.grading, set(record.verdicts)) == (
        "webcanvas-code",
        {"webcanvas-code", "webcanvas-paper", "repaired"},
    )
    assert [part["points"] for part in record.verdicts["webcanvas-code"]["results"][0]["parts"]] == [1, 1, 1]
    scores = {name: verdict["score"] for name, verdict in record.verdicts.items()}
    assert scores["webcanvas-paper"] == 1
    assert scores["repaired"] == pytest.approx(2 / 3)  # a button is no field, and has no value
    assert 0 < record.seconds["pages"] < record.seconds["episode"]
    evidence = read_evidence(tmp_path / "run" / "trials" / record.key.folder / "attempt-1")
    assert [(page.step, page.url) for page in evidence.pages] == [(step, "http://a.test/") for step in range(3)]
    assert "late</body>" not in evidence.pages[0].html
    assert "late</body>" in evidence.pages[2].html


def clicker(body: dict[str, Any]) -> Answer:
    """A model that presses Delete, dismisses the dialog, and stops."""
    text = str(body["messages"][-1]["content"])
    button = re.search(r"\[(\d+)\] button 'Delete'", text)
    if "A dialog is open: confirm 'Sure?'" in text:
        return call("dismiss_dialog") if "tools" in body else say("```press [Escape]```")
    if button is None or re.search("StaticText '(true|false)", text):
        return call("stop", answer="") if "tools" in body else say("```stop []```")
    return call("click", element=button[1]) if "tools" in body else say(f"```click [{button[1]}]```")


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("agent", "option", "policy", "kinds"),
    [
        ("tools", (), "hold", ["click", "dismiss_dialog", "stop"]),
        ("cot", (("dialogs", "hold"),), "hold", ["click", "press", "stop"]),
        ("cot", (), "accept", ["click", "stop"]),  # its grammar has no words for dialogs
    ],
)
def test_dialogs_are_held_for_agents_that_can_answer_them(
    attempt: Try,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    agent: str,
    option: tuple[tuple[str, str], ...],
    policy: str,
    kinds: list[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with model_server(clicker) as server:
        endpoint = ("endpoint.base_url", server.url)
        record = attempt(make_task(ASKED), agent, Overrides(options=(endpoint, *option)))
    (folder,) = (tmp_path / "run" / "trials").iterdir()
    steps = (folder / "attempt-1" / "steps.jsonl").read_text()
    assert re.findall(r'"kind": ?"(\w+)"', steps) == kinds, record.message
    assert record.environment["dialogs"] == policy
    assert record.outcome == ("passed" if policy == "hold" else "failed"), record.message
