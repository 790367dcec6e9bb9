"""Lines of tasks' steps and of apps' keys."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Location
from pytest_webarena.validation.places import Places, problem_at

TASKS = """\
tasks:
  - id: first
    intent: x
    sites: [shop]
    checks: [{answer: x}]
    solution: [stop]
  - intent: "{{ word }}"
    id: second
    each: {a: {word: x}, b: {word: y}}
    sites: [shop]
    start: /basket
    setup:
      - sql: delete from notes
      - browser: [{goto: /}]
    checks: [{answer: x}]
    solution:
      - fill:
          css=#a: x
          css=#b: y
      - click: {selector: css=#c, count: 2}
      - drag: {css=#a: css=#b}
        repair_selectors: [css=#d]
      - stop: x
"""


def test_place_of_each_part_of_a_task(tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text(TASKS)
    first, *instances = load_tasks(file)
    places = Places()
    assert places.solution_step(first, 0).line == 6
    assert places.start(first) == first.location
    for task in instances:
        assert [places.solution_step(task, index).line for index in range(5)] == [17, 17, 20, 21, 23]
        assert [places.setup_step(task, number).line for number in (1, 2)] == [13, 14]
        assert places.start(task).line == 11


def test_steps_of_defaults_are_at_the_task(tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("defaults: {solution: [stop]}\n" + TASKS.replace("    solution: [stop]\n", ""))
    [task, *_] = load_tasks(file)
    assert Places().solution_step(task, 0) == task.location


def test_place_of_an_app_is_its_deepest_written_key(tmp_path: Path) -> None:
    file = tmp_path / "sites.yaml"
    file.write_text("extends: embedded\napps:\n  shop:\n    users:\n      emma: {password: x}\n")
    places = Places()
    assert places.app_key(file, "shop", "users", "emma").line == 5
    assert places.app_key(file, "shop", "sites", "shop", "start").line == 3
    assert places.app_key(file, "homepage", "users").line == 2
    assert places.app_key(tmp_path / "missing.yaml", "shop").line == 1


def test_problem_is_one_line_whatever_a_site_says() -> None:
    problem = problem_at(Location(path="t.yaml", line=3), "a page", "first\n  second\x1b[31m" + "x" * 999)
    assert str(problem).startswith("t.yaml:3:1: expected a page, found first; second\N{REPLACEMENT CHARACTER}[31mxxx")
    assert len(problem.found) <= 300
