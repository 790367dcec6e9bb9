"""Text of a hostile agent triggers no terminal control sequence and no CI log command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.plugin.conftest import CANNED_RUNTIME

TEXT = r"\n::stop-commands::X\n  ::error::forged\r\n##[add-mask]a ##vso[x]\x1b]0;title\x07\x1b[31mred\x9b2J\u202e"
"""As in Python's source: a line start, an indented one, marks anywhere, escapes, an override of the direction."""
WRAPPED = "word " * 20 + "::set-env name=A::b " + "x" * 90 + " ::stop-commands::Y"
HOSTILE = CANNED_RUNTIME.replace(
    "        definition = ",
    f"""        text = "{TEXT}" + {WRAPPED!r}
        import logging, sys, warnings
        print(text)
        print(text, file=sys.stderr)
        logging.getLogger("agent").warning(text)
        warnings.warn(text)
        definition = """,
).replace('f"canned {outcome}"', 'f"canned {outcome}: {text}"')
PYTHON_TEST = f"""
from pytest_webarena.errors import SiteError

def test_by_hand(webarena_executor):
    print("{TEXT}")
    raise SiteError("{TEXT}")
"""
CONTROL = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E)]


def faults(text: str) -> list[str]:
    """Return lines that start like a CI command or contain a control character."""
    found = []
    for line in text.split("\n"):
        begins = line.lstrip().startswith("::") and not line.startswith(("::error file=", "::warning file="))
        if begins or "##[" in line or "##vso[" in line or any(c in line for c in CONTROL):
            found.append(line)
    return found


@pytest.mark.usefixtures("every_plugin")
def test_agent_text_is_reported_without_control_effects(
    pytester: pytest.Pytester, make_tasks: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytester.makeconftest(HOSTILE)
    make_tasks("wrong", "odd", "good")
    pytester.makepyfile(test_by_hand=PYTHON_TEST)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    result = pytester.runpytest(
        "tasks", "test_by_hand.py", "--agent=null", "-rA", "-Wdefault", "--junitxml=j.xml", "--alluredir=a",
        "--html=h.html",
    )  # fmt: skip
    shown = result.stdout.str()
    assert faults(shown) == []
    assert faults(result.stderr.str()) == []
    for part in ("stdout call", "stderr call", "log call", "warnings summary", "test_by_hand", r"\::stop-commands::X"):
        assert part in shown  # it is all there
    assert sum(line.startswith("::") for line in shown.split("\n")) == 2  # one command for each trial that did not pass
    assert faults((tmp_path / "summary.md").read_text()) == []
    nodes = ElementTree.parse(pytester.path / "j.xml").iter()
    values = [text for node in nodes for text in (node.text, *node.attrib.values())]
    assert r"\::stop-commands::X" in "".join(filter(None, values))
    assert [fault for text in values if text for fault in faults(text)] == []
    results = [json.loads(file.read_text()) for file in (pytester.path / "a").glob("*-result.json")]
    assert [fault for each in results for text in texts(each) for fault in faults(text)] == []
    attached = [file.read_text() for file in (pytester.path / "a").glob("*-attachment.txt")]
    assert [fault for text in attached for fault in faults(text)] == []
    assert any("stop-commands" in text for text in attached)


def texts(value: object) -> list[str]:
    """Return all strings in plain data."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inside for text in texts(each)]
