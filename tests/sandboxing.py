"""A check for tests of sandboxed agents: whether the machine can create a sandbox."""

from __future__ import annotations

import os

import pytest

from pytest_webarena.agents.sandbox import examine

__all__ = ["need_sandbox"]


def need_sandbox() -> None:
    """Skip the test on a machine that can't create a sandbox; fail it if WEBARENA_REQUIRE_SANDBOX=1."""
    works, sentence = examine()
    if works:
        return
    if os.environ.get("WEBARENA_REQUIRE_SANDBOX") == "1":
        pytest.fail(f"WEBARENA_REQUIRE_SANDBOX=1, but {sentence}", pytrace=False)
    pytest.skip(sentence)
