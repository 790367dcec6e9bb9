"""Process of making a task on the page: record, repeat, choose checks and try, as often as the author likes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pytest_webarena.actions import Action, Goto, Stop, Upload
from pytest_webarena.agents.builtin import describe_step, with_full_address
from pytest_webarena.changes import SiteChanges
from pytest_webarena.errors import TaskFileError, TrialError, UsageError, WebArenaError
from pytest_webarena.recorder.autosave import FILES, Autosaver, SignalSource, upload_of
from pytest_webarena.recorder.editing import ANSWER, Edits, key_of
from pytest_webarena.recorder.extension.serving import (
    ExtensionOptions,
    ExtensionServer,
    annotate_recording,
    open_server,
    with_untried_steps,
)
from pytest_webarena.recorder.key_nodes import ProposedNode, proposed_nodes
from pytest_webarena.recorder.page.input_relay import InputRelay
from pytest_webarena.recorder.page.panel import Panel, PanelRequest, Result
from pytest_webarena.recorder.page.server import PageServer
from pytest_webarena.recorder.proposing import ProposedCheck, proposed_checks
from pytest_webarena.recorder.selector_proving import relative
from pytest_webarena.recorder.steps import RecordedStep, steps_of
from pytest_webarena.recorder.task_building import (
    RecordedSession,
    ReplayedSteps,
    changes_again,
    read_session,
    remark,
    replay_steps,
    task_keys,
    task_text,
    try_task,
)
from pytest_webarena.recorder.variables import each_of, fillings_of, in_action, in_data, in_text, shown
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.tasks import Task, parse_tasks
from pytest_webarena.trials.tryout import Tryout, tryout

if TYPE_CHECKING:
    from pytest_webarena.checks import Verdict
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["PageOptions", "record_on_page"]

_LOOK = 0.3
"""Seconds between two checks for new steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Settings of a recording on the page."""

    live: bool
    """Whether the page shows the browser; else the browser has a window."""
    port: int = 0
    output: Path | None = None
    answer: str = ""
    annotate: Path | None = None
    extension: ExtensionOptions | None = None
    """The extension for the person's own browser; None: the harness's browser is used."""
    ignored: Mapping[str, Sequence[str]]
    accounts: Sequence[str] = ()
    """A line for each site that says who is signed in, and who else could be."""
    name: Callable[[str], str]
    """Returns the id of a task with this intent."""
    report: Callable[[str], None]
    open: Callable[[str], None] = lambda address: None
    """Opens the page's address for the author."""


def record_on_page(task: Task, runtime: Runtime, options: PageOptions) -> int:
    """Serve the page until its author leaves it. Return 0 if the task passed in its last trial, else 1."""
    panel = Panel(task.intent, options.answer, task.sites, options.accounts)
    place = options.output
    files = place.parent / f"{place.stem}{FILES}" if place is not None else Path(f"recorded{FILES}")
    autosaver = Autosaver(place, files, options.report)
    with _server(panel, options) as server:
        options.report(f"{server.address} is the recording page; keep the address secret, Ctrl+C ends the recording")
        for line in options.accounts:
            options.report(line)
        options.open(server.address)
        recording = _Recording(task, runtime, options, panel, server, files, autosaver)
        with contextlib.suppress(KeyboardInterrupt):
            while recording.handle_request():
                pass
        return recording.leave()


def _server(panel: Panel, options: PageOptions) -> PageServer:
    if options.extension is None:
        return PageServer(panel, port=options.port, live=options.live)
    return open_server(panel, options.extension, port=options.port, pictures=options.annotate is not None)


class _Recording:
    def __init__(
        self,
        task: Task,
        runtime: Runtime,
        options: PageOptions,
        panel: Panel,
        server: PageServer,
        files: Path,
        autosaver: Autosaver,
    ) -> None:
        self._task, self._runtime, self._options = task, runtime, options
        self._panel, self._server = panel, server
        self._recorded_session: RecordedSession | None = None
        self._replayed: ReplayedSteps | None = None
        self._checks: list[ProposedCheck] = []
        self._nodes: list[ProposedNode] = []
        self._result: Result | None = None
        self._files, self._autosaver = files, autosaver
        self._printed: set[str] = set()
        """Keys of steps, and warnings, that are printed."""

    def handle_request(self) -> bool:
        """Carry out the author's next request; return False if it is to leave."""
        request = self._do() if self._recorded_session is None else self._panel.next_request()
        assert request is not None
        try:
            match request.what:
                case "finish" | "prove":
                    self._prove()
                case "try":
                    self._try(request)
                case "write":
                    self._write()
                case "again":
                    if isinstance(self._server, ExtensionServer):
                        self._server.extension.restart()
                    self._recorded_session = self._replayed = None
                    self._autosaver.drop()
                case "leave":
                    return False
        except WebArenaError as error:
            self._panel.set_result(
                Result(passed=False, about=str(error), text=self._result.text if self._result else "")
            )
        return True

    def leave(self) -> int:
        """Print the result on the terminal and return the exit code."""
        self._panel.set_phase("over")
        result = self._result
        if result is not None and (result.written or (result.passed and result.text)):
            self._autosaver.drop()
        self._autosaver.print_location()
        if result is None or not result.text:
            self._options.report("no task was recorded")
            return 1
        if not result.written:
            self._options.report(f"\n{result.text}")
        else:
            self._options.report(f"written: {result.written}")
            self._options.report(f"next: pytest --audit {result.written}  (wrong agents must fail it)")
        return 0 if result.passed else 1

    # --- doing

    def _do(self) -> PanelRequest:
        return self._do_in_extension(self._server) if isinstance(self._server, ExtensionServer) else self._do_here()

    def _do_in_extension(self, server: ExtensionServer) -> PanelRequest:
        """Follow what the extension sends until the author ends the recording and it is complete."""
        self._panel.begin()
        self._autosaver.begin()
        self._printed = set()
        hint = f"load the folder {server.folder} as an unpacked extension, then record with its button"
        self._panel.log(hint)
        self._options.report(hint)
        while True:
            request = self._follow(server.extension, server.extension.warnings)
            if request.what != "finish":
                return request
            try:
                self._recorded_session = server.session(self._panel.edits.answer)
            except UsageError as error:
                self._panel.log(str(error))
                self._options.report(str(error))
                self._panel.set_phase("doing")
                continue
            self._panel.set_steps(self._recorded_session.steps)
            server.extension.end()
            return request

    def _do_here(self) -> PanelRequest:
        with tryout(self._task, self._runtime, _quiet, Path("tryout"), user_answers_dialogs=True) as running_tryout:
            sites = running_tryout.sites
            self._server.input_relay = InputRelay(
                running_tryout.remote_input(), self._files, lambda typed: _address(typed, sites)
            )
            self._panel.begin()
            self._autosaver.begin()
            self._printed = set()
            try:
                request = self._follow(running_tryout)
            finally:
                self._server.input_relay = None
            if request.what == "finish":
                self._panel.log("looking at what has changed on the sites")
                self._recorded_session = self._recorded(running_tryout)
                self._panel.set_steps(self._recorded_session.steps)
        return request

    def _recorded(self, running_tryout: Tryout) -> RecordedSession:
        """Return the recorded steps and evidence; only the steps if the browser or a site has died."""
        answer = self._panel.edits.answer
        running_tryout.answered(answer)
        try:
            return read_session(running_tryout.evidence(), answer)
        except TrialError as error:
            self._options.report(f"the browser or a site has ended ({error}); the steps are kept")
            steps = steps_of(running_tryout.signals(), before=running_tryout.signals_before)
            return RecordedSession(steps=steps, answer=answer, url="", sites=running_tryout.sites, changes=())

    def _follow(self, source: SignalSource, warnings: Callable[[], Sequence[str]] = lambda: ()) -> PanelRequest:
        request, printed = None, self._printed
        while request is None:
            request = self._panel.next_request(_LOOK)
            self._autosaver.save_changes(source, self._task, intent=self._panel.intent, answer=self._panel.edits.answer)
            for warning in warnings():
                if warning not in printed:
                    printed.add(warning)
                    self._panel.log(warning)
                    self._options.report(warning)
            steps = steps_of(source.signals(), before=source.signals_before)
            self._panel.set_steps(steps)
            for step in steps if request is not None else steps[:-1]:
                if key_of(step) not in printed:
                    printed.add(key_of(step))
                    self._options.report(f"  · {describe_step(step.action)}{remark(step.problem)}")
        return request

    def _prove(self) -> None:
        recorded = self._recorded_session
        assert recorded is not None
        panel, edits = self._panel, self._panel.edits
        steps = edits.applied(recorded.steps)
        self._task = replace(self._task, intent=panel.intent, id=self._options.name(panel.intent))
        if not steps and not edits.answer:
            raise UsageError("expected actions in the browser or an answer, found neither")
        panel.log(f"doing {len(steps)} steps again on fresh sites, to see by what their elements can be found")
        self._replayed = replayed = self._replay(steps)
        self._nodes = proposed_nodes(replayed.passed, replayed.sites)
        self._checks = proposed_checks(
            self._task, answer=edits.answer, url=replayed.url, steps=[step.action for step in steps],
            changes=replayed.changes, ignored=self._options.ignored, requests=replayed.requests, sites=replayed.sites,
            again=self._changes_again(replayed, steps, recorded), tables=replayed.tables,
        )  # fmt: skip
        problems = {
            key_of(step): chosen.problem for step, chosen in zip(steps, replayed.chosen, strict=False) if chosen.problem
        }
        panel.propose(self._checks, self._nodes, problems, edits)
        if replayed.unknown_changes_warning:
            self._options.report(replayed.unknown_changes_warning)
            panel.log(replayed.unknown_changes_warning)

    def _changes_again(
        self, replayed: ReplayedSteps, steps: Sequence[RecordedStep], recorded: RecordedSession
    ) -> Sequence[SiteChanges]:
        def replay() -> ReplayedSteps:
            return replay_steps(self._task, steps, self._runtime, _quiet, uploads=self._uploads(steps))

        same = recorded.changes if tuple(steps) == recorded.steps else ()
        return changes_again(same, replayed, replay, self._panel.log)

    def _replay(self, steps: Sequence[RecordedStep]) -> ReplayedSteps:
        server, annotate = self._server, self._options.annotate
        uploads = self._uploads(steps)
        if not isinstance(server, ExtensionServer):
            return replay_steps(self._task, steps, self._runtime, self._panel.log, uploads=uploads, annotate=annotate)
        replayed = with_untried_steps(
            lambda: replay_steps(self._task, steps, self._runtime, self._panel.log, uploads=uploads),
            steps, server.extension, self._panel.log,
        )  # fmt: skip
        if annotate is not None:
            annotate_recording(annotate, self._task, replayed, steps, server.extension)
        return replayed

    def _uploads(self, steps: Sequence[RecordedStep]) -> dict[str, Path]:
        names = [name for step in steps if isinstance(step.action, Upload) for name in step.action.files]
        return {name: path for name in names if (path := upload_of(name, self._files)) is not None}

    # --- the task

    def _try(self, request: PanelRequest) -> None:
        panel, edits = self._panel, self._panel.edits
        assert self._recorded_session is not None
        assert self._replayed is not None
        self._task = replace(self._task, intent=panel.intent, id=self._options.name(panel.intent))
        steps = edits.applied(self._recorded_session.steps)
        is_complete = len(self._replayed.chosen) == len(steps)
        variables = edits.variables(self._recorded_session.steps)
        fillings = fillings_of(request.fillings, list(variables)) if variables else []
        checks = [
            check.without(request.without.get(number, ()))
            for number, check in enumerate(self._checks) if number in request.checks
        ]  # fmt: skip
        nodes = [node for number, node in enumerate(self._nodes) if number in request.nodes]
        text = self._text(steps, edits, variables, fillings, checks, nodes)
        try:
            tasks = parse_tasks(text)
        except TaskFileError as error:
            self._result = Result(passed=False, about=f"the task is incomplete: {error}", text=text)
            panel.set_result(self._result)
            return
        if self._replayed.untried:
            about = f"not tried: {self._replayed.untried} of {len(steps)} steps could not be done again here"
            self._result = Result(passed=False, about=about, doubts=self._warnings(), text=text)
            panel.set_result(self._result)
            return
        verdicts, unread = [], dict[str, None]()
        for task in tasks:
            panel.log(f"trying {task.id} on fresh sites")
            verdict, not_read = try_task(task, self._runtime, panel.log, uploads=self._uploads(steps))
            verdicts.append(verdict)
            unread.update(dict.fromkeys(not_read))
        check_names = [check.about for check in checks] + (["key nodes"] if nodes else [])
        missing = 0 if is_complete else len(steps) - len(self._replayed.chosen)
        doubts = _doubts(in_text(panel.intent, variables), text, variables, edits.names.get(ANSWER, ""))
        doubts += tuple(unread)
        if self._replayed.unknown_changes_warning:
            doubts += (self._replayed.unknown_changes_warning,)
        doubts += self._warnings()
        self._result = replace(_judged(tasks, verdicts, text, check_names, missing=missing), doubts=doubts)
        if self._result.passed:
            self._write()
        panel.set_result(self._result)

    def _warnings(self) -> tuple[str, ...]:
        return self._server.extension.warnings(at_end=True) if isinstance(self._server, ExtensionServer) else ()

    def _text(
        self,
        steps: Sequence[RecordedStep],
        edits: Edits,
        variables: Mapping[str, str],
        fillings: Sequence[Mapping[str, str]],
        checks: Sequence[ProposedCheck],
        nodes: Sequence[ProposedNode],
    ) -> str:
        assert self._replayed is not None
        keys = task_keys(self._task, mutates=self._replayed.mutates)
        if variables:
            first = {"id": keys.pop("id"), "intent": in_text(self._task.intent, variables)}
            keys = {**first, "each": each_of(variables, fillings), **_without(keys, "intent")}
        lines = [list(check.lines) for check in checks]
        if nodes:
            lines.append(yaml_lines([{"key_nodes": [node.node for node in nodes]}]))
        if variables:
            lines = [yaml_lines(in_data(yaml.safe_load("\n".join(each)), variables)) for each in lines]
        done: list[tuple[Action, str]] = []
        for step, chosen in zip(steps, self._replayed.chosen, strict=False):
            own = edits.names.get(key_of(step), "")
            action = relative(chosen.action, self._replayed.sites)
            done.append((in_action(action, variables, own=own) if variables else action, chosen.problem))
        stop = Stop(edits.answer)
        done.append((in_action(stop, variables) if variables else stop, ""))
        text = shown(task_text(keys, lines, done))
        names = self._uploads(steps)
        if names:
            text = f"# it uploads {', '.join(names)}: name them in the fixture webarena_context_args\n{text}"
        return text

    def _write(self) -> None:
        result, output = self._result, self._options.output
        if result is None or not result.text or output is None:
            return
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(result.text, encoding="utf-8")
        self._result = replace(result, written=str(output))
        self._panel.set_result(self._result)


def _judged(
    tasks: Sequence[Task], verdicts: Sequence[Verdict], text: str, check_names: Sequence[str], *, missing: int
) -> Result:
    """Combine the verdicts of all instances into one result."""
    passed = not missing and all(verdict.passed for verdict in verdicts)
    about = f"passed on fresh sites: {len(verdicts)} of {len(verdicts)}" if passed else ""
    if missing:
        about = f"not whole: {missing} steps at the end are missing, for one before them had no effect"
    elif not passed:
        failed = [task.id for task, verdict in zip(tasks, verdicts, strict=True) if not verdict.passed]
        about = f"failed on fresh sites: {', '.join(failed)}"
    checks = []
    for number, about_it in enumerate(check_names):
        results = [verdict.results[number] for verdict in verdicts]
        bad = next((result for result in results if not result.passed), None)
        checks.append((about_it, bad is None, "" if bad is None else _failure_reason(bad)))
    return Result(passed=passed, about=about, checks=tuple(checks), text=text)


def _doubts(intent: str, text: str, variables: Mapping[str, str], answer: str) -> tuple[str, ...]:
    """Return remarks on variables that agents can't know, or that no step depends on."""
    found = []
    solution = text.rpartition("solution:")[2]
    for name in variables:
        if name != answer and f"{{{{ {name}" not in shown(intent):
            found.append(f"the intent lacks {{{{ {name} }}}}, so the agent can't know it")
        if f"{{{{ {name}" not in solution:
            found.append(f"no step uses {{{{ {name} }}}}: another selector finds its element")
    return tuple(found)


def _failure_reason(result: Any) -> str:
    return f"expected {result.expected}; found {result.actual or 'nothing'}" + (
        f" ({result.why})" if result.why else ""
    )


def _address(typed: str, sites: Mapping[str, str]) -> str:
    """Complete a typed address. Addresses as in task files are accepted."""
    found = with_full_address(Goto(typed), sites)
    url = found.url if isinstance(found, Goto) else typed
    return url if url.startswith(("/", "about:")) or "://" in url else f"http://{url}"


def _without(keys: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if key != name}


def _quiet(text: str) -> None:
    """Ignore a message that is printed elsewhere."""
