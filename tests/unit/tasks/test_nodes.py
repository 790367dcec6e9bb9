"""Invalid or too large files give a located problem, never a traceback."""

from __future__ import annotations

from pytest_webarena.tasks.nodes import ListNode, MapNode, NodeLimits, ScalarNode, compose, near
from tests.cases import each_case

from .helpers import problems


def found(data: bytes) -> str:
    [problem] = compose(data, "t.yaml")[1]
    return str(problem)


@each_case(
    ("data", "message"),
    [
        (b"", "t.yaml:1:1: expected a mapping with the key 'tasks', found an empty file"),
        (b"  \n\n", "t.yaml:1:1: expected a mapping with the key 'tasks', found an empty file"),
        (b"# only a comment\n", "t.yaml:1:1: expected a mapping with the key 'tasks', found an empty file"),
        (b"\x89PNG\r\n\x1a\n\0\0", "t.yaml:1:1: expected UTF-8 text, found a binary file (byte 0x89)"),
        (b"tasks:\n  \0\0", "t.yaml:2:3: expected text, found a binary file (U+0000)"),
        (b"a: b\nc: \x07", "t.yaml:2:4: expected text, found the control character U+0007"),
        (
            b"a: 1\nb: caf\xe9\n",
            "t.yaml:2:7: expected UTF-8 text, found byte 0xe9, which is not UTF-8 (save the file as UTF-8)",
        ),
        (b"\xff\xfea\0", "t.yaml:1:1: expected UTF-8 text, found UTF-16 text (save the file as UTF-8)"),
        (
            b"a: 1\n---\nb: 2\n",
            "t.yaml:2:1: expected one YAML document per file, found a second one (remove the '---')",
        ),
        (
            b"a: !!python/object/apply:os.system ['x']",
            "t.yaml:1:4: expected a plain value, found the tag !!python/object/apply:os.system "
            "(task files use no tags)",
        ),
        (b"a: !mine x", "t.yaml:1:4: expected a plain value, found the tag !mine (task files use no tags)"),
        (b"a: *x", "t.yaml:1:4: expected an anchor &x above, found *x without one"),
        (
            b"a: &base 1\nb: *bsae",
            "t.yaml:2:4: expected an anchor &bsae above, found *bsae without one (did you mean 'base'?)",
        ),
        (b"&a [*a]", "t.yaml:1:5: expected an alias outside its anchor &a, found *a inside it"),
    ],
)
def test_files_that_are_no_task_files_are_reported(data: bytes, message: str) -> None:
    assert found(data) == message


@each_case(
    ("data", "place", "hint"),
    [
        (b"a:\n\t- b\n", "t.yaml:2:1", "indent with spaces, not tabs"),
        (
            "a:\n\u00a0 b: c\n  d: e\n".encode(),
            "t.yaml:3:4",
            "line 2 begins with a no-break space: indent with plain spaces",
        ),
        (b"a: b: c\n", "t.yaml:1:5", "put text that contains ': ' in quotes"),
        (b"a: 'x\n", "t.yaml:2:1", "a quote is never closed"),
        (b"a: [1, 2\nb: 3\n", "t.yaml:2:2", "a bracket is never closed"),
        (b"a:\n  - x\n y: 1\n", "t.yaml:3:2", "line it up"),
        (b"a: @x\n", "t.yaml:1:4", "in quotes"),
        (b"a: {{ b }} c\n", "t.yaml:1:12", "put text that starts with '{{' in quotes"),
    ],
)
def test_syntax_errors_have_a_location_and_a_hint(data: bytes, place: str, hint: str) -> None:
    text = found(data)
    assert text.startswith(f"{place}: expected valid YAML, found a syntax error: ")
    assert hint in text
    assert text.count("found") == 1


def test_byte_order_mark_and_crlf_are_accepted() -> None:
    root, wrong = compose(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", "t.yaml")
    assert isinstance(root, MapNode)
    assert not wrong
    assert root.items[2].line == 2


def test_positions_count_characters_from_one() -> None:
    root, _ = compose("ä: {ö: [x, 'y']}\n".encode(), "t.yaml")
    assert isinstance(root, MapNode)
    inner = root.items[1]
    assert isinstance(inner, MapNode)
    sequence = inner.items[1]
    assert isinstance(sequence, ListNode)
    assert [(item.line, item.column) for item in sequence.items] == [(1, 9), (1, 12)]
    assert [item.style for item in sequence.items if isinstance(item, ScalarNode)] == [1, 0]


def test_core_tags_set_the_type_of_a_value() -> None:
    root, wrong = compose(b"a: [!!str 1, !!int '2', ! 3]", "t.yaml")
    assert isinstance(root, MapNode)
    assert not wrong
    sequence = root.items[1]
    assert isinstance(sequence, ListNode)
    assert [item.style for item in sequence.items if isinstance(item, ScalarNode)] == [0, 1, 0]


def test_huge_file_is_refused_before_parsing() -> None:
    [problem] = problems(b"a" * 5_000_001)
    assert str(problem) == (
        "t.yaml:1:1: expected a file of at most 5 MB, found a larger one (split it into several files)"
    )


def test_node_limits_can_be_set() -> None:
    data = b"a: [1, 2, [3]]"
    assert not compose(data, "t", NodeLimits(nodes=7, depth=3))[1]
    assert "at most 6 values" in str(compose(data, "t", NodeLimits(nodes=6))[1][0])
    assert "at most 2 levels" in str(compose(data, "t", NodeLimits(depth=2))[1][0])
    assert "at most 1e-06 MB" in str(compose(data, "t", NodeLimits(bytes=1))[1][0])


def test_exponential_aliases_are_refused() -> None:
    lines = ["a0: &a0 [" + ",".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ",".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 12)]
    text = found("\n".join(lines).encode())
    assert "expected at most 3,000,000 values, aliases written out, found more" in text


def test_aliases_count_towards_the_depth() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 80)]
    assert "expected at most 64 levels of nesting, found deeper aliases" in found("\n".join(lines).encode())


@each_case("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_quickly(opening: str) -> None:
    message = found((opening * 200_000).encode())
    # libyaml 0.2.6 reaches its own limit before it reports the first bracket
    assert "expected at most 64 levels of nesting, found " in message
    assert message.endswith(("level 65", "many more"))


def test_near_suggests_similar_or_known_names() -> None:
    assert near("intnet", ["intent", "id"]) == "did you mean 'intent'?"
    assert near("zzz", ["intent", "id"]) == "known: id, intent"
    assert near("zzz", []) == ""
    assert len(near("zzz", ["9" * 5000, "b"])) == 300
    assert near("jo", ["jonas.brightwater"]) == "known: jonas.brightwater"  # too short for a suggestion
    assert near("mara", ["felix.finch", "mara.linden"]) == "did you mean 'mara.linden'?"
    many = near("zzz", [f"name{number:03}" for number in range(100)])
    assert many.endswith(", name029 and 70 more")
