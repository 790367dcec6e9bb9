"""``webarena tasks generate`` and its form: two people's answers are compared and become tasks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.task_generation.answers import PersonAnswer, are_equivalent
from pytest_webarena.task_generation.drafts import draft_text
from pytest_webarena.task_generation.proposing import Idea, Kind
from pytest_webarena.tasks import Task, load_tasks, parse_tasks
from tests.cases import each_case

IDEAS: tuple[tuple[Kind, str], ...] = (
    ("information", "How much is it?"),
    ("information", "Who wrote </script><b>it</b>?"),
    ("navigation", "Show me the cart."),
    ("content", "Add a note."),
)
PRICE, WRITER, CART, NOTE = "how-much-is-it", "who-wrote-script-b-it-b", "show-me-the-cart", "add-a-note"


@pytest.fixture
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ideas = [Idea(kind=kind, template=text, intents=(text,), pages=()) for kind, text in IDEAS]
    made_of = {"model": "m", "prompt": "p"}
    Path("ideas.yaml").write_text(draft_text(ideas, sites=["shop", "wiki"], users={}, made_of=made_of, head=["Ideas"]))
    return Path("ideas.yaml")


def given_by(by: str, answers: Mapping[str, tuple[str, str]], **rest: Any) -> str:
    """Write a person's file of answers and return its name."""
    digests = {task.id: task.digest for task in load_tasks("ideas.yaml")}
    lines = [
        {"task": task, "digest": digests.get(task, ""), "by": by, "says": says, "text": text, **rest}
        for task, (says, text) in answers.items()
    ]
    name = f"{by or 'nobody'}.jsonl"
    Path(name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return name


def settle(*arguments: str) -> tuple[int, dict[str, Task]]:
    Path("tasks.yaml").unlink(missing_ok=True)
    code = main(["tasks", "generate", "settle", "ideas.yaml", *arguments, "-o", "tasks.yaml"])
    return code, {task.id: task for task in load_tasks("tasks.yaml")} if Path("tasks.yaml").exists() else {}


def settled_task(task: str, first: tuple[str, str], second: tuple[str, str]) -> Task | None:
    """Return the task made of a draft and two people's answers."""
    return settle(given_by("ada", {task: first}), given_by("ben", {task: second}))[1].get(task)


ALL = {
    PRICE: ("answer", "12.50"),
    WRITER: ("impossible", "it does not say"),
    CART: ("answer", "/cart/"),
    NOTE: ("answer", ""),
}


def test_agreed_answers_become_tasks(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, tasks = settle(given_by("ada", ALL), given_by("ben", {**ALL, CART: ("answer", "http://shop.test/cart")}))
    assert (code, [*tasks]) == (0, [PRICE, WRITER, CART, NOTE])
    assert {task.review.state(task.digest) for task in tasks.values() if task.review} == {"agreed"}
    assert {id: task.skip for id, task in tasks.items() if task.skip} == {
        NOTE: "worth doing; it has to be shown how: webarena tasks record"
    }
    text = Path("tasks.yaml").read_text()
    assert "- answer: {number: 12.5}" in text
    assert "- answer: {unachievable: it does not say, type: text}" in text
    assert '{url: "/cart"}' in text
    assert f"webarena tasks record shop wiki --id {NOTE} --intent 'Add a note.'" in capsys.readouterr().out


def test_changed_task_is_no_longer_reviewed(drafts: Path) -> None:
    settle(given_by("ada", ALL), given_by("ben", ALL))
    Path("tasks.yaml").write_text(Path("tasks.yaml").read_text().replace("12.5", "13"))
    [price, *_] = load_tasks("tasks.yaml")
    assert price.review is not None
    assert price.review.state(price.digest) == "changed since"


@pytest.mark.parametrize(
    ("task", "first", "second"),
    [
        (PRICE, ("answer", "12.50"), ("answer", "12.5")),
        (PRICE, ("answer", "Copper  Kettle"), ("answer", "copper kettle.")),
        (PRICE, ("answer", "tea\njam"), ("answer", "jam\n\n tea")),
        (PRICE, ("impossible", "there is no such price"), ("impossible", "only staff may see prices")),
        (CART, ("answer", "/cart?x=1"), ("answer", "shop:/cart?x=1")),
    ],
)
def test_equivalent_answers_agree(drafts: Path, task: str, first: tuple[str, str], second: tuple[str, str]) -> None:
    settled = settled_task(task, first, second)
    assert settled is not None
    assert settled.review is not None
    assert settled.review.state(settled.digest) == "agreed"


@pytest.mark.parametrize(
    ("task", "first", "second"),
    [
        (PRICE, ("answer", "12.50"), ("answer", "$12.50")),
        (PRICE, ("answer", "1.10"), ("answer", "1.01")),
        (PRICE, ("answer", "tea\njam"), ("answer", "tea")),
        (PRICE, ("answer", "tea"), ("impossible", "tea")),
        (PRICE, ("answer", "tea"), ("bad", "tea")),
        (CART, ("answer", "/cart"), ("answer", "wiki:/cart")),
        (CART, ("answer", "/cart?x=1"), ("answer", "/cart")),
    ],
)
def test_disputed_answers_are_skipped_until_decided(
    drafts: Path, task: str, first: tuple[str, str], second: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    settled = settled_task(task, first, second)
    assert settled is not None
    assert settled.skip == "ada and ben disagree; another person decides"
    assert settled.review is not None
    assert settled.review.state(settled.digest) == "disputed"
    assert "webarena view ideas.yaml --answers ada.jsonl ben.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("decided", "verdicts", "state"),
    [
        (("answer", "2"), ["disagrees", "agrees"], "adjudicated"),
        (("answer", "3"), ["disagrees", "disagrees"], "adjudicated"),
        (("bad", "prices change"), ["disagrees", "disagrees"], "rejected"),
    ],
)
def test_third_person_decides_a_dispute(
    drafts: Path, decided: tuple[str, str], verdicts: list[str], state: str
) -> None:
    files = given_by("ada", {**ALL, PRICE: ("answer", "1")}), given_by("ben", {**ALL, PRICE: ("answer", "2")})
    code, tasks = settle(*files, "--decided", given_by("cleo", {PRICE: decided}))
    assert code == 0
    review = tasks[PRICE].review
    assert review is not None
    assert [each.verdict for each in review.reviewers] == verdicts
    assert review.state(tasks[PRICE].digest) == state
    assert bool(tasks[PRICE].skip) == (state == "rejected")


def test_single_answer_is_not_written_to_the_task_file(drafts: Path) -> None:
    code, tasks = settle(
        given_by("ada", {**ALL, PRICE: ("answer", "4711")}), given_by("ben", {CART: ("answer", "/cart")})
    )
    assert code == 1
    assert tasks[PRICE].skip == "an idea that only ada has answered yet"
    assert "4711" not in Path("tasks.yaml").read_text()


def test_draft_rejected_by_both_is_left_out_and_reported(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {**ALL, PRICE: ("bad", "prices change")}
    _, tasks = settle(given_by("ada", answers), given_by("ben", answers))
    assert [*tasks] == [WRITER, CART, NOTE]
    assert f"excluded: {PRICE}: both people rejected it" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ada", "ADA", "m", "M"])
def test_one_person_cannot_have_two_roles(drafts: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("first.jsonl").write_text(Path(given_by("ada", ALL)).read_text())
    assert settle("first.jsonl", given_by(name, ALL)) == (2, {})
    assert f"found {name} twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "line 1: expected a line of JSON"),
        ("[" * 9000, "line 1: expected a line of JSON"),
        ("[1]", "expected the texts task, digest, by, says, text"),
        ({"text": 7}, "expected the texts"),
        ({"says": "perhaps"}, "says: expected answer, impossible, bad, found 'perhaps'"),
        ({"by": " "}, "by: expected a name"),
        ({"by": "a\x1b[2J"}, "by: expected a name"),
        ({"text": "\x07"}, "can be printed"),
        ({"text": "x" * 10_001}, "at most 10000 characters"),
        ({"text": " "}, "expected the answer, or a reason, found none"),
        ({"digest": "0"}, "found one to another text of it"),
        ({"task": "how-much-is-itt"}, "did you mean 'how-much-is-it'"),
        ({"task": NOTE, "text": "yes"}, "expected no answer to something that is to be done"),
        ({"task": CART, "text": "the cart"}, "expected an address such as /path or site:/path on shop, wiki"),
        ({"task": CART, "text": "forum:/cart"}, "expected an address"),
        ({"task": CART, "text": "http://evil.test/cart"}, "expected an address"),
        ("", "expected answers as the form of webarena view saves them, found none"),
    ],
)
def test_invalid_answer_files_are_errors(drafts: Path, line: Any, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    digests = {task.id: task.digest for task in load_tasks("ideas.yaml")}
    if isinstance(line, dict):
        whole = {"task": PRICE, "by": "ben", "says": "answer", "text": "1", **line}
        line = json.dumps({"digest": digests.get(whole["task"], ""), **whole})
    Path("ben.jsonl").write_text(line)
    assert settle(given_by("ada", ALL), "ben.jsonl") == (2, {})
    assert why in capsys.readouterr().err


def test_answers_of_several_people_in_one_file_are_an_error(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixed = (
        Path(given_by("ben", {PRICE: ALL[PRICE]})).read_text() + Path(given_by("cleo", {CART: ALL[CART]})).read_text()
    )
    Path("mixed.jsonl").write_text(mixed)
    assert settle(given_by("ada", ALL), "mixed.jsonl") == (2, {})
    assert "expected the answers of one person, found ben, cleo" in capsys.readouterr().err


def test_decision_without_a_dispute_is_an_error(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        settle(given_by("ada", ALL), given_by("ben", ALL), "--decided", given_by("cleo", {PRICE: ("answer", "9")}))[0]
        == 2
    )
    assert f"found one on {PRICE}, where they don't" in capsys.readouterr().err


def test_existing_file_is_not_overwritten(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "tasks",
                "generate",
                "settle",
                "ideas.yaml",
                given_by("ada", ALL),
                given_by("ben", ALL),
                "-o",
                "ideas.yaml",
            ]
        )
        == 2
    )
    assert "expected a file that is not there yet" in capsys.readouterr().err


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path(page).read_text(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_answer_form_contains_no_answers(drafts: Path) -> None:
    given_by("ada", ALL)
    assert main(["view", "ideas.yaml"]) == 0
    data = data_of("ideas.html")
    assert [(idea["task"], idea["answers"]) for idea in data["ideas"]] == [
        (id, []) for id in (PRICE, WRITER, CART, NOTE)
    ]
    assert data["ideas"][1]["intent"] == "Who wrote </script><b>it</b>?"
    assert "12.50" not in Path("ideas.html").read_text()


def test_decision_form_contains_disputes_without_names(drafts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = given_by("ada", ALL), given_by("ben", {**ALL, PRICE: ("answer", "13")})
    assert main(["view", "ideas.yaml", "--answers", *files]) == 0
    [idea] = data_of("ideas.decide.html")["ideas"]
    assert sorted(each["description"] for each in idea["answers"]) == ["the answer is 12.50", "the answer is 13"]
    assert "ada" not in json.dumps(idea)
    assert main(["view", "ideas.yaml", "--answers", files[0], given_by("cleo", ALL)]) == 0
    assert "nothing to decide" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["view", "ideas.yaml", "--serve"], "--serve: expected a run to be shown, found ideas"),
        (["view", "--answers", "a", "b"], "--answers: expected a file of webarena tasks generate with it"),
        (["view", "other.yaml"], "expected ideas of webarena tasks generate propose"),
        (
            ["tasks", "generate", "propose", "x", "--model=m", "-o", "ideas.yaml"],
            "expected a file that is not there yet",
        ),
        (["tasks", "generate", "propose", "homepag", "--model=m", "-o", "n.yaml"], "did you mean 'homepage'"),
        (
            ["tasks", "generate", "propose", "homepage", "--model=m", "-o", "n.yaml", "--pages=0"],
            "--pages: expected at least 1",
        ),
        (
            ["tasks", "generate", "propose", "homepage", "--model=m", "-o", "n.yaml", "--max-cost=0"],
            "--max-cost: expected dollars",
        ),
        (["tasks", "generate", "propose", "homepage", "--model=m", "-o", "n.yaml", "--user", "homepage=x"], "found: "),
        (
            ["tasks", "generate", "propose", "homepage", "--model=m", "-o", "n.yaml", "--url=ftp://x"],
            "expected an http(s) address",
        ),
    ],
)
def test_invalid_arguments_are_usage_errors(
    drafts: Path, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-used-anywhere")
    task = "{id: a, intent: x, sites: [], checks: [{answer: x}]}"
    Path("other.yaml").write_text(f"tasks: [{task}]\n")
    assert main(arguments) == 2
    assert why in capsys.readouterr().err


def test_suggested_command_is_quoted_for_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody has reviewed the model's text for shell syntax."""
    monkeypatch.chdir(tmp_path)
    intent = "Add a note that it's $(touch ran)."
    idea = Idea(kind="content", template=intent, intents=(intent,), pages=())
    text = draft_text([idea], sites=["shop"], users={}, made_of={"model": "m", "prompt": "p"}, head=["Ideas"])
    Path("ideas.yaml").write_text(text)
    [draft] = load_tasks("ideas.yaml")
    answers = {draft.id: ("answer", "")}
    settle(given_by("ada", answers), given_by("ben", answers))
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("to be shown: ")]
    pasted = f"webarena() {{ printf '%s\\n' \"$@\"; }}; {line.removeprefix('to be shown: ')}"
    words = subprocess.run(["sh", "-c", pasted], capture_output=True, text=True, check=True).stdout.splitlines()
    assert words == ["tasks", "record", "shop", "--id", draft.id, "--intent", intent]
    assert not Path("ran").exists()


@each_case(
    ("intent", "first", "second", "agreed"),
    [
        ("Which version is the newest?", "1.10", "1.1", False),
        ("Which version is the newest?", "1.10", "1.10.", True),
        ("What is its code?", "0471", "471", False),
        ("How much is it?", "1.10", "1.1", True),
    ],
)
def test_zeros_matter_in_versions_and_codes(intent: str, first: str, second: str, agreed: bool) -> None:
    [task] = parse_tasks(f"tasks: [{{id: a, intent: '{intent}', sites: [shop], checks: [{{answer: x}}]}}]")
    one, other = (PersonAnswer(task="a", by=by, kind="answer", text=text) for by, text in (("a", first), ("b", second)))
    assert are_equivalent(one, other, task) == agreed
