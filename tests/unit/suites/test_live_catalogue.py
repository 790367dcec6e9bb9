"""The catalogue of live sites that an import writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.sites.catalogues.loading import load_catalogue
from tests.unit.suites.lamps import COMPACT, compact, node, write


def imported(folder: Path, *tasks: object) -> int:
    write(folder, *tasks)  # type: ignore[arg-type]
    source = f"mind2web-live:{folder / 'lamps.json'}"
    return main(
        ["tasks", "import", source, "-o", str(folder / "lamps.tasks.yaml"), "--catalogue", str(folder / "live.yaml")]
    )


def test_catalogue_has_the_sites_of_all_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = compact(node("url_included_match", "old", "http://old.test:8080/a?b=1"), index=8)
    both = compact(
        node("url_included_match", "a", "http://both.test/"),
        node("url_included_match", "a", "https://both.test/"),
        index=9,
    )
    assert imported(tmp_path, COMPACT, plain, both) == 0
    assert "live.yaml: 3 live sites; pytest … --sites=" in capsys.readouterr().out
    catalogue = load_catalogue(str(tmp_path / "live.yaml"))
    (app,) = catalogue.apps.values()
    assert app.backend == "live"
    bases = {site.name: site.base for site in app.sites}
    assert bases == {
        "both-test": "https://both.test", "lamps-test": "https://www.lamps.test", "old-test": "http://old.test:8080",
    }  # fmt: skip


def test_two_hosts_with_one_site_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [
        compact(node("url_included_match", "a", f"https://{host}/"), index=number)
        for number, host in enumerate(("a-b.test", "a.b.test"))
    ]
    assert imported(tmp_path, *tasks) == 2
    assert "expected one host for the site a-b-test, found a-b.test and a.b.test" in capsys.readouterr().err
    assert not (tmp_path / "live.yaml").exists()


def test_invalid_host_is_left_out_of_the_catalogue(tmp_path: Path) -> None:
    odd = compact(node("url_included_match", "a", "https://a b.test/"), index=12)
    assert imported(tmp_path, COMPACT, odd) == 0
    (app,) = load_catalogue(str(tmp_path / "live.yaml")).apps.values()
    assert [site.name for site in app.sites] == ["lamps-test"]


def test_existing_catalogue_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.json").write_text("[]")
    suite = tmp_path / "live.yaml"
    suite.write_text("mine")
    assert imported(tmp_path, COMPACT) == 2
    assert "expected a new file, found" in capsys.readouterr().err
    assert suite.read_text() == "mine"


def test_failed_import_leaves_no_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = tmp_path / "lamps.tasks.yaml"
    tasks.write_text("mine")
    assert imported(tmp_path, COMPACT) == 2
    assert "expected a new file, found" in capsys.readouterr().err
    assert (tasks.read_text(), (tmp_path / "live.yaml").exists()) == ("mine", False)


def test_invalid_port_is_left_out_of_the_address(tmp_path: Path) -> None:
    odd = compact(node("url_included_match", "a", "https://odd.test:99999/"), index=9)
    assert imported(tmp_path, odd) == 0
    assert '"https://odd.test"' in (tmp_path / "live.yaml").read_text().replace("'", '"')


def test_ipv6_addresses_and_trailing_dot_of_hosts(tmp_path: Path) -> None:
    six = compact(node("url_included_match", "a", "https://[2001:db8::7]:8443/a"), index=8)
    dotted = compact(node("url_included_match", "a", "https://www.lamps.test./"), index=9)
    assert imported(tmp_path, six, dotted, COMPACT) == 0
    (app,) = load_catalogue(str(tmp_path / "live.yaml")).apps.values()
    assert {site.base for site in app.sites} == {"https://[2001:db8::7]:8443", "https://www.lamps.test"}
