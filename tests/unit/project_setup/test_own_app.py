"""What ``webarena init`` writes for apps that exist, without starting them."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.project_setup.catalogue_writing import (
    accounts_of,
    app_of_address,
    app_of_command,
    catalogue_text,
    with_findings,
)
from pytest_webarena.project_setup.exploring import Explored, Page
from pytest_webarena.project_setup.first_tasks import first_tasks
from pytest_webarena.project_setup.sign_in_form import SignInForm, find_form
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import LoginCheck
from pytest_webarena.tasks.validate import validate

NAMED = "<input name=user><input type=password name=pass>"


@pytest.mark.parametrize(
    ("html", "found"),
    [
        (f"<form>{NAMED}</form>", ('css=[name="user"]', 'css=[name="pass"]')),
        (f"<form><input name=q></form><form>{NAMED}</form>", ('css=[name="user"]', 'css=[name="pass"]')),
        ("<form><input id=mail type=email><input type=PASSWORD></form>", ("css=#mail", "css=input[type=password]")),
        ("<div><input id='a.b'><input type=password id=p></div>", ('css=[id="a.b"]', "css=#p")),
        ("<form><input type=hidden name=token><input name=n><input type=checkbox name=c><input type=password name=p>",
         ('css=[name="n"]', 'css=[name="p"]')),
        ("<form><input name=u><input type=password name=a><input type=password name=b></form>", None),
        ("<form><input type=password name=pin></form>", None),
        ("<form><input name=q></form>", None),
        ("", None),
    ],
)  # fmt: skip
def test_sign_in_form_is_found(html: str, found: tuple[str, str] | None) -> None:
    form = find_form(html, "/in")
    assert (form and (form.name, form.password)) == found


def command(text: str = "python app.py {port}", **options: Any) -> dict[str, Any]:
    given = {"database": "", "data": "", "env": (), "start": "", **options}
    return app_of_command(text, "shop.test", "shop", **given)


def test_catalogue_of_a_command_is_valid(tmp_path: Path) -> None:
    app = command("python app.py {port}", database="app.db", env=["DB={data_dir}/app.db", "YES=no", "BRACES={{x}}"])
    app["users"] = accounts_of(["emma:paper:86", "ann@shop.test:$ANN_PASSWORD"])
    found = Explored(
        form=SignInForm(path="/in", name="css=#u", password="css=#p"),
        check=LoginCheck(path="/", includes="{username}"),
        hosts={"loads": ["cdn.example.com"]},
        ignore=["+sessions", "users.last_login"],
        ignore_files=["log.txt"],
        ledger=True,
    )
    (tmp_path / "sites.yaml").write_text(catalogue_text({"shop": with_findings(app, "shop", found)}))
    read = load_catalogue(str(tmp_path / "sites.yaml")).apps["shop"]
    assert read.process is not None
    assert read.process.command == ("{python}", "app.py", "{port}")
    assert dict(read.process.env) == {"DB": "{data_dir}/app.db", "YES": "no", "BRACES": "{{x}}"}
    assert read.users["emma"].password == "paper:86"
    assert read.users["ann-shop-test"].username == "ann@shop.test"
    assert read.users["ann-shop-test"].password_env == "ANN_PASSWORD"
    assert read.databases["main"].ignore == ("+sessions", "users.last_login")
    assert read.forbid_side_effects
    recipe = read.login["shop"]
    assert (recipe.path, len(recipe.steps), recipe.check.includes) == ("/in", 3, "{username}")


def test_app_that_knows_no_data_directory_runs_in_it() -> None:
    assert command(database="app.db")["process"]["in_data_dir"]
    assert command(data="seed")["process"]["in_data_dir"]
    assert "in_data_dir" not in command("a {port} {data_dir}", database="app.db")["process"]
    assert "in_data_dir" not in command()["process"]


def test_catalogue_without_a_ledger_forbids_nothing() -> None:
    """An app whose changes can't be seen must not seem to have none."""
    assert "forbid_side_effects" not in with_findings(command(), "shop", Explored())
    assert app_of_address("http://127.0.0.1:80/", "shop", "/a") == {
        "backend": "external",
        "sites": {"shop": {"url": "http://127.0.0.1:80", "start": "/a"}},
    }


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("python app.py", {}, r"'\{port\}'"),
        ("'", {}, "No closing quotation"),
        ("", {}, "found none"),
        ("a {port}", {"env": ["A"]}, "NAME=VALUE, found 'A'"),
    ],
)
def test_command_that_cannot_work_is_refused(text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        command(text, **options)


PAGES = [
    Page(path=path, heading=heading) for path, heading in (("/", "Home"), ("/teas", 'Our "teas"'), ("/a?b=1", "A: b"))
]


@pytest.mark.parametrize("pages", [PAGES, PAGES[:2], PAGES[:1], [Page(path="/t", heading="T", is_title=True)]])
def test_tasks_for_found_pages_are_valid(tmp_path: Path, pages: list[Page]) -> None:
    (tmp_path / "tasks.yaml").write_text(first_tasks("shop", pages, "/"))
    report = validate([tmp_path])
    assert not report.problems
    assert len(report.tasks) == (1 if len(pages) == 1 and pages[0].path == "/" else 2)
    for task in report.tasks:  # who stops at once must fail
        checks = yaml.safe_load((tmp_path / "tasks.yaml").read_text())["tasks"]
        assert any("url" in each or "answer" in each for entry in checks for each in entry["checks"]), task.id


def test_no_page_makes_no_task() -> None:
    assert not first_tasks("shop", [], "/")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--command=a {port}", "--url=http://x.test"], "expected one of --command, --url and --compose"),
        (["--database=a.db"], "expected --command with it, found none"),
        (["--url=http://x.test", "--env=A=b"], "expected --command with it, found url"),
        (["--login=/in"], "expected --command, --url or --compose with it"),
        (["--command=a {port}", "--login=in"], "a path that starts with '/', found 'in'"),
        (["--command=a {port}", "--name=a b"], "found 'a b'"),
        (["--command=a {port}", "--user=emma"], "NAME:PASSWORD or NAME:$VARIABLE, found 'emma'"),
        (["--compose=none.yaml"], "expected a readable file, found no such file"),
    ],
)
def test_options_that_do_not_fit_end_in_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_existing_catalogue_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites.yaml").write_text("mine")
    assert main(["init", "--command=a {port}"]) == 2
    assert "expected a new sites.yaml, found one" in capsys.readouterr().err
    assert (tmp_path / "sites.yaml").read_text() == "mine"


def test_refused_lines_of_a_compose_file_are_printed_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compose.yaml").write_text("services:\n  web:\n    image: a\n    ports: [80]\n    privileged: true\n")
    assert main(["init", "--compose=compose.yaml"]) == 1
    printed = capsys.readouterr().out
    assert "refused  compose.yaml:5: services.web.privileged: it can't be had" in printed
    assert "1 refused; nothing was written" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["compose.yaml"]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("app.db") as connection:
        connection.execute("create table t (a)")
    connection.close()
    return tmp_path / "app.db"


def test_failed_init_leaves_no_copy_of_the_database(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--command=none-such {port} app.db", "--database=app.db"]) == 1
    assert "nothing was written" in capsys.readouterr().out
    assert [path.name for path in database.parent.iterdir()] == ["app.db"]


def test_existing_copy_is_kept_and_reported(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = database.parent / "webarena-data" / "app.db"
    copy.parent.mkdir()
    shutil.copy(database, copy)
    for state in ("it equals app.db", "it differs from app.db; delete webarena-data"):
        assert main(["init", "--command=none-such {port} app.db", "--database=app.db"]) == 1
        assert state in capsys.readouterr().out
        copy.write_bytes(b"other")
    assert copy.read_bytes() == b"other"


def test_signal_removes_what_init_has_written(database: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from pytest_webarena.commands import own_app\n"
        "from pytest_webarena.commands.cli import main\n"
        "def ended(*_):\n"
        "    print(sorted(os.listdir()))\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "own_app._requirements = ended\n"
        "sys.exit(main(['init', '--command=a {port} app.db', '--database=app.db']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "['.webarena-init.yaml', 'app.db', 'webarena-data']" in done.stdout, done.stderr
    assert done.returncode == 128 + signal.SIGTERM
    assert os.listdir() == ["app.db"]


def test_own_output_is_no_file_of_the_app(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from pytest_webarena.commands.own_app import _own_files\n"
        "Path('other').write_text('')\n"
        "print(*sorted(_own_files(Path())))\n"
    )
    with (tmp_path / "init.out").open("w") as out:
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stdout=out, check=True)
    assert (tmp_path / "init.out").read_text() == "other\n"
