"""``webarena sites images``: pull or build images of sites ahead of time."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from pytest_webarena.errors import SiteError, SiteMissing, UsageError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest
from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls
from pytest_webarena.sites.progress_line import Bar

__all__ = ["add_image_commands", "pull_missing"]

_PATIENCE = 4 * 3600.0
"""Seconds that the engine may be silent during a pull."""


def add_image_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the sub-parsers of ``webarena sites``."""
    images = commands.add_parser("images", help="pull or build images of sites")
    actions = images.add_subparsers(dest="action", required=True, metavar="ACTION")
    pulling = actions.add_parser("pull", help="pull the missing images of a catalogue")
    pulling.add_argument("names", nargs="*", metavar="SITE", help="default: all of the catalogue")
    pulling.add_argument("--sites", required=True, metavar="CATALOGUE", help="catalogue with the images")
    pulling.set_defaults(run=_pull, site_url=[])
    build = actions.add_parser(
        "build",
        help="build images of embedded or Debian sites",
        add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    build.add_argument("-h", "--help", action=_HelpWithRecipes, help="show this help message and exit")
    build.add_argument("recipes", nargs="*", metavar="RECIPE", help="default: all embedded ones")
    build.add_argument(
        "--base", metavar="IMAGE", help="e.g. python:3.11-slim; 'host' is this machine's Python, no registry needed"
    )
    build.set_defaults(run=_build)
    homepage = actions.add_parser("homepage", help="build WebArena's start page from a checkout")
    homepage.add_argument("folder", type=Path, metavar="FOLDER", help="its environment_docker/webarena-homepage")
    homepage.add_argument(
        "--base", default="python:3.11-slim", metavar="IMAGE", help="default: python:3.11-slim; 'host' as above"
    )
    homepage.set_defaults(run=_homepage)


class _HelpWithRecipes(argparse.Action):
    """Help that lists the recipes, which are not looked up otherwise."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None
    ) -> None:
        from pytest_webarena.sites.container_images import DEBIAN_RECIPES, RECIPES

        about = {name: ", ".join(recipe.apps) for name, recipe in sorted(RECIPES.items())}
        about["debian"] = "all of the catalogue debian"
        about |= {name: recipe.about for name, recipe in DEBIAN_RECIPES.items()}
        width = max(map(len, about))
        parser.epilog = "\n".join(["recipes:", *(f"  {name:<{width}}  {text}" for name, text in about.items())])
        parser.print_help()
        parser.exit()


def _pull(options: argparse.Namespace) -> int:
    catalogue = load_catalogue(options.sites, site_urls=parse_site_urls(options.site_url))
    apps = catalogue.apps_of(options.names) if options.names else tuple(catalogue.apps.values())
    if not any(app.backend == "docker" for app in apps):
        raise UsageError(f"expected sites with images, found none: those of {options.sites} are no containers")
    pulled = pull_missing(apps)
    print(f"{pulled} pulled" if pulled else "nothing to pull")
    return 0


def pull_missing(apps: Iterable[AppManifest], *, usable: bool = False) -> int:
    """Pull the missing images of apps that come from a registry, with a progress bar. Returns their number.

    Args:
        usable: Whether to pull only for apps whose data are there.

    Raises:
        SiteMissing: an image can't be pulled, or no engine answers.
        SiteError: the disk has too little space for all of them.
    """
    wanted = {
        app.docker.image: app.docker for app in apps if app.backend == "docker" and app.docker and not app.docker.build
    }
    if not wanted:
        return 0
    from pytest_webarena.sites.backends.docker import connect
    from pytest_webarena.sites.backends.docker.image_sources import find_image, in_words, is_pulled
    from pytest_webarena.sites.backends.docker.pulling import pull
    from pytest_webarena.sites.backends.docker.volumes import missing_volumes

    with closing(connect(_PATIENCE)) as client:
        missing = [
            docker
            for docker in wanted.values()
            if is_pulled(docker)
            and not (docker.tar and Path(docker.tar).is_file())
            and find_image(client, docker.image) is None
            and not (usable and missing_volumes(client, docker))
        ]
        _require_room(missing, str(client.info().get("DockerRootDir", "")))
        for docker in missing:
            with Bar(f"pulling {docker.image}", sys.stderr, words=in_words) as bar:
                bar.update(0, docker.pull_bytes or 0)
                try:
                    for pulled in pull(client, docker.image):
                        declared = (docker.pull_bytes or 0) if pulled.unknown else 0
                        total = max(pulled.total, declared)
                        bar.update(pulled.done, total, "unpacking" if pulled.unpacking else "")
                except SiteError as error:
                    raise SiteMissing(f"can't pull {docker.image}: {error}") from None
    return len(missing)


def _require_room(images: Iterable[DockerManifest], storage: str) -> None:
    """Raise `SiteError` when the engine's disk can't store ``images``, as far as their sizes are known."""
    from pytest_webarena.sites.backends.docker.image_sources import in_words

    needed = sum(docker.pull_bytes or 0 for docker in images)
    path = Path(storage)
    if not needed or not path.is_absolute() or not path.exists():
        return
    free = shutil.disk_usage(path).free
    if free < needed:
        raise SiteError(
            f"expected room for {in_words(needed)} of images below {storage}, found {in_words(free)} free; "
            "'docker system df' lists its use; free space, or name fewer sites"
        )


def _build(options: argparse.Namespace) -> int:
    from pytest_webarena.sites.backends.docker import connect
    from pytest_webarena.sites.container_images import DEBIAN_RECIPES, RECIPES, ensure_image

    known = {name: [name] for name in (*RECIPES, *DEBIAN_RECIPES)} | {"debian": list(DEBIAN_RECIPES)}
    unknown = [name for name in options.recipes if name not in known]
    if unknown:
        raise UsageError(f"expected recipes among {', '.join(known)}, found {unknown[0]!r}")
    with closing(connect(_PATIENCE)) as client:
        for recipe in [each for name in options.recipes or RECIPES for each in known[name]]:
            print(ensure_image(client, recipe, base=options.base, note=lambda text: print(text, file=sys.stderr)))
    return 0


def _homepage(options: argparse.Namespace) -> int:
    from pytest_webarena.sites.backends.docker import connect
    from pytest_webarena.sites.container_images.homepage import build_homepage

    with closing(connect()) as client:
        print(build_homepage(client, options.folder, base=options.base))
    return 0
