"""Secrets are taken out in whatever form they come."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus
from zipfile import ZipFile

import pytest

from pytest_webarena import secrets
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.results.attempts import AttemptWriter, read_evidence, read_steps
from pytest_webarena.results.stored_records import write_attempt_manifest
from pytest_webarena.secret_forms import forms_of
from pytest_webarena.text import clip, shorten
from tests.cases import each_case

SECRET = 'p&ss "wörd"/+1'


@pytest.fixture(autouse=True)
def nothing_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", secrets.Known())


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


@each_case(
    "encode",
    [
        lambda text: json.dumps(json.dumps(text)),
        lambda text: quote(quote(text, safe=""), safe=""),
        lambda text: quote(text, safe="").lower().replace("lantern", "Lantern"),
        lambda text: html.escape(text),
        lambda text: html.escape(text).replace("&quot;", "&#34;").encode("ascii", "xmlcharrefreplace").decode(),
        lambda text: html.escape(json.dumps(text)),
        lambda text: quote(json.dumps(text), safe=""),
        lambda text: repr({"password": text}) + ascii(text) + repr(text.encode()),
        lambda text: f"{text.encode().hex()} {text.encode().hex().upper()}",
        lambda text: " ".join(base64.b64encode(f"{'x' * n}{text}{'y' * n}".encode()).decode() for n in range(4)),
        lambda text: base64.urlsafe_b64encode(f"?{text}".encode()).decode(),
    ],
)
def test_no_encoding_hides_a_secret(encode: Callable[[str], str]) -> None:
    secret = 'p&ss "w\u00f6rd"/+1>>?~Lantern'
    secrets.mark(secret)
    masked = secrets.scrub(encode(secret))
    assert secrets.MASK in masked
    for form in forms_of(secret):
        assert len(form) < secrets.SHORTEST or form not in masked
    assert "antern" not in masked


def test_forms_of_many_secrets_are_found_anywhere() -> None:
    values = [f"{number:04}{hashlib.sha256(str(number).encode()).hexdigest()[:28]}" for number in range(300)]
    secrets.learn(values)
    for offset, value in enumerate(values[:40]):
        text = "." * offset + value + "." * offset
        assert secrets.scrub(text) == "." * offset + secrets.MASK + "." * offset
        assert value[4:20] not in secrets.scrub(f"{' ' * 9999}{text}")


def test_newest_learned_values_are_kept() -> None:
    secrets.mark("kept-forever")
    values = [f"session-{number:06}-abc" for number in range(2100)]
    secrets.learn(values)
    secrets.learn(["a", "true", "1"])
    assert secrets.scrub(values[-1]) == secrets.scrub("kept-forever") == secrets.MASK
    assert secrets.scrub(values[0]) == values[0]
    assert secrets.scrub("a true 1") == "a true 1"


def test_numbers_are_masked_as_whole_numbers() -> None:
    secrets.learn(["492039"])
    assert secrets.scrub("code=492039, order 14920391") == "code=[secret], order 14920391"


def test_texts_are_masked_before_they_are_shortened() -> None:
    secrets.mark("paper-lantern-86")
    assert shorten("it is paper-lantern-86 and more", 16) == "it is [secret] \u2026"
    assert "lant" not in clip("it is paper-lantern-86 and more", 12)
    assert secrets.scrub_cut("it is paper-lan\u2026 and paper-lan... also paper-la") == (
        "it is [secret]\u2026 and [secret]... also [secret]"
    )
    assert secrets.scrub("it is paper-lan [\u2026] (cut here)") == "it is [secret] [\u2026] (cut here)"
    assert secrets.scrub_cut("paper is cheap...") == "paper is cheap..."


def test_secrets_learned_later_are_masked_in_files_written_before(tmp_path: Path) -> None:
    writer = AttemptWriter(tmp_path, 1)
    writer.hides_credentials = True
    session, renewed = "4bf92f3577b34da6a3ce", "77b34da6a3ce4bf92f35"
    step = StepRecord(index=0, action={"kind": "stop"}, raw=f"sid={session}")
    writer.stepped(step)
    with ZipFile(tmp_path / "trace.zip", "w") as trace:
        trace.writestr("trace.network", json.dumps({"cookie": renewed}))
        trace.writestr("resources/1.dat", gzip.compress(f"<p>{session}".encode()))
        trace.writestr("resources/1.jpeg", b"\xff\xd8 picture")
    (tmp_path / "agent-stderr.txt").write_text(renewed)
    (tmp_path / "notes.bin").write_text("the agent's own")
    secrets.learn([session, renewed])
    request = RequestRecord(
        time=0.0, method="GET", url=f"http://a.test/?s={renewed}", status=200, request_headers=(("Cookie", "x=1"),)
    )
    writer.finish(Evidence(answer=renewed, stop_reason="answered", tabs=(), steps=(step,), requests=(request,)))
    manifest = write_attempt_manifest(tmp_path)
    evidence = read_evidence(tmp_path, manifest=manifest)
    assert (evidence.masked, evidence.answer, evidence.steps[0].raw) == (True, "[secret]", "sid=[secret]")
    assert evidence.requests[0].url == "http://a.test/?s=[secret]"
    assert evidence.requests[0].request_headers == (("Cookie", "x=[secret]"),)
    with ZipFile(tmp_path / "trace.zip") as trace:
        assert trace.read("trace.network") == b'{"cookie": "[secret]"}'
        assert gzip.decompress(trace.read("resources/1.dat")) == b"<p>[secret]"
        assert trace.read("resources/1.jpeg") == b"\xff\xd8 picture"
    assert (tmp_path / "agent-stderr.txt").read_text() == "[secret]"


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
