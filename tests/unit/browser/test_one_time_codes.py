"""One-time codes of two-factor authentication."""

from __future__ import annotations

import base64

import pytest

from pytest_webarena.browser import one_time_codes
from pytest_webarena.browser.one_time_codes import one_time_code
from tests.cases import each_case

SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.fixture(autouse=True)
def unused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_time_codes, "_used", {})


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


def test_invalid_secrets_are_named() -> None:
    with pytest.raises(ValueError, match="expected a TOTP secret in base32"):
        one_time_code("not base32!")
