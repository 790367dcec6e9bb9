"""An agent as one writes them for BrowserGym: its action set describes the calls, a model makes one of them.

What has other names here: `axtree_txt` is the observation's `text`, `last_action_error` its `error`.
"""

import json
import os
import sys
import urllib.request

from browsergym.core.action.highlevel import HighLevelActionSet

ACTIONS = HighLevelActionSet(subsets=["chat", "bid", "nav"], strict=True, multiaction=False)
CALLS = ACTIONS.describe(with_long_description=False)
used = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": None}


def ask(text: str) -> str:
    """The model's reply."""
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    body = json.dumps({"model": "gpt-4.1", "messages": [{"role": "user", "content": text}]}).encode()
    with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=120) as response:
        reply = json.load(response)
    usage = {"calls": 1, "input_tokens": reply["usage"]["prompt_tokens"]}
    usage |= {"output_tokens": reply["usage"]["completion_tokens"], "cost": None}
    used.update(usage)
    return reply["choices"][0]["message"]["content"]


def act(goal: str, obs: dict) -> str:
    """One call of the action set."""
    page = f"# Page\n{obs['axtree_txt']}\n# Last error\n{obs['last_action_error']}"
    action = ask(f"# Goal\n{goal}\n{page}\n# Actions\n{CALLS}\nAnswer with one action.").strip("` \n")
    ACTIONS.to_python_code(action)  # raises if BrowserGym would not take it
    return action


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        goal = message["intent"]
    elif message["type"] == "observation":
        obs = {"axtree_txt": message["text"], "last_action_error": message["error"]}
        print(json.dumps({"type": "action", "text": act(goal, obs), "usage": used}), flush=True)
