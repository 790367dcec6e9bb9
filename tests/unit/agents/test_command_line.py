"""Command-line coding agents: their configuration, and the answer and usage read from their output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.command_line import PROGRAMS, NoAnswer, Unavailable
from pytest_webarena.agents import resolve_agent
from tests.cases import each_case

RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "408", "num_turns": 3}
TOLD = {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 7}
CLAUDE = {**RESULT, "total_cost_usd": 0.02, "usage": TOLD}

BEGUN = {"type": "system", "subtype": "init", "mcp_servers": [{"name": "browser", "status": "connected"}]}
LATE = {**BEGUN, "mcp_servers": [{"name": "browser", "status": "pending"}]}


def codex(*more: dict[str, Any], usage: Any = None) -> str:
    turn = {"type": "turn.completed", "usage": usage}
    item = {"type": "item.completed", "item": {"type": "agent_message", "text": "408"}}
    return "\n".join(json.dumps(each) for each in ({"type": "thread.started"}, item, turn, *more))


def gemini(tokens: dict[str, Any] | None) -> str:
    stats = {} if tokens is None else {"models": {"m": {"api": {"totalRequests": 2}, "tokens": tokens}}}
    return "Loaded credentials.\n" + json.dumps({"response": "408", "stats": stats})


GEMINI = {"prompt": 100, "candidates": 5, "thoughts": 2, "cached": 30, "total": 107, "tool": 0}


@each_case(
    ("program", "output", "usage"),
    [
        ("claude", json.dumps(CLAUDE), (3, 150, 30, 7, 0.02)),
        ("claude", f"{json.dumps(BEGUN)}\n{json.dumps(CLAUDE)}\n", (3, 150, 30, 7, 0.02)),
        ("claude", json.dumps({**CLAUDE, "total_cost_usd": 0}), (3, 150, 30, 7, None)),  # it has no price for its model
        ("claude", json.dumps({**CLAUDE, "total_cost_usd": -1}), (3, 150, 30, 7, None)),
        ("claude", json.dumps({**CLAUDE, "total_cost_usd": "0.02"}), (3, 150, 30, 7, None)),
        ("claude", json.dumps(RESULT), None),
        ("claude", json.dumps({**CLAUDE, "usage": {**TOLD, "output_tokens": -7}}), None),
        ("claude", json.dumps({**CLAUDE, "usage": {**TOLD, "input_tokens": "many"}}), None),
        ("claude", json.dumps({**CLAUDE, "usage": {"input_tokens": 0, "output_tokens": 0}}), None),
        ("codex", codex(usage={"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}), (1, 9, 4, 2, None)),
        ("codex", codex(usage={"input_tokens": 9, "cached_input_tokens": 10, "output_tokens": 2}), None),
        ("codex", codex(usage=None), None),
        ("gemini", gemini(GEMINI), (2, 100, 30, 7, None)),
        ("gemini", gemini({**GEMINI, "prompt": None}), None),
        ("gemini", gemini(None), None),
    ],
)
def test_answer_and_usage_are_read_from_the_output(program: str, output: str, usage: tuple[Any, ...] | None) -> None:
    result = PROGRAMS[program].read(output)
    assert result.answer == "408"
    names = ("calls", "input_tokens", "cached_input_tokens", "output_tokens", "cost")
    assert result.usage == (None if usage is None else dict(zip(names, usage, strict=True)))


@each_case(
    ("program", "output", "error", "message"),
    [
        ("claude", json.dumps({**RESULT, "is_error": True, "subtype": "error_max_turns"}), NoAnswer, "error_max_turns"),
        ("claude", json.dumps({**RESULT, "is_error": True, "result": "API Error: 529"}), Unavailable, "529"),
        ("claude", f"{json.dumps(LATE)}\n{json.dumps(CLAUDE)}", NoAnswer, "without the browser: .* 'pending'"),
        ("codex", json.dumps({"type": "turn.failed", "error": {"message": "quota"}}), Unavailable, "quota"),
        ("codex", json.dumps({"type": "thread.started"}), NoAnswer, "before its turn"),
        ("gemini", json.dumps({"error": {"message": "no key"}}), Unavailable, "no key"),
    ],
)
def test_output_without_a_result_is_an_error(program: str, output: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PROGRAMS[program].read(output)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli"])
def test_command_line_definitions_are_sandboxed_and_self_driving(name: str) -> None:
    definition = resolve_agent(name, [Path(__file__).parents[3] / "agents"])
    assert (definition.tier, definition.self_driving) == ("sandboxed", True)


FAKE = """#!{python}
import json, os, sys, tomllib
from pathlib import Path
server = {server}
settings = json.load(open(server["args"][-1]))
answer = settings["browser"]["cdpEndpoint"] + " " + server["command"]
print({printed})
"""
SERVERS = {
    "claude": 'json.load(open(sys.argv[sys.argv.index("--mcp-config") + 1]))["mcpServers"]["browser"]',
    "codex": 'tomllib.loads(Path(os.environ["CODEX_HOME"], "config.toml").read_text())["mcp_servers"]["browser"]',
    "gemini": 'json.loads(Path.home().joinpath(".gemini/settings.json").read_text())["mcpServers"]["browser"]',
}
"""Code that reads each program's MCP server configuration."""
PRINTED = {
    "claude": f'json.dumps({{**{CLAUDE}, "result": answer}})',
    "codex": f"{codex()!r}.replace('408', answer)",
    "gemini": f"{gemini({})!r}.replace('408', answer)",
}


def drive(folder: Path, program: str, name: str = "claude") -> subprocess.CompletedProcess[str]:
    """Run ``command_line.py`` with a stand-in program of that name on the PATH."""
    (folder / name).write_text(program)
    (folder / name).chmod(0o755)
    task = {"intent": "i", "sites": {"shop": "http://shop.test"}, "answer_instructions": "", "cdp_url": "ws://x"}
    return subprocess.run(
        [sys.executable, str(Path(__file__).parents[3] / "agents" / "command_line.py")],
        input=json.dumps({**task, "options": {"program": name}}) + "\n",
        cwd=folder, env={**os.environ, "PATH": str(folder)}, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("name", SERVERS)
def test_browser_address_is_passed_in_the_mcp_configuration(tmp_path: Path, name: str) -> None:
    fake = FAKE.format(python=sys.executable, server=SERVERS[name], printed=PRINTED[name])
    done = drive(tmp_path, fake, name)
    answer = json.loads(done.stdout)
    assert answer["answer"] == "ws://x playwright-mcp"
    assert name != "claude" or answer["usage"]["cost"] == 0.02


def test_program_without_a_result_fails(tmp_path: Path) -> None:
    done = drive(tmp_path, f"#!{sys.executable}\nprint('hello')\nraise SystemExit(3)\n")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "expected claude to end with its result" in done.stderr
    assert "exit status 3" in done.stderr
