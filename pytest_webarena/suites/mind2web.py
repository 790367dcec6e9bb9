"""Reads Mind2Web-Live tasks with key nodes, as compact JSON or as the raw export of a challenge, as tasks on live
sites.

The compact form has tasks with an ``evaluation``, a list of nodes; the raw form has recorded steps, some of which have
functions. A raw task is first converted to the compact form in the same way as by WebCanvas' own converter, including
its mistakes, so that both files of one challenge give the same tasks. What that converter would drop or fail on is
reported as a problem here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlparse

from pytest_webarena.checks.key_nodes.selector_reading import SelectorFault, parse_selector
from pytest_webarena.checks.webcanvas.addresses import site_label
from pytest_webarena.checks.webcanvas.nodes import FUNCTIONS, NEVER_SCORED
from pytest_webarena.errors import UsageError
from pytest_webarena.suites.fields import MISSING, Fields
from pytest_webarena.suites.forms import Form, make_task
from pytest_webarena.suites.rows import Key, Row, TaskRows, read_rows, said
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.nodes import near
from pytest_webarena.text import clip

__all__ = ["PREFIX", "SUITE", "insist", "is_mind2web", "read_forms", "read_mind2web", "site_names"]

PREFIX = "mind2web-live:"
"""Prefix for files of this format where suites are named."""
SUITE = "mind2web-live"

_COMPACT = re.compile(rb'"(?:match_function_name|reference_task_length)"\s*:')
_RAW = re.compile(rb'"(?:rewardFunction|steps)"\s*:')
_UNWRITABLE = re.compile(r"[%\s]")
_ID = re.compile(r"[^A-Za-z0-9._-]+")

Keys = tuple[Key, ...]


def is_mind2web(data: bytes) -> bool:
    """Whether a JSON file looks like one of the two formats, judged by keys that no other suite has."""
    return bool(_COMPACT.search(data)) or (bool(_RAW.search(data)) and b'"title"' in data)


def insist(path: Path, named: str) -> None:
    """Raise `UsageError` if a file is named as one of this format and is not."""
    try:
        data = path.read_bytes()
    except OSError:
        return  # the reader reports the error better
    if not is_mind2web(data):
        raise UsageError(
            f"expected tasks of Mind2Web-Live in {named}, with 'task' and 'evaluation' (compact) or 'title' and "
            "'steps' (raw export), found none of these keys; other formats are named without 'mind2web-live:'"
        )


def read_mind2web(data: bytes, path: str, name: str, forms: list[Form]) -> tuple[tuple[Task, ...], TaskRows]:
    """Returns the tasks of a file, and its rows with all their problems. ``forms`` receives the plain data."""
    found, rows = read_forms(data, path, name)
    tasks = []
    for row, form in found:
        task = make_task(form, rows, row)
        if task is not None:
            tasks.append(task)
            forms.append(form)
    return tuple(tasks), rows


def read_forms(data: bytes, path: str, name: str) -> tuple[list[tuple[Row, Form]], TaskRows]:
    """Returns the content of task files for a file's tasks, with the row of each, and the rows with all their
    problems."""
    rows = read_rows(data, path)
    found: list[tuple[Row, Form]] = []
    first: dict[str, Row] = {}
    for row in rows.rows:
        fields = Fields(rows, row)
        raw = "evaluation" not in row.data and ("steps" in row.data or "title" in row.data)
        form = _Raw(fields).form(name) if raw else _Compact(fields).form(name)
        if form is None or not fields.sound:
            continue
        if (earlier := first.setdefault(form["id"], row)) is not row:
            fields.fault(("index",), "an index used once", f"'{form['id']}' again", f"first in line {earlier.line}")
            continue
        found.append((row, form))
    return found, rows


def _task_form(name: str, index: int | str, intent: str, length: int, nodes: list[dict[str, Any]]) -> Form:
    """Returns the content of a task file for nodes in the compact form."""
    hosts = site_names([node["url"] for node in nodes])
    kept = [node for node in nodes if not _unfit(node)]
    form: Form = {
        "id": f"{name}.{_ID.sub('-', str(index)).strip('-.') or 'task'}",
        "intent": intent,
        "sites": list(hosts),
        "start": "about:blank",
        "checks": [{"key_nodes": [_node(node) for node in kept]}],
        "source": {
            "suite": SUITE,
            "task_id": index,
            "reference_length": length,
            "hosts": hosts,
            "recorded": [node["url"] for node in kept],
        },
    }
    if skip := _why_not(nodes):
        form["skip"] = skip
    return form


def _unfit(node: Mapping[str, Any]) -> str:
    """Returns why a task file can't contain a node, which nobody could reach; empty when it can."""
    function, answer = node["function"], node["answer"]
    target, match = FUNCTIONS[function]
    if not answer.strip():
        return f"{function} has an empty reference, which says nothing"
    if target == "url" and not node["key"]:
        if match == "includes" and "?" in answer:
            return f"'{clip(answer, 60)}' has a query ('?'), and host and path have none"
        if match == "exact" and not _host(answer):
            return f"'{clip(answer, 60)}' is no whole address"
    for selector in (answer if target == "element" else "", node.get("path", "")):
        try:
            if selector:
                parse_selector(f"{_ENGINE[node.get('method', 'selector')]}={selector}".strip())
        except SelectorFault as fault:
            return f"'{clip(selector, 60)}' is no selector: {fault}"
    return ""


def _why_not(nodes: list[dict[str, Any]]) -> str:
    """Returns why the task can't be posed with its data; empty when it can."""
    for number, node in enumerate(nodes, 1):
        if node["function"] in NEVER_SCORED:
            return f"its key node {number} is {node['function']}, which WebCanvas reserves and never scores"
        if why := _unfit(node):
            return f"its key node {number}: {why}"
    return ""


def site_names(recorded: list[str]) -> dict[str, str]:
    """Returns names for the hosts of the recorded addresses, in order: the sites of the task."""
    found: dict[str, str] = {}
    for url in recorded:
        host = _host(url)
        site = re.sub(r"[^a-z0-9_-]+", "-", host.removeprefix("www.")).strip("-_")
        if site:
            found.setdefault(site, host)
    return found


def _host(url: str) -> str:
    try:
        parts = urlparse(url)
        return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _node(node: Mapping[str, Any]) -> Form:
    """Returns a key node in the form of task files."""
    function, answer = node["function"], node["answer"]
    target, match = FUNCTIONS[function]
    case = {} if match == "semantic" else {"case": True}
    if target == "url" and node["key"]:
        return {"url": {"param": node["key"], match: answer, "site": "*", **case}}
    if target == "url":  # references are decoded, but a task file's addresses are not
        written = _UNWRITABLE.sub(lambda sign: quote(sign[0]), answer) if match == "exact" else answer
        return {"url": {match: written, "site": "*"}}
    where = {"label": node["netloc"]} if node.get("netloc", "").strip() else {"site": "*"}
    if target == "element":
        return {"element": {"locate": f"{_ENGINE[node['method']]}={answer}".strip(), **where}}
    if target == "value":
        path = {"locate": f"css={node['path']}".strip()} if "path" in node else {}
        return {"value": {**path, match: answer, "of": "any", **where, **case}}
    return {"text": {match: answer, "of": target}}


_ENGINE = {"selector": "css", "xpath": "xpath"}


class _Compact:
    """A row of the compact form."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def form(self, name: str) -> Form | None:
        """Returns the content of a task file; None, with a problem noted, when the row is faulty."""
        fields = self.fields
        index = self._index()
        intent = fields.text("task")
        length = fields.number("reference_task_length")
        given = fields.objects("evaluation")
        nodes = [self._one(number) for number in range(len(given or ()))]
        if given and fields.sound and not site_names([str((node or {}).get("url", "")) for node in nodes]):
            fields.fault(("evaluation",), "a recorded address ('url') that says which site it is", "none")
        if given and fields.sound and all(_unfit(node or {}) for node in nodes):
            fields.fault(("evaluation",), "a node that can be reached", f"none: {_unfit(nodes[0] or {})}")
        if index is None or intent is None or length is None or given is None or not fields.sound:
            return None
        return _task_form(name, index, intent.strip(), length, [node for node in nodes if node is not None])

    def _index(self) -> int | str | None:
        value = self.fields.raw("index")
        if value is MISSING:
            return None
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.fields.fault(("index",), "a whole number from 0 or a text", said(value))
        return None

    def _one(self, number: int) -> dict[str, Any] | None:
        fields, at = self.fields, ("evaluation", number)
        function = _function(fields, (*at, "match_function_name"))
        content = fields.object(*at, "content")
        if function is None or content is None:
            return None
        target, _ = FUNCTIONS[function]
        node: dict[str, Any] = {
            "function": function,
            "answer": fields.text(*at, "content", "reference_answer", blank=True),
        }
        node["url"] = fields.text(*at, "content", "url", optional=True, blank=True) or ""
        if target == "url":
            node["key"] = fields.text(*at, "content", "key", blank=True)
        elif target in ("element", "value"):
            node["netloc"] = fields.text(*at, "content", "netloc", blank=True)
        if target == "value" and "path" in content:
            node["path"] = fields.text(*at, "content", "path")
        if target == "element":
            node["method"] = fields.text(*at, "method")
            if node["method"] is not None and node["method"] not in _ENGINE:
                fields.fault((*at, "method"), "selector or xpath", said(node["method"]), near(node["method"], _ENGINE))
        return node


class _Raw:
    """A row of the raw export."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def form(self, name: str) -> Form | None:
        """Returns the content of a task file; None, with a problem noted, when the row is faulty."""
        fields = self.fields
        intent = fields.text("title")
        steps = fields.objects("steps")
        nodes = [node for number in range(len(steps or ())) for node in self._step(number)]
        if steps and fields.sound and not nodes:
            fields.fault(("steps",), "a step with a function ('rewardFunction')", "none")
        if steps and fields.sound and not site_names([node["url"] for node in nodes]):
            fields.fault(("steps",), "a recorded address ('href') that says which site it is", "none")
        if nodes and fields.sound and all(map(_unfit, nodes)):
            fields.fault(("steps",), "a function that can be reached", f"none: {_unfit(nodes[0])}")
        if intent is None or steps is None or not fields.sound:
            return None
        return _task_form(name, fields.row.index, intent.strip(), len(steps), nodes)

    def _step(self, number: int) -> list[dict[str, Any]]:
        """Returns the nodes of one recorded step."""
        fields, at = self.fields, ("steps", number)
        if fields.raw(*at, "rewardFunction", optional=True) in (MISSING, None, []):
            return []
        given = fields.objects(*at, "rewardFunction", low=0) or []
        filled = next((index for index, each in enumerate(given) if not each), len(given))
        late = next((index for index in range(filled, len(given)) if given[index]), None)
        if late is not None:
            fields.fault((*at, "rewardFunction", late), "no function after an empty one", said(given[late]))
        functions = [
            (index, _function(fields, (*at, "rewardFunction", index, "name")) or "") for index in range(filled)
        ]
        if not functions or not all(name for _, name in functions):
            return []
        href = self._address(at)
        if href is None:
            return []
        both = {FUNCTIONS[name][0] for _, name in functions} >= {"element", "value"}
        if both:  # the path is then a condition on the value; as upstream, the last one counts
            last = max(index for index, name in functions if FUNCTIONS[name][0] == "element")
            functions = [each for each in functions if each[0] != last]
        found = []
        for index, name in functions:
            node = self._node((*at, "rewardFunction", index), at, name, href)
            if node is not None:
                if both and FUNCTIONS[name][0] == "value":
                    node["path"] = fields.text(*at, "selector")
                found.append(node)
        return found

    def _address(self, at: Keys) -> str | None:
        """Returns the step's address: its description, if that is an address, else its ``href``."""
        described = self.fields.raw(*at, "description", optional=True)
        if isinstance(described, str):
            try:
                parts = urlparse(described)
            except ValueError:
                parts = urlparse("")
            if parts.scheme and parts.netloc:
                return described
        return self.fields.text(*at, "href")

    def _node(self, at: Keys, step: Keys, name: str, href: str) -> dict[str, Any] | None:
        fields = self.fields
        target, match = FUNCTIONS[name]
        node: dict[str, Any] = {"function": name, "url": href}
        if target == "url":
            key = fields.text(*at, "key", optional=True, blank=True) or ""
            node["key"] = unquote(key) if match != "semantic" else key
            answer = self._url_answer(at, match, key, href)
        elif target == "element":
            node["method"] = "selector"
            answer = fields.text(*step, "selector")
        else:
            own = {"includes": (*at, "required"), "semantic": (*at, "optional")}.get(match, (*step, "value"))
            answer = fields.text(*own)
            if answer is not None and target not in ("element", "value") and match != "exact":
                answer = unquote(answer)
        if target in ("element", "value"):
            node["netloc"] = self._label(href, step)
        node["answer"] = answer
        return node

    def _url_answer(self, at: Keys, match: str, key: str, href: str) -> str | None:
        fields = self.fields
        if match == "semantic":
            return fields.text(*at, "optional")
        if match == "includes":
            required = fields.text(*at, "required")
            return None if required is None else unquote(required)
        if fields.raw(*at, "optional", optional=True) is not MISSING:
            given = fields.text(*at, "optional")
            return None if given is None else unquote(given)
        if not key:
            return unquote(href)
        try:
            found = parse_qs(urlparse(href).query)[unquote(key)][0]
        except (ValueError, KeyError):
            fields.fault((*at, "key"), f"a parameter of the recorded address {href}", said(key))
            return None
        return unquote(found)

    def _label(self, href: str, step: Keys) -> str:
        try:
            label = site_label(href)
        except ValueError:
            label = ""
        if not label:
            self.fields.fault((*step, "href"), "an address with a site's name in its host", said(href))
        return label


def _function(fields: Fields, keys: Keys) -> str | None:
    """Returns the name of a function in the data's spelling."""
    name = fields.text(*keys)
    if name is not None and name not in FUNCTIONS:
        fields.fault(keys, "a function of WebCanvas", said(name), near(name, FUNCTIONS))
        return None
    return name
