"""``webarena sites query``: a fresh site's database as CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main

SQL = "select 'Tea, green' as product, 2.5 as price union all select 'Milk', null order by product desc"


def test_query_result_is_printed_as_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["sites", "query", "homepage", SQL, "--sites=embedded"]) == 0
    stdout = capsys.readouterr().out
    assert stdout == 'product,price\n"Tea, green",2.5\nMilk,\n'
    file = tmp_path / "table.csv"
    (tmp_path / "pytest.ini").write_text("[pytest]\nwebarena_secrets = GREEN\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GREEN", "Tea, green")
    assert main(["sites", "query", "homepage", SQL, "--sites=embedded", "-o", str(file)]) == 0
    assert file.read_text() == stdout.replace("Tea, green", "[secret]")
    assert capsys.readouterr().err == f"wrote {file}: 2 rows\n"


@pytest.mark.parametrize(
    ("site", "sql", "message"),
    [
        ("homepage", "select nowt", "no such column: nowt"),
        ("homepage", "drop table notes", "error (task)"),
        ("nowhere", "select 1", "has no site 'nowhere'; known: "),
    ],
)
def test_invalid_query_is_an_error(capsys: pytest.CaptureFixture[str], site: str, sql: str, message: str) -> None:
    assert main(["sites", "query", site, sql, "--sites=embedded"]) in (1, 2)
    assert message in capsys.readouterr().err
