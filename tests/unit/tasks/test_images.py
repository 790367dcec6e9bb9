"""The key ``images``: sources of an intent's images."""

from __future__ import annotations

from pytest_webarena.tasks import parse_tasks
from pytest_webarena.tasks.images import why_not_shown
from pytest_webarena.tasks.model import ImageSource
from tests.cases import each_case

from .helpers import problems, task, task_text


@each_case(
    ("written", "source"),
    [
        ("kettle.jpg", ImageSource(path="kettle.jpg")),
        ("../pictures/a b.PNG", ImageSource(path="../pictures/a b.PNG")),
        ("file:///tmp/a.webp", ImageSource(path="/tmp/a.webp")),
        ("/media/a.gif", ImageSource(site="shopping", path="/media/a.gif")),
        ("reddit:/media?id=4", ImageSource(site="reddit", path="/media?id=4")),
        ("homepage:/static/a.png", ImageSource(site="homepage", path="/static/a.png")),
        ("https://example.org/a", ImageSource(path="https://example.org/a")),
    ],
)
def test_image_sources(written: str, source: ImageSource) -> None:
    found = task(f"images: {written!r}")
    assert found.images == (source,)
    assert found.sites == ("shopping", "reddit")
    assert set(found.leased) == {"shopping", "reddit", *filter(None, [source.site])}
    assert source.is_file is (not source.site and "://" not in source.path)


def test_images_keep_their_order_and_fill_templates() -> None:
    found = task("each: [{name: a}]\nimages: ['{{ name }}.png', 'homepage:/{{ name }}']")
    assert list(map(str, found.images)) == ["a.png", "homepage:/a"]


def test_digest_depends_on_images() -> None:
    digests = {task(keys).digest for keys in ("tags: [a]", "images: a.png", "images: [a.png, b.png]")}
    assert len(digests) == 3


@each_case(
    ("written", "expected"),
    [
        ("a.svg", "an image: /path"),
        ("about:blank", "an image: /path"),
        ("ftp://x.test/a.png", "an image: /path"),
        ("homepge:/a.png", "a known site"),
        ("[]", "an image or a list of them"),
    ],
)
def test_invalid_image_sources_are_reported(written: str, expected: str) -> None:
    [problem] = problems(task_text(f"images: {written}"), sites=["shopping", "reddit", "homepage"])
    assert problem.expected.startswith(expected)


def test_image_path_without_a_site_is_refused() -> None:
    [problem] = problems(task_text("images: /a.png", sites="[]"))
    assert problem.hint == "this task has no site"


def test_images_of_other_hosts_need_permission() -> None:
    elsewhere = task("images: [a.png, reddit:/b.png, 'http://shopping.test/c.png', 'https://cdn.example.org/d.png']")
    assert "cdn.example.org" in why_not_shown(elsewhere, {"shopping.test"})
    assert why_not_shown(elsewhere, {"shopping.test", "cdn.example.org"}) == ""


def test_only_imported_tasks_may_name_missing_sites() -> None:
    text = "tasks: [{{id: a, intent: i, sites: [gitlab], images: [homepage:/a.png], checks: [{{answer: x}}]{source}}}]"
    [imported] = parse_tasks(text.format(source=", source: {suite: webarena}"), sites={"shopping": ()})
    assert imported.leased == ("gitlab", "homepage")
    assert [problem.found for problem in problems(text.format(source=""), sites=["shopping"])] == [
        "'gitlab'",
        "'homepage'",
    ]
