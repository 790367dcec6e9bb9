"""Some of the store's shipped tasks, one of each kind; ``make audit`` runs all of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_webarena.embedded import APPS

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(620)]

_TASKS = Path(__file__).parents[2] / "tasks"
_CHOSEN = [
    "shopping/content.yaml::shopping-place-order.throw",  # the whole way to an order
    "shopping/navigation.yaml::shopping-preview-order.tea",  # seen on the way, not at the end
    "shopping_admin/content.yaml::shopping-admin-judge-review.insult",  # by the employee
    "cross_site/shopping_and_homepage.yaml::cross-average-order.march",  # two tabs, and a check in Python
]


@pytest.fixture
def oscar() -> None:
    """Without django-oscar: a skip, or a failure in CI."""
    if not APPS["shop"].available and os.environ.get("WEBARENA_REQUIRE_SHOP") != "1":
        pytest.skip("django-oscar is not installed: pip install '.[shop]'")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("oscar")
def test_shop_solutions_pass_and_null_agent_fails(pytester: pytest.Pytester) -> None:
    run = pytester.path / "run"
    result = pytester.runpytest_subprocess(
        *(_TASKS / task for task in _CHOSEN),
        *("--agent=oracle", "--agent=null", "--concurrency=4"),
        *("--record=minimal", "-p", "no:cacheprovider", f"--run-dir={run}"),
        timeout=600,
    )
    result.assert_outcomes(passed=len(_CHOSEN), failed=len(_CHOSEN))
    passed = {}
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text())
        passed[record["key"]["task"], record["key"]["agent"]] = record["outcome"] == "passed"
    names = [task.partition("::")[2] for task in _CHOSEN]
    assert passed == {(name, agent): agent == "oracle" for name in names for agent in ("oracle", "null")}
