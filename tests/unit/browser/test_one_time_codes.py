"""One-time codes of two-factor authentication."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from pytest_webarena import secrets
from pytest_webarena.browser import one_time_codes
from pytest_webarena.browser.one_time_codes import one_time_code
from tests.cases import each_case

SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.fixture(autouse=True)
def unused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(one_time_codes, "_used", {})
    monkeypatch.setenv("WEBARENA_STATE_DIR", str(tmp_path / "state"))


@each_case(
    ("at", "code"),
    [(59 - 5, "287082"), (1111111109 - 20, "081804"), (1234567890, "005924"), (2000000000, "279037")],
)
def test_codes_are_those_of_rfc_6238(monkeypatch: pytest.MonkeyPatch, at: float, code: str) -> None:
    monkeypatch.setattr(one_time_codes, "_used", {})
    assert one_time_code(SECRET, clock=lambda: at) == code


def test_each_code_is_returned_once_and_never_just_before_it_expires() -> None:
    waits: list[float] = []
    codes = [one_time_code(SECRET, clock=lambda: 40.0, sleep=waits.append) for _ in range(3)]
    assert (len(set(codes)), waits) == (3, [20.0, 50.0])
    other = base64.b32encode(b"another secret of ours").decode()
    late = one_time_code(other, clock=lambda: 59.5, sleep=waits.append)
    assert waits.pop() == pytest.approx(0.5)
    assert one_time_code(f"{other.lower()} ", clock=lambda: 60.0, sleep=waits.append) != late  # the same secret
    assert waits[-1] == 30.0


def test_processes_of_a_user_never_return_the_same_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    waits: list[float] = []
    codes = set()
    for _process in range(3):
        monkeypatch.setattr(one_time_codes, "_used", {})
        codes.add(one_time_code(SECRET, clock=lambda: 40.0, sleep=waits.append))
    assert (len(codes), waits) == (3, [20.0, 50.0])
    assert "waiting 20 s for a one-time code" in caplog.text
    (file,) = (tmp_path / "state" / "one-time-codes").iterdir()
    assert SECRET not in file.name + file.read_text()


def test_codes_work_without_a_place_for_shared_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    code = one_time_code(SECRET, clock=lambda: 40.0, folder=tmp_path / "file")
    assert len(code) == 6
    assert "one-time codes are not shared with other processes" in caplog.text
    assert secrets.scrub(f"code={code}") == "code=[secret]"


def test_invalid_secrets_are_named() -> None:
    with pytest.raises(ValueError, match="expected a TOTP secret in base32"):
        one_time_code("not base32!")
