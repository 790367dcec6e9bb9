"""Writes suites as our YAML: one file, or one file per group of sites, sorted by template."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.errors import UsageError, writing
from pytest_webarena.suites.forms import Form
from pytest_webarena.suites.loading import LoadedForms, load_forms
from pytest_webarena.suites.writing import yaml_lines, yaml_scalar
from pytest_webarena.tasks.addresses import parse_address
from pytest_webarena.tasks.reference import schema_text
from pytest_webarena.text import clip

__all__ = ["Written", "export", "render"]

_HEADER = """\
# yaml-language-server: $schema={schema}
# {title}: {count} tasks, written by 'webarena tasks import {source}'.
# The texts are their authors'; see the licence of the data ({package}).
"""
_SCHEMA = "tasks.schema.json"
"""File name of the schema, which is written next to the task files."""


@dataclass(frozen=True, slots=True)
class Written:
    """One file that was written."""

    path: Path
    tasks: int


def export(source: str, output: Path) -> list[Written]:
    """Write a suite (its name, or a JSON file) to the file ``output`` if that ends in .yaml, else to files in that
    folder.

    Raises `UsageError` when it can't be read or written, or would replace a file; `TaskFileError` for an invalid one.
    """
    loaded = load_forms(source)
    if output.suffix in (".yaml", ".yml"):
        files = {output: list(loaded.forms)}
    else:
        files = {output / f"{name}.tasks.yaml": forms for name, forms in _by_sites(loaded.forms).items()}
    for path in files:
        if path.exists():
            raise UsageError(f"expected a new file, found {path}; remove it or choose another place")
    written = []
    for path, forms in files.items():
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            moved = [_moved(form, loaded.folder, path.parent) for form in forms]
            path.write_text(render(moved, loaded), encoding="utf-8", newline="\n")
            path.with_name(_SCHEMA).write_text(schema_text(), encoding="utf-8", newline="\n")
        written.append(Written(path, len(forms)))
    return written


def render(forms: Sequence[Form], loaded: LoadedForms) -> str:
    """Returns the text of a task file."""
    lines = [
        _HEADER.format(
            schema=_SCHEMA, title=loaded.title, count=len(forms), source=loaded.name, package=loaded.package
        ).rstrip()
    ]
    shared = _shared_sites(forms)
    if shared:
        lines += ["", f"defaults: {{sites: [{', '.join(map(yaml_scalar, shared))}]}}"]
    lines += ["", "tasks:"]
    template = None
    for form in sorted(forms, key=_order):
        if form.get("template") != template:
            template = form["template"]
            text = str(form.get("source", {}).get("template", ""))
            lines += ["", f"  # {template}: {clip(text, 100)}" if text else f"  # {template}"]
        body = {key: value for key, value in form.items() if not (shared and key == "sites")}
        lines += [f"  - {line.lstrip(' ')}" if i == 0 else line for i, line in enumerate(yaml_lines(body, 4))]
    return "\n".join(lines) + "\n"


def _moved(form: Form, origin: Path, target: Path) -> Form:
    """Returns the form with the paths of local images made relative to ``target``."""
    if not any(_is_beside(image) for image in form.get("images", ())):
        return form
    moved = [
        Path(os.path.relpath(origin / image, target)).as_posix() if _is_beside(image) else image
        for image in form["images"]
    ]
    return {**form, "images": moved}


def _is_beside(image: str) -> bool:
    return not image.startswith("/") and parse_address(image) is None and ":" not in image


def _by_sites(forms: Iterable[Form]) -> Mapping[str, list[Form]]:
    groups: dict[str, list[Form]] = {}
    for form in forms:
        name = form["sites"][0] if len(form["sites"]) == 1 else "several-sites" if form["sites"] else "no-site"
        groups.setdefault(name, []).append(form)
    return dict(sorted(groups.items()))


def _shared_sites(forms: Sequence[Form]) -> list[str]:
    sites: list[str] = forms[0]["sites"]
    return sites if len(forms) > 1 and all(form["sites"] == sites for form in forms) else []


def _order(form: Form) -> tuple[int, str, int]:
    if "template" not in form:
        return 0, "", 0  # in file order
    number = re.search(r"\d+", form["template"])
    return int(number[0]) if number else 0, form["template"], form["source"]["task_id"]
