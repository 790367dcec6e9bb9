"""``webarena runs comment``: comments on pull requests of GitHub and GitLab, and what hinders them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.commands import comment_hosts
from pytest_webarena.commands.cli import main
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.pull_comment import marker
from tests.made_up import make_run, make_trial
from tests.unit.commands.comment_server import CommentServer, comment_server

HOSTS = ("github", "gitlab")
TOKENS = {"github": "GITHUB_TOKEN", "gitlab": "WEBARENA_GITLAB_TOKEN"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One trial passed, one failed."""
    run = make_run(tmp_path_factory.mktemp("comment") / "run")
    records = [make_trial(run, "ok"), make_trial(run, "cart", "failed", message="found 5")]
    extend_plan(run.path, [PlannedTrial(key=record.key) for record in records])
    return run.path


@pytest.fixture
def server() -> Iterator[CommentServer]:
    with comment_server() as server:
        yield server


@pytest.fixture
def job(server: CommentServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Variables of a job on a pull request, with a token for each host."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": "c0ffee"}}}))
    (tmp_path / "summary.md").touch()
    for name in ("GITHUB_ACTIONS", "CI_MERGE_REQUEST_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    given = {**server.variables, "GITHUB_EVENT_PATH": str(event), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    for name, value in (given | dict.fromkeys(TOKENS.values(), "t0ken-of-the-job")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(comment_hosts, "WAITS", (0.0, 0.0))
    return monkeypatch


def post(run: Path, host: str = "github", *options: str) -> int:
    return main(["runs", "comment", str(run), "--min-pass-rate=0.9", f"--post={host}", *options])


def summary() -> str:
    import os

    return Path(os.environ["GITHUB_STEP_SUMMARY"]).read_text()


def test_comment_is_printed_without_a_host(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "comment", str(run), "--min-pass-rate=0.9"]) == 0
    assert capsys.readouterr().out.startswith(f"{marker('tasks')}\n### Web tasks\n\n❌ gate: a: 50.0% passed")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.usefixtures("job")
def test_second_run_updates_the_comment(host: str, run: Path, server: CommentServer) -> None:
    for number in range(150):  # on the second page
        server.add(f"remark {number}", author="ana")
    assert post(run, host) == 0
    assert post(run, host, "--name=nightly") == 0
    server.comments[150]["body"] = f"{marker('tasks')}\nolder"
    assert post(run, host) == 0
    assert len(server.comments) == 152
    assert "50.0% passed" in server.bodies[150]
    assert server.bodies[151].startswith(marker("nightly"))
    assert "50.0% passed" in summary()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.usefixtures("job")
def test_comments_of_others_with_the_same_marker_are_not_changed(host: str, run: Path, server: CommentServer) -> None:
    forged = f"{marker('tasks')}\nall green"
    server.add(forged, author="mallory")
    server.add(f"> {forged}")  # the account's own, which quotes it
    assert post(run, host) == 0
    assert post(run, host) == 0
    assert server.bodies[:2] == [forged, f"> {forged}"]
    assert len(server.comments) == 3


@pytest.mark.parametrize("host", HOSTS)
def test_missing_token_is_explained_and_the_summary_has_the_text(
    host: str, run: Path, server: CommentServer, job: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job.setenv(TOKENS[host], "")
    assert post(run, host) == 1
    error = capsys.readouterr().err
    assert f"no comment was posted: expected a token in {TOKENS[host]}, found none" in error
    assert "pull requests from forks" in error
    assert "50.0% passed" in summary()
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "was answered with 401"),
        (403, "may not comment on pull request 7 of o/r. Pull requests from forks get a token that only reads"),
        (404, "expected pull request 7 of o/r, and a token that sees it"),
        (422, "was answered with 422 (Resource not accessible by integration)"),
        (302, "was answered with 302"),
    ],
)
@pytest.mark.usefixtures("job")
def test_refusals_are_explained_once_and_not_repeated(
    status: int, sentence: str, run: Path, server: CommentServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults = [status]
    assert post(run) == 1
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert "t0ken" not in shown.err + shown.out + summary()
    assert server.bodies == []
    assert server.faults == []
    assert "/elsewhere" not in str(server.requests)
    assert "50.0% passed" in summary()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.usefixtures("job")
def test_failures_of_the_host_are_repeated_without_a_second_comment(
    host: str, run: Path, server: CommentServer
) -> None:
    server.faults, server.writes_before_fault = [502, 503], True  # the first request has posted it
    assert post(run, host) == 0
    assert len(server.comments) == 1


def test_rate_limit_is_repeated_and_lasting_failure_is_explained(
    run: Path, server: CommentServer, job: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults, server.retry_after = [429, 403], True
    assert post(run) == 0
    server.faults = [500] * 3
    assert post(run) == 1
    assert "was answered with 500, 3 times in a row; run the job again later" in capsys.readouterr().err
    job.setenv("GITHUB_GRAPHQL_URL", "http://127.0.0.1:9/graphql")  # nobody listens there
    assert post(run) == 1
    assert "found no answer" in capsys.readouterr().err


def test_push_has_no_pull_request_to_comment_on(
    run: Path, server: CommentServer, job: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in ("{}", '{"issue": {"number": 7}}', "no JSON"):
        (tmp_path / "event.json").write_text(content)
        assert post(run) == 0
        assert "no pull request to comment on" in capsys.readouterr().out
    job.delenv("CI_MERGE_REQUEST_IID")
    assert post(run, "gitlab") == 0
    assert server.requests == []
    assert post(run, "github", "--pull-request=7") == 0
    assert len(server.comments) == 1


@pytest.mark.usefixtures("job")
def test_missing_run_replaces_the_comment_on_an_earlier_one(
    tmp_path: Path, server: CommentServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add(f"{marker('tasks')}\n✅ gate: the thresholds are met")
    assert post(tmp_path / "none") == 1
    assert "❌ no result: " in server.bodies[0]
    assert "✅" not in server.bodies[0]
    assert "no result: " in capsys.readouterr().err
