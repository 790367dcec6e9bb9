"""``webarena tasks contamination``: whether a model continues the text of tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.commands.contamination import compare, halves
from tests.model_server import Answer, Model, fail, model_server, say

STATEMENTS = {
    "train": "A train leaves the station at seven and runs at a steady eighty kilometres an hour till noon. How far?",
    "apples": "Somebody buys nine apples for three coins each and sells two thirds of them for five. What is gained?",
    "jug": "Two jugs hold five and three litres of water when full. With only these, how are four measured out?",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    tasks = [
        {"id": id, "intent": text, "sites": [], "checks": [{"answer": "x"}]}
        for id, text in (*STATEMENTS.items(), ("short", "What is 6 times 7?"))
    ]
    (tmp_path / "a.yaml").write_text(json.dumps({"tasks": tasks}))
    return tmp_path / "a.yaml"


def probe(model: Model | list[Answer], file: Path, *more: str) -> tuple[int, list[dict[str, Any]]]:
    with model_server(model) as server:
        code = main(["tasks", "contamination", str(file), "--model=m", "--url", server.url, "--key-env=none", *more])
        return code, server.bodies


def knows(body: dict[str, Any]) -> Answer:
    first = body["messages"][1]["content"]
    [whole] = [text for text in STATEMENTS.values() if text.startswith(first)]
    return say(whole[len(first) :])


def data(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_similarity_separates_models_that_know_the_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(knows, file, "--format=json")[0] == 0
    known = data(capsys)
    assert [each["similarity"] for each in known["tasks"]] == [1, 1, 1]
    assert all(each["run"] == each["words"] and each["others"] < 0.5 for each in known["tasks"])
    assert known["too_short"] == 1
    assert probe(lambda body: say("It depends on many things, such as weather."), file, "--format=json")[0] == 0
    unknown = data(capsys)
    assert all(each["similarity"] < 0.3 for each in unknown["tasks"])


def test_known_task_is_listed_first(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def model(body: dict[str, Any]) -> Answer:
        return knows(body) if "jugs" in body["messages"][1]["content"] else say("I can't go on.")

    assert probe(model, file)[0] == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split()[0] for line in lines if line.startswith(tuple(STATEMENTS))]
    assert rows[0] == "jug"
    assert "1 of fewer than 16 words left out" in text
    assert "No verdict" in text


def test_only_the_first_half_of_a_task_is_sent(file: Path) -> None:
    _, bodies = probe(knows, file)
    assert len(bodies) == 3
    for body in bodies:
        assert len(body["messages"]) == 2
        prompt = body["messages"][1]["content"]
        [whole] = [text for text in STATEMENTS.values() if text.startswith(prompt)]
        assert 0.35 < len(prompt) / len(whole) < 0.65
        assert body["temperature"] == 0


def test_repeated_beginning_and_extra_text_are_ignored(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def model(body: dict[str, Any]) -> Answer:
        return say(f"{body['messages'][1]['content']} {(knows(body).text or '').upper()} The answer is not given here.")

    probe(model, file, "--format=json")
    assert {each["similarity"] for each in data(capsys)["tasks"]} == {1}


def test_arb_problems_can_be_probed_with_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problems = [
        {"_id": id, "Problem_Statement": text, "Problem_Type": "numerical", "Final_Answer": "1"}
        for id, text in STATEMENTS.items()
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, problems)))
    with model_server(knows) as server:
        arguments = ["--model=m", "--url", server.url, "--key-env=none", "--limit=2", "--format=json"]
        assert main(["tasks", "contamination", f"arb:{tmp_path / 'p.jsonl'}", *arguments]) == 0
    assert len(data(capsys)["tasks"]) == 2


def test_contamination_errors_are_reported(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probe([fail(404, "no such model")], file)[0] == 2
    assert "no such model" in capsys.readouterr().err
    assert main(["tasks", "contamination", str(file), "--model=m", "--key-env=none", "--workers=0"]) == 2
    assert "--workers: expected at least 1" in capsys.readouterr().err
    (tmp_path / "b.yaml").write_text("tasks: [{id: s, intent: Too short., sites: [], checks: [{answer: x}]}]")
    assert probe([say("x")], tmp_path / "b.yaml")[0] == 2
    assert "at least 16 words" in capsys.readouterr().err
    (tmp_path / "c.yaml").write_text("tasks: [{id: s}]")
    assert probe([say("x")], tmp_path / "c.yaml")[0] == 1
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["tasks", "contamination", str(file), "--model=m"]) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err


def test_texts_are_split_and_compared() -> None:
    assert halves("too short") is None
    found = halves(" ".join(map(str, range(20))))
    assert found is not None
    assert found == (" ".join(map(str, range(10))), " ".join(map(str, range(10, 20))))
    assert compare("", "a b c") == (0, 0)
    assert compare("x = 2 + 3", "X=2+3!")[0] == 1
