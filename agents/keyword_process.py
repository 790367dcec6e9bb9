"""An example agent in a process of its own: reads and writes JSON lines with Python's standard library alone.

It does what `keyword_agent.py` does. ``pytest --agent=keyword-process tasks/`` runs it; ``docs/bring-your-own.md``
describes the messages.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

LINE = re.compile(r"^\s*\[(\d+)\] (\w+) '(.*)'", re.MULTILINE)


def main() -> None:
    """Answer every observation with one action, until the end."""
    wanted: set[str] = set()
    patience, clicked = 4, set[str]()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "task":
            wanted = words(message["intent"])
            patience = message["options"].get("patience", patience)
            print(f"looking for: {' '.join(sorted(wanted))}", file=sys.stderr)  # stderr is kept with the attempt
        elif message["type"] == "observation":
            found = LINE.findall(message["text"])
            links = [(len(wanted & words(name)), name, id) for id, role, name in found if role == "link"]
            score, name, id = max((link for link in links if link[1] not in clicked), default=(0, "", ""))
            if score and len(clicked) < patience:
                clicked.add(name)
                say({"type": "action", "action": {"kind": "click", "target": {"id": id}}})
            else:
                quotes = [(len(wanted & words(name)), name) for _, role, name in found if role != "link"]
                say({"type": "answer", "answer": max(quotes, default=(0, ""))[1]})


def say(message: dict[str, Any]) -> None:
    """Print a message as one line on stdout and flush it."""
    print(json.dumps(message), flush=True)


def words(text: str) -> set[str]:
    """Returns the words of a text without plural endings. Short words are left out, because they occur in every
    text."""
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2}


if __name__ == "__main__":
    main()
