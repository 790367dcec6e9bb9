"""``webarena view``: a run as an HTML page, all runs served while they go on, or proposals for tasks as a form."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_webarena.commands.results import RUN_DIR, requested_run
from pytest_webarena.errors import UsageError

__all__ = ["add_command"]


def add_command(commands: Any) -> None:
    """Add the command to ``argparse``'s sub-parsers."""
    view = commands.add_parser("view", help="show runs in a browser")
    view.add_argument(
        "run_dir", **{**RUN_DIR, "help": "default: the newest run here; or a file of webarena tasks generate"}
    )
    view.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: RUN_DIR/view.html; of ideas: FILE.html"
    )
    view.add_argument(
        "--max-screenshot-mb",
        type=float,
        default=80.0,
        metavar="MB",
        help="size of screenshots in the page (default: 80)",
    )
    view.add_argument(
        "--answers", nargs=2, type=Path, metavar="ANSWERS",
        help="drafts: answers of two people; a third person decides where they differ",
    )  # fmt: skip
    view.add_argument("--open", action="store_true", help="show it in the browser of this machine")
    view.add_argument("--serve", action="store_true", help="serve all runs of the project here, while they run")
    view.add_argument("--port", type=int, default=0, metavar="PORT", help="port of --serve (default: any free one)")
    view.set_defaults(run=_view)


def _view(options: argparse.Namespace) -> int:
    if options.run_dir is not None and options.run_dir.suffix in (".yaml", ".yml"):
        return _form(options)
    if options.answers:
        raise UsageError("--answers: expected a file of webarena tasks generate with it, found none")
    if options.serve:
        return _serve(options)
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.unreadable import name_damaged
    from pytest_webarena.results.viewer import write_view

    if options.port:
        raise UsageError("--port: expected --serve, found none; a file needs no port")
    run = RunDir(requested_run(options))
    target = options.output or run.path / "view.html"
    size = write_view(run, target, picture_budget=round(options.max_screenshot_mb * 1e6))
    print(f"{target} ({size / 1e6:.1f} MB)")
    if options.open:
        _open(target.resolve().as_uri(), "file")
    return name_damaged(run, run.read(), every_file=True)


def _form(options: argparse.Namespace) -> int:
    """Write the form for people who answer, or for the person who decides."""
    from pytest_webarena.task_generation.adjudication import differing, require_three
    from pytest_webarena.task_generation.answers import read_answers
    from pytest_webarena.task_generation.drafts import drafts_in
    from pytest_webarena.task_generation.form import write_form

    if options.serve or options.port:
        raise UsageError("--serve: expected a run to be shown, found ideas; their form is one file, for each person")
    drafts = drafts_in(options.run_dir)
    answers = [read_answers(file, drafts) for file in options.answers or ()]
    target = options.output or options.run_dir.with_suffix(".decide.html" if answers else ".html")
    if answers:
        first, second = answers
        require_three(drafts, first, second)
        drafts = differing(drafts, first, second)
        if not drafts:
            print("nothing to decide: where both people answered, they agree")
            return 0
    write_form(drafts, target, source=options.run_dir.name, answers=answers)
    print(f"{target}: {len(drafts)} ideas; for one person alone, who saves a file")
    if options.open:
        _open(target.resolve().as_uri(), "file")
    return 0


def _serve(options: argparse.Namespace) -> int:
    from pytest_webarena.results.following import RunsServer, default_folder
    from pytest_webarena.results.rundir import RunDir

    if options.output:
        raise UsageError("--serve: expected no --output, found both; leave one out")
    named = []
    if options.run_dir is not None:
        named = [requested_run(options).resolve()]
        RunDir(named[0]).facts()  # raises if it is not a run
    with RunsServer(default_folder(Path.cwd()), port=options.port, named=named) as server:
        address = f"{server.address}runs/{quote(named[0].name)}/" if named else server.address
        print(f"{address} shows runs while they run; Ctrl+C stops it", flush=True)
        if options.open:
            _open(address, "address")
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0


def _open(address: str, what: str) -> None:
    if not webbrowser.open(address):
        print(f"--open: expected a browser for this desktop, found none; open the {what} by hand", file=sys.stderr)
