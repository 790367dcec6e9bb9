"""The perimeter: modules that users may import, the names in each, their examples; and that docs name no others."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.unit.import_graph import imported_with, module_name, sources
from tests.unit.test_process_imports import HEAVY

ROOT = Path(__file__).parents[2]

PUBLIC: dict[str, str] = {
    "actions": (
        "AcceptDialog Action Back ByScript Check Click CloseTab DismissDialog Drag Element FocusTab Forward Goto Hover "
        "Invalid NewTab Noop Note Point Press PressFocused Reload Scroll Search Select Selector Stop Target Type "
        "TypeFocused Upload Wait answers_dialogs as_record infeasible"
    ),
    "agents": (
        "Agent AgentDefinition AgentLimits Assignment Grammar InputImage Observation Remembered Remembering Reply "
        "SelfDriving TaskView grammar grammars known_agents parse_call resolve_agent tools"
    ),
    "answers": (
        "ANSWER_FORMATS AnswerFormat AskedFormat RESPONSE_SCHEMA Response STATUSES TASK_TYPES UNACHIEVABLE "
        "as_response as_text instructions plain_text read_response"
    ),
    "checks": (
        "CHECK_SECONDS Captioner CheckResult EvidenceSource GRADINGS Grading Judgement Kind Live Needs ORIGINAL Page "
        "REPAIRED Rows State VERIFIED Verdict View collect find_grading find_kind judge judge_all judge_all_bounded "
        "judge_bounded kind_names needs register"
    ),
    "errors": (
        "AgentAbsent AgentError BrowserError BrowserLost BudgetError Cause ControlResult DeclaredError HarnessError "
        "JudgeError ModelError NetworkChanged PageUnusable Problem RecordingError RunChanged SiteAbsent "
        "SiteBlocked SiteBusy SiteError SiteKeepsAddress SiteMissing SiteRestless SiteUnanswered SiteUnreached "
        "SiteUnready SiteYielded TaskError TaskFailed TaskFileError TaskFileWarning "
        "TooLarge TrialError Unready UsageError WebArenaError closest error_of recording unwritten writing"
    ),
    "evidence": (
        "Evidence JsonValue LONGEST_PAGE LONGEST_REPLY LONGEST_TEXT Probe QuietWait ReachedSite RequestRecord "
        "SCHEMA_VERSION ScriptAct SeenPage SignedIn StepRecord StopReason TabState TargetRecord Unfinished Unrecorded "
        "Usage cut"
    ),
    "extending": (
        "AppManifest Backend BackendContext Bool Choice Convert Either Fault Form Int Json KeepingBackend KeepsLogs "
        "ListOf MapOf Number Page PausingBackend Record Replica Rows Text WatchingBackend"
    ),
    "fixtures": (
        "AgentDefinition AgentOf EpisodeLimits Geolocation Grading JudgeSettings Lease ObservationConfig "
        "RecordPolicy Session SessionConfig SignIn Task TrialRecord WebArena"
    ),
    "gym": "ENV_ID TasksEnv",
    "reports": "write_allure_results",
    "results": (
        "Attempt AttemptWriter JudgeRecord Rate RunDir Summary TrialFolder TrialKey TrialRecord summarise "
        "wilson_interval"
    ),
    "tasks": (
        "Address ApiRequest BrowserSetup Check Limits Location NodeLimits Report SetupStep SqlSetup Start Task "
        "digest duplicate_ids load_tasks parse_tasks read_tasks resolve validate"
    ),
    "testing": "ScriptedAgent make_evidence make_observation make_task play verdict",
}
"""Modules and their names. To add a name is free; to take one away breaks somebody's project."""

ALSO: dict[str, str] = {
    "Check": "the action is called as in Playwright, `checkbox.check()`; a task's check as everywhere",
    "Invalid": "the action; and the mark that reading a task file puts in the place of what is wrong in it",
    "Page": "protocols: each says what may be read of a page by a check, by a form, by who proves or replays steps",
    "Rows": "what SQL gives; checks know the protocol, backends make the value",
    "Unit": "apps that depend on each other; and, as everybody says, what a number is measured in",
}
"""Public names and words of the glossary that two classes have all the same, and why."""

NEEDS_EXTRAS = {"gym"}
TOLERANT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def module_of(name: str) -> object:
    if name in NEEDS_EXTRAS:
        pytest.importorskip("gymnasium")
    return importlib.import_module(f"pytest_webarena.{name}")


@each_case("name", PUBLIC)
def test_the_names_of_public_modules_are_pinned(name: str) -> None:
    module = module_of(name)
    assert sorted(vars(module)["__all__"]) == sorted(PUBLIC[name].split())
    for public in PUBLIC[name].split():
        assert getattr(module, public) is not None


def test_public_modules_import_nothing_heavy() -> None:
    """One process imports all of them; what is heavy is reported with the first of them that imports it."""
    light = sorted(set(PUBLIC) - NEEDS_EXTRAS)
    assert {name: set(HEAVY) & names for name, names in imported_with(*light).items()} == {
        name: set() for name in light
    }


@each_case("name", PUBLIC)
def test_every_public_module_has_examples_and_they_run(name: str) -> None:
    module = module_of(name)
    finder = doctest.DocTestFinder(recurse=False)
    examples = finder.find(module, name)
    for public in PUBLIC[name].split():
        member = getattr(module, public)
        if inspect.isclass(member) or inspect.isfunction(member):
            home = sys.modules[member.__module__]
            examples += finder.find(member, public, module=home, globs={**vars(module), **vars(home)})
    assert any(test.examples for test in examples if test.name == name), "its docstring shows nothing"
    runner = doctest.DocTestRunner(optionflags=TOLERANT)
    for test in examples:
        runner.run(test)
    assert runner.summarize().failed == 0


def glossary() -> set[str]:
    """The words of ARCHITECTURE.md's table, as classes would be called by them."""
    table = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("| word | meaning |")[2].partition("\n\n")[0]
    words = {
        word.strip().title() for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE) for word in row.split(",")
    }
    return {word.replace(" ", "").replace("-", "") for word in words}


def test_a_public_name_or_a_word_of_the_glossary_is_one_class_inside_as_well() -> None:
    public = {name for names in PUBLIC.values() for name in names.split()} | glossary()
    defined: dict[str, set[str]] = {}
    for path in sources():
        module = module_name(path)
        if not module.startswith(("embedded", "commands.starter")):  # programs of their own, with words of their own
            for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE):
                defined.setdefault(name, set()).add(module)
    assert {name: sorted(defined[name]) for name in public - ALSO.keys() if len(defined.get(name, ())) > 1} == {}
    assert {name for name in ALSO if len(defined[name]) < 2} == set()


def test_every_helper_for_tests_has_an_example() -> None:
    from pytest_webarena import testing

    assert [name for name in testing.__all__ if ">>>" not in (getattr(testing, name).__doc__ or "")] == []


def names_in(text: str) -> set[str]:
    """Dotted names of this package in a text: those that readers import, not those that they run or edit."""
    text = re.sub(r"python -m pytest_webarena[\w.]*", "", text)
    return set(re.findall(r"\bpytest_webarena\.[a-z_]+(?:\.\w+)*", text))


def is_public(dotted: str) -> bool:
    module, _, name = dotted.removeprefix("pytest_webarena.").partition(".")
    return module in PUBLIC and (not name or name in PUBLIC[module].split())


def documents() -> list[Path]:
    tracked = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", "docs", "README.md", "agents", "tasks", "conftest.py"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    found = [ROOT / name for name in tracked] or [
        *ROOT.glob("docs/**/*"),
        ROOT / "README.md",
        *ROOT.glob("agents/**/*"),
    ]
    return [path for path in found if path.suffix in (".md", ".py", ".yaml")]


def test_docs_send_nobody_elsewhere() -> None:
    found = [f"{path.relative_to(ROOT)}: {name}" for path in documents() for name in names_in(path.read_text("utf-8"))]
    assert found, "there is something to look at"
    assert [each for each in found if not is_public(each.partition(": ")[2])] == []


def test_a_private_name_is_noticed() -> None:
    text = "from pytest_webarena.agents.protocol import Reply; `pytest_webarena.agents.Reply`"
    assert sorted(filter(is_public, names_in(text))) == ["pytest_webarena.agents.Reply"]
    assert {name for name in names_in(text) if not is_public(name)} == {"pytest_webarena.agents.protocol"}
