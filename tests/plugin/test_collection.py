"""Collection of task files as native pytest items."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_webarena.tasks.validate import validate


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and " " not in line]


def collect(pytester: pytest.Pytester, *args: str) -> list[str]:
    return ids(pytester.runpytest("--collect-only", "-q", *args))


def test_each_task_is_collected_as_item(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("one", "two")
    assert collect(canned) == ["tasks/demo.yaml::one[chromium]", "tasks/demo.yaml::two[chromium]"]
    result = canned.runpytest("-v", "-rA")
    result.assert_outcomes(passed=2)


def test_other_yaml_and_json_files_are_not_collected(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("one")
    files = {
        "compose.yaml": "services:\n  web: {image: nginx}\n",
        "tasks/main.yml": "- name: an ansible task\n  apt: {name: nginx}\n",
        "workflow.yaml": "jobs:\n  a:\n    steps: []\n",
        "data.json": "{}",
    }
    for name, text in files.items():
        (canned.path / name).write_text(text)
    assert collect(canned) == ["tasks/demo.yaml::one[chromium]"]


ONE = "sites: [], intent: Say ok., checks: [{answer: ok}]"
STYLES = {
    "flow": f"tasks:\n  - {{id: ID, {ONE}}}\n",
    "all_flow": f"{{defaults: {{sites: []}}, tasks: [{{id: ID, {ONE}}}]}}\n",
    "quoted": '"tasks":\n  - "id": ID\n    "intent": Say ok.\n    "sites": []\n    "checks": [{answer: ok}]\n',
    "spaced": "tasks :\n  - ? id\n    : ID\n    ? 'intent'\n    : Say ok.\n    sites: []\n    checks: [{answer: ok}]\n",
    "late": "#" + "x" * 70_000 + f"\ndefaults: {{sites: []}}\ntasks:\n- {{id: ID, {ONE}}}\n",
    "far": f"tasks:\n- id: ID\n  sites: []\n  checks: [{{answer: ok}}]  #{'x' * 70_000}\n  intent: Say ok.\n",
    "marked": f"\ufeff%YAML 1.1\n---\ntasks:\n- {{id: ID, {ONE}}}\n",
}


def test_folder_collects_the_tasks_that_validate_finds_in_any_yaml_style(canned: pytest.Pytester) -> None:
    folder = canned.path / "suite"
    folder.mkdir()
    for style, text in STYLES.items():
        (folder / f"{style}.yaml").write_text(text.replace("ID", style), encoding="utf-8")
    report = validate([folder])
    assert report.valid, report.problems
    found = collect(canned, "suite")
    assert sorted(found) == sorted(f"suite/{task.id}.yaml::{task.id}[chromium]" for task in report.tasks)
    assert len(found) == len(STYLES)


def test_syntax_error_in_task_file_is_a_collection_error(canned: pytest.Pytester) -> None:
    (canned.path / "torn.yaml").write_text('"tasks":\n  - {id: torn, intent: Say ok., checks: [{answer: ok}\n')
    result = canned.runpytest(".")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*torn.yaml:*"])


FOREIGN = {
    "Taskfile.yml": "version: 3\ntasks:\n  build: {desc: 'the intent: build', cmds: [make]}\n",
    "pipeline.yaml": "kind: Pipeline\nspec:\n  tasks:\n    - name: a\n      intent: none\n",
    "play.yml": "- hosts: all\n  tasks:\n    - {name: a, intent: b}\n",
    "hooks.yaml": "- {id: a, checks: [b], solution: c}\n",
    "story.yml": "intent: greet\nsteps: [{checks: []}]\n",
    "stories.yml": "- story: a\n  steps: [{intent: greet, checks: []}]\n",
    "text.yaml": "text: |\n  tasks:\n    - intent: none\n",
    "template.yaml": "a: {{ tasks }}\nb: {% if %}\n",
}


TYPOS = {
    "tasks:\n  - {id: a, intnt: Say ok., sites: [], checks: [{answer: ok}]}\n": "*'intnt' (did you mean 'intent'?)",
    "task:\n  - {id: a, intent: Say ok., sites: [], checks: [{answer: ok}]}\n": "*'task' (did you mean 'tasks'?)",
    "Tasks:\n  - {id: a, intent: Say ok., sites: [], checks: [{answer: ok}]}\n": "*'Tasks' (did you mean 'tasks'?)",
    "task:\n  id: a\n  intent: Say ok.\n  sites: []\n  checks: [{answer: ok}]\n": "*'task' (did you mean 'tasks'?)",
    "- {id: a, intent: Say ok., sites: [], checks: [{answer: ok}]}\n": "*'tasks'*a list of 1*",
    "- id: a\n  intnet: Say ok.\n  checks: [{answer: ok}]\n": "*'tasks'*a list of 1*",
    "id: a\nintent: Say ok.\nsites: []\nchecks: [{answer: ok}]\n": "*'tasks'*found one task (*",
    "id: a\nintnet: Say ok.\nsites: []\nchecks: [{answer: ok}]\n": "*'tasks'*intnet*",
    "tasks:\n  a: {intent: Say ok., sites: [], checks: [{answer: ok}]}\n": "*a list of tasks*a mapping with a*",
    "a: &a\n  intent: Say ok.\n  <<: *a\ntasks: [{<<: *a}]\n": "*found *a inside it",
}


def test_typos_in_task_files_are_collection_errors(canned: pytest.Pytester) -> None:
    (canned.path / "suite").mkdir()
    for number, text in enumerate(TYPOS):
        (canned.path / "suite" / f"a{number}.yaml").write_text(text)
    result = canned.runpytest("suite")
    result.assert_outcomes(errors=len(TYPOS))
    for number, problem in enumerate(TYPOS.values()):
        result.stdout.fnmatch_lines([f"*suite/a{number}.yaml:{problem}"])


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_yaml_file_with_foreign_task_list_is_reported_as_ignored(
    canned: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    folder = canned.path / "suite"
    folder.mkdir()
    for name, text in FOREIGN.items():
        (folder / name).write_text(text)
    result = canned.runpytest("suite", *workers)
    result.assert_outcomes()
    result.stdout.no_fnmatch_line("*YAML file* ignored*")
    (folder / "other.yaml").write_text("tasks:\n  - {id: other, goal: Say ok., assert: ok}\n")
    result = canned.runpytest("suite", *workers)
    result.stdout.fnmatch_lines(["webarena: 1 YAML file ignored: suite/other.yaml (*'intent'*"])
    unrelated = canned.runpytest(*workers)
    unrelated.stdout.no_fnmatch_line("*YAML file* ignored*")


def test_ini_glob_or_explicit_path_collects_any_yaml_file(canned: pytest.Pytester) -> None:
    (canned.path / "suite").mkdir()
    (canned.path / "suite" / "broken.yaml").write_text("task: []\n")
    assert collect(canned) == []
    canned.makeini("[pytest]\nwebarena_tasks = suite/**/*.yaml\n")
    canned.runpytest("--collect-only").stdout.fnmatch_lines(["*suite/broken.yaml:1:1: *"])
    canned.makeini("[pytest]\n")
    canned.runpytest("--collect-only", "suite/broken.yaml").stdout.fnmatch_lines(["*suite/broken.yaml:1:1: *"])


GUIDE = "schema_version: 1\ntask: one\nmade_of: {digest: d}\ngoal: g\ndone_when: [d]\n"
RUBRIC = "# read it\nschema_version: 1\ntask: one\nauthored: {model: m}\nitems: [{points: 1, what: w}]\n"


def test_ini_glob_excludes_guides_and_rubrics(canned: pytest.Pytester) -> None:
    """``webarena judge guide`` and ``webarena judge rubric author`` write them next to tasks, and starters have this
    glob.
    """
    (canned.path / "suite" / "guides").mkdir(parents=True)
    (canned.path / "suite" / "one.yaml").write_text(
        "tasks: [{id: one, intent: Look., sites: [], checks: [answer: x]}]\n"
    )
    guide = canned.path / "suite" / "guides" / "one.yaml"
    canned.makeini("[pytest]\nwebarena_tasks = suite/**/*.yaml\n")
    for text in (GUIDE, RUBRIC, f"{GUIDE}  broken: [\n"):
        guide.write_text(text)
        result = canned.runpytest("--collect-only", "-q", "suite")
        assert result.ret == 0
        result.stdout.fnmatch_lines(["suite/one.yaml::one*"])
    guide.write_text(f"{GUIDE}tasks: []\n")
    canned.runpytest("--collect-only", "suite").stdout.fnmatch_lines(["*suite/guides/one.yaml:*"])


def test_invalid_task_file_is_one_collection_error_without_traceback(canned: pytest.Pytester) -> None:
    (canned.path / "bad.tasks.yaml").write_text(
        "tasks:\n  - id: a\n    intnt: typo\n  - id: a\n    intent: twice\n    checks: []\n"
    )
    result = canned.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*bad.tasks.yaml:3:5: *intnt*intent*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*.py:*")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-k", "two"], ["two"]),
        (["-k", "tag-one"], ["one"]),
        (["-m", "webarena(site='homepage')"], ["three"]),
        (["-m", "webarena(category='information')", "-k", "one"], ["one"]),
        (["tasks/demo.yaml::two"], ["two"]),
    ],
)
def test_pytest_options_select_tasks(
    canned: pytest.Pytester, make_tasks: Callable[..., None], args: list[str], expected: list[str]
) -> None:
    make_tasks("one", "two")
    make_tasks("three", name="sited", sites="[homepage]")
    assert [id.partition("::")[2].partition("[")[0] for id in collect(canned, *args)] == expected


def test_each_agent_and_trial_gets_its_own_item(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("one")
    found = collect(canned, "--trials", "2", "--agent=oracle", "--agent=null")
    assert sorted(found) == sorted(
        f"tasks/demo.yaml::one[{agent}-trial{trial}-chromium]" for agent in ("oracle", "null") for trial in (1, 2)
    )
    canned.runpytest("tasks/demo.yaml::one", "--trials", "3").assert_outcomes(passed=3)


def test_skip_and_xfail_of_task_file_apply(canned: pytest.Pytester) -> None:
    (canned.path / "a.tasks.yaml").write_text(
        "tasks:\n"
        "  - {id: skipped, intent: i, sites: [], checks: [{answer: x}], skip: the site moved}\n"
        "  - {id: wrong-known, intent: i, sites: [], checks: [{answer: x}], xfail: known gap}\n"
        "  - {id: odd-known, intent: i, sites: [], checks: [{answer: x}], xfail: errors are not expected}\n"
    )
    result = canned.runpytest("-rsx")
    result.assert_outcomes(skipped=1, xfailed=1, errors=1)
    result.stdout.fnmatch_lines(["*the site moved*", "*known gap*"])


def test_conftest_can_parametrize_tasks(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("one")
    with (canned.path / "conftest.py").open("a") as file:
        file.write(
            "\ndef pytest_generate_tests(metafunc):\n"
            "    metafunc.fixturenames.append('season')\n"
            "    metafunc.parametrize('season', ['spring', 'autumn'])\n"
        )
    assert len(collect(canned)) == 2


@pytest.mark.usefixtures("real_processes")
def test_collection_imports_no_heavy_package(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    """pytest-playwright imports Playwright when it loads, so this run disables it."""
    make_tasks("one", "two")
    with (canned.path / "conftest.py").open("a") as file:
        file.write(
            "\ndef pytest_collection_finish(session):\n"
            "    import sys\n"
            "    assert len(session.items) == 2\n"
            "    print('HEAVY', sorted({'playwright', 'docker', 'openai', 'django', 'flask'} & set(sys.modules)))\n"
        )
    run = canned.runpytest_subprocess("--collect-only", "-s", "-p", "no:playwright")
    run.stdout.fnmatch_lines(["*HEAVY []"])


def test_switched_off_playwright_is_named(canned: pytest.Pytester, make_tasks: Callable[..., None]) -> None:
    make_tasks("one")
    result = canned.runpytest("-p", "no:playwright")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*-p no:playwright: expected the plugin pytest-playwright, *leave the option out"])


def test_unknown_fact_of_the_mark_that_selects_nothing_has_a_hint(
    canned: pytest.Pytester, make_tasks: Callable[..., None]
) -> None:
    make_tasks("one")
    result = canned.runpytest("-m", "webarena(sit='shop') and not slow")
    result.stderr.fnmatch_lines(["*found 'sit'; did you mean 'site'*-k selects by tags and ids"])
    assert canned.runpytest("-m", "webarena(suite='') or webarena(team='x')").ret != pytest.ExitCode.USAGE_ERROR
    assert canned.runpytest("-m", "webarena(site='shop')").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_debugger_is_preceded_by_the_command_that_does_the_steps(
    canned: pytest.Pytester, make_tasks: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tasks("wrong")
    monkeypatch.setattr("_pytest.debugging.post_mortem", lambda traceback: None)
    result = canned.runpytest("--pdb")
    result.stdout.fnmatch_lines(
        ["the trial is over; do its steps with: webarena tasks try tasks/demo.yaml::wrong --headed", "*entering PDB*"]
    )
