"""Runs WebCanvas' own evaluators and converter, imported from a checkout, for `agree_webcanvas`.

    python scripts/webcanvas_evaluators.py CHECKOUT < cases.jsonl

Needs Beautiful Soup and lxml and none of upstream's other requirements: browser, models and settings are stand-ins, and
names that its evaluators use without importing them are added. Reads and writes one JSON line per case. Nodes in the
form of the compact data, with the moments of a trial, give the scores after each moment; a recorded address gives its
label; a raw export gives the compact data.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import importlib
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import types
import urllib.parse
import warnings
from pathlib import Path
from typing import Any, ClassVar

STAND_INS = (
    "agent",
    "agent.LLM",
    "agent.Prompt",
    "agent.Plan",
    "agent.Environment",
    "agent.Environment.html_env",
    "agent.Environment.html_env.async_env",
    "agent.Utils",
    "agent.Utils.utils",
    "agent.Reward",
    "agent.Reward.global_reward",
    "logs",
    "playwright",
    "playwright.async_api",
    "requests",
    "toml",
    "json5",
    "ujson",
)


class Nothing:
    """A stand-in that can be imported and does nothing else."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def stand_ins(checkout: Path) -> None:
    """Installs stand-ins for modules that upstream imports and no evaluator uses."""
    for name in STAND_INS:
        module = types.ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
    for name, names in {
        "agent.Environment": ("ActionExecutionError", "create_action"),
        "agent.Environment.html_env.async_env": ("AsyncHTMLEnvironment", "ActionExecutionError"),
        "agent.Plan": ("Planning",),
        "agent.Utils.utils": ("save_screenshot", "is_valid_base64"),
        "agent.Reward.global_reward": ("GlobalReward",),
        "logs": ("logger",),
        "playwright.async_api": ("Page",),
    }.items():
        for each in names:
            setattr(sys.modules[name], each, Nothing())
    for name in ("json5", "ujson"):
        setattr(sys.modules[name], "load", json.load)  # noqa: B010  # a module's type has no such name
        setattr(sys.modules[name], "dump", _dump)  # noqa: B010
    place = "agent.Environment.html_env.utils"
    spec = importlib.util.spec_from_file_location(place, checkout / f"{place.replace('.', '/')}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[place] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[place])


def _dump(data: Any, fp: Any, **options: Any) -> None:
    json.dump(data, fp)


def _nobody(prompt: str = "") -> str:
    raise EOFError("nobody is asked")


class Judge:
    """A judge that gives the replies of the case, one per call."""

    replies: ClassVar[list[str]] = []

    def construct(self, *args: Any) -> str:
        return ""

    @classmethod
    async def reply(cls, request: Any) -> tuple[str, None]:
        return cls.replies.pop(0), None


class Page:
    """A page with as much as the evaluators read of one."""

    def __init__(self, url: str, html: str) -> None:
        self.url = url
        self.html = html

    async def content(self) -> str:
        return self.html


def load(checkout: Path) -> Any:
    """Returns upstream's module of evaluators, with its missing names added."""
    stand_ins(checkout)
    sys.path.insert(0, str(checkout))
    importlib.import_module("evaluate")
    utils = sys.modules["evaluate.evaluate_utils"]
    for name, value in {"urlparse": urllib.parse.urlparse, "unquote": urllib.parse.unquote, "re": re}.items():
        if not hasattr(utils, name):
            setattr(utils, name, value)
    scoring: Any = sys.modules["evaluate.step_score"]
    scoring.SemanticMatchPromptConstructor = Judge
    scoring.semantic_match_llm_request = Judge.reply
    return utils


def scores(utils: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Returns the scores after each moment, and how many replies were left."""
    steps = copy.deepcopy(case["nodes"])
    for step in steps:
        step["score"] = 0
    found = []
    Judge.replies = list(case["replies"])
    for moment in case["moments"]:
        page = Page(moment["url"], moment["html"])
        with contextlib.suppress(Exception):  # as in upstream's loop
            asyncio.run(
                utils.step_evaluate(
                    page=page,
                    evaluate_steps=steps,
                    input_path=moment["selector"],
                    element_value=moment["value"],
                    text_content=moment["text"],
                )
            )
        found.append([float(step["score"]) for step in steps])
    return {"scores": found, "left": len(Judge.replies)}


def converted(checkout: Path, raw: Any) -> Any:
    """Returns the converter's result for a raw export; None if it fails."""
    spec = importlib.util.spec_from_file_location("processor", checkout / "data/raw_data_processor.py")
    assert spec is not None
    assert spec.loader is not None
    processor = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(processor)
    processor.__dict__["input"] = _nobody
    with tempfile.TemporaryDirectory() as folder:
        place, target = os.path.join(folder, "raw.json"), os.path.join(folder, "compact.json")
        Path(place).write_text(json.dumps(raw), encoding="utf-8")
        try:
            processor.process_file(place, target)
        except Exception:  # the caller reports it
            return None
        return json.loads(Path(target).read_text(encoding="utf-8"))


def label(utils: Any, url: str) -> str | None:
    """Returns a site's label; None if upstream raises."""
    try:
        return str(utils.get_netloc(url))
    except Exception:  # the caller reports it
        return None


def main() -> None:
    """Answers case by case."""
    warnings.simplefilter("ignore")
    checkout = Path(sys.argv[1]).resolve()
    utils = load(checkout)
    output = sys.stdout
    for line in sys.stdin:
        case = json.loads(line)
        with contextlib.redirect_stdout(io.StringIO()):
            if "raw" in case:
                answer = converted(checkout, case["raw"])
            else:
                answer = label(utils, case["label"]) if "label" in case else scores(utils, case)
        output.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
