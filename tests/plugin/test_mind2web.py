"""Tasks of Mind2Web-Live as tests. No catalogue has their sites unless the import writes one."""

from __future__ import annotations

import pytest

from tests.unit.suites.lamps import COMPACT, RAW, compact, write


def test_tasks_on_live_sites_are_skipped_with_reason_and_counted(pytester: pytest.Pytester) -> None:
    reserved = {**COMPACT["evaluation"][4], "match_function_name": "element_path_included_match"}
    write(pytester.path, COMPACT, compact(*COMPACT["evaluation"], reserved, index=8), name="lamps.json")
    write(pytester.path, RAW, name="raw.json")
    suites = "--suite=mind2web-live:lamps.json,mind2web-live:raw.json"
    result = pytester.runpytest(suites, "--agent=null", "--run-dir=run", "-rs")
    result.assert_outcomes(skipped=3)
    assert result.ret == 0
    reason = (
        "the catalogue has no site of the live web; "
        "'webarena tasks import … --catalogue FILE' writes one that has (--sites)"
    )
    result.stdout.fnmatch_lines([f"webarena: 3 skipped: {reason}", f"SKIPPED *{reason}"])


def test_mind2web_items_have_file_and_task_ids(pytester: pytest.Pytester) -> None:
    write(pytester.path, COMPACT)
    result = pytester.runpytest("--suite=mind2web-live:lamps.json", "--agent=null", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["lamps.json::lamps.7[[]chromium[]]"])
    picked = pytester.runpytest(
        "--suite=mind2web-live:lamps.json", "--select=evaluation=key_nodes", "--agent=null", "--collect-only", "-q"
    )
    picked.stdout.fnmatch_lines(["lamps.json::lamps.7[[]chromium[]]"])


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ("mind2web-live:lamps.jsonl", "expected mind2web-live: and a file of tasks, .json, found"),
        ("mind2web-live:none.json", "expected a JSON file, found none at none.json"),
        ("mind2web-live:other.json", "expected tasks of Mind2Web-Live in other.json, with 'task' and 'evaluation'"),
    ],
)
def test_invalid_mind2web_suite_file_is_reported(pytester: pytest.Pytester, suite: str, message: str) -> None:
    pytester.path.joinpath("other.json").write_text('[{"task_id": 1}]')
    result = pytester.runpytest(f"--suite={suite}", "--agent=null")
    assert message in " ".join((result.stdout.str() + result.stderr.str()).split())


def test_malformed_mind2web_file_is_a_collection_error(pytester: pytest.Pytester) -> None:
    write(pytester.path, {**COMPACT, "evaluation": [{"match_function_name": "url_match", "content": {}}]})
    result = pytester.runpytest("--suite=mind2web-live:lamps.json", "--agent=null")
    result.assert_outcomes(errors=1)
    assert "expected a function of WebCanvas in 'evaluation[0].match_function_name' of task 7" in result.stdout.str()
