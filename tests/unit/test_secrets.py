"""Secrets are taken out in whatever form they come."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from pytest_webarena import secrets
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import StepRecord
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.results.attempts import AttemptWriter, read_steps
from tests.cases import each_case

SECRET = 'p&ss "wörd"/+1'


@pytest.fixture(autouse=True)
def nothing_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_marked", {})


@each_case(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps({"a": [SECRET]}, ensure_ascii=False),
        f"http://x.test/?token={quote(SECRET)}&b=1",
        f"token={quote_plus(SECRET)}",
        "http://x.test/?token=p&ss%20%22w%C3%B6rd%22/+1",
        "http://x.test/p&ss%20%22w%C3%B6rd%22/+1",
        f"Basic {base64.b64encode(SECRET.encode()).decode()}",
        '<input value="p&amp;ss &quot;wörd&quot;/+1">',
    ],
)
def test_every_usual_form_is_masked(form: str) -> None:
    secrets.mark(f" {SECRET}\n")
    masked = secrets.scrub(form)
    assert secrets.MASK in masked
    assert "rd" not in masked
    assert secrets.scrub("nothing to see") == "nothing to see"


def test_plain_data_is_masked_at_every_depth() -> None:
    secrets.mark("opensesame")
    data = {"a": ["xopensesame", {"opensesame": 1}], "b": ("opensesame", None, 2.5), "c": True}
    assert secrets.scrub_plain(data) == {
        "a": ["x[secret]", {"[secret]": 1}], "b": ["[secret]", None, 2.5], "c": True
    }  # fmt: skip


def test_json_within_json_is_masked_before_it_is_written(tmp_path: Path) -> None:
    secrets.mark(SECRET)
    step = StepRecord(index=0, action={"kind": "stop"}, raw=json.dumps({"answer": SECRET}))
    AttemptWriter(tmp_path, 1).stepped(step)
    (kept,) = read_steps(tmp_path)
    assert kept.raw == '{"answer": "[secret]"}'


def test_a_secret_within_another_leaves_no_rest() -> None:
    secrets.mark("opensesame")
    secrets.mark("opensesame-and-more")
    assert secrets.scrub("opensesame-and-more opensesame") == "[secret] [secret]"


def test_short_values_are_refused_when_named_and_else_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIN", "1234")
    with pytest.raises(UsageError, match="secret PIN: expected at least 6 characters, found 4"):
        secrets.mark_environment(["PIN"])
    secrets.mark("1234")
    secrets.mark_environment(["NOT_SET_ANYWHERE"])
    assert secrets.scrub("1234") == "1234"


def test_a_key_is_marked_wherever_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("sk-from-file\n")
    monkeypatch.setenv("MY_KEY", "sk-from-environment")
    monkeypatch.setenv("OTHER_KEY_FILE", str(file))
    assert Endpoint(key_env="MY_KEY").key() == "sk-from-environment"
    assert Endpoint(key_env="OTHER_KEY").key() == Endpoint(key_file=file).key() == "sk-from-file"
    assert secrets.scrub("sk-from-file sk-from-environment") == "[secret] [secret]"
    assert Endpoint(key_env=None).key() == "none"


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        (Endpoint(key_env="NO_SUCH_KEY"), "NO_SUCH_KEY, or a file named by NO_SUCH_KEY_FILE, found neither"),
        (Endpoint(key_file=Path("/nowhere/key")), "expected a file with an API key at /nowhere/key"),
        (Endpoint(key_file=Path(__file__)), "expected one line with an API key"),
    ],
)
def test_missing_key_error_names_where_it_was_expected(endpoint: Endpoint, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        endpoint.key()


def test_invalid_address_is_reported() -> None:
    with pytest.raises(UsageError, match=r"expected an http\(s\) address, found 'ftp://x'"):
        _ = Endpoint(base_url="ftp://x").url
