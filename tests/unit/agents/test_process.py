"""Process agents: their messages and environment, and failures of misbehaving programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, Stop
from pytest_webarena.agents import TaskView, resolve_agent
from pytest_webarena.agents.line_pipe import LinePipe, ProcessEnded
from pytest_webarena.agents.process import ProcessAgent, ProcessKeys, mark_all
from pytest_webarena.agents.protocol import Assignment
from pytest_webarena.agents.wire import ProtocolBroken
from pytest_webarena.browser.observation import Observation
from pytest_webarena.errors import AgentError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.tasks.model import Task
from tests.processes import of_pids, still_running

SEEN = Observation(text="[4] link 'Rye'", url="http://s.test/", title="t", tabs=())
LOOP = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "observation":
        {reply}
        sys.stdout.flush()
"""


def assignment(folder: Path | None = None) -> Assignment:
    return Assignment(view=TaskView(intent="find rye"), task=Task(id="t", intent="i", sites=()), folder=folder)


Start = Callable[..., ProcessAgent]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts Python code as an agent; stderr goes to ``tmp_path / "attempt"``."""
    started: list[ProcessAgent] = []

    def start(code: str, **keys: Any) -> ProcessAgent:
        (tmp_path / "agent.py").write_text(code)
        command = keys.pop("command", (sys.executable, "./agent.py"))
        agent = ProcessAgent(assignment(tmp_path / "attempt"), ProcessKeys(command=command, **keys), tmp_path)
        started.append(agent)
        return agent

    yield start
    for agent in started:
        agent.close()


def loop(reply: str) -> str:
    return LOOP.format(reply=reply)


def test_program_replies_once_to_each_observation(start: Start) -> None:
    agent = start(
        loop('print(json.dumps({"type": "action", "text": f"click [{message[\'step\']}]"}))'),
    )
    assert [agent.act(SEEN).action for _ in range(3)] == ["click [0]", "click [1]", "click [2]"]


def test_program_receives_the_task_first_and_the_end_last(start: Start, tmp_path: Path) -> None:
    agent = start(
        "import sys\n"
        "for line in sys.stdin:\n"
        "    sys.stderr.write(line)\n"
        '    if \'"observation"\' in line: print(\'{"type": "answer", "answer": "x"}\', flush=True)\n',
        options={"depth": 3},
    )
    assert agent.act(SEEN).action == Stop("x")
    agent.close()
    messages = [json.loads(line) for line in (tmp_path / "attempt" / "agent-stderr.txt").read_text().splitlines()]
    assert [message["type"] for message in messages] == ["task", "observation", "end"]
    assert (messages[0]["intent"], messages[0]["options"]) == ("find rye", {"depth": 3})
    assert len({message["trial"] for message in messages}) == 1


def test_environment_of_a_program_does_not_name_the_project(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "tasks").mkdir(parents=True)
    (project / ".venv" / "bin").mkdir(parents=True)
    monkeypatch.chdir(project)
    for name in ("PYTHONPATH", "PYTEST_CURRENT_TEST", "VIRTUAL_ENV", "PWD", "HOME", "SECRET_KEY"):
        monkeypatch.setenv(name, str(project / "tasks"))
    monkeypatch.setenv("PATH", f"{project / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WANTED", "given")
    agent = start(
        loop(
            'print(json.dumps({"type": "answer", "answer": {"env": dict(os.environ), "cwd": os.getcwd(), '
            '"argv": sys.orig_argv[1:], "files": os.listdir()}}))'
        ),
        env=("WANTED",),
    )
    reply = agent.act(SEEN).action
    assert isinstance(reply, Stop)
    seen = json.loads(reply.answer)
    assert seen["files"] == ["agent.py"]  # its own, copied
    assert seen["argv"] == ["./agent.py"]
    assert seen["env"].pop("WANTED") == "given"
    assert set(seen["env"]) <= {"HOME", "TMPDIR", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
    assert str(tmp_path) not in json.dumps(seen)
    agent.close()
    assert not Path(seen["cwd"]).exists()


def until_it_ends(agent: ProcessAgent) -> None:
    while True:
        agent.act(SEEN)


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import sys; sys.exit('no model found')", r"exit code 1; last on stderr:\n    no model found"),
        ("import sys; sys.exit('getaddrinfo ENOTFOUND shop.test')", r"ENOTFOUND shop.test\n\(hint: the sites have"),
        ("import os; os.kill(os.getpid(), 9)", "ended with signal SIGKILL"),
        ("import time; input(); print('x' * 5000, flush=True); time.sleep(600)", "more than 2000 bytes in one line"),
        (
            "input()\nwhile input(): print('{\"type\": \"answer\"}' + ' ' * 1500, flush=True)",
            "more than 4000 bytes in all",
        ),
        ("import os, time; os.close(1); time.sleep(600)", "closed its stdout"),
    ],
)
def test_program_that_exits_or_floods_is_a_crash(start: Start, code: str, sentence: str) -> None:
    agent = start(code, max_line=2000, max_output=4000)
    with pytest.raises(ProcessEnded, match=sentence):
        until_it_ends(agent)


def test_output_that_is_not_json_breaks_the_protocol(start: Start) -> None:
    agent = start(loop('print("thinking…")'))
    with pytest.raises(ProtocolBroken, match="expected a JSON message"):
        agent.act(SEEN)


def test_second_reply_to_one_observation_is_an_error(start: Start, tmp_path: Path) -> None:
    agent = start(loop('print(\'{"type": "action", "text": "a"}\\n{"type": "action", "text": "b"}\')'))
    agent.act(SEEN)
    with pytest.raises(ProcessEnded, match="more than one message for one of ours"):
        until_it_ends(agent)  # the second line may arrive after the next observation is sent


def in_background(call: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    failure: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, failure


def test_hanging_program_can_be_cut_off_with_its_children(start: Start) -> None:
    code = (
        "import json, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        'print(json.dumps({"type": "answer", "answer": str(child.pid)}), flush=True)\n'
        "time.sleep(600)\n"
    )
    agent = start(f"input()\n{code}")
    reply = agent.act(SEEN).action
    assert isinstance(reply, Stop)
    (child,) = of_pids([int(reply.answer)])
    asking, failure = in_background(lambda: agent.act(SEEN))
    agent.cut_off()
    asking.join(10)
    assert not asking.is_alive()
    assert isinstance(failure[0], ProcessEnded)
    assert still_running([child]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_program_ends_when_the_harness_is_killed(tmp_path: Path) -> None:
    code = f"""if True:
        import os, sys
        from pathlib import Path
        from pytest_webarena.agents.line_pipe import LinePipe
        from pytest_webarena.agents.process import ProcessKeys
        command = (sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)")
        pipe = LinePipe(ProcessKeys(command=command), Path({str(tmp_path)!r}), None)
        print(pipe.receive().decode(), flush=True)
        os._exit(9)
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # it is killed before it can clean up
    )
    assert done.returncode == 9, done.stderr
    assert still_running(of_pids([int(done.stdout)])) == []


def test_working_directory_is_in_the_run_and_removed_at_the_end(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import os; print(os.getcwd(), flush=True); input()")
    (tmp_path / "run").mkdir()
    pipe = LinePipe(ProcessKeys(command=command), tmp_path, None, tmp_path / "run" / "temp")
    where = Path(pipe.receive().decode().strip())
    assert where.parent == (tmp_path / "run" / "temp").resolve()
    pipe.close()
    assert not where.exists()
    with pytest.raises(AgentError, match="has the run ended"):
        LinePipe(ProcessKeys(command=command), tmp_path, None, tmp_path / "gone" / "temp")


def test_program_that_reads_nothing_can_be_cut_off(start: Start) -> None:
    agent = start("import time; time.sleep(600)")
    big = Observation(text="x" * 5_000_000, url="u", title="t", tabs=())
    asking, failure = in_background(lambda: agent.act(big))
    agent.cut_off()
    asking.join(10)
    assert not asking.is_alive()
    assert isinstance(failure[0], ProcessEnded)


def test_stderr_is_recorded_truncated_and_without_secrets(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-planted-secret")
    mark_all(["MY_KEY"])
    code = loop(
        'print(json.dumps({"type": "answer", "answer": "key " + os.environ["MY_KEY"]}));'
        'sys.stderr.write(os.environ["MY_KEY"] + "\\n" + "x" * 5000 + "\\n")'
    )
    agent = start(code, env=("MY_KEY",), max_stderr=1000)
    agent.act(SEEN)
    agent.close()
    kept = (tmp_path / "attempt" / "agent-stderr.txt").read_text()
    assert kept.startswith("[secret]\nxxx")
    assert kept.endswith("more than max_stderr allows\n")
    assert len(kept) < 1100


def test_custom_sandbox_wraps_the_command_and_counts_as_wrapped(start: Start, tmp_path: Path) -> None:
    if shutil.which("env") is None:
        pytest.skip("needs env(1), which stands for a sandbox here")
    agent = start(
        loop('print(json.dumps({"type": "answer", "answer": os.environ["INSIDE"] + "|" + os.getcwd()}))'),
        sandbox=("env", "INSIDE={directory}"),
    )
    reply = agent.act(SEEN).action
    assert isinstance(reply, Stop)
    inside, directory = reply.answer.split("|")
    assert os.path.realpath(inside) == os.path.realpath(directory)
    (tmp_path / "boxed.yaml").write_text(f"kind: process\ncommand: [{sys.executable}, ./agent.py]\nsandbox: [env]\n")
    assert resolve_agent(str(tmp_path / "boxed.yaml")).tier == "wrapped"


def test_invalid_process_definition_is_a_usage_error(tmp_path: Path) -> None:
    def error(text: str) -> str:
        (tmp_path / "a.yaml").write_text(f"kind: process\n{text}\n")
        with pytest.raises(UsageError) as raised:
            resolve_agent(str(tmp_path / "a.yaml"))
        return str(raised.value)

    assert "expected a program" in error("command: []")
    assert "expected a file at" in error("command: [sh, ./missing.sh]")
    (tmp_path / "a.yaml").write_text("kind: process\ncommand: [no-such-program-here]\n")
    definition = resolve_agent(str(tmp_path / "a.yaml"))  # it can be listed and may run on another machine
    with pytest.raises(UsageError, match="found none called 'no-such-program-here'"):
        definition.check(ModelSettings())
    assert "next to the definition" in error("command: [sh]\nfiles: [../tasks]")
    assert "at least 1000 bytes" in error("command: [sh]\nmax_line: 3")


def test_digest_changes_with_the_agents_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: process\ncommand: [sh, ./agent.sh]\nfiles: [lib]\n")
    (tmp_path / "agent.sh").write_text("one")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "x").write_text("one")
    first = resolve_agent(str(tmp_path / "a.yaml")).digest
    (tmp_path / "lib" / "x").write_text("two")
    assert resolve_agent(str(tmp_path / "a.yaml")).digest != first


@pytest.mark.parametrize("name", ["keyword-process", "keyword-node"])
def test_the_worked_examples_speak_the_protocol(name: str) -> None:
    definition = resolve_agent(name, [Path(__file__).parents[3] / "agents"])
    try:
        definition.check(ModelSettings())
    except UsageError as error:
        pytest.skip(str(error))
    agent: Any = definition.make(assignment())
    try:
        assert agent.act(SEEN).action == Click(Element("4"))
        assert isinstance(agent.act(SEEN).action, Stop)
    finally:
        agent.close()
