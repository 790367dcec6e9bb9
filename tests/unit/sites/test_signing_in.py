"""Tasks that need a signed-in account on sites without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.shipped import shipped
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import Catalogue
from pytest_webarena.sites.catalogues.signing_in import why_not_signed_in
from pytest_webarena.tasks import load_tasks

HOSTED = {"shopping": "http://h.test:7770", "gitlab": "http://h.test:8023", "map": "http://h.test:3000"}
OWN = """
apps:
  shop:
    backend: external
    sites: {shopping: {url: "http://h.test:7770"%s}}
    users: {emma: {password: x}}
"""
SIGN_IN = ", sign_in: {headers: {X-User: emma}, check: {path: /account}}"


def own(path: Path, more: str = "") -> Catalogue:
    (path / "sites.yaml").write_text(OWN % more)
    return load_catalogue(str(path / "sites.yaml"))


def why(path: Path, catalogue: Catalogue, *keys: str) -> str:
    lines = "".join(f"    {key}\n" for key in keys)
    (path / "a.yaml").write_text(f"tasks:\n  - id: a\n    intent: Which?\n    checks: [answer: x]\n{lines}")
    [task] = load_tasks(path / "a.yaml")
    return why_not_signed_in(catalogue, task)


@pytest.mark.parametrize("suite", ["webarena", "webarena-verified", "a-copy-of-it"])
def test_suite_task_needs_the_accounts_of_its_suite(tmp_path: Path, suite: str) -> None:
    external = load_catalogue("external", site_urls=HOSTED)
    home = "webarena-verified" if suite == "webarena-verified" else "webarena"
    source = f"source: {{suite: {suite}, task_id: 1}}"
    assert why(tmp_path, external, "sites: [shopping, gitlab, map]", source) == (
        "needs an account signed in to shopping (emma), gitlab (byteblaze), which 'external' does not "
        f"define; --sites={home} --site-url shopping=http://h.test:7770 --site-url gitlab=http://h.test:8023 keeps the "
        "suite's accounts"
    )
    hosted = load_catalogue(home, site_urls=HOSTED)
    for catalogue, sites in (
        (hosted, "[shopping, gitlab]"),
        (external, "[map]"),
        (load_catalogue("embedded"), "[gitlab]"),
    ):
        assert not why(tmp_path, catalogue, f"sites: {sites}", source)


def test_shipped_tasks_need_accounts_of_embedded_sites() -> None:
    folder = shipped("tasks")
    assert folder is not None
    tasks = load_tasks(folder / "shopping" / "products.yaml")
    external = load_catalogue("external", site_urls=HOSTED)
    assert "shopping (mara.linden)" in why_not_signed_in(external, tasks[0])
    assert not why_not_signed_in(load_catalogue("embedded"), tasks[0])


def test_shipped_tasks_are_recognised_by_relative_and_linked_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``webarena tasks monitor tasks/shopping`` passes relative paths."""
    folder = shipped("tasks")
    assert folder is not None
    external = load_catalogue("external", site_urls=HOSTED)
    monkeypatch.chdir(folder.parent)
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    for path in (Path("tasks"), tmp_path / "link"):
        [task, *_] = load_tasks(path / "shopping" / "products.yaml")
        assert "shopping (mara.linden)" in why_not_signed_in(external, task)


@pytest.mark.parametrize(
    ("manifest", "keys", "lacks"),
    [
        ("", (), False),  # a user's task that names no account, on a site without accounts
        ("", ("user: emma",), True),
        (", user: emma", (), True),
        (", user: emma", ("user: ''",), False),
        (f", user: emma{SIGN_IN}", (), False),
        (SIGN_IN, ("user: emma",), False),
        (SIGN_IN, ("source: {suite: webarena}",), True),
        (f", user: emma{SIGN_IN}", ("source: {suite: webarena}",), False),
    ],
)
def test_task_that_names_an_account_needs_a_sign_in(
    tmp_path: Path, manifest: str, keys: tuple[str, ...], lacks: bool
) -> None:
    reason = why(tmp_path, own(tmp_path, manifest), "sites: [shopping]", *keys)
    assert ("needs an account signed in to shopping (emma)" in reason) is lacks
