"""Which tests `make test-changed` runs (``scripts/changed_tests.py``)."""

from __future__ import annotations

from scripts.changed_tests import AT_ONCE, SECONDS, imports_of, nearest, within

SOURCES = {
    "pytest_webarena/__init__.py": "",
    "pytest_webarena/text.py": "",
    "pytest_webarena/llm/__init__.py": "",
    "pytest_webarena/llm/apis.py": "from pytest_webarena import text",
    "pytest_webarena/llm/client.py": "from .apis import ask",
    "tests/helpers.py": "from pytest_webarena.llm import client",
    "tests/unit/llm/test_apis_of_two.py": "",
    "tests/unit/llm/test_client.py": "import pytest_webarena.llm.client",
    "tests/browser/test_clients.py": "from tests.helpers import answer",
    "tests/plugin/test_text.py": "",
    "tests/unit/test_text.py": "def test():\n    from pytest_webarena.text import clip",
}


def test_imports_are_found_in_every_form() -> None:
    assert imports_of("pytest_webarena/llm/client.py", "from . import apis\nimport os", ["pytest_webarena.llm.apis"])
    assert imports_of("pytest_webarena/llm/__init__.py", "from .apis import ask", ["pytest_webarena.llm.apis"])
    modules = ["pytest_webarena", "pytest_webarena.text"]
    assert imports_of("a.py", "from pytest_webarena import text", modules) == {"pytest_webarena.text"}
    assert imports_of("a.py", "KINDS = {'text': 'pytest_webarena.text:TEXT'}", modules) == {"pytest_webarena.text"}
    assert imports_of("a.py", "'pytest_webarena.text.clip'", modules) == {"pytest_webarena.text"}


def test_the_nearest_tests_come_first() -> None:
    assert nearest(["pytest_webarena/llm/apis.py", "README.md"], SOURCES) == [
        "tests/unit/llm/test_apis_of_two.py",  # its mirror
        "tests/unit/llm/test_client.py",
        "tests/browser/test_clients.py",
    ]
    assert nearest(["pytest_webarena/text.py"], SOURCES)[:2] == ["tests/plugin/test_text.py", "tests/unit/test_text.py"]


def test_a_changed_test_and_a_changed_helper_concern_themselves() -> None:
    assert nearest(["tests/unit/test_text.py"], SOURCES) == ["tests/unit/test_text.py"]
    assert nearest(["tests/helpers.py"], SOURCES) == ["tests/browser/test_clients.py"]


def test_what_does_not_fit_into_the_time_is_left_out_but_never_all() -> None:
    long, short = "tests/unit/test_long.py", "tests/unit/test_short.py"
    times = {long: SECONDS * AT_ONCE * 2, short: 1.0}
    assert within([short, long], times) == [short]
    assert within([long, short], times) == [long]
    assert within([], times) == []
