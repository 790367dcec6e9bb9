"""Templates: their fillings, and messages about mistakes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from pytest_webarena.tasks import Task, parse_tasks
from tests.cases import each_case

from .helpers import problems


def filled(intent: str, filling: str = "{name: Tea, n: 4, price: 4.50, on: true, list: [a, b]}") -> Task:
    [task] = parse_tasks(
        f"tasks: [{{id: t, intent: {intent!r}, sites: [], each: {{one: {filling}}}, checks: [{{answer: x}}]}}]"
    )
    return task


@each_case(
    ("template", "text"),
    [
        ("Buy {{ name }}", "Buy Tea"),
        ("Buy {{name}}{{ n }}", "Buy Tea4"),
        ("{{ price }} and {{ on }}", "4.50 and true"),
        ("{{ name|upper }} for {{ price }}", "TEA for 4.50"),
        ("{{ n + 1 }} {{ n * 2 }} {{ price }}", "5 8 4.50"),
        ("{% if on %}yes{% else %}no{% endif %}", "yes"),
        ("{{ on }}{{ '' }}", "true"),
        ("{{ list|join(' and ') }}", "a and b"),
        ("{{ '{{' }} stays", "{{ stays"),
        ("{% raw %}{{ name }}{% endraw %}", "{{ name }}"),
        ("{# no comment #} {{ name }}", "{# no comment #} Tea"),
        ("{{ list[0] }} {{ other|default('none') }}", "a none"),
        ("where x = {{ name|sql }} and y = {{ n|sql }}", "where x = ''Tea'' and y = 4".replace("''", "'")),
    ],
)
def test_templates_are_filled(template: str, text: str) -> None:
    assert filled(template).intent == text


def test_sql_literals_are_quoted() -> None:
    assert filled("{{ name|sql }}", '{name: "Bob\'s"}').intent == "'Bob''s'"


@each_case(
    ("written", "value"),
    [("4", 4), ("4.5", 4.5), ("true", True), ("[1, x]", [1, "x"]), ("{a: 1}", {"a": 1}), ("'4'", "4"), ("no", "no")],
)
def test_string_of_one_variable_becomes_its_value(written: str, value: Any) -> None:
    [task] = parse_tasks(
        f"tasks: [{{id: t, intent: x, sites: [], each: [{{v: {written}}}],"
        " checks: [{answer: {json: '{{ v }}'}}]}]"
    )
    assert task.checks[0].spec.json.value == value
    assert task.filling == {"v": value}


def test_numbers_lists_and_choices_can_be_filled() -> None:
    [task] = parse_tasks("""
tasks:
  - id: t
    intent: x
    sites: "{{ site }}"
    tags: "{{ tags }}"
    score: "{{ how }}"
    limits: {steps: "{{ steps }}"}
    each: [{site: shopping, tags: [a, b], how: mean, steps: 7, total: 1.50}]
    checks: [{answer: {number: "{{ total }}", tolerance: "{{ steps }}%"}}]
""")
    assert (task.sites, task.tags, task.score, task.limits.steps) == (("shopping",), ("a", "b"), "mean", 7)
    assert str(task.checks[0].spec.value) == "the number 1.50 ± 7 %"


def test_whole_lists_can_be_filled() -> None:
    [task] = parse_tasks("""
tasks:
  - id: t
    intent: x
    sites: [shopping]
    each: [{conditions: [{answer: x}, {url: /y}], steps: [back, {click: css=a}], head: {a: b}}]
    checks: "{{ conditions }}"
    solution: "{{ steps }}"
""")
    assert [check.kind for check in task.checks] == ["answer", "url"]
    assert [action.kind for action in task.solution or ()] == ["go_back", "click", "stop"]


@each_case(
    "keys",
    [
        "checks: '{{ no }}'",
        "checks: [{answer: x}], solution: '{{ no }}'",
        "checks: [{answer: x}], tags: '{{ no }}'",
        "checks: [{answer: x}], mutates: '{{ no }}'",
        "checks: [{answer: x}], score: '{{ no }}'",
        "checks: [{answer: x}], limits: '{{ no }}'",
        "checks: [{answer: x}], limits: {steps: '{{ no }}'}",
        "checks: [{answer: x}], limits: {seconds: '{{ no }}'}",
        "checks: [{answer: x}], user: '{{ no }}'",
        "checks: [{answer: {json: [1, '{{ no }}']}}]",
        "checks: [{answer: {json: {a: '{{ no }}'}}}]",
        "checks: [{answer: {includes: ['{{ no }}']}}]",
        "checks: [{url: '/{{ no }}'}]",
        "checks: [{url: {query: {a: '{{ no }}'}}}]",
    ],
)
def test_undefined_variable_is_found_in_every_key(keys: str) -> None:
    [problem] = problems(f"tasks: [{{id: t, intent: x, sites: [shopping], each: [{{yes: 1}}], {keys}}}]")
    assert problem.expected == "a value for the template variable 'no'"


def test_template_results_are_limited_in_size() -> None:
    huge = "{{ " + "word|replace('', '" + "x" * 2000 + "')" * 1 + "|replace('x', '" + "x" * 2000 + "') }}"
    text = f'tasks: [{{id: t, intent: "{huge}", sites: [], each: [{{word: abc}}], checks: [{{answer: x}}]}}]'
    [problem] = problems(text)
    assert "the result may exceed 1,000,000 characters" in str(problem)


@each_case(
    ("template", "message"),
    [
        ("{{ nmae }}", "a value for the template variable 'nmae', found none (did you mean 'name'?)"),
        ("a {{ nmae }}", "a value for the template variable 'nmae', found none (did you mean 'name'?)"),
        ("{{ nmae|upper }}", "a value for the template variable 'nmae', found none (did you mean 'name'?)"),
        ("{{ name|uper }}", "a valid template, found No filter named 'uper'. (did you mean 'upper'?)"),
        ("{{ name.x }}", "a template that can be filled, found 'str object' has no attribute 'x'"),
        ("{{ name + 1 }}", "a template that can be filled, found TypeError:"),
        ("{{ name", "a valid template, found unexpected end of template"),
        ("{% for a in list %}{{ a }}{% endfor %}", "{{ an expression }} with filters, or {% if %}, found {% for %}"),
        ("{{ name.upper() }}", "{{ an expression }} with filters, or {% if %}, found a call (use a filter instead)"),
        ("{% include 'x' %}", "{{ an expression }} with filters, or {% if %}, found {% include %}"),
        ("{{ 'x' * 999999999 }}", "a template that can be filled, found SecurityError"),
        ("{{ 9 ** 999 }}", "a template that can be filled, found SecurityError"),
        ("{{ 9**9**9 }}", "a power of a plain number, such as {{ 2**10 }}, found one of another power"),
        ("{{ (9**9)**9 }}", "a power of a plain number, such as {{ 2**10 }}, found one of another power"),
        ("{{ -9**2 }}", "a power of a plain number, such as {{ 2**10 }}, found one of a signed number"),
        ("{{ list[0] * 1e300 }}", "a template that can be filled, found SecurityError"),
        ("{{ name|float(1e308) + 1e308 }}", "inf is no number that can be written down"),
        ("{{ (0 - list[0]) ** 0.5 }}", "j) is no number that can be written down"),
        ("{{ '%999999999d' % 1 }}", "a template that can be filled, found SecurityError"),
        ("{{ name.__class__ }}", "a template that can be filled, found "),
        ("{{ " + "(" * 500 + "1" + ")" * 500 + " }}", "a valid template, found "),
    ],
)
def test_invalid_templates_are_reported(template: str, message: str) -> None:
    task = "id: t, sites: [], each: {x: {name: Tea, list: [1]}}, checks: [{answer: x}]"
    text = f"tasks:\n- {{{task}, intent: {template!r}}}"
    [problem] = problems(text)
    assert message in str(problem)
    assert (problem.line, problem.column) == (2, text.index("intent:") + len("intent: ") - len("tasks:"))


def test_template_without_fillings_is_a_problem() -> None:
    [problem] = problems("tasks: [{id: t, intent: 'Buy {{ name }}', sites: [], checks: [{answer: x}]}]")
    assert "found none (values come from the task's 'each')" in str(problem)


def test_invalid_filled_value_is_reported_at_the_filling() -> None:
    [problem] = problems("""
tasks:
  - id: t
    intent: x
    sites: []
    checks: [{answer: {number: "{{ n }}"}}]
    each:
      good: {n: 4}
      bad: {n: four}
""")
    assert (problem.line, problem.found) == (9, "'four'")


def test_problem_of_a_template_is_reported_once() -> None:
    text = "tasks: [{id: t, intent: x, sites: [], each: {a: {}, b: {}, c: {}}, checks: [{answer: {exat: 1}}]}]"
    assert len(problems(text)) == 1


@each_case(
    ("each", "message"),
    [
        ("5", "expected a mapping or a list of fillings, or a file next to this one (FILE.csv), found the number 5"),
        ("{}", "expected a mapping or a list of fillings, found a mapping"),
        ("[]", "expected a mapping or a list of fillings, found an empty list"),
        ("[1]", "expected a mapping from variables to values, found the number 1"),
        ("{a b: {}}", "expected an id of letters, digits, '.', '_' and '-', found 'a b'"),
        ("{a: {x: }}", "expected a value for 'x', found nothing"),
        ("{a: {x y: 1}}", "expected a variable name: letters, digits and '_', found 'x y'"),
        ("{a: {x: '{{ y }}'}}", "expected plain values, found a template among them"),
        ("{a: {}, a: {}}", "expected each key once, found 'a' again"),
    ],
)
def test_invalid_fillings_are_reported(each: str, message: str) -> None:
    found = problems(f"tasks: [{{id: t, intent: x, sites: [], checks: [{{answer: x}}], each: {each}}}]")
    assert message in str(found[0])


def test_plain_templates_do_not_import_jinja() -> None:
    code = (
        "import sys; from pytest_webarena.tasks import parse_tasks\n"
        "parse_tasks('tasks: [{id: t, intent: \"{{ a }} b\", sites: [], each: [{a: 1}], checks: [{answer: x}]}]')\n"
        "print('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
