"""Transfer of folders between machines: safe paths, atomic installation, no secrets."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from pathlib import Path

import pytest

from pytest_webarena.cluster.project_files import NodePaths, secrets_of, stage
from pytest_webarena.cluster.shipping import install, pack, pack_outline, unpack
from pytest_webarena.errors import HarnessError, UsageError
from pytest_webarena.plugin.ray_dispatch import _refuse_secrets


def archive(*members: tuple[str, bytes | None, bytes]) -> bytes:
    """Pack members: name, kind (None: a file) and content or link target."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            if kind is None:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            else:
                info.type, info.linkname = kind, content.decode()
                tar.addfile(info)
    return packed.getvalue()


def trial(folder: Path, *attempts: int, time: float = 100.0) -> Path:
    for number in attempts:
        (folder / f"attempt-{number}").mkdir(parents=True)
        (folder / f"attempt-{number}" / "evidence.json").write_text(f"evidence {number}")
    (folder / "started.json").write_text(json.dumps({"attempt": attempts[-1], "time": time}))
    (folder / "trial.json").write_text(json.dumps({"attempt": attempts[-1]}))
    return folder


def test_folder_survives_packing_and_installation(tmp_path: Path) -> None:
    there, here = trial(tmp_path / "there", 1), tmp_path / "trials" / "t"
    here.parent.mkdir()
    install(pack(there), here)
    files = {path.relative_to(here): path.read_text() for path in here.rglob("*") if path.is_file()}
    assert files == {path.relative_to(there): path.read_text() for path in there.rglob("*") if path.is_file()}
    assert [path.name for path in here.parent.iterdir()] == ["t"]


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("/etc/cron.d/x", None, b"x"),
        ("../x", None, b"x"),
        ("a/../../x", None, b"x"),
        ("link", tarfile.SYMTYPE, b"/etc/passwd"),
        ("inner", tarfile.SYMTYPE, b"trial.json"),
        ("hard", tarfile.LNKTYPE, b"../x"),
        ("device", tarfile.CHRTYPE, b""),
        ("pipe", tarfile.FIFOTYPE, b""),
    ],
)
def test_unsafe_archive_members_are_refused_without_leftovers(
    tmp_path: Path, name: str, kind: bytes | None, content: bytes
) -> None:
    target = tmp_path / "trials" / "t"
    target.parent.mkdir()
    with pytest.raises(HarnessError, match="from a node"):
        install(archive(("ok.txt", None, b"fine"), (name, kind, content)), target)
    assert list(tmp_path.rglob("*")) == [target.parent]


def test_truncated_archive_leaves_nothing(tmp_path: Path) -> None:
    data = pack(trial(tmp_path / "there", 1))
    (tmp_path / "trials").mkdir()
    with pytest.raises(HarnessError, match="can't be read"):
        install(data[: len(data) // 2], tmp_path / "trials" / "t")
    assert not list((tmp_path / "trials").iterdir())


def test_links_are_not_packed(tmp_path: Path) -> None:
    folder = trial(tmp_path / "there", 1)
    (folder / "attempt-1" / "secret").symlink_to("/etc/passwd")
    unpack(pack(folder), tmp_path / "here")
    assert not list((tmp_path / "here").rglob("secret"))


def test_further_attempt_is_added_to_earlier_ones(tmp_path: Path) -> None:
    here = trial(tmp_path / "trials" / "t", 1)
    there = tmp_path / "there"
    unpack(pack_outline(here), there)
    assert sorted(path.name for path in there.rglob("*")) == ["attempt-1", "started.json", "trial.json"]
    (there / "trial.json").rename(there / "attempt-1" / "trial.json")  # as `TrialFolder.begin` puts it aside
    trial(there, 2)
    install(pack(there), here)
    assert (here / "attempt-1" / "evidence.json").read_text() == "evidence 1"
    assert (here / "attempt-2" / "evidence.json").read_text() == "evidence 2"
    assert json.loads((here / "attempt-1" / "trial.json").read_text()) == {"attempt": 1}
    assert json.loads((here / "trial.json").read_text()) == {"attempt": 2}


def test_interrupted_attempt_reopens_the_trial(tmp_path: Path) -> None:
    here, there = trial(tmp_path / "trials" / "t", 1), trial(tmp_path / "there", 2)
    (there / "trial.json").unlink()
    install(pack(there), here)
    assert not (here / "trial.json").exists()
    assert (here / "attempt-2").is_dir()


def test_start_time_of_a_node_is_at_least_that_of_the_run(tmp_path: Path) -> None:
    there = trial(tmp_path / "there", 1, time=100.0)
    (tmp_path / "trials").mkdir()
    install(pack(there), tmp_path / "trials" / "t", since=5000.0)
    assert json.loads((tmp_path / "trials" / "t" / "started.json").read_text())["time"] == 5000.0


SECRET = "sk-not-for-nodes-4711"


def test_shipped_project_contains_no_secrets(tmp_path: Path) -> None:
    root, target = tmp_path / "project", tmp_path / "copy"
    (root / "agents").mkdir(parents=True)
    (root / "agents" / "mine.py").write_text("import os\nKEY = os.environ['OPENAI_API_KEY']\n")
    (root / "agents" / "careless.yaml").write_text(f"key: {SECRET}\n")
    for name in (".env", "server.pem", "id_rsa"):
        (root / name).write_text(SECRET)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    (root / "elsewhere").symlink_to(tmp_path)
    (root / "link.txt").symlink_to("/etc/hostname")
    (tmp_path / "outside.txt").write_text("x")
    records = root / "old"
    (records / "trials").mkdir(parents=True)
    (records / "run.json").write_text("{}")

    secrets = secrets_of({"OPENAI_API_KEY": SECRET, "HOME": "/home/ana/somewhere", "SHORT_KEY": "abc"})
    assert secrets == (SECRET,)
    staged = stage(root, target, secrets=secrets)
    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()) == [
        "agents/mine.py"
    ]
    assert staged.held_back == ("agents/careless.yaml",)
    assert SECRET.encode() not in pack(target)


def test_setting_with_a_secret_is_refused() -> None:
    with pytest.raises(UsageError, match="expected no secret of this machine's environment"):
        _refuse_secrets(pickle.dumps({"headers": {"authorization": SECRET}}), (SECRET,))
    _refuse_secrets(pickle.dumps({"key_env": "OPENAI_API_KEY"}), (SECRET,))


def test_marked_variables_are_secrets() -> None:
    assert secrets_of({"MINE": SECRET, "OTHER": "something long"}, ["MINE"]) == (SECRET,)


def test_rayignore_excludes_files(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "data").mkdir(parents=True)
    (root / "data" / "big.bin").write_text("x")
    (root / "kept.txt").write_text("x")
    (root / ".rayignore").write_text("# large\ndata/\n")
    stage(root, tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").rglob("*")] == ["kept.txt"]


def test_project_paths_are_mapped_to_nodes_and_others_refused() -> None:
    places = NodePaths(Path("/home/ana/project"), Path("/tmp/node/project"))
    assert places.on_node(Path("/home/ana/project/agents"), what="x") == Path("/tmp/node/project/agents")
    with pytest.raises(UsageError, match="--prices: expected a path below /home/ana/project"):
        places.on_node(Path("/etc/prices.yaml"), what="--prices")
