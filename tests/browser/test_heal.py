"""``webarena tasks heal`` on a site whose pages change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.commands import playing
from pytest_webarena.commands.cli import main
from pytest_webarena.trials.runtime import Runtime

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(300)]

APP = """
from pathlib import Path

def create_app(data_dir):
    def app(environ, start_response):
        if environ["REQUEST_METHOD"] == "POST":
            path = environ["PATH_INFO"] + "?" + environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
            start_response("303 See Other", [("Location", path)])
            return [b""]
        said = "<p>" + environ["QUERY_STRING"] + "</p>"
        start_response("200 OK", [("Content-Type", "text/html")])
        page = Path(__file__).with_name("page.html").read_text()
        return [("<title>Notes</title>" + page + said).encode()]
    return app
"""
SITES = """
schema_version: 1
apps:
  notes:
    backend: process
    sites:
      notes: {host: notes.localhost}
    process: {factory: "notes:create_app"}
"""
OLD = """
<form action=/save method=post><label>Title <input id=title name=title></label>
<button id=save>Save</button></form>
<form action=/drop method=post><button id=drop name=drop value=all>Delete</button></form>
"""
TASKS = """
tasks:
  # Kept.
  - id: save
    sites: [notes]
    intent: Save the note "rye".
    checks: [{url: "notes:/save?title=rye"}]
    solution:
      - fill: {'role=textbox[name="Title"s]': rye}
        repair_selectors: ['internal:label="Title"s', 'css=input[name="title"]', css=#title]
      - click: role=button[name="Save"s]
        repair_selectors: ['text="Save"', css=#save, 'css=form[action="/save"] button']
  - id: drop
    sites: [notes]
    intent: Delete everything.
    checks: [{url: "notes:/drop?drop=all"}]
    solution:
      - click: role=button[name="Delete"s]
        repair_selectors: ['text="Delete"', css=#drop, 'css=form[action="/drop"] button']
"""
REWORDED = OLD.replace("Title", "Heading").replace("Save", "Keep")
EXCHANGED = """
<form action=/save method=post><label>Heading <input id=title name=title></label><button id=drop>Keep</button></form>
<form action=/drop method=post><button id=save name=drop value=all>Throw away</button></form>
"""
COVERED = OLD + (
    '<dialog open aria-label=Terms style="position:fixed;inset:0;width:100%;height:100%">'
    "<form method=dialog><button>Close</button></form></dialog>"
)


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalogue of a site whose page is read from a file."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "notes.py").write_text(APP)
    (folder / "sites.yaml").write_text(SITES)
    return folder / "sites.yaml"


@pytest.fixture(scope="module")
def runtime(catalogue: Path, shared_engine: BrowserEngine) -> Iterator[Runtime]:
    """The runtime that the command starts, shared by all tests."""
    session = SessionConfig(deadlines=Deadlines(selector=2.0))  # for a button that is covered
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playing, "SessionConfig", lambda: session)
        with playing.open_runtime(str(catalogue), headed=False, executable=None) as runtime:
            yield runtime


@pytest.fixture
def heal(
    runtime: Runtime,
    catalogue: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> object:
    monkeypatch.chdir(tmp_path)
    # The pages are static when they are read, so waiting longer would not help.
    monkeypatch.setattr("pytest_webarena.recorder.replaying._PATIENCE", 1.0)

    @contextmanager
    def opened(sites: str, *, headed: bool, executable: str | None) -> Iterator[Runtime]:
        assert (sites, headed, executable) == (str(catalogue), False, None)
        yield runtime

    monkeypatch.setattr(playing, "open_runtime", opened)

    def run(page: str, *arguments: str, tasks: str = TASKS, name: str = "a.tasks.yaml") -> tuple[int, str, str]:
        (catalogue.parent / "page.html").write_text(page)
        (tmp_path / "a.tasks.yaml").write_text(tasks)
        code = main(["tasks", "heal", name, f"--sites={catalogue}", *arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


def test_heal_does_not_change_working_solutions(heal: object) -> None:
    code, stdout, stderr = heal(OLD)  # type: ignore[operator]
    assert (code, stdout.count("as recorded")) == (0, 5)
    assert "---" not in stdout
    assert stderr == "2 solutions replayed: 2 as recorded, 0 healed\n"


def test_heal_rewrites_changed_labels_with_write_option(heal: object) -> None:
    code, stdout, stderr = heal(REWORDED)  # type: ignore[operator]
    assert code == 1
    assert "the files are as they were" in stderr
    assert Path("a.tasks.yaml").read_text() == TASKS
    code, again, _ = heal(REWORDED, "--write")  # type: ignore[operator]
    assert (code, again) == (0, stdout)
    assert "healed: button 'Keep', found by its id and its form" in stdout
    text = Path("a.tasks.yaml").read_text()
    assert text == (
        TASKS.replace("""{'role=textbox[name="Title"s]': rye}""", """{'role=textbox[name="Heading"s]': rye}""")
        .replace("""['internal:label="Title"s', 'css=input[name="title"]', css=#title]""",
                 """['css=input[name="title"]', css=#title]""")
        .replace("""click: role=button[name="Save"s]""", """click: role=button[name="Keep"s]""")
        .replace("""['text="Save"', css=#save,""", "[css=#save,")
    )  # fmt: skip
    assert heal(REWORDED, tasks=text)[0] == 0  # type: ignore[operator]


@pytest.mark.exhaustive
def test_heal_rejects_elements_with_exchanged_ids(heal: object) -> None:
    code, stdout, stderr = heal(EXCHANGED, "--write")  # type: ignore[operator]
    assert code == 1
    assert "not found: its id and its form do not find the same element" in stdout
    assert Path("a.tasks.yaml").read_text() == TASKS
    assert "0 healed, 2 not healed: save, drop" in stderr


@pytest.mark.exhaustive
def test_heal_does_not_replace_removed_element_by_a_neighbour(heal: object) -> None:
    """Another field remains, and another button that submits the form elsewhere."""
    left = OLD.replace(
        "<label>Title <input id=title name=title></label>", "<label>Title (translated) <input></label>"
    ).replace("<button id=save>Save</button>", "<button formaction=/draft>Save as draft</button>")
    code, stdout, _ = heal(left, "--write")  # type: ignore[operator]
    assert code == 1
    assert (
        "step 1 (type role=textbox[name=\"Title\"s] 'rye'): not found: nothing that is known of it finds one" in stdout
    )
    kept = left.replace("(translated) <input>", "<input id=title name=title>")
    code, stdout, _ = heal(kept, "--write")  # type: ignore[operator]
    assert code == 1
    assert 'step 2 (click role=button[name="Save"s]): not found: nothing that is known of it finds one' in stdout
    code, stdout, _ = heal(kept.replace(" as draft", ""), "--write")  # type: ignore[operator]
    assert code == 1
    assert "as recorded, but the page differs: by its id and its form it is found no more" in stdout
    assert Path("a.tasks.yaml").read_text() == TASKS


@pytest.mark.exhaustive
def test_heal_closes_dialog_that_covers_the_page(heal: object) -> None:
    code, stdout, _ = heal(COVERED, "--write")  # type: ignore[operator]
    assert code == 0
    assert "a dialog that lay over the page was closed" in stdout
    text = Path("a.tasks.yaml").read_text()
    assert text.count('      - click: role=dialog >> role=button[name="Close"s]\n') == 2
    assert heal(COVERED, tasks=text)[0] == 0  # type: ignore[operator]


BY_PLACE = TASKS.replace(
    """click: role=button[name="Delete"s]
        repair_selectors: ['text="Delete"', css=#drop, 'css=form[action="/drop"] button']""",
    "click: css=form:nth-of-type(2) > button",
)


@pytest.mark.exhaustive
def test_position_only_step_fails_without_trust_place(heal: object) -> None:
    code, stdout, stderr = heal(OLD, tasks=BY_PLACE)  # type: ignore[operator]
    assert code == 1
    assert "as recorded, but its place alone says which one is meant" in stdout
    assert "drop: only its place identifies the element of step 1: name it by its text, or" in stderr
    code, _, stderr = heal(OLD, "--trust-place", tasks=BY_PLACE)  # type: ignore[operator]
    assert (code, stderr) == (0, "2 solutions replayed: 2 as recorded, 0 healed\n")


@pytest.mark.exhaustive
def test_task_with_position_only_step_is_not_rewritten(heal: object) -> None:
    mixed = BY_PLACE.replace(
        "      - click: css=form:nth",
        """      - hover: role=button[name="Save"s]
        repair_selectors: ['text="Save"', css=#save, 'css=form[action="/save"] button']
      - click: css=form:nth""",
    )
    code, stdout, stderr = heal(REWORDED, "--write", tasks=mixed)  # type: ignore[operator]
    assert code == 1
    assert 'step 1 (hover role=button[name="Save"s]): healed' in stdout
    assert "step 2 means, so nothing of it is rewritten" in stderr
    drop = Path("a.tasks.yaml").read_text().split("id: drop")[1]
    assert drop == mixed.split("id: drop")[1]
    code, _, _ = heal(REWORDED, "--write", "--trust-place", tasks=mixed)  # type: ignore[operator]
    assert code == 0
    assert "Keep" in Path("a.tasks.yaml").read_text().split("id: drop")[1]


def test_healed_solution_is_written_only_if_it_passes(heal: object) -> None:
    wrong = TASKS.replace("notes:/save?title=rye", "notes:/save?title=oat")
    code, stdout, _ = heal(REWORDED, "--write", tasks=wrong)  # type: ignore[operator]
    assert code == 1
    assert "nothing is rewritten: it is not proved that the found elements are the right ones" in stdout
    assert Path("a.tasks.yaml").read_text() == wrong


def test_answer_only_checks_do_not_verify_a_healed_solution(heal: object) -> None:
    answered = TASKS.replace('[{url: "notes:/save?title=rye"}]', "[{answer: rye}]").replace(
        "\n  - id: drop", "\n      - stop: rye\n  - id: drop"
    )
    code, stdout, _ = heal(REWORDED, tasks=answered)  # type: ignore[operator]
    assert code == 1
    assert stdout.count("review the repairs: the checks test only the answer") == 1
    assert "+      - stop" not in stdout


@pytest.mark.exhaustive
def test_heal_of_one_instance_does_not_change_its_template(heal: object) -> None:
    both = TASKS.replace("id: save\n", "id: save\n    each: {a: {word: rye}, b: {word: oat}}\n").replace(
        "': rye}", "': \"{{ word }}\"}").replace("title=rye", "title={{ word }}")  # fmt: skip
    code, stdout, stderr = heal(REWORDED, "--write", tasks=both)  # type: ignore[operator]
    assert code == 0, stdout + stderr
    assert Path("a.tasks.yaml").read_text().count("Keep") == 1
    assert heal(REWORDED, "--write", tasks=both, name="a.tasks.yaml::save.a")[0] == 1  # type: ignore[operator]
    assert Path("a.tasks.yaml").read_text() == both
