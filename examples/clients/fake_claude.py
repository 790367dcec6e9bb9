#!/usr/bin/env python3
"""Stands in for the command line agent `claude`: understands its options, really drives the MCP server that they name,
and ends with a result of its form. So the way there and back can be tried without an account."""

import argparse
import json
import re
from pathlib import Path

from mcp_agent import Server

parser = argparse.ArgumentParser()
parser.add_argument("-p", dest="prompt", required=True)
parser.add_argument("--mcp-config", required=True, type=Path)
parser.add_argument("--output-format", required=True, choices=["stream-json"])
parser.add_argument("--verbose", "--strict-mcp-config", "--no-session-persistence", action="store_true")
for name in ("--allowedTools", "--model", "--setting-sources", "--tools"):
    parser.add_argument(name)
given = parser.parse_args()

(server,) = json.loads(given.mcp_config.read_text())["mcpServers"].values()
browser = Server([server["command"], *server["args"]])
(text,) = re.findall(r'by "(.*?)"', given.prompt)
page = browser.call("browser_snapshot", {})
field = re.search(r'textbox "Text".*?\[ref=(\w+)\]', page)[1]
browser.call("browser_type", {"element": "Text", "target": field, "text": text})
button = re.search(r'button "Save note".*?\[ref=(\w+)\]', browser.call("browser_snapshot", {}))[1]
browser.call("browser_click", {"element": "Save note", "target": button})
name = re.search(r'heading "(\w+)"', browser.call("browser_snapshot", {}))[1]

print(json.dumps({"type": "system", "subtype": "init", "mcp_servers": [{"name": "browser", "status": "connected"}]}))
usage = {"input_tokens": 900, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 50, "output_tokens": 80}
result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 5, "result": name}
print(json.dumps({**result, "total_cost_usd": 0.0123, "usage": usage}))
