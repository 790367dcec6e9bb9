"""Runs a task with a command-line coding agent: Claude Code, Codex, Gemini CLI or any other that supports MCP.

This is the program of agent definitions of kind ``cdp``. It gives the agent the browser through the configuration file
of Playwright's MCP server, starts the agent non-interactively, and reads its last message, its token counts and the
cost that it reports. What the agent does not report stays unknown, which is not the same as 0.

It imports only Python's standard library, because it runs in the agent's sandbox.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROMPT = """{intent}

The browser is open, signed in, and shows the page to begin with. Use the browser's tools ({server}) and nothing else.
These sites can be reached: {sites}.
{answer}
Your last message has to be the answer alone, without an explanation. If no answer is asked for, let it be "done"."""
SERVER = "browser"
"""Name of the MCP server; the names of its tools begin with it."""
PATIENCE = 60
"""Seconds that the MCP server may take to start."""


@dataclass(frozen=True)
class AgentOutput:
    """The final answer and the usage that an agent reported."""

    answer: str
    usage: dict[str, Any] | None
    """Usage in the form of `pytest_webarena.evidence.Usage`; None if the agent reported none, or impossible numbers."""


class Unavailable(Exception):
    """The agent's model is not available."""


class NoAnswer(Exception):
    """The agent ended without a final answer."""


@dataclass(frozen=True)
class Program:
    """How one command-line agent is called, configured and read."""

    command: Callable[[str, str], list[str]]
    """Builds the command line from the prompt and the model's name, which may be empty."""
    configure: Callable[[Path, list[str]], dict[str, str]]
    """Writes the agent's settings into a folder, given the MCP server's command, and returns the environment variables
    that point to them."""
    read: Callable[[str], AgentOutput]
    """Parses the agent's standard output."""


def main() -> None:
    """Read one task of the line protocol from stdin, and print the agent's answer or error."""
    task = json.loads(sys.stdin.readline())
    options = {"program": "claude", "model": "", "server": ["playwright-mcp"], "arguments": [], **task["options"]}
    try:
        result = drive(task, options)
        message: dict[str, Any] = {"type": "answer", "answer": result.answer}
        if result.usage is not None:
            message["usage"] = result.usage
    except Unavailable as error:
        message = {"type": "error", "cause": "model", "message": str(error)}
    except NoAnswer as error:
        sys.exit(str(error))
    print(json.dumps(message), flush=True)


def drive(task: Mapping[str, Any], options: Mapping[str, Any]) -> AgentOutput:
    """Start the agent and wait until it ends. There is no timeout here, because the harness enforces the trial's
    limits."""
    name = options["program"]
    if name not in PROGRAMS:
        raise NoAnswer(f"expected the option 'program' to be one of {', '.join(PROGRAMS)}, found {name!r}")
    program = PROGRAMS[name]
    folder = Path.cwd() / "home"
    folder.mkdir(exist_ok=True)
    settings = folder / "playwright-mcp.json"
    settings.write_text(json.dumps({"browser": {"cdpEndpoint": task["cdp_url"]}}))
    variables = program.configure(folder, [*options["server"], "--config", str(settings)])
    command = [*program.command(prompt(task), options["model"]), *options["arguments"]]
    done = subprocess.run(
        command,
        env={**os.environ, "HOME": str(folder), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        return program.read(done.stdout)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        ending = f"exit status {done.returncode}; its output ends with {done.stdout[-500:]!r}"
        raise NoAnswer(
            f"expected {name} to end with its result, found {type(error).__name__}: {error}; {ending}"
        ) from None


def prompt(task: Mapping[str, Any]) -> str:
    """Returns the prompt for the agent."""
    sites = ", ".join(task["sites"].values()) or "none"
    return PROMPT.format(intent=task["intent"], server=SERVER, sites=sites, answer=task["answer_instructions"])


def tokens(calls: object, sent: object, cached: object, got: object, cost: object = None) -> dict[str, Any] | None:
    """Returns the usage if every count was reported and is plausible, else None."""
    counts = {"calls": calls, "input_tokens": sent, "cached_input_tokens": cached, "output_tokens": got}
    for count in counts.values():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= 10**15:
            return None
    if not calls or not sent or counts["cached_input_tokens"] > sent:  # type: ignore[operator]
        return None
    priced = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost <= 10**15
    return {**counts, "cost": cost if priced else None}


def total(*counts: object) -> int | None:
    """Returns the sum, or None if a value is not a number."""
    return sum(counts) if all(isinstance(each, int) for each in counts) else None  # type: ignore[arg-type]


# --- Claude Code 2.1: prints one event per line, the result last


def call_claude(text: str, model: str) -> list[str]:
    """Builds a call that ignores the machine's settings, allows only the browser's tools and stores no session."""
    named = ["--model", model] if model else []
    own = ["--tools", "", "--allowedTools", f"mcp__{SERVER}", "--setting-sources", "", "--no-session-persistence"]
    output_options = ["--output-format", "stream-json", "--verbose"]
    return ["claude", "-p", text, *output_options, "--mcp-config", "home/mcp.json", "--strict-mcp-config", *own, *named]


def configure_claude(folder: Path, server: list[str]) -> dict[str, str]:
    """Write the MCP servers into a file of their own. ``alwaysLoad`` makes Claude Code wait for the server before it
    begins."""
    servers = {SERVER: {"command": server[0], "args": server[1:], "alwaysLoad": True}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    patience = dict.fromkeys(("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS"), str(1000 * PATIENCE))
    return {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **patience}


def read_claude(output: str) -> AgentOutput:
    """Parse Claude Code's events. Its ``input_tokens`` exclude cached tokens; the counts returned here include them."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    result = next((event for event in reversed(events) if event["type"] == "result"), None)
    if result is None:
        raise ValueError("no result among its events")
    for server in (each for event in events for each in event.get("mcp_servers") or ()):
        if server.get("name") == SERVER and server.get("status") != "connected":
            raise NoAnswer(f"claude began without the browser: its MCP server is {server.get('status')!r}")
    if result["is_error"]:
        failure = str(result.get("result") or result.get("subtype"))[:500]
        if result.get("api_error_status") is not None or failure.startswith(("API Error", "Invalid API key")):
            raise Unavailable(failure)
        raise NoAnswer(f"claude ended with {result.get('subtype')}: {failure}")
    used = result.get("usage") or {}
    cached = used.get("cache_read_input_tokens", 0)
    sent = total(used.get("input_tokens"), used.get("cache_creation_input_tokens", 0), cached)
    cost = result.get("total_cost_usd")
    return AgentOutput(
        str(result["result"]), tokens(result.get("num_turns"), sent, cached, used.get("output_tokens"), cost)
    )


# --- Codex 0.169: prints one event per line


def call_codex(text: str, model: str) -> list[str]:
    """Builds a call with a read-only sandbox, because the task needs no commands of Codex's own."""
    named = ["--model", model] if model else []
    return ["codex", "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only", *named, text]


def configure_codex(folder: Path, server: list[str]) -> dict[str, str]:
    """Write the settings as TOML, whose strings and lists have the same syntax as in JSON."""
    lines = [
        f"[mcp_servers.{SERVER}]",
        f"command = {json.dumps(server[0])}",
        f"args = {json.dumps(server[1:])}",
        f"startup_timeout_sec = {PATIENCE}",
        "required = true",
        'default_tools_approval_mode = "approve"',
    ]
    (folder / "config.toml").write_text("\n".join(lines))
    return {"CODEX_HOME": str(folder)}


def read_codex(output: str) -> AgentOutput:
    """Parse Codex's events. It reports tokens per turn, however many model calls that took, and no price."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    failed = [event for event in events if event["type"] in ("turn.failed", "error")]
    turns = [event.get("usage") or {} for event in events if event["type"] == "turn.completed"]
    if not turns:
        raise Unavailable(json.dumps(failed[-1])[:500]) if failed else NoAnswer("codex ended before its turn")
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    answer = [str(item["text"]) for item in items if item["type"] == "agent_message"][-1:]
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    sent, cached, got = (total(*(turn.get(name) for turn in turns)) for name in names)
    return AgentOutput("".join(answer), tokens(len(turns), sent, cached, got))


# --- Gemini CLI 0.61: prints one JSON object with the response and statistics by model


def call_gemini(text: str, model: str) -> list[str]:
    """Builds a call that trusts only the browser's tools; any other tool would ask for permission, and nobody can give
    it."""
    named = ["--model", model] if model else []
    return ["gemini", "--prompt", text, "--output-format", "json", "--skip-trust",
            "--allowed-mcp-server-names", SERVER, *named]  # fmt: skip


def configure_gemini(folder: Path, server: list[str]) -> dict[str, str]:
    """Write the settings into the agent's home folder."""
    (folder / ".gemini").mkdir(exist_ok=True)
    servers = {SERVER: {"command": server[0], "args": server[1:], "trust": True}}
    (folder / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": servers}))
    return {}


def read_gemini(output: str) -> AgentOutput:
    """Parse Gemini CLI's output. Thoughts are billed as output tokens; it reports no price."""
    result = json.loads(output[output.index("{") :])
    if result.get("error"):
        raise Unavailable(json.dumps(result["error"])[:500])
    models = list(((result.get("stats") or {}).get("models") or {}).values())
    calls = total(*(each.get("api", {}).get("totalRequests") for each in models))
    counted = [each.get("tokens", {}) for each in models]
    sent = total(*(each.get("prompt") for each in counted))
    cached = total(*(each.get("cached") for each in counted))
    got = total(*(total(each.get("candidates"), each.get("thoughts", 0)) for each in counted))
    return AgentOutput(str(result["response"]), tokens(calls, sent, cached, got))


PROGRAMS = {
    "claude": Program(call_claude, configure_claude, read_claude),
    "codex": Program(call_codex, configure_codex, read_codex),
    "gemini": Program(call_gemini, configure_gemini, read_gemini),
}

if __name__ == "__main__":
    main()
