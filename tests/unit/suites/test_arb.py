"""Problems in ARB's format: spellings of keys, four types, and refusals. All problems are invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import TaskFileError
from pytest_webarena.suites.export import export
from pytest_webarena.suites.loading import is_suite, load_suite
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Task
from pytest_webarena.testing import make_evidence, verdict

CHOICE = {
    "_id": {"$oid": "64a0"},
    "Problem Statement": "Which of these metals is liquid at room temperature?",
    "Answer Candidates": ["A. iron", "B. mercury", "C. lead"],
    "Final Answer": "B",
    "Problem Type": "Multiple Choice",
    "Topic": "Chemistry",
    "Images": [],
    "Output Format Instructions": "one letter",
}
NUMBER = {
    "_id": "n1",
    "Problem_Statement": "What is a half of $\\pi$?",
    "Final_Answer": "$\\frac{\\pi}{2}$",
    "Problem_Type": "Numerical",
    "Topic": "Geometry",
    "Solution": "Divide.",
}
MCAT = {
    "problemStatement": "Which is even?",
    "problemNumber": "7",
    "answerCandidates": ["3", "4"],
    "finalAnswer": "4",
    "problemType": "Multiple choice",
    "subject": "Counting",
    "images": ["seven.png"],
}


def read(tmp_path: Path, data: Any, name: str = "some.json") -> tuple[Task, ...]:
    text = data if isinstance(data, str) else json.dumps(data)
    (tmp_path / name).write_text(text)
    return load_suite(f"arb:{tmp_path / name}").tasks


def passes(task: Task, answer: str) -> bool | None:
    return verdict(task, make_evidence(answer=answer)).passed


def test_choice_problem_becomes_a_task(tmp_path: Path) -> None:
    (task,) = read(tmp_path, [CHOICE])
    assert (task.id, task.sites, task.intent) == ("some.64a0", (), CHOICE["Problem Statement"])
    assert task.source == {"suite": "arb", "answer": "choice", "subject": "Chemistry", "topic": "Chemistry"}
    assert task.checks[0].spec.options == ("iron", "mercury", "lead")
    assert passes(task, "It is the only one.\nANSWER: (B)")
    assert passes(task, "ANSWER: mercury")
    assert not passes(task, "ANSWER: A")
    assert not passes(task, "B")  # no final answer


@pytest.mark.parametrize(
    ("options", "letters"),
    [
        (["(b) iron", "(c) mercury", "(d) lead"], "B, C, D"),
        (["B. iron", "A. mercury", "C. lead"], "B, A, C"),
        ({"b": "iron", "c": "mercury", "d": "lead"}, "B, C, D"),
    ],
)
def test_options_with_letters_out_of_order_are_skipped(tmp_path: Path, options: Any, letters: str) -> None:
    (task,) = read(tmp_path, [{**CHOICE, "Answer Candidates": options, "Final Answer": "c"}])
    assert task.skip == f"its options have the letters {letters}, expected A, B, C, … in order"


@pytest.mark.parametrize(
    "options",
    [["a) iron", "b) mercury", "c) lead"], {"A": "iron", "B": "mercury", "C": "lead"}, ["iron", "mercury", "lead"]],
)
def test_options_with_letters_in_order_are_read(tmp_path: Path, options: Any) -> None:
    (task,) = read(tmp_path, [{**CHOICE, "Answer Candidates": options}])
    assert task.checks[0].spec.options == ("iron", "mercury", "lead")
    assert passes(task, "ANSWER: B")


def test_number_problem_becomes_a_task(tmp_path: Path) -> None:
    (task,) = read(tmp_path, [NUMBER])
    assert passes(task, "ANSWER: 1.57")
    assert passes(task, "ANSWER: \\pi/2")
    assert not passes(task, "ANSWER: 1.5")
    (zero,) = read(tmp_path, [{**NUMBER, "Final_Answer": "0"}])
    assert passes(zero, "ANSWER: 0.001")


def test_other_key_spellings_and_images_are_read(tmp_path: Path) -> None:
    (task,) = read(tmp_path, MCAT)
    assert task.id == "some.7"
    assert task.source["subject"] == "Counting"
    assert [image.path for image in task.images] == ["seven.png"]
    assert passes(task, "ANSWER: B")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("\n".join(json.dumps(each) for each in (CHOICE, NUMBER)), "lines.jsonl"),
        ("\n".join(json.dumps(each) for each in (CHOICE, NUMBER)), "lines.json"),
        ({"problems": [CHOICE, NUMBER]}, "object.json"),
        ([CHOICE, NUMBER], "list.json"),
    ],
)
def test_file_shapes_are_read(tmp_path: Path, data: Any, name: str) -> None:
    assert [task.source["answer"] for task in read(tmp_path, data, name)] == ["choice", "number"]
    assert is_suite(f"arb:{name}")


def test_solutions_pass(tmp_path: Path) -> None:
    for task in read(tmp_path, [CHOICE, NUMBER, MCAT]):
        assert task.solution is not None
        assert passes(task, task.solution[-1].answer)  # type: ignore[union-attr]


def test_problem_type_can_come_from_the_file_name(tmp_path: Path) -> None:
    untyped = {key: value for key, value in NUMBER.items() if key != "Problem_Type"}
    (task,) = read(tmp_path, [untyped], "math_numerical.json")
    assert task.checks[0].kind == "number"


def test_problems_that_cannot_be_judged_are_skipped_with_reason(tmp_path: Path) -> None:
    odd = [
        {**NUMBER, "_id": "1", "Final_Answer": "it depends"},
        {**CHOICE, "_id": "2", "Final Answer": "E"},
        {**NUMBER, "_id": "3", "Problem_Type": "Proof-like", "rubric": "2 points"},
    ]
    tasks = read(tmp_path, odd)
    assert "is no number" in tasks[0].skip
    assert "names no option" in tasks[1].skip
    assert "proof" in tasks[2].skip
    assert tasks[2].source["rubric"] == "2 points"


PROOF = {
    "_id": "p1",
    "Problem_Statement": "Show that 4 divides the square of an even number.",
    "Problem_Type": "Proof",
    "Topic": "Numbers",
    "Solution": "Write n = 2k. Then n^2 = 4k^2.",
}
RUBRIC = "1. (4 points) Writes n = 2k.\n2. (6 points) Squares it.\nTotal: 10 points"


@pytest.mark.parametrize(
    "rubric",
    [
        RUBRIC,
        [{"points": 4, "description": "Writes n = 2k."}, {"points": 6, "description": "Squares it."}],
        {"items": [{"score": 4, "item": "Writes n = 2k."}, {"score": 6, "item": "Squares it."}]},
        ["(4 points) Writes n = 2k.", "Squares it. (6 points)"],
    ],
    ids=["lines", "objects", "mapping", "texts"],
)
def test_proof_is_graded_by_the_rubric_of_the_data(tmp_path: Path, rubric: Any) -> None:
    (task,) = read(tmp_path, [{**PROOF, "Rubric": rubric}])
    assert not task.skip
    assert task.checks[0].kind == "rubric"
    spec = task.checks[0].spec
    assert [(item.points, item.what) for item in spec.items] == [(4, "Writes n = 2k."), (6, "Squares it.")]
    assert spec.solution == PROOF["Solution"]
    assert passes(task, PROOF["Solution"])  # the oracle needs no judge
    assert passes(task, "It is clear.") is None  # other answers do
    assert passes(task, "N/A") is False


def test_rubric_file_takes_precedence_over_rubric_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "some.p1.yaml").write_text("items: [{points: 10, what: Does all of it.}]")
    (task,) = read(tmp_path, [{**PROOF, "rubric": RUBRIC}])
    assert [item.what for item in task.checks[0].spec.items] == ["Does all of it."]
    (tmp_path / "rubrics" / "some.p1.yaml").write_text("items: []")
    (broken,) = read(tmp_path, [{**PROOF, "rubric": RUBRIC}])
    assert "rubric some.p1.yaml: items: expected a list of 1 to 40" in broken.skip


def test_proof_without_rubric_items_names_the_author_command(tmp_path: Path) -> None:
    (task,) = read(tmp_path, [PROOF])
    assert f"webarena judge rubric author 'arb:{tmp_path}/some.json::some.p1'" in task.skip
    (bare,) = read(tmp_path, [{key: value for key, value in PROOF.items() if key != "Solution"}])
    assert "neither a rubric nor a solution" in bare.skip
    (vague,) = read(tmp_path, [{**PROOF, "rubric": "Give points as you see fit."}])
    assert vague.skip
    assert vague.source["rubric"] == "Give points as you see fit."


@pytest.mark.parametrize(
    ("rubric", "told"),
    [
        ([{"points": -4, "what": "x"}], "item 1: expected points above 0, found -4"),
        ([{"points": 4, "what": "x"}, {"points": "six", "what": "y"}], "item 2: expected points above 0, found 'six'"),
        ([{"points": 4}], "item 1: expected what earns the points, found None"),
        (5, "expected a list of 1 to 40"),
        ({"steps": []}, "expected a list of 1 to 40"),
    ],
)
def test_invalid_rubric_of_the_data_is_skipped_with_reason(tmp_path: Path, rubric: Any, told: str) -> None:
    (task,) = read(tmp_path, [{**PROOF, "rubric": rubric}])
    assert task.skip.startswith("its rubric: ")
    assert told in task.skip
    assert "webarena judge rubric author" in task.skip


def test_rubric_without_items_differs_from_missing_rubric(tmp_path: Path) -> None:
    (with_text,) = read(tmp_path, [{**PROOF, "rubric": "1. (-2 points) x"}])
    assert with_text.skip.startswith("in the rubric of this proof, a text, no items with points")
    (without,) = read(tmp_path, [{**PROOF, "rubric": ""}])
    assert without.skip.startswith("the rubric of this proof has no items yet")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["A. iron", None], "its option 2 is null, expected a text or a number"),
        ([" ", "iron"], 'its option 1 is " "'),
        ({"A": "iron", "B": {"text": "lead"}}, 'its option 2 is {"text": "lead"}'),
    ],
)
def test_options_without_a_text_are_skipped(tmp_path: Path, options: Any, told: str) -> None:
    (task,) = read(tmp_path, [{**CHOICE, "Answer Candidates": options, "Final Answer": "A"}])
    assert told in task.skip


def test_file_with_two_problem_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match=r"one list of problems.*'problems' \(1 entries\) and 'data' \(2 entries\)"):
        read(tmp_path, {"problems": [CHOICE], "data": [NUMBER, MCAT]})


def test_formula_problem_becomes_a_task(tmp_path: Path) -> None:
    pytest.importorskip("sympy")
    symbolic = {**NUMBER, "Problem_Type": "Symbolic", "Final_Answer": "$\\frac{x^2}{2}$"}
    task, odd = read(tmp_path, [symbolic, {**symbolic, "_id": "2", "Final_Answer": "all of these \\oops {"}])
    assert task.source["answer"] == "symbolic"
    assert passes(task, "Integrate.\nANSWER: x*x/2")
    assert not passes(task, "Integrate.\nANSWER: x*x")
    assert not passes(task, "x*x/2")  # no final answer
    assert task.solution is not None
    assert passes(task, task.solution[-1].answer)  # type: ignore[union-attr]
    assert "is no formula" in odd.skip


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ({**NUMBER, "Problem_Type": "essay"}, "expected a problem type: multiple choice, numerical, symbolic, proof"),
        ({"Problem_Type": "numerical", "Problem_Statement": "x"}, "expected a final answer"),
        ({"Problem_Statement": " ", "Final_Answer": "1"}, "expected a problem statement"),
        ({**NUMBER, "Images": ["data:image/png;base64,aa"]}, "expected an image file"),
        ({**NUMBER, "Images": [3]}, "expected a list of image files"),
    ],
)
def test_unknown_shapes_are_refused(tmp_path: Path, problem: Any, told: str) -> None:
    with pytest.raises(TaskFileError, match=told):
        read(tmp_path, [problem])


@pytest.mark.parametrize(
    ("first", "spelling", "value"),
    [
        ("Final_Answer", "final_answer", "3"),
        ("Final_Answer", "FINAL ANSWER", 3),
        ("Solution", "Solution:", "Multiply."),
        ("Problem_Type", "problem-type", "Proof"),
    ],
)
@pytest.mark.parametrize("name", ["some.json", "some.jsonl"])
def test_two_spellings_with_different_values_are_refused(
    tmp_path: Path, first: str, spelling: str, value: Any, name: str
) -> None:
    problem = {**NUMBER, spelling: value}
    data = [NUMBER | {"_id": "n0"}, problem] if name == "some.json" else json.dumps(problem) + "\n" + json.dumps(CHOICE)
    with pytest.raises(TaskFileError, match="two spellings of one key") as told:
        read(tmp_path, data, name)
    assert f"'{first}' and '{spelling}'" in str(told.value)
    assert json.dumps(value) in str(told.value)


def test_two_spellings_with_equal_values_are_accepted(tmp_path: Path) -> None:
    (task,) = read(tmp_path, [{**NUMBER, "final_answer": " $\\frac{\\pi}{2}$", "id": "other"}])
    assert passes(task, "ANSWER: 1.5708")


@pytest.mark.parametrize("data", ["{}\n", '{"problems": [{}]}', "[{}]"], ids=["lines", "object", "list"])
def test_duplicate_key_is_refused(tmp_path: Path, data: str) -> None:
    twice = json.dumps(NUMBER)[:-1] + ', "Final_Answer": "3"}'
    name = "some.jsonl" if data.endswith("\n") else "some.json"
    with pytest.raises(TaskFileError, match="'Final_Answer'"):
        read(tmp_path, data.replace("{}", twice) + (json.dumps(CHOICE) if data.endswith("\n") else ""), name)


def test_broken_lines_and_duplicate_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match=r"some.jsonl:2:1: expected a JSON object in each line"):
        read(tmp_path, json.dumps(NUMBER) + "\n{oh\n", "some.jsonl")
    with pytest.raises(TaskFileError, match="an id used once"):
        read(tmp_path, [NUMBER, NUMBER])


def test_problems_can_be_written_as_task_files(tmp_path: Path) -> None:
    braces = {**PROOF, "_id": "p2", "Problem_Statement": "Show $\\sqrt{{x}}$ {{is}} {# it #}.", "rubric": RUBRIC}
    tasks = read(tmp_path, [CHOICE, NUMBER, {**PROOF, "rubric": RUBRIC}, PROOF | {"_id": "p3"}, braces])
    [written] = export(f"arb:{tmp_path / 'some.json'}", tmp_path / "out")
    again = load_tasks(written.path)
    assert [(task.id, task.intent, task.skip, task.digest) for task in again] == [
        (task.id, task.intent, task.skip, task.digest) for task in tasks
    ]
