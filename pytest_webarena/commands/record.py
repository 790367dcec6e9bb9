"""``webarena tasks record``: make a task by doing it in a browser, or extract a solution from a recorded trial."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Stop, Upload
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.commands.record_extension import extension_options, site_of_address
from pytest_webarena.errors import TaskFileError, UsageError, closest
from pytest_webarena.recorder.autosave import Autosaver, SavedRecording, read_saved, uploads_of
from pytest_webarena.recorder.page.flow import PageOptions, record_on_page
from pytest_webarena.recorder.proposing import ProposedCheck, proposed_checks
from pytest_webarena.recorder.selector_proving import relative
from pytest_webarena.recorder.task_building import (
    RecordedSession,
    changes_again,
    follow,
    ignored_of,
    read_session,
    relative_url,
    replay_steps,
    task_keys,
    task_text,
    try_task,
)
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.secrets import scrub
from pytest_webarena.signals import AddressChanged
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks import Task, parse_tasks
from pytest_webarena.text import plain_id
from pytest_webarena.trials.tryout import tryout

if TYPE_CHECKING:
    from pytest_webarena.changes import SiteChanges
    from pytest_webarena.evidence import Evidence
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["add_arguments"]

_SHOWN = 6
"""Number of a site's users that are printed; the catalogue lists the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "places", nargs="*", metavar="SITE[:/PATH]", help="sites of the task, and its first page (or ADDRESS)"
    )
    parser.add_argument("--intent", default="", metavar="TEXT", help="the agent's instruction (default: a question)")
    parser.add_argument("--id", default="", help="the task's id (default: made of the intent)")
    parser.add_argument("--user", action="append", default=[], metavar="SITE=NAME", help="account to sign in with")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="TRIAL",
        help="a trial's folder, RUN/trials/…, or a kept recording: take its solution",
    )  # fmt: skip
    parser.add_argument("--answer", metavar="TEXT", help="the answer (default: the trial's or a question)")
    parser.add_argument("--all-checks", action="store_true", help="take all recommended checks without a question")
    parser.add_argument(
        "--serve", action="store_true", help="show the browser on a page of this machine (default: where no display is)"
    )
    parser.add_argument("--extension", type=Path, metavar="DIR", help="write an extension that records your own Chrome")
    parser.add_argument("--panel", action="store_true", help="use the browser's window; a second page shows the task")
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="port of that page (default: any free one)")
    parser.add_argument("--annotator", default="", metavar="NAME", help="author of the task; starts its review")
    parser.add_argument("--annotate", type=Path, metavar="DIR", help="save screenshots and pages of each step here")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write the task (default: printed)")
    parser.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: as for pytest)")
    parser.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    parser.set_defaults(run=run_record)


def run_record(options: argparse.Namespace) -> int:
    """Run ``webarena tasks record``. Returns 0, or 1 for a task whose solution does not pass on fresh sites."""
    from pytest_webarena.commands.project import DEFAULT_SITES

    if options.output is not None and options.output.exists():
        raise UsageError(f"{options.output}: expected a file that is not there yet, found one; choose another name")
    live, page = _on_page(options)
    name = options.sites or DEFAULT_SITES
    catalogue = load_catalogue(name)
    evidence = _evidence(options.source) if options.source is not None else None
    task = _task(options, catalogue, evidence, ask=not page)
    with ExitStack() as exits:
        headed = evidence is None and not live and options.extension is None
        runtime = exits.enter_context(open_runtime(name, headed=headed, executable=options.browser_executable))
        if page:
            return record_on_page(task, runtime, _page_options(options, task, catalogue, live=live))
        keeper = Autosaver(options.output, Path("recorded-files"), print)
        watched = evidence is None
        if watched:
            print("\n".join((*_signed_in_as(task, catalogue), "")))
        try:
            shown = _watch(task, runtime, options, keeper) if watched else read_session(evidence, options.answer)  # type: ignore[arg-type]
            if not shown.steps and not shown.answer:
                raise UsageError("expected actions in the browser or an answer, found neither")
            code = _make(task, shown, runtime, options, ignored_of(catalogue))
            if code == 0:
                keeper.drop()
            return code
        finally:  # however it ends
            keeper.print_location()


def _on_page(options: argparse.Namespace) -> tuple[bool, bool]:
    """Whether the browser is shown on a page, and whether the task is edited there."""
    if options.source is not None:
        for given, flag in (
            (options.serve, "--serve"),
            (options.panel, "--panel"),
            (options.extension, "--extension"),
            (options.port, "--port"),
        ):
            if given:
                raise UsageError(f"{flag}: expected no --from, found both: there is no browser to be used")
        return False, False
    if options.extension is not None:
        return False, True
    live = bool(options.serve)
    if (
        not live
        and sys.platform.startswith("linux")
        and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    ):
        print("there is no display here (DISPLAY is not set), so the browser is shown on a page, as with --serve")
        live = True
    if options.port and not (live or options.panel):
        raise UsageError("--port: expected --serve or --panel, found neither; a window needs no port")
    return live, live or options.panel


def _page_options(options: argparse.Namespace, task: Task, catalogue: Catalogue, *, live: bool) -> PageOptions:
    return PageOptions(
        live=live,
        port=options.port,
        output=options.output,
        answer=options.answer or "",
        annotate=options.annotate,
        extension=extension_options(options.extension, task, catalogue) if options.extension is not None else None,
        ignored=ignored_of(catalogue),
        accounts=_signed_in_as(task, catalogue) if options.extension is None else (),
        name=lambda intent: options.id or _id(intent),
        report=lambda text: print(text, flush=True),
        open=_show_nowhere if live or options.extension is not None else _open,
    )


def _make(
    task: Task,
    shown: RecordedSession,
    runtime: Runtime,
    options: argparse.Namespace,
    ignored: Mapping[str, Sequence[str]],
) -> int:
    """Replay the steps on fresh sites, ask for the checks, write the task, and try all of it. Returns the exit code."""
    print(f"\n{len(shown.steps)} steps; doing them again on fresh sites, to see by what their elements can be found")
    kept = _kept(options.source)
    names = [name for step in shown.steps if isinstance(step.action, Upload) for name in step.action.files]
    uploads = uploads_of(names, kept.files) if kept is not None else {}
    replay = replay_steps(task, shown.steps, runtime, print, annotate=options.annotate, uploads=uploads)
    steps = [(relative(each.action, shown.sites), each.problem) for each in replay.chosen]
    steps.append((Stop(shown.answer), ""))
    url = relative_url(shown.url, shown.sites) or (replay.url if kept is not None else "")
    changes = shown.changes if kept is None else replay.changes  # an interrupted recording has no changes of its own
    again: Sequence[SiteChanges] = replay.changes
    if kept is not None:
        again = changes_again(
            (), replay, lambda: replay_steps(task, shown.steps, runtime, lambda _: None, uploads=uploads), print
        )
    checks = proposed_checks(
        task, answer=shown.answer, url=url, steps=[step.action for step in shown.steps],
        changes=changes, ignored=ignored, requests=replay.requests, sites=replay.sites,
        again=again,
    )  # fmt: skip
    if replay.unknown_changes_warning:
        print(f"\n{replay.unknown_changes_warning}")
    picked = _picked(checks, options)
    keys = task_keys(task, mutates=any(app.total for app in changes) or replay.mutates)
    text = _text(keys, picked, steps)
    holding = _tried(text, runtime, uploads)
    whole = len(replay.chosen) == len(shown.steps)
    passed = holding is not None and all(holding)
    lacking = [] if whole else [f"{len(shown.steps) - len(replay.chosen)} of {len(shown.steps)} steps"]
    if whole and holding and not passed and any(holding):
        # The name that a check uses may also fit other rows; such a check is not proposed.
        lacking = [check.about for check, is_met in zip(picked, holding, strict=True) if not is_met]
        text = _text(keys, [check for check, is_met in zip(picked, holding, strict=True) if is_met], steps)
        holding = _tried(text, runtime, uploads)
        passed = holding is not None and all(holding)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(scrub(text), encoding="utf-8")
        print(f"\nwritten: {options.output}")
        if not lacking:
            print(f"next: pytest --audit {options.output}  (wrong agents must fail it)")
    else:
        print(f"\n{text}", end="")
    for each in lacking:
        print(f"incomplete: it lacks {each}, which failed on fresh sites; a wrong agent may pass it")
    return 0 if passed and not lacking else 1


def _text(keys: Mapping[str, object], checks: Sequence[ProposedCheck], steps: Sequence[tuple[Action, str]]) -> str:
    return task_text(keys, [check.lines for check in checks], steps)


def _tried(text: str, runtime: Runtime, uploads: Mapping[str, Path]) -> list[bool] | None:
    """Which of the checks pass after the solution on fresh sites; None for a task that can't be parsed."""
    try:
        [task] = parse_tasks(text)
    except TaskFileError as error:
        print(f"\nthe task is incomplete: {error}")
        return None
    print("\ntrying the task on fresh sites")
    verdict, unread = try_task(task, runtime, print, uploads=uploads)
    for each in unread:
        print(f"look at this: {each}")
    return [bool(result.passed) for result in verdict.results[: len(task.checks)]]


# --- where it comes from


def _watch(task: Task, runtime: Runtime, options: argparse.Namespace, keeper: Autosaver) -> RecordedSession:
    print(f"Use the browser's window to do this:\n  {task.intent}\nEach step is logged here. Enter ends it.\n")
    ended = threading.Event()

    def wait_for_enter() -> None:
        sys.stdin.readline()
        ended.set()

    threading.Thread(target=wait_for_enter, daemon=True).start()
    with tryout(task, runtime, _quiet, Path("tryout"), user_answers_dialogs=True) as trying:
        follow(
            trying, ended, print,
            keep=lambda trying: keeper.save_changes(trying, task, intent=task.intent, answer=options.answer or ""),
        )  # fmt: skip
        answer = options.answer
        if answer is None:
            answer = _asked("the answer (empty: there is none): ", "--answer")
        trying.answered(answer)
        evidence = trying.evidence()
    return read_session(evidence, answer)


def _kept(source: Path | None) -> SavedRecording | None:
    """A saved recording; None for no source, or for a trial's folder."""
    return read_saved(source) if source is not None and source.is_file() else None


def _evidence(folder: Path) -> Evidence:
    if (kept := _kept(folder)) is not None:
        return kept.evidence
    attempts = sorted(folder.glob("attempt-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    if not attempts:
        raise UsageError(
            f"{folder}: expected a trial's folder with attempts, such as RUN/trials/TASK.AGENT.1-…, found none"
        )
    try:
        return read_evidence(attempts[-1])
    except ValueError as error:
        raise UsageError(str(error)) from None


# --- the task


def _task(options: argparse.Namespace, catalogue: Catalogue, evidence: Evidence | None, *, ask: bool) -> Task:
    named = options.places or list(evidence.sites if evidence is not None else ())
    if not named:
        raise UsageError(
            "expected the sites to do the task on, found none; e.g. webarena tasks record shopping:/basket/"
        )
    known = [*catalogue.sites]
    sites, start = [], []
    for each in named:
        is_address = each.startswith(("http://", "https://"))
        site, _, path = (site_of_address(each, catalogue), "", "") if is_address else each.partition(":")
        if site not in known:
            raise UsageError(f"{each}: expected a site of the catalogue; {closest(site, known)}")
        sites.append(site)
        if is_address:
            start.append(each)
        elif path:
            start.append(f"{site}:{path}")
    start = start or _start_of(evidence)
    intent = (
        options.intent
        or _recorded_intent(options.source)
        or (_asked("what is the agent to do? ", "--intent") if ask else "")
    )
    if not intent and ask:
        raise UsageError("expected an intent, found none; give it with --intent")
    id = options.id or _id(intent)
    users = {**_signed_in(options.source), **dict(each.partition("=")[::2] for each in options.user)}
    keys: dict[str, object] = {"id": id, "intent": intent or id, "sites": list(dict.fromkeys(sites))}
    if start:
        keys["start"] = start
    if users:
        keys["user"] = users
    if options.annotator:
        keys["review"] = {"annotator": options.annotator}
    text = task_text(keys, [["- answer: placeholder"]], [])
    try:
        [task] = parse_tasks(text)
    except TaskFileError as error:
        raise UsageError(f"expected a task's id, sites and users, found: {error}") from None
    return replace(task, intent=intent, checks=(), solution=None)


def _signed_in_as(task: Task, catalogue: Catalogue) -> tuple[str, ...]:
    """For each of the task's sites with a login: the user who is signed in, and the other users."""
    lines = []
    for name in task.sites:
        site = catalogue.site(name)
        app = catalogue.apps[site.app]
        if name not in app.login or not app.users:
            continue
        user = task.user.get(name, site.default_user)
        others = [f"{each} ({one.role})" if one.role else each for each, one in app.users.items() if each != user]
        line = f"{name}: signed in as {user}" if user else f"{name}: signed out"
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        lines.append(line + (f"; --user {name}=NAME for {', '.join(others[:_SHOWN])}{more}" if others else ""))
    return tuple(lines)


def _start_of(evidence: Evidence | None) -> list[str]:
    """The pages that a recorded trial started on, in the form of task files."""
    if evidence is None or evidence.signals is None:
        return []
    shown: dict[int, str] = {}
    for signal in evidence.signals[: evidence.signals_before]:
        if isinstance(signal, AddressChanged):
            shown[signal.tab] = signal.url
    first = next(iter(evidence.sites), "")
    found = [relative_url(url, evidence.sites) for _, url in sorted(shown.items())]
    return [f"{first}:{each}" if each.startswith("/") else each for each in found if each]


def _recorded_intent(source: Path | None) -> str:
    """The intent of a recorded trial."""
    if (kept := _kept(source)) is not None:
        return kept.intent
    record = _record(source)
    return record.intent if record is not None else ""


def _signed_in(source: Path | None) -> dict[str, str]:
    """The users whom the recorded task signs in, by site; empty for records of older versions."""
    if (kept := _kept(source)) is not None:
        return dict(kept.user)
    record = _record(source)
    users = record.environment.get("users", {}) if record is not None else {}
    return dict(users) if isinstance(users, Mapping) else {}


def _record(source: Path | None) -> TrialRecord | None:
    if source is None:
        return None
    run = RunDir(source.parent.parent)
    return next((record for record in run.records() if run.folder(record.key).path == source), None)


def _id(intent: str) -> str:
    return plain_id(intent) or "recorded"


def _picked(checks: Sequence[ProposedCheck], options: argparse.Namespace) -> list[ProposedCheck]:
    """The checks that the author chooses."""
    recommended = [check for check in checks if check.recommended]
    if not checks:
        print("\nnothing was found to check: write a check by hand")
        return []
    print("\nproposed checks:")
    for number, check in enumerate(checks, 1):
        print(f"  {number}{'*' if check.recommended else ' '} {check.about}")
    if options.all_checks or not sys.stdin.isatty():
        return recommended
    question = "which (numbers, Enter for those with a star; 1-made leaves a column out): "
    return _chosen(_asked(question, "--all-checks"), checks) or recommended


def _chosen(text: str, checks: Sequence[ProposedCheck]) -> list[ProposedCheck]:
    """The checks with these numbers, without the columns that are left out: ``1-made,owner 3``."""
    found = []
    for each in text.split():
        number, _, columns = each.partition("-")
        if number.isdigit() and 0 < int(number) <= len(checks):
            found.append(checks[int(number) - 1].without(columns.split(",")))
    return found


def _asked(question: str, option: str) -> str:
    """The user's answer to a question. Raises `UsageError` at the end of the input."""
    try:
        return input(question).strip()
    except EOFError:
        print()
        raise UsageError(
            f"expected something typed behind {question.strip()!r}, found the end of the input; use {option}"
        ) from None


def _quiet(text: str) -> None:
    """Discard a message that is printed elsewhere."""


def _open(address: str) -> None:
    webbrowser.open(address)


def _show_nowhere(address: str) -> None:
    """Show no address: where there is no display, there is nobody to show it to."""
