"""``webarena sites archive``: record, list, check and join archives of sites."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from pytest_webarena.archives.archive import Archive

__all__ = ["add_arguments"]

_WARC = (".warc", ".warc.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's subcommands."""
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")

    record = commands.add_parser("record", help="record solutions of tasks, or addresses")
    record.add_argument("what", nargs="+", metavar="PATH|ADDRESS", help="task files or folders; or addresses of sites")
    record.add_argument("-o", "--output", required=True, metavar="FILE", help="a new file, .warc.gz or .warc")
    record.add_argument("--sites", metavar="CATALOGUE", help="sites to record (default: the ini file's, or embedded)")
    record.add_argument(
        "--site-url", action="append", default=[], metavar="SITE=URL", help="a site that runs elsewhere"
    )
    record.add_argument("-k", dest="keyword", metavar="EXPRESSION", help="of the tasks, those that pytest's -k takes")
    record.set_defaults(run=_record)

    listing = commands.add_parser("ls", help="what is in archives")
    listing.add_argument("files", nargs="+", type=Path, metavar="FILE")
    listing.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    listing.set_defaults(run=_list)

    check = commands.add_parser("check", help="check archives for damage and ambiguous addresses")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    check.add_argument(
        "--tasks", action="append", default=[], metavar="SUITE|PATH", help="what key nodes of these tasks would meet"
    )
    check.set_defaults(run=_check)

    add = commands.add_parser("add", help="add other archives to a recorded one")
    add.add_argument("file", type=Path, metavar="FILE", help="a .warc.gz or .warc")
    add.add_argument("more", nargs="+", type=Path, metavar="MORE", help="archives, .wacz included")
    add.set_defaults(run=_add)


def _record(options: argparse.Namespace) -> int:
    addresses = [each for each in options.what if each.startswith(("http://", "https://"))]
    if addresses and len(addresses) < len(options.what):
        raise UsageError("record: expected either task files or addresses, found both")
    if options.keyword and addresses:
        raise UsageError("record: expected -k with task files only")
    with tempfile.TemporaryDirectory(prefix="webarena-record-") as folder:
        what = [_as_tasks(addresses, options, Path(folder))] if addresses else options.what
        command = [sys.executable, "-m", "pytest", *what, "--agent=oracle", f"--record-archive={options.output}"]
        command += [f"--sites={options.sites}"] if options.sites else []
        command += [f"--site-url={each}" for each in options.site_url]
        command += ["-k", options.keyword] if options.keyword else []
        command += [f"--run-dir={folder}/run", "-q"]
        code = subprocess.run(command, check=False).returncode
    if not Path(options.output).is_file():
        raise UsageError(f"record: nothing was recorded (pytest ended with {code}); what it said is above")
    archive = _open([Path(options.output)])
    print(f"{options.output}: {_summary(archive)}")
    _print_ambiguous(archive)
    archive.close()
    return 1 if code else 0


def _as_tasks(addresses: list[str], options: argparse.Namespace, folder: Path) -> str:
    """Write a task file whose solutions open the addresses; trials on live sites start there. Returns its path."""
    from pytest_webarena.sites.catalogues.live import NOWHERE
    from pytest_webarena.sites.catalogues.loading import load_catalogue
    from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls

    catalogue = load_catalogue(options.sites, site_urls=parse_site_urls(options.site_url))
    tasks: list[dict[str, object]] = []
    anywhere = next((name for name, each in catalogue.sites.items() if each.url == NOWHERE), None)
    for number, address in enumerate(addresses, 1):
        site = next(
            (
                name
                for name, each in sorted(catalogue.sites.items(), key=lambda item: -len(item[1].url))
                if f"{address}/".startswith(f"{each.url}/")
            ),
            None,
        )
        if site is None and anywhere is None:
            known = ", ".join(each.url for each in catalogue.sites.values())
            raise UsageError(f"record: expected an address of a site ({known}), found {address}")
        tasks.append(
            {
                "id": f"record-{number}",
                "sites": [site or anywhere],
                **({} if site else {"start": address}),
                "intent": f"Open {address}",
                "mutates": False,
                "checks": [{"answer": "done"}],
                "solution": [*([{"goto": address}] if site else []), {"stop": "done"}],
            }
        )
    file = folder / "record.yaml"
    file.write_text(json.dumps({"tasks": tasks}))  # JSON is YAML
    return str(file)


def _open(files: list[Path]) -> Archive:
    from pytest_webarena.archives.archive import Archive

    return Archive(files)


def _summary(archive: Archive) -> str:
    hosts = Counter(each.url.split("/")[2] for each in archive.captures())
    shown = ", ".join(f"{host} {count}" for host, count in hosts.most_common(10))
    return f"{archive.count} captures ({shown or 'of nothing'})"


def _print_ambiguous(archive: Archive) -> None:
    ambiguous = archive.ambiguous()
    if ambiguous:
        print("several answers recorded; the newest is served ('at' selects another time):")
        for address, captures in sorted(ambiguous.items()):
            print(f"  {address} ({captures})")


def _list(options: argparse.Namespace) -> int:
    archive = _open(options.files)
    if options.format == "json":
        print(json.dumps([
            {"method": each.method, "url": each.url, "status": each.status, "type": each.mime, "time": each.time}
            for each in archive.captures()
        ], indent=1))  # fmt: skip
    else:
        for each in archive.captures():
            print(f"{each.status} {each.method} {each.url} {each.mime}".rstrip())
        print(_summary(archive))
    archive.close()
    return 0


def _check(options: argparse.Namespace) -> int:
    """Read every record and compare its digests, where it has any."""
    from pytest_webarena.archives.reading import find_damage

    archive = _open(options.files)
    problems = find_damage(options.files)
    for problem in problems:
        print(problem)
    _print_ambiguous(archive)
    print(f"{_summary(archive)}; {len(problems) or 'none'} damaged")
    if truncated := sum(each.is_truncated for each in archive.captures()):
        print(f"{truncated} marked as truncated: they are not served")
    if not archive.count:
        print("expected an archive with usable responses, found none")
    obstructed = _dry_run(archive, options.tasks) if options.tasks else False
    archive.close()
    return 0 if archive.count and not problems and not obstructed else 1


def _dry_run(archive: Archive, sources: list[str]) -> bool:
    """Print what tasks would meet in the archive; return whether key nodes are unreachable."""
    from pytest_webarena.archives.dry_run import dry_run
    from pytest_webarena.commands.suites import tasks_of

    found = dry_run(archive, [task for source in sources for task in tasks_of(source)])
    print(found.render())
    return bool(found.findings)


def _add(options: argparse.Namespace) -> int:
    if not options.file.name.endswith(_WARC):
        raise UsageError(f"add: expected a .warc or .warc.gz archive, found {options.file}")
    before = 0
    for file in (options.file, *options.more):  # all are read before any is written
        archive = _open([file])
        before = before or archive.count
        archive.close()
        if file is not options.file and file.resolve() == options.file.resolve():
            raise UsageError(f"add: expected other archives to add, found the archive itself ({file})")
    packed = options.file.name.endswith(".gz")
    if other := next((f for f in options.more if any(name.endswith(".gz") != packed for name in _names(f))), None):
        raise UsageError(f"add: expected files that are all packed (.gz) or all not, found {other}")
    # The copy is made in the same folder and then moved, so that a complete file exists at any time.
    with tempfile.NamedTemporaryFile(dir=options.file.absolute().parent, prefix=".add-", delete=False) as target:
        made = Path(target.name)
        try:
            for file in (options.file, *options.more):
                _copy(file, target)
            target.flush()
            made.chmod(options.file.stat().st_mode & 0o777)
            made.replace(options.file.resolve())
        except BaseException:
            made.unlink(missing_ok=True)
            raise
    after = _open([options.file])
    print(f"{options.file}: {after.count - before} captures added; {_summary(after)}")
    after.close()
    return 0


def _names(file: Path) -> list[str]:
    """Names of the WARC files in ``file``, in lower case."""
    from pytest_webarena.archives.files import warc_sources

    places = warc_sources(file)
    for place in places:
        place.close()
    return [place.name.lower() for place in places]


def _copy(file: Path, target: IO[bytes]) -> None:
    """Append the records of ``file`` to ``target``; WARC files can be concatenated."""
    from pytest_webarena.archives.files import warc_sources

    for place in warc_sources(file):
        with place.open() as source:
            shutil.copyfileobj(source, target)
        place.close()
