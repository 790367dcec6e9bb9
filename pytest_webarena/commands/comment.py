"""``webarena runs comment``: a run as a comment on a pull request."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from pytest_webarena.commands.gate import add_thresholds, judge_run
from pytest_webarena.errors import UsageError
from pytest_webarena.workflow_commands import annotation

__all__ = ["add_command"]


def add_command(commands: Any) -> None:
    """Declare ``comment``."""
    parser = commands.add_parser("comment", help="print or post a pull request's comment")
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    add_thresholds(parser)
    parser.add_argument("--post", choices=("github", "gitlab"), help="post it, or update the one of an earlier run")
    parser.add_argument("--pull-request", type=int, metavar="N", help="number (default: that of the CI job)")
    parser.add_argument("--name", default="tasks", metavar="NAME", help="separates comments of several workflows")
    parser.add_argument(
        "--link", default="", metavar="URL", help="address of the uploaded run; {path} stands for a file in it"
    )
    parser.set_defaults(run=_comment)


def _comment(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.comment_hosts import NotPosted, Unasked, host_of, tested_commit
    from pytest_webarena.results.pull_comment import comment_on, marker, no_result

    if options.link and not options.link.startswith(("http://", "https://")):
        raise UsageError(f"--link: expected an address with http:// or https://, found {options.link!r}")
    shared = {"name": options.name, "commit": tested_commit(os.environ), "link": options.link}
    why = ""
    try:
        judged = judge_run(options)
        text = comment_on(
            judged.run, judged.records, judged.summaries, coverages=judged.coverages, ruling=judged.ruling,
            comparisons=judged.comparisons, **shared,
        )  # fmt: skip
    except UsageError as error:
        text, why = no_result(str(error), **shared), str(error)
    if options.post is None:
        print(text, end="")
        return _failure(why)
    _write_summary(text)
    try:
        print(host_of(options.post, os.environ, number=options.pull_request).publish(text, marker(options.name)))
    except Unasked as reason:
        print(f"comment: {reason}")
        _print_unless_summary(text)
    except NotPosted as error:
        message = f"no comment was posted: {error}"
        if os.environ.get("GITHUB_ACTIONS") == "true":
            print(annotation("warning", message, title="pytest-webarena"))
        else:
            print(message, file=sys.stderr)
        _print_unless_summary(text)
        return 1
    return _failure(why)


def _failure(why: str) -> int:
    if why:
        print(f"no result: {why}", file=sys.stderr)
    return int(bool(why))


def _write_summary(text: str) -> None:
    """Add the text to the page of a job of GitHub Actions."""
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError as error:
            print(f"the job's summary could not be written to {path}: {error.strerror}", file=sys.stderr)


def _print_unless_summary(text: str) -> None:
    if not os.environ.get("GITHUB_STEP_SUMMARY"):
        print(text, end="")
