"""Modules that a run inside the test imports."""

from __future__ import annotations

import sys

import pytest


def test_package_that_our_cache_keeps_stays_loaded(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "from pytest_webarena.checks.verified.package import load_package\ndef test_it(): assert load_package()"
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert "webarena_verified.api" in sys.modules
