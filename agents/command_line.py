"""Lets a coding agent of the command line do a task: Claude Code, Codex, Gemini CLI, or whatever else speaks MCP.

The program of definitions of kind ``cdp``. It hands the browser over through the configuration file of Playwright's MCP
server, starts the agent without anybody to ask, and reads its last message, the tokens it used and what it says that
they cost. It tells nothing of what the agent does not tell: then nobody knows, which is not the same as 0.

Python's standard library alone, for it runs in the agent's sandbox.
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
"""Name of the MCP server, which tools are called by."""
PATIENCE = 60
"""Seconds for the MCP server to come up."""


@dataclass(frozen=True)
class Said:
    """What an agent said at its end."""

    answer: str
    usage: dict[str, Any] | None
    """As `pytest_webarena.evidence.Usage`; None: it told nothing that can be true."""


class Unavailable(Exception):
    """The agent's model can't be had."""


class NoAnswer(Exception):
    """The agent came to no end of its own."""


@dataclass(frozen=True)
class Program:
    """How one of them is called and read."""

    command: Callable[[str, str], list[str]]
    """By the prompt and the name of the model, which may be empty."""
    configure: Callable[[Path, list[str]], dict[str, str]]
    """Writes its settings into a folder, with the command of the MCP server; variables that lead it there."""
    read: Callable[[str], Said]
    """Its output."""


def main() -> None:
    """One task of the line protocol."""
    task = json.loads(sys.stdin.readline())
    options = {"program": "claude", "model": "", "server": ["playwright-mcp"], "arguments": [], **task["options"]}
    try:
        said = drive(task, options)
        message: dict[str, Any] = {"type": "answer", "answer": said.answer}
        if said.usage is not None:
            message["usage"] = said.usage
    except Unavailable as error:
        message = {"type": "error", "cause": "model", "message": str(error)}
    except NoAnswer as error:
        sys.exit(str(error))
    print(json.dumps(message), flush=True)


def drive(task: Mapping[str, Any], options: Mapping[str, Any]) -> Said:
    """Start the agent, and wait until it is done: the trial's limits are the harness's to keep."""
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
        how = f"exit status {done.returncode}; its output ends with {done.stdout[-500:]!r}"
        raise NoAnswer(
            f"expected {name} to end with its result, found {type(error).__name__}: {error}; {how}"
        ) from None


def prompt(task: Mapping[str, Any]) -> str:
    """What the agent is told."""
    sites = ", ".join(task["sites"].values()) or "none"
    return PROMPT.format(intent=task["intent"], server=SERVER, sites=sites, answer=task["answer_instructions"])


def tokens(calls: object, sent: object, cached: object, got: object, cost: object = None) -> dict[str, Any] | None:
    """The usage, if all numbers of it were told and can be true."""
    counts = {"calls": calls, "input_tokens": sent, "cached_input_tokens": cached, "output_tokens": got}
    for count in counts.values():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= 10**15:
            return None
    if not calls or not sent or counts["cached_input_tokens"] > sent:  # type: ignore[operator]
        return None
    priced = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost <= 10**15
    return {**counts, "cost": cost if priced else None}


def total(*counts: object) -> int | None:
    """Their sum, None if one of them is no number."""
    return sum(counts) if all(isinstance(each, int) for each in counts) else None  # type: ignore[arg-type]


# --- Claude Code 2.1: events, one a line, the result last


def call_claude(text: str, model: str) -> list[str]:
    """Nothing of the machine's settings, no tools but the browser's, nothing kept."""
    named = ["--model", model] if model else []
    own = ["--tools", "", "--allowedTools", f"mcp__{SERVER}", "--setting-sources", "", "--no-session-persistence"]
    said = ["--output-format", "stream-json", "--verbose"]
    return ["claude", "-p", text, *said, "--mcp-config", "home/mcp.json", "--strict-mcp-config", *own, *named]


def configure_claude(folder: Path, server: list[str]) -> dict[str, str]:
    """Servers of MCP in a file of their own. It would begin without waiting for one that is not always loaded."""
    servers = {SERVER: {"command": server[0], "args": server[1:], "alwaysLoad": True}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    patience = dict.fromkeys(("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS"), str(1000 * PATIENCE))
    return {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **patience}


def read_claude(output: str) -> Said:
    """Tokens that were cached are not among its input tokens; here they are."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    result = next((event for event in reversed(events) if event["type"] == "result"), None)
    if result is None:
        raise ValueError("no result among its events")
    for server in (each for event in events for each in event.get("mcp_servers") or ()):
        if server.get("name") == SERVER and server.get("status") != "connected":
            raise NoAnswer(f"claude began without the browser: its MCP server is {server.get('status')!r}")
    if result["is_error"]:
        said = str(result.get("result") or result.get("subtype"))[:500]
        if result.get("api_error_status") is not None or said.startswith(("API Error", "Invalid API key")):
            raise Unavailable(said)
        raise NoAnswer(f"claude ended with {result.get('subtype')}: {said}")
    used = result.get("usage") or {}
    cached = used.get("cache_read_input_tokens", 0)
    sent = total(used.get("input_tokens"), used.get("cache_creation_input_tokens", 0), cached)
    cost = result.get("total_cost_usd")
    return Said(str(result["result"]), tokens(result.get("num_turns"), sent, cached, used.get("output_tokens"), cost))


# --- Codex 0.169: events, one a line


def call_codex(text: str, model: str) -> list[str]:
    """Commands that it would like to run are not what is wanted: they can't write."""
    named = ["--model", model] if model else []
    return ["codex", "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only", *named, text]


def configure_codex(folder: Path, server: list[str]) -> dict[str, str]:
    """TOML writes texts and lists as JSON does."""
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


def read_codex(output: str) -> Said:
    """A turn is what it tells the tokens of, however many calls that took; the price it doesn't tell."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    failed = [event for event in events if event["type"] in ("turn.failed", "error")]
    turns = [event.get("usage") or {} for event in events if event["type"] == "turn.completed"]
    if not turns:
        raise Unavailable(json.dumps(failed[-1])[:500]) if failed else NoAnswer("codex ended before its turn")
    said = [event["item"] for event in events if event["type"] == "item.completed"]
    answer = [str(item["text"]) for item in said if item["type"] == "agent_message"][-1:]
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    sent, cached, got = (total(*(turn.get(name) for turn in turns)) for name in names)
    return Said("".join(answer), tokens(len(turns), sent, cached, got))


# --- Gemini CLI 0.61: one JSON object with the response and statistics by model


def call_gemini(text: str, model: str) -> list[str]:
    """Of all tools the browser's alone are trusted; the others would ask, and nobody is there."""
    named = ["--model", model] if model else []
    return ["gemini", "--prompt", text, "--output-format", "json", "--skip-trust",
            "--allowed-mcp-server-names", SERVER, *named]  # fmt: skip


def configure_gemini(folder: Path, server: list[str]) -> dict[str, str]:
    """Its settings are in the home."""
    (folder / ".gemini").mkdir(exist_ok=True)
    servers = {SERVER: {"command": server[0], "args": server[1:], "trust": True}}
    (folder / ".gemini" / "settings.json").write_text(json.dumps({"mcpServers": servers}))
    return {}


def read_gemini(output: str) -> Said:
    """Thoughts are paid as output; the price it doesn't tell."""
    result = json.loads(output[output.index("{") :])
    if result.get("error"):
        raise Unavailable(json.dumps(result["error"])[:500])
    models = list(((result.get("stats") or {}).get("models") or {}).values())
    asked = total(*(each.get("api", {}).get("totalRequests") for each in models))
    counted = [each.get("tokens", {}) for each in models]
    sent = total(*(each.get("prompt") for each in counted))
    cached = total(*(each.get("cached") for each in counted))
    got = total(*(total(each.get("candidates"), each.get("thoughts", 0)) for each in counted))
    return Said(str(result["response"]), tokens(asked, sent, cached, got))


PROGRAMS = {
    "claude": Program(call_claude, configure_claude, read_claude),
    "codex": Program(call_codex, configure_codex, read_codex),
    "gemini": Program(call_gemini, configure_gemini, read_gemini),
}

if __name__ == "__main__":
    main()
