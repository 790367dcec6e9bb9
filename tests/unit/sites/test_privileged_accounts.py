"""Accounts that impossible tasks name as those that see what is asked for."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.agents.audit_trials import is_unachievable
from pytest_webarena.checks.ground import declared_ground
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.privileged_accounts import why_not_privileged
from pytest_webarena.tasks import load_tasks
from pytest_webarena.testing import make_task
from tests.cases import each_case

ROOT = Path(__file__).parents[3]
SITES = """
apps:
  shop:
    backend: process
    sites: {shop: {host: shop.test, user: emma}, admin: {host: admin.test}}
    users: {emma: {password: x}, owner: {password: y}}
    process: {factory: "pages:shop"}
  board:
    backend: process
    sites: {board: {host: board.test}}
    users: {owner: {password: y}}
    process: {factory: "pages:board"}
"""


@each_case(
    ("keys", "why"),
    [
        ("visible_to: owner", ""),
        ("visible_to: {admin: owner}", ""),
        ("visible_to: emma", "'visible_to' names emma, with whom the task visits shop; "),
        ("visible_to: {board: owner}", "'visible_to' names the site board, but the task is about shop; "),
    ],
)
def test_privileged_account_is_another_one_of_the_same_data(keys: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "sites.yaml").write_text(SITES)
    check = f"answer: {{unachievable: only the owner sees it, absent: 12, {keys}}}"
    task = make_task(f"intent: x\nsites: [shop]\nchecks: [{{{check}}}]", id="t")
    found = why_not_privileged(load_catalogue(str(tmp_path / "sites.yaml")), task)
    assert found.startswith(why)
    assert bool(found) is bool(why)


@each_case(("folder", "sites"), [("tasks", "embedded"), ("tasks-debian", "debian")])
def test_shipped_impossible_tasks_declare_a_ground_that_counts(folder: str, sites: str) -> None:
    catalogue = load_catalogue(sites)
    paths = [path for path in (ROOT / folder).rglob("*.yaml") if "unachievable" in path.read_text()]
    tasks = [task for path in paths for task in load_tasks(path) if is_unachievable(task)]
    assert tasks
    assert [task.id for task in tasks if declared_ground(task) is None or why_not_privileged(catalogue, task)] == []
