"""Rewrites pages of the embedded sites: other ids, other labels, another order, or an extra dialog.

The rules read only a page's HTML, and were written before the healer. Before a rule changes a page, each element gets
an attribute with its number (`MARK`), so that a benchmark can tell whether a selector matched the same element. Login
pages stay unchanged: the catalogue, not the task, describes how to log in on them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, NavigableString, Tag

from pytest_webarena.embedded import APPS

MARK = "data-mark"
RULES = ("none", "ids", "labels", "order", "dialog", "redesign", "exchanged")
"""``redesign`` combines ids, labels and order; ``exchanged`` rewords labels and swaps ids between elements."""

SIGN_IN = re.compile(r"log[-_]?in|sign[-_]?in|/session", re.IGNORECASE)
_REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list", "form", "headers")
_WORDS = {
    "add": "put", "search": "look for", "save": "store", "delete": "throw away", "remove": "take out", "edit": "revise",
    "new": "fresh", "create": "make", "send": "dispatch", "submit": "hand in", "update": "refresh", "sign": "log",
    "title": "heading", "text": "content", "name": "called", "description": "about it", "address": "where it is",
    "review": "opinion", "basket": "cart", "account": "profile", "settings": "options", "comment": "remark",
    "post": "publish", "message": "note", "email": "e-mail", "from": "starting at", "to": "towards", "go": "start",
    "find": "seek", "show": "display", "close": "shut", "open": "reopen", "cancel": "back out", "yes": "sure",
}  # fmt: skip
_CLOSE = "/changed/close.css"
_STYLE = (
    b".changed-notice{position:fixed;inset:0;width:100%;height:100%;max-width:none;max-height:none;z-index:99999;"
    b"background:#fffe;padding:20vh 20vw;border:0;margin:0}"
)


def changed(site: Callable[..., Iterable[bytes]], rule: str) -> Callable[..., Iterable[bytes]]:
    """Wraps a WSGI site so that ``rule`` changes its HTML pages."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == _CLOSE:
            start_response("200 OK", [("Content-Type", "text/css"), ("Content-Length", str(len(_STYLE)))])
            return [_STYLE]
        status, headers, body = answer_of(site, environ)
        is_html = any(key.lower() == "content-type" and value.startswith("text/html") for key, value in headers)
        if is_html and body and environ["REQUEST_METHOD"] != "HEAD" and not SIGN_IN.search(environ["PATH_INFO"]):
            body = rewritten(body.decode("utf-8"), rule).encode("utf-8")
            headers = with_length(headers, len(body))
        start_response(status, headers)
        return [body]

    return answer


def answer_of(
    site: Callable[..., Iterable[bytes]], environ: dict[str, Any]
) -> tuple[str, list[tuple[str, str]], bytes]:
    """Returns the status, header fields and body of a WSGI site's answer."""
    response: list[Any] = []
    parts = site(environ, lambda status, headers, *_: response.extend((status, headers)))
    try:
        body = b"".join(parts)
    finally:
        getattr(parts, "close", lambda: None)()
    status, headers = response
    return status, headers, body


def with_length(headers: Iterable[tuple[str, str]], length: int) -> list[tuple[str, str]]:
    """Returns header fields with the content length set to ``length``."""
    return [*(pair for pair in headers if pair[0].lower() != "content-length"), ("Content-Length", str(length))]


def rewritten(html: str, rule: str) -> str:
    """Returns a page's HTML after ``rule`` has changed it."""
    page = BeautifulSoup(html, "html.parser")
    for number, tag in enumerate(page.find_all(True)):
        tag[MARK] = str(number)
    for each in {"redesign": ("ids", "labels", "order"), "exchanged": ("exchange", "labels")}.get(rule, (rule,)):
        _CHANGES[each](page)
    return str(page)


def _ids(page: BeautifulSoup) -> None:
    """Renames every id and all references to it. Ids that the site's scripts use stay."""
    renamed(page, {id: f"n{hashlib.sha256(id.encode()).hexdigest()[:6]}" for id in _changeable(page)})


def _exchange(page: BeautifulSoup) -> None:
    """Rotates the ids among elements of the same kind; labels and other references keep pointing at the same
    elements."""
    new: dict[str, str] = {}
    changeable = _changeable(page)
    for kind in ("a", "button", "input", "textarea", "select"):
        ids = [str(tag["id"]) for tag in page.find_all(kind, id=True) if tag["id"] in changeable]
        new |= dict(zip(ids, ids[1:] + ids[:1], strict=True))
    renamed(page, new)


def renamed(page: BeautifulSoup, new: dict[str, str]) -> None:
    for tag in page.find_all(True):
        if tag.get("id") in new:
            tag["id"] = new[tag["id"]]
        for key in _REFERENCES:
            if tag.has_attr(key):
                value = tag[key] if isinstance(tag[key], str) else " ".join(tag[key])
                tag[key] = " ".join(new.get(part, part) for part in value.split())
        if str(tag.get("href", "")).startswith("#"):
            tag["href"] = "#" + new.get(tag["href"][1:], tag["href"][1:])


def _changeable(page: BeautifulSoup) -> list[str]:
    return [id for tag in page.find_all(id=True) if (id := str(tag["id"])) not in named_in_scripts()]


_named: set[str] = set()


def named_in_scripts() -> set[str]:
    if not _named:
        for app in APPS.values():
            for file in (*app.folder.rglob("*.js"), *app.folder.rglob("*.html")):
                text = file.read_text(encoding="utf-8", errors="replace")
                _named.update(re.findall(r"getElementById\(['\"]([\w-]+)", text), re.findall(r"['\"`]#([\w-]+)", text))
    return _named


def _labels(page: BeautifulSoup) -> None:
    """Rewords buttons, labels and menu links; names of things (rows, articles) stay."""
    for tag in page.find_all(["button", "label", "a", "input", "textarea", "summary", "legend"]):
        if tag.name == "a" and not _is_menu(tag):
            continue
        for text in [each for each in tag.find_all(string=True) if each.strip()]:
            text.replace_with(NavigableString(_reworded(str(text))))
        spoken = ["aria-label", "title", "placeholder"]
        spoken += ["value"] if tag.name == "input" and tag.get("type") in ("submit", "button", "reset") else []
        for key in spoken:
            if tag.get(key):
                tag[key] = _reworded(tag[key])


def _is_menu(tag: Tag) -> bool:
    classes = " ".join(tag.get("class") or [])
    return bool(re.search(r"\b(button|btn)", classes)) or tag.find_parent(["nav", "header"]) is not None


def _reworded(text: str) -> str:
    def other(found: re.Match[str]) -> str:
        word = found[0]
        new = _WORDS.get(word.lower(), word)
        return new.capitalize() if word[0].isupper() else new

    new = re.sub(r"[A-Za-z]+", other, text)
    return new if new != text else re.sub(r"(\S)(\s*)$", r"\1 here\2", text, count=1)


def _order(page: BeautifulSoup) -> None:
    """Reverses lists, the parts of forms and the links of menus."""
    for tag in page.find_all(["ul", "ol", "form", "nav", "tbody"]):
        children = [child for child in tag.find_all(True, recursive=False) if child.get("type") != "hidden"]
        if len(children) < 2 or (tag.name == "tbody" and len(children) > 30):
            continue
        places = [child.replace_with(NavigableString("")) for child in reversed(children)]
        for child in places:
            tag.append(child)


def _dialog(page: BeautifulSoup) -> None:
    """Covers every page that has a form to fill in with a notice, until the notice is closed."""
    body = page.body
    if body is None or page.head is None or not any(_is_filled_in(form) for form in page.find_all("form")):
        return
    page.head.append(BeautifulSoup(f'<link rel="stylesheet" href="{_CLOSE}">', "html.parser"))
    notice = (
        '<dialog open class="changed-notice" aria-label="New terms"><p>Our terms have changed.</p>'
        '<form method="dialog"><button>Close</button> <a href="/">Read them</a></form></dialog>'
    )
    body.append(BeautifulSoup(notice, "html.parser"))


def _is_filled_in(form: Tag) -> bool:
    typed = [field for field in form.find_all("input") if field.get("type", "text") in ("text", "number", "email")]
    fields = form.find_all(["textarea", "select"]) + typed
    return str(form.get("method", "")).lower() == "post" and bool(fields)


_CHANGES: dict[str, Callable[[BeautifulSoup], None]] = {
    "none": lambda page: None,
    "ids": _ids,
    "exchange": _exchange,
    "labels": _labels,
    "order": _order,
    "dialog": _dialog,
}


def catalogue(folder: Path, rule: str, change: str = "changed_pages.changed") -> Path:
    """Writes a catalogue of the embedded sites, changed according to ``rule`` by ``change`` (a function of a module
    here)."""
    folder.mkdir(parents=True, exist_ok=True)
    common = yaml.safe_load((APPS["homepage"].folder.parent / "common.yaml").read_text())
    apps: dict[str, Any] = {}
    for name, app in APPS.items():
        own = yaml.safe_load((app.folder / "site.yaml").read_text())
        for key in ("container", "extra"):
            own.pop(key, None)
        entry = {**common, **own, "backend": "process", "process": {**common["process"], **own.get("process", {})}}
        entry.pop("container", None)
        users = {**common["users"]}
        for user, facts in own.get("users", {}).items():
            users[user] = {**users.get(user, {}), **facts}
        entry["users"] = users
        if not any("sign_in" in site for site in own["sites"].values()):
            entry.pop("users", None)
        entry["process"] |= {"seed": f"{app.module}:seed", "on_fork": f"{app.module}:on_fork"}
        module = f"changed_{rule}_{name}"
        entry["process"]["factory"] = f"{module}:create_app"
        entry["process"].pop("install", None)
        apps[name] = entry
        (folder / f"{module}.py").write_text(_factory(app.module, rule, change), encoding="utf-8")
    _link(apps)
    path = folder / "sites.yaml"
    path.write_text(yaml.safe_dump({"schema_version": 1, "apps": apps}), encoding="utf-8")
    return path


def _link(apps: dict[str, Any]) -> None:
    """Replaces ``{others}`` in each site's environment with the links to the other sites."""
    for name, app in apps.items():
        others = ",".join(link for other in apps if other != name for link in _links(apps[other]))
        env = app["process"].get("env", {})
        app["process"]["env"] = {key: value.replace("{others}", others) for key, value in env.items()}


def _links(app: dict[str, Any]) -> Iterator[str]:
    for site, facts in app["sites"].items():
        yield f"{site}=http://{facts['host']}/"


def _factory(module: str, rule: str, change: str) -> str:
    changing, _, function = change.partition(".")
    return (
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from {changing} import {function} as changed\n"
        f"from {module} import create_app as make\n\n\n"
        f"def create_app(data_dir):\n    return changed(make(data_dir), {rule!r})\n"
    )
