"""A small runner of GitHub workflows and composite actions, and of GitLab jobs, for tests: no network, no containers.

It knows what our files use: expressions with contexts, comparisons, ``&&`` and ``||``, ``always()``, ``hashFiles()``;
steps with ``run``, local actions, and artifacts, which are folders here. `pip` and `playwright` only note their
arguments.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from tests.inner import NEEDLESS

__all__ = ["CiRunner", "JobResult", "evaluate", "filled_in"]

_TOKENS = re.compile(r"'((?:[^']|'')*)'|(&&|\|\||==|!=|[!(),])|([A-Za-z_][\w-]*(?:\.[\w-]+)*)|(\s+)")
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}
_NOT_RUN = ("actions/checkout@v4", "actions/setup-python@v5")


def evaluate(expression: str, contexts: Mapping[str, Any]) -> Any:
    """Return the value of an expression without its braces. Raises `ValueError` for what is not supported."""
    python, at = [], 0
    while at < len(expression):
        token = _TOKENS.match(expression, at)
        if token is None:
            raise ValueError(f"expected an expression of the supported kind, found {expression!r}")
        text, operator, name, _ = token.groups()
        at = token.end()
        if text is not None:
            python.append(repr(text.replace("''", "'")))
        elif operator is not None:
            python.append(_OPERATORS.get(operator, operator))
        elif name is not None:
            called = expression[at:].lstrip().startswith("(")
            python.append(f"call_{name}" if called else repr(_looked_up(name, contexts)))
    names = {"call_always": lambda: True, "call_hashFiles": lambda *patterns: "0" * 64}
    return eval("".join(python), {"__builtins__": {}}, names)


def _looked_up(name: str, contexts: Mapping[str, Any]) -> str:
    first, *rest = name.split(".")
    found: Any = contexts[first]
    for part in rest:
        found = found.get(part, "") if isinstance(found, Mapping) else ""
    return str(found)


def filled_in(text: Any, contexts: Mapping[str, Any]) -> str:
    """Return ``text`` with its expressions replaced by their values."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(evaluate(found[1], contexts)), str(text))


@dataclass
class JobResult:
    """Result of a job or an action."""

    code: int = 0
    """Exit code of the first step that failed; 0 without one."""
    output: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


class CiRunner:
    """A repository, the artifacts of its jobs, and the variables of the host."""

    def __init__(
        self, project: Path, temp: Path, variables: Mapping[str, str], token: str = "t0ken-of-the-job"
    ) -> None:
        self.project, self.temp, self.token = project, temp, token
        self.artifacts = temp / "artifacts"
        self.summary = temp / "summary.md"
        programs = temp / "programs"
        programs.mkdir(parents=True)
        for name in ("pip", "playwright"):
            (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{temp}/installed"\n')
            (programs / name).chmod(0o755)
        path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
        hosts = ("CI", "GITHUB", "GITLAB", "PYTEST", "WEBARENA", "WORKSPACE")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(hosts)}
        self.environment = {**inherited, "PATH": path, "PYTEST_ADDOPTS": NEEDLESS, **variables}

    @property
    def installed(self) -> list[str]:
        """Commands of pip and Playwright, which were not run."""
        file = self.temp / "installed"
        return file.read_text().splitlines() if file.exists() else []

    def github_job(self, job: Mapping[str, Any], matrix: Mapping[str, Any] | None = None) -> JobResult:
        """Run a job of a workflow."""
        contexts = {"matrix": dict(matrix or {}), "secrets": {}, **self._shared()}
        names = {name: filled_in(value, contexts) for name, value in job.get("env", {}).items()}
        return self._steps(job["steps"], contexts, names)

    def action(self, action: Path, given: Mapping[str, Any], environment: Mapping[str, str]) -> JobResult:
        """Run a composite action with these inputs."""
        content = yaml.safe_load(action.read_text())
        unknown = set(given) - set(content["inputs"])
        assert not unknown, f"{action}: no inputs {unknown}"
        shared = self._shared()
        inputs = {
            name: str(given[name]) if name in given else filled_in(each["default"], shared)
            for name, each in content["inputs"].items()
        }
        contexts: dict[str, Any] = {"inputs": inputs, **shared}
        assert content["runs"]["using"] == "composite"
        for step in content["runs"]["steps"]:
            assert "shell" in step or "run" not in step, f"{action}: a step without shell: {step}"
        result = self._steps(content["runs"]["steps"], contexts, environment)
        outputs = {name: filled_in(each["value"], contexts) for name, each in content.get("outputs", {}).items()}
        return JobResult(result.code, result.output, outputs)

    def gitlab_job(self, template: Mapping[str, Any], name: str, variables: Mapping[str, str]) -> JobResult:
        """Run the script of a job of GitLab, with its parent's variables, in one shell as GitLab does."""
        job = template[name]
        assert set(job.get("needs", ())) <= set(template)
        parent = template[job["extends"]]
        given = {**template["variables"], **parent["variables"], **variables, "CI_PROJECT_DIR": str(self.project)}
        expanded = {each: str(value).replace("$CI_PROJECT_DIR", str(self.project)) for each, value in given.items()}
        return self._bash("\n".join(job["script"]), expanded, self.project)

    def _shared(self) -> dict[str, Any]:
        return {"github": {"token": self.token}, "runner": {"os": "Linux", "temp": str(self.temp)}, "steps": {}}

    def _steps(
        self, steps: Sequence[Mapping[str, Any]], contexts: dict[str, Any], environment: Mapping[str, str]
    ) -> JobResult:
        result, outputs = JobResult(), contexts["steps"]
        for step in steps:
            condition = str(step.get("if", "true"))
            if result.code and "always()" not in condition:
                continue
            if condition != "true" and not evaluate(condition, contexts):
                continue
            done = self._step(step, contexts, environment)
            result.output += done.output
            result.code = result.code or done.code
            if "id" in step:
                outputs[step["id"]] = {"outputs": done.outputs}
        return result

    def _step(self, step: Mapping[str, Any], contexts: Mapping[str, Any], environment: Mapping[str, str]) -> JobResult:
        given = {name: filled_in(value, contexts) for name, value in step.get("with", {}).items()}
        uses = step.get("uses", "")
        if uses.startswith("./"):
            return self.action(self.project / uses / "action.yml", given, environment)
        if uses == "actions/upload-artifact@v4":
            return self._upload(**{name.replace("-", "_"): value for name, value in given.items()})
        if uses == "actions/download-artifact@v4":
            return self._download(**{name.replace("-", "_"): value for name, value in given.items()})
        if uses == "actions/cache@v4":
            assert "," not in given["key"]
            assert len(given["key"]) <= 512
            return JobResult()
        if uses:
            assert uses in _NOT_RUN, uses
            return JobResult()
        assert "${{" not in step["run"], "inputs become code there"
        own = {name: filled_in(value, contexts) for name, value in step.get("env", {}).items()}
        folder = self.project / filled_in(step.get("working-directory", "."), contexts)
        return self._bash(step["run"], {**environment, **own}, folder)

    def _upload(self, *, name: str, path: str, overwrite: str) -> JobResult:
        assert re.fullmatch(r"[^\":<>|*?\r\n\\/]+", name), name
        if (self.project / path).is_dir():
            assert not (self.artifacts / name).exists() or overwrite == "True"
            shutil.rmtree(self.artifacts / name, ignore_errors=True)
            shutil.copytree(self.project / path, self.artifacts / name)
        return JobResult(outputs={"artifact-url": f"https://git.test/o/r/artifacts/{name}"})

    def _download(self, *, pattern: str, path: str, merge_multiple: str) -> JobResult:
        assert merge_multiple == "True"
        for artifact in sorted(self.artifacts.glob("*")):
            if fnmatch(artifact.name, pattern):
                shutil.copytree(artifact, self.project / path, dirs_exist_ok=True)
        return JobResult()

    def _bash(self, script: str, environment: Mapping[str, str], folder: Path) -> JobResult:
        file, output = self.temp / "step.sh", self.temp / "output"
        file.write_text(script)
        output.write_text("")
        host = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.summary)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(file)],
            cwd=folder, env={**self.environment, **host, **environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return JobResult(done.returncode, done.stdout + done.stderr, outputs)
