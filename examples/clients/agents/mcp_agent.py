"""A model with the tools of an MCP server, which drives the browser: ``mcp_agent.py SERVER…``, `{cdp_url}` filled in.

For servers of the Model Context Protocol over stdio. Nothing but Python's standard library.
"""

import json
import os
import subprocess
import sys
import urllib.request


class Server:
    """An MCP server over stdio."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "example", "version": "1"}}
        self.ask("initialize", **about)
        self.say({"method": "notifications/initialized"})

    def say(self, message: dict) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self.process.stdin, flush=True)

    def ask(self, method: str, **params: object) -> dict:
        self.asked += 1
        self.say({"id": self.asked, "method": method, "params": params})
        while message := json.loads(self.process.stdout.readline()):
            if message.get("id") == self.asked and "method" not in message:
                return message["result"]
        raise AssertionError

    def call(self, name: str, arguments: dict) -> str:
        """What a tool says."""
        result = self.ask("tools/call", name=name, arguments=arguments)
        return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


def complete(messages: list[dict], tools: list[dict]) -> dict:
    """The model's reply, with its usage."""
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    body = json.dumps({"model": "gpt-4.1", "messages": messages, "tools": tools}).encode()
    with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=120) as response:
        return json.load(response)


def solve(task: dict, server: Server) -> dict:
    """Let the model call tools until it answers."""
    tools = [
        {"type": "function", "function": {"name": tool["name"], "parameters": tool["inputSchema"]}}
        for tool in server.ask("tools/list")["tools"]
    ]
    messages = [{"role": "user", "content": task["intent"]}]
    usage = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": None}
    while True:
        reply = complete(messages, tools)
        usage["calls"] += 1
        usage["input_tokens"] += reply["usage"]["prompt_tokens"]
        usage["output_tokens"] += reply["usage"]["completion_tokens"]
        message = reply["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return {"type": "answer", "answer": message["content"], "usage": usage}
        for call in message["tool_calls"]:
            result = server.call(call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    task = json.loads(sys.stdin.readline())
    server = Server([part.replace("{cdp_url}", task["cdp_url"]) for part in sys.argv[1:]])
    print(json.dumps(solve(task, server)), flush=True)
