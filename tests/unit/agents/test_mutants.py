"""The audit's plan of trials, and the actions of its agents."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import Click, Goto, Selector, Stop
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.audit_trials import (
    AUDIT_AGENTS,
    CRAWL,
    MUTE,
    NEIGHBOUR,
    ORDER,
    PRIVILEGED,
    SHORT,
    SIBLING,
    SKIP,
    STRAY,
    VALUES,
    AuditTrial,
    audit_trials,
    last_effective_step,
)
from pytest_webarena.checks import EvidenceSource, Judgement, Kind, View
from pytest_webarena.tasks import Task, kinds, load_tasks
from pytest_webarena.tasks.shapes import Text
from pytest_webarena.testing import make_task

SITES = frozenset({"shop"})


@pytest.fixture
def family(tmp_path: Path) -> Any:
    """Return a function that reads the YAML of one task; its ``each`` makes more."""

    def read(text: str) -> list[Task]:
        file = tmp_path / "shop.yaml"
        lines = [line for line in text.strip("\n").splitlines() if line.strip()]
        file.write_text(
            "tasks:\n  - id: t\n    sites: [shop]\n    intent: Do it\n" + "".join(f"    {line}\n" for line in lines)
        )
        return list(load_tasks(file, sites=SITES))

    return read


def plan(tasks: list[Task], index: int = 0, **options: Any) -> dict[str, AuditTrial]:
    return {trial.agent: trial for trial in audit_trials(tasks[index], tasks, **options)}


def agents(tasks: list[Task], index: int = 0) -> list[str]:
    return [trial.agent for trial in audit_trials(tasks[index], tasks)]


@pytest.mark.parametrize(
    ("checks", "ledgers", "sent"),
    [
        ("- state: {sql: select 1, equals: 1}", {"shop"}, True),
        ("- answer: {unachievable: no such thing}", {"shop"}, True),
        ("- answer: Tea", {"shop"}, True),
        ("- answer: Tea", {"forum"}, False),
        ("- answer: Tea", frozenset(), False),
        ("- string_match: {must_include: [Tea]}", {"shop"}, False),  # side effects are not judged in published suites
    ],
)
def test_stray_agent_is_planned_where_side_effects_are_judged(
    family: Any, checks: str, ledgers: set[str], sent: bool
) -> None:
    tasks = family(f"checks:\n  {checks}\nsolution:\n  - goto: /\n  - stop: Tea")
    assert (STRAY in plan(tasks, ledgers=ledgers)) is sent


@pytest.mark.parametrize(
    ("checks", "ledgers", "planned"),
    [
        ("- state: {sql: select 1, equals: 1}", {"shop"}, True),
        ("- state: {sql: select 1, equals: 1}", {"forum"}, False),
        ("- answer: Tea", {"shop"}, False),  # what it writes does not count
        ("- answer: {unachievable: no such thing}", {"shop"}, False),
    ],
)
def test_one_run_of_the_solution_has_its_written_values_changed(
    family: Any, checks: str, ledgers: set[str], planned: bool
) -> None:
    tasks = family(f"checks:\n  {checks}\nsolution:\n  - goto: /\n  - stop: Tea")
    found = plan(tasks, ledgers=ledgers, oracle_runs=3)
    right = [trial.agent for trial in audit_trials(tasks[0], tasks, ledgers=ledgers, oracle_runs=3) if trial.must_pass]
    assert (VALUES in found, len(right)) == (planned, 3)
    looking = family(f"mutates: false\nchecks:\n  {checks}\nsolution:\n  - goto: /\n  - stop: Tea")
    assert (VALUES in plan(looking, ledgers=ledgers)) is planned  # a query that guards is asked again
    pages = family("mutates: false\nchecks:\n  - url: /\nsolution:\n  - goto: /\n  - stop: Tea")
    assert VALUES not in plan(pages, ledgers=ledgers)


FORM = """
start: shop:/new
solution:
  - fill: {css=#title: Tea, css=#body: Green}
  - click: role=button[name="Save"]
  - stop
"""


def test_right_solution_in_another_order_ends_on_another_page(family: Any) -> None:
    tasks = family(f"checks:\n  - state: {{sql: select 1, equals: 1}}\n{FORM}")
    other = plan(tasks, ledgers=SITES)[ORDER]
    solution = tasks[0].solution
    assert solution is not None
    first, second, save, stop = solution
    assert other.task.solution == (second, first, save, Goto("shop:/new"), stop)
    assert other.manner == (
        "replaying the solution, doing steps 1 and 2 in the other order and opening the start page at the end"
    )
    assert not other.must_pass  # it may end otherwise


@pytest.mark.parametrize(
    ("checks", "form", "manner"),
    [
        ("- url: /done", FORM, "replaying the solution, doing steps 1 and 2 in the other order"),
        ("- url: /done", FORM.replace(", css=#body: Green", ""), ""),
        ("- url: /done", FORM.replace(", css=#body: Green}", "}\n  - fill: {css=#title: Rye}"), ""),
        ("- answer: Tea", FORM.replace(", css=#body: Green", "").replace("stop", "stop: Tea"), ""),
    ],
)
def test_other_order_keeps_what_the_checks_look_at(family: Any, checks: str, form: str, manner: str) -> None:
    found = plan(family(f"checks:\n  {checks}\n{form}"), ledgers=SITES)
    assert (found[ORDER].manner if ORDER in found else "") == manner


STATE = "- state: {sql: select 1, equals: 1}"
STEPS = """
solution:
  - goto: /new
  - fill: {css=#title: Tea}
  - click: role=button[name="Save"]
  - stop
"""


def test_state_tasks_get_one_agent_that_does_nothing(family: Any) -> None:
    tasks = family(f"checks:\n  {STATE}\n{STEPS}")
    assert agents(tasks) == ["oracle", "null", SHORT, "oracle", NEIGHBOUR, NEIGHBOUR]
    assert [trial.trial for trial in audit_trials(tasks[0], tasks, oracle_runs=3)] == [1, 1, 1, 2, 3, 1, 2]


def test_answer_tasks_get_all_agents_that_do_nothing(family: Any) -> None:
    assert agents(family("checks: [{answer: blue}]\nsolution: [{stop: blue}]")) == [
        "oracle", "null", "na", "echo", "dump", "oracle",
    ]  # fmt: skip


def test_declared_ground_is_attacked_as_both_accounts() -> None:
    def trials(keys: str) -> dict[str, AuditTrial]:
        checks = f"checks: [{{answer: {{unachievable: only the owner sees it, absent: 7312{keys}}}}}]"
        tried = make_task(f"intent: x\nsites: [shop]\nuser: emma\n{checks}\nsolution: [{{stop: N/A}}]")
        return {trial.agent: trial for trial in audit_trials(tried, [tried])}

    own = trials("")
    assert own[CRAWL].task is own["oracle"].task
    assert PRIVILEGED not in own
    both = trials(", visible_to: {back: owner}")
    assert both[CRAWL].task is both["oracle"].task
    privileged = both[PRIVILEGED].task
    assert (privileged.sites, privileged.user) == (("shop", "back"), {"shop": "emma", "back": "owner"})
    assert privileged.digest != both[CRAWL].task.digest


def test_unachievable_tasks_get_no_na_agent(family: Any) -> None:
    tasks = family("checks: [{answer: {unachievable: no phone}}]\nsolution: [{goto: /contact}, {stop: N/A}]")
    assert agents(tasks) == ["oracle", "null", "echo", "dump", "oracle"]


def test_tasks_without_a_solution_get_no_mutants(family: Any) -> None:
    assert agents(family(f"checks:\n  {STATE}")) == ["oracle", "null"]


def test_checks_of_published_benchmarks_declare_their_evidence(family: Any) -> None:
    answer = "- string_match: {exact_match: a}"
    hopeless = "- string_match: {fuzzy_match: N/A, note: there is none}"
    place = "- url_match: {reference_url: __SHOP__/x}"
    opened = "- program_html: [{url: __SHOP__/x, required_contents: {exact_match: a}}]"
    assert agents(family(f"checks:\n  {answer}")) == ["oracle", "null", "na", "echo", "dump"]
    assert "na" not in agents(family(f"checks:\n  {hopeless}"))
    assert agents(family(f"checks:\n  {place}")) == ["oracle", "null"]
    steps = "solution: [{goto: /a}, {click: text=a}, {goto: /b}]"
    assert last_effective_step(family(f"checks:\n  {place}\n{steps}")[0]) == 2
    assert last_effective_step(family(f"checks:\n  {opened}\n{steps}")[0]) == 1
    assert last_effective_step(family(f"checks:\n  {answer}\n{steps}")[0]) is None


def kind_of_another_package(name: str, *sights: EvidenceSource, says: bool = True) -> Kind[str]:
    def judge(spec: str, view: View) -> Judgement:
        return Judgement.unknown(expected=spec, why="nobody asks")

    return Kind(name=name, doc="Theirs.", form=Text(), judge=judge, looks_at=(lambda spec: sights) if says else None)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (kind_of_another_package("their_data", "data"), ["oracle", "null", SHORT, "oracle", NEIGHBOUR, NEIGHBOUR]),
        (kind_of_another_package("their_place", "place"), ["oracle", "null", SHORT, "oracle", NEIGHBOUR, NEIGHBOUR]),
        (kind_of_another_package("their_answer", "answer"), ["oracle", "null", "na", "echo", "dump", "oracle"]),
        (
            kind_of_another_package("their_rubric", "answer", "data"),  # may check either: no step is known to matter
            ["oracle", "null", "na", "echo", "dump", MUTE, "oracle"],
        ),
        (
            kind_of_another_package("their_secret", says=False),
            ["oracle", "null", "na", "echo", "dump", SHORT, MUTE, "oracle", NEIGHBOUR, NEIGHBOUR],
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else "",
)
def test_third_party_check_kinds_are_audited_by_their_evidence(
    family: Any, monkeypatch: pytest.MonkeyPatch, kind: Kind[str], asked: list[str]
) -> None:
    monkeypatch.setitem(kinds._registered, kind.name, kind)
    steps = STEPS.replace("- stop", "- stop: Tea")
    assert agents(family(f"checks: [{{{kind.name}: x}}]\n{steps}")) == asked


def test_builtin_check_kinds_declare_their_evidence() -> None:
    silent = {name for name in kinds.BUILTIN if getattr(kinds.find_kind(name), "looks_at", None) is None}
    assert silent == {"python", "page_image_query", "verified"}


def test_skipped_task_gets_the_oracle_only(family: Any) -> None:
    assert agents(family(f"checks:\n  {STATE}\nskip: later\n{STEPS}")) == ["oracle"]


@pytest.mark.parametrize(
    ("task", "step"),
    [
        (f"checks:\n  {STATE}\n{STEPS}", 2),
        # A later navigation changes no data, but it changes the current page.
        (f"checks:\n  {STATE}\n{STEPS.replace('- stop', '- click: role=link[name=Home]')}", 2),
        (f"checks:\n  - url: /home\n{STEPS.replace('- stop', '- click: role=link[name=Home]')}", 3),
        (f"checks:\n  - page: {{open: /home, includes: Tea}}\n{STEPS.replace('- stop', '- goto: /home')}", 2),
        (f"checks:\n  - page: {{includes: Tea}}\n{STEPS.replace('- stop', '- goto: /home')}", 3),
        (f"checks:\n  - network: {{url: /home}}\n{STEPS.replace('- stop', '- goto: /home')}", 3),
        (f"checks:\n  - url: /home\n{STEPS.replace('- stop', '- scroll: down')}", 2),
        # With only links and URLs, the last one counts.
        (f"checks:\n  {STATE}\nsolution:\n  - goto: /a\n  - click: role=link[name=Log out]\n", 1),
        # Without its only step it is the null agent.
        (f"checks:\n  {STATE}\nsolution:\n  - goto: /a\n", None),
        # The last step may be a search for the answer, unless the task mutates.
        (f"checks:\n  {STATE}\n  - answer: blue\n{STEPS.replace('- stop', '- stop: blue')}", None),
        (f"mutates: true\nchecks:\n  {STATE}\n  - answer: blue\n{STEPS.replace('- stop', '- stop: blue')}", 2),
        (f"checks:\n  - url: /a\n  - answer: blue\n{STEPS.replace('- stop', '- stop: blue')}", 2),
        ("checks: [{answer: blue}]\nsolution: [{goto: /a}, {goto: /b}, {stop: blue}]", None),
        (f"mutates: true\nchecks:\n  {STATE}\n  - answer: {{unachievable: no phone}}\n{STEPS}", None),
        (f"checks:\n  {STATE}", None),
    ],
)  # fmt: skip
def test_last_effective_step_is_found_from_checks_and_steps(family: Any, task: str, step: int | None) -> None:
    assert last_effective_step(family(task)[0]) == step


def test_short_agent_leaves_out_the_last_effective_step(family: Any) -> None:
    trial = plan(family(f"checks:\n  {STATE}\n{STEPS}"))[SHORT]
    assert [step.kind for step in trial.task.solution or ()] == ["goto", "type", "stop"]
    assert trial.manner == 'leaving out step 3 of 4 (click role=button[name="Save"])'


def test_mute_agent_stops_without_the_answer(family: Any) -> None:
    trials = plan(family(f"checks:\n  {STATE}\n  - answer: blue\n{STEPS.replace('- stop', '- stop: blue')}"))
    steps = trials[MUTE].task.solution
    assert steps is not None
    assert (steps[:-1], steps[-1]) == ((trials["oracle"].task.solution or ())[:-1], Stop(""))


EACH = """
each:
  one: {word: blue}
  two: {word: red}
  three: {word: Blue}
"""


def test_sibling_agent_uses_the_next_task_with_another_answer(family: Any) -> None:
    tasks = family(EACH + 'checks: [{answer: "{{ word }}"}]\nsolution: [{goto: "/{{ word }}"}, {stop: "{{ word }}"}]')
    one, two, three = (plan(tasks, index)[SIBLING] for index in range(3))
    # If only the answer is checked, the sibling agent skips the other steps.
    assert (one.task.solution, two.task.solution) == ((Stop("red"),), (Stop("Blue"),))
    assert three.manner == "replaying the solution of t.two"  # not t.one, whose answer differs in case only


def test_sibling_of_the_same_user_is_preferred(family: Any) -> None:
    each = """
    each:
      one: {word: blue, who: ann}
      two: {word: red, who: bob}
      three: {word: green, who: ann}
    user: "{{ who }}"
    """
    tasks = family(
        "\n".join(line[4:] for line in each.splitlines())
        + '\nchecks: [{url: "/{{ word }}"}]\nsolution: [{goto: "/{{ word }}"}, {click: css=b}]'
    )
    assert [plan(tasks, index)[SIBLING].manner[-5:] for index in range(3)] == ["three", "three", "t.one"]


def test_sibling_with_equal_checks_is_not_used(family: Any) -> None:
    tasks = family(EACH + f'checks:\n  {STATE}\nsolution: [{{goto: "/{{{{ word }}}}"}}, {{click: css=b}}]')
    assert SIBLING not in plan(tasks)
    tasks = family(
        EACH + 'checks: [{answer: {unachievable: "no {{ word }}"}}]\nsolution: [{goto: "/{{ word }}"}, {stop: "N/A"}]'
    )
    assert SIBLING not in plan(tasks)


def test_sibling_agent_replays_all_steps_for_state_checks(family: Any) -> None:
    tasks = family(EACH + 'checks: [{url: "/{{ word }}"}]\nsolution: [{goto: "/{{ word }}"}, {click: css=b}]')
    steps = plan(tasks)[SIBLING].task.solution
    assert steps is not None
    assert steps == tasks[1].solution


def test_mutants_have_their_own_task_digests(family: Any) -> None:
    tasks = family(EACH + 'checks: [{url: "/{{ word }}"}]\nsolution: [{goto: "/{{ word }}"}, {click: css=b}]')
    digests = [trial.task.digest for trial in plan(tasks).values()]
    assert len(set(digests)) == 3  # oracle and null run the task itself
    assert plan(tasks)["oracle"].task is tasks[0]


def seen(error: str = "") -> Any:
    return SimpleNamespace(text="", url="http://shop.test/", error=error)


def test_sibling_agent_skips_to_the_answer_after_a_failed_step() -> None:
    solution = (Goto("/a"), Click(Selector("css=b")), Click(Selector("css=i")), Stop("blue"))
    task = Task(id="t", intent="i", sites=("shop",), solution=solution)
    view = TaskView(intent="i", sites={"shop": "http://shop.test"})
    agent: Any = resolve_agent(SIBLING).make(Assignment(view=view, task=task))
    assert [agent.act(seen(error)) for error in ("left over", "", "no such element")] == [*solution[:2], Stop("blue")]
    agent = resolve_agent(SHORT).make(Assignment(view=view, task=task))
    assert tuple(agent.act(seen()) for _ in solution) == solution


def test_audit_agents_resolve_and_declare_their_privileges() -> None:
    found = {name: resolve_agent(name) for name in AUDIT_AGENTS}
    assert {name for name, agent in found.items() if agent.privileged} == {
        "oracle", SHORT, MUTE, SIBLING, SKIP, STRAY, NEIGHBOUR, VALUES, ORDER, CRAWL, PRIVILEGED,
    }  # fmt: skip
    assert {name for name, agent in found.items() if agent.tampers} == {STRAY}
    assert {name for name, agent in found.items() if agent.changes_values} == {VALUES}
    assert {name for name, agent in found.items() if agent.crawls} == {CRAWL, PRIVILEGED}
    assert len({agent.digest for agent in found.values()}) == len(AUDIT_AGENTS)
