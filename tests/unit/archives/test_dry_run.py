"""The dry run of tasks with key nodes on an archive: walls, sign-ins, missing pages, withheld writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.dry_run import DryRun, dry_run
from pytest_webarena.archives.writing import WarcFile
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.suites.loading import load_suite
from tests.unit.archives.helpers import SITES, opened
from tests.unit.suites.lamps import compact, write

HOME, FIND, ITEM = "https://www.lamps.test/", "https://www.lamps.test/find?q=red", "https://www.lamps.test/item/3"
PAGES = {
    "wall": ("200 OK", "", b"<title>Lamps</title><p>Please verify you are human"),
    "refused": ("403 Forbidden", "", b"no"),
    "sign-in": ("302 Found", "Location: /login\r\n", b""),
    "gone": ("404 Not Found", "", b"gone"),
}


def url_node(text: str, recorded: str) -> dict[str, Any]:
    content = {"key": "", "reference_answer": text, "url": recorded}
    return {"match_function_name": "url_included_match", "content": content}


def element_node(recorded: str) -> dict[str, Any]:
    content = {"reference_answer": "#basket", "netloc": "lamps", "url": recorded}
    return {"match_function_name": "element_path_exactly_match", "method": "selector", "content": content}


def examined(folder: Path, archive: Archive, *nodes: dict[str, Any]) -> DryRun:
    file = write(folder, compact(*nodes))
    return dry_run(archive, load_suite(f"mind2web-live:{file}").tasks)


def archived(path: Path, item: str) -> Archive:
    with WarcFile(path, sites=SITES) as file:
        answers = {
            HOME: ("200 OK", "", b"lamps"),
            FIND: ("200 OK", "", b"<p>two lamps"),
            "https://www.lamps.test/login": ("200 OK", "", b"<input type='password' name=p>"),
        }
        if item in PAGES:
            answers[ITEM] = PAGES[item]
        for url, (status, fields, body) in answers.items():
            file.add(
                method="GET", url=url, request_head="GET / HTTP/1.1\r\nHost: x\r\n", request_body=b"",
                response_head=f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{fields}", response_body=body, time=1.0,
            )  # fmt: skip
        file.add_withheld(method="POST", url="https://www.lamps.test/orders", time=1.0)
    return Archive([path])


@pytest.mark.parametrize(
    ("item", "obstacle", "text"),
    [
        ("wall", "wall", f"{ITEM} says 'verify you are human'"),
        ("refused", "wall", f"{ITEM} has status 403"),
        ("sign-in", "sign-in", f"{ITEM} leads to a sign-in at https://www.lamps.test/login"),
        ("gone", "missing", f"{ITEM} has status 404"),
        ("", "missing", f"{ITEM} is not archived"),
    ],
)
def test_node_behind_an_obstacle_is_unreachable(tmp_path: Path, item: str, obstacle: str, text: str) -> None:
    archive = archived(tmp_path / "a.warc.gz", item)
    found = examined(tmp_path, archive, url_node("lamps.", HOME), element_node(FIND), element_node(ITEM))
    assert [(each.node, each.obstacle, each.text) for each in found.findings] == [(3, obstacle, text)]
    assert (found.tasks, found.nodes, found.unknown) == (1, 3, 0)
    assert found.withheld == ("POST www.lamps.test/orders",)
    assert "unreachable nodes: 1 in 1 task" in found.render()


def test_address_node_is_reachable_on_another_page_that_fulfils_it(tmp_path: Path) -> None:
    archive = opened(tmp_path / "a.warc.gz", ("GET", FIND, b"two lamps"))
    found = examined(tmp_path, archive, url_node("lamps.test/find", HOME), url_node("lamps.test/item", ITEM))
    assert [each.node for each in found.findings] == [2]


def test_sign_in_that_was_itself_recorded_is_no_obstacle(tmp_path: Path) -> None:
    archive = archived(tmp_path / "a.warc.gz", "")
    assert not examined(tmp_path, archive, element_node("https://www.lamps.test/login")).findings


def test_command_reports_obstacles_by_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archived(tmp_path / "a.warc.gz", "wall").close()
    tasks = write(tmp_path, compact(element_node(ITEM)))
    command = ["sites", "archive", "check", str(tmp_path / "a.warc.gz")]
    assert main(command) == 0
    assert main([*command, f"--tasks=mind2web-live:{tasks}"]) == 1
    stdout = capsys.readouterr().out
    assert "1 in 1 task (0 not archived, 1 behind a wall, 0 behind a sign-in)" in stdout
    assert "withheld writes: 1" in stdout


def test_tasks_without_key_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected tasks with key nodes, found none among 0"):
        dry_run(opened(tmp_path / "a.warc.gz", ("GET", HOME, b"x")), ())
