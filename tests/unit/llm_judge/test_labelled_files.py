"""Files of labelled answers: errors in both kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.llm_judge.answers import read_answers
from pytest_webarena.llm_judge.rubric_answers import read_marked


@pytest.mark.parametrize(("read", "key"), [(read_answers, "questions"), (read_marked, "rubrics")])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 20_000, "expected"),
        ("a: &a [1]\nb: {<<: *a}", "expected"),
        ("KEY: {}", "expected a mapping with a list 'KEY'"),
        ("KEY: []", "expected at least one answer"),
        ("{KEY: [], schema_version: 2}", "expected schema_version 1, found 2"),
        ("KEY: [{intents: x}]", "unknown key 'intents'"),
        ("KEY: [" + "1" * 5000 + "]", "expected"),
        ("KEY: [[" + "x, " * 5000 + "]]", "expected a mapping with"),
    ],
)
def test_invalid_labelled_files_are_usage_errors(
    tmp_path: Path, read: Callable[[Path], object], key: str, text: str, message: str
) -> None:
    (tmp_path / "a.yaml").write_text(text.replace("KEY", key))
    with pytest.raises(UsageError, match="labelled") as raised:
        read(tmp_path / "a.yaml")
    assert message.replace("KEY", key) in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_unknown_grade_is_a_usage_error(tmp_path: Path) -> None:
    answer = "{about: a, grade: [1], answer: x}"
    (tmp_path / "a.yaml").write_text(f"questions: [{{kind: formula, intent: i, reference: r, answers: [{answer}]}}]")
    with pytest.raises(UsageError, match=r"grade: expected one of correct, .* found \[1\]"):
        read_answers(tmp_path / "a.yaml")
