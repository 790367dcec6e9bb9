"""Implements the rules of `redesigned_pages`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from copy import copy

from bs4 import BeautifulSoup, NavigableString, Tag
from changed_pages import MARK, named_in_scripts, renamed
from redesigned_assets import MODALS
from redesigned_words import reworded

from pytest_webarena.embedded import APPS

_DRAFT = "/redesigned/draft"
_MENUS = ["nav", "header", "footer", "aside"]
_CLASS = re.compile(r"\.(-?[_a-zA-Z][\w-]*)(?=[^{}]*\{)")
_TYPED = ("text", "search", "email", "number", "date", "url", "tel", "password")


class Page:
    """One page, with what the rules need to know about it."""

    def __init__(self, soup: BeautifulSoup) -> None:
        self.soup = soup
        self.added = len(soup.find_all(attrs={MARK: re.compile("^added")}))

    def new(self, name: str, text: str = "", /, **attributes: str) -> Tag:
        tag = self.soup.new_tag(name, attrs={key.replace("_", "-"): value for key, value in attributes.items()})
        if text:
            tag.string = text
        return self.marked(tag)

    def marked(self, tag: Tag) -> Tag:
        """Marks an element and everything in it as new."""
        for each in (tag, *tag.find_all(True)):
            self.added += 1
            each[MARK] = f"added-{self.added}"
        return tag

    def original(self, *names: str) -> Iterator[Tag]:
        """Yields the elements that were there before the release."""
        for tag in self.soup.body.find_all(list(names)) if self.soup.body else ():
            if not str(tag.get(MARK, "added")).startswith("added"):
                yield tag

    def menu_links(self) -> Iterator[Tag]:
        for link in self.original("a"):
            classes = link.get("class") or []
            if link.find_parent("article") or not link.get("href"):
                continue
            if link.find_parent(_MENUS) or "button" in classes or "btn" in classes:
                yield link

    def fields(self) -> Iterator[tuple[Tag, Tag]]:
        """Yields each text field with its label."""
        for label in self.original("label"):
            field = self.soup.find(id=label["for"]) if label.get("for") else label.find(["input", "textarea"])
            if isinstance(field, Tag) and (field.name == "textarea" or _is_typed(field)):
                yield label, field


def _is_typed(field: Tag) -> bool:
    return field.name == "input" and field.get("type", "text") in _TYPED


def _dice(text: str, sides: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % sides


def _text(tag: Tag) -> str:
    return " ".join(tag.get_text(" ").split())


# A framework's ids, classes and names


def _migrated(page: Page) -> None:
    soup = page.soup
    ids = [str(tag["id"]) for tag in soup.find_all(id=True) if tag["id"] not in named_in_scripts()]
    renamed(soup, {id: f":r{number:x}:" for number, id in enumerate(dict.fromkeys(ids))})
    if soup.find("link", href=re.compile("^/static/style.css")):
        for tag in soup.find_all(class_=True):
            tag["class"] = " ".join(_class(name) for name in tag["class"])
    for form in soup.find_all("form", method=re.compile("post", re.IGNORECASE)):
        for field in form.find_all(attrs={"name": True}):
            if field.get("type") != "hidden" and field["name"] not in named_in_scripts():
                field["name"] = "f_" + str(field["name"]).encode().hex()
    for form in page.original("form"):
        for tag in list(form.find_all(["input", "textarea", "select"])):
            if tag.get("type") not in ("hidden", "radio", "checkbox"):
                tag.wrap(page.new("div", data_slot="control"))
    for button in page.original("button"):
        inner = page.new("span", data_slot="label")
        for child in list(button.contents):
            inner.append(child.extract())
        button.append(inner)
    for tag in list(page.original("header", "footer", "nav", "main")):
        role = {"header": "banner", "footer": "contentinfo", "nav": "navigation", "main": "main"}[tag.name]
        if tag.name not in ("header", "footer") or tag.parent is soup.body:
            tag.name, tag["role"] = "div", tag.get("role") or role
    for tag in page.original("h2", "h3"):
        tag.name = {"h2": "h3", "h3": "h4"}[tag.name]


def new_classes(css: str) -> str:
    """Returns a style sheet with its classes renamed as `_migrated` does."""
    return _CLASS.sub(lambda found: "." + _class(found[1]), css)


def _class(name: str) -> str:
    if name in _in_scripts() or name.startswith("rd-"):
        return name
    return f"x{hashlib.sha256(name.encode()).hexdigest()[:7]}"


_quoted: set[str] = set()


def _in_scripts() -> set[str]:
    if not _quoted:
        for app in APPS.values():
            for file in app.folder.rglob("*.js"):
                _quoted.update(re.findall(r"[\w-]+", file.read_text(encoding="utf-8", errors="replace")))
    return _quoted


# Other words


def _reworded(page: Page) -> None:
    for tag in list(page.original("button", "label", "summary", "legend", "input", "textarea", "nav", "form", "th")):
        if tag.name != "th" or tag.get("scope") == "col":
            _reword(page, tag)
    for link in list(page.menu_links()):
        _reword(page, link)


def _reword(page: Page, tag: Tag) -> None:
    for key in ("aria-label", "placeholder", "title"):
        if tag.get(key):
            tag[key] = reworded(str(tag[key]))
    if tag.name == "input" and tag.get("type") in ("submit", "button"):
        tag["value"] = reworded(str(tag.get("value", "")))
    if tag.name in ("input", "textarea", "nav", "form"):
        return
    texts = [
        text for text in tag.find_all(string=True) if text.strip() and not text.find_parent(["select", "textarea"])
    ]
    for number, text in enumerate(texts):
        text.replace_with(NavigableString(reworded(str(text), whole=number == 0)))
    shown = _text(tag)
    if tag.name == "button" and shown and not tag.get("aria-label") and _dice(shown, 4) == 0:
        tag.clear()
        tag["aria-label"] = shown
        tag.append(page.new("span", aria_hidden="true", **{"class": "rd-icon"}))


# Another order


def _reordered(page: Page) -> None:
    for nav in list(page.original("nav")):
        holder = next((tag for tag in (nav, *nav.find_all(["ul", "ol", "div"])) if len(_tags(tag)) > 1), None)
        if holder is not None:
            _arrange(holder, list(reversed(_tags(holder))))
    for form in list(page.original("form")):
        blocks = [tag for tag in _tags(form) if tag.name in ("div", "fieldset") and tag.find("label")]
        _arrange(form, sorted(blocks, key=_text))
    for holder in list(page.original("ul", "ol", "tbody")):
        if not holder.find_parent("nav"):
            rows = [tag for tag in _tags(holder) if tag.name in ("li", "tr")]
            _arrange(holder, sorted(rows, key=_text, reverse=True))
    for table in list(page.original("table")):
        if not table.find(lambda tag: tag.has_attr("colspan") or tag.has_attr("rowspan")):
            for row in table.find_all("tr"):
                cells = _tags(row)
                _arrange(row, cells[-1:] + cells[:-1])
    for select in list(page.original("select")):
        _arrange(select, sorted(_tags(select), key=_text, reverse=True))
    for holder in list(page.original("p", "div")):
        buttons = [tag for tag in _tags(holder) if tag.name in ("a", "button", "form")]
        if len(buttons) > 1 and len(buttons) == len(_tags(holder)):
            _arrange(holder, list(reversed(buttons)))
    for aside in list(page.original("aside")):
        if isinstance(aside.parent, Tag):
            aside.parent.insert(0, aside.extract())


def _tags(holder: Tag) -> list[Tag]:
    return [child for child in holder.children if isinstance(child, Tag)]


def _arrange(holder: Tag, wanted: list[Tag]) -> None:
    """Rearranges children of ``holder``: the places that they take now are filled in the order of ``wanted``."""
    stands = []
    for place in [child for child in _tags(holder) if any(child is tag for tag in wanted)]:
        stand = NavigableString("")
        place.replace_with(stand)
        stands.append(stand)
    for stand, tag in zip(stands, wanted, strict=True):
        stand.replace_with(tag)


# Other controls


def _restructured(page: Page) -> None:
    for link in list(page.menu_links()):
        if "button" in (link.get("class") or []) or _dice(_text(link), 3) == 0:
            link.name, link["type"], link["data-go"] = "button", "button", link["href"]
            del link["href"]
    for button in list(page.original("button")):
        if button.get("type", "submit") == "submit" and button.find_parent("form") and _dice(_text(button), 2):
            _as_link(button)
    for select in list(page.original("select")):
        if 1 < len(select.find_all("option")) <= 8 and not select.has_attr("multiple"):
            _as_radios(page, select)
    for table in list(page.original("table")):
        if table.find("th") and not table.find(lambda tag: tag.has_attr("colspan") or tag.has_attr("rowspan")):
            _as_cards(page, table)
    for field in page.original("input"):
        if field.get("type") == "checkbox":
            field["role"] = "switch"
    for details in list(page.original("details")):
        if details.summary is not None and _dice(_text(details.summary), 2):
            details.name, details.summary.name = "section", "h3"
    for nav in list(page.original("nav")):
        _behind_more(page, nav)


def _as_link(button: Tag) -> None:
    button.name, button["href"], button["data-submit"] = "a", "#", ""
    for key in ("name", "value"):
        if button.get(key) is not None:
            button[f"data-{key}"] = button[key]
            del button[key]
    button.attrs.pop("type", None)
    if _dice(_text(button), 4) == 1:
        button["role"] = "button"


def _as_radios(page: Page, select: Tag) -> None:
    label = page.soup.find("label", attrs={"for": select.get("id")}) if select.get("id") else None
    group = page.new("fieldset", **{"class": "rd-radios"})
    group[MARK] = select[MARK]
    group.append(page.new("legend", _text(label) if isinstance(label, Tag) else str(select.get("aria-label", ""))))
    options = select.find_all("option")
    chosen = next((option for option in options if option.has_attr("selected")), options[0])
    for option in options:
        wrapper = page.new("label")
        radio = page.new("input", type="radio", name=str(select.get("name", "")))
        radio["value"] = str(option.get("value", _text(option)))
        radio[MARK] = select[MARK]
        if option is chosen:
            radio["checked"] = ""
        wrapper.extend([radio, NavigableString(" " + _text(option))])
        group.append(wrapper)
    if isinstance(label, Tag):
        label.decompose()
    select.replace_with(group)


def _as_cards(page: Page, table: Tag) -> None:
    rows = table.find_all("tr")
    heads = [_text(cell) for cell in rows[0].find_all(["th", "td"])]
    cards = page.new("div", role="list")
    for row in rows[1:]:
        card = page.new("div", role="listitem", **{"class": "rd-card"})
        for number, cell in enumerate(row.find_all(["th", "td"], recursive=False)):
            card.append(page.new("b", heads[number] if number < len(heads) else ""))
            cell.name = "div"
            card.append(cell.extract())
        cards.append(card)
    cards[MARK] = table[MARK]
    table.replace_with(cards)


def _behind_more(page: Page, nav: Tag) -> None:
    holder = next((tag for tag in (nav, *nav.find_all(["ul", "ol"])) if len(_tags(tag)) > 3), None)
    if holder is None or nav.find_parent("nav"):
        return
    more = page.new("details")
    more.append(page.new("summary", "More"))
    inner = page.new("div" if holder.name == "nav" else holder.name)
    more.append(inner)
    for tag in _tags(holder)[2:]:
        inner.append(tag.extract())
    if holder.name == "nav":
        holder.append(more)
    else:
        item = page.new("li")
        item.append(more)
        holder.append(item)


# Dialogs


def _interrupted(page: Page) -> None:
    if page.soup.body is not None:
        for tag in _tags(BeautifulSoup(MODALS, "html.parser")):
            page.soup.body.append(page.marked(tag))


# What looks alike


def _lookalikes(page: Page) -> None:
    for form in list(page.original("form")):
        if form.get("role") == "search":
            _searches(page, form)
        elif str(form.get("method", "")).lower() == "post":
            _drafts(page, form)
    for label, field in list(page.fields()):
        if field.find_parent("form", attrs={"role": "search"}) is None:
            _second_field(page, label, field)
    for link in list(page.menu_links()):
        second = page.new("a", _text(link) + (" archive" if _dice(_text(link), 2) else " (beta)"), href=_DRAFT)
        (link.insert_before if _dice(_text(link), 3) else link.insert_after)(second)
    for row in list(page.original("li", "tr", "article")):
        _row_actions(page, row)


def _searches(page: Page, form: Tag) -> None:
    """Adds two copies of the search: above the page, in a drawer for narrow screens, and below it."""
    body = page.soup.body
    for where in ("rd-drawer", "rd-foot"):
        second = page.marked(copy(form))
        for tag in second.find_all(id=True):
            renamed_id = f"{where}-{tag['id']}"
            for label in second.find_all("label", attrs={"for": tag["id"]}):
                label["for"] = renamed_id
            tag["id"] = renamed_id
        holder = page.new("div", **{"class": where})
        holder.append(second)
        if body is not None:
            body.insert(0 if where == "rd-drawer" else len(body.contents), holder)


def _drafts(page: Page, form: Tag) -> None:
    """Adds a button that saves a draft next to each submit button, with the same label or nearly the same."""
    for button in form.find_all("button"):
        label = _text(button)
        if label and button.get("type", "submit") == "submit":
            text = label if _dice(label, 3) == 0 else f"{label} as draft"
            button.insert_before(page.new("button", text, type="submit", formaction=_DRAFT, formnovalidate=""))


def _second_field(page: Page, label: Tag, field: Tag) -> None:
    label_text = _text(label)
    twin = page.new("label", f"{label_text} (translated)" if _dice(label_text, 2) else f"Short {label_text.lower()}")
    second = page.new(field.name)
    if field.name == "input":
        second["type"] = str(field.get("type", "text"))
    twin.append(second)
    label.insert_before(twin)


def _row_actions(page: Page, row: Tag) -> None:
    link = next((tag for tag in row.find_all("a", href=True) if _text(tag)), None)
    if link is None or row.find_parent(_MENUS):
        return
    link.insert_before(page.new("a", f"Preview {_text(link)}", href=_DRAFT), NavigableString(" "))
    for action in ("Edit", "Delete", "Reply"):
        link.insert_after(NavigableString(" "), page.new("a", action, href=_DRAFT))


def _withdrawn(page: Page) -> None:
    """Removes half of the originals that have lookalikes, chosen by their labels."""
    for label, field in list(page.fields()):
        if _dice(_text(label), 2):
            field.decompose()
            label.decompose()
    for tag in [*page.menu_links(), *page.original("button")]:
        if not tag.decomposed and _dice(_text(tag), 2):
            tag.decompose()


def _succeeded(page: Page) -> None:
    """Replaces all originals by others that look the same and have other names."""
    for label, field in list(page.fields()):
        other = page.new(field.name, **_looks(field), name="reference", id=f"reference-{page.added}")
        if field.get("type"):
            other["type"] = field["type"]
        new_label = page.new("label", "Reference", **_looks(label))
        new_label["for"] = other["id"]
        if label.find(field.name) is field:
            new_label.append(other)
        else:
            field.replace_with(other)
        label.replace_with(new_label)
    for link in list(page.menu_links()):
        link.replace_with(page.new("a", "Press kit", href=_DRAFT, **_looks(link)))
    ways = ({"name": "preview", "value": "1"}, {"formaction": _DRAFT}, {"type": "button"}, {"type": "reset"})
    for number, button in enumerate(list(page.original("button"))):
        other = page.new("button", "Preview", **_looks(button), **ways[number % len(ways)])
        button.replace_with(other)


def _looks(tag: Tag) -> dict[str, str]:
    classes = tag.get("class") or []
    return {"class": classes if isinstance(classes, str) else " ".join(classes)} if classes else {}


CHANGES: dict[str, Callable[[Page], None]] = {
    "migrated": _migrated, "reworded": _reworded, "reordered": _reordered, "restructured": _restructured,
    "interrupted": _interrupted, "lookalikes": _lookalikes, "withdrawn": _withdrawn,
    "succeeded": _succeeded,
}  # fmt: skip
