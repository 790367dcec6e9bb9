"""Runs published evaluators, unchanged, on generated trials, for `agree_upstream`.

It runs in the temporary environment that `agree_upstream` creates, never in the project's. It reads cases and writes
verdicts as JSON lines: a score, or ``error: …`` for an exception. Evaluators and helper functions are the packages'
own. Stand-ins replace their other dependencies (a browser, a store, a model): a page that shows the case's values,
answers of the store's API, and replies of a judge model. NLTK splits sentences with the English Punkt model, whose
parameters come in a package, so NLTK's own download is not needed.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

SITES = json.loads(os.environ["SITES"])
PACKAGES = {
    "webarena": "webarena.evaluation_harness",
    "webarena-lite": "browsergym.webarenalite",
    "visualwebarena": "visualwebarena.evaluation_harness",
}
replies: list[str] = []
answers: dict[str, Any] = {}


class Anything(types.ModuleType):
    """A stand-in for a module that is imported but not used here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return dict if name in ("Action", "StateInfo") else type(name, (), {})


class Answer:
    """The store API's answer to a request."""

    def __init__(self, url: str) -> None:
        path = "/" + url.split("/", 3)[3]
        self.status_code, self._data = answers.get(path, (404, {}))

    def json(self) -> Any:
        if isinstance(self._data, str) and self._data.startswith("<"):
            raise ValueError("no JSON")
        return self._data


def stub() -> None:
    """Installs stand-ins for the modules that the packages import."""
    requests: Any = importlib.import_module("requests")
    requests.get = requests.post = lambda url, **more: Answer(url)
    for name in ("evaluate", "PIL", "PIL.Image", "gradio_client"):
        sys.modules[name] = Anything(name)
    for package in ("webarena", "visualwebarena"):
        for part in ("browser_env", "browser_env.actions", "browser_env.utils", "llms", "llms.providers"):
            sys.modules[f"{package}.{part}"] = Anything(f"{package}.{part}")
        config = Anything(f"{package}.browser_env.env_config")
        vars(config).update({name.upper(): url for name, url in SITES.items()})
        vars(config)["ACCOUNTS"] = {"shopping_site_admin": {"username": "admin", "password": "admin1234"}}
        sys.modules[f"{package}.browser_env.env_config"] = config
        model = types.ModuleType(f"{package}.llms.providers.openai_utils")
        vars(model)["generate_from_openai_chat_completion"] = lambda **more: replies.pop(0)
        sys.modules[model.__name__] = model
    sys.modules["visualwebarena.evaluation_harness.image_utils"] = Anything("image_utils")
    for name in (*PACKAGES.values(), "browsergym"):  # without running the imports of their __init__
        top, *rest = name.split(".")
        place = next(Path(entry) / top for entry in sys.path if (Path(entry) / top).is_dir())
        module = types.ModuleType(name)
        module.__path__ = [str(place.joinpath(*rest))]
        sys.modules[name] = module


def punkt() -> None:
    """Gives NLTK's tokenizer the parameters of the English model."""
    english: Any = importlib.import_module("punkt.data.english")
    nltk: Any = importlib.import_module("nltk.tokenize")
    model: Any = importlib.import_module("nltk.tokenize.punkt")
    parameters = model.PunktParameters()
    parameters.abbrev_types = set(english.ABBREV_TYPES)
    parameters.collocations = set(english.COLLOCATIONS)
    parameters.sent_starters = set(english.SENT_STARTERS)
    for word, context in english.ORTHO_CONTEXT.items():
        parameters.ortho_context[word] = context
    splitter = model.PunktSentenceTokenizer(parameters)
    nltk.sent_tokenize = lambda text, language="english": splitter.tokenize(text)


class Context:
    """Opens pages that show the case's values for the next target."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def new_page(self) -> Any:
        return Page.wrapped(self.page.harness, self.page.shown, "about:blank")


class Page:
    """Shows each locator the value of the case, in the order of the targets."""

    def __init__(self, shown: list[Any]) -> None:
        self.shown = shown
        self.harness: Any = None

    @classmethod
    def wrapped(cls, harness: Any, shown: list[Any], url: str) -> Any:
        page = cls(shown)
        page.harness = harness
        return harness.PseudoPage(page, url)

    @property
    def context(self) -> Context:
        return Context(self)

    def goto(self, url: str) -> None:
        if not url.startswith("http"):
            raise ValueError(f"no address: {url}")

    def close(self) -> None:
        pass

    def content(self) -> str:
        return str(self._next())

    def evaluate(self, source: str) -> Any:
        if source.startswith("() => prep"):
            return None
        return self._next()

    def _next(self) -> Any:
        kind, *value = self.shown.pop(0)
        if kind == "error":
            raise RuntimeError(*value)
        if kind == "text":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "-0.0": -0.0}[value[0]]
        return None if kind == "none" else value[0]


def verdict(case: dict[str, Any], folder: Path) -> Any:
    """Returns upstream's verdict on a case."""
    harness: Any = importlib.import_module(f"{PACKAGES[case['dialect']]}.helper_functions")
    evaluators: Any = importlib.import_module(f"{PACKAGES[case['dialect']]}.evaluators")
    replies[:] = case.get("replies", ())
    answers.clear()
    answers.update(case.get("api", {}))
    try:
        if "call" in case:
            return getattr(harness, case["call"])(*case["arguments"])
        config = folder / "config.json"
        config.write_text(json.dumps({"intent": case["intent"], "eval": case["eval"]}))
        trajectory = [{}, {"answer": case["answer"]}]
        score = 1.0
        for name in case["eval"]["eval_types"]:
            made = {
                "string_match": evaluators.StringEvaluator,
                "url_match": getattr(evaluators, "URLExactEvaluator", None) or evaluators.URLEvaluator,
                "program_html": getattr(evaluators, "HTMLContentExactEvaluator", None)
                or evaluators.HTMLContentEvaluator,
            }[name]()
            page = Page.wrapped(harness, list(case.get("shown", ())), case.get("url", "about:blank"))
            score *= made(trajectory, config, page)
        return float(score)
    except Exception as error:
        return f"error: {type(error).__name__}"


def main() -> None:
    """Judges the cases from standard input."""
    stub()
    punkt()
    setattr(time, "sleep", lambda seconds: None)  # noqa: B010 - the evaluators wait three seconds per page
    out, sys.stdout = sys.stdout, sys.stderr  # VisualWebArena prints
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            print(json.dumps(verdict(json.loads(line), Path(folder))), file=out, flush=False)


if __name__ == "__main__":
    main()
